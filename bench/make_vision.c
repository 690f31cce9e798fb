// SPDX-License-Identifier: Apache-2.0
// make_vision.c — writes a GGUF vision file of the released tower's shape, or fewer layers of it,
// with random weights, for measuring speed and memory. Same options, same bytes.
//
//     make_vision OUT.gguf [LAYERS [TYPE]]       50 layers, q8_0
#include "base/alloc.h"
#include "format/gguf_write.h"
#include "quant/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1536,
    FFN = 8960,
    HEADS = 16,
    SIDE = 32,
    PATCH = 14,
    ADAPTER = 4096,
    TEXT = 6656,
    POOL = 1 << 20, // values encoded once; every tensor is pieced together from runs of them
    MAX_TENSOR = 2048,
};

enum fill { MATRIX, ONES, ZEROS };

struct tensor {
    char name[64];
    uint64_t n_bytes;
    enum glint_dtype dtype;
    enum fill fill;
};

struct maker {
    struct glint_gguf_writer *writer;
    const struct glint_dtype_info *type;
    struct tensor tensors[MAX_TENSOR];
    int n;
};

static void add(struct maker *maker, const char *name, enum fill fill, uint32_t n_dims,
                const uint64_t *dims) {
    struct tensor *tensor = &maker->tensors[maker->n++];
    bool f32 = fill != MATRIX || n_dims == 4 || strstr(name, "position");
    *tensor = (struct tensor){.fill = fill, .dtype = f32 ? GLINT_DTYPE_F32 : maker->type->dtype};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    uint64_t rows = 1;
    for (uint32_t i = 1; i < n_dims; i++)
        rows *= dims[i];
    tensor->n_bytes = rows * glint_dtype_bytes(tensor->dtype, dims[0]);
    glint_gguf_add_tensor(maker->writer, tensor->name, (uint32_t)tensor->dtype, n_dims, dims);
}

static void add_linear(struct maker *maker, const char *name, uint64_t n_in, uint64_t n_out) {
    char full[80];
    snprintf(full, sizeof full, "%s.weight", name);
    add(maker, full, MATRIX, 2, (uint64_t[]){n_in, n_out});
    snprintf(full, sizeof full, "%s.bias", name);
    add(maker, full, ZEROS, 1, &n_out);
}

static void add_norm(struct maker *maker, const char *name) {
    char full[80];
    snprintf(full, sizeof full, "%s.weight", name);
    add(maker, full, ONES, 1, (uint64_t[]){WIDTH});
    snprintf(full, sizeof full, "%s.bias", name);
    add(maker, full, ZEROS, 1, (uint64_t[]){WIDTH});
}

static void add_all(struct maker *maker, int n_layer) {
    char name[64];
    add(maker, "v.patch_embd.weight", MATRIX, 4, (uint64_t[]){PATCH, PATCH, 3, WIDTH});
    add(maker, "v.position_embd.weight", MATRIX, 2, (uint64_t[]){WIDTH, SIDE * SIDE});
    add_norm(maker, "v.pre_ln");
    add_norm(maker, "v.post_ln");
    for (int l = 0; l < n_layer; l++) {
        static const char *const square[] = {"attn_q", "attn_k", "attn_v", "attn_out"};
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "v.blk.%d.%s", l, square[i]);
            add_linear(maker, name, WIDTH, WIDTH);
        }
        snprintf(name, sizeof name, "v.blk.%d.ffn_up", l);
        add_linear(maker, name, WIDTH, FFN);
        snprintf(name, sizeof name, "v.blk.%d.ffn_down", l);
        add_linear(maker, name, FFN, WIDTH);
        snprintf(name, sizeof name, "v.blk.%d.ln1", l);
        add_norm(maker, name);
        snprintf(name, sizeof name, "v.blk.%d.ln2", l);
        add_norm(maker, name);
    }
    add(maker, "mm.0.weight", MATRIX, 2, (uint64_t[]){4 * WIDTH, ADAPTER});
    add(maker, "mm.1.weight", MATRIX, 2, (uint64_t[]){ADAPTER, ADAPTER});
    add(maker, "mm.2.weight", MATRIX, 2, (uint64_t[]){ADAPTER, TEXT});
}

