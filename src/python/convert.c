#include "convert.h"

#include <string.h>

enum parse
convert_path(PyObject *object, struct path *ret_path)
{
    PyObject *path = PyOS_FSPath(object);
    if (path == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return PARSE_ERROR;
        }
        PyErr_Clear();
        return PARSE_FOREIGN;
    }
    PyObject *bytes = PyUnicode_Check(path) ? PyUnicode_EncodeFSDefault(path)
                                            : Py_NewRef(path);
    if (bytes == NULL) { /* a name that cannot be encoded */
        Py_DECREF(path);
        PyErr_Clear();
        return PARSE_FOREIGN;
    }
    const char *text = PyBytes_AS_STRING(bytes);
    if (strlen(text) != (size_t)PyBytes_GET_SIZE(bytes)) {
        Py_DECREF(path);
        Py_DECREF(bytes);
        return PARSE_FOREIGN;
    }
    *ret_path = (struct path){path, bytes, text};
    return PARSE_OK;
}

void
path_clear(struct path *path)
{
    Py_CLEAR(path->object);
    Py_CLEAR(path->bytes);
    path->text = NULL;
}

/* --- values of options -------------------------------------------------- */

static int
wrong_type(const char *name, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s", name, expected,
                 Py_TYPE(value)->tp_name);
    return -1;
}

static int
wrong_value(const char *name, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_ValueError, "%s must be %s, not %R", name, expected,
                 value);
    return -1;
}

static int
convert_choice(PyObject *value, const char *name, enum sc_choice *choice)
{
    static const char *const expected = "'auto', 'always' or 'never'";
    if (!PyUnicode_Check(value)) {
        return wrong_type(name, expected, value);
    }
    if (PyUnicode_CompareWithASCIIString(value, "auto") == 0) {
        *choice = SC_AUTO;
    } else if (PyUnicode_CompareWithASCIIString(value, "always") == 0) {
        *choice = SC_ALWAYS;
    } else if (PyUnicode_CompareWithASCIIString(value, "never") == 0) {
        *choice = SC_NEVER;
    } else {
        return wrong_value(name, expected, value);
    }
    return 0;
}

static int
convert_bool(PyObject *value, const char *name, bool *result)
{
    if (!PyBool_Check(value)) {
        return wrong_type(name, "a bool", value);
    }
    *result = value == Py_True;
    return 0;
}

static int
set_follow(struct arguments *arguments, PyObject *value)
{
    int follow = PyObject_IsTrue(value);
    arguments->follow = follow > 0;
    arguments->follow_given = true;
    return follow < 0 ? -1 : 0;
}

static int
set_reflink(struct arguments *arguments, PyObject *value)
{
    return convert_choice(value, "reflink", &arguments->options.reflink);
}

static int
set_sparse(struct arguments *arguments, PyObject *value)
{
    return convert_choice(value, "sparse", &arguments->options.sparse);
}

static int
set_atomic(struct arguments *arguments, PyObject *value)
{
    return convert_bool(value, "atomic", &arguments->options.atomic);
}

static int
set_fsync(struct arguments *arguments, PyObject *value)
{
    return convert_bool(value, "fsync", &arguments->options.fsync);
}

static int
set_verify(struct arguments *arguments, PyObject *value)
{
    static const char *const expected = "False or 'bytes'";
    if (value == Py_False) {
        arguments->options.verify = false;
        return 0;
    }
    if (!PyUnicode_Check(value)) {
        return wrong_type("verify", expected, value);
    }
    if (PyUnicode_CompareWithASCIIString(value, "bytes") != 0) {
        return wrong_value("verify", expected, value);
    }
    arguments->options.verify = true;
    return 0;
}

static int
set_progress(struct arguments *arguments, PyObject *value)
{
    if (value == Py_None) {
        return 0;
    }
    if (value != Py_True && !PyCallable_Check(value)) {
        return wrong_type("progress", "a callable, True or None", value);
    }
    arguments->progress = value;
    arguments->options.progress = true;
    return 0;
}

