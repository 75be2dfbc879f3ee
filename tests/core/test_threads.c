/* Several threads copy at once: nothing is shared but the source. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "check.h"
#include "inject.h"
#include "suites.h"

#define THREADS 8
#define ROUNDS 12

struct worker {
    pthread_t thread;
    unsigned number;
    const char *source;
    struct sc_options options;
    char target[32];
    unsigned failures;
};

static unsigned heard[THREADS];

static int
checkpoint(void *context, uint64_t copied, uint64_t total)
{
    (void)copied, (void)total;
    ++*(unsigned *)context;
    return 0;
}

static void *
work(void *argument)
{
    struct worker *worker = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct sc_file file;
        worker->options.atomic = i % 3 == 2;
        worker->options.sparse = i % 4 == 3 ? SC_ALWAYS : SC_AUTO;
        if (box_copy(worker->source, worker->target, &worker->options,
                     &file) != SC_DONE) {
            worker->failures++;
        }
    }
    return NULL;
}

static void
copy_by_threads(size_t size, bool same_target)
{
    struct worker workers[THREADS];
    unsigned char *data = malloc(size + 1);
    REQUIRE(data != NULL);
    box_fill(data, size, 4);
    box_write("source", data, size);
    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *worker = &workers[i];
        *worker = (struct worker){.number = i, .source = "source"};
        worker->options = box_options();
        worker->options.preserve = SC_PRESERVE_MODE | SC_PRESERVE_TIMES;
        if (strcmp(sc_platform.name, "generic") != 0) {
            worker->options.preserve |= SC_PRESERVE_XATTRS;
        }
        worker->options.checkpoint = checkpoint;
        worker->options.checkpoint_context = &heard[i];
        if (i % 2 == 1) {
            worker->options.methods = SC_METHOD_READ_WRITE;
        }
        (void)snprintf(worker->target, sizeof(worker->target), "target%u",
                       same_target ? 0 : i);
        CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
        CHECK(same_target || workers[i].failures == 0);
        CHECK(box_is(workers[i].target, data, size) || same_target);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        box_remove(workers[i].target);
    }
    CHECK(!box_has(".speedcopy-"));
    free(data);
}

static void
different_targets(void)
{
    static const size_t sizes[] = {0, 1000, 65536, 65537, 2500000};
    inject_remove(); /* its counters are not for threads */
    int descriptors = box_descriptors();
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        check_context("%lu bytes", (unsigned long)sizes[i]);
        copy_by_threads(sizes[i], false);
    }
    CHECK_INT(box_descriptors(), descriptors);
}

/* Whose bytes win is nobody's promise, that all end is. */
static void
one_target(void)
{
    inject_remove();
    int descriptors = box_descriptors();
    copy_by_threads(1000, true);
    copy_by_threads(300000, true);
    CHECK_INT(box_descriptors(), descriptors);
}

static const struct check_case cases[] = {
    CHECK_CASE(different_targets),
    CHECK_CASE(one_target),
};

const struct check_suite threads_suite = CHECK_SUITE("threads", cases);
