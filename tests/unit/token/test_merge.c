// SPDX-License-Identifier: Apache-2.0
// test_merge.c — both ways of merging against the definition, on vocabularies made to be nasty:
// few letters, random tokens, merges in random order, windows as small as they can be.
#include "token/merge.h"

#include "base/alloc.h"
#include "token_fixture.h"

#include <string.h>

enum { N_EXTRA = 60, MAX_MERGES = 2000, MAX_TEXT = 400 };

// Tokens are plain letters, so that their spelling is their text.
struct toy {
    char texts[256 + N_EXTRA][32];
    struct glint_view tokens[256 + N_EXTRA];
    int32_t types[256 + N_EXTRA];
    char merge_texts[MAX_MERGES][64];
    struct glint_view merges[MAX_MERGES];
    struct glint_vocab_source source;
    struct glint_vocab *vocab;
};

static struct toy toy;

static int64_t find(const char *text, size_t n) {
    for (int64_t i = 0; i < toy.source.n_tokens; i++)
        if (toy.tokens[i].n == n && memcmp(toy.tokens[i].data, text, n) == 0)
            return i;
    return -1;
}

static void add_token(const char *text, size_t n) {
    int64_t i = toy.source.n_tokens++;
    memcpy(toy.texts[i], text, n);
    toy.tokens[i] = (struct glint_view){toy.texts[i], n};
    toy.types[i] = GLINT_TOKEN_NORMAL;
}

// The 256 bytes in the GPT-2 alphabet, letters first in line.
static void add_bytes(void) {
    int n_others = 0;
    for (int byte = 0; byte < 256; byte++) {
        int code = byte;
        if (byte < 0x21 || (byte > 0x7e && byte < 0xa1) || byte == 0xad)
            code = 0x100 + n_others++;
        char text[2] = {(char)(0xc0 | code >> 6), (char)(0x80 | (code & 0x3f))};
        if (code < 0x80)
            add_token((char[]){(char)code}, 1);
        else
            add_token(text, 2);
    }
}

static void open_toy(uint64_t *random, bool with_merges) {
    memset(&toy, 0, sizeof toy);
    add_bytes();
    uint32_t n_letters = 2 + token_fixture_random(random, 3);
    while (toy.source.n_tokens < 256 + N_EXTRA) { // joins of what is there
        char text[64];
        size_t n = 0;
        for (int i = 0; i < 2; i++) {
            int64_t n_made = toy.source.n_tokens - 256;
            uint32_t pick = token_fixture_random(random, n_letters + (uint32_t)n_made);
            struct glint_view part =
                pick < n_letters ? toy.tokens['a' + pick] : toy.tokens[256 + pick - n_letters];
            memcpy(text + n, part.data, part.n);
            n += part.n;
        }
        if (n > 20)
            n = 2;
        if (find(text, n) < 0)
            add_token(text, n);
        else if (token_fixture_random(random, 50) == 0)
            break;
    }
    int64_t n_merges = 0;
    for (int64_t i = 256; with_merges && i < toy.source.n_tokens; i++)
        for (size_t cut = 1; cut < toy.tokens[i].n && n_merges < MAX_MERGES; cut++) {
            const char *text = toy.tokens[i].data;
            size_t n = toy.tokens[i].n;
            if (find(text, cut) < 0 || find(text + cut, n - cut) < 0 ||
                token_fixture_random(random, 4) == 0)
                continue; // some splits are missing, so some tokens cannot be reached
            int64_t at = n_merges++;
            char *merge = toy.merge_texts[at];
            memcpy(merge, text, cut);
            merge[cut] = ' ';
            memcpy(merge + cut + 1, text + cut, n - cut);
            toy.merges[at] = (struct glint_view){merge, n + 1};
            int64_t other = token_fixture_random(random, (uint32_t)n_merges);
            struct glint_view swap = toy.merges[at]; // random order
            toy.merges[at] = toy.merges[other];
            toy.merges[other] = swap;
        }
    toy.source.tokens = toy.tokens;
    toy.source.types = toy.types;
    toy.source.merges = toy.merges;
    toy.source.n_merges = n_merges;
    toy.source.bos = toy.source.eos = toy.source.eot = toy.source.pad = -1;
    struct glint_error err = {.text = ""};
    if (glint_vocab_open(&toy.vocab, &toy.source, &err) != GLINT_OK)
        fail_msg("%s", err.text);
}

