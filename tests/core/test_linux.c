/* What only the Linux platform has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../../src/platform/linux_filesystems.h"
#include "box.h"
#include "check.h"
#include "inject.h"
#include "suites.h"

#define SIZE ((size_t)9 << 20)

static unsigned char *bytes;
static struct sc_file file;

static bool
begin(size_t size)
{
    inject_install();
    box_remove("source");
    box_remove("target");
    if (bytes == NULL) {
        bytes = malloc(SIZE);
        if (bytes == NULL) {
            return false;
        }
        box_fill(bytes, SIZE, 3);
    }
    box_write("source", bytes, size);
    return true;
}

static bool
copied_by(unsigned method, const struct sc_options *options)
{
    return CHECK_INT(box_copy("source", "target", options, &file), SC_DONE) &&
           CHECK_INT(file.result.method, method) &&
           CHECK(box_is("target", bytes, file.result.bytes));
}

static void
perform(enum inject_call call)
{
    inject.call = call;
    inject.kind = INJECT_PERFORM;
    inject.times = INJECT_FOREVER;
}

/* --- which method ------------------------------------------------------- */

static void
a_clone_that_works(void)
{
    static const struct {
        size_t size;
        unsigned method;
    } rows[] = {{16383, SC_METHOD_READ_WRITE},
                {16384, SC_METHOD_CLONE},
                {SIZE, SC_METHOD_CLONE}};
    const struct sc_options options = box_options();
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        check_context("%lu bytes", (unsigned long)rows[i].size);
        REQUIRE(begin(rows[i].size));
        perform(INJECT_FICLONE);
        copied_by(rows[i].method, &options);
        CHECK_INT(file.result.bytes, rows[i].size);
        CHECK_INT(file.result.fallback_count, 0);
    }
}

static void
a_server_that_copies(void)
{
    static const struct {
        size_t size;
        bool smb;
        bool progress;
        bool asked;
    } rows[] = {
        {SIZE, true, false, true},  {SIZE, false, false, false},
        {SIZE, true, true, false},  {65536, true, false, false},
        {65537, true, false, true},
    };
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        struct sc_options options = box_options();
        check_context("row %u", (unsigned)i);
        REQUIRE(begin(rows[i].size));
        options.methods &= ~(unsigned)SC_METHOD_CLONE;
        options.progress = rows[i].progress;
        perform(INJECT_COPYCHUNK);
        inject.smb = rows[i].smb;
        CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
        CHECK(box_is("target", bytes, rows[i].size));
        CHECK_INT(file.result.method == SC_METHOD_SERVER_COPY, rows[i].asked);
        CHECK_INT(inject.counts[INJECT_COPYCHUNK], rows[i].asked);
    }
}

static void
what_file_system_it_is_may_stay_unknown(void)
{
    const struct sc_options options = box_options();
    REQUIRE(begin(SIZE));
    inject.call = INJECT_FSTATFS;
    inject.code = EREMOTEIO;
    inject.times = INJECT_FOREVER;
    CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
    CHECK(box_is("target", bytes, SIZE));
}

static void
file_systems_have_names(void)
{
    const struct sc_file_system *system = sc_linux_file_system(0xFE534D42u);
    CHECK(system != NULL && (system->traits & SC_FS_SMB));
    CHECK(sc_linux_file_system(0x12345678u) == NULL);
    system = sc_linux_file_system(0x9FA0u);
    CHECK(system != NULL && (system->traits & SC_FS_PSEUDO));
}

static void
useless_offload_is_noticed(void)
{
    for (int refused = 0; refused < 2; refused++) {
        struct sc_options options = box_options();
        REQUIRE(begin(SIZE));
        options.methods = SC_METHOD_READ_WRITE;
        inject.call = INJECT_WRITE;
        inject.code = ENOSPC;
        inject.skip = 2;
        inject.times = INJECT_FOREVER;
        if (refused) {
            options.methods |= SC_METHOD_SENDFILE;
            inject.call = INJECT_SENDFILE;
            inject.kind = INJECT_PART;
            inject.code = EINVAL;
            inject.skip = 0;
        }
        enum sc_status status = box_copy("source", "target", &options, &file);
        CHECK_INT(status, refused ? SC_DONE : SC_FAIL);
        CHECK(refused || !file.error.offload_useless);
        CHECK(box_is_prefix("target", bytes, SIZE));
    }
}

/* --- holes -------------------------------------------------------------- */

static void
make_sparse(void)
{
    memset(bytes, 0, SIZE);
    box_fill(bytes + (1 << 20), 1 << 16, 5);
    box_fill(bytes + (4 << 20), 1 << 20, 6);
    box_write_sparse("source", bytes, SIZE);
}

static void
end_sparse(void)
{
    free(bytes);
    bytes = NULL;
}

static void
holes_stay_holes(void)
{
    struct stat from;
    struct stat to;
    struct sc_options options = box_options();
    REQUIRE(begin(1));
    make_sparse();
    options.methods &= ~(unsigned)SC_METHOD_CLONE;
    copied_by(SC_METHOD_HOLES, &options);
    REQUIRE(stat("source", &from) == 0 && stat("target", &to) == 0);
    CHECK(to.st_blocks <= from.st_blocks + 64);
    end_sparse();
}

static void
zeros_become_holes(void)
{
    struct stat to;
    struct sc_options options = box_options();
    REQUIRE(begin(1));
    make_sparse();
    box_write("source", bytes, SIZE); /* with all its zeros */
    options.sparse = SC_ALWAYS;
    copied_by(SC_METHOD_READ_WRITE, &options);
    REQUIRE(stat("target", &to) == 0);
    CHECK((long long)to.st_blocks * 512 < (long long)SIZE / 4);
    options.sparse = SC_NEVER;
    make_sparse();
    copied_by(SC_METHOD_READ_WRITE, &options);
    REQUIRE(stat("target", &to) == 0);
    CHECK((long long)to.st_blocks * 512 >= (long long)SIZE);
    end_sparse();
}

