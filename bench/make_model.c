// SPDX-License-Identifier: Apache-2.0
// make_model.c — writes a GGUF file of any Muse Glimmer shape with random weights, for measuring
// speed and memory where the released weights are not at hand. Same options, same bytes.
// Gigabytes take seconds: a pool of random normals is encoded once for each type and row length,
// and every matrix is pieced together from random runs of the pool's blocks.
// The vocabulary is invented: 256 bytes, words of letters (a merge for each two-letter word),
// then the special tokens by their official texts.
#include "base/alloc.h"
#include "format/gguf_write.h"
#include "quant/dtype.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_BYTE = 256, N_WORD2 = 26 * 26, POOL_VALUES = 1 << 20, MAX_POOL = 32, RUN_BLOCKS = 64 };

struct shape {
    uint32_t layers, width, ffn, heads, kv_heads, head_dim, window, period, vocab, context, seed;
};

struct maker {
    struct shape shape;
    const char *type;    // "mix" or a type's name
    const char *path;    // output
    bool scalar_pattern; // sliding_window_pattern as one number
    struct glint_gguf_writer *writer;
    uint64_t random;
    struct pool {
        const struct glint_dtype_info *info;
        float deviation; // of the values
        uint8_t *blocks; // [POOL_VALUES / block_len], owned
    } pools[MAX_POOL];
    int n_pool;
};

// ---- random numbers ---------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static float next_normal(uint64_t *state) { // Box-Muller, one of the pair
    double u = ((double)(next_random(state) >> 11) + 1.0) * 0x1p-53;
    double v = (double)(next_random(state) >> 11) * 0x1p-53;
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

// ---- vocabulary -------------------------------------------------------------------------------

static const struct {
    uint32_t offset; // from the first special token
    const char *text;
} specials[] = {
    {0, "<|begin_of_text|>"},
    {1, "<|end_of_text|>"},
    {7, "<|eom|>"},
    {8, "<|eot|>"},
    {18, "<|finetune_right_pad|>"},
    {22, "<|start|>"},
    {23, "<|message|>"},
    {80, "<|image_start|>"},
    {81, "<|image_end|>"},
    {82, "<|vid_start|>"},
    {83, "<|vid_end|>"},
    {87, "<|vid_frame_separator|>"},
    {90, "<|image|>"},
    {91, "<|video|>"},
    {92, "<|patch|>"},
};

enum { N_SPECIAL_LARGE = 2048, N_SPECIAL_SMALL = 93 };

static uint32_t first_special(uint32_t vocab) {
    return vocab - (vocab >= 4 * N_SPECIAL_LARGE ? N_SPECIAL_LARGE : N_SPECIAL_SMALL);
}

// The printable spelling of a byte in GPT-2 style vocabularies, as UTF-8.
static void spell_byte(unsigned byte, char out[3]) {
    unsigned code = byte, n_below = 0;
    for (unsigned b = 0; b <= byte; b++) {
        bool plain = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        if (b == byte && !plain)
            code = 0x100 + n_below;
        n_below += plain ? 0 : 1;
    }
    memset(out, 0, 3);
    if (code < 0x80) {
        out[0] = (char)code;
    } else {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
    }
}

// Word number i: all words of two letters, then of three, ...
static void spell_word(uint32_t i, char out[16]) {
    uint32_t length = 2, count = N_WORD2;
    for (; i >= count; length++, count *= 26)
        i -= count;
    out[length] = '\0';
    for (; length > 0; i /= 26)
        out[--length] = (char)('a' + i % 26);
}

static void spell_token(uint32_t vocab, uint32_t id, char out[64]) {
    uint32_t special = first_special(vocab);
    if (id < N_BYTE) {
        spell_byte(id, out);
    } else if (id < special) {
        spell_word(id - N_BYTE, out);
    } else {
        snprintf(out, 64, "<|reserved_special_token_%" PRIu32 "|>", id - special);
        for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
            if (specials[i].offset == id - special)
                snprintf(out, 64, "%s", specials[i].text);
        }
    }
}

