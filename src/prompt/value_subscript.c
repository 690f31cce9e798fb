// SPDX-License-Identifier: Apache-2.0
// value_subscript.c — taking values apart: items, subscripts, slices, attributes.
#include "prompt/render.h"

#include "prompt/template_names.h"

static bool characters(struct glint_render *r, const struct glint_string *text,
                       const struct glint_list **out) {
    struct glint_list *list = glint_list_make(r->heap, text->n_chars);
    if (!list)
        return glint_render_no_memory(r);
    size_t at = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t end = at + 1;
        while (end < text->n && ((unsigned char)text->data[end] & 0xc0u) == 0x80u)
            end++;
        if (!glint_render_string(r, glint_string_cut(r->heap, text, at, end), &list->items[i]))
            return false;
        at = end;
    }
    *out = list;
    return true;
}

bool glint_render_items(struct glint_render *r, struct glint_value value,
                        const struct glint_list **out) {
    static const struct glint_list none = {.items = NULL, .n = 0};
    if (glint_value_is_list(value)) {
        *out = value.as.list;
        return true;
    }
    if (value.kind == GLINT_VALUE_UNDEFINED) {
        *out = &none;
        return true;
    }
    if (value.kind == GLINT_VALUE_STRING)
        return glint_render_charge(r, value.as.text->n_chars) && characters(r, value.as.text, out);
    if (value.kind != GLINT_VALUE_DICT)
        return glint_render_fail(r, GLINT_E_ARG, "%s is not iterable",
                                 glint_value_kind_name(value));
    const struct glint_dict *dict = value.as.dict;
    struct glint_list *keys = glint_list_make(r->heap, dict->n);
    if (!keys || !glint_render_charge(r, dict->n))
        return glint_render_no_memory(r);
    for (size_t i = 0; i < dict->n; i++)
        keys->items[i] = dict->entries[i].key;
    *out = keys;
    return true;
}

// "'NAME' is undefined", or what is missing where.
static bool fail_undefined(struct glint_render *r, struct glint_value object) {
    if (!object.as.text)
        return glint_render_fail(r, GLINT_E_ARG, "an undefined value has no members");
    return glint_render_fail(r, GLINT_E_ARG, "'%.*s' is undefined", (int)object.as.text->n,
                             object.as.text->data);
}

static bool nth(struct glint_render *r, struct glint_value object, int64_t index,
                struct glint_value *out) {
    bool is_text = object.kind == GLINT_VALUE_STRING;
    size_t n = is_text ? object.as.text->n_chars : object.as.list->n;
    if (index < 0)
        index += (int64_t)n;
    *out = glint_value_undefined(NULL);
    if (index < 0 || (uint64_t)index >= n)
        return true;
    if (!is_text) {
        *out = object.as.list->items[index];
        return true;
    }
    const struct glint_string *text = object.as.text;
    if (text->n != text->n_chars && !glint_render_charge(r, (size_t)index / 16))
        return false;
    size_t begin = glint_string_offset(text, (size_t)index);
    size_t end = begin + 1;
    while (end < text->n && ((unsigned char)text->data[end] & 0xc0u) == 0x80u)
        end++;
    return glint_render_string(r, glint_string_cut(r->heap, text, begin, end), out);
}

static bool lookup(struct glint_render *r, const struct glint_dict *dict, struct glint_value key,
                   struct glint_value *out) {
    const struct glint_value *found = glint_dict_get(dict, key);
    *out = found ? *found : glint_value_undefined(NULL);
    if (!found && key.kind == GLINT_VALUE_STRING)
        out->as.text = key.as.text;
    return glint_render_charge(r, dict->n / 16);
}

bool glint_render_index(struct glint_render *r, struct glint_value object,
                        struct glint_value subscript, struct glint_value *out) {
    if (object.kind == GLINT_VALUE_UNDEFINED)
        return fail_undefined(r, object);
    if (subscript.kind == GLINT_VALUE_BOOL)
        subscript = glint_value_int(subscript.as.truth);
    bool sequence = object.kind == GLINT_VALUE_STRING || glint_value_is_list(object);
    if (sequence && subscript.kind == GLINT_VALUE_INT)
        return nth(r, object, subscript.as.integer, out);
    bool is_key = subscript.kind == GLINT_VALUE_STRING || subscript.kind == GLINT_VALUE_INT ||
                  subscript.kind == GLINT_VALUE_NONE;
    if (object.kind == GLINT_VALUE_DICT && is_key) {
        const struct glint_value *found = glint_dict_get(object.as.dict, subscript);
        if (found || subscript.kind != GLINT_VALUE_STRING)
            return lookup(r, object.as.dict, subscript, out);
    }
    *out = glint_value_undefined(NULL);
    if (subscript.kind != GLINT_VALUE_STRING)
        return true;
    // A name that is no key may still be an attribute.
    const struct glint_string *name = subscript.as.text;
    return glint_render_attribute(r, object, name, -1, out);
}

