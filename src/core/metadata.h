/* Modes, times, attributes: what goes from one file to another beside the
   data, and in which order. */
#ifndef SPEEDCOPY_METADATA_H
#define SPEEDCOPY_METADATA_H

#include "platform.h"

/* Give `target` what `preserve` names of `source`, whose stat is given.
   SC_FAIL: the ownership or the ACL could not be given.  SC_MORE: one of the things
   that shutil.copystat does failed in a way it may or may not tolerate, and
   what comes after it was not done; doing it all again does no harm. */
enum sc_status sc_metadata_copy(const struct sc_place *source,
                                const struct sc_stat *source_stat,
                                const struct sc_place *target,
                                unsigned preserve,
                                struct sc_error *ret_error);

#endif
