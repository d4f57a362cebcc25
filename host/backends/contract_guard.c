/* contract_guard.c — the verbs, each: look, call, look. */
#include "backends/contract_guard.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "backends/host_services.h"
#include "backends/process_guard.h"
#include "base/log.h"
#include "common/fnv.h"

#define MAGIC 0x71754764u
#define CANARY 64u
#define CANARY_BYTE 0xA7

typedef uint32_t object_kind;
enum { KIND_PLUGIN, KIND_DEVICE, KIND_PROG, KIND_SESSION };

/* What stands behind every handle that the host gets. */
typedef struct object {
    uint32_t magic;
    object_kind kind;
    const qn_plugin *table;   /* the plugin's own */
    const char *name;         /* of the backend */
    struct object *parent;
    void *inner;              /* the plugin's handle */
    atomic_int n_children;
    atomic_int n_calls;       /* calls that are in it now */
    bool is_sealed, is_stepped, is_materialized;
    host_services *services;  /* of a plugin */
    long long bytes_before;
    qn_program *program;      /* of a program: a copy */
} object;

struct qn_plugin_state {
    object o;
};
struct qn_device {
    object o;
};
struct qn_prog {
    object o;
};
struct qn_session {
    object o;
};

static const qn_plugin *next_table;
static const char *next_name;
static atomic_uint n_breaches;

uint32_t contract_guard_breaches(void) {
    return atomic_load(&n_breaches);
}

ERROR_PRINTF(3, 4)
static void breach(const char *name, const char *verb, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    atomic_fetch_add(&n_breaches, 1);
    log_line(QN_LOG_ERROR, "backend %s breaks the contract in %s: %s", name, verb, text);
}

/* --- Before and after any call ------------------------------------------------------------------------------------------ */

typedef struct call {
    const char *name, *verb;
    object *in;               /* null for start */
    process_state before;
} call;

static void call_begin(call *c, object *in, object_kind kind, const char *verb) {
    c->name = in != NULL ? in->name : next_name;
    c->verb = verb;
    c->in = in;
    if (in != NULL && (in->magic != MAGIC || in->kind != kind)) {
        breach("(host)", verb, "the handle is no longer one, or of another kind");
    } else if (in != NULL && atomic_fetch_add(&in->n_calls, 1) > 0) {
        breach("(host)", verb, "a second call on the same object while the first one runs");
    }
    process_state_take(&c->before);
}

static bool is_known_status(qn_status status) {
    static const qn_status known[] = {
#define QN_STATUS(name, number, meaning) number,
#include <quoin/status.def>
#undef QN_STATUS
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i] == status) {
            return true;
        }
    }
    return false;
}

static void check_error(const call *c, qn_status status, const qn_error *err) {
    if (!is_known_status(status)) {
        breach(c->name, c->verb, "it answers %d, which is no status", status);
    }
    if (status >= 0 || err == NULL) {
        return;
    }
    if (memchr(err->text, '\0', sizeof err->text) == NULL) {
        breach(c->name, c->verb, "the words of its error are not terminated");
    } else if (err->text[0] == '\0') {
        breach(c->name, c->verb, "it fails without words");
    }
    if (err->code != status) {
        breach(c->name, c->verb, "it answers %d and writes %d into the record", status, err->code);
    }
}

static qn_status call_end(call *c, qn_status status, const qn_error *err) {
    char changed[256];
    if (process_state_restore(&c->before, changed, sizeof changed, NULL, 0)) {
        breach(c->name, c->verb, "it changes the process: %s", changed);
    }
    check_error(c, status, err);
    if (c->in != NULL) {
        atomic_fetch_sub(&c->in->n_calls, 1);
    }
    return status;
}

static void check_order(const call *c, bool is_legal, qn_status status, qn_status wanted) {
    if (!is_legal && status != wanted) {
        breach(c->name, c->verb, "out of order it answers %d, not %d", status, wanted);
    }
}

