// SPDX-License-Identifier: Apache-2.0
// sampler.h — one row of logits to one token.
// Steps, in this order:
//   1. logit bias: logit += bias (-inf bans a token)
//   2. penalties over the last repeat_last_n tokens, prompt included: a token seen c > 0 times
//      has its logit divided (if positive) or multiplied (if not) by repeat_penalty, then lowered
//      by c * frequency_penalty + presence_penalty
//   3. the mask: tokens whose bit is 0 are out
//   4. temperature 0: the largest logit wins, lowest id on a tie
//   5. top-k: the k largest (order: logit descending, id ascending)
//   6. top-p on the softmax of what is left: the shortest prefix of that order whose sum is >= p
//   7. min-p: tokens at least min_p times as probable as the best
//   8. temperature, softmax, and a draw: the first token in id order whose running sum exceeds
//      u * total, with one u a token
// u is random access: splitmix64 of (seed, number of tokens accepted so far), so the same seed
// gives the same text, and checking a draft row by row draws what decoding one by one would.
// Log-probabilities are those of the raw row, before step 1.
// Options, results and defaults are public (glint.h). The sampler is small and belongs to a
// sequence; the scratch is large and belongs to a thread. Nothing allocates after open.
#ifndef GLINT_SAMPLE_SAMPLER_H
#define GLINT_SAMPLE_SAMPLER_H

#include "base/status.h"

enum { GLINT_SAMPLER_MAX_REWIND = 256 }; // accepted tokens that can be taken back

struct glint_sampler;
struct glint_sampler_scratch;

enum glint_status glint_sampler_scratch_open(struct glint_sampler_scratch **scratch,
                                             int32_t n_vocab, struct glint_error *err);
void glint_sampler_scratch_close(struct glint_sampler_scratch **scratch);

// Checks every option; GLINT_E_ARG names the bad one, its value and its range.
enum glint_status glint_sampler_open(struct glint_sampler **sampler,
                                     const struct glint_sampler_options *options, int32_t n_vocab,
                                     struct glint_error *err);
void glint_sampler_close(struct glint_sampler **sampler);
// The penalties forget every token; the random numbers go on.
void glint_sampler_forget(struct glint_sampler *sampler);

// Tokens that were not drawn: they count for the penalties and use no random number.
void glint_sampler_prompt(struct glint_sampler *sampler, const int32_t *ids, size_t n);
// The token that the sequence goes on with, drawn or forced: uses up one random number.
void glint_sampler_accept(struct glint_sampler *sampler, int32_t id);
// Takes back the last n accepted tokens, n <= GLINT_SAMPLER_MAX_REWIND and no more than were
// accepted. Penalties and random numbers are then exactly as before them.
void glint_sampler_rewind(struct glint_sampler *sampler, size_t n);
// Tokens accepted since open: the index of the next random number.
uint64_t glint_sampler_n_accepted(const struct glint_sampler *sampler);

// Draws from logits [n_vocab]. The row is patched during the call and restored bit for bit.
// allowed: NULL, or a bit set [(n_vocab + 31) / 32], bit id % 32 of word id / 32. Does not change
// the sampler: accept the token to go on. Row i of a draft check: accept the i tokens before it
// first. Fails with GLINT_E_FORMAT on a NaN or +inf logit (named) and when no token is left.
enum glint_status glint_sampler_sample(const struct glint_sampler *sampler,
                                       struct glint_sampler_scratch *scratch, float *logits,
                                       const uint32_t *allowed, struct glint_sample *sample,
                                       struct glint_error *err);

#endif
