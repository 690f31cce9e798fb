// SPDX-License-Identifier: Apache-2.0
// sampling_request.c — temperature and the like, penalties, logit_bias in its two shapes.
#include "server/sampling_request.h"

#include "server/random_id.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_BIAS = 1024 };

static bool read_float(const struct glint_fields *fields, const char *name, double min, double max,
                       float *out) {
    double value = (double)*out;
    bool ok = glint_field_double(fields, name, min, max, &value);
    *out = (float)value;
    return ok;
}

static bool read_int(const struct glint_fields *fields, const char *name, int64_t min, int64_t max,
                     int32_t *out) {
    int64_t value = *out;
    bool ok = glint_field_int(fields, name, min, max, &value);
    *out = (int32_t)value;
    return ok;
}

static bool add_bias(struct glint_sampling_request *s, const struct glint_fields *fields,
                     int64_t id, double bias, int n_vocab) {
    struct glint_logit_bias row = {(int32_t)id, (float)bias};
    if (id < 0 || id >= n_vocab || !(bias >= -100 && bias <= 100) || s->options.n_bias == MAX_BIAS)
        return glint_field_refuse(fields, "logit_bias",
                                  "at most 1,024 token ids of the vocabulary with a bias from -100 "
                                  "to 100 each");
    if (bias == -100)
        row.bias = -INFINITY; // a ban, as documented by OpenAI
    glint_buffer_append(&s->bias, &row, sizeof row);
    s->options.n_bias++;
    return true;
}

// {"42": -1.5} or, as llama.cpp takes it, [[42, -1.5], [43, false]].
static bool read_bias(struct glint_sampling_request *s, const struct glint_fields *fields,
                      int n_vocab) {
    const struct glint_json *all = glint_field(fields, "logit_bias");
    if (!all)
        return true;
    if (!glint_json_is(all, GLINT_JSON_OBJECT) && !glint_json_is(all, GLINT_JSON_ARRAY))
        return glint_field_refuse(fields, "logit_bias", "an object of token ids");
    for (const struct glint_json *m = glint_json_first(all); m; m = m->next) {
        const struct glint_json *value = m;
        int64_t id = -1;
        double bias = NAN;
        bool truth;
        if (all->kind == GLINT_JSON_OBJECT) {
            char *end;
            id = strtoll(m->key.data, &end, 10);
            if (m->key.n == 0 || *end != 0)
                id = -1;
        } else {
            glint_json_to_i64(glint_json_at(m, 0), &id);
            value = glint_json_at(m, 1);
        }
        if (glint_json_to_bool(value, &truth) && !truth)
            bias = -100;
        else
            glint_json_to_double(value, &bias);
        if (!add_bias(s, fields, id, bias, n_vocab))
            return false;
    }
    return true;
}

bool glint_sampling_read(struct glint_sampling_request *s, const struct glint_fields *fields,
                         const struct glint_request_defaults *defaults) {
    static const struct {
        const char *name;
        double off;
    } unsupported[] = {{"typical_p", 1},      {"xtc_probability", 0}, {"dry_multiplier", 0},
                       {"mirostat", 0},       {"dynatemp_range", 0},  {"tfs_z", 1},
                       {"stop_token_ids", 0}, {"min_tokens", 0}};
    struct glint_sampler_options *o = &s->options;
    int64_t seed = -1;
    *s = (struct glint_sampling_request){.options = defaults->sampling};
    o->bias = NULL;
    o->n_bias = 0;
    o->logprobs = false;
    o->n_logprobs = 0;
    bool ok = read_float(fields, "temperature", 0, 100, &o->temperature) &&
              read_float(fields, "top_p", 0, 1, &o->top_p) &&
              read_float(fields, "min_p", 0, 1, &o->min_p) &&
              read_int(fields, "top_k", -1, INT32_MAX, &o->top_k) &&
              read_float(fields, "presence_penalty", -2, 2, &o->presence_penalty) &&
              read_float(fields, "frequency_penalty", -2, 2, &o->frequency_penalty) &&
              read_float(fields, "repeat_penalty", 0.001, 1000, &o->repeat_penalty) &&
              read_float(fields, "repetition_penalty", 0.001, 1000, &o->repeat_penalty) &&
              read_int(fields, "repeat_last_n", -1, 1 << 24, &o->repeat_last_n) &&
              glint_field_int(fields, "seed", INT64_MIN, INT64_MAX, &seed) &&
              glint_field_bool(fields, "ignore_eos", &s->ignore_eos) &&
              read_bias(s, fields, defaults->n_vocab);
    for (size_t i = 0; ok && i < sizeof unsupported / sizeof unsupported[0]; i++)
        ok = glint_field_unsupported(fields, unsupported[i].name, unsupported[i].off);
    // -1 is the whole context elsewhere, and there is no more than that.
    if (o->repeat_last_n < 0 || o->repeat_last_n > defaults->n_context)
        o->repeat_last_n = defaults->n_context;
    if (o->top_k < 0)
        o->top_k = 0; // -1 is "off" elsewhere
    o->bias = (const struct glint_logit_bias *)(const void *)s->bias.data;
    s->has_seed = seed != -1; // -1 asks for a random one, as llama.cpp has it
    o->seed = s->has_seed ? (uint64_t)seed : glint_random_u64();
    return ok;
}

void glint_sampling_fini(struct glint_sampling_request *s) {
    glint_buffer_fini(&s->bias);
}
