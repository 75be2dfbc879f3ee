/* Sparse sources: what find_data says, and what it says wrongly. */
#include <string.h>

#include "fake.h"
#include "suites.h"

#define BLOCK 4096u
#define BLOCKS 40u
#define SIZE (BLOCKS * BLOCK)

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;
static unsigned char map[BLOCKS + 1];

/* `pattern` is repeated: one letter for a block, '.' a hole, 'x' data. */
static void
begin(const char *pattern)
{
    fake_reset();
    options = fake_options();
    source = fake_add("source", SIZE, 1);
    source->stat.allocated = BLOCK;
    fake_ladder[0] = &sc_holes;
    fake_ladder[1] = &sc_read_write;
    memset(map, 0, sizeof(map));
    for (size_t i = 0; i < BLOCKS; i++) {
        map[i] = pattern[i % strlen(pattern)] == 'x';
        if (!map[i]) {
            memset(source->data + i * BLOCK, 0, BLOCK);
        }
    }
    fake.hole_map = map;
    fake.hole_blocks = BLOCKS;
}

static void
copied(unsigned method)
{
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    CHECK(fake_same(fake_find("target"), source->data, source->size));
    CHECK_INT(file.result.bytes, source->size);
    CHECK_INT(file.result.method, method);
    CHECK_INT(fake.open_handles, 0);
}

static unsigned
data_blocks(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        count += map[i];
    }
    return count;
}

static const char *const patterns[] = {
    "x",
    ".",
    "x.",
    ".x",
    "xx..",
    "..xx",
    "xxxxxxxxx.",
    ".........x",
    "x......................................x",
    ".......................................x",
    "x.......................................",
    "..x.xx...x",
};

static void
only_the_data_is_read(void)
{
    for (size_t i = 0; i < CHECK_COUNT(patterns); i++) {
        for (int existing = 0; existing < 2; existing++) {
            begin(patterns[i]);
            check_context("%s %d", patterns[i], existing);
            if (existing) {
                fake_add("target", 2 * SIZE, 5);
            }
            copied(SC_METHOD_HOLES);
            CHECK(fake.calls[FAKE_WRITE] <= data_blocks());
        }
    }
}

static void
no_question_when_there_is_nothing_to_gain(void)
{
    begin("x");
    source->stat.allocated = SIZE;
    copied(SC_METHOD_READ_WRITE);
    CHECK_INT(fake.calls[FAKE_FIND_DATA], 0);
}

static void
the_question_fails(void)
{
    for (size_t i = 0; i < CHECK_COUNT(patterns); i++) {
        for (unsigned nth = 1; nth < 4; nth++) {
            begin(patterns[i]);
            check_context("%s, question %u", patterns[i], nth);
            fake_fail(FAKE_FIND_DATA, nth, 1, FAKE_REFUSED);
            CHECK_INT(fake_copy(&options, &file), SC_DONE);
            CHECK(fake_same(fake_find("target"), source->data, SIZE));
            if (fake.calls[FAKE_FIND_DATA] >= nth) {
                CHECK_INT(file.result.method, SC_METHOD_READ_WRITE);
                CHECK_INT(file.result.fallback_count, 1);
                CHECK_INT(file.result.fallbacks[0].method, SC_METHOD_HOLES);
                CHECK_INT(file.result.fallbacks[0].code, FAKE_REFUSED);
            }
        }
    }
}

static void
an_empty_stretch_does_not_go_round(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        begin("x.");
        check_context("block %u", (unsigned)i);
        map[i] = 2;
        CHECK_INT(fake_copy(&options, &file), SC_DONE);
        CHECK(fake_same(fake_find("target"), source->data, SIZE));
        CHECK(fake.calls[FAKE_FIND_DATA] <= BLOCKS);
    }
}

static void
shrink(void)
{
    fake_set_size(source, 7 * BLOCK + 5);
}

static void
grow(void)
{
    fake_set_size(source, SIZE + 3 * BLOCK); /* by a hole */
}

