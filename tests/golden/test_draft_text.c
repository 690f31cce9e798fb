// SPDX-License-Identifier: Apache-2.0
// test_draft_text.c — drafting changes no bit: held-out prompts on the demo model, one sequence
// and five, with every number of proposals and the adaptive one, against an engine without a
// drafter: the same ids, and the same bits in the logits they were drawn from. Some of the prompts
// try some of the numbers each; with the argument "all" all prompts try all numbers.
#include "drafter_edit.h"
#include "held_out.h"
#include "sanitized.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { N_NEW = 48, N_SESSION = 5, N_SOME = 45, N_FEW = 5, ADAPTIVE = -1, MOST = 15 };
enum { N_WALK = GLINT_SANITIZED ? 10 : 60 };

// An answer: its ids, and a hash of the logits that each was drawn from.
struct answer {
    int n;
    int32_t id[N_NEW];
    uint64_t logits[N_NEW];
};

static bool try_all;
static int n_prompt; // of those in the file, the ones tried
static struct held_out prompts;
static struct answer plain[HELD_OUT_MAX], sampled[HELD_OUT_MAX];
static struct glint_engine *engine; // with the drafter

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static uint64_t hash(const float *logits) {
    uint64_t value = 1469598103934665603u;
    int n = glint_engine_info(engine).n_vocab;
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &logits[i], sizeof bits);
        value = (value ^ bits) * 1099511628211u;
    }
    return value;
}

static struct glint_sampler_options options_of(int i, bool greedy) {
    struct glint_sampler_options options = glint_sampler_defaults();
    options.seed = (uint64_t)i;
    options.temperature = greedy ? 0 : 1.1f;
    options.repeat_penalty = greedy ? 1 : 1.2f;
    options.frequency_penalty = greedy ? 0 : 0.1f;
    return options;
}

static void begin(struct glint_session *session, int i, bool greedy, int n_draft) {
    struct glint_error error = {0};
    struct glint_sampler_options options = options_of(i, greedy);
    const struct glint_ids *ids = &prompts.prompt[i].ids;
    must(glint_session_sync(session, ids->data, (int)ids->n, NULL, &error), &error);
    must(glint_session_set_sampler(session, &options, &error), &error);
    must(glint_session_set_draft(session, n_draft, &error), &error);
    glint_session_expect(session, N_NEW);
}

// Draws the next token into the answer. False when that ends it.
static bool draw(struct glint_session *session, struct answer *answer) {
    struct glint_error error = {0};
    struct glint_sample sample;
    assert_true(answer->n < N_NEW);
    answer->logits[answer->n] = hash(glint_session_logits(session));
    must(glint_session_sample(session, &sample, &error), &error);
    answer->id[answer->n++] = sample.id;
    return answer->n < N_NEW && !glint_is_stop(engine, sample.id);
}

static void compare(int i, int n_draft, const struct answer *got, const struct answer *want) {
    for (int k = 0; k < want->n; k++)
        if (k >= got->n || got->id[k] != want->id[k] || got->logits[k] != want->logits[k])
            fail_msg("prompt %d, %d proposals: token %d is %d, expected %d%s", i, n_draft, k,
                     got->id[k], want->id[k], got->id[k] == want->id[k] ? " (other logits)" : "");
    assert_int_equal(got->n, want->n);
}

static void answer_alone(struct glint_engine *with, struct glint_session *session,
                         struct answer *answer) {
    struct glint_error error = {0};
    answer->n = 0;
    while (draw(session, answer))
        must(glint_engine_decode(with, &session, &answer->id[answer->n - 1], 1, &error), &error);
}

// Whether prompt i tries this number of proposals.
static bool tries(int i, int n_draft, bool all) {
    return all || n_draft == ADAPTIVE || n_draft == 1 + i % MOST;
}

