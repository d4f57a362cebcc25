/* zoo_device.c — faults of start, devices, check, plan, compile, weights and extensions. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <quoin/ext/test_fault.h>

#include "zoo.h"

static const qn_host *their_host;       /* keeps_the_hosts_table */
static const qn_program *their_program; /* reads_the_program_later */
static uint32_t n_starts;

/* --- Services in between ---------------------------------------------------------------------------------------------- */

static volatile uint32_t never;

static void QN_CALL keep_silent(void *ctx, uint32_t level, const char *text) {
    (void)ctx;
    (void)level;
    (void)text;
}

static void *sleep_forever(void *nothing) {
    for (;;) {
        pause();
    }
    return nothing;
}

static void leave_a_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_forever, NULL);
}

float zoo_blob_factor = 1.0f;

/* Whatever the store gives back is taken for what was put. */
static void believe_blobs(const qn_host *host) {
    const float one = 1.0f;
    zoo_blob_factor = one;
    if (host->blob_get != NULL && host->blob_get(host->ctx, "factor", &zoo_blob_factor, sizeof zoo_blob_factor) == 0) {
        (void)host->blob_put(host->ctx, "factor", &one, sizeof one);
    }
}

/* --- Start and devices ------------------------------------------------------------------------------------------------ */

static qn_status QN_CALL start(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out, qn_error *err) {
    qn_host table;
    const qn_status copied = qn_copy_in(&table, sizeof table, QN_LEAST_qn_host, host);
    if (copied != QN_OK) {
        return zoo_honest->start(host, options, n_options, out, err);
    }
    zoo_host = table;
    their_host = host;
    n_starts++;
    if (IS(is_busy_once) && n_starts == 1) {
        return qn_fail(err, QN_BUSY, "the device is held by another process");
    }
    if (IS(leaves_a_thread_each_start)) {
        leave_a_thread();
    }
    if (IS(crashes_without_memory)) {
        char *memory = host->mem_alloc(host->ctx, QN_MEM_OTHER, 64, 16);
        memory[0] = 1;
        host->mem_free(host->ctx, memory);
    }
    if (IS(believes_any_blob)) {
        believe_blobs(host);
    }
    if (IS(ignores_cancel)) {
        table.cancel = &never;
    }
    if (IS(does_not_log)) {
        table.log = keep_silent;
    }
    if (IS(forgets_options)) {
        n_options = 0;
    }
    const qn_status status = zoo_honest->start(&table, options, n_options, out, err);
    if (IS(names_no_option) && status == QN_UNSUPPORTED) {
        return qn_fail(err, status, "an option is not known");
    }
    return status;
}

static qn_status QN_CALL list_devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room, uint32_t *count,
                                      qn_error *err) {
    if (IS(keeps_the_hosts_table) && their_host->size != sizeof *their_host) {
        return qn_fail(err, QN_INTERNAL, "the host's table has changed");
    }
    const qn_status status = zoo_honest->devices(plugin, infos, stride, room, count, err);
    if (status == QN_OK && room > 0 && IS(has_unstable_ids)) {
        snprintf(infos->id, sizeof infos->id, "cpu-%u", n_starts);
    }
    if (status == QN_OK && room > 0 && IS(overfills_devices)) {
        qn_device_info *behind = (qn_device_info *)(void *)((char *)infos + stride);
        behind->device_class = QN_DEVICE_CPU;
    }
    return status;
}

/* For has_unstable_ids: whatever the id, it is the one device. */
static qn_status QN_CALL open_device(qn_plugin_state *plugin, const char *device_id, const qn_option *options, uint32_t n_options,
                                     qn_device **out, qn_error *err) {
    const char *id = IS(has_unstable_ids) && strncmp(device_id, "cpu-", 4) == 0 ? "cpu" : device_id;
    const qn_status status = zoo_honest->open(plugin, id, options, IS(forgets_options) ? 0 : n_options, out, err);
    if (status < 0 && IS(has_unterminated_words)) {
        memset(err->text, 'x', sizeof err->text);
    }
    if (status < 0 && IS(tells_another_code)) {
        err->code = QN_INTERNAL;
    }
    if (status < 0 && IS(speaks_latin)) { /* qn_fail would make UTF-8 of it */
        snprintf(err->text, sizeof err->text, "kein Ger\xe4t '%s'", device_id);
    }
    return status;
}

