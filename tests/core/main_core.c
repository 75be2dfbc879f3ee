/* The core on a platform in memory. */
#include "suites.h"

int
main(int argc, char **argv)
{
    static const struct check_suite *const suites[] = {
        &engine_suite,   &options_suite,    &small_suite,
        &holes_suite,    &read_write_suite, &atomic_suite,
        &metadata_suite, &verify_suite,     &file_suite,
    };
    return check_main(argc, argv, suites, CHECK_COUNT(suites));
}
