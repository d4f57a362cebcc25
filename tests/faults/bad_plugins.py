#!/usr/bin/env python3
"""Backends with one fault each (tests/faults/plugins), given to the program one by one.

`auto` decodes all the same and names the culprit; the same backend asked for by its name ends with status 3 and the reason, and runs
nothing else; what the plugin changed in the process is put back.
"""
import glob
import os
import shutil
import signal
import subprocess

from models import make_tiny
from program import *

PLUGINS = os.path.join(BINARY, 'tests', 'bad_plugins')
PATIENCE = ['--probe-timeout', str(60 * SLOWNESS)]
RUN = ['--prompt', 'hello world', '-n', '3', *PATIENCE]  # a later --probe-timeout wins
TEXT = b' world world world\n'
BANNER = '*** The fastest driver in the world ***'

# name: words of the line that refuses it. Those that hang get half a second.
REFUSED = {
    'dies_in_constructor': ['refused at probe', 'Segmentation fault', 'in load', 'last words', 'registered more than once'],
    'exits_in_constructor': ['refused at probe', 'exit status 0 and without an answer', 'in load'],
    'illegal_instruction': ['refused at probe', 'in load'],
    'dies_in_query': ['refused at probe', 'Segmentation fault', 'in load'],
    'hangs_in_start': ['refused at probe: TIMEOUT', 'no answer within', 'in start', '--probe-timeout'],
    'hangs_in_devices': ['refused at probe: TIMEOUT', 'in devices'],
    'exits_in_devices': ['refused at probe', 'without an answer', 'in devices'],
    'closes_descriptors': ['refused at probe', 'without an answer', 'in start'],
    'aborts_in_open': ['refused at probe', 'Aborted', 'in open'],
    'dies_in_step': ['refused at probe', 'Segmentation fault', 'in known answer'],
    'overflows_the_stack': ['refused at probe', 'in known answer'],
    'fails_without_words': ['refused at start: UNAVAILABLE: no reason given'],
    'has_no_driver': ['refused at start: UNAVAILABLE: libnowhere.so.1'],
    'is_busy': ['refused at start: BUSY', 'held by another process'],
    'is_denied': ['refused at start: DENIED', '/dev/nothing', 'group of the device file'],
    'says_control_characters': ['refused at start: UNAVAILABLE: one end  [31mtwo'],
    'has_no_device': ['refused at devices: UNAVAILABLE: it has no device'],
    'counts_too_many': ['refused at devices', 'counts 1000 devices', 'no id'],
    'succeeds_with_nothing': ['refused at open', 'gives nothing'],
    'cannot_compile': ['refused at known answer: TOO_OLD', 'firmware 3 is needed'],
    'loses_the_device': ['refused at known answer: DEVICE_LOST', 'fell off the bus'],
    'computes_wrong': ['refused at known answer: CORRUPT', 'logit'],
    'computes_nan': ['refused at known answer: CORRUPT', 'nan'],
    'compares_sizes': ['refused at query: BAD_ARG'],
    'has_no_table': ['refused at query', 'no table of verbs'],
    'calls_itself_otherwise': ['refused at query: BAD_ARG', 'calls itself somebody'],
    'changed_its_minor': ['refused at query: TOO_NEW', 'ABI 0.'],
    'lacks_a_verb': ['refused at query', 'no verb seal'],
    'has_a_short_table': ['refused at query', 'no verb session_new'],
    'needs_a_missing_library': ['refused at load: UNAVAILABLE', 'libquoin_missing.so'],
    'has_an_open_symbol': ['refused at load: UNAVAILABLE', 'function_that_nobody_has'],
    'speaks_a_later_abi': ['refused at note: TOO_NEW', 'needs ABI 2, this program speaks 0', 'plugin 3.1'],
    'has_a_later_minor': ['refused at note: TOO_NEW', 'both must be equal'],
    'needs_another_cpu': ['refused at note: UNAVAILABLE', 'this CPU and system offer'],
    'is_for_another_machine': ['refused at note: UNAVAILABLE', 'another processor'],
    'notes_another_name': ['refused at note: BAD_ARG', 'calls itself somebody'],
    'has_no_note': ['refused at note: UNSUPPORTED', 'has no note'],
}

