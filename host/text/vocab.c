/* vocab.c — texts of tokens and the hash index over them. */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "text/text_hash.h"

/* Byte-level BPE spells the bytes that print as themselves, and the 68 others, ascending, as U+0100 and up. */
static int byte_of_code(uint32_t code) {
    if ((code >= 33 && code <= 126) || (code >= 161 && code <= 172) || (code >= 174 && code <= 255)) {
        return (int)code;
    }
    if (code >= 256 && code <= 288) {
        return (int)(code - 256); /* 0..32 */
    }
    if (code >= 289 && code <= 322) {
        return (int)(code - 289 + 127); /* 127..160 */
    }
    return code == 323 ? 173 : -1;
}

bool vocab_decode_spelling(const uint8_t *spelling, size_t size, uint8_t *out, size_t *out_size) {
    size_t n = 0;
    for (size_t at = 0; at < size;) {
        uint32_t code;
        const unsigned char_size = utf8_decode(spelling + at, size - at, &code);
        const int byte = char_size > 0 ? byte_of_code(code) : -1;
        if (byte < 0) {
            return false;
        }
        out[n++] = (uint8_t)byte;
        at += char_size;
    }
    *out_size = n;
    return true;
}

static int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool vocab_is_byte_spelling(fmt_str spelling, uint8_t *out_byte) {
    if (spelling.size != 6 || memcmp(spelling.data, "<0x", 3) != 0 || spelling.data[5] != '>') {
        return false;
    }
    const int high = hex_value(spelling.data[3]), low = hex_value(spelling.data[4]);
    if (high < 0 || low < 0) {
        return false;
    }
    *out_byte = (uint8_t)(high * 16 + low);
    return true;
}

static size_t replace_markers(const uint8_t *spelling, size_t size, uint8_t *out) {
    size_t n = 0;
    for (size_t at = 0; at < size;) {
        if (size - at >= 3 && memcmp(spelling + at, "\xe2\x96\x81", 3) == 0) { /* U+2581 stands for a space */
            out[n++] = ' ';
            at += 3;
        } else {
            out[n++] = spelling[at++];
        }
    }
    return n;
}

static uint8_t derive_kind(const tokenizer_facts *facts, uint32_t id, vocab_style style) {
    const fmt_str spelling = facts->tokens[id];
    uint8_t byte;
    if (style == VOCAB_BYTE_LEVEL) {
        return TOKEN_KIND_NORMAL;
    }
    if (id == facts->unk && id != facts->bos && id != facts->eos) {
        return TOKEN_KIND_UNKNOWN;
    }
    if (vocab_is_byte_spelling(spelling, &byte)) {
        return TOKEN_KIND_BYTE;
    }
    const bool has_brackets = spelling.size >= 3 && spelling.data[0] == '<' && spelling.data[spelling.size - 1] == '>';
    return has_brackets ? TOKEN_KIND_CONTROL : TOKEN_KIND_NORMAL;
}

/* Kind of token `id`, and its text written behind the others. */
static void add_token(vocab *v, const tokenizer_facts *facts, uint32_t id, vocab_style style) {
    const fmt_str spelling = facts->tokens[id];
    const uint8_t *from = (const uint8_t *)spelling.data;
    uint8_t *to = v->bytes + v->begins[id];
    uint8_t kind = facts->kinds != NULL ? (uint8_t)facts->kinds[id] : derive_kind(facts, id, style);
    size_t size = 0;
    uint8_t byte;
    if (kind == TOKEN_KIND_BYTE && vocab_is_byte_spelling(spelling, &byte)) {
        to[0] = byte;
        size = 1;
    } else if (kind == TOKEN_KIND_NORMAL && style == VOCAB_SENTENCEPIECE) {
        size = replace_markers(from, spelling.size, to);
    } else if (kind != TOKEN_KIND_NORMAL || !vocab_decode_spelling(from, spelling.size, to, &size)) {
        if (spelling.size > 0) {
            memcpy(to, from, spelling.size);
        }
        size = spelling.size;
        kind |= VOCAB_IS_LITERAL;
    }
    v->kinds[id] = kind;
    v->begins[id + 1] = v->begins[id] + (uint32_t)size;
    v->longest = size > v->longest ? (uint32_t)size : v->longest;
}

static void insert_slot(vocab *v, uint32_t hash, uint32_t id) {
    uint32_t at = hash & v->slot_mask;
    while (v->slots[at].id != TOKEN_NONE) {
        at = (at + 1) & v->slot_mask;
    }
    v->slots[at] = (vocab_slot){hash, id};
    v->n_slots_used++;
}

const uint8_t *vocab_text(const vocab *v, uint32_t id, size_t *out_size) {
    *out_size = v->begins[id + 1] - v->begins[id];
    return v->bytes + v->begins[id];
}

uint32_t vocab_find(const vocab *v, const uint8_t *text, size_t size) {
    if (size > v->longest) {
        return TOKEN_NONE;
    }
    const uint32_t hash = text_hash(text, size);
    for (uint32_t at = hash & v->slot_mask; v->slots[at].id != TOKEN_NONE; at = (at + 1) & v->slot_mask) {
        if (v->slots[at].hash == hash) {
            size_t found_size;
            const uint8_t *found = vocab_text(v, v->slots[at].id, &found_size);
            if (found_size == size && memcmp(found, text, size) == 0) {
                return v->slots[at].id;
            }
        }
    }
    return TOKEN_NONE;
}

