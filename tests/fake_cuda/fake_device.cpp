/* fake_device.cpp — starting, one device that does not exist, its context, and failures on request. */
#include "fake_state.h"

#include <cstdlib>
#include <cstring>

/* Never destroyed: threads of a host may call in while the process ends. */
fake_world &world() {
    static fake_world *const the_world = new fake_world;
    return *the_world;
}

static const cu_device the_device = 4711; /* not an index, so that one in its place shows */

struct cu_context_ {
    int unused;
};

static cu_context_ the_context;

static std::vector<cu_context> &context_stack() {
    static thread_local std::vector<cu_context> stack;
    return stack;
}

/* --- Settings --------------------------------------------------------------------------------------------------------- */

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

static fake_settings read_settings() {
    fake_settings s;
    s.capability = static_cast<int>(number_of("FAKE_CUDA_CAPABILITY", 90));
    s.n_devices = static_cast<int>(number_of("FAKE_CUDA_DEVICES", 1));
    s.version = static_cast<int>(number_of("FAKE_CUDA_VERSION", 13000));
    s.is_integrated = number_of("FAKE_CUDA_INTEGRATED", 0) != 0;
    s.memory_bytes = number_of("FAKE_CUDA_MEMORY", s.memory_bytes);
    s.lost_at = number_of("FAKE_CUDA_LOST", 0);
    const char *fail = getenv("FAKE_CUDA_FAIL");
    if (fail != nullptr) {
        const std::string text = fail;
        const size_t colon = text.find(':');
        char *rest = nullptr;
        s.fail_name = text.substr(0, colon);
        s.fail_at = colon == std::string::npos ? 1 : strtoull(text.c_str() + colon + 1, &rest, 10);
        if (rest != nullptr && *rest == ':') {
            s.fail_code = static_cast<cu_result>(strtol(rest + 1, nullptr, 10));
        }
    }
    return s;
}

/* --- Every entry point ------------------------------------------------------------------------------------------------ */

/* Is it this function, whatever version? */
static bool is_named(const char *function, const std::string &name) {
    const size_t length = name.size();
    return length > 0 && strncmp(function, name.c_str(), length) == 0
           && (function[length] == '\0' || strncmp(function + length, "_v", 2) == 0);
}

cu_result fake_enter(const char *function, bool needs_context) {
    fake_world &w = world();
    std::lock_guard<std::mutex> hold(w.lock);
    if (!w.is_started) {
        return CU_NOT_INITIALIZED;
    }
    if (needs_context && context_stack().empty()) {
        return CU_INVALID_CONTEXT;
    }
    if (needs_context && w.lost != CU_OK) {
        return w.lost;
    }
    if (is_named(function, w.settings.fail_name) && ++w.n_fail_calls == w.settings.fail_at) {
        return w.settings.fail_code;
    }
    return CU_OK;
}

void fake_count(int more) {
    std::lock_guard<std::mutex> hold(world().lock);
    world().n_live += static_cast<uint64_t>(static_cast<int64_t>(more));
}

void fake_lose(cu_result result) {
    std::lock_guard<std::mutex> hold(world().lock);
    world().lost = result;
}

cu_result fake_lost() {
    std::lock_guard<std::mutex> hold(world().lock);
    return world().lost;
}

/* --- Start and devices ------------------------------------------------------------------------------------------------ */

cu_result cuInit(uint32_t flags) {
    fake_world &w = world();
    std::lock_guard<std::mutex> hold(w.lock);
    w.settings = read_settings();
    w.n_fail_calls = 0;
    w.n_launches = 0;
    w.hook_at = 0;
    w.is_started = w.settings.n_devices > 0;
    if (is_named("cuInit", w.settings.fail_name)) {
        w.is_started = false;
        return w.settings.fail_code;
    }
    return flags != 0 ? CU_INVALID_VALUE : w.is_started ? CU_OK : CU_NO_DEVICE;
}

cu_result cuDriverGetVersion(int32_t *version) {
    *version = static_cast<int32_t>(number_of("FAKE_CUDA_VERSION", 13000));
    return CU_OK;
}

