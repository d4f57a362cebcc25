/* vk_devices.c — the physical devices that can be used, asked without making a device: identity, limits, memory. */
#include <stdio.h>
#include <string.h>

#include <quoin/glue.h>

#include "vk_driver.h"

static const struct {
    const char *name;
    uint32_t bit;
} known_extensions[] = {
    {VK_EXT_PCI_BUS_INFO_EXTENSION_NAME, VK_HAS_PCI_BUS_INFO},
    {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_HAS_MEMORY_BUDGET},
    {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, VK_HAS_EXTERNAL_MEMORY_HOST},
    {VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, VK_HAS_DRIVER_PROPERTIES},
    {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_HAS_SUBGROUP_SIZE_CONTROL},
    {VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, VK_HAS_INTEGER_DOT_PRODUCT},
    {VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, VK_HAS_SM_BUILTINS},
    {VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME, VK_HAS_CORE_PROPERTIES}};

static qn_status find_extensions(gpu_driver_state *state, vk_adapter *adapter, qn_error *err) {
    uint32_t n = 0;
    VkResult result = state->vk.EnumerateDeviceExtensionProperties(adapter->handle, NULL, &n, NULL);
    VkExtensionProperties *const all = state->host->mem_alloc(state->host->ctx, QN_MEM_OTHER, (uint64_t)n * sizeof *all + 1, 64);
    if (all == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for the names of %u extensions", n);
    }
    result = result == VK_SUCCESS ? state->vk.EnumerateDeviceExtensionProperties(adapter->handle, NULL, &n, all) : result;
    for (uint32_t i = 0; result == VK_SUCCESS && i < n; i++) {
        for (size_t k = 0; k < sizeof known_extensions / sizeof known_extensions[0]; k++) {
            adapter->has |= strcmp(all[i].extensionName, known_extensions[k].name) == 0 ? known_extensions[k].bit : 0;
        }
    }
    state->host->mem_free(state->host->ctx, all);
    return result == VK_SUCCESS ? QN_OK : vk_fail(NULL, err, result, "vkEnumerateDeviceExtensionProperties");
}

