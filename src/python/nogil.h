/* Leaving Python for the time of a copy, and coming back for signals and
   progress. */
#ifndef SPEEDCOPY_NOGIL_H
#define SPEEDCOPY_NOGIL_H

#include "compat.h"

#include "../core/speedcopy.h"

struct outside {
    PyThreadState *thread;
    PyObject *reporter; /* called with (copied, total, finished), or NULL */
    uint64_t last_copied;
    uint64_t last_check;  /* nanoseconds */
    uint64_t last_report; /* nanoseconds */
};

static inline void
outside_enter(struct outside *outside)
{
    outside->thread = PyEval_SaveThread();
}

static inline void
outside_leave(struct outside *outside)
{
    PyEval_RestoreThread(outside->thread);
}

/* Tell the reporter, if there is one; -1 with an exception. */
int outside_report(struct outside *outside, uint64_t copied, uint64_t total,
                   bool finished);

/* An sc_checkpoint whose context is a `struct outside`: non-zero leaves an
   exception set. */
int outside_checkpoint(void *context, uint64_t copied, uint64_t total);

#endif
