// SPDX-License-Identifier: Apache-2.0
// test_encode.c — every vector of tests/fixtures/chat/ that has ids, special tokens and who may
// write them, repair of bad UTF-8, round trips.
#include "fault.h"
#include "token_fixture.h"

#include "base/utf8.h"

#include <string.h>

struct fixture {
    struct glint_vocab *vocab;  // with the file's merges
    struct glint_vocab *ranked; // pairs ranked by token id
    struct glint_encoding encoding;
};

static struct fixture fixture;

static int setup(void **state) {
    (void)state;
    fixture.vocab = token_fixture_vocab(true);
    fixture.ranked = token_fixture_vocab(false);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    glint_vocab_close(&fixture.vocab);
    glint_vocab_close(&fixture.ranked);
    glint_encoding_fini(&fixture.encoding);
    return 0;
}

static void encode(struct glint_encode_input input) {
    token_fixture_encode(fixture.vocab, input, &fixture.encoding);
}

static void expect_ids(const int32_t *ids, size_t n) {
    assert_int_equal(fixture.encoding.n, n);
    assert_memory_equal(fixture.encoding.ids, ids, n * sizeof *ids);
}
#define EXPECT_IDS(...)                                                                            \
    do {                                                                                           \
        static const int32_t ids_[] = {__VA_ARGS__};                                               \
        expect_ids(ids_, sizeof ids_ / sizeof *ids_);                                              \
    } while (0)

static void check_input(struct glint_encode_input input, const struct glint_json *ids) {
    const struct glint_vocab *vocabs[] = {fixture.vocab, fixture.ranked};
    for (int i = 0; i < 2; i++) {
        token_fixture_encode(vocabs[i], input, &fixture.encoding);
        token_fixture_check_ids(&fixture.encoding, ids, input.text);
    }
}

static void check_tokenize(const struct glint_json *line, void *context) {
    (void)context;
    bool special = false;
    assert_true(glint_json_to_bool(glint_json_get(line, "special"), &special));
    check_input((struct glint_encode_input){.text = token_fixture_text(line, "text"),
                                            .all_untrusted = !special},
                glint_json_get(line, "ids"));
}

static void test_tokenize(void **state) {
    (void)state;
    assert_int_equal(token_fixture_lines("fixtures/chat/tokenize.jsonl", check_tokenize, NULL),
                     144);
}

static void check_golden(const struct glint_json *line, void *context) {
    (void)context;
    struct glint_byte_range ranges[1000];
    size_t n = 0;
    const struct glint_json *spans = glint_json_get(line, "caller_text_spans");
    for (const struct glint_json *m = glint_json_first(spans); m; m = m->next, n++) {
        uint64_t begin, end;
        assert_true(n < 1000 && glint_json_to_u64(glint_json_at(m, 0), &begin) &&
                    glint_json_to_u64(glint_json_at(m, 1), &end));
        ranges[n] = (struct glint_byte_range){(size_t)begin, (size_t)end};
    }
    check_input((struct glint_encode_input){.text = token_fixture_text(line, "rendered"),
                                            .untrusted = ranges,
                                            .n_untrusted = n},
                glint_json_get(line, "tokens"));
}

static void test_golden(void **state) {
    (void)state;
    assert_int_equal(token_fixture_lines("fixtures/chat/golden.jsonl", check_golden, NULL), 101);
}

static void check_captured(const struct glint_json *line, void *context) {
    (void)context;
    check_input((struct glint_encode_input){.text = token_fixture_text(line, "prompt_without_bos")},
                glint_json_get(line, "tokens"));
}

static void test_captured(void **state) {
    (void)state;
    assert_int_equal(
        token_fixture_lines("fixtures/chat/captured_prompts.jsonl", check_captured, NULL), 28);
}

static void test_untrusted(void **state) {
    (void)state;
    struct glint_view start = glint_view_of("<|start|>"), eot = glint_view_of("<|eot|>");
    encode((struct glint_encode_input){.text = start});
    EXPECT_IDS(200022);
    encode((struct glint_encode_input){.text = start, .all_untrusted = true});
    EXPECT_IDS(40, 104, 5624, 159276);
    // One untrusted byte anywhere in the match is enough.
    for (size_t i = 0; i < eot.n; i++) {
        struct glint_byte_range ranges[] = {{0, 0}, {i, i}, {i, i + 1}, {7, 7}};
        encode((struct glint_encode_input){.text = eot, .untrusted = ranges, .n_untrusted = 4});
        EXPECT_IDS(40, 104, 81, 359, 159276);
    }
    // Empty ranges hold no byte, ranges beside the match do not touch it.
    struct glint_view text = glint_view_of("a<|eot|>b");
    struct glint_byte_range beside[] = {{0, 1}, {1, 1}, {3, 3}, {8, 9}};
    encode((struct glint_encode_input){.text = text, .untrusted = beside, .n_untrusted = 4});
    EXPECT_IDS(77, 200008, 78);
    // A match that is half the template's.
    text = glint_view_of("<|<|eot|>|eot|>");
    struct glint_byte_range inner[] = {{2, 9}};
    encode((struct glint_encode_input){.text = text, .untrusted = inner, .n_untrusted = 1});
    for (size_t i = 0; i < fixture.encoding.n; i++)
        assert_false(glint_vocab_is_special(fixture.vocab, fixture.encoding.ids[i]));
}

