"""Small models of every architecture that the program runs, each with one feature more or less than an ordinary one.

    _, arch, changes, options = MODELS[number]
    spec = Spec(arch, **changes)
"""
from decoder64 import Q8_0

LONG = {'scaling': 'longrope', 'n_ctx_orig': 40, 'attn_factor': 1.19}
YARN = {'scaling': 'yarn', 'factor': 4.0, 'n_ctx_orig': 16}
# name of the test, architecture, what is different, options of run
MODELS = [
    ('llama_with_grouped_heads', 'llama', {'is_tied': False}, []),
    ('llama_with_a_tied_output', 'llama', {}, []),
    ('llama_in_small_chunks', 'llama', {}, ['--chunk', 5]),
    ('llama_with_one_kv_head', 'llama', {'n_head_kv': 1}, []),
    ('llama_with_heads_wider_than_the_embedding', 'llama', {'head_dim': 10, 'value_dim': 10}, []),
    ('llama_with_values_narrower_than_keys', 'llama', {'head_dim': 8, 'value_dim': 6}, []),
    ('llama_with_partial_rotation', 'llama', {'head_dim': 12, 'n_rot': 8}, []),
    ('llama_with_linear_scaling', 'llama', {'scaling': 'linear', 'factor': 4.0}, []),
    ('llama_with_llama3_factors', 'llama', {'base': 500000.0, 'has_factors': True}, []),
    ('llama_with_yarn', 'llama', {'head_dim': 16, **YARN}, []),
    ('llama_with_a_window_everywhere', 'llama', {'window': 6}, []),
    ('llama_with_a_window_in_small_chunks', 'llama', {'window': 6}, ['--chunk', 4]),
    ('llama_with_soft_caps', 'llama', {'attn_softcap': 1.5, 'final_softcap': 2.0}, []),
    ('llama_with_an_attention_scale', 'llama', {'attn_scale': 0.9}, []),
    ('llama_with_an_output_bias', 'llama', {'has_output_bias': True}, []),
    ('llama_with_facts_per_layer', 'llama', {'repeats_per_layer': True}, []),
    ('llama_with_a_large_epsilon', 'llama', {'epsilon': 0.1}, []),
    ('qwen2_with_biases', 'qwen2', {}, []),
    ('qwen2_with_yarn', 'qwen2', {'head_dim': 16, 'base': 1000000.0, 'beta_fast': 8.0, 'beta_slow': 0.5, **YARN}, []),
    ('qwen2_with_half_a_yarn', 'qwen2', {'head_dim': 16, 'ext_factor': 0.5, 'attn_factor': 1.3, **YARN}, []),
    ('qwen3_with_head_norms', 'qwen3', {'head_dim': 10}, []),
    ('gemma3_with_a_window_in_five_of_six_layers', 'gemma3', {'n_layer': 7, 'window': 5, 'head_dim': 8, 'base': 1e6}, []),
    ('gemma3_in_small_chunks', 'gemma3', {'n_layer': 7, 'window': 5, 'head_dim': 8, 'base': 1e6}, ['--chunk', 3]),
    ('gemma3_scales_full_layers_only', 'gemma3',
     {'n_layer': 6, 'window': 5, 'head_dim': 8, 'base': 1e6, 'scaling': 'linear', 'factor': 8.0}, []),
    ('gemma3_scales_full_layers_only_though_bases_are_equal', 'gemma3',
     {'n_layer': 6, 'window': 5, 'head_dim': 8, 'base': 1e4, 'scaling': 'linear', 'factor': 8.0}, []),
    ('gemma3_with_a_pattern_as_a_number', 'gemma3',
     {'n_layer': 4, 'window': 5, 'head_dim': 8, 'base': 1e6, 'pattern': 2, 'writes_pattern': 'number'}, []),
    ('gemma3_with_a_pattern_as_an_array', 'gemma3',
     {'n_layer': 4, 'window': 5, 'head_dim': 8, 'base': 1e6, 'pattern': 3, 'writes_pattern': 'array'}, []),
    ('gemma3_with_a_base_for_windows', 'gemma3', {'window': 5, 'head_dim': 8, 'base': 1e6, 'base_window': 300.0}, []),
    ('gemma3_with_a_final_soft_cap', 'gemma3', {'window': 5, 'head_dim': 8, 'base': 1e6, 'final_softcap': 3.0}, []),
    ('phi3_with_fused_matrices', 'phi3', {}, []),
    ('phi3_with_fused_matrices_of_blocks', 'phi3', {'n_embd': 32, 'n_ff': 64, 'matrix_type': Q8_0}, []),
    ('phi3_with_factors_but_no_word_of_longrope', 'phi3', {'n_rot': 4, 'says_longrope': False, **LONG}, ['--ctx', 40]),
    ('phi3_with_a_window', 'phi3', {'window': 6}, ['--chunk', 4]),
    ('phi3_with_short_factors', 'phi3', {'n_rot': 4, **LONG}, ['--ctx', 40]),
    ('phi3_with_long_factors', 'phi3', {'n_rot': 4, 'use_long': True, **LONG}, ['--ctx', 64]),
]
