// SPDX-License-Identifier: Apache-2.0
// test_golden_vision.c — the vision path against the official implementation, stage by stage and
// at every CPU tier: resized bytes, pixels, the tower, the features, and logits of prompts with a
// picture in them; a video, whose frames come in pairs.
#include "base/alloc.h"
#include "cpu/cpu.h"
#include "golden/golden_fixture.h"
#include "sanitized.h"
#include "tolerance.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_PICTURE = 5, N_LAST = 10 };

static void check(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static struct glint_vision *open_vision(const char *path, const char *tier, int n_threads) {
    struct glint_vision *vision;
    struct glint_error error = {0};
    struct glint_vision_params params = {
        .path = path, .cpu_tier = tier, .n_threads = n_threads, .exact_activations = true};
    check(glint_vision_open(&vision, &params, &error), &error);
    return vision;
}

static struct glint_picture *open_picture(struct glint_vision *vision, const struct golden *golden,
                                          int k) {
    char name[32];
    struct glint_picture_source source = {.name = "golden"};
    struct glint_picture *picture;
    struct glint_error error = {0};
    snprintf(name, sizeof name, "image.%d.rgb", k);
    source.rgb = golden_rgb(golden, name, &source.height, &source.width);
    check(glint_picture_open(&picture, vision, &source, &error), &error);
    return picture;
}

static void compare(const struct golden *golden, const char *of, const char *what,
                    const float *got, int64_t n) {
    char name[48];
    int n_row, n_col;
    snprintf(name, sizeof name, "%s.%s", of, what);
    const float *want = golden_rows(golden, name, &n_row, &n_col);
    assert_int_equal((int64_t)n_row * n_col, n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= GLINT_TOLERANCE_PICTURE))
            fail_msg("%s: row %d, value %d: got %g, want %g", name, (int)(i / n_col),
                     (int)(i % n_col), (double)got[i], (double)want[i]);
}

// `of` names the picture or the video.
static void compare_stages(const struct golden *golden, const char *of,
                           struct glint_vision *vision, struct glint_picture *picture) {
    struct glint_error error = {0};
    struct glint_picture_info info = glint_picture_info(picture);
    struct glint_vision_info size = glint_vision_info(vision);
    int64_t n_group = info.n_groups > 0 ? info.n_groups : 1;
    int64_t n_pixel = n_group * info.rows * info.cols * 6 * size.patch * size.patch;
    int64_t n_tower = (int64_t)info.n_tokens * 4 * size.tower;
    int64_t n_feature = (int64_t)info.n_tokens * size.width;
    struct glint_picture_stages stages = {glint_alloc((size_t)n_pixel, sizeof(float)),
                                          glint_alloc((size_t)n_tower, sizeof(float)),
                                          glint_alloc((size_t)n_feature, sizeof(float))};
    check(glint_picture_look(picture, &stages, &error), &error);
    compare(golden, of, "pixels", stages.pixels, n_pixel);
    compare(golden, of, "tower", stages.tower, n_tower);
    compare(golden, of, "features", stages.features, n_feature);
    glint_free(stages.pixels);
    glint_free(stages.tower);
    glint_free(stages.features);
}

static void check_picture(const struct golden *golden, struct glint_vision *vision, int k) {
    char of[24], name[32];
    int height, width;
    struct glint_picture *picture = open_picture(vision, golden, k);
    struct glint_picture_info info = glint_picture_info(picture);
    int patch = glint_vision_info(vision).patch;
    snprintf(of, sizeof of, "image.%d", k);
    snprintf(name, sizeof name, "%s.resized", of);
    const uint8_t *resized = golden_rgb(golden, name, &height, &width);
    assert_int_equal(info.rows * patch, height);
    assert_int_equal(info.cols * patch, width);
    assert_memory_equal(info.rgb, resized, (size_t)height * (size_t)width * 3);
    compare_stages(golden, of, vision, picture);
    glint_picture_close(&picture);
}

struct frames {
    const uint8_t *data;
    size_t n_bytes; // of one
};

static const uint8_t *frame_at(void *user, int i) {
    const struct frames *frames = user;
    return frames->data + (size_t)i * frames->n_bytes;
}

