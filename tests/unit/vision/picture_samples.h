// SPDX-License-Identifier: Apache-2.0
// picture_samples.h — the files of data/pictures, one at a time, and which of them this build
// reads.
#ifndef GLINT_TESTS_PICTURE_SAMPLES_H
#define GLINT_TESTS_PICTURE_SAMPLES_H

#include "vision/picture_file.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILE = 200000 };

static uint8_t file_bytes[MAX_FILE]; // of the file loaded last

static inline struct glint_picture_file load(const char *name) {
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

// Whether this build has the library for a file of that name.
static inline bool readable(const char *name) {
    const char *end = strrchr(name, '.');
    bool tiff = false, avif = false, heic = false;
#ifdef GLINT_LIBTIFF
    tiff = true;
#endif
#ifdef GLINT_LIBAVIF
    avif = true;
#endif
#ifdef GLINT_LIBHEIF
    heic = true;
#endif
    return strcmp(end, ".tif") == 0    ? tiff
           : strcmp(end, ".avif") == 0 ? avif
           : strcmp(end, ".heic") == 0 ? heic
                                       : true;
}

#endif
