// SPDX-License-Identifier: Apache-2.0
// quantize_recipe.c — recipes as functions of a tensor's name. The three mixes reproduce what is
// known of the released files (counts and sizes are tested); a type's name is a recipe too.
#include "quantize_recipe.h"

#include <stdio.h>
#include <string.h>

const char glint_quantize_recipe_names[] = "kquant-17gb, kquant-dynamic, q4_k_m";

bool glint_quantize_matches(const char *pattern, const char *name) {
    const char *star = NULL, *resume = NULL; // the last `*`, and where its run may grow
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool glint_quantize_is_matrix(const struct glint_quantize_tensor *tensor) {
    return tensor->n_dims >= 2 && glint_quantize_matches("*.weight", tensor->name) &&
           strcmp(tensor->name, "v.patch_embd.weight") != 0 &&
           strcmp(tensor->name, "v.patch_embd_frames.weight") != 0 &&
           strcmp(tensor->name, "v.position_embd.weight") != 0;
}

static enum glint_dtype choose_base(const struct glint_quantize_recipe *recipe,
                                    const struct glint_quantize_tensor *tensor) {
    (void)tensor;
    return recipe->base;
}

// Layer number of "blk.7.x" or "v.blk.7.x"; -1 outside layers.
static int layer_of(const char *name) {
    unsigned layer;
    name += strncmp(name, "v.", 2) == 0 ? 2 : 0;
    return sscanf(name, "blk.%5u.", &layer) == 1 ? (int)layer : -1;
}

static bool is_leaf(const struct glint_quantize_tensor *tensor, const char *leaf) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "*blk.*.%s.weight", leaf);
    return glint_quantize_matches(pattern, tensor->name);
}

// The layers that llama.cpp's mixes spend more bits on: the first and the last eighth, and every
// third between.
static bool is_rich_layer(const struct glint_quantize_tensor *tensor) {
    int layer = layer_of(tensor->name), n = (int)tensor->n_layer, eighth = n / 8;
    return layer < eighth || layer >= 7 * n / 8 || (layer - eighth) % 3 == 2;
}

// Text: attn_v and ffn_down of rich layers Q6_K, output its own type, all else Q4_K. Drafter and
// vision: attn_v and ffn_down of every layer Q6_K, the projector BF16.
static enum glint_dtype choose_mixed(const struct glint_quantize_tensor *tensor,
                                     enum glint_dtype output) {
    bool is_text = strcmp(tensor->architecture, "muse-glimmer") == 0;
    if (glint_quantize_matches("mm.*", tensor->name))
        return GLINT_DTYPE_BF16;
    if (strcmp(tensor->name, "output.weight") == 0)
        return output;
    if (is_leaf(tensor, "attn_v") || is_leaf(tensor, "ffn_down"))
        return is_text && !is_rich_layer(tensor) ? GLINT_DTYPE_Q4_K : GLINT_DTYPE_Q6_K;
    return GLINT_DTYPE_Q4_K;
}

static enum glint_dtype choose_17gb(const struct glint_quantize_recipe *recipe,
                                    const struct glint_quantize_tensor *tensor) {
    (void)recipe;
    return choose_mixed(tensor, GLINT_DTYPE_Q5_K);
}

static enum glint_dtype choose_q4_k_m(const struct glint_quantize_recipe *recipe,
                                      const struct glint_quantize_tensor *tensor) {
    (void)recipe;
    return choose_mixed(tensor, GLINT_DTYPE_Q6_K);
}

// The official file of this name is Q4_K, Q5_K and Q6_K in a placement that is not published.
// This one takes its size (19.65 GB at 52 layers) and spends it on attention first.
static enum glint_dtype choose_dynamic(const struct glint_quantize_recipe *recipe,
                                       const struct glint_quantize_tensor *tensor) {
    (void)recipe;
    if (strcmp(tensor->architecture, "muse-glimmer") != 0)
        return choose_mixed(tensor, GLINT_DTYPE_Q6_K);
    int layer = layer_of(tensor->name);
    if (layer < 0) // both vocabulary matrices
        return GLINT_DTYPE_Q5_K;
    if (is_leaf(tensor, "ffn_down"))
        return is_rich_layer(tensor) ? GLINT_DTYPE_Q6_K : GLINT_DTYPE_Q5_K;
    if (is_leaf(tensor, "ffn_gate") || is_leaf(tensor, "ffn_up"))
        return layer % 3 == 2 ? GLINT_DTYPE_Q4_K : GLINT_DTYPE_Q5_K;
    return GLINT_DTYPE_Q6_K;
}

static const struct glint_quantize_recipe recipes[] = {
    {"kquant-17gb", 15, GLINT_DTYPE_Q4_K, choose_17gb},
    {"kquant-dynamic", 15, GLINT_DTYPE_Q4_K, choose_dynamic},
    {"q4_k_m", 15, GLINT_DTYPE_Q4_K, choose_q4_k_m},
};

// The public general.file_type of a file that is all one type.
static uint32_t file_type_of(enum glint_dtype dtype) {
    static const uint32_t types[] = {
        [GLINT_DTYPE_F32] = 0,   [GLINT_DTYPE_F16] = 1,   [GLINT_DTYPE_Q4_0] = 2,
        [GLINT_DTYPE_Q4_1] = 3,  [GLINT_DTYPE_Q8_0] = 7,  [GLINT_DTYPE_Q5_0] = 8,
        [GLINT_DTYPE_Q5_1] = 9,  [GLINT_DTYPE_Q2_K] = 10, [GLINT_DTYPE_Q3_K] = 12,
        [GLINT_DTYPE_Q4_K] = 15, [GLINT_DTYPE_Q5_K] = 17, [GLINT_DTYPE_Q6_K] = 18,
        [GLINT_DTYPE_BF16] = 32,
    };
    return types[dtype];
}

static bool same_word(const char *a, const char *b) {
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + ('a' - 'A')) : *a;
        if (x != *b)
            return false;
    }
    return true;
}

bool glint_quantize_recipe_find(const char *name, struct glint_quantize_recipe *recipe) {
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        if (same_word(name, recipes[i].name)) {
            *recipe = recipes[i];
            return true;
        }
    }
    const struct glint_dtype_info *info = glint_dtype_by_name(name);
    if (info == NULL)
        return false;
    *recipe = (struct glint_quantize_recipe){info->name, file_type_of(info->dtype), info->dtype,
                                             choose_base};
    return true;
}
