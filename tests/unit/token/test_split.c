// SPDX-License-Identifier: Apache-2.0
// test_split.c — pieces of the vectors, of random texts cut by a regular expression engine
// (tools/make_split_fixture.mjs), and the consequences that the specification names.
#include "token/split.h"

#include "token_fixture.h"

#include <string.h>

static void check_pieces(const struct glint_json *line, void *context) {
    const struct glint_json *pieces = glint_json_get(line, "pieces");
    if (!pieces)
        return;
    struct glint_view text = token_fixture_text(line, "text");
    size_t at = 0;
    for (const struct glint_json *m = glint_json_first(pieces); m; m = m->next) {
        assert_true(at < text.n);
        size_t end = glint_split_next(text.data, text.n, at);
        struct glint_view piece = {text.data + at, end - at};
        if (!glint_view_equal(piece, m->text))
            fail_msg("\"%s\": piece \"%.*s\", expected \"%s\"", text.data, (int)piece.n, piece.data,
                     m->text.data);
        at = end;
    }
    assert_int_equal(at, text.n);
    ++*(int *)context;
}

static void test_vectors(void **state) {
    (void)state;
    int n = 0;
    token_fixture_lines("fixtures/chat/tokenize.jsonl", check_pieces, &n);
    assert_true(n > 120);
}

static void check_ends(const struct glint_json *line, void *context) {
    (void)context;
    struct glint_view text = token_fixture_text(line, "text");
    size_t at = 0;
    for (const struct glint_json *m = glint_json_first(glint_json_get(line, "ends")); m;
         m = m->next) {
        uint64_t end;
        assert_true(at < text.n && glint_json_to_u64(m, &end));
        at = glint_split_next(text.data, text.n, at);
        if (at != end)
            fail_msg("\"%s\": a piece ends at %d, expected %d", text.data, (int)at, (int)end);
    }
    assert_int_equal(at, text.n);
}

static void test_random(void **state) {
    (void)state;
    assert_int_equal(token_fixture_lines("fixtures/split/pieces.jsonl", check_ends, NULL), 3000);
}

// Pieces separated by '\x1f' in `wanted`.
static void expect_pieces(const char *text, const char *wanted) {
    char found[200];
    size_t n = strlen(text), n_found = 0;
    for (size_t at = 0; at < n;) {
        size_t end = glint_split_next(text, n, at);
        if (at > 0)
            found[n_found++] = '\x1f';
        memcpy(found + n_found, text + at, end - at);
        n_found += end - at;
        at = end;
    }
    found[n_found] = 0;
    assert_string_equal(found, wanted);
}

static void test_consequences(void **state) {
    (void)state;
    expect_pieces("HelloWORLD", "Hello\x1fWORLD");
    expect_pieces(" I'M", " I'M");
    expect_pieces("e\xcc\x81z", "e\xcc\x81z");
    expect_pieces("1234567", "123\x1f"
                             "456\x1f"
                             "7");
    expect_pieces("!!\r\n/x", "!!\r\n/\x1fx");
    expect_pieces("\n\n\n x", "\n\n\n\x1f x");
    expect_pieces("   x", "  \x1f x");
    expect_pieces("\tword", "\tword");
    expect_pieces(".\n\n\nReasoning", ".\n\n\n\x1fReasoning");
    expect_pieces("it'\xc5\xbf it'\xc5\xbe", "it'\xc5\xbf\x1f it\x1f'\xc5\xbe");
    expect_pieces("we'Ll'x", "we'Ll\x1f'x");
    expect_pieces("a'", "a\x1f'");
    expect_pieces("a'r", "a\x1f'r");
    // The mark alone, since it gives the capital letters after it back; then they come as one.
    expect_pieces("\xcc\x81"
                  "ABC1",
                  "\xcc\x81\x1f"
                  "ABC\x1f"
                  "1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_consequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
