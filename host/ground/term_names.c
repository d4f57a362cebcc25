/* term_names.c — readable, harmless names. */
#include "ground/term_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "ground/label_search.h"
#include "ground/subject_scan.h"

/* ------------------------------------------------------------------------------------------------- harmless text */

/* Not what it looks like, or not seen at all. */
static bool is_hidden(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c || code == 0x180e ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) || code >= 0xe0000;
}

static bool is_marked(uint32_t code) {
    return code == '<' || code == '>' || code == '[' || code == ']';
}

/* The form of one character into out[16]; returns its size. */
static size_t escape_code(uint32_t code, char out[16]) {
    if (code == '\n' || code == '\r' || code == '\t' || code == '"' || code == '\\') {
        out[0] = '\\';
        out[1] = code == '\n' ? 'n' : code == '\r' ? 'r' : code == '\t' ? 't' : (char)code;
        return 2;
    }
    if (is_hidden(code) || is_marked(code)) {
        return (size_t)snprintf(out, 16, code > 0xffff ? "\\u{%X}" : "\\u%04X", (unsigned)code);
    }
    return utf8_encode(code, (uint8_t *)out);
}

bool term_name_escape(const char *text, uint64_t size, text_buffer *out) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    const uint8_t *at = (const uint8_t *)text, *const end = at + size;
    const size_t begin = out->size;
    char form[16];
    while (at < end) {
        uint32_t code;
        const unsigned n = utf8_decode(at, (uint64_t)(end - at), &code);
        const size_t n_form = escape_code(n > 0 ? code : 0xfffd, form);
        if (out->size - begin + n_form + sizeof ellipsis - 1 > TERM_NAME_MAX) {
            return text_buffer_append(out, ellipsis, sizeof ellipsis - 1);
        }
        if (!text_buffer_append(out, form, n_form)) {
            return false;
        }
        at += n > 0 ? n : 1;
    }
    return true;
}

static qn_status put(text_buffer *out, const char *text, uint64_t size, error_context *err) {
    return term_name_escape(text, size, out) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

static qn_status put_raw(text_buffer *out, const char *text, size_t size, error_context *err) {
    return text_buffer_append(out, text, size) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

/* ------------------------------------------------------------------------------------------------- literals */

static bool is_plain_value(fmt_str value) {
    for (uint64_t i = 0; i < value.size; i++) {
        const char c = value.data[i], low = (char)(c | 32);
        if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || strchr("+-.:", c) != NULL) || c == '\0') {
            return false;
        }
    }
    return value.size > 0 && value.size <= 40;
}

static qn_status put_literal(const term_cell *cell, char *room, text_buffer *out, error_context *err) {
    const ntriples_term term = term_cell_term(cell);
    const fmt_str value = {room, ntriples_decode(&term, room)};
    if (ntriples_datatype(&term).size > 0 && is_plain_value(value)) {
        return put_raw(out, value.data, (size_t)value.size, err);
    }
    qn_status status = put_raw(out, "\"", 1, err);
    status = status == QN_OK ? put(out, value.data, value.size, err) : status;
    return status == QN_OK ? put_raw(out, "\"", 1, err) : status;
}

/* ------------------------------------------------------------------------------------------------- IRIs */

/* 0 is best: the place of the predicate counts, then no language or English. UINT32_MAX: no name. */
static uint32_t rate_label(const term_namer *namer, const q42_quin *quin) {
    const uint32_t rank = ground_volume_label_rank(namer->gv, quin->predicate);
    const ntriples_term term = term_cell_term(&namer->label);
    if (rank == GROUND_N_LABELS || namer->label.kind != SHOWN_LITERAL) {
        return UINT32_MAX;
    }
    const fmt_str language = ntriples_language(&term);
    const bool is_english = language.size >= 2 && (language.data[0] | 32) == 'e' && (language.data[1] | 32) == 'n' &&
                            (language.size == 2 || language.data[2] == '-');
    return rank * 2 + (language.size > 0 && !is_english ? 1 : 0);
}

