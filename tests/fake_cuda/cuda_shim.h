/* cuda_shim.h — enough of CUDA C++ for units of kernels to be compiled by a C++ compiler and run by the emulator's fibers.
 *
 * A thread is a fiber; threads of a block take turns, from barrier to barrier (emulator.h). A __shared__ array is one of the OS thread,
 * because blocks run one after the other. Shuffles pass values through an array of the block and a barrier, so all threads of the
 * block must take part, which is more than CUDA asks.
 *
 * Threading: any number of OS threads; each runs blocks of its own.
 */
#ifndef CUDA_SHIM_H
#define CUDA_SHIM_H
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator_kernel.h"
#include "shim_kernels.h"

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static thread_local

/* --- Threads, blocks, barriers ---------------------------------------------------------------------------------------- */

struct shim_dim {
    unsigned int x, y, z;
};

/* The item that runs now on this OS thread. */
emu_item *&shim_item();

inline shim_dim shim_thread() {
    return {shim_item()->index, 0, 0};
}

inline shim_dim shim_block() {
    const emu_item *item = shim_item();
    return {item->group[0], item->group[1], item->group[2]};
}

inline shim_dim shim_grid() {
    const emu_item *item = shim_item();
    return {item->grid[0], item->grid[1], item->grid[2]};
}

#define threadIdx shim_thread()
#define blockIdx shim_block()
#define gridDim shim_grid()

/* Others have run when it returns. */
inline void shim_barrier(uint32_t where) {
    emu_item *self = shim_item();
    self->barrier(where);
    shim_item() = self;
}

#define __syncthreads() shim_barrier(__LINE__)

/* One access of 16 bytes, which must lie at a multiple of 16. */
struct alignas(16) float4 {
    float x, y, z, w;
};

/* --- Numbers ---------------------------------------------------------------------------------------------------------- */

inline float __uint_as_float(unsigned int bits) {
    return emu_bits<float, uint32_t>(bits);
}

inline unsigned int __float_as_uint(float value) {
    return emu_bits<uint32_t, float>(value);
}

/* Units are compiled with -ffp-contract=off. */
inline float __fmul_rn(float a, float b) {
    return a * b;
}

inline float __fadd_rn(float a, float b) {
    return a + b;
}

inline float __fsub_rn(float a, float b) {
    return a - b;
}

/* IEEE half, by its parts. */
inline float kernel_f16_to_f32(unsigned int bits) {
    const unsigned int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float value;
    if (exponent == 31) {
        value = __uint_as_float(0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x00400000u : 0));
    } else if (exponent == 0) {
        value = std::ldexp(static_cast<float>(mantissa), -24);
    } else {
        value = std::ldexp(static_cast<float>(mantissa | 1024), static_cast<int>(exponent) - 25);
    }
    return (bits & 0x8000u) != 0 ? -value : value;
}

/* --- Warps ------------------------------------------------------------------------------------------------------------ */

/* Where the value of each thread of a block lies for a shuffle. Shuffles take turns with two arrays: nobody can be two behind. */
struct shim_slots {
    uint32_t values[2][1024];
    uint8_t turn[1024];
};
shim_slots &shim_exchange();

template <typename type> type shim_shuffle(type value, unsigned int from, uint32_t where) {
    static_assert(sizeof(type) == sizeof(uint32_t), "one word a thread");
    const unsigned int self = shim_thread().x;
    shim_slots &slots = shim_exchange();
    uint32_t *values = slots.values[slots.turn[self] ^= 1];
    values[self] = emu_bits<uint32_t, type>(value);
    shim_barrier(where);
    return emu_bits<type, uint32_t>(values[(self & ~31u) | (from & 31u)]);
}

#define __shfl_sync(mask, value, lane) shim_shuffle((value), (lane), __LINE__)
#define __shfl_xor_sync(mask, value, lanes) shim_shuffle((value), threadIdx.x ^ (lanes), __LINE__)
/* Beyond the warp's last lane a thread gets its own value, as the hardware has it. */
#define __shfl_down_sync(mask, value, lanes) \
    shim_shuffle((value), (threadIdx.x & 31u) + (lanes) < 32u ? threadIdx.x + (lanes) : threadIdx.x, __LINE__)

/* Four products of signed bytes, added to c. */
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) {
        const int8_t x = static_cast<int8_t>(static_cast<uint32_t>(a) >> 8 * i), y = static_cast<int8_t>(static_cast<uint32_t>(b) >> 8 * i);
        c = static_cast<int>(static_cast<uint32_t>(c) + static_cast<uint32_t>(x * y));
    }
    return c;
}

/* --- From a kernel's name to its call --------------------------------------------------------------------------------- */

/* The next argument of a kernel: a buffer, or the parameters, which are the last. */
template <typename type> type shim_argument(emu_item &item, uint32_t &n_taken) {
    if constexpr (std::is_pointer_v<type>) {
        return static_cast<type>(item.launch->buffers[n_taken++].data);
    } else {
        type value;
        std::memcpy(&value, item.launch->params, sizeof value);
        return value;
    }
}

template <typename... types> void shim_call(emu_item &item, void (*kernel)(types...)) {
    uint32_t n_taken = 0;
    shim_item() = &item;
    shim_exchange().turn[item.index] = 0;
    std::tuple<types...> arguments{shim_argument<types>(item, n_taken)...}; /* braces: from left to right */
    std::apply(kernel, arguments);
}

template <auto kernel> void shim_run(emu_item &item) {
    shim_call(item, kernel);
}

/* Bytes of each argument as CUDA lays them out, one behind the other: addresses first, then the parameters. */
template <typename... types> shim_kernel shim_describe(const char *name, emu_kernel *run, void (*)(types...)) {
    return {name, run, (0u + ... + (std::is_pointer_v<types> ? 1u : 0u)),
            static_cast<uint32_t>((0u + ... + (std::is_pointer_v<types> ? 0u : sizeof(types)))), nullptr};
}

/* Behind a kernel, in its namespace. */
#define SHIM_KERNEL(name) \
    static shim_kernel name##_row = shim_describe(#name, shim_run<&name>, &name); \
    static const bool name##_is_known = shim_add(&name##_row);

#endif
