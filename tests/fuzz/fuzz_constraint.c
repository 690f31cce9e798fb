// SPDX-License-Identifier: Apache-2.0
// fuzz_constraint.c — any JSON as the schema of an answer or of a tool's parameter. What compiles
// is walked at random over a vocabulary of bytes: it never gets stuck, and what it finishes is
// JSON, or a call that the parser reads.
#include "engine/turn_grammar.h"
#include "fuzz/fuzz.h"
#include "sample/constraint.h"
#include "stream/message.h"

#include <stdlib.h>
#include <string.h>

enum { N_TOKENS = 300 };

static const char *const specials[] = {
    "<|begin_of_text|>", "<|end_of_text|>",       "<|eom|>", "<|eot|>", "<|start|>",
    "<|message|>",       "<|finetune_right_pad|>"};
enum { N_SPECIAL = sizeof specials / sizeof *specials, N_VOCAB = 256 + N_SPECIAL };

static struct glint_vocab *make_vocab(void) {
    static char text[256][3];
    struct glint_view tokens[N_VOCAB];
    int32_t types[N_VOCAB];
    struct glint_vocab *vocab = NULL;
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; byte++) {
        bool itself =
            (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
        unsigned code = itself ? byte : next++;
        size_t n = code < 0x80 ? 1 : 2;
        text[byte][0] = (char)(n == 1 ? code : 0xc0 | code >> 6);
        text[byte][1] = (char)(0x80 | (code & 63));
        tokens[byte] = (struct glint_view){text[byte], n};
        types[byte] = GLINT_TOKEN_NORMAL;
    }
    for (int i = 0; i < N_SPECIAL; i++) {
        tokens[256 + i] = glint_view_of(specials[i]);
        types[256 + i] = GLINT_TOKEN_CONTROL;
    }
    struct glint_vocab_source source = {.tokens = tokens,
                                        .types = types,
                                        .n_tokens = N_VOCAB,
                                        .bos = 256,
                                        .eos = 257,
                                        .eot = 259,
                                        .pad = -1};
    if (glint_vocab_open(&vocab, &source, NULL) != GLINT_OK)
        abort();
    return vocab;
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// An allowed id; often one that closes something.
static int32_t pick(const uint32_t *mask, uint64_t *random) {
    static const char closing[] = "\"]}</>:,0";
    uint32_t at = next_random(random);
    if (next_random(random) % 2)
        at = (uint8_t)closing[at % (sizeof closing - 1)];
    for (uint32_t i = 0; i < N_VOCAB; i++) {
        uint32_t id = (at + i) % N_VOCAB;
        if (mask[id >> 5] >> (id & 31) & 1)
            return (int32_t)id;
    }
    return -1;
}

static void check_answer(const struct glint_message *message) {
    struct glint_json_doc *doc = NULL;
    struct glint_view content = {message->content.data, message->content.n};
    if (message->n_calls > 0)
        return;
    if (glint_json_parse(&doc, content, NULL, NULL) != GLINT_OK)
        abort();
    glint_json_close(&doc);
}

static void walk(struct glint_mask_space *space, struct glint_grammar *grammar,
                 const struct glint_turn_rules *rules, uint64_t seed) {
    struct glint_constraint *constraint = NULL;
    struct glint_constraint_rules own = {.grammar = grammar};
    struct glint_message message = {.calls = NULL};
    struct glint_stream *stream = NULL;
    struct glint_stream_options options = {.tools = rules->tools,
                                           .start = rules->start,
                                           .on_event = glint_message_on_event,
                                           .context = &message};
    if (glint_constraint_init(&constraint, space, &own, NULL) != GLINT_OK ||
        glint_stream_open(&stream, &options, NULL) != GLINT_OK)
        abort();
    for (int i = 0; i < N_TOKENS && !glint_constraint_is_done(constraint); i++) {
        const uint32_t *mask;
        if (glint_constraint_mask(constraint, &mask, NULL) != GLINT_OK)
            abort();
        int32_t id = pick(mask, &seed);
        if (id < 0 || glint_constraint_accept(constraint, id, NULL) != GLINT_OK)
            abort(); // stuck, or the mask was wrong
        glint_stream_put_id(stream, space->vocab, id);
    }
    if (glint_constraint_is_done(constraint)) {
        if (!rules->tool_choice)
            check_answer(&message);
        else if (message.n_calls == 0 || message.remains.n > 0)
            abort();
    }
    glint_stream_close(&stream);
    glint_message_fini(&message);
    glint_constraint_close(&constraint);
}

static void run(struct glint_mask_space *space, const struct glint_turn_rules *rules,
                uint64_t seed) {
    struct glint_grammar grammar;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_turn_grammar(&grammar, rules, &err) == GLINT_OK)
        walk(space, &grammar, rules, seed);
    else if (err.text[0] == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct glint_view text = {(const char *)data, n};
    struct glint_json_doc *doc = NULL;
    struct glint_vocab *vocab = NULL;
    struct glint_mask_space *space = NULL;
    if (n > 4096 || glint_json_parse(&doc, text, NULL, NULL) != GLINT_OK)
        return 0;
    vocab = make_vocab();
    if (glint_mask_space_open(&space, vocab, N_VOCAB, NULL) != GLINT_OK)
        abort();
    // As an answer; as the parameters of a tool; as one parameter.
    struct glint_tool tool = {.name = {"tool", 4}, .parameters = glint_json_root(doc)};
    struct glint_tool_set none = {.n = 0}, set = {&tool, 1};
    struct glint_turn_rules answer = {
        .tools = &none, .schema = glint_json_root(doc), .start = GLINT_TURN_USER};
    struct glint_turn_rules call = {
        .tools = &set, .tool_choice = "tool", .start = GLINT_TURN_HEADER};
    run(space, &answer, n);
    run(space, &call, n + 1);
    struct glint_json property = *glint_json_root(doc);
    property.key = glint_view_of("p");
    property.next = NULL;
    struct glint_json properties = {
        .kind = GLINT_JSON_OBJECT, .n = 1, .child = &property, .key = {"properties", 10}};
    struct glint_json parameters = {.kind = GLINT_JSON_OBJECT, .n = 1, .child = &properties};
    tool.parameters = &parameters;
    run(space, &call, n + 2);
    glint_mask_space_close(&space);
    glint_vocab_close(&vocab);
    glint_json_close(&doc);
    return 0;
}