static object *make_object(object *parent, object_kind kind, void *inner) {
    object *made = calloc(1, sizeof *made);
    if (made != NULL) {
        *made = (object){.magic = MAGIC, .kind = kind, .table = parent != NULL ? parent->table : next_table,
                         .name = parent != NULL ? parent->name : next_name, .parent = parent, .inner = inner};
        if (parent != NULL) {
            atomic_fetch_add(&parent->n_children, 1);
        }
    }
    return made;
}

/* The handle for the host after a call that makes one; null with a breach when there is none. */
static object *take_result(const call *c, object *parent, object_kind kind, qn_status status, void *inner) {
    if (status >= 0 && inner == NULL) {
        breach(c->name, c->verb, "it succeeds and gives nothing");
    }
    return status >= 0 && inner != NULL ? make_object(parent, kind, inner) : NULL;
}

static void free_object(object *o) {
    if (o->parent != NULL) {
        atomic_fetch_sub(&o->parent->n_children, 1);
    }
    o->magic = 0;
    free(o->program);
    free(o);
}

static void begin_destroying(call *c, object *o, object_kind kind, const char *verb) {
    call_begin(c, o, kind, verb);
    if (atomic_load(&o->n_children) > 0) {
        breach("(host)", verb, "%d children are still there", atomic_load(&o->n_children));
    }
}

/* --- Plugin and device -------------------------------------------------------------------------------------------------- */

static long long count_bytes(const host_services *services) {
    long long bytes = 0;
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        bytes += atomic_load(&services->used[kind]);
    }
    return bytes;
}

static qn_status QN_CALL guard_start(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out,
                                     qn_error *err) {
    call c;
    qn_plugin_state *inner = NULL;
    host_services *services = ((const host_context *)host->ctx)->services;
    const long long before = count_bytes(services);
    call_begin(&c, NULL, KIND_PLUGIN, "start");
    const qn_status status = call_end(&c, next_table->start(host, options, n_options, &inner, err), err);
    object *made = take_result(&c, NULL, KIND_PLUGIN, status, inner);
    if (made != NULL) {
        made->services = services;
        made->bytes_before = before;
    }
    *out = (qn_plugin_state *)made;
    return status;
}

static void QN_CALL guard_stop(qn_plugin_state *plugin) {
    call c;
    if (plugin == NULL) {
        return;
    }
    begin_destroying(&c, &plugin->o, KIND_PLUGIN, "stop");
    plugin->o.table->stop(plugin->o.inner);
    call_end(&c, QN_OK, NULL);
    const long long left = count_bytes(plugin->o.services) - plugin->o.bytes_before;
    if (left > 0) {
        breach(c.name, "stop", "%lld bytes of the host's memory are left", left);
    }
    free_object(&plugin->o);
}

static void check_info(const call *c, const qn_device_info *info, uint32_t index) {
    if (memchr(info->id, '\0', sizeof info->id) == NULL || memchr(info->name, '\0', sizeof info->name) == NULL ||
        memchr(info->driver, '\0', sizeof info->driver) == NULL) {
        breach(c->name, c->verb, "a text of device %u is not terminated", index);
    } else if (info->id[0] == '\0') {
        breach(c->name, c->verb, "device %u has no id", index);
    }
    if (info->device_class < QN_DEVICE_CPU || info->device_class > QN_DEVICE_REMOTE || info->numeric == 0 || info->cell_block == 0) {
        breach(c->name, c->verb, "device %u has no class, no numeric class or no cell block", index);
    }
}

static qn_status QN_CALL guard_devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room,
                                       uint32_t *count, qn_error *err) {
    call c;
    call_begin(&c, &plugin->o, KIND_PLUGIN, "devices");
    const qn_status status = call_end(&c, plugin->o.table->devices(plugin->o.inner, infos, stride, room, count, err), err);
    for (uint32_t i = 0; status >= 0 && i < *count && i < room; i++) {
        check_info(&c, (const qn_device_info *)(const void *)((const char *)infos + i * stride), i);
    }
    return status;
}