static enum glint_status put_vocabulary(struct maker *maker, struct glint_error *err) {
    struct glint_gguf_writer *writer = maker->writer;
    uint32_t vocab = maker->shape.vocab, special = first_special(vocab);
    char text[64];
    int32_t *types = glint_alloc(vocab, sizeof *types);
    if (types == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: vocabulary of %" PRIu32, maker->path, vocab);
    glint_gguf_put_text(writer, "tokenizer.ggml.model", "gpt2");
    glint_gguf_put_text(writer, "tokenizer.ggml.pre", "llama4");
    glint_gguf_put_strings(writer, "tokenizer.ggml.tokens", vocab);
    for (uint32_t id = 0; id < vocab; id++) {
        spell_token(vocab, id, text);
        glint_gguf_put_item(writer, glint_view_of(text));
        types[id] = id < special ? 1 : 3;
    }
    glint_gguf_put_i32s(writer, "tokenizer.ggml.token_type", types, vocab);
    glint_free(types);
    uint32_t n_merge = special - N_BYTE < N_WORD2 ? special - N_BYTE : N_WORD2;
    glint_gguf_put_strings(writer, "tokenizer.ggml.merges", n_merge);
    for (uint32_t i = 0; i < n_merge; i++) {
        snprintf(text, sizeof text, "%c %c", 'a' + (int)(i / 26), 'a' + (int)(i % 26));
        glint_gguf_put_item(writer, glint_view_of(text));
    }
    glint_gguf_put_u32(writer, "tokenizer.ggml.bos_token_id", special);
    glint_gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", special + 1);
    glint_gguf_put_u32(writer, "tokenizer.ggml.eot_token_id", special + 8);
    glint_gguf_put_u32(writer, "tokenizer.ggml.padding_token_id", special + 18);
    glint_gguf_put_bool(writer, "tokenizer.ggml.add_bos_token", true);
    glint_gguf_put_bool(writer, "tokenizer.ggml.add_sep_token", false);
    return GLINT_OK;
}

// ---- header -----------------------------------------------------------------------------------

static bool is_sliding(const struct shape *shape, uint32_t layer) {
    return layer % shape->period != shape->period - 1;
}

static void put_sizes(struct glint_gguf_writer *writer, const struct shape *shape) {
    const struct {
        const char *key;
        uint32_t value;
    } sizes[] = {
        {"block_count", shape->layers},
        {"context_length", shape->context},
        {"embedding_length", shape->width},
        {"feed_forward_length", shape->ffn},
        {"attention.head_count", shape->heads},
        {"attention.head_count_kv", shape->kv_heads},
        {"attention.key_length", shape->head_dim},
        {"attention.value_length", shape->head_dim},
        {"attention.sliding_window", shape->window},
    };
    char key[64];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        snprintf(key, sizeof key, "muse-glimmer.%s", sizes[i].key);
        glint_gguf_put_u32(writer, key, sizes[i].value);
    }
}

static enum glint_status put_header(struct maker *maker, struct glint_error *err) {
    const struct shape *shape = &maker->shape;
    struct glint_gguf_writer *writer = maker->writer;
    glint_gguf_put_text(writer, "general.architecture", "muse-glimmer");
    glint_gguf_put_text(writer, "general.type", "model");
    glint_gguf_put_text(writer, "general.name", "random weights");
    glint_gguf_put_u32(writer, "general.quantization_version", 2);
    put_sizes(writer, shape);
    glint_gguf_put_f32(writer, "muse-glimmer.attention.layer_norm_rms_epsilon", 1e-5f);
    glint_gguf_put_f32(writer, "muse-glimmer.rope.freq_base", 500000.0f);
    glint_gguf_put_f32(writer, "muse-glimmer.final_logit_softcapping", 20.0f);
    glint_gguf_put_f32(writer, "muse-glimmer.logit_scale",
                       1.0f / sqrtf((float)shape->width / 256.0f));
    const char *pattern = "muse-glimmer.attention.sliding_window_pattern";
    if (maker->scalar_pattern) {
        glint_gguf_put_u32(writer, pattern, shape->period);
    } else {
        bool *sliding = glint_alloc(shape->layers, sizeof *sliding);
        if (sliding == NULL)
            return glint_fail(err, GLINT_E_NOMEM, "%s: pattern", maker->path);
        for (uint32_t l = 0; l < shape->layers; l++)
            sliding[l] = is_sliding(shape, l);
        glint_gguf_put_bools(writer, pattern, sliding, shape->layers);
        glint_free(sliding);
    }
    return put_vocabulary(maker, err);
}

