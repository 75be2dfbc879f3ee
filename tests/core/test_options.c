/* Which strategies the options allow. */
#include "script.h"
#include "suites.h"

#define ALL ((unsigned)SC_ALL_METHODS)
#define READ_WRITE ((unsigned)SC_METHOD_READ_WRITE)
#define NO_SHARING                                                           \
    (SC_METHOD_HOLES | SC_METHOD_SENDFILE | SC_METHOD_READ_WRITE)

struct row {
    unsigned methods;
    enum sc_choice reflink;
    enum sc_choice sparse;
    bool forced;
    unsigned inapplicable; /* methods whose `applies` says no */
    unsigned expected;     /* the ones that run */
};

static const struct row rows[] = {
    {ALL, SC_AUTO, SC_AUTO, false, 0, ALL},
    {ALL, SC_NEVER, SC_AUTO, false, 0, NO_SHARING},
    {ALL, SC_ALWAYS, SC_AUTO, false, 0, SC_METHOD_CLONE},
    {ALL, SC_ALWAYS, SC_NEVER, false, 0, SC_METHOD_CLONE},
    {ALL, SC_ALWAYS, SC_ALWAYS, false, 0, SC_METHOD_CLONE},
    {ALL, SC_AUTO, SC_NEVER, false, 0, READ_WRITE},
    {ALL, SC_NEVER, SC_NEVER, false, 0, READ_WRITE},
    {ALL, SC_AUTO, SC_ALWAYS, false, 0, SC_METHOD_HOLES | READ_WRITE},
    {ALL, SC_NEVER, SC_ALWAYS, false, 0, SC_METHOD_HOLES | READ_WRITE},
    /* A choice of methods takes away and never adds. */
    {READ_WRITE, SC_AUTO, SC_AUTO, false, 0, READ_WRITE},
    {ALL & ~(unsigned)SC_METHOD_CLONE, SC_ALWAYS, SC_AUTO, false, 0, 0},
    {ALL & ~(unsigned)SC_METHOD_HOLES, SC_AUTO, SC_ALWAYS, false, 0,
     READ_WRITE},
    {SC_METHOD_SENDFILE, SC_AUTO, SC_AUTO, false, 0, SC_METHOD_SENDFILE},
    {SC_METHOD_COPY_FILE_RANGE, SC_NEVER, SC_AUTO, false, 0, 0},
    /* Thresholds, and who does not ask for them. */
    {ALL, SC_AUTO, SC_AUTO, false, ALL, READ_WRITE},
    {ALL, SC_AUTO, SC_AUTO, true, ALL, ALL},
    {ALL, SC_AUTO, SC_AUTO, false, SC_METHOD_CLONE | SC_METHOD_SENDFILE,
     ALL & ~(unsigned)(SC_METHOD_CLONE | SC_METHOD_SENDFILE)},
    {ALL, SC_ALWAYS, SC_AUTO, false, SC_METHOD_CLONE, SC_METHOD_CLONE},
    {SC_METHOD_SENDFILE, SC_AUTO, SC_AUTO, false, SC_METHOD_SENDFILE, 0},
    {SC_METHOD_SENDFILE, SC_AUTO, SC_AUTO, true, SC_METHOD_SENDFILE,
     SC_METHOD_SENDFILE},
    /* Force is no leave to share what must not be shared. */
    {ALL, SC_NEVER, SC_AUTO, true, 0, NO_SHARING},
    {ALL, SC_AUTO, SC_NEVER, true, 0, READ_WRITE},
};

static unsigned
methods_run(void)
{
    unsigned found = 0;
    for (int i = 0; i < SCRIPTS; i++) {
        if (scripts[i].calls > 0) {
            found |= 1u << i;
        }
    }
    return fake.calls[FAKE_READ] > 0 ? found | READ_WRITE : found;
}

static void
allowed(void)
{
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct sc_options options = fake_options();
        struct sc_file file;
        check_context("row %u", (unsigned)i);
        script_reset();
        const struct fake_file *source = fake_add("source", 100000, 1);
        for (int j = 0; j < SCRIPTS; j++) {
            scripts[j].inapplicable = (row->inapplicable >> j) & 1u;
        }
        options.methods = row->methods;
        options.reflink = row->reflink;
        options.sparse = row->sparse;
        options.forced = row->forced;
        enum sc_status status = fake_copy(&options, &file);
        CHECK_INT(methods_run(), row->expected);
        if (row->expected & READ_WRITE) {
            CHECK_INT(status, SC_DONE);
            CHECK(fake_same(fake_find("target"), source->data, 100000));
        } else {
            CHECK_INT(status, SC_FAIL);
            CHECK_INT(file.error.operation, SC_OP_METHOD);
            CHECK(fake_find("target") == NULL);
        }
        CHECK_INT(fake.open_handles, 0);
    }
}

/* The way around the ladder keeps to the options as well. */
static void
small_files(void)
{
    static const struct {
        unsigned methods;
        enum sc_choice reflink;
        enum sc_choice sparse;
        bool existing;
        unsigned size;
        unsigned first; /* the method asked first */
    } table[] = {
        {ALL, SC_AUTO, SC_AUTO, false, 1000, READ_WRITE},
        {ALL, SC_AUTO, SC_AUTO, true, 1000, READ_WRITE},
        {ALL, SC_AUTO, SC_AUTO, false, 20000, SC_METHOD_CLONE},
        {ALL, SC_AUTO, SC_AUTO, true, 20000, READ_WRITE},
        {ALL, SC_NEVER, SC_AUTO, false, 20000, READ_WRITE},
        {ALL, SC_ALWAYS, SC_AUTO, true, 1000, SC_METHOD_CLONE},
        {ALL, SC_AUTO, SC_ALWAYS, true, 1000, SC_METHOD_HOLES},
        {ALL & ~READ_WRITE, SC_AUTO, SC_AUTO, true, 1000, SC_METHOD_CLONE},
    };
    for (size_t i = 0; i < CHECK_COUNT(table); i++) {
        struct sc_options options = fake_options();
        struct sc_file file;
        check_context("row %u", (unsigned)i);
        script_reset();
        fake_add("source", table[i].size, 1);
        if (table[i].existing) {
            fake_add("target", 500, 2);
        }
        options.methods = table[i].methods;
        options.reflink = table[i].reflink;
        options.sparse = table[i].sparse;
        scripts[CLONE].inapplicable = table[i].size < SC_CLONE_MINIMUM &&
                                      table[i].reflink != SC_ALWAYS &&
                                      (table[i].methods & READ_WRITE);
        scripts[SERVER].inapplicable = true;
        (void)fake_copy(&options, &file);
        unsigned run = methods_run();
        CHECK_INT(run & (~run + 1u), table[i].first);
        CHECK_INT(fake.open_handles, 0);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(allowed),
    CHECK_CASE(small_files),
};

const struct check_suite options_suite = CHECK_SUITE("options", cases);
