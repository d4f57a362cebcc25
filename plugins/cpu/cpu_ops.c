/* cpu_ops.c — fills the dispatch table, oldest instruction set first, the last one that fits wins. */
#include "kernels/kernels.h"

void cpu_ops_init(cpu_ops *ops, uint64_t features, uint32_t isa) {
    cpu_panel_install_c(ops);
    cpu_rows_install_c(ops);
    cpu_vector_install_c(ops);
    cpu_attention_install_c(ops);
    cpu_peak_install_c(ops);
#if defined(CPU_X86_64)
    if ((features & QN_X86_AVX2) == 0 || isa == CPU_ISA_C || isa == CPU_ISA_NEON) {
        return;
    }
    cpu_panel_install_avx2(ops);
    cpu_rows_install_avx2(ops);
    cpu_vector_install_avx2(ops);
    cpu_attention_install_avx2(ops);
    cpu_peak_install_avx2(ops);
    if ((features & QN_X86_AVX512) == 0 || isa == CPU_ISA_AVX2) {
        return;
    }
    cpu_panel_install_avx512(ops);
    cpu_rows_install_avx512(ops);
    cpu_vector_install_avx512(ops);
    cpu_attention_install_avx512(ops);
    cpu_peak_install_avx512(ops);
    if ((features & QN_X86_AVX512_VNNI) != 0) {
        cpu_panel_install_avx512vnni(ops);
        cpu_peak_install_avx512vnni(ops);
    }
#elif defined(CPU_AARCH64)
    if ((features & QN_ARM_NEON) == 0 || (isa != CPU_ISA_NEON && isa != CPU_ISA_AUTO)) {
        return;
    }
    cpu_panel_install_neon(ops);
    cpu_rows_install_neon(ops);
    cpu_vector_install_neon(ops);
    cpu_attention_install_neon(ops);
    cpu_peak_install_neon(ops);
    if ((features & QN_ARM_DOTPROD) != 0) {
        cpu_panel_install_dotprod(ops);
        cpu_peak_install_dotprod(ops);
    }
#else
    (void)features;
    (void)isa;
#endif
}

const char *cpu_ops_isa_text(uint64_t features, uint32_t isa) {
#if defined(CPU_X86_64)
    if ((features & QN_X86_AVX2) == 0 || isa == CPU_ISA_C || isa == CPU_ISA_NEON) {
        return "portable C";
    }
    if ((features & QN_X86_AVX512) == 0 || isa == CPU_ISA_AVX2) {
        return "AVX2, FMA, F16C";
    }
    return (features & QN_X86_AVX512_VNNI) != 0 ? "AVX-512, VNNI" : "AVX-512";
#elif defined(CPU_AARCH64)
    if ((features & QN_ARM_NEON) == 0 || (isa != CPU_ISA_NEON && isa != CPU_ISA_AUTO)) {
        return "portable C";
    }
    return (features & QN_ARM_DOTPROD) != 0 ? "NEON, dot product" : "NEON";
#else
    (void)features;
    (void)isa;
    return "portable C";
#endif
}
