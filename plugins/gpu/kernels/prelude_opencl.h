/* prelude_opencl.h — the dialect in OpenCL C 1.2. README.md says what each macro means.
 *
 * Each buffer is two arguments of the kernel, where its memory begins and the offset of the binding in bytes; the parameters are the
 * last one.
 */
#ifndef PRELUDE_OPENCL_H
#define PRELUDE_OPENCL_H

#ifdef SUBGROUPS
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#elif defined(cl_intel_subgroups)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif
#define SUBGROUP_ADD(v) sub_group_reduce_add((float)(v))
#define SUBGROUP_SIZE ((uint)get_sub_group_size())
#define SUBGROUP_LANE ((uint)get_sub_group_local_id())
#define SUBGROUP_ID ((uint)get_sub_group_id())
#define N_SUBGROUPS ((uint)get_num_sub_groups())
#endif
#ifdef INT_DOT
#ifdef cl_khr_integer_dot_product
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif
#define DOT4(a, b, c) (dot_4x8packed_ss_int(a, b) + (c))
#endif

#define FN static inline
#define STRUCT(name) typedef struct name name; struct name

typedef float4 f4;
#define F4(a, b, c, d) ((float4)((a), (b), (c), (d)))

#define OCL_TYPE_READ __global const uchar
#define OCL_TYPE_WRITE __global uchar
#define OCL_TYPE_BOTH __global uchar
#define OCL_ARGUMENT(n, mode, name) OCL_TYPE_##mode *name##_base_, ulong name##_at_,
#define OCL_BUFFER(n, mode, name) OCL_TYPE_##mode *const name = name##_base_ + name##_at_;
#define OCL_SHARED(type, name, n) __local type name[n];

#define KERNEL_BEGIN \
    __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void KERNEL_NAME(BUFFERS(OCL_ARGUMENT) const struct PARAMS p) { \
        BUFFERS(OCL_BUFFER) \
        SHARED(OCL_SHARED)
#define KERNEL_END }

#define W_PARAM __global const uchar *w,
#define W_ARG w,

#define LOAD_U32(b, i) (((__global const uint *)(b))[i])
#define LOAD_F32(b, i) (((__global const float *)(b))[i])
#define LOAD_U16(b, i) ((uint)((__global const ushort *)(b))[i])
#define LOAD_U8(b, i) ((uint)(b)[i])
#ifdef ON_CPU
#define LOAD_U32_EVEN(b, at) as_uint(vload4(0, (b) + (at))) /* one load; GPUs would make four of it */
#endif
#define LOAD_F4(b, i) vload4(0, (__global const float *)(b) + (i))
/* Four halves from unit i on; exact, as loads of halves are in every version. */
#define HALFS_F4(b, i) vload_half4(0, (__global const half *)(b) + (i))
#define STORE_U32(b, i, v) ((__global uint *)(b))[i] = (v)
#define STORE_F32(b, i, v) ((__global float *)(b))[i] = (v)

#define ITEM ((uint)get_local_id(0))
#define GROUP_ID_X ((uint)get_group_id(0))
#define GROUP_ID_Y ((uint)get_group_id(1))
#define GROUP_ID_Z ((uint)get_group_id(2))
#define N_GROUPS_X ((uint)get_num_groups(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define TO_FLOAT(v) ((float)(v))
#define TO_INT(v) ((int)(v))
#define TO_UINT(v) ((uint)(v))
#define AS_FLOAT(v) as_float((uint)(v))
#define AS_UINT(v) as_uint((float)(v))

/* The pragma holds for one block; elsewhere the compiler may contract, which is faster. */
static inline float ocl_mul(float a, float b) {
#pragma OPENCL FP_CONTRACT OFF
    return a * b;
}
static inline float ocl_add(float a, float b) {
#pragma OPENCL FP_CONTRACT OFF
    return a + b;
}
static inline float ocl_sub(float a, float b) {
#pragma OPENCL FP_CONTRACT OFF
    return a - b;
}
static inline f4 ocl_mul4(f4 a, f4 b) {
#pragma OPENCL FP_CONTRACT OFF
    return a * b;
}
static inline f4 ocl_add4(f4 a, f4 b) {
#pragma OPENCL FP_CONTRACT OFF
    return a + b;
}
#define F4_SPLAT(v) ((f4)(v))
#define F4_MULADD(a, b, c) ((a) * (b) + (c))
#define F4_MUL(a, b) ocl_mul4(a, b)
#define F4_ADD(a, b) ocl_add4(a, b)
#define BYTES_F4(q) convert_float4(as_uchar4((uint)(q)))
#define SIGNED_BYTES_F4(q) convert_float4(as_char4((uint)(q)))
#define MUL(a, b) ocl_mul(a, b)
#define ADD(a, b) ocl_add(a, b)
#define SUB(a, b) ocl_sub(a, b)
#define SQRT(v) sqrt((float)(v))
#define FLOOR(v) floor((float)(v))
#define FABS(v) fabs((float)(v))
#define FMAX(a, b) fmax((float)(a), (float)(b))
#define FMIN(a, b) fmin((float)(a), (float)(b))
#define UMIN(a, b) min((uint)(a), (uint)(b))
#define UMAX(a, b) max((uint)(a), (uint)(b))
#define UNROLL _Pragma("unroll")

#endif
