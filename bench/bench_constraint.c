// SPDX-License-Identifier: Apache-2.0
// bench_constraint.c — what constraints cost on one thread: compiling the schemas of agent tools,
// and a token's mask and step at a vocabulary of 202,048 tokens.
// Usage: bench_constraint [MODEL.gguf [TOOLS.json]]. Without arguments a made-up vocabulary of
// that size and the tools of tests/constraint. CPU time.
#include "base/alloc.h"
#include "engine/turn_grammar.h"
#include "format/gguf.h"
#include "sample/constraint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_ORDINARY = 200000, N_SPECIAL = 2048, MAX_TOKENS = 400, N_PASSES = 3 };

static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + 1e-3 * (double)t.tv_nsec;
}

static _Noreturn void give_up(const char *what, const struct glint_error *err) {
    fprintf(stderr, "bench_constraint: %s: %s\n", what, err->text);
    exit(1);
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// ---- a vocabulary -----------------------------------------------------------------------------

// GPT-2 spelling of one byte: itself, or the next free code point from U+0100 on.
static size_t spell_byte(unsigned byte, char out[2]) {
    unsigned code = 256;
    for (unsigned b = 0; b < byte; b++)
        code += !((b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae);
    bool itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    code = itself ? byte : code;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 63));
    return 2;
}

static void append_byte(struct glint_buffer *out, unsigned byte) {
    char spelled[2];
    size_t n = spell_byte(byte, spelled);
    glint_buffer_append(out, spelled, n);
}

// Words with and without a space before them, runs of marks, line breaks, text beyond ASCII: about
// the lengths that a real vocabulary has. Four letters at the end number them, so that no two are
// the same.
static void append_token(struct glint_buffer *out, uint32_t i, uint64_t *random) {
    static const char letters[] = "etaoinshrdlucmfwypvbgkETAOIN";
    static const char marks[] = "\"{}[]():,.;<>/\\=-_*'!?";
    uint32_t kind = next_random(random) % 32, n = next_random(random) % 4;
    if (kind == 0) {
        for (uint32_t j = 0; j < n + 1; j++)
            append_byte(out, (uint8_t)marks[next_random(random) % (sizeof marks - 1)]);
    } else if (kind == 1) {
        append_byte(out, '\n');
        for (uint32_t j = 0; j < n; j++)
            append_byte(out, ' ');
    } else {
        if (kind < 16)
            append_byte(out, ' ');
        if (kind > 24) { // two bytes a character
            append_byte(out, 0xd0);
            append_byte(out, 0x80 + next_random(random) % 64);
        }
        for (uint32_t j = 0; j < n; j++)
            append_byte(out, (uint8_t)letters[next_random(random) % (sizeof letters - 1)]);
    }
    for (int j = 0; j < 4; j++, i /= 22)
        append_byte(out, kind == 0 ? (uint8_t)marks[i % 22] : (uint8_t)letters[i % 22]);
}

