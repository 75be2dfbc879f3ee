/* The limits of a process, and real signals. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "box.h"
#include "check.h"
#include "inject.h"
#include "suites.h"

static struct sc_file file;

/* Under valgrind, which keeps descriptors of its own and is slow. */
static bool
slow(void)
{
    return getenv("SC_TEST_SLOW") != NULL;
}

/* Bytes that the caller frees, in "source" as well; no "target". */
static unsigned char *
begin(size_t size)
{
    unsigned char *bytes = malloc(size);
    inject_install();
    box_remove("source");
    box_remove("target");
    if (bytes != NULL) {
        box_fill(bytes, size, 9);
        box_write("source", bytes, size);
    }
    return bytes;
}

static void
a_file_may_not_grow(void)
{
    static const size_t sizes[] = {60000, 300000};
    struct rlimit before;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < CHECK_COUNT(sizes); i++) {
        for (unsigned method = 1; method < 1u << SC_METHOD_COUNT;
             method <<= 1) {
            unsigned char *bytes = begin(sizes[i]);
            struct sc_options options = box_options();
            const struct rlimit limit = {50000, before.rlim_max};
            REQUIRE(bytes != NULL);
            check_context("%lu bytes, %s", (unsigned long)sizes[i],
                          sc_method_name(method));
            options.methods = method | SC_METHOD_READ_WRITE;
            REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
            enum sc_status status =
                box_copy("source", "target", &options, &file);
            REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
            CHECK_INT(status, SC_FAIL);
            CHECK_INT(file.error.operation, SC_OP_DATA);
            CHECK_INT(file.error.code, EFBIG);
            CHECK_INT(box_size("target"), 50000);
            CHECK(box_is_prefix("target", bytes, sizes[i]));
            free(bytes);
        }
    }
    (void)signal(SIGXFSZ, SIG_DFL);
}

static void
no_descriptors_left(void)
{
    struct rlimit before;
    struct sc_options options = box_options();
    if (slow()) {
        check_skip("descriptors are not all ours");
        return;
    }
    unsigned char *bytes = begin(1000);
    REQUIRE(bytes != NULL && getrlimit(RLIMIT_NOFILE, &before) == 0);
    options.atomic = true;
    options.fsync = true;
    options.verify = true;
    box_write("target", bytes + 1, 100);
    int open_before = box_descriptors();
    int first = open("source", O_RDONLY);
    (void)close(first);
    for (int more = 0; more < 5; more++) {
        struct rlimit limit = {(rlim_t)(first + more), before.rlim_max};
        check_context("%d left", more);
        REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        enum sc_status status = box_copy("source", "target", &options, &file);
        REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
        CHECK_INT(box_descriptors(), open_before);
        CHECK(!box_has(".speedcopy-"));
        /* Four at once: the source, the old target, the temporary file, and
           that once more to verify it. */
        if (more < 4) {
            CHECK_INT(status, SC_FAIL);
            CHECK_INT(file.error.code, EMFILE);
        } else {
            CHECK_INT(status, SC_DONE);
        }
        CHECK(status == SC_DONE || box_is("target", bytes + 1, 100));
    }
    free(bytes);
}

static volatile sig_atomic_t signals_heard;

static void
hear(int number)
{
    (void)number;
    signals_heard++;
}

/* Calls that stop short at every signal, without SA_RESTART. */
static void
a_timer_all_the_time(void)
{
    const size_t size = (size_t)(slow() ? 12 : 48) << 20;
    const int pause = slow() ? 20000 : 500; /* microseconds */
    const struct itimerval fast = {{0, pause}, {0, pause}};
    const struct itimerval none = {{0, 0}, {0, 0}};
    struct sigaction action;
    struct sigaction before;
    unsigned char *bytes = begin(size);
    REQUIRE(bytes != NULL);
    memset(&action, 0, sizeof(action));
    action.sa_handler = hear;
    REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
    for (unsigned method = 1; method < 1u << SC_METHOD_COUNT; method <<= 1) {
        struct sc_options options = box_options();
        check_context("%s", sc_method_name(method));
        options.methods = method | SC_METHOD_READ_WRITE;
        signals_heard = 0;
        REQUIRE(setitimer(ITIMER_REAL, &fast, NULL) == 0);
        enum sc_status status = box_copy("source", "target", &options, &file);
        REQUIRE(setitimer(ITIMER_REAL, &none, NULL) == 0);
        CHECK_INT(status, SC_DONE);
        CHECK(slow() || signals_heard > 0);
        CHECK(box_is("target", bytes, size));
    }
    (void)sigaction(SIGALRM, &before, NULL);
    box_remove("source");
    box_remove("target");
    free(bytes);
}

static int
cancel_at_signal(void *context, uint64_t copied, uint64_t total)
{
    (void)context, (void)copied, (void)total;
    return signals_heard > 0;
}

static void
a_signal_cancels_soon(void)
{
    const size_t size = (size_t)(slow() ? 8 : 96) << 20;
    const struct itimerval once = {{0, 0}, {0, 3000}};
    struct sigaction action;
    struct sigaction before;
    unsigned char *bytes = begin(size);
    REQUIRE(bytes != NULL);
    memset(&action, 0, sizeof(action));
    action.sa_handler = hear;
    REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
    for (unsigned method = 1; method < 1u << SC_METHOD_COUNT; method <<= 1) {
        struct sc_options options = box_options();
        check_context("%s", sc_method_name(method));
        options.methods = method | SC_METHOD_READ_WRITE;
        options.checkpoint = cancel_at_signal;
        signals_heard = 0;
        box_remove("target");
        REQUIRE(setitimer(ITIMER_REAL, &once, NULL) == 0);
        enum sc_status status = box_copy("source", "target", &options, &file);
        /* A very fast machine, or a clone, may be done by then. */
        CHECK(status == SC_CANCELLED || status == SC_DONE);
        CHECK(box_is_prefix("target", bytes, size));
        CHECK(status == SC_CANCELLED ||
              box_size("target") == (long long)size);
        while (signals_heard == 0) {
            (void)usleep(1000);
        }
    }
    (void)sigaction(SIGALRM, &before, NULL);
    box_remove("source");
    box_remove("target");
    free(bytes);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_file_may_not_grow),
    CHECK_CASE(no_descriptors_left),
    CHECK_CASE(a_timer_all_the_time),
    CHECK_CASE(a_signal_cancels_soon),
};

const struct check_suite limits_suite = CHECK_SUITE("limits", cases);
