// SPDX-License-Identifier: Apache-2.0
// convert_vocab.c — collects tokens, types, merges and the template, then puts them.
#include "convert_vocab.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "convert_config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_FILE_BYTES = 1 << 30,
    N_BYTES = 256,
    MAX_MADE_UP = 48, // bytes of a made-up token
};

enum token_type { TYPE_NORMAL = 1, TYPE_CONTROL = 3, TYPE_USER = 4, TYPE_UNUSED = 5 };

struct glint_convert_vocab {
    uint32_t n_tokens;
    struct glint_view *tokens;         // [n_tokens]; data NULL: not filled yet
    int32_t *types;                    // [n_tokens]
    struct glint_buffer texts;         // bytes of tokens that no document holds
    struct glint_json_doc *tokenizer;  // holds tokens and merges; NULL for a made-up vocabulary
    const struct glint_json *merges;   // array; NULL: none
    struct glint_buffer chat_template; // empty: none
    int64_t bos, eos, eot, pad;
};

// What the dialect needs, with the id that config.json may name (chat.md A.2).
enum role { ROLE_NONE, ROLE_BOS, ROLE_EOS, ROLE_PAD, ROLE_IMAGE, ROLE_VIDEO };

static const struct {
    const char *text;
    enum role role;
} specials[] = {
    {"<|begin_of_text|>", ROLE_BOS},
    {"<|end_of_text|>", ROLE_EOS},
    {"<|finetune_right_pad|>", ROLE_PAD},
    {"<|patch|>", ROLE_IMAGE},
    {"<|video|>", ROLE_VIDEO},
    {"<|eom|>", ROLE_NONE},
    {"<|eot|>", ROLE_NONE},
    {"<|start|>", ROLE_NONE},
    {"<|message|>", ROLE_NONE},
    {"<|image_start|>", ROLE_NONE},
    {"<|image_end|>", ROLE_NONE},
    {"<|vid_start|>", ROLE_NONE},
    {"<|vid_end|>", ROLE_NONE},
    {"<|vid_frame_separator|>", ROLE_NONE},
    {"<|image|>", ROLE_NONE},
};

enum { N_SPECIALS = sizeof specials / sizeof specials[0] };

static enum glint_status no_memory(const char *path, struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", path);
}

// ---- the made-up vocabulary
// -------------------------------------------------------------------------

static int64_t id_of(const struct glint_convert_ids *ids, enum role role) {
    switch (role) {
    case ROLE_BOS:
        return ids->bos;
    case ROLE_EOS:
        return ids->eos;
    case ROLE_PAD:
        return ids->pad;
    case ROLE_IMAGE:
        return ids->image;
    case ROLE_VIDEO:
        return ids->video;
    case ROLE_NONE:
        break;
    }
    return -1;
}

// GPT-2's spelling of a byte: itself if it prints, else the next code point from U+0100 on.
static uint32_t byte_code(unsigned byte) {
    uint32_t next = 0x100;
    for (unsigned b = 0; b <= byte; b++) {
        bool prints = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
        if (b == byte)
            return prints ? b : next;
        next += !prints;
    }
    return next;
}

// texts has room for it (reserved before), so it does not move under the views.
static void set_token(struct glint_convert_vocab *vocab, uint32_t id, const char *text, size_t n,
                      enum token_type type) {
    size_t at = vocab->texts.n;
    glint_buffer_append(&vocab->texts, text, n);
    vocab->tokens[id] = (struct glint_view){vocab->texts.data + at, n};
    vocab->types[id] = type;
}

static enum glint_status place_specials(struct glint_convert_vocab *vocab, const char *folder,
                                        const struct glint_convert_ids *ids,
                                        struct glint_error *err) {
    uint32_t free_id = N_BYTES;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < N_SPECIALS; i++) {
            int64_t id = id_of(ids, specials[i].role);
            if ((id >= 0) != (pass == 0))
                continue; // first those whose ids are told
            while (id < 0 && free_id < vocab->n_tokens && vocab->types[free_id] != 0)
                free_id++;
            if (id < 0)
                id = free_id;
            if (id < N_BYTES || id >= vocab->n_tokens || vocab->types[id] != 0)
                return glint_fail(err, GLINT_E_FORMAT,
                                  "%s: no tokenizer.json, and no place for %s: found id %lld of %u "
                                  "tokens, expected a free one from %d on",
                                  folder, specials[i].text, (long long)id, vocab->n_tokens,
                                  N_BYTES);
            set_token(vocab, (uint32_t)id, specials[i].text, strlen(specials[i].text),
                      TYPE_CONTROL);
        }
    return GLINT_OK;
}

