/* graph_options.h — facts of volumes for a prompt: options, loading before the model, encoding with it, reporting after the answer.
 *
 *     prompt_load ─► prompt_facts_load ─► engine_open ─► prompt_facts_encode ─► generate ─► prompt_facts_report
 *
 * Threading: one thread at a time.
 * Memory:    prompt_facts_free frees what prompt_facts_load made, volumes included. The prompt_input borrows the facts' text.
 */
#ifndef HOST_GRAPH_OPTIONS_H
#define HOST_GRAPH_OPTIONS_H
#include "cli/command.h"
#include "cli/prompt_input.h"
#include "ground/fact_text.h"
#include "ground/retrieve.h"

typedef struct graph_options {
    option_list volumes;
    uint32_t n_facts;
    const char *near;      /* ten numbers, or null */
    bool shows_prompt, has_n_facts;
} graph_options;

#define GRAPH_OPTION_ROWS 4
void graph_options_init(graph_options *g, option rows[GRAPH_OPTION_ROWS]);

/* QN_BAD_INPUT for what does not go together. */
qn_status graph_options_check(const graph_options *g, const prompt_options *p, error_context *err);

typedef struct prompt_facts {
    graph_volume *opened[OPTION_LIST_MAX];
    ground_volume volumes[OPTION_LIST_MAX];
    uint32_t n_volumes;
    fact_set facts;
    fact_lines lines;
    text_buffer preface;
} prompt_facts;

/* Opens the volumes and takes facts for the prompt, which has been loaded; input->preface is theirs from now on. Does nothing
 * without --graph. prompt_facts_free is right afterwards in any case. */
qn_status prompt_facts_load(const graph_options *g, const prompt_options *p, prompt_input *input, prompt_facts *out,
                            error_context *err);
void prompt_facts_free(prompt_facts *facts);

/* prompt_encode, and more: QN_LIMIT, saying how many facts fit, when the prompt with its facts leaves no position of n_ctx free; with
 * --show-prompt what the model reads goes to standard error. */
qn_status prompt_facts_encode(const graph_options *g, const prompt_options *p, const model *m, uint32_t n_ctx,
                              const prompt_facts *facts, prompt_input *input, error_context *err);

/* Which facts the answer cites, on standard error. Nothing without --graph. */
void prompt_facts_report(const prompt_facts *facts, const char *answer, size_t size);

/* Ids of the facts of the prompt that the answer cites, each once; returns how many, at most `room`. */
uint32_t prompt_facts_cited(const prompt_facts *facts, const char *answer, size_t size, uint64_t *out_ids, uint32_t room);

/* The same as "facts" and "citations" of the JSON object. */
qn_status prompt_facts_add_json(prompt_facts *facts, const char *answer, size_t size, json_t *object, error_context *err);

#endif
