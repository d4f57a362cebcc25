/* volume_lane.c — collecting terms and quins; sorting and spilling them when the share is used up. */
#include "graph/volume_lane.h"

#include <inttypes.h>
#include <string.h>

#include "graph/radix_sort.h"
#include "graph/term_merge.h"

enum { LEAST_WIDTH = 3, MOST_WIDTH = 5, TRIPLE_WORDS = 3 };

qn_status volume_lane_open(volume_lane *lane, const char *target, uint64_t share, bool keeps_duplicates,
                           error_context *err) {
    *lane = (volume_lane){.share = share, .keeps_duplicates = keeps_duplicates, .width = LEAST_WIDTH};
    spill_file_init(&lane->spill, target);
    if (!term_table_open(&lane->terms, share) || !memory_region_open(&lane->quins, share)) {
        volume_lane_close(lane);
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a load of %" PRIu64 " bytes", share);
    }
    return QN_OK;
}

void volume_lane_close(volume_lane *lane) {
    term_table_close(&lane->terms);
    memory_region_close(&lane->quins);
    if (lane->spill.target != NULL) {
        spill_file_close(&lane->spill);
    }
    run_list_free(&lane->quin_runs);
    run_list_free(&lane->term_runs);
}

/* ---------------------------------------------------------------------------------------------------------- spilling */

static uint64_t quin_bytes(const volume_lane *lane) {
    return lane->n_quins * lane->width * sizeof(uint64_t);
}

static uint64_t bytes_used(const volume_lane *lane) {
    return quin_bytes(lane) + lane->terms.arena_used + lane->terms.capacity * sizeof(term_slot);
}

/* Quins are sorted: takes away the repetitions of each. */
static void drop_repetitions(volume_lane *lane) {
    uint64_t *records = (uint64_t *)(void *)lane->quins.bytes;
    const uint64_t width = lane->width;
    uint64_t n = lane->n_quins > 0 ? 1 : 0;
    for (uint64_t i = 1; i < lane->n_quins; i++) {
        const uint64_t *record = records + i * width;
        if (memcmp(record, records + (n - 1) * width, width * sizeof *record) != 0) {
            if (n != i) {
                memcpy(records + n * width, record, width * sizeof *record);
            }
            n++;
        }
    }
    lane->n_dropped += lane->n_quins - n;
    lane->n_quins = n;
}

void volume_lane_sort(volume_lane *lane) {
    radix_sort((uint64_t *)(void *)lane->quins.bytes, lane->n_quins, lane->width, lane->width);
    if (!lane->keeps_duplicates) {
        drop_repetitions(lane);
    }
    term_table_sort(&lane->terms);
}

sorted_run volume_lane_quins(const volume_lane *lane) {
    return (sorted_run){.bytes = quin_bytes(lane), .width = lane->width,
                        .records = (const uint64_t *)(const void *)lane->quins.bytes};
}

sorted_run volume_lane_terms(const volume_lane *lane) {
    return (sorted_run){.table = &lane->terms};
}

static qn_status spill_quins(volume_lane *lane, error_context *err) {
    const sorted_run run = {.file = &lane->spill, .offset = lane->spill.end, .bytes = quin_bytes(lane),
                            .width = lane->width};
    if (lane->n_quins == 0) {
        return QN_OK;
    }
    const qn_status status = spill_file_append(&lane->spill, lane->quins.bytes, run.bytes, err);
    if (status == QN_OK && !run_list_add(&lane->quin_runs, &run)) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a list of %u runs", lane->quin_runs.n);
    }
    lane->n_quins = 0;
    memory_region_clear(&lane->quins);
    return status;
}

static qn_status spill_terms(volume_lane *lane, error_context *err) {
    sorted_run run;
    if (lane->terms.n == 0) {
        return QN_OK;
    }
    const qn_status status = term_run_write(&lane->terms, &lane->spill, &run, err);
    if (status == QN_OK && (!run_list_add(&lane->term_runs, &run) || !term_table_clear(&lane->terms))) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a list of %u runs", lane->term_runs.n);
    }
    return status;
}

static qn_status spill(volume_lane *lane, error_context *err) {
    volume_lane_sort(lane);
    const qn_status status = spill_quins(lane, err);
    return status == QN_OK ? spill_terms(lane, err) : status;
}

static qn_status make_room(volume_lane *lane, uint64_t bytes, error_context *err) {
    return bytes_used(lane) + bytes <= lane->share ? QN_OK : spill(lane, err);
}

/* ------------------------------------------------------------------------------------------------------------- terms */

/* Room for one more entry; the table may be another one afterwards. */
static qn_status make_term_room(volume_lane *lane, uint32_t size, error_context *err) {
    qn_status status = make_room(lane, TERM_RECORD_HEAD + size, err);
    if (status != QN_OK || !term_table_is_full(&lane->terms)) {
        return status;
    }
    /* While it grows both tables are there. */
    status = make_room(lane, 2 * lane->terms.capacity * sizeof(term_slot) + TERM_RECORD_HEAD + size, err);
    if (status == QN_OK && term_table_is_full(&lane->terms) && !term_table_grow(&lane->terms)) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %" PRIu64 " terms", lane->terms.n);
    }
    return status;
}

