#!/usr/bin/env python3
"""Every generated hostile or tricky file (tests/cases) through the program, as its manifest and this table say.

accept      verify exits 0
reject      verify and convert exit 1 with one message: which file, where, what was found; no output file is there
refuse-run  inspect works, run exits 1 with such a message
and always: less than 2 seconds of processor time, less than 64 MiB plus the file, no signal, no sanitizer report, nothing left behind.
"""
import atexit
import os
import re
import shutil
import tempfile

from models import make_cases
from program import *

MEMORY = 64 << 20
SECONDS = 2.0

# What the message must hold, by the beginning of the case's name. A tuple stands for any one of its words.
WORDS = {
    'gbad-02': ['3 bytes'], 'gbad-03': ['GGUE', 'GGUF', 'byte 0'], 'gbad-05': ['Git LFS', 'pull'], 'gbad-06': ['version', 'byte 4', '2 and 3'],
    'gbad-08': ['tensors', 'byte 8', '76768'], 'gbad-09': ['keys', 'byte 16', '76768'], 'gbad-11': ['key number 0', '9 bytes', '8 left'],
    'gbad-12': ['key number 21', '0 bytes'], 'gbad-14': ['key 21', '0xff'], 'gbad-15': ['"a.b"', '9223372036854775808'],
    'gbad-17': ['llama.block_count', 'byte 149', 'byte 4689'], 'gbad-18': ['"a.b"', 'value type'], 'gbad-20': ['"a.b"', '2305843009213693953'],
    'gbad-21': ['"a.b"', '1000000000'], 'gbad-23': ['"a.b"', 'element type 77'], 'gbad-24': ['general.alignment', 'power of two'],
    'gbad-26': ['general.alignment', 'string', 'uint32'], 'gbad-27': ['tensor "t"', '0 dimensions'], 'gbad-29': ['tensor "t"', '4294967295'],
    'gbad-30': ['tensor "t"', 'dimension 1', 'is 0'], 'gbad-32': ['tensor "t"', '4294967296'], 'gbad-33': ['tensor "t"', '18446744073709551615'],
    'gbad-35': ['tensor "t"', 'Q4_K', '128', '256'], 'gbad-36': ['tensor "t"', 'offset 4', '32'], 'gbad-38': ['tensor "t"', '18446744073709551584'],
    'gbad-39': ['tensor "t"', 'token_embd.weight', 'share'], 'gbad-41': ['token_embd.weight', '30000', 'cut short'],
    'gbad-42': ['blk.0.attn_q.weight', 'byte 4800', 'byte 5325'],
    'ghp-01': ['head_count', 'is 0'], 'ghp-02': ['head_count', '5', '32'], 'ghp-04': ['head_count_kv', '3', '4'],
    'ghp-05': ['blk.1.attn_norm.weight', 'missing', '2 layers'], 'ghp-07': ['rope.freq_base', 'nan'], 'ghp-08': ['rms_epsilon', 'is 0'],
    'ghp-10': ['mamba9', 'llama', 'qwen2', 'qwen3', 'gemma3', 'phi3'], 'ghp-11': ['blk.0.attn_q.weight', '[32, 31]', '[32, 32]'],
    'ghp-13': ['blk.0.attn_norm.weight', '[32, 1, 1, 1]', '[32]'], 'gok-08': ['weights are missing'],
    'gtok-01': ['tokenizer.ggml.scores', 'uint8', 'float'], 'gtok-03': ['eos_token_id', '267'], 'gtok-04': ['tokenizer.ggml.merges[0]', '"he"'],
    'gtok-06': ['268 tokens', '267'], 'gtok-07': ['tokenizer.ggml.pre', 'nobody-knows'],
    'gval-01': ['blk.0.ffn_down.weight', 'element 5', 'NaN'], 'gval-02': ['output_norm.weight', 'element 0', 'infinite'],
    'gsize-01': ['4 GiB', '5368809216'],
    'pbad-01': ['byte 0', '50 36 34 00', '70 36 34 00'], 'pbad-03': ['byte 6', '0x0000', 'little-endian'], 'pbad-04': ['byte 6', '0x8001'],
    'pbad-06-page-2147483648': ['byte 160', 'token_embd.weight', '2147483648'], 'pbad-06': ['byte 40', 'page size', 'power of two'],
    'pbad-07': ['checksum', '38d01ff2', '17310910'], 'pbad-09': ['padding'], 'pbad-10': ['byte 36', '67108864', '8256'],
    'pbad-12': ['manifold', '320', '10000'], 'pbad-13': ['byte 20', 'hyper-parameters'], 'pbad-15': ['tensor 0', 'rank 2', 'dimension 3 is 7'],
    'pbad-16': ['tensor 0', 'dimension 0 is 0'], 'pbad-18': ['tensor 0', '65536'], 'pbad-19': ['tensor 0', 'manifold_idx 2', '1 layer'],
    'pbad-21': ['byte 320', 'manifold record 0', 'not a number'], 'pbad-22': ['tensor 1', '60000'], 'pbad-24': ['token_embd.weight', '0 and 1'],
    'pbad-25': ['tensor 0', '4100', '4096'], 'pbad-27': ['output_norm.weight', '4096', '4176'], 'pbad-28': ['output_norm.weight', '4096', '8272'],
    'pbad-30': ['output_norm.weight', '8208', '8192'], 'ptern-01': ['output_norm.weight', '1158'],
    'ptok-01': ['byte 448', '51 34 32 58', 'Q42T'], 'ptok-03': ['byte 481', '4294967299'], 'ptok-04': ['4294967295', 'merges'],
    'ptok-06': ['UTF-8', 'byte 500'], 'ptok-07': ['merge 0'], 'ptok-09': ['token 3', '"a"'], 'pok-04': ['token_embd.weight', '77'],
    'sbad-02': ['7 bytes'], 'sbad-03-hlen-0': ['length is 0'], 'sbad-03-hlen-1': ['length is 1'], 'sbad-05': ['byte 8', 'hello wo'],
    'sbad-06': ['byte 8', '[1,2,3]'], 'sbad-08': ['byte 8', 'xef'], 'sbad-09': ['byte 10', '0xff'], 'sbad-11': ['duplicate', r'\"w'],
    'sbad-12': ['duplicate', r'\"shape'], 'sbad-14': ['bytes 4 to 7', '"b"'], 'sbad-15': ['byte 88', '8 bytes'],
    'sbad-17': ['"w"', '16 and 0'], 'sbad-18': ['"w"', '-16'], 'sbad-20': ['"w"', 'too large'], 'sbad-21': ['"w"', '3'],
    'sbad-23': ['18446744073709551632'], 'sbad-24': ['"w"', '1099511627792'], 'sbad-26': ['"w"', 'shape'], 'sbad-27': ['"n"', '__metadata__'],
    'sbad-29': ['pickle'], 'sidx-01': ['model-00002-of-00002.safetensors', '"v"'],
}
# Where the specification of this project decides otherwise than the generators: accepted with a note, refused by --strict.
NOTE_ONLY = {'pbad-09-padding-dirty', 'ptok-06-token-not-utf8'}
NOTE_ALWAYS = {'ptok-09-dup-token'}       # a note in both modes
REFUSED_EARLY = {'ptern-01-digit-243'}    # the container itself breaks a rule: nothing to inspect


