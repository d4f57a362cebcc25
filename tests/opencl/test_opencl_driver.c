/* test_opencl_driver.c — the OpenCL driver by itself, on the first device of the system: memory, kernels, recordings, the blob store.
 *
 * Exit status 77 where there is no OpenCL, or no device.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu_driver.h"
#include "ocl_sources.h"
#include "core/cf_host.h"

#define GROUPS 3u
#define WIDTH 200u
#define EPSILON 1e-5f


static cf_host *host;
static qn_host services;
static qn_error error;
static gpu_driver_state *driver;
static gpu_driver_device *device;
static gpu_caps caps;

/* A blob store of one blob. */
static struct {
    char key[256];
    unsigned char data[1u << 22];
    uint64_t bytes;
    uint32_t n_puts, n_gets;
} blob;

static uint64_t QN_CALL get_blob(void *ctx, const char *key, void *data, uint64_t room) {
    (void)ctx;
    if (blob.bytes == 0 || strcmp(key, blob.key) != 0) {
        return 0;
    }
    if (room > 0) { /* without room the size alone is asked for, and data may be null */
        memcpy(data, blob.data, room < blob.bytes ? room : blob.bytes);
        blob.n_gets++;
    }
    return blob.bytes;
}

static qn_status QN_CALL put_blob(void *ctx, const char *key, const void *data, uint64_t bytes) {
    (void)ctx;
    assert_true(bytes <= sizeof blob.data);
    snprintf(blob.key, sizeof blob.key, "%s", key);
    memcpy(blob.data, data, bytes);
    blob.bytes = bytes;
    blob.n_puts++;
    return QN_OK;
}

static qn_error *fresh(void) {
    error = (qn_error){.size = sizeof error, .op = QN_NO_OP};
    return &error;
}

static void require_done(const char *what, qn_status status) {
    if (status != QN_OK) {
        fail_msg("%s: status %d: %s", what, status, error.text);
    }
}

static void open_device(void) {
    const qn_option keep = {"keep", "yes"};
    require_done("open", gpu_the_driver.open(driver, 0, &keep, 1, &device, &caps, fresh()));
}

static int set_up(void **state) {
    (void)state;
    cf_host_cancel(host, false);
    memset(&blob, 0, sizeof blob);
    open_device();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gpu_the_driver.close(device);
    return 0;
}

static gpu_memory *new_memory(uint32_t place, uint64_t bytes) {
    gpu_memory *memory = NULL;
    require_done("memory_new", gpu_the_driver.memory_new(device, place, bytes, &memory, fresh()));
    assert_int_equal(memory->bytes, bytes);
    assert_true((memory->host != NULL) == (place != GPU_PLACE_DEVICE));
    return memory;
}

