// SPDX-License-Identifier: Apache-2.0
// template_names.h — the filters, tests, methods and functions a template may name. A lookup
// gives an id > 0, or 0 for a name outside the subset, which is how such names get refused when
// a template is compiled.
#ifndef GLINT_PROMPT_TEMPLATE_NAMES_H
#define GLINT_PROMPT_TEMPLATE_NAMES_H

#include "base/buffer.h"

int glint_filter_find(struct glint_view name);
int glint_test_find(struct glint_view name);
int glint_method_find(struct glint_view name);   // of strings, dictionaries, lists, loops, cyclers
int glint_function_find(struct glint_view name); // callable by name without being assigned

#endif
