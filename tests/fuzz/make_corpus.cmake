# make_corpus.cmake — runs every case generator. PYTHON, GENERATORS, OUT.
file(GLOB scripts "${GENERATORS}/gen_*.py")
foreach(script ${scripts})
  set(ENV{PYTHONDONTWRITEBYTECODE} 1)
  execute_process(COMMAND "${PYTHON}" "${script}" "${OUT}" RESULT_VARIABLE status OUTPUT_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${script} failed: ${status}")
  endif()
endforeach()
# Mostly a hole, and the same bytes as the others in front: no seed.
file(REMOVE "${OUT}/dev/gguf/gsize-01-sparse-5gib.gguf")
