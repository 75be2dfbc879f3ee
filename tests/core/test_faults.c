/* The fault matrix: every system call that a copy makes, every way in which
   it is known to fail, when, and what is copied over what.  Whatever happens,
   a copy is whole, or it has failed and the target holds the beginning of
   the source (or what it held before) and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "box.h"
#include "check.h"
#include "faults.h"
#include "suites.h"

#define ENOTSUPP_OF_NFS 524 /* a kernel's own code that leaks out */
#define SECONDS_FOR_ONE 120u

static const int codes[] = {
    EPERM,           EACCES, ENOSYS,    EOPNOTSUPP, EINVAL, EXDEV,
    EBADF,           EIO,    ENOENT,    ENODATA,    EAGAIN, ETXTBSY,
    ENOTTY,          EISDIR, ENOSPC,    EDQUOT,     EFBIG,  ENOMEM,
    EINTR,           EROFS,  EOVERFLOW, ESTALE,
#ifdef EREMOTEIO
    EREMOTEIO,
#endif
    ENOTSUPP_OF_NFS,
};

static const struct call_row calls[] = {
#ifdef TEST_LINUX
    {INJECT_FICLONE, MOVES | WHOLE | OPTIONAL, SC_METHOD_CLONE},
    {INJECT_COPYCHUNK, MOVES | WHOLE | OPTIONAL, SC_METHOD_SERVER_COPY},
    {INJECT_COPY_FILE_RANGE, MOVES | OPTIONAL, SC_METHOD_COPY_FILE_RANGE},
    {INJECT_SENDFILE, MOVES | OPTIONAL, SC_METHOD_SENDFILE},
#endif
    {INJECT_SEEK_DATA, OPTIONAL, SC_METHOD_HOLES},
    {INJECT_SEEK_HOLE, OPTIONAL, SC_METHOD_HOLES},
    {INJECT_READ, STREAM, SC_METHOD_READ_WRITE},
    {INJECT_WRITE, STREAM, SC_METHOD_READ_WRITE},
    {INJECT_SEEK_SET, 0, 0},
    {INJECT_FSTAT, 0, 0},
    {INJECT_FSTATAT, 0, 0},
    {INJECT_FTRUNCATE, 0, 0},
    {INJECT_OPENAT, 0, 0},
    {INJECT_CLOSE, 0, 0},
};

static struct source sources[] = {
    {"1k", SMALL, false, NULL},
    {"64k+1", EDGE, false, NULL},
    {"9m", LARGE, false, NULL},
    {"9m-sparse", LARGE, true, NULL},
};

static const struct target targets[] = {
    {"new", false, 0},
    {"longer", true, 12345},
    {"shorter", true, -500},
};

static const char *const choice_names[CHOICE_COUNT] = {
    "automatic", "without", "forced", "alone", "sparse"};

enum position { FIRST, AFTER_PROGRESS, LAST, POSITION_COUNT };

struct tally tally;
unsigned char old_bytes[LARGE + 20000];
size_t old_size;

/* --- arranging ---------------------------------------------------------- */

static void
make_sources(void)
{
    for (size_t i = 0; i < CHECK_COUNT(sources); i++) {
        struct source *source = &sources[i];
        if (source->data != NULL) {
            continue;
        }
        source->data = calloc(1, source->size);
        if (source->data == NULL) {
            abort();
        }
        if (source->sparse) {
            box_fill(source->data + (1 << 20), 1 << 16, 5);
            box_fill(source->data + (3 << 20), 2 << 20, 6);
            box_fill(source->data + (17 << 19), 4096, 7);
            box_write_sparse(source->name, source->data, source->size);
        } else {
            box_fill(source->data, source->size, 1 + (unsigned)i);
            box_write(source->name, source->data, source->size);
        }
    }
}

static void
make_target(const struct trial *trial)
{
    static const unsigned char nothing = 0;
    box_remove("target");
    if (!trial->target->exists) {
        return;
    }
    old_size = (size_t)((long long)trial->source->size + trial->target->more);
    memset(old_bytes, 0, old_size);
    for (size_t at = 0; at < old_size; at += (size_t)1 << 21) {
        size_t piece = old_size - at < 4096 ? old_size - at : 4096;
        box_fill(old_bytes + at, piece, 77);
    }
    if (old_size > 4096) {
        box_fill(old_bytes + old_size - 4096, 4096, 78);
    }
    if (old_size == 0) {
        box_write("target", &nothing, 0);
    } else {
        box_write_sparse("target", old_bytes, old_size);
    }
}

static int
cancel_when_hit(void *context, uint64_t copied, uint64_t total)
{
    (void)context, (void)copied, (void)total;
    return inject.hits > 0;
}

static int
go_on(void *context, uint64_t copied, uint64_t total)
{
    (void)context, (void)copied, (void)total;
    return 0;
}

