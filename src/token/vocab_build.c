// SPDX-License-Identifier: Apache-2.0
// vocab_build.c — builds a vocabulary from arrays.
// Every check of the loader is here: types, spellings, sizes, duplicates, the 256 single bytes,
// merges whose parts or result are no token. Pairs come from the file's list of merges, or, when
// it has none, from all splits of every token in the order (result, left, right), which is the
// same list for a vocabulary that was trained by merging.
#include "token/vocab_build.h"

#include "base/alloc.h"

#include <string.h>

// One open in progress.
struct build {
    const struct glint_vocab_source *source;
    const char *name;
    struct glint_vocab *vocab;
    struct glint_error *err;
};

static bool is_special_type(int32_t type) {
    return type == GLINT_TOKEN_CONTROL || type == GLINT_TOKEN_USER || type == GLINT_TOKEN_UNKNOWN;
}

// Byte spelled by the first character of [at, end) in the GPT-2 alphabet, or -1; *n: its length.
static int spelled_byte(const unsigned char *at, const unsigned char *end, size_t *n) {
    if (*at < 0x80) {
        *n = 1;
        return *at >= 0x21 && *at <= 0x7e ? *at : -1;
    }
    if (end - at < 2 || (at[1] & 0xc0) != 0x80 || *at < 0xc2 || *at > 0xc5)
        return -1;
    *n = 2;
    int code = (*at & 0x1f) << 6 | (at[1] & 0x3f);
    if (code >= 0xa1 && code <= 0xff)
        return code == 0xad ? -1 : code;
    // The 68 bytes without a printable form of their own, in ascending order from U+0100.
    if (code >= 0x100 && code <= 0x120)
        return code - 0x100;
    if (code >= 0x121 && code <= 0x142)
        return code - 0x121 + 0x7f;
    return code == 0x143 ? 0xad : -1;
}

// Raw bytes of a spelling; out has room for text.n. False when it is none.
static bool spelled_bytes(struct glint_view text, char *out, size_t *n_out) {
    const unsigned char *at = (const unsigned char *)text.data, *end = at + text.n;
    size_t n = 0;
    while (at < end) {
        size_t n_char;
        int byte = spelled_byte(at, end, &n_char);
        if (byte < 0)
            return false;
        out[n++] = (char)byte;
        at += n_char;
    }
    *n_out = n;
    return true;
}

static enum glint_status reserve_tokens(struct build *build) {
    const struct glint_vocab_source *source = build->source;
    struct glint_vocab *vocab = build->vocab;
    if (source->n_tokens < 1 || source->n_tokens > GLINT_VOCAB_MAX_TOKENS)
        return glint_fail(build->err, GLINT_E_FORMAT,
                          "%s: tokenizer.ggml.tokens: %lld tokens, expected 1 to %d", build->name,
                          (long long)source->n_tokens, GLINT_VOCAB_MAX_TOKENS);
    uint64_t n_bytes = 0;
    for (int64_t i = 0; i < source->n_tokens; i++)
        n_bytes += source->tokens[i].n;
    if (n_bytes >= UINT32_MAX)
        return glint_fail(build->err, GLINT_E_LIMIT,
                          "%s: tokenizer.ggml.tokens: %llu bytes of text, expected less than 4 GiB",
                          build->name, (unsigned long long)n_bytes);
    vocab->n_tokens = (int32_t)source->n_tokens;
    vocab->types = glint_alloc((size_t)source->n_tokens, sizeof *vocab->types);
    vocab->begins = glint_alloc((size_t)source->n_tokens + 1, sizeof *vocab->begins);
    vocab->bytes = glint_alloc((size_t)n_bytes + 1, 1);
    if (!vocab->types || !vocab->begins || !vocab->bytes)
        return glint_fail(build->err, GLINT_E_NOMEM, "%s: no memory for %lld tokens", build->name,
                          (long long)source->n_tokens);
    return GLINT_OK;
}

// Copies token i's bytes behind those of the tokens before it.
static enum glint_status read_token(struct build *build, int32_t i) {
    struct glint_vocab *vocab = build->vocab;
    struct glint_view text = build->source->tokens[i];
    int32_t type = build->source->types[i];
    char *out = vocab->bytes + vocab->begins[i];
    size_t n = 0;
    if (type == GLINT_TOKEN_NORMAL) {
        if (!spelled_bytes(text, out, &n))
            return glint_fail(build->err, GLINT_E_FORMAT,
                              "%s: tokenizer.ggml.tokens[%d]: found \"%.*s\", expected bytes "
                              "spelled as by GPT-2",
                              build->name, i, (int)(text.n < 64 ? text.n : 64), text.data);
        if (n == 0)
            return glint_fail(build->err, GLINT_E_FORMAT,
                              "%s: tokenizer.ggml.tokens[%d]: empty text, expected 1 to %d bytes",
                              build->name, i, GLINT_VOCAB_MAX_TOKEN_BYTES);
    } else if (is_special_type(type)) {
        memcpy(out, text.data, text.n);
        n = text.n;
    } else if (type != GLINT_TOKEN_UNUSED) {
        return glint_fail(build->err, GLINT_E_UNSUPPORTED,
                          "%s: tokenizer.ggml.token_type[%d]: found %d, expected 1 to 5",
                          build->name, i, type);
    }
    if (n > GLINT_VOCAB_MAX_TOKEN_BYTES)
        return glint_fail(build->err, GLINT_E_LIMIT,
                          "%s: tokenizer.ggml.tokens[%d]: %zu bytes, expected at most %d",
                          build->name, i, n, GLINT_VOCAB_MAX_TOKEN_BYTES);
    vocab->types[i] = (uint8_t)type;
    vocab->begins[i + 1] = vocab->begins[i] + (uint32_t)n;
    return GLINT_OK;
}

