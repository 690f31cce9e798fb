// SPDX-License-Identifier: Apache-2.0
// The row ops (embed, norms, rotation, gate, swiglu, softcap, add, best, copies, what kv_store
// rounds): each against its formula in double, on every tier, and the contract: a row has the same
// bits alone, in company, at any number of threads, and on every tier but scalar.
#include "base/alloc.h"
#include "base/half.h"
#include "op/op_fixture.h"
#include "tolerance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// One op at one shape: in [n, width] and side values -> out [n, width], on a backend.
struct trial {
    int n, width;
    const float *x, *y; // [n, width]
    const float *gain;  // [width] or NULL
    const float *bias;  // [width] or NULL
};
typedef void (*trial_fn)(struct glint_backend *backend, const struct trial *trial, float *out);
// Value c of row i in double.
typedef double (*formula_fn)(const struct trial *trial, int i, int c);

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

static const float epsilon = 1e-5f;
static const int widths[] = {2, 16, 30, 64, 66, 130, 256, 1030};
enum { N_WIDTH = sizeof widths / sizeof widths[0], N_ROW = 37 };

static size_t bytes(const struct trial *trial) {
    return (size_t)trial->n * (size_t)trial->width * sizeof(float);
}

static struct trial rows_of(const struct trial *trial, int begin, int n) {
    struct trial part = *trial;
    part.n = n;
    part.x += (int64_t)begin * trial->width;
    part.y += (int64_t)begin * trial->width;
    return part;
}

// Errors are held against the row's largest value, or each value's own when `own`.
static void check_values(const struct trial *trial, const float *got, formula_fn formula,
                         double tolerance, bool own) {
    float *want = op_alloc((size_t)trial->width, sizeof *want);
    for (int i = 0; i < trial->n; i++) {
        const float *row = got + (int64_t)i * trial->width;
        for (int c = 0; c < trial->width; c++) {
            want[c] = (float)formula(trial, i, c);
            // Below 1e-34 the exponential has underflowed.
            if (own && fabsf(want[c]) > 1e-34f)
                op_assert_close(row + c, want + c, 1, tolerance);
        }
        op_assert_close(row, want, trial->width, tolerance);
    }
    glint_free(want);
}

static void check_contract(const struct trial *trial, size_t i_tier, trial_fn run,
                           const float *want) {
    float *got = op_alloc(1, bytes(trial));
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        struct glint_backend *backend = backends[i_tier][n_threads - 1];
        run(backend, trial, got);
        op_assert_same_bits(got, want, (int64_t)trial->n * trial->width);
        for (int i = 0; i < trial->n; i += 5) {
            struct trial row = rows_of(trial, i, 1);
            run(backend, &row, got);
            op_assert_same_bits(got, want + (int64_t)i * trial->width, trial->width);
        }
    }
    glint_free(got);
}

static void check_op(const struct trial *trial, trial_fn run, formula_fn formula, double tolerance,
                     bool own) {
    float *vector = op_alloc(1, bytes(trial)), *got = op_alloc(1, bytes(trial));
    for (size_t t = 0; glint_cpu_tier_at(t) != NULL; t++) {
        run(backends[t][0], trial, got);
        check_values(trial, got, formula, tolerance, own);
        check_contract(trial, t, run, got);
        if (t > 1)
            op_assert_same_bits(got, vector, (int64_t)trial->n * trial->width);
        memcpy(vector, got, bytes(trial));
    }
    glint_free(vector);
    glint_free(got);
}

