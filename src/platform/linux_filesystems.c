#include "linux_filesystems.h"

#include <stddef.h>

#include "linux_syscalls.h"

/* From the kernel's include/uapi/linux/magic.h, statfs(2) and the file
   systems' own sources. */
static const struct sc_file_system table[] = {
    {0xFF534D42, "cifs", SC_FS_SMB | SC_FS_NETWORK},
    {0xFE534D42, "smb2", SC_FS_SMB | SC_FS_NETWORK},
    {0x0000517B, "smbfs", SC_FS_NETWORK},
    {0x00006969, "nfs", SC_FS_NETWORK},
    {0x00C36400, "ceph", SC_FS_NETWORK},
    {0x5346414F, "afs", SC_FS_NETWORK},
    {0x01021997, "9p", SC_FS_NETWORK},
    {0x0BD00BD0, "lustre", SC_FS_NETWORK},
    {0x47504653, "gpfs", SC_FS_NETWORK},
    {0x65735546, "fuse", 0},
    {0x0000EF53, "ext4", 0}, /* ext2 and ext3 as well */
    {0x58465342, "xfs", 0},
    {0x9123683E, "btrfs", 0},
    {0x01021994, "tmpfs", 0},
    {0x858458F6, "ramfs", 0},
    {0x794C7630, "overlay", 0},
    {0x2FC12FC1, "zfs", 0},
    {0xCA451A4E, "bcachefs", 0},
    {0xF2F52010, "f2fs", 0},
    {0x3153464A, "jfs", 0},
    {0x00003434, "nilfs", 0},
    {0x7461636F, "ocfs2", 0},
    {0x01161970, "gfs2", 0},
    {0x52654973, "reiserfs", 0},
    {0x00004D44, "vfat", 0},
    {0x2011BAB0, "exfat", 0},
    {0x5346544E, "ntfs", 0},
    {0x7366746E, "ntfs3", 0},
    {0x15013346, "udf", 0},
    {0x00009660, "isofs", 0},
    {0x73717368, "squashfs", 0},
    {0xE0F5E1E2, "erofs", 0},
    {0x0000F15F, "ecryptfs", 0},
    {0x0000137F, "minix", 0},
    {0x0000482B, "hfsplus", 0},
    {0x958458F6, "hugetlbfs", 0},
    /* A file of sysfs has 4096 bytes and no blocks by its stat and a few
       bytes by reading (Linux 6.18): it looks sparse. */
    {0x62656572, "sysfs", SC_FS_PSEUDO},
    /* SEEK_DATA on a file of /proc says ENXIO, "all hole" (Linux 6.18). */
    {0x00009FA0, "proc", SC_FS_PSEUDO},
    {0x0027E0EB, "cgroup", SC_FS_PSEUDO},
    {0x63677270, "cgroup2", SC_FS_PSEUDO},
    {0x64626720, "debugfs", SC_FS_PSEUDO},
    {0x74726163, "tracefs", SC_FS_PSEUDO},
    {0x73636673, "securityfs", SC_FS_PSEUDO},
    {0xF97CFF8C, "selinuxfs", SC_FS_PSEUDO},
    {0x6165676C, "pstore", SC_FS_PSEUDO},
    {0xCAFE4A11, "bpf", SC_FS_PSEUDO},
    {0xDE5E81E4, "efivarfs", SC_FS_PSEUDO},
    {0x62656570, "configfs", SC_FS_PSEUDO},
    {0x42494E4D, "binfmt_misc", SC_FS_PSEUDO},
    {0x00001CD1, "devpts", SC_FS_PSEUDO},
};

const struct sc_file_system *
sc_linux_file_system(uint32_t magic)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].magic == magic) {
            return &table[i];
        }
    }
    return NULL;
}

const struct sc_file_system *
sc_linux_file_system_of(int fd)
{
    struct statfs stat;
    if (sc_sys_fstatfs(fd, &stat) < 0) {
        return NULL;
    }
    /* f_type is signed on 32-bit machines. */
    return sc_linux_file_system((uint32_t)stat.f_type);
}

bool
sc_linux_has_trait(int fd, enum sc_file_system_trait trait)
{
    const struct sc_file_system *system = sc_linux_file_system_of(fd);
    return system != NULL && (system->traits & (unsigned)trait) != 0;
}
