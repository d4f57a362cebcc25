/* q42_journal.c — journals: transactions of adds and removes on one volume (section 13 of the format's document).
 *
 *     0     header, 128 bytes
 *     128   frames: type u8, 3 zero, size u32, sequence u64, tick u64, transaction u32, CRC-32C u32, content
 */
#include <string.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "common/utf8.h"
#include "q42_files_internal.h"

#define RECEIPT_BYTES 32u
#define COMMIT_BYTES 4u

typedef struct frame {
    q42_journal_type type;
    uint32_t size; /* of the content */
    uint64_t sequence, tick;
    uint32_t transaction, checksum;
    const uint8_t *content;
    uint64_t offset;
} frame;

/* False when less than a head is left. The content is not looked at: it may be cut. */
static bool load_frame(fmt_span span, uint64_t at, frame *out) {
    if (span.size - at < Q42_JOURNAL_FRAME_BYTES) {
        return false;
    }
    const uint8_t *head = span.data + at;
    *out = (frame){.type = head[0],
                   .size = load_u32(head + 4),
                   .sequence = load_u64(head + 8),
                   .tick = load_u64(head + 16),
                   .transaction = load_u32(head + 24),
                   .checksum = load_u32(head + 28),
                   .content = head + Q42_JOURNAL_FRAME_BYTES,
                   .offset = at};
    return true;
}

static uint64_t end_of_frame(const frame *f) {
    return f->offset + Q42_JOURNAL_FRAME_BYTES + f->size;
}

static fmt_str text_of_term(const frame *f) {
    const fmt_str text = {(const char *)f->content + 8, f->size - 8u};
    return text;
}

/* A frame whose size fits its type. */
static bool has_right_size(const frame *f) {
    switch (f->type) {
    case Q42_JOURNAL_BEGIN: return f->size == 8 || f->size == 16;
    case Q42_JOURNAL_ADD:
    case Q42_JOURNAL_REMOVE: return f->size == Q42_QUIN_BYTES;
    case Q42_JOURNAL_TERM: return f->size >= 8;
    case Q42_JOURNAL_RECEIPT: return f->size == RECEIPT_BYTES;
    default: return f->size == COMMIT_BYTES;
    }
}

static bool is_right_term(const frame *f) {
    const fmt_str text = text_of_term(f);
    return utf8_first_invalid(text.data, text.size) == UTF8_ALL_VALID &&
           files_is_key_of(load_u64(f->content), text);
}

/* What the walk leaves out: it must agree with what check_content tells a note about. */
static bool is_ignored(const frame *f) {
    const bool is_frame = f->type == Q42_JOURNAL_BEGIN || f->type == Q42_JOURNAL_COMMIT;
    return !is_frame && (!has_right_size(f) || (f->type == Q42_JOURNAL_TERM && !is_right_term(f)));
}

/* ---------------------------------------------------------------- opening */

typedef struct journal_scan {
    files_reading r;
    q42_journal journal;
    bool is_inside;
    uint64_t n_adds, n_removes, n_terms; /* of the open transaction */
    uint64_t last_sequence;
} journal_scan;

static diag_place frame_place(const frame *f, uint64_t expected, uint64_t got) {
    const diag_place place = {f->offset, f->sequence, expected, got};
    return place;
}

static fmt_status check_header(files_reading *r, fmt_span span) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint8_t *head = span.data;
    if (span.size >= 4 && memcmp(head, "Q42J", 4) != 0) {
        const fmt_str start = {(const char *)head, 4};
        return files_refuse(r->diag, Q42F_R_JOURNAL_MAGIC, files_at(0), "the file begins with %s",
                            diag_quote(quoted, start));
    }
    if (span.size < Q42_JOURNAL_HEADER_BYTES) {
        const diag_place here = {span.size, FMT_NO_INDEX, Q42_JOURNAL_HEADER_BYTES, span.size};
        return files_refuse(r->diag, Q42F_R_JOURNAL_SIZE, here, "the file has %llu bytes",
                            (unsigned long long)span.size);
    }
    if (load_u16(head + 4) != 1) {
        const diag_place here = {4, FMT_NO_INDEX, 1, load_u16(head + 4)};
        return files_refuse(r->diag, Q42F_R_JOURNAL_VERSION, here, "the version is %u", (unsigned)load_u16(head + 4));
    }
    return FMT_OK;
}

