// SPDX-License-Identifier: Apache-2.0
// emulator.cpp — runs CUDA kernels on the host. The threads of a block are fibers that run until
// they wait at a barrier or exchange values inside their warp; a launch returns when every block
// has finished. Device memory is plain memory, so the sanitizers see what a kernel touches.
#include "cuda_runtime.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <vector>

extern "C" {
#include "base/half.h"
}

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace {

enum { STACK_BYTES = 128 * 1024, MAX_THREADS = 1024, SHARED_BYTES = 228 * 1024, WARP = 32 };
enum wait_kind { RUNNING, AT_BLOCK, AT_WARP, DONE };

struct fiber {
    ucontext_t context; // only to start on its own stack
    jmp_buf at;
    bool started;
    wait_kind wait;
    unsigned turn; // of the barrier it waits for
    uint3 index;
    char *stack;
};

struct barrier {
    unsigned turn;
    int arrived;
};

struct warp {
    barrier gate;
    unsigned i_slot; // exchanges alternate, so that one barrier each is enough
    int live;
    uint32_t slot[2][WARP][10];
    unsigned parity[WARP];
};

struct block_state {
    fiber fibers[MAX_THREADS];
    warp warps[MAX_THREADS / WARP];
    barrier gate;
    int n_thread, live, now;
    jmp_buf scheduler;
    ucontext_t home;
    void (*kernel)(void *);
    void *params;
    alignas(128) unsigned char shared[SHARED_BYTES];
} *state;

fiber &self() {
    return state->fibers[state->now];
}

warp &my_warp() {
    return state->warps[state->now / WARP];
}

void enter() {
    state->kernel(state->params);
    self().wait = DONE;
    state->live--;
    my_warp().live--;
    _longjmp(state->scheduler, 1);
}

void release(barrier &gate) {
    gate.arrived = 0;
    gate.turn++;
}

void wait_at(barrier &gate, int n, wait_kind kind) {
    fiber &me = self();
    me.turn = gate.turn;
    if (++gate.arrived == n) {
        release(gate);
        return;
    }
    me.wait = kind;
    if (_setjmp(me.at) == 0)
        _longjmp(state->scheduler, 1);
}

bool can_run(int i) {
    fiber &f = state->fibers[i];
    warp &w = state->warps[i / WARP];
    if (f.wait == AT_BLOCK && state->gate.turn == f.turn && state->gate.arrived == state->live)
        release(state->gate); // the others have ended
    if (f.wait == AT_WARP && w.gate.turn == f.turn && w.gate.arrived == w.live)
        release(w.gate);
    if (f.wait == AT_BLOCK)
        return state->gate.turn != f.turn;
    if (f.wait == AT_WARP)
        return w.gate.turn != f.turn;
    return f.wait == RUNNING;
}

void resume(int i) {
    fiber &f = state->fibers[i];
    state->now = i;
    threadIdx = f.index;
    f.wait = RUNNING;
    if (_setjmp(state->scheduler) == 0) {
        if (f.started)
            _longjmp(f.at, 1);
        f.started = true;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack;
        f.context.uc_stack.ss_size = STACK_BYTES;
        f.context.uc_link = nullptr;
        makecontext(&f.context, enter, 0);
        setcontext(&f.context);
    }
}

void run_block() {
    int n = state->n_thread;
    state->live = n;
    state->gate = {};
    for (int w = 0; w * WARP < n; w++) {
        state->warps[w].gate = {};
        state->warps[w].live = n - w * WARP < WARP ? n - w * WARP : WARP;
    }
    for (int i = 0; i < n; i++) {
        fiber &f = state->fibers[i];
        f.started = false;
        f.wait = RUNNING;
        f.index = {(unsigned)i % blockDim.x, (unsigned)i / blockDim.x % blockDim.y,
                   (unsigned)i / (blockDim.x * blockDim.y)};
        state->warps[i / WARP].parity[i % WARP] = 0;
        if (!f.stack)
            f.stack = static_cast<char *>(malloc(STACK_BYTES));
    }
    while (state->live > 0) {
        bool moved = false;
        for (int i = 0; i < n; i++)
            while (can_run(i)) {
                resume(i);
                moved = true;
                if (state->fibers[i].wait != RUNNING)
                    break;
            }
        if (!moved && state->live > 0) {
            fprintf(stderr, "emulator: block %u,%u,%u: every thread waits\n", blockIdx.x,
                    blockIdx.y, blockIdx.z);
            abort();
        }
    }
}

// Every lane leaves n words and sees those of the others until its exchange after next.
uint32_t (*exchange(const uint32_t *words, int n))[10] {
    warp &w = my_warp();
    int lane = state->now % WARP;
    unsigned parity = w.parity[lane]++ % 2;
    for (int i = 0; i < n; i++)
        w.slot[parity][lane][i] = words[i];
    wait_at(w.gate, w.live, AT_WARP);
    return w.slot[parity];
}

} // namespace

