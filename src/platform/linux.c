/* Linux: clones, server-side copies, copy_file_range, sendfile. */
#include <errno.h>

#include "../core/engine.h"
#include "linux_filesystems.h"
#include "linux_metadata.h"
#include "linux_syscalls.h"
#include "posix.h"

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

/* Of every way in which the kernel's own copying can fail, these say that
   the next way would fail too, and may do harm on the way.  Everything else
   means "not here", whatever the file system meant by it: EXDEV EINVAL
   EOPNOTSUPP ENOSYS EPERM (seccomp) EACCES (Android) EBADF (rclone) EIO
   (old CIFS) ENOENT (CIFS) ENODATA (Lustre) EAGAIN (GPFS, ZFS) ETXTBSY (a
   swap file) ENOTTY.  Reading and writing then meets the true error, if
   there is one.  For a clone EIO is final as well: some of the blocks may
   be there (GNU coreutils, bug 60489). */
static bool
is_final(int code, enum sc_method method)
{
    return code == ENOSPC || code == EDQUOT || code == ENOMEM ||
           (code == EIO && method == SC_METHOD_CLONE);
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
    sc_error_set(ret_error, SC_OP_DATA, code);
    return SC_UNSUPPORTED;
}

/* --- clone ------------------------------------------------------------ */

static bool
clone_applies(const struct sc_transfer *transfer)
{
    return transfer->source_stat->size >= SC_CLONE_MINIMUM;
}

static enum sc_status
clone_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    struct sc_stat stat;
    enum sc_status status;
    do {
        if (sc_sys_ficlone((int)transfer->target, (int)transfer->source) ==
            0) {
            int code = sc_posix_stat_handle(transfer->target, &stat);
            if (code != 0) {
                return sc_transfer_fail(transfer, code, ret_error);
            }
            transfer->offset = stat.size;
            return SC_DONE;
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
    struct sc_stat source;
    struct sc_stat target;
    int code = 0;
    if (sc_sys_cifs_copychunk((int)transfer->target,
                              (int)transfer->source) < 0) {
        code = errno;
        if (is_final(code, SC_METHOD_SERVER_COPY)) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
    } else if (sc_posix_stat_handle(transfer->source, &source) == 0 &&
               sc_posix_stat_handle(transfer->target, &target) == 0 &&
               source.size == target.size) {
        transfer->offset = target.size;
        return SC_DONE;
    }
    /* Part of it may be there. */
    int truncate_code = sc_posix_truncate(transfer->target, 0);
    if (truncate_code != 0) {
        return sc_transfer_fail(transfer, truncate_code, ret_error);
    }
    sc_error_set(ret_error, SC_OP_DATA, code);
    return SC_UNSUPPORTED;
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
        ssize_t count = call(transfer, size);
        if (count > 0) {
            transfer->offset += (uint64_t)count;
            status = sc_transfer_checkpoint(transfer);
        } else if (count == 0) {
            bool whole = transfer->offset >= transfer->source_stat->size &&
                         transfer->offset > 0;
            return whole ? SC_DONE : SC_UNSUPPORTED;
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
    .may_lie = true,
    .keeps_positions = true,
    .applies = offload_applies,
    .run = copy_file_range_run,
};

static enum sc_status
sendfile_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    /* It writes at the target's position. */
    if (transfer->used) {
        int code = sc_posix_seek(transfer->target, transfer->offset);
        if (code != 0) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
    }
    enum sc_status status = offload_run(transfer, SC_METHOD_SENDFILE,
                                        call_sendfile, ret_error);
    if (status == SC_UNSUPPORTED && transfer->offset == 0) {
        transfer->offload_refused = true;
    }
    return status;
}

static const struct sc_strategy send_file = {
    .method = SC_METHOD_SENDFILE,
    .may_lie = true,
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
    return count >= 0 || is_final(errno, SC_METHOD_SENDFILE) ||
           errno == EIO || errno == EFBIG;
}

/* --- the table ---------------------------------------------------------- */

static int
find_data(sc_handle handle, uint64_t offset, uint64_t *ret_start,
          uint64_t *ret_stop)
{
    if (offset == 0 && sc_linux_has_trait((int)handle, SC_FS_PSEUDO)) {
        return ENOTSUP;
    }
    return sc_posix_find_data(handle, offset, ret_start, ret_stop);
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
    .stat_location = sc_posix_stat_location,
    .stat_handle = sc_posix_stat_handle,
    .is_missing = sc_posix_is_missing,
    .is_full = sc_posix_is_full,
    .open_source = sc_posix_open_source,
    .open_target = sc_posix_open_target,
    .close = sc_posix_close,
    .read = sc_posix_read,
    .write = sc_posix_write,
    .seek = sc_posix_seek,
    .truncate = sc_posix_truncate,
    .find_data = find_data,
    .offload_works = offload_works,
    .set_times = sc_posix_set_times,
    .set_mode = sc_posix_set_mode,
    .set_owner = sc_posix_set_owner,
    .copy_xattrs = sc_linux_copy_xattrs,
    .copy_flags = copy_flags,
    .sync = sc_posix_sync,
    .drop_cache = sc_posix_drop_cache,
    .sync_folder_of = sc_posix_sync_folder_of,
    .resolve = sc_posix_resolve,
    .rename = sc_posix_rename,
    .remove = sc_posix_remove,
    .file_system = file_system,
    .clock = sc_posix_clock,
    .unique = sc_posix_unique,
    .process_id = sc_posix_process_id,
};
