// SPDX-License-Identifier: Apache-2.0
// cmd_bench.c — `glint bench`: prefill and decode speed at growing depth, as medians.
// Decode also gets the bytes a step must read (weights once, cache rows of every stream) and
// that rate as a share of what a plain streaming read of this machine reaches.
// With a drafter (-md) answers to questions come too, with and without it in turn.
#include "bench_drafted.h"
#include "cmd.h"
#include "engine_args.h"
#include "interrupt.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_P = 1, OPT_N, OPT_D, OPT_NP, OPT_R, OPT_JSON, OPT_PEAK };
enum { MAX_LIST = 32, MAX_REPS = GLINT_BENCH_REPS, MAX_STREAMS = GLINT_BENCH_STREAMS };

static const struct glint_option options[] = {
    {OPT_P, {"p", "n-prompt"}, "LIST", "prefill lengths (512)"},
    {OPT_N, {"n", "n-gen"}, "LIST", "tokens to decode (64)"},
    {OPT_D, {"d", "n-depth"}, "LIST", "tokens held before each test (0)"},
    {OPT_NP, {"np", "parallel"}, "STREAMS", "sequences decoded together (1)"},
    {OPT_R, {"r", "repetitions"}, "REPS", "repetitions of each test (5)"},
    {OPT_JSON, {"json"}, NULL, "print one JSON object"},
    {OPT_PEAK, {"peak"}, NULL, "measure read bandwidth and products a second, and stop"},
    GLINT_ENGINE_OPTIONS,
    {GLINT_ARG_DRAFT, {"md", "model-draft"}, "FILE", "drafter: measure what it gains too"},
    {0},
};

static const struct glint_command command = {
    "bench",
    "[-m MODEL] [-p 512,2048] [-n 64] [-d DEPTH,...] [-np STREAMS] [-md DRAFTER] [-r REPS]",
    "Measures prefill and decode speed; medians, with the spread.",
    options,
};

struct list {
    int n, item[MAX_LIST];
};

struct bench {
    struct glint_engine_args args;
    struct list prefill, decode, depth;
    int n_streams, n_reps;
    bool json, peak_only;
    struct glint_engine *engine;
    struct glint_session *session[MAX_STREAMS];
    struct glint_engine *drafting; // with the drafter; NULL: none was named
    struct glint_session *drafting_session[MAX_STREAMS];
    double peak_gb_s;
    uint32_t random;
    int32_t *ids; // random tokens
    int n_ids;
    int n_printed;
};

static bool parse_list(const struct glint_options *state, int min, struct list *list) {
    list->n = 0;
    for (const char *at = state->value; *at;) {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || value < min || value > (1 << 24) ||
            list->n == MAX_LIST) {
            glint_options_usage(state->command,
                                "--%s: found \"%s\", expected up to %d numbers from %d on, "
                                "separated by commas",
                                state->option->names[0], state->value, MAX_LIST, min);
            return false;
        }
        list->item[list->n++] = (int)value;
        at = *end ? end + 1 : end;
    }
    return true;
}

