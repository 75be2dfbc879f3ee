/* One file from one path to another.

   sc_file_copy does all of it.  Its steps are open to callers that have
   something to do between them (audit events, a directory's worth of
   files): examine, open_source, open_target, copy_data, copy_metadata,
   close, each after the one before returned SC_DONE, close always. */
#ifndef SPEEDCOPY_FILE_H
#define SPEEDCOPY_FILE_H

#include "platform.h"

/* Why a copy was declined before anything was touched. */
enum sc_oddity {
    SC_ODD_NOTHING,
    SC_ODD_SOURCE_MISSING, /* or no permission to look */
    SC_ODD_SOURCE_LINK,    /* a symbolic link that is not to be followed */
    SC_ODD_SOURCE_KIND,    /* a directory or a special file */
    SC_ODD_TARGET_FOLDER,
    SC_ODD_TARGET_KIND,
    SC_ODD_TARGET_ERROR, /* stat failed, and not for want of the file */
    SC_ODD_SAME_FILE,
};

struct sc_file {
    struct sc_location source;
    struct sc_location target;
    const struct sc_options *options;
    bool follow; /* symbolic links at the source's end */

    enum sc_oddity oddity;
    struct sc_stat source_stat;
    struct sc_stat target_stat; /* if target_exists */
    bool target_exists;
    bool created;             /* the target is empty and ours */
    bool metadata_incomplete; /* data and size are right, see
                                 sc_metadata_copy */
    sc_handle source_handle;
    sc_handle target_handle;
    sc_handle old_handle;         /* atomic: the file that is replaced */
    struct sc_location temporary; /* atomic: what is written, path owned */
    struct sc_location final;     /* atomic: what is replaced, path owned */
    struct sc_result result;
    struct sc_error error;
};

void sc_file_init(struct sc_file *file, struct sc_location source,
                  struct sc_location target, bool follow,
                  const struct sc_options *options);

/* Look at both paths. */
enum sc_status sc_file_examine(struct sc_file *file);
enum sc_status sc_file_open_source(struct sc_file *file);
/* Nothing of an existing target is changed. */
enum sc_status sc_file_open_target(struct sc_file *file);
enum sc_status sc_file_copy_data(struct sc_file *file);
/* What options->preserve names, by descriptor. */
enum sc_status sc_file_copy_metadata(struct sc_file *file);
/* Close both and, if `status` is SC_DONE, publish an atomic copy and make
   things durable; otherwise remove what only an atomic copy leaves.
   Returns `status` or the failure of closing. */
enum sc_status sc_file_close(struct sc_file *file, enum sc_status status);

enum sc_status sc_file_copy(struct sc_file *file);

#endif
