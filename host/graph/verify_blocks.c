/* verify_blocks.c — waves of blocks on all workers, and pages of a lexicon. */
#include "graph/verify_blocks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WAVE 256u /* blocks that are checked before they are joined in order */

void verify_progress_add(verify_progress *progress, uint64_t bytes) {
    progress->done += bytes;
    if (progress->show != NULL && !progress->show(progress->ctx, progress->done, progress->total)) {
        progress->is_cancelled = true;
    }
}

/* ----------------------------------------------------------------------------------------------------------- blocks */

typedef struct wave_job {
    const blocks_job *job;
    blocks_result *result;
    q42_block_facts *facts; /* [WAVE] */
    uint8_t *rooms;         /* [workers][Q42_BLOCK_BYTES] */
    uint64_t begin, end;    /* of the wave */
} wave_job;

static void add_id(id_sorter *ids, uint32_t worker, uint64_t id) {
    if (q42_is_named(id)) {
        id_sorter_add(ids, worker, id);
    }
}

static void collect_ids(const wave_job *w, uint32_t worker, const q42_block_facts *facts, const uint8_t *room) {
    const q42_block block = {facts->index, 0, facts->n_quins,
                             room + (Q42_BLOCK_BYTES - Q42_BLOCK_QUINS * Q42_QUIN_BYTES)};
    for (uint32_t slot = 0; slot < block.n_quins; slot++) {
        const q42_quin quin = q42_block_quin(&block, slot);
        add_id(w->job->ids, worker, quin.subject);
        add_id(w->job->ids, worker, quin.predicate);
        add_id(w->job->ids, worker, quin.object);
        add_id(w->job->ids, worker, quin.context);
    }
}

static void check_wave(const wave_job *w, uint32_t worker) {
    uint8_t *room = w->rooms + (uint64_t)worker * Q42_BLOCK_BYTES;
    for (uint64_t i; (i = team_next(w->job->workers)) < w->end - w->begin;) {
        q42_verify_block(w->job->volume, w->begin + i, w->job->wants, room, &w->facts[i]);
        if (w->job->ids != NULL && w->facts[i].is_decoded) {
            collect_ids(w, worker, &w->facts[i], room);
        }
    }
}

static void keep_first(q42_finding *kept, const q42_finding *next) {
    if (kept->status == FMT_OK && next->status != FMT_OK) {
        *kept = *next;
    }
}

static uint64_t payload_bytes(const q42_volume *volume, uint64_t begin, uint64_t end) {
    const q42_directory_entry first = q42_get_directory_entry(volume, begin);
    const q42_directory_entry last = q42_get_directory_entry(volume, end - 1);
    return last.offset + last.size - first.offset;
}

/* On worker 0, while the others wait. */
static void join_wave(wave_job *w) {
    const q42_volume *volume = w->job->volume;
    for (uint64_t i = 0; i < w->end - w->begin; i++) {
        const q42_block_facts *facts = &w->facts[i];
        q42_chain_join(&w->result->chain, facts);
        keep_first(&w->result->decode, &facts->decode);
        keep_first(&w->result->tail, &facts->tail);
        keep_first(&w->result->fidx, &facts->fidx);
        keep_first(&w->result->pidx, &facts->pidx);
    }
    const uint64_t bytes = payload_bytes(volume, w->begin, w->end);
    mapped_file_forget(volume->span.data + q42_get_directory_entry(volume, w->begin).offset, bytes);
    verify_progress_add(w->job->progress, bytes);
}

static void next_wave(wave_job *w, uint64_t begin) {
    const uint64_t n = w->job->volume->header.block_count;
    w->begin = w->job->progress->is_cancelled ? n : begin;
    w->end = w->begin + WAVE < n ? w->begin + WAVE : n;
    team_reset(w->job->workers);
}

static void run_waves(void *arg, uint32_t worker, uint32_t n_workers) {
    wave_job *w = arg;
    const uint64_t n = w->job->volume->header.block_count;
    (void)n_workers;
    while (w->begin < n) {
        if (worker == 0 && w->job->has_chain) {
            for (uint64_t i = w->begin; i < w->end; i++) {
                q42_chain_add_payload(&w->result->chain, i);
            }
        }
        check_wave(w, worker);
        team_barrier(w->job->workers);
        if (worker == 0) {
            join_wave(w);
            next_wave(w, w->end);
        }
        team_barrier(w->job->workers);
    }
}

qn_status verify_blocks(const blocks_job *job, blocks_result *out_result, error_context *err) {
    wave_job w = {.job = job, .result = out_result};
    memset(out_result, 0, sizeof *out_result);
    q42_chain_begin(job->volume, &out_result->chain);
    w.facts = malloc(WAVE * sizeof *w.facts);
    w.rooms = malloc((uint64_t)team_size(job->workers) * Q42_BLOCK_BYTES);
    qn_status status = QN_OK;
    if (w.facts == NULL || w.rooms == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "no memory to check %u blocks at a time", WAVE);
    } else {
        next_wave(&w, 0);
        team_run(job->workers, run_waves, &w);
        q42_chain_end(&out_result->chain);
    }
    free(w.facts);
    free(w.rooms);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- lexicon */

typedef struct pages_job {
    const q42_lexicon *lexicon;
    team *workers;
    id_sorter *keys;
    pthread_mutex_t lock; /* guards the result */
    uint64_t form_page, keys_page;
    lexicon_result *result;
} pages_job;

/* Keeps the finding of the lowest page. */
static void keep_lowest(pages_job *j, uint64_t page, const q42_finding *next, q42_finding *kept, uint64_t *kept_page) {
    if (next->status == FMT_OK) {
        return;
    }
    pthread_mutex_lock(&j->lock);
    if (kept->status == FMT_OK || page < *kept_page) {
        *kept = *next;
        *kept_page = page;
    }
    pthread_mutex_unlock(&j->lock);
}

static void collect_keys(const pages_job *j, uint32_t worker, uint64_t page) {
    const uint64_t n = q42_lexicon_page_size(j->lexicon, page);
    for (uint64_t i = 0; i < n; i++) {
        add_id(j->keys, worker, q42_lexicon_page_key(j->lexicon, page, i));
    }
}

static void check_pages(void *arg, uint32_t worker, uint32_t n_workers) {
    pages_job *j = arg;
    (void)n_workers;
    for (uint64_t page; (page = team_next(j->workers)) < j->lexicon->n_pages;) {
        q42_finding form = {0}, keys = {0};
        form.status = q42_lexicon_check_form(j->lexicon, page, &form.diag);
        if (form.status == FMT_OK) {
            keys.status = q42_lexicon_check_keys(j->lexicon, page, &keys.diag);
        }
        keep_lowest(j, page, &form, &j->result->form, &j->form_page);
        keep_lowest(j, page, &keys, &j->result->keys, &j->keys_page);
        if (j->keys != NULL && form.status == FMT_OK) {
            collect_keys(j, worker, page);
        }
    }
}

void verify_lexicon(const q42_lexicon *lexicon, team *workers, id_sorter *keys, lexicon_result *out_result) {
    pages_job j = {.lexicon = lexicon, .workers = workers, .keys = keys, .result = out_result};
    memset(out_result, 0, sizeof *out_result);
    pthread_mutex_init(&j.lock, NULL);
    team_run(workers, check_pages, &j);
    pthread_mutex_destroy(&j.lock);
}
