/* p64_tokenizer.c — section 10: Q42T, the tokenizer's vocabulary and merges. */
#include <string.h>

#include "common/cursor.h"
#include "common/diag.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "p64_layout.h"

typedef unsigned long long ull;

/* The section under test. The cursor's span ends where the section ends. */
typedef struct section {
    cursor c;
    uint64_t bad_text_at; /* first string that is no UTF-8, or UINT64_MAX */
    uint64_t bad_text_index;
} section;

static section open_section(const p64_reader *r) {
    const fmt_span part = {r->span.data, r->file->header.checksum_at};
    return (section){cursor_make(part, r->file->header.tokenizer_at), UINT64_MAX, FMT_NO_INDEX};
}

static fmt_status refuse_short(const p64_reader *r, const section *s, uint64_t at, uint64_t needed, uint64_t index) {
    return p64_refuse(r, P64_R_TOKENIZER_STRING, (p64_at){at, index, needed, s->c.span.size - at},
                      "The tokenizer section needs %llu more bytes at byte %llu and has %llu", (ull)needed, (ull)at,
                      (ull)(s->c.span.size - at));
}

static fmt_status read_count(const p64_reader *r, section *s, uint32_t limit, const char *what, uint32_t *out_count) {
    const uint64_t at = s->c.at;
    const uint32_t count = cursor_u32(&s->c);
    if (!cursor_ok(&s->c)) {
        return refuse_short(r, s, at, 4, FMT_NO_INDEX);
    }
    if (count > limit) {
        return p64_refuse(r, P64_R_TOKENIZER_LIMIT, (p64_at){at, FMT_NO_INDEX, limit, count},
                          "The tokenizer section counts %u %s; %u are possible", count, what, limit);
    }
    *out_count = count;
    return FMT_OK;
}

/* One length-prefixed string. Strict mode refuses bytes that are no UTF-8; the default mode counts them. */
static fmt_status read_string(const p64_reader *r, section *s, uint64_t index, fmt_str *out_text) {
    const uint64_t at = s->c.at;
    const uint32_t size = cursor_u32(&s->c);
    const uint8_t *bytes = cursor_bytes(&s->c, size);
    if (bytes == NULL) {
        return refuse_short(r, s, at, 4 + (uint64_t)size, index);
    }
    *out_text = (fmt_str){(const char *)bytes, size};
    if (utf8_first_invalid(bytes, size) == UTF8_ALL_VALID) {
        return FMT_OK;
    }
    r->file->tokenizer.n_not_utf8++;
    if (s->bad_text_at == UINT64_MAX) {
        s->bad_text_at = at + 4;
        s->bad_text_index = index;
    }
    if (r->mode != FMT_MODE_STRICT) {
        return FMT_OK;
    }
    return p64_strictly(r, P64_R_TOKENIZER_UTF8, (p64_at){at + 4, index, 0, 0},
                        "A string of the tokenizer section at byte %llu is not UTF-8", (ull)at + 4);
}

static fmt_status check_version(const p64_reader *r, uint64_t at, uint16_t version) {
    const p64_at place = {at + P64_TOK_VERSION_AT, FMT_NO_INDEX, 1, version};
    if (version != 1 && version != 2) {
        return p64_refuse(r, P64_R_TOKENIZER_VERSION, place, "The tokenizer section's version is %u; 1 and 2 are known",
                          version);
    }
    if (version == 2) {
        return p64_strictly(r, P64_R_TOKENIZER_V2, place,
                            "The tokenizer section's version is 2, which stores stop ids");
    }
    return FMT_OK;
}

