// SPDX-License-Identifier: Apache-2.0
// plan.c — how much memory a model, a context and a step will take, before any is taken.
#include "engine/engine.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_CHUNK = 512,
    LOGITS_BYTES = 32 << 20, // scratch for logits rows, except that 16 rows always fit
    MIN_WANT = 16,
    MAX_SESSION = 4096,   // keeps counts of pages within int
    DRAFTED_TOGETHER = 8, // sessions whose longest rounds fit into one step
};

static enum glint_status cache_type(const char *flag, const char *name, enum glint_dtype *dtype,
                                    struct glint_error *err) {
    *dtype = GLINT_DTYPE_F16;
    if (!name)
        return GLINT_OK;
    const struct glint_dtype_info *info = glint_dtype_by_name(name);
    if (!info || (info->dtype != GLINT_DTYPE_F16 && info->dtype != GLINT_DTYPE_F32 &&
                  info->dtype != GLINT_DTYPE_Q8_0))
        return glint_fail(err, GLINT_E_ARG, "%s: found \"%s\", expected f16, f32 or q8_0", flag,
                          name);
    *dtype = info->dtype;
    return GLINT_OK;
}

static int min_int(int a, int b) {
    return a < b ? a : b;
}

static int max_int(int a, int b) {
    return a > b ? a : b;
}

// Room for drafting: verify rows in a step, a block to take back, what the drafter computes.
static void add_drafting(struct glint_engine_sizes *sizes, const struct glint_engine_files *files,
                         const struct glint_engine_params *params) {
    int block = files->drafting->base.block, n_session = sizes->kv.n_sequence;
    int rows = block * min_int(n_session, DRAFTED_TOGETHER);
    sizes->kv.max_rows = max_int(sizes->kv.max_rows, block);
    sizes->kv.slack = max_int(sizes->kv.slack, block) + block;
    sizes->max_rows = max_int(sizes->max_rows, rows);
    sizes->max_want = max_int(sizes->max_want, rows);
    sizes->limits.max_rows = sizes->max_rows;
    sizes->draft = (struct glint_draft_params){
        .n_sequence = n_session,
        .n_context = sizes->kv.n_context,
        .max_rows = sizes->max_rows,
        .slack = sizes->kv.slack,
        .window = files->config->window,
        .dtype_k = sizes->kv.sliding_k,
        .dtype_v = sizes->kv.sliding_v,
        .exact = params->exact_activations,
    };
    glint_draft_limits(files->drafting, &sizes->draft, &sizes->limits);
}

enum glint_status glint_engine_size(struct glint_engine_sizes *sizes,
                                    const struct glint_engine_files *files,
                                    const struct glint_engine_params *params, int n_context,
                                    struct glint_error *err) {
    const struct glint_config *config = files->config;
    if (params->n_context > config->n_context)
        return glint_fail(err, GLINT_E_LIMIT,
                          "--ctx-size: found %d, expected at most %d, the model's own context",
                          params->n_context, config->n_context);
    if (params->n_checkpoint > MAX_SESSION)
        return glint_fail(err, GLINT_E_LIMIT, "checkpoints: found %d, expected at most %d",
                          params->n_checkpoint, MAX_SESSION);
    if (params->n_session > MAX_SESSION)
        return glint_fail(err, GLINT_E_LIMIT, "sessions: found %d, expected at most %d",
                          params->n_session, MAX_SESSION);
    int chunk = params->n_chunk > 0 ? params->n_chunk : DEFAULT_CHUNK;
    chunk = min_int(chunk, n_context);
    int n_session = max_int(params->n_session, 1);
    int max_rows = max_int(chunk, n_session);
    size_t row_bytes = (size_t)config->n_vocab * sizeof(float);
    int max_want = max_int((int)(LOGITS_BYTES / row_bytes), max_int(MIN_WANT, n_session));
    *sizes = (struct glint_engine_sizes){
        .kv = {.n_sequence = n_session,
               .n_context = n_context,
               .n_cell = max_int(params->n_cache, n_context),
               .max_rows = chunk,
               .slack = max_int(chunk, DEFAULT_CHUNK),
               .n_spare = max_int(params->n_checkpoint, 0)},
        .limits = {.max_rows = max_rows,
                   .max_col = max_int(max_int(config->width, config->n_ff),
                                      config->n_head * config->head_dim),
                   .max_head = config->n_head,
                   .max_context = n_context,
                   .head_dim = config->head_dim},
        .n_chunk = chunk,
        .max_rows = max_rows,
        .max_want = min_int(max_want, max_rows),
    };
    GLINT_TRY(cache_type("--cache-type-k", params->cache_type_k, &sizes->kv.full_k, err));
    GLINT_TRY(cache_type("--cache-type-v", params->cache_type_v, &sizes->kv.full_v, err));
    enum glint_dtype k = sizes->kv.full_k, v = sizes->kv.full_v;
    sizes->kv.sliding_k = k == GLINT_DTYPE_Q8_0 ? GLINT_DTYPE_F16 : k;
    sizes->kv.sliding_v = v == GLINT_DTYPE_Q8_0 ? GLINT_DTYPE_F16 : v;
    if (files->drafting && (params->n_draft < -1 || params->n_draft >= files->drafting->base.block))
        return glint_fail(err, GLINT_E_ARG,
                          "--draft-max: found %d, expected -1 to %d, what a block of the drafter "
                          "holds beside the token at hand",
                          params->n_draft, files->drafting->base.block - 1);
    if (files->drafting)
        add_drafting(sizes, files, params);
    return GLINT_OK;
}

