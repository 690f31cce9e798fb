// SPDX-License-Identifier: Apache-2.0
// template_lexer.c — see template_lexer.h for the rules on white space.
// Invariant: every loop moves `at` forward or ends, so lexing is linear in the source.
#include "prompt/template_lexer.h"

#include "base/alloc.h"

#include <string.h>

struct lexer {
    struct glint_view source;
    size_t at;
    uint32_t line;
    bool at_line_start; // the last thing read ended in a newline
    struct glint_tokens *tokens;
    struct glint_error *err;
};

void glint_tokens_fini(struct glint_tokens *tokens) {
    glint_free(tokens->items);
    *tokens = (struct glint_tokens){.items = NULL};
}

static enum glint_status push(struct lexer *lexer, enum glint_token_kind kind,
                              struct glint_view text) {
    struct glint_tokens *tokens = lexer->tokens;
    if (tokens->n == tokens->capacity) {
        size_t capacity = tokens->capacity ? 2 * tokens->capacity : 256;
        struct glint_token *items = glint_realloc(tokens->items, capacity, sizeof *items);
        if (!items)
            return glint_fail(lexer->err, GLINT_E_NOMEM, "template: no memory for its tokens");
        tokens->items = items;
        tokens->capacity = capacity;
    }
    tokens->items[tokens->n++] =
        (struct glint_token){.kind = kind, .line = lexer->line, .text = text};
    return GLINT_OK;
}

static enum glint_status fail_at(struct lexer *lexer, uint32_t line, const char *what) {
    return glint_fail(lexer->err, GLINT_E_FORMAT, "template line %u: %s", (unsigned)line, what);
}

static char peek(const struct lexer *lexer, size_t ahead) {
    size_t at = lexer->at + ahead;
    return at < lexer->source.n ? lexer->source.data[at] : 0;
}

static bool looking_at(const struct lexer *lexer, const char *text) {
    size_t n = strlen(text);
    return lexer->source.n - lexer->at >= n && memcmp(lexer->source.data + lexer->at, text, n) == 0;
}