// ---- tensors ----------------------------------------------------------------------------------

// What fills a tensor.
enum fill { FILL_MATRIX, FILL_NORM, FILL_Q_NORM, FILL_K_NORM };

struct tensor {
    const char *name;
    uint64_t n_col, n_row; // n_row 1: a vector
    enum fill fill;
    bool fine; // Q6_K in the mix
};

enum { N_LAYER_TENSOR = 14 };

static void layer_tensors(const struct shape *shape, struct tensor out[N_LAYER_TENSOR]) {
    uint64_t width = shape->width, ffn = shape->ffn, head = shape->head_dim;
    uint64_t q = shape->heads * head, kv = shape->kv_heads * head;
    const struct tensor tensors[N_LAYER_TENSOR] = {
        {"attn_norm", width, 1, FILL_NORM, false},
        {"attn_q", width, q, FILL_MATRIX, false},
        {"attn_k", width, kv, FILL_MATRIX, false},
        {"attn_v", width, kv, FILL_MATRIX, true},
        {"attn_gate", width, q, FILL_MATRIX, false},
        {"attn_output", q, width, FILL_MATRIX, false},
        {"attn_q_norm", head, 1, FILL_Q_NORM, false},
        {"attn_k_norm", head, 1, FILL_K_NORM, false},
        {"post_attention_norm", width, 1, FILL_NORM, false},
        {"ffn_norm", width, 1, FILL_NORM, false},
        {"ffn_gate", width, ffn, FILL_MATRIX, false},
        {"ffn_up", width, ffn, FILL_MATRIX, false},
        {"ffn_down", ffn, width, FILL_MATRIX, true},
        {"post_ffw_norm", width, 1, FILL_NORM, false},
    };
    memcpy(out, tensors, sizeof tensors);
}

static const struct glint_dtype_info *type_of(const struct maker *maker,
                                              const struct tensor *tensor) {
    if (tensor->fill != FILL_MATRIX)
        return glint_dtype_info(GLINT_DTYPE_F32);
    if (strcmp(maker->type, "mix") == 0)
        return glint_dtype_info(tensor->fine ? GLINT_DTYPE_Q6_K : GLINT_DTYPE_Q4_K);
    return glint_dtype_by_name(maker->type);
}

static enum glint_status declare(struct maker *maker, const struct tensor *tensor, int layer,
                                 struct glint_error *err) {
    const struct glint_dtype_info *info = type_of(maker, tensor);
    char name[64];
    if (layer < 0)
        snprintf(name, sizeof name, "%s.weight", tensor->name);
    else
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, tensor->name);
    if (tensor->n_col % info->block_len != 0)
        return glint_fail(err, GLINT_E_ARG,
                          "%s: %s has rows of %" PRIu64 ", %s wants a multiple of %" PRIu32,
                          maker->path, name, tensor->n_col, info->name, info->block_len);
    uint64_t dims[2] = {tensor->n_col, tensor->n_row};
    glint_gguf_add_tensor(maker->writer, name, (uint32_t)info->dtype, tensor->n_row > 1 ? 2 : 1,
                          dims);
    return GLINT_OK;
}

static struct pool *pool_for(struct maker *maker, const struct glint_dtype_info *info,
                             float deviation, struct glint_error *err) {
    for (int i = 0; i < maker->n_pool; i++) {
        if (maker->pools[i].info == info && maker->pools[i].deviation == deviation)
            return &maker->pools[i];
    }
    struct pool pool = {info, deviation, NULL};
    pool.blocks = glint_alloc(glint_dtype_bytes(info->dtype, POOL_VALUES), 1);
    float *values = glint_alloc(POOL_VALUES, sizeof *values);
    if (pool.blocks == NULL || values == NULL || maker->n_pool == MAX_POOL) {
        glint_free(pool.blocks);
        glint_free(values);
        glint_fail(err, GLINT_E_NOMEM, "%s: pool of random weights", maker->path);
        return NULL;
    }
    for (size_t i = 0; i < POOL_VALUES; i++)
        values[i] = deviation * next_normal(&maker->random);
    info->encode(values, NULL, pool.blocks, POOL_VALUES);
    glint_free(values);
    maker->pools[maker->n_pool] = pool;
    return &maker->pools[maker->n_pool++];
}

