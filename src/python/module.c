/* The module speedcopy_c._core: its functions and its state. */
#include "compat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "file.h"
#include "guard.h"
#include "state.h"

#include "../core/platform.h"

const char *const function_names[FUNCTION_COUNT] = {
    "copyfile", "copymode", "copystat", "copy", "copy2",
};

struct state *
state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* --- functions ------------------------------------------------------------ */

#define DATA_OPTIONS                                                         \
    "reflink='auto', sparse='auto', atomic=False, fsync=False, "             \
    "verify=False, progress=None, method=None"

#define DATA_OPTIONS_HELP                                                     \
    "\n\n"                                                                    \
    "reflink: 'auto' shares blocks where the file system can, 'always'\n"     \
    "    raises OSError where it cannot, 'never' writes the bytes.\n"         \
    "sparse: 'auto' keeps the source's holes, 'always' also makes them of\n"  \
    "    zeros, 'never' writes zeros.\n"                                      \
    "atomic: write a temporary file and rename it over dst when whole.\n"     \
    "fsync: return when the file and its folder are on the device.\n"         \
    "verify: 'bytes' reads the copy back and compares.\n"                     \
    "progress: called with a CopyProgress at most 20 times a second and\n"    \
    "    once at the end; an exception from it cancels the copy.\n"           \
    "method: only this way of moving the bytes, OSError where it cannot:\n"   \
    "    'clone', 'server_copy', 'holes', 'copy_file_range', 'sendfile' or\n" \
    "    'read_write'.\n\n"                                                   \
    "Raises what shutil's function raises; TypeError and ValueError for\n"    \
    "these options."

PyDoc_STRVAR(copyfile_doc, //
             "copyfile($module, /, src, dst, *, follow_symlinks=True,\n"
             "         " DATA_OPTIONS ")\n"
             "--\n\n"
             "Copy the data of src to dst, and return dst.\n\n"
             "As shutil.copyfile." DATA_OPTIONS_HELP);

PyDoc_STRVAR(
    copy_doc, //
    "copy($module, /, src, dst, *, follow_symlinks=True,\n"
    "     " DATA_OPTIONS ",\n"
    "     preserve=None)\n"
    "--\n\n"
    "Copy data and permissions of src to dst, and return the file's path.\n\n"
    "As shutil.copy: dst may be a directory." DATA_OPTIONS_HELP "\n\n"
    "preserve: more to keep: 'ownership', 'acl', 'all', or several of them.");

PyDoc_STRVAR(
    copy2_doc, //
    "copy2($module, /, src, dst, *, follow_symlinks=True,\n"
    "      " DATA_OPTIONS ",\n"
    "      preserve=None)\n"
    "--\n\n"
    "Copy data, permissions, times and attributes, and return the file's path."
    "\n\n"
    "As shutil.copy2: dst may be a directory." DATA_OPTIONS_HELP "\n\n"
    "preserve: more to keep: 'ownership', 'acl', 'all', or several of them.");

PyDoc_STRVAR(copymode_doc, //
             "copymode($module, /, src, dst, *, follow_symlinks=True)\n"
             "--\n\n"
             "Copy the permission bits of src to dst.\n\n"
             "As shutil.copymode.");

PyDoc_STRVAR(
    copystat_doc, //
    "copystat($module, /, src, dst, *, follow_symlinks=True, preserve=None)\n"
    "--\n\n"
    "Copy permissions, times and attributes of src to dst.\n\n"
    "As shutil.copystat.\n\n"
    "preserve: more to keep: 'ownership', 'acl', 'all', or several of them.");

#define DEFINE(name, run, function)                                          \
    static PyObject *core_##name(PyObject *module, PyObject *const *args,    \
                                 Py_ssize_t positional, PyObject *keywords)  \
    {                                                                        \
        return run(state_of(module), function, args, positional, keywords);  \
    }

DEFINE(copyfile, copy_file, COPYFILE)
DEFINE(copy, copy_file, COPY)
DEFINE(copy2, copy_file, COPY2)
DEFINE(copymode, copy_metadata, COPYMODE)
DEFINE(copystat, copy_metadata, COPYSTAT)

PyDoc_STRVAR(
    filesystem_type_doc, //
    "filesystem_type($module, path, /)\n"
    "--\n\n"
    "Return the name of the kind of file system that holds path.\n\n"
    "A name such as 'ext4', 'xfs', 'btrfs', 'tmpfs', 'cifs', 'smb2', 'nfs';\n"
    "'0x...', its magic number, where that is not known.  Raises OSError.");

