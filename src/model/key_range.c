// SPDX-License-Identifier: Apache-2.0
// key_range.c — see key_range.h.
#include "model/key_range.h"

enum glint_status glint_key_ints(const struct glint_gguf *gguf, const struct glint_key_int *keys,
                                 size_t n, struct glint_error *err) {
    for (size_t i = 0; i < n; i++) {
        uint32_t value;
        GLINT_TRY(glint_gguf_get_u32(gguf, keys[i].key, &value, err));
        if (value < keys[i].min || value > keys[i].max)
            return glint_fail(err, GLINT_E_FORMAT, "%s: %s: found %u, expected %u to %u",
                              gguf->path, keys[i].key, value, keys[i].min, keys[i].max);
        *keys[i].out = (int)value;
    }
    return GLINT_OK;
}

enum glint_status glint_key_floats(const struct glint_gguf *gguf,
                                   const struct glint_key_float *keys, size_t n,
                                   struct glint_error *err) {
    for (size_t i = 0; i < n; i++) {
        float value;
        GLINT_TRY(glint_gguf_get_f32(gguf, keys[i].key, &value, err));
        if (!(value >= keys[i].min && value <= keys[i].max)) // NaN fails too
            return glint_fail(err, GLINT_E_FORMAT, "%s: %s: found %g, expected %g to %g",
                              gguf->path, keys[i].key, (double)value, (double)keys[i].min,
                              (double)keys[i].max);
        *keys[i].out = value;
    }
    return GLINT_OK;
}