// Python's rules for one bound of a slice over n items going in the direction of step.
static int64_t bound_of(int64_t value, size_t n, int64_t step) {
    int64_t length = (int64_t)n;
    if (value < 0) {
        value = value < -length ? (step < 0 ? -1 : 0) : value + length;
        return value;
    }
    int64_t largest = step < 0 ? length - 1 : length;
    return value > largest ? largest : value;
}

static bool slice_bound(struct glint_render *r, struct glint_value value, int64_t *out) {
    if (value.kind == GLINT_VALUE_NONE)
        return true;
    if (value.kind == GLINT_VALUE_BOOL)
        value = glint_value_int(value.as.truth);
    if (value.kind != GLINT_VALUE_INT)
        return glint_render_fail(r, GLINT_E_ARG, "slice bounds must be integers, found %s",
                                 glint_value_kind_name(value));
    *out = value.as.integer;
    return true;
}

struct slice {
    int64_t start, stop, step;
    size_t n; // items it takes
};

static bool resolve_slice(struct glint_render *r, const struct glint_value bounds[3], size_t n,
                          struct slice *slice) {
    int64_t length = (int64_t)n;
    *slice = (struct slice){.step = 1};
    if (!slice_bound(r, bounds[2], &slice->step))
        return false;
    if (slice->step == 0)
        return glint_render_fail(r, GLINT_E_ARG, "slice step is 0");
    if (slice->step < -length - 1) // farther than any item is far enough
        slice->step = -length - 1;
    if (slice->step > length + 1)
        slice->step = length + 1;
    slice->start = slice->step < 0 ? length - 1 : 0;
    slice->stop = slice->step < 0 ? -1 : length;
    if (!slice_bound(r, bounds[0], &slice->start) || !slice_bound(r, bounds[1], &slice->stop))
        return false;
    if (bounds[0].kind != GLINT_VALUE_NONE)
        slice->start = bound_of(slice->start, n, slice->step);
    if (bounds[1].kind != GLINT_VALUE_NONE)
        slice->stop = bound_of(slice->stop, n, slice->step);
    int64_t span = slice->step > 0 ? slice->stop - slice->start : slice->start - slice->stop;
    int64_t step = slice->step > 0 ? slice->step : -slice->step;
    slice->n = span <= 0 ? 0 : (size_t)((span + step - 1) / step);
    return true;
}

static bool slice_text(struct glint_render *r, const struct glint_string *text,
                       const struct slice *slice, struct glint_value *out) {
    if (!glint_render_charge(r, text->n / 64))
        return false;
    if (slice->step == 1) {
        size_t begin = glint_string_offset(text, (size_t)slice->start);
        size_t end = glint_string_offset(text, (size_t)slice->start + slice->n);
        return glint_render_string(r, glint_string_cut(r->heap, text, begin, end), out);
    }
    const struct glint_list *chars = NULL;
    if (!glint_render_items(r, glint_value_string(text), &chars))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    for (size_t i = 0; i < slice->n; i++)
        glint_sink_put_text(r->sink, chars->items[slice->start + (int64_t)i * slice->step].as.text);
    return glint_render_take(r, mark, out);
}

bool glint_render_slice(struct glint_render *r, struct glint_value object,
                        const struct glint_value bounds[3], struct glint_value *out) {
    struct slice slice;
    if (object.kind == GLINT_VALUE_UNDEFINED)
        return fail_undefined(r, object);
    bool is_text = object.kind == GLINT_VALUE_STRING;
    if (!is_text && !glint_value_is_list(object))
        return glint_render_fail(r, GLINT_E_ARG, "%s cannot be sliced",
                                 glint_value_kind_name(object));
    size_t n = is_text ? object.as.text->n_chars : object.as.list->n;
    if (!resolve_slice(r, bounds, n, &slice))
        return false;
    if (is_text)
        return slice_text(r, object.as.text, &slice, out);
    struct glint_list *list = glint_list_make(r->heap, slice.n);
    if (!list || !glint_render_charge(r, slice.n))
        return glint_render_no_memory(r);
    for (size_t i = 0; i < slice.n; i++)
        list->items[i] = object.as.list->items[slice.start + (int64_t)i * slice.step];
    *out = (struct glint_value){.kind = object.kind, .as.list = list};
    return true;
}

