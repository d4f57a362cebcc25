#!/usr/bin/env python3
"""Containers in panels: made of a GGUF and of a container, turned back byte for byte, run with the same bits on every backend."""
import filecmp
import json
import os

from decoder64 import Q8_0, Spec, make_weights, write_gguf
from logits import same_logits
from program import *

VECTORS = os.path.join(SOURCE, 'tests', 'vectors', 'panels')
PROMPTS, FOLLOW = [[1, 5, 9, 2], [7]], [3, 1, 4]
# Embedding that is the output too; one that is not; q, k, v in one matrix, whose parts begin inside a panel.
SHAPES = {'tied': ('llama', {}), 'untied': ('llama', {'is_tied': False}), 'fused': ('phi3', {})}


def make_model(t, shape):
    arch, changes = SHAPES[shape]
    spec = Spec(arch, n_embd=32, n_ff=64, matrix_type=Q8_0, **changes)
    write_gguf(t.path('model.gguf'), spec, make_weights(spec, seed=11))
    return t.path('model.gguf')


def convert(t, source, name, *options):
    said = t.exits(0, 'convert', source, '-o', t.path(name), '--json', *options).json()
    return t.path(name), said


def types_of(t, path):
    return {x['name']: x['type'] for x in t.exits(0, 'inspect', path, '--json').json()['tensor_list']}


def check_shape(t, shape):
    model = make_model(t, shape)
    panels, said = convert(t, model, 'panels.p64', '--layout', 'panel')
    packed, _ = convert(t, model, 'packed.p64')
    t.equal(said['converted'], 0)
    t.true(said['panels'] > 4, f'{said["panels"]} tensors are panels')
    t.exits(0, 'verify', panels)
    again, _ = convert(t, packed, 'again.p64', '--layout', 'panel')
    back, _ = convert(t, panels, 'back.p64', '--layout', 'packed')
    t.true(filecmp.cmp(panels, again, shallow=False), 'panels of the container differ from those of the GGUF')
    t.true(filecmp.cmp(packed, back, shallow=False), 'turned back, it is another container')
    for backend, numeric in (('reference', 'f32acc'), ('cpu', 'f32acc'), ('cpu', 'act8')):
        same_logits(t, packed, panels, PROMPTS, follow=FOLLOW, backend=backend, numeric=numeric)
        same_logits(t, model, panels, PROMPTS, follow=FOLLOW, backend=backend, numeric=numeric)


for name in SHAPES:
    add_test(f'a_model_with_{name}_matrices_has_the_same_bits_in_panels', lambda t, n=name: check_shape(t, n))


@test
def an_embedding_is_in_panels_only_when_it_is_the_output_too(t):
    tied, _ = convert(t, make_model(t, 'tied'), 'tied.p64', '--layout', 'panel')
    untied, _ = convert(t, make_model(t, 'untied'), 'untied.p64', '--layout', 'panel')
    t.equal(types_of(t, tied)['token_embd.weight'], 'Q8_0 panels')
    t.equal(types_of(t, untied)['token_embd.weight'], 'Q8_0')
    t.equal(types_of(t, untied)['output.weight'], 'Q8_0 panels')


@test
def the_frozen_vectors_are_written_byte_for_byte_and_turned_back(t):
    page = ['--page-log2', '8', '--no-companion']
    panels, said = convert(t, os.path.join(VECTORS, 'standard.p64'), 'panels.p64', '--layout', 'panel', *page)
    t.equal((said['tensors'], said['panels'], said['kept']), (12, 10, 0))
    t.true(filecmp.cmp(panels, os.path.join(VECTORS, 'panels.p64'), shallow=False), 'the vectors have other panels')
    back, _ = convert(t, os.path.join(VECTORS, 'panels.p64'), 'back.p64', '--layout', 'packed', *page)
    t.true(filecmp.cmp(back, os.path.join(VECTORS, 'standard.p64'), shallow=False), 'the vectors have other blocks')


