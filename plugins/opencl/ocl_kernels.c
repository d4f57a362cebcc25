/* ocl_kernels.c — one program for each kernel: built from its source, or from the binary that an earlier run left in the host's
 * blob store. The store adds the driver's version to the key, so that a binary meets only the driver that made it. */
#include "ocl_internal.h"

#define KEY_BYTES 128u
#define MOST_TEXTS 16u
#define MOST_LOG_TEXT 700

#define HASH_BEGIN UINT64_C(14695981039346656037)

/* FNV-1a, 64 bits. */
static uint64_t add_bytes(uint64_t hash, const void *data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) {
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static void make_options(const gpu_driver_device *device, const ocl_kernel *kernel, char *out, size_t room) {
    const int is_newer = (kernel->needs & (GPU_CAP_SUBGROUPS | GPU_CAP_INT_DOT)) != 0;
    snprintf(out, room, "-cl-std=%s%s -DKERNEL_OPENCL -DKERNEL_NAME=%s -DGROUP=%uu %s", is_newer ? device->newest : "CL1.2",
             device->options, kernel->name, kernel->group, kernel->defines);
}

/* Name, and a number made of everything that the binary depends on; of compilers inside drivers, versions say more than drivers do. */
static void make_key(const gpu_driver_device *device, const ocl_kernel *kernel, const char *options, char *out) {
    char text[512];
    uint64_t hash = add_bytes(HASH_BEGIN, options, strlen(options) + 1);
    ocl_platform_text(device->api, device->found->platform, CL_PLATFORM_VERSION, text, sizeof text);
    hash = add_bytes(hash, text, strlen(text) + 1);
    ocl_device_text(device->api, device->found->device, CL_DEVICE_VERSION, text, sizeof text);
    hash = add_bytes(hash, text, strlen(text) + 1);
    for (uint32_t i = 0; i < kernel->source->n_texts; i++) {
        hash = add_bytes(hash, kernel->source->texts[i], strlen(kernel->source->texts[i]));
    }
    snprintf(out, KEY_BYTES, "kernel/%s/%016llx", kernel->name, (unsigned long long)hash);
}

/* --- Binaries --------------------------------------------------------------------------------------------------------- */

/* Before a binary in its blob: drivers do not look at what they are given, some die of a wrong byte. */
typedef struct blob_header {
    uint64_t bytes, hash; /* of what follows */
} blob_header;

static cl_program build_binary(gpu_driver_device *device, const unsigned char *data, size_t bytes, const char *options) {
    const ocl_api *api = device->api;
    cl_int code = CL_SUCCESS, loaded = CL_SUCCESS;
    cl_program program = api->CreateProgramWithBinary(device->context, 1, &device->found->device, &bytes, &data, &loaded, &code);
    if (program != NULL && (loaded != CL_SUCCESS || api->BuildProgram(program, 1, &device->found->device, options, NULL, NULL) != CL_SUCCESS)) {
        api->ReleaseProgram(program);
        program = NULL;
    }
    return program;
}

static cl_program build_blob(gpu_driver_device *device, const unsigned char *blob, uint64_t bytes, const char *options) {
    blob_header header = {0, 0};
    if (bytes > sizeof header) {
        memcpy(&header, blob, sizeof header);
    }
    if (bytes != sizeof header + header.bytes || add_bytes(HASH_BEGIN, blob + sizeof header, header.bytes) != header.hash) {
        return NULL;
    }
    return build_binary(device, blob + sizeof header, header.bytes, options);
}

/* *out stays null when there is none, or none that is whole and that the driver takes. */
static qn_status load_program(gpu_driver_device *device, const char *key, const char *options, cl_program *out, qn_error *err) {
    const qn_host *host = device->host;
    const uint64_t bytes = host->blob_get != NULL ? host->blob_get(host->ctx, key, NULL, 0) : 0;
    if (bytes == 0) {
        return QN_OK;
    }
    unsigned char *blob = host->mem_alloc(host->ctx, QN_MEM_OTHER, bytes, 64);
    if (blob == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no memory for a compiled kernel (%llu bytes)", (unsigned long long)bytes);
    }
    if (host->blob_get(host->ctx, key, blob, bytes) == bytes) {
        *out = build_blob(device, blob, bytes, options);
    }
    host->mem_free(host->ctx, blob);
    return QN_OK;
}

/* A store that does not keep it costs time, later. */
static void keep_program(gpu_driver_device *device, cl_program program, const char *key) {
    const qn_host *host = device->host;
    blob_header header;
    size_t bytes = 0;
    if (host->blob_put == NULL ||
        device->api->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS || bytes == 0) {
        return;
    }
    unsigned char *blob = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof header + bytes, 64);
    unsigned char *binary = blob != NULL ? blob + sizeof header : NULL;
    if (blob != NULL && device->api->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
        header = (blob_header){bytes, add_bytes(HASH_BEGIN, binary, bytes)};
        memcpy(blob, &header, sizeof header);
        (void)host->blob_put(host->ctx, key, blob, sizeof header + bytes);
    }
    host->mem_free(host->ctx, blob);
}

/* --- Sources ---------------------------------------------------------------------------------------------------------- */

