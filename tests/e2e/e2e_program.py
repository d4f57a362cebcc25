#!/usr/bin/env python3
"""The program's manners: exit statuses, messages, --json, configuration, backends and plugins, locales, from model to text and back.

Exit status: 0 done, 1 the input is bad, 2 usage, 3 the named backend was refused, 4 no backend usable, 5 does not fit in memory, 6 I/O error.
"""
import os
import re
import shutil
import subprocess

from models import caselib, make_tiny
from program import *

COMMANDS = ['convert', 'verify', 'inspect', 'run', 'tokenize', 'backends', 'chat', 'bench']
GREEDY = ['--prompt', 'hello world', '-n', '6', '--json']


def tiny(t, name='tiny.gguf'):
    return make_tiny(t.path(name))


# ---------------------------------------------------------------- usage
@test
def version_tells_program_abi_and_build(t):
    r = t.exits(0, '--version')
    t.true(re.match(rb'quoin \d+\.\d+\.\d+\nabi \d+\.\d+\nbuild \S.*\ncpu \S.*\n$', r.out), 'four lines: quoin, abi, build, cpu')
    t.equal(r.err, b'')


@test
def help_names_every_command_and_shows_an_example(t):
    r = t.exits(0, '--help')
    t.has(r.out, 'usage:', 'example', *COMMANDS)
    for name in COMMANDS:
        r = t.exits(0, name, '--help')
        t.has(r.out, f'usage: quoin {name}', '--json', 'example', f'quoin {name}')
        t.equal(r.err, b'')


@test
def no_command_shows_help_and_is_a_usage_error(t):
    t.has(t.exits(2).out, 'usage:')


@test
def unknown_command_is_refused_with_the_nearest(t):
    t.has(t.exits(2, 'rum').err, 'unknown command rum', 'did you mean run')
    t.has(t.exits(2, 'verfy').err, 'did you mean verify')
    t.has(t.exits(2, 'xyzzyplugh').err, 'unknown command xyzzyplugh', '--help')
    r = t.exits(2, 'rum', 'x', '--json')
    t.equal(r.json(), {'error': 'unknown command rum; did you mean run?', 'status': 'BAD_INPUT'})
    t.has(r.err, 'unknown command rum')
    t.equal(t.exits(2, 'rum', '--', '--json').out, b'')


@test
def unknown_option_is_refused_with_the_nearest(t):
    t.has(t.exits(2, 'run', '--promt', 'a').err, 'unknown option --promt', 'did you mean --prompt')
    t.has(t.exits(2, 'verify', '--jsn').err, '--json')
    t.has(t.exits(2, 'run', '-Z').err, 'unknown option -Z', '--help')


@test
def an_option_without_its_value_is_refused(t):
    t.has(t.exits(2, 'run', 'm.gguf', '--prompt').err, '--prompt', 'needs a value')


@test
def arguments_that_are_missing_or_too_many_are_counted(t):
    for name in ('convert', 'verify', 'inspect', 'tokenize'):
        t.has(t.exits(2, name).err, name, 'one')
        t.has(t.exits(2, name, 'a', 'b').err, 'one')
    t.has(t.exits(2, 'run', '--prompt', 'a').err, 'run needs one MODEL')


@test
def two_dashes_end_the_options(t):
    r = t.exits(6, 'verify', '--', '--json')
    t.has(r.err, '--json', 'No such file')


# ---------------------------------------------------------------- exit statuses
@test
def exit_0_is_done(t):
    t.exits(0, 'verify', tiny(t))


@test
def exit_1_is_bad_input(t):
    with open(t.path('bad.gguf'), 'wb') as f:
        f.write(b'GGUF' + bytes(60))
    t.has(t.exits(1, 'verify', t.path('bad.gguf')).err, 'bad.gguf', 'byte 4', 'version')


@test
def exit_3_is_the_named_backend_refused(t):
    r = t.exits(3, 'run', tiny(t), *GREEDY[:4], '--backend', 'nosuch')
    t.has(r.err, 'backend nosuch', 'discovery', 'nosuch.quoin.so')
    t.equal(r.out, b'')