// The definition, word by word.
static size_t merge_naively(const char *text, size_t n, int32_t *ids) {
    for (size_t i = 0; i < n; i++)
        ids[i] = toy.vocab->byte_ids[(unsigned char)text[i]];
    for (;;) {
        struct glint_join best = {GLINT_RANK_NONE, -1};
        size_t best_at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            struct glint_join join = glint_pair_table_find(&toy.vocab->pairs, ids[i], ids[i + 1]);
            if (join.rank < best.rank) {
                best = join;
                best_at = i;
            }
        }
        if (best.rank == GLINT_RANK_NONE)
            return n;
        ids[best_at] = best.joined;
        memmove(ids + best_at + 1, ids + best_at + 2, (n - best_at - 2) * sizeof *ids);
        n--;
    }
}

static void check_text(struct glint_view text, struct glint_encoding *encoding) {
    static const size_t windows[] = {1, 2, 3, 5, 8, 13, 24, 40, 64, 100, 250, 4096};
    int32_t wanted[MAX_TEXT];
    size_t n = merge_naively(text.data, text.n, wanted);
    for (size_t i = 0; i <= sizeof windows / sizeof *windows; i++) {
        encoding->n = 0;
        if (i == sizeof windows / sizeof *windows)
            assert_int_equal(glint_merge_piece(toy.vocab, text, encoding, NULL), GLINT_OK);
        else
            assert_int_equal(glint_merge_long(toy.vocab, text, windows[i], encoding, NULL),
                             GLINT_OK);
        if (encoding->n != n || memcmp(encoding->ids, wanted, n * sizeof *wanted) != 0)
            fail_msg("\"%.*s\": window %d differs", (int)text.n, text.data,
                     i < sizeof windows / sizeof *windows ? (int)windows[i] : -1);
    }
}

static void test_against_definition(void **state) {
    (void)state;
    uint64_t random = 5;
    struct glint_encoding encoding = {.capacity = MAX_TEXT};
    encoding.ids = glint_alloc(MAX_TEXT, sizeof *encoding.ids);
    for (int round = 0; round < 150; round++) {
        open_toy(&random, round % 3 > 0);
        for (int i = 0; i < 30; i++) {
            char text[MAX_TEXT];
            size_t n = 1 + token_fixture_random(&random, i % 3 ? 60 : MAX_TEXT - 1);
            size_t period = 1 + token_fixture_random(&random, 12);
            for (size_t j = 0; j < n; j++)
                text[j] = i % 2 && j >= period ? text[j - period]
                                               : (char)('a' + token_fixture_random(&random, 4));
            check_text((struct glint_view){text, n}, &encoding);
        }
        glint_vocab_close(&toy.vocab);
    }
    glint_encoding_fini(&encoding);
}

// A chain that runs from one end to the other: which pairs join depends on where the run starts.
static void test_long_dependence(void **state) {
    (void)state;
    uint64_t random = 6;
    struct glint_encoding encoding = {.capacity = MAX_TEXT};
    encoding.ids = glint_alloc(MAX_TEXT, sizeof *encoding.ids);
    open_toy(&random, false);
    char text[MAX_TEXT];
    memset(text, 'a', sizeof text);
    for (size_t n = 1; n < MAX_TEXT; n += 7)
        check_text((struct glint_view){text, n}, &encoding);
    glint_vocab_close(&toy.vocab);
    glint_encoding_fini(&encoding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_long_dependence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
