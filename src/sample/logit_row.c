// SPDX-License-Identifier: Apache-2.0
// logit_row.c — the passes of logit_row.h.
#include "sample/logit_row.h"

#include "sample/select.h"

#include <float.h>
#include <math.h>

enum { LANES = 16, BLOCK = GLINT_ROW_BLOCK };

static int32_t block_begin(int32_t i_block) {
    return i_block * BLOCK;
}

static int32_t block_length(const struct glint_logit_row *row, int32_t i_block) {
    int32_t left = row->n - block_begin(i_block);
    return left < BLOCK ? left : BLOCK;
}

static bool is_allowed(const struct glint_logit_row *row, int32_t id) {
    return !row->allowed || row->allowed[id >> 5] >> (id & 31) & 1;
}

// -inf where the bit of a value is 0: four bits at a time by table, without branches, since masks
// inside a string let most tokens through in no order.
static void mask_values(float values[32], uint32_t bits) {
#define LANE(bit, i) ((bit) >> (i)&1 ? UINT32_MAX : 0)
#define LANES4(bit)                                                                                \
    { LANE(bit, 0), LANE(bit, 1), LANE(bit, 2), LANE(bit, 3) }
    static const uint32_t keep[16][4] = {LANES4(0),  LANES4(1),  LANES4(2),  LANES4(3),
                                         LANES4(4),  LANES4(5),  LANES4(6),  LANES4(7),
                                         LANES4(8),  LANES4(9),  LANES4(10), LANES4(11),
                                         LANES4(12), LANES4(13), LANES4(14), LANES4(15)};
#undef LANES4
#undef LANE
    const uint32_t out = glint_float_bits(-INFINITY);
    for (int i = 0; i < 32; i += 4, bits >>= 4)
        for (int j = 0; j < 4; j++) {
            uint32_t mask = keep[bits & 15][j];
            values[i + j] =
                glint_float_from_bits((glint_float_bits(values[i + j]) & mask) | (out & ~mask));
        }
}

// Copy of a block with masked logits and the tail after the row's end at -inf.
static void load_block(const struct glint_logit_row *row, int32_t i_block, float values[BLOCK]) {
    int32_t begin = block_begin(i_block), n = block_length(row, i_block);
    for (int32_t i = 0; i < n; i++)
        values[i] = row->logits[begin + i];
    for (int32_t i = n; i < BLOCK; i++)
        values[i] = -INFINITY;
    for (int32_t i = 0; row->allowed && i < n; i += 32) {
        uint32_t bits = row->allowed[(begin + i) >> 5];
        if (bits != UINT32_MAX)
            mask_values(values + i, bits);
    }
}

static bool any_allowed(const struct glint_logit_row *row, int32_t i_block) {
    const uint32_t *words = row->allowed + (block_begin(i_block) >> 5);
    int32_t n_words = (block_length(row, i_block) + 31) / 32;
    uint32_t any = 0;
    for (int32_t i = 0; i < n_words; i++)
        any |= words[i];
    return any != 0;
}

// False when a value is NaN or +inf.
static bool block_is_sound(const float *values, int32_t n) {
    int bad[LANES] = {0};
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            bad[lane] |= !(values[i + lane] <= FLT_MAX);
    for (; i < n; i++)
        bad[0] |= !(values[i] <= FLT_MAX);
    int any = 0;
    for (int lane = 0; lane < LANES; lane++)
        any |= bad[lane];
    return !any;
}

static float maximum(const float *values, int32_t n) {
    float max[LANES];
    for (int lane = 0; lane < LANES; lane++)
        max[lane] = -INFINITY;
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            max[lane] = values[i + lane] > max[lane] ? values[i + lane] : max[lane];
    for (; i < n; i++)
        max[0] = values[i] > max[0] ? values[i] : max[0];
    for (int lane = 1; lane < LANES; lane++)
        max[0] = max[lane] > max[0] ? max[lane] : max[0];
    return max[0];
}

