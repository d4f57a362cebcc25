/* hf_scores.c — merges of a SentencePiece vocabulary as the scores that they came from.
 *
 * SentencePiece joins any two neighbours that together are a piece, the best piece first. Files of such vocabularies list
 * every way to make a piece, the best piece first, so that the order of the merges is the order of the scores. Merges that
 * are not of this kind cannot be told by scores; that is counted and said.
 */
#include <string.h>

#include "base/log.h"
#include "convert/hf_tokenizer.h"
#include "text/tokenizer.h"

#define MAX_MERGE_SIZE 65536u /* bytes of both sides */

typedef struct scoring {
    const hf_vocabulary *v;
    float *scores;      /* [n_tokens]; above 0: none yet */
    uint32_t *n_merges; /* [n_tokens] merges that make this piece */
    char *room;         /* [MAX_MERGE_SIZE + 1] */
    uint32_t last_id;
    uint32_t n_apart;   /* merges that stand apart from the others of their piece */
} scoring;

/* The id that a merge makes; false when it is no token. */
static bool find_joined(const scoring *s, fmt_str left, fmt_str right, uint32_t *out) {
    if (left.size + right.size > MAX_MERGE_SIZE) {
        return false;
    }
    memcpy(s->room, left.data, (size_t)left.size);
    memcpy(s->room + left.size, right.data, (size_t)right.size);
    s->room[left.size + right.size] = '\0';
    return hf_read_id(s->v, json_object_get(s->v->vocab, s->room), out);
}

static void score_piece(scoring *s, uint32_t id, size_t rank) {
    if (s->scores[id] > 0.0f) {
        s->scores[id] = (float)-(int64_t)rank; /* negated while whole: no -0 */
    } else {
        s->n_apart += s->last_id != id;
    }
    s->n_merges[id]++;
    s->last_id = id;
}

static qn_status score_merges(scoring *s, hf_vocabulary *v, const json_t *merges) {
    for (size_t rank = 0; rank < json_array_size(merges); rank++) {
        fmt_str left, right;
        uint32_t id;
        if (!hf_read_merge(json_array_get(merges, rank), &left, &right)) {
            return hf_refuse_merge(v, rank, "is no merge: two texts that have bytes");
        }
        if (!find_joined(s, left, right, &id)) {
            return hf_refuse_merge(v, rank, "makes a text that is no token");
        }
        score_piece(s, id, rank);
    }
    return QN_OK;
}

/* Pieces that no merge makes are single characters, or cannot come up: they go behind all others. */
static void score_rest(const scoring *s, size_t n_merges) {
    for (uint32_t id = 0; id < s->v->n_tokens; id++) {
        if (s->v->kinds[id] != TOKEN_KIND_NORMAL) {
            s->scores[id] = 0.0f;
        } else if (s->scores[id] > 0.0f) {
            s->scores[id] = -(float)(n_merges + id);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------------ check */

static bool is_piece(const scoring *s, const char *text) {
    uint32_t id;
    return hf_read_id(s->v, json_object_get(s->v->vocab, text), &id) && s->v->kinds[id] == TOKEN_KIND_NORMAL;
}

/* Ways to make this piece of two others. The text is terminated, as all keys of the JSON tree are. */
static uint32_t count_splits(const scoring *s, fmt_str piece) {
    uint32_t n = 0;
    for (uint64_t at = 1; at < piece.size && piece.size <= MAX_MERGE_SIZE; at++) {
        const bool is_boundary = ((unsigned char)piece.data[at] & 0xC0) != 0x80;
        if (!is_boundary || !is_piece(s, piece.data + at)) {
            continue;
        }
        memcpy(s->room, piece.data, (size_t)at);
        s->room[at] = '\0';
        n += is_piece(s, s->room);
    }
    return n;
}

static void warn_of_others(const scoring *s) {
    uint32_t n_unlisted = 0, n_pieces = 0;
    for (uint32_t id = 0; id < s->v->n_tokens; id++) {
        if (s->v->kinds[id] == TOKEN_KIND_NORMAL) {
            n_pieces++;
            n_unlisted += count_splits(s, s->v->tokens[id]) > s->n_merges[id];
        }
    }
    if (n_unlisted > 0 || s->n_apart > 0) {
        log_line(QN_LOG_WARN,
                 "%s: its merges are not those of a SentencePiece vocabulary (%u of %u pieces can be made in ways that no "
                 "merge lists, %u merges stand apart): some texts may be cut into other tokens",
                 s->v->file.path, n_unlisted, n_pieces, s->n_apart);
    }
}

qn_status hf_translate_scores(hf_vocabulary *v, const json_t *merges) {
    scoring s = {.v = v,
                 .scores = key_list_take(v->keys, v->n_tokens, sizeof *s.scores),
                 .n_merges = key_list_take(v->keys, v->n_tokens, sizeof *s.n_merges),
                 .room = key_list_take(v->keys, MAX_MERGE_SIZE, 1),
                 .last_id = TOKEN_NONE};
    if (s.scores == NULL || s.n_merges == NULL || s.room == NULL) {
        return FAIL(v->file.err, QN_NO_HOST_MEM, "out of memory for %u scores", v->n_tokens);
    }
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        s.scores[id] = 1.0f;
    }
    QN_TRY(score_merges(&s, v, merges), v->file.err, "reading the merges");
    score_rest(&s, json_array_size(merges));
    warn_of_others(&s);
    key_list_floats(v->keys, "tokenizer.ggml.scores", s.scores, v->n_tokens);
    return QN_OK;
}
