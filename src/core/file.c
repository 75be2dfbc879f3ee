#include "file.h"

#include <string.h>

#include "atomic_copy.h"
#include "engine.h"
#include "metadata.h"
#include "small.h"
#include "verify.h"

void
sc_file_init(struct sc_file *file, struct sc_location source,
             struct sc_location target, bool follow,
             const struct sc_options *options)
{
    memset(file, 0, sizeof(*file));
    file->source = source;
    file->target = target;
    file->follow = follow;
    file->options = options;
    file->source_handle = SC_NO_HANDLE;
    file->target_handle = SC_NO_HANDLE;
    file->old_handle = SC_NO_HANDLE;
}

static enum sc_status
decline(struct sc_file *file, enum sc_oddity oddity)
{
    file->oddity = oddity;
    return SC_DECLINED;
}

static enum sc_status
fail(struct sc_file *file, enum sc_operation operation, int code)
{
    sc_error_set(&file->error, operation, code);
    return SC_FAIL;
}

static bool
same_file(const struct sc_stat *a, const struct sc_stat *b)
{
    return a->inode == b->inode && a->device == b->device;
}

/* Is the target, as target_stat describes it, one to copy over? */
static enum sc_status
judge_target(struct sc_file *file)
{
    if (same_file(&file->source_stat, &file->target_stat)) {
        return decline(file, SC_ODD_SAME_FILE);
    }
    switch (file->target_stat.kind) {
    case SC_KIND_REGULAR:
        return SC_DONE;
    case SC_KIND_DIRECTORY:
        return decline(file, SC_ODD_TARGET_FOLDER);
    default:
        return decline(file, SC_ODD_TARGET_KIND);
    }
}

/* "missing/" can only be a directory. */
static bool
names_a_folder(const struct sc_location *location)
{
    size_t length = strlen(location->path);
    return length > 0 && location->path[length - 1] == '/';
}

enum sc_status
sc_file_examine(struct sc_file *file)
{
    int code = sc_platform.stat_location(&file->source, file->follow,
                                         &file->source_stat);
    if (code != 0) {
        return decline(file, SC_ODD_SOURCE_MISSING);
    }
    if (file->source_stat.kind == SC_KIND_SYMLINK) {
        return decline(file, SC_ODD_SOURCE_LINK);
    }
    if (file->source_stat.kind != SC_KIND_REGULAR) {
        return decline(file, SC_ODD_SOURCE_KIND);
    }
    code = sc_platform.stat_location(&file->target, true, &file->target_stat);
    if (code == 0) {
        file->target_exists = true;
        return judge_target(file);
    }
    if (!sc_platform.is_missing(code) || names_a_folder(&file->target)) {
        return decline(file, SC_ODD_TARGET_ERROR);
    }
    return SC_DONE;
}

enum sc_status
sc_file_open_source(struct sc_file *file)
{
    struct sc_stat stat;
    int code = sc_platform.open_source(&file->source, &file->source_handle);
    if (code != 0) {
        return fail(file, SC_OP_OPEN_SOURCE, code);
    }
    code = sc_platform.stat_handle(file->source_handle, &stat);
    if (code != 0) {
        return fail(file, SC_OP_STAT_SOURCE, code);
    }
    if (stat.kind != SC_KIND_REGULAR) {
        return decline(file, SC_ODD_SOURCE_KIND);
    }
    /* Another file has taken the name.  One that follows links is fine. */
    if (!file->follow && !same_file(&stat, &file->source_stat)) {
        return decline(file, SC_ODD_SOURCE_LINK);
    }
    file->source_stat = stat;
    return SC_DONE;
}

/* Permissions to make a target with.  Whoever sets the mode afterwards
   starts narrow, so that nobody reads what only its owner may, and with
   leave to write, so that attributes can be set. */
static uint32_t
creation_mode(const struct sc_file *file)
{
    if (file->options->preserve & SC_PRESERVE_MODE) {
        return (file->source_stat.mode & 0700u) | 0200u;
    }
    return 0666;
}

/* A link that leads nowhere is for the kernel to follow, or not to. */
static bool
is_link(const struct sc_location *location)
{
    struct sc_stat stat;
    return sc_platform.stat_location(location, false, &stat) == 0 &&
           stat.kind == SC_KIND_SYMLINK;
}

enum sc_status
sc_file_open_target(struct sc_file *file)
{
    bool link = file->options->atomic && !file->target_exists &&
                is_link(&file->target);
    if (file->options->atomic && !file->target_exists && !link) {
        return sc_atomic_begin(file, creation_mode(file));
    }
    int code = sc_platform.open_target(&file->target, !file->target_exists,
                                       creation_mode(file),
                                       &file->target_handle, &file->created);
    if (code != 0) {
        return fail(file, SC_OP_OPEN_TARGET, code);
    }
    if (!file->created) {
        code =
            sc_platform.stat_handle(file->target_handle, &file->target_stat);
        if (code != 0) {
            return fail(file, SC_OP_STAT_TARGET, code);
        }
        file->target_exists = true;
        enum sc_status status = judge_target(file);
        if (status != SC_DONE) {
            return status;
        }
    }
    if (file->options->atomic) {
        return sc_atomic_begin(file, creation_mode(file));
    }
    return SC_DONE;
}

