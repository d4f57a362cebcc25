/* graph_options.c — from --graph to facts in a prompt, and from an answer to what it cites. */
#include "cli/graph_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/graph_command.h"
#include "graph/term_text.h"
#include "graph/volume_writer.h"
#include "ground/citations.h"

enum { DEFAULT_FACTS = 16 };

void graph_options_init(graph_options *g, option rows[GRAPH_OPTION_ROWS]) {
    memset(g, 0, sizeof *g);
    g->n_facts = DEFAULT_FACTS;
    const option filled[GRAPH_OPTION_ROWS] = {
        {OPTION_LIST, "graph", 0, "VOLUME", "put facts of this Q42 volume before the prompt; may be given more than once", &g->volumes,
         0, 0, NULL, NULL},
        {OPTION_UINT, "facts", 0, "N", "with --graph: at most N facts (default 16)", &g->n_facts, 1, FACT_SET_MAX, NULL,
         &g->has_n_facts},
        {OPTION_STRING, "near", 0, "POINT", "with --graph: prefer subjects near this point of ten numbers", &g->near, 0, 0, NULL, NULL},
        {OPTION_FLAG, "show-prompt", 0, NULL, "print on standard error what the model is given to read", &g->shows_prompt, 0, 0, NULL,
         NULL}};
    memcpy(rows, filled, sizeof filled);
}

