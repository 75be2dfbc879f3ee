/* Small files: over the old bytes or after truncating, whatever stat says
   and whatever fails on the way. */
#include <stdlib.h>

#include "fake.h"
#include "suites.h"

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;
static struct fake_file *target; /* NULL: a new one */

static unsigned char old[300000];

/* `old_size` < 0: no target. */
static void
begin(size_t size, long old_size)
{
    fake_reset();
    options = fake_options();
    source = fake_add("source", size, 1);
    target = NULL;
    if (old_size >= 0) {
        target = fake_add("target", (size_t)old_size, 99);
        fake_fill(old, (size_t)old_size, 99);
    }
}

static bool
whole(void)
{
    return CHECK(
               fake_same(fake_find("target"), source->data, source->size)) &&
           CHECK_INT(file.result.bytes, source->size) &&
           CHECK_INT(file.result.method, SC_METHOD_READ_WRITE) &&
           CHECK_INT(fake.open_handles, 0);
}

static void
copied(void)
{
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    whole();
}

static unsigned
truncations_expected(size_t size, long old_size)
{
    if (old_size < 0) {
        return 0;
    }
    bool small = size <= SC_SMALL;
    bool in_place = small && size > 0 && old_size > 0;
    /* A write that a kill can tear goes over a shorter file. */
    bool cut =
        (size_t)old_size > size || ((size_t)old_size == size && size > 4096);
    return in_place && !cut ? 0 : 1;
}

static void
every_size_over_every_size(void)
{
    static const long sizes[] = {0,     1,     2,     100,   4096,  8190,
                                 8191,  8192,  8193,  16383, 16384, 32768,
                                 65535, 65536, 65537, 100000};
    static const long others[] = {-1, 0, 1, 5000, 65536, 300000};
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        for (size_t j = 0; j < CHECK_COUNT(others) + 3; j++) {
            size_t near = j - CHECK_COUNT(others);
            long other = j < CHECK_COUNT(others) ? others[j]
                                                 : sizes[i] - 1 + (long)near;
            if (other < -1) {
                continue;
            }
            check_context("%ld bytes over %ld", sizes[i], other);
            begin((size_t)sizes[i], other);
            copied();
            CHECK_INT(fake.calls[FAKE_TRUNCATE],
                      truncations_expected((size_t)sizes[i], other));
        }
    }
}

static void
the_fewest_calls(void)
{
    begin(1000, -1);
    copied();
    CHECK_TEXT(fake.log, "stat stat open_source fstat open_target read write "
                         "close close");
    begin(1000, 1000);
    copied();
    CHECK_TEXT(fake.log, "stat stat open_source fstat open_target fstat read "
                         "write close close");
}

static void
a_size_that_lies(void)
{
    static const struct {
        uint64_t said;
        size_t real;
    } rows[] = {
        {0, 1},       {0, 10},        {0, 8191},      {0, 8192},
        {0, 8193},    {0, 100000},    {0, 3000000},   {1, 0},
        {100, 50},    {100, 101},     {4096, 6},      {10, 8191},
        {10, 8192},   {10, 9000},     {8191, 8192},   {8192, 8193},
        {8192, 8194}, {20000, 20001}, {20000, 30000}, {20000, 19999},
        {20000, 0},   {65536, 65537}, {65536, 65538}, {65536, 2000000},
        {65537, 10},  {65537, 0},     {9000000, 10},
    };
    static const long olds[] = {-1, 0, 5, 25000, 300000};
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        for (size_t j = 0; j < CHECK_COUNT(olds); j++) {
            for (size_t step = 7777; step < 10000000; step *= 1000) {
                check_context("%lu said, %lu real, over %ld, reads of %lu",
                              (unsigned long)rows[i].said,
                              (unsigned long)rows[i].real, olds[j],
                              (unsigned long)step);
                begin(rows[i].real, olds[j]);
                source->size_lies = true;
                source->stat.size = rows[i].said;
                fake_limit(FAKE_READ, 1, FAKE_ALWAYS, step);
                copied();
            }
        }
    }
}

static void
grow(void)
{
    size_t size = source->size;
    fake_set_size(source, size + 50000);
    fake_fill(source->data + size, 50000, 3);
}

