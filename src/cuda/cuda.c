// SPDX-License-Identifier: Apache-2.0
// cuda.c — opens and closes the CUDA backend, owns its memory, and copies to and from the device.
#include "cuda/cuda.h"

#include "base/alloc.h"
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

enum {
    STAGE_BYTES = 8 << 20,
    MAX_TABLES = 1 << 20, // entries of the page tables of one op
    MIN_MAJOR = 8,        // compute capability
};

// ---- device memory --------------------------------------------------------------------------

static void *device_alloc(size_t bytes) {
    void *block = NULL;
    if (cudaMalloc(&block, bytes > 0 ? bytes : 1) == cudaSuccess)
        return block;
    (void)cudaGetLastError();
    return NULL;
}

static void *cuda_alloc(struct glint_backend *backend, size_t bytes) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    void *block = device_alloc(bytes);
    if (block)
        glint_cuda_check(cuda, cudaMemsetAsync(block, 0, bytes, cuda->stream), "alloc", 0);
    return block;
}

static void cuda_free(struct glint_backend *backend, void *block) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    if (!block)
        return;
    glint_cuda_drain(cuda);
    glint_cuda_check(cuda, cudaFree(block), "free", 0);
}

static void cuda_upload(struct glint_backend *backend, void *device, const void *host,
                        size_t bytes) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    if (bytes == 0)
        return;
    glint_cuda_flush(cuda);
    glint_cuda_check(cuda,
                     cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, cuda->stream),
                     "upload", 0);
    // The caller may change what it handed over.
    glint_cuda_check(cuda, cudaStreamSynchronize(cuda->stream), "upload", 0);
}

static void finish_copies(struct glint_cuda *cuda) {
    for (int i = 0; i < cuda->n_copy && cuda->failed == cudaSuccess; i++)
        memcpy(cuda->copy[i].to, cuda->copy[i].from, cuda->copy[i].bytes);
    cuda->n_copy = 0;
    cuda->pinned_used = 0;
}

static void cuda_download(struct glint_backend *backend, void *host, const void *device,
                          size_t bytes) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    if (bytes == 0)
        return;
    glint_cuda_flush(cuda);
    if (cuda->n_copy == GLINT_CUDA_MAX_COPY ||
        cuda->pinned_used + bytes > GLINT_CUDA_PINNED_BYTES) {
        glint_cuda_drain(cuda);
        finish_copies(cuda);
    }
    void *to = host;
    if (bytes <= GLINT_CUDA_PINNED_BYTES) {
        to = cuda->pinned + cuda->pinned_used;
        cuda->pinned_used += bytes;
        cuda->copy[cuda->n_copy++] = (struct glint_cuda_copy){host, to, bytes};
    }
    glint_cuda_check(cuda, cudaMemcpyAsync(to, device, bytes, cudaMemcpyDeviceToHost, cuda->stream),
                     "download", 0);
}

static enum glint_status cuda_sync(struct glint_backend *backend, struct glint_error *err) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    glint_cuda_drain(cuda);
    finish_copies(cuda);
    if (cuda->failed == cudaSuccess)
        return GLINT_OK;
    return glint_fail(err,
                      cuda->failed == cudaErrorMemoryAllocation ? GLINT_E_NOMEM : GLINT_E_DEVICE,
                      "cuda: device %d: %s (%s) in %s, %d rows; the model has to be opened anew",
                      cuda->device, cudaGetErrorName(cuda->failed),
                      cudaGetErrorString(cuda->failed), cuda->failed_op, cuda->failed_rows);
}

// ---- opening --------------------------------------------------------------------------------

int glint_cuda_count(void) {
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess)
        return n;
    (void)cudaGetLastError();
    return 0;
}

static enum glint_status choose_device(int device, struct cudaDeviceProp *properties,
                                       struct glint_error *err) {
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error != cudaSuccess || n == 0) {
        (void)cudaGetLastError();
        return glint_fail(err, GLINT_E_DEVICE, "cuda: no device: %s",
                          error == cudaSuccess ? "the driver shows none"
                                               : cudaGetErrorString(error));
    }
    if (device < 0 || device >= n)
        return glint_fail(err, GLINT_E_DEVICE, "cuda: device %d asked for, found 0 to %d", device,
                          n - 1);
    error = cudaSetDevice(device);
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(properties, device);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return glint_fail(err, GLINT_E_DEVICE, "cuda: device %d: %s", device,
                          cudaGetErrorString(error));
    }
    if (properties->major < MIN_MAJOR)
        return glint_fail(err, GLINT_E_DEVICE,
                          "cuda: device %d (%s) has compute capability %d.%d, expected %d.0 or "
                          "later",
                          device, properties->name, properties->major, properties->minor,
                          MIN_MAJOR);
    return GLINT_OK;
}