static struct glint_vocab *make_vocab(void) {
    static const char *const specials[] = {
        "<|begin_of_text|>", "<|end_of_text|>",       "<|eom|>", "<|eot|>", "<|start|>",
        "<|message|>",       "<|finetune_right_pad|>"};
    enum { N = N_ORDINARY + N_SPECIAL };
    struct glint_buffer text = {.data = NULL};
    struct glint_view *tokens = glint_alloc(N, sizeof *tokens);
    size_t *ends = glint_alloc(N, sizeof *ends);
    int32_t *types = glint_alloc(N, sizeof *types);
    uint64_t random = 1;
    struct glint_vocab *vocab = NULL;
    struct glint_error err = {.status = GLINT_OK};
    if (!tokens || !ends || !types)
        give_up("no memory", &err);
    for (uint32_t i = 0; i < N; i++) {
        types[i] = i < N_ORDINARY ? GLINT_TOKEN_NORMAL : GLINT_TOKEN_CONTROL;
        uint32_t i_special = i - N_ORDINARY;
        if (i < 256)
            append_byte(&text, i);
        else if (i < N_ORDINARY)
            append_token(&text, i, &random);
        else if (i_special < sizeof specials / sizeof *specials)
            glint_buffer_append_text(&text, specials[i_special]);
        else
            glint_buffer_printf(&text, "<|reserved_special_token_%u|>", i_special);
        ends[i] = text.n;
    }
    for (uint32_t i = 0; i < N; i++) {
        size_t begin = i ? ends[i - 1] : 0;
        tokens[i] = (struct glint_view){text.data + begin, ends[i] - begin};
    }
    struct glint_vocab_source source = {.tokens = tokens,
                                        .types = types,
                                        .n_tokens = N,
                                        .bos = N_ORDINARY,
                                        .eos = N_ORDINARY + 1,
                                        .eot = N_ORDINARY + 3,
                                        .pad = -1};
    if (glint_vocab_open(&vocab, &source, &err) != GLINT_OK)
        give_up("vocabulary", &err);
    glint_buffer_fini(&text);
    glint_free(tokens);
    glint_free(ends);
    glint_free(types);
    return vocab;
}

// ---- measuring --------------------------------------------------------------------------------

struct times {
    double *us; // [n]
    size_t n, capacity;
};

static void add_time(struct times *times, double us) {
    if (times->n == times->capacity) {
        times->capacity = times->capacity ? 2 * times->capacity : 1024;
        times->us = realloc(times->us, times->capacity * sizeof *times->us);
        if (!times->us)
            exit(1);
    }
    times->us[times->n++] = us;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, struct times *times, double scale, const char *unit) {
    double sum = 0;
    if (times->n == 0)
        return;
    qsort(times->us, times->n, sizeof *times->us, ascending);
    for (size_t i = 0; i < times->n; i++)
        sum += times->us[i];
    printf("%-34s %7zu  mean %8.2f  median %8.2f  p99 %8.2f  max %8.2f %s\n", name, times->n,
           sum / (double)times->n * scale, times->us[times->n / 2] * scale,
           times->us[times->n * 99 / 100] * scale, times->us[times->n - 1] * scale, unit);
    times->n = 0;
}

struct bench {
    struct glint_vocab *vocab;
    struct glint_mask_space *space;
    bool *closing; // tokens that end strings, objects or tags
    struct glint_json_doc *doc;
    struct glint_tool_set tools;
    uint64_t random;
};

// Some allowed token; half of the time one that closes something, so that turns end.
static int32_t pick(struct bench *bench, const uint32_t *mask) {
    int32_t n = bench->space->n_tokens;
    int32_t at = (int32_t)(next_random(&bench->random) % (uint32_t)n), found = -1;
    bool lean = next_random(&bench->random) & 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t id = at + i < n ? at + i : at + i - n;
        if (!(mask[id >> 5] >> (id & 31) & 1))
            continue;
        if (!lean || bench->closing[id])
            return id;
        found = found < 0 ? id : found;
    }
    return found;
}

static void run_turn(struct bench *bench, const struct glint_turn_rules *rules,
                     struct times *compile, struct times *tokens) {
    struct glint_grammar grammar;
    struct glint_constraint *constraint = NULL;
    struct glint_error err = {.status = GLINT_OK};
    double begin = cpu_us();
    if (glint_turn_grammar(&grammar, rules, &err) != GLINT_OK)
        give_up("grammar", &err);
    struct glint_constraint_rules own = {.grammar = &grammar};
    if (glint_constraint_init(&constraint, bench->space, &own, &err) != GLINT_OK)
        give_up("constraint", &err);
    add_time(compile, cpu_us() - begin);
    for (int i = 0; i < MAX_TOKENS && !glint_constraint_is_done(constraint); i++) {
        const uint32_t *mask;
        begin = cpu_us();
        if (glint_constraint_mask(constraint, &mask, &err) != GLINT_OK)
            give_up("mask", &err);
        double spent = cpu_us() - begin;
        int32_t id = pick(bench, mask);
        begin = cpu_us();
        if (id < 0 || glint_constraint_accept(constraint, id, &err) != GLINT_OK)
            give_up("accept", &err);
        add_time(tokens, spent + cpu_us() - begin);
    }
    glint_constraint_close(&constraint);
}

