// SPDX-License-Identifier: Apache-2.0
// embeddings.c — one work a text, which evaluates it and says its last row.
#include "server/embeddings.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "server/data_url.h"
#include "server/text_job.h"

#include <math.h>
#include <string.h>

enum { MAX_INPUTS = 2048 }; // as OpenAI has it

enum kind { KIND_OPENAI, KIND_OLLAMA, KIND_OLLAMA_ONE };

struct vector_voice {
    struct glint_voice voice;
    enum kind kind;
    bool base64;
    char model[200];
    double began_ms;
    int n, width;
    float *rows; // [n, width]
};

// ---- the voice --------------------------------------------------------------------------------

static void begin_vectors(struct glint_voice *voice, struct glint_buffer *out) {
    (void)voice; // never streamed
    (void)out;
}

static void note_vector(struct glint_voice *voice, const struct glint_note *note,
                        struct glint_buffer *out) {
    struct vector_voice *v = (struct vector_voice *)voice;
    size_t row_bytes = (size_t)v->width * sizeof(float);
    (void)out;
    if (note->kind != GLINT_NOTE_HIDDEN || note->n != row_bytes)
        return;
    float *row = v->rows + (size_t)note->choice * (size_t)v->width;
    memcpy(row, note->text, row_bytes);
    double sum = 0;
    for (int i = 0; i < v->width; i++)
        sum += (double)row[i] * (double)row[i];
    double scale = sum > 0 ? 1 / sqrt(sum) : 0;
    for (int i = 0; i < v->width; i++)
        row[i] = (float)((double)row[i] * scale);
}

static void put_base64(struct glint_json_writer *w, const void *data, size_t n) {
    struct glint_buffer text = {.data = NULL};
    glint_base64_write(&text, data, n);
    glint_json_string(w, (struct glint_view){text.data ? text.data : "", text.n});
    w->out->failed = w->out->failed || text.failed;
    glint_buffer_fini(&text);
}

// Floats as the host has them, which OpenAI's clients take as little-endian.
static void put_row(struct glint_json_writer *w, const struct vector_voice *v, int i) {
    const float *row = v->rows + (size_t)i * (size_t)v->width;
    if (v->base64) {
        put_base64(w, row, (size_t)v->width * sizeof *row);
        return;
    }
    glint_json_begin_array(w);
    for (int j = 0; j < v->width; j++)
        glint_json_double(w, (double)row[j]);
    glint_json_end_array(w);
}

static void put_openai(struct glint_json_writer *w, const struct vector_voice *v) {
    glint_json_key(w, "object");
    glint_json_text(w, "list");
    glint_json_key(w, "data");
    glint_json_begin_array(w);
    for (int i = 0; i < v->n; i++) {
        glint_json_begin_object(w);
        glint_json_key(w, "object");
        glint_json_text(w, "embedding");
        glint_json_key(w, "index");
        glint_json_i64(w, i);
        glint_json_key(w, "embedding");
        put_row(w, v, i);
        glint_json_end_object(w);
    }
    glint_json_end_array(w);
    glint_json_key(w, "usage");
    glint_json_begin_object(w);
    glint_json_key(w, "prompt_tokens");
    glint_json_i64(w, v->voice.n_prompt);
    glint_json_key(w, "total_tokens");
    glint_json_i64(w, v->voice.n_prompt);
    glint_json_end_object(w);
}

static void put_ollama(struct glint_json_writer *w, const struct vector_voice *v) {
    glint_json_key(w, "embeddings");
    glint_json_begin_array(w);
    for (int i = 0; i < v->n; i++)
        put_row(w, v, i);
    glint_json_end_array(w);
    glint_json_key(w, "total_duration");
    glint_json_i64(w, (int64_t)((glint_clock_ms() - v->began_ms) * 1e6));
    glint_json_key(w, "load_duration");
    glint_json_i64(w, 0);
    glint_json_key(w, "prompt_eval_count");
    glint_json_i64(w, v->voice.n_prompt);
}

static void end_vectors(struct glint_voice *voice, struct glint_buffer *out) {
    struct vector_voice *v = (struct vector_voice *)voice;
    struct glint_json_writer w = {.out = out, .style = GLINT_JSON_COMPACT};
    glint_json_begin_object(&w);
    glint_json_key(&w, "model");
    glint_json_text(&w, v->model);
    if (v->kind == KIND_OPENAI) {
        put_openai(&w, v);
    } else if (v->kind == KIND_OLLAMA) {
        put_ollama(&w, v);
    } else {
        glint_json_key(&w, "embedding");
        put_row(&w, v, 0);
    }
    glint_json_end_object(&w);
}

static void close_voice(struct glint_voice *voice) {
    struct vector_voice *v = (struct vector_voice *)voice;
    glint_free(v->rows);
    glint_free(v);
}

static struct vector_voice *open_voice(const struct glint_exchange *x, enum kind kind, int n) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct vector_voice *v = glint_alloc(1, sizeof *v);
    if (!v)
        return NULL;
    v->voice = (struct glint_voice){
        .begin = begin_vectors, .note = note_vector, .end = end_vectors, .close = close_voice};
    v->kind = kind;
    v->n = n;
    v->width = glint_engine_info(engine).width;
    v->began_ms = x->began_ms;
    v->rows = glint_alloc((size_t)n, (size_t)v->width * sizeof *v->rows);
    if (!v->rows) {
        glint_free(v);
        return NULL;
    }
    return v;
}

