// SPDX-License-Identifier: Apache-2.0
// bench_depth — time of one step at depths that would take long to evaluate: the cache below is
// filled with made-up keys and values, which cost what real ones do.
//     bench_depth [-t THREADS] [-k ROWS,...] [-d DEPTH,...] [-r REPS] [-w WARM] [-l] MODEL.gguf
// ROWS 1 is a decode step; more are evaluated in one call, with the logits of the last row or, with
// -l, of all, as a verification of drafted tokens does. WARM steps (1) come before and do not
// count. Prints the median of REPS steps, the spread, and the bytes that a step must read: weights
// once, and the cache rows that its rows see.
#include "base/alloc.h"
#include "base/clock.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LIST = 16, MAX_REPS = 99, FILL_ROWS = 256 };

struct list {
    int n, item[MAX_LIST];
};

struct bench {
    const char *path;
    int n_threads, n_reps, n_warm;
    bool all_logits;
    struct list rows, depth;
    struct glint_engine *engine;
    struct glint_session *session;
    float *made_up; // [FILL_ROWS, n_head_kv * head_dim]
    int32_t *ids;   // [most rows]
};

static void must(enum glint_status status, const struct glint_error *error) {
    if (status == GLINT_OK)
        return;
    fprintf(stderr, "bench_depth: %s\n", error->text);
    exit(1);
}

static void *take(size_t count, size_t size) {
    void *block = glint_alloc(count, size);
    if (block == NULL) {
        fprintf(stderr, "bench_depth: out of memory\n");
        exit(1);
    }
    return block;
}

static int most(const struct list *list) {
    int largest = 0;
    for (int i = 0; i < list->n; i++)
        largest = list->item[i] > largest ? list->item[i] : largest;
    return largest;
}

static void parse_list(struct list *list, const char *text) {
    for (list->n = 0; list->n < MAX_LIST; text++) {
        char *end;
        list->item[list->n++] = (int)strtol(text, &end, 10);
        text = end;
        if (*text != ',')
            break;
    }
}

static void parse(struct bench *bench, int argc, char **argv) {
    int option;
    bool good = true;
    while ((option = getopt(argc, argv, "t:k:d:r:w:l")) != -1)
        switch (option) {
        case 't':
            bench->n_threads = atoi(optarg);
            break;
        case 'k':
            parse_list(&bench->rows, optarg);
            break;
        case 'd':
            parse_list(&bench->depth, optarg);
            break;
        case 'r':
            bench->n_reps = atoi(optarg);
            break;
        case 'w':
            bench->n_warm = atoi(optarg);
            break;
        case 'l':
            bench->all_logits = true;
            break;
        default:
            good = false;
        }
    good = good && optind == argc - 1;
    bench->path = argv[optind];
    for (int i = 0; i < bench->rows.n; i++)
        good = good && bench->rows.item[i] >= 1;
    for (int i = 0; i < bench->depth.n; i++)
        good = good && bench->depth.item[i] >= 0;
    if (!good || !bench->path || bench->n_threads < 0 || bench->n_reps < 1 ||
        bench->n_reps > MAX_REPS) {
        fprintf(stderr, "usage: bench_depth [-t THREADS] [-k ROWS,...] [-d DEPTH,...] [-r REPS] "
                        "[-w WARM] [-l] MODEL.gguf\n");
        exit(2);
    }
}

// Rows [length, length + n) of every layer.
static void fill_rows(const struct bench *bench, const struct glint_batch *batch) {
    struct glint_engine *engine = bench->engine;
    const struct glint_config *config = &engine->model.config;
    for (int l = 0; l < config->n_layer; l++)
        engine->backend->ops.kv_store(engine->backend,
                                      &(struct glint_op_kv_store){
                                          .plane = glint_kv_plane(engine->kv, config->sliding[l]),
                                          .i_layer = config->i_class[l],
                                          .k = bench->made_up,
                                          .v = bench->made_up,
                                          .ref = config->sliding[l] ? batch->ring : batch->full,
                                          .n = batch->n,
                                      });
}

