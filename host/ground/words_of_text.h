/* words_of_text.h — the words of a text in the form in which a prompt and the names in a volume are compared.
 *
 * A word is a run of letters and digits. Upper case becomes lower case (Latin, Greek, Cyrillic); of a word of ASCII letters with more
 * than three a plural's last s is dropped, on both sides of a comparison alike ("dogs" and "dog" are one word; not behind s, u or i). A
 * character of a script that is written without blanks (Han, Kana, Hangul, Thai) is a word of its own. Names may also be cut where an
 * upper-case letter begins a new word: "restingHeartRate" is three.
 *
 * Threading: pure. Memory: nothing is allocated.
 */
#ifndef HOST_GROUND_WORDS_OF_TEXT_H
#define HOST_GROUND_WORDS_OF_TEXT_H
#include <stdbool.h>
#include <stdint.h>

#define WORD_ROOM 64u /* bytes; what is longer is compared by its first WORD_ROOM bytes */

typedef struct word_reader {
    const uint8_t *begin, *at, *end;
    bool cuts_case;    /* "birthPlace" is two words */
    bool has_escapes;  /* a backslash and the character behind it are no letters */
} word_reader;

typedef struct text_word {
    uint8_t text[WORD_ROOM]; /* [size] in the form above */
    uint32_t size;
    uint32_t n_bytes;        /* as it was written */
    const uint8_t *at;       /* where it was written */
    uint64_t hash;           /* FNV-1a of the form */
} text_word;

void word_reader_init(word_reader *reader, const char *text, uint64_t size);
/* False at the end. Bytes that are no UTF-8 separate words. [no-alloc] */
bool word_reader_next(word_reader *reader, text_word *out);

/* Words that alone name nothing: a short list of English articles, pronouns, auxiliaries, prepositions and question words. */
bool text_word_is_common(const text_word *word);
bool text_word_equals(const text_word *a, const text_word *b);

#endif
