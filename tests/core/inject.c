#include "inject.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/platform/posix_syscalls.h"
#include "check.h"
#ifdef TEST_LINUX
#include "../../src/platform/linux_syscalls.h"
#endif

/* Nobody makes that many calls of a kind for one file but by going round. */
#define MOST_CALLS 20000u

struct inject inject;

static const char *const call_names[INJECT_CALL_COUNT] = {
    "nothing", "ficlone",    "copychunk", "copy_file_range", "sendfile",
    "read",    "write",      "seek_data", "seek_hole",       "seek_set",
    "fstat",   "fstatat",    "ftruncate", "openat",          "close",
    "fsync",   "renameat",   "fchmod",    "fchown",          "futimens",
    "fstatfs", "flistxattr", "fgetxattr", "fsetxattr",
};

static const char *const kind_names[] = {
    "error", "part", "zero", "short", "half", "none", "longer", "perform"};

const char *
inject_call_name(enum inject_call call)
{
    return call_names[call];
}

const char *
inject_kind_name(enum inject_kind kind)
{
    return kind_names[kind];
}

void
inject_clear(void)
{
    memset(&inject, 0, sizeof(inject));
}

/* Count a call; is it one to be hit? */
static bool
hit(enum inject_call call)
{
    unsigned number = inject.counts[call]++;
    if (number >= MOST_CALLS) {
        printf("endless: %s [%s]\n", call_names[call], check_get_context());
        (void)fflush(stdout);
        _Exit(3);
    }
    if (call != inject.call || number < inject.skip ||
        number - inject.skip >= inject.times) {
        return false;
    }
    inject.hits++;
    if (inject.before != NULL) {
        void (*before)(void) = inject.before;
        inject.before = NULL;
        before();
        return false;
    }
    return inject.kind != INJECT_PERFORM;
}

/* For calls that are done or not. */
static bool
fails(enum inject_call call)
{
    if (!hit(call)) {
        return false;
    }
    errno = inject.code;
    return true;
}

/* --- the calls ---------------------------------------------------------- */

static ssize_t
inject_read(int fd, void *buffer, size_t size)
{
    if (hit(INJECT_READ)) {
        if (inject.kind == INJECT_ZERO) {
            return 0;
        }
        if (inject.kind != INJECT_SHORT) {
            errno = inject.code;
            return -1;
        }
        size = size > 2 ? size / 3 : size;
    }
    return sc_real_read(fd, buffer, size);
}

static ssize_t
inject_write(int fd, const void *buffer, size_t size)
{
    if (hit(INJECT_WRITE)) {
        if (inject.kind == INJECT_ZERO) {
            return 0;
        }
        if (inject.kind != INJECT_SHORT) {
            errno = inject.code;
            return -1;
        }
        size = size > 2 ? size / 3 : size;
    }
    return sc_real_write(fd, buffer, size);
}

static off_t
inject_lseek(int fd, off_t offset, int whence)
{
    enum inject_call call = INJECT_SEEK_SET;
#ifdef SEEK_DATA
    call = whence == SEEK_DATA ? INJECT_SEEK_DATA : call;
    call = whence == SEEK_HOLE ? INJECT_SEEK_HOLE : call;
#endif
    if (hit(call)) {
        if (inject.kind == INJECT_ZERO) {
            return 0;
        }
        errno = inject.code;
        return -1;
    }
    return sc_real_lseek(fd, offset, whence);
}

static int
inject_openat(int dir, const char *path, int flags, mode_t mode)
{
    return fails(INJECT_OPENAT) ? -1 : sc_real_openat(dir, path, flags, mode);
}

static int
inject_close(int fd)
{
    int result = sc_real_close(fd); /* closed all the same, as on Linux */
    return fails(INJECT_CLOSE) ? -1 : result;
}

static int
inject_ftruncate(int fd, off_t size)
{
    return fails(INJECT_FTRUNCATE) ? -1 : sc_real_ftruncate(fd, size);
}

static int
inject_fstat(int fd, struct stat *stat)
{
    return fails(INJECT_FSTAT) ? -1 : sc_real_fstat(fd, stat);
}

