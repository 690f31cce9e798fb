// SPDX-License-Identifier: Apache-2.0
// turn_grammar.h — a whole turn as a grammar: whom it may address, reasoning, calls, the answer.
#ifndef GLINT_ENGINE_TURN_GRAMMAR_H
#define GLINT_ENGINE_TURN_GRAMMAR_H

#include "engine/schema_value.h"
#include "stream/tool_set.h"

struct glint_turn_rules {
    const struct glint_tool_set *tools;
    const char *tool_choice;         // NULL or "auto", "none", "required", a tool's name
    bool one_call, loose_tools;      // as in glint_constraint_options
    const struct glint_json *schema; // of the answer; NULL: free
    bool json_object;                // the answer is any object
    enum glint_turn_start start;
    const char *start_tool;
};

// On failure the grammar is empty.
enum glint_status glint_turn_grammar(struct glint_grammar *grammar,
                                     const struct glint_turn_rules *rules, struct glint_error *err);

// call_grammar.c: the body of a call of this tool. *choice is for a CALL.
enum glint_status glint_call_grammar(struct glint_schema_compiler *compiler,
                                     const struct glint_tool *tool, uint32_t *choice,
                                     struct glint_error *err);

#endif
