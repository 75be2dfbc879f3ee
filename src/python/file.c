#include "file.h"

#include "../core/file.h"
#include "../core/metadata.h"
#include "audit.h"
#include "convert.h"
#include "errors.h"
#include "guard.h"
#include "nogil.h"
#include "observe.h"
#include "original.h"

/* One call of copyfile, copy or copy2 on its way. */
struct call {
    const struct state *state;
    enum function function;
    struct arguments arguments;
    PyObject *target_object; /* what the call returns; owned */
    struct path source;
    struct path target;
    bool audited;
    bool observed;
    uint64_t started; /* nanoseconds, if observed */
    struct outside outside;
    struct sc_file file;
};

static void
call_clear(struct call *call)
{
    Py_CLEAR(call->target_object);
    path_clear(&call->source);
    path_clear(&call->target);
    Py_CLEAR(call->outside.reporter);
}

/* --- running the core ----------------------------------------------------- */

/* One step of the core without the GIL. */
static enum sc_status
step(struct call *call, enum sc_status (*run)(struct sc_file *))
{
    enum sc_status status;
    outside_enter(&call->outside);
    status = run(&call->file);
    outside_leave(&call->outside);
    return status;
}

static enum sc_status
step_close(struct call *call, enum sc_status status)
{
    outside_enter(&call->outside);
    status = sc_file_close(&call->file, status);
    outside_leave(&call->outside);
    return status;
}

/* A copy that is to appear whole, or to last, has its metadata before it is
   published: ours, after the events of the function that would do it. */
static enum sc_status
copy_metadata_early(struct call *call)
{
    const char *event =
        call->function == COPY2 ? "shutil.copystat" : "shutil.copymode";
    if (PySys_Audit(event, "OO", call->arguments.source,
                    call->target_object) < 0 ||
        PySys_Audit("os.chmod", "Oii", call->target.object,
                    (int)call->file.source_stat.mode, -1) < 0) {
        return SC_CANCELLED;
    }
    return step(call, sc_file_copy_metadata);
}

/* What shutil's own copymode or copystat will do after us. */
static enum sc_status
copy_own_metadata(struct call *call)
{
    struct sc_options *options = &call->arguments.options;
    unsigned preserve = options->preserve;
    enum sc_status status = SC_DONE;
    if (preserve != 0 && (options->atomic || options->fsync)) {
        return copy_metadata_early(call);
    }
    options->preserve &= SC_PRESERVE_OWNERSHIP | SC_PRESERVE_ACL;
    if (options->preserve != 0) {
        status = step(call, sc_file_copy_metadata);
    }
    options->preserve = preserve;
    if (preserve != 0) {
        call->file.metadata_incomplete = true;
    }
    return status;
}

/* The steps with an audit event before each.  SC_CANCELLED: a hook said
   no. */
static enum sc_status
run_audited(struct call *call)
{
    enum sc_status status = step(call, sc_file_examine);
    if (status != SC_DONE) {
        return status; /* shutil's own will fire the events */
    }
    if (audit_copyfile(call->arguments.source, call->target_object) < 0 ||
        audit_open_source(call->source.object) < 0) {
        return SC_CANCELLED;
    }
    status = step(call, sc_file_open_source);
    if (status == SC_DONE) {
        if (audit_open_target(call->target.object) < 0) {
            if (!call->file.target_exists) {
                explain_missing_folder(call->target_object);
            }
            status = SC_CANCELLED;
        } else {
            status = step(call, sc_file_open_target);
        }
    }
    if (status == SC_DONE) {
        status = step(call, sc_file_copy_data);
    }
    if (status == SC_DONE) {
        status = copy_own_metadata(call);
    }
    return step_close(call, status); /* an exception stays set meanwhile */
}

static enum sc_status
run(struct call *call)
{
    struct sc_location source = {SC_WORKING_DIRECTORY, call->source.text};
    struct sc_location target = {SC_WORKING_DIRECTORY, call->target.text};
    sc_file_init(&call->file, source, target, call->arguments.follow,
                 &call->arguments.options);
    return call->audited ? run_audited(call) : step(call, sc_file_copy);
}

