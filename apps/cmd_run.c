// SPDX-License-Identifier: Apache-2.0
// cmd_run.c — `glint run`: one prompt in, one answer out. The answer alone goes to stdout.
#include "album.h"
#include "answer_args.h"
#include "answer_view.h"
#include "cmd.h"
#include "engine_args.h"
#include "json_out.h"
#include "kept_turn.h"
#include "prompt_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_PROMPT = 1, OPT_FILE, OPT_PROMPT_IDS, OPT_RAW, OPT_IDS, OPT_IGNORE_EOS, OPT_JSON };

static const struct glint_option options[] = {
    {OPT_PROMPT, {"p", "prompt"}, "TEXT", "the prompt"},
    {OPT_FILE, {"f", "file"}, "FILE", "the prompt from a file; - is standard input"},
    {OPT_PROMPT_IDS, {"prompt-ids"}, "LIST", "the prompt as token ids: 1,2,3 or @FILE"},
    {OPT_RAW, {"raw"}, NULL, "continue the text as it is, without the chat template"},
    {OPT_IDS, {"ids"}, NULL, "print the new token ids, one a line, instead of text"},
    {OPT_IGNORE_EOS, {"ignore-eos"}, NULL, "go on after a stop token"},
    {OPT_JSON, {"json"}, NULL, "print one JSON object"},
    GLINT_ALBUM_OPTIONS,
    GLINT_ANSWER_OPTIONS,
    GLINT_ENGINE_OPTIONS,
    GLINT_DRAFT_OPTIONS,
    GLINT_SAMPLING_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "run",
    "[-m MODEL] -p TEXT | -f FILE | --prompt-ids LIST [--image FILE] [-n N]\n"
    "       [--ids] [--json]",
    "Answers one prompt.",
    options,
};

struct run {
    struct glint_engine_args args;
    struct glint_answer_args how;
    struct glint_album album;
    const char *prompt, *file, *prompt_ids;
    char *file_text; // owned
    struct glint_json_text words;
    bool ids, json;
    struct glint_ids input;
    struct glint_engine *engine;
    struct glint_session *session;
    struct glint_answer_view view;
    struct glint_kept_turn kept; // with --json
    struct glint_answer answer;
};

static bool parse(struct run *run, int argc, char **argv, int *result) {
    struct glint_options state;
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        switch (id) {
        case OPT_PROMPT:
            run->prompt = state.value;
            break;
        case OPT_FILE:
            run->file = state.value;
            break;
        case OPT_PROMPT_IDS:
            run->prompt_ids = state.value;
            break;
        case OPT_RAW:
            run->how.options.raw = true;
            break;
        case OPT_IDS:
            run->ids = true;
            break;
        case OPT_IGNORE_EOS:
            run->how.options.ignore_eos = true;
            break;
        case OPT_JSON:
            run->json = true;
            break;
        default:
            ok = id >= GLINT_ARG_IMAGE     ? glint_album_take(&run->album, &state, id)
                 : id >= GLINT_ARG_PREDICT ? glint_answer_args_take(&run->how, &state, id)
                                           : glint_engine_args_take(&run->args, &state, id);
        }
        if (!ok) {
            *result = GLINT_EXIT_USAGE;
            return false;
        }
    }
    if (id != GLINT_OPTIONS_END) {
        *result = glint_options_exit(id);
        return false;
    }
    int sources = (run->prompt != NULL) + (run->file != NULL) + (run->prompt_ids != NULL);
    if (sources != 1) {
        *result = glint_options_usage(&command, "needs one of -p, -f and --prompt-ids");
        return false;
    }
    if (run->how.options.raw && run->album.n_paths > 0) {
        *result = glint_options_usage(
            &command,
            "--raw text has no place for pictures; leave --raw out, or give --prompt-ids");
        return false;
    }
    run->how.options.raw = run->how.options.raw || run->prompt_ids;
    return true;
}

