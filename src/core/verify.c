#include "verify.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_SIZE ((size_t)256 << 10)

static enum sc_status
fail(struct sc_file *file, int code)
{
    sc_error_set(&file->error, SC_OP_VERIFY, code);
    return SC_FAIL;
}

static enum sc_status
checkpoint(const struct sc_file *file, uint64_t offset)
{
    const struct sc_options *options = file->options;
    if (options->checkpoint != NULL &&
        options->checkpoint(options->checkpoint_context, offset,
                            file->result.bytes)) {
        return SC_CANCELLED;
    }
    return SC_DONE;
}

/* Fill a buffer, short only at the end of the file. */
static enum sc_status
read_full(struct sc_file *file, sc_handle handle, char *buffer,
          uint64_t offset, size_t *ret_count)
{
    size_t total = 0;
    while (total < BUFFER_SIZE) {
        size_t count = 0;
        int code = sc_platform.read(handle, buffer + total,
                                    BUFFER_SIZE - total, &count);
        if (code == SC_INTERRUPTED) {
            if (checkpoint(file, offset) != SC_DONE) {
                return SC_CANCELLED;
            }
            continue;
        }
        if (code != 0) {
            return fail(file, code);
        }
        if (count == 0) {
            break;
        }
        total += count;
    }
    *ret_count = total;
    return SC_DONE;
}

static enum sc_status
compare(struct sc_file *file, sc_handle copy, char *buffer)
{
    uint64_t offset = 0;
    for (;;) {
        size_t expected = 0;
        size_t found = 0;
        enum sc_status status =
            read_full(file, file->source_handle, buffer, offset, &expected);
        if (status == SC_DONE) {
            status =
                read_full(file, copy, buffer + BUFFER_SIZE, offset, &found);
        }
        if (status != SC_DONE) {
            return status;
        }
        if (expected != found ||
            memcmp(buffer, buffer + BUFFER_SIZE, expected) != 0) {
            return fail(file, 0);
        }
        if (expected < BUFFER_SIZE) {
            return SC_DONE;
        }
        offset += expected;
        status = checkpoint(file, offset);
        if (status != SC_DONE) {
            return status;
        }
    }
}

/* Open the target for reading, making sure that it is still the same. */
static enum sc_status
reopen(struct sc_file *file, sc_handle *ret_copy)
{
    const struct sc_location *location =
        file->options->atomic ? &file->temporary : &file->target;
    struct sc_stat written;
    struct sc_stat found;
    int code = sc_platform.stat_handle(file->target_handle, &written);
    if (code == 0) {
        code = sc_platform.open_source(location, ret_copy);
    }
    if (code == 0) {
        code = sc_platform.stat_handle(*ret_copy, &found);
    }
    if (code != 0) {
        return fail(file, code);
    }
    if (written.inode != found.inode || written.device != found.device) {
        return fail(file, 0);
    }
    return SC_DONE;
}

enum sc_status
sc_verify(struct sc_file *file)
{
    sc_handle copy = SC_NO_HANDLE;
    char *buffer = malloc(2 * BUFFER_SIZE);
    enum sc_status status;

    if (buffer == NULL) {
        sc_error_set(&file->error, SC_OP_MEMORY, 0);
        return SC_FAIL;
    }
    int code = sc_platform.sync(file->target_handle);
    if (code == 0) {
        sc_platform.drop_cache(file->target_handle);
        code = sc_platform.seek(file->source_handle, 0);
    }
    status = code == 0 ? reopen(file, &copy) : fail(file, code);
    if (status == SC_DONE) {
        status = compare(file, copy, buffer);
    }
    if (copy != SC_NO_HANDLE) {
        (void)sc_platform.close(copy); /* nothing was written through it */
    }
    free(buffer);
    return status;
}
