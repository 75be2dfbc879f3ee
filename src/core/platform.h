/* What a platform supplies.  The core asks for capabilities and never where
   it runs; each platform fills one `struct sc_platform`, and the build picks
   which one is linked.

   Every function returns 0 or an error code, retries nothing, and never
   changes its results on failure.  SC_INTERRUPTED says that a signal came
   first and nothing was done: the caller runs the checkpoint and tries
   again. */
#ifndef SPEEDCOPY_PLATFORM_H
#define SPEEDCOPY_PLATFORM_H

#include <stddef.h>

#include "speedcopy.h"

#define SC_INTERRUPTED (-1)
#define SC_SAME_ID UINT32_MAX

enum sc_kind {
    SC_KIND_REGULAR,
    SC_KIND_DIRECTORY,
    SC_KIND_SYMLINK,
    SC_KIND_SPECIAL, /* pipes, sockets, devices */
};

struct sc_time {
    int64_t seconds;
    int32_t nanoseconds;
};

struct sc_stat {
    uint64_t device;
    uint64_t inode;
    uint64_t size;      /* bytes */
    uint64_t allocated; /* bytes */
    struct sc_time accessed;
    struct sc_time modified;
    enum sc_kind kind;
    uint32_t mode; /* permission bits, 07777 */
    uint32_t uid;
    uint32_t gid;
};

/* An open file, or, where handle is SC_NO_HANDLE, a name that is followed
   if it is a symbolic link. */
struct sc_place {
    sc_handle handle;
    struct sc_location location;
};

struct sc_transfer;

/* One way to move bytes. */
struct sc_strategy {
    enum sc_method method;
    bool may_share;       /* may leave source and target sharing blocks */
    bool whole_file;      /* copies all or nothing, cannot serve a range */
    bool keeps_positions; /* leaves the files' positions where they are */
    bool never_forced; /* a variant of another strategy, for where it applies:
                          not chosen by name, not told of */
    /* Is it worth trying on this transfer?  Not asked when forced. */
    bool (*applies)(const struct sc_transfer *transfer);
    /* Move the bytes from transfer->offset up to transfer->end, keeping the
       offset true at every return.  SC_DONE: the end, or the end of the
       source, was reached. */
    enum sc_status (*run)(struct sc_transfer *transfer,
                          struct sc_error *ret_error);
};

struct sc_platform {
    const char *name;
    /* In the order in which they are tried; ends with NULL.  The last one
       is always sc_read_write. */
    const struct sc_strategy *const *ladder;
    int unsupported_code; /* the code for "not possible here" */

    int (*stat_location)(const struct sc_location *location, bool follow,
                         struct sc_stat *ret_stat);
    int (*stat_handle)(sc_handle handle, struct sc_stat *ret_stat);
    bool (*is_missing)(int code); /* did a stat fail for want of the file? */
    bool (*is_full)(int code);    /* did a write fail for want of room? */

    /* Never waits for a pipe's other end. */
    int (*open_source)(const struct sc_location *location,
                       sc_handle *ret_handle);
    /* Does not truncate.  A file that is made gets `mode` (less the umask).
       With `expect_new` *ret_created says whether it was made; without, it
       is false. */
    int (*open_target)(const struct sc_location *location, bool expect_new,
                       uint32_t mode, sc_handle *ret_handle,
                       bool *ret_created);
    int (*close)(sc_handle handle);
    /* *ret_count 0: end of file. */
    int (*read)(sc_handle handle, void *buffer, size_t size,
                size_t *ret_count);
    int (*write)(sc_handle handle, const void *buffer, size_t size,
                 size_t *ret_count);
    int (*seek)(sc_handle handle, uint64_t offset);
    int (*truncate)(sc_handle handle, uint64_t size);
    /* Do the holes that find_data finds mean anything on this file? */
    bool (*has_holes)(sc_handle handle);
    /* The next stretch of data at or after `offset`; *ret_start ==
       UINT64_MAX when there is none. */
    int (*find_data)(sc_handle handle, uint64_t offset, uint64_t *ret_start,
                     uint64_t *ret_stop);
    /* Give back what was allocated for [start, stop) of the target, where
       nothing was written; a wish. */
    void (*punch_hole)(sc_handle handle, uint64_t start, uint64_t stop);
    /* Does the kernel move bytes between these two at all?  Moves at most
       one byte, the right one, from `offset`. */
    bool (*offload_works)(sc_handle source, sc_handle target,
                          uint64_t offset);

    int (*set_times)(const struct sc_place *place,
                     const struct sc_stat *stat);
    int (*set_mode)(const struct sc_place *place, uint32_t mode);
    /* SC_SAME_ID leaves one of them as it is. */
    int (*set_owner)(const struct sc_place *place, uint32_t uid,
                     uint32_t gid);
    /* `which`: SC_PRESERVE_XATTRS or SC_PRESERVE_ACL or both. */
    int (*copy_xattrs)(const struct sc_place *source,
                       const struct sc_place *target, unsigned which);
    /* Take away an ACL that a new file got from its folder. */
    int (*clear_acl)(const struct sc_place *place);
    int (*copy_flags)(const struct sc_place *source,
                      const struct sc_place *target);

    int (*sync)(sc_handle handle);
    /* Forget clean cached pages, so that reading asks the device; a wish. */
    void (*drop_cache)(sc_handle handle);
    /* Make the folder's entry of this name durable. */
    int (*sync_folder_of)(const struct sc_location *location);
    /* The real path of a target, with symbolic links at its end resolved,
       in memory that the caller frees. */
    int (*resolve)(const struct sc_location *location, char **ret_path);
    int (*rename)(const struct sc_location *from,
                  const struct sc_location *to);
    int (*remove)(const struct sc_location *location);
    /* What kind of file system holds this?  A static string, or NULL with
       *ret_magic where it is not known by name. */
    int (*file_system)(const struct sc_location *location,
                       const char **ret_name, uint32_t *ret_magic);
    /* Nanoseconds since some moment. */
    uint64_t (*clock)(void);
    /* Bytes that make a temporary name unlikely to be taken. */
    uint64_t (*unique)(void);
    uint64_t (*process_id)(void);
};

extern const struct sc_platform sc_platform;

#endif
