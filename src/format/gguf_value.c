// SPDX-License-Identifier: Apache-2.0
// gguf_value.c — reading the values of an open GGUF file, with errors that name what was found.
#include "format/cursor.h"
#include "format/gguf_parse.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

// ---- items --------------------------------------------------------------------------------------

static const uint8_t *item_at(const struct glint_gguf_kv *kv, uint64_t i) {
    return i < kv->n ? kv->data + i * glint_gguf_type_bytes(kv->type) : NULL;
}

bool glint_gguf_item_i64(const struct glint_gguf_kv *kv, uint64_t i, int64_t *value) {
    const uint8_t *item = item_at(kv, i);
    if (!item)
        return false;
    switch (kv->type) {
    case GLINT_GGUF_U8:
        *value = item[0];
        return true;
    case GLINT_GGUF_I8:
        *value = (int8_t)item[0];
        return true;
    case GLINT_GGUF_U16:
        *value = glint_load_u16(item);
        return true;
    case GLINT_GGUF_I16:
        *value = (int16_t)glint_load_u16(item);
        return true;
    case GLINT_GGUF_U32:
        *value = glint_load_u32(item);
        return true;
    case GLINT_GGUF_I32:
        *value = (int32_t)glint_load_u32(item);
        return true;
    case GLINT_GGUF_U64:
        *value = (int64_t)glint_load_u64(item);
        return *value >= 0;
    case GLINT_GGUF_I64:
        *value = (int64_t)glint_load_u64(item);
        return true;
    default:
        return false;
    }
}

bool glint_gguf_item_f64(const struct glint_gguf_kv *kv, uint64_t i, double *value) {
    const uint8_t *item = item_at(kv, i);
    int64_t whole;
    if (!item)
        return false;
    if (kv->type == GLINT_GGUF_F32) {
        *value = (double)glint_load_f32(item);
        return true;
    }
    if (kv->type == GLINT_GGUF_F64) {
        *value = glint_load_f64(item);
        return true;
    }
    if (!glint_gguf_item_i64(kv, i, &whole))
        return false;
    *value = (double)whole;
    return true;
}

bool glint_gguf_item_bool(const struct glint_gguf_kv *kv, uint64_t i, bool *value) {
    if (i >= kv->n || kv->type != GLINT_GGUF_BOOL)
        return false;
    *value = kv->data[i] != 0;
    return true;
}

bool glint_gguf_item_string(const struct glint_gguf_kv *kv, uint64_t i, struct glint_view *value) {
    if (i >= kv->n || kv->type != GLINT_GGUF_STRING)
        return false;
    const uint8_t *item = kv->data + (kv->starts ? kv->starts[i] : 0);
    *value = (struct glint_view){(const char *)item + 8, (size_t)glint_load_u64(item)};
    return true;
}

// ---- messages -----------------------------------------------------------------------------------

const char *glint_gguf_describe(const struct glint_gguf_kv *kv, char *text, size_t n) {
    int64_t whole;
    double number;
    struct glint_view string;
    if (kv->is_array)
        snprintf(text, n, "an array of %llu %s", (unsigned long long)kv->n,
                 glint_gguf_type_name(kv->type));
    else if (glint_gguf_item_i64(kv, 0, &whole))
        snprintf(text, n, "the %s %lld", glint_gguf_type_name(kv->type), (long long)whole);
    else if (glint_gguf_item_f64(kv, 0, &number))
        snprintf(text, n, "the %s %.9g", glint_gguf_type_name(kv->type), number);
    else if (glint_gguf_item_string(kv, 0, &string))
        snprintf(text, n, "a string of %zu bytes", string.n);
    else
        snprintf(text, n, "a %s", glint_gguf_type_name(kv->type));
    return text;
}

static enum glint_status missing(const struct glint_gguf *gguf, const char *key,
                                 const char *expected, struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOTFOUND, "%s: key %s: found nothing, expected %s", gguf->path,
                      key, expected);
}

static enum glint_status unfit(const struct glint_gguf *gguf, const struct glint_gguf_kv *kv,
                               const char *expected, struct glint_error *err) {
    char text[80];
    return glint_fail(err, GLINT_E_FORMAT, "%s: key %s: found %s, expected %s", gguf->path, kv->key,
                      glint_gguf_describe(kv, text, sizeof text), expected);
}

// ---- scalars ------------------------------------------------------------------------------------

static const char expected_u32[] = "a whole number from 0 to 4294967295";
static const char expected_f32[] = "a finite number";
static const char expected_bool[] = "a boolean";
static const char expected_string[] = "a string";

