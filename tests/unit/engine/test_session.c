// SPDX-License-Identifier: Apache-2.0
// test_session.c — what a session keeps when a call is refused, what the sampler sees after
// tokens were dropped, and a long random walk of several sessions against cold runs.
#include "fault.h"
#include "toy_model.h"

#include <glint/glint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[128];

static struct glint_engine_params toy_params(void) {
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = path;
    params.n_threads = 3;
    params.n_session = 3;
    params.n_cache = 3 * TOY_CONTEXT;
    return params;
}

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static struct glint_engine *open_toy(const struct glint_engine_params *params) {
    struct glint_engine *engine;
    struct glint_error error = {0};
    must(glint_engine_open(&engine, params, &error), &error);
    return engine;
}

static struct glint_session *start(struct glint_engine *engine, const int32_t *ids, int n) {
    struct glint_session *session;
    struct glint_error error = {0};
    struct glint_eval eval = {.ids = ids, .n = n};
    must(glint_session_open(&session, engine, &error), &error);
    must(glint_session_eval(session, &eval, &error), &error);
    return session;
}

static void expect_cold(struct glint_engine *cold, const struct glint_session *session) {
    struct glint_session *other =
        start(cold, glint_session_ids(session), glint_session_length(session));
    assert_non_null(glint_session_logits(session));
    assert_memory_equal(glint_session_logits(other), glint_session_logits(session),
                        TOY_VOCAB * sizeof(float));
    glint_session_close(&other);
}

static const int32_t first_ids[] = {290, 65, 66, 67, 68, 69, 70, 71};
enum { N_FIRST = sizeof first_ids / sizeof *first_ids };

// A refused prompt leaves the session as it was.
static void test_refusals_change_nothing(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine = open_toy(&params);
    struct glint_error error = {0};
    struct glint_session *session = start(engine, first_ids, N_FIRST);
    static int32_t long_ids[TOY_CONTEXT + 1];
    const int32_t foreign[] = {290, TOY_VOCAB};
    assert_int_equal(glint_session_sync(session, first_ids, 0, NULL, &error), GLINT_E_ARG);
    assert_int_equal(glint_session_sync(session, foreign, 2, NULL, &error), GLINT_E_ARG);
    assert_int_equal(glint_session_sync(session, long_ids, TOY_CONTEXT + 1, NULL, &error),
                     GLINT_E_LIMIT);
    assert_non_null(strstr(error.text, "513"));
    assert_int_equal(glint_session_length(session), N_FIRST);
    expect_cold(engine, session);
    glint_session_close(&session);
    glint_engine_close(&engine);
}

// One session twice in a step would take the same cache rows twice.
static void test_same_session_twice(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine = open_toy(&params);
    struct glint_error error = {0};
    struct glint_session *a = start(engine, first_ids, N_FIRST);
    struct glint_session *b = start(engine, first_ids, N_FIRST - 1);
    struct glint_session *const twice[] = {a, b, a};
    assert_int_equal(glint_engine_decode(engine, twice, first_ids, 3, &error), GLINT_E_ARG);
    assert_non_null(strstr(error.text, "different"));
    assert_int_equal(glint_session_length(a), N_FIRST);
    assert_int_equal(glint_session_length(b), N_FIRST - 1);
    glint_session_close(&a);
    glint_session_close(&b);
    glint_engine_close(&engine);
}

static int32_t draw(struct glint_session *session) {
    struct glint_sample sample;
    struct glint_error error = {0};
    must(glint_session_sample(session, &sample, &error), &error);
    return sample.id;
}

static void evaluate(struct glint_session *session, const int32_t *ids, int n) {
    struct glint_error error = {0};
    struct glint_eval eval = {.ids = ids, .n = n};
    must(glint_session_eval(session, &eval, &error), &error);
}

// Greedy, with one token far ahead unless it was seen: the draw tells what the sampler has seen.
// It must be what the session holds, however it came to hold it.
static void test_penalties_see_what_is_held(void **state) {
    (void)state;
    enum { AHEAD = 7 };
    const int32_t ahead[] = {AHEAD}, others[] = {100, 101, 102};
    const struct glint_logit_bias bias = {AHEAD, 100};
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine = open_toy(&params);
    struct glint_error error = {0};
    struct glint_sampler_options options = glint_sampler_defaults();
    options.temperature = 0;
    options.presence_penalty = 1000;
    options.repeat_last_n = 1 << 24; // as many as there are
    options.bias = &bias;
    options.n_bias = 1;
    struct glint_session *session = start(engine, first_ids, N_FIRST);
    must(glint_session_set_sampler(session, &options, &error), &error);
    assert_int_equal(draw(session), AHEAD);
    evaluate(session, others, 3); // another than the drawn one is taken
    assert_int_equal(draw(session), AHEAD);
    evaluate(session, ahead, 1);
    assert_int_not_equal(draw(session), AHEAD);
    must(glint_session_truncate(session, N_FIRST + 3, &error), &error);
    evaluate(session, others, 3); // dropped, and the place taken by others
    assert_int_equal(draw(session), AHEAD);
    must(glint_session_truncate(session, 2, &error), &error);
    evaluate(session, ahead, 1); // held behind where the sampler had got to
    evaluate(session, first_ids, N_FIRST);
    evaluate(session, others, 3);
    assert_int_not_equal(draw(session), AHEAD);
    glint_session_close(&session);
    glint_engine_close(&engine);
}

// Going back does not start the random numbers over.
static void test_draws_go_on_after_going_back(void **state) {
    (void)state;
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine = open_toy(&params);
    struct glint_error error = {0};
    struct glint_sampler_options options = glint_sampler_defaults();
    options.temperature = 50; // nearly uniform
    options.top_k = 0;
    options.top_p = 1;
    struct glint_session *session = start(engine, first_ids, N_FIRST);
    must(glint_session_set_sampler(session, &options, &error), &error);
    int n_same = 0;
    int32_t first = draw(session);
    for (int i = 0; i < 8; i++) {
        evaluate(session, &first, 1);
        must(glint_session_truncate(session, N_FIRST - 1, &error), &error);
        evaluate(session, first_ids + N_FIRST - 1, 1);
        n_same += draw(session) == first;
    }
    assert_true(n_same < 4);
    must(glint_session_set_sampler(session, &options, &error), &error);
    assert_int_equal(draw(session), first);
    glint_session_close(&session);
    glint_engine_close(&engine);
}

int main(void) {
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/glint-session-%d.gguf", place ? place : "/tmp", (int)getpid());
    toy_model_write(path, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals_change_nothing),
        cmocka_unit_test(test_same_session_twice),
        cmocka_unit_test(test_penalties_see_what_is_held),
        cmocka_unit_test(test_draws_go_on_after_going_back),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return n_failed;
}
