// SPDX-License-Identifier: Apache-2.0
// test_decode.c — the streaming decoder: vectors, and the same text however the bytes are cut.
#include "token/decode.h"

#include "token_fixture.h"

#include "base/utf8.h"

#include <string.h>

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

static unsigned hex_digit(char c) {
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

// The bytes of one id. The excerpt of the vocabulary lacks one of them (" ok").
static struct glint_view bytes_of(const struct glint_json *hex, const struct glint_json *id,
                                  char out[16]) {
    struct glint_view bytes = {out, hex->text.n / 2};
    int64_t number;
    assert_true(glint_json_to_i64(id, &number) && bytes.n <= 16);
    for (size_t i = 0; i < bytes.n; i++)
        out[i] =
            (char)(hex_digit(hex->text.data[2 * i]) << 4 | hex_digit(hex->text.data[2 * i + 1]));
    if (glint_vocab_is_token(vocab, (int32_t)number))
        assert_true(glint_view_equal(bytes, glint_vocab_bytes(vocab, (int32_t)number)));
    return bytes;
}

static void check_vector(const struct glint_json *line, void *context) {
    (void)context;
    struct glint_decoder decoder = {.n_tail = 0};
    struct glint_buffer out = {.data = NULL}, wanted = {.data = NULL};
    const struct glint_json *emitted = glint_json_first(glint_json_get(line, "emitted"));
    const struct glint_json *hex = glint_json_first(glint_json_get(line, "bytes_hex"));
    for (const struct glint_json *id = glint_json_first(glint_json_get(line, "ids")); id;
         id = id->next, hex = hex->next, emitted = emitted->next) {
        char bytes[16];
        glint_decoder_push_bytes(&decoder, bytes_of(hex, id, bytes), &out);
        glint_buffer_append(&wanted, emitted->text.data, emitted->text.n);
        assert_true(glint_utf8_is_valid(out.data, out.n));
    }
    glint_decoder_flush(&decoder, &out);
    struct glint_view flush = token_fixture_text(line, "flush");
    glint_buffer_append(&wanted, flush.data, flush.n);
    assert_int_equal(out.n, wanted.n);
    assert_memory_equal(out.data, wanted.data, out.n);
    glint_buffer_fini(&out);
    glint_buffer_fini(&wanted);
}

static void test_vectors(void **state) {
    (void)state;
    assert_int_equal(token_fixture_lines("fixtures/chat/detokenize.jsonl", check_vector, NULL), 7);
}

// Any cut of any bytes: always well-formed, together the repair of the whole.
static void test_cuts(void **state) {
    (void)state;
    static const char bytes[] = "aZ\x80\xbf\xc2\xc3\xe0\xe2\xed\xf0\xf4\x9f\xa0\x82\xac\xff";
    uint64_t random = 9;
    struct glint_buffer out = {.data = NULL}, wanted = {.data = NULL};
    for (int round = 0; round < 20000; round++) {
        char text[24];
        size_t n = token_fixture_random(&random, sizeof text);
        for (size_t i = 0; i < n; i++)
            text[i] = bytes[token_fixture_random(&random, sizeof bytes - 1)];
        glint_buffer_clear(&wanted);
        glint_buffer_clear(&out);
        glint_utf8_repair(&wanted, text, n);
        struct glint_decoder decoder = {.n_tail = 0};
        for (size_t at = 0; at < n;) {
            size_t length = 1 + token_fixture_random(&random, 5);
            length = length < n - at ? length : n - at;
            glint_decoder_push_bytes(&decoder, (struct glint_view){text + at, length}, &out);
            assert_true(glint_utf8_is_valid(out.data, out.n));
            assert_true(decoder.n_tail <= 3);
            at += length;
        }
        glint_decoder_flush(&decoder, &out);
        assert_int_equal(out.n, wanted.n);
        assert_memory_equal(out.data ? out.data : "", wanted.data ? wanted.data : "", out.n);
    }
    glint_buffer_fini(&out);
    glint_buffer_fini(&wanted);
}

static void test_special(void **state) {
    (void)state;
    struct glint_decoder decoder = {.n_tail = 0};
    struct glint_buffer out = {.data = NULL};
    static const int32_t ids[] = {25681, 200008, 183, 253, 200007, 25681, 202047, -1, 300000};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        glint_decoder_push(&decoder, vocab, ids[i], &out);
    assert_string_equal(out.data, "hello\xef\xbf\xbdhello");
    assert_int_equal(decoder.n_tail, 0);
    glint_buffer_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_special),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