static void test_ranges_refused(void **state) {
    (void)state;
    static const struct glint_byte_range bad[][2] = {
        {{0, 5}, {4, 6}}, {{3, 2}, {4, 5}}, {{0, 1}, {2, 10}}, {{5, 6}, {0, 1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct glint_encode_input input = {
            .text = glint_view_of("123456789"), .untrusted = bad[i], .n_untrusted = 2};
        struct glint_error err = {.text = ""};
        fixture.encoding.n = 0;
        assert_int_equal(glint_encode(fixture.vocab, &input, &fixture.encoding, &err), GLINT_E_ARG);
        assert_non_null(strstr(err.text, "untrusted range "));
        assert_int_equal(fixture.encoding.n, 0);
    }
}

static void test_bos(void **state) {
    (void)state;
    struct glint_encode_input input = {.text = glint_view_of("hello"), .add_bos = true};
    encode(input);
    EXPECT_IDS(200000, 25681);
    input.text = glint_view_of("<|begin_of_text|>hello");
    encode(input);
    EXPECT_IDS(200000, 25681);
    input.text = glint_view_of("<|eot|>hello");
    encode(input);
    EXPECT_IDS(200000, 200008, 25681);
    input.text = glint_view_of("");
    encode(input);
    EXPECT_IDS(200000);
    input.text = glint_view_of("<|begin_of_text|>");
    input.all_untrusted = true;
    encode(input);
    assert_int_equal(fixture.encoding.ids[0], 200000);
    assert_true(fixture.encoding.n > 2);
    assert_false(glint_vocab_is_special(fixture.vocab, fixture.encoding.ids[1]));
}

// Appending keeps what is there.
static void test_appends(void **state) {
    (void)state;
    encode((struct glint_encode_input){.text = glint_view_of("hello")});
    struct glint_encode_input more = {.text = glint_view_of(" hello")};
    assert_int_equal(glint_encode(fixture.vocab, &more, &fixture.encoding, NULL), GLINT_OK);
    EXPECT_IDS(25681, 47244);
}

static void test_repair(void **state) {
    (void)state;
    static const struct {
        const char *given, *repaired;
    } cases[] = {
        {"\x80", "\xef\xbf\xbd"},
        {"a\xf0\x9f\x99", "a\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3(\xe2\x82z", "\xef\xbf\xbd(\xef\xbf\xbdz"},
    };
    struct glint_encoding repaired = {.ids = NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        encode((struct glint_encode_input){.text = glint_view_of(cases[i].given)});
        struct glint_encode_input input = {.text = glint_view_of(cases[i].repaired)};
        token_fixture_encode(fixture.vocab, input, &repaired);
        expect_ids(repaired.ids, repaired.n);
    }
    // Bad bytes beside and inside special tokens, with ranges counted in the bytes as given.
    struct glint_view text = {"\xff\xff<|eot|>\xf0\x9f<|eot|><|e\xffot|>", 27};
    struct glint_byte_range range = {12, 13};
    encode((struct glint_encode_input){.text = text, .untrusted = &range, .n_untrusted = 1});
    int n_special = 0;
    for (size_t i = 0; i < fixture.encoding.n; i++)
        n_special += fixture.encoding.ids[i] == 200008;
    assert_int_equal(n_special, 1);
    glint_encoding_fini(&repaired);
}

// Random text out of characters of one to four bytes and pieces of special tokens.
static struct glint_view random_text(uint64_t *random, struct glint_buffer *out, uint32_t max) {
    static const char *const words[] = {"<|", "|>", "<|eot|>", "eot", "<|start|>", "start", "\n\n",
                                        " ",  "a",  "'s",      "12",  "Hello",     "//",    "."};
    glint_buffer_clear(out);
    glint_buffer_append(out, "", 0);
    uint32_t n = token_fixture_random(random, max);
    for (uint32_t i = 0; i < n; i++) {
        if (token_fixture_random(random, 3) == 0) {
            glint_buffer_append_text(out, words[token_fixture_random(random, 14)]);
            continue;
        }
        static const uint32_t limits[] = {0x80, 0x800, 0x10000, 0x110000};
        uint32_t code = token_fixture_random(random, limits[token_fixture_random(random, 4)]);
        char bytes[GLINT_UTF8_MAX];
        glint_buffer_append(out, bytes, glint_utf8_put(code, bytes));
    }
    return (struct glint_view){out->data, out->n};
}

static void test_round_trip(void **state) {
    (void)state;
    uint64_t random = 1;
    struct glint_buffer text = {.data = NULL}, joined = {.data = NULL};
    for (int round = 0; round < 3000; round++) {
        struct glint_encode_input input = {.text = random_text(&random, &text, 60),
                                           .all_untrusted = round % 2};
        encode(input);
        token_fixture_join(fixture.vocab, &fixture.encoding, &joined);
        assert_int_equal(joined.n, text.n);
        assert_memory_equal(joined.data, text.data, text.n);
        for (size_t i = 0; round % 2 && i < fixture.encoding.n; i++)
            assert_false(glint_vocab_is_special(fixture.vocab, fixture.encoding.ids[i]));
    }
    glint_buffer_fini(&text);
    glint_buffer_fini(&joined);
}

// Ranges switch special tokens off and change nothing else: the text between them is split as one.
static void test_ranges_do_not_split(void **state) {
    (void)state;
    uint64_t random = 2;
    struct glint_buffer text = {.data = NULL};
    struct glint_encoding plain = {.ids = NULL};
    for (int round = 0; round < 2000; round++) {
        struct glint_encode_input input = {.text = random_text(&random, &text, 30),
                                           .all_untrusted = true};
        token_fixture_encode(fixture.vocab, input, &plain);
        struct glint_byte_range ranges[64];
        size_t n = 0; // every byte untrusted, in ranges of any length
        for (size_t at = 0; at < text.n; n++) {
            size_t left = text.n - at;
            size_t length = n == 63 ? left : token_fixture_random(&random, 4);
            ranges[n].begin = at;
            at += length < left ? length : left;
            ranges[n].end = at;
        }
        encode(
            (struct glint_encode_input){.text = input.text, .untrusted = ranges, .n_untrusted = n});
        expect_ids(plain.ids, plain.n);
    }
    glint_encoding_fini(&plain);
    glint_buffer_fini(&text);
}

// Encoding up to a safe cut and from there on gives the ids of the whole, whatever follows.
static void test_safe_cut(void **state) {
    (void)state;
    uint64_t random = 3;
    struct glint_buffer text = {.data = NULL};
    int n_cuts = 0;
    for (int round = 0; round < 3000; round++) {
        struct glint_view whole = random_text(&random, &text, 40);
        for (int i = 0; i < 3 && whole.n > 0; i++) { // some bytes broken
            uint32_t at = token_fixture_random(&random, (uint32_t)whole.n * 8);
            if (at < whole.n)
                text.data[at] = (char)token_fixture_random(&random, 256);
        }
        size_t seen = token_fixture_random(&random, (uint32_t)whole.n + 1);
        size_t cut = glint_encode_safe_cut(whole.data, seen);
        assert_true(cut <= seen);
        n_cuts += cut > 0;
        struct glint_encoding parts = {.ids = NULL};
        struct glint_encode_input first = {.text = {whole.data, cut}};
        struct glint_encode_input rest = {.text = {whole.data + cut, whole.n - cut}};
        assert_int_equal(glint_encode(fixture.vocab, &first, &parts, NULL), GLINT_OK);
        assert_int_equal(glint_encode(fixture.vocab, &rest, &parts, NULL), GLINT_OK);
        encode((struct glint_encode_input){.text = whole});
        expect_ids(parts.ids, parts.n);
        glint_encoding_fini(&parts);
    }
    assert_true(n_cuts > 1000);
    glint_buffer_fini(&text);
    assert_int_equal(glint_encode_safe_cut("word word", 9), 4);
    assert_int_equal(glint_encode_safe_cut("word", 4), 0);
    assert_int_equal(glint_encode_safe_cut("", 0), 0);
}

static enum glint_status encode_once(void *context, struct glint_error *err) {
    struct glint_encoding encoding = {.ids = NULL};
    enum glint_status status = glint_encode(fixture.vocab, context, &encoding, err);
    glint_encoding_fini(&encoding);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    static char text[3000];
    memset(text, 'a', sizeof text);
    text[1500] = ' ';
    text[2000] = '\xff';
    struct glint_encode_input input = {.text = {text, sizeof text}};
    assert_true(glint_fault_each(encode_once, &input) >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenize),       cmocka_unit_test(test_golden),
        cmocka_unit_test(test_captured),       cmocka_unit_test(test_untrusted),
        cmocka_unit_test(test_ranges_refused), cmocka_unit_test(test_bos),
        cmocka_unit_test(test_appends),        cmocka_unit_test(test_repair),
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_ranges_do_not_split),
        cmocka_unit_test(test_safe_cut),       cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
