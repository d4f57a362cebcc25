#!/usr/bin/env python3
"""Speed beside other engines: quoin and all of them in turns on the same GGUF file, and the table of ratios.

    tests/bench/peers/compare.py [options] [MODEL.gguf[=OURS.p64] …]

    --quoin PATH          the program (default: build/release/bin/quoin, else build/dev/bin/quoin)
    --engine [NAME=]PATH[ OPTIONS]   a llama-bench, of llama.cpp or of a fork that keeps its protocol, such as ik_llama.cpp; may be given several
                          times, also the same one with other options: 'ik-rtr=/opt/ik/llama-bench -rtr 1 -fa 1'. Default: the one that
                          tests/full/get-engine built, else llama-cpp-python's low-level interface, which measures the same way
    --quoin-args TEXT     more options for quoin
    --random SHAPE:FORMAT a model with random weights (random_model.py); may be given several times; kept in build/peers/models
    --modes LIST          of decode, prefill, depth, load, perplexity (default: decode,prefill)
    --threads 1,2         thread counts (default: 1,2)       --rounds N     (default: 5)
    --prefill N,… --decode N    tokens (default: 512 and 128)
    --depth N,…           depths of the mode depth, 64 tokens each (default: 2048)
    --text FILE --window N --windows N    of the mode perplexity (default window: 512; all windows)
    --wait SECONDS        before each run, wait up to so long for a second in which others used under a tenth of a processor (default: 0)
    --json FILE           all single results                 --report FILE  the table, besides standard output
    --brief               the table has the fastest of the others only, with its name

Without MODEL and --random the two models of the full tests are measured. MODEL.gguf=OURS.p64: quoin runs this container, made of the GGUF.

A round is one run of each program, each with its own warm-up; each round begins with another of them, so that a slow minute of the
machine meets all. The table has the medians of the runs, the median of the rounds' ratios and their range, and what share of the ceiling that
quoin measured in the same run it reached: of reading for decode, of multiplying for prefill. How many processors others used
meanwhile is printed with each round, kept in the JSON, and said in the table where it is more than a tenth: such a table says little.

Modes: decode and prefill are tokens per second; depth is decode behind that many positions. load is the wall time of the whole process on a
warm page cache, with a prompt of four tokens and no warm-up, up to the first token, and the most memory that was resident: there less is better.
perplexity is computed once by each, and is not a matter of speed.
"""
import argparse
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', '..', 'support')]
sys.dont_write_bytecode = True
import engines  # noqa: E402  (found through the line above)
import peers  # noqa: E402

RUN_LIMIT = 3600    # seconds
BUSY = 0.1          # processors used by others from which on a measurement is doubtful
DEPTH_TOKENS = 64
MODES = ('decode', 'prefill', 'depth', 'load', 'perplexity')


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


def finish(child, limit):
    """Both streams, exit status and resource use of a child; its memory is told by wait4, and only once."""
    timer = threading.Timer(limit, child.kill)
    timer.start()
    streams = [b'', b'']
    reader = threading.Thread(target=lambda: streams.__setitem__(1, child.stderr.read()))
    reader.start()
    streams[0] = child.stdout.read()
    reader.join()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    return *(s.decode('utf-8', 'replace') for s in streams), used


def run_timed(command, wait):
    """What a run printed on both streams, and {'wall', 'rss_mib', 'others': processors that others used meanwhile}."""
    wait_until_quiet(wait)
    busy, begin = read_busy(), time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors, used = finish(child, RUN_LIMIT)
    wall = time.monotonic() - begin
    if child.returncode != 0:
        raise SystemExit(f'{shlex.join(command)}: exit {child.returncode}\n{errors[-2000:]}')
    others = max(0.0, (read_busy() - busy - used.ru_utime - used.ru_stime) / wall)
    return output, errors, {'wall': wall, 'rss_mib': used.ru_maxrss / 1024, 'others': round(others, 3)}


