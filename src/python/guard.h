/* Has anything been rebound that shutil's own version of a function would
   have used?  A program that replaced os.stat, shutil.copystat or open means
   to be obeyed: then the call belongs to shutil's own function. */
#ifndef SPEEDCOPY_GUARD_H
#define SPEEDCOPY_GUARD_H

#include "state.h"

/* Take for genuine what posix (or nt), os and shutil define now.  With an
   older guard, as after importlib.reload(shutil), only shutil is looked at
   again.  -1 with an exception. */
int guard_capture(struct state *state);
/* Know our own replacements, a dict of them by name. */
int guard_set_replacements(struct state *state, PyObject *replacements);
int guard_traverse(struct state *state, visitproc visit, void *arg);
void guard_clear(struct state *state);

/* shutil's own function; borrowed from the state. */
PyObject *guard_original(const struct state *state, enum function function);

/* The name that keeps this function from being ours, such as "os.stat", a
   static string; NULL if there is none. */
const char *guard_tripped(const struct state *state, enum function function);

/* All names that are rebound now, as a list of str. */
PyObject *guard_rebound(const struct state *state);

#endif
