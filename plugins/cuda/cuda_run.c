/* cuda_run.c — running a recording: its graphs one behind the other, or, when times are asked for, its launches one by one. */
#include "cuda_driver.h"

static int is_cancelled(const gpu_driver_device *device) {
    return qn_flag_is_up(device->state->host->cancel);
}

static qn_status wait_for_all(gpu_driver_device *device, qn_error *err) {
    return cuda_check(device, device->state->api.stream_wait(device->stream), "cuStreamSynchronize", err);
}

/* Submits at most two graphs ahead, so that a cancelled step soon stands still. */
static qn_status run_graphs(gpu_driver_device *device, const gpu_recording *recording, qn_error *err) {
    const cu_api *api = &device->state->api;
    const cu_event marks[2] = {device->begin, device->end};
    for (uint32_t i = 0; i < recording->n_segments; i++) {
        qn_status status = QN_OK;
        if (i >= 2) {
            status = cuda_check(device, api->event_wait(marks[i % 2]), "cuEventSynchronize", err);
        }
        if (status == QN_OK && is_cancelled(device)) {
            status = wait_for_all(device, err);
            return status == QN_OK ? qn_fail(err, QN_CANCELLED, "cancelled after %u of %u graphs of the step", i, recording->n_segments)
                                   : status;
        }
        if (status == QN_OK) {
            status = cuda_check(device, api->graph_launch(recording->segments[i].exec, device->stream), "cuGraphLaunch", err);
        }
        if (status == QN_OK) {
            status = cuda_check(device, api->event_record(marks[i % 2], device->stream), "cuEventRecord", err);
        }
        if (status != QN_OK) {
            return status;
        }
    }
    return wait_for_all(device, err);
}

static qn_status submit_launch(gpu_driver_device *device, cuda_launch *launch, qn_error *err) {
    const cu_api *api = &device->state->api;
    void *arguments[GPU_MAX_BUFFERS + 1];
    if (launch->function == NULL) {
        return cuda_check(device, api->copy(&launch->copy, device->stream), "cuMemcpy3DAsync_v2", err);
    }
    cuda_arguments(launch, arguments);
    return cuda_check(device, api->launch(launch->function, launch->grid[0], launch->grid[1], launch->grid[2], launch->group, 1, 1, 0,
                                          device->stream, arguments, NULL),
                      "cuLaunchKernel", err);
}

static qn_status time_launch(gpu_driver_device *device, cuda_launch *launch, uint64_t *nanoseconds, qn_error *err) {
    const cu_api *api = &device->state->api;
    float milliseconds = 0;
    qn_status status = cuda_check(device, api->event_record(device->begin, device->stream), "cuEventRecord", err);
    if (status == QN_OK) {
        status = submit_launch(device, launch, err);
    }
    if (status == QN_OK) {
        status = cuda_check(device, api->event_record(device->end, device->stream), "cuEventRecord", err);
    }
    if (status == QN_OK) {
        status = wait_for_all(device, err);
    }
    if (status == QN_OK) {
        status = cuda_check(device, api->event_elapsed(&milliseconds, device->begin, device->end), "cuEventElapsedTime", err);
    }
    if (status == QN_OK && milliseconds > 0) {
        *nanoseconds += (uint64_t)((double)milliseconds * 1e6);
    }
    return status;
}

static qn_status run_timed(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < recording->n_launches && status == QN_OK; i++) {
        if (is_cancelled(device)) {
            return qn_fail(err, QN_CANCELLED, "cancelled after %u of %u launches of the step", i, recording->n_launches);
        }
        status = time_launch(device, &recording->launches[i], &nanoseconds[i], err);
    }
    return status;
}

qn_status cuda_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    qn_status status = cuda_enter(device, err);
    if (status == QN_OK) {
        status = nanoseconds == NULL ? run_graphs(device, recording, err) : run_timed(device, recording, nanoseconds, err);
        cuda_leave(device);
    }
    return status;
}
