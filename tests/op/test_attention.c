// SPDX-License-Identifier: Apache-2.0
// attention and kv_store: scalar against the formula in double, every tier against scalar, and
// the contract: no bit depends on threads, on company in the batch, or on where rows lie.
#include "base/alloc.h"
#include "op/op_fixture.h"
#include "sanitized.h"
#include "tolerance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct scene {
    int n_head, n_head_kv, head_dim;
    enum glint_dtype dtype;
    int32_t window;
    int n_past, n; // positions stored, of which the last n are asked for
    int n_table;   // pages; fewer than the positions need: a ring
    int block;     // of the n, so many rows each see each other; 0: none does
};

// Opened once: [tier][threads - 1].
static struct glint_backend *backends[8][3];

static int open_all(void **state) {
    (void)state;
    const char *tier;
    for (size_t t = 0; (tier = glint_cpu_tier_at(t)) != NULL; t++)
        for (int i = 0; i < 3; i++)
            backends[t][i] = op_open(tier, i + 1);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    for (size_t t = 0; glint_cpu_tier_at(t) != NULL; t++)
        for (int i = 0; i < 3; i++)
            backends[t][i]->close(backends[t][i]);
    return 0;
}

static const struct scene scenes[] = {
    // One row, no past; odd head widths; groups of one, three, sixteen.
    {1, 1, 2, GLINT_DTYPE_F32, 0, 1, 1, 1, 0},
    {3, 1, 10, GLINT_DTYPE_F32, 0, 70, 5, 1, 0},
    {6, 6, 24, GLINT_DTYPE_F16, 0, 63, 63, 1, 0},
    {8, 2, 32, GLINT_DTYPE_F32, 16, 49, 49, 1, 0},
    {32, 2, 128, GLINT_DTYPE_F32, 64, 200, 33, 1, 0},
    {32, 2, 128, GLINT_DTYPE_F16, 0, 1100, 10, 5, 0},
    {32, 2, 128, GLINT_DTYPE_Q8_0, 0, 300, 20, 2, 0},
    {20, 4, 160, GLINT_DTYPE_Q8_0, 0, 129, 3, 1, 0},
    // Many splits, the last of one key.
    {16, 1, 64, GLINT_DTYPE_F16, 0, 4097, 9, 17, 0},
    // A ring that has gone round, window edge inside and on tile borders.
    {32, 2, 128, GLINT_DTYPE_F16, 300, 2000, 11, 3, 0},
    {4, 2, 32, GLINT_DTYPE_F32, 64, 1025, 33, 2, 0},
    {4, 2, 32, GLINT_DTYPE_F32, 1, 300, 9, 2, 0},
    // More heads on one KV head than a block holds.
    {64, 1, 32, GLINT_DTYPE_F16, 0, 90, 4, 1, 0},
    // A drafter's blocks: around the edge of its window, across splits, the last one cut short.
    {8, 2, 64, GLINT_DTYPE_F16, 257, 700, 16, 3, 16},
    {8, 4, 32, GLINT_DTYPE_F32, 17, 69, 16, 1, 16},
    {32, 8, 128, GLINT_DTYPE_F16, 1500, 1030, 16, 5, 16},
    {8, 2, 64, GLINT_DTYPE_F16, 0, 2060, 41, 9, 16},
    // Pictures: rows that all see the same keys.
    {1, 1, 4, GLINT_DTYPE_F32, 0, 3, 3, 1, 3},
    {3, 3, 24, GLINT_DTYPE_F32, 0, 80, 63, 1, 63},
    {16, 16, 96, GLINT_DTYPE_F32, 0, 1100, 61, 5, 61},
    {4, 2, 64, GLINT_DTYPE_F16, 0, 2100, 9, 9, 9},
};
enum {
    N_SCENE = sizeof scenes / sizeof scenes[0],
    SCENE_STEP = GLINT_SANITIZED ? 2 : 1,
    I_LAYER = 1,
    N_LAYER = 3
};

struct stage {
    struct scene scene;
    struct op_plane plane;
    float *k, *v;             // [n_past, n_head_kv, head_dim]
    float *q;                 // [n, n_head, head_dim]
    struct glint_kv_ref *ref; // [n_past]
};

static int64_t q_width(const struct scene *scene) {
    return (int64_t)scene->n_head * scene->head_dim;
}

static int64_t kv_width(const struct scene *scene) {
    return (int64_t)scene->n_head_kv * scene->head_dim;
}

// Rows after row i of the n that it sees.
static int ahead_of(const struct scene *scene, int i) {
    if (scene->block == 0)
        return 0;
    int end = (i / scene->block + 1) * scene->block;
    return (end < scene->n ? end : scene->n) - 1 - i;
}