static qn_status QN_CALL guard_open(qn_plugin_state *plugin, const char *id, const qn_option *options, uint32_t n_options,
                                    qn_device **out, qn_error *err) {
    call c;
    qn_device *inner = NULL;
    call_begin(&c, &plugin->o, KIND_PLUGIN, "open");
    const qn_status status = call_end(&c, plugin->o.table->open(plugin->o.inner, id, options, n_options, &inner, err), err);
    *out = (qn_device *)take_result(&c, &plugin->o, KIND_DEVICE, status, inner);
    return status >= 0 && *out == NULL ? QN_INTERNAL : status;
}

static void QN_CALL guard_close(qn_device *device) {
    call c;
    if (device != NULL) {
        begin_destroying(&c, &device->o, KIND_DEVICE, "close");
        device->o.table->close(device->o.inner);
        call_end(&c, QN_OK, NULL);
        free_object(&device->o);
    }
}

/* --- Programs ----------------------------------------------------------------------------------------------------------- */

static void check_verdict(const call *c, const qn_verdict *verdict, uint32_t op) {
    if (verdict->verdict > QN_VERDICT_EMULATED) {
        breach(c->name, c->verb, "op %u has verdict %u, which there is not", op, verdict->verdict);
    } else if (verdict->verdict == QN_VERDICT_NO && verdict->text[0] == '\0') {
        breach(c->name, c->verb, "op %u is refused without words", op);
    }
}

static qn_status QN_CALL guard_check(qn_device *device, const qn_program *program, const qn_compile_options *options,
                                     qn_verdict *verdicts, uint64_t stride, qn_error *err) {
    call c;
    call_begin(&c, &device->o, KIND_DEVICE, "check");
    for (uint32_t i = 0; i < program->n_ops; i++) {
        ((qn_verdict *)(void *)((char *)verdicts + i * stride))->verdict = UINT32_MAX;
    }
    const qn_status status = call_end(&c, device->o.table->check(device->o.inner, program, options, verdicts, stride, err), err);
    for (uint32_t i = 0; i < program->n_ops && status >= 0; i++) {
        check_verdict(&c, (const qn_verdict *)(const void *)((const char *)verdicts + i * stride), i);
    }
    return status;
}

static qn_status QN_CALL guard_plan(qn_device *device, const qn_program *program, const qn_limits *limits,
                                    const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    call c;
    call_begin(&c, &device->o, KIND_DEVICE, "plan");
    const qn_status status = call_end(&c, device->o.table->plan(device->o.inner, program, limits, options, out, err), err);
    if (status >= 0 && ((out->numeric & options->numeric) == 0 || (out->numeric & (out->numeric - 1)) != 0)) {
        breach(c.name, c.verb, "it plans numeric class %u where %u was allowed", out->numeric, options->numeric);
    }
    return status;
}

static qn_status QN_CALL guard_compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                                       const qn_compile_options *options, qn_prog **out, qn_error *err) {
    call c;
    qn_prog *inner = NULL;
    const uint64_t hash = fnv1a64(program, (size_t)program->total_bytes);
    call_begin(&c, &device->o, KIND_DEVICE, "compile");
    const qn_status status = call_end(&c, device->o.table->compile(device->o.inner, program, limits, options, &inner, err), err);
    if (fnv1a64(program, (size_t)program->total_bytes) != hash) {
        breach(c.name, c.verb, "it writes into the program");
    }
    object *made = take_result(&c, &device->o, KIND_PROG, status, inner);
    if (made != NULL) {
        made->is_materialized = (options->flags & QN_COMPILE_MATERIALIZE) != 0;
        made->program = malloc((size_t)program->total_bytes);
        if (made->program != NULL) {
            memcpy(made->program, program, (size_t)program->total_bytes);
        }
    }
    *out = (qn_prog *)made;
    return status >= 0 && made == NULL ? QN_INTERNAL : status;
}

