/* prelude_emulator.h — the dialect in C++17: kernels run on the processor, one work-item a fiber, every access checked.
 *
 * KERNEL_SYMBOL names the function, of type emu_kernel; emulator/ runs it. README.md says what each macro means.
 */
#ifndef PRELUDE_EMULATOR_H
#define PRELUDE_EMULATOR_H
#include "emulator_kernel.h"

#include <cmath>

typedef uint32_t uint;

#define FN static inline
#define STRUCT(name) struct name

struct f4 {
    float x, y, z, w;
};
#define F4(a, b, c, d) (f4{(a), (b), (c), (d)})

#define EMU_BUFFER_READ(n, name) const emu_buffer name(item_, n, #name, false);
#define EMU_BUFFER_WRITE(n, name) const emu_buffer name(item_, n, #name, true);
#define EMU_BUFFER_BOTH(n, name) const emu_buffer name(item_, n, #name, true);
#define EMU_BUFFER(n, mode, name) EMU_BUFFER_##mode(n, name)
#define EMU_SHARED(type, name, n) const emu_shared<type> name(item_, #name, n);

#define KERNEL_BEGIN \
    extern void KERNEL_SYMBOL(emu_item &item_); \
    void KERNEL_SYMBOL(emu_item &item_) { \
        BUFFERS(EMU_BUFFER) \
        SHARED(EMU_SHARED) \
        PARAMS p; \
        item_.copy_params(&p, sizeof p);
#define KERNEL_END }

#define W_PARAM const emu_buffer &w,
#define W_ARG w,

#define LOAD_U32(b, i) (b).load<uint32_t>(i)
#define LOAD_F32(b, i) (b).load<float>(i)
#define LOAD_U16(b, i) ((uint)(b).load<uint16_t>(i))
#define LOAD_U8(b, i) ((uint)(b).load<uint8_t>(i))
#define STORE_U32(b, i, v) (b).store<uint32_t>(i, v)
#define STORE_F32(b, i, v) (b).store<float>(i, v)

#define ITEM (item_.index)
#define GROUP_ID_X (item_.group[0])
#define GROUP_ID_Y (item_.group[1])
#define GROUP_ID_Z (item_.group[2])
#define N_GROUPS_X (item_.grid[0])
#define BARRIER item_.barrier(__LINE__)

#define TO_FLOAT(v) ((float)(v))
#define TO_INT(v) ((int)(v))
#define TO_UINT(v) ((uint)(v))
#define AS_FLOAT(v) emu_bits<float, uint32_t>(v)
#define AS_UINT(v) emu_bits<uint32_t, float>(v)

/* Compiled with -ffp-contract=off. */
#define MUL(a, b) ((a) * (b))
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define SQRT(v) std::sqrt(v)
#define FLOOR(v) std::floor(v)
#define FABS(v) std::fabs(v)
#define FMAX(a, b) std::fmax(a, b)
#define FMIN(a, b) std::fmin(a, b)
#define UMIN(a, b) ((a) < (b) ? (a) : (b))
#define UMAX(a, b) ((a) > (b) ? (a) : (b))
#define UNROLL

/* Subgroups are neighbours, as many as the launch says; all items of the group take part. */
#define SUBGROUP_ADD(v) item_.subgroup_add(v, __LINE__)
#define SUBGROUP_SIZE (item_.subgroup())
#define SUBGROUP_LANE (item_.index % item_.subgroup())
#define SUBGROUP_ID (item_.index / item_.subgroup())
#define N_SUBGROUPS (GROUP / item_.subgroup())

#define DOT4(a, b, c) emu_dot4(a, b, c)

#endif
