#include "box.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)65536)

static char *box_path;

static void
must(bool held, const char *what)
{
    if (!held) {
        perror(what);
        exit(4);
    }
}

bool
box_open(void)
{
    const char *folder = getenv("SC_TEST_DIR");
    if (folder == NULL || folder[0] == '\0') {
        folder = getenv("TMPDIR");
    }
    if (folder == NULL || folder[0] == '\0') {
        folder = "/tmp";
    }
    size_t size = strlen(folder) + 32;
    box_path = malloc(size);
    if (box_path == NULL) {
        return false;
    }
    (void)snprintf(box_path, size, "%s/speedcopy-XXXXXX", folder);
    if (mkdtemp(box_path) == NULL || chdir(box_path) < 0) {
        perror(box_path);
        return false;
    }
    return true;
}

static void
each_entry(void (*act)(const char *name, void *context), void *context)
{
    DIR *directory = opendir(".");
    must(directory != NULL, "opendir");
    for (;;) {
        const struct dirent *entry = readdir(directory);
        if (entry == NULL) {
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            act(entry->d_name, context);
        }
    }
    (void)closedir(directory);
}

static void
remove_entry(const char *name, void *context)
{
    (void)context;
    box_remove(name);
}

void
box_close(void)
{
    each_entry(remove_entry, NULL);
    must(chdir("/") == 0, "chdir");
    (void)rmdir(box_path);
    free(box_path);
}

void
box_remove(const char *name)
{
    if (unlink(name) < 0) {
        (void)rmdir(name);
    }
}

static void
count_entry(const char *name, void *context)
{
    (void)name;
    ++*(unsigned *)context;
}

unsigned
box_count(void)
{
    unsigned count = 0;
    each_entry(count_entry, &count);
    return count;
}

struct part {
    const char *text;
    bool found;
};

static void
look_at_entry(const char *name, void *context)
{
    struct part *part = context;
    part->found = part->found || strstr(name, part->text) != NULL;
}

bool
box_has(const char *text)
{
    struct part part = {text, false};
    each_entry(look_at_entry, &part);
    return part.found;
}

int
box_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    if (directory == NULL) {
        return -1;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count;
}

void
box_fill(unsigned char *data, size_t size, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 99991u;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (unsigned char)((state >> 24) | 1u);
    }
}

static void
write_at(int fd, const unsigned char *data, size_t size, size_t offset)
{
    while (size > 0) {
        ssize_t count = pwrite(fd, data, size, (off_t)offset);
        must(count > 0, "pwrite");
        data += count;
        offset += (size_t)count;
        size -= (size_t)count;
    }
}

static int
create(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    must(fd >= 0, name);
    return fd;
}

void
box_write(const char *name, const void *data, size_t size)
{
    int fd = create(name);
    write_at(fd, data, size, 0);
    must(close(fd) == 0, name);
}

void
box_write_sparse(const char *name, const unsigned char *data, size_t size)
{
    static const unsigned char zeros[PIECE];
    int fd = create(name);
    must(ftruncate(fd, (off_t)size) == 0, name);
    for (size_t at = 0; at < size; at += PIECE) {
        size_t piece = size - at < PIECE ? size - at : PIECE;
        if (memcmp(data + at, zeros, piece) != 0) {
            write_at(fd, data + at, piece, at);
        }
    }
    must(close(fd) == 0, name);
}

long long
box_size(const char *name)
{
    struct stat stat_of;
    return stat(name, &stat_of) < 0 ? -1 : (long long)stat_of.st_size;
}

/* Compare the file with the start of `data`; its size, -1 if they differ or
   it has more than `size` bytes or is not there. */
static long long
compare(const char *name, const unsigned char *data, size_t size)
{
    static unsigned char buffer[(size_t)1 << 18];
    int fd = open(name, O_RDONLY);
    size_t total = 0;
    if (fd < 0) {
        return -1;
    }
    for (;;) {
        ssize_t count = read(fd, buffer, sizeof(buffer));
        must(count >= 0, name);
        if (count == 0) {
            break;
        }
        if ((size_t)count > size - total ||
            memcmp(buffer, data + total, (size_t)count) != 0) {
            (void)close(fd);
            return -1;
        }
        total += (size_t)count;
    }
    (void)close(fd);
    return (long long)total;
}

bool
box_is(const char *name, const void *data, size_t size)
{
    return compare(name, data, size) == (long long)size;
}

bool
box_is_prefix(const char *name, const void *data, size_t size)
{
    return compare(name, data, size) >= 0;
}

struct sc_options
box_options(void)
{
    return (struct sc_options){.methods = SC_ALL_METHODS};
}

enum sc_status
box_copy(const char *source, const char *target,
         const struct sc_options *options, struct sc_file *ret_file)
{
    const struct sc_location from = {SC_WORKING_DIRECTORY, source};
    const struct sc_location to = {SC_WORKING_DIRECTORY, target};
    sc_file_init(ret_file, from, to, true, options);
    return sc_file_copy(ret_file);
}