static void
shrink(void)
{
    fake_set_size(source, source->size / 2);
}

static void
it_changes_while_it_is_read(void)
{
    static const size_t sizes[] = {100, 9000, 30000, 65536};
    static void (*const hooks[])(void) = {grow, shrink};
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        for (unsigned nth = 1; nth < 3; nth++) {
            for (size_t j = 0; j < CHECK_COUNT(hooks); j++) {
                check_context("%lu bytes, read %u, %s",
                              (unsigned long)sizes[i], nth,
                              j == 0 ? "grows" : "shrinks");
                begin(sizes[i], 40000);
                fake_limit(FAKE_READ, 1, 1, sizes[i] / 2);
                fake_before(FAKE_READ, nth, hooks[j]);
                CHECK_INT(fake_copy(&options, &file), SC_DONE);
                whole();
            }
        }
    }
}

/* --- failing ------------------------------------------------------------ */

static bool
old_content(void)
{
    return CHECK(fake_same(target, old, target->size)) &&
           CHECK_INT(fake.open_handles, 0);
}

static bool
failed(enum sc_operation operation, int code)
{
    return CHECK_INT(fake_copy(&options, &file), SC_FAIL) &&
           CHECK_INT(file.error.operation, operation) &&
           CHECK_INT(file.error.code, code) &&
           CHECK_INT(fake.open_handles, 0);
}

static void
a_read_error_leaves_the_old_target(void)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        begin(30000, 25000);
        check_context("read %u", nth);
        fake_limit(FAKE_READ, 1, FAKE_ALWAYS, 10000);
        fake_fail(FAKE_READ, nth, 1, FAKE_BROKEN);
        failed(SC_OP_DATA, FAKE_BROKEN);
        CHECK_INT(target->size, 25000);
        old_content();
    }
}

static void
a_refused_write_is_tried_on_an_empty_file(void)
{
    static const long olds[] = {1, 500, 1000, 9000};
    for (size_t i = 0; i < CHECK_COUNT(olds); i++) {
        begin(1000, olds[i]);
        check_context("over %ld", olds[i]);
        fake_fail(FAKE_WRITE, 1, 1, FAKE_FULL);
        copied();
        CHECK_INT(fake.calls[FAKE_WRITE], 2);
    }
}

static void
a_write_that_fails_twice_is_an_error(void)
{
    begin(1000, 5000);
    fake.offload = false;
    fake_fail(FAKE_WRITE, 1, 2, FAKE_FULL);
    failed(SC_OP_DATA, FAKE_FULL);
    CHECK_INT(file.error.done, 0);
    CHECK(file.error.offload_useless);
    CHECK_INT(target->size, 0);
}

static void
truncating_is_refused(void)
{
    static const struct {
        size_t size;
        long old_size;
    } rows[] = {{1000, 1001}, {1, 9000}, {0, 5}, {0, 0}, {70000, 5}};
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        begin(rows[i].size, rows[i].old_size);
        check_context("row %u", (unsigned)i);
        fake_fail(FAKE_TRUNCATE, 1, FAKE_ALWAYS, FAKE_REFUSED);
        failed(SC_OP_TRUNCATE, FAKE_REFUSED);
        CHECK_INT(target->size, rows[i].old_size);
        old_content();
    }
}

static void
writing_and_then_truncating_fail(void)
{
    begin(1000, 500);
    fake_fail(FAKE_WRITE, 1, 1, FAKE_BROKEN);
    fake_fail(FAKE_TRUNCATE, 1, 1, FAKE_REFUSED);
    failed(SC_OP_TRUNCATE, FAKE_REFUSED);
    old_content();
}

static void
seeking_back_fails(void)
{
    begin(1000, 500);
    fake_fail(FAKE_WRITE, 1, 1, FAKE_BROKEN);
    fake_fail(FAKE_SEEK, 1, 1, FAKE_REFUSED);
    failed(SC_OP_DATA, FAKE_REFUSED);
    CHECK_INT(target->size, 0);
}

