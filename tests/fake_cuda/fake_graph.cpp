/* fake_graph.cpp — modules, launches of kernels, and graphs of them.
 *
 * A graph runs node by node in an order that keeps to its edges and to nothing else: of the nodes that may run the one that was added
 * last comes first, so that a missing edge shows.
 */
#include "fake_state.h"

#include <cstdio>
#include <cstring>

namespace {

/* A launch with its arguments taken. */
struct fake_call {
    const shim_kernel *kernel;
    uint32_t grid[3], n_items;
    cu_address buffers[EMU_MAX_BUFFERS];
    std::vector<char> params;
};

bool is_in_grid(const uint32_t grid[3], const uint32_t block[3], uint32_t shared_bytes) {
    const bool has_groups = grid[0] >= 1 && grid[1] >= 1 && grid[2] >= 1 && grid[0] <= INT32_MAX && grid[1] <= 65535 && grid[2] <= 65535;
    return has_groups && block[0] >= 1 && block[0] <= 1024 && block[1] == 1 && block[2] == 1 && shared_bytes == 0;
}

fake_call take_call(cu_function function, const uint32_t grid[3], uint32_t n_items, void **arguments) {
    fake_call call{};
    call.kernel = reinterpret_cast<const shim_kernel *>(function);
    std::memcpy(call.grid, grid, sizeof call.grid);
    call.n_items = n_items;
    for (uint32_t b = 0; b < call.kernel->n_buffers; b++) {
        std::memcpy(&call.buffers[b], arguments[b], sizeof call.buffers[b]);
    }
    const char *params = static_cast<const char *>(arguments[call.kernel->n_buffers]);
    call.params.assign(params, params + call.kernel->params_bytes);
    return call;
}

/* Counts the launch; does what was asked for at this one. */
cu_result count_launch() {
    fake_world &w = world();
    void (*act)(void *) = nullptr;
    void *argument = nullptr;
    {
        std::lock_guard<std::mutex> hold(w.lock);
        w.n_launches++;
        if (w.n_launches == w.settings.lost_at) {
            w.lost = CU_LAUNCH_FAILED;
        }
        if (w.n_launches == w.hook_at) {
            act = w.hook;
            argument = w.hook_argument;
        }
    }
    if (act != nullptr) {
        act(argument);
    }
    return fake_lost();
}

cu_result run_call(const fake_call &call) {
    const cu_result counted = count_launch();
    if (counted != CU_OK) {
        return counted;
    }
    emu_launch launch = {};
    char text[400];
    std::memcpy(launch.grid, call.grid, sizeof launch.grid);
    launch.n_buffers = call.kernel->n_buffers;
    for (uint32_t b = 0; b < launch.n_buffers; b++) {
        launch.buffers[b].data = fake_find(call.buffers[b], &launch.buffers[b].bytes);
        if (launch.buffers[b].data == nullptr) {
            fprintf(stderr, "fake libcuda: kernel %s: nothing lies at address 0x%llx of its buffer %u\n", call.kernel->name,
                    static_cast<unsigned long long>(call.buffers[b]), b);
            return CU_ILLEGAL_ADDRESS;
        }
    }
    launch.params = call.params.data();
    launch.n_params = static_cast<uint32_t>(call.params.size() / 4);
    if (emu_run_as(call.kernel->run, call.kernel->name, call.n_items, &launch, text, sizeof text) != 0) {
        fprintf(stderr, "fake libcuda: %s\n", text);
        return CU_LAUNCH_FAILED;
    }
    return CU_OK;
}

} // namespace

/* --- Modules ---------------------------------------------------------------------------------------------------------- */

struct cu_module_ {
    const void *image;
};

cu_result cuModuleLoadData(cu_module *module, const void *image) {
    FAKE_ENTER(true);
    *module = new cu_module_{image};
    fake_count(1);
    return image == nullptr ? CU_INVALID_VALUE : CU_OK;
}

cu_result cuModuleUnload(cu_module module) {
    delete module;
    fake_count(-1);
    return CU_OK;
}

/* Whatever the image holds: kernels here were compiled by the C++ compiler. */
cu_result cuModuleGetFunction(cu_function *function, cu_module module, const char *name) {
    FAKE_ENTER(true);
    const shim_kernel *kernel = module == nullptr ? nullptr : shim_find(name);
    *function = reinterpret_cast<cu_function>(const_cast<shim_kernel *>(kernel));
    return kernel == nullptr ? CU_NOT_FOUND : CU_OK;
}

cu_result cuLaunchKernel(cu_function function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
                         uint32_t block_z, uint32_t shared_bytes, cu_stream stream, void **arguments, void **extra) {
    FAKE_ENTER(true);
    const uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    if (function == nullptr || extra != nullptr || !is_in_grid(grid, block, shared_bytes)) {
        return CU_INVALID_VALUE;
    }
    fake_submit(stream, [call = take_call(function, grid, block_x, arguments)] { return run_call(call); });
    return CU_OK;
}

