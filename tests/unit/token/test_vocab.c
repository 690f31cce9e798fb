// SPDX-License-Identifier: Apache-2.0
// test_vocab.c — what the loader refuses, in so many words; roles, stops and look-ups; GGUF.
#include "token/vocab.h"

#include "base/alloc.h"
#include "fault.h"
#include "format/gguf_write.h"
#include "token/encode.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 256 + 14, AB = 256, ABC = 257, BC = 258, HOLE = 259, SPECIAL = 260 };

static const char *const special_texts[] = {
    "<|begin_of_text|>", "<|end_of_text|>", "<|eom|>",   "<|eot|>",   "<|start|>",
    "<|message|>",       "<|patch|>",       "<|image|>", "<|video|>", "<|finetune_right_pad|>",
};

// A small legal vocabulary, to be spoilt in one place.
struct parts {
    char bytes[256][2];
    struct glint_view tokens[N];
    int32_t types[N];
    struct glint_view merges[4];
    struct glint_vocab_source source;
};

static void make(struct parts *parts) {
    memset(parts, 0, sizeof *parts);
    int n_others = 0;
    for (int byte = 0; byte < 256; byte++) {
        int code = byte;
        if (byte < 0x21 || (byte > 0x7e && byte < 0xa1) || byte == 0xad)
            code = 0x100 + n_others++;
        bool one = code < 0x80;
        parts->bytes[byte][0] = (char)(one ? code : 0xc0 | code >> 6);
        parts->bytes[byte][1] = (char)(0x80 | (code & 0x3f));
        parts->tokens[byte] = (struct glint_view){parts->bytes[byte], one ? 1 : 2};
    }
    parts->tokens[AB] = glint_view_of("ab");
    parts->tokens[ABC] = glint_view_of("abc");
    parts->tokens[BC] = glint_view_of("bc");
    for (int i = 0; i < N; i++)
        parts->types[i] = i < SPECIAL ? GLINT_TOKEN_NORMAL : GLINT_TOKEN_CONTROL;
    parts->types[HOLE] = GLINT_TOKEN_UNUSED;
    for (int i = 0; i < 10; i++)
        parts->tokens[SPECIAL + i] = glint_view_of(special_texts[i]);
    parts->merges[0] = glint_view_of("b c");
    parts->merges[1] = glint_view_of("a bc");
    parts->merges[2] = glint_view_of("a b");
    parts->source = (struct glint_vocab_source){.name = "toy.gguf",
                                                .tokens = parts->tokens,
                                                .types = parts->types,
                                                .n_tokens = N,
                                                .merges = parts->merges,
                                                .n_merges = 3,
                                                .bos = -1,
                                                .eos = SPECIAL + 1,
                                                .eot = SPECIAL + 3,
                                                .pad = -1};
}

