// SPDX-License-Identifier: Apache-2.0
// cmd_quantize.c — `glint quantize`: a GGUF file with smaller weights.
#include "cmd.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"
#include "quantize_run.h"

#include "base/clock.h"
#include "base/pool.h"
#include "format/gguf_types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPT_IMATRIX = 1, OPT_TENSOR, OPT_REQUANTIZE, OPT_THREADS, OPT_QUIET };

static const struct glint_option options[] = {
    {OPT_IMATRIX, {"imatrix"}, "FILE", "importance of each input of a matrix (glint imatrix)"},
    {OPT_TENSOR,
     {"tensor"},
     "PATTERN=TYPE",
     "another type for the matrices whose names match; * and ? are wild;\n"
     "may be given again, a later one wins"},
    {OPT_REQUANTIZE, {"allow-requantize"}, NULL, "accept matrices that are quantized already"},
    {OPT_THREADS, {"t", "threads"}, "N", "threads (default: all CPUs)"},
    {OPT_QUIET, {"q", "quiet"}, NULL, "no progress, no summary"},
    {0},
};

static const struct glint_command command = {
    "quantize",
    "IN.gguf OUT.gguf MIX [--imatrix FILE] [--tensor PATTERN=TYPE]...",
    "Writes a copy of a GGUF file with its matrices in smaller types. MIX is a recipe\n"
    "(kquant-17gb, kquant-dynamic, q4_k_m) or one type for all (q8_0, q6_k, q5_k, q4_k, q3_k,\n"
    "q2_k, q5_1, q5_0, q4_1, q4_0, bf16, f16, f32). Vectors stay float32.",
    options,
};

// PATTERN=TYPE into the next rule; the pattern is cut at its `=` in place.
static bool add_rule(struct glint_quantize *order, char *text) {
    char *equals = strrchr(text, '=');
    const struct glint_dtype_info *info = equals ? glint_dtype_by_name(equals + 1) : NULL;
    if (equals == NULL || equals == text) {
        glint_options_usage(&command, "--tensor: found \"%s\", expected PATTERN=TYPE", text);
        return false;
    }
    if (info == NULL) {
        glint_options_usage(&command, "--tensor: found type \"%s\", expected one such as q8_0",
                            equals + 1);
        return false;
    }
    if (order->n_rules == GLINT_QUANTIZE_MAX_RULES) {
        glint_options_usage(&command, "--tensor: given more than %d times",
                            GLINT_QUANTIZE_MAX_RULES);
        return false;
    }
    *equals = '\0';
    order->rules[order->n_rules++] = (struct glint_quantize_rule){text, info->dtype};
    return true;
}

// Fills order; *go tells whether there is work, else the result is the status to leave with.
static int parse(int argc, char **argv, struct glint_quantize *order, bool *quiet, bool *go) {
    struct glint_options state;
    int64_t n_threads = 0;
    int id;
    glint_options_init(&state, &command, argc, argv);
    state.max_operands = 3;
    while ((id = glint_options_next(&state)) > 0) {
        if (id == OPT_IMATRIX)
            order->imatrix_path = state.value;
        else if (id == OPT_TENSOR && !add_rule(order, (char *)state.value))
            return GLINT_EXIT_USAGE;
        else if (id == OPT_REQUANTIZE)
            order->allow_requantize = true;
        else if (id == OPT_THREADS && !glint_options_int(&state, 1, 256, &n_threads))
            return GLINT_EXIT_USAGE;
        else if (id == OPT_QUIET)
            *quiet = true;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (state.argc != 3)
        return glint_options_usage(&command, "found %d operands, expected IN.gguf OUT.gguf MIX",
                                   state.argc);
    order->input = state.argv[0];
    order->output = state.argv[1];
    order->n_threads = n_threads > 0 ? (int)n_threads : glint_cpu_count();
    if (!glint_quantize_recipe_find(state.argv[2], &order->recipe))
        return glint_options_usage(&command, "MIX: found \"%s\", expected %s or a type's name",
                                   state.argv[2], glint_quantize_recipe_names);
    *go = true;
    return GLINT_EXIT_OK;
}

static void print_summary(const struct glint_quantize *order,
                          const struct glint_quantize_report *report, double began_ms) {
    fprintf(stderr, "%s: %.1f MB to %.1f MB in %.1f s; tensors:", order->output,
            (double)report->bytes_in * 1e-6, (double)report->bytes_out * 1e-6,
            (glint_clock_ms() - began_ms) * 1e-3);
    for (uint32_t type = 0; type < sizeof report->n_of_type / sizeof report->n_of_type[0]; type++) {
        if (report->n_of_type[type] > 0)
            fprintf(stderr, " %d %s", report->n_of_type[type], glint_dtype_public_name(type));
    }
    fprintf(stderr, "\n");
    if (report->n_unweighted > 0)
        fprintf(stderr, "%s: nothing for %d of the quantized matrices (%s)\n", order->imatrix_path,
                report->n_unweighted, report->an_unweighted);
}

// Passed to the work: the bar, begun when the total is known.
struct watch {
    struct glint_progress progress;
    const char *output;
    bool quiet, begun;
};

static bool step(void *user, uint64_t done, uint64_t total) {
    struct watch *watch = user;
    if (!watch->begun)
        glint_progress_begin(&watch->progress, watch->output, total, watch->quiet);
    watch->begun = true;
    glint_progress_step(&watch->progress, done);
    return !glint_interrupt_seen();
}

int glint_cmd_quantize(int argc, char **argv) {
    struct watch watch = {.begun = false};
    struct glint_quantize order = {.progress = step, .user = &watch};
    struct glint_quantize_report report;
    struct glint_error err = {.status = GLINT_OK};
    bool go = false;
    int exit_status = parse(argc, argv, &order, &watch.quiet, &go);
    if (!go)
        return exit_status;
    watch.output = order.output;
    double began_ms = glint_clock_ms();
    glint_interrupt_watch();
    enum glint_status status = glint_quantize_run(&order, &report, &err);
    if (watch.begun)
        glint_progress_end(&watch.progress, false); // the summary says more
    if (status != GLINT_OK)
        fprintf(stderr, "glint quantize: %s\n", err.text);
    else if (!watch.quiet)
        print_summary(&order, &report, began_ms);
    return status == GLINT_OK ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}