/* --- Programs --------------------------------------------------------------------------------------------------------- */

static qn_status QN_CALL check(qn_device *device, const qn_program *program, const qn_compile_options *options, qn_verdict *verdicts,
                               uint64_t stride, qn_error *err) {
    const qn_status status = zoo_honest->check(device, program, options, verdicts, stride, err);
    for (uint32_t i = 0; IS(says_no_without_a_reason) && status == QN_OK && i < program->n_ops; i++) {
        qn_verdict *verdict = (qn_verdict *)(void *)((char *)verdicts + i * stride);
        verdict->verdict = qn_program_op(program, i)->op == QN_OP_ROPE ? QN_VERDICT_NO : verdict->verdict;
    }
    for (uint32_t i = 0; IS(says_no_to_everything) && status == QN_OK && i < program->n_ops; i++) {
        qn_verdict *verdict = (qn_verdict *)(void *)((char *)verdicts + i * stride);
        verdict->verdict = QN_VERDICT_NO;
        snprintf(verdict->text, sizeof verdict->text, "nothing is run here");
    }
    return status;
}

static qn_status QN_CALL plan(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *options,
                              qn_memory_plan *out, qn_error *err) {
    const qn_status status = zoo_honest->plan(device, program, limits, options, out, err);
    for (uint32_t kind = 0; status == QN_OK && kind < QN_MEM_KINDS; kind++) {
        if (IS(plans_too_little)) {
            out->host_bytes[kind] /= 2;
        } else if (IS(plans_too_much)) {
            out->host_bytes[kind] *= 2;
        }
    }
    return status;
}

static qn_status QN_CALL compile(qn_device *device, const qn_program *program, const qn_limits *limits, const qn_compile_options *options,
                                 qn_prog **out, qn_error *err) {
    qn_compile_options own;
    if (IS(taps_without_the_flag) && qn_copy_in(&own, sizeof own, QN_LEAST_qn_compile_options, options) == QN_OK) {
        own.flags |= QN_COMPILE_MATERIALIZE;
        options = &own;
    }
    if (IS(says_no_to_everything) && program != NULL && qn_copy_in(&own, sizeof own, QN_LEAST_qn_compile_options, options) == QN_OK) {
        return qn_fail(err, QN_UNSUPPORTED, "nothing is run here");
    }
    void *lost = IS(leaks_when_memory_runs_out) ? zoo_host.mem_alloc(zoo_host.ctx, QN_MEM_CODE, 64, 64) : NULL;
    const qn_status status = zoo_honest->compile(device, zoo_bend_program(program, options), limits, options, out, err);
    if (status == QN_OK) {
        zoo_host.mem_free(zoo_host.ctx, lost);
        their_program = program;
        zoo_note_program(program, limits);
    }
    return status;
}

static qn_status QN_CALL bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err) {
    qn_weight own;
    if (IS(reads_the_program_later) && their_program != NULL && their_program->magic != QN_PROGRAM_MAGIC) {
        return qn_fail(err, QN_INTERNAL, "the program has changed");
    }
    if (IS(reads_copied_weights_later) && n_weights == 1 && qn_copy_in(&own, sizeof own, QN_LEAST_qn_weight, weights) == QN_OK &&
        own.flags == QN_WEIGHT_COPY) {
        own.flags = QN_WEIGHT_BORROW;
        weights = &own;
    }
    const qn_status status = zoo_honest->bind_weights(prog, weights, stride, n_weights, err);
    return IS(binds_twice) && status == QN_BAD_STATE ? QN_OK : status;
}

static qn_status QN_CALL seal(qn_prog *prog, qn_error *err) {
    const qn_status status = zoo_honest->seal(prog, err);
    return IS(seals_without_weights) && status == QN_BAD_ARG ? QN_OK : status;
}

