# QuoinAddPlugin.cmake: one helper for plugin authors, inside this tree and outside it.
#
#     find_package(quoin REQUIRED)
#     quoin_add_plugin(mine SOURCES mine.c other.c [LINK libs...] [CLASS cpu|gpu|igpu|accelerator|remote]
#       [FLAGS NEEDS_DRIVER SLOW_DEVICES DEBUG] [VERSION 1.2] [LICENCE SPDX-ID] [NO_NOTE] [NO_INSTALL])
#
# makes the target mine_plugin: a module with the file name mine.quoin.so that exports quoin_backend_query_0 and nothing else,
# needs no library that it was not linked with, and is built without link-time optimisation (code for instruction sets beyond
# the baseline must stay in the files that were compiled for them). It carries the note of <quoin/note.h>, by which a host
# judges it before any of its code runs: CLASS (default accelerator), FLAGS, VERSION (default the project's) and LICENCE stand
# in it; with NO_NOTE a source of its own has QN_PLUGIN_NOTE. In the build tree it lies in lib/quoin/plugins; it is
# installed to the same folder below the library folder.
include(GNUInstallDirs)
find_file(QUOIN_PLUGIN_EXPORTS exports.map HINTS "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/.." NO_DEFAULT_PATH REQUIRED)
mark_as_advanced(QUOIN_PLUGIN_EXPORTS)

# True when the target is built with sanitizers: by this project's options, by flags, or by what the target itself was given.
function(quoin_plugin_is_sanitized target result)
  get_target_property(options ${target} LINK_OPTIONS)
  if("${CMAKE_C_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS} ${options}" MATCHES "-fsanitize"
     OR QUOIN_SANITIZE_ADDRESS OR QUOIN_SANITIZE_THREAD OR QUOIN_FUZZ)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Writes the source file that holds the plugin's note, in the language of the first source; its path goes to `result`.
function(quoin_write_plugin_note name class version licence flags first_source result)
  string(TOUPPER "QN_DEVICE_${class}" class)
  set(mask 0u)
  foreach(flag ${flags})
    string(APPEND mask " | QN_NOTE_${flag}")
  endforeach()
  set(extension c)
  if("${first_source}" MATCHES "\\.(cc|cpp|cxx)$")
    set(extension cpp)
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}_note.${extension}")
  file(CONFIGURE OUTPUT "${file}" CONTENT "/* ${name}_note.${extension} — written by quoin_add_plugin. */
#include <quoin/note.h>

QN_PLUGIN_NOTE(\"${name}\", \"${version}\", \"${licence}\", ${class}, ${mask});
")
  set(${result} "${file}" PARENT_SCOPE)
endfunction()

function(quoin_add_plugin name)
  cmake_parse_arguments(P "NO_INSTALL;NO_NOTE" "CLASS;VERSION;LICENCE" "SOURCES;LINK;FLAGS" ${ARGN})
  foreach(default CLASS=accelerator VERSION=${PROJECT_VERSION} LICENCE=)
    string(REGEX MATCH "^([A-Z]+)=(.*)$" default "${default}")
    if(NOT P_${CMAKE_MATCH_1})
      set(P_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  if(NOT P_SOURCES)
    message(FATAL_ERROR "quoin_add_plugin(${name}): no SOURCES")
  endif()
  if(NOT P_NO_NOTE)
    list(GET P_SOURCES 0 first_source)
    quoin_write_plugin_note(${name} ${P_CLASS} "${P_VERSION}" "${P_LICENCE}" "${P_FLAGS}" "${first_source}" note)
    list(APPEND P_SOURCES "${note}")
  endif()
  set(target ${name}_plugin)
  add_library(${target} MODULE ${P_SOURCES})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} SUFFIX ".quoin.so" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/quoin/plugins"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    INTERPROCEDURAL_OPTIMIZATION OFF LINK_DEPENDS "${QUOIN_PLUGIN_EXPORTS}")
  target_link_libraries(${target} PRIVATE quoin::abi ${P_LINK} m)
  target_link_options(${target} PRIVATE "-Wl,--version-script=${QUOIN_PLUGIN_EXPORTS}" -Wl,--exclude-libs,ALL -Wl,-z,now
    -Wl,--as-needed)
  # With clang's sanitizers the run-time library is in the program alone, and the module's references to it stay open.
  quoin_plugin_is_sanitized(${target} is_sanitized)
  if(NOT (is_sanitized AND CMAKE_C_COMPILER_ID MATCHES "Clang"))
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  if(NOT P_NO_INSTALL)
    install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/quoin/plugins")
  endif()
endfunction()