# Sound enough to be used: what `auto` says of them, and what a run by name says on standard error.
USABLE = {
    'prints_a_banner': [BANNER],
    'prints_much': ['line 19999 of a driver'],
    'leaves_a_child': [],
    'leaves_a_thread': [],
    'sets_flush_to_zero': ['changed the process in start', 'floating-point control', 'put back'],
    'sets_flush_to_zero_in_a_step': ['changed the process in step', 'floating-point control', 'put back'],
    'installs_a_handler': ['changed the process in start', 'handler of SIGINT', 'put back'],
    'changes_the_process': ['changed the process in start', 'umask, working folder, environment', 'put back'],
    'forgets_terminators': [],
    'is_slow': [],
}

# Their signals are a sanitizer's own business.
CRASHING = {'dies_in_constructor', 'dies_in_query', 'dies_in_step', 'overflows_the_stack', 'illegal_instruction'}


def plugin(name):
    if SANITIZER and name in CRASHING:
        skip('a sanitizer has handlers of its own')
    path = os.path.join(PLUGINS, name + '.quoin.so')
    if not os.path.exists(path):
        skip(f'{path} is not built')
    return path


def cache(t):
    """An environment with a cache of its own."""
    return {'XDG_CACHE_HOME': t.path('cache')}


def timeout_for(name):
    return ['--probe-timeout', str(0.5 * SLOWNESS if name.startswith('hangs') else 30 * SLOWNESS)]


def check_named(t, name, words):
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(3, 'run', model, *RUN, '--backend', name, '--plugin', plugin(name), *timeout_for(name))
    t.has(r.err, f'error: backend {name}', *words)
    t.equal(r.out, b'', 'standard output')
    t.lacks(r.err, 'using ')


def check_auto(t, name, words):
    need_cpu()
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(0, 'run', model, *RUN, '--plugin', plugin(name), *timeout_for(name))
    t.equal(r.out, TEXT, 'the text')
    t.has(r.err, f'backend {name}', *words, 'using cpu ')


def check_listed(t, name, words):
    said = t.exits(0, 'backends', '--json', '--plugin', plugin(name), *timeout_for(name)).json()
    entry = next(b for b in said['backends'] if b['name'] == name)
    t.true(not entry['usable'] and entry['code'] and entry['stage'], 'refused with stage and code')
    t.has(entry['reason'], *words)
    t.true(any(b['usable'] for b in said['backends']), 'something else can be used')


def check_usable(t, name, words):
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(0, 'run', model, *RUN, '--backend', name, '--plugin', plugin(name))
    t.equal(r.out, TEXT, 'the text and nothing else')
    t.has(r.err, f'using {name} ', *words)


def check_not_needed(t, name):
    need_cpu()
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(0, 'run', model, *RUN, '--plugin', plugin(name))
    t.equal(r.out, TEXT, 'the text')
    t.has(r.err, 'backend cpu device cpu chosen: predicted', 'ms/token', f'backend {name} device cpu not needed: predicted', 'using cpu ')


for one in REFUSED:
    add_test(f'{one}_named_is_refused_with_the_reason', lambda t, n=one: check_named(t, n, REFUSED[n]))
    add_test(f'{one}_is_survived_by_auto_which_names_it', lambda t, n=one: check_auto(t, n, REFUSED[n]))
    add_test(f'{one}_is_listed_as_refused', lambda t, n=one: check_listed(t, n, REFUSED[n]))
for one in USABLE:
    add_test(f'{one}_named_is_run_and_told_of', lambda t, n=one: check_usable(t, n, USABLE[n]))
    add_test(f'{one}_is_slower_than_cpu_and_auto_says_so', lambda t, n=one: check_not_needed(t, n))


