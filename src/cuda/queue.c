// SPDX-License-Identifier: Apache-2.0
// queue.c — launches are gathered until somebody waits, then sent. A sequence of launches that
// was sent before, with the same arguments, is turned into a CUDA graph and from then on sent as
// one: a decode step is always the same, because what differs (ids, positions, pages) lies at
// fixed addresses.
#include "cuda/cuda_backend.h"

#include <string.h>

enum { STAGE_ALIGN = 256 };

bool glint_cuda_check(struct glint_cuda *cuda, cudaError_t error, const char *op, int rows) {
    if (error == cudaSuccess)
        return true;
    if (cuda->failed == cudaSuccess) {
        cuda->failed = error;
        cuda->failed_op = op;
        cuda->failed_rows = rows;
    }
    (void)cudaGetLastError();
    return false;
}

// ---- launches -------------------------------------------------------------------------------

void glint_cuda_push(struct glint_cuda *cuda, const void *kernel,
                     const struct glint_cuda_shape *shape, const void *params, size_t bytes) {
    GLINT_ASSERT(bytes <= GLINT_CUDA_PARAM_BYTES);
    if (cuda->n_queue == GLINT_CUDA_MAX_QUEUE)
        glint_cuda_flush(cuda);
    struct glint_cuda_launch *launch = &cuda->queue[cuda->n_queue++];
    memset(launch, 0, sizeof *launch); // compared as bytes
    launch->kernel = kernel;
    launch->op = shape->op;
    launch->grid.x = shape->grid[0] ? shape->grid[0] : 1;
    launch->grid.y = shape->grid[1] ? shape->grid[1] : 1;
    launch->grid.z = shape->grid[2] ? shape->grid[2] : 1;
    launch->block = shape->block;
    launch->shared_bytes = shape->shared_bytes;
    launch->rows = shape->rows;
    memcpy(launch->params, params, bytes);
}

static void launch_all(struct glint_cuda *cuda) {
    for (int i = 0; i < cuda->n_queue && cuda->failed == cudaSuccess; i++) {
        struct glint_cuda_launch *launch = &cuda->queue[i];
        dim3 block = {launch->block, 1, 1};
        void *args[] = {launch->params};
        glint_cuda_check(cuda,
                         cudaLaunchKernel(launch->kernel, launch->grid, block, args,
                                          launch->shared_bytes, cuda->stream),
                         launch->op, launch->rows);
    }
}

static void forget(struct glint_cuda_graph *graph) {
    if (graph->exec)
        cudaGraphExecDestroy(graph->exec);
    graph->exec = NULL;
    graph->n = 0;
}

void glint_cuda_forget_graphs(struct glint_cuda *cuda) {
    for (int i = 0; i < GLINT_CUDA_MAX_GRAPH; i++)
        forget(&cuda->graph[i]);
}

// The graph of what is queued, or the one to replace, whose n is 0 then.
static struct glint_cuda_graph *find_graph(struct glint_cuda *cuda) {
    struct glint_cuda_graph *oldest = &cuda->graph[0];
    size_t bytes = (size_t)cuda->n_queue * sizeof *cuda->queue;
    for (int i = 0; i < GLINT_CUDA_MAX_GRAPH; i++) {
        struct glint_cuda_graph *graph = &cuda->graph[i];
        if (graph->n == cuda->n_queue && memcmp(graph->launches, cuda->queue, bytes) == 0)
            return graph;
        if (graph->used < oldest->used)
            oldest = graph;
    }
    forget(oldest);
    return oldest;
}

static void capture(struct glint_cuda *cuda, struct glint_cuda_graph *graph) {
    cudaGraph_t made = NULL;
    cudaError_t error = cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal);
    if (!glint_cuda_check(cuda, error, "graph", cuda->n_queue))
        return;
    launch_all(cuda);
    error = cudaStreamEndCapture(cuda->stream, &made);
    if (glint_cuda_check(cuda, error, "graph", cuda->n_queue))
        glint_cuda_check(cuda, cudaGraphInstantiate(&graph->exec, made, 0), "graph", cuda->n_queue);
    if (made)
        cudaGraphDestroy(made);
}

static bool comes_again(const struct glint_cuda *cuda) {
    for (int i = 0; i < cuda->n_queue; i++)
        if (cuda->queue[i].rows > GLINT_CUDA_GRAPH_ROWS)
            return false;
    return cuda->n_queue > 8;
}

static void send(struct glint_cuda *cuda) {
    if (!comes_again(cuda)) {
        launch_all(cuda);
        return;
    }
    struct glint_cuda_graph *graph = find_graph(cuda);
    graph->used = ++cuda->clock;
    if (graph->n == 0) {
        memcpy(graph->launches, cuda->queue, (size_t)cuda->n_queue * sizeof *cuda->queue);
        graph->n = cuda->n_queue;
        launch_all(cuda);
        return;
    }
    if (!graph->exec)
        capture(cuda, graph);
    if (graph->exec)
        glint_cuda_check(cuda, cudaGraphLaunch(graph->exec, cuda->stream), "graph", graph->n);
}

void glint_cuda_flush(struct glint_cuda *cuda) {
    if (cuda->n_queue > 0 && cuda->failed == cudaSuccess) {
        if (cuda->stage_used > cuda->stage_sent)
            glint_cuda_check(cuda,
                             cudaMemcpyAsync(cuda->stage + cuda->stage_sent,
                                             cuda->stage_host + cuda->stage_sent,
                                             cuda->stage_used - cuda->stage_sent,
                                             cudaMemcpyHostToDevice, cuda->stream),
                             "step arrays", 0);
        cuda->stage_sent = cuda->stage_used;
        send(cuda);
    }
    cuda->n_queue = 0;
}

// ---- host arrays ----------------------------------------------------------------------------

void glint_cuda_drain(struct glint_cuda *cuda) {
    glint_cuda_flush(cuda);
    glint_cuda_check(cuda, cudaStreamSynchronize(cuda->stream), "step", 0);
    cuda->stage_used = cuda->stage_sent = 0;
    cuda->n_entry = 0;
}

const void *glint_cuda_stage(struct glint_cuda *cuda, const void *host, size_t bytes) {
    for (int i = 0; i < cuda->n_entry; i++)
        if (cuda->entry[i].bytes == bytes &&
            memcmp(cuda->stage_host + cuda->entry[i].at, host, bytes) == 0)
            return cuda->stage + cuda->entry[i].at;
    if (bytes > cuda->stage_bytes)
        return NULL;
    if (cuda->stage_used + bytes > cuda->stage_bytes || cuda->n_entry == GLINT_CUDA_MAX_ENTRY)
        glint_cuda_drain(cuda);
    struct glint_cuda_entry *entry = &cuda->entry[cuda->n_entry++];
    *entry = (struct glint_cuda_entry){cuda->stage_used, bytes};
    memcpy(cuda->stage_host + entry->at, host, bytes);
    cuda->stage_used += (bytes + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
    return cuda->stage + entry->at;
}
