/* Small files over old content. */
#ifndef SPEEDCOPY_SMALL_H
#define SPEEDCOPY_SMALL_H

#include "engine.h"
#include "file.h"

/* Is this copy one for sc_overwrite? */
bool sc_overwrite_applies(const struct sc_file *file);

/* Read the source whole, then write it over the target's old bytes.
   SC_MORE: the source turned out not to be small; what was read is in the
   emptied target and the transfer goes on from its offset. */
enum sc_status sc_overwrite(struct sc_file *file,
                            struct sc_transfer *transfer);

#endif
