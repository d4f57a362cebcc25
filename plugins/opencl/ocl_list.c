/* ocl_list.c — platforms and devices: GPUs first, then accelerators, then what runs on the processor. */
#include <ctype.h>

#include "ocl_internal.h"

/* Of cl_nv_device_attribute_query; the common header has the others. */
#define PCI_BUS_ID_NV 0x4008
#define PCI_SLOT_ID_NV 0x4009
#define PCI_DOMAIN_ID_NV 0x400A

#define MOST_EXTENSION_BYTES 16384u

int ocl_device_fact(const ocl_api *api, cl_device_id device, cl_device_info what, void *out, size_t bytes) {
    memset(out, 0, bytes);
    return api->GetDeviceInfo(device, what, bytes, out, NULL) == CL_SUCCESS;
}

/* Drivers pad names with spaces at both ends and inside. */
static void tidy_text(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (!isspace((unsigned char)*from)) {
            *to++ = *from;
        } else if (to > text && to[-1] != ' ') {
            *to++ = ' ';
        }
    }
    *to = '\0';
    if (to > text && to[-1] == ' ') {
        to[-1] = '\0';
    }
}

static void cut_text(const char *whole, char *out, size_t room) {
    snprintf(out, room, "%s", whole);
    tidy_text(out);
}

void ocl_device_text(const ocl_api *api, cl_device_id device, cl_device_info what, char *out, size_t room) {
    char whole[1024] = "";
    if (api->GetDeviceInfo(device, what, sizeof whole - 1, whole, NULL) != CL_SUCCESS) {
        whole[0] = '\0';
    }
    cut_text(whole, out, room);
}

void ocl_platform_text(const ocl_api *api, cl_platform_id platform, cl_platform_info what, char *out, size_t room) {
    char whole[1024] = "";
    if (api->GetPlatformInfo(platform, what, sizeof whole - 1, whole, NULL) != CL_SUCCESS) {
        whole[0] = '\0';
    }
    cut_text(whole, out, room);
}

int ocl_has_extension(const ocl_api *api, cl_device_id device, const char *name) {
    char list[MOST_EXTENSION_BYTES] = "";
    const size_t length = strlen(name);
    if (api->GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof list - 1, list, NULL) != CL_SUCCESS) {
        return 0;
    }
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* --- Ids -------------------------------------------------------------------------------------------------------------- */

static int make_pci_id(const ocl_api *api, cl_device_id device, char *out, size_t room) {
    cl_device_pci_bus_info_khr bus;
    cl_uint nv[3];
    cl_device_topology_amd amd;
    if (ocl_has_extension(api, device, "cl_khr_pci_bus_info") &&
        ocl_device_fact(api, device, CL_DEVICE_PCI_BUS_INFO_KHR, &bus, sizeof bus)) {
        snprintf(out, room, "%04x:%02x:%02x.%x", bus.pci_domain, bus.pci_bus, bus.pci_device, bus.pci_function);
        return 1;
    }
    if (ocl_has_extension(api, device, "cl_nv_device_attribute_query") &&
        ocl_device_fact(api, device, PCI_BUS_ID_NV, &nv[1], sizeof nv[1]) &&
        ocl_device_fact(api, device, PCI_SLOT_ID_NV, &nv[2], sizeof nv[2])) {
        (void)ocl_device_fact(api, device, PCI_DOMAIN_ID_NV, &nv[0], sizeof nv[0]); /* older drivers have one domain */
        snprintf(out, room, "%04x:%02x:%02x.%x", nv[0], nv[1], nv[2] >> 3, nv[2] & 7);
        return 1;
    }
    if (ocl_has_extension(api, device, "cl_amd_device_attribute_query") &&
        ocl_device_fact(api, device, CL_DEVICE_TOPOLOGY_AMD, &amd, sizeof amd) && amd.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD) {
        snprintf(out, room, "0000:%02x:%02x.%x", (unsigned char)amd.pcie.bus, (unsigned char)amd.pcie.device,
                 (unsigned char)amd.pcie.function);
        return 1;
    }
    return 0;
}

