#!/usr/bin/env python3
"""The writer of random models: every format verifies and decodes, equal seeds give equal files, and a row that no block divides is refused."""
import hashlib
import subprocess

from program import *

FORMATS = ('f32', 'f16', 'bf16', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'q8_0', 'q4_k', 'q5_k', 'q6_k', 'q4_k_m')
SMALL = ('--layers', '2', '--hidden', '256', '--ffn', '256', '--heads', '4', '--kv-heads', '2', '--vocab', '300', '--context', '64')


def write(path, *options):
    return subprocess.run([sys.executable, '-B', source('tests/bench/random_model.py'), path, *options], capture_output=True)


def verifies_and_decodes(form, t):
    path = t.path('model.gguf')
    done = write(path, '--shape', 'tiny', '--format', form, *SMALL)
    t.equal(done.returncode, 0, done.stderr.decode())
    t.exits(0, 'verify', path)
    result = t.exits(0, 'run', path, '--prompt-tokens', '1,299,5,261', '-n', '3', '--temp', '0', '--json', '--logprobs', '2',
                     '--backend', 'reference').json()
    t.true(result['stop_reason'] in ('length', 'stop'), 'stop_reason')
    t.true(all(-20.0 < step[0]['logprob'] < 0.0 for step in result['logprobs']), 'log-probabilities of sound weights')


@test
def equal_seeds_give_equal_files_and_other_seeds_others(t):
    digests = []
    for seed in ('7', '7', '8'):
        t.equal(write(t.path('m'), '--shape', 'tiny', '--format', 'q8_0', '--seed', seed, *SMALL).returncode, 0)
        with open(t.path('m'), 'rb') as f:
            digests.append(hashlib.sha256(f.read()).hexdigest())
    t.true(digests[0] == digests[1] != digests[2], f'digests {digests}')


@test
def a_row_that_blocks_do_not_divide_is_refused_and_leaves_nothing(t):
    done = write(t.path('m'), '--shape', '135m', '--format', 'q4_k')
    t.true(done.returncode != 0, 'refused')
    t.has(done.stderr, 'token_embd.weight', '576', '256')
    t.equal(t.files(), [])


for name in FORMATS:
    add_test(f'a_random_{name}_model_verifies_and_decodes', lambda t, name=name: verifies_and_decodes(name, t))

if __name__ == '__main__':
    main()