def words_for(case):
    matches = [key for key in WORDS if case['id'].startswith(key)]
    return WORDS[max(matches, key=len)] if matches else []


def check_means(t, case, result, seconds=SECONDS):
    t.true(result.cpu < seconds * SLOWNESS, f'{result.cpu:.2f} s of processor time')
    if not SANITIZER:
        t.true(result.peak < MEMORY + case['bytes'], f'{result.peak >> 20} MiB of memory')


def check_message(t, case, result):
    text = result.err.decode('utf-8')
    errors = [line for line in text.splitlines() if line.startswith('error: ')]
    t.equal(len(errors), 1, 'lines that begin with "error: "')
    t.has(errors[0], case['file'], *words_for(case))
    t.true(len(errors[0]) < 900, 'the message is too long to be read')


def check_accepted(t, case):
    r = t.exits(0, 'verify', case['path'])
    check_means(t, case, r)
    t.lacks(r.err, 'error', 'warning')
    verdict = t.exits(0, 'verify', case['path'], '--json').json()
    t.equal(verdict['valid'], True)
    t.equal(verdict['rule'], None)


def check_rejected(t, case):
    r = t.exits(1, 'verify', case['path'])
    check_means(t, case, r)
    check_message(t, case, r)
    verdict = t.exits(1, 'verify', case['path'], '--json').json()
    t.equal(verdict['valid'], False)
    t.has(verdict['message'], *words_for(case))
    if verdict['rule'] is not None:
        t.true(isinstance(verdict['offset'], int), 'a rule comes with an offset')
        t.has(verdict['message'], f'byte {verdict["offset"]}', f'rule {verdict["rule"]}')


