// SPDX-License-Identifier: Apache-2.0
// chat_job.c — conversation to prompt to works.
#include "server/chat_job.h"

#include "base/alloc.h"
#include "server/call_memory.h"

#include <string.h>
#include <time.h>

void glint_chat_job_fini(struct glint_chat_job *job) {
    glint_buffer_fini(&job->messages);
    glint_buffer_fini(&job->tools);
    glint_buffer_fini(&job->variables);
    glint_buffer_fini(&job->schema);
    glint_buffer_fini(&job->allowed);
    glint_media_fini(&job->media);
    glint_sampling_fini(&job->sampling);
}

static bool add_stop(struct glint_chat_job *job, const struct glint_json *value) {
    if (!glint_json_is(value, GLINT_JSON_STRING) || value->text.n == 0 ||
        strlen(value->text.data) != value->text.n || job->n_stops == GLINT_CHAT_MAX_STOPS)
        return false;
    job->stops[job->n_stops++] = value->text.data;
    return true;
}

bool glint_chat_job_read_stops(struct glint_chat_job *job, const struct glint_fields *fields,
                               const char *name) {
    const struct glint_json *value = glint_field(fields, name);
    bool ok = !value || glint_json_is(value, GLINT_JSON_ARRAY) || add_stop(job, value);
    if (glint_json_is(value, GLINT_JSON_ARRAY))
        for (const struct glint_json *m = glint_json_first(value); m && ok; m = m->next)
            ok = add_stop(job, m);
    return ok || glint_field_refuse(fields, name, "a text, or a list of at most 16 texts");
}

bool glint_check_prompt_length(const struct glint_exchange *x, size_t n,
                               struct glint_api_error *error) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    int n_context = glint_engine_info(engine).n_context;
    if (n < (size_t)n_context)
        return true;
    glint_api_fail(error, 400, "messages",
                   "the prompt has %zu tokens, which is over the context length of %d tokens; "
                   "shorten it or start the server with a larger --ctx-size",
                   n, n_context);
    error->code = "context_length_exceeded";
    error->n_prompt = n < INT32_MAX ? (int)n : INT32_MAX;
    error->n_context = n_context;
    return false;
}

static struct glint_json_text json_of(const struct glint_buffer *buffer) {
    return (struct glint_json_text){buffer->n ? buffer->data : NULL, buffer->n};
}

// Gives each picture's place as many tokens as the picture has rows. Placeholders come from the
// template alone: the caller's text cannot make one.
static bool put_pictures(const struct glint_chat_job *job, struct glint_exchange *x,
                         struct glint_ids *ids, struct glint_api_error *error) {
    const struct glint_engine *engine = glint_engine_thread_engine(x->server->engine);
    struct glint_error failure = {.status = GLINT_OK};
    struct glint_ids out;
    if (job->media.n == 0)
        return true;
    struct glint_picture *const *pictures =
        glint_exchange_view(x, &job->media, (int)job->image_max_tokens, error);
    if (!pictures)
        return false;
    if (glint_expand_pictures(engine, ids, pictures, job->media.n, &out, &failure) != GLINT_OK) {
        glint_api_fail_from(error, &failure);
        return false;
    }
    glint_ids_free(ids);
    *ids = out;
    return true;
}

// Past turns that stand in the prompt as they were sampled.
struct replays {
    struct glint_chat_replay *data; // [n]
    struct glint_ids *ids;          // [n] owned
    size_t n;
};

static void free_replays(struct replays *replays) {
    for (size_t i = 0; i < replays->n; i++)
        glint_ids_free(&replays->ids[i]);
    glint_free(replays->ids);
    glint_free(replays->data);
}

