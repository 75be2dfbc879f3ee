/* Audit events. */
#ifndef SPEEDCOPY_AUDIT_H
#define SPEEDCOPY_AUDIT_H

#include "state.h"

/* Is any audit hook installed?  Fires nothing. */
bool audit_hooks_installed(void);

/* Those of shutil.copyfile, in its order; -1 when a hook objects. */
int audit_copyfile(PyObject *source, PyObject *target);
int audit_open_source(PyObject *path);
int audit_open_target(PyObject *path);

#endif
