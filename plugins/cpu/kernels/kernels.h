/* kernels.h — one installer per group of kernels and instruction set; a file of this folder defines each. Callable everywhere:
 * they only write addresses into the table. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H
#include "../cpu_ops.h"

#if defined(__x86_64__)
#define CPU_X86_64 1
#elif defined(__aarch64__)
#define CPU_AARCH64 1
#endif

#define CPU_DECLARE_GROUPS(isa)                 \
    void cpu_panel_install_##isa(cpu_ops *ops); \
    void cpu_rows_install_##isa(cpu_ops *ops);  \
    void cpu_vector_install_##isa(cpu_ops *ops); \
    void cpu_attention_install_##isa(cpu_ops *ops); \
    void cpu_peak_install_##isa(cpu_ops *ops)

CPU_DECLARE_GROUPS(c);
CPU_DECLARE_GROUPS(avx2);
CPU_DECLARE_GROUPS(avx512);
CPU_DECLARE_GROUPS(neon);
void cpu_panel_install_avx512vnni(cpu_ops *ops);
void cpu_panel_install_dotprod(cpu_ops *ops);
void cpu_peak_install_avx512vnni(cpu_ops *ops);
void cpu_peak_install_dotprod(cpu_ops *ops);

#endif