// Without memory, or when messages are not a list, there are none: the prompt is rendered then.
static void find_replays(struct replays *replays, const struct glint_exchange *x,
                         const struct glint_json *messages, bool but_last) {
    size_t n = glint_json_is(messages, GLINT_JSON_ARRAY) ? messages->n : 0, i = 0;
    *replays = (struct replays){.data = glint_alloc(n, sizeof *replays->data),
                                .ids = glint_alloc(n, sizeof *replays->ids)};
    if (!replays->data || !replays->ids)
        return;
    for (const struct glint_json *m = glint_json_first(messages); m && n > 0; m = m->next, i++) {
        struct glint_ids *ids = &replays->ids[replays->n];
        if ((but_last && !m->next) || !glint_json_is_text(glint_json_get(m, "role"), "assistant") ||
            !glint_call_memory_find(x->server->memory, x->tenant, m, ids))
            continue;
        replays->data[replays->n++] = (struct glint_chat_replay){i, ids->data, ids->n};
    }
}

static bool has_system(const struct glint_json *messages) {
    for (const struct glint_json *m = glint_json_first(messages); m; m = m->next)
        if (glint_json_is_text(glint_json_get(m, "role"), "system") ||
            glint_json_is_text(glint_json_get(m, "role"), "developer"))
            return true;
    return false;
}

// The date for the default system text: the server's, or the day on which the conversation began.
static void find_date(const struct glint_exchange *x, const struct glint_json *messages,
                      char date[16]) {
    char today[16];
    time_t now = time(NULL);
    struct tm parts;
    strftime(today, sizeof today, "%Y-%m-%d", localtime_r(&now, &parts));
    if (messages && !has_system(messages))
        glint_call_memory_date(x->server->memory, x->tenant, messages, today, date);
    else
        memcpy(date, today, sizeof today);
}

bool glint_chat_job_render(const struct glint_chat_job *job, struct glint_exchange *x,
                           struct glint_ids *ids, enum glint_turn_start *start,
                           struct glint_api_error *error) {
    const struct glint_server_params *params = &x->server->params;
    const struct glint_chat *chat = glint_engine_thread_chat(x->server->engine);
    struct glint_error failure = {.status = GLINT_OK};
    struct glint_chat_prompt prompt = {.data = NULL};
    struct glint_json_doc *doc = NULL;
    struct replays replays;
    char date[16];
    if (!chat) {
        glint_api_fail(error, 501, NULL,
                       "the model's chat template is of another dialect: chat is not possible");
        return false;
    }
    if (job->schema.failed || job->messages.failed || job->tools.failed || job->variables.failed ||
        job->allowed.failed) {
        glint_api_fail(error, 500, NULL, "no memory for the request");
        return false;
    }
    // What is wrong with the text is said when it is rendered.
    struct glint_json_options options = {.repair_surrogates = true};
    glint_json_parse(&doc, (struct glint_view){job->messages.data, job->messages.n}, &options,
                     NULL);
    const struct glint_json *messages = doc ? glint_json_root(doc) : NULL;
    find_date(x, messages, date);
    find_replays(&replays, x, messages, job->continue_final);
    struct glint_chat_request request = {
        .messages = json_of(&job->messages),
        .tools = json_of(&job->tools),
        .variables = json_of(&job->variables),
        .effort = job->effort ? job->effort : params->effort,
        .date = params->date ? params->date : date,
        .normalise = true,
        .no_generation_prompt = job->no_generation_prompt,
        .continue_final = job->continue_final,
        .replays = replays.data,
        .n_replays = replays.n,
    };
    enum glint_status status = glint_chat_prompt(chat, &request, &prompt, &failure);
    if (status == GLINT_OK)
        status = glint_chat_prompt_ids(glint_engine_thread_engine(x->server->engine), &prompt, ids,
                                       &failure);
    *start = prompt.start;
    glint_chat_prompt_free(&prompt);
    free_replays(&replays);
    glint_json_close(&doc);
    if (status != GLINT_OK)
        glint_api_fail_from(error, &failure);
    return status == GLINT_OK && put_pictures(job, x, ids, error);
}

static enum glint_status fill_work(struct glint_work *work, const struct glint_chat_job *job,
                                   const struct glint_ids *ids, struct glint_error *err) {
    work->n_predict = job->n_predict;
    work->ignore_eos = job->sampling.ignore_eos;
    GLINT_TRY(glint_work_set_sampling(work, &job->sampling.options, (uint64_t)work->choice, err));
    return glint_work_put_prompt(work, ids, err);
}