static bool loop_attribute(const struct glint_loop *loop, const struct glint_string *name,
                           struct glint_value *out) {
    int64_t index = (int64_t)loop->index;
    int64_t n = (int64_t)loop->items->n;
    const struct {
        const char *name;
        struct glint_value value;
    } attributes[] = {
        {"index", glint_value_int(index + 1)},
        {"index0", glint_value_int(index)},
        {"revindex", glint_value_int(n - index)},
        {"revindex0", glint_value_int(n - index - 1)},
        {"first", glint_value_bool(index == 0)},
        {"last", glint_value_bool(index == n - 1)},
        {"length", glint_value_int(n)},
        {"depth", glint_value_int(loop->depth)},
        {"depth0", glint_value_int((int64_t)loop->depth - 1)},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (glint_string_is(name, attributes[i].name)) {
            *out = attributes[i].value;
            return true;
        }
    }
    bool is_next = glint_string_is(name, "nextitem");
    if (!is_next && !glint_string_is(name, "previtem"))
        return false;
    int64_t other = is_next ? index + 1 : index - 1;
    *out = other >= 0 && other < n ? loop->items->items[other] : glint_value_undefined(name);
    return true;
}

static bool bind_method(struct glint_render *r, struct glint_value object, int id,
                        struct glint_value *out) {
    struct glint_method *method = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, 1, sizeof *method);
    if (!method)
        return glint_render_no_memory(r);
    *method = (struct glint_method){.object = object, .id = id};
    *out = (struct glint_value){.kind = GLINT_VALUE_METHOD, .as.method = method};
    return true;
}

bool glint_render_attribute(struct glint_render *r, struct glint_value object,
                            const struct glint_string *name, int method, struct glint_value *out) {
    if (object.kind == GLINT_VALUE_UNDEFINED)
        return fail_undefined(r, object);
    if (method < 0)
        method = glint_method_find(glint_string_view(name));
    if (method != 0 && glint_method_applies(method, object))
        return bind_method(r, object, method, out);
    if (object.kind == GLINT_VALUE_DICT || object.kind == GLINT_VALUE_NAMESPACE)
        return lookup(r, object.as.dict, glint_value_string(name), out);
    if (object.kind == GLINT_VALUE_LOOP && loop_attribute(object.as.loop, name, out))
        return true;
    if (object.kind == GLINT_VALUE_CYCLER && glint_string_is(name, "current")) {
        *out = object.as.cycler->items->items[object.as.cycler->position];
        return true;
    }
    if (object.kind == GLINT_VALUE_MACRO && glint_string_is(name, "name")) {
        const struct glint_node *node = &r->t->nodes[object.as.macro->node];
        *out = glint_value_string(r->t->symbols[node->symbol].name);
        return true;
    }
    *out = glint_value_undefined(name);
    return true;
}

bool glint_render_path(struct glint_render *r, struct glint_value object, struct glint_value path,
                       struct glint_value *out) {
    if (path.kind != GLINT_VALUE_STRING)
        return glint_render_index(r, object, path, out);
    const struct glint_string *text = path.as.text;
    size_t at = 0;
    for (;;) {
        size_t dot = glint_string_find(text, (struct glint_view){.data = ".", .n = 1}, at);
        size_t end = dot == SIZE_MAX ? text->n : dot;
        struct glint_value key;
        if (!glint_render_string(r, glint_string_cut(r->heap, text, at, end), &key))
            return false;
        bool digits = end > at;
        int64_t index = 0;
        for (size_t i = at; i < end && digits; i++) {
            digits = text->data[i] >= '0' && text->data[i] <= '9' && index < INT32_MAX;
            index = index * 10 + (text->data[i] - '0');
        }
        if (digits)
            key = glint_value_int(index);
        if (!glint_render_index(r, object, key, &object))
            return false;
        if (dot == SIZE_MAX)
            break;
        at = dot + 1;
    }
    *out = object;
    return true;
}
