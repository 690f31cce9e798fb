// SPDX-License-Identifier: Apache-2.0
// response_store.h — answers that are kept: what `store` and `previous_response_id` of OpenAI's
// responses stand on. One SQLite file in WAL mode: what has been put is whole after a crash of the
// process, or not there. Several servers may share it. Each owner (API key) sees its own alone; of
// the key only a salted hash is kept. Calls may come from any thread but the engine's; they take
// turns.
#ifndef GLINT_SERVER_RESPONSE_STORE_H
#define GLINT_SERVER_RESPONSE_STORE_H

#include "base/status.h"
#include "server/item_list.h"

#include <stdint.h>

struct glint_response_store;

struct glint_response_store_params {
    const char *path;  // outlives the store; its folder exists
    int64_t max_bytes; // of the file: beyond it the responses used longest ago are dropped
    int max_days;      // without use, after which a response is dropped
};

struct glint_response_record {
    const char *owner;      // the API key; NULL: nobody's
    const char *id;         // of the response
    const char *previous;   // of the one it goes on from; NULL: none
    int64_t created;        // Unix time
    struct glint_view head; // the response's object up to and with `"output":[`
    const struct glint_items *inputs, *outputs;
};

// Opens no file yet: that happens at the first use.
enum glint_status glint_response_store_open(struct glint_response_store **store,
                                            const struct glint_response_store_params *params,
                                            struct glint_error *err);
void glint_response_store_close(struct glint_response_store **store);
// Opens the file, creating it (mode 0600) where there is none; tells what is wrong with it.
enum glint_status glint_response_store_ready(struct glint_response_store *store,
                                             struct glint_error *err);

// All or nothing. GLINT_E_IO: the disk is full, or cannot be written; GLINT_E_LIMIT: more than a
// quarter of max_bytes.
enum glint_status glint_response_store_put(struct glint_response_store *store,
                                           const struct glint_response_record *record,
                                           struct glint_error *err);
// The functions below: GLINT_E_NOTFOUND when this owner has no such response.
// The response's object, appended.
enum glint_status glint_response_store_get(struct glint_response_store *store, const char *owner,
                                           const char *id, struct glint_buffer *object,
                                           struct glint_error *err);
enum glint_status glint_response_store_delete(struct glint_response_store *store, const char *owner,
                                              const char *id, struct glint_error *err);

struct glint_response_query {
    const char *owner, *id;
    bool with_output; // of the response itself; that of those before it always is
    size_t max_bytes; // over it: GLINT_E_LIMIT
};
// All items of a response and of those it went on from, oldest first.
enum glint_status glint_response_store_history(struct glint_response_store *store,
                                               const struct glint_response_query *query,
                                               struct glint_items *items, struct glint_error *err);
// One item by its id, whichever response it belongs to: its JSON, appended.
enum glint_status glint_response_store_item(struct glint_response_store *store, const char *owner,
                                            const char *id, struct glint_buffer *json,
                                            struct glint_error *err);

#endif
