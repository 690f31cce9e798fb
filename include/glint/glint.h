// SPDX-License-Identifier: Apache-2.0
// glint.h — the only public header of glint, an inference engine for Muse Glimmer.
//
// Two objects: an engine (one model file, its weights, its workers) and a session (one sequence
// of tokens and its key/value cache). Callers hand over the whole token prefix; the session
// works out what it already holds. Nothing here shows tensors.
//
// Conventions: every function that can fail returns enum glint_status and takes, last, a
// struct glint_error * (may be NULL) whose text names file, field, what was found and what was
// expected. open/close own a handle; close(&h) sets it to NULL and accepts NULL. Strings are
// UTF-8. Sizes are bytes, counts are tokens unless the name says otherwise. One thread uses an
// engine and its sessions at a time; functions that take a const engine or chat, and turns and
// detokenizers of one thread each, may run beside it.
#ifndef GLINT_GLINT_H
#define GLINT_GLINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLINT_VERSION "0.1.0"

// ---- errors ---------------------------------------------------------------------------------

enum glint_status {
    GLINT_OK = 0,
    GLINT_E_ARG = 1,         // the caller passed something impossible
    GLINT_E_NOMEM = 2,       // memory, or the plan does not fit
    GLINT_E_IO = 3,          // the operating system refused a read or a write
    GLINT_E_FORMAT = 4,      // a file or a text is malformed
    GLINT_E_UNSUPPORTED = 5, // well-formed, but not something glint does
    GLINT_E_LIMIT = 6,       // over a stated limit (context, depth, size)
    GLINT_E_CANCELLED = 7,   // the caller's cancel callback said so
    GLINT_E_DEVICE = 8,      // a device failed
    GLINT_E_BUSY = 9,        // a queue is full
    GLINT_E_NOTFOUND = 10,   // no such file, key or tensor
    GLINT_E_INTERNAL = 11,   // our own mistake
};

struct glint_error {
    enum glint_status status;
    char text[1000]; // always terminated; empty when status is GLINT_OK
};

// "io", "format", ...: a short stable word for a status.
const char *glint_status_name(enum glint_status status);

// ---- engine ---------------------------------------------------------------------------------

enum glint_log_kind { GLINT_SAY_ERROR, GLINT_SAY_WARN, GLINT_SAY_INFO, GLINT_SAY_DEBUG };

// What the caller decides. Start from glint_engine_params_default.
struct glint_engine_params {
    const char *model_path; // GGUF file, or any shard of a split one
    const char *draft_path; // GGUF file of a drafter made for this model, or NULL
    bool vocab_only;        // no weights, no cache: tokenizing only
    const char *device;     // NULL or "cpu"; "cuda", "cuda:N", "auto" where they are built in
    const char *cpu_tier;   // NULL: the best; "scalar", "avx2", "vnni", "neon" ... force one
    int n_threads;          // 0: every CPU the process may use
    int n_context;          // tokens of one session; 0: the model's, lowered to what memory allows
    int n_session;          // sessions open at once, at least 1
    int n_cache;            // tokens that all sessions hold together at most; at least n_context
    int n_checkpoint;       // windows of sliding layers kept beyond the sessions' own: memory for
                            // glint_session_keep
    int n_chunk;            // rows of one prefill step; 0: 512. Does not change results
    int n_draft; // tokens tried ahead in a round of a new session; -1 (the default): as many as
                 // pays, by what rounds cost and how many are right
    const char *cache_type_k; // "f16" (NULL), "f32", "q8_0" (full layers only; sliding stay f16)
    const char *cache_type_v;
    bool exact_activations; // float32 activations in every matrix product: slower, closer
    bool no_memory_check;   // load even when the plan does not fit
    // Between steps; true stops the running call with GLINT_E_CANCELLED. May be NULL.
    bool (*cancel)(void *user);
    // During a prefill: tokens done of all to do. May be NULL.
    void (*progress)(void *user, int done, int total);
    void (*say)(void *user, enum glint_log_kind kind, const char *text); // may be NULL
    void *user;
};
struct glint_engine_params glint_engine_params_default(void);

