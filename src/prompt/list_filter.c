// SPDX-License-Identifier: Apache-2.0
// list_filter.c — filters over lists and other iterables.
#include "prompt/value_filter.h"

#include "prompt/template_names.h"

// The items to map or select from; whatever is false has none.
static bool items_of(struct glint_render *r, struct glint_value in, const struct glint_list **out) {
    return glint_render_items(r, glint_value_truth(in) ? in : glint_value_undefined(NULL), out);
}

static bool item_at(struct glint_render *r, struct glint_value in, struct glint_args *args,
                    bool last, struct glint_value *out) {
    const struct glint_list *items = NULL;
    if (!glint_args_end(r, args))
        return false;
    if (in.kind == GLINT_VALUE_STRING) // without a list of all characters
        return glint_render_index(r, in, glint_value_int(last ? -1 : 0), out);
    if (!glint_render_items(r, in, &items))
        return false;
    *out = items->n == 0 ? glint_value_undefined(NULL) : items->items[last ? items->n - 1 : 0];
    return true;
}

bool glint_filter_first(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    return item_at(r, in, args, false, out);
}

bool glint_filter_last(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    return item_at(r, in, args, true, out);
}

bool glint_filter_length(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    if (!glint_args_end(r, args))
        return false;
    size_t n = 0;
    if (in.kind == GLINT_VALUE_STRING)
        n = in.as.text->n_chars;
    else if (glint_value_is_list(in))
        n = in.as.list->n;
    else if (in.kind == GLINT_VALUE_DICT)
        n = in.as.dict->n;
    else if (in.kind != GLINT_VALUE_UNDEFINED)
        return glint_render_fail(r, GLINT_E_ARG, "length: %s has none", glint_value_kind_name(in));
    *out = glint_value_int((int64_t)n);
    return true;
}

bool glint_filter_list(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    const struct glint_list *items = NULL;
    if (!glint_args_end(r, args) || !glint_render_items(r, in, &items))
        return false;
    struct glint_list *copy = glint_list_make(r->heap, 0);
    if (!copy)
        return glint_render_no_memory(r);
    *copy = *items; // lists never change: the items may be shared
    *out = glint_list_value(copy);
    return true;
}

// map with an attribute: the member of each item, or the default.
static bool map_attribute(struct glint_render *r, const struct glint_list *items,
                          struct glint_value attribute, struct glint_value fallback, bool has,
                          struct glint_list *mapped) {
    for (size_t i = 0; i < items->n; i++) {
        if (!glint_render_charge(r, 1) ||
            !glint_render_path(r, items->items[i], attribute, &mapped->items[i]))
            return false;
        if (has && mapped->items[i].kind == GLINT_VALUE_UNDEFINED)
            mapped->items[i] = fallback;
    }
    return true;
}

// A private copy of the arguments from `used` on, as a filter or test wants them.
static struct glint_args rest_of(const struct glint_args *args) {
    struct glint_args rest = *args;
    rest.plain = args->n_plain ? args->plain + args->n_used : NULL;
    rest.n_plain = args->n_plain - args->n_used;
    rest.n_used = 0;
    for (size_t i = 0; i < rest.n_keywords; i++)
        rest.keywords[i].used = false;
    return rest;
}

bool glint_filter_map(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out) {
    const struct glint_list *items = NULL;
    if (!items_of(r, in, &items))
        return false;
    struct glint_list *mapped = glint_list_make(r->heap, items->n);
    if (!mapped)
        return glint_render_no_memory(r);
    *out = glint_list_value(mapped);
    if (args->n_plain == 0) {
        struct glint_value attribute = glint_value_none();
        struct glint_value fallback = glint_value_none();
        bool has = false;
        glint_args_take(args, "attribute", &attribute, NULL);
        glint_args_take(args, "default", &fallback, &has);
        return glint_args_end(r, args) && map_attribute(r, items, attribute, fallback, has, mapped);
    }
    struct glint_value name = args->plain[args->n_used++];
    int id =
        name.kind == GLINT_VALUE_STRING ? glint_filter_find(glint_string_view(name.as.text)) : 0;
    if (id == 0)
        return glint_render_fail(r, GLINT_E_ARG, "map: expected the name of a filter");
    for (size_t i = 0; i < items->n; i++) {
        struct glint_args rest = rest_of(args);
        if (!glint_render_charge(r, 1) ||
            !glint_filter_apply(r, id, items->items[i], &rest, &mapped->items[i]))
            return false;
    }
    return true;
}

