// SPDX-License-Identifier: Apache-2.0
// test_sampler.c — what is drawn: exact distributions, filters at their edges, penalties by
// formula, log-probabilities, and the same seed giving the same tokens.
#include "sample/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 600, N_DRAWS = 12000 };

static float logits[N];
static struct glint_sampler_scratch *scratch;

static int setup(void **state) {
    (void)state;
    return glint_sampler_scratch_open(&scratch, N, NULL) != GLINT_OK;
}

static int teardown(void **state) {
    (void)state;
    glint_sampler_scratch_close(&scratch);
    return 0;
}

static struct glint_sampler_options plain(void) { // nothing filtered
    struct glint_sampler_options options = glint_sampler_defaults();
    options.top_k = 0;
    options.top_p = 1;
    return options;
}

static struct glint_sampler *open_sampler(const struct glint_sampler_options *options) {
    struct glint_sampler *sampler;
    struct glint_error err = {.text = ""};
    if (glint_sampler_open(&sampler, options, N, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return sampler;
}

static struct glint_sample sample_masked(const struct glint_sampler *sampler,
                                         const uint32_t *allowed) {
    struct glint_sample sample;
    struct glint_error err = {.text = ""};
    float before[N];
    memcpy(before, logits, sizeof before);
    if (glint_sampler_sample(sampler, scratch, logits, allowed, &sample, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(before, logits, sizeof before);
    return sample;
}

static int32_t draw(const struct glint_sampler *sampler) {
    return sample_masked(sampler, NULL).id;
}

static void fill(float low) { // few large ones on a floor
    for (int i = 0; i < N; i++)
        logits[i] = low;
}

// Draws N_DRAWS times and compares with probabilities p [N] by the chi-square statistic; tokens
// expected less than 8 times go into one cell.
static void check_distribution(const struct glint_sampler_options *options, const double *p) {
    struct glint_sampler *sampler = open_sampler(options);
    static int seen[N];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < N_DRAWS; i++) {
        int32_t id = draw(sampler);
        seen[id]++;
        glint_sampler_accept(sampler, id);
    }
    double chi = 0, rest_wanted = 0, rest_seen = 0;
    int n_cells = 0;
    for (int i = 0; i < N; i++) {
        double wanted = p[i] * N_DRAWS;
        if (p[i] == 0)
            assert_int_equal(seen[i], 0);
        if (wanted < 8) {
            rest_wanted += wanted;
            rest_seen += seen[i];
            continue;
        }
        chi += (seen[i] - wanted) * (seen[i] - wanted) / wanted;
        n_cells++;
    }
    if (rest_wanted >= 8) {
        chi += (rest_seen - rest_wanted) * (rest_seen - rest_wanted) / rest_wanted;
        n_cells++;
    }
    // Mean n_cells - 1, variance twice that; five deviations (seeds are fixed).
    double freedom = n_cells > 1 ? n_cells - 1 : 1;
    if (chi > freedom + 5 * sqrt(2 * freedom))
        fail_msg("chi-square %.1f in %d cells", chi, n_cells);
    glint_sampler_close(&sampler);
}

static void normalize(double *p) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += p[i];
    for (int i = 0; i < N; i++)
        p[i] /= sum;
}

static void test_distribution(void **state) {
    (void)state;
    double p[N];
    srand(11);
    for (int i = 0; i < N; i++)
        logits[i] = (float)(rand() % 1000) * 0.008f - 4;
    logits[17] = -INFINITY;
    struct glint_sampler_options options = plain();
    static const float temperatures[] = {1, 0.5f, 2};
    for (int t = 0; t < 3; t++) {
        options.temperature = temperatures[t];
        options.seed = (uint64_t)t;
        for (int i = 0; i < N; i++)
            p[i] = exp((double)logits[i] / (double)temperatures[t]);
        normalize(p);
        check_distribution(&options, p);
    }
}

// Plain version of steps 5 to 8.
static void filtered(const struct glint_sampler_options *options, double *p) {
    bool out[N] = {false};
    int order[N], n = 0;
    for (;;) { // selection sort: logit descending, id ascending
        int best = -1;
        for (int i = 0; i < N; i++)
            if (!out[i] && (best < 0 || logits[i] > logits[best]))
                best = i;
        if (best < 0)
            break;
        out[best] = true;
        order[n++] = best;
    }
    if (options->top_k > 0 && options->top_k < n)
        n = options->top_k;
    double sum = 0, running = 0, max = (double)logits[order[0]];
    for (int i = 0; i < n; i++)
        sum += exp((double)logits[order[i]] - max);
    for (int i = 0; i < n && options->top_p < 1; i++) {
        running += exp((double)logits[order[i]] - max);
        if (running >= (double)options->top_p * sum)
            n = i + 1;
    }
    while (n > 1 && exp((double)logits[order[n - 1]] - max) < (double)options->min_p)
        n--;
    memset(p, 0, N * sizeof *p);
    for (int i = 0; i < n; i++)
        p[order[i]] = exp(((double)logits[order[i]] - max) / (double)options->temperature);
    normalize(p);
}

static void test_filters(void **state) {
    (void)state;
    static const struct {
        int32_t top_k;
        float top_p, min_p, temperature;
    } cases[] = {
        {64, 0.95f, 0, 1},    {1, 1, 0, 1},          {2, 1, 0, 1},       {N, 1, 0, 1},
        {N + 5, 0.9f, 0, 1},  {0, 0.5f, 0, 1},       {0, 0.999f, 0, 1},  {0, 1, 0.1f, 1},
        {40, 1, 0.05f, 1.5f}, {0, 0.9f, 0.3f, 0.7f}, {590, 0.99f, 0, 1}, {0, 1, 1, 1},
    };
    double p[N];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        srand((unsigned)c);
        for (int i = 0; i < N; i++)
            logits[i] = (float)(rand() % 97) * 0.1f; // many ties
        struct glint_sampler_options options = plain();
        options.top_k = cases[c].top_k;
        options.top_p = cases[c].top_p;
        options.min_p = cases[c].min_p;
        options.temperature = cases[c].temperature;
        options.seed = 1000 + c;
        filtered(&options, p);
        check_distribution(&options, p);
    }
}

static void expect_kept(const struct glint_sampler_options *options, const char *kept) {
    struct glint_sampler *sampler = open_sampler(options);
    bool seen[N] = {false};
    for (int i = 0; i < 3000; i++) {
        int32_t id = draw(sampler);
        seen[id] = true;
        glint_sampler_accept(sampler, id);
    }
    for (int i = 0; i < N; i++)
        if (seen[i] != (i < (int)strlen(kept) && kept[i] == '1'))
            fail_msg("token %d: drawn %d", i, seen[i]);
    glint_sampler_close(&sampler);
}

static void test_top_p_edges(void **state) {
    (void)state;
    struct glint_sampler_options options = plain();
    fill(-INFINITY);
    for (int i = 0; i < 4; i++)
        logits[i] = 1; // four of 0.25
    static const struct {
        float top_p;
        const char *kept;
    } cases[] = {{0, "1"},      {1e-9f, "1"},   {0.25f, "1"},    {0.2500001f, "11"}, {0.5f, "11"},
                 {0.6f, "111"}, {0.75f, "111"}, {0.76f, "1111"}, {1, "1111"}};
    for (int top_k = 0; top_k <= 100; top_k += 100)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            options.top_k = top_k;
            options.top_p = cases[i].top_p;
            expect_kept(&options, cases[i].kept);
        }
    options.top_p = 1;
    options.top_k = 3; // a tie: the lowest ids stay
    expect_kept(&options, "111");
}

