/* machine.c — detection. */
#define _GNU_SOURCE
#include "base/machine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/cgroup.h"

static const struct {
    const char *name;
    uint64_t bit;
} feature_names[] = {
#if defined(__x86_64__)
    {"avx2", QN_X86_AVX2},
    {"avx512", QN_X86_AVX512},
    {"avx512vnni", QN_X86_AVX512_VNNI},
    {"avx512bf16", QN_X86_AVX512_BF16},
    {"avx512vbmi", QN_X86_AVX512_VBMI},
    {"avx512fp16", QN_X86_AVX512_FP16},
    {"avxvnni", QN_X86_AVX_VNNI},
    {"amxint8", QN_X86_AMX_INT8},
#elif defined(__aarch64__)
    {"neon", QN_ARM_NEON},
    {"dotprod", QN_ARM_DOTPROD},
    {"fp16", QN_ARM_FP16},
    {"i8mm", QN_ARM_I8MM},
    {"sve", QN_ARM_SVE},
#endif
    {NULL, 0}};

#if defined(__x86_64__)
static uint64_t read_xcr0(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Features of the CPU whose registers the system saves, as far as `state` (XCR0) says that. */
static uint64_t detect_with_state(uint64_t state) {
    unsigned a, b, c, d, b7, c7, d7, a71 = 0, b71, c71, d71;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) {
        return 0;
    }
    __get_cpuid_count(7, 1, &a71, &b71, &c71, &d71);
    uint64_t features = 0;
    if ((state & 0x6) == 0x6 && (b7 & bit_AVX2) && (c & bit_FMA) && (c & bit_F16C)) {
        features |= QN_X86_AVX2;
        features |= (a71 & 1u << 4) ? QN_X86_AVX_VNNI : 0;
    }
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD;
    if ((features & QN_X86_AVX2) && (state & 0xE6) == 0xE6 && (b7 & avx512) == avx512) {
        features |= QN_X86_AVX512;
        features |= (c7 & 1u << 11) ? QN_X86_AVX512_VNNI : 0;
        features |= (c7 & 1u << 1) ? QN_X86_AVX512_VBMI : 0;
        features |= (a71 & 1u << 5) ? QN_X86_AVX512_BF16 : 0;
        features |= (d7 & 1u << 23) ? QN_X86_AVX512_FP16 : 0;
    }
    if ((state & 0x60000) == 0x60000 && (d7 & 1u << 25)) {
        features |= QN_X86_AMX_INT8;
    }
    return features;
}

static uint64_t detect_features(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) != 0 ? detect_with_state(read_xcr0()) : 0;
}

uint64_t machine_disabled_features(void) {
    return detect_with_state(UINT64_MAX) & ~detect_features();
}
#elif defined(__aarch64__)
static uint64_t detect_features(void) {
    const unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
    return (caps & HWCAP_ASIMD ? QN_ARM_NEON : 0) | (caps & HWCAP_ASIMDDP ? QN_ARM_DOTPROD : 0) |
           (caps & HWCAP_ASIMDHP ? QN_ARM_FP16 : 0) | (caps2 & HWCAP2_I8MM ? QN_ARM_I8MM : 0) |
           (caps & HWCAP_SVE ? QN_ARM_SVE : 0);
}
#else
static uint64_t detect_features(void) {
    return 0;
}
#endif

#if !defined(__x86_64__)
uint64_t machine_disabled_features(void) {
    return 0; /* the kernel lists only what it has enabled */
}
#endif

qn_status machine_parse_mask(const char *text, uint64_t *out_mask, error_context *err) {
    uint64_t mask = 0;
    if (strcmp(text, "all") == 0) {
        *out_mask = UINT64_MAX;
        return QN_OK;
    }
    if (strcmp(text, "c") == 0) {
        *out_mask = 0;
        return QN_OK;
    }
    for (size_t i = 0; feature_names[i].name != NULL; i++) {
        mask |= feature_names[i].bit;
        if (strcmp(text, feature_names[i].name) == 0) {
            *out_mask = mask;
            return QN_OK;
        }
    }
    return FAIL(err, QN_BAD_INPUT, "QUOIN_CPU_MASK=%s: unknown level; use c, all, or a feature name such as %s", text,
                feature_names[0].name != NULL ? feature_names[0].name : "all");
}

static cgroup_limits read_cgroup(void) {
    return cgroup_read("/proc/self/cgroup", "/sys/fs/cgroup");
}

static uint32_t count_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

static uint64_t read_cache(int name) {
    const long bytes = sysconf(name);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static uint64_t read_meminfo(const char *key) {
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0 &&
            sscanf(line + strlen(key), " %" SCNu64, &kib) == 1) { /* lint: a number that the kernel writes */
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib * 1024;
}

uint64_t machine_available_memory(void) {
    const uint64_t limit = read_cgroup().memory_free, available = read_meminfo("MemAvailable:");
    return available < limit ? available : limit;
}

qn_status machine_detect(qn_machine *out, error_context *err) {
    const char *mask_text = getenv("QUOIN_CPU_MASK");
    uint64_t mask = UINT64_MAX;
    if (mask_text != NULL && mask_text[0] != '\0') {
        QN_TRY(machine_parse_mask(mask_text, &mask, err), err, "reading the environment");
    }
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
#if defined(__x86_64__)
    out->arch = QN_ARCH_X86_64;
#elif defined(__aarch64__)
    out->arch = QN_ARCH_AARCH64;
#endif
    out->cpu_features[0] = detect_features() & mask;
    out->l1d_bytes = read_cache(_SC_LEVEL1_DCACHE_SIZE);
    out->l2_bytes = read_cache(_SC_LEVEL2_CACHE_SIZE);
    out->l3_bytes = read_cache(_SC_LEVEL3_CACHE_SIZE);
    out->n_cores = count_cores();
    const cgroup_limits limits = read_cgroup();
    out->n_workers = limits.cores < out->n_cores ? (uint32_t)limits.cores : out->n_cores;
    out->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t total = read_meminfo("MemTotal:");
    out->memory_bytes = total < limits.memory_bytes ? total : limits.memory_bytes;
    return QN_OK;
}

const char *machine_describe_features(const qn_machine *machine, char *text, size_t room) {
    size_t used = 0;
    snprintf(text, room, "baseline");
    for (size_t i = 0; feature_names[i].name != NULL; i++) {
        if ((machine->cpu_features[0] & feature_names[i].bit) != 0 && used < room) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? " " : "", feature_names[i].name);
        }
    }
    return text;
}

const char *machine_cpu_name(char *text, size_t room) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(text, room, "unknown CPU");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(text, room, "%s", value + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}
