/* split_backend.c — the verbs, each on both parts. */
#include "backends/split_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/ext/scrub.h>
#include <quoin/glue.h>

#include "backends/program_split.h"
#include "base/scrub.h"

#define MAX_BINDINGS 16u

struct qn_device {
    backend parts[2];
    uint32_t n_layers;
};

struct qn_prog {
    qn_device *device;
    program_split split;
    qn_prog *inner[2];
    uint32_t max_tokens;
};

struct qn_session {
    qn_prog *prog;
    qn_session *inner[2];
    float *hidden; /* [max_tokens][hidden_width] */
};

static const qn_plugin *verbs_of(const qn_device *device, int part) {
    return device->parts[part].plugin;
}

static qn_status split_program(const qn_device *device, const qn_program *program, program_split *out, qn_error *err) {
    error_context inner = {0};
    const qn_status status = program_split_at(program, device->n_layers, out, &inner);
    return status < 0 ? qn_fail(err, status == QN_BAD_INPUT ? QN_UNSUPPORTED : status, "%s", error_text(&inner)) : QN_OK;
}

/* One numeric class for the whole model, where both offer one that is allowed; otherwise who lacks it says so. */
static qn_compile_options narrow_options(const qn_device *device, const qn_compile_options *options) {
    qn_compile_options own = *options;
    const uint32_t common = options->numeric & device->parts[0].info.numeric & device->parts[1].info.numeric;
    own.size = sizeof own;
    own.numeric = common != 0 ? common : options->numeric;
    return own;
}

/* Says which backend it was, and makes the op's number one of the whole program. */
static qn_status tell_part(const qn_device *device, const program_split *split, int part, qn_status status, qn_error *err) {
    if (status < 0 && err != NULL) {
        char words[QN_ERROR_TEXT];
        memcpy(words, err->text, sizeof words);
        words[sizeof words - 1] = '\0';
        snprintf(err->text, sizeof err->text, "%s: %.900s", device->parts[part].spec.name, words);
        if (part == 1 && err->op != QN_NO_OP) {
            err->op += split->border;
        }
    }
    return status;
}

/* --- Device and programs ------------------------------------------------------------------------------------------------ */

static void QN_CALL split_close(qn_device *device) {
    if (device != NULL) {
        backend_close(&device->parts[1]);
        backend_close(&device->parts[0]);
        free(device);
    }
}

static qn_status QN_CALL split_check(qn_device *device, const qn_program *program, const qn_compile_options *options,
                                     qn_verdict *verdicts, uint64_t stride, qn_error *err) {
    program_split split;
    const qn_compile_options own = narrow_options(device, options);
    qn_status status = split_program(device, program, &split, err);
    if (status < 0) {
        return status;
    }
    for (int i = 0; i < 2 && status >= 0; i++) {
        qn_verdict *at = (qn_verdict *)(void *)((char *)verdicts + (i == 0 ? 0 : split.border * stride));
        status = verbs_of(device, i)->check(device->parts[i].device, split.parts[i].program, &own, at, stride, err);
        status = tell_part(device, &split, i, status, err);
    }
    program_split_deinit(&split);
    return status;
}

static void add_plan(const qn_memory_plan *from, qn_memory_plan *to) {
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        to->host_bytes[kind] += from->host_bytes[kind];
        to->device_bytes[kind] += from->device_bytes[kind];
    }
    to->borrowed_bytes += from->borrowed_bytes;
    to->peak_load_bytes = from->peak_load_bytes > to->peak_load_bytes ? from->peak_load_bytes : to->peak_load_bytes;
}

static qn_status QN_CALL split_plan(qn_device *device, const qn_program *program, const qn_limits *limits,
                                    const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    program_split split;
    qn_memory_plan sum = {.size = out->size};
    const qn_compile_options own = narrow_options(device, options);
    qn_status status = split_program(device, program, &split, err);
    if (status < 0) {
        return status;
    }
    for (int i = 0; i < 2 && status >= 0; i++) {
        qn_memory_plan one = {.size = sizeof one};
        status = verbs_of(device, i)->plan(device->parts[i].device, split.parts[i].program, limits, &own, &one, err);
        status = tell_part(device, &split, i, status, err);
        sum.numeric = i == 0 ? one.numeric : sum.numeric;
        add_plan(&one, &sum);
    }
    sum.host_bytes[QN_MEM_SCRATCH] += (uint64_t)limits->max_tokens * split.hidden_width * sizeof(float);
    program_split_deinit(&split);
    if (status >= 0) {
        memcpy(out, &sum, out->size < sizeof sum ? out->size : sizeof sum);
    }
    return status;
}

