// SPDX-License-Identifier: Apache-2.0
// constrain.c — the public face of constraints: a request's tools and schema to a grammar over
// the engine's vocabulary.
#include "engine/engine.h"

#include "engine/turn_grammar.h"
#include "sample/constraint.h"

static enum glint_status read_json(struct glint_json_text text, const char *name,
                                   struct glint_json_doc **doc, struct glint_error *err) {
    struct glint_json_options options = {.repair_surrogates = true, .name = name};
    *doc = NULL;
    if (!text.data)
        return GLINT_OK;
    return glint_json_parse(doc, (struct glint_view){text.data, text.n}, &options, err);
}

static enum glint_status open_space(struct glint_engine *engine, struct glint_error *err) {
    int32_t n = glint_vocab_n_tokens(engine->vocab);
    if (engine->mask_space)
        return GLINT_OK;
    GLINT_TRY(glint_vocab_require_dialect(engine->vocab, err));
    if (n < engine->model.config.n_vocab)
        n = engine->model.config.n_vocab;
    return glint_mask_space_open(&engine->mask_space, engine->vocab, n, err);
}

static enum glint_status build(struct glint_grammar *grammar,
                               const struct glint_constraint_options *options,
                               struct glint_error *err) {
    struct glint_json_doc *tools = NULL, *schema = NULL;
    struct glint_tool_set set = {.n = 0};
    enum glint_status status = read_json(options->tools, "tools", &tools, err);
    if (status == GLINT_OK)
        status = read_json(options->schema, "schema", &schema, err);
    if (status == GLINT_OK && tools)
        status = glint_tool_set_init(&set, glint_json_root(tools), err);
    if (status == GLINT_OK) {
        struct glint_turn_rules rules = {.tools = &set,
                                         .tool_choice = options->tool_choice,
                                         .one_call = options->one_call,
                                         .loose_tools = options->loose_tools,
                                         .schema = schema ? glint_json_root(schema) : NULL,
                                         .json_object = options->json_object,
                                         .start = options->start,
                                         .start_tool = options->start_tool};
        status = glint_turn_grammar(grammar, &rules, err);
    }
    glint_tool_set_fini(&set);
    glint_json_close(&tools);
    glint_json_close(&schema);
    return status;
}

enum glint_status glint_constraint_open(struct glint_constraint **constraint,
                                        struct glint_engine *engine,
                                        const struct glint_constraint_options *options,
                                        struct glint_error *err) {
    struct glint_grammar grammar;
    *constraint = NULL;
    GLINT_TRY(open_space(engine, err));
    GLINT_TRY(build(&grammar, options, err));
    struct glint_constraint_rules rules = {
        .grammar = &grammar, .has_budget = options->has_budget, .budget = options->budget};
    return glint_constraint_init(constraint, engine->mask_space, &rules, err);
}

void glint_session_set_constraint(struct glint_session *session,
                                  struct glint_constraint *constraint) {
    session->constraint = constraint;
}
