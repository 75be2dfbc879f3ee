/* A directory for the tests that need a real file system, and what they look
   at in it.  All names are relative to it: it is the working directory. */
#ifndef SPEEDCOPY_BOX_H
#define SPEEDCOPY_BOX_H

#include <stdbool.h>
#include <stddef.h>

#include "../../src/core/file.h"

/* Made under $SC_TEST_DIR, $TMPDIR or /tmp; false if it cannot be. */
bool box_open(void);
/* Removes it and what is in it. */
void box_close(void);

/* Bytes without zeros, the same for every caller with the same seed. */
void box_fill(unsigned char *data, size_t size, unsigned seed);
void box_write(const char *name, const void *data, size_t size);
/* The same, leaving holes where there are 64 KiB of zeros. */
void box_write_sparse(const char *name, const unsigned char *data,
                      size_t size);
/* -1 if it is not there. */
long long box_size(const char *name);
/* Has the file just these bytes? */
bool box_is(const char *name, const void *data, size_t size);
/* Has it no more than the first of these bytes? */
bool box_is_prefix(const char *name, const void *data, size_t size);
/* Remove what is there, whatever it is. */
void box_remove(const char *name);
/* How many entries are in the box? */
unsigned box_count(void);
/* Does the directory list a name that contains this? */
bool box_has(const char *part);
/* Open descriptors of this process, -1 if nobody knows. */
int box_descriptors(void);

struct sc_options box_options(void);
enum sc_status box_copy(const char *source, const char *target,
                        const struct sc_options *options,
                        struct sc_file *ret_file);

#endif
