// SPDX-License-Identifier: Apache-2.0
// attention_scalar.c — the attention kernel in plain C: tile after tile, one vector after the
// other. The definition that every tier is measured against.
#include "cpu/attention_blocks.h"

#include <math.h>

// The keys or values of a tile as floats: row t of the tile at scratch->tile[t][stride].
static void read_tile(const struct glint_attention_block *block, int tensor,
                      struct glint_attention_range tile) {
    const struct glint_kv_plane *plane = block->plane;
    enum glint_dtype dtype = tensor ? plane->dtype_v : plane->dtype_k;
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)dtype);
    for (int32_t t = tile.begin; t < tile.end; t++)
        info->decode(glint_kv_row(plane, block->table, block->i_layer, tensor, block->head_kv, t),
                     block->scratch->tile + (int64_t)(t % GLINT_KV_TILE) * block->stride,
                     (size_t)plane->head_dim);
}

// Turns the scores of vector m into weights against the largest so far, and its sums with them.
static void weigh(const struct glint_attention_block *block, int m,
                  struct glint_attention_range see) {
    const float *q = block->q + (int64_t)m * block->stride;
    float *score = block->scratch->score + m * GLINT_KV_TILE;
    float largest = block->largest[m];
    for (int32_t t = see.begin; t < see.end; t++) {
        const float *key = block->scratch->tile + (int64_t)(t % GLINT_KV_TILE) * block->stride;
        double dot = 0;
        for (int d = 0; d < block->plane->head_dim; d++)
            dot += (double)q[d] * key[d];
        score[t % GLINT_KV_TILE] = (float)(dot * block->scale);
        if (score[t % GLINT_KV_TILE] > largest)
            largest = score[t % GLINT_KV_TILE];
    }
    float keep = (float)exp((double)block->largest[m] - largest);
    double total = (double)block->total[m] * keep;
    for (int32_t t = see.begin; t < see.end; t++) {
        float *weight = &score[t % GLINT_KV_TILE];
        *weight = (float)exp((double)*weight - largest);
        total += *weight;
    }
    for (int d = 0; d < block->plane->head_dim; d++)
        block->sum[(int64_t)m * block->stride + d] *= keep;
    block->largest[m] = largest;
    block->total[m] = (float)total;
}

static void add_values(const struct glint_attention_block *block, int m,
                       struct glint_attention_range see) {
    const float *weight = block->scratch->score + m * GLINT_KV_TILE;
    float *sum = block->sum + (int64_t)m * block->stride;
    for (int32_t t = see.begin; t < see.end; t++) {
        const float *value = block->scratch->tile + (int64_t)(t % GLINT_KV_TILE) * block->stride;
        for (int d = 0; d < block->plane->head_dim; d++)
            sum[d] += weight[t % GLINT_KV_TILE] * value[d];
    }
}

static void add_tile(const struct glint_attention_block *block, struct glint_attention_range tile) {
    int n = block->n_row * block->n_head;
    read_tile(block, 0, tile);
    for (int m = 0; m < n; m++) {
        struct glint_attention_range see =
            glint_attention_cut(block->see[m / block->n_head], tile.begin, tile.end);
        if (see.begin < see.end)
            weigh(block, m, see);
    }
    read_tile(block, 1, tile);
    for (int m = 0; m < n; m++)
        add_values(block, m,
                   glint_attention_cut(block->see[m / block->n_head], tile.begin, tile.end));
}

static void attention_split_scalar(const struct glint_attention_block *block) {
    int n = block->n_row * block->n_head;
    for (int m = 0; m < n; m++) {
        block->largest[m] = -INFINITY;
        block->total[m] = 0;
    }
    for (int64_t i = 0; i < (int64_t)n * block->stride; i++)
        block->sum[i] = 0;
    struct glint_attention_range seen = glint_attention_seen(block);
    while (seen.begin < seen.end) {
        struct glint_attention_range tile = {seen.begin,
                                             (seen.begin / GLINT_KV_TILE + 1) * GLINT_KV_TILE};
        if (tile.end > seen.end)
            tile.end = seen.end;
        add_tile(block, tile);
        seen.begin = tile.end;
    }
}

void glint_cpu_init_attention_scalar(struct glint_cpu_kernels *kernels) {
    kernels->attention_split = attention_split_scalar;
}