static void test_min_p_edges(void **state) {
    (void)state;
    struct glint_sampler_options options = plain();
    fill(-40);
    logits[0] = 0;
    logits[1] = logf(0.5f);
    logits[2] = logf(0.2f);
    options.min_p = 0.5001f;
    expect_kept(&options, "1");
    options.min_p = 0.4999f;
    expect_kept(&options, "11");
    options.min_p = 0.1f;
    expect_kept(&options, "111");
    options.min_p = 0.1f;
    options.top_p = 0.7f; // 0.59 + 0.29 reach it
    expect_kept(&options, "11");
}

static void test_greedy(void **state) {
    (void)state;
    struct glint_sampler_options options = glint_sampler_defaults();
    options.temperature = 0;
    struct glint_sampler *sampler = open_sampler(&options);
    fill(-3);
    assert_int_equal(draw(sampler), 0);
    logits[300] = logits[301] = logits[599] = 2;
    assert_int_equal(draw(sampler), 300);
    uint32_t allowed[N / 32 + 1];
    memset(allowed, 255, sizeof allowed);
    allowed[300 / 32] &= ~(3u << 300 % 32);
    assert_int_equal(sample_masked(sampler, allowed).id, 599);
    glint_sampler_close(&sampler);
}

static void test_penalties(void **state) {
    (void)state;
    struct glint_sampler_options options = plain();
    options.repeat_penalty = 1.5f;
    options.presence_penalty = 0.25f;
    options.frequency_penalty = 0.125f;
    options.repeat_last_n = 6;
    fill(-INFINITY);
    logits[0] = 2;
    logits[1] = 2;
    logits[2] = -0.5f;
    logits[3] = 1;
    struct glint_logit_bias bias[] = {{0, 0.25f}, {3, -INFINITY}, {0, 0.25f}};
    options.bias = bias;
    options.n_bias = 3;
    static const int32_t prompt[] = {5, 5, 5, 1, 0, 2, 2, 1, 599};
    double adjusted[N], p[N] = {0};
    // The window holds 1 0 2 2 1 599.
    adjusted[0] = (2 + 0.5) / 1.5 - 0.125 - 0.25;
    adjusted[1] = 2 / 1.5 - 2 * 0.125 - 0.25;
    adjusted[2] = -0.5 * 1.5 - 2 * 0.125 - 0.25;
    for (int i = 0; i < 3; i++)
        p[i] = exp(adjusted[i]);
    normalize(p);
    static int seen[N];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < N_DRAWS; i++) {
        options.seed = (uint64_t)i;
        struct glint_sampler *sampler = open_sampler(&options);
        glint_sampler_prompt(sampler, prompt, 9);
        seen[draw(sampler)]++;
        glint_sampler_close(&sampler);
    }
    for (int i = 0; i < N; i++) {
        double wanted = p[i] * N_DRAWS;
        assert_true(fabs(seen[i] - wanted) <= 5 * sqrt(wanted));
    }
    assert_int_equal(seen[3], 0);
}

