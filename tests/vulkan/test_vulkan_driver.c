/* test_vulkan_driver.c — the Vulkan driver by itself, on the first device of the loader: memory, kernels, recordings, the blob store.
 *
 * With the argument "available" it only says whether there is something to test; "available calls" also whether under the layer.
 * With the argument "calls" or "kernels" everything happens under the validation layer, whose errors fail the run that they belong to; and what
 * no run is behind, the count of them at the end.
 * Exit status 77 where there is no Vulkan, no device, or no layer.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/cf_host.h"
#include "vk_driver.h"

#define GROUPS 3u
#define WIDTH 200u
#define EPSILON 1e-5f

static cf_host *host;
static qn_host services;
static qn_error error;
static gpu_driver_state *driver;
static gpu_driver_device *device;
static gpu_caps caps;
static qn_option validate = {"validate", "off"};

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
    if (room > 0) {
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

static void open_device(const qn_option *options, uint32_t n_options) {
    require_done("open", gpu_the_driver.open(driver, 0, options, n_options, &device, &caps, fresh()));
}

static int set_up(void **state) {
    (void)state;
    cf_host_cancel(host, false);
    memset(&blob, 0, sizeof blob);
    open_device(NULL, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gpu_the_driver.close(device);
    return 0;
}

static void reopen(const qn_option *options, uint32_t n_options) {
    gpu_the_driver.close(device);
    open_device(options, n_options);
}

static gpu_memory *new_memory(uint32_t place, uint64_t bytes) {
    gpu_memory *memory = NULL;
    require_done("memory_new", gpu_the_driver.memory_new(device, place, bytes, &memory, fresh()));
    assert_int_equal(memory->bytes, bytes);
    assert_true((memory->host != NULL) == (place != GPU_PLACE_DEVICE));
    return memory;
}

/* As on a device whose memory the host does not see: bytes reach it through staging memory only. */
static gpu_memory *new_unseen_memory(uint64_t bytes) {
    gpu_memory *const memory = new_memory(GPU_PLACE_DEVICE, bytes);
    vk_memory_of(memory)->mapped = NULL;
    vk_memory_of(memory)->is_read_fast = false;
    return memory;
}

static uint32_t open_kernel(const char *name) {
    for (uint32_t i = 0; i < vk_spirv_count; i++) {
        if (strcmp(vk_spirv_table[i].name, name) == 0) {
            require_done("kernel_open", gpu_the_driver.kernel_open(device, i, fresh()));
            return i;
        }
    }
    fail_msg("no kernel %s", name);
    return 0;
}

static void run(gpu_recording *recording) {
    require_done("run", gpu_the_driver.run(device, recording, NULL, fresh()));
}

/* --- Launches: x and weight up; rms_norm; y down ------------------------------------------------------------------------- */

typedef struct norm {
    gpu_memory *up, *on_device, *down;
    gpu_launch launches[3];
    gpu_recording *recording;
} norm;

/* Not at places where a descriptor may begin. */
#define X_AT 68u
#define WEIGHT_AT (X_AT + 4u * GROUPS * WIDTH + 4u)
#define Y_AT 8u
#define Y_BYTES (4u * GROUPS * WIDTH)

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void make_numbers(void *x, void *weight, float scale) {
    for (uint32_t i = 0; i < GROUPS * WIDTH; i++) {
        ((float *)x)[i] = scale * (float)((int)(i * 37 % 101) - 50);
    }
    for (uint32_t i = 0; i < WIDTH; i++) {
        ((float *)weight)[i] = 0.25f * (float)(1 + i % 7);
    }
}

static void norm_fill(const norm *n, float scale) {
    make_numbers((char *)n->up->host + X_AT, (char *)n->up->host + WEIGHT_AT, scale);
}

static void norm_record(const norm *n) {
    require_done("record", gpu_the_driver.record(device, n->recording, n->launches, 2, fresh()));
}

