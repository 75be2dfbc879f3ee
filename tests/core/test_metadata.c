/* Which metadata are copied, in which order, and what failing means. */
#include "fake.h"
#include "suites.h"

#define ALL                                                                  \
    (SC_PRESERVE_MODE | SC_PRESERVE_TIMES | SC_PRESERVE_XATTRS |             \
     SC_PRESERVE_FLAGS | SC_PRESERVE_OWNERSHIP | SC_PRESERVE_ACL)

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;

static void
begin(unsigned preserve)
{
    fake_reset();
    options = fake_options();
    options.preserve = preserve;
    source = fake_add("source", 100, 1);
    source->stat.mode = 04540;
    source->stat.uid = 5;
    source->stat.gid = 6;
    source->stat.modified = (struct sc_time){-77, 123456789};
    source->stat.accessed = (struct sc_time){12345678901, 1};
}

static void
the_order(void)
{
    static const struct {
        unsigned preserve;
        const char *log;
    } rows[] = {
        {0, ""},
        {SC_PRESERVE_MODE, "set_mode "},
        {SC_PRESERVE_TIMES, "set_times "},
        {SC_PRESERVE_FLAGS, "copy_flags "},
        {SC_PRESERVE_XATTRS, "copy_xattrs "},
        {SC_PRESERVE_ACL, "copy_xattrs "},
        {SC_PRESERVE_OWNERSHIP, "set_owner "},
        {ALL & ~SC_PRESERVE_OWNERSHIP,
         "set_times copy_xattrs set_mode copy_flags "},
        {ALL, "set_owner set_times copy_xattrs set_mode copy_flags "},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        char expected[256] = "stat stat open_source fstat open_target read "
                             "write ";
        size_t used = 0;
        while (expected[used] != '\0') {
            used++;
        }
        for (size_t j = 0; rows[i].log[j] != '\0'; j++) {
            expected[used++] = rows[i].log[j];
        }
        for (const char *end = "close close"; *end != '\0'; end++) {
            expected[used++] = *end;
        }
        begin(rows[i].preserve);
        check_context("row %u", (unsigned)i);
        CHECK_INT(fake_copy(&options, &file), SC_DONE);
        CHECK_TEXT(fake.log, expected);
        CHECK(!file.metadata_incomplete);
    }
}

static void
they_arrive(void)
{
    begin(ALL);
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    const struct sc_stat *stat = &fake_find("target")->stat;
    CHECK_INT(stat->mode, 04540);
    CHECK_INT(stat->uid, 5);
    CHECK_INT(stat->gid, 6);
    CHECK_INT(stat->modified.seconds, -77);
    CHECK_INT(stat->modified.nanoseconds, 123456789);
    CHECK_INT(stat->accessed.seconds, 12345678901);
    CHECK_INT(stat->accessed.nanoseconds, 1);
}

static uint32_t mode_while_written;

static void
look(void)
{
    mode_while_written = fake_find("target")->stat.mode;
}

static void
narrow_until_it_is_done(void)
{
    static const struct {
        unsigned preserve;
        uint32_t source;
        uint32_t expected;
    } rows[] = {
        {0, 0600, 0666},
        {SC_PRESERVE_TIMES, 0600, 0666},
        {SC_PRESERVE_MODE, 0644, 0600},
        {SC_PRESERVE_MODE, 0600, 0600},
        {SC_PRESERVE_MODE, 0444, 0600},
        {SC_PRESERVE_MODE, 04755, 0700},
        {SC_PRESERVE_MODE, 0, 0200},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        begin(rows[i].preserve);
        check_context("row %u", (unsigned)i);
        source->stat.mode = rows[i].source;
        fake_before(FAKE_WRITE, 1, look);
        CHECK_INT(fake_copy(&options, &file), SC_DONE);
        CHECK_INT(mode_while_written, rows[i].expected);
    }
}

static void
an_acl_asked_for_by_name_has_to_come(void)
{
    begin(ALL);
    fake_fail(FAKE_COPY_XATTRS, 1, 1, FAKE_REFUSED);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_METADATA);
    CHECK_INT(file.error.code, FAKE_REFUSED);
}

static void
what_fails_leaves_the_data(void)
{
    static const enum fake_call calls[] = {FAKE_SET_TIMES, FAKE_COPY_XATTRS,
                                           FAKE_SET_MODE, FAKE_COPY_FLAGS};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        begin(ALL & ~(unsigned)SC_PRESERVE_ACL);
        check_context("call %d", (int)calls[i]);
        fake_fail(calls[i], 1, 1, FAKE_REFUSED);
        CHECK_INT(fake_copy(&options, &file), SC_DONE);
        CHECK(file.metadata_incomplete);
        CHECK_INT(file.error.operation, SC_OP_NONE);
        CHECK(fake_same(fake_find("target"), source->data, 100));
        for (size_t j = i + 1; j < CHECK_COUNT(calls); j++) {
            CHECK_INT(fake.calls[calls[j]], 0);
        }
        CHECK_INT(fake.open_handles, 0);
    }
}

static void
an_owner_that_cannot_be_given_is_an_error(void)
{
    begin(ALL);
    fake_fail(FAKE_SET_OWNER, 1, 1, FAKE_REFUSED);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_METADATA);
    CHECK_INT(file.error.code, FAKE_REFUSED);
    CHECK_INT(fake.calls[FAKE_SET_MODE], 0); /* above all no setuid bit */
    CHECK(fake_same(fake_find("target"), source->data, 100));
}

static void
nothing_without_the_data(void)
{
    begin(ALL);
    fake_fail(FAKE_WRITE, 1, 1, FAKE_BROKEN);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(fake.calls[FAKE_SET_TIMES], 0);
    CHECK_INT(fake.calls[FAKE_SET_MODE], 0);
    CHECK_INT(fake.calls[FAKE_SET_OWNER], 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(the_order),
    CHECK_CASE(they_arrive),
    CHECK_CASE(narrow_until_it_is_done),
    CHECK_CASE(an_acl_asked_for_by_name_has_to_come),
    CHECK_CASE(what_fails_leaves_the_data),
    CHECK_CASE(an_owner_that_cannot_be_given_is_an_error),
    CHECK_CASE(nothing_without_the_data),
};

const struct check_suite metadata_suite = CHECK_SUITE("metadata", cases);
