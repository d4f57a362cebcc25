# make_unit.cmake: writes one unit of CUDA C++ with all kernels of one source, each preprocessed with its defines and put into a namespace.
#
#   cmake -DSOURCE=gemv -DKERNELS=FOLDER -DCOMPILER=cc -DOUT=gemv.cu -P make_unit.cmake
#
# One unit a source, because a compiler for devices takes longer to start than to compile a kernel.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${KERNELS}/kernels.def rows REGEX "^GPU_KERNEL\\([A-Z0-9_]+, ${SOURCE},")
list(FILTER rows EXCLUDE REGEX "-DON_CPU")
set(unit "#include \"cuda_unit.h\"\n")
foreach(row ${rows})
  string(REGEX MATCH "^GPU_KERNEL\\(([A-Z0-9_]+), [a-z0-9_]+, \"([^\"]*)\", [0-9]+, [a-z0-9_]+, ([0-9]+)\\)" row "${row}")
  string(TOLOWER "${CMAKE_MATCH_1}" name)
  set(group ${CMAKE_MATCH_3})
  separate_arguments(defines UNIX_COMMAND "${CMAKE_MATCH_2}")
  execute_process(
    COMMAND ${COMPILER} -E -P -x c -DKERNEL_CUDA -DKERNEL_NAME=${name} -DGROUP=${group}u ${defines} ${KERNELS}/${SOURCE}.kernel
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND unit "namespace ${name}_unit {\n${text}\nSHIM_KERNEL(${name})\n}\n")
endforeach()
file(WRITE ${OUT}.new "${unit}")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT) # what is made of it is then left alone
file(REMOVE ${OUT}.new)
