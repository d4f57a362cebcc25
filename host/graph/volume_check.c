/* volume_check.c — all blocks in order, then the lexicon. */
#include "graph/volume_check.h"

#include <stdlib.h>

static qn_status tell(const q42_finding *finding, const char *path, error_context *err) {
    return finding->status == FMT_OK ? QN_OK : error_from_diag(err, finding->status, &finding->diag, path);
}

static qn_status check_facts(const q42_block_facts *facts, const char *path, error_context *err) {
    qn_status status = tell(&facts->decode, path, err);
    status = status < 0 ? status : tell(&facts->tail, path, err);
    status = status < 0 ? status : tell(&facts->fidx, path, err);
    return status < 0 ? status : tell(&facts->pidx, path, err);
}

static qn_status check_blocks(const q42_volume *volume, const char *path, uint8_t *room, progress_fn *progress,
                              void *progress_ctx, error_context *err) {
    q42_chain chain;
    q42_block_facts *facts = calloc(1, sizeof *facts);
    qn_status status = facts != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    q42_chain_begin(volume, &chain);
    for (uint64_t i = 0; status >= 0 && i < volume->header.block_count; i++) {
        q42_verify_block(volume, i, Q42_WANT_INDEXES | (chain.has_dag ? Q42_WANT_DIGEST : 0), room, facts);
        q42_chain_join(&chain, facts);
        if (!chain.has_dag) {
            q42_chain_add_payload(&chain, i);
        }
        status = check_facts(facts, path, err);
        if (status >= 0 && progress != NULL && !progress(progress_ctx, i, volume->header.block_count)) {
            status = FAIL(err, QN_CANCELLED, "%s: interrupted", path);
        }
    }
    free(facts);
    if (status < 0) {
        return status;
    }
    q42_chain_end(&chain);
    status = tell(&chain.order, path, err);
    status = status < 0 ? status : tell(&chain.dag, path, err);
    return status < 0 ? status : tell(&chain.merkle, path, err);
}

qn_status volume_check(const q42_volume *volume, const char *path, progress_fn *progress, void *progress_ctx,
                       error_context *err) {
    uint8_t *room = malloc(Q42_BLOCK_BYTES);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    qn_status status = check_blocks(volume, path, room, progress, progress_ctx, err);
    free(room);
    for (uint64_t page = 0; status >= 0 && page < volume->lexicon.n_pages; page++) {
        fmt_diag diag;
        const fmt_status found = q42_lexicon_check_page(&volume->lexicon, page, &diag);
        status = found == FMT_OK ? QN_OK : error_from_diag(err, found, &diag, path);
    }
    return status;
}
