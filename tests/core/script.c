#include "script.h"

#include <stdlib.h>
#include <string.h>

struct script scripts[SCRIPTS];

static void
move(struct sc_transfer *transfer, uint64_t wanted)
{
    const struct fake_file *source = fake.handles[transfer->source].file;
    struct fake_file *target = fake.handles[transfer->target].file;
    uint64_t stop =
        transfer->end < source->size ? transfer->end : source->size;
    uint64_t left = stop > transfer->offset ? stop - transfer->offset : 0;
    size_t count = (size_t)(wanted < left ? wanted : left);
    size_t end = (size_t)transfer->offset + count;
    if (count > 0) {
        if (end > target->size) {
            fake_set_size(target, end);
        }
        memcpy(target->data + transfer->offset,
               source->data + transfer->offset, count);
        transfer->offset += count;
    }
}

static enum sc_status
run(struct script *script, struct sc_transfer *transfer,
    struct sc_error *ret_error)
{
    unsigned call = script->calls++;
    unsigned last = script->step_count > 0 ? script->step_count - 1 : 0;
    const struct script_step *step =
        &script->steps[call < last ? call : last];
    if (call < SCRIPT_STEPS) {
        script->offsets[call] = transfer->offset;
        script->ends[call] = transfer->end;
    }
    uint64_t before = transfer->offset;
    move(transfer, step->moves);
    transfer->offset += step->lies;
    if (step->lies > 0) { /* as a strategy does that cannot trust its call */
        enum sc_status status =
            sc_transfer_confirm(transfer, before, ret_error);
        if (status != SC_DONE) {
            return status;
        }
    }
    if (step->status == SC_FAIL) {
        return sc_transfer_fail(transfer, step->code, ret_error);
    }
    if (step->code != 0) {
        sc_error_set(ret_error, SC_OP_DATA, step->code);
    }
    return step->status;
}

#define SCRIPT_FUNCTIONS(number)                                             \
    static enum sc_status run_##number(struct sc_transfer *transfer,         \
                                       struct sc_error *ret_error)           \
    {                                                                        \
        return run(&scripts[number], transfer, ret_error);                   \
    }                                                                        \
    static bool applies_##number(const struct sc_transfer *transfer)         \
    {                                                                        \
        (void)transfer;                                                      \
        return !scripts[number].inapplicable;                                \
    }
SCRIPT_FUNCTIONS(0)
SCRIPT_FUNCTIONS(1)
SCRIPT_FUNCTIONS(2)
SCRIPT_FUNCTIONS(3)
SCRIPT_FUNCTIONS(4)

void
script_reset(void)
{
#define STRATEGY(number, ...)                                                \
    {                                                                        \
        .applies = applies_##number, .run = run_##number, __VA_ARGS__        \
    }
    static const struct sc_strategy strategies[SCRIPTS] = {
        [CLONE] = STRATEGY(0, .method = SC_METHOD_CLONE, .may_share = true,
                           .whole_file = true, .keeps_positions = true),
        [SERVER] =
            STRATEGY(1, .method = SC_METHOD_SERVER_COPY, .may_share = true,
                     .whole_file = true, .keeps_positions = true),
        [HOLES] = STRATEGY(2, .method = SC_METHOD_HOLES),
        [RANGE] = STRATEGY(3, .method = SC_METHOD_COPY_FILE_RANGE,
                           .may_share = true, .keeps_positions = true),
        [SEND] = STRATEGY(4, .method = SC_METHOD_SENDFILE),
    };
    fake_reset();
    memset(scripts, 0, sizeof(scripts));
    for (int i = 0; i < SCRIPTS; i++) {
        scripts[i].strategy = strategies[i];
        scripts[i].steps[0].status = SC_UNSUPPORTED;
        fake_ladder[i < HOLES ? i : i + 1] = &scripts[i].strategy;
    }
    fake_ladder[HOLES] = &sc_small;
    fake_ladder[SCRIPTS + 1] = &sc_read_write;
}

void
script_add(int number, struct script_step step)
{
    struct script *script = &scripts[number];
    if (script->step_count == SCRIPT_STEPS) {
        abort();
    }
    script->steps[script->step_count++] = step;
}
