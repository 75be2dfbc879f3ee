/* The strategy for sparse files: ask where the data is, copy only that, by
   the strategies that come after. */
#include "engine.h"

/* Give the target its length up to `size`, leaving a hole behind the
   transfer's offset.  File systems that allocate ahead of what is written
   (XFS) have to be told that nothing will come. */
static enum sc_status
extend(struct sc_transfer *transfer, uint64_t size,
       struct sc_error *ret_error)
{
    int code = sc_platform.truncate(transfer->target, size);
    if (code != 0) {
        return sc_transfer_fail(transfer, code, ret_error);
    }
    if (size > transfer->offset) {
        sc_platform.punch_hole(transfer->target, transfer->offset, size);
        transfer->offset = size;
    }
    return SC_DONE;
}

static enum sc_status
run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    uint64_t first = transfer->offset;
    if (!sc_platform.has_holes(transfer->source)) {
        return SC_UNSUPPORTED;
    }
    for (;;) {
        uint64_t start = 0;
        uint64_t stop = 0;
        struct sc_stat source;
        /* The size from before: what is appended meanwhile is no hole. */
        int code = sc_platform.stat_handle(transfer->source, &source);
        if (code != 0) {
            return sc_transfer_fail(transfer, code, ret_error);
        }
        code = sc_platform.find_data(transfer->source, transfer->offset,
                                     &start, &stop);
        if (code == 0 && start == UINT64_MAX) { /* a hole to the end */
            return extend(transfer,
                          source.size > transfer->offset ? source.size
                                                         : transfer->offset,
                          ret_error);
        }
        /* An empty stretch is seen while another process writes: no file
           system may send us round for ever. */
        if (code != 0 || stop <= start || start < transfer->offset) {
            if (transfer->offset == first) {
                sc_error_set(ret_error, SC_OP_DATA, code);
                return SC_UNSUPPORTED;
            }
            sc_error_set(ret_error, SC_OP_DATA, code);
            return SC_MORE;
        }
        if (start > transfer->offset) {
            sc_platform.punch_hole(transfer->target, transfer->offset, start);
        }
        enum sc_status status =
            sc_engine_run_range(transfer, start, stop, ret_error);
        if (status != SC_DONE) {
            return status;
        }
        if (transfer->offset < stop) { /* the source got shorter */
            return extend(transfer, transfer->offset, ret_error);
        }
    }
}

static bool
applies(const struct sc_transfer *transfer)
{
    const struct sc_stat *stat = transfer->source_stat;
    return stat->size > SC_SMALL && stat->allocated < stat->size;
}

const struct sc_strategy sc_holes = {
    .method = SC_METHOD_HOLES,
    .applies = applies,
    .run = run,
};
