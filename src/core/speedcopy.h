/* What a caller of the core includes: options, results, errors and the entry
   points.  No operating-system header and no Python.

   A path is a NUL-terminated byte string: the file system's own bytes on
   POSIX, UTF-8 with lone surrogates allowed on Windows.  An error code is the
   platform's own: errno or GetLastError(). */
#ifndef SPEEDCOPY_H
#define SPEEDCOPY_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

/* An open file or directory: a descriptor or a HANDLE. */
typedef intptr_t sc_handle;

#define SC_NO_HANDLE ((sc_handle)-1)
/* As the directory of a location: the process's working directory. */
#define SC_WORKING_DIRECTORY ((sc_handle)-2)

/* A name, relative to an open directory or absolute. */
struct sc_location {
    sc_handle directory;
    const char *path;
};

enum sc_status {
    SC_DONE,        /* everything asked for is done */
    SC_MORE,        /* a strategy moved bytes and met its limit: go on with
                       the next one at transfer->offset */
    SC_UNSUPPORTED, /* nothing was harmed and nothing is possible here */
    SC_FAIL,        /* see the error */
    SC_CANCELLED,   /* the checkpoint said so */
    SC_DECLINED,    /* sc_file_examine and the opens: no ordinary copy of a
                       regular file, and nothing was touched */
};

/* The ways to move the bytes of a file, as bits of a set. */
enum sc_method {
    SC_METHOD_CLONE = 1u << 0,
    SC_METHOD_SERVER_COPY = 1u << 1,
    SC_METHOD_HOLES = 1u << 2,
    SC_METHOD_COPY_FILE_RANGE = 1u << 3,
    SC_METHOD_SENDFILE = 1u << 4,
    SC_METHOD_READ_WRITE = 1u << 5,
};
#define SC_METHOD_COUNT 6
#define SC_ALL_METHODS ((1u << SC_METHOD_COUNT) - 1)

/* "clone", "server_copy", ...: the name of one method, NULL for no method. */
const char *sc_method_name(unsigned method);

enum sc_choice { SC_AUTO, SC_ALWAYS, SC_NEVER };

enum sc_preserve {
    SC_PRESERVE_MODE = 1u << 0,
    SC_PRESERVE_TIMES = 1u << 1,
    SC_PRESERVE_XATTRS = 1u << 2, /* on Linux these hold the ACLs as well */
    SC_PRESERVE_FLAGS = 1u << 3,
    SC_PRESERVE_OWNERSHIP = 1u << 4,
    SC_PRESERVE_ACL = 1u << 5,
};

/* Called between chunks, and when a system call was interrupted; bytes of
   data copied so far and in all.  Non-zero cancels the copy. */
typedef int (*sc_checkpoint)(void *context, uint64_t copied, uint64_t total);

struct sc_options {
    unsigned preserve;
    unsigned methods; /* which may be used */
    enum sc_choice reflink;
    enum sc_choice sparse;
    bool atomic;
    bool fsync;
    bool verify;
    bool progress; /* the checkpoint wants to hear of every chunk */
    bool forced;   /* `methods` is the caller's choice: thresholds of size and
                    file system do not count */
    sc_checkpoint checkpoint; /* may be NULL */
    void *checkpoint_context;
};

/* A method that gave way, and the error code that said so; 0 where there was
   no error (no progress, or a size that did not agree). */
struct sc_fallback {
    unsigned method;
    int code;
};
#define SC_MAX_FALLBACKS 8

struct sc_result {
    uint64_t bytes;  /* the target's size */
    unsigned method; /* the one that finished the data */
    unsigned fallback_count;
    struct sc_fallback fallbacks[SC_MAX_FALLBACKS];
};

#endif
