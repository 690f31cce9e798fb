// SPDX-License-Identifier: Apache-2.0
// test_gguf_write.c — what is written reads back; a file appears whole or not at all, also when
// the disk is full, an allocation fails or the writer is used wrongly.
#include "fault.h"
#include "format/gguf_write.h"
#include "unit/format/scratch.h"

#include <signal.h>
#include <sys/resource.h>

static const uint64_t vector_dims[] = {3}, matrix_dims[] = {32, 2};

static void collect(struct glint_gguf_writer *writer) {
    static const uint32_t naturals[] = {1, 4000000000u};
    static const int32_t whole[] = {-1, 2, INT32_MIN};
    static const float numbers[] = {0.5f, -2.0f};
    static const bool flags[] = {true, false, true};
    glint_gguf_put_text(writer, "general.architecture", "test");
    glint_gguf_put_u32(writer, "count", 7);
    glint_gguf_put_f32(writer, "share", 0.25f);
    glint_gguf_put_bool(writer, "flag", true);
    glint_gguf_put_u32s(writer, "naturals", naturals, 2);
    glint_gguf_put_i32s(writer, "whole", whole, 3);
    glint_gguf_put_f32s(writer, "numbers", numbers, 2);
    glint_gguf_put_bools(writer, "flags", flags, 3);
    glint_gguf_put_strings(writer, "texts", 2);
    glint_gguf_put_item(writer, glint_view_of("one"));
    glint_gguf_put_item(writer, (struct glint_view){"t\0o", 3});
    glint_gguf_put_strings(writer, "none", 0);
    glint_gguf_add_tensor(writer, "vector", 0, 1, vector_dims);
    glint_gguf_add_tensor(writer, "matrix", 8, 2, matrix_dims);
}