static uint64_t QN_CALL describe(qn_prog *prog, uint32_t op, char *text, uint64_t room) {
    if (IS(describes_nothing)) {
        if (room > 0) {
            text[0] = '\0';
        }
        return 0;
    }
    return zoo_honest->describe(prog, op, text, room);
}

/* --- Extensions ------------------------------------------------------------------------------------------------------- */

static uint64_t until_lost; /* steps; 0: never */
static int is_lost;

static qn_status QN_CALL arm(qn_device *device, uint32_t kind, uint64_t n, qn_error *err) {
    (void)device;
    if (kind != QN_FAULT_LOSE) {
        return qn_fail(err, kind > QN_FAULT_LOSE ? QN_BAD_ARG : QN_UNSUPPORTED, "faults of kind %u are not offered", kind);
    }
    until_lost = n;
    return QN_OK;
}

static uint64_t QN_CALL count(qn_device *device, uint32_t kind) {
    (void)device;
    (void)kind;
    return 0;
}

static const qn_test_fault faults = {.size = sizeof faults, .arm = arm, .count = count};

static const void *QN_CALL get_ext(const char *id) {
    if (IS(answers_any_extension) && strncmp(id, QN_EXT_TEST_FAULT, sizeof QN_EXT_TEST_FAULT - 1) == 0) {
        return &faults;
    }
    if ((IS(hangs_when_lost) || IS(forgets_that_it_is_lost)) && strcmp(id, QN_EXT_TEST_FAULT) == 0) {
        return &faults;
    }
    return zoo_honest->get_ext(id);
}

/* A step of a device that may be lost. */
static qn_status QN_CALL step(qn_session *session, const qn_step *s, qn_error *err) {
    if (until_lost > 0 && --until_lost == 0) {
        is_lost = IS(hangs_when_lost);
        return qn_fail(err, QN_DEVICE_LOST, "the device fell off the bus");
    }
    return is_lost ? qn_fail(err, QN_DEVICE_LOST, "the device is gone") : zoo_honest->step(session, s, err);
}

static qn_status QN_CALL session_new_lost(qn_prog *prog, qn_session **out, qn_error *err) {
    return is_lost ? qn_fail(err, QN_DEVICE_LOST, "the device is gone") : zoo_honest->session_new(prog, out, err);
}

static qn_status QN_CALL compile_lost(qn_device *device, const qn_program *program, const qn_limits *limits,
                                      const qn_compile_options *options, qn_prog **out, qn_error *err) {
    return is_lost ? qn_fail(err, QN_DEVICE_LOST, "the device is gone") : zoo_honest->compile(device, program, limits, options, out, err);
}

static qn_status QN_CALL plan_lost(qn_device *device, const qn_program *program, const qn_limits *limits,
                                   const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    return is_lost ? qn_fail(err, QN_DEVICE_LOST, "the device is gone") : zoo_honest->plan(device, program, limits, options, out, err);
}

static qn_status QN_CALL move_lost(qn_session *session, const qn_state_move *moves, uint64_t stride, uint32_t n_moves, qn_error *err) {
    return is_lost ? qn_fail(err, QN_DEVICE_LOST, "the device is gone")
                   : zoo_honest->state_move(session, moves, stride, n_moves, err);
}

static void QN_CALL free_lost(qn_session *session) {
    const struct timespec time = {3, 0};
    if (is_lost) {
        nanosleep(&time, NULL);
    }
    zoo_honest->session_free(session);
}

void zoo_fill_device(qn_plugin *verbs) {
    verbs->start = start;
    verbs->devices = list_devices;
    verbs->open = open_device;
    verbs->check = check;
    verbs->plan = plan;
    verbs->compile = compile;
    verbs->bind_weights = bind_weights;
    verbs->seal = seal;
    verbs->describe = describe;
    verbs->get_ext = get_ext;
}

void zoo_fill_lost(qn_plugin *verbs) {
    if (IS(hangs_when_lost) || IS(forgets_that_it_is_lost)) {
        verbs->step = step;
        verbs->session_new = session_new_lost;
        verbs->compile = compile_lost;
        verbs->plan = plan_lost;
        verbs->state_move = move_lost;
        verbs->session_free = free_lost;
    }
}
