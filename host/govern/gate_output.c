/* gate_output.c — the answer itself: complete, well-formed, within its limits; what it may cite. */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "common/utf8.h"
#include "govern/gate.h"

#define FAILED_SIEVE "[sieve-misaligned]" /* what another program writes where it has no statement */

static uint64_t measure_peak(void) {
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_maxrss * 1024 : 0;
}

/* What the text cites by [number]: facts that were put into the prompt and are what their id says. The request's own token is none. */
static qn_status cite_facts(request *r, error_context *err) {
    citation found[CITATIONS_MAX];
    const uint32_t n = citations_find(r->answer.text.text, r->answer.text.size, found, CITATIONS_MAX);
    citations_resolve(found, n, &r->facts);
    for (uint32_t i = 0; i < n; i++) {
        if (found[i].is_resolved) {
            QN_TRY(request_add_citation(r, found[i].id, err), err, "citing");
        } else {
            r->n_false_citations++;
        }
    }
    return QN_OK;
}

/* True when something is wrong. */
static bool refuse_text(const request *r, gate_result *out) {
    const text_buffer *text = &r->answer.text;
    const uint64_t wrong = utf8_first_invalid(text->text, text->size);
    if (wrong != UTF8_ALL_VALID) {
        gate_say(out, VERDICT_BLOCK, CODE_MALFORMED, "byte %" PRIu64 " of the answer is no UTF-8", wrong);
        return true;
    }
    if (text->size == sizeof FAILED_SIEVE - 1 && memcmp(text->text, FAILED_SIEVE, text->size) == 0) {
        gate_say(out, VERDICT_BLOCK, CODE_SIEVE, "the answer is the words for no answer");
        return true;
    }
    return false;
}

static bool refuse_size(const request *r, uint64_t peak, gate_result *out) {
    const policy_values *is = &r->rules->is;
    if (r->answer.n_tokens > is->limits.tokens) {
        gate_say(out, VERDICT_BLOCK, CODE_TOKEN_CEILING, "%u tokens; at most %u", r->answer.n_tokens, is->limits.tokens);
        return true;
    }
    if (is->limits.memory > 0 && peak > is->limits.memory) {
        gate_say(out, VERDICT_BLOCK, CODE_MEMORY, "%" PRIu64 " bytes at the most; allowed are %" PRIu64, peak, is->limits.memory);
        return true;
    }
    return false;
}

void gate_output(request *r, gate_result *out) {
    error_context err = {0};
    const uint64_t peak = measure_peak();
    const bool is_structured = r->mode != OUTPUT_TEXT;
    if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "UTF-8, at most %u tokens, at most %" PRIu64 " bytes of memory (0: any)",
                 r->rules->is.limits.tokens, r->rules->is.limits.memory);
        return;
    }
    if (refuse_text(r, out) || refuse_size(r, peak, out)) {
        return;
    }
    if (cite_facts(r, &err) < 0) {
        gate_say_error(out, CODE_PROVENANCE, &err);
    } else if (is_structured && r->answer.is_partial) {
        gate_say(out, VERDICT_BLOCK, CODE_PARTIAL, "ended by %s before the statement was whole", r->answer.stop_reason);
    } else if (is_structured && r->n_claims == 0 && !gate_wants_review(r)) {
        gate_say(out, VERDICT_BLOCK, CODE_SIEVE, "statements were asked for, and the answer makes none");
    } else if (!is_structured && r->n_citations == 0) {
        gate_say(out, VERDICT_NOTE, CODE_UNGROUNDED, "UNGROUNDED: this text cites no fact%s; it is never committed",
                 r->n_false_citations > 0 ? ", and what it cites is none" : "");
    } else {
        gate_say(out, VERDICT_PASS, CODE_NONE, "%u tokens, %" PRIu64 " bytes of memory at the most, %u facts cited, %u invented", r->answer.n_tokens,
                 peak, r->n_citations, r->n_false_citations);
    }
}
