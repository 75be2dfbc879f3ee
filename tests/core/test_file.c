/* The steps around the data: what is declined, opening, closing, syncing. */
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "suites.h"

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;
static struct fake_file *target;
static unsigned char old[5000];

static void
begin(bool existing)
{
    fake_reset();
    options = fake_options();
    source = fake_add("source", 100, 1);
    target = NULL;
    if (existing) {
        target = fake_add("target", sizeof(old), 2);
        fake_fill(old, sizeof(old), 2);
    }
}

static void
declined(enum sc_oddity oddity)
{
    CHECK_INT(fake_copy(&options, &file), SC_DECLINED);
    CHECK_INT(file.oddity, oddity);
    CHECK_INT(file.error.operation, SC_OP_NONE);
    CHECK_INT(fake.calls[FAKE_TRUNCATE], 0);
    CHECK_INT(fake.calls[FAKE_WRITE], 0);
    CHECK_INT(fake.calls[FAKE_REMOVE], 0);
    CHECK_INT(fake.open_handles, 0);
    if (target != NULL && target->stat.kind == SC_KIND_REGULAR &&
        target->used) {
        CHECK(fake_same(target, old, target->size));
    }
}

/* --- examine ------------------------------------------------------------ */

static void
odd_sources(void)
{
    begin(true);
    source->stat.kind = SC_KIND_DIRECTORY;
    declined(SC_ODD_SOURCE_KIND);
    begin(true);
    source->stat.kind = SC_KIND_SPECIAL;
    declined(SC_ODD_SOURCE_KIND);
    begin(true);
    fake_unlink("source");
    declined(SC_ODD_SOURCE_MISSING);
    begin(true);
    fake_fail(FAKE_STAT_LOCATION, 1, 1, FAKE_REFUSED);
    declined(SC_ODD_SOURCE_MISSING);
    CHECK_INT(fake.calls[FAKE_OPEN_SOURCE], 0);
}

static void
a_link_that_is_not_to_be_followed(void)
{
    const struct sc_location from = {SC_WORKING_DIRECTORY, "link"};
    const struct sc_location to = {SC_WORKING_DIRECTORY, "target"};
    begin(true);
    struct fake_file *link = fake_add("link", 0, 0);
    link->stat.kind = SC_KIND_SYMLINK;
    (void)snprintf(link->link, sizeof(link->link), "source");
    sc_file_init(&file, from, to, false, &options);
    CHECK_INT(sc_file_copy(&file), SC_DECLINED);
    CHECK_INT(file.oddity, SC_ODD_SOURCE_LINK);
    sc_file_init(&file, from, to, true, &options);
    CHECK_INT(sc_file_copy(&file), SC_DONE);
    CHECK(fake_same(target, source->data, 100));
}

static void
odd_targets(void)
{
    begin(true);
    target->stat.kind = SC_KIND_DIRECTORY;
    declined(SC_ODD_TARGET_FOLDER);
    begin(true);
    target->stat.kind = SC_KIND_SPECIAL;
    declined(SC_ODD_TARGET_KIND);
    begin(true);
    target->stat.inode = source->stat.inode;
    declined(SC_ODD_SAME_FILE);
    begin(true);
    fake_fail(FAKE_STAT_LOCATION, 2, 1, FAKE_REFUSED);
    declined(SC_ODD_TARGET_ERROR);
    CHECK_INT(fake.calls[FAKE_OPEN_SOURCE], 0);
}

static void
the_same_inode_of_another_device(void)
{
    begin(true);
    target->stat.inode = source->stat.inode;
    target->stat.device = source->stat.device + 1;
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    CHECK(fake_same(target, source->data, 100));
}

/* --- changed after examine ---------------------------------------------- */

static void
target_becomes_source(void)
{
    target->stat.inode = source->stat.inode;
}

static void
target_becomes_pipe(void)
{
    target->stat.kind = SC_KIND_SPECIAL;
}

static void
target_becomes_folder(void)
{
    target->stat.kind = SC_KIND_DIRECTORY;
}

static void
source_becomes_pipe(void)
{
    source->stat.kind = SC_KIND_SPECIAL;
}

static void
source_becomes_another(void)
{
    source->stat.inode += 1000;
}

static void
a_twin_appears(void)
{
    target = fake_add("target", sizeof(old), 2);
    fake_fill(old, sizeof(old), 2);
    target->stat.inode = source->stat.inode;
}

static void
swapped_before_it_is_opened(void)
{
    begin(true);
    fake_before(FAKE_OPEN_TARGET, 1, target_becomes_source);
    declined(SC_ODD_SAME_FILE);
    begin(true);
    fake_before(FAKE_OPEN_TARGET, 1, target_becomes_pipe);
    declined(SC_ODD_TARGET_KIND);
    begin(true);
    fake_before(FAKE_OPEN_TARGET, 1, target_becomes_folder);
    declined(SC_ODD_TARGET_FOLDER);
    begin(false);
    fake_before(FAKE_OPEN_TARGET, 1, a_twin_appears);
    declined(SC_ODD_SAME_FILE);
    begin(true);
    fake_before(FAKE_OPEN_SOURCE, 1, source_becomes_pipe);
    declined(SC_ODD_SOURCE_KIND);
    begin(true);
    options.atomic = true;
    fake_before(FAKE_OPEN_TARGET, 1, target_becomes_source);
    declined(SC_ODD_SAME_FILE);
}