static bool is_zero(const uint8_t *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static fmt_status read_header(files_reading *r, fmt_span span, q42_journal_header *header) {
    const uint8_t *head = span.data;
    header->profile = load_u16(head + 6);
    header->privacy = head[8];
    header->flags = head[9];
    header->world = load_u64(head + 16);
    memcpy(header->base_digest, head + 24, Q42_DIGEST_BYTES);
    header->base_generation = load_u64(head + 56);
    header->schema_rules = load_u32(head + 64);
    memcpy(header->required_pack, head + 68, Q42_DIGEST_BYTES);
    if (header->profile < 1 || header->profile > 5 || header->privacy > 2 || header->schema_rules != 1 ||
        !is_zero(head + 10, 6) || !is_zero(head + 100, 28)) {
        fmt_diag found;
        files_refuse(&found, Q42F_R_JOURNAL_HEADER, files_at(6),
                     "the header says profile %u, privacy %u and rules %u, or its reserved bytes are used",
                     header->profile, header->privacy, header->schema_rules);
        return files_settle(r, &found);
    }
    return FMT_OK;
}

/* What is wrong whatever the mode. */
static fmt_status check_frame(journal_scan *s, const frame *f) {
    const uint32_t checksum = crc32c(f->content, f->size);
    if (checksum != f->checksum) {
        return files_refuse(s->r.diag, Q42F_R_JOURNAL_CHECKSUM, frame_place(f, checksum, f->checksum),
                            "frame %llu says checksum %08x, its content has %08x", (unsigned long long)f->sequence,
                            f->checksum, checksum);
    }
    if (f->type != Q42_JOURNAL_COMMIT && (f->type < Q42_JOURNAL_BEGIN || f->type > Q42_JOURNAL_RECEIPT)) {
        return files_refuse(s->r.diag, Q42F_R_JOURNAL_TYPE, frame_place(f, 0, f->type), "frame %llu has type %u",
                            (unsigned long long)f->sequence, f->type);
    }
    if (f->type == Q42_JOURNAL_BEGIN && f->size < 8) {
        return files_refuse(s->r.diag, Q42F_R_JOURNAL_BEGIN, frame_place(f, 8, f->size), "frame %llu has %u bytes",
                            (unsigned long long)f->sequence, f->size);
    }
    if ((f->type == Q42_JOURNAL_ADD || f->type == Q42_JOURNAL_REMOVE) && f->size == Q42_QUIN_BYTES) {
        const q42_quin quin = q42_quin_load(f->content);
        if (q42_quin_parity(&quin) != quin.parity) {
            return files_refuse(s->r.diag, Q42F_R_JOURNAL_PARITY, frame_place(f, q42_quin_parity(&quin), quin.parity),
                                "frame %llu has a quin with parity %016llx, which should be %016llx",
                                (unsigned long long)f->sequence, (unsigned long long)quin.parity,
                                (unsigned long long)q42_quin_parity(&quin));
        }
    }
    return FMT_OK;
}

static fmt_status tell_frame(journal_scan *s, const frame *f, files_rule_no rule, const char *what) {
    fmt_diag found;
    files_refuse(&found, rule, frame_place(f, 0, f->size), "frame %llu, of type %u and %u bytes, %s",
                 (unsigned long long)f->sequence, f->type, f->size, what);
    return files_settle(&s->r, &found);
}

/* What the default mode only notes. */
static fmt_status check_content(journal_scan *s, const frame *f) {
    fmt_status status = FMT_OK;
    if (!has_right_size(f)) {
        status = tell_frame(s, f, Q42F_R_JOURNAL_FRAME, "has another size than its type");
    } else if (f->type == Q42_JOURNAL_TERM && !is_right_term(f)) {
        status = tell_frame(s, f, Q42F_R_JOURNAL_TERM, "names a text that is not the key's, or no text");
    } else if (f->type == Q42_JOURNAL_COMMIT && memcmp(f->content, "\xAA\xAA\xAA\xAA", COMMIT_BYTES) != 0) {
        status = tell_frame(s, f, Q42F_R_JOURNAL_FRAME, "ends a transaction with other bytes than AA AA AA AA");
    }
    if (status == FMT_OK && f->sequence <= s->last_sequence) {
        status = tell_frame(s, f, Q42F_R_JOURNAL_SEQUENCE, "has a number that is not above the last one");
    }
    if (status == FMT_OK && !s->is_inside && f->type != Q42_JOURNAL_BEGIN) {
        status = tell_frame(s, f, Q42F_R_JOURNAL_OUTSIDE, "belongs to no transaction");
    }
    return status;
}

static void commit_transaction(journal_scan *s, const frame *f) {
    s->journal.n_transactions++;
    s->journal.n_adds += s->n_adds;
    s->journal.n_removes += s->n_removes;
    s->journal.n_terms += s->n_terms;
    s->journal.last_transaction = f->transaction;
    s->journal.last_sequence = f->sequence;
    s->journal.end = end_of_frame(f);
    s->is_inside = false;
}

static void take_frame(journal_scan *s, const frame *f) {
    if (f->type == Q42_JOURNAL_BEGIN) { /* one that is still open is given up */
        s->is_inside = true;
        s->n_adds = s->n_removes = s->n_terms = 0;
    } else if (!s->is_inside || is_ignored(f)) {
        s->journal.n_ignored++;
    } else if (f->type == Q42_JOURNAL_COMMIT) {
        commit_transaction(s, f);
    } else {
        s->n_adds += f->type == Q42_JOURNAL_ADD;
        s->n_removes += f->type == Q42_JOURNAL_REMOVE;
        s->n_terms += f->type == Q42_JOURNAL_TERM;
    }
    s->last_sequence = f->sequence;
}

static fmt_status scan_frames(journal_scan *s) {
    const fmt_span span = s->journal.span;
    uint64_t at = Q42_JOURNAL_HEADER_BYTES;
    frame f;
    while (load_frame(span, at, &f)) {
        if (f.size > Q42_JOURNAL_MAX_PAYLOAD) {
            return files_refuse(s->r.diag, Q42F_R_JOURNAL_PAYLOAD, frame_place(&f, Q42_JOURNAL_MAX_PAYLOAD, f.size),
                                "frame %llu claims %u bytes", (unsigned long long)f.sequence, f.size);
        }
        if (f.size > span.size - at - Q42_JOURNAL_FRAME_BYTES) {
            break; /* cut while it was written */
        }
        fmt_status status = check_frame(s, &f);
        if (status == FMT_OK) {
            status = check_content(s, &f);
        }
        if (status != FMT_OK) {
            return status;
        }
        take_frame(s, &f);
        at = end_of_frame(&f);
    }
    return FMT_OK;
}

/* What a crash leaves is no part of the journal. */
static fmt_status check_tail(journal_scan *s) {
    fmt_diag found;
    if (s->journal.n_torn_bytes == 0) {
        return FMT_OK;
    }
    files_refuse(&found, Q42F_R_JOURNAL_TAIL, (diag_place){.offset = s->journal.end, .index = FMT_NO_INDEX},
                 "%llu bytes behind the last transaction are left of one that was not finished",
                 (unsigned long long)s->journal.n_torn_bytes);
    return files_settle(&s->r, &found);
}

fmt_status q42_journal_open(fmt_span span, fmt_mode mode, q42_journal *out_journal, fmt_note_fn *note, void *note_ctx,
                            fmt_diag *diag) {
    journal_scan s = {.r = {mode, note, note_ctx, diag}, .journal = {.span = span, .end = Q42_JOURNAL_HEADER_BYTES}};
    fmt_status status = check_header(&s.r, span);
    if (status == FMT_OK) {
        status = read_header(&s.r, span, &s.journal.header);
    }
    if (status == FMT_OK) {
        status = scan_frames(&s);
    }
    if (status == FMT_OK) {
        s.journal.n_torn_bytes = span.size - s.journal.end;
        status = check_tail(&s);
    }
    if (status == FMT_OK) {
        *out_journal = s.journal;
    }
    return status;
}

fmt_status q42_journal_check_base(const q42_journal *journal, const uint8_t digest[Q42_DIGEST_BYTES], fmt_diag *diag) {
    if (memcmp(journal->header.base_digest, digest, Q42_DIGEST_BYTES) == 0) {
        return FMT_OK;
    }
    char hex[2][17];
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < 16; i++) {
        const unsigned shift = i % 2 == 0 ? 4 : 0;
        hex[0][i] = digits[journal->header.base_digest[i / 2] >> shift & 15];
        hex[1][i] = digits[digest[i / 2] >> shift & 15];
    }
    hex[0][16] = hex[1][16] = '\0';
    return files_refuse(diag, Q42F_R_JOURNAL_BASE, files_at(24), "it is about a file whose SHA-256 begins %s, not %s",
                        hex[0], hex[1]);
}

