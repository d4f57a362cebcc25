"""Small models for the end-to-end tests, made with the writers of tests/cases."""
import json
import os
import subprocess
import sys

from program import Failed, SOURCE, source

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'cases'))
import caselib  # noqa: E402  (found through the line above)


def make_tiny(path, **changes):
    """A complete one-layer llama model of 267 tokens and a context of 64; weights are noise. Returns path."""
    with open(path, 'wb') as f:
        f.write(caselib.model(**changes).build())
    return path


def make_cases(family, folder):
    """Runs the generator of a family; returns its manifest, with 'path' added to each case."""
    script = source(f'tests/cases/gen_{family}.py')
    done = subprocess.run([sys.executable, '-B', script, folder], capture_output=True)
    if done.returncode != 0:
        raise Failed(f'{script}: {done.stderr.decode()}')
    root = os.path.join(folder, 'dev', family)
    with open(os.path.join(root, 'manifest.json'), encoding='utf-8') as f:
        cases = json.load(f)
    for case in cases:
        case['path'] = os.path.join(root, case['file'])
    return cases
