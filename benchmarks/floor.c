/*
 * The floor under the file benchmarks: copies one file with exactly the system
 * calls that the job needs, and with nothing around them (no checks beyond
 * those that the calls are there for, no fallbacks, no Python).
 *
 *     floor [run|mark] METHOD COUNT SOURCE PREFIX    one batch
 *     floor      the same in tab-separated lines on standard input
 *
 * The answer is one line, "ok NANOSECONDS" or "error TEXT", with a tab.
 *
 * A batch copies SOURCE to PREFIX000000, PREFIX000001, ...; the names are made
 * before the clock starts. "mark" calls access() on a name that does not exist
 * before and after the batch, so that a trace shows where it begins and ends.
 *
 * METHOD is small, rw:BYTES, cfr, sendfile or clone; with "+meta" times, xattr
 * list and mode follow, as in copy2.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MARKER "/speedcopy-benchmark-marker"

enum {
    BUFFER_SIZE = 16 << 20,
    RANGE_SIZE = 1 << 30,
    XATTR_LIST_SIZE = 4096,
    SUFFIX_SIZE = 32,
    ARGUMENTS = 5
};

struct copy {
    const char *source;
    const char *target;
    int in;
    int out;
    bool existing;
    struct stat source_status;
    struct stat target_status;
};

struct method {
    int (*data)(const struct copy *copy, size_t unit);
    size_t unit;
    bool metadata;
};

static char *buffer;

static bool
same_file(const struct stat *left, const struct stat *right)
{
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

static int
fail(int number)
{
    errno = number;
    return -1;
}

static int
truncate_existing(const struct copy *copy)
{
    if (!copy->existing || copy->target_status.st_size == 0) {
        return 0;
    }
    return ftruncate(copy->out, 0);
}

static int
write_all(int out, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(out, data, size);
        if (written < 0) {
            return -1;
        }
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Read whole with room for one byte more, so that a second read is not needed
 * to see the end; written over the old bytes. */
static int
copy_small(const struct copy *copy, size_t unit)
{
    const size_t expected = (size_t)copy->source_status.st_size;
    (void)unit;
    if (expected == 0 || expected >= BUFFER_SIZE) {
        return fail(EFBIG);
    }
    const ssize_t count = read(copy->in, buffer, expected + 1);
    if (count < 0) {
        return -1;
    }
    if ((size_t)count != expected) {
        return fail(EIO);
    }
    if (write_all(copy->out, buffer, expected) < 0) {
        return -1;
    }
    if (copy->existing && copy->target_status.st_size > count) {
        return ftruncate(copy->out, count);
    }
    return 0;
}

/* A read that returns less than it asked for and completes the expected size
 * has shown the end of the file. */
static int
copy_read_write(const struct copy *copy, size_t unit)
{
    off_t done = 0;
    if (truncate_existing(copy) < 0) {
        return -1;
    }
    for (;;) {
        const ssize_t count = read(copy->in, buffer, unit);
        if (count <= 0) {
            return (int)count;
        }
        if (write_all(copy->out, buffer, (size_t)count) < 0) {
            return -1;
        }
        done += count;
        if ((size_t)count < unit && done == copy->source_status.st_size) {
            return 0;
        }
    }
}

static int
copy_range(const struct copy *copy, size_t unit)
{
    off_t left = copy->source_status.st_size;
    if (truncate_existing(copy) < 0) {
        return -1;
    }
    while (left > 0) {
        const ssize_t count =
            copy_file_range(copy->in, NULL, copy->out, NULL, unit, 0);
        if (count <= 0) {
            return count < 0 ? -1 : fail(EIO);
        }
        left -= count;
    }
    return 0;
}

static int
copy_sendfile(const struct copy *copy, size_t unit)
{
    off_t left = copy->source_status.st_size;
    if (truncate_existing(copy) < 0) {
        return -1;
    }
    while (left > 0) {
        const ssize_t count = sendfile(copy->out, copy->in, NULL, unit);
        if (count <= 0) {
            return count < 0 ? -1 : fail(EIO);
        }
        left -= count;
    }
    return 0;
}

