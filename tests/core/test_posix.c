/* Copies on a real file system. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"
#include "check.h"
#include "inject.h"
#include "suites.h"

#define LARGEST ((size_t)3 << 20)

static unsigned char *bytes;
static struct sc_file file;

static bool
begin(void)
{
    inject_install();
    box_remove("source");
    box_remove("target");
    if (bytes == NULL) {
        bytes = malloc(LARGEST);
        if (bytes != NULL) {
            box_fill(bytes, LARGEST, 3);
        }
    }
    return bytes != NULL;
}

static void
every_size_over_every_size(void)
{
    static const size_t sizes[] = {0,     1,     511,   4095,  4096,
                                   8191,  8192,  8193,  16383, 16384,
                                   65535, 65536, 65537, 70000, LARGEST};
    const struct sc_options options = box_options();
    REQUIRE(begin());
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        box_write("source", bytes, sizes[i]);
        for (size_t j = 0; j <= CHECK_COUNT(sizes); j++) {
            bool exists = j < CHECK_COUNT(sizes);
            check_context("%lu over %ld", (unsigned long)sizes[i],
                          exists ? (long)sizes[j] : -1L);
            box_remove("target");
            if (exists) {
                box_write("target", bytes + 1,
                          sizes[j] > 0 ? sizes[j] - 1 : 0);
            }
            CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
            CHECK(box_is("target", bytes, sizes[i]));
            CHECK_INT(file.result.bytes, sizes[i]);
        }
    }
}

static void
each_method_alone(void)
{
    static const size_t sizes[] = {1, 1000, 65537, LARGEST};
    REQUIRE(begin());
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        box_write("source", bytes, sizes[i]);
        for (unsigned method = 1; method < 1u << SC_METHOD_COUNT;
             method <<= 1) {
            struct sc_options options = box_options();
            check_context("%s, %lu bytes", sc_method_name(method),
                          (unsigned long)sizes[i]);
            options.methods = method;
            options.forced = true;
            box_remove("target");
            enum sc_status status =
                box_copy("source", "target", &options, &file);
            if (status == SC_DONE) {
                CHECK(box_is("target", bytes, sizes[i]));
                CHECK_INT(file.result.method, method);
            } else {
                CHECK_INT(status, SC_FAIL);
                CHECK_INT(file.error.operation, SC_OP_METHOD);
                CHECK(method != SC_METHOD_READ_WRITE);
                CHECK_INT(box_size("target"), -1);
            }
        }
    }
}

/* Some files are never the same twice. */
static bool
changes(const char *name)
{
    return strstr(name, "/self/") != NULL ||
           strcmp(name, "/proc/cpuinfo") == 0;
}

static void
copy_made_up(const char *name, const struct sc_options *options)
{
    size_t size = 0;
    ssize_t count = 1;
    int fd = open(name, O_RDONLY);
    if (fd < 0) {
        return;
    }
    unsigned char *text = malloc((size_t)16 << 20);
    REQUIRE(text != NULL);
    while (count > 0) {
        count = read(fd, text + size, 65536);
        size += count > 0 ? (size_t)count : 0;
    }
    (void)close(fd);
    CHECK_INT(box_copy(name, "target", options, &file), SC_DONE);
    long long found = box_size("target");
    CHECK_INT(file.result.bytes, found);
    if (changes(name)) {
        CHECK(found * 4 > (long long)size * 3);
    } else {
        CHECK(box_is("target", text, size));
    }
    free(text);
}

/* stat says 0, or more than there is. */
static void
made_up_files(void)
{
    static const char *const names[] = {
        "/proc/self/status", "/proc/cpuinfo",    "/proc/self/maps",
        "/proc/kallsyms",    "/proc/version",    "/proc/self/smaps",
        "/proc/filesystems", "/sys/power/state", "/sys/class/net/lo/mtu",
    };
    static const unsigned methods[] = {
        SC_ALL_METHODS,
        SC_METHOD_READ_WRITE,
        SC_METHOD_SERVER_COPY | SC_METHOD_READ_WRITE,
        SC_METHOD_HOLES | SC_METHOD_READ_WRITE,
        SC_METHOD_COPY_FILE_RANGE | SC_METHOD_READ_WRITE,
        SC_METHOD_SENDFILE | SC_METHOD_READ_WRITE,
    };
    REQUIRE(begin());
    for (size_t i = 0; i < CHECK_COUNT(names); i++) {
        for (size_t j = 0; j < CHECK_COUNT(methods); j++) {
            for (int forced = 0; forced < 2; forced++) {
                struct sc_options options = box_options();
                check_context("%s, methods %x, forced %d", names[i],
                              methods[j], forced);
                options.methods = methods[j];
                options.forced = forced == 1;
                copy_made_up(names[i], &options);
            }
        }
    }
}

