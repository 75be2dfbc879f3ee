/* Extended attributes, ACLs among them. */
#ifndef SPEEDCOPY_LINUX_METADATA_H
#define SPEEDCOPY_LINUX_METADATA_H

#include "../core/platform.h"

/* Copy the attributes of `source` as shutil does: those that can not be
   read or set for the reasons that every version of shutil passes over are
   passed over.  Any other failure is returned, and whoever asked has to
   judge it. */
int sc_linux_copy_xattrs(const struct sc_place *source,
                         const struct sc_place *target, unsigned which);

/* Take away the access ACL of an open file, leaving its permission bits. */
int sc_linux_clear_acl(const struct sc_place *place);

#endif
