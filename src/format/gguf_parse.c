// SPDX-License-Identifier: Apache-2.0
// gguf_parse.c — walks the header, the key/values and the tensor list of one file.
// Every count is compared with the bytes that are left, at the smallest size an entry can have,
// before memory is taken for it.
#include "format/gguf_parse.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/cursor.h"

#include <string.h>

enum {
    MAX_ENTRIES = 1 << 16, // key/values, and tensors, of one file
    MIN_KV_BYTES = 8 + 1 + 4 + 1,
    MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8,
    MIN_ALIGNMENT = 8,
    DEFAULT_ALIGNMENT = 32,
};

struct parse {
    struct glint_gguf_part *part;
    struct glint_cursor cursor;
    struct glint_error *err;
};

typedef unsigned long long ull; // what %llu takes

static enum glint_status cut_short(const struct parse *parse, const char *what, const char *name) {
    return glint_fail(parse->err, GLINT_E_FORMAT,
                      "%s: %s%s%s: the file ends inside it (found %zu "
                      "bytes)",
                      parse->part->path, what, name ? " " : "", name ? name : "", parse->part->n);
}

// ---- names --------------------------------------------------------------------------------------

// Names are printed: a terminal must not obey them.
static bool has_control(const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
            return true;
    return false;
}

// A terminated copy of the next string; glint_free it. `what` is "key" or "tensor name".
static enum glint_status take_name(struct parse *parse, const char *what, size_t i,
                                   const char **out) {
    const char *path = parse->part->path;
    uint64_t n = glint_cursor_u64(&parse->cursor);
    if (parse->cursor.failed)
        return cut_short(parse, what, NULL);
    if (n == 0 || n > GLINT_GGUF_MAX_NAME)
        return glint_fail(parse->err, GLINT_E_FORMAT,
                          "%s: %s %zu: found a length of %llu bytes, expected 1 to %d", path, what,
                          i, (ull)n, GLINT_GGUF_MAX_NAME);
    const char *bytes = (const char *)glint_cursor_take(&parse->cursor, n);
    if (!bytes)
        return cut_short(parse, what, NULL);
    if (has_control(bytes, (size_t)n) || !glint_utf8_is_valid(bytes, (size_t)n))
        return glint_fail(parse->err, GLINT_E_FORMAT,
                          "%s: %s %zu: found bytes that are not text, expected UTF-8 without "
                          "control characters",
                          path, what, i);
    *out = glint_strndup(bytes, (size_t)n);
    if (!*out)
        return glint_fail(parse->err, GLINT_E_NOMEM, "%s: out of memory", path);
    return GLINT_OK;
}

// ---- values -------------------------------------------------------------------------------------

static enum glint_status bad_type(const struct parse *parse, const char *key, uint32_t type) {
    return glint_fail(parse->err, GLINT_E_FORMAT,
                      "%s: key %s: found value type %u, expected 0 to %d", parse->part->path, key,
                      type, GLINT_GGUF_N_TYPES - 1);
}

static enum glint_status take_string(struct parse *parse, const char *key) {
    uint64_t n = glint_cursor_u64(&parse->cursor);
    if (!glint_cursor_take(&parse->cursor, n))
        return cut_short(parse, "key", key);
    return GLINT_OK;
}

static enum glint_status check_bools(const struct parse *parse, const char *key,
                                     const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (bytes[i] > 1)
            return glint_fail(parse->err, GLINT_E_FORMAT,
                              "%s: key %s: found the boolean %u, expected 0 or 1",
                              parse->part->path, key, bytes[i]);
    return GLINT_OK;
}

// Type and length of an array; the length fits the bytes that are left.
static enum glint_status take_array_head(struct parse *parse, const char *key, uint32_t *type,
                                         uint64_t *n) {
    *type = glint_cursor_u32(&parse->cursor);
    *n = glint_cursor_u64(&parse->cursor);
    if (parse->cursor.failed)
        return cut_short(parse, "key", key);
    if (*type >= GLINT_GGUF_N_TYPES)
        return bad_type(parse, key, *type);
    size_t smallest = glint_gguf_type_bytes(*type);
    if (*type == GLINT_GGUF_STRING)
        smallest = 8;
    if (*type == GLINT_GGUF_ARRAY)
        smallest = 12;
    if (*n > glint_cursor_left(&parse->cursor) / smallest)
        return glint_fail(parse->err, GLINT_E_FORMAT,
                          "%s: key %s: found an array of %llu %s, expected one that fits the %zu "
                          "bytes that follow",
                          parse->part->path, key, (ull)*n, glint_gguf_type_name(*type),
                          glint_cursor_left(&parse->cursor));
    return GLINT_OK;
}

