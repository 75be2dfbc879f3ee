#include "engine.h"

#include <stdlib.h>

static const char *const method_names[SC_METHOD_COUNT] = {
    "clone",           "server_copy", "holes",
    "copy_file_range", "sendfile",    "read_write",
};

const char *
sc_method_name(unsigned method)
{
    for (unsigned i = 0; i < SC_METHOD_COUNT; i++) {
        if (method == 1u << i) {
            return method_names[i];
        }
    }
    return NULL;
}

enum sc_status
sc_transfer_checkpoint(const struct sc_transfer *transfer)
{
    const struct sc_options *options = transfer->options;
    if (options->checkpoint == NULL) {
        return SC_DONE;
    }
    int stop = options->checkpoint(options->checkpoint_context,
                                   transfer->offset,
                                   transfer->source_stat->size);
    return stop ? SC_CANCELLED : SC_DONE;
}

uint64_t
sc_transfer_chunk(struct sc_transfer *transfer)
{
    uint64_t left = transfer->end - transfer->offset;
    uint64_t now = sc_platform.clock();
    uint64_t taken = now - transfer->chunk_started;

    if (transfer->chunk == 0) {
        transfer->chunk = SC_CHUNK_START;
    } else if (taken > SC_CHUNK_LONG &&
               transfer->chunk > SC_CHUNK_MINIMUM) {
        transfer->chunk /= 2;
    } else if (taken < SC_CHUNK_SHORT &&
               transfer->chunk < SC_CHUNK_MAXIMUM) {
        transfer->chunk *= 2;
    }
    transfer->chunk_started = now;
    return left < transfer->chunk ? left : transfer->chunk;
}

enum sc_status
sc_transfer_fail(const struct sc_transfer *transfer, int code,
                 struct sc_error *ret_error)
{
    sc_error_set(ret_error, SC_OP_DATA, code);
    ret_error->done = transfer->offset;
    /* Asked only where the answer matters to anybody: the question may
       write a byte. */
    ret_error->offload_useless =
        transfer->offload_refused ||
        ((transfer->offset > 0 || sc_platform.is_full(code)) &&
         !sc_platform.offload_works(transfer->source, transfer->target,
                                    transfer->offset));
    return SC_FAIL;
}

void
sc_transfer_clear(struct sc_transfer *transfer)
{
    free(transfer->buffer);
    transfer->buffer = NULL;
}

static void
note_fallback(struct sc_transfer *transfer, const struct sc_strategy *strategy,
              int code)
{
    struct sc_result *result = transfer->result;
    if (transfer->end != SC_END_OF_FILE && result->fallback_count > 0 &&
        result->fallbacks[result->fallback_count - 1].method ==
            (unsigned)strategy->method) {
        return; /* said already for another stretch of this file */
    }
    if (result->fallback_count < SC_MAX_FALLBACKS) {
        result->fallbacks[result->fallback_count++] =
            (struct sc_fallback){(unsigned)strategy->method, code};
    }
}

/* May the options use this strategy on this transfer? */
static bool
allowed(const struct sc_transfer *transfer,
        const struct sc_strategy *strategy)
{
    const struct sc_options *options = transfer->options;
    bool range = transfer->end != SC_END_OF_FILE;

    if (!(options->methods & (unsigned)strategy->method)) {
        return false;
    }
    if (options->reflink == SC_ALWAYS) {
        return strategy->method == SC_METHOD_CLONE;
    }
    if (strategy->may_share && options->reflink == SC_NEVER) {
        return false;
    }
    /* Only our own loop looks for zeros or is sure to write them. */
    if (options->sparse != SC_AUTO &&
        strategy->method != SC_METHOD_READ_WRITE &&
        !(options->sparse == SC_ALWAYS && strategy->method == SC_METHOD_HOLES)) {
        return false;
    }
    if (range && strategy->whole_file) {
        return false;
    }
    return (options->forced && !strategy->never_forced) ||
           strategy->applies(transfer);
}

/* Did the target get as long as the strategy said?  A target that is not is
   emptied for the next strategy. */
static enum sc_status
check_size(struct sc_transfer *transfer, const struct sc_strategy *strategy,
           struct sc_error *ret_error)
{
    struct sc_stat stat;
    int code = sc_platform.stat_handle(transfer->target, &stat);
    if (code != 0) {
        return sc_transfer_fail(transfer, code, ret_error);
    }
    if (stat.size == transfer->offset) {
        return SC_DONE;
    }
    code = sc_platform.truncate(transfer->target, 0);
    if (code != 0) {
        return sc_transfer_fail(transfer, code, ret_error);
    }
    transfer->offset = 0;
    note_fallback(transfer, strategy, 0);
    return SC_UNSUPPORTED;
}

/* One rung: run a strategy and judge what it says. */
static enum sc_status
run_strategy(struct sc_transfer *transfer, const struct sc_strategy *strategy,
             struct sc_error *ret_error)
{
    struct sc_error error = {0};
    uint64_t start = transfer->offset;
    enum sc_status status = strategy->run(transfer, &error);

    transfer->used = transfer->used || !strategy->keeps_positions;
    if (transfer->offset > start || status == SC_DONE) {
        transfer->result->method = (unsigned)strategy->method;
    }
    if (status == SC_DONE && strategy->may_lie &&
        transfer->end == SC_END_OF_FILE) {
        status = check_size(transfer, strategy, ret_error);
    } else if (status == SC_MORE || status == SC_UNSUPPORTED) {
        if (!strategy->never_forced) {
            note_fallback(transfer, strategy, error.code);
        }
        transfer->result->method = 0;
    } else if (status == SC_FAIL) {
        *ret_error = error;
    }
    return status;
}

enum sc_status
sc_engine_run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    const struct sc_strategy *const *rung = transfer->next;
    enum sc_status status = SC_UNSUPPORTED;

    for (; *rung != NULL; rung++) {
        if (!allowed(transfer, *rung)) {
            continue;
        }
        transfer->next = rung + 1;
        status = run_strategy(transfer, *rung, ret_error);
        if (status != SC_MORE && status != SC_UNSUPPORTED) {
            return status;
        }
    }
    const struct sc_result *result = transfer->result;
    int code = sc_platform.unsupported_code;
    if (result->fallback_count > 0 &&
        result->fallbacks[result->fallback_count - 1].code != 0) {
        code = result->fallbacks[result->fallback_count - 1].code;
    }
    sc_error_set(ret_error, SC_OP_METHOD, code);
    return SC_FAIL;
}

enum sc_status
sc_engine_run_range(struct sc_transfer *transfer, uint64_t start,
                    uint64_t stop, struct sc_error *ret_error)
{
    const struct sc_strategy *const *next = transfer->next;
    uint64_t end = transfer->end;
    enum sc_status status;

    transfer->used = true;
    transfer->offset = start;
    transfer->end = stop;
    status = sc_engine_run(transfer, ret_error);
    transfer->end = end;
    transfer->next = next;
    return status;
}