static void
metadata(void)
{
    const struct timespec times[2] = {{1000000000, 123456789},
                                      {-5, 999999999}};
    struct sc_options options = box_options();
    struct stat from;
    struct stat to;
    REQUIRE(begin());
    options.preserve =
        SC_PRESERVE_MODE | SC_PRESERVE_TIMES | SC_PRESERVE_OWNERSHIP;
    if (strcmp(sc_platform.name, "generic") != 0) {
        options.preserve |= SC_PRESERVE_XATTRS; /* there: left to shutil */
    }
    for (int existing = 0; existing < 2; existing++) {
        box_remove("target");
        box_write("source", bytes, 5000);
        if (existing) {
            box_write("target", bytes + 1, 9000);
        }
        REQUIRE(chmod("source", 04751) == 0);
        REQUIRE(utimensat(AT_FDCWD, "source", times, 0) == 0);
        REQUIRE(stat("source", &from) == 0);
        CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
        REQUIRE(stat("target", &to) == 0);
        CHECK_INT(to.st_mode & 07777u, 04751);
        CHECK_INT(to.st_mtime, from.st_mtime);
        CHECK_INT(to.st_atime, from.st_atime);
        CHECK_INT(to.st_uid, from.st_uid);
        CHECK(!file.metadata_incomplete);
    }
}

static void
names_relative_to_a_directory(void)
{
    struct sc_options options = box_options();
    REQUIRE(begin());
    box_write("source", bytes, 1000);
    REQUIRE(mkdir("folder", 0755) == 0);
    int folder = open("folder", O_RDONLY | O_DIRECTORY);
    int here = open(".", O_RDONLY | O_DIRECTORY);
    REQUIRE(folder >= 0 && here >= 0);
    const struct sc_location from = {here, "source"};
    const struct sc_location to = {folder, "target"};
    for (int atomic = 0; atomic < 2; atomic++) {
        for (int twice = 0; twice < 2; twice++) {
            options.atomic = atomic == 1;
            options.fsync = true;
            options.verify = true;
            sc_file_init(&file, from, to, false, &options);
            CHECK_INT(sc_file_copy(&file), SC_DONE);
            CHECK(box_is("folder/target", bytes, 1000));
        }
    }
    (void)close(folder);
    (void)close(here);
    CHECK(unlink("folder/target") == 0);
    CHECK(rmdir("folder") == 0); /* and nothing else in it */
}

/* --- atomic ------------------------------------------------------------- */

static void
atomic_over_links(void)
{
    struct sc_options options = box_options();
    struct stat stat_of;
    options.atomic = true;
    for (int existing = 0; existing < 2; existing++) {
        REQUIRE(begin());
        check_context("existing %d", existing);
        box_write("source", bytes, 70000);
        box_remove("real");
        if (existing) {
            box_write("real", bytes + 1, 10);
            REQUIRE(chmod("real", 0604) == 0);
        }
        box_remove("middle");
        REQUIRE(symlink("real", "middle") == 0);
        REQUIRE(symlink("middle", "target") == 0);
        unsigned before = box_count();
        CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
        CHECK(box_is("real", bytes, 70000));
        CHECK_INT(box_count(), before + !existing);
        CHECK(lstat("target", &stat_of) == 0 && S_ISLNK(stat_of.st_mode));
        CHECK(lstat("middle", &stat_of) == 0 && S_ISLNK(stat_of.st_mode));
        CHECK(stat("real", &stat_of) == 0);
        CHECK(!existing || (stat_of.st_mode & 07777u) == 0604);
    }
    box_remove("real");
    box_remove("middle");
}

