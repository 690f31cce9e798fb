// SPDX-License-Identifier: Apache-2.0
// loop.c — one step of the machine: the batch goes in, cache rows and logits come out.
// Nothing here allocates.
#include "engine/engine.h"

#include "base/half.h"
#include "model/bind.h"

enum glint_status glint_engine_step(struct glint_engine *engine, const struct glint_tap *tap,
                                    struct glint_error *err) {
    enum glint_status status = glint_batch_place(&engine->batch, engine->kv, err);
    while (status == GLINT_E_NOMEM && engine->prefix && glint_prefix_evict(engine->prefix))
        status = glint_batch_place(&engine->batch, engine->kv, err);
    if (status != GLINT_OK)
        return status;
    if (engine->draft)
        tap = glint_draft_watch(engine->draft, tap);
    glint_forward_step(&engine->forward, &engine->batch, tap);
    GLINT_TRY(engine->backend->sync(engine->backend, err));
    glint_batch_commit(&engine->batch, engine->kv);
    return engine->draft ? glint_draft_keep(engine->draft, &engine->batch, err) : GLINT_OK;
}

bool glint_all_finite(const float *values, size_t n) {
    // As bits, magnitudes order like numbers, with infinities and NaN on top.
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t magnitude = (int32_t)(glint_float_bits(values[i]) & 0x7fffffffu);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7f800000;
}

static size_t first_bad(const float *values) {
    size_t i = 0;
    while (glint_all_finite(values + i, 1))
        i++;
    return i;
}

enum glint_status glint_engine_read_logits(struct glint_engine *engine, int i, float *out,
                                           struct glint_error *err) {
    size_t n = (size_t)engine->model.config.n_vocab;
    engine->backend->download(engine->backend, out, engine->forward.logits + (size_t)i * n,
                              n * sizeof(float));
    GLINT_TRY(engine->backend->sync(engine->backend, err));
    if (glint_all_finite(out, n))
        return GLINT_OK;
    // A damaged weight is the usual cause; say which one.
    GLINT_TRY(glint_bind_find_nonfinite(engine->files.gguf, err));
    size_t j = first_bad(out);
    return glint_fail(err, GLINT_E_INTERNAL,
                      "logit %zu at position %d is %g, expected a finite number; every weight of "
                      "the file is finite",
                      j, engine->batch.position[engine->batch.want[i]], (double)out[j]);
}
