/* words.c — edit distance and choices. */
#include "base/words.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#define MAX_WORD 48

/* Levenshtein distance of two short words; long ones are never near. */
static unsigned edit_distance(const char *a, const char *b) {
    const size_t n = strlen(a), m = strlen(b);
    unsigned row[MAX_WORD + 1];
    if (n > MAX_WORD || m > MAX_WORD) {
        return UINT_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            const unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
            const unsigned gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < gap ? replaced : gap;
        }
    }
    return row[m];
}

const char *words_find_nearest(const char *word, next_word_fn *next, void *ctx) {
    const char *best = NULL;
    unsigned best_distance = (unsigned)(strlen(word) / 2) + 1;
    for (const char *candidate; (candidate = next(ctx)) != NULL;) {
        const unsigned distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

bool words_has_choice(const char *choices, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = choices; *at != '\0';) {
        const size_t n = strcspn(at, "|");
        if (n == length && memcmp(at, word, n) == 0) {
            return true;
        }
        at += n + (at[n] == '|');
    }
    return false;
}
