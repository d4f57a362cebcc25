/* small_volume.c — sorting in memory, blocks of 850, spools that are buffers. */
#include "convert/small_volume.h"

#include <stdlib.h>
#include <string.h>

#include "common/diag.h"

#define WRITER_ALIGNMENT 16u

static const fmt_rule rule_memory = {"volume-memory", "", "work memory for the volume is needed"};
static const fmt_rule rule_term = {"volume-term", "4.6", "a term of a volume has at most 65,535 bytes"};
static const fmt_rule rule_collision = {"volume-collision", "1.7",
                                        "two terms of a volume must not have one hash: change one of them"};

typedef struct small_term {
    uint64_t hash, text_at;
    uint32_t size;
} small_term;

static fmt_status refuse_memory(fmt_diag *diag) {
    return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, 0, 0},
                       "there is no memory left");
}

/* Room for one more of n elements; null when there is none and `elements` stays as it was. */
static void *grow(void *elements, uint64_t n, uint64_t *room, size_t size) {
    if (n < *room) {
        return elements;
    }
    const uint64_t wanted = *room * 2 + 1024;
    void *grown = wanted < SIZE_MAX / size ? realloc(elements, (size_t)wanted * size) : NULL;
    *room = grown != NULL ? wanted : *room;
    return grown;
}

fmt_status small_volume_add_term(small_volume *volume, fmt_str text, uint64_t *out_hash, fmt_diag *diag) {
    if (text.size > Q42_MAX_TERM) {
        return diag_refuse(diag, FMT_LIMIT, &rule_term, (diag_place){0, FMT_NO_INDEX, Q42_MAX_TERM, text.size},
                           "a term has %llu bytes", (unsigned long long)text.size);
    }
    small_term *terms = grow(volume->terms, volume->n_terms, &volume->terms_room, sizeof *terms);
    const uint64_t at = volume->texts.size;
    if (terms == NULL) {
        return refuse_memory(diag);
    }
    volume->terms = terms;
    if (!text_buffer_append(&volume->texts, text.data, text.size)) {
        return refuse_memory(diag);
    }
    *out_hash = q42_hash(text.data, text.size);
    terms[volume->n_terms++] = (small_term){*out_hash, at, (uint32_t)text.size};
    return FMT_OK;
}

fmt_status small_volume_add_quin(small_volume *volume, const q42_quin *quin, fmt_diag *diag) {
    q42_quin *quins = grow(volume->quins, volume->n_quins, &volume->quins_room, sizeof *quins);
    if (quins == NULL) {
        return refuse_memory(diag);
    }
    volume->quins = quins;
    quins[volume->n_quins++] = *quin;
    return FMT_OK;
}

void small_volume_free(small_volume *volume) {
    free(volume->quins);
    free(volume->terms);
    text_buffer_free(&volume->texts);
    *volume = (small_volume){0};
}

/* ---------------------------------------------------------------------------------------------------------- sorting */

static int compare_quins(const void *a, const void *b) {
    return q42_quin_compare(a, b);
}

static int compare_terms(const void *a, const void *b) {
    const small_term *left = a, *right = b;
    const int order = (left->hash > right->hash) - (left->hash < right->hash);
    return order != 0 ? order : (left->text_at > right->text_at) - (left->text_at < right->text_at);
}

static void sort_quins(small_volume *v) {
    uint64_t kept = 0;
    if (v->n_quins > 0) {
        qsort(v->quins, (size_t)v->n_quins, sizeof *v->quins, compare_quins);
    }
    for (uint64_t i = 0; i < v->n_quins; i++) {
        if (i == 0 || compare_quins(&v->quins[i], &v->quins[kept - 1]) != 0) {
            v->quins[kept++] = v->quins[i];
        }
    }
    v->n_quins = kept;
}

static fmt_str text_of(const small_volume *v, const small_term *term) {
    return (fmt_str){v->texts.text + term->text_at, term->size};
}

static fmt_status refuse_collision(const small_volume *v, const small_term *a, const small_term *b, fmt_diag *diag) {
    char texts[2][DIAG_QUOTE_SIZE];
    return diag_refuse(diag, FMT_BAD_ARG, &rule_collision, (diag_place){0, FMT_NO_INDEX, a->hash, b->hash},
                       "%s and %s have the hash %015llx", diag_quote(texts[0], text_of(v, a)),
                       diag_quote(texts[1], text_of(v, b)), (unsigned long long)a->hash);
}