static size_t own_bytes(const struct glint_backend_limits *limits) {
    struct glint_cuda_scratch scratch = glint_cuda_scratch_for(limits);
    return STAGE_BYTES + GLINT_CUDA_PINNED_BYTES + scratch.half + scratch.sum + scratch.unscale +
           scratch.part;
}

enum glint_status glint_cuda_available(int device, const struct glint_backend_limits *limits,
                                       uint64_t *bytes, struct glint_error *err) {
    enum { RESERVE = 256 << 20 }; // graphs, fragmentation
    struct cudaDeviceProp properties;
    GLINT_TRY(choose_device(device, &properties, err));
    size_t free_bytes = 0, total = 0;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &total);
    if (error != cudaSuccess)
        return glint_fail(err, GLINT_E_DEVICE, "cuda: device %d: %s", device,
                          cudaGetErrorString(error));
    size_t own = own_bytes(limits) + RESERVE;
    *bytes = free_bytes > own ? free_bytes - own : 1;
    return GLINT_OK;
}

static bool open_host(struct glint_cuda *cuda) {
    cuda->queue = glint_alloc(GLINT_CUDA_MAX_QUEUE, sizeof *cuda->queue);
    cuda->entry = glint_alloc(GLINT_CUDA_MAX_ENTRY, sizeof *cuda->entry);
    cuda->refs = glint_alloc((size_t)cuda->limits.max_rows, sizeof *cuda->refs);
    cuda->tables = glint_alloc(MAX_TABLES, sizeof *cuda->tables);
    cuda->max_tables = MAX_TABLES;
    bool ok = cuda->queue && cuda->entry && cuda->refs && cuda->tables;
    for (int i = 0; i < GLINT_CUDA_MAX_GRAPH; i++) {
        cuda->graph[i].launches = glint_alloc(GLINT_CUDA_MAX_QUEUE, sizeof *cuda->queue);
        ok = ok && cuda->graph[i].launches;
    }
    return ok;
}

static bool open_device(struct glint_cuda *cuda) {
    struct glint_cuda_scratch scratch = glint_cuda_scratch_for(&cuda->limits);
    void *host[2] = {NULL, NULL};
    cuda->stage_bytes = STAGE_BYTES + (size_t)cuda->limits.max_rows * sizeof *cuda->refs;
    bool ok = cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking) == cudaSuccess &&
              cudaEventCreateWithFlags(&cuda->sent[0], cudaEventDisableTiming) == cudaSuccess &&
              cudaEventCreateWithFlags(&cuda->sent[1], cudaEventDisableTiming) == cudaSuccess &&
              cudaMallocHost(&host[0], cuda->stage_bytes) == cudaSuccess &&
              cudaMallocHost(&host[1], GLINT_CUDA_PINNED_BYTES) == cudaSuccess;
    cuda->stage_host = host[0];
    cuda->pinned = host[1];
    cuda->stage = device_alloc(cuda->stage_bytes);
    cuda->raw = device_alloc(GLINT_CUDA_PINNED_BYTES);
    cuda->x = (struct glint_cuda_rounded){.half = device_alloc(scratch.half),
                                          .sum = device_alloc(scratch.sum),
                                          .unscale = device_alloc(scratch.unscale),
                                          .n_token = scratch.n_token};
    cuda->part = device_alloc(scratch.part);
    cuda->part_floats = scratch.part / sizeof(float);
    return ok && cuda->stage && cuda->raw && cuda->x.half && cuda->x.sum && cuda->x.unscale &&
           cuda->part;
}

