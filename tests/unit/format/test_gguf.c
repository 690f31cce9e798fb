// SPDX-License-Identifier: Apache-2.0
// test_gguf.c — what the GGUF reader takes and refuses: each kind of damage, every prefix,
// 10,000 mutations, split models, each allocation failing.
#include "fault.h"
#include "unit/format/gguf_bytes.h"
#include "unit/format/scratch.h"

// The reader wants bytes aligned to 8, and the sanitizer an exact end.
static void *exact_copy(const void *data, size_t n) {
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    return copy;
}

static struct glint_gguf *open_bytes(const struct glint_buffer *bytes) {
    struct glint_gguf *gguf;
    struct glint_error err = {.status = GLINT_OK};
    if (glint_gguf_open_memory(&gguf, bytes->data, bytes->n, "m.gguf", &err) != GLINT_OK)
        fail_msg("%s", err.text);
    return gguf;
}

// Takes the bytes. The error must hold each of the texts.
static void assert_refused(struct glint_buffer *bytes, enum glint_status status, const char *a,
                           const char *b) {
    struct glint_gguf *gguf;
    struct glint_error err = {.status = GLINT_OK};
    void *copy = exact_copy(bytes->data, bytes->n);
    assert_false(bytes->failed);
    enum glint_status found = glint_gguf_open_memory(&gguf, copy, bytes->n, "m.gguf", &err);
    if (found != status || !strstr(err.text, a) || !strstr(err.text, b))
        fail_msg("found %s \"%s\", expected %s with \"%s\" and \"%s\"", glint_status_name(found),
                 err.text, glint_status_name(status), a, b);
    assert_non_null(strstr(err.text, "m.gguf: "));
    assert_null(gguf);
    free(copy);
    glint_buffer_fini(bytes);
}

// ---- what it reads ------------------------------------------------------------------------------

static void check_scalars(const struct glint_gguf *gguf) {
    static const struct {
        const char *key;
        int64_t value;
    } ints[] = {{"u8", 200},          {"i8", -100}, {"u16", 60000}, {"i16", -30000},
                {"u32", 4000000000u}, {"i32", -7},  {"i64", -5}};
    struct glint_error err;
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        int64_t value;
        uint32_t natural = 77;
        assert_true(glint_gguf_item_i64(glint_gguf_find(gguf, ints[i].key), 0, &value));
        assert_true(value == ints[i].value);
        enum glint_status status = glint_gguf_get_u32(gguf, ints[i].key, &natural, &err);
        assert_int_equal(status, value >= 0 ? GLINT_OK : GLINT_E_FORMAT);
        assert_true(natural == (value >= 0 ? (uint32_t)value : 77));
    }
    float number;
    bool truth;
    struct glint_view text;
    assert_int_equal(glint_gguf_get_f32(gguf, "f32", &number, &err), GLINT_OK);
    assert_true(number == 1.5f);
    assert_int_equal(glint_gguf_get_f32(gguf, "f64", &number, &err), GLINT_OK);
    assert_true(number == 2.5f);
    assert_int_equal(glint_gguf_get_f32(gguf, "u8", &number, &err), GLINT_OK);
    assert_true(number == 200.0f);
    assert_int_equal(glint_gguf_get_bool(gguf, "bool", &truth, &err), GLINT_OK);
    assert_true(truth);
    assert_int_equal(glint_gguf_get_string(gguf, "string", &text, &err), GLINT_OK);
    assert_true(glint_view_is(text, "text"));
}

