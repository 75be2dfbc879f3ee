#include "metadata.h"

static enum sc_status
incomplete(int code, struct sc_error *ret_error)
{
    sc_error_set(ret_error, SC_OP_METADATA, code);
    return SC_MORE;
}

enum sc_status
sc_metadata_copy(const struct sc_place *source,
                 const struct sc_stat *source_stat,
                 const struct sc_place *target, unsigned preserve,
                 struct sc_error *ret_error)
{
    const unsigned xattrs = preserve & (SC_PRESERVE_XATTRS | SC_PRESERVE_ACL);
    int code = 0;

    /* The owner first: giving a file away takes its capabilities (xattrs)
       and its setuid bit (mode) from it. */
    if (preserve & SC_PRESERVE_OWNERSHIP) {
        code =
            sc_platform.set_owner(target, source_stat->uid, source_stat->gid);
        if (code != 0) {
            sc_error_set(ret_error, SC_OP_METADATA, code);
            return SC_FAIL;
        }
    }
    /* Then shutil.copystat's order: times, attributes while the file is
       still writable, mode, flags. */
    if (preserve & SC_PRESERVE_TIMES) {
        code = sc_platform.set_times(target, source_stat);
        if (code != 0) {
            return incomplete(code, ret_error);
        }
    }
    if (xattrs) {
        code = sc_platform.copy_xattrs(source, target, xattrs);
        if (code != 0) {
            enum sc_status status = incomplete(code, ret_error);
            /* What was asked for by name is not for shutil to judge. */
            return preserve & SC_PRESERVE_ACL ? SC_FAIL : status;
        }
    }
    if (preserve & SC_PRESERVE_MODE) {
        code = sc_platform.set_mode(target, source_stat->mode);
        if (code != 0) {
            return incomplete(code, ret_error);
        }
    }
    if (preserve & SC_PRESERVE_FLAGS) {
        code = sc_platform.copy_flags(source, target);
        if (code != 0) {
            return incomplete(code, ret_error);
        }
    }
    return SC_DONE;
}
