/* emulated_run.c — recordings, and the worker that runs them while the host waits. */
#include <time.h>

#include "emulated.h"
#include "emulator.h"

#define DELAY_NS 20000 /* between giving work and its beginning: nothing may count on it having begun */

/* --- Recordings --------------------------------------------------------------------------------------------------- */

qn_status emulated_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err) {
    const uint64_t bytes = sizeof(gpu_recording) + room * sizeof(gpu_launch);
    *out = device->host->mem_alloc(device->host->ctx, QN_MEM_SCRATCH, bytes, 16);
    if (*out == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "a recording of %u launches: %llu bytes", room, (unsigned long long)bytes);
    }
    (*out)->room = room;
    return QN_OK;
}

void emulated_recording_free(gpu_driver_device *device, gpu_recording *recording) {
    device->host->mem_free(device->host->ctx, recording);
}

static const char *judge_binding(const gpu_binding *binding) {
    if (binding->memory == NULL) {
        return "a binding without memory";
    }
    if (binding->at % 4 != 0 || binding->bytes < 4) {
        return "a binding that is not aligned or too short";
    }
    /* Pages are whole: the last word of what was imported may end beyond it. */
    const uint64_t end = (binding->memory->bytes + 3) / 4 * 4;
    return binding->at > end || binding->bytes > end - binding->at ? "a binding beyond its memory" : NULL;
}

static const char *judge_copy(const gpu_launch *launch) {
    const gpu_binding *from = &launch->buffers[0], *to = &launch->buffers[1];
    if (launch->n_buffers != 2 || from->bytes != to->bytes) {
        return "a copy between different lengths";
    }
    return from->memory == to->memory && from->at < to->at + to->bytes && to->at < from->at + from->bytes
               ? "a copy onto itself"
               : NULL;
}

static const char *judge_kernel(const gpu_driver_device *device, const gpu_launch *launch) {
    if (launch->kernel >= EMULATED_KERNELS || device->opened[launch->kernel] == 0) {
        return "a kernel that was not opened";
    }
    if (launch->n_buffers != emu_n_buffers(launch->kernel) || launch->n_params != emu_n_params(launch->kernel)) {
        return "another number of buffers or parameters than the kernel has";
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->grid[i] > 65535) {
            return "a grid that is empty or too large";
        }
    }
    return NULL;
}

static const char *judge_launch(const gpu_driver_device *device, const gpu_launch *launch) {
    for (uint32_t b = 0; b < launch->n_buffers && b < GPU_MAX_BUFFERS; b++) {
        const char *fault = judge_binding(&launch->buffers[b]);
        if (fault != NULL) {
            return fault;
        }
    }
    return launch->kernel == GPU_COPY ? judge_copy(launch) : judge_kernel(device, launch);
}

qn_status emulated_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n,
                          qn_error *err) {
    recording->n = 0;
    if (n == 0 || n > recording->room || (launches[0].flags & GPU_LAUNCH_BESIDE) != 0) {
        return qn_fail(err, QN_INTERNAL, "%u launches for a room of %u, or the first has a neighbour", n,
                       recording->room);
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *fault = judge_launch(device, &launches[i]);
        if (fault != NULL) {
            return qn_fail_op(err, launches[i].op, QN_INTERNAL, "launch %u of kernel %u: %s", i, launches[i].kernel,
                              fault);
        }
    }
    memcpy(recording->launches, launches, n * sizeof *launches);
    recording->n = n;
    return QN_OK;
}

/* --- The worker --------------------------------------------------------------------------------------------------- */

static char *bytes_of(const gpu_binding *binding) {
    return ((const emulated_memory *)binding->memory)->pages + binding->at;
}

static qn_status run_launch(const gpu_driver_device *device, const gpu_launch *launch, qn_error *err) {
    char text[400];
    emu_launch run = {.kernel = launch->kernel,
                      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                      .n_buffers = launch->n_buffers,
                      .params = launch->params,
                      .n_params = launch->n_params,
                      .subgroup = device->subgroup};
    if (launch->kernel == GPU_COPY) {
        memcpy(bytes_of(&launch->buffers[1]), bytes_of(&launch->buffers[0]), launch->buffers[0].bytes);
        return QN_OK;
    }
    for (uint32_t b = 0; b < launch->n_buffers; b++) {
        run.buffers[b] = (emu_binding){bytes_of(&launch->buffers[b]), launch->buffers[b].bytes};
    }
    return emu_run(&run, text, sizeof text) == 0 ? QN_OK : qn_fail_op(err, launch->op, QN_INTERNAL, "%s", text);
}

static uint64_t read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Launches [first, end) have no barrier between them: they run from the last to the first, so that one that leans on
 * another shows. */
static qn_status run_group(const gpu_driver_device *device, uint32_t first, uint32_t end, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t i = end; i > first && status == QN_OK; i--) {
        const uint64_t begin = read_clock();
        status = run_launch(device, &device->job->launches[i - 1], err);
        if (device->nanoseconds != NULL) {
            device->nanoseconds[i - 1] += read_clock() - begin;
        }
    }
    return status;
}

static qn_status run_job(gpu_driver_device *device, qn_error *err) {
    const gpu_recording *job = device->job;
    const struct timespec delay = {.tv_nsec = DELAY_NS};
    nanosleep(&delay, NULL);
    for (uint32_t first = 0; first < job->n;) {
        uint32_t end = first + 1;
        while (end < job->n && (job->launches[end].flags & GPU_LAUNCH_BESIDE) != 0) {
            end++;
        }
        const qn_status status = run_group(device, first, end, err);
        if (status != QN_OK) {
            return status;
        }
        if ((job->launches[end - 1].flags & GPU_LAUNCH_CUT) != 0 && qn_flag_is_up(device->host->cancel)) {
            return qn_fail(err, QN_CANCELLED, "cancelled behind launch %u of %u", end, job->n);
        }
        first = end;
    }
    return QN_OK;
}

void *emulated_work(void *arg) {
    gpu_driver_device *device = arg;
    pthread_mutex_lock(&device->lock);
    while (!device->is_closing) {
        if (device->job == NULL) {
            pthread_cond_wait(&device->changed, &device->lock);
            continue;
        }
        pthread_mutex_unlock(&device->lock);
        emulated_memories_begin(device);
        device->error = (qn_error){.size = sizeof device->error, .op = QN_NO_OP};
        const qn_status status = run_job(device, &device->error);
        emulated_memories_end(device);
        pthread_mutex_lock(&device->lock);
        device->status = status;
        device->job = NULL;
        pthread_cond_broadcast(&device->changed);
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

qn_status emulated_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    if (recording->n == 0) {
        return qn_fail(err, QN_INTERNAL, "an empty recording is run");
    }
    pthread_mutex_lock(&device->lock);
    device->job = recording;
    device->nanoseconds = nanoseconds;
    pthread_cond_broadcast(&device->changed);
    while (device->job != NULL) {
        pthread_cond_wait(&device->changed, &device->lock);
    }
    pthread_mutex_unlock(&device->lock);
    if (device->status == QN_OK) {
        return QN_OK;
    }
    return qn_fail_op(err, device->error.op, device->status, "%s", device->error.text);
}
