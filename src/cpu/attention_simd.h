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

#include "cpu/attention_blocks.h"
#include "cpu/simd.h"

#ifdef GLINT_SIMD

#include <math.h>
#include <string.h>

enum {
    LANES = GLINT_SIMD_LANES,
    WIDE = GLINT_SIMD_WIDE,
    DEEP = GLINT_SIMD_DEEP,
    FEW = GLINT_SIMD_FEW,
    TILE = GLINT_KV_TILE,
    GROUPS = GLINT_KV_TILE / GLINT_SIMD_LANES,
};

// The products below live in registers only when their sizes are constants.
#define INLINE static inline __attribute__((always_inline))

// ---- reading the cache ----------------------------------------------------------------------

// The first n of values d .. d + 16 of a row, zeros after; n is 16 but at a row's end.
INLINE vec row_values(enum glint_dtype dtype, const char *row, int d, int n) {
    if (dtype == GLINT_DTYPE_Q8_0) { // blocks of a half scale and 32 int8
        const char *block = row + d / 32 * 34;
        uint16_t scale;
        memcpy(&scale, block, sizeof scale);
        return vec_mul(vec_int8_load((const int8_t *)block + 2 + d % 32),
                       vec_set(vec_half_value(scale)));
    }
    if (dtype == GLINT_DTYPE_F16) {
        const uint16_t *half = (const uint16_t *)(const void *)row + d;
        if (n == LANES)
            return vec_half_load(half);
        uint16_t last[GLINT_SIMD_LANES] = {0};
        memcpy(last, half, (size_t)n * sizeof *half);
        return vec_half_load(last);
    }
    const float *value = (const float *)(const void *)row + d;
    return n == LANES ? vec_load(value) : vec_load_part(value, n);
}

// Values d .. d + n of 16 key rows, transposed.
INLINE void turn_keys(enum glint_dtype dtype, const char *rows, size_t row_bytes, int d, int n,
                      float *key) {
    vec r[16];
    for (int i = 0; i < LANES; i++)
        r[i] = row_values(dtype, rows + (size_t)i * row_bytes, d, n);
    vec_transpose(r);
    for (int i = 0; i < LANES; i++)
        vec_store(key + (d + i) * TILE, r[i]);
}

INLINE void fill_keys(const struct glint_attention_block *block, enum glint_dtype dtype,
                      const char *first, struct glint_range group) {
    size_t row_bytes = glint_kv_row_bytes(block->plane, 0);
    int head_dim = block->plane->head_dim, whole = head_dim / LANES * LANES;
    for (int64_t g = group.begin; g < group.end; g++) {
        const char *rows = first + (size_t)(g * LANES) * row_bytes;
        float *key = block->scratch->tile + g * LANES;
        for (int d = 0; d < whole; d += LANES)
            turn_keys(dtype, rows, row_bytes, d, LANES, key);
        if (whole < head_dim)
            turn_keys(dtype, rows, row_bytes, whole, head_dim - whole, key);
    }
}

INLINE void fill_values(const struct glint_attention_block *block, enum glint_dtype dtype,
                        const char *first, struct glint_range range) {
    size_t row_bytes = glint_kv_row_bytes(block->plane, 1);
    int head_dim = block->plane->head_dim, whole = head_dim / LANES * LANES;
    for (int64_t t = range.begin; t < range.end; t++) {
        const char *row = first + (size_t)t * row_bytes;
        float *value = block->scratch->tile + t * block->stride;
        for (int d = 0; d < whole; d += LANES)
            vec_store(value + d, row_values(dtype, row, d, LANES));
        if (whole < head_dim)
            vec_store(value + whole, row_values(dtype, row, whole, head_dim - whole));
    }
}

// One specialised copy a cache type.
static void load_keys(const struct glint_attention_block *block, const char *first,
                      struct glint_range group) {
    if (block->plane->dtype_k == GLINT_DTYPE_F16)
        fill_keys(block, GLINT_DTYPE_F16, first, group);
    else if (block->plane->dtype_k == GLINT_DTYPE_Q8_0)
        fill_keys(block, GLINT_DTYPE_Q8_0, first, group);
    else
        fill_keys(block, GLINT_DTYPE_F32, first, group);
}

static void load_values(const struct glint_attention_block *block, const char *first,
                        struct glint_range range) {
    if (block->plane->dtype_v == GLINT_DTYPE_F16)
        fill_values(block, GLINT_DTYPE_F16, first, range);
    else if (block->plane->dtype_v == GLINT_DTYPE_Q8_0)
        fill_values(block, GLINT_DTYPE_Q8_0, first, range);
    else
        fill_values(block, GLINT_DTYPE_F32, first, range);
}

// ---- fetching ahead -------------------------------------------------------------------------

