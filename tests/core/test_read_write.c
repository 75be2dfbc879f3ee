/* The loop that always works, with and without looking for zeros. */
#include <string.h>

#include "fake.h"
#include "suites.h"

#define SIZE 2500000u

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;

static void
begin(size_t size)
{
    fake_reset();
    options = fake_options();
    source = fake_add("source", size, 1);
}

static void
copied(void)
{
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    CHECK(fake_same(fake_find("target"), source->data, source->size));
    CHECK_INT(file.result.bytes, source->size);
    CHECK_INT(file.result.method, SC_METHOD_READ_WRITE);
    CHECK_INT(fake.open_handles, 0);
}

static void
large_files(void)
{
    static const size_t sizes[] = {65537,   131071,  131072,  1048575,
                                   1048576, 1048577, 2097152, SIZE};
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        for (int existing = 0; existing < 2; existing++) {
            begin(sizes[i]);
            check_context("%lu bytes, existing %d", (unsigned long)sizes[i],
                          existing);
            if (existing) {
                fake_add("target", 2 * sizes[i], 5);
            }
            copied();
            CHECK_INT(fake.calls[FAKE_SEEK], 0);
            CHECK_INT(fake.calls[FAKE_TRUNCATE], existing);
        }
    }
}

static void
short_reads_and_writes(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE};
    static const size_t limits[] = {1000, 65535, 100000};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (size_t j = 0; j < CHECK_COUNT(limits); j++) {
            begin(300000);
            check_context("call %d, %lu at once", (int)calls[i],
                          (unsigned long)limits[j]);
            fake_limit(calls[i], 1, FAKE_ALWAYS, limits[j]);
            copied();
        }
    }
}

static void
errors(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (unsigned nth = 1; nth < 4; nth++) {
            begin(SIZE);
            check_context("call %u of %d", nth, (int)calls[i]);
            fake_fail(calls[i], nth, 1, FAKE_BROKEN);
            CHECK_INT(fake_copy(&options, &file), SC_FAIL);
            size_t done = (size_t)(nth - 1) << 20;
            CHECK_INT(file.error.operation, SC_OP_DATA);
            CHECK_INT(file.error.code, FAKE_BROKEN);
            CHECK_INT(file.error.done, done);
            CHECK_INT(fake.offload_asked, done > 0);
            CHECK(fake_same(fake_find("target"), source->data, done));
            CHECK_INT(fake.open_handles, 0);
        }
    }
}

static void
truncating_first_is_refused(void)
{
    begin(SIZE);
    struct fake_file *target = fake_add("target", 1000, 5);
    fake_fail(FAKE_TRUNCATE, 1, 1, FAKE_REFUSED);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_TRUNCATE);
    CHECK_INT(target->size, 1000);
    CHECK_INT(fake.calls[FAKE_READ], 0);
}

/* --- the checkpoint ----------------------------------------------------- */

static struct {
    uint64_t copied[64];
    unsigned count;
    unsigned stop_at; /* 0: never */
} heard;

static int
checkpoint(void *context, uint64_t done, uint64_t total)
{
    CHECK(context == &heard);
    CHECK_INT(total, SIZE);
    if (heard.count < CHECK_COUNT(heard.copied)) {
        heard.copied[heard.count] = done;
    }
    heard.count++;
    return heard.stop_at != 0 && heard.count >= heard.stop_at;
}

static void
listen(unsigned stop_at)
{
    memset(&heard, 0, sizeof(heard));
    heard.stop_at = stop_at;
    options.checkpoint = checkpoint;
    options.checkpoint_context = &heard;
}

static void
progress_is_told(void)
{
    begin(SIZE);
    listen(0);
    copied();
    CHECK_INT(heard.count, 3);
    CHECK_INT(heard.copied[0], 1u << 20);
    CHECK_INT(heard.copied[1], 2u << 20);
    CHECK_INT(heard.copied[2], SIZE);
}

static void
it_can_be_cancelled_between_chunks(void)
{
    begin(SIZE);
    listen(2);
    CHECK_INT(fake_copy(&options, &file), SC_CANCELLED);
    CHECK_INT(file.error.operation, SC_OP_NONE);
    CHECK(fake_same(fake_find("target"), source->data, 2u << 20));
    CHECK_INT(fake.open_handles, 0);
}

