/* cuda_graph.c — launches become graphs: one for a step, or a few where the step is so long that it should be possible to cancel it.
 *
 *   launches    A   B   b   b   C   D   (b: beside the one before)      A ──► B ──► C ──► D
 *                                                                        ├──► b ──┤
 *                                                                        └──► b ──┘
 *
 * A launch that is not beside its neighbour begins a new rank; every node of a rank depends on every node of the rank before. The driver
 * copies the arguments into the graph, and nothing in them changes from run to run.
 */
#include "cuda_driver.h"

qn_status cuda_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err) {
    const qn_host *host = device->state->host;
    const uint64_t bytes = sizeof(gpu_recording) + (uint64_t)room * CUDA_LAUNCH_BYTES;
    gpu_recording *recording = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, bytes, 16);
    if (recording == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no memory for the %llu bytes of a recording of %u launches", (unsigned long long)bytes, room);
    }
    recording->room = room;
    recording->launches = (cuda_launch *)(void *)(recording + 1);
    recording->segments = (cuda_segment *)(void *)(recording->launches + room);
    recording->nodes = (cu_node *)(void *)(recording->segments + room);
    *out = recording;
    return QN_OK;
}

static void drop_graphs(gpu_driver_device *device, gpu_recording *recording) {
    for (uint32_t i = 0; i < recording->n_segments; i++) {
        device->state->api.graph_exec_destroy(recording->segments[i].exec);
    }
    recording->n_segments = 0;
    recording->n_launches = 0;
}

void cuda_recording_free(gpu_driver_device *device, gpu_recording *recording) {
    if (recording != NULL) {
        cuda_enter_to_free(device);
        drop_graphs(device, recording);
        cuda_leave(device);
        device->state->host->mem_free(device->state->host->ctx, recording);
    }
}

/* --- Launches --------------------------------------------------------------------------------------------------------- */

static const cuda_memory *memory_of(const gpu_binding *binding) {
    return (const cuda_memory *)(const void *)binding->memory;
}

static cu_copy copy_between(const gpu_binding *from, const gpu_binding *to) {
    const cuda_memory *source = memory_of(from), *target = memory_of(to);
    cu_copy copy = {.width_bytes = from->bytes, .height = 1, .depth = 1, .from_pitch = from->bytes, .from_height = 1,
                    .to_pitch = to->bytes, .to_height = 1};
    if (source->kind == CUDA_MEMORY_HOST) {
        copy.from_type = CU_MEMORY_HOST;
        copy.from_host = (const char *)source->shared.host + from->at;
    } else {
        copy.from_type = CU_MEMORY_DEVICE;
        copy.from_device = source->address + from->at;
    }
    if (target->kind == CUDA_MEMORY_HOST) {
        copy.to_type = CU_MEMORY_HOST;
        copy.to_host = (char *)target->shared.host + to->at;
    } else {
        copy.to_type = CU_MEMORY_DEVICE;
        copy.to_device = target->address + to->at;
    }
    return copy;
}

static void take_launch(const gpu_driver_device *device, const gpu_launch *from, cuda_launch *to) {
    *to = (cuda_launch){.grid = {from->grid[0], from->grid[1], from->grid[2]}, .n_buffers = from->n_buffers};
    if (from->kernel == GPU_COPY) {
        to->copy = copy_between(&from->buffers[0], &from->buffers[1]);
        return;
    }
    to->function = device->functions[from->kernel];
    to->group = cuda_kernel_group(from->kernel);
    for (uint32_t b = 0; b < from->n_buffers; b++) {
        to->buffers[b] = memory_of(&from->buffers[b])->address + from->buffers[b].at;
    }
    memcpy(to->params, from->params, from->n_params * sizeof to->params[0]);
}

void cuda_arguments(cuda_launch *launch, void *arguments[GPU_MAX_BUFFERS + 1]) {
    for (uint32_t b = 0; b < launch->n_buffers; b++) {
        arguments[b] = &launch->buffers[b];
    }
    arguments[launch->n_buffers] = launch->params;
}

/* --- Segments --------------------------------------------------------------------------------------------------------- */

/* Bytes that a launch may read, about: its largest buffer, once for each row of groups. */
static uint64_t traffic_of(const gpu_launch *launch) {
    uint64_t most = 0;
    for (uint32_t b = 0; b < launch->n_buffers; b++) {
        most = launch->buffers[b].bytes > most ? launch->buffers[b].bytes : most;
    }
    const uint64_t rows = launch->kernel == GPU_COPY ? 1 : (uint64_t)launch->grid[1] * launch->grid[2];
    return most > UINT64_MAX / 2 / rows ? UINT64_MAX / 2 : most * rows;
}

