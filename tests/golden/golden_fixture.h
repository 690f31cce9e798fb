// SPDX-License-Identifier: Apache-2.0
// golden_fixture.h — a small official checkpoint, converted by glint itself, with the official
// implementation's outputs for it. Fails the running test when anything is missing.
#ifndef GLINT_TESTS_GOLDEN_FIXTURE_H
#define GLINT_TESTS_GOLDEN_FIXTURE_H

#include "format/safetensors.h"

#include <glint/glint.h>

struct golden {
    const char *shape;                // "nano"
    char gguf[256];                   // converted file, removed at close
    char part[256];                   // converted file of golden_convert, removed at close
    char mmproj[300];                 // its vision file, the same
    struct glint_safetensors *golden; // golden.safetensors
};

void golden_open(struct golden *golden, const char *shape, const char *type);
// Converts a folder inside the shape's ("assistant", the drafter) as bf16 into golden->part.
void golden_convert(struct golden *golden, const char *folder);
void golden_close(struct golden *golden);
const int32_t *golden_ids(const struct golden *golden, const char *name, int *n);
// A picture [height][width][3].
const uint8_t *golden_rgb(const struct golden *golden, const char *name, int *height, int *width);
// Frames [frame][height][width][3]; size receives the first three.
const uint8_t *golden_frames(const struct golden *golden, const char *name, int size[3]);
// Rows of a float32 tensor [n_row][n_col].
const float *golden_rows(const struct golden *golden, const char *name, int *n_row, int *n_col);
bool golden_has(const struct golden *golden, const char *name);

// Parameters for exact comparison: float32 cache, float activations, `tier` (NULL: the best).
struct glint_engine_params golden_params(const struct golden *golden, const char *tier);
struct glint_engine *golden_engine(const struct glint_engine_params *params);
// A prompt, with a picture for the placeholders among its ids or NULL.
struct golden_prompt {
    const int32_t *ids; // [n]
    int n;
    struct glint_picture *picture;
};
// Logits of every row [n][n_vocab] and hidden rows [n_layer + 1][n][width]; free() both.
struct golden_result {
    float *logits, *hidden;
    int n, n_vocab, n_layer, width;
};
struct golden_result golden_eval(struct glint_engine *engine, const struct golden_prompt *prompt,
                                 int n_chunk);
void golden_result_free(struct golden_result *result);
// Greedy continuation of a prompt; out holds n_new ids.
void golden_greedy(struct glint_engine *engine, const struct golden_prompt *prompt, int n_new,
                   int n_chunk, int32_t *out);

#endif