def measure_once(engine, model, threads, work, wait):
    """{'value': …} of one run: tokens per second, or seconds and MiB for load, or the perplexity; and the share of a ceiling where it is told."""
    output, errors, run = run_timed(engine.command(model, threads, work), wait)
    if work['kind'] != 'load':
        run['value'] = engine.read(work, output, errors)
        run['share'] = engine.share
    return run


def measure_rounds(programs, model, threads, work, options):
    """[{name: run}], each round with all programs, in an order that turns."""
    rounds = []
    n_rounds = 1 if work['kind'] == 'perplexity' else options.rounds
    for number in range(n_rounds):
        first = number % len(programs)
        runs = {engine.name: measure_once(engine, model, threads, work, options.wait) for engine in programs[first:] + programs[:first]}
        rounds.append(runs)
        print(f'{os.path.basename(model)}, {describe(work)}, {threads} threads, round {number + 1} of {n_rounds}: '
              + '; '.join(f'{name} {run.get("value", run["wall"]):.3f}, others used {run["others"]:.2f} processors' for name, run in runs.items()),
              file=sys.stderr, flush=True)
    return rounds


def describe(work):
    if work['kind'] == 'decode':
        return f'decode {work["tokens"]}' + (f' at depth {work["depth"]}' if work['depth'] else '')
    return f'prefill {work["tokens"]}' if work['kind'] == 'prefill' else work['kind']


def list_works(options):
    works = []
    for mode in options.modes:
        if mode == 'decode':
            works.append({'kind': 'decode', 'tokens': options.decode, 'depth': 0})
        elif mode == 'prefill':
            works += [{'kind': 'prefill', 'tokens': n} for n in options.prefill]
        elif mode == 'depth':
            works += [{'kind': 'decode', 'tokens': min(options.decode, DEPTH_TOKENS), 'depth': n} for n in options.depth]
        elif mode == 'load':
            works.append({'kind': 'load'})
        else:
            works.append({'kind': 'perplexity', 'text': options.text, 'window': options.window, 'windows': options.windows})
    return works


def summarise(ours, others, model, threads, work, rounds):
    """One row for each other engine and each quantity of the work."""
    kinds = [('wall', 'load to first token', 's'), ('rss_mib', 'resident memory', 'MiB')] if work['kind'] == 'load' else [
        ('value', describe(work), '' if work['kind'] == 'perplexity' else 'tok/s')]
    shares = [runs[ours.name]['share'] for runs in rounds if runs[ours.name].get('share')]
    rows = []
    for key, name, unit in kinds:
        for theirs in others:
            ratios = [runs[ours.name][key] / runs[theirs.name][key] for runs in rounds]
            rows.append({'model': os.path.basename(model), 'work': name, 'unit': unit, 'threads': threads, 'engine': theirs.name,
                         'ours': statistics.median(runs[ours.name][key] for runs in rounds),
                         'theirs': statistics.median(runs[theirs.name][key] for runs in rounds),
                         'share': statistics.median(shares) if shares else None,
                         'ratio': statistics.median(ratios), 'least': min(ratios), 'most': max(ratios)})
    return rows


def name_slowest(profile):
    """The op that took the most of a decode step, or nothing when the backend does not tell."""
    total = sum(op['us_per_token'] for op in profile or [])
    if total <= 0:
        return ''
    worst = max(profile, key=lambda op: op['us_per_token'])
    return f'{worst["count"]} x {worst["op"]} [{worst["kernel"]}], {worst["us_per_token"]:.0f} µs a token, {100 * worst["us_per_token"] / total:.0f} %'


def read_cpu():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        names = [line.split(':', 1)[1].strip() for line in f if line.startswith(('model name', 'CPU part'))]
    return f'{names[0] if names else os.uname().machine}, {os.cpu_count()} processors'


def form(value, unit):
    return f'{value:.4f}' if unit == '' else f'{value:.2f}' if unit == 's' else f'{value:.1f}'


def group_rows(rows):
    """Rows of one model, work and number of threads together, in the order of the first of each."""
    groups = {}
    for row in rows:
        groups.setdefault((row['model'], row['work'], row['threads']), []).append(row)
    return list(groups.values())