// Steps over n items of an array that nobody reads (it lies inside another).
static enum glint_status skip_items(struct parse *parse, const char *key, uint32_t type, uint64_t n,
                                    int depth) {
    if (glint_gguf_type_bytes(type) != 0) {
        glint_cursor_take(&parse->cursor, n * glint_gguf_type_bytes(type));
        return GLINT_OK;
    }
    if (depth == GLINT_GGUF_MAX_NESTING)
        return glint_fail(parse->err, GLINT_E_LIMIT,
                          "%s: key %s: found arrays nested deeper than %d", parse->part->path, key,
                          GLINT_GGUF_MAX_NESTING);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t inner;
        uint64_t n_inner;
        if (type == GLINT_GGUF_STRING) {
            GLINT_TRY(take_string(parse, key));
            continue;
        }
        GLINT_TRY(take_array_head(parse, key, &inner, &n_inner));
        GLINT_TRY(skip_items(parse, key, inner, n_inner, depth + 1));
    }
    return GLINT_OK;
}

static enum glint_status index_strings(struct parse *parse, struct glint_gguf_kv *kv) {
    uint64_t *starts = glint_alloc((size_t)kv->n, sizeof *starts);
    if (!starts)
        return glint_fail(parse->err, GLINT_E_NOMEM, "%s: out of memory", parse->part->path);
    kv->starts = starts;
    size_t first = parse->cursor.at;
    for (uint64_t i = 0; i < kv->n; i++) {
        starts[i] = parse->cursor.at - first;
        GLINT_TRY(take_string(parse, kv->key));
    }
    return GLINT_OK;
}

static enum glint_status take_value(struct parse *parse, struct glint_gguf_kv *kv) {
    uint32_t type = glint_cursor_u32(&parse->cursor);
    if (parse->cursor.failed)
        return cut_short(parse, "key", kv->key);
    if (type >= GLINT_GGUF_N_TYPES)
        return bad_type(parse, kv->key, type);
    kv->n = 1;
    if (type == GLINT_GGUF_ARRAY) {
        kv->is_array = true;
        GLINT_TRY(take_array_head(parse, kv->key, &type, &kv->n));
    }
    kv->type = type;
    kv->data = parse->cursor.data + parse->cursor.at;
    if (type == GLINT_GGUF_STRING)
        return kv->is_array ? index_strings(parse, kv) : take_string(parse, kv->key);
    if (type == GLINT_GGUF_ARRAY)
        return skip_items(parse, kv->key, type, kv->n, 1);
    if (!glint_cursor_take(&parse->cursor, kv->n * glint_gguf_type_bytes(type)))
        return cut_short(parse, "key", kv->key);
    if (type == GLINT_GGUF_BOOL)
        return check_bools(parse, kv->key, kv->data, kv->n);
    return GLINT_OK;
}

static enum glint_status take_kvs(struct parse *parse) {
    struct glint_gguf_part *part = parse->part;
    for (size_t i = 0; i < part->n_kvs; i++) {
        GLINT_TRY(take_name(parse, "key", i, &part->kvs[i].key));
        GLINT_TRY(take_value(parse, &part->kvs[i]));
    }
    return GLINT_OK;
}

static enum glint_status read_alignment(struct parse *parse) {
    struct glint_gguf_part *part = parse->part;
    part->alignment = DEFAULT_ALIGNMENT;
    for (size_t i = 0; i < part->n_kvs; i++) {
        const struct glint_gguf_kv *kv = &part->kvs[i];
        if (strcmp(kv->key, "general.alignment") != 0)
            continue;
        char text[80];
        int64_t value;
        bool good = !kv->is_array && glint_gguf_item_i64(kv, 0, &value) && value >= MIN_ALIGNMENT &&
                    value <= GLINT_GGUF_MAX_ALIGNMENT && (value & (value - 1)) == 0;
        if (!good)
            return glint_fail(parse->err, GLINT_E_FORMAT,
                              "%s: key general.alignment: found %s, expected a power of two from "
                              "%d to %d",
                              part->path, glint_gguf_describe(kv, text, sizeof text), MIN_ALIGNMENT,
                              GLINT_GGUF_MAX_ALIGNMENT);
        part->alignment = (uint64_t)value;
    }
    return GLINT_OK;
}

