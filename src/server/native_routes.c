// SPDX-License-Identifier: Apache-2.0
// native_routes.c — health, metrics, properties, and text to tokens and back.
#include "server/native_routes.h"

#include "base/utf8.h"
#include "server/openai_chat.h"

#include <string.h>

void glint_native_health(struct glint_exchange *x) {
    struct glint_buffer out = {.data = NULL};
    glint_buffer_append_text(&out, "{\"status\":\"ok\"}");
    glint_exchange_answer_json(x, &out);
}

void glint_native_metrics(struct glint_exchange *x) {
    struct glint_buffer out = {.data = NULL};
    const struct glint_metrics_asked asked = {.n_queued =
                                                  glint_engine_thread_queued(x->server->engine),
                                              .model = x->server->model,
                                              .vllm = x->server->params.metrics_vllm,
                                              .llamacpp = x->server->params.metrics_llamacpp};
    glint_metrics_put(x->server->metrics, &asked, &out);
    glint_exchange_answer(x, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

void glint_native_props(struct glint_exchange *x) {
    const struct glint_server *server = x->server;
    const struct glint_sampler_options *sampling = &server->params.sampling;
    struct glint_engine_info info = glint_engine_info(glint_engine_thread_engine(server->engine));
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "default_generation_settings");
    glint_json_begin_object(&w);
    glint_json_key(&w, "n_ctx");
    glint_json_i64(&w, info.n_context);
    glint_json_key(&w, "params");
    glint_json_begin_object(&w);
    glint_json_key(&w, "temperature");
    glint_json_double(&w, (double)sampling->temperature);
    glint_json_key(&w, "top_k");
    glint_json_i64(&w, sampling->top_k);
    glint_json_key(&w, "top_p");
    glint_json_double(&w, (double)sampling->top_p);
    glint_json_key(&w, "min_p");
    glint_json_double(&w, (double)sampling->min_p);
    glint_json_end_object(&w);
    glint_json_end_object(&w);
    glint_json_key(&w, "total_slots");
    glint_json_i64(&w, server->params.engine.n_session);
    glint_json_key(&w, "model_alias");
    glint_json_text(&w, server->model);
    glint_json_key(&w, "model_path");
    glint_json_text(&w, info.model_path);
    glint_json_key(&w, "modalities");
    glint_json_begin_object(&w);
    glint_json_key(&w, "vision");
    glint_json_bool(&w, glint_viewer_can_see(server->viewer));
    glint_json_key(&w, "audio");
    glint_json_bool(&w, false);
    glint_json_end_object(&w);
    glint_json_key(&w, "build_info");
    glint_json_text(&w, "glint " GLINT_VERSION);
    glint_json_end_object(&w);
    glint_exchange_answer_json(x, &out);
}

// Text of one token for people; a token may be a part of a character.
static void put_piece(struct glint_json_writer *w, const struct glint_engine *engine, int32_t id) {
    struct glint_buffer text = {.data = NULL};
    size_t n;
    const char *bytes = glint_token_bytes(engine, id, &n);
    glint_utf8_repair(&text, bytes, n);
    glint_json_begin_object(w);
    glint_json_key(w, "id");
    glint_json_i64(w, id);
    glint_json_key(w, "piece");
    glint_json_string(w, (struct glint_view){text.data ? text.data : "", text.n});
    glint_json_end_object(w);
    glint_buffer_fini(&text);
}

static void answer_ids(struct glint_exchange *x, const struct glint_ids *ids, bool pieces) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "count");
    glint_json_u64(&w, ids->n);
    glint_json_key(&w, "max_model_len");
    glint_json_i64(&w, glint_engine_info(engine).n_context);
    glint_json_key(&w, "tokens");
    glint_json_begin_array(&w);
    for (size_t i = 0; i < ids->n; i++) {
        if (pieces)
            put_piece(&w, engine, ids->data[i]);
        else
            glint_json_i64(&w, ids->data[i]);
    }
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    glint_exchange_answer_json(x, &out);
}