static void QN_CALL split_prog_free(qn_prog *prog) {
    if (prog != NULL) {
        for (int i = 1; i >= 0; i--) {
            if (prog->inner[i] != NULL) {
                verbs_of(prog->device, i)->prog_free(prog->inner[i]);
            }
        }
        program_split_deinit(&prog->split);
        free(prog);
    }
}

static qn_status QN_CALL split_compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                                       const qn_compile_options *options, qn_prog **out, qn_error *err) {
    const qn_compile_options own = narrow_options(device, options);
    qn_prog *prog = calloc(1, sizeof *prog);
    if (prog == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "out of memory for a divided program");
    }
    prog->device = device;
    prog->max_tokens = limits->max_tokens;
    qn_status status = split_program(device, program, &prog->split, err);
    for (int i = 0; i < 2 && status >= 0; i++) {
        status = verbs_of(device, i)->compile(device->parts[i].device, prog->split.parts[i].program, limits, &own,
                                              &prog->inner[i], err);
        status = tell_part(device, &prog->split, i, status, err);
    }
    if (status < 0) {
        split_prog_free(prog);
        return status;
    }
    *out = prog;
    return QN_OK;
}

static qn_status QN_CALL split_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights,
                                            qn_error *err) {
    for (uint32_t w = 0; w < n_weights; w++) {
        const qn_weight *weight = (const qn_weight *)(const void *)((const char *)weights + w * stride);
        for (int i = 0; i < 2; i++) {
            qn_weight own = *weight;
            own.size = sizeof own;
            own.buffer = prog->split.parts[i].part_of[weight->buffer];
            const qn_status status = own.buffer == UINT32_MAX
                                         ? QN_OK
                                         : verbs_of(prog->device, i)->bind_weights(prog->inner[i], &own, sizeof own, 1, err);
            if (status < 0) {
                return tell_part(prog->device, &prog->split, i, status, err);
            }
        }
    }
    return QN_OK;
}

static qn_status QN_CALL split_seal(qn_prog *prog, qn_error *err) {
    qn_status status = QN_OK;
    for (int i = 0; i < 2 && status >= 0; i++) {
        status = tell_part(prog->device, &prog->split, i, verbs_of(prog->device, i)->seal(prog->inner[i], err), err);
    }
    return status;
}

static uint64_t QN_CALL split_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room) {
    const int part = op != QN_NO_OP && op >= prog->split.border;
    const qn_plugin *verbs = verbs_of(prog->device, part);
    if (!QN_HAS(verbs, describe)) {
        if (room > 0) {
            text[0] = '\0';
        }
        return 0;
    }
    return verbs->describe(prog->inner[part], part == 1 ? op - prog->split.border : op, text, room);
}

/* --- Sessions ----------------------------------------------------------------------------------------------------------- */

static void QN_CALL split_session_free(qn_session *session) {
    if (session != NULL) {
        for (int i = 1; i >= 0; i--) {
            if (session->inner[i] != NULL) {
                verbs_of(session->prog->device, i)->session_free(session->inner[i]);
            }
        }
        free(session->hidden);
        free(session);
    }
}

static qn_status QN_CALL split_session_new(qn_prog *prog, qn_session **out, qn_error *err) {
    qn_session *session = calloc(1, sizeof *session);
    qn_status status = QN_OK;
    if (session != NULL) {
        session->prog = prog;
        session->hidden = calloc(prog->max_tokens, (size_t)prog->split.hidden_width * sizeof(float));
    }
    if (session == NULL || session->hidden == NULL) {
        status = qn_fail(err, QN_NO_HOST_MEM, "out of memory for the rows between two devices");
    }
    for (int i = 0; i < 2 && status >= 0; i++) {
        status = tell_part(prog->device, &prog->split, i,
                           verbs_of(prog->device, i)->session_new(prog->inner[i], &session->inner[i], err), err);
    }
    if (status < 0) {
        split_session_free(session);
        return status;
    }
    *out = session;
    return QN_OK;
}