static void
short_writes(void)
{
    static const long olds[] = {-1, 0, 500, 30000, 90000};
    for (size_t i = 0; i < CHECK_COUNT(olds); i++) {
        for (size_t limit = 1; limit < 40000; limit = limit * 10 + 1) {
            begin(limit < 100 ? 300 : 30000, olds[i]);
            check_context("over %ld, %lu at once", olds[i],
                          (unsigned long)limit);
            fake_limit(FAKE_WRITE, 1, FAKE_ALWAYS, limit);
            copied();
        }
    }
}

static void
a_short_write_and_then_an_error(void)
{
    static const long olds[] = {-1, 0, 500, 5000};
    for (size_t i = 0; i < CHECK_COUNT(olds); i++) {
        begin(1000, olds[i]);
        check_context("over %ld", olds[i]);
        bool in_place = olds[i] > 0; /* the first write is undone */
        fake_limit(FAKE_WRITE, 1, FAKE_ALWAYS, 300);
        fake_fail(FAKE_WRITE, in_place ? 3 : 2, 1, FAKE_FULL);
        failed(SC_OP_DATA, FAKE_FULL);
        CHECK_INT(file.error.done, 300);
        CHECK(fake_same(fake_find("target"), source->data, 300));
    }
}

/* --- signals ------------------------------------------------------------ */

static unsigned checkpoints;
static int answer;

static int
checkpoint(void *context, uint64_t copied_bytes, uint64_t total)
{
    (void)context, (void)copied_bytes, (void)total;
    checkpoints++;
    return answer;
}

static void
signals_are_survived(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE};
    static const long olds[] = {-1, 0, 500, 5000};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (size_t j = 0; j < CHECK_COUNT(olds); j++) {
            for (unsigned nth = 1; nth <= 2; nth++) {
                begin(1000, olds[j]);
                check_context("call %u of %d over %ld", nth, (int)calls[i],
                              olds[j]);
                options.checkpoint = checkpoint;
                answer = 0;
                checkpoints = 0;
                fake_limit(calls[i], 1, FAKE_ALWAYS, 900);
                fake_fail(calls[i], nth, 5, SC_INTERRUPTED);
                copied();
                CHECK(checkpoints >= 4);
            }
        }
    }
}

static void
a_signal_can_cancel(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE};
    static const long olds[] = {-1, 500, 5000};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (size_t j = 0; j < CHECK_COUNT(olds); j++) {
            begin(1000, olds[j]);
            check_context("%s over %ld", i == 0 ? "read" : "write", olds[j]);
            options.checkpoint = checkpoint;
            answer = 1;
            fake_fail(calls[i], 1, FAKE_ALWAYS, SC_INTERRUPTED);
            CHECK_INT(fake_copy(&options, &file), SC_CANCELLED);
            CHECK_INT(file.error.operation, SC_OP_NONE);
            CHECK_INT(fake.open_handles, 0);
            if (calls[i] == FAKE_READ && target != NULL) {
                old_content();
            }
        }
    }
}

static void
one_signal_in_place_is_heard(void)
{
    begin(1000, 500);
    options.checkpoint = checkpoint;
    answer = 1;
    fake_fail(FAKE_WRITE, 1, 1, SC_INTERRUPTED);
    CHECK_INT(fake_copy(&options, &file), SC_CANCELLED);
}

static const struct check_case cases[] = {
    CHECK_CASE(every_size_over_every_size),
    CHECK_CASE(the_fewest_calls),
    CHECK_CASE(a_size_that_lies),
    CHECK_CASE(it_changes_while_it_is_read),
    CHECK_CASE(a_read_error_leaves_the_old_target),
    CHECK_CASE(a_refused_write_is_tried_on_an_empty_file),
    CHECK_CASE(a_write_that_fails_twice_is_an_error),
    CHECK_CASE(truncating_is_refused),
    CHECK_CASE(writing_and_then_truncating_fail),
    CHECK_CASE(seeking_back_fails),
    CHECK_CASE(short_writes),
    CHECK_CASE(a_short_write_and_then_an_error),
    CHECK_CASE(signals_are_survived),
    CHECK_CASE(a_signal_can_cancel),
    CHECK_CASE(one_signal_in_place_is_heard),
};

const struct check_suite small_suite = CHECK_SUITE("small", cases);
