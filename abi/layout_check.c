/* layout_check.c — static asserts on the size and the offset of every member of the ABI, compiled in every build. A change here is a
 * change of the ABI: it needs a line in abi/doc/CHANGELOG.md. */
#include <quoin/ext/device_sample.h>
#include <quoin/ext/peak.h>
#include <quoin/ext/scrub.h>
#include <quoin/ext/test_fault.h>
#include <quoin/glue.h>
#include <quoin/note.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), "offset of " #type "." #member)

/* The least of each struct is its size in minor 0; today that is the whole of it. The table of verbs may end behind step. */
#define QN_STRUCT(type, bytes) _Static_assert(sizeof(type) >= (bytes), "size of " #type " in minor 0");
#include <quoin/sizes.def>
#undef QN_STRUCT
_Static_assert(QN_LEAST_qn_plugin == offsetof(qn_plugin, step) + sizeof(((qn_plugin *)0)->step), "verbs that every plugin has");

SIZE(qn_error, 1024);
AT(qn_error, size, 0);
AT(qn_error, code, 4);
AT(qn_error, op, 8);
AT(qn_error, reserved, 12);
AT(qn_error, native_code, 16);
AT(qn_error, text, 24);

SIZE(qn_machine, 88);
AT(qn_machine, size, 0);
AT(qn_machine, arch, 4);
AT(qn_machine, cpu_features, 8);
AT(qn_machine, l1d_bytes, 40);
AT(qn_machine, l2_bytes, 48);
AT(qn_machine, l3_bytes, 56);
AT(qn_machine, n_workers, 64);
AT(qn_machine, n_cores, 68);
AT(qn_machine, page_bytes, 72);
AT(qn_machine, memory_bytes, 80);

SIZE(qn_host, 160);
AT(qn_host, size, 0);
AT(qn_host, minor, 4);
AT(qn_host, ctx, 8);
AT(qn_host, name, 16);
AT(qn_host, version, 24);
AT(qn_host, build_id, 32);
AT(qn_host, machine, 40);
AT(qn_host, log, 48);
AT(qn_host, mem_alloc, 56);
AT(qn_host, mem_free, 64);
AT(qn_host, mem_note, 72);
AT(qn_host, team_run, 80);
AT(qn_host, team_barrier, 88);
AT(qn_host, team_next, 96);
AT(qn_host, team_reset, 104);
AT(qn_host, weight_done, 112);
AT(qn_host, blob_get, 120);
AT(qn_host, blob_put, 128);
AT(qn_host, time_ns, 136);
AT(qn_host, cancel, 144);
AT(qn_host, get_ext, 152);

SIZE(qn_option, 16);
AT(qn_option, key, 0);
AT(qn_option, value, 8);

SIZE(qn_option_info, 48);
AT(qn_option_info, size, 0);
AT(qn_option_info, type, 4);
AT(qn_option_info, applies, 8);
AT(qn_option_info, reserved, 12);
AT(qn_option_info, key, 16);
AT(qn_option_info, default_value, 24);
AT(qn_option_info, choices, 32);
AT(qn_option_info, help, 40);

SIZE(qn_device_info, 360);
AT(qn_device_info, size, 0);
AT(qn_device_info, device_class, 4);
AT(qn_device_info, flags, 8);
AT(qn_device_info, numeric, 12);
AT(qn_device_info, id, 16);
AT(qn_device_info, name, 80);
AT(qn_device_info, driver, 208);
AT(qn_device_info, memory_total, 336);
AT(qn_device_info, memory_free, 344);
AT(qn_device_info, cell_block, 352);
AT(qn_device_info, max_spans, 356);

SIZE(qn_plugin, 160);
AT(qn_plugin, size, 0);
AT(qn_plugin, reserved, 4);
AT(qn_plugin, start, 8);
AT(qn_plugin, stop, 16);
AT(qn_plugin, devices, 24);
AT(qn_plugin, open, 32);
AT(qn_plugin, close, 40);
AT(qn_plugin, check, 48);
AT(qn_plugin, plan, 56);
AT(qn_plugin, compile, 64);
AT(qn_plugin, prog_free, 72);
AT(qn_plugin, bind_weights, 80);
AT(qn_plugin, seal, 88);
AT(qn_plugin, session_new, 96);
AT(qn_plugin, session_free, 104);
AT(qn_plugin, step, 112);
AT(qn_plugin, state_move, 120);
AT(qn_plugin, tap, 128);
AT(qn_plugin, trim, 136);
AT(qn_plugin, describe, 144);
AT(qn_plugin, get_ext, 152);

