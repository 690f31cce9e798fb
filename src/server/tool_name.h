// SPDX-License-Identifier: Apache-2.0
// tool_name.h — names of functions in lists of tools, in both of OpenAI's shapes: {"type":
// "function", "name": ...} and {"type": "function", "function": {"name": ...}}.
#ifndef GLINT_SERVER_TOOL_NAME_H
#define GLINT_SERVER_TOOL_NAME_H

#include "format/json_write.h"

// The name; empty when the tool is no function, or has none.
struct glint_view glint_tool_name(const struct glint_json *tool);
// Whether a function of the list has this name, which is not empty.
bool glint_tool_is_in(const struct glint_json *tools, struct glint_view name);
// Those of the tools whose names `allowed` has too, as a list of JSON. False when there are none;
// nothing is written then.
bool glint_tools_put_allowed(struct glint_buffer *out, const struct glint_json *tools,
                             const struct glint_json *allowed);

#endif
