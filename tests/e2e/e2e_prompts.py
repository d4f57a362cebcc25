#!/usr/bin/env python3
"""Difficult prompts and option values (family prompts of tests/cases) against the base model gok-01: byte-level BPE, 267 tokens, context 64."""
import atexit
import os
import re
import shutil
import tempfile

from models import make_cases, make_tiny
from program import *

SECONDS, MEMORY = 2.0, 64 << 20


def quoin_run(t, *args, **how):
    return t.quoin('run', model, '--backend', 'reference', *args, **how)


def decode(t, ids):
    """The bytes of tokens, as `tokenize --pieces` prints them."""
    out = b''
    for line in ids.splitlines():
        piece = line.split(b'\t', 1)[1]
        out += re.sub(rb'\\x([0-9a-f]{2})', lambda m: bytes([int(m.group(1), 16)]), piece)
    return out


def check_tokens(t, case):
    """Tokenizing is quick, and the ids spell the file byte for byte."""
    r = t.exits(0, 'tokenize', model, '--file', case['path'], '--pieces')
    t.true(r.cpu < SECONDS * SLOWNESS, f'{r.cpu:.2f} s of processor time')
    if not SANITIZER:
        t.true(r.peak < MEMORY + case['bytes'], f'{r.peak >> 20} MiB of memory')
    with open(case['path'], 'rb') as f:
        t.equal(decode(t, r.out), f.read(), 'the text that the tokens spell')


def check_short(t, case):
    """A prompt that fits: run and tokenize see the same ids, and none of the text is lost."""
    check_tokens(t, case)
    ids = t.exits(0, 'tokenize', model, '--file', case['path'], '--json').json()['tokens']
    r = quoin_run(t, '--prompt-file', case['path'], '-n', '2', '--json')
    t.equal(r.status, 0, 'exit status')
    t.equal(r.json()['prompt_tokens'], ids, 'ids of the prompt')


def check_too_long(t, case):
    """More tokens than the context has: both numbers and the option are named, and nothing is computed."""
    check_tokens(t, case)
    n = len(t.exits(0, 'tokenize', model, '--file', case['path'], '--json').json()['tokens'])
    r = quoin_run(t, '--prompt-file', case['path'], '-n', '2')
    t.equal(r.status, 1, 'exit status')
    t.has(r.err, f'{n} tokens', '64', '--ctx')
    t.equal(r.out, b'')
    t.true(r.cpu < SECONDS * SLOWNESS, f'{r.cpu:.2f} s of processor time')


def check_bad_utf8(t, case):
    for r in (t.quoin('tokenize', model, '--file', case['path']), quoin_run(t, '--prompt-file', case['path'], '-n', '1')):
        t.equal(r.status, 1, 'exit status')
        t.has(r.err, 'byte 3', '0xff', 'UTF-8')
        t.equal(r.out, b'')


def check_empty(t, case):
    r = quoin_run(t, '--prompt-file', case['path'], '-n', '1')
    t.equal(r.status, 1, 'exit status')
    t.has(r.err, 'prompt is empty', 'BOS')
    t.equal(t.exits(0, 'tokenize', model, '--file', case['path'], '--json').json(), {'tokens': []})


CHECKS = {'tok-07': check_short, 'tok-08': check_short, 'tok-11': check_short, 'tok-10': check_bad_utf8, 'tok-13': check_empty}


# Options of args-01-table: what a refusal must say, and what an accepted value must do.
REFUSALS = {
    '--temp nan': ['--temp', 'nan'], '--temp -1': ['--temp', '-1', '0 to'], '--temp 0,7': ['--temp', '0,7', 'point'],
    '--top-k -1': ['--top-k', '-1'], '--top-p 1.5': ['--top-p', '1.5', '0 to 1'], '--seed -1': ['--seed', '-1'],
    '--repeat-penalty 0': ['--repeat-penalty', '0.001'], '--ctx 0': ['--ctx', 'from 1'], '--ctx 4294967296': ['--ctx', '4294967296'],
    '--threads 100000': ['--threads', '100000', '256'], '--logit-bias 999999:5': ['--logit-bias', '999999', '267 tokens'],
}


# 'or automatic, by rule', says the table; the rule is in the help text.
BY_RULE = {'--threads 0': 'accept'}


def tokens(t, *args):
    r = quoin_run(t, '--prompt', 'hello world', '-n', '6', '--json', *args)
    t.equal(r.status, 0, 'exit status')
    return r.json()['tokens']


