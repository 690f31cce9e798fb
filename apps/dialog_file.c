// SPDX-License-Identifier: Apache-2.0
// dialog_file.c — a conversation as a JSON file: {"system", "effort", "tools", "messages"}, the
// messages as API clients write them. A bare list of messages is read too.
#include "dialog.h"

#include "format/json_write.h"
#include "format/output_file.h"
#include "json_out.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const size_t max_file_bytes = (size_t)256 << 20;

static enum glint_status fail(struct glint_error *err, enum glint_status status, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));
static enum glint_status fail(struct glint_error *err, enum glint_status status, const char *format,
                              ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->status = status;
    return status;
}

static void put_text(FILE *out, const char *key, const char *text) {
    fprintf(out, "\"%s\":", key);
    glint_json_out_string(out, text, strlen(text));
    fputs(",\n", out);
}

// For free(); NULL when out of memory.
static char *file_text(const struct glint_dialog *dialog, size_t *n) {
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out)
        return NULL;
    fputs("{", out);
    if (dialog->system)
        put_text(out, "system", dialog->system);
    if (dialog->effort)
        put_text(out, "effort", dialog->effort);
    if (dialog->tools.n != 0)
        fprintf(out, "\"tools\":%s,\n", dialog->tools.data);
    fputs("\"messages\":[", out);
    for (size_t i = 0; i < dialog->n_messages; i++)
        fprintf(out, "%s%s", i == 0 ? "" : ",\n", dialog->messages[i].json.data);
    fputs("]}\n", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

enum glint_status glint_dialog_save(const struct glint_dialog *dialog, const char *path,
                                    const char *model_path, struct glint_error *err) {
    struct glint_output_file *file = NULL;
    size_t n = 0;
    char *text = file_text(dialog, &n);
    enum glint_status status = text ? glint_output_file_refuse_input(path, model_path, err)
                                    : fail(err, GLINT_E_NOMEM, "out of memory");
    if (status == GLINT_OK)
        status = glint_output_file_open(&file, path, err);
    if (status == GLINT_OK) {
        glint_output_file_make_private(file);
        status = glint_output_file_write(file, text, n, err);
    }
    if (status == GLINT_OK)
        status = glint_output_file_commit(&file, err);
    glint_output_file_discard(&file);
    free(text);
    return status;
}

// A value as JSON text.
static bool put_value(struct glint_kept_text *to, const struct glint_json *value) {
    struct glint_buffer text = {.data = NULL};
    glint_json_put_value(&text, value, GLINT_JSON_COMPACT);
    bool ok = !text.failed && glint_kept_append(to, text.data, text.n);
    glint_buffer_fini(&text);
    return ok;
}

// Later calls get numbers that the file's calls do not have.
static void note_calls(struct glint_dialog *dialog, const struct glint_json *message) {
    const struct glint_json *calls = glint_json_get(message, "tool_calls");
    for (const struct glint_json *call = glint_json_first(calls); call; call = call->next) {
        struct glint_view id = {.data = "", .n = 0};
        uint64_t number = 0;
        glint_json_to_string(glint_json_get(call, "id"), &id);
        if (sscanf(id.data, "call_%9" SCNu64, &number) == 1 && number >= dialog->n_calls)
            dialog->n_calls = (size_t)number + 1;
    }
}

// As the template takes the types of parts.
static bool is_picture(const struct glint_json *type) {
    static const char *const names[] = {"image", "image_url", "input_image",
                                        "video", "video_url", "input_video"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (glint_json_is_text(type, names[i]))
            return true;
    return false;
}

// Adds a picture, or a video, whose file the part names.
static enum glint_status load_picture(struct glint_dialog_message *message,
                                      const struct glint_json *part, struct glint_error *err) {
    struct glint_view path = {.data = "", .n = 0};
    bool video = glint_json_is_text(glint_json_get(part, "type"), "video");
    if ((!video && !glint_json_is_text(glint_json_get(part, "type"), "image")) ||
        !glint_json_to_string(glint_json_get(part, "path"), &path))
        return fail(err, GLINT_E_ARG, "expected pictures as {\"type\": \"image\", \"path\": FILE}");
    struct glint_dialog_picture picture = {.video = video, .begin = message->text.n};
    if (!glint_kept_append(&message->text, path.data, path.n))
        return fail(err, GLINT_E_NOMEM, "out of memory");
    picture.path = message->text.data + picture.begin;
    picture.end = message->text.n;
    return glint_dialog_add_picture(message, &picture) ? GLINT_OK
                                                       : fail(err, GLINT_E_NOMEM, "out of memory");
}

// What a user typed: the texts, with a picture's path in its place.
static enum glint_status load_parts(struct glint_dialog_message *message,
                                    const struct glint_json *parts, struct glint_error *err) {
    enum glint_status status = GLINT_OK;
    for (const struct glint_json *part = glint_json_first(parts); part && status == GLINT_OK;
         part = part->next) {
        struct glint_view text;
        if (is_picture(glint_json_get(part, "type")))
            status = load_picture(message, part, err);
        else if (glint_json_to_string(glint_json_get(part, "text"), &text) &&
                 !glint_kept_append(&message->text, text.data, text.n))
            status = fail(err, GLINT_E_NOMEM, "out of memory");
    }
    return status;
}

static enum glint_status load_message(struct glint_dialog *dialog, const struct glint_json *value,
                                      size_t index, struct glint_error *err) {
    static const char *const roles[] = {"user", "assistant", "tool"};
    const struct glint_json *role = glint_json_get(value, "role");
    struct glint_view content = {.data = "", .n = 0};
    glint_json_to_string(glint_json_get(value, "content"), &content);
    if (index == 0 && glint_json_is_text(role, "system"))
        return glint_dialog_set(&dialog->system, content.data)
                   ? GLINT_OK
                   : fail(err, GLINT_E_NOMEM, "out of memory");
    int i_role = 0;
    while (i_role < 3 && !glint_json_is_text(role, roles[i_role]))
        i_role++;
    if (i_role == 3)
        return fail(err, GLINT_E_ARG, "messages[%zu].role: expected user, assistant or tool",
                    index);
    struct glint_dialog_message *message = glint_dialog_add(dialog, (enum glint_dialog_role)i_role);
    if (!message || !put_value(&message->json, value) ||
        !glint_kept_append(&message->text, content.data, content.n))
        return fail(err, GLINT_E_NOMEM, "out of memory");
    struct glint_error why = {.status = GLINT_OK};
    if (load_parts(message, glint_json_get(value, "content"), &why) != GLINT_OK)
        return fail(err, why.status, "messages[%zu].content: %.900s", index, why.text);
    note_calls(dialog, value);
    return GLINT_OK;
}

static enum glint_status load_text(char **field, const struct glint_json *value, const char *name,
                                   struct glint_error *err) {
    struct glint_view text;
    if (!value || value->kind == GLINT_JSON_NULL)
        return GLINT_OK;
    if (!glint_json_to_string(value, &text))
        return fail(err, GLINT_E_ARG, "%s: expected a string, found %s", name,
                    glint_json_kind_name(value));
    return glint_dialog_set(field, text.data) ? GLINT_OK
                                              : fail(err, GLINT_E_NOMEM, "out of memory");
}

static enum glint_status load_root(struct glint_dialog *dialog, const struct glint_json *root,
                                   struct glint_error *err) {
    bool bare = glint_json_is(root, GLINT_JSON_ARRAY);
    const struct glint_json *messages = bare ? root : glint_json_get(root, "messages");
    const struct glint_json *tools = bare ? NULL : glint_json_get(root, "tools");
    if (!glint_json_is(messages, GLINT_JSON_ARRAY))
        return fail(err, GLINT_E_ARG, "messages: expected a list, found %s",
                    glint_json_kind_name(messages));
    enum glint_status status =
        load_text(&dialog->system, glint_json_get(root, "system"), "system", err);
    if (status == GLINT_OK)
        status = load_text(&dialog->effort, glint_json_get(root, "effort"), "effort", err);
    if (status == GLINT_OK && tools && !put_value(&dialog->tools, tools))
        status = fail(err, GLINT_E_NOMEM, "out of memory");
    size_t index = 0;
    for (const struct glint_json *m = glint_json_first(messages); m && status == GLINT_OK;
         m = m->next)
        status = load_message(dialog, m, index++, err);
    return status;
}

enum glint_status glint_dialog_load(struct glint_dialog *dialog, const char *path,
                                    struct glint_error *err) {
    struct glint_json_doc *doc = NULL;
    enum glint_status status = glint_json_load(&doc, path, max_file_bytes, err);
    glint_dialog_init(dialog);
    if (status == GLINT_OK)
        status = load_root(dialog, glint_json_root(doc), err);
    if (status != GLINT_OK)
        glint_dialog_fini(dialog);
    glint_json_close(&doc);
    return status;
}
