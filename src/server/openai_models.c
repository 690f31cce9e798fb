// SPDX-License-Identifier: Apache-2.0
// openai_models.c — one entry, in the shapes of OpenAI (with llama.cpp's meta and vLLM's length)
// and Anthropic.
#include "server/openai_models.h"

#include <string.h>
#include <time.h>

void glint_models_put_capabilities(struct glint_json_writer *w, const struct glint_server *server) {
    bool chats = glint_engine_thread_chat(server->engine) != NULL;
    const struct {
        const char *name;
        bool there;
    } all[] = {{"completion", true},
               {"tools", chats},
               {"thinking", chats},
               {"vision", chats && glint_viewer_can_see(server->viewer)},
               {"embedding", server->params.embeddings}};
    glint_json_begin_array(w);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].there)
            glint_json_text(w, all[i].name);
    glint_json_end_array(w);
}

// vLLM's members, and llama.cpp's in "meta".
static void put_extras(const struct glint_exchange *x, struct glint_json_writer *w) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_engine_info info = glint_engine_info(engine);
    struct glint_model_card card = glint_engine_card(engine);
    glint_json_key(w, "root");
    glint_json_text(w, x->server->model);
    glint_json_key(w, "parent");
    glint_json_null(w);
    glint_json_key(w, "permission");
    glint_json_begin_array(w);
    glint_json_end_array(w);
    glint_json_key(w, "capabilities");
    glint_models_put_capabilities(w, x->server);
    glint_json_key(w, "meta");
    glint_json_begin_object(w);
    glint_json_key(w, "vocab_type");
    glint_json_i64(w, 2); // llama.cpp's number of byte-pair encoding
    glint_json_key(w, "n_vocab");
    glint_json_i64(w, info.n_vocab);
    glint_json_key(w, "n_ctx_train");
    glint_json_i64(w, card.n_context);
    glint_json_key(w, "n_embd");
    glint_json_i64(w, info.width);
    glint_json_key(w, "n_params");
    glint_json_u64(w, card.n_param);
    glint_json_key(w, "size");
    glint_json_u64(w, info.weight_bytes);
    glint_json_end_object(w);
}

static void put_openai(const struct glint_exchange *x, struct glint_json_writer *w) {
    const struct glint_server *server = x->server;
    struct glint_engine_info info = glint_engine_info(glint_engine_thread_engine(server->engine));
    glint_json_begin_object(w);
    glint_json_key(w, "id");
    glint_json_text(w, server->model);
    glint_json_key(w, "object");
    glint_json_text(w, "model");
    glint_json_key(w, "created");
    glint_json_i64(w, server->created);
    glint_json_key(w, "owned_by");
    glint_json_text(w, "glint");
    glint_json_key(w, "max_model_len");
    glint_json_i64(w, info.n_context);
    glint_json_key(w, "context_length");
    glint_json_i64(w, info.n_context);
    put_extras(x, w);
    glint_json_end_object(w);
}

static void put_anthropic(const struct glint_exchange *x, struct glint_json_writer *w) {
    const struct glint_server *server = x->server;
    time_t created = (time_t)server->created;
    struct tm parts;
    char text[40];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&created, &parts));
    glint_json_begin_object(w);
    glint_json_key(w, "type");
    glint_json_text(w, "model");
    glint_json_key(w, "id");
    glint_json_text(w, server->model);
    glint_json_key(w, "display_name");
    glint_json_text(w, server->model);
    glint_json_key(w, "created_at");
    glint_json_text(w, text);
    glint_json_end_object(w);
}

void glint_openai_models(struct glint_exchange *x) {
    bool anthropic = glint_exchange_header(x, "anthropic-version") != NULL;
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    if (!anthropic) {
        glint_json_key(&w, "object");
        glint_json_text(&w, "list");
    }
    glint_json_key(&w, "data");
    glint_json_begin_array(&w);
    if (anthropic)
        put_anthropic(x, &w);
    else
        put_openai(x, &w);
    glint_json_end_array(&w);
    if (anthropic) {
        glint_json_key(&w, "has_more");
        glint_json_bool(&w, false);
        glint_json_key(&w, "first_id");
        glint_json_text(&w, x->server->model);
        glint_json_key(&w, "last_id");
        glint_json_text(&w, x->server->model);
    }
    glint_json_end_object(&w);
    glint_exchange_answer_json(x, &out);
}

void glint_openai_model(struct glint_exchange *x) {
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    size_t n = strlen(x->server->model);
    // Ollama's clients know it with a tag.
    if (strncmp(x->rest, x->server->model, n) != 0 ||
        (x->rest[n] && strcmp(x->rest + n, ":latest") != 0)) {
        struct glint_api_error error;
        glint_api_fail(&error, 404, "model", "no model \"%.200s\"; this server has \"%s\"", x->rest,
                       x->server->model);
        error.code = "model_not_found";
        glint_exchange_refuse(x, &error);
        return;
    }
    if (glint_exchange_header(x, "anthropic-version"))
        put_anthropic(x, &w);
    else
        put_openai(x, &w);
    glint_exchange_answer_json(x, &out);
}
