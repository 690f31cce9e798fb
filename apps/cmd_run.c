// SPDX-License-Identifier: Apache-2.0
// cmd_run.c — `glint run`: one prompt in, one answer out. The answer alone goes to stdout.
#include "cmd.h"
#include "engine_args.h"
#include "interrupt.h"
#include "json_out.h"
#include "options.h"
#include "run_chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_SYSTEM = 100,
    OPT_EFFORT,
    OPT_TOOLS,
};
enum {
    OPT_PROMPT = 1,
    OPT_FILE,
    OPT_PROMPT_IDS,
    OPT_N,
    OPT_RAW,
    OPT_IDS,
    OPT_IGNORE_EOS,
    OPT_JSON
};

static const struct glint_option options[] = {
    {OPT_PROMPT, {"p", "prompt"}, "TEXT", "the prompt"},
    {OPT_FILE, {"f", "file"}, "FILE", "the prompt from a file; - is standard input"},
    {OPT_PROMPT_IDS, {"prompt-ids"}, "LIST", "the prompt as token ids: 1,2,3 or @FILE"},
    {OPT_N, {"n", "predict"}, "N", "stop after N tokens (default: when the model stops)"},
    {OPT_RAW, {"raw"}, NULL, "continue the text as it is, without the chat template"},
    {OPT_SYSTEM, {"sys", "system"}, "TEXT", "system message (default: the template's own)"},
    {OPT_EFFORT, {"effort"}, "LEVEL", "reasoning: low, medium, high or xhigh"},
    {OPT_TOOLS, {"tools"}, "FILE", "JSON array of tools the model may call"},
    {OPT_IDS, {"ids"}, NULL, "print the new token ids, one a line, instead of text"},
    {OPT_IGNORE_EOS, {"ignore-eos"}, NULL, "go on after a stop token"},
    {OPT_JSON, {"json"}, NULL, "print one JSON object"},
    GLINT_ENGINE_OPTIONS,
    GLINT_SAMPLING_OPTIONS,
    {0},
};

static const struct glint_command command = {
    "run",
    "-m MODEL -p TEXT | -f FILE | --prompt-ids LIST [-n N] [--ids] [--json]",
    "Answers one prompt.",
    options,
};

struct run {
    struct glint_engine_args args;
    const char *prompt, *file, *prompt_ids;
    int64_t n_predict; // -1: no limit
    bool raw, ids, ignore_eos, json;
    bool use_chat; // the chat template in front, the dialect taken apart behind
    struct glint_run_chat chat;
    struct glint_ids input;
    struct glint_engine *engine;
    struct glint_session *session;
    // results
    int32_t *output;
    int n_output, n_capacity;
    char *text; // with --json
    size_t n_text;
    struct glint_logprob *logprobs; // [n_output]
    const char *finish;
    double prefill_ms, decode_ms;
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
        case OPT_N:
            ok = glint_options_int(&state, -1, INT32_MAX, &run->n_predict);
            break;
        case OPT_RAW:
            run->raw = true;
            break;
        case OPT_IDS:
            run->ids = true;
            break;
        case OPT_IGNORE_EOS:
            run->ignore_eos = true;
            break;
        case OPT_JSON:
            run->json = true;
            break;
        case OPT_SYSTEM:
            run->chat.system = state.value;
            break;
        case OPT_EFFORT:
            run->chat.effort = state.value;
            break;
        case OPT_TOOLS:
            run->chat.tools_path = state.value;
            break;
        default:
            ok = glint_engine_args_take(&run->args, &state, id);
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
    if (!run->args.params.model_path || sources != 1) {
        *result =
            glint_options_usage(&command, "needs -m MODEL and one of -p, -f and --prompt-ids");
        return false;
    }
    run->use_chat = !run->raw && !run->prompt_ids;
    run->chat.keep = run->json || run->ids;
    run->chat.quiet = run->args.quiet;
    return true;
}

