#!/usr/bin/env python3
"""Is greedy text that of the reference backend wherever the choice is clear?

    tests/full/greedy.py [--model GGUF] [--steps N] [--prompts N] [--quoin PATH] [--feed PATH] [--threads N]

The reference (scalar C in double precision, activations and KV cache as floats) continues each prompt greedily and says at each step how far its
best logit lies above the second: the margin. The cpu backend is then fed with the reference's ids, and its most likely token must be the
reference's at every step whose margin exceeds the bound of the class: 0.01 for f32acc, 0.25 for act8, whatever the KV cache (f32, f16, q8). So a
text written freely is the reference's up to the first step below the bound.

Printed for each class: steps, how many lie above the bound, how many chose otherwise, and the largest margin among those. A bound holds with room when
that is far below it. Exit status: 0 all hold, 1 a step above a bound differs, 77 no model. Default model: SmolLM2-135M-Instruct Q4_1. Python
standard library only. The reference takes about a sixth of a second a token.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(HERE, '..', 'support')]
sys.dont_write_bytecode = True
import peers  # noqa: E402  (found through the line above)

CLASSES = [('f32acc', 'f32', 0.01), ('act8', 'f32', 0.25), ('act8', 'f16', 0.25), ('act8', 'q8', 0.25)]
SKIPPED = 77
PROMPTS = [
    'Once upon a time, in a small village by the sea, there lived', 'The capital of France is Paris. The capital of Italy is',
    'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n', 'Ingredients:\n- 2 cups of flour\n- 1',
    'Photosynthesis is the process by which plants', 'To be, or not to be, that is', '1, 2, 4, 8, 16,', 'Dear Sir or Madam,\n\nI am writing to',
    'Water boils at a temperature of', 'The three primary colours are', 'SELECT name, age FROM people WHERE', 'In 1969, Neil Armstrong',
    'Q: What is the largest planet of the solar system?\nA:', 'The opposite of hot is', '<html>\n<head>\n<title>',
    'She opened the letter with trembling hands and read:', 'A recipe for a good night\'s sleep:', 'int main(void) {\n    printf(',
    'The mitochondrion is', 'Monday, Tuesday, Wednesday,']


def run(words, text=None):
    done = subprocess.run(words, input=text, stdin=subprocess.DEVNULL if text is None else None, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'greedy.py: {" ".join(words)}: exit {done.returncode}\n{done.stderr[-1000:]}')
    return done.stdout


def continue_by_reference(options, prompt):
    """(ids of the prompt, ids that follow, margin of each)."""
    result = json.loads(run([options.quoin, 'run', options.model, '--prompt', prompt, '-n', str(options.steps), '--temp', '0', '--backend', 'reference',
                             '--kv', 'f32', '--ctx', '512', '--json', '--quiet', '--deadline', '0', '--logprobs', '2', *options.team]))
    margins = [first['logprob'] - second['logprob'] for first, second in result['logprobs']]
    return result['prompt_tokens'], result['tokens'], margins[:len(result['tokens'])]


def feed(options, runs, numeric, kv):
    """The cpu's most likely token at each step of each run."""
    lines = [','.join(map(str, prompt)) + '|' + ','.join(map(str, ids[:-1])) for prompt, ids, _ in runs]
    out = run([options.feed, '-b', 'cpu', '-n', numeric, '-k', kv, '-c', '512', '-K', '2', *options.team, options.model], '\n'.join(lines))
    return [[step[0][0] for step in json.loads(line)['steps']] for line in out.splitlines()]


def compare(runs, chosen, bound):
    """(steps, above the bound, margins of the steps that differ)."""
    steps = [(margin, mine == theirs) for (_, ids, margins), mine_all in zip(runs, chosen) for theirs, margin, mine in zip(ids, margins, mine_all)]
    return len(steps), sum(margin > bound for margin, _ in steps), sorted((margin for margin, same in steps if not same), reverse=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    build = os.environ.get('QUOIN_BINARY') or next((b for b in (os.path.join(ROOT, 'build', x) for x in ('release', 'dev')) if os.path.isdir(b)), 'build')
    parser.add_argument('--model')
    parser.add_argument('--quoin', default=os.path.join(build, 'bin', 'quoin'))
    parser.add_argument('--feed', default=os.path.join(build, 'tests', 'feed_ids'))
    for name, default in (('steps', 32), ('prompts', len(PROMPTS)), ('threads', 0)):
        parser.add_argument('--' + name, type=int, default=default)
    options = parser.parse_args()
    options.team = ['-t', str(options.threads)] if options.threads else []
    try:
        options.model = options.model or peers.model('smollm2')
    except peers.Missing as reason:
        print(f'skipped: {reason}')
        sys.exit(SKIPPED)
    return options


def main():
    options = parse()
    runs = [continue_by_reference(options, prompt) for prompt in PROMPTS[:options.prompts]]
    runs = [r for r in runs if r[1]]
    failures = []
    print('| class | KV | bound | steps | above it | differ | largest margin that differs |\n|---|---|---:|---:|---:|---:|---:|')
    for numeric, kv, bound in CLASSES:
        steps, above, differ = compare(runs, feed(options, runs, numeric, kv), bound)
        print(f'| {numeric} | {kv} | {bound} | {steps} | {above} | {len(differ)} | {f"{differ[0]:.4f}" if differ else ""} |', flush=True)
        if differ and differ[0] > bound:
            failures.append(f'{numeric} with KV in {kv}: {sum(m > bound for m in differ)} steps above {bound} differ')
    for failure in failures:
        print(f'greedy.py: {failure}', file=sys.stderr)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
