/* The functions that copy one file. */
#ifndef SPEEDCOPY_FILE_BINDING_H
#define SPEEDCOPY_FILE_BINDING_H

#include "state.h"

/* copyfile, copy and copy2: a call with the arguments of METH_FASTCALL. */
PyObject *copy_file(const struct state *state, enum function function,
                    PyObject *const *args, Py_ssize_t positional,
                    PyObject *keywords);

/* One of the functions as patch_copyfile() puts it into shutil: src, dst and
   follow_symlinks, and shutil's own function where the guard says so. */
PyObject *copy_patched(const struct state *state, enum function function,
                       PyObject *const *args, Py_ssize_t positional);

/* copymode and copystat. */
PyObject *copy_metadata(const struct state *state, enum function function,
                        PyObject *const *args, Py_ssize_t positional,
                        PyObject *keywords);

#endif
