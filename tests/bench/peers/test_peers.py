#!/usr/bin/env python3
"""What compare.py and quality.py read and write, with made-up engines: nothing is measured."""
import json
import math
import stat
import sys

from program import *

sys.path[:0] = [source('tests/bench/peers'), source('tests/bench')]
import compare  # noqa: E402  (found through the line above)
import engines  # noqa: E402
import quality  # noqa: E402

PREFILL = {'kind': 'prefill', 'tokens': 512}
DECODE = {'kind': 'decode', 'tokens': 128, 'depth': 0}
DEEP = {'kind': 'decode', 'tokens': 64, 'depth': 2048}

# As llama.cpp's llama-bench writes it, shortened to the keys that are looked at and some others.
LLAMA = '''[
  {
    "build_commit": "0123abcd",
    "build_number": 6400,
    "cpu_info": "A \\"fast\\" one",
    "model_type": "llama 1B Q4_0",
    "n_threads": 2,
    "n_prompt": %d,
    "n_gen": %d,
    "n_depth": %d,
    "avg_ns": 4000000000,
    "avg_ts": %f,
    "samples_ns": [ 4000000000 ],
    "samples_ts": [ 16.0 ]
  }
]
'''
# As a fork of an earlier state does: without depths, with a label, and with a value that lost its quotes.
FORK = '''[
  {
    "build_commit": "89abcdef",
    "ser": -1,0,
    "repack": true,
    "n_prompt": 2048,
    "n_gen": 64,
    "test_time": "2026-01-01T00:00:00Z",
    "avg_ns": 4000000000,
    "avg_ts": 528.000000,
    "test": "tg64@pp2048",
    "samples_ns": [ 4000000000 ],
    "samples_ts": [ 528.0 ]
  }
]
'''
# A program that answers as one of these does. Options of both are told; what it was called with decides.
ENGINE = '''#!%s -SE
import sys
words = sys.argv[1:]
def value(name):
    return words[words.index(name) + 1]
if words == ['--help']:
    print('  -p, --n-prompt <n>\\n%s')
elif '-gp' in words:
    print(%r)
else:
    print(%r %% (int(value('-p')), int(value('-n')), int(value('-d')) if '-d' in words else 0, 10.0))
'''
QUOIN = '''#!%s -SE
import json, sys
words = sys.argv[1:]
if words == ['--version']:
    print('quoin 9.9.9')
elif words[0] == 'run':
    print('{}')
elif words[0] == 'perplexity':
    print(json.dumps({'perplexity': {'f32acc': 10.0, 'act8': 10.01}.get(words[words.index('--numeric') + 1] if '--numeric' in words else '', 10.0), 'error': 0.5}))
else:
    print(json.dumps({'backend': {}, 'read_ceiling_bytes_per_s': 1, 'bytes_per_token': 1, 'peaks': {},
                      'profile': [{'count': 3, 'op': 'matmul', 'kernel': 'k', 'us_per_token': 5.0}],
                      'prefill_tokens_per_s': {'median': 25.0}, 'prefill_share_of_peak': 0.5,
                      'decode_tokens_per_s': {'median': 20.0}, 'decode': [{'depth': 0, 'share_of_ceiling': 0.9}]}))
'''


