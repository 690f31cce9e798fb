// SPDX-License-Identifier: Apache-2.0
// replay.c — runs a fuzz harness over a corpus folder, for builds without libFuzzer.
// Each file is given whole, then cut short: at every length when it is small, else at lengths
// spread evenly. Each input lies in a block of exactly its size, so that the address sanitizer
// sees any read past the end. A block that a harness does not free is a failure.
#include "fuzz/fuzz.h"

#include "base/alloc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CUTS = 1024 };

static int run_cut(const uint8_t *data, size_t n) {
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact)
        return 1;
    memcpy(exact, data, n);
    size_t before = glint_alloc_live_blocks();
    int rc = LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    if (glint_alloc_live_blocks() == before)
        return rc;
    fprintf(stderr, "at length %zu: %zu blocks were not freed\n", n,
            glint_alloc_live_blocks() - before);
    return 1;
}

static int run_bytes(const uint8_t *data, size_t n) {
    int rc = run_cut(data, n);
    size_t step = n / MAX_CUTS + 1;
    for (size_t cut = 0; cut < n && rc == 0; cut += step)
        rc = run_cut(data, cut);
    return rc;
}

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    uint8_t *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    int rc = 1;
    if (data) {
        rewind(file);
        if (fread(data, 1, (size_t)size, file) == (size_t)size)
            rc = run_bytes(data, (size_t)size);
    }
    if (rc != 0)
        fprintf(stderr, "%s: failed\n", path);
    free(data);
    if (file)
        fclose(file);
    return rc;
}

// Runs the files of one folder; returns how many, or -1 when one failed.
static int run_folder(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    int n_file = 0;
    const struct dirent *entry;
    while (n_file >= 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        n_file = run_file(path) == 0 ? n_file + 1 : -1;
    }
    closedir(dir);
    return n_file;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int n_file = run_folder(argv[1]);
    if (n_file == 0)
        fprintf(stderr, "%s: found no file, expected at least one\n", argv[1]);
    printf("%d files\n", n_file);
    return n_file > 0 ? 0 : 1;
}