static void check_widths(trial_fn run, formula_fn formula, double tolerance, bool own) {
    for (int i = 0; i < N_WIDTH; i++) {
        struct op_random random = {(uint64_t)i};
        struct trial trial = {.n = N_ROW, .width = widths[i]};
        float *x = op_alloc(1, bytes(&trial)), *y = op_alloc(1, bytes(&trial));
        float *gain = op_alloc((size_t)trial.width, sizeof *gain);
        float *bias = op_alloc((size_t)trial.width, sizeof *bias);
        op_random_fill(&random, x, (int64_t)N_ROW * trial.width, 8, true);
        op_random_fill(&random, y, (int64_t)N_ROW * trial.width, 3, true);
        op_random_fill(&random, gain, trial.width, 2, false);
        op_random_fill(&random, bias, trial.width, 1, false);
        trial.x = x;
        trial.y = y;
        trial.gain = gain;
        trial.bias = bias;
        check_op(&trial, run, formula, tolerance, own);
        trial.gain = trial.bias = NULL;
        check_op(&trial, run, formula, tolerance, own);
        glint_free(x);
        glint_free(y);
        glint_free(gain);
        glint_free(bias);
    }
}

// ---- norms ----------------------------------------------------------------------------------

static double inverse(const float *x, int width) {
    double sum = 0;
    for (int c = 0; c < width; c++)
        sum += (double)x[c] * x[c];
    return 1 / sqrt(sum / width + (double)epsilon);
}

static double gain_of(const struct trial *trial, int c) {
    return trial->gain ? (double)trial->gain[c] : 1;
}

static void run_rms_norm(struct glint_backend *backend, const struct trial *trial, float *out) {
    struct glint_op_rms_norm op = {out, trial->x, trial->gain, epsilon, trial->n, trial->width};
    backend->ops.rms_norm(backend, &op);
}

static void run_rms_norm_in_place(struct glint_backend *backend, const struct trial *trial,
                                  float *out) {
    memcpy(out, trial->x, bytes(trial));
    struct glint_op_rms_norm op = {out, out, trial->gain, epsilon, trial->n, trial->width};
    backend->ops.rms_norm(backend, &op);
}

static double rms_norm(const struct trial *trial, int i, int c) {
    const float *x = trial->x + (int64_t)i * trial->width;
    return x[c] * inverse(x, trial->width) * gain_of(trial, c);
}

static void run_add_rms_norm(struct glint_backend *backend, const struct trial *trial, float *out) {
    memcpy(out, trial->y, bytes(trial));
    static float one[OP_MAX_COL];
    for (int c = 0; c < trial->width; c++)
        one[c] = 1;
    struct glint_op_add_rms_norm op = {out,     trial->x, trial->gain ? trial->gain : one,
                                       epsilon, trial->n, trial->width};
    backend->ops.add_rms_norm(backend, &op);
}

static double add_rms_norm(const struct trial *trial, int i, int c) {
    const float *x = trial->x + (int64_t)i * trial->width;
    return trial->y[(int64_t)i * trial->width + c] +
           x[c] * inverse(x, trial->width) * gain_of(trial, c);
}

static void test_norms(void **state) {
    (void)state;
    check_widths(run_rms_norm, rms_norm, GLINT_TOLERANCE_NORM, false);
    check_widths(run_rms_norm_in_place, rms_norm, GLINT_TOLERANCE_NORM, false);
    check_widths(run_add_rms_norm, add_rms_norm, GLINT_TOLERANCE_NORM, false);
}

static double bias_of(const struct trial *trial, int c) {
    return trial->bias ? (double)trial->bias[c] : 0;
}

static void run_layer_norm(struct glint_backend *backend, const struct trial *trial, float *out) {
    static float one[OP_MAX_COL], zero[OP_MAX_COL];
    for (int c = 0; c < trial->width; c++)
        one[c] = 1;
    struct glint_op_layer_norm op = {.out = out,
                                     .x = trial->x,
                                     .gain = trial->gain ? trial->gain : one,
                                     .bias = trial->bias ? trial->bias : zero,
                                     .epsilon = epsilon,
                                     .n = trial->n,
                                     .width = trial->width};
    backend->ops.layer_norm(backend, &op);
}

