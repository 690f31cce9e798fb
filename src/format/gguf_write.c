// SPDX-License-Identifier: Apache-2.0
// gguf_write.c — collects the metadata as file bytes, then streams tensor data behind it.
#include "format/gguf_write.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/output_file.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32, VERSION = 3 }; // the format's default, so no general.alignment key

struct glint_gguf_writer {
    struct glint_buffer kvs;   // encoded key/values
    struct glint_buffer infos; // encoded tensor list
    struct glint_buffer keys;  // char *[n_kvs], owned, to find what was put twice
    struct glint_buffer names; // char *[n_tensors], owned
    struct glint_buffer sizes; // uint64_t[n_tensors]: bytes of each tensor's data
    uint64_t n_kvs, n_tensors;
    uint64_t n_items;               // of the open string array still to come
    uint64_t data_bytes;            // of all tensors, padding included
    struct glint_error first;       // first problem of put and add
    struct glint_output_file *file; // after begin
    uint64_t header_bytes;
    uint64_t i_tensor;   // that the next data belongs to
    uint64_t n_received; // bytes of it already given
};

typedef unsigned long long ull;

// ---- bytes
// ----------------------------------------------------------------------------------------

static void append_le(struct glint_buffer *out, uint64_t value, size_t n) {
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    glint_buffer_append(out, bytes, n);
}