static void check_arrays(const struct glint_gguf *gguf) {
    const struct glint_gguf_kv *kv;
    int64_t value;
    bool truth;
    struct glint_view text;
    struct glint_error err;
    assert_int_equal(glint_gguf_get_array(gguf, "ints", GLINT_GGUF_INTS, &kv, &err), GLINT_OK);
    assert_int_equal(kv->n, 3);
    assert_true(glint_gguf_item_i64(kv, 1, &value) && value == -2);
    assert_false(glint_gguf_item_i64(kv, 3, &value));
    assert_int_equal(glint_gguf_get_array(gguf, "ints", GLINT_GGUF_FLOATS, &kv, &err), GLINT_OK);
    assert_int_equal(glint_gguf_get_array(gguf, "bools", GLINT_GGUF_BOOLS, &kv, &err), GLINT_OK);
    assert_true(glint_gguf_item_bool(kv, 0, &truth) && !truth);
    assert_true(glint_gguf_item_bool(kv, 1, &truth) && truth);
    assert_false(glint_gguf_item_bool(kv, 2, &truth));
    assert_int_equal(glint_gguf_get_array(gguf, "strings", GLINT_GGUF_STRINGS, &kv, &err),
                     GLINT_OK);
    assert_true(glint_gguf_item_string(kv, 2, &text) && glint_view_is(text, "ccc"));
    assert_true(glint_gguf_item_string(kv, 1, &text) && text.n == 0);
    assert_false(glint_gguf_item_string(kv, 3, &text));
    assert_int_equal(glint_gguf_get_array(gguf, "empty", GLINT_GGUF_STRINGS, &kv, &err), GLINT_OK);
    assert_int_equal(kv->n, 0);
    assert_int_equal(glint_gguf_get_array(gguf, "nested", GLINT_GGUF_INTS, &kv, &err),
                     GLINT_E_FORMAT);
    assert_int_equal(glint_gguf_find(gguf, "nested")->n, 2);
}

static void check_tensors(const struct glint_gguf *gguf, const char *bytes) {
    assert_int_equal(gguf->n_tensors, 3);
    assert_string_equal(gguf->tensors[0].name, "b"); // file order
    const struct glint_gguf_tensor *b = glint_gguf_find_tensor(gguf, "b");
    assert_ptr_equal(b, &gguf->tensors[0]);
    assert_int_equal(b->n_dims, 2);
    assert_int_equal(b->dims[0], 32);
    assert_int_equal(b->dims[1], 2);
    assert_int_equal(b->dims[3], 1);
    assert_int_equal(b->n_values, 64);
    assert_int_equal(b->n_bytes, 68);
    assert_int_equal(b->offset % 64, 0);
    assert_ptr_equal(b->data, bytes + b->offset);
    assert_int_equal(glint_gguf_find_tensor(gguf, "a")->n_bytes, 12);
    assert_int_equal(glint_gguf_find_tensor(gguf, "c")->n_bytes, 20);
    assert_null(glint_gguf_find_tensor(gguf, "d"));
    assert_int_equal(gguf->n_tensor_bytes, 100);
    assert_int_equal(gguf->alignment, 64);
}

static void test_sample(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        struct glint_buffer bytes = {.data = NULL};
        gguf_sample(&bytes, version);
        struct glint_gguf *gguf = open_bytes(&bytes);
        assert_int_equal(gguf->version, version);
        assert_int_equal(gguf->n_kvs, 18);
        assert_int_equal(gguf->n_shards, 1);
        check_scalars(gguf);
        check_arrays(gguf);
        check_tensors(gguf, bytes.data);
        glint_gguf_close(&gguf);
        assert_null(gguf);
        glint_buffer_fini(&bytes);
    }
}

static void test_messages(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    gguf_sample(&bytes, 3);
    struct glint_gguf *gguf = open_bytes(&bytes);
    struct glint_error err;
    uint32_t natural = 5;
    const struct glint_gguf_kv *kv;
    assert_int_equal(glint_gguf_get_u32(gguf, "absent", &natural, &err), GLINT_E_NOTFOUND);
    assert_string_equal(err.text, "m.gguf: key absent: found nothing, expected a whole number from "
                                  "0 to 4294967295");
    assert_int_equal(glint_gguf_opt_u32(gguf, "absent", &natural, &err), GLINT_OK);
    assert_int_equal(natural, 5);
    assert_int_equal(glint_gguf_opt_u32(gguf, "string", &natural, &err), GLINT_E_FORMAT);
    assert_string_equal(err.text, "m.gguf: key string: found a string of 4 bytes, expected a whole "
                                  "number from 0 to 4294967295");
    assert_int_equal(glint_gguf_get_u32(gguf, "u64", &natural, &err), GLINT_E_FORMAT);
    assert_int_equal(glint_gguf_get_u32(gguf, "i32", &natural, &err), GLINT_E_FORMAT);
    assert_non_null(strstr(err.text, "found the i32 -7"));
    assert_int_equal(glint_gguf_get_u32(gguf, "ints", &natural, &err), GLINT_E_FORMAT);
    assert_non_null(strstr(err.text, "found an array of 3 i16"));
    assert_int_equal(glint_gguf_get_array(gguf, "u8", GLINT_GGUF_INTS, &kv, &err), GLINT_E_FORMAT);
    assert_non_null(strstr(err.text, "found the u8 200, expected an array of integers"));
    glint_gguf_close(&gguf);
    glint_buffer_fini(&bytes);
}

