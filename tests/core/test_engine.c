/* The ladder: order, offsets, what each answer of a strategy leads to. */
#include "script.h"
#include "suites.h"

#define SIZE 200000u

static struct sc_file file;
static struct fake_file *source;

static enum sc_status
copy(void)
{
    const struct sc_options options = fake_options();
    return fake_copy(&options, &file);
}

static void
begin(void)
{
    script_reset();
    source = fake_add("source", SIZE, 1);
}

static bool
whole(void)
{
    return CHECK(
               fake_same(fake_find("target"), source->data, source->size)) &&
           CHECK_INT(file.result.bytes, source->size) &&
           CHECK_INT(fake.open_handles, 0);
}

static void
first_one_does_it_all(void)
{
    begin();
    script_add(CLONE, (struct script_step){SC_DONE, UINT64_MAX, 0, 0});
    CHECK_INT(copy(), SC_DONE);
    whole();
    CHECK_INT(file.result.method, SC_METHOD_CLONE);
    CHECK_INT(file.result.fallback_count, 0);
    CHECK_INT(scripts[SERVER].calls, 0);
    CHECK_INT(fake.calls[FAKE_READ], 0);
}

static void
each_goes_on_where_the_last_stopped(void)
{
    begin();
    script_add(CLONE, (struct script_step){SC_UNSUPPORTED, 0, 0, 51});
    script_add(SERVER, (struct script_step){SC_UNSUPPORTED, 0, 0, 52});
    script_add(HOLES, (struct script_step){SC_MORE, 70000, 0, 53});
    script_add(RANGE, (struct script_step){SC_UNSUPPORTED, 500, 0, 54});
    script_add(SEND, (struct script_step){SC_UNSUPPORTED, 50000, 0, 0});
    CHECK_INT(copy(), SC_DONE);
    whole();
    CHECK_INT(scripts[HOLES].offsets[0], 0);
    CHECK_INT(scripts[RANGE].offsets[0], 70000);
    CHECK_INT(scripts[SEND].offsets[0], 70500);
    CHECK_INT(file.result.method, SC_METHOD_READ_WRITE);
    CHECK_INT(file.result.fallback_count, 5);
    for (int i = 0; i < SCRIPTS; i++) {
        CHECK_INT(file.result.fallbacks[i].method, 1u << i);
        CHECK_INT(file.result.fallbacks[i].code, i == SEND ? 0 : 51 + i);
    }
}

static void
nothing_is_read_twice(void)
{
    begin();
    script_add(SEND, (struct script_step){SC_MORE, SIZE - 10, 0, 0});
    CHECK_INT(copy(), SC_DONE);
    whole();
    CHECK_INT(fake.calls[FAKE_SEEK], 2);
    CHECK_INT(fake.calls[FAKE_WRITE], 1);
}

static void
a_failure_ends_it(void)
{
    begin();
    script_add(HOLES, (struct script_step){SC_MORE, 1000, 0, 9});
    script_add(RANGE, (struct script_step){SC_FAIL, 2000, 0, FAKE_BROKEN});
    fake.offload = false;
    CHECK_INT(copy(), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_DATA);
    CHECK_INT(file.error.code, FAKE_BROKEN);
    CHECK_INT(file.error.done, 3000);
    CHECK(file.error.offload_useless);
    CHECK_INT(scripts[SEND].calls, 0);
    CHECK(fake_same(fake_find("target"), source->data, 3000));
    CHECK_INT(fake.open_handles, 0);
}

static void
the_question_is_asked_when_it_matters(void)
{
    static const struct {
        uint64_t moves;
        int code;
        unsigned asked;
    } rows[] = {{0, FAKE_BROKEN, 0}, {0, FAKE_FULL, 1}, {5, FAKE_BROKEN, 1}};
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        check_context("row %u", (unsigned)i);
        begin();
        script_add(CLONE, (struct script_step){SC_FAIL, rows[i].moves, 0,
                                               rows[i].code});
        CHECK_INT(copy(), SC_FAIL);
        CHECK_INT(fake.offload_asked, rows[i].asked);
        CHECK(!file.error.offload_useless);
    }
}

