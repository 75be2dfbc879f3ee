/* The data of one file: a ladder of strategies over one transfer. */
#ifndef SPEEDCOPY_ENGINE_H
#define SPEEDCOPY_ENGINE_H

#include "platform.h"

#define SC_END_OF_FILE UINT64_MAX

/* The kernel is asked for this much at once.  A signal is to be served in
   50 ms: 32 MiB take 10-25 ms at 1.3-3 GB/s (benchmarks/README.rst).  The
   first call asks for less, and where calls take long, as on a slow share,
   the later ones do. */
#define SC_CHUNK_MAXIMUM ((uint64_t)32 << 20)
#define SC_CHUNK_START ((uint64_t)4 << 20)
#define SC_CHUNK_MINIMUM ((uint64_t)1 << 20)
#define SC_CHUNK_LONG 30000000u  /* nanoseconds: halve */
#define SC_CHUNK_SHORT 12000000u /* double */

/* Sources up to here are read whole and written by one call.  Above, the
   kernel's own copying is as fast or faster on every file system measured
   (benchmarks/README.rst, "thresholds"). */
#define SC_SMALL ((uint64_t)64 << 10)

/* A clone costs 25-60 us whatever the size: more than writing a few KiB. */
#define SC_CLONE_MINIMUM ((uint64_t)16 << 10)

struct sc_transfer {
    sc_handle source;
    sc_handle target; /* empty at the start */
    const struct sc_stat *source_stat;
    const struct sc_options *options;
    struct sc_result *result;
    uint64_t offset; /* source and target agree up to here */
    uint64_t end;    /* stop here, or SC_END_OF_FILE */
    const struct sc_strategy *const *next; /* of the ladder */
    void *buffer;   /* of sc_read_write; owned */
    uint64_t chunk; /* see SC_CHUNK_MAXIMUM; 0 before the first call */
    uint64_t chunk_started;
    bool used;            /* positions are unknown */
    bool offload_refused; /* the kernel will not copy this pair */
};

/* Copy from transfer->offset to the end by the first strategy that can, each
   next one going on where the one before stopped. */
enum sc_status sc_engine_run(struct sc_transfer *transfer,
                             struct sc_error *ret_error);

/* The same for one stretch [start, stop) of the file, with the strategies
   after the calling one: for strategies that find out what to copy. */
enum sc_status sc_engine_run_range(struct sc_transfer *transfer,
                                   uint64_t start, uint64_t stop,
                                   struct sc_error *ret_error);

/* Release what strategies keep in a transfer. */
void sc_transfer_clear(struct sc_transfer *transfer);

/* SC_DONE to go on, SC_CANCELLED. */
enum sc_status sc_transfer_checkpoint(const struct sc_transfer *transfer);

/* Bytes that the next call may move; 0 at the end.  Called before every
   call, it learns from the time between two. */
uint64_t sc_transfer_chunk(struct sc_transfer *transfer);

/* Write all of a buffer at the target's position, adding to the offset. */
enum sc_status sc_transfer_write(struct sc_transfer *transfer,
                                 const void *buffer, size_t size,
                                 struct sc_error *ret_error);

/* Read at the source's position; *ret_count 0 is the end of the file. */
enum sc_status sc_transfer_read(struct sc_transfer *transfer, void *buffer,
                                size_t size, size_t *ret_count,
                                struct sc_error *ret_error);

/* Fail with a data error at the transfer's offset. */
enum sc_status sc_transfer_fail(const struct sc_transfer *transfer, int code,
                                struct sc_error *ret_error);

/* The strategies that need nothing but the platform's read and write. */
extern const struct sc_strategy sc_small;
extern const struct sc_strategy sc_holes;
extern const struct sc_strategy sc_read_write;

#endif