// ---- what it refuses
// ------------------------------------------------------------------------------

static void test_bad_heads(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    glint_buffer_append_text(&bytes, "GGUX and more bytes than the header has");
    assert_refused(&bytes, GLINT_E_FORMAT, "magic", "expected \"GGUF\"");
    gguf_head(&bytes, 1, 0, 0);
    assert_refused(&bytes, GLINT_E_UNSUPPORTED, "found 1", "expected 2 or 3");
    gguf_head(&bytes, 4, 0, 0);
    assert_refused(&bytes, GLINT_E_UNSUPPORTED, "found 4", "expected 2 or 3");
    gguf_head(&bytes, 0x03000000, 0, 0);
    assert_refused(&bytes, GLINT_E_UNSUPPORTED, "big-endian", "");
    gguf_head(&bytes, 3, UINT64_MAX, 0);
    assert_refused(&bytes, GLINT_E_FORMAT, "number of tensors", "18446744073709551615");
    gguf_head(&bytes, 3, 0, UINT64_MAX / 2);
    assert_refused(&bytes, GLINT_E_FORMAT, "number of keys", "");
    gguf_head(&bytes, 3, 0, 2); // two keys announced, one there
    gguf_key(&bytes, "k", GLINT_GGUF_U8);
    gguf_le(&bytes, 0, 1);
    assert_refused(&bytes, GLINT_E_FORMAT, "number of keys", "found 2");
}

static void begin_one_kv(struct glint_buffer *bytes) {
    gguf_head(bytes, 3, 0, 1);
}

static void test_bad_keys(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    begin_one_kv(&bytes);
    gguf_le(&bytes, UINT64_MAX, 8);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key 0", "length of 18446744073709551615");
    begin_one_kv(&bytes);
    gguf_key(&bytes, "", GLINT_GGUF_U8);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key 0", "length of 0");
    begin_one_kv(&bytes);
    gguf_key(&bytes, "\xff", GLINT_GGUF_U8);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key 0", "UTF-8");
    begin_one_kv(&bytes);
    gguf_key(&bytes, "\x1b[2J", GLINT_GGUF_U8);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key 0", "control characters");
    begin_one_kv(&bytes);
    gguf_key(&bytes, "k", 13);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key k", "value type 13");
    begin_one_kv(&bytes);
    gguf_key(&bytes, "flag", GLINT_GGUF_BOOL);
    gguf_le(&bytes, 2, 1);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key flag", "the boolean 2");
    gguf_head(&bytes, 3, 0, 2);
    for (int i = 0; i < 2; i++) {
        gguf_key(&bytes, "twice", GLINT_GGUF_U8);
        gguf_le(&bytes, 1, 1);
    }
    assert_refused(&bytes, GLINT_E_FORMAT, "key twice", "found twice");
}

static void test_bad_arrays(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    static const uint32_t types[] = {GLINT_GGUF_U8, GLINT_GGUF_F64, GLINT_GGUF_STRING,
                                     GLINT_GGUF_ARRAY};
    static const uint64_t counts[] = {41, UINT64_MAX, UINT64_MAX / 8 + 2, UINT64_C(1) << 61};
    for (int i = 0; i < 16; i++) {
        begin_one_kv(&bytes);
        gguf_array(&bytes, "k", types[i / 4], counts[i % 4]);
        gguf_data(&bytes, 40);
        assert_refused(&bytes, GLINT_E_FORMAT, "key k", "expected one that fits the 40 bytes");
    }
    begin_one_kv(&bytes);
    gguf_array(&bytes, "k", 99, 1);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key k", "value type 99");
    begin_one_kv(&bytes);
    gguf_array(&bytes, "k", GLINT_GGUF_STRING, 2);
    gguf_text(&bytes, "fits");
    gguf_le(&bytes, 1000, 8);
    gguf_data(&bytes, 40);
    assert_refused(&bytes, GLINT_E_FORMAT, "key k", "the file ends inside it");
    // Arrays in arrays, without end.
    begin_one_kv(&bytes);
    gguf_array(&bytes, "k", GLINT_GGUF_ARRAY, 1);
    for (int i = 0; i < 10000; i++) {
        gguf_le(&bytes, GLINT_GGUF_ARRAY, 4);
        gguf_le(&bytes, 1, 8);
    }
    assert_refused(&bytes, GLINT_E_LIMIT, "key k", "nested deeper than 4");
}