static double layer_norm(const struct trial *trial, int i, int c) {
    const float *x = trial->x + (int64_t)i * trial->width;
    double mean = 0, squares = 0;
    for (int k = 0; k < trial->width; k++)
        mean += (double)x[k] / trial->width;
    for (int k = 0; k < trial->width; k++)
        squares += (x[k] - mean) * (x[k] - mean);
    double scale = gain_of(trial, c) / sqrt(squares / trial->width + (double)epsilon);
    return (x[c] - mean) * scale + bias_of(trial, c);
}

static void run_add(struct glint_backend *backend, const struct trial *trial, float *out) {
    memcpy(out, trial->x, bytes(trial));
    struct glint_op_add op = {out, trial->bias ? trial->y : NULL, trial->bias, trial->n,
                              trial->width};
    backend->ops.add(backend, &op);
}

static double add(const struct trial *trial, int i, int c) {
    int64_t at = (int64_t)i * trial->width + c;
    return (double)trial->x[at] + (trial->bias ? (double)trial->y[at] : 0) + bias_of(trial, c);
}

static void test_norms_of_pictures(void **state) {
    (void)state;
    check_widths(run_layer_norm, layer_norm, GLINT_TOLERANCE_NORM, false);
    check_widths(run_add, add, GLINT_TOLERANCE_NORM, false);
}

// ---- functions of single values -------------------------------------------------------------

static void run_gate(struct glint_backend *backend, const struct trial *trial, float *out) {
    memcpy(out, trial->x, bytes(trial));
    struct glint_op_gate op = {out, trial->y, (int64_t)trial->n * trial->width};
    backend->ops.gate(backend, &op);
}

static double gate(const struct trial *trial, int i, int c) {
    int64_t at = (int64_t)i * trial->width + c;
    return trial->x[at] / (1 + exp(-(double)trial->y[at]));
}

static void run_swiglu(struct glint_backend *backend, const struct trial *trial, float *out) {
    memcpy(out, trial->y, bytes(trial));
    struct glint_op_swiglu op = {out, trial->x, (int64_t)trial->n * trial->width};
    backend->ops.swiglu(backend, &op);
}

static double swiglu(const struct trial *trial, int i, int c) {
    int64_t at = (int64_t)i * trial->width + c;
    double g = trial->y[at];
    return g / (1 + exp(-g)) * trial->x[at];
}

static void run_softcap(struct glint_backend *backend, const struct trial *trial, float *out) {
    memcpy(out, trial->x, bytes(trial));
    struct glint_op_softcap op = {out, (int64_t)trial->n * trial->width, 0.19611613f, 20};
    backend->ops.softcap(backend, &op);
}

static double softcap(const struct trial *trial, int i, int c) {
    return 20 * tanh((double)trial->x[(int64_t)i * trial->width + c] * 0.19611613f / 20);
}

static void run_gelu(struct glint_backend *backend, const struct trial *trial, float *out) {
    memcpy(out, trial->x, bytes(trial));
    struct glint_op_gelu op = {out, trial->bias, trial->n, trial->width};
    backend->ops.gelu(backend, &op);
}

static double gelu_of(double z) {
    return z / 2 * erfc(-z / sqrt(2));
}

// x + gelu(x + bias): far below 0 the function vanishes, and so would the scale of a row.
static void run_gelu_and_add(struct glint_backend *backend, const struct trial *trial, float *out) {
    run_gelu(backend, trial, out);
    struct glint_op_add op = {out, trial->x, NULL, trial->n, trial->width};
    backend->ops.add(backend, &op);
}

static double gelu_and_add(const struct trial *trial, int i, int c) {
    double x = (double)trial->x[(int64_t)i * trial->width + c];
    return x + gelu_of(x + bias_of(trial, c));
}

