// SPDX-License-Identifier: Apache-2.0
// cmd_tokenize.c — `glint tokenize`: text on standard input to token ids, one a line.
// The text is read in blocks and each block is cut where that changes no id, so memory stays
// small for any ordinary text; one without such a place is kept whole.
#include "cmd.h"
#include "options.h"
#include "progress.h"

#include <errno.h>
#include <glint/glint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_MODEL = 1, OPT_SPECIAL, OPT_BOS, OPT_IDS, OPT_VERBOSE };

enum { BLOCK_BYTES = 1 << 20, LINE_BYTES = 16 };

static const struct glint_option options[] = {
    {OPT_MODEL, {"m", "model"}, "FILE", "GGUF file whose vocabulary to use"},
    {OPT_SPECIAL, {"special"}, NULL, "the texts of special tokens count as those tokens"},
    {OPT_BOS, {"bos"}, NULL, "begin with the BOS token if the model wants one"},
    {OPT_IDS, {"ids"}, NULL, "ids only, one a line (this is the default)"},
    {OPT_VERBOSE, {"v", "verbose"}, NULL, "tell count and speed on stderr"},
    {0},
};

static const struct glint_command command = {
    "tokenize",
    "-m MODEL [--special] < TEXT",
    "Turns text on standard input into token ids, one a line.",
    options,
};

struct request {
    const char *model;
    bool special, bos, verbose;
};

struct block {
    char *data; // [capacity] text that is not encoded yet
    size_t n, capacity;
    bool at_end; // of standard input
};

struct counts {
    uint64_t n_bytes, n_ids;
    double ms; // spent encoding
};

// Fills the block up; false after printing what went wrong.
static bool fill(struct block *block) {
    while (block->n < block->capacity && !block->at_end) {
        ssize_t n = read(STDIN_FILENO, block->data + block->n, block->capacity - block->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fprintf(stderr, "glint tokenize: standard input: %s\n", strerror(errno));
            return false;
        }
        block->n += (size_t)n;
        block->at_end = n == 0;
    }
    return true;
}

static bool grow(struct block *block) {
    char *data = realloc(block->data, 2 * block->capacity);
    if (!data) {
        fprintf(stderr, "glint tokenize: no memory for a text of %zu bytes without a break\n",
                2 * block->capacity);
        return false;
    }
    block->data = data;
    block->capacity *= 2;
    return true;
}

static void print_ids(const struct glint_ids *ids) {
    char lines[512 * LINE_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < ids->n; i++) {
        char digits[LINE_BYTES];
        size_t at = sizeof digits;
        digits[--at] = '\n';
        uint32_t id = (uint32_t)ids->data[i];
        do
            digits[--at] = (char)('0' + id % 10);
        while (id /= 10);
        memcpy(lines + n, digits + at, sizeof digits - at);
        n += sizeof digits - at;
        if (n > sizeof lines - LINE_BYTES || i + 1 == ids->n) {
            fwrite(lines, 1, n, stdout);
            n = 0;
        }
    }
}

// Encodes and prints the first n bytes of the block and drops them.
static bool encode(const struct glint_engine *engine, const struct glint_text *text,
                   struct block *block, struct counts *counts) {
    struct glint_ids ids;
    struct glint_error err;
    double begin = glint_now_ms();
    if (glint_tokenize(engine, text, &ids, &err) != GLINT_OK) {
        fprintf(stderr, "glint tokenize: %s\n", err.text);
        return false;
    }
    counts->ms += glint_now_ms() - begin;
    counts->n_bytes += text->n;
    counts->n_ids += ids.n;
    print_ids(&ids);
    glint_ids_free(&ids);
    block->n -= text->n;
    memmove(block->data, block->data + text->n, block->n);
    return true;
}

static bool encode_input(const struct glint_engine *engine, const struct request *request,
                         struct block *block, struct counts *counts) {
    struct glint_text text = {.special = request->special, .add_bos = request->bos};
    block->capacity = BLOCK_BYTES;
    block->data = malloc(block->capacity);
    if (!block->data) {
        fprintf(stderr, "glint tokenize: no memory\n");
        return false;
    }
    for (;;) {
        if (!fill(block))
            return false;
        text.data = block->data;
        text.n = block->at_end ? block->n : glint_tokenize_cut(block->data, block->n);
        if (text.n == 0 && !block->at_end) {
            if (!grow(block))
                return false;
            continue;
        }
        if (!encode(engine, &text, block, counts))
            return false;
        text.add_bos = false;
        if (block->at_end)
            return true;
    }
}

static int run(const struct request *request) {
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_engine *engine;
    struct glint_error err;
    struct block block = {NULL, 0, 0, false};
    struct counts counts = {0, 0, 0};
    params.model_path = request->model;
    params.vocab_only = true;
    if (glint_engine_open(&engine, &params, &err) != GLINT_OK) {
        fprintf(stderr, "glint tokenize: %s\n", err.text);
        return GLINT_EXIT_FAILED;
    }
    bool done = encode_input(engine, request, &block, &counts);
    free(block.data);
    glint_engine_close(&engine);
    if (done && request->verbose)
        fprintf(stderr, "%llu bytes, %llu tokens, %.3f s, %.1f MB/s\n",
                (unsigned long long)counts.n_bytes, (unsigned long long)counts.n_ids,
                counts.ms / 1e3, glint_per_second((double)counts.n_bytes * 1e-6, counts.ms));
    return done ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}

int glint_cmd_tokenize(int argc, char **argv) {
    struct request request = {NULL, false, false, false};
    struct glint_options state;
    int id;
    glint_options_init(&state, &command, argc, argv);
    while ((id = glint_options_next(&state)) > 0) {
        if (id == OPT_MODEL)
            request.model = state.value;
        request.special |= id == OPT_SPECIAL;
        request.bos |= id == OPT_BOS;
        request.verbose |= id == OPT_VERBOSE;
    }
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!request.model)
        return glint_options_usage(&command, "-m MODEL is missing");
    return run(&request);
}