/* ---------------------------------------------------------------- walking */

/* Whether the transaction that begins with the frame before `at` comes to its end before another one begins. */
static bool is_committed(const q42_journal *journal, uint64_t at) {
    frame f;
    while (at < journal->end && load_frame(journal->span, at, &f)) {
        if (f.type == Q42_JOURNAL_COMMIT || f.type == Q42_JOURNAL_BEGIN) {
            return f.type == Q42_JOURNAL_COMMIT;
        }
        at = end_of_frame(&f);
    }
    return false;
}

static q42_journal_entry describe_frame(const frame *f, uint64_t ordinal) {
    q42_journal_entry entry = {.type = f->type, .sequence = f->sequence, .tick = f->tick,
                               .transaction = f->transaction, .ordinal = ordinal, .offset = f->offset};
    if (f->type == Q42_JOURNAL_BEGIN) {
        entry.command = load_u64(f->content);
        entry.actor = f->size >= 16 ? load_u64(f->content + 8) : 0;
    } else if (f->type == Q42_JOURNAL_ADD || f->type == Q42_JOURNAL_REMOVE) {
        entry.quin = q42_quin_load(f->content);
    } else if (f->type == Q42_JOURNAL_TERM) {
        entry.key = load_u64(f->content);
        entry.text = text_of_term(f);
    } else if (f->type == Q42_JOURNAL_RECEIPT) {
        entry.receipt = f->content;
    }
    return entry;
}

