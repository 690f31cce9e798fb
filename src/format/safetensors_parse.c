// SPDX-License-Identifier: Apache-2.0
// safetensors_parse.c — header length, JSON header, tensors that tile the data.
#include "format/safetensors_parse.h"

#include "base/alloc.h"
#include "format/cursor.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER_BYTES = 100 * 1000 * 1000, MAX_NAME = 1024 };

typedef unsigned long long ull;

static const struct {
    const char *name;
    uint8_t n_bytes;
} dtypes[GLINT_SAFETENSORS_N_DTYPES] = {
    [GLINT_SAFETENSORS_BOOL] = {"BOOL", 1},       [GLINT_SAFETENSORS_U8] = {"U8", 1},
    [GLINT_SAFETENSORS_I8] = {"I8", 1},           [GLINT_SAFETENSORS_U16] = {"U16", 2},
    [GLINT_SAFETENSORS_I16] = {"I16", 2},         [GLINT_SAFETENSORS_F16] = {"F16", 2},
    [GLINT_SAFETENSORS_BF16] = {"BF16", 2},       [GLINT_SAFETENSORS_U32] = {"U32", 4},
    [GLINT_SAFETENSORS_I32] = {"I32", 4},         [GLINT_SAFETENSORS_F32] = {"F32", 4},
    [GLINT_SAFETENSORS_U64] = {"U64", 8},         [GLINT_SAFETENSORS_I64] = {"I64", 8},
    [GLINT_SAFETENSORS_F64] = {"F64", 8},         [GLINT_SAFETENSORS_F8_E4M3] = {"F8_E4M3", 1},
    [GLINT_SAFETENSORS_F8_E5M2] = {"F8_E5M2", 1},
};

const char *glint_safetensors_dtype_name(enum glint_safetensors_dtype dtype) {
    return dtypes[dtype].name;
}

size_t glint_safetensors_dtype_bytes(enum glint_safetensors_dtype dtype) {
    return dtypes[dtype].n_bytes;
}

// ---- one tensor
// -------------------------------------------------------------------------------------

static enum glint_status bad_field(const struct glint_safetensors_part *part, const char *name,
                                   const char *field, const char *expected,
                                   struct glint_error *err) {
    return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: %s: found something else, expected %s",
                      part->path, name, field, expected);
}

static enum glint_status read_dtype(const struct glint_safetensors_part *part,
                                    struct glint_safetensors_tensor *tensor,
                                    const struct glint_json *value, struct glint_error *err) {
    if (!glint_json_is(value, GLINT_JSON_STRING))
        return bad_field(part, tensor->name, "dtype", "a string", err);
    for (int i = 0; i < GLINT_SAFETENSORS_N_DTYPES; i++)
        if (glint_view_is(value->text, dtypes[i].name)) {
            tensor->dtype = (enum glint_safetensors_dtype)i;
            return GLINT_OK;
        }
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "%s: tensor %s: dtype: found \"%.40s\", expected one such as BF16, F16 or "
                      "F32",
                      part->path, tensor->name, value->text.data);
}

static enum glint_status read_shape(const struct glint_safetensors_part *part,
                                    struct glint_safetensors_tensor *tensor,
                                    const struct glint_json *value, struct glint_error *err) {
    if (!glint_json_is(value, GLINT_JSON_ARRAY) || value->n > GLINT_SAFETENSORS_MAX_DIMS)
        return bad_field(part, tensor->name, "shape", "an array of at most 8 sizes", err);
    tensor->n_values = 1;
    for (const struct glint_json *item = value->child; item; item = item->next) {
        uint64_t size;
        if (!glint_json_to_u64(item, &size))
            return bad_field(part, tensor->name, "shape", "whole numbers", err);
        if (tensor->n_values != 0 && size > (UINT64_C(1) << 56) / tensor->n_values)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: tensor %s: shape: found more than 2^56 values, expected no "
                              "more than the file holds",
                              part->path, tensor->name);
        tensor->dims[tensor->n_dims++] = size;
        tensor->n_values *= size;
    }
    return GLINT_OK;
}

// data/n_data: the bytes after the header.
static enum glint_status read_place(const struct glint_safetensors_part *part,
                                    struct glint_safetensors_tensor *tensor,
                                    const struct glint_json *value, struct glint_view data,
                                    struct glint_error *err) {
    uint64_t begin, end;
    bool good = glint_json_is(value, GLINT_JSON_ARRAY) && value->n == 2 &&
                glint_json_to_u64(value->child, &begin) &&
                glint_json_to_u64(value->child->next, &end);
    if (!good)
        return bad_field(part, tensor->name, "data_offsets", "an array of two offsets", err);
    if (begin > end || end > data.n)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensor %s: data_offsets: found [%llu, %llu], expected them inside "
                          "the file's %zu bytes of data (file cut short?)",
                          part->path, tensor->name, (ull)begin, (ull)end, data.n);
    tensor->n_bytes = tensor->n_values * dtypes[tensor->dtype].n_bytes;
    if (end - begin != tensor->n_bytes)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensor %s: data_offsets: found %llu bytes, expected %llu for its "
                          "shape and dtype",
                          part->path, tensor->name, (ull)(end - begin), (ull)tensor->n_bytes);
    tensor->data = (const uint8_t *)data.data + begin;
    return GLINT_OK;
}

