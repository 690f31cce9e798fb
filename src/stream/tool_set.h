// SPDX-License-Identifier: Apache-2.0
// tool_set.h — the tools a request declares: their names, as the model may write them, and what
// their schemas say about arguments. Stands on the caller's JSON, which must outlive it.
#ifndef GLINT_STREAM_TOOL_SET_H
#define GLINT_STREAM_TOOL_SET_H

#include "format/json.h"

struct glint_tool {
    struct glint_view name;
    const struct glint_json *parameters; // JSON schema, NULL when there is none
};

struct glint_tool_set {       // all-zero is a valid empty set
    struct glint_tool *tools; // [n], owned
    size_t n;
};

// tools: an array of {"type": "function", "function": {...}} or bare function objects; NULL or
// null for none. GLINT_E_ARG with the path of the field for what is not that.
enum glint_status glint_tool_set_init(struct glint_tool_set *set, const struct glint_json *tools,
                                      struct glint_error *err);
void glint_tool_set_fini(struct glint_tool_set *set);

// The tool of exactly this name; NULL when there is none.
const struct glint_tool *glint_tool_set_find(const struct glint_tool_set *set,
                                             struct glint_view name);
// Also accepts NAMESPACE.NAME for a NAME whose own namespace (the part before its first dot) is
// that. Never matches by likeness.
const struct glint_tool *glint_tool_set_resolve(const struct glint_tool_set *set,
                                                struct glint_view name);
// "T.P" where T is a tool and P one of its parameters: gives both.
const struct glint_tool *glint_tool_set_split(const struct glint_tool_set *set,
                                              struct glint_view name, struct glint_view *parameter);
// The schema of a parameter; NULL when there is none.
const struct glint_json *glint_tool_property(const struct glint_tool *tool, struct glint_view name);

#endif