static PyObject *
core_filesystem_type(PyObject *module, PyObject *object)
{
    PyObject *bytes;
    const char *name = NULL;
    uint32_t magic = 0;
    (void)module;
    if (!PyUnicode_FSConverter(object, &bytes)) {
        return NULL;
    }
    struct sc_location location = {SC_WORKING_DIRECTORY,
                                   PyBytes_AS_STRING(bytes)};
    PyThreadState *thread = PyEval_SaveThread();
    int code = sc_platform.file_system(&location, &name, &magic);
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    if (code != 0) {
        errno = code;
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, object);
    }
    if (name != NULL) {
        return PyUnicode_FromString(name);
    }
    return PyUnicode_FromFormat("0x%x", (unsigned int)magic);
}

PyDoc_STRVAR(
    set_observed_doc, //
    "_set_observed($module, wanted, /)\n"
    "--\n\n"
    "Call speedcopy_c._trace.observe after every copy, or no longer.");

static PyObject *
store_truth(atomic_bool *place, PyObject *value)
{
    int truth = PyObject_IsTrue(value);
    if (truth < 0) {
        return NULL;
    }
    atomic_store_explicit(place, truth != 0, memory_order_relaxed);
    Py_RETURN_NONE;
}

static PyObject *
core_set_observed(PyObject *module, PyObject *wanted)
{
    return store_truth(&state_of(module)->observed, wanted);
}

#define DEFINE_PATCHED(name, function)                                       \
    static PyObject *core_patched_##name(                                    \
        PyObject *module, PyObject *const *args, Py_ssize_t positional)      \
    {                                                                        \
        return copy_patched(state_of(module), function, args, positional);   \
    }

DEFINE_PATCHED(copyfile, COPYFILE)
DEFINE_PATCHED(copymode, COPYMODE)
DEFINE_PATCHED(copystat, COPYSTAT)
DEFINE_PATCHED(copy, COPY)
DEFINE_PATCHED(copy2, COPY2)

PyDoc_STRVAR(
    rebound_doc, //
    "_rebound($module, /)\n"
    "--\n\n"
    "Return the watched names that are bound to something else now.");

static PyObject *
core_rebound(PyObject *module, PyObject *unused)
{
    (void)unused;
    return guard_rebound(state_of(module));
}

PyDoc_STRVAR(set_guard_doc, //
             "_set_guard($module, wanted, /)\n"
             "--\n\n"
             "Turn the guard of the patched functions off or on; for tests.");

static PyObject *
core_set_guard(PyObject *module, PyObject *wanted)
{
    return store_truth(&state_of(module)->guarded, wanted);
}

PyDoc_STRVAR(
    recapture_doc, //
    "_recapture($module, /)\n"
    "--\n\n"
    "Take what shutil defines now for genuine: it was loaded again.");