// "content" is llama.cpp's name, "prompt" vLLM's; "messages" counts a conversation's tokens.
void glint_native_tokenize(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_json_doc *doc;
    struct glint_ids ids = {.data = NULL};
    struct glint_error failure = {.status = GLINT_OK};
    bool add_special = false, parse_special = true, pieces = false;
    if (!glint_exchange_parse(x, &doc))
        return;
    const struct glint_json *root = glint_json_root(doc);
    struct glint_fields fields = {root, &x->refusal};
    const struct glint_json *content = glint_field(&fields, "content");
    content = content ? content : glint_field(&fields, "prompt");
    bool ok = glint_field_bool(&fields, "add_special", &add_special) &&
              glint_field_bool(&fields, "parse_special", &parse_special) &&
              glint_field_bool(&fields, "with_pieces", &pieces);
    if (ok && !content && glint_field(&fields, "messages")) {
        struct glint_chat_job job = {.messages = {.data = NULL}};
        enum glint_turn_start start;
        ok = glint_openai_chat_read(&job, root, &defaults, &x->refusal) &&
             glint_chat_job_render(&job, x, &ids, &start, &x->refusal);
        glint_chat_job_fini(&job);
    } else if (ok && !glint_json_is(content, GLINT_JSON_STRING)) {
        ok = glint_field_refuse(&fields, "content", "a string");
    } else if (ok) {
        struct glint_text text = {.data = content->text.data,
                                  .n = content->text.n,
                                  .special = parse_special,
                                  .add_bos = add_special};
        ok = glint_tokenize(engine, &text, &ids, &failure) == GLINT_OK;
        if (!ok)
            glint_api_fail_from(&x->refusal, &failure);
    }
    if (ok)
        answer_ids(x, &ids, pieces);
    else
        glint_exchange_refuse(x, &x->refusal);
    glint_ids_free(&ids);
    glint_json_close(&doc);
}

// The text of ids, or false after a refusal.
static bool join(const struct glint_engine *engine, const struct glint_fields *fields,
                 struct glint_buffer *text) {
    const struct glint_json *tokens = glint_field(fields, "tokens");
    struct glint_buffer bytes = {.data = NULL};
    if (!glint_json_is(tokens, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "tokens", "a list of token ids");
    bool ok = true;
    int n_vocab = glint_engine_info(engine).n_vocab;
    for (const struct glint_json *m = glint_json_first(tokens); m && ok; m = m->next) {
        int64_t id = -1;
        size_t n;
        ok = glint_json_to_i64(m, &id) && id >= 0 && id < n_vocab;
        if (!ok)
            glint_field_refuse(fields, "tokens", "ids of the vocabulary");
        const char *piece = ok ? glint_token_bytes(engine, (int32_t)id, &n) : NULL;
        if (ok)
            glint_buffer_append(&bytes, piece, n);
    }
    glint_utf8_repair(text, bytes.data ? bytes.data : "", bytes.n);
    text->failed = text->failed || bytes.failed;
    glint_buffer_fini(&bytes);
    return ok;
}

void glint_native_detokenize(struct glint_exchange *x) {
    struct glint_json_doc *doc;
    struct glint_buffer text = {.data = NULL}, out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    if (!glint_exchange_parse(x, &doc))
        return;
    struct glint_fields fields = {glint_json_root(doc), &x->refusal};
    if (join(glint_engine_thread_engine(x->server->engine), &fields, &text)) {
        glint_json_begin_object(&w);
        glint_json_key(&w, "content");
        glint_json_string(&w, (struct glint_view){text.data ? text.data : "", text.n});
        glint_json_end_object(&w);
        out.failed = out.failed || text.failed;
        glint_exchange_answer_json(x, &out);
    } else {
        glint_exchange_refuse(x, &x->refusal);
    }
    glint_buffer_fini(&text);
    glint_json_close(&doc);
}

void glint_native_template(struct glint_exchange *x) {
    struct glint_request_defaults defaults = glint_exchange_defaults(x);
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_json_doc *doc;
    struct glint_chat_job job = {.messages = {.data = NULL}};
    struct glint_ids ids = {.data = NULL};
    enum glint_turn_start start;
    if (!glint_exchange_parse(x, &doc))
        return;
    if (glint_openai_chat_read(&job, glint_json_root(doc), &defaults, &x->refusal) &&
        glint_chat_job_render(&job, x, &ids, &start, &x->refusal)) {
        struct glint_buffer bytes = {.data = NULL}, text = {.data = NULL}, out = {.data = NULL};
        struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
        for (size_t i = 0; i < ids.n; i++) {
            size_t n;
            const char *piece = glint_token_bytes(engine, ids.data[i], &n);
            glint_buffer_append(&bytes, piece, n);
        }
        glint_utf8_repair(&text, bytes.data ? bytes.data : "", bytes.n);
        glint_json_begin_object(&w);
        glint_json_key(&w, "prompt");
        glint_json_string(&w, (struct glint_view){text.data ? text.data : "", text.n});
        glint_json_end_object(&w);
        out.failed = out.failed || text.failed || bytes.failed;
        glint_exchange_answer_json(x, &out);
        glint_buffer_fini(&bytes);
        glint_buffer_fini(&text);
    } else {
        glint_exchange_refuse(x, &x->refusal);
    }
    glint_ids_free(&ids);
    glint_chat_job_fini(&job);
    glint_json_close(&doc);
}