@test
def every_plugin_of_the_folder_has_a_test(t):
    there = {os.path.basename(p)[:-len('.quoin.so')] for p in glob.glob(os.path.join(PLUGINS, '*.quoin.so'))}
    if not there:
        skip('no bad plugins are built')
    others = {'dies_in_the_host_alone', 'cheats_and_is_too_small', 'is_software', 'offers_the_same_device', 'offers_it_again', 'has_little_memory'}
    t.equal(there, set(REFUSED) | set(USABLE) | others)


@test
def all_of_them_at_once_change_nothing(t):
    need_cpu()
    left_out = ('hangs_in_start', 'hangs_in_devices', 'cheats_and_is_too_small') # slow to test, and chosen because it cheats
    os.mkdir(t.path('plugins'))
    for path in glob.glob(os.path.join(PLUGINS, '*.quoin.so')):
        name = os.path.basename(path)[:-len('.quoin.so')]
        if name not in left_out and not (SANITIZER and name in CRASHING):
            shutil.copy(path, t.path('plugins'))
    r = t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, '--plugin-dir', t.path('plugins'), env=cache(t))
    t.equal(r.out, TEXT)
    t.has(r.err, 'backend cpu device cpu chosen', 'using cpu ')


# ---------------------------------------------------------------- devices
@test
def a_software_device_is_never_chosen_by_auto_but_by_name(t):
    need_cpu()
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(0, 'run', model, *RUN, '--plugin', plugin('is_software'))
    t.has(r.err, 'backend is_software device softpipe skipped: software device', '--backend is_software:software', 'using cpu ')
    r = t.exits(3, 'run', model, *RUN, '--plugin', plugin('is_software'), '--backend', 'is_software')
    t.has(r.err, 'only software devices', '--backend is_software:software')
    for device in ('software', 'cpu', '#0'):
        r = t.exits(0, 'run', model, *RUN, '--plugin', plugin('is_software'), '--backend', 'is_software:' + device)
        t.equal(r.out, TEXT)
        t.has(r.err, 'using is_software ', *(['numbers change'] if device == '#0' else []))
    t.exits(3, 'run', model, *RUN, '--plugin', plugin('is_software'), '--backend', 'is_software:#1')


@test
def one_physical_device_is_offered_once(t):
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(0, 'run', model, *RUN, '--plugin', plugin('offers_the_same_device'), '--plugin', plugin('offers_it_again'))
    t.has(r.err, 'skipped: backend offers_', 'runs the same device')
    t.equal(r.err.count(b'device 0000:65:00.0'), 2, 'lines about the device: its place, and that it is skipped')


@test
def a_device_that_cannot_hold_the_model_is_passed_over_with_both_numbers(t):
    r = t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, '--plugin', plugin('has_little_memory'))
    t.has(r.err, 'has_little_memory', 'refused at plan: NO_DEVICE_MEM', 'the model needs', 'are free')


@test
def an_alias_is_printed_and_tried_in_its_order(t):
    args = ['--plugin', plugin('has_no_driver'), '--plugin', plugin('is_slow')]
    r = t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, *args, '--backend', 'gpu')
    t.has(r.err, 'backend gpu means has_no_driver;is_slow', 'backend has_no_driver refused at start', 'using is_slow ')
    r = t.exits(3, 'run', t.path('tiny.gguf'), *RUN, '--backend', 'gpu')
    t.has(r.err, 'no plugin for GPUs')


@test
def a_list_is_tried_exactly_as_written(t):
    args = ['--plugin', plugin('has_no_driver'), '--plugin', plugin('is_slow')]
    model = make_tiny(t.path('tiny.gguf'))
    r = t.exits(0, 'run', model, *RUN, *args, '--backend', 'has_no_driver;reference;is_slow')
    t.has(r.err, 'backend has_no_driver refused at start', 'using reference ')
    t.lacks(r.err, 'is_slow')