def check_not_converted(t, case):
    r = t.exits(1, 'convert', case['path'], '-o', t.path('out.p64'))
    check_means(t, case, r)
    t.equal(t.files(), [], 'files in the output folder')
    return r


def check_not_run(t, case):
    assumed = ['--assume', 'llama'] if case['family'] == 'p64' else []
    r = t.exits(1, 'run', case['path'], '--prompt-tokens', '1', '-n', '2', '--backend', 'reference', *assumed)
    check_means(t, case, r)
    check_message(t, case, r)
    t.equal(r.out, b'', 'text of a model that cannot be run')


def check_noted(t, case, strict_status):
    r = t.exits(0, 'verify', case['path'])
    check_means(t, case, r)
    t.has(r.err, 'note', *words_for(case))
    notes = t.exits(0, 'verify', case['path'], '--json').json()['notes']
    t.equal(len(notes), 1, 'notes')
    r = t.exits(strict_status, 'verify', case['path'], '--strict')
    if strict_status != 0:
        check_message(t, case, r)


def check_too_large(t, case):
    r = t.exits(0, 'verify', case['path'], '--no-weight-check')
    check_means(t, dict(case, bytes=5 << 30), r)
    check_message(t, case, check_not_converted(t, case))


def check_runs(t, case):
    r = t.exits(0, 'run', case['path'], '--prompt', 'hello world', '-n', '8', '--backend', 'reference', '--numeric', 'f32acc', '--json')
    base = t.exits(0, 'run', by_id['gok-01-base']['path'], '--prompt', 'hello world', '-n', '8', '--backend', 'reference', '--numeric',
                   'f32acc', '--json')
    t.equal(r.json()['tokens'], base.json()['tokens'], 'tokens, as from gok-01')


def check_converts(t, case):
    t.exits(0, 'convert', case['path'], '-o', t.path('out.p64'))
    t.exits(0, 'verify', t.path('out.p64'), '--strict')
    t.equal(t.files(), ['out.p64', 'out.q42'], 'files in the output folder')


def check_refuse_run(t, case):
    if case['id'] in REFUSED_EARLY:
        check_rejected(t, case)
    else:
        r = t.exits(0, 'inspect', case['path'], '--json')
        check_means(t, case, r)
        r.json()
    check_not_run(t, case)


def check_case(t, case):
    if case['id'].startswith('gsize-01'):
        check_too_large(t, case)
    elif case['id'] in NOTE_ONLY:
        check_noted(t, case, 1)
    elif case['id'] in NOTE_ALWAYS:
        check_noted(t, case, 0)
    elif case['expect'] == 'refuse-run':
        check_refuse_run(t, case)
    elif case['expect'] == 'reject':
        check_rejected(t, case)
        check_not_converted(t, case)
    else:
        check_accepted(t, case)
        if case['family'] == 'gguf':
            check_runs(t, case)
            check_converts(t, case)
        elif case['family'] == 'p64':     # a container of two tensors: whole, but no model
            check_not_run(t, case)


@test
def every_word_list_belongs_to_a_case(t):
    for key in WORDS:
        t.true(any(i.startswith(key) for i in by_id), f'{key}: no such case')


@test
def tokenizing_works_on_a_file_that_holds_a_vocabulary_only(t):
    r = t.exits(0, 'tokenize', by_id['gok-08-vocab-only']['path'], '--text', 'hello world', '--json')
    t.equal(r.json(), {'tokens': [259, 264]})


@test
def no_case_leaves_its_folder_changed(t):
    for path, stamp in stamps.items():
        t.equal(os.stat(path).st_mtime_ns, stamp, path)


folder = tempfile.mkdtemp(prefix='quoin-cases-')
atexit.register(shutil.rmtree, folder, ignore_errors=True)
by_id = {}
for family in ('gguf', 'p64', 'safetensors'):
    for case in make_cases(family, folder):
        by_id[case['id']] = case
stamps = {os.path.dirname(case['path']): os.stat(os.path.dirname(case['path'])).st_mtime_ns for case in by_id.values()}
last_test = tests.pop()
for case in by_id.values():
    sentence = re.sub(r'\W+', '_', case['id']) + {'accept': '_is_accepted', 'reject': '_is_rejected', 'refuse-run': '_is_refused_for_running'}[case['expect']]
    add_test(sentence, lambda t, c=case: check_case(t, c))
tests.append(last_test)

if __name__ == '__main__':
    main()
