// SPDX-License-Identifier: Apache-2.0
// sort_filter.c — filters that order or compare items. Strings compare without regard to case
// unless asked. The sort is a merge sort: stable, as Python's, and n log n on any input.
#include "prompt/char_case.h"
#include "prompt/value_filter.h"

#include <string.h>

struct keyed {
    struct glint_value key, item;
};

static bool fold_case(struct glint_render *r, struct glint_value value, struct glint_value *out) {
    *out = value;
    if (value.kind != GLINT_VALUE_STRING)
        return true;
    if (!glint_render_charge(r, value.as.text->n / 16))
        return false;
    struct glint_sink_mark mark = glint_sink_begin(r->sink);
    glint_sink_put_case(r->sink, value.as.text, 0, value.as.text->n, GLINT_CASE_LOWER);
    return glint_render_take(r, mark, out);
}

// The key of an item: itself or its attribute, folded unless case counts.
static bool key_of(struct glint_render *r, struct glint_value item, struct glint_value attribute,
                   bool case_sensitive, struct glint_value *key) {
    if (attribute.kind != GLINT_VALUE_NONE && !glint_render_path(r, item, attribute, &item))
        return false;
    *key = item;
    return case_sensitive || fold_case(r, item, key);
}

static bool make_keyed(struct glint_render *r, const struct glint_list *items,
                       struct glint_value attribute, bool case_sensitive, struct keyed **out) {
    struct keyed *keyed = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, items->n, sizeof *keyed);
    if (!keyed)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < items->n; i++) {
        keyed[i].item = items->items[i];
        if (!glint_render_charge(r, 1) ||
            !key_of(r, items->items[i], attribute, case_sensitive, &keyed[i].key))
            return false;
    }
    *out = keyed;
    return true;
}

// Merges the sorted runs [low, middle) and [middle, high) of from into to.
static bool merge(struct glint_render *r, const struct keyed *from, struct keyed *to,
                  const size_t bounds[3], bool descending) {
    size_t a = bounds[0];
    size_t b = bounds[1];
    for (size_t i = bounds[0]; i < bounds[2]; i++) {
        int order = 0;
        bool both = a < bounds[1] && b < bounds[2];
        if (both && !glint_render_order(r, from[a].key, from[b].key, &order))
            return false;
        bool second = a >= bounds[1] || (both && (descending ? order < 0 : order > 0));
        to[i] = second ? from[b++] : from[a++];
    }
    return true;
}

static bool sort_keyed(struct glint_render *r, struct keyed **keyed, size_t n, bool descending) {
    struct keyed *other = glint_heap_take(r->heap, GLINT_HEAP_OBJECTS, n, sizeof *other);
    if (!other)
        return glint_render_no_memory(r);
    struct keyed *from = *keyed;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n;
            size_t high = middle + width < n ? middle + width : n;
            size_t bounds[3] = {low, middle, high};
            if (!merge(r, from, other, bounds, descending))
                return false;
        }
        struct keyed *swapped = from;
        from = other;
        other = swapped;
    }
    *keyed = from;
    return true;
}

static bool list_of(struct glint_render *r, const struct keyed *keyed, size_t n,
                    struct glint_value *out) {
    struct glint_list *list = glint_list_make(r->heap, n);
    if (!list)
        return glint_render_no_memory(r);
    for (size_t i = 0; i < n; i++)
        list->items[i] = keyed[i].item;
    *out = glint_list_value(list);
    return true;
}

bool glint_filter_sort(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    const struct glint_list *items = NULL;
    struct keyed *keyed = NULL;
    struct glint_value attribute = glint_value_none();
    bool reverse = glint_args_bool(args, "reverse", false);
    bool case_sensitive = glint_args_bool(args, "case_sensitive", false);
    glint_args_take(args, "attribute", &attribute, NULL);
    return glint_args_end(r, args) && glint_render_items(r, in, &items) &&
           make_keyed(r, items, attribute, case_sensitive, &keyed) &&
           sort_keyed(r, &keyed, items->n, reverse) && list_of(r, keyed, items->n, out);
}

bool glint_filter_dictsort(struct glint_render *r, struct glint_value in, struct glint_args *args,
                           struct glint_value *out) {
    struct glint_value pairs;
    struct keyed *keyed = NULL;
    struct glint_args none = {.plain = NULL};
    const struct glint_string *by = NULL;
    bool case_sensitive = glint_args_bool(args, "case_sensitive", false);
    if (!glint_args_text(r, args, "by", &by))
        return false;
    bool reverse = glint_args_bool(args, "reverse", false);
    bool by_value = by && glint_string_is(by, "value");
    if (by && !by_value && !glint_string_is(by, "key"))
        return glint_render_fail(r, GLINT_E_ARG, "dictsort: by must be 'key' or 'value'");
    if (!glint_args_end(r, args) || !glint_filter_items(r, in, &none, &pairs))
        return false;
    const struct glint_list *items = pairs.as.list;
    return make_keyed(r, items, glint_value_int(by_value), case_sensitive, &keyed) &&
           sort_keyed(r, &keyed, items->n, reverse) && list_of(r, keyed, items->n, out);
}

bool glint_filter_unique(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    const struct glint_list *items = NULL;
    struct keyed *keyed = NULL;
    struct glint_value attribute = glint_value_none();
    bool case_sensitive = glint_args_bool(args, "case_sensitive", false);
    glint_args_take(args, "attribute", &attribute, NULL);
    if (!glint_args_end(r, args) || !glint_render_items(r, in, &items) ||
        !make_keyed(r, items, attribute, case_sensitive, &keyed))
        return false;
    size_t n = 0;
    for (size_t i = 0; i < items->n; i++) {
        bool seen = false;
        for (size_t j = 0; j < n && !seen; j++) {
            if (!glint_render_equal(r, keyed[j].key, keyed[i].key, &seen))
                return false;
        }
        if (!seen)
            keyed[n++] = keyed[i];
    }
    return list_of(r, keyed, n, out);
}

static bool extreme(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    int sign, struct glint_value *out) {
    const struct glint_list *items = NULL;
    struct keyed *keyed = NULL;
    struct glint_value attribute = glint_value_none();
    bool case_sensitive = glint_args_bool(args, "case_sensitive", false);
    glint_args_take(args, "attribute", &attribute, NULL);
    if (!glint_args_end(r, args) || !glint_render_items(r, in, &items) ||
        !make_keyed(r, items, attribute, case_sensitive, &keyed))
        return false;
    size_t best = 0;
    for (size_t i = 1; i < items->n; i++) {
        int order = 0;
        if (!glint_render_order(r, keyed[i].key, keyed[best].key, &order))
            return false;
        if (order * sign > 0)
            best = i;
    }
    *out = items->n == 0 ? glint_value_undefined(NULL) : items->items[best];
    return true;
}

bool glint_filter_min(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out) {
    return extreme(r, in, args, -1, out);
}

bool glint_filter_max(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out) {
    return extreme(r, in, args, 1, out);
}
