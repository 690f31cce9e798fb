// SPDX-License-Identifier: Apache-2.0
// Picture files of every kind, decoded as Pillow decodes them (data/pictures/expected.txt), and
// what is refused: every prefix of them, sizes that are lies, other files.
#include "base/alloc.h"
#include "fault.h"
#include "vision/picture_file.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum { MAX_FILE = 200000, MEBIBYTE = 1 << 20, MAX_LINE = 64, FEW_PIXELS = 20000, N_MUTANT = 10000 };

static uint64_t fnv(const uint8_t *data, size_t n) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ data[i]) * 0x100000001b3;
    return hash;
}

// FNV-1a of short pictures; of long ones that of the CRCs of their mebibytes.
static uint64_t checksum(const uint8_t *data, size_t n) {
    static uint8_t sums[4 * 600];
    size_t n_sum = 0;
    if (n <= MEBIBYTE)
        return fnv(data, n);
    for (size_t i = 0; i < n; i += MEBIBYTE) {
        size_t part = n - i < MEBIBYTE ? n - i : MEBIBYTE;
        uint32_t crc = (uint32_t)crc32(0, data + i, (unsigned)part);
        assert_true(n_sum + 4 <= sizeof sums);
        for (int k = 0; k < 4; k++)
            sums[n_sum++] = (uint8_t)(crc >> 8 * k);
    }
    return fnv(sums, n_sum);
}

static uint8_t file_bytes[MAX_FILE];

static struct glint_picture_file load(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "data/pictures/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot open", path);
    size_t n = fread(file_bytes, 1, sizeof file_bytes, file);
    fclose(file);
    assert_true(n < sizeof file_bytes);
    return (struct glint_picture_file){file_bytes, n, name};
}

struct expected {
    char name[MAX_LINE];
    int width, height;
    uint64_t sum;
};

// Calls check for every line of expected.txt.
static void for_each(void (*check)(const struct expected *expected)) {
    FILE *list = fopen("data/pictures/expected.txt", "r");
    assert_non_null(list);
    struct expected expected;
    int n = 0;
    while (fscanf(list, "%63s %d %d %" SCNx64, expected.name, &expected.width, &expected.height,
                  &expected.sum) == 4) {
        check(&expected);
        n++;
    }
    fclose(list);
    assert_true(n >= 40);
}

static void check_decoded(const struct expected *expected) {
    struct glint_picture_file file = load(expected->name);
    struct glint_rgb rgb;
    struct glint_error error = {0};
    if (glint_picture_decode(&rgb, &file, &error) != GLINT_OK)
        fail_msg("%s", error.text);
    uint64_t sum = checksum(rgb.data, (size_t)rgb.width * (size_t)rgb.height * 3);
    if (rgb.width != expected->width || rgb.height != expected->height || sum != expected->sum)
        fail_msg("%s: got %d x %d, %016" PRIx64 "; expected %d x %d, %016" PRIx64, expected->name,
                 rgb.width, rgb.height, sum, expected->width, expected->height, expected->sum);
    glint_free(rgb.data);
}

static void test_as_pillow(void **state) {
    (void)state;
    for_each(check_decoded);
}

// A prefix decodes only where nothing but the mark of the end is missing (GIF, run lengths); the
// pixels are then the whole picture's.
static void check_prefixes(const struct expected *expected) {
    if (expected->width * expected->height > FEW_PIXELS)
        return;
    struct glint_picture_file file = load(expected->name);
    size_t whole = file.n, n_good = 0;
    for (size_t n = 0; n < whole; n++) {
        uint8_t *exact = glint_alloc(n, 1); // so that sanitizers see the end
        memcpy(exact, file.data, n);
        struct glint_picture_file prefix = {exact, n, expected->name};
        struct glint_rgb rgb;
        struct glint_error error = {0};
        if (glint_picture_decode(&rgb, &prefix, &error) == GLINT_OK) {
            assert_int_equal(rgb.width, expected->width);
            n_good++;
            assert_true(checksum(rgb.data, (size_t)rgb.width * (size_t)rgb.height * 3) ==
                        expected->sum);
        } else {
            assert_null(rgb.data);
            assert_non_null(strstr(error.text, expected->name));
        }
        glint_free(rgb.data);
        glint_free(exact);
    }
    if (n_good > 0 && !strstr(expected->name, ".gif") && !strstr(expected->name, "runs"))
        fail_msg("%s: %zu prefixes decode", expected->name, n_good);
}

static void test_prefixes(void **state) {
    (void)state;
    for_each(check_prefixes);
}

// ---- lies -----------------------------------------------------------------------------------

static void refuse(const uint8_t *data, size_t n, enum glint_status expected) {
    struct glint_picture_file file = {data, n, "lie"};
    struct glint_rgb rgb;
    struct glint_error error = {0};
    size_t before = glint_alloc_live_bytes();
    enum glint_status status = glint_picture_decode(&rgb, &file, &error);
    if (status != expected)
        fail_msg("status %d, expected %d: %s", status, expected, error.text);
    assert_int_equal(glint_alloc_live_bytes(), before);
}

