// SPDX-License-Identifier: Apache-2.0
// convert_plan.c — builds the list, then reads, changes, encodes and writes it slice by slice.
#include "convert_plan.h"

#include "base/alloc.h"
#include "base/half.h"
#include "format/cursor.h"
#include "interrupt.h"
#include "progress.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum {
    SLICE_VALUES = 1 << 19,   // values in memory at once, or one row
    RELEASE_BYTES = 64 << 20, // of the source, after which its pages are given back
};

typedef unsigned long long ull;

// ---- the list
// ---------------------------------------------------------------------------------------

// Copies a name, putting the layer's number in place of `#`. False when it does not fit.
static bool expand(char *out, size_t room, const char *name, uint32_t layer) {
    const char *mark = strchr(name, '#');
    int n = mark ? snprintf(out, room, "%.*s%u%s", (int)(mark - name), name, layer, mark + 1)
                 : snprintf(out, room, "%s", name);
    return n > 0 && (size_t)n < room;
}

// "[512, 128]"; returns text.
static const char *shape_text(char *text, size_t room, uint32_t n_dims, const uint64_t *dims) {
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < n_dims && n < room; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%llu", i ? ", " : "[", (ull)dims[i]);
    if (n < room)
        snprintf(text + n, room - n, n_dims ? "]" : "a single value");
    return text;
}

static enum glint_status check_source(const struct glint_convert_plan *plan,
                                      const struct glint_convert_rule *rule,
                                      const struct glint_safetensors_tensor *source,
                                      struct glint_error *err) {
    const char *path = glint_safetensors_file(plan->weights, source->i_file);
    const uint64_t matrix[2] = {rule->n_rows, rule->n_cols};
    const uint64_t *expected = rule->n_rows ? matrix : matrix + 1;
    uint32_t n_dims = rule->n_rows ? 2 : 1;
    if (source->n_dims != n_dims || memcmp(source->dims, expected, n_dims * sizeof *expected)) {
        char found_text[200], expected_text[60];
        return glint_fail(err, GLINT_E_FORMAT, "%s: tensor %s: shape: found %s, expected %s", path,
                          source->name,
                          shape_text(found_text, sizeof found_text, source->n_dims, source->dims),
                          shape_text(expected_text, sizeof expected_text, n_dims, expected));
    }
    if (source->dtype != GLINT_SAFETENSORS_BF16 && source->dtype != GLINT_SAFETENSORS_F16 &&
        source->dtype != GLINT_SAFETENSORS_F32)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: tensor %s: found dtype %s, expected BF16, F16 or F32", path,
                          source->name, glint_safetensors_dtype_name(source->dtype));
    return GLINT_OK;
}

static enum glint_status find_source(struct glint_convert_plan *plan,
                                     struct glint_convert_item *item, uint32_t layer,
                                     struct glint_error *err) {
    char name[GLINT_CONVERT_MAX_NAME];
    if (!expand(name, sizeof name, item->rule.from, layer))
        return glint_fail(err, GLINT_E_INTERNAL, "%s: name too long", item->rule.from);
    item->source = glint_safetensors_find(plan->weights, name);
    if (!item->source)
        return glint_fail(err, GLINT_E_NOTFOUND, "%s: tensor %s: found nothing, expected it",
                          plan->weights->path, name);
    plan->used[item->source - plan->weights->tensors] = true;
    return check_source(plan, &item->rule, item->source, err);
}

static uint64_t cols_written(const struct glint_convert_rule *rule) {
    return rule->change == GLINT_CONVERT_FRAMES ? rule->n_cols / 2 : rule->n_cols;
}

static uint64_t values_written(const struct glint_convert_rule *rule) {
    return (rule->n_rows ? rule->n_rows : 1) * cols_written(rule);
}

static const struct glint_dtype_info *choose_dtype(struct glint_convert_plan *plan,
                                                   const struct glint_convert_rule *rule) {
    if (rule->n_rows == 0 || rule->keep_f32)
        return glint_dtype_info(GLINT_DTYPE_F32);
    if (cols_written(rule) % plan->dtype->block_len == 0)
        return plan->dtype;
    plan->n_kept_bf16++;
    return glint_dtype_info(GLINT_DTYPE_BF16);
}

enum glint_status glint_convert_add(struct glint_convert_plan *plan,
                                    const struct glint_convert_rule *rule, uint32_t layer,
                                    struct glint_error *err) {
    if (plan->n_items == plan->capacity) {
        size_t capacity = plan->capacity ? 2 * plan->capacity : 64;
        void *items = glint_realloc(plan->items, capacity, sizeof *plan->items);
        if (!items)
            return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", plan->weights->path);
        plan->items = items;
        plan->capacity = capacity;
    }
    struct glint_convert_item *item = &plan->items[plan->n_items];
    memset(item, 0, sizeof *item);
    item->rule = *rule;
    if (!expand(item->name, sizeof item->name, rule->to, layer))
        return glint_fail(err, GLINT_E_INTERNAL, "%s: name too long", rule->to);
    if (rule->change != GLINT_CONVERT_CONSTANT)
        GLINT_TRY(find_source(plan, item, layer, err));
    item->dtype = choose_dtype(plan, rule);
    plan->n_values += values_written(rule);
    plan->n_items++;
    return GLINT_OK;
}

