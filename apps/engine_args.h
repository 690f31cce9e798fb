// SPDX-License-Identifier: Apache-2.0
// engine_args.h — the flags that every command with a model shares, and the sampling flags.
// A command puts the rows into its option table and offers each id it does not know itself.
#ifndef GLINT_APPS_ENGINE_ARGS_H
#define GLINT_APPS_ENGINE_ARGS_H

#include "options.h"
#include "progress.h"

#include <glint/glint.h>
#include <stdio.h>

enum {
    GLINT_ARG_MODEL = 1000,
    GLINT_ARG_CONTEXT,
    GLINT_ARG_THREADS,
    GLINT_ARG_DEVICE,
    GLINT_ARG_TIER,
    GLINT_ARG_CACHE_K,
    GLINT_ARG_CACHE_V,
    GLINT_ARG_EXACT,
    GLINT_ARG_NO_CHECK,
    GLINT_ARG_VERBOSE,
    GLINT_ARG_QUIET,
    GLINT_ARG_TEMP,
    GLINT_ARG_TOP_K,
    GLINT_ARG_TOP_P,
    GLINT_ARG_MIN_P,
    GLINT_ARG_SEED,
    GLINT_ARG_REPEAT,
    GLINT_ARG_PRESENCE,
    GLINT_ARG_FREQUENCY,
    GLINT_ARG_LAST_N,
    GLINT_ARG_BIAS,
    GLINT_ARG_LOGPROBS,
    GLINT_ARG_DRAFT,
    GLINT_ARG_NO_DRAFT,
    GLINT_ARG_DRAFT_MAX,
};

#define GLINT_ENGINE_OPTIONS                                                                       \
    {GLINT_ARG_MODEL,                                                                              \
     {"m", "model"},                                                                               \
     "FILE",                                                                                       \
     "GGUF file, any shard of a split one (default: the small\nmodel that ships with glint)"},     \
        {GLINT_ARG_CONTEXT,                                                                        \
         {"c", "ctx-size"},                                                                        \
         "N",                                                                                      \
         "tokens of context (default: the model's, less if\nmemory is short)"},                    \
        {GLINT_ARG_THREADS, {"t", "threads"}, "N", "threads (default: all CPUs)"},                 \
        {GLINT_ARG_DEVICE, {"device"}, "NAME", "cpu (default), cuda, cuda:N, auto"},               \
        {GLINT_ARG_TIER, {"cpu-tier"}, "TIER", "force scalar, avx2, avx512, vnni, neon, dotprod"}, \
        {GLINT_ARG_CACHE_K, {"ctk", "cache-type-k"}, "TYPE", "keys as f16 (default), f32, q8_0"},  \
        {GLINT_ARG_CACHE_V,                                                                        \
         {"ctv", "cache-type-v"},                                                                  \
         "TYPE",                                                                                   \
         "values as f16 (default), f32, q8_0"},                                                    \
        {GLINT_ARG_EXACT,                                                                          \
         {"exact-activations"},                                                                    \
         NULL,                                                                                     \
         "float32 activations in every product: slower, closer"},                                  \
        {GLINT_ARG_NO_CHECK, {"no-memory-check"}, NULL, "load even if the plan does not fit"},     \
        {GLINT_ARG_VERBOSE, {"v", "verbose"}, NULL, "say more on stderr"}, {                       \
        GLINT_ARG_QUIET, {"q", "quiet"}, NULL, "say nothing but errors on stderr"                  \
    }

