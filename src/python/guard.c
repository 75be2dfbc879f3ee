#include "guard.h"

#include <string.h>

/* Where names are looked up. */
enum space { IN_SHUTIL, IN_OS, IN_PATH, IN_BUILTINS, IN_STAT, IN_SYS };

static const char *const space_modules[GUARD_SPACES] = {
    [IN_SHUTIL] = "shutil",     [IN_OS] = "os",     [IN_PATH] = "os.path",
    [IN_BUILTINS] = "builtins", [IN_STAT] = "stat", [IN_SYS] = "sys",
};

#define F (1u << COPYFILE | 1u << COPY | 1u << COPY2)
#define M (1u << COPYMODE | 1u << COPY)
#define T (1u << COPYSTAT | 1u << COPY2)
#define D (1u << COPY | 1u << COPY2) /* what takes a directory */

/* What the functions of shutil use, in every version from 3.9 to 3.15, by
   themselves or through its helpers and os.path.  tests/test_guard.py takes
   the running Python's own code apart and finds each name here.  A name that
   does not exist in a version has to stay away: `shutil.open` would hide the
   builtin, `os.lchmod` would be used. */
static const struct watched {
    enum space space;
    const char *name;
    const char *full; /* for people */
    unsigned functions;
} table[GUARD_NAMES] = {
#define SHUTIL(name, functions)                                              \
    {                                                                        \
        IN_SHUTIL, #name, "shutil." #name, functions                         \
    }
#define OS(name, functions)                                                  \
    {                                                                        \
        IN_OS, #name, "os." #name, functions                                 \
    }
#define PATH(name, functions)                                                \
    {                                                                        \
        IN_PATH, #name, "os.path." #name, functions                          \
    }
    SHUTIL(os, F | M | T),
    SHUTIL(stat, F | M | T),
    SHUTIL(sys, F | M | T),
    SHUTIL(errno, F | T),
    SHUTIL(posix, F),
    SHUTIL(open, F),
    SHUTIL(copyfile, D),
    SHUTIL(copymode, 1u << COPY),
    SHUTIL(copystat, 1u << COPY2),
    SHUTIL(copyfileobj, F),
    SHUTIL(COPY_BUFSIZE, F),
    SHUTIL(SameFileError, F),
    SHUTIL(SpecialFileError, F),
    SHUTIL(_GiveupOnFastCopy, F),
    SHUTIL(_HAS_FCOPYFILE, F),
    SHUTIL(_USE_CP_SENDFILE, F),
    SHUTIL(_USE_CP_COPY_FILE_RANGE, F),
    SHUTIL(_WINDOWS, F),
    SHUTIL(_copyfileobj_readinto, F),
    SHUTIL(_determine_linux_fastcopy_blocksize, F),
    SHUTIL(_fastcopy_copy_file_range, F),
    SHUTIL(_fastcopy_fcopyfile, F),
    SHUTIL(_fastcopy_sendfile, F),
    SHUTIL(_samefile, F),
    SHUTIL(_stat, F | M),
    SHUTIL(_islink, F | M | T),
    SHUTIL(_copyxattr, T),
    SHUTIL(_winapi, 1u << COPY2),
    {IN_BUILTINS, "open", "builtins.open", F},
    {IN_SYS, "audit", "sys.audit", F | M | T},
    {IN_STAT, "S_ISFIFO", "stat.S_ISFIFO", F},
    {IN_STAT, "S_IMODE", "stat.S_IMODE", M | T},
    {IN_STAT, "S_ISDIR", "stat.S_ISDIR", D},
    {IN_STAT, "S_ISLNK", "stat.S_ISLNK", F | M | T},
    OS(DirEntry, F | M | T),
    OS(chflags, T),
    OS(chmod, M | T),
    OS(copy_file_range, F),
    OS(fsdecode, 1u << COPY2),
    OS(fspath, F | M | T),
    OS(fstat, F),
    OS(getxattr, T),
    OS(lchmod, M),
    OS(listxattr, T),
    OS(lseek, F),
    OS(lstat, F | M | T),
    OS(name, F | M | T),
    OS(path, F | M | T),
    OS(readlink, F),
    OS(sendfile, F),
    OS(setxattr, T),
    OS(stat, F | M | T),
    OS(supports_follow_symlinks, T),
    OS(symlink, F),
    OS(utime, T),
    PATH(basename, D),
    PATH(exists, F),
    PATH(isdir, D),
    PATH(islink, F | M | T),
    PATH(join, D),
    PATH(samefile, F),
    PATH(samestat, F),
#undef SHUTIL
#undef OS
#undef PATH
};

