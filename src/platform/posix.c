#include "posix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "posix_syscalls.h"

#define OPEN_FLAGS (O_CLOEXEC | O_NOCTTY)

#ifdef SPEEDCOPY_TESTING
#define ENTRY(result, name, parameters, arguments, call)                     \
    .name = sc_real_##name,
static const struct sc_posix_syscalls real_syscalls = {
    SC_POSIX_SYSCALLS(ENTRY)};
struct sc_posix_syscalls sc_posix_syscalls = {SC_POSIX_SYSCALLS(ENTRY)};

void
sc_posix_syscalls_reset(void)
{
    sc_posix_syscalls = real_syscalls;
}
#endif

static int
directory_of(const struct sc_location *location)
{
    return location->directory == SC_WORKING_DIRECTORY
               ? AT_FDCWD
               : (int)location->directory;
}

int
sc_posix_code(long long result)
{
    return result >= 0 ? 0 : errno;
}

/* The same where a signal means "nothing done, try again". */
static int
code_or_interrupted(long long result)
{
    int code = sc_posix_code(result);
    return code == EINTR ? SC_INTERRUPTED : code;
}

static enum sc_kind
kind_of(mode_t mode)
{
    if (S_ISREG(mode)) {
        return SC_KIND_REGULAR;
    }
    if (S_ISDIR(mode)) {
        return SC_KIND_DIRECTORY;
    }
    return S_ISLNK(mode) ? SC_KIND_SYMLINK : SC_KIND_SPECIAL;
}

/* Darwin names the members otherwise. */
#ifdef st_atime
#define ACCESSED(stat) ((stat)->st_atim)
#define MODIFIED(stat) ((stat)->st_mtim)
#else
#define ACCESSED(stat) ((stat)->st_atimespec)
#define MODIFIED(stat) ((stat)->st_mtimespec)
#endif

static void
convert_stat(const struct stat *from, struct sc_stat *to)
{
    to->device = (uint64_t)from->st_dev;
    to->inode = (uint64_t)from->st_ino;
    to->size = from->st_size > 0 ? (uint64_t)from->st_size : 0;
    to->allocated = (uint64_t)from->st_blocks * 512;
    to->accessed.seconds = (int64_t)ACCESSED(from).tv_sec;
    to->accessed.nanoseconds = (int32_t)ACCESSED(from).tv_nsec;
    to->modified.seconds = (int64_t)MODIFIED(from).tv_sec;
    to->modified.nanoseconds = (int32_t)MODIFIED(from).tv_nsec;
    to->kind = kind_of(from->st_mode);
    to->mode = (uint32_t)from->st_mode & 07777u;
    to->uid = (uint32_t)from->st_uid;
    to->gid = (uint32_t)from->st_gid;
}

int
sc_posix_stat_location(const struct sc_location *location, bool follow,
                       struct sc_stat *ret_stat)
{
    struct stat stat;
    int code = sc_posix_code(
        sc_sys_fstatat(directory_of(location), location->path, &stat,
                       follow ? 0 : AT_SYMLINK_NOFOLLOW));
    if (code == 0) {
        convert_stat(&stat, ret_stat);
    }
    return code;
}

int
sc_posix_stat_handle(sc_handle handle, struct sc_stat *ret_stat)
{
    struct stat stat;
    int code = sc_posix_code(sc_sys_fstat((int)handle, &stat));
    if (code == 0) {
        convert_stat(&stat, ret_stat);
    }
    return code;
}

bool
sc_posix_is_missing(int code)
{
    return code == ENOENT;
}

bool
sc_posix_is_full(int code)
{
    return code == ENOSPC;
}

/* Open without waiting: a pipe that took the file's name would keep us until
   somebody opened its other end.  A file with a lease on it (fcntl(2),
   F_SETLEASE) answers EAGAIN, and only a wait breaks the lease. */
static int
open_without_waiting(const struct sc_location *location, int flags,
                     mode_t mode, sc_handle *ret_handle)
{
    int directory = directory_of(location);
    flags |= OPEN_FLAGS;
    int fd =
        sc_sys_openat(directory, location->path, flags | O_NONBLOCK, mode);
    if (fd < 0 && errno == EAGAIN) {
        struct stat stat;
        if (sc_sys_fstatat(directory, location->path, &stat, 0) == 0 &&
            S_ISREG(stat.st_mode)) {
            fd = sc_sys_openat(directory, location->path, flags, mode);
        } else {
            errno = EAGAIN;
        }
    }
    if (fd < 0) {
        return errno;
    }
    *ret_handle = fd;
    return 0;
}

