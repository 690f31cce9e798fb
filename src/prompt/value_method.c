// SPDX-License-Identifier: Apache-2.0
// value_method.c — methods of dictionaries, lists, loops and cyclers, and the table of all
// methods. Those of strings are in text_method.c.
#include "prompt/text_method.h"

#include "prompt/template_names.h"

static bool dict_items(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    return glint_filter_items(r, in, args, out);
}

static bool dict_keys(struct glint_render *r, struct glint_value in, struct glint_args *args,
                      struct glint_value *out) {
    return glint_filter_list(r, in, args, out);
}

static bool dict_values(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    const struct glint_dict *dict = in.as.dict;
    struct glint_list *list = glint_list_make(r->heap, dict->n);
    if (!list || !glint_render_charge(r, dict->n))
        return glint_render_no_memory(r);
    for (size_t i = 0; i < dict->n; i++)
        list->items[i] = dict->entries[i].value;
    *out = glint_list_value(list);
    return glint_args_end(r, args);
}

static bool dict_get(struct glint_render *r, struct glint_value in, struct glint_args *args,
                     struct glint_value *out) {
    struct glint_value key = glint_value_undefined(NULL);
    *out = glint_value_none();
    glint_args_take(args, "key", &key, NULL);
    glint_args_take(args, "default", out, NULL);
    if (!glint_args_end(r, args) || !glint_render_charge(r, in.as.dict->n / 16))
        return false;
    bool is_key = key.kind == GLINT_VALUE_STRING || key.kind == GLINT_VALUE_INT ||
                  key.kind == GLINT_VALUE_BOOL || key.kind == GLINT_VALUE_NONE;
    const struct glint_value *found = is_key ? glint_dict_get(in.as.dict, key) : NULL;
    if (found)
        *out = *found;
    return true;
}

static bool copy(struct glint_render *r, struct glint_value in, struct glint_args *args,
                 struct glint_value *out) {
    *out = in; // neither dictionaries nor lists ever change
    return glint_args_end(r, args);
}

static bool list_count(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    struct glint_value item = glint_value_undefined(NULL);
    int64_t count = 0;
    if (in.kind == GLINT_VALUE_STRING)
        return glint_string_count(r, in, args, out);
    glint_args_take(args, "value", &item, NULL);
    for (size_t i = 0; i < in.as.list->n; i++) {
        bool same = false;
        if (!glint_render_equal(r, in.as.list->items[i], item, &same))
            return false;
        count += same;
    }
    *out = glint_value_int(count);
    return glint_args_end(r, args);
}

static bool list_index(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    struct glint_value item = glint_value_undefined(NULL);
    if (in.kind == GLINT_VALUE_STRING)
        return glint_string_index(r, in, args, out);
    glint_args_take(args, "value", &item, NULL);
    if (!glint_args_end(r, args))
        return false;
    for (size_t i = 0; i < in.as.list->n; i++) {
        bool same = false;
        if (!glint_render_equal(r, in.as.list->items[i], item, &same))
            return false;
        if (same) {
            *out = glint_value_int((int64_t)i);
            return true;
        }
    }
    return glint_render_fail(r, GLINT_E_ARG, "index: the value is not in the list");
}

static bool loop_cycle(struct glint_render *r, struct glint_value in, struct glint_args *args,
                       struct glint_value *out) {
    if (args->n_plain == 0)
        return glint_render_fail(r, GLINT_E_ARG, "cycle: expected values to choose from");
    *out = args->plain[in.as.loop->index % args->n_plain];
    args->n_used = args->n_plain;
    return glint_args_end(r, args);
}

static bool loop_changed(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    struct glint_list *list = glint_list_make(r->heap, args->n_plain);
    bool same = false;
    if (!list)
        return glint_render_no_memory(r);
    while (args->n_used < args->n_plain) {
        list->items[args->n_used] = args->plain[args->n_used];
        args->n_used++;
    }
    struct glint_value now = glint_list_value(list);
    if (!glint_args_end(r, args) || !glint_render_equal(r, in.as.loop->changed, now, &same))
        return false;
    in.as.loop->changed = now;
    *out = glint_value_bool(!same);
    return true;
}

