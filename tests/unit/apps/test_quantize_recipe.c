// SPDX-License-Identifier: Apache-2.0
// Recipes on the tensors of the released models: counts and sizes as published; patterns.
#include "quantize_recipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct tally {
    int n[32];      // matrices by dtype
    uint64_t bytes; // of matrices
};

static void count(struct tally *tally, const char *recipe_name, const char *architecture,
                  const char *name, uint64_t n_values) {
    struct glint_quantize_recipe recipe;
    struct glint_quantize_tensor tensor = {architecture, name, 2, 52};
    assert_true(glint_quantize_recipe_find(recipe_name, &recipe));
    assert_true(glint_quantize_is_matrix(&tensor));
    enum glint_dtype dtype = recipe.choose(&recipe, &tensor);
    tally->n[dtype]++;
    tally->bytes += glint_dtype_bytes(dtype, n_values);
}

static const struct {
    const char *name;
    uint64_t n_values;
} layer_matrices[] = {
    {"attn_q", 6656 * 4096},    {"attn_k", 6656 * 256},       {"attn_v", 6656 * 256},
    {"attn_gate", 6656 * 4096}, {"attn_output", 4096 * 6656}, {"ffn_gate", 6656 * 19968},
    {"ffn_up", 6656 * 19968},   {"ffn_down", 19968 * 6656},
};

static struct tally count_text(const char *recipe) {
    struct tally tally = {{0}, 0};
    char name[64];
    count(&tally, recipe, "muse-glimmer", "token_embd.weight", UINT64_C(6656) * 202048);
    count(&tally, recipe, "muse-glimmer", "output.weight", UINT64_C(6656) * 202048);
    for (int layer = 0; layer < 52; layer++) {
        for (size_t i = 0; i < 8; i++) {
            snprintf(name, sizeof name, "blk.%d.%s.weight", layer, layer_matrices[i].name);
            count(&tally, recipe, "muse-glimmer", name, layer_matrices[i].n_values);
        }
    }
    return tally;
}

// Bytes of the published files that are not weight matrices: norms, header, vocabulary.
enum { OTHER_BYTES = 13116544 + 4 * (52 * (4 * 6656 + 2 * 128) + 6656) };

static void test_17gb_is_the_published_file(void **state) {
    (void)state;
    struct tally tally = count_text("kquant-17gb");
    assert_int_equal(tally.n[GLINT_DTYPE_Q4_K], 365);
    assert_int_equal(tally.n[GLINT_DTYPE_Q5_K], 1);
    assert_int_equal(tally.n[GLINT_DTYPE_Q6_K], 52);
    assert_true(tally.bytes + OTHER_BYTES == UINT64_C(16756683904));
}

static void test_dynamic_has_the_published_size(void **state) {
    (void)state;
    struct tally tally = count_text("kquant-dynamic");
    assert_int_equal(
        tally.n[GLINT_DTYPE_Q4_K] + tally.n[GLINT_DTYPE_Q5_K] + tally.n[GLINT_DTYPE_Q6_K], 418);
    double share = (double)(tally.bytes + OTHER_BYTES) / 19653960832.0;
    assert_true(share > 0.99 && share < 1.01);
}

static void test_q4_k_m_keeps_more_of_output(void **state) {
    (void)state;
    struct tally tally = count_text("Q4_K_M");
    assert_int_equal(tally.n[GLINT_DTYPE_Q4_K], 365);
    assert_int_equal(tally.n[GLINT_DTYPE_Q6_K], 53);
}

