// SPDX-License-Identifier: Apache-2.0
// dtype.c — the table of dtype.def, looked up by id, name or place; and the names of all public
// type ids, for refusals.
#include "quant/dtype.h"

#include "base/status.h"
#include "quant/codec.h"

// By type id; ids without a row have a NULL name.
static const struct glint_dtype_info dtype_rows[] = {
#define GLINT_DTYPE_ROW(upper, lower, length, bytes, is_float)                                     \
    [GLINT_DTYPE_##upper] = {                                                                      \
        GLINT_DTYPE_##upper,   #lower, (length), (bytes), (is_float), glint_##lower##_decode,      \
        glint_##lower##_encode},
#include "quant/dtype.def"
#undef GLINT_DTYPE_ROW
};

// Type ids in the order of dtype.def.
static const uint8_t dtype_order[] = {
#define GLINT_DTYPE_ROW(upper, lower, length, bytes, is_float) GLINT_DTYPE_##upper,
#include "quant/dtype.def"
#undef GLINT_DTYPE_ROW
};

enum {
    N_ID = sizeof dtype_rows / sizeof dtype_rows[0],
    N_DTYPE = sizeof dtype_order / sizeof dtype_order[0],
};

// Public ids, including those without a row, so that a refusal can name what it refuses.
static const char *const public_names[] = {
    [0] = "F32",     [1] = "F16",      [2] = "Q4_0",   [3] = "Q4_1",    [6] = "Q5_0",
    [7] = "Q5_1",    [8] = "Q8_0",     [9] = "Q8_1",   [10] = "Q2_K",   [11] = "Q3_K",
    [12] = "Q4_K",   [13] = "Q5_K",    [14] = "Q6_K",  [15] = "Q8_K",   [16] = "IQ2_XXS",
    [17] = "IQ2_XS", [18] = "IQ3_XXS", [19] = "IQ1_S", [20] = "IQ4_NL", [21] = "IQ3_S",
    [22] = "IQ2_S",  [23] = "IQ4_XS",  [24] = "I8",    [25] = "I16",    [26] = "I32",
    [27] = "I64",    [28] = "F64",     [29] = "IQ1_M", [30] = "BF16",   [34] = "TQ1_0",
    [35] = "TQ2_0",  [39] = "MXFP4",
};

const struct glint_dtype_info *glint_dtype_info(uint32_t id) {
    return id < N_ID && dtype_rows[id].name != NULL ? &dtype_rows[id] : NULL;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const struct glint_dtype_info *glint_dtype_by_name(const char *name) {
    for (size_t i = 0; i < N_DTYPE; i++) {
        const char *row = dtype_rows[dtype_order[i]].name;
        size_t j = 0;
        while (row[j] != '\0' && row[j] == lower(name[j]))
            j++;
        if (row[j] == '\0' && name[j] == '\0')
            return &dtype_rows[dtype_order[i]];
    }
    return NULL;
}

const struct glint_dtype_info *glint_dtype_at(size_t i) {
    return i < N_DTYPE ? &dtype_rows[dtype_order[i]] : NULL;
}

const char *glint_dtype_public_name(uint32_t id) {
    if (id < sizeof public_names / sizeof public_names[0] && public_names[id] != NULL)
        return public_names[id];
    return "unknown";
}

size_t glint_dtype_bytes(enum glint_dtype dtype, uint64_t n) {
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)dtype);
    GLINT_ASSERT(info != NULL && n % info->block_len == 0);
    return (size_t)(n / info->block_len * info->block_bytes);
}
