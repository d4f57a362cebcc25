#!/usr/bin/env python3
"""What goes wrong around the program: files cut in use, full disks, closed outputs, signals, memory that is not there.

Each ends with a clear message and its exit status, with the text so far, and with nothing left behind.
"""
import ctypes
import os
import resource
import signal
import shutil
import subprocess
import threading

from models import caselib, make_tiny
from program import *

# Token 264, " world", again and again.
ENDLESS = ['--logit-bias', '264:1000', '-n', '4000', '--prompt', 'hello world', '--deadline', '0']


def tiny(t):
    return make_tiny(t.path('tiny.gguf'))


def long_model(t, name='long.gguf'):
    """The tiny model with room for thousands of tokens: seconds of work for the reference backend."""
    g = caselib.model(layers=8)
    g.set('llama.context_length', caselib.U32, 8192)
    with open(t.path(name), 'wb') as f:
        f.write(g.build())
    return t.path(name)


def large_model(t, mebibytes):
    """A model whose one extra tensor of zeros is large: its conversion takes a while."""
    g = caselib.model()
    rows = mebibytes * 256
    g.tensor('extra.weight', [1024, rows], 0, b'')
    with open(t.path('large.gguf'), 'wb') as f:
        f.write(g.build())
        f.truncate(f.tell() + rows * 4096)
    return t.path('large.gguf')


def start_and_read(t, *args, n=1, **how):
    """Starts quoin and waits until n bytes of text came; returns the child and the bytes."""
    child = t.start(*args, **how)
    text = b''
    while len(text) < n:
        more = os.read(child.stdout.fileno(), n - len(text))
        if not more:
            t.finish(child)
            t.fail('it ended before')
        text += more
    return child, text


# ---------------------------------------------------------------- the model is cut while it runs
def check_cut(t, backend, keep):
    path = long_model(t)
    child, first = start_and_read(t, 'run', path, *ENDLESS, '--backend', backend, n=8)
    os.truncate(path, int(os.path.getsize(path) * keep))
    r = t.finish(child)
    t.equal(r.status, 6, 'exit status')
    t.has(r.err, 'long.gguf', 'was cut from', 'bytes')
    t.equal(first, b' world w', 'the text before')


@test
def a_model_that_is_cut_to_nothing_while_reference_runs_ends_the_run(t):
    check_cut(t, 'reference', 0)


@test
def a_model_that_is_cut_to_half_while_reference_runs_ends_the_run(t):
    check_cut(t, 'reference', 0.5)


@test
def a_model_that_is_cut_to_nothing_while_cpu_runs_ends_the_run(t):
    need_cpu()
    check_cut(t, 'cpu', 0)


@test
def a_model_that_is_replaced_while_it_runs_does_no_harm(t):
    path = long_model(t)
    args = ['run', path, *ENDLESS[:3], '300', *ENDLESS[4:], '--backend', 'reference']
    child, first = start_and_read(t, *args, n=8)
    shutil.copy(path, t.path('new'))
    os.replace(t.path('new'), path)
    r = t.finish(child)
    t.equal((r.status, first + r.out), (0, b' world' * 300 + b'\n'), 'status and text')


# ---------------------------------------------------------------- standard output
@test
def a_reader_that_leaves_ends_the_run(t):
    child, first = start_and_read(t, 'run', long_model(t), *ENDLESS, '--backend', 'reference', n=8)
    child.stdout.close()
    child.stdout = None
    r = t.finish(child)
    t.equal(r.status, 6, 'exit status')
    t.has(r.err, 'standard output: Broken pipe', 'stopped after')


def every_command(t):
    model = tiny(t)
    return (['verify', model], ['inspect', model], ['tokenize', model, '--text', 'hello'], ['tokenize', model, '--text', 'hello', '--pieces'],
            ['backends'], ['run', model, '--prompt', 'a', '-n', '3'], ['run', model, '--prompt', 'a', '-n', '3', '--json'],
            ['convert', model, '-o', t.path('out.p64'), '--force'], ['verify', model, '--json'], ['inspect', model, '--json'], ['--version'],
            ['--help'], ['run', '--help'])


@test
def a_full_disk_behind_standard_output_is_told_by_every_command(t):
    for args in every_command(t):
        with open('/dev/full', 'wb') as full:
            r = t.exits(6, *args, stdout=full)
        t.has(r.err, 'standard output: No space left')


@test
def a_closed_standard_output_is_told_by_every_command(t):
    for args in every_command(t):
        r = t.exits(6, *args, preexec=lambda: os.close(1))
        t.has(r.err, 'standard output: Bad file descriptor')


@test
def text_never_goes_into_a_file_that_took_the_place_of_standard_output(t):
    model = tiny(t)
    t.exits(0, 'convert', model, '-o', t.path('right.p64'))
    t.exits(6, 'convert', model, '-o', t.path('out.p64'), preexec=lambda: (os.close(0), os.close(1)))
    with open(t.path('right.p64'), 'rb') as a, open(t.path('out.p64'), 'rb') as b:
        t.equal(a.read(), b.read(), 'the container')


