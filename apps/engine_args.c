// SPDX-License-Identifier: Apache-2.0
// engine_args.c — shared flags to engine and sampling parameters, and opening the engine.
#include "engine_args.h"

#include "default_model.h"
#include "interrupt.h"
#include "progress.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DRAFT = 15 }; // the model's drafter guesses blocks of 16; its file may say less

static void say(void *user, enum glint_log_kind kind, const char *text) {
    const struct glint_engine_args *args = user;
    static const char *const word[] = {"error: ", "warning: ", "", ""};
    bool show = kind == GLINT_SAY_ERROR || (kind == GLINT_SAY_WARN && !args->quiet) ||
                (kind == GLINT_SAY_INFO && !args->quiet) || args->verbose;
    if (show)
        fprintf(stderr, "%s%s\n", word[kind], text);
}

static bool cancelled(void *user) {
    (void)user;
    return glint_interrupt_seen();
}

static void progress(void *user, int done, int total) {
    struct glint_engine_args *args = user;
    if (!args->reading) {
        glint_progress_begin(&args->progress, "reading the prompt", (uint64_t)total, args->quiet);
        args->progress.tokens = true;
        args->reading = true;
    }
    glint_progress_step(&args->progress, (uint64_t)done);
    if (done == total) {
        glint_progress_end(&args->progress, true);
        args->reading = false;
    }
}

void glint_engine_args_init(struct glint_engine_args *args) {
    *args = (struct glint_engine_args){.params = glint_engine_params_default(),
                                       .sampling = glint_sampler_defaults()};
    args->params.say = say;
    args->params.cancel = cancelled;
    args->params.progress = progress;
    args->params.user = args;
    args->sampling.bias = args->bias;
}

static bool take_bias(struct glint_engine_args *args, const struct glint_options *state) {
    char *end;
    errno = 0;
    long id = strtol(state->value, &end, 10);
    bool ok = end != state->value && *end == '=' && errno == 0 && id >= 0 && id <= INT32_MAX;
    const char *text = ok ? end + 1 : state->value;
    double bias = ok ? strtod(text, &end) : 0;
    ok = ok && end != text && *end == 0 && !isnan(bias) && bias != HUGE_VAL;
    if (!ok || args->sampling.n_bias == GLINT_ARGS_MAX_BIAS) {
        glint_options_usage(state->command,
                            "--logit-bias: found \"%s\", expected ID=BIAS (at most %d of them)",
                            state->value, GLINT_ARGS_MAX_BIAS);
        return false;
    }
    args->bias[args->sampling.n_bias++] = (struct glint_logit_bias){(int32_t)id, (float)bias};
    return true;
}

static bool take_float(const struct glint_options *state, double min, double max, float *out) {
    double value;
    if (!glint_options_double(state, min, max, &value))
        return false;
    *out = (float)value;
    return true;
}

static bool take_sampling(struct glint_engine_args *args, const struct glint_options *state,
                          int id) {
    struct glint_sampler_options *sampling = &args->sampling;
    int64_t value;
    switch (id) {
    case GLINT_ARG_TEMP:
        return take_float(state, 0, 100, &sampling->temperature);
    case GLINT_ARG_TOP_K:
        return glint_options_int32(state, 0, INT_MAX, &sampling->top_k);
    case GLINT_ARG_TOP_P:
        return take_float(state, 0, 1, &sampling->top_p);
    case GLINT_ARG_MIN_P:
        return take_float(state, 0, 1, &sampling->min_p);
    case GLINT_ARG_SEED:
        if (!glint_options_int(state, 0, INT64_MAX, &value))
            return false;
        sampling->seed = (uint64_t)value;
        args->seed_given = true;
        return true;
    case GLINT_ARG_REPEAT:
        return take_float(state, 1e-3, 1e3, &sampling->repeat_penalty);
    case GLINT_ARG_PRESENCE:
        return take_float(state, -100, 100, &sampling->presence_penalty);
    case GLINT_ARG_FREQUENCY:
        return take_float(state, -100, 100, &sampling->frequency_penalty);
    case GLINT_ARG_LAST_N:
        return glint_options_int32(state, 0, 1 << 24, &sampling->repeat_last_n);
    case GLINT_ARG_BIAS:
        return take_bias(args, state);
    default:
        sampling->logprobs = true;
        return glint_options_int32(state, 0, GLINT_SAMPLER_MAX_TOP, &sampling->n_logprobs);
    }
}