static int make_uuid_id(const ocl_api *api, cl_device_id device, char *out, size_t room) {
    cl_uchar uuid[CL_UUID_SIZE_KHR];
    if (!ocl_has_extension(api, device, "cl_khr_device_uuid") || !ocl_device_fact(api, device, CL_DEVICE_UUID_KHR, uuid, sizeof uuid)) {
        return 0;
    }
    size_t n = (size_t)snprintf(out, room, "uuid=");
    for (size_t i = 0; i < sizeof uuid && n < room; i++) {
        n += (size_t)snprintf(out + n, room - n, "%02x", uuid[i]);
    }
    return 1;
}

/* FNV-1a over the text and its end. */
static uint32_t add_text(uint32_t hash, const char *text) {
    do {
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    } while (*text++ != '\0');
    return hash;
}

/* A device that nothing names: what it is called, in letters that need no quotes, and a number for the rest of what is known. */
static void make_text_id(const ocl_found *found, uint32_t twin, char *out, size_t room) {
    uint32_t hash = add_text(add_text(2166136261u, found->platform_name), found->name);
    size_t n = 0;
    for (const char *at = found->name; *at != '\0' && n < 40; at++) {
        if (isalnum((unsigned char)*at)) {
            out[n++] = (char)tolower((unsigned char)*at);
        } else if (n > 0 && out[n - 1] != '-') {
            out[n++] = '-';
        }
    }
    snprintf(out + n, room - n, "%s%08x", n > 0 && out[n - 1] != '-' ? "-" : "", hash + twin);
}

static int is_taken(const gpu_driver_state *state, const char *id) {
    for (uint32_t i = 0; i < state->n_devices; i++) {
        if (strcmp(state->devices[i].id, id) == 0) {
            return 1;
        }
    }
    return 0;
}

/* --- The list --------------------------------------------------------------------------------------------------------- */

static int is_software(cl_device_type type) {
    return (type & CL_DEVICE_TYPE_CPU) != 0; /* a simulator calls itself everything at once */
}

/* Two drivers may offer one physical device: the first has it. Equal devices without address or number are told apart by order. */
static void add_device(gpu_driver_state *state, cl_platform_id platform, cl_device_id device) {
    const ocl_api *api = &state->api;
    ocl_found found = {.platform = platform, .device = device};
    if (state->n_devices == OCL_MAX_DEVICES) {
        return;
    }
    ocl_device_fact(api, device, CL_DEVICE_TYPE, &found.type, sizeof found.type);
    ocl_device_text(api, device, CL_DEVICE_NAME, found.name, sizeof found.name);
    ocl_platform_text(api, platform, CL_PLATFORM_NAME, found.platform_name, sizeof found.platform_name);
    const int is_named = make_pci_id(api, device, found.id, sizeof found.id) || make_uuid_id(api, device, found.id, sizeof found.id);
    for (uint32_t twin = 0; !is_named && (twin == 0 || is_taken(state, found.id)); twin++) {
        make_text_id(&found, twin, found.id, sizeof found.id);
    }
    if (is_taken(state, found.id)) {
        ocl_log(state->host, QN_LOG_DEBUG, "opencl: platform %s offers %s again; platform=NAME chooses among them", found.platform_name,
                found.id);
        return;
    }
    state->devices[state->n_devices++] = found;
}

static void add_platform(gpu_driver_state *state, cl_platform_id platform, cl_device_type type, int takes_software) {
    cl_device_id devices[OCL_MAX_DEVICES];
    cl_uint n_devices = 0;
    char name[128];
    ocl_platform_text(&state->api, platform, CL_PLATFORM_NAME, name, sizeof name);
    if (strstr(name, state->platform) == NULL ||
        state->api.GetDeviceIDs(platform, type, OCL_MAX_DEVICES, devices, &n_devices) != CL_SUCCESS) {
        return;
    }
    n_devices = n_devices < OCL_MAX_DEVICES ? n_devices : OCL_MAX_DEVICES;
    for (cl_uint i = 0; i < n_devices; i++) {
        cl_device_type own;
        ocl_device_fact(&state->api, devices[i], CL_DEVICE_TYPE, &own, sizeof own);
        if (is_software(own) == takes_software) {
            add_device(state, platform, devices[i]);
        }
    }
}

