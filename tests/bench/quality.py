#!/usr/bin/env python3
"""What speed costs: the perplexity of models on a fixed text, in both numeric classes, with the KV cache in 8 bits, and by llama.cpp on the
same windows.

    tests/bench/quality.py [options] [MODEL.gguf …]        default: SmolLM2-135M-Instruct of the full tests, fetched when it is missing

    --types TYPE,…        also each model with its weights rounded again by llama.cpp: q4_0, q4_1, q8_0, q4_k_m, q6_k, or f32 (what it held,
                          as floats); every engine then reads that same file
    --quoin PATH          the program (default: build/release/bin/quoin, else build/dev/bin/quoin)
    --engine PYTHON       an interpreter that imports llama_cpp (default: that of the full tests when it is built; "" for none)
    --perplexity PATH     a llama-perplexity beside it; may be given several times
    --threads N           (default: all that there are)      --window N    (default: 512)      --windows N    only the first N (default: all)
    --book FILE           the book; .dz and .gz are unpacked (default: see below)
    --text FILE           writes the text there and keeps it
    --report FILE         the table, besides standard output

The text is the files of /usr/share/common-licenses in the order of their names, without links, and then one book that nobody owns any more: "The
Devil's Dictionary" of Ambrose Bierce, as Debian's package dict-devil has it. Where the package is not installed, `apt-get download` gets it
into build/peers/text, and nothing is installed. Its SHA-256 is printed: a table is comparable with another of the same text only.

The class act8 has to be within 0.2 % of f32acc, and not more than that worse than the other engine; f32acc is held against the reference backend
on one window of 256 tokens. Exit status 1: one of these does not hold. A difference is printed with its own standard error, from the
windows' differences: of a few windows it is large, and more windows decide. What 8 bits in the KV cache cost is printed and not judged.

All at once: tests/bench/quality.py --types q8_0,q4_0,q4_k_m,q6_k --windows 20
"""
import argparse
import datetime
import glob
import gzip
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, 'peers'), os.path.join(HERE, '..', 'support')]
sys.dont_write_bytecode = True
import compare  # noqa: E402  (found through the line above)
import engines  # noqa: E402
import peers  # noqa: E402

LICENCES = '/usr/share/common-licenses'
BOOK = '/usr/share/dictd/devil.dict.dz'
PACKAGE = 'dict-devil'
ALLOWED = 0.002         # of act8 beside f32acc
ENGINE = 'llama.cpp (llama-cpp-python)'
REFERENCE_WINDOW = 256


def fetch_book():
    """Path of the book: of the installed package, or of one that is downloaded and unpacked."""
    if os.path.exists(BOOK):
        return BOOK
    folder = os.path.join(peers.FOLDER, 'text')
    path = os.path.join(folder, BOOK.lstrip('/'))
    if os.path.exists(path):
        return path
    os.makedirs(folder, exist_ok=True)
    got = subprocess.run(['apt-get', 'download', PACKAGE], cwd=folder, capture_output=True, text=True, check=False)
    packages = glob.glob(os.path.join(folder, PACKAGE + '_*.deb'))
    if got.returncode != 0 or not packages:
        sys.exit(f'quality.py: {PACKAGE} is not installed and cannot be downloaded; give a book with --book\n{got.stderr[-500:]}')
    subprocess.run(['dpkg-deb', '-x', packages[0], folder], check=True)
    return path


def read_file(path):
    opener = gzip.open if path.endswith(('.dz', '.gz')) else open
    with opener(path, 'rb') as f:
        return f.read().decode('utf-8', 'replace').encode()


def list_licences(folder):
    return sorted(path for path in glob.glob(os.path.join(folder, '*')) if os.path.isfile(path) and not os.path.islink(path))


def make_text(folder, book):
    return b''.join(read_file(path) for path in [*list_licences(folder), book])


