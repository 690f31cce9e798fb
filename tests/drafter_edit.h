// SPDX-License-Identifier: Apache-2.0
// drafter_edit.h — copies the drafter of the demo model with one change: a defect that a loader
// must refuse, or weights drawn at random, whose proposals are worth nothing.
#ifndef GLINT_TESTS_DRAFTER_EDIT_H
#define GLINT_TESTS_DRAFTER_EDIT_H

#include <stdbool.h>
#include <stdint.h>

#define DEMO_MODEL   "../models/glimmer-mini.gguf"
#define DEMO_DRAFTER "../models/glimmer-mini-draft.gguf"

// Fields that are NULL or zero change nothing.
struct drafter_edit {
    const char *source; // instead of DEMO_DRAFTER
    const char *drop_key;
    const char *extra_key; // u32 1 added under this key
    const char *u32_key;   // written with u32_value instead of its own
    uint32_t u32_value;
    const char *f32_key;
    float f32_value;
    const char *i32s_key; // written as these [n_i32s]
    const int32_t *i32s;
    int n_i32s;
    bool full_layer;   // the pattern's last item is false
    int n_less_tokens; // the vocabulary is cut
    bool other_token;  // token 1 has another text
    const char *drop_tensor;
    const char *extra_tensor; // [256] added
    const char *nan_vector;
    bool random;
};

// Ends the program when the file cannot be written. edit may be NULL.
void drafter_edit_write(const char *path, const struct drafter_edit *edit);

#endif
