/* blk_pack.c — choice of the path by which panels are packed. */
#include "blk_pack.h"

#include <stdatomic.h>
#include <stddef.h>

static int is_always_usable(void) {
    return 1;
}

#if defined(__x86_64__)
#include "common/cpu_x86.h"

static int can_use_avx2(void) {
    return cpu_x86_has_leaf_7(CPU_X86_AVX2, 0) && cpu_x86_saves(CPU_X86_YMM);
}

static int can_use_avx512(void) {
    return can_use_avx2() && cpu_x86_has_leaf_7(CPU_X86_AVX512F | CPU_X86_AVX512BW, 0) && cpu_x86_saves(CPU_X86_ZMM);
}
#endif

const blk_pack_path blk_pack_paths[] = {
    {"c", is_always_usable, NULL},
#if defined(__x86_64__)
    {"avx2", can_use_avx2, blk_pack_avx2},
    {"avx512", can_use_avx512, blk_pack_avx512},
#endif
    {NULL, NULL, NULL},
};

const blk_pack_path *blk_pack_chosen_path(void) {
    /* Threads that come here together all find the same answer; no order is needed between them. */
    static const blk_pack_path *_Atomic chosen;
    const blk_pack_path *path = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (path == NULL) {
        path = &blk_pack_paths[0];
        for (const blk_pack_path *p = path; p->name != NULL; p++) {
            path = p->is_usable() ? p : path;
        }
        atomic_store_explicit(&chosen, path, memory_order_relaxed);
    }
    return path;
}

void blk_panels_pack(const blk_panels *p, uint8_t *panels, uint32_t first, uint32_t last, const uint8_t *tensor,
                     uint64_t first_element) {
    blk_pack_by(blk_pack_chosen_path(), p, panels, first, last, tensor, first_element);
}
