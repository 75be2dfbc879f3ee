/* What POSIX platforms have in common: the functions of `struct sc_platform`
   that need nothing else.  A platform puts them in its table. */
#ifndef SPEEDCOPY_POSIX_H
#define SPEEDCOPY_POSIX_H

#include "../core/platform.h"

/* errno of a call that failed, 0 of one that did not (result >= 0). */
int sc_posix_code(long long result);

int sc_posix_stat_location(const struct sc_location *location, bool follow,
                           struct sc_stat *ret_stat);
int sc_posix_stat_handle(sc_handle handle, struct sc_stat *ret_stat);
bool sc_posix_is_missing(int code);
bool sc_posix_is_full(int code);
int sc_posix_open_source(const struct sc_location *location,
                         sc_handle *ret_handle);
int sc_posix_open_target(const struct sc_location *location, bool expect_new,
                         uint32_t mode, sc_handle *ret_handle,
                         bool *ret_created);
int sc_posix_close(sc_handle handle);
int sc_posix_read(sc_handle handle, void *buffer, size_t size,
                  size_t *ret_count);
int sc_posix_write(sc_handle handle, const void *buffer, size_t size,
                   size_t *ret_count);
int sc_posix_seek(sc_handle handle, uint64_t offset);
int sc_posix_truncate(sc_handle handle, uint64_t size);
int sc_posix_find_data(sc_handle handle, uint64_t offset, uint64_t *ret_start,
                       uint64_t *ret_stop);
int sc_posix_set_times(const struct sc_place *place,
                       const struct sc_stat *stat);
int sc_posix_set_mode(const struct sc_place *place, uint32_t mode);
int sc_posix_set_owner(const struct sc_place *place, uint32_t uid,
                       uint32_t gid);
int sc_posix_sync(sc_handle handle);
void sc_posix_drop_cache(sc_handle handle);
int sc_posix_sync_folder_of(const struct sc_location *location);
int sc_posix_resolve(const struct sc_location *location, char **ret_path);
int sc_posix_rename(const struct sc_location *from,
                    const struct sc_location *to);
int sc_posix_remove(const struct sc_location *location);
uint64_t sc_posix_clock(void);
uint64_t sc_posix_unique(void);
uint64_t sc_posix_process_id(void);

/* Their rows of a platform's table. */
/* clang-format off */
#define SC_POSIX_ROWS \
    .stat_location = sc_posix_stat_location, \
    .stat_handle = sc_posix_stat_handle, \
    .is_missing = sc_posix_is_missing, \
    .is_full = sc_posix_is_full, \
    .open_source = sc_posix_open_source, \
    .open_target = sc_posix_open_target, \
    .close = sc_posix_close, \
    .read = sc_posix_read, \
    .write = sc_posix_write, \
    .seek = sc_posix_seek, \
    .truncate = sc_posix_truncate, \
    .find_data = sc_posix_find_data, \
    .set_times = sc_posix_set_times, \
    .set_mode = sc_posix_set_mode, \
    .set_owner = sc_posix_set_owner, \
    .sync = sc_posix_sync, \
    .drop_cache = sc_posix_drop_cache, \
    .sync_folder_of = sc_posix_sync_folder_of, \
    .resolve = sc_posix_resolve, \
    .rename = sc_posix_rename, \
    .remove = sc_posix_remove, \
    .clock = sc_posix_clock, \
    .unique = sc_posix_unique, \
    .process_id = sc_posix_process_id
/* clang-format on */

#endif