@test
def exit_4_is_no_backend_usable(t):
    """None of a list of alternatives can be used, and none was demanded alone."""
    r = t.quoin('run', tiny(t), *GREEDY[:4], '--backend', 'nosuch;neither')
    t.true(r.status in (3, 4), 'exit status 3 or 4')
    t.has(r.err, 'nosuch')
    t.equal(r.out, b'')


@test
def exit_5_is_more_memory_than_there_is(t):
    path = t.path('deep.gguf')
    make_tiny(path, layers=100)
    r = t.exits(5, 'run', path, '--prompt', 'a', '--ctx', '16777216', '--kv', 'f32', '--backend', 'reference')
    t.has(r.err, 'does not fit', 'MiB', '--ctx', '16777216')
    t.true(r.wall < 20 * SLOWNESS, 'it is predicted, not tried')


@test
def exit_6_is_an_io_error(t):
    t.has(t.exits(6, 'run', t.path('absent.gguf'), '--prompt', 'a').err, 'absent.gguf', 'No such file')


@test
def a_folder_or_a_device_is_no_model(t):
    t.has(t.exits(1, 'run', t.folder, '--prompt', 'a').err, 'folder')
    t.has(t.exits(1, 'verify', '/dev/null').err, '/dev/null', 'device')


@test
def an_empty_file_is_no_model(t):
    open(t.path('empty.gguf'), 'wb').close()
    for command in (['verify'], ['inspect'], ['convert'], ['tokenize', '--text', 'a'], ['run', '--prompt', 'a']):
        t.has(t.exits(1, command[0], t.path('empty.gguf'), *command[1:]).err, 'empty.gguf', '0 bytes')


# ---------------------------------------------------------------- --json and quiet
@test
def json_is_one_object_and_nothing_else_on_standard_output(t):
    model = tiny(t)
    for args in (['verify', model], ['inspect', model], ['tokenize', model, '--text', 'a'], ['backends'], ['run', model, *GREEDY[:4]],
                 ['convert', model, '-o', t.path('a.p64')]):
        t.exits(0, *args, '--json').json()


@test
def json_of_a_failure_is_one_object_with_the_message(t):
    for args in (['verify', '/dev/null'], ['inspect', '/dev/null'], ['run', '/dev/null', '--prompt', 'a'], ['convert', '/dev/null'],
                 ['tokenize', '/dev/null', '--text', 'a'], ['run', tiny(t), '--prompt', 'a', '--backend', 'nosuch']):
        r = t.quoin(*args, '--json')
        t.true(r.status in (1, 3), 'exit status')
        said = r.json()
        t.has(said.get('error') or said.get('message'), ('/dev/null', 'nosuch'))


@test
def json_of_a_usage_error_is_one_object_too(t):
    for args in (['run', '--json', '--temp', 'hot'], ['run', '--temp', 'hot', '--json'], ['verify', '--json'], ['convert', '--nope', '--json']):
        t.true('error' in t.exits(2, *args).json(), 'the object has "error"')


@test
def what_would_be_given_in_vain_is_a_wrong_use(t):
    for args, word in ((('--logprobs', 3), '--json'), (('--events-file', t.path('x')), '--events json'), (('--facts', 3), '--graph'),
                       (('--store-prompt',), '--prove'), (('--explain',), '--governed'), (('--system', 'x'), '--chat')):
        t.has(t.exits(2, 'run', tiny(t), *GREEDY[:4], *args).err, word)


@test
def json_of_run_tells_tokens_text_reason_backend_and_timings(t):
    said = t.exits(0, 'run', tiny(t), *GREEDY, '--logprobs', '3').json()
    t.equal(said['prompt_tokens'], [259, 264])
    t.equal(len(said['tokens']), 6)
    t.equal(said['stop_reason'], 'length')
    t.equal([len(step) for step in said['logprobs']], [3] * 6)
    for step, chosen in zip(said['logprobs'], said['tokens']):
        t.equal(step[0]['id'], chosen, 'greedy takes the first')
        t.true(step[0]['logprob'] >= step[1]['logprob'] >= step[2]['logprob'] and step[0]['logprob'] <= 0, 'sorted log-probabilities')
    for key in ('name', 'version', 'device', 'numeric', 'threads'):
        t.true(key in said['backend'], f'backend.{key}')
    for key in ('load_s', 'prefill_s', 'decode_s', 'prefill_tokens_per_s', 'decode_tokens_per_s'):
        t.true(said['timings'][key] >= 0, f'timings.{key}')