static enum glint_status index_token(struct build *build, int32_t i) {
    struct glint_vocab *vocab = build->vocab;
    size_t n = vocab->begins[i + 1] - vocab->begins[i];
    if (n == 0)
        return GLINT_OK; // a hole
    bool special = is_special_type(vocab->types[i]);
    int32_t other;
    if (glint_token_table_add(special ? &vocab->special : &vocab->ordinary, i, &other) != GLINT_OK)
        return glint_fail(build->err, GLINT_E_LIMIT,
                          "%s: tokenizer.ggml.tokens[%d]: more than %d tokens share a table place",
                          build->name, i, GLINT_TABLE_MAX_PROBES);
    if (other >= 0)
        return glint_fail(build->err, GLINT_E_FORMAT,
                          "%s: tokenizer.ggml.tokens[%d]: same text as token %d, expected each "
                          "text once",
                          build->name, i, other);
    if (special && n > vocab->max_special_bytes)
        vocab->max_special_bytes = n;
    return GLINT_OK;
}

static enum glint_status read_tokens(struct build *build) {
    struct glint_vocab *vocab = build->vocab;
    GLINT_TRY(reserve_tokens(build));
    int64_t n_special = 0;
    for (int32_t i = 0; i < vocab->n_tokens; i++) {
        GLINT_TRY(read_token(build, i));
        n_special += is_special_type(vocab->types[i]);
    }
    vocab->ordinary.bytes = vocab->special.bytes = vocab->bytes;
    vocab->ordinary.begins = vocab->special.begins = vocab->begins;
    GLINT_TRY(glint_token_table_init(&vocab->special, n_special, build->err));
    GLINT_TRY(glint_token_table_init(&vocab->ordinary, vocab->n_tokens - n_special, build->err));
    for (int32_t i = 0; i < vocab->n_tokens; i++)
        GLINT_TRY(index_token(build, i));
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        vocab->byte_ids[byte] = glint_vocab_find(vocab, (struct glint_view){&c, 1});
        if (vocab->byte_ids[byte] < 0)
            return glint_fail(build->err, GLINT_E_FORMAT,
                              "%s: tokenizer.ggml.tokens: no token for byte 0x%02x, expected all "
                              "256 single bytes",
                              build->name, (unsigned)byte);
    }
    return GLINT_OK;
}

static enum glint_status add_pair(struct build *build, int64_t rank, int32_t left, int32_t right,
                                  int32_t joined) {
    struct glint_vocab *vocab = build->vocab;
    struct glint_pair_slot entry = {left, right, {(uint32_t)rank, joined}};
    const unsigned char *spelled = (const unsigned char *)glint_vocab_bytes(vocab, joined).data;
    bool two = glint_vocab_bytes(vocab, joined).n == 2;
    if (glint_pair_table_add(&vocab->pairs, entry, two ? spelled[0] * 256 + spelled[1] : -1) ==
        GLINT_OK)
        return GLINT_OK;
    return glint_fail(build->err, GLINT_E_LIMIT,
                      "%s: tokenizer.ggml.merges: more than %d pairs share a table place",
                      build->name, GLINT_TABLE_MAX_PROBES);
}

