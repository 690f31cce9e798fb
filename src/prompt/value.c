// SPDX-License-Identifier: Apache-2.0
// value.c — building and looking up plain data.
#include "prompt/value.h"

#include <string.h>

struct glint_value glint_value_none(void) {
    return (struct glint_value){.kind = GLINT_VALUE_NONE};
}

struct glint_value glint_value_bool(bool truth) {
    return (struct glint_value){.kind = GLINT_VALUE_BOOL, .as.truth = truth};
}

struct glint_value glint_value_int(int64_t integer) {
    return (struct glint_value){.kind = GLINT_VALUE_INT, .as.integer = integer};
}

struct glint_value glint_value_float(double number) {
    return (struct glint_value){.kind = GLINT_VALUE_FLOAT, .as.number = number};
}

struct glint_value glint_value_undefined(const struct glint_string *what) {
    return (struct glint_value){.kind = GLINT_VALUE_UNDEFINED, .as.text = what};
}

struct glint_value glint_value_string(const struct glint_string *text) {
    return (struct glint_value){.kind = GLINT_VALUE_STRING, .as.text = text};
}

bool glint_value_literal(struct glint_heap *heap, const char *literal, struct glint_value *value) {
    *value = glint_value_string(
        glint_string_borrow(heap, glint_view_of(literal), GLINT_ORIGIN_TEMPLATE));
    return value->as.text != NULL;
}

struct glint_list *glint_list_make(struct glint_heap *heap, size_t n) {
    struct glint_list *list = glint_heap_take(heap, GLINT_HEAP_OBJECTS, 1, sizeof *list);
    if (!list)
        return NULL;
    list->items = glint_heap_take(heap, GLINT_HEAP_ITEMS, n, sizeof *list->items);
    list->n = n;
    return list->items ? list : NULL;
}

struct glint_dict *glint_dict_make(struct glint_heap *heap, size_t n) {
    struct glint_dict *dict = glint_heap_take(heap, GLINT_HEAP_OBJECTS, 1, sizeof *dict);
    if (!dict)
        return NULL;
    dict->entries = glint_heap_take(heap, GLINT_HEAP_OBJECTS, n, sizeof *dict->entries);
    dict->capacity = n;
    return dict->entries ? dict : NULL;
}

// Python's 1 == True makes them the same key.
static bool same_key(struct glint_value a, struct glint_value b) {
    if (a.kind == GLINT_VALUE_STRING || b.kind == GLINT_VALUE_STRING)
        return a.kind == b.kind && glint_string_equal(a.as.text, b.as.text);
    if (a.kind == GLINT_VALUE_NONE || b.kind == GLINT_VALUE_NONE)
        return a.kind == b.kind;
    int64_t i = a.kind == GLINT_VALUE_BOOL ? a.as.truth : a.as.integer;
    int64_t j = b.kind == GLINT_VALUE_BOOL ? b.as.truth : b.as.integer;
    return i == j;
}

struct glint_value *glint_dict_get(const struct glint_dict *dict, struct glint_value key) {
    for (size_t i = 0; i < dict->n; i++) {
        if (same_key(dict->entries[i].key, key))
            return &dict->entries[i].value;
    }
    return NULL;
}

struct glint_value *glint_dict_get_text(const struct glint_dict *dict, const char *key) {
    for (size_t i = 0; i < dict->n; i++) {
        struct glint_value at = dict->entries[i].key;
        if (at.kind == GLINT_VALUE_STRING && glint_string_is(at.as.text, key))
            return &dict->entries[i].value;
    }
    return NULL;
}

// Adds an entry whose key is known to be new.
static bool append_entry(struct glint_heap *heap, struct glint_dict *dict,
                         struct glint_entry entry) {
    if (dict->n == dict->capacity) {
        size_t capacity = dict->capacity ? 2 * dict->capacity : 4;
        struct glint_entry *entries =
            glint_heap_take(heap, GLINT_HEAP_OBJECTS, capacity, sizeof *entries);
        if (!entries)
            return false;
        if (dict->n != 0)
            memcpy(entries, dict->entries, dict->n * sizeof *entries);
        dict->entries = entries;
        dict->capacity = capacity;
    }
    dict->entries[dict->n++] = entry;
    return true;
}

bool glint_dict_put(struct glint_heap *heap, struct glint_dict *dict, struct glint_value key,
                    struct glint_value value) {
    struct glint_value *old = glint_dict_get(dict, key);
    if (old) {
        *old = value;
        return true;
    }
    return append_entry(heap, dict, (struct glint_entry){.key = key, .value = value});
}

bool glint_dict_put_text(struct glint_heap *heap, struct glint_dict *dict, const char *key,
                         struct glint_value value) {
    struct glint_value name;
    return glint_value_literal(heap, key, &name) && glint_dict_put(heap, dict, name, value);
}