// The prompt's ids into run->input. False after printing.
static bool read_prompt(struct run *run, int *result) {
    *result = GLINT_EXIT_FAILED;
    if (run->prompt_ids) {
        int n;
        *result = GLINT_EXIT_USAGE;
        if (!glint_parse_ids(&command, run->prompt_ids, &run->input.data, &n))
            return false;
        run->input.n = (size_t)n;
        return true;
    }
    size_t n = run->prompt ? strlen(run->prompt) : 0;
    char *owned = run->file ? glint_read_file(&command, run->file, &n) : NULL;
    if (run->file && !owned)
        return false;
    const char *words = owned ? owned : run->prompt;
    struct glint_text text = {.data = words, .n = n, .add_bos = true};
    struct glint_ids ids = {0};
    struct glint_error error = {0};
    enum glint_status status =
        run->use_chat ? glint_run_chat_prompt(&run->chat, &command, run->engine,
                                              (struct glint_json_text){words, n}, &ids, &error)
                      : glint_tokenize(run->engine, &text, &ids, &error);
    bool ok = status == GLINT_OK;
    free(owned);
    run->input.data = ok ? malloc((ids.n + 1) * sizeof(int32_t)) : NULL;
    if (run->input.data) {
        memcpy(run->input.data, ids.data, ids.n * sizeof(int32_t));
        run->input.n = ids.n;
    } else {
        glint_report(&command, &error);
    }
    glint_ids_free(&ids);
    return run->input.data != NULL;
}

static bool keep_id(struct run *run, const struct glint_sample *sample) {
    if (run->n_output == run->n_capacity) {
        int capacity = run->n_capacity ? 2 * run->n_capacity : 256;
        int32_t *ids = realloc(run->output, (size_t)capacity * sizeof *ids);
        if (ids)
            run->output = ids;
        struct glint_logprob *logprobs =
            realloc(run->logprobs, (size_t)capacity * sizeof *logprobs);
        if (logprobs)
            run->logprobs = logprobs;
        if (!ids || !logprobs)
            return false;
        run->n_capacity = capacity;
    }
    run->output[run->n_output] = sample->id;
    run->logprobs[run->n_output++] = (struct glint_logprob){sample->id, sample->logprob};
    return true;
}

static bool emit(struct run *run, const char *text, size_t n) {
    if (!text)
        return false;
    if (run->json) {
        char *grown = realloc(run->text, run->n_text + n + 1);
        if (!grown)
            return false;
        run->text = grown;
        memcpy(grown + run->n_text, text, n);
        run->n_text += n;
        grown[run->n_text] = 0;
        return true;
    }
    if (!run->ids && n > 0) {
        fwrite(text, 1, n, stdout);
        fflush(stdout);
    }
    return true;
}

// Shows or keeps one drawn token; *done when the answer is complete.
static enum glint_status take(struct run *run, struct glint_detokenizer *detokenizer,
                              const struct glint_sample *sample, bool *done,
                              struct glint_error *error) {
    size_t n = 0;
    const char *text = "";
    *done = !run->ignore_eos && glint_is_stop(run->engine, sample->id);
    if (*done)
        run->finish = "stop";
    if (run->use_chat) {
        bool over;
        enum glint_status status = glint_run_chat_put(&run->chat, sample->id, &over, error);
        if (status != GLINT_OK)
            return status;
        *done = *done || (over && !run->ignore_eos);
    } else if (!*done) {
        text = glint_detokenizer_push(detokenizer, sample->id, &n);
    }
    if (!keep_id(run, sample) || !emit(run, text, n)) {
        snprintf(error->text, sizeof error->text, "out of memory");
        return GLINT_E_NOMEM;
    }
    if (run->ids && !run->json) {
        printf("%d\n", sample->id);
        fflush(stdout);
    }
    return GLINT_OK;
}

// Draws and evaluates until a stop, a limit or Ctrl-C.
static enum glint_status generate(struct run *run, struct glint_detokenizer *detokenizer,
                                  struct glint_error *error) {
    int n_context = glint_engine_info(run->engine).n_context;
    bool done = run->n_predict == 0;
    run->finish = "length";
    while (!done) {
        struct glint_sample sample;
        enum glint_status status = glint_session_sample(run->session, &sample, error);
        if (status == GLINT_OK)
            status = take(run, detokenizer, &sample, &done, error);
        if (status != GLINT_OK)
            return status;
        if (done || run->n_output == run->n_predict ||
            glint_session_length(run->session) == n_context)
            break;
        if (glint_interrupt_seen()) {
            run->finish = "interrupt";
            break;
        }
        status = glint_engine_decode(run->engine, &run->session, &sample.id, 1, error);
        if (status != GLINT_OK)
            return status;
    }
    if (run->use_chat) {
        enum glint_status status = glint_run_chat_end(&run->chat, !done, error);
        if (run->chat.finish && strcmp(run->finish, "interrupt") != 0)
            run->finish = run->chat.finish;
        return status;
    }
    size_t n;
    const char *rest = glint_detokenizer_flush(detokenizer, &n);
    return emit(run, rest, n) ? GLINT_OK : GLINT_E_NOMEM;
}