@test
def quiet_leaves_only_errors_on_standard_error(t):
    model = tiny(t)
    for args in (['verify', model], ['run', model, *GREEDY[:4]], ['convert', model, '-o', t.path('a.p64')], ['backends']):
        t.equal(t.exits(0, *args, '-q').err, b'')
    t.has(t.exits(6, 'verify', t.path('absent'), '-q').err, 'error: ')


@test
def no_progress_bar_is_drawn_when_standard_error_is_no_terminal(t):
    t.lacks(t.exits(0, 'convert', tiny(t), '-o', t.path('a.p64')).err, '\r', '\x1b')


# ---------------------------------------------------------------- chat and bench
@test
def bench_tells_load_prefill_decode_and_the_ceiling(t):
    model = tiny(t)
    r = t.exits(0, 'bench', model, '-p', '8', '-n', '4', '-r', '1')
    t.has(r.out, 'load', 'prefill', 'decode', 'tok/s', 'ceiling', *(['slowest'] if os.path.exists(CPU_PLUGIN) else []))
    said = t.exits(0, 'bench', model, '-p', '8', '-n', '4', '-r', '1', '--json').json()
    t.true(said['prefill_tokens_per_s']['median'] > 0 and said['decode_tokens_per_s']['median'] > 0, 'speeds')
    t.true(said['read_ceiling_bytes_per_s'] > 0 and said['bytes_per_token'] > 0, 'ceiling')
    t.true(said['products_per_token']['decode']['f32'] + said['products_per_token']['decode']['int8'] > 0, 'products')
    if os.path.exists(CPU_PLUGIN):
        t.true(said['peaks']['int8']['operations_per_s'] > 0 and said['peaks']['f32']['instruction'] != '', 'peaks')
        t.true(0 < said['prefill_share_of_peak'] < 1, 'share of the peak')


@test
def bench_measures_load_in_parts_several_depths_and_text(t):
    with open(t.path('text'), 'wb') as f:
        f.write(b'hello world ' * 100)
    said = t.exits(0, 'bench', tiny(t), '-p', '8', '-n', '2', '-r', '1', '-d', '0,3,9', '--text', t.path('text'), '--json').json()
    t.equal([row['depth'] for row in said['decode']], [0, 3, 9])
    t.true(all(row['tokens_per_s']['median'] > 0 for row in said['decode']), 'speeds')
    load = said['load']
    parts = [load[key] for key in ('open_s', 'verify_s', 'backend_s', 'bind_s')]
    t.true(min(parts) >= 0 and abs(sum(parts) - load['total_s']) < 1e-3 and load['first_token_s'] > 0, f'parts {load}')
    t.equal(said['tokenizer']['bytes'], 1200)
    t.true(min(said['sampling'].values()) > 0 and said['detokenize_us_per_token'] > 0, 'text')


@test
def bench_compares_with_an_earlier_run_and_warns_of_what_is_different(t):
    model, base = tiny(t), ['-p', '8', '-n', '2', '-r', '1']
    with open(t.path('before.json'), 'wb') as f:
        f.write(t.exits(0, 'bench', model, *base, '-t', '1', '--json').out)
    same = t.exits(0, 'bench', model, *base, '-t', '1', '--compare', t.path('before.json'))
    t.has(same.out, 'before', 'now', 'decode at depth 0', 'sampling, greedy')
    t.lacks(same.err, 'warning')
    other = t.exits(0, 'bench', model, *base, '-t', '2', '--compare', t.path('before.json'), '--json')
    t.has(other.err, 'another', 'number of threads')
    t.true(all(row['speed'] > 0 for row in other.json()['compared']), 'rows')


