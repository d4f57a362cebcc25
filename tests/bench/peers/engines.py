"""The programs that compare.py and quality.py measure: how each is called, and how its answer is read.

A work is a dictionary: {'kind': 'prefill', 'tokens': 512}, {'kind': 'decode', 'tokens': 128, 'depth': 0}, {'kind': 'load'} or
{'kind': 'perplexity', 'text': FILE, 'window': 512, 'windows': 0}. An engine's `command` gives the words of a program that does it, its `read` the
number from what the program printed: tokens per second, or the perplexity. What `load` measures is the program as a whole: its wall time, from start to
end, with a prompt of four tokens, and the most memory that was resident.
"""
import json
import os
import re
import shlex
import subprocess

LOAD_PROMPT = 4     # tokens


class Unable(Exception):
    """Why this engine cannot do this work."""


def read_rows(text):
    """The rows of llama-bench's JSON. Forks have written values without their quotes: then each `"key": value` is taken by itself."""
    try:
        rows = json.loads(text)
    except ValueError:
        rows = [dict(re.findall(r'"(\w+)": "?([^"\n]*?)"?,?\n', body + '\n')) for body in re.findall(r'\{(.*?)\n\s*\}', text, re.S)]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f'no rows of llama-bench: {text[:200]!r}')
    return rows


def read_rate(row, work):
    """Tokens per second of a row, or None when it is of other work."""
    prompt, decoded, depth = (int(row.get(key) or 0) for key in ('n_prompt', 'n_gen', 'n_depth'))
    if work['kind'] == 'prefill':
        return float(row['avg_ts']) if (prompt, decoded, depth) == (work['tokens'], 0, 0) else None
    if decoded != work['tokens']:
        return None
    if depth == work['depth'] and prompt == 0:
        return float(row['avg_ts'])
    # A prompt that is not timed, and tokens behind it: the clock was started in between, whatever the average was divided by.
    return decoded / (float(row['avg_ns']) * 1e-9) if depth == 0 and prompt == work['depth'] > 0 else None


def read_perplexity(text):
    """The last estimate of llama-perplexity and its error, from all that it printed."""
    found = re.findall(r'Final estimate: PPL.*= ([0-9.]+)(?: \+/- ([0-9.]+))?', text)
    if not found:
        raise ValueError(f'no "Final estimate: PPL": {text[-200:]!r}')
    return float(found[-1][0]), float(found[-1][1] or 0)


