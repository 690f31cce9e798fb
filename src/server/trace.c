// SPDX-License-Identifier: Apache-2.0
// trace.c — what the cache found, in words.
#include "server/trace.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "format/json_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct glint_trace {
    int fd;
};

enum glint_status glint_trace_open(struct glint_trace **out, const char *path,
                                   struct glint_error *err) {
    *out = NULL;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fchmod(fd, 0600) != 0) { // also when it was there
        enum glint_status status =
            glint_fail(err, GLINT_E_IO, "--trace-file: %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    *out = glint_alloc(1, sizeof **out);
    if (!*out) {
        close(fd);
        return glint_fail(err, GLINT_E_NOMEM, "--trace-file: no memory");
    }
    (*out)->fd = fd;
    return GLINT_OK;
}

void glint_trace_close(struct glint_trace **trace) {
    if (*trace)
        close((*trace)->fd);
    glint_free(*trace);
    *trace = NULL;
}

static const char *reason(const struct glint_work *work, const struct glint_resumed *resumed) {
    int n = work->usage.n_prompt;
    if (resumed->n_kept == n - 1)
        return "all of it was there";
    if (resumed->n_forgotten > resumed->n_common)
        return "what began it was given up for memory";
    if (resumed->n_common == 0)
        return "nothing that is kept begins like it";
    if (resumed->n_kept < resumed->n_common && resumed->n_forgotten > resumed->n_kept)
        return "a checkpoint nearer to where it leaves the others was given up for memory";
    if (resumed->n_kept < resumed->n_common)
        return "no checkpoint is nearer to where it leaves the others";
    if (resumed->n_ahead > 0)
        return "another text follows there";
    return "all that was there begins it";
}

static void put_texts(struct glint_json_writer *w, const char *key,
                      const struct glint_engine *engine, const int32_t *ids, int n) {
    struct glint_buffer bytes = {.data = NULL}, text = {.data = NULL};
    for (int i = 0; i < n; i++) {
        size_t n_bytes = 9;
        const char *piece = "[picture]";
        if (ids[i] >= 0)
            piece = glint_token_bytes(engine, ids[i], &n_bytes);
        glint_buffer_append(&bytes, piece, n_bytes);
    }
    glint_utf8_repair(&text, bytes.data ? bytes.data : "", bytes.n);
    glint_json_key(w, key);
    glint_json_string(w, (struct glint_view){text.data ? text.data : "", text.n});
    glint_buffer_fini(&bytes);
    glint_buffer_fini(&text);
}

static void put_count(struct glint_json_writer *w, const char *key, int n) {
    glint_json_key(w, key);
    glint_json_i64(w, n);
}

void glint_trace_put(struct glint_trace *trace, const struct glint_engine *engine,
                     const struct glint_work *work, const struct glint_resumed *resumed) {
    struct glint_buffer out = {.data = NULL};
    struct glint_json_writer w = {.out = &out, .style = GLINT_JSON_COMPACT};
    int n = work->usage.n_prompt, common = resumed->n_common;
    glint_json_begin_object(&w);
    glint_json_key(&w, "time");
    glint_json_i64(&w, time(NULL));
    glint_json_key(&w, "request");
    glint_json_text(&w, work->request_id);
    put_count(&w, "choice", work->choice);
    put_count(&w, "prompt", n);
    put_count(&w, "kept", resumed->n_kept);
    put_count(&w, "common", common);
    put_count(&w, "checkpoint", resumed->n_checkpoint);
    put_count(&w, "forgotten", resumed->n_forgotten);
    glint_json_key(&w, "why");
    glint_json_text(&w, reason(work, resumed));
    if (common > 0 && common < n && resumed->n_ahead > 0) {
        int before = common < GLINT_RESUMED_AHEAD ? common : GLINT_RESUMED_AHEAD;
        int here = n - common < GLINT_RESUMED_AHEAD ? n - common : GLINT_RESUMED_AHEAD;
        put_texts(&w, "before", engine, work->ids + common - before, before);
        put_texts(&w, "here", engine, work->ids + common, here);
        put_texts(&w, "there", engine, resumed->ahead, resumed->n_ahead);
    }
    glint_json_end_object(&w);
    glint_buffer_append_char(&out, '\n');
    // One write a line, so that lines stay whole.
    if (!out.failed && write(trace->fd, out.data, out.n) < 0)
        out.failed = true; // nobody to tell; the next line may fit
    glint_buffer_fini(&out);
}