static enum glint_status write_matrix(struct maker *maker, const struct tensor *tensor,
                                      float deviation, struct glint_error *err) {
    const struct glint_dtype_info *info = type_of(maker, tensor);
    const struct pool *pool = pool_for(maker, info, deviation, err);
    if (pool == NULL)
        return GLINT_E_NOMEM;
    uint64_t n_pool = POOL_VALUES / info->block_len;
    uint64_t left = tensor->n_col / info->block_len * tensor->n_row;
    // A float is a block by itself; runs must stay long enough to be copied fast.
    uint64_t n_run = RUN_BLOCKS * (info->block_len == 1 ? 256 : 1);
    while (left > 0) {
        uint64_t n = left < n_run ? left : n_run;
        uint64_t at = next_random(&maker->random) % (n_pool - n + 1);
        GLINT_TRY(glint_gguf_writer_data(maker->writer, pool->blocks + at * info->block_bytes,
                                         (size_t)(n * info->block_bytes), err));
        left -= n;
    }
    return GLINT_OK;
}

static enum glint_status write_vector(struct maker *maker, const struct tensor *tensor,
                                      struct glint_error *err) {
    float *values = glint_alloc(tensor->n_col, sizeof *values);
    if (values == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "%s: %s", maker->path, tensor->name);
    for (uint64_t i = 0; i < tensor->n_col; i++) {
        values[i] = tensor->fill == FILL_Q_NORM ? 3.87f : 1.0f;
        if (tensor->fill == FILL_NORM)
            values[i] += 0.1f * next_normal(&maker->random);
    }
    enum glint_status status =
        glint_gguf_writer_data(maker->writer, values, (size_t)tensor->n_col * sizeof *values, err);
    glint_free(values);
    return status;
}

static enum glint_status write_tensor(struct maker *maker, const struct tensor *tensor,
                                      struct glint_error *err) {
    if (tensor->fill != FILL_MATRIX)
        return write_vector(maker, tensor, err);
    // Logits of deviation 2 after logit_scale, so that sampling has something to choose.
    float gain = 1.0f;
    if (strcmp(tensor->name, "output") == 0)
        gain = 2.0f * sqrtf((float)maker->shape.width / 256.0f);
    return write_matrix(maker, tensor, gain / sqrtf((float)tensor->n_col), err);
}

// Declares, or writes, every tensor in file order.
static enum glint_status visit(struct maker *maker, bool declaring, struct glint_error *err) {
    const struct shape *shape = &maker->shape;
    const struct tensor outer[3] = {
        {"token_embd", shape->width, shape->vocab, FILL_MATRIX, false},
        {"output_norm", shape->width, 1, FILL_NORM, false},
        {"output", shape->width, shape->vocab, FILL_MATRIX, true},
    };
    for (int i = 0; i < 3; i++)
        GLINT_TRY(declaring ? declare(maker, &outer[i], -1, err)
                            : write_tensor(maker, &outer[i], err));
    struct tensor inner[N_LAYER_TENSOR];
    layer_tensors(shape, inner);
    for (int i = 0; i < (int)shape->layers * N_LAYER_TENSOR; i++) {
        const struct tensor *tensor = &inner[i % N_LAYER_TENSOR];
        GLINT_TRY(declaring ? declare(maker, tensor, i / N_LAYER_TENSOR, err)
                            : write_tensor(maker, tensor, err));
    }
    return GLINT_OK;
}

static enum glint_status make(struct maker *maker, struct glint_error *err) {
    GLINT_TRY(glint_gguf_writer_open(&maker->writer, err));
    GLINT_TRY(put_header(maker, err));
    GLINT_TRY(visit(maker, true, err));
    GLINT_TRY(glint_gguf_writer_begin(maker->writer, maker->path, err));
    GLINT_TRY(visit(maker, false, err));
    return glint_gguf_writer_commit(&maker->writer, err);
}

// ---- command line -----------------------------------------------------------------------------

