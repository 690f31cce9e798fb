// SPDX-License-Identifier: Apache-2.0
// op.h — every op of the model, with its formula. The scalar version in cpu/ is the definition
// in code; this page is the definition in words. model.md section A has the equations.
//
// All activations are float32 in device memory, outermost dimension first. Rows are tokens.
// Numeric contract (docs/numerics.md): the value of a row depends only on that row's inputs,
// never on the number of rows in the call, on the number of threads, or on where cache rows lie.
// Ops do not fail: arguments are checked when the model is bound, devices report at sync.
#ifndef GLINT_OP_OP_H
#define GLINT_OP_OP_H

#include "op/kv_plane.h"
#include "quant/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A weight matrix [n_row, n_col]: y[r] = sum_c W[r][c] x[c]. Rows are contiguous blocks of dtype,
// exactly as in the file. Borrowed.
struct glint_matrix {
    const void *data; // [n_row][row_bytes], device memory
    enum glint_dtype dtype;
    int64_t n_row;    // outputs
    int64_t n_col;    // inputs
    size_t row_bytes; // glint_dtype_bytes(dtype, n_col)
};

// embed: out[i] = decode(table row id[i]).
struct glint_op_embed {
    float *out;                       // [n, n_col]
    const struct glint_matrix *table; // [n_vocab, n_col]
    const int32_t *id;                // [n], each in [0, n_vocab)
    int n;
};

// rms_norm: out[i] = x[i] / sqrt(mean(x[i]^2) + epsilon) * gain    (gain 1 when NULL)
// out may be x.
struct glint_op_rms_norm {
    float *out;        // [n, width]
    const float *x;    // [n, width]
    const float *gain; // [width] or NULL
    float epsilon;
    int n, width;
};

// add_rms_norm: h[i] += y[i] / sqrt(mean(y[i]^2) + epsilon) * gain          the post norms
struct glint_op_add_rms_norm {
    float *h;          // [n, width], in place
    const float *y;    // [n, width]
    const float *gain; // [width]
    float epsilon;
    int n, width;
};

// layer_norm: out[i] = (x[i] - mean) / sqrt(mean((x[i] - mean)^2) + epsilon) * gain + bias
// out may be x.
struct glint_op_layer_norm {
    float *out;        // [n, width]
    const float *x;    // [n, width]
    const float *gain; // [width]
    const float *bias; // [width]
    float epsilon;
    int n, width;
};

// add: x[i] += y[i] + bias    (y or bias 0 when NULL)
struct glint_op_add {
    float *x;          // [n, width], in place
    const float *y;    // [n, width] or NULL
    const float *bias; // [width] or NULL
    int n, width;
};

// gelu: x[i] = z / 2 * (1 + erf(z / sqrt 2)), z = x[i] + bias    (bias 0 when NULL)
struct glint_op_gelu {
    float *x;          // [n, width], in place
    const float *bias; // [width] or NULL
    int n, width;
};

// rotate: pair j, channels (2j, 2j + 1), of each head of row i is turned by the angle whose
// cosine and sine are turn[i][j]: (a, b) -> (a cos - b sin, b cos + a sin)
struct glint_op_rotate {
    float *x;          // [n, n_head, head_dim], in place
    const float *turn; // [n, head_dim / 2, 2: cos, sin]
    int n, n_head, head_dim;
};

// matmul: for each matrix m: out[m][i] = W[m] x[i]. Up to four matrices share one x (and its
// quantization): q, k, v, gate; or gate, up.
// Arithmetic. Float weights: float32 products and sums in a fixed order.
// Quantized weights, exact = false: x is rounded per row to int8 in blocks of 32 with a float32
// scale; the products under one weight scale (32 or 16 columns) are summed as integers; blocks
// are added in ascending order in float32, fused (docs/numerics.md).
// exact = true: the weights are decoded to float32 and multiplied as float weights are.
enum { GLINT_MATMUL_MAX = 4 };
struct glint_op_matmul {
    const float *x; // [n, n_col]
    int n;
    int n_matrix;                                   // 1..GLINT_MATMUL_MAX
    const struct glint_matrix *w[GLINT_MATMUL_MAX]; // all of the same n_col
    float *out[GLINT_MATMUL_MAX];                   // [n, w->n_row]
    bool exact;
};

// head_norm_rope: for each head row v of x: v = v / sqrt(mean(v^2) + epsilon) * gain; then, when
// inv_freq is not NULL, pair i is turned by position * inv_freq[i] (float32 product):
//     (a, b) -> (a cos - b sin, b cos + a sin)
// Pair i is (2i, 2i+1), or with halves (i, i + head_dim / 2).
struct glint_op_head_norm_rope {
    float *x;                // [n, n_head, head_dim], in place
    const float *gain;       // [head_dim]
    const float *inv_freq;   // [head_dim / 2], or NULL: no rotation
    const int32_t *position; // [n]
    float epsilon;
    int n, n_head, head_dim;
    bool halves;
};

// One row of the flat batch as the cache sees it.
struct glint_kv_ref {
    struct glint_kv_table table; // pages of the row's sequence in the plane at hand
    int32_t position;
    int32_t ahead; // rows after its own that it sees too: 0, but in a drafter's block and a picture
};

// kv_store: rounds k[i], v[i] once to the cache type at ref[i].position (NC-5).
struct glint_op_kv_store {
    const struct glint_kv_plane *plane;
    int i_layer;                    // in the plane's class
    const float *k, *v;             // [n, n_head_kv, head_dim]
    const struct glint_kv_ref *ref; // [n]
    int n;
};

// attention: for query head h of row i, KV head h / (n_head / n_head_kv), position p =
// ref[i].position, over t in (p - window, p + ref[i].ahead] (window 0: from 0 on):
//     s_t = scale * q . k_t,   out = sum_t softmax(s)_t v_t
// Keys in ascending position, in tiles of GLINT_KV_TILE, partial softmaxes over
// GLINT_KV_SPLIT keys merged in ascending order, boundaries at multiples of those in position.
// Rows of one sequence stand together in the batch, in ascending position.
struct glint_op_attention {
    float *out;     // [n, n_head, head_dim]
    const float *q; // [n, n_head, head_dim]
    const struct glint_kv_plane *plane;
    int i_layer;
    const struct glint_kv_ref *ref; // [n]
    int n, n_head;
    int32_t window; // 0 or >= 1
    float scale;
};

// gate: a[i] *= 1 / (1 + exp(-g[i]))
struct glint_op_gate {
    float *a;       // [n * width], in place
    const float *g; // [n * width]
    int64_t count;  // n * width
};

// swiglu: gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
struct glint_op_swiglu {
    float *gate;     // [n * width], in place
    const float *up; // [n * width]
    int64_t count;
};

// softcap: x[i] = cap * tanh(x[i] * scale / cap)
struct glint_op_softcap {
    float *x; // in place
    int64_t count;
    float scale, cap;
};

// copy_rows: out[i * out_stride + c] = x[i * x_stride + c] for c < width
struct glint_op_copy_rows {
    float *out;     // [n, out_stride]
    const float *x; // [n, x_stride]
    int n, width;
    int64_t out_stride, x_stride; // floats, at least width
};

// best: id[i] = the lowest c that has the largest x[i][c]; NaN never wins
struct glint_op_best {
    int32_t *id;    // [n]
    const float *x; // [n, width]
    int n, width;
};

#endif
