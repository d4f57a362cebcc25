#!/usr/bin/env python3
"""How fast text becomes tokens, beside the package `tokenizers` from PyPI on one thread: the same vocabulary, the same merges, the same ids.

    PYTHON tests/bench/peers/tokenizer_speed.py MODEL.gguf TEXT [--quoin PATH] [--rounds N]

PYTHON is an interpreter that has the package, for example of a virtual environment outside of this tree:

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers

The model's vocabulary is byte-level BPE with one of the cutting rules below; its tokens and merges are read from the GGUF and given to the package. Both
encode the whole text in one call, in alternating rounds (default: 5), the package with and without positions; the best of each counts, because a neighbour only makes slower. Ids
are compared first: programs that do not do the same are not compared by speed.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import time

os.environ['TOKENIZERS_PARALLELISM'] = 'false'
os.environ['RAYON_NUM_THREADS'] = '1'
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', '..', 'support')]
sys.dont_write_bytecode = True
import compare  # noqa: E402  (found through the line above)

NUMBERS = {0: '<B', 1: '<b', 2: '<H', 3: '<h', 4: '<I', 5: '<i', 6: '<f', 7: '<?', 10: '<Q', 11: '<q', 12: '<d'}
STRING, ARRAY = 8, 9
NORMAL = 1


def read_value(f, kind):
    if kind == STRING:
        return f.read(struct.unpack('<Q', f.read(8))[0]).decode('utf-8', 'surrogateescape')
    if kind == ARRAY:
        inner, n = struct.unpack('<IQ', f.read(12))
        if inner in NUMBERS:
            form = f'<{n}{NUMBERS[inner][1]}'
            return list(struct.unpack(form, f.read(struct.calcsize(form))))
        return [read_value(f, inner) for _ in range(n)]
    return struct.unpack(NUMBERS[kind], f.read(struct.calcsize(NUMBERS[kind])))[0]


def read_keys(path):
    """Keys and values of a GGUF file of version 2 or 3."""
    with open(path, 'rb') as f:
        magic, version, _, n_keys = struct.unpack('<4sIQQ', f.read(24))
        if magic != b'GGUF' or version not in (2, 3):
            sys.exit(f'{path}: no GGUF of version 2 or 3')
        keys = {}
        for _ in range(n_keys):
            name = read_value(f, STRING)
            keys[name] = read_value(f, struct.unpack('<I', f.read(4))[0])
        return keys


def make_rule(name):
    """The package's pre-tokenizer for a rule of the GGUF."""
    from tokenizers import Regex, pre_tokenizers
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name in ('gpt-2', 'mpt', 'olmo'):
        return whole
    if name in ('smollm', 'starcoder', 'refact', 'command-r'):
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), whole])
    if name in ('qwen2', 'llama-bpe'):
        digits = r'\p{N}' if name == 'qwen2' else r'\p{N}{1,3}'
        pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), 'isolated'), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    sys.exit(f'the cutting rule {name} is not known here')


def make_peer(path):
    from tokenizers import Tokenizer, models
    keys = read_keys(path)
    if keys.get('tokenizer.ggml.model') != 'gpt2':
        sys.exit(f'{path}: its vocabulary is no byte-level BPE')
    kinds = keys.get('tokenizer.ggml.token_type') or [NORMAL] * len(keys['tokenizer.ggml.tokens'])
    words = {token: i for i, (token, kind) in enumerate(zip(keys['tokenizer.ggml.tokens'], kinds)) if kind == NORMAL}
    merges = [tuple(merge.split(' ', 1)) for merge in keys['tokenizer.ggml.merges']]
    peer = Tokenizer(models.BPE(vocab=words, merges=merges, ignore_merges=keys.get('tokenizer.ggml.pre') == 'llama-bpe'))
    peer.pre_tokenizer = make_rule(keys.get('tokenizer.ggml.pre', 'gpt-2'))
    return peer


def check_ids(options, peer, text):
    said = subprocess.run([options.quoin, 'tokenize', options.model, '-f', options.text, '--no-bos', '--json'], capture_output=True, check=True)
    ours, theirs = json.loads(said.stdout)['tokens'], peer.encode(text, add_special_tokens=False).ids
    ours = [token['id'] if isinstance(token, dict) else token for token in ours]
    if ours != theirs:
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        sys.exit(f'the ids differ from token {at} on: {ours[at:at + 5]} here, {theirs[at:at + 5]} there')
    return len(ours)


def time_ours(options):
    words = [options.quoin, 'bench', options.model, '--text', options.text, '-p', '1', '-n', '1', '-r', '1', '-t', '1', '--json']
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)['tokenizer']['bytes_per_s']


def time_theirs(peer, text, size):
    best = 0.0
    for encode in (lambda: peer.encode(text, add_special_tokens=False), lambda: peer.encode_batch_fast([text], add_special_tokens=False)):
        begin = time.perf_counter()
        encode()
        best = max(best, size / (time.perf_counter() - begin))
    return best


def main():
    parser = argparse.ArgumentParser(description='quoin and the package tokenizers, one thread each')
    parser.add_argument('model')
    parser.add_argument('text')
    parser.add_argument('--quoin', default=compare.find_quoin())
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    try:
        import tokenizers
    except ImportError:
        print('tokenizer_speed.py: this Python has no package tokenizers; --help says how to get one', file=sys.stderr)
        return 77
    with open(options.text, encoding='utf-8', newline='') as f:
        text = f.read()
    size, peer = len(text.encode()), make_peer(options.model)
    n_tokens = check_ids(options, peer, text)
    rates = [(time_ours(options), time_theirs(peer, text, size)) for _ in range(options.rounds)]
    ours, theirs = (max(rates, key=lambda pair: pair[i])[i] * 1e-6 for i in (0, 1))
    print(f'{compare.read_cpu()}; {size} bytes, {n_tokens} tokens, the same ids; one thread, best of {options.rounds} rounds\n\n'
          f'| | MB/s |\n|---|---:|\n| quoin | {ours:.1f} |\n| tokenizers {tokenizers.__version__} | {theirs:.1f} |\n\nratio {ours / theirs:.1f}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
