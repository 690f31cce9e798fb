// SPDX-License-Identifier: Apache-2.0
// test_session.c — what a session keeps when a call is refused, what the sampler sees after
// tokens were dropped, and a long random walk of several sessions against cold runs.
#include "fault.h"
#include "sanitized.h"
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

// ---- a random walk ------------------------------------------------------------------------------

enum { N_WALK = 3, WALK_CONTEXT = 1600, N_STEP = GLINT_SANITIZED ? 15 : 60 };

struct walk {
    struct glint_engine *engine, *cold;
    struct glint_session *session[N_WALK];
    uint32_t seed;
};

static int any(struct walk *walk, int n) {
    walk->seed = walk->seed * 1664525u + 1013904223u;
    return (int)((walk->seed >> 8) % (uint32_t)n);
}

static void walk_eval(struct walk *walk, struct glint_session *session) {
    int32_t ids[400];
    int room = WALK_CONTEXT - glint_session_length(session);
    int n = 1 + any(walk, any(walk, 3) ? 40 : 400);
    struct glint_error error = {0};
    for (int i = 0; i < n; i++)
        ids[i] = any(walk, 256);
    struct glint_eval eval = {.ids = ids, .n = n, .n_chunk = any(walk, 2) ? 1 + any(walk, 90) : 0};
    enum glint_status status = glint_session_eval(session, &eval, &error);
    assert_int_equal(status, n > room ? GLINT_E_LIMIT : GLINT_OK);
}

static void walk_truncate(struct walk *walk, struct glint_session *session) {
    int length = glint_session_length(session);
    int back = any(walk, any(walk, 4) ? 60 : length + 1);
    struct glint_error error = {0};
    int keep = back > length ? 0 : length - back;
    enum glint_status status = glint_session_truncate(session, keep, &error);
    if (back <= 512) // the slack
        must(status, &error);
    else if (status != GLINT_OK)
        assert_int_equal(status, GLINT_E_LIMIT);
    assert_int_equal(glint_session_length(session), status == GLINT_OK ? keep : length);
}

static void walk_sync(struct walk *walk, struct glint_session *session) {
    static int32_t ids[WALK_CONTEXT];
    int length = glint_session_length(session), n = 1 + any(walk, length + 40), n_reused;
    struct glint_error error = {0};
    if (n > WALK_CONTEXT)
        n = WALK_CONTEXT;
    for (int i = 0; i < n; i++)
        ids[i] = i < length ? glint_session_ids(session)[i] : any(walk, 256);
    ids[any(walk, n)] = any(walk, 256);
    must(glint_session_sync(session, ids, n, &n_reused, &error), &error);
    assert_int_equal(glint_session_length(session), n);
    assert_memory_equal(glint_session_ids(session), ids, (size_t)n * sizeof *ids);
    assert_true(n_reused <= n);
}

static void walk_decode(struct walk *walk) {
    struct glint_session *some[N_WALK];
    int32_t ids[N_WALK];
    struct glint_error error = {0};
    int n = 0, first = any(walk, N_WALK);
    for (int i = 0; i < N_WALK; i++) {
        some[n] = walk->session[(first + i) % N_WALK];
        ids[n] = any(walk, 256);
        n += glint_session_length(some[n]) < WALK_CONTEXT && (i == 0 || any(walk, 2));
    }
    if (n > 0)
        must(glint_engine_decode(walk->engine, some, ids, n, &error), &error);
}

static void walk_step(struct walk *walk) {
    int s = any(walk, N_WALK);
    switch (any(walk, 6)) {
    case 0:
    case 1:
        walk_eval(walk, walk->session[s]);
        break;
    case 2:
        walk_truncate(walk, walk->session[s]);
        break;
    case 3:
        walk_sync(walk, walk->session[s]);
        break;
    case 4: // another session, perhaps in the place of this one
        if (any(walk, 4) == 0) {
            glint_session_close(&walk->session[s]);
            walk->session[s] = start(walk->engine, first_ids, N_FIRST);
        }
        break;
    default:
        for (int n = any(walk, 8); n >= 0; n--)
            walk_decode(walk);
    }
    struct glint_session *looked_at = walk->session[any(walk, N_WALK)];
    if (glint_session_logits(looked_at))
        expect_cold(walk->cold, looked_at);
}

// Three sessions of one engine, on three threads, grow, go back, change course and share steps;
// at any time their logits are those of a cold run of one session on one thread, bit for bit.
static void test_random_walk(void **state) {
    (void)state;
    static const char *const caches[] = {"f16", "q8_0", "f32"};
    toy_model_write(path, &(struct toy_defect){.u32_key = "muse-glimmer.context_length",
                                               .u32_value = WALK_CONTEXT,
                                               .dtype = GLINT_DTYPE_Q8_0});
    for (uint32_t i = 0; i < 3; i++) {
        struct glint_engine_params params = toy_params();
        params.cache_type_k = params.cache_type_v = caches[i];
        params.exact_activations = i == 2;
        params.n_chunk = 64;
        params.n_cache = N_WALK * WALK_CONTEXT;
        struct walk walk = {.engine = open_toy(&params), .seed = i};
        params.n_threads = 1;
        params.n_chunk = WALK_CONTEXT;
        walk.cold = open_toy(&params);
        for (int s = 0; s < N_WALK; s++)
            walk.session[s] = start(walk.engine, first_ids, N_FIRST);
        for (int n = 0; n < N_STEP; n++)
            walk_step(&walk);
        for (int s = 0; s < N_WALK; s++)
            glint_session_close(&walk.session[s]);
        glint_engine_close(&walk.cold);
        glint_engine_close(&walk.engine);
    }
}

// ---- memory -------------------------------------------------------------------------------------

// Opens, evaluates, draws, decodes, goes back and closes.
static enum glint_status whole_life(void *context, struct glint_error *err) {
    (void)context;
    struct glint_engine_params params = toy_params();
    struct glint_engine *engine = NULL;
    struct glint_session *session = NULL;
    struct glint_sample sample;
    struct glint_sampler_options options = glint_sampler_defaults();
    struct glint_eval eval = {.ids = first_ids, .n = N_FIRST};
    options.presence_penalty = 1;
    enum glint_status status = glint_engine_open(&engine, &params, err);
    if (status == GLINT_OK)
        status = glint_session_open(&session, engine, err);
    if (status == GLINT_OK)
        status = glint_session_set_sampler(session, &options, err);
    if (status == GLINT_OK)
        status = glint_session_eval(session, &eval, err);
    if (status == GLINT_OK)
        status = glint_session_sample(session, &sample, err);
    if (status == GLINT_OK)
        status = glint_engine_decode(engine, &session, &sample.id, 1, err);
    glint_session_close(&session);
    glint_engine_close(&engine);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    toy_model_write(path, NULL);
    assert_true(glint_fault_each(whole_life, NULL) > 40);
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
        cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_no_memory),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return n_failed;
}
