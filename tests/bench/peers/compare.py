#!/usr/bin/env python3
"""Speed beside another engine: quoin bench and llama-bench in alternating pairs on the same GGUF file.

    tests/bench/peers/compare.py [options] [MODEL.gguf …]

    --quoin PATH        the program (default: build/release/bin/quoin, else build/dev/bin/quoin)
    --engine PATH       a llama-bench, of llama.cpp or of a fork that keeps its options and its JSON (default: the one that
                        tests/full/get-engine built, else llama-cpp-python's low-level interface, which measures the same way)
    --engine-args TEXT  more options for that binary; --quoin-args TEXT: more for quoin bench
    --threads 1,2       thread counts (default: 1,2)        --prefill N, --decode N    tokens (default: 512 and 128)
    --depth N           positions filled before decoding (default: 0)                  --pairs N    (default: 5)
    --wait SECONDS      before each run, wait up to so long for a second in which others used under a tenth of a processor (default: 0)
    --json FILE         all single results                  --report FILE              the table, besides standard output

Without MODEL the two models of the full tests are measured. A pair is one run of each program, each with its own warm-up; pairs
begin in turn with one and with the other, so that a slow minute of the machine meets both. The table has the medians of the runs,
the median of the pairs' ratios and their range. How many processors others took meanwhile is printed with each pair, kept in the JSON,
and said in the table where it is more than a tenth: such a table says little.
"""
import argparse
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'support'))
sys.dont_write_bytecode = True
import peers  # noqa: E402  (found through the line above)

RUN_LIMIT = 3600    # seconds
BUSY = 0.1          # processors used by others from which on a measurement is doubtful


def read_busy():
    """Seconds of processor time that everything on this machine has used since it started."""
    with open('/proc/stat', encoding='ascii') as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf('SC_CLK_TCK')


def wait_until_quiet(limit):
    until = time.monotonic() + limit
    while time.monotonic() < until:
        busy = read_busy()
        time.sleep(1)
        if read_busy() - busy < BUSY:
            return


def run_timed(command, wait):
    """(standard output, processors that others used on average meanwhile)."""
    wait_until_quiet(wait)
    busy, begin, own = read_busy(), time.monotonic(), os.times()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=RUN_LIMIT)
    wall, now = time.monotonic() - begin, os.times()
    if done.returncode != 0:
        raise SystemExit(f'{shlex.join(command)}: exit {done.returncode}\n{done.stderr.decode("utf-8", "replace")[-2000:]}')
    used = now.children_user + now.children_system - own.children_user - own.children_system
    return done.stdout, max(0.0, (read_busy() - busy - used) / wall)


class Quoin:
    name = 'quoin'

    def __init__(self, options):
        self.path, self.more = options.quoin, shlex.split(options.quoin_args)
        self.version = subprocess.run([self.path, '--version'], stdout=subprocess.PIPE).stdout.decode().splitlines()[0]
        self.seen = {}

    def command(self, model, threads, o):
        return [self.path, 'bench', model, '-p', str(o.prefill), '-n', str(o.decode), '-d', str(o.depth), '-r', '1', '-t', str(threads), '--json',
                *self.more]

    def read(self, output):
        result = json.loads(output)
        self.seen = {'backend': result['backend'], 'read_ceiling_bytes_per_s': result['read_ceiling_bytes_per_s'],
                     'bytes_per_token': result['bytes_per_token'], 'profile': result.get('profile') or []}
        return {'prefill': result['prefill_tokens_per_s']['median'], 'decode': result['decode_tokens_per_s']['median']}


class LlamaBench:
    def __init__(self, options, path):
        self.path, self.more = path, shlex.split(options.engine_args)
        self.name, self.version = os.path.basename(path), path

    def command(self, model, threads, o):
        depth = ['-d', str(o.depth)] if o.depth > 0 else []
        return [self.path, '-m', model, '-p', str(o.prefill), '-n', str(o.decode), *depth, '-r', '1', '-t', str(threads), '-o', 'json', *self.more]

    def read(self, output):
        rates = {}
        for row in json.loads(output):
            rates['prefill' if row['n_prompt'] > 0 else 'decode'] = row['avg_ts']
            self.version = f'{self.path}, build {row.get("build_commit")}'
        return rates


class LlamaPython:
    name, version = 'llama.cpp', 'llama-cpp-python'

    def __init__(self):
        self.python = peers.python()

    def command(self, model, threads, o):
        if o.depth > 0:
            raise SystemExit('--depth needs a llama-bench; give one with --engine')
        return [self.python, '-B', peers.ENGINE_SCRIPT, 'bench', model, '--threads', str(threads), '--prefill', str(o.prefill), '--decode',
                str(o.decode)]

    def read(self, output):
        result = json.loads(output)
        self.version = result['engine']
        return result


def open_engine(options):
    if options.engine:
        return LlamaBench(options, options.engine)
    path = peers.bench_binary()
    if path is None:
        peers.python()      # builds it, llama-bench too
        path = peers.bench_binary()
    return LlamaBench(options, path) if path else LlamaPython()


def measure_pair(engines, model, threads, options):
    """{engine name: {'prefill': tokens/s, 'decode': …, 'others': processors}}, in the order of `engines`."""
    pair = {}
    for engine in engines:
        output, others = run_timed(engine.command(model, threads, options), options.wait)
        rates = engine.read(output)
        pair[engine.name] = {'prefill': rates['prefill'], 'decode': rates['decode'], 'others': round(others, 3)}
    return pair


