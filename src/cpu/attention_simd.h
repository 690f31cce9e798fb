// SPDX-License-Identifier: Apache-2.0
// attention_simd.h — the attention kernel on the vectors of simd.h; a tier file includes it.
//
// A tile of 64 keys is turned into float32 once, transposed, and its values once, as they lie;
// both then serve every query vector of the block as small matrix products:
//     score[m][t] = sum over d = 0, 1, ... of q[m][d] key[d][t]       one chain of fused adds
//     sum[m][d]   = keep sum[m][d], then + weight[m][t] value[t][d]   t ascending, fused
// So no result depends on how many vectors, or which, are computed together. Keys outside a
// row's range get the score -infinity by selection, and their values are never multiplied.
#ifndef GLINT_CPU_ATTENTION_SIMD_H
#define GLINT_CPU_ATTENTION_SIMD_H

#include "cpu/attention.h"
#include "cpu/simd.h"

#ifdef GLINT_SIMD

#include <math.h>
#include <string.h>

enum {
    LANES = GLINT_SIMD_LANES,
    WIDE = GLINT_SIMD_WIDE,
    DEEP = 4, // query vectors of a register tile
    TILE = GLINT_KV_TILE,
    GROUPS = GLINT_KV_TILE / GLINT_SIMD_LANES,
};

// ---- reading the cache ----------------------------------------------------------------------

// Values d .. d + 16 of a row; past the row's end zeros.
static inline vec row_values(enum glint_dtype dtype, const char *row, int d, int head_dim) {
    if (dtype == GLINT_DTYPE_Q8_0) { // blocks of a half scale and 32 int8
        const char *block = row + d / 32 * 34;
        uint16_t scale;
        memcpy(&scale, block, sizeof scale);
        return vec_mul(vec_int8_load((const int8_t *)block + 2 + d % 32),
                       vec_set(_cvtsh_ss(scale)));
    }
    int n = head_dim - d;
    if (dtype == GLINT_DTYPE_F16) {
        const uint16_t *half = (const uint16_t *)(const void *)row + d;
        if (n >= LANES)
            return vec_half_load(half);
        uint16_t last[GLINT_SIMD_LANES] = {0};
        memcpy(last, half, (size_t)n * sizeof *half);
        return vec_half_load(last);
    }
    const float *value = (const float *)(const void *)row + d;
    return n >= LANES ? vec_load(value) : vec_load_part(value, n);
}

static inline void fill_keys(const struct glint_attention_block *block, enum glint_dtype dtype,
                             const char *first, size_t row_bytes, struct glint_range group) {
    int head_dim = block->plane->head_dim;
    float *key = block->scratch->key;
    for (int64_t g = group.begin; g < group.end; g++) {
        const char *rows = first + (size_t)(g * LANES) * row_bytes;
        for (int d = 0; d < head_dim; d += LANES) {
            vec r[16];
            for (int i = 0; i < LANES; i++)
                r[i] = row_values(dtype, rows + (size_t)i * row_bytes, d, head_dim);
            vec_transpose(r);
            for (int i = 0; i < LANES; i++)
                vec_store(key + (d + i) * TILE + g * LANES, r[i]);
        }
    }
}

static inline void fill_values(const struct glint_attention_block *block, enum glint_dtype dtype,
                               const char *first, size_t row_bytes, struct glint_range range) {
    int head_dim = block->plane->head_dim;
    for (int64_t t = range.begin; t < range.end; t++) {
        float *value = block->scratch->value + t * block->stride;
        for (int d = 0; d < head_dim; d += LANES)
            vec_store(value + d, row_values(dtype, first + (size_t)t * row_bytes, d, head_dim));
    }
}

// One specialised copy a cache type.
static void load_keys(const struct glint_attention_block *block, const char *first,
                      struct glint_range group) {
    size_t row_bytes = glint_kv_row_bytes(block->plane, 0);
    if (block->plane->dtype_k == GLINT_DTYPE_F16)
        fill_keys(block, GLINT_DTYPE_F16, first, row_bytes, group);
    else if (block->plane->dtype_k == GLINT_DTYPE_Q8_0)
        fill_keys(block, GLINT_DTYPE_Q8_0, first, row_bytes, group);
    else
        fill_keys(block, GLINT_DTYPE_F32, first, row_bytes, group);
}