static struct sc_options
options_of(const struct trial *trial)
{
    struct sc_options options = box_options();
    unsigned method = trial->row->method;
    switch (trial->choice) {
    case WITHOUT:
        options.methods &= ~(method - 1) | SC_METHOD_HOLES;
        break;
    case FORCED:
        options.methods = method | SC_METHOD_READ_WRITE;
        options.forced = true;
        break;
    case ALONE:
        options.methods = method;
        options.forced = true;
        break;
    case SPARSE:
        options.sparse = SC_ALWAYS;
        break;
    default:
        break;
    }
    options.checkpoint = trial->cancel ? cancel_when_hit : go_on;
    return options;
}

static void
describe(const struct trial *trial)
{
    check_context(
        "%s %s%s%s code %d at %u, %s over %s, %s",
        inject_call_name(trial->row->call), inject_kind_name(trial->kind),
        trial->forever ? " forever" : "", trial->cancel ? " cancel" : "",
        trial->code, trial->skip, trial->source->name, trial->target->name,
        choice_names[trial->choice]);
}

static void
too_long(int number)
{
    /* Nothing that would be safe says more, and nothing follows. */
    static const char text[] = "a copy hangs:\n";
    (void)number;
    (void)!write(1, text, sizeof(text) - 1);
    (void)!write(1, check_get_context(), strlen(check_get_context()));
    (void)!write(1, "\n", 1);
    _exit(3);
}

/* --- trying ------------------------------------------------------------- */

static void
arm(const struct trial *trial)
{
    inject_clear();
    inject.smb = trial->smb;
    inject.call = trial->row->call;
    inject.kind = trial->kind;
    inject.code = trial->code;
    inject.skip = trial->skip;
    inject.times = trial->forever ? INJECT_FOREVER : 1;
    if (trial->code == EINTR && !trial->cancel && trial->forever) {
        inject.times = 50; /* signals come to an end */
    }
}

static void
try_one(const struct trial *trial)
{
    struct sc_file file;
    if (tally.number++ % tally.sample != 0) {
        return;
    }
    const struct sc_options options = options_of(trial);
    describe(trial);
    make_target(trial);
    arm(trial);
    int before = box_descriptors();
    (void)alarm(SECONDS_FOR_ONE);
    enum sc_status status =
        box_copy(trial->source->name, "target", &options, &file);
    (void)alarm(0);
    CHECK_INT(box_descriptors(), before);
    tally.run++;
    tally.hit += inject.hits > 0;
    judge_trial(trial, status, &file);
}

/* How often is this call made when nothing is wrong with it? */
static unsigned
count_calls(const struct trial *trial)
{
    struct sc_file file;
    const struct sc_options options = options_of(trial);
    make_target(trial);
    inject_clear();
    inject.smb = trial->smb;
    (void)box_copy(trial->source->name, "target", &options, &file);
    return inject.counts[trial->row->call];
}

/* Is it another case if the call fails every time and not once? */
static bool
may_happen_again(const struct trial *trial)
{
    if (trial->code == EINTR || trial->code == EAGAIN) {
        return !(trial->row->traits & WHOLE);
    }
    if (trial->row->traits & STREAM) {
        return trial->source->size == SMALL; /* written over, then anew */
    }
    return (trial->row->traits & OPTIONAL) && !(trial->row->traits & WHOLE) &&
           trial->source->sparse;
}

static void
try_codes(struct trial trial)
{
    trial.kind = INJECT_ERROR;
    for (size_t i = 0; i < CHECK_COUNT(codes); i++) {
        trial.code = codes[i];
        trial.forever = false;
        try_one(&trial);
        if (may_happen_again(&trial)) {
            trial.forever = true;
            try_one(&trial);
        }
        if (trial.code == EINTR && (trial.row->traits & (MOVES | STREAM))) {
            trial.forever = true;
            trial.cancel = true;
            try_one(&trial);
            trial.cancel = false;
        }
    }
}

static void
try_kinds(struct trial trial)
{
    static const enum inject_kind of_moves[] = {
        INJECT_ZERO,    INJECT_HALF,  INJECT_LONGER, INJECT_PART,
        INJECT_PERFORM, INJECT_SHORT, INJECT_NONE, /* need a count */
    };
    bool whole = (trial.row->traits & WHOLE) != 0;
    bool moves = (trial.row->traits & MOVES) != 0;
    bool stream = (trial.row->traits & STREAM) != 0;
    for (size_t i = 0; i < CHECK_COUNT(of_moves); i++) {
        trial.kind = of_moves[i];
        trial.code = trial.kind == INJECT_PART ? EINVAL : 0;
        bool fits = moves;
        if (stream) {
            /* A read of 0 bytes is the end of the file: nobody can tell. */
            fits = trial.kind == INJECT_SHORT ||
                   (trial.kind == INJECT_ZERO &&
                    trial.row->call == INJECT_WRITE);
        }
        if (whole &&
            (trial.kind == INJECT_SHORT || trial.kind == INJECT_NONE)) {
            fits = false;
        }
        int most = !fits ? 0 : whole ? 1 : 2;
        for (int forever = 0; forever < most; forever++) {
            trial.forever = forever == 1;
            try_one(&trial);
        }
    }
}