static void
cancelling_ends_it(void)
{
    begin();
    script_add(RANGE, (struct script_step){SC_CANCELLED, 77, 0, 0});
    CHECK_INT(copy(), SC_CANCELLED);
    CHECK_INT(file.error.operation, SC_OP_NONE);
    CHECK_INT(scripts[SEND].calls, 0);
    CHECK(fake_same(fake_find("target"), source->data, 77));
    CHECK_INT(fake.open_handles, 0);
}

static void
no_method_is_an_error(void)
{
    for (int existing = 0; existing < 2; existing++) {
        begin();
        check_context("existing %d", existing);
        if (existing) {
            fake_add("target", 10, 5);
        }
        script_add(CLONE, (struct script_step){SC_UNSUPPORTED, 0, 0, 88});
        struct sc_options options = fake_options();
        options.reflink = SC_ALWAYS;
        CHECK_INT(fake_copy(&options, &file), SC_FAIL);
        CHECK_INT(file.error.operation, SC_OP_METHOD);
        CHECK_INT(file.error.code, 88);
        /* What we made is taken away, what was there stays. */
        CHECK((fake_find("target") != NULL) == (existing == 1));
        CHECK_INT(fake.open_handles, 0);
    }
}

static void
no_method_at_all(void)
{
    begin();
    struct sc_options options = fake_options();
    options.methods = 0;
    CHECK_INT(fake_copy(&options, &file), SC_FAIL);
    CHECK_INT(file.error.operation, SC_OP_METHOD);
    CHECK_INT(file.error.code, FAKE_UNSUPPORTED);
}

/* --- what is not to be trusted ------------------------------------------ */

static void
a_lie_about_the_count_is_found(void)
{
    begin();
    script_add(RANGE, (struct script_step){SC_DONE, SIZE / 2, SIZE / 2, 0});
    CHECK_INT(copy(), SC_DONE);
    whole();
    CHECK_INT(scripts[SEND].offsets[0], 0);
    CHECK_INT(file.result.method, SC_METHOD_READ_WRITE);
    /* clone, server copy, holes before; this one says 0; sendfile */
    CHECK_INT(file.result.fallback_count, 5);
    CHECK_INT(file.result.fallbacks[3].method, SC_METHOD_COPY_FILE_RANGE);
    CHECK_INT(file.result.fallbacks[3].code, 0);
}

static void
a_lie_before_giving_way_is_found(void)
{
    static const enum sc_status answers[] = {SC_UNSUPPORTED, SC_MORE};
    for (size_t i = 0; i < CHECK_COUNT(answers); i++) {
        begin();
        check_context("answer %d", (int)answers[i]);
        script_add(RANGE, (struct script_step){answers[i], 1000, 99000, 5});
        CHECK_INT(copy(), SC_DONE);
        whole();
    }
}

static void
a_lie_is_found_but_nothing_can_be_done(void)
{
    static const struct {
        enum fake_call call;
        unsigned nth;
    } rows[] = {{FAKE_STAT_HANDLE, 2}, {FAKE_TRUNCATE, 1}};
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        begin();
        check_context("row %u", (unsigned)i);
        script_add(RANGE, (struct script_step){SC_DONE, 1000, 500, 0});
        fake_fail(rows[i].call, rows[i].nth, 1, FAKE_BROKEN);
        CHECK_INT(copy(), SC_FAIL);
        CHECK_INT(file.error.operation, SC_OP_DATA);
        CHECK_INT(file.error.code, FAKE_BROKEN);
        CHECK_INT(fake.open_handles, 0);
    }
}

/* --- stretches ---------------------------------------------------------- */

static struct {
    uint64_t starts[6];
    uint64_t stops[6];
    unsigned count;
    enum sc_status status;
} stretches;

