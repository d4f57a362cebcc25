/* engine.h — quoin as a library: open a verified model, choose a backend, turn tokens into tokens.
 *
 *     quoin_error err = {.size = sizeof err};
 *     quoin_runtime *rt;
 *     quoin_model *model;
 *     quoin_session *session;
 *     if (quoin_runtime_create(NULL, &rt, &err) < 0 || quoin_model_open(rt, "model.gguf", NULL, &model, &err) < 0 ||
 *         quoin_session_create(model, NULL, &session, &err) < 0) {
 *         fprintf(stderr, "%s\n", err.text);
 *     }
 *     quoin_generate_text(session, "Once upon a time", 16, NULL, on_text, NULL, NULL, &err);
 *     quoin_session_destroy(session);
 *     quoin_model_close(model);
 *     quoin_runtime_destroy(rt);
 *
 * Structs that the caller makes begin with their size, set by the caller; members are only appended, zero means the
 * default.
 *
 * Threading: a runtime and a model may be used from any thread; a session by one thread at a time. Sessions of one
 *            runtime share its worker threads: their steps take turns. quoin_cancel may be called from a signal
 *            handler.
 * Memory:    objects are owned by the caller and freed by the sibling call; null is legal. Parents outlive children:
 *            runtime > model > session. Text handed to callbacks is borrowed for the call.
 * Errors:    negative codes; *err tells what, where and what to do. Objects stay usable after a failed call unless it
 *            says otherwise.
 */
#ifndef QUOIN_ENGINE_H
#define QUOIN_ENGINE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUOIN_API __attribute__((visibility("default")))

typedef struct quoin_runtime quoin_runtime;
typedef struct quoin_model quoin_model;
typedef struct quoin_session quoin_session;

typedef struct quoin_error {
    uint32_t size;
    int32_t code;     /* a status of <quoin/status.def> */
    uint64_t offset;  /* byte in the file, when rule is not empty */
    char rule[64];    /* the broken rule of the file's standard, or "" */
    char text[1024];
} quoin_error;

/* "0.1.0". Static. [any-thread] */
QUOIN_API const char *quoin_version(void);

/* --- Runtime: worker threads and a backend --- */

typedef struct quoin_runtime_options {
    uint32_t size;
    uint32_t n_threads;    /* 0 = as many as this process may use */
    const char *backend;   /* as --backend of quoin(1): "auto", "cpu", "cpu/avx2", "reference", …; null = auto. Plugins that did not
                              come with the library are probed in a child process, bin/quoin of the same installation; where
                              there is none, they are loaded at once. auto compares devices by a usual model, 1 GiB in Q8_0 */
    const char *plugin_dir; /* searched before the usual folders; null = none */
} quoin_runtime_options;

QUOIN_API int32_t quoin_runtime_create(const quoin_runtime_options *options, quoin_runtime **out_runtime,
                                       quoin_error *err);
QUOIN_API void quoin_runtime_destroy(quoin_runtime *runtime);
/* "cpu 0.1.0 | …": what was chosen; lives as long as the runtime. */
QUOIN_API const char *quoin_runtime_describe(const quoin_runtime *runtime);
/* Generations that run now end with "cancelled" as soon as they can, appends with QN_CANCELLED; later ones are not meant.
 * [any-thread] [async-signal-safe] */
QUOIN_API void quoin_cancel(quoin_runtime *runtime);

/* --- Model: a verified file --- */

typedef struct quoin_model_options {
    uint32_t size;
    uint32_t is_strict;         /* accept only the letter of the standards */
    uint32_t skip_weight_check; /* do not look for NaN and infinity */
    uint32_t reserved;
    const char *assume;         /* architecture of a P64 that stands alone ("llama"); null = refuse */
    const char *companion;      /* companion volume of a P64; null = beside it, NAME.q42 for NAME.p64 */
} quoin_model_options;

/* Opens and verifies a P64 or GGUF file, checksums of all tensors included. */
QUOIN_API int32_t quoin_model_open(quoin_runtime *runtime, const char *path, const quoin_model_options *options,
                                   quoin_model **out_model, quoin_error *err);
QUOIN_API void quoin_model_close(quoin_model *model);
QUOIN_API const char *quoin_model_architecture(const quoin_model *model);
QUOIN_API uint32_t quoin_model_vocabulary_size(const quoin_model *model); /* ids below it have text */

/* Encodes text; writes at most `room` ids and tells the whole count in *out_count. add_special: BOS as the tokenizer
 * says; parse_special: the text may spell control tokens. */
