#!/usr/bin/env python3
"""quoin perplexity on a real model: what it prints, and what it refuses."""
from program import *

TEXT = ('Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big dog. '
        'The dog was very happy. Lily and the dog played all day. ') * 8


def model():
    return corpus('data/stories260k/stories260k-f32.gguf')


def write(t, name, text):
    with open(t.path(name), 'w', encoding='utf-8') as f:
        f.write(text)
    return t.path(name)


def score(t, *args):
    return t.exits(0, 'perplexity', model(), *args, '--json').json()


@test
def a_story_is_foreseen_better_than_its_words_in_another_order(t):
    words = TEXT.split()
    story = score(t, '-f', write(t, 'story', TEXT), '--ctx', 64)
    mixed = score(t, '-f', write(t, 'mixed', ' '.join(words[i * 7919 % len(words)] for i in range(len(words)))), '--ctx', 64)
    t.true(1 < story['perplexity'] < mixed['perplexity'] / 2, f'{story["perplexity"]} against {mixed["perplexity"]}')
    t.equal(story['window'], 64)
    t.equal(story['scored'], story['windows'] * 31)
    t.true(story['tokens'] >= story['windows'] * 64, 'whole windows')


@test
def several_files_are_one_text(t):
    one = score(t, '-f', write(t, 'all', TEXT), '--ctx', 64)
    two = score(t, '-f', write(t, 'a', TEXT[:700]), '-f', write(t, 'b', TEXT[700:]), '--ctx', 64)
    t.equal(two['perplexity'], one['perplexity'])


@test
def chunks_and_threads_do_not_change_it(t):
    path = write(t, 'story', TEXT)
    seen = {score(t, '-f', path, '--ctx', 64, '--threads', threads, '--numeric', 'f32acc')['perplexity'] for threads in (1, 2)}
    t.equal(len(seen), 1, 'different numbers')


@test
def a_cache_of_8_bits_changes_little_and_no_more_on_cpu_than_on_reference(t):
    tiny = os.path.join(SOURCE, 'examples/models/quoin-tiny.gguf') # its heads are whole blocks
    path = write(t, 'story', TEXT)
    seen = {}
    for kv, numeric, chunk, backend in (('f32', 'f32acc', 64, 'cpu'), ('q8', 'f32acc', 64, 'cpu'), ('q8', 'f32acc', 3, 'cpu'),
                                        ('q8', 'act8', 3, 'cpu'), ('q8', 'auto', 64, 'reference')):
        seen[kv, numeric, chunk, backend] = t.exits(0, 'perplexity', tiny, '-f', path, '--ctx', 64, '--windows', 2, '--kv', kv, '--numeric', numeric,
                                                    '--chunk', chunk, '--backend', backend, '--json').json()['perplexity']
    exact, rounded, want = seen['f32', 'f32acc', 64, 'cpu'], seen['q8', 'f32acc', 64, 'cpu'], seen['q8', 'auto', 64, 'reference']
    t.true(rounded != exact, 'the cache was not rounded')
    for how, value in seen.items():
        t.true(abs(value / want - 1) < 0.02, f'{how}: {value} against {want}')


@test
def a_cache_of_8_bits_needs_heads_of_whole_blocks_on_cpu(t):
    r = t.quoin('perplexity', model(), '-f', write(t, 'story', TEXT), '--ctx', 64, '--kv', 'q8', '--backend', 'cpu')
    t.true(r.status != 0, 'heads of 8 elements were taken')
    t.has(r.err, 'only when a head is a multiple of 32')


@test
def the_line_says_what_was_scored(t):
    r = t.exits(0, 'perplexity', model(), '-f', write(t, 'story', TEXT), '--ctx', 64, '--windows', 2)
    t.has(r.out.decode(), 'perplexity ', '62 tokens scored in 2 windows of 64')


@test
def what_is_missing_or_too_short_is_told(t):
    t.has(t.exits(2, 'perplexity', model()).err, 'at least one --file')
    t.has(t.exits(1, 'perplexity', model(), '-f', write(t, 'short', 'Once upon a time'), '--ctx', 64).err, 'and a window 64')
    t.has(t.exits(6, 'perplexity', model(), '-f', t.path('none'), '--ctx', 64).err, 'none')


if __name__ == '__main__':
    main()
