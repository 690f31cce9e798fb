// SPDX-License-Identifier: Apache-2.0
// fuzz_picture.c — a picture file of any format decodes to pixels that are all there, or there is
// an error with a text.
#include "base/alloc.h"
#include "fuzz/fuzz.h"
#include "vision/picture_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_picture_file file = {data, n, "input"};
    struct glint_rgb rgb;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_picture_decode(&rgb, &file, &err) != GLINT_OK) {
        if (err.text[0] == 0 || rgb.data)
            abort();
        return 0;
    }
    if (rgb.width < 1 || rgb.height < 1 || (int64_t)rgb.width * rgb.height > GLINT_PICTURE_PIXELS)
        abort();
    volatile uint8_t last = rgb.data[(size_t)rgb.width * (size_t)rgb.height * 3 - 1];
    (void)last;
    glint_free(rgb.data);
    return 0;
}
