// SPDX-License-Identifier: Apache-2.0
// run_chat.h — the conversation around one prompt: template in front, the model's dialect taken
// apart behind. The answer (and calls, one JSON object a line) goes to stdout as it comes,
// reasoning to stderr; or all of it is kept for a JSON result.
#ifndef GLINT_APPS_RUN_CHAT_H
#define GLINT_APPS_RUN_CHAT_H

#include "options.h"

#include <glint/glint.h>
#include <stdio.h>

struct glint_run_chat {
    const char *system;     // NULL: the template's default system message
    const char *effort;     // NULL: the template's default
    const char *tools_path; // JSON array of tools, or NULL
    bool keep;              // for --json: nothing is printed
    bool quiet;             // no reasoning on stderr
    // state
    char *tools;
    size_t n_tools;
    enum glint_turn_start start;
    struct glint_turn *turn;
    FILE *content, *reasoning, *calls; // with keep: memory streams over the texts below
    char *text[3];                     // content, reasoning, calls
    size_t n_text[3];
    int n_calls;
    bool in_call, in_reasoning, line_open;
    const char *finish; // after end
};

// Renders and tokenizes one user message (plain text). *ids is for glint_ids_free.
enum glint_status glint_run_chat_prompt(struct glint_run_chat *chat,
                                        const struct glint_command *command,
                                        const struct glint_engine *engine,
                                        struct glint_json_text message, struct glint_ids *ids,
                                        struct glint_error *err);
enum glint_status glint_run_chat_begin(struct glint_run_chat *chat,
                                       const struct glint_engine *engine, struct glint_error *err);
// One drawn token; *done when the turn is over.
enum glint_status glint_run_chat_put(struct glint_run_chat *chat, int32_t id, bool *done,
                                     struct glint_error *err);
enum glint_status glint_run_chat_end(struct glint_run_chat *chat, bool limit,
                                     struct glint_error *err);
// "content":…,"reasoning":…,"tool_calls":[…], of a chat with keep, after end.
void glint_run_chat_print(const struct glint_run_chat *chat);
void glint_run_chat_fini(struct glint_run_chat *chat);

#endif
