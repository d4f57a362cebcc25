#!/usr/bin/env python3
"""What is left in memory when the program ends: nothing of a prompt, an answer or their token ids, wherever they went on their way.

find_at_exit.c looks through everything that the process could write, freed blocks and dead stack with it. Words and ids are longer than a
vector register, whose content may stand on the stack of whoever saved it.
"""
import os
import pty
import struct

from models import make_tiny
from program import *

WORDS = 'Zqx jvk wpz 7731, and nobody shall learn by any means what was meant by this'


def look(t, secret, status, *args, stdin=b''):
    """The result of a run after which `secret` stands nowhere in its memory."""
    if SANITIZER:
        raise Skipped('a sanitizer keeps freed memory as it was')
    report = t.path('found.txt')
    r = t.quoin(*args, stdin=stdin, env={'LD_PRELOAD': os.path.join(BINARY, 'tests', 'find_at_exit.so'), 'FIND_AT_EXIT': secret.hex(),
                                         'FIND_AT_EXIT_REPORT': report})
    t.equal(r.status, status, r.describe())
    with open(report, encoding='utf-8', errors='replace') as f:
        t.equal(f.read(), '', f'what stands in memory behind {" ".join(map(str, args[:2]))}')
    os.unlink(report)
    return r


def write(t, name, text):
    with open(t.path(name), 'w', encoding='utf-8') as f:
        f.write(text)


def run(t, secret, *args, status=0, stdin=b''):
    return look(t, secret, status, 'run', make_tiny(t.path('m.gguf')), '-b', 'reference', '-n', 40, '--deadline', 0, *args, stdin=stdin)


def chat(t, secret, text, *args):
    return look(t, secret, 0, 'chat', make_tiny(t.path('m.gguf')), '-b', 'reference', '-n', 6, '--ctx', 512, '--template', 'chatml', *args,
                stdin=text.encode())


def ids_of(t, text):
    said = t.quoin('tokenize', make_tiny(t.path('m.gguf')), '--text', text, '--json').json()
    return struct.pack('<20I', *said['tokens'][-20:] if isinstance(said['tokens'][0], int) else [one['id'] for one in said['tokens'][-20:]])


@test
def what_is_left_is_found_where_it_is_left(t):
    """The test of the test: arguments that are no prompt stay where they were."""
    report = t.path('found.txt')
    t.quoin('inspect', WORDS, env={'LD_PRELOAD': os.path.join(BINARY, 'tests', 'find_at_exit.so'), 'FIND_AT_EXIT': WORDS.encode().hex(),
                                   'FIND_AT_EXIT_REPORT': report})
    with open(report, encoding='utf-8', errors='replace') as f:
        t.has(f.read(), '[stack]')


@test
def a_run_leaves_no_prompt(t):
    write(t, 'prompt.txt', WORDS)
    write(t, 'g.gbnf', 'root ::= [a-z ]+\n')
    for args in (('-p', WORDS), ('-p', WORDS, '--json'), ('-f', t.path('prompt.txt')), ('-p', 'x', '--chat', '--template', 'chatml', '--system', WORDS,
                 '--ctx', 512), ('-p', WORDS, '--prove', t.path('log'), '--unsigned', '--store-prompt'), ('-p', WORDS, '--drafts', 4)):
        run(t, WORDS.encode(), *args, '--ctx', 512)
    run(t, WORDS.encode(), '-f', '-', '--ctx', 512, stdin=WORDS.encode())
    run(t, WORDS.encode(), '-p', WORDS, '--json', '--grammar', t.path('g.gbnf'), '--ctx', 512)
    run(t, ids_of(t, WORDS), '-p', WORDS, '--json', '--ctx', 512)


@test
def a_run_leaves_no_answer(t):
    answer = t.quoin('run', make_tiny(t.path('m.gguf')), '-b', 'reference', '-n', 40, '-p', 'hello world').out[:80]
    t.equal(len(answer), 80)
    run(t, answer, '-p', 'hello world')
    run(t, answer, '-p', 'hello world', '--json')


@test
def a_conversation_leaves_nothing(t):
    lines = f'{WORDS}\n{WORDS} {WORDS} {WORDS}\n/clear\n{WORDS}\n'
    chat(t, WORDS.encode(), lines)
    chat(t, WORDS.encode(), lines, '--json', '--system', WORDS)
    chat(t, ids_of(t, WORDS), lines)


@test
def a_measured_text_leaves_nothing(t):
    write(t, 'text.txt', WORDS * 30)
    for secret in (WORDS.encode(), ids_of(t, WORDS)):
        look(t, secret, 0, 'perplexity', make_tiny(t.path('m.gguf')), '-b', 'reference', '-f', t.path('text.txt'), '--ctx', 64)


@test
def a_conversation_at_a_terminal_leaves_no_history(t):
    """Bytes only: what the line editor keeps in wide characters for itself is not ours to overwrite."""
    if SANITIZER:
        raise Skipped('a sanitizer keeps freed memory as it was')
    report, model = t.path('found.txt'), make_tiny(t.path('m.gguf'))
    env = clean_environment(LD_PRELOAD=os.path.join(BINARY, 'tests', 'find_at_exit.so'), FIND_AT_EXIT=WORDS.encode().hex(), FIND_AT_EXIT_REPORT=report,
                            TERM='dumb')
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, 'chat', model, '-b', 'reference', '-n', '6', '--ctx', '512', '--template', 'chatml'], env)
    for line in (WORDS, WORDS + '!', '/quit'):
        os.write(terminal, line.encode() + b'\n')
    said = b''
    try:
        while piece := os.read(terminal, 4096):
            said += piece
    except OSError:
        pass  # the other end was closed
    os.waitpid(pid, 0)
    os.close(terminal)
    with open(report, encoding='utf-8', errors='replace') as f:
        t.equal(f.read(), '', said.decode('utf-8', 'replace'))


if __name__ == '__main__':
    main()
