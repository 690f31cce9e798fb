// SPDX-License-Identifier: Apache-2.0
// fuzz_tokenizer.c — any vocabulary opens or is refused with a text; with one that opens, any
// text encodes, gives itself back, and says nothing special where it is not trusted.
// Input: a byte of flags, the number of untrusted ranges and two bytes for each (gap, length);
// lines of tokens (T spelling, S special text, U hole, M merge) up to a line that is empty; text.
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "token/decode.h"
#include "token/merge.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 256 + 64, MAX_MERGES = 64, MAX_RANGES = 8, MAX_TEXT = 4096 };

enum { FLAG_ALL_UNTRUSTED = 1, FLAG_BOS = 2, FLAG_RANKED = 4 };

struct input {
    struct glint_view rest; // what is not read yet
    unsigned flags;
    struct glint_byte_range ranges[MAX_RANGES];
    size_t n_ranges;
    char bytes[256][2];
    struct glint_view tokens[MAX_TOKENS], merges[MAX_MERGES];
    int32_t types[MAX_TOKENS];
    struct glint_vocab_source source;
};

static void check(bool condition) {
    if (!condition)
        abort();
}

static unsigned take_byte(struct input *input) {
    if (input->rest.n == 0)
        return 0;
    input->rest.n--;
    return (unsigned char)*input->rest.data++;
}

static struct glint_view take_line(struct input *input) {
    const char *end = input->rest.n ? memchr(input->rest.data, '\n', input->rest.n) : NULL;
    struct glint_view line = input->rest;
    if (end)
        line.n = (size_t)(end - line.data);
    size_t n_taken = line.n + (end != NULL);
    input->rest.data += n_taken;
    input->rest.n -= n_taken;
    return line;
}

static void add_bytes(struct input *input) {
    int n_others = 0;
    for (int byte = 0; byte < 256; byte++) {
        int code = byte;
        if (byte < 0x21 || (byte > 0x7e && byte < 0xa1) || byte == 0xad)
            code = 0x100 + n_others++;
        bool one = code < 0x80;
        input->bytes[byte][0] = (char)(one ? code : 0xc0 | code >> 6);
        input->bytes[byte][1] = (char)(0x80 | (code & 0x3f));
        input->tokens[byte] = (struct glint_view){input->bytes[byte], one ? 1 : 2};
        input->types[byte] = GLINT_TOKEN_NORMAL;
    }
    input->source.n_tokens = 256;
}

static void read_vocab(struct input *input) {
    struct glint_vocab_source *source = &input->source;
    add_bytes(input);
    for (;;) {
        struct glint_view line = take_line(input);
        if (line.n == 0)
            break;
        struct glint_view word = {line.data + 1, line.n - 1};
        if (line.data[0] == 'M' && source->n_merges < MAX_MERGES)
            input->merges[source->n_merges++] = word;
        else if (line.data[0] != 'M' && source->n_tokens < MAX_TOKENS) {
            input->types[source->n_tokens] = line.data[0] == 'T'   ? GLINT_TOKEN_NORMAL
                                             : line.data[0] == 'S' ? GLINT_TOKEN_CONTROL
                                             : line.data[0] == 'U' ? GLINT_TOKEN_UNUSED
                                                                   : line.data[0] - '0';
            input->tokens[source->n_tokens++] = word;
        }
    }
    if (input->flags & FLAG_RANKED)
        source->n_merges = 0;
    source->tokens = input->tokens;
    source->types = input->types;
    source->merges = input->merges;
    source->bos = input->flags & FLAG_BOS ? 256 : -1;
    source->eos = source->eot = source->pad = -1;
}

static void read_input(struct input *input, const uint8_t *data, size_t n) {
    input->rest = (struct glint_view){(const char *)data, n};
    input->flags = take_byte(input);
    input->n_ranges = take_byte(input) % (MAX_RANGES + 1);
    size_t at = 0;
    for (size_t i = 0; i < input->n_ranges; i++) {
        input->ranges[i].begin = at + take_byte(input);
        at = input->ranges[i].end = input->ranges[i].begin + take_byte(input) % 32;
    }
    read_vocab(input);
    if (input->rest.n > MAX_TEXT)
        input->rest.n = MAX_TEXT;
    for (size_t i = 0; i < input->n_ranges; i++) {
        struct glint_byte_range *range = &input->ranges[i];
        range->begin = range->begin < input->rest.n ? range->begin : input->rest.n;
        range->end = range->end < input->rest.n ? range->end : input->rest.n;
    }
}

