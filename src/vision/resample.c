// SPDX-License-Identifier: Apache-2.0
// resample.c — see resample.h. Weights are computed in double and used in 22-bit fixed point.
// The intermediate picture holds only the rows that the vertical pass reads.
#include "vision/resample.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

// Sums stay below 2^31: the weights of an output add up to 1, their magnitudes to less than 2.
enum { LOBES = 3, FRACTION = 22 };

// Weights along one dimension: output o is the sum of weight[o * n_tap + k] * input[first[o] + k]
// for k < count[o].
struct taps {
    int n_tap;
    int *first, *count; // [n_out]
    int32_t *weight;    // [n_out, n_tap]
};

static double sinc(double t) {
    const double pi = 3.14159265358979323846;
    if (t == 0)
        return 1;
    t *= pi;
    return sin(t) / t;
}

static double lanczos(double t) {
    return -LOBES <= t && t < LOBES ? sinc(t) * sinc(t / LOBES) : 0;
}

static void taps_fini(struct taps *taps) {
    glint_free(taps->first);
    glint_free(taps->count);
    glint_free(taps->weight);
}

static void make_tap(struct taps *taps, int o, int n_in, double scale, double *w) {
    double stretch = scale > 1 ? scale : 1, support = LOBES * stretch, sum = 0;
    double centre = (o + 0.5) * scale;
    int lo = (int)(centre - support + 0.5), hi = (int)(centre + support + 0.5);
    lo = lo < 0 ? 0 : lo;
    hi = hi > n_in ? n_in : hi;
    for (int k = 0; k < hi - lo; k++) {
        w[k] = lanczos((k + lo - centre + 0.5) * (1 / stretch));
        sum += w[k];
    }
    for (int k = 0; k < hi - lo; k++) {
        double x = sum != 0 ? w[k] / sum : w[k];
        taps->weight[(size_t)o * (size_t)taps->n_tap + (size_t)k] =
            (int32_t)(x * (1 << FRACTION) + (x < 0 ? -0.5 : 0.5));
    }
    taps->first[o] = lo;
    taps->count[o] = hi - lo;
}

static bool taps_init(struct taps *taps, int n_in, int n_out) {
    double scale = (double)n_in / n_out;
    size_t n = (size_t)n_out;
    taps->n_tap = (int)ceil(LOBES * (scale > 1 ? scale : 1)) * 2 + 1;
    taps->first = glint_alloc(n, sizeof(int));
    taps->count = glint_alloc(n, sizeof(int));
    taps->weight = glint_alloc(n, (size_t)taps->n_tap * sizeof(int32_t));
    double *w = glint_alloc((size_t)taps->n_tap, sizeof *w);
    bool ok = taps->first && taps->count && taps->weight && w;
    for (int o = 0; ok && o < n_out; o++)
        make_tap(taps, o, n_in, scale, w);
    glint_free(w);
    return ok;
}

static uint8_t clip(int32_t sum) {
    sum >>= FRACTION;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

// Rows [0, height) of in, its own rows from `row` on.
static void across(uint8_t *out, const struct glint_rgb *in, int row, int height, int width,
                   const struct taps *taps) {
    for (int y = 0; y < height; y++) {
        const uint8_t *from = in->data + (size_t)(row + y) * (size_t)in->width * 3;
        for (int x = 0; x < width; x++) {
            const int32_t *weight = taps->weight + (size_t)x * (size_t)taps->n_tap;
            const uint8_t *v = from + (size_t)taps->first[x] * 3;
            int32_t sum[3] = {1 << (FRACTION - 1), 1 << (FRACTION - 1), 1 << (FRACTION - 1)};
            for (int k = 0; k < taps->count[x]; k++)
                for (int c = 0; c < 3; c++)
                    sum[c] += weight[k] * v[3 * k + c];
            for (int c = 0; c < 3; c++)
                *out++ = clip(sum[c]);
        }
    }
}

// `in` holds the picture's rows from `row` on.
static void down(const struct glint_rgb *out, const uint8_t *in, int row, int32_t *sum,
                 const struct taps *taps) {
    size_t line = (size_t)out->width * 3;
    for (int y = 0; y < out->height; y++) {
        const int32_t *weight = taps->weight + (size_t)y * (size_t)taps->n_tap;
        for (size_t i = 0; i < line; i++)
            sum[i] = 1 << (FRACTION - 1);
        for (int k = 0; k < taps->count[y]; k++) {
            const uint8_t *v = in + (size_t)(taps->first[y] + k - row) * line;
            for (size_t i = 0; i < line; i++)
                sum[i] += weight[k] * v[i];
        }
        for (size_t i = 0; i < line; i++)
            out->data[(size_t)y * line + i] = clip(sum[i]);
    }
}

enum glint_status glint_resample(const struct glint_rgb *out, const struct glint_rgb *in,
                                 struct glint_error *err) {
    struct taps wide = {0}, high = {0};
    bool is_wide = in->width != out->width, is_high = in->height != out->height, ok = true;
    int row = 0, height = in->height;
    uint8_t *middle = NULL;
    int32_t *sum = NULL;
    size_t line = (size_t)out->width * 3;
    if (is_high) {
        ok = taps_init(&high, in->height, out->height);
        int last = out->height - 1;
        row = ok ? high.first[0] : 0;
        height = ok ? high.first[last] + high.count[last] - row : 0;
        sum = glint_alloc(line, sizeof *sum);
    }
    if (is_wide)
        ok = ok && taps_init(&wide, in->width, out->width);
    if (is_wide && is_high)
        middle = glint_alloc((size_t)height, line);
    ok = ok && (!is_high || sum) && (!is_wide || !is_high || middle);
    if (ok && is_wide)
        across(is_high ? middle : out->data, in, row, height, out->width, &wide);
    if (ok && is_high)
        down(out, is_wide ? middle : in->data + (size_t)row * line, row, sum, &high);
    if (ok && !is_wide && !is_high)
        memcpy(out->data, in->data, (size_t)out->height * line);
    glint_free(middle);
    glint_free(sum);
    taps_fini(&wide);
    taps_fini(&high);
    return ok ? GLINT_OK
              : glint_fail(err, GLINT_E_NOMEM, "no memory to resize a picture of %d x %d",
                           in->width, in->height);
}
