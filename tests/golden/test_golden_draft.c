// SPDX-License-Identifier: Apache-2.0
// test_golden_draft.c — the drafter against the official implementation: its rows and proposals,
// and the proposals of every round of the official assisted generation, at every tier; then that
// drafted text is the official text for every number of proposals. Limits: docs/numerics.md.
#include "cpu/cpu.h"
#include "golden/golden_fixture.h"
#include "sanitized.h"
#include "tolerance.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_ROUND = 4, N_TEXT = 4, N_PROMPT = 20, N_ANSWER = 64, N_WINDOW = 256, BLOCK = 16, MAX_WIDTH = 512 };

static void check(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

struct hidden {
    float row[BLOCK][MAX_WIDTH];
    int n, width;
};

static void keep_row(void *user, int i, const float *row) {
    struct hidden *hidden = user;
    assert_true(i < BLOCK && hidden->width <= MAX_WIDTH);
    memcpy(hidden->row[i], row, (size_t)hidden->width * sizeof *row);
    hidden->n = i + 1;
}

static void compare_hidden(const struct golden *golden, int round, const struct hidden *hidden) {
    char name[32];
    int n, width;
    snprintf(name, sizeof name, "draft.%d.hidden", round);
    const float *expected = golden_rows(golden, name, &n, &width);
    assert_int_equal(n, hidden->n);
    assert_int_equal(width, hidden->width);
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double largest = 0, scale = 0;
        for (int j = 0; j < width; j++) {
            double e = expected[(size_t)i * (size_t)width + (size_t)j];
            largest = fmax(largest, fabs(e - (double)hidden->row[i][j]));
            scale = fmax(scale, fabs(e));
        }
        worst = fmax(worst, largest / scale);
        if (!(largest <= GLINT_TOLERANCE_HIDDEN * scale))
            fail_msg("round %d: row %d differs by %g of %g", round, i, largest, scale);
    }
    printf("    round %d: largest relative difference %.2e\n", round, worst);
}

// A fresh session that holds the first n - 1 of these ids proposes after the n-th.
static void propose(struct glint_engine *engine, const int32_t *ids, int n, int32_t *out,
                    struct hidden *hidden) {
    struct glint_session *session;
    struct glint_error error = {0};
    struct glint_proposals proposals = {.anchor = ids[n - 1],
                                        .n = BLOCK - 1,
                                        .ids = out,
                                        .on_hidden = hidden ? keep_row : NULL,
                                        .user = hidden};
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_sync(session, ids, n - 1, NULL, &error), &error);
    check(glint_session_propose(session, &proposals, &error), &error);
    glint_session_close(&session);
}

static void check_tier(const char *type, const char *tier) {
    struct golden golden;
    golden_open(&golden, "nano", type);
    golden_convert(&golden, "assistant");
    struct glint_engine_params params = golden_params(&golden, tier);
    params.draft_path = golden.part;
    struct glint_engine *engine = golden_engine(&params);
    struct glint_engine_info info = glint_engine_info(engine);
    printf("  %s, %s\n", type, info.tier);
    assert_int_equal(info.n_draft, BLOCK - 1);
    int n_all, n;
    const int32_t *all = golden_ids(&golden, "greedy.ids", &n_all);
    static struct hidden hidden;
    for (int r = 0; r < N_ROUND; r++) {
        char name[32];
        int32_t out[BLOCK - 1];
        snprintf(name, sizeof name, "draft.%d.tokens_known", r);
        int n_known = golden_ids(&golden, name, &n)[0];
        hidden = (struct hidden){.width = info.width};
        propose(engine, all, n_known, out, &hidden);
        compare_hidden(&golden, r, &hidden);
        snprintf(name, sizeof name, "draft.%d.ids", r);
        assert_memory_equal(out, golden_ids(&golden, name, &n), sizeof out);
        propose(engine, all, n_known, out, NULL); // without looking at rows
        assert_memory_equal(out, golden_ids(&golden, name, &n), sizeof out);
    }
    const int32_t *assisted = golden_ids(&golden, "assisted.ids", &n_all);
    char name[32];
    int n_round = 0;
    for (; snprintf(name, sizeof name, "assisted.round.%d", n_round), golden_has(&golden, name);
         n_round++) {
        int32_t out[BLOCK - 1];
        const int32_t *round = golden_ids(&golden, name, &n);
        if (GLINT_SANITIZED && n_round % 6 != 0)
            continue;
        propose(engine, assisted, round[0], out, NULL);
        assert_memory_equal(out, round + 1, ((size_t)n - 1) * sizeof *out);
    }
    assert_true(n_round > 10);
    glint_engine_close(&engine);
    golden_close(&golden);
}