// The whole life of a writer; data of the matrix in two pieces.
static enum glint_status write_file(const char *path, struct glint_error *err) {
    static const float vector[3] = {1, 2, 3};
    uint8_t matrix[68];
    for (size_t i = 0; i < sizeof matrix; i++)
        matrix[i] = (uint8_t)i;
    struct glint_gguf_writer *writer;
    GLINT_TRY(glint_gguf_writer_open(&writer, err));
    collect(writer);
    enum glint_status status = glint_gguf_writer_begin(writer, path, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_data(writer, vector, sizeof vector, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_data(writer, matrix, 5, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_data(writer, matrix + 5, 63, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_commit(&writer, err);
    glint_gguf_writer_discard(&writer);
    return status;
}

static void check_file(const char *path) {
    struct glint_gguf *gguf;
    struct glint_error err;
    if (glint_gguf_open(&gguf, path, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    uint32_t count;
    const struct glint_gguf_kv *kv;
    int64_t value;
    struct glint_view text;
    assert_int_equal(gguf->n_kvs, 10);
    assert_string_equal(gguf->kvs[1].key, "count"); // in the order they were put
    assert_int_equal(glint_gguf_get_u32(gguf, "count", &count, &err), GLINT_OK);
    assert_int_equal(count, 7);
    assert_int_equal(glint_gguf_get_array(gguf, "whole", GLINT_GGUF_INTS, &kv, &err), GLINT_OK);
    assert_true(glint_gguf_item_i64(kv, 2, &value) && value == INT32_MIN);
    assert_int_equal(glint_gguf_get_array(gguf, "texts", GLINT_GGUF_STRINGS, &kv, &err), GLINT_OK);
    assert_true(glint_gguf_item_string(kv, 1, &text) && text.n == 3);
    const struct glint_gguf_tensor *matrix = glint_gguf_find_tensor(gguf, "matrix");
    assert_int_equal(matrix->n_bytes, 68);
    for (int i = 0; i < 68; i++)
        assert_int_equal(matrix->data[i], i);
    assert_int_equal(gguf->n_bytes % 32, 0);
    glint_gguf_close(&gguf);
}

static void test_reads_back(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_error err = {.status = GLINT_OK};
    scratch_open(&scratch);
    const char *path = scratch_path(&scratch, "w.gguf");
    if (write_file(path, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    check_file(path);
    assert_int_equal(scratch_count(&scratch), 1); // no partial file
    // Over an existing file, and without a folder in the name.
    assert_int_equal(write_file(path, &err), GLINT_OK);
    check_file(path);
    char old[4096];
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(scratch.folder), 0);
    assert_int_equal(write_file("w.gguf", &err), GLINT_OK);
    check_file("w.gguf");
    assert_int_equal(chdir(old), 0);
    scratch_close(&scratch);
}

static void test_copies_values(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_gguf *gguf;
    struct glint_gguf_writer *writer;
    struct glint_error err;
    size_t n, n_copy;
    scratch_open(&scratch);
    assert_int_equal(write_file(scratch_path(&scratch, "w.gguf"), &err), GLINT_OK);
    assert_int_equal(glint_gguf_open(&gguf, scratch.path, &err), GLINT_OK);
    assert_int_equal(glint_gguf_writer_open(&writer, &err), GLINT_OK);
    for (size_t i = 0; i < gguf->n_kvs; i++)
        glint_gguf_put_kv(writer, &gguf->kvs[i]);
    for (size_t i = 0; i < gguf->n_tensors; i++)
        glint_gguf_add_tensor(writer, gguf->tensors[i].name, gguf->tensors[i].type_id,
                              gguf->tensors[i].n_dims, gguf->tensors[i].dims);
    assert_int_equal(glint_gguf_writer_begin(writer, scratch_path(&scratch, "c.gguf"), &err),
                     GLINT_OK);
    for (size_t i = 0; i < gguf->n_tensors; i++)
        assert_int_equal(
            glint_gguf_writer_data(writer, gguf->tensors[i].data, gguf->tensors[i].n_bytes, &err),
            GLINT_OK);
    assert_int_equal(glint_gguf_writer_size(writer), gguf->n_bytes);
    assert_int_equal(glint_gguf_writer_commit(&writer, &err), GLINT_OK);
    assert_null(writer);
    glint_gguf_close(&gguf);
    uint8_t *copy = scratch_read(scratch.path, &n_copy);
    uint8_t *first = scratch_read(scratch_path(&scratch, "w.gguf"), &n);
    assert_int_equal(n, n_copy);
    assert_memory_equal(first, copy, n);
    free(first);
    free(copy);
    scratch_close(&scratch);
}

// ---- wrong use
// --------------------------------------------------------------------------------------

static void put_key_twice(struct glint_gguf_writer *writer) {
    glint_gguf_put_u32(writer, "count", 8);
}

static void add_tensor_twice(struct glint_gguf_writer *writer) {
    glint_gguf_add_tensor(writer, "matrix", 8, 2, matrix_dims);
}

static void add_bad_shape(struct glint_gguf_writer *writer) {
    glint_gguf_add_tensor(writer, "odd", 8, 1, vector_dims); // 3 values in blocks of 32
}

static void add_unknown_type(struct glint_gguf_writer *writer) {
    glint_gguf_add_tensor(writer, "odd", 77, 2, matrix_dims);
}

static void put_too_few_items(struct glint_gguf_writer *writer) {
    glint_gguf_put_strings(writer, "list", 2);
    glint_gguf_put_item(writer, glint_view_of("only"));
}

static void put_too_many_items(struct glint_gguf_writer *writer) {
    glint_gguf_put_strings(writer, "list", 1);
    glint_gguf_put_item(writer, glint_view_of("first"));
    glint_gguf_put_item(writer, glint_view_of("second"));
}

static void put_empty_key(struct glint_gguf_writer *writer) {
    glint_gguf_put_u32(writer, "", 1);
}

static void test_wrong_use(void **state) {
    (void)state;
    static const struct {
        void (*spoil)(struct glint_gguf_writer *writer);
        const char *message;
    } cases[] = {
        {put_key_twice, "key count: was given twice"},
        {add_tensor_twice, "tensor matrix: was given twice"},
        {add_bad_shape, "tensor odd: has a shape that its type cannot hold"},
        {add_unknown_type, "tensor odd: has a shape that its type cannot hold"},
        {put_too_few_items, "fewer than were announced"},
        {put_too_many_items, "one more than was announced"},
        {put_empty_key, "is no valid name"},
    };
    struct scratch scratch;
    scratch_open(&scratch);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_gguf_writer *writer;
        struct glint_error err;
        assert_int_equal(glint_gguf_writer_open(&writer, &err), GLINT_OK);
        collect(writer);
        cases[i].spoil(writer);
        assert_int_equal(glint_gguf_writer_begin(writer, scratch_path(&scratch, "w.gguf"), &err),
                         GLINT_E_ARG);
        if (!strstr(err.text, cases[i].message))
            fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].message);
        glint_gguf_writer_discard(&writer);
        assert_int_equal(scratch_count(&scratch), 0);
    }
    scratch_close(&scratch);
}

static void test_unfinished_is_removed(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_gguf_writer *writer;
    struct glint_error err;
    static const float vector[3] = {1, 2, 3};
    scratch_open(&scratch);
    for (int commit = 0; commit < 2; commit++) {
        assert_int_equal(glint_gguf_writer_open(&writer, &err), GLINT_OK);
        collect(writer);
        assert_int_equal(glint_gguf_writer_begin(writer, scratch_path(&scratch, "w.gguf"), &err),
                         GLINT_OK);
        assert_int_equal(glint_gguf_writer_data(writer, vector, sizeof vector, &err), GLINT_OK);
        assert_int_equal(scratch_count(&scratch), 1); // the partial file
        if (commit)
            assert_int_equal(glint_gguf_writer_commit(&writer, &err), GLINT_E_ARG);
        else
            glint_gguf_writer_discard(&writer);
        assert_null(writer);
        assert_int_equal(scratch_count(&scratch), 0);
    }
    scratch_close(&scratch);
}

// ---- full disks
// -------------------------------------------------------------------------------------

static void test_full_device(void **state) {
    (void)state;
    struct glint_error err = {.status = GLINT_OK};
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(write_file("/dev/full", &err), GLINT_E_IO);
    assert_non_null(strstr(err.text, "/dev/full: cannot write after byte 0: No space left"));
    assert_int_equal(write_file("/dev/null", &err), GLINT_OK);
}

// The kernel refuses to let files grow past a limit, wherever it falls.
static void test_file_size_limit(void **state) {
    (void)state;
    struct scratch scratch;
    struct rlimit old, limit;
    scratch_open(&scratch);
    scratch_path(&scratch, "w.gguf");
    size_t n_whole;
    assert_int_equal(write_file(scratch.path, NULL), GLINT_OK);
    free(scratch_read(scratch.path, &n_whole));
    scratch_write(scratch.path, "precious", 8);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t n = 0; n < n_whole; n += 13) {
        struct glint_error err = {.status = GLINT_OK};
        limit = (struct rlimit){n, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        enum glint_status status = write_file(scratch.path, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, GLINT_E_IO);
        assert_non_null(strstr(err.text, "w.gguf.part: cannot write after byte"));
        assert_int_equal(scratch_count(&scratch), 1); // the old file alone, untouched
        size_t n_old;
        uint8_t *data = scratch_read(scratch.path, &n_old);
        assert_int_equal(n_old, 8);
        assert_memory_equal(data, "precious", 8);
        free(data);
    }
    signal(SIGXFSZ, handler);
    scratch_close(&scratch);
}

static enum glint_status write_context(void *context, struct glint_error *err) {
    return write_file(context, err);
}

static void test_each_allocation_failing(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    scratch_path(&scratch, "w.gguf");
    assert_true(glint_fault_each(write_context, scratch.path) > 15);
    check_file(scratch.path);
    assert_int_equal(scratch_count(&scratch), 1);
    scratch_close(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_back),
        cmocka_unit_test(test_copies_values),
        cmocka_unit_test(test_wrong_use),
        cmocka_unit_test(test_unfinished_is_removed),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
