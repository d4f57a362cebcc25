/* prelude_cuda.h — the dialect in CUDA C++ (README.md says what each macro means).
 *
 * A build makes one unit of all kernels of a source, each in a namespace of its own, from preprocessed text; so nothing is included
 * here. Names that begin with kernel_ and are not defined here stand at the head of a unit (plugins/cuda/cuda_unit.h).
 */
#ifndef PRELUDE_CUDA_H
#define PRELUDE_CUDA_H

typedef unsigned int uint;

#define FN static __device__ __forceinline__
#define STRUCT(name) struct name

struct f4 {
    float x, y, z, w;
};
#define F4(a, b, c, d) (f4{(a), (b), (c), (d)})

/* Buffers are addresses of bytes. Two of them may be the same memory, so none is marked as being the only one. */
#define CUDA_BUFFER_READ(name) const unsigned char *name,
#define CUDA_BUFFER_WRITE(name) unsigned char *name,
#define CUDA_BUFFER_BOTH(name) unsigned char *name,
#define CUDA_BUFFER(n, mode, name) CUDA_BUFFER_##mode(name)
#define CUDA_SHARED(type, name, n) __shared__ type name[n];

#define KERNEL_BEGIN \
    extern "C" __global__ void __launch_bounds__(GROUP) KERNEL_NAME(BUFFERS(CUDA_BUFFER) const PARAMS p) { \
        SHARED(CUDA_SHARED)
#define KERNEL_END }

#define W_PARAM const unsigned char *w,
#define W_ARG w,

#define LOAD_U32(b, i) (((const uint *)(b))[i])
#define LOAD_F32(b, i) (((const float *)(b))[i])
#define LOAD_U16(b, i) ((uint)((const unsigned short *)(b))[i])
#define LOAD_U8(b, i) ((uint)(b)[i])
#define STORE_U32(b, i, v) ((uint *)(b))[i] = (v)
#define STORE_F32(b, i, v) ((float *)(b))[i] = (v)

#define ITEM threadIdx.x
#define GROUP_ID_X blockIdx.x
#define GROUP_ID_Y blockIdx.y
#define GROUP_ID_Z blockIdx.z
#define N_GROUPS_X gridDim.x
#define BARRIER __syncthreads()

#define TO_FLOAT(v) ((float)(v))
#define TO_INT(v) ((int)(v))
#define TO_UINT(v) ((uint)(v))
#define AS_FLOAT(v) __uint_as_float(v)
#define AS_UINT(v) __float_as_uint(v)

/* These are never contracted; everything else may be. */
#define MUL(a, b) __fmul_rn(a, b)
#define ADD(a, b) __fadd_rn(a, b)
#define SUB(a, b) __fsub_rn(a, b)
#define SQRT(v) sqrtf(v)
#define FLOOR(v) floorf(v)
#define FABS(v) fabsf(v)
#define FMAX(a, b) fmaxf(a, b)
#define FMIN(a, b) fminf(a, b)
#define UMIN(a, b) ((a) < (b) ? (a) : (b))
#define UMAX(a, b) ((a) > (b) ? (a) : (b))

/* One load where the address allows it, which is nearly always. */
FN f4 cuda_load_f4(const float *from) {
    if (((unsigned long long)from & 15u) == 0u) {
        const float4 v = *(const float4 *)from;
        return F4(v.x, v.y, v.z, v.w);
    }
    return F4(from[0], from[1], from[2], from[3]);
}
#define LOAD_F4(b, i) cuda_load_f4((const float *)(b) + (i))

/* Reductions of common.kernel: the last steps are shuffles within a warp, with the same sums in the same order. Groups are whole
 * warps; what a shuffle brings from outside of a run ends in values that nobody reads. */
#define CUDA_REDUCE(combine) \
    for (uint step = n / 2u; step >= 32u; step /= 2u) { \
        if (at < step) { \
            array[threadIdx.x] = combine(array[threadIdx.x], array[threadIdx.x + step]); \
        } \
        __syncthreads(); \
    } \
    float value = array[threadIdx.x]; \
    for (uint step = n < 32u ? n / 2u : 16u; step > 0u; step /= 2u) { \
        value = combine(value, __shfl_down_sync(0xffffffffu, value, step)); \
    } \
    array[threadIdx.x] = value; \
    __syncthreads();

FN void cuda_reduce_add(float *array, uint n, uint at) {
    CUDA_REDUCE(ADD)
}

FN void cuda_reduce_max(float *array, uint n, uint at) {
    CUDA_REDUCE(FMAX)
}
#define REDUCE_ADD(array, n, at) cuda_reduce_add(array, n, at)
#define REDUCE_MAX(array, n, at) cuda_reduce_max(array, n, at)

#define F16_TO_F32(bits) kernel_f16_to_f32(bits)
#define UNROLL _Pragma("unroll")

#ifdef SUBGROUPS
static __device__ __forceinline__ float cuda_subgroup_add(float v) {
    for (uint lanes = 16u; lanes > 0u; lanes /= 2u) {
        v += __shfl_xor_sync(0xffffffffu, v, lanes);
    }
    return v;
}
#define SUBGROUP_ADD(v) cuda_subgroup_add(v)
#define SUBGROUP_SIZE 32u
#define SUBGROUP_LANE (threadIdx.x % 32u)
#define SUBGROUP_ID (threadIdx.x / 32u)
#define N_SUBGROUPS (GROUP / 32u)
#endif

#define DOT4(a, b, c) __dp4a((int)(a), (int)(b), c)

#endif
