/* The one place where a core error becomes a Python exception. */
#ifndef SPEEDCOPY_ERRORS_H
#define SPEEDCOPY_ERRORS_H

#include "compat.h"

#include "../core/speedcopy.h"

/* Raise, in the shape that shutil would give it, and return NULL.  The paths
   are those that a file name in the exception shows. */
PyObject *raise_error(const struct sc_error *error, PyObject *source,
                      PyObject *target);

/* An IsADirectoryError, if one is set, about a target that does not exist
   becomes what shutil makes of it: a FileNotFoundError that it is the cause
   of. */
void explain_missing_folder(PyObject *target);

#endif