static void test_bad_alignment(void **state) {
    (void)state;
    static const uint64_t bad[] = {0, 1, 4, 24, 33, 1 << 21, 0x80000000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct glint_buffer bytes = {.data = NULL};
        begin_one_kv(&bytes);
        gguf_key(&bytes, "general.alignment", GLINT_GGUF_U32);
        gguf_le(&bytes, bad[i], 4);
        assert_refused(&bytes, GLINT_E_FORMAT, "general.alignment", "a power of two from 8 to");
    }
}

// One tensor and 256 bytes of data.
static void one_tensor(struct glint_buffer *bytes, uint64_t n_cols, uint64_t n_rows, uint32_t type,
                       uint64_t offset) {
    gguf_head(bytes, 3, 1, 0);
    gguf_tensor(bytes, "t", n_cols, n_rows, type, offset);
    gguf_pad(bytes, 32);
    gguf_data(bytes, 256);
}

static void test_bad_tensors(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    one_tensor(&bytes, 64, 0, 0, 0); // exactly fits
    struct glint_gguf *gguf = open_bytes(&bytes);
    glint_gguf_close(&gguf);
    glint_buffer_fini(&bytes);
    one_tensor(&bytes, 65, 0, 0, 0);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "260 bytes at offset 0");
    one_tensor(&bytes, 64, 0, 0, 32);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "256 bytes at offset 32");
    one_tensor(&bytes, 1, 0, 0, 16);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "expected a multiple of 32");
    one_tensor(&bytes, 1, 0, 0, UINT64_MAX - 31);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "inside the file");
    one_tensor(&bytes, 0, 0, 0, 0);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "dimension 0: found 0");
    one_tensor(&bytes, UINT64_C(1) << 40, UINT64_C(1) << 24, 0, 0);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "dimension 1");
    one_tensor(&bytes, UINT64_MAX, 0, 0, 0);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "fewer than 2^56");
    one_tensor(&bytes, 33, 1, 8, 0);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "a multiple of 32 for type Q8_0");
    static const uint32_t unknown[] = {4, 5, 31, 37, 200, UINT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        one_tensor(&bytes, 32, 1, unknown[i], 0);
        assert_refused(&bytes, GLINT_E_UNSUPPORTED, "tensor t", "type id");
    }
    for (uint32_t n_dims = 0; n_dims < 7; n_dims++) {
        if (n_dims >= 1 && n_dims <= 4)
            continue;
        gguf_head(&bytes, 3, 1, 0);
        gguf_text(&bytes, "t");
        gguf_le(&bytes, n_dims, 4);
        gguf_data(&bytes, 100);
        assert_refused(&bytes, GLINT_E_FORMAT, "tensor t", "dimensions, expected 1 to 4");
    }
}

static void test_tensors_against_each_other(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    gguf_head(&bytes, 3, 2, 0);
    gguf_tensor(&bytes, "x", 9, 0, 0, 32); // bytes 32..68
    gguf_tensor(&bytes, "y", 4, 0, 0, 64);
    gguf_pad(&bytes, 32);
    gguf_data(&bytes, 256);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor y", "after the end of x");
    gguf_head(&bytes, 3, 2, 0);
    gguf_tensor(&bytes, "x", 8, 0, 0, 32);
    gguf_tensor(&bytes, "x", 8, 0, 0, 0);
    gguf_pad(&bytes, 32);
    gguf_data(&bytes, 256);
    assert_refused(&bytes, GLINT_E_FORMAT, "tensor x", "found twice");
}

// ---- damage
// -----------------------------------------------------------------------------------------

static void test_every_prefix_is_refused(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    gguf_sample(&bytes, 3);
    for (size_t n = 0; n < bytes.n; n++) {
        struct glint_gguf *gguf;
        struct glint_error err = {.status = GLINT_OK};
        void *copy = exact_copy(bytes.data, n);
        enum glint_status status = glint_gguf_open_memory(&gguf, copy, n, "m.gguf", &err);
        if (status != GLINT_E_FORMAT || !strstr(err.text, "m.gguf: "))
            fail_msg("%zu bytes: found %s \"%s\"", n, glint_status_name(status), err.text);
        free(copy);
    }
    glint_buffer_fini(&bytes);
}