qn_status graph_options_check(const graph_options *g, const prompt_options *p, error_context *err) {
    if (g->volumes.n_items == 0 && (g->has_n_facts || g->near != NULL)) {
        return FAIL(err, QN_BAD_INPUT, "%s needs --graph VOLUME", g->has_n_facts ? "--facts" : "--near");
    }
    if (g->volumes.n_items > 0 && p->tokens != NULL) {
        return FAIL(err, QN_BAD_INPUT, "--graph looks for the words of the prompt: it does not go with --prompt-tokens");
    }
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------- before the model */

static qn_status open_volumes(const graph_options *g, prompt_facts *out, error_context *err) {
    fact_rules rules = {.now_ms = 0};
    QN_TRY(volume_timestamp(&rules.now_ms, err), err, "reading the time");
    for (uint32_t i = 0; i < g->volumes.n_items; i++) {
        QN_TRY(graph_volume_open(g->volumes.items[i], FMT_MODE_DEFAULT, TERMS_AUTO, &out->opened[i], err), err, "opening %s",
               g->volumes.items[i]);
        const qn_status status = ground_volume_open(out->opened[i], &rules, 0, &out->volumes[i], err);
        if (status < 0) {
            graph_volume_close(out->opened[i]);
            return status;
        }
        out->n_volumes = i + 1;
    }
    return QN_OK;
}

static void tell_facts(const prompt_facts *facts, const retrieve_report *report) {
    static const char *const tiers[] = {"public", "professional", "legal", "medical", "fiduciary"};
    if (facts->facts.n == 0) {
        log_line(QN_LOG_WARN, "the volumes hold no fact about what the prompt names (%u terms named): it is run without facts",
                 report->n_named);
        return;
    }
    const uint32_t tier = fact_set_tier(&facts->facts);
    log_line(QN_LOG_INFO, "%u facts of %llu found for %u terms that the prompt names; highest tier %u (%s)", facts->facts.n,
             (unsigned long long)report->n_found, report->n_named, tier, tiers[tier]);
}

static void tell_passed_over(const retrieve_report *report) {
    for (fact_state i = FACT_LIVE + 1; i < FACT_N_STATES; i++) {
        if (report->n_states[i] > 0) {
            log_line(QN_LOG_INFO, "note: statements were passed over %llu times: %s", (unsigned long long)report->n_states[i], fact_state_name(i));
        }
    }
}

qn_status prompt_facts_load(const graph_options *g, const prompt_options *p, prompt_input *input, prompt_facts *out,
                            error_context *err) {
    retrieve_report report;
    tensor10d point;
    memset(out, 0, sizeof *out);
    if (g->volumes.n_items == 0) {
        return QN_OK;
    }
    if (g->near != NULL) {
        QN_TRY(tensor10d_read(g->near, strlen(g->near), &point, err), err, "reading --near");
    }
    QN_TRY(open_volumes(g, out, err), err, "opening the graph");
    const retrieve_options options = {.prompt = input->text != NULL ? input->text : p->text,
                                      .prompt_bytes = input->text_bytes,
                                      .n_facts = g->n_facts,
                                      .near = g->near != NULL ? &point : NULL};
    QN_TRY(ground_facts(out->volumes, out->n_volumes, &options, &out->facts, &report, err), err, "looking for facts");
    QN_TRY(fact_lines_write(out->volumes, out->n_volumes, &out->facts, &out->lines, err), err, "writing facts");
    QN_TRY(fact_lines_preface(&out->lines, out->lines.n, &out->preface, err), err, "writing facts");
    input->preface = (fmt_str){out->preface.text, out->preface.size};
    tell_facts(out, &report);
    tell_passed_over(&report);
    return QN_OK;
}

void prompt_facts_free(prompt_facts *facts) {
    for (uint32_t i = 0; i < facts->n_volumes; i++) {
        ground_volume_close(&facts->volumes[i]);
        graph_volume_close(facts->opened[i]);
    }
    fact_set_free(&facts->facts);
    fact_lines_free(&facts->lines);
    text_buffer_free(&facts->preface);
    facts->n_volumes = 0;
}

/* ------------------------------------------------------------------------------------------------- with the model */

/* Tokens of the prompt with its first n facts. */
static qn_status count_tokens(const prompt_options *p, const model *m, const prompt_facts *facts, uint32_t n, const prompt_input *input,
                              size_t *out_n, error_context *err) {
    text_buffer preface = {.text = NULL};
    prompt_input trial = {.text = input->text, .text_bytes = input->text_bytes};
    qn_status status = fact_lines_preface(&facts->lines, n, &preface, err);
    trial.preface = (fmt_str){preface.text, preface.size};
    status = status == QN_OK ? prompt_encode(p, m, &trial, err) : status;
    *out_n = trial.ids.count;
    token_list_free(&trial.ids);
    text_buffer_free(&preface);
    return status;
}

/* The most facts with which the prompt leaves a position free; UINT32_MAX when it does not without any. */
static qn_status count_fitting(const prompt_options *p, const model *m, uint32_t n_ctx, const prompt_facts *facts,
                               const prompt_input *input, uint32_t *out_n, error_context *err) {
    uint32_t low = 0, high = facts->lines.n; /* high does not fit */
    size_t n_tokens;
    QN_TRY(count_tokens(p, m, facts, 0, input, &n_tokens, err), err, "encoding the prompt without facts");
    if (n_tokens >= n_ctx) {
        *out_n = UINT32_MAX;
        return QN_OK;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        QN_TRY(count_tokens(p, m, facts, middle, input, &n_tokens, err), err, "encoding the prompt with fewer facts");
        if (n_tokens < n_ctx) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *out_n = low;
    return QN_OK;
}

static qn_status refuse_overflow(const prompt_options *p, const model *m, uint32_t n_ctx, const prompt_facts *facts,
                                 const prompt_input *input, error_context *err) {
    uint32_t n = 0;
    QN_TRY(count_fitting(p, m, n_ctx, facts, input, &n, err), err, "looking for how many facts fit");
    const unsigned long long n_tokens = input->ids.count;
    if (n == UINT32_MAX) {
        return FAIL(err, QN_LIMIT, "the prompt alone, without any fact, leaves no position of the context's %u free; raise --ctx or shorten "
                    "the prompt", n_ctx);
    }
    if (n == 0) {
        return FAIL(err, QN_LIMIT, "the prompt with %u facts has %llu tokens, and the context %u positions: not one fact fits; raise --ctx, "
                    "shorten the prompt or leave --graph out", facts->lines.n, n_tokens, n_ctx);
    }
    return FAIL(err, QN_LIMIT, "the prompt with %u facts has %llu tokens, and the context %u positions: %u facts fit; give --facts %u or raise "
                "--ctx", facts->lines.n, n_tokens, n_ctx, n, n);
}

/* Token by token, so that what is read is shown and not what was meant; control tokens by their spelling. */
static qn_status show_prompt(const model *m, const prompt_input *input, error_context *err) {
    detokenizer shown;
    const size_t room = detokenizer_room(m->tok);
    char *text = malloc(room);
    if (text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    detokenizer_init(&shown, m->tok, true, true);
    for (size_t i = 0; i < input->ids.count; i++) {
        fwrite(text, 1, detokenizer_push(&shown, input->ids.ids[i], text, room), stderr);
    }
    fwrite(text, 1, detokenizer_flush(&shown, text, room), stderr);
    fputc('\n', stderr);
    free(text);
    return QN_OK;
}

qn_status prompt_facts_encode(const graph_options *g, const prompt_options *p, const model *m, uint32_t n_ctx,
                              const prompt_facts *facts, prompt_input *input, error_context *err) {
    QN_TRY(prompt_encode(p, m, input, err), err, "encoding the prompt");
    if (facts->lines.n > 0 && input->ids.count >= n_ctx) {
        return refuse_overflow(p, m, n_ctx, facts, input, err);
    }
    return g->shows_prompt ? show_prompt(m, input, err) : QN_OK;
}

/* ------------------------------------------------------------------------------------------------- after the answer */

static uint32_t find_citations(const prompt_facts *facts, const char *answer, size_t size, citation found[CITATIONS_MAX]) {
    const uint32_t n = citations_find(answer, size, found, CITATIONS_MAX);
    citations_resolve(found, n, &facts->facts);
    return n;
}

uint32_t prompt_facts_cited(const prompt_facts *facts, const char *answer, size_t size, uint64_t *out_ids, uint32_t room) {
    citation found[CITATIONS_MAX];
    const uint32_t n = facts->facts.n > 0 ? find_citations(facts, answer, size, found) : 0;
    uint32_t n_ids = 0;
    for (uint32_t i = 0; i < n && n_ids < room; i++) {
        if (found[i].is_resolved) {
            out_ids[n_ids++] = found[i].id;
        }
    }
    return n_ids;
}

void prompt_facts_report(const prompt_facts *facts, const char *answer, size_t size) {
    citation found[CITATIONS_MAX];
    if (facts->facts.n == 0) {
        return;
    }
    const uint32_t n = find_citations(facts, answer, size, found);
    for (uint32_t i = 0; i < n; i++) {
        if (found[i].is_resolved) {
            const fmt_str line = fact_lines_get(&facts->lines, found[i].number - 1);
            log_line(QN_LOG_INFO, "cited: %.*s (fact %016llx, %s)", (int)line.size, line.data, (unsigned long long)found[i].id,
                     graph_volume_path(facts->opened[facts->facts.facts[found[i].number - 1].source]));
        } else {
            log_line(QN_LOG_WARN, "the answer cites [%u], which is no fact of the prompt", found[i].number);
        }
    }
    if (n == 0) {
        log_line(QN_LOG_INFO, "the answer cites none of the %u facts", facts->facts.n);
    }
}

/* The fact's terms as N-Quads writes them. */
static qn_status add_terms(term_printer *printer, const ground_fact *fact, json_t *object, error_context *err) {
    static const char *const names[] = {"subject", "predicate", "object", "graph"};
    const uint64_t ids[] = {fact->quin.subject, fact->quin.predicate, fact->quin.object, fact->quin.context};
    term_cell cell = {.is_filled = false};
    qn_status status = QN_OK;
    for (uint32_t place = 0; status == QN_OK && place < 4; place++) {
        status = term_printer_get(printer, ids[place], place, &cell, err);
        if (status == QN_OK) {
            json_object_set_new(object, names[place],
                                cell.kind == SHOWN_DEFAULT_GRAPH ? json_null() : command_json_text(cell.text.text, cell.text.size));
        }
    }
    term_cell_free(&cell);
    return status;
}

static qn_status make_fact(const prompt_facts *facts, uint32_t i, json_t *object, error_context *err) {
    const ground_fact *fact = &facts->facts.facts[i];
    const fmt_str line = fact_lines_get(&facts->lines, i);
    term_printer printer;
    json_object_set_new(object, "n", json_integer(i + 1));
    json_object_set_new(object, "id", graph_json_id(fact->id));
    json_object_set_new(object, "text", command_json_text(line.data, line.size));
    qn_status status = term_printer_init(&printer, facts->opened[fact->source], err);
    status = status == QN_OK ? add_terms(&printer, fact, object, err) : status;
    term_printer_deinit(&printer);
    json_object_set_new(object, "tier", json_integer(fact->tier));
    json_object_set_new(object, "volume", json_string(graph_volume_path(facts->opened[fact->source])));
    return status;
}

static json_t *make_citations(const prompt_facts *facts, const char *answer, size_t size) {
    citation found[CITATIONS_MAX];
    json_t *list = json_array();
    const uint32_t n = find_citations(facts, answer, size, found);
    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(list, json_pack("{s:i, s:I, s:o}", "n", (int)found[i].number, "at", (json_int_t)found[i].at, "id",
                                              found[i].is_resolved ? graph_json_id(found[i].id) : json_null()));
    }
    return list;
}

qn_status prompt_facts_add_json(prompt_facts *facts, const char *answer, size_t size, json_t *object, error_context *err) {
    if (facts->n_volumes == 0) {
        return QN_OK;
    }
    json_t *list = json_array();
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < facts->facts.n; i++) {
        json_t *fact = json_object();
        status = make_fact(facts, i, fact, err);
        json_array_append_new(list, fact);
    }
    json_object_set_new(object, "facts", list);
    json_object_set_new(object, "citations", make_citations(facts, answer, size));
    return status;
}