static void
it_changes_on_the_way(void)
{
    static void (*const hooks[])(void) = {shrink, grow};
    for (size_t i = 0; i < CHECK_COUNT(patterns); i++) {
        for (size_t j = 0; j < CHECK_COUNT(hooks); j++) {
            for (unsigned nth = 1; nth < 5; nth++) {
                begin(patterns[i]);
                check_context("%s, %s at %u", patterns[i],
                              j == 0 ? "shrinks" : "grows", nth);
                fake_before(FAKE_FIND_DATA, nth, hooks[j]);
                CHECK_INT(fake_copy(&options, &file), SC_DONE);
                const struct fake_file *target = fake_find("target");
                /* A file cut short meanwhile may have given more. */
                CHECK(target->size >= source->size);
                CHECK(memcmp(target->data, source->data, source->size) == 0);
            }
        }
    }
}

static void
failing_leaves_no_more_than_was_written(void)
{
    static const enum fake_call calls[] = {FAKE_READ, FAKE_WRITE, FAKE_SEEK,
                                           FAKE_TRUNCATE};
    for (size_t i = 0; i < CHECK_COUNT(patterns); i++) {
        for (size_t j = 0; j < CHECK_COUNT(calls); j++) {
            for (unsigned nth = 1; nth < 5; nth++) {
                begin(patterns[i]);
                check_context("%s, call %u of %d", patterns[i], nth,
                              (int)calls[j]);
                fake_fail(calls[j], nth, 1, FAKE_BROKEN);
                enum sc_status status = fake_copy(&options, &file);
                const struct fake_file *target = fake_find("target");
                CHECK(target->size <= SIZE);
                CHECK(target->size == 0 ||
                      memcmp(target->data, source->data, target->size) == 0);
                CHECK_INT(fake.open_handles, 0);
                bool hit = fake.calls[calls[j]] >= nth;
                CHECK_INT(status, hit ? SC_FAIL : SC_DONE);
                CHECK_INT(file.error.operation,
                          hit ? SC_OP_DATA : SC_OP_NONE);
                CHECK_INT(file.error.code, hit ? FAKE_BROKEN : 0);
            }
        }
    }
}

static int
cancel(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    CHECK_INT(total, SIZE);
    return done > SIZE / 2;
}

static void
it_can_be_cancelled(void)
{
    begin("x.");
    options.checkpoint = cancel;
    CHECK_INT(fake_copy(&options, &file), SC_CANCELLED);
    const struct fake_file *target = fake_find("target");
    CHECK(target->size > SIZE / 2 && target->size < SIZE);
    CHECK(memcmp(target->data, source->data, target->size) == 0);
}

static void
holes_alone_cannot_copy_data(void)
{
    begin("x.");
    options.methods = SC_METHOD_HOLES;
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_METHOD);
    CHECK(fake_find("target") == NULL);
}

static void
zeros_are_left_out_of_the_data_too(void)
{
    for (size_t i = 0; i < CHECK_COUNT(patterns); i++) {
        begin(patterns[i]);
        check_context("%s", patterns[i]);
        options.sparse = SC_ALWAYS;
        for (size_t j = 0; j < BLOCKS; j += 3) { /* zeros that are data */
            memset(source->data + j * BLOCK, 0, BLOCK);
        }
        copied(SC_METHOD_HOLES);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(only_the_data_is_read),
    CHECK_CASE(no_question_when_there_is_nothing_to_gain),
    CHECK_CASE(the_question_fails),
    CHECK_CASE(an_empty_stretch_does_not_go_round),
    CHECK_CASE(it_changes_on_the_way),
    CHECK_CASE(failing_leaves_no_more_than_was_written),
    CHECK_CASE(it_can_be_cancelled),
    CHECK_CASE(holes_alone_cannot_copy_data),
    CHECK_CASE(zeros_are_left_out_of_the_data_too),
};

const struct check_suite holes_suite = CHECK_SUITE("holes", cases);
