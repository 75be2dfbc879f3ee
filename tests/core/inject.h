/* System calls that fail, stop short or lie, in place of the real ones. */
#ifndef SPEEDCOPY_INJECT_H
#define SPEEDCOPY_INJECT_H

#include <stdbool.h>

enum inject_call {
    INJECT_NOTHING,
    INJECT_FICLONE,
    INJECT_COPYCHUNK,
    INJECT_COPY_FILE_RANGE,
    INJECT_SENDFILE,
    INJECT_READ,
    INJECT_WRITE,
    INJECT_SEEK_DATA,
    INJECT_SEEK_HOLE,
    INJECT_SEEK_SET,
    INJECT_FSTAT,
    INJECT_FSTATAT,
    INJECT_FTRUNCATE,
    INJECT_OPENAT,
    INJECT_CLOSE,
    INJECT_FSYNC,
    INJECT_RENAMEAT,
    INJECT_FCHMOD,
    INJECT_FCHOWN,
    INJECT_FUTIMENS,
    INJECT_FSTATFS,
    INJECT_FLISTXATTR,
    INJECT_FGETXATTR,
    INJECT_FSETXATTR,
    INJECT_CALL_COUNT,
};

enum inject_kind {
    INJECT_ERROR,   /* nothing is done, `code` */
    INJECT_PART,    /* some of it is done, `code` */
    INJECT_ZERO,    /* nothing is done, 0 */
    INJECT_SHORT,   /* a part is done and told */
    INJECT_HALF,    /* half of it is done, all of it told */
    INJECT_NONE,    /* nothing is done, all of it told */
    INJECT_LONGER,  /* all of it is done, and there is rubbish after it */
    INJECT_PERFORM, /* what a file system that can do it does */
};

struct inject {
    enum inject_call call;
    enum inject_kind kind;
    int code;
    unsigned skip;  /* calls that are let by first */
    unsigned times; /* calls that are hit then */
    bool smb;       /* fstatfs says that this is a share */
    unsigned hits;
    unsigned counts[INJECT_CALL_COUNT];
    void (*before)(void); /* instead: called before the first hit */
};

#define INJECT_FOREVER 1000000u

extern struct inject inject;

/* Replace the system calls; all of them do what they should until `inject`
   says otherwise. */
void inject_install(void);
void inject_remove(void);
/* Nothing injected, nothing counted. */
void inject_clear(void);
const char *inject_call_name(enum inject_call call);
const char *inject_kind_name(enum inject_kind kind);

#endif