// ---- tensors ------------------------------------------------------------------------------------

static enum glint_status take_dims(struct parse *parse, struct glint_gguf_tensor *tensor) {
    const char *path = parse->part->path;
    tensor->n_dims = glint_cursor_u32(&parse->cursor);
    if (parse->cursor.failed)
        return cut_short(parse, "tensor", tensor->name);
    if (tensor->n_dims < 1 || tensor->n_dims > GLINT_GGUF_MAX_DIMS)
        return glint_fail(parse->err, GLINT_E_FORMAT,
                          "%s: tensor %s: found %u dimensions, expected 1 to %d", path,
                          tensor->name, tensor->n_dims, GLINT_GGUF_MAX_DIMS);
    tensor->n_values = 1;
    for (uint32_t i = 0; i < GLINT_GGUF_MAX_DIMS; i++) {
        tensor->dims[i] = i < tensor->n_dims ? glint_cursor_u64(&parse->cursor) : 1;
        if (parse->cursor.failed)
            return cut_short(parse, "tensor", tensor->name);
        // 2^56 values: beyond any file, and any block size keeps the byte count below 2^63.
        if (tensor->dims[i] == 0 || tensor->dims[i] > (UINT64_C(1) << 56) / tensor->n_values)
            return glint_fail(parse->err, GLINT_E_FORMAT,
                              "%s: tensor %s: dimension %u: found %llu, expected at least 1 and "
                              "fewer than 2^56 values in all",
                              path, tensor->name, i, (ull)tensor->dims[i]);
        tensor->n_values *= tensor->dims[i];
    }
    return GLINT_OK;
}

static enum glint_status take_tensor(struct parse *parse, struct glint_gguf_tensor *tensor,
                                     size_t i) {
    const char *path = parse->part->path;
    GLINT_TRY(take_name(parse, "tensor name", i, &tensor->name));
    GLINT_TRY(take_dims(parse, tensor));
    tensor->type_id = glint_cursor_u32(&parse->cursor);
    tensor->offset = glint_cursor_u64(&parse->cursor); // from the start of the data, for now
    if (parse->cursor.failed)
        return cut_short(parse, "tensor", tensor->name);
    const struct glint_gguf_block *block = glint_gguf_block(tensor->type_id);
    if (!block)
        return glint_fail(parse->err, GLINT_E_UNSUPPORTED,
                          "%s: tensor %s: found type id %u, expected one that the format defines",
                          path, tensor->name, tensor->type_id);
    if (tensor->dims[0] % block->block_len != 0)
        return glint_fail(parse->err, GLINT_E_FORMAT,
                          "%s: tensor %s: found rows of %llu values, expected a multiple of %u for "
                          "type %s",
                          path, tensor->name, (ull)tensor->dims[0], block->block_len, block->name);
    tensor->n_bytes = tensor->n_values / block->block_len * block->block_bytes;
    return GLINT_OK;
}

// Known only after the whole list: where the data starts.
static enum glint_status place_tensors(struct parse *parse) {
    struct glint_gguf_part *part = parse->part;
    uint64_t mask = part->alignment - 1;
    part->data_offset = (parse->cursor.at + mask) & ~mask;
    uint64_t room = part->n > part->data_offset ? part->n - part->data_offset : 0;
    for (size_t i = 0; i < part->n_tensors; i++) {
        struct glint_gguf_tensor *tensor = &part->tensors[i];
        if (tensor->offset & mask)
            return glint_fail(parse->err, GLINT_E_FORMAT,
                              "%s: tensor %s: found offset %llu, expected a multiple of %llu",
                              part->path, tensor->name, (ull)tensor->offset, (ull)part->alignment);
        if (tensor->n_bytes > room || tensor->offset > room - tensor->n_bytes)
            return glint_fail(parse->err, GLINT_E_FORMAT,
                              "%s: tensor %s: found %llu bytes at offset %llu, expected them "
                              "inside the file's %llu bytes of tensor data (file cut short?)",
                              part->path, tensor->name, (ull)tensor->n_bytes, (ull)tensor->offset,
                              (ull)room);
        tensor->offset += part->data_offset;
        tensor->data = part->data + tensor->offset;
    }
    return GLINT_OK;
}

