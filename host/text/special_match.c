/* special_match.c — a sorted list of spellings, narrowed byte by byte. */
#include "text/special_match.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

static bool is_special(const vocab *v, uint32_t id, bool *is_added) {
    const uint32_t kind = vocab_kind(v, id);
    *is_added = kind == TOKEN_KIND_USER_DEFINED;
    const bool is_kind = *is_added || kind == TOKEN_KIND_CONTROL || kind == TOKEN_KIND_UNKNOWN;
    const fmt_str spelling = v->spellings[id];
    /* what is no UTF-8 stands in no text, and must not cut a character in two */
    return is_kind && spelling.size > 0 && utf8_first_invalid(spelling.data, spelling.size) == UTF8_ALL_VALID;
}

static bool equals(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

/* Some vocabularies call the separators of turns added tokens, which text may spell; a conversation's messages may not. */
static bool looks_like_marker(fmt_str spelling) {
    static const char *const names[] = {"<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (equals(spelling, names[i])) {
            return true;
        }
    }
    return spelling.size > 4 && memcmp(spelling.data, "<|", 2) == 0 &&
           memcmp(spelling.data + spelling.size - 2, "|>", 2) == 0;
}

static int compare_tokens(const void *left, const void *right) {
    const special_token *a = left, *b = right;
    const uint64_t shorter = a->spelling.size < b->spelling.size ? a->spelling.size : b->spelling.size;
    const int order = memcmp(a->spelling.data, b->spelling.data, (size_t)shorter);
    if (order != 0) {
        return order;
    }
    if (a->spelling.size != b->spelling.size) {
        return a->spelling.size < b->spelling.size ? -1 : 1;
    }
    if (a->is_added != b->is_added) {
        return a->is_added ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Of equal tokens the first one stays, so that a match looks at two with the same spelling at the most. */
static void drop_repeated(special_matcher *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_tokens; i++) {
        const special_token *token = &m->tokens[i], *last = n > 0 ? &m->tokens[n - 1] : NULL;
        if (last == NULL || last->is_added != token->is_added || last->spelling.size != token->spelling.size ||
            memcmp(last->spelling.data, token->spelling.data, (size_t)token->spelling.size) != 0) {
            m->tokens[n++] = *token;
        }
    }
    m->n_tokens = n;
}

static void index_first_bytes(special_matcher *m) {
    uint32_t at = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        m->first[byte] = at;
        while (at < m->n_tokens && (uint8_t)m->tokens[at].spelling.data[0] == byte) {
            m->starts_any[byte] = true;
            m->starts_added[byte] = m->starts_added[byte] || m->tokens[at].is_added;
            at++;
        }
    }
    m->first[256] = at;
}

qn_status special_matcher_init(special_matcher *m, const vocab *v, error_context *err) {
    uint32_t n = 0;
    bool is_added;
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        n += is_special(v, id, &is_added) ? 1 : 0;
    }
    memset(m, 0, sizeof *m);
    m->tokens = malloc(((size_t)n + 1) * sizeof *m->tokens);
    if (m->tokens == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %u special tokens", n);
    }
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        if (is_special(v, id, &is_added)) {
            m->tokens[m->n_tokens++] = (special_token){v->spellings[id], id, is_added,
                                                         is_added && looks_like_marker(v->spellings[id])};
        }
    }
    qsort(m->tokens, m->n_tokens, sizeof *m->tokens, compare_tokens);
    drop_repeated(m);
    index_first_bytes(m);
    return QN_OK;
}

void special_matcher_deinit(special_matcher *m) {
    free(m->tokens);
    m->tokens = NULL;
    m->n_tokens = 0;
}

/* First of tokens [low, high), all longer than `depth` and equal before it, whose byte there is at least `byte`. */
static uint32_t lower_bound(const special_matcher *m, uint32_t low, uint32_t high, uint64_t depth, unsigned byte) {
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((uint8_t)m->tokens[middle].spelling.data[depth] < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint64_t room_until(const uint8_t *at, const uint8_t *end) {
    return end > at ? (uint64_t)(end - at) : 0;
}

const special_token *special_match_at(const special_matcher *m, const uint8_t *at, const special_limits *limits) {
    const uint64_t room = room_until(at, limits->end);
    const uint64_t marker_room = room_until(at, limits->marker_end), control_room = room_until(at, limits->control_end);
    const special_token *best = NULL;
    uint32_t low = m->first[*at], high = m->first[*at + 1];
    uint64_t depth = 1;
    while (low < high) {
        while (low < high && m->tokens[low].spelling.size == depth) {
            const special_token *token = &m->tokens[low++];
            const bool is_allowed = depth <= (token->is_marker ? marker_room : token->is_added ? room : control_room);
            if (is_allowed && (best == NULL || best->spelling.size < depth)) {
                best = token;
            }
        }
        if (depth == room || low == high) {
            break;
        }
        low = lower_bound(m, low, high, depth, at[depth]);
        high = lower_bound(m, low, high, depth, at[depth] + 1u);
        depth++;
    }
    return best;
}

uint32_t special_find(const special_matcher *m, fmt_str spelling) {
    uint32_t low = 0, high = m->n_tokens;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const fmt_str found = m->tokens[middle].spelling;
        const uint64_t shorter = found.size < spelling.size ? found.size : spelling.size;
        const int order = memcmp(found.data, spelling.data, (size_t)shorter);
        if (order < 0 || (order == 0 && found.size < spelling.size)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < m->n_tokens && m->tokens[low].spelling.size == spelling.size &&
        memcmp(m->tokens[low].spelling.data, spelling.data, (size_t)spelling.size) == 0) {
        return m->tokens[low].id;
    }
    return TOKEN_NONE;
}
