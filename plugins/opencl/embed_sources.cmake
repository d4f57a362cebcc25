# embed_sources.cmake — writes the C file behind ocl_sources.h: every kernel source as text, and the table of kernels.def.
#
#     cmake -DKERNELS=FOLDER -DOUTPUT=FILE -P embed_sources.cmake
#
# A source is cut at its #include lines; what is included is cut likewise, and each text stands in the file once. kernel.h is not read:
# its place is taken by the prelude, the parameters and what all kernels share.
cmake_minimum_required(VERSION 3.25)

set(PARTS_OF_kernel_h prelude_opencl.h kernel_params.h common.kernel)

# Adds the text to the file, unless it is there, and its name to the chain.
function(add_text text)
  if(text STREQUAL "")
    return()
  endif()
  string(MD5 digest "${text}")
  set(name "text_${digest}")
  get_property(is_known GLOBAL PROPERTY ${name})
  if(NOT is_known)
    set_property(GLOBAL PROPERTY ${name} TRUE)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
    set_property(GLOBAL APPEND_STRING PROPERTY texts "static const char ${name}[] =\n    \"${text}\";\n\n")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY chain "    ${name},\n")
  get_property(length GLOBAL PROPERTY chain_length)
  math(EXPR length "${length} + 1")
  set_property(GLOBAL PROPERTY chain_length ${length})
endfunction()

function(add_file name)
  string(REPLACE "." "_" id "${name}")
  if(DEFINED PARTS_OF_${id})
    foreach(part ${PARTS_OF_${id}})
      add_file(${part})
    endforeach()
    add_text("#ifdef KERNEL_DECLARATIONS\nKERNEL_DECLARATIONS\n#endif\n")
    return()
  endif()
  file(READ "${KERNELS}/${name}" left)
  while(left MATCHES "\n#include \"([a-z0-9_.]+)\"[^\n]*\n")
    set(line "${CMAKE_MATCH_0}")
    set(included "${CMAKE_MATCH_1}")
    string(FIND "${left}" "${line}" at)
    string(LENGTH "${line}" length)
    math(EXPR from "${at} + ${length} - 1") # the line's end stays, for a line that follows at once
    math(EXPR at "${at} + 1")
    string(SUBSTRING "${left}" 0 ${at} before)
    string(SUBSTRING "${left}" ${from} -1 left)
    add_text("${before}")
    add_file(${included})
  endwhile()
  add_text("${left}")
endfunction()

file(STRINGS "${KERNELS}/kernels.def" lines REGEX "^GPU_KERNEL")
set(rows "")
foreach(line ${lines})
  if(NOT line MATCHES "^GPU_KERNEL\\(([A-Z0-9_]+), *([a-z0-9_]+), *\"([^\"]*)\", *[0-9]+, *[a-z0-9_]+, *([0-9]+)\\)")
    message(FATAL_ERROR "kernels.def: not a row: ${line}")
  endif()
  set(source ${CMAKE_MATCH_2})
  set(defines "${CMAKE_MATCH_3}")
  set(group ${CMAKE_MATCH_4})
  string(TOLOWER ${CMAKE_MATCH_1} name)
  set(needs 0)
  if(defines MATCHES "-DSUBGROUPS")
    string(APPEND needs " | GPU_CAP_SUBGROUPS")
  endif()
  if(defines MATCHES "-DINT_DOT")
    string(APPEND needs " | GPU_CAP_INT_DOT")
  endif()
  if(defines MATCHES "-DON_CPU")
    string(APPEND needs " | GPU_CAP_ON_CPU")
  endif()
  get_property(is_known GLOBAL PROPERTY source_${source})
  if(NOT is_known)
    set_property(GLOBAL PROPERTY source_${source} TRUE)
    set_property(GLOBAL PROPERTY chain "")
    set_property(GLOBAL PROPERTY chain_length 0)
    add_file(${source}.kernel)
    get_property(chain GLOBAL PROPERTY chain)
    get_property(length GLOBAL PROPERTY chain_length)
    string(APPEND sources "static const char *const texts_${source}[] = {\n${chain}};\n")
    string(APPEND sources "static const ocl_source source_${source} = {texts_${source}, ${length}};\n\n")
  endif()
  string(APPEND rows "    {\"${name}\", &source_${source}, \"${defines}\", ${group}, ${needs}},\n")
endforeach()

get_property(texts GLOBAL PROPERTY texts)
file(WRITE "${OUTPUT}" "/* Written by embed_sources.cmake. */
#include \"gpu_driver.h\"
#include \"ocl_sources.h\"

${texts}${sources}const ocl_kernel ocl_kernels[] = {
${rows}};
const uint32_t ocl_n_kernels = sizeof ocl_kernels / sizeof ocl_kernels[0];
")