qn_status ocl_list(gpu_driver_state *state, qn_error *err) {
    static const cl_device_type order[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
    cl_platform_id platforms[OCL_MAX_PLATFORMS];
    cl_uint n_platforms = 0;
    if (state->is_listed) {
        return QN_OK;
    }
    const cl_int code = state->api.GetPlatformIDs(OCL_MAX_PLATFORMS, platforms, &n_platforms);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && n_platforms == 0)) {
        return qn_fail(err, QN_UNAVAILABLE, OCL_LIBRARY " knows no driver: none is listed in /etc/OpenCL/vendors, or none that is could be loaded");
    }
    if (code != CL_SUCCESS) {
        return ocl_fail(err, code, "clGetPlatformIDs");
    }
    n_platforms = n_platforms < OCL_MAX_PLATFORMS ? n_platforms : OCL_MAX_PLATFORMS;
    for (size_t t = 0; t < sizeof order / sizeof order[0]; t++) {
        for (cl_uint p = 0; p < n_platforms; p++) {
            add_platform(state, platforms[p], order[t], order[t] == CL_DEVICE_TYPE_CPU);
        }
    }
    if (state->n_devices == 0 && state->platform[0] != '\0') {
        return qn_fail(err, QN_UNAVAILABLE, "no device on a platform with \"%s\" in its name (option platform); platforms here: %u",
                       state->platform, n_platforms);
    }
    if (state->n_devices == 0) {
        return qn_fail(err, QN_UNAVAILABLE, OCL_LIBRARY " has %u platforms and no device on them", n_platforms);
    }
    state->is_listed = 1;
    return QN_OK;
}

/* --- Describing ------------------------------------------------------------------------------------------------------- */

static uint32_t find_class(const ocl_found *found, cl_bool is_unified) {
    if (is_software(found->type)) {
        return QN_DEVICE_CPU;
    }
    if ((found->type & CL_DEVICE_TYPE_GPU) != 0) {
        return is_unified ? QN_DEVICE_IGPU : QN_DEVICE_GPU;
    }
    return QN_DEVICE_ACCELERATOR;
}

static uint64_t find_free(const ocl_api *api, cl_device_id device) {
    size_t kib[2] = {0, 0};
    return ocl_has_extension(api, device, "cl_amd_device_attribute_query") &&
                   ocl_device_fact(api, device, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, kib, sizeof kib)
               ? (uint64_t)kib[0] << 10
               : 0;
}

qn_status ocl_describe(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err) {
    const ocl_api *api = &state->api;
    char driver[128], version[128];
    cl_bool is_unified = CL_FALSE;
    cl_ulong total = 0;
    if (index >= state->n_devices) {
        return qn_fail(err, QN_BAD_ARG, "device number %u; there are %u", index, state->n_devices);
    }
    const ocl_found *found = &state->devices[index];
    ocl_device_fact(api, found->device, CL_DEVICE_HOST_UNIFIED_MEMORY, &is_unified, sizeof is_unified);
    ocl_device_fact(api, found->device, CL_DEVICE_GLOBAL_MEM_SIZE, &total, sizeof total);
    ocl_device_text(api, found->device, CL_DRIVER_VERSION, driver, sizeof driver);
    ocl_device_text(api, found->device, CL_DEVICE_VERSION, version, sizeof version);
    info->device_class = find_class(found, is_unified);
    info->flags = QN_DEVICE_DETERMINISTIC | (is_software(found->type) ? QN_DEVICE_SOFTWARE : 0u) |
                  (is_unified ? QN_DEVICE_HOST_MEMORY : 0u);
    info->numeric = QN_NUMERIC_F32ACC | (ocl_uses_dot(state, found) ? QN_NUMERIC_ACT8 : 0u);
    snprintf(info->id, sizeof info->id, "%s", found->id);
    snprintf(info->name, sizeof info->name, "%s", found->name[0] != '\0' ? found->name : "a device without name");
    /* "OpenCL 3.0": what a driver writes behind it is long, and goes into the keys of kept kernels. */
    const char *end = strchr(strncmp(version, "OpenCL ", 7) == 0 ? version + 7 : version, ' ');
    snprintf(info->driver, sizeof info->driver, "%.48s %.48s, %.*s", found->platform_name, driver,
             end != NULL && end - version < 24 ? (int)(end - version) : 24, version);
    info->memory_total = total;
    info->memory_free = find_free(api, found->device);
    info->cell_block = 1;
    info->max_spans = 0;
    return QN_OK;
}
