// SPDX-License-Identifier: Apache-2.0
// Pictures in sessions: what is looked at once is not looked at again, a changed picture is a
// changed prefix, pieces and order change nothing, and what does not fit is refused. On the model
// that ships with glint.
#include "base/alloc.h"
#include "fault.h"

#include <glint/glint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define MODEL  "../models/glimmer-mini.gguf"
#define VISION "../models/glimmer-mini-mmproj.gguf"

enum { SIDE = 84, N_TOKEN = 9, PIXELS = SIDE * SIDE * 3 };

static struct glint_engine *engine;
static struct glint_vision *vision;
static int n_looked; // pictures looked at to the end
static bool give_up; // answer of the cancel callback
static uint8_t red[PIXELS], blue[PIXELS];

static void on_progress(void *user, int done) {
    (void)user;
    n_looked += done == 1000;
}

static bool on_cancel(void *user) {
    (void)user;
    return give_up;
}

static const struct glint_vision_params vision_params = {
    .path = VISION, .n_threads = 1, .progress = on_progress, .cancel = on_cancel};

static void check(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

static int open_all(void **state) {
    (void)state;
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_error error = {.status = GLINT_OK};
    params.model_path = MODEL;
    params.n_threads = 1;
    params.n_context = 1024;
    params.n_session = 2;
    check(glint_engine_open(&engine, &params, &error), &error);
    check(glint_vision_open(&vision, &vision_params, &error), &error);
    for (int i = 0; i < PIXELS; i += 3) {
        red[i] = (uint8_t)(i / 3 % SIDE < SIDE / 2 ? 230 : 90);
        blue[i + 2] = (uint8_t)(i / 3 / SIDE < SIDE / 2 ? 240 : 30);
    }
    return 0;
}

static int close_all(void **state) {
    (void)state;
    glint_vision_close(&vision);
    glint_engine_close(&engine);
    return 0;
}

static struct glint_picture *open_picture(const uint8_t *rgb) {
    struct glint_picture *picture;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_picture_source source = {.rgb = rgb, .width = SIDE, .height = SIDE};
    check(glint_picture_open(&picture, vision, &source, &error), &error);
    assert_int_equal(glint_picture_info(picture).n_tokens, N_TOKEN);
    return picture;
}

// "<|patch|>WORDS" expanded, for the pictures given.
static struct glint_ids prompt(const char *text, struct glint_picture *const *pictures, size_t n) {
    struct glint_ids ids, out;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_text raw = {.data = text, .n = strlen(text), .special = true, .add_bos = true};
    check(glint_tokenize(engine, &raw, &ids, &error), &error);
    check(glint_expand_pictures(engine, &ids, pictures, n, &out, &error), &error);
    assert_int_equal(out.n, ids.n + n * (N_TOKEN + 1));
    glint_ids_free(&ids);
    return out;
}

static int sync_ids(struct glint_session *session, const struct glint_ids *ids) {
    int n_reused;
    struct glint_error error = {.status = GLINT_OK};
    check(glint_session_sync(session, ids->data, (int)ids->n, &n_reused, &error), &error);
    return n_reused;
}

static struct glint_session *open_session(struct glint_picture *const *pictures, size_t n) {
    struct glint_session *session;
    struct glint_error error = {.status = GLINT_OK};
    check(glint_session_open(&session, engine, &error), &error);
    check(glint_session_set_pictures(session, pictures, n, &error), &error);
    return session;
}

static void set_picture(struct glint_session *session, struct glint_picture *picture) {
    struct glint_error error = {.status = GLINT_OK};
    check(glint_session_set_pictures(session, &picture, 1, &error), &error);
}

static void test_prefix_reuse(void **state) {
    (void)state;
    struct glint_picture *a = open_picture(red), *b = open_picture(blue), *again;
    struct glint_ids first = prompt("<|patch|>What colour is it?", &a, 1);
    struct glint_ids longer = prompt("<|patch|>What colour is it? Say more.", &a, 1);
    struct glint_session *session = open_session(&a, 1);
    size_t n_vocab = (size_t)glint_engine_info(engine).n_vocab;
    float *kept = glint_alloc(n_vocab, sizeof *kept);
    n_looked = 0;
    assert_int_equal(sync_ids(session, &first), 0);
    assert_int_equal(n_looked, 1);
    memcpy(kept, glint_session_logits(session), n_vocab * sizeof *kept);
    // A second turn, and then the first again with the picture from the same bytes.
    int common = 0;
    while (common < (int)first.n && first.data[common] == longer.data[common])
        common++;
    assert_true(common > N_TOKEN + 2);
    assert_int_equal(sync_ids(session, &longer), common);
    again = open_picture(red);
    set_picture(session, again);
    assert_int_equal(sync_ids(session, &first), (int)first.n - 1);
    assert_int_equal(n_looked, 1);
    assert_memory_equal(kept, glint_session_logits(session), n_vocab * sizeof *kept);
    // The same ids about another picture: all but what stands before it is evaluated anew.
    set_picture(session, b);
    int before = 0;
    while (first.data[before] != glint_special_id(engine, "<|patch|>"))
        before++;
    assert_int_equal(sync_ids(session, &first), before);
    assert_int_equal(n_looked, 2);
    assert_memory_not_equal(kept, glint_session_logits(session), n_vocab * sizeof *kept);
    set_picture(session, a);
    assert_int_equal(sync_ids(session, &first), before);
    assert_int_equal(n_looked, 2);
    assert_memory_equal(kept, glint_session_logits(session), n_vocab * sizeof *kept);
    glint_session_close(&session);
    glint_free(kept);
    glint_ids_free(&first);
    glint_ids_free(&longer);
    glint_picture_close(&a);
    glint_picture_close(&b);
    glint_picture_close(&again);
}

// Two pictures, read at once and in pieces of 7; then in the other order.
static void test_pieces_and_order(void **state) {
    (void)state;
    struct glint_picture *pictures[2] = {open_picture(red), open_picture(blue)}, *swapped[2];
    struct glint_ids ids = prompt("<|patch|>and<|patch|>are what?", pictures, 2);
    struct glint_error error = {.status = GLINT_OK};
    struct glint_session *whole = open_session(pictures, 2), *pieces = open_session(pictures, 2);
    size_t bytes = (size_t)glint_engine_info(engine).n_vocab * sizeof(float);
    sync_ids(whole, &ids);
    for (int at = 0; at < (int)ids.n; at += 7) {
        int n = (int)ids.n - at < 7 ? (int)ids.n - at : 7;
        struct glint_eval eval = {.ids = ids.data + at, .n = n};
        check(glint_session_eval(pieces, &eval, &error), &error);
    }
    assert_memory_equal(glint_session_logits(whole), glint_session_logits(pieces), bytes);
    swapped[0] = pictures[1];
    swapped[1] = pictures[0];
    check(glint_session_set_pictures(pieces, swapped, 2, &error), &error);
    sync_ids(pieces, &ids);
    assert_memory_not_equal(glint_session_logits(whole), glint_session_logits(pieces), bytes);
    glint_session_close(&whole);
    glint_session_close(&pieces);
    glint_ids_free(&ids);
    glint_picture_close(&pictures[0]);
    glint_picture_close(&pictures[1]);
}

static struct glint_picture *open_for(struct glint_vision *of, uint64_t realm) {
    struct glint_picture *picture;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_picture_source source = {
        .rgb = red, .width = SIDE, .height = SIDE, .realm = realm};
    check(glint_picture_open(&picture, of, &source, &error), &error);
    return picture;
}

// Rows are kept within a realm and a number of bytes; the prefix in a cache outlives them.
static void test_forgetting(void **state) {
    (void)state;
    struct glint_vision *small = NULL;
    struct glint_vision_params params = vision_params;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_picture_stages none = {NULL};
    params.kept_bytes = 1;
    check(glint_vision_open(&small, &params, &error), &error);
    struct glint_picture *a = open_for(small, 1), *same = open_for(small, 1),
                         *foreign = open_for(small, 2);
    assert_false(glint_picture_is_known(same));
    check(glint_picture_look(a, &none, &error), &error);
    assert_true(glint_picture_is_known(a));
    assert_true(glint_picture_is_known(same));
    assert_false(glint_picture_is_known(foreign));
    struct glint_ids ids = prompt("<|patch|>What colour is it?", &a, 1);
    struct glint_session *session = open_session(&a, 1);
    assert_int_equal(sync_ids(session, &ids), 0);
    glint_picture_close(&a);
    glint_picture_close(&same);
    a = open_for(small, 1);
    assert_false(glint_picture_is_known(a));
    set_picture(session, a);
    assert_int_equal(glint_session_reusable(session, ids.data, (int)ids.n - 1), (int)ids.n - 2);
    set_picture(session, foreign);
    assert_true(glint_session_reusable(session, ids.data, (int)ids.n - 1) < N_TOKEN);
    glint_session_close(&session);
    glint_ids_free(&ids);
    glint_picture_close(&a);
    glint_picture_close(&foreign);
    glint_vision_close(&small);
}

// A file is known before it is decoded, for the limit it was opened with.
static void test_files(void **state) {
    (void)state;
    static uint8_t data[1 << 16];
    struct glint_error error = {.status = GLINT_OK};
    FILE *file = fopen("data/pictures/orientation_6.jpg", "rb");
    assert_non_null(file);
    struct glint_picture_source source = {.name = "a", .data = data};
    source.n = fread(data, 1, sizeof data, file);
    fclose(file);
    struct glint_picture *first, *again, *smaller;
    check(glint_picture_open(&first, vision, &source, &error), &error);
    check(glint_picture_open(&again, vision, &source, &error), &error);
    struct glint_picture_info info = glint_picture_info(first);
    assert_ptr_equal(glint_picture_info(again).rgb, info.rgb);
    assert_int_equal(glint_picture_info(again).width, info.width);
    assert_int_equal(glint_picture_info(again).height, info.height);
    assert_true(info.n_tokens > 1);
    source.max_tokens = info.n_tokens - 1;
    check(glint_picture_open(&smaller, vision, &source, &error), &error);
    assert_true(glint_picture_info(smaller).n_tokens < info.n_tokens);
    glint_picture_close(&first);
    glint_picture_close(&again);
    glint_picture_close(&smaller);
    data[3] ^= 1; // another file, and not a picture
    data[0] = 0;
    assert_int_equal(glint_picture_open(&first, vision, &source, &error), GLINT_E_FORMAT);
}

static void expect_fail(enum glint_status status, enum glint_status expected,
                        const struct glint_error *error, const char *part) {
    assert_int_equal(status, expected);
    if (!strstr(error->text, part))
        fail_msg("\"%s\" lacks \"%s\"", error->text, part);
}

static void test_refusals(void **state) {
    (void)state;
    struct glint_picture *a = open_picture(red);
    struct glint_ids ids = prompt("<|patch|>What?", &a, 1), out;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_session *session = open_session(&a, 1);
    expect_fail(glint_expand_pictures(engine, &ids, &a, 1, &out, &error), GLINT_E_ARG, &error,
                "places for 9 pictures, found 1");
    expect_fail(glint_session_sync(session, ids.data, (int)ids.n - 8, NULL, &error), GLINT_E_ARG,
                &error, "picture placeholders, expected 9");
    int32_t patch = glint_special_id(engine, "<|patch|>"), many[N_TOKEN + 1];
    for (int i = 0; i <= N_TOKEN; i++)
        many[i] = patch;
    struct glint_eval eval = {.ids = many, .n = N_TOKEN + 1};
    expect_fail(glint_session_eval(session, &eval, &error), GLINT_E_ARG, &error,
                "more picture placeholders");
    assert_int_equal(glint_session_length(session), 0);
    struct glint_picture_source wide = {
        .name = "wide", .rgb = red, .width = PIXELS / 3, .height = 1, .max_tokens = 16};
    struct glint_picture *picture;
    expect_fail(glint_picture_open(&picture, vision, &wide, &error), GLINT_E_LIMIT, &error,
                "would take");
    wide.max_tokens = 5000;
    expect_fail(glint_picture_open(&picture, vision, &wide, &error), GLINT_E_ARG, &error,
                "expected 1 to 4096");
    glint_session_close(&session);
    glint_ids_free(&ids);
    glint_picture_close(&a);
}

// ---- videos ---------------------------------------------------------------------------------

static void test_sampling(void **state) {
    (void)state;
    int64_t index[GLINT_VIDEO_MAX_FRAMES];
    static const struct {
        int64_t total;
        double fps;
        int n;
        int64_t second, last;
    } cases[] = {
        {100, 30, 6, 19, 99},
        {1, 30, 1, 0, 0},
        {2, 30, 2, 1, 1},
        {30, 30, 2, 29, 29},
        {45, 30, 2, 44, 44},
        {60, 30, 4, 19, 59},
        {100000, 25, 96, 1052, 99999},
        {48, 0, 4, 15, 47},
        {7, 1, 6, 1, 6},
        {0, 25, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = glint_video_sample(cases[i].total, cases[i].fps, index);
        assert_int_equal(n, cases[i].n);
        if (n > 1)
            assert_int_equal(index[1], cases[i].second);
        if (n > 0)
            assert_int_equal(index[n - 1], cases[i].last);
    }
}

static void put_word(struct glint_ids *ids, const char *text) {
    struct glint_ids word;
    struct glint_error error = {.status = GLINT_OK};
    struct glint_text source = {.data = text, .n = strlen(text)};
    check(glint_tokenize(engine, &source, &word, &error), &error);
    memcpy(ids->data + ids->n, word.data, word.n * sizeof *word.data);
    ids->n += word.n;
    glint_ids_free(&word);
}

static void put_id(struct glint_ids *ids, const char *special, int times) {
    for (int i = 0; i < times; i++)
        ids->data[ids->n++] = glint_special_id(engine, special);
}

static int n_frame_left; // frames that can be read

static const uint8_t *frame_at(void *user, int i) {
    (void)user;
    return i < n_frame_left ? i % 2 ? blue : red : NULL;
}

// Three frames are two pairs; the shipped vision file has the summed kernel only.
static void test_video_in_a_prompt(void **state) {
    (void)state;
    const double seconds[] = {0, 0.5, 12.25};
    struct glint_picture *video, *picture = open_picture(red);
    struct glint_error error = {.status = GLINT_OK};
    struct glint_picture_source source = {.name = "v",
                                          .frame = frame_at,
                                          .width = SIDE,
                                          .height = SIDE,
                                          .n_frames = 3,
                                          .seconds = seconds};
    expect_fail(glint_picture_open(&video, vision, &source, &error), GLINT_E_UNSUPPORTED, &error,
                "the vision file cannot tell two frames apart"); // clients get no path
    source.summed_kernel = true;
    n_frame_left = 1;
    expect_fail(glint_picture_open(&video, vision, &source, &error), GLINT_E_FORMAT, &error,
                "v: frame 2 of 3 cannot be read");
    n_frame_left = 3;
    check(glint_picture_open(&video, vision, &source, &error), &error);
    assert_int_equal(glint_picture_info(video).n_tokens, 2 * N_TOKEN);
    int32_t place[2] = {glint_special_id(engine, "<|video|>"), 100}, expected[200];
    struct glint_ids ids = {place, 2}, out, want = {expected, 0};
    check(glint_expand_pictures(engine, &ids, &video, 1, &out, &error), &error);
    put_id(&want, "<|vid_start|>", 1);
    put_word(&want, "Time: 0.0s");
    put_id(&want, "<|video|>", N_TOKEN);
    put_id(&want, "<|vid_frame_separator|>", 1);
    put_word(&want, "Time: 12.2s");
    put_id(&want, "<|video|>", N_TOKEN);
    put_id(&want, "<|vid_end|>", 1);
    want.data[want.n++] = 100;
    assert_int_equal(out.n, want.n);
    assert_memory_equal(out.data, want.data, want.n * sizeof *want.data);
    struct glint_session *session = open_session(&video, 1);
    assert_int_equal(sync_ids(session, &out), 0);
    glint_session_close(&session);
    glint_ids_free(&out);
    expect_fail(glint_expand_pictures(engine, &ids, &picture, 1, &out, &error), GLINT_E_ARG, &error,
                "is for a video, found a picture");
    glint_picture_close(&video);
    glint_picture_close(&picture);
}

static void test_cancel(void **state) {
    (void)state;
    uint8_t *grey = glint_alloc(PIXELS, 1);
    memset(grey, 77, PIXELS);
    struct glint_picture *a = open_picture(grey);
    struct glint_error error = {.status = GLINT_OK};
    float features[N_TOKEN * 256];
    struct glint_picture_stages stages = {.features = features};
    give_up = true;
    expect_fail(glint_picture_look(a, &stages, &error), GLINT_E_CANCELLED, &error, "cancelled");
    give_up = false;
    check(glint_picture_look(a, &stages, &error), &error);
    glint_picture_close(&a);
    glint_free(grey);
}

static enum glint_status whole_life(void *context, struct glint_error *err) {
    (void)context;
    struct glint_vision *own = NULL;
    struct glint_picture *picture = NULL;
    static float features[N_TOKEN * 256];
    struct glint_picture_stages stages = {.features = features};
    struct glint_picture_source source = {.rgb = red, .width = 40, .height = 30};
    enum glint_status status = glint_vision_open(&own, &vision_params, err);
    if (status == GLINT_OK)
        status = glint_picture_open(&picture, own, &source, err);
    if (status == GLINT_OK)
        status = glint_picture_look(picture, &stages, err);
    glint_picture_close(&picture);
    glint_vision_close(&own);
    return status;
}

static void test_faults(void **state) {
    (void)state;
    assert_true(glint_fault_each(whole_life, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix_reuse),
        cmocka_unit_test(test_pieces_and_order),
        cmocka_unit_test(test_forgetting),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_video_in_a_prompt),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
