// SPDX-License-Identifier: Apache-2.0
// test_safetensors.c — single files and shards, each kind of damage, every prefix, mutations.
#include "fault.h"
#include "format/safetensors.h"
#include "unit/format/scratch.h"

// Header text and n bytes of data as a file.
static void make_file(struct glint_buffer *out, const char *header, size_t n) {
    uint64_t n_header = strlen(header);
    for (int i = 0; i < 8; i++)
        glint_buffer_append_char(out, (char)(n_header >> 8 * i));
    glint_buffer_append_text(out, header);
    for (size_t i = 0; i < n; i++)
        glint_buffer_append_char(out, (char)(i + 1));
}

static const char good[] = "{\"__metadata__\":{\"format\":\"pt\",\"x\":\"y\"},"
                           "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                           "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                           "\"e\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[4,4]},"
                           "\"c\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[16,21]}}   ";
enum { GOOD_DATA = 21 };

static void test_reads(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    struct glint_safetensors *set;
    struct glint_error err;
    make_file(&bytes, good, GOOD_DATA);
    if (glint_safetensors_open_memory(&set, bytes.data, bytes.n, "m", &err) != GLINT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(set->n_tensors, 4);
    assert_string_equal(set->tensors[0].name, "a"); // sorted
    assert_int_equal(set->n_tensor_bytes, GOOD_DATA);
    const struct glint_safetensors_tensor *b = glint_safetensors_find(set, "b");
    assert_int_equal(b->dtype, GLINT_SAFETENSORS_BF16);
    assert_int_equal(b->n_dims, 2);
    assert_int_equal(b->dims[1], 3);
    assert_int_equal(b->n_values, 6);
    assert_int_equal(b->n_bytes, 12);
    assert_int_equal(b->data[0], 5);
    assert_int_equal(glint_safetensors_find(set, "a")->n_values, 1);
    assert_int_equal(glint_safetensors_find(set, "e")->n_bytes, 0);
    assert_null(glint_safetensors_find(set, "__metadata__"));
    glint_safetensors_close(&set);
    assert_null(set);
    glint_buffer_fini(&bytes);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t n_data;
        const char *message;
    } cases[] = {
        {"[]", 0, "header: found an array"},
        {"{", 0, "line 1"},
        {"{\"a\":1}", 0, "tensor a: found a number"},
        {"{\"a\":{}}", 0, "tensor a: dtype"},
        {"{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "found \"Q4\""},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "tensor a: shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
         "at most 8 sizes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "more than 2^56"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "tensor a: data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "two offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "found [4, 0]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, "found [0, 4]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8,
         "found 8 bytes, expected 4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5,
         "data: found 5 bytes, expected 4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
         "found a start at 4, expected 0"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
         5, "tensor b: data_offsets: found a start at 2, expected 3"},
        {"{\"\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3, "tensor name"},
        {"{\"x\\u0000y\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3,
         "tensor name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct glint_buffer bytes = {.data = NULL};
        struct glint_safetensors *set;
        struct glint_error err = {.status = GLINT_OK};
        make_file(&bytes, cases[i].header, cases[i].n_data);
        if (glint_safetensors_open_memory(&set, bytes.data, bytes.n, "m.st", &err) == GLINT_OK)
            fail_msg("%s: was taken", cases[i].header);
        assert_null(set);
        if (!strstr(err.text, cases[i].message) || !strstr(err.text, "m.st: "))
            fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].message);
        glint_buffer_fini(&bytes);
    }
}

static enum glint_status open_copy(const uint8_t *data, size_t n, struct glint_error *err) {
    struct glint_safetensors *set;
    uint8_t *copy = malloc(n ? n : 1); // the sanitizer sees reads past the end
    assert_non_null(copy);
    memcpy(copy, data, n);
    enum glint_status status = glint_safetensors_open_memory(&set, copy, n, "m", err);
    unsigned sum = 0;
    for (size_t i = 0; set && i < set->n_tensors; i++)
        for (uint64_t j = 0; j < set->tensors[i].n_bytes; j++)
            sum += set->tensors[i].data[j];
    assert_true(sum < 1u << 30);
    glint_safetensors_close(&set);
    free(copy);
    return status;
}

static void test_every_prefix_is_refused(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    make_file(&bytes, good, GOOD_DATA);
    for (size_t n = 0; n < bytes.n; n++) {
        struct glint_error err = {.status = GLINT_OK};
        assert_int_equal(open_copy((uint8_t *)bytes.data, n, &err), GLINT_E_FORMAT);
        assert_true(err.text[0] != 0);
    }
    glint_buffer_fini(&bytes);
}

static void test_mutations(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    make_file(&bytes, good, GOOD_DATA);
    uint64_t random = 5;
    int n_good = 0;
    for (int i = 0; i < 10000; i++) {
        uint8_t changed[1024];
        struct glint_error err = {.status = GLINT_OK};
        assert_true(bytes.n < sizeof changed);
        memcpy(changed, bytes.data, bytes.n);
        size_t n = scratch_mutate(changed, bytes.n, &random);
        bool taken = open_copy(changed, n, &err) == GLINT_OK;
        n_good += taken;
        assert_true(taken || err.text[0] != 0);
    }
    assert_in_range(n_good, 50, 9900);
    glint_buffer_fini(&bytes);
}

