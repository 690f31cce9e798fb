// SPDX-License-Identifier: Apache-2.0
// patch_grid.c — see patch_grid.h.
#include "vision/patch_grid.h"

#include "base/alloc.h"

#include <math.h>

uint64_t glint_patch_grid_bytes(int64_t n) {
    return (uint64_t)n * (sizeof(struct glint_patch) + sizeof(int32_t) + sizeof(int));
}

void glint_patch_grid_fini(struct glint_patch_grid *grid) {
    glint_free(grid->window);
    glint_free(grid->patch);
    glint_free(grid->index);
    *grid = (struct glint_patch_grid){0};
}

enum glint_status glint_patch_grid_init(struct glint_patch_grid *grid, int rows, int cols, int side,
                                        struct glint_error *err) {
    *grid = (struct glint_patch_grid){.rows = rows, .cols = cols, .n = rows * cols, .side = side};
    int down = (rows + side - 1) / side, across = (cols + side - 1) / side, i = 0;
    grid->n_window = down * across;
    grid->window = glint_alloc((size_t)grid->n_window + 1, sizeof *grid->window);
    grid->patch = glint_alloc((size_t)grid->n, sizeof *grid->patch);
    grid->index = glint_alloc((size_t)grid->n, sizeof *grid->index);
    if (!grid->window || !grid->patch || !grid->index) {
        glint_patch_grid_fini(grid);
        return glint_fail(err, GLINT_E_NOMEM, "no memory for a picture of %d x %d patches", cols,
                          rows);
    }
    for (int w = 0; w < grid->n_window; w++) {
        int top = w / across * side, left = w % across * side;
        grid->window[w] = i;
        for (int row = top; row < rows && row < top + side; row++)
            for (int col = left; col < cols && col < left + side; col++) {
                grid->index[row * cols + col] = i;
                grid->patch[i++] = (struct glint_patch){row, col};
            }
    }
    grid->window[grid->n_window] = i;
    return GLINT_OK;
}

// One axis: the two taps and their weights, in float32 as the official implementation has them.
static void axis_taps(int i, int n, int side, int at[2], float weight[2]) {
    float s = ((float)i + 0.5f) * ((float)side / (float)n) - 0.5f;
    float low = floorf(s);
    for (int k = 0; k < 2; k++) {
        at[k] = (int)low + k;
        bool inside = at[k] >= 0 && at[k] < side;
        weight[k] = !inside ? 0 : k ? s - low : 1 - (s - low);
        at[k] = inside ? at[k] : 0;
    }
}

void glint_patch_position(const struct glint_patch_grid *grid, struct glint_patch patch,
                          const float *table, int width, float *out) {
    int y[2], x[2];
    float wy[2], wx[2];
    axis_taps(patch.row, grid->rows, grid->side, y, wy);
    axis_taps(patch.col, grid->cols, grid->side, x, wx);
    for (int c = 0; c < width; c++)
        out[c] = 0;
    for (int k = 0; k < 4; k++) {
        float weight = wy[k / 2] * wx[k % 2];
        const float *row = table + ((int64_t)y[k / 2] * grid->side + x[k % 2]) * width;
        for (int c = 0; weight != 0 && c < width; c++)
            out[c] += weight * row[c];
    }
}

void glint_patch_turn(struct glint_patch patch, int head_dim, float *out) {
    int n = head_dim / 4; // frequencies
    for (int half = 0; half < 2; half++)
        for (int j = 0; j < n; j++) {
            float place = (float)((half ? patch.row : patch.col) + 1);
            float frequency = 1 / powf(GLINT_VISION_ROPE_BASE, (float)(2 * j) / (float)(2 * n));
            double angle = (double)(place * frequency); // a float32 product, as officially
            *out++ = (float)cos(angle);
            *out++ = (float)sin(angle);
        }
}