static bool cycler_next(struct glint_render *r, struct glint_value in, struct glint_args *args,
                        struct glint_value *out) {
    struct glint_cycler *cycler = in.as.cycler;
    *out = cycler->items->items[cycler->position];
    cycler->position = (cycler->position + 1) % cycler->items->n;
    return glint_args_end(r, args);
}

static bool cycler_reset(struct glint_render *r, struct glint_value in, struct glint_args *args,
                         struct glint_value *out) {
    in.as.cycler->position = 0;
    *out = glint_value_none();
    return glint_args_end(r, args);
}

enum {
    OF_STRING = 1 << GLINT_VALUE_STRING,
    OF_DICT = 1 << GLINT_VALUE_DICT,
    OF_LIST = 1 << GLINT_VALUE_LIST | 1 << GLINT_VALUE_TUPLE,
    OF_LOOP = 1 << GLINT_VALUE_LOOP,
    OF_CYCLER = 1 << GLINT_VALUE_CYCLER,
};

static const struct {
    const char *name;
    unsigned kinds;
    glint_filter_fn call;
} methods[] = {
    {"items", OF_DICT, dict_items},
    {"keys", OF_DICT, dict_keys},
    {"values", OF_DICT, dict_values},
    {"get", OF_DICT, dict_get},
    {"copy", OF_DICT | 1 << GLINT_VALUE_LIST, copy},
    {"count", OF_STRING | OF_LIST, list_count},
    {"index", OF_STRING | OF_LIST, list_index},
    {"cycle", OF_LOOP, loop_cycle},
    {"changed", OF_LOOP, loop_changed},
    {"next", OF_CYCLER, cycler_next},
    {"reset", OF_CYCLER, cycler_reset},
    {"split", OF_STRING, glint_string_split},
    {"rsplit", OF_STRING, glint_string_rsplit},
    {"splitlines", OF_STRING, glint_string_splitlines},
    {"partition", OF_STRING, glint_string_partition},
    {"rpartition", OF_STRING, glint_string_rpartition},
    {"strip", OF_STRING, glint_string_strip},
    {"lstrip", OF_STRING, glint_string_lstrip},
    {"rstrip", OF_STRING, glint_string_rstrip},
    {"startswith", OF_STRING, glint_string_startswith},
    {"endswith", OF_STRING, glint_string_endswith},
    {"removeprefix", OF_STRING, glint_string_removeprefix},
    {"removesuffix", OF_STRING, glint_string_removesuffix},
    {"find", OF_STRING, glint_string_method_find},
    {"rfind", OF_STRING, glint_string_method_rfind},
    {"replace", OF_STRING, glint_string_replace},
    {"join", OF_STRING, glint_string_method_join},
    {"upper", OF_STRING, glint_filter_upper},
    {"lower", OF_STRING, glint_filter_lower},
    {"capitalize", OF_STRING, glint_filter_capitalize},
    {"title", OF_STRING, glint_string_title},
    {"isalpha", OF_STRING, glint_string_isalpha},
    {"isdigit", OF_STRING, glint_string_isdigit},
    {"isalnum", OF_STRING, glint_string_isalnum},
    {"isspace", OF_STRING, glint_string_isspace},
    {"islower", OF_STRING, glint_string_islower},
    {"isupper", OF_STRING, glint_string_isupper},
    {"ljust", OF_STRING, glint_string_ljust},
    {"rjust", OF_STRING, glint_string_rjust},
    {"zfill", OF_STRING, glint_string_zfill},
};

int glint_method_find(struct glint_view name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (glint_view_is(name, methods[i].name))
            return (int)i + 1;
    }
    return 0;
}

bool glint_method_applies(int id, struct glint_value object) {
    return (methods[id - 1].kinds & 1u << object.kind) != 0;
}

bool glint_method_call(struct glint_render *r, int id, struct glint_value object,
                       struct glint_args *args, struct glint_value *out) {
    args->callee = methods[id - 1].name;
    return methods[id - 1].call(r, object, args, out);
}
