// SPDX-License-Identifier: Apache-2.0
// test_draft_draws.c — with sampling, drafted text has the model's own distribution: three tokens
// after a prompt, drawn again and again through rounds of three proposals, against their exact
// probabilities, which are computed here from plain logits, in double, by the sampler's rules.
// Chi-square over all triples that are expected at least five times, the rest together.
//
// The target is a network of random weights: its distributions are flat, and no drafter can be
// trained for it. So all but its twelve likeliest first tokens are banned, by biases, and its drafter
// is made to propose the likeliest everywhere: the branches are zero, and the final gain turns the
// embedding of the mask token into the output row of that token.
//
// With the grammar nothing is banned: a pattern is compiled for the toy vocabulary, whose first 256
// tokens are the bytes, and its masks are what keeps the draws within it. What it allows after which
// text is said here a second time, by hand. The drafter then proposes a letter that may come at once,
// must come after some digits and cannot come after others.
//
// Arguments: the number of draws of each setting; what the names of the settings to try begin with.
#include "engine/engine.h"
#include "format/gguf_write.h"
#include "golden/golden_fixture.h"
#include "quant/dtype.h"
#include "sample/constraint.h"
#include "sample/text_dfa.h"
#include "sanitized.h"

// cmocka.h needs these first
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_STEP = 3, N_VOCAB = 512, N_PROMPT = 53, N_DRAFT = 3, N_ALLOWED = 12, WIDTH = 128, MAX_CELL = 1 << 16, GRAMMAR = -1 };

struct setting {
    const char *name;
    float temperature, top_p;
    int top_k;
    float repeat, presence, frequency;
    int n_allowed; // of the twelve; GRAMMAR: what the pattern allows
};

static const struct setting settings[] = {
    {"temperature 0.7", 0.7f, 1, 0, 1, 0, 0, N_ALLOWED},
    {"temperature 1.3", 1.3f, 1, 0, 1, 0, 0, N_ALLOWED},
    {"top-p 0.8", 1, 0.8f, 0, 1, 0, 0, N_ALLOWED},
    {"top-k 5, penalties", 1, 1, 5, 1.3f, 0.4f, 0.3f, N_ALLOWED},
    {"six tokens, temperature 0.7", 0.7f, 1, 0, 1, 0, 0, N_ALLOWED / 2},
    {"grammar, temperature 0.7", 0.7f, 1, 0, 1, 0, 0, GRAMMAR},
    {"grammar, top-p 0.95, penalties", 1.3f, 0.95f, 0, 1.3f, 0.4f, 0.3f, GRAMMAR},
};

static int n_draws = GLINT_SANITIZED ? 100 : 800;
static const char *which = "";
static struct golden golden;
static const int32_t *prompt;
static int allowed[N_ALLOWED]; // best first
static struct glint_engine *engine, *plain; // with the drafter and without
static char letter;                         // of the grammar, which the drafter proposes then

static void must(enum glint_status status, const struct glint_error *error) {
    if (status != GLINT_OK)
        fail_msg("%s", error->text);
}

// ---- the drafter ----------------------------------------------------------------------------

static void read_row(const struct glint_gguf *gguf, const char *name, int row, float *out) {
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(gguf, name);
    assert_non_null(tensor);
    const struct glint_dtype_info *info = glint_dtype_info(tensor->type_id);
    size_t row_bytes = glint_dtype_bytes(info->dtype, WIDTH);
    info->decode(tensor->data + (size_t)row * row_bytes, out, WIDTH);
}

// Rewrites the converted drafter as one that proposes `token` alone.
static void propose_always(int32_t token) {
    struct glint_gguf *target, *drafter;
    struct glint_gguf_writer *writer;
    struct glint_error error = {0};
    float mask[WIDTH], gain[WIDTH];
    double square = 0;
    char path[300];
    uint32_t mask_id = 0;
    must(glint_gguf_open(&target, golden.gguf, &error), &error);
    must(glint_gguf_open(&drafter, golden.part, &error), &error);
    must(glint_gguf_get_u32(drafter, "tokenizer.ggml.mask_token_id", &mask_id, &error), &error);
    read_row(target, "token_embd.weight", (int)mask_id, mask);
    read_row(target, "output.weight", token, gain);
    for (int i = 0; i < WIDTH; i++)
        square += (double)mask[i] * mask[i] / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        gain[i] = mask[i] == 0 ? 0 : (float)(gain[i] * sqrt(square) / mask[i]);
    must(glint_gguf_writer_open(&writer, &error), &error);
    for (size_t i = 0; i < drafter->n_kvs; i++)
        glint_gguf_put_kv(writer, &drafter->kvs[i]);
    for (size_t i = 0; i < drafter->n_tensors; i++) {
        const struct glint_gguf_tensor *t = &drafter->tensors[i];
        bool final = strcmp(t->name, "output_norm.weight") == 0;
        glint_gguf_add_tensor(writer, t->name, final ? 0 : t->type_id, t->n_dims, t->dims);
    }
    snprintf(path, sizeof path, "%s.new", golden.part);
    must(glint_gguf_writer_begin(writer, path, &error), &error);
    for (size_t i = 0; i < drafter->n_tensors; i++) {
        const struct glint_gguf_tensor *t = &drafter->tensors[i];
        bool zero = strstr(t->name, "attn_output") || strstr(t->name, "ffn_down");
        bool final = strcmp(t->name, "output_norm.weight") == 0;
        void *none = calloc(1, t->n_bytes);
        must(glint_gguf_writer_data(writer, final ? (void *)gain : zero ? none : t->data,
                                    final ? sizeof gain : t->n_bytes, &error),
             &error);
        free(none);
    }
    must(glint_gguf_writer_commit(&writer, &error), &error);
    glint_gguf_close(&drafter);
    glint_gguf_close(&target);
    assert_int_equal(rename(path, golden.part), 0);
}

