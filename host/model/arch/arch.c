/* arch.c — the list of architectures. */
#include "model/arch/arch.h"

#include <stddef.h>
#include <string.h>

static const arch_traits *const all[] = {&arch_llama, &arch_qwen2, &arch_qwen3, &arch_gemma3, &arch_phi3};

const arch_traits *arch_find(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i]->name, name) == 0) {
            return all[i];
        }
    }
    return NULL;
}

const char *arch_names(void) {
    return "llama, qwen2, qwen3, gemma3, phi3";
}
