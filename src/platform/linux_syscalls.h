/* The system calls that only Linux has. */
#ifndef SPEEDCOPY_LINUX_SYSCALLS_H
#define SPEEDCOPY_LINUX_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "syscalls.h"

/* _IOW(0xCF, 3, int), since Linux 3.13; called on the target with the
   source's descriptor by value.  No kernel header gives it to programs. */
#define SC_CIFS_IOC_COPYCHUNK_FILE 0x4004CF03u

#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif

/* glibc's own wrapper returned a count cut to 32 bits in 2.41 and 2.42
   (sourceware bug 33245), and emulated the call in 2.27-2.29. */
static inline ssize_t
sc_raw_copy_file_range(int source, off_t *source_offset, int target,
                       off_t *target_offset, size_t size)
{
#ifdef SYS_copy_file_range
    return (ssize_t)syscall(SYS_copy_file_range, source, source_offset,
                            target, target_offset, size, 0u);
#else
    (void)source, (void)source_offset, (void)target, (void)target_offset;
    (void)size;
    errno = ENOSYS;
    return -1;
#endif
}

/* clang-format off */
#define SC_LINUX_SYSCALLS(X)                                                  \
    X(int, ficlone, (int target, int source), (target, source),               \
      ioctl(target, FICLONE, source))                                         \
    X(int, cifs_copychunk, (int target, int source), (target, source),        \
      ioctl(target, SC_CIFS_IOC_COPYCHUNK_FILE, source))                      \
    X(ssize_t, copy_file_range,                                               \
      (int source, off_t *source_offset, int target, off_t *target_offset,    \
       size_t size),                                                          \
      (source, source_offset, target, target_offset, size),                   \
      sc_raw_copy_file_range(source, source_offset, target, target_offset,    \
                             size))                                           \
    X(ssize_t, sendfile, (int target, int source, off_t *offset, size_t size), \
      (target, source, offset, size), sendfile(target, source, offset, size)) \
    X(int, fallocate, (int fd, int mode, off_t start, off_t length),          \
      (fd, mode, start, length), fallocate(fd, mode, start, length))          \
    X(int, fstatfs, (int fd, struct statfs *stat), (fd, stat),                \
      fstatfs(fd, stat))                                                      \
    X(int, statfs, (const char *path, struct statfs *stat), (path, stat),     \
      statfs(path, stat))                                                     \
    X(ssize_t, flistxattr, (int fd, char *list, size_t size),                 \
      (fd, list, size), flistxattr(fd, list, size))                           \
    X(ssize_t, listxattr, (const char *path, char *list, size_t size),        \
      (path, list, size), listxattr(path, list, size))                        \
    X(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t size), \
      (fd, name, value, size), fgetxattr(fd, name, value, size))              \
    X(ssize_t, getxattr,                                                      \
      (const char *path, const char *name, void *value, size_t size),         \
      (path, name, value, size), getxattr(path, name, value, size))           \
    X(int, fsetxattr,                                                         \
      (int fd, const char *name, const void *value, size_t size),             \
      (fd, name, value, size), fsetxattr(fd, name, value, size, 0))           \
    X(int, fremovexattr, (int fd, const char *name), (fd, name),              \
      fremovexattr(fd, name))                                                 \
    X(int, setxattr,                                                          \
      (const char *path, const char *name, const void *value, size_t size),   \
      (path, name, value, size), setxattr(path, name, value, size, 0))
/* clang-format on */

SC_LINUX_SYSCALLS(SC_REAL_CALL)

#ifdef SPEEDCOPY_TESTING
struct sc_linux_syscalls {
    SC_LINUX_SYSCALLS(SC_TABLE_ENTRY)
};
extern struct sc_linux_syscalls sc_linux_syscalls;
/* Put the real ones back. */
void sc_linux_syscalls_reset(void);
#endif

#define SC_LINUX_CALL(result, name, parameters, arguments, call)             \
    static inline result sc_sys_##name parameters                            \
    {                                                                        \
        return SC_DISPATCH(sc_linux_syscalls, name) arguments;               \
    }
SC_LINUX_SYSCALLS(SC_LINUX_CALL)

#endif
