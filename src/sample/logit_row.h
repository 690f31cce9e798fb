// SPDX-License-Identifier: Apache-2.0
// logit_row.h — passes over one row of logits, in blocks.
// A row with its mask and the maximum of each block of 256: most questions then touch only the
// few blocks that matter. The loops are plain C over 16 lanes, which compilers turn into vector
// code; sums have a fixed order, so results do not depend on it.
#ifndef GLINT_SAMPLE_LOGIT_ROW_H
#define GLINT_SAMPLE_LOGIT_ROW_H

#include "base/status.h"

enum {
    GLINT_ROW_BLOCK = 256,
    GLINT_ROW_BINS = 512,         // by distance from the maximum
    GLINT_ROW_BINS_PER_UNIT = 16, // so the last bin begins 32 below it
};

struct glint_logit_row {
    const float *logits;     // [n]
    const uint32_t *allowed; // bit set of n bits, or NULL: all
    int32_t n;
    int32_t n_blocks;
    float *block_max; // [n_blocks] of allowed logits, -inf when none; caller's memory
    float max;        // of all allowed logits
};

// Kept tokens: those whose key (select.h) is at most `last`.
struct glint_row_weights {
    uint64_t last;
    float temperature;
    double *block_sum; // [n_blocks] caller's memory
    double sum;        // of exp((logit - max) / temperature) over the kept tokens
};

// Fills block_max and max. GLINT_E_FORMAT naming the first logit that is NaN or +inf, masked or
// not, and when no allowed token is above -inf.
enum glint_status glint_logit_row_scan(struct glint_logit_row *row, struct glint_error *err);
// Lowest id that has the largest logit.
int32_t glint_logit_row_best(const struct glint_logit_row *row);
// Keys of the allowed tokens with logit >= floor (and > -inf), in id order; returns how many.
// keys: room for n.
size_t glint_logit_row_gather(const struct glint_logit_row *row, float floor, uint64_t *keys);
// Sums exp(logit - max) over the allowed tokens of each bin.
void glint_logit_row_bin_sums(const struct glint_logit_row *row, double sums[GLINT_ROW_BINS]);
// Keys of the allowed tokens of one bin (above -inf), in id order; returns how many.
size_t glint_logit_row_gather_bin(const struct glint_logit_row *row, int bin, uint64_t *keys);
// Fills block_sum and sum.
void glint_logit_row_weigh(const struct glint_logit_row *row, struct glint_row_weights *weights);
// First kept token in id order whose running sum exceeds u * sum; u in [0, 1).
int32_t glint_logit_row_draw(const struct glint_logit_row *row,
                             const struct glint_row_weights *weights, double u);

#endif