QUOIN_API int32_t quoin_tokenize(const quoin_model *model, const char *text, size_t text_bytes, int add_special,
                                 int parse_special, uint32_t *ids, size_t room, size_t *out_count, quoin_error *err);
/* Bytes of a token (not terminated); at most `room` are written, the whole length is returned. */
QUOIN_API size_t quoin_token_bytes(const quoin_model *model, uint32_t id, char *bytes, size_t room);

/* --- Session: one stream of tokens --- */

/* A LoRA file of version 1 or 2, or a GGUF adapter, and how strong its change is. */
typedef struct quoin_adapter {
    const char *path;
    float scale;          /* 1 = as the file says; finite */
    uint32_t reserved;
} quoin_adapter;

typedef struct quoin_session_options {
    uint32_t size;
    uint32_t n_ctx;       /* positions; 0 = the model's, at most 4096 */
    const char *numeric;  /* "auto" (null), "f32acc", "act8" */
    const char *kv;       /* "f16" (null), "bf16", "f32", "q8" (8 bits and a scale per 32; not on every backend) */
    const quoin_adapter *adapters; /* [n_adapters], added up in this order; one that does not belong to the model fails the call */
    uint32_t n_adapters;  /* 0 = the model as it is; at most 64 */
    uint32_t scrub;       /* 1: quoin_session_destroy overwrites what came of the text first */
} quoin_session_options;

QUOIN_API int32_t quoin_session_create(quoin_model *model, const quoin_session_options *options,
                                       quoin_session **out_session, quoin_error *err);
QUOIN_API void quoin_session_destroy(quoin_session *session);

/* Appends tokens; the logits of the last one can then be read. */
QUOIN_API int32_t quoin_session_append(quoin_session *session, const uint32_t *ids, size_t n_ids, quoin_error *err);
/* [*out_count] logits of the last appended token, valid until the next call on this session. Null, and none, when no token was
 * appended, or when quoin_generate did it on a device that keeps the logits to itself. */
QUOIN_API const float *quoin_session_logits(const quoin_session *session, size_t *out_count);
/* Positions that are valid. */
QUOIN_API size_t quoin_session_length(const quoin_session *session);
/* Forgets positions from `length` on; returns what is valid then: `length`, or 0 when everything must be appended
 * again. */
QUOIN_API size_t quoin_session_truncate(quoin_session *session, size_t length);

typedef struct quoin_scrub_report {
    uint32_t size;
    uint32_t is_partial;  /* something could not be overwritten: `missing` says what and why */
    uint64_t state_bytes; /* K and V, on the host and on the device */
    uint64_t scratch_bytes; /* what steps left besides, likewise */
    uint64_t logits_bytes, tokens_bytes;
    char missing[160];
} quoin_scrub_report;

/* Overwrites everything in the session that came of a text; it is then as a new one. out_report may be null. What callbacks were given,
 * and what the caller holds, is the caller's. */
QUOIN_API int32_t quoin_session_scrub(quoin_session *session, quoin_scrub_report *out_report, quoin_error *err);

/* --- Generation --- */

typedef struct quoin_generate_options {
    uint32_t size;
    uint32_t max_tokens;    /* 0 = 256 */
    float temperature;      /* 0 = always the most likely token */
    uint32_t top_k;         /* 0 = all */
    float top_p, min_p;     /* 0 = off */
    float repeat_penalty;   /* 0 = off */
    uint64_t seed;
    uint64_t deadline_ms;   /* 0 = none */
} quoin_generate_options;

typedef struct quoin_generate_result {
    uint32_t size;
    uint32_t n_prompt, n_generated;
    char stop_reason[16];   /* "stop", "length", "context", "deadline", "cancelled" */
    double prefill_seconds, decode_seconds;
} quoin_generate_result;

/* Text as it becomes complete UTF-8; return 0 to stop. */
typedef int (*quoin_text_fn)(void *ctx, const char *text, size_t text_bytes);

/* Appends ids (or text, encoded with BOS as the tokenizer says) and generates until something stops it. options,
 * on_text and out_result may be null. */
QUOIN_API int32_t quoin_generate(quoin_session *session, const uint32_t *ids, size_t n_ids,
                                 const quoin_generate_options *options, quoin_text_fn on_text, void *ctx,
                                 quoin_generate_result *out_result, quoin_error *err);
QUOIN_API int32_t quoin_generate_text(quoin_session *session, const char *text, size_t text_bytes,
                                      const quoin_generate_options *options, quoin_text_fn on_text, void *ctx,
                                      quoin_generate_result *out_result, quoin_error *err);

#ifdef __cplusplus
}
#endif
#endif
