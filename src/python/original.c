#include "original.h"

#include "guard.h"

PyObject *
call_original_raw(const struct state *state, enum function function,
                  PyObject *const *args, Py_ssize_t positional,
                  PyObject *keywords)
{
    PyObject *dict;
    PyObject *tuple =
        convert_foreign(function, args, positional, keywords, &dict);
    if (tuple == NULL) {
        return NULL;
    }
    PyObject *result =
        PyObject_Call(guard_original(state, function), tuple, dict);
    Py_DECREF(tuple);
    Py_DECREF(dict);
    return result;
}

PyObject *
call_original(const struct state *state, enum function function,
              PyObject *source, PyObject *target, bool follow)
{
    PyObject *args[] = {NULL, source, target, follow ? Py_True : Py_False};
    return PyObject_Vectorcall(guard_original(state, function), args + 1,
                               2 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                               state->follow_keyword);
}
