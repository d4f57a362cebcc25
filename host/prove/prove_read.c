/* prove_read.c — a volume into a graph, and questions about it. */
#include "prove/prove_read.h"

#include <stdlib.h>
#include <string.h>

#include "graph/volume.h"
#include "keys/key_text.h"
#include "model/companion_map.h"

typedef struct read_room {
    q42_scan scan;
    q42_lexicon_walk walk;
    uint8_t bytes[Q42_BLOCK_BYTES];
    char text[Q42_MAX_TERM];
} read_room;

/* -------------------------------------------------------------------------------------------------------------- reading */

static fmt_status read_quins(const q42_volume *volume, read_room *room, small_volume *into, fmt_diag *diag) {
    const q42_pattern everything = {0};
    q42_quin quin;
    fmt_status status;
    q42_scan_begin(&room->scan, volume, &everything, room->bytes);
    while ((status = q42_scan_next(&room->scan, &quin, diag)) == FMT_OK && into->n_quins < PROVE_MAX_READ) {
        const fmt_status added = small_volume_add_quin(into, &quin, diag);
        if (added != FMT_OK) {
            return added;
        }
    }
    return status == FMT_NOT_FOUND ? FMT_OK : status;
}

static fmt_status read_terms(const q42_volume *volume, read_room *room, small_volume *into, fmt_diag *diag) {
    q42_term term;
    fmt_status status = FMT_OK;
    for (uint64_t page = 0; page < volume->lexicon.n_pages && status == FMT_OK; page++) {
        status = q42_lexicon_check_page(&volume->lexicon, page, diag);
    }
    memset(&room->walk, 0, sizeof room->walk);
    while (status == FMT_OK && (status = q42_lexicon_next(&volume->lexicon, &room->walk, &term, diag)) == FMT_OK &&
           into->n_terms < PROVE_MAX_READ) {
        uint64_t hash;
        const fmt_str text = {room->text, term.kind == Q42_TERM_STRING ? graph_term_copy(&term, room->text) : 0};
        status = term.kind == Q42_TERM_STRING ? small_volume_add_term(into, text, &hash, diag) : FMT_OK;
    }
    return status == FMT_NOT_FOUND ? FMT_OK : status;
}

static qn_status read_volume(fmt_span span, const char *path, small_volume *into, error_context *err) {
    fmt_diag diag;
    q42_volume volume;
    read_room *room = malloc(sizeof *room);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", path);
    }
    fmt_status status = q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag);
    if (status == FMT_OK) {
        status = read_quins(&volume, room, into, &diag);
    }
    if (status == FMT_OK) {
        status = read_terms(&volume, room, into, &diag);
    }
    free(room);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, path);
    }
    return into->n_quins < PROVE_MAX_READ && into->n_terms < PROVE_MAX_READ
               ? QN_OK
               : FAIL(err, QN_LIMIT, "%s: more statements or terms than a provenance volume has", path);
}

qn_status prove_read_span(fmt_span span, const char *path, prove_reading *out, error_context *err) {
    prove_graph graph = {.volume = {.is_literal = true}, .status = QN_OK, .err = err};
    memset(out, 0, sizeof *out);
    const qn_status status = read_volume(span, path, &graph.volume, err);
    if (status < 0) {
        prove_end(&graph);
        return status;
    }
    return prove_read_graph(&graph, out, err);
}

