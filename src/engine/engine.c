// SPDX-License-Identifier: Apache-2.0
// engine.c — opening and closing an engine: file, plan, backend, weights, cache, scratch, in
// that order, so that a model that does not fit is refused before anything is loaded.
#include "engine/engine.h"

#include "base/alloc.h"
#include "sample/token_mask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MIN_CONTEXT = 2048 }; // a smaller automatic context is of no use

struct glint_engine_params glint_engine_params_default(void) {
    return (struct glint_engine_params){.n_session = 1, .n_draft = -1};
}

static void say(const struct glint_engine *engine, enum glint_log_kind kind, const char *text) {
    if (engine->params.say)
        engine->params.say(engine->params.user, kind, text);
}

static bool fits(const struct glint_engine *engine) {
    // Mapped weights that are in the page cache already count as available.
    return engine->plan.available == 0 || engine->plan.total <= engine->plan.available;
}

// The asked context, or without one the model's own, halved until the plan fits.
static enum glint_status choose_context(struct glint_engine *engine, struct glint_error *err) {
    const struct glint_engine_params *params = &engine->params;
    const struct glint_config *config = engine->files.config;
    char plan[400];
    int n = params->n_context > 0 ? params->n_context : config->n_context;
    GLINT_TRY(glint_plan_for(&engine->plan, &engine->files, params, n, err));
    while (params->n_context <= 0 && !fits(engine) && n / 2 >= MIN_CONTEXT) {
        n /= 2;
        GLINT_TRY(glint_plan_for(&engine->plan, &engine->files, params, n, err));
    }
    engine->n_context = n;
    glint_plan_print(&engine->plan, plan, sizeof plan);
    if (!fits(engine) && !params->no_memory_check)
        return glint_fail(err, GLINT_E_NOMEM,
                          "%s: does not fit in memory: %s. Close other programs, lower --ctx-size, "
                          "or take a smaller file",
                          engine->files.gguf->path, plan);
    say(engine, GLINT_SAY_DEBUG, plan);
    if (params->n_context <= 0 && n < config->n_context) {
        snprintf(plan, sizeof plan, "context lowered from %d to %d tokens to fit in memory",
                 config->n_context, n);
        say(engine, GLINT_SAY_WARN, plan);
    }
    if (params->n_cache > 0 && params->n_cache < n) {
        snprintf(plan, sizeof plan,
                 "--cache-size raised from %d to %d tokens: one context must fit (--ctx-size)",
                 params->n_cache, n);
        say(engine, GLINT_SAY_WARN, plan);
    }
    return GLINT_OK;
}

static enum glint_status open_parts(struct glint_engine *engine, struct glint_error *err) {
    struct glint_engine_sizes sizes;
    const struct glint_engine_files *files = &engine->files;
    const struct glint_config *config = files->config;
    GLINT_TRY(choose_context(engine, err));
    GLINT_TRY(glint_engine_size(&sizes, files, &engine->params, engine->n_context, err));
    engine->n_chunk = sizes.n_chunk;
    engine->n_session = sizes.kv.n_sequence;
    GLINT_TRY(glint_backend_open(&engine->backend, &engine->params, &sizes.limits, err));
    GLINT_TRY(glint_model_open(&engine->model, files->gguf, engine->backend, err));
    GLINT_TRY(glint_kv_open(&engine->kv, config, engine->backend, &sizes.kv, err));
    if (config->n_full > 0)
        GLINT_TRY(glint_prefix_open(&engine->prefix, engine->kv, err));
    GLINT_TRY(glint_forward_init(&engine->forward, &engine->model, engine->kv, sizes.max_rows,
                                 sizes.max_want, err));
    engine->forward.exact = engine->params.exact_activations;
    GLINT_TRY(glint_batch_init(&engine->batch, sizes.max_rows, err));
    if (files->drafting)
        GLINT_TRY(glint_draft_open(&engine->draft, files->drafting, files->draft_gguf,
                                   &engine->model, &sizes.draft, err));
    glint_pace_book_init(&engine->pace);
    GLINT_TRY(glint_sampler_scratch_open(&engine->scratch, config->n_vocab, err));
    size_t n_rows = (size_t)sizes.max_rows * (size_t)config->width;
    size_t max_col = (size_t)sizes.limits.max_col;
    engine->rows = glint_alloc(n_rows > max_col ? n_rows : max_col, sizeof(float));
    engine->sessions = glint_alloc((size_t)engine->n_session, sizeof(struct glint_session *));
    engine->parts = glint_alloc((size_t)engine->n_session, sizeof *engine->parts);
    engine->units = glint_alloc((size_t)engine->n_context, sizeof *engine->units);
    if (!engine->rows || !engine->sessions || !engine->parts || !engine->units)
        return glint_fail(err, GLINT_E_NOMEM, "engine: no memory");
    return GLINT_OK;
}

