# isa.cmake: which kernel sources exist for which processor, and their flags. Flags stand on these files alone, so that no other
# code of the plugin can hold an instruction that was not asked for; intrinsics are included nowhere else.
set(cpu_kernel_groups panel rows vector attention peak)
set(cpu_isa_flags_c "")
set(cpu_isa_flags_avx2 -mavx2 -mfma -mf16c)
set(cpu_isa_flags_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mprefer-vector-width=512)
set(cpu_isa_flags_avx512vnni ${cpu_isa_flags_avx512} -mavx512vnni)
set(cpu_isa_flags_neon "")
set(cpu_isa_flags_dotprod -march=armv8.2-a+dotprod)

set(cpu_isas c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND cpu_isas avx2 avx512 avx512vnni)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND cpu_isas neon dotprod)
endif()

# Kernels are written to be unrolled and inlined; without that they are still right, only slow (and sanitizers need no speed).
set(cpu_kernel_speed $<$<NOT:$<CONFIG:Debug>>:-O3>)
if(QUOIN_SANITIZE_ADDRESS OR QUOIN_SANITIZE_THREAD)
  set(cpu_kernel_speed "")
endif()

set(cpu_kernel_sources "")
foreach(isa ${cpu_isas})
  foreach(group ${cpu_kernel_groups})
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/kernels/${group}_${isa}.c)
    if(EXISTS ${source})
      list(APPEND cpu_kernel_sources ${source})
      set_source_files_properties(${source} PROPERTIES
        COMPILE_OPTIONS "${cpu_isa_flags_${isa}};${cpu_kernel_speed};-Wno-psabi")
    endif()
  endforeach()
endforeach()