static enum glint_status answer(struct run *run, struct glint_error *error) {
    struct glint_detokenizer *detokenizer = NULL;
    double start = glint_now_ms();
    enum glint_status status = glint_session_open(&run->session, run->engine, error);
    if (status == GLINT_OK)
        status = glint_session_set_sampler(run->session, &run->args.sampling, error);
    if (status == GLINT_OK)
        status = glint_session_sync(run->session, run->input.data, (int)run->input.n, NULL, error);
    double begun = glint_now_ms();
    run->prefill_ms = begun - start;
    if (status == GLINT_OK)
        status = glint_detokenizer_open(&detokenizer, run->engine, error);
    if (status == GLINT_OK && run->use_chat)
        status = glint_run_chat_begin(&run->chat, run->engine, error);
    if (status == GLINT_OK)
        status = generate(run, detokenizer, error);
    run->decode_ms = glint_now_ms() - begun;
    glint_detokenizer_close(&detokenizer);
    return status;
}

static double per_second(double n, double ms) {
    return ms > 0 ? n * 1e3 / ms : 0;
}

static void print_json(const struct run *run) {
    printf("{");
    if (run->use_chat) {
        glint_run_chat_print(&run->chat);
    } else {
        printf("\"text\":");
        glint_json_out_string(stdout, run->text ? run->text : "", run->n_text);
    }
    printf(",\"ids\":[");
    for (int i = 0; i < run->n_output; i++)
        printf("%s%d", i ? "," : "", run->output[i]);
    printf("]");
    if (run->args.sampling.logprobs) {
        printf(",\"logprobs\":[");
        for (int i = 0; i < run->n_output; i++)
            printf("%s%.6f", i ? "," : "", (double)run->logprobs[i].logprob);
        printf("]");
    }
    printf(",\"finish_reason\":\"%s\",\"prompt_tokens\":%zu,\"completion_tokens\":%d,"
           "\"timings\":{\"prefill_ms\":%.3f,\"decode_ms\":%.3f,\"prefill_tok_s\":%.2f,"
           "\"decode_tok_s\":%.2f}}\n",
           run->finish, run->input.n, run->n_output, run->prefill_ms, run->decode_ms,
           per_second((double)run->input.n, run->prefill_ms),
           per_second(run->n_output, run->decode_ms));
}

static int finish(struct run *run) {
    if (run->json) {
        print_json(run);
    } else if (!run->ids && !run->use_chat && run->n_output > 0) {
        printf("\n");
    }
    fflush(stdout);
    if (!run->args.quiet)
        fprintf(stderr, "%zu tokens read at %.1f tok/s, %d written at %.1f tok/s (%s)\n",
                run->input.n, per_second((double)run->input.n, run->prefill_ms), run->n_output,
                per_second(run->n_output, run->decode_ms), run->finish);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "glint run: cannot write to standard output\n");
        return GLINT_EXIT_FAILED;
    }
    return GLINT_EXIT_OK;
}

int glint_cmd_run(int argc, char **argv) {
    static struct run run; // large, and the engine keeps a pointer into it
    int result = GLINT_EXIT_FAILED;
    struct glint_error error = {0};
    run = (struct run){.n_predict = -1};
    glint_engine_args_init(&run.args);
    if (!parse(&run, argc, argv, &result))
        return result;
    run.engine = glint_engine_args_open(&run.args, &command);
    if (!run.engine)
        return GLINT_EXIT_FAILED;
    if (read_prompt(&run, &result))
        result = answer(&run, &error) == GLINT_OK ? finish(&run) : glint_report(&command, &error);
    glint_session_close(&run.session);
    glint_engine_close(&run.engine);
    glint_run_chat_fini(&run.chat);
    free(run.input.data);
    free(run.output);
    free(run.logprobs);
    free(run.text);
    return result;
}
