// SPDX-License-Identifier: Apache-2.0
// quantize_recipe.h — which type each tensor of a model gets: recipes by name, and the user's
// overrides by pattern.
#ifndef GLINT_APPS_QUANTIZE_RECIPE_H
#define GLINT_APPS_QUANTIZE_RECIPE_H

#include "quant/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a recipe looks at.
struct glint_quantize_tensor {
    const char *architecture; // general.architecture
    const char *name;         // "blk.3.attn_v.weight"
    uint32_t n_dims;
    uint32_t n_layer; // of the model
};

struct glint_quantize_recipe {
    const char *name;      // "kquant-17gb", or a type: "q8_0"
    uint32_t file_type;    // general.file_type
    enum glint_dtype base; // of what `choose` does not single out
    // Type of one weight matrix.
    enum glint_dtype (*choose)(const struct glint_quantize_recipe *recipe,
                               const struct glint_quantize_tensor *tensor);
};

// By recipe or type name, any letter case; false when unknown.
bool glint_quantize_recipe_find(const char *name, struct glint_quantize_recipe *recipe);
// Names of the mixes for messages: "kquant-17gb, kquant-dynamic, q4_k_m".
extern const char glint_quantize_recipe_names[];

// True for weight matrices: two dimensions or more. Vectors stay float32, as do the patch kernel
// and the position table of a vision file.
bool glint_quantize_is_matrix(const struct glint_quantize_tensor *tensor);

// `*` stands for any run of characters, `?` for one; the whole name must match.
bool glint_quantize_matches(const char *pattern, const char *name);

#endif
