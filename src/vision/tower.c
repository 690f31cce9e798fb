// SPDX-License-Identifier: Apache-2.0
// tower.c — see tower.h. The rows of a picture live in h for all layers, window by window. A
// layer goes over spans: every window for itself, or in global layers the whole picture. Keys and
// values of a span are stored first, then its rows are finished, GLINT_TOWER_ROWS at a time, so
// that memory is h, one layer's keys and values, and the scratch of one chunk.
#include "vision/tower.h"

#include "base/alloc.h"
#include <math.h>
#include <string.h>

enum { MERGED = GLINT_VISION_MERGE * GLINT_VISION_MERGE };

struct tower {
    const struct glint_tower_job *job;
    const struct glint_vision_model *model;
    const struct glint_vision_config *config;
    struct glint_backend *backend;
    struct glint_patch_grid grid;
    char *block;          // device memory of the arrays below
    float *h;             // [n, width]
    float *turn;          // [n, head_dim]
    float *pages;         // keys and values of a span
    float *x, *q, *a, *y; // [rows, width]
    float *wide[2];       // [rows, widest]
    float *host[2];       // host [rows, widest]
    struct glint_kv_plane plane;
    int32_t *page;            // [plane.n_page] 0, 1, ...
    struct glint_kv_ref *ref; // [rows]
    int64_t done, total;
    struct glint_error *err;
};

// ---- memory ---------------------------------------------------------------------------------

static int64_t largest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t widest(const struct glint_vision_config *config) {
    int64_t pixels = 2 * 3 * (int64_t)config->patch * config->patch;
    int64_t most = largest(largest(config->n_ff, MERGED * (int64_t)config->width), pixels);
    return largest(most, largest(config->n_adapter, config->n_text));
}

enum { N_PART = 9 };

// Bytes of every device array, in the order of struct tower.
static void part_sizes(const struct glint_vision_config *config, int64_t n, uint64_t part[N_PART]) {
    uint64_t rows = GLINT_TOWER_ROWS, width = (uint64_t)config->width;
    uint64_t n_page = ((uint64_t)n + GLINT_KV_PAGE_ROWS - 1) / GLINT_KV_PAGE_ROWS;
    uint64_t floats[N_PART] = {(uint64_t)n * width,
                               (uint64_t)n * (uint64_t)config->head_dim,
                               n_page * GLINT_KV_PAGE_ROWS * 2 * width,
                               rows * width,
                               rows * width,
                               rows * width,
                               rows * width,
                               rows * (uint64_t)widest(config),
                               rows * (uint64_t)widest(config)};
    for (int i = 0; i < N_PART; i++)
        part[i] = (floats[i] + 15) / 16 * 16 * sizeof(float);
}

uint64_t glint_tower_bytes(const struct glint_vision_config *config, int64_t n_patch) {
    uint64_t part[N_PART], sum = 0;
    part_sizes(config, n_patch, part);
    for (int i = 0; i < N_PART; i++)
        sum += part[i];
    return sum + 2 * part[N_PART - 1] + glint_patch_grid_bytes(n_patch);
}

struct glint_backend_limits glint_tower_limits(const struct glint_vision_config *config) {
    return (struct glint_backend_limits){
        .max_rows = GLINT_TOWER_ROWS,
        .max_col = (int)widest(config),
        .max_head = config->n_head,
        .max_context = GLINT_VISION_HARD_TOKENS * MERGED,
        .head_dim = config->head_dim,
    };
}

static bool take_memory(struct tower *tower) {
    uint64_t part[N_PART], sum = 0;
    part_sizes(tower->config, tower->grid.n, part);
    for (int i = 0; i < N_PART; i++)
        sum += part[i];
    struct glint_kv_plane *plane = &tower->plane;
    *plane = (struct glint_kv_plane){.dtype_k = GLINT_DTYPE_F32,
                                     .dtype_v = GLINT_DTYPE_F32,
                                     .n_layer = 1,
                                     .n_head_kv = tower->config->n_head,
                                     .head_dim = tower->config->head_dim};
    plane->page_bytes = glint_kv_layer_bytes(plane);
    plane->n_page = (tower->grid.n + GLINT_KV_PAGE_ROWS - 1) / GLINT_KV_PAGE_ROWS;
    tower->block = tower->backend->alloc(tower->backend, (size_t)sum);
    for (int i = 0; i < 2; i++)
        tower->host[i] = glint_alloc(1, (size_t)part[N_PART - 1]);
    tower->page = glint_alloc((size_t)plane->n_page, sizeof *tower->page);
    tower->ref = glint_alloc(GLINT_TOWER_ROWS, sizeof *tower->ref);
    if (!tower->block || !tower->host[0] || !tower->host[1] || !tower->page || !tower->ref)
        return false;
    for (int i = 0; i < plane->n_page; i++)
        tower->page[i] = i;
    char *next = tower->block;
    float **slot[N_PART] = {&tower->h, &tower->turn, &tower->pages,   &tower->x,      &tower->q,
                            &tower->a, &tower->y,    &tower->wide[0], &tower->wide[1]};
    for (int i = 0; i < N_PART; i++) {
        *slot[i] = (float *)(void *)next;
        next += part[i];
    }
    plane->pages = (char *)(void *)tower->pages;
    return true;
}