static unsigned
method_of_name(const char *name, size_t size)
{
    for (unsigned i = 0; i < SC_METHOD_COUNT; i++) {
        const char *known = sc_method_name(1u << i);
        if (strlen(known) == size && memcmp(known, name, size) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

static int
set_method(struct arguments *arguments, PyObject *value)
{
    if (value == Py_None) {
        return 0;
    }
    if (!PyUnicode_Check(value)) {
        return wrong_type("method", "a str or None", value);
    }
    Py_ssize_t size;
    const char *name = PyUnicode_AsUTF8AndSize(value, &size);
    if (name == NULL) {
        return -1;
    }
    unsigned method = method_of_name(name, (size_t)size);
    if (method == 0) {
        return wrong_value("method", "the name of a method", value);
    }
    if (method == SC_METHOD_HOLES) { /* the data itself has to go somehow */
        method |= SC_METHOD_READ_WRITE;
    }
    arguments->options.methods = method;
    arguments->options.forced = true;
    return 0;
}

static int
add_preserve(struct arguments *arguments, PyObject *name)
{
    static const char *const expected = "'ownership', 'acl' or 'all'";
    if (!PyUnicode_Check(name)) {
        return wrong_type("preserve", expected, name);
    }
    if (PyUnicode_CompareWithASCIIString(name, "ownership") == 0) {
        arguments->options.preserve |= SC_PRESERVE_OWNERSHIP;
    } else if (PyUnicode_CompareWithASCIIString(name, "acl") == 0) {
        arguments->options.preserve |= SC_PRESERVE_ACL;
    } else if (PyUnicode_CompareWithASCIIString(name, "all") == 0) {
        arguments->options.preserve |= SC_PRESERVE_OWNERSHIP |
                                       SC_PRESERVE_ACL | SC_PRESERVE_MODE |
                                       SC_PRESERVE_TIMES | SC_PRESERVE_XATTRS;
    } else {
        return wrong_value("preserve", expected, name);
    }
    return 0;
}

static int
set_preserve(struct arguments *arguments, PyObject *value)
{
    if (value == Py_None) {
        return 0;
    }
    if (PyUnicode_Check(value)) {
        return add_preserve(arguments, value);
    }
    PyObject *names = PySequence_Tuple(value);
    if (names == NULL) {
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(names); i++) {
        result = add_preserve(arguments, PyTuple_GET_ITEM(names, i));
    }
    Py_DECREF(names);
    return result;
}

/* --- calls -------------------------------------------------------------- */

#define OF(function) (1u << (function))
#define OF_DATA (OF(COPYFILE) | OF(COPY) | OF(COPY2))

static const struct keyword {
    const char *name;
    int (*set)(struct arguments *arguments, PyObject *value);
    unsigned functions;
} keywords_known[] = {
    {"reflink", set_reflink, OF_DATA},
    {"sparse", set_sparse, OF_DATA},
    {"atomic", set_atomic, OF_DATA},
    {"fsync", set_fsync, OF_DATA},
    {"verify", set_verify, OF_DATA},
    {"progress", set_progress, OF_DATA},
    {"method", set_method, OF_DATA},
    {"preserve", set_preserve, OF(COPY) | OF(COPY2) | OF(COPYSTAT)},
};

/* 1: taken; 0: not one of ours; -1: exception. */
static int
take_keyword(enum function function, PyObject *name, PyObject *value,
             struct arguments *arguments)
{
    size_t count = sizeof(keywords_known) / sizeof(keywords_known[0]);
    for (size_t i = 0; i < count; i++) {
        const struct keyword *known = &keywords_known[i];
        if ((known->functions & OF(function)) &&
            PyUnicode_CompareWithASCIIString(name, known->name) == 0) {
            return known->set(arguments, value) < 0 ? -1 : 1;
        }
    }
    return 0;
}

static enum parse
take_keywords(enum function function, PyObject *const *values,
              PyObject *names, struct arguments *arguments)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int taken = 1;
        if (PyUnicode_CompareWithASCIIString(name, "src") == 0 &&
            arguments->source == NULL) {
            arguments->source = values[i];
        } else if (PyUnicode_CompareWithASCIIString(name, "dst") == 0 &&
                   arguments->target == NULL) {
            arguments->target = values[i];
        } else if (PyUnicode_CompareWithASCIIString(name,
                                                    "follow_symlinks") == 0) {
            if (arguments->follow_given) {
                return PARSE_FOREIGN;
            }
            taken = set_follow(arguments, values[i]) < 0 ? -1 : 1;
        } else {
            taken = take_keyword(function, name, values[i], arguments);
        }
        if (taken != 1) {
            return taken < 0 ? PARSE_ERROR : PARSE_FOREIGN;
        }
    }
    return PARSE_OK;
}

static unsigned
default_preserve(const struct state *state, enum function function)
{
    if (function == COPY2 || function == COPYSTAT) {
        return state->stat_preserve;
    }
    return function == COPYFILE ? 0 : SC_PRESERVE_MODE;
}

static bool
has_own_values(const struct arguments *arguments, unsigned preserve)
{
    const struct sc_options *options = &arguments->options;
    return options->reflink != SC_AUTO || options->sparse != SC_AUTO ||
           options->atomic || options->fsync || options->verify ||
           options->progress || options->forced ||
           options->preserve != preserve;
}

/* Options that exclude one another would be found out when the old target is
   empty already. */
static int
check_combination(const struct state *state, struct arguments *arguments)
{
    struct sc_options *options = &arguments->options;
    unsigned possible = options->methods & state->methods;
    if (options->reflink == SC_ALWAYS) {
        possible &= SC_METHOD_CLONE;
    }
    if (options->reflink == SC_NEVER) {
        possible &=
            SC_METHOD_HOLES | SC_METHOD_SENDFILE | SC_METHOD_READ_WRITE;
    }
    if (options->sparse != SC_AUTO) {
        possible &= SC_METHOD_READ_WRITE;
    }
    if (possible == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "method, reflink, sparse and SPEEDCOPY_METHODS leave "
                        "no way to copy");
        return -1;
    }
    options->methods &= state->methods;
    return 0;
}