/* A sibling's name may also be bound to our own replacement. */
static int
sibling_of(const struct watched *watched)
{
    for (int i = 0; watched->space == IN_SHUTIL && i < FUNCTION_COUNT; i++) {
        if (strcmp(watched->name, function_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static const struct guard *
current(const struct state *state)
{
    return atomic_load_explicit(&state->guard, memory_order_acquire);
}

static PyObject *
dict_of(const char *module_name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    if (module == NULL) {
        return NULL;
    }
    PyObject *dict = PyObject_GetAttrString(module, "__dict__");
    Py_DECREF(module);
    return dict;
}

/* The dict of posix or of nt, which define most of what os has: a
   replacement in os that was there before us is not taken for genuine. */
static PyObject *
native_dict(void)
{
    PyObject *dict = dict_of("posix");
    if (dict == NULL && PyErr_ExceptionMatches(PyExc_ImportError)) {
        PyErr_Clear();
        dict = dict_of("nt");
    }
    return dict;
}

static int
capture_entry(struct guard *guard, int i, PyObject *native,
              const struct guard *older)
{
    const struct watched *watched = &table[i];
    struct guard_entry *entry = &guard->entries[i];
    int found = 0;

    entry->sibling = sibling_of(watched);
    entry->name = PyUnicode_InternFromString(watched->name);
    if (entry->name == NULL) {
        return -1;
    }
    if (older != NULL && watched->space != IN_SHUTIL) {
        entry->genuine = older->entries[i].genuine;
        Py_XINCREF(entry->genuine);
        return 0;
    }
    if (watched->space == IN_OS) {
        found = PyDict_GetItemRef(native, entry->name, &entry->genuine);
    } else if (watched->space ==
               IN_BUILTINS) { /* open, where it is at home */
        PyObject *home = PyImport_ImportModule("_io");
        entry->genuine =
            home == NULL ? NULL : PyObject_GetAttr(home, entry->name);
        Py_XDECREF(home);
        return entry->genuine == NULL ? -1 : 0;
    }
    if (found == 0) {
        found = PyDict_GetItemRef(guard->spaces[watched->space], entry->name,
                                  &entry->genuine);
    }
    return found < 0 ? -1 : 0;
}

static int
capture(struct guard *guard, const struct guard *older)
{
    PyObject *native = native_dict();
    int result = native == NULL ? -1 : 0;
    for (int i = 0; result == 0 && i < GUARD_SPACES; i++) {
        guard->spaces[i] = dict_of(space_modules[i]);
        result = guard->spaces[i] == NULL ? -1 : 0;
    }
    for (int i = 0; result == 0 && i < FUNCTION_COUNT; i++) {
        guard->originals[i] =
            PyDict_GetItemString(guard->spaces[IN_SHUTIL], function_names[i]);
        Py_XINCREF(guard->originals[i]);
        if (guard->originals[i] == NULL) {
            PyErr_Format(PyExc_AttributeError, "shutil has no %s",
                         function_names[i]);
            result = -1;
        }
    }
    for (int i = 0; result == 0 && i < GUARD_NAMES; i++) {
        result = capture_entry(guard, i, native, older);
    }
    Py_XDECREF(native);
    return result;
}

static void
free_guard(struct guard *guard)
{
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        Py_XDECREF(guard->originals[i]);
        Py_XDECREF(guard->replacements[i]);
    }
    for (int i = 0; i < GUARD_SPACES; i++) {
        Py_XDECREF(guard->spaces[i]);
    }
    for (int i = 0; i < GUARD_NAMES; i++) {
        Py_XDECREF(guard->entries[i].name);
        Py_XDECREF(guard->entries[i].genuine);
    }
    PyMem_Free(guard);
}

static void
publish(struct state *state, struct guard *guard)
{
    guard->older = atomic_load_explicit(&state->guard, memory_order_relaxed);
    atomic_store_explicit(&state->guard, guard, memory_order_release);
}

static struct guard *
new_guard(void)
{
    struct guard *guard = PyMem_Calloc(1, sizeof(struct guard));
    if (guard == NULL) {
        (void)PyErr_NoMemory();
    }
    return guard;
}

int
guard_capture(struct state *state)
{
    const struct guard *older = current(state);
    struct guard *guard = new_guard();
    if (guard == NULL) {
        return -1;
    }
    if (capture(guard, older) < 0) {
        free_guard(guard);
        return -1;
    }
    for (int i = 0; older != NULL && i < FUNCTION_COUNT; i++) {
        guard->replacements[i] = older->replacements[i];
        Py_XINCREF(guard->replacements[i]);
    }
    publish(state, guard);
    return 0;
}

int
guard_set_replacements(struct state *state, PyObject *replacements)
{
    const struct guard *older = current(state);
    struct guard *guard = new_guard();
    if (guard == NULL) {
        return -1;
    }
    *guard = *older;
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        Py_INCREF(guard->originals[i]);
        guard->replacements[i] =
            PyDict_GetItemString(replacements, function_names[i]);
        Py_XINCREF(guard->replacements[i]);
    }
    for (int i = 0; i < GUARD_SPACES; i++) {
        Py_INCREF(guard->spaces[i]);
    }
    for (int i = 0; i < GUARD_NAMES; i++) {
        Py_INCREF(guard->entries[i].name);
        Py_XINCREF(guard->entries[i].genuine);
    }
    publish(state, guard);
    return 0;
}

PyObject *
guard_original(const struct state *state, enum function function)
{
    return current(state)->originals[function];
}

int
guard_traverse(struct state *state, visitproc visit, void *arg)
{
    const struct guard *guard = current(state);
    for (; guard != NULL; guard = guard->older) {
        for (int i = 0; i < FUNCTION_COUNT; i++) {
            Py_VISIT(guard->originals[i]);
            Py_VISIT(guard->replacements[i]);
        }
        for (int i = 0; i < GUARD_SPACES; i++) {
            Py_VISIT(guard->spaces[i]);
        }
        for (int i = 0; i < GUARD_NAMES; i++) {
            Py_VISIT(guard->entries[i].genuine);
        }
    }
    return 0;
}

void
guard_clear(struct state *state)
{
    struct guard *guard = atomic_exchange(&state->guard, NULL);
    while (guard != NULL) {
        struct guard *older = guard->older;
        free_guard(guard);
        guard = older;
    }
}

/* Is this name bound to what it should be? */
static bool
is_rebound(const struct guard *guard, int i)
{
    const struct guard_entry *entry = &guard->entries[i];
    PyObject *value;
    if (PyDict_GetItemRef(guard->spaces[table[i].space], entry->name,
                          &value) < 0) {
        PyErr_Clear();
        return true; /* what cannot be looked up cannot be vouched for */
    }
    Py_XDECREF(value); /* compared only */
    return value != entry->genuine &&
           (entry->sibling < 0 ||
            value != guard->replacements[entry->sibling]);
}

const char *
guard_tripped(const struct state *state, enum function function)
{
    const struct guard *guard = current(state);
    for (int i = 0; i < GUARD_NAMES; i++) {
        if ((table[i].functions & 1u << function) && is_rebound(guard, i)) {
            return table[i].full;
        }
    }
    return NULL;
}

PyObject *
guard_rebound(const struct state *state)
{
    const struct guard *guard = current(state);
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < GUARD_NAMES; i++) {
        if (!is_rebound(guard, i)) {
            continue;
        }
        PyObject *name = PyUnicode_FromString(table[i].full);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}
