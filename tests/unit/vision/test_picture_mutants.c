// SPDX-License-Identifier: Apache-2.0
// Picture files with a few bytes changed, cut or moved, 10,000 a format: what is refused is refused
// with a text, within a second of processor time and 200 MB. The files are read in a child, whose
// largest size so far shows what each took. One that decodes may take more, since it may claim a
// large picture; after such a one the next child goes on.
#include "base/alloc.h"
#include "sanitized.h"
#include "unit/vision/picture_samples.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N_MUTANT = 10000,
    N_SANITIZED = 1000,
    N_SOME = 1000, // of the formats whose decoders take milliseconds to start
    MAX_BYTES = 200000000,
};

// What the child tells.
struct progress {
    int n_done, n_refused;
    double most_seconds;
    long long most_bytes;
    char failure[300];
};

static uint32_t draw(uint64_t *state) { // xorshift
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

// The i-th of a name; for free().
static uint8_t *mutant(const char *name, int i, size_t *n) {
    struct glint_picture_file file = load(name);
    uint64_t random = 88172645463325252U + (uint64_t)i * 0x9e3779b97f4a7c15U;
    *n = file.n;
    draw(&random);
    for (uint32_t change = draw(&random) % 6; change != 0; change--)
        file_bytes[draw(&random) % *n] = (uint8_t)draw(&random);
    uint32_t kind = draw(&random) % 8;
    if (kind == 0)
        *n = draw(&random) % *n;
    if (kind == 1) // a piece twice
        memmove(file_bytes + *n / 2, file_bytes + draw(&random) % (*n / 2), *n / 3);
    uint8_t *exact = malloc(*n); // so that sanitizers see the end
    memcpy(exact, file_bytes, *n);
    return exact;
}

static double seconds_of(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

// Of this process and of the decoders that it started: processor time so far, largest size so far.
static void look(double *seconds, long long *bytes) {
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    *seconds = seconds_of(&self) + seconds_of(&children);
    long long kib = self.ru_maxrss > children.ru_maxrss ? self.ru_maxrss : children.ru_maxrss;
    *bytes = kib * 1024;
}

static void complain(struct progress *progress, const char *name, int i, const char *what) {
    snprintf(progress->failure, sizeof progress->failure, "%s, mutant %d: %s", name, i, what);
    _exit(1);
}

static void read_mutants(const char *const *names, int n, struct progress *progress) {
    double begin, end;
    long long first, bytes;
    look(&begin, &first);
    for (int i = progress->n_done; i < n; i++) {
        struct glint_picture_file file = {.name = names[i % 2]};
        struct glint_rgb rgb;
        struct glint_error error = {0};
        size_t before = glint_alloc_live_bytes();
        uint8_t *data = mutant(file.name, i, &file.n);
        file.data = data;
        look(&begin, &bytes);
        enum glint_status status = glint_picture_decode(&rgb, &file, &error);
        look(&end, &bytes);
        progress->n_done = i + 1;
        if (status != GLINT_OK) {
            double seconds = end - begin;
            progress->n_refused++;
            if (error.text[0] == 0 || rgb.data)
                complain(progress, file.name, i, "a failure without a text, or with pixels");
            if (seconds > 1 && !GLINT_SANITIZED)
                complain(progress, file.name, i, "refused after more than a second");
            if (bytes > MAX_BYTES && !GLINT_SANITIZED)
                complain(progress, file.name, i, "refused after more than 200 MB");
            progress->most_seconds =
                seconds > progress->most_seconds ? seconds : progress->most_seconds;
            progress->most_bytes = bytes > progress->most_bytes ? bytes : progress->most_bytes;
        }
        glint_free(rgb.data);
        free(data);
        if (glint_alloc_live_bytes() != before)
            complain(progress, file.name, i, "memory is left over");
        if (status == GLINT_OK && bytes > MAX_BYTES && !GLINT_SANITIZED)
            return; // from here on this process would say nothing
    }
}

static void check_format(const char *first, const char *second, int n) {
    const char *const names[] = {first, second};
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(progress != MAP_FAILED);
    for (int before = -1; progress->n_done < n && progress->n_done != before;) {
        int status;
        before = progress->n_done;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            read_mutants(names, n, progress);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (progress->failure[0] != 0)
            fail_msg("%s", progress->failure);
        if (status != 0)
            fail_msg("%s, mutant %d: the reader ended with status %#x", names[progress->n_done % 2],
                     progress->n_done, (unsigned)status);
    }
    assert_int_equal(progress->n_done, n);
    assert_true(progress->n_refused > n / 10);
    print_message("%s, %s: %d of %d refused, within %.2f s and %.0f MB\n", first, second,
                  progress->n_refused, n, progress->most_seconds,
                  (double)progress->most_bytes / 1e6);
    munmap(progress, sizeof *progress);
}

// With ALL=1 in the environment the slow formats have 10,000 too.
static void test_mutants(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"rgba.png", "interlaced.png"},  {"grey.jpg", "progressive.jpg"},
        {"lossy.webp", "lossless.webp"}, {"straight.gif", "part.gif"},
        {"six_bits.bmp", "runs_8.bmp"},  {"lzw.tif", "plane_tiles.tif"},
        {"lossy.avif", "alpha.avif"},    {"lossy.heic", "turned.heic"}};
    bool all = getenv("ALL") != NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        bool slow = strstr(names[k][0], ".avif") || strstr(names[k][0], ".heic");
        int n = GLINT_SANITIZED ? N_SANITIZED : N_MUTANT;
        if (slow && !all)
            n = N_SOME;
        if (readable(names[k][0]))
            check_format(names[k][0], names[k][1], n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
