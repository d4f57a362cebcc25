/* cuda_unit.h — the head of a unit of kernels: what prelude_cuda.h leaves to the compiler at hand, nvcc or, with CUDA_SHIM, the C++
 * compiler of the tests, which has taken in a header of its own before. */
#ifndef CUDA_UNIT_H
#define CUDA_UNIT_H
#ifndef CUDA_SHIM

/* One instruction; exact, also for denormals. */
static __device__ __forceinline__ float kernel_f16_to_f32(unsigned int bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
    return value;
}

#define SHIM_KERNEL(name)

#endif
#endif