static void norm_init(norm *n) {
    memset(n, 0, sizeof *n);
    n->up = new_memory(GPU_PLACE_UPLOAD, WEIGHT_AT + 4 * WIDTH);
    n->on_device = new_memory(GPU_PLACE_DEVICE, Y_AT + Y_BYTES);
    n->down = new_memory(GPU_PLACE_READBACK, Y_BYTES);
    norm_fill(n, 0.5f);
    n->launches[0] = (gpu_launch){
        .kernel = open_kernel("rms_norm"), .grid = {GROUPS, 1, 1}, .n_buffers = 3, .op = 7, .flags = GPU_LAUNCH_CUT,
        .buffers = {{n->up, X_AT, 4 * GROUPS * WIDTH}, {n->up, WEIGHT_AT, 4 * WIDTH}, {n->on_device, Y_AT, Y_BYTES}},
        .n_params = 3, .params = {GROUPS, WIDTH, float_bits(EPSILON)}};
    n->launches[1] = (gpu_launch){.kernel = GPU_COPY, .grid = {1, 1, 1}, .n_buffers = 2,
                                  .buffers = {{n->on_device, Y_AT, Y_BYTES}, {n->down, 0, Y_BYTES}}};
    require_done("recording_new", gpu_the_driver.recording_new(device, 3, &n->recording, fresh()));
    norm_record(n);
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
            if (!(fabs(y[g * WIDTH + i] - want) <= 1e-5 * fabs(want))) {
                fail_msg("row %u element %u: %.9g, wanted %.9g", g, i, (double)y[g * WIDTH + i], want);
            }
        }
    }
}

/* --- Devices ------------------------------------------------------------------------------------------------------------- */

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
    again.memory_free = first.memory_free;
    assert_memory_equal(&first, &again, sizeof first);
    gpu_the_driver.stop(other);
}

static void a_device_that_is_not_there_is_refused(void **state) {
    qn_device_info info = {.size = sizeof info};
    (void)state;
    assert_int_equal(gpu_the_driver.describe(driver, 99, &info, fresh()), QN_BAD_ARG);
    assert_non_null(strstr(error.text, "99"));
}

static void a_software_device_says_that_it_is_one(void **state) {
    qn_device_info info = {.size = sizeof info};
    (void)state;
    require_done("describe", gpu_the_driver.describe(driver, 0, &info, fresh()));
    assert_int_equal((info.flags & QN_DEVICE_SOFTWARE) != 0, info.device_class == QN_DEVICE_CPU);
    assert_int_equal((info.flags & QN_DEVICE_HOST_MEMORY) != 0, (caps.flags & GPU_CAP_UNIFIED) != 0);
}

static void every_cap_is_filled(void **state) {
    (void)state;
    assert_true(caps.subgroup >= 1 && caps.max_group >= 128 && caps.compute_units >= 1 && caps.shared_bytes >= 16384);
    assert_true(caps.max_grid[0] > 0 && caps.max_grid[1] > 0 && caps.max_grid[2] > 0);
    assert_true(caps.max_memory_bytes > 0 && caps.max_binding_bytes > 0 && caps.memory_align >= 1 && caps.launch_bytes > 0);
}

static void a_switch_that_is_neither_on_nor_off_is_refused_with_its_key(void **state) {
    const qn_option bad[] = {{"import", "maybe"}, {"subgroups", ""}, {"validate", "2"}};
    gpu_driver_device *other = NULL;
    gpu_driver_state *state_of_other = NULL;
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(gpu_the_driver.open(driver, 0, &bad[i], 1, &other, &caps, fresh()), QN_BAD_ARG);
        assert_non_null(strstr(error.text, bad[i].key));
    }
    assert_int_equal(gpu_the_driver.start(&services, &bad[2], 1, &state_of_other, fresh()), QN_BAD_ARG);
    assert_non_null(strstr(error.text, "validate"));
}

/* --- Memory -------------------------------------------------------------------------------------------------------------- */

static void bytes_come_back_from_any_place_and_offset(void **state) {
    (void)state;
    for (uint32_t p = 0; p < 4; p++) {
        char back[9] = "";
        gpu_memory *memory = p == 3 ? new_unseen_memory(100) : new_memory(p, 100);
        require_done("upload", gpu_the_driver.upload(device, memory, 13, "quoin-42", 9, fresh()));
        require_done("download", gpu_the_driver.download(device, memory, 13, back, 9, fresh()));
        assert_string_equal(back, "quoin-42");
        gpu_the_driver.memory_free(device, memory);
    }
}