static void put_keys(struct glint_gguf_writer *writer, int n_layer) {
    const float half[3] = {0.5f, 0.5f, 0.5f};
    const struct {
        const char *key;
        uint32_t value;
    } sizes[] = {
        {"projection_dim", TEXT},        {"image_size", 2 * SIDE * PATCH},
        {"patch_size", PATCH},           {"embedding_length", WIDTH},
        {"feed_forward_length", FFN},    {"block_count", (uint32_t)n_layer},
        {"attention.head_count", HEADS}, {"spatial_merge_size", 2},
    };
    glint_gguf_put_text(writer, "general.architecture", "clip");
    glint_gguf_put_text(writer, "general.type", "mmproj");
    glint_gguf_put_bool(writer, "clip.has_vision_encoder", true);
    glint_gguf_put_text(writer, "clip.projector_type", "muse-glimmer");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char key[64];
        snprintf(key, sizeof key, "clip.vision.%s", sizes[i].key);
        glint_gguf_put_u32(writer, key, sizes[i].value);
    }
    glint_gguf_put_f32(writer, "clip.vision.attention.layer_norm_epsilon", 1e-5f);
    glint_gguf_put_f32s(writer, "clip.vision.image_mean", half, 3);
    glint_gguf_put_f32s(writer, "clip.vision.image_std", half, 3);
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// Values of about 0.02, as float32 and in the type of the matrices.
static bool make_pools(const struct maker *maker, float **plain, uint8_t **encoded) {
    uint64_t state = 1;
    *plain = glint_alloc(POOL, sizeof(float));
    *encoded = glint_alloc(glint_dtype_bytes(maker->type->dtype, POOL), 1);
    if (!*plain || !*encoded)
        return false;
    for (int i = 0; i < POOL; i++)
        (*plain)[i] = (float)((double)(next_random(&state) >> 11) * 0x1p-53 - 0.5) * 0.07f;
    maker->type->encode(*plain, NULL, *encoded, POOL);
    return true;
}

static enum glint_status write_tensor(struct maker *maker, const struct tensor *tensor,
                                      const float *plain, const uint8_t *encoded,
                                      struct glint_error *err) {
    static float same[FFN];
    for (int i = 0; i < FFN; i++)
        same[i] = tensor->fill == ONES;
    bool f32 = tensor->dtype == GLINT_DTYPE_F32;
    const void *source = tensor->fill != MATRIX ? same : f32 ? (const void *)plain : encoded;
    uint64_t room = tensor->fill != MATRIX ? sizeof same : glint_dtype_bytes(tensor->dtype, POOL);
    for (uint64_t left = tensor->n_bytes, n; left > 0; left -= n) {
        n = left < room ? left : room;
        GLINT_TRY(glint_gguf_writer_data(maker->writer, source, n, err));
    }
    return GLINT_OK;
}

static enum glint_status make(struct maker *maker, const char *path, int n_layer,
                              struct glint_error *err) {
    float *plain = NULL;
    uint8_t *encoded = NULL;
    GLINT_TRY(glint_gguf_writer_open(&maker->writer, err));
    put_keys(maker->writer, n_layer);
    add_all(maker, n_layer);
    enum glint_status status = make_pools(maker, &plain, &encoded)
                                   ? glint_gguf_writer_begin(maker->writer, path, err)
                                   : glint_fail(err, GLINT_E_NOMEM, "no memory");
    for (int i = 0; status == GLINT_OK && i < maker->n; i++)
        status = write_tensor(maker, &maker->tensors[i], plain, encoded, err);
    if (status == GLINT_OK)
        status = glint_gguf_writer_commit(&maker->writer, err);
    glint_gguf_writer_discard(&maker->writer);
    glint_free(plain);
    glint_free(encoded);
    return status;
}

int main(int argc, char **argv) {
    static struct maker maker;
    struct glint_error error = {0};
    int n_layer = argc > 2 ? atoi(argv[2]) : 50;
    maker.type = glint_dtype_by_name(argc > 3 ? argv[3] : "q8_0");
    if (argc < 2 || n_layer < 1 || n_layer > 100 || !maker.type) {
        fprintf(stderr, "usage: make_vision OUT.gguf [LAYERS [TYPE]]\n");
        return 2;
    }
    if (make(&maker, argv[1], n_layer, &error) == GLINT_OK)
        return 0;
    fprintf(stderr, "make_vision: %s\n", error.text);
    return 1;
}
