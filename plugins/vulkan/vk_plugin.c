/* vk_plugin.c — the driver's table, its options, and the instance. */
#include <string.h>

#include <quoin/glue.h>

#include "vk_driver.h"

static const qn_option_info options[] = {
    {.size = sizeof(qn_option_info), .type = QN_OPTION_CHOICE, .applies = QN_OPTION_AT_START, .key = "validate", .default_value = "off",
     .choices = "off|calls|kernels",
     .help = "Run under the Khronos validation layer, which checks calls and barriers (calls) and also what kernels touch (kernels); its "
             "errors make a step fail."},
    {.size = sizeof(qn_option_info), .type = QN_OPTION_CHOICE, .applies = QN_OPTION_AT_START, .key = "int_dot", .default_value = "auto",
     .choices = "auto|on|off",
     .help = "Offer class act8, with kernels that multiply bytes: where hardware does that (auto), wherever the driver can (on), or never."},
    {.size = sizeof(qn_option_info), .type = QN_OPTION_BOOL, .applies = QN_OPTION_AT_OPEN, .key = "import", .default_value = "on",
     .choices = "", .help = "Read weights in the mapped file where the device shares the host's memory; off copies them."},
    {.size = sizeof(qn_option_info), .type = QN_OPTION_BOOL, .applies = QN_OPTION_AT_OPEN, .key = "subgroups", .default_value = "on",
     .choices = "", .help = "Use kernels with subgroup arithmetic where the device has it."},
    GPU_CORE_OPTIONS};

qn_status vk_read_switch(const qn_option *option, bool *value, qn_error *err) {
    static const char *const words[] = {"off", "on", "no", "yes", "false", "true", "0", "1"};
    for (uint32_t i = 0; option->value != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(option->value, words[i]) == 0) {
            *value = i % 2 == 1;
            return QN_OK;
        }
    }
    return qn_fail(err, QN_BAD_ARG, "option %s is on or off; '%s' was given", option->key, option->value == NULL ? "" : option->value);
}

/* The number of the option's value among `words`. */
static qn_status read_word(const qn_option *option, const char *const *words, uint32_t n, uint32_t *out, qn_error *err) {
    for (uint32_t i = 0; option->value != NULL && i < n; i++) {
        if (strcmp(option->value, words[i]) == 0) {
            *out = i;
            return QN_OK;
        }
    }
    return qn_fail(err, QN_BAD_ARG, "option %s is one of %s, %s, %s; '%s' was given", option->key, words[0], words[1], words[2],
                   option->value == NULL ? "" : option->value);
}

static qn_status read_start_options(const qn_option *given, uint32_t n, uint32_t *validate, uint32_t *int_dot, qn_error *err) {
    static const char *const modes[] = {[VK_VALIDATE_OFF] = "off", [VK_VALIDATE_CALLS] = "calls", [VK_VALIDATE_KERNELS] = "kernels"};
    static const char *const uses[] = {[VK_INT_DOT_AUTO] = "auto", [VK_INT_DOT_ON] = "on", [VK_INT_DOT_OFF] = "off"};
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < n && status == QN_OK; i++) {
        status = strcmp(given[i].key, "int_dot") == 0 ? read_word(&given[i], uses, 3, int_dot, err)
                                                      : read_word(&given[i], modes, 3, validate, err);
    }
    return status;
}

static qn_status make_instance(gpu_driver_state *state, uint32_t validate, qn_error *err) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "quoin",
                                           .pEngineName = "quoin", .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    vk_validation validation = {.messenger = {0}};
    uint32_t version = 0;
    VkResult result = state->vk.EnumerateInstanceVersion(&version);
    if (result != VK_SUCCESS || version < VK_API_VERSION_1_1) {
        return qn_fail(err, QN_TOO_OLD, "the Vulkan loader speaks version %u.%u; 1.1 is needed", VK_API_VERSION_MAJOR(version),
                       VK_API_VERSION_MINOR(version));
    }
    qn_status status = validate != VK_VALIDATE_OFF ? vk_validation_add(state, validate, &validation, &info, err) : QN_OK;
    if (status != QN_OK) {
        return status;
    }
    result = state->vk.CreateInstance(&info, NULL, &state->instance);
    if (result != VK_SUCCESS) {
        return vk_fail(NULL, err, result, "vkCreateInstance");
    }
    status = vk_load_instance(&state->vk, state->instance, err);
    return status == QN_OK ? vk_validation_begin(state, &validation, err) : status;
}

static void stop(gpu_driver_state *state) {
    if (state != NULL) {
        if (state->instance != VK_NULL_HANDLE && state->vk.DestroyInstance != NULL) {
            vk_validation_end(state);
            state->vk.DestroyInstance(state->instance, NULL);
        }
        state->host->mem_free(state->host->ctx, state);
    }
}

static qn_status start(const qn_host *host, const qn_option *given, uint32_t n_given, gpu_driver_state **out, qn_error *err) {
    uint32_t validate = VK_VALIDATE_OFF, int_dot = VK_INT_DOT_AUTO;
    qn_status status = read_start_options(given, n_given, &validate, &int_dot, err);
    if (status != QN_OK) {
        return status;
    }
    gpu_driver_state *const state = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *state, 64);
    if (state == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for the driver's state (%zu bytes)", sizeof *state);
    }
    state->host = host;
    state->int_dot = int_dot;
    status = vk_open_loader(&state->vk, err);
    status = status == QN_OK ? make_instance(state, validate, err) : status;
    status = status == QN_OK ? vk_find_adapters(state, err) : status;
    if (status != QN_OK) {
        stop(state);
        return status;
    }
    *out = state;
    return QN_OK;
}

const gpu_driver gpu_the_driver = {
    .name = "vulkan", .extra = "kernels in SPIR-V 1.3, made from GLSL by glslc", .options = options, .n_options = sizeof options / sizeof options[0],
    .start = start, .stop = stop, .count = vk_count, .describe = vk_describe, .open = vk_open, .close = vk_close,
    .memory_new = vk_memory_new, .memory_import = vk_memory_import, .memory_free = vk_memory_free,
    .upload = vk_upload, .download = vk_download, .kernel_open = vk_kernel_open,
    .recording_new = vk_recording_new, .record = vk_record, .recording_free = vk_recording_free, .run = vk_run
};
