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

static bool
has_holes(sc_handle handle)
{
    (void)handle;
    return true;
}

static void
punch_hole(sc_handle handle, uint64_t start, uint64_t stop)
{
    (void)handle, (void)start, (void)stop; /* POSIX has no way */
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
clear_acl(const struct sc_place *place)
{
    (void)place;
    return 0;
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
    SC_POSIX_ROWS,
    .has_holes = has_holes,
    .punch_hole = punch_hole,
    .offload_works = offload_works,
    .copy_xattrs = copy_xattrs,
    .clear_acl = clear_acl,
    .copy_flags = copy_flags,
    .file_system = file_system,
};