def check_option(t, option, expect):
    words = option.split()
    if expect == 'reject':
        r = quoin_run(t, '--prompt', 'hello world', '-n', '6', *words)
        t.true(r.status in (1, 2), f'exit status {r.status}, wanted 1 or 2')
        t.has(r.err, 'error: ', *REFUSALS[option])
        t.equal(r.out, b'')
        return
    greedy = tokens(t)
    if option == '-n 0':
        r = quoin_run(t, '--prompt', 'hello world', *words)
        t.equal((r.status, r.out), (0, b''))
    elif option == '--seed 42':
        t.equal(tokens(t, *words, '--temp', '1'), tokens(t, *words, '--temp', '1'), 'the same seed twice')
    elif option == '--top-p 0':
        t.equal(tokens(t, *words, '--temp', '5', '--seed', '1'), greedy, 'only the best token is left')
    elif option == '--top-k 0':
        t.equal(tokens(t, *words, '--temp', '1', '--seed', '7'), tokens(t, '--temp', '1', '--seed', '7'), 'no limit is the default')
    elif option == '--temp 1e-30':
        t.equal(tokens(t, *words, '--seed', '1'), greedy, 'a temperature near 0 is greedy')
    else:
        for threads in (1, 2, 3):
            t.equal(tokens(t, *(words if words[0] != '--threads' else []), '--threads', threads), greedy, f'{threads} threads')
        t.equal(tokens(t, *words), greedy)


@test
def a_seed_is_chosen_and_printed_when_none_is_given(t):
    r = quoin_run(t, '--prompt', 'hello world', '-n', '6', '--temp', '1.5', '--json')
    seed = re.search(rb'seed (\d+)', r.err)
    t.true(seed, 'the seed is printed')
    t.equal(r.json()['tokens'], tokens(t, '--temp', '1.5', '--seed', seed.group(1).decode()), 'the printed seed gives the same text')


@test
def time_to_tokenize_grows_linearly(t):
    times = []
    for n in (100_000, 400_000):
        with open(t.path('text'), 'wb') as f:
            f.write(b'A' * n)
        times.append(min(t.exits(0, 'tokenize', model, '--file', t.path('text'), '-q', '--json').cpu for _ in range(3)))
    t.true(times[1] < 8 * times[0] + 0.2 * SLOWNESS, f'{times[0]:.3f} s for 100000 letters, {times[1]:.3f} s for 400000')


@test
def hundred_thousand_letters_or_newlines_pass_every_vocabulary_of_the_corpus(t):
    root = corpus('data/tokenizers')
    names = [n for n in sorted(os.listdir(root)) if n.endswith('.gguf')]
    refused = {}
    for name in names:
        for text in (b'A' * 100_000, b'\n' * 100_000, b' ' * 100_000, b'1' * 100_000, 'é'.encode() * 50_000):
            with open(t.path('text'), 'wb') as f:
                f.write(text)
            r = t.quoin('tokenize', os.path.join(root, name), '--file', t.path('text'), '--json')
            if r.status != 0:
                refused[name] = r.err.decode()
                break
            t.true(r.cpu < 3 * SLOWNESS, f'{name}: {r.cpu:.2f} s of processor time for {text[:2]!r}')
    for name, reason in refused.items():
        t.has(reason, name, ('tokenizer.ggml.pre', 'tokenizer.ggml.model', 'not supported', 'not known'))
    t.true(len(names) - len(refused) >= 8, f'only {len(names) - len(refused)} vocabularies can be used: {refused}')


@test
def help_says_what_zero_threads_mean(t):
    t.has(t.exits(0, 'run', '--help').out, '--threads', '0 = as many as may be used')


@test
def a_prompt_comes_from_standard_input(t):
    r = quoin_run(t, '--prompt-file', '-', '-n', '1', '--json', stdin=b'hello world\n')
    t.equal(r.json()['prompt_tokens'], [259, 264, 10])


@test
def exactly_one_prompt_is_wanted(t):
    r = quoin_run(t, '--prompt', 'a', '--prompt-tokens', '1')
    t.equal(r.status, 2)
    t.has(r.err, '--prompt', '--prompt-file', '--prompt-tokens', '2 were given')
    t.equal(quoin_run(t).status, 2)


@test
def token_ids_outside_the_vocabulary_are_refused(t):
    r = quoin_run(t, '--prompt-tokens', '1,267', '-n', '1')
    t.equal(r.status, 1)
    t.has(r.err, '267')
    for bad in ('1,', ',1', '1 2', 'x', '4294967295', '-1'):
        r = quoin_run(t, f'--prompt-tokens={bad}', '-n', '1')
        t.true(r.status in (1, 2), f'{bad}: exit status {r.status}')
        t.has(r.err, 'error: ')


folder = tempfile.mkdtemp(prefix='quoin-prompts-')
atexit.register(shutil.rmtree, folder, ignore_errors=True)
model = make_tiny(os.path.join(folder, 'gok-01.gguf'))
for case in make_cases('prompts', folder):
    if case['id'] == 'args-01-table':
        with open(case['path'], encoding='utf-8') as f:
            for line in f.read().splitlines():
                option, expect, why = line.split('\t')
                expect = BY_RULE.get(option, expect)
                name = re.sub(r'\W+', '_', option.replace('-1', 'minus_1').replace('.', '_point_')).strip('_')
                add_test(f'option_{name}_is_{expect}ed', lambda t, o=option, e=expect: check_option(t, o, e))
    else:
        check = next((c for key, c in CHECKS.items() if case['id'].startswith(key)), check_too_long)
        add_test(re.sub(r'\W+', '_', case['id']) + '_behaves', lambda t, c=case, f=check: f(t, c))

if __name__ == '__main__':
    main()