static int list_max(const struct list *list) {
    int max = 0;
    for (int i = 0; i < list->n; i++)
        max = list->item[i] > max ? list->item[i] : max;
    return max;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct result {
    const char *test;
    int n, depth;
    double rate[MAX_REPS]; // tokens per second
};

static uint64_t step_cache_bytes(const struct glint_engine_info *info, int depth) {
    uint64_t seen = (uint64_t)(depth < info->window ? depth : info->window);
    return info->cache_bytes_per_token * (uint64_t)depth +
           info->cache_bytes_window / (uint64_t)info->window * seen;
}

static void print_result(struct bench *bench, struct result *result) {
    struct glint_engine_info info = glint_engine_info(bench->engine);
    bool decode = strcmp(result->test, "decode") == 0;
    qsort(result->rate, (size_t)bench->n_reps, sizeof(double), compare_doubles);
    double median = result->rate[bench->n_reps / 2];
    double least = result->rate[0], most = result->rate[bench->n_reps - 1];
    int streams = decode ? bench->n_streams : 1;
    double bytes = (double)info.step_bytes +
                   (double)streams * (double)step_cache_bytes(&info, result->depth + result->n / 2);
    double gb_s = bytes * median / streams / 1e9;
    if (bench->json) {
        printf("%s{\"test\":\"%s\",\"n\":%d,\"depth\":%d,\"streams\":%d,\"tok_s\":%.3f,"
               "\"tok_s_min\":%.3f,\"tok_s_max\":%.3f,",
               bench->n_printed ? "," : "", result->test, result->n, result->depth, streams, median,
               least, most);
        if (decode)
            printf("\"gb_s\":%.3f,\"of_peak\":%.4f}", gb_s, gb_s / bench->peak_gb_s);
        else
            printf("\"gb_s\":null,\"of_peak\":null}");
    } else {
        printf("%-8s %7d %8d %8d %10.2f %10.2f %10.2f", result->test, result->n, result->depth,
               streams, median, least, most);
        if (decode)
            printf(" %8.2f %7.1f %% %12.0f", gb_s, 100 * gb_s / bench->peak_gb_s, bytes / streams);
        printf("\n");
    }
    bench->n_printed++;
    fflush(stdout);
}

// Brings a session to `depth` tokens: back if it can, else from the start.
static enum glint_status to_depth(struct bench *bench, struct glint_session *session, int depth,
                                  struct glint_error *error) {
    int held = glint_session_length(session);
    if (held > depth && glint_session_truncate(session, depth, NULL) != GLINT_OK) {
        enum glint_status status = glint_session_truncate(session, 0, error);
        if (status != GLINT_OK)
            return status;
    }
    held = glint_session_length(session);
    if (held >= depth)
        return GLINT_OK;
    struct glint_eval eval = {.ids = bench->ids + held, .n = depth - held};
    return glint_session_eval(session, &eval, error);
}

static enum glint_status bench_prefill(struct bench *bench, int n, int depth,
                                       struct glint_error *error) {
    struct result result = {.test = "prefill", .n = n, .depth = depth};
    for (int r = -1; r < bench->n_reps; r++) { // -1 warms up
        enum glint_status status = to_depth(bench, bench->session[0], depth, error);
        double start = glint_now_ms();
        struct glint_eval eval = {.ids = bench->ids + depth, .n = n};
        if (status == GLINT_OK)
            status = glint_session_eval(bench->session[0], &eval, error);
        if (status != GLINT_OK)
            return status;
        if (r >= 0)
            result.rate[r] = n * 1e3 / (glint_now_ms() - start);
    }
    print_result(bench, &result);
    return GLINT_OK;
}

static enum glint_status bench_decode(struct bench *bench, int n, int depth,
                                      struct glint_error *error) {
    struct result result = {.test = "decode", .n = n, .depth = depth};
    int32_t step[MAX_STREAMS];
    for (int r = 0; r < bench->n_reps; r++) {
        enum glint_status status = GLINT_OK;
        for (int s = 0; s < bench->n_streams && status == GLINT_OK; s++)
            status = to_depth(bench, bench->session[s], depth, error);
        double start = glint_now_ms();
        for (int i = 0; i < n && status == GLINT_OK; i++) {
            if (glint_interrupt_seen()) {
                snprintf(error->text, sizeof error->text, "interrupted");
                return GLINT_E_CANCELLED;
            }
            for (int s = 0; s < bench->n_streams; s++)
                step[s] = bench->ids[(depth + i + 7 * s) % bench->n_ids];
            status =
                glint_engine_decode(bench->engine, bench->session, step, bench->n_streams, error);
        }
        if (status != GLINT_OK)
            return status;
        result.rate[r] = n * 1e3 * bench->n_streams / (glint_now_ms() - start);
    }
    print_result(bench, &result);
    return GLINT_OK;
}

static double median(double *rate, int n) {
    qsort(rate, (size_t)n, sizeof *rate, compare_doubles);
    return rate[n / 2];
}

static void print_drafted(struct bench *bench, const struct glint_bench_drafted *test,
                          struct glint_bench_drafted_result *result) {
    double ratio[MAX_REPS];
    int n = bench->n_reps;
    for (int r = 0; r < n; r++)
        ratio[r] = result->drafted[r] / result->plain[r];
    double plain = median(result->plain, n), drafted = median(result->drafted, n);
    double times = median(ratio, n);
    struct glint_draft_stats stats = result->stats;
    if (bench->json)
        printf("%s{\"test\":\"drafted\",\"n\":%d,\"depth\":%d,\"streams\":%d,\"tok_s\":%.3f,"
               "\"tok_s_min\":%.3f,\"tok_s_max\":%.3f,\"gb_s\":null,\"of_peak\":null,"
               "\"plain_tok_s\":%.3f,\"times_plain\":%.3f,\"draft\":{\"proposed\":%lld,"
               "\"accepted\":%lld,\"rounds\":%lld}}",
               bench->n_printed ? "," : "", test->n, test->depth, test->n_streams, drafted,
               result->drafted[0], result->drafted[n - 1], plain, times,
               (long long)stats.n_proposed, (long long)stats.n_accepted, (long long)stats.n_round);
    else
        printf("%-8s %7d %8d %8d %10.2f %10.2f %10.2f   plain %.2f, ratio %.2f; %lld of %lld "
               "drafted right in %lld rounds\n",
               "drafted", test->n, test->depth, test->n_streams, drafted, result->drafted[0],
               result->drafted[n - 1], plain, times, (long long)stats.n_accepted,
               (long long)stats.n_proposed, (long long)stats.n_round);
    bench->n_printed++;
    fflush(stdout);
}

static enum glint_status bench_drafted(struct bench *bench, int n, int depth,
                                       struct glint_error *error) {
    static struct glint_bench_drafted_result result; // large
    struct glint_bench_drafted test = {.plain = {bench->engine, bench->session},
                                       .drafted = {bench->drafting, bench->drafting_session},
                                       .n_streams = bench->n_streams,
                                       .n = n,
                                       .depth = depth,
                                       .n_reps = bench->n_reps};
    enum glint_status status = glint_bench_drafted(&test, &result, error);
    if (status == GLINT_OK)
        print_drafted(bench, &test, &result);
    for (int s = 0; s < bench->n_streams && status == GLINT_OK; s++)
        status =
            glint_session_truncate(bench->session[s], 0, error); // other tokens than to_depth's
    return status;
}

static enum glint_status run_tests(struct bench *bench, struct glint_error *error) {
    enum glint_status status = GLINT_OK;
    for (int s = 0; s < bench->n_streams && status == GLINT_OK; s++) {
        status = glint_session_open(&bench->session[s], bench->engine, error);
        if (status == GLINT_OK && bench->drafting)
            status = glint_session_open(&bench->drafting_session[s], bench->drafting, error);
    }
    for (int d = 0; d < bench->depth.n && status == GLINT_OK; d++) {
        for (int i = 0; i < bench->prefill.n && status == GLINT_OK; i++)
            status = bench_prefill(bench, bench->prefill.item[i], bench->depth.item[d], error);
        for (int i = 0; i < bench->decode.n && status == GLINT_OK; i++)
            status = bench_decode(bench, bench->decode.item[i], bench->depth.item[d], error);
        for (int i = 0; bench->drafting && i < bench->decode.n && status == GLINT_OK; i++)
            status = bench_drafted(bench, bench->decode.item[i], bench->depth.item[d], error);
    }
    for (int s = 0; s < bench->n_streams; s++) {
        glint_session_close(&bench->session[s]);
        if (bench->drafting)
            glint_session_close(&bench->drafting_session[s]);
    }
    return status;
}

static void print_head(const struct bench *bench) {
    struct glint_engine_info info = glint_engine_info(bench->engine);
    if (bench->json) {
        printf("{\"model\":");
        glint_json_out_string(stdout, info.model_path, strlen(info.model_path));
        printf(",\"device\":\"%s/%s\",\"threads\":%d,\"peak_gb_s\":%.3f,\"results\":[", info.device,
               info.tier, info.n_threads, bench->peak_gb_s);
        return;
    }
    printf("model %s\ndevice %s, tier %s, %d threads; streaming read %.2f GB/s\n", info.model_path,
           info.device, info.tier, info.n_threads, bench->peak_gb_s);
    printf("%-8s %7s %8s %8s %10s %10s %10s %8s %9s %12s\n", "test", "tokens", "depth", "streams",
           "tok/s", "min", "max", "GB/s", "of peak", "bytes/token");
}

static bool parse(struct bench *bench, int argc, char **argv, int *result) {
    struct glint_options state;
    glint_options_init(&state, &command, argc, argv);
    int id;
    while ((id = glint_options_next(&state)) > 0) {
        bool ok = true;
        int64_t value = 0;
        switch (id) {
        case OPT_P:
            ok = parse_list(&state, 0, &bench->prefill);
            break;
        case OPT_N:
            ok = parse_list(&state, 0, &bench->decode);
            break;
        case OPT_D:
            ok = parse_list(&state, 0, &bench->depth);
            break;
        case OPT_NP:
            ok = glint_options_int(&state, 1, MAX_STREAMS, &value);
            bench->n_streams = (int)value;
            break;
        case OPT_R:
            ok = glint_options_int(&state, 1, MAX_REPS, &value);
            bench->n_reps = (int)value;
            break;
        case OPT_JSON:
            bench->json = true;
            break;
        case OPT_PEAK:
            bench->peak_only = true;
            break;
        default:
            ok = glint_engine_args_take(&bench->args, &state, id);
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
    return true;
}

// A zero in a list switches the test off.
static void drop_zeros(struct list *list) {
    int n = 0;
    for (int i = 0; i < list->n; i++)
        if (list->item[i] > 0)
            list->item[n++] = list->item[i];
    list->n = n;
}

static int bench_model(struct bench *bench) {
    struct glint_error error = {0};
    drop_zeros(&bench->prefill);
    drop_zeros(&bench->decode);
    int most = list_max(&bench->prefill);
    most = list_max(&bench->decode) > most ? list_max(&bench->decode) : most;
    int need = list_max(&bench->depth) + most;
    if (bench->args.params.draft_path)
        need += GLINT_BENCH_QUESTION;
    if (bench->args.params.n_context == 0)
        bench->args.params.n_context = need;
    bench->args.params.n_session = bench->n_streams;
    int64_t n_cache = (int64_t)bench->n_streams * (need + 256);
    bench->args.params.n_cache = n_cache < INT_MAX ? (int)n_cache : INT_MAX;
    bench->args.params.progress = NULL;
    if (bench->args.params.draft_path) { // its engine follows every step, so it has one of its own
        bench->drafting = glint_engine_args_open(&bench->args, &command);
        if (!bench->drafting)
            return GLINT_EXIT_FAILED;
        bench->args.params.draft_path = NULL;
    }
    bench->engine = glint_engine_args_open(&bench->args, &command);
    if (!bench->engine) {
        glint_engine_close(&bench->drafting);
        return GLINT_EXIT_FAILED;
    }
    int n_vocab = glint_engine_info(bench->engine).n_vocab;
    bench->n_ids = need + 1;
    bench->ids = malloc((size_t)bench->n_ids * sizeof *bench->ids);
    for (int i = 0; bench->ids && i < bench->n_ids; i++) {
        bench->random = bench->random * 1664525u + 1013904223u;
        bench->ids[i] = (int32_t)((bench->random >> 8) % (uint32_t)n_vocab);
    }
    print_head(bench);
    enum glint_status status = bench->ids ? run_tests(bench, &error) : GLINT_E_NOMEM;
    if (bench->json)
        printf("]}\n");
    glint_engine_close(&bench->engine);
    glint_engine_close(&bench->drafting);
    free(bench->ids);
    return status == GLINT_OK ? GLINT_EXIT_OK : glint_report(&command, &error);
}

static int print_peaks(const struct bench *bench) {
    struct glint_error error = {0};
    double int8, float32;
    if (glint_measure_products(bench->args.params.n_threads, &int8, &float32, &error) != GLINT_OK)
        return glint_report(&command, &error);
    if (bench->json)
        printf("{\"read_gb_s\":%.3f,\"int8_gmac_s\":%.1f,\"float32_gmac_s\":%.1f}\n",
               bench->peak_gb_s, int8, float32);
    else
        printf("streaming read %.3f GB/s\n", bench->peak_gb_s);
    if (!bench->json && int8 > 0)
        printf("int8 products %.1f G/s\nfloat32 products %.1f G/s\n", int8, float32);
    return GLINT_EXIT_OK;
}

int glint_cmd_bench(int argc, char **argv) {
    static struct bench bench; // large, and the engine keeps a pointer into it
    struct glint_error error = {0};
    int result;
    bench = (struct bench){.prefill = {1, {512}},
                           .decode = {1, {64}},
                           .depth = {1, {0}},
                           .n_streams = 1,
                           .n_reps = 5,
                           .random = 1};
    glint_engine_args_init(&bench.args);
    if (!parse(&bench, argc, argv, &result))
        return result;
    if (glint_measure_read_bandwidth(bench.args.params.n_threads, &bench.peak_gb_s, &error) !=
        GLINT_OK)
        return glint_report(&command, &error);
    if (bench.peak_only)
        return print_peaks(&bench);
    return bench_model(&bench);
}
