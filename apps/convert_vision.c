// SPDX-License-Identifier: Apache-2.0
// convert_vision.c — the vision tower and projector: keys and tensors of model.md B.3.
#include "convert_folder.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct vision_config {
    uint32_t n_layer, n_embd, n_ff, n_head, patch, merge, side; // side: of the position table
    uint32_t n_adapter, n_text; // widths of the projector's middle and output
    double eps;
    float mean[3], std[3];
};

// ---- configuration
// ----------------------------------------------------------------------------------

// The engine knows the rule, the file has no place for a list: windows everywhere but in each
// fourth and the last layer.
static enum glint_status check_layers(const struct glint_convert_scope *vision,
                                      const struct vision_config *config, struct glint_error *err) {
    bool given, *windowed = glint_alloc(config->n_layer, sizeof *windowed);
    if (!windowed)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", vision->path);
    enum glint_status status = glint_convert_layer_types(vision, config->n_layer,
                                                         "window_attention", windowed, &given, err);
    for (uint32_t i = 0; given && status == GLINT_OK && i < config->n_layer; i++) {
        bool full = (i + 1) % 4 == 0 || i + 1 == config->n_layer;
        if (windowed[i] == full)
            status =
                glint_fail(err, GLINT_E_UNSUPPORTED, "%s: %slayer_types[%u]: found %s, expected %s",
                           vision->path, vision->prefix, i,
                           windowed[i] ? "window_attention" : "full_attention",
                           full ? "full_attention" : "window_attention");
    }
    glint_free(windowed);
    return status;
}

static enum glint_status read_tower(const struct glint_convert_scope *vision,
                                    struct vision_config *config, struct glint_error *err) {
    double rope_base;
    uint32_t width;
    const struct {
        const char *key;
        uint32_t *value;
    } sizes[] = {
        {"num_hidden_layers", &config->n_layer}, {"hidden_size", &config->n_embd},
        {"intermediate_size", &config->n_ff},    {"num_attention_heads", &config->n_head},
        {"patch_size", &config->patch},          {"merge_size", &config->merge},
        {"pos_emb_height", &config->side},       {"pos_emb_width", &width},
    };
    GLINT_TRY(glint_convert_only_text(vision, "model_type", "muse_glimmer_vision", err));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        GLINT_TRY(glint_convert_u32(vision, sizes[i].key, sizes[i].value, err));
    GLINT_TRY(glint_convert_number(vision, "layer_norm_eps", &config->eps, err));
    GLINT_TRY(glint_convert_rope(vision, "axial", &rope_base, err));
    GLINT_TRY(glint_convert_only_text(vision, "hidden_act", "gelu", err));
    GLINT_TRY(glint_convert_only_number(vision, "patch_temporal", 2, err));
    if (config->n_layer > 4096)
        return glint_convert_unfit(vision, "num_hidden_layers", "at most 4096", err);
    if (rope_base != 10000)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: %srope_parameters.rope_theta: found %g, expected 10000",
                          vision->path, vision->prefix, rope_base);
    if (width != config->side || width > 1024)
        return glint_convert_unfit(vision, "pos_emb_width",
                                   "the same as pos_emb_height, at most 1024", err);
    if (config->n_embd % config->n_head != 0 || config->n_embd / config->n_head % 4 != 0)
        return glint_convert_unfit(vision, "num_attention_heads", "heads of a width that 4 divides",
                                   err);
    if (config->merge != 2 || config->patch > 256)
        return glint_convert_unfit(vision, "merge_size", "2, and patches of at most 256 pixels",
                                   err);
    return check_layers(vision, config, err);
}

static enum glint_status read_triple(const struct glint_convert_scope *scope, const char *key,
                                     float out[3], struct glint_error *err) {
    const struct glint_json *list;
    GLINT_TRY(glint_convert_list(scope, key, 3, &list, err));
    for (uint32_t i = 0; list && i < 3; i++) {
        double value;
        if (!glint_json_to_double(glint_json_at(list, i), &value))
            return glint_convert_unfit(scope, key, "three numbers", err);
        out[i] = (float)value;
    }
    return GLINT_OK;
}

// Mean and spread of the pixels; 0.5 where the folder does not say.
static enum glint_status read_preprocessor(const struct glint_convert *convert,
                                           struct vision_config *config, struct glint_error *err) {
    for (int i = 0; i < 3; i++)
        config->mean[i] = config->std[i] = 0.5f;
    char *path = glint_convert_path(convert->folder, "preprocessor_config.json");
    if (!path)
        return glint_fail(err, GLINT_E_NOMEM, "%s: out of memory", convert->folder);
    struct glint_json_doc *doc = NULL;
    enum glint_status status = GLINT_OK;
    if (access(path, F_OK) == 0)
        status = glint_json_load(&doc, path, 1 << 20, err);
    if (doc) {
        const struct glint_convert_scope scope = {path, "", glint_json_root(doc)};
        status = read_triple(&scope, "image_mean", config->mean, err);
        if (status == GLINT_OK)
            status = read_triple(&scope, "image_std", config->std, err);
    }
    glint_json_close(&doc);
    glint_free(path);
    return status;
}