qn_status vocab_reindex(vocab *v, error_context *err) {
    uint64_t n_slots = 16;
    while (n_slots < (uint64_t)v->n_strings * 2 + 2) {
        n_slots *= 2;
    }
    vocab_slot *slots = malloc(n_slots * sizeof *slots);
    if (slots == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for an index over %u tokens", v->n_strings);
    }
    free(v->slots);
    v->slots = slots;
    v->slot_mask = (uint32_t)(n_slots - 1);
    v->n_slots_used = 0;
    memset(slots, 0xff, n_slots * sizeof *slots);
    for (uint32_t id = 0; id < v->n_strings; id++) {
        size_t size;
        const uint8_t *text = vocab_text(v, id, &size);
        const bool is_found_by_text = id >= v->n_tokens || v->kinds[id] == TOKEN_KIND_NORMAL;
        if (is_found_by_text && size > 0 && vocab_find(v, text, size) == TOKEN_NONE) {
            insert_slot(v, text_hash(text, size), id);
        }
    }
    return QN_OK;
}

qn_status vocab_init(vocab *v, const tokenizer_facts *facts, vocab_style style, error_context *err) {
    uint64_t n_bytes = 0;
    for (uint32_t id = 0; id < facts->n_tokens; id++) {
        n_bytes += facts->tokens[id].size;
        if (facts->tokens[id].size > UINT32_MAX || n_bytes >= UINT32_MAX) {
            return FAIL(err, QN_LIMIT, "tokenizer.ggml.tokens: the tokens up to %u have more than 4 GiB of text", id);
        }
    }
    v->spellings = facts->tokens;
    v->n_tokens = v->n_strings = facts->n_tokens;
    v->bytes_capacity = (size_t)n_bytes + 1;
    v->strings_capacity = (size_t)facts->n_tokens + 1;
    v->bytes = malloc(v->bytes_capacity);
    v->kinds = malloc(v->strings_capacity);
    v->begins = malloc((v->strings_capacity + 1) * sizeof *v->begins);
    if (v->bytes == NULL || v->kinds == NULL || v->begins == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %u tokens", facts->n_tokens);
    }
    v->begins[0] = 0;
    for (uint32_t id = 0; id < facts->n_tokens; id++) {
        add_token(v, facts, id, style);
    }
    return vocab_reindex(v, err);
}

void vocab_deinit(vocab *v) {
    free(v->bytes);
    free(v->kinds);
    free(v->begins);
    free(v->slots);
    memset(v, 0, sizeof *v);
}

/* Room for one more string of `size` bytes; doubles, so that many strings cost their own size. */
static qn_status reserve_string(vocab *v, size_t size, error_context *err) {
    const size_t n_bytes = (size_t)v->begins[v->n_strings] + size;
    if (n_bytes >= UINT32_MAX || v->n_strings >= UINT32_MAX / 4) {
        return FAIL(err, QN_LIMIT, "tokenizer.ggml.merges: more than 4 GiB of text in merges that name no token");
    }
    if (n_bytes > v->bytes_capacity) {
        uint8_t *bytes = realloc(v->bytes, n_bytes * 2);
        if (bytes == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for %zu bytes of tokens", n_bytes * 2);
        }
        v->bytes = bytes;
        v->bytes_capacity = n_bytes * 2;
    }
    if ((size_t)v->n_strings + 1 > v->strings_capacity) {
        const size_t capacity = ((size_t)v->n_strings + 1) * 2;
        uint32_t *begins = realloc(v->begins, (capacity + 1) * sizeof *begins);
        if (begins == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for %zu tokens", capacity);
        }
        v->begins = begins;
        v->strings_capacity = capacity;
    }
    return QN_OK;
}

qn_status vocab_intern(vocab *v, const uint8_t *left, size_t left_size, const uint8_t *right, size_t right_size,
                       uint32_t *out_id, error_context *err) {
    const size_t size = left_size + right_size;
    const qn_status status = reserve_string(v, size, err);
    if (status < 0) {
        return status;
    }
    uint8_t *text = v->bytes + v->begins[v->n_strings];
    memcpy(text, left, left_size);
    if (right_size > 0) {
        memcpy(text + left_size, right, right_size);
    }
    *out_id = vocab_find(v, text, size);
    if (*out_id != TOKEN_NONE) {
        return QN_OK;
    }
    *out_id = v->n_strings++;
    v->begins[v->n_strings] = v->begins[v->n_strings - 1] + (uint32_t)size;
    v->longest = size > v->longest ? (uint32_t)size : v->longest;
    if ((uint64_t)(v->n_slots_used + 1) * 2 > v->slot_mask) {
        return vocab_reindex(v, err);
    }
    insert_slot(v, text_hash(text, size), *out_id);
    return QN_OK;
}

void vocab_set_control(vocab *v, uint32_t id) {
    v->kinds[id] = TOKEN_KIND_CONTROL | VOCAB_IS_LITERAL;
}