def measure(ours, theirs, model, threads, options):
    pairs = []
    for number in range(options.pairs):
        order = [ours, theirs] if number % 2 == 0 else [theirs, ours]
        pairs.append(measure_pair(order, model, threads, options))
        print(f'{os.path.basename(model)}, {threads} threads, pair {number + 1} of {options.pairs}: '
              + '; '.join(f'{name} {r["prefill"]:.1f} and {r["decode"]:.1f} tok/s, others used {r["others"]:.2f} processors'
                          for name, r in pairs[-1].items()), file=sys.stderr, flush=True)
    return pairs


def summarise(ours, theirs, model, threads, pairs, work):
    ratios = [p[ours.name][work] / p[theirs.name][work] for p in pairs]
    return {'model': os.path.basename(model), 'work': work, 'threads': threads, 'ours': statistics.median(p[ours.name][work] for p in pairs),
            'theirs': statistics.median(p[theirs.name][work] for p in pairs), 'ratio': statistics.median(ratios), 'least': min(ratios),
            'most': max(ratios)}


def name_slowest(profile):
    """The op that took the most of a decode step, or nothing when the backend does not tell."""
    total = sum(op['us_per_token'] for op in profile)
    if total <= 0:
        return ''
    worst = max(profile, key=lambda op: op['us_per_token'])
    return f'{worst["count"]} x {worst["op"]} [{worst["kernel"]}], {worst["us_per_token"]:.0f} µs a token, {100 * worst["us_per_token"] / total:.0f} %'


def read_cpu():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        names = [line.split(':', 1)[1].strip() for line in f if line.startswith(('model name', 'CPU part'))]
    return f'{names[0] if names else os.uname().machine}, {os.cpu_count()} processors'


def make_report(ours, theirs, rows, slowest, others, options):
    now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC')
    lines = [f'{now}; {read_cpu()}; {ours.version}; {theirs.version}; medians of {options.pairs} alternating pairs.', '',
             f'| model | work | threads | {ours.name} tok/s | {theirs.name} tok/s | ratio | range |', '|---|---|---:|---:|---:|---:|---|']
    for r in rows:
        size = options.prefill if r['work'] == 'prefill' else options.decode
        depth = f' at depth {options.depth}' if r['work'] == 'decode' and options.depth else ''
        lines.append(f'| {r["model"]} | {r["work"]} {size}{depth} | {r["threads"]} | {r["ours"]:.1f} | {r["theirs"]:.1f} | {r["ratio"]:.2f} '
                     f'| {r["least"]:.2f}–{r["most"]:.2f} |')
    if others > BUSY:
        lines += ['', f'Others used {others:.2f} processors meanwhile (median): these numbers say little.']
    if any(op for _, op in slowest):
        lines += [''] + [f'- Slowest op of a decode step, {where}: {op}' for where, op in slowest if op]
    example = (rows[0]['model'], rows[0]['threads'])
    lines += ['', 'Commands, one run of each per pair:', '', '    ' + shlex.join(ours.command(*example, options)),
              '    ' + shlex.join(theirs.command(*example, options))]
    return '\n'.join(lines) + '\n'


def find_quoin():
    for preset in ('release', 'dev'):
        path = os.path.join(peers.SOURCE, 'build', preset, 'bin', 'quoin')
        if os.access(path, os.X_OK):
            return path
    return None


def parse():
    parser = argparse.ArgumentParser(description='quoin bench and llama-bench in alternating pairs on the same files')
    parser.add_argument('models', nargs='*', metavar='MODEL.gguf')
    for name, default in (('quoin', find_quoin()), ('engine', None), ('engine-args', ''), ('quoin-args', ''), ('json', None), ('report', None)):
        parser.add_argument('--' + name, default=default)
    for name, default in (('prefill', 512), ('decode', 128), ('depth', 0), ('pairs', 5), ('wait', 0)):
        parser.add_argument('--' + name, type=int, default=default)
    parser.add_argument('--threads', type=lambda text: [int(x) for x in text.split(',')], default=[1, 2])
    options = parser.parse_args()
    if options.quoin is None:
        parser.error('no quoin is built; give one with --quoin')
    return options


def main():
    options = parse()
    try:
        models = options.models or [peers.model(name) for name in peers.MODELS]
        ours, theirs = Quoin(options), open_engine(options)
    except peers.Missing as reason:
        print(f'compare.py: {reason}', file=sys.stderr)
        return 77
    rows, singles, slowest, others = [], [], [], []
    for model in models:
        for threads in options.threads:
            pairs = measure(ours, theirs, model, threads, options)
            rows += [summarise(ours, theirs, model, threads, pairs, work) for work in ('decode', 'prefill')]
            slowest.append((f'{os.path.basename(model)} with {threads} threads', name_slowest(ours.seen['profile'])))
            others += [result['others'] for pair in pairs for result in pair.values()]
            singles.append({'model': model, 'threads': threads, 'pairs': pairs, 'quoin': ours.seen})
    report = make_report(ours, theirs, rows, slowest, statistics.median(others), options)
    print(report, end='')
    if options.report:
        with open(options.report, 'w', encoding='utf-8') as f:
            f.write(report)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as f:
            json.dump({'cpu': read_cpu(), 'quoin': ours.version, 'engine': theirs.version, 'prefill': options.prefill, 'decode': options.decode,
                       'depth': options.depth, 'rows': rows, 'runs': singles}, f, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
