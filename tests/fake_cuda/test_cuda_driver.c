/* test_cuda_driver.c — the driver of the cuda plugin on the fake driver library: memory, copies, graphs, failures, a lost device.
 *
 * With the argument no-driver it tests what is said where there is no driver library; skipped where there is one.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_driver.h"
#include "fake_cuda.h"
#include "core/cf_host.h"

enum {
#define GPU_KERNEL(NAME, source, defines, buffers, parameters, group) GPU_KERNEL_##NAME,
#include "../../plugins/gpu/kernels/kernels.def"
#undef GPU_KERNEL
    GPU_KERNELS
};

static const gpu_driver *const driver = &gpu_the_driver;
static fake_cuda_live_fn *live;
static fake_cuda_launches_fn *launches_run;
static fake_cuda_before_fn *before_launch;
static qn_error error;

static qn_error *fresh(void) {
    error = (qn_error){.size = sizeof error, .op = QN_NO_OP};
    return &error;
}

static void require_done(const char *what, qn_status got) {
    if (got != QN_OK) {
        fail_msg("%s: status %d: %s", what, got, error.text);
    }
}

static void require_text(const char *part) {
    if (strstr(error.text, part) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, part);
    }
}

/* --- A device, opened ------------------------------------------------------------------------------------------------- */

typedef struct rig {
    cf_host *host;
    gpu_driver_state *state;
    gpu_driver_device *device;
    gpu_caps caps;
} rig;

static qn_status try_open(rig *r, const qn_option *options, uint32_t n_options) {
    memset(r, 0, sizeof *r);
    r->host = cf_host_open(1, 0);
    qn_status status = driver->start(cf_host_services(r->host), NULL, 0, &r->state, fresh());
    if (status == QN_OK) {
        status = driver->open(r->state, 0, options, n_options, &r->device, &r->caps, fresh());
    }
    return status;
}

/* Nothing may be left, in the host or in the driver library. */
static void shut(rig *r) {
    if (r->device != NULL) {
        driver->close(r->device);
    }
    if (r->state != NULL) {
        driver->stop(r->state);
    }
    assert_int_equal(live(), 0);
    assert_int_equal(cf_host_close(r->host), 0);
}

static void open_rig(rig *r) {
    require_done("open", try_open(r, NULL, 0));
}

static gpu_memory *take(const rig *r, uint32_t place, uint64_t bytes) {
    gpu_memory *memory = NULL;
    require_done("memory_new", driver->memory_new(r->device, place, bytes, &memory, fresh()));
    assert_non_null(memory);
    return memory;
}

static gpu_memory *take_words(const rig *r, const float *values, uint32_t n) {
    gpu_memory *memory = take(r, GPU_PLACE_DEVICE, n * UINT64_C(4));
    require_done("upload", driver->upload(r->device, memory, 0, values, n * UINT64_C(4), fresh()));
    return memory;
}

static void require_words(const rig *r, gpu_memory *memory, const float *values, uint32_t n) {
    float *got = calloc(n, sizeof *got);
    assert_non_null(got);
    require_done("download", driver->download(r->device, memory, 0, got, n * UINT64_C(4), fresh()));
    assert_memory_equal(got, values, n * UINT64_C(4));
    free(got);
}

static gpu_recording *record(const rig *r, const gpu_launch *launches, uint32_t n) {
    gpu_recording *recording = NULL;
    require_done("recording_new", driver->recording_new(r->device, n, &recording, fresh()));
    require_done("record", driver->record(r->device, recording, launches, n, fresh()));
    return recording;
}

static gpu_launch copy_launch(gpu_memory *from, gpu_memory *to, uint64_t bytes, uint32_t flags) {
    return (gpu_launch){.kernel = GPU_COPY, .flags = flags, .grid = {1, 1, 1}, .n_buffers = 2, .op = 0,
                        .buffers = {{from, 0, bytes}, {to, 0, bytes}}};
}

/* x of n rows of 128 values, all 3, normalised with weights 2: each becomes 2 (3 / sqrt(9 + 0)). */
#define ROW 128u
typedef struct norm {
    gpu_memory *x, *weight, *y;
    gpu_launch launch;
} norm;