int
sc_posix_open_source(const struct sc_location *location,
                     sc_handle *ret_handle)
{
    return open_without_waiting(location, O_RDONLY, 0, ret_handle);
}

int
sc_posix_open_target(const struct sc_location *location, bool expect_new,
                     uint32_t mode, sc_handle *ret_handle, bool *ret_created)
{
    *ret_created = false;
    if (expect_new) {
        int fd = sc_sys_openat(directory_of(location), location->path,
                               O_WRONLY | O_CREAT | O_EXCL | OPEN_FLAGS,
                               (mode_t)mode);
        if (fd >= 0) {
            *ret_handle = fd;
            *ret_created = true;
            return 0;
        }
        if (errno != EEXIST) { /* else a dangling link, or a race */
            return errno;
        }
    }
    /* O_CREAT here as well, as open(name, "wb") has it: the kernel's
       fs.protected_regular asks for it. */
    return open_without_waiting(location, O_WRONLY | O_CREAT, (mode_t)mode,
                                ret_handle);
}

int
sc_posix_close(sc_handle handle)
{
    return sc_posix_code(sc_sys_close((int)handle));
}

/* Opened without waiting, but read with: /proc/kmsg and its like. */
static void
wait_from_now_on(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0) {
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    }
}

int
sc_posix_read(sc_handle handle, void *buffer, size_t size, size_t *ret_count)
{
    ssize_t count = sc_sys_read((int)handle, buffer, size);
    if (count < 0 && errno == EAGAIN) {
        wait_from_now_on((int)handle);
        count = sc_sys_read((int)handle, buffer, size);
    }
    if (count >= 0) {
        *ret_count = (size_t)count;
    }
    return code_or_interrupted(count);
}

int
sc_posix_write(sc_handle handle, const void *buffer, size_t size,
               size_t *ret_count)
{
    ssize_t count = sc_sys_write((int)handle, buffer, size);
    if (count >= 0) {
        *ret_count = (size_t)count;
    }
    if (count == 0 && size > 0) {
        return EIO; /* no progress and no reason: do not go round for ever */
    }
    return code_or_interrupted(count);
}

int
sc_posix_seek(sc_handle handle, uint64_t offset)
{
    return sc_posix_code(sc_sys_lseek((int)handle, (off_t)offset, SEEK_SET));
}

int
sc_posix_truncate(sc_handle handle, uint64_t size)
{
    int code;
    do { /* whole or not at all, and never slow enough to cancel */
        code = sc_posix_code(sc_sys_ftruncate((int)handle, (off_t)size));
    } while (code == EINTR);
    return code;
}

int
sc_posix_find_data(sc_handle handle, uint64_t offset, uint64_t *ret_start,
                   uint64_t *ret_stop)
{
#if defined(SEEK_DATA) && defined(SEEK_HOLE)
    off_t start = sc_sys_lseek((int)handle, (off_t)offset, SEEK_DATA);
    if (start < 0) {
        if (errno == ENXIO) {
            *ret_start = UINT64_MAX;
            return 0;
        }
        return errno;
    }
    off_t stop = sc_sys_lseek((int)handle, start, SEEK_HOLE);
    if (stop < 0) {
        return errno;
    }
    *ret_start = (uint64_t)start;
    *ret_stop = (uint64_t)stop;
    return 0;
#else
    (void)handle, (void)offset, (void)ret_start, (void)ret_stop;
    return ENOTSUP;
#endif
}

int
sc_posix_set_times(const struct sc_place *place, const struct sc_stat *stat)
{
    const struct timespec times[2] = {
        {(time_t)stat->accessed.seconds, stat->accessed.nanoseconds},
        {(time_t)stat->modified.seconds, stat->modified.nanoseconds},
    };
    if (place->handle != SC_NO_HANDLE) {
        return sc_posix_code(sc_sys_futimens((int)place->handle, times));
    }
    return sc_posix_code(sc_sys_utimensat(directory_of(&place->location),
                                          place->location.path, times, 0));
}