/* --- Graphs ----------------------------------------------------------------------------------------------------------- */

struct cu_node_ {
    bool is_copy = false;
    fake_call call{};
    cu_copy copy{};
    std::vector<size_t> needs;  /* indices of nodes that were added before */
    size_t index = 0;
};

struct cu_graph_ {
    std::vector<cu_node_ *> nodes;
};

struct cu_graph_exec_ {
    std::vector<cu_node_> nodes;
};

static cu_result add_node(cu_node *out, cu_graph graph, const cu_node *needs, size_t n_needs, cu_node_ node) {
    for (size_t i = 0; i < n_needs; i++) {
        if (needs[i] == nullptr || needs[i]->index >= graph->nodes.size() || graph->nodes[needs[i]->index] != needs[i]) {
            return CU_INVALID_VALUE;
        }
        node.needs.push_back(needs[i]->index);
    }
    node.index = graph->nodes.size();
    graph->nodes.push_back(new cu_node_(std::move(node)));
    *out = graph->nodes.back();
    return CU_OK;
}

cu_result cuGraphCreate(cu_graph *graph, uint32_t flags) {
    FAKE_ENTER(true);
    *graph = new cu_graph_;
    fake_count(1);
    return flags == 0 ? CU_OK : CU_INVALID_VALUE;
}

cu_result cuGraphDestroy(cu_graph graph) {
    for (cu_node_ *node : graph->nodes) {
        delete node;
    }
    delete graph;
    fake_count(-1);
    return CU_OK;
}

cu_result cuGraphAddKernelNode_v2(cu_node *node, cu_graph graph, const cu_node *needs, size_t n_needs, const cu_kernel_node *kernel) {
    FAKE_ENTER(true);
    if (kernel->function == nullptr || kernel->extra != nullptr || !is_in_grid(kernel->grid, kernel->block, kernel->shared_bytes)) {
        return CU_INVALID_VALUE;
    }
    cu_node_ own;
    own.call = take_call(kernel->function, kernel->grid, kernel->block[0], kernel->arguments);
    return add_node(node, graph, needs, n_needs, std::move(own));
}

cu_result cuGraphAddMemcpyNode(cu_node *node, cu_graph graph, const cu_node *needs, size_t n_needs, const cu_copy *copy,
                               cu_context context) {
    FAKE_ENTER(true);
    if (context == nullptr || copy->height != 1 || copy->depth != 1 || copy->width_bytes == 0) {
        return CU_INVALID_VALUE;
    }
    cu_node_ own;
    own.is_copy = true;
    own.copy = *copy;
    return add_node(node, graph, needs, n_needs, std::move(own));
}

cu_result cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, uint64_t flags) {
    FAKE_ENTER(true);
    if (flags != 0) {
        return CU_INVALID_VALUE;
    }
    *exec = new cu_graph_exec_;
    for (const cu_node_ *node : graph->nodes) {
        (*exec)->nodes.push_back(*node);
    }
    fake_count(1);
    return CU_OK;
}

cu_result cuGraphExecDestroy(cu_graph_exec exec) {
    delete exec;
    fake_count(-1);
    return CU_OK;
}

cu_result cuGraphUpload(cu_graph_exec exec, cu_stream stream) {
    FAKE_ENTER(true);
    return exec == nullptr || stream == nullptr ? CU_INVALID_VALUE : CU_OK;
}

static cu_result run_graph(const std::vector<cu_node_> &nodes) {
    std::vector<size_t> n_missing(nodes.size()), ready;
    for (size_t i = 0; i < nodes.size(); i++) {
        n_missing[i] = nodes[i].needs.size();
        if (n_missing[i] == 0) {
            ready.push_back(i);
        }
    }
    while (!ready.empty()) {
        size_t best = 0;
        for (size_t i = 1; i < ready.size(); i++) {
            best = ready[i] > ready[best] ? i : best;
        }
        const size_t at = ready[best];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
        const cu_result result = nodes[at].is_copy ? fake_copy(nodes[at].copy) : run_call(nodes[at].call);
        if (result != CU_OK) {
            return result;
        }
        for (size_t i = at + 1; i < nodes.size(); i++) {
            for (const size_t needed : nodes[i].needs) {
                if (needed == at && --n_missing[i] == 0) {
                    ready.push_back(i);
                }
            }
        }
    }
    return CU_OK;
}

cu_result cuGraphLaunch(cu_graph_exec exec, cu_stream stream) {
    FAKE_ENTER(true);
    /* A copy: destroying the graph while it runs is allowed. */
    fake_submit(stream, [nodes = exec->nodes] { return fake_lost() != CU_OK ? fake_lost() : run_graph(nodes); });
    return CU_OK;
}