// Moves forward by n bytes, counting lines.
static void skip(struct lexer *lexer, size_t n) {
    const char *data = lexer->source.data + lexer->at;
    for (size_t i = 0; i < n; i++)
        lexer->line += data[i] == '\n';
    if (n != 0)
        lexer->at_line_start = data[n - 1] == '\n';
    lexer->at += n;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(struct lexer *lexer) {
    size_t n = 0;
    while (is_space(peek(lexer, n)))
        n++;
    skip(lexer, n);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Text before a tag that begins at `end`: emits what its sign leaves of it.
static enum glint_status put_data(struct lexer *lexer, size_t end, bool is_print, char sign) {
    const char *data = lexer->source.data + lexer->at;
    size_t n = end - lexer->at;
    size_t keep = n;
    if (sign == '-') {
        while (keep != 0 && is_space(data[keep - 1]))
            keep--;
    } else if (sign != '+' && !is_print) {
        size_t blank = n;
        while (blank != 0 && is_space(data[blank - 1]) && data[blank - 1] != '\n')
            blank--;
        if (blank == 0 ? lexer->at_line_start : data[blank - 1] == '\n')
            keep = blank;
    }
    if (keep != 0)
        GLINT_TRY(push(lexer, GLINT_TOKEN_DATA, (struct glint_view){.data = data, .n = keep}));
    skip(lexer, n);
    return GLINT_OK;
}

// After the closing mark of a block tag or comment: what its sign says about the text behind.
static void after_tag(struct lexer *lexer, char sign, bool trim_newline) {
    if (sign == '-')
        skip_space(lexer);
    else if (sign != '+' && trim_newline && peek(lexer, 0) == '\n')
        skip(lexer, 1);
}

static size_t find(const struct lexer *lexer, size_t from, const char *mark) {
    for (size_t i = from; i + 1 < lexer->source.n; i++) {
        if (lexer->source.data[i] == mark[0] && lexer->source.data[i + 1] == mark[1])
            return i;
    }
    return lexer->source.n;
}

static enum glint_status lex_comment(struct lexer *lexer) {
    uint32_t line = lexer->line;
    size_t start = lexer->at;
    size_t end = find(lexer, start, "#}");
    if (end == lexer->source.n)
        return fail_at(lexer, line, "comment is not closed: expected '#}'");
    char sign = end > start ? lexer->source.data[end - 1] : 0;
    skip(lexer, end + 2 - start);
    after_tag(lexer, sign, true);
    return GLINT_OK;
}

// At `{%` plus sign: is it `raw %}`? Then moves behind it.
static bool enter_raw(struct lexer *lexer) {
    size_t n = 0;
    while (is_space(peek(lexer, n)))
        n++;
    if (peek(lexer, n) != 'r' || peek(lexer, n + 1) != 'a' || peek(lexer, n + 2) != 'w')
        return false;
    n += 3;
    while (is_space(peek(lexer, n)))
        n++;
    char sign = peek(lexer, n) == '-' ? '-' : 0;
    n += sign != 0;
    if (peek(lexer, n) != '%' || peek(lexer, n + 1) != '}')
        return false;
    skip(lexer, n + 2);
    after_tag(lexer, sign, false);
    return true;
}

// Text up to `{% endraw %}`, as it stands.
static enum glint_status lex_raw(struct lexer *lexer) {
    uint32_t line = lexer->line;
    struct lexer probe = *lexer;
    for (;;) {
        size_t begin = find(&probe, probe.at, "{%");
        if (begin == lexer->source.n)
            return fail_at(lexer, line, "raw block is not closed: expected 'endraw'");
        probe.at = begin + 2;
        char sign = peek(&probe, 0);
        sign = sign == '-' || sign == '+' ? sign : 0;
        probe.at += sign != 0;
        skip_space(&probe);
        if (!looking_at(&probe, "endraw"))
            continue;
        probe.at += 6;
        skip_space(&probe);
        char last = peek(&probe, 0);
        last = last == '-' || last == '+' ? last : 0;
        probe.at += last != 0;
        if (!looking_at(&probe, "%}"))
            continue;
        GLINT_TRY(put_data(lexer, begin, false, sign));
        skip(lexer, probe.at + 2 - lexer->at);
        after_tag(lexer, last, true);
        return GLINT_OK;
    }
}

// Length of digits that may hold single underscores between them; 0 when there are none.
static size_t digits_at(const struct lexer *lexer, size_t from) {
    size_t n = 0;
    while (is_digit(peek(lexer, from + n)) ||
           (n != 0 && peek(lexer, from + n) == '_' && is_digit(peek(lexer, from + n + 1))))
        n++;
    return n;
}

static enum glint_status lex_number(struct lexer *lexer) {
    size_t n = digits_at(lexer, 0);
    enum glint_token_kind kind = GLINT_TOKEN_INTEGER;
    bool after_dot = lexer->at != 0 && lexer->source.data[lexer->at - 1] == '.'; // a.0.1
    size_t fraction = peek(lexer, n) == '.' && !after_dot ? digits_at(lexer, n + 1) : 0;
    if (fraction != 0) {
        kind = GLINT_TOKEN_FLOAT;
        n += 1 + fraction;
    }
    if (peek(lexer, n) == 'e' || peek(lexer, n) == 'E') {
        size_t sign = peek(lexer, n + 1) == '+' || peek(lexer, n + 1) == '-';
        size_t exponent = digits_at(lexer, n + 1 + sign);
        if (exponent != 0) {
            kind = GLINT_TOKEN_FLOAT;
            n += 1 + sign + exponent;
        }
    }
    char last = peek(lexer, n);
    if (is_name_char(last) || (kind == GLINT_TOKEN_INTEGER && n > 1 && peek(lexer, 0) == '0'))
        return fail_at(lexer, lexer->line, "number is not a decimal integer or float");
    GLINT_TRY(push(lexer, kind, (struct glint_view){lexer->source.data + lexer->at, n}));
    skip(lexer, n);
    return GLINT_OK;
}

static enum glint_status lex_string(struct lexer *lexer) {
    char quote = peek(lexer, 0);
    size_t n = 1;
    while (lexer->at + n < lexer->source.n && peek(lexer, n) != quote)
        n += peek(lexer, n) == '\\' ? 2 : 1;
    if (lexer->at + n >= lexer->source.n)
        return fail_at(lexer, lexer->line, "string is not closed");
    n++;
    struct glint_view text = {.data = lexer->source.data + lexer->at, .n = n};
    GLINT_TRY(push(lexer, GLINT_TOKEN_STRING, text));
    skip(lexer, n);
    return GLINT_OK;
}

static enum glint_status lex_operator(struct lexer *lexer) {
    static const char *const doubles[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t n = 0;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        if (looking_at(lexer, doubles[i]))
            n = 2;
    }
    if (n == 0 && peek(lexer, 0) != 0 && strchr("+-*/%~[](){}<>=.:|,", peek(lexer, 0)))
        n = 1;
    if (n == 0)
        return glint_fail(lexer->err, GLINT_E_FORMAT, "template line %u: unexpected byte 0x%02x",
                          (unsigned)lexer->line, (unsigned)(unsigned char)peek(lexer, 0));
    GLINT_TRY(
        push(lexer, GLINT_TOKEN_OPERATOR, (struct glint_view){lexer->source.data + lexer->at, n}));
    skip(lexer, n);
    return GLINT_OK;
}

// At the end mark of the tag ("%}" or "}}", with sign)? Then emits it and moves behind.
static bool at_tag_end(struct lexer *lexer, bool is_print, enum glint_status *status) {
    char sign = peek(lexer, 0);
    bool has_sign = sign == '-' || (sign == '+' && !is_print);
    const char *mark = is_print ? "}}" : "%}";
    if (peek(lexer, has_sign) != mark[0] || peek(lexer, has_sign + 1) != mark[1])
        return false;
    struct glint_view text = {.data = lexer->source.data + lexer->at, .n = 2 + (size_t)has_sign};
    *status = push(lexer, is_print ? GLINT_TOKEN_PRINT_END : GLINT_TOKEN_BLOCK_END, text);
    skip(lexer, text.n);
    after_tag(lexer, has_sign ? sign : 0, !is_print);
    return true;
}

static enum glint_status lex_item(struct lexer *lexer) {
    char c = peek(lexer, 0);
    if (is_digit(c))
        return lex_number(lexer);
    if (c == '\'' || c == '"')
        return lex_string(lexer);
    if (!is_name_char(c))
        return lex_operator(lexer);
    size_t n = 1;
    while (is_name_char(peek(lexer, n)))
        n++;
    struct glint_view name = {.data = lexer->source.data + lexer->at, .n = n};
    GLINT_TRY(push(lexer, GLINT_TOKEN_NAME, name));
    skip(lexer, n);
    return GLINT_OK;
}

// Tokens of one tag, its end included. Inside brackets an end mark is two ordinary operators.
static enum glint_status lex_tag(struct lexer *lexer, bool is_print) {
    uint32_t line = lexer->line;
    size_t n_open = 0;
    while (lexer->at < lexer->source.n) {
        enum glint_status status = GLINT_OK;
        if (n_open == 0 && at_tag_end(lexer, is_print, &status))
            return status;
        char c = peek(lexer, 0);
        if (is_space(c)) {
            skip_space(lexer);
            continue;
        }
        if (c == '(' || c == '[' || c == '{')
            n_open++;
        else if ((c == ')' || c == ']' || c == '}') && n_open == 0)
            return glint_fail(lexer->err, GLINT_E_FORMAT,
                              "template line %u: '%c' without its opening bracket",
                              (unsigned)lexer->line, c);
        else if (c == ')' || c == ']' || c == '}')
            n_open--;
        GLINT_TRY(lex_item(lexer));
    }
    return fail_at(lexer, line,
                   is_print ? "expression is not closed: expected '}}'"
                            : "tag is not closed: expected '%}'");
}

static size_t find_tag(const struct lexer *lexer) {
    for (size_t i = lexer->at; i + 1 < lexer->source.n; i++) {
        char next = lexer->source.data[i + 1];
        if (lexer->source.data[i] == '{' && (next == '{' || next == '%' || next == '#'))
            return i;
    }
    return lexer->source.n;
}

static enum glint_status lex_all(struct lexer *lexer) {
    while (lexer->at < lexer->source.n) {
        size_t begin = find_tag(lexer);
        if (begin == lexer->source.n) {
            size_t n = begin - lexer->at;
            GLINT_TRY(push(lexer, GLINT_TOKEN_DATA,
                           (struct glint_view){lexer->source.data + lexer->at, n}));
            skip(lexer, n);
            break;
        }
        char kind = lexer->source.data[begin + 1];
        char sign = begin + 2 < lexer->source.n ? lexer->source.data[begin + 2] : 0;
        sign = sign == '-' || sign == '+' ? sign : 0;
        // `{#-#}`: the sign may be the closing mark's as well; it counts once either way.
        GLINT_TRY(put_data(lexer, begin, kind == '{', sign));
        struct glint_view mark = {.data = lexer->source.data + begin, .n = 2};
        skip(lexer, 2 + (size_t)(sign != 0));
        if (kind == '#') {
            GLINT_TRY(lex_comment(lexer));
        } else if (kind == '%' && enter_raw(lexer)) {
            GLINT_TRY(lex_raw(lexer));
        } else {
            GLINT_TRY(
                push(lexer, kind == '{' ? GLINT_TOKEN_PRINT_BEGIN : GLINT_TOKEN_BLOCK_BEGIN, mark));
            GLINT_TRY(lex_tag(lexer, kind == '{'));
        }
    }
    return push(lexer, GLINT_TOKEN_END, (struct glint_view){.data = "", .n = 0});
}

enum glint_status glint_template_lex(struct glint_view source, struct glint_tokens *tokens,
                                     struct glint_error *err) {
    struct lexer lexer = {
        .source = source, .line = 1, .at_line_start = true, .tokens = tokens, .err = err};
    return lex_all(&lexer);
}