static int
inject_fstatat(int dir, const char *path, struct stat *stat, int flags)
{
    return fails(INJECT_FSTATAT) ? -1
                                 : sc_real_fstatat(dir, path, stat, flags);
}

static int
inject_fsync(int fd)
{
    return fails(INJECT_FSYNC) ? -1 : sc_real_fsync(fd);
}

static int
inject_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(INJECT_RENAMEAT)
               ? -1
               : sc_real_renameat(from_dir, from, to_dir, to);
}

static int
inject_fchmod(int fd, mode_t mode)
{
    return fails(INJECT_FCHMOD) ? -1 : sc_real_fchmod(fd, mode);
}

static int
inject_fchown(int fd, uid_t uid, gid_t gid)
{
    return fails(INJECT_FCHOWN) ? -1 : sc_real_fchown(fd, uid, gid);
}

static int
inject_futimens(int fd, const struct timespec *times)
{
    return fails(INJECT_FUTIMENS) ? -1 : sc_real_futimens(fd, times);
}

static void
install_posix(void)
{
    sc_posix_syscalls.read = inject_read;
    sc_posix_syscalls.write = inject_write;
    sc_posix_syscalls.lseek = inject_lseek;
    sc_posix_syscalls.openat = inject_openat;
    sc_posix_syscalls.close = inject_close;
    sc_posix_syscalls.ftruncate = inject_ftruncate;
    sc_posix_syscalls.fstat = inject_fstat;
    sc_posix_syscalls.fstatat = inject_fstatat;
    sc_posix_syscalls.fsync = inject_fsync;
    sc_posix_syscalls.renameat = inject_renameat;
    sc_posix_syscalls.fchmod = inject_fchmod;
    sc_posix_syscalls.fchown = inject_fchown;
    sc_posix_syscalls.futimens = inject_futimens;
}

#ifdef TEST_LINUX
/* --- moving bytes behind everybody's back ------------------------------- */

#define RUBBISH 777u

/* Up to `size` bytes at `offset`, positions left alone; how many. */
static size_t
move(int target, int source, off_t offset, size_t size)
{
    static char buffer[1 << 16];
    size_t total = 0;
    while (total < size) {
        size_t piece =
            size - total < sizeof(buffer) ? size - total : sizeof(buffer);
        ssize_t count = pread(source, buffer, piece, offset + (off_t)total);
        if (count <= 0 || pwrite(target, buffer, (size_t)count,
                                 offset + (off_t)total) != count) {
            break;
        }
        total += (size_t)count;
    }
    return total;
}

static size_t
left_in(int source, off_t offset, size_t size)
{
    struct stat stat;
    if (fstat(source, &stat) < 0 || stat.st_size <= offset) {
        return 0;
    }
    size_t left = (size_t)(stat.st_size - offset);
    return left < size ? left : size;
}

static void
add_rubbish(int target, off_t offset)
{
    static const char rubbish[RUBBISH] = "rubbish";
    if (pwrite(target, rubbish, sizeof(rubbish), offset) < 0) {
        abort();
    }
}

/* The hit that a call for moving `size` bytes at `offset` gets. */
static ssize_t
move_wrongly(int target, int source, off_t offset, size_t size)
{
    size_t whole = left_in(source, offset, size);
    size_t done = 0;
    switch (inject.kind) {
    case INJECT_PART:
        (void)move(target, source, offset, whole / 2);
        errno = inject.code;
        return -1;
    case INJECT_ZERO:
        return 0;
    case INJECT_SHORT:
        done = whole > 2 ? whole / 3 : whole;
        return (ssize_t)move(target, source, offset, done);
    case INJECT_HALF:
        (void)move(target, source, offset, whole / 2);
        return (ssize_t)whole;
    case INJECT_NONE:
        return (ssize_t)whole;
    case INJECT_LONGER:
        done = move(target, source, offset, whole);
        if (done > 0) {
            add_rubbish(target, offset + (off_t)done);
        }
        return (ssize_t)done;
    default:
        errno = inject.code;
        return -1;
    }
}

/* --- the calls of Linux ------------------------------------------------- */