static enum glint_status make_up(struct glint_convert_vocab *vocab, const char *folder,
                                 const struct glint_convert_ids *ids, struct glint_error *err) {
    if (vocab->n_tokens < N_BYTES + N_SPECIALS)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: no tokenizer.json: found %u tokens, expected at least %d to make "
                          "up a vocabulary",
                          folder, vocab->n_tokens, N_BYTES + N_SPECIALS);
    if (!glint_buffer_reserve(&vocab->texts, (size_t)vocab->n_tokens * MAX_MADE_UP))
        return no_memory(folder, err);
    GLINT_TRY(place_specials(vocab, folder, ids, err));
    for (uint32_t id = 0; id < vocab->n_tokens; id++) {
        char text[MAX_MADE_UP];
        if (vocab->types[id] != 0)
            continue;
        if (id < N_BYTES)
            set_token(vocab, id, text, glint_utf8_put(byte_code(id), text), TYPE_NORMAL);
        else
            set_token(
                vocab, id, text,
                (size_t)snprintf(text, sizeof text, "<|reserved_special_token_%u|>", id - N_BYTES),
                TYPE_CONTROL);
    }
    return GLINT_OK;
}

// ---- tokenizer.json
// ---------------------------------------------------------------------------------

static enum glint_status take_token(struct glint_convert_vocab *vocab,
                                    const struct glint_convert_scope *file, struct glint_view text,
                                    const struct glint_json *id_value, enum token_type type,
                                    struct glint_error *err) {
    int64_t id;
    if (!glint_json_to_i64(id_value, &id) || id < 0 || id >= vocab->n_tokens)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: token %.60s: found id %.20s, expected a number below the "
                          "embedding's %u rows",
                          file->path, text.data,
                          glint_json_is(id_value, GLINT_JSON_NUMBER) ? id_value->text.data
                                                                     : "nothing",
                          vocab->n_tokens);
    if (vocab->types[id] != 0 && !glint_view_equal(vocab->tokens[id], text))
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: token %.60s: found id %lld, which token %.60s has too", file->path,
                          text.data, (long long)id, vocab->tokens[id].data);
    vocab->tokens[id] = text;
    vocab->types[id] = type;
    return GLINT_OK;
}

static bool looks_special(struct glint_view text) {
    return text.n > 4 && glint_view_starts(text, "<|") && text.data[text.n - 2] == '|' &&
           text.data[text.n - 1] == '>';
}

static enum glint_status take_tokens(struct glint_convert_vocab *vocab,
                                     const struct glint_convert_scope *file,
                                     struct glint_error *err) {
    struct glint_convert_scope model;
    GLINT_TRY(glint_convert_inner(file, "model", "model.", &model, err));
    GLINT_TRY(glint_convert_only_text(&model, "type", "BPE", err));
    const struct glint_json *vocab_object = glint_json_get(model.object, "vocab");
    if (!glint_json_is(vocab_object, GLINT_JSON_OBJECT))
        return glint_convert_unfit(&model, "vocab", "an object", err);
    for (const struct glint_json *m = vocab_object->child; m; m = m->next)
        GLINT_TRY(take_token(vocab, file, m->key, m, TYPE_NORMAL, err));
    const struct glint_json *added = glint_json_get(file->object, "added_tokens");
    for (const struct glint_json *m = glint_json_first(added); m; m = m->next) {
        struct glint_view text;
        bool special = false;
        if (!glint_json_to_string(glint_json_get(m, "content"), &text))
            return glint_convert_unfit(file, "added_tokens", "objects with a content", err);
        glint_json_to_bool(glint_json_get(m, "special"), &special);
        enum token_type type = special || looks_special(text) ? TYPE_CONTROL : TYPE_USER;
        GLINT_TRY(take_token(vocab, file, text, glint_json_get(m, "id"), type, err));
    }
    vocab->merges = glint_json_get(model.object, "merges");
    if (!glint_json_is(vocab->merges, GLINT_JSON_ARRAY))
        return glint_convert_unfit(&model, "merges", "a list", err);
    return GLINT_OK;
}

// Each is "LEFT RIGHT" or [LEFT, RIGHT].
static enum glint_status check_merges(const struct glint_convert_vocab *vocab, const char *path,
                                      struct glint_error *err) {
    uint32_t i = 0;
    for (const struct glint_json *m = vocab->merges->child; m; m = m->next, i++) {
        bool pair = m->kind == GLINT_JSON_ARRAY && m->n == 2 &&
                    m->child->kind == GLINT_JSON_STRING &&
                    m->child->next->kind == GLINT_JSON_STRING;
        bool text = m->kind == GLINT_JSON_STRING && memchr(m->text.data, ' ', m->text.n);
        if (!pair && !text)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: model.merges[%u]: found %s, expected two tokens", path, i,
                              glint_json_kind_name(m));
    }
    return GLINT_OK;
}