static int
copy_clone(const struct copy *copy, size_t unit)
{
    (void)unit;
    if (truncate_existing(copy) < 0) {
        return -1;
    }
    return ioctl(copy->out, FICLONE, copy->in);
}

static int
stat_both(struct copy *copy)
{
    if (stat(copy->source, &copy->source_status) < 0) {
        return -1;
    }
    copy->existing = stat(copy->target, &copy->target_status) == 0;
    if (!copy->existing && errno != ENOENT) {
        return -1;
    }
    if (S_ISFIFO(copy->source_status.st_mode) ||
        (copy->existing && S_ISFIFO(copy->target_status.st_mode))) {
        return fail(ESPIPE);
    }
    if (copy->existing &&
        same_file(&copy->source_status, &copy->target_status)) {
        return fail(EEXIST);
    }
    return 0;
}

static int
open_source(struct copy *copy)
{
    const struct stat before = copy->source_status;
    copy->in = open(copy->source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (copy->in < 0 || fstat(copy->in, &copy->source_status) < 0) {
        return -1;
    }
    return same_file(&before, &copy->source_status) ? 0 : fail(ESTALE);
}

static int
open_target(struct copy *copy, bool metadata)
{
    const mode_t narrow = (copy->source_status.st_mode | S_IWUSR) & S_IRWXU;
    if (!copy->existing) {
        copy->out =
            open(copy->target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 metadata ? narrow : 0666);
        return copy->out < 0 ? -1 : 0;
    }
    copy->out = open(copy->target, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (copy->out < 0 || fstat(copy->out, &copy->target_status) < 0) {
        return -1;
    }
    return same_file(&copy->source_status, &copy->target_status)
               ? fail(EEXIST)
               : 0;
}

static int
copy_metadata(const struct copy *copy)
{
    char names[XATTR_LIST_SIZE];
    const struct timespec times[2] = {copy->source_status.st_atim,
                                      copy->source_status.st_mtim};
    if (futimens(copy->out, times) < 0) {
        return -1;
    }
    const ssize_t listed = flistxattr(copy->in, names, sizeof names);
    if (listed > 0) {
        return fail(E2BIG); /* the floor is for files without xattrs */
    }
    if (listed < 0 && errno != ENOTSUP) {
        return -1;
    }
    return fchmod(copy->out, copy->source_status.st_mode & 07777);
}

static int
copy_file(const char *source, const char *target, const struct method *method)
{
    struct copy copy = {
        .source = source, .target = target, .in = -1, .out = -1};
    int result = stat_both(&copy);
    if (result == 0) {
        result = open_source(&copy);
    }
    if (result == 0) {
        result = open_target(&copy, method->metadata);
    }
    if (result == 0) {
        result = method->data(&copy, method->unit);
    }
    if (result == 0 && method->metadata) {
        result = copy_metadata(&copy);
    }
    if (copy.out >= 0 && close(copy.out) < 0) {
        result = -1;
    }
    if (copy.in >= 0) {
        (void)close(copy.in); /* nothing was written through it */
    }
    return result;
}

static int
parse_method(const char *text, struct method *ret_method)
{
    const size_t length = strcspn(text, ":+");
    const char *rest = text + length;
    *ret_method = (struct method){.unit = RANGE_SIZE};
    if (strncmp(text, "small", length) == 0) {
        ret_method->data = copy_small;
    } else if (strncmp(text, "rw", length) == 0 && *rest == ':') {
        char *end;
        ret_method->data = copy_read_write;
        ret_method->unit = (size_t)strtoull(rest + 1, &end, 10);
        rest = end;
    } else if (strncmp(text, "cfr", length) == 0) {
        ret_method->data = copy_range;
    } else if (strncmp(text, "sendfile", length) == 0) {
        ret_method->data = copy_sendfile;
    } else if (strncmp(text, "clone", length) == 0) {
        ret_method->data = copy_clone;
    }
    ret_method->metadata = strcmp(rest, "+meta") == 0;
    if (ret_method->data == NULL ||
        (*rest != '\0' && !ret_method->metadata)) {
        return fail(EINVAL);
    }
    if (ret_method->unit == 0 || (ret_method->data == copy_read_write &&
                                  ret_method->unit > BUFFER_SIZE)) {
        return fail(EINVAL);
    }
    return 0;
}

static char *
make_targets(const char *prefix, size_t count, size_t *ret_stride)
{
    *ret_stride = strlen(prefix) + SUFFIX_SIZE;
    char *targets = calloc(count, *ret_stride);
    for (size_t index = 0; targets != NULL && index < count; index++) {
        (void)snprintf(targets + index * *ret_stride, *ret_stride, "%s%06zu",
                       prefix, index); /* the stride has room */
    }
    return targets;
}

static int64_t
nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC,
                        &now); /* can't fail with this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int
run_batch(const char *source, const char *targets, size_t stride,
          size_t count, const struct method *method)
{
    for (size_t index = 0; index < count; index++) {
        if (copy_file(source, targets + index * stride, method) < 0) {
            return -1;
        }
    }
    return 0;
}

static void
mark(bool wanted)
{
    if (wanted) {
        (void)access(MARKER, F_OK); /* only to be seen in the trace */
    }
}