unsigned char *glint_emulator_shared() {
    return state->shared;
}

void __syncthreads() {
    wait_at(state->gate, state->live, AT_BLOCK);
}

uint32_t glint_emulator_shuffle(uint32_t value, int from_lane) {
    return exchange(&value, 1)[from_lane][0];
}

uint32_t glint_shuffle_xor(uint32_t value, int mask) {
    return glint_emulator_shuffle(value, (state->now % WARP) ^ mask);
}

float glint_half_float(uint16_t half) {
    return glint_half_to_float(half);
}

uint16_t glint_float_half(float value) {
    return glint_half_from_float(value);
}

uint32_t glint_half2_sub(uint32_t a, uint32_t b) {
    uint16_t low = glint_half_from_float(glint_half_to_float((uint16_t)a) -
                                         glint_half_to_float((uint16_t)b));
    uint16_t high = glint_half_from_float(glint_half_to_float((uint16_t)(a >> 16)) -
                                          glint_half_to_float((uint16_t)(b >> 16)));
    return low | (uint32_t)high << 16;
}

uint32_t glint_byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t both = a | (uint64_t)b << 32;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++)
        out |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return out;
}

// c[16][8] += a[16][16] b[16][8], halves in, floats out; the fragments of mma.m16n8k16.
void glint_mma(float c[4], const uint32_t a[4], const uint32_t b[2]) {
    uint32_t mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    uint32_t(*all)[10] = exchange(mine, 6);
    int lane = state->now % WARP;
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + 8 * (i / 2), col = lane % 4 * 2 + i % 2;
        float sum = 0;
        for (int k = 0; k < 16; k++) {
            uint32_t x = all[row % 8 * 4 + k % 8 / 2][row / 8 + 2 * (k / 8)];
            uint32_t y = all[col * 4 + k % 8 / 2][4 + k / 8];
            sum += glint_half_to_float((uint16_t)(x >> 16 * (k % 2))) *
                   glint_half_to_float((uint16_t)(y >> 16 * (k % 2)));
        }
        c[i] += sum;
    }
}

// ---- the runtime ----------------------------------------------------------------------------

struct launch {
    const void *kernel;
    dim3 grid, block;
    std::vector<unsigned char> params;
};

struct glint_fake_stream {
    bool capturing;
    std::vector<launch> captured;
};

struct glint_fake_graph {
    std::vector<launch> launches;
};

static void run(const launch &work) {
    if (!state)
        state = static_cast<block_state *>(calloc(1, sizeof *state));
    gridDim = work.grid;
    blockDim = work.block;
    state->n_thread = (int)(work.block.x * work.block.y * work.block.z);
    state->kernel = reinterpret_cast<void (*)(void *)>(const_cast<void *>(work.kernel));
    state->params = const_cast<unsigned char *>(work.params.data());
    for (unsigned z = 0; z < work.grid.z; z++)
        for (unsigned y = 0; y < work.grid.y; y++)
            for (unsigned x = 0; x < work.grid.x; x++) {
                blockIdx = {x, y, z};
                run_block();
            }
}

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    *properties = {"emulator", (size_t)8 << 30, SHARED_BYTES - 1024, 9, 0, 4};
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    *free_bytes = *total = (size_t)8 << 30;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **block, size_t bytes) {
    *block = bytes < (size_t)1 << 33 ? aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
    return *block ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *block) {
    free(block);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **block, size_t bytes) {
    return cudaMalloc(block, bytes);
}

cudaError_t cudaFreeHost(void *block) {
    return cudaFree(block);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind,
                            cudaStream_t) {
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *block, int value, size_t bytes, cudaStream_t) {
    memset(block, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    *stream = new glint_fake_stream();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    *event = nullptr;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t) {
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
    stream->capturing = true;
    stream->captured.clear();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    stream->capturing = false;
    *graph = new glint_fake_graph{stream->captured};
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    *exec = new glint_fake_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
    for (const launch &work : exec->launches)
        run(work);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *, enum cudaFuncAttribute, int) {
    return cudaSuccess;
}

enum { PARAM_BYTES = 256 }; // what src/cuda's queue holds of every launch

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                             size_t shared_bytes, cudaStream_t stream) {
    if (block.x * block.y * block.z > MAX_THREADS || shared_bytes > SHARED_BYTES ||
        grid.x * grid.y * grid.z == 0)
        return cudaErrorInvalidValue;
    const unsigned char *params = static_cast<const unsigned char *>(args[0]);
    launch work = {kernel, grid, block, std::vector<unsigned char>(params, params + PARAM_BYTES)};
    if (stream->capturing)
        stream->captured.push_back(work);
    else
        run(work);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}

const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "out of memory" : "refused";
}

} // extern "C"
