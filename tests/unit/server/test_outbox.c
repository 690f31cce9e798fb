// SPDX-License-Identifier: Apache-2.0
// test_outbox.c — notes between threads: all of them, in order, and no reader left asleep.
#include "server/outbox.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

enum { N_NOTES = 20000, N_WORKS = 3 };

// A connection that can be suspended, as the HTTP library has it.
struct connection {
    pthread_mutex_t lock;
    pthread_cond_t resumed;
    bool suspended;
    int n_suspended;
};

static void suspend(void *user) {
    struct connection *c = user;
    pthread_mutex_lock(&c->lock);
    assert_false(c->suspended);
    c->suspended = true;
    c->n_suspended++;
    pthread_mutex_unlock(&c->lock);
}

static void resume(void *user) {
    struct connection *c = user;
    pthread_mutex_lock(&c->lock);
    assert_true(c->suspended); // one wake for one wait, and only after it
    c->suspended = false;
    pthread_cond_signal(&c->resumed);
    pthread_mutex_unlock(&c->lock);
}

struct writer {
    struct glint_outbox *outbox;
    int choice;
};

static void *write_notes(void *context) {
    const struct writer *writer = context;
    char text[300];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < N_NOTES; i++) {
        struct glint_note note = {.kind = GLINT_NOTE_CONTENT,
                                  .choice = writer->choice,
                                  .index = (size_t)i,
                                  .text = text,
                                  .n = (size_t)i % sizeof text};
        glint_outbox_put(writer->outbox, &note);
    }
    glint_outbox_finish(writer->outbox);
    return NULL;
}

static void check_note(const struct glint_note *note, size_t *next) {
    assert_in_range(note->choice, 0, N_WORKS - 1);
    assert_int_equal(note->index, next[note->choice]++);
    assert_int_equal(note->n, note->index % 300);
    assert_int_equal(strlen(note->text), note->n);
}

static void test_threads(void **state) {
    (void)state;
    struct connection c = {.suspended = false};
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.resumed, NULL);
    struct glint_outbox *outbox = glint_outbox_open(N_WORKS, resume, &c);
    struct writer writers[N_WORKS];
    pthread_t threads[N_WORKS];
    for (int i = 0; i < N_WORKS; i++) {
        writers[i] = (struct writer){outbox, i};
        pthread_create(&threads[i], NULL, write_notes, &writers[i]);
    }
    struct glint_buffer batch = {.data = NULL};
    size_t next[N_WORKS] = {0};
    for (bool over = false; !over;) {
        struct glint_note note;
        size_t at = 0;
        over = glint_outbox_take(outbox, &batch);
        while (glint_outbox_next(&batch, &at, &note))
            check_note(&note, next);
        if (!over && glint_outbox_wait(outbox, suspend)) {
            pthread_mutex_lock(&c.lock);
            while (c.suspended)
                pthread_cond_wait(&c.resumed, &c.lock);
            pthread_mutex_unlock(&c.lock);
        }
    }
    for (int i = 0; i < N_WORKS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(next[i], N_NOTES);
    }
    glint_outbox_release(outbox);
    glint_buffer_fini(&batch);
    pthread_cond_destroy(&c.resumed);
    pthread_mutex_destroy(&c.lock);
}

// Wakes are asked for by waiting only, and come once.
static void test_wakes(void **state) {
    (void)state;
    struct connection c = {.suspended = false};
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.resumed, NULL);
    struct glint_outbox *outbox = glint_outbox_open(1, resume, &c);
    struct glint_note note = {.kind = GLINT_NOTE_CONTENT, .text = "a", .n = 1};
    struct glint_buffer batch = {.data = NULL};
    glint_outbox_wake(outbox); // nobody waits
    glint_outbox_put(outbox, &note);
    assert_false(glint_outbox_wait(outbox, suspend)); // there is something to take
    assert_false(glint_outbox_take(outbox, &batch));
    assert_true(glint_outbox_wait(outbox, suspend));
    glint_outbox_wake(outbox);
    assert_false(c.suspended);
    assert_true(glint_outbox_wait(outbox, suspend));
    glint_outbox_retain(outbox);
    glint_outbox_finish(outbox);
    assert_false(c.suspended);
    assert_false(glint_outbox_wait(outbox, suspend)); // the end
    assert_true(glint_outbox_take(outbox, &batch));
    assert_int_equal(c.n_suspended, 2);
    glint_outbox_release(outbox);
    glint_outbox_release(outbox);
    glint_buffer_fini(&batch);
    pthread_cond_destroy(&c.resumed);
    pthread_mutex_destroy(&c.lock);
}

static void nothing(void *user) {
    (void)user;
}

// A reader that never reads is cancelled, and what is lost for lack of memory is not half there.
static void test_limits(void **state) {
    (void)state;
    static char text[1 << 20];
    struct glint_outbox *outbox = glint_outbox_open(1, nothing, NULL);
    struct glint_note note = {.kind = GLINT_NOTE_CONTENT, .text = text, .n = sizeof text};
    for (int i = 0; i < 16; i++)
        glint_outbox_put(outbox, &note);
    assert_false(glint_outbox_is_cancelled(outbox));
    for (int i = 0; i < 32; i++)
        glint_outbox_put(outbox, &note);
    assert_true(glint_outbox_is_cancelled(outbox));
    glint_outbox_finish(outbox);
    glint_outbox_release(outbox);

    outbox = glint_outbox_open(1, nothing, NULL);
    note.n = 100;
    glint_outbox_put(outbox, &note);
    note.n = 5000;
    glint_alloc_fail_at(1);
    glint_outbox_put(outbox, &note);
    glint_alloc_fail_at(0);
    assert_true(glint_outbox_is_cancelled(outbox));
    struct glint_buffer batch = {.data = NULL};
    size_t at = 0;
    glint_outbox_take(outbox, &batch);
    assert_true(glint_outbox_next(&batch, &at, &note));
    assert_int_equal(note.n, 100);
    assert_false(glint_outbox_next(&batch, &at, &note));
    glint_buffer_fini(&batch);
    glint_outbox_finish(outbox);
    glint_outbox_release(outbox);
    glint_alloc_fail_at(1);
    assert_null(glint_outbox_open(1, nothing, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads), cmocka_unit_test(test_wakes),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
