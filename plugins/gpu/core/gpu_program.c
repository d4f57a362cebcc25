/* gpu_program.c — from the program's bytes to something that can make sessions: check, plan, compile, describe. */
#include "gpu_core.h"

#define MOST_KERNELS 64u /* that one op may be lowered to */

/* --- Arguments ---------------------------------------------------------------------------------------------------- */

/* The fastest class that is offered and allowed. */
static uint32_t choose_numeric(uint32_t offered, uint32_t allowed) {
    static const uint32_t order[] = {QN_NUMERIC_ACT8, QN_NUMERIC_F16ACC, QN_NUMERIC_F32ACC};
    for (uint32_t i = 0; i < 3; i++) {
        if ((offered & allowed & order[i]) != 0) {
            return order[i];
        }
    }
    return 0;
}

/* Copies and checks the compile options; options->numeric becomes the class that is taken. */
static qn_status read_options(const qn_device *device, const qn_compile_options *theirs, qn_compile_options *own,
                              qn_error *err) {
    qn_status status = qn_copy_in(own, sizeof *own, QN_LEAST_qn_compile_options, theirs);
    if (status != QN_OK) {
        return qn_fail(err, status, "compile options: absent, too short, or with a member that is not known here");
    }
    if ((own->flags & ~(uint32_t)(QN_COMPILE_MATERIALIZE | QN_COMPILE_DETERMINISTIC)) != 0) {
        return qn_fail(err, QN_TOO_NEW, "compile options: flags 0x%x are not known here", own->flags);
    }
    const uint32_t numeric = choose_numeric(device->numeric, own->numeric);
    if (numeric == 0) {
        return qn_fail(err, QN_UNSUPPORTED, "numeric classes 0x%x are allowed, the device offers 0x%x", own->numeric,
                       device->numeric);
    }
    own->numeric = numeric;
    return gpu_options_check(own->options, own->n_options, QN_OPTION_AT_COMPILE, err);
}

static qn_status read_arguments(const qn_device *device, const qn_program *program, const qn_compile_options *options,
                                qn_compile_options *own, qn_error *err) {
    if (device == NULL || program == NULL) {
        return qn_fail(err, QN_BAD_ARG, "no device or no program");
    }
    const qn_status status = qn_program_validate(program, program->total_bytes, err);
    return status == QN_OK ? read_options(device, options, own, err) : status;
}

/* --- Check -------------------------------------------------------------------------------------------------------- */

qn_status QN_CALL gpu_check(qn_device *device, const qn_program *program, const qn_compile_options *options,
                            qn_verdict *verdicts, uint64_t stride, qn_error *err) {
    qn_compile_options own;
    qn_status status = read_arguments(device, program, options, &own, err);
    if (status == QN_OK && (verdicts == NULL || stride < QN_LEAST_qn_verdict || stride % 8 != 0)) {
        status = qn_fail(err, QN_BAD_ARG, "check: no place for the verdicts");
    }
    if (status == QN_OK) {
        status = gpu_enter(device, err);
    }
    if (status != QN_OK) {
        return status;
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        qn_verdict *verdict = (qn_verdict *)(void *)((char *)verdicts + i * stride);
        verdict->text[0] = '\0';
        verdict->verdict =
            gpu_can_lower(&device->caps, program, i, own.numeric, verdict->text) ? QN_VERDICT_YES : QN_VERDICT_NO;
    }
    return gpu_leave(device, QN_OK);
}

/* A program with an op that cannot be run is not compiled. */
static qn_status check_ops(const qn_device *device, const qn_program *program, uint32_t numeric, qn_error *err) {
    for (uint32_t i = 0; i < program->n_ops; i++) {
        char text[184] = "";
        if (!gpu_can_lower(&device->caps, program, i, numeric, text)) {
            return qn_fail_op(err, i, QN_UNSUPPORTED, "op %u (%s): %s", i, qn_op_name(qn_program_op(program, i)->op),
                              text);
        }
    }
    return QN_OK;
}

/* --- Making ------------------------------------------------------------------------------------------------------- */

