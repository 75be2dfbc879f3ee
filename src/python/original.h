/* Handing a call to shutil's own function: whatever is odd about it, shutil
   does and says the right thing in its own version's words. */
#ifndef SPEEDCOPY_ORIGINAL_H
#define SPEEDCOPY_ORIGINAL_H

#include "convert.h"

/* A call that could not be parsed. */
PyObject *call_original_raw(const struct state *state, enum function function,
                            PyObject *const *args, Py_ssize_t positional,
                            PyObject *keywords);

/* A call that could. */
PyObject *call_original(const struct state *state, enum function function,
                        PyObject *source, PyObject *target, bool follow);

#endif
