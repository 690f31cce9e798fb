// SPDX-License-Identifier: Apache-2.0
// response_store_none.c — in the place of response_store.c where SQLite or GnuTLS was not found:
// no store can be opened, so nothing else is ever called.
#include "server/response_store.h"

enum glint_status glint_response_store_open(struct glint_response_store **store,
                                            const struct glint_response_store_params *params,
                                            struct glint_error *err) {
    *store = NULL;
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "%s: this glint was built without SQLite and GnuTLS and cannot store "
                      "responses",
                      params->path);
}

void glint_response_store_close(struct glint_response_store **store) {
    *store = NULL;
}

enum glint_status glint_response_store_ready(struct glint_response_store *store,
                                             struct glint_error *err) {
    (void)store;
    return glint_fail(err, GLINT_E_UNSUPPORTED, "no store");
}

enum glint_status glint_response_store_put(struct glint_response_store *store,
                                           const struct glint_response_record *record,
                                           struct glint_error *err) {
    (void)record;
    return glint_response_store_ready(store, err);
}

enum glint_status glint_response_store_get(struct glint_response_store *store, const char *owner,
                                           const char *id, struct glint_buffer *object,
                                           struct glint_error *err) {
    (void)owner;
    (void)id;
    (void)object;
    return glint_response_store_ready(store, err);
}

enum glint_status glint_response_store_delete(struct glint_response_store *store, const char *owner,
                                              const char *id, struct glint_error *err) {
    (void)owner;
    (void)id;
    return glint_response_store_ready(store, err);
}

enum glint_status glint_response_store_history(struct glint_response_store *store,
                                               const struct glint_response_query *query,
                                               struct glint_items *items, struct glint_error *err) {
    (void)query;
    (void)items;
    return glint_response_store_ready(store, err);
}

enum glint_status glint_response_store_item(struct glint_response_store *store, const char *owner,
                                            const char *id, struct glint_buffer *json,
                                            struct glint_error *err) {
    (void)owner;
    (void)id;
    (void)json;
    return glint_response_store_ready(store, err);
}
