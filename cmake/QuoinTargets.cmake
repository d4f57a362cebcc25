# QuoinTargets.cmake: what every target of this tree shares, as one interface target and three helpers.

set(QUOIN_PLUGIN_DIR "${CMAKE_INSTALL_LIBDIR}/quoin/plugins")

# Flags of the language and of hygiene; linked privately by every target, never exported.
add_library(quoin_build_flags INTERFACE)
target_compile_options(quoin_build_flags INTERFACE
  -Wall -Wextra -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wvla -Wundef
  $<$<C_COMPILER_ID:GNU>:-Wshadow=local> -ffp-contract=off -fno-math-errno $<$<BOOL:${QUOIN_WERROR}>:-Werror>)
target_compile_definitions(quoin_build_flags INTERFACE _POSIX_C_SOURCE=200809L _FILE_OFFSET_BITS=64)
if(QUOIN_SANITIZE_ADDRESS)
  target_compile_options(quoin_build_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(quoin_build_flags INTERFACE -fsanitize=address,undefined)
endif()
if(QUOIN_SANITIZE_THREAD)
  target_compile_options(quoin_build_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(quoin_build_flags INTERFACE -fsanitize=thread)
endif()
if(QUOIN_FUZZ)
  target_compile_options(quoin_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(QUOIN_COVERAGE)
  target_compile_options(quoin_build_flags INTERFACE --coverage)
  target_link_options(quoin_build_flags INTERFACE --coverage)
endif()

# quoin_library(NAME ALIAS SOURCES...): a static, position-independent library with hidden symbols.
# Static, because the program and the embeddable shared library are both linked from the same objects.
function(quoin_library name alias)
  add_library(${name} STATIC ${ARGN})
  add_library(quoin::${alias} ALIAS ${name})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:quoin_build_flags>)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden C_EXTENSIONS OFF)
endfunction()

# quoin_test(NAME LABEL SOURCES... [LIBS libs...] [ARGS args...]): one cmocka program, one ctest entry.
# Every test program knows the corpus folder and the project's own test data through the environment.
function(quoin_test name label)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS;ARGS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  set_target_properties(${name} PROPERTIES C_EXTENSIONS OFF RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE quoin_build_flags quoin_test_support ${T_LIBS})
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  quoin_test_environment(${name} ${label})
endfunction()

# quoin_test_environment(NAME LABEL): what every ctest entry gets, cmocka program or not.
function(quoin_test_environment name label)
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "QUOIN_CORPUS=$ENV{QUOIN_CORPUS};QUOIN_CORPUS_DEFAULT=${QUOIN_CORPUS};QUOIN_SOURCE=${PROJECT_SOURCE_DIR};QUOIN_BINARY=${CMAKE_BINARY_DIR}")
endfunction()