@test
def a_backend_that_is_disabled_is_not_there(t):
    r = t.exits(3, 'run', make_tiny(t.path('tiny.gguf')), *RUN, '--plugin', plugin('is_slow'), '--backend', 'is_slow',
                env={'QUOIN_BACKENDS_DISABLE': 'cuda*,is_*'})
    t.has(r.err, 'is_slow refused at discovery')
    r = t.exits(0, 'backends', '--plugin', plugin('is_slow'), env={'QUOIN_BACKENDS_DISABLE': 'cuda*,is_*'})
    t.has(r.err, 'is disabled by QUOIN_BACKENDS_DISABLE')


@test
def who_crashes_in_spite_of_the_probe_is_named_in_the_last_line(t):
    if SANITIZER:
        skip('a sanitizer has handlers of its own')
    done = subprocess.run([PROGRAM, 'run', make_tiny(t.path('tiny.gguf')), *RUN, '--backend', 'dies_in_the_host_alone', '--plugin',
                           plugin('dies_in_the_host_alone')], capture_output=True, env=clean_environment())
    t.equal(done.returncode, -signal.SIGSEGV, 'it ends as it would have')
    t.equal(done.stderr.splitlines()[-1], b'error: backend dies_in_the_host_alone crashed in step: SIGSEGV')


@test
def the_contract_is_watched_when_that_is_asked_for(t):
    model = make_tiny(t.path('tiny.gguf'))
    watched = {'QUOIN_CHECK_CONTRACT': '1'}
    for name in ('reference', 'cpu') if os.path.exists(CPU_PLUGIN) else ('reference',):
        r = t.exits(0, 'run', model, *RUN, '--backend', name, env=watched)
        t.equal(r.out, TEXT)
        t.lacks(r.err, 'contract')
    for name, words in (('sets_flush_to_zero', 'in start: it changes the process: floating-point control'),
                        ('sets_flush_to_zero_in_a_step', 'in step: it changes the process: floating-point control')):
        r = t.exits(0, 'run', model, *RUN, '--backend', name, '--plugin', plugin(name), env=watched)
        t.equal(r.out, TEXT)
        t.has(r.err, f'backend {name} breaks the contract ' + words)
        t.lacks(t.exits(0, 'run', model, *RUN, '--backend', name, '--plugin', plugin(name)).err, 'contract')


# ---------------------------------------------------------------- naming one backend runs nothing else
@test
def a_named_backend_runs_no_other_plugin(t):
    need_cpu()
    args = ['--plugin', plugin('prints_a_banner'), '--plugin', plugin('dies_in_constructor')]
    for name in ('cpu', 'reference'):
        r = t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, *args, '--backend', name)
        t.equal(r.out, TEXT)
        t.lacks(r.err, BANNER, 'dies_in_constructor')


@test
def standard_output_is_the_host_s_alone(t):
    said = t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, '--json', '--plugin', plugin('prints_a_banner'), '--backend',
                   'prints_a_banner').json()
    t.equal(said['text'].encode() + b'\n', TEXT)


@test
def what_a_driver_leaves_running_does_not_outlive_its_probe(t):
    t.exits(0, 'backends', '--plugin', plugin('leaves_a_child'), env={'QUOIN_TEST_MARK': t.folder})
    left = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            with open(path, 'rb') as f:
                if t.folder.encode() in f.read():
                    left.append(path)
        except OSError:
            pass
    t.equal(left, [], 'processes of the probe')


