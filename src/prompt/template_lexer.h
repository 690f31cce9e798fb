// SPDX-License-Identifier: Apache-2.0
// template_lexer.h — template source to tokens.
// White space follows the two settings every chat template is written for: the first newline
// after a block tag or comment is dropped (trim_blocks) and blanks before one that starts a line
// are dropped (lstrip_blocks); `-` strips, `+` keeps. Text between tags arrives already stripped.
#ifndef GLINT_PROMPT_TEMPLATE_LEXER_H
#define GLINT_PROMPT_TEMPLATE_LEXER_H

#include "base/buffer.h"
#include "base/status.h"

enum glint_token_kind {
    GLINT_TOKEN_DATA, // text to print
    GLINT_TOKEN_PRINT_BEGIN,
    GLINT_TOKEN_PRINT_END,
    GLINT_TOKEN_BLOCK_BEGIN,
    GLINT_TOKEN_BLOCK_END,
    GLINT_TOKEN_NAME,
    GLINT_TOKEN_STRING,  // text with its quotes and escapes
    GLINT_TOKEN_INTEGER, // as spelled
    GLINT_TOKEN_FLOAT,
    GLINT_TOKEN_OPERATOR,
    GLINT_TOKEN_END,
};

struct glint_token {
    enum glint_token_kind kind;
    uint32_t line; // from 1
    struct glint_view text;
};

struct glint_tokens {
    struct glint_token *items; // [n], owned; the last is GLINT_TOKEN_END
    size_t n;
    size_t capacity;
};

void glint_tokens_fini(struct glint_tokens *tokens);
// The views point into source, which holds LF line ends only and must outlive the tokens.
enum glint_status glint_template_lex(struct glint_view source, struct glint_tokens *tokens,
                                     struct glint_error *err);

#endif
