// SPDX-License-Identifier: Apache-2.0
// ollama_models.c — the one model as Ollama's clients look for models.
#include "server/ollama_models.h"

#include "server/openai_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The version whose protocol this is; some clients refuse servers below 0.6.4.
#define OLLAMA_VERSION "0.12.11"

void glint_ollama_put_time(struct glint_json_writer *w, int64_t seconds, int64_t nanoseconds) {
    time_t time = (time_t)seconds;
    struct tm parts;
    char day[40], text[60];
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", gmtime_r(&time, &parts));
    snprintf(text, sizeof text, "%s.%09lldZ", day, (long long)nanoseconds);
    glint_json_text(w, text);
}

void glint_ollama_root(struct glint_exchange *x) {
    struct glint_buffer out = {.data = NULL};
    glint_buffer_append_text(&out, "Ollama is running");
    glint_exchange_answer(x, 200, "text/plain; charset=utf-8", &out);
}

void glint_ollama_version(struct glint_exchange *x) {
    struct glint_buffer out = {.data = NULL};
    glint_buffer_append_text(&out, "{\"version\":\"" OLLAMA_VERSION "\"}");
    glint_exchange_answer_json(x, &out);
}

static void put_pair(struct glint_json_writer *w, const char *key, const char *value) {
    glint_json_key(w, key);
    glint_json_text(w, value);
}

// Names have a tag there; many clients add ":latest" to a name without one before they compare.
static void put_name(struct glint_json_writer *w, const char *key,
                     const struct glint_server *server) {
    char name[sizeof server->model + 8];
    snprintf(name, sizeof name, "%s%s", server->model, strchr(server->model, ':') ? "" : ":latest");
    put_pair(w, key, name);
}

// 30.5e9 -> "30.5B"
static void put_details(struct glint_json_writer *w, const struct glint_model_card *card) {
    char size[32];
    double n = (double)card->n_param;
    snprintf(size, sizeof size, n < 1e9 ? "%.2fM" : "%.1fB", n < 1e9 ? n / 1e6 : n / 1e9);
    glint_json_key(w, "details");
    glint_json_begin_object(w);
    put_pair(w, "parent_model", "");
    put_pair(w, "format", "gguf");
    put_pair(w, "family", card->architecture);
    glint_json_key(w, "families");
    glint_json_begin_array(w);
    glint_json_text(w, card->architecture);
    glint_json_end_array(w);
    put_pair(w, "parameter_size", size);
    put_pair(w, "quantization_level", card->weight_type);
    glint_json_end_object(w);
}

// A name for the file's contents that stays the same from start to start. Not a hash of them,
// which would have to read them all; clients only compare it.
static void put_digest(struct glint_json_writer *w, const struct glint_server *server,
                       const struct glint_model_card *card) {
    struct glint_engine_info info = glint_engine_info(glint_engine_thread_engine(server->engine));
    char text[400], digest[65];
    uint64_t hash = 14695981039346656037u; // FNV-1a
    snprintf(text, sizeof text, "%s %s %s %llu %llu", server->model, card->architecture,
             card->weight_type, (unsigned long long)card->n_param,
             (unsigned long long)info.weight_bytes);
    for (int i = 0; i < 4; i++) {
        for (const char *at = text; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
        snprintf(digest + 16 * i, 17, "%016llx", (unsigned long long)hash);
    }
    put_pair(w, "digest", digest);
}

// An entry of a list up to its own members, which the caller adds.
static void begin_entry(struct glint_json_writer *w, const struct glint_server *server) {
    const struct glint_engine *engine = glint_engine_thread_engine(server->engine);
    struct glint_model_card card = glint_engine_card(engine);
    glint_json_begin_object(w);
    put_name(w, "name", server);
    put_name(w, "model", server);
    glint_json_key(w, "size");
    glint_json_u64(w, glint_engine_info(engine).weight_bytes);
    put_digest(w, server, &card);
    put_details(w, &card);
}

void glint_ollama_tags(struct glint_exchange *x) {
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "models");
    glint_json_begin_array(&w);
    begin_entry(&w, x->server);
    glint_json_key(&w, "modified_at");
    glint_ollama_put_time(&w, x->server->created, 0);
    glint_json_end_object(&w);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    glint_exchange_answer_json(x, &out);
}

void glint_ollama_ps(struct glint_exchange *x) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_engine_info info = glint_engine_info(engine);
    bool on_cpu = strcmp(info.device, "cpu") == 0;
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "models");
    glint_json_begin_array(&w);
    begin_entry(&w, x->server);
    put_pair(&w, "expires_at", "2999-12-31T00:00:00Z"); // it stays as long as the server runs
    glint_json_key(&w, "size_vram");
    glint_json_u64(&w, on_cpu ? 0 : info.weight_bytes);
    glint_json_key(&w, "context_length");
    glint_json_i64(&w, info.n_context);
    glint_json_end_object(&w);
    glint_json_end_array(&w);
    glint_json_end_object(&w);
    glint_exchange_answer_json(x, &out);
}