// A list of one user message, after the system message if there is one.
static char *messages_json(const struct run *run, size_t *n) {
    char *json = NULL;
    char *pictures = glint_album_parts(&run->album);
    FILE *out = pictures ? open_memstream(&json, n) : NULL;
    if (!out) {
        free(pictures);
        return NULL;
    }
    fputc('[', out);
    if (run->how.system) {
        struct glint_json_text system = {run->how.system, strlen(run->how.system)};
        glint_prompt_message(out, "system", "", system);
        fputc(',', out);
    }
    glint_prompt_message(out, "user", pictures, run->words);
    free(pictures);
    fputc(']', out);
    return fclose(out) == 0 ? json : NULL;
}

static enum glint_status render(struct run *run, struct glint_error *error) {
    struct glint_chat *chat = NULL;
    char date[16];
    glint_prompt_today(date);
    struct glint_chat_request request = {.tools = run->how.options.turn.tools,
                                         .effort = run->how.effort,
                                         .date = date,
                                         .normalise = true};
    char *messages = messages_json(run, &request.messages.n);
    request.messages.data = messages;
    enum glint_status status = messages ? GLINT_OK : GLINT_E_NOMEM;
    if (status == GLINT_OK)
        status = glint_prompt_template(&chat, run->engine, error);
    if (status == GLINT_OK)
        status = glint_prompt_ids(chat, run->engine, &request, &run->input,
                                  &run->how.options.turn.start, error);
    if (status == GLINT_OK)
        status = glint_album_expand(&run->album, run->engine, &run->input, error);
    glint_chat_close(&chat);
    free(messages);
    return status;
}

// What the command line names is there and can be read: told before the model is opened, which
// takes a while. False after printing.
static bool read_files(struct run *run, int *result) {
    struct glint_error error = {0};
    *result = GLINT_EXIT_FAILED;
    if (glint_album_check_paths(&run->album, &error) != GLINT_OK) {
        glint_report(&command, &error);
        return false;
    }
    if (!glint_answer_args_load(&run->how, &command))
        return false;
    if (run->prompt_ids) {
        int n;
        *result = GLINT_EXIT_USAGE;
        if (!glint_parse_ids(&command, run->prompt_ids, &run->input.data, &n))
            return false;
        run->input.n = (size_t)n;
        return true;
    }
    run->words.data = run->prompt;
    if (run->prompt)
        run->words.n = strlen(run->prompt);
    else
        run->words.data = run->file_text = glint_read_file(&command, run->file, &run->words.n);
    return run->words.data != NULL;
}

// The prompt's ids into run->input. False after printing.
static bool read_prompt(struct run *run) {
    struct glint_error error = {0};
    enum glint_status status = glint_album_add_paths(&run->album, &error);
    struct glint_text text = {.data = run->words.data, .n = run->words.n, .add_bos = true};
    if (status == GLINT_OK && !run->prompt_ids)
        status = run->how.options.raw ? glint_tokenize(run->engine, &text, &run->input, &error)
                                      : render(run, &error);
    glint_answer_args_name_file(&run->how, &error);
    if (status != GLINT_OK)
        glint_report(&command, &error);
    return status == GLINT_OK;
}

static void on_event(void *user, const struct glint_turn_event *event) {
    struct run *run = user;
    if (run->json)
        glint_kept_turn_put(&run->kept, event);
    else if (!run->ids)
        glint_answer_view_put(&run->view, event);
}

static void print_id(void *user, int32_t id) {
    (void)user;
    printf("%d\n", id);
    fflush(stdout);
}

static enum glint_status answer(struct run *run, struct glint_error *error) {
    run->how.options.turn.on_event = on_event;
    run->how.options.turn.user = run;
    if (run->ids && !run->json)
        run->how.options.on_id = print_id;
    glint_answer_view_init(&run->view);
    run->view.hide_reasoning = run->args.quiet;
    enum glint_status status = glint_session_open(&run->session, run->engine, error);
    if (status == GLINT_OK)
        status = glint_session_set_pictures(run->session, run->album.pictures, run->album.n, error);
    if (status == GLINT_OK)
        status = glint_session_set_sampler(run->session, &run->args.sampling, error);
    if (status == GLINT_OK)
        status = glint_answer_generate(&run->answer, run->engine, run->session, &run->input,
                                       &run->how.options, error);
    glint_answer_view_end(&run->view);
    glint_answer_args_name_file(&run->how, error);
    if (status == GLINT_OK && run->kept.failed) {
        snprintf(error->text, sizeof error->text, "out of memory");
        status = GLINT_E_NOMEM;
    }
    return status;
}

