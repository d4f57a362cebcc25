"""quoin run --sentinel, --observe and --events, and quoin observe: rules, the other process, and what is told of the model's life."""
import json
import mmap
import os
import signal
import stat
import struct
import time

import adapters
from models import make_tiny
from program import *

MODEL = source('examples/models/quoin-tiny.gguf')
PROMPT = ('run', MODEL, '--backend', 'reference', '--prompt', 'once', '--quiet')


def rules(t, text):
    with open(t.path('rules.ini'), 'w', encoding='utf-8') as file:
        file.write(text)
    return t.path('rules.ini')


def generate(t, *more, n=12):
    r = t.exits(0, *PROMPT, '-n', n, '--json', *more)
    return r.json()


def wait_for(t, path):
    for _ in range(2000):
        if os.path.exists(path):
            return
        time.sleep(0.005)
    t.fail(f'{path} did not appear')


def start_slow(t, n=4000):
    """A run that goes on until it is ended, and can be observed."""
    child = t.start(*PROMPT, '-n', n, '--ctx', n + 16, '--deadline', 0, '--observe', t.path('watch'), '--json')
    wait_for(t, t.path('watch'))
    return child


# ---------------------------------------------------------------- rules
@test
def a_denied_token_never_comes_and_the_rest_is_the_same_each_time(t):
    plain = generate(t)
    denied = plain['tokens'][2]
    path = rules(t, f'[deny]\nids = {denied}\n')
    first, second = generate(t, '--sentinel', path), generate(t, '--sentinel', path)
    t.true(denied not in first['tokens'], first['tokens'])
    t.equal(first['tokens'][:2], plain['tokens'][:2])
    t.equal(first['tokens'], second['tokens'])
    t.true(first['sentinel']['fired']['deny'] > 0 and first['sentinel']['resampled'] > 0, first['sentinel'])
    t.equal(first['sentinel']['ended_by'], None)


@test
def a_rule_that_only_looks_changes_nothing(t):
    plain = generate(t)
    path = rules(t, '[margin]\nleast = 1000\n[entropy]\nmost = 0\n[repetition]\naction = allow\nn = 1\ntimes = 2\nwindow = 64\n'
                    '[non-finite]\n[compat-0x99]\naction = allow\n')
    r = generate(t, '--sentinel', path)
    t.equal(r['tokens'], plain['tokens'])
    t.equal(r['sentinel']['fired']['margin'], 12)
    t.equal(r['sentinel']['fired']['entropy'], 12)


@test
def an_abort_ends_the_run_with_the_reason_and_the_rule(t):
    plain = generate(t)
    path = rules(t, f'[deny]\naction = abort\nids = {plain["tokens"][3]}\n')
    r = t.exits(0, 'run', MODEL, '--backend', 'reference', '--prompt', 'once', '-n', 12, '--json', '--sentinel', path)
    out = r.json()
    at = plain['tokens'].index(plain['tokens'][3])
    t.equal(out['stop_reason'], 'judged')
    t.equal(out['tokens'], plain['tokens'][:at])
    t.equal((out['sentinel']['ended_by']['rule'], out['sentinel']['ended_by']['step']), ('deny', at))
    t.has(r.err, f'ended by rule deny at token {at}')


@test
def a_phrase_is_not_completed(t):
    text = generate(t, n=30)['text']
    phrase = text[4:9]
    path = rules(t, '[phrase]\nphrase = "' + ''.join(f'\\x{b:02x}' for b in phrase.encode()) + '"\n')
    r = generate(t, '--sentinel', path, n=30)
    t.true(phrase not in r['text'], (phrase, r['text']))
    t.true(r['sentinel']['fired']['phrase'] > 0, r['sentinel'])


@test
def tokens_that_are_run_ahead_are_judged_as_others_are(t):
    plain = generate(t, n=40)
    path = rules(t, f'[deny]\nids = {plain["tokens"][7]}\n[repetition]\nn = 2\ntimes = 3\nwindow = 32\n')
    alone, ahead = generate(t, '--sentinel', path, n=40), generate(t, '--sentinel', path, '--drafts', 4, n=40)
    t.equal(ahead['tokens'], alone['tokens'])
    t.equal(ahead['sentinel'], alone['sentinel'])


@test
def rules_that_cannot_be_are_refused_before_the_model_is_opened(t):
    for text, word in (('[deny]\nidz = 1\n', 'did you mean "ids"'), ('[dney]\nids = 1\n', 'did you mean "deny"'), ('', 'no rule'),
                       ('[phrase]\nphrase = "x\n', 'quotes')):
        r = t.exits(1, 'run', t.path('no such model'), '--prompt', 'x', '--sentinel', rules(t, text))
        t.has(r.err, word, 'rules.ini')
    r = t.exits(1, *PROMPT, '--sentinel', rules(t, '[deny]\nids = 99999999\n'))
    t.has(r.err, 'vocabulary', '99999999')
    t.exits(6, *PROMPT, '--sentinel', t.path('absent.ini'))