void glint_convert_plan_fini(struct glint_convert_plan *plan) {
    glint_free(plan->items);
    plan->items = NULL;
    plan->n_items = plan->capacity = 0;
}

// ---- values
// -----------------------------------------------------------------------------------------

// n values of the source from value `first` on, as floats.
static void load_values(const struct glint_safetensors_tensor *source, uint64_t first, uint64_t n,
                        float *out) {
    const uint8_t *bytes = source->data + first * glint_safetensors_dtype_bytes(source->dtype);
    if (source->dtype == GLINT_SAFETENSORS_F32)
        for (uint64_t i = 0; i < n; i++)
            out[i] = glint_load_f32(bytes + 4 * i);
    else if (source->dtype == GLINT_SAFETENSORS_BF16)
        for (uint64_t i = 0; i < n; i++)
            out[i] = glint_bf16_to_float(glint_load_u16(bytes + 2 * i));
    else
        for (uint64_t i = 0; i < n; i++)
            out[i] = glint_half_to_float(glint_load_u16(bytes + 2 * i));
}

// Source row of row r when pairs (i, i + d/2) of each head of d rows become (2i, 2i + 1).
static uint64_t half_split_row(uint64_t r, uint64_t head_rows) {
    uint64_t within = r % head_rows;
    return r - within + within / 2 + (within % 2) * (head_rows / 2);
}

// Row r of the item as written, [cols] values; extra: room for another row (FRAMES).
static void load_row(const struct glint_convert_item *item, uint64_t r, float *out, float *extra) {
    const struct glint_convert_rule *rule = &item->rule;
    uint64_t n_cols = cols_written(rule);
    if (rule->change == GLINT_CONVERT_CONSTANT) {
        for (uint64_t i = 0; i < n_cols; i++)
            out[i] = rule->value;
        return;
    }
    if (rule->change == GLINT_CONVERT_HEADS)
        r = half_split_row(r, rule->n_rows / rule->n_head);
    load_values(item->source, r * rule->n_cols, n_cols, out);
    if (rule->change == GLINT_CONVERT_FRAMES) {
        load_values(item->source, r * rule->n_cols + n_cols, n_cols, extra);
        for (uint64_t i = 0; i < n_cols; i++)
            out[i] += extra[i];
    }
    if (rule->change == GLINT_CONVERT_GAIN)
        for (uint64_t i = 0; i < n_cols; i++)
            out[i] += 1.0f;
}

// A vector of heads (a bias) is a column of single values.
static struct glint_convert_item as_rows(const struct glint_convert_item *item) {
    struct glint_convert_item rows = *item;
    if (rows.rule.n_rows == 0 && rows.rule.change == GLINT_CONVERT_HEADS) {
        rows.rule.n_rows = rows.rule.n_cols;
        rows.rule.n_cols = 1;
    } else if (rows.rule.n_rows == 0) {
        rows.rule.n_rows = 1;
    }
    return rows;
}

// ---- writing
// ----------------------------------------------------------------------------------------

struct writing {
    const struct glint_convert_plan *plan;
    struct glint_gguf_writer *writer;
    struct glint_progress *progress;
    float *values;   // [slice]
    uint8_t *blocks; // the slice, encoded
    float *extra;    // [row]
    uint64_t n_done; // bytes written
    struct glint_error *err;
};

