// SPDX-License-Identifier: Apache-2.0
// test_response_store.c — the store from several threads at once, with memory that runs out, and
// two stores on one file.
#include "server/response_store.h"

#include "fault.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_THREADS = 4, N_TURNS = 8 };

struct fixture {
    char folder[64], path[100];
    struct glint_response_store *store;
};

static struct glint_response_store *open_store(const char *path) {
    struct glint_response_store_params params = {
        .path = path, .max_bytes = 16 << 20, .max_days = 30};
    struct glint_response_store *store;
    assert_int_equal(glint_response_store_open(&store, &params, NULL), GLINT_OK);
    return store;
}

static int set_up(void **state) {
    static struct fixture f;
    snprintf(f.folder, sizeof f.folder, "/tmp/glint-store-XXXXXX");
    assert_non_null(mkdtemp(f.folder));
    snprintf(f.path, sizeof f.path, "%s/r.db", f.folder);
    f.store = open_store(f.path);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    struct fixture *f = *state;
    char path[120];
    glint_response_store_close(&f->store);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", f->path, suffixes[i]);
        unlink(path);
    }
    return rmdir(f->folder);
}

// Stores response "ID" with an input item "ID-in" and an output item "ID-out".
static enum glint_status put(struct glint_response_store *store, const char *owner, const char *id,
                             const char *previous, struct glint_error *err) {
    struct glint_items inputs = {.n = 0}, outputs = {.n = 0};
    char name[100], json[200];
    snprintf(name, sizeof name, "%s-in", id);
    snprintf(json, sizeof json, "{\"id\":\"%s\"}", name);
    glint_items_add(&inputs, glint_view_of(name), glint_view_of(json));
    snprintf(name, sizeof name, "%s-out", id);
    snprintf(json, sizeof json, "{\"id\":\"%s\"}", name);
    glint_items_add(&outputs, glint_view_of(name), glint_view_of(json));
    struct glint_response_record record = {.owner = owner,
                                           .id = id,
                                           .previous = previous,
                                           .created = 1,
                                           .head = glint_view_of("{\"output\":["),
                                           .inputs = &inputs,
                                           .outputs = &outputs};
    enum glint_status status = glint_response_store_put(store, &record, err);
    glint_items_fini(&inputs);
    glint_items_fini(&outputs);
    return status;
}

static enum glint_status history(struct glint_response_store *store, const char *owner,
                                 const char *id, struct glint_items *items,
                                 struct glint_error *err) {
    struct glint_response_query query = {
        .owner = owner, .id = id, .with_output = true, .max_bytes = 1 << 20};
    return glint_response_store_history(store, &query, items, err);
}

// ---- threads ----------------------------------------------------------------------------------

struct client {
    struct glint_response_store *store;
    int i;
};

// A conversation of N_TURNS, read again after each turn. NULL when all went well.
static void *talk(void *user) {
    struct client *c = user;
    char owner[10], id[20], previous[20];
    snprintf(owner, sizeof owner, "key%d", c->i);
    for (int turn = 0; turn < N_TURNS; turn++) {
        struct glint_items items = {.n = 0};
        snprintf(id, sizeof id, "r%d-%d", c->i, turn);
        bool ok = put(c->store, owner, id, turn ? previous : NULL, NULL) == GLINT_OK &&
                  history(c->store, owner, id, &items, NULL) == GLINT_OK &&
                  items.n == 2 * (turn + 1);
        glint_items_fini(&items);
        if (!ok)
            return c;
        memcpy(previous, id, sizeof previous);
    }
    return NULL;
}

static void test_threads(void **state) {
    struct fixture *f = *state;
    struct glint_response_store *second = open_store(f->path); // as another server would
    struct client clients[N_THREADS];
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        clients[i] = (struct client){i % 2 ? second : f->store, i};
        assert_int_equal(pthread_create(&threads[i], NULL, talk, &clients[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    struct glint_buffer object = {.data = NULL};
    assert_int_equal(glint_response_store_get(f->store, "key1", "r1-3", &object, NULL), GLINT_OK);
    assert_string_equal(object.data, "{\"output\":[{\"id\":\"r1-3-out\"}]}");
    assert_int_equal(glint_response_store_get(f->store, "key2", "r1-3", &object, NULL),
                     GLINT_E_NOTFOUND);
    assert_int_equal(glint_response_store_get(f->store, NULL, "r1-3", &object, NULL),
                     GLINT_E_NOTFOUND);
    glint_buffer_fini(&object);
    glint_response_store_close(&second);
}

// ---- memory -----------------------------------------------------------------------------------

static int n_runs;

static enum glint_status life(void *context, struct glint_error *err) {
    struct fixture *f = context;
    struct glint_response_store_params params = {
        .path = f->path, .max_bytes = 16 << 20, .max_days = 30};
    struct glint_response_store *store = NULL;
    struct glint_items items = {.n = 0};
    struct glint_buffer object = {.data = NULL};
    char first[30], second[30];
    snprintf(first, sizeof first, "a%d", n_runs);
    snprintf(second, sizeof second, "b%d", n_runs++);
    enum glint_status status = glint_response_store_open(&store, &params, err);
    if (status == GLINT_OK)
        status = put(store, "key", first, NULL, err);
    if (status == GLINT_OK)
        status = put(store, "key", second, first, err);
    if (status == GLINT_OK)
        status = history(store, "key", second, &items, err);
    if (status == GLINT_OK)
        status = glint_response_store_get(store, "key", second, &object, err);
    if (status == GLINT_OK)
        status = glint_response_store_item(store, "key", items.data.data, &object, err);
    if (status == GLINT_OK)
        status = glint_response_store_delete(store, "key", first, err);
    glint_items_fini(&items);
    glint_buffer_fini(&object);
    glint_response_store_close(&store);
    return status;
}

static void test_no_memory(void **state) {
    assert_true(glint_fault_each(life, *state) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
