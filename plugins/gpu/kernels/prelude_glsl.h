/* prelude_glsl.h — the dialect in GLSL 4.50 for Vulkan 1.1 (README.md says what each macro means).
 *
 * A buffer is an array of words. Its binding begins some bytes behind the descriptor's place, because descriptors are aligned more
 * coarsely than bindings: the first eight words of the push constants say how many, the kernel's parameters follow them.
 */
#ifndef PRELUDE_GLSL_H
#define PRELUDE_GLSL_H
#extension GL_EXT_control_flow_attributes : require
#ifdef SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#define SUBGROUP_ADD(v) subgroupAdd(v)
#define SUBGROUP_SIZE gl_SubgroupSize
#define SUBGROUP_LANE gl_SubgroupInvocationID
#define SUBGROUP_ID gl_SubgroupID
#define N_SUBGROUPS gl_NumSubgroups
#endif
#ifdef INT_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef ON_CPU
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif

layout(local_size_x = GROUP) in;

#ifdef INT_DOT
/* OpSDot of words of four signed bytes each (format 0), which compilers of GLSL have had as a function of their own for a short time only. */
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int glsl_dot4_(uint a, uint b, spirv_literal int format);
#define DOT4(a, b, c) (glsl_dot4_(a, b, 0) + (c))
#endif

#define FN
#define STRUCT(name) struct name

#define f4 vec4
#define F4(a, b, c, d) vec4(a, b, c, d)

/* A buffer that is written and read is coherent: behind a BARRIER the group's other items see what was written. */
#define GLSL_ACCESS_READ readonly
#define GLSL_ACCESS_WRITE writeonly
#define GLSL_ACCESS_BOTH coherent
#define GLSL_BUFFER(n, mode, name) \
    layout(std430, set = 0, binding = n) GLSL_ACCESS_##mode buffer name##_block_ { uint name##_words_[]; }; \
    uint name##_at_ = before_[n] >> 2;
#define GLSL_SHARED(type, name, n) shared type name[n];

#define KERNEL_DECLARATIONS \
    layout(push_constant, std430) uniform push_ { uint before_[8]; PARAMS p; }; \
    BUFFERS(GLSL_BUFFER) \
    SHARED(GLSL_SHARED)
#define KERNEL_BEGIN void main() {
#define KERNEL_END }

#define W_PARAM
#define W_ARG

#define LOAD_U32(b, i) b##_words_[b##_at_ + (i)]
#define LOAD_F32(b, i) uintBitsToFloat(LOAD_U32(b, i))
#define LOAD_U16(b, i) (LOAD_U32(b, (i) >> 1) >> (((i) & 1u) << 4) & 0xffffu)
#define LOAD_U8(b, i) (LOAD_U32(b, (i) >> 2) >> (((i) & 3u) << 3) & 0xffu)
#ifdef ON_CPU
/* A driver for processors loads for each lane in turn: eight lanes load one float each and hand it round. */
#define LOAD_SAME_F4S(b, ia, ib, va, vb) \
    const float va##_lane_ = LOAD_F32(b, ((gl_SubgroupInvocationID & 4u) == 0u ? (ia) : (ib)) + (gl_SubgroupInvocationID & 3u)); \
    const f4 va = F4(subgroupBroadcast(va##_lane_, 0u), subgroupBroadcast(va##_lane_, 1u), subgroupBroadcast(va##_lane_, 2u), \
                     subgroupBroadcast(va##_lane_, 3u)); \
    const f4 vb = F4(subgroupBroadcast(va##_lane_, 4u), subgroupBroadcast(va##_lane_, 5u), subgroupBroadcast(va##_lane_, 6u), \
                     subgroupBroadcast(va##_lane_, 7u))
#endif
#define STORE_U32(b, i, v) b##_words_[b##_at_ + (i)] = (v)
#define STORE_F32(b, i, v) b##_words_[b##_at_ + (i)] = floatBitsToUint(v)

#define ITEM gl_LocalInvocationID.x
#define GROUP_ID_X gl_WorkGroupID.x
#define GROUP_ID_Y gl_WorkGroupID.y
#define GROUP_ID_Z gl_WorkGroupID.z
#define N_GROUPS_X gl_NumWorkGroups.x
#define BARRIER groupMemoryBarrier(); barrier()

#define TO_FLOAT(v) float(v)
#define TO_INT(v) int(v)
#define TO_UINT(v) uint(v)
#define AS_FLOAT(v) uintBitsToFloat(v)
#define AS_UINT(v) floatBitsToUint(v)
#ifdef ON_CPU
/* Processors convert exactly; GPUs may flush small halves, so they take the long way of common.kernel. */
#define F16_TO_F32(bits) unpackHalf2x16(bits).x
#endif

float glsl_mul_(float a, float b) {
    precise float product = a * b;
    return product;
}
float glsl_add_(float a, float b) {
    precise float sum = a + b;
    return sum;
}
/* Vulkan's square root may be 4.5 ulp off; one step of Newton's brings it to the last bit or the one before. */
float glsl_sqrt_(float v) {
    const float root = sqrt(v);
    if (v > 1.0e-30f && v < 1.0e+38f) {
        return root - glsl_add_(glsl_mul_(root, root), -v) * (0.5f / root);
    }
    return root;
}
#define MUL(a, b) glsl_mul_(a, b)
#define ADD(a, b) glsl_add_(a, b)
#define SUB(a, b) glsl_add_(a, -(b))
#define SQRT(v) glsl_sqrt_(v)
#define FLOOR(v) floor(v)
#define FABS(v) abs(v)
#define FMAX(a, b) max(a, b)
#define FMIN(a, b) min(a, b)
#define UMIN(a, b) min(a, b)
#define UMAX(a, b) max(a, b)
#define UNROLL [[unroll]]

#endif