# ---------------------------------------------------------------- observers
@test
def an_observer_sees_each_token_and_the_end(t):
    child = t.start(*PROMPT, '-n', 60, '--ctx', 96, '--deadline', 0, '--observe', t.path('watch'), '--json')
    wait_for(t, t.path('watch'))
    watcher = t.exits(0, 'observe', t.path('watch'), '--json')
    run = t.finish(child)
    t.equal(run.status, 0, run.describe())
    lines = [json.loads(line) for line in watcher.out.splitlines()]
    tokens = [x['token'] for x in lines if 'token' in x]
    t.equal(lines[-1]['end'], run.json()['stop_reason'])
    t.equal(lines[-1]['step'], len(run.json()['tokens']))
    t.equal(tokens[:len(run.json()['tokens'])], run.json()['tokens'])
    t.true(all(x['logit'] >= x['runner_up'] and x['entropy'] >= 0 for x in lines[:-1]), lines[:3])
    t.true(not os.path.lexists(t.path('watch')), 'the link is still there')


@test
def an_observer_ends_a_run_and_is_named(t):
    child = start_slow(t)
    watcher = t.exits(0, 'observe', t.path('watch'), '--abort-on', 'step=5', '--reason', 'enough of this')
    run = t.finish(child)
    out = run.json()
    t.equal((run.status, out['stop_reason']), (0, 'judged'), run.describe())
    t.true(len(out['tokens']) < 4000, 'it ran to its end')
    by = out['sentinel']['ended_by']
    t.equal((by['who'], by['reason']), ('observer', 'enough of this'))
    t.has(watcher.out, 'end after', 'judged', 'abort,observer')


@test
def only_one_observer_reads_and_strangers_files_are_refused(t):
    child = start_slow(t)
    first = t.start('observe', t.path('watch'))
    first.stdout.read(1)  # it reads
    r = t.exits(1, 'observe', t.path('watch'), '--abort-on', 'step=0')
    t.has(r.err, 'another observer')
    first.send_signal(signal.SIGINT)
    t.equal(t.finish(first).status, 130)
    t.exits(0, 'observe', t.path('watch'), '--abort-on', 'step=0')
    t.finish(child)
    with open(t.path('other'), 'wb') as file:
        file.write(b'QNOBSERV' * 4096)
    t.has(t.exits(1, 'observe', t.path('other')).err, 'no memory')
    t.exits(6, 'observe', t.path('absent'))
    t.exits(2, 'observe')
    t.has(t.exits(2, 'observe', t.path('other'), '--abort-on', 'colour').err, '--abort-on colour')


@test
def a_killed_run_is_noticed_and_its_link_is_replaced(t):
    child = start_slow(t)
    watcher = t.start('observe', t.path('watch'))
    time.sleep(0.05)
    child.kill()
    child.communicate()
    r = t.finish(watcher)
    t.equal(r.status, 7, r.describe())
    t.has(r.err, 'killed')
    t.exits(0, *PROMPT, '-n', 2, '--observe', t.path('watch'))
    with open(t.path('watch'), 'w', encoding='ascii') as file:
        file.write('mine')
    t.has(t.exits(1, *PROMPT, '-n', 2, '--observe', t.path('watch')).err, 'there already')
    with open(t.path('watch'), encoding='ascii') as file:
        t.equal(file.read(), 'mine')


@test
def the_memory_is_private_and_laid_out_as_documented(t):
    child = start_slow(t)
    fd = os.open(t.path('watch'), os.O_RDWR)
    t.equal(stat.S_IMODE(os.fstat(fd).st_mode), 0o600)
    with mmap.mmap(fd, 0) as memory:
        magic, version, header, total, pid, record, capacity, at, message, messages, messages_at = struct.unpack_from('<8sIIQQIIQIIQ', memory)
        t.equal((magic, version, header, total, pid), (b'QNOBSERV', 1, 320, len(memory), child.pid))
        t.equal((record, capacity, at, message, messages, messages_at), (32, 1024, 320, 32, 16, 320 + 32 * 1024))
        while struct.unpack_from('<Q', memory, 128)[0] < 3:
            time.sleep(0.002)
        steps = [struct.unpack_from('<I', memory, at + 32 * i)[0] for i in range(3)]
        t.equal(steps, [0, 1, 2])
        # an observer that follows the document and nothing else: one message, then the head
        struct.pack_into('<III20s', memory, messages_at, 1, 0, 4242, b'by hand')
        struct.pack_into('<Q', memory, 200, 1)
    os.close(fd)
    out = t.finish(child).json()
    t.equal((out['sentinel']['ended_by']['pid'], out['sentinel']['ended_by']['reason']), (4242, 'by hand'))