static qn_status take_tables(qn_prog *prog, const qn_program *program, qn_error *err) {
    const qn_device *device = prog->device;
    const uint64_t n = program->n_buffers;
    prog->program = gpu_host_take(device, QN_MEM_CODE, program->total_bytes);
    prog->weights = gpu_host_take(device, QN_MEM_CODE, n * sizeof *prog->weights);
    prog->weight_memory = gpu_host_take(device, QN_MEM_CODE, n * sizeof *prog->weight_memory);
    prog->weight_pools = (gpu_pools){0, (uint32_t)n, gpu_host_take(device, QN_MEM_CODE, n * sizeof(uint64_t))};
    prog->acts = gpu_host_take(device, QN_MEM_CODE, n * sizeof *prog->acts);
    prog->states = gpu_host_take(device, QN_MEM_CODE, n * sizeof *prog->states);
    prog->state_pools = (gpu_pools){0, (uint32_t)n, gpu_host_take(device, QN_MEM_CODE, n * sizeof(uint64_t))};
    prog->session_pools = (gpu_pools){0, GPU_REGIONS, prog->session_bytes};
    prog->output_at = gpu_host_take(device, QN_MEM_CODE, n * sizeof *prog->output_at);
    prog->tables = gpu_host_take(device, QN_MEM_CODE, program->n_ops * sizeof *prog->tables);
    prog->partner = gpu_host_take(device, QN_MEM_CODE, program->n_ops * sizeof *prog->partner);
    if (prog->program == NULL || prog->weights == NULL || prog->weight_memory == NULL
        || prog->weight_pools.bytes == NULL || prog->acts == NULL || prog->states == NULL
        || prog->state_pools.bytes == NULL || prog->output_at == NULL || prog->tables == NULL
        || prog->partner == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "compile: no host memory for the tables of %u buffers and %u ops",
                       program->n_buffers, program->n_ops);
    }
    memcpy(prog->program, program, program->total_bytes);
    gpu_fuse(prog->program, prog->flags, prog->partner);
    return QN_OK;
}

/* Gives back what a program holds; its device is locked. */
static void destroy_prog(qn_prog *prog) {
    qn_device *device = prog->device;
    if (prog->program != NULL && prog->weights != NULL && prog->weight_memory != NULL) {
        gpu_weights_free(prog);
    }
    void *const tables[] = {prog->program, prog->weights, prog->weight_memory,     prog->weight_pools.bytes,
                            prog->acts,    prog->states,  prog->state_pools.bytes, prog->output_at,
                            prog->tables,  prog->partner, prog->launches};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        gpu_host_give(device, tables[i]);
    }
    device->n_programs--;
    gpu_host_give(device, prog);
}

/* A program that has its layout but neither kernels nor device memory. */
static qn_status make_prog(qn_device *device, const qn_program *program, const qn_limits *limits,
                           const qn_compile_options *options, qn_prog **out, qn_error *err) {
    qn_status status = check_ops(device, program, options->numeric, err);
    if (status != QN_OK) {
        return status;
    }
    qn_prog *prog = gpu_host_take(device, QN_MEM_CODE, sizeof *prog);
    if (prog == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "compile: no host memory for %zu bytes", sizeof *prog);
    }
    prog->device = device;
    prog->limits = *limits;
    prog->flags = options->flags;
    prog->numeric = options->numeric;
    device->n_programs++;
    status = take_tables(prog, program, err);
    if (status == QN_OK) {
        status = gpu_layout_make(prog, err);
    }
    if (status != QN_OK) {
        destroy_prog(prog);
        return status;
    }
    *out = prog;
    return QN_OK;
}

/* --- Plan --------------------------------------------------------------------------------------------------------- */

qn_status QN_CALL gpu_plan(qn_device *device, const qn_program *program, const qn_limits *limits,
                           const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    qn_compile_options own;
    qn_limits own_limits;
    qn_prog *prog = NULL;
    qn_memory_plan plan = {.size = sizeof plan};
    qn_status status = out == NULL || out->size < QN_LEAST_qn_memory_plan
                           ? qn_fail(err, QN_BAD_ARG, "plan: no place for the result")
                           : read_arguments(device, program, options, &own, err);
    if (status == QN_OK) {
        status = qn_limits_read(program, limits, &own_limits, err);
    }
    if (status == QN_OK) {
        status = gpu_enter(device, err);
    }
    if (status != QN_OK) {
        return status;
    }
    status = make_prog(device, program, &own_limits, &own, &prog, err);
    if (status == QN_OK) {
        gpu_layout_plan(prog, &plan);
        destroy_prog(prog);
        status = qn_copy_out(out, QN_LEAST_qn_memory_plan, &plan, sizeof plan);
    }
    return gpu_leave(device, status);
}

/* --- Compile ------------------------------------------------------------------------------------------------------ */

static qn_status open_kernel(qn_device *device, uint32_t kernel, qn_error *err) {
    if (kernel >= GPU_KERNEL_WORDS * 64) {
        return qn_fail(err, QN_INTERNAL, "compile: kernel %u", kernel);
    }
    if ((device->opened[kernel / 64] >> (kernel % 64) & 1) != 0) {
        return QN_OK;
    }
    if (qn_flag_is_up(gpu_host(device)->cancel)) {
        return qn_fail(err, QN_CANCELLED, "compile: cancelled before kernel %s", gpu_kernel_name(kernel));
    }
    qn_status status = gpu_fault_pass(device, QN_FAULT_COMPILE, err);
    if (status == QN_OK) {
        status = gpu_the_driver.kernel_open(device->driver, kernel, err);
    }
    if (status == QN_OK) {
        device->opened[kernel / 64] |= UINT64_C(1) << (kernel % 64);
    }
    return status;
}