static void store(struct glint_backend *backend, const struct stage *stage, int begin, int n) {
    struct glint_op_kv_store op = {
        .plane = &stage->plane.plane,
        .i_layer = I_LAYER,
        .k = stage->k + begin * kv_width(&stage->scene),
        .v = stage->v + begin * kv_width(&stage->scene),
        .ref = stage->ref + begin,
        .n = n,
    };
    backend->ops.kv_store(backend, &op);
}

// Values depend on the scene alone, places on `seed`.
static void stage_open(struct stage *stage, const struct scene *scene, uint64_t seed) {
    struct glint_kv_plane shape = {
        .dtype_k = scene->dtype,
        .dtype_v = scene->dtype,
        .n_layer = N_LAYER,
        .n_head_kv = scene->n_head_kv,
        .head_dim = scene->head_dim,
    };
    struct op_random random = {(uint64_t)scene->n_past * 7 + (uint64_t)scene->head_dim};
    stage->scene = *scene;
    op_plane_open(&stage->plane, &shape, scene->n_table, seed);
    size_t n_past = (size_t)scene->n_past;
    stage->k = op_alloc(n_past, (size_t)kv_width(scene) * sizeof(float));
    stage->v = op_alloc(n_past, (size_t)kv_width(scene) * sizeof(float));
    stage->q = op_alloc((size_t)scene->n, (size_t)q_width(scene) * sizeof(float));
    stage->ref = op_alloc(n_past, sizeof *stage->ref);
    op_random_fill(&random, stage->k, (int64_t)n_past * kv_width(scene), 2, false);
    op_random_fill(&random, stage->v, (int64_t)n_past * kv_width(scene), 1, true);
    op_random_fill(&random, stage->q, scene->n * q_width(scene), 4, false);
    for (int i = 0; i < scene->n_past; i++)
        stage->ref[i] = (struct glint_kv_ref){stage->plane.table, i, 0};
    for (int i = 0; i < scene->n; i++)
        stage->ref[scene->n_past - scene->n + i].ahead = ahead_of(scene, i);
    for (int i = 0; i < scene->n_past; i += OP_MAX_ROWS)
        store(backends[0][0], stage, i,
              scene->n_past - i < OP_MAX_ROWS ? scene->n_past - i : OP_MAX_ROWS);
}

static void stage_close(struct stage *stage) {
    op_plane_close(&stage->plane);
    glint_free(stage->k);
    glint_free(stage->v);
    glint_free(stage->q);
    glint_free(stage->ref);
}

static float scale_of(const struct scene *scene) {
    return 1 / sqrtf((float)scene->head_dim);
}

// Rows [begin, begin + n) of the n that the scene asks for.
static void attend(struct glint_backend *backend, const struct stage *stage, int begin, int n,
                   float *out) {
    const struct scene *scene = &stage->scene;
    struct glint_op_attention op = {
        .out = out,
        .q = stage->q + begin * q_width(scene),
        .plane = &stage->plane.plane,
        .i_layer = I_LAYER,
        .ref = stage->ref + scene->n_past - scene->n + begin,
        .n = n,
        .n_head = scene->n_head,
        .window = scene->window,
        .scale = scale_of(scene),
    };
    backend->ops.attention(backend, &op);
}

static float *attend_all(const struct stage *stage, size_t i_tier, int n_threads) {
    const struct scene *scene = &stage->scene;
    float *out = op_alloc((size_t)scene->n, (size_t)q_width(scene) * sizeof(float));
    attend(backends[i_tier][n_threads - 1], stage, 0, scene->n, out);
    return out;
}

// ---- the formula ----------------------------------------------------------------------------

static void read_row(const struct stage *stage, int tensor, int head, int32_t t, float *row) {
    const struct glint_kv_plane *plane = &stage->plane.plane;
    glint_dtype_info((uint32_t)plane->dtype_k)
        ->decode(glint_kv_row(plane, stage->plane.table, I_LAYER, tensor, head, t), row,
                 (size_t)plane->head_dim);
}

