// SPDX-License-Identifier: Apache-2.0
// call_memory.c — two lists under one lock. Found turns are copied out and compared without it.
#include "server/call_memory.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

enum { MAX_TURNS = 4096, MAX_DATES = 4096, DATE_BYTES = 16 };

struct turn {
    uint64_t tenant, used;
    char *calls; // [n_calls] bytes of JSON, then [n_content] bytes, owned
    size_t n_calls, n_content;
    int32_t *ids; // [n] owned
    size_t n;
    char first[64]; // id of the first call, for a quick look
};

struct start {
    uint64_t conversation, used;
    char date[DATE_BYTES];
};

struct glint_call_memory {
    pthread_mutex_t lock; // for all below
    struct turn *turns;   // [MAX_TURNS], the first n_turns are used
    struct start *starts; // [MAX_DATES], the first n_starts are used
    size_t n_turns, n_starts, n_bytes, max_bytes;
    uint64_t clock;
};

enum glint_status glint_call_memory_open(struct glint_call_memory **out, size_t max_bytes,
                                         struct glint_error *err) {
    struct glint_call_memory *memory = glint_alloc(1, sizeof *memory);
    *out = NULL;
    if (!memory)
        return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
    pthread_mutex_init(&memory->lock, NULL);
    memory->max_bytes = max_bytes;
    memory->turns = glint_alloc(MAX_TURNS, sizeof *memory->turns);
    memory->starts = glint_alloc(MAX_DATES, sizeof *memory->starts);
    *out = memory;
    if (memory->turns && memory->starts)
        return GLINT_OK;
    glint_call_memory_close(out);
    return glint_fail(err, GLINT_E_NOMEM, "server: no memory");
}

static void free_turn(struct turn *turn) {
    glint_free(turn->calls);
    glint_free(turn->ids);
}

void glint_call_memory_close(struct glint_call_memory **memory_in) {
    struct glint_call_memory *memory = *memory_in;
    *memory_in = NULL;
    if (!memory)
        return;
    for (size_t i = 0; i < memory->n_turns; i++)
        free_turn(&memory->turns[i]);
    pthread_mutex_destroy(&memory->lock);
    glint_free(memory->turns);
    glint_free(memory->starts);
    glint_free(memory);
}

// ---- comparing ----------------------------------------------------------------------------------

static bool is_same(const struct glint_json *a, const struct glint_json *b);

static bool has_same_members(const struct glint_json *a, const struct glint_json *b) {
    for (const struct glint_json *m = glint_json_first(a); m; m = m->next)
        if (!is_same(m, glint_json_get_view(b, m->key)))
            return false;
    return true; // keys occur once, and there are as many
}

static bool has_same_items(const struct glint_json *a, const struct glint_json *b) {
    const struct glint_json *other = glint_json_first(b);
    for (const struct glint_json *m = glint_json_first(a); m; m = m->next, other = other->next)
        if (!is_same(m, other))
            return false;
    return true;
}

// Equal as values: order of keys and spelling of numbers do not count. NULL equals nothing.
static bool is_same(const struct glint_json *a, const struct glint_json *b) {
    double x = 0, y = 0;
    if (!a || !b || a->kind != b->kind || a->n != b->n)
        return false;
    switch (a->kind) {
    case GLINT_JSON_NULL:
        return true;
    case GLINT_JSON_BOOL:
        return a->truth == b->truth;
    case GLINT_JSON_STRING:
        return glint_view_equal(a->text, b->text);
    case GLINT_JSON_NUMBER:
        return glint_view_equal(a->text, b->text) ||
               (!(glint_json_is_int(a) && glint_json_is_int(b)) && glint_json_to_double(a, &x) &&
                glint_json_to_double(b, &y) && x == y);
    case GLINT_JSON_ARRAY:
        return has_same_items(a, b);
    case GLINT_JSON_OBJECT:
        return has_same_members(a, b);
    }
    return false;
}

// What follows a protocol's prefix ("call_", "toolu_"): random ids have no underscore.
static struct glint_view bare_id(const struct glint_json *call) {
    struct glint_view id = {NULL, 0};
    if (!glint_json_to_string(glint_json_get(call, "id"), &id))
        return id;
    for (size_t i = id.n; i > 0; i--)
        if (id.data[i - 1] == '_')
            return (struct glint_view){id.data + i, id.n - i};
    return id;
}

