/* What may come of each combination of the fault matrix. */
#include <errno.h>

#include "box.h"
#include "check.h"
#include "faults.h"

enum verdict {
    MUST_BE_DONE,
    MUST_FAIL,
    MAY_FAIL,
    MUST_BE_CANCELLED,
    MAY_DECLINE,
};

/* The few codes that end it: trying on would fail too, or do harm. */
static bool
is_final(const struct trial *trial)
{
    bool clone = trial->row->call == INJECT_FICLONE;
    return trial->code == ENOSPC ||
           (clone && (trial->code == EDQUOT || trial->code == ENOMEM ||
                      trial->code == EIO));
}

static enum verdict
expect_of_move(const struct trial *trial)
{
    bool error = trial->kind == INJECT_ERROR || trial->kind == INJECT_PART;
    if (trial->cancel) {
        return MUST_BE_CANCELLED;
    }
    if (error && is_final(trial) && (trial->row->traits & MOVES)) {
        return MUST_FAIL;
    }
    return trial->choice == ALONE ? MAY_FAIL : MUST_BE_DONE;
}

static enum verdict
expect_of_stream(const struct trial *trial)
{
    if (trial->cancel) {
        return MUST_BE_CANCELLED;
    }
    if (trial->kind == INJECT_SHORT || trial->code == EINTR) {
        return MUST_BE_DONE;
    }
    /* A file that has nothing to read yet is waited for. */
    if (trial->row->call == INJECT_READ && trial->code == EAGAIN &&
        !trial->forever) {
        return MUST_BE_DONE;
    }
    /* The first write over the old bytes of a small file is undone. */
    if (trial->row->call == INJECT_WRITE && trial->target->exists &&
        trial->source->size == SMALL && trial->skip == 0 &&
        trial->choice != SPARSE && !trial->forever) {
        return MUST_BE_DONE;
    }
    return MUST_FAIL;
}

static enum verdict
expect(const struct trial *trial)
{
    if (inject.hits == 0) {
        return trial->choice == ALONE ? MAY_FAIL : MUST_BE_DONE;
    }
    if (trial->row->traits & OPTIONAL) {
        return expect_of_move(trial);
    }
    if (trial->row->traits & STREAM) {
        return expect_of_stream(trial);
    }
    switch (trial->row->call) {
    case INJECT_FTRUNCATE:
        return trial->code == EINTR ? MUST_BE_DONE : MUST_FAIL;
    case INJECT_FSTATAT:
        return MAY_DECLINE; /* of the source, or a target not missing */
    case INJECT_OPENAT:
        /* A lease: opened again, patiently.  A new file has none. */
        return trial->code == EAGAIN && !trial->forever &&
                       (trial->skip == 0 || trial->target->exists)
                   ? MUST_BE_DONE
                   : MUST_FAIL;
    default:
        return MUST_FAIL;
    }
}

static bool
old_content_is_there(const struct trial *trial)
{
    return trial->target->exists ? box_is("target", old_bytes, old_size)
                                 : box_size("target") < 0;
}

static bool
beginning_is_there(const struct trial *trial)
{
    return box_is_prefix("target", trial->source->data, trial->source->size);
}

static bool
check_failure(const struct trial *trial, const struct sc_file *file)
{
    const struct sc_error *error = &file->error;
    bool zero = trial->kind == INJECT_ZERO; /* of a write: EIO */
    bool held = CHECK(error->operation != SC_OP_NONE);
    switch (error->operation) {
    case SC_OP_METHOD:
        return CHECK(trial->choice == ALONE) &&
               CHECK(box_size("target") <= 0 || beginning_is_there(trial));
    case SC_OP_OPEN_SOURCE:
    case SC_OP_OPEN_TARGET:
    case SC_OP_STAT_SOURCE:
    case SC_OP_STAT_TARGET:
    case SC_OP_TRUNCATE:
        held = CHECK(old_content_is_there(trial)) && held;
        break;
    case SC_OP_CLOSE:
        held = CHECK(box_is("target", trial->source->data,
                            trial->source->size)) &&
               held;
        break;
    default:
        held = CHECK_INT(error->operation, SC_OP_DATA) && held;
        held =
            CHECK(beginning_is_there(trial) || old_content_is_there(trial)) &&
            held;
        held = CHECK(error->done <= trial->source->size) && held;
        break;
    }
    return CHECK_INT(error->code, zero ? EIO : trial->code) && held;
}

static bool
check_done(const struct trial *trial, const struct sc_file *file)
{
    const struct sc_result *result = &file->result;
    return CHECK(
               box_is("target", trial->source->data, trial->source->size)) &&
           CHECK_INT(result->bytes, trial->source->size) &&
           CHECK(sc_method_name(result->method) != NULL) &&
           CHECK(result->fallback_count <= SC_MAX_FALLBACKS) &&
           CHECK_INT(file->error.operation, SC_OP_NONE);
}

void
judge_trial(const struct trial *trial, enum sc_status status,
            const struct sc_file *file)
{
    static const enum sc_status wanted[] = {
        [MUST_BE_DONE] = SC_DONE,
        [MUST_FAIL] = SC_FAIL,
        [MUST_BE_CANCELLED] = SC_CANCELLED,
    };
    enum verdict verdict = expect(trial);
    if (verdict == MAY_FAIL) {
        CHECK(status == SC_DONE || status == SC_FAIL);
    } else if (verdict == MAY_DECLINE) {
        CHECK(status == SC_DONE || status == SC_DECLINED);
    } else {
        CHECK_INT(status, wanted[verdict]);
    }
    switch (status) {
    case SC_DONE:
        tally.done++;
        check_done(trial, file);
        break;
    case SC_FAIL:
        tally.failed++;
        check_failure(trial, file);
        break;
    case SC_CANCELLED:
        tally.cancelled++;
        CHECK(beginning_is_there(trial) || old_content_is_there(trial));
        break;
    default:
        CHECK(old_content_is_there(trial));
        break;
    }
}