static void tower_fini(struct tower *tower) {
    if (tower->block)
        tower->backend->free(tower->backend, tower->block);
    for (int i = 0; i < 2; i++)
        glint_free(tower->host[i]);
    glint_free(tower->page);
    glint_free(tower->ref);
    glint_patch_grid_fini(&tower->grid);
}

// Reports `units` more of work; false when the caller has had enough.
static enum glint_status step(struct tower *tower, int64_t units) {
    const struct glint_tower_job *job = tower->job;
    tower->done += units;
    GLINT_TRY(tower->backend->sync(tower->backend, tower->err));
    if (job->step && job->step(job->user, tower->done, tower->total))
        return glint_fail(tower->err, GLINT_E_CANCELLED, "cancelled while looking at a picture");
    return GLINT_OK;
}

// ---- ops ------------------------------------------------------------------------------------

static void multiply(struct tower *tower, const struct glint_matrix *w, const float *x, int n,
                     float *out) {
    tower->backend->ops.matmul(
        tower->backend,
        &(struct glint_op_matmul){
            .x = x, .n = n, .n_matrix = 1, .w = {w}, .out = {out}, .exact = tower->job->exact});
}

static void norm(struct tower *tower, const struct glint_vision_norm *norm, const float *x, int n,
                 float *out) {
    tower->backend->ops.layer_norm(tower->backend,
                                   &(struct glint_op_layer_norm){.out = out,
                                                                 .x = x,
                                                                 .gain = norm->gain,
                                                                 .bias = norm->bias,
                                                                 .epsilon = tower->config->epsilon,
                                                                 .n = n,
                                                                 .width = tower->config->width});
}

// x += y + bias
static void add(struct tower *tower, float *x, const float *y, const float *bias, int n) {
    struct glint_op_add op = {.x = x, .y = y, .bias = bias, .n = n, .width = tower->config->width};
    tower->backend->ops.add(tower->backend, &op);
}

static void gelu(struct tower *tower, float *x, const float *bias, int n, int width) {
    struct glint_op_gelu op = {.x = x, .bias = bias, .n = n, .width = width};
    tower->backend->ops.gelu(tower->backend, &op);
}

// A projection of x to heads, turned by the places of the rows from `first` on.
static void heads(struct tower *tower, const struct glint_vision_linear *linear, int first, int n,
                  float *out) {
    const struct glint_vision_config *config = tower->config;
    multiply(tower, &linear->weight, tower->x, n, out);
    add(tower, out, NULL, linear->bias, n);
    struct glint_op_rotate op = {.x = out,
                                 .turn = tower->turn + (int64_t)first * config->head_dim,
                                 .n = n,
                                 .n_head = config->n_head,
                                 .head_dim = config->head_dim};
    tower->backend->ops.rotate(tower->backend, &op);
}

// ---- a layer --------------------------------------------------------------------------------

// Patches that see each other: rows [begin, end).
struct span {
    int begin, end;
};

// Places rows [at, at + n) of the span in the plane.
static void place_rows(struct tower *tower, struct span span, int at, int n) {
    struct glint_kv_table table = {tower->page, tower->plane.n_page};
    for (int i = 0; i < n; i++)
        tower->ref[i] = (struct glint_kv_ref){
            .table = table, .position = at - span.begin + i, .ahead = span.end - 1 - (at + i)};
}

static void store_keys(struct tower *tower, const struct glint_vision_layer *layer,
                       struct span span, int at, int n) {
    place_rows(tower, span, at, n);
    norm(tower, &layer->ln1, tower->h + (int64_t)at * tower->config->width, n, tower->x);
    heads(tower, &layer->k, at, n, tower->q);
    multiply(tower, &layer->v.weight, tower->x, n, tower->a);
    add(tower, tower->a, NULL, layer->v.bias, n);
    struct glint_op_kv_store op = {
        .plane = &tower->plane, .k = tower->q, .v = tower->a, .ref = tower->ref, .n = n};
    tower->backend->ops.kv_store(tower->backend, &op);
}

