/* The core on a real platform and a real file system. */
#include "box.h"
#include "suites.h"

int
main(int argc, char **argv)
{
    static const struct check_suite *const suites[] = {
        &posix_suite,  &races_suite,   &limits_suite,
#ifdef TEST_LINUX
        &linux_suite,
#endif
        &faults_suite, &threads_suite,
    };
    if (!box_open()) {
        return 4;
    }
    int result = check_main(argc, argv, suites, CHECK_COUNT(suites));
    box_close();
    return result;
}
