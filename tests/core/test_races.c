/* Names that become other files while they are being copied.  A pipe in the
   place of a file must not hold us up: an alarm ends the program. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"
#include "check.h"
#include "inject.h"
#include "suites.h"

#define SIZE ((size_t)100000)

static unsigned char bytes[SIZE];
static unsigned char old[5000];
static struct sc_file file;

static void
begin(bool existing)
{
    inject_install();
    box_remove("source");
    box_remove("target");
    box_fill(bytes, SIZE, 1);
    box_fill(old, sizeof(old), 2);
    box_write("source", bytes, SIZE);
    if (existing) {
        box_write("target", old, sizeof(old));
    }
}

/* Copy, with something done before open number `number` (0: of the source,
   1: of the target). */
static enum sc_status
copy_with(unsigned number, void (*before)(void), bool follow)
{
    const struct sc_options options = box_options();
    const struct sc_location from = {SC_WORKING_DIRECTORY, "source"};
    const struct sc_location to = {SC_WORKING_DIRECTORY, "target"};
    inject.call = INJECT_OPENAT;
    inject.skip = number;
    inject.times = 1;
    inject.before = before;
    int descriptors = box_descriptors();
    sc_file_init(&file, from, to, follow, &options);
    (void)alarm(60);
    enum sc_status status = sc_file_copy(&file);
    (void)alarm(0);
    CHECK_INT(inject.hits, 1);
    CHECK_INT(box_descriptors(), descriptors);
    return status;
}

static void
replace_by_pipe(const char *name)
{
    box_remove(name);
    CHECK(mkfifo(name, 0600) == 0);
}

static void
source_to_pipe(void)
{
    replace_by_pipe("source");
}

static void
target_to_pipe(void)
{
    replace_by_pipe("target");
}

static void
a_pipe_in_place_of_the_source(void)
{
    begin(true);
    CHECK_INT(copy_with(0, source_to_pipe, true), SC_DECLINED);
    CHECK_INT(file.oddity, SC_ODD_SOURCE_KIND);
    CHECK(box_is("target", old, sizeof(old)));
}

static void
a_pipe_in_place_of_the_target(void)
{
    for (int existing = 0; existing < 2; existing++) {
        begin(existing == 1);
        check_context("existing %d", existing);
        /* Without a reader it cannot be opened at all. */
        enum sc_status status = copy_with(1, target_to_pipe, true);
        CHECK(status == SC_DECLINED ||
              (status == SC_FAIL && file.error.code == ENXIO &&
               file.error.operation == SC_OP_OPEN_TARGET));
    }
}

static int reader = -1;

static void
target_to_read_pipe(void)
{
    replace_by_pipe("target");
    reader = open("target", O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0);
    inject.skip = 1;
}

static void
a_pipe_that_somebody_reads(void)
{
    char byte;
    begin(true);
    int before = box_descriptors();
    const struct sc_options options = box_options();
    inject.call = INJECT_OPENAT;
    inject.skip = 1;
    inject.times = 1;
    inject.before = target_to_read_pipe;
    (void)alarm(60);
    CHECK_INT(box_copy("source", "target", &options, &file), SC_DECLINED);
    (void)alarm(0);
    CHECK_INT(file.oddity, SC_ODD_TARGET_KIND);
    CHECK(read(reader, &byte, 1) <= 0); /* nothing came */
    (void)close(reader);
    CHECK_INT(box_descriptors(), before);
}

static void
target_to_source(void)
{
    box_remove("target");
    CHECK(link("source", "target") == 0);
}

static void
target_to_link_to_source(void)
{
    box_remove("target");
    CHECK(symlink("source", "target") == 0);
}

static void
the_source_under_the_targets_name(void)
{
    static void (*const swaps[])(void) = {target_to_source,
                                          target_to_link_to_source};
    for (size_t i = 0; i < CHECK_COUNT(swaps); i++) {
        for (int existing = 0; existing < 2; existing++) {
            begin(existing == 1);
            check_context("swap %u, existing %d", (unsigned)i, existing);
            CHECK_INT(copy_with(1, swaps[i], true), SC_DECLINED);
            CHECK_INT(file.oddity, SC_ODD_SAME_FILE);
            CHECK(box_is("source", bytes, SIZE));
        }
    }
}

