// SPDX-License-Identifier: Apache-2.0
// toy_model.h — writes a tiny Muse Glimmer GGUF file with random weights, whole or with one
// chosen defect, for tests of what a loader and an engine must refuse.
#ifndef GLINT_TESTS_TOY_MODEL_H
#define GLINT_TESTS_TOY_MODEL_H

#include "quant/dtype.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOY_VOCAB = 300, TOY_WIDTH = 64, TOY_LAYERS = 4, TOY_CONTEXT = 512 };

// One change to an otherwise right file. Fields that are NULL or zero change nothing.
struct toy_defect {
    const char *drop_key;     // metadata key left out
    const char *drop_tensor;  // tensor left out
    const char *extra_tensor; // tensor added, [TOY_WIDTH]
    const char *extra_key;    // u32 1 added under this key
    const char *wide_tensor;  // tensor with 32 more columns
    const char *nan_tensor;   // a NaN in its middle
    const char *learned_norm; // a q_norm or k_norm whose second value differs
    const char *u32_key;      // written with u32_value instead of its right value
    uint32_t u32_value;
    const char *f32_key;
    float f32_value;
    int n_pattern;          // items of the pattern array instead of TOY_LAYERS
    bool scalar_pattern;    // the pattern as the scalar 4
    enum glint_dtype dtype; // of the matrices; 0 is F32
};

// Fails the running test when the file cannot be written. defect may be NULL.
void toy_model_write(const char *path, const struct toy_defect *defect);

#endif
