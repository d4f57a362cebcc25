#!/usr/bin/env python3
"""Model folders in the layout of Hugging Face: converted with their companion they say what the GGUF of the same model says.

The folders are rebuilt from GGUF files (hf_folder.py); the weights of one come from the corpus as another program wrote them.
"""
import json
import os
import struct

import hf_folder
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
    t.has(r.err, 'no config.json', 'cannot be run')
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
        for text, words in ((b'{"a": 1,\n  }', ['line 2']), (b'[]', ['object']), (b'', ['line']), (b'{"a": 1, "a": 2}', ['duplicate']),
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
