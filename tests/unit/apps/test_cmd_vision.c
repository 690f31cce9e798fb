// SPDX-License-Identifier: Apache-2.0
// test_cmd_vision.c — `glint vision-eval` and `glint eval --image` on nano, through files: the
// stages of a golden picture, and the logits of a prompt with it.
#include "cmd.h"
#include "golden/golden_fixture.h"
#include "options.h"
#include "tolerance.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_PATH = 7 };
static struct golden golden;
static char paths[N_PATH][300]; // picture, resized, pixels, tower, features, ids, logits

static const char *place(const char *name) {
    static char path[300];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/glint-vision-%d-%s", folder ? folder : "/tmp", (int)getpid(),
             name);
    return path;
}

static void put(FILE *file, uint32_t x, int n) {
    for (int i = 0; i < n; i++)
        fputc((int)(x >> 8 * i & 255), file);
}

// The golden picture as a BMP file.
static void write_bmp(const char *path) {
    int height, width;
    const uint8_t *rgb = golden_rgb(&golden, "image.0.rgb", &height, &width);
    uint32_t stride = (uint32_t)(3 * width + 3) / 4 * 4, size = stride * (uint32_t)height;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("BM", file);
    const struct {
        uint32_t value;
        int n;
    } header[] = {{54 + size, 4},
                  {0, 4},
                  {54, 4},
                  {40, 4},
                  {(uint32_t)width, 4},
                  {(uint32_t)height, 4},
                  {1, 2},
                  {24, 2},
                  {0, 4},
                  {size, 4},
                  {0, 4},
                  {0, 4},
                  {0, 4},
                  {0, 4}};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        put(file, header[i].value, header[i].n);
    for (int y = height - 1; y >= 0; y--) {
        for (int x = 0; x < width; x++)
            for (int c = 2; c >= 0; c--)
                fputc(rgb[(y * width + x) * 3 + c], file);
        put(file, 0, (int)stride - 3 * width);
    }
    fclose(file);
}

static int open_nano(void **state) {
    (void)state;
    static const char *const names[N_PATH] = {"picture",  "resized", "pixels", "tower",
                                              "features", "ids",     "logits"};
    golden_open(&golden, "nano", "bf16");
    for (int i = 0; i < N_PATH; i++)
        snprintf(paths[i], sizeof paths[i], "%s", place(names[i]));
    write_bmp(paths[0]);
    return 0;
}

static int close_nano(void **state) {
    (void)state;
    for (int i = 0; i < N_PATH; i++)
        remove(paths[i]);
    golden_close(&golden);
    return 0;
}

static void *read_all(const char *path, size_t n) {
    char *data = malloc(n + 1);
    FILE *file = fopen(path, "rb");
    assert_true(file && data);
    assert_int_equal(fread(data, 1, n + 1, file), n); // no more and no less
    fclose(file);
    return data;
}

static void compare(const char *path, const char *name) {
    int n_row, n_col;
    const float *want = golden_rows(&golden, name, &n_row, &n_col);
    size_t n = (size_t)n_row * (size_t)n_col;
    float *got = read_all(path, n * sizeof *got);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= GLINT_TOLERANCE_PICTURE))
            fail_msg("%s: value %zu is %g, expected %g", name, i, (double)got[i], (double)want[i]);
    free(got);
}

static int run(int (*command)(int, char **), const char *const *argv) {
    int argc = 0;
    while (argv[argc])
        argc++;
    return command(argc, (char **)(uintptr_t)argv);
}

#define RUN(command, ...) run(command, (const char *const[]){"glint", __VA_ARGS__, NULL})

static void test_stages(void **state) {
    (void)state;
    int height, width;
    assert_int_equal(RUN(glint_cmd_vision_eval, "--mmproj", golden.mmproj, "--image", paths[0],
                         "--resized", paths[1], "--pixels", paths[2], "--tower", paths[3],
                         "--features", paths[4], "-q"),
                     GLINT_EXIT_OK);
    const uint8_t *want = golden_rgb(&golden, "image.0.resized", &height, &width);
    size_t n = (size_t)height * (size_t)width * 3;
    uint8_t *got = read_all(paths[1], n);
    assert_memory_equal(got, want, n);
    free(got);
    compare(paths[2], "image.0.pixels");
    compare(paths[3], "image.0.tower");
    compare(paths[4], "image.0.features");
}

static void test_logits(void **state) {
    (void)state;
    int n, n_row, n_vocab;
    const int32_t *ids = golden_ids(&golden, "image.0.prompt", &n);
    const float *want = golden_rows(&golden, "image.0.logits", &n_row, &n_vocab);
    char list[304], last[16];
    FILE *file = fopen(paths[5], "w");
    assert_non_null(file);
    for (int i = 0; i < n; i++)
        fprintf(file, "%d ", (int)ids[i]);
    fclose(file);
    snprintf(list, sizeof list, "@%s", paths[5]);
    snprintf(last, sizeof last, "%d", n_row);
    assert_int_equal(RUN(glint_cmd_eval, "-m", golden.gguf, "--mmproj", golden.mmproj, "--image",
                         paths[0], "--ids", list, "--logits", paths[6], "--last", last, "-ctk",
                         "f32", "-ctv", "f32", "-q"),
                     GLINT_EXIT_OK);
    size_t n_value = (size_t)n_row * (size_t)n_vocab;
    float *got = read_all(paths[6], n_value * sizeof *got);
    for (size_t i = 0; i < n_value; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= GLINT_TOLERANCE_LOGIT_LARGEST))
            fail_msg("logit %zu is %g, expected %g", i, (double)got[i], (double)want[i]);
    free(got);
}

static void test_wrong_usage(void **state) {
    (void)state;
    assert_int_equal(RUN(glint_cmd_vision_eval, "--mmproj", golden.mmproj), GLINT_EXIT_USAGE);
    assert_int_equal(RUN(glint_cmd_vision_eval, "--mmproj", golden.mmproj, "--image", "no such"),
                     GLINT_EXIT_FAILED);
    assert_int_equal(RUN(glint_cmd_vision_eval, "--mmproj", golden.gguf, "--image", paths[0]),
                     GLINT_EXIT_FAILED);
    assert_int_equal(RUN(glint_cmd_eval, "-m", golden.gguf, "--mmproj", golden.mmproj, "--image",
                         paths[0], "--ids", "1,2,3", "-q"),
                     GLINT_EXIT_FAILED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages), cmocka_unit_test(test_logits),
                                       cmocka_unit_test(test_wrong_usage)};
    return cmocka_run_group_tests(tests, open_nano, close_nano);
}
