#!/usr/bin/env python3
"""A real model (stories260k of the corpus) through the program on the plugin `vulkan` with Mesa's software driver: it gives the ids that
an independent implementation gave, and those of the reference backend wherever the choice is random.
"""
import json
import os

import adapters
from models import make_tiny
from program import *

PLUGIN = os.environ.get('VULKAN_PLUGIN', '')
SOFTWARE = 'vulkan:software'
ONCE = '1,403,407,261,378'


def model(kind):
    return corpus(f'data/stories260k/stories260k-{kind}.gguf')


def run(t, kind, backend, *args):
    r = t.quoin('run', model(kind), '--plugin', PLUGIN, '--backend', backend, '--numeric', 'f32acc', '--ctx', 256, '--deadline', 0, '--json', *args)
    if r.status == 3 and ('UNAVAILABLE' in r.err or 'no device' in r.err):
        skip('no Vulkan driver')
    t.equal(r.status, 0, f'exit status of {backend}: {r.err}')
    return r.json()


def check_golden(t, kind, name, n, *args, backend=SOFTWARE):
    with open(corpus('data/stories260k/golden.json'), encoding='utf-8') as f:
        wanted = json.load(f)[f'greedy-{kind}-{name}']
    got = run(t, kind, backend, '--prompt-tokens', ','.join(map(str, wanted['prompt_ids'])), '-n', n, *args)
    t.equal(got['tokens'], wanted['ids'][:n], f'{kind} {name}')


@test
def greedy_ids_of_float_weights_are_the_golden_ones(t):
    check_golden(t, 'f32', 'once', 48)


@test
def greedy_ids_of_f16_weights_are_the_golden_ones(t):
    check_golden(t, 'f16', 'lily', 48)


@test
def greedy_ids_of_quantised_weights_are_the_golden_ones(t):
    check_golden(t, 'q8_0', 'lily', 48)


@test
def copied_weights_give_the_same_ids(t):
    check_golden(t, 'f32', 'once', 16, backend=f'{SOFTWARE},import=off')


@test
def a_prompt_in_chunks_gives_the_same_ids(t):
    check_golden(t, 'f32', 'lily', 16, '--chunk', 2)


@test
def candidates_from_the_device_are_drawn_as_the_host_draws_them(t):
    args = ('--prompt-tokens', ONCE, '-n', 12, '--temp', 0.9, '--top-k', 8, '--seed', 7)
    t.equal(run(t, 'f32', SOFTWARE, *args)['tokens'], run(t, 'f32', 'reference', *args)['tokens'], 'top-k 8')


@test
def a_switch_that_is_neither_on_nor_off_is_refused_with_its_key(t):
    r = t.quoin('run', model('f32'), '--plugin', PLUGIN, '--backend', f'{SOFTWARE},import=perhaps', '--prompt-tokens', ONCE, '-n', 1)
    t.true(r.status != 0, 'exit status')
    t.has(r.err, 'import')


@test
def without_a_driver_the_backend_is_refused_and_says_why(t):
    r = t.quoin('run', model('f32'), '--plugin', PLUGIN, '--backend', 'vulkan', '--prompt-tokens', ONCE, '-n', 1,
                env=clean_environment(VK_ICD_FILENAMES='/nowhere/icd.json', VK_DRIVER_FILES='/nowhere/icd.json'))
    t.equal(r.status, 3, 'exit status')
    t.has(r.err, 'vulkan')


@test
def a_model_changed_by_an_adapter_gives_the_ids_of_the_reference(t):
    made, adapter = make_tiny(t.path('m.gguf')), adapters.write_gguf(t.path('a.gguf'), adapters.pairs(adapters.tiny_places()))
    args = ('--numeric', 'f32acc', '-p', 'hello world', '-n', 12, '--json')
    r = t.quoin('run', made, '--plugin', PLUGIN, '--backend', SOFTWARE, *args, '--adapter', adapter)
    if r.status == 3:
        skip('no Vulkan driver')
    t.equal(r.json()['tokens'], t.exits(0, 'run', made, '--backend', 'reference', *args, '--adapter', adapter).json()['tokens'], 'ids')
    t.true(r.json()['tokens'] != t.exits(0, 'run', made, '--backend', 'reference', *args).json()['tokens'], 'the adapter changes nothing')


if __name__ == '__main__':
    main()