static enum glint_status check_values(const struct writing *writing,
                                      const struct glint_convert_item *item, uint64_t first,
                                      uint64_t n) {
    // As bits, magnitudes order like numbers, with infinities and NaN on top.
    uint32_t limit = glint_float_bits(item->dtype->dtype == GLINT_DTYPE_F16 ? 65504.0f : FLT_MAX);
    uint32_t largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t magnitude = glint_float_bits(writing->values[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    for (uint64_t i = 0; largest > limit && i < n; i++) {
        float value = writing->values[i];
        if ((glint_float_bits(value) & 0x7fffffffu) <= limit)
            continue;
        const char *path =
            item->source ? glint_safetensors_file(writing->plan->weights, item->source->i_file)
                         : writing->plan->weights->path;
        return glint_fail(writing->err, GLINT_E_FORMAT,
                          "%s: tensor %s: value %llu: found %g, expected a finite number that "
                          "type %s holds",
                          path, item->name, (ull)(first + i), (double)value, item->dtype->name);
    }
    return GLINT_OK;
}

static enum glint_status write_slice(struct writing *writing, const struct glint_convert_item *item,
                                     uint64_t first_row, uint64_t n_rows) {
    uint64_t n_cols = cols_written(&item->rule);
    uint64_t n = n_rows * n_cols;
    for (uint64_t r = 0; r < n_rows; r++)
        load_row(item, first_row + r, writing->values + r * n_cols, writing->extra);
    GLINT_TRY(check_values(writing, item, first_row * n_cols, n));
    item->dtype->encode(writing->values, NULL, writing->blocks, (size_t)n);
    size_t n_bytes = glint_dtype_bytes(item->dtype->dtype, n);
    GLINT_TRY(glint_gguf_writer_data(writing->writer, writing->blocks, n_bytes, writing->err));
    writing->n_done += n_bytes;
    glint_progress_step(writing->progress, writing->n_done);
    if (glint_interrupt_seen())
        return glint_fail(writing->err, GLINT_E_CANCELLED, "interrupted");
    return GLINT_OK;
}

static enum glint_status write_item(struct writing *writing,
                                    const struct glint_convert_item *listed) {
    const struct glint_convert_item item = as_rows(listed);
    uint64_t n_cols = cols_written(&item.rule);
    uint64_t n_slice = n_cols < SLICE_VALUES ? SLICE_VALUES / n_cols : 1;
    uint64_t row_bytes = item.source ? item.source->n_bytes / item.rule.n_rows : 0; // of the source
    uint64_t released = 0; // bytes of the source, rounded down to whole rows
    for (uint64_t r = 0; r < item.rule.n_rows; r += n_slice) {
        uint64_t left = item.rule.n_rows - r;
        GLINT_TRY(write_slice(writing, &item, r, left < n_slice ? left : n_slice));
        uint64_t read = r * row_bytes;
        if (item.source && read - released >= RELEASE_BYTES) {
            glint_safetensors_done_with(writing->plan->weights, item.source, released,
                                        read - released);
            released = read;
        }
    }
    if (item.source)
        glint_safetensors_done_with(writing->plan->weights, item.source, 0, item.source->n_bytes);
    return GLINT_OK;
}

static void announce(const struct glint_convert_item *item, const struct glint_convert_shape *shape,
                     struct glint_gguf_writer *writer) {
    const struct glint_convert_rule *rule = &item->rule;
    const uint64_t dims[2] = {cols_written(rule), rule->n_rows};
    if (shape && strcmp(shape->name, item->name) == 0)
        glint_gguf_add_tensor(writer, item->name, item->dtype->dtype, shape->n_dims, shape->dims);
    else
        glint_gguf_add_tensor(writer, item->name, item->dtype->dtype, rule->n_rows ? 2 : 1, dims);
}

static enum glint_status write_items(struct writing *writing,
                                     const struct glint_convert_target *target) {
    const struct glint_convert_plan *plan = writing->plan;
    uint64_t n_slice = SLICE_VALUES, n_extra = 1;
    for (size_t i = 0; i < plan->n_items; i++) {
        announce(&plan->items[i], target->shape, writing->writer);
        uint64_t n_cols = cols_written(&plan->items[i].rule);
        n_slice = n_cols > n_slice ? n_cols : n_slice;
        n_extra = n_cols > n_extra ? n_cols : n_extra;
    }
    writing->values = glint_alloc((size_t)n_slice, sizeof *writing->values);
    writing->blocks = glint_alloc((size_t)n_slice, sizeof(float)); // no type is wider
    writing->extra = glint_alloc((size_t)n_extra, sizeof *writing->extra);
    if (!writing->values || !writing->blocks || !writing->extra)
        return glint_fail(writing->err, GLINT_E_NOMEM, "%s: out of memory", target->path);
    GLINT_TRY(glint_gguf_writer_begin(writing->writer, target->path, writing->err));
    glint_progress_begin(writing->progress, target->path, glint_gguf_writer_size(writing->writer),
                         target->quiet);
    for (size_t i = 0; i < plan->n_items; i++)
        GLINT_TRY(write_item(writing, &plan->items[i]));
    return GLINT_OK;
}

enum glint_status glint_convert_write(const struct glint_convert_plan *plan,
                                      struct glint_gguf_writer **writer,
                                      const struct glint_convert_target *target,
                                      struct glint_error *err) {
    struct glint_progress progress = {.quiet = true};
    struct writing writing = {.plan = plan, .writer = *writer, .progress = &progress, .err = err};
    enum glint_status status = write_items(&writing, target);
    if (status == GLINT_OK)
        status = glint_gguf_writer_commit(writer, err);
    glint_progress_end(&progress, status == GLINT_OK);
    glint_gguf_writer_discard(writer);
    glint_free(writing.values);
    glint_free(writing.blocks);
    glint_free(writing.extra);
    return status;
}