static norm make_norm(const rig *r, uint32_t n_rows) {
    float *values = malloc(n_rows * ROW * sizeof *values);
    norm n;
    assert_non_null(values);
    for (uint32_t i = 0; i < n_rows * ROW; i++) {
        values[i] = 3;
    }
    n.x = take_words(r, values, n_rows * ROW);
    for (uint32_t i = 0; i < ROW; i++) {
        values[i] = 2;
    }
    n.weight = take_words(r, values, ROW);
    free(values);
    n.y = take(r, GPU_PLACE_DEVICE, n_rows * ROW * UINT64_C(4));
    require_done("kernel_open", driver->kernel_open(r->device, GPU_KERNEL_RMS_NORM, fresh()));
    n.launch = (gpu_launch){.kernel = GPU_KERNEL_RMS_NORM, .grid = {n_rows, 1, 1}, .n_buffers = 3, .n_params = 3, .op = 7,
                            .buffers = {{n.x, 0, n.x->bytes}, {n.weight, 0, n.weight->bytes}, {n.y, 0, n.y->bytes}},
                            .params = {n_rows, ROW, 0}};
    return n;
}

static void require_normalised(const rig *r, const norm *n, uint32_t n_rows) {
    float *values = malloc(n_rows * ROW * sizeof *values);
    assert_non_null(values);
    for (uint32_t i = 0; i < n_rows * ROW; i++) {
        values[i] = 2;
    }
    require_words(r, n->y, values, n_rows * ROW);
    free(values);
}

static void free_norm(const rig *r, norm *n) {
    driver->memory_free(r->device, n->x);
    driver->memory_free(r->device, n->weight);
    driver->memory_free(r->device, n->y);
}

/* --- Devices ---------------------------------------------------------------------------------------------------------- */

static void a_listed_device_has_its_bus_address_and_no_context(void **state) {
    rig r = {.host = cf_host_open(1, 0)};
    qn_device_info info = {.size = sizeof info};
    uint32_t count = 0;
    (void)state;
    require_done("start", driver->start(cf_host_services(r.host), NULL, 0, &r.state, fresh()));
    require_done("count", driver->count(r.state, &count, fresh()));
    assert_int_equal(count, 1);
    require_done("describe", driver->describe(r.state, 0, &info, fresh()));
    assert_string_equal(info.id, "0000:fa:1c.0");
    assert_int_equal(info.device_class, QN_DEVICE_GPU);
    assert_non_null(strstr(info.driver, "CUDA 13.0"));
    assert_non_null(strstr(info.driver, "9.0"));
    assert_int_equal(live(), 0);
    shut(&r);
}

static void a_device_that_is_too_old_is_told_what_is_needed(void **state) {
    rig r;
    (void)state;
    setenv("FAKE_CUDA_CAPABILITY", "61", 1);
    const qn_status status = try_open(&r, NULL, 0);
    unsetenv("FAKE_CUDA_CAPABILITY");
    assert_int_equal(status, QN_TOO_OLD);
    require_text("6.1");
    require_text("7.5");
    shut(&r);
}

static void a_machine_without_devices_is_unavailable(void **state) {
    rig r;
    (void)state;
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    const qn_status status = try_open(&r, NULL, 0);
    unsetenv("FAKE_CUDA_DEVICES");
    assert_int_equal(status, QN_UNAVAILABLE);
    assert_int_equal(error.code, QN_UNAVAILABLE);
    require_text("libcuda.so.1");
    require_text("CUDA_ERROR_NO_DEVICE");
    shut(&r);
}

static void an_option_that_is_no_number_is_refused(void **state) {
    static const char *const values[] = {"", "-1", "8k", "99999999999999999999"};
    (void)state;
    for (uint32_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const qn_option option = {"graph_mib", values[i]};
        rig r;
        assert_int_equal(try_open(&r, &option, 1), QN_BAD_ARG);
        require_text("graph_mib");
        shut(&r);
    }
}

/* --- Memory ----------------------------------------------------------------------------------------------------------- */

