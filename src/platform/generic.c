/* Any POSIX system: read and write, holes where lseek finds them. */
#include <errno.h>

#include "../core/engine.h"
#include "posix.h"

static bool
offload_works(sc_handle source, sc_handle target, uint64_t offset)
{
    (void)source, (void)target, (void)offset;
    return false;
}

static int
copy_xattrs(const struct sc_place *source, const struct sc_place *target,
            unsigned which)
{
    (void)source, (void)target, (void)which;
    return ENOTSUP; /* shutil's own copystat knows how, if there are any */
}

static int
file_system(const struct sc_location *location, const char **ret_name,
            uint32_t *ret_magic)
{
    (void)location, (void)ret_name, (void)ret_magic;
    return ENOTSUP;
}

static int
copy_flags(const struct sc_place *source, const struct sc_place *target)
{
    (void)source, (void)target;
    return ENOTSUP; /* shutil's own copystat knows how, if there are any */
}

static const struct sc_strategy *const ladder[] = {
    &sc_small,
    &sc_holes,
    &sc_read_write,
    NULL,
};

const struct sc_platform sc_platform = {
    .name = "generic",
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
    .find_data = sc_posix_find_data,
    .offload_works = offload_works,
    .set_times = sc_posix_set_times,
    .set_mode = sc_posix_set_mode,
    .set_owner = sc_posix_set_owner,
    .copy_xattrs = copy_xattrs,
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
