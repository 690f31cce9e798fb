// SPDX-License-Identifier: Apache-2.0
// test_encode_limits.c — hostile texts: long pieces on a stack of 512 KiB, and time that grows
// with the length and no faster.
#include "base/alloc.h"
#include "base/utf8.h"
#include "token_fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK_BYTES = 512 * 1024, ROUNDS = 3 };

static struct glint_vocab *vocab;

static int setup(void **state) {
    (void)state;
    vocab = token_fixture_vocab(true);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    glint_vocab_close(&vocab);
    return 0;
}

struct job {
    char *text;
    size_t n;
    enum glint_status status;
    struct glint_encoding encoding;
    double seconds; // of this thread alone
};

static void *run_job(void *context) {
    struct job *job = context;
    struct glint_encode_input input = {.text = {job->text, job->n}};
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    job->status = glint_encode(vocab, &input, &job->encoding, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    job->seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    return NULL;
}

// `unit` repeated to n bytes, encoded on a small stack; the ids must give the text back.
// Returns the best time of several.
static double encode_repeated(struct glint_view unit, size_t n) {
    struct job job = {.text = glint_alloc(n, 1), .n = n / unit.n * unit.n};
    struct glint_buffer joined = {.data = NULL};
    double best = 1e9;
    for (size_t at = 0; at < job.n; at += unit.n)
        memcpy(job.text + at, unit.data, unit.n);
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        glint_encoding_clear(&job.encoding);
        assert_int_equal(pthread_create(&thread, &attributes, run_job, &job), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(job.status, GLINT_OK);
        best = job.seconds < best ? job.seconds : best;
    }
    pthread_attr_destroy(&attributes);
    token_fixture_join(vocab, &job.encoding, &joined);
    if (glint_utf8_is_valid(job.text, job.n)) {
        assert_int_equal(joined.n, job.n);
        assert_memory_equal(joined.data, job.text, job.n);
    }
    glint_buffer_fini(&joined);
    glint_encoding_fini(&job.encoding);
    glint_free(job.text);
    return best;
}

// A quadratic step would make it 4 times. Tests share the machine, so a bad measurement is
// repeated.
static void check_growth(const char *unit, size_t n) {
    double growth = 0;
    for (int attempt = 0; attempt < 6; attempt++) {
        double once = encode_repeated(glint_view_of(unit), n);
        growth = encode_repeated(glint_view_of(unit), 2 * n) / once;
        print_message("%zu bytes of \"%.12s\": %.1f ms, twice as many %.2f times\n", n, unit,
                      once * 1e3, growth);
        if (growth < 2.5)
            return;
    }
    fail_msg("\"%s\": twice the length takes %.2f times as long", unit, growth);
}

static void test_long_pieces(void **state) {
    (void)state;
    check_growth("a", 50000);
    check_growth(" ", 100000);
    check_growth("x\xc3\xa9q", 1 << 20);              // 1 MiB without a break
    check_growth("\xcc\x81", 120000);                 // combining marks
    check_growth("\xe4\xb8\x96\xe7\x95\x8c", 120000); // ideographs
    check_growth("ABC", 120000);
}

// Texts that make a careless scanner read the same run again and again.
static void test_looking_back(void **state) {
    (void)state;
    check_growth("\xcc\x81"
                 "AAAAAAAAAAAAAAAA1",
                 400000);
    check_growth("\xc2\xaa"
                 "A",
                 400000);
    check_growth("'s'", 120000);
    check_growth("\r\n \t", 120000);
    check_growth("<|", 120000);
    check_growth("<|a", 120000);
    check_growth("<|eot|", 120000);
    check_growth("\xff", 120000);
    check_growth("!/\n", 120000);
    // One capital run behind a mark: the mark gives it all back once.
    size_t n = 1 << 20;
    char *text = glint_alloc(n, 1);
    memset(text, 'A', n);
    memcpy(text, "\xcc\x81", 2);
    struct glint_encoding encoding = {.ids = NULL};
    token_fixture_encode(vocab, (struct glint_encode_input){.text = {text, n}}, &encoding);
    glint_encoding_fini(&encoding);
    glint_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_pieces),
        cmocka_unit_test(test_looking_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