static void load_values(const struct glint_attention_block *block, const char *first,
                        struct glint_range range) {
    size_t row_bytes = glint_kv_row_bytes(block->plane, 1);
    if (block->plane->dtype_v == GLINT_DTYPE_F16)
        fill_values(block, GLINT_DTYPE_F16, first, row_bytes, range);
    else if (block->plane->dtype_v == GLINT_DTYPE_Q8_0)
        fill_values(block, GLINT_DTYPE_Q8_0, first, row_bytes, range);
    else
        fill_values(block, GLINT_DTYPE_F32, first, row_bytes, range);
}

// ---- products -------------------------------------------------------------------------------

// deep x wide vectors of scores: q [deep][stride], key [head_dim][TILE], out [deep][TILE].
static inline void score_tile(int deep, int wide, const float *q, int stride, const float *key,
                              int head_dim, float *out) {
    vec sum[DEEP][GLINT_SIMD_WIDE];
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            sum[i][j] = vec_zero();
    for (int d = 0; d < head_dim; d++) {
        vec k[GLINT_SIMD_WIDE];
        for (int j = 0; j < wide; j++)
            k[j] = vec_load(key + d * TILE + j * LANES);
        for (int i = 0; i < deep; i++) {
            vec x = vec_set(q[i * stride + d]);
            for (int j = 0; j < wide; j++)
                sum[i][j] = vec_fma(x, k[j], sum[i][j]);
        }
    }
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            vec_store(out + i * TILE + j * LANES, sum[i][j]);
}

// deep x wide vectors of sums: weight [deep][TILE], value [TILE][stride], sum [deep][stride].
static inline void sum_tile(int deep, int wide, const float *weight, const float *keep,
                            const float *value, int stride, struct glint_range range, float *sum) {
    vec s[DEEP][GLINT_SIMD_WIDE];
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            s[i][j] = vec_mul(vec_load(sum + i * stride + j * LANES), vec_set(keep[i]));
    for (int64_t t = range.begin; t < range.end; t++) {
        vec v[GLINT_SIMD_WIDE];
        for (int j = 0; j < wide; j++)
            v[j] = vec_load(value + t * stride + j * LANES);
        for (int i = 0; i < deep; i++) {
            vec w = vec_set(weight[i * TILE + t]);
            for (int j = 0; j < wide; j++)
                s[i][j] = vec_fma(w, v[j], s[i][j]);
        }
    }
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            vec_store(sum + i * stride + j * LANES, s[i][j]);
}

// Scores of vectors [m, m + n), all groups of keys in [group.begin, group.end).
static void score_vectors(const struct glint_attention_block *block, int m, int n,
                          struct glint_range group) {
    int stride = block->stride, head_dim = block->plane->head_dim, end = m + n;
    for (; m < end; m += n) {
        const float *q = block->q + (int64_t)m * stride;
        float *score = block->scratch->score + m * TILE;
        n = end - m >= DEEP ? DEEP : 1;
        int64_t g = group.begin;
        for (; g + WIDE <= group.end; g += WIDE) {
            const float *key = block->scratch->key + g * LANES;
            if (n == DEEP)
                score_tile(DEEP, WIDE, q, stride, key, head_dim, score + g * LANES);
            else
                score_tile(1, WIDE, q, stride, key, head_dim, score + g * LANES);
        }
        for (; g < group.end; g++) {
            const float *key = block->scratch->key + g * LANES;
            if (n == DEEP)
                score_tile(DEEP, 1, q, stride, key, head_dim, score + g * LANES);
            else
                score_tile(1, 1, q, stride, key, head_dim, score + g * LANES);
        }
    }
}

// Adds the weighted values of vectors [m, m + n).
static void sum_vectors(const struct glint_attention_block *block, int m, int n, const float *keep,
                        struct glint_range range) {
    int stride = block->stride, end = m + n;
    for (; m < end; m += n, keep += n) {
        const float *weight = block->scratch->score + m * TILE, *value = block->scratch->value;
        float *sum = block->sum + (int64_t)m * stride;
        n = end - m >= DEEP ? DEEP : 1;
        int d = 0;
        for (; d + WIDE * LANES <= stride; d += WIDE * LANES) {
            if (n == DEEP)
                sum_tile(DEEP, WIDE, weight, keep, value + d, stride, range, sum + d);
            else
                sum_tile(1, WIDE, weight, keep, value + d, stride, range, sum + d);
        }
        for (; d < stride; d += LANES) {
            if (n == DEEP)
                sum_tile(DEEP, 1, weight, keep, value + d, stride, range, sum + d);
            else
                sum_tile(1, 1, weight, keep, value + d, stride, range, sum + d);
        }
    }
}

// ---- softmax --------------------------------------------------------------------------------

