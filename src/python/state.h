/* What the module knows: everything is set at import and only read
   afterwards, but for the observer. */
#ifndef SPEEDCOPY_STATE_H
#define SPEEDCOPY_STATE_H

#include <stdatomic.h>

#include "compat.h"

#include "../core/speedcopy.h"

enum function {
    COPYFILE,
    COPYMODE,
    COPYSTAT,
    COPY,
    COPY2,
    FUNCTION_COUNT,
};

extern const char *const function_names[FUNCTION_COUNT];

#define GUARD_SPACES 6
#define GUARD_NAMES 62

/* What is genuine, see guard.h.  Never changed once it is in use: a new one
   takes its place, and the old one stays until the module goes, because
   other threads may be reading it. */
struct guard {
    struct guard *older;
    PyObject *originals[FUNCTION_COUNT];    /* shutil's own functions */
    PyObject *replacements[FUNCTION_COUNT]; /* ours, or NULL */
    PyObject
        *spaces[GUARD_SPACES]; /* the dicts that names are looked up in */
    struct guard_entry {
        PyObject *name;
        PyObject *genuine; /* NULL: the name must not be there */
        int sibling;       /* a function of ours, or -1 */
    } entries[GUARD_NAMES];
};

struct state {
    PyObject *special_file_error; /* shutil.SpecialFileError */
    PyObject *same_file_error;    /* shutil.SameFileError */
    PyObject *dir_entry;          /* os.DirEntry */
    PyObject *path_join;          /* os.path.join, at import */
    PyObject *path_basename;
    PyObject *follow_keyword; /* ("follow_symlinks",) */
    PyObject *package;        /* dict of speedcopy_c */
    PyObject *debug_name;     /* "SPEEDCOPY_DEBUG" */
    atomic_bool observed;     /* a trace() is active */
    atomic_bool guarded;      /* false in tests only */
    _Atomic(struct guard *) guard;
    unsigned stat_preserve; /* what shutil.copystat copies here */
    unsigned methods;       /* less SPEEDCOPY_METHODS */
    bool disabled;          /* SPEEDCOPY_DISABLE */
};

struct state *state_of(PyObject *module);

#endif
