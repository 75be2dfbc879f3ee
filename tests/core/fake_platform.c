#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static struct fake_handle *
handle_of(sc_handle number)
{
    if (number < 0 || number >= FAKE_HANDLES ||
        fake.handles[number].file == NULL) {
        abort(); /* a handle that is not open */
    }
    return &fake.handles[number];
}

static sc_handle
new_handle(struct fake_file *file)
{
    for (sc_handle i = 0; i < FAKE_HANDLES; i++) {
        if (fake.handles[i].file == NULL) {
            fake.handles[i] = (struct fake_handle){.file = file};
            fake.open_handles++;
            return i;
        }
    }
    abort();
}

static struct fake_file *
follow(const char *name)
{
    struct fake_file *file = fake_find(name);
    for (int i = 0;
         i < 8 && file != NULL && file->stat.kind == SC_KIND_SYMLINK; i++) {
        file = fake_find(file->link);
    }
    return file;
}

static void
tell_stat(const struct fake_file *file, struct sc_stat *ret_stat)
{
    *ret_stat = file->stat;
    if (!file->size_lies) {
        ret_stat->size = file->size;
    }
    if (ret_stat->allocated == 0) {
        ret_stat->allocated = ret_stat->size;
    }
}

static int
stat_location(const struct sc_location *location, bool follow_links,
              struct sc_stat *ret_stat)
{
    int code = fake_enter(FAKE_STAT_LOCATION, NULL);
    const struct fake_file *file =
        follow_links ? follow(location->path) : fake_find(location->path);
    if (code == 0 && file == NULL) {
        code = FAKE_MISSING;
    }
    if (code == 0) {
        tell_stat(file, ret_stat);
    }
    return code;
}

static int
stat_handle(sc_handle number, struct sc_stat *ret_stat)
{
    int code = fake_enter(FAKE_STAT_HANDLE, NULL);
    if (code == 0) {
        tell_stat(handle_of(number)->file, ret_stat);
    }
    return code;
}

static bool
is_missing(int code)
{
    return code == FAKE_MISSING;
}

static bool
is_full(int code)
{
    return code == FAKE_FULL;
}

static int
open_source(const struct sc_location *location, sc_handle *ret_handle)
{
    int code = fake_enter(FAKE_OPEN_SOURCE, NULL);
    struct fake_file *file = follow(location->path);
    if (code == 0 && file == NULL) {
        code = FAKE_MISSING;
    }
    if (code == 0) {
        *ret_handle = new_handle(file);
    }
    return code;
}

static int
open_target(const struct sc_location *location, bool expect_new,
            uint32_t mode, sc_handle *ret_handle, bool *ret_created)
{
    int code = fake_enter(FAKE_OPEN_TARGET, NULL);
    if (code != 0) {
        return code;
    }
    struct fake_file *file = follow(location->path);
    *ret_created = false;
    if (file == NULL) {
        const struct fake_file *link = fake_find(location->path);
        file = fake_add(link == NULL ? location->path : link->link, 0, 0);
        file->stat.mode = mode;
        *ret_created = expect_new && link == NULL;
    }
    *ret_handle = new_handle(file);
    return 0;
}

static int
close_handle(sc_handle number)
{
    int code = fake_enter(FAKE_CLOSE, NULL);
    handle_of(number)->file = NULL; /* as Linux does, also on failure */
    fake.open_handles--;
    return code;
}

static int
read_handle(sc_handle number, void *buffer, size_t size, size_t *ret_count)
{
    size_t limit = size;
    int code = fake_enter(FAKE_READ, &limit);
    if (code != 0) {
        return code;
    }
    struct fake_handle *handle = handle_of(number);
    size_t left = handle->position < handle->file->size
                      ? handle->file->size - (size_t)handle->position
                      : 0;
    size_t count = limit < left ? limit : left;
    if (count > 0) {
        memcpy(buffer, handle->file->data + handle->position, count);
    }
    handle->position += count;
    *ret_count = count;
    return 0;
}

static int
write_handle(sc_handle number, const void *buffer, size_t size,
             size_t *ret_count)
{
    size_t limit = size;
    int code = fake_enter(FAKE_WRITE, &limit);
    if (code != 0) {
        return code;
    }
    struct fake_handle *handle = handle_of(number);
    size_t end = (size_t)handle->position + limit;
    if (end > handle->file->size) {
        fake_set_size(handle->file, end);
    }
    memcpy(handle->file->data + handle->position, buffer, limit);
    handle->position = end;
    *ret_count = limit;
    return 0;
}

static int
seek(sc_handle number, uint64_t offset)
{
    int code = fake_enter(FAKE_SEEK, NULL);
    if (code == 0) {
        handle_of(number)->position = offset;
    }
    return code;
}

static int
truncate_handle(sc_handle number, uint64_t size)
{
    int code = fake_enter(FAKE_TRUNCATE, NULL);
    if (code == 0) {
        fake_set_size(handle_of(number)->file, (size_t)size);
    }
    return code;
}

/* Blocks of 4096 by hole_map; without one all is data. */
static bool
has_holes(sc_handle number)
{
    (void)number;
    return true;
}

static void
punch_hole(sc_handle number, uint64_t start, uint64_t stop)
{
    struct fake_file *file = fake.handles[number].file;
    for (uint64_t i = start; i < stop && i < file->size; i++) {
        if (file->data[i] != 0) {
            abort(); /* nothing was written there */
        }
    }
}

