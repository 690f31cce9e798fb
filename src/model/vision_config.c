// SPDX-License-Identifier: Apache-2.0
// vision_config.c — reading and range-checking the metadata of a vision file.
#include "model/vision_config.h"

#include "model/key_range.h"

static enum glint_status check_text(const struct glint_gguf *gguf, const char *key,
                                    const char *expected, struct glint_error *err) {
    struct glint_view text;
    GLINT_TRY(glint_gguf_get_string(gguf, key, &text, err));
    if (glint_view_is(text, expected))
        return GLINT_OK;
    return glint_fail(err, GLINT_E_UNSUPPORTED,
                      "%s: %s: found \"%.*s\", expected \"%s\" (a vision file, as --mmproj)",
                      gguf->path, key, (int)(text.n < 100 ? text.n : 100), text.data, expected);
}

static enum glint_status check_kind(const struct glint_gguf *gguf, struct glint_error *err) {
    const char *key = "clip.projector_type", *other = "clip.vision.projector_type";
    GLINT_TRY(check_text(gguf, "general.architecture", "clip", err));
    bool has = true;
    GLINT_TRY(glint_gguf_opt_bool(gguf, "clip.has_vision_encoder", &has, err));
    if (!has)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: clip.has_vision_encoder: found false, expected true", gguf->path);
    return check_text(gguf, glint_gguf_find(gguf, key) ? key : other, "muse-glimmer", err);
}

static enum glint_status read_triple(const struct glint_gguf *gguf, const char *key, double least,
                                     float out[3], struct glint_error *err) {
    const struct glint_gguf_kv *kv;
    GLINT_TRY(glint_gguf_get_array(gguf, key, GLINT_GGUF_FLOATS, &kv, err));
    if (kv->n != 3)
        return glint_fail(err, GLINT_E_FORMAT, "%s: %s: found %llu numbers, expected 3", gguf->path,
                          key, (unsigned long long)kv->n);
    for (uint64_t i = 0; i < 3; i++) {
        double value = 0;
        if (!glint_gguf_item_f64(kv, i, &value) || !(value >= least && value <= 1000))
            return glint_fail(err, GLINT_E_FORMAT, "%s: %s: found %g, expected %g to 1000",
                              gguf->path, key, value, least);
        out[i] = (float)value;
    }
    return GLINT_OK;
}

// A size that only a tensor's shape tells: its second dimension.
static enum glint_status rows_of(const struct glint_gguf *gguf, const char *name, int *out,
                                 struct glint_error *err) {
    const struct glint_gguf_tensor *tensor = glint_gguf_find_tensor(gguf, name);
    if (!tensor)
        return glint_fail(err, GLINT_E_NOTFOUND, "%s: tensor %s: missing", gguf->path, name);
    if (tensor->n_dims != 2 || tensor->dims[1] < 1 || tensor->dims[1] > 1 << 20)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensor %s: found another shape, expected a matrix of 1 to 1048576 "
                          "rows",
                          gguf->path, name);
    *out = (int)tensor->dims[1];
    return GLINT_OK;
}

static enum glint_status read_shapes(struct glint_vision_config *config,
                                     const struct glint_gguf *gguf, struct glint_error *err) {
    int places = 0;
    GLINT_TRY(rows_of(gguf, "mm.0.weight", &config->n_adapter, err));
    GLINT_TRY(rows_of(gguf, "v.position_embd.weight", &places, err));
    while (config->side * config->side < places)
        config->side++;
    if (config->side * config->side != places || config->side > 256)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: tensor v.position_embd.weight: found %d rows, expected a square of "
                          "1 to 256",
                          gguf->path, places);
    return GLINT_OK;
}

enum glint_status glint_vision_config_read(struct glint_vision_config *config,
                                           const struct glint_gguf *gguf, struct glint_error *err) {
    *config = (struct glint_vision_config){0};
    int merge;
    const struct glint_key_int ints[] = {
        {"clip.vision.block_count", &config->n_layer, 1, 1024},
        {"clip.vision.embedding_length", &config->width, 4, 1 << 16},
        {"clip.vision.feed_forward_length", &config->n_ff, 1, 1 << 18},
        {"clip.vision.attention.head_count", &config->n_head, 1, 1024},
        {"clip.vision.patch_size", &config->patch, 1, 256},
        {"clip.vision.spatial_merge_size", &merge, GLINT_VISION_MERGE, GLINT_VISION_MERGE},
        {"clip.vision.projection_dim", &config->n_text, 1, 1 << 17},
    };
    const struct glint_key_float floats[] = {
        {"clip.vision.attention.layer_norm_epsilon", &config->epsilon, 1e-12f, 0.1f}};
    GLINT_TRY(check_kind(gguf, err));
    GLINT_TRY(glint_key_ints(gguf, ints, sizeof ints / sizeof *ints, err));
    GLINT_TRY(glint_key_floats(gguf, floats, 1, err));
    config->head_dim = config->width / config->n_head;
    if (config->width % config->n_head != 0 || config->head_dim % 4 != 0 || config->head_dim > 512)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "%s: clip.vision.attention.head_count: found %d, expected heads of a "
                          "width that 4 divides, at most 512, in %d",
                          gguf->path, config->n_head, config->width);
    uint32_t n_frame = 0;
    GLINT_TRY(glint_gguf_opt_u32(gguf, GLINT_VISION_FRAMES_KEY, &n_frame, err));
    if (n_frame != 0 && n_frame != 2)
        return glint_fail(err, GLINT_E_UNSUPPORTED, "%s: %s: found %u, expected 2", gguf->path,
                          GLINT_VISION_FRAMES_KEY, n_frame);
    config->frames = n_frame == 2;
    GLINT_TRY(read_triple(gguf, "clip.vision.image_mean", -1000, config->mean, err));
    GLINT_TRY(read_triple(gguf, "clip.vision.image_std", 1e-6, config->std, err));
    return read_shapes(config, gguf, err);
}