static void
find_data_that_goes_backwards(void)
{
    static const enum inject_call calls[] = {INJECT_SEEK_DATA,
                                             INJECT_SEEK_HOLE};
    struct sc_options options = box_options();
    options.methods &= ~(unsigned)SC_METHOD_CLONE;
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (unsigned skip = 0; skip < 3; skip++) {
            for (int forever = 0; forever < 2; forever++) {
                check_context("%s at %u", inject_call_name(calls[i]), skip);
                REQUIRE(begin(1));
                make_sparse();
                inject.call = calls[i];
                inject.kind = INJECT_ZERO;
                inject.skip = skip;
                inject.times = forever ? INJECT_FOREVER : 1;
                CHECK_INT(box_copy("source", "target", &options, &file),
                          SC_DONE);
                CHECK(box_is("target", bytes, SIZE));
            }
        }
    }
    end_sparse();
}

/* --- attributes --------------------------------------------------------- */

static bool
attributes_work(void)
{
    return setxattr("source", "user.speedcopy", "value", 5, 0) == 0;
}

static bool
has_attribute(const char *name, const char *value, size_t size)
{
    static char found[8192];
    ssize_t count = getxattr("target", name, found, sizeof(found));
    return count == (ssize_t)size && memcmp(found, value, size) == 0;
}

static void
attributes_of_every_size(void)
{
    static char large[3000];
    char name[64];
    struct sc_options options = box_options();
    options.preserve = SC_PRESERVE_XATTRS | SC_PRESERVE_MODE;
    REQUIRE(begin(1000));
    if (!attributes_work()) {
        check_skip("no user attributes");
        return;
    }
    memset(large, 'x', sizeof(large));
    REQUIRE(setxattr("source", "user.large", large, 1500, 0) == 0);
    REQUIRE(setxattr("source", "user.empty", "", 0, 0) == 0);
    int many = 0; /* names beyond the room on the stack */
    for (; many < 30; many++) {
        (void)snprintf(name, sizeof(name), "user.attribute_of_number_%02d",
                       many);
        if (setxattr("source", name, "v", 1, 0) < 0) {
            break;
        }
    }
    REQUIRE(chmod("source", 0444) == 0);
    CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
    CHECK(!file.metadata_incomplete);
    CHECK(has_attribute("user.speedcopy", "value", 5));
    CHECK(has_attribute("user.large", large, 1500));
    CHECK(has_attribute("user.empty", "", 0));
    for (int i = 0; i < many; i++) {
        (void)snprintf(name, sizeof(name), "user.attribute_of_number_%02d",
                       i);
        CHECK(has_attribute(name, "v", 1));
    }
}

static void
errors_of_attributes(void)
{
    static const int codes[] = {EPERM,  ENOTSUP, ENODATA, EINVAL, EACCES,
                                ENOSYS, ENOSPC,  EIO,     524,    E2BIG};
    static const enum inject_call calls[] = {
        INJECT_FLISTXATTR, INJECT_FGETXATTR, INJECT_FSETXATTR};
    struct sc_options options = box_options();
    options.preserve = SC_PRESERVE_XATTRS | SC_PRESERVE_MODE;
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        for (size_t j = 0; j < CHECK_COUNT(codes); j++) {
            REQUIRE(begin(1000));
            if (!attributes_work()) {
                check_skip("no user attributes");
                return;
            }
            check_context("%s code %d", inject_call_name(calls[i]), codes[j]);
            inject.call = calls[i];
            inject.code = codes[j];
            inject.times = INJECT_FOREVER;
            CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
            CHECK(box_is("target", bytes, 1000));
            CHECK(inject.hits > 0);
            /* What shutil passes over: for the list not EPERM. */
            bool over = codes[j] == ENOTSUP || codes[j] == ENODATA ||
                        codes[j] == EINVAL ||
                        (codes[j] == EPERM && calls[i] != INJECT_FLISTXATTR);
            CHECK_INT(file.metadata_incomplete, !over);
            CHECK_INT(file.error.operation, SC_OP_NONE);
        }
    }
}

static void
the_list_grows_between_two_questions(void)
{
    struct sc_options options = box_options();
    options.preserve = SC_PRESERVE_XATTRS;
    for (unsigned skip = 0; skip < 3; skip++) {
        REQUIRE(begin(1000));
        if (!attributes_work()) {
            check_skip("no user attributes");
            return;
        }
        inject.call = skip < 2 ? INJECT_FLISTXATTR : INJECT_FGETXATTR;
        inject.code = ERANGE;
        inject.times = 1;
        inject.skip = 0;
        CHECK_INT(box_copy("source", "target", &options, &file), SC_DONE);
        CHECK(!file.metadata_incomplete);
        CHECK(has_attribute("user.speedcopy", "value", 5));
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(a_clone_that_works),
    CHECK_CASE(a_server_that_copies),
    CHECK_CASE(what_file_system_it_is_may_stay_unknown),
    CHECK_CASE(file_systems_have_names),
    CHECK_CASE(useless_offload_is_noticed),
    CHECK_CASE(holes_stay_holes),
    CHECK_CASE(zeros_become_holes),
    CHECK_CASE(find_data_that_goes_backwards),
    CHECK_CASE(attributes_of_every_size),
    CHECK_CASE(errors_of_attributes),
    CHECK_CASE(the_list_grows_between_two_questions),
};

const struct check_suite linux_suite = CHECK_SUITE("linux", cases);