enum glint_status glint_logit_row_scan(struct glint_logit_row *row, struct glint_error *err) {
    row->n_blocks = (row->n + BLOCK - 1) / BLOCK;
    for (int32_t i = 0; i < row->n_blocks; i++) {
        const float *block = row->logits + block_begin(i);
        int32_t n = block_length(row, i);
        if (!block_is_sound(block, n)) {
            int32_t bad = 0;
            while (block[bad] <= FLT_MAX)
                bad++;
            return glint_fail(err, GLINT_E_FORMAT,
                              "logits[%d]: found %s, expected a finite number or -inf",
                              block_begin(i) + bad, isnan(block[bad]) ? "NaN" : "+inf");
        }
        if (row->allowed && !any_allowed(row, i)) {
            row->block_max[i] = -INFINITY;
        } else if (row->allowed) {
            float values[BLOCK];
            load_block(row, i, values);
            row->block_max[i] = maximum(values, BLOCK);
        } else {
            row->block_max[i] = maximum(block, n);
        }
    }
    row->max = maximum(row->block_max, row->n_blocks);
    if (row->max > -INFINITY)
        return GLINT_OK;
    return glint_fail(err, GLINT_E_FORMAT,
                      "logits: no token left of %d, expected at least one that is allowed and "
                      "above -inf",
                      row->n);
}

int32_t glint_logit_row_best(const struct glint_logit_row *row) {
    int32_t i_block = 0;
    while (row->block_max[i_block] != row->max)
        i_block++;
    int32_t id = block_begin(i_block);
    while (row->logits[id] != row->max || !is_allowed(row, id))
        id++;
    return id;
}

size_t glint_logit_row_gather(const struct glint_logit_row *row, float floor, uint64_t *keys) {
    size_t n_keys = 0;
    for (int32_t i = 0; i < row->n_blocks; i++) {
        if (row->block_max[i] < floor || row->block_max[i] == -INFINITY)
            continue;
        int32_t begin = block_begin(i), end = begin + block_length(row, i);
        for (int32_t id = begin; id < end; id++) {
            float logit = row->logits[id];
            if (logit >= floor && logit > -INFINITY && is_allowed(row, id))
                keys[n_keys++] = glint_key_of(logit, id);
        }
    }
    return n_keys;
}

// a where the condition holds, else b, without a branch.
static inline float choose(bool condition, float a, float b) {
    uint32_t mask = 0u - (uint32_t)condition;
    return glint_float_from_bits((glint_float_bits(a) & mask) | (glint_float_bits(b) & ~mask));
}