// Touches all that an open file shows.
static uint64_t walk(const struct glint_gguf *gguf) {
    uint64_t sum = 0;
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        const struct glint_gguf_kv *kv = &gguf->kvs[i];
        assert_ptr_equal(glint_gguf_find(gguf, kv->key), kv);
        for (uint64_t j = 0; j < kv->n; j++) {
            int64_t value;
            double number;
            struct glint_view text;
            if (glint_gguf_item_i64(kv, j, &value))
                sum += (uint64_t)value;
            if (glint_gguf_item_f64(kv, j, &number))
                sum += number > 0;
            if (glint_gguf_item_string(kv, j, &text))
                for (size_t c = 0; c < text.n; c++)
                    sum += (uint8_t)text.data[c];
        }
    }
    for (size_t i = 0; i < gguf->n_tensors; i++)
        for (uint64_t j = 0; j < gguf->tensors[i].n_bytes; j++)
            sum += gguf->tensors[i].data[j];
    return sum;
}

static void test_mutations(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    gguf_sample(&bytes, 3);
    size_t n_data = 192 + 20; // changes there are no damage to the reader
    uint64_t random = 11;
    int n_good = 0;
    for (int i = 0; i < 10000; i++) {
        uint8_t *changed = exact_copy(bytes.data, bytes.n);
        size_t n = scratch_mutate(changed, bytes.n - n_data, &random);
        if (n == bytes.n - n_data)
            n = bytes.n;
        uint8_t *copy = exact_copy(changed, n);
        struct glint_gguf *gguf;
        struct glint_error err = {.status = GLINT_OK};
        if (glint_gguf_open_memory(&gguf, copy, n, "m.gguf", &err) == GLINT_OK) {
            walk(gguf);
            n_good++;
        } else {
            assert_non_null(strstr(err.text, "m.gguf: "));
        }
        glint_gguf_close(&gguf);
        free(copy);
        free(changed);
    }
    assert_in_range(n_good, 100, 9900);
    glint_buffer_fini(&bytes);
}

static enum glint_status open_sample(void *context, struct glint_error *err) {
    const struct glint_buffer *bytes = context;
    struct glint_gguf *gguf;
    GLINT_TRY(glint_gguf_open_memory(&gguf, bytes->data, bytes->n, "m.gguf", err));
    glint_gguf_close(&gguf);
    return GLINT_OK;
}

static void test_each_allocation_failing(void **state) {
    (void)state;
    struct glint_buffer bytes = {.data = NULL};
    gguf_sample(&bytes, 3);
    assert_true(glint_fault_each(open_sample, &bytes) > 20);
    glint_buffer_fini(&bytes);
}

// ---- split models
// -----------------------------------------------------------------------------------

struct split {
    uint64_t count, number, tensors;
};

static void write_shard(struct scratch *scratch, const char *name, struct split split,
                        const char *tensor) {
    struct glint_buffer bytes = {.data = NULL};
    gguf_head(&bytes, 3, tensor ? 1 : 0, 4);
    gguf_key(&bytes, "split.no", GLINT_GGUF_U16);
    gguf_le(&bytes, split.number, 2);
    gguf_key(&bytes, "split.count", GLINT_GGUF_U16);
    gguf_le(&bytes, split.count, 2);
    gguf_key(&bytes, "split.tensors.count", GLINT_GGUF_I32);
    gguf_le(&bytes, split.tensors, 4);
    gguf_key(&bytes, "who", GLINT_GGUF_U8);
    gguf_le(&bytes, split.number, 1);
    if (tensor)
        gguf_tensor(&bytes, tensor, 4, 0, 0, 0);
    gguf_pad(&bytes, 32);
    gguf_data(&bytes, tensor ? 16 : 0);
    scratch_write(scratch_path(scratch, name), bytes.data, bytes.n);
    glint_buffer_fini(&bytes);
}

static const char *const shard_names[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                          "m-00003-of-00003.gguf"};

static void write_split(struct scratch *scratch) {
    write_shard(scratch, shard_names[0], (struct split){3, 0, 2}, NULL);
    write_shard(scratch, shard_names[1], (struct split){3, 1, 2}, "one");
    write_shard(scratch, shard_names[2], (struct split){3, 2, 2}, "two");
}

