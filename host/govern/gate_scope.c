/* gate_scope.c — volumes that a request may use: known to the policy, unchanged, and not a Sanctuary in the wrong place. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "govern/gate.h"
#include "govern/policy_internal.h"
#include "graph/publication.h"

#define TIER_OF_SANCTUARY 4u

/* The volume's flags, and its SHA-256 where that matters: the policy names one, or it is a Sanctuary, which only a named one may be. */
static qn_status look_at(request *r, request_scope *scope, error_context *err) {
    char room[POLICY_PATH_SIZE];
    const char *path = scope->path;
    if (scope->is->volume != NULL) {
        QN_TRY(policy_resolve(r->rules, scope->is->volume, room, err), err, "scope %s", scope->name);
        path = room;
    }
    QN_TRY(graph_volume_open(path, FMT_MODE_DEFAULT, TERMS_AUTO, &scope->volume, err), err, "scope %s", scope->name);
    QN_TRY(publication_flags(scope->volume, &scope->flags, err), err, "scope %s", scope->name);
    scope->is_sanctuary = scope->is->sanctuary || (scope->flags & Q42_FLAG_SANCTUARY) != 0;
    scope->tier = scope->is_sanctuary ? TIER_OF_SANCTUARY : scope->is->tier;
    return scope->is->has_digest ? graph_volume_digest(scope->volume, scope->digest, err) : QN_OK;
}

static bool refuse_unknown(const request_scope *scope, gate_result *out) {
    const bool is_known = scope->is != NULL && (scope->path != NULL || scope->is->volume != NULL);
    if (!is_known) {
        gate_say(out, VERDICT_BLOCK, CODE_SCOPE_UNKNOWN, scope->is == NULL ? "the policy has no [scope %s]" : "no volume serves scope %s",
                 scope->name);
    }
    return !is_known;
}

static bool is_file(const char *path, const graph_volume *volume) {
    graph_volume *named = NULL;
    const bool is_same = graph_volume_open(path, FMT_MODE_DEFAULT, TERMS_AUTO, &named, NULL) >= 0 && graph_volume_is_same(named, volume);
    graph_volume_close(named);
    return is_same;
}

/* Where the policy says which volume serves a scope, nobody else does: facts of one's own would support whatever one likes. */
static bool refuse_other(const request_scope *scope, gate_result *out) {
    const bool is_other = scope->path != NULL && scope->is->volume != NULL && !is_file(scope->path, scope->volume);
    if (is_other) {
        gate_say(out, VERDICT_BLOCK, CODE_SCOPE_CHANGED, "%s: %s is not the volume that the policy has for it", scope->name, scope->path);
    }
    return is_other;
}

static bool refuse_changed(const request_scope *scope, gate_result *out) {
    const bool is_changed = scope->is->has_digest && memcmp(scope->digest, scope->is->digest, sizeof scope->digest) != 0;
    if (is_changed) {
        gate_say(out, VERDICT_BLOCK, CODE_SCOPE_CHANGED, "%s: %s is not the volume whose digest the policy has", scope->name,
                 graph_volume_path(scope->volume));
    }
    return is_changed;
}

static bool refuse_sanctuary(const request *r, const request_scope *scope, gate_result *out) {
    const bool is_refused = scope->is_sanctuary && (!scope->is->has_digest || r->world.where != DESTINATION_LOCAL);
    if (is_refused) {
        gate_say(out, VERDICT_BLOCK, CODE_SANCTUARY, !scope->is->has_digest
                                                        ? "%s is a Sanctuary (%s) and the policy does not name its volume by digest"
                                                        : "%s is a Sanctuary (%s) and the answer would leave this machine",
                 scope->name, scope->is->sanctuary ? "by the policy" : "by the volume's flag");
    }
    return is_refused;
}

/* True when the scope is granted. */
static bool grant(request *r, request_scope *scope, gate_result *out) {
    error_context err = {0};
    scope->id = policy_name_id(scope->name);
    scope->is = policy_find_scope(r->rules, scope->id);
    memcpy(scope->contexts, (const uint64_t[3]){Q42_DEFAULT_GRAPH, scope->id, policy_name_term(scope->name)}, sizeof scope->contexts);
    if (refuse_unknown(scope, out)) {
        return false;
    }
    if (look_at(r, scope, &err) < 0) {
        gate_say(out, VERDICT_BLOCK, CODE_SCOPE_FILE, "%s", error_text(&err));
        return false;
    }
    return !refuse_other(scope, out) && !refuse_changed(scope, out) && !refuse_sanctuary(r, scope, out);
}

/* Only statements of granted graphs count, and only those that hold now. */
static qn_status open_for_facts(request *r, uint32_t n, error_context *err) {
    r->volumes = calloc(n > 0 ? n : 1, sizeof *r->volumes);
    if (r->volumes == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the volumes");
    }
    for (uint32_t i = 0; i < n; i++) {
        const request_scope *scope = &r->scopes[i];
        const fact_rules rules = {.now_ms = r->now_ms, .is_scoped = true, .contexts = scope->contexts, .n_contexts = 3};
        QN_TRY(ground_volume_open(scope->volume, &rules, scope->tier, &r->volumes[i], err), err, "scope %s", scope->name);
        r->n_volumes = i + 1;
    }
    return QN_OK;
}

void gate_scope(request *r, gate_result *out) {
    error_context err = {0};
    const uint32_t n = r->n_scopes < REQUEST_MAX_SCOPES ? r->n_scopes : REQUEST_MAX_SCOPES; /* more come here in a dry run alone */
    uint32_t n_sanctuaries = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!grant(r, &r->scopes[i], out)) {
            graph_volume_close(r->scopes[i].volume);
            r->scopes[i].volume = NULL;
            return;
        }
        n_sanctuaries += r->scopes[i].is_sanctuary;
    }
    if (open_for_facts(r, n, &err) < 0) {
        gate_say(out, VERDICT_BLOCK, CODE_SCOPE_FILE, "%s", error_text(&err));
        return;
    }
    gate_say(out, n > 0 ? VERDICT_PASS : VERDICT_SKIPPED, CODE_NONE, "%u scopes granted, %u of them Sanctuary", n, n_sanctuaries);
}
