/* Linux: clones, server-side copies, copy_file_range, sendfile. */
#include <errno.h>

#include "../core/engine.h"
#include "linux_filesystems.h"
#include "linux_metadata.h"
#include "linux_syscalls.h"
#include "posix.h"
#include "posix_syscalls.h"

#ifdef SPEEDCOPY_TESTING
#define ENTRY(result, name, parameters, arguments, call)                     \
    .name = sc_real_##name,
static const struct sc_linux_syscalls real_syscalls = {
    SC_LINUX_SYSCALLS(ENTRY)};
struct sc_linux_syscalls sc_linux_syscalls = {SC_LINUX_SYSCALLS(ENTRY)};

void
sc_linux_syscalls_reset(void)
{
    sc_linux_syscalls = real_syscalls;
}
#endif

/* The ioctl cannot be cancelled and tells nothing until it is done: no
   larger file is worth that (design.rst, "one file's data"). */
#define SERVER_COPY_MAXIMUM ((uint64_t)64 << 20)

/* Of every way in which the kernel's own copying can fail, a full file system
   is the one that the next way would meet as well.  Everything else means
   "not here", whatever the file system meant by it: EXDEV EINVAL EOPNOTSUPP
   ENOSYS EPERM (seccomp) EACCES (Android) EBADF (rclone) EIO (old CIFS) ENOENT
   (CIFS) ENODATA (Lustre) EAGAIN (GPFS, ZFS) ETXTBSY (a swap file) ENOTTY.
   Reading and writing then meets the true error, if there is one.  A clone
   that failed on the way may have left some of its blocks (GNU coreutils, bug
   60489): it is not tried otherwise. */
static bool
is_final(int code, enum sc_method method)
{
    if (method == SC_METHOD_CLONE &&
        (code == EIO || code == ENOMEM || code == EDQUOT)) {
        return true;
    }
    return code == ENOSPC;
}

/* What a failed call of the kernel's copying means. */
static enum sc_status
judge(struct sc_transfer *transfer, int code, enum sc_method method,
      struct sc_error *ret_error)
{
    if (code == EINTR) {
        enum sc_status status = sc_transfer_checkpoint(transfer);
        return status == SC_DONE ? SC_MORE : status;
    }
    if (is_final(code, method)) {
        return sc_transfer_fail(transfer, code, ret_error);
    }
    /* "Inappropriate ioctl for device" would puzzle people. */
    sc_error_set(ret_error, SC_OP_DATA, code == ENOTTY ? ENOTSUP : code);
    return SC_UNSUPPORTED;
}

/* --- clone ------------------------------------------------------------ */

static bool
clone_applies(const struct sc_transfer *transfer)
{
    return transfer->source_stat->size >= SC_CLONE_MINIMUM;
}

/* After a call that says only that it copied everything: the target has to
   be as long as the source is, or was. */
static enum sc_status
confirm_whole(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    struct sc_stat source;
    transfer->offset = transfer->source_stat->size;
    if (sc_posix_stat_handle(transfer->source, &source) == 0) {
        transfer->offset = source.size;
    }
    return sc_transfer_confirm(transfer, 0, ret_error);
}

static enum sc_status
clone_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    enum sc_status status;
    do {
        if (sc_sys_ficlone((int)transfer->target, (int)transfer->source) ==
            0) {
            return confirm_whole(transfer, ret_error);
        }
        status = judge(transfer, errno, SC_METHOD_CLONE, ret_error);
    } while (status == SC_MORE);
    return status;
}

static const struct sc_strategy clone = {
    .method = SC_METHOD_CLONE,
    .may_share = true,
    .whole_file = true,
    .keeps_positions = true,
    .applies = clone_applies,
    .run = clone_run,
};

/* --- CIFS_IOC_COPYCHUNK_FILE ------------------------------------------- */

static bool
server_copy_applies(const struct sc_transfer *transfer)
{
    return !transfer->options->progress &&
           transfer->source_stat->size > SC_SMALL &&
           transfer->source_stat->size <= SERVER_COPY_MAXIMUM &&
           sc_linux_has_trait((int)transfer->target, SC_FS_SMB) &&
           sc_linux_has_trait((int)transfer->source, SC_FS_SMB);
}

/* The kernel copies as many bytes as it believes the source to have and
   says only that it did.  Servers have answered "done" with nothing there
   (golang/go#42400): both sizes are asked for again. */
static enum sc_status
server_copy_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    enum sc_status status;
    do {
        if (sc_sys_cifs_copychunk((int)transfer->target,
                                  (int)transfer->source) == 0) {
            return confirm_whole(transfer, ret_error);
        }
        status = judge(transfer, errno, SC_METHOD_SERVER_COPY, ret_error);
        /* Part of it may be there. */
        int code = sc_posix_truncate(transfer->target, 0);
        if (code != 0) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
    } while (status == SC_MORE);
    return status;
}

static const struct sc_strategy server_copy = {
    .method = SC_METHOD_SERVER_COPY,
    .may_share = true,
    .whole_file = true,
    .keeps_positions = true,
    .applies = server_copy_applies,
    .run = server_copy_run,
};

/* --- copy_file_range and sendfile --------------------------------------- */

static bool
offload_applies(const struct sc_transfer *transfer)
{
    return transfer->source_stat->size > SC_SMALL;
}

