// SPDX-License-Identifier: Apache-2.0
// cpu.c — opens and closes the CPU backend: picks the tier, lets the tier files fill the kernel
// table in rising order, owns the pool, and implements device memory as plain memory.
#include "cpu/cpu.h"

#include "base/alloc.h"
#include "cpu/attention_blocks.h"
#include "cpu/cpu_backend.h"
#include "cpu/matmul.h"

#include <stdio.h>
#include <string.h>

const char *glint_cpu_tier_at(size_t i) {
    return i <= (size_t)glint_cpu_tier_best() ? glint_cpu_tier_name((enum glint_cpu_tier)i) : NULL;
}

static void *cpu_alloc(struct glint_backend *backend, size_t bytes) {
    (void)backend;
    return glint_alloc(bytes, 1);
}

static void cpu_free(struct glint_backend *backend, void *block) {
    (void)backend;
    glint_free(block);
}

static void cpu_upload(struct glint_backend *backend, void *device, const void *host,
                       size_t bytes) {
    (void)backend;
    if (bytes > 0)
        memcpy(device, host, bytes);
}

static void cpu_download(struct glint_backend *backend, void *host, const void *device,
                         size_t bytes) {
    (void)backend;
    if (bytes > 0)
        memcpy(host, device, bytes);
}

static enum glint_status cpu_bind(struct glint_backend *backend, struct glint_matrix *matrix,
                                  struct glint_error *err) {
    return glint_cpu_matmul_bind(glint_cpu_of(backend), matrix, err);
}

// Ops are done when they return.
static enum glint_status cpu_sync(struct glint_backend *backend, struct glint_error *err) {
    (void)backend;
    (void)err;
    return GLINT_OK;
}

static void cpu_close(struct glint_backend *backend) {
    struct glint_cpu *cpu = glint_cpu_of(backend);
    glint_cpu_matmul_close(cpu);
    glint_cpu_attention_close(cpu);
    glint_cpu_rows_close(cpu);
    glint_pool_close(&cpu->pool);
    glint_free(cpu);
}

static void fill_base(struct glint_backend *base) {
    base->name = "cpu";
    base->alloc = cpu_alloc;
    base->free = cpu_free;
    base->upload = cpu_upload;
    base->download = cpu_download;
    glint_cpu_rows_fill(&base->ops);
    base->ops.matmul = glint_cpu_matmul;
    base->ops.attention = glint_cpu_attention;
    base->bind = cpu_bind;
    base->sync = cpu_sync;
    base->close = cpu_close;
}

static void fill_kernels(struct glint_cpu_kernels *kernels, enum glint_cpu_tier tier) {
    glint_cpu_init_scalar(kernels);
#if defined(GLINT_CPU_X86)
    if (tier >= GLINT_CPU_TIER_AVX2)
        glint_cpu_init_avx2(kernels);
    if (tier >= GLINT_CPU_TIER_AVX512)
        glint_cpu_init_avx512(kernels);
#elif defined(GLINT_CPU_ARM)
    if (tier >= GLINT_CPU_TIER_NEON)
        glint_cpu_init_neon(kernels);
#else
    (void)tier;
#endif
}

static enum glint_status choose_tier(const char *name, enum glint_cpu_tier *tier,
                                     struct glint_error *err) {
    enum glint_cpu_tier best = glint_cpu_tier_best();
    *tier = best;
    if (name == NULL)
        return GLINT_OK;
    if (!glint_cpu_tier_by_name(name, tier)) {
        char known[64] = "";
        for (int i = 0; i < GLINT_CPU_N_TIER; i++)
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
                     i == 0                     ? ""
                     : i + 1 < GLINT_CPU_N_TIER ? ", "
                                                : " or ",
                     glint_cpu_tier_name((enum glint_cpu_tier)i));
        return glint_fail(err, GLINT_E_UNSUPPORTED, "cpu: tier \"%s\" is unknown, expected %s",
                          name, known);
    }
    if (*tier > best)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "cpu: tier \"%s\" asked for, but this processor has at most \"%s\"", name,
                          glint_cpu_tier_name(best));
    return GLINT_OK;
}

enum glint_status glint_cpu_open(struct glint_backend **backend,
                                 const struct glint_cpu_params *params, struct glint_error *err) {
    *backend = NULL;
    GLINT_REQUIRE(params->n_threads >= 0, err);
    GLINT_REQUIRE(params->limits.max_rows >= 1 && params->limits.max_col >= 1, err);
    GLINT_REQUIRE(params->limits.max_head >= 1 && params->limits.max_context >= 1, err);
    GLINT_REQUIRE(params->limits.head_dim >= 1, err);
    enum glint_cpu_tier tier;
    GLINT_TRY(choose_tier(params->tier, &tier, err));
    struct glint_cpu *cpu = glint_alloc(1, sizeof *cpu);
    if (cpu == NULL)
        return glint_fail(err, GLINT_E_NOMEM, "cpu: no memory for the backend");
    fill_base(&cpu->base);
    cpu->base.tier = glint_cpu_tier_name(tier);
    cpu->tier = tier;
    cpu->limits = params->limits;
    fill_kernels(&cpu->kernels, tier);
    int n_threads = params->n_threads > 0 ? params->n_threads : glint_cpu_count();
    enum glint_status status = glint_pool_open(&cpu->pool, n_threads, err);
    if (status != GLINT_OK)
        goto fail;
    cpu->n_workers = glint_pool_n_workers(cpu->pool);
    cpu->base.n_threads = cpu->n_workers;
    if ((status = glint_cpu_rows_open(cpu, err)) != GLINT_OK ||
        (status = glint_cpu_attention_open(cpu, err)) != GLINT_OK ||
        (status = glint_cpu_matmul_open(cpu, err)) != GLINT_OK)
        goto fail;
    *backend = &cpu->base;
    return GLINT_OK;
fail:
    cpu_close(&cpu->base);
    return status;
}

void glint_cpu_run(struct glint_cpu *cpu, int64_t work, glint_pool_fn fn, void *context) {
    // Waking a spinning worker and meeting again costs some microseconds.
    const int64_t worth_waking = 20000;
    if (cpu->n_workers == 1 || work < worth_waking)
        fn(context, 0, 1);
    else
        glint_pool_run(cpu->pool, fn, context);
}