@test
def types_are_converted_and_then_put_into_panels(t):
    panels, said = convert(t, make_model(t, 'tied'), 'out.p64', '--layout', 'panel', '--weights', 'ffn-ternary')
    types = types_of(t, panels)
    t.equal(types['blk.0.ffn_up.weight'], 'TERNARY panels')
    t.equal(types['blk.0.attn_q.weight'], 'Q8_0 panels')
    t.true(said['converted'] > 0, 'nothing was converted')
    plain, _ = convert(t, t.path('model.gguf'), 'plain.p64', '--weights', 'ffn-ternary')
    same_logits(t, plain, panels, PROMPTS, follow=FOLLOW, backend='cpu', numeric='act8')
    same_logits(t, plain, panels, PROMPTS, follow=FOLLOW)


def patched(t, name):
    """panels.p64 with one of the changes of the manifest, checksums right."""
    with open(os.path.join(VECTORS, 'manifest.json')) as f:
        item = next(x for x in json.load(f)['broken'] if x['name'] == name)
    with open(os.path.join(VECTORS, 'panels.p64'), 'rb') as f:
        data = bytearray(f.read())
    for at, new in item['patches']:
        data[at:at + len(new) // 2] = bytes.fromhex(new)
    with open(t.path('bad.p64'), 'wb') as f:
        f.write(data)
    return t.path('bad.p64'), item


@test
def bits_that_no_rearrangement_sets_are_named_with_their_byte(t):
    for name in ('padding_behind_scales', 'seventh_bit_of_a_scale', 'ternary_digit_3', 'rows_of_half_a_block'):
        path, item = patched(t, name)
        r = t.exits(1, 'verify', path)
        t.has(r.err + r.out, item['rule'], str(item['offset']))
        r = t.exits(1, 'convert', path, '-o', t.path('out.p64'), '--layout', 'packed', '--no-companion')
        t.has(r.err, item['rule'])
        t.true(not os.path.exists(t.path('out.p64')), 'something was written')


@test
def a_container_whose_tensors_have_no_names_is_refused(t):
    extended, _ = convert(t, make_model(t, 'fused'), 'extended.p64', '--extended')
    r = t.exits(1, 'convert', extended, '-o', t.path('out.p64'), '--layout', 'panel')
    t.has(r.err, 'no name of its own', 'extended')  # fused matrices have no role, so their names are gone
    t.true(not os.path.exists(t.path('out.p64')), 'something was written')


@test
def a_container_is_not_its_own_output(t):
    packed, _ = convert(t, make_model(t, 'tied'), 'model.p64')
    t.exits(0, 'convert', packed, '--layout', 'panel')
    t.true(os.path.exists(t.path('model.panel.p64')) and os.path.exists(t.path('model.panel.q42')), 'no pair of that name')
    t.exits(6, 'convert', packed, '-o', packed, '--force', '--layout', 'panel')


# ---------------------------------------------------------------- panels that are kept
RUN = ['--prompt-tokens', '1,5,9', '-n', '8', '--temp', '0', '--backend', 'cpu', '--deadline', '0', '--json']


def run_kept(t, model, *options, cache='cache', status=0):
    r = t.quoin('run', model, *RUN, '--keep-panels', *options, env={'XDG_CACHE_HOME': t.path(cache)})
    t.equal(r.status, status, r.describe())
    return r


def kept_files(t, cache='cache'):
    folder = t.path(os.path.join(cache, 'quoin', 'panels'))
    return sorted(os.path.join(folder, x) for x in os.listdir(folder)) if os.path.isdir(folder) else []


def check_kept(t, model):
    wanted = t.exits(0, 'run', model, *RUN).json()['tokens']
    first, again = run_kept(t, model), run_kept(t, model)
    t.has(first.err, 'panels are kept in')
    t.lacks(again.err, 'panels are kept in')
    t.has(again.err, '0.0 MiB packed')
    t.equal((first.json()['tokens'], again.json()['tokens']), (wanted, wanted))
    t.equal(len(kept_files(t)), 1)
    t.exits(0, 'verify', kept_files(t)[0])


@test
def panels_of_a_gguf_are_kept_and_used_again(t):
    check_kept(t, make_model(t, 'tied'))


@test
def panels_of_fused_matrices_are_kept(t):
    check_kept(t, make_model(t, 'fused'))


@test
def panels_of_a_container_are_kept_and_those_of_panels_are_not(t):
    packed, _ = convert(t, make_model(t, 'untied'), 'packed.p64')
    check_kept(t, packed)
    panels, _ = convert(t, packed, 'panels.p64', '--layout', 'panel')
    run_kept(t, panels, cache='other')
    t.equal(kept_files(t, 'other'), [])


@test
def kept_panels_that_were_damaged_are_made_anew(t):
    model = make_model(t, 'tied')
    wanted = run_kept(t, model).json()['tokens']
    file, = kept_files(t)
    size = os.path.getsize(file)
    blob = next(x['offset'] for x in t.exits(0, 'inspect', file, '--json').json()['tensor_list'] if x['name'] == 'token_embd.weight')
    for damage in ('bit', 'cut', 'empty'):
        with open(file, 'r+b') as f:
            if damage == 'bit':
                f.seek(blob + 5)
                byte = f.read(1)[0]
                f.seek(blob + 5)
                f.write(bytes([byte ^ 4]))
            f.truncate({'bit': size, 'cut': size // 2, 'empty': 0}[damage])
        r = run_kept(t, model)
        t.has(r.err, 'kept panels are not used', 'panels are kept in')
        t.equal(r.json()['tokens'], wanted)
        t.equal(os.path.getsize(file), size)
    os.chmod(file, 0o666)
    t.has(run_kept(t, model).err, 'panels are kept in')


@test
def another_file_of_the_same_name_gets_panels_of_its_own(t):
    model = make_model(t, 'tied')
    run_kept(t, model)
    os.unlink(model)
    spec = Spec('llama', n_embd=32, n_ff=64, matrix_type=Q8_0)
    write_gguf(model, spec, make_weights(spec, seed=12))
    wanted = t.exits(0, 'run', model, *RUN).json()['tokens']
    t.equal(run_kept(t, model).json()['tokens'], wanted)
    t.equal(len(kept_files(t)), 2)


@test
def weights_that_are_nan_are_refused_with_and_without_kept_panels(t):
    model = make_model(t, 'tied')
    list_ = t.exits(0, 'inspect', model, '--json').json()['tensor_list']
    with open(model, 'r+b') as f:
        f.seek(next(x['offset'] for x in list_ if x['name'] == 'blk.0.ffn_down.weight'))
        f.write(b'\x00\x7e')  # d of a block
    for options in ([], ['--keep-panels']):
        r = t.quoin('run', model, *RUN, *options, env={'XDG_CACHE_HOME': t.path('cache')})
        t.equal(r.status, 1, r.describe())
        t.has(r.err, 'weight-finite')
    t.equal(kept_files(t), [])


@test
def where_nothing_can_be_kept_the_model_runs_all_the_same(t):
    model = make_model(t, 'tied')
    wanted = t.exits(0, 'run', model, *RUN).json()['tokens']
    with open(t.path('file'), 'w') as f:
        f.write('no folder')
    t.equal(run_kept(t, model, cache='file').json()['tokens'], wanted)
    r = t.quoin('run', model, *RUN, '--keep-panels')
    t.equal((r.status, r.json()['tokens']), (0, wanted))


@test
def other_backends_run_from_kept_panels_too(t):
    model = make_model(t, 'tied')
    wanted = t.exits(0, 'run', model, *RUN, '--backend', 'reference').json()['tokens']
    t.equal(run_kept(t, model, '--backend', 'reference').json()['tokens'], wanted)
    t.equal(run_kept(t, model, '--backend', 'reference').json()['tokens'], wanted)


if __name__ == '__main__':
    main()
