// SPDX-License-Identifier: Apache-2.0
// text_job.c — prompts in all their shapes to ids to works.
#include "server/text_job.h"

void glint_text_job_fini(struct glint_text_job *job) {
    for (int i = 0; i < GLINT_TEXT_MAX_WORKS; i++)
        glint_work_close(&job->works[i]);
    glint_sampling_fini(&job->sampling);
}

static bool add_text(struct glint_view piece, const struct glint_engine *engine,
                     const struct glint_fields *fields, struct glint_buffer *ids) {
    struct glint_error failure = {.status = GLINT_OK};
    struct glint_text text = {
        .data = piece.data, .n = piece.n, .special = true, .add_bos = ids->n == 0};
    struct glint_ids made = {.data = NULL};
    if (glint_tokenize(engine, &text, &made, &failure) != GLINT_OK) {
        glint_api_fail_from(fields->error, &failure);
        return false;
    }
    glint_buffer_append(ids, made.data, made.n * sizeof *made.data);
    glint_ids_free(&made);
    return true;
}

static bool add_id(const struct glint_json *value, const struct glint_engine *engine,
                   const struct glint_fields *fields, const char *name, struct glint_buffer *ids) {
    int64_t id = -1;
    if (!glint_json_to_i64(value, &id) || id < 0 || id >= glint_engine_info(engine).n_vocab)
        return glint_field_refuse(fields, name, "texts, or token ids of the vocabulary");
    int32_t one = (int32_t)id;
    glint_buffer_append(ids, &one, sizeof one);
    return true;
}

bool glint_text_prompt_ids(const struct glint_json *prompt, const struct glint_engine *engine,
                           const struct glint_fields *fields, const char *name,
                           struct glint_buffer *ids) {
    const struct glint_json *media = glint_json_get(prompt, "multimodal_data");
    bool ok = true;
    if (media && media->n != 0)
        return glint_field_refuse(fields, name, "no pictures in a raw prompt; use a chat");
    if (glint_json_is(prompt, GLINT_JSON_OBJECT))
        prompt = glint_json_get(prompt, "prompt_string");
    if (glint_json_is(prompt, GLINT_JSON_STRING))
        ok = add_text(prompt->text, engine, fields, ids);
    else
        for (const struct glint_json *m = glint_json_first(prompt); m && ok; m = m->next)
            ok = glint_json_is(m, GLINT_JSON_STRING) ? add_text(m->text, engine, fields, ids)
                                                     : add_id(m, engine, fields, name, ids);
    if (ok && ids->failed) {
        glint_api_fail(fields->error, 500, NULL, "no memory for the request");
        return false;
    }
    return ok && (ids->n != 0 || glint_field_refuse(fields, name, "a token at least"));
}

static enum glint_status make_work(struct glint_text_job *job, const struct glint_exchange *x,
                                   const struct glint_ids *ids, struct glint_error *err) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_work **made = &job->works[job->n_works];
    GLINT_TRY(glint_work_open(made, engine, NULL, err));
    struct glint_work *work = *made;
    work->choice = job->n_works++;
    work->n_predict = job->n_predict;
    work->echo = job->echo;
    work->ignore_eos = job->sampling.ignore_eos;
    GLINT_TRY(
        glint_detokenizer_set_stops(work->detokenizer, job->stops.stops, job->stops.n_stops, err));
    GLINT_TRY(glint_work_set_sampling(work, &job->sampling.options, (uint64_t)work->choice, err));
    if (job->schema.data && !glint_engine_thread_chat(x->server->engine))
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "json_schema: the model's chat template is of another dialect");
    if (job->schema.data) {
        // The text stands where an answer would: it ends as one does, with <|eot|>.
        struct glint_constraint_options rules = {.schema = job->schema, .start = GLINT_TURN_USER};
        GLINT_TRY(glint_engine_thread_constrain(x->server->engine, &rules, &work->constraint, err));
    }
    return glint_work_put_prompt(work, ids, err);
}

static bool add_prompt(struct glint_text_job *job, const struct glint_json *prompt,
                       const struct glint_exchange *x, const struct glint_fields *fields,
                       const char *name) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_error failure = {.status = GLINT_OK};
    struct glint_buffer buffer = {.data = NULL};
    int64_t n_each = job->n_each > 0 ? job->n_each : 1;
    bool ok = glint_text_prompt_ids(prompt, engine, fields, name, &buffer);
    struct glint_ids ids = {(int32_t *)(void *)buffer.data, buffer.n / sizeof(int32_t)};
    ok = ok && glint_check_prompt_length(x, ids.n, fields->error);
    for (int64_t i = 0; ok && i < n_each; i++) {
        if (job->n_works == GLINT_TEXT_MAX_WORKS)
            ok = glint_field_refuse(fields, name, "at most 64 choices together");
        else if (make_work(job, x, &ids, &failure) != GLINT_OK) {
            glint_api_fail_from(fields->error, &failure);
            ok = false;
        }
    }
    job->n_prompt += (int)ids.n;
    glint_buffer_fini(&buffer);
    return ok;
}

bool glint_text_is_many(const struct glint_json *prompt) {
    bool many = glint_json_is(prompt, GLINT_JSON_ARRAY) && prompt->n != 0;
    for (const struct glint_json *m = glint_json_first(prompt); m && many; m = m->next)
        many = !glint_json_is(m, GLINT_JSON_NUMBER);
    return many;
}

bool glint_text_job_add_prompts(struct glint_text_job *job, const struct glint_exchange *x,
                                const struct glint_fields *fields, const char *name) {
    const struct glint_json *prompt = glint_field(fields, name);
    bool ok = true;
    if (!prompt)
        return glint_field_refuse(fields, name, "a text or token ids");
    if (!glint_text_is_many(prompt))
        return add_prompt(job, prompt, x, fields, name);
    for (const struct glint_json *m = glint_json_first(prompt); m && ok; m = m->next)
        ok = add_prompt(job, m, x, fields, name);
    return ok;
}