@test
def an_observer_that_scribbles_ends_the_run_at_worst(t):
    for seed in range(2):
        child = t.start(*PROMPT, '-n', 60, '--ctx', 96, '--deadline', 0, '--observe', t.path('watch'), '--json')
        wait_for(t, t.path('watch'))
        fd = os.open(t.path('watch'), os.O_RDWR)
        with mmap.mmap(fd, 0) as memory:
            for turn in range(50):
                memory[:] = bytes([(seed * 53 + turn * 7) % 256]) * len(memory) if turn % 2 else os.urandom(len(memory))
        os.close(fd)
        r = t.finish(child)
        t.equal(r.status, 0, r.describe())
        t.true(r.json()['stop_reason'] in ('length', 'judged', 'stop'), r.json()['stop_reason'])


# ---------------------------------------------------------------- the model's life
def events_of(t, *more, status=0):
    r = t.exits(status, *PROMPT, '-n', 5, '--events', 'json', '--events-file', t.path('events'), *more)
    with open(t.path('events'), encoding='utf-8') as file:
        return r, [json.loads(line) for line in file]


@test
def events_tell_the_model_s_life_in_order(t):
    _, events = events_of(t)
    names = [e['event'] if e['event'] != 'state' else e['by'] for e in events]
    t.equal(names, ['begin', 'load', 'validated', 'ready', 'begin', 'prefill_begin', 'prefill_end', 'decode_begin', 'decode_end', 'end', 'evict',
                    'scrubbed'])
    t.equal([e['to'] for e in events if e['event'] == 'state'],
            ['mapped', 'streaming', 'active', 'active', 'active', 'scrubbing', 'discovered'])
    times = [e['time_ns'] for e in events]
    t.equal(times, sorted(times))
    t.equal((events[8]['tokens'], events[8]['stop_reason']), (5, 'length'))
    scrubbed = events[-1]['scrubbed']
    t.equal(scrubbed['is_partial'], False)
    t.true(all(scrubbed[k] > 0 for k in ('state', 'scratch', 'logits', 'tokens', 'text')), scrubbed)
    t.equal(scrubbed['total'], sum(scrubbed[k] for k in ('state', 'scratch', 'logits', 'tokens', 'text', 'rules', 'adapter')))
    t.equal(events[3]['bytes'], events[-2]['bytes'])


@test
def the_matrices_of_an_adapter_are_overwritten_too(t):
    made = adapters.write_gguf(t.path('adapter.gguf'), adapters.pairs(adapters.tiny_places()))
    r = t.exits(0, 'run', make_tiny(t.path('base.gguf')), '--adapter', made, '--backend', 'reference', '--prompt', 'once', '-n', 2,
                '--events', 'json', '--quiet')
    t.true(json.loads(r.err.splitlines()[-1])['scrubbed']['adapter'] > 0, r.err)


@test
def events_go_to_standard_error_without_a_file(t):
    r = t.exits(0, *PROMPT, '-n', 2, '--events', 'json')
    t.equal([json.loads(line)['event'] for line in r.err.splitlines()][0], 'begin')
    t.equal(t.exits(0, *PROMPT, '-n', 2, '--quiet').err, b'')
    t.has(t.exits(2, *PROMPT, '--events-file', t.path('x')).err, '--events json')
    t.exits(6, *PROMPT, '--events', 'json', '--events-file', t.path('no/such/folder'))


@test
def what_fails_is_told_where_it_failed(t):
    with open(t.path('bad.gguf'), 'wb') as file:
        file.write(b'GGUF')
    t.exits(1, 'run', t.path('bad.gguf'), '--prompt', 'x', '--events', 'json', '--events-file', t.path('events'))
    with open(t.path('events'), encoding='utf-8') as file:
        events = [json.loads(line) for line in file]
    t.equal([e['event'] for e in events], ['begin', 'refused'])
    r = t.quoin(*PROMPT, '--backend', 'reference', '--ctx', 16777216, '--kv', 'f32', '--events', 'json', '--events-file', t.path('events'),
                preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)) if not SANITIZER else None)
    if r.status == 0:
        skip('16777216 positions fit here')
    with open(t.path('events'), encoding='utf-8') as file:
        last = [json.loads(line) for line in file][-1]
    t.equal((last['to'], last['by']), ('failed', 'error'))
    t.true(len(last['error']) > 10, last)


@test
def the_prompt_is_no_more_among_the_arguments_when_the_run_ends(t):
    child = t.start('run', MODEL, '--backend', 'reference', '--prompt', 'once', '-n', 2, '--events', 'json', '--quiet')
    r = t.finish(child)
    last = json.loads(r.err.splitlines()[-1])
    t.true(last['scrubbed']['text'] >= 4, last)


if __name__ == '__main__':
    main()