// The session holds `depth` tokens afterwards.
static void go_to(struct bench *bench, int depth) {
    struct glint_engine *engine = bench->engine;
    struct glint_session *session = bench->session;
    struct glint_error error = {0};
    if (session->length < depth || glint_session_truncate(session, depth, &error) != GLINT_OK)
        must(glint_session_truncate(session, 0, &error), &error);
    while (session->length < depth) {
        glint_batch_clear(&engine->batch);
        for (int i = 0; i < FILL_ROWS && session->length + i < depth; i++)
            glint_batch_add(&engine->batch, session->slot, session->length + i, 0, false);
        must(glint_batch_place(&engine->batch, engine->kv, &error), &error);
        fill_rows(bench, &engine->batch);
        glint_batch_commit(&engine->batch, engine->kv);
        session->length += engine->batch.n;
    }
}

static void ignore_logits(void *user, int position, const float *logits) {
    (void)user;
    (void)position;
    (void)logits;
}

static double step_ms(struct bench *bench, int n_row, int depth) {
    struct glint_error error = {0};
    struct glint_eval eval = {.ids = bench->ids, .n = n_row};
    if (bench->all_logits) {
        eval.n_logits = n_row;
        eval.on_logits = ignore_logits;
    }
    go_to(bench, depth);
    double start = glint_clock_ms();
    must(glint_session_eval(bench->session, &eval, &error), &error);
    return glint_clock_ms() - start;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_case(struct bench *bench, int n_row, int depth) {
    struct glint_engine_info info = glint_engine_info(bench->engine);
    double ms[MAX_REPS];
    for (int r = 0; r < bench->n_warm; r++)
        step_ms(bench, n_row, depth);
    for (int r = 0; r < bench->n_reps; r++)
        ms[r] = step_ms(bench, n_row, depth);
    qsort(ms, (size_t)bench->n_reps, sizeof ms[0], compare);
    double median = ms[bench->n_reps / 2];
    int seen = depth < info.window ? depth : info.window;
    double bytes = (double)info.step_bytes + (double)info.cache_bytes_per_token * depth +
                   (double)info.cache_bytes_window / info.window * seen;
    printf("rows %5d  depth %6d  %9.3f ms (%.3f..%.3f)  %8.2f rows/s  %6.1f MB  %6.2f GB/s\n",
           n_row, depth, median, ms[0], ms[bench->n_reps - 1], n_row * 1e3 / median, bytes / 1e6,
           bytes / median / 1e6);
    fflush(stdout);
}

int main(int argc, char **argv) {
    struct bench bench = {.path = "models/glimmer-mini.gguf",
                          .n_threads = 2,
                          .n_reps = 9,
                          .n_warm = 1,
                          .rows = {1, {1}},
                          .depth = {1, {0}}};
    struct glint_error error = {0};
    if (argc > 1) // `make bench` runs it without
        parse(&bench, argc, argv);
    struct glint_engine_params params = glint_engine_params_default();
    params.model_path = bench.path;
    params.n_threads = bench.n_threads;
    params.n_context = most(&bench.depth) + most(&bench.rows) + 1;
    must(glint_engine_open(&bench.engine, &params, &error), &error);
    must(glint_session_open(&bench.session, bench.engine, &error), &error);
    const struct glint_config *config = &bench.engine->model.config;
    size_t n_made_up = (size_t)FILL_ROWS * (size_t)config->n_head_kv * (size_t)config->head_dim;
    bench.made_up = take(n_made_up, sizeof(float));
    for (size_t i = 0; i < n_made_up; i++)
        bench.made_up[i] = (float)(i * 7919 % 1009) / 504.0f - 1;
    bench.ids = take((size_t)most(&bench.rows), sizeof(int32_t));
    for (int i = 0; i < most(&bench.rows); i++)
        bench.ids[i] = i * 31 % config->n_vocab;
    for (int d = 0; d < bench.depth.n; d++)
        for (int k = 0; k < bench.rows.n; k++)
            run_case(&bench, bench.rows.item[k], bench.depth.item[d]);
    glint_free(bench.ids);
    glint_free(bench.made_up);
    glint_session_close(&bench.session);
    glint_engine_close(&bench.engine);
    return 0;
}