@test
def bench_refuses_depths_and_files_that_are_none(t):
    model = tiny(t)
    for depth in ('', '1,', 'x', '1;2', '9999999', '-1', ','.join('1' * 17)):
        t.has(t.exits(2, 'bench', model, f'--depth={depth}').err, '--depth')
    with open(t.path('broken'), 'wb') as f:
        f.write(b'{"model": }')
    t.has(t.exits(1, 'bench', model, '--compare', t.path('broken')).err, 'line 1, column', 'quoin bench --json')
    t.has(t.exits(6, 'bench', model, '--compare', t.path('absent')).err, 'cannot be opened')
    t.has(t.exits(6, 'bench', model, '-p', '8', '-n', '2', '--text', t.path('absent')).err, 'absent')


@test
def a_model_without_a_chat_template_asks_for_one(t):
    model = tiny(t)
    for args in (['chat', model], ['run', model, '--chat', '--prompt', 'hi']):
        r = t.exits(1, *args, stdin=b'hi\n')
        t.has(r.err, 'no chat template', '--template', 'chatml')
        t.equal(r.out, b'')


@test
def a_conversation_is_read_from_a_pipe_line_by_line(t):
    r = t.exits(0, 'chat', tiny(t), '--template', 'chatml', '-n', '2', '--logit-bias', '264:1000', '--backend', 'reference', stdin=b'a\nb\n')
    t.equal(r.out.count(b'world world'), 2, 'two answers')


# ---------------------------------------------------------------- what ends a text
@test
def the_budget_ends_a_text_and_is_256_by_default(t):
    path = t.path('long.gguf')
    g = caselib.model()
    g.set('llama.context_length', caselib.U32, 1024)
    with open(path, 'wb') as f:
        f.write(g.build())
    said = t.exits(0, 'run', path, '--prompt', 'hello world', '--logit-bias', '265:-inf', '--json').json()
    t.equal((len(said['tokens']), said['stop_reason']), (256, 'length'))
    said = t.exits(0, 'run', path, '--prompt', 'hello world', '-n', '3', '--json').json()
    t.equal((len(said['tokens']), said['stop_reason']), (3, 'length'))


@test
def the_context_ends_a_text(t):
    said = t.exits(0, 'run', tiny(t), '--prompt', 'hello world', '-n', '1000', '--logit-bias', '265:-inf', '--json').json()
    t.equal(said['stop_reason'], 'context')
    t.equal(len(said['prompt_tokens']) + len(said['tokens']), 64 + 1, 'all positions, and the token behind the last')


@test
def a_stop_token_ends_a_text_and_is_not_printed(t):
    said = t.exits(0, 'run', tiny(t), '--prompt', 'hello world', '--logit-bias', '265:1000', '--json').json()
    t.equal((said['stop_reason'], said['stop_token'], said['tokens'], said['text']), ('stop', 265, [], ''))


@test
def the_reason_is_told_on_standard_error_without_json(t):
    t.has(t.exits(0, 'run', tiny(t), *GREEDY[:4]).err, 'length: 2 prompt tokens', '6 tokens')


@test
def memory_and_what_runs_where_are_told_before_the_text(t):
    r = t.exits(0, 'run', tiny(t), *GREEDY[:4], '--backend', 'reference', '--threads', '1')
    t.has(r.err, 'memory: weights', 'KV cache', '64 positions', 'using reference', 'abi 0.', '1 threads', 'f32acc', '21 ops')


@test
def a_context_beyond_the_training_is_warned_of(t):
    t.has(t.exits(0, 'run', tiny(t), *GREEDY[:4], '--ctx', '128').err, 'warning', '128', '64')


# ---------------------------------------------------------------- configuration
def configured(t, text, *args, status=0, where='quoin/quoin.conf', **how):
    os.makedirs(os.path.dirname(t.path(where)), exist_ok=True)
    with open(t.path(where), 'w', encoding='utf-8') as f:
        f.write(text)
    how.setdefault('env', {'XDG_CONFIG_HOME': t.folder})
    return t.exits(status, *args, **how)