enum parse
convert_arguments(const struct state *state, enum function function,
                  PyObject *const *args, Py_ssize_t positional,
                  PyObject *keywords, struct arguments *ret_arguments)
{
    struct arguments arguments = {.follow = true};
    unsigned preserve = default_preserve(state, function);

    arguments.options.preserve = preserve;
    arguments.options.methods = state->methods;
    if (positional > 3) {
        return PARSE_FOREIGN;
    }
    if (positional > 0) {
        arguments.source = args[0];
    }
    if (positional > 1) {
        arguments.target = args[1];
    }
    if (positional > 2 && set_follow(&arguments, args[2]) < 0) {
        return PARSE_ERROR;
    }
    if (keywords != NULL) {
        enum parse parse =
            take_keywords(function, args + positional, keywords, &arguments);
        if (parse != PARSE_OK) {
            return parse;
        }
        arguments.own = has_own_values(&arguments, preserve);
        if (check_combination(state, &arguments) < 0) {
            return PARSE_ERROR;
        }
    }
    if (arguments.source == NULL || arguments.target == NULL) {
        return PARSE_FOREIGN;
    }
    *ret_arguments = arguments;
    return PARSE_OK;
}

static bool
is_own_keyword(enum function function, PyObject *name)
{
    size_t count = sizeof(keywords_known) / sizeof(keywords_known[0]);
    for (size_t i = 0; i < count; i++) {
        if ((keywords_known[i].functions & OF(function)) &&
            PyUnicode_CompareWithASCIIString(name, keywords_known[i].name) ==
                0) {
            return true;
        }
    }
    return false;
}

PyObject *
convert_foreign(enum function function, PyObject *const *args,
                Py_ssize_t positional, PyObject *keywords,
                PyObject **ret_keywords)
{
    Py_ssize_t count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *tuple = PyTuple_New(positional);
    PyObject *dict = PyDict_New();
    if (tuple == NULL || dict == NULL) {
        goto fail;
    }
    for (Py_ssize_t i = 0; i < positional; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        if (!is_own_keyword(function, name) &&
            PyDict_SetItem(dict, name, args[positional + i]) < 0) {
            goto fail;
        }
    }
    *ret_keywords = dict;
    return tuple;
fail:
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return NULL;
}

int
convert_methods(const char *text, unsigned *ret_methods)
{
    unsigned methods = SC_ALL_METHODS;
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        unsigned method =
            *text == '-' ? method_of_name(text + 1, size - 1) : 0;
        if (method == 0) {
            PyErr_Format(PyExc_ValueError,
                         "SPEEDCOPY_METHODS takes names of methods, each "
                         "after a '-', not '%.100s'",
                         text);
            return -1;
        }
        methods &= ~method;
        text += size;
        text += *text == ',' ? 1 : 0;
    }
    /* The last resort is not up for choice. */
    *ret_methods = methods | SC_METHOD_READ_WRITE;
    return 0;
}