static void what_is_uploaded_comes_back(void **state) {
    static const uint64_t lengths[] = {1, 3, 4096, CUDA_STAGING_BYTES - 1, CUDA_STAGING_BYTES, 3 * CUDA_STAGING_BYTES + 5};
    rig r;
    (void)state;
    open_rig(&r);
    for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (uint32_t place = GPU_PLACE_DEVICE; place <= GPU_PLACE_READBACK; place++) {
            const uint64_t n = lengths[i];
            gpu_memory *memory = take(&r, place, n + 8);
            unsigned char *sent = malloc(n), *got = calloc(1, n);
            assert_true(sent != NULL && got != NULL);
            assert_int_equal(memory->host != NULL, place != GPU_PLACE_DEVICE);
            for (uint64_t b = 0; b < n; b++) {
                sent[b] = (unsigned char)(b * 7 + (b >> 12) + i);
            }
            require_done("upload", driver->upload(r.device, memory, 5, sent, n, fresh()));
            require_done("download", driver->download(r.device, memory, 5, got, n, fresh()));
            assert_memory_equal(got, sent, n);
            free(sent);
            free(got);
            driver->memory_free(r.device, memory);
        }
    }
    shut(&r);
}

static void an_upload_may_still_be_on_its_way_when_memory_is_freed(void **state) {
    rig r;
    (void)state;
    open_rig(&r);
    unsigned char *bytes = calloc(1, 2 * CUDA_STAGING_BYTES);
    gpu_memory *memory = take(&r, GPU_PLACE_DEVICE, 2 * CUDA_STAGING_BYTES);
    assert_non_null(bytes);
    require_done("upload", driver->upload(r.device, memory, 0, bytes, 2 * CUDA_STAGING_BYTES, fresh()));
    driver->memory_free(r.device, memory);
    gpu_memory *next = take(&r, GPU_PLACE_DEVICE, 64);
    require_done("upload", driver->upload(r.device, next, 0, bytes, 64, fresh()));
    require_done("download", driver->download(r.device, next, 0, bytes, 64, fresh()));
    driver->memory_free(r.device, next);
    free(bytes);
    shut(&r);
}

static void too_much_memory_is_refused_with_asked_and_free_bytes(void **state) {
    rig r;
    gpu_memory *memory = NULL;
    (void)state;
    setenv("FAKE_CUDA_MEMORY", "1000000", 1);
    open_rig(&r);
    unsetenv("FAKE_CUDA_MEMORY");
    gpu_memory *some = take(&r, GPU_PLACE_DEVICE, 400000);
    assert_int_equal(driver->memory_new(r.device, GPU_PLACE_DEVICE, 700000, &memory, fresh()), QN_NO_DEVICE_MEM);
    assert_null(memory);
    require_text("700000");
    require_text("600000");
    assert_int_equal(error.native_code, 2);
    driver->memory_free(r.device, some);
    shut(&r);
}

static void pages_of_the_host_are_used_in_place_on_integrated_devices_alone(void **state) {
    rig r;
    gpu_memory *memory = NULL, *again = NULL;
    uint64_t at = 0;
    (void)state;
    float *pages = aligned_alloc(4096, 8192), values[ROW];
    assert_non_null(pages);
    for (uint32_t i = 0; i < 2048; i++) {
        pages[i] = (float)i;
    }
    open_rig(&r);
    assert_int_equal(r.caps.flags & GPU_CAP_UNIFIED, 0);
    assert_int_equal(driver->memory_import(r.device, pages, 4096, &memory, &at, fresh()), QN_UNSUPPORTED);
    shut(&r);
    setenv("FAKE_CUDA_INTEGRATED", "1", 1);
    open_rig(&r);
    unsetenv("FAKE_CUDA_INTEGRATED");
    assert_int_not_equal(r.caps.flags & GPU_CAP_UNIFIED, 0);
    require_done("import", driver->memory_import(r.device, pages + 100, ROW * 4, &memory, &at, fresh()));
    assert_int_equal(at, 400);
    assert_int_equal(driver->memory_import(r.device, pages + 8, 64, &again, &at, fresh()), QN_UNSUPPORTED);
    require_text("ALREADY_REGISTERED");
    assert_int_equal(error.code, QN_UNSUPPORTED);
    require_done("download", driver->download(r.device, memory, 400, values, sizeof values, fresh()));
    assert_memory_equal(values, pages + 100, sizeof values);
    driver->memory_free(r.device, memory);
    free(pages);
    shut(&r);
}

