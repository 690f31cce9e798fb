// SPDX-License-Identifier: Apache-2.0
// patch_grid.h — where the patches of a picture stand: the order in which the tower keeps them
// (window by window, rows inside a window), their interpolated places in the position table and
// the angles of their rotation (model.md C.4 to C.6).
#ifndef GLINT_VISION_PATCH_GRID_H
#define GLINT_VISION_PATCH_GRID_H

#include "model/vision_config.h"

struct glint_patch {
    int32_t row, col;
};

struct glint_patch_grid {
    int rows, cols; // of patches, both even
    int n;          // rows * cols
    int side;       // of a window and of the position table
    int n_window;
    int *window;               // [n_window + 1] first patch of each window, then n
    struct glint_patch *patch; // [n] in the tower's order
    int32_t *index;            // [rows * cols] of the patch at (row, col) in that order
};

enum glint_status glint_patch_grid_init(struct glint_patch_grid *grid, int rows, int cols, int side,
                                        struct glint_error *err);
void glint_patch_grid_fini(struct glint_patch_grid *grid);
// Bytes that a grid of n patches takes.
uint64_t glint_patch_grid_bytes(int64_t n);

// out [width] = the position table at a patch: bilinear, half-pixel centres, taps outside the
// table dropped.
void glint_patch_position(const struct glint_patch_grid *grid, struct glint_patch patch,
                          const float *table, int width, float *out);

// Cosines and sines by which a patch's heads turn: out [head_dim / 2][2], the first half by
// col + 1, the second by row + 1.
void glint_patch_turn(struct glint_patch patch, int head_dim, float *out);

#endif
