/* Telling Python what was copied and how: trace(), SPEEDCOPY_DEBUG and
   progress. */
#ifndef SPEEDCOPY_OBSERVE_H
#define SPEEDCOPY_OBSERVE_H

#include "state.h"

#include "../core/file.h"

/* Does anybody want to hear of copies? */
bool observe_wanted(const struct state *state);

/* Tell of a copy by us; or by shutil's own function, because the file was
   declined or could not be opened.  -1 with an exception. */
int observe_copy(const struct state *state, PyObject *source,
                 PyObject *target, const struct sc_file *file,
                 uint64_t started);
int observe_original(const struct state *state, PyObject *source,
                     PyObject *target, const struct sc_file *file,
                     uint64_t started);

/* Tell of a call that went to shutil's own function because a name was
   rebound. */
int observe_rebound(PyObject *source, PyObject *target, const char *name,
                    uint64_t started);

/* What the checkpoint calls for a `progress` argument. */
PyObject *observe_reporter(PyObject *progress, PyObject *source,
                           PyObject *target);

#endif