cu_result cuGetErrorName(cu_result result, const char **name) {
    static const struct {
        cu_result result;
        const char *name;
    } names[] = {{CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"}, {CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"}, {CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
                 {CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"}, {CU_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                 {CU_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}, {CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
                 {CU_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
                 {CU_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {CU_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"}};
    for (const auto &row : names) {
        if (row.result == result) {
            *name = row.name;
            return CU_OK;
        }
    }
    *name = nullptr;
    return CU_INVALID_VALUE;
}

cu_result cuDeviceGetCount(int32_t *count) {
    FAKE_ENTER(false);
    *count = world().settings.n_devices;
    return CU_OK;
}

cu_result cuDeviceGet(cu_device *device, int32_t index) {
    FAKE_ENTER(false);
    *device = the_device;
    return index >= 0 && index < world().settings.n_devices ? CU_OK : CU_INVALID_DEVICE;
}

/* Text with its terminator, cut to the room. */
static cu_result give_text(const char *text, char *to, int32_t room, cu_device device) {
    if (device != the_device || room <= 0) {
        return CU_INVALID_VALUE;
    }
    strncpy(to, text, static_cast<size_t>(room) - 1);
    to[room - 1] = '\0';
    return CU_OK;
}

cu_result cuDeviceGetName(char *name, int32_t room, cu_device device) {
    FAKE_ENTER(false);
    return give_text("Fake device over the emulator", name, room, device);
}

cu_result cuDeviceGetPCIBusId(char *bus, int32_t room, cu_device device) {
    FAKE_ENTER(false);
    return give_text("0000:FA:1C.0", bus, room, device);
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device) {
    FAKE_ENTER(false);
    *bytes = world().settings.memory_bytes;
    return device == the_device ? CU_OK : CU_INVALID_DEVICE;
}

cu_result cuDeviceGetAttribute(int32_t *value, int32_t attribute, cu_device device) {
    FAKE_ENTER(false);
    const fake_settings &s = world().settings;
    switch (attribute) {
    case CU_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_MAX_GRID_DIM_Y: *value = 65535; break;
    case CU_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_MAX_SHARED_MEMORY_PER_BLOCK: *value = 48 * 1024; break;
    case CU_WARP_SIZE: *value = 32; break;
    case CU_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_INTEGRATED: *value = s.is_integrated ? 1 : 0; break;
    case CU_CAPABILITY_MAJOR: *value = s.capability / 10; break;
    case CU_CAPABILITY_MINOR: *value = s.capability % 10; break;
    case CU_READ_ONLY_HOST_REGISTER_SUPPORTED: *value = 1; break;
    default: return CU_INVALID_VALUE;
    }
    return device == the_device ? CU_OK : CU_INVALID_DEVICE;
}

/* --- Contexts --------------------------------------------------------------------------------------------------------- */

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device) {
    FAKE_ENTER(false);
    if (device != the_device) {
        return CU_INVALID_DEVICE;
    }
    fake_count(1);
    std::lock_guard<std::mutex> hold(world().lock);
    world().n_retained++;
    *context = &the_context;
    return CU_OK;
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device) {
    FAKE_ENTER(false);
    std::unique_lock<std::mutex> hold(world().lock);
    if (device != the_device || world().n_retained == 0) {
        return CU_INVALID_CONTEXT;
    }
    world().n_retained--;
    world().n_live--;
    return CU_OK;
}

/* A dead context comes to life again. */
cu_result cuDevicePrimaryCtxReset_v2(cu_device device) {
    FAKE_ENTER(false);
    fake_lose(CU_OK);
    return device == the_device ? CU_OK : CU_INVALID_DEVICE;
}

cu_result cuCtxPushCurrent_v2(cu_context context) {
    FAKE_ENTER(false);
    if (context != &the_context || world().n_retained == 0) {
        return CU_INVALID_CONTEXT;
    }
    context_stack().push_back(context);
    return CU_OK;
}

cu_result cuCtxPopCurrent_v2(cu_context *context) {
    if (context_stack().empty()) {
        return CU_INVALID_CONTEXT;
    }
    *context = context_stack().back();
    context_stack().pop_back();
    return CU_OK;
}

/* --- For tests -------------------------------------------------------------------------------------------------------- */

uint64_t fake_cuda_live(void) {
    std::lock_guard<std::mutex> hold(world().lock);
    return world().n_live;
}

uint64_t fake_cuda_launches(void) {
    std::lock_guard<std::mutex> hold(world().lock);
    return world().n_launches;
}

void fake_cuda_before(uint64_t n, void (*act)(void *), void *argument) {
    std::lock_guard<std::mutex> hold(world().lock);
    world().hook_at = n == 0 ? 0 : world().n_launches + n;
    world().hook = act;
    world().hook_argument = argument;
}