static void put(uint8_t *at, uint32_t x, int n, bool big) {
    for (int i = 0; i < n; i++)
        at[i] = (uint8_t)(x >> 8 * (big ? n - 1 - i : i));
}

// Each says 50,000 x 50,000 pixels, or as many as its format can.
static void test_bombs(void **state) {
    (void)state;
    const uint32_t side = 50000;
    struct glint_picture_file file = load("rgb.png");
    put(file_bytes + 16, side, 4, true);
    put(file_bytes + 20, side, 4, true);
    put(file_bytes + 29, (uint32_t)crc32(0, file_bytes + 12, 17), 4, true);
    refuse(file_bytes, file.n, GLINT_E_LIMIT);
    file = load("full_chroma.jpg");
    size_t at = 2; // the frame header behind the tables
    while (file_bytes[at + 1] != 0xc0)
        at += 2 + (size_t)(file_bytes[at + 2] << 8 | file_bytes[at + 3]);
    put(file_bytes + at + 5, side, 2, true);
    put(file_bytes + at + 7, side, 2, true);
    refuse(file_bytes, file.n, GLINT_E_LIMIT);
    file = load("straight.gif");
    put(file_bytes + 6, side, 2, false);
    put(file_bytes + 8, side, 2, false);
    refuse(file_bytes, file.n, GLINT_E_LIMIT);
    file = load("runs_8.bmp");
    put(file_bytes + 18, side, 4, false);
    put(file_bytes + 22, side, 4, false);
    refuse(file_bytes, file.n, GLINT_E_LIMIT);
    file = load("rgb.bmp");
    put(file_bytes + 18, side, 4, false);
    put(file_bytes + 22, side, 4, false);
    refuse(file_bytes, file.n, GLINT_E_FORMAT); // the pixels are not there
    file = load("animated.webp");
    put(file_bytes + 24, side - 1, 3, false); // of the canvas
    put(file_bytes + 27, side - 1, 3, false);
    refuse(file_bytes, file.n, GLINT_E_LIMIT);
}

// ---- mutated files --------------------------------------------------------------------------

static uint32_t draw(uint64_t *state) { // xorshift
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

static void check_mutant(const uint8_t *data, size_t n, const char *name) {
    struct glint_picture_file file = {data, n, name};
    struct glint_rgb rgb;
    struct glint_error error = {0};
    clock_t begin = clock();
    enum glint_status status = glint_picture_decode(&rgb, &file, &error);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (status != GLINT_OK && (error.text[0] == 0 || rgb.data))
        fail_msg("%s: a failure without a text, or with pixels", name);
    if (status != GLINT_OK && seconds > 1)
        fail_msg("%s: refused after %.1f s", name, seconds);
    glint_free(rgb.data);
}

// Files of each format with a few bytes changed, cut or moved.
static void test_mutants(void **state) {
    (void)state;
    static const char *const names[][2] = {{"rgba.png", "interlaced.png"},
                                           {"grey.jpg", "progressive.jpg"},
                                           {"lossy.webp", "lossless.webp"},
                                           {"straight.gif", "part.gif"},
                                           {"six_bits.bmp", "runs_8.bmp"}};
    uint64_t random = 88172645463325252;
    size_t before = glint_alloc_live_bytes();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int i = 0; i < N_MUTANT; i++) {
            struct glint_picture_file file = load(names[k][i % 2]);
            size_t n = file.n;
            for (uint32_t change = draw(&random) % 6; change != 0; change--)
                file_bytes[draw(&random) % n] = (uint8_t)draw(&random);
            uint32_t kind = draw(&random) % 8;
            if (kind == 0)
                n = draw(&random) % n;
            if (kind == 1) // a piece twice
                memmove(file_bytes + n / 2, file_bytes + draw(&random) % (n / 2), n / 3);
            uint8_t *exact = malloc(n); // so that sanitizers see the end
            memcpy(exact, file_bytes, n);
            check_mutant(exact, n, names[k][i % 2]);
            free(exact);
        }
    assert_int_equal(glint_alloc_live_bytes(), before);
}

static void test_other_files(void **state) {
    (void)state;
    refuse((const uint8_t *)"", 0, GLINT_E_FORMAT);
    refuse((const uint8_t *)"GGUF and so on", 14, GLINT_E_FORMAT);
    refuse((const uint8_t *)"<svg></svg>", 11, GLINT_E_FORMAT);
}

static enum glint_status decode_one(void *context, struct glint_error *err) {
    const struct glint_picture_file *file = context;
    struct glint_rgb rgb;
    enum glint_status status = glint_picture_decode(&rgb, file, err);
    glint_free(rgb.data);
    return status;
}

static void test_faults(void **state) {
    (void)state;
    static const char *const names[] = {"exif.png",         "interlaced.png", "cmyk.jpg",
                                        "exif.webp",        "part.gif",       "runs_8.bmp",
                                        "orientation_6.jpg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct glint_picture_file file = load(names[i]);
        assert_true(glint_fault_each(decode_one, &file) >= 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_pillow),   cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_bombs),       cmocka_unit_test(test_mutants),
        cmocka_unit_test(test_other_files), cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
