/* The strategy for sparse files: ask where the data is, copy only that, by
   the strategies that come after. */
#include "engine.h"

/* Give the target its length up to the transfer's offset, which may lie in
   a hole that nothing was written after. */
static enum sc_status
extend(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    int code = sc_platform.truncate(transfer->target, transfer->offset);
    return code == 0 ? SC_DONE : sc_transfer_fail(transfer, code, ret_error);
}

/* No more data: the rest of the source, as long as it is now, is a hole. */
static enum sc_status
end_with_hole(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    struct sc_stat stat;
    int code = sc_platform.stat_handle(transfer->source, &stat);
    if (code != 0) {
        return sc_transfer_fail(transfer, code, ret_error);
    }
    if (stat.size > transfer->offset) {
        transfer->offset = stat.size;
    }
    return extend(transfer, ret_error);
}

static enum sc_status
run(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    uint64_t first = transfer->offset;
    for (;;) {
        uint64_t start = 0;
        uint64_t stop = 0;
        int code = sc_platform.find_data(transfer->source, transfer->offset,
                                         &start, &stop);
        if (code == 0 && start == UINT64_MAX) {
            return end_with_hole(transfer, ret_error);
        }
        /* An empty stretch is seen while another process writes: no file
           system may send us round for ever. */
        if (code != 0 || stop <= start || start < transfer->offset) {
            if (transfer->offset == first) {
                sc_error_set(ret_error, SC_OP_DATA, code);
                return SC_UNSUPPORTED;
            }
            enum sc_status status = extend(transfer, ret_error);
            if (status == SC_DONE) {
                sc_error_set(ret_error, SC_OP_DATA, code);
                status = SC_MORE;
            }
            return status;
        }
        enum sc_status status =
            sc_engine_run_range(transfer, start, stop, ret_error);
        if (status != SC_DONE) {
            return status;
        }
        if (transfer->offset < stop) {
            return extend(transfer, ret_error); /* the source got shorter */
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