static enum glint_status read_tensor(const struct glint_safetensors_part *part,
                                     struct glint_safetensors_tensor *tensor,
                                     const struct glint_json *entry, struct glint_view data,
                                     struct glint_error *err) {
    struct glint_view key = entry->key;
    if (key.n == 0 || key.n > MAX_NAME || memchr(key.data, 0, key.n))
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: header: found a tensor name of %zu bytes, expected 1 to %d without "
                          "zero bytes",
                          part->path, key.n, MAX_NAME);
    tensor->name = glint_strndup(key.data, key.n);
    if (!tensor->name)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", part->path);
    if (entry->kind != GLINT_JSON_OBJECT)
        return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: found %s, expected an object",
                          part->path, tensor->name, glint_json_kind_name(entry));
    GLINT_TRY(read_dtype(part, tensor, glint_json_get(entry, "dtype"), err));
    GLINT_TRY(read_shape(part, tensor, glint_json_get(entry, "shape"), err));
    return read_place(part, tensor, glint_json_get(entry, "data_offsets"), data, err);
}

// ---- all tensors
// --------------------------------------------------------------------------------------

static int compare_places(const void *a, const void *b) {
    const struct glint_safetensors_tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return x->n_bytes < y->n_bytes ? -1 : x->n_bytes > y->n_bytes; // empty ones first
}

// The format wants the data covered without holes; that also rules out overlaps.
static enum glint_status check_tiling(const struct glint_safetensors_part *part,
                                      struct glint_view data, struct glint_error *err) {
    const uint8_t *expected = (const uint8_t *)data.data;
    qsort(part->tensors, part->n_tensors, sizeof *part->tensors, compare_places);
    for (size_t i = 0; i < part->n_tensors; i++) {
        const struct glint_safetensors_tensor *tensor = &part->tensors[i];
        if (tensor->data != expected)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: tensor %s: data_offsets: found a start at %llu, expected %llu "
                              "(tensors must neither overlap nor leave holes)",
                              part->path, tensor->name,
                              (ull)(tensor->data - (const uint8_t *)data.data),
                              (ull)(expected - (const uint8_t *)data.data));
        expected += tensor->n_bytes;
    }
    size_t n_covered = (size_t)(expected - (const uint8_t *)data.data);
    if (n_covered != data.n)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: data: found %zu bytes, expected %zu, the sum of its tensors",
                          part->path, data.n, n_covered);
    return GLINT_OK;
}

static enum glint_status read_header(struct glint_safetensors_part *part,
                                     const struct glint_json *root, struct glint_view data,
                                     struct glint_error *err) {
    if (root->kind != GLINT_JSON_OBJECT)
        return glint_fail(err, GLINT_E_FORMAT, "%s: header: found %s, expected an object",
                          part->path, glint_json_kind_name(root));
    part->tensors = glint_alloc(root->n, sizeof *part->tensors);
    if (!part->tensors)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", part->path);
    for (const struct glint_json *entry = root->child; entry; entry = entry->next) {
        if (glint_view_is(entry->key, "__metadata__"))
            continue;
        struct glint_safetensors_tensor *tensor = &part->tensors[part->n_tensors++];
        GLINT_TRY(read_tensor(part, tensor, entry, data, err));
    }
    return check_tiling(part, data, err);
}

enum glint_status glint_safetensors_part_parse(struct glint_safetensors_part *part,
                                               struct glint_error *err) {
    if (part->n < 8)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: header size: found a file of %llu bytes, expected at least 8",
                          part->path, (ull)part->n);
    uint64_t n_header = glint_load_u64(part->data);
    if (n_header > part->n - 8 || n_header > MAX_HEADER_BYTES)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: header size: found %llu, expected at most %d and no more than the "
                          "%llu bytes that follow",
                          part->path, (ull)n_header, MAX_HEADER_BYTES, (ull)(part->n - 8));
    struct glint_view header = {(const char *)part->data + 8, (size_t)n_header};
    struct glint_view data = {header.data + n_header, (size_t)(part->n - 8 - n_header)};
    const struct glint_json_options options = {.name = part->path, .max_depth = 8};
    struct glint_json_doc *doc;
    enum glint_status status = glint_json_parse(&doc, header, &options, err);
    if (status == GLINT_OK) {
        status = read_header(part, glint_json_root(doc), data, err);
        glint_json_close(&doc);
    }
    if (status != GLINT_OK)
        glint_safetensors_part_fini(part);
    return status;
}

void glint_safetensors_part_fini(struct glint_safetensors_part *part) {
    for (size_t i = 0; i < part->n_tensors; i++)
        glint_free((void *)(uintptr_t)part->tensors[i].name);
    glint_free(part->tensors);
    part->tensors = NULL;
    part->n_tensors = 0;
}
