#!/usr/bin/env python3
"""Model folders in the layout of Hugging Face: converted with their companion they say what the GGUF of the same model says.

The folders are rebuilt from GGUF files (hf_folder.py); the weights of one come from the corpus as another program wrote them.
"""
import json
import math
import os
import struct

import hf_folder
from decoder64 import Spec, Tensor, VOCABULARY, make_weights, write_gguf
from program import *

GREEDY = ('f32-bos', 'f32-once', 'f32-lily')
VOCABULARIES = ('gpt-2', 'starcoder', 'refact', 'mpt', 'llama-spm', 'phi-3')


def stories(kind='f32'):
    return corpus(f'data/stories260k/stories260k-{kind}.gguf')


def golden():
    with open(corpus('data/stories260k/golden.json'), encoding='utf-8') as f:
        return json.load(f)


def folder_of_stories(t, **how):
    return hf_folder.make_folder(stories(), t.path('stories'), **how)


def converted(t, folder, *args):
    path = t.path('model.p64')
    t.exits(0, 'convert', folder, '-o', path, *args)
    return path


def check_golden(t, path, names=GREEDY):
    for name in names:
        wanted = golden()[f'greedy-{name}']
        got = t.exits(0, 'run', path, '--backend', 'reference', '--numeric', 'f32acc', '--prompt-tokens', ','.join(map(str, wanted['prompt_ids'])),
                      '-n', len(wanted['ids']), '--deadline', 0, '--json').json()
        t.equal(got['tokens'], wanted['ids'], name)


@test
def a_folder_gives_the_golden_ids_of_its_gguf(t):
    check_golden(t, converted(t, folder_of_stories(t)))


@test
def weights_that_another_program_wrote_give_the_golden_ids(t):
    folder = folder_of_stories(t)
    os.unlink(os.path.join(folder, 'model.safetensors'))
    os.symlink(corpus('data/stories260k/stories260k-hf.safetensors'), os.path.join(folder, 'model.safetensors'))
    os.unlink(os.path.join(folder, 'config.json'))
    os.symlink(corpus('data/stories260k/config.json'), os.path.join(folder, 'config.json'))
    check_golden(t, converted(t, folder))


@test
def several_files_of_weights_and_their_index_give_the_golden_ids(t):
    folder = folder_of_stories(t, shards=3)
    check_golden(t, converted(t, folder))
    one = converted(t, os.path.join(folder, 'model.safetensors.index.json'), '--force')
    check_golden(t, one, GREEDY[:1])


@test
def files_that_follow_each_other_give_the_container_of_one_file(t):
    one = converted(t, folder_of_stories(t), '--no-companion')
    several = hf_folder.make_folder(stories(), t.path('several'), shards=4)
    t.exits(0, 'convert', several, '-o', t.path('several.p64'), '--no-companion')
    with open(one, 'rb') as a, open(t.path('several.p64'), 'rb') as b:
        t.true(a.read() == b.read(), 'same bytes')


@test
def half_precision_gives_the_golden_ids_of_the_half_precision_gguf(t):
    folder = hf_folder.make_folder(stories('f16'), t.path('half'), dtype='F16')
    check_golden(t, converted(t, folder), ('f16-bos', 'f16-once', 'f16-lily'))


@test
def brain_floats_are_kept_and_run(t):
    path = converted(t, folder_of_stories(t, dtype='BF16'))
    t.has(t.exits(0, 'inspect', path, '--tensors').out, 'BF16')
    t.exits(0, 'run', path, '--backend', 'reference', '--prompt', 'Once upon a time', '-n', 8)


@test
def tokenisations_are_those_of_the_golden_file_whatever_the_form_of_the_merges(t):
    for pairs in (True, False):
        path = converted(t, folder_of_stories(t, pairs=pairs), '--force')
        for entry in golden()['tokenize']:
            r = t.exits(0, 'tokenize', path, '--text', entry['text'], '--json')
            t.equal(r.json(), {'tokens': entry['ids']}, repr(entry['text']))