@test
def an_interrupt_during_a_probe_ends_the_program_and_the_child(t):
    child = t.start('run', make_tiny(t.path('tiny.gguf')), *RUN, '--plugin', plugin('hangs_in_devices'), '--probe-timeout', '60',
                    env={'QUOIN_TEST_MARK': t.folder})

    def find_probe():
        for path in glob.glob('/proc/[0-9]*/cmdline'):
            try:
                with open(path, 'rb') as f:
                    words = f.read().split(b'\0')
                with open(path.replace('cmdline', 'environ'), 'rb') as f:
                    if b'probe-plugin' in words and t.folder.encode() in f.read():
                        return True
            except OSError:
                pass
        return False
    until = time.monotonic() + 20 * SLOWNESS
    while not find_probe() and time.monotonic() < until:
        time.sleep(0.02)
    t.true(find_probe(), 'the probe runs')
    child.send_signal(signal.SIGKILL)
    t.finish(child)
    until = time.monotonic() + 10 * SLOWNESS
    while find_probe() and time.monotonic() < until:
        time.sleep(0.02)
    t.true(not find_probe(), 'the child died with its parent')


# ---------------------------------------------------------------- two devices
def decode(t, model, *args):
    return t.exits(0, 'run', model, *RUN, '--numeric', 'f32acc', '--kv', 'f32', *args)


@test
def layers_on_two_devices_give_the_text_of_one(t):
    model = source('examples/models/quoin-tiny.gguf')
    whole = decode(t, model, '--backend', 'reference').out
    for n in range(1, 6):
        r = decode(t, model, '--backend', 'reference', '--layers-on', f'is_slow={n}', '--plugin', plugin('is_slow'))
        t.equal(r.out, whole, f'the text with {n} layers on the other device')
        t.has(r.err, f'layers 0 to {n - 1} on backend is_slow device cpu, the rest on reference', 'using is_slow+reference')


@test
def a_divided_model_says_what_was_predicted(t):
    need_cpu()
    model = source('examples/models/quoin-tiny.gguf')
    r = decode(t, model, '--layers-on', 'is_slow=2', '--plugin', plugin('is_slow'))
    t.has(r.err, 'the rest on cpu: predicted', 'ms/token', 'on cpu alone', 'using is_slow+cpu')
    t.equal(r.out, decode(t, model, '--backend', 'cpu').out)


@test
def auto_divides_a_model_that_is_too_large_for_a_fast_device(t):
    need_cpu()
    model = source('examples/models/quoin-tiny.gguf')
    args = ['--plugin', plugin('cheats_and_is_too_small'), '--backend', 'auto']
    r = decode(t, model, *args)
    t.has(r.err, 'refused at plan: NO_DEVICE_MEM', 'MiB are free')
    t.has(r.err, 'backend cheats_and_is_too_small device cpu for layers 0 to ', 'the rest on cpu, chosen: predicted',
          'using cheats_and_is_too_small+cpu')
    t.equal(r.out, decode(t, model, '--backend', 'cpu').out)


@test
def the_contract_holds_across_the_border(t):
    model = source('examples/models/quoin-tiny.gguf')
    r = t.exits(0, 'run', model, *RUN, '--backend', 'reference', '--layers-on', 'is_slow=3', '--plugin', plugin('is_slow'),
                env={'QUOIN_CHECK_CONTRACT': '1'})
    t.lacks(r.err, 'contract')


@test
def a_division_that_cannot_be_is_refused_with_what_can(t):
    model = source('examples/models/quoin-tiny.gguf')
    for text, status, words in (('is_slow=6', 3, ['6 layers: 1 to 5']), ('is_slow', 2, ['BACKEND[:DEVICE]=N']),
                                ('is_slow=0', 2, ['BACKEND[:DEVICE]=N']), ('=3', 2, ['a name is expected']),
                                ('nobody=2', 3, ['nobody refused at discovery'])):
        r = t.exits(status, 'run', model, *RUN, '--backend', 'reference', '--layers-on', text, '--plugin', plugin('is_slow'))
        t.has(r.err, *words)
        t.equal(r.out, b'')
    r = t.exits(2, 'run', model, *RUN, '--backend', 'cpu;reference', '--layers-on', 'is_slow=2', '--plugin', plugin('is_slow'))
    t.has(r.err, 'must be one name')