static int start(void **state) {
    (void)state;
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_engine *without;
    struct glint_session *session;
    struct glint_error error = {0};
    params.model_path = DEMO_MODEL;
    params.n_threads = 2;
    params.n_context = 2048;
    must(glint_engine_open(&without, &params, &error), &error);
    params.draft_path = DEMO_DRAFTER;
    params.n_session = N_SESSION;
    params.n_cache = N_SESSION * params.n_context;
    must(glint_engine_open(&engine, &params, &error), &error);
    assert_true(held_out_open(&prompts, engine, "data/held_out_prompts.tsv"));
    assert_int_equal(prompts.n, HELD_OUT_MAX);
    must(glint_session_open(&session, without, &error), &error);
    n_prompt = try_all ? prompts.n : GLINT_SANITIZED ? N_FEW : N_SOME;
    for (int i = 0; i < n_prompt; i++) {
        begin(session, i, true, 0);
        answer_alone(without, session, &plain[i]);
        begin(session, i, false, 0);
        answer_alone(without, session, &sampled[i]);
    }
    glint_session_close(&session);
    glint_engine_close(&without);
    return 0;
}

static int end(void **state) {
    (void)state;
    held_out_close(&prompts);
    glint_engine_close(&engine);
    return 0;
}

static void check_alone(bool greedy, const struct answer *want) {
    struct glint_session *session;
    struct glint_error error = {0};
    static struct answer got;
    must(glint_session_open(&session, engine, &error), &error);
    for (int i = 0; i < n_prompt; i++)
        for (int n_draft = ADAPTIVE; n_draft <= MOST; n_draft++)
            if (tries(i, n_draft, try_all && greedy)) {
                begin(session, i, greedy, n_draft);
                answer_alone(engine, session, &got);
                compare(i, n_draft, &got, &want[i]);
                // What is held is the prompt and the answer without its last token.
                assert_int_equal(glint_session_length(session),
                                 (int)prompts.prompt[i].ids.n + got.n - 1);
            }
    struct glint_draft_stats stats = glint_session_draft_stats(session);
    printf("    %.2f proposals taken of %.2f a round\n", (double)stats.n_accepted / stats.n_round,
           (double)stats.n_proposed / stats.n_round);
    assert_true(stats.n_accepted > 2 * stats.n_round);
    glint_session_close(&session);
}

static void test_greedy(void **state) {
    (void)state;
    check_alone(true, plain);
}

// Limits of 1 to 20 tokens, for answers that end before and after them: as many tokens as without
// drafting, nothing held beyond, and no round reaches further than there are tokens to draw.
static void test_limits(void **state) {
    (void)state;
    struct glint_session *session;
    struct glint_error error = {0};
    int n_stopped = 0;
    for (int i = 0; i < n_prompt; i += 3) {
        const struct answer *want = &plain[i];
        must(glint_session_open(&session, engine, &error), &error);
        for (int limit = 1; limit <= 20; limit++) {
            struct glint_draft_stats before = glint_session_draft_stats(session);
            struct answer got = {.n = 0};
            begin(session, i, true, MOST);
            glint_session_expect(session, limit);
            while (draw(session, &got) && got.n < limit)
                must(glint_engine_decode(engine, &session, &got.id[got.n - 1], 1, &error), &error);
            assert_int_equal(got.n, want->n < limit ? want->n : limit);
            assert_memory_equal(got.id, want->id, (size_t)got.n * sizeof got.id[0]);
            int begin_at = (int)prompts.prompt[i].ids.n;
            assert_int_equal(glint_session_length(session), begin_at + got.n - 1);
            assert_memory_equal(glint_session_ids(session) + begin_at, got.id,
                                (size_t)(got.n - 1) * sizeof got.id[0]);
            struct glint_draft_stats after = glint_session_draft_stats(session);
            if (limit < 3) // the last token needs no step, the one before it no proposal
                assert_int_equal(after.n_proposed, before.n_proposed);
            if (after.n_round == before.n_round + 1)
                assert_true(after.n_proposed - before.n_proposed <= limit - 2);
            n_stopped += glint_is_stop(engine, got.id[got.n - 1]);
        }
        glint_session_close(&session);
    }
    assert_true(n_stopped > (GLINT_SANITIZED ? 0 : 20));
}

static void test_sampled(void **state) {
    (void)state;
    check_alone(false, sampled);
}