def make_table(rows):
    """One line for each model, work and number of threads, with all engines side by side."""
    names = list(dict.fromkeys(row['engine'] for row in rows))
    head = ['model', 'work', 'threads', 'quoin', 'of ceiling'] + [cell for name in names for cell in (name, 'ratio', 'range')]
    lines = ['| ' + ' | '.join(head) + ' |', '|---|---|---:|---:|---:' + '|---:|---:|---' * len(names) + '|']
    for group in group_rows(rows):
        cells = {row['engine']: row for row in group}
        model, work, threads = (group[0][key] for key in ('model', 'work', 'threads'))
        unit = next(iter(cells.values()))['unit']
        ours = next(iter(cells.values()))
        line = [model, f'{work}, {unit}' if unit else work, str(threads), form(ours['ours'], unit), f'{ours["share"]:.2f}' if ours['share'] else '']
        for name in names:
            row = cells.get(name)
            line += [form(row['theirs'], unit), f'{row["ratio"]:.3f}' if unit == '' else f'{row["ratio"]:.2f}',
                     f'{row["least"]:.2f}–{row["most"]:.2f}'] if row else ['', '', '']
        lines.append('| ' + ' | '.join(line) + ' |')
    return lines


def make_brief_table(rows):
    """One line for each model, work and number of threads, with the engine that is hardest to beat."""
    lines = ['| model | work | threads | quoin | of ceiling | fastest other | its name | ratio | range |', '|---|---|---:|---:|---:|---:|---|---:|---|']
    for group in group_rows(rows):
        unit = group[0]['unit']
        least_is_best = unit in ('s', 'MiB', '')
        row = (max if least_is_best else min)(group, key=lambda one: one['ratio'])
        lines.append('| ' + ' | '.join([
            row['model'], f'{row["work"]}, {unit}' if unit else row['work'], str(row['threads']), form(row['ours'], unit),
            f'{row["share"]:.2f}' if row['share'] else '', form(row['theirs'], unit), row['engine'], f'{row["ratio"]:.2f}',
            f'{row["least"]:.2f}–{row["most"]:.2f}']) + ' |')
    return lines


def make_report(rows, versions, commands, slowest, others, notes, options):
    now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC')
    lines = [f'{now}; {read_cpu()}; {"; ".join(versions)}; medians of {options.rounds} rounds. Ratio: quoin divided by the other; '
             'for load and memory less is better.', '', *(make_brief_table if options.brief else make_table)(rows)]
    if others > BUSY:
        lines += ['', f'Others used {others:.2f} processors meanwhile (median): these numbers say little.']
    lines += [''] * bool(notes) + [f'- Not measured: {note}' for note in notes]
    lines += [''] * bool(slowest) + [f'- Slowest op of a decode step, {where}: {op}' for where, op in slowest]
    lines += ['', 'Commands, one run of each per round:', ''] + ['    ' + shlex.join(words) for words in commands]
    return '\n'.join(lines) + '\n'


def find_quoin():
    for preset in ('release', 'dev'):
        path = os.path.join(peers.SOURCE, 'build', preset, 'bin', 'quoin')
        if os.access(path, os.X_OK):
            return path
    return None


def parse_engine(text):
    """'[NAME=]PATH[ OPTIONS]' as a LlamaBench."""
    first, _, more = text.partition(' ')
    name, _, path = first.rpartition('=')
    return engines.LlamaBench(path, name or None, more)


def open_engines(options):
    if options.engine:
        return [parse_engine(text) for text in options.engine]
    path = peers.bench_binary()
    if path is None:
        python = peers.python()      # builds it, llama-bench too
        path = peers.bench_binary()
    return [engines.LlamaBench(path)] if path else [engines.LlamaPython(python, peers.ENGINE_SCRIPT)]


def make_random(text):
    """Path of a random model 'SHAPE:FORMAT', written when it is missing."""
    shape, _, kind = text.partition(':')
    path = os.path.join(peers.FOLDER, 'models', f'random-{shape}-{kind}.gguf')
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([sys.executable, '-B', os.path.join(HERE, '..', 'random_model.py'), path, '--shape', shape, '--format', kind], check=True)
    return path


