/* Strategies that do what a test tells them, one step at every call. */
#ifndef SPEEDCOPY_SCRIPT_H
#define SPEEDCOPY_SCRIPT_H

#include "fake.h"

#define SCRIPTS 5
#define SCRIPT_STEPS 8

struct script_step {
    enum sc_status status;
    uint64_t moves; /* bytes really copied; UINT64_MAX: all there are */
    uint64_t lies;  /* bytes more that it says */
    int code;
};

struct script {
    struct sc_strategy strategy; /* run is filled in by script_reset */
    bool inapplicable;
    struct script_step steps[SCRIPT_STEPS]; /* the last used one repeats */
    unsigned step_count;
    unsigned calls;
    uint64_t offsets[SCRIPT_STEPS]; /* what the first calls were given */
    uint64_t ends[SCRIPT_STEPS];
};

/* In the order of the ladder: clone, server copy, (sc_small,) holes,
   copy_file_range, sendfile; after them comes sc_read_write. */
extern struct script scripts[SCRIPTS];
enum { CLONE, SERVER, HOLES, RANGE, SEND };

/* Every one says that it is not supported, and all are in the ladder. */
void script_reset(void);
void script_add(int number, struct script_step step);

#endif