/* --- outcomes ------------------------------------------------------------- */

static PyObject *
refuse_options(const char *why)
{
    PyErr_Format(PyExc_TypeError,
                 "%s: only arguments that shutil takes are possible", why);
    return NULL;
}

static PyObject *
special_file(struct call *call)
{
    bool source = call->file.oddity == SC_ODD_SOURCE_KIND;
    return PyErr_Format(call->state->special_file_error,
                        "`%S` is not a regular file",
                        source ? call->source.object : call->target.object);
}

/* shutil believes what an os.DirEntry remembers of its file, which may be
   another one by now: a pipe, whose other end it would wait for, or the
   target itself. */
static bool
is_entry(const struct call *call)
{
    return (PyObject *)Py_TYPE(call->arguments.source) ==
           call->state->dir_entry;
}

/* The source as shutil's own functions are to have it.  With an audit hook
   they get what the events are to show. */
static PyObject *
plain_source(const struct call *call)
{
    return is_entry(call) && !call->audited ? call->source.object
                                            : call->arguments.source;
}

static PyObject *
same_file(struct call *call)
{
    if (audit_copyfile(call->arguments.source, call->target_object) < 0) {
        return NULL;
    }
    return PyErr_Format(call->state->same_file_error,
                        "%R and %R are the same file", call->arguments.source,
                        call->target_object);
}

/* Nothing was touched: let shutil's own function do it, or say why it will
   not. */