// Against the argument's own size: near 0 and far on either side.
static void test_gelu(void **state) {
    (void)state;
    enum { N = 40000 };
    check_widths(run_gelu_and_add, gelu_and_add, GLINT_TOLERANCE_NORM, false);
    float *x = op_alloc(N, sizeof *x), *got = op_alloc(N, sizeof *got);
    for (int i = 0; i < N; i++)
        x[i] =
            i % 2 ? (float)(i - N / 2) / 2000 : (float)(i % 4 - 1) * powf(2, (float)i / 500 - 40);
    struct trial trial = {1, N, x, x, NULL, NULL};
    for (size_t t = 0; glint_cpu_tier_at(t) != NULL; t++) {
        run_gelu(backends[t][0], &trial, got);
        for (int i = 0; i < N; i++)
            if (!(fabs((double)got[i] - gelu_of((double)x[i])) <=
                  GLINT_TOLERANCE_GELU * fabs((double)x[i])))
                fail_msg("gelu(%a) is %a, expected %a", (double)x[i], (double)got[i],
                         gelu_of((double)x[i]));
    }
    glint_free(x);
    glint_free(got);
}

static void test_functions(void **state) {
    (void)state;
    check_widths(run_gate, gate, GLINT_TOLERANCE_SIGMOID, true);
    check_widths(run_swiglu, swiglu, GLINT_TOLERANCE_SIGMOID, true);
    check_widths(run_softcap, softcap, GLINT_TOLERANCE_SOFTCAP, true);
}

// Far arguments, and every magnitude on the way there.
static void test_functions_over_the_whole_range(void **state) {
    (void)state;
    enum { N = 4000 };
    float *x = op_alloc(N, sizeof *x), *y = op_alloc(N, sizeof *y);
    for (int i = 0; i < N; i++) {
        y[i] = (float)(i % 2 ? -1 : 1) * powf(2, (float)i / N * 36 - 30); // 2^-30 .. 64
        x[i] = 1;
    }
    struct trial trial = {1, N, x, y, NULL, NULL};
    check_op(&trial, run_gate, gate, GLINT_TOLERANCE_SIGMOID, true);
    check_op(&trial, run_swiglu, swiglu, GLINT_TOLERANCE_SIGMOID, true);
    trial.x = y;
    check_op(&trial, run_softcap, softcap, GLINT_TOLERANCE_SOFTCAP, true);
    glint_free(x);
    glint_free(y);
}

static void test_special_values(void **state) {
    (void)state;
    const char *tier;
    for (size_t t = 0; (tier = glint_cpu_tier_at(t)) != NULL; t++) {
        struct glint_backend *backend = op_open(tier, 1);
        float a[4] = {1, 1, 1, 1}, g[4] = {INFINITY, -INFINITY, NAN, -200};
        struct glint_op_gate gates = {a, g, 4};
        backend->ops.gate(backend, &gates);
        assert_true(a[0] == 1 && a[1] == 0 && isnan(a[2]) && a[3] >= 0 && a[3] < 1e-37f);
        float x[5] = {INFINITY, -INFINITY, NAN, 0, -0.0f};
        struct glint_op_softcap cap = {x, 5, 1, 20};
        backend->ops.softcap(backend, &cap);
        assert_true(x[0] == 20 && x[1] == -20 && isnan(x[2]) && x[3] == 0 && signbit(x[4]));
        backend->close(backend);
    }
}

// ---- heads ----------------------------------------------------------------------------------

enum { N_HEAD = 6 };
static float frequency[OP_MAX_DIM / 2];
static int32_t place[N_ROW];

// Row of the trial: N_HEAD heads; y[i][0] is the position.
static void run_heads(struct glint_backend *backend, const struct trial *trial, float *out,
                      const float *inv_freq, bool halves) {
    int32_t position[N_ROW];
    for (int i = 0; i < trial->n; i++)
        position[i] = (int32_t)trial->y[(int64_t)i * trial->width];
    memcpy(out, trial->x, bytes(trial));
    struct glint_op_head_norm_rope op = {
        .x = out,
        .gain = trial->gain,
        .inv_freq = inv_freq,
        .position = position,
        .epsilon = epsilon,
        .n = trial->n,
        .n_head = N_HEAD,
        .head_dim = trial->width / N_HEAD,
        .halves = halves,
    };
    backend->ops.head_norm_rope(backend, &op);
}

static void run_turned(struct glint_backend *backend, const struct trial *trial, float *out) {
    run_heads(backend, trial, out, frequency, false);
}