SIZE(qn_query_in, 56);
AT(qn_query_in, size, 0);
AT(qn_query_in, minor, 4);
AT(qn_query_in, build_id, 8);
AT(qn_query_in, cpu_features, 16);
AT(qn_query_in, sanitizer, 48);
AT(qn_query_in, reserved, 52);

SIZE(qn_query_out, 64);
AT(qn_query_out, size, 0);
AT(qn_query_out, minor, 4);
AT(qn_query_out, name, 8);
AT(qn_query_out, version, 16);
AT(qn_query_out, build_id, 24);
AT(qn_query_out, licence, 32);
AT(qn_query_out, plugin, 40);
AT(qn_query_out, options, 48);
AT(qn_query_out, n_options, 56);
AT(qn_query_out, option_stride, 60);

SIZE(qn_buffer, 72);
AT(qn_buffer, role, 0);
AT(qn_buffer, format, 4);
AT(qn_buffer, rank, 8);
AT(qn_buffer, group, 12);
AT(qn_buffer, dims, 16);
AT(qn_buffer, symbols, 48);
AT(qn_buffer, name_at, 64);
AT(qn_buffer, flags, 68);

SIZE(qn_op, 32);
AT(qn_op, op, 0);
AT(qn_op, flags, 4);
AT(qn_op, layer, 8);
AT(qn_op, n_inputs, 12);
AT(qn_op, n_outputs, 16);
AT(qn_op, operands_at, 20);
AT(qn_op, attrs_at, 24);
AT(qn_op, attrs_bytes, 28);

SIZE(qn_cell_group, 8);
AT(qn_cell_group, window, 0);
AT(qn_cell_group, flags, 4);

SIZE(qn_program, 120);
AT(qn_program, magic, 0);
AT(qn_program, encoding, 4);
AT(qn_program, total_bytes, 8);
AT(qn_program, profile, 16);
AT(qn_program, n_buffers, 48);
AT(qn_program, buffer_stride, 52);
AT(qn_program, buffers_at, 56);
AT(qn_program, n_ops, 60);
AT(qn_program, op_stride, 64);
AT(qn_program, ops_at, 68);
AT(qn_program, n_groups, 72);
AT(qn_program, group_stride, 76);
AT(qn_program, groups_at, 80);
AT(qn_program, n_operands, 84);
AT(qn_program, operands_at, 88);
AT(qn_program, attrs_at, 92);
AT(qn_program, attrs_bytes, 96);
AT(qn_program, names_at, 100);
AT(qn_program, names_bytes, 104);
AT(qn_program, reserved, 108);

SIZE(qn_limits, 88);
AT(qn_limits, size, 0);
AT(qn_limits, max_tokens, 4);
AT(qn_limits, max_outputs, 8);
AT(qn_limits, max_sequences, 12);
AT(qn_limits, n_groups, 16);
AT(qn_limits, reserved, 20);
AT(qn_limits, cells, 24);

SIZE(qn_compile_options, 24);
AT(qn_compile_options, size, 0);
AT(qn_compile_options, flags, 4);
AT(qn_compile_options, numeric, 8);
AT(qn_compile_options, n_options, 12);
AT(qn_compile_options, options, 16);

SIZE(qn_verdict, 192);
AT(qn_verdict, size, 0);
AT(qn_verdict, verdict, 4);
AT(qn_verdict, text, 8);

SIZE(qn_memory_plan, 104);
AT(qn_memory_plan, size, 0);
AT(qn_memory_plan, numeric, 4);
AT(qn_memory_plan, host_bytes, 8);
AT(qn_memory_plan, device_bytes, 48);
AT(qn_memory_plan, borrowed_bytes, 88);
AT(qn_memory_plan, peak_load_bytes, 96);

SIZE(qn_weight, 48);
AT(qn_weight, size, 0);
AT(qn_weight, buffer, 4);
AT(qn_weight, flags, 8);
AT(qn_weight, fd, 12);
AT(qn_weight, data, 16);
AT(qn_weight, bytes, 24);
AT(qn_weight, fd_offset, 32);
AT(qn_weight, first_element, 40);

SIZE(qn_span, 16);
AT(qn_span, first_cell, 0);
AT(qn_span, n_cells, 4);
AT(qn_span, first_position, 8);
AT(qn_span, reserved, 12);

SIZE(qn_placement, 32);
AT(qn_placement, size, 0);
AT(qn_placement, n_spans, 4);
AT(qn_placement, cells, 8);
AT(qn_placement, spans, 16);
AT(qn_placement, span_at, 24);

SIZE(qn_binding, 24);
AT(qn_binding, buffer, 0);
AT(qn_binding, reserved, 4);
AT(qn_binding, data, 8);
AT(qn_binding, bytes, 16);

