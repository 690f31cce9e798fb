// SPDX-License-Identifier: Apache-2.0
// test_cuda_ops.c — every op of the CUDA backend against the CPU's scalar tier, within the bounds
// of docs/numerics.md, and the contract: no bit depends on the number of rows, on company in the
// batch, on where cache rows lie, or on whether a step comes as launches or as a graph.
// On the emulator it runs in every build ("small": what a processor does in a few seconds);
// tools/cuda_check.sh runs it on a device, where "large" adds the model's own shapes.
#include "base/alloc.h"
#include "base/half.h"
#include "cuda/cuda.h"
#include "op/op_fixture.h"
#include "tolerance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ROWS = 640 };

static bool small, large;
static struct glint_backend *cuda, *cpu;

static int open_both(void **state) {
    (void)state;
    struct glint_backend_limits limits = {MAX_ROWS, large ? 19968 : 4096, OP_MAX_HEAD,
                                          OP_MAX_CONTEXT, OP_MAX_DIM};
    struct glint_error err = {0};
    if (glint_cuda_open(&cuda, &(struct glint_cuda_params){0, limits}, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    struct glint_cpu_params params = {.n_threads = 2, .tier = "scalar", .limits = limits};
    if (glint_cpu_open(&cpu, &params, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int close_both(void **state) {
    (void)state;
    cuda->close(cuda);
    cpu->close(cpu);
    return 0;
}

// ---- device memory --------------------------------------------------------------------------

static void wait_for_device(void) {
    struct glint_error err = {0};
    if (cuda->sync(cuda, &err) != GLINT_OK)
        fail_msg("%s", err.text);
}

static void *put(const void *host, size_t bytes) {
    void *device = cuda->alloc(cuda, bytes);
    assert_non_null(device);
    cuda->upload(cuda, device, host, bytes);
    return device;
}

static float *put_floats(const float *host, int64_t n) {
    return put(host, (size_t)n * sizeof *host);
}

static void take(void *host, void *device, size_t bytes) {
    cuda->download(cuda, host, device, bytes);
    wait_for_device();
    cuda->free(cuda, device);
}

static float *random_floats(struct op_random *random, int64_t n, float scale, bool heavy) {
    float *x = op_alloc((size_t)n, sizeof *x);
    op_random_fill(random, x, n, scale, heavy);
    return x;
}

static void test_memory(void **state) {
    (void)state;
    char back[100] = {1};
    char *block = cuda->alloc(cuda, 100);
    assert_non_null(block);
    cuda->download(cuda, back, block, 100);
    wait_for_device();
    for (int i = 0; i < 100; i++)
        assert_int_equal(back[i], 0);
    cuda->upload(cuda, block, "glint", 6);
    cuda->download(cuda, back, block, 100);
    wait_for_device();
    assert_string_equal(back, "glint");
    cuda->upload(cuda, block, NULL, 0);
    cuda->download(cuda, NULL, block, 0);
    cuda->free(cuda, block);
    cuda->free(cuda, NULL);
    assert_null(cuda->alloc(cuda, SIZE_MAX / 2));
    wait_for_device(); // no memory is no broken device
}

// ---- products -------------------------------------------------------------------------------

struct product {
    const struct glint_dtype_info *info;
    struct glint_matrix host, device;
    float *x, *x_device; // [n, n_col]
    int n;
    bool exact;
};

// Any bits for codes and packed scales, factors of a modest size: reaches what no encoder writes.
static void fill_wild(const struct product *product, char *bytes, struct op_random *random) {
    size_t n_block = (size_t)(product->host.n_row * product->host.n_col) / product->info->block_len;
    for (size_t b = 0; b < n_block; b++) {
        uint8_t *block = (uint8_t *)bytes + b * product->info->block_bytes;
        float value[256];
        bool tame;
        do {
            for (size_t i = 0; i < product->info->block_bytes; i++)
                block[i] = (uint8_t)op_random_next(random);
            product->info->decode(block, value, product->info->block_len);
            tame = true;
            for (uint32_t i = 0; i < product->info->block_len; i++)
                tame = tame && fabsf(value[i]) < 1e6f;
        } while (!tame);
    }
}

static struct product product_open(const struct glint_dtype_info *info, int64_t n_row,
                                   int64_t n_col, int n, uint64_t seed) {
    struct product product = {.info = info, .n = n};
    struct op_random random = {seed};
    size_t row_bytes = glint_dtype_bytes(info->dtype, (uint64_t)n_col);
    char *bytes = op_alloc((size_t)n_row, row_bytes);
    product.host = (struct glint_matrix){bytes, info->dtype, n_row, n_col, row_bytes};
    if (seed % 2 == 1 && !info->is_float) {
        fill_wild(&product, bytes, &random);
    } else {
        float *values = op_alloc((size_t)n_col, sizeof *values);
        for (int64_t r = 0; r < n_row; r++) {
            op_random_fill(&random, values, n_col, 0.05f, r % 2 == 1);
            info->encode(values, NULL, bytes + (size_t)r * row_bytes, (size_t)n_col);
        }
        glint_free(values);
    }
    product.device = product.host;
    struct glint_error err = {0};
    if (cuda->bind(cuda, &product.device, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    product.x = op_alloc((size_t)n * (size_t)n_col, sizeof(float));
    for (int t = 0; t < n; t++)
        op_random_fill(&random, product.x + t * n_col, n_col, t % 5 == 3 ? 1e-3f : 4, t % 3 == 1);
    product.x_device = put_floats(product.x, n * n_col);
    return product;
}

static void product_close(struct product *product) {
    glint_free((void *)product->host.data);
    glint_free(product->x);
    cuda->free(cuda, product->x_device);
}

// Rows [begin, begin + n) on the device.
static float *multiply(const struct product *product, int begin, int n) {
    int64_t count = n * product->host.n_row;
    float *out = op_alloc((size_t)count, sizeof *out);
    memset(out, 0xff, (size_t)count * sizeof *out);
    float *device = put_floats(out, count);
    cuda->ops.matmul(cuda,
                     &(struct glint_op_matmul){.x = product->x_device + begin * product->host.n_col,
                                               .n = n,
                                               .n_matrix = 1,
                                               .w = {&product->device},
                                               .out = {device},
                                               .exact = product->exact});
    take(out, device, (size_t)count * sizeof *out);
    return out;
}

static void assert_near_double(const struct product *product, const float *out) {
    const struct glint_matrix *w = &product->host;
    bool rounded = !product->exact && !product->info->is_float;
    double limit = rounded ? GLINT_TOLERANCE_MATMUL_HALF : GLINT_TOLERANCE_MATMUL_FLOAT;
    float *row = op_alloc((size_t)w->n_col, sizeof *row);
    for (int64_t r = 0; r < w->n_row; r++) {
        product->info->decode((const char *)w->data + (size_t)r * w->row_bytes, row,
                              (size_t)w->n_col);
        for (int t = 0; t<product->n; t += product->n> 64 ? 37 : 1) {
            const float *x = product->x + t * w->n_col;
            double sum = 0, ww = 0, xx = 0;
            for (int64_t c = 0; c < w->n_col; c++) {
                sum += (double)row[c] * x[c];
                ww += (double)row[c] * row[c];
                xx += (double)x[c] * x[c];
            }
            double error = fabs(out[t * w->n_row + r] - sum) / (sqrt(ww * xx) + 1e-30);
            if (!(error <= limit))
                fail_msg("%s %ldx%ld: row %ld of x %d: got %g, want %g, error %g",
                         product->info->name, (long)w->n_row, (long)w->n_col, (long)r, t,
                         (double)out[t * w->n_row + r], sum, error);
        }
    }
    glint_free(row);
}

// The float32 path has the bits of the CPU.
static void assert_as_on_cpu(const struct product *product, const float *out) {
    int64_t count = product->n * product->host.n_row;
    float *want = op_alloc((size_t)count, sizeof *want);
    cpu->ops.matmul(cpu, &(struct glint_op_matmul){.x = product->x,
                                                   .n = product->n,
                                                   .n_matrix = 1,
                                                   .w = {&product->host},
                                                   .out = {want},
                                                   .exact = true});
    op_assert_same_bits(out, want, count);
    glint_free(want);
}

static void check_product(const struct product *product) {
    static const int counts[] = {1, 2, 7, 8, 9, 16, 17, 32, 33, 100, 128, 129};
    float *whole = multiply(product, 0, product->n);
    assert_near_double(product, whole);
    if (product->exact || product->info->is_float)
        assert_as_on_cpu(product, whole);
    for (size_t k = 0; k < sizeof counts / sizeof *counts && counts[k] <= product->n; k++) {
        if (small && k % 3 != 0)
            continue;
        int begin = product->n - counts[k];
        float *part = multiply(product, begin, counts[k]);
        op_assert_same_bits(part, whole + begin * product->host.n_row,
                            counts[k] * product->host.n_row);
        glint_free(part);
    }
    glint_free(whole);
}

static void check_shape(const struct glint_dtype_info *info, int64_t n_row, int64_t n_col, int n) {
    for (int kind = 0; kind < (info->is_float ? 1 : 3); kind++) {
        uint64_t seed = 2 * (uint64_t)(n_row * 8192 + n_col) + (kind == 1);
        struct product product = product_open(info, n_row, n_col, n, seed);
        product.exact = kind == 2;
        check_product(&product);
        product_close(&product);
    }
}

static void test_products(void **state) {
    (void)state;
    static const struct {
        int64_t n_row, n_col; // columns rounded up to the block length
        int n;
    } shape[] = {{1, 1, 3}, {19, 33, 17}, {33, 2336, 9}, {130, 300, 34}};
    const struct glint_dtype_info *info;
    for (size_t i = 0; (info = glint_dtype_at(i)) != NULL; i++)
        for (size_t k = 0; k < (small ? 2 : sizeof shape / sizeof *shape); k++) {
            int64_t block = info->block_len;
            int64_t n_col = (shape[k].n_col + block - 1) / block * block;
            check_shape(info, shape[k].n_row, n_col, shape[k].n);
        }
    check_shape(glint_dtype_info(GLINT_DTYPE_Q4_K), 20, 2304, small ? 34 : MAX_ROWS);
    for (size_t i = 0; large && (info = glint_dtype_at(i)) != NULL; i++) {
        check_shape(info, 200, 6656, 150);
        check_shape(info, 50, 19968, 33);
    }
}

// Four matrices of different types and heights share x; each gives the bits it gives alone.
static void test_shared_x(void **state) {
    (void)state;
    static const enum glint_dtype dtype[4] = {GLINT_DTYPE_Q4_K, GLINT_DTYPE_Q6_K, GLINT_DTYPE_BF16,
                                              GLINT_DTYPE_Q8_0};
    for (int n = 6; n < (small ? 7 : 100); n += 60) {
        struct product product[4];
        struct glint_op_matmul op = {.n = n, .n_matrix = 4};
        for (int m = 0; m < 4; m++) {
            product[m] =
                product_open(glint_dtype_info(dtype[m]), 40 + 30 * m, 512, n, 2 * (uint64_t)m);
            op.w[m] = &product[m].device;
            op.out[m] = cuda->alloc(cuda, (size_t)(n * product[m].host.n_row) * sizeof(float));
        }
        op.x = product[0].x_device;
        cuda->ops.matmul(cuda, &op);
        wait_for_device();
        for (int m = 0; m < 4; m++) {
            int64_t count = n * product[m].host.n_row;
            float *got = op_alloc((size_t)count, sizeof *got);
            take(got, op.out[m], (size_t)count * sizeof *got);
            cuda->upload(cuda, product[m].x_device, product[0].x, (size_t)n * 512 * sizeof *got);
            float *alone = multiply(&product[m], 0, n);
            op_assert_same_bits(got, alone, count);
            glint_free(alone);
            glint_free(got);
        }
        for (int m = 0; m < 4; m++)
            product_close(&product[m]);
    }
}

// A value that is not a number is not lost, nor spread to other rows; tiny rows give zeros.
static void test_odd_values(void **state) {
    (void)state;
    for (int n = 4; n < (small ? 5 : 200); n += 36) {
        struct product product = product_open(glint_dtype_info(GLINT_DTYPE_Q6_K), 20, 256, n, 8);
        product.x[0 * 256 + 77] = NAN;
        product.x[1 * 256 + 0] = INFINITY;
        for (int c = 0; c < 256; c++)
            product.x[2 * 256 + c] = 1e-44f;
        cuda->upload(cuda, product.x_device, product.x, (size_t)n * 256 * sizeof(float));
        float *out = multiply(&product, 0, n);
        for (int r = 0; r < 20; r++) {
            assert_true(isnan(out[r]));
            assert_true(isnan(out[20 + r]));
            assert_true(out[40 + r] == 0);
            assert_true(isfinite(out[60 + r]));
        }
        glint_free(out);
        product_close(&product);
    }
}

// ---- rows -----------------------------------------------------------------------------------

static void test_embed(void **state) {
    (void)state;
    static const int32_t id[] = {3, 0, 40, 17, 3};
    const struct glint_dtype_info *info;
    for (size_t i = 0; (info = glint_dtype_at(i)) != NULL; i++) {
        struct product product = product_open(info, 41, 512, 1, 2 * i + 1);
        float want[5 * 512], got[5 * 512];
        float *device = cuda->alloc(cuda, sizeof got);
        cpu->ops.embed(
            cpu, &(struct glint_op_embed){.out = want, .table = &product.host, .id = id, .n = 5});
        cuda->ops.embed(cuda, &(struct glint_op_embed){
                                  .out = device, .table = &product.device, .id = id, .n = 5});
        take(got, device, sizeof got);
        op_assert_same_bits(got, want, 5 * 512);
        product_close(&product);
    }
}

enum { N = 5 };
static const int widths[] = {1, 7, 96, 1000, 6656};
enum { N_WIDTH = sizeof widths / sizeof *widths };

// One row op on both backends: x in place of the first operand, y and two vectors beside it.
struct row_case {
    int width;
    float *x, *y, *gain, *bias;         // host
    float *x_d, *y_d, *gain_d, *bias_d; // device
    float *got;
};

static struct row_case row_open(int width, uint64_t seed) {
    struct op_random random = {seed};
    struct row_case c = {.width = width};
    c.x = random_floats(&random, N * width, 3, true);
    c.y = random_floats(&random, N * width, 2, false);
    c.gain = random_floats(&random, width, 2, false);
    c.bias = random_floats(&random, width, 1, false);
    c.got = op_alloc((size_t)(N * width), sizeof(float));
    c.x_d = put_floats(c.x, N * width);
    c.y_d = put_floats(c.y, N * width);
    c.gain_d = put_floats(c.gain, width);
    c.bias_d = put_floats(c.bias, width);
    return c;
}

static void row_close(struct row_case *c) {
    float *host[] = {c->x, c->y, c->gain, c->bias, c->got};
    float *device[] = {c->y_d, c->gain_d, c->bias_d};
    for (size_t i = 0; i < 5; i++)
        glint_free(host[i]);
    for (size_t i = 0; i < 3; i++)
        cuda->free(cuda, device[i]);
}

// x is the result on both sides; tolerance relative to the largest value of its row.
static void row_compare(struct row_case *c, double tolerance) {
    take(c->got, c->x_d, (size_t)(N * c->width) * sizeof(float));
    for (int i = 0; i < N; i++)
        op_assert_close(c->got + i * c->width, c->x + i * c->width, c->width, tolerance);
    row_close(c);
}

// The same relative to each value, or to each argument.
static void value_compare(struct row_case *c, const float *scale, double tolerance) {
    take(c->got, c->x_d, (size_t)(N * c->width) * sizeof(float));
    for (int i = 0; i < N * c->width; i++) {
        double error = fabs((double)c->got[i] - c->x[i]);
        if (!(error <= tolerance * fabs((double)scale[i]) + 1e-37))
            fail_msg("value %d: got %.9g, want %.9g", i, (double)c->got[i], (double)c->x[i]);
    }
    row_close(c);
}

static void test_norms(void **state) {
    (void)state;
    for (int k = 0; k < N_WIDTH; k++) {
        int width = widths[k];
        struct row_case c = row_open(width, 1);
        struct glint_op_rms_norm rms = {c.x, c.x, k % 2 ? c.gain : NULL, 1e-5f, N, width};
        cpu->ops.rms_norm(cpu, &rms);
        rms = (struct glint_op_rms_norm){c.x_d, c.x_d, k % 2 ? c.gain_d : NULL, 1e-5f, N, width};
        cuda->ops.rms_norm(cuda, &rms);
        row_compare(&c, GLINT_TOLERANCE_NORM);
        c = row_open(width, 2);
        cpu->ops.add_rms_norm(cpu,
                              &(struct glint_op_add_rms_norm){c.x, c.y, c.gain, 1e-8f, N, width});
        cuda->ops.add_rms_norm(
            cuda, &(struct glint_op_add_rms_norm){c.x_d, c.y_d, c.gain_d, 1e-8f, N, width});
        row_compare(&c, GLINT_TOLERANCE_NORM);
        c = row_open(width, 3);
        cpu->ops.layer_norm(
            cpu, &(struct glint_op_layer_norm){c.x, c.x, c.gain, c.bias, 1e-6f, N, width});
        cuda->ops.layer_norm(
            cuda, &(struct glint_op_layer_norm){c.x_d, c.x_d, c.gain_d, c.bias_d, 1e-6f, N, width});
        row_compare(&c, GLINT_TOLERANCE_NORM);
    }
}

static void test_values(void **state) {
    (void)state;
    for (int k = 0; k < N_WIDTH; k++) {
        int width = widths[k], count = N * width;
        struct row_case c = row_open(width, 4);
        cpu->ops.add(cpu, &(struct glint_op_add){c.x, k % 2 ? c.y : NULL, c.bias, N, width});
        cuda->ops.add(cuda,
                      &(struct glint_op_add){c.x_d, k % 2 ? c.y_d : NULL, c.bias_d, N, width});
        row_compare(&c, 0);
        c = row_open(width, 5);
        cpu->ops.gate(cpu, &(struct glint_op_gate){c.x, c.y, count});
        cuda->ops.gate(cuda, &(struct glint_op_gate){c.x_d, c.y_d, count});
        value_compare(&c, c.x, GLINT_TOLERANCE_SIGMOID);
        c = row_open(width, 6);
        cpu->ops.swiglu(cpu, &(struct glint_op_swiglu){c.x, c.y, count});
        cuda->ops.swiglu(cuda, &(struct glint_op_swiglu){c.x_d, c.y_d, count});
        value_compare(&c, c.x, GLINT_TOLERANCE_SIGMOID);
        c = row_open(width, 7);
        cpu->ops.softcap(cpu, &(struct glint_op_softcap){c.x, count, 0.196f, 20});
        cuda->ops.softcap(cuda, &(struct glint_op_softcap){c.x_d, count, 0.196f, 20});
        value_compare(&c, c.x, GLINT_TOLERANCE_SOFTCAP);
        c = row_open(width, 8);
        float *argument = op_alloc((size_t)count, sizeof *argument);
        for (int i = 0; i < count; i++)
            argument[i] = c.x[i] + c.bias[i % width];
        cpu->ops.gelu(cpu, &(struct glint_op_gelu){c.x, c.bias, N, width});
        cuda->ops.gelu(cuda, &(struct glint_op_gelu){c.x_d, c.bias_d, N, width});
        value_compare(&c, argument, GLINT_TOLERANCE_GELU);
        glint_free(argument);
        c = row_open(width, 9);
        struct glint_op_copy_rows copy = {c.x, c.y, N - 1, (width + 1) / 2, width, width};
        cpu->ops.copy_rows(cpu, &copy);
        copy.out = c.x_d;
        copy.x = c.y_d;
        cuda->ops.copy_rows(cuda, &copy);
        row_compare(&c, 0);
    }
}

static void test_best(void **state) {
    (void)state;
    for (int k = 0; k < N_WIDTH; k++) {
        struct row_case c = row_open(widths[k], 10);
        int32_t want[N], got[N];
        for (int i = 0; i < widths[k]; i++) { // one row of NaN, one of equal values, one mixed
            c.x[i] = NAN;
            c.x[widths[k] + i] = -3;
            c.x[2 * widths[k] + i] = i % 3 ? c.x[2 * widths[k] + i] : NAN;
        }
        c.x[widths[k] - 1] = widths[k] > 50 ? -INFINITY : NAN;
        cuda->upload(cuda, c.x_d, c.x, (size_t)(N * widths[k]) * sizeof(float));
        int32_t *device = cuda->alloc(cuda, sizeof got);
        cpu->ops.best(cpu, &(struct glint_op_best){want, c.x, N, widths[k]});
        cuda->ops.best(cuda, &(struct glint_op_best){device, c.x_d, N, widths[k]});
        take(got, device, sizeof got);
        assert_memory_equal(got, want, sizeof got);
        cuda->free(cuda, c.x_d);
        row_close(&c);
    }
}

static void test_heads(void **state) {
    (void)state;
    static const struct {
        int n_head, head_dim;
        bool halves;
    } shape[] = {{1, 2, false}, {3, 10, false}, {32, 128, false}, {8, 96, true}, {5, 160, true}};
    static const int32_t position[N] = {0, 1, 77, 4095, 131071};
    for (size_t k = 0; k < 2 * sizeof shape / sizeof *shape; k++) {
        int n_head = shape[k / 2].n_head, dim = shape[k / 2].head_dim;
        struct row_case c = row_open(n_head * dim, 11 + k);
        struct glint_op_head_norm_rope op = {c.x, c.gain, NULL, position,           1e-5f,
                                             N,   n_head, dim,  shape[k / 2].halves};
        float *turns = op_alloc((size_t)dim / 2, sizeof *turns);
        for (int i = 0; i < dim / 2; i++)
            turns[i] = 1 / powf(500000, (float)(2 * i) / (float)dim);
        float *turns_d = put_floats(turns, dim / 2);
        op.inv_freq = k % 2 ? turns : NULL;
        cpu->ops.head_norm_rope(cpu, &op);
        op.x = c.x_d;
        op.gain = c.gain_d;
        op.inv_freq = k % 2 ? turns_d : NULL;
        cuda->ops.head_norm_rope(cuda, &op);
        row_compare(&c, GLINT_TOLERANCE_NORM);
        glint_free(turns);
        cuda->free(cuda, turns_d);
        c = row_open(n_head * dim, 30 + k);
        struct glint_op_rotate rotate = {c.x, c.y, N, n_head, dim};
        cpu->ops.rotate(cpu, &rotate);
        rotate = (struct glint_op_rotate){c.x_d, c.y_d, N, n_head, dim};
        cuda->ops.rotate(cuda, &rotate);
        row_compare(&c, GLINT_TOLERANCE_NORM);
    }
}

// ---- attention ------------------------------------------------------------------------------

struct scene {
    int n_head, n_head_kv, head_dim;
    enum glint_dtype dtype;
    int32_t window;
    int n_past, n; // positions stored, of which the last n are asked for
    int n_table;   // pages; fewer than the positions need: a ring
    int block;     // of the n, so many rows each see each other; 0: none does
};

static const struct scene scenes[] = {
    {1, 1, 2, GLINT_DTYPE_F32, 0, 1, 1, 1, 0},
    {3, 1, 10, GLINT_DTYPE_F32, 0, 70, 5, 1, 0},
    {8, 2, 32, GLINT_DTYPE_F32, 16, 49, 49, 1, 0},
    {32, 2, 128, GLINT_DTYPE_F16, 0, 600, 3, 3, 0},
    {32, 2, 128, GLINT_DTYPE_Q8_0, 0, 300, 5, 2, 0},
    {20, 4, 160, GLINT_DTYPE_Q8_0, 0, 129, 3, 1, 0},
    {4, 2, 64, GLINT_DTYPE_F16, 300, 2000, 11, 3, 0},
    {4, 2, 32, GLINT_DTYPE_F32, 1, 300, 9, 2, 0},
    {64, 1, 32, GLINT_DTYPE_F16, 0, 90, 4, 1, 0},
    {8, 2, 64, GLINT_DTYPE_F16, 257, 700, 16, 3, 16},
    {3, 3, 24, GLINT_DTYPE_F32, 0, 80, 63, 1, 63},
};
static const struct scene large_scenes[] = {
    {32, 2, 128, GLINT_DTYPE_F16, 0, 4097, 19, 17, 0},
    {32, 2, 128, GLINT_DTYPE_F32, 0, 8190, 33, 32, 0},
    {32, 2, 128, GLINT_DTYPE_F16, 2048, 5000, 64, 11, 0},
    {16, 16, 96, GLINT_DTYPE_F32, 0, 1100, 61, 5, 61},
};
enum { N_LAYER = 3, I_LAYER = 1 };

struct stage {
    struct scene scene;
    struct op_plane plane;        // host
    struct glint_kv_plane device; // the same bytes on the device
    float *k, *v, *q;
    struct glint_kv_ref *ref; // [n_past]
};

static int64_t q_width(const struct scene *scene) {
    return (int64_t)scene->n_head * scene->head_dim;
}

static size_t plane_bytes(const struct stage *stage) {
    return (size_t)stage->plane.plane.n_page * stage->plane.plane.page_bytes;
}

static void stage_open(struct stage *stage, const struct scene *scene, uint64_t seed) {
    struct op_random random = {(uint64_t)scene->n_past * 7 + (uint64_t)scene->head_dim};
    struct glint_kv_plane shape = {.dtype_k = scene->dtype,
                                   .dtype_v = scene->dtype,
                                   .n_layer = N_LAYER,
                                   .n_head_kv = scene->n_head_kv,
                                   .head_dim = scene->head_dim};
    int64_t kv_width = (int64_t)scene->n_head_kv * scene->head_dim;
    stage->scene = *scene;
    op_plane_open(&stage->plane, &shape, scene->n_table, seed);
    stage->k = random_floats(&random, scene->n_past * kv_width, 2, false);
    stage->v = random_floats(&random, scene->n_past * kv_width, 1, true);
    stage->q = random_floats(&random, scene->n * q_width(scene), 4, false);
    stage->ref = op_alloc((size_t)scene->n_past, sizeof *stage->ref);
    for (int i = 0; i < scene->n_past; i++)
        stage->ref[i] = (struct glint_kv_ref){stage->plane.table, i, 0};
    for (int i = 0; i < scene->n && scene->block > 0; i++) {
        int end = (i / scene->block + 1) * scene->block;
        stage->ref[scene->n_past - scene->n + i].ahead = (end < scene->n ? end : scene->n) - 1 - i;
    }
    stage->device = stage->plane.plane;
    stage->device.pages = put(stage->plane.plane.pages, plane_bytes(stage)); // NaN everywhere
    for (int i = 0; i < scene->n_past; i += MAX_ROWS) {
        int n = scene->n_past - i < MAX_ROWS ? scene->n_past - i : MAX_ROWS;
        struct glint_op_kv_store op = {.plane = &stage->plane.plane,
                                       .i_layer = I_LAYER,
                                       .k = stage->k + i * kv_width,
                                       .v = stage->v + i * kv_width,
                                       .ref = stage->ref + i,
                                       .n = n};
        cpu->ops.kv_store(cpu, &op);
        op.plane = &stage->device;
        float *k = put_floats(op.k, n * kv_width), *v = put_floats(op.v, n * kv_width);
        op.k = k;
        op.v = v;
        cuda->ops.kv_store(cuda, &op);
        cuda->free(cuda, k);
        cuda->free(cuda, v);
    }
}

static void stage_close(struct stage *stage) {
    op_plane_close(&stage->plane);
    cuda->free(cuda, stage->device.pages);
    glint_free(stage->k);
    glint_free(stage->v);
    glint_free(stage->q);
    glint_free(stage->ref);
}

// Rows [begin, begin + n) of those that the scene asks for.
static float *attend(struct glint_backend *backend, const struct stage *stage, int begin, int n) {
    const struct scene *scene = &stage->scene;
    int64_t count = n * q_width(scene);
    float *out = op_alloc((size_t)count, sizeof *out);
    struct glint_op_attention op = {.out = out,
                                    .q = stage->q + begin * q_width(scene),
                                    .plane = &stage->plane.plane,
                                    .i_layer = I_LAYER,
                                    .ref = stage->ref + scene->n_past - scene->n + begin,
                                    .n = n,
                                    .n_head = scene->n_head,
                                    .window = scene->window,
                                    .scale = 1 / sqrtf((float)scene->head_dim)};
    if (backend == cpu) {
        cpu->ops.attention(cpu, &op);
        return out;
    }
    float *q = put_floats(op.q, count);
    op.q = q;
    op.out = cuda->alloc(cuda, (size_t)count * sizeof *out);
    op.plane = &stage->device;
    cuda->ops.attention(cuda, &op);
    take(out, op.out, (size_t)count * sizeof *out);
    cuda->free(cuda, q);
    return out;
}

static void check_stage(const struct stage *stage, const struct stage *elsewhere) {
    const struct scene *scene = &stage->scene;
    int64_t width = q_width(scene);
    char *bytes = op_alloc(1, plane_bytes(stage));
    cuda->download(cuda, bytes, stage->device.pages, plane_bytes(stage));
    wait_for_device();
    assert_memory_equal(bytes, stage->plane.plane.pages, plane_bytes(stage));
    glint_free(bytes);
    float *want = attend(cpu, stage, 0, scene->n), *got = attend(cuda, stage, 0, scene->n);
    for (int64_t i = 0; i < (int64_t)scene->n * scene->n_head; i++)
        op_assert_close(got + i * scene->head_dim, want + i * scene->head_dim, scene->head_dim,
                        GLINT_TOLERANCE_ATTENTION);
    float *other = attend(cuda, elsewhere, 0, scene->n);
    op_assert_same_bits(other, got, scene->n * width);
    for (int i = 0; i < scene->n; i += 7) {
        float *alone = attend(cuda, stage, i, 1);
        op_assert_same_bits(alone, got + i * width, width);
        glint_free(alone);
    }
    glint_free(other);
    glint_free(got);
    glint_free(want);
}

static void check_scene(const struct scene *scene) {
    struct scene roomy = *scene;
    roomy.n_table = (roomy.n_past + GLINT_KV_PAGE_ROWS - 1) / GLINT_KV_PAGE_ROWS;
    struct stage there, here;
    stage_open(&there, scene, 5);
    stage_open(&here, &roomy, 0);
    check_stage(&there, &here);
    stage_close(&there);
    stage_close(&here);
}

static void test_attention(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++)
        if (!small || s != 6)
            check_scene(&scenes[s]);
    for (size_t s = 0; large && s < sizeof large_scenes / sizeof *large_scenes; s++)
        check_scene(&large_scenes[s]);
}

// ---- steps ----------------------------------------------------------------------------------

// The same sequence of ops again and again: as launches, then as a graph, with other ids.
static void test_graph(void **state) {
    (void)state;
    enum { WIDTH = 512, ROWS = 3 };
    struct product product = product_open(glint_dtype_info(GLINT_DTYPE_Q4_K), 41, WIDTH, 1, 2);
    float *x = cuda->alloc(cuda, ROWS * WIDTH * sizeof(float));
    float *y = cuda->alloc(cuda, ROWS * 41 * sizeof(float));
    float first[ROWS * 41], again[ROWS * 41], *before = NULL;
    for (int round = 0; round < 6; round++) {
        // Rows 0 and 1 change with the round, row 2 does not.
        int32_t id[ROWS] = {round, 2 * round, 7};
        cuda->ops.embed(cuda, &(struct glint_op_embed){x, &product.device, id, ROWS});
        for (int i = 0; i < 10; i++)
            cuda->ops.rms_norm(cuda, &(struct glint_op_rms_norm){x, x, NULL, 1e-5f, ROWS, WIDTH});
        cuda->ops.matmul(cuda,
                         &(struct glint_op_matmul){
                             .x = x, .n = ROWS, .n_matrix = 1, .w = {&product.device}, .out = {y}});
        float *now = before ? again : first;
        cuda->download(cuda, now, y, sizeof first);
        wait_for_device();
        op_assert_same_bits(now + 2 * 41, first + 2 * 41, 41);
        if (before)
            assert_true(memcmp(now, first, 41 * sizeof *now) != 0);
        before = now;
        for (int i = 0; round == 0 && i < 41; i++)
            assert_true(first[i] == first[41 + i]); // the same id
    }
    cuda->free(cuda, x);
    cuda->free(cuda, y);
    product_close(&product);
}

int main(int argc, char **argv) {
    small = argc > 1 && strcmp(argv[1], "small") == 0;
    large = argc > 1 && strcmp(argv[1], "large") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),     cmocka_unit_test(test_embed),
        cmocka_unit_test(test_products),   cmocka_unit_test(test_shared_x),
        cmocka_unit_test(test_odd_values), cmocka_unit_test(test_norms),
        cmocka_unit_test(test_values),     cmocka_unit_test(test_best),
        cmocka_unit_test(test_heads),      cmocka_unit_test(test_attention),
        cmocka_unit_test(test_graph),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