/* --- Recordings ------------------------------------------------------------------------------------------------------- */

static void a_kernel_runs_as_often_as_its_recording(void **state) {
    rig r;
    (void)state;
    open_rig(&r);
    norm n = make_norm(&r, 5);
    gpu_recording *recording = record(&r, &n.launch, 1);
    for (uint32_t i = 0; i < 3; i++) {
        const float nothing[ROW] = {0};
        require_done("upload", driver->upload(r.device, n.y, 0, nothing, sizeof nothing, fresh()));
        require_done("run", driver->run(r.device, recording, NULL, fresh()));
        require_normalised(&r, &n, 5);
    }
    assert_int_equal(launches_run(), 3);
    driver->recording_free(r.device, recording);
    free_norm(&r, &n);
    shut(&r);
}

/* x → a, b at once, then each two times on; the fake library turns round whatever has no edge. */
static void launches_see_what_those_before_them_wrote(void **state) {
    static const float values[4] = {1, 2, 3, 4};
    rig r;
    gpu_memory *m[7];
    (void)state;
    open_rig(&r);
    m[0] = take_words(&r, values, 4);
    for (uint32_t i = 1; i < 7; i++) {
        m[i] = take(&r, i == 6 ? GPU_PLACE_READBACK : GPU_PLACE_DEVICE, 16);
    }
    const gpu_launch list[] = {copy_launch(m[0], m[1], 16, 0),
                               copy_launch(m[0], m[2], 16, GPU_LAUNCH_BESIDE),
                               copy_launch(m[1], m[3], 16, 0),
                               copy_launch(m[2], m[4], 16, GPU_LAUNCH_BESIDE),
                               copy_launch(m[4], m[5], 16, GPU_LAUNCH_CUT),
                               copy_launch(m[5], m[6], 16, 0)};
    gpu_recording *recording = record(&r, list, 6);
    require_done("run", driver->run(r.device, recording, NULL, fresh()));
    require_words(&r, m[3], values, 4);
    assert_memory_equal(m[6]->host, values, sizeof values);
    driver->recording_free(r.device, recording);
    for (uint32_t i = 0; i < 7; i++) {
        driver->memory_free(r.device, m[i]);
    }
    shut(&r);
}

static void a_recording_is_replaced_without_memory_of_the_host(void **state) {
    rig r;
    gpu_recording *recording = NULL;
    (void)state;
    open_rig(&r);
    norm n = make_norm(&r, 2);
    const uint64_t before = cf_host_bytes(r.host, QN_MEM_SCRATCH);
    require_done("recording_new", driver->recording_new(r.device, 40, &recording, fresh()));
    assert_true(cf_host_bytes(r.host, QN_MEM_SCRATCH) - before <= 40 * r.caps.launch_bytes + r.caps.recording_bytes);
    cf_host_fail_after(r.host, 0);
    for (uint32_t i = 0; i < 3; i++) {
        require_done("record", driver->record(r.device, recording, &n.launch, 1, fresh()));
        require_done("run", driver->run(r.device, recording, NULL, fresh()));
    }
    cf_host_fail_after(r.host, UINT64_MAX);
    require_normalised(&r, &n, 2);
    driver->recording_free(r.device, recording);
    free_norm(&r, &n);
    shut(&r);
}

static void times_are_told_for_each_launch(void **state) {
    uint64_t nanoseconds[3] = {0, 1000000000, 0};
    rig r;
    (void)state;
    open_rig(&r);
    norm n = make_norm(&r, 40);
    gpu_memory *copy = take(&r, GPU_PLACE_READBACK, n.y->bytes);
    const gpu_launch list[] = {n.launch, n.launch, copy_launch(n.y, copy, n.y->bytes, 0)};
    gpu_recording *recording = record(&r, list, 3);
    require_done("run", driver->run(r.device, recording, nanoseconds, fresh()));
    assert_true(nanoseconds[0] > 0 && nanoseconds[1] > 1000000000 && nanoseconds[2] > 0);
    assert_true(((const float *)copy->host)[39 * ROW] == 2.0f);
    driver->recording_free(r.device, recording);
    driver->memory_free(r.device, copy);
    free_norm(&r, &n);
    shut(&r);
}

