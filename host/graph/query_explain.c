/* query_explain.c — words and JSON about a plan. */
#include "graph/query_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1024

typedef unsigned long long ull;

static const char *access_of(const plan_step *step) {
    if (step->is_lookup) {
        return "look-up of each object of the rows before";
    }
    if (step->places[NTRIPLES_OBJECT].kind == PLACE_CONSTANT) {
        return "look-up of the object";
    }
    return step->n_ranges > 0 ? "scan of object ranges" : "scan";
}

static bool asks_fields(const plan_step *step) {
    static const uint32_t places[] = {NTRIPLES_SUBJECT, NTRIPLES_PREDICATE, NTRIPLES_GRAPH};
    for (uint32_t i = 0; i < 3; i++) {
        const place_kind kind = step->places[places[i]].kind;
        if (kind == PLACE_CONSTANT || kind == PLACE_BOUND) {
            return true;
        }
    }
    return false;
}

/* Names of the indexes that were asked, into out[3]. Members of a set are alike; the root has no blocks and no such flags. */
static uint32_t indexes_of(const query_plan *plan, const plan_step *step, const char *out[3]) {
    const uint16_t flags = graph_volume_root(plan->volume)->header.flags;
    const bool is_set = graph_volume_is_set(plan->volume);
    uint32_t n = 0;
    if (step->is_lookup || step->n_ranges > 0) {
        out[n++] = "BIDX";
    }
    if (asks_fields(step) && (is_set ? step->stats.n_skipped_fidx > 0 : (flags & Q42_FLAG_FIELD_RANGES) != 0)) {
        out[n++] = "FIDX";
    }
    if (asks_fields(step) && (is_set ? step->stats.n_skipped_pidx > 0 : (flags & Q42_FLAG_FIELD_POSTINGS) != 0)) {
        out[n++] = "PIDX";
    }
    return n;
}

static void tell_step(const query_plan *plan, uint32_t at, explain_line_fn *tell, void *ctx) {
    const plan_step *step = &plan->steps[at];
    const walk_stats *s = &step->stats;
    const char *names[3];
    char indexes[32] = "no index", line[LINE_SIZE];
    const uint32_t n = indexes_of(plan, step, names);
    for (uint32_t i = 0, used = 0; i < n; i++) {
        used += (uint32_t)snprintf(indexes + used, sizeof indexes - used, "%s%s", i > 0 ? "+" : "", names[i]);
    }
    snprintf(line, sizeof line, "step %u: pattern %u: %.400s", at + 1, step->pattern + 1, plan->query->patterns[step->pattern].source);
    tell(ctx, line);
    snprintf(line, sizeof line, "  %s (%s), expected %.1f blocks", access_of(step), indexes, step->expected_blocks);
    if (step->expected_rows >= 0) {
        const size_t used = strlen(line);
        snprintf(line + used, sizeof line - used, " and %.1f rows", step->expected_rows);
    }
    tell(ctx, line);
    snprintf(line, sizeof line,
             "  %llu walks, %llu blocks in the intervals, skipped by FIDX %llu, by PIDX %llu, decoded %llu (border checks %llu), "
             "members skipped %llu",
             (ull)s->n_walks, (ull)s->n_blocks, (ull)s->n_skipped_fidx, (ull)s->n_skipped_pidx, (ull)s->n_decoded,
             (ull)s->n_border, (ull)s->n_members_skipped);
    tell(ctx, line);
    snprintf(line, sizeof line, "  rows in %llu, out %llu", (ull)step->n_rows_in, (ull)step->n_rows_out);
    tell(ctx, line);
}

void query_explain_text(const query_plan *plan, explain_line_fn *tell, void *ctx) {
    if (plan->is_empty) {
        tell(ctx, "nothing was read: the key of a term in the patterns belongs to another text in this volume");
        return;
    }
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        tell_step(plan, i, tell, ctx);
    }
    if (plan->n_planning_decoded > 0) {
        char line[LINE_SIZE];
        snprintf(line, sizeof line, "planning: %llu blocks decoded to count rows", (ull)plan->n_planning_decoded);
        tell(ctx, line);
    }
}

static json_t *describe_step(const query_plan *plan, const plan_step *step) {
    const walk_stats *s = &step->stats;
    const char *names[3];
    const uint32_t n = indexes_of(plan, step, names);
    const char *source = plan->query->patterns[step->pattern].source;
    json_t *indexes = json_array(), *text = json_string(source);
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(indexes, json_string(names[i]));
    }
    return json_pack("{s:i, s:o, s:s, s:o, s:f, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pattern", (int)step->pattern + 1,
                     "source", text != NULL ? text : json_null(), "access", access_of(step), "indexes", indexes,
                     "expected_blocks", step->expected_blocks, "expected_rows",
                     step->expected_rows >= 0 ? json_real(step->expected_rows) : json_null(), "walks", (json_int_t)s->n_walks,
                     "blocks", (json_int_t)s->n_blocks, "skipped_fidx", (json_int_t)s->n_skipped_fidx, "skipped_pidx",
                     (json_int_t)s->n_skipped_pidx, "decoded", (json_int_t)s->n_decoded, "border_checks",
                     (json_int_t)s->n_border, "members_skipped", (json_int_t)s->n_members_skipped, "rows_in",
                     (json_int_t)step->n_rows_in, "rows_out", (json_int_t)step->n_rows_out);
}

json_t *query_explain_json(const query_plan *plan) {
    json_t *steps = json_array();
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        json_array_append_new(steps, describe_step(plan, &plan->steps[i]));
    }
    return json_pack("{s:o, s:I, s:b}", "steps", steps, "planning_blocks_decoded", (json_int_t)plan->n_planning_decoded,
                     "is_empty", plan->is_empty);
}