static void finish_rows(struct tower *tower, const struct glint_vision_layer *layer,
                        struct span span, int at, int n) {
    const struct glint_vision_config *config = tower->config;
    float *h = tower->h + (int64_t)at * config->width;
    place_rows(tower, span, at, n);
    norm(tower, &layer->ln1, h, n, tower->x);
    heads(tower, &layer->q, at, n, tower->q);
    struct glint_op_attention op = {.out = tower->a,
                                    .q = tower->q,
                                    .plane = &tower->plane,
                                    .ref = tower->ref,
                                    .n = n,
                                    .n_head = config->n_head,
                                    .scale = 1.0f / sqrtf((float)config->head_dim)};
    tower->backend->ops.attention(tower->backend, &op);
    multiply(tower, &layer->o.weight, tower->a, n, tower->y);
    add(tower, h, tower->y, layer->o.bias, n);
    norm(tower, &layer->ln2, h, n, tower->x);
    multiply(tower, &layer->up.weight, tower->x, n, tower->wide[0]);
    gelu(tower, tower->wide[0], layer->up.bias, n, config->n_ff);
    multiply(tower, &layer->down.weight, tower->wide[0], n, tower->y);
    add(tower, h, tower->y, layer->down.bias, n);
}

static int chunk(int at, int end) {
    return end - at < GLINT_TOWER_ROWS ? end - at : GLINT_TOWER_ROWS;
}

static enum glint_status run_span(struct tower *tower, const struct glint_vision_layer *layer,
                                  struct span span) {
    for (int at = span.begin, n; at < span.end; at += n) {
        n = chunk(at, span.end);
        store_keys(tower, layer, span, at, n);
        if (at + n < span.end)
            GLINT_TRY(step(tower, 0)); // so that a cancel, or a pause, does not wait for them all
    }
    for (int at = span.begin, n; at < span.end; at += n) {
        n = chunk(at, span.end);
        finish_rows(tower, layer, span, at, n);
        GLINT_TRY(step(tower, n));
    }
    return GLINT_OK;
}

static enum glint_status run_layer(struct tower *tower, int l) {
    const struct glint_vision_layer *layer = &tower->model->layer[l];
    const struct glint_patch_grid *grid = &tower->grid;
    if (glint_vision_is_global(tower->config, l))
        return run_span(tower, layer, (struct span){0, grid->n});
    for (int w = 0; w < grid->n_window; w++)
        GLINT_TRY(run_span(tower, layer, (struct span){grid->window[w], grid->window[w + 1]}));
    return GLINT_OK;
}

// ---- into the tower, and out of it ----------------------------------------------------------

void glint_tower_patch(const struct glint_tower_job *job, int frame, struct glint_patch patch,
                       float *out) {
    const struct glint_vision_config *config = &job->model->config;
    const uint8_t *rgb = frame && job->next ? job->next : job->rgb;
    int side = config->patch;
    for (int c = 0; c < 3; c++) {
        // One rounding less than v / 255 first, and what the official code does.
        float mean = config->mean[c] * 255, std = config->std[c] * 255;
        for (int y = 0; y < side; y++) {
            const uint8_t *v =
                rgb +
                (((int64_t)patch.row * side + y) * job->width + (int64_t)patch.col * side) * 3 + c;
            for (int x = 0; x < side; x++)
                *out++ = ((float)v[3 * x] - mean) / std;
        }
    }
}

// What the kernel is multiplied with: one frame of a still picture, both of a pair, or their mean
// when the file has only the summed kernel.
static void load_patch(struct tower *tower, struct glint_patch patch, float *out) {
    int n_pixel = 3 * tower->config->patch * tower->config->patch;
    glint_tower_patch(tower->job, 0, patch, out);
    if (!tower->job->next)
        return;
    if (tower->model->frames.data) {
        glint_tower_patch(tower->job, 1, patch, out + n_pixel);
        return;
    }
    float *second = tower->host[0] + (int64_t)GLINT_TOWER_ROWS * n_pixel; // behind all rows
    glint_tower_patch(tower->job, 1, patch, second);
    for (int i = 0; i < n_pixel; i++)
        out[i] = (out[i] + second[i]) / 2;
}