// ---- show -------------------------------------------------------------------------------------

// A float as its shortest decimal, "0.95" and not the double next to it.
static void print_float(struct glint_buffer *out, const char *name, float value) {
    char digits[40];
    int precision = 1;
    do
        snprintf(digits, sizeof digits, "%.*g", precision++, (double)value);
    while (precision <= 9 && strtof(digits, NULL) != value);
    glint_buffer_printf(out, "%-30s %s\n", name, digits);
}

// The lines of a Modelfile's parameters.
static void put_parameters(struct glint_json_writer *w, const struct glint_server *server,
                           int n_context) {
    const struct glint_sampler_options *sampling = &server->params.sampling;
    struct glint_buffer text = {.data = NULL};
    glint_buffer_printf(&text, "%-30s %d\n", "num_ctx", n_context);
    print_float(&text, "temperature", sampling->temperature);
    glint_buffer_printf(&text, "%-30s %d\n", "top_k", (int)sampling->top_k);
    print_float(&text, "top_p", sampling->top_p);
    print_float(&text, "min_p", sampling->min_p);
    glint_buffer_printf(&text, "%-30s %s", "stop", "\"<|eot|>\"");
    glint_json_key(w, "parameters");
    glint_json_string(w, (struct glint_view){text.data ? text.data : "", text.n});
    w->out->failed = w->out->failed || text.failed;
    glint_buffer_fini(&text);
}

static void put_number(struct glint_json_writer *w, const char *prefix, const char *name,
                       uint64_t value) {
    char key[100];
    snprintf(key, sizeof key, "%s.%s", prefix, name);
    glint_json_key(w, key);
    glint_json_u64(w, value);
}

static void put_model_info(struct glint_json_writer *w, const struct glint_model_card *card,
                           const struct glint_engine_info *info) {
    glint_json_key(w, "model_info");
    glint_json_begin_object(w);
    put_pair(w, "general.architecture", card->architecture);
    put_number(w, "general", "parameter_count", card->n_param);
    // The server's, not the file's: clients fill it.
    put_number(w, card->architecture, "context_length", (uint64_t)info->n_context);
    put_number(w, card->architecture, "embedding_length", (uint64_t)info->width);
    put_number(w, card->architecture, "block_count", (uint64_t)info->n_layer);
    put_number(w, card->architecture, "vocab_size", (uint64_t)info->n_vocab);
    glint_json_end_object(w);
}

void glint_ollama_show(struct glint_exchange *x) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    const struct glint_chat *chat = glint_engine_thread_chat(x->server->engine);
    struct glint_engine_info info = glint_engine_info(engine);
    struct glint_model_card card = glint_engine_card(engine);
    struct glint_buffer out = {.data = NULL}, file = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    struct glint_view text = {.data = "", .n = 0};
    struct glint_json_doc *doc;
    if (!glint_exchange_parse(x, &doc))
        return;
    glint_json_close(&doc); // whatever its name, there is one model
    if (chat)
        text.data = glint_chat_template(chat, &text.n);
    glint_buffer_printf(&file, "FROM %s\n", x->server->model);
    glint_json_begin_object(&w);
    glint_json_key(&w, "modelfile");
    glint_json_string(&w, (struct glint_view){file.data ? file.data : "", file.n});
    put_parameters(&w, x->server, info.n_context);
    glint_json_key(&w, "template");
    glint_json_string(&w, text);
    put_details(&w, &card);
    put_model_info(&w, &card, &info);
    glint_json_key(&w, "capabilities");
    glint_models_put_capabilities(&w, x->server);
    glint_json_key(&w, "modified_at");
    glint_ollama_put_time(&w, x->server->created, 0);
    glint_json_end_object(&w);
    out.failed = out.failed || file.failed;
    glint_buffer_fini(&file);
    glint_exchange_answer_json(x, &out);
}

// ---- what is not there ------------------------------------------------------------------------

void glint_ollama_store(struct glint_exchange *x) {
    struct glint_api_error error;
    glint_api_fail(&error, 501, NULL,
                   "%s: this server has one model, \"%s\", and keeps no store of models; start it "
                   "with another file to change it (glint serve -m FILE)",
                   x->path, x->server->model);
    glint_exchange_refuse(x, &error);
}

void glint_ollama_account(struct glint_exchange *x) {
    struct glint_api_error error;
    glint_api_fail(&error, 501, NULL, "%s: this server has no accounts and asks no other", x->path);
    glint_exchange_refuse(x, &error);
}
