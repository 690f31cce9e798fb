// SPDX-License-Identifier: Apache-2.0
// response_store.c — the SQLite file.
// A response is a row with the head of its object; its items are rows of their own, so that a
// conversation of n turns takes the room of its items once. A response points at the one before it
// by id. Using a response counts as using all before it, so what is dropped as unused longest never
// breaks a conversation that goes on.
#include "server/response_store.h"

#include "base/alloc.h"
#include "server/random_id.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BUSY_MS = 5000, // another server's transaction
    HASH_BYTES = 32,
    MICROSECONDS = 1000000, // the unit of `used`
    SLACK = 64 << 10,
    MAX_TURNS = 10000, // of a conversation
    APPLICATION = 0x676c7273,
    VERSION = 1,
};

struct glint_response_store {
    struct glint_response_store_params params;
    pthread_mutex_t lock; // of all below
    sqlite3 *db;          // NULL: not opened yet
    uint64_t salt[2];
};

// ---- SQLite -----------------------------------------------------------------------------------

static enum glint_status fail(struct glint_response_store *s, const char *doing,
                              struct glint_error *err) {
    return glint_fail(err, GLINT_E_IO, "%s: %s: %s", s->params.path, doing,
                      s->db ? sqlite3_errmsg(s->db) : "no memory");
}

static enum glint_status run(struct glint_response_store *s, const char *sql,
                             struct glint_error *err) {
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail(s, sql, err);
    return GLINT_OK;
}

// A statement being prepared, bound and stepped; the first failure sticks.
struct query {
    struct glint_response_store *store;
    sqlite3_stmt *statement;
    int result; // of the last call
};

static struct query query_begin(struct glint_response_store *s, const char *sql) {
    struct query q = {.store = s};
    q.result = sqlite3_prepare_v2(s->db, sql, -1, &q.statement, NULL);
    return q;
}

static void bind_text(struct query *q, int i, const char *text) {
    if (q->result == SQLITE_OK)
        q->result = text ? sqlite3_bind_text(q->statement, i, text, -1, SQLITE_STATIC)
                         : sqlite3_bind_null(q->statement, i);
}