static ssize_t
call_copy_file_range(const struct sc_transfer *transfer, size_t size)
{
    off_t source_offset = (off_t)transfer->offset;
    off_t target_offset = (off_t)transfer->offset;
    return sc_sys_copy_file_range((int)transfer->source, &source_offset,
                                  (int)transfer->target, &target_offset,
                                  size);
}

static ssize_t
call_sendfile(const struct sc_transfer *transfer, size_t size)
{
    off_t offset = (off_t)transfer->offset;
    return sc_sys_sendfile((int)transfer->target, (int)transfer->source,
                           &offset, size);
}

/* Is a 0 believable?  Of an empty file only reading tells: /proc says 0 of
   all its files' sizes. */
static bool
at_end(struct sc_transfer *transfer)
{
    if (transfer->offset == 0 && transfer->source_stat->size == 0) {
        char byte;
        transfer->used = true;
        return sc_sys_read((int)transfer->source, &byte, 1) == 0;
    }
    return transfer->offset >= transfer->source_stat->size;
}

/* Call until the end.  No call's 0 is taken for the end of the file before
   as much was copied as stat promised: /proc, some FUSE servers and old
   kernels say 0 of files that have content. */
static enum sc_status
offload_run(struct sc_transfer *transfer, enum sc_method method,
            ssize_t (*call)(const struct sc_transfer *, size_t),
            struct sc_error *ret_error)
{
    enum sc_status status = SC_DONE;
    while (status == SC_DONE) {
        size_t size = (size_t)sc_transfer_chunk(transfer);
        if (size == 0) {
            return SC_DONE;
        }
        uint64_t before = transfer->offset;
        ssize_t count = call(transfer, size);
        if (count > 0) {
            transfer->offset += (uint64_t)count;
            status = sc_transfer_confirm(transfer, before, ret_error);
            if (status == SC_DONE) {
                status = sc_transfer_checkpoint(transfer);
            }
        } else if (count == 0) {
            return at_end(transfer) ? SC_DONE : SC_UNSUPPORTED;
        } else {
            status = judge(transfer, errno, method, ret_error);
            if (status == SC_MORE) {
                status = SC_DONE; /* interrupted: once more */
            }
        }
    }
    return status;
}

static enum sc_status
copy_file_range_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    return offload_run(transfer, SC_METHOD_COPY_FILE_RANGE,
                       call_copy_file_range, ret_error);
}

static const struct sc_strategy copy_range = {
    .method = SC_METHOD_COPY_FILE_RANGE,
    .may_share = true,
    .keeps_positions = true,
    .applies = offload_applies,
    .run = copy_file_range_run,
};

static enum sc_status
sendfile_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    /* It writes at the target's position. */
    if (transfer->used || transfer->offset > 0) {
        int code = sc_posix_seek(transfer->target, transfer->offset);
        if (code != 0) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
    }
    enum sc_status status =
        offload_run(transfer, SC_METHOD_SENDFILE, call_sendfile, ret_error);
    if (status == SC_UNSUPPORTED && transfer->offset == 0) {
        transfer->offload_refused = true;
    }
    return status;
}

static const struct sc_strategy send_file = {
    .method = SC_METHOD_SENDFILE,
    .applies = offload_applies,
    .run = sendfile_run,
};

static bool
offload_works(sc_handle source, sc_handle target, uint64_t offset)
{
    off_t from = (off_t)offset;
    if (sc_posix_seek(target, offset) != 0) {
        return false;
    }
    ssize_t count = sc_sys_sendfile((int)target, (int)source, &from, 1);
    return count >= 0 || errno == ENOSPC || errno == EDQUOT ||
           errno == ENOMEM || errno == EIO || errno == EFBIG;
}

/* --- the table ---------------------------------------------------------- */

static bool
has_holes(sc_handle handle)
{
    return !sc_linux_has_trait((int)handle, SC_FS_PSEUDO);
}

static void
punch_hole(sc_handle handle, uint64_t start, uint64_t stop)
{
    (void)sc_sys_fallocate((int)handle,
                           FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           (off_t)start, (off_t)(stop - start));
}

static int
file_system(const struct sc_location *location, const char **ret_name,
            uint32_t *ret_magic)
{
    struct statfs stat;
    int code = sc_posix_code(sc_sys_statfs(location->path, &stat));
    if (code == 0) {
        *ret_magic = (uint32_t)stat.f_type;
        const struct sc_file_system *system =
            sc_linux_file_system(*ret_magic);
        *ret_name = system == NULL ? NULL : system->name;
    }
    return code;
}

static int
copy_flags(const struct sc_place *source, const struct sc_place *target)
{
    (void)source, (void)target; /* stat has no st_flags here */
    return 0;
}

static const struct sc_strategy *const ladder[] = {
    &clone,      &server_copy, &sc_small,      &sc_holes,
    &copy_range, &send_file,   &sc_read_write, NULL,
};

const struct sc_platform sc_platform = {
    .name = "linux",
    .ladder = ladder,
    .unsupported_code = ENOTSUP,
    SC_POSIX_ROWS,
    .has_holes = has_holes,
    .punch_hole = punch_hole,
    .offload_works = offload_works,
    .copy_xattrs = sc_linux_copy_xattrs,
    .clear_acl = sc_linux_clear_acl,
    .copy_flags = copy_flags,
    .file_system = file_system,
};