int
sc_posix_set_mode(const struct sc_place *place, uint32_t mode)
{
    if (place->handle != SC_NO_HANDLE) {
        return sc_posix_code(sc_sys_fchmod((int)place->handle, (mode_t)mode));
    }
    return sc_posix_code(sc_sys_fchmodat(directory_of(&place->location),
                                         place->location.path, (mode_t)mode,
                                         0));
}

int
sc_posix_set_owner(const struct sc_place *place, uint32_t uid, uint32_t gid)
{
    if (place->handle != SC_NO_HANDLE) {
        return sc_posix_code(
            sc_sys_fchown((int)place->handle, (uid_t)uid, (gid_t)gid));
    }
    return sc_posix_code(sc_sys_fchownat(directory_of(&place->location),
                                         place->location.path, (uid_t)uid,
                                         (gid_t)gid, 0));
}

int
sc_posix_sync(sc_handle handle)
{
    int code;
    do {
        code = sc_posix_code(sc_sys_fsync((int)handle));
    } while (code == EINTR);
    return code;
}

void
sc_posix_drop_cache(sc_handle handle)
{
#ifdef POSIX_FADV_DONTNEED
    (void)posix_fadvise((int)handle, 0, 0, POSIX_FADV_DONTNEED);
#else
    (void)handle;
#endif
}

int
sc_posix_sync_folder_of(const struct sc_location *location)
{
    const char *slash = strrchr(location->path, '/');
    char *folder =
        slash == NULL
            ? strdup(".")
            : strndup(location->path, (size_t)(slash - location->path) + 1);
    if (folder == NULL) {
        return ENOMEM;
    }
    int fd = sc_sys_openat(directory_of(location), folder,
                           O_RDONLY | O_DIRECTORY | OPEN_FLAGS, 0);
    int code = sc_posix_code(fd);
    free(folder);
    if (code != 0) {
        return code;
    }
    code = sc_posix_sync(fd);
    int close_code = sc_posix_code(sc_sys_close(fd));
    /* Some file systems cannot sync a folder and do not need to. */
    if (code == EINVAL || code == ENOTSUP || code == EROFS) {
        code = 0;
    }
    return code != 0 ? code : close_code;
}

#define MAX_LINKS 40 /* as the kernel's own limit */

/* Replace `path`, a symbolic link, by what it says, relative to its folder
   unless absolute. */
static int
follow_link(int directory, char **path)
{
    char text[4096];
    ssize_t size = readlinkat(directory, *path, text, sizeof(text) - 1);
    if (size < 0) {
        return errno;
    }
    text[size] = '\0';
    const char *slash = text[0] == '/' ? NULL : strrchr(*path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - *path) + 1;
    char *next = malloc(folder + (size_t)size + 1);
    if (next == NULL) {
        return ENOMEM;
    }
    memcpy(next, *path, folder);
    memcpy(next + folder, text, (size_t)size + 1);
    free(*path);
    *path = next;
    return 0;
}

int
sc_posix_resolve(const struct sc_location *location, char **ret_path)
{
    int directory = directory_of(location);
    char *path = strdup(location->path);
    int code = path == NULL ? ENOMEM : 0;
    for (int i = 0; code == 0; i++) {
        struct stat stat;
        if (sc_sys_fstatat(directory, path, &stat, AT_SYMLINK_NOFOLLOW) < 0) {
            code = errno == ENOENT ? 0 : errno;
            break;
        }
        if (!S_ISLNK(stat.st_mode)) {
            break;
        }
        code = i < MAX_LINKS ? follow_link(directory, &path) : ELOOP;
    }
    if (code != 0) {
        free(path);
        return code;
    }
    *ret_path = path;
    return 0;
}

int
sc_posix_rename(const struct sc_location *from, const struct sc_location *to)
{
    return sc_posix_code(sc_sys_renameat(directory_of(from), from->path,
                                         directory_of(to), to->path));
}

int
sc_posix_remove(const struct sc_location *location)
{
    return sc_posix_code(
        sc_sys_unlinkat(directory_of(location), location->path, 0));
}

uint64_t
sc_posix_clock(void)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
sc_posix_unique(void)
{
    /* Two at the same nanosecond differ by where their stacks are; O_EXCL
       settles the rest. */
    uint64_t value = sc_posix_clock();
    value += (uint64_t)(uintptr_t)&value;
    value ^= value >> 31;
    return value * 0x9E3779B97F4A7C15u; /* spread: 2^64 / golden ratio */
}

uint64_t
sc_posix_process_id(void)
{
    return (uint64_t)getpid();
}