static PyObject *
give_to_shutil(struct call *call)
{
    enum sc_oddity oddity = call->file.oddity;
    if (call->arguments.own && oddity == SC_ODD_SOURCE_LINK) {
        return refuse_options("src is a link that is not to be followed");
    }
    if (call->arguments.own &&
        (oddity == SC_ODD_SOURCE_KIND || oddity == SC_ODD_TARGET_KIND)) {
        if (call->file.source_stat.kind != SC_KIND_DIRECTORY) {
            return special_file(call);
        }
    }
    if (oddity == SC_ODD_SAME_FILE && is_entry(call)) {
        return same_file(call);
    }
    PyObject *result =
        call_original(call->state, call->function, plain_source(call),
                      call->arguments.target, call->arguments.follow);
    if (result != NULL && call->observed &&
        observe_original(call->state, call->arguments.source, result,
                         &call->file, call->started) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

static PyObject *
succeed(struct call *call)
{
    if (call->file.metadata_incomplete) {
        unsigned stat = SC_PRESERVE_TIMES | SC_PRESERVE_XATTRS;
        enum function rest =
            call->arguments.options.preserve & stat ? COPYSTAT : COPYMODE;
        PyObject *done =
            call_original(call->state, rest, plain_source(call),
                          call->target_object, call->arguments.follow);
        if (done == NULL) {
            return NULL;
        }
        Py_DECREF(done);
    }
    uint64_t bytes = call->file.result.bytes;
    if (outside_report(&call->outside, bytes, bytes, true) < 0) {
        return NULL;
    }
    if (call->observed &&
        observe_copy(call->state, call->arguments.source, call->target_object,
                     &call->file, call->started) < 0) {
        return NULL;
    }
    return Py_NewRef(call->target_object);
}

/* Did it fail before anything was touched, so that shutil may say it? */
static bool
failed_at_opening(const struct call *call)
{
    enum sc_operation operation = call->file.error.operation;
    return !call->audited && !call->arguments.own &&
           (operation == SC_OP_OPEN_SOURCE || operation == SC_OP_OPEN_TARGET);
}

/* shutil.copy's dst = os.path.join(dst, os.path.basename(src)). */
static int
enter_folder(struct call *call)
{
    PyObject *name = PyObject_CallFunctionObjArgs(call->state->path_basename,
                                                  call->source.object, NULL);
    if (name == NULL) {
        return -1;
    }
    PyObject *joined = PyObject_CallFunctionObjArgs(
        call->state->path_join, call->target.object, name, NULL);
    Py_DECREF(name);
    if (joined == NULL) {
        return -1;
    }
    Py_SETREF(call->target_object, joined);
    path_clear(&call->target);
    enum parse parse = convert_path(joined, &call->target);
    if (parse == PARSE_FOREIGN) { /* os.path.join made no path of two */
        PyErr_Format(PyExc_ValueError, "not a path: %R", joined);
    }
    return parse == PARSE_OK ? 0 : -1;
}

static PyObject *
copy_converted(struct call *call)
{
    enum sc_status status = run(call);
    if (status == SC_DECLINED && call->file.oddity == SC_ODD_TARGET_FOLDER &&
        call->function != COPYFILE) {
        if (enter_folder(call) < 0) {
            return NULL;
        }
        status = run(call);
    }
    switch (status) {
    case SC_DONE:
        return succeed(call);
    case SC_DECLINED:
        return give_to_shutil(call);
    case SC_CANCELLED:
        return NULL;
    default:
        if (failed_at_opening(call)) {
            return give_to_shutil(call);
        }
        return raise_error(&call->file.error, call->source.object,
                           call->target.object);
    }
}

/* --- the call -------------------------------------------------------------- */

static int
prepare(struct call *call)
{
    struct arguments *arguments = &call->arguments;
    arguments->options.checkpoint = outside_checkpoint;
    arguments->options.checkpoint_context = &call->outside;
    if (arguments->progress != NULL) {
        call->outside.reporter = observe_reporter(
            arguments->progress, arguments->source, call->target_object);
        if (call->outside.reporter == NULL) {
            return -1;
        }
    }
    call->audited = audit_hooks_installed();
    call->observed = observe_wanted(call->state);
    if (call->observed) {
        call->started = sc_platform.clock();
    }
    return 0;
}

PyObject *
copy_file(const struct state *state, enum function function,
          PyObject *const *args, Py_ssize_t positional, PyObject *keywords)
{
    struct call call;
    PyObject *result = NULL;
    enum parse parse = convert_arguments(state, function, args, positional,
                                         keywords, &call.arguments);
    if (parse == PARSE_ERROR) {
        return NULL;
    }
    if (parse == PARSE_FOREIGN) {
        return call_original_raw(state, function, args, positional, keywords);
    }
    if (state->disabled && call.arguments.own) {
        return refuse_options("SPEEDCOPY_DISABLE is set");
    }
    call.state = state;
    call.function = function;
    call.target_object = Py_NewRef(call.arguments.target);
    call.source = (struct path){NULL, NULL, NULL};
    call.target = (struct path){NULL, NULL, NULL};
    call.outside = (struct outside){.reporter = NULL};
    parse = state->disabled
                ? PARSE_FOREIGN
                : convert_path(call.arguments.source, &call.source);
    if (parse == PARSE_OK) {
        parse = convert_path(call.arguments.target, &call.target);
    }
    if (parse == PARSE_OK) {
        result = prepare(&call) < 0 ? NULL : copy_converted(&call);
    } else if (parse == PARSE_FOREIGN) {
        if (call.arguments.own && (PyIndex_Check(call.arguments.source) ||
                                   PyIndex_Check(call.arguments.target))) {
            result = refuse_options("a descriptor was given");
        } else {
            result =
                call_original(state, function, call.arguments.source,
                              call.arguments.target, call.arguments.follow);
        }
    }
    call_clear(&call);
    return result;
}

/* --- copymode and copystat -------------------------------------------------- */

static enum sc_status
copy_by_name(const struct path *source, const struct path *target,
             unsigned preserve, struct sc_error *ret_error)
{
    struct sc_place from = {SC_NO_HANDLE,
                            {SC_WORKING_DIRECTORY, source->text}};
    struct sc_place to = {SC_NO_HANDLE, {SC_WORKING_DIRECTORY, target->text}};
    struct sc_stat stat;
    enum sc_status status = SC_MORE;
    PyThreadState *thread = PyEval_SaveThread();
    if (sc_platform.stat_location(&from.location, true, &stat) == 0) {
        status = sc_metadata_copy(&from, &stat, &to, preserve, ret_error);
    }
    PyEval_RestoreThread(thread);
    return status;
}

static PyObject *
copy_metadata_converted(const struct state *state, enum function function,
                        const struct arguments *arguments,
                        const struct path *source, const struct path *target)
{
    unsigned preserve = arguments->options.preserve;
    struct sc_error error = {0};
    bool audited = audit_hooks_installed();
    enum sc_status status;

    if (audited) { /* shutil's own fires the events of its part */
        preserve &= SC_PRESERVE_OWNERSHIP | SC_PRESERVE_ACL;
    }
    status = copy_by_name(source, target, preserve, &error);
    if (status == SC_FAIL) {
        return raise_error(&error, source->object, target->object);
    }
    if (status == SC_MORE || audited) {
        bool entry =
            (PyObject *)Py_TYPE(arguments->source) == state->dir_entry;
        return call_original(state, function,
                             entry && !audited ? source->object
                                               : arguments->source,
                             arguments->target, arguments->follow);
    }
    Py_RETURN_NONE;
}

PyObject *
copy_metadata(const struct state *state, enum function function,
              PyObject *const *args, Py_ssize_t positional,
              PyObject *keywords)
{
    struct arguments arguments;
    struct path source = {NULL, NULL, NULL};
    struct path target = {NULL, NULL, NULL};
    PyObject *result = NULL;
    enum parse parse = convert_arguments(state, function, args, positional,
                                         keywords, &arguments);
    if (parse == PARSE_ERROR) {
        return NULL;
    }
    if (parse == PARSE_FOREIGN) {
        return call_original_raw(state, function, args, positional, keywords);
    }
    if (arguments.own && (state->disabled || !arguments.follow)) {
        return refuse_options(state->disabled ? "SPEEDCOPY_DISABLE is set"
                                              : "follow_symlinks is false");
    }
    if (arguments.own && (PyIndex_Check(arguments.source) ||
                          PyIndex_Check(arguments.target))) {
        return refuse_options("a descriptor was given");
    }
    parse = state->disabled || !arguments.follow
                ? PARSE_FOREIGN
                : convert_path(arguments.source, &source);
    if (parse == PARSE_OK) {
        parse = convert_path(arguments.target, &target);
    }
    if (parse == PARSE_OK) {
        result = copy_metadata_converted(state, function, &arguments, &source,
                                         &target);
    } else if (parse == PARSE_FOREIGN) {
        result = call_original(state, function, arguments.source,
                               arguments.target, arguments.follow);
    }
    path_clear(&source);
    path_clear(&target);
    return result;
}

/* --- patched ---------------------------------------------------------------- */

static PyObject *
copy_guarded(const struct state *state, enum function function,
             PyObject *const *args, const char *rebound)
{
    uint64_t started = sc_platform.clock();
    int follow = PyObject_IsTrue(args[2]);
    if (follow < 0) {
        return NULL;
    }
    PyObject *result =
        call_original(state, function, args[0], args[1], follow > 0);
    bool file = function != COPYMODE && function != COPYSTAT;
    if (result != NULL && file && observe_wanted(state) &&
        observe_rebound(args[0], result, rebound, started) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

PyObject *
copy_patched(const struct state *state, enum function function,
             PyObject *const *args, Py_ssize_t positional)
{
    if (positional != 3) { /* only our own wrappers call this */
        PyErr_SetString(PyExc_TypeError, "src, dst and follow_symlinks");
        return NULL;
    }
    if (atomic_load_explicit(&state->guarded, memory_order_relaxed)) {
        const char *rebound = guard_tripped(state, function);
        if (rebound != NULL) {
            return copy_guarded(state, function, args, rebound);
        }
    }
    if (function == COPYMODE || function == COPYSTAT) {
        return copy_metadata(state, function, args, positional, NULL);
    }
    return copy_file(state, function, args, positional, NULL);
}
