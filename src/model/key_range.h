// SPDX-License-Identifier: Apache-2.0
// key_range.h — metadata numbers that must be there and lie in a range.
#ifndef GLINT_MODEL_KEY_RANGE_H
#define GLINT_MODEL_KEY_RANGE_H

#include "format/gguf.h"

struct glint_key_int {
    const char *key;
    int *out;
    uint32_t min, max;
};
enum glint_status glint_key_ints(const struct glint_gguf *gguf, const struct glint_key_int *keys,
                                 size_t n, struct glint_error *err);

struct glint_key_float {
    const char *key;
    float *out;
    float min, max;
};
enum glint_status glint_key_floats(const struct glint_gguf *gguf,
                                   const struct glint_key_float *keys, size_t n,
                                   struct glint_error *err);

#endif