// Bytes by purpose, known before anything is loaded.
struct glint_memory_plan {
    uint64_t weights;        // of the file's tensors; mapped, shared with the page cache
    uint64_t cache;          // keys and values at n_context for n_session sessions
    uint64_t cache_per_1000; // growth of one session per 1,000 tokens, past the window
    uint64_t cache_fixed;    // sliding layers of one session
    uint64_t scratch;        // activations of one step, logits
    uint64_t drafter;        // its weights, cache and scratch; 0 without one
    uint64_t total;
    uint64_t available; // memory the system can give now; 0 when unknown
    int n_context;      // what the plan is for
};

struct glint_engine;

// Loads nothing but the header. params->n_context 0 plans for the model's own context.
enum glint_status glint_plan_memory(const struct glint_engine_params *params,
                                    struct glint_memory_plan *plan, struct glint_error *err);
// Maps and binds the model. GLINT_E_NOMEM with the plan in the text when it does not fit.
enum glint_status glint_engine_open(struct glint_engine **engine,
                                    const struct glint_engine_params *params,
                                    struct glint_error *err);
// Every session must be closed before.
void glint_engine_close(struct glint_engine **engine);

struct glint_engine_info {
    const char *model_path;
    const char *device, *tier; // "cpu", "vnni"
    int n_threads;
    int n_vocab, n_layer, width, n_context, n_chunk, window;
    const char *draft_path;         // NULL without a drafter
    int n_draft;                    // proposals of a round at most; 0 without a drafter
    uint64_t weight_bytes;          // of all tensors
    uint64_t step_bytes;            // weight bytes one decoded token reads
    uint64_t cache_bytes_per_token; // cache bytes read per token of depth, full layers
    uint64_t cache_bytes_window;    // cache bytes read by sliding layers with a full window
    struct glint_memory_plan plan;
};
struct glint_engine_info glint_engine_info(const struct glint_engine *engine);

// What lists of models show.
struct glint_model_card {
    char architecture[64];   // general.architecture of the file
    const char *weight_type; // that most bytes are of: "Q4_K"
    uint64_t n_param;        // values of all tensors
    int n_context;           // tokens it was made for; 0 with vocab_only
};
struct glint_model_card glint_engine_card(const struct glint_engine *engine);

// ---- session --------------------------------------------------------------------------------

struct glint_session;

// GLINT_E_BUSY when n_session are open already.
enum glint_status glint_session_open(struct glint_session **session, struct glint_engine *engine,
                                     struct glint_error *err);
void glint_session_close(struct glint_session **session);

// Tokens held, and the tokens themselves [length], borrowed until the next call.
int glint_session_length(const struct glint_session *session);
const int32_t *glint_session_ids(const struct glint_session *session);

// Evaluates ids after what the session holds, in chunks. All pointers optional.
struct glint_eval {
    const int32_t *ids; // [n], each in [0, n_vocab)
    int n;
    int n_chunk;  // 0: the engine's
    int n_logits; // logits of the last n_logits rows are reported to on_logits
    void (*on_logits)(void *user, int position, const float *logits); // [n_vocab]
    // k = 0: normed embedding; 1..n_layer-1: output of layer k-1; n_layer: after the final norm.
    // Rows of a chunk come k by k. The final norm's rows come only where logits are reported.
    void (*on_hidden)(void *user, int k, int position, const float *row); // [width]
    // Each row that a weight matrix is multiplied with, by the tensor's name; the last layer sees
    // only rows whose logits are reported. For importance matrices.
    void (*on_product)(void *user, const char *tensor, const float *x, int n_col); // [n_col]
    void *user;
};
// On failure or cancel the session holds the chunks that were done.
enum glint_status glint_session_eval(struct glint_session *session, const struct glint_eval *eval,
                                     struct glint_error *err);