enum glint_status glint_gguf_opt_u32(const struct glint_gguf *gguf, const char *key,
                                     uint32_t *value, struct glint_error *err) {
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    int64_t whole;
    if (!kv)
        return GLINT_OK;
    if (kv->is_array || !glint_gguf_item_i64(kv, 0, &whole) || whole < 0 || whole > UINT32_MAX)
        return unfit(gguf, kv, expected_u32, err);
    *value = (uint32_t)whole;
    return GLINT_OK;
}

enum glint_status glint_gguf_opt_f32(const struct glint_gguf *gguf, const char *key, float *value,
                                     struct glint_error *err) {
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    double number;
    if (!kv)
        return GLINT_OK;
    if (kv->is_array || !glint_gguf_item_f64(kv, 0, &number) || !(fabs(number) <= FLT_MAX))
        return unfit(gguf, kv, expected_f32, err);
    *value = (float)number;
    return GLINT_OK;
}

enum glint_status glint_gguf_opt_bool(const struct glint_gguf *gguf, const char *key, bool *value,
                                      struct glint_error *err) {
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    if (!kv)
        return GLINT_OK;
    if (kv->is_array || !glint_gguf_item_bool(kv, 0, value))
        return unfit(gguf, kv, expected_bool, err);
    return GLINT_OK;
}

enum glint_status glint_gguf_opt_string(const struct glint_gguf *gguf, const char *key,
                                        struct glint_view *value, struct glint_error *err) {
    const struct glint_gguf_kv *kv = glint_gguf_find(gguf, key);
    if (!kv)
        return GLINT_OK;
    if (kv->is_array || !glint_gguf_item_string(kv, 0, value))
        return unfit(gguf, kv, expected_string, err);
    return GLINT_OK;
}

enum glint_status glint_gguf_get_u32(const struct glint_gguf *gguf, const char *key,
                                     uint32_t *value, struct glint_error *err) {
    if (!glint_gguf_find(gguf, key))
        return missing(gguf, key, expected_u32, err);
    return glint_gguf_opt_u32(gguf, key, value, err);
}

enum glint_status glint_gguf_get_f32(const struct glint_gguf *gguf, const char *key, float *value,
                                     struct glint_error *err) {
    if (!glint_gguf_find(gguf, key))
        return missing(gguf, key, expected_f32, err);
    return glint_gguf_opt_f32(gguf, key, value, err);
}

enum glint_status glint_gguf_get_bool(const struct glint_gguf *gguf, const char *key, bool *value,
                                      struct glint_error *err) {
    if (!glint_gguf_find(gguf, key))
        return missing(gguf, key, expected_bool, err);
    return glint_gguf_opt_bool(gguf, key, value, err);
}

enum glint_status glint_gguf_get_string(const struct glint_gguf *gguf, const char *key,
                                        struct glint_view *value, struct glint_error *err) {
    if (!glint_gguf_find(gguf, key))
        return missing(gguf, key, expected_string, err);
    return glint_gguf_opt_string(gguf, key, value, err);
}

// ---- arrays -------------------------------------------------------------------------------------

static bool is_int_type(enum glint_gguf_type type) {
    return type <= GLINT_GGUF_I32 || type == GLINT_GGUF_U64 || type == GLINT_GGUF_I64;
}

static bool is_in_class(enum glint_gguf_type type, enum glint_gguf_class item_class) {
    switch (item_class) {
    case GLINT_GGUF_INTS:
        return is_int_type(type);
    case GLINT_GGUF_FLOATS:
        return is_int_type(type) || type == GLINT_GGUF_F32 || type == GLINT_GGUF_F64;
    case GLINT_GGUF_BOOLS:
        return type == GLINT_GGUF_BOOL;
    case GLINT_GGUF_STRINGS:
        return type == GLINT_GGUF_STRING;
    }
    return false;
}

enum glint_status glint_gguf_get_array(const struct glint_gguf *gguf, const char *key,
                                       enum glint_gguf_class item_class,
                                       const struct glint_gguf_kv **kv, struct glint_error *err) {
    static const char *const expected[] = {"an array of integers", "an array of numbers",
                                           "an array of booleans", "an array of strings"};
    const struct glint_gguf_kv *found = glint_gguf_find(gguf, key);
    if (!found)
        return missing(gguf, key, expected[item_class], err);
    if (!found->is_array || !is_in_class(found->type, item_class))
        return unfit(gguf, found, expected[item_class], err);
    *kv = found;
    return GLINT_OK;
}