struct selection {
    bool by_attribute;
    bool keep; // items for which the test holds
};

static bool select_items(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct selection how, struct glint_value *out) {
    const struct glint_list *items = NULL;
    struct glint_value attribute = glint_value_none();
    struct glint_value name = glint_value_none();
    if (how.by_attribute)
        glint_args_take(args, "attr", &attribute, NULL);
    if (args->n_used < args->n_plain)
        name = args->plain[args->n_used++];
    int id = name.kind == GLINT_VALUE_STRING ? glint_test_find(glint_string_view(name.as.text)) : 0;
    if (id == 0 && name.kind != GLINT_VALUE_NONE)
        return glint_render_fail(r, GLINT_E_ARG, "select: expected the name of a test");
    if (!items_of(r, in, &items))
        return false;
    struct glint_list *kept = glint_list_make(r->heap, items->n);
    if (!kept)
        return glint_render_no_memory(r);
    size_t n = 0;
    for (size_t i = 0; i < items->n; i++) {
        struct glint_value item = items->items[i];
        struct glint_args rest = rest_of(args);
        if (!glint_render_charge(r, 1) ||
            (how.by_attribute && !glint_render_path(r, item, attribute, &item)))
            return false;
        bool holds = glint_value_truth(item);
        if (id != 0 && !glint_test_apply(r, id, item, &rest, &holds))
            return false;
        if (holds == how.keep)
            kept->items[n++] = items->items[i];
    }
    kept->n = n;
    *out = glint_list_value(kept);
    return true;
}

bool glint_filter_select(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    return select_items(r, in, args, (struct selection){.keep = true}, out);
}

bool glint_filter_reject(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    return select_items(r, in, args, (struct selection){.keep = false}, out);
}

bool glint_filter_selectattr(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out) {
    return select_items(r, in, args, (struct selection){.by_attribute = true, .keep = true}, out);
}

bool glint_filter_rejectattr(struct glint_render *r, struct glint_value in, struct glint_args *args,
                             struct glint_value *out) {
    return select_items(r, in, args, (struct selection){.by_attribute = true}, out);
}

bool glint_filter_reverse(struct glint_render *r, struct glint_value in, struct glint_args *args,
                          struct glint_value *out) {
    struct glint_value bounds[3] = {glint_value_none(), glint_value_none(), glint_value_int(-1)};
    if (!glint_args_end(r, args))
        return false;
    const struct glint_list *items = NULL;
    if (in.kind == GLINT_VALUE_STRING)
        return glint_render_slice(r, in, bounds, out);
    if (!glint_render_items(r, in, &items))
        return false;
    struct glint_list *list = glint_list_make(r->heap, 0);
    if (!list)
        return glint_render_no_memory(r);
    *list = *items;
    return glint_render_slice(r, glint_list_value(list), bounds, out);
}

bool glint_filter_items(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    if (!glint_args_end(r, args))
        return false;
    if (in.kind != GLINT_VALUE_DICT && in.kind != GLINT_VALUE_UNDEFINED)
        return glint_render_fail(r, GLINT_E_ARG, "items: expected a mapping, found %s",
                                 glint_value_kind_name(in));
    size_t n = in.kind == GLINT_VALUE_DICT ? in.as.dict->n : 0;
    struct glint_list *list = glint_list_make(r->heap, n);
    if (!list || !glint_render_charge(r, n))
        return glint_render_no_memory(r);
    for (size_t i = 0; i < n; i++) {
        struct glint_list *pair = glint_list_make(r->heap, 2);
        if (!pair)
            return glint_render_no_memory(r);
        pair->items[0] = in.as.dict->entries[i].key;
        pair->items[1] = in.as.dict->entries[i].value;
        list->items[i] = (struct glint_value){.kind = GLINT_VALUE_TUPLE, .as.list = pair};
    }
    *out = glint_list_value(list);
    return true;
}
