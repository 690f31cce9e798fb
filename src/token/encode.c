// SPDX-License-Identifier: Apache-2.0
// encode.c — cuts the text at trusted special tokens, splits the runs between them, merges.
// Special tokens are ASCII and an ill-formed sequence holds no ASCII byte, so matches are looked
// for in the text as it came and each run is repaired on its own: offsets need no mapping.
#include "token/encode.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "token/merge.h"
#include "token/split.h"

#include <string.h>

void glint_encoding_fini(struct glint_encoding *encoding) {
    glint_free(encoding->ids);
    glint_free(encoding->scratch);
    glint_buffer_fini(&encoding->repaired);
    memset(encoding, 0, sizeof *encoding);
}

void glint_encoding_clear(struct glint_encoding *encoding) {
    encoding->n = 0;
}

static enum glint_status reserve(struct glint_encoding *encoding, size_t n,
                                 struct glint_error *err) {
    if (encoding->capacity - encoding->n >= n)
        return GLINT_OK;
    size_t capacity = encoding->n + n + encoding->capacity / 2 + 256;
    int32_t *ids = glint_realloc(encoding->ids, capacity, sizeof *ids);
    if (!ids)
        return glint_fail(err, GLINT_E_NOMEM, "text: no memory for %zu token ids", capacity);
    encoding->ids = ids;
    encoding->capacity = capacity;
    return GLINT_OK;
}

enum { BATCH = 16 }; // pieces looked up together: memory is far away, but many can be on the way

// Next pieces of a run from *begin on; returns how many and moves *begin behind them.
static int next_pieces(const struct glint_vocab *vocab, struct glint_view run, size_t *begin,
                       struct glint_token_key *pieces) {
    int n_pieces = 0;
    while (n_pieces < BATCH && *begin < run.n) {
        size_t end = glint_split_next(run.data, run.n, *begin);
        pieces[n_pieces] = glint_token_key_of(run.data + *begin, end - *begin, run.n - *begin);
        glint_token_table_prefetch(&vocab->ordinary, &pieces[n_pieces]);
        n_pieces++;
        *begin = end;
    }
    return n_pieces;
}

// Ordinary text between two special tokens, well-formed.
static enum glint_status encode_run(const struct glint_vocab *vocab, struct glint_view run,
                                    struct glint_encoding *encoding, struct glint_error *err) {
    struct glint_token_key pieces[BATCH];
    for (size_t begin = 0; begin < run.n;) {
        size_t batch_begin = begin;
        int n_pieces = next_pieces(vocab, run, &begin, pieces);
        GLINT_TRY(reserve(encoding, begin - batch_begin, err));
        for (int i = 0; i < n_pieces; i++) {
            int32_t id = glint_token_table_find(&vocab->ordinary, &pieces[i]);
            struct glint_view piece = {pieces[i].data, pieces[i].n};
            if (id >= 0)
                encoding->ids[encoding->n++] = id;
            else
                GLINT_TRY(glint_merge_piece(vocab, piece, encoding, err));
        }
    }
    return GLINT_OK;
}

static enum glint_status encode_any(const struct glint_vocab *vocab, const char *text, size_t n,
                                    struct glint_encoding *encoding, struct glint_error *err) {
    if (glint_utf8_is_valid(text, n))
        return encode_run(vocab, (struct glint_view){text, n}, encoding, err);
    glint_buffer_clear(&encoding->repaired);
    glint_utf8_repair(&encoding->repaired, text, n);
    if (encoding->repaired.failed) {
        glint_buffer_fini(&encoding->repaired);
        return glint_fail(err, GLINT_E_NOMEM, "text: no memory to repair %zu bytes of UTF-8", n);
    }
    struct glint_view run = {encoding->repaired.data, encoding->repaired.n};
    return encode_run(vocab, run, encoding, err);
}

struct special {
    size_t begin, end; // begin == text.n: none
    int32_t id;
};

