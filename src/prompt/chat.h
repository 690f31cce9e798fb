// SPDX-License-Identifier: Apache-2.0
// chat.h — a conversation to prompt text.
// Two steps that are kept apart: glint_chat_normalise turns what API clients send into what the
// template expects and refuses what would render as nonsense; glint_chat_render renders exactly
// what it is given, as the bare template does. The prompt comes with the ranges that the caller
// controls: the tokenizer must not recognise special tokens there.
#ifndef GLINT_PROMPT_CHAT_H
#define GLINT_PROMPT_CHAT_H

#include "prompt/template.h"

// ---- what API clients send --------------------------------------------------------------------

struct glint_chat_messages {
    struct glint_value messages; // list of dicts
    struct glint_value tools;    // list of dicts; none or undefined: no tools
};

// in -> out, in the same heap: roles (developer, function), content parts, reasoning fields,
// arguments given as JSON text, missing descriptions and parameters of tools. GLINT_E_ARG with the
// path of the field ("messages[2].content[0].type: ...") for what cannot be used. Fields that are
// not part of the API are dropped.
enum glint_status glint_chat_normalise(struct glint_heap *heap,
                                       const struct glint_chat_messages *in,
                                       struct glint_chat_messages *out, struct glint_error *err);
// The level of reasoning for an API's effort word: "minimal", "none" and "off" become "low", "max"
// becomes "xhigh"; NULL for a word that is none.
const char *glint_chat_effort(struct glint_view word);

// ---- rendering --------------------------------------------------------------------------------

struct glint_chat_input {
    struct glint_chat_messages chat;
    const struct glint_dict *variables; // other template variables, may be NULL
    struct glint_template_clock clock;
    uint64_t max_steps; // of the template, 0: the default
    bool no_generation_prompt;
    bool continue_final; // the last message, an assistant's, is to be continued
};

struct glint_prompt {            // all-zero is a valid empty one
    struct glint_sink text;      // text.bytes and text.ranges
    enum glint_turn_start start; // of the model's output
};
void glint_prompt_fini(struct glint_prompt *prompt);

// Appends to prompt. Values made on the way live in heap.
enum glint_status glint_chat_render(const struct glint_template *t,
                                    const struct glint_chat_input *input, struct glint_heap *heap,
                                    struct glint_prompt *prompt, struct glint_error *err);

// True when the source speaks this model's dialect, so that the output can be parsed.
bool glint_chat_is_dialect(struct glint_view source);
// The publisher's template, for files that carry none (chat_template_tables.c).
extern const char glint_chat_default_template[];

#endif