static void what_is_longer_than_the_staging_memory_goes_in_pieces(void **state) {
    const uint64_t bytes = (9u << 20) + 7;
    gpu_memory *memory = new_unseen_memory(bytes + 5);
    unsigned char *sent = malloc(bytes), *back = calloc(1, bytes);
    (void)state;
    for (uint64_t i = 0; i < bytes; i++) {
        sent[i] = (unsigned char)(i * 2654435761u >> 16);
    }
    require_done("upload", gpu_the_driver.upload(device, memory, 5, sent, bytes, fresh()));
    require_done("download", gpu_the_driver.download(device, memory, 5, back, bytes, fresh()));
    assert_memory_equal(sent, back, bytes);
    gpu_the_driver.memory_free(device, memory);
    free(sent);
    free(back);
}

static void memory_that_no_device_has_is_refused_with_its_size(void **state) {
    gpu_memory *memory = NULL;
    (void)state;
    assert_int_equal(gpu_the_driver.memory_new(device, GPU_PLACE_DEVICE, UINT64_C(1) << 46, &memory, fresh()), QN_NO_DEVICE_MEM);
    assert_null(memory);
    assert_non_null(strstr(error.text, "70368744177664"));
    assert_true(error.native_code != 0);
}

static void pages_of_a_file_are_read_in_place(void **state) {
    char path[] = "/tmp/vulkan-pages-XXXXXX";
    static char bytes[3 * 4096 + 100];
    gpu_memory *memory = NULL;
    uint64_t at = 0;
    norm n;
    (void)state;
    if ((caps.flags & GPU_CAP_UNIFIED) == 0) {
        skip();
    }
    norm_init(&n);
    make_numbers((char *)n.up->host + X_AT, bytes + 4096 + 20, 1.0f);
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    unlink(path);
    char *map = mmap(NULL, sizeof bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    require_done("memory_import", gpu_the_driver.memory_import(device, map + 4096 + 20, 4 * WIDTH, &memory, &at, fresh()));
    memset((char *)n.up->host + WEIGHT_AT, 0, 4 * WIDTH);
    n.launches[0].buffers[1] = (gpu_binding){memory, at, 4 * WIDTH};
    norm_record(&n);
    run(n.recording);
    require_norm(&n, 1.0f);
    gpu_the_driver.memory_free(device, memory);
    assert_memory_equal(map, bytes, sizeof bytes);
    munmap(map, sizeof bytes);
    close(fd);
    norm_deinit(&n);
}

static void pages_are_not_imported_when_the_user_forbids_it(void **state) {
    const qn_option off = {"import", "off"};
    static char page[4096];
    gpu_memory *memory = NULL;
    uint64_t at = 0;
    (void)state;
    reopen(&off, 1);
    assert_int_equal(caps.flags & GPU_CAP_UNIFIED, 0);
    assert_int_equal(gpu_the_driver.memory_import(device, page, 64, &memory, &at, fresh()), QN_UNSUPPORTED);
    assert_true(error.text[0] != '\0');
}

/* --- Recordings ---------------------------------------------------------------------------------------------------------- */

static void a_recording_computes_what_its_kernels_say_each_time_it_runs(void **state) {
    norm n;
    (void)state;
    norm_init(&n);
    for (uint32_t i = 1; i <= 3; i++) {
        norm_fill(&n, (float)i);
        run(n.recording);
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
    run(n.recording);
    require_norm(&n, 0.5f);
    require_done("record", gpu_the_driver.record(device, n.recording, n.launches + 1, 2, fresh()));
    run(n.recording);
    require_norm(&n, 0.5f);
    norm_deinit(&n);
}

/* So many cuts that parts hold several, and a chain in which each copy needs the one before it. */
static void copies_see_what_came_before_them_across_parts(void **state) {
    enum { LENGTH = 300 };
    static gpu_launch chain[LENGTH];
    gpu_memory *up = new_memory(GPU_PLACE_UPLOAD, 16), *row = new_memory(GPU_PLACE_DEVICE, 16 * LENGTH);
    gpu_memory *down = new_memory(GPU_PLACE_READBACK, 16);
    gpu_recording *recording = NULL;
    (void)state;
    for (uint32_t i = 0; i < LENGTH; i++) {
        chain[i] = (gpu_launch){.kernel = GPU_COPY, .flags = GPU_LAUNCH_CUT, .n_buffers = 2,
                                .buffers = {{row, 16 * (i - (i > 0)), 16}, {row, 16 * i, 16}}};
    }
    chain[0].buffers[0] = (gpu_binding){up, 0, 16};
    chain[LENGTH - 1].buffers[1] = (gpu_binding){down, 0, 16};
    require_done("recording_new", gpu_the_driver.recording_new(device, LENGTH, &recording, fresh()));
    require_done("record", gpu_the_driver.record(device, recording, chain, LENGTH, fresh()));
    for (char turn = 'a'; turn < 'e'; turn++) {
        memset(up->host, turn, 16);
        run(recording);
        assert_memory_equal(down->host, up->host, 16);
    }
    assert_in_range(recording->n_parts, 32, VK_MOST_PARTS);
    gpu_the_driver.recording_free(device, recording);
    gpu_the_driver.memory_free(device, up);
    gpu_the_driver.memory_free(device, row);
    gpu_the_driver.memory_free(device, down);
}

static void what_runs_takes_no_memory_of_the_host(void **state) {
    uint64_t nanoseconds[2] = {0, 0};
    norm n;
    (void)state;
    norm_init(&n);
    const uint64_t before = cf_host_allocations(host);
    norm_record(&n);
    run(n.recording);
    require_done("run", gpu_the_driver.run(device, n.recording, nanoseconds, fresh()));
    assert_int_equal(cf_host_allocations(host), before);
    norm_deinit(&n);
}

static void a_recording_takes_what_its_room_says(void **state) {
    gpu_recording *recording = NULL;
    (void)state;
    const uint64_t before = cf_host_bytes(host, QN_MEM_SCRATCH);
    require_done("recording_new", gpu_the_driver.recording_new(device, 100, &recording, fresh()));
    assert_in_range(cf_host_bytes(host, QN_MEM_SCRATCH) - before, 1, 100 * caps.launch_bytes + caps.recording_bytes);
    gpu_the_driver.recording_free(device, recording);
    assert_int_equal(cf_host_bytes(host, QN_MEM_SCRATCH), before);
}

static void more_launches_than_the_room_are_refused_and_leave_it_empty(void **state) {
    norm n;
    (void)state;
    norm_init(&n);
    assert_int_equal(gpu_the_driver.record(device, n.recording, n.launches, 4, fresh()), QN_INTERNAL);
    assert_int_equal(gpu_the_driver.run(device, n.recording, NULL, fresh()), QN_INTERNAL);
    norm_record(&n);
    run(n.recording);
    require_norm(&n, 0.5f);
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
    run(n.recording);
    require_norm(&n, 0.5f);
    norm_deinit(&n);
}

static void times_are_added_for_each_launch(void **state) {
    uint64_t nanoseconds[2] = {UINT64_C(1) << 40, 0};
    norm n;
    (void)state;
    norm_init(&n);
    require_done("run", gpu_the_driver.run(device, n.recording, nanoseconds, fresh()));
    require_norm(&n, 0.5f);
    assert_in_range(nanoseconds[0] - (UINT64_C(1) << 40), 1, UINT64_C(10000000000));
    assert_in_range(nanoseconds[1], 1, UINT64_C(10000000000));
    norm_deinit(&n);
}

static void no_allocation_that_fails_leaves_anything_behind(void **state) {
    (void)state;
    for (uint64_t k = 0; k < 12; k++) {
        gpu_driver_device *other = NULL;
        gpu_recording *recording = NULL;
        gpu_memory *memory = NULL;
        gpu_caps ignored;
        const uint64_t before = cf_host_bytes(host, QN_MEM_OTHER) + cf_host_bytes(host, QN_MEM_SCRATCH) + cf_host_bytes(host, QN_MEM_CODE);
        cf_host_fail_after(host, k);
        qn_status status = gpu_the_driver.open(driver, 0, NULL, 0, &other, &ignored, fresh());
        status = status != QN_OK ? status : gpu_the_driver.recording_new(other, 3, &recording, fresh());
        status = status != QN_OK ? status : gpu_the_driver.memory_new(other, GPU_PLACE_DEVICE, 64, &memory, fresh());
        cf_host_fail_after(host, UINT64_MAX);
        assert_true(status == QN_OK || (status == QN_NO_HOST_MEM && error.text[0] != '\0'));
        if (other != NULL) {
            gpu_the_driver.memory_free(other, memory);
            gpu_the_driver.recording_free(other, recording);
            gpu_the_driver.close(other);
        }
        assert_int_equal(cf_host_bytes(host, QN_MEM_OTHER) + cf_host_bytes(host, QN_MEM_SCRATCH) + cf_host_bytes(host, QN_MEM_CODE), before);
    }
}

/* --- The blob store ------------------------------------------------------------------------------------------------------ */

static void the_pipeline_cache_is_kept_when_a_kernel_was_made(void **state) {
    (void)state;
    reopen(NULL, 0);
    assert_int_equal(blob.n_puts, 0);
    open_kernel("rms_norm");
    open_kernel("rms_norm");
    reopen(NULL, 0);
    assert_int_equal(blob.n_puts, 1);
    assert_int_equal(blob.n_gets, 1);
}

static void a_cache_that_is_not_whole_never_reaches_the_driver(void **state) {
    static const struct {
        const char *name;
        int64_t flip; /* this byte, counted from the end when negative */
        uint64_t keep; /* so many bytes, or all */
    } cases[] = {{"first byte", 0, 0}, {"byte of the checksum", 9, 0}, {"first of the driver's", 16, 0}, {"last byte", -1, 0}, {"header alone", 0, 16},
                 {"one byte", 0, 1}};
    norm n;
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_kernel("rms_norm");
        gpu_the_driver.close(device);
        assert_int_equal(blob.n_puts, i + 1);
        blob.data[cases[i].flip < 0 ? blob.bytes - (uint64_t)-cases[i].flip : (uint64_t)cases[i].flip] ^= 0x40;
        blob.bytes = cases[i].keep != 0 ? cases[i].keep : blob.bytes;
        open_device(NULL, 0);
        norm_init(&n);
        run(n.recording);
        require_norm(&n, 0.5f);
        norm_deinit(&n);
    }
}

/* --- Validation ---------------------------------------------------------------------------------------------------------- */

static void require_validation(void) {
    if (strcmp(validate.value, "off") == 0) {
        skip();
    }
}

static void an_error_of_the_layer_fails_the_run(void **state) {
    norm n;
    (void)state;
    require_validation();
    norm_init(&n);
    n.launches[0].buffers[0].bytes += 1u << 20;
    require_done("record", gpu_the_driver.record(device, n.recording, n.launches, 2, fresh()));
    assert_int_equal(gpu_the_driver.run(device, n.recording, NULL, fresh()), QN_INTERNAL);
    assert_non_null(strstr(error.text, "validation"));
    n.launches[0].buffers[0].bytes -= 1u << 20;
    norm_record(&n);
    run(n.recording);
    norm_deinit(&n);
}

/* The kernel is told of more elements than its bindings hold. */
static void a_kernel_that_reads_beyond_its_binding_is_caught(void **state) {
    norm n;
    (void)state;
    if (strcmp(validate.value, "kernels") != 0) {
        skip();
    }
    norm_init(&n);
    n.launches[0].params[1] = 16 * WIDTH;
    norm_record(&n);
    assert_int_equal(gpu_the_driver.run(device, n.recording, NULL, fresh()), QN_INTERNAL);
    norm_deinit(&n);
}

static void a_launch_that_reads_what_its_neighbour_writes_is_caught(void **state) {
    norm n;
    (void)state;
    require_validation();
    norm_init(&n);
    n.launches[1] = n.launches[0];
    n.launches[0].flags = 0;
    n.launches[1].flags = GPU_LAUNCH_BESIDE;
    n.launches[1].buffers[0] = n.launches[0].buffers[2];
    n.launches[1].buffers[2] = (gpu_binding){n.down, 0, Y_BYTES};
    norm_record(&n);
    assert_int_equal(gpu_the_driver.run(device, n.recording, NULL, fresh()), QN_INTERNAL);
    norm_deinit(&n);
}

/* --- Kernels ------------------------------------------------------------------------------------------------------------- */

static void every_kernel_can_be_opened(void **state) {
    (void)state;
    if (strcmp(validate.value, "kernels") == 0) {
        skip(); /* instrumenting them all takes minutes */
    }
    for (uint32_t i = 0; i < vk_spirv_count; i++) {
        if ((!vk_spirv_table[i].needs_subgroups || (caps.flags & GPU_CAP_SUBGROUPS) != 0)
            && (!vk_spirv_table[i].needs_dot || (caps.flags & GPU_CAP_INT_DOT) != 0)) {
            require_done(vk_spirv_table[i].name, gpu_the_driver.kernel_open(device, i, fresh()));
        }
    }
}

static void products_of_bytes_are_used_where_hardware_makes_them_or_the_option_says(void **state) {
    static const struct {
        bool has, is_fast;
        VkPhysicalDeviceType type;
        bool automatic, on;
    } rows[] = {{true, true, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, true, true},
                {true, false, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, false, true},
                {true, true, VK_PHYSICAL_DEVICE_TYPE_CPU, false, true},
                {false, false, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vk_adapter adapter = {.type = rows[i].type, .has_dot = rows[i].has, .has_fast_dot = rows[i].is_fast};
        gpu_driver_state with = {.int_dot = VK_INT_DOT_AUTO};
        assert_int_equal(vk_uses_dot(&with, &adapter), rows[i].automatic);
        with.int_dot = VK_INT_DOT_ON;
        assert_int_equal(vk_uses_dot(&with, &adapter), rows[i].on);
        with.int_dot = VK_INT_DOT_OFF;
        assert_false(vk_uses_dot(&with, &adapter));
    }
}

/* --- Start --------------------------------------------------------------------------------------------------------------- */

/* The first device of the loader, or 77. */
static int start_driver(void) {
    uint32_t count = 0;
    host = cf_host_open(1, 0);
    services = *cf_host_services(host);
    services.blob_get = get_blob;
    services.blob_put = put_blob;
    const qn_status status = gpu_the_driver.start(&services, &validate, 1, &driver, fresh());
    if (status == QN_OK && gpu_the_driver.count(driver, &count, fresh()) == QN_OK && count > 0) {
        return 0;
    }
    printf("skipped: %s\n", status == QN_OK ? "no device with Vulkan 1.1" : error.text);
    return status == QN_OK || status == QN_UNAVAILABLE ? 77 : 1;
}

int main(int argc, char **argv) {
#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(devices_have_ids_that_stay),
        DEVICE_TEST(a_device_that_is_not_there_is_refused),
        DEVICE_TEST(a_software_device_says_that_it_is_one),
        DEVICE_TEST(every_cap_is_filled),
        DEVICE_TEST(a_switch_that_is_neither_on_nor_off_is_refused_with_its_key),
        DEVICE_TEST(bytes_come_back_from_any_place_and_offset),
        DEVICE_TEST(what_is_longer_than_the_staging_memory_goes_in_pieces),
        DEVICE_TEST(memory_that_no_device_has_is_refused_with_its_size),
        DEVICE_TEST(pages_of_a_file_are_read_in_place),
        DEVICE_TEST(pages_are_not_imported_when_the_user_forbids_it),
        DEVICE_TEST(a_recording_computes_what_its_kernels_say_each_time_it_runs),
        DEVICE_TEST(a_recording_can_be_recorded_anew),
        DEVICE_TEST(copies_see_what_came_before_them_across_parts),
        DEVICE_TEST(what_runs_takes_no_memory_of_the_host),
        DEVICE_TEST(a_recording_takes_what_its_room_says),
        DEVICE_TEST(more_launches_than_the_room_are_refused_and_leave_it_empty),
        DEVICE_TEST(a_cancelled_run_says_so_and_the_next_one_works),
        DEVICE_TEST(times_are_added_for_each_launch),
        DEVICE_TEST(no_allocation_that_fails_leaves_anything_behind),
        DEVICE_TEST(the_pipeline_cache_is_kept_when_a_kernel_was_made),
        DEVICE_TEST(a_cache_that_is_not_whole_never_reaches_the_driver),
        DEVICE_TEST(every_kernel_can_be_opened),
        cmocka_unit_test(products_of_bytes_are_used_where_hardware_makes_them_or_the_option_says),
        DEVICE_TEST(an_error_of_the_layer_fails_the_run),
        DEVICE_TEST(a_kernel_that_reads_beyond_its_binding_is_caught),
        DEVICE_TEST(a_launch_that_reads_what_its_neighbour_writes_is_caught),
    };
    const bool asks = argc > 1 && strcmp(argv[1], "available") == 0;
    validate.value = argc > 1 && strcmp(argv[argc - 1], "available") != 0 ? argv[argc - 1] : "off";
    const int started = start_driver();
    if (started != 0 || asks) {
        return started;
    }
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    const unsigned n_complaints = driver->n_complaints;
    if (n_complaints != 0) {
        printf("the validation layer told of %u errors outside of runs\n", n_complaints);
    }
    gpu_the_driver.stop(driver);
    return n_failed != 0 || n_complaints != 0 || cf_host_close(host) != 0;
}