static void append_string(struct glint_buffer *out, struct glint_view text) {
    append_le(out, text.n, 8);
    glint_buffer_append(out, text.data, text.n);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t padded(uint64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// ---- collecting
// -------------------------------------------------------------------------------------

static bool is_healthy(const struct glint_gguf_writer *writer) {
    return writer->first.status == GLINT_OK;
}

static void remember(struct glint_gguf_writer *writer, const char *what, const char *name,
                     const char *problem) {
    if (is_healthy(writer))
        (void)glint_fail(&writer->first, GLINT_E_ARG, "%s %s: %s", what, name, problem);
}

static void add_name(struct glint_gguf_writer *writer, struct glint_buffer *list, const char *what,
                     const char *name) {
    size_t n = strlen(name);
    if (writer->n_items != 0)
        remember(writer, what, name, "comes before the items of the last string array");
    if (n == 0 || n > GLINT_GGUF_MAX_NAME || !glint_utf8_is_valid(name, n))
        remember(writer, what, name, "is no valid name");
    char *copy = glint_strndup(name, n);
    if (copy && glint_buffer_reserve(list, sizeof copy))
        glint_buffer_append(list, &copy, sizeof copy);
    else
        glint_free(copy);
    list->failed |= !copy;
}

static void begin_kv(struct glint_gguf_writer *writer, const char *key, enum glint_gguf_type type) {
    add_name(writer, &writer->keys, "key", key);
    append_string(&writer->kvs, glint_view_of(key));
    append_le(&writer->kvs, type, 4);
    writer->n_kvs++;
}

static void begin_array(struct glint_gguf_writer *writer, const char *key,
                        enum glint_gguf_type type, uint64_t n) {
    begin_kv(writer, key, GLINT_GGUF_ARRAY);
    append_le(&writer->kvs, type, 4);
    append_le(&writer->kvs, n, 8);
}

void glint_gguf_put_u32(struct glint_gguf_writer *writer, const char *key, uint32_t value) {
    begin_kv(writer, key, GLINT_GGUF_U32);
    append_le(&writer->kvs, value, 4);
}

void glint_gguf_put_f32(struct glint_gguf_writer *writer, const char *key, float value) {
    begin_kv(writer, key, GLINT_GGUF_F32);
    append_le(&writer->kvs, bits_of(value), 4);
}

void glint_gguf_put_bool(struct glint_gguf_writer *writer, const char *key, bool value) {
    begin_kv(writer, key, GLINT_GGUF_BOOL);
    append_le(&writer->kvs, value, 1);
}

void glint_gguf_put_string(struct glint_gguf_writer *writer, const char *key,
                           struct glint_view value) {
    begin_kv(writer, key, GLINT_GGUF_STRING);
    append_string(&writer->kvs, value);
}

void glint_gguf_put_text(struct glint_gguf_writer *writer, const char *key, const char *value) {
    glint_gguf_put_string(writer, key, glint_view_of(value));
}

void glint_gguf_put_u32s(struct glint_gguf_writer *writer, const char *key, const uint32_t *values,
                         uint64_t n) {
    begin_array(writer, key, GLINT_GGUF_U32, n);
    for (uint64_t i = 0; i < n; i++)
        append_le(&writer->kvs, values[i], 4);
}

void glint_gguf_put_i32s(struct glint_gguf_writer *writer, const char *key, const int32_t *values,
                         uint64_t n) {
    begin_array(writer, key, GLINT_GGUF_I32, n);
    for (uint64_t i = 0; i < n; i++)
        append_le(&writer->kvs, (uint32_t)values[i], 4);
}

void glint_gguf_put_f32s(struct glint_gguf_writer *writer, const char *key, const float *values,
                         uint64_t n) {
    begin_array(writer, key, GLINT_GGUF_F32, n);
    for (uint64_t i = 0; i < n; i++)
        append_le(&writer->kvs, bits_of(values[i]), 4);
}

void glint_gguf_put_bools(struct glint_gguf_writer *writer, const char *key, const bool *values,
                          uint64_t n) {
    begin_array(writer, key, GLINT_GGUF_BOOL, n);
    for (uint64_t i = 0; i < n; i++)
        append_le(&writer->kvs, values[i], 1);
}

void glint_gguf_put_strings(struct glint_gguf_writer *writer, const char *key, uint64_t n) {
    begin_array(writer, key, GLINT_GGUF_STRING, n);
    writer->n_items = n;
}

void glint_gguf_put_item(struct glint_gguf_writer *writer, struct glint_view item) {
    if (writer->n_items == 0) {
        remember(writer, "string array", "item", "is one more than was announced");
        return;
    }
    writer->n_items--;
    append_string(&writer->kvs, item);
}

void glint_gguf_put_kv(struct glint_gguf_writer *writer, const struct glint_gguf_kv *kv) {
    if (kv->type == GLINT_GGUF_ARRAY) {
        remember(writer, "key", kv->key, "holds arrays of arrays, which are not copied");
        return;
    }
    if (kv->is_array)
        begin_array(writer, kv->key, kv->type, kv->n);
    else
        begin_kv(writer, kv->key, kv->type);
    if (kv->type != GLINT_GGUF_STRING) {
        glint_buffer_append(&writer->kvs, kv->data,
                            (size_t)kv->n * glint_gguf_type_bytes(kv->type));
        return;
    }
    for (uint64_t i = 0; i < kv->n; i++) {
        struct glint_view text;
        if (glint_gguf_item_string(kv, i, &text))
            append_string(&writer->kvs, text);
    }
}

void glint_gguf_add_tensor(struct glint_gguf_writer *writer, const char *name, uint32_t type_id,
                           uint32_t n_dims, const uint64_t *dims) {
    const struct glint_gguf_block *block = glint_gguf_block(type_id);
    add_name(writer, &writer->names, "tensor", name);
    bool good = block && n_dims >= 1 && n_dims <= GLINT_GGUF_MAX_DIMS;
    uint64_t n_values = 1;
    for (uint32_t i = 0; good && i < n_dims; i++) {
        good = dims[i] != 0 && dims[i] <= (UINT64_C(1) << 56) / n_values;
        n_values *= good ? dims[i] : 1;
    }
    if (!good || dims[0] % block->block_len != 0) {
        remember(writer, "tensor", name, "has a shape that its type cannot hold");
        return;
    }
    uint64_t n_bytes = n_values / block->block_len * block->block_bytes;
    glint_buffer_append(&writer->sizes, &n_bytes, sizeof n_bytes);
    append_string(&writer->infos, glint_view_of(name));
    append_le(&writer->infos, n_dims, 4);
    for (uint32_t i = 0; i < n_dims; i++)
        append_le(&writer->infos, dims[i], 8);
    append_le(&writer->infos, type_id, 4);
    append_le(&writer->infos, writer->data_bytes, 8);
    writer->data_bytes += padded(n_bytes);
    writer->n_tensors++;
}

// ---- writing
// ----------------------------------------------------------------------------------------

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_twice(struct glint_gguf_writer *writer, struct glint_buffer *list,
                       const char *what) {
    char **names = (char **)(void *)list->data;
    size_t n = list->n / sizeof *names;
    if (n < 2)
        return;
    qsort(names, n, sizeof *names, compare_texts);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            remember(writer, what, names[i], "was given twice");
}

static enum glint_status check_collected(struct glint_gguf_writer *writer, const char *path,
                                         struct glint_error *err) {
    if (writer->kvs.failed || writer->infos.failed || writer->keys.failed || writer->names.failed ||
        writer->sizes.failed)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    if (writer->n_items != 0)
        remember(writer, "string array", "items", "are fewer than were announced");
    find_twice(writer, &writer->keys, "key");
    find_twice(writer, &writer->names, "tensor");
    if (!is_healthy(writer))
        return glint_fail(err, writer->first.status, "%s: %s", path, writer->first.text);
    return GLINT_OK;
}

static enum glint_status pad_to(struct glint_gguf_writer *writer, uint64_t size,
                                struct glint_error *err) {
    static const uint8_t zeros[ALIGNMENT] = {0};
    uint64_t n = size - glint_output_file_size(writer->file);
    GLINT_ASSERT(n < ALIGNMENT);
    return glint_output_file_write(writer->file, zeros, (size_t)n, err);
}

enum glint_status glint_gguf_writer_begin(struct glint_gguf_writer *writer, const char *path,
                                          struct glint_error *err) {
    GLINT_REQUIRE(!writer->file, err);
    GLINT_TRY(check_collected(writer, path, err));
    struct glint_buffer head = {.data = NULL};
    glint_buffer_append_text(&head, "GGUF");
    append_le(&head, VERSION, 4);
    append_le(&head, writer->n_tensors, 8);
    append_le(&head, writer->n_kvs, 8);
    enum glint_status status = GLINT_OK;
    if (head.failed)
        status = glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
    if (status == GLINT_OK)
        status = glint_output_file_open(&writer->file, path, err);
    const struct glint_buffer *pieces[] = {&head, &writer->kvs, &writer->infos};
    for (size_t i = 0; i < 3 && status == GLINT_OK; i++)
        status = glint_output_file_write(writer->file, pieces[i]->data, pieces[i]->n, err);
    glint_buffer_fini(&head);
    GLINT_TRY(status);
    writer->header_bytes = padded(glint_output_file_size(writer->file));
    return pad_to(writer, writer->header_bytes, err);
}

enum glint_status glint_gguf_writer_data(struct glint_gguf_writer *writer, const void *data,
                                         size_t n, struct glint_error *err) {
    GLINT_REQUIRE(writer->file, err);
    if (n == 0)
        return GLINT_OK;
    GLINT_REQUIRE(writer->i_tensor < writer->n_tensors, err);
    uint64_t size;
    memcpy(&size, writer->sizes.data + writer->i_tensor * sizeof size, sizeof size);
    GLINT_REQUIRE(n <= size - writer->n_received, err);
    GLINT_TRY(glint_output_file_write(writer->file, data, n, err));
    writer->n_received += n;
    if (writer->n_received < size)
        return GLINT_OK;
    writer->i_tensor++;
    writer->n_received = 0;
    return pad_to(writer, padded(glint_output_file_size(writer->file)), err);
}

uint64_t glint_gguf_writer_size(const struct glint_gguf_writer *writer) {
    return writer->header_bytes + writer->data_bytes;
}

enum glint_status glint_gguf_writer_commit(struct glint_gguf_writer **writer,
                                           struct glint_error *err) {
    struct glint_gguf_writer *w = *writer;
    enum glint_status status;
    if (!w->file)
        status = glint_fail(err, GLINT_E_ARG, "gguf writer: commit before begin");
    else if (w->i_tensor != w->n_tensors)
        status =
            glint_fail(err, GLINT_E_ARG, "gguf writer: found data for %llu tensors, expected %llu",
                       (ull)w->i_tensor, (ull)w->n_tensors);
    else
        status = glint_output_file_commit(&w->file, err);
    glint_gguf_writer_discard(writer);
    return status;
}

enum glint_status glint_gguf_writer_open(struct glint_gguf_writer **writer,
                                         struct glint_error *err) {
    *writer = glint_alloc(1, sizeof **writer);
    if (!*writer)
        return glint_fail(err, GLINT_E_NOMEM, "gguf writer: out of memory");
    return GLINT_OK;
}

static void free_list(struct glint_buffer *list) {
    char **names = (char **)(void *)list->data;
    for (size_t i = 0; i < list->n / sizeof *names; i++)
        glint_free(names[i]);
    glint_buffer_fini(list);
}

void glint_gguf_writer_discard(struct glint_gguf_writer **writer) {
    if (!*writer)
        return;
    glint_output_file_discard(&(*writer)->file);
    glint_buffer_fini(&(*writer)->kvs);
    glint_buffer_fini(&(*writer)->infos);
    glint_buffer_fini(&(*writer)->sizes);
    free_list(&(*writer)->keys);
    free_list(&(*writer)->names);
    glint_free(*writer);
    *writer = NULL;
}
