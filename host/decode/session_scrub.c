/* session_scrub.c — states, scratch, arrays. */
#include "decode/session_scrub.h"

#include <quoin/ext/scrub.h>
#include <quoin/glue.h>

/* Bytes of n cells of a group in all its state buffers. */
static uint64_t cells_bytes(const plan *p, uint32_t group, uint32_t n) {
    const qn_program *program = p->dec->program;
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(program, b);
        if (buffer->role == QN_ROLE_STATE && buffer->group == group) {
            bytes += n * qn_format_bytes(buffer->format, buffer->dims[0]);
        }
    }
    return bytes;
}

static void scrub_states(session *s, scrub_report *report) {
    const qn_plugin *verbs = s->p->on->plugin;
    qn_error error = {.size = sizeof error, .op = QN_NO_OP};
    qn_state_move moves[DECODER_MAX_GROUPS];
    uint64_t bytes = 0;
    uint32_t n = 0;
    for (uint32_t g = 0; g < s->kv.n_groups; g++) {
        const uint32_t cells = s->kv.touched < s->kv.groups[g].cells ? s->kv.touched : s->kv.groups[g].cells;
        if (cells > 0) {
            moves[n++] = (qn_state_move){.size = sizeof moves[0], .kind = QN_MOVE_ZERO, .group = g, .n_cells = cells};
            bytes += cells_bytes(s->p, g, cells);
        }
    }
    if (n == 0) {
        return;
    }
    if (!QN_HAS(verbs, state_move)) {
        scrub_miss(report, "state", "the backend has no state_move");
    } else if (verbs->state_move(s->handle, moves, sizeof moves[0], n, &error) < 0) {
        scrub_miss(report, "state", error.text);
    } else {
        report->bytes[SCRUB_STATE] += bytes;
    }
}

static void scrub_scratch(session *s, scrub_report *report) {
    const qn_plugin *verbs = s->p->on->plugin;
    const qn_scrub *ext = QN_HAS(verbs, get_ext) ? verbs->get_ext(QN_EXT_SCRUB) : NULL;
    qn_error error = {.size = sizeof error, .op = QN_NO_OP};
    uint64_t bytes = 0;
    if (ext == NULL) {
        scrub_miss(report, "scratch", "the backend does not offer " QN_EXT_SCRUB);
        return;
    }
    if (ext->scratch(s->handle, &bytes, &error) < 0) {
        scrub_miss(report, "scratch", error.text);
    }
    report->bytes[SCRUB_SCRATCH] += bytes;
}

void session_scrub(session *s, scrub_report *report) {
    const qn_limits *limits = &s->p->limits;
    scrub_states(s, report);
    scrub_scratch(s, report);
    scrub_memory(report, SCRUB_LOGITS, s->logits, (size_t)limits->max_outputs * s->p->m->hparams.n_vocab * sizeof *s->logits);
    scrub_memory(report, SCRUB_LOGITS, s->top_ids, sizeof s->top_ids);
    scrub_memory(report, SCRUB_LOGITS, s->top_values, sizeof s->top_values);
    scrub_memory(report, SCRUB_TOKENS, s->history, (size_t)s->p->n_ctx * sizeof *s->history);
    scrub_memory(report, SCRUB_TOKENS, s->positions, (size_t)limits->max_tokens * sizeof *s->positions);
    scrub_memory(report, SCRUB_TOKENS, s->rows, (size_t)limits->max_outputs * sizeof *s->rows);
    kv_cells_forget(&s->kv, limits->max_tokens);
    s->n_logits = 0;
    s->n_top = 0;
}