static qn_status add_entry(volume_lane *lane, const lexicon_entry *entry, error_context *err) {
    term_slot *slot = term_table_find(&lane->terms, entry->key);
    if (slot->at != 0) {
        const lexicon_entry old = term_table_entry(&lane->terms, slot);
        if (entry->kind == TERM_PROBE || lexicon_entry_is_same(&old, entry)) {
            return QN_OK;
        }
        if (old.kind != TERM_PROBE) {
            return refuse_collision(&old, entry, err);
        }
    }
    const qn_status status = make_term_room(lane, entry->size, err);
    if (status == QN_OK) {
        term_table_put(&lane->terms, term_table_find(&lane->terms, entry->key), entry);
    }
    return status;
}

qn_status volume_lane_add_term(volume_lane *lane, uint64_t hash, const char *text, uint64_t size, error_context *err) {
    if (size > Q42_MAX_TERM) {
        return FAIL(err, QN_LIMIT, "a term of %" PRIu64 " bytes: a volume holds terms of at most %u", size,
                    Q42_MAX_TERM);
    }
    const lexicon_entry entry = {hash, text, (uint32_t)size, Q42_TERM_STRING};
    return add_entry(lane, &entry, err);
}

qn_status volume_lane_add_entry(volume_lane *lane, const q42_term *term, error_context *err) {
    if (term->kind != Q42_TERM_TRIPLE) {
        if (term->text.size > Q42_MAX_TERM || term->prefix.size != 0) {
            return FAIL(err, QN_LIMIT, "a lexicon entry of %" PRIu64 " bytes", term->text.size);
        }
        const lexicon_entry entry = {term->hash, term->text.data, (uint32_t)term->text.size, term->kind};
        return add_entry(lane, &entry, err);
    }
    const lexicon_entry entry = {term->hash, (const char *)term->triple, TRIPLE_WORDS * sizeof(uint64_t), term->kind};
    return add_entry(lane, &entry, err);
}

/* ------------------------------------------------------------------------------------------------------------- quins */

static uint32_t width_of(const q42_quin *quin) {
    return quin->metadata != 0 ? 5 : quin->context != 0 ? 4 : 3;
}

/* From the last record to the first, in place. */
static void spread(volume_lane *lane, uint32_t width) {
    uint64_t *records = (uint64_t *)(void *)lane->quins.bytes;
    for (uint64_t i = lane->n_quins; i-- > 0;) {
        uint64_t record[MOST_WIDTH] = {0};
        memcpy(record, records + i * lane->width, lane->width * sizeof *record);
        memcpy(records + i * width, record, width * sizeof *record);
    }
}

static qn_status widen(volume_lane *lane, uint32_t width, error_context *err) {
    const qn_status status = make_room(lane, lane->n_quins * (width - lane->width) * sizeof(uint64_t), err);
    if (status == QN_OK) {
        spread(lane, width);
        lane->width = width;
    }
    return status;
}

static bool is_guarded(uint64_t metadata) {
    const unsigned tier = (unsigned)(metadata >> 56) & 15u, route = (unsigned)(metadata >> 61) & 3u;
    return (tier >= 2 && tier <= 4) || route == 2;
}

/* A context that looks like a sensitivity label is one unless it turns out to be the hash of a graph's name. */
static qn_status note_label(volume_lane *lane, uint64_t context, error_context *err) {
    const lexicon_entry probe = {context, "", 0, TERM_PROBE};
    if (q42_context_label(context) == 0) {
        return QN_OK;
    }
    lane->has_probes = true;
    return add_entry(lane, &probe, err);
}

qn_status volume_lane_add_quin(volume_lane *lane, const q42_quin *quin, error_context *err) {
    const uint64_t parity = q42_quin_parity(quin);
    if (quin->parity != parity) {
        return FAIL(err, QN_BAD_INPUT, "a quin has parity %016" PRIx64 "; its fields give %016" PRIx64, quin->parity,
                    parity);
    }
    const uint32_t width = width_of(quin);
    qn_status status = width > lane->width ? widen(lane, width, err) : QN_OK;
    status = status == QN_OK ? note_label(lane, quin->context, err) : status;
    status = status == QN_OK ? make_room(lane, lane->width * sizeof(uint64_t), err) : status;
    if (status != QN_OK) {
        return status;
    }
    const uint64_t record[MOST_WIDTH] = {quin->object, quin->subject, quin->predicate, quin->context, quin->metadata};
    memcpy(lane->quins.bytes + quin_bytes(lane), record, lane->width * sizeof *record);
    lane->n_quins++;
    lane->needs_sanctuary = lane->needs_sanctuary || is_guarded(quin->metadata);
    return QN_OK;
}
