/* test_cuda_shim.cpp — the shim itself: kernels in CUDA's own words do what they would do on a device. */
#include "cuda_shim.h" /* first: cmocka has a macro `fail` */

#include <csetjmp>
#include <cstdarg>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

struct shim_params {
    unsigned int n;
};

/* --- Kernels ---------------------------------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(64) sum_of_warp(const unsigned char *x, unsigned char *y, const shim_params) {
    float sum = ((const float *)x)[threadIdx.x];
    for (unsigned int lanes = 16; lanes > 0; lanes /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, lanes);
    }
    ((float *)y)[threadIdx.x] = __shfl_sync(0xffffffffu, sum, 0);
}
SHIM_KERNEL(sum_of_warp)

extern "C" __global__ void __launch_bounds__(64) partner(const unsigned char *x, unsigned char *y, const shim_params p) {
    ((float *)y)[threadIdx.x] = __shfl_xor_sync(0xffffffffu, ((const float *)x)[threadIdx.x], p.n);
}
SHIM_KERNEL(partner)

/* Each thread writes what its neighbour reads behind the barrier. */
extern "C" __global__ void __launch_bounds__(64) turn_round(const unsigned char *x, unsigned char *y, const shim_params) {
    __shared__ float values[64];
    const unsigned int at = blockIdx.x * 64 + threadIdx.x;
    values[threadIdx.x] = ((const float *)x)[at];
    __syncthreads();
    ((float *)y)[at] = values[63 - threadIdx.x];
}
SHIM_KERNEL(turn_round)

extern "C" __global__ void __launch_bounds__(64) lonely_barrier(unsigned char *y, const shim_params p) {
    if (threadIdx.x < p.n) {
        __syncthreads();
    }
    ((unsigned int *)y)[threadIdx.x] = 1;
}
SHIM_KERNEL(lonely_barrier)

/* --- Running them ----------------------------------------------------------------------------------------------------- */

static char text[400];

static int run(const char *name, unsigned int n, float *x, float *y, uint32_t groups) {
    const shim_kernel *kernel = shim_find(name);
    const shim_params params = {n};
    emu_launch launch = {};
    assert_non_null(kernel);
    assert_int_equal(kernel->params_bytes, sizeof params);
    launch.grid[0] = groups;
    launch.grid[1] = launch.grid[2] = 1;
    launch.n_buffers = kernel->n_buffers;
    launch.buffers[kernel->n_buffers - 1] = {y, groups * 256};
    if (kernel->n_buffers == 2) {
        launch.buffers[0] = {x, groups * 256};
    }
    launch.params = &params;
    launch.n_params = 1;
    return emu_run_as(kernel->run, name, 64, &launch, text, sizeof text);
}

static void fill(float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        x[i] = static_cast<float>(i);
    }
}

static void shuffles_stay_in_their_warp(void **) {
    float x[64], y[64];
    fill(x, 64);
    assert_int_equal(run("sum_of_warp", 0, x, y, 1), 0);
    for (int i = 0; i < 64; i++) {
        assert_true(y[i] == (i < 32 ? 496.0f : 1520.0f));
    }
    assert_int_equal(run("partner", 5, x, y, 1), 0);
    for (int i = 0; i < 64; i++) {
        assert_true(y[i] == static_cast<float>(i ^ 5));
    }
}

static void shared_memory_is_seen_behind_a_barrier(void **) {
    float x[192], y[192];
    fill(x, 192);
    assert_int_equal(run("turn_round", 0, x, y, 3), 0);
    for (int i = 0; i < 192; i++) {
        assert_true(y[i] == static_cast<float>(i / 64 * 64 + 63 - i % 64));
    }
}

static void a_barrier_that_some_threads_pass_by_is_an_error(void **) {
    float y[64];
    assert_int_equal(run("lonely_barrier", 64, nullptr, y, 1), 0);
    assert_int_equal(run("lonely_barrier", 20, nullptr, y, 1), -1);
    assert_non_null(strstr(text, "barrier"));
}

static void dp4a_takes_signed_bytes(void **) {
    assert_int_equal(__dp4a(0x01020304, 0x01010101, 5), 15);
    assert_int_equal(__dp4a(static_cast<int>(0x80ff7f01u), static_cast<int>(0x80ff7f01u), 0), 16384 + 1 + 16129 + 1);
    assert_int_equal(__dp4a(0x00000080, 0x0000007f, 0), -16256);
}

static void halves_become_floats_exactly(void **) {
    assert_true(kernel_f16_to_f32(0x3c00) == 1.0f);
    assert_true(kernel_f16_to_f32(0xc500) == -5.0f);
    assert_true(kernel_f16_to_f32(0x0001) == 5.9604644775390625e-8f);
    assert_true(kernel_f16_to_f32(0x83ff) == -6.097555160522461e-5f);
    assert_true(kernel_f16_to_f32(0x7bff) == 65504.0f);
    assert_int_equal(__float_as_uint(kernel_f16_to_f32(0x8000)), 0x80000000u);
    assert_int_equal(__float_as_uint(kernel_f16_to_f32(0xfc00)), 0xff800000u);
    assert_true(std::isnan(kernel_f16_to_f32(0x7c01)));
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles_stay_in_their_warp),
        cmocka_unit_test(shared_memory_is_seen_behind_a_barrier),
        cmocka_unit_test(a_barrier_that_some_threads_pass_by_is_an_error),
        cmocka_unit_test(dp4a_takes_signed_bytes),
        cmocka_unit_test(halves_become_floats_exactly),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