static void test_every_tier(void **state) {
    (void)state;
    for (size_t t = 0; glint_cpu_tier_at(t); t += GLINT_SANITIZED ? 3 : 1)
        check_tier("f32", glint_cpu_tier_at(t));
    check_tier("bf16", NULL);
}

// The official assisted generation, round by round: one session goes on through all of them, with
// most proposals refused, and proposes each time what the official drafter did.
static void test_rounds_in_one_session(void **state) {
    (void)state;
    struct golden golden;
    golden_open(&golden, "nano", "bf16");
    golden_convert(&golden, "assistant");
    struct glint_engine_params params = golden_params(&golden, NULL);
    params.draft_path = golden.part;
    struct glint_engine *engine = golden_engine(&params);
    struct glint_session *session;
    struct glint_error error = {0};
    int n_all, n;
    const int32_t *all = golden_ids(&golden, "assisted.ids", &n_all);
    int n_known = golden_ids(&golden, "assisted.round.0", &n)[0], n_round = 0;
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_set_draft(session, BLOCK - 1, &error), &error);
    check(glint_session_sync(session, all, n_known - 1, NULL, &error), &error);
    for (; n_known < n_all; n_known++) {
        char name[32];
        int32_t out[BLOCK - 1], anchor = all[n_known - 1];
        struct glint_proposals proposals = {.anchor = anchor, .n = BLOCK - 1, .ids = out};
        snprintf(name, sizeof name, "assisted.round.%d", n_round);
        const int32_t *round = golden_has(&golden, name) ? golden_ids(&golden, name, &n) : NULL;
        if (round && round[0] == n_known) {
            check(glint_session_propose(session, &proposals, &error), &error);
            assert_memory_equal(out, round + 1, ((size_t)n - 1) * sizeof *out);
            n_round++;
        }
        check(glint_engine_decode(engine, &session, &anchor, 1, &error), &error);
    }
    assert_true(n_round > 10);
    struct glint_draft_stats stats = glint_session_draft_stats(session);
    assert_true(stats.n_round >= n_round - 1 && stats.n_accepted < stats.n_proposed);
    glint_session_close(&session);
    glint_engine_close(&engine);
    golden_close(&golden);
}

static void test_same_text(void **state) {
    (void)state;
    struct golden golden;
    golden_open(&golden, "nano", "bf16");
    golden_convert(&golden, "assistant");
    struct glint_engine_params params = golden_params(&golden, NULL);
    params.draft_path = golden.part;
    struct glint_engine *engine = golden_engine(&params);
    int n, n_all;
    golden_ids(&golden, "text.ids", &n);
    const int32_t *all = golden_ids(&golden, "greedy.ids", &n_all);
    struct glint_sampler_options greedy = {.top_p = 1, .repeat_penalty = 1};
    for (int k = -1; k < BLOCK; k += GLINT_SANITIZED ? 4 : 1) {
        struct glint_session *session;
        struct glint_error error = {0};
        check(glint_session_open(&session, engine, &error), &error);
        check(glint_session_set_sampler(session, &greedy, &error), &error);
        check(glint_session_set_draft(session, k, &error), &error);
        glint_session_expect(session, n_all - n);
        check(glint_session_sync(session, all, n, NULL, &error), &error);
        for (int i = n; i < n_all; i++) {
            struct glint_sample sample;
            check(glint_session_sample(session, &sample, &error), &error);
            assert_int_equal(sample.id, all[i]);
            check(glint_engine_decode(engine, &session, &sample.id, 1, &error), &error);
        }
        assert_int_equal(glint_session_length(session), n_all);
        glint_session_close(&session);
    }
    glint_engine_close(&engine);
    golden_close(&golden);
}

// ---- long texts -----------------------------------------------------------------------------

// One session goes through a text of the official generator: its tokens, and its proposals in each
// of its rounds. moved: every so often past three windows another session takes its place, which
// has nothing but what was kept of it.
struct long_run {
    struct golden *golden;
    struct glint_engine *engine;
    int i_text;
    bool moved;
    struct glint_session *session;
    struct glint_draft_stats before; // of sessions that it was moved from
    int n_move;
};

static struct glint_session *open_greedy(struct glint_engine *engine) {
    struct glint_session *session;
    struct glint_error error = {0};
    struct glint_sampler_options greedy = {.top_p = 1, .repeat_penalty = 1};
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_set_sampler(session, &greedy, &error), &error);
    check(glint_session_set_draft(session, BLOCK - 1, &error), &error);
    return session;
}

static void add_stats(struct glint_draft_stats *sum, const struct glint_session *session) {
    struct glint_draft_stats stats = glint_session_draft_stats(session);
    sum->n_round += stats.n_round;
    sum->n_proposed += stats.n_proposed;
    sum->n_accepted += stats.n_accepted;
}