static void print_json(const struct run *run) {
    const struct glint_answer *answer = &run->answer;
    printf("{");
    if (run->how.options.raw) {
        printf("\"text\":");
        glint_json_out_string(stdout, run->kept.content.data ? run->kept.content.data : "",
                              run->kept.content.n);
    } else {
        glint_kept_turn_print(&run->kept, stdout);
    }
    printf(",\"ids\":[");
    for (int i = 0; i < answer->n; i++)
        printf("%s%d", i ? "," : "", answer->ids[i]);
    printf("]");
    if (run->args.sampling.logprobs) {
        printf(",\"logprobs\":[");
        for (int i = 0; i < answer->n; i++)
            printf("%s%.6f", i ? "," : "", (double)answer->logprobs[i].logprob);
        printf("]");
    }
    printf(",\"finish_reason\":\"%s\",\"prompt_tokens\":%zu,\"completion_tokens\":%d,"
           "\"timings\":{\"prefill_ms\":%.3f,\"decode_ms\":%.3f,\"prefill_tok_s\":%.2f,"
           "\"decode_tok_s\":%.2f",
           answer->finish, run->input.n, answer->n, answer->prefill_ms, answer->decode_ms,
           glint_per_second((double)run->input.n, answer->prefill_ms),
           glint_per_second(answer->n, answer->decode_ms));
    if (glint_engine_info(run->engine).draft_path)
        printf(",\"draft\":{\"proposed\":%lld,\"accepted\":%lld,\"rounds\":%lld}",
               (long long)answer->draft.n_proposed, (long long)answer->draft.n_accepted,
               (long long)answer->draft.n_round);
    printf("}}\n");
}

static int finish(struct run *run) {
    const struct glint_answer *answer = &run->answer;
    if (run->json)
        print_json(run);
    fflush(stdout);
    bool demands = run->how.options.schema.data || run->how.options.json_object;
    if (demands && strcmp(answer->finish, "length") == 0)
        fprintf(stderr,
                "glint run: the answer is cut at the limit of %s, so its JSON is not whole\n",
                answer->n == run->how.options.n_predict ? "-n" : "the context (-c)");
    if (!run->args.quiet) {
        char drafted[100];
        glint_answer_print_draft(answer, drafted, sizeof drafted);
        fprintf(stderr, "%zu tokens read at %.1f tok/s, %d written at %.1f tok/s%s%s (%s)\n",
                run->input.n, glint_per_second((double)run->input.n, answer->prefill_ms), answer->n,
                glint_per_second(answer->n, answer->decode_ms), drafted[0] ? ", " : "", drafted,
                answer->finish);
    }
    return GLINT_EXIT_OK;
}

int glint_cmd_run(int argc, char **argv) {
    static struct run run; // large, and the engine keeps a pointer into it
    int result = GLINT_EXIT_FAILED;
    struct glint_error error = {0};
    memset(&run, 0, sizeof run);
    glint_answer_args_init(&run.how);
    glint_engine_args_init(&run.args);
    run.args.seek_draft = true;
    glint_album_init(&run.album, &run.args);
    if (!parse(&run, argc, argv, &result))
        return result;
    if (read_files(&run, &result)) {
        result = GLINT_EXIT_FAILED;
        run.engine = glint_engine_args_open(&run.args, &command);
    }
    if (run.engine && read_prompt(&run))
        result = answer(&run, &error) == GLINT_OK ? finish(&run) : glint_report(&command, &error);
    glint_session_close(&run.session);
    glint_album_fini(&run.album);
    glint_engine_close(&run.engine);
    glint_answer_fini(&run.answer);
    glint_kept_turn_fini(&run.kept);
    if (run.prompt_ids)
        free(run.input.data); // ours, not the library's
    else
        glint_ids_free(&run.input);
    glint_answer_args_fini(&run.how);
    free(run.file_text);
    return result;
}