// Makes the session hold exactly ids: keeps the longest common prefix it can continue from and
// evaluates the rest (at least the last token, for its logits). n_reused may be NULL.
enum glint_status glint_session_sync(struct glint_session *session, const int32_t *ids, int n,
                                     int *n_reused, struct glint_error *err);

// How many tokens of ids, with the pictures that are set, a session could keep if it had to hold
// exactly those: the length of the longest common prefix, 0 when it cannot go on from there.
int glint_session_reusable(const struct glint_session *session, const int32_t *ids, int n);

// Drops tokens from the end. GLINT_E_LIMIT when the sliding layers no longer hold the window
// before `length`; nothing has changed then.
enum glint_status glint_session_truncate(struct glint_session *session, int length,
                                         struct glint_error *err);

// Keeps the state after the first `length` tokens held as a checkpoint, from which any session of
// the engine can go on (glint_session_resume), also when this one has gone on, or is closed. Its
// pages are shared, not copied. Whatever memory needs, checkpoints make room for: the one whose
// loss costs least goes first. GLINT_E_LIMIT as for truncate. Without full layers nothing is kept.
enum glint_status glint_session_keep(struct glint_session *session, int length,
                                     struct glint_error *err);

enum { GLINT_RESUMED_AHEAD = 8 };
struct glint_resumed {
    int n_kept;       // tokens held now, which begin the prompt; at most n - 1
    int n_common;     // tokens that begin the prompt and a sequence that is kept, the longest
    int n_checkpoint; // length of the checkpoint that served; 0: none, or the session's own tokens
    int n_forgotten;  // length of the longest checkpoint given up that begins the prompt; 0: none
    int32_t ahead[GLINT_RESUMED_AHEAD]; // [n_ahead] what follows n_common there; -1: a picture
    int n_ahead;
};
// Makes the session hold as long a beginning of ids as it can without evaluating anything: its own
// tokens, or those of a checkpoint. The pictures of ids are set before. Sessions that were not
// resumed are of group 0; groups share nothing. GLINT_E_NOMEM leaves the session empty.
enum glint_status glint_session_resume(struct glint_session *session, uint64_t group,
                                       const int32_t *ids, int n, struct glint_resumed *resumed,
                                       struct glint_error *err);

struct glint_reuse_info {
    int n_checkpoint;
    uint64_t bytes;     // of what only checkpoints hold
    uint64_t n_evicted; // given up since the engine was opened
};
struct glint_reuse_info glint_engine_reuse(const struct glint_engine *engine);

// Logits after the last token [n_vocab]; NULL when nothing has been evaluated since the last
// truncation.
const float *glint_session_logits(const struct glint_session *session);

// One token for each of n different sessions of one engine, in one step at most (see drafting).
enum glint_status glint_engine_decode(struct glint_engine *engine,
                                      struct glint_session *const *sessions, const int32_t *ids,
                                      int n, struct glint_error *err);

// ---- drafting -------------------------------------------------------------------------------

// With a drafter, glint_engine_decode evaluates after each token a few more that are likely to
// follow it. When the next tokens turn out to be these, they need no step of their own. The caller
// draws every token from its own logits as ever: drafting changes no token, no log-probability and
// no length that a session shows, only the time a decode takes (Leviathan et al. 2023, with the
// draft's tokens compared to the drawn ones).

// Tokens to try ahead in each round: -1 to glint_engine_info.n_draft, as in
// glint_engine_params.n_draft. Without a drafter it changes nothing.
enum glint_status glint_session_set_draft(struct glint_session *session, int n_draft,
                                          struct glint_error *err);
// The caller will draw at most n more tokens: none beyond them are tried. -1: unknown.
void glint_session_expect(struct glint_session *session, int n);

// Takes id as the next token if it was tried ahead: true, and its logits are there, without a
// step. With several sessions, take and draw while this is true, then decode what remains of all
// of them together.
bool glint_session_take(struct glint_session *session, int32_t id);