qn_status prove_read_file(const char *path, prove_reading *out, error_context *err) {
    mapped_file file;
    memset(out, 0, sizeof *out);
    QN_TRY(mapped_file_open(path, &file, err), err, "reading %s", path);
    qn_status status = prove_read_span(file.span, path, out, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    mapped_file_close(&file);
    return status;
}

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_keys(const q42_quin *a, const q42_quin *b) {
    int order = compare_numbers(a->subject, b->subject);
    order = order != 0 ? order : compare_numbers(a->predicate, b->predicate);
    return order != 0 ? order : compare_numbers((uint32_t)a->metadata, (uint32_t)b->metadata);
}

static int compare_index(const void *a, const void *b) {
    const q42_quin *left = *(const q42_quin *const *)a, *right = *(const q42_quin *const *)b;
    const int order = compare_keys(left, right);
    return order != 0 ? order : q42_quin_compare(left, right);
}

qn_status prove_read_graph(prove_graph *graph, prove_reading *out, error_context *err) {
    const uint64_t context = q42_hash(PROVE_CONTEXT, strlen(PROVE_CONTEXT));
    *out = (prove_reading){.graph = *graph};
    memset(graph, 0, sizeof *graph);
    QN_TRY(prove_settle(&out->graph), err, "reading provenance");
    out->graph.err = NULL;
    out->index = malloc((out->graph.volume.n_quins + 1) * sizeof *out->index);
    if (out->index == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to index %llu statements", (unsigned long long)out->graph.volume.n_quins);
    }
    for (uint64_t i = 0; i < out->graph.volume.n_quins; i++) {
        if (out->graph.volume.quins[i].context == context) {
            out->index[out->n_index++] = &out->graph.volume.quins[i];
        }
    }
    if (out->n_index > 0) {
        qsort(out->index, out->n_index, sizeof *out->index, compare_index);
    }
    return QN_OK;
}

void prove_read_close(prove_reading *reading) {
    free(reading->index);
    prove_end(&reading->graph);
    memset(reading, 0, sizeof *reading);
}

/* ------------------------------------------------------------------------------------------------------------ questions */

bool prove_find_text(const prove_reading *reading, uint64_t hash, fmt_str *out_text) {
    uint64_t low = 0, high = reading->graph.volume.n_terms, found;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const fmt_str text = small_volume_term(&reading->graph.volume, middle, &found);
        if (found == hash) {
            *out_text = text;
            return true;
        }
        if (found < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* The first of the index that is not before (subject, predicate, ordinal). */
static uint64_t find_place(const prove_reading *r, const q42_quin *key) {
    uint64_t low = 0, high = r->n_index;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (compare_keys(r->index[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool prove_get_object(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, uint64_t *out) {
    const q42_quin key = {.subject = subject, .predicate = q42_hash(predicate, strlen(predicate)), .metadata = ordinal};
    const uint64_t at = find_place(r, &key);
    if (at == r->n_index || compare_keys(r->index[at], &key) != 0) {
        return false;
    }
    /* Two answers to one question are none. */
    if (at + 1 < r->n_index && compare_keys(r->index[at + 1], &key) == 0) {
        return false;
    }
    *out = r->index[at]->object;
    return true;
}

bool prove_get_text(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, fmt_str *out) {
    uint64_t object;
    return prove_get_object(r, subject, predicate, ordinal, &object) && q42_is_named(object) && prove_find_text(r, object, out);
}

bool prove_get_integer(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, uint64_t *out) {
    uint64_t object;
    return prove_get_object(r, subject, predicate, ordinal, &object) && companion_get_integer(object, out);
}

bool prove_get_boolean(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, bool *out) {
    uint64_t object;
    return prove_get_object(r, subject, predicate, ordinal, &object) && companion_get_boolean(object, out);
}

bool prove_get_float(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, float *out) {
    uint64_t object;
    if (!prove_get_object(r, subject, predicate, ordinal, &object) || object >> 32 != (uint64_t)Q42_TAG_FLOAT << 28) {
        return false;
    }
    const uint32_t bits = (uint32_t)object;
    memcpy(out, &bits, sizeof bits);
    return true;
}

bool prove_get_wide(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t which, uint64_t *out) {
    uint64_t low, high;
    if (!prove_get_integer(r, subject, predicate, 2 * which, &low) || !prove_get_integer(r, subject, predicate, 2 * which + 1, &high) ||
        low > UINT32_MAX || high > UINT32_MAX) {
        return false;
    }
    *out = high << 32 | low;
    return true;
}

bool prove_text_digest(fmt_str text, const char *beginning, uint8_t out[SHA256_BYTES]) {
    char again[SHA256_HEX_SIZE];
    const size_t length = strlen(beginning);
    if (text.size != length + SHA256_HEX_SIZE - 1 || memcmp(text.data, beginning, length) != 0 ||
        !key_parse_hex(text.data + length, SHA256_BYTES, out)) {
        return false;
    }
    sha256_to_hex(out, again); /* capital digits would be another text with the same meaning */
    return memcmp(text.data + length, again, SHA256_HEX_SIZE - 1) == 0;
}

bool prove_get_digest(const prove_reading *r, uint64_t subject, const char *predicate, uint32_t ordinal, const char *beginning,
                      uint8_t out[SHA256_BYTES]) {
    fmt_str text;
    return prove_get_text(r, subject, predicate, ordinal, &text) && prove_text_digest(text, beginning, out);
}

bool prove_text_is(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

bool prove_next_of_type(const prove_reading *r, const char *type, uint64_t *at, uint64_t *out_subject) {
    const uint64_t predicate = q42_hash(Q42M_TYPE, strlen(Q42M_TYPE));
    fmt_str text;
    while (*at < r->n_index) {
        const q42_quin *quin = r->index[(*at)++];
        if (quin->predicate == predicate && q42_is_named(quin->object) && prove_find_text(r, quin->object, &text) &&
            prove_text_is(text, type)) {
            *out_subject = quin->subject;
            return true;
        }
    }
    return false;
}
