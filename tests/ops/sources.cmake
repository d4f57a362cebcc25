# sources.cmake: the files of the op tests, for the build of this tree and for the one for another processor (aarch64/).
set(op_harness_sources test_host.c op_program.c backend.c op_data.c cells.c two_layer.c harness.c oracle/oracle.c)
set(op_test_sources test_ops.c cases_attention.c cases_elementwise.c cases_matmul.c cases_rms_norm.c cases_rope.c cases_rows.c
  cases_state.c cases_programs.c)