# ---------------------------------------------------------------- what is remembered
def count_probes(t, *args, env):
    """Runs `quoin backends --json`; how many plugins were probed anew."""
    said = t.exits(0, 'backends', '--json', *args, env=env).json()
    return sum(b['remembered_s'] is None and b['path'] != 'built in' and not b['path'].endswith('cpu.quoin.so') for b in said['backends'])


@test
def answers_are_remembered_until_something_changes(t):
    shutil.copy(plugin('is_slow'), t.path('is_slow.quoin.so'))
    args = ['--plugin', t.path('is_slow.quoin.so')]
    env = cache(t)
    t.equal(count_probes(t, *args, env=env), 1, 'the first time')
    t.equal(count_probes(t, *args, env=env), 0, 'the second time')
    t.equal(count_probes(t, *args, '--rescan', env=env), 1, '--rescan')
    t.equal(count_probes(t, *args, '--verify-backend', env=env), 1, '--verify-backend')
    t.equal(count_probes(t, *args, env=dict(env, CUDA_VISIBLE_DEVICES='3')), 1, 'a variable of a driver')
    t.equal(count_probes(t, *args, '--threads', '1', env=env), 1, 'other threads')
    os.utime(t.path('is_slow.quoin.so'), (1, 1))
    t.equal(count_probes(t, *args, env=env), 1, 'another file')


@test
def refusals_are_remembered_but_not_for_those_who_name_the_backend(t):
    model = make_tiny(t.path('tiny.gguf'))
    args = ['--plugin', plugin('has_no_driver')]
    env = cache(t)
    t.equal(count_probes(t, *args, env=env), 1)
    t.equal(count_probes(t, *args, env=env), 0)
    before = os.stat(t.path('cache/quoin/probe')).st_mtime_ns
    t.exits(0, 'run', model, *RUN, *args, env=env)
    t.equal(os.stat(t.path('cache/quoin/probe')).st_mtime_ns, before, 'auto believes it')
    t.exits(3, 'run', model, *RUN, *args, '--backend', 'has_no_driver', env=env)
    t.true(os.stat(t.path('cache/quoin/probe')).st_mtime_ns != before, 'the name asks again')


@test
def what_may_be_otherwise_in_a_moment_is_not_remembered(t):
    env = cache(t)
    for name in ('is_busy', 'is_denied', 'hangs_in_start'):
        for _ in range(2):
            t.equal(count_probes(t, '--plugin', plugin(name), *timeout_for(name), env=env), 1, name)


@test
def a_probe_that_took_the_machine_down_is_not_repeated_until_named(t):
    path = plugin('is_slow')
    env = cache(t)
    count_probes(t, '--plugin', path, '--rescan', env=env)
    t.equal(t.files(t.path('cache/quoin')), ['probe'], 'no journal is left')
    value = 0xcbf29ce484222325
    for byte in path.encode():
        value = (value ^ byte) * 0x100000001b3 & 0xFFFFFFFFFFFFFFFF
    with open(t.path(f'cache/quoin/probing-{value:016x}'), 'w') as f:
        f.write(f'00000000-0000-0000-0000-000000000000 {path}\n')
    os.remove(t.path('cache/quoin/probe'))
    r = t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, '--plugin', path, env=env)
    t.has(r.err, 'is_slow', 'went down while it was probed')
    t.exits(0, 'run', t.path('tiny.gguf'), *RUN, '--plugin', path, '--backend', 'is_slow', env=env)
    t.equal(t.files(t.path('cache/quoin')), ['probe'])


