/* The system calls of every POSIX platform. */
#ifndef SPEEDCOPY_POSIX_SYSCALLS_H
#define SPEEDCOPY_POSIX_SYSCALLS_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "syscalls.h"

/* clang-format off */
#define SC_POSIX_SYSCALLS(X)                                                  \
    X(int, openat, (int dir, const char *path, int flags, mode_t mode),       \
      (dir, path, flags, mode), openat(dir, path, flags, mode))               \
    X(int, close, (int fd), (fd), close(fd))                                  \
    X(ssize_t, read, (int fd, void *buffer, size_t size),                     \
      (fd, buffer, size), read(fd, buffer, size))                             \
    X(ssize_t, write, (int fd, const void *buffer, size_t size),              \
      (fd, buffer, size), write(fd, buffer, size))                            \
    X(off_t, lseek, (int fd, off_t offset, int whence),                       \
      (fd, offset, whence), lseek(fd, offset, whence))                        \
    X(int, ftruncate, (int fd, off_t size), (fd, size), ftruncate(fd, size))  \
    X(int, fstat, (int fd, struct stat *stat), (fd, stat), fstat(fd, stat))   \
    X(int, fstatat, (int dir, const char *path, struct stat *stat, int flags), \
      (dir, path, stat, flags), fstatat(dir, path, stat, flags))              \
    X(int, fchmod, (int fd, mode_t mode), (fd, mode), fchmod(fd, mode))       \
    X(int, fchmodat, (int dir, const char *path, mode_t mode, int flags),     \
      (dir, path, mode, flags), fchmodat(dir, path, mode, flags))             \
    X(int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid),            \
      fchown(fd, uid, gid))                                                   \
    X(int, fchownat,                                                          \
      (int dir, const char *path, uid_t uid, gid_t gid, int flags),           \
      (dir, path, uid, gid, flags), fchownat(dir, path, uid, gid, flags))     \
    X(int, futimens, (int fd, const struct timespec *times), (fd, times),     \
      futimens(fd, times))                                                    \
    X(int, utimensat,                                                         \
      (int dir, const char *path, const struct timespec *times, int flags),   \
      (dir, path, times, flags), utimensat(dir, path, times, flags))          \
    X(int, fsync, (int fd), (fd), fsync(fd))                                  \
    X(int, renameat,                                                          \
      (int from_dir, const char *from, int to_dir, const char *to),           \
      (from_dir, from, to_dir, to), renameat(from_dir, from, to_dir, to))     \
    X(int, unlinkat, (int dir, const char *path, int flags),                  \
      (dir, path, flags), unlinkat(dir, path, flags))
/* clang-format on */

SC_POSIX_SYSCALLS(SC_REAL_CALL)

#ifdef SPEEDCOPY_TESTING
struct sc_posix_syscalls {
    SC_POSIX_SYSCALLS(SC_TABLE_ENTRY)
};
extern struct sc_posix_syscalls sc_posix_syscalls;
/* Put the real ones back. */
void sc_posix_syscalls_reset(void);
#endif

#define SC_POSIX_CALL(result, name, parameters, arguments, call)             \
    static inline result sc_sys_##name parameters                            \
    {                                                                        \
        return SC_DISPATCH(sc_posix_syscalls, name) arguments;               \
    }
SC_POSIX_SYSCALLS(SC_POSIX_CALL)

#endif