/* The bindings of one part: those of the step that it has, and the hidden rows. Takes no memory. */
static qn_status run_part(qn_session *session, int part, const qn_step *step, qn_error *err) {
    const program_part *own = &session->prog->split.parts[part];
    qn_binding bindings[MAX_BINDINGS];
    qn_step inner = *step;
    uint32_t n = 0;
    for (uint32_t i = 0; i < step->n_bindings; i++) {
        qn_binding binding = *(const qn_binding *)(const void *)((const char *)step->bindings + i * step->binding_stride);
        binding.buffer = own->part_of[binding.buffer];
        if (binding.buffer != UINT32_MAX && n + 1 < MAX_BINDINGS) {
            bindings[n++] = binding;
        }
    }
    bindings[n++] = (qn_binding){own->hidden, 0, session->hidden,
                                 (uint64_t)step->n_tokens * session->prog->split.hidden_width * sizeof(float)};
    inner.bindings = bindings;
    inner.binding_stride = sizeof bindings[0];
    inner.n_bindings = n;
    const qn_status status = verbs_of(session->prog->device, part)->step(session->inner[part], &inner, err);
    return tell_part(session->prog->device, &session->prog->split, part, status, err);
}

static qn_status QN_CALL split_step(qn_session *session, const qn_step *step, qn_error *err) {
    const qn_status status = run_part(session, 0, step, err);
    return status < 0 ? status : run_part(session, 1, step, err);
}

static qn_status QN_CALL split_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves,
                                          qn_error *err) {
    qn_status status = QN_OK;
    for (int i = 0; i < 2 && status >= 0; i++) {
        const qn_plugin *verbs = verbs_of(session->prog->device, i);
        status = QN_HAS(verbs, state_move) ? verbs->state_move(session->inner[i], moves, stride, n_moves, err)
                                           : qn_fail(err, QN_UNSUPPORTED, "it moves no state");
        status = tell_part(session->prog->device, &session->prog->split, i, status, err);
    }
    return status;
}

/* Both parts' scratch, and the rows that pass between them. A part without the extension makes it UNSUPPORTED, and the other is done. */
static qn_status QN_CALL split_scrub(qn_session *session, uint64_t *out_bytes, qn_error *err) {
    const uint64_t hidden = (uint64_t)session->prog->max_tokens * session->prog->split.hidden_width * sizeof(float);
    qn_status first_refusal = QN_OK;
    scrub_memory(NULL, SCRUB_SCRATCH, session->hidden, hidden);
    *out_bytes = hidden;
    for (int i = 0; i < 2; i++) {
        const qn_plugin *verbs = verbs_of(session->prog->device, i);
        const qn_scrub *ext = QN_HAS(verbs, get_ext) ? verbs->get_ext(QN_EXT_SCRUB) : NULL;
        uint64_t bytes = 0;
        qn_status status = ext != NULL ? ext->scratch(session->inner[i], &bytes, err) : qn_fail(err, QN_UNSUPPORTED, "it wipes no scratch");
        status = tell_part(session->prog->device, &session->prog->split, i, status, err);
        *out_bytes += bytes;
        first_refusal = first_refusal < 0 ? first_refusal : status;
    }
    return first_refusal;
}

static const void *QN_CALL split_get_ext(const char *id) {
    static const qn_scrub scrub = {.size = sizeof scrub, .scratch = split_scrub};
    return strcmp(id, QN_EXT_SCRUB) == 0 ? &scrub : NULL;
}

static const qn_plugin split_table = {
    .size = sizeof split_table, .close = split_close, .check = split_check, .plan = split_plan, .compile = split_compile,
    .prog_free = split_prog_free, .bind_weights = split_bind_weights, .seal = split_seal, .session_new = split_session_new,
    .session_free = split_session_free, .step = split_step, .state_move = split_state_move, .describe = split_describe,
    .get_ext = split_get_ext};

qn_status split_backend_open(backend *first, backend *second, uint32_t n_layers, backend *out, error_context *err) {
    qn_device *device = calloc(1, sizeof *device);
    memset(out, 0, sizeof *out);
    if (device == NULL) {
        backend_close(first);
        backend_close(second);
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a divided backend");
    }
    device->parts[0] = *first;
    device->parts[1] = *second;
    device->n_layers = n_layers;
    memset(first, 0, sizeof *first);
    memset(second, 0, sizeof *second);
    const backend *a = &device->parts[0], *b = &device->parts[1];
    *out = (backend){.plugin = &split_table, .device = device, .info = a->info, .version = a->version, .is_guarded = a->is_guarded};
    snprintf(out->spec.name, sizeof out->spec.name, "%.30s+%.30s", a->spec.name, b->spec.name);
    snprintf(out->info.name, sizeof out->info.name, "%.40s (%u layers) + %.40s", a->info.name, n_layers, b->info.name);
    snprintf(out->info.driver, sizeof out->info.driver, "%.60s + %.60s", a->info.driver, b->info.driver);
    out->info.flags = a->info.flags & b->info.flags;
    out->info.numeric = a->info.numeric | b->info.numeric;
    return QN_OK;
}