#define GLINT_SAMPLING_OPTIONS                                                                     \
    {GLINT_ARG_TEMP, {"temp", "temperature"}, "T", "temperature (1.0); 0 is greedy"},              \
        {GLINT_ARG_TOP_K, {"top-k"}, "K", "keep the K likeliest tokens (64); 0: off"},             \
        {GLINT_ARG_TOP_P, {"top-p"}, "P", "keep a share P of the probability (0.95); 1: off"},     \
        {GLINT_ARG_MIN_P, {"min-p"}, "P", "drop tokens under P times the best (0: off)"},          \
        {GLINT_ARG_SEED, {"s", "seed"}, "N", "seed of the draws (default: from the clock)"},       \
        {GLINT_ARG_REPEAT, {"repeat-penalty"}, "X", "divide logits of seen tokens (1: off)"},      \
        {GLINT_ARG_PRESENCE, {"presence-penalty"}, "X", "lower logits of seen tokens (0: off)"},   \
        {GLINT_ARG_FREQUENCY, {"frequency-penalty"}, "X", "lower logits by count (0: off)"},       \
        {GLINT_ARG_LAST_N, {"repeat-last-n"}, "N", "tokens the penalties look at (64)"},           \
        {GLINT_ARG_BIAS,                                                                           \
         {"l", "logit-bias"},                                                                      \
         "ID=BIAS",                                                                                \
         "add BIAS to a token's logit; -inf bans"},                                                \
    {                                                                                              \
        GLINT_ARG_LOGPROBS, {"logprobs"}, "N", "report log-probabilities of the N best"            \
    }

#define GLINT_DRAFT_OPTIONS                                                                        \
    {GLINT_ARG_DRAFT,                                                                              \
     {"md", "model-draft"},                                                                        \
     "FILE",                                                                                       \
     "drafter of this model (default: MODEL-draft.gguf beside it,\nif there is one)"},             \
        {GLINT_ARG_NO_DRAFT, {"no-draft"}, NULL, "no drafter"}, {                                  \
        GLINT_ARG_DRAFT_MAX, {"draft-max"}, "N",                                                   \
            "tokens tried ahead each round, up to 15 (default: as many as\npay)"                   \
    }

enum { GLINT_ARGS_MAX_BIAS = 256 };

struct glint_engine_args {
    struct glint_engine_params params;
    struct glint_sampler_options sampling;
    struct glint_logit_bias bias[GLINT_ARGS_MAX_BIAS];
    bool seed_given;
    bool verbose, quiet;
    bool seek_draft; // of the command: a drafter beside the model is used
    char draft_path[4096];
    struct glint_progress progress; // of a long prompt
    bool reading;                   // the bar is up
    char model_path[4096];          // of the model that ships with glint, when it is used
};

void glint_engine_args_init(struct glint_engine_args *args);
// Takes option `id` of state. False when it was bad (a message was printed). An id that is not
// in the macros above is a mistake of ours.
bool glint_engine_args_take(struct glint_engine_args *args, const struct glint_options *state,
                            int id);
// Takes the model that ships with glint when none was named. False after printing that it is not
// there.
bool glint_engine_args_model(struct glint_engine_args *args, const struct glint_command *command);
// Opens the engine, on the model that ships with glint when none was named; prints the error
// itself. NULL on failure.
struct glint_engine *glint_engine_args_open(struct glint_engine_args *args,
                                            const struct glint_command *command);
// "glint NAME: text" on stderr; returns GLINT_EXIT_FAILED.
int glint_report(const struct glint_command *command, const struct glint_error *error);

// Parses "1,2,3" (commas or white space), or @FILE with the same inside. False after printing
// what was wrong. Free ids with free().
bool glint_parse_ids(const struct glint_command *command, const char *text, int32_t **ids, int *n);
// Opens a file for a result; NULL after printing. The file of the model, which is mapped, is
// refused: writing would destroy it under the engine.
FILE *glint_open_result(const struct glint_command *command, const char *path,
                        const char *model_path);
// Removes a result that was not finished; devices and pipes are left alone.
void glint_remove_result(const char *path);
// Whole file ("-": standard input) in a block for free(), terminated; NULL with the error filled.
char *glint_read_text(const char *path, size_t *n, struct glint_error *error);
// The same; NULL after printing.
char *glint_read_file(const struct glint_command *command, const char *path, size_t *n);

#endif
