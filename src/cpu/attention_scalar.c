// SPDX-License-Identifier: Apache-2.0
// attention_scalar.c — the attention kernel in plain C: one vector after the other, tile after
// tile. The definition that every tier is measured against.
#include "cpu/attention_blocks.h"

#include <math.h>

static void read_row(const struct glint_attention_block *block, int tensor, int32_t position,
                     float *row) {
    const struct glint_kv_plane *plane = block->plane;
    enum glint_dtype dtype = tensor ? plane->dtype_v : plane->dtype_k;
    glint_dtype_info((uint32_t)dtype)
        ->decode(
            glint_kv_row(plane, block->table, block->i_layer, tensor, block->head_kv, position),
            row, (size_t)plane->head_dim);
}

// Scores of the visible keys of one tile; returns the largest.
static float score_tile(const struct glint_attention_block *block, const float *q,
                        struct glint_attention_range tile, float *score) {
    float *row = block->scratch->row;
    float largest = -INFINITY;
    for (int32_t t = tile.begin; t < tile.end; t++) {
        read_row(block, 0, t, row);
        double dot = 0;
        for (int d = 0; d < block->plane->head_dim; d++)
            dot += (double)q[d] * row[d];
        score[t - tile.begin] = (float)(dot * block->scale);
        if (score[t - tile.begin] > largest)
            largest = score[t - tile.begin];
    }
    return largest;
}

// Adds one tile to the running softmax of vector m.
static void add_tile(const struct glint_attention_block *block, int m,
                     struct glint_attention_range tile) {
    float *score = block->scratch->score, *row = block->scratch->row;
    float *sum = block->sum + (int64_t)m * block->stride;
    float largest = score_tile(block, block->q + (int64_t)m * block->stride, tile, score);
    if (largest < block->largest[m])
        largest = block->largest[m];
    float keep = (float)exp((double)block->largest[m] - largest);
    double total = (double)block->total[m] * keep;
    for (int d = 0; d < block->plane->head_dim; d++)
        sum[d] *= keep;
    for (int32_t t = tile.begin; t < tile.end; t++) {
        float weight = (float)exp((double)score[t - tile.begin] - largest);
        total += weight;
        read_row(block, 1, t, row);
        for (int d = 0; d < block->plane->head_dim; d++)
            sum[d] += weight * row[d];
    }
    block->largest[m] = largest;
    block->total[m] = (float)total;
}

static void attention_split_scalar(const struct glint_attention_block *block) {
    for (int m = 0; m < block->n_row * block->n_head; m++) {
        block->largest[m] = -INFINITY;
        block->total[m] = 0;
        for (int d = 0; d < block->stride; d++)
            block->sum[(int64_t)m * block->stride + d] = 0;
        struct glint_attention_range see = glint_attention_cut(
            block->see[m / block->n_head], block->split.begin, block->split.end);
        int32_t begin = see.begin;
        while (begin < see.end) {
            int32_t end = (begin / GLINT_KV_TILE + 1) * GLINT_KV_TILE;
            struct glint_attention_range tile = {begin, end < see.end ? end : see.end};
            add_tile(block, m, tile);
            begin = tile.end;
        }
    }
}

void glint_cpu_init_attention_scalar(struct glint_cpu_kernels *kernels) {
    kernels->attention_split = attention_split_scalar;
}
