#include "atomic_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ".speedcopy-<process>-<16 hexadecimal digits>.tmp" and the NUL. */
#define NAME_SIZE 64
#define TRIES 16

static enum sc_status
fail(struct sc_file *file, enum sc_operation operation, int code)
{
    sc_error_set(&file->error, operation, code);
    return SC_FAIL;
}

/* A name in the folder of the final path; NULL without memory. */
static char *
temporary_path(const char *final)
{
    const char *slash = strrchr(final, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - final) + 1;
    char *path = malloc(folder + NAME_SIZE);
    if (path != NULL) {
        memcpy(path, final, folder);
        (void)snprintf(path + folder, NAME_SIZE,
                       ".speedcopy-%llu-%016llx.tmp",
                       (unsigned long long)sc_platform.process_id(),
                       (unsigned long long)sc_platform.unique());
    }
    return path;
}

static enum sc_status
create_temporary(struct sc_file *file, uint32_t mode, sc_handle *ret_handle)
{
    int code = sc_platform.unsupported_code;
    for (int i = 0; i < TRIES; i++) {
        char *path = temporary_path(file->final.path);
        if (path == NULL) {
            return fail(file, SC_OP_MEMORY, 0);
        }
        struct sc_location location = {file->final.directory, path};
        bool created = false;
        int open_code = sc_platform.open_target(&location, true, mode,
                                                ret_handle, &created);
        if (open_code == 0 && created) {
            file->temporary = location;
            return SC_DONE;
        }
        free(path);
        if (open_code != 0) {
            code = open_code;
            break;
        }
        (void)sc_platform.close(*ret_handle); /* somebody else's */
        *ret_handle = SC_NO_HANDLE;
    }
    return fail(file, SC_OP_TEMPORARY, code);
}

/* Without the old file's owner or group, what was theirs is nobody's: no
   setuid bits, and for another group what all others had. */
static uint32_t
narrowed(const struct sc_file *file, const struct sc_place *temporary)
{
    const struct sc_stat *old = &file->target_stat;
    if (sc_platform.set_owner(temporary, old->uid, old->gid) == 0) {
        return old->mode;
    }
    if (sc_platform.set_owner(temporary, SC_SAME_ID, old->gid) == 0) {
        return old->mode & 0777;
    }
    return (old->mode & 0707) | (old->mode & 07) << 3;
}

enum sc_status
sc_atomic_take_over(struct sc_file *file)
{
    struct sc_place from = {.handle = file->old_handle};
    struct sc_place to = {.handle = file->target_handle};
    if (file->old_handle == SC_NO_HANDLE) {
        return SC_DONE;
    }
    uint32_t mode = narrowed(file, &to);
    int code = sc_platform.clear_acl(&to);
    if (code == 0) {
        code = sc_platform.copy_xattrs(&from, &to, SC_PRESERVE_ACL);
    }
    if (code == sc_platform.unsupported_code) {
        code = 0;
    }
    if (code == 0 && !(file->options->preserve & SC_PRESERVE_MODE)) {
        code = sc_platform.set_mode(&to, mode);
    }
    return code == 0 ? SC_DONE : fail(file, SC_OP_TEMPORARY, code);
}

/* Where the opened target really is.  The kernel followed the links to open
   it, and may refuse to (fs.protected_symlinks): a path of our own making
   counts only if it leads to that file. */
static enum sc_status
find_final(struct sc_file *file, char **ret_path)
{
    struct sc_stat stat;
    char *path = NULL;
    int code = sc_platform.resolve(&file->target, &path);
    if (code == 0) {
        struct sc_location final = {file->target.directory, path};
        code = sc_platform.stat_location(&final, false, &stat);
        if (code == 0 && (stat.inode != file->target_stat.inode ||
                          stat.device != file->target_stat.device)) {
            code = sc_platform.unsupported_code;
        }
    }
    if (code != 0) {
        free(path);
        return fail(file, SC_OP_TEMPORARY, code);
    }
    *ret_path = path;
    return SC_DONE;
}

static enum sc_status
copy_path(struct sc_file *file, char **ret_path)
{
    size_t size = strlen(file->target.path) + 1;
    *ret_path = malloc(size);
    if (*ret_path == NULL) {
        return fail(file, SC_OP_MEMORY, 0);
    }
    memcpy(*ret_path, file->target.path, size);
    return SC_DONE;
}

enum sc_status
sc_atomic_begin(struct sc_file *file, uint32_t mode)
{
    char *final = NULL;
    bool replaces = file->target_handle != SC_NO_HANDLE;
    enum sc_status status =
        replaces ? find_final(file, &final) : copy_path(file, &final);
    if (status != SC_DONE) {
        return status;
    }
    file->final = (struct sc_location){file->target.directory, final};
    file->old_handle = file->target_handle;
    file->target_handle = SC_NO_HANDLE;
    status =
        create_temporary(file, replaces ? 0600 : mode, &file->target_handle);
    file->created = status == SC_DONE;
    return status;
}

enum sc_status
sc_atomic_publish(struct sc_file *file)
{
    int code = sc_platform.rename(&file->temporary, &file->final);
    return code == 0 ? SC_DONE : fail(file, SC_OP_RENAME, code);
}

void
sc_atomic_abandon(struct sc_file *file)
{
    if (file->temporary.path != NULL) {
        /* The error that brought us here is the one to tell. */
        (void)sc_platform.remove(&file->temporary);
    }
    sc_atomic_clear(file);
}

void
sc_atomic_clear(struct sc_file *file)
{
    free((char *)(uintptr_t)file->temporary.path);
    free((char *)(uintptr_t)file->final.path);
    file->temporary.path = NULL;
    file->final.path = NULL;
}