static enum glint_status read_merge(struct build *build, int64_t i) {
    const struct glint_vocab *vocab = build->vocab;
    struct glint_view merge = build->source->merges[i];
    const char *space = merge.n ? memchr(merge.data, ' ', merge.n) : NULL;
    char bytes[4 * GLINT_VOCAB_MAX_TOKEN_BYTES];
    size_t n_left = 0, n_right = 0;
    if (space && merge.n <= sizeof bytes) {
        struct glint_view left = {merge.data, (size_t)(space - merge.data)};
        struct glint_view right = {space + 1, merge.n - left.n - 1};
        if (!spelled_bytes(left, bytes, &n_left) || !spelled_bytes(right, bytes + n_left, &n_right))
            n_left = 0;
    }
    if (n_left == 0 || n_right == 0)
        return glint_fail(build->err, GLINT_E_FORMAT,
                          "%s: tokenizer.ggml.merges[%lld]: found \"%.*s\", expected two tokens "
                          "with one space between",
                          build->name, (long long)i, (int)(merge.n < 64 ? merge.n : 64),
                          merge.data);
    int32_t left = glint_vocab_find(vocab, (struct glint_view){bytes, n_left});
    int32_t right = glint_vocab_find(vocab, (struct glint_view){bytes + n_left, n_right});
    int32_t joined = glint_vocab_find(vocab, (struct glint_view){bytes, n_left + n_right});
    if (left < 0 || right < 0 || joined < 0)
        return glint_fail(build->err, GLINT_E_FORMAT,
                          "%s: tokenizer.ggml.merges[%lld]: found \"%.*s\", but its %s is no token",
                          build->name, (long long)i, (int)(merge.n < 64 ? merge.n : 64), merge.data,
                          left < 0    ? "left part"
                          : right < 0 ? "right part"
                                      : "result");
    return add_pair(build, i, left, right, joined);
}

static enum glint_status read_merges(struct build *build) {
    int64_t n_merges = build->source->n_merges;
    if (n_merges >= INT32_MAX)
        return glint_fail(build->err, GLINT_E_LIMIT,
                          "%s: tokenizer.ggml.merges: %lld merges, expected less than %d",
                          build->name, (long long)n_merges, INT32_MAX);
    GLINT_TRY(glint_pair_table_init(&build->vocab->pairs, n_merges, build->err));
    for (int64_t i = 0; i < n_merges; i++)
        GLINT_TRY(read_merge(build, i));
    return GLINT_OK;
}

// Splits of token id into two tokens, by left id; splits: room for its bytes - 1. The right id
// follows from the left one.
static size_t find_splits(const struct glint_vocab *vocab, int32_t id, int32_t (*splits)[2]) {
    struct glint_view all = glint_vocab_bytes(vocab, id);
    size_t n_splits = 0;
    for (size_t n = 1; n < all.n; n++) {
        int32_t left = glint_vocab_find(vocab, (struct glint_view){all.data, n});
        int32_t right =
            left < 0 ? -1 : glint_vocab_find(vocab, (struct glint_view){all.data + n, all.n - n});
        if (right < 0)
            continue;
        size_t at = n_splits++;
        for (; at > 0 && splits[at - 1][0] > left; at--)
            memcpy(splits[at], splits[at - 1], sizeof splits[at]);
        splits[at][0] = left;
        splits[at][1] = right;
    }
    return n_splits;
}

static enum glint_status rank_by_tokens(struct build *build) {
    struct glint_vocab *vocab = build->vocab;
    int32_t splits[GLINT_VOCAB_MAX_TOKEN_BYTES][2];
    int64_t n_pairs = 0;
    for (int pass = 0; pass < 2; pass++) { // count, then add
        int64_t rank = 0;
        if (pass == 1)
            GLINT_TRY(glint_pair_table_init(&vocab->pairs, n_pairs, build->err));
        for (int32_t id = 0; id < vocab->n_tokens; id++) {
            if (vocab->types[id] != GLINT_TOKEN_NORMAL)
                continue;
            size_t n_splits = find_splits(vocab, id, splits);
            n_pairs += (int64_t)n_splits;
            for (size_t i = 0; pass == 1 && i < n_splits; i++)
                GLINT_TRY(add_pair(build, rank++, splits[i][0], splits[i][1], id));
        }
    }
    return GLINT_OK;
}

static enum glint_status read_roles(struct build *build) {
    const struct glint_vocab_source *source = build->source;
    struct glint_vocab *vocab = build->vocab;
    const struct {
        const char *key;
        int32_t id;
        int32_t *out;
    } roles[] = {
        {"bos", source->bos, &vocab->bos},
        {"eos", source->eos, &vocab->eos},
        {"eot", source->eot, &vocab->eot},
        {"padding", source->pad, &vocab->pad},
    };
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (roles[i].id != -1 && !glint_vocab_is_token(vocab, roles[i].id))
            return glint_fail(build->err, GLINT_E_FORMAT,
                              "%s: tokenizer.ggml.%s_token_id: found %d, expected the id of one of "
                              "%d tokens",
                              build->name, roles[i].key, roles[i].id, vocab->n_tokens);
        *roles[i].out = roles[i].id;
    }
    vocab->add_bos = source->add_bos;
    return GLINT_OK;
}

enum glint_status glint_vocab_build(struct glint_vocab *vocab,
                                    const struct glint_vocab_source *source,
                                    struct glint_error *err) {
    struct build build = {source, source->name ? source->name : "vocabulary", vocab, err};
    GLINT_TRY(read_tokens(&build));
    if (source->n_merges > 0)
        GLINT_TRY(read_merges(&build));
    else
        GLINT_TRY(rank_by_tokens(&build));
    return read_roles(&build);
}
