/* The fault matrix: what test_faults.c tries and faults_judge.c judges. */
#ifndef SPEEDCOPY_FAULTS_H
#define SPEEDCOPY_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "../../src/core/file.h"
#include "inject.h"

#define SMALL ((size_t)1024)
#define EDGE ((size_t)65537)
#define LARGE ((size_t)9 << 20)

/* What a call is, beside its name. */
enum trait {
    MOVES = 1u << 0,    /* it moves bytes between two files */
    WHOLE = 1u << 1,    /* all of them at once */
    OPTIONAL = 1u << 2, /* whatever it says, there is another way */
    STREAM = 1u << 3,   /* read or write */
};

struct call_row {
    enum inject_call call;
    unsigned traits;
    unsigned method; /* that makes it, 0 for any */
};

struct source {
    const char *name;
    size_t size;
    bool sparse;
    unsigned char *data;
};

struct target {
    const char *name;
    bool exists;
    long long more; /* than the source has */
};

enum choice {
    AUTOMATIC, /* as a user has it */
    WITHOUT,   /* the methods before the one of this call left out */
    FORCED,    /* this method, then reading and writing */
    ALONE,     /* this method only */
    SPARSE,    /* sparse="always" */
    CHOICE_COUNT,
};

/* One combination. */
struct trial {
    const struct call_row *row;
    const struct source *source;
    const struct target *target;
    enum choice choice;
    unsigned skip;
    enum inject_kind kind;
    int code;
    bool forever;
    bool cancel;
    bool smb;
};

struct tally {
    unsigned run;
    unsigned hit;
    unsigned done;
    unsigned failed;
    unsigned cancelled;
    unsigned number; /* of combinations met, run or not */
    unsigned sample; /* one of so many is run */
};

extern struct tally tally;

/* What an existing target holds: rubbish here and there, which is what a
   copy must not leave. */
extern unsigned char old_bytes[LARGE + 20000];
extern size_t old_size;

/* Is this what may come of it?  Complains if not, and counts. */
void judge_trial(const struct trial *trial, enum sc_status status,
                 const struct sc_file *file);

#endif