static const char usage[] =
    "usage: make_model -o OUT.gguf [options]     a model of random weights\n"
    "  --real           the shape of the 30B model: width 6656, FFN 19968, 32/2 heads of 128,\n"
    "                   window 2048, vocabulary 202048 (4 layers unless --layers says otherwise)\n"
    "  --type TYPE      of the matrices: q4_k, bf16, ..., or mix: Q4_K with Q6_K for attn_v,\n"
    "                   ffn_down and output (default)\n"
    "  --layers N --width N --ffn N --heads N --kv-heads N --head-dim N --window N --period N\n"
    "  --vocab N --context N --seed N\n"
    "  --scalar-pattern write the layer pattern as one number\n";

enum { OPT_REAL = 1000, OPT_TYPE, OPT_SCALAR };

static const struct option long_options[] = {
    {"layers", required_argument, NULL, 0},      {"width", required_argument, NULL, 1},
    {"ffn", required_argument, NULL, 2},         {"heads", required_argument, NULL, 3},
    {"kv-heads", required_argument, NULL, 4},    {"head-dim", required_argument, NULL, 5},
    {"window", required_argument, NULL, 6},      {"period", required_argument, NULL, 7},
    {"vocab", required_argument, NULL, 8},       {"context", required_argument, NULL, 9},
    {"seed", required_argument, NULL, 10},       {"real", no_argument, NULL, OPT_REAL},
    {"type", required_argument, NULL, OPT_TYPE}, {"scalar-pattern", no_argument, NULL, OPT_SCALAR},
    {"output", required_argument, NULL, 'o'},    {NULL, 0, NULL, 0},
};

// Fields in the order of struct shape: least, most, small default, real.
static const uint32_t limits[11][4] = {
    {1, 1000, 4, 4},
    {32, 1 << 16, 256, 6656},
    {32, 1 << 18, 768, 19968},
    {1, 256, 4, 32},
    {1, 256, 2, 2},
    {2, 1024, 64, 128},
    {1, 1 << 20, 64, 2048},
    {1, 1000, 4, 4},
    {512, 1 << 20, 1024, 202048},
    {1, 1 << 24, 4096, 131072},
    {0, UINT32_MAX, 1, 1},
};

static bool parse_number(const char *text, const uint32_t limit[4], uint32_t *out) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < limit[0] || value > limit[1])
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool parse(int argc, char **argv, struct maker *maker) {
    uint32_t fields[11];
    bool given[11] = {false}, real = false;
    int id;
    maker->type = "mix";
    while ((id = getopt_long(argc, argv, "o:", long_options, NULL)) != -1) {
        if (id >= 0 && id < 11) {
            given[id] = true;
            if (!parse_number(optarg, limits[id], &fields[id])) {
                fprintf(stderr, "make_model: --%s is %s, expected %" PRIu32 " to %" PRIu32 "\n",
                        long_options[id].name, optarg, limits[id][0], limits[id][1]);
                return false;
            }
        } else if (id == 'o') {
            maker->path = optarg;
        } else if (id == OPT_TYPE) {
            maker->type = optarg;
        } else if (id == OPT_REAL) {
            real = true;
        } else if (id == OPT_SCALAR) {
            maker->scalar_pattern = true;
        } else {
            return false;
        }
    }
    for (int i = 0; i < 11; i++)
        fields[i] = given[i] ? fields[i] : limits[i][real ? 3 : 2];
    memcpy(&maker->shape, fields, sizeof maker->shape);
    if (strcmp(maker->type, "mix") != 0 && glint_dtype_by_name(maker->type) == NULL)
        fprintf(stderr, "make_model: unknown type %s\n", maker->type);
    else
        return maker->path != NULL && optind == argc;
    return false;
}

int main(int argc, char **argv) {
    struct maker maker = {0};
    struct glint_error err = {0};
    if (!parse(argc, argv, &maker)) {
        fputs(usage, stderr);
        return 2;
    }
    maker.random = maker.shape.seed;
    enum glint_status status = make(&maker, &err);
    glint_gguf_writer_discard(&maker.writer);
    for (int i = 0; i < maker.n_pool; i++)
        glint_free(maker.pools[i].blocks);
    if (status != GLINT_OK) {
        fprintf(stderr, "make_model: %s\n", err.text);
        return 1;
    }
    return 0;
}
