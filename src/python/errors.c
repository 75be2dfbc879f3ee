#include "errors.h"

#include <errno.h>

static PyObject *
raise_code(int code, PyObject *first, PyObject *second)
{
    errno = code;
    return PyErr_SetFromErrnoWithFilenameObjects(PyExc_OSError, first,
                                                 second);
}

/* shutil names both files when one of the kernel's ways of copying failed on
   the way or for want of space, and no file when it had given way to reads
   and writes: that is told from how far the copy was, not from the method
   that was ours. */
static PyObject *
raise_data_error(const struct sc_error *error, PyObject *source,
                 PyObject *target)
{
    bool reads_and_writes =
        error->offload_useless || (error->done == 0 && error->code != ENOSPC);
    if (reads_and_writes) {
        return raise_code(error->code, NULL, NULL);
    }
    return raise_code(error->code, source, target);
}

static PyObject *
raise_text(int code, const char *text, PyObject *source, PyObject *target)
{
    PyObject *args =
        Py_BuildValue("(isOOO)", code, text, source, Py_None, target);
    if (args != NULL) {
        PyErr_SetObject(PyExc_OSError, args);
        Py_DECREF(args);
    }
    return NULL;
}

PyObject *
raise_error(const struct sc_error *error, PyObject *source, PyObject *target)
{
    switch (error->operation) {
    case SC_OP_STAT_SOURCE:
    case SC_OP_OPEN_SOURCE:
        return raise_code(error->code, source, NULL);
    case SC_OP_DATA:
        return raise_data_error(error, source, target);
    case SC_OP_CLOSE:
        return raise_code(error->code, NULL, NULL);
    case SC_OP_METHOD:
        return raise_code(error->code, source, target);
    case SC_OP_VERIFY:
        if (error->code == 0) {
            return raise_text(EIO, "The copy differs from its source", source,
                              target);
        }
        return raise_code(error->code, target, NULL);
    case SC_OP_MEMORY:
        return PyErr_NoMemory();
    default: /* what concerns the target alone */
        return raise_code(error->code, target, NULL);
    }
}

void
explain_missing_folder(PyObject *target)
{
    if (!PyErr_ExceptionMatches(PyExc_IsADirectoryError)) {
        return;
    }
    PyObject *type, *cause, *traceback;
    PyErr_Fetch(&type, &cause, &traceback);
    PyErr_NormalizeException(&type, &cause, &traceback);
    PyErr_Format(PyExc_FileNotFoundError, "Directory does not exist: %S",
                 target);
    PyObject *new_type, *value, *new_traceback;
    PyErr_Fetch(&new_type, &value, &new_traceback);
    PyErr_NormalizeException(&new_type, &value, &new_traceback);
    PyException_SetContext(value, Py_NewRef(cause));
    PyException_SetCause(value, cause); /* steals both */
    PyErr_Restore(new_type, value, new_traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}
