// SPDX-License-Identifier: Apache-2.0
// convert_config.c — reading configuration values strictly.
#include "convert_config.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

char *glint_convert_path(const char *folder, const char *name) {
    size_t n_folder = strlen(folder), n_name = strlen(name);
    char *path = glint_alloc(n_folder + n_name + 2, 1);
    if (!path)
        return NULL;
    memcpy(path, folder, n_folder);
    if (n_folder > 0 && folder[n_folder - 1] != '/')
        path[n_folder++] = '/';
    memcpy(path + n_folder, name, n_name + 1);
    return path;
}

enum glint_status glint_convert_unfit(const struct glint_convert_scope *scope, const char *key,
                                      const char *expected, struct glint_error *err) {
    const struct glint_json *found = glint_json_get(scope->object, key);
    enum glint_status status = found ? GLINT_E_FORMAT : GLINT_E_NOTFOUND;
    if (found && (found->kind == GLINT_JSON_NUMBER || found->kind == GLINT_JSON_STRING))
        return glint_fail(err, status, "%s: %s%s: found %.60s, expected %s", scope->path,
                          scope->prefix, key, found->text.data, expected);
    if (found && found->kind == GLINT_JSON_BOOL)
        return glint_fail(err, status, "%s: %s%s: found %s, expected %s", scope->path,
                          scope->prefix, key, found->truth ? "true" : "false", expected);
    return glint_fail(err, status, "%s: %s%s: found %s, expected %s", scope->path, scope->prefix,
                      key, glint_json_kind_name(found), expected);
}

// NULL when the key is missing or null.
static const struct glint_json *value_of(const struct glint_convert_scope *scope, const char *key) {
    const struct glint_json *value = glint_json_get(scope->object, key);
    return glint_json_is(value, GLINT_JSON_NULL) ? NULL : value;
}

enum glint_status glint_convert_inner(const struct glint_convert_scope *scope, const char *key,
                                      const char *prefix, struct glint_convert_scope *out,
                                      struct glint_error *err) {
    const struct glint_json *object = glint_json_get(scope->object, key);
    if (!glint_json_is(object, GLINT_JSON_OBJECT))
        return glint_convert_unfit(scope, key, "an object", err);
    *out = (struct glint_convert_scope){scope->path, prefix, object};
    return GLINT_OK;
}

enum glint_status glint_convert_u32(const struct glint_convert_scope *scope, const char *key,
                                    uint32_t *out, struct glint_error *err) {
    int64_t value;
    if (!glint_json_to_i64(glint_json_get(scope->object, key), &value) || value < 1 ||
        value > 1 << 24)
        return glint_convert_unfit(scope, key, "a whole number from 1 to 16777216", err);
    *out = (uint32_t)value;
    return GLINT_OK;
}

enum glint_status glint_convert_id(const struct glint_convert_scope *scope, const char *key,
                                   int64_t *out, struct glint_error *err) {
    const struct glint_json *value = value_of(scope, key);
    if (glint_json_is(value, GLINT_JSON_ARRAY) && value->n > 0)
        value = value->child;
    int64_t id;
    if (!value)
        return GLINT_OK;
    if (!glint_json_to_i64(value, &id) || id < 0 || id >= 1 << 24)
        return glint_convert_unfit(scope, key, "a token id", err);
    *out = id;
    return GLINT_OK;
}

enum glint_status glint_convert_number(const struct glint_convert_scope *scope, const char *key,
                                       double *out, struct glint_error *err) {
    if (!glint_json_to_double(glint_json_get(scope->object, key), out) || !isfinite(*out))
        return glint_convert_unfit(scope, key, "a number", err);
    return GLINT_OK;
}

enum glint_status glint_convert_list(const struct glint_convert_scope *scope, const char *key,
                                     uint32_t n, const struct glint_json **out,
                                     struct glint_error *err) {
    const struct glint_json *value = value_of(scope, key);
    *out = value;
    if (value && (value->kind != GLINT_JSON_ARRAY || value->n != n)) {
        if (value->kind != GLINT_JSON_ARRAY)
            return glint_convert_unfit(scope, key, "a list", err);
        return glint_fail(err, GLINT_E_FORMAT, "%s: %s%s: found %u items, expected %u", scope->path,
                          scope->prefix, key, value->n, n);
    }
    return GLINT_OK;
}

enum glint_status glint_convert_only_text(const struct glint_convert_scope *scope, const char *key,
                                          const char *value, struct glint_error *err) {
    const struct glint_json *found = value_of(scope, key);
    if (found && !glint_json_is_text(found, value))
        return glint_convert_unfit(scope, key, value, err);
    return GLINT_OK;
}

enum glint_status glint_convert_only_bool(const struct glint_convert_scope *scope, const char *key,
                                          bool value, struct glint_error *err) {
    const struct glint_json *found = value_of(scope, key);
    if (found && (found->kind != GLINT_JSON_BOOL || found->truth != value))
        return glint_convert_unfit(scope, key, value ? "true" : "false", err);
    return GLINT_OK;
}

enum glint_status glint_convert_only_number(const struct glint_convert_scope *scope,
                                            const char *key, double value,
                                            struct glint_error *err) {
    const struct glint_json *found = value_of(scope, key);
    double number;
    if (!found || (glint_json_to_double(found, &number) && number == value))
        return GLINT_OK;
    char expected[40];
    struct glint_buffer text = {.data = NULL};
    glint_buffer_printf(&text, "%g", value);
    strncpy(expected, text.data ? text.data : "another number", sizeof expected - 1);
    expected[sizeof expected - 1] = 0;
    glint_buffer_fini(&text);
    return glint_convert_unfit(scope, key, expected, err);
}

enum glint_status glint_convert_rope(const struct glint_convert_scope *scope, const char *type,
                                     double *base, struct glint_error *err) {
    struct glint_convert_scope rope;
    GLINT_TRY(glint_convert_inner(scope, "rope_parameters", "rope_parameters.", &rope, err));
    // The published vision configuration says "default" where the classes want "axial".
    const struct glint_json *found = value_of(&rope, "rope_type");
    if (found && !glint_json_is_text(found, "default"))
        GLINT_TRY(glint_convert_only_text(&rope, "rope_type", type, err));
    GLINT_TRY(glint_convert_number(&rope, "rope_theta", base, err));
    if (*base <= 1)
        return glint_convert_unfit(&rope, "rope_theta", "a number above 1", err);
    return GLINT_OK;
}

enum glint_status glint_convert_layer_types(const struct glint_convert_scope *scope, uint32_t n,
                                            const char *sliding_name, bool *sliding, bool *given,
                                            struct glint_error *err) {
    const struct glint_json *list;
    GLINT_TRY(glint_convert_list(scope, "layer_types", n, &list, err));
    *given = list != NULL;
    uint32_t i = 0;
    for (const struct glint_json *item = glint_json_first(list); item; item = item->next, i++) {
        sliding[i] = glint_json_is_text(item, sliding_name);
        if (!sliding[i] && !glint_json_is_text(item, "full_attention"))
            return glint_fail(err, GLINT_E_UNSUPPORTED,
                              "%s: %slayer_types[%u]: found %.60s, expected %s or full_attention",
                              scope->path, scope->prefix, i,
                              item->kind == GLINT_JSON_STRING ? item->text.data
                                                              : glint_json_kind_name(item),
                              sliding_name);
    }
    return GLINT_OK;
}
