/* bpe.c — merges as pairs of ids, and the encoding of one word. */
#include "text/bpe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/text_hash.h"

static bpe_merge *find_slot(const bpe *b, uint32_t left, uint32_t right) {
    uint32_t at = text_hash_pair(left, right) & b->slot_mask;
    while (b->slots[at].left != TOKEN_NONE && (b->slots[at].left != left || b->slots[at].right != right)) {
        at = (at + 1) & b->slot_mask;
    }
    return &b->slots[at];
}

static qn_status make_slots(bpe *b, uint32_t n_merges, error_context *err) {
    uint64_t n_slots = 16;
    while (n_slots < (uint64_t)n_merges + n_merges / 2) {
        n_slots *= 2;
    }
    b->slots = malloc(n_slots * sizeof *b->slots);
    if (b->slots == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %u merges", n_merges);
    }
    memset(b->slots, 0xff, n_slots * sizeof *b->slots);
    b->slot_mask = (uint32_t)(n_slots - 1);
    return QN_OK;
}

/* One side of a merge as bytes. */
typedef struct merge_side {
    uint8_t *bytes; /* caller's buffer */
    size_t size;
} merge_side;

static qn_status decode_side(fmt_str spelling, uint32_t rank, merge_side *side, error_context *err) {
    if (spelling.size == 0) {
        return FAIL(err, QN_BAD_FILE, "tokenizer.ggml.merges[%u] has nothing on one side of its space; a merge is LEFT RIGHT",
                    rank);
    }
    if (!vocab_decode_spelling((const uint8_t *)spelling.data, (size_t)spelling.size, side->bytes, &side->size)) {
        return FAIL(err, QN_BAD_FILE,
                    "tokenizer.ggml.merges[%u]: \"%.*s\" has a character that stands for no byte in byte-level BPE", rank,
                    spelling.size < 64 ? (int)spelling.size : 64, spelling.data);
    }
    return QN_OK;
}

static qn_status add_merge(bpe *b, vocab *v, const tokenizer_facts *facts, uint32_t rank, uint8_t *room, uint8_t *is_made,
                           error_context *err) {
    merge_side left = {room, 0}, right;
    qn_status status = decode_side(facts->merges[rank].left, rank, &left, err);
    if (status < 0) {
        return status;
    }
    right.bytes = room + left.size;
    status = decode_side(facts->merges[rank].right, rank, &right, err);
    uint32_t left_id = 0, right_id = 0, joined_id = 0;
    if (status >= 0) {
        status = vocab_intern(v, left.bytes, left.size, NULL, 0, &left_id, err);
    }
    if (status >= 0) {
        status = vocab_intern(v, right.bytes, right.size, NULL, 0, &right_id, err);
    }
    if (status >= 0) {
        status = vocab_intern(v, left.bytes, left.size, right.bytes, right.size, &joined_id, err);
    }
    if (status < 0) {
        return status;
    }
    if (joined_id < v->n_tokens) {
        is_made[joined_id] = 1;
    }
    bpe_merge *slot = find_slot(b, left_id, right_id);
    if (slot->left == TOKEN_NONE) { /* of equal merges the first one counts */
        *slot = (bpe_merge){left_id, right_id, rank, joined_id};
    }
    return QN_OK;
}

static qn_status add_merges(bpe *b, vocab *v, const tokenizer_facts *facts, uint8_t *is_made, error_context *err) {
    uint64_t longest = 0;
    for (uint32_t rank = 0; rank < facts->n_merges; rank++) {
        const uint64_t size = facts->merges[rank].left.size + facts->merges[rank].right.size;
        longest = size > longest ? size : longest;
    }
    uint8_t *room = malloc((size_t)longest + 1);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a merge of %" PRIu64 " bytes", longest);
    }
    qn_status status = QN_OK;
    for (uint32_t rank = 0; rank < facts->n_merges && status >= 0; rank++) {
        status = add_merge(b, v, facts, rank, room, is_made, err);
    }
    free(room);
    return status;
}

/* Without kinds in the file: <...> is control unless a merge makes it, and so are BOS and EOS. (All that P64 alone keeps of
 * the kinds is the spelling, and "<div>" can be an ordinary word; what no merge makes can be none.) */