// Since the session was opened.
struct glint_draft_stats {
    int64_t n_round;    // steps with proposals
    int64_t n_proposed; // tokens tried ahead
    int64_t n_accepted; // of these, tokens that followed indeed
};
struct glint_draft_stats glint_session_draft_stats(const struct glint_session *session);

// The drafter's proposals after the tokens held and `anchor`, the one that follows them. The
// session stays as it is.
struct glint_proposals {
    int32_t anchor;
    int n;        // 1 to glint_engine_info.n_draft
    int32_t *ids; // [n]
    // The drafter's output rows [width]: row 0 is the anchor's, row i gives proposal i. May be
    // NULL.
    void (*on_hidden)(void *user, int i, const float *row);
    void *user;
};
enum glint_status glint_session_propose(struct glint_session *session,
                                        const struct glint_proposals *proposals,
                                        struct glint_error *err);

// Best of a few streaming reads over a block far larger than the caches, in 1e9 bytes a second.
// n_threads 0: all CPUs.
enum glint_status glint_measure_read_bandwidth(int n_threads, double *gb_s,
                                               struct glint_error *err);
// What the processor multiplies and adds in registers, in 1e9 products a second, by the processor
// time of the slowest thread: int8 dot products and float32 multiply-adds. Both 0 on a processor
// without AVX-512 VNNI.
enum glint_status glint_measure_products(int n_threads, double *int8_gmac_s, double *float_gmac_s,
                                         struct glint_error *err);

// ---- sampling -------------------------------------------------------------------------------

enum {
    GLINT_SAMPLER_MAX_TOP = 256, // log-probabilities reported beside the chosen one
};

struct glint_logit_bias {
    int32_t id;
    float bias; // finite or -inf
};

struct glint_sampler_options {
    float temperature;       // >= 0; 0: greedy
    int32_t top_k;           // 0: off
    float top_p;             // 1: off; 0 keeps the best alone
    float min_p;             // 0: off; in [0, 1]
    float repeat_penalty;    // 1: off; > 0
    float presence_penalty;  // 0: off
    float frequency_penalty; // 0: off
    int32_t repeat_last_n;   // tokens that the penalties look at; 0: none
    uint64_t seed;
    const struct glint_logit_bias *bias; // [n_bias], copied; a repeated id adds up
    size_t n_bias;
    bool logprobs;      // report the chosen token's log-probability
    int32_t n_logprobs; // and those of the n best, up to GLINT_SAMPLER_MAX_TOP
};
// 1.0, top-k 64, top-p 0.95, no min-p, no penalties, repeat_last_n 64, seed 0.
struct glint_sampler_options glint_sampler_defaults(void);

struct glint_logprob {
    int32_t id;
    float logprob; // natural logarithm, <= 0
};

struct glint_sample {
    int32_t id;
    float logprob;                   // of id; 0 unless asked for
    const struct glint_logprob *top; // [n_top] best first, in the scratch until its next use
    int32_t n_top;
};

// Options for the draws that follow; the draws start over at the seed's first number and the
// penalties see the tokens held. A session starts with the defaults.
enum glint_status glint_session_set_sampler(struct glint_session *session,
                                            const struct glint_sampler_options *options,
                                            struct glint_error *err);
// Draws the next token from the session's logits. The caller evaluates it to go on.
// sample->top is valid until the next draw of the engine.
enum glint_status glint_session_sample(struct glint_session *session, struct glint_sample *sample,
                                       struct glint_error *err);

// ---- text -----------------------------------------------------------------------------------

struct glint_ids {
    int32_t *data; // [n]
    size_t n;
};
void glint_ids_free(struct glint_ids *ids);

// Half-open range of byte offsets.
struct glint_byte_range {
    size_t begin, end;
};