// Five prompts in one batch. draining: each goes through its right proposals before the next step;
// else all take a token at a time, some with a step and some without.
static void answer_together(struct glint_session **sessions, int first, int n_draft,
                            bool draining) {
    static struct answer got[N_SESSION];
    bool live[N_SESSION];
    struct glint_error error = {0};
    for (int s = 0; s < N_SESSION; s++) {
        begin(sessions[s], first + s, true, n_draft);
        got[s].n = 0;
        live[s] = true;
    }
    for (;;) {
        struct glint_session *waiting[N_SESSION];
        int32_t ids[N_SESSION];
        int n = 0;
        for (int s = 0; s < N_SESSION; s++) {
            bool taken = true;
            while (live[s] && taken) {
                live[s] = draw(sessions[s], &got[s]);
                taken = live[s] && draining &&
                        glint_session_take(sessions[s], got[s].id[got[s].n - 1]);
            }
            if (live[s]) {
                waiting[n] = sessions[s];
                ids[n++] = got[s].id[got[s].n - 1];
            }
        }
        if (n == 0)
            break;
        must(glint_engine_decode(engine, waiting, ids, n, &error), &error);
    }
    for (int s = 0; s < N_SESSION; s++)
        compare(first + s, n_draft, &got[s], &plain[first + s]);
}

static void test_five_together(void **state) {
    (void)state;
    struct glint_session *sessions[N_SESSION];
    struct glint_error error = {0};
    for (int s = 0; s < N_SESSION; s++)
        must(glint_session_open(&sessions[s], engine, &error), &error);
    for (int first = 0; first < n_prompt; first += N_SESSION)
        for (int n_draft = ADAPTIVE; n_draft <= MOST; n_draft++)
            if (tries(first / N_SESSION, n_draft, try_all)) {
                answer_together(sessions, first, n_draft, true);
                if (!try_all || n_draft == ADAPTIVE)
                    answer_together(sessions, first, n_draft, false);
            }
    for (int s = 0; s < N_SESSION; s++)
        glint_session_close(&sessions[s]);
}

// A session goes back and forth over several windows: whatever a session without a drafter can do,
// one with it can, to the same bits.
static void test_walk(void **state) {
    (void)state;
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_engine *without;
    struct glint_session *a, *b;
    struct glint_error error = {0};
    static int32_t ids[300];
    uint32_t random = 7;
    params.model_path = DEMO_MODEL;
    params.n_threads = 2;
    params.n_context = 2048;
    must(glint_engine_open(&without, &params, &error), &error);
    must(glint_session_open(&a, without, &error), &error);
    must(glint_session_open(&b, engine, &error), &error);
    int n_cut = 0;
    for (int i = 0; i < N_WALK; i++) {
        random = random * 1664525u + 1013904223u;
        int held = glint_session_length(a), n = 1 + (int)(random >> 8) % 300;
        assert_int_equal(glint_session_length(b), held);
        for (int k = 0; k < n; k++)
            ids[k] = (int32_t)((random >> 9) + (uint32_t)(k * k)) % 4000;
        if ((held > 0 && i % 3 == 0) || held > 1700) { // back, often across what was proposed
            int length = held > n * 2 ? held - n * 2 : held / 2;
            length = length < 1500 ? length : 1500;
            if (glint_session_truncate(a, length, NULL) != GLINT_OK)
                length = 0;
            must(glint_session_truncate(a, length, &error), &error);
            must(glint_session_truncate(b, length, &error), &error);
            n_cut += length > 0;
            held = length;
        }
        struct glint_eval eval = {.ids = ids, .n = n};
        must(glint_session_eval(a, &eval, &error), &error);
        must(glint_session_eval(b, &eval, &error), &error);
        must(glint_session_set_draft(b, i % (MOST + 1), &error), &error);
        for (int k = 0; k < 12; k++) { // the likeliest token, or now and then another
            assert_memory_equal(glint_session_logits(a), glint_session_logits(b),
                                4096 * sizeof(float));
            struct glint_sample sample;
            struct glint_sampler_options options = options_of(i, true);
            must(glint_session_set_sampler(a, &options, &error), &error);
            must(glint_session_sample(a, &sample, &error), &error);
            int32_t id = k % 5 == 4 ? (sample.id + 1) % 4000 : sample.id;
            must(glint_engine_decode(without, &a, &id, 1, &error), &error);
            must(glint_engine_decode(engine, &b, &id, 1, &error), &error);
        }
    }
    assert_true(n_cut > N_WALK / 6);
    glint_session_close(&a);
    glint_session_close(&b);
    glint_engine_close(&without);
}

int main(int argc, char **argv) {
    try_all = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_five_together),
        cmocka_unit_test(test_walk),
    };
    return cmocka_run_group_tests(tests, start, end);
}
