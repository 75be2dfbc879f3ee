#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one case; a broken row of a large table is seen without the rest.
   SC_TEST_SHOW sets another number. */
#define SHOWN_FAILURES 12

static struct {
    unsigned shown; /* how many failures of a case are */
    char context[512];
    const char *name;
    unsigned failures; /* of the case that runs */
} current;

static void
complain(const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    if (current.failures == current.shown) {
        printf("    ... and more\n");
    }
    current.failures++;
    if (current.failures > current.shown) {
        return;
    }
    printf("  %s:%d: %s", slash == NULL ? file : slash + 1, line,
           current.name);
    if (current.context[0] != '\0') {
        printf(" [%s]", current.context);
    }
    printf("\n    ");
}

bool
check_that(bool held, const char *text, const char *file, int line)
{
    if (!held) {
        complain(file, line);
        if (current.failures <= current.shown) {
            printf("not: %s\n", text);
        }
    }
    return held;
}

bool
check_equal(long long actual, long long expected, const char *text,
            const char *file, int line)
{
    if (actual != expected) {
        complain(file, line);
        if (current.failures <= current.shown) {
            printf("%s is %lld, not %lld\n", text, actual, expected);
        }
    }
    return actual == expected;
}

bool
check_text(const char *actual, const char *expected, const char *text,
           const char *file, int line)
{
    bool same = actual != NULL && strcmp(actual, expected) == 0;
    if (!same) {
        complain(file, line);
        if (current.failures <= current.shown) {
            printf("%s is \"%s\", not \"%s\"\n", text,
                   actual == NULL ? "(null)" : actual, expected);
        }
    }
    return same;
}

void
check_context(const char *format, ...)
{
    current.context[0] = '\0';
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(current.context, sizeof(current.context), format,
                        arguments);
        va_end(arguments);
    }
}

const char *
check_get_context(void)
{
    return current.context;
}

void
check_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  %s: ", current.name);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void
check_skip(const char *reason)
{
    check_note("not here: %s", reason);
}

static bool
selected(const struct check_suite *suite, const struct check_case *item,
         int argc, char **argv)
{
    char name[256];
    if (argc < 2) {
        return true;
    }
    (void)snprintf(name, sizeof(name), "%s.%s", suite->name, item->name);
    for (int i = 1; i < argc; i++) {
        if (strstr(name, argv[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool
run_case(const struct check_case *item)
{
    current.name = item->name;
    current.failures = 0;
    check_context(NULL);
    item->run();
    if (current.failures > 0) {
        printf("  FAILED %s (%u)\n", item->name, current.failures);
    }
    (void)fflush(stdout);
    return current.failures == 0;
}

int
check_main(int argc, char **argv, const struct check_suite *const *suites,
           size_t count)
{
    unsigned passed = 0;
    unsigned failed = 0;
    const char *shown = getenv("SC_TEST_SHOW");
    current.shown = shown == NULL ? SHOWN_FAILURES : (unsigned)atoi(shown);
    for (size_t i = 0; i < count; i++) {
        const struct check_suite *suite = suites[i];
        unsigned suite_passed = 0;
        unsigned suite_failed = 0;
        for (size_t j = 0; j < suite->count; j++) {
            if (selected(suite, &suite->cases[j], argc, argv)) {
                if (run_case(&suite->cases[j])) {
                    suite_passed++;
                } else {
                    suite_failed++;
                }
            }
        }
        if (suite_passed + suite_failed > 0) {
            printf("%s: %u of %u\n", suite->name, suite_passed,
                   suite_passed + suite_failed);
        }
        passed += suite_passed;
        failed += suite_failed;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0 || passed == 0 ? 1 : 0;
}
