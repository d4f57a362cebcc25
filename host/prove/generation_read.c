/* generation_read.c — a record out of a log or a volume, and whether its name is its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove/prove_generation.h"
#include "wal/wal_replay.h"

/* Predicates whose objects are handles without a text in the record: what they mean stands elsewhere. */
static bool is_handle(fmt_str predicate) {
    static const char *const table[] = {"q42m:intent", "q42m:claimSubject", "q42m:claimPredicate", "q42m:claimObject"};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (prove_text_is(predicate, table[i])) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------------- the name */

static fmt_status copy_text(const prove_reading *r, uint64_t hash, small_volume *into, fmt_diag *diag) {
    fmt_str text;
    return prove_find_text(r, hash, &text) ? small_volume_add_term(into, text, &hash, diag) : FMT_OK;
}

static fmt_status copy_statement(const prove_reading *r, const q42_quin *q, small_volume *into, fmt_diag *diag) {
    const q42_quin nameless = q42_quin_make(0, q->predicate, q->object, q->context, q->metadata);
    fmt_str predicate = {"", 0};
    fmt_status status = small_volume_add_quin(into, &nameless, diag);
    status = status == FMT_OK ? copy_text(r, q->context, into, diag) : status;
    status = status == FMT_OK ? copy_text(r, q->predicate, into, diag) : status;
    const bool needs_text = prove_find_text(r, q->predicate, &predicate) && !is_handle(predicate) && q42_is_named(q->object);
    return status == FMT_OK && needs_text ? copy_text(r, q->object, into, diag) : status;
}

/* The digest of the record as it was before it had a name. */
static qn_status digest_record(const prove_reading *r, uint64_t subject, uint8_t out[SHA256_BYTES], error_context *err) {
    prove_graph g = {.status = QN_OK, .err = err};
    fmt_diag diag;
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; i < r->n_index && status == FMT_OK; i++) {
        if (r->index[i]->subject == subject) {
            status = copy_statement(r, r->index[i], &g.volume, &diag);
        }
    }
    qn_status result = status == FMT_OK ? prove_settle(&g) : error_from_diag(err, status, &diag, "generation record");
    result = result < 0 ? result : prove_digest(&g, out, err);
    prove_end(&g);
    return result;
}

/* -------------------------------------------------------------------------------------------------------------- finding */

static bool find_last(const prove_reading *r, uint64_t *out_subject) {
    uint64_t at = 0, subject, ended, latest = 0;
    bool is_found = false;
    while (prove_next_of_type(r, "q42m:Generation", &at, &subject)) {
        if (prove_get_integer(r, subject, Q42M_ENDED, 0, &ended) && (!is_found || ended >= latest)) {
            latest = ended;
            *out_subject = subject;
            is_found = true;
        }
    }
    return is_found;
}

static qn_status find_subject(const prove_reading *r, const char *name, uint64_t *out, error_context *err) {
    char urn[PROVE_URN_SIZE];
    uint64_t at = 0, subject;
    if (name == NULL) {
        return find_last(r, out) ? QN_OK : FAIL(err, QN_NOT_FOUND, "there is no generation record");
    }
    const bool is_short = strncmp(name, "urn:", 4) != 0;
    snprintf(urn, sizeof urn, "%s%.100s", is_short ? PROVE_GENERATION : "", name);
    *out = q42_hash(urn, strlen(urn));
    while (prove_next_of_type(r, "q42m:Generation", &at, &subject)) {
        if (subject == *out) {
            return QN_OK;
        }
    }
    return FAIL(err, QN_NOT_FOUND, "there is no generation record %s", urn);
}

static bool load_model(const prove_reading *r, generation_record *g) {
    g->is_source = prove_get_digest(r, g->subject, "q42m:usedModel", 0, PROVE_SOURCE, g->model);
    return g->is_source || prove_get_digest(r, g->subject, "q42m:usedModel", 0, PROVE_P64, g->model);
}

