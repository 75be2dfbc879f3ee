#include "observe.h"

#include "../core/platform.h"

bool
observe_wanted(const struct state *state)
{
    if (atomic_load_explicit(&state->observed, memory_order_relaxed)) {
        return true;
    }
    /* A module attribute that anybody may set, any time. */
    PyObject *debug;
    int found = PyDict_GetItemRef(state->package, state->debug_name, &debug);
    int truth = found > 0 ? PyObject_IsTrue(debug) : 0;
    if (found < 0 || truth < 0) {
        PyErr_Clear(); /* no reason to fail a copy */
    }
    if (found > 0) {
        Py_DECREF(debug);
    }
    return truth > 0;
}

static PyObject *
fallbacks_of(const struct sc_result *result)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)result->fallback_count);
    for (unsigned i = 0; tuple != NULL && i < result->fallback_count; i++) {
        const struct sc_fallback *fallback = &result->fallbacks[i];
        PyObject *item = Py_BuildValue(
            "(si)", sc_method_name(fallback->method), fallback->code);
        if (item == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
        }
    }
    return tuple;
}

/* speedcopy_c._trace.observe(...); steals `fallbacks`. */
static int
tell(PyObject *source, PyObject *target, const char *method, uint64_t bytes,
     PyObject *fallbacks, uint64_t started)
{
    if (fallbacks == NULL) {
        return -1;
    }
    double seconds = (double)(sc_platform.clock() - started) * 1e-9;
    PyObject *module = PyImport_ImportModule("speedcopy_c._trace");
    PyObject *result = NULL;
    if (module != NULL) {
        result = PyObject_CallMethod(
            module, "observe", "OOzKOd", source, target, method,
            (unsigned long long)bytes, fallbacks, seconds);
        Py_DECREF(module);
    }
    Py_DECREF(fallbacks);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int
observe_copy(const struct state *state, PyObject *source, PyObject *target,
             const struct sc_file *file, uint64_t started)
{
    (void)state;
    return tell(source, target, sc_method_name(file->result.method),
                file->result.bytes, fallbacks_of(&file->result), started);
}

int
observe_original(const struct state *state, PyObject *source,
                 PyObject *target, const struct sc_file *file,
                 uint64_t started)
{
    static const char *const reasons[] = {
        [SC_ODD_NOTHING] = "could not be opened",
        [SC_ODD_SOURCE_MISSING] = "no source",
        [SC_ODD_SOURCE_LINK] = "a symbolic link",
        [SC_ODD_SOURCE_KIND] = "not a regular source",
        [SC_ODD_TARGET_FOLDER] = "the target is a directory",
        [SC_ODD_TARGET_KIND] = "not a regular target",
        [SC_ODD_TARGET_ERROR] = "the target cannot be examined",
        [SC_ODD_SAME_FILE] = "the same file",
    };
    (void)state;
    PyObject *fallbacks =
        Py_BuildValue("((ss))", "speedcopy", reasons[file->oddity]);
    return tell(source, target, "shutil", file->source_stat.size, fallbacks,
                started);
}

int
observe_rebound(PyObject *source, PyObject *target, const char *name,
                uint64_t started)
{
    return tell(source, target, "shutil", UINT64_MAX,
                Py_BuildValue("((ss))", "rebound", name), started);
}

PyObject *
observe_reporter(PyObject *progress, PyObject *source, PyObject *target)
{
    PyObject *module = PyImport_ImportModule("speedcopy_c._progress");
    if (module == NULL) {
        return NULL;
    }
    PyObject *reporter = PyObject_CallMethod(module, "reporter", "OOO",
                                             progress, source, target);
    Py_DECREF(module);
    return reporter;
}