// ---- the grammar ----------------------------------------------------------------------------

// "(x|[0-4][A-E]|[5-9]x){3,9}", x being the letter; the end cannot come among three tokens.
static struct glint_constraint *open_grammar(struct glint_mask_space *space) {
    struct glint_error error = {0};
    struct glint_grammar grammar;
    struct glint_constraint *constraint;
    struct glint_nfa nfa = {.n = 0};
    struct glint_text_rule rule = {.spelling = GLINT_SPELL_RAW,
                                   .patterns = &nfa,
                                   .n_patterns = 1,
                                   .most = UINT32_MAX};
    char pattern[64];
    uint32_t start;
    int n = snprintf(pattern, sizeof pattern, "^(%c|[0-4][A-E]|[5-9]%c){3,9}$", letter, letter);
    must(glint_grammar_init(&grammar, &error), &error);
    must(glint_nfa_open(&nfa, (struct glint_view){pattern, (size_t)n}, rule.spelling, &error),
         &error);
    assert_int_equal(glint_dfa_pattern(&grammar.dfa, &rule, &start), GLINT_MACHINE_FITS);
    glint_nfa_fini(&nfa);
    uint32_t stop = glint_grammar_add(&grammar, (struct glint_node){.kind = GLINT_NODE_STOP});
    uint32_t end = glint_grammar_symbol(&grammar, GLINT_SYMBOL_END, stop);
    grammar.root = glint_grammar_lex(&grammar, start, end);
    glint_grammar_measure(&grammar);
    struct glint_constraint_rules rules = {.grammar = &grammar};
    must(glint_constraint_init(&constraint, space, &rules, &error), &error);
    return constraint;
}

// Whether the pattern lets id follow the n tokens drawn so far.
static bool may_follow(const int32_t *drawn, int n, int32_t id) {
    int32_t open = -1; // a digit that waits for what belongs to it
    for (int i = 0; i < n; i++)
        open = open < 0 && drawn[i] != letter ? drawn[i] : -1;
    if (open < 0)
        return id == letter || (id >= '0' && id <= '9');
    return open <= '4' ? id >= 'A' && id <= 'E' : id == letter;
}

// ---- exact probabilities --------------------------------------------------------------------

static int better(const float *logit, int a, int b) {
    return logit[a] > logit[b] || (logit[a] == logit[b] && a < b);
}