static void attend_in_double(const struct stage *stage, int i, int h, float *out) {
    const struct scene *scene = &stage->scene;
    const float *q = stage->q + i * q_width(scene) + (int64_t)h * scene->head_dim;
    int head_kv = h / (scene->n_head / scene->n_head_kv);
    int32_t p = scene->n_past - scene->n + i;
    int32_t first = scene->window > 0 && p >= scene->window ? p - scene->window + 1 : 0;
    p += ahead_of(scene, i);
    double *score = op_alloc((size_t)p + 1, sizeof *score);
    double largest = -INFINITY, total = 0, sum[OP_MAX_DIM] = {0};
    float row[OP_MAX_DIM];
    for (int32_t t = first; t <= p; t++) {
        read_row(stage, 0, head_kv, t, row);
        double dot = 0;
        for (int d = 0; d < scene->head_dim; d++)
            dot += (double)q[d] * row[d];
        score[t - first] = dot * scale_of(scene);
        largest = fmax(largest, score[t - first]);
    }
    for (int32_t t = first; t <= p; t++) {
        double weight = exp(score[t - first] - largest);
        total += weight;
        read_row(stage, 1, head_kv, t, row);
        for (int d = 0; d < scene->head_dim; d++)
            sum[d] += weight * row[d];
    }
    for (int d = 0; d < scene->head_dim; d++)
        out[d] = (float)(sum[d] / total);
    glint_free(score);
}

static void test_scalar_is_the_formula(void **state) {
    (void)state;
    for (int s = 0; s < N_SCENE; s += SCENE_STEP) {
        struct stage stage;
        stage_open(&stage, &scenes[s], 5);
        float *got = attend_all(&stage, 0, 1);
        float want[OP_MAX_DIM];
        for (int i = 0; i < scenes[s].n; i += 3) {
            int h = (i * 5 + 1) % scenes[s].n_head;
            attend_in_double(&stage, i, h, want);
            op_assert_close(got + i * q_width(&scenes[s]) + (int64_t)h * scenes[s].head_dim, want,
                            scenes[s].head_dim, GLINT_TOLERANCE_ATTENTION);
        }
        glint_free(got);
        stage_close(&stage);
    }
}

// ---- tiers and the contract -----------------------------------------------------------------

// Checks one tier and returns its result, which the caller frees.
static float *check_tier(const struct stage *stage, size_t i_tier, const float *scalar) {
    const struct scene *scene = &stage->scene;
    int64_t width = q_width(scene);
    float *alone = op_alloc(1, (size_t)width * sizeof(float));
    float *one = attend_all(stage, i_tier, 1);
    for (int64_t i = 0; i < (int64_t)scene->n * scene->n_head; i++)
        op_assert_close(one + i * scene->head_dim, scalar + i * scene->head_dim, scene->head_dim,
                        GLINT_TOLERANCE_ATTENTION);
    for (int n_threads = GLINT_SANITIZED ? 3 : 2; n_threads <= 3; n_threads++) {
        struct glint_backend *backend = backends[i_tier][n_threads - 1];
        float *many = op_alloc((size_t)scene->n, (size_t)width * sizeof(float));
        attend(backend, stage, 0, scene->n, many);
        op_assert_same_bits(many, one, scene->n * width);
        // A row alone, and a few rows from an odd place on.
        for (int i = 0; i < scene->n; i += 7) {
            attend(backend, stage, i, 1, alone);
            op_assert_same_bits(alone, one + i * width, width);
        }
        int from = scene->n / 3;
        attend(backend, stage, from, scene->n - from, many);
        op_assert_same_bits(many, one + from * width, (scene->n - from) * width);
        glint_free(many);
    }
    glint_free(alone);
    return one;
}

static void test_tiers(void **state) {
    (void)state;
    for (int s = 0; s < N_SCENE; s += SCENE_STEP) {
        struct stage stage;
        stage_open(&stage, &scenes[s], 5);
        float *scalar = attend_all(&stage, 0, 1), *vector = NULL;
        for (size_t i = 0; glint_cpu_tier_at(i) != NULL; i++) {
            float *got = check_tier(&stage, i, scalar);
            // All tiers but scalar do the same operations in the same order.
            if (vector != NULL)
                op_assert_same_bits(got, vector, scenes[s].n * q_width(&scenes[s]));
            glint_free(vector);
            vector = got;
            if (i == 0) {
                glint_free(vector);
                vector = NULL;
            }
        }
        glint_free(vector);
        glint_free(scalar);
        stage_close(&stage);
    }
}

static void test_place_does_not_matter(void **state) {
    (void)state;
    for (int s = 0; s < N_SCENE; s += SCENE_STEP) {
        struct scene roomy = scenes[s];
        roomy.n_table = (roomy.n_past + GLINT_KV_PAGE_ROWS - 1) / GLINT_KV_PAGE_ROWS;
        struct stage there, here;
        stage_open(&there, &scenes[s], 11);
        stage_open(&here, &roomy, 0);
        for (size_t i = 0; glint_cpu_tier_at(i) != NULL; i++) {
            float *a = attend_all(&there, i, 2), *b = attend_all(&here, i, 1);
            op_assert_same_bits(a, b, scenes[s].n * q_width(&scenes[s]));
            glint_free(a);
            glint_free(b);
        }
        stage_close(&there);
        stage_close(&here);
    }
}