// Without penalties no window is kept; with them, tokens leave it.
static void test_window_moves(void **state) {
    (void)state;
    struct glint_sampler_options options = plain();
    options.temperature = 0;
    options.presence_penalty = 5;
    options.repeat_last_n = 2;
    struct glint_sampler *sampler = open_sampler(&options);
    fill(-9);
    logits[4] = 3;
    logits[5] = 2;
    logits[6] = 1;
    static const int32_t wanted[] = {4, 5, 6, 4, 5, 6, 4};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(draw(sampler), wanted[i]);
        glint_sampler_accept(sampler, wanted[i]);
    }
    glint_sampler_rewind(sampler, 5);
    assert_int_equal(glint_sampler_n_accepted(sampler), 2);
    assert_int_equal(draw(sampler), 6);
    glint_sampler_forget(sampler);
    assert_int_equal(draw(sampler), 4);
    glint_sampler_close(&sampler);
}

static void test_seeds(void **state) {
    (void)state;
    enum { LENGTH = 200 };
    srand(5);
    for (int i = 0; i < N; i++)
        logits[i] = (float)(rand() % 100) * 0.05f;
    struct glint_sampler_options options = glint_sampler_defaults();
    options.presence_penalty = 0.5f;
    int32_t first[LENGTH];
    int n_equal_other = 0;
    for (int round = 0; round < 3; round++) {
        options.seed = round < 2 ? 42 : 43;
        struct glint_sampler *sampler = open_sampler(&options);
        for (int i = 0; i < LENGTH; i++) {
            int32_t id = draw(sampler);
            if (round == 0)
                first[i] = id;
            if (round == 1)
                assert_int_equal(id, first[i]);
            n_equal_other += round == 2 && id == first[i];
            glint_sampler_accept(sampler, id);
        }
        glint_sampler_close(&sampler);
    }
    assert_true(n_equal_other < LENGTH / 4);
    // Guessing ahead and taking back leaves no trace.
    options.seed = 42;
    struct glint_sampler *sampler = open_sampler(&options);
    for (int i = 0; i < LENGTH; i++) {
        int n_guesses = i % 16;
        for (int j = 0; j < n_guesses; j++)
            glint_sampler_accept(sampler, (i * 31 + j * 7) % N);
        draw(sampler);
        glint_sampler_rewind(sampler, (size_t)n_guesses);
        assert_int_equal(draw(sampler), first[i]);
        glint_sampler_accept(sampler, first[i]);
    }
    glint_sampler_close(&sampler);
}

static void test_logprobs(void **state) {
    (void)state;
    srand(6);
    for (int i = 0; i < N; i++)
        logits[i] = (float)(rand() % 100) * 0.1f;
    struct glint_sampler_options options = glint_sampler_defaults();
    struct glint_logit_bias bias = {7, 50}; // chosen, yet its own log-probability is reported
    options.bias = &bias;
    options.n_bias = 1;
    options.temperature = 0.3f;
    options.n_logprobs = 20;
    struct glint_sampler *sampler = open_sampler(&options);
    struct glint_sample sample = sample_masked(sampler, NULL);
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += exp((double)logits[i]);
    assert_int_equal(sample.id, 7);
    assert_true(fabs((double)sample.logprob - ((double)logits[7] - log(sum))) < 2e-6);
    assert_int_equal(sample.n_top, 20);
    for (int i = 0; i < 20; i++) {
        double wanted = (double)logits[sample.top[i].id] - log(sum);
        assert_true(fabs((double)sample.top[i].logprob - wanted) < 2e-6);
        int n_better = 0; // in the order of step 5
        for (int j = 0; j < N; j++)
            n_better += logits[j] > logits[sample.top[i].id] ||
                        (logits[j] == logits[sample.top[i].id] && j < sample.top[i].id);
        assert_int_equal(n_better, i);
    }
    glint_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distribution), cmocka_unit_test(test_filters),
        cmocka_unit_test(test_top_p_edges),  cmocka_unit_test(test_min_p_edges),
        cmocka_unit_test(test_greedy),       cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_window_moves), cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_logprobs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