static void
another_source_of_the_same_name(void)
{
    const struct sc_location from = {SC_WORKING_DIRECTORY, "source"};
    const struct sc_location to = {SC_WORKING_DIRECTORY, "target"};
    for (int follow = 0; follow < 2; follow++) {
        begin(false);
        fake_before(FAKE_OPEN_SOURCE, 1, source_becomes_another);
        sc_file_init(&file, from, to, follow == 1, &options);
        CHECK_INT(sc_file_copy(&file), follow ? SC_DONE : SC_DECLINED);
        CHECK((fake_find("target") != NULL) == (follow == 1));
        CHECK_INT(fake.open_handles, 0);
    }
}

static void
a_target_that_appears_is_emptied(void)
{
    const struct sc_location from = {SC_WORKING_DIRECTORY, "source"};
    const struct sc_location to = {SC_WORKING_DIRECTORY, "target"};
    begin(false);
    sc_file_init(&file, from, to, true, &options);
    CHECK_INT(sc_file_examine(&file), SC_DONE);
    target = fake_add("target", sizeof(old), 2);
    CHECK_INT(sc_file_open_source(&file), SC_DONE);
    CHECK_INT(sc_file_open_target(&file), SC_DONE);
    CHECK(!file.created);
    CHECK_INT(sc_file_copy_data(&file), SC_DONE);
    CHECK_INT(sc_file_close(&file, SC_DONE), SC_DONE);
    CHECK(fake_same(target, source->data, 100));
}

/* --- failing ------------------------------------------------------------ */

static void
opening_fails(void)
{
    static const struct {
        enum fake_call call;
        unsigned nth;
        enum sc_operation operation;
    } rows[] = {
        {FAKE_OPEN_SOURCE, 1, SC_OP_OPEN_SOURCE},
        {FAKE_STAT_HANDLE, 1, SC_OP_STAT_SOURCE},
        {FAKE_OPEN_TARGET, 1, SC_OP_OPEN_TARGET},
        {FAKE_STAT_HANDLE, 2, SC_OP_STAT_TARGET},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        begin(true);
        check_context("row %u", (unsigned)i);
        fake_fail(rows[i].call, rows[i].nth, 1, FAKE_BROKEN);
        CHECK_INT(fake_copy(&options, &file), SC_FAIL);
        CHECK_INT(file.error.operation, rows[i].operation);
        CHECK_INT(file.error.code, FAKE_BROKEN);
        CHECK_INT(fake.open_handles, 0);
        CHECK(fake_same(target, old, sizeof(old)));
    }
}

static void
closing_fails(void)
{
    for (unsigned nth = 1; nth <= 2; nth++) {
        begin(true);
        check_context("close %u", nth);
        fake_fail(FAKE_CLOSE, nth, 1, FAKE_FULL);
        CHECK_INT(fake_copy(&options, &file), SC_FAIL);
        CHECK_INT(file.error.operation, SC_OP_CLOSE);
        CHECK_INT(file.error.code, FAKE_FULL);
        CHECK_INT(fake.open_handles, 0);
        CHECK(fake_same(target, source->data, 100));
    }
}

static void
both_closes_fail(void)
{
    begin(true);
    fake_fail(FAKE_CLOSE, 1, 1, 61); /* the target's */
    fake_fail(FAKE_CLOSE, 2, 1, 62);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.code, 61);
}

static void
an_error_before_closing_is_the_one_told(void)
{
    begin(true);
    fake_fail(FAKE_READ, 1, 1, FAKE_BROKEN);
    fake_fail(FAKE_CLOSE, 1, 2, 61);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_DATA);
    CHECK_INT(file.error.code, FAKE_BROKEN);
}

static void
syncing(void)
{
    begin(true);
    options.fsync = true;
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    CHECK(strstr(fake.log, "write sync close close sync_folder") != NULL);

    static const enum fake_call calls[] = {FAKE_SYNC, FAKE_SYNC_FOLDER};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        begin(true);
        options.fsync = true;
        fake_fail(calls[i], 1, 1, FAKE_BROKEN);
        CHECK_INT(fake_copy(&options, &file), SC_FAIL);
        CHECK_INT(file.error.operation, SC_OP_SYNC);
        CHECK_INT(file.error.code, FAKE_BROKEN);
        CHECK_INT(fake.open_handles, 0);
    }
}

static void
no_syncing_after_a_failure(void)
{
    begin(true);
    options.fsync = true;
    fake_fail(FAKE_READ, 1, 1, FAKE_BROKEN);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(fake.calls[FAKE_SYNC], 0);
    CHECK_INT(fake.calls[FAKE_SYNC_FOLDER], 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(odd_sources),
    CHECK_CASE(a_link_that_is_not_to_be_followed),
    CHECK_CASE(odd_targets),
    CHECK_CASE(the_same_inode_of_another_device),
    CHECK_CASE(swapped_before_it_is_opened),
    CHECK_CASE(another_source_of_the_same_name),
    CHECK_CASE(a_target_that_appears_is_emptied),
    CHECK_CASE(opening_fails),
    CHECK_CASE(closing_fails),
    CHECK_CASE(both_closes_fail),
    CHECK_CASE(an_error_before_closing_is_the_one_told),
    CHECK_CASE(syncing),
    CHECK_CASE(no_syncing_after_a_failure),
};

const struct check_suite file_suite = CHECK_SUITE("file", cases);