bool q42_journal_next(const q42_journal *journal, q42_journal_walk *walk, q42_journal_entry *out_entry) {
    frame f;
    if (walk->at == 0) {
        walk->at = Q42_JOURNAL_HEADER_BYTES;
    }
    while (walk->at < journal->end && load_frame(journal->span, walk->at, &f)) {
        walk->at = end_of_frame(&f);
        if (f.type == Q42_JOURNAL_BEGIN) {
            walk->is_inside = is_committed(journal, walk->at);
        }
        if (walk->is_inside && !is_ignored(&f)) {
            *out_entry = describe_frame(&f, walk->ordinal);
            if (f.type == Q42_JOURNAL_COMMIT) {
                walk->is_inside = false;
                walk->ordinal++;
            }
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- writing */

void q42_journal_encode_header(const q42_journal_header *header, uint8_t out[Q42_JOURNAL_HEADER_BYTES]) {
    memset(out, 0, Q42_JOURNAL_HEADER_BYTES);
    memcpy(out, "Q42J", 4);
    store_u16(out + 4, 1);
    store_u16(out + 6, header->profile);
    out[8] = header->privacy;
    out[9] = header->flags;
    store_u64(out + 16, header->world);
    memcpy(out + 24, header->base_digest, Q42_DIGEST_BYTES);
    store_u64(out + 56, header->base_generation);
    store_u32(out + 64, header->schema_rules);
    memcpy(out + 68, header->required_pack, Q42_DIGEST_BYTES);
}

/* Bytes of the content, or UINT64_MAX for what cannot be written. */
static uint64_t measure_content(const q42_journal_entry *entry) {
    switch (entry->type) {
    case Q42_JOURNAL_BEGIN: return 16;
    case Q42_JOURNAL_ADD:
    case Q42_JOURNAL_REMOVE: return Q42_QUIN_BYTES;
    case Q42_JOURNAL_TERM: return entry->text.size <= Q42_MAX_TERM ? 8 + entry->text.size : UINT64_MAX;
    case Q42_JOURNAL_RECEIPT: return RECEIPT_BYTES;
    case Q42_JOURNAL_COMMIT: return COMMIT_BYTES;
    default: return UINT64_MAX;
    }
}

static void store_content(const q42_journal_entry *entry, uint8_t *out) {
    switch (entry->type) {
    case Q42_JOURNAL_BEGIN:
        store_u64(out, entry->command);
        store_u64(out + 8, entry->actor);
        break;
    case Q42_JOURNAL_TERM:
        store_u64(out, entry->key);
        memcpy(out + 8, entry->text.data, (size_t)entry->text.size);
        break;
    case Q42_JOURNAL_RECEIPT: memcpy(out, entry->receipt, RECEIPT_BYTES); break;
    case Q42_JOURNAL_COMMIT: memset(out, 0xAA, COMMIT_BYTES); break;
    default: q42_quin_store(out, &entry->quin); break;
    }
}

uint64_t q42_journal_encode(const q42_journal_entry *entry, uint8_t *out, uint64_t room) {
    const uint64_t size = measure_content(entry);
    if (size == UINT64_MAX || room < Q42_JOURNAL_FRAME_BYTES + size) {
        return 0;
    }
    uint8_t *content = out + Q42_JOURNAL_FRAME_BYTES;
    store_content(entry, content);
    memset(out, 0, Q42_JOURNAL_FRAME_BYTES);
    out[0] = (uint8_t)entry->type;
    store_u32(out + 4, (uint32_t)size);
    store_u64(out + 8, entry->sequence);
    store_u64(out + 16, entry->tick);
    store_u32(out + 24, entry->transaction);
    store_u32(out + 28, crc32c(content, size));
    return Q42_JOURNAL_FRAME_BYTES + size;
}
