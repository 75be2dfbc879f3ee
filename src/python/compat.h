/* Python.h, and what differs between the versions we build with. */
#ifndef SPEEDCOPY_COMPAT_H
#define SPEEDCOPY_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030A0000
static inline int
PyModule_AddObjectRef(PyObject *module, const char *name, PyObject *value)
{
    Py_XINCREF(value);
    if (PyModule_AddObject(module, name, value) < 0) {
        Py_XDECREF(value);
        return -1;
    }
    return 0;
}

static inline PyObject *
Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#endif

#if PY_VERSION_HEX < 0x030D0000
/* 1: found, 0: not, -1: exception. */
static inline int
PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **result)
{
    *result = PyDict_GetItemWithError(dict, key);
    if (*result != NULL) {
        Py_INCREF(*result);
        return 1;
    }
    return PyErr_Occurred() ? -1 : 0;
}
#endif

#endif