def list_models(options):
    """[GGUF], and {GGUF: our container of it}."""
    given = [text.partition('=') for text in options.models]
    models = [first for first, _, _ in given] + [make_random(text) for text in options.random]
    return models or [peers.model(name) for name in peers.MODELS], {first: other for first, _, other in given if other}


def numbers(text):
    return [int(x) for x in text.split(',')]


def parse(words=None):
    parser = argparse.ArgumentParser(description='quoin beside other engines, in turns on the same files')
    parser.add_argument('models', nargs='*', metavar='MODEL.gguf[=OURS.p64]')
    for name, default in (('quoin', find_quoin()), ('quoin-args', ''), ('text', None), ('json', None), ('report', None)):
        parser.add_argument('--' + name, default=default)
    for name in ('engine', 'random'):
        parser.add_argument('--' + name, action='append', default=[])
    for name, default in (('decode', 128), ('rounds', 5), ('wait', 0), ('window', 512), ('windows', 0)):
        parser.add_argument('--' + name, type=int, default=default)
    for name, default in (('threads', [1, 2]), ('prefill', [512]), ('depth', [2048])):
        parser.add_argument('--' + name, type=numbers, default=default)
    parser.add_argument('--brief', action='store_true')
    parser.add_argument('--modes', type=lambda text: text.split(','), default=['decode', 'prefill'])
    options = parser.parse_args(words)
    unknown = [mode for mode in options.modes if mode not in MODES]
    if unknown:
        parser.error(f'--modes {",".join(unknown)}: choose from {", ".join(MODES)}')
    if 'perplexity' in options.modes and options.text is None:
        parser.error('the mode perplexity needs --text FILE')
    if options.quoin is None:
        parser.error('no quoin is built; give one with --quoin')
    return options


def list_able(others, model, threads, work, notes):
    """The engines that can do the work; the others get a note, once for each reason."""
    able = []
    for engine in others:
        try:
            engine.command(model, threads, work)
            able.append(engine)
        except engines.Unable as reason:
            notes += [f'{describe(work)} with {engine.name}: {reason}'] if reason.args[0] not in str(notes) else []
    return able


def measure_all(ours, others, models, options):
    rows, singles, slowest, busy, commands, notes = [], [], [], [], [], []
    for model in models:
        for threads in options.threads:
            for work in list_works(options):
                able = list_able(others, model, threads, work, notes)
                if not able:
                    continue
                rounds = measure_rounds([ours, *able], model, threads, work, options)
                rows += summarise(ours, able, model, threads, work, rounds)
                busy += [run['others'] for runs in rounds for run in runs.values()]
                if model == models[0] and threads == options.threads[0]:
                    commands += [engine.command(model, threads, work) for engine in (ours, *able)]
                singles.append({'model': model, 'threads': threads, 'work': work, 'rounds': rounds})
                if work['kind'] == 'decode' and work['depth'] == 0 and name_slowest(ours.seen.get('profile')):
                    slowest.append((f'{os.path.basename(model)} with {threads} threads', name_slowest(ours.seen['profile'])))
    return rows, singles, slowest, busy, commands, notes


def main():
    options = parse()
    try:
        models, containers = list_models(options)
        ours, others = engines.Quoin(options.quoin, options.quoin_args, containers), open_engines(options)
    except peers.Missing as reason:
        print(f'compare.py: {reason}', file=sys.stderr)
        return 77
    rows, singles, slowest, busy, commands, notes = measure_all(ours, others, models, options)
    if not rows:
        raise SystemExit('compare.py: nothing was measured: ' + '; '.join(notes))
    versions = [engine.version for engine in (ours, *others)]
    report = make_report(rows, versions, commands, slowest, statistics.median(busy), notes, options)
    print(report, end='')
    if options.report:
        with open(options.report, 'w', encoding='utf-8') as f:
            f.write(report)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as f:
            json.dump({'cpu': read_cpu(), 'versions': versions, 'rows': rows, 'runs': singles, 'quoin': ours.seen}, f, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
