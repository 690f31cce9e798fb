// SPDX-License-Identifier: Apache-2.0
// test_mini.c — the shipped demo model means what it should: from twenty held-out prompts (tool
// calls, sums, talk, a long text; ten of them about a picture) it goes on with the very tokens that
// the official implementation gives on the unquantized weights. And on the very weights that the
// shipped files hold (decoded.safetensors: tools/demo/official_outputs.py) the logits agree too.
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

enum { N_PROMPT = 20, N_NEW = 24 };

static struct glint_vision *open_vision(bool exact) {
    struct glint_vision *vision;
    struct glint_error error = {0};
    struct glint_vision_params params = {
        .path = "../models/glimmer-mini-mmproj.gguf", .n_threads = 2, .exact_activations = exact};
    if (glint_vision_open(&vision, &params, &error) != GLINT_OK)
        fail_msg("%s", error.text);
    return vision;
}

// The picture of prompt k, or NULL when it has none.
static struct glint_picture *open_picture(const struct golden *golden, struct glint_vision *vision,
                                          int k) {
    char name[32];
    struct glint_picture_source source = {.name = name};
    struct glint_picture *picture;
    struct glint_error error = {0};
    snprintf(name, sizeof name, "%d.rgb", k);
    if (!golden_has(golden, name))
        return NULL;
    source.rgb = golden_rgb(golden, name, &source.height, &source.width);
    if (glint_picture_open(&picture, vision, &source, &error) != GLINT_OK)
        fail_msg("%s", error.text);
    return picture;
}

// Greedy continuation of prompt k against the official tokens.
static void check_greedy(const struct golden *answers, struct glint_engine *engine,
                         const struct golden_prompt *prompt, int k) {
    char name[32];
    int n_new;
    int32_t out[N_NEW];
    snprintf(name, sizeof name, "%d.greedy", k);
    const int32_t *expected = golden_ids(answers, name, &n_new);
    assert_in_range(n_new, 1, N_NEW);
    golden_greedy(engine, prompt, n_new, 0, out);
    for (int i = 0; i < n_new; i++)
        if (out[i] != expected[i])
            fail_msg("prompt %d: token %d is %d, expected %d", k, i, (int)out[i], (int)expected[i]);
}

static void check_logits(const struct golden *answers, struct glint_engine *engine,
                         const struct golden_prompt *prompt, int k) {
    char name[32];
    int n_row, n_vocab;
    snprintf(name, sizeof name, "%d.logits", k);
    const float *want = golden_rows(answers, name, &n_row, &n_vocab);
    struct golden_result got = golden_eval(engine, prompt, 0);
    float largest = 0;
    for (int i = 0; i < n_row; i++) {
        const float *a = got.logits + (size_t)(prompt->n - n_row + i) * (size_t)n_vocab;
        const float *b = want + (size_t)i * (size_t)n_vocab;
        int best_a = 0, best_b = 0;
        for (int id = 0; id < n_vocab; id++) {
            if (!(fabsf(a[id] - b[id]) <= (float)GLINT_TOLERANCE_LOGIT_LARGEST))
                fail_msg("%s: row %d, token %d: got %g, official %g", name, i, id, (double)a[id],
                         (double)b[id]);
            largest = fmaxf(largest, fabsf(a[id] - b[id]));
            best_a = a[id] > a[best_a] ? id : best_a;
            best_b = b[id] > b[best_b] ? id : best_b;
        }
        if (best_a != best_b)
            fail_msg("%s: row %d: likeliest token %d, official %d", name, i, best_a, best_b);
    }
    print_message("%s: largest difference %.1e\n", name, (double)largest);
    golden_result_free(&got);
}

typedef void (*check_fn)(const struct golden *answers, struct glint_engine *engine,
                         const struct golden_prompt *prompt, int k);

// Runs check on every prompt; `answers` is a file of official outputs.
static void check_prompts(const char *answers_path, bool exact, check_fn check) {
    struct golden prompts = {.shape = "mini", .gguf = "../models/glimmer-mini.gguf"};
    struct golden answers = prompts;
    struct glint_error error = {0};
    if (glint_safetensors_open(&prompts.golden, "golden/mini/golden.safetensors", &error) ||
        glint_safetensors_open(&answers.golden, answers_path, &error))
        fail_msg("%s", error.text);
    struct glint_engine_params params = golden_params(&prompts, NULL);
    params.exact_activations = exact;
    if (!exact)
        params.cache_type_k = params.cache_type_v = "f16";
    struct glint_engine *engine = golden_engine(&params);
    struct glint_vision *vision = open_vision(exact);
    for (int k = 0; k < N_PROMPT; k += GLINT_SANITIZED ? 20 : 1) {
        char name[32];
        snprintf(name, sizeof name, "%d.ids", k);
        struct golden_prompt prompt = {.picture = open_picture(&prompts, vision, k)};
        prompt.ids = golden_ids(&prompts, name, &prompt.n);
        check(&answers, engine, &prompt, k);
        glint_picture_close(&prompt.picture);
    }
    glint_vision_close(&vision);
    glint_engine_close(&engine);
    glint_safetensors_close(&prompts.golden); // golden_close would remove the shipped file
    glint_safetensors_close(&answers.golden);
}

// The unquantized weights' tokens, with int8 and with float32 activations.
static void test_greedy(void **state) {
    (void)state;
    check_prompts("golden/mini/golden.safetensors", false, check_greedy);
    check_prompts("golden/mini/golden.safetensors", true, check_greedy);
}

// The very weights that the shipped files hold, in float32: logits, and tokens.
static void test_official(void **state) {
    (void)state;
    check_prompts("golden/mini/decoded.safetensors", true, check_logits);
    check_prompts("golden/mini/decoded.safetensors", true, check_greedy);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_greedy),
                                       cmocka_unit_test(test_official)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