static void load_rest(const prove_reading *r, generation_record *g) {
    prove_get_text(r, g->subject, "q42m:backend", 0, &g->backend);
    prove_get_text(r, g->subject, "q42m:device", 0, &g->device);
    prove_get_text(r, g->subject, "q42m:driver", 0, &g->driver);
    prove_get_text(r, g->subject, "q42m:numeric", 0, &g->numeric);
    prove_get_integer(r, g->subject, "q42m:threads", 0, &g->n_threads);
    g->has_adapter = prove_get_digest(r, g->subject, "q42m:usedAdapter", 0, PROVE_ADAPTER, g->adapter);
    g->has_prompt_mac = prove_get_digest(r, g->subject, "q42m:promptMac", 0, PROVE_MAC, g->prompt_mac);
    g->has_context_mac = prove_get_digest(r, g->subject, "q42m:contextMac", 0, PROVE_MAC, g->context_mac);
}

static const char *find_missing(const prove_reading *r, generation_record *g) {
    const uint64_t s = g->subject;
    return !load_model(r, g)                                                                        ? "q42m:usedModel"
           : !prove_get_digest(r, s, "q42m:usedRuntime", 0, PROVE_RUNTIME, g->runtime)              ? "q42m:usedRuntime"
           : !prove_get_text(r, s, "q42m:sampler", 0, &g->sampler)                                  ? "q42m:sampler"
           : !prove_get_wide(r, s, "q42m:seed", 0, &g->seed)                                        ? "q42m:seed"
           : !prove_get_digest(r, s, "q42m:tokensSha256", 0, PROVE_DIGEST, g->tokens)               ? "q42m:tokensSha256"
           : !prove_get_digest(r, s, "q42m:outputSha256", 0, PROVE_DIGEST, g->output)               ? "q42m:outputSha256"
           : !prove_get_integer(r, s, "q42m:tokenCount", 0, &g->n_tokens)                           ? "q42m:tokenCount"
           : !prove_get_text(r, s, "q42m:stopReason", 0, &g->stop_reason)                           ? "q42m:stopReason"
           : !prove_get_boolean(r, s, "q42m:partial", 0, &g->is_partial)                            ? "q42m:partial"
           : !prove_get_integer(r, s, Q42M_STARTED, 0, &g->started_ms)                              ? "prov:startedAtTime"
           : !prove_get_integer(r, s, Q42M_ENDED, 0, &g->ended_ms)                                  ? "prov:endedAtTime"
                                                                                                    : NULL;
}

static qn_status check_sampler(const prove_reading *r, const generation_record *g, error_context *err) {
    uint8_t said[SHA256_BYTES], is[SHA256_BYTES];
    const bool is_right = prove_get_digest(r, g->subject, "q42m:samplerSha256", 0, PROVE_DIGEST, said) &&
                          sha256_digest(g->sampler.data, g->sampler.size, is) && memcmp(said, is, sizeof is) == 0;
    return is_right ? QN_OK : FAIL(err, QN_BAD_FILE, "%s: q42m:samplerSha256 is not the digest of q42m:sampler", g->name);
}

qn_status prove_generation_find(const prove_reading *reading, const char *name, generation_record *out, error_context *err) {
    uint8_t digest[SHA256_BYTES];
    char urn[PROVE_URN_SIZE];
    fmt_str text;
    generation_record g = {0};
    QN_TRY(find_subject(reading, name, &g.subject, err), err, "looking for a generation record");
    if (!prove_find_text(reading, g.subject, &text) || text.size >= sizeof g.name) {
        return FAIL(err, QN_BAD_FILE, "a generation record has no name");
    }
    memcpy(g.name, text.data, text.size);
    const char *missing = find_missing(reading, &g);
    if (missing != NULL) {
        return FAIL(err, QN_BAD_FILE, "%s: the record says nothing in %s", g.name, missing);
    }
    load_rest(reading, &g);
    QN_TRY(check_sampler(reading, &g, err), err, "reading a generation record");
    QN_TRY(digest_record(reading, g.subject, digest, err), err, "reading a generation record");
    g.is_name_right = strcmp(prove_urn(PROVE_GENERATION, digest, urn), g.name) == 0;
    *out = g;
    return QN_OK;
}