// Each tool as a call that is named, its parameters as a schema of the answer; then all at once.
static void run_all(struct bench *bench) {
    struct times compile = {.n = 0}, tokens = {.n = 0}, all = {.n = 0}, answers = {.n = 0};
    for (int pass = 0; pass < N_PASSES; pass++) {
        for (size_t i = 0; i < bench->tools.n; i++) {
            const struct glint_tool *tool = &bench->tools.tools[i];
            struct glint_tool_set none = {.n = 0};
            struct glint_turn_rules call = {.tools = &bench->tools, .tool_choice = tool->name.data};
            struct glint_turn_rules answer = {
                .tools = &none, .schema = tool->parameters, .start = GLINT_TURN_USER};
            run_turn(bench, &call, &compile, &tokens);
            if (tool->parameters)
                run_turn(bench, &answer, &compile, &answers);
        }
        struct glint_turn_rules every = {.tools = &bench->tools, .tool_choice = "required"};
        run_turn(bench, &every, &all, &tokens);
        printf("pass %d%s\n", pass + 1, pass ? "" : " (tables of strings are made)");
        report("  compile, one schema", &compile, 1e-3, "ms");
        report("  compile, all tools", &all, 1e-3, "ms");
        report("  mask and step, in calls", &tokens, 1, "us");
        report("  mask and step, in answers", &answers, 1, "us");
    }
    free(compile.us);
    free(tokens.us);
    free(all.us);
    free(answers.us);
}

int main(int argc, char **argv) {
    struct bench bench = {.random = 1};
    struct glint_error err = {.status = GLINT_OK};
    struct glint_gguf *gguf = NULL;
    if (argc > 1) {
        if (glint_gguf_open(&gguf, argv[1], &err) != GLINT_OK ||
            glint_vocab_open_gguf(&bench.vocab, gguf, &err) != GLINT_OK)
            give_up("open", &err);
        glint_gguf_close(&gguf);
    } else {
        bench.vocab = make_vocab();
    }
    if (glint_json_load(&bench.doc, argc > 2 ? argv[2] : GLINT_AGENT_TOOLS, 1 << 24, &err) !=
            GLINT_OK ||
        glint_tool_set_init(&bench.tools, glint_json_root(bench.doc), &err) != GLINT_OK)
        give_up("tools", &err);
    int32_t n = glint_vocab_n_tokens(bench.vocab);
    double begin = cpu_us();
    if (glint_mask_space_open(&bench.space, bench.vocab, n, &err) != GLINT_OK)
        give_up("space", &err);
    printf("%d tokens, %u nodes of their tree, made in %.1f ms\n", n, bench.space->trie.n,
           (cpu_us() - begin) * 1e-3);
    bench.closing = glint_alloc((size_t)n, sizeof *bench.closing);
    for (int32_t id = 0; bench.closing && id < n; id++) {
        struct glint_view bytes = glint_vocab_bytes(bench.vocab, id);
        bench.closing[id] = glint_vocab_is_special(bench.vocab, id);
        for (size_t i = 0; i < bytes.n; i++)
            bench.closing[id] = bench.closing[id] || strchr("\"]}</>", bytes.data[i]);
    }
    if (bench.closing)
        run_all(&bench);
    glint_free(bench.closing);
    glint_tool_set_fini(&bench.tools);
    glint_json_close(&bench.doc);
    glint_mask_space_close(&bench.space);
    glint_vocab_close(&bench.vocab);
    return 0;
}