@test
def merges_that_no_scores_can_tell_are_warned_of(t):
    folder = folder_of_stories(t)
    t.lacks(t.exits(0, 'convert', folder).err, 'SentencePiece')
    tokenizer = hf_folder.make_tokenizer(hf_folder.Gguf(stories()))
    kept = tokenizer['model']['merges']
    for merges, words in ((kept[:10] + kept[11:], '1 of 253 pieces'), (kept[:7] + kept[8:] + kept[7:8], '1 merges stand apart')):
        tokenizer['model']['merges'] = merges
        hf_folder.write_json(folder, 'tokenizer.json', tokenizer)
        t.has(t.exits(0, 'convert', folder, '--force').err, 'tokenizer.json', 'not those of a SentencePiece vocabulary', words)


def folder_of_vocabulary(t, gguf_path):
    """A folder whose weights are one matrix: enough to tokenize with."""
    gguf, folder = hf_folder.Gguf(gguf_path), t.path('vocabulary')
    os.makedirs(folder)
    n, arch = len(gguf.keys['tokenizer.ggml.tokens']), gguf.text('general.architecture')
    config = {'architectures': [hf_folder.ARCHITECTURES.get(arch, 'LlamaForCausalLM')], 'hidden_size': 2, 'intermediate_size': 2,
              'num_hidden_layers': 1, 'num_attention_heads': 1, 'max_position_embeddings': 8, 'rms_norm_eps': 1e-5}
    hf_folder.write_json(folder, 'config.json', config)
    hf_folder.write_json(folder, 'tokenizer.json', hf_folder.make_tokenizer(gguf))
    hf_folder.write_json(folder, 'tokenizer_config.json', hf_folder.make_tokenizer_config(gguf))
    hf_folder.write_weights(folder, [('model.embed_tokens.weight', [n, 2], bytes(8 * n))], 'F32')
    return folder


def check_vocabulary(t, name):
    gguf = corpus(f'data/tokenizers/ggml-vocab-{name}.gguf')
    path = converted(t, folder_of_vocabulary(t, gguf))
    for special in ([], ['--special']):
        args = ['-f', gguf + '.inp', '--json', *special]
        t.equal(t.exits(0, 'tokenize', path, *args).json(), t.exits(0, 'tokenize', gguf, *args).json(), f'{name} {special}')


for vocabulary in VOCABULARIES:
    add_test(f'the_vocabulary_{vocabulary}_tokenizes_as_from_its_gguf', lambda t, name=vocabulary: check_vocabulary(t, name))


