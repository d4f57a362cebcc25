#!/usr/bin/env python3
"""Small random models of every architecture, against a decoder in 64-bit floats that shares nothing with the program.

Each model runs on the reference and on the cpu backend with exact products and a cache of 32-bit floats: a prompt that is longer
than the window, then tokens of the model's own choice, so that windows wrap around. At every step the 64 greatest log-probabilities
must be those of the 64-bit decoder. A row of the table takes one feature away from, or adds one to, an ordinary model, and
`the_measure_sees_each_feature` shows that the comparison would notice its absence.
"""
import random

from decoder64 import Spec, VOCABULARY, log_softmax, logits_of, make_weights, write_gguf
from model_zoo import LONG, MODELS, YARN
from program import *

N_PROMPT, N_GENERATED, N_TOP = 21, 12, 64
TOLERANCE = 1e-4   # of a log-probability; honest rounding is a tenth of it

# What each feature's absence would be, for the test of the measure itself: architecture, model, the same without it.
ABSENCES = [
    ('llama', {'base': 10000.0}, {'base': 11000.0}), ('llama', {'window': 6}, {'window': 7}),
    ('llama', {'attn_softcap': 1.5}, {'attn_softcap': None}), ('llama', {'head_dim': 16, **YARN}, {'ext_factor': 0.9}),
    ('llama', {'head_dim': 16, **YARN}, {'attn_factor': 1.001}),
    ('llama', {'has_factors': True}, {'has_factors': False}), ('llama', {'epsilon': 1e-5}, {'epsilon': 2e-4}),
    ('phi3', {'n_rot': 4, **LONG}, {'use_long': True}),
    ('gemma3', {'n_layer': 7, 'window': 5, 'base': 1e6}, {'pattern': 5}),
]


def prompt_of(seed):
    rng = random.Random(seed)
    return [rng.randrange(200) for _ in range(N_PROMPT)]


def greatest_difference(row, reported):
    """Between the reported log-probabilities and a row of logits; the reported ones must be the greatest, best first."""
    wanted = log_softmax(row)
    worst = max(abs(wanted[item['id']] - item['logprob']) for item in reported)
    least = min(item['logprob'] for item in reported)
    left_out = set(range(len(row))) - {item['id'] for item in reported}
    return max(worst, max(wanted[i] for i in left_out) - least)


def make_model(t, number):
    """Writes model.gguf; returns its spec and weights."""
    _, arch, changes, _ = MODELS[number]
    spec = Spec(arch, **changes)
    weights = make_weights(spec, seed=number + 1)
    write_gguf(t.path('model.gguf'), spec, weights)
    return spec, weights


def check_run(t, number, path, spec, weights, backend, *more):
    options = MODELS[number][3]
    prompt = prompt_of(number)
    r = t.exits(0, 'run', path, '--prompt-tokens', ','.join(map(str, prompt)), '-n', N_GENERATED, '--temp', 0,
                '--numeric', 'f32acc', '--kv', 'f32', '--logprobs', N_TOP, '--logit-bias', f'{len(VOCABULARY) - 2}:-100',
                '--backend', backend, '--json', *options, *more).json()
    tokens, steps = r['tokens'], r['logprobs']
    t.equal(len(tokens), N_GENERATED, 'tokens')
    rows = logits_of(spec, weights, prompt + tokens[:-1])[N_PROMPT - 1:]
    worst = max(greatest_difference(row, step) for row, step in zip(rows, steps))
    print(f'greatest difference of a log-probability: {worst:.2g}')
    t.true(worst < TOLERANCE, f'log-probabilities are {worst:.3g} off')


def check_model(t, number, backend):
    spec, weights = make_model(t, number)
    check_run(t, number, t.path('model.gguf'), spec, weights, backend)


def check_isa(t, number, isa):
    need_cpu()
    spec, weights = make_model(t, number)
    r = t.quoin('run', t.path('model.gguf'), '--prompt-tokens', '1', '-n', 0, '--backend', f'cpu/{isa}')
    if r.status == 3 and isa != 'c':
        skip(f'this processor has no {isa}')
    check_run(t, number, t.path('model.gguf'), spec, weights, f'cpu/{isa}')


def check_container(t, number, *options):
    """A container alone: convert says whether it runs, and it does, with the same numbers, exactly then."""
    spec, weights = make_model(t, number)
    said = t.exits(0, 'convert', t.path('model.gguf'), '-o', t.path('model.p64'), '--no-companion', '--json', *options).json()
    if said['runs_alone']:
        check_run(t, number, t.path('model.p64'), spec, weights, 'reference', '--assume', 'llama')
        return
    blocking = [fact['key'] for fact in said['lost'] if fact['needed_to_run']]
    t.true(blocking, 'convert says that it cannot run alone, but not why')
    if set(weights) & set(blocking):     # tensors; keys that are lost leave no trace to refuse
        t.exits(1, 'run', t.path('model.p64'), '--assume', 'llama', '--prompt-tokens', '1', '-n', 1)
        t.has(t.last.err, 'tensor', 'which a llama model does not have')


@test
def the_measure_sees_each_feature(t):
    for number, (arch, changes, absence) in enumerate(ABSENCES):
        spec, without = Spec(arch, **changes), Spec(arch, **{**changes, **absence})
        weights = make_weights(spec, seed=number + 50)
        ids = prompt_of(number)
        row, other = (log_softmax(logits_of(s, weights, ids)[-1]) for s in (spec, without))
        best = sorted(range(len(row)), key=lambda i: -row[i])[:N_TOP]
        t.true(max(abs(row[i] - other[i]) for i in best) > 2 * TOLERANCE, f'{arch} {changes} is as good as {absence}')


for at, (model_name, *_) in enumerate(MODELS):
    add_test(f'{model_name}_on_reference', lambda t, at=at: check_model(t, at, 'reference'))
    add_test(f'{model_name}_on_cpu', lambda t, at=at: (need_cpu(), check_model(t, at, 'cpu')))

    add_test(f'{model_name}_in_a_container', lambda t, at=at: check_container(t, at))
    if model_name.startswith('llama'):
        add_test(f'{model_name}_in_an_extended_container', lambda t, at=at: check_container(t, at, '--extended'))

# The plainest model of each architecture, with each set of instructions that the processor has.
for plain in ('llama_with_grouped_heads', 'qwen2_with_biases', 'qwen3_with_head_norms', 'gemma3_in_small_chunks',
              'phi3_with_fused_matrices_of_blocks'):
    at = next(number for number, row in enumerate(MODELS) if row[0] == plain)
    for isa in ('c', 'avx2', 'avx512'):
        add_test(f'{plain}_with_{isa}', lambda t, at=at, isa=isa: check_isa(t, at, isa))

if __name__ == '__main__':
    main()
