#include "audit.h"

#include <fcntl.h>

static PyObject *
refuse(void *unused)
{
    (void)unused;
    PyErr_SetNone(PyExc_RuntimeError);
    return NULL;
}

bool
audit_hooks_installed(void)
{
    /* The arguments of an event are built only if there is a hook to take
       them; ours can't be built, so no hook sees the event. */
    if (PySys_Audit("shutil.copyfile", "O&", refuse, NULL) == 0) {
        return false;
    }
    PyErr_Clear();
    return true;
}

int
audit_copyfile(PyObject *source, PyObject *target)
{
    return PySys_Audit("shutil.copyfile", "OO", source, target);
}

/* As open(path, "rb") and open(path, "wb") fire them, whose flags these are
   whatever ours. */
int
audit_open_source(PyObject *path)
{
    return PySys_Audit("open", "Osi", path, "r", O_RDONLY | O_CLOEXEC);
}

int
audit_open_target(PyObject *path)
{
    return PySys_Audit("open", "Osi", path, "w",
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
}