/* A strategy in place of `holes`: the stretches of the table, then done. */
static enum sc_status
run_stretches(struct sc_transfer *transfer, struct sc_error *ret_error)
{
    const struct sc_strategy *const *next = transfer->next;
    for (unsigned i = 0; i < stretches.count; i++) {
        enum sc_status status = sc_engine_run_range(
            transfer, stretches.starts[i], stretches.stops[i], ret_error);
        CHECK(transfer->next == next);
        CHECK(transfer->end == SC_END_OF_FILE);
        if (status != SC_DONE) {
            return status;
        }
        CHECK_INT(transfer->offset, stretches.stops[i]);
    }
    int code = sc_platform.truncate(transfer->target, transfer->offset);
    return code == 0 ? stretches.status
                     : sc_transfer_fail(transfer, code, ret_error);
}

static void
begin_stretches(unsigned count)
{
    begin();
    scripts[HOLES].strategy.run = run_stretches;
    stretches.count = count;
    stretches.status = SC_DONE;
    for (unsigned i = 0; i < count; i++) {
        stretches.starts[i] = (uint64_t)i * SIZE / count;
        stretches.stops[i] = (uint64_t)(i + 1) * SIZE / count;
    }
}

static void
a_stretch_has_its_own_end(void)
{
    begin_stretches(4);
    script_add(RANGE, (struct script_step){SC_UNSUPPORTED, 100, 0, 3});
    script_add(SEND, (struct script_step){SC_UNSUPPORTED, 100, 0, 3});
    CHECK_INT(copy(), SC_DONE);
    whole();
    CHECK_INT(file.result.method, SC_METHOD_HOLES);
    CHECK_INT(scripts[CLONE].calls, 1); /* never for a stretch */
    CHECK_INT(scripts[SERVER].calls, 1);
    CHECK_INT(scripts[RANGE].calls, 4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_INT(scripts[RANGE].offsets[i], stretches.starts[i]);
        CHECK_INT(scripts[RANGE].ends[i], stretches.stops[i]);
        CHECK_INT(scripts[SEND].offsets[i], stretches.starts[i] + 100);
    }
}

static void
the_same_method_gives_way_once(void)
{
    begin_stretches(6);
    script_add(RANGE, (struct script_step){SC_UNSUPPORTED, 0, 0, 31});
    script_add(SEND, (struct script_step){SC_UNSUPPORTED, 0, 0, 32});
    CHECK_INT(copy(), SC_DONE);
    whole();
    /* clone and server copy of the whole file, then these two, once. */
    CHECK_INT(file.result.fallback_count, 4);
}

static void
more_notes_than_there_is_room_for(void)
{
    begin_stretches(6);
    stretches.status = SC_MORE;
    script_add(RANGE, (struct script_step){SC_UNSUPPORTED, 0, 0, 31});
    script_add(SEND, (struct script_step){SC_UNSUPPORTED, 0, 0, 32});
    CHECK_INT(copy(), SC_DONE);
    whole();
    CHECK(file.result.fallback_count <= SC_MAX_FALLBACKS);
}

static void
a_lie_in_a_stretch_is_found(void)
{
    for (unsigned liar = 0; liar < 3; liar++) {
        begin_stretches(3);
        check_context("stretch %u", liar);
        for (unsigned i = 0; i < liar; i++) {
            script_add(RANGE,
                       (struct script_step){SC_DONE, UINT64_MAX, 0, 0});
        }
        uint64_t size = stretches.stops[liar] - stretches.starts[liar];
        script_add(RANGE, (struct script_step){SC_DONE, 10, size - 10, 0});
        script_add(RANGE, (struct script_step){SC_DONE, UINT64_MAX, 0, 0});
        CHECK_INT(copy(), SC_DONE);
        whole();
    }
}

static void
a_failing_stretch_ends_it(void)
{
    begin_stretches(2);
    script_add(RANGE, (struct script_step){SC_DONE, UINT64_MAX, 0, 0});
    script_add(RANGE, (struct script_step){SC_FAIL, 7, 0, FAKE_BROKEN});
    CHECK_INT(copy(), SC_FAIL);
    CHECK_INT(file.error.code, FAKE_BROKEN);
    CHECK_INT(file.error.done, SIZE / 2 + 7);
    CHECK(fake_same(fake_find("target"), source->data, SIZE / 2 + 7));
}

