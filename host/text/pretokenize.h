/* pretokenize.h — cuts text into the words inside which byte-level BPE merges.
 *
 * Each vocabulary was trained behind one cutting rule, known by the name in `tokenizer.ggml.pre`; another rule gives other
 * tokens, so an unknown name is refused by the caller and nothing is guessed. The rules are published as regular
 * expressions; here they are scanners that look at each character a bounded number of times, so that time is linear in the
 * text, whatever the text is.
 *
 * Threading: pure.
 * Memory:    nothing is allocated; the table of classes is the caller's (unicode_fill_table).
 */
#ifndef HOST_PRETOKENIZE_H
#define HOST_PRETOKENIZE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/abi.h>
#include <quoin/span.h>

/* One cutting rule: stages, each of which cuts what the one before it left. */
typedef struct pretokenizer pretokenizer;

/* Receives one word, 1 byte or more, borrowed for the call. A status below 0 stops the cutting. */
typedef qn_status pretokenizer_word_fn(void *ctx, const uint8_t *word, size_t size);

/* The rule with this name ("gpt-2", "llama-bpe", ...), or null. Names are compared byte for byte. */
const pretokenizer *pretokenizer_find(fmt_str name);

/* The best-known names, separated by ", ", for messages; other names of the same rules are known too. Static. */
const char *pretokenizer_names(void);

/* True when a word that is a token as it stands is that token, without looking at merges. */
bool pretokenizer_takes_whole_words(const pretokenizer *pre);

/* Calls `word` for each word of text[0..size), in order; joined they give the text.
 *
 *   table   filled by unicode_fill_table
 *   text    well-formed UTF-8, may hold NUL bytes
 *
 * Returns QN_OK or what `word` returned. [any-thread] [no-alloc] */
qn_status pretokenizer_cut(const pretokenizer *pre, const uint8_t *table, const uint8_t *text, size_t size,
                           pretokenizer_word_fn *word, void *ctx);

#endif