// Rows of the batch that come after a row, and rows before its window, hold NaN.
static void test_unseen_keys_are_absent(void **state) {
    (void)state;
    for (int s = 0; s < N_SCENE; s += SCENE_STEP) {
        const struct scene *scene = &scenes[s];
        struct stage stage;
        stage_open(&stage, scene, 3);
        int64_t width = q_width(scene);
        int keep = scene->n / 2;
        for (size_t i = 0; glint_cpu_tier_at(i) != NULL; i++) {
            stage_close(&stage);
            stage_open(&stage, scene, 3);
            float *want = attend_all(&stage, i, 1);
            const struct glint_kv_plane *plane = &stage.plane.plane;
            int32_t p = scene->n_past - scene->n + keep;
            int32_t first = scene->window > 0 && p >= scene->window ? p - scene->window + 1 : 0;
            p += ahead_of(scene, keep);
            int32_t held = scene->n_table * GLINT_KV_PAGE_ROWS;
            for (int32_t t = scene->n_past > held ? scene->n_past - held : 0; t < scene->n_past;
                 t++)
                for (int e = 0; (t < first || t > p) && e < 2 * scene->n_head_kv; e++)
                    memset(glint_kv_row(plane, stage.plane.table, I_LAYER, e % 2, e / 2, t), 0xff,
                           glint_kv_row_bytes(plane, e % 2));
            float *got = attend_all(&stage, i, 1);
            op_assert_same_bits(got + keep * width, want + keep * width, width);
            glint_free(got);
            glint_free(want);
        }
        stage_close(&stage);
    }
}

// Eight sequences in one batch, each at its own depth, against each alone.
static void test_company(void **state) {
    (void)state;
    enum { N_SEQUENCE = 8 };
    struct scene scene = {32, 2, 128, GLINT_DTYPE_F16, 0, 0, 3, 0, 0};
    struct stage stages[N_SEQUENCE];
    struct glint_kv_plane all = {0};
    int64_t width = q_width(&scene);
    float *q = op_alloc(N_SEQUENCE * 3, (size_t)width * sizeof(float));
    float *got = op_alloc(N_SEQUENCE * 3, (size_t)width * sizeof(float));
    struct glint_kv_ref ref[N_SEQUENCE * 3];
    int32_t page[N_SEQUENCE][8];
    for (int s = 0; s < N_SEQUENCE; s++) {
        scene.n_past = 3 + 211 * s;
        scene.n_table = 8;
        stage_open(&stages[s], &scene, (uint64_t)s + 1);
        memcpy(q + s * 3 * width, stages[s].q, (size_t)(3 * width) * sizeof(float));
    }
    // One plane that holds the pages of all.
    all = stages[0].plane.plane;
    all.n_page = N_SEQUENCE * 8;
    all.pages = op_alloc((size_t)all.n_page, all.page_bytes);
    for (int s = 0; s < N_SEQUENCE; s++) {
        memcpy(all.pages + (size_t)s * 8 * all.page_bytes, stages[s].plane.plane.pages,
               8 * all.page_bytes);
        for (int i = 0; i < 8; i++)
            page[s][i] = stages[s].plane.page[i] + s * 8;
        for (int i = 0; i < 3; i++)
            ref[s * 3 + i] = (struct glint_kv_ref){{page[s], 8}, stages[s].scene.n_past - 3 + i, 0};
    }
    for (size_t t = 0; glint_cpu_tier_at(t) != NULL; t++) {
        float *alone[N_SEQUENCE];
        for (int s = 0; s < N_SEQUENCE; s++)
            alone[s] = attend_all(&stages[s], t, 1);
        for (int n_threads = 1; n_threads <= 3; n_threads++) {
            struct glint_backend *backend = backends[t][n_threads - 1];
            struct glint_op_attention op = {.out = got,
                                            .q = q,
                                            .plane = &all,
                                            .i_layer = I_LAYER,
                                            .ref = ref,
                                            .n = N_SEQUENCE * 3,
                                            .n_head = scene.n_head,
                                            .scale = scale_of(&scene)};
            backend->ops.attention(backend, &op);
            for (int s = 0; s < N_SEQUENCE; s++)
                op_assert_same_bits(got + s * 3 * width, alone[s], 3 * width);
        }
        for (int s = 0; s < N_SEQUENCE; s++)
            glint_free(alone[s]);
    }
    for (int s = 0; s < N_SEQUENCE; s++)
        stage_close(&stages[s]);
    glint_free(all.pages);
    glint_free(q);
    glint_free(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar_is_the_formula),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_place_does_not_matter),
        cmocka_unit_test(test_unseen_keys_are_absent),
        cmocka_unit_test(test_company),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