@test
def configuration_sets_options_and_the_command_line_wins(t):
    model = tiny(t)
    text = '[common]\nbackend = reference\n[run]\nmax-tokens = 4\n'
    said = configured(t, text, 'run', model, '--prompt', 'hello world', '--json').json()
    t.equal((said['backend']['name'], len(said['tokens'])), ('reference', 4))
    said = configured(t, text, 'run', model, '--prompt', 'hello world', '-n', '2', '--json').json()
    t.equal(len(said['tokens']), 2)


@test
def configuration_is_looked_for_in_home_when_xdg_says_nothing(t):
    r = configured(t, '[run]\nmax-tokens = 3\n', 'run', tiny(t), '--prompt', 'hello world', '--json', where='.config/quoin/quoin.conf',
                   env={'HOME': t.folder})
    t.equal(len(r.json()['tokens']), 3)


@test
def configuration_of_another_command_is_left_alone(t):
    configured(t, '[chat]\nmax-tokens = 3\n[common]\nquiet = yes\n', 'verify', tiny(t))


@test
def unknown_key_is_refused_with_file_and_line(t):
    r = configured(t, '[common]\n; a comment\nbakend = cpu\n', 'verify', tiny(t), status=2)
    t.has(r.err, 'quoin.conf', 'line 3', 'bakend', '[common]', 'did you mean backend?')


@test
def unknown_section_is_refused_with_file_and_line(t):
    r = configured(t, '[common]\nquiet = no\n[runn]\nmax-tokens = 1\n', 'verify', tiny(t), status=2)
    t.has(r.err, 'quoin.conf', 'line 4', '[runn]')
    t.has(r.err, 'did you mean [run]?')


@test
def a_variable_that_is_misspelt_is_warned_about(t):
    r = t.exits(0, 'run', tiny(t), *GREEDY[:4], '--backend', 'reference', env={'QUOIN_BAKEND': 'cpu', 'QUOIN_ELSEWHERE': '1', 'QUOIN_CPU_MASK': 'all'})
    t.has(r.err, 'warning: QUOIN_BAKEND is no variable of quoin; did you mean QUOIN_BACKEND?')
    t.lacks(r.err, 'QUOIN_ELSEWHERE', 'QUOIN_CPU_MASK is')


@test
def bad_value_in_the_configuration_is_refused_with_file_and_line(t):
    r = configured(t, '[run]\ntemp = 0,5\n', 'run', tiny(t), '--prompt', 'a', status=2)
    t.has(r.err, 'quoin.conf', 'line 2', 'temp', '0,5', 'point')


@test
def a_line_that_is_no_setting_is_refused_with_file_and_line(t):
    r = configured(t, '[run]\nthis is no setting\n', 'run', tiny(t), '--prompt', 'a', status=2)
    t.has(r.err, 'quoin.conf', 'line 2')


@test
def a_configuration_that_is_named_must_be_there(t):
    r = t.quoin('run', tiny(t), '--prompt', 'a', '--config', t.path('absent.conf'))
    t.true(r.status in (2, 6), 'exit status 2 or 6')
    t.has(r.err, 'absent.conf')


@test
def environment_chooses_the_backend_over_the_configuration(t):
    model = tiny(t)
    r = configured(t, '[common]\nbackend = nosuch\n', 'run', model, *GREEDY, env={'XDG_CONFIG_HOME': t.folder, 'QUOIN_BACKEND': 'reference'})
    t.equal(r.json()['backend']['name'], 'reference')
    t.has(t.exits(3, 'run', model, *GREEDY[:4], env={'QUOIN_BACKEND': 'nosuch'}).err, 'nosuch')
    t.exits(0, 'run', model, *GREEDY[:4], '--backend', 'reference', env={'QUOIN_BACKEND': 'nosuch'})


# ---------------------------------------------------------------- backends and plugins
@test
def backends_lists_every_backend_with_what_it_is_or_why_not(t):
    r = t.exits(0, 'backends')
    t.has(r.out, 'reference', 'usable', 'built in', 'known answer passed')
    said = t.exits(0, 'backends', '--json').json()
    names = {b['name']: b for b in said['backends']}
    t.true(names['reference']['usable'], 'reference is usable')
    if os.path.exists(CPU_PLUGIN):
        t.true(names['cpu']['usable'], f'cpu is usable: {names["cpu"]["reason"]}')
        t.equal(os.path.realpath(names['cpu']['path']), os.path.realpath(CPU_PLUGIN))


