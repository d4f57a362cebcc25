# run_fuzzer.cmake — one libFuzzer run.
# PROGRAM, FOUND (folder for new inputs), SECONDS, CORPUS (folders; absent ones are left out), DICTIONARY (may be absent).
set(options "")
if(EXISTS "${DICTIONARY}")
  set(options "-dict=${DICTIONARY}")
endif()
set(folders "")
foreach(folder ${CORPUS})
  if(IS_DIRECTORY "${folder}")
    list(APPEND folders "${folder}")
  endif()
endforeach()
execute_process(COMMAND "${PROGRAM}" -max_total_time=${SECONDS} -max_len=131072 -timeout=10 -rss_limit_mb=2048
  -print_final_stats=1 ${options}
  "-artifact_prefix=${FOUND}/crash-" "${FOUND}" ${folders} RESULT_VARIABLE status ERROR_VARIABLE words)
string(REGEX MATCHALL "(stat::[^\n]*|SUMMARY[^\n]*|[^\n]*DONE[^\n]*|==[^\n]*ERROR[^\n]*)" lines "${words}")
foreach(line ${lines})
  message(STATUS "${line}")
endforeach()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the fuzzer stopped with ${status}\n${words}")
endif()