// Cache lines of the next tile. The products ask for one a step, so that memory is busy while
// they compute: 512 steps of a single row's 16 heads meet the 512 lines of an f16 tile.
struct ahead {
    const char *at[2], *end[2]; // key rows, value rows
};

enum { LINE = 64 };

// The next head_dim lines; when there are none left, bytes that are in the cache anyway.
static inline const char *take_lines(struct ahead *ahead, int head_dim, const float *instead) {
    for (int i = 0; i < 2; i++) {
        const char *at = ahead->at[i];
        if (at < ahead->end[i]) {
            ahead->at[i] += head_dim * LINE;
            return at;
        }
    }
    return (const char *)instead;
}

// ---- products -------------------------------------------------------------------------------

struct scoring {
    const float *q;    // [deep][stride]
    const float *key;  // [head_dim][TILE]
    float *score;      // [deep][TILE]
    const char *ahead; // head_dim lines to fetch
    int stride, head_dim;
};

// deep x wide vectors of scores.
INLINE void score_tile(int deep, int wide, const struct scoring *at) {
    vec sum[DEEP][GLINT_SIMD_WIDE];
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            sum[i][j] = vec_zero();
    for (int d = 0; d < at->head_dim; d++) {
        vec k[GLINT_SIMD_WIDE];
        for (int j = 0; j < wide; j++)
            k[j] = vec_load(at->key + d * TILE + j * LANES);
        __builtin_prefetch(at->ahead + d * LINE, 0, 2);
        for (int i = 0; i < deep; i++) {
            vec x = vec_set(at->q[i * at->stride + d]);
            for (int j = 0; j < wide; j++)
                sum[i][j] = vec_fma(x, k[j], sum[i][j]);
        }
    }
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            vec_store(at->score + i * TILE + j * LANES, sum[i][j]);
}

struct summing {
    const float *weight;  // [deep][TILE]
    const float *keep;    // [deep]
    const float *value;   // [TILE][stride], or
    const uint16_t *half; // [TILE][stride] as they lie in the cache
    float *sum;           // [deep][stride]
    int stride;
    struct glint_range range; // of the tile's keys
};

// deep x wide vectors of sums, from floats or from halves.
INLINE void sum_tile(int deep, int wide, bool half, const struct summing *at) {
    vec s[DEEP][GLINT_SIMD_WIDE];
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            s[i][j] = vec_mul(vec_load(at->sum + i * at->stride + j * LANES), vec_set(at->keep[i]));
    for (int64_t t = at->range.begin; t < at->range.end; t++) {
        vec v[GLINT_SIMD_WIDE];
        for (int j = 0; j < wide; j++)
            v[j] = half ? vec_half_load(at->half + t * at->stride + j * LANES)
                        : vec_load(at->value + t * at->stride + j * LANES);
        for (int i = 0; i < deep; i++) {
            vec w = vec_set(at->weight[i * TILE + t]);
            for (int j = 0; j < wide; j++)
                s[i][j] = vec_fma(w, v[j], s[i][j]);
        }
    }
    for (int i = 0; i < deep; i++)
        for (int j = 0; j < wide; j++)
            vec_store(at->sum + i * at->stride + j * LANES, s[i][j]);
}

// Query vectors of the next register tile when n are left.
static inline int deepest(int n) {
    return n >= DEEP ? DEEP : n >= FEW ? FEW : 1;
}

// Scores of a row's vectors, m and those after it, against groups of 16 keys.
static void score_vectors(const struct glint_attention_block *block, int m,
                          struct glint_range group, struct ahead *ahead) {
    for (int end = m + block->n_head, n; m < end; m += n) {
        n = deepest(end - m);
        struct scoring at = {.q = block->q + (int64_t)m * block->stride,
                             .stride = block->stride,
                             .head_dim = block->plane->head_dim};
        for (int64_t g = group.begin, wide; g < group.end; g += wide) {
            wide = g + WIDE <= group.end ? WIDE : 1;
            at.key = block->scratch->tile + g * LANES;
            at.score = block->scratch->score + m * TILE + g * LANES;
            at.ahead = take_lines(ahead, at.head_dim, at.q);
            if (n == DEEP)
                wide == WIDE ? score_tile(DEEP, WIDE, &at) : score_tile(DEEP, 1, &at);
            else if (n == FEW)
                wide == WIDE ? score_tile(FEW, WIDE, &at) : score_tile(FEW, 1, &at);
            else
                wide == WIDE ? score_tile(1, WIDE, &at) : score_tile(1, 1, &at);
        }
    }
}