// Rows of the embedding that no token names.
static enum glint_status fill_gaps(struct glint_convert_vocab *vocab, const char *path,
                                   struct glint_error *err) {
    size_t n_gaps = 0;
    for (uint32_t id = 0; id < vocab->n_tokens; id++)
        n_gaps += vocab->types[id] == 0;
    if (!glint_buffer_reserve(&vocab->texts, n_gaps * MAX_MADE_UP))
        return no_memory(path, err);
    for (uint32_t id = 0; id < vocab->n_tokens; id++) {
        char text[MAX_MADE_UP];
        if (vocab->types[id] == 0)
            set_token(vocab, id, text, (size_t)snprintf(text, sizeof text, "[PAD%u]", id),
                      TYPE_UNUSED);
    }
    return GLINT_OK;
}

static enum glint_status read_tokenizer(struct glint_convert_vocab *vocab, const char *path,
                                        struct glint_error *err) {
    GLINT_TRY(glint_json_load(&vocab->tokenizer, path, MAX_FILE_BYTES, err));
    const struct glint_convert_scope file = {path, "", glint_json_root(vocab->tokenizer)};
    GLINT_TRY(take_tokens(vocab, &file, err));
    GLINT_TRY(check_merges(vocab, path, err));
    return fill_gaps(vocab, path, err);
}

// ---- special ids and the template
// -------------------------------------------------------------------

static int64_t find_token(const struct glint_convert_vocab *vocab, const char *text,
                          int64_t otherwise) {
    for (uint32_t id = vocab->n_tokens; id-- > 0;)
        if (vocab->types[id] != TYPE_NORMAL && glint_view_is(vocab->tokens[id], text))
            return id;
    return otherwise;
}

static enum glint_status find_specials(struct glint_convert_vocab *vocab, const char *folder,
                                       const struct glint_convert_ids *ids,
                                       struct glint_error *err) {
    const struct {
        const char *text;
        int64_t otherwise, *id;
    } wanted[] = {
        {"<|begin_of_text|>", ids->bos, &vocab->bos},
        {"<|end_of_text|>", ids->eos, &vocab->eos},
        {"<|eot|>", -1, &vocab->eot},
        {"<|finetune_right_pad|>", ids->pad, &vocab->pad},
    };
    for (size_t i = 0; i < 4; i++) {
        *wanted[i].id = find_token(vocab, wanted[i].text, wanted[i].otherwise);
        if (*wanted[i].id < 0 || *wanted[i].id >= vocab->n_tokens)
            return glint_fail(err, GLINT_E_FORMAT,
                              "%s: vocabulary: found no token %s, expected one", folder,
                              wanted[i].text);
    }
    return GLINT_OK;
}

// tokenizer_config.json's chat_template: a text, or a list of named ones.
static const struct glint_json *template_in(const struct glint_json *config) {
    const struct glint_json *value = glint_json_get(config, "chat_template");
    if (!glint_json_is(value, GLINT_JSON_ARRAY))
        return value;
    for (const struct glint_json *m = value->child; m; m = m->next)
        if (glint_json_is_text(glint_json_get(m, "name"), "default"))
            return glint_json_get(m, "template");
    return NULL;
}

static enum glint_status read_template_config(struct glint_convert_vocab *vocab, const char *path,
                                              struct glint_error *err) {
    struct glint_json_doc *doc;
    struct glint_view text;
    if (access(path, F_OK) != 0)
        return GLINT_OK;
    GLINT_TRY(glint_json_load(&doc, path, MAX_FILE_BYTES, err));
    if (glint_json_to_string(template_in(glint_json_root(doc)), &text))
        glint_buffer_append(&vocab->chat_template, text.data, text.n);
    glint_json_close(&doc);
    return GLINT_OK;
}

static enum glint_status read_template_file(struct glint_convert_vocab *vocab, const char *path,
                                            struct glint_error *err) {
    FILE *file = fopen(path, "rb");
    char piece[2048];
    size_t n;
    if (!file)
        return glint_fail(err, GLINT_E_IO, "%s: cannot open", path);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0 && vocab->chat_template.n < 1 << 24)
        glint_buffer_append(&vocab->chat_template, piece, n);
    bool good = !ferror(file) && feof(file);
    fclose(file);
    if (!good || !glint_utf8_is_valid(vocab->chat_template.data, vocab->chat_template.n))
        return glint_fail(err, GLINT_E_FORMAT, "%s: found no readable UTF-8 text of at most 16 MB",
                          path);
    return GLINT_OK;
}