static void
try_positions(struct trial trial)
{
    unsigned made = count_calls(&trial);
    const unsigned places[POSITION_COUNT] = {0, 1, made > 0 ? made - 1 : 0};
    for (int i = FIRST; i < POSITION_COUNT; i++) {
        bool again = i == LAST && places[LAST] <= 1;
        if (places[i] < made && !again) {
            trial.skip = places[i];
            try_codes(trial);
            try_kinds(trial);
        }
    }
}

static bool
makes_sense(const struct call_row *row, enum choice choice)
{
    switch (choice) {
    case AUTOMATIC:
        return true;
    case SPARSE:
        return !(row->traits & MOVES);
    case FORCED:
    case ALONE:
        return row->method != 0 && (row->traits & MOVES);
    default:
        return row->traits & (MOVES | STREAM);
    }
}

static void
try_call(const struct call_row *row)
{
    struct trial trial = {.row = row};
    trial.smb = row->call == INJECT_COPYCHUNK;
    for (int choice = 0; choice < CHOICE_COUNT; choice++) {
        if (!makes_sense(row, (enum choice)choice)) {
            continue;
        }
        trial.choice = (enum choice)choice;
        for (size_t i = 0; i < CHECK_COUNT(sources); i++) {
            for (size_t j = 0; j < CHECK_COUNT(targets); j++) {
                /* What was there matters to small copies and to opening:
                   one of them will do. */
                bool alike = choice != AUTOMATIC || row->traits == 0;
                if (alike && sources[i].size == LARGE &&
                    j != (i + (size_t)choice) % CHECK_COUNT(targets)) {
                    continue;
                }
                trial.source = &sources[i];
                trial.target = &targets[j];
                try_positions(trial);
            }
        }
    }
}

static unsigned
sample_of(const char *name)
{
    const char *text = getenv(name);
    int value = text == NULL ? 1 : atoi(text);
    return value < 1 ? 1 : (unsigned)value;
}

static void
matrix_of(enum inject_call call)
{
    memset(&tally, 0, sizeof(tally));
    tally.sample = sample_of("SC_TEST_SAMPLE");
    make_sources();
    inject_install();
    (void)signal(SIGALRM, too_long);
    for (size_t i = 0; i < CHECK_COUNT(calls); i++) {
        if (calls[i].call == call) {
            try_call(&calls[i]);
        }
    }
    inject_remove();
    box_remove("target");
    check_context(NULL);
    check_note(
        "%u of %u combinations, %u hit; %u whole, %u with an error, %u "
        "cancelled",
        tally.run, tally.number, tally.hit, tally.done, tally.failed,
        tally.cancelled);
    CHECK(tally.hit > 0);
}

#define MATRIX(name, call)                                                   \
    static void name(void)                                                   \
    {                                                                        \
        matrix_of(call);                                                     \
    }
#ifdef TEST_LINUX
MATRIX(ficlone_calls, INJECT_FICLONE)
MATRIX(copychunk_calls, INJECT_COPYCHUNK)
MATRIX(copy_file_range_calls, INJECT_COPY_FILE_RANGE)
MATRIX(sendfile_calls, INJECT_SENDFILE)
#endif
MATRIX(read_calls, INJECT_READ)
MATRIX(write_calls, INJECT_WRITE)
MATRIX(seek_data_calls, INJECT_SEEK_DATA)
MATRIX(seek_hole_calls, INJECT_SEEK_HOLE)
MATRIX(seek_set_calls, INJECT_SEEK_SET)
MATRIX(fstat_calls, INJECT_FSTAT)
MATRIX(fstatat_calls, INJECT_FSTATAT)
MATRIX(ftruncate_calls, INJECT_FTRUNCATE)
MATRIX(openat_calls, INJECT_OPENAT)
MATRIX(close_calls, INJECT_CLOSE)

static const struct check_case cases[] = {
#ifdef TEST_LINUX
    CHECK_CASE(ficlone_calls),
    CHECK_CASE(copychunk_calls),
    CHECK_CASE(copy_file_range_calls),
    CHECK_CASE(sendfile_calls),
#endif
    CHECK_CASE(read_calls),
    CHECK_CASE(write_calls),
    CHECK_CASE(seek_data_calls),
    CHECK_CASE(seek_hole_calls),
    CHECK_CASE(seek_set_calls),
    CHECK_CASE(fstat_calls),
    CHECK_CASE(fstatat_calls),
    CHECK_CASE(ftruncate_calls),
    CHECK_CASE(openat_calls),
    CHECK_CASE(close_calls),
};

const struct check_suite faults_suite = CHECK_SUITE("faults", cases);
