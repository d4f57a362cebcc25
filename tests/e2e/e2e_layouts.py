#!/usr/bin/env python3
"""convert --layout auto: what it measures, says and chooses, and that the file is the one of the layout that it names."""
import filecmp
import os
import subprocess
import sys

from decoder64 import Q8_0, Spec, make_weights, write_gguf
from program import *

SPEC = {'n_embd': 32, 'n_ff': 64}


def make_model(t):
    spec = Spec('llama', matrix_type=Q8_0, **SPEC)
    write_gguf(t.path('model.gguf'), spec, make_weights(spec, seed=5))
    return t.path('model.gguf')


def make_q4_k(t):
    script = os.path.join(SOURCE, 'tests', 'bench', 'random_model.py')
    path = t.path('q4_k.gguf')
    subprocess.run([sys.executable, script, path, '--shape', 'tiny', '--format', 'q4_k', '--context', '64'], check=True, stdout=subprocess.DEVNULL)
    return path


def convert(t, source, name, *options):
    return t.exits(0, 'convert', source, '-o', t.path(name), '--json', *options).json()['layouts']


def check_choice(t, source, layouts, *form):
    """The file of the layout that was chosen, made by its name, is the same file."""
    chosen = layouts['options'][layouts['chosen']]
    t.true(chosen['allowed'] and chosen['measured'], f'{chosen} was chosen')
    options = ['--layout', chosen['layout'], *(form or ['--weights', chosen['weights']])]
    t.equal(convert(t, source, 'named.p64', *options), None)
    t.true(filecmp.cmp(t.path('auto.p64'), t.path('named.p64'), shallow=False), f'{options} makes another file')
    t.equal(os.path.getsize(t.path('auto.p64')), chosen['bytes'])
    t.true(layouts['reason'].startswith(chosen['layout']), layouts['reason'])
    return chosen


def check_backend(t, backend):
    model = make_model(t)
    layouts = convert(t, model, 'auto.p64', '--layout', 'auto', '--backend', backend)
    check_choice(t, model, layouts)
    t.equal(layouts['backend'], backend)
    t.equal([(o['layout'], o['weights']) for o in layouts['options']], [('packed', 'keep'), ('panel', 'keep')])
    t.equal(sorted(c['width'] for c in layouts['classes']), [32, 64])
    t.true(all(c['options'][0]['bytes_per_s'] > 0 for c in layouts['classes']), 'a class without a rate')
    t.equal(layouts['options'][1]['measured'], backend == 'cpu')  # the reference does not know panels


for name in ('cpu', 'reference'):
    add_test(f'the_file_is_that_of_the_layout_that_was_best_on_{name}', lambda t, n=name: check_backend(t, n))


@test
def a_container_gets_another_layout_by_measuring_too(t):
    packed = t.path('packed.p64')
    t.exits(0, 'convert', make_model(t), '-o', packed)
    check_choice(t, packed, convert(t, packed, 'auto.p64', '--layout', 'auto', '--backend', 'cpu'))


@test
def q4_k_soa_is_measured_and_told_but_not_taken_unless_allowed(t):
    model = make_q4_k(t)
    kept = convert(t, model, 'auto.p64', '--layout', 'auto', '--backend', 'cpu')
    t.equal([o['allowed'] for o in kept['options']], [True, True, False, False])
    t.true(all(o['measured'] for o in kept['options']), kept['options'])
    t.has(kept['q4_k_soa'], 'q4_k_soa beside Q4_K: +')
    t.equal(check_choice(t, model, kept)['weights'], 'keep')


@test
def with_weights_auto_the_file_is_still_that_of_the_named_options(t):
    model = make_q4_k(t)
    layouts = convert(t, model, 'auto.p64', '--layout', 'auto', '--weights', 'auto', '--backend', 'cpu')
    t.true(all(o['allowed'] for o in layouts['options']), layouts['options'])
    check_choice(t, model, layouts)


@test
def weights_that_were_asked_for_are_kept_to(t):
    model = make_q4_k(t)
    layouts = convert(t, model, 'auto.p64', '--layout', 'auto', '--weights', 'q4_k_soa', '--backend', 'cpu')
    t.equal([(o['weights'], o['allowed']) for o in layouts['options']],
            [('q4_k_soa', True), ('q4_k_soa', True), ('keep', False), ('keep', False)])
    check_choice(t, model, layouts, '--weights', 'q4_k_soa')


@test
def the_table_marks_the_choice_and_gives_a_reason(t):
    r = t.exits(0, 'convert', make_model(t), '-o', t.path('auto.p64'), '--layout', 'auto', '--backend', 'cpu', '-t', '1')
    lines = r.out.decode().splitlines()
    t.true(lines[0].startswith('layouts on cpu, 1 threads'), lines[0])
    t.equal(len([line for line in lines if line.startswith('* ')]), 1)
    t.true(any(line.startswith('layout pa') and ': ' in line for line in lines), lines)


@test
def without_a_backend_the_layout_is_packed_and_that_is_told(t):
    model = make_model(t)
    r = t.exits(0, 'convert', model, '-o', t.path('auto.p64'), '--layout', 'auto', '--json', '--backend', 'gpu;nosuch')
    t.has(r.err, 'nothing can be measured without a backend')
    t.equal(r.json()['layouts'], None)
    t.equal(convert(t, model, 'packed.p64'), None)
    t.true(filecmp.cmp(t.path('auto.p64'), t.path('packed.p64'), shallow=False), 'it is not packed')


@test
def a_backend_that_was_named_and_cannot_be_used_is_an_error(t):
    t.exits(3, 'convert', make_model(t), '-o', t.path('auto.p64'), '--layout', 'auto', '--backend', 'nosuch')
    t.true(not os.path.exists(t.path('auto.p64')), 'something was written')


@test
def an_output_that_exists_is_refused_before_anything_is_measured(t):
    model = make_model(t)
    with open(t.path('auto.p64'), 'wb') as f:
        f.write(b'mine')
    r = t.exits(6, 'convert', model, '-o', t.path('auto.p64'), '--layout', 'auto', '--no-companion', '--backend', 'cpu')
    t.has(r.err, 'auto.p64')
    with open(t.path('auto.p64'), 'rb') as f:
        t.equal(f.read(), b'mine')


@test
def weights_auto_needs_layout_auto(t):
    r = t.exits(2, 'convert', make_model(t), '-o', t.path('out.p64'), '--weights', 'auto')
    t.has(r.err, '--layout auto')


if __name__ == '__main__':
    main()