static enum glint_status read_template(struct glint_convert_vocab *vocab, const char *folder,
                                       struct glint_error *err) {
    char *file = glint_convert_path(folder, "chat_template.jinja");
    char *config = glint_convert_path(folder, "tokenizer_config.json");
    enum glint_status status;
    if (!file || !config)
        status = no_memory(folder, err);
    else if (access(file, F_OK) == 0)
        status = read_template_file(vocab, file, err);
    else
        status = read_template_config(vocab, config, err);
    glint_free(file);
    glint_free(config);
    if (status == GLINT_OK && vocab->chat_template.failed)
        status = no_memory(folder, err);
    return status;
}

// ---- the whole
// --------------------------------------------------------------------------------------

static enum glint_status fill_vocab(struct glint_convert_vocab *vocab, const char *folder,
                                    const struct glint_convert_ids *ids, struct glint_error *err) {
    vocab->n_tokens = ids->n_tokens;
    vocab->tokens = glint_alloc(ids->n_tokens, sizeof *vocab->tokens);
    vocab->types = glint_alloc(ids->n_tokens, sizeof *vocab->types);
    char *path = glint_convert_path(folder, "tokenizer.json");
    enum glint_status status;
    if (!vocab->tokens || !vocab->types || !path)
        status = no_memory(folder, err);
    else if (access(path, F_OK) == 0)
        status = read_tokenizer(vocab, path, err);
    else
        status = make_up(vocab, folder, ids, err);
    glint_free(path);
    GLINT_TRY(status);
    GLINT_TRY(find_specials(vocab, folder, ids, err));
    return read_template(vocab, folder, err);
}

enum glint_status glint_convert_vocab_open(struct glint_convert_vocab **vocab, const char *folder,
                                           const struct glint_convert_ids *ids,
                                           struct glint_error *err) {
    *vocab = glint_alloc(1, sizeof **vocab);
    if (!*vocab)
        return no_memory(folder, err);
    enum glint_status status = fill_vocab(*vocab, folder, ids, err);
    if (status != GLINT_OK)
        glint_convert_vocab_close(vocab);
    return status;
}

void glint_convert_vocab_close(struct glint_convert_vocab **vocab) {
    if (!*vocab)
        return;
    glint_json_close(&(*vocab)->tokenizer);
    glint_buffer_fini(&(*vocab)->texts);
    glint_buffer_fini(&(*vocab)->chat_template);
    glint_free((*vocab)->tokens);
    glint_free((*vocab)->types);
    glint_free(*vocab);
    *vocab = NULL;
}

static void put_merges(const struct glint_convert_vocab *vocab, struct glint_gguf_writer *writer) {
    struct glint_buffer text = {.data = NULL};
    glint_gguf_put_strings(writer, "tokenizer.ggml.merges", vocab->merges ? vocab->merges->n : 0);
    for (const struct glint_json *m = glint_json_first(vocab->merges); m; m = m->next) {
        if (m->kind == GLINT_JSON_STRING) {
            glint_gguf_put_item(writer, m->text);
            continue;
        }
        glint_buffer_clear(&text);
        glint_buffer_append(&text, m->child->text.data, m->child->text.n);
        glint_buffer_append_char(&text, ' ');
        glint_buffer_append(&text, m->child->next->text.data, m->child->next->text.n);
        if (!text.failed) // else an item is missing, which begin reports
            glint_gguf_put_item(writer, (struct glint_view){text.data, text.n});
    }
    glint_buffer_fini(&text);
}

void glint_convert_vocab_put(const struct glint_convert_vocab *vocab,
                             struct glint_gguf_writer *writer) {
    glint_gguf_put_text(writer, "tokenizer.ggml.model", "gpt2");
    glint_gguf_put_text(writer, "tokenizer.ggml.pre", "llama4");
    glint_gguf_put_strings(writer, "tokenizer.ggml.tokens", vocab->n_tokens);
    for (uint32_t id = 0; id < vocab->n_tokens; id++)
        glint_gguf_put_item(writer, vocab->tokens[id]);
    glint_gguf_put_i32s(writer, "tokenizer.ggml.token_type", vocab->types, vocab->n_tokens);
    put_merges(vocab, writer);
    glint_gguf_put_u32(writer, "tokenizer.ggml.bos_token_id", (uint32_t)vocab->bos);
    glint_gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", (uint32_t)vocab->eos);
    glint_gguf_put_u32(writer, "tokenizer.ggml.eot_token_id", (uint32_t)vocab->eot);
    glint_gguf_put_u32(writer, "tokenizer.ggml.padding_token_id", (uint32_t)vocab->pad);
    glint_gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", true);
    glint_gguf_put_bool(writer, "tokenizer.ggml.add_sep_token", false);
    if (vocab->chat_template.n > 0)
        glint_gguf_put_string(
            writer, "tokenizer.chat_template",
            (struct glint_view){vocab->chat_template.data, vocab->chat_template.n});
}
