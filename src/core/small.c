/* Small files: read whole, written by one call.

   Over old content this is more than the sparing of calls.  Truncating makes
   ext4 and xfs free blocks and find new ones: five sixths of the cost of
   overwriting 1 KiB (benchmarks/README.rst, "in place").  A source that was
   read to its end, so that no failing read can lose anything, is written
   over the old bytes instead. */
#include "small.h"

#include <stdlib.h>

/* Most small files need no allocation; a thread's stack may be 32 KiB. */
#define STACK_BUFFER ((size_t)8192)

/* What was read of a small source. */
struct content {
    char stack[STACK_BUFFER];
    char *data; /* `stack`, or allocated */
    size_t capacity;
    size_t size; /* == capacity: the source may go on after it */
};

static void
content_clear(struct content *content)
{
    if (content->data != content->stack) {
        free(content->data);
    }
}

/* Read until the end of the source, but one byte more than it should have at
   the most. */
static enum sc_status
read_content(struct sc_transfer *transfer, struct content *content,
             struct sc_error *ret_error)
{
    size_t expected = (size_t)transfer->source_stat->size;

    content->size = 0;
    content->data = content->stack;
    content->capacity = STACK_BUFFER;
    if (expected >= STACK_BUFFER) {
        content->capacity = expected + 1;
        content->data = malloc(content->capacity);
        if (content->data == NULL) {
            content->data = content->stack;
            sc_error_set(ret_error, SC_OP_MEMORY, 0);
            return SC_FAIL;
        }
    }
    while (content->size < content->capacity) {
        size_t count = 0;
        enum sc_status status =
            sc_transfer_read(transfer, content->data + content->size,
                             content->capacity - content->size, &count,
                             ret_error);
        if (status != SC_DONE) {
            return status;
        }
        content->size += count;
        /* The size that stat gave needs no second read to be believed, but
           for 0: /proc says that of every file. */
        if (count == 0 ||
            (content->size == count && content->size == expected)) {
            break;
        }
    }
    return SC_DONE;
}

/* Write it to an empty target.  SC_MORE: there may be more to read. */
static enum sc_status
write_content(struct sc_transfer *transfer, const struct content *content,
              struct sc_error *ret_error)
{
    enum sc_status status = sc_transfer_write(transfer, content->data,
                                              content->size, ret_error);
    if (status == SC_DONE && content->size == content->capacity) {
        status = SC_MORE;
    }
    return status;
}

/* --- into an empty target ------------------------------------------------ */

static enum sc_status
run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    struct content content;
    enum sc_status status = read_content(transfer, &content, ret_error);
    if (status == SC_DONE) {
        status = write_content(transfer, &content, ret_error);
    }
    content_clear(&content);
    return status;
}

static bool
applies(const struct sc_transfer *transfer)
{
    return transfer->source_stat->size <= SC_SMALL && transfer->offset == 0 &&
           !transfer->used && transfer->options->sparse != SC_ALWAYS;
}

const struct sc_strategy sc_small = {
    .method = SC_METHOD_READ_WRITE,
    .whole_file = true,
    .never_forced = true,
    .applies = applies,
    .run = run,
};

/* --- over old content ---------------------------------------------------- */

bool
sc_overwrite_applies(const struct sc_file *file)
{
    const struct sc_options *options = file->options;
    return !file->created && file->source_stat.size <= SC_SMALL &&
           (options->methods & SC_METHOD_READ_WRITE) &&
           options->sparse != SC_ALWAYS && options->reflink != SC_ALWAYS;
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

/* One write over the old content; *ret_written says that it took all. */
static enum sc_status
write_over(struct sc_file *file, const struct content *content,
           bool *ret_written)
{
    size_t count = 0;
    *ret_written = false;
    if (file->target_stat.size > content->size) {
        /* Cut the old tail first, and one byte more: a copy killed before
           the write is done is then shorter than its source. */
        int code =
            sc_platform.truncate(file->target_handle, content->size - 1);
        if (code != 0) {
            sc_error_set(&file->error, SC_OP_TRUNCATE, code);
            return SC_FAIL;
        }
    }
    int code = sc_platform.write(file->target_handle, content->data,
                                 content->size, &count);
    *ret_written = code == 0 && count == content->size;
    return SC_DONE;
}

/* The outcome of truncating first: for nothing to write, and where writing
   over did not work, be it for want of room beside the old blocks, because
   of a signal, or because the file may not be written after all. */
static enum sc_status
empty_and_write(struct sc_file *file, struct sc_transfer *transfer,
                const struct content *content)
{
    enum sc_status status = empty_target(file);
    if (status == SC_DONE && content->size > 0) {
        int code = sc_platform.seek(file->target_handle, 0);
        status = code == 0
                     ? write_content(transfer, content, &file->error)
                     : sc_transfer_fail(transfer, code, &file->error);
    }
    return status;
}

enum sc_status
sc_overwrite(struct sc_file *file, struct sc_transfer *transfer)
{
    struct content content;
    bool written = false;
    enum sc_status status = read_content(transfer, &content, &file->error);
    bool whole = content.size < content.capacity;

    if (status == SC_DONE && whole && content.size > 0 &&
        file->target_stat.size > 0) {
        status = write_over(file, &content, &written);
    }
    if (status == SC_DONE && written) {
        transfer->offset = content.size;
    } else if (status == SC_DONE) {
        status = empty_and_write(file, transfer, &content);
    }
    if (status == SC_DONE) {
        file->result.method = SC_METHOD_READ_WRITE;
    }
    transfer->used = true;
    content_clear(&content);
    return status;
}
