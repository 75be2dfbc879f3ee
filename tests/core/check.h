/* A minimal test harness: standard C only, so that it builds wherever the
   core does. */
#ifndef SPEEDCOPY_CHECK_H
#define SPEEDCOPY_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct check_case {
    const char *name;
    void (*run)(void);
};

struct check_suite {
    const char *name;
    const struct check_case *cases;
    size_t count;
};

#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CHECK_CASE(function)                                                 \
    {                                                                        \
#function, function                                                  \
    }
#define CHECK_SUITE(title, table)                                            \
    {                                                                        \
        .name = title, .cases = table, .count = CHECK_COUNT(table)           \
    }

/* Each returns whether it held.  A case with one that did not has failed. */
#define CHECK(condition)                                                     \
    check_that((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected)                                          \
    check_equal((long long)(actual), (long long)(expected), #actual,         \
                __FILE__, __LINE__)
#define CHECK_TEXT(actual, expected)                                         \
    check_text((actual), (expected), #actual, __FILE__, __LINE__)
/* Give up the case (a function without result) if it does not hold. */
#define REQUIRE(condition)                                                   \
    do {                                                                     \
        if (!CHECK(condition)) {                                             \
            return;                                                          \
        }                                                                    \
    } while (0)

bool check_that(bool held, const char *text, const char *file, int line);
bool check_equal(long long actual, long long expected, const char *text,
                 const char *file, int line);
bool check_text(const char *actual, const char *expected, const char *text,
                const char *file, int line);

#ifdef __GNUC__
#define CHECK_FORMAT __attribute__((format(printf, 1, 2)))
#else
#define CHECK_FORMAT
#endif

/* What is printed with every failure until it is set again: which row of a
   table is at work.  NULL for nothing.  Cleared before every case. */
void check_context(const char *format, ...) CHECK_FORMAT;
const char *check_get_context(void);

/* A line of information, such as how many combinations were tried. */
void check_note(const char *format, ...) CHECK_FORMAT;

/* The case cannot run here; it counts as passed and says why. */
void check_skip(const char *reason);

/* Run the suites in order; arguments select the cases whose "suite.case"
   contains one of them.  Returns what main should. */
int check_main(int argc, char **argv, const struct check_suite *const *suites,
               size_t count);

#endif