static PyObject *
core_recapture(PyObject *module, PyObject *unused)
{
    (void)unused;
    if (guard_capture(state_of(module)) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    set_replacements_doc, //
    "_set_replacements($module, replacements, /)\n"
    "--\n\n"
    "Know which functions in shutil's place are ours: a dict of them by name.");

static PyObject *
core_set_replacements(PyObject *module, PyObject *replacements)
{
    if (!PyDict_Check(replacements)) {
        PyErr_SetString(PyExc_TypeError, "a dict is needed");
        return NULL;
    }
    if (guard_set_replacements(state_of(module), replacements) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(originals_doc, //
             "_originals($module, /)\n"
             "--\n\n"
             "Return shutil's own functions in a dict by their names.");

static PyObject *
core_originals(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < FUNCTION_COUNT; i++) {
        if (PyDict_SetItemString(
                dict, function_names[i],
                guard_original(state_of(module), (enum function)i)) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

PyDoc_STRVAR(
    methods_doc, //
    "_methods($module, /)\n"
    "--\n\n"
    "Return the names of the methods in use, in the order in which they are\n"
    "tried.");

static PyObject *
core_methods(PyObject *module, PyObject *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    const struct sc_strategy *const *rung = sc_platform.ladder;
    for (; list != NULL && *rung != NULL; rung++) {
        unsigned method = (unsigned)(*rung)->method;
        if (!(state_of(module)->methods & method) || (*rung)->never_forced) {
            continue;
        }
        PyObject *name = PyUnicode_FromString(sc_method_name(method));
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}

#define ENTRY(name)                                                          \
    {                                                                        \
#name, (PyCFunction)(void (*)(void))core_##name,                     \
            METH_FASTCALL | METH_KEYWORDS, name##_doc                        \
    }

#define PATCHED(name)                                                        \
    {                                                                        \
        "_patched_" #name, (PyCFunction)(void (*)(void))core_patched_##name, \
            METH_FASTCALL, NULL                                              \
    }

static PyMethodDef functions[] = {
    ENTRY(copyfile),
    ENTRY(copymode),
    ENTRY(copystat),
    ENTRY(copy),
    ENTRY(copy2),
    {"filesystem_type", core_filesystem_type, METH_O, filesystem_type_doc},
    {"_set_observed", core_set_observed, METH_O, set_observed_doc},
    {"_methods", core_methods, METH_NOARGS, methods_doc},
    {"_originals", core_originals, METH_NOARGS, originals_doc},
    {"_rebound", core_rebound, METH_NOARGS, rebound_doc},
    {"_recapture", core_recapture, METH_NOARGS, recapture_doc},
    {"_set_guard", core_set_guard, METH_O, set_guard_doc},
    {"_set_replacements", core_set_replacements, METH_O,
     set_replacements_doc},
    PATCHED(copyfile),
    PATCHED(copymode),
    PATCHED(copystat),
    PATCHED(copy),
    PATCHED(copy2),
    {NULL, NULL, 0, NULL},
};

/* --- state ---------------------------------------------------------------- */

static int
import_attribute(const char *module_name, const char *name, PyObject **place)
{
    PyObject *module = PyImport_ImportModule(module_name);
    if (module == NULL) {
        return -1;
    }
    *place = PyObject_GetAttrString(module, name);
    Py_DECREF(module);
    return *place == NULL ? -1 : 0;
}

static int
import_names(struct state *state)
{
    PyObject *package = PyImport_ImportModule("speedcopy_c");
    if (package == NULL) {
        return -1;
    }
    state->package = Py_NewRef(PyModule_GetDict(package));
    Py_DECREF(package);
    state->follow_keyword = Py_BuildValue("(s)", "follow_symlinks");
    state->debug_name = PyUnicode_InternFromString("SPEEDCOPY_DEBUG");
    if (state->follow_keyword == NULL || state->debug_name == NULL ||
        import_attribute("shutil", "SpecialFileError",
                         &state->special_file_error) < 0 ||
        import_attribute("shutil", "SameFileError", &state->same_file_error) <
            0 ||
        import_attribute("os", "DirEntry", &state->dir_entry) < 0 ||
        import_attribute("os.path", "join", &state->path_join) < 0 ||
        import_attribute("os.path", "basename", &state->path_basename) < 0) {
        return -1;
    }
    return 0;
}

/* Does this Python's os have what shutil.copystat needs for it? */
static int
has_os_function(const char *name)
{
    PyObject *os = PyImport_ImportModule("os");
    if (os == NULL) {
        return -1;
    }
    int has = PyObject_HasAttrString(os, name);
    Py_DECREF(os);
    return has;
}

static int
module_exec(PyObject *module)
{
    struct state *state = state_of(module);
    const char *methods = getenv("SPEEDCOPY_METHODS");
    const char *disable = getenv("SPEEDCOPY_DISABLE");

    atomic_init(&state->observed, false);
    atomic_init(&state->guarded, true);
    atomic_init(&state->guard, NULL);
    if (import_names(state) < 0 || guard_capture(state) < 0) {
        return -1;
    }
    if (convert_methods(methods == NULL ? "" : methods, &state->methods) <
        0) {
        return -1;
    }
    state->disabled =
        disable != NULL && *disable != '\0' && strcmp(disable, "0") != 0;
    int xattrs = has_os_function("listxattr");
    int flags = has_os_function("chflags");
    if (xattrs < 0 || flags < 0) {
        return -1;
    }
    state->stat_preserve = SC_PRESERVE_MODE | SC_PRESERVE_TIMES |
                           (xattrs ? (unsigned)SC_PRESERVE_XATTRS : 0u) |
                           (flags ? (unsigned)SC_PRESERVE_FLAGS : 0u);
    if (PyModule_AddIntConstant(module, "_disabled", state->disabled) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "_platform", sc_platform.name);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = state_of(module);
    Py_VISIT(state->special_file_error);
    Py_VISIT(state->same_file_error);
    Py_VISIT(state->dir_entry);
    Py_VISIT(state->path_join);
    Py_VISIT(state->path_basename);
    Py_VISIT(state->package);
    return guard_traverse(state, visit, arg);
}

static int
module_clear(PyObject *module)
{
    struct state *state = state_of(module);
    guard_clear(state);
    Py_CLEAR(state->special_file_error);
    Py_CLEAR(state->same_file_error);
    Py_CLEAR(state->dir_entry);
    Py_CLEAR(state->path_join);
    Py_CLEAR(state->path_basename);
    Py_CLEAR(state->follow_keyword);
    Py_CLEAR(state->package);
    Py_CLEAR(state->debug_name);
    return 0;
}

static void
module_free(void *module)
{
    (void)module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "speedcopy_c._core",
    .m_doc = "The C core of speedcopy_c; use the names of that package.",
    .m_size = sizeof(struct state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