/* The launches from `first` on that go into one graph: up to a cut behind which enough is done. */
static uint32_t segment_end(const gpu_driver_device *device, const gpu_launch *launches, uint32_t first, uint32_t n) {
    uint64_t traffic = 0;
    for (uint32_t i = first; i < n; i++) {
        const uint64_t more = traffic_of(&launches[i]);
        traffic = more > UINT64_MAX / 2 - traffic ? UINT64_MAX / 2 : traffic + more;
        if ((launches[i].flags & GPU_LAUNCH_CUT) != 0 && traffic >= device->graph_bytes) {
            return i + 1;
        }
    }
    return n;
}

static qn_status add_node(gpu_driver_device *device, cu_graph graph, gpu_recording *recording, uint32_t at, const cu_node *needs,
                          uint32_t n_needs, qn_error *err) {
    const cu_api *api = &device->state->api;
    cuda_launch *launch = &recording->launches[at];
    void *arguments[GPU_MAX_BUFFERS + 1];
    if (launch->function == NULL) {
        return cuda_check(device, api->graph_add_copy(&recording->nodes[at], graph, needs, n_needs, &launch->copy, device->context),
                          "cuGraphAddMemcpyNode", err);
    }
    cuda_arguments(launch, arguments);
    const cu_kernel_node kernel = {.function = launch->function, .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                                   .block = {launch->group, 1, 1}, .arguments = arguments};
    return cuda_check(device, api->graph_add_kernel(&recording->nodes[at], graph, needs, n_needs, &kernel), "cuGraphAddKernelNode_v2", err);
}

static qn_status add_nodes(gpu_driver_device *device, cu_graph graph, gpu_recording *recording, const gpu_launch *launches,
                           const cuda_segment *segment, qn_error *err) {
    uint32_t rank = segment->first, before = segment->first; /* where this rank and the one before it begin */
    qn_status status = QN_OK;
    for (uint32_t i = segment->first; i < segment->end && status == QN_OK; i++) {
        if (i > segment->first && (launches[i].flags & GPU_LAUNCH_BESIDE) == 0) {
            before = rank;
            rank = i;
        }
        status = add_node(device, graph, recording, i, recording->nodes + before, rank - before, err);
        if (status != QN_OK && err != NULL) {
            err->op = launches[i].op;
        }
    }
    return status;
}

static qn_status make_graph(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, cuda_segment *segment,
                            qn_error *err) {
    const cu_api *api = &device->state->api;
    cu_graph graph = NULL;
    qn_status status = cuda_check(device, api->graph_create(&graph, 0), "cuGraphCreate", err);
    if (status != QN_OK) {
        return status;
    }
    status = add_nodes(device, graph, recording, launches, segment, err);
    if (status == QN_OK) {
        status = cuda_check(device, api->graph_instantiate(&segment->exec, graph, 0), "cuGraphInstantiateWithFlags", err);
    }
    api->graph_destroy(graph);
    return status;
}

static qn_status make_segments(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t first = 0; first < n && status == QN_OK;) {
        cuda_segment *segment = &recording->segments[recording->n_segments];
        *segment = (cuda_segment){.first = first, .end = segment_end(device, launches, first, n)};
        status = make_graph(device, recording, launches, segment, err);
        if (status == QN_OK) {
            recording->n_segments++;
            status = cuda_check(device, device->state->api.graph_upload(segment->exec, device->stream), "cuGraphUpload", err);
        }
        first = segment->end;
    }
    return status;
}

qn_status cuda_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err) {
    if (n > recording->room) {
        return qn_fail(err, QN_INTERNAL, "a recording for %u launches is to take %u", recording->room, n);
    }
    qn_status status = cuda_enter(device, err);
    if (status != QN_OK) {
        return status;
    }
    drop_graphs(device, recording);
    for (uint32_t i = 0; i < n; i++) {
        take_launch(device, &launches[i], &recording->launches[i]);
    }
    recording->n_launches = n;
    status = make_segments(device, recording, launches, n, err);
    if (status != QN_OK) {
        drop_graphs(device, recording);
    }
    cuda_leave(device);
    return status;
}