static void
source_to_link(void)
{
    CHECK(rename("source", "moved") == 0);
    box_write("secret", old, 10);
    CHECK(symlink("secret", "source") == 0);
}

static void
a_link_in_place_of_the_source(void)
{
    begin(false);
    CHECK_INT(copy_with(0, source_to_link, false), SC_DECLINED);
    CHECK_INT(file.oddity, SC_ODD_SOURCE_LINK);
    CHECK_INT(box_size("target"), -1);
    begin(false);
    CHECK_INT(copy_with(0, source_to_link, true), SC_DONE);
    CHECK(box_is("target", old, 10));
    box_remove("moved");
    box_remove("secret");
}

static void
target_to_folder(void)
{
    box_remove("target");
    CHECK(mkdir("target", 0755) == 0);
}

static void
a_folder_in_place_of_the_target(void)
{
    begin(true);
    CHECK_INT(copy_with(1, target_to_folder, true), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_OPEN_TARGET);
    CHECK_INT(file.error.code, EISDIR);
}

static void
target_gone(void)
{
    box_remove("target");
}

static void
target_back(void)
{
    box_write("target", old, sizeof(old));
}

static void
the_target_comes_or_goes(void)
{
    begin(true);
    CHECK_INT(copy_with(1, target_gone, true), SC_DONE);
    CHECK(box_is("target", bytes, SIZE));
    begin(false);
    CHECK_INT(copy_with(1, target_back, true), SC_DONE);
    CHECK(box_is("target", bytes, SIZE));
}

/* --- the content changes ------------------------------------------------ */

static void
grow(void)
{
    int fd = open("source", O_WRONLY | O_APPEND);
    CHECK(fd >= 0 && write(fd, old, sizeof(old)) == (ssize_t)sizeof(old));
    (void)close(fd);
}

static void
shrink(void)
{
    CHECK(truncate("source", 77) == 0);
}

static void
the_source_changes_while_it_is_copied(void)
{
    static const struct {
        void (*change)(void);
        size_t start;
        long long end;
    } rows[] = {
        {grow, 1000, 6000},   {grow, 8191, 13191},
        {grow, 65536, 70536}, {grow, SIZE, (long long)SIZE + 5000},
        {shrink, 1000, 77},   {shrink, SIZE, 77},
    };
    static const enum inject_call calls[] = {
        INJECT_READ, INJECT_SENDFILE, INJECT_COPY_FILE_RANGE, INJECT_FICLONE};
    const struct sc_options options = box_options();
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        for (size_t j = 0; j < CHECK_COUNT(calls); j++) {
            for (int existing = 0; existing < 2; existing++) {
                begin(existing == 1);
                check_context("row %u, %s, existing %d", (unsigned)i,
                              inject_call_name(calls[j]), existing);
                CHECK(truncate("source", (off_t)rows[i].start) == 0);
                inject.call = calls[j];
                inject.times = 1;
                inject.before = rows[i].change;
                CHECK_INT(box_copy("source", "target", &options, &file),
                          SC_DONE);
                CHECK_INT(box_size("target"), inject.hits > 0
                                                  ? rows[i].end
                                                  : (long long)rows[i].start);
            }
        }
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(a_pipe_in_place_of_the_source),
    CHECK_CASE(a_pipe_in_place_of_the_target),
    CHECK_CASE(a_pipe_that_somebody_reads),
    CHECK_CASE(the_source_under_the_targets_name),
    CHECK_CASE(a_link_in_place_of_the_source),
    CHECK_CASE(a_folder_in_place_of_the_target),
    CHECK_CASE(the_target_comes_or_goes),
    CHECK_CASE(the_source_changes_while_it_is_copied),
};

const struct check_suite races_suite = CHECK_SUITE("races", cases);