// exp(x) for x <= 0, relative error below 2e-7; 0 below -87.
static inline float exp_negative(float x) {
    const float round = 12582912.0f; // 1.5 * 2^23: adding it leaves an integer in the low bits
    float clamped = choose(x < -87.0f, -87.0f, x);
    float shifted = clamped * 1.44269504f + round;
    uint32_t power = glint_float_bits(shifted) - glint_float_bits(round);
    float whole = shifted - round;
    // ln 2 in two parts, so that the product with a small integer is exact.
    float rest = (clamped - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float p = 1.0f / 720;
    p = p * rest + 1.0f / 120;
    p = p * rest + 1.0f / 24;
    p = p * rest + 1.0f / 6;
    p = p * rest + 0.5f;
    p = p * rest + 1.0f;
    p = p * rest + 1.0f;
    float scaled = p * glint_float_from_bits((power + 127u) << 23);
    return choose(x < -87.0f, 0.0f, scaled);
}

static inline int bin_of(float max, float logit) {
    float distance = (max - logit) * GLINT_ROW_BINS_PER_UNIT;
    return (int)choose(distance < GLINT_ROW_BINS - 1, distance, GLINT_ROW_BINS - 1);
}

void glint_logit_row_bin_sums(const struct glint_logit_row *row, double sums[GLINT_ROW_BINS]) {
    for (int i = 0; i < GLINT_ROW_BINS; i++)
        sums[i] = 0;
    for (int32_t i_block = 0; i_block < row->n_blocks; i_block++) {
        float values[BLOCK];
        int bins[BLOCK];
        load_block(row, i_block, values);
        float max = row->max;
        for (int32_t i = 0; i < BLOCK; i++) {
            bins[i] = bin_of(max, values[i]);
            values[i] = exp_negative(values[i] - max);
        }
        for (int32_t i = 0; i < BLOCK; i++)
            sums[bins[i]] += (double)values[i];
    }
}

size_t glint_logit_row_gather_bin(const struct glint_logit_row *row, int bin, uint64_t *keys) {
    size_t n_keys = 0;
    // A quick look, one bin wider on both sides than the exact test.
    float high = row->max - (float)(bin - 1) / GLINT_ROW_BINS_PER_UNIT;
    float low =
        bin + 1 < GLINT_ROW_BINS ? row->max - (float)(bin + 2) / GLINT_ROW_BINS_PER_UNIT : -FLT_MAX;
    for (int32_t i = 0; i < row->n_blocks; i++) {
        if (row->block_max[i] == -INFINITY || bin_of(row->max, row->block_max[i]) > bin)
            continue;
        int32_t begin = block_begin(i), end = begin + block_length(row, i);
        for (int32_t id = begin; id < end; id++) {
            float logit = row->logits[id];
            if (logit < low || logit > high)
                continue;
            if (bin_of(row->max, logit) == bin && is_allowed(row, id))
                keys[n_keys++] = glint_key_of(logit, id);
        }
    }
    return n_keys;
}

// Weights of one block, 0 for tokens that are not kept.
static void block_weights(const struct glint_logit_row *row,
                          const struct glint_row_weights *weights, int32_t i_block,
                          float values[BLOCK]) {
    load_block(row, i_block, values);
    float last = glint_key_logit(weights->last), max = row->max;
    float temperature = weights->temperature;
    // Ids up to this one are kept when their logit equals the last one's.
    int32_t last_tie = glint_key_id(weights->last) - block_begin(i_block);
    for (int32_t i = 0; i < BLOCK; i++) {
        bool kept = (values[i] > last) | ((values[i] == last) & (i <= last_tie));
        float weight = exp_negative((values[i] - max) / temperature);
        values[i] = choose(kept, weight, 0.0f);
    }
}

void glint_logit_row_weigh(const struct glint_logit_row *row, struct glint_row_weights *weights) {
    float last = glint_key_logit(weights->last);
    weights->sum = 0;
    for (int32_t i = 0; i < row->n_blocks; i++) {
        weights->block_sum[i] = 0;
        if (row->block_max[i] < last)
            continue;
        float values[BLOCK];
        block_weights(row, weights, i, values);
        float sum[LANES] = {0};
        for (int32_t j = 0; j < BLOCK; j += LANES)
            for (int lane = 0; lane < LANES; lane++)
                sum[lane] += values[j + lane];
        for (int lane = 0; lane < LANES; lane++)
            weights->block_sum[i] += (double)sum[lane];
        weights->sum += weights->block_sum[i];
    }
}

int32_t glint_logit_row_draw(const struct glint_logit_row *row,
                             const struct glint_row_weights *weights, double u) {
    double rest = u * weights->sum;
    int32_t i_block = 0, i_last = 0; // last block with any weight
    for (; i_block < row->n_blocks; i_block++) {
        if (weights->block_sum[i_block] > 0)
            i_last = i_block;
        if (rest < weights->block_sum[i_block])
            break;
        rest -= weights->block_sum[i_block];
    }
    float values[BLOCK];
    block_weights(row, weights, i_last, values);
    int32_t last = 0; // taken when rounding leaves the rest above the sum
    for (int32_t i = 0; i < BLOCK; i++) {
        if (values[i] == 0.0f)
            continue;
        last = i;
        if (rest < (double)values[i])
            break;
        rest -= (double)values[i];
    }
    return block_begin(i_last) + last;
}
