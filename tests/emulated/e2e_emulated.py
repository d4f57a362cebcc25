#!/usr/bin/env python3
"""A real model (stories260k of the corpus) through the program on the plugin `emulated`: a device with memory of its own gives the ids
that an independent implementation gave, and those of the reference backend wherever the choice is random.
"""
import json
import os

import adapters
from program import *

PLUGIN = os.environ.get('EMULATED_PLUGIN', '')
ONCE = '1,403,407,261,378'


def model(kind):
    return corpus(f'data/stories260k/stories260k-{kind}.gguf')


def run(t, kind, backend, *args):
    return t.exits(0, 'run', model(kind), '--plugin', PLUGIN, '--backend', backend, '--numeric', 'f32acc', '--ctx', 256, '--deadline', 0, '--json',
                   *args).json()


def check_golden(t, kind, name, n, *args, backend='emulated:software'):
    with open(corpus('data/stories260k/golden.json'), encoding='utf-8') as f:
        wanted = json.load(f)[f'greedy-{kind}-{name}']
    got = run(t, kind, backend, '--prompt-tokens', ','.join(map(str, wanted['prompt_ids'])), '-n', n, *args)
    t.equal(got['tokens'], wanted['ids'][:n], f'{kind} {name}')


@test
def greedy_ids_of_float_weights_are_the_golden_ones(t):
    check_golden(t, 'f32', 'once', 48)


@test
def greedy_ids_of_f16_weights_are_the_golden_ones(t):
    check_golden(t, 'f16', 'lily', 24)


@test
def greedy_ids_of_quantised_weights_are_the_golden_ones(t):
    check_golden(t, 'q8_0', 'lily', 24)


@test
def a_device_that_reads_the_host_s_pages_gives_the_same_ids(t):
    check_golden(t, 'f32', 'once', 16, backend='emulated:software,unified=1')


@test
def a_device_with_small_memories_and_bindings_gives_the_same_ids(t):
    check_golden(t, 'f32', 'once', 16, '--chunk', 32, backend='emulated:software,allocation=300000,binding=60000')


@test
def an_adapter_gives_the_ids_of_the_reference(t):
    where = adapters.places(5, 64, 32, 172)
    path = adapters.write_gguf(t.path('adapter.gguf'), adapters.pairs(where, rank=5, size=0.5), rank=5)
    args = ('--prompt-tokens', ONCE, '-n', 8)
    adapted = (*args, '--adapter', path)
    wanted = run(t, 'f32', 'reference', *adapted)['tokens']
    t.true(wanted != run(t, 'f32', 'reference', *args)['tokens'], 'the adapter changes nothing')
    t.equal(run(t, 'f32', 'emulated:software', *adapted)['tokens'], wanted, 'ids')


@test
def a_prompt_in_chunks_gives_the_same_ids(t):
    check_golden(t, 'f32', 'lily', 16, '--chunk', 2)


@test
def candidates_from_the_device_are_drawn_as_the_host_draws_them(t):
    for top_k in (1, 8, 40):
        args = ('--prompt-tokens', ONCE, '-n', 12, '--temp', 0.9, '--top-k', top_k, '--seed', 7)
        t.equal(run(t, 'f32', 'emulated:software', *args)['tokens'], run(t, 'f32', 'reference', *args)['tokens'], f'top-k {top_k}')


@test
def what_needs_all_logits_gets_them(t):
    args = ('--prompt-tokens', ONCE, '-n', 8, '--logprobs', 3)
    got, wanted = run(t, 'f32', 'emulated:software', *args), run(t, 'f32', 'reference', *args)
    t.equal(got['tokens'], wanted['tokens'], 'with --logprobs')
    args = ('--prompt-tokens', ONCE, '-n', 8, '--repeat-penalty', 1.3, '--logit-bias', '432:-inf')
    t.equal(run(t, 'f32', 'emulated:software', *args)['tokens'], run(t, 'f32', 'reference', *args)['tokens'], 'with penalty and bias')


@test
def layers_on_the_device_and_on_another_backend_give_the_same_ids(t):
    args = ('--prompt-tokens', ONCE, '-n', 12)
    wanted = run(t, 'f32', 'reference', *args)['tokens']
    t.equal(run(t, 'f32', 'reference', '--layers-on', 'emulated:software=2', *args)['tokens'], wanted, 'first layers on the device')
    t.equal(run(t, 'f32', 'emulated:software', '--layers-on', 'reference=3', *args)['tokens'], wanted, 'last layers on the device')


@test
def the_guard_around_every_verb_finds_nothing(t):
    r = t.exits(0, 'run', model('f32'), '--plugin', PLUGIN, '--backend', 'emulated:software', '--ctx', 64, '--prompt-tokens', ONCE, '-n', 4,
                env={'QUOIN_CHECK_CONTRACT': '1'})
    t.lacks(r.err, 'breaks the contract')


@test
def a_budget_of_device_memory_refuses_with_the_numbers(t):
    r = t.quoin('run', model('f32'), '--plugin', PLUGIN, '--backend', 'emulated:software,memory=100000', '--prompt-tokens', ONCE, '-n', 4)
    t.true(r.status != 0, 'exit status')
    t.has(r.err, 'budget of 100000')


if __name__ == '__main__':
    main()