enum glint_status glint_plan_for(struct glint_memory_plan *plan,
                                 const struct glint_engine_files *files,
                                 const struct glint_engine_params *params, int n_context,
                                 struct glint_error *err) {
    const struct glint_config *config = files->config;
    struct glint_engine_sizes sizes;
    GLINT_TRY(glint_engine_size(&sizes, files, params, n_context, err));
    struct glint_kv_plane row = {.dtype_k = sizes.kv.full_k,
                                 .dtype_v = sizes.kv.full_v,
                                 .n_head_kv = config->n_head_kv,
                                 .head_dim = config->head_dim};
    uint64_t full_row = glint_kv_layer_bytes(&row) / GLINT_KV_PAGE_ROWS * (uint64_t)config->n_full;
    struct glint_kv_params one = sizes.kv;
    one.n_sequence = 1;
    one.n_cell = one.n_context;
    one.n_spare = 0;
    uint64_t pages = ((uint64_t)n_context + GLINT_KV_PAGE_ROWS - 1) / GLINT_KV_PAGE_ROWS;
    *plan = (struct glint_memory_plan){
        .weights = files->gguf->n_tensor_bytes,
        .cache = glint_kv_bytes(config, &sizes.kv),
        .cache_per_1000 = full_row * 1000,
        .scratch = glint_forward_bytes(config, sizes.max_rows, sizes.max_want),
        .n_context = n_context,
    };
    GLINT_TRY(
        glint_backend_memory(&plan->available, params, &sizes.limits, files->gguf->n_bytes, err));
    plan->cache_fixed = glint_kv_bytes(config, &one) - full_row * pages * GLINT_KV_PAGE_ROWS;
    if (files->drafting)
        plan->drafter =
            files->draft_gguf->n_tensor_bytes + glint_draft_bytes(files->drafting, &sizes.draft) +
            (uint64_t)sizes.kv.n_spare * glint_draft_saved_bytes(files->drafting, &sizes.draft);
    plan->total = plan->weights + plan->cache + plan->scratch + plan->drafter;
    return GLINT_OK;
}

static double gib(uint64_t bytes) {
    return (double)bytes / (1024.0 * 1024.0 * 1024.0);
}

void glint_plan_print(const struct glint_memory_plan *plan, char *out, size_t n) {
    snprintf(out, n,
             "weights %.3f GiB + cache %.3f GiB at %d tokens (%.3f GiB fixed, %.4f GiB per 1,000 "
             "tokens) + scratch %.3f GiB + drafter %.3f GiB = %.3f GiB; available %.3f GiB",
             gib(plan->weights), gib(plan->cache), plan->n_context, gib(plan->cache_fixed),
             gib(plan->cache_per_1000), gib(plan->scratch), gib(plan->drafter), gib(plan->total),
             gib(plan->available));
}

enum glint_status glint_engine_files_open(struct glint_engine_files *files,
                                          const struct glint_engine_params *params,
                                          struct glint_error *err) {
    *files = (struct glint_engine_files){.gguf = NULL};
    GLINT_TRY(glint_gguf_open(&files->gguf, params->model_path, err));
    if (params->vocab_only)
        return GLINT_OK;
    files->config = glint_alloc(1, sizeof *files->config);
    if (!files->config)
        return glint_fail(err, GLINT_E_NOMEM, "no memory");
    GLINT_TRY(glint_config_read(files->config, files->gguf, err));
    if (!params->draft_path)
        return GLINT_OK;
    files->drafting = glint_alloc(1, sizeof *files->drafting);
    if (!files->drafting)
        return glint_fail(err, GLINT_E_NOMEM, "no memory");
    GLINT_TRY(glint_gguf_open(&files->draft_gguf, params->draft_path, err));
    return glint_drafter_config_read(files->drafting, files->draft_gguf, files->config, files->gguf,
                                     err);
}

void glint_engine_files_close(struct glint_engine_files *files) {
    glint_free(files->config);
    glint_free(files->drafting);
    glint_gguf_close(&files->draft_gguf);
    glint_gguf_close(&files->gguf);
    files->config = NULL;
    files->drafting = NULL;
}

enum glint_status glint_plan_memory(const struct glint_engine_params *params,
                                    struct glint_memory_plan *plan, struct glint_error *err) {
    GLINT_REQUIRE(params && params->model_path && plan && !params->vocab_only, err);
    struct glint_engine_files files;
    enum glint_status status = glint_engine_files_open(&files, params, err);
    if (status == GLINT_OK) {
        int n_context = params->n_context > 0 ? params->n_context : files.config->n_context;
        status = glint_plan_for(plan, &files, params, n_context, err);
    }
    glint_engine_files_close(&files);
    return status;
}
