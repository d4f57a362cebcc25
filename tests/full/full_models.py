#!/usr/bin/env python3
"""Real models against an independent engine, llama.cpp: full_models.py smollm2|gemma3

SmolLM2-135M-Instruct (Q4_1) runs from a P64 that convert makes, Gemma 3 270M (Q4_K_M) from its GGUF. Every prompt is continued by the
engine for QUOIN_FULL_STEPS tokens (64), greedily, past any end token. quoin is then fed with the engine's ids, and runs free.

  act8     against the engine on the same file, whose activations are 8-bit too: the most likely token must be the same at every step
           where the engine's first two logits are more than 0.25 apart.
  f32acc   against the engine on the same weights dequantised to F32: more than 0.05 apart.

The engine's own 8-bit arithmetic is off by more than 0.25 now and then: a step where it stands alone against its own F32 run on the
same ids, and quoin agrees with that run, is counted apart ("engine off") and printed. The engine computes GELU from a table of 16-bit
floats, which moves Gemma 3's logits by up to 0.02; the limit of 0.05 leaves room for it.

Both keep their KV cache in F32, so that only the arithmetic of the class is compared.

Running free, the first difference, if any, must lie at such a small gap; it is printed with step, both ids and gap.

What a user gets without options (act8, KV cache in F16) is judged by the engine's F32 run: fed with the same ids, the most likely token
may differ from that run's about as often as the engine's own 8-bit run does: at most twice as often and four times more. A table of all
results is printed at the end and kept in build/…/full.
"""
import array
import json
import math
import os
import subprocess
import sys

import peers
from logits import same_logits
from program import *
from prompts import PROMPTS

STEPS = int(os.environ.get('QUOIN_FULL_STEPS') or 64)
BACKEND = os.environ.get('QUOIN_FULL_BACKEND') or 'cpu'
CLASSES = {'act8': {'gap': 0.25, 'kv': 'f32', 'reference': 'same'}, 'f32acc': {'gap': 0.05, 'kv': 'f32', 'reference': 'f32'}}
FEED_IDS = os.path.join(BINARY, 'tests', 'feed_ids')
WORK = os.path.join(BINARY, 'full')
LONG_RUN = 3600     # seconds


class Subject:
    """One model: its files, and what the engine says about it, computed when first asked for."""

    def __init__(self, name):
        self.name = name
        self.cache = {}
        self.rows, self.notes = [], []

    def once(self, key, make):
        """The value of make(), computed once; a reason to skip is remembered too."""
        if key not in self.cache:
            try:
                need_full()
                self.cache[key] = make()
            except peers.Missing as reason:
                self.cache[key] = reason
        if isinstance(self.cache[key], peers.Missing):
            skip(self.cache[key])
        return self.cache[key]

    def gguf(self):
        return self.once('gguf', lambda: peers.model(self.name))

    def work(self, name):
        os.makedirs(WORK, exist_ok=True)
        return os.path.join(WORK, f'{self.name}-{name}')

    def container(self, t):
        """The model as a container with its companion."""
        path = self.work('model.p64')
        self.gguf()
        if 'p64' not in self.cache:
            t.exits(0, 'convert', self.gguf(), '-o', path, '--force', wall=LONG_RUN)
            self.cache['p64'] = path
        return path

    def run_path(self, t):
        """The file that quoin runs: one model from its container, the other from its GGUF."""
        return self.container(t) if self.name == 'smollm2' else self.gguf()

    def continued(self, reference):
        """The engine's own greedy continuation; reference 'same' or 'f32'."""
        return self.once(reference, lambda: self.decode(reference, reference))

    def same_ids_in_f32(self):
        """The engine on the F32 weights, fed with the ids of its run on the quantised file."""
        follow = self.work('ids.json')
        with open(follow, 'w', encoding='utf-8') as f:
            json.dump([run['ids'] for run in self.continued('same')['runs']], f)
        return self.once('exact', lambda: self.decode('f32', 'exact', '--follow', follow))

    def decode(self, reference, name, *more):
        model = peers.model(self.name) if reference == 'same' else peers.f32_model(self.name)
        prompts, logits = self.work('prompts.json'), self.work(name + '.logits')
        with open(prompts, 'w', encoding='utf-8') as f:
            json.dump([text for _, text in PROMPTS], f)
        peers.python()
        result = peers.engine('decode', model, prompts, '--steps', STEPS, '--logits', logits, *more)
        result['first_logits'] = read_logits(logits, result['n_vocab'], len(PROMPTS))
        return result