struct glint_text {
    const char *data; // [n] UTF-8; ill-formed parts become U+FFFD
    size_t n;         // bytes
    bool special;     // the texts of special tokens count, outside untrusted ranges
    bool add_bos;     // as the model asks for raw text, unless the text starts with it
    const struct glint_byte_range *untrusted; // ascending, disjoint; NULL when none
    size_t n_untrusted;
};
enum glint_status glint_tokenize(const struct glint_engine *engine, const struct glint_text *text,
                                 struct glint_ids *ids, struct glint_error *err);
// For texts that come in blocks: the largest offset q <= n at which a text that begins with these
// n bytes may be cut without changing its ids; 0 when there is none.
size_t glint_tokenize_cut(const char *data, size_t n);
// True for the ids that end a turn.
bool glint_is_stop(const struct glint_engine *engine, int32_t id);
// Bytes of an ordinary token, literal text of a special one; n may be NULL.
const char *glint_token_bytes(const struct glint_engine *engine, int32_t id, size_t *n);
// True for control tokens, which stand for no text of their own.
bool glint_is_special(const struct glint_engine *engine, int32_t id);
// Id of the special token with this text, or -1.
int32_t glint_special_id(const struct glint_engine *engine, const char *text);

// Ids to text as a stream that never emits part of a character.
struct glint_detokenizer;
enum glint_status glint_detokenizer_open(struct glint_detokenizer **detokenizer,
                                         const struct glint_engine *engine,
                                         struct glint_error *err);
void glint_detokenizer_close(struct glint_detokenizer **detokenizer);
// Text that the id completes (terminated, n bytes), valid until the next call; NULL when out of
// memory. Special tokens give no text.
const char *glint_detokenizer_push(struct glint_detokenizer *detokenizer, int32_t id, size_t *n);
// Strings that end the text: a match and what follows it is not given out, and what may still
// become one is held back. Before the first push.
enum glint_status glint_detokenizer_set_stops(struct glint_detokenizer *detokenizer,
                                              const char *const *stops, size_t n_stops,
                                              struct glint_error *err);
// A stop string has come: nothing more is given out.
bool glint_detokenizer_is_done(const struct glint_detokenizer *detokenizer);
// The stop string that came, until the close; "" before.
const char *glint_detokenizer_stop(const struct glint_detokenizer *detokenizer);
// What is left at the end of the stream.
const char *glint_detokenizer_flush(struct glint_detokenizer *detokenizer, size_t *n);

// ---- pictures -------------------------------------------------------------------------------

struct glint_vision_params {
    const char *path;       // GGUF vision file
    const char *device;     // as of the engine
    const char *cpu_tier;   // as of the engine
    int n_threads;          // 0: all CPUs
    bool exact_activations; // as of the engine
    bool no_memory_check;
    size_t kept_bytes; // of pictures and rows kept for when they come again; 0: 256 MiB
    // While a picture is looked at: work done, in thousandths. May be NULL.
    void (*progress)(void *user, int done);
    // Asked after every few hundred patches of a layer; true stops; may be NULL.
    bool (*cancel)(void *user);
    void *user;
};

// A vision tower and its projector, and the pictures it has looked at: the same picture again is
// not looked at again. Pictures may be opened, asked about and closed on any thread; looking at
// them, which evaluating a prompt does where it has not been done, is for one thread at a time.
struct glint_vision;
enum glint_status glint_vision_open(struct glint_vision **vision,
                                    const struct glint_vision_params *params,
                                    struct glint_error *err);
// Every picture must be closed before.
void glint_vision_close(struct glint_vision **vision);

struct glint_vision_info {
    const char *path;
    int width;   // of the rows it makes: the text model's
    int tower;   // width of the tower
    int patch;   // pixels of a patch's side; a token is 2 x 2 patches
    bool frames; // it tells two frames of a video apart
    uint64_t weight_bytes;
};
struct glint_vision_info glint_vision_info(const struct glint_vision *vision);