@test
def a_named_backend_never_falls_back(t):
    model = tiny(t)
    for request in ('nosuch', 'cpu:nodevice', 'cpu,isa=nothing', 'cpu,nokey=1', 'reference:nodevice'):
        r = t.quoin('run', model, *GREEDY[:4], '--backend', request)
        t.true(r.status in (2, 3), f'{request}: exit status 2 or 3')
        t.has(r.err, 'error: ', ('refused', 'option', 'choose one'))
        t.equal(r.out, b'', 'no text')


@test
def auto_says_why_it_uses_the_reference(t):
    empty = t.path('empty')
    os.mkdir(empty)
    r = t.exits(0, 'run', tiny(t), *GREEDY[:4], '--backend', 'auto', env={'QUOIN_PLUGIN_DIR': empty})
    t.has(r.err, 'warning', 'cpu', 'reference')


@test
def a_plugin_folder_that_everyone_may_write_is_not_used(t):
    need_cpu()
    shutil.copy(CPU_PLUGIN, t.path('cpu.quoin.so'))
    os.chmod(t.folder, 0o777)
    said = t.exits(0, 'backends', '--json', env={'QUOIN_PLUGIN_DIR': t.folder}).json()
    t.equal([b['name'] for b in said['backends']], ['reference'])
    refused = {f['path']: f['reason'] for f in said['refused_files']}
    t.has(refused[t.folder], 'writable by everyone', 'chmod')
    t.exits(3, 'run', tiny(t), *GREEDY[:4], '--backend', 'cpu', env={'QUOIN_PLUGIN_DIR': t.folder})


@test
def a_plugin_file_that_everyone_may_write_is_not_used(t):
    need_cpu()
    shutil.copy(CPU_PLUGIN, t.path('cpu.quoin.so'))
    os.chmod(t.path('cpu.quoin.so'), 0o666)
    said = t.exits(0, 'backends', '--json', env={'QUOIN_PLUGIN_DIR': t.folder}).json()
    t.has(said['refused_files'][0]['reason'], 'writable by everyone')
    os.chmod(t.path('cpu.quoin.so'), 0o644)
    said = t.exits(0, 'backends', '--json', env={'QUOIN_PLUGIN_DIR': t.folder}).json()
    t.true(any(b['name'] == 'cpu' and b['usable'] for b in said['backends']), 'and is used when only its owner may')


@test
def a_file_that_is_no_plugin_is_refused_before_it_is_loaded(t):
    with open(t.path('junk.quoin.so'), 'wb') as f:
        f.write(b'not a library')
    r = t.exits(3, 'run', tiny(t), *GREEDY[:4], '--backend', 'junk', '--plugin', t.path('junk.quoin.so'))
    t.has(r.err, 'junk', 'refused at note', 'no ELF file')
    said = t.exits(0, 'backends', '--json', '--plugin', t.path('junk.quoin.so')).json()
    entry = next(b for b in said['backends'] if b['name'] == 'junk')
    t.true(not entry['usable'] and 'no ELF file' in entry['reason'], 'it is listed with the reason')


@test
def a_library_that_is_no_plugin_is_never_loaded(t):
    found = subprocess.run(['cc', '-print-file-name=libm.so.6'], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found):
        skip('no libm.so.6 is found through cc')
    shutil.copy(found, t.path('math.quoin.so'))
    r = t.exits(3, 'run', tiny(t), *GREEDY[:4], '--backend', 'math', '--plugin', t.path('math.quoin.so'))
    t.has(r.err, 'math refused at note', 'has no note')


@test
def a_relative_plugin_folder_is_not_used(t):
    said = t.exits(0, 'backends', '--json', '--plugin-dir', 'plugins').json()
    t.true(any(f['path'] == 'plugins' and 'absolute' in f['reason'] for f in said['refused_files']), 'refused as not absolute')