SIZE(qn_step, 72);
AT(qn_step, size, 0);
AT(qn_step, n_tokens, 4);
AT(qn_step, n_outputs, 8);
AT(qn_step, n_sequences, 12);
AT(qn_step, positions, 16);
AT(qn_step, sequences, 24);
AT(qn_step, placements, 32);
AT(qn_step, placement_stride, 40);
AT(qn_step, bindings, 48);
AT(qn_step, binding_stride, 56);
AT(qn_step, n_bindings, 64);
AT(qn_step, reserved, 68);

SIZE(qn_state_move, 24);
AT(qn_state_move, size, 0);
AT(qn_state_move, kind, 4);
AT(qn_state_move, group, 8);
AT(qn_state_move, from, 12);
AT(qn_state_move, to, 16);
AT(qn_state_move, n_cells, 20);

SIZE(qn_scale_attrs, 8);
AT(qn_scale_attrs, size, 0);
AT(qn_scale_attrs, factor, 4);

SIZE(qn_rms_norm_attrs, 16);
AT(qn_rms_norm_attrs, size, 0);
AT(qn_rms_norm_attrs, group, 4);
AT(qn_rms_norm_attrs, epsilon, 8);
AT(qn_rms_norm_attrs, reserved, 12);

SIZE(qn_rope_attrs, 48);
AT(qn_rope_attrs, size, 0);
AT(qn_rope_attrs, n_head, 4);
AT(qn_rope_attrs, head_dim, 8);
AT(qn_rope_attrs, n_rot, 12);
AT(qn_rope_attrs, pairing, 16);
AT(qn_rope_attrs, n_ctx_orig, 20);
AT(qn_rope_attrs, base, 24);
AT(qn_rope_attrs, freq_scale, 28);
AT(qn_rope_attrs, ext_factor, 32);
AT(qn_rope_attrs, attn_factor, 36);
AT(qn_rope_attrs, beta_fast, 40);
AT(qn_rope_attrs, beta_slow, 44);

SIZE(qn_attention_attrs, 32);
AT(qn_attention_attrs, size, 0);
AT(qn_attention_attrs, n_head, 4);
AT(qn_attention_attrs, n_kv_head, 8);
AT(qn_attention_attrs, head_dim, 12);
AT(qn_attention_attrs, value_dim, 16);
AT(qn_attention_attrs, window, 20);
AT(qn_attention_attrs, scale, 24);
AT(qn_attention_attrs, softcap, 28);

SIZE(qn_gated_attrs, 8);
AT(qn_gated_attrs, size, 0);
AT(qn_gated_attrs, kind, 4);

SIZE(qn_softcap_attrs, 8);
AT(qn_softcap_attrs, size, 0);
AT(qn_softcap_attrs, cap, 4);

SIZE(qn_note, 240);
AT(qn_note, size, 0);
AT(qn_note, abi_majors, 4);
AT(qn_note, abi_minors, 8);
AT(qn_note, arch, 24);
AT(qn_note, os, 28);
AT(qn_note, cpu_features, 32);
AT(qn_note, device_class, 64);
AT(qn_note, flags, 68);
AT(qn_note, sanitizer, 72);
AT(qn_note, reserved, 76);
AT(qn_note, name, 80);
AT(qn_note, version, 112);
AT(qn_note, licence, 144);
AT(qn_note, build_id, 176);

SIZE(qn_elf_note, 260);
AT(qn_elf_note, owner_bytes, 0);
AT(qn_elf_note, content_bytes, 4);
AT(qn_elf_note, type, 8);
AT(qn_elf_note, owner, 12);
AT(qn_elf_note, content, 20);

SIZE(qn_sample, 32);
AT(qn_sample, buffer, 4);
AT(qn_sample, k, 8);
AT(qn_sample, n_columns, 12);
AT(qn_sample, ids, 16);
AT(qn_sample, values, 24);

SIZE(qn_device_sample, 16);
AT(qn_device_sample, max_k, 4);
AT(qn_device_sample, step, 8);

SIZE(qn_peak_rate, 64);
AT(qn_peak_rate, size, 0);
AT(qn_peak_rate, reserved, 4);
AT(qn_peak_rate, per_second, 8);
AT(qn_peak_rate, name, 16);

SIZE(qn_peak, 16);
AT(qn_peak, size, 0);
AT(qn_peak, reserved, 4);
AT(qn_peak, measure, 8);

SIZE(qn_scrub, 16);
AT(qn_scrub, size, 0);
AT(qn_scrub, scratch, 8);

SIZE(qn_test_fault, 24);
AT(qn_test_fault, size, 0);
AT(qn_test_fault, reserved, 4);
AT(qn_test_fault, arm, 8);
AT(qn_test_fault, count, 16);