/* The compiler's words, in memory of the host; null when there are none. */
static char *read_build_log(gpu_driver_device *device, cl_program program) {
    const ocl_api *api = device->api;
    size_t bytes = 0;
    if (api->GetProgramBuildInfo(program, device->found->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != CL_SUCCESS) {
        return NULL;
    }
    char *log = device->host->mem_alloc(device->host->ctx, QN_MEM_OTHER, bytes + 1, 64); /* zeroed: terminated */
    if (log != NULL) {
        api->GetProgramBuildInfo(program, device->found->device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    }
    return log;
}

/* The beginning of the compiler's words in the error, more of them in the log. */
static qn_status fail_to_build(gpu_driver_device *device, cl_program program, const ocl_kernel *kernel, cl_int code, qn_error *err) {
    char *log = read_build_log(device, program);
    const char *text = log != NULL && log[0] != '\0' ? log : "the compiler gives no reason";
    if (err != NULL && err->size >= sizeof(qn_error)) {
        err->native_code = code;
    }
    ocl_log(device->host, QN_LOG_DEBUG, "opencl: kernel %s: %s", kernel->name, text);
    const qn_status status = code == CL_BUILD_PROGRAM_FAILURE ? QN_UNSUPPORTED : ocl_error_status(code);
    qn_fail(err, status, "device %s cannot have kernel %s: clBuildProgram: %s (%d): %.*s", device->found->name, kernel->name,
            ocl_error_name(code), code, MOST_LOG_TEXT, text);
    device->host->mem_free(device->host->ctx, log);
    return status;
}

static qn_status build_source(gpu_driver_device *device, const ocl_kernel *kernel, const char *options, cl_program *out, qn_error *err) {
    const ocl_api *api = device->api;
    const char *texts[MOST_TEXTS];
    cl_int code = CL_SUCCESS;
    const uint32_t n_texts = kernel->source->n_texts < MOST_TEXTS ? kernel->source->n_texts : MOST_TEXTS;
    for (uint32_t i = 0; i < n_texts; i++) {
        texts[i] = kernel->source->texts[i];
    }
    cl_program program = api->CreateProgramWithSource(device->context, n_texts, texts, NULL, &code);
    if (program == NULL) {
        return ocl_fail(err, code, "clCreateProgramWithSource");
    }
    code = api->BuildProgram(program, 1, &device->found->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        const qn_status status = fail_to_build(device, program, kernel, code, err);
        api->ReleaseProgram(program);
        return status;
    }
    *out = program;
    return QN_OK;
}

/* A compiler may use so much of the device for a kernel that groups become smaller than the kernel needs. */
static qn_status check_group(gpu_driver_device *device, cl_program program, const ocl_kernel *kernel, qn_error *err) {
    const ocl_api *api = device->api;
    cl_int code = CL_SUCCESS;
    size_t most = 0;
    cl_kernel made = api->CreateKernel(program, kernel->name, &code);
    if (made == NULL) {
        return ocl_fail(err, code, "clCreateKernel");
    }
    code = api->GetKernelWorkGroupInfo(made, device->found->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    api->ReleaseKernel(made);
    if (code != CL_SUCCESS) {
        return ocl_fail(err, code, "clGetKernelWorkGroupInfo");
    }
    return most >= kernel->group ? QN_OK
                                 : qn_fail(err, QN_UNSUPPORTED, "device %s runs kernel %s in groups of at most %llu work-items; it needs %u",
                                           device->found->name, kernel->name, (unsigned long long)most, kernel->group);
}

static qn_status check_kernel(const gpu_driver_device *device, uint32_t kernel, qn_error *err) {
    if (kernel >= ocl_n_kernels) {
        return qn_fail(err, QN_BAD_ARG, "kernel number %u; there are %u", kernel, ocl_n_kernels);
    }
    if ((ocl_kernels[kernel].needs & ~device->caps.flags) != 0 || ocl_kernels[kernel].group > device->caps.max_group) {
        return qn_fail(err, QN_UNSUPPORTED, "device %s lacks what kernel %s is made for", device->found->name, ocl_kernels[kernel].name);
    }
    return QN_OK;
}

qn_status ocl_kernel_open(gpu_driver_device *device, uint32_t number, qn_error *err) {
    char options[512], key[KEY_BYTES];
    cl_program program = NULL;
    qn_status status = check_kernel(device, number, err);
    if (status != QN_OK || device->programs[number] != NULL) {
        return status;
    }
    const ocl_kernel *kernel = &ocl_kernels[number];
    make_options(device, kernel, options, sizeof options);
    make_key(device, kernel, options, key);
    status = device->keeps_kernels ? load_program(device, key, options, &program, err) : QN_OK;
    const int is_new = status == QN_OK && program == NULL;
    status = is_new ? build_source(device, kernel, options, &program, err) : status;
    if (status == QN_OK) {
        status = check_group(device, program, kernel, err);
    }
    if (status == QN_OK && is_new && device->keeps_kernels) {
        keep_program(device, program, key);
    }
    if (status == QN_OK) {
        device->programs[number] = program;
    } else if (program != NULL) {
        device->api->ReleaseProgram(program);
    }
    return status;
}