def read_logits(path, n_vocab, n_runs):
    values = array.array('f')
    with open(path, 'rb') as f:
        values.frombytes(f.read())
    if sys.byteorder != 'little':
        values.byteswap()
    if len(values) % n_runs != 0 or len(values) < n_vocab * n_runs:
        raise Failed(f'{path}: {len(values)} logits of {n_runs} runs')
    width = len(values) // n_runs
    return [values[i * width:i * width + n_vocab] for i in range(n_runs)]


def feed(subject, t, numeric, kv, runs):
    """quoin's most likely tokens at every step of the engine's runs, and all logits of the first steps."""
    path = subject.run_path(t)
    logits = subject.work('quoin.logits')
    lines = [','.join(map(str, run['prompt_ids'])) + '|' + ','.join(map(str, run['ids'][:-1])) for run in runs['runs']]
    command = [FEED_IDS, '-b', BACKEND, '-n', numeric, '-k', kv, '-c', '1024', '-l', logits]
    environment = clean_environment(TMPDIR=t.temporary)
    done = subprocess.run(command + [path], input='\n'.join(lines).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                          timeout=LONG_RUN)
    if done.returncode != 0:
        t.fail(f'feed_ids: exit {done.returncode}\n{done.stderr.decode("utf-8", "replace")[-3000:]}')
    print(done.stderr.decode('utf-8', 'replace').strip())
    fed = [json.loads(line)['steps'] for line in done.stdout.decode().splitlines()]
    t.equal([len(steps) for steps in fed], [STEPS] * len(PROMPTS), 'steps per prompt')
    return fed, read_logits(logits, runs['n_vocab'], len(lines))


def gap_of(top):
    return top[0][1] - top[1][1]


def log_sum(logits):
    most = max(logits)
    return most + math.log(sum(math.exp(x - most) for x in logits))


def compare_first(ours, theirs, our_top, their_top):
    """(top-10 in common, largest difference of log-probabilities among the engine's ten, and over the vocabulary)."""
    shift = log_sum(ours) - log_sum(theirs)
    common = len({i for i, _ in our_top} & {i for i, _ in their_top})
    return (common, max(abs(ours[i] - theirs[i] - shift) for i, _ in their_top),
            max(abs(a - b - shift) for a, b in zip(ours, theirs)))


class Disagreement:
    """A step where the most likely tokens differ; excused when the engine's F32 run on the same ids agrees with quoin."""

    def __init__(self, prompt, step, theirs, ours, exact):
        self.where = f'{prompt} step {step}'
        self.gap = gap_of(theirs)
        self.text = f'{self.where}: engine {theirs[0][0]} (gap {self.gap:.4f}), quoin {ours}'
        self.is_engine_off = exact is not None and exact[0][0] == ours
        if exact is not None:
            self.text += f', engine in F32 {exact[0][0]} (gap {gap_of(exact):.4f})'


def exact_step(subject, numeric, number, step):
    if CLASSES[numeric]['reference'] != 'same':
        return None
    return subject.same_ids_in_f32()['runs'][number]['steps'][step]


def find_disagreements(subject, numeric, runs, fed):
    found = []
    for number, (run, ours) in enumerate(zip(runs['runs'], fed)):
        for step, (theirs, mine) in enumerate(zip(run['steps'], ours)):
            if theirs[0][0] != mine[0][0]:
                found.append(Disagreement(PROMPTS[number][0], step, theirs, mine[0][0], exact_step(subject, numeric, number, step)))
    return found


def judge(t, limit, disagreements):
    """Fails for those above the limit that are quoin's; returns how many are the engine's."""
    above = [d for d in disagreements if d.gap > limit]
    bad = [d for d in above if not d.is_engine_off]
    if bad:
        t.last = None
        t.fail(f'{len(bad)} steps differ though the engine\'s gap exceeds {limit}:\n' + '\n'.join(d.text for d in bad))
    return len(above)