// Adds the weighted values of a row's vectors, m and those after it.
INLINE void add_values(const struct glint_attention_block *block, int m, struct glint_range range,
                       const float *keep, const uint16_t *half) {
    for (int end = m + block->n_head, n; m < end; m += n) {
        n = deepest(end - m);
        struct summing at = {.weight = block->scratch->score + m * TILE,
                             .keep = keep + m,
                             .stride = block->stride,
                             .range = range};
        for (int d = 0, wide; d < block->stride; d += wide * LANES) {
            wide = d + WIDE * LANES <= block->stride ? WIDE : 1;
            at.value = block->scratch->tile + d;
            at.half = half + d;
            at.sum = block->sum + (int64_t)m * block->stride + d;
            bool h = half != NULL;
            if (n == DEEP)
                wide == WIDE ? sum_tile(DEEP, WIDE, h, &at) : sum_tile(DEEP, 1, h, &at);
            else if (n == FEW)
                wide == WIDE ? sum_tile(FEW, WIDE, h, &at) : sum_tile(FEW, 1, h, &at);
            else
                wide == WIDE ? sum_tile(1, WIDE, h, &at) : sum_tile(1, 1, h, &at);
        }
    }
}

static void sum_vectors(const struct glint_attention_block *block, int m, struct glint_range range,
                        const float *keep) {
    add_values(block, m, range, keep, NULL);
}

// The same from halves in the cache: for a single row it saves the detour through floats.
static void sum_vectors_half(const struct glint_attention_block *block, int m,
                             struct glint_range range, const float *keep, const uint16_t *half) {
    add_values(block, m, range, keep, half);
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

// The softmax of a row's vectors, m and those after it, over the tile's keys. keep[m] and on:
// what their sums shrink to.
static void weigh_vectors(const struct glint_attention_block *block, int m, struct glint_range see,
                          float *keep) {
    int n = block->n_head;
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
        vec_store_part(keep + m + i, vec_exp(change), k);
    }
    for (int i = 0; i < n; i++) {
        total[i] = total[i] * keep[m + i] + weigh_scores(score + i * TILE, now[i]);
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

static const char *tile_rows(const struct glint_attention_block *block, int tensor, int32_t first) {
    return glint_kv_row(block->plane, block->table, block->i_layer, tensor, block->head_kv, first);
}

// The lines of the tile at `first`, or none if it is past the end of the split or of the keys.
static struct ahead look_ahead(const struct glint_attention_block *block, int32_t first) {
    struct ahead ahead = {{NULL, NULL}, {NULL, NULL}};
    if (first >= block->split.end || first >= block->see[block->n_row - 1].end)
        return ahead;
    for (int tensor = 0; tensor < 2; tensor++) {
        ahead.at[tensor] = tile_rows(block, tensor, first);
        ahead.end[tensor] = ahead.at[tensor] + TILE * glint_kv_row_bytes(block->plane, tensor);
    }
    return ahead;
}

// What row r sees of `seen`, counted from `first`.
static struct glint_range row_range(const struct glint_attention_block *block, int r, int32_t first,
                                    struct glint_attention_range seen) {
    struct glint_attention_range cut = glint_attention_cut(block->see[r], seen.begin, seen.end);
    return (struct glint_range){cut.begin - first, cut.end - first};
}

// All rows of the block over the tile that starts at `first`; `seen` is what any row sees of it.
static void add_tile(const struct glint_attention_block *block, int32_t first,
                     struct glint_attention_range seen) {
    struct ahead ahead = look_ahead(block, first + TILE);
    struct glint_range range = {seen.begin - first, seen.end - first};
    struct glint_range group = {range.begin / LANES, (range.end + LANES - 1) / LANES};
    float keep[GLINT_ATTENTION_VECTORS];
    // Keys, then values: one of the two fills the first-level cache, and stays there for all rows.
    load_keys(block, tile_rows(block, 0, first), group);
    for (int r = 0; r < block->n_row; r++) {
        struct glint_range see = row_range(block, r, first, seen);
        int m = r * block->n_head;
        if (see.begin < see.end)
            score_vectors(block, m, group, &ahead);
    }
    for (int r = 0; r < block->n_row; r++) {
        struct glint_range see = row_range(block, r, first, seen);
        if (see.begin < see.end)
            weigh_vectors(block, r * block->n_head, see, keep);
    }
    if (block->n_row == 1 && block->plane->dtype_v == GLINT_DTYPE_F16 &&
        block->plane->head_dim == block->stride) {
        sum_vectors_half(block, 0, range, keep, (const void *)tile_rows(block, 1, first));
        return;
    }
    load_values(block, tile_rows(block, 1, first), range);
    for (int r = 0; r < block->n_row; r++) {
        struct glint_range see = row_range(block, r, first, seen);
        if (see.begin < see.end)
            sum_vectors(block, r * block->n_head, see, keep);
    }
}

static void attention_split(const struct glint_attention_block *block) {
    start_block(block);
    struct glint_attention_range seen = glint_attention_seen(block);
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