static void test_drafter_and_vision_are_the_published_files(void **state) {
    (void)state;
    static const char *const drafter[] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                          "ffn_gate", "ffn_up", "ffn_down"};
    static const char *const vision[] = {"attn_q",   "attn_k", "attn_v",
                                         "attn_out", "ffn_up", "ffn_down"};
    struct tally tally = {{0}, 0};
    char name[64];
    count(&tally, "kquant-17gb", "dflash", "fc.weight", 256);
    for (int i = 0; i < 5 * 7; i++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", i / 7, drafter[i % 7]);
        count(&tally, "kquant-17gb", "dflash", name, 256);
    }
    assert_int_equal(tally.n[GLINT_DTYPE_Q4_K], 26);
    assert_int_equal(tally.n[GLINT_DTYPE_Q6_K], 10);
    tally = (struct tally){{0}, 0};
    for (int i = 0; i < 50 * 6; i++) {
        snprintf(name, sizeof name, "v.blk.%d.%s.weight", i / 6, vision[i % 6]);
        count(&tally, "kquant-17gb", "clip", name, 256);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "mm.%d.weight", i);
        count(&tally, "kquant-17gb", "clip", name, 256);
    }
    assert_int_equal(tally.n[GLINT_DTYPE_Q4_K], 200);
    assert_int_equal(tally.n[GLINT_DTYPE_Q6_K], 100);
    assert_int_equal(tally.n[GLINT_DTYPE_BF16], 3);
}

static void test_what_is_a_matrix(void **state) {
    (void)state;
    struct glint_quantize_tensor tensor = {"clip", "v.patch_embd.weight", 4, 50};
    assert_false(glint_quantize_is_matrix(&tensor));
    tensor = (struct glint_quantize_tensor){"clip", "v.position_embd.weight", 2, 50};
    assert_false(glint_quantize_is_matrix(&tensor));
    tensor = (struct glint_quantize_tensor){"muse-glimmer", "output_norm.weight", 1, 52};
    assert_false(glint_quantize_is_matrix(&tensor));
    tensor = (struct glint_quantize_tensor){"clip", "v.blk.0.attn_q.bias", 1, 50};
    assert_false(glint_quantize_is_matrix(&tensor));
}

static void test_plain_types(void **state) {
    (void)state;
    struct glint_quantize_recipe recipe;
    struct glint_quantize_tensor tensor = {"muse-glimmer", "output.weight", 2, 52};
    for (size_t i = 0; glint_dtype_at(i) != NULL; i++) {
        assert_true(glint_quantize_recipe_find(glint_dtype_at(i)->name, &recipe));
        assert_int_equal(recipe.choose(&recipe, &tensor), glint_dtype_at(i)->dtype);
    }
    assert_true(glint_quantize_recipe_find("Q8_0", &recipe));
    assert_int_equal(recipe.file_type, 7);
    assert_false(glint_quantize_recipe_find("q4_k_l", &recipe));
    assert_false(glint_quantize_recipe_find("", &recipe));
}

static void test_patterns(void **state) {
    (void)state;
    assert_true(glint_quantize_matches("", ""));
    assert_true(glint_quantize_matches("*", ""));
    assert_true(glint_quantize_matches("*", "blk.0.attn_q.weight"));
    assert_true(glint_quantize_matches("blk.*.attn_?.weight", "blk.10.attn_q.weight"));
    assert_true(glint_quantize_matches("*attn*attn*", "attn.attn"));
    assert_true(glint_quantize_matches("a*b*c", "axxbxbxc"));
    assert_false(glint_quantize_matches("", "a"));
    assert_false(glint_quantize_matches("a", ""));
    assert_false(glint_quantize_matches("?", ""));
    assert_false(glint_quantize_matches("blk.*.attn_?.weight", "blk.10.attn_output.weight"));
    assert_false(glint_quantize_matches("attn", "attn.weight"));
    // The one that is exponential for matchers that try every split.
    char name[200];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(glint_quantize_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_17gb_is_the_published_file),
        cmocka_unit_test(test_dynamic_has_the_published_size),
        cmocka_unit_test(test_q4_k_m_keeps_more_of_output),
        cmocka_unit_test(test_drafter_and_vision_are_the_published_files),
        cmocka_unit_test(test_what_is_a_matrix),
        cmocka_unit_test(test_plain_types),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