static void
signals(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (unsigned nth = 1; nth < 4; nth++) {
            begin(SIZE);
            check_context("call %u of %d", nth, (int)calls[i]);
            listen(0);
            fake_fail(calls[i], nth, 7, SC_INTERRUPTED);
            copied();
            CHECK_INT(heard.count, 3 + 7);

            begin(SIZE);
            listen(nth + 2);
            fake_fail(calls[i], nth, FAKE_ALWAYS, SC_INTERRUPTED);
            CHECK_INT(fake_copy(&options, &file), SC_CANCELLED);
            CHECK(fake_same(fake_find("target"), source->data,
                            (size_t)(nth - 1) << 20));
        }
    }
}

/* --- sparse="always" ---------------------------------------------------- */

static void
clear(size_t start, size_t stop)
{
    memset(source->data + start, 0, stop - start);
}

static void
begin_sparse(unsigned pattern)
{
    static const size_t stretches[][4] = {
        {0, 0, 0, 0},
        {0, 4096, 0, 0},
        {0, SIZE, 0, 0},
        {0, 1, SIZE - 1, SIZE},
        {SIZE - 4096, SIZE, 0, 0},
        {SIZE - 100, SIZE, 0, 0},
        {1048576, 2097152, 0, 0},
        {1048575, 2097153, 0, 0},
        {4000, 4200, 8192, 12288},
        {4096, 1048576, 1052672, SIZE - 1},
        {100, 2400000, 0, 0},
    };
    begin(SIZE);
    options.sparse = SC_ALWAYS;
    clear(stretches[pattern][0], stretches[pattern][1]);
    clear(stretches[pattern][2], stretches[pattern][3]);
}

#define PATTERNS 11u

static void
zeros_become_holes(void)
{
    for (unsigned i = 0; i < PATTERNS; i++) {
        for (int existing = 0; existing < 2; existing++) {
            begin_sparse(i);
            check_context("pattern %u, existing %d", i, existing);
            if (existing) {
                fake_add("target", 3000000, 5);
            }
            copied();
            CHECK(i != 2 || fake.calls[FAKE_WRITE] == 0);
        }
    }
}

static void
zeros_with_short_reads(void)
{
    static const size_t limits[] = {999, 4096, 5000, 70000};
    for (unsigned i = 0; i < PATTERNS; i++) {
        for (size_t j = 0; j < CHECK_COUNT(limits); j++) {
            begin_sparse(i);
            check_context("pattern %u, %lu at once", i,
                          (unsigned long)limits[j]);
            fake_limit(FAKE_READ, 1, FAKE_ALWAYS, limits[j]);
            copied();
        }
    }
}

static void
small_files_have_holes_too(void)
{
    begin(20000);
    options.sparse = SC_ALWAYS;
    clear(4096, 12288);
    fake_add("target", 30000, 5);
    copied();
    CHECK_INT(fake.calls[FAKE_WRITE], 2);
}

static void
failing_between_holes(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE, FAKE_SEEK,
                                           FAKE_TRUNCATE};
    for (unsigned i = 0; i < PATTERNS; i++) {
        for (size_t j = 0; j < CHECK_COUNT(calls); j++) {
            for (unsigned nth = 1; nth < 4; nth++) {
                begin_sparse(i);
                check_context("pattern %u, call %u of %d", i, nth,
                              (int)calls[j]);
                fake_fail(calls[j], nth, 1, FAKE_BROKEN);
                enum sc_status status = fake_copy(&options, &file);
                const struct fake_file *target = fake_find("target");
                bool hit = fake.calls[calls[j]] >= nth;
                CHECK_INT(status, hit ? SC_FAIL : SC_DONE);
                CHECK_INT(file.error.code, hit ? FAKE_BROKEN : 0);
                CHECK(target->size <= SIZE);
                CHECK(target->size == 0 ||
                      memcmp(target->data, source->data, target->size) == 0);
            }
        }
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(large_files),
    CHECK_CASE(short_reads_and_writes),
    CHECK_CASE(errors),
    CHECK_CASE(truncating_first_is_refused),
    CHECK_CASE(progress_is_told),
    CHECK_CASE(it_can_be_cancelled_between_chunks),
    CHECK_CASE(signals),
    CHECK_CASE(zeros_become_holes),
    CHECK_CASE(zeros_with_short_reads),
    CHECK_CASE(small_files_have_holes_too),
    CHECK_CASE(failing_between_holes),
};

const struct check_suite read_write_suite = CHECK_SUITE("read_write", cases);