def fed_with_the_engines_ids(subject, numeric, t):
    limit = CLASSES[numeric]['gap']
    runs = subject.continued(CLASSES[numeric]['reference'])
    fed, logits = feed(subject, t, numeric, CLASSES[numeric]['kv'], runs)
    firsts = [compare_first(logits[i], runs['first_logits'][i], fed[i][0], runs['runs'][i]['steps'][0]) for i in range(len(PROMPTS))]
    for (name, _), (common, of_top, of_all) in zip(PROMPTS, firsts):
        print(f'{name}: first step: {common} of 10 in common, log-probabilities differ by {of_top:.4f} among the ten, {of_all:.4f} at most')
    disagreements = find_disagreements(subject, numeric, runs, fed)
    for d in disagreements:
        print('differs: ' + d.text + (' (engine off)' if d.is_engine_off else ''))
    steps = [(theirs, mine) for run, ours in zip(runs['runs'], fed) for theirs, mine in zip(run['steps'], ours)]
    row = {'model': subject.name, 'class': numeric, 'steps': len(steps), 'above': sum(gap_of(s) > limit for s, _ in steps), 'limit': limit,
           'differ': len(disagreements), 'largest': max((d.gap for d in disagreements), default=0.0),
           'common': min(f[0] for f in firsts), 'of_top': max(f[1] for f in firsts), 'of_all': max(f[2] for f in firsts)}
    subject.rows.append(row)
    row['off'] = judge(t, limit, disagreements)


def list_tops(runs):
    return [step[0][0] for steps in runs for step in steps]


def default_settings(subject, t):
    """Judged by the F32 run, not by the engine's 8-bit run: both are as far from it as 8-bit activations make them."""
    eight_bit, exact = subject.continued('same')['runs'], list_tops(run['steps'] for run in subject.same_ids_in_f32()['runs'])
    fed, _ = feed(subject, t, 'auto', 'f16', subject.continued('same'))
    theirs = sum(a != b for a, b in zip(list_tops(run['steps'] for run in eight_bit), exact))
    ours = sum(a != b for a, b in zip(list_tops(fed), exact))
    subject.notes.append(f'{subject.name}, default settings: the most likely token differs from the F32 run\'s at {ours} of {len(exact)} steps, '
                         f'the engine\'s 8-bit run at {theirs}.')
    print(subject.notes[-1])
    t.true(ours <= 2 * theirs + 4, 'further from F32 than 8-bit activations explain')


def run_free(subject, numeric, t, run):
    """The ids that quoin chose, its end token included, and whether it ended."""
    path = subject.run_path(t)
    result = t.exits(0, 'run', path, '--prompt-tokens', ','.join(map(str, run['prompt_ids'])), '-n', STEPS, '--temp', '0', '--json', '--quiet',
                     '--deadline', '0', '--ctx', '1024', '--backend', BACKEND, '--numeric', numeric, '--kv', CLASSES[numeric]['kv'],
                     wall=LONG_RUN).json()
    t.equal(result['prompt_tokens'], run['prompt_ids'], 'prompt_tokens')
    t.true(result['stop_reason'] in ('length', 'stop'), f'stop_reason {result["stop_reason"]}')
    t.equal(len(result['tokens']), STEPS if result['stop_reason'] == 'length' else len(result['tokens']), 'tokens')
    has_ended = result['stop_reason'] == 'stop'
    return result['tokens'] + ([result['stop_token']] if has_ended else []), has_ended


def running_free(subject, numeric, t):
    limit = CLASSES[numeric]['gap']
    runs = subject.continued(CLASSES[numeric]['reference'])
    equal, firsts = 0, []
    for number, ((name, _), run) in enumerate(zip(PROMPTS, runs['runs'])):
        ids, has_ended = run_free(subject, numeric, t, run)
        step = next((i for i, (a, b) in enumerate(zip(ids, run['ids'])) if a != b), None)
        if step is None:
            equal += 1
            print(f'{name}: all {len(ids)} ids equal' + (', the end token too' if has_ended else ''))
            t.equal(len(ids) - 1 if has_ended else None, run['end'], f'{name}: step of the end token')
        else:
            firsts.append(Disagreement(name, step, run['steps'][step], ids[step], exact_step(subject, numeric, number, step)))
            print('first difference: ' + firsts[-1].text)
    row = next((r for r in subject.rows if r['class'] == numeric), None)
    if row is not None:
        row['free'] = f'{equal} of {len(PROMPTS)}' + ''.join(f'; {d.where} at {d.gap:.3f}' for d in firsts)
    judge(t, limit, firsts)