@test
def closed_standard_error_does_no_harm(t):
    r = t.exits(0, 'run', tiny(t), '--prompt', 'hello world', '-n', '3', preexec=lambda: os.close(2))
    t.equal(r.out, b' world world world\n')


# ---------------------------------------------------------------- signals and limits of time
def check_signal(t, number, status):
    child, first = start_and_read(t, 'run', long_model(t), *ENDLESS, '--backend', 'reference', n=8)
    child.send_signal(number)
    r = t.finish(child)
    t.equal(r.status, status, 'exit status')
    text = first + r.out
    t.true(text.endswith(b'\n') and text[:-1] == b' world' * (len(text) // 6), 'the text so far, whole tokens, and a line feed')
    t.has(r.err, 'cancelled', 'tokens')


@test
def ctrl_c_ends_a_run_with_the_text_so_far_and_130(t):
    check_signal(t, signal.SIGINT, 130)


@test
def termination_ends_a_run_with_the_text_so_far(t):
    check_signal(t, signal.SIGTERM, 130)


@test
def ctrl_c_with_json_still_gives_one_object(t):
    path = long_model(t)
    child = t.start('run', path, *ENDLESS, '--backend', 'reference', '--json')
    while b'using' not in child.stderr.readline():
        pass
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    r = t.finish(child)
    t.equal(r.status, 130, 'exit status')
    said = r.json()
    t.equal(said['stop_reason'], 'cancelled')
    t.equal(said['text'], ' world' * len(said['tokens']))


@test
def a_deadline_ends_a_run_with_0_and_names_its_option(t):
    args = ENDLESS[:-1] + ['0.5']
    r = t.exits(0, 'run', long_model(t), *args, '--backend', 'reference')
    t.has(r.err, 'deadline', '--deadline')
    t.true(r.out.startswith(b' world') and r.out.endswith(b'\n'), 'the text so far')
    t.true(r.wall < 10 * SLOWNESS, f'{r.wall:.1f} s')
    said = t.exits(0, 'run', long_model(t), *args, '--backend', 'reference', '--json').json()
    t.equal(said['stop_reason'], 'deadline')


@test
def a_deadline_is_seen_while_the_prompt_is_read(t):
    prompt = ','.join(['1'] * 4000)
    r = t.exits(0, 'run', long_model(t), '--prompt-tokens', prompt, '-n', '5', '--deadline', '0.3', '--chunk', '16', '--backend', 'reference', '--json')
    t.equal((r.json()['stop_reason'], r.json()['tokens']), ('deadline', []))
    t.true(r.wall < 10 * SLOWNESS, f'{r.wall:.1f} s')


# ---------------------------------------------------------------- writing
@test
def nothing_is_overwritten_without_force(t):
    model = tiny(t)
    with open(t.path('precious'), 'w') as f:
        f.write('mine')
    r = t.exits(6, 'convert', model, '-o', t.path('precious'))
    t.has(r.err, 'precious', 'exists', '--force')
    with open(t.path('precious')) as f:
        t.equal(f.read(), 'mine')
    t.exits(0, 'convert', model, '-o', t.path('precious'), '--force')
    t.exits(0, 'verify', t.path('precious'))
    t.equal(t.files(), ['precious', 'precious.q42', 'tiny.gguf'])


@test
def a_source_is_never_its_own_output(t):
    model = tiny(t)
    with open(model, 'rb') as f:
        before = f.read()
    for path in (model, os.path.join(t.folder, '.', 'tiny.gguf')):
        t.true(t.quoin('convert', model, '-o', path, '--force').status in (1, 6), 'exit status')
    os.link(model, t.path('link.gguf'))
    t.true(t.quoin('convert', model, '-o', t.path('link.gguf'), '--force').status in (1, 6), 'exit status')
    with open(model, 'rb') as f:
        t.equal(f.read(), before, 'the source')


@test
def a_folder_that_cannot_be_written_is_told(t):
    model = tiny(t)
    os.mkdir(t.path('locked'))
    os.chmod(t.path('locked'), 0o555)

    def leave_root():
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
    os.chmod(t.folder, 0o755)
    os.chmod(t.temporary, 0o777)
    r = t.exits(6, 'convert', model, '-o', os.path.join(t.path('locked'), 'out.p64'), preexec=leave_root)
    t.has(r.err, 'locked/out.', 'Permission denied')
    t.equal(t.files(t.path('locked')), [])
    t.has(t.exits(6, 'convert', model, '-o', t.path('absent/out.p64')).err, t.path('absent'), 'No such file')


def mount_small(t, size):
    """A file system of `size` bytes at t.path('small'): as root, or else inside a user namespace (a prefix for the command)."""
    os.mkdir(t.path('small'))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b'none', t.path('small').encode(), b'tmpfs', 0, f'size={size}'.encode()) == 0:
        return lambda: libc.umount2(t.path('small').encode(), 2)
    skip('mounting a small file system needs root')


@test
def disk_space_is_checked_before_anything_is_written(t):
    model = large_model(t, 8)
    unmount = mount_small(t, 1 << 20)
    try:
        r = t.exits(6, 'convert', model, '-o', t.path('small/out.p64'))
        t.has(r.err, 'small/out.p64', 'bytes are needed', 'are free')
        t.equal(t.files(t.path('small')), [])
    finally:
        unmount()


@test
def a_limit_on_file_size_that_strikes_midway_leaves_nothing(t):
    model = large_model(t, 8)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    r = t.exits(6, 'convert', model, '-o', t.path('out.p64'), preexec=limit)
    t.has(r.err, 'out.p64', 'File too large')
    t.equal(t.files(), ['large.gguf'])


def interrupt_convert(t, number, *options):
    """Starts a conversion of 192 MiB and strikes while it writes; returns the result."""
    model = large_model(t, 192)
    child = t.start('convert', model, '-o', t.path('out.p64'), *options)
    io = f'/proc/{child.pid}/io'
    written = 0
    while written < 4 << 20 and child.poll() is None:
        try:
            with open(io, encoding='ascii') as f:
                written = int(f.read().split('wchar:')[1].split()[0])
        except (OSError, IndexError, ValueError):
            break
    child.send_signal(number)
    return t.finish(child)


@test
def ctrl_c_during_a_conversion_leaves_nothing(t):
    r = interrupt_convert(t, signal.SIGINT)
    t.equal(r.status, 130, 'exit status')
    t.has(r.err, 'interrupted', 'nothing was written')
    t.equal(t.files(), ['large.gguf'])


@test
def a_killed_conversion_leaves_nothing(t):
    r = interrupt_convert(t, signal.SIGKILL)
    t.equal(r.status, -signal.SIGKILL, 'exit status')
    t.equal(t.files(), ['large.gguf'])


@test
def ctrl_c_while_replacing_leaves_the_old_file(t):
    with open(t.path('out.p64'), 'w') as f:
        f.write('old')
    r = interrupt_convert(t, signal.SIGINT, '--force')
    t.equal(r.status, 130, 'exit status')
    with open(t.path('out.p64')) as f:
        t.equal(f.read(), 'old')
    t.equal(t.files(), ['large.gguf', 'out.p64'])


@test
def two_conversions_onto_one_name_leave_one_whole_file(t):
    model = large_model(t, 32)
    results = []
    workers = [threading.Thread(target=lambda: results.append(subprocess.run([PROGRAM, 'convert', model, '-o', t.path('out.p64')],
                                                                              capture_output=True, env=clean_environment()).returncode))
               for _ in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    t.equal(sorted(results), [0, 6], 'one writes, the other is refused')
    t.equal(t.exits(0, 'verify', t.path('out.p64'), '--json').json()['companion'], 'bound')
    t.equal(t.files(), ['large.gguf', 'out.p64', 'out.q42'])


# ---------------------------------------------------------------- memory
def limit_memory(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


@test
def memory_that_the_system_refuses_is_exit_5(t):
    if SANITIZER:
        skip('a sanitizer needs the whole address space')
    path = long_model(t)
    r = t.exits(5, 'run', path, '--prompt', 'a', '--ctx', '4000000', '--backend', 'reference', preexec=limit_memory(600 << 20))
    t.has(r.err, ('memory', 'fit'))
    t.equal(r.out, b'')


@test
def every_small_address_space_ends_cleanly(t):
    if SANITIZER:
        skip('a sanitizer needs the whole address space')
    model = tiny(t)
    for mebibytes in range(8, 120, 4):
        r = t.quoin('run', model, '--prompt', 'hello world', '-n', '3', '--threads', '1', '--backend', 'reference', preexec=limit_memory(mebibytes << 20))
        if r.status == 127 and b'shared libraries' in r.err:
            continue      # not even the loader had room
        t.true(r.status in (0, 1, 4, 5, 6), f'{mebibytes} MiB: exit status {r.status}')
        if r.status != 0:
            t.has(r.err, 'error: ')
    t.equal(r.out, b' world world world\n', 'and the largest is enough')


@test
def memory_of_a_conversion_is_bounded_by_the_largest_tensor(t):
    if SANITIZER:
        skip('a sanitizer uses memory of its own')
    g = caselib.model()
    n, size = 48, 4 << 20
    for i in range(n):
        g.tensor(f'extra.{i}.weight', [1024, 1024], 0, b'', off=(1 << 20) + i * size)
    with open(t.path('many.gguf'), 'wb') as f:
        f.write(g.build())
        f.truncate(f.tell() + (1 << 20) + n * size)
    r = t.exits(0, 'convert', t.path('many.gguf'), '-o', t.path('out.p64'))
    print(f'peak {r.peak >> 20} MiB for a model of {os.path.getsize(t.path("many.gguf")) >> 20} MiB')
    t.true(r.peak < 96 << 20, 'far less than the model')


if __name__ == '__main__':
    main()