static enum glint_status embed(struct tower *tower) {
    const struct glint_vision_config *config = tower->config;
    const struct glint_patch_grid *grid = &tower->grid;
    bool pair = tower->job->next && tower->model->frames.data;
    const struct glint_matrix *kernel = pair ? &tower->model->frames : &tower->model->patch;
    int width = config->width, n_pixel = (int)kernel->n_col;
    for (int at = 0, n; at < grid->n; at += n) {
        n = chunk(at, grid->n);
        float *h = tower->h + (int64_t)at * width;
        for (int i = 0; i < n; i++) {
            struct glint_patch patch = grid->patch[at + i];
            load_patch(tower, patch, tower->host[0] + (int64_t)i * n_pixel);
            glint_patch_position(grid, patch, tower->model->position, width,
                                 tower->host[1] + (int64_t)i * width);
        }
        struct glint_backend *backend = tower->backend;
        backend->upload(backend, tower->wide[0], tower->host[0],
                        (size_t)n * (size_t)n_pixel * sizeof(float));
        backend->upload(backend, tower->y, tower->host[1],
                        (size_t)n * (size_t)width * sizeof(float));
        multiply(tower, kernel, tower->wide[0], n, h);
        add(tower, h, tower->y, NULL, n);
        norm(tower, &tower->model->pre, h, n, h);
        for (int i = 0; i < n; i++)
            glint_patch_turn(grid->patch[at + i], config->head_dim,
                             tower->host[0] + (int64_t)i * config->head_dim);
        backend->upload(backend, tower->turn + (int64_t)at * config->head_dim, tower->host[0],
                        (size_t)n * (size_t)config->head_dim * sizeof(float));
        GLINT_TRY(step(tower, n));
    }
    return GLINT_OK;
}

// Four patches of one token, channel by channel: out[4 c + 2 ry + rx].
static void merge(struct tower *tower, int token, float *out) {
    const struct glint_patch_grid *grid = &tower->grid;
    int width = tower->config->width, per_row = grid->cols / GLINT_VISION_MERGE;
    int row = token / per_row * GLINT_VISION_MERGE, col = token % per_row * GLINT_VISION_MERGE;
    for (int k = 0; k < MERGED; k++) {
        int32_t i = grid->index[(row + k / 2) * grid->cols + col + k % 2];
        tower->backend->download(tower->backend, tower->host[0], tower->h + (int64_t)i * width,
                                 (size_t)width * sizeof(float));
        for (int c = 0; c < width; c++)
            out[MERGED * c + k] = tower->host[0][c];
    }
}

static enum glint_status project(struct tower *tower, int at, int n) {
    const struct glint_tower_job *job = tower->job;
    const struct glint_vision_config *config = tower->config;
    const struct glint_matrix *adapter = tower->model->adapter;
    struct glint_backend *backend = tower->backend;
    size_t width = MERGED * (size_t)config->width, bytes = (size_t)n * width * sizeof(float);
    for (int i = 0; i < n; i++)
        merge(tower, at + i, tower->host[1] + (size_t)i * width);
    if (job->merged)
        memcpy(job->merged + (size_t)at * width, tower->host[1], bytes);
    backend->upload(backend, tower->wide[0], tower->host[1], bytes);
    multiply(tower, &adapter[0], tower->wide[0], n, tower->wide[1]);
    gelu(tower, tower->wide[1], NULL, n, config->n_adapter);
    multiply(tower, &adapter[1], tower->wide[1], n, tower->wide[0]);
    gelu(tower, tower->wide[0], NULL, n, config->n_adapter);
    multiply(tower, &adapter[2], tower->wide[0], n, tower->wide[1]);
    backend->download(backend, job->features + (size_t)at * (size_t)config->n_text, tower->wide[1],
                      (size_t)n * (size_t)config->n_text * sizeof(float));
    return step(tower, (int64_t)n * MERGED);
}

static enum glint_status leave(struct tower *tower) {
    int n_token = tower->grid.n / MERGED;
    for (int at = 0, n; at < tower->grid.n; at += n) {
        n = chunk(at, tower->grid.n);
        float *h = tower->h + (int64_t)at * tower->config->width;
        norm(tower, &tower->model->post, h, n, h);
    }
    GLINT_TRY(tower->backend->sync(tower->backend, tower->err));
    for (int at = 0, n; at < n_token; at += n) {
        n = chunk(at, n_token);
        GLINT_TRY(project(tower, at, n));
    }
    return GLINT_OK;
}

enum glint_status glint_tower_run(const struct glint_tower_job *job, struct glint_error *err) {
    const struct glint_vision_config *config = &job->model->config;
    struct tower tower = {.job = job,
                          .model = job->model,
                          .config = config,
                          .backend = job->model->backend,
                          .err = err};
    GLINT_TRY(glint_patch_grid_init(&tower.grid, job->height / config->patch,
                                    job->width / config->patch, config->side, err));
    tower.total = (int64_t)tower.grid.n * (config->n_layer + 2);
    enum glint_status status =
        take_memory(&tower)
            ? GLINT_OK
            : glint_fail(err, GLINT_E_NOMEM, "no memory for a picture of %d x %d: %llu MB",
                         job->width, job->height,
                         (unsigned long long)(glint_tower_bytes(config, tower.grid.n) >> 20));
    if (status == GLINT_OK)
        status = embed(&tower);
    for (int l = 0; status == GLINT_OK && l < config->n_layer; l++)
        status = run_layer(&tower, l);
    if (status == GLINT_OK)
        status = leave(&tower);
    tower_fini(&tower);
    return status;
}