/* arguments: run or mark, method, count, source, prefix */
static int
execute(char *const *arguments, int64_t *ret_elapsed)
{
    struct method method;
    size_t stride;
    const bool marked = strcmp(arguments[0], "mark") == 0;
    const size_t count = (size_t)strtoull(arguments[2], NULL, 10);
    if (count == 0 || (!marked && strcmp(arguments[0], "run") != 0)) {
        return fail(EINVAL);
    }
    if (parse_method(arguments[1], &method) < 0) {
        return -1;
    }
    char *targets = make_targets(arguments[4], count, &stride);
    if (targets == NULL) {
        return -1;
    }
    mark(marked);
    const int64_t begin = nanoseconds();
    const int result =
        run_batch(arguments[3], targets, stride, count, &method);
    const int saved = errno;
    *ret_elapsed = nanoseconds() - begin;
    mark(marked);
    free(targets);
    errno = saved;
    return result;
}

static int
answer(char *const *arguments)
{
    int64_t elapsed = 0;
    const int result = execute(arguments, &elapsed);
    if (result < 0) {
        (void)printf("error\t%s\n", strerror(errno)); /* fflush tells */
    } else {
        (void)printf("ok\t%lld\n", (long long)elapsed);
    }
    return fflush(stdout) == 0 ? result : -1;
}

static int
serve(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    (void)puts("ready\tC"); /* fflush tells */
    if (fflush(stdout) != 0) {
        return -1;
    }
    while ((length = getline(&line, &room, stdin)) > 0) {
        char *arguments[ARGUMENTS];
        char *rest = line;
        int count = 0;
        line[strcspn(line, "\n")] = '\0';
        while (count < ARGUMENTS && rest != NULL) {
            arguments[count++] = strsep(&rest, "\t");
        }
        if (count == ARGUMENTS) {
            (void)answer(arguments); /* an error went into the answer */
        } else {
            (void)puts("error\tfive fields are needed");
            (void)fflush(stdout);
        }
    }
    free(line);
    return 0;
}

int
main(int argc, char **argv)
{
    if (posix_memalign((void **)&buffer, 4096, BUFFER_SIZE) != 0) {
        return 1;
    }
    memset(buffer, 1,
           BUFFER_SIZE); /* no page fault may fall into the first batch */
    if (argc == 1) {
        return serve() < 0;
    }
    if (argc != ARGUMENTS + 1) {
        (void)fputs("usage: floor [run|mark METHOD COUNT SOURCE PREFIX]\n",
                    stderr);
        return 2;
    }
    return answer(argv + 1) < 0;
}