static void move(struct long_run *run, const int32_t *all) {
    struct glint_session *other = open_greedy(run->engine);
    struct glint_error error = {0};
    struct glint_resumed resumed;
    int held = glint_session_length(run->session);
    check(glint_session_keep(run->session, held, &error), &error);
    add_stats(&run->before, run->session);
    // What follows must not depend on the session that was kept.
    check(glint_session_truncate(run->session, 0, &error), &error);
    check(glint_session_sync(run->session, all, 1, NULL, &error), &error);
    check(glint_session_resume(other, 0, all, held + 1, &resumed, &error), &error);
    assert_int_equal(resumed.n_kept, held);
    glint_session_close(&run->session);
    run->session = other;
    run->n_move++;
}

static struct glint_draft_stats run_long_text(struct long_run *run) {
    char name[32];
    int n, n_all, i_round = 0;
    struct glint_error error = {0};
    snprintf(name, sizeof name, "%d.ids", run->i_text);
    const int32_t *all = golden_ids(run->golden, name, &n_all);
    snprintf(name, sizeof name, "%d.prompt", run->i_text);
    int n_prompt = golden_ids(run->golden, name, &n)[0];
    run->session = open_greedy(run->engine);
    check(glint_session_sync(run->session, all, n_prompt, NULL, &error), &error);
    int n_end = GLINT_SANITIZED ? n_prompt + 30 : n_all;
    for (int known = n_prompt + 1; known <= n_end; known++) {
        struct glint_sample sample;
        check(glint_session_sample(run->session, &sample, &error), &error);
        assert_int_equal(sample.id, all[known - 1]);
        snprintf(name, sizeof name, "%d.round.%d", run->i_text, i_round);
        const int32_t *round =
            golden_has(run->golden, name) ? golden_ids(run->golden, name, &n) : NULL;
        if (round && round[0] == known) {
            int32_t out[BLOCK - 1];
            struct glint_proposals proposals = {.anchor = sample.id, .n = BLOCK - 1, .ids = out};
            if (run->moved && known > 3 * N_WINDOW && i_round % 6 == 0)
                move(run, all);
            check(glint_session_propose(run->session, &proposals, &error), &error);
            assert_memory_equal(out, round + 1, ((size_t)n - 1) * sizeof *out);
            i_round++;
        }
        check(glint_engine_decode(run->engine, &run->session, &sample.id, 1, &error), &error);
    }
    add_stats(&run->before, run->session);
    glint_session_close(&run->session);
    struct glint_draft_stats stats = run->before;
    printf("    text %d: %d tokens, %d official rounds, %d ours, %d right of %d, moved %d times\n",
           run->i_text, n_all, i_round, (int)stats.n_round, (int)stats.n_accepted,
           (int)stats.n_proposed, run->n_move);
    snprintf(name, sizeof name, "%d.round.%d", run->i_text, i_round);
    assert_true(n_end < n_all || !golden_has(run->golden, name));
    // A round of ours ends with the first stop token it proposes, so there may be a few more.
    assert_true(stats.n_round <= i_round + i_round / 16);
    return stats;
}

// The demo model on held-out texts that end past three windows, most of them beyond the end of the
// turn, where the drafter is often wrong: the official generator's text, proposals and number of
// rounds. Kept and gone on with in other sessions: the same, and as many proposals right.
static void test_long_texts(void **state) {
    (void)state;
    struct golden golden = {.shape = "mini", .gguf = "../models/glimmer-mini.gguf"};
    struct glint_error error = {0};
    check(glint_safetensors_open(&golden.golden, "golden/mini/rounds.safetensors", &error), &error);
    struct glint_engine_params params = golden_params(&golden, NULL);
    params.draft_path = "../models/glimmer-mini-draft.gguf";
    params.n_session = 2;
    params.n_cache = 2 * params.n_context;
    params.n_checkpoint = 1;
    struct glint_engine *engine = golden_engine(&params);
    assert_int_equal(glint_engine_info(engine).window, N_WINDOW);
    for (int k = 0; k < N_TEXT; k += GLINT_SANITIZED ? N_TEXT : 1) {
        struct long_run whole = {.golden = &golden, .engine = engine, .i_text = k};
        struct glint_draft_stats stats = run_long_text(&whole);
        if (k != 2)
            continue;
        struct long_run moved = {.golden = &golden, .engine = engine, .i_text = k, .moved = true};
        struct glint_draft_stats again = run_long_text(&moved);
        assert_true(moved.n_move > 2);
        assert_int_equal(again.n_round, stats.n_round);
        assert_int_equal(again.n_proposed, stats.n_proposed);
        assert_int_equal(again.n_accepted, stats.n_accepted);
    }
    glint_engine_close(&engine);
    glint_safetensors_close(&golden.golden);
}

