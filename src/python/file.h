/* The functions that copy one file. */
#ifndef SPEEDCOPY_FILE_BINDING_H
#define SPEEDCOPY_FILE_BINDING_H

#include "state.h"

/* copyfile, copy and copy2: a call with the arguments of METH_FASTCALL. */
PyObject *copy_file(const struct state *state, enum function function,
                    PyObject *const *args, Py_ssize_t positional,
                    PyObject *keywords);

/* copymode and copystat. */
PyObject *copy_metadata(const struct state *state, enum function function,
                        PyObject *const *args, Py_ssize_t positional,
                        PyObject *keywords);

#endif
