// SPDX-License-Identifier: Apache-2.0
// sampling_request.h — the fields that say how tokens are drawn; the same in every protocol.
#ifndef GLINT_SERVER_SAMPLING_REQUEST_H
#define GLINT_SERVER_SAMPLING_REQUEST_H

#include "server/request_field.h"

// What a request does not say, and what its tokens are checked against.
struct glint_request_defaults {
    struct glint_sampler_options sampling;
    int64_t n_predict; // -1: no limit
    int n_vocab, n_context;
    bool keep_noise; // of agents' system texts
};

struct glint_sampling_request {
    struct glint_sampler_options options; // options.bias points into `bias`
    struct glint_buffer bias;
    bool has_seed;
    bool ignore_eos;
};

// Starts from the defaults. False after a refusal.
bool glint_sampling_read(struct glint_sampling_request *sampling, const struct glint_fields *fields,
                         const struct glint_request_defaults *defaults);
void glint_sampling_fini(struct glint_sampling_request *sampling);

#endif