// The ids spell the repaired text.
static void check_bytes(const struct glint_vocab *vocab, const struct glint_encoding *encoding,
                        size_t first, struct glint_view text) {
    struct glint_buffer joined = {.data = NULL}, wanted = {.data = NULL};
    struct glint_buffer streamed = {.data = NULL};
    struct glint_decoder decoder = {.n_tail = 0};
    bool any_special = false;
    for (size_t i = first; i < encoding->n; i++) {
        struct glint_view bytes = glint_vocab_bytes(vocab, encoding->ids[i]);
        check(bytes.n > 0);
        glint_buffer_append(&joined, bytes.data, bytes.n);
        glint_decoder_push(&decoder, vocab, encoding->ids[i], &streamed);
        check(glint_utf8_is_valid(streamed.data, streamed.n));
        any_special |= glint_vocab_is_special(vocab, encoding->ids[i]);
    }
    glint_decoder_flush(&decoder, &streamed);
    glint_utf8_repair(&wanted, text.data, text.n);
    check(joined.n == wanted.n && (joined.n == 0 || !memcmp(joined.data, wanted.data, joined.n)));
    if (!any_special)
        check(streamed.n == wanted.n &&
              (wanted.n == 0 || !memcmp(streamed.data, wanted.data, wanted.n)));
    glint_buffer_fini(&joined);
    glint_buffer_fini(&wanted);
    glint_buffer_fini(&streamed);
}

// Small windows merge like one large one.
static void check_windows(const struct glint_vocab *vocab, struct glint_view text,
                          struct glint_encoding *encoding) {
    if (text.n == 0)
        return;
    size_t n = encoding->n;
    check(glint_merge_long(vocab, text, text.n, encoding, NULL) == GLINT_OK);
    size_t n_ids = encoding->n - n;
    int32_t *ids = malloc(n_ids * sizeof *ids);
    check(ids != NULL);
    memcpy(ids, encoding->ids + n, n_ids * sizeof *ids);
    for (size_t window = 1; window < text.n; window *= 3) {
        encoding->n = n;
        check(glint_merge_long(vocab, text, window, encoding, NULL) == GLINT_OK);
        check(encoding->n - n == n_ids && memcmp(encoding->ids + n, ids, n_ids * sizeof *ids) == 0);
    }
    free(ids);
}

static void use_vocab(const struct glint_vocab *vocab, struct input *input) {
    struct glint_view text = input->rest;
    struct glint_encode_input encode = {.text = text,
                                        .untrusted = input->ranges,
                                        .n_untrusted = input->n_ranges,
                                        .all_untrusted = input->flags & FLAG_ALL_UNTRUSTED,
                                        .add_bos = input->flags & FLAG_BOS};
    struct glint_encoding encoding = {.ids = NULL};
    check(glint_encode(vocab, &encode, &encoding, NULL) == GLINT_OK);
    bool starts_with_bos = text.n > 0 && glint_vocab_bos(vocab) >= 0;
    if (starts_with_bos) {
        struct glint_view bos = glint_vocab_bytes(vocab, glint_vocab_bos(vocab));
        starts_with_bos = bos.n <= text.n && memcmp(text.data, bos.data, bos.n) == 0;
    }
    bool has_bos = encode.add_bos && glint_vocab_bos(vocab) >= 0;
    if (has_bos)
        check(encoding.ids[0] == glint_vocab_bos(vocab));
    if (!has_bos || !starts_with_bos)
        check_bytes(vocab, &encoding, has_bos, text);
    for (size_t i = has_bos; encode.all_untrusted && i < encoding.n; i++)
        check(!glint_vocab_is_special(vocab, encoding.ids[i]));
    size_t cut = glint_encode_safe_cut(text.data, text.n);
    check(cut <= text.n);
    struct glint_encoding parts = {.ids = NULL};
    encode = (struct glint_encode_input){.text = {text.data, cut}};
    check(glint_encode(vocab, &encode, &parts, NULL) == GLINT_OK);
    encode.text = (struct glint_view){text.data + cut, text.n - cut};
    check(glint_encode(vocab, &encode, &parts, NULL) == GLINT_OK);
    encoding.n = 0;
    encode.text = text;
    check(glint_encode(vocab, &encode, &encoding, NULL) == GLINT_OK);
    check(encoding.n == parts.n &&
          (parts.n == 0 || memcmp(encoding.ids, parts.ids, parts.n * sizeof *parts.ids) == 0));
    glint_encoding_fini(&parts);
    glint_encoding_fini(&encoding);
    // Room for one id a byte, which merging expects.
    encoding.ids = calloc(text.n + 1, sizeof *encoding.ids);
    check(encoding.ids != NULL);
    check_windows(vocab, text, &encoding);
    free(encoding.ids);
    encoding.ids = NULL;
    glint_encoding_fini(&encoding);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static struct input input;
    struct glint_vocab *vocab;
    struct glint_error err = {.text = ""};
    memset(&input, 0, sizeof input);
    read_input(&input, data, n);
    if (glint_vocab_open(&vocab, &input.source, &err) != GLINT_OK)
        check(vocab == NULL && err.text[0] != 0);
    else
        use_vocab(vocab, &input);
    glint_vocab_close(&vocab);
    return 0;
}
