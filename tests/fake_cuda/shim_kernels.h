/* shim_kernels.h — the kernels that were compiled against cuda_shim.h, by name.
 *
 * Threading: added to by constructors when the library is loaded, constant after.
 */
#ifndef SHIM_KERNELS_H
#define SHIM_KERNELS_H
#include "emulator_kernel.h"

struct shim_kernel {
    const char *name;
    emu_kernel *run;
    uint32_t n_buffers;      /* arguments that are addresses; they come first */
    uint32_t params_bytes;   /* of the one behind them */
    shim_kernel *next;
};

bool shim_add(shim_kernel *kernel);
/* Null when there is none. */
const shim_kernel *shim_find(const char *name);

#endif
