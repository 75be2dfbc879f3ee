/* What failed, as facts.  Whoever reports it chooses the words. */
#ifndef SPEEDCOPY_ERROR_H
#define SPEEDCOPY_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/* What was being done when it failed. */
enum sc_operation {
    SC_OP_NONE,
    SC_OP_STAT_SOURCE,
    SC_OP_STAT_TARGET,
    SC_OP_OPEN_SOURCE,
    SC_OP_OPEN_TARGET,
    SC_OP_TRUNCATE, /* of the old content: belongs to opening the target */
    SC_OP_DATA,     /* reading, writing, or the kernel doing both */
    SC_OP_METADATA,
    SC_OP_CLOSE,
    SC_OP_SYNC,
    SC_OP_TEMPORARY, /* making the temporary file of an atomic copy */
    SC_OP_RENAME,
    SC_OP_VERIFY, /* the copy read back differs; no code */
    SC_OP_METHOD, /* none of the methods asked for works here */
    SC_OP_MEMORY, /* no code */
};

struct sc_error {
    enum sc_operation operation;
    int code;
    uint64_t done;        /* SC_OP_DATA: bytes in the target before it */
    bool offload_useless; /* SC_OP_DATA: the kernel's own copying does not
                             work on this pair of files */
};

/* Note an error unless one is there already: the first one wins. */
void sc_error_set(struct sc_error *error, enum sc_operation operation,
                  int code);

#endif