// Arguments come as an object or as its text.
static bool has_same_arguments(const struct glint_json *ours, const struct glint_json *theirs) {
    struct glint_json_doc *doc = NULL;
    if (!glint_json_is(theirs, GLINT_JSON_STRING))
        return is_same(ours, theirs);
    bool same = glint_json_parse(&doc, theirs->text, NULL, NULL) == GLINT_OK &&
                is_same(ours, glint_json_root(doc));
    glint_json_close(&doc);
    return same;
}

static bool is_same_call(const struct glint_json *ours, const struct glint_json *theirs) {
    const struct glint_json *function = glint_json_get(theirs, "function");
    struct glint_view id;
    return glint_json_to_string(glint_json_get(ours, "id"), &id) &&
           glint_view_equal(id, bare_id(theirs)) &&
           is_same(glint_json_get(ours, "name"), glint_json_get(function, "name")) &&
           has_same_arguments(glint_json_get(ours, "arguments"),
                              glint_json_get(function, "arguments"));
}

static bool starts_with(struct glint_view *rest, struct glint_view text) {
    if (text.n > rest->n || memcmp(rest->data, text.data, text.n) != 0)
        return false;
    *rest = (struct glint_view){rest->data + text.n, rest->n - text.n};
    return true;
}

// The message's content is none, or this text, whole or in parts.
static bool has_same_content(const struct glint_json *message, struct glint_view text) {
    const struct glint_json *content = glint_json_get(message, "content");
    struct glint_view rest = text, piece;
    if (!content || content->kind == GLINT_JSON_NULL)
        return true;
    if (content->kind == GLINT_JSON_STRING)
        return content->text.n == 0 || glint_view_equal(content->text, text);
    if (content->kind != GLINT_JSON_ARRAY)
        return false;
    for (const struct glint_json *m = glint_json_first(content); m; m = m->next)
        if (!glint_json_to_string(glint_json_get(m, "text"), &piece) || !starts_with(&rest, piece))
            return false;
    return rest.n == 0 || content->n == 0;
}

static bool is_same_turn(const struct turn *turn, const struct glint_json *message) {
    struct glint_json_doc *doc = NULL;
    const struct glint_json *calls = glint_json_get(message, "tool_calls");
    bool same = glint_json_parse(&doc, (struct glint_view){turn->calls, turn->n_calls}, NULL,
                                 NULL) == GLINT_OK &&
                glint_json_root(doc)->n == calls->n;
    const struct glint_json *theirs = glint_json_first(calls);
    if (same)
        for (const struct glint_json *m = glint_json_first(glint_json_root(doc)); m && same;
             m = m->next, theirs = theirs->next)
            same = is_same_call(m, theirs);
    glint_json_close(&doc);
    struct glint_view content = {turn->calls + turn->n_calls, turn->n_content};
    return same && has_same_content(message, content);
}

// ---- turns --------------------------------------------------------------------------------------

static size_t turn_bytes(const struct turn *turn) {
    return turn->n_calls + turn->n_content + turn->n * sizeof *turn->ids;
}

static void forget_oldest(struct glint_call_memory *memory) {
    size_t oldest = 0;
    for (size_t i = 1; i < memory->n_turns; i++)
        if (memory->turns[i].used < memory->turns[oldest].used)
            oldest = i;
    memory->n_bytes -= turn_bytes(&memory->turns[oldest]);
    free_turn(&memory->turns[oldest]);
    memory->turns[oldest] = memory->turns[--memory->n_turns];
}

// A copy of what is given. False without memory, or when the calls are not what is expected.
static bool make_turn(struct turn *turn, struct glint_view calls, struct glint_view content,
                      const int32_t *ids, size_t n) {
    struct glint_json_doc *doc = NULL;
    struct glint_view first;
    bool ok = glint_json_parse(&doc, calls, NULL, NULL) == GLINT_OK &&
              glint_json_to_string(glint_json_get(glint_json_first(glint_json_root(doc)), "id"),
                                   &first) &&
              first.n < sizeof turn->first;
    if (ok)
        memcpy(turn->first, first.data, first.n + 1);
    glint_json_close(&doc);
    turn->calls = ok ? glint_alloc(calls.n + content.n, 1) : NULL;
    turn->ids = ok ? glint_alloc(n, sizeof *turn->ids) : NULL;
    if (!turn->calls || !turn->ids)
        return false;
    memcpy(turn->calls, calls.data, calls.n);
    if (content.n != 0)
        memcpy(turn->calls + calls.n, content.data, content.n);
    memcpy(turn->ids, ids, n * sizeof *ids);
    turn->n_calls = calls.n;
    turn->n_content = content.n;
    turn->n = n;
    return true;
}