/* Magic to padding: the first 20 bytes. */
static fmt_status read_head(p64_reader *r, section *s) {
    p64_tokenizer *t = &r->file->tokenizer;
    const uint64_t at = s->c.at;
    const uint8_t *head = r->span.data + at;
    if (memcmp(head, "Q42T", 4) != 0) {
        return p64_refuse(r, P64_R_TOKENIZER_MAGIC, (p64_at){at, FMT_NO_INDEX, 0x54323451, load_u32(head)},
                          "The tokenizer section begins with %02x %02x %02x %02x instead of Q42T", head[0], head[1],
                          head[2], head[3]);
    }
    if (cursor_bytes(&s->c, P64_TOK_HEAD_BYTES) == NULL) {
        return refuse_short(r, s, at, P64_TOK_HEAD_BYTES, FMT_NO_INDEX);
    }
    t->is_present = true;
    t->version = load_u16(head + P64_TOK_VERSION_AT);
    t->bos = load_u32(head + P64_TOK_BOS_AT);
    t->eos = load_u32(head + P64_TOK_EOS_AT);
    t->add_bos = head[P64_TOK_ADD_BOS_AT] != 0;
    const fmt_status status = check_version(r, at, t->version);
    if (status != FMT_OK) {
        return status;
    }
    const uint16_t flags = load_u16(head + P64_TOK_FLAGS_AT);
    if (flags != 0) {
        return p64_refuse(r, P64_R_TOKENIZER_FLAGS, (p64_at){at + P64_TOK_FLAGS_AT, FMT_NO_INDEX, 0, flags},
                          "The tokenizer section's flags are 0x%04x and must be 0", flags);
    }
    return p64_require_zero(r, P64_R_TOKENIZER_PAD, at + P64_TOK_PAD_AT, at + P64_TOK_HEAD_BYTES,
                            "Padding after add_bos");
}

static fmt_status read_tokens(p64_reader *r, section *s) {
    p64_tokenizer *t = &r->file->tokenizer;
    fmt_status status = read_string(r, s, FMT_NO_INDEX, &t->pre);
    if (status == FMT_OK) {
        status = read_count(r, s, P64_TOK_MAX_TOKENS, "tokens", &t->n_tokens);
    }
    for (uint32_t id = 0; status == FMT_OK && id < t->n_tokens; id++) {
        const uint64_t at = s->c.at;
        fmt_str text;
        status = read_string(r, s, id, &text);
        if (status == FMT_OK) {
            r->token_at[id] = (uint32_t)at;
            r->work_a[id] = (p64_index_item){fnv1a64(text.data, text.size), id, (uint32_t)text.size};
        }
    }
    return status;
}

/* No tokenizer merges a NUL. It appears where a section was cut inside its last string, and the padding took its
 * place. */
bool p64_is_merge_side(fmt_str text) {
    return text.size > 0 && memchr(text.data, 0, text.size) == NULL;
}

static fmt_status read_merges(p64_reader *r, section *s) {
    p64_tokenizer *t = &r->file->tokenizer;
    fmt_status status = read_count(r, s, P64_TOK_MAX_MERGES, "merges", &t->n_merges);
    t->merges_at = s->c.at;
    for (uint32_t i = 0; status == FMT_OK && i < t->n_merges; i++) {
        for (int side = 0; status == FMT_OK && side < 2; side++) {
            const uint64_t at = s->c.at;
            fmt_str text;
            status = read_string(r, s, i, &text);
            if (status == FMT_OK && !p64_is_merge_side(text)) {
                status =
                    p64_refuse(r, P64_R_TOKENIZER_MERGE, (p64_at){at, i, 1, text.size}, "The %s side of merge %u %s",
                               side == 0 ? "left" : "right", i,
                               text.size == 0 ? "has no bytes" : "holds a NUL byte, as a section that was cut does");
            }
        }
    }
    return status;
}

/* The trailer of version 2: a count, three zero bytes, eight ids. */
static fmt_status read_stops(p64_reader *r, section *s) {
    p64_tokenizer *t = &r->file->tokenizer;
    const uint64_t at = s->c.at;
    const uint8_t *trailer = cursor_bytes(&s->c, P64_TOK_TRAILER_BYTES);
    if (trailer == NULL) {
        return refuse_short(r, s, at, P64_TOK_TRAILER_BYTES, FMT_NO_INDEX);
    }
    if (trailer[0] > P64_MAX_STOPS) {
        return p64_refuse(r, P64_R_TOKENIZER_LIMIT, (p64_at){at, FMT_NO_INDEX, P64_MAX_STOPS, trailer[0]},
                          "The tokenizer section counts %u stop ids; 8 are possible", trailer[0]);
    }
    t->n_stops = trailer[0];
    for (uint32_t i = 0; i < t->n_stops; i++) {
        t->stops[i] = load_u32(trailer + 4 + 4 * i);
    }
    return p64_require_zero(r, P64_R_TOKENIZER_PAD, at + 1, at + 4, "Padding after the stop count");
}