static fmt_status sort_terms(small_volume *v, fmt_diag *diag) {
    uint64_t kept = 0;
    if (v->n_terms > 0) {
        qsort(v->terms, (size_t)v->n_terms, sizeof *v->terms, compare_terms);
    }
    for (uint64_t i = 0; i < v->n_terms; i++) {
        const small_term *last = kept > 0 ? &v->terms[kept - 1] : NULL;
        if (last == NULL || last->hash != v->terms[i].hash) {
            v->terms[kept++] = v->terms[i];
        } else if (last->size != v->terms[i].size ||
                   (last->size > 0 && memcmp(text_of(v, last).data, text_of(v, &v->terms[i]).data, last->size) != 0)) {
            return refuse_collision(v, last, &v->terms[i], diag);
        }
    }
    v->n_terms = kept;
    return FMT_OK;
}

fmt_status small_volume_settle(small_volume *volume, fmt_diag *diag) {
    sort_quins(volume);
    return sort_terms(volume, diag);
}

fmt_str small_volume_term(const small_volume *volume, uint64_t index, uint64_t *out_hash) {
    *out_hash = volume->terms[index].hash;
    return text_of(volume, &volume->terms[index]);
}

/* ----------------------------------------------------------------------------------------------------------- spools */

static fmt_status append_spool(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    return text_buffer_append(ctx, data, (size_t)size) ? FMT_OK : refuse_memory(diag);
}

static fmt_status read_spool(void *ctx, uint64_t offset, void *room, uint64_t size, fmt_diag *diag) {
    const text_buffer *spool = ctx;
    (void)diag;
    memcpy(room, spool->text + offset, (size_t)size);
    return FMT_OK;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static fmt_status add_terms(const small_volume *v, q42_writer *writer, fmt_diag *diag) {
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; i < v->n_terms && status == FMT_OK; i++) {
        const q42_term term = {
            .hash = v->terms[i].hash, .kind = Q42_TERM_STRING, .text = text_of(v, &v->terms[i])};
        status = q42_writer_add_term(writer, &term, diag);
    }
    return status;
}

/* Work memory of one block. */
typedef struct block_room {
    q42_built_block built;
    uint8_t bytes[Q42_BLOCK_BYTES];
} block_room;

static fmt_status add_blocks(const small_volume *v, q42_writer *writer, block_room *room, fmt_diag *diag) {
    fmt_status status = FMT_OK;
    for (uint64_t first = 0, block = 0; first < v->n_quins && status == FMT_OK; first += Q42_BLOCK_QUINS, block++) {
        const uint64_t left = v->n_quins - first;
        const uint32_t n = left < Q42_BLOCK_QUINS ? (uint32_t)left : Q42_BLOCK_QUINS;
        status = (v->is_literal ? q42_build_block_literal : q42_build_block)(v->quins + first, n, block, room->bytes, &room->built, diag);
        if (status == FMT_OK) {
            status = q42_writer_add_block(writer, &room->built, diag);
        }
    }
    return status;
}

static fmt_status write_with(const small_volume *v, uint64_t timestamp_ms, q42_writer *writer, block_room *room,
                             const q42_sink *sink, q42_write_report *out_report, fmt_diag *diag) {
    const q42_write_options options = {.timestamp_ms = timestamp_ms, .has_dag = true};
    text_buffer buffers[Q42_N_SPOOLS] = {{0}};
    q42_spool spools[Q42_N_SPOOLS];
    for (q42_spool_id i = 0; i < Q42_N_SPOOLS; i++) {
        spools[i] = (q42_spool){&buffers[i], append_spool, read_spool};
    }
    q42_writer_begin(writer, &options, spools);
    fmt_status status = add_terms(v, writer, diag);
    if (status == FMT_OK) {
        status = add_blocks(v, writer, room, diag);
    }
    if (status == FMT_OK) {
        status = q42_writer_finish(writer, sink, out_report, diag);
    }
    for (q42_spool_id i = 0; i < Q42_N_SPOOLS; i++) {
        text_buffer_free(&buffers[i]);
    }
    return status;
}

fmt_status small_volume_write(small_volume *volume, uint64_t timestamp_ms, const q42_sink *sink,
                              q42_write_report *out_report, fmt_diag *diag) {
    fmt_status status = small_volume_settle(volume, diag);
    if (status != FMT_OK) {
        return status;
    }
    const size_t bytes = (size_t)(q42_writer_bytes() + WRITER_ALIGNMENT - 1) / WRITER_ALIGNMENT * WRITER_ALIGNMENT;
    q42_writer *writer = aligned_alloc(WRITER_ALIGNMENT, bytes);
    block_room *room = malloc(sizeof *room);
    if (writer == NULL || room == NULL) {
        status = refuse_memory(diag);
    } else {
        memset(writer, 0, bytes);
        status = write_with(volume, timestamp_ms, writer, room, sink, out_report, diag);
    }
    free(writer);
    free(room);
    return status;
}