/* The two calls for a whole file: 0 or an error. */
static int
whole_file(enum inject_call call, int target, int source, bool *ret_done)
{
    bool performs = inject.call == call && inject.kind == INJECT_PERFORM;
    *ret_done = true;
    if (hit(call)) {
        ssize_t count = move_wrongly(target, source, 0, (size_t)-1 / 4);
        return count < 0 ? -1 : 0;
    }
    if (performs) {
        (void)move(target, source, 0, (size_t)-1 / 4);
        return 0;
    }
    *ret_done = false;
    return 0;
}

static int
inject_ficlone(int target, int source)
{
    bool done = false;
    int result = whole_file(INJECT_FICLONE, target, source, &done);
    return done ? result : sc_real_ficlone(target, source);
}

static int
inject_copychunk(int target, int source)
{
    bool done = false;
    int result = whole_file(INJECT_COPYCHUNK, target, source, &done);
    return done ? result : sc_real_cifs_copychunk(target, source);
}

static ssize_t
inject_copy_file_range(int source, off_t *source_offset, int target,
                       off_t *target_offset, size_t size)
{
    if (hit(INJECT_COPY_FILE_RANGE)) {
        return move_wrongly(target, source, *source_offset, size);
    }
    return sc_real_copy_file_range(source, source_offset, target,
                                   target_offset, size);
}

static ssize_t
inject_sendfile(int target, int source, off_t *offset, size_t size)
{
    if (hit(INJECT_SENDFILE)) {
        off_t at = lseek(target, 0, SEEK_CUR);
        ssize_t count = move_wrongly(target, source, *offset, size);
        /* Its position moves by what was written. */
        ssize_t moved = inject.kind == INJECT_NONE   ? 0
                        : inject.kind == INJECT_HALF ? count / 2
                                                     : count;
        if (moved > 0) {
            (void)lseek(target, at + moved, SEEK_SET);
        }
        return count;
    }
    return sc_real_sendfile(target, source, offset, size);
}

/* Its type has another size and sign on every machine. */
static void
set_file_system(struct statfs *stat, uint32_t magic)
{
    uint64_t wide = magic;
    if (sizeof(stat->f_type) == sizeof(wide)) {
        memcpy(&stat->f_type, &wide, sizeof(wide));
    } else {
        memcpy(&stat->f_type, &magic, sizeof(magic));
    }
}

static int
inject_fstatfs(int fd, struct statfs *stat)
{
    if (fails(INJECT_FSTATFS)) {
        return -1;
    }
    int result = sc_real_fstatfs(fd, stat);
    if (result == 0 && inject.smb) {
        set_file_system(stat, 0xFE534D42u);
    }
    return result;
}

static ssize_t
inject_flistxattr(int fd, char *list, size_t size)
{
    return fails(INJECT_FLISTXATTR) ? -1 : sc_real_flistxattr(fd, list, size);
}

static ssize_t
inject_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    return fails(INJECT_FGETXATTR) ? -1
                                   : sc_real_fgetxattr(fd, name, value, size);
}

static int
inject_fsetxattr(int fd, const char *name, const void *value, size_t size)
{
    return fails(INJECT_FSETXATTR) ? -1
                                   : sc_real_fsetxattr(fd, name, value, size);
}

static void
install_linux(void)
{
    sc_linux_syscalls.ficlone = inject_ficlone;
    sc_linux_syscalls.cifs_copychunk = inject_copychunk;
    sc_linux_syscalls.copy_file_range = inject_copy_file_range;
    sc_linux_syscalls.sendfile = inject_sendfile;
    sc_linux_syscalls.fstatfs = inject_fstatfs;
    sc_linux_syscalls.flistxattr = inject_flistxattr;
    sc_linux_syscalls.fgetxattr = inject_fgetxattr;
    sc_linux_syscalls.fsetxattr = inject_fsetxattr;
}
#endif

void
inject_install(void)
{
    inject_clear();
    install_posix();
#ifdef TEST_LINUX
    install_linux();
#endif
}

void
inject_remove(void)
{
    sc_posix_syscalls_reset();
#ifdef TEST_LINUX
    sc_linux_syscalls_reset();
#endif
}
