# compile_image.cmake: has nvcc make one image of a unit, and keeps what it says about registers and local memory.
#
#   cmake -DNVCC=nvcc -DARCHITECTURES="compute_75 sm_80" -DINCLUDE=FOLDER -DUNIT=unit_gemv.cpp -DOUT=gemv.fatbin -P compile_image.cmake
cmake_minimum_required(VERSION 3.25)
separate_arguments(architectures UNIX_COMMAND "${ARCHITECTURES}")
set(codes)
foreach(architecture ${architectures})
  string(REPLACE "sm_" "compute_" virtual ${architecture})
  list(APPEND codes -gencode arch=${virtual},code=${architecture})
endforeach()
execute_process(COMMAND ${NVCC} -x cu -std=c++17 -O3 -fatbin ${codes} --resource-usage -diag-suppress 177 -I${INCLUDE} ${UNIT} -o ${OUT}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
if(failed OR said MATCHES "(warning|error)")
  message("${said}")
endif()
if(failed)
  message(FATAL_ERROR "nvcc cannot compile ${UNIT} for ${ARCHITECTURES}")
endif()
file(WRITE ${OUT}.resources "${said}")
