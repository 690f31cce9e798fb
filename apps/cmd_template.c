// SPDX-License-Identifier: Apache-2.0
// cmd_template.c — `glint template`: a conversation as the prompt text the model sees, byte by
// byte. Without --api the bare template's behaviour, with it what a server would send.
#include "cmd.h"
#include "engine_args.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OPT_MODEL = 1,
    OPT_MESSAGES,
    OPT_TOOLS,
    OPT_EFFORT,
    OPT_DATE,
    OPT_VARS,
    OPT_NO_GENERATION,
    OPT_CONTINUE,
    OPT_API,
    OPT_RANGES,
};

static const struct glint_option options[] = {
    {OPT_MODEL, {"m", "model"}, "FILE", "GGUF file whose template is used"},
    {OPT_MESSAGES, {"messages"}, "FILE", "JSON array of messages; - is standard input"},
    {OPT_TOOLS, {"tools"}, "FILE", "JSON array of tool definitions"},
    {OPT_EFFORT, {"effort"}, "LEVEL", "level of reasoning: low, medium, high, xhigh"},
    {OPT_DATE,
     {"date"},
     "DATE",
     "what the clock answers: YYYY-MM-DD, any text, or none\n(default: today)"},
    {OPT_VARS, {"vars"}, "FILE", "JSON object of other template variables"},
    {OPT_NO_GENERATION, {"no-generation-prompt"}, NULL, "do not open the model's turn"},
    {OPT_CONTINUE, {"continue"}, NULL, "let the model go on inside the last message"},
    {OPT_API, {"api"}, NULL, "accept and refuse what the server does"},
    {OPT_RANGES,
     {"ranges"},
     NULL,
     "print the byte ranges that the caller controls, one a\nline, instead of the prompt"},
    {0},
};

static const struct glint_command command = {
    "template",
    "-m MODEL --messages FILE [--tools FILE] [--effort LEVEL] [--date DATE] [--vars FILE]\n"
    "       [--no-generation-prompt | --continue] [--api]",
    "Prints the prompt of a conversation.",
    options,
};

struct render {
    const char *model, *messages, *tools, *vars;
    struct glint_chat_request request;
    const char *date; // NULL: today
    bool ranges;
    char *texts[3]; // of the files, owned
};

static int parse(struct render *render, int argc, char **argv) {
    struct glint_options state;
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        switch (id) {
        case OPT_MODEL:
            render->model = state.value;
            break;
        case OPT_MESSAGES:
            render->messages = state.value;
            break;
        case OPT_TOOLS:
            render->tools = state.value;
            break;
        case OPT_EFFORT:
            render->request.effort = state.value;
            break;
        case OPT_DATE:
            render->date = state.value;
            break;
        case OPT_VARS:
            render->vars = state.value;
            break;
        case OPT_NO_GENERATION:
            render->request.no_generation_prompt = true;
            break;
        case OPT_CONTINUE:
            render->request.continue_final = true;
            break;
        case OPT_API:
            render->request.normalise = true;
            break;
        default:
            render->ranges = true;
            break;
        }
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!render->model || !render->messages)
        return glint_options_usage(&command, "needs -m MODEL and --messages FILE");
    if (render->request.no_generation_prompt && render->request.continue_final)
        return glint_options_usage(&command, "--continue opens no new turn: leave out "
                                             "--no-generation-prompt");
    return -1;
}

// A file's text into *text; false after printing.
static bool read_text(struct render *render, int i, const char *path,
                      struct glint_json_text *text) {
    if (!path)
        return true;
    render->texts[i] = glint_read_file(&command, path, &text->n);
    text->data = render->texts[i];
    return text->data != NULL;
}

static void print_ranges(const struct glint_chat_prompt *prompt) {
    for (size_t i = 0; i < prompt->n_untrusted; i++)
        printf("%zu %zu\n", prompt->untrusted[i].begin, prompt->untrusted[i].end);
}

static int print_prompt(const struct glint_engine *engine, const struct render *render) {
    struct glint_chat *chat = NULL;
    struct glint_chat_prompt prompt = {.data = NULL};
    struct glint_error error = {.status = GLINT_OK};
    enum glint_status status = glint_chat_open(&chat, engine, &error);
    if (status == GLINT_OK)
        status = glint_chat_prompt(chat, &render->request, &prompt, &error);
    if (status == GLINT_OK && render->ranges)
        print_ranges(&prompt);
    else if (status == GLINT_OK)
        fwrite(prompt.data, 1, prompt.n, stdout);
    glint_chat_prompt_free(&prompt);
    glint_chat_close(&chat);
    if (status != GLINT_OK)
        return glint_report(&command, &error);
    return GLINT_EXIT_OK;
}

int glint_cmd_template(int argc, char **argv) {
    struct render render = {.model = NULL};
    char today[20];
    int result = parse(&render, argc, argv);
    if (result >= 0)
        return result;
    time_t now = time(NULL);
    struct tm local;
    strftime(today, sizeof today, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
    render.request.date = !render.date                       ? today
                          : strcmp(render.date, "none") == 0 ? NULL
                                                             : render.date;
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = render.model;
    params.vocab_only = true;
    struct glint_engine *engine = NULL;
    struct glint_error error = {.status = GLINT_OK};
    result = GLINT_EXIT_FAILED;
    if (glint_engine_open(&engine, &params, &error) != GLINT_OK)
        glint_report(&command, &error);
    else if (read_text(&render, 0, render.messages, &render.request.messages) &&
             read_text(&render, 1, render.tools, &render.request.tools) &&
             read_text(&render, 2, render.vars, &render.request.variables))
        result = print_prompt(engine, &render);
    glint_engine_close(&engine);
    for (int i = 0; i < 3; i++)
        free(render.texts[i]);
    return result;
}