static void
atomic_failures_leave_nothing(void)
{
    static const struct {
        enum inject_call call;
        unsigned skip;
        enum sc_operation operation;
    } rows[] = {
        {INJECT_RENAMEAT, 0, SC_OP_RENAME},
        {INJECT_FSYNC, 0, SC_OP_SYNC},
        {INJECT_CLOSE, 0, SC_OP_CLOSE},
        {INJECT_CLOSE, 1, SC_OP_CLOSE},
        {INJECT_READ, 0, SC_OP_DATA},
        {INJECT_WRITE, 0, SC_OP_DATA},
        {INJECT_OPENAT, 2, SC_OP_TEMPORARY},
        {INJECT_FUTIMENS, 0, SC_OP_METADATA},
        {INJECT_FCHMOD, 0, SC_OP_METADATA},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        struct sc_options options = box_options();
        REQUIRE(begin());
        check_context("%s %u", inject_call_name(rows[i].call), rows[i].skip);
        options.atomic = true;
        options.fsync = true;
        options.methods = SC_METHOD_READ_WRITE;
        options.preserve = SC_PRESERVE_TIMES | SC_PRESERVE_MODE;
        box_write("source", bytes, 70000);
        box_write("target", bytes + 1, 100);
        int descriptors = box_descriptors();
        inject.call = rows[i].call;
        inject.code = EROFS;
        inject.skip = rows[i].skip;
        inject.times = 1;
        CHECK_INT(box_copy("source", "target", &options, &file), SC_FAIL);
        CHECK_INT(file.error.operation, rows[i].operation);
        CHECK_INT(file.error.code, EROFS);
        CHECK(box_is("target", bytes + 1, 100));
        CHECK(!box_has(".speedcopy-"));
        CHECK_INT(box_descriptors(), descriptors);
    }
}

static void
atomic_keeps_mode_and_owner(void)
{
    struct sc_options options = box_options();
    struct stat stat_of;
    REQUIRE(begin());
    options.atomic = true;
    box_write("source", bytes, 100);
    box_write("target", bytes, 10);
    REQUIRE(chmod("target", 02606) == 0);
    bool root = geteuid() == 0;
    REQUIRE(!root || chown("target", 1234, 4321) == 0);
    REQUIRE(chmod("target", 02606) == 0);
    CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
    REQUIRE(stat("target", &stat_of) == 0);
    CHECK_INT(stat_of.st_mode & 07777u, 02606);
    CHECK(!root || (stat_of.st_uid == 1234 && stat_of.st_gid == 4321));
}

/* --- signals, syncing --------------------------------------------------- */

static void
interrupted_where_nobody_can_cancel(void)
{
    static const enum inject_call calls[] = {INJECT_FSYNC, INJECT_FTRUNCATE};
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        struct sc_options options = box_options();
        REQUIRE(begin());
        options.fsync = true;
        box_write("source", bytes, 1000);
        box_write("target", bytes, 5000);
        inject.call = calls[i];
        inject.code = EINTR;
        inject.times = 3;
        CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
        CHECK(box_is("target", bytes, 1000));
        CHECK(inject.hits == 3);
    }
}

static void
a_folder_that_cannot_be_synced(void)
{
    static const struct {
        int code;
        bool passed_over;
    } rows[] = {{EINVAL, true}, {ENOTSUP, true}, {EROFS, true}, {EIO, false}};
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        struct sc_options options = box_options();
        REQUIRE(begin());
        check_context("code %d", rows[i].code);
        options.fsync = true;
        box_write("source", bytes, 1000);
        inject.call = INJECT_FSYNC;
        inject.code = rows[i].code;
        inject.skip = 1;
        inject.times = 1;
        enum sc_status status = box_copy("source", "target", &options, &file);
        CHECK_INT(status, rows[i].passed_over ? SC_DONE : SC_FAIL);
        CHECK_INT(inject.hits, 1);
    }
}

static void
interrupted_opens(void)
{
    for (unsigned skip = 0; skip < 2; skip++) {
        const struct sc_options options = box_options();
        REQUIRE(begin());
        check_context("open %u", skip);
        box_write("source", bytes, 1000);
        inject.call = INJECT_OPENAT;
        inject.code = EINTR;
        inject.skip = skip;
        inject.times = 2;
        enum sc_status status = box_copy("source", "target", &options, &file);
        /* Whoever called asks shutil, whose open() tries again. */
        CHECK_INT(status, SC_FAIL);
        CHECK_INT(file.error.operation,
                  skip == 0 ? SC_OP_OPEN_SOURCE : SC_OP_OPEN_TARGET);
        CHECK_INT(box_size("target"), -1);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(every_size_over_every_size),
    CHECK_CASE(each_method_alone),
    CHECK_CASE(made_up_files),
    CHECK_CASE(metadata),
    CHECK_CASE(names_relative_to_a_directory),
    CHECK_CASE(atomic_over_links),
    CHECK_CASE(atomic_failures_leave_nothing),
    CHECK_CASE(atomic_keeps_mode_and_owner),
    CHECK_CASE(interrupted_where_nobody_can_cancel),
    CHECK_CASE(a_folder_that_cannot_be_synced),
    CHECK_CASE(interrupted_opens),
};

const struct check_suite posix_suite = CHECK_SUITE("posix", cases);