void glint_call_memory_put(struct glint_call_memory *memory, uint64_t tenant,
                           struct glint_view calls, struct glint_view content, const int32_t *ids,
                           size_t n) {
    struct turn turn = {.tenant = tenant};
    if (!make_turn(&turn, calls, content, ids, n) || turn_bytes(&turn) > memory->max_bytes) {
        free_turn(&turn);
        return;
    }
    pthread_mutex_lock(&memory->lock);
    while (memory->n_turns == MAX_TURNS || memory->n_bytes + turn_bytes(&turn) > memory->max_bytes)
        forget_oldest(memory);
    turn.used = ++memory->clock;
    memory->n_bytes += turn_bytes(&turn);
    memory->turns[memory->n_turns++] = turn;
    pthread_mutex_unlock(&memory->lock);
}

bool glint_call_memory_find(struct glint_call_memory *memory, uint64_t tenant,
                            const struct glint_json *message, struct glint_ids *ids) {
    const struct glint_json *calls = glint_json_get(message, "tool_calls");
    struct turn copy = {.n = 0};
    bool found = false;
    *ids = (struct glint_ids){NULL, 0};
    if (!glint_json_is(calls, GLINT_JSON_ARRAY) || calls->n == 0)
        return false;
    struct glint_view first = bare_id(glint_json_first(calls));
    pthread_mutex_lock(&memory->lock);
    for (size_t i = memory->n_turns; i > 0 && !found; i--) {
        struct turn *turn = &memory->turns[i - 1];
        if (turn->tenant != tenant || first.n == 0 || !glint_view_is(first, turn->first))
            continue;
        struct glint_view text = {turn->calls, turn->n_calls};
        struct glint_view content = {turn->calls + turn->n_calls, turn->n_content};
        turn->used = ++memory->clock;
        found = make_turn(&copy, text, content, turn->ids, turn->n);
    }
    pthread_mutex_unlock(&memory->lock);
    if (found && is_same_turn(&copy, message)) {
        *ids = (struct glint_ids){copy.ids, copy.n}; // handed over
        copy.ids = NULL;
    }
    free_turn(&copy);
    return ids->data != NULL;
}

// ---- dates --------------------------------------------------------------------------------------

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_value(uint64_t hash, const struct glint_json *value) {
    uint64_t head[] = {value->kind, value->n, value->truth, value->text.n};
    hash = hash_bytes(hash, head, sizeof head);
    if (value->kind == GLINT_JSON_STRING || value->kind == GLINT_JSON_NUMBER)
        hash = hash_bytes(hash, value->text.data, value->text.n);
    for (const struct glint_json *m = glint_json_first(value); m; m = m->next) {
        if (value->kind == GLINT_JSON_OBJECT)
            hash = hash_bytes(hash, m->key.data, m->key.n);
        hash = hash_value(hash, m);
    }
    return hash;
}

// What does not change while a conversation grows: all up to the first answer.
static uint64_t hash_beginning(uint64_t tenant, const struct glint_json *messages, bool *begins) {
    uint64_t hash = hash_bytes(0xcbf29ce484222325u, &tenant, sizeof tenant);
    *begins = true;
    for (const struct glint_json *m = glint_json_first(messages); m && *begins; m = m->next) {
        *begins = !glint_json_is_text(glint_json_get(m, "role"), "assistant");
        if (*begins)
            hash = hash_value(hash, m);
    }
    return hash;
}

void glint_call_memory_date(struct glint_call_memory *memory, uint64_t tenant,
                            const struct glint_json *messages, const char *today, char *date) {
    bool begins;
    uint64_t conversation = hash_beginning(tenant, messages, &begins);
    struct start *start = NULL;
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->n_starts && !start; i++)
        if (memory->starts[i].conversation == conversation)
            start = &memory->starts[i];
    bool known = start != NULL;
    if (!known && memory->n_starts < MAX_DATES)
        start = &memory->starts[memory->n_starts++];
    if (!start) { // the one asked for longest ago makes room
        start = memory->starts;
        for (size_t i = 1; i < MAX_DATES; i++)
            if (memory->starts[i].used < start->used)
                start = &memory->starts[i];
    }
    if (!known || begins) {
        start->conversation = conversation;
        strncpy(start->date, today, DATE_BYTES - 1);
    }
    start->used = ++memory->clock;
    memcpy(date, start->date, DATE_BYTES);
    pthread_mutex_unlock(&memory->lock);
}