static void run_turned_halves(struct glint_backend *backend, const struct trial *trial,
                              float *out) {
    run_heads(backend, trial, out, frequency, true);
}

static void run_straight(struct glint_backend *backend, const struct trial *trial, float *out) {
    run_heads(backend, trial, out, NULL, false);
}

static double straight(const struct trial *trial, int i, int c) {
    int dim = trial->width / N_HEAD;
    const float *head = trial->x + (int64_t)i * trial->width + c / dim * dim;
    return head[c % dim] * inverse(head, dim) * gain_of(trial, c % dim);
}

static double turned(const struct trial *trial, int i, int c) {
    int dim = trial->width / N_HEAD;
    float angle = (float)place[i] * frequency[c % dim / 2];
    double a = straight(trial, i, c / 2 * 2), b = straight(trial, i, c / 2 * 2 + 1);
    return c % 2 ? b * cos(angle) + a * sin(angle) : a * cos(angle) - b * sin(angle);
}

static double turned_halves(const struct trial *trial, int i, int c) {
    int dim = trial->width / N_HEAD, half = dim / 2, pair = c % half;
    float angle = (float)place[i] * frequency[pair];
    int low = c / dim * dim + pair;
    double a = straight(trial, i, low), b = straight(trial, i, low + half);
    return c % dim < half ? a * cos(angle) - b * sin(angle) : b * cos(angle) + a * sin(angle);
}

// The same angles from a table: no norm.
static void run_rotate(struct glint_backend *backend, const struct trial *trial, float *out) {
    int dim = trial->width / N_HEAD;
    float *turn = op_alloc((size_t)trial->n, (size_t)dim * sizeof *turn);
    memcpy(out, trial->x, bytes(trial));
    for (int i = 0; i < trial->n * dim / 2; i++) {
        double angle = (double)trial->y[(int64_t)(i / (dim / 2)) * trial->width] * (i % (dim / 2));
        turn[2 * i] = (float)cos(angle);
        turn[2 * i + 1] = (float)sin(angle);
    }
    struct glint_op_rotate op = {out, turn, trial->n, N_HEAD, dim};
    backend->ops.rotate(backend, &op);
    glint_free(turn);
}

static double rotated(const struct trial *trial, int i, int c) {
    int dim = trial->width / N_HEAD;
    const float *x = trial->x + (int64_t)i * trial->width + c / 2 * 2;
    double angle = (double)trial->y[(int64_t)i * trial->width] * (c % dim / 2);
    return c % 2 ? (double)x[1] * cos(angle) + (double)x[0] * sin(angle)
                 : (double)x[0] * cos(angle) - (double)x[1] * sin(angle);
}

static void test_heads(void **state) {
    (void)state;
    static const int dims[] = {2, 10, 16, 32, 66, 128, 160};
    for (size_t k = 0; k < sizeof dims / sizeof dims[0]; k++) {
        struct op_random random = {k};
        struct trial trial = {.n = N_ROW, .width = N_HEAD * dims[k]};
        float *x = op_alloc(1, bytes(&trial)), *y = op_alloc(1, bytes(&trial));
        float *gain = op_alloc((size_t)dims[k], sizeof *gain);
        op_random_fill(&random, x, (int64_t)N_ROW * trial.width, 8, false);
        op_random_fill(&random, gain, dims[k], 4, false);
        for (int i = 0; i < dims[k] / 2; i++)
            frequency[i] = powf(500000, -2.0f * (float)i / (float)dims[k]);
        for (int i = 0; i < N_ROW; i++) {
            place[i] = (int32_t)(op_random_next(&random) % 131072);
            y[(int64_t)i * trial.width] = (float)place[i];
        }
        trial.x = x;
        trial.y = y;
        trial.gain = gain;
        check_op(&trial, run_turned, turned, GLINT_TOLERANCE_NORM, false);
        check_op(&trial, run_turned_halves, turned_halves, GLINT_TOLERANCE_NORM, false);
        check_op(&trial, run_straight, straight, GLINT_TOLERANCE_NORM, false);
        check_op(&trial, run_rotate, rotated, GLINT_TOLERANCE_NORM, false);
        glint_free(x);
        glint_free(y);
        glint_free(gain);
    }
}