static void cancel(void *host) {
    cf_host_cancel(host, true);
}

/* Graphs as short as can be, and the flag is set while one of them runs. */
static void a_cancelled_step_stands_still_soon(void **state) {
    const qn_option option = {"graph_mib", "0"};
    gpu_launch list[30];
    uint64_t nanoseconds[30] = {0};
    rig r;
    (void)state;
    require_done("open", try_open(&r, &option, 1));
    norm n = make_norm(&r, 2);
    for (uint32_t i = 0; i < 30; i++) {
        list[i] = n.launch;
        list[i].flags = GPU_LAUNCH_CUT;
    }
    gpu_recording *recording = record(&r, list, 30);
    for (uint32_t timed = 0; timed < 2; timed++) {
        const uint64_t so_far = launches_run();
        before_launch(10, cancel, r.host);
        assert_int_equal(driver->run(r.device, recording, timed ? nanoseconds : NULL, fresh()), QN_CANCELLED);
        require_text("cancelled");
        assert_in_range(launches_run() - so_far, 10, 13);
        cf_host_cancel(r.host, false);
        require_done("run", driver->run(r.device, recording, NULL, fresh()));
    }
    driver->recording_free(r.device, recording);
    free_norm(&r, &n);
    shut(&r);
}

static void a_short_step_is_one_graph(void **state) {
    gpu_launch list[8];
    rig r;
    (void)state;
    open_rig(&r);
    norm n = make_norm(&r, 2);
    for (uint32_t i = 0; i < 8; i++) {
        list[i] = n.launch;
        list[i].flags = GPU_LAUNCH_CUT;
    }
    gpu_recording *recording = record(&r, list, 8);
    assert_int_equal(recording->n_segments, 1);
    list[3].grid[1] = 65535; /* as of a long prefill: reads its largest buffer so many times */
    list[3].buffers[0].bytes = UINT64_C(1) << 20;
    require_done("record", driver->record(r.device, recording, list, 8, fresh()));
    assert_int_equal(recording->n_segments, 2);
    assert_int_equal(recording->segments[0].end, 4);
    driver->recording_free(r.device, recording);
    free_norm(&r, &n);
    shut(&r);
}

typedef struct threaded_run {
    const rig *r;
    gpu_recording *recording;
    qn_status status;
} threaded_run;

static void *run_on_thread(void *argument) {
    threaded_run *job = argument;
    job->status = driver->run(job->r->device, job->recording, NULL, &error);
    return NULL;
}

static void any_thread_may_call(void **state) {
    rig r;
    pthread_t thread;
    (void)state;
    open_rig(&r);
    norm n = make_norm(&r, 1);
    threaded_run job = {.r = &r, .recording = record(&r, &n.launch, 1)};
    fresh();
    assert_int_equal(pthread_create(&thread, NULL, run_on_thread, &job), 0);
    pthread_join(thread, NULL);
    require_done("run", job.status);
    require_normalised(&r, &n, 1);
    driver->recording_free(r.device, job.recording);
    free_norm(&r, &n);
    shut(&r);
}

/* --- Failures --------------------------------------------------------------------------------------------------------- */

