// SPDX-License-Identifier: Apache-2.0
// scratch.h — a temporary folder for tests that need files, and deterministic random numbers.
#ifndef GLINT_TESTS_UNIT_FORMAT_SCRATCH_H
#define GLINT_TESTS_UNIT_FORMAT_SCRATCH_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct scratch {
    char folder[256];
    char path[600]; // of the last scratch_path
};

static inline void scratch_open(struct scratch *scratch) {
    const char *base = getenv("TMPDIR");
    snprintf(scratch->folder, sizeof scratch->folder, "%.200s/glint-test-XXXXXX",
             base ? base : "/tmp");
    assert_non_null(mkdtemp(scratch->folder));
}

static inline const char *scratch_path(struct scratch *scratch, const char *name) {
    snprintf(scratch->path, sizeof scratch->path, "%s/%s", scratch->folder, name);
    return scratch->path;
}

// Files now in the folder.
static inline int scratch_count(const struct scratch *scratch) {
    DIR *dir = opendir(scratch->folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static inline void scratch_close(struct scratch *scratch) {
    DIR *dir = opendir(scratch->folder);
    assert_non_null(dir);
    char path[600];
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", scratch->folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(path);
    }
    closedir(dir);
    assert_int_equal(rmdir(scratch->folder), 0);
}

static inline void scratch_write(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

// The whole file, from malloc; *n its size.
static inline uint8_t *scratch_read(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot open", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*n + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *n, file), *n);
    data[*n] = 0;
    fclose(file);
    return data;
}

// splitmix64: the same numbers on every machine.
static inline uint64_t scratch_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// One to four changes of bytes, and now and then a cut; returns the new size. Half of the changes
// write values that upset lengths: 0, 0x7f, 0x80, 0xff.
static inline size_t scratch_mutate(uint8_t *data, size_t n, uint64_t *state) {
    static const uint8_t nasty[] = {0, 1, 0x7f, 0x80, 0xff};
    for (uint64_t i = 1 + scratch_random(state) % 4; i > 0; i--) {
        uint64_t r = scratch_random(state);
        uint8_t *at = &data[r % n];
        if (r >> 32 & 1)
            *at = nasty[(r >> 33) % sizeof nasty];
        else if (r >> 40 & 1)
            *at ^= (uint8_t)(1u << (r >> 41 & 7));
        else
            *at = (uint8_t)(r >> 48);
    }
    return scratch_random(state) % 8 == 0 ? scratch_random(state) % n : n;
}

#endif
