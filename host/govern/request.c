/* request.c — the parts of a request that grow, and its words. */
#include "govern/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

const char *gate_verdict_name(gate_verdict verdict) {
    static const char *const names[] = {"pass", "note", "skipped", "review", "suspend", "block", "fail"};
    return verdict <= VERDICT_FAIL ? names[verdict] : "unknown";
}

const char *governed_outcome_name(governed_outcome outcome) {
    static const char *const names[] = {"NONE", "COMPLETED", "COMMITTED", "SUSPENDED", "REVIEW", "BLOCKED", "FAILED"};
    return names[outcome <= OUTCOME_FAILED ? outcome : OUTCOME_FAILED];
}

int governed_exit_status(governed_outcome outcome) {
    static const int statuses[] = {13, 0, 0, 11, 10, 12, 13};
    return statuses[outcome <= OUTCOME_FAILED ? outcome : OUTCOME_FAILED];
}

void request_init(request *r) {
    memset(r, 0, sizeof *r);
    r->label = POLICY_NONE;
    r->facts = fact_set_empty();
}

void request_deinit(request *r) {
    for (uint32_t i = 0; i < r->n_claims; i++) {
        for (size_t k = 0; k < 4; k++) {
            free(r->claims[i].texts[k]);
        }
    }
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        ground_volume_close(&r->volumes[i]);
    }
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        graph_volume_close(r->scopes[i].volume);
        r->scopes[i].volume = NULL;
    }
    wal_close(r->log);
    free(r->volumes);
    fact_set_free(&r->facts);
    fact_lines_free(&r->lines);
    text_buffer_free(&r->preface);
    free(r->citations);
    text_buffer_free(&r->answer.text);
    request_init(r);
}

uint64_t request_now(const request *r) {
    struct timespec now;
    if (r->world.now_ms != NULL) {
        return r->world.now_ms(r->world.clock_ctx);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

double request_seconds(const request *r) {
    return r->world.seconds != NULL ? r->world.seconds(r->world.clock_ctx) : clock_seconds();
}

/* ---------------------------------------------------------------- lists */

static qn_status copy_text(const char *text, char **out, error_context *err) {
    *out = text != NULL ? strdup(text) : NULL;
    return text == NULL || *out != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a statement");
}

qn_status request_add_claim(request *r, const q42_quin *quin, const char *const texts[4], error_context *err) {
    if (r->n_claims == REQUEST_MAX_CLAIMS) {
        return FAIL(err, QN_LIMIT, "an answer makes at most %u statements", REQUEST_MAX_CLAIMS);
    }
    const uint64_t own = quin->metadata >> 56 & 15u;
    uint64_t tier = fact_set_tier(&r->facts);
    tier = r->label != POLICY_NONE && r->label > tier ? r->label : tier;
    const uint64_t metadata = (quin->metadata & ~(UINT64_C(15) << 56)) | (own > tier ? own : tier) << 56;
    request_claim *claim = &r->claims[r->n_claims++];
    *claim = (request_claim){.quin = q42_quin_make(quin->subject, quin->predicate, quin->object, quin->context, metadata)};
    for (size_t i = 0; i < 4; i++) {
        QN_TRY(copy_text(texts[i], &claim->texts[i], err), err, "keeping a statement");
    }
    return QN_OK;
}

qn_status request_add_citation(request *r, uint64_t id, error_context *err) {
    for (uint32_t i = 0; i < r->n_citations; i++) {
        if (r->citations[i] == id) {
            return QN_OK;
        }
    }
    uint64_t *grown = realloc(r->citations, (r->n_citations + 1) * sizeof *grown);
    if (grown == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a citation");
    }
    r->citations = grown;
    r->citations[r->n_citations++] = id;
    return QN_OK;
}

uint64_t request_fact_id(const q42_quin *quin) {
    uint64_t id = 0;
    return fact_make_id(quin, &id, NULL) < 0 ? 0 : id;
}

/* ---------------------------------------------------------------- words */

fmt_str request_fact_text(const request *r, uint64_t id) {
    const ground_fact *fact = r->facts.is_sealed ? fact_set_find(&r->facts, id) : NULL;
    return fact != NULL && r->lines.n == r->facts.n ? fact_lines_get(&r->lines, (uint32_t)(fact - r->facts.facts)) : (fmt_str){NULL, 0};
}

static void put_term(char *out, size_t size, size_t *at, const request_claim *claim, size_t place) {
    const uint64_t words[4] = {claim->quin.subject, claim->quin.predicate, claim->quin.object, claim->quin.context};
    const uint64_t id = words[place];
    int n = 0;
    if (*at >= size || (place == 3 && id == Q42_DEFAULT_GRAPH)) {
        return;
    }
    if (claim->texts[place] != NULL) {
        n = snprintf(out + *at, size - *at, "%s ", claim->texts[place]);
    } else if (place == 2 && q42_object_is_inline(id) && q42_object_tag(id) == Q42_TAG_INTEGER) {
        n = snprintf(out + *at, size - *at, "%" PRId64 " ", q42_object_value(id));
    } else {
        n = snprintf(out + *at, size - *at, "<urn:quoin:hash:%016" PRIx64 "> ", id);
    }
    *at += n > 0 ? (size_t)n : 0;
}

const char *request_claim_text(const request_claim *claim, char *out, size_t size) {
    size_t at = 0;
    out[0] = 0;
    for (size_t place = 0; place < 4; place++) {
        put_term(out, size, &at, claim, place);
    }
    if (at + 2 <= size) {
        memcpy(out + at, ".", 2);
    }
    return out;
}