bool glint_engine_args_take(struct glint_engine_args *args, const struct glint_options *state,
                            int id) {
    struct glint_engine_params *params = &args->params;
    switch (id) {
    case GLINT_ARG_MODEL:
        params->model_path = state->value;
        return true;
    case GLINT_ARG_CONTEXT:
        return glint_options_int32(state, 0, 1 << 24, &params->n_context);
    case GLINT_ARG_THREADS:
        return glint_options_int32(state, 1, 1024, &params->n_threads);
    case GLINT_ARG_DEVICE:
        params->device = state->value;
        return true;
    case GLINT_ARG_TIER:
        params->cpu_tier = state->value;
        return true;
    case GLINT_ARG_CACHE_K:
        params->cache_type_k = state->value;
        return true;
    case GLINT_ARG_CACHE_V:
        params->cache_type_v = state->value;
        return true;
    case GLINT_ARG_EXACT:
        params->exact_activations = true;
        return true;
    case GLINT_ARG_NO_CHECK:
        params->no_memory_check = true;
        return true;
    case GLINT_ARG_VERBOSE:
        args->verbose = true;
        return true;
    case GLINT_ARG_QUIET:
        args->quiet = true;
        return true;
    case GLINT_ARG_DRAFT:
        params->draft_path = state->value;
        args->seek_draft = false;
        return true;
    case GLINT_ARG_NO_DRAFT:
        params->draft_path = NULL;
        args->seek_draft = false;
        return true;
    case GLINT_ARG_DRAFT_MAX:
        return glint_options_int32(state, 0, MAX_DRAFT, &params->n_draft);
    default:
        return take_sampling(args, state, id);
    }
}

int glint_report(const struct glint_command *command, const struct glint_error *error) {
    fprintf(stderr, "glint %s: %s\n", command->name, error->text);
    return GLINT_EXIT_FAILED;
}

// The model that ships with glint, and a word about it.
static bool use_default_model(struct glint_engine_args *args, const struct glint_command *command) {
    if (!glint_default_file("glimmer-mini.gguf", args->model_path, sizeof args->model_path)) {
        glint_options_usage(command, "glimmer-mini.gguf, which ships with glint, was not found; "
                                     "name a model with -m FILE");
        return false;
    }
    args->params.model_path = args->model_path;
    if (!args->quiet)
        fprintf(stderr, "model: glimmer-mini, the small one that ships with glint; -m FILE takes "
                        "another\n");
    return true;
}

// MODEL-draft.gguf for MODEL.gguf or MODEL-00001-of-00002.gguf, if it is there.
static void seek_draft(struct glint_engine_args *args) {
    const char *model = args->params.model_path;
    size_t n = strlen(model);
    if (n < 5 || strcmp(model + n - 5, ".gguf") != 0)
        return;
    n -= 5;
    int i, count, end = 0;
    if (n > 15 && sscanf(model + n - 15, "-%5d-of-%5d%n", &i, &count, &end) == 2 && end == 15)
        n -= 15;
    int length =
        snprintf(args->draft_path, sizeof args->draft_path, "%.*s-draft.gguf", (int)n, model);
    if (length < (int)sizeof args->draft_path && access(args->draft_path, R_OK) == 0)
        args->params.draft_path = args->draft_path;
}

bool glint_engine_args_model(struct glint_engine_args *args, const struct glint_command *command) {
    if (!args->params.model_path && !use_default_model(args, command))
        return false;
    if (args->seek_draft)
        seek_draft(args);
    return true;
}

// After a model that cannot be opened: what the person may not know.
static void say_what_helps(const struct glint_engine_args *args, const struct glint_error *error) {
    static const char weights[] = ".safetensors";
    const char *path = args->params.model_path;
    size_t n = strlen(path), n_weights = sizeof weights - 1;
    struct stat info;
    if (args->params.draft_path && args->params.draft_path == args->draft_path &&
        (error->status == GLINT_E_NOMEM || strstr(error->text, args->draft_path)))
        fprintf(stderr, "The drafter %s was found beside the model; --no-draft does without\n",
                args->draft_path);
    if ((stat(path, &info) == 0 && S_ISDIR(info.st_mode)) ||
        (n > n_weights && strcmp(path + n - n_weights, weights) == 0))
        fprintf(stderr, "Models are GGUF files; glint convert makes one from the folder of an "
                        "official checkpoint\n");
}

