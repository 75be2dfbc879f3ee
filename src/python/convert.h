/* From Python's arguments to what the core takes. */
#ifndef SPEEDCOPY_CONVERT_H
#define SPEEDCOPY_CONVERT_H

#include "state.h"

enum parse {
    PARSE_OK,
    PARSE_FOREIGN, /* shutil's own function is to judge these arguments */
    PARSE_ERROR,   /* an exception is set */
};

/* The arguments of one call; objects are borrowed. */
struct arguments {
    PyObject *source;
    PyObject *target;
    bool follow;
    bool follow_given;
    bool own; /* an option of ours has another value than its default */
    PyObject *progress; /* NULL without */
    struct sc_options options;
};

/* Parse a call of shutil's signature with our keywords after it. */
enum parse convert_arguments(const struct state *state,
                             enum function function, PyObject *const *args,
                             Py_ssize_t positional, PyObject *keywords,
                             struct arguments *ret_arguments);

/* The arguments less our keywords, for shutil's own function. */
PyObject *convert_foreign(enum function function, PyObject *const *args,
                          Py_ssize_t positional, PyObject *keywords,
                          PyObject **ret_keywords);

struct path {
    PyObject *object; /* str or bytes, as os.fspath gives it */
    PyObject *bytes;
    const char *text; /* of bytes */
};

/* PARSE_FOREIGN: no path, but perhaps something that shutil takes. */
enum parse convert_path(PyObject *object, struct path *ret_path);
void path_clear(struct path *path);

/* The set of methods that SPEEDCOPY_METHODS ("-clone,-sendfile") leaves;
   -1 with an exception if it is malformed. */
int convert_methods(const char *text, unsigned *ret_methods);

#endif
