// SPDX-License-Identifier: Apache-2.0
// bench_tokenizer.c — megabytes per second of each stage of the tokenizer on one thread.
// Usage: bench_tokenizer [MODEL.gguf TEXT]. Without arguments only the stages that need no
// vocabulary, on a made-up text. Medians of 9, CPU time.
#include "base/alloc.h"
#include "base/utf8.h"
#include "format/gguf.h"
#include "format/mapped_file.h"
#include "token/decode.h"
#include "token/encode.h"
#include "token/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_SAMPLE = 9, MADE_BYTES = 4 << 20 };

struct bench {
    struct glint_vocab *vocab;
    struct glint_view text;
    struct glint_encoding encoding;
    struct glint_buffer out;
    size_t n_pieces;
};

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_utf8(struct bench *bench) {
    if (!glint_utf8_is_valid(bench->text.data, bench->text.n))
        printf("(not UTF-8)\n");
}

static void split(struct bench *bench) {
    bench->n_pieces = 0;
    for (size_t at = 0; at < bench->text.n; bench->n_pieces++)
        at = glint_split_next(bench->text.data, bench->text.n, at);
}

static void encode(struct bench *bench) {
    struct glint_encode_input input = {.text = bench->text};
    glint_encoding_clear(&bench->encoding);
    glint_encode(bench->vocab, &input, &bench->encoding, NULL);
}

static void decode(struct bench *bench) {
    struct glint_decoder decoder = {.n_tail = 0};
    glint_buffer_clear(&bench->out);
    for (size_t i = 0; i < bench->encoding.n; i++)
        glint_decoder_push(&decoder, bench->vocab, bench->encoding.ids[i], &bench->out);
    glint_decoder_flush(&decoder, &bench->out);
}

static void report(const char *name, void (*stage)(struct bench *), struct bench *bench) {
    double seconds[N_SAMPLE];
    stage(bench);
    for (int i = 0; i < N_SAMPLE; i++) {
        double begin = cpu_seconds();
        stage(bench);
        seconds[i] = cpu_seconds() - begin;
    }
    qsort(seconds, N_SAMPLE, sizeof *seconds, ascending);
    double mb = (double)bench->text.n * 1e-6;
    printf("%-12s %8.1f MB/s  (%.1f to %.1f)\n", name, mb / seconds[N_SAMPLE / 2],
           mb / seconds[N_SAMPLE - 1], mb / seconds[0]);
}

static void report_run(const char *name, const char *unit, struct bench *bench) {
    struct glint_view text = bench->text;
    size_t n_unit = strlen(unit), n = (1 << 20) / n_unit * n_unit;
    char *run = glint_alloc(n, 1);
    if (!run)
        return;
    for (size_t at = 0; at < n; at += n_unit)
        memcpy(run + at, unit, n_unit);
    bench->text = (struct glint_view){run, n};
    report(name, encode, bench);
    bench->text = text;
    glint_free(run);
}

static uint32_t random_below(uint64_t *state, uint32_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

// Words, sentences and paragraphs of about the lengths that English has.
static void make_text(struct glint_buffer *text) {
    static const char letters[] = "etaoinshrdlucmfwypvbgk";
    uint64_t random = 1;
    while (text->n < MADE_BYTES && !text->failed) {
        uint32_t n = 1 + random_below(&random, 4) + random_below(&random, 6);
        for (uint32_t i = 0; i < n; i++)
            glint_buffer_append(text, &letters[random_below(&random, sizeof letters - 1)], 1);
        uint32_t end = random_below(&random, 80);
        glint_buffer_append_text(text, end == 0 ? ".\n\n" : end < 5 ? ". " : end < 10 ? ", " : " ");
    }
}

static void report_all(struct bench *bench) {
    report("UTF-8 check", check_utf8, bench);
    report("split", split, bench);
    printf("%.2f bytes a piece\n", (double)bench->text.n / (double)bench->n_pieces);
    if (!bench->vocab)
        return;
    report("encode", encode, bench);
    printf("%.2f bytes a token\n", (double)bench->text.n / (double)bench->encoding.n);
    report("decode", decode, bench);
    report_run("'a' run", "a", bench);
    report_run("space run", " ", bench);
    report_run("ideographs", "\xe4\xb8\x96\xe7\x95\x8c\xe4\xba\xba", bench);
}

int main(int argc, char **argv) {
    struct bench bench = {.vocab = NULL};
    struct glint_gguf *gguf = NULL;
    struct glint_mapped_file *file = NULL;
    struct glint_buffer made = {.data = NULL};
    struct glint_error err;
    int rc = 0;
    if (argc == 3) {
        double begin = cpu_seconds();
        if (glint_gguf_open(&gguf, argv[1], &err) != GLINT_OK ||
            glint_vocab_open_gguf(&bench.vocab, gguf, &err) != GLINT_OK ||
            glint_mapped_file_open(&file, argv[2], &err) != GLINT_OK) {
            fprintf(stderr, "bench_tokenizer: %s\n", err.text);
            rc = 1;
        }
        printf("open         %8.1f ms\n", (cpu_seconds() - begin) * 1e3);
        if (rc == 0)
            bench.text = (struct glint_view){(const char *)file->data, (size_t)file->n};
    } else {
        make_text(&made);
        bench.text = (struct glint_view){made.data, made.n};
    }
    if (rc == 0)
        report_all(&bench);
    glint_encoding_fini(&bench.encoding);
    glint_buffer_fini(&bench.out);
    glint_buffer_fini(&made);
    glint_vocab_close(&bench.vocab);
    glint_gguf_close(&gguf);
    glint_mapped_file_close(&file);
    return rc;
}
