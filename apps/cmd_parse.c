// SPDX-License-Identifier: Apache-2.0
// cmd_parse.c — `glint parse`: what a model wrote, on standard input, as the message it means.
#include "cmd.h"
#include "engine_args.h"
#include "json_out.h"
#include "kept_turn.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_MODEL = 1,
    OPT_TOOLS,
    OPT_STREAM,
    OPT_IDS,
    OPT_CHOICE,
    OPT_CHANNEL,
    OPT_END,
    OPT_STOP,
};

enum { MAX_STOPS = 16 };

static const struct glint_option options[] = {
    {OPT_MODEL, {"m", "model"}, "FILE", "GGUF file whose vocabulary is used"},
    {OPT_TOOLS, {"tools"}, "FILE", "JSON array of tool definitions"},
    {OPT_STREAM, {"stream"}, NULL, "print one JSON event a line as they come"},
    {OPT_IDS, {"ids"}, NULL, "the input is token ids, not text with special tokens\nspelled out"},
    {OPT_CHOICE, {"tool-choice"}, "CHOICE", "auto (default), none, required, or a tool's name"},
    {OPT_CHANNEL,
     {"channel"},
     "NAME",
     "the output starts inside a message to self, user or a\ntool (default: it writes a header "
     "first)"},
    {OPT_END, {"end"}, "HOW", "how generation ended: eog (default) or length"},
    {OPT_STOP, {"stop"}, "TEXT", "a text that ends the answer; may be repeated"},
    {0},
};

static const struct glint_command command = {
    "parse",
    "-m MODEL [--tools FILE] [--stream] [--ids] [--tool-choice CHOICE] [--channel NAME]\n"
    "       [--end eog|length]",
    "Reads model output from standard input and prints the message as JSON.",
    options,
};

struct job {
    const char *model, *tools_path;
    bool stream, ids, limit;
    struct glint_turn_options turn;
    const char *stops[MAX_STOPS];
    char *tools; // owned
    char *input; // owned
    size_t n_input;
    struct glint_kept_turn kept;
};

static void print_member(const char *key, const char *text, size_t n, const char *end) {
    printf("\"%s\":", key);
    glint_json_out_string(stdout, text ? text : "", n);
    printf("%s", end);
}

static void print_event(const struct glint_turn_event *event) {
    switch (event->kind) {
    case GLINT_TURN_REASONING:
        printf("{");
        print_member("reasoning", event->text, event->n, "}\n");
        break;
    case GLINT_TURN_CONTENT:
        printf("{");
        print_member("content", event->text, event->n, "}\n");
        break;
    case GLINT_TURN_CALL:
        printf("{\"tool_call\":{\"index\":%zu,", event->index);
        print_member("name", event->text, event->n, "}}\n");
        break;
    case GLINT_TURN_ARGUMENTS:
        printf("{\"tool_call\":{\"index\":%zu,", event->index);
        print_member("arguments", event->text, event->n, "}}\n");
        break;
    case GLINT_TURN_FINISH:
        printf("{\"finish_reason\":\"%s\"}\n", glint_turn_reason_name(event->reason));
        break;
    case GLINT_TURN_REMAINS:
        break;
    }
    fflush(stdout);
}

static void on_event(void *user, const struct glint_turn_event *event) {
    struct job *job = user;
    if (job->stream)
        print_event(event);
    else
        glint_kept_turn_put(&job->kept, event);
}

static void print_message(const struct job *job) {
    printf("{");
    glint_kept_turn_print(&job->kept, stdout);
    printf(",\"finish_reason\":\"%s\"}\n", glint_turn_reason_name(job->kept.reason));
}

static bool take_option(struct job *job, int id, const char *value) {
    switch (id) {
    case OPT_MODEL:
        job->model = value;
        break;
    case OPT_TOOLS:
        job->tools_path = value;
        break;
    case OPT_STREAM:
        job->stream = true;
        break;
    case OPT_IDS:
        job->ids = true;
        break;
    case OPT_CHOICE:
        job->turn.no_calls = strcmp(value, "none") == 0;
        break;
    case OPT_CHANNEL:
        job->turn.start = strcmp(value, "self") == 0   ? GLINT_TURN_SELF
                          : strcmp(value, "user") == 0 ? GLINT_TURN_USER
                                                       : GLINT_TURN_TOOL;
        job->turn.start_tool = value;
        break;
    case OPT_STOP:
        if (job->turn.n_stops == MAX_STOPS)
            return false;
        job->stops[job->turn.n_stops++] = value;
        break;
    default:
        job->limit = strcmp(value, "length") == 0;
        return job->limit || strcmp(value, "eog") == 0;
    }
    return true;
}

static int parse(struct job *job, int argc, char **argv) {
    struct glint_options state;
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        if (!take_option(job, id, state.value))
            return glint_options_usage(&command, "--%s: found %s, expected %s",
                                       id == OPT_END ? "end" : "stop", state.value,
                                       id == OPT_END ? "eog or length" : "at most 16 of them");
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!job->model)
        return glint_options_usage(&command, "needs -m MODEL and the output on standard input");
    return -1;
}

static enum glint_status put_ids(struct glint_turn *turn, const struct job *job,
                                 struct glint_error *error) {
    int32_t *ids = NULL;
    int n = 0;
    if (!glint_parse_ids(&command, job->input, &ids, &n))
        return GLINT_E_ARG;
    enum glint_status status = GLINT_OK;
    for (int i = 0; i < n && status == GLINT_OK; i++)
        status = glint_turn_put_id(turn, ids[i], error);
    free(ids);
    return status;
}

static int run(struct job *job, const struct glint_engine *engine) {
    struct glint_turn *turn = NULL;
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status = glint_turn_open(&turn, engine, &job->turn, &error);
    if (status == GLINT_OK && job->ids && job->n_input != 0)
        status = put_ids(turn, job, &error);
    else if (status == GLINT_OK)
        status = glint_turn_put_text(turn, job->input, job->n_input, &error);
    if (status == GLINT_OK)
        status = glint_turn_end(turn, job->limit, &error);
    if (status == GLINT_OK && job->kept.failed) {
        status = GLINT_E_NOMEM;
        snprintf(error.text, sizeof error.text, "no memory for the message");
    }
    if (status == GLINT_OK && !job->stream)
        print_message(job);
    glint_turn_close(&turn);
    if (status != GLINT_OK && error.text[0])
        return glint_report(&command, &error);
    return status == GLINT_OK ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}

static void release(struct job *job) {
    free(job->tools);
    free(job->input);
    glint_kept_turn_fini(&job->kept);
}

int glint_cmd_parse(int argc, char **argv) {
    struct job job = {.model = NULL};
    int result = parse(&job, argc, argv);
    if (result >= 0)
        return result;
    job.turn.stops = job.stops;
    job.turn.on_event = on_event;
    job.turn.user = &job;
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = job.model;
    params.vocab_only = true;
    struct glint_engine *engine = NULL;
    struct glint_error error = {.status = GLINT_OK};
    result = GLINT_EXIT_FAILED;
    if (glint_engine_open(&engine, &params, &error) != GLINT_OK) {
        glint_report(&command, &error);
    } else {
        if (job.tools_path)
            job.tools = glint_read_file(&command, job.tools_path, &job.turn.tools.n);
        job.turn.tools.data = job.tools;
        if (!job.tools_path || job.tools)
            job.input = glint_read_file(&command, "-", &job.n_input);
        if (job.input)
            result = run(&job, engine);
    }
    glint_engine_close(&engine);
    release(&job);
    return result;
}