def texts_become_the_engines_ids(subject, t):
    runs = subject.continued('same')
    for (name, text), run in zip(PROMPTS, runs['runs']):
        ids = t.exits(0, 'tokenize', subject.gguf(), '--text', text, '--json').json()['tokens']
        t.equal(ids, run['prompt_ids'], name)


def runs_from_its_container(subject, t):
    """The same greedy ids, and the same bits of every logit, from container and companion as from the GGUF."""
    path, source_path = subject.container(t), subject.gguf()
    found = t.exits(0, 'verify', path, '--json', wall=LONG_RUN).json()
    t.equal((found['valid'], found['format'], found['companion']), (True, 'P64', 'bound'), 'verify')
    greedy = ['--prompt', 'The tide comes in', '-n', '8', '--temp', '0', '--backend', 'reference', '--numeric', 'f32acc', '--ctx', '256',
              '--deadline', '0', '--json']
    runs = [t.exits(0, 'run', file, *greedy, wall=LONG_RUN).json() for file in (source_path, path)]
    t.equal(runs[0]['prompt_tokens'], runs[1]['prompt_tokens'], 'prompt tokens')
    t.equal(runs[0]['tokens'], runs[1]['tokens'], 'tokens')
    t.equal(len(runs[0]['tokens']), 8, 'number of tokens')
    n = same_logits(t, source_path, path, [runs[0]['prompt_tokens']], follow=runs[0]['tokens'], n_ctx=256, wall=LONG_RUN)
    print(f'{n} logits are equal in every bit')


def print_table(subject):
    lines = ['| model | class | steps | gap above | top-1 differs | largest gap there | above limit, engine off | first step: top-10 in common '
             '| Δ log-prob of the ten | of all | free runs equal; first differences |', '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|']
    for r in subject.rows:
        lines.append(f'| {r["model"]} | {r["class"]} | {r["steps"]} | {r["above"]} > {r["limit"]} | {r["differ"]} | {r["largest"]:.4f} '
                     f'| {r.get("off", "failed")} | {r["common"]} | {r["of_top"]:.4f} | {r["of_all"]:.4f} | {r.get("free", "not run")} |')
    lines += [''] + subject.notes
    print('\n'.join(lines), flush=True)
    with open(subject.work('results.md'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


def add_tests(subject):
    add_test(f'{subject.name}_runs_from_its_container_with_the_bits_of_its_source', lambda t: runs_from_its_container(subject, t))
    add_test(f'{subject.name}_texts_become_the_engines_ids', lambda t: texts_become_the_engines_ids(subject, t))
    for numeric, how in CLASSES.items():
        add_test(f'{subject.name}_{numeric}_fed_with_the_engines_ids_agrees_where_its_gap_exceeds_{how["gap"]}',
                 lambda t, numeric=numeric: fed_with_the_engines_ids(subject, numeric, t))
        add_test(f'{subject.name}_{numeric}_running_free_first_differs_at_a_gap_below_{how["gap"]}',
                 lambda t, numeric=numeric: running_free(subject, numeric, t))
    add_test(f'{subject.name}_default_settings_are_as_near_to_f32_as_the_engine', lambda t: default_settings(subject, t))


def need_full():
    """A plain ctest must not download models and build an engine unasked."""
    if not os.environ.get('QUOIN_FULL'):
        raise peers.Missing('only ./check --full, or QUOIN_FULL=1, runs the tests that download real models and build an engine')


if __name__ == '__main__':
    chosen = Subject(sys.argv.pop(1))
    add_tests(chosen)
    if os.path.exists(chosen.work('results.md')):
        os.remove(chosen.work('results.md'))
    try:
        main()
    finally:
        if chosen.rows or chosen.notes:
            print_table(chosen)