# ---------------------------------------------------------------- locales
def with_locale(t, name):
    """Environment in which `name` is a real locale, made for the test when the machine has none."""
    where = t.path('locales')
    os.makedirs(where, exist_ok=True)
    language, charset = name.split('.')
    done = subprocess.run(['localedef', '-i', language, '-f', charset, os.path.join(where, name)], capture_output=True)
    if not os.path.exists(os.path.join(where, name, 'LC_NUMERIC')):
        skip(f'localedef cannot make {name}: {done.stderr.decode()}')
    return {'LC_ALL': name, 'LOCPATH': where}


def check_locale(t, env):
    model = tiny(t)
    r = t.exits(0, 'run', model, *GREEDY, '--temp', '0.5', '--seed', '3', '--top-p', '0.9', env=env)
    plain = t.exits(0, 'run', model, *GREEDY, '--temp', '0.5', '--seed', '3', '--top-p', '0.9')
    t.equal(r.json()['tokens'], plain.json()['tokens'])
    t.exits(2, 'run', model, *GREEDY, '--temp', '0,5', env=env)
    t.lacks(re.sub(rb'\d,\d', b'!', t.exits(0, 'run', model, *GREEDY[:4], env=env).err), '!')
    t.equal(t.exits(0, 'tokenize', model, '--text', 'é', '--json', env=env).json(), {'tokens': [195, 169]})
    with open(t.path('é.gguf'), 'wb') as f:
        f.write(b'GGUF' + bytes(60))
    t.has(t.exits(1, 'verify', t.path('é.gguf'), env=env).err, 'é.gguf')


@test
def nothing_changes_in_the_c_locale(t):
    check_locale(t, {'LC_ALL': 'C'})


@test
def nothing_changes_in_a_comma_decimal_locale(t):
    check_locale(t, with_locale(t, 'de_DE.UTF-8'))


@test
def nothing_changes_in_a_locale_that_is_not_utf_8(t):
    check_locale(t, with_locale(t, 'de_DE.ISO-8859-1'))


@test
def a_locale_that_does_not_exist_is_no_trouble(t):
    check_locale(t, {'LC_ALL': 'tlh_QO.UTF-16'})


# ---------------------------------------------------------------- from model to text and back
@test
def a_model_is_converted_verified_and_runs_like_its_source(t):
    model, out = tiny(t), t.path('tiny.p64')
    said = t.exits(0, 'convert', model, '--json').json()
    t.equal((said['output'], said['tensors'], said['checked'], said['runs_alone'], said['needs_assumption']), (out, 11, True, True, True))
    t.equal(t.files(), ['tiny.gguf', 'tiny.p64', 'tiny.q42'])
    t.exits(0, 'verify', out, '--strict')
    a, b = (t.exits(0, 'run', path, '--prompt', 'hello', '-n', '40', '--json', '--backend', 'reference').json() for path in (model, out))
    t.equal((a['prompt_tokens'], a['tokens'], a['text']), (b['prompt_tokens'], b['tokens'], b['text']))
    os.unlink(t.path('tiny.q42'))
    t.has(t.exits(1, 'run', out, *GREEDY[:4]).err, 'tiny.p64', '--assume llama')
    for numeric in ('f32acc', 'act8'):
        backend = ['--backend', 'cpu' if numeric == 'act8' else 'reference', '--numeric', numeric]
        if numeric == 'act8' and not os.path.exists(CPU_PLUGIN):
            continue
        a = t.exits(0, 'run', model, '--prompt', 'hello', '-n', '40', '--json', *backend).json()
        b = t.exits(0, 'run', out, '--assume', 'llama', '--prompt', 'hello', '-n', '40', '--json', *backend).json()
        t.equal((a['prompt_tokens'], a['tokens'], a['text']), (b['prompt_tokens'], b['tokens'], b['text']))
        t.equal((a['model']['format'], b['model']['format']), ('GGUF', 'P64'))