static fmt_status check_tail(const p64_reader *r, const section *s) {
    const uint64_t left = cursor_left(&s->c);
    const fmt_status status =
        p64_require_zero(r, P64_R_TOKENIZER_TAIL, s->c.at, s->c.span.size, "Behind the tokenizer's last field");
    if (status == FMT_OK && left >= 64) {
        return p64_refuse(r, P64_R_TOKENIZER_TAIL, (p64_at){s->c.at, FMT_NO_INDEX, 63, left},
                          "%llu bytes follow the tokenizer's last field; at most 63 zero bytes may", (ull)left);
    }
    return status;
}

static int compare_tokens(const void *ctx, const p64_index_item *a, const p64_index_item *b) {
    const p64_reader *r = ctx;
    const uint8_t *x = r->span.data + r->token_at[a->index] + 4, *y = r->span.data + r->token_at[b->index] + 4;
    const int order = memcmp(x, y, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* Counts the tokens that repeat an earlier one, and notes the first of them. */
static void note_repeats(p64_reader *r) {
    p64_tokenizer *t = &r->file->tokenizer;
    uint32_t first = UINT32_MAX;
    p64_index_sort(r->work_a, r->work_b, t->n_tokens, compare_tokens, r);
    for (uint32_t i = 1; i < t->n_tokens; i++) {
        if (r->work_a[i - 1].hash == r->work_a[i].hash && compare_tokens(r, &r->work_a[i - 1], &r->work_a[i]) == 0) {
            t->n_repeated++;
            first = r->work_a[i].index < first ? r->work_a[i].index : first;
        }
    }
    if (t->n_repeated > 0) {
        char text[DIAG_QUOTE_SIZE];
        diag_quote(text, p64_get_token(r->file, first));
        p64_note(r, P64_R_TOKENIZER_REPEAT, (p64_at){r->token_at[first], first, 0, t->n_repeated},
                 "Token %u (%s) repeats an earlier one (%u such tokens); the lowest id counts", first, text,
                 t->n_repeated);
    }
}

fmt_status p64_check_tokenizer(p64_reader *r) {
    if (r->file->header.tokenizer_at == r->file->header.checksum_at) {
        return FMT_OK;
    }
    section s = open_section(r);
    r->file->token_at = r->token_at;
    fmt_status status = read_head(r, &s);
    if (status == FMT_OK) {
        status = read_tokens(r, &s);
    }
    if (status == FMT_OK) {
        status = read_merges(r, &s);
    }
    if (status == FMT_OK && r->file->tokenizer.version == 2) {
        status = read_stops(r, &s);
    }
    if (status == FMT_OK) {
        status = check_tail(r, &s);
    }
    if (status != FMT_OK) {
        return status;
    }
    r->file->tokenizer.bytes = s.c.at - r->file->header.tokenizer_at;
    if (s.bad_text_at != UINT64_MAX) {
        p64_note(r, P64_R_TOKENIZER_UTF8, (p64_at){s.bad_text_at, s.bad_text_index, 0, r->file->tokenizer.n_not_utf8},
                 "A string of the tokenizer section at byte %llu is not UTF-8 (%u such strings); it is used as bytes",
                 (ull)s.bad_text_at, r->file->tokenizer.n_not_utf8);
    }
    note_repeats(r);
    return FMT_OK;
}

uint32_t p64_count_tokens(const p64_reader *r) {
    section s = open_section(r);
    if (cursor_bytes(&s.c, P64_TOK_HEAD_BYTES) == NULL) {
        return 0;
    }
    const uint32_t pre_size = cursor_u32(&s.c);
    cursor_bytes(&s.c, pre_size);
    const uint64_t count = cursor_u32(&s.c);
    const uint64_t room = cursor_left(&s.c) / 4;
    if (!cursor_ok(&s.c) || count > P64_TOK_MAX_TOKENS) {
        return 0; /* p64_check_tokenizer refuses before it reads a token */
    }
    return (uint32_t)(count < room ? count : room);
}

static fmt_str load_string(const p64_file *file, uint64_t at) {
    return (fmt_str){(const char *)file->span.data + at + 4, load_u32(file->span.data + at)};
}

fmt_str p64_get_token(const p64_file *file, uint32_t id) {
    return load_string(file, file->token_at[id]);
}

void p64_next_merge(const p64_file *file, uint64_t *at, fmt_str *out_left, fmt_str *out_right) {
    *out_left = load_string(file, *at);
    *at += 4 + out_left->size;
    *out_right = load_string(file, *at);
    *at += 4 + out_right->size;
}