static bool is_choice(const struct glint_chat_job *job, const char *word) {
    return job->tool_choice && strcmp(job->tool_choice, word) == 0;
}

static struct glint_json_text callable_tools(const struct glint_chat_job *job) {
    return json_of(job->allowed.n ? &job->allowed : &job->tools);
}

// What the request promises about the turn's form is drawn that way, not checked afterwards.
static enum glint_status constrain(struct glint_work *work, const struct glint_chat_job *job,
                                   const struct glint_exchange *x, enum glint_turn_start start,
                                   struct glint_error *err) {
    bool of_answer = job->schema.n != 0 || job->json_object;
    bool automatic = !job->tool_choice || is_choice(job, "auto");
    bool forced = !automatic && !is_choice(job, "none");
    bool of_calls = (job->tools.n != 0 || !automatic) && !x->server->params.free_calls;
    struct glint_constraint_options options = {.tools = callable_tools(job),
                                               .tool_choice = job->tool_choice,
                                               .one_call = job->one_call,
                                               .loose_tools = automatic,
                                               .schema = json_of(&job->schema),
                                               .json_object = job->json_object,
                                               .start = start,
                                               .has_budget = job->has_budget,
                                               .budget = (size_t)job->budget};
    if (of_answer && start == GLINT_TURN_USER)
        return glint_fail(err, GLINT_E_ARG,
                          "response_format: an answer that is continued cannot be held to it");
    if (!of_answer && !of_calls && !job->has_budget && !forced)
        return GLINT_OK;
    return glint_engine_thread_constrain(x->server->engine, &options, &work->constraint, err);
}

// One work for each choice. On failure those made are closed.
static bool make_works(const struct glint_chat_job *job, struct glint_exchange *x,
                       const struct glint_ids *ids, enum glint_turn_start start,
                       struct glint_work **works) {
    int n = job->n_choices > 0 ? job->n_choices : 1;
    struct glint_error failure = {.status = GLINT_OK};
    struct glint_turn_options turn = {.tools = callable_tools(job),
                                      .no_calls = is_choice(job, "none"),
                                      .one_call = job->one_call,
                                      .start = start,
                                      .stops = job->stops,
                                      .n_stops = job->n_stops,
                                      .has_budget = job->has_budget,
                                      .budget = (size_t)job->budget};
    enum glint_status status = GLINT_OK;
    for (int i = 0; i < n && status == GLINT_OK; i++) {
        status = glint_work_open(&works[i], glint_engine_thread_engine(x->server->engine), &turn,
                                 &failure);
        if (status == GLINT_OK) {
            works[i]->choice = i;
            works[i]->memory = start == GLINT_TURN_HEADER ? x->server->memory : NULL;
            glint_work_set_viewing(works[i], x->viewing);
            status = fill_work(works[i], job, ids, &failure);
            if (status == GLINT_OK)
                status = constrain(works[i], job, x, start, &failure);
        }
    }
    if (status != GLINT_OK) {
        for (int i = 0; i < n; i++)
            glint_work_close(&works[i]);
        glint_api_fail_from(&x->refusal, &failure);
    }
    return status == GLINT_OK;
}

void glint_chat_job_start(struct glint_chat_job *job, struct glint_exchange *x,
                          struct glint_voice *voice) {
    struct glint_work *works[GLINT_CHAT_MAX_CHOICES] = {NULL};
    struct glint_ids ids = {.data = NULL};
    enum glint_turn_start start;
    int n = job->n_choices > 0 ? job->n_choices : 1;
    bool ok = glint_chat_job_render(job, x, &ids, &start, &x->refusal) &&
              glint_check_prompt_length(x, ids.n, &x->refusal) &&
              make_works(job, x, &ids, start, works);
    voice->n_prompt = (int)ids.n;
    glint_ids_free(&ids);
    if (!ok) {
        if (job->rename)
            job->rename(&x->refusal);
        glint_exchange_refuse(x, &x->refusal);
        voice->close(voice);
        return;
    }
    glint_exchange_generate(x, works, n, voice);
}
