/* A platform in memory: a few files, every call counted and written down,
   and each of them made to fail, stop short or do something else on the way.
   It is standard C, so linking the core with it shows what the core needs
   from an operating system: nothing. */
#ifndef SPEEDCOPY_FAKE_H
#define SPEEDCOPY_FAKE_H

#include "../../src/core/engine.h"
#include "../../src/core/file.h"

/* Error codes.  The core may know none of them. */
enum {
    FAKE_MISSING = 1002,
    FAKE_FULL = 1028,
    FAKE_UNSUPPORTED = 1095,
    FAKE_BROKEN = 1005,
    FAKE_REFUSED = 1001,
};

enum fake_call {
    FAKE_STAT_LOCATION,
    FAKE_STAT_HANDLE,
    FAKE_OPEN_SOURCE,
    FAKE_OPEN_TARGET,
    FAKE_CLOSE,
    FAKE_READ,
    FAKE_WRITE,
    FAKE_SEEK,
    FAKE_TRUNCATE,
    FAKE_FIND_DATA,
    FAKE_SET_TIMES,
    FAKE_SET_MODE,
    FAKE_SET_OWNER,
    FAKE_COPY_XATTRS,
    FAKE_COPY_FLAGS,
    FAKE_SYNC,
    FAKE_SYNC_FOLDER,
    FAKE_RESOLVE,
    FAKE_RENAME,
    FAKE_REMOVE,
    FAKE_CALL_COUNT,
};

#define FAKE_FILES 24
#define FAKE_HANDLES 16
#define FAKE_ALWAYS 1000000u

struct fake_file {
    bool used;   /* still has a name or a handle */
    bool linked; /* has a name */
    char name[96];
    char link[96]; /* of a symbolic link */
    unsigned char *data;
    size_t size;
    size_t capacity;
    struct sc_stat stat; /* size is taken from above unless it lies */
    bool size_lies;      /* stat.size is what stat says */
};

struct fake_handle {
    struct fake_file *file; /* NULL: free */
    uint64_t position;
};

struct fake {
    struct fake_handle handles[FAKE_HANDLES];
    struct fake_file files[FAKE_FILES];
    char log[4096]; /* "open_source close ...": calls in order */
    unsigned calls[FAKE_CALL_COUNT];
    unsigned open_handles;
    uint64_t now;  /* what the clock says */
    uint64_t tick; /* added every time it is asked */
    bool offload;  /* what offload_works says */
    unsigned offload_asked;
    const unsigned char *hole_map; /* for find_data: 1 = data, per 4096 */
    size_t hole_blocks;
};

extern struct fake fake;
/* What the platform's table points to; set entries, NULL at the end. */
#define FAKE_LADDER 8
extern const struct sc_strategy *fake_ladder[FAKE_LADDER + 1];

void fake_reset(void);
/* Call number `nth` (from 1) and the ones after it, `times` in all, fail. */
void fake_fail(enum fake_call call, unsigned nth, unsigned times, int code);
/* They read or write at most this much. */
void fake_limit(enum fake_call call, unsigned nth, unsigned times,
                size_t limit);
/* Before call number `nth`, do this. */
void fake_before(enum fake_call call, unsigned nth, void (*hook)(void));

struct fake_file *fake_add(const char *name, size_t size, unsigned seed);
struct fake_file *fake_find(const char *name);
void fake_set_size(struct fake_file *file, size_t size);
void fake_unlink(const char *name);
/* Fill with something that no two seeds share and that has no long runs. */
void fake_fill(unsigned char *data, size_t size, unsigned seed);
bool fake_same(const struct fake_file *file, const void *data, size_t size);

/* What every call of the platform does first: write it down, find the rules
   for it.  The error code to give, 0 to go on. */
int fake_enter(enum fake_call call, size_t *limit);

/* Options that allow everything and choose nothing. */
struct sc_options fake_options(void);
/* Copy "source" to "target". */
enum sc_status fake_copy(const struct sc_options *options,
                         struct sc_file *ret_file);

#endif
