// SPDX-License-Identifier: Apache-2.0
// bench_attention.c — time of the attention op at the model's real head shapes: 32 query heads,
// 2 KV heads of 128. Prints medians of five with the spread, cache bytes a second (decode) and
// multiply-adds a second (prefill), to be held against the machine's read and float32 peaks; the
// same by processor time, which a busy machine disturbs less.
//
//     bench_attention [tier] [threads] [f16|f32|q8_0]
#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_HEAD = 32, N_HEAD_KV = 2, HEAD_DIM = 128, MAX_ROWS = 512, N_RUN = 5, WINDOW = 2048 };

struct setting {
    const char *name;
    int depth, n; // rows at positions depth .. depth + n
    int32_t window;
};

static const struct setting settings[] = {
    {"decode, full", 1024, 1, 0},         {"decode, full", 32768, 1, 0},
    {"decode, full", 131071, 1, 0},       {"decode, sliding", 32768, 1, WINDOW},
    {"verify 16, full", 32768, 16, 0},    {"prefill 512, full", 0, 512, 0},
    {"prefill 512, full", 28672, 512, 0}, {"prefill 512, sliding", 28672, 512, WINDOW},
};

static void *need(void *block) {
    if (block == NULL) {
        fprintf(stderr, "bench_attention: out of memory\n");
        exit(1);
    }
    return block;
}

// Key and value bytes that look like stored rows.
static void fill_pages(struct glint_kv_plane *plane) {
    size_t row_bytes = glint_kv_row_bytes(plane, 0);
    const struct glint_dtype_info *info = glint_dtype_info((uint32_t)plane->dtype_k);
    uint32_t seed = 1;
    for (size_t at = 0; at < (size_t)plane->n_page * plane->page_bytes; at += row_bytes) {
        float row[HEAD_DIM];
        for (int d = 0; d < HEAD_DIM; d++) {
            seed = seed * 1664525u + 1013904223u;
            row[d] = (float)(seed >> 8) * 0x1p-23f - 1;
        }
        info->encode(row, NULL, plane->pages + at, HEAD_DIM);
    }
}

// Keys that all rows of the setting look at together.
static double keys_seen(const struct setting *setting) {
    double sum = 0;
    for (int i = 0; i < setting->n; i++) {
        int p = setting->depth + i + 1;
        sum += setting->window > 0 && p > setting->window ? setting->window : p;
    }
    return sum;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct glint_backend *backend, const struct glint_op_attention *shape,
                    const struct glint_kv_ref *ref, const struct setting *setting) {
    struct glint_op_attention op = *shape;
    op.ref = ref + setting->depth;
    op.n = setting->n;
    op.window = setting->window;
    double ms[N_RUN], probe = glint_clock_ms();
    backend->ops.attention(backend, &op);
    probe = glint_clock_ms() - probe;
    int n_call = probe < 20 ? (int)(20 / (probe + 0.01)) + 1 : 1;
    clock_t cpu = clock();
    for (int r = 0; r < N_RUN; r++) {
        double start = glint_clock_ms();
        for (int i = 0; i < n_call; i++)
            backend->ops.attention(backend, &op);
        ms[r] = (glint_clock_ms() - start) / n_call;
    }
    double cpu_ms = (double)(clock() - cpu) * 1e3 / CLOCKS_PER_SEC / N_RUN / n_call;
    qsort(ms, N_RUN, sizeof ms[0], compare);
    double keys = keys_seen(setting), median = ms[N_RUN / 2];
    double bytes = keys / setting->n * N_HEAD_KV * 2 * (double)glint_kv_row_bytes(op.plane, 0);
    double products = keys * N_HEAD * HEAD_DIM * 2;
    printf("%-21s depth %6d %9.3f ms (%.3f .. %.3f) %6.2f GB/s %6.1f G multiply-adds/s; "
           "processors %.3f ms, %.1f\n",
           setting->name, setting->depth, median, ms[0], ms[N_RUN - 1], bytes / median / 1e6,
           products / median / 1e6, cpu_ms, products / cpu_ms / 1e6);
}

int main(int argc, char **argv) {
    const struct glint_dtype_info *dtype = glint_dtype_by_name(argc > 3 ? argv[3] : "f16");
    const int context = 131072 + GLINT_KV_PAGE_ROWS;
    struct glint_cpu_params params = {
        .n_threads = argc > 2 ? atoi(argv[2]) : 0,
        .tier = argc > 1 && strcmp(argv[1], "best") != 0 ? argv[1] : NULL,
        .limits = {MAX_ROWS, N_HEAD * HEAD_DIM, N_HEAD, context, HEAD_DIM},
    };
    struct glint_backend *backend;
    struct glint_error err;
    if (dtype == NULL || glint_cpu_open(&backend, &params, &err) != GLINT_OK) {
        fprintf(stderr, "bench_attention: %s\n", dtype ? err.text : "unknown cache type");
        return 1;
    }
    struct glint_kv_plane plane = {dtype->dtype, dtype->dtype, 1, N_HEAD_KV,
                                   HEAD_DIM,     NULL,         0, context / GLINT_KV_PAGE_ROWS};
    plane.page_bytes = glint_kv_layer_bytes(&plane);
    plane.pages = need(glint_alloc((size_t)plane.n_page, plane.page_bytes));
    fill_pages(&plane);
    int32_t *page = need(glint_alloc((size_t)plane.n_page, sizeof *page));
    struct glint_kv_ref *ref = need(glint_alloc((size_t)context, sizeof *ref));
    for (int i = 0; i < plane.n_page; i++)
        page[i] = i;
    for (int i = 0; i < context; i++)
        ref[i] = (struct glint_kv_ref){{page, plane.n_page}, i, 0};
    size_t n_value = (size_t)MAX_ROWS * N_HEAD * HEAD_DIM;
    float *q = need(glint_alloc(n_value, sizeof *q)),
          *out = need(glint_alloc(n_value, sizeof *out));
    for (size_t i = 0; i < n_value; i++)
        q[i] = (float)((i * 2654435761u >> 8) % 1024) / 256 - 2;
    struct glint_op_attention op = {
        .out = out, .q = q, .plane = &plane, .n_head = N_HEAD, .scale = 0.08838835f};
    printf("tier %s, cache %s\n", backend->tier, dtype->name);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        measure(backend, &op, ref, &settings[i]);
    backend->close(backend);
    glint_free(plane.pages);
    glint_free(page);
    glint_free(ref);
    glint_free(q);
    glint_free(out);
    return 0;
}
