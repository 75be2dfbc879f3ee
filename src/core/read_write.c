/* The strategy that always works: read a buffer, write it. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* 64 KiB buffers cost 10-35 % more than 512 KiB-1 MiB, 4 MiB ones fall out
   of the cache (benchmarks/README.rst, "thresholds"). */
#define BUFFER_SIZE ((size_t)1 << 20)
#define BUFFER_MINIMUM ((size_t)64 << 10)

/* A run of zeros shorter than this is not worth a hole: no common file
   system has smaller blocks. */
#define HOLE_SIZE ((size_t)4096)

enum sc_status
sc_transfer_read(struct sc_transfer *transfer, void *buffer, size_t size,
                 size_t *ret_count, struct sc_error *ret_error)
{
    for (;;) {
        int code =
            sc_platform.read(transfer->source, buffer, size, ret_count);
        if (code == 0) {
            return SC_DONE;
        }
        if (code != SC_INTERRUPTED) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
        if (sc_transfer_checkpoint(transfer) != SC_DONE) {
            return SC_CANCELLED;
        }
    }
}

enum sc_status
sc_transfer_write(struct sc_transfer *transfer, const void *buffer,
                  size_t size, struct sc_error *ret_error)
{
    const char *rest = buffer;
    while (size > 0) {
        size_t count = 0;
        int code = sc_platform.write(transfer->target, rest, size, &count);
        if (code == SC_INTERRUPTED) {
            if (sc_transfer_checkpoint(transfer) != SC_DONE) {
                return SC_CANCELLED;
            }
        } else if (code != 0) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
        rest += count;
        size -= count;
        transfer->offset += count;
    }
    return SC_DONE;
}

static size_t
buffer_size(const struct sc_transfer *transfer)
{
    uint64_t size = transfer->source_stat->size + 1;
    if (size < BUFFER_MINIMUM) {
        return BUFFER_MINIMUM;
    }
    return size < BUFFER_SIZE ? (size_t)size : BUFFER_SIZE;
}

/* How many of the leading bytes are all zero (or all not), in whole blocks
   of HOLE_SIZE but for the last one? */
static size_t
run_length(const char *buffer, size_t size, bool *ret_zero)
{
    static const char zeros[HOLE_SIZE];
    size_t length = 0;
    while (length < size) {
        size_t block = size - length < HOLE_SIZE ? size - length : HOLE_SIZE;
        bool zero = memcmp(buffer + length, zeros, block) == 0;
        if (length == 0) {
            *ret_zero = zero;
        } else if (zero != *ret_zero) {
            break;
        }
        length += block;
    }
    return length;
}

/* Write a buffer, leaving holes for its zeros.  The target ends short after
   a hole: finish_holes makes that good. */
static enum sc_status
write_with_holes(struct sc_transfer *transfer, const char *buffer,
                 size_t size, struct sc_error *ret_error)
{
    while (size > 0) {
        bool zero = false;
        size_t length = run_length(buffer, size, &zero);
        if (zero) {
            uint64_t stop = transfer->offset + length;
            int code = sc_platform.seek(transfer->target, stop);
            if (code != 0) {
                return sc_transfer_fail(transfer, code, ret_error);
            }
            sc_platform.punch_hole(transfer->target, transfer->offset, stop);
            transfer->offset = stop;
        } else {
            enum sc_status status =
                sc_transfer_write(transfer, buffer, length, ret_error);
            if (status != SC_DONE) {
                return status;
            }
        }
        buffer += length;
        size -= length;
    }
    return SC_DONE;
}

static enum sc_status
finish_holes(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    if (transfer->options->sparse != SC_ALWAYS ||
        transfer->end != SC_END_OF_FILE) {
        return SC_DONE;
    }
    int code = sc_platform.truncate(transfer->target, transfer->offset);
    return code == 0 ? SC_DONE : sc_transfer_fail(transfer, code, ret_error);
}

static enum sc_status
take_positions(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    if (!transfer->used && transfer->offset == 0) {
        return SC_DONE;
    }
    int code = sc_platform.seek(transfer->source, transfer->offset);
    if (code == 0) {
        code = sc_platform.seek(transfer->target, transfer->offset);
    }
    return code == 0 ? SC_DONE : sc_transfer_fail(transfer, code, ret_error);
}

static enum sc_status
run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    size_t capacity = buffer_size(transfer);
    if (transfer->buffer == NULL) {
        transfer->buffer = malloc(capacity);
        if (transfer->buffer == NULL) {
            sc_error_set(ret_error, SC_OP_MEMORY, 0);
            return SC_FAIL;
        }
    }
    enum sc_status status = take_positions(transfer, ret_error);
    while (status == SC_DONE) {
        uint64_t left = transfer->end - transfer->offset;
        size_t size = left < capacity ? (size_t)left : capacity;
        size_t count = 0;
        if (size > 0) {
            status = sc_transfer_read(transfer, transfer->buffer, size,
                                      &count, ret_error);
        }
        if (status != SC_DONE) {
            break;
        }
        if (count == 0) {
            return finish_holes(transfer, ret_error);
        }
        if (transfer->options->sparse == SC_ALWAYS) {
            status = write_with_holes(transfer, transfer->buffer, count,
                                      ret_error);
        } else {
            status = sc_transfer_write(transfer, transfer->buffer, count,
                                       ret_error);
        }
        if (status == SC_DONE) {
            status = sc_transfer_checkpoint(transfer);
        }
    }
    return status;
}

static bool
applies(const struct sc_transfer *transfer)
{
    (void)transfer;
    return true;
}

const struct sc_strategy sc_read_write = {
    .method = SC_METHOD_READ_WRITE,
    .applies = applies,
    .run = run,
};