static struct glint_vocab *open_parts(const struct parts *parts) {
    struct glint_vocab *vocab;
    struct glint_error err = {.text = ""};
    if (glint_vocab_open(&vocab, &parts->source, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return vocab;
}

static void expect_refused(const struct parts *parts, enum glint_status status, const char *text) {
    struct glint_vocab *vocab = NULL;
    struct glint_error err = {.text = ""};
    size_t blocks = glint_alloc_live_blocks();
    assert_int_equal(glint_vocab_open(&vocab, &parts->source, &err), status);
    assert_null(vocab);
    assert_int_equal(glint_alloc_live_blocks(), blocks);
    if (!strstr(err.text, text) || !strstr(err.text, "toy.gguf: "))
        fail_msg("found \"%s\", expected it to hold \"%s\"", err.text, text);
}

static void test_refusals(void **state) {
    (void)state;
    static struct parts p;
    static char long_text[300];
    memset(long_text, 'x', sizeof long_text);
    make(&p);
    p.source.n_tokens = 0;
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens: 0 tokens");
    make(&p);
    p.tokens['q'] = glint_view_of("qq");
    expect_refused(&p, GLINT_E_FORMAT, "no token for byte 0x71, expected all 256");
    make(&p);
    p.tokens[ABC] = glint_view_of("a c");
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens[257]: found \"a c\"");
    make(&p);
    p.tokens[ABC] = glint_view_of("a\xc5");
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens[257]: found ");
    make(&p);
    p.tokens[ABC] = glint_view_of("\xc2\xad"); // U+00AD spells no byte
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens[257]: found ");
    make(&p);
    p.tokens[ABC] = glint_view_of("\xc5\x84"); // one past the last
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens[257]: found ");
    make(&p);
    p.tokens[ABC].n = 0;
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens[257]: empty text");
    make(&p);
    p.tokens[ABC] = (struct glint_view){long_text, sizeof long_text};
    expect_refused(&p, GLINT_E_LIMIT, "tokenizer.ggml.tokens[257]: 300 bytes, expected at most");
    make(&p);
    p.tokens[ABC] = glint_view_of("ab");
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.tokens[257]: same text as token 256");
    make(&p);
    p.tokens[SPECIAL] = p.tokens[SPECIAL + 1];
    expect_refused(&p, GLINT_E_FORMAT, "same text as token 260");
    make(&p);
    p.types[ABC] = 6;
    expect_refused(&p, GLINT_E_UNSUPPORTED, "tokenizer.ggml.token_type[257]: found 6");
    make(&p);
    p.source.eos = N;
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.eos_token_id: found 270");
    make(&p);
    p.source.bos = HOLE;
    expect_refused(&p, GLINT_E_FORMAT, "tokenizer.ggml.bos_token_id: found 259");
}

static void test_merge_refusals(void **state) {
    (void)state;
    static struct parts p;
    static const struct {
        const char *merge, *text;
    } cases[] = {
        {"ab", "tokenizer.ggml.merges[1]: found \"ab\", expected two tokens"},
        {"", "merges[1]: found \"\", expected two tokens"},
        {" ", "expected two tokens"},
        {"a ", "expected two tokens"},
        {" a", "expected two tokens"},
        {"a b c", "expected two tokens"},
        {"bca b", "merges[1]: found \"bca b\", but its left part is no token"},
        {"a bb", "but its right part is no token"},
        {"c a", "but its result is no token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(&p);
        p.merges[1] = glint_view_of(cases[i].merge);
        expect_refused(&p, GLINT_E_FORMAT, cases[i].text);
    }
}

static void test_questions(void **state) {
    (void)state;
    static struct parts p;
    make(&p);
    struct glint_vocab *vocab = open_parts(&p);
    assert_int_equal(glint_vocab_n_tokens(vocab), N);
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        assert_int_equal(glint_vocab_find(vocab, (struct glint_view){&c, 1}), byte);
        struct glint_view bytes = glint_vocab_bytes(vocab, byte);
        assert_true(bytes.n == 1 && bytes.data[0] == c);
    }
    assert_int_equal(glint_vocab_find(vocab, glint_view_of("abc")), ABC);
    assert_int_equal(glint_vocab_find(vocab, glint_view_of("ac")), -1);
    assert_int_equal(glint_vocab_find(vocab, glint_view_of("")), -1);
    assert_int_equal(glint_vocab_find(vocab, glint_view_of("<|eot|>")), -1);
    assert_int_equal(glint_vocab_find_special(vocab, glint_view_of("<|eot|>")), SPECIAL + 3);
    assert_int_equal(glint_vocab_find_special(vocab, glint_view_of("abc")), -1);
    assert_false(glint_vocab_is_token(vocab, HOLE));
    assert_false(glint_vocab_is_token(vocab, -1));
    assert_false(glint_vocab_is_token(vocab, N));
    assert_true(glint_vocab_is_special(vocab, SPECIAL));
    assert_false(glint_vocab_is_special(vocab, ABC));
    assert_int_equal(glint_vocab_bytes(vocab, HOLE).n, 0);
    assert_true(glint_view_is(glint_vocab_bytes(vocab, SPECIAL), "<|begin_of_text|>"));
    assert_int_equal(glint_vocab_dialect(vocab)->patch, SPECIAL + 6);
    assert_int_equal(glint_vocab_dialect(vocab)->vid_end, -1);
    assert_int_equal(glint_vocab_bos(vocab), SPECIAL); // by text, the source names none
    assert_int_equal(glint_vocab_pad(vocab), SPECIAL + 9);
    assert_int_equal(glint_vocab_require_dialect(vocab, NULL), GLINT_OK);
    glint_vocab_close(&vocab);
    glint_vocab_close(&vocab);
    p.tokens[SPECIAL + 5] = glint_view_of("<|other|>");
    vocab = open_parts(&p);
    struct glint_error err;
    assert_int_equal(glint_vocab_require_dialect(vocab, &err), GLINT_E_FORMAT);
    assert_non_null(strstr(err.text, "\"<|message|>\""));
    glint_vocab_close(&vocab);
}

static void test_stops(void **state) {
    (void)state;
    static struct parts p;
    make(&p);
    p.source.eos = SPECIAL + 2; // a file that calls the end of a message the end of text
    struct glint_vocab *vocab = open_parts(&p);
    for (int32_t id = -1; id <= N; id++)
        assert_int_equal(glint_vocab_is_stop(vocab, id), id == SPECIAL + 3);
    glint_vocab_close(&vocab);
    p.source.eos = p.source.eot = -1; // nothing is added by name
    vocab = open_parts(&p);
    for (int32_t id = -1; id <= N; id++)
        assert_false(glint_vocab_is_stop(vocab, id));
    glint_vocab_close(&vocab);
}

// The order of the merges decides; without a list, the order of the tokens.
static void test_ranks(void **state) {
    (void)state;
    static struct parts p;
    struct glint_encoding encoding = {.ids = NULL};
    struct glint_encode_input input = {.text = glint_view_of("abcx")};
    make(&p);
    p.merges[0] = glint_view_of("a b"); // "ab" first: "abc" is then out of reach
    p.merges[2] = glint_view_of("b c");
    for (int listed = 1; listed >= 0; listed--) {
        p.source.n_merges = listed ? 3 : 0;
        struct glint_vocab *vocab = open_parts(&p);
        encoding.n = 0;
        assert_int_equal(glint_encode(vocab, &input, &encoding, NULL), GLINT_OK);
        assert_int_equal(encoding.n, listed ? 3 : 2);
        assert_int_equal(encoding.ids[0], listed ? AB : ABC);
        glint_vocab_close(&vocab);
    }
    glint_encoding_fini(&encoding);
}

static enum glint_status open_once(void *context, struct glint_error *err) {
    struct glint_vocab *vocab;
    enum glint_status status = glint_vocab_open(&vocab, context, err);
    glint_vocab_close(&vocab);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    static struct parts p;
    make(&p);
    assert_true(glint_fault_each(open_once, &p.source) >= 8);
}

static const char gguf_path[] = "test_vocab.gguf";

// spoil: which key is left out or wrong, 0 for none.
static void write_gguf(const struct parts *p, int spoil) {
    struct glint_gguf_writer *writer;
    struct glint_error err = {.text = ""};
    uint64_t dims[] = {32};
    float zeros[32] = {0};
    assert_int_equal(glint_gguf_writer_open(&writer, &err), GLINT_OK);
    if (spoil != 1)
        glint_gguf_put_text(writer, "tokenizer.ggml.model", spoil == 2 ? "llama" : "gpt2");
    if (spoil != 3)
        glint_gguf_put_text(writer, "tokenizer.ggml.pre", spoil == 4 ? "qwen2" : "llama4");
    if (spoil != 5) {
        glint_gguf_put_strings(writer, "tokenizer.ggml.tokens", N);
        for (int i = 0; i < N; i++)
            glint_gguf_put_item(writer, p->tokens[i]);
    }
    if (spoil != 6)
        glint_gguf_put_i32s(writer, "tokenizer.ggml.token_type", p->types, N - (spoil == 7));
    if (spoil != 8) {
        glint_gguf_put_strings(writer, "tokenizer.ggml.merges", 3);
        for (int i = 0; i < 3; i++)
            glint_gguf_put_item(writer, p->merges[i]);
    }
    glint_gguf_put_u32(writer, "tokenizer.ggml.bos_token_id", spoil == 9 ? 4000000000u : SPECIAL);
    glint_gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", SPECIAL + 1);
    glint_gguf_put_u32(writer, "tokenizer.ggml.eot_token_id", SPECIAL + 3);
    glint_gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", spoil != 10);
    glint_gguf_add_tensor(writer, "t", 0, 1, dims);
    if (glint_gguf_writer_begin(writer, gguf_path, &err) != GLINT_OK ||
        glint_gguf_writer_data(writer, zeros, sizeof zeros, &err) != GLINT_OK ||
        glint_gguf_writer_commit(&writer, &err) != GLINT_OK)
        fail_msg("%s", err.text);
}

static void test_gguf(void **state) {
    (void)state;
    static struct parts p;
    static const struct {
        enum glint_status status;
        const char *text;
    } cases[] = {
        {GLINT_OK, ""},
        {GLINT_E_NOTFOUND, "tokenizer.ggml.model"},
        {GLINT_E_UNSUPPORTED, "tokenizer.ggml.model: found \"llama\", expected \"gpt2\""},
        {GLINT_E_NOTFOUND, "tokenizer.ggml.pre"},
        {GLINT_E_UNSUPPORTED, "tokenizer.ggml.pre: found \"qwen2\", expected \"llama4\""},
        {GLINT_E_NOTFOUND, "tokenizer.ggml.tokens: no such key"},
        {GLINT_E_NOTFOUND, "tokenizer.ggml.token_type"},
        {GLINT_E_FORMAT, "tokenizer.ggml.token_type: found 269 items"},
        {GLINT_OK, ""},
        {GLINT_E_FORMAT, "tokenizer.ggml.bos_token_id: found 4000000000"},
        {GLINT_OK, ""},
    };
    make(&p);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        struct glint_gguf *gguf;
        struct glint_vocab *vocab;
        struct glint_error err = {.text = ""};
        write_gguf(&p, i);
        if (glint_gguf_open(&gguf, gguf_path, &err) != GLINT_OK)
            fail_msg("%s", err.text);
        enum glint_status status = glint_vocab_open_gguf(&vocab, gguf, &err);
        glint_gguf_close(&gguf); // nothing of it is kept
        if (status != cases[i].status || !strstr(err.text, cases[i].text))
            fail_msg("case %d: found %s \"%s\"", i, glint_status_name(status), err.text);
        if (status == GLINT_OK) {
            assert_int_equal(glint_vocab_find(vocab, glint_view_of("abc")), ABC);
            assert_int_equal(glint_vocab_bos(vocab), SPECIAL);
            assert_true(glint_vocab_is_stop(vocab, SPECIAL + 1));
            assert_int_equal(glint_vocab_add_bos(vocab), i != 10);
        }
        glint_vocab_close(&vocab);
    }
    unlink(gguf_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_merge_refusals),
        cmocka_unit_test(test_questions), cmocka_unit_test(test_stops),
        cmocka_unit_test(test_ranks),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_gguf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
