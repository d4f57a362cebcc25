/* cf_features.c — levels of this processor, by name. */
#include <string.h>

#include "core/cf_host.h"

#if defined(__x86_64__)
#include <cpuid.h>
#define OWN_ARCH QN_ARCH_X86_64
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define OWN_ARCH QN_ARCH_AARCH64
#else
#define OWN_ARCH QN_ARCH_OTHER
#endif

static uint64_t read_features(void) {
    uint64_t features = 0;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c) {
        features |= QN_X86_AVX2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
        features |= QN_X86_AVX512;
        features |= __builtin_cpu_supports("avx512vnni") ? QN_X86_AVX512_VNNI : 0;
        features |= __builtin_cpu_supports("avx512bf16") ? QN_X86_AVX512_BF16 : 0;
        features |= __builtin_cpu_supports("avx512vbmi") ? QN_X86_AVX512_VBMI : 0;
    }
    if ((features & QN_X86_AVX2) != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0) {
        features |= QN_X86_AVX_VNNI;
    }
#elif defined(__aarch64__)
    const unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
    features |= QN_ARM_NEON;
    features |= (caps >> 20 & 1) != 0 ? QN_ARM_DOTPROD : 0;
    features |= (caps >> 10 & 1) != 0 ? QN_ARM_FP16 : 0;
    features |= (caps2 >> 13 & 1) != 0 ? QN_ARM_I8MM : 0;
#endif
    return features;
}

typedef struct feature_level {
    const char *name;
    uint32_t arch;
    uint64_t features;
} feature_level;

bool cf_host_features(const char *level, uint64_t *out_features, bool *out_is_known) {
    static const feature_level levels[] = {
        {"c", OWN_ARCH, 0},
        {"avx2", QN_ARCH_X86_64, QN_X86_AVX2},
        {"avxvnni", QN_ARCH_X86_64, QN_X86_AVX2 | QN_X86_AVX_VNNI},
        {"avx512", QN_ARCH_X86_64, QN_X86_AVX2 | QN_X86_AVX512},
        {"avx512vnni", QN_ARCH_X86_64, QN_X86_AVX2 | QN_X86_AVX512 | QN_X86_AVX512_VNNI},
        {"neon", QN_ARCH_AARCH64, QN_ARM_NEON},
        {"dotprod", QN_ARCH_AARCH64, QN_ARM_NEON | QN_ARM_DOTPROD},
    };
    const uint64_t here = read_features();
    *out_is_known = true;
    if (strcmp(level, "native") == 0) {
        *out_features = here;
        return true;
    }
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(level, levels[i].name) == 0) {
            *out_features = levels[i].features;
            return levels[i].arch == OWN_ARCH && (here & levels[i].features) == levels[i].features;
        }
    }
    *out_is_known = false;
    return false;
}