/* A queue for compute alone runs beside the screen's; any other that computes will do. */
static bool find_queue(const vk_functions *vk, vk_adapter *adapter) {
    VkQueueFamilyProperties families[32];
    uint32_t n = sizeof families / sizeof families[0];
    bool found = false;
    vk->GetPhysicalDeviceQueueFamilyProperties(adapter->handle, &n, families);
    for (uint32_t i = 0; i < n; i++) {
        const bool computes = (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && families[i].queueCount > 0;
        const bool draws = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        if (computes && (!found || !draws)) {
            found = true;
            adapter->queue_family = i;
            adapter->timestamp_bits = families[i].timestampValidBits;
            if (!draws) {
                break;
            }
        }
    }
    return found;
}

/* The structs that are asked for in one chain; those of extensions that the device lacks are left out of it. */
typedef struct fact_chain {
    VkPhysicalDeviceProperties2 base;
    VkPhysicalDeviceIDProperties id;
    VkPhysicalDeviceMaintenance3Properties allocation;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci;
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host_memory;
    VkPhysicalDeviceSubgroupSizeControlProperties sizes;
    VkPhysicalDeviceShaderIntegerDotProductProperties dot;
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV multiprocessors;
    VkPhysicalDeviceShaderCorePropertiesAMD cores;
} fact_chain;

static void link_fact(fact_chain *chain, bool is_there, void *fact, VkStructureType type) {
    if (is_there) {
        VkBaseOutStructure *const link = fact;
        link->sType = type;
        link->pNext = chain->base.pNext;
        chain->base.pNext = link;
    }
}

static void ask_facts(const vk_functions *vk, const vk_adapter *adapter, fact_chain *chain) {
    const uint32_t has = adapter->has;
    *chain = (fact_chain){.base = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2}};
    link_fact(chain, true, &chain->id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    link_fact(chain, true, &chain->allocation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    link_fact(chain, true, &chain->subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    link_fact(chain, (has & VK_HAS_DRIVER_PROPERTIES) != 0, &chain->driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    link_fact(chain, (has & VK_HAS_PCI_BUS_INFO) != 0, &chain->pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
    link_fact(chain, (has & VK_HAS_EXTERNAL_MEMORY_HOST) != 0, &chain->host_memory,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
    link_fact(chain, (has & VK_HAS_SUBGROUP_SIZE_CONTROL) != 0, &chain->sizes,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    link_fact(chain, (has & VK_HAS_INTEGER_DOT_PRODUCT) != 0, &chain->dot,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
    link_fact(chain, (has & VK_HAS_SM_BUILTINS) != 0, &chain->multiprocessors,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
    link_fact(chain, (has & VK_HAS_CORE_PROPERTIES) != 0, &chain->cores,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
    vk->GetPhysicalDeviceProperties2(adapter->handle, &chain->base);
}

/* Demanding a subgroup size, and integer dot products, are features besides being extensions. */
static void ask_features(const vk_functions *vk, vk_adapter *adapter, const fact_chain *facts) {
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    if ((adapter->has & VK_HAS_SUBGROUP_SIZE_CONTROL) != 0) {
        sizes.pNext = features.pNext;
        features.pNext = &sizes;
    }
    if ((adapter->has & VK_HAS_INTEGER_DOT_PRODUCT) != 0) {
        dot.pNext = features.pNext;
        features.pNext = &dot;
    }
    vk->GetPhysicalDeviceFeatures2(adapter->handle, &features);
    adapter->can_fix_subgroup = sizes.subgroupSizeControl && sizes.computeFullSubgroups &&
                                (facts->sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    adapter->has_dot = dot.shaderIntegerDotProduct;
    adapter->has_fast_dot = dot.shaderIntegerDotProduct && facts->dot.integerDotProduct4x8BitPackedSignedAccelerated;
}

/* PCI address where there is one, otherwise the UUID that the driver gave. */
static void write_id(const vk_adapter *adapter, const fact_chain *facts, char id[64]) {
    const uint8_t *const u = facts->id.deviceUUID;
    if ((adapter->has & VK_HAS_PCI_BUS_INFO) != 0) {
        snprintf(id, 64, "%04x:%02x:%02x.%x", facts->pci.pciDomain, facts->pci.pciBus, facts->pci.pciDevice, facts->pci.pciFunction);
    } else {
        snprintf(id, 64, "uuid=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3], u[4], u[5],
                 u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    }
}

static void write_driver(const vk_adapter *adapter, const fact_chain *facts, char driver[128]) {
    const uint32_t version = adapter->api_version;
    if ((adapter->has & VK_HAS_DRIVER_PROPERTIES) != 0) {
        snprintf(driver, 128, "%.50s %.50s, Vulkan %u.%u.%u", facts->driver.driverName, facts->driver.driverInfo,
                 VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
    } else {
        snprintf(driver, 128, "version 0x%x, Vulkan %u.%u.%u", facts->base.properties.driverVersion, VK_API_VERSION_MAJOR(version),
                 VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
    }
}

static uint32_t count_units(const vk_adapter *adapter, const fact_chain *facts, const qn_host *host) {
    if (adapter->type == VK_PHYSICAL_DEVICE_TYPE_CPU) {
        return host->machine->n_cores;
    }
    const VkPhysicalDeviceShaderCorePropertiesAMD *const amd = &facts->cores;
    const uint32_t units = amd->shaderEngineCount * amd->shaderArraysPerEngineCount * amd->computeUnitsPerShaderArray;
    return units != 0 ? units : facts->multiprocessors.shaderSMCount;
}

static void read_facts(gpu_driver_state *state, vk_adapter *adapter) {
    fact_chain facts;
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    ask_facts(&state->vk, adapter, &facts);
    ask_features(&state->vk, adapter, &facts);
    state->vk.GetPhysicalDeviceMemoryProperties2(adapter->handle, &memory);
    adapter->memory = memory.memoryProperties;
    adapter->limits = facts.base.properties.limits;
    adapter->max_allocation = facts.allocation.maxMemoryAllocationSize;
    adapter->host_pointer_align = facts.host_memory.minImportedHostPointerAlignment;
    adapter->subgroup = facts.subgroup.subgroupSize;
    adapter->least_subgroup = facts.sizes.minSubgroupSize;
    adapter->most_subgroup = facts.sizes.maxSubgroupSize;
    adapter->has_subgroup_arithmetic = (facts.subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                       (facts.subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
    adapter->has_subgroup_broadcast = (facts.subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                      (facts.subgroup.supportedOperations & VK_SUBGROUP_FEATURE_BALLOT_BIT) != 0;
    adapter->compute_units = count_units(adapter, &facts, state->host);
    snprintf(adapter->name, sizeof adapter->name, "%.127s", facts.base.properties.deviceName);
    write_id(adapter, &facts, adapter->id);
    write_driver(adapter, &facts, adapter->driver);
}

/* Several drivers may serve one piece of hardware: it is offered once, by the driver that comes first. */
static bool is_known(const gpu_driver_state *state, const vk_adapter *adapter) {
    for (uint32_t i = 0; i < state->n_adapters; i++) {
        if (strcmp(state->adapters[i].id, adapter->id) == 0) {
            return true;
        }
    }
    return false;
}

static qn_status consider(gpu_driver_state *state, VkPhysicalDevice handle, qn_error *err) {
    vk_adapter *const adapter = &state->adapters[state->n_adapters];
    VkPhysicalDeviceProperties properties;
    char text[400];
    state->vk.GetPhysicalDeviceProperties(handle, &properties);
    *adapter = (vk_adapter){.handle = handle, .type = properties.deviceType, .api_version = properties.apiVersion};
    if (properties.apiVersion < VK_API_VERSION_1_1 || !find_queue(&state->vk, adapter)) {
        snprintf(text, sizeof text, "%s is passed over: its driver has no Vulkan 1.1 or no queue for compute", properties.deviceName);
        state->host->log(state->host->ctx, QN_LOG_INFO, text);
        return QN_OK;
    }
    const qn_status status = find_extensions(state, adapter, err);
    if (status == QN_OK) {
        read_facts(state, adapter);
        state->n_adapters += is_known(state, adapter) ? 0 : 1;
    }
    return status;
}

qn_status vk_find_adapters(gpu_driver_state *state, qn_error *err) {
    VkPhysicalDevice handles[VK_MAX_DEVICES];
    uint32_t n = VK_MAX_DEVICES;
    const VkResult result = state->vk.EnumeratePhysicalDevices(state->instance, &n, handles);
    if (result == VK_ERROR_INITIALIZATION_FAILED) {
        return QN_OK; /* a loader without drivers says so in this way */
    }
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
        return vk_fail(NULL, err, result, "vkEnumeratePhysicalDevices");
    }
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < n; i++) {
        status = consider(state, handles[i], err);
    }
    return status;
}

bool vk_shares_memory(const vk_adapter *adapter) {
    return adapter->type == VK_PHYSICAL_DEVICE_TYPE_CPU || adapter->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

bool vk_can_import(const vk_adapter *adapter, const qn_host *host) {
    /* A granule above the page could reach beyond what is mapped. */
    return vk_shares_memory(adapter) && (adapter->has & VK_HAS_EXTERNAL_MEMORY_HOST) != 0 && adapter->host_pointer_align != 0 &&
           adapter->host_pointer_align <= host->machine->page_bytes;
}

bool vk_uses_dot(const gpu_driver_state *state, const vk_adapter *adapter) {
    /* What is made for processors is faster there than kernels for GPUs. */
    return state->int_dot == VK_INT_DOT_ON ? adapter->has_dot
                                           : state->int_dot == VK_INT_DOT_AUTO && adapter->has_fast_dot &&
                                                 adapter->type != VK_PHYSICAL_DEVICE_TYPE_CPU;
}

uint64_t vk_free_bytes(const vk_functions *vk, const vk_adapter *adapter, uint64_t *total) {
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    const bool has_budget = (adapter->has & VK_HAS_MEMORY_BUDGET) != 0;
    uint32_t largest = 0;
    if (has_budget) {
        memory.pNext = &budget;
    }
    vk->GetPhysicalDeviceMemoryProperties2(adapter->handle, &memory);
    *total = 0;
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++) {
        const VkMemoryHeap *const heap = &memory.memoryProperties.memoryHeaps[i];
        if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 && heap->size > *total) {
            largest = i;
            *total = heap->size;
        }
    }
    if (!has_budget) {
        return *total;
    }
    return budget.heapBudget[largest] > budget.heapUsage[largest] ? budget.heapBudget[largest] - budget.heapUsage[largest] : 0;
}

qn_status vk_count(gpu_driver_state *state, uint32_t *count, qn_error *err) {
    (void)err;
    *count = state->n_adapters;
    return QN_OK;
}

static uint32_t find_class(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return QN_DEVICE_CPU;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return QN_DEVICE_IGPU;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return QN_DEVICE_GPU;
    default: return QN_DEVICE_ACCELERATOR;
    }
}

qn_status vk_describe(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err) {
    if (index >= state->n_adapters) {
        return qn_fail(err, QN_BAD_ARG, "there is no Vulkan device %u; there are %u", index, state->n_adapters);
    }
    const vk_adapter *const adapter = &state->adapters[index];
    const bool is_software = adapter->type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    info->device_class = find_class(adapter->type);
    info->flags = (is_software ? QN_DEVICE_SOFTWARE : 0) | QN_DEVICE_DETERMINISTIC;
    if (vk_can_import(adapter, state->host)) {
        info->flags |= QN_DEVICE_HOST_MEMORY;
    }
    info->numeric = QN_NUMERIC_F32ACC | (vk_uses_dot(state, adapter) ? QN_NUMERIC_ACT8 : 0u);
    snprintf(info->id, sizeof info->id, "%s", adapter->id);
    snprintf(info->name, sizeof info->name, "%s", adapter->name);
    snprintf(info->driver, sizeof info->driver, "%s", adapter->driver);
    if (!is_software) { /* whose memory is the host's */
        info->memory_free = vk_free_bytes(&state->vk, adapter, &info->memory_total);
    }
    info->cell_block = 1;
    return QN_OK;
}
