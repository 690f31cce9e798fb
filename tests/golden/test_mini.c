// SPDX-License-Identifier: Apache-2.0
// test_mini.c — the shipped demo model means what it should: from twenty held-out prompts (tool
// calls, sums, talk, a long text; ten of them about a picture) it goes on with the very tokens that
// the official implementation gives on the unquantized weights.
#include "golden/golden_fixture.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
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

static void check_prompts(struct golden *golden, bool exact) {
    struct glint_engine_params params = golden_params(golden, NULL);
    params.exact_activations = exact;
    if (!exact)
        params.cache_type_k = params.cache_type_v = "f16";
    struct glint_engine *engine = golden_engine(&params);
    struct glint_vision *vision = open_vision(exact);
    for (int k = 0; k < N_PROMPT; k++) {
        char name[32];
        int n, n_new;
        snprintf(name, sizeof name, "%d.ids", k);
        const int32_t *ids = golden_ids(golden, name, &n);
        snprintf(name, sizeof name, "%d.greedy", k);
        const int32_t *expected = golden_ids(golden, name, &n_new);
        assert_in_range(n_new, 1, N_NEW);
        int32_t out[N_NEW];
        struct glint_picture *picture = open_picture(golden, vision, k);
        golden_greedy(engine, &(struct golden_prompt){ids, n, picture}, n_new, 0, out);
        glint_picture_close(&picture);
        for (int i = 0; i < n_new; i++)
            if (out[i] != expected[i])
                fail_msg("prompt %d: token %d is %d, expected %d", k, i, (int)out[i],
                         (int)expected[i]);
    }
    glint_vision_close(&vision);
    glint_engine_close(&engine);
}

static void test_greedy(void **state) {
    (void)state;
    struct golden golden = {.shape = "mini", .gguf = "../models/glimmer-mini.gguf"};
    struct glint_error error = {0};
    if (glint_safetensors_open(&golden.golden, "golden/mini/golden.safetensors", &error))
        fail_msg("%s", error.text);
    check_prompts(&golden, false);
    check_prompts(&golden, true);
    glint_safetensors_close(&golden.golden); // golden_close would remove the shipped file
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_greedy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