static qn_status open_kernels(qn_prog *prog, qn_error *err) {
    qn_device *device = prog->device;
    uint32_t kernels[MOST_KERNELS];
    uint32_t n = gpu_extra_kernels(kernels, MOST_KERNELS);
    qn_status status = QN_OK;
    for (uint32_t k = 0; k < n && k < MOST_KERNELS && status == QN_OK; k++) {
        status = open_kernel(device, kernels[k], err);
    }
    for (uint32_t i = 0; i < prog->program->n_ops && status == QN_OK; i++) {
        n = gpu_kernels_of(&device->caps, prog->program, i, prog->partner[i], prog->numeric, kernels, MOST_KERNELS);
        for (uint32_t k = 0; k < n && k < MOST_KERNELS && status == QN_OK; k++) {
            status = open_kernel(device, kernels[k], err);
            if (status != QN_OK && err != NULL) {
                err->op = i;
            }
        }
    }
    return status;
}

static qn_status finish_prog(qn_prog *prog, qn_error *err) {
    const uint64_t n = prog->room > prog->move_room ? prog->room : prog->move_room;
    prog->launches = gpu_host_take(prog->device, QN_MEM_CODE, n * sizeof *prog->launches);
    if (prog->launches == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "compile: no host memory for %llu launches", (unsigned long long)n);
    }
    const uint64_t n_built = prog->device->events[QN_FAULT_COMPILE];
    const qn_status status = open_kernels(prog, err);
    /* When all kernels were there, the compile itself is the event. */
    return status == QN_OK && prog->device->events[QN_FAULT_COMPILE] == n_built
               ? gpu_fault_pass(prog->device, QN_FAULT_COMPILE, err)
               : status;
}

qn_status QN_CALL gpu_compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                              const qn_compile_options *options, qn_prog **out, qn_error *err) {
    qn_compile_options own;
    qn_limits own_limits;
    qn_prog *prog = NULL;
    qn_status status = out == NULL ? qn_fail(err, QN_BAD_ARG, "compile: no place for the result")
                                   : read_arguments(device, program, options, &own, err);
    if (status == QN_OK) {
        status = qn_limits_read(program, limits, &own_limits, err);
    }
    if (status == QN_OK) {
        status = gpu_enter(device, err);
    }
    if (status != QN_OK) {
        return status;
    }
    status = make_prog(device, program, &own_limits, &own, &prog, err);
    if (status == QN_OK) {
        status = finish_prog(prog, err);
        if (status == QN_OK) {
            *out = prog;
        } else {
            destroy_prog(prog);
        }
    }
    return gpu_leave(device, status);
}

void QN_CALL gpu_prog_free(qn_prog *prog) {
    if (prog == NULL) {
        return;
    }
    qn_device *device = prog->device;
    const qn_host *host = gpu_host(device);
    pthread_mutex_lock(&device->lock);
    if (prog->n_sessions > 0) {
        host->log(host->ctx, QN_LOG_ERROR, "prog_free while a session is there: its memory is kept");
    } else {
        destroy_prog(prog);
    }
    pthread_mutex_unlock(&device->lock);
}

/* --- Describe ----------------------------------------------------------------------------------------------------- */

/* "gemv_q4_k|gemm_q4_k": which of them runs depends on the number of rows. */
static void name_kernels(const qn_prog *prog, uint32_t op, char *line, size_t room) {
    uint32_t kernels[MOST_KERNELS];
    size_t at = 0;
    const uint32_t n = gpu_kernels_of(&prog->device->caps, prog->program, op, prog->partner[op], prog->numeric, kernels, MOST_KERNELS);
    for (uint32_t k = 0; k < n && k < MOST_KERNELS && at < room; k++) {
        const int written = snprintf(line + at, room - at, "%s%s", k == 0 ? "" : "|", gpu_kernel_name(kernels[k]));
        at += written > 0 ? (size_t)written : 0;
    }
}

uint64_t QN_CALL gpu_describe(qn_prog *prog, uint32_t op, char *text, uint64_t room) {
    char line[200];
    if (prog != NULL && op < prog->program->n_ops) {
        snprintf(line, sizeof line, "%s", qn_op_name(qn_program_op(prog->program, op)->op));
        name_kernels(prog, op, line, sizeof line);
        if (prog->partner[op] < op) {
            snprintf(line, sizeof line, "with op %u", prog->partner[op]);
        }
    } else {
        snprintf(line, sizeof line, "%s: up to %u launches a step; %s", gpu_the_driver.name,
                 prog == NULL ? 0 : prog->room, gpu_the_driver.extra);
    }
    if (text != NULL && room > 0) {
        snprintf(text, room, "%s", line);
    }
    return strlen(line);
}
