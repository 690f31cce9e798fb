// SPDX-License-Identifier: Apache-2.0
// constrained_run.c — turns drawn from random logits under a constraint, for others to judge.
// Usage: constrained_run MODEL.gguf JOBS.jsonl [MAX_TOKENS]. Only the model's vocabulary is used.
// A job is {"id": ..., "options": {"schema", "json_object", "tools", "tool_choice", "one_call",
// "budget"}, "seed", "runs"}; a line of the result is {"id", "run", "finished", "tokens",
// "message"} with the message as the parser of stream/ sees it, or {"id", "error"}.
#include "engine/turn_grammar.h"
#include "format/gguf.h"
#include "format/json_write.h"
#include "sample/constraint.h"
#include "sample/sampler.h"
#include "sample/text_dfa.h"
#include "stream/message.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct glint_vocab *vocab;
    struct glint_mask_space *space;
    struct glint_sampler_scratch *scratch;
    float *logits;
    bool *closing; // tokens that tend to end things
    int32_t n_vocab;
    int max_tokens;
};

struct job {
    const struct glint_json *line, *options;
    struct glint_tool_set tools;
    struct glint_turn_rules rules;
    uint64_t seed;
};

static _Noreturn void give_up(const char *what, const struct glint_error *err) {
    fprintf(stderr, "constrained_run: %s: %s\n", what, err->text);
    exit(1);
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// Noise that leans towards tokens that end things, more or less, so that turns end at all.
static void fill_logits(struct bench *bench, uint64_t *random, float lean) {
    for (int32_t i = 0; i < bench->n_vocab; i++) {
        float noise = (float)(next_random(random) >> 7) * 0x1p-24f * 12.0f;
        bench->logits[i] = noise + (bench->closing[i] ? lean : 0.0f);
    }
}

// A text that begins to close its parameter is helped to go on, or none ever would.
static void help_closer(struct bench *bench, const struct glint_buffer *said) {
    size_t n = strlen(glint_closer_text), k = n - 1;
    k = k < said->n ? k : said->n;
    while (k > 0 && memcmp(said->data + said->n - k, glint_closer_text, k) != 0)
        k--;
    for (size_t length = 1; k > 0 && k + length <= n; length++) {
        int32_t id =
            glint_vocab_find(bench->vocab, (struct glint_view){glint_closer_text + k, length});
        if (id >= 0)
            bench->logits[id] += 10.0f;
    }
}

static void print_head(const struct job *job, int run) {
    struct glint_buffer text = {.data = NULL};
    glint_json_put_value(&text, glint_json_get(job->line, "id"), GLINT_JSON_COMPACT);
    printf("{\"id\":%s,\"run\":%d", text.data, run);
    glint_buffer_fini(&text);
}

// Draws until the constraint or the parser says that the turn is over.
static int draw_turn(struct bench *bench, struct glint_constraint *constraint,
                     struct glint_stream *stream, uint64_t seed) {
    struct glint_sampler_options options = glint_sampler_defaults();
    struct glint_sampler *sampler = NULL;
    struct glint_error err = {.status = GLINT_OK};
    struct glint_buffer said = {.data = NULL};
    uint64_t random = seed;
    int n = 0;
    options.seed = seed;
    if (glint_sampler_open(&sampler, &options, bench->n_vocab, &err) != GLINT_OK)
        give_up("sampler", &err);
    while (n < bench->max_tokens && !glint_stream_is_done(stream) &&
           !glint_constraint_is_done(constraint)) {
        const uint32_t *mask;
        struct glint_sample sample;
        fill_logits(bench, &random, seed & 1 ? 7.0f : 4.0f);
        help_closer(bench, &said);
        if (glint_constraint_mask(constraint, &mask, &err) != GLINT_OK ||
            glint_sampler_sample(sampler, bench->scratch, bench->logits, mask, &sample, &err) !=
                GLINT_OK ||
            glint_constraint_accept(constraint, sample.id, &err) != GLINT_OK)
            give_up("draw", &err);
        if (glint_stream_put_id(stream, bench->vocab, sample.id) != GLINT_OK)
            give_up("stream", &err);
        glint_sampler_accept(sampler, sample.id);
        struct glint_view bytes = glint_vocab_bytes(bench->vocab, sample.id);
        glint_buffer_append(&said, bytes.data, bytes.n);
        n++;
    }
    glint_buffer_fini(&said);
    glint_sampler_close(&sampler);
    return n;
}

static void run_once(struct bench *bench, const struct job *job, int run) {
    struct glint_error err = {.status = GLINT_OK};
    struct glint_grammar grammar;
    struct glint_constraint *constraint = NULL;
    struct glint_stream *stream = NULL;
    struct glint_message message = {.calls = NULL};
    struct glint_buffer text = {.data = NULL};
    uint64_t budget = 0;
    bool has_budget = glint_json_to_u64(glint_json_get(job->options, "budget"), &budget);
    if (glint_turn_grammar(&grammar, &job->rules, &err) != GLINT_OK) {
        print_head(job, run);
        printf(",\"error\":");
        glint_json_put_string(&text, glint_view_of(err.text));
        printf("%s}\n", text.data);
        glint_buffer_fini(&text);
        return;
    }
    struct glint_constraint_rules rules = {&grammar, has_budget, (size_t)budget};
    struct glint_stream_options options = {.tools = &job->tools,
                                           .no_calls = job->rules.tool_choice &&
                                                       strcmp(job->rules.tool_choice, "none") == 0,
                                           .one_call = job->rules.one_call,
                                           .has_budget = has_budget,
                                           .budget = (size_t)budget,
                                           .on_event = glint_message_on_event,
                                           .context = &message};
    if (glint_constraint_init(&constraint, bench->space, &rules, &err) != GLINT_OK ||
        glint_stream_open(&stream, &options, &err) != GLINT_OK)
        give_up("open", &err);
    int n = draw_turn(bench, constraint, stream, job->seed + (uint64_t)run);
    bool finished = glint_stream_is_done(stream);
    struct glint_view none = {.data = "", .n = 0};
    glint_stream_put(stream, finished ? GLINT_INPUT_END : GLINT_INPUT_LIMIT, none);
    glint_message_put_json(&message, &text);
    print_head(job, run);
    printf(",\"finished\":%s,\"tokens\":%d,\"remains\":%zu,\"message\":%s}\n",
           finished ? "true" : "false", n, message.remains.n, text.data);
    glint_buffer_fini(&text);
    glint_message_fini(&message);
    glint_stream_close(&stream);
    glint_constraint_close(&constraint);
}

static void run_job(struct bench *bench, const struct glint_json *line) {
    struct job job = {.line = line, .options = glint_json_get(line, "options")};
    struct glint_error err = {.status = GLINT_OK};
    struct glint_view choice;
    uint64_t runs = 1;
    const struct glint_json *tools = glint_json_get(job.options, "tools");
    if (tools && glint_tool_set_init(&job.tools, tools, &err) != GLINT_OK)
        give_up("tools", &err);
    job.rules = (struct glint_turn_rules){.tools = &job.tools,
                                          .schema = glint_json_get(job.options, "schema"),
                                          .start = GLINT_TURN_HEADER};
    glint_json_to_bool(glint_json_get(job.options, "json_object"), &job.rules.json_object);
    glint_json_to_bool(glint_json_get(job.options, "one_call"), &job.rules.one_call);
    if (glint_json_to_string(glint_json_get(job.options, "tool_choice"), &choice))
        job.rules.tool_choice = choice.data; // terminated
    glint_json_to_u64(glint_json_get(line, "seed"), &job.seed);
    glint_json_to_u64(glint_json_get(line, "runs"), &runs);
    for (uint64_t run = 0; run < runs; run++)
        run_once(bench, &job, (int)run);
    glint_tool_set_fini(&job.tools);
}

static void open_bench(struct bench *bench, const char *path) {
    struct glint_error err = {.status = GLINT_OK};
    struct glint_gguf *gguf = NULL;
    if (glint_gguf_open(&gguf, path, &err) != GLINT_OK ||
        glint_vocab_open_gguf(&bench->vocab, gguf, &err) != GLINT_OK)
        give_up("open", &err);
    glint_gguf_close(&gguf);
    bench->n_vocab = glint_vocab_n_tokens(bench->vocab);
    if (glint_mask_space_open(&bench->space, bench->vocab, bench->n_vocab, &err) != GLINT_OK ||
        glint_sampler_scratch_open(&bench->scratch, bench->n_vocab, &err) != GLINT_OK)
        give_up("open", &err);
    bench->logits = glint_alloc((size_t)bench->n_vocab, sizeof *bench->logits);
    bench->closing = glint_alloc((size_t)bench->n_vocab, sizeof *bench->closing);
    if (!bench->logits || !bench->closing)
        give_up("memory", &err);
    for (int32_t i = 0; i < bench->n_vocab; i++) {
        struct glint_view bytes = glint_vocab_bytes(bench->vocab, i);
        bench->closing[i] = glint_vocab_is_special(bench->vocab, i);
        for (size_t j = 0; j < bytes.n; j++)
            bench->closing[i] = bench->closing[i] || strchr("\"]}</>", bytes.data[j]);
    }
}

int main(int argc, char **argv) {
    struct bench bench = {.max_tokens = argc > 3 ? atoi(argv[3]) : 2000};
    struct glint_json_doc *doc = NULL;
    struct glint_error err = {.status = GLINT_OK};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    FILE *in = argc > 2 ? fopen(argv[2], "r") : NULL;
    if (!in) {
        fprintf(stderr, "usage: constrained_run MODEL.gguf JOBS.jsonl [MAX_TOKENS]\n");
        return 2;
    }
    open_bench(&bench, argv[1]);
    while ((n = getline(&line, &capacity, in)) > 0) {
        struct glint_json_options options = {.name = argv[2]};
        struct glint_view text = {line, (size_t)n};
        if (glint_json_parse(&doc, text, &options, &err) != GLINT_OK)
            give_up("job", &err);
        run_job(&bench, glint_json_root(doc));
        glint_json_close(&doc);
    }
    free(line);
    fclose(in);
    glint_free(bench.logits);
    glint_free(bench.closing);
    glint_sampler_scratch_close(&bench.scratch);
    glint_mask_space_close(&bench.space);
    glint_vocab_close(&bench.vocab);
    return 0;
}