static enum glint_status read_config(const struct glint_convert *convert,
                                     struct vision_config *config, struct glint_error *err) {
    struct glint_convert_scope vision, text;
    uint32_t n_merged;
    const struct glint_convert_scope *top = &convert->top;
    GLINT_TRY(glint_convert_inner(top, "vision_config", "vision_config.", &vision, err));
    GLINT_TRY(glint_convert_inner(top, "text_config", "text_config.", &text, err));
    GLINT_TRY(read_tower(&vision, config, err));
    GLINT_TRY(glint_convert_u32(&text, "hidden_size", &config->n_text, err));
    GLINT_TRY(glint_convert_u32(top, "projector_hidden_size", &config->n_adapter, err));
    GLINT_TRY(glint_convert_only_text(top, "projector_hidden_act", "gelu", err));
    GLINT_TRY(glint_convert_u32(top, "out_hidden_size", &n_merged, err));
    if (n_merged != config->n_embd * config->merge * config->merge)
        return glint_convert_unfit(top, "out_hidden_size",
                                   "merge_size squared times the tower's width", err);
    return read_preprocessor(convert, config, err);
}

// ---- keys
// -------------------------------------------------------------------------------------------

static void put_keys(const struct vision_config *config, struct glint_gguf_writer *writer) {
    glint_gguf_put_bool(writer, "clip.has_vision_encoder", true);
    glint_gguf_put_text(writer, "clip.projector_type", "muse-glimmer");
    glint_gguf_put_u32(writer, "clip.vision.projection_dim", config->n_text);
    glint_gguf_put_u32(writer, "clip.vision.image_size",
                       config->side * config->patch * config->merge);
    glint_gguf_put_u32(writer, "clip.vision.patch_size", config->patch);
    glint_gguf_put_u32(writer, "clip.vision.embedding_length", config->n_embd);
    glint_gguf_put_u32(writer, "clip.vision.feed_forward_length", config->n_ff);
    glint_gguf_put_u32(writer, "clip.vision.block_count", config->n_layer);
    glint_gguf_put_u32(writer, "clip.vision.attention.head_count", config->n_head);
    glint_gguf_put_f32(writer, "clip.vision.attention.layer_norm_epsilon", (float)config->eps);
    glint_gguf_put_u32(writer, "clip.vision.spatial_merge_size", config->merge);
    glint_gguf_put_f32s(writer, "clip.vision.image_mean", config->mean, 3);
    glint_gguf_put_f32s(writer, "clip.vision.image_std", config->std, 3);
    glint_gguf_put_u32(writer, "glint.vision.patch_frames", 2);
}

// ---- tensors
// ----------------------------------------------------------------------------------------

#define TOWER "model.vision_tower."
#define LAYER TOWER "layers.#."

