// SPDX-License-Identifier: Apache-2.0
// bench_vision.c — time and memory of looking at one picture: multiply-adds a second, as a share of
// what the machine's registers can do (int8 products for quantized weights, float32 ones for the
// rest and for attention), and peak memory beside the weights. Processor time disturbs less than
// wall time on a busy machine; both are printed.
//
//     bench_vision [VISION.gguf [WIDTH HEIGHT [THREADS [TIER]]]]
//
// make_vision writes a file of the released tower's shape. Without a file the shipped demo tower is
// measured.
#include "base/alloc.h"
#include "base/clock.h"
#include "cpu/peak.h"
#include "engine/picture.h"
#include "format/gguf.h"
#include "model/vision_config.h"
#include "op/kv_plane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct work {
    double quantized, plain; // multiply-adds
};

static double min(double a, double b) {
    return a < b ? a : b;
}

// Multiply-adds of attention in windows of a grid.
static double window_pairs(int rows, int cols, int side) {
    double sum = 0;
    for (int y = 0; y < rows; y += side)
        for (int x = 0; x < cols; x += side) {
            double n = min(side, rows - y) * min(side, cols - x);
            sum += n * n;
        }
    return sum;
}

static struct work work_of(const struct glint_gguf *gguf, const struct glint_vision_config *config,
                           int rows, int cols) {
    struct work work = {0, 0};
    double n = (double)rows * cols;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct glint_gguf_tensor *tensor = &gguf->tensors[i];
        bool is_table = strcmp(tensor->name, "v.position_embd.weight") == 0;
        if (tensor->n_dims < 2 || is_table)
            continue;
        double products = (double)tensor->n_values * (strncmp(tensor->name, "mm.", 3) ? n : n / 4);
        if (glint_dtype_info(tensor->type_id)->is_float)
            work.plain += products;
        else
            work.quantized += products;
    }
    for (int l = 0; l < config->n_layer; l++)
        work.plain +=
            2.0 * config->width *
            (glint_vision_is_global(config, l) ? n * n : window_pairs(rows, cols, config->side));
    return work;
}

static void need(enum glint_status status, const struct glint_error *error) {
    if (status == GLINT_OK)
        return;
    fprintf(stderr, "bench_vision: %s\n", error->text);
    exit(1);
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double peak_megabytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e6;
}

static uint8_t *draw(int width, int height) {
    uint8_t *rgb = glint_alloc((size_t)width * (size_t)height, 3);
    for (int64_t i = 0; rgb && i < (int64_t)width * height * 3; i++)
        rgb[i] = (uint8_t)(i * i / 977 + i / 3);
    return rgb;
}

static void report(const struct work *work, const struct glint_cpu_peak *peak, int n_threads,
                   double wall, double cpu) {
    double ideal = work->quantized / peak->int8_gmacs / 1e9 + work->plain / peak->float_gmacs / 1e9;
    printf("multiply-adds        %.2f T in int8, %.2f T in float32\n", work->quantized / 1e12,
           work->plain / 1e12);
    printf("peaks                %.0f G/s in int8, %.0f G/s in float32\n", peak->int8_gmacs,
           peak->float_gmacs);
    printf("time                 %.1f s wall, %.1f s processor\n", wall, cpu);
    printf("share of the peaks   %.0f %% by wall time, %.0f %% by processor time\n",
           100 * ideal / wall, 100 * ideal * n_threads / cpu);
}

int main(int argc, char **argv) {
    struct glint_error error = {0};
    struct glint_vision_params params = {.path =
                                             argc > 1 ? argv[1] : "models/glimmer-mini-mmproj.gguf",
                                         .n_threads = argc > 4 ? atoi(argv[4]) : 2,
                                         .cpu_tier = argc > 5 ? argv[5] : NULL};
    int width = argc > 3 ? atoi(argv[2]) : 1920, height = argc > 3 ? atoi(argv[3]) : 1080;
    struct glint_picture_source source = {.width = width, .height = height};
    struct glint_vision *vision;
    struct glint_picture *picture;
    struct glint_gguf *gguf;
    struct glint_vision_config config;
    struct glint_cpu_peak peak;
    if (width < 1 || height < 1 || params.n_threads < 1)
        return 2;
    uint8_t *rgb = draw(width, height);
    source.rgb = rgb;
    need(glint_gguf_open(&gguf, params.path, &error), &error);
    need(glint_vision_config_read(&config, gguf, &error), &error);
    need(glint_vision_open(&vision, &params, &error), &error);
    need(glint_picture_open(&picture, vision, &source, &error), &error);
    struct glint_picture_info info = glint_picture_info(picture);
    printf("%s: %d x %d pixels, %d x %d patches, %d tokens, %d threads\n", params.path, width,
           height, info.cols, info.rows, info.n_tokens, params.n_threads);
    const float *rows;
    double start = glint_clock_ms(), cpu = cpu_seconds();
    need(glint_picture_rows(picture, &rows, &error), &error);
    double wall = (glint_clock_ms() - start) / 1e3;
    cpu = cpu_seconds() - cpu;
    double weights = (double)glint_vision_info(vision).weight_bytes / 1e6;
    printf("memory               %.0f MB at most, %.0f MB of it weights: %.0f MB beside them\n",
           peak_megabytes(), weights, peak_megabytes() - weights);
    struct work work = work_of(gguf, &config, info.rows, info.cols);
    need(glint_cpu_measure_products(&peak, params.n_threads, &error), &error);
    if (peak.int8_gmacs > 0)
        report(&work, &peak, params.n_threads, wall, cpu);
    glint_picture_close(&picture);
    glint_vision_close(&vision);
    glint_gguf_close(&gguf);
    glint_free(rgb);
    return 0;
}