// The angles of a row are remembered: another position or another base must replace them.
static void test_angles_are_not_stale(void **state) {
    (void)state;
    struct glint_backend *backend = op_open(NULL, 1), *fresh;
    float gain[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    float inv_freq[2][4] = {{1, 0.5f, 0.25f, 0.125f}, {1, 0.1f, 0.01f, 0.001f}};
    for (int i = 0; i < 8; i++) {
        float got[8] = {1, 2, 3, 4, 5, 6, 7, 8}, want[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        int32_t position = i / 4 * 5 + i % 2;
        struct glint_op_head_norm_rope op = {
            got, gain, inv_freq[i / 2 % 2], &position, epsilon, 1, 1, 8, false};
        backend->ops.head_norm_rope(backend, &op);
        fresh = op_open(NULL, 1);
        op.x = want;
        fresh->ops.head_norm_rope(fresh, &op);
        fresh->close(fresh);
        op_assert_same_bits(got, want, 8);
    }
    backend->close(backend);
}

// ---- rows of tables -------------------------------------------------------------------------

static void test_embed(void **state) {
    (void)state;
    enum { N_VOCAB = 11, N_COL = 256 };
    struct op_random random = {1};
    float *value = op_alloc(N_VOCAB * N_COL, sizeof *value);
    float *want = op_alloc(N_COL, sizeof *want), *got = op_alloc(N_ROW * N_COL, sizeof *got);
    int32_t id[N_ROW];
    op_random_fill(&random, value, N_VOCAB * N_COL, 1, true);
    for (int i = 0; i < N_ROW; i++)
        id[i] = (int32_t)(op_random_next(&random) % N_VOCAB);
    const struct glint_dtype_info *info;
    for (size_t k = 0; (info = glint_dtype_at(k)) != NULL; k++) {
        size_t row_bytes = glint_dtype_bytes(info->dtype, N_COL);
        char *data = op_alloc(N_VOCAB, row_bytes);
        info->encode(value, NULL, data, (size_t)N_VOCAB * N_COL);
        struct glint_matrix table = {data, info->dtype, N_VOCAB, N_COL, row_bytes};
        struct glint_op_embed op = {got, &table, id, N_ROW};
        struct glint_backend *backend = op_open(NULL, 2);
        backend->ops.embed(backend, &op);
        backend->close(backend);
        for (int i = 0; i < N_ROW; i++) {
            info->decode(data + (size_t)id[i] * row_bytes, want, N_COL);
            op_assert_same_bits(got + i * N_COL, want, N_COL);
        }
        glint_free(data);
    }
    glint_free(value);
    glint_free(want);
    glint_free(got);
}

static void test_copy_rows(void **state) {
    (void)state;
    enum { WIDTH = 5, X = 7, OUT = 11 };
    float x[N_ROW * X], out[N_ROW * OUT];
    for (int i = 0; i < N_ROW * X; i++)
        x[i] = (float)i;
    memset(out, 0, sizeof out);
    struct glint_op_copy_rows op = {out + 2, x + 1, N_ROW, WIDTH, OUT, X};
    backends[0][1]->ops.copy_rows(backends[0][1], &op);
    for (int i = 0; i < N_ROW; i++)
        for (int c = 0; c < OUT; c++)
            assert_true(out[i * OUT + c] ==
                        (c < 2 || c >= 2 + WIDTH ? 0 : (float)(i * X + 1 + c - 2)));
}

// The lowest of the largest, wherever it stands; NaN never wins.
static void test_best(void **state) {
    (void)state;
    for (int w = 0; w < N_WIDTH; w++) {
        int width = widths[w];
        float *x = op_alloc((size_t)N_ROW * (size_t)width, sizeof *x);
        int32_t got[N_ROW], want[N_ROW];
        struct op_random random = {(uint64_t)w};
        op_random_fill(&random, x, (int64_t)N_ROW * width, 8, false);
        for (int i = 0; i < N_ROW; i++) {
            float *row = x + (int64_t)i * width;
            want[i] = (int32_t)(op_random_next(&random) % (uint32_t)width);
            row[width - 1] = 9; // a tie, later
            row[0] = i % 2 ? NAN : -INFINITY;
            row[want[i]] = 9;
        }
        for (size_t t = 0; glint_cpu_tier_at(t) != NULL; t++)
            for (int n_threads = 1; n_threads <= 3; n_threads++) {
                struct glint_backend *backend = backends[t][n_threads - 1];
                struct glint_op_best op = {got, x, N_ROW, width};
                backend->ops.best(backend, &op);
                assert_memory_equal(got, want, sizeof got);
            }
        glint_free(x);
    }
}

static void encode_row(enum glint_dtype dtype, const float *row, char *to, int n) {
    if (dtype != GLINT_DTYPE_F16) {
        glint_dtype_info((uint32_t)dtype)->encode(row, NULL, to, (size_t)n);
        return;
    }
    for (int i = 0; i < n; i++) {
        uint16_t half = glint_half_from_float(row[i]);
        memcpy(to + (size_t)i * sizeof half, &half, sizeof half);
    }
}

// Every tier stores the same bytes; F16 ones are the nearest halves, ties to even.
static void test_kv_store_bytes(void **state) {
    (void)state;
    static const enum glint_dtype dtypes[] = {GLINT_DTYPE_F32, GLINT_DTYPE_F16, GLINT_DTYPE_Q8_0};
    enum { DIM = 96, N_KV = 2, WIDTH = DIM * N_KV };
    static float k[N_ROW * WIDTH], v[N_ROW * WIDTH];
    struct op_random random = {9};
    op_random_fill(&random, k, N_ROW * WIDTH, 1e-3f, true);
    op_random_fill(&random, v, N_ROW * WIDTH, 3, true);
    k[0] = 65519.996f;   // the last float that is a finite half
    k[1] = 65520;        // the first that is not
    k[2] = -0x1.8p-25f;  // between the two smallest halves
    k[3] = 1 + 0x1p-11f; // a tie, to even: down
    k[4] = 1 + 0x3p-11f; // a tie, to even: up
    for (size_t d = 0; d < 3; d++) {
        struct glint_kv_plane shape = {dtypes[d], dtypes[d], 2, N_KV, DIM, NULL, 0, 0};
        const char *tier;
        for (size_t t = 0; (tier = glint_cpu_tier_at(t)) != NULL; t++) {
            struct op_plane plane;
            op_plane_open(&plane, &shape, 1, 0);
            struct glint_kv_ref ref[N_ROW];
            for (int i = 0; i < N_ROW; i++)
                ref[i] = (struct glint_kv_ref){plane.table, i + 100, 0};
            struct glint_backend *backend = op_open(tier, 2);
            if (d == 2) // a block of 32 has one scale: keep it finite
                k[0] = k[1] = 1;
            struct glint_op_kv_store op = {&plane.plane, 1, k, v, ref, N_ROW};
            backend->ops.kv_store(backend, &op);
            backend->close(backend);
            char want[DIM * sizeof(float)];
            for (int i = 0; i < N_ROW * N_KV * 2; i++) {
                encode_row(dtypes[d], (i % 2 ? v : k) + i / 2 * DIM, want, DIM);
                assert_memory_equal(glint_kv_row(&plane.plane, plane.table, 1, i % 2, i / 2 % N_KV,
                                                 i / 2 / N_KV + 100),
                                    want, glint_dtype_bytes(dtypes[d], DIM));
            }
            op_plane_close(&plane);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_norms_of_pictures),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_functions_over_the_whole_range),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_angles_are_not_stale),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_copy_rows),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_kv_store_bytes),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
