// SPDX-License-Identifier: Apache-2.0
// attention_blocks.h — the unit of work of the attention kernels: a block of query vectors that
// share one KV head of one sequence, over the keys of one split. attention_blocks.c makes the
// blocks, merges the splits and writes the output; the kernels of a tier do everything in between.
//
// Vector m of a block is row m / n_head, head m % n_head. Its visible keys are a range of
// positions; keys outside take no part, whatever bytes lie there (NC-4).
#ifndef GLINT_CPU_ATTENTION_BLOCKS_H
#define GLINT_CPU_ATTENTION_BLOCKS_H

#include "cpu/cpu_backend.h"

enum {
    GLINT_ATTENTION_ROWS = 16,     // rows of a block
    GLINT_ATTENTION_VECTORS = 128, // query vectors of a block: bounds its scratch to the L2 cache
    GLINT_ATTENTION_PAD = 16,      // vector rows in scratch are padded with zeros to this
};

struct glint_attention_range {
    int32_t begin, end; // positions; begin < end
};

// Scratch of one worker. D is head_dim rounded up to GLINT_ATTENTION_PAD.
struct glint_attention_scratch {
    float *tile;  // [GLINT_KV_TILE][D]: keys (vector tiers: transposed), then values
    float *score; // [GLINT_ATTENTION_VECTORS][GLINT_KV_TILE]
};

struct glint_attention_block {
    const struct glint_kv_plane *plane;
    struct glint_kv_table table;
    int i_layer;
    int head_kv;
    int n_row, n_head; // n_row * n_head <= GLINT_ATTENTION_VECTORS
    int stride;        // D: floats from one vector to the next in q and sum
    float scale;
    const float *q;                                         // [n_row * n_head][D]
    struct glint_attention_range see[GLINT_ATTENTION_ROWS]; // what each row may look at
    struct glint_attention_range split;                     // the keys at hand
    // Result: of each vector that sees a key of the split, its largest score, the sum of
    // exp(score - largest), and the values weighted by that. Others: -infinity, 0, 0.
    float *largest; // [n_row * n_head]
    float *total;   // [n_row * n_head]
    float *sum;     // [n_row * n_head][D]
    const struct glint_attention_scratch *scratch;
};

enum glint_status glint_cpu_attention_open(struct glint_cpu *cpu, struct glint_error *err);
void glint_cpu_attention_close(struct glint_cpu *cpu);
void glint_cpu_attention(struct glint_backend *backend, const struct glint_op_attention *op);

// The first and the past-the-end key of `see` inside [begin, end).
static inline struct glint_attention_range glint_attention_cut(struct glint_attention_range see,
                                                               int32_t begin, int32_t end) {
    struct glint_attention_range cut = {see.begin > begin ? see.begin : begin,
                                        see.end < end ? see.end : end};
    if (cut.end < cut.begin)
        cut.end = cut.begin;
    return cut;
}

// What any row of the block sees of its split. Rows stand in ascending position: the first sees
// farthest back, the last farthest ahead.
static inline struct glint_attention_range
glint_attention_seen(const struct glint_attention_block *block) {
    struct glint_attention_range seen = {block->see[0].begin, block->see[block->n_row - 1].end};
    return glint_attention_cut(seen, block->split.begin, block->split.end);
}

#endif
