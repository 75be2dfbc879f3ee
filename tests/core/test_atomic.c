/* Atomic copies: all or nothing, and nothing left behind. */
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "suites.h"

#define SIZE 100000u

static struct sc_file file;
static struct sc_options options;
static struct fake_file *source;
static unsigned char old[5000];

static void
begin(bool existing)
{
    fake_reset();
    options = fake_options();
    options.atomic = true;
    source = fake_add("source", SIZE, 1);
    source->stat.mode = 0750;
    if (existing) {
        struct fake_file *target = fake_add("target", sizeof(old), 2);
        target->stat.mode = 04711;
        target->stat.uid = 33;
        target->stat.gid = 44;
        fake_fill(old, sizeof(old), 2);
    }
}

/* Only the two names that a user knows. */
static bool
nothing_left(void)
{
    for (size_t i = 0; i < FAKE_FILES; i++) {
        if (fake.files[i].used && fake.files[i].linked &&
            strstr(fake.files[i].name, ".speedcopy-") != NULL) {
            return false;
        }
    }
    return fake.open_handles == 0 && file.temporary.path == NULL &&
           file.final.path == NULL;
}

static void
copied(const char *name)
{
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    CHECK(fake_same(fake_find(name), source->data, SIZE));
    CHECK_INT(file.result.bytes, SIZE);
    CHECK(nothing_left());
}

static void
a_new_target(void)
{
    begin(false);
    copied("target");
    CHECK_INT(fake_find("target")->stat.mode, 0666);
    CHECK_INT(fake.calls[FAKE_SET_OWNER], 0);
}

static void
a_new_target_with_the_mode_to_come(void)
{
    begin(false);
    options.preserve = SC_PRESERVE_MODE;
    fake_fail(FAKE_SET_MODE, 1, 1, FAKE_BROKEN);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL); /* or it would be 0700 */
    CHECK_INT(file.error.operation, SC_OP_METADATA);
    CHECK(fake_find("target") == NULL);
    CHECK(nothing_left());
}

static void
an_old_target_gives_mode_and_owner(void)
{
    begin(true);
    copied("target");
    const struct fake_file *target = fake_find("target");
    CHECK_INT(target->stat.mode, 04711);
    CHECK_INT(target->stat.uid, 33);
    CHECK_INT(target->stat.gid, 44);
    CHECK_INT(fake.calls[FAKE_COPY_XATTRS], 1);
}

static void
without_the_owner_no_setuid(void)
{
    begin(true);
    fake_fail(FAKE_SET_OWNER, 1, 1, FAKE_REFUSED);
    copied("target");
    CHECK_INT(fake_find("target")->stat.mode, 0711);
}

static void
small_and_empty_files(void)
{
    static const size_t sizes[] = {0, 1, 1000, 65536};
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        for (int existing = 0; existing < 2; existing++) {
            begin(existing == 1);
            check_context("%lu, existing %d", (unsigned long)sizes[i],
                          existing);
            fake_set_size(source, sizes[i]);
            CHECK_INT(fake_copy(&options, &file), SC_DONE);
            CHECK(fake_same(fake_find("target"), source->data, sizes[i]));
            CHECK(nothing_left());
        }
    }
}

static void
a_link_is_followed(void)
{
    for (int existing = 0; existing < 2; existing++) {
        begin(false);
        check_context("existing %d", existing);
        struct fake_file *link = fake_add("target", 0, 0);
        link->stat.kind = SC_KIND_SYMLINK;
        (void)snprintf(link->link, sizeof(link->link), "folder/real");
        if (existing) {
            fake_add("folder/real", 10, 3);
        }
        copied("folder/real");
        CHECK_INT(fake_find("target")->stat.kind, SC_KIND_SYMLINK);
    }
}

/* --- failing ------------------------------------------------------------ */

static bool
target_untouched(bool existing)
{
    const struct fake_file *target = fake_find("target");
    if (!existing) {
        return CHECK(target == NULL);
    }
    return CHECK(fake_same(target, old, sizeof(old))) &&
           CHECK_INT(target->stat.mode, 04711);
}