def check_layout(t, *options, is_same=True):
    model, out = tiny(t), t.path('out.p64')
    t.exits(0, 'convert', model, '-o', out, *options)
    t.exits(0, 'verify', out)
    a = t.exits(0, 'run', model, '--prompt', 'hello', '-n', '30', '--json', '--backend', 'reference').json()
    b = t.exits(0, 'run', out, '--assume', 'llama', '--prompt', 'hello', '-n', '30', '--json', '--backend', 'reference').json()
    if is_same:
        t.equal(a['tokens'], b['tokens'])
    t.equal(len(b['tokens']), 30)


for options, is_same in ((['--layout', 'packed'], True), (['--layout', 'plain'], True), (['--layout', 'auto'], True), (['--extended'], True),
                         (['--page-log2', '12'], True), (['--weights', 'f16'], False), (['--no-check'], True)):
    name = '_'.join(o.strip('-').replace('-', '_') for o in options)
    add_test(f'a_container_of_{name}_runs', lambda t, o=options, s=is_same: check_layout(t, *o, is_same=s))


@test
def the_default_model_is_converted_and_its_greedy_text_is_that_of_its_source(t):
    model = os.path.join(SOURCE, 'examples/models/quoin-tiny.gguf')
    if not os.path.exists(model):
        skip('examples/models is not there')
    out = t.path('quoin-tiny.p64')
    t.exits(0, 'convert', model, '-o', out)
    t.exits(0, 'verify', out, '--strict')
    backend = ['--backend', 'reference', '--numeric', 'f32acc', '--json', '--deadline', '0', '--temp', '0']
    a = t.exits(0, 'run', model, '--prompt', 'Once upon a time', '-n', '24', *backend).json()
    b = t.exits(0, 'run', out, '--assume', 'llama', '--prompt', 'Once upon a time', '-n', '24', *backend).json()
    t.equal((a['tokens'], a['text']), (b['tokens'], b['text']))
    t.true(len(a['text'].split()) > 10, 'words')


@test
def inspect_tells_the_same_tensors_of_source_and_container(t):
    model, out = tiny(t), t.path('tiny.p64')
    t.exits(0, 'convert', model, '-o', out)
    a, b = (t.exits(0, 'inspect', path, '--json').json() for path in (model, out))
    facts = [sorted((x['name'], x['type'], x['dims'], x['bytes']) for x in said['tensor_list']) for said in (a, b)]
    t.equal(facts[0], facts[1])
    t.equal((a['format'], b['format']), ('GGUF', 'P64'))
    t.has(t.exits(0, 'inspect', model).out, 'general.architecture', 'llama')


@test
def a_format_is_told_by_its_bytes_never_by_its_name(t):
    model = tiny(t)
    t.exits(0, 'convert', model, '-o', t.path('a.p64'))
    shutil.copy(t.path('a.p64'), t.path('really_p64.gguf'))
    shutil.copy(model, t.path('really_gguf.p64'))
    t.equal(t.exits(0, 'verify', t.path('really_p64.gguf'), '--json').json()['format'], 'P64')
    t.equal(t.exits(0, 'verify', t.path('really_gguf.p64'), '--json').json()['format'], 'GGUF')


@test
def a_damaged_container_is_never_tried_as_something_else(t):
    t.exits(0, 'convert', tiny(t), '-o', t.path('a.p64'))
    with open(t.path('a.p64'), 'r+b') as f:
        f.seek(-100, os.SEEK_END)
        byte = f.read(1)
        f.seek(-100, os.SEEK_END)
        f.write(bytes([byte[0] ^ 1]))
    for args in (['verify', t.path('a.p64')], ['run', t.path('a.p64'), '--assume', 'llama', '--prompt', 'a'],
                 ['run', t.path('a.p64'), '--assume', 'llama', '--prompt', 'a', '--integrity', 'lazy']):
        t.has(t.exits(1, *args).err, 'a.p64', ('checksum', 'crc'), 'tensor')


@test
def integrity_lazy_gives_the_same_text(t):
    t.exits(0, 'convert', tiny(t), '-o', t.path('a.p64'))
    full, lazy = (t.exits(0, 'run', t.path('a.p64'), '--assume', 'llama', *GREEDY, '--integrity', how).json() for how in ('full', 'lazy'))
    t.equal(full['tokens'], lazy['tokens'])


if __name__ == '__main__':
    main()
