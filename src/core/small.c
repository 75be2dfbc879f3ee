/* Truncating an existing file makes ext4 and xfs free its blocks and find
   new ones: five sixths of the cost of overwriting 1 KiB (benchmarks/
   README.rst, "in place").  A source that was read whole, so that nothing
   can be lost by a failing read, is written over the old bytes instead. */
#include "small.h"

#include <stdlib.h>

/* Most small files need no allocation; a thread's stack may be 32 KiB. */
#define STACK_BUFFER ((size_t)8192)

bool
sc_small_applies(const struct sc_file *file)
{
    const struct sc_options *options = file->options;
    if (file->source_stat.size > SC_SMALL ||
        !(options->methods & SC_METHOD_READ_WRITE) ||
        options->sparse == SC_ALWAYS || options->reflink == SC_ALWAYS) {
        return false;
    }
    /* Into an empty file a clone may be cheaper, if there can be one. */
    return !file->created || file->source_stat.size < SC_CLONE_MINIMUM ||
           options->reflink == SC_NEVER;
}

/* Fill the buffer until the end of the source.  *ret_count == capacity: it
   may go on after that. */
static enum sc_status
read_whole(struct sc_file *file, struct sc_transfer *transfer, char *buffer,
           size_t capacity, size_t *ret_count)
{
    size_t total = 0;
    while (total < capacity) {
        size_t count = 0;
        enum sc_status status =
            sc_transfer_read(transfer, buffer + total, capacity - total,
                             &count, &file->error);
        if (status != SC_DONE) {
            return status;
        }
        total += count;
        /* The size that stat gave needs no second read to be believed, but
           for 0: /proc says that of every file. */
        if (count == 0 ||
            (total == count && total == file->source_stat.size)) {
            break;
        }
    }
    *ret_count = total;
    return SC_DONE;
}

/* What opening with O_TRUNC would have done. */
static enum sc_status
empty_target(struct sc_file *file)
{
    int code = sc_platform.truncate(file->target_handle, 0);
    if (code != 0) {
        sc_error_set(&file->error, SC_OP_TRUNCATE, code);
        return SC_FAIL;
    }
    return SC_DONE;
}

/* One write over the old content; `*ret_written` says that it took all. */
static enum sc_status
overwrite(struct sc_file *file, const char *buffer, size_t size,
          bool *ret_written)
{
    size_t count = 0;
    *ret_written = false;
    if (file->target_stat.size > size) {
        /* Cut the old tail first, and one byte more: a copy killed before
           the write is done is then shorter than its source. */
        int code = sc_platform.truncate(file->target_handle, size - 1);
        if (code != 0) {
            sc_error_set(&file->error, SC_OP_TRUNCATE, code);
            return SC_FAIL;
        }
    }
    int code =
        sc_platform.write(file->target_handle, buffer, size, &count);
    *ret_written = code == 0 && count == size;
    return SC_DONE;
}

static enum sc_status
write_whole(struct sc_file *file, struct sc_transfer *transfer,
            const char *buffer, size_t size)
{
    enum sc_status status = SC_DONE;
    if (!file->created) {
        bool written = false;
        if (size > 0 && file->target_stat.size > 0) {
            status = overwrite(file, buffer, size, &written);
            if (written) {
                transfer->offset = size;
            }
        }
        if (written || status != SC_DONE) {
            return status;
        }
        /* Nothing to write, or no room beside the old blocks, or a signal,
           or a file that may not be written: what truncating first would
           have come to. */
        status = empty_target(file);
        if (status == SC_DONE && file->target_stat.size > 0 && size > 0) {
            int code = sc_platform.seek(file->target_handle, 0);
            if (code != 0) {
                return sc_transfer_fail(transfer, code, &file->error);
            }
        }
    }
    if (status == SC_DONE && size > 0) {
        status = sc_transfer_write(transfer, buffer, size, &file->error);
    }
    return status;
}

enum sc_status
sc_small_copy(struct sc_file *file, struct sc_transfer *transfer)
{
    char stack_buffer[STACK_BUFFER];
    char *buffer = stack_buffer;
    /* One byte more than the source should have. */
    size_t capacity = (size_t)file->source_stat.size + 1;
    size_t size = 0;

    if (capacity <= STACK_BUFFER) {
        capacity = STACK_BUFFER;
    } else {
        buffer = malloc(capacity);
        if (buffer == NULL) {
            sc_error_set(&file->error, SC_OP_MEMORY, 0);
            return SC_FAIL;
        }
    }
    enum sc_status status =
        read_whole(file, transfer, buffer, capacity, &size);
    if (status == SC_DONE && size == capacity) {
        /* More than stat said.  This much is as good as any start. */
        status = file->created ? SC_DONE : empty_target(file);
        if (status == SC_DONE) {
            status =
                sc_transfer_write(transfer, buffer, size, &file->error);
        }
        transfer->used = true;
        if (status == SC_DONE) {
            status = SC_MORE;
        }
    } else if (status == SC_DONE) {
        file->result.method = SC_METHOD_READ_WRITE;
        status = write_whole(file, transfer, buffer, size);
    }
    if (buffer != stack_buffer) {
        free(buffer);
    }
    return status;
}