// A picture file in memory, or (rgb set) plain pixels, or (frame set) a video's sampled frames.
struct glint_picture_source {
    const char *name; // for errors: the file's name, a URL
    const void *data; // [n] PNG, JPEG, WebP, GIF, BMP, ...: known by its first bytes
    size_t n;
    const uint8_t *rgb; // [height, width, 3]
    int width, height;
    int max_tokens; // of a picture, or of a pair of frames; 0: 4096, or 144
    // A video: frame gives the pixels of frame i, asked for in ascending order, [height, width, 3],
    // until its next call; NULL when there is none.
    int n_frames; // 0: a still picture
    const uint8_t *(*frame)(void *user, int i);
    void *user;
    const double *seconds; // [n_frames] the time of each
    bool summed_kernel;    // look at a video with a file that lost what tells two frames apart
    // Whose picture it is: what is known of one realm's pictures is not used for another's, so that
    // times tell nothing about them. The key of the hashes as well: secret where strangers ask.
    uint64_t realm;
};

enum { GLINT_VIDEO_MAX_FRAMES = 96 };
// Which of a video's `total` frames to look at: writes their indices, at most
// GLINT_VIDEO_MAX_FRAMES, and returns how many. fps 0: unknown, taken as 24.
int glint_video_sample(int64_t total, double fps, int64_t *index);

// A picture at the size at which the model sees it. Opening decodes and resizes; the tower runs
// when the rows are first needed.
struct glint_picture;
enum glint_status glint_picture_open(struct glint_picture **picture, struct glint_vision *vision,
                                     const struct glint_picture_source *source,
                                     struct glint_error *err);
void glint_picture_close(struct glint_picture **picture);

struct glint_picture_info {
    int width, height;  // as the source has it, turned upright
    int rows, cols;     // of patches
    int n_groups;       // pairs of frames of a video; 0: a still picture
    int n_tokens;       // rows * cols / 4, times the groups of a video
    const uint8_t *rgb; // [rows * patch, cols * patch, 3] resized, borrowed
};
struct glint_picture_info glint_picture_info(const struct glint_picture *picture);
// It has been looked at: evaluating a prompt with it will not run the tower.
bool glint_picture_is_known(const struct glint_picture *picture);

// Stages of the vision path, for comparing engines. Any pointer may be NULL; with none the picture
// is looked at now rather than when a prompt needs it.
struct glint_picture_stages {
    // Of a still picture both frames are the same; a video's groups follow each other.
    float *pixels;   // [rows * cols, 2, 3, patch, patch] normalized
    float *tower;    // [n_tokens, 4 * tower] after the tower's norm and the merge
    float *features; // [n_tokens, width] after the projector and its norm
};
enum glint_status glint_picture_look(struct glint_picture *picture,
                                     const struct glint_picture_stages *stages,
                                     struct glint_error *err);

// Every placeholder among ids (<|patch|> for a picture, <|video|> for a video, in order) becomes
// one placeholder a token between <|image_start|> and <|image_end|>; for a video its groups between
// <|vid_start|> and <|vid_end|>, each with its time in words. There must be as many as pictures.
enum glint_status glint_expand_pictures(const struct glint_engine *engine,
                                        const struct glint_ids *ids,
                                        struct glint_picture *const *pictures, size_t n_pictures,
                                        struct glint_ids *out, struct glint_error *err);

// The pictures of the session's sequence, in order: the placeholders of the ids evaluated from
// now on stand for their rows. Borrowed until the next call or the session's close. Without
// pictures, placeholders are ordinary tokens. GLINT_E_ARG when the rows do not fit the engine.
enum glint_status glint_session_set_pictures(struct glint_session *session,
                                             struct glint_picture *const *pictures,
                                             size_t n_pictures, struct glint_error *err);

// ---- chat -----------------------------------------------------------------------------------

struct glint_json_text { // one JSON value
    const char *data;    // [n]; NULL: absent
    size_t n;
};

enum glint_turn_start { // where in a turn the model's output begins
    GLINT_TURN_HEADER,  // it writes first whom it addresses
    GLINT_TURN_SELF,    // inside reasoning
    GLINT_TURN_USER,    // inside the answer
    GLINT_TURN_TOOL,    // inside a tool call
};

