/* shim_kernels.cpp — the list of kernels, and what cuda_shim.h keeps for each OS thread. */
#include "cuda_shim.h"

/* Not an object with a constructor: units may be constructed before this file. */
static shim_kernel *first;

bool shim_add(shim_kernel *kernel) {
    kernel->next = first;
    first = kernel;
    return true;
}

const shim_kernel *shim_find(const char *name) {
    const shim_kernel *kernel = first;
    while (kernel != nullptr && std::strcmp(kernel->name, name) != 0) {
        kernel = kernel->next;
    }
    return kernel;
}

emu_item *&shim_item() {
    static thread_local emu_item *item;
    return item;
}

shim_slots &shim_exchange() {
    static thread_local shim_slots slots;
    return slots;
}
