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

/* Mode, owner and ACL of the file that will be replaced.  A mode wider than
   its owner's is never given away: without the owner, no setuid bits. */
static enum sc_status
take_over(struct sc_file *file, sc_handle temporary, sc_handle old)
{
    const struct sc_stat *stat = &file->target_stat;
    struct sc_place from = {.handle = old};
    struct sc_place to = {.handle = temporary};
    uint32_t mode = stat->mode;

    if (sc_platform.set_owner(&to, stat->uid, stat->gid) != 0) {
        mode &= 0777;
    }
    int code = sc_platform.copy_xattrs(&from, &to, SC_PRESERVE_ACL);
    if (code == 0 || code == sc_platform.unsupported_code) {
        code = sc_platform.set_mode(&to, mode);
    }
    return code == 0 ? SC_DONE : fail(file, SC_OP_TEMPORARY, code);
}

enum sc_status
sc_atomic_begin(struct sc_file *file, uint32_t mode)
{
    char *final = NULL;
    sc_handle temporary = SC_NO_HANDLE;
    sc_handle old = file->target_handle;
    int code = sc_platform.resolve(&file->target, &final);
    if (code != 0) {
        return fail(file, SC_OP_TEMPORARY, code);
    }
    file->final = (struct sc_location){file->target.directory, final};
    enum sc_status status =
        create_temporary(file, old == SC_NO_HANDLE ? mode : 0600, &temporary);
    if (status != SC_DONE) {
        return status;
    }
    if (old != SC_NO_HANDLE) {
        status = take_over(file, temporary, old);
        (void)sc_platform.close(old); /* nothing was written through it */
    }
    file->created = true;
    file->target_handle = temporary;
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
