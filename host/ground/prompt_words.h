/* prompt_words.h — a prompt as the words and IRIs that names in a volume are compared with.
 *
 * Of a prompt over PROMPT_MAX_BYTES its end counts, where the question usually stands. Each distinct word has a number below
 * PROMPT_MAX_DISTINCT; words beyond that have none and match nothing. An IRI (<...>, http:, https:, urn:, did:) counts as one word.
 *
 * Threading: immutable once read. Memory: in the struct (some 400 KiB): keep it on the heap.
 */
#ifndef HOST_GROUND_PROMPT_WORDS_H
#define HOST_GROUND_PROMPT_WORDS_H
#include <quoin/span.h>

#include "ground/words_of_text.h"

#define PROMPT_MAX_BYTES 16384u
#define PROMPT_MAX_WORDS (PROMPT_MAX_BYTES / 2 + PROMPT_MAX_IRIS) /* no text of that size has more */
#define PROMPT_MAX_DISTINCT 256u
#define PROMPT_MAX_IRIS 16u
#define PROMPT_SLOTS 1024u   /* of the table of distinct words; a power of two */
#define PROMPT_NO_WORD UINT16_MAX

/* Which of the distinct words something covers. */
typedef struct word_set {
    uint64_t bits[PROMPT_MAX_DISTINCT / 64];
} word_set;

typedef struct prompt_words {
    text_word distinct[PROMPT_MAX_DISTINCT];
    uint8_t weights[PROMPT_MAX_DISTINCT]; /* 1 for a common word, otherwise 8 and one more for each byte, at most 32; an IRI 64 */
    uint16_t slots[PROMPT_SLOTS];         /* number + 1 of a distinct word, open addressing by hash; 0: free */
    uint16_t sequence[PROMPT_MAX_WORDS];  /* numbers in the order of the prompt; PROMPT_NO_WORD separates */
    uint16_t next[PROMPT_MAX_WORDS];      /* the next place of the same word, or PROMPT_NO_WORD */
    uint16_t first[PROMPT_MAX_DISTINCT];  /* the first place of each */
    fmt_str iris[PROMPT_MAX_IRIS];        /* without brackets; point into the prompt */
    uint16_t iri_words[PROMPT_MAX_IRIS];  /* their numbers */
    uint32_t n_distinct, n_words, n_iris;
} prompt_words;

/* `text` is borrowed: iris point into it. [no-alloc] */
void prompt_words_read(prompt_words *words, const char *text, uint64_t size);

/* Whether the words of `reader`, all of them, stand in the prompt one behind the other, one of them at least not a common one. Fills
 * which words they are; the first place counts. At most 16 words. [no-alloc] */
bool prompt_words_match(const prompt_words *words, word_reader *reader, word_set *out_set, uint32_t *out_place);

/* Sum of the weights in a set; a|b into *a. [no-alloc] */
uint32_t prompt_words_weigh(const prompt_words *words, const word_set *set);
void word_set_add(word_set *a, const word_set *b);
void word_set_put(word_set *set, uint32_t number);

#endif