static void assert_split_refused(struct scratch *scratch, const char *name, const char *a,
                                 const char *b) {
    struct glint_gguf *gguf;
    struct glint_error err = {.status = GLINT_OK};
    assert_int_not_equal(glint_gguf_open(&gguf, scratch_path(scratch, name), &err), GLINT_OK);
    assert_null(gguf);
    if (!strstr(err.text, a) || !strstr(err.text, b))
        fail_msg("found \"%s\", expected \"%s\" and \"%s\"", err.text, a, b);
}

static void test_split(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_gguf *gguf;
    struct glint_error err = {.status = GLINT_OK};
    scratch_open(&scratch);
    write_split(&scratch);
    for (int i = 0; i < 3; i++) {
        if (glint_gguf_open(&gguf, scratch_path(&scratch, shard_names[i]), &err) != GLINT_OK)
            fail_msg("%s", err.text);
        int64_t who;
        assert_true(glint_gguf_item_i64(glint_gguf_find(gguf, "who"), 0, &who));
        assert_int_equal(who, 0); // keys are the first shard's
        assert_int_equal(gguf->n_shards, 3);
        assert_int_equal(gguf->n_tensors, 2);
        assert_int_equal(glint_gguf_find_tensor(gguf, "two")->i_shard, 2);
        assert_int_equal(walk(gguf) > 0, 1);
        glint_gguf_close(&gguf);
    }
    scratch_close(&scratch);
}

static void test_bad_split(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    write_split(&scratch);
    write_shard(&scratch, "other.gguf", (struct split){3, 0, 2}, NULL);
    assert_split_refused(&scratch, "other.gguf", "other.gguf: is one of 3", "-of-00003.gguf");
    write_shard(&scratch, shard_names[1], (struct split){3, 2, 2}, "one");
    assert_split_refused(&scratch, shard_names[0], "m-00002-of-00003.gguf: key split.no",
                         "found 2, expected 1");
    write_shard(&scratch, shard_names[1], (struct split){4, 1, 2}, "one");
    assert_split_refused(&scratch, shard_names[0], "m-00002-of-00003.gguf: key split.count",
                         "found 4, expected 3");
    write_shard(&scratch, shard_names[1], (struct split){3, 1, 2}, "two");
    assert_split_refused(&scratch, shard_names[0], "tensor two", "found twice");
    write_shard(&scratch, shard_names[1], (struct split){3, 1, 9}, "one");
    assert_split_refused(&scratch, shard_names[2], "split.tensors.count", "found 9, expected 2");
    unlink(scratch_path(&scratch, shard_names[1]));
    assert_split_refused(&scratch, shard_names[2], "m-00002-of-00003.gguf", "cannot open");
    write_shard(&scratch, shard_names[0], (struct split){60000, 0, 2}, NULL);
    assert_split_refused(&scratch, shard_names[0], "split.count", "");
    scratch_close(&scratch);
}

static enum glint_status open_shards(void *context, struct glint_error *err) {
    struct glint_gguf *gguf;
    GLINT_TRY(glint_gguf_open(&gguf, context, err));
    glint_gguf_close(&gguf);
    return GLINT_OK;
}

static void test_each_allocation_of_a_split_failing(void **state) {
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    write_split(&scratch);
    scratch_path(&scratch, shard_names[1]);
    assert_true(glint_fault_each(open_shards, scratch.path) > 20);
    scratch_close(&scratch);
}

static void test_files(void **state) {
    (void)state;
    struct scratch scratch;
    struct glint_gguf *gguf;
    struct glint_error err;
    scratch_open(&scratch);
    assert_int_equal(glint_gguf_open(&gguf, scratch_path(&scratch, "none.gguf"), &err),
                     GLINT_E_NOTFOUND);
    assert_non_null(strstr(err.text, "none.gguf: cannot open"));
    assert_int_equal(glint_gguf_open(&gguf, scratch.folder, &err), GLINT_E_ARG);
    scratch_write(scratch_path(&scratch, "empty.gguf"), "", 0);
    assert_int_equal(glint_gguf_open(&gguf, scratch.path, &err), GLINT_E_FORMAT);
    scratch_close(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_bad_heads),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_bad_arrays),
        cmocka_unit_test(test_bad_alignment),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_tensors_against_each_other),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_each_allocation_failing),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_bad_split),
        cmocka_unit_test(test_each_allocation_of_a_split_failing),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