static bool prepare_kernels(struct glint_cuda *cuda) {
    glint_cuda_init_rows(&cuda->kernels);
    glint_cuda_init_packing(&cuda->kernels);
    glint_cuda_init_few(&cuda->kernels);
    glint_cuda_init_many(&cuda->kernels);
    glint_cuda_init_attention(&cuda->kernels);
    return cudaFuncSetAttribute(cuda->kernels.product_many,
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                GLINT_MANY_STAGES * GLINT_MANY_STAGE_BYTES) == cudaSuccess;
}

static void close_device(struct glint_cuda *cuda) {
    void *blocks[] = {cuda->stage, cuda->raw,       cuda->x.half,
                      cuda->x.sum, cuda->x.unscale, cuda->part};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        (void)cudaFree(blocks[i]);
    for (size_t i = 0; i < cuda->n_weight; i++)
        (void)cudaFree(cuda->weights[i]);
    (void)cudaFreeHost(cuda->stage_host);
    (void)cudaFreeHost(cuda->pinned);
    for (int i = 0; i < 2; i++)
        if (cuda->sent[i])
            (void)cudaEventDestroy(cuda->sent[i]);
    if (cuda->stream)
        (void)cudaStreamDestroy(cuda->stream);
}

static void cuda_close(struct glint_backend *backend) {
    struct glint_cuda *cuda = glint_cuda_of(backend);
    if (cuda->stream)
        (void)cudaStreamSynchronize(cuda->stream);
    glint_cuda_forget_graphs(cuda);
    close_device(cuda);
    for (int i = 0; i < GLINT_CUDA_MAX_GRAPH; i++)
        glint_free(cuda->graph[i].launches);
    glint_free(cuda->weights);
    glint_free(cuda->tables);
    glint_free(cuda->refs);
    glint_free(cuda->entry);
    glint_free(cuda->queue);
    glint_free(cuda);
}

static void fill_base(struct glint_backend *base) {
    base->name = "cuda";
    glint_cuda_rows_fill(&base->ops);
    glint_cuda_cache_fill(&base->ops);
    base->ops.matmul = glint_cuda_matmul;
    base->alloc = cuda_alloc;
    base->free = cuda_free;
    base->upload = cuda_upload;
    base->download = cuda_download;
    base->bind = glint_cuda_bind;
    base->sync = cuda_sync;
    base->close = cuda_close;
}

enum glint_status glint_cuda_open(struct glint_backend **backend,
                                  const struct glint_cuda_params *params, struct glint_error *err) {
    *backend = NULL;
    GLINT_REQUIRE(params->limits.max_rows >= 1 && params->limits.max_col >= 1, err);
    GLINT_REQUIRE(params->limits.max_head >= 1 && params->limits.max_context >= 1, err);
    GLINT_REQUIRE(params->limits.head_dim >= 1, err);
    if (params->limits.head_dim > GLINT_CUDA_MAX_DIM)
        return glint_fail(err, GLINT_E_UNSUPPORTED,
                          "cuda: heads of %d channels, expected at most %d",
                          params->limits.head_dim, GLINT_CUDA_MAX_DIM);
    struct cudaDeviceProp properties;
    GLINT_TRY(choose_device(params->device, &properties, err));
    struct glint_cuda *cuda = glint_alloc(1, sizeof *cuda);
    if (!cuda)
        return glint_fail(err, GLINT_E_NOMEM, "cuda: no memory for the backend");
    fill_base(&cuda->base);
    cuda->device = params->device;
    cuda->limits = params->limits;
    snprintf(cuda->tier, sizeof cuda->tier, "sm_%d%d", properties.major, properties.minor);
    cuda->base.tier = cuda->tier;
    enum glint_status status = GLINT_OK;
    if (!open_host(cuda))
        status = glint_fail(err, GLINT_E_NOMEM, "cuda: no memory for the backend");
    else if (!open_device(cuda))
        status = glint_fail(err, GLINT_E_NOMEM,
                            "cuda: device %d (%s) does not hold the backend's own %zu bytes",
                            params->device, properties.name, own_bytes(&params->limits));
    else if (!prepare_kernels(cuda))
        status =
            glint_fail(err, GLINT_E_DEVICE, "cuda: device %d (%s): no kernels for sm_%d%d (%s)",
                       params->device, properties.name, properties.major, properties.minor,
                       cudaGetErrorString(cudaGetLastError()));
    if (status != GLINT_OK) {
        cuda_close(&cuda->base);
        return status;
    }
    *backend = &cuda->base;
    return GLINT_OK;
}