/* All that a program does, up to the first failure; whatever was taken is given back. */
static qn_status go_through_everything(uint64_t *nanoseconds) {
    static const float values[ROW] = {1};
    rig r;
    gpu_memory *m[3] = {NULL};
    gpu_recording *recording = NULL;
    float got[ROW];
    qn_status status = try_open(&r, NULL, 0);
    for (uint32_t i = 0; i < 3 && status == QN_OK; i++) {
        status = driver->memory_new(r.device, i < 2 ? GPU_PLACE_DEVICE : GPU_PLACE_READBACK, sizeof values, &m[i], fresh());
    }
    for (uint32_t i = 0; i < 3 && status == QN_OK; i++) {
        status = driver->upload(r.device, m[0], 0, values, sizeof values, fresh());
    }
    if (status == QN_OK) {
        status = driver->kernel_open(r.device, GPU_KERNEL_RMS_NORM, fresh());
    }
    if (status == QN_OK) {
        status = driver->recording_new(r.device, 2, &recording, fresh());
    }
    if (status == QN_OK) {
        const gpu_launch list[] = {{.kernel = GPU_KERNEL_RMS_NORM, .grid = {1, 1, 1}, .n_buffers = 3, .n_params = 3, .op = 7,
                                    .buffers = {{m[0], 0, sizeof values}, {m[0], 0, sizeof values}, {m[1], 0, sizeof values}},
                                    .params = {1, ROW, 0}},
                                   copy_launch(m[1], m[2], sizeof values, 0)};
        status = driver->record(r.device, recording, list, 2, fresh());
    }
    if (status == QN_OK) {
        status = driver->run(r.device, recording, nanoseconds, fresh());
    }
    if (status == QN_OK) {
        status = driver->download(r.device, m[1], 0, got, sizeof got, fresh());
    }
    if (r.device != NULL) {
        driver->recording_free(r.device, recording);
        for (uint32_t i = 0; i < 3; i++) {
            driver->memory_free(r.device, m[i]);
        }
    }
    shut(&r);
    return status;
}

/* Every function of the library, failing at its first, second and third call. */
static void every_failure_is_told_and_leaves_nothing(void **state) {
    static const char *const functions[] = {
        "cuInit", "cuDeviceGetName", "cuDeviceTotalMem", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuMemAlloc", "cuMemHostAlloc",
        "cuMemHostGetDevicePointer", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpy3DAsync", "cuStreamCreate", "cuStreamSynchronize",
        "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuModuleLoadData", "cuModuleGetFunction",
        "cuLaunchKernel", "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddMemcpyNode", "cuGraphInstantiateWithFlags", "cuGraphUpload",
        "cuGraphLaunch"};
    (void)state;
    for (uint32_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        uint32_t n_failed = 0;
        for (uint32_t run = 0; run < 6; run++) {
            char text[80];
            uint64_t nanoseconds[2];
            snprintf(text, sizeof text, "%s:%u", functions[f], run / 2 + 1);
            setenv("FAKE_CUDA_FAIL", text, 1);
            const qn_status status = go_through_everything(run % 2 ? nanoseconds : NULL);
            unsetenv("FAKE_CUDA_FAIL");
            n_failed += status != QN_OK;
            const int is_told = error.code == status && error.native_code == CU_OUT_OF_MEMORY && strstr(error.text, functions[f]) != NULL;
            if (status != QN_OK && !is_told) {
                fail_msg("%s: status %d, code %d, native %lld, text '%s'", text, status, error.code, (long long)error.native_code,
                         error.text);
            }
        }
        if (n_failed == 0) {
            fail_msg("%s: no call of it could be made to fail", functions[f]);
        }
    }
}

static void an_image_that_is_too_new_for_the_driver_names_both(void **state) {
    (void)state;
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadData:1:222", 1);
    setenv("FAKE_CUDA_VERSION", "12040", 1);
    assert_int_equal(go_through_everything(NULL), QN_TOO_OLD);
    unsetenv("FAKE_CUDA_FAIL");
    unsetenv("FAKE_CUDA_VERSION");
    require_text("CUDA 12.4");
    require_text(cuda_built_with);
    assert_int_equal(error.native_code, 222);
}

