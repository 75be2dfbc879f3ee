/* The suites, each in the file of its name. */
#ifndef SPEEDCOPY_SUITES_H
#define SPEEDCOPY_SUITES_H

#include "check.h"

/* On the platform in memory (main_core.c). */
extern const struct check_suite engine_suite;
extern const struct check_suite options_suite;
extern const struct check_suite small_suite;
extern const struct check_suite holes_suite;
extern const struct check_suite read_write_suite;
extern const struct check_suite atomic_suite;
extern const struct check_suite metadata_suite;
extern const struct check_suite verify_suite;
extern const struct check_suite file_suite;

/* On the real one (main_posix.c). */
extern const struct check_suite posix_suite;
extern const struct check_suite races_suite;
extern const struct check_suite limits_suite;
extern const struct check_suite faults_suite;
extern const struct check_suite linux_suite;
extern const struct check_suite threads_suite;

#endif
