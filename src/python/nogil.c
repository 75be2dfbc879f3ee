#include "nogil.h"

#include "../core/platform.h"

/* Nanoseconds between two looks at the signals while copying goes well, and
   between two reports of progress (20 a second). */
#define CHECK_INTERVAL 5000000u
#define REPORT_INTERVAL 50000000u

int
outside_report(struct outside *outside, uint64_t copied, uint64_t total,
               bool finished)
{
    if (outside->reporter == NULL) {
        return 0;
    }
    PyObject *result = PyObject_CallFunction(
        outside->reporter, "KKO", (unsigned long long)copied,
        (unsigned long long)total, finished ? Py_True : Py_False);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int
outside_checkpoint(void *context, uint64_t copied, uint64_t total)
{
    struct outside *outside = context;
    uint64_t now = sc_platform.clock();
    /* No progress since the last time: a signal interrupted a call. */
    bool interrupted = copied == outside->last_copied;
    bool check = interrupted || now - outside->last_check >= CHECK_INTERVAL;
    bool tell = outside->reporter != NULL &&
                now - outside->last_report >= REPORT_INTERVAL;
    int result = 0;

    outside->last_copied = copied;
    if (!check && !tell) {
        return 0;
    }
    outside_leave(outside);
    outside->last_check = now;
    if (PyErr_CheckSignals() < 0) {
        result = -1;
    } else if (tell) {
        outside->last_report = now;
        result = outside_report(outside, copied, total, false);
    }
    outside_enter(outside);
    return result;
}