// ---- shards
// -----------------------------------------------------------------------------------------

static void write_part(struct scratch *scratch, const char *name, const char *tensor) {
    struct glint_buffer bytes = {.data = NULL}, header = {.data = NULL};
    glint_buffer_printf(&header, "{\"%s\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                        tensor);
    make_file(&bytes, header.data, 3);
    scratch_write(scratch_path(scratch, name), bytes.data, bytes.n);
    glint_buffer_fini(&bytes);
    glint_buffer_fini(&header);
}

static void write_index(struct scratch *scratch, const char *text) {
    scratch_write(scratch_path(scratch, "model.safetensors.index.json"), text, strlen(text));
}

static void assert_index_refused(struct scratch *scratch, const char *text, const char *message) {
    struct glint_safetensors *set;
    struct glint_error err = {.status = GLINT_OK};
    write_index(scratch, text);
    if (glint_safetensors_open(&set, scratch->folder, &err) == GLINT_OK)
        fail_msg("%s: was taken", text);
    assert_null(set);
    if (!strstr(err.text, message))
        fail_msg("found \"%s\", expected \"%s\"", err.text, message);
}

static void test_shards(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_safetensors *set;
    struct glint_error err = {.status = GLINT_OK};
    scratch_open(&scratch);
    assert_int_equal(glint_safetensors_open(&set, scratch.folder, &err), GLINT_E_NOTFOUND);
    write_part(&scratch, "p1", "x");
    write_part(&scratch, "p2", "y");
    write_index(&scratch, "{\"metadata\":{},\"weight_map\":{\"x\":\"p1\",\"y\":\"p2\"}}");
    if (glint_safetensors_open(&set, scratch.folder, &err) != GLINT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(set->n_files, 2);
    const struct glint_safetensors_tensor *y = glint_safetensors_find(set, "y");
    assert_string_equal(strrchr(glint_safetensors_file(set, y->i_file), '/'), "/p2");
    glint_safetensors_done_with(set, y, 0, y->n_bytes);
    assert_int_equal(y->data[2], 3);
    glint_safetensors_close(&set);
    // The index itself may be named too, and a single file.
    scratch_path(&scratch, "model.safetensors.index.json");
    assert_int_equal(glint_safetensors_open(&set, scratch.path, &err), GLINT_OK);
    glint_safetensors_close(&set);
    assert_int_equal(glint_safetensors_open(&set, scratch_path(&scratch, "p1"), &err), GLINT_OK);
    assert_int_equal(set->n_tensors, 1);
    glint_safetensors_close(&set);

    assert_index_refused(&scratch, "{}", "weight_map: found nothing");
    assert_index_refused(&scratch, "{\"weight_map\":{}}", "weight_map");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":\"p1\",\"y\":\"p1\"}}", "y: found in");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":\"p2\",\"y\":\"p1\"}}",
                         "x: found in p1, expected in p2");
    assert_index_refused(&scratch, "{\"weight_map\":{\"y\":\"p2\",\"z\":\"p1\"}}",
                         "z: found in no shard");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":\"p1\",\"y\":\"p3\"}}", "cannot open");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":\"../p1\"}}", "a file beside it");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":\"/etc/passwd\"}}", "a file beside it");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":5}}", "a file beside it");
    write_part(&scratch, "p2", "x");
    assert_index_refused(&scratch, "{\"weight_map\":{\"x\":\"p1\",\"y\":\"p2\"}}", "found twice");
    scratch_close(&scratch);
}

static enum glint_status open_context(void *context, struct glint_error *err) {
    struct glint_safetensors *set;
    GLINT_TRY(glint_safetensors_open(&set, context, err));
    glint_safetensors_close(&set);
    return GLINT_OK;
}

static void test_each_allocation_failing(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    write_part(&scratch, "p1", "x");
    write_part(&scratch, "p2", "y");
    write_index(&scratch, "{\"weight_map\":{\"x\":\"p1\",\"y\":\"p2\"}}");
    assert_true(glint_fault_each(open_context, scratch.folder) > 10);
    scratch_close(&scratch);
}

// The golden checkpoints: three shards with an index, and a single file.
static void test_golden(void **state) {
    (void)state;
    struct glint_safetensors *set;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_safetensors_open(&set, "golden/wide", &err) != GLINT_OK)
        fail_msg("%s", err.text);
    assert_int_equal(set->n_files, 3);
    assert_int_equal(set->n_tensor_bytes, 30012288);
    glint_safetensors_close(&set);
    assert_int_equal(glint_safetensors_open(&set, "golden/nano", &err), GLINT_OK);
    assert_int_equal(set->n_files, 1);
    assert_int_equal(set->n_tensors, 204);
    glint_safetensors_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_mutations), cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_shards),    cmocka_unit_test(test_each_allocation_failing),
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
