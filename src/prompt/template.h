// SPDX-License-Identifier: Apache-2.0
// template.h — the template language of chat templates, a subset of Jinja with the same results:
// statements if, for (else, filter, recursive, loop.*), set (also blocks, namespaces), macro,
// call, filter, with, raw, break, continue, generation; expressions with filters, tests, slices,
// conditionals, calls, methods of strings and dictionaries. What is outside the subset is refused
// by name and line when the template is opened. docs/templates.md lists all names.
//
// A template is data of the model file, hence untrusted: depth, steps, memory and output of a
// rendering are bounded. The text of the caller is never looked at as template source.
#ifndef GLINT_PROMPT_TEMPLATE_H
#define GLINT_PROMPT_TEMPLATE_H

#include "prompt/sink.h"
#include "prompt/value.h"

#include "base/status.h"

enum { GLINT_TEMPLATE_MAX_BYTES = 1 << 20 };

struct glint_template;

// Compiles. On failure *t is NULL and the error tells the line: GLINT_E_FORMAT for a mistake,
// GLINT_E_UNSUPPORTED for a name or construct outside the subset, GLINT_E_LIMIT for size or depth.
enum glint_status glint_template_open(struct glint_template **t, struct glint_view source,
                                      struct glint_error *err);
void glint_template_close(struct glint_template **t);

// What the clock function answers.
struct glint_template_clock {
    bool present;             // false: strftime_now is undefined
    struct glint_view answer; // not empty: the answer to every format, as it stands
    int year, month, day;     // else the local date, month and day from 1
    int hour, minute, second;
};

struct glint_template_input {
    const struct glint_dict *variables; // by name; may hold values of either origin
    struct glint_template_clock clock;
    uint64_t max_steps; // 0: 50 million, a step being an operation or 64 bytes of text work
};

// Appends the rendering to sink. Errors: GLINT_E_ARG when the template itself objects to its
// input (raise_exception, a missing field, a wrong type), GLINT_E_LIMIT, GLINT_E_NOMEM; all name
// the line. Values built on the way live in heap, which the caller releases. The limits on
// memory and output are those of heap and sink.
enum glint_status glint_template_render(const struct glint_template *t,
                                        const struct glint_template_input *input,
                                        struct glint_heap *heap, struct glint_sink *sink,
                                        struct glint_error *err);

#endif