static enum sc_status
run_ladder(struct sc_file *file, struct sc_transfer *transfer)
{
    if (!file->created && !transfer->used) {
        int code = sc_platform.truncate(file->target_handle, 0);
        if (code != 0) {
            return fail(file, SC_OP_TRUNCATE, code);
        }
    }
    return sc_engine_run(transfer, &file->error);
}

enum sc_status
sc_file_copy_data(struct sc_file *file)
{
    struct sc_transfer transfer = {
        .source = file->source_handle,
        .target = file->target_handle,
        .source_stat = &file->source_stat,
        .options = file->options,
        .result = &file->result,
        .end = SC_END_OF_FILE,
        .next = sc_platform.ladder,
    };
    enum sc_status status = SC_MORE;

    if (sc_overwrite_applies(file)) {
        status = sc_overwrite(file, &transfer);
    }
    if (status == SC_MORE) {
        status = run_ladder(file, &transfer);
    }
    file->result.bytes = transfer.offset;
    sc_transfer_clear(&transfer);
    if (status == SC_DONE && file->options->verify) {
        status = sc_verify(file);
    }
    if (status == SC_DONE && file->options->atomic) {
        status = sc_atomic_take_over(file);
    }
    return status;
}

enum sc_status
sc_file_copy_metadata(struct sc_file *file)
{
    struct sc_place source = {.handle = file->source_handle};
    struct sc_place target = {.handle = file->target_handle};
    enum sc_status status =
        sc_metadata_copy(&source, &file->source_stat, &target,
                         file->options->preserve, &file->error);
    if (status == SC_MORE && !file->options->atomic) {
        /* The data is there and stays, as with shutil; whoever called
           finishes by name, or finds the error that way. */
        file->metadata_incomplete = true;
        memset(&file->error, 0, sizeof(file->error));
        return SC_DONE;
    }
    return status == SC_MORE ? SC_FAIL : status;
}

static void
close_handle(struct sc_file *file, sc_handle *handle)
{
    if (*handle != SC_NO_HANDLE) {
        int code = sc_platform.close(*handle);
        *handle = SC_NO_HANDLE;
        if (code != 0) {
            sc_error_set(&file->error, SC_OP_CLOSE, code);
        }
    }
}

static enum sc_status
remove_what_we_made(struct sc_file *file, enum sc_status status)
{
    if (file->options->atomic) {
        sc_atomic_abandon(file);
    } else if (status == SC_FAIL && file->created &&
               file->error.operation == SC_OP_METHOD) {
        /* Nothing was copied and the target is ours: leave no empty file.
           The error is told either way. */
        (void)sc_platform.remove(&file->target);
    }
    return status;
}

enum sc_status
sc_file_close(struct sc_file *file, enum sc_status status)
{
    bool sync = file->options->fsync && status == SC_DONE;
    if (sync) {
        int code = sc_platform.sync(file->target_handle);
        if (code != 0) {
            status = fail(file, SC_OP_SYNC, code);
        }
    }
    close_handle(file, &file->target_handle);
    close_handle(file, &file->source_handle);
    if (file->old_handle != SC_NO_HANDLE) {
        (void)sc_platform.close(file->old_handle); /* nothing was written */
        file->old_handle = SC_NO_HANDLE;
    }
    if (status == SC_DONE && file->error.operation != SC_OP_NONE) {
        status = SC_FAIL;
    }
    if (status == SC_DONE && file->options->atomic) {
        status = sc_atomic_publish(file);
    }
    if (status != SC_DONE) {
        return remove_what_we_made(file, status);
    }
    if (sync) {
        const struct sc_location *last =
            file->options->atomic ? &file->final : &file->target;
        int code = sc_platform.sync_folder_of(last);
        if (code != 0) {
            status = fail(file, SC_OP_SYNC, code);
        }
    }
    sc_atomic_clear(file);
    return status;
}

enum sc_status
sc_file_copy(struct sc_file *file)
{
    enum sc_status status = sc_file_examine(file);
    if (status != SC_DONE) {
        return status;
    }
    status = sc_file_open_source(file);
    if (status == SC_DONE) {
        status = sc_file_open_target(file);
    }
    if (status == SC_DONE) {
        status = sc_file_copy_data(file);
    }
    if (status == SC_DONE && file->options->preserve != 0) {
        status = sc_file_copy_metadata(file);
    }
    return sc_file_close(file, status);
}
