// SPDX-License-Identifier: Apache-2.0
// tool_name.c — looking functions up by name.
#include "server/tool_name.h"

struct glint_view glint_tool_name(const struct glint_json *tool) {
    const struct glint_json *inner = glint_json_get(tool, "function");
    const struct glint_json *name = glint_json_get(inner ? inner : tool, "name");
    bool is_function = glint_json_is_text(glint_json_get(tool, "type"), "function");
    return is_function && glint_json_is(name, GLINT_JSON_STRING) ? name->text : glint_view_of("");
}

bool glint_tool_is_in(const struct glint_json *tools, struct glint_view name) {
    for (const struct glint_json *m = glint_json_first(tools); m && name.n != 0; m = m->next)
        if (glint_view_equal(glint_tool_name(m), name))
            return true;
    return false;
}

bool glint_tools_put_allowed(struct glint_buffer *out, const struct glint_json *tools,
                             const struct glint_json *allowed) {
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    bool any = false;
    for (const struct glint_json *t = glint_json_first(tools); t; t = t->next) {
        if (!glint_tool_is_in(allowed, glint_tool_name(t)))
            continue;
        if (!any)
            glint_json_begin_array(&w);
        any = true;
        glint_json_value(&w, t);
    }
    if (any)
        glint_json_end_array(&w);
    return any;
}
