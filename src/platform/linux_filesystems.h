/* Linux's file systems by their magic numbers, and what is peculiar. */
#ifndef SPEEDCOPY_LINUX_FILESYSTEMS_H
#define SPEEDCOPY_LINUX_FILESYSTEMS_H

#include <stdbool.h>
#include <stdint.h>

enum sc_file_system_trait {
    SC_FS_SMB = 1u << 0,     /* has the copychunk ioctl */
    SC_FS_NETWORK = 1u << 1, /* every call may cost a round trip */
    SC_FS_PSEUDO = 1u << 2,  /* files made up as they are read: sizes, blocks
                                and holes mean nothing */
};

struct sc_file_system {
    uint32_t magic;
    const char *name;
    unsigned traits;
};

/* What is known of a magic number, NULL if nothing. */
const struct sc_file_system *sc_linux_file_system(uint32_t magic);

/* The same for an open file; NULL also if the question failed: on some
   shares statfs does (EREMOTEIO). */
const struct sc_file_system *sc_linux_file_system_of(int fd);

bool sc_linux_has_trait(int fd, enum sc_file_system_trait trait);

#endif