static void QN_CALL guard_prog_free(qn_prog *prog) {
    call c;
    if (prog != NULL) {
        begin_destroying(&c, &prog->o, KIND_PROG, "prog_free");
        prog->o.table->prog_free(prog->o.inner);
        call_end(&c, QN_OK, NULL);
        free_object(&prog->o);
    }
}

static qn_status QN_CALL guard_bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights,
                                            qn_error *err) {
    call c;
    call_begin(&c, &prog->o, KIND_PROG, "bind_weights");
    const qn_status status = call_end(&c, prog->o.table->bind_weights(prog->o.inner, weights, stride, n_weights, err), err);
    check_order(&c, !prog->o.is_sealed, status, QN_BAD_STATE);
    return status;
}

static qn_status QN_CALL guard_seal(qn_prog *prog, qn_error *err) {
    call c;
    call_begin(&c, &prog->o, KIND_PROG, "seal");
    const qn_status status = call_end(&c, prog->o.table->seal(prog->o.inner, err), err);
    check_order(&c, !prog->o.is_sealed, status, QN_BAD_STATE);
    prog->o.is_sealed = prog->o.is_sealed || status >= 0;
    return status;
}

static uint64_t QN_CALL guard_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room) {
    call c;
    call_begin(&c, &prog->o, KIND_PROG, "describe");
    const uint64_t length = prog->o.table->describe(prog->o.inner, op, text, room);
    call_end(&c, QN_OK, NULL);
    if (room > 0 && memchr(text, '\0', (size_t)room) == NULL) {
        breach(c.name, c.verb, "its text is not terminated");
    }
    return length;
}

static void QN_CALL guard_trim(qn_device *device, uint32_t level) {
    call c;
    call_begin(&c, &device->o, KIND_DEVICE, "trim");
    device->o.table->trim(device->o.inner, level);
    call_end(&c, QN_OK, NULL);
}

/* --- Sessions ----------------------------------------------------------------------------------------------------------- */

static qn_status QN_CALL guard_session_new(qn_prog *prog, qn_session **out, qn_error *err) {
    call c;
    qn_session *inner = NULL;
    call_begin(&c, &prog->o, KIND_PROG, "session_new");
    const qn_status status = call_end(&c, prog->o.table->session_new(prog->o.inner, &inner, err), err);
    check_order(&c, prog->o.is_sealed, status, QN_BAD_STATE);
    *out = (qn_session *)take_result(&c, &prog->o, KIND_SESSION, status, inner);
    return status >= 0 && *out == NULL ? QN_INTERNAL : status;
}

static void QN_CALL guard_session_free(qn_session *session) {
    call c;
    if (session != NULL) {
        begin_destroying(&c, &session->o, KIND_SESSION, "session_free");
        session->o.table->session_free(session->o.inner);
        call_end(&c, QN_OK, NULL);
        free_object(&session->o);
    }
}

/* A binding of a step as the plugin gets it, and what it must look like afterwards. */
typedef struct watched {
    qn_binding given;
    bool is_output;
    unsigned char *copy;      /* of an output, with a canary behind it */
    uint64_t hash;            /* of an input, or of the copy before */
} watched;

static void watch_binding(const qn_program *program, const qn_binding *from, watched *w) {
    w->given = *from;
    w->is_output = from->buffer < program->n_buffers && qn_program_buffer(program, from->buffer)->role == QN_ROLE_OUTPUT;
    if (w->is_output) {
        w->copy = malloc((size_t)from->bytes + CANARY);
        if (w->copy != NULL) {
            memcpy(w->copy, from->data, (size_t)from->bytes);
            memset(w->copy + from->bytes, CANARY_BYTE, CANARY);
            w->given.data = w->copy;
        }
    }
    w->hash = fnv1a64(w->given.data, (size_t)from->bytes);
}