def write_program(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def write_engine(path, knows_depth):
    knows = '  -d, --n-depth <n>\\n  --no-warmup' if knows_depth else '  -gp <pp,tg>\\n  -w, --warmup <0|1>'
    return write_program(path, ENGINE % (sys.executable, knows, FORK, LLAMA))


def run_script(path, *words):
    return subprocess.run([sys.executable, '-B', path, *words], capture_output=True, text=True, env=clean_environment(), check=False)


@test
def rows_are_read_by_what_they_measured(t):
    for work, numbers in ((PREFILL, (512, 0, 0)), (DECODE, (0, 128, 0)), (DEEP, (0, 64, 2048))):
        row = engines.read_rows(LLAMA % (*numbers, 16.5))[0]
        for other in (PREFILL, DECODE, DEEP):
            t.equal(engines.read_rate(row, other), 16.5 if other is work else None, f'{work} as {other}')


@test
def a_prompt_that_was_not_timed_does_not_count(t):
    row = engines.read_rows(FORK)[0]
    t.equal(engines.read_rate(row, DEEP), 16.0)
    t.equal(engines.read_rate(row, dict(DEEP, depth=1024)), None)
    t.equal(engines.read_rate(row, {'kind': 'prefill', 'tokens': 2048}), None)


@test
def what_is_no_table_is_refused(t):
    for text in ('', 'error: no model', '{}', '[]', '[1]'):
        try:
            engines.read_rows(text)
            t.fail(f'{text!r} was read')
        except ValueError:
            pass


@test
def the_last_estimate_is_the_perplexity(t):
    said = '[1]4.1,[2]5.2,\nFinal estimate: PPL = 12.5000 +/- 0.25000\n'
    t.equal(engines.read_perplexity(said), (12.5, 0.25))
    t.equal(engines.read_perplexity('Final estimate: PPL over 10 chunks for n_ctx=512 = 3.1931 +/- 0.07007'), (3.1931, 0.07007))
    try:
        engines.read_perplexity('[1]4.1')
        t.fail('read without an estimate')
    except ValueError:
        pass


@test
def each_kind_of_engine_is_asked_in_its_own_words(t):
    llama = engines.LlamaBench(write_engine(t.path('llama-bench'), True), 'llama', '-fa 1')
    fork = engines.LlamaBench(write_engine(t.path('fork-bench'), False))
    t.equal(llama.command('m', 2, DEEP)[-6:], ['-p', '0', '-n', '64', '-d', '2048'])
    t.equal(fork.command('m', 2, DEEP)[-6:], ['-p', '0', '-n', '0', '-gp', '2048,64'])
    t.true('-fa' in llama.command('m', 2, PREFILL) and '-fa' not in fork.command('m', 2, PREFILL), 'options of the engine')
    t.equal(llama.command('m', 2, {'kind': 'load'})[-1], '--no-warmup')
    t.equal(fork.command('m', 2, {'kind': 'load'})[-2:], ['-w', '0'])
    for engine in (llama, fork):
        try:
            engine.command('m', 2, {'kind': 'perplexity', 'text': 't', 'window': 512, 'windows': 0})
            t.fail('there is no llama-perplexity')
        except engines.Unable as reason:
            t.has(str(reason), 'llama-perplexity')


@test
def a_container_stands_for_its_source_with_us_alone(t):
    quoin = engines.Quoin(write_program(t.path('quoin'), QUOIN % sys.executable), '--kv f16', {'a.gguf': 'a.p64'})
    t.equal(quoin.version, 'quoin 9.9.9')
    t.equal(quoin.command('a.gguf', 1, DECODE)[1:3], ['bench', 'a.p64'])
    t.equal(quoin.command('b.gguf', 1, {'kind': 'load'})[1:3], ['run', 'b.gguf'])
    t.true('--kv' in quoin.command('b.gguf', 1, DECODE), 'own options')


@test
def engines_are_named_and_have_options(t):
    path = write_engine(t.path('bench'), True)
    named, plain = compare.parse_engine(f'ik={path} -rtr 1'), compare.parse_engine(path)
    t.equal((named.name, named.more, plain.name, plain.more), ('ik', ['-rtr', '1'], 'bench', []))


@test
def the_table_has_all_engines_side_by_side_and_what_was_run(t):
    quoin = write_program(t.path('quoin'), QUOIN % sys.executable)
    llama, fork = write_engine(t.path('llama-bench'), True), write_engine(t.path('fork-bench'), False)
    done = run_script(source('tests/bench/peers/compare.py'), 'models/a.gguf', '--quoin', quoin, '--engine', f'llama={llama}', '--engine',
                      f'fork={fork}', '--modes', 'decode,prefill,depth,load', '--threads', '1', '--rounds', '2', '--json', t.path('all.json'),
                      '--report', t.path('report.md'))
    t.equal(done.returncode, 0, done.stderr)
    lines = done.stdout.splitlines()
    t.has(lines[0].encode(), 'quoin 9.9.9', 'llama 0123abcd', 'medians of 2 rounds')
    rows = {cells[2]: cells for cells in ([cell.strip() for cell in line.split('|')] for line in lines if line.startswith('| a.gguf'))}
    t.equal(list(rows), ['decode 128, tok/s', 'prefill 512, tok/s', 'decode 64 at depth 2048, tok/s', 'load to first token, s', 'resident memory, MiB'])
    t.equal(rows['decode 128, tok/s'][3:9], ['1', '20.0', '0.90', '10.0', '2.00', '2.00–2.00'])
    t.equal(rows['prefill 512, tok/s'][5], '0.50')
    t.equal(rows['decode 64 at depth 2048, tok/s'][9:11], ['16.0', '1.25'])
    t.has(done.stdout.encode(), '-gp 2048,64', '3 x matmul [k]', '-o json')
    with open(t.path('report.md'), encoding='utf-8') as f:
        t.equal(f.read(), done.stdout)
    with open(t.path('all.json'), encoding='utf-8') as f:
        t.equal(len(json.load(f)['runs']), 4)


@test
def a_brief_table_names_the_engine_that_is_hardest_to_beat(t):
    quoin = write_program(t.path('quoin'), QUOIN % sys.executable)
    llama, fork = write_engine(t.path('llama-bench'), True), write_engine(t.path('fork-bench'), False)
    done = run_script(source('tests/bench/peers/compare.py'), 'a.gguf', '--quoin', quoin, '--engine', f'llama={llama}', '--engine', f'fork={fork}',
                      '--modes', 'depth', '--threads', '1', '--rounds', '1', '--brief')
    t.equal(done.returncode, 0, done.stderr)
    t.has(done.stdout.encode(), '| a.gguf | decode 64 at depth 2048, tok/s | 1 | 20.0 | 0.90 | 16.0 | fork | 1.25 | 1.25–1.25 |')


@test
def what_an_engine_cannot_do_is_said_and_the_rest_is_measured(t):
    quoin, llama = write_program(t.path('quoin'), QUOIN % sys.executable), write_engine(t.path('llama-bench'), True)
    done = run_script(source('tests/bench/peers/compare.py'), 'a.gguf', '--quoin', quoin, '--engine', llama, '--modes', 'decode,perplexity',
                      '--text', t.path('quoin'), '--threads', '1', '--rounds', '1')
    t.equal(done.returncode, 0, done.stderr)
    t.has(done.stdout.encode(), 'Not measured: perplexity with llama-bench', 'decode 128')


@test
def perplexities_stand_beside_each_other(t):
    quoin, llama = write_program(t.path('quoin'), QUOIN % sys.executable), write_engine(t.path('llama-bench'), True)
    write_program(t.path('llama-perplexity'), f'#!{sys.executable} -SE\nimport sys\nprint("Final estimate: PPL = 8.0000 +/- 0.1", file=sys.stderr)\n')
    done = run_script(source('tests/bench/peers/compare.py'), 'a.gguf', '--quoin', quoin, '--engine', llama, '--modes', 'perplexity', '--text', quoin,
                      '--threads', '1')
    t.equal(done.returncode, 0, done.stderr)
    t.has(done.stdout.encode(), '| a.gguf | perplexity | 1 | 10.0000 |  | 8.0000 | 1.250 |')


@test
def a_program_that_fails_is_shown_with_its_words(t):
    quoin = write_program(t.path('quoin'), QUOIN % sys.executable)
    broken = write_program(t.path('llama-bench'), f'#!{sys.executable} -SE\nimport sys\nsys.exit("no such model" if len(sys.argv) > 2 else 0)\n')
    done = run_script(source('tests/bench/peers/compare.py'), 'a.gguf', '--quoin', quoin, '--engine', broken, '--threads', '1', '--rounds', '1')
    t.true(done.returncode not in (0, 77), 'exit status')
    t.has(done.stderr.encode(), 'no such model', 'llama-bench')


@test
def the_text_is_the_licences_by_name_and_then_the_book(t):
    import gzip
    os.mkdir(t.path('licences'))
    for name, text in (('B', 'second '), ('A', 'first ')):
        with open(t.path('licences/' + name), 'w', encoding='utf-8') as f:
            f.write(text)
    os.symlink('A', t.path('licences/C'))
    with gzip.open(t.path('book.dz'), 'wb') as f:
        f.write('the böok'.encode() + b'\xff')
    t.equal(quality.make_text(t.path('licences'), t.path('book.dz')).decode(), 'first second the böok\ufffd')


@test
def the_table_of_quality_says_how_far_classes_are_apart(t):
    quoin = write_program(t.path('quoin'), QUOIN % sys.executable)
    other = write_program(t.path('llama-perplexity'), f'#!{sys.executable} -SE\nprint("Final estimate: PPL = 8.0000 +/- 0.1")\n')
    common = [source('tests/bench/quality.py'), 'a.gguf', '--quoin', quoin, '--book', quoin, '--licences', t.folder, '--engine', '']
    fine = run_script(*common)
    t.equal(fine.returncode, 0, fine.stderr)
    t.has(fine.stdout.encode(), '| a.gguf | quoin act8 | 10.0100 | 0.5000 | +0.100% of f32acc |', 'SHA-256')
    t.has(fine.stdout.encode(), '| a.gguf | quoin act8, KV in q8 | 10.0100 | 0.5000 | +0.000% of act8 |')
    worse = run_script(*common, '--perplexity', other)
    t.equal(worse.returncode, 1)
    t.has(worse.stderr.encode(), '+25.125% of')


@test
def a_difference_has_the_standard_error_of_its_windows(t):
    windows = quality.read_windows('window 1 of 2: perplexity so far 10.0000\nwindow 2 of 2: perplexity so far 20.0000\n')
    t.true(abs(windows[0] - math.log(10)) < 1e-9 and abs(windows[1] - math.log(40)) < 1e-9, windows)
    base = quality.Score(10.0, 0.5, [2.0, 3.0, 2.5, 2.2])
    steady = quality.Difference(quality.Score(10.05, 0.5, [2.005, 3.005, 2.505, 2.206]), base, 'it')
    noisy = quality.Difference(quality.Score(10.05, 0.5, [2.105, 2.905, 2.605, 2.106]), base, 'it')
    t.true(0 < steady.error < 0.001 < 0.05 < noisy.error, (steady.error, noisy.error))
    t.true(abs(noisy.off - 0.005) < 1e-9, 'noise does not change the difference')
    t.has(str(steady).encode(), '+0.500% ± 0.0')
    t.equal(str(quality.Difference(quality.Score(10.05, 0.5), base, 'it')), '+0.500% of it', 'without windows it stands as it is')


@test
def the_table_of_quality_has_the_same_weights_in_other_types(t):
    quoin = write_program(t.path('quoin'), QUOIN % sys.executable)
    engine = write_program(t.path('python'), f'''#!{sys.executable} -SE
import sys
if sys.argv[3] == 'quantise':
    open(sys.argv[5], 'w').close()
print('{{"perplexity": 10.0, "error": 0.25}}' if sys.argv[3] == 'perplexity' else '{{}}')
''')
    common = [source('tests/bench/quality.py'), t.path('a.gguf'), '--quoin', quoin, '--book', quoin, '--licences', t.folder, '--types', 'q8_0,q4_0']
    done = run_script(*common, '--engine', engine)
    t.equal(done.returncode, 0, done.stderr)
    for name in ('a.gguf', 'a-q8_0.gguf', 'a-q4_0.gguf'):
        t.has(done.stdout.encode(), f'| {name} | llama.cpp (llama-cpp-python) | 10.0000 | 0.2500 | +0.000% of f32acc |')
    t.equal(run_script(*common, '--engine', '').returncode, 2)


if __name__ == '__main__':
    main()