// What drafting gained over some prompts.
struct gain {
    int n_round, n_taken;
};

// The shipped model's answers to held-out prompts, ten of them about a picture, whose rows stand in
// the place of tokens: the tokens of an undrafted session and the bits of their logits.
static void answer_both_ways(struct glint_engine *engine, const struct golden_prompt *prompt,
                             struct gain *gain) {
    struct glint_session *plain, *drafted;
    struct glint_error error = {0};
    struct glint_sampler_options greedy = {.top_p = 1, .repeat_penalty = 1};
    struct glint_session **both[] = {&plain, &drafted};
    size_t n_vocab = (size_t)glint_engine_info(engine).n_vocab;
    for (int i = 0; i < 2; i++) {
        check(glint_session_open(both[i], engine, &error), &error);
        check(glint_session_set_draft(*both[i], i == 0 ? 0 : BLOCK - 1, &error), &error);
        check(glint_session_set_sampler(*both[i], &greedy, &error), &error);
        if (prompt->picture)
            check(glint_session_set_pictures(*both[i], &prompt->picture, 1, &error), &error);
        check(glint_session_sync(*both[i], prompt->ids, prompt->n, NULL, &error), &error);
    }
    for (int i = 0; i < N_ANSWER; i++) {
        struct glint_sample sample, other;
        assert_memory_equal(glint_session_logits(plain), glint_session_logits(drafted),
                            n_vocab * sizeof(float));
        check(glint_session_sample(plain, &sample, &error), &error);
        check(glint_session_sample(drafted, &other, &error), &error);
        assert_int_equal(sample.id, other.id);
        if (glint_is_stop(engine, sample.id))
            break;
        check(glint_engine_decode(engine, &plain, &sample.id, 1, &error), &error);
        check(glint_engine_decode(engine, &drafted, &sample.id, 1, &error), &error);
    }
    struct glint_draft_stats stats = glint_session_draft_stats(drafted);
    gain->n_round += (int)stats.n_round;
    gain->n_taken += (int)stats.n_accepted;
    glint_session_close(&plain);
    glint_session_close(&drafted);
}

static void test_pictures(void **state) {
    (void)state;
    struct golden golden = {.shape = "mini", .gguf = "../models/glimmer-mini.gguf"};
    struct glint_error error = {0};
    check(glint_safetensors_open(&golden.golden, "golden/mini/golden.safetensors", &error), &error);
    struct glint_engine_params params = golden_params(&golden, NULL);
    params.exact_activations = false;
    params.draft_path = "../models/glimmer-mini-draft.gguf";
    params.n_session = 2;
    params.n_cache = 2 * params.n_context;
    struct glint_engine *engine = golden_engine(&params);
    struct glint_vision *vision;
    struct glint_vision_params vision_params = {.path = "../models/glimmer-mini-mmproj.gguf",
                                                .n_threads = 1};
    check(glint_vision_open(&vision, &vision_params, &error), &error);
    struct gain gains[2] = {{0}}; // text, pictures
    for (int k = 0; k < N_PROMPT; k += GLINT_SANITIZED ? 6 : 1) {
        char name[32];
        struct golden_prompt prompt = {.picture = NULL};
        snprintf(name, sizeof name, "%d.ids", k);
        prompt.ids = golden_ids(&golden, name, &prompt.n);
        struct glint_picture_source source = {.name = name};
        snprintf(name, sizeof name, "%d.rgb", k);
        if (golden_has(&golden, name)) {
            source.rgb = golden_rgb(&golden, name, &source.height, &source.width);
            check(glint_picture_open(&prompt.picture, vision, &source, &error), &error);
        }
        answer_both_ways(engine, &prompt, &gains[prompt.picture != NULL]);
        glint_picture_close(&prompt.picture);
    }
    double right[2];
    for (int i = 0; i < 2; i++)
        right[i] = (double)gains[i].n_taken / gains[i].n_round;
    printf("    text: %.2f right a round of %d; with pictures: %.2f of %d\n", right[0],
           gains[0].n_round, right[1], gains[1].n_round);
    assert_true(right[1] > 1);
    if (!GLINT_SANITIZED)
        assert_true(right[1] >= right[0]);
    glint_vision_close(&vision);
    glint_engine_close(&engine);
    glint_safetensors_close(&golden.golden); // golden_close would remove the shipped file
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tier),
        cmocka_unit_test(test_rounds_in_one_session),
        cmocka_unit_test(test_same_text),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