def run(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace', check=False)
    if done.returncode != 0:
        sys.exit(f'quality.py: {" ".join(words)}: exit {done.returncode}\n{done.stderr[-1000:]}')
    return done


class Score:
    """A perplexity, its standard error, and nats a token of each window where they are known."""

    def __init__(self, value, error, windows=()):
        self.value, self.error, self.windows = value, error, list(windows)


def read_windows(text):
    """Nats a token of each window, from the perplexity so far behind each."""
    sums = [0.0, *(i * math.log(float(x)) for i, x in enumerate(re.findall(r'window \d+ of \d+: perplexity so far ([0-9.]+)', text), 1))]
    return [after - before for before, after in zip(sums, sums[1:])]


def score(options, model, text, *more, window=None, windows=None):
    """The score by quoin."""
    words = [options.quoin, 'perplexity', model, '-f', text, '-c', str(window or options.window), '--json', '--verbose', *more]
    words += ['--windows', str(windows or options.windows)] if windows or options.windows else []
    words += ['-t', str(options.threads)] if options.threads else []
    done = run(words)
    result = json.loads(done.stdout)
    return Score(result['perplexity'], result['error'], read_windows(done.stderr))


class Difference:
    """How far `a` is off `b`, and the standard error of that: windows are hard or easy for both alike, so it is far below that of either."""

    def __init__(self, a, b, beside):
        self.off, self.beside, self.error = a.value / b.value - 1, beside, 0.0
        if len(a.windows) == len(b.windows) > 1:
            self.error = statistics.stdev(x - y for x, y in zip(a.windows, b.windows)) / math.sqrt(len(a.windows))

    def __str__(self):
        return f'{self.off:+.3%} ± {self.error:.3%} of {self.beside}' if self.error else f'{self.off:+.3%} of {self.beside}'


def score_peer(options, program, model, text):
    words = [program, '-m', model, '-f', text, '-c', str(options.window), '-b', str(options.window)]
    words += ['--chunks', str(options.windows)] if options.windows else []
    words += ['-t', str(options.threads)] if options.threads else []
    done = run(words)
    return Score(*engines.read_perplexity(done.stdout + '\n' + done.stderr))


def run_engine(options, *words):
    return json.loads(run([options.engine, '-B', peers.ENGINE_SCRIPT, *map(str, words)]).stdout)


def score_engine(options, model, text):
    """The score by llama.cpp through its Python bindings."""
    result = run_engine(options, 'perplexity', model, text, '--window', options.window, '--windows', options.windows,
                        '--threads', options.threads or len(os.sched_getaffinity(0)))
    return Score(result['perplexity'], result['error'], result.get('nats_by_window', ()))


def round_again(options, model, folder):
    """Paths of the model in each of the asked types."""
    paths = []
    for kind in filter(None, options.types.split(',')):
        paths.append(os.path.join(folder, os.path.basename(model).removesuffix('.gguf') + f'-{kind}.gguf'))
        run_engine(options, 'quantise', model, paths[-1], kind)
    return paths


def list_peers(options, model, text):
    """(name, score) of each other engine."""
    found = [(ENGINE, score_engine(options, model, text))] if options.engine else []
    return found + [(program, score_peer(options, program, model, text)) for program in options.perplexity]


def measure_model(options, model, text):
    """[(what, score, difference or None)] and the sentences of what does not hold."""
    name, failures = os.path.basename(model), []
    exact = score(options, model, text, '--numeric', 'f32acc', '--backend', 'cpu')
    fast = score(options, model, text, '--numeric', 'act8', '--backend', 'cpu')
    cost = Difference(fast, exact, 'f32acc')
    rows = [('quoin f32acc', exact, None), ('quoin act8', fast, cost)]
    if abs(cost.off) > ALLOWED:
        failures.append(f'{name}: act8 is {cost}; {ALLOWED:.1%} is allowed')
    small = score(options, model, text, '--numeric', 'act8', '--backend', 'cpu', '--kv', 'q8')
    rows.append(('quoin act8, KV in q8', small, Difference(small, fast, 'act8')))
    few = [score(options, model, text, '--numeric', 'f32acc', '--backend', backend, window=REFERENCE_WINDOW, windows=1) for backend in ('cpu', 'reference')]
    rows.append((f'reference, {REFERENCE_WINDOW} tokens', few[1], Difference(few[0], few[1], 'the reference, by f32acc')))
    if abs(rows[-1][2].off) > ALLOWED / 10:
        failures.append(f'{name}: f32acc is {rows[-1][2].off:+.4%} beside reference')
    for program, other in list_peers(options, model, text):
        worse = Difference(fast, other, program)
        rows.append((program, other, Difference(other, exact, 'f32acc')))
        if worse.off > ALLOWED:
            failures.append(f'{name}: act8 is {worse}')
    return rows, failures


def make_report(text, results, options):
    now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC')
    windows = f'the first {options.windows} windows' if options.windows else 'all windows'
    lines = [f'{now}; {compare.read_cpu()}; {len(text)} bytes of text, SHA-256 {hashlib.sha256(text).hexdigest()}; {windows} of {options.window}.', '',
             '| model | computed by | perplexity | ± | difference |', '|---|---|---:|---:|---|']
    for model, rows in results:
        for what, found, difference in rows:
            lines.append(f'| {os.path.basename(model)} | {what} | {found.value:.4f} | {found.error:.4f} | {difference or ""} |')
    return '\n'.join(lines) + '\n'


def find_engine():
    path = os.path.join(peers.FOLDER, 'venv', 'bin', 'python')
    return path if os.path.exists(path) else ''


def find_models(options, folder):
    """What was asked for, or SmolLM2; behind each model the same in other types."""
    for model in options.models or [peers.model('smollm2')]:
        yield model
        yield from round_again(options, model, folder)


def parse(words=None):
    parser = argparse.ArgumentParser(description='perplexity on a fixed text, by numeric class and engine')
    parser.add_argument('models', nargs='*', metavar='MODEL.gguf')
    for name, default in (('quoin', compare.find_quoin()), ('book', None), ('text', None), ('report', None), ('licences', LICENCES), ('types', ''),
                          ('engine', find_engine())):
        parser.add_argument('--' + name, default=default)
    for name, default in (('threads', 0), ('window', 512), ('windows', 0)):
        parser.add_argument('--' + name, type=int, default=default)
    parser.add_argument('--perplexity', action='append', default=[])
    options = parser.parse_args(words)
    if options.quoin is None:
        parser.error('no quoin is built; give one with --quoin')
    if options.types and not options.engine:
        parser.error('--types needs llama.cpp: tests/full/get-engine builds it, --engine names it')
    return options


def main():
    options = parse()
    text = make_text(options.licences, options.book or fetch_book())
    results, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = options.text or os.path.join(folder, 'text')
        with open(path, 'wb') as f:
            f.write(text)
        for model in find_models(options, folder):
            rows, wrong = measure_model(options, model, path)
            results.append((model, rows))
            failures += wrong
    report = make_report(text, results, options)
    print(report, end='')
    if options.report:
        with open(options.report, 'w', encoding='utf-8') as f:
            f.write(report)
    for failure in failures:
        print(f'quality.py: {failure}', file=sys.stderr)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