enum glint_status glint_engine_open(struct glint_engine **out,
                                    const struct glint_engine_params *params,
                                    struct glint_error *err) {
    GLINT_REQUIRE(out && params && params->model_path, err);
    *out = NULL;
    struct glint_engine *engine = glint_alloc(1, sizeof *engine);
    if (!engine)
        return glint_fail(err, GLINT_E_NOMEM, "engine: no memory");
    engine->params = *params;
    // The configuration first: a file of another kind is named so.
    enum glint_status status = glint_engine_files_open(&engine->files, params, err);
    if (status == GLINT_OK && !params->vocab_only)
        status = open_parts(engine, err);
    if (status == GLINT_OK)
        status = glint_vocab_open_gguf(&engine->vocab, engine->files.gguf, err);
    if (status != GLINT_OK) {
        glint_engine_close(&engine);
        return status;
    }
    *out = engine;
    return GLINT_OK;
}

void glint_engine_close(struct glint_engine **engine_in) {
    struct glint_engine *engine = *engine_in;
    *engine_in = NULL;
    if (!engine)
        return;
    glint_free(engine->sessions);
    glint_free(engine->rows);
    glint_free(engine->units);
    glint_free(engine->parts);
    glint_sampler_scratch_close(&engine->scratch);
    glint_batch_fini(&engine->batch);
    glint_draft_close(&engine->draft);
    glint_forward_fini(&engine->forward);
    glint_prefix_close(&engine->prefix);
    glint_kv_close(&engine->kv);
    glint_model_close(&engine->model);
    if (engine->backend)
        engine->backend->close(engine->backend);
    glint_mask_space_close(&engine->mask_space);
    glint_vocab_close(&engine->vocab);
    glint_engine_files_close(&engine->files);
    glint_free(engine);
}

struct glint_engine_info glint_engine_info(const struct glint_engine *engine) {
    struct glint_engine_info info = {.model_path = engine->files.gguf->path,
                                     .weight_bytes = engine->files.gguf->n_tensor_bytes,
                                     .plan = engine->plan};
    if (!engine->backend)
        return info;
    const struct glint_config *config = &engine->model.config;
    const struct glint_kv_plane *full = glint_kv_plane(engine->kv, false);
    const struct glint_kv_plane *sliding = glint_kv_plane(engine->kv, true);
    info.device = engine->backend->name;
    info.tier = engine->backend->tier;
    info.n_threads = engine->backend->n_threads;
    info.n_vocab = config->n_vocab;
    info.n_layer = config->n_layer;
    info.width = config->width;
    info.window = config->window;
    info.n_context = engine->n_context;
    info.n_chunk = engine->n_chunk;
    info.draft_path = engine->draft ? engine->files.draft_gguf->path : NULL;
    info.n_draft = engine->draft ? glint_draft_max(engine->draft) : 0;
    // Decoding reads every matrix but one row of the embedding.
    info.step_bytes = engine->model.weight_bytes -
                      (uint64_t)(config->n_vocab - 1) * engine->model.embed.row_bytes;
    info.cache_bytes_per_token = full->page_bytes / GLINT_KV_PAGE_ROWS;
    info.cache_bytes_window = sliding->page_bytes / GLINT_KV_PAGE_ROWS * (uint64_t)config->window;
    return info;
}
