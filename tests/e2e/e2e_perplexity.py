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
