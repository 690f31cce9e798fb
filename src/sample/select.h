// SPDX-License-Identifier: Apache-2.0
// select.h — candidates as 64-bit keys, and picking the best of them.
// The smaller key is the better candidate: larger logit first, then lower id. All keys of a row
// differ, so every selection is unique.
#ifndef GLINT_SAMPLE_SELECT_H
#define GLINT_SAMPLE_SELECT_H

#include "base/half.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t glint_key_of(float logit, int32_t id) {
    uint32_t bits = glint_float_bits(logit + 0.0f); // one zero instead of two
    uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (uint64_t)(~ascending) << 32 | (uint32_t)id;
}

static inline int32_t glint_key_id(uint64_t key) {
    return (int32_t)(uint32_t)key;
}

static inline float glint_key_logit(uint64_t key) {
    uint32_t ascending = ~(uint32_t)(key >> 32);
    return glint_float_from_bits(ascending & 0x80000000u ? ascending & 0x7fffffffu : ~ascending);
}

// No key is larger.
static inline uint64_t glint_key_worst(void) {
    return glint_key_of(-INFINITY, INT32_MAX);
}

// Moves the k smallest of n keys to the front, in any order; 0 <= k <= n.
void glint_select_front(uint64_t *keys, size_t n, size_t k);
void glint_select_sort(uint64_t *keys, size_t n); // ascending

#endif