// The chat template of the engine's file (the publisher's when it has none), compiled. The engine
// must stay open. What the template language lacks is refused here, by name and line.
struct glint_chat;
enum glint_status glint_chat_open(struct glint_chat **chat, const struct glint_engine *engine,
                                  struct glint_error *err);
void glint_chat_close(struct glint_chat **chat);
// False for a template of another dialect, whose output glint_turn cannot take apart.
bool glint_chat_is_native(const struct glint_chat *chat);
// The template's text [*n], not terminated; lives as long as the engine.
const char *glint_chat_template(const struct glint_chat *chat, size_t *n);

// A past turn that stands in the prompt as the very ids it was sampled with, because rendering its
// message again may give others: all that followed "<|start|>assistant", through <|eot|>.
struct glint_chat_replay {
    size_t index;       // of the message, an assistant's that says the same
    const int32_t *ids; // [n], borrowed until the prompt is freed
    size_t n;
};

struct glint_chat_request {
    struct glint_json_text messages;  // array
    struct glint_json_text tools;     // array of function definitions
    struct glint_json_text variables; // object: other variables of the template
    const char *effort;               // level of reasoning; NULL: the template's default
    const char *date; // "YYYY-MM-DD[ HH:MM:SS]", any other text as it stands; NULL: no clock
    bool normalise;   // accept what API clients send and refuse what would render as nonsense;
                      // else the bare template's behaviour
    bool no_generation_prompt;
    bool continue_final;                     // the last message, an assistant's, is to be continued
    const struct glint_chat_replay *replays; // [n_replays] ascending; with `normalise` only
    size_t n_replays;
};
// Ids that stand for bytes [begin, end) of a prompt.
struct glint_chat_splice {
    size_t begin, end;
    const int32_t *ids; // [n], of the replay
    size_t n;
};
struct glint_chat_prompt {
    char *data; // [n], terminated
    size_t n;
    struct glint_byte_range *untrusted; // [n_untrusted] what the caller controls: for glint_text
    size_t n_untrusted;
    struct glint_chat_splice *splices; // [n_splices] ascending
    size_t n_splices;
    enum glint_turn_start start;
};
// Errors name the message or the line of the template. *prompt is empty on failure.
enum glint_status glint_chat_prompt(const struct glint_chat *chat,
                                    const struct glint_chat_request *request,
                                    struct glint_chat_prompt *prompt, struct glint_error *err);
void glint_chat_prompt_free(struct glint_chat_prompt *prompt);
// The ids of a prompt: special tokens where the template wrote them, replays in their places.
enum glint_status glint_chat_prompt_ids(const struct glint_engine *engine,
                                        const struct glint_chat_prompt *prompt,
                                        struct glint_ids *ids, struct glint_error *err);

enum glint_turn_kind {
    GLINT_TURN_REASONING, // text
    GLINT_TURN_CONTENT,   // text
    GLINT_TURN_CALL,      // a call begins: index, and its name as text
    GLINT_TURN_ARGUMENTS, // of that call: JSON text of an object, in one piece or several
    GLINT_TURN_REMAINS,   // text that is part of no message: unfinished calls, stray headers
    GLINT_TURN_FINISH,    // reason, and as text the stop string if one came; then REMAINS only
};
enum glint_turn_reason { GLINT_FINISH_STOP, GLINT_FINISH_LENGTH, GLINT_FINISH_TOOL_CALLS };
const char *glint_turn_reason_name(enum glint_turn_reason reason); // "stop", ...

struct glint_turn_event {
    enum glint_turn_kind kind;
    const char *text; // [n] valid UTF-8 except in REMAINS; during the callback only
    size_t n;
    size_t index; // of a call, counted over the whole turn
    enum glint_turn_reason reason;
};