static int
find_data(sc_handle number, uint64_t offset, uint64_t *ret_start,
          uint64_t *ret_stop)
{
    int code = fake_enter(FAKE_FIND_DATA, NULL);
    if (code != 0) {
        return code;
    }
    uint64_t size = handle_of(number)->file->size;
    size_t block = (size_t)(offset / 4096);
    while (block < fake.hole_blocks && fake.hole_map[block] == 0) {
        block++;
    }
    uint64_t start = (uint64_t)block * 4096;
    start = start < offset ? offset : start;
    while (block < fake.hole_blocks && fake.hole_map[block] == 1) {
        block++;
    }
    uint64_t stop = (uint64_t)block * 4096;
    if (block < fake.hole_blocks && fake.hole_map[block] == 2) {
        stop = start; /* an empty stretch, as a file being written shows */
    }
    *ret_start = start >= size ? UINT64_MAX : start;
    *ret_stop = stop > size || fake.hole_map == NULL ? size : stop;
    return 0;
}

static bool
offload_works(sc_handle source, sc_handle target, uint64_t offset)
{
    (void)handle_of(source), (void)handle_of(target), (void)offset;
    fake.offload_asked++;
    return fake.offload;
}

static struct fake_file *
place_file(const struct sc_place *place)
{
    return place->handle != SC_NO_HANDLE ? handle_of(place->handle)->file
                                         : follow(place->location.path);
}

static int
set_times(const struct sc_place *place, const struct sc_stat *stat)
{
    int code = fake_enter(FAKE_SET_TIMES, NULL);
    if (code == 0) {
        place_file(place)->stat.modified = stat->modified;
        place_file(place)->stat.accessed = stat->accessed;
    }
    return code;
}

static int
set_mode(const struct sc_place *place, uint32_t mode)
{
    int code = fake_enter(FAKE_SET_MODE, NULL);
    if (code == 0) {
        place_file(place)->stat.mode = mode;
    }
    return code;
}

static int
set_owner(const struct sc_place *place, uint32_t uid, uint32_t gid)
{
    int code = fake_enter(FAKE_SET_OWNER, NULL);
    if (code == 0) {
        place_file(place)->stat.uid = uid;
        place_file(place)->stat.gid = gid;
    }
    return code;
}

static int
copy_xattrs(const struct sc_place *source, const struct sc_place *target,
            unsigned which)
{
    (void)place_file(source), (void)place_file(target), (void)which;
    return fake_enter(FAKE_COPY_XATTRS, NULL);
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
    (void)place_file(source), (void)place_file(target);
    return fake_enter(FAKE_COPY_FLAGS, NULL);
}

static int
sync_handle(sc_handle number)
{
    (void)handle_of(number);
    return fake_enter(FAKE_SYNC, NULL);
}

static void
drop_cache(sc_handle number)
{
    (void)handle_of(number);
}

static int
sync_folder_of(const struct sc_location *location)
{
    (void)location;
    return fake_enter(FAKE_SYNC_FOLDER, NULL);
}

static int
resolve(const struct sc_location *location, char **ret_path)
{
    int code = fake_enter(FAKE_RESOLVE, NULL);
    if (code != 0) {
        return code;
    }
    const struct fake_file *file = fake_find(location->path);
    const char *name = file != NULL && file->stat.kind == SC_KIND_SYMLINK
                           ? file->link
                           : location->path;
    *ret_path = malloc(strlen(name) + 1);
    if (*ret_path == NULL) {
        abort();
    }
    memcpy(*ret_path, name, strlen(name) + 1);
    return 0;
}

static int
rename_file(const struct sc_location *from, const struct sc_location *to)
{
    int code = fake_enter(FAKE_RENAME, NULL);
    struct fake_file *file = fake_find(from->path);
    if (code == 0 && file == NULL) {
        code = FAKE_MISSING;
    }
    if (code == 0) {
        fake_unlink(to->path);
        (void)snprintf(file->name, sizeof(file->name), "%s", to->path);
    }
    return code;
}

static int
remove_file(const struct sc_location *location)
{
    int code = fake_enter(FAKE_REMOVE, NULL);
    if (code == 0 && fake_find(location->path) == NULL) {
        code = FAKE_MISSING;
    }
    if (code == 0) {
        fake_unlink(location->path);
    }
    return code;
}

static int
file_system(const struct sc_location *location, const char **ret_name,
            uint32_t *ret_magic)
{
    (void)location, (void)ret_name, (void)ret_magic;
    return FAKE_UNSUPPORTED;
}

static uint64_t
ask_clock(void)
{
    fake.now += fake.tick;
    return fake.now;
}

static uint64_t
unique(void)
{
    static uint64_t last;
    return ++last;
}

static uint64_t
process_id(void)
{
    return 4242;
}

const struct sc_platform sc_platform = {
    .name = "fake",
    .ladder = fake_ladder,
    .unsupported_code = FAKE_UNSUPPORTED,
    .stat_location = stat_location,
    .stat_handle = stat_handle,
    .is_missing = is_missing,
    .is_full = is_full,
    .open_source = open_source,
    .open_target = open_target,
    .close = close_handle,
    .read = read_handle,
    .write = write_handle,
    .seek = seek,
    .truncate = truncate_handle,
    .has_holes = has_holes,
    .find_data = find_data,
    .punch_hole = punch_hole,
    .offload_works = offload_works,
    .set_times = set_times,
    .set_mode = set_mode,
    .set_owner = set_owner,
    .copy_xattrs = copy_xattrs,
    .clear_acl = clear_acl,
    .copy_flags = copy_flags,
    .sync = sync_handle,
    .drop_cache = drop_cache,
    .sync_folder_of = sync_folder_of,
    .resolve = resolve,
    .rename = rename_file,
    .remove = remove_file,
    .file_system = file_system,
    .clock = ask_clock,
    .unique = unique,
    .process_id = process_id,
};
