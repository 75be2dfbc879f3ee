/* Reading a copy back. */
#include "fake.h"
#include "suites.h"

#define SIZE 600000u /* three buffers */

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;

static void
begin(size_t size)
{
    fake_reset();
    options = fake_options();
    options.verify = true;
    source = fake_add("source", size, 1);
}

static void
good_copies(void)
{
    static const size_t sizes[] = {0,      1,      1000,   262143,
                                   262144, 262145, 524288, SIZE};
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        for (int atomic = 0; atomic < 2; atomic++) {
            begin(sizes[i]);
            check_context("%lu, atomic %d", (unsigned long)sizes[i], atomic);
            options.atomic = atomic == 1;
            fake_limit(FAKE_READ, 1, FAKE_ALWAYS, 100000);
            CHECK_INT(fake_copy(&options, &file), SC_DONE);
            CHECK(fake_same(fake_find("target"), source->data, sizes[i]));
            CHECK_INT(fake.calls[FAKE_SYNC], 1);
            CHECK_INT(fake.open_handles, 0);
        }
    }
}

static size_t broken_at;

/* Whatever its name is now: the file made last. */
static struct fake_file *
written(void)
{
    struct fake_file *last = NULL;
    for (size_t i = 0; i < FAKE_FILES; i++) {
        if (fake.files[i].used && &fake.files[i] != source) {
            last = &fake.files[i];
        }
    }
    return last;
}

static void
flip_a_bit(void)
{
    written()->data[broken_at] ^= 4;
}

static void
lose_a_byte(void)
{
    fake_set_size(written(), SIZE - 1);
}

static void
add_a_byte(void)
{
    fake_set_size(written(), SIZE + 1);
}

static void
differs(void (*hook)(void), bool atomic)
{
    begin(SIZE);
    options.atomic = atomic;
    fake_before(FAKE_SYNC, 1, hook);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_VERIFY);
    CHECK_INT(file.error.code, 0);
    CHECK_INT(fake.open_handles, 0);
    CHECK((fake_find("target") == NULL) == atomic);
}

static void
bad_copies(void)
{
    static const size_t places[] = {0, 262143, 262144, 524288, SIZE - 1};
    for (int atomic = 0; atomic < 2; atomic++) {
        for (size_t i = 0; i < CHECK_COUNT(places); i++) {
            check_context("byte %lu, atomic %d", (unsigned long)places[i],
                          atomic);
            broken_at = places[i];
            differs(flip_a_bit, atomic == 1);
        }
        check_context("atomic %d", atomic);
        differs(lose_a_byte, atomic == 1);
        differs(add_a_byte, atomic == 1);
    }
}

static void
another_file_took_its_name(void)
{
    fake_unlink("target");
    fake_add("target", SIZE, 1); /* the same bytes */
}

static void
the_name_is_another_file(void)
{
    begin(SIZE);
    fake_before(FAKE_SYNC, 1, another_file_took_its_name);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_VERIFY);
    CHECK_INT(fake.open_handles, 0);
}

static void
whatever_fails_is_told(void)
{
    static const struct {
        enum fake_call call;
        unsigned nth;
    } rows[] = {
        {FAKE_SYNC, 1},        {FAKE_SEEK, 1}, {FAKE_OPEN_SOURCE, 2},
        {FAKE_READ, 3},        {FAKE_READ, 4}, {FAKE_STAT_HANDLE, 2},
        {FAKE_STAT_HANDLE, 3},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        begin(SIZE);
        check_context("row %u", (unsigned)i);
        fake_fail(rows[i].call, rows[i].nth, 1, FAKE_BROKEN);
        CHECK_INT(fake_copy(&options, &file), SC_FAIL);
        CHECK_INT(file.error.operation, SC_OP_VERIFY);
        CHECK_INT(file.error.code, FAKE_BROKEN);
        CHECK_INT(fake.open_handles, 0);
    }
}

static unsigned count;
static unsigned stop_at;

static int
checkpoint(void *context, uint64_t done, uint64_t total)
{
    (void)context, (void)done;
    CHECK_INT(total, SIZE);
    return ++count == stop_at;
}

static void
signals(void)
{
    for (unsigned stop = 0; stop < 12; stop++) {
        begin(SIZE);
        check_context("stop at %u", stop);
        options.checkpoint = checkpoint;
        count = 0;
        stop_at = stop;
        fake_fail(FAKE_READ, 3, 3, SC_INTERRUPTED);
        fake_fail(FAKE_READ, 8, 3, SC_INTERRUPTED);
        enum sc_status status = fake_copy(&options, &file);
        CHECK_INT(status, stop > 0 && count >= stop ? SC_CANCELLED : SC_DONE);
        CHECK(stop > 8 || stop == 0 || status == SC_CANCELLED);
        CHECK_INT(fake.open_handles, 0);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(good_copies),
    CHECK_CASE(bad_copies),
    CHECK_CASE(the_name_is_another_file),
    CHECK_CASE(whatever_fails_is_told),
    CHECK_CASE(signals),
};

const struct check_suite verify_suite = CHECK_SUITE("verify", cases);
