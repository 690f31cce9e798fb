// SPDX-License-Identifier: Apache-2.0
// Quantizing a small file: what is written, and every way in which it is refused.
#include "quantize_run.h"

#include "base/alloc.h"
#include "fault.h"
#include "format/gguf_write.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { COLS = 512, ROWS = 40, N_VALUES = COLS * ROWS };

static struct {
    char folder[64], in[96], out[96], imatrix[96];
    float values[N_VALUES], decoded[N_VALUES];
} t;

static float noise(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int32_t)(*seed >> 8) * 0x1p-23f - 1.0f;
}

static const char *const names[] = {"blk.0.attn_q.weight", "blk.0.ffn_down.weight",
                                    "blk.0.attn_norm.weight"};

// Two matrices of t.values in the given type and one vector.
static void write_model(const char *path, uint64_t n_col, enum glint_dtype dtype) {
    struct glint_error err = {.status = GLINT_OK};
    struct glint_gguf_writer *writer = NULL;
    static uint8_t bytes[N_VALUES * 4];
    uint64_t dims[2] = {n_col, N_VALUES / n_col};
    assert_int_equal(glint_gguf_writer_open(&writer, &err), GLINT_OK);
    glint_gguf_put_text(writer, "general.architecture", "muse-glimmer");
    glint_gguf_put_u32(writer, "general.file_type", 0);
    glint_gguf_put_u32(writer, "muse-glimmer.block_count", 1);
    glint_gguf_put_u32(writer, "split.count", 1);
    glint_gguf_add_tensor(writer, names[0], (uint32_t)dtype, 2, dims);
    glint_gguf_add_tensor(writer, names[1], (uint32_t)dtype, 2, dims);
    glint_gguf_add_tensor(writer, names[2], 0, 1, dims);
    assert_int_equal(glint_gguf_writer_begin(writer, path, &err), GLINT_OK);
    size_t n_bytes = glint_dtype_bytes(dtype, N_VALUES);
    glint_dtype_info((uint32_t)dtype)->encode(t.values, NULL, bytes, N_VALUES);
    assert_int_equal(glint_gguf_writer_data(writer, bytes, n_bytes, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_data(writer, bytes, n_bytes, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_data(writer, t.values, n_col * 4, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_commit(&writer, &err), GLINT_OK);
}

static void write_imatrix(const char *type, uint64_t n_col, float sum, float count) {
    struct glint_error err = {.status = GLINT_OK};
    struct glint_gguf_writer *writer = NULL;
    float sums[COLS];
    uint64_t one = 1;
    for (int i = 0; i < COLS; i++)
        sums[i] = i % 4 == 0 ? 100.0f : sum;
    assert_int_equal(glint_gguf_writer_open(&writer, &err), GLINT_OK);
    glint_gguf_put_text(writer, "general.type", type);
    glint_gguf_add_tensor(writer, "blk.0.attn_q.weight.in_sum2", 0, 1, &n_col);
    glint_gguf_add_tensor(writer, "blk.0.attn_q.weight.counts", 0, 1, &one);
    assert_int_equal(glint_gguf_writer_begin(writer, t.imatrix, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_data(writer, sums, n_col * 4, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_data(writer, &count, 4, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_commit(&writer, &err), GLINT_OK);
}

static int setup(void **state) {
    (void)state;
    snprintf(t.folder, sizeof t.folder, "/tmp/glint_quantize_XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    snprintf(t.in, sizeof t.in, "%s/in.gguf", t.folder);
    snprintf(t.out, sizeof t.out, "%s/out.gguf", t.folder);
    snprintf(t.imatrix, sizeof t.imatrix, "%s/imatrix.gguf", t.folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(t.in);
    unlink(t.out);
    unlink(t.imatrix);
    return rmdir(t.folder); // fails when anything else was left there
}

static int fill_values(void **state) {
    (void)state;
    uint32_t seed = 3;
    for (int i = 0; i < N_VALUES; i++)
        t.values[i] = noise(&seed) + noise(&seed) + noise(&seed);
    unlink(t.out);
    write_model(t.in, COLS, GLINT_DTYPE_F32);
    return 0;
}

static struct glint_quantize order_of(const char *mix) {
    struct glint_quantize order = {.input = t.in, .output = t.out, .n_threads = 2};
    assert_true(glint_quantize_recipe_find(mix, &order.recipe));
    return order;
}

// Runs and expects a refusal whose text holds both words; nothing may be left behind.
static void refuse(const struct glint_quantize *order, enum glint_status expected,
                   const char *word1, const char *word2) {
    struct glint_quantize_report report;
    struct glint_error err = {.status = GLINT_OK};
    size_t blocks = glint_alloc_live_blocks();
    char partial[128];
    enum glint_status status = glint_quantize_run(order, &report, &err);
    if (status != expected || !strstr(err.text, word1) || !strstr(err.text, word2))
        fail_msg("found %s \"%s\", expected %s with %s and %s", glint_status_name(status), err.text,
                 glint_status_name(expected), word1, word2);
    assert_int_equal(glint_alloc_live_blocks(), blocks);
    snprintf(partial, sizeof partial, "%s.part", t.out);
    assert_int_not_equal(access(partial, F_OK), 0);
    assert_int_not_equal(access(t.out, F_OK), 0);
}

static void decode_output(struct glint_gguf **gguf, const char *name,
                          const struct glint_dtype_info **info) {
    struct glint_error err = {.status = GLINT_OK};
    if (*gguf == NULL)
        assert_int_equal(glint_gguf_open(gguf, t.out, &err), GLINT_OK);
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(*gguf, name);
    assert_non_null(tensor);
    *info = glint_dtype_info(tensor->type_id);
    assert_non_null(*info);
    (*info)->decode(tensor->data, t.decoded, (size_t)tensor->n_values);
}

static double error_of(size_t step) {
    double sum = 0.0;
    for (size_t i = 0; i < N_VALUES; i += step) {
        double miss = (double)t.decoded[i] - (double)t.values[i];
        sum += miss * miss;
    }
    return sum / (N_VALUES / (double)step);
}

static void test_every_type_is_written(void **state) {
    (void)state;
    for (size_t i = 0; glint_dtype_at(i) != NULL; i++) {
        struct glint_quantize order = order_of(glint_dtype_at(i)->name);
        struct glint_quantize_report report;
        struct glint_error err = {.status = GLINT_OK};
        const struct glint_dtype_info *info;
        struct glint_gguf *gguf = NULL;
        uint32_t file_type = 99;
        assert_int_equal(glint_quantize_run(&order, &report, &err), GLINT_OK);
        decode_output(&gguf, names[0], &info);
        assert_ptr_equal(info, glint_dtype_at(i));
        assert_true(error_of(1) < 0.1); // of a variance of 1
        decode_output(&gguf, names[2], &info);
        assert_int_equal(info->dtype, GLINT_DTYPE_F32);
        assert_memory_equal(t.decoded, t.values, COLS * 4);
        assert_int_equal(glint_gguf_get_u32(gguf, "general.file_type", &file_type, &err), 0);
        assert_int_equal(file_type, order.recipe.file_type);
        assert_null(glint_gguf_find(gguf, "split.count"));
        assert_true(gguf->n_bytes == report.bytes_out);
        glint_gguf_close(&gguf);
    }
}

static void test_threads_do_not_show(void **state) {
    (void)state;
    static char first[N_VALUES * 4], other[N_VALUES * 4];
    size_t n_first = 0;
    for (int n_threads = 1; n_threads <= 5; n_threads += 2) {
        struct glint_quantize order = order_of("kquant-17gb");
        struct glint_quantize_report report;
        order.n_threads = n_threads;
        assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
        FILE *file = fopen(t.out, "rb");
        assert_non_null(file);
        size_t n = fread(n_threads == 1 ? first : other, 1, sizeof first, file);
        fclose(file);
        n_first = n_threads == 1 ? n : n_first;
        assert_true(n == n_first && n > 1000);
        if (n_threads > 1)
            assert_memory_equal(first, other, n);
    }
}

static void test_overrides(void **state) {
    (void)state;
    struct glint_quantize order = order_of("q4_k");
    struct glint_quantize_report report;
    struct glint_gguf *gguf = NULL;
    const struct glint_dtype_info *info;
    order.rules[0] = (struct glint_quantize_rule){"blk.*", GLINT_DTYPE_Q6_K};
    order.rules[1] = (struct glint_quantize_rule){"*ffn*", GLINT_DTYPE_Q8_0};
    order.n_rules = 2;
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
    decode_output(&gguf, names[0], &info);
    assert_int_equal(info->dtype, GLINT_DTYPE_Q6_K);
    decode_output(&gguf, names[1], &info);
    assert_int_equal(info->dtype, GLINT_DTYPE_Q8_0);
    assert_int_equal(report.n_of_type[GLINT_DTYPE_Q6_K], 1);
    glint_gguf_close(&gguf);
    unlink(t.out);
    order.rules[1].pattern = "*fnn*";
    refuse(&order, GLINT_E_ARG, "*fnn*", "found no weight matrix");
    order.rules[1].pattern = "*attn_norm*"; // a vector
    refuse(&order, GLINT_E_ARG, "*attn_norm*", "found no weight matrix");
}

static void test_importance_is_used(void **state) {
    (void)state;
    struct glint_quantize order = order_of("q4_k");
    struct glint_quantize_report report;
    const struct glint_dtype_info *info;
    struct glint_gguf *gguf = NULL;
    write_imatrix("imatrix", COLS, 1.0f, 7.0f);
    order.imatrix_path = t.imatrix;
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
    assert_int_equal(report.n_unweighted, 1);
    assert_string_equal(report.an_unweighted, names[1]);
    decode_output(&gguf, names[0], &info);
    double weighted = error_of(4);
    decode_output(&gguf, names[1], &info);
    assert_true(weighted < 0.9 * error_of(4));
    glint_gguf_close(&gguf);
}

static void test_bad_importance_is_refused(void **state) {
    (void)state;
    struct glint_quantize order = order_of("q4_k");
    order.imatrix_path = t.imatrix;
    write_imatrix("imatrix", 256, 1.0f, 7.0f);
    refuse(&order, GLINT_E_FORMAT, "found 256 values", "expected 512");
    write_imatrix("model", COLS, 1.0f, 7.0f);
    refuse(&order, GLINT_E_FORMAT, "general.type", "expected \"imatrix\"");
    write_imatrix("imatrix", COLS, -1.0f, 7.0f);
    refuse(&order, GLINT_E_FORMAT, "value 1 is -1", "in_sum2");
    write_imatrix("imatrix", COLS, NAN, 7.0f);
    refuse(&order, GLINT_E_FORMAT, "value 1 is", "expected a finite");
    write_imatrix("imatrix", COLS, 1.0f, 0.0f);
    refuse(&order, GLINT_E_FORMAT, "counts", "expected a positive count");
    write_imatrix("imatrix", COLS, 3e38f, 1e-3f); // finite, but for their quotient
    refuse(&order, GLINT_E_FORMAT, "value 1 is 3e+38 over 0.001 rows", "mean of 1e+30 at most");
}

static void test_bad_values_are_refused(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        t.values[3 * COLS + 17] = bad[i];
        t.values[9 * COLS] = NAN;
        write_model(t.in, COLS, GLINT_DTYPE_F32);
        struct glint_quantize order = order_of("q4_k");
        refuse(&order, GLINT_E_FORMAT, names[0], "row 3, column 17");
        order = order_of("f32"); // copying is no excuse
        refuse(&order, GLINT_E_FORMAT, names[0], "row 3, column 17");
    }
}

static void test_rows_that_do_not_divide(void **state) {
    (void)state;
    write_model(t.in, 320, GLINT_DTYPE_F32);
    struct glint_quantize order = order_of("q4_k");
    refuse(&order, GLINT_E_UNSUPPORTED, "rows of 320", "multiple of 256");
    struct glint_quantize_report report;
    order = order_of("q5_0");
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
}

static void test_requantizing(void **state) {
    (void)state;
    write_model(t.in, COLS, GLINT_DTYPE_Q8_0);
    struct glint_quantize order = order_of("q4_k");
    struct glint_quantize_report report;
    struct glint_gguf *gguf = NULL;
    const struct glint_dtype_info *info;
    refuse(&order, GLINT_E_ARG, "found type q8_0", "--allow-requantize");
    order.allow_requantize = true;
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
    decode_output(&gguf, names[0], &info);
    assert_int_equal(info->dtype, GLINT_DTYPE_Q4_K);
    assert_true(error_of(1) < 0.01);
    glint_gguf_close(&gguf);
    order = order_of("q8_0"); // the type it has: copied, so allowed
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
}

static void test_output_over_input(void **state) {
    (void)state;
    char linked[128];
    snprintf(linked, sizeof linked, "%s/link.gguf", t.folder);
    assert_int_equal(symlink(t.in, linked), 0);
    const char *outputs[] = {t.in, linked};
    for (int i = 0; i < 2; i++) {
        struct glint_quantize order = order_of("q4_k");
        order.output = outputs[i];
        refuse(&order, GLINT_E_ARG, outputs[i], "is the input file");
    }
    unlink(linked);
    struct glint_quantize order = order_of("q4_k");
    write_imatrix("imatrix", COLS, 1.0f, 7.0f);
    order.imatrix_path = order.output = t.imatrix;
    refuse(&order, GLINT_E_ARG, t.imatrix, "is the input file");
}

static void test_full_disk(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    struct glint_quantize order = order_of("q4_k");
    order.output = "/dev/full";
    refuse(&order, GLINT_E_IO, "/dev/full", "cannot write");
    order.output = "/nowhere/at/all.gguf";
    refuse(&order, GLINT_E_NOTFOUND, "/nowhere/at/all.gguf", "cannot create");
}

// A disk that fills up under a regular file: the limit on file sizes fails the same write.
static void test_disk_fills_up(void **state) {
    (void)state;
    struct glint_quantize order = order_of("q4_k");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {8192, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    refuse(&order, GLINT_E_IO, t.out, "cannot write");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
}

static size_t read_file(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(out, 1, room, file);
    fclose(file);
    return n;
}

// What was at the output's place before stays there when the work fails half way.
static void test_older_output_survives(void **state) {
    (void)state;
    static char before[N_VALUES * 4], after[N_VALUES * 4];
    struct glint_quantize order = order_of("q8_0");
    struct glint_quantize_report report;
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_OK);
    size_t n = read_file(t.out, before, sizeof before);
    t.values[N_VALUES - 1] = NAN;
    write_model(t.in, COLS, GLINT_DTYPE_F32);
    order = order_of("q4_k");
    assert_int_equal(glint_quantize_run(&order, &report, NULL), GLINT_E_FORMAT);
    assert_true(n > 1000 && read_file(t.out, after, sizeof after) == n);
    assert_memory_equal(before, after, n);
}

static bool stop(void *user, uint64_t done, uint64_t total) {
    uint64_t *seen = user;
    *seen = done;
    assert_true(done <= total);
    return false;
}

static void test_stopping(void **state) {
    (void)state;
    uint64_t seen = 0;
    struct glint_quantize order = order_of("q4_k");
    order.progress = stop;
    order.user = &seen;
    refuse(&order, GLINT_E_CANCELLED, t.out, "stopped");
    assert_true(seen > 0);
}

static enum glint_status whole(void *context, struct glint_error *err) {
    struct glint_quantize_report report;
    return glint_quantize_run(context, &report, err);
}

static void test_each_allocation_failing(void **state) {
    (void)state;
    struct glint_quantize order = order_of("q4_k");
    write_imatrix("imatrix", COLS, 1.0f, 7.0f);
    order.imatrix_path = t.imatrix;
    assert_true(glint_fault_each(whole, &order) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_type_is_written, fill_values),
        cmocka_unit_test_setup(test_threads_do_not_show, fill_values),
        cmocka_unit_test_setup(test_overrides, fill_values),
        cmocka_unit_test_setup(test_importance_is_used, fill_values),
        cmocka_unit_test_setup(test_bad_importance_is_refused, fill_values),
        cmocka_unit_test_setup(test_bad_values_are_refused, fill_values),
        cmocka_unit_test_setup(test_rows_that_do_not_divide, fill_values),
        cmocka_unit_test_setup(test_requantizing, fill_values),
        cmocka_unit_test_setup(test_output_over_input, fill_values),
        cmocka_unit_test_setup(test_full_disk, fill_values),
        cmocka_unit_test_setup(test_disk_fills_up, fill_values),
        cmocka_unit_test_setup(test_older_output_survives, fill_values),
        cmocka_unit_test_setup(test_stopping, fill_values),
        cmocka_unit_test_setup(test_each_allocation_failing, fill_values),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
