/* Atomic copies: a temporary file beside the target, renamed over it when
   it is whole, so that no reader ever sees half a file. */
#ifndef SPEEDCOPY_ATOMIC_COPY_H
#define SPEEDCOPY_ATOMIC_COPY_H

#include "file.h"

/* Put a temporary file in the place of the target, which was opened if it
   exists. */
enum sc_status sc_atomic_begin(struct sc_file *file, uint32_t mode);

/* Give it the owner, the ACL and, unless the copy sets that, the mode of the
   file that it will replace. */
enum sc_status sc_atomic_take_over(struct sc_file *file);

/* Rename it over the target. */
enum sc_status sc_atomic_publish(struct sc_file *file);

/* Remove the temporary file. */
void sc_atomic_abandon(struct sc_file *file);

/* Release what an atomic copy keeps in `file`. */
void sc_atomic_clear(struct sc_file *file);

#endif
