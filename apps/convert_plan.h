// SPDX-License-Identifier: Apache-2.0
// convert_plan.h — which tensor of the source becomes which tensor of the GGUF file, and the
// streaming of their values: one slice of rows in memory at a time.
#ifndef GLINT_APPS_CONVERT_PLAN_H
#define GLINT_APPS_CONVERT_PLAN_H

#include "format/gguf_write.h"
#include "format/safetensors.h"
#include "quant/dtype.h"

enum { GLINT_CONVERT_MAX_NAME = 128 };

enum glint_convert_change {
    GLINT_CONVERT_COPY,
    GLINT_CONVERT_GAIN,     // 1 is added to every value
    GLINT_CONVERT_HEADS,    // rows of each head from half-split to adjacent pairs
    GLINT_CONVERT_FRAMES,   // a row is the sum of its two halves, one per temporal slot
    GLINT_CONVERT_CONSTANT, // no source: every value is `value`
};

// One tensor, or one a layer: `#` in the names stands for the layer's number.
struct glint_convert_rule {
    const char *from; // name in the source; NULL for CONSTANT
    const char *to;   // name in the GGUF file
    enum glint_convert_change change;
    uint64_t n_rows; // of the source matrix; 0 for a vector
    uint64_t n_cols; // of the source matrix, or the vector's length
    uint32_t n_head; // HEADS
    float value;     // CONSTANT
    bool keep_f32;   // a matrix that stays F32 whatever type is asked for
};

struct glint_convert_item {
    char name[GLINT_CONVERT_MAX_NAME];             // in the GGUF file
    const struct glint_safetensors_tensor *source; // NULL for CONSTANT
    struct glint_convert_rule rule;                // names are not to be used
    const struct glint_dtype_info *dtype;          // as written
};

struct glint_convert_plan {
    const struct glint_safetensors *weights; // borrowed
    const struct glint_dtype_info *dtype;    // asked for, of matrices
    bool *used;                              // [weights->n_tensors] borrowed, marked by add
    struct glint_convert_item *items;        // [n_items] owned
    size_t n_items, capacity;
    uint64_t n_values;  // of all items
    size_t n_kept_bf16; // matrices whose rows do not divide into blocks of dtype
};

// Adds the tensor of one rule; layer fills `#`. Fails when the source has no such tensor or one of
// another shape or of a type that is no float.
enum glint_status glint_convert_add(struct glint_convert_plan *plan,
                                    const struct glint_convert_rule *rule, uint32_t layer,
                                    struct glint_error *err);
void glint_convert_plan_fini(struct glint_convert_plan *plan);
// GGUF shape that overrides the source's: the patch kernel is [patch, patch, 3, width].
struct glint_convert_shape {
    const char *name; // of the item
    uint32_t n_dims;
    uint64_t dims[GLINT_GGUF_MAX_DIMS]; // fastest first
};
// Writes path: the keys already in the writer, then every item. quiet: no progress. `shape` may be
// NULL. Stops with GLINT_E_CANCELLED on Ctrl-C. Takes *writer, whatever the outcome.
struct glint_convert_target {
    const char *path;
    bool quiet;
    const struct glint_convert_shape *shape;
};
enum glint_status glint_convert_write(const struct glint_convert_plan *plan,
                                      struct glint_gguf_writer **writer,
                                      const struct glint_convert_target *target,
                                      struct glint_error *err);

#endif
