// SPDX-License-Identifier: Apache-2.0
// answer_args.h — the flags of commands that let the model answer: `run` and `chat`.
#ifndef GLINT_APPS_ANSWER_ARGS_H
#define GLINT_APPS_ANSWER_ARGS_H

#include "answer.h"
#include "options.h"

enum {
    GLINT_ARG_PREDICT = 2000, // the first of them
    GLINT_ARG_SYSTEM,
    GLINT_ARG_EFFORT,
    GLINT_ARG_BUDGET,
    GLINT_ARG_TOOLS,
    GLINT_ARG_STOP,
    GLINT_ARG_CHOICE,
    GLINT_ARG_SCHEMA,
    GLINT_ARG_OBJECT,
};

#define GLINT_ANSWER_OPTIONS                                                                       \
    {GLINT_ARG_PREDICT,                                                                            \
     {"n", "predict"},                                                                             \
     "N",                                                                                          \
     "stop after N tokens (default: when the model stops)"},                                       \
        {GLINT_ARG_SYSTEM,                                                                         \
         {"sys", "system"},                                                                        \
         "TEXT",                                                                                   \
         "system message (default: the template's own)"},                                          \
        {GLINT_ARG_EFFORT, {"effort"}, "LEVEL", "reasoning: low, medium, high or xhigh"},          \
        {GLINT_ARG_BUDGET,                                                                         \
         {"reasoning-budget"},                                                                     \
         "N",                                                                                      \
         "tokens that reasoning may take; then the answer begins"},                                \
        {GLINT_ARG_TOOLS, {"tools"}, "FILE", "JSON array of tools the model may call"},            \
        {GLINT_ARG_CHOICE,                                                                         \
         {"tool-choice"},                                                                          \
         "CHOICE",                                                                                 \
         "auto (default), none, required, or the tool to call"},                                   \
        {GLINT_ARG_SCHEMA,                                                                         \
         {"j", "json-schema"},                                                                     \
         "FILE|TEXT",                                                                              \
         "the answer is JSON that fits this schema"},                                              \
        {GLINT_ARG_OBJECT, {"json-object"}, NULL, "the answer is a JSON object"}, {                \
        GLINT_ARG_STOP, {"stop"}, "TEXT", "a text that ends the answer; may be repeated"           \
    }

enum { GLINT_ARGS_MAX_STOPS = 16 };

struct glint_answer_args {
    const char *system, *effort; // NULL: the template's
    struct glint_answer_options options;
    const char *stops[GLINT_ARGS_MAX_STOPS];
    const char *tools_path;
    char *tools;        // owned
    const char *schema; // a file's name, or the schema itself
    char *schema_text;  // owned
};

void glint_answer_args_init(struct glint_answer_args *args);
// Takes option `id` of state, one of those above. False when it was bad (a message was printed).
bool glint_answer_args_take(struct glint_answer_args *args, const struct glint_options *state,
                            int id);
// Reads the tools and the schema, if there are any. False after printing.
bool glint_answer_args_load(struct glint_answer_args *args, const struct glint_command *command);
// Puts the file's name before an error in the tools or the schema that came from one.
void glint_answer_args_name_file(const struct glint_answer_args *args, struct glint_error *error);
void glint_answer_args_fini(struct glint_answer_args *args);

#endif
