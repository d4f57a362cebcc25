/* q42_fixture.c — reading vectors, logging notes, checking everything. */
#include "q42_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"

void log_note(void *ctx, const fmt_diag *note) {
    note_log *log = ctx;
    assert_true(note->text[0] != '\0');
    if (log->n < sizeof log->rules / sizeof log->rules[0]) {
        snprintf(log->rules[log->n++], sizeof log->rules[0], "%s", note->rule);
    }
}

int has_note(const note_log *log, const char *rule) {
    for (uint32_t i = 0; i < log->n; i++) {
        if (strcmp(log->rules[i], rule) == 0) {
            return 1;
        }
    }
    return 0;
}

uint8_t *read_vector(const char *name, size_t *out_size) {
    char relative[256], path[CORPUS_PATH_SIZE];
    snprintf(relative, sizeof relative, "tests/vectors/q42/%s", name);
    source_require(relative, path);
    return test_read_file(path, out_size);
}

static fmt_status check_lexicon(const q42_volume *volume, fmt_diag *diag) {
    fmt_status status = FMT_OK;
    for (uint64_t page = 0; status == FMT_OK && page < volume->lexicon.n_pages; page++) {
        status = q42_lexicon_check_page(&volume->lexicon, page, diag);
    }
    return status;
}

static fmt_status take(const q42_finding *finding, fmt_status status, fmt_diag *diag) {
    if (status == FMT_OK && finding->status != FMT_OK) {
        *diag = finding->diag;
        return finding->status;
    }
    return status;
}

static fmt_status check_blocks(const q42_volume *volume, note_log *log, fmt_diag *diag) {
    static uint8_t room[Q42_BLOCK_BYTES];
    static q42_block_facts facts;
    static q42_chain chain;
    fmt_status status = FMT_OK;
    q42_chain_begin(volume, &chain);
    for (uint64_t i = 0; i < volume->header.block_count; i++) {
        q42_verify_block(volume, i, Q42_WANT_DIGEST | Q42_WANT_INDEXES, room, &facts);
        q42_chain_join(&chain, &facts);
        if (!chain.has_dag) {
            q42_chain_add_payload(&chain, i);
        }
        status = take(&facts.decode, status, diag);
        status = take(&facts.tail, status, diag);
        status = take(&facts.fidx, status, diag);
        status = take(&facts.pidx, status, diag);
    }
    q42_chain_end(&chain);
    status = take(&chain.order, status, diag);
    status = take(&chain.dag, status, diag);
    status = take(&chain.merkle, status, diag);
    if (chain.n_duplicates > 0) {
        const fmt_diag note = {.rule = "blocks.duplicate", .text = "repeated"};
        log_note(log, &note);
    }
    return status;
}

fmt_status check_all(fmt_span span, fmt_mode mode, note_log *log, fmt_diag *diag) {
    q42_volume volume;
    memset(log, 0, sizeof *log);
    fmt_status status = q42_open(span, mode, &volume, log_note, log, diag);
    status = status == FMT_OK ? check_lexicon(&volume, diag) : status;
    return status == FMT_OK ? check_blocks(&volume, log, diag) : status;
}