// Probabilities [N_VOCAB] of the next token after ids [n].
static void distribution(const struct setting *setting, const int32_t *ids, int n, double *p) {
    struct glint_session *session;
    struct glint_error error = {0};
    static float logit[N_VOCAB];
    static int order[N_VOCAB];
    must(glint_session_open(&session, plain, &error), &error);
    must(glint_session_sync(session, ids, n, NULL, &error), &error);
    memcpy(logit, glint_session_logits(session), sizeof logit);
    glint_session_close(&session);
    for (int id = 0; id < N_VOCAB; id++) {
        int seen = 0;
        for (int i = n > 64 ? n - 64 : 0; i < n; i++)
            seen += ids[i] == id;
        if (seen) {
            logit[id] = logit[id] > 0 ? logit[id] / setting->repeat : logit[id] * setting->repeat;
            logit[id] -= (float)seen * setting->frequency + setting->presence;
        }
    }
    for (int id = 0; setting->n_allowed == GRAMMAR && id < N_VOCAB; id++)
        if (!may_follow(ids + N_PROMPT, n - N_PROMPT, id))
            logit[id] = -INFINITY;
    if (setting->n_allowed > 0) {
        float all[N_VOCAB];
        memcpy(all, logit, sizeof all);
        for (int id = 0; id < N_VOCAB; id++)
            logit[id] = -INFINITY;
        for (int i = 0; i < setting->n_allowed; i++)
            logit[allowed[i]] = all[allowed[i]];
    }
    int n_kept = 0;
    for (int id = 0; id < N_VOCAB; id++) { // insertion into the order of preference
        int at = n_kept++;
        for (; at > 0 && better(logit, id, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = id;
    }
    if (setting->top_k > 0 && setting->top_k < n_kept)
        n_kept = setting->top_k;
    double total = 0, sum = 0;
    for (int i = 0; i < n_kept; i++)
        total += exp((double)logit[order[i]]);
    for (int i = 0; i < n_kept; i++) {
        sum += exp((double)logit[order[i]]);
        if (sum >= setting->top_p * total) {
            n_kept = i + 1;
            break;
        }
    }
    memset(p, 0, N_VOCAB * sizeof *p);
    total = 0;
    for (int i = 0; i < n_kept; i++)
        total += p[order[i]] = exp((double)logit[order[i]] / setting->temperature);
    for (int i = 0; i < n_kept; i++)
        p[order[i]] /= total;
}

// Also the letter: the likeliest.
static void choose_allowed(void) {
    static double p[N_VOCAB];
    const struct setting free = {.temperature = 1, .top_p = 1, .repeat = 1};
    distribution(&free, prompt, N_PROMPT, p);
    letter = 'a';
    for (char c = 'b'; c <= 'z'; c++)
        letter = p[(int)c] > p[(int)letter] ? c : letter;
    for (int i = 0; i < N_ALLOWED; i++) {
        allowed[i] = 0;
        for (int id = 1; id < N_VOCAB; id++)
            if (p[id] > p[allowed[i]])
                allowed[i] = id;
        p[allowed[i]] = 0;
    }
}

// ---- cells ----------------------------------------------------------------------------------

// Triples, and what stands for all that begin with one or two tokens and are too rare.
struct cell {
    int32_t id[N_STEP]; // -1: any other
    double p;
    int n;
};

struct cells {
    struct cell cell[MAX_CELL];
    int n;
};
static struct cells cells;

// Splits what begins with the tokens of `begin` [depth] and has probability p.
static void split(const struct setting *setting, int32_t ids[N_PROMPT + N_STEP], int depth,
                  double p) {
    double rest = 0, next[N_VOCAB];
    distribution(setting, ids, N_PROMPT + depth, next);
    for (int id = 0; id < N_VOCAB; id++) {
        ids[N_PROMPT + depth] = id;
        if (p * next[id] * n_draws < 5) {
            rest += p * next[id];
        } else if (depth + 1 < N_STEP) {
            split(setting, ids, depth + 1, p * next[id]);
        } else {
            assert_true(cells.n < MAX_CELL);
            struct cell *cell = &cells.cell[cells.n++];
            *cell = (struct cell){.p = p * next[id]};
            memcpy(cell->id, ids + N_PROMPT, sizeof cell->id);
        }
    }
    if (rest > 0) {
        assert_true(cells.n < MAX_CELL);
        struct cell *cell = &cells.cell[cells.n++];
        *cell = (struct cell){.id = {-1, -1, -1}, .p = rest};
        memcpy(cell->id, ids + N_PROMPT, (size_t)depth * sizeof cell->id[0]);
    }
}

static void count(const int32_t id[N_STEP]) {
    struct cell *best = NULL; // the one that shares the most tokens
    int most = -1;
    for (int i = 0; i < cells.n; i++) {
        int same = 0;
        while (same < N_STEP && cells.cell[i].id[same] == id[same])
            same++;
        if ((same == N_STEP || cells.cell[i].id[same] < 0) && same > most) {
            best = &cells.cell[i];
            most = same;
        }
    }
    if (!best)
        fail_msg("%d %d %d was drawn, which has no probability", id[0], id[1], id[2]);
    best->n++;
}

// The chance of a chi-square at least this large (Wilson and Hilferty).
static double tail(double chi_square, int n_free) {
    double v = 2.0 / (9.0 * n_free);
    return 0.5 * erfc((cbrt(chi_square / n_free) - (1 - v)) / sqrt(2 * v));
}

// ---- draws ----------------------------------------------------------------------------------

static void draw(const struct setting *setting, struct glint_session *session, int i,
                 int32_t id[N_STEP]) {
    static struct glint_logit_bias bias[N_VOCAB];
    struct glint_error error = {0};
    struct glint_sampler_options options = {.temperature = setting->temperature,
                                            .top_k = setting->top_k,
                                            .top_p = setting->top_p,
                                            .repeat_penalty = setting->repeat,
                                            .presence_penalty = setting->presence,
                                            .frequency_penalty = setting->frequency,
                                            .repeat_last_n = 64,
                                            .seed = (uint64_t)i,
                                            .bias = bias};
    for (int t = 0; setting->n_allowed > 0 && t < N_VOCAB; t++) {
        bool banned = true;
        for (int k = 0; k < setting->n_allowed; k++)
            banned = banned && allowed[k] != t;
        if (banned)
            bias[options.n_bias++] = (struct glint_logit_bias){t, -INFINITY};
    }
    must(glint_session_set_sampler(session, &options, &error), &error);
    // The last token of the prompt starts the first round.
    must(glint_session_truncate(session, N_PROMPT - 1, &error), &error);
    must(glint_engine_decode(engine, &session, &prompt[N_PROMPT - 1], 1, &error), &error);
    for (int k = 0; k < N_STEP; k++) {
        struct glint_sample sample;
        must(glint_session_sample(session, &sample, &error), &error);
        id[k] = sample.id;
        if (k + 1 < N_STEP)
            must(glint_engine_decode(engine, &session, &sample.id, 1, &error), &error);
    }
}

static void check_setting(const struct setting *setting, struct glint_constraint *grammar) {
    struct glint_session *session;
    struct glint_error error = {0};
    int32_t ids[N_PROMPT + N_STEP];
    memcpy(ids, prompt, N_PROMPT * sizeof *ids);
    cells.n = 0;
    split(setting, ids, 0, 1);
    must(glint_session_open(&session, engine, &error), &error);
    must(glint_session_set_draft(session, N_DRAFT, &error), &error);
    must(glint_session_sync(session, prompt, N_PROMPT, NULL, &error), &error);
    glint_session_set_constraint(session, grammar);
    for (int i = 0; i < n_draws; i++) {
        int32_t id[N_STEP];
        draw(setting, session, i, id);
        count(id);
        if (grammar)
            must(glint_constraint_rewind(grammar, N_STEP, &error), &error);
    }
    struct glint_draft_stats stats = glint_session_draft_stats(session);
    glint_session_close(&session);
    double chi_square = 0;
    int n_cell = 0;
    for (int i = 0; i < cells.n; i++) {
        double expected = cells.cell[i].p * n_draws, d = cells.cell[i].n - expected;
        if (expected < 1) { // too rare to count
            assert_true(cells.cell[i].n < 10);
            continue;
        }
        chi_square += d * d / expected;
        n_cell++;
    }
    double p = tail(chi_square, n_cell - 1);
    printf("    %s: %d draws, %d cells, chi-square %.1f, p = %.4f; %lld of %lld proposals taken\n",
           setting->name, n_draws, n_cell, chi_square, p, (long long)stats.n_accepted,
           (long long)stats.n_proposed);
    assert_true(n_cell > 8 && stats.n_accepted > n_draws / 50);
    if (!(p > 0.001))
        fail_msg("%s: chi-square %g over %d cells", setting->name, chi_square, n_cell);
}

static struct glint_engine *open_engine(char *drafter) {
    struct glint_engine_params params = golden_params(&golden, NULL);
    params.exact_activations = false;
    params.n_context = 256;
    params.n_threads = 1;
    params.draft_path = drafter;
    return golden_engine(&params);
}

// Those settings that have the grammar, or those that do not.
static void check_settings(bool with_grammar) {
    struct glint_mask_space *space = NULL;
    struct glint_constraint *grammar = NULL;
    struct glint_error error = {0};
    propose_always(with_grammar ? letter : allowed[0]);
    engine = open_engine(golden.part);
    if (with_grammar) {
        must(glint_mask_space_open(&space, engine->vocab, N_VOCAB, &error), &error);
        grammar = open_grammar(space);
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (with_grammar == (settings[i].n_allowed == GRAMMAR) &&
            strncmp(settings[i].name, which, strlen(which)) == 0)
            check_setting(&settings[i], grammar);
    glint_constraint_close(&grammar);
    glint_mask_space_close(&space);
    glint_engine_close(&engine);
}

static void test_distribution(void **state) {
    (void)state;
    int n;
    golden_open(&golden, "nano", "q8_0");
    golden_convert(&golden, "assistant");
    prompt = golden_ids(&golden, "text.ids", &n);
    assert_int_equal(n, N_PROMPT);
    plain = open_engine(NULL);
    choose_allowed();
    check_settings(false);
    check_settings(true);
    glint_engine_close(&plain);
    golden_close(&golden);
}

int main(int argc, char **argv) {
    if (argc > 1)
        n_draws = atoi(argv[1]);
    if (argc > 2)
        which = argv[2];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_distribution)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