bool prove_generation_prompt(const prove_reading *reading, uint64_t subject, uint32_t **out_ids, uint32_t *out_n) {
    fmt_str piece;
    uint32_t n = 0, *ids = NULL;
    for (uint32_t ordinal = 0; prove_get_text(reading, subject, "q42m:promptTokens", ordinal, &piece); ordinal++) {
        uint32_t *grown = realloc(ids, (n + piece.size + 1) * sizeof *ids); /* an id has at least one digit */
        if (grown == NULL) {
            free(ids);
            return false;
        }
        ids = grown;
        for (uint64_t at = 0; at < piece.size; at++) {
            uint64_t id = 0;
            while (at < piece.size && piece.data[at] >= '0' && piece.data[at] <= '9' && id <= UINT32_MAX) {
                id = id * 10 + (uint64_t)(piece.data[at++] - '0');
            }
            ids[n++] = (uint32_t)id;
        }
    }
    *out_ids = ids;
    *out_n = n;
    return n > 0;
}

/* ---------------------------------------------------------------------------------------------------------- from a log */

typedef struct log_reading {
    small_volume volume;
    uint64_t context;
    uint64_t *needed; /* [n_needed] rising: ids whose texts are wanted */
    uint64_t n_needed;
} log_reading;

static qn_status take_quin(void *ctx, const q42_quin *quin, error_context *err) {
    log_reading *l = ctx;
    fmt_diag diag;
    if (quin->context != l->context) {
        return QN_OK;
    }
    if (l->volume.n_quins == PROVE_MAX_READ) {
        return FAIL(err, QN_LIMIT, "the log holds more than %llu statements of provenance; make a checkpoint and name its volume",
                    (unsigned long long)PROVE_MAX_READ);
    }
    const fmt_status status = small_volume_add_quin(&l->volume, quin, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, "log");
}

static int compare_ids(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static qn_status list_needed(log_reading *l, error_context *err) {
    l->needed = malloc((size_t)(l->volume.n_quins * 3 + 1) * sizeof *l->needed);
    if (l->needed == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to read the log's provenance");
    }
    l->needed[l->n_needed++] = l->context;
    for (uint64_t i = 0; i < l->volume.n_quins; i++) {
        l->needed[l->n_needed++] = l->volume.quins[i].subject;
        l->needed[l->n_needed++] = l->volume.quins[i].predicate;
        l->needed[l->n_needed++] = l->volume.quins[i].object;
    }
    qsort(l->needed, l->n_needed, sizeof *l->needed, compare_ids);
    return QN_OK;
}

static qn_status take_term(void *ctx, const qwal_term *term, error_context *err) {
    log_reading *l = ctx;
    fmt_diag diag;
    uint64_t hash;
    if (bsearch(&term->id, l->needed, l->n_needed, sizeof term->id, compare_ids) == NULL) {
        return QN_OK;
    }
    const fmt_status status = small_volume_add_term(&l->volume, term->text, &hash, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, "log");
}

qn_status prove_generation_read_log(const wal_set *set, const wal_state *state, prove_reading *out, error_context *err) {
    log_reading l = {.context = q42_hash(PROVE_CONTEXT, strlen(PROVE_CONTEXT))};
    const wal_visitor first = {.ctx = &l, .quin = take_quin}, second = {.ctx = &l, .term = take_term};
    memset(out, 0, sizeof *out);
    qn_status status = wal_replay(set, state, 0, &first, err);
    status = status < 0 ? status : list_needed(&l, err);
    status = status < 0 ? status : wal_replay(set, state, 0, &second, err);
    prove_graph graph = {.volume = l.volume, .status = QN_OK, .err = err};
    free(l.needed);
    if (status < 0) {
        prove_end(&graph);
        return status;
    }
    return prove_read_graph(&graph, out, err);
}