static uint32_t find_kernel(const char *name) {
    for (uint32_t i = 0; i < ocl_n_kernels; i++) {
        if (strcmp(ocl_kernels[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no kernel %s", name);
    return 0;
}

static uint32_t open_kernel(const char *name) {
    const uint32_t kernel = find_kernel(name);
    require_done("kernel_open", gpu_the_driver.kernel_open(device, kernel, fresh()));
    return kernel;
}

/* --- A program of three launches: x, weight up; rms_norm; y down --------------------------------------------------------- */

typedef struct norm {
    gpu_memory *up, *on_device, *down;
    gpu_launch launches[3];
    gpu_recording *recording;
} norm;

#define X_AT 64u
#define WEIGHT_AT (X_AT + 4u * GROUPS * WIDTH)
#define Y_AT 8u
#define Y_BYTES (4u * GROUPS * WIDTH)

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void make_numbers(float *x, float *weight, float scale) {
    for (uint32_t i = 0; i < GROUPS * WIDTH; i++) {
        x[i] = scale * (float)((int)(i * 37 % 101) - 50);
    }
    for (uint32_t i = 0; i < WIDTH; i++) {
        weight[i] = 0.25f * (float)(1 + i % 7);
    }
}

static void norm_init(norm *n) {
    memset(n, 0, sizeof *n);
    n->up = new_memory(GPU_PLACE_UPLOAD, WEIGHT_AT + 4 * WIDTH);
    n->on_device = new_memory(GPU_PLACE_DEVICE, Y_AT + Y_BYTES);
    n->down = new_memory(GPU_PLACE_READBACK, Y_BYTES);
    make_numbers((float *)(void *)((char *)n->up->host + X_AT), (float *)(void *)((char *)n->up->host + WEIGHT_AT), 0.5f);
    n->launches[0] = (gpu_launch){
        .kernel = open_kernel("rms_norm"), .grid = {GROUPS, 1, 1}, .n_buffers = 3, .op = 7, .flags = GPU_LAUNCH_CUT,
        .buffers = {{n->up, X_AT, 4 * GROUPS * WIDTH}, {n->up, WEIGHT_AT, 4 * WIDTH}, {n->on_device, Y_AT, Y_BYTES}},
        .n_params = 3, .params = {GROUPS, WIDTH, float_bits(EPSILON)}};
    n->launches[1] = (gpu_launch){.kernel = GPU_COPY, .grid = {1, 1, 1}, .n_buffers = 2,
                                  .buffers = {{n->on_device, Y_AT, Y_BYTES}, {n->down, 0, Y_BYTES}}};
    require_done("recording_new", gpu_the_driver.recording_new(device, 3, &n->recording, fresh()));
    require_done("record", gpu_the_driver.record(device, n->recording, n->launches, 2, fresh()));
}

static void norm_deinit(norm *n) {
    gpu_the_driver.recording_free(device, n->recording);
    gpu_the_driver.memory_free(device, n->up);
    gpu_the_driver.memory_free(device, n->on_device);
    gpu_the_driver.memory_free(device, n->down);
}

static void require_norm(const norm *n, float scale) {
    static float x[GROUPS * WIDTH], weight[WIDTH];
    const float *y = n->down->host;
    make_numbers(x, weight, scale);
    for (uint32_t g = 0; g < GROUPS; g++) {
        double sum = 0;
        for (uint32_t i = 0; i < WIDTH; i++) {
            sum += (double)x[g * WIDTH + i] * x[g * WIDTH + i];
        }
        for (uint32_t i = 0; i < WIDTH; i++) {
            const double want = x[g * WIDTH + i] / sqrt(sum / WIDTH + EPSILON) * weight[i];
            if (fabs(y[g * WIDTH + i] - want) > 1e-5 * fabs(want)) {
                fail_msg("row %u element %u: %.9g, wanted %.9g", g, i, (double)y[g * WIDTH + i], want);
            }
        }
    }
}

/* --- Tests -------------------------------------------------------------------------------------------------------------- */

static void devices_have_ids_that_stay(void **state) {
    qn_device_info first = {.size = sizeof first}, again = {.size = sizeof again};
    gpu_driver_state *other = NULL;
    uint32_t count = 0;
    (void)state;
    require_done("describe", gpu_the_driver.describe(driver, 0, &first, fresh()));
    assert_true(first.id[0] != '\0' && first.name[0] != '\0' && first.driver[0] != '\0' && strpbrk(first.id, " ,;") == NULL);
    require_done("start", gpu_the_driver.start(&services, NULL, 0, &other, fresh()));
    require_done("count", gpu_the_driver.count(other, &count, fresh()));
    require_done("describe", gpu_the_driver.describe(other, 0, &again, fresh()));
    assert_memory_equal(&first, &again, sizeof first);
    gpu_the_driver.stop(other);
}

static void a_platform_that_is_not_there_is_named(void **state) {
    const qn_option option = {"platform", "No Such Vendor"};
    gpu_driver_state *other = NULL;
    uint32_t count = 0;
    (void)state;
    require_done("start", gpu_the_driver.start(&services, &option, 1, &other, fresh()));
    assert_int_equal(gpu_the_driver.count(other, &count, fresh()), QN_UNAVAILABLE);
    assert_non_null(strstr(error.text, "No Such Vendor"));
    gpu_the_driver.stop(other);
}

static void every_cap_is_filled(void **state) {
    (void)state;
    assert_true(caps.subgroup >= 1 && caps.max_group >= 128 && caps.compute_units >= 1 && caps.shared_bytes >= 16384);
    assert_true(caps.max_grid[0] > 0 && caps.max_grid[1] > 0 && caps.max_grid[2] > 0);
    assert_true(caps.max_memory_bytes > 0 && caps.max_binding_bytes > 0 && caps.memory_align >= 1 && caps.launch_bytes > 0);
}

static void bytes_come_back_from_any_place_and_offset(void **state) {
    static const uint32_t places[] = {GPU_PLACE_DEVICE, GPU_PLACE_UPLOAD, GPU_PLACE_READBACK};
    (void)state;
    for (uint32_t p = 0; p < 3; p++) {
        char back[9] = "";
        gpu_memory *memory = new_memory(places[p], 100);
        require_done("upload", gpu_the_driver.upload(device, memory, 13, "quoin-42", 9, fresh()));
        require_done("download", gpu_the_driver.download(device, memory, 13, back, 9, fresh()));
        assert_string_equal(back, "quoin-42");
        gpu_the_driver.memory_free(device, memory);
    }
}

static void memory_that_no_device_has_is_refused_with_its_size(void **state) {
    gpu_memory *memory = NULL;
    (void)state;
    assert_int_equal(gpu_the_driver.memory_new(device, GPU_PLACE_DEVICE, UINT64_C(1) << 46, &memory, fresh()), QN_NO_DEVICE_MEM);
    assert_null(memory);
    assert_non_null(strstr(error.text, "70368744177664"));
    assert_true(error.native_code != 0);
}

static void a_recording_computes_what_its_kernels_say_each_time_it_runs(void **state) {
    norm n;
    (void)state;
    norm_init(&n);
    for (uint32_t i = 1; i <= 3; i++) {
        make_numbers((float *)(void *)((char *)n.up->host + X_AT), (float *)(void *)((char *)n.up->host + WEIGHT_AT), (float)i);
        require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
        require_norm(&n, (float)i);
    }
    norm_deinit(&n);
}

static void a_recording_can_be_recorded_anew(void **state) {
    norm n;
    (void)state;
    norm_init(&n);
    n.launches[2] = n.launches[1];
    n.launches[1] = n.launches[0];
    n.launches[0] = (gpu_launch){.kernel = GPU_COPY, .grid = {1, 1, 1}, .n_buffers = 2,
                                 .buffers = {{n.up, 0, 64}, {n.on_device, Y_AT, 64}}};
    require_done("record", gpu_the_driver.record(device, n.recording, n.launches, 3, fresh()));
    require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
    require_norm(&n, 0.5f);
    require_done("record", gpu_the_driver.record(device, n.recording, n.launches + 1, 2, fresh()));
    require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
    require_norm(&n, 0.5f);
    norm_deinit(&n);
}

static void copies_go_between_memories_of_every_place(void **state) {
    gpu_memory *up = new_memory(GPU_PLACE_UPLOAD, 64), *one = new_memory(GPU_PLACE_DEVICE, 64);
    gpu_memory *two = new_memory(GPU_PLACE_DEVICE, 64), *down = new_memory(GPU_PLACE_READBACK, 64);
    gpu_recording *recording = NULL;
    const gpu_launch launches[] = {
        {.kernel = GPU_COPY, .n_buffers = 2, .buffers = {{up, 4, 16}, {one, 8, 16}}},
        {.kernel = GPU_COPY, .n_buffers = 2, .buffers = {{one, 8, 16}, {two, 12, 16}}},
        {.kernel = GPU_COPY, .n_buffers = 2, .buffers = {{two, 12, 16}, {down, 16, 16}}},
        {.kernel = GPU_COPY, .n_buffers = 2, .buffers = {{up, 0, 4}, {down, 0, 4}}},
    };
    (void)state;
    memcpy(up->host, "abcdthe sixteen bytes", 21);
    require_done("recording_new", gpu_the_driver.recording_new(device, 4, &recording, fresh()));
    require_done("record", gpu_the_driver.record(device, recording, launches, 4, fresh()));
    require_done("run", gpu_the_driver.run(device, recording, NULL, fresh()));
    assert_memory_equal((char *)down->host + 16, "the sixteen byte", 16);
    assert_memory_equal(down->host, "abcd", 4);
    gpu_the_driver.recording_free(device, recording);
    gpu_the_driver.memory_free(device, up);
    gpu_the_driver.memory_free(device, one);
    gpu_the_driver.memory_free(device, two);
    gpu_the_driver.memory_free(device, down);
}

static void a_run_takes_no_memory_of_the_host(void **state) {
    norm n;
    (void)state;
    norm_init(&n);
    const uint64_t before = cf_host_allocations(host);
    require_done("record", gpu_the_driver.record(device, n.recording, n.launches, 2, fresh()));
    require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
    assert_int_equal(cf_host_allocations(host), before);
    norm_deinit(&n);
}

static void a_cancelled_run_says_so_and_the_next_one_works(void **state) {
    norm n;
    (void)state;
    norm_init(&n);
    cf_host_cancel(host, true);
    assert_int_equal(gpu_the_driver.run(device, n.recording, NULL, fresh()), QN_CANCELLED);
    assert_true(error.text[0] != '\0');
    cf_host_cancel(host, false);
    require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
    require_norm(&n, 0.5f);
    norm_deinit(&n);
}

static void times_are_told_for_each_launch(void **state) {
    uint64_t nanoseconds[2] = {0, 0};
    norm n;
    (void)state;
    norm_init(&n);
    require_done("run", gpu_the_driver.run(device, n.recording, nanoseconds, fresh()));
    require_norm(&n, 0.5f);
    assert_in_range(nanoseconds[0], 1, UINT64_C(10000000000));
    norm_deinit(&n);
}

static void pages_of_a_file_are_read_in_place(void **state) {
    char path[] = "/tmp/opencl-pages-XXXXXX";
    static char bytes[3 * 4096 + 100];
    gpu_memory *memory = NULL;
    uint64_t at = 0;
    norm n;
    (void)state;
    if ((caps.flags & GPU_CAP_UNIFIED) == 0) {
        skip();
    }
    norm_init(&n);
    make_numbers((float *)(void *)((char *)n.up->host + X_AT), (float *)(void *)(bytes + 4096 + 20), 1.0f);
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    unlink(path);
    char *map = mmap(NULL, sizeof bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    const qn_status status = gpu_the_driver.memory_import(device, map + 4096 + 20, 4 * WIDTH, &memory, &at, fresh());
    if (status != QN_OK) {
        assert_int_equal(status, QN_UNSUPPORTED);
        assert_true(error.text[0] != '\0');
    } else {
        memset((char *)n.up->host + WEIGHT_AT, 0, 4 * WIDTH);
        n.launches[0].buffers[1] = (gpu_binding){memory, at, 4 * WIDTH};
        require_done("record", gpu_the_driver.record(device, n.recording, n.launches, 2, fresh()));
        require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
        require_norm(&n, 1.0f);
        gpu_the_driver.memory_free(device, memory);
    }
    assert_memory_equal(map, bytes, sizeof bytes);
    munmap(map, sizeof bytes);
    close(fd);
    norm_deinit(&n);
}

static void reopen(void) {
    gpu_the_driver.close(device);
    open_device();
}

static void a_kernel_is_compiled_once_and_then_comes_from_the_blob_store(void **state) {
    norm n;
    (void)state;
    open_kernel("rms_norm");
    open_kernel("rms_norm");
    assert_int_equal(blob.n_puts, 1);
    assert_non_null(strstr(blob.key, "rms_norm"));
    reopen();
    norm_init(&n);
    assert_int_equal(blob.n_puts, 1);
    assert_int_equal(blob.n_gets, 1);
    require_done("run", gpu_the_driver.run(device, n.recording, NULL, fresh()));
    require_norm(&n, 0.5f);
    norm_deinit(&n);
}

static void a_blob_that_is_not_whole_never_reaches_the_driver(void **state) {
    static const struct {
        const char *name;
        int64_t flip;   /* this byte, counted from the end when negative */
        int64_t cut;    /* so many bytes away */
    } cases[] = {{"first byte", 0, 0}, {"byte of the binary", 100, 0}, {"last byte", -1, 0}, {"short by one", -2, 1}, {"header alone", 0, -16},
                 {"one byte", 0, -1}};
    norm n;
    (void)state;
    open_kernel("rms_norm");
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint64_t at = cases[i].flip < 0 ? blob.bytes - (uint64_t)-cases[i].flip : (uint64_t)cases[i].flip;
        blob.data[at] ^= 0x40;
        blob.bytes = cases[i].cut < 0 ? (uint64_t)-cases[i].cut : blob.bytes - (uint64_t)cases[i].cut;
        reopen();
        norm_init(&n);
        assert_int_equal(blob.n_puts, 2 + i);
        require_done(cases[i].name, gpu_the_driver.run(device, n.recording, NULL, fresh()));
        require_norm(&n, 0.5f);
        norm_deinit(&n);
    }
}

static void kernels_are_kept_as_the_option_says(void **state) {
    static const char *const values[] = {"no", "yes", "auto", "perhaps"};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const qn_option keep = {"keep", values[i]};
        gpu_the_driver.close(device);
        blob.bytes = blob.n_puts = 0;
        require_done("open", gpu_the_driver.open(driver, 0, &keep, 1, &device, &caps, fresh()));
        open_kernel("rms_norm");
        assert_int_equal(blob.n_puts, i == 1 || (i == 2 && (caps.flags & GPU_CAP_ON_CPU) == 0));
    }
    const qn_option wrong = {"keep", values[3]};
    gpu_driver_device *none = NULL;
    assert_int_equal(gpu_the_driver.open(driver, 0, &wrong, 1, &none, &caps, fresh()), QN_BAD_ARG);
    assert_null(none);
    assert_non_null(strstr(error.text, "perhaps"));
}

static void every_kernel_compiles(void **state) {
    (void)state;
    services.blob_put = NULL;
    for (uint32_t i = 0; i < ocl_n_kernels; i++) {
        const qn_status status = gpu_the_driver.kernel_open(device, i, fresh());
        if ((ocl_kernels[i].needs & ~caps.flags) != 0) {
            assert_int_equal(status, QN_UNSUPPORTED);
            assert_non_null(strstr(error.text, ocl_kernels[i].name));
        } else {
            require_done(ocl_kernels[i].name, status);
        }
    }
    services.blob_put = put_blob;
}

/* The first device of the system, or 77. */
static int start_driver(void) {
    uint32_t count = 0;
    host = cf_host_open(1, 0);
    services = *cf_host_services(host);
    services.blob_get = get_blob;
    services.blob_put = put_blob;
    qn_status status = gpu_the_driver.start(&services, NULL, 0, &driver, fresh());
    if (status == QN_OK) {
        status = gpu_the_driver.count(driver, &count, fresh());
    }
    if (status == QN_UNAVAILABLE) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    return status == QN_OK ? 0 : 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_have_ids_that_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_platform_that_is_not_there_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_cap_is_filled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_come_back_from_any_place_and_offset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_no_device_has_is_refused_with_its_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_recording_computes_what_its_kernels_say_each_time_it_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_recording_can_be_recorded_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_go_between_memories_of_every_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_takes_no_memory_of_the_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cancelled_run_says_so_and_the_next_one_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_are_told_for_each_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_of_a_file_are_read_in_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_is_compiled_once_and_then_comes_from_the_blob_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_blob_that_is_not_whole_never_reaches_the_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kernels_are_kept_as_the_option_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_kernel_compiles, set_up, tear_down),
    };
    const int started = start_driver();
    if (started != 0) {
        return started;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_the_driver.stop(driver);
    return n_failed > 0 || cf_host_close(host) != 0;
}
