// SPDX-License-Identifier: Apache-2.0
// answer_args.c — shared flags to the options of an answer.
#include "answer_args.h"

#include "engine_args.h"

#include <stdlib.h>
#include <string.h>

void glint_answer_args_init(struct glint_answer_args *args) {
    *args = (struct glint_answer_args){.options = {.n_predict = -1}};
    args->options.turn.stops = args->stops;
}

static bool take_stop(struct glint_answer_args *args, const struct glint_options *state) {
    struct glint_turn_options *turn = &args->options.turn;
    if (turn->n_stops == GLINT_ARGS_MAX_STOPS || state->value[0] == 0) {
        glint_options_usage(state->command, "--stop: expected a text, at most %d times",
                            GLINT_ARGS_MAX_STOPS);
        return false;
    }
    args->stops[turn->n_stops++] = state->value;
    return true;
}

bool glint_answer_args_take(struct glint_answer_args *args, const struct glint_options *state,
                            int id) {
    int64_t value;
    switch (id) {
    case GLINT_ARG_PREDICT:
        return glint_options_int(state, -1, INT32_MAX, &args->options.n_predict);
    case GLINT_ARG_SYSTEM:
        args->system = state->value;
        return true;
    case GLINT_ARG_EFFORT:
        args->effort = state->value;
        return true;
    case GLINT_ARG_BUDGET:
        if (!glint_options_int(state, -1, INT32_MAX, &value))
            return false;
        args->options.turn.has_budget = value >= 0;
        args->options.turn.budget = value >= 0 ? (size_t)value : 0;
        return true;
    case GLINT_ARG_TOOLS:
        args->tools_path = state->value;
        return true;
    case GLINT_ARG_CHOICE:
        args->options.tool_choice = state->value;
        return true;
    case GLINT_ARG_SCHEMA:
        args->schema = state->value;
        return true;
    case GLINT_ARG_OBJECT:
        args->options.json_object = true;
        return true;
    default:
        return take_stop(args, state);
    }
}

// A schema is an object, true or false; anything else names a file.
static bool is_schema(const char *text) {
    text += strspn(text, " \t\r\n");
    return *text == '{' || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static bool load_schema(struct glint_answer_args *args, const struct glint_command *command) {
    struct glint_json_text *schema = &args->options.schema;
    if (!args->schema)
        return true;
    schema->data = args->schema;
    schema->n = strlen(args->schema);
    if (is_schema(args->schema))
        return true;
    args->schema_text = glint_read_file(command, args->schema, &schema->n);
    schema->data = args->schema_text;
    return args->schema_text != NULL;
}

bool glint_answer_args_load(struct glint_answer_args *args, const struct glint_command *command) {
    struct glint_json_text *tools = &args->options.turn.tools;
    if (!load_schema(args, command))
        return false;
    if (!args->tools_path)
        return true;
    args->tools = glint_read_file(command, args->tools_path, &tools->n);
    tools->data = args->tools;
    return args->tools != NULL;
}

void glint_answer_args_name_file(const struct glint_answer_args *args, struct glint_error *error) {
    const char *path = NULL;
    if (args->tools && strncmp(error->text, "tools", 5) == 0)
        path = args->tools_path;
    if (args->schema_text && strncmp(error->text, "schema", 6) == 0)
        path = args->schema;
    if (!path)
        return;
    struct glint_error bare = *error;
    int room = (int)sizeof error->text / 2;
    snprintf(error->text, sizeof error->text, "%.*s: %.*s", room - 2, path, room - 2, bare.text);
}

void glint_answer_args_fini(struct glint_answer_args *args) {
    free(args->tools);
    free(args->schema_text);
    args->tools = NULL;
    args->schema_text = NULL;
}