/* A second run of the same list, after the first has lost the device. */
static void a_lost_device_refuses_until_it_is_opened_again(void **state) {
    rig r;
    (void)state;
    setenv("FAKE_CUDA_LOST", "2", 1);
    open_rig(&r);
    unsetenv("FAKE_CUDA_LOST");
    norm n = make_norm(&r, 1);
    gpu_memory *more = NULL;
    gpu_recording *recording = record(&r, &n.launch, 1);
    require_done("run", driver->run(r.device, recording, NULL, fresh()));
    assert_int_equal(driver->run(r.device, recording, NULL, fresh()), QN_DEVICE_LOST);
    require_text("CUDA_ERROR_LAUNCH_FAILED");
    assert_int_equal(error.native_code, 719);
    assert_int_equal(driver->run(r.device, recording, NULL, fresh()), QN_DEVICE_LOST);
    assert_int_equal(driver->memory_new(r.device, GPU_PLACE_DEVICE, 64, &more, fresh()), QN_DEVICE_LOST);
    driver->recording_free(r.device, recording);
    free_norm(&r, &n);
    shut(&r);
    assert_int_equal(go_through_everything(NULL), QN_OK);
}

static void memory_that_is_gone_is_a_lost_device(void **state) {
    rig r;
    (void)state;
    open_rig(&r);
    norm n = make_norm(&r, 1);
    gpu_recording *recording = record(&r, &n.launch, 1);
    driver->memory_free(r.device, n.x);
    n.x = NULL;
    assert_int_equal(driver->run(r.device, recording, NULL, fresh()), QN_DEVICE_LOST);
    require_text("CUDA_ERROR_ILLEGAL_ADDRESS");
    driver->recording_free(r.device, recording);
    free_norm(&r, &n);
    shut(&r);
}

/* --- Without a library ------------------------------------------------------------------------------------------------ */

static int test_no_driver(void) {
    gpu_driver_state *state = NULL;
    cf_host *host = cf_host_open(1, 0);
    const qn_status status = driver->start(cf_host_services(host), NULL, 0, &state, fresh());
    if (status == QN_OK) {
        driver->stop(state);
        cf_host_close(host);
        printf("skipped: this machine has a CUDA driver\n");
        return 77;
    }
    const int is_told = status == QN_UNAVAILABLE && strstr(error.text, "libcuda.so.1") != NULL
                        && strstr(error.text, "no NVIDIA driver") != NULL;
    printf("%s\n", error.text);
    return cf_host_close(host) == 0 && is_told ? 0 : 1;
}

static void find_in_library(void *library, const char *name, void *out) {
    void *symbol = library == NULL ? NULL : dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "%s: not the fake library: %s\n", name, dlerror());
        exit(1);
    }
    memcpy(out, &symbol, sizeof symbol);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listed_device_has_its_bus_address_and_no_context),
        cmocka_unit_test(a_device_that_is_too_old_is_told_what_is_needed),
        cmocka_unit_test(a_machine_without_devices_is_unavailable),
        cmocka_unit_test(an_option_that_is_no_number_is_refused),
        cmocka_unit_test(what_is_uploaded_comes_back),
        cmocka_unit_test(an_upload_may_still_be_on_its_way_when_memory_is_freed),
        cmocka_unit_test(too_much_memory_is_refused_with_asked_and_free_bytes),
        cmocka_unit_test(pages_of_the_host_are_used_in_place_on_integrated_devices_alone),
        cmocka_unit_test(a_kernel_runs_as_often_as_its_recording),
        cmocka_unit_test(launches_see_what_those_before_them_wrote),
        cmocka_unit_test(a_recording_is_replaced_without_memory_of_the_host),
        cmocka_unit_test(times_are_told_for_each_launch),
        cmocka_unit_test(a_cancelled_step_stands_still_soon),
        cmocka_unit_test(a_short_step_is_one_graph),
        cmocka_unit_test(any_thread_may_call),
        cmocka_unit_test(every_failure_is_told_and_leaves_nothing),
        cmocka_unit_test(an_image_that_is_too_new_for_the_driver_names_both),
        cmocka_unit_test(a_lost_device_refuses_until_it_is_opened_again),
        cmocka_unit_test(memory_that_is_gone_is_a_lost_device),
    };
    if (argc > 1 && strcmp(argv[1], "no-driver") == 0) {
        return test_no_driver();
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    find_in_library(library, "fake_cuda_live", &live);
    find_in_library(library, "fake_cuda_launches", &launches_run);
    find_in_library(library, "fake_cuda_before", &before_launch);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
