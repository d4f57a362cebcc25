/* ocl_run.c — a recording into the queue and through it.
 *
 * The queue is in order: no barriers are needed. At a cut what there is is handed to the device, and the host waits for the cut
 * before: so the device always has work, and a cancelled run ends after at most two pieces.
 */
#include "ocl_internal.h"

/* What one run needs to know. */
typedef struct ocl_pass {
    gpu_driver_device *device;
    const ocl_api *api;
    cl_command_queue queue;
    int is_timed;
} ocl_pass;

static cl_int send_staged(const ocl_pass *pass, const gpu_recording *recording) {
    cl_int code = CL_SUCCESS;
    for (uint32_t i = 0; i < recording->n_staged && code == CL_SUCCESS; i++) {
        const ocl_staging *staged = &recording->staged[i];
        code = pass->api->EnqueueWriteBuffer(pass->queue, staged->memory->buffer, CL_FALSE, staged->begin, staged->end - staged->begin,
                                             (const char *)staged->memory->base.host + staged->begin, 0, NULL, NULL);
    }
    return code;
}

/* Between memories with a host side and buffers. What the host wrote is read where the host wrote it. */
static cl_int enqueue_copy(const ocl_pass *pass, const ocl_command *c, cl_event *event) {
    const char *from_host = c->from->base.host;
    char *to_host = c->to->base.host;
    if (to_host != NULL && from_host != NULL) {
        cl_int code = pass->api->EnqueueWriteBuffer(pass->queue, c->from->buffer, CL_FALSE, c->from_at, c->bytes, from_host + c->from_at, 0,
                                                    NULL, NULL);
        return code != CL_SUCCESS ? code
                                  : pass->api->EnqueueReadBuffer(pass->queue, c->from->buffer, CL_FALSE, c->from_at, c->bytes,
                                                                 to_host + c->to_at, 0, NULL, event);
    }
    if (from_host != NULL) {
        return pass->api->EnqueueWriteBuffer(pass->queue, c->to->buffer, CL_FALSE, c->to_at, c->bytes, from_host + c->from_at, 0, NULL, event);
    }
    if (to_host != NULL) {
        return pass->api->EnqueueReadBuffer(pass->queue, c->from->buffer, CL_FALSE, c->from_at, c->bytes, to_host + c->to_at, 0, NULL, event);
    }
    return pass->api->EnqueueCopyBuffer(pass->queue, c->from->buffer, c->to->buffer, c->from_at, c->to_at, c->bytes, 0, NULL, event);
}

static cl_int enqueue(const ocl_pass *pass, ocl_command *c, int is_waited_for) {
    cl_event *event = pass->is_timed || is_waited_for ? &c->event : NULL;
    return c->kernel == NULL ? enqueue_copy(pass, c, event)
                             : pass->api->EnqueueNDRangeKernel(pass->queue, c->kernel, 3, NULL, c->global, c->local, 0, NULL, event);
}

/* Behind a cut: everything before it goes to the device; everything before the cut before it is waited for. */
static cl_int cut(const ocl_pass *pass, ocl_command *now, ocl_command **before) {
    cl_int code = pass->api->Flush(pass->queue);
    if (code == CL_SUCCESS && *before != NULL) {
        code = pass->api->WaitForEvents(1, &(*before)->event);
    }
    *before = now;
    return code;
}

static cl_int enqueue_all(const ocl_pass *pass, gpu_recording *recording, int *is_cancelled) {
    const volatile uint32_t *cancel = pass->device->host->cancel;
    ocl_command *before = NULL;
    cl_int code = send_staged(pass, recording);
    for (uint32_t i = 0; i < recording->n_commands && code == CL_SUCCESS; i++) {
        ocl_command *c = &recording->commands[i];
        const int is_last = i + 1 == recording->n_commands;
        code = enqueue(pass, c, c->is_cut || is_last);
        if (code == CL_SUCCESS && c->is_cut && !is_last) {
            code = cut(pass, c, &before);
            if (qn_flag_is_up(cancel)) {
                *is_cancelled = 1;
                break;
            }
        }
    }
    return code;
}

/* How the last command ended: commands behind a failed one do not run. */
static cl_int find_end(const ocl_pass *pass, const gpu_recording *recording) {
    const ocl_command *last = &recording->commands[recording->n_commands - 1];
    cl_int status = CL_COMPLETE;
    if (last->event != NULL) {
        const cl_int code = pass->api->GetEventInfo(last->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        status = code != CL_SUCCESS ? code : status;
    }
    return status < 0 ? status : CL_SUCCESS;
}

static void add_times(const ocl_pass *pass, const gpu_recording *recording, uint64_t *nanoseconds) {
    for (uint32_t i = 0; i < recording->n_commands; i++) {
        const cl_event event = recording->commands[i].event;
        cl_ulong begin = 0, end = 0;
        if (event != NULL && pass->api->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL) == CL_SUCCESS &&
            pass->api->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS && end > begin) {
            nanoseconds[i] += end - begin;
        }
    }
}

static void release_events(const ocl_pass *pass, gpu_recording *recording) {
    for (uint32_t i = 0; i < recording->n_commands; i++) {
        if (recording->commands[i].event != NULL) {
            pass->api->ReleaseEvent(recording->commands[i].event);
            recording->commands[i].event = NULL;
        }
    }
}

static qn_status choose_queue(gpu_driver_device *device, int is_timed, cl_command_queue *out, qn_error *err) {
    cl_int code = CL_SUCCESS;
    if (is_timed && device->timed_queue == NULL) {
        device->timed_queue =
            device->api->CreateCommandQueue(device->context, device->found->device, CL_QUEUE_PROFILING_ENABLE, &code);
    }
    *out = is_timed ? device->timed_queue : device->queue;
    return *out != NULL ? QN_OK : ocl_fail(err, code, "clCreateCommandQueue");
}

/* An error that the device met while it ran, of whatever name, leaves memory that nobody can vouch for. */
static qn_status fail_run(cl_int code, int is_from_device, qn_error *err) {
    const qn_status status = ocl_fail(err, code, is_from_device ? "the device stopped in a step" : "a step cannot be queued");
    if (status != QN_INTERNAL || !is_from_device) {
        return status;
    }
    if (err != NULL && err->size >= sizeof(qn_error)) {
        err->code = QN_DEVICE_LOST;
    }
    return QN_DEVICE_LOST;
}

qn_status ocl_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    ocl_pass pass = {.device = device, .api = device->api, .is_timed = nanoseconds != NULL};
    int is_cancelled = 0;
    if (recording->n_commands == 0) {
        return qn_fail(err, QN_INTERNAL, "an empty recording");
    }
    qn_status status = choose_queue(device, pass.is_timed, &pass.queue, err);
    if (status != QN_OK) {
        return status;
    }
    const cl_int queued = enqueue_all(&pass, recording, &is_cancelled);
    const cl_int finished = pass.api->Finish(pass.queue);
    const cl_int ended = finished != CL_SUCCESS ? finished : find_end(&pass, recording);
    if (queued != CL_SUCCESS || ended != CL_SUCCESS) {
        status = fail_run(queued != CL_SUCCESS ? queued : ended, queued == CL_SUCCESS, err);
    } else if (is_cancelled) {
        status = qn_fail(err, QN_CANCELLED, "cancelled between two layers");
    } else if (pass.is_timed) {
        add_times(&pass, recording, nanoseconds);
    }
    release_events(&pass, recording);
    return status;
}