// An odd number of frames, in three groups.
static void check_video(const struct golden *golden, struct glint_vision *vision) {
    int size[3];
    const double seconds[] = {0, 0.5, 1, 1.5, 2};
    struct glint_picture_source source = {.name = "video", .seconds = seconds};
    struct glint_picture *video;
    struct glint_error error = {0};
    struct frames frames = {.data = golden_frames(golden, "video.frames", size)};
    frames.n_bytes = (size_t)size[1] * (size_t)size[2] * 3;
    source.frame = frame_at;
    source.user = &frames;
    source.n_frames = size[0];
    source.height = size[1];
    source.width = size[2];
    check(glint_picture_open(&video, vision, &source, &error), &error);
    assert_int_equal(glint_picture_info(video).n_groups, 3);
    compare_stages(golden, "video", vision, video);
    glint_picture_close(&video);
}

// Under sanitizers each tier looks at pictures of its own.
enum { PICTURE_STEP = GLINT_SANITIZED ? 5 : 1 };

static int first_picture(size_t i_tier) {
    return (int)i_tier % PICTURE_STEP;
}

static void test_stages(void **state) {
    struct golden *golden = *state;
    const char *tier;
    for (size_t t = 0; (tier = glint_cpu_tier_at(t)) != NULL; t++) {
        struct glint_vision *vision = open_vision(golden->mmproj, tier, 1 + (int)t % 3);
        for (int k = first_picture(t); k < N_PICTURE; k += PICTURE_STEP)
            check_picture(golden, vision, k);
        if (!GLINT_SANITIZED || t == 0)
            check_video(golden, vision);
        glint_vision_close(&vision);
    }
}

// ---- logits ---------------------------------------------------------------------------------

struct logits {
    float *rows; // [n][n_vocab]
    int n_vocab, first;
};

static void keep(void *user, int position, const float *logits) {
    struct logits *kept = user;
    memcpy(kept->rows + (int64_t)(position - kept->first) * kept->n_vocab, logits,
           (size_t)kept->n_vocab * sizeof(float));
}

static void check_logits(const struct golden *golden, struct glint_engine *engine,
                         struct glint_vision *vision, int k) {
    char name[32];
    int n, n_row, n_vocab;
    struct glint_error error = {0};
    struct glint_session *session;
    struct glint_picture *picture = open_picture(vision, golden, k);
    snprintf(name, sizeof name, "image.%d.prompt", k);
    const int32_t *ids = golden_ids(golden, name, &n);
    snprintf(name, sizeof name, "image.%d.logits", k);
    const float *want = golden_rows(golden, name, &n_row, &n_vocab);
    struct logits got = {glint_alloc((size_t)n_row, (size_t)n_vocab * sizeof(float)), n_vocab,
                         n - n_row};
    struct glint_eval eval = {.ids = ids,
                              .n = n,
                              .n_chunk = 3 + 20 * k, // a picture in pieces
                              .n_logits = n_row,
                              .on_logits = keep,
                              .user = &got};
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_set_pictures(session, &picture, 1, &error), &error);
    check(glint_session_eval(session, &eval, &error), &error);
    double sum = 0, largest = 0;
    for (int64_t i = 0; i < (int64_t)n_row * n_vocab; i++) {
        double difference = fabs((double)got.rows[i] - (double)want[i]);
        sum += difference;
        largest = fmax(largest, difference);
    }
    glint_session_close(&session);
    glint_picture_close(&picture);
    glint_free(got.rows);
    if (!(largest <= GLINT_TOLERANCE_LOGIT_LARGEST) ||
        !(sum / n_row / n_vocab <= GLINT_TOLERANCE_SEEN_MEAN))
        fail_msg("%s: largest difference %g, mean %g", name, largest, sum / n_row / n_vocab);
}

static void test_logits(void **state) {
    struct golden *golden = *state;
    const char *tier;
    for (size_t t = 0; (tier = glint_cpu_tier_at(t)) != NULL; t++) {
        struct glint_engine_params params = golden_params(golden, tier);
        struct glint_engine *engine = golden_engine(&params);
        struct glint_vision *vision = open_vision(golden->mmproj, tier, 2);
        for (int k = first_picture(t); k < N_PICTURE; k += PICTURE_STEP)
            check_logits(golden, engine, vision, k);
        glint_vision_close(&vision);
        glint_engine_close(&engine);
    }
}

static int open_nano(void **state) {
    static struct golden golden;
    golden_open(&golden, "nano", "f32");
    *state = &golden;
    return 0;
}

static int close_nano(void **state) {
    golden_close(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_logits)};
    return cmocka_run_group_tests(tests, open_nano, close_nano);
}