static void
whatever_fails_nothing_is_left(void)
{
    static const struct {
        enum fake_call call;
        enum sc_operation operation;
    } rows[] = {
        {FAKE_OPEN_SOURCE, SC_OP_OPEN_SOURCE},
        {FAKE_READ, SC_OP_DATA},
        {FAKE_WRITE, SC_OP_DATA},
        {FAKE_SET_TIMES, SC_OP_METADATA},
        {FAKE_RESOLVE, SC_OP_TEMPORARY},
        {FAKE_RENAME, SC_OP_RENAME},
        {FAKE_SYNC, SC_OP_SYNC},
        {FAKE_CLOSE, SC_OP_CLOSE},
        {FAKE_STAT_HANDLE, SC_OP_NONE}, /* of either */
        {FAKE_OPEN_TARGET, SC_OP_NONE}, /* the old one, the temporary one */
        {FAKE_SET_MODE, SC_OP_NONE},    /* taken over, or copied */
        {FAKE_COPY_XATTRS, SC_OP_NONE},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        for (int existing = 0; existing < 2; existing++) {
            for (unsigned nth = 1; nth < 4; nth++) {
                begin(existing == 1);
                check_context("row %u, call %u, existing %d", (unsigned)i,
                              nth, existing);
                options.preserve =
                    SC_PRESERVE_TIMES | SC_PRESERVE_MODE | SC_PRESERVE_XATTRS;
                options.fsync = true;
                fake_fail(rows[i].call, nth, 1, FAKE_BROKEN);
                enum sc_status status = fake_copy(&options, &file);
                CHECK(nothing_left());
                if (fake.calls[rows[i].call] < nth) {
                    CHECK_INT(status, SC_DONE);
                    continue;
                }
                /* The old target, opened to see that it may be, is closed
                   without harm. */
                if (rows[i].call == FAKE_CLOSE && nth == 3 && existing) {
                    CHECK_INT(status, SC_DONE);
                    continue;
                }
                CHECK_INT(status, SC_FAIL);
                CHECK_INT(file.error.code, FAKE_BROKEN);
                if (rows[i].operation != SC_OP_NONE) {
                    CHECK_INT(file.error.operation, rows[i].operation);
                }
                target_untouched(existing == 1);
            }
        }
    }
}

static int
cancel(void *context, uint64_t done, uint64_t total)
{
    (void)context, (void)done, (void)total;
    return 1;
}

static void
cancelled(void)
{
    for (int existing = 0; existing < 2; existing++) {
        begin(existing == 1);
        options.checkpoint = cancel;
        CHECK_INT(fake_copy(&options, &file), SC_CANCELLED);
        CHECK(nothing_left());
        target_untouched(existing == 1);
    }
}

static void
the_folder_cannot_be_synced(void)
{
    begin(true);
    options.fsync = true;
    fake_fail(FAKE_SYNC_FOLDER, 1, 1, FAKE_BROKEN);
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_SYNC);
    CHECK(fake_same(fake_find("target"), source->data, SIZE));
    CHECK(nothing_left());
}

static bool half_seen;

static void
look(void)
{
    const struct fake_file *target = fake_find("target");
    half_seen =
        half_seen || target == NULL || !fake_same(target, old, sizeof(old));
}

static void
nobody_sees_half_of_it(void)
{
    static const enum fake_call calls[] = {
        FAKE_WRITE, FAKE_TRUNCATE, FAKE_SYNC, FAKE_CLOSE, FAKE_RENAME};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        begin(true);
        options.fsync = true;
        half_seen = false;
        fake_before(calls[i], 1, look);
        fake_before(calls[i], 2, look);
        copied("target");
        CHECK(!half_seen);
    }
}

static void
the_order(void)
{
    begin(true);
    fake_set_size(source, 100);
    options.fsync = true;
    options.preserve = SC_PRESERVE_TIMES | SC_PRESERVE_MODE;
    CHECK_INT(fake_copy(&options, &file), SC_DONE);
    CHECK_TEXT(fake.log,
               "stat stat open_source fstat open_target fstat resolve stat "
               "open_target read write set_owner copy_xattrs set_times "
               "set_mode sync close close close rename sync_folder");
}

static void
take_name(void)
{
    char name[96];
    fake_unlink("target");
    (void)snprintf(name, sizeof(name), "%s", "target");
    fake_add(name, 77, 8);
}

static void
a_target_that_appears_is_replaced(void)
{
    begin(false);
    fake_before(FAKE_WRITE, 1, take_name);
    copied("target");
}

static const struct check_case cases[] = {
    CHECK_CASE(a_new_target),
    CHECK_CASE(a_new_target_with_the_mode_to_come),
    CHECK_CASE(an_old_target_gives_mode_and_owner),
    CHECK_CASE(without_the_owner_no_setuid),
    CHECK_CASE(small_and_empty_files),
    CHECK_CASE(a_link_is_followed),
    CHECK_CASE(whatever_fails_nothing_is_left),
    CHECK_CASE(cancelled),
    CHECK_CASE(the_folder_cannot_be_synced),
    CHECK_CASE(nobody_sees_half_of_it),
    CHECK_CASE(the_order),
    CHECK_CASE(a_target_that_appears_is_replaced),
};

const struct check_suite atomic_suite = CHECK_SUITE("atomic", cases);
