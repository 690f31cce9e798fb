// SPDX-License-Identifier: Apache-2.0
// tool_set.c — see tool_set.h.
#include "stream/tool_set.h"

#include "base/alloc.h"

#include <string.h>

enum glint_status glint_tool_set_init(struct glint_tool_set *set, const struct glint_json *tools,
                                      struct glint_error *err) {
    *set = (struct glint_tool_set){.tools = NULL};
    if (!tools || tools->kind == GLINT_JSON_NULL)
        return GLINT_OK;
    if (tools->kind != GLINT_JSON_ARRAY)
        return glint_fail(err, GLINT_E_ARG, "tools: expected an array, found %s",
                          glint_json_kind_name(tools));
    set->tools = glint_alloc(tools->n, sizeof *set->tools);
    if (!set->tools)
        return glint_fail(err, GLINT_E_NOMEM, "tools: no memory");
    for (const struct glint_json *m = glint_json_first(tools); m; m = m->next) {
        const struct glint_json *fn = glint_json_get(m, "function");
        struct glint_tool *tool = &set->tools[set->n];
        if (!fn)
            fn = m;
        if (!glint_json_to_string(glint_json_get(fn, "name"), &tool->name)) {
            size_t i = set->n;
            glint_tool_set_fini(set);
            return glint_fail(err, GLINT_E_ARG, "tools[%zu].function.name: expected a string", i);
        }
        tool->parameters = glint_json_get(fn, "parameters");
        set->n++;
    }
    return GLINT_OK;
}

void glint_tool_set_fini(struct glint_tool_set *set) {
    glint_free(set->tools);
    *set = (struct glint_tool_set){.tools = NULL};
}

const struct glint_tool *glint_tool_set_find(const struct glint_tool_set *set,
                                             struct glint_view name) {
    for (size_t i = 0; i < set->n; i++) {
        if (glint_view_equal(set->tools[i].name, name))
            return &set->tools[i];
    }
    return NULL;
}

// Bytes before the first dot; all of them when there is none.
static struct glint_view namespace_of(struct glint_view name) {
    const char *dot = name.n ? memchr(name.data, '.', name.n) : NULL;
    if (dot)
        name.n = (size_t)(dot - name.data);
    return name;
}

const struct glint_tool *glint_tool_set_resolve(const struct glint_tool_set *set,
                                                struct glint_view name) {
    const struct glint_tool *tool = glint_tool_set_find(set, name);
    struct glint_view space = namespace_of(name);
    if (tool || space.n == name.n)
        return tool;
    struct glint_view rest = {.data = name.data + space.n + 1, .n = name.n - space.n - 1};
    tool = glint_tool_set_find(set, rest);
    return tool && glint_view_equal(namespace_of(rest), space) ? tool : NULL;
}

const struct glint_tool *glint_tool_set_split(const struct glint_tool_set *set,
                                              struct glint_view name,
                                              struct glint_view *parameter) {
    size_t dot = name.n;
    while (dot != 0 && name.data[dot - 1] != '.')
        dot--;
    if (dot == 0)
        return NULL;
    struct glint_view before = {.data = name.data, .n = dot - 1};
    const struct glint_tool *tool = glint_tool_set_find(set, before);
    *parameter = (struct glint_view){.data = name.data + dot, .n = name.n - dot};
    return tool && glint_tool_property(tool, *parameter) ? tool : NULL;
}

const struct glint_json *glint_tool_property(const struct glint_tool *tool,
                                             struct glint_view name) {
    return tool ? glint_json_get_view(glint_json_get(tool->parameters, "properties"), name) : NULL;
}
