// SPDX-License-Identifier: Apache-2.0
// loop.c — one step of the machine: the batch goes in, cache rows and logits come out.
// Nothing here allocates.
#include "engine/engine.h"

#include "model/bind.h"

#include <math.h>

enum glint_status glint_engine_step(struct glint_engine *engine, const struct glint_tap *tap,
                                    struct glint_error *err) {
    GLINT_TRY(glint_batch_place(&engine->batch, engine->kv, err));
    if (engine->draft)
        tap = glint_draft_watch(engine->draft, tap);
    glint_forward_step(&engine->forward, &engine->batch, tap);
    GLINT_TRY(engine->backend->sync(engine->backend, err));
    glint_batch_commit(&engine->batch, engine->kv);
    return engine->draft ? glint_draft_keep(engine->draft, &engine->batch, err) : GLINT_OK;
}

enum glint_status glint_engine_read_logits(struct glint_engine *engine, int i, float *out,
                                           struct glint_error *err) {
    size_t n = (size_t)engine->model.config.n_vocab;
    engine->backend->download(engine->backend, out, engine->forward.logits + (size_t)i * n,
                              n * sizeof(float));
    GLINT_TRY(engine->backend->sync(engine->backend, err));
    for (size_t j = 0; j < n; j++) {
        if (isfinite(out[j]))
            continue;
        // A damaged weight is the usual cause; say which one.
        GLINT_TRY(glint_bind_find_nonfinite(engine->files.gguf, err));
        return glint_fail(err, GLINT_E_INTERNAL,
                          "logit %zu at position %d is %g, expected a finite number; every weight "
                          "of the file is finite",
                          j, engine->batch.position[engine->batch.want[i]], (double)out[j]);
    }
    return GLINT_OK;
}