@test
def a_cache_that_is_rubbish_or_cannot_be_written_is_no_cache(t):
    model = make_tiny(t.path('tiny.gguf'))
    os.makedirs(t.path('cache/quoin'))
    with open(t.path('cache/quoin/probe'), 'wb') as f:
        f.write(b'quoin-probe-cache 1\nplugin = x\n\0\xff' * 100)
    r = t.exits(0, 'run', model, *RUN, '--plugin', plugin('is_slow'), env=cache(t))
    t.equal(r.out, TEXT)
    t.exits(0, 'run', model, *RUN, '--plugin', plugin('is_slow'), env={'XDG_CACHE_HOME': '/proc/none'})


@test
def without_other_plugins_nothing_is_probed_or_written(t):
    need_cpu()
    for args in ([], ['--backend', 'cpu'], ['--backend', 'reference']):
        t.exits(0, 'run', make_tiny(t.path('tiny.gguf')), *RUN, *args, env=cache(t))
        t.true(not os.path.exists(t.path('cache')), 'no cache')


# ---------------------------------------------------------------- asking
@test
def help_on_a_backend_lists_its_options(t):
    need_cpu()
    r = t.exits(0, 'backends', '--backend', 'cpu,help')
    t.has(r.out, 'isa=c|avx2', 'default auto')
    said = t.exits(0, 'run', '--backend', 'cpu,help', '--json').json()
    t.equal([o['key'] for o in said['options']], ['isa'])
    t.has(t.exits(0, 'backends', '--backend', 'reference,help').out, 'no options')
    t.has(t.exits(0, 'backends', '--backend', 'has_no_driver,help', '--plugin', plugin('has_no_driver')).out, 'no options')
    r = t.exits(3, 'backends', '--backend', 'dies_in_constructor,help', '--plugin', plugin('dies_in_constructor'))
    t.has(r.err, 'refused at probe', 'Segmentation fault')
    t.exits(3, 'backends', '--backend', 'nobody,help')


@test
def explain_tells_what_was_measured_and_said(t):
    r = t.exits(0, 'backends', '--explain', '--plugin', plugin('prints_a_banner'), '--plugin', plugin('changes_the_process'), env=cache(t))
    t.has(r.out, 'ms/token', 'GB/s', 'class gpu', BANNER, 'it changes the process: umask')
    r = t.exits(0, 'backends', '--explain', '--plugin', plugin('prints_a_banner'), env=cache(t))
    t.has(r.out, 'remembered from a probe')


@test
def without_timing_auto_goes_by_class_and_says_so(t):
    model = make_tiny(t.path('tiny.gguf'))
    for _ in range(2):
        r = t.exits(0, 'run', model, *RUN, '--plugin', plugin('is_slow'), '--no-probe-speed', env=cache(t))
        t.equal(r.out, TEXT)
        t.has(r.err, 'backend is_slow device cpu chosen: unmeasured', 'using is_slow ')
        t.exits(0, 'run', model, *RUN, '--plugin', plugin('is_slow'), env=cache(t)) # times it


@test
def elevated_privileges_search_the_program_s_folder_alone(t):
    if os.getuid() != 0 or SANITIZER:
        skip('making a program that runs as somebody else needs root, and a program without sanitizers')
    os.chmod(t.folder, 0o755)
    os.makedirs(t.path('place/bin'))
    shutil.copy(PROGRAM, t.path('place/bin/quoin'))
    os.chown(t.path('place/bin/quoin'), 65533, 65533)
    os.chmod(t.path('place/bin/quoin'), 0o4755)

    def become_nobody():
        os.setgid(65534)
        os.setuid(65534)
    done = subprocess.run([t.path('place/bin/quoin'), 'backends', '--plugin', plugin('is_slow')], capture_output=True, cwd='/',
                          env=clean_environment(QUOIN_PLUGIN_DIR=PLUGINS), preexec_fn=become_nobody)
    t.equal(done.returncode, 0, done.stderr.decode('utf-8', 'replace'))
    t.has(done.stderr, "only the program's own plugin folder is searched")
    t.lacks(done.stdout + done.stderr, 'is_slow', PLUGINS)


if __name__ == '__main__':
    main()