static bool number_from_json(struct glint_heap *heap, const struct glint_json *json,
                             struct glint_value *value) {
    int64_t integer = 0;
    if (!glint_json_is_int(json)) {
        *value = glint_value_float(glint_json_parse_double(json->text));
    } else if (glint_json_to_i64(json, &integer)) {
        *value = glint_value_int(integer);
    } else { // digits only: they can spell nothing, so they are nobody's text
        value->kind = GLINT_VALUE_BIG_INT;
        value->as.text = glint_string_make(heap, json->text, GLINT_ORIGIN_TEMPLATE);
        return value->as.text != NULL;
    }
    return true;
}

static bool list_from_json(struct glint_heap *heap, const struct glint_json *json,
                           enum glint_origin origin, struct glint_value *value) {
    struct glint_list *list = glint_list_make(heap, json->n);
    if (!list)
        return false;
    size_t i = 0;
    for (const struct glint_json *m = glint_json_first(json); m; m = m->next) {
        if (!glint_value_from_json(heap, m, origin, &list->items[i++]))
            return false;
    }
    value->kind = GLINT_VALUE_LIST;
    value->as.list = list;
    return true;
}

static bool dict_from_json(struct glint_heap *heap, const struct glint_json *json,
                           enum glint_origin origin, struct glint_value *value) {
    struct glint_dict *dict = glint_dict_make(heap, json->n);
    if (!dict)
        return false;
    for (const struct glint_json *m = glint_json_first(json); m; m = m->next) {
        struct glint_entry entry = {
            .key = glint_value_string(glint_string_make(heap, m->key, origin))};
        // The reader has already joined keys that occur twice.
        if (!entry.key.as.text || !glint_value_from_json(heap, m, origin, &entry.value) ||
            !append_entry(heap, dict, entry))
            return false;
    }
    value->kind = GLINT_VALUE_DICT;
    value->as.dict = dict;
    return true;
}

bool glint_value_from_json(struct glint_heap *heap, const struct glint_json *json,
                           enum glint_origin origin, struct glint_value *value) {
    switch (json->kind) {
    case GLINT_JSON_NULL:
        *value = glint_value_none();
        return true;
    case GLINT_JSON_BOOL:
        *value = glint_value_bool(json->truth);
        return true;
    case GLINT_JSON_NUMBER:
        return number_from_json(heap, json, value);
    case GLINT_JSON_STRING:
        *value = glint_value_string(glint_string_make(heap, json->text, origin));
        return value->as.text != NULL;
    case GLINT_JSON_ARRAY:
        return list_from_json(heap, json, origin, value);
    case GLINT_JSON_OBJECT:
        return dict_from_json(heap, json, origin, value);
    }
    return false;
}

bool glint_value_is_list(struct glint_value value) {
    return value.kind == GLINT_VALUE_LIST || value.kind == GLINT_VALUE_TUPLE;
}

bool glint_value_is_string(struct glint_value value, const char *literal) {
    return value.kind == GLINT_VALUE_STRING && glint_string_is(value.as.text, literal);
}

bool glint_value_truth(struct glint_value value) {
    switch (value.kind) {
    case GLINT_VALUE_UNDEFINED:
    case GLINT_VALUE_NONE:
        return false;
    case GLINT_VALUE_BOOL:
        return value.as.truth;
    case GLINT_VALUE_INT:
        return value.as.integer != 0;
    case GLINT_VALUE_FLOAT:
        return value.as.number != 0;
    case GLINT_VALUE_STRING:
        return value.as.text->n != 0;
    case GLINT_VALUE_LIST:
    case GLINT_VALUE_TUPLE:
        return value.as.list->n != 0;
    case GLINT_VALUE_DICT:
        return value.as.dict->n != 0;
    default:
        return true;
    }
}

const char *glint_value_kind_name(struct glint_value value) {
    static const char *const names[] = {
        [GLINT_VALUE_UNDEFINED] = "undefined", [GLINT_VALUE_NONE] = "none",
        [GLINT_VALUE_BOOL] = "bool",           [GLINT_VALUE_INT] = "int",
        [GLINT_VALUE_BIG_INT] = "int",         [GLINT_VALUE_FLOAT] = "float",
        [GLINT_VALUE_STRING] = "str",          [GLINT_VALUE_LIST] = "list",
        [GLINT_VALUE_TUPLE] = "tuple",         [GLINT_VALUE_DICT] = "dict",
        [GLINT_VALUE_NAMESPACE] = "namespace", [GLINT_VALUE_MACRO] = "macro",
        [GLINT_VALUE_FUNCTION] = "function",   [GLINT_VALUE_METHOD] = "method",
        [GLINT_VALUE_LOOP] = "loop",           [GLINT_VALUE_CYCLER] = "cycler",
        [GLINT_VALUE_JOINER] = "joiner",
    };
    return names[value.kind];
}