struct glint_turn_options {
    struct glint_json_text tools; // as in the request
    bool no_calls;                // tools are declared but must not be called
    bool one_call;                // end the turn after the first call
    enum glint_turn_start start;
    const char *start_tool;   // the tool addressed, for GLINT_TURN_TOOL
    const char *const *stops; // [n_stops] strings that end the answer
    size_t n_stops;
    bool has_budget; // limit on reasoning
    size_t budget;   // ids that reasoning may take
    void (*on_event)(void *user, const struct glint_turn_event *event);
    void *user;
};

// The output of one turn, taken apart as it is generated. Nothing in it is an error, nothing is
// lost, and the events add up to the same however it is cut.
struct glint_turn;
enum glint_status glint_turn_open(struct glint_turn **turn, const struct glint_engine *engine,
                                  const struct glint_turn_options *options,
                                  struct glint_error *err);
void glint_turn_close(struct glint_turn **turn);
enum glint_status glint_turn_put_id(struct glint_turn *turn, int32_t id, struct glint_error *err);
// Text with the special tokens spelled out.
enum glint_status glint_turn_put_text(struct glint_turn *turn, const char *data, size_t n,
                                      struct glint_error *err);
// Generation has ended: by the model, or (limit) by a token limit or a cancel.
enum glint_status glint_turn_end(struct glint_turn *turn, bool limit, struct glint_error *err);
// The turn is over: stop generating.
bool glint_turn_is_done(const struct glint_turn *turn);
// Reasoning has used up its budget: put the closing ids in as if they had been sampled, evaluate
// them, and go on without letting the model address "self". At most n are written; returns how
// many there are.
bool glint_turn_must_close_reasoning(const struct glint_turn *turn);
size_t glint_turn_closing_ids(const struct glint_turn *turn, int32_t *ids, size_t n);

// ---- constrained output ---------------------------------------------------------------------

struct glint_constraint_options {
    struct glint_json_text tools; // as in the request
    const char *tool_choice;      // NULL or "auto", "none", "required", or the name of a tool
    bool one_call;                // no calls after the first
    bool loose_tools; // a tool whose schema cannot be enforced may be called with any parameters
    struct glint_json_text schema; // JSON schema that the answer satisfies
    bool json_object;              // or: the answer is any JSON object
    enum glint_turn_start start;
    const char *start_tool; // the tool addressed, for GLINT_TURN_TOOL
    bool has_budget;        // limit on reasoning, as in glint_turn_options
    size_t budget;
};

// What a turn may look like, followed token by token: whom it may address, calls that fit their
// tools' schemas, an answer that fits its own. Reasoning stays free. A schema that cannot be
// enforced is refused with its path and why (GLINT_E_UNSUPPORTED). The engine must stay open. Once
// an engine has had its first, others may be opened on other threads than the engine's.
struct glint_constraint;
enum glint_status glint_constraint_open(struct glint_constraint **constraint,
                                        struct glint_engine *engine,
                                        const struct glint_constraint_options *options,
                                        struct glint_error *err);
void glint_constraint_close(struct glint_constraint **constraint);
// The tokens that may come next: bit id % 32 of word id / 32, for every id of the vocabulary.
// Valid until the next call.
enum glint_status glint_constraint_mask(struct glint_constraint *constraint, const uint32_t **mask,
                                        struct glint_error *err);
// The token that comes next. GLINT_E_ARG when it is not allowed; nothing has changed then.
enum glint_status glint_constraint_accept(struct glint_constraint *constraint, int32_t id,
                                          struct glint_error *err);
// Takes back the last n accepted tokens: any number up to 256 that were accepted.
enum glint_status glint_constraint_rewind(struct glint_constraint *constraint, size_t n,
                                          struct glint_error *err);
// The turn has ended: nothing may follow.
bool glint_constraint_is_done(const struct glint_constraint *constraint);
// Draws of glint_session_sample obey the constraint, and are accepted by it; tokens that come by
// other ways the caller accepts. Borrowed; NULL: none.
void glint_session_set_constraint(struct glint_session *session,
                                  struct glint_constraint *constraint);

#ifdef __cplusplus
}
#endif
#endif