// ---- the file -----------------------------------------------------------------------------------

static enum glint_status take_version(struct parse *parse) {
    struct glint_gguf_part *part = parse->part;
    const uint8_t *magic = glint_cursor_take(&parse->cursor, 4);
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return glint_fail(parse->err, GLINT_E_FORMAT, "%s: magic: found %s, expected \"GGUF\"",
                          part->path, magic ? "other bytes" : "a file of fewer than 4 bytes");
    part->version = glint_cursor_u32(&parse->cursor);
    if (parse->cursor.failed)
        return cut_short(parse, "version", NULL);
    if (part->version != 0 && (part->version & 0xffffu) == 0)
        return glint_fail(parse->err, GLINT_E_UNSUPPORTED,
                          "%s: version: found a big-endian file, expected little-endian",
                          part->path);
    if (part->version != 2 && part->version != 3)
        return glint_fail(parse->err, GLINT_E_UNSUPPORTED, "%s: version: found %u, expected 2 or 3",
                          part->path, part->version);
    return GLINT_OK;
}

static enum glint_status check_count(const struct parse *parse, const char *what, uint64_t n,
                                     size_t smallest) {
    size_t left = glint_cursor_left(&parse->cursor);
    if (n <= MAX_ENTRIES && n <= left / smallest)
        return GLINT_OK;
    return glint_fail(parse->err, GLINT_E_FORMAT,
                      "%s: %s: found %llu, expected at most %d and no more than fit the %zu bytes "
                      "that follow",
                      parse->part->path, what, (ull)n, MAX_ENTRIES, left);
}

static enum glint_status parse_part(struct parse *parse) {
    struct glint_gguf_part *part = parse->part;
    GLINT_TRY(take_version(parse));
    uint64_t n_tensors = glint_cursor_u64(&parse->cursor);
    uint64_t n_kvs = glint_cursor_u64(&parse->cursor);
    if (parse->cursor.failed)
        return cut_short(parse, "header", NULL);
    GLINT_TRY(check_count(parse, "number of keys", n_kvs, MIN_KV_BYTES));
    GLINT_TRY(check_count(parse, "number of tensors", n_tensors, MIN_TENSOR_BYTES));
    part->kvs = glint_alloc((size_t)n_kvs, sizeof *part->kvs);
    part->tensors = glint_alloc((size_t)n_tensors, sizeof *part->tensors);
    if (!part->kvs || !part->tensors)
        return glint_fail(parse->err, GLINT_E_NOMEM, "%s: out of memory", part->path);
    part->n_kvs = (size_t)n_kvs;
    part->n_tensors = (size_t)n_tensors;
    GLINT_TRY(take_kvs(parse));
    GLINT_TRY(read_alignment(parse));
    for (size_t i = 0; i < part->n_tensors; i++)
        GLINT_TRY(take_tensor(parse, &part->tensors[i], i));
    return place_tensors(parse);
}

enum glint_status glint_gguf_part_parse(struct glint_gguf_part *part, struct glint_error *err) {
    struct parse parse = {part, glint_cursor_of(part->data, part->n), err};
    enum glint_status status = parse_part(&parse);
    if (status != GLINT_OK)
        glint_gguf_part_fini(part);
    return status;
}

void glint_gguf_part_fini(struct glint_gguf_part *part) {
    for (size_t i = 0; i < part->n_kvs; i++) {
        glint_free((void *)(uintptr_t)part->kvs[i].key);
        glint_free((void *)(uintptr_t)part->kvs[i].starts);
    }
    for (size_t i = 0; i < part->n_tensors; i++)
        glint_free((void *)(uintptr_t)part->tensors[i].name);
    glint_free(part->kvs);
    glint_free(part->tensors);
    part->kvs = NULL;
    part->tensors = NULL;
    part->n_kvs = part->n_tensors = 0;
}