static void judge_binding(const call *c, const qn_binding *from, watched *w, qn_status status) {
    const bool is_same = fnv1a64(w->given.data, (size_t)from->bytes) == w->hash;
    if (!w->is_output && !is_same) {
        breach(c->name, c->verb, "it writes into input buffer %u", from->buffer);
    }
    if (w->is_output && status == QN_BAD_ARG && !is_same) {
        breach(c->name, c->verb, "it refuses the step and has written output buffer %u", from->buffer);
    }
    if (w->copy != NULL) {
        for (uint32_t i = 0; i < CANARY; i++) {
            if (w->copy[from->bytes + i] != CANARY_BYTE) {
                breach(c->name, c->verb, "it writes behind the end of output buffer %u", from->buffer);
                break;
            }
        }
        memcpy(from->data, w->copy, (size_t)from->bytes);
        free(w->copy);
    }
}

static const qn_binding *get_binding(const qn_step *step, uint32_t index) {
    return (const qn_binding *)(const void *)((const char *)step->bindings + index * step->binding_stride);
}

static qn_status run_watched(call *c, qn_session *session, const qn_step *step, qn_error *err) {
    const qn_program *program = session->o.parent->program;
    qn_step own = *step;
    watched *all = calloc(step->n_bindings + 1u, sizeof *all);
    if (all == NULL || program == NULL) {
        free(all);
        return session->o.table->step(session->o.inner, step, err);
    }
    for (uint32_t i = 0; i < step->n_bindings; i++) {
        watch_binding(program, get_binding(step, i), &all[i]);
    }
    own.bindings = &all[0].given;
    own.binding_stride = sizeof all[0];
    const qn_status status = session->o.table->step(session->o.inner, &own, err);
    for (uint32_t i = 0; i < step->n_bindings; i++) {
        judge_binding(c, get_binding(step, i), &all[i], status);
    }
    free(all);
    return status;
}

static qn_status QN_CALL guard_step(qn_session *session, const qn_step *step, qn_error *err) {
    call c;
    call_begin(&c, &session->o, KIND_SESSION, "step");
    const qn_status status = call_end(&c, run_watched(&c, session, step, err), err);
    session->o.is_stepped = status >= 0;
    return status;
}

static qn_status QN_CALL guard_state_move(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves,
                                          qn_error *err) {
    call c;
    call_begin(&c, &session->o, KIND_SESSION, "state_move");
    return call_end(&c, session->o.table->state_move(session->o.inner, moves, stride, n_moves, err), err);
}

static qn_status QN_CALL guard_tap(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes,
                                   qn_error *err) {
    call c;
    const object *prog = session->o.parent;
    call_begin(&c, &session->o, KIND_SESSION, "tap");
    const qn_status status = call_end(&c, session->o.table->tap(session->o.inner, buffer, data, room, out_bytes, err), err);
    check_order(&c, prog->is_materialized, status, QN_UNSUPPORTED);
    check_order(&c, !prog->is_materialized || session->o.is_stepped, status, QN_BAD_STATE);
    return status;
}

static const void *QN_CALL guard_get_ext(const char *id) {
    (void)id;
    return NULL;
}

const qn_plugin *contract_guard_wrap(const qn_plugin *plugin, const char *name) {
    static qn_plugin table;
    table = (qn_plugin){.size = sizeof table, .start = guard_start, .stop = guard_stop, .devices = guard_devices, .open = guard_open,
                        .close = guard_close, .check = guard_check, .plan = guard_plan, .compile = guard_compile,
                        .prog_free = guard_prog_free, .bind_weights = guard_bind_weights, .seal = guard_seal,
                        .session_new = guard_session_new, .session_free = guard_session_free, .step = guard_step,
                        .get_ext = guard_get_ext};
    table.state_move = QN_HAS(plugin, state_move) ? guard_state_move : NULL;
    table.tap = QN_HAS(plugin, tap) ? guard_tap : NULL;
    table.trim = QN_HAS(plugin, trim) ? guard_trim : NULL;
    table.describe = QN_HAS(plugin, describe) ? guard_describe : NULL;
    next_table = plugin;
    next_name = name;
    return &table;
}