static void bind_view(struct query *q, int i, struct glint_view text) {
    if (q->result == SQLITE_OK)
        q->result =
            sqlite3_bind_text64(q->statement, i, text.data, text.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_i64(struct query *q, int i, int64_t value) {
    if (q->result == SQLITE_OK)
        q->result = sqlite3_bind_int64(q->statement, i, value);
}

// Who a row belongs to. hash [HASH_BYTES] must live until the query ends.
static void bind_owner(struct query *q, int i, const char *owner, unsigned char *hash) {
    struct glint_buffer text = {.data = NULL};
    size_t n = 0;
    if (owner) {
        glint_buffer_append(&text, q->store->salt, sizeof q->store->salt);
        glint_buffer_append_text(&text, owner);
        if (text.failed || gnutls_hash_fast(GNUTLS_DIG_SHA256, text.data, text.n, hash) != 0)
            q->result = SQLITE_NOMEM;
        n = HASH_BYTES;
        glint_buffer_fini(&text);
    }
    if (q->result == SQLITE_OK)
        q->result = sqlite3_bind_blob64(q->statement, i, hash, n, SQLITE_STATIC);
}

// True when there is a row.
static bool query_row(struct query *q) {
    if (q->result == SQLITE_OK || q->result == SQLITE_ROW)
        q->result = sqlite3_step(q->statement);
    return q->result == SQLITE_ROW;
}

static struct glint_view column(const struct query *q, int i) {
    const void *data = sqlite3_column_blob(q->statement, i);
    int n = sqlite3_column_bytes(q->statement, i);
    return data ? (struct glint_view){data, (size_t)n} : glint_view_of("");
}

// GLINT_OK too when rows are left.
static enum glint_status query_end(struct query *q, const char *doing, struct glint_error *err) {
    bool ok = q->result == SQLITE_DONE || q->result == SQLITE_ROW;
    enum glint_status status = GLINT_OK;
    if (q->result == SQLITE_NOMEM) // maybe not SQLite's own, so it has no message
        status = glint_fail(err, GLINT_E_NOMEM, "%s: %s: no memory", q->store->params.path, doing);
    else if (!ok)
        status = fail(q->store, doing, err);
    sqlite3_finalize(q->statement);
    return status;
}

static int64_t number_of(struct glint_response_store *s, const char *sql) {
    struct query q = query_begin(s, sql);
    int64_t value = query_row(&q) ? sqlite3_column_int64(q.statement, 0) : 0;
    query_end(&q, sql, NULL);
    return value;
}

// ---- the file ---------------------------------------------------------------------------------

// Only the owner of the file may read it; SQLite gives its other files the same mode. A file that
// is there is not opened here: closing it would let go of locks that this process holds on it.
static enum glint_status make_file(const char *path, struct glint_error *err) {
    struct stat info;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return glint_fail(err, GLINT_E_IO, "%s: cannot be created: %s", path, strerror(errno));
    if (stat(path, &info) != 0 ||
        (S_ISREG(info.st_mode) && (info.st_mode & 077) != 0 && chmod(path, 0600) != 0))
        return glint_fail(err, GLINT_E_IO, "%s: cannot be kept from other users: %s", path,
                          strerror(errno));
    return GLINT_OK;
}

static const char schema[] =
    "CREATE TABLE salt(value BLOB NOT NULL);"
    "INSERT INTO salt VALUES(randomblob(16));"
    "CREATE TABLE response(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner BLOB NOT NULL,"
    " previous TEXT, created INTEGER NOT NULL, used INTEGER NOT NULL, head TEXT NOT NULL);"
    "CREATE INDEX response_used ON response(used);"
    "CREATE TABLE item(response INTEGER NOT NULL REFERENCES response(n) ON DELETE CASCADE,"
    " place INTEGER NOT NULL, output INTEGER NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL,"
    " PRIMARY KEY(response, place));"
    "CREATE INDEX item_id ON item(id);";

static enum glint_status make_schema(struct glint_response_store *s, struct glint_error *err) {
    char sql[100];
    GLINT_TRY(run(s, "BEGIN IMMEDIATE", err));
    int64_t version = number_of(s, "PRAGMA user_version");
    int64_t application = number_of(s, "PRAGMA application_id");
    bool empty = number_of(s, "SELECT count(*) FROM sqlite_master") == 0;
    enum glint_status status = GLINT_OK;
    if (empty && version == 0 && application == 0) {
        sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version=%d; PRAGMA application_id=%d",
                         VERSION, APPLICATION);
        status = run(s, schema, err);
        if (status == GLINT_OK)
            status = run(s, sql, err);
    } else if (application != APPLICATION) {
        status =
            glint_fail(err, GLINT_E_FORMAT, "%s: is a database of another program", s->params.path);
    } else if (version != VERSION) {
        status = glint_fail(err, GLINT_E_FORMAT, "%s: found version %lld, expected %d",
                            s->params.path, (long long)version, VERSION);
    }
    if (status == GLINT_OK)
        status = run(s, "COMMIT", err);
    if (status != GLINT_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static enum glint_status read_salt(struct glint_response_store *s, struct glint_error *err) {
    struct query q = query_begin(s, "SELECT value FROM salt");
    bool ok = query_row(&q) && column(&q, 0).n == sizeof s->salt;
    if (ok)
        memcpy(s->salt, column(&q, 0).data, sizeof s->salt);
    GLINT_TRY(query_end(&q, "reading the salt", err));
    return ok ? GLINT_OK
              : glint_fail(err, GLINT_E_FORMAT, "%s: the salt is missing", s->params.path);
}

// WAL without a sync at each commit: a commit outlives the process, and after a loss of power the
// file is whole, perhaps without the last seconds.
static enum glint_status set_up(struct glint_response_store *s, struct glint_error *err) {
    sqlite3_busy_timeout(s->db, BUSY_MS);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    GLINT_TRY(run(s,
                  "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
                  "PRAGMA secure_delete=ON; PRAGMA journal_size_limit=16777216",
                  err));
    GLINT_TRY(make_schema(s, err));
    return read_salt(s, err);
}

// With the lock held: the file is open.
static enum glint_status be_open(struct glint_response_store *s, struct glint_error *err) {
    if (s->db)
        return GLINT_OK;
    GLINT_TRY(make_file(s->params.path, err));
    enum glint_status status = GLINT_OK;
    if (sqlite3_open_v2(s->params.path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        status = fail(s, "opening", err);
    if (status == GLINT_OK)
        status = set_up(s, err);
    if (status != GLINT_OK) {
        sqlite3_close(s->db);
        s->db = NULL;
    }
    return status;
}

static enum glint_status enter(struct glint_response_store *s, struct glint_error *err) {
    pthread_mutex_lock(&s->lock);
    enum glint_status status = be_open(s, err);
    if (status != GLINT_OK)
        pthread_mutex_unlock(&s->lock);
    return status;
}

static enum glint_status leave(struct glint_response_store *s, enum glint_status status) {
    pthread_mutex_unlock(&s->lock);
    return status;
}

enum glint_status glint_response_store_open(struct glint_response_store **store,
                                            const struct glint_response_store_params *params,
                                            struct glint_error *err) {
    struct glint_response_store *s = glint_alloc(1, sizeof *s);
    *store = NULL;
    if (!s)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", params->path);
    s->params = *params;
    pthread_mutex_init(&s->lock, NULL);
    *store = s;
    return GLINT_OK;
}

void glint_response_store_close(struct glint_response_store **store) {
    struct glint_response_store *s = *store;
    *store = NULL;
    if (!s)
        return;
    sqlite3_close(s->db);
    pthread_mutex_destroy(&s->lock);
    glint_free(s);
}

enum glint_status glint_response_store_ready(struct glint_response_store *s,
                                             struct glint_error *err) {
    GLINT_TRY(enter(s, err));
    return leave(s, GLINT_OK);
}

// ---- putting ----------------------------------------------------------------------------------

#define CHAIN                                                                                      \
    "WITH RECURSIVE chain(n, previous, depth) AS ("                                                \
    "SELECT n, previous, 0 FROM response WHERE id=?1 AND owner=?2 UNION ALL "                      \
    "SELECT r.n, r.previous, c.depth+1 FROM chain c JOIN response r"                               \
    " ON r.id=c.previous AND r.owner=?2 WHERE c.depth<?3) "

// Of the file, less what has been deleted in it.
static int64_t used_bytes(struct glint_response_store *s) {
    int64_t n_pages = number_of(s, "PRAGMA page_count") - number_of(s, "PRAGMA freelist_count");
    return n_pages * number_of(s, "PRAGMA page_size");
}

// Drops what nobody has used for long, and while there is too much, what was used longest ago.
static enum glint_status drop_old(struct glint_response_store *s, int64_t now, int64_t n_bytes,
                                  struct glint_error *err) {
    struct query q = query_begin(s, "DELETE FROM response WHERE used<?1");
    bind_i64(&q, 1, now - (int64_t)s->params.max_days * 86400 * MICROSECONDS);
    query_row(&q);
    GLINT_TRY(query_end(&q, "dropping old responses", err));
    int64_t room = n_bytes + n_bytes / 16 + SLACK; // rows take more than their text
    while (used_bytes(s) + room > s->params.max_bytes) {
        GLINT_TRY(run(s,
                      "DELETE FROM response WHERE n IN"
                      " (SELECT n FROM response ORDER BY used, n LIMIT 1)",
                      err));
        if (sqlite3_changes(s->db) == 0)
            break;
    }
    return GLINT_OK;
}

static enum glint_status touch(struct glint_response_store *s,
                               const struct glint_response_record *record, int64_t now,
                               struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    struct query q = query_begin(
        s, CHAIN "UPDATE response SET used=?4 WHERE n IN (SELECT n FROM chain) AND used<?4");
    bind_text(&q, 1, record->previous);
    bind_owner(&q, 2, record->owner, hash);
    bind_i64(&q, 3, MAX_TURNS);
    bind_i64(&q, 4, now);
    query_row(&q);
    return query_end(&q, "updating the responses before", err);
}

static enum glint_status put_items(struct glint_response_store *s, const struct glint_items *items,
                                   int64_t n, int *place, bool output, struct glint_error *err) {
    struct glint_item item;
    for (size_t at = 0; glint_items_next(items, &at, &item); (*place)++) {
        struct query q = query_begin(s, "INSERT INTO item VALUES(?1,?2,?3,?4,?5)");
        bind_i64(&q, 1, n);
        bind_i64(&q, 2, *place);
        bind_i64(&q, 3, output);
        bind_view(&q, 4, item.id);
        bind_view(&q, 5, item.json);
        query_row(&q);
        GLINT_TRY(query_end(&q, "storing an item", err));
    }
    return GLINT_OK;
}

static enum glint_status put_response(struct glint_response_store *s,
                                      const struct glint_response_record *record, int64_t now,
                                      struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    struct query q = query_begin(
        s, "INSERT INTO response(id,owner,previous,created,used,head) VALUES(?1,?2,?3,?4,?5,?6)");
    bind_text(&q, 1, record->id);
    bind_owner(&q, 2, record->owner, hash);
    bind_text(&q, 3, record->previous);
    bind_i64(&q, 4, record->created);
    bind_i64(&q, 5, now);
    bind_view(&q, 6, record->head);
    query_row(&q);
    GLINT_TRY(query_end(&q, "storing a response", err));
    int64_t n = sqlite3_last_insert_rowid(s->db);
    int place = 0;
    GLINT_TRY(put_items(s, record->inputs, n, &place, false, err));
    return put_items(s, record->outputs, n, &place, true, err);
}

enum glint_status glint_response_store_put(struct glint_response_store *s,
                                           const struct glint_response_record *record,
                                           struct glint_error *err) {
    size_t n_bytes = record->head.n + record->inputs->data.n + record->outputs->data.n;
    struct timespec clock;
    clock_gettime(CLOCK_REALTIME, &clock);
    int64_t now = (int64_t)clock.tv_sec * MICROSECONDS + clock.tv_nsec / 1000;
    if (record->inputs->data.failed || record->outputs->data.failed)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", record->id);
    if (n_bytes > (uint64_t)s->params.max_bytes / 4)
        return glint_fail(err, GLINT_E_LIMIT,
                          "%s: %zu bytes are more than a quarter of what the store may hold (%lld)",
                          s->params.path, n_bytes, (long long)s->params.max_bytes);
    GLINT_TRY(enter(s, err));
    enum glint_status status = run(s, "BEGIN IMMEDIATE", err);
    if (status == GLINT_OK && record->previous) // first, so that its turns are not dropped
        status = touch(s, record, now, err);
    if (status == GLINT_OK)
        status = drop_old(s, now, (int64_t)n_bytes, err);
    if (status == GLINT_OK)
        status = put_response(s, record, now, err);
    if (status == GLINT_OK)
        status = run(s, "COMMIT", err);
    if (status != GLINT_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return leave(s, status);
}

// ---- looking ----------------------------------------------------------------------------------

static enum glint_status not_found(const char *id, struct glint_error *err) {
    return glint_fail(err, GLINT_E_NOTFOUND, "no stored response has the id \"%.100s\"", id);
}

static enum glint_status take_text(struct query *q, struct glint_buffer *out, const char *id,
                                   struct glint_error *err) {
    bool found = query_row(q);
    if (found)
        glint_buffer_append(out, column(q, 0).data, column(q, 0).n);
    GLINT_TRY(query_end(q, "reading", err));
    if (out->failed)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", id);
    return found ? GLINT_OK : not_found(id, err);
}

static enum glint_status get_output(struct glint_response_store *s, const char *id,
                                    struct glint_buffer *out, struct glint_error *err) {
    struct query q = query_begin(s, "SELECT json FROM item JOIN response ON n=response"
                                    " WHERE response.id=?1 AND output=1 ORDER BY place");
    bind_text(&q, 1, id);
    for (int i = 0; query_row(&q); i++) {
        if (i != 0)
            glint_buffer_append_char(out, ',');
        glint_buffer_append(out, column(&q, 0).data, column(&q, 0).n);
    }
    glint_buffer_append_text(out, "]}");
    GLINT_TRY(query_end(&q, "reading items", err));
    return out->failed ? glint_fail(err, GLINT_E_NOMEM, "%s: no memory", id) : GLINT_OK;
}

enum glint_status glint_response_store_get(struct glint_response_store *s, const char *owner,
                                           const char *id, struct glint_buffer *object,
                                           struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    GLINT_TRY(enter(s, err));
    struct query q = query_begin(s, "SELECT head FROM response WHERE id=?1 AND owner=?2");
    bind_text(&q, 1, id);
    bind_owner(&q, 2, owner, hash);
    enum glint_status status = take_text(&q, object, id, err);
    if (status == GLINT_OK)
        status = get_output(s, id, object, err);
    return leave(s, status);
}

enum glint_status glint_response_store_item(struct glint_response_store *s, const char *owner,
                                            const char *id, struct glint_buffer *json,
                                            struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    GLINT_TRY(enter(s, err));
    struct query q = query_begin(s, "SELECT json FROM item JOIN response ON n=response"
                                    " WHERE item.id=?1 AND owner=?2 ORDER BY n DESC LIMIT 1");
    bind_text(&q, 1, id);
    bind_owner(&q, 2, owner, hash);
    return leave(s, take_text(&q, json, id, err));
}

enum glint_status glint_response_store_delete(struct glint_response_store *s, const char *owner,
                                              const char *id, struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    GLINT_TRY(enter(s, err));
    struct query q = query_begin(s, "DELETE FROM response WHERE id=?1 AND owner=?2");
    bind_text(&q, 1, id);
    bind_owner(&q, 2, owner, hash);
    query_row(&q);
    enum glint_status status = query_end(&q, "deleting", err);
    if (status == GLINT_OK && sqlite3_changes(s->db) == 0)
        status = not_found(id, err);
    return leave(s, status);
}

// Whether the response is there and all before it are.
static enum glint_status check_chain(struct glint_response_store *s,
                                     const struct glint_response_query *query,
                                     struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    struct query q =
        query_begin(s, CHAIN "SELECT previous, depth FROM chain ORDER BY depth DESC LIMIT 1");
    bind_text(&q, 1, query->id);
    bind_owner(&q, 2, query->owner, hash);
    bind_i64(&q, 3, MAX_TURNS);
    bool found = query_row(&q);
    bool broken = found && sqlite3_column_type(q.statement, 0) != SQLITE_NULL;
    char previous[120] = "";
    if (broken)
        sqlite3_snprintf(sizeof previous, previous, "%.100s", sqlite3_column_text(q.statement, 0));
    GLINT_TRY(query_end(&q, "reading a conversation", err));
    if (!found)
        return not_found(query->id, err);
    return broken ? glint_fail(err, GLINT_E_NOTFOUND,
                               "the response \"%s\", which \"%.100s\" goes on from, has been "
                               "deleted or dropped",
                               previous, query->id)
                  : GLINT_OK;
}

static enum glint_status get_history(struct glint_response_store *s,
                                     const struct glint_response_query *query,
                                     struct glint_items *items, struct glint_error *err) {
    unsigned char hash[HASH_BYTES];
    struct query q = query_begin(s, CHAIN "SELECT i.id, i.json FROM chain c JOIN item i"
                                          " ON i.response=c.n WHERE c.depth>0 OR i.output<=?4"
                                          " ORDER BY c.depth DESC, i.place");
    bind_text(&q, 1, query->id);
    bind_owner(&q, 2, query->owner, hash);
    bind_i64(&q, 3, MAX_TURNS);
    bind_i64(&q, 4, query->with_output);
    while (items->data.n <= query->max_bytes && query_row(&q))
        glint_items_add(items, column(&q, 0), column(&q, 1));
    GLINT_TRY(query_end(&q, "reading a conversation", err));
    if (items->data.failed)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", query->id);
    if (items->data.n > query->max_bytes)
        return glint_fail(err, GLINT_E_LIMIT, "the conversation is over the limit of %zu bytes",
                          query->max_bytes);
    return GLINT_OK;
}

enum glint_status glint_response_store_history(struct glint_response_store *s,
                                               const struct glint_response_query *query,
                                               struct glint_items *items, struct glint_error *err) {
    GLINT_TRY(enter(s, err));
    enum glint_status status = check_chain(s, query, err);
    if (status == GLINT_OK)
        status = get_history(s, query, items, err);
    return leave(s, status);
}