static enum glint_status plan_whole(const struct vision_config *config,
                                    struct glint_convert_plan *plan, struct glint_error *err) {
    const uint64_t h = config->n_embd, places = (uint64_t)config->side * config->side;
    const uint64_t pixels = 2 * 3 * (uint64_t)config->patch * config->patch;
    const uint64_t merged = h * config->merge * config->merge, a = config->n_adapter;
    // The summed kernel and the table stay F32: sums of two bf16 values are no bf16 values. The
    // kernel before the sum, for video, stands beside it under a name and a key of ours.
    const struct glint_convert_rule rules[] = {
        {TOWER "patch_embedder.patch_embedding.weight", "v.patch_embd.weight", GLINT_CONVERT_FRAMES,
         h, pixels, 0, 0, true},
        {TOWER "patch_embedder.patch_embedding.weight", "v.patch_embd_frames.weight",
         GLINT_CONVERT_COPY, h, pixels, 0, 0, true},
        {TOWER "patch_embedder.position_embedding_table.weight", "v.position_embd.weight",
         GLINT_CONVERT_COPY, places, h, 0, 0, true},
        {TOWER "ln_pre.weight", "v.pre_ln.weight", GLINT_CONVERT_COPY, 0, h, 0, 0, 0},
        {TOWER "ln_pre.bias", "v.pre_ln.bias", GLINT_CONVERT_COPY, 0, h, 0, 0, 0},
        {TOWER "ln_post.weight", "v.post_ln.weight", GLINT_CONVERT_COPY, 0, h, 0, 0, 0},
        {TOWER "ln_post.bias", "v.post_ln.bias", GLINT_CONVERT_COPY, 0, h, 0, 0, 0},
        {"model.vision_adapter.fc1.weight", "mm.0.weight", GLINT_CONVERT_COPY, a, merged, 0, 0, 0},
        {"model.vision_adapter.fc2.weight", "mm.1.weight", GLINT_CONVERT_COPY, a, a, 0, 0, 0},
        {"model.vision_projection.weight", "mm.2.weight", GLINT_CONVERT_COPY, config->n_text, a, 0,
         0, 0},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        GLINT_TRY(glint_convert_add(plan, &rules[i], 0, err));
    return GLINT_OK;
}

// A matrix and its bias, or (n_cols 0) a norm's gain and shift.
struct pair {
    const char *from, *to; // without ".weight" and ".bias"
    enum glint_convert_change change;
    uint64_t n_rows, n_cols;
};

static enum glint_status plan_pair(const struct pair *pair, uint32_t n_head, uint32_t layer,
                                   struct glint_convert_plan *plan, struct glint_error *err) {
    static const char *const ends[] = {".weight", ".bias"};
    char from[GLINT_CONVERT_MAX_NAME], to[GLINT_CONVERT_MAX_NAME];
    for (int i = 0; i < 2; i++) {
        bool vector = i == 1 || pair->n_cols == 0;
        struct glint_convert_rule rule = {from,   to, pair->change, pair->n_rows, pair->n_cols,
                                          n_head, 0,  false};
        if (vector) {
            rule.n_rows = 0;
            rule.n_cols = pair->n_rows;
        }
        GLINT_ASSERT(strlen(pair->from) + 8 < sizeof from && strlen(pair->to) + 8 < sizeof to);
        snprintf(from, sizeof from, "%s%s", pair->from, ends[i]);
        snprintf(to, sizeof to, "%s%s", pair->to, ends[i]);
        GLINT_TRY(glint_convert_add(plan, &rule, layer, err));
    }
    return GLINT_OK;
}

static enum glint_status plan_layers(const struct vision_config *config,
                                     struct glint_convert_plan *plan, struct glint_error *err) {
    const uint64_t h = config->n_embd, f = config->n_ff;
    const struct pair pairs[] = {
        {LAYER "norm1", "v.blk.#.ln1", GLINT_CONVERT_COPY, h, 0},
        {LAYER "attn.q_proj", "v.blk.#.attn_q", GLINT_CONVERT_HEADS, h, h},
        {LAYER "attn.k_proj", "v.blk.#.attn_k", GLINT_CONVERT_HEADS, h, h},
        {LAYER "attn.v_proj", "v.blk.#.attn_v", GLINT_CONVERT_COPY, h, h},
        {LAYER "attn.proj", "v.blk.#.attn_out", GLINT_CONVERT_COPY, h, h},
        {LAYER "norm2", "v.blk.#.ln2", GLINT_CONVERT_COPY, h, 0},
        {LAYER "mlp.fc1", "v.blk.#.ffn_up", GLINT_CONVERT_COPY, f, h},
        {LAYER "mlp.fc2", "v.blk.#.ffn_down", GLINT_CONVERT_COPY, h, f},
    };
    for (uint32_t l = 0; l < config->n_layer; l++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            GLINT_TRY(plan_pair(&pairs[i], config->n_head, l, plan, err));
    return GLINT_OK;
}

// ---- the file
// ---------------------------------------------------------------------------------------

static enum glint_status write_vision(struct glint_convert *convert,
                                      const struct vision_config *config,
                                      const struct glint_convert_plan *plan, const char *out,
                                      struct glint_error *err) {
    struct glint_gguf_writer *writer;
    const struct glint_convert_shape shape = {
        "v.patch_embd.weight", 4, {config->patch, config->patch, 3, config->n_embd}};
    const struct glint_convert_target target = {out, convert->quiet, &shape};
    GLINT_TRY(glint_gguf_writer_open(&writer, err));
    glint_convert_put_general(convert, plan, writer, "clip", "mmproj");
    put_keys(config, writer);
    return glint_convert_write(plan, &writer, &target, err);
}

enum glint_status glint_convert_vision(struct glint_convert *convert, const char *out,
                                       struct glint_error *err) {
    struct vision_config config = {0};
    struct glint_convert_plan plan = glint_convert_plan_of(convert);
    enum glint_status status = read_config(convert, &config, err);
    if (status == GLINT_OK)
        status = plan_whole(&config, &plan, err);
    if (status == GLINT_OK)
        status = plan_layers(&config, &plan, err);
    if (status == GLINT_OK && out)
        status = write_vision(convert, &config, &plan, out, err);
    convert->n_kept_bf16 += out ? plan.n_kept_bf16 : 0;
    glint_convert_plan_fini(&plan);
    return status;
}
