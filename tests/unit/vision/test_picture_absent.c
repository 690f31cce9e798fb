// SPDX-License-Identifier: Apache-2.0
// A build without libtiff, libavif and libheif (this program compiles picture_file.c without them):
// such a picture is refused with its format's and its library's name.
#include "unit/vision/picture_samples.h"

static void check(const char *name, const char *format, const char *library) {
    struct glint_picture_file file = load(name);
    struct glint_rgb rgb;
    struct glint_error error = {0};
    assert_int_equal(glint_picture_decode(&rgb, &file, &error), GLINT_E_UNSUPPORTED);
    assert_null(rgb.data);
    assert_non_null(strstr(error.text, name));
    assert_non_null(strstr(error.text, format));
    assert_non_null(strstr(error.text, library));
}

static void test_absent(void **state) {
    (void)state;
    check("rgb.tif", "TIFF", "libtiff");
    check("rgb_16.tif", "TIFF", "libtiff"); // the other order of bytes
    check("big.tif", "TIFF", "libtiff");
    check("lossless.avif", "AVIF", "libavif");
    check("frames.avif", "AVIF", "libavif");
    check("lossless.heic", "HEIC", "libheif");
}

static void test_brands(void **state) {
    (void)state;
    // a general brand with the special one behind it; a video; brands that end with the file
    struct glint_picture_file file = {(const uint8_t *)"\0\0\0\x1c"
                                                       "ftypmif1\0\0\0\0mif1miafavif",
                                      28, "brands"};
    struct glint_rgb rgb;
    struct glint_error error = {0};
    assert_int_equal(glint_picture_decode(&rgb, &file, &error), GLINT_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "libavif"));
    file.n = 27;
    assert_int_equal(glint_picture_decode(&rgb, &file, &error), GLINT_E_FORMAT);
    file = (struct glint_picture_file){(const uint8_t *)"\xff\xff\xff\xff"
                                                        "ftypisom\0\0\0\0isommp42",
                                       24, "brands"};
    assert_int_equal(glint_picture_decode(&rgb, &file, &error), GLINT_E_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_absent),
                                       cmocka_unit_test(test_brands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