// End of `<|[a-z0-9_]+|>` at `begin`, or 0. max: longest special token of the vocabulary.
static size_t special_end(struct glint_view text, size_t begin, size_t max) {
    const char *at = text.data + begin;
    size_t n = text.n - begin < max ? text.n - begin : max;
    if (n < 5 || at[1] != '|')
        return 0;
    size_t i = 2;
    while (i < n &&
           ((at[i] >= 'a' && at[i] <= 'z') || (at[i] >= '0' && at[i] <= '9') || at[i] == '_'))
        i++;
    return i > 2 && i + 1 < n && at[i] == '|' && at[i + 1] == '>' ? begin + i + 2 : 0;
}

// True when an untrusted byte lies before `end`; the ranges before i_range end before the match.
static bool range_covers(const struct glint_encode_input *input, size_t i_range, size_t end) {
    for (size_t i = i_range; i < input->n_untrusted && input->untrusted[i].begin < end; i++)
        if (input->untrusted[i].begin < input->untrusted[i].end)
            return true;
    return false;
}

// First trusted special token at or after `from`. *i_range: first untrusted range that may still
// matter; moves on with the text.
static struct special find_special(const struct glint_vocab *vocab,
                                   const struct glint_encode_input *input, size_t from,
                                   size_t *i_range) {
    struct glint_view text = input->text;
    struct special none = {text.n, text.n, -1};
    while (!input->all_untrusted && from < text.n) {
        const char *at = memchr(text.data + from, '<', text.n - from);
        if (!at)
            break;
        size_t begin = (size_t)(at - text.data);
        from = begin + 1;
        size_t end = special_end(text, begin, vocab->max_special_bytes);
        if (!end)
            continue;
        while (*i_range < input->n_untrusted && input->untrusted[*i_range].end <= begin)
            ++*i_range;
        if (range_covers(input, *i_range, end))
            continue;
        struct glint_view match = {at, end - begin};
        int32_t id = glint_vocab_find_special(vocab, match);
        if (id >= 0)
            return (struct special){begin, end, id};
    }
    return none;
}

static enum glint_status check_ranges(const struct glint_encode_input *input,
                                      struct glint_error *err) {
    size_t previous_end = 0;
    for (size_t i = 0; i < input->n_untrusted; i++) {
        struct glint_byte_range range = input->untrusted[i];
        if (range.begin < previous_end || range.end < range.begin || range.end > input->text.n)
            return glint_fail(err, GLINT_E_ARG,
                              "text: untrusted range %zu is [%zu, %zu), expected an ascending "
                              "range in [%zu, %zu]",
                              i, range.begin, range.end, previous_end, input->text.n);
        previous_end = range.end;
    }
    return GLINT_OK;
}

static enum glint_status encode_all(const struct glint_vocab *vocab,
                                    const struct glint_encode_input *input,
                                    struct glint_encoding *encoding, struct glint_error *err) {
    struct glint_view text = input->text;
    size_t i_range = 0;
    int32_t bos = glint_vocab_bos(vocab);
    for (size_t at = 0;;) {
        struct special special = find_special(vocab, input, at, &i_range);
        GLINT_TRY(reserve(encoding, 2, err));
        bool is_bos = special.begin == 0 && special.id == bos;
        if (at == 0 && input->add_bos && bos >= 0 && !is_bos)
            encoding->ids[encoding->n++] = bos;
        if (special.begin > at)
            GLINT_TRY(encode_any(vocab, text.data + at, special.begin - at, encoding, err));
        if (special.id < 0)
            return GLINT_OK;
        GLINT_TRY(reserve(encoding, 1, err));
        encoding->ids[encoding->n++] = special.id;
        at = special.end;
    }
}

enum glint_status glint_encode(const struct glint_vocab *vocab,
                               const struct glint_encode_input *input,
                               struct glint_encoding *encoding, struct glint_error *err) {
    size_t n = encoding->n;
    GLINT_TRY(check_ranges(input, err));
    enum glint_status status = encode_all(vocab, input, encoding, err);
    if (status != GLINT_OK)
        encoding->n = n;
    return status;
}