/* --- small things ------------------------------------------------------- */

static void
chunks_follow_the_clock(void)
{
    static const struct {
        uint64_t taken; /* nanoseconds */
        unsigned mebibytes;
    } rows[] = {
        {0, 4},         {1000, 8},      {1000, 16},     {1000, 32},
        {1000, 32},     {20000000, 32}, {40000000, 16}, {20000000, 16},
        {40000000, 8},  {40000000, 4},  {40000000, 2},  {40000000, 1},
        {400000000, 1}, {11000000, 2},  {13000000, 2},  {29000000, 2},
    };
    struct sc_transfer transfer = {.end = SC_END_OF_FILE};
    fake_reset();
    for (size_t i = 0; i < CHECK_COUNT(rows); i++) {
        check_context("call %u", (unsigned)i);
        fake.now += rows[i].taken;
        CHECK_INT(sc_transfer_chunk(&transfer),
                  (uint64_t)rows[i].mebibytes << 20);
    }
    transfer.end = transfer.offset + 1000;
    CHECK_INT(sc_transfer_chunk(&transfer), 1000);
    transfer.offset = transfer.end;
    CHECK_INT(sc_transfer_chunk(&transfer), 0);
}

static void
methods_have_names(void)
{
    CHECK_TEXT(sc_method_name(SC_METHOD_CLONE), "clone");
    CHECK_TEXT(sc_method_name(SC_METHOD_SERVER_COPY), "server_copy");
    CHECK_TEXT(sc_method_name(SC_METHOD_HOLES), "holes");
    CHECK_TEXT(sc_method_name(SC_METHOD_COPY_FILE_RANGE), "copy_file_range");
    CHECK_TEXT(sc_method_name(SC_METHOD_SENDFILE), "sendfile");
    CHECK_TEXT(sc_method_name(SC_METHOD_READ_WRITE), "read_write");
    CHECK(sc_method_name(0) == NULL);
    CHECK(sc_method_name(1u << SC_METHOD_COUNT) == NULL);
    CHECK(sc_method_name(SC_METHOD_CLONE | SC_METHOD_HOLES) == NULL);
}

static void
the_first_error_wins(void)
{
    struct sc_error error = {0};
    sc_error_set(&error, SC_OP_DATA, 5);
    sc_error_set(&error, SC_OP_CLOSE, 6);
    CHECK_INT(error.operation, SC_OP_DATA);
    CHECK_INT(error.code, 5);
}

static const struct check_case cases[] = {
    CHECK_CASE(first_one_does_it_all),
    CHECK_CASE(each_goes_on_where_the_last_stopped),
    CHECK_CASE(nothing_is_read_twice),
    CHECK_CASE(a_failure_ends_it),
    CHECK_CASE(the_question_is_asked_when_it_matters),
    CHECK_CASE(cancelling_ends_it),
    CHECK_CASE(no_method_is_an_error),
    CHECK_CASE(no_method_at_all),
    CHECK_CASE(a_lie_about_the_count_is_found),
    CHECK_CASE(a_lie_before_giving_way_is_found),
    CHECK_CASE(a_lie_is_found_but_nothing_can_be_done),
    CHECK_CASE(a_stretch_has_its_own_end),
    CHECK_CASE(the_same_method_gives_way_once),
    CHECK_CASE(more_notes_than_there_is_room_for),
    CHECK_CASE(a_lie_in_a_stretch_is_found),
    CHECK_CASE(a_failing_stretch_ends_it),
    CHECK_CASE(chunks_follow_the_clock),
    CHECK_CASE(methods_have_names),
    CHECK_CASE(the_first_error_wins),
};

const struct check_suite engine_suite = CHECK_SUITE("engine", cases);