static qn_status scan_labels(term_namer *namer, const uint64_t *ids, subject_scan *scan, error_context *err) {
    q42_quin quin;
    uint32_t tier, i;
    qn_status status;
    subject_scan_begin(scan, namer->gv, ids, namer->n_labels, NULL);
    while ((status = subject_scan_next(scan, &quin, &tier, &i, err)) == QN_OK) {
        if (ground_volume_label_rank(namer->gv, quin.predicate) == GROUND_N_LABELS) {
            continue;
        }
        QN_TRY(term_printer_get(&namer->printer, quin.object, NTRIPLES_OBJECT, &namer->label, err), err, "reading a label");
        const uint32_t rate = rate_label(namer, &quin);
        if (rate < namer->labels[i].rate) { /* the first of equals stays: the order of a volume is total */
            namer->labels[i].rate = rate;
            namer->labels[i].label = quin.object;
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

qn_status term_namer_find_labels(term_namer *namer, const uint64_t *ids, uint32_t n, error_context *err) {
    subject_scan *scan = malloc(sizeof *scan);
    namer->labels = calloc(n > 0 ? n : 1, sizeof *namer->labels);
    if (scan == NULL || namer->labels == NULL) {
        free(scan);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    for (namer->n_labels = 0; namer->n_labels < n; namer->n_labels++) {
        namer->labels[namer->n_labels] = (known_label){.id = ids[namer->n_labels], .rate = UINT32_MAX};
    }
    const qn_status status = scan_labels(namer, ids, scan, err);
    free(scan);
    return status;
}

static int by_id(const void *a, const void *b) {
    const known_label *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static const known_label *find_label(const term_namer *namer, uint64_t id) {
    const known_label wanted = {.id = id};
    const known_label *found =
        namer->n_labels > 0 ? bsearch(&wanted, namer->labels, namer->n_labels, sizeof wanted, by_id) : NULL;
    return found != NULL && found->rate < UINT32_MAX ? found : NULL;
}

/* The last part of an IRI: a predicate's as words, another's as it is but for underscores. */
static qn_status put_local_name(fmt_str iri, bool as_words, char *room, text_buffer *out, error_context *err) {
    const fmt_str name = iri_local_name(iri.data, iri.size);
    word_reader reader;
    text_word word;
    uint64_t n = 0;
    if (name.size == 0 || name.size > NTRIPLES_MAX_TERM / 2) {
        return put(out, iri.data, iri.size, err);
    }
    word_reader_init(&reader, name.data, name.size);
    reader.cuts_case = true;
    while (as_words && word_reader_next(&reader, &word)) {
        room[n] = ' ';
        n += n > 0 ? 1 : 0;
        memcpy(room + n, word.at, word.n_bytes);
        room[n] = (char)(room[n] >= 'A' && room[n] <= 'Z' && word.n_bytes > 1 && (word.at[1] & 0x20) != 0 ? room[n] | 32 : room[n]);
        n += word.n_bytes;
    }
    for (uint64_t i = 0; n == 0 && i < name.size; i++) {
        room[i] = (char)(name.data[i] == '_' ? ' ' : name.data[i]);
    }
    return put(out, room, n > 0 ? n : name.size, err);
}

static qn_status put_iri(term_namer *namer, uint64_t id, uint32_t place, text_buffer *out, error_context *err) {
    const known_label *known = place != NTRIPLES_PREDICATE ? find_label(namer, id) : NULL;
    if (known != NULL) {
        QN_TRY(term_printer_get(&namer->printer, known->label, NTRIPLES_OBJECT, &namer->label, err), err, "reading a label");
        const ntriples_term term = term_cell_term(&namer->label);
        const char *name = namer->printer.room;
        uint64_t size = ntriples_decode(&term, namer->printer.room);
        size = graph_volume_terms(namer->gv->volume) == TERMS_SURFACE ? size : label_cut_language(name, size);
        return put(out, name, size, err);
    }
    const fmt_str iri = {namer->cell.text.text + 1, namer->cell.text.size - 2};
    return put_local_name(iri, place == NTRIPLES_PREDICATE, namer->printer.room, out, err);
}

/* ------------------------------------------------------------------------------------------------- the namer */

qn_status term_namer_init(term_namer *namer, const ground_volume *gv, error_context *err) {
    memset(namer, 0, sizeof *namer);
    namer->gv = gv;
    return term_printer_init(&namer->printer, gv->volume, err);
}

void term_namer_deinit(term_namer *namer) {
    term_cell_free(&namer->cell);
    term_cell_free(&namer->label);
    term_printer_deinit(&namer->printer);
    text_buffer_free(&namer->texts);
    free(namer->labels);
    namer->labels = NULL;
    namer->n_labels = 0;
}

static qn_status make_name(term_namer *namer, uint64_t id, uint32_t place, text_buffer *out, error_context *err) {
    QN_TRY(term_printer_get(&namer->printer, id, place, &namer->cell, err), err, "reading a term");
    switch (namer->cell.kind) {
    case SHOWN_LITERAL: return put_literal(&namer->cell, namer->printer.room, out, err);
    case SHOWN_IRI: return put_iri(namer, id, place, out, err);
    default: return put(out, namer->cell.text.text, namer->cell.text.size, err);
    }
}

qn_status term_namer_append(term_namer *namer, uint64_t id, uint32_t place, text_buffer *out, error_context *err) {
    for (uint32_t i = 0; i < namer->n_kept; i++) {
        const kept_name *name = &namer->kept[i];
        if (name->id == id && name->place == place) {
            return put_raw(out, namer->texts.text + name->at, name->size, err);
        }
    }
    const size_t begin = out->size;
    QN_TRY(make_name(namer, id, place, out, err), err, "naming a term");
    if (namer->n_kept < TERM_NAMES_KEPT) {
        namer->kept[namer->n_kept] = (kept_name){id, place, namer->texts.size, out->size - begin};
        QN_TRY(put_raw(&namer->texts, out->text + begin, out->size - begin, err), err, "keeping a name");
        namer->n_kept++;
    }
    return QN_OK;
}