static void derive_control(vocab *v, const tokenizer_facts *facts, const uint8_t *is_made) {
    for (uint32_t id = 0; id < v->n_tokens; id++) {
        const fmt_str spelling = v->spellings[id];
        const bool has_brackets =
            spelling.size >= 3 && spelling.data[0] == '<' && spelling.data[spelling.size - 1] == '>';
        const bool is_named = (id == facts->bos || id == facts->eos) && spelling.size > 1;
        if (vocab_kind(v, id) == TOKEN_KIND_NORMAL && !is_made[id] && (has_brackets || is_named)) {
            vocab_set_control(v, id);
        }
    }
}

static qn_status find_bytes(bpe *b, vocab *v, error_context *err) {
    for (unsigned byte = 0; byte < 256; byte++) {
        const uint8_t text = (uint8_t)byte;
        const qn_status status = vocab_intern(v, &text, 1, NULL, 0, &b->byte_ids[byte], err);
        if (status < 0) {
            return status;
        }
    }
    return QN_OK;
}

qn_status bpe_init(bpe *b, vocab *v, const tokenizer_facts *facts, error_context *err) {
    b->v = v;
    qn_status status = make_slots(b, facts->n_merges, err);
    if (status < 0) {
        return status;
    }
    uint8_t *is_made = calloc((size_t)v->n_tokens + 1, 1);
    if (is_made == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %u tokens", v->n_tokens);
    }
    status = find_bytes(b, v, err);
    if (status >= 0) {
        status = add_merges(b, v, facts, is_made, err);
    }
    if (status >= 0 && facts->kinds == NULL) {
        derive_control(v, facts, is_made);
        status = vocab_reindex(v, err);
    }
    free(is_made);
    const bool has_unk = facts->unk < v->n_tokens && vocab_kind(v, facts->unk) != TOKEN_KIND_CONTROL;
    b->unk = has_unk ? facts->unk : TOKEN_NONE;
    return status;
}

void bpe_deinit(bpe *b) {
    free(b->slots);
    b->slots = NULL;
}

static uint32_t rank_pair(const void *ctx, const merge_symbol *left, const merge_symbol *right, uint32_t *out_id) {
    const bpe *b = ctx;
    const bpe_merge *slot = find_slot(b, left->id, right->id);
    if (slot->left == TOKEN_NONE) {
        return MERGE_NO_RANK;
    }
    *out_id = slot->joined_id;
    return slot->rank;
}

/* A symbol that is no token is given byte by byte. */
static qn_status push_symbol(const bpe *b, const merge_symbol *symbol, const uint8_t *begin, const uint8_t *word,
                             token_list *out, error_context *err) {
    if (symbol->id < b->v->n_tokens) {
        return token_list_push(out, symbol->id, err);
    }
    for (uint32_t i = 0; i < symbol->size; i++) {
        const uint8_t byte = word[symbol->start + i];
        const uint32_t byte_id = b->byte_ids[byte];
        const uint32_t id = byte_id < b->v->n_tokens ? byte_id : b->unk;
        if (id == TOKEN_NONE) {
            return FAIL(err, QN_BAD_INPUT,
                        "byte %zu of the text is 0x%02x, for which the vocabulary has no token, nor one for unknown text; remove it",
                        (size_t)(word - begin) + symbol->start + i, byte);
        }
        const qn_status status = token_list_push(out, id, err);
        if (status < 0) {
            return status;
        }
    }
    return QN_OK;
}

qn_status bpe_encode_word(const bpe *b, merge_scratch *scratch, const uint8_t *begin, const uint8_t *word, size_t size,
                          token_list *out, error_context *err) {
    qn_status status = merge_reserve(scratch, size, err);
    if (status < 0) {
        return status;
    }
    for (size_t i = 0; i < size; i++) {
        merge_symbol *symbol = &scratch->symbols[i];
        symbol->id = b->byte_ids[word[i]];
        symbol->start = (uint32_t)i;
        symbol->size = 1;
    }
    merge_run(scratch, size, rank_pair, b);
    for (uint32_t i = 0; i != UINT32_MAX && status >= 0; i = scratch->symbols[i].next) {
        status = push_symbol(b, &scratch->symbols[i], begin, word, out, err);
    }
    return status;
}