struct glint_engine *glint_engine_args_open(struct glint_engine_args *args,
                                            const struct glint_command *command) {
    struct glint_error error = {0};
    struct glint_engine *engine = NULL;
    if (!args->seed_given)
        args->sampling.seed = (uint64_t)time(NULL);
    glint_interrupt_watch();
    if (!glint_engine_args_model(args, command))
        return NULL;
    if (glint_engine_open(&engine, &args->params, &error) != GLINT_OK) {
        glint_report(command, &error);
        say_what_helps(args, &error);
    }
    return engine;
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

FILE *glint_open_result(const struct glint_command *command, const char *path,
                        const char *model_path) {
    if (same_file(path, model_path)) {
        fprintf(stderr, "glint %s: %s: is the model, expected another file for the result\n",
                command->name, path);
        return NULL;
    }
    FILE *file = fopen(path, "wb");
    if (!file)
        fprintf(stderr, "glint %s: %s: cannot write: %s\n", command->name, path, strerror(errno));
    return file;
}

void glint_remove_result(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode))
        remove(path);
}

enum { MAX_TEXT_BYTES = 1 << 28 };

// For free(), with a place for the end, or NULL with the reason in *what.
static char *read_all(FILE *file, size_t *n, const char **what) {
    size_t capacity = 1 << 16, used = 0;
    char *data = malloc(capacity + 1);
    *what = "out of memory";
    while (data) {
        used += fread(data + used, 1, capacity - used, file);
        if (used < capacity)
            break;
        capacity *= 2;
        char *grown = capacity <= MAX_TEXT_BYTES ? realloc(data, capacity + 1) : NULL;
        if (!grown)
            free(data);
        if (capacity > MAX_TEXT_BYTES)
            *what = "found 256 MiB or more of text";
        data = grown;
    }
    if (data && ferror(file)) {
        *what = errno == EISDIR ? "expected a file, found a folder" : "cannot read";
        free(data);
        return NULL;
    }
    *n = used;
    return data;
}

char *glint_read_text(const char *path, size_t *n, struct glint_error *error) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    const char *what = "";
    *error = (struct glint_error){.status = GLINT_E_IO};
    if (!file) {
        snprintf(error->text, sizeof error->text, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    char *data = read_all(file, n, &what);
    if (file != stdin)
        fclose(file);
    if (data)
        data[*n] = 0;
    else
        snprintf(error->text, sizeof error->text, "%s: %s", path, what);
    return data;
}

char *glint_read_file(const struct glint_command *command, const char *path, size_t *n) {
    struct glint_error error;
    char *data = glint_read_text(path, n, &error);
    if (!data)
        glint_report(command, &error);
    return data;
}

bool glint_parse_ids(const struct glint_command *command, const char *text, int32_t **ids, int *n) {
    char *file = NULL;
    size_t bytes = strlen(text);
    if (text[0] == '@') {
        file = glint_read_file(command, text + 1, &bytes);
        if (!file)
            return false;
        text = file;
    }
    int32_t *list = malloc((bytes / 2 + 1) * sizeof *list); // an id takes two bytes at least
    int count = 0;
    const char *at = text;
    bool ok = list != NULL;
    while (ok) {
        while (*at == ',' || isspace((unsigned char)*at))
            at++;
        if (at == text + bytes)
            break;
        char *end;
        errno = 0;
        long value = strtol(at, &end, 10);
        ok = end != at && errno == 0 && value >= 0 && value <= INT32_MAX &&
             (*end == 0 || *end == ',' || isspace((unsigned char)*end));
        if (ok)
            list[count++] = (int32_t)value;
        else
            glint_options_usage(command, "token id %d: found \"%.20s\", expected a number", count,
                                at);
        at = end;
    }
    free(file);
    if (ok && count == 0) {
        glint_options_usage(command, "the list of token ids is empty");
        ok = false;
    }
    if (!ok) {
        free(list);
        return false;
    }
    *ids = list;
    *n = count;
    return true;
}
