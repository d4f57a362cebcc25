/* emulator.h — runs kernels of the device plugins on the processor: for tests, for a device that is not there, and for a driver
 * library that is not there.
 *
 * One work-item is one fiber. Groups run one after the other; within a group, items run until they end or meet at a barrier. What a
 * real device would let pass is an error here: an access outside of its binding or of a shared array, a store to a binding that the
 * kernel only reads, items of one group that meet different barriers or leave while others wait.
 *
 * Threading: emu_run may run on any number of threads at once. Memory: fibers' stacks are kept per thread.
 */
#ifndef EMULATOR_H
#define EMULATOR_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMU_MAX_BUFFERS 8u
#define EMU_SUBGROUP 32u /* work-items of a subgroup, unless a launch says otherwise */

typedef struct emu_binding {
    void *data;          /* first byte of the binding, aligned to 4 */
    uint64_t bytes;      /* that the kernel may touch */
} emu_binding;

typedef struct emu_launch {
    uint32_t kernel;     /* its line in kernels.def, from 0: GPU_KERNEL_* */
    uint32_t grid[3];
    uint32_t n_buffers;
    emu_binding buffers[EMU_MAX_BUFFERS];
    const void *params;  /* borrowed */
    uint32_t n_params;   /* words */
    uint32_t subgroup;   /* work-items of a subgroup: a divisor of every group; 0: EMU_SUBGROUP */
} emu_launch;

/* 0, or -1 with what the kernel did wrong. */
int emu_run(const emu_launch *launch, char *text, uint64_t room);

/* Number of kernels, and the number of one by its name; UINT32_MAX when there is none. */
uint32_t emu_n_kernels(void);
uint32_t emu_find(const char *name);
uint32_t emu_group(uint32_t kernel);     /* work-items of one group */
uint32_t emu_n_buffers(uint32_t kernel);
uint32_t emu_n_params(uint32_t kernel);  /* words */

#ifdef __cplusplus
}
#endif
#endif