// Scales the scores of one vector, switches unseen keys off, returns the largest.
static inline float scale_scores(float *score, float scale, struct glint_range see) {
    vec factor = vec_set(scale), off = vec_set(-INFINITY), largest = off;
    bool all = see.begin == 0 && see.end == TILE;
    for (int g = 0; g < GROUPS; g++) {
        vec s = vec_mul(vec_load(score + g * LANES), factor);
        if (!all) {
            int begin = (int)see.begin - g * LANES, end = (int)see.end - g * LANES;
            begin = begin < 0 ? 0 : begin > LANES ? LANES : begin;
            end = end < 0 ? 0 : end > LANES ? LANES : end;
            s = vec_keep(s, begin, end < begin ? begin : end, off);
        }
        vec_store(score + g * LANES, s);
        largest = vec_max(s, largest);
    }
    return vec_greatest(largest);
}

// score -> exp(score - largest); returns their sum.
static inline float weigh_scores(float *score, float largest) {
    vec m = vec_set(largest), w[GLINT_KV_TILE / GLINT_SIMD_LANES];
    for (int g = 0; g < GROUPS; g++) {
        w[g] = vec_exp(vec_sub(vec_load(score + g * LANES), m));
        vec_store(score + g * LANES, w[g]);
    }
    return vec_sum(vec_add(vec_add(w[0], w[1]), vec_add(w[2], w[3])));
}

// The softmax of vectors [m, m + n) over the tile's keys; keep [n]: what their sums shrink to.
static void weigh_vectors(const struct glint_attention_block *block, int m, int n,
                          struct glint_range see, float *keep) {
    float *score = block->scratch->score + m * TILE;
    float *largest = block->largest + m, *total = block->total + m;
    float now[GLINT_ATTENTION_VECTORS];
    for (int i = 0; i < n; i++) {
        float most = scale_scores(score + i * TILE, block->scale, see);
        now[i] = most > largest[i] ? most : largest[i];
    }
    for (int i = 0; i < n; i += LANES) {
        int k = n - i < LANES ? n - i : LANES;
        vec change = vec_sub(vec_load_part(largest + i, k), vec_load_part(now + i, k));
        vec_store_part(keep + i, vec_exp(change), k);
    }
    for (int i = 0; i < n; i++) {
        total[i] = total[i] * keep[i] + weigh_scores(score + i * TILE, now[i]);
        largest[i] = now[i];
    }
}

// ---- the kernel -----------------------------------------------------------------------------

static void start_block(const struct glint_attention_block *block) {
    int n = block->n_row * block->n_head;
    for (int m = 0; m < n; m++)
        block->largest[m] = -INFINITY;
    memset(block->total, 0, (size_t)n * sizeof(float));
    memset(block->sum, 0, (size_t)n * (size_t)block->stride * sizeof(float));
}

// All rows of the block over the tile that starts at `first`; `seen` is what any row sees of it.
static void add_tile(const struct glint_attention_block *block, int32_t first,
                     struct glint_attention_range seen) {
    const struct glint_kv_plane *plane = block->plane;
    const char *key = glint_kv_row(plane, block->table, block->i_layer, 0, block->head_kv, first);
    const char *value = glint_kv_row(plane, block->table, block->i_layer, 1, block->head_kv, first);
    struct glint_range range = {seen.begin - first, seen.end - first};
    struct glint_range group = {range.begin / LANES, (range.end + LANES - 1) / LANES};
    float keep[GLINT_ATTENTION_VECTORS];
    load_keys(block, key, group);
    load_values(block, value, range);
    for (int r = 0; r < block->n_row; r++) {
        struct glint_attention_range cut = glint_attention_cut(block->see[r], seen.begin, seen.end);
        if (cut.begin == cut.end)
            continue;
        struct glint_range see = {cut.begin - first, cut.end - first};
        int m = r * block->n_head;
        score_vectors(block, m, block->n_head, group);
        weigh_vectors(block, m, block->n_head, see, keep);
        sum_vectors(block, m, block->n_head, keep, see);
    }
}

static void attention_split(const struct glint_attention_block *block) {
    start_block(block);
    // Rows stand in ascending position: the first sees farthest back, the last farthest ahead.
    struct glint_attention_range seen = {block->see[0].begin, block->see[block->n_row - 1].end};
    seen = glint_attention_cut(seen, block->split.begin, block->split.end);
    int32_t begin = seen.begin;
    while (begin < seen.end) {
        int32_t first = begin / TILE * TILE, end = first + TILE;
        struct glint_attention_range tile = {begin, end < seen.end ? end : seen.end};
        add_tile(block, first, tile);
        begin = end;
    }
}

#endif
#endif
