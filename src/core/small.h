/* Small files: read whole before the target is touched, written by one
   call. */
#ifndef SPEEDCOPY_SMALL_H
#define SPEEDCOPY_SMALL_H

#include "engine.h"
#include "file.h"

/* Is this copy one for sc_small_copy? */
bool sc_small_applies(const struct sc_file *file);

/* SC_MORE: the source turned out not to be small; what was read is written
   and the transfer goes on from its offset. */
enum sc_status sc_small_copy(struct sc_file *file,
                             struct sc_transfer *transfer);

#endif
