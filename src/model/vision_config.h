// SPDX-License-Identifier: Apache-2.0
// vision_config.h — the numbers of a vision tower and its projector, read from a GGUF vision file
// and range-checked one by one (model.md B.3). What no key says is a constant here.
#ifndef GLINT_MODEL_VISION_CONFIG_H
#define GLINT_MODEL_VISION_CONFIG_H

#include "format/gguf.h"

enum {
    GLINT_VISION_MERGE = 2,         // patches of a token, along each side
    GLINT_VISION_TOKENS = 4096,     // of a picture at most, unless asked for less
    GLINT_VISION_PAIR_TOKENS = 144, // of two frames of a video, likewise
    GLINT_VISION_HARD_TOKENS = 8192 // extreme shapes may go over the former (model.md C.2)
};

#define GLINT_VISION_ROPE_BASE 10000.0f

// What `glint convert` adds to the format for video: the patch kernel before its two frames were
// summed, [2 * 3 * patch * patch, width], and a key that says that there are two.
#define GLINT_VISION_FRAMES_TENSOR "v.patch_embd_frames.weight"
#define GLINT_VISION_FRAMES_KEY    "glint.vision.patch_frames"

struct glint_vision_config {
    int n_layer;
    int width;
    int n_ff;
    int n_head;
    int head_dim;  // a multiple of 4: half turns with the column, half with the row
    int patch;     // pixels of a patch's side
    int side;      // of the position table, and of an attention window, in patches
    bool frames;   // the file keeps the patch kernel of each of two frames: video is exact
    int n_adapter; // width in the middle of the projector
    int n_text;    // width of its output: the text model's
    float epsilon;
    float mean[3], std[3]; // of the pixels, as shares of 255
};

// True for layers in which a patch sees the whole picture; the others see a window.
static inline bool glint_vision_is_global(const struct glint_vision_config *config, int i_layer) {
    return (i_layer + 1) % 4 == 0 || i_layer == config->n_layer - 1;
}

// Fails naming file, key or tensor, what was found and what was expected.
enum glint_status glint_vision_config_read(struct glint_vision_config *config,
                                           const struct glint_gguf *gguf, struct glint_error *err);

#endif
