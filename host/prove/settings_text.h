/* settings_text.h — what an answer was computed with beside model and prompt, as canonical text: `key=value` lines in the order of their
 * keys, each ended by a line feed. It stands in generation records, and replay reads it back.
 *
 *     bias             ID:VALUE,...   only when there are any    min_p top_p repeat_penalty temperature   floats, nine digits
 *     bos special      0 or 1                                    numeric       f32acc, f16acc, act8
 *     chat system      0 or 1                                    prompt        text, tokens
 *     context          0 or 1: something stood before the prompt  repeat_last top_k
 *     chunk ctx        tokens of a step, positions
 *     constraint       only with one: grammar, json-schema or sieve, a colon, and sha256:HEX of its file
 *     sentinel         only with rules over each token: sha256:HEX of their file
 *     kv               f16, bf16, f32, q8                        template      only when one was named
 *     max_tokens
 *
 * A run with more to it adds keys of its own; a reader that does not know them cannot replay, and says so.
 *
 * Threading: pure.
 */
#ifndef HOST_PROVE_SETTINGS_TEXT_H
#define HOST_PROVE_SETTINGS_TEXT_H
#include <stdbool.h>
#include <stddef.h>

#include "decode/sampler.h"
#include "prove/prove_words.h"

#define SETTINGS_WORD_SIZE 32u
#define SETTINGS_SOURCE_SIZE 96u

typedef struct run_settings {
    sampler_options sampler;  /* the seed is no part of the text */
    uint32_t n_ctx, chunk, max_tokens;
    char numeric[SETTINGS_WORD_SIZE], kv[SETTINGS_WORD_SIZE];
    char family[SETTINGS_WORD_SIZE]; /* of a chat template; "" when the model's own */
    char constraint[SETTINGS_SOURCE_SIZE], sentinel[SETTINGS_SOURCE_SIZE]; /* "" without */
    bool is_chat, has_context, has_system, has_bos, is_special, is_tokens;
} run_settings;

/* Writes the text; returns its size, or 0 when it does not fit (more than about a hundred biases). */
size_t settings_print(const run_settings *settings, char out[PROVE_MAX_TEXT]);

/* QN_BAD_INPUT: a line that is none, a key twice or out of order, a missing key, a value out of its range. QN_UNSUPPORTED: a key that this
 * program does not know, by name. */
qn_status settings_parse(fmt_str text, run_settings *out, error_context *err);

#endif
