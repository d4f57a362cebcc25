/* ocl_record.c — launches with their arguments set: each has a kernel object of its own, so that a run sets none.
 *
 * Arguments of a kernel: for each buffer the buffer and the offset of the binding in bytes (a ulong; sub-buffers would have to begin
 * at multiples of up to 512 bytes), then the parameters as one struct.
 */
#include "ocl_internal.h"

qn_status ocl_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err) {
    const uint64_t bytes = sizeof(gpu_recording) + (uint64_t)room * sizeof(ocl_command);
    gpu_recording *recording = device->host->mem_alloc(device->host->ctx, QN_MEM_SCRATCH, bytes, 64);
    if (recording == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no memory for %u launches (%llu bytes)", room, (unsigned long long)bytes);
    }
    recording->room = room;
    *out = recording;
    return QN_OK;
}

void ocl_recording_free(gpu_driver_device *device, gpu_recording *recording) {
    if (recording == NULL) {
        return;
    }
    for (uint32_t i = 0; i < recording->room; i++) {
        if (recording->commands[i].kernel != NULL) {
            device->api->ReleaseKernel(recording->commands[i].kernel);
        }
    }
    device->host->mem_free(device->host->ctx, recording);
}

/* Kernels read [begin, end) of this UPLOAD memory. */
static qn_status stage(gpu_recording *recording, const ocl_memory *memory, uint64_t begin, uint64_t end, qn_error *err) {
    for (uint32_t i = 0; i < recording->n_staged; i++) {
        ocl_staging *known = &recording->staged[i];
        if (known->memory == memory) {
            known->begin = begin < known->begin ? begin : known->begin;
            known->end = end > known->end ? end : known->end;
            return QN_OK;
        }
    }
    if (recording->n_staged == OCL_MOST_STAGED) {
        return qn_fail(err, QN_INTERNAL, "kernels of one step read more than %u memories of the host", OCL_MOST_STAGED);
    }
    recording->staged[recording->n_staged++] = (ocl_staging){memory, begin, end};
    return QN_OK;
}

/* The kernel object of the place, as long as it is of the right kernel; otherwise a new one. */
static cl_int take_kernel(gpu_driver_device *device, ocl_command *command, uint32_t number) {
    cl_int code = CL_SUCCESS;
    if (command->kernel != NULL && command->number == number) {
        return code;
    }
    if (command->kernel != NULL) {
        device->api->ReleaseKernel(command->kernel);
    }
    command->kernel = device->api->CreateKernel(device->programs[number], ocl_kernels[number].name, &code);
    command->number = number;
    return code;
}

static cl_int set_arguments(gpu_driver_device *device, cl_kernel kernel, const gpu_launch *launch) {
    const ocl_api *api = device->api;
    cl_int code = CL_SUCCESS;
    cl_uint n = 0;
    for (uint32_t i = 0; i < launch->n_buffers && code == CL_SUCCESS; i++) {
        const gpu_binding *binding = &launch->buffers[i];
        const cl_ulong at = binding->at;
        code = api->SetKernelArg(kernel, n++, sizeof(cl_mem), &ocl_memory_of(binding->memory)->buffer);
        code = code == CL_SUCCESS ? api->SetKernelArg(kernel, n++, sizeof at, &at) : code;
    }
    if (code == CL_SUCCESS && launch->n_params > 0) {
        code = api->SetKernelArg(kernel, n, launch->n_params * sizeof(uint32_t), launch->params);
    }
    return code;
}

static qn_status stage_buffers(gpu_recording *recording, const gpu_launch *launch, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < launch->n_buffers && status == QN_OK; i++) {
        const gpu_binding *binding = &launch->buffers[i];
        const ocl_memory *memory = ocl_memory_of(binding->memory);
        if (memory->place == GPU_PLACE_READBACK) {
            return qn_fail(err, QN_INTERNAL, "kernel %s is given memory that only copies write", ocl_kernels[launch->kernel].name);
        }
        if (memory->place == GPU_PLACE_UPLOAD) {
            status = stage(recording, memory, binding->at, binding->at + binding->bytes, err);
        }
    }
    return status;
}

static qn_status record_kernel(gpu_driver_device *device, gpu_recording *recording, ocl_command *command, const gpu_launch *launch,
                               qn_error *err) {
    if (launch->kernel >= ocl_n_kernels || device->programs[launch->kernel] == NULL) {
        return qn_fail(err, QN_INTERNAL, "kernel number %u is not open", launch->kernel);
    }
    const qn_status status = stage_buffers(recording, launch, err);
    if (status != QN_OK) {
        return status;
    }
    cl_int code = take_kernel(device, command, launch->kernel);
    code = code == CL_SUCCESS ? set_arguments(device, command->kernel, launch) : code;
    if (code != CL_SUCCESS) {
        char what[96];
        snprintf(what, sizeof what, "the arguments of kernel %s", ocl_kernels[launch->kernel].name);
        return ocl_fail(err, code, what);
    }
    for (uint32_t d = 0; d < 3; d++) {
        command->local[d] = d == 0 ? ocl_kernels[launch->kernel].group : 1;
        command->global[d] = launch->grid[d] * command->local[d];
    }
    return QN_OK;
}

static void record_copy(gpu_driver_device *device, ocl_command *command, const gpu_launch *launch) {
    if (command->kernel != NULL) {
        device->api->ReleaseKernel(command->kernel);
        command->kernel = NULL;
    }
    command->from = ocl_memory_of(launch->buffers[0].memory);
    command->to = ocl_memory_of(launch->buffers[1].memory);
    command->from_at = launch->buffers[0].at;
    command->to_at = launch->buffers[1].at;
    command->bytes = launch->buffers[0].bytes;
}

qn_status ocl_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err) {
    recording->n_commands = recording->n_staged = 0;
    if (n > recording->room) {
        return qn_fail(err, QN_INTERNAL, "%u launches for a recording with room for %u", n, recording->room);
    }
    for (uint32_t i = 0; i < n; i++) {
        ocl_command *command = &recording->commands[i];
        qn_status status = QN_OK;
        command->is_cut = (launches[i].flags & GPU_LAUNCH_CUT) != 0;
        if (launches[i].kernel == GPU_COPY) {
            record_copy(device, command, &launches[i]);
        } else {
            status = record_kernel(device, recording, command, &launches[i], err);
        }
        if (status != QN_OK) {
            recording->n_staged = 0;
            return status;
        }
    }
    recording->n_commands = n;
    return QN_OK;
}
