// SPDX-License-Identifier: Apache-2.0
// cmd_detokenize.c — `glint detokenize`: token ids on standard input to bytes.
// The bytes are those of the tokens, nothing repaired, special tokens spelled out: what
// `tokenize --special` read comes out again. Ids are separated by white space or commas and are
// read as they come.
#include "cmd.h"
#include "options.h"

#include <errno.h>
#include <glint/glint.h>
#include <stdio.h>
#include <string.h>

enum { OPT_MODEL = 1 };

static const struct glint_option options[] = {
    {OPT_MODEL, {"m", "model"}, "FILE", "GGUF file whose vocabulary to use"},
    {0},
};

static const struct glint_command command = {
    "detokenize",
    "-m MODEL < IDS",
    "Turns token ids on standard input into text: the bytes of the tokens.",
    options,
};

struct reader {
    uint64_t line; // 1 for the first
    char word[24]; // terminated
    bool too_long;
};

static bool is_separator(int c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',';
}

// Next word; false at the end of the input.
static bool next_word(struct reader *reader) {
    size_t n = 0;
    int c = getc(stdin);
    for (; is_separator(c); c = getc(stdin))
        reader->line += c == '\n';
    reader->too_long = false;
    for (; c != EOF && !is_separator(c); c = getc(stdin)) {
        if (n + 1 < sizeof reader->word)
            reader->word[n++] = (char)c;
        else
            reader->too_long = true;
    }
    reader->word[n] = 0;
    if (c != EOF)
        ungetc(c, stdin);
    return n > 0;
}

// The id a word spells, or -1.
static int32_t parse_id(const struct reader *reader) {
    int64_t id = 0;
    for (const char *at = reader->word; *at; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        id = 10 * id + (*at - '0');
        if (id > INT32_MAX)
            return -1;
    }
    return reader->too_long ? -1 : (int32_t)id;
}

static bool decode_input(const struct glint_engine *engine) {
    struct reader reader = {.line = 1};
    while (next_word(&reader)) {
        int32_t id = parse_id(&reader);
        size_t n = 0;
        const char *bytes = id < 0 ? NULL : glint_token_bytes(engine, id, &n);
        if (n == 0) { // every token has bytes
            fprintf(stderr,
                    "glint detokenize: standard input: line %llu: found \"%s\", expected the id "
                    "of a token\n",
                    (unsigned long long)reader.line, reader.word);
            return false;
        }
        if (fwrite(bytes, 1, n, stdout) != n)
            break;
    }
    if (ferror(stdin)) {
        fprintf(stderr, "glint detokenize: standard input: %s\n", strerror(errno));
        return false;
    }
    return true;
}

int glint_cmd_detokenize(int argc, char **argv) {
    struct glint_options state;
    struct glint_engine_params params = glint_engine_params_default();
    struct glint_engine *engine;
    struct glint_error err;
    int id;
    glint_options_init(&state, &command, argc, argv);
    while ((id = glint_options_next(&state)) > 0)
        params.model_path = state.value;
    if (id != GLINT_OPTIONS_END)
        return glint_options_exit(id);
    if (!params.model_path)
        return glint_options_usage(&command, "-m MODEL is missing");
    params.vocab_only = true;
    if (glint_engine_open(&engine, &params, &err) != GLINT_OK) {
        fprintf(stderr, "glint detokenize: %s\n", err.text);
        return GLINT_EXIT_FAILED;
    }
    bool done = decode_input(engine);
    glint_engine_close(&engine);
    return done ? GLINT_EXIT_OK : GLINT_EXIT_FAILED;
}