def run_for_version(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode('utf-8', 'replace')


class Quoin:
    """`models` says which file stands for a GGUF file here: {GGUF: P64 made of it}."""
    name = 'quoin'

    def __init__(self, path, more='', models=None):
        self.path, self.more, self.models, self.seen, self.share = path, shlex.split(more), models or {}, {}, None
        self.version = (run_for_version([path, '--version']).splitlines() or ['quoin'])[0]

    def command(self, model, threads, work):
        model = self.models.get(model, model)
        common = ['-t', str(threads), '--json', *self.more]
        if work['kind'] == 'prefill':
            return [self.path, 'bench', model, '-p', str(work['tokens']), '-n', '1', '-r', '1', *common]
        if work['kind'] == 'decode':
            return [self.path, 'bench', model, '-p', '1', '-n', str(work['tokens']), '-d', str(work['depth']), '-r', '1', *common]
        if work['kind'] == 'load':
            ids = ','.join(str(3 + i) for i in range(LOAD_PROMPT))
            return [self.path, 'run', model, '--prompt-tokens', ids, '-n', '1', '-c', '64', '--temp', '0', *common]
        windows = ['--windows', str(work['windows'])] if work['windows'] else []
        return [self.path, 'perplexity', model, '-f', work['text'], '-c', str(work['window']), *windows, *common]

    def read(self, work, output, errors):
        result = json.loads(output)
        if work['kind'] == 'perplexity':
            return result['perplexity']
        self.seen = {key: result.get(key) for key in ('backend', 'read_ceiling_bytes_per_s', 'bytes_per_token', 'peaks', 'profile')}
        self.share = result.get('prefill_share_of_peak') if work['kind'] == 'prefill' else result['decode'][-1].get('share_of_ceiling')
        return result['prefill_tokens_per_s' if work['kind'] == 'prefill' else 'decode_tokens_per_s']['median']


class LlamaBench:
    """A llama-bench: llama.cpp's, or that of a fork. Which options it knows is taken from what it says of itself."""
    share = None    # it tells none

    def __init__(self, path, name=None, more=''):
        self.path, self.more = path, shlex.split(more)
        self.name = name or os.path.basename(path)
        self.version = path
        self.help = run_for_version([path, '--help'])

    def knows(self, option):
        return re.search(r'(^|[\s,])' + re.escape(option) + r'(?![\w-])', self.help, re.M) is not None

    def without_warm_up(self):
        return ['--no-warmup'] if self.knows('--no-warmup') else ['-w', '0'] if self.knows('--warmup') else []

    def command(self, model, threads, work):
        if work['kind'] == 'perplexity':
            return self.perplexity_command(model, threads, work)
        base = [self.path, '-m', model, '-t', str(threads), '-r', '1', '-o', 'json', *self.more]
        if work['kind'] == 'load':
            return [*base, '-p', str(LOAD_PROMPT), '-n', '0', *self.without_warm_up()]
        if work['kind'] == 'prefill':
            return [*base, '-p', str(work['tokens']), '-n', '0']
        if work['depth'] == 0:
            return [*base, '-p', '0', '-n', str(work['tokens'])]
        if self.knows('--n-depth'):
            return [*base, '-p', '0', '-n', str(work['tokens']), '-d', str(work['depth'])]
        if self.knows('-gp'):
            return [*base, '-p', '0', '-n', '0', '-gp', f'{work["depth"]},{work["tokens"]}']
        raise Unable(f'{self.path} has neither --n-depth nor -gp: it cannot decode at a depth')

    def perplexity_command(self, model, threads, work):
        path = os.path.join(os.path.dirname(self.path), 'llama-perplexity')
        if not os.access(path, os.X_OK):
            raise Unable(f'{path}: there is no such program')
        chunks = ['--chunks', str(work['windows'])] if work['windows'] else []
        return [path, '-m', model, '-f', work['text'], '-c', str(work['window']), '-b', str(work['window']), '-t', str(threads), *chunks]

    def read(self, work, output, errors):
        if work['kind'] == 'perplexity':
            return read_perplexity(output + '\n' + errors)[0]
        rows = read_rows(output)
        if rows[0].get('build_commit'):
            self.version = f'{self.name} {rows[0]["build_commit"]}' + (f' {shlex.join(self.more)}' if self.more else '')
        rates = [rate for rate in (read_rate(row, work) for row in rows) if rate is not None]
        if len(rates) != 1:
            raise ValueError(f'{self.name}: {len(rates)} of {len(rows)} rows are of this work: {work}')
        return rates[0]


class LlamaPython:
    """llama.cpp through llama-cpp-python's low-level interface, which measures as llama-bench does."""
    name, version, share = 'llama.cpp', 'llama-cpp-python', None

    def __init__(self, python, script):
        self.python, self.script = python, script

    def command(self, model, threads, work):
        if work['kind'] not in ('prefill', 'decode') or work.get('depth'):
            raise Unable('llama-cpp-python measures prefill and decode only; give a llama-bench with --engine')
        prefill, decode = (work['tokens'], 1) if work['kind'] == 'prefill' else (1, work['tokens'])
        return [self.python, '-B', self.script, 'bench', model, '--threads', str(threads), '--prefill', str(prefill), '--decode', str(decode)]

    def read(self, work, output, errors):
        result = json.loads(output)
        self.version = result['engine']
        return result[work['kind']]