// ---- the request ------------------------------------------------------------------------------

struct request {
    enum kind kind;
    const char *name;          // of the field with the texts
    struct glint_work **works; // [n]
    int n;
    int64_t n_prompt;
};

static bool add_work(struct request *r, int i, const struct glint_json *input,
                     const struct glint_exchange *x, const struct glint_fields *fields) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_error failure = {.status = GLINT_OK};
    struct glint_buffer buffer = {.data = NULL};
    bool ok = glint_text_prompt_ids(input, engine, fields, r->name, &buffer);
    struct glint_ids ids = {(int32_t *)(void *)buffer.data, buffer.n / sizeof(int32_t)};
    ok = ok && glint_check_prompt_length(x, ids.n, fields->error);
    if (ok) {
        enum glint_status status = glint_work_open(&r->works[i], engine, NULL, &failure);
        if (status == GLINT_OK)
            status = glint_work_put_prompt(r->works[i], &ids, &failure);
        if (status == GLINT_OK) {
            r->works[i]->choice = i;
            r->works[i]->n_predict = 0;
            r->works[i]->embed = true;
            r->n_prompt += (int64_t)ids.n;
        } else {
            glint_api_fail_from(fields->error, &failure);
            ok = false;
        }
    }
    glint_buffer_fini(&buffer);
    return ok;
}

// One text, as such or as ids, or a list of texts.
static bool read_inputs(struct request *r, const struct glint_exchange *x,
                        const struct glint_fields *fields) {
    const struct glint_json *input = glint_field(fields, r->name);
    bool many = glint_text_is_many(input);
    bool ok = true;
    int i = 0;
    if (!input || (many && (input->n > MAX_INPUTS || r->kind == KIND_OLLAMA_ONE)))
        return glint_field_refuse(fields, r->name,
                                  r->kind == KIND_OLLAMA_ONE ? "a text"
                                                             : "a text, or at most 2,048 of them");
    r->n = many ? (int)input->n : 1;
    r->works = glint_alloc((size_t)r->n, sizeof(struct glint_work *));
    if (!r->works) {
        glint_api_fail(fields->error, 500, NULL, "no memory for the request");
        return false;
    }
    if (!many)
        return add_work(r, 0, input, x, fields);
    for (const struct glint_json *m = glint_json_first(input); m && ok; m = m->next)
        ok = add_work(r, i++, m, x, fields);
    return ok;
}

static bool read_form(struct vector_voice *v, const struct glint_fields *fields,
                      const char *model) {
    const struct glint_json *form = glint_field(fields, "encoding_format");
    int64_t n = v->width;
    v->base64 = v->kind == KIND_OPENAI && glint_json_is_text(form, "base64");
    if (v->kind == KIND_OPENAI && form && !v->base64 && !glint_json_is_text(form, "float"))
        return glint_field_refuse(fields, "encoding_format", "\"float\" or \"base64\"");
    // A vector that was not trained to be cut is worth nothing when it is.
    if (!glint_field_int(fields, "dimensions", v->width, v->width, &n) ||
        !glint_field_text(fields, "model", &model))
        return false;
    glint_utf8_copy(v->model, sizeof v->model, model);
    return true;
}

static void answer(struct glint_exchange *x, enum kind kind, const char *name) {
    struct request r = {.kind = kind, .name = name};
    struct vector_voice *voice = NULL;
    struct glint_json_doc *doc;
    if (!x->server->params.embeddings) {
        glint_api_fail(&x->refusal, 501, NULL,
                       "embeddings are off: a chat model's are poor; start the server with "
                       "--embeddings to have them");
        glint_exchange_refuse(x, &x->refusal);
        return;
    }
    if (!glint_exchange_parse(x, &doc))
        return;
    struct glint_fields fields = {glint_json_root(doc), &x->refusal};
    bool ok = read_inputs(&r, x, &fields);
    if (ok && !(voice = open_voice(x, kind, r.n))) {
        glint_api_fail(&x->refusal, 500, NULL, "no memory for the request");
        ok = false;
    }
    ok = ok && read_form(voice, &fields, x->server->model);
    if (ok) {
        voice->voice.n_prompt = r.n_prompt < INT32_MAX ? (int)r.n_prompt : INT32_MAX;
        glint_exchange_generate(x, r.works, r.n, &voice->voice);
    } else {
        glint_exchange_refuse(x, &x->refusal);
        if (voice)
            close_voice(&voice->voice);
    }
    for (int i = 0; r.works && i < r.n; i++)
        glint_work_close(&r.works[i]); // those not handed over
    glint_free(r.works);
    glint_json_close(&doc);
}

void glint_openai_embeddings(struct glint_exchange *x) {
    answer(x, KIND_OPENAI, "input");
}

void glint_ollama_embed(struct glint_exchange *x) {
    answer(x, KIND_OLLAMA, "input");
}

void glint_ollama_embeddings(struct glint_exchange *x) {
    answer(x, KIND_OLLAMA_ONE, "prompt");
}