# ------------------------------------------------------------------------------------------------------------- architectures
def llama3_factors(base, n_rot, factor, low, high, context):
    """How much each pair is slowed down, from the wave lengths."""
    factors = []
    for i in range(n_rot // 2):
        turns = context / (2 * math.pi * base ** (2 * i / n_rot))
        mix = min(1.0, max(0.0, (turns - low) / (high - low)))
        factors.append(1 / ((1 - mix) / factor + mix))
    return factors


LLAMA3 = {'rope_type': 'llama3', 'factor': 8.0, 'low_freq_factor': 1.0, 'high_freq_factor': 4.0, 'original_max_position_embeddings': 256}
YARN = {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 16}
LONG = {'n_rot': 4, 'scaling': 'longrope', 'n_ctx_orig': 40, 'attn_factor': 1.19}
MISTRAL = {'architectures': ['MistralForCausalLM'], 'model_type': 'mistral'}
GEMMA = {'n_layer': 7, 'window': 5, 'head_dim': 8, 'base': 1e6}
# name, architecture, what is different in the model, and in the folder's config, options of run
MODELS = [
    ('llama_with_a_matrix_for_the_output', 'llama', {'is_tied': False}, {}, []),
    ('llama_with_heads_wider_than_the_embedding', 'llama', {'head_dim': 10, 'value_dim': 10}, {}, []),
    ('llama_with_linear_scaling', 'llama', {'scaling': 'linear', 'factor': 4.0}, {'rope_scaling': {'type': 'linear', 'factor': 4}}, []),
    ('llama_with_llama3_scaling', 'llama', {'base': 500.0, 'has_factors': True, 'head_dim': 16}, {'rope_scaling': LLAMA3}, []),
    ('llama_with_yarn', 'llama', {'head_dim': 16, 'scaling': 'yarn', 'factor': 4.0, 'n_ctx_orig': 16}, {'rope_scaling': YARN}, []),
    ('llama_with_a_bias_behind_the_attention', 'llama', {'has_output_bias': True}, {'attention_bias': True}, []),
    ('mistral_with_a_window', 'llama', {'window': 6}, {**MISTRAL, 'sliding_window': 6}, []),
    ('qwen2_with_biases', 'qwen2', {}, {}, []),
    ('qwen2_with_yarn', 'qwen2', {'head_dim': 16, 'beta_fast': 8.0, 'beta_slow': 0.5, 'scaling': 'yarn', 'factor': 4.0, 'n_ctx_orig': 16},
     {'rope_scaling': {**YARN, 'beta_fast': 8.0, 'beta_slow': 0.5}}, []),
    ('qwen3_with_head_norms', 'qwen3', {'head_dim': 10}, {}, []),
    ('gemma3_with_a_window_in_five_of_six_layers', 'gemma3', GEMMA, {}, []),
    ('gemma3_with_another_pattern', 'gemma3', {**GEMMA, 'pattern': 2, 'writes_pattern': 'number'}, {'sliding_window_pattern': 2}, []),
    ('gemma3_with_a_base_for_windows', 'gemma3', {**GEMMA, 'base_window': 300.0}, {'rope_local_base_freq': 300}, []),
    ('gemma3_with_scaled_full_layers', 'gemma3', {**GEMMA, 'scaling': 'linear', 'factor': 8.0},
     {'rope_scaling': {'rope_type': 'linear', 'factor': 8}}, []),
    ('gemma3_with_a_final_soft_cap', 'gemma3', {**GEMMA, 'final_softcap': 3.0}, {'final_logit_softcapping': 3.0}, []),
    ('gemma3_with_an_attention_scale', 'gemma3', {**GEMMA, 'attn_scale': 0.5}, {'query_pre_attn_scalar': 4}, []),
    ('phi3_with_fused_matrices', 'phi3', {}, {}, []),
    ('phi3_with_a_window', 'phi3', {'window': 6}, {'sliding_window': 6}, []),
    ('phi3_with_short_factors', 'phi3', LONG, {}, ['--ctx', 40]),
    ('phi3_with_long_factors', 'phi3', {**LONG, 'use_long': True}, {}, ['--ctx', 64]),
]


def config_of(spec, weights, changes):
    config = dict(changes)
    if spec.has_factors:
        factors = llama3_factors(spec.base, spec.rot, 8.0, 1.0, 4.0, 256)
        weights['rope_freqs.weight'] = Tensor([spec.rot // 2], factors)
    if spec.scaling == 'longrope':
        config['rope_scaling'] = {'type': 'longrope', 'attention_factor': spec.attn_factor,
                                  'short_factor': weights['rope_factors_short.weight'].rows[0],
                                  'long_factor': weights['rope_factors_long.weight'].rows[0]}
        config['original_max_position_embeddings'] = spec.n_ctx_orig
        config['partial_rotary_factor'] = spec.rot / spec.q_dim
    return config


def run_greedy(t, path, options):
    prompt = ','.join(str(7 * i % 200) for i in range(21))
    return t.exits(0, 'run', path, '--prompt-tokens', prompt, '-n', 12, '--temp', 0, '--numeric', 'f32acc', '--kv', 'f32', '--logprobs', 8,
                   '--logit-bias', f'{len(VOCABULARY) - 2}:-100', '--backend', 'reference', '--json', *options).json()


def check_architecture(t, number):
    _, arch, changes, more, options = MODELS[number]
    spec = Spec(arch, **changes)
    weights = make_weights(spec, seed=number + 1)
    config = config_of(spec, weights, more)
    write_gguf(t.path('model.gguf'), spec, weights)
    folder = hf_folder.make_folder(t.path('model.gguf'), t.path('folder'), config=config)
    wanted, got = run_greedy(t, t.path('model.gguf'), options), run_greedy(t, converted(t, folder), options)
    t.equal(got['tokens'], wanted['tokens'], 'ids')
    for step, (a, b) in enumerate(zip(got['logprobs'], wanted['logprobs'])):
        for x, y in zip(a, b):
            t.true(x['id'] == y['id'] and abs(x['logprob'] - y['logprob']) < 1e-4, f'step {step}: {x}, of the GGUF {y}')


for number, row in enumerate(MODELS):
    add_test(f'a_folder_of_{row[0]}_gives_the_logits_of_its_gguf', lambda t, at=number: check_architecture(t, at))


# ----------------------------------------------------------------------------------------------------------------- companion
@test
def the_companion_names_digest_and_format_of_the_source(t):
    folder = folder_of_stories(t)
    path = converted(t, folder)
    found = t.exits(0, 'inspect', path, '--json').out
    t.has(found, 'safetensors', hf_folder.digest_of(folder))


# ------------------------------------------------------------------------------------------------------------- weights alone
@test
def weights_without_a_config_are_converted_and_say_that_they_cannot_run(t):
    folder = folder_of_stories(t)
    os.unlink(os.path.join(folder, 'config.json'))
    r = t.exits(0, 'convert', os.path.join(folder, 'model.safetensors'))
    t.has(r.err, 'no config.json', 'cannot be run', 'cannot run without a companion volume')
    path = os.path.join(folder, 'model.p64')
    t.exits(0, 'verify', path)
    t.true(not os.path.exists(os.path.join(folder, 'model.q42')), 'no companion is written')
    t.has(t.exits(1, 'run', path, '--prompt', 'a').err, 'Safetensors', 'companion')


@test
def the_output_of_a_folder_is_named_after_it(t):
    folder = folder_of_stories(t)
    t.exits(0, 'convert', folder + '/')
    t.true(os.path.exists(t.path('stories.p64')) and os.path.exists(t.path('stories.q42')), 'both stand beside the folder')


# ----------------------------------------------------------------------------------------------------------------- refusals
def write_header(path, header, size):
    text = json.dumps(header).encode()
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        f.truncate(8 + len(text) + size)


def refused(t, folder, *words, args=(), status=1):
    before = t.files()
    r = t.exits(status, 'convert', folder, '-o', t.path('refused.p64'), *args)
    t.has(r.err, *words)
    t.equal(t.files(), before, 'files in the folder')


@test
def types_that_a_container_cannot_hold_are_refused_with_tensor_and_type(t):
    folder = folder_of_stories(t)
    write_header(os.path.join(folder, 'model.safetensors'), {'a': {'dtype': 'I64', 'shape': [4], 'data_offsets': [0, 32]}}, 32)
    refused(t, folder, 'model.safetensors', 'tensor a is I64', 'F32, F16 and BF16')


@test
def a_model_beyond_four_gigabytes_is_refused_before_a_byte_is_written(t):
    folder = t.path('large')
    os.makedirs(folder)
    size = 5 << 30
    write_header(os.path.join(folder, 'model.safetensors'),
                 {'a': {'dtype': 'F16', 'shape': [size // 2], 'data_offsets': [0, size]}}, size)
    refused(t, folder, 'the container would have 53687', '4 GiB')


@test
def a_missing_file_of_weights_is_named_with_the_first_tensor_that_is_lost(t):
    folder = folder_of_stories(t, shards=3)
    os.unlink(os.path.join(folder, 'model-00002-of-00003.safetensors'))
    refused(t, folder, 'model-00002-of-00003.safetensors', 'tensor')


@test
def broken_json_is_refused_with_file_line_and_column(t):
    folder = folder_of_stories(t)
    for name in ('config.json', 'tokenizer.json', 'tokenizer_config.json', 'generation_config.json'):
        path = os.path.join(folder, name)
        kept = open(path, 'rb').read() if os.path.exists(path) else None
        for text, words in ((b'{"a": 1,\n  }', ['line 2']), (b'[]', ['object']), (b'', ['line 1', 'the file is empty; missing is one JSON object with']), (b' \n\t ', ['the file is empty']), (b'{"a": 1, "a": 2}', ['duplicate']),
                            (b'[' * 100000, ['line 1'])):
            with open(path, 'wb') as f:
                f.write(text)
            refused(t, folder, name, *words)
        if kept is None:
            os.unlink(path)
        else:
            with open(path, 'wb') as f:
                f.write(kept)


@test
def an_empty_config_is_refused_with_what_is_missing(t):
    folder = folder_of_stories(t)
    for text in ('', '{}', ' {\n} '):
        with open(os.path.join(folder, 'config.json'), 'w') as f:
            f.write(text)
        refused(t, folder, os.path.join(folder, 'config.json'), 'empty; missing', 'architectures', 'hidden_size', 'num_attention_heads')


@test
def a_config_that_does_not_fit_its_weights_or_vocabulary_is_refused_with_key_and_value(t):
    folder = folder_of_stories(t)
    config = hf_folder.make_config(hf_folder.Gguf(stories()))
    for changes, words in (({'num_key_value_heads': 8}, ['num_key_value_heads', 'k_proj.weight must have']),
                           ({'num_attention_heads': 4}, ['q_proj.weight must have'] if 'head_dim' in config else ['k_proj.weight must have']),
                           ({'head_dim': 16}, ['head_dim 16', 'q_proj.weight must have']), ({'num_key_value_heads': 3}, ['does not divide']),
                           ({'eos_token_id': config['vocab_size']}, ['eos_token_id is', 'outside the vocabulary']),
                           ({'bos_token_id': -1}, ['bos_token_id is -1', 'outside the vocabulary'])):
        hf_folder.write_json(folder, 'config.json', {**config, **changes})
        refused(t, folder, 'config.json: key ', *words)


@test
def json_beyond_its_limit_is_refused_by_size(t):
    folder = folder_of_stories(t)
    with open(os.path.join(folder, 'config.json'), 'ab') as f:
        f.truncate((16 << 20) + 1)
    refused(t, folder, 'config.json', 'has 16777217 bytes; at most 16777216 are read')


@test
def an_architecture_that_is_not_run_is_refused_by_name(t):
    folder = folder_of_stories(t)
    config = hf_folder.make_config(hf_folder.Gguf(stories()))
    hf_folder.write_json(folder, 'config.json', {**config, 'architectures': ['MambaForCausalLM']})
    refused(t, folder, 'config.json', 'MambaForCausalLM')


@test
def a_bias_that_the_architecture_has_no_place_for_is_refused_when_it_is_run(t):
    gguf = hf_folder.Gguf(stories())
    folder = folder_of_stories(t)
    tensors = [hf_folder.hf_tensor(gguf, tensor, 'F32') for tensor in gguf.tensors]
    hf_folder.write_weights(folder, tensors + [('model.layers.1.mlp.up_proj.bias', [172], bytes(4 * 172))], 'F32')
    path = converted(t, folder)
    t.has(t.exits(1, 'run', path, '--prompt', 'a').err, 'model.layers.1.mlp.up_proj.bias', 'has no place in a llama model')


@test
def weights_of_a_folder_are_kept_and_nothing_else(t):
    folder = folder_of_stories(t)
    refused(t, folder, '--weights f16', args=['--weights', 'f16'])


@test
def a_folder_without_weights_is_refused_with_the_names_that_were_looked_for(t):
    folder = t.path('empty')
    os.makedirs(folder)
    refused(t, folder, 'neither model.safetensors nor model.safetensors.index.json', status=6)


if __name__ == '__main__':
    main()
