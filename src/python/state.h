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

struct state {
    PyObject *originals[FUNCTION_COUNT]; /* shutil's own, at import */
    PyObject *special_file_error;        /* shutil.SpecialFileError */
    PyObject *same_file_error;           /* shutil.SameFileError */
    PyObject *dir_entry;                 /* os.DirEntry */
    PyObject *path_join;                 /* os.path.join, at import */
    PyObject *path_basename;
    PyObject *follow_keyword; /* ("follow_symlinks",) */
    PyObject *package;        /* dict of speedcopy_c */
    PyObject *debug_name;     /* "SPEEDCOPY_DEBUG" */
    atomic_bool observed;     /* a trace() is active */
    unsigned stat_preserve;   /* what shutil.copystat copies here */
    unsigned methods;         /* less SPEEDCOPY_METHODS */
    bool disabled;            /* SPEEDCOPY_DISABLE */
};

struct state *state_of(PyObject *module);

#endif
