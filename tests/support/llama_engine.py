"""llama.cpp through the low-level interface of llama-cpp-python; run by the interpreter that tests/full/get-engine makes.

    llama_engine.py decode MODEL PROMPTS.json --steps N [--follow IDS.json] [--logits FILE]   greedy continuation of each prompt, or fed
                                                                                              with given ids
    llama_engine.py bench MODEL --threads N --prefill N --decode N                            one timed run of each
    llama_engine.py perplexity MODEL TEXT --window N --windows N --threads N                  of the text's first windows, 0 for all
    llama_engine.py dequantise IN.gguf OUT.gguf                                               the same weights as F32
    llama_engine.py quantise IN.gguf OUT.gguf TYPE                                            rounded again: q4_0 q4_1 q8_0 q4_k_m q6_k

decode uses ggml's plain kernels (no repacked weights), a KV cache of F32, no flash attention, one thread: the most exact that the
engine offers. bench and perplexity use its defaults: repacked weights, F16, flash attention where it likes it. The windows of
perplexity are those of llama-perplexity: BOS, where the tokenizer adds one, in place of a window's first token; its second half is scored.
One JSON object is printed.
"""
import argparse
import ctypes
import json
import os
import sys
import time

import llama_cpp as L
import numpy as np

TOP = 10
TYPES = {'f32': 0, 'q4_0': 2, 'q4_1': 3, 'q8_0': 7, 'q4_k_m': 15, 'q6_k': 18}    # llama_ftype
callbacks = []


def start():
    @L.llama_log_callback
    def keep_errors(level, text, _):
        if level == 4:      # ggml's number of an error
            sys.stderr.write(text.decode(errors='replace'))
    callbacks.append(keep_errors)
    L.llama_log_set(keep_errors, ctypes.c_void_p(0))
    L.llama_backend_init()


def open_model(path, repack):
    settings = L.llama_model_default_params()
    settings.n_gpu_layers = 0
    settings.use_extra_bufts = repack
    handle = L.llama_model_load_from_file(path.encode(), settings)
    if not handle:
        raise SystemExit(f'cannot load {path}')
    return handle


class Context:
    """One sequence; feed() appends ids and gives the logits of the last one."""

    def __init__(self, handle, n_ctx, threads, exact):
        settings = L.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = n_ctx
        settings.n_seq_max = 1
        settings.n_threads = settings.n_threads_batch = threads
        settings.no_perf = True
        if exact:
            settings.type_k = settings.type_v = 0   # F32
            settings.flash_attn_type = 0
            settings.swa_full = True
        else:
            settings.n_batch, settings.n_ubatch = 2048, 512
        self.handle = L.llama_init_from_model(handle, settings)
        if not self.handle:
            raise SystemExit('no context')
        self.n_vocab = L.llama_vocab_n_tokens(L.llama_model_get_vocab(handle))
        self.position = 0

    def clear(self):
        L.llama_memory_clear(L.llama_get_memory(self.handle), True)
        self.position = 0

    def feed(self, ids):
        batch = L.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, self.position + i, 1, i + 1 == len(ids)
            batch.seq_id[i][0] = 0
        status = L.llama_decode(self.handle, batch)
        L.llama_batch_free(batch)
        if status != 0:
            raise SystemExit(f'llama_decode: {status}')
        self.position += len(ids)
        return np.ctypeslib.as_array(L.llama_get_logits_ith(self.handle, len(ids) - 1), shape=(self.n_vocab,)).copy()


def tokenise(vocabulary, text):
    data = text.encode()
    ids = (L.llama_token * (len(data) + 16))()
    count = L.llama_tokenize(vocabulary, data, len(data), ids, len(ids), True, False)
    if count < 0:
        raise SystemExit(f'llama_tokenize: {count}')
    return list(ids[:count])


def find_top(logits):
    ids = np.argpartition(-logits, TOP)[:TOP]
    return [[int(i), float(logits[i])] for i in ids[np.lexsort((ids, -logits[ids]))]]


def decode(arguments):
    handle = open_model(arguments.model, repack=False)
    vocabulary = L.llama_model_get_vocab(handle)
    with open(arguments.prompts, encoding='utf-8') as f:
        prompts = json.load(f)
    follow = None
    if arguments.follow:
        with open(arguments.follow, encoding='utf-8') as f:
            follow = json.load(f)
    context = Context(handle, 1024, 1, exact=True)
    logits_file = open(arguments.logits, 'wb') if arguments.logits else None
    runs = []
    for number, prompt in enumerate(prompts):
        context.clear()
        prompt_ids = tokenise(vocabulary, prompt)
        logits = context.feed(prompt_ids)
        if logits_file:
            logits_file.write(logits.astype('<f4').tobytes())
        ids, steps, end = [], [], None
        for step in range(arguments.steps):
            top = find_top(logits)
            token = follow[number][step] if follow else top[0][0]
            if end is None and L.llama_vocab_is_eog(vocabulary, token):
                end = step
            ids.append(token)
            steps.append(top)
            if step + 1 < arguments.steps:
                logits = context.feed([token])
        runs.append({'prompt_ids': prompt_ids, 'ids': ids, 'end': end, 'steps': steps})
    if logits_file:
        logits_file.close()
    return {'engine': 'llama-cpp-python ' + L.__version__, 'system': L.llama_print_system_info().decode(), 'n_vocab': context.n_vocab, 'runs': runs}


def bench(arguments):
    handle = open_model(arguments.model, repack=True)
    context = Context(handle, max(arguments.prefill, arguments.decode + 1), arguments.threads, exact=False)
    ids = [int(i) for i in np.random.default_rng(1).integers(3, context.n_vocab, max(arguments.prefill, arguments.decode))]

    def time_prefill():
        context.clear()
        begin = time.perf_counter()
        context.feed(ids[:arguments.prefill])
        return arguments.prefill / (time.perf_counter() - begin)

    def time_decode():
        context.clear()
        begin = time.perf_counter()
        for token in ids[:arguments.decode]:
            context.feed([token])
        return arguments.decode / (time.perf_counter() - begin)

    time_prefill()      # warms caches and threads
    return {'prefill': time_prefill(), 'decode': time_decode(), 'engine': 'llama-cpp-python ' + L.__version__}


def score_window(context, ids):
    """-ln p of each token of the second half but the first of it."""
    first, count = len(ids) // 2, len(ids)
    batch = L.llama_batch_init(count, 0, 1)
    batch.n_tokens = count
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, first <= i < count - 1
        batch.seq_id[i][0] = 0
    context.clear()
    status = L.llama_decode(context.handle, batch)
    L.llama_batch_free(batch)
    if status != 0:
        raise SystemExit(f'llama_decode: {status}')
    rows = np.ctypeslib.as_array(L.llama_get_logits(context.handle), shape=(count - 1 - first, context.n_vocab)).astype(np.float64)
    most = rows.max(axis=1)
    return most + np.log(np.exp(rows - most[:, None]).sum(axis=1)) - rows[np.arange(len(rows)), ids[first + 1:]]


def perplexity(arguments):
    handle = open_model(arguments.model, repack=True)
    vocabulary = L.llama_model_get_vocab(handle)
    with open(arguments.text, encoding='utf-8', errors='replace', newline='') as f:
        ids = tokenise(vocabulary, f.read())
    size = arguments.window
    windows = len(ids) // size if arguments.windows == 0 else min(arguments.windows, len(ids) // size)
    context = Context(handle, size, arguments.threads, exact=False)
    scores = []
    for at in range(0, windows * size, size):
        window = ids[at:at + size]
        if L.llama_vocab_get_add_bos(vocabulary):
            window[0] = L.llama_vocab_bos(vocabulary)
        scores.append(score_window(context, window))
    scores = np.concatenate(scores)
    value = float(np.exp(scores.mean()))
    return {'perplexity': value, 'error': value * float(scores.std() / np.sqrt(len(scores) - 1)), 'windows': windows,
            'nats_by_window': [float(x) for x in scores.reshape(windows, -1).mean(axis=1)], 'engine': 'llama-cpp-python ' + L.__version__}


def quantise(arguments):
    settings = L.llama_model_quantize_default_params()
    settings.ftype = TYPES[arguments.type]
    settings.allow_requantize = True
    temporary = arguments.out + '.part'
    status = L.llama_model_quantize(arguments.model.encode(), temporary.encode(), ctypes.byref(settings))
    if status != 0:
        raise SystemExit(f'llama_model_quantize: {status}')
    os.replace(temporary, arguments.out)
    return {'path': arguments.out}


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser('decode')
    command.add_argument('model')
    command.add_argument('prompts')
    command.add_argument('--steps', type=int, required=True)
    command.add_argument('--follow')
    command.add_argument('--logits')
    command.set_defaults(run=decode)
    command = commands.add_parser('bench')
    command.add_argument('model')
    for name in ('threads', 'prefill', 'decode'):
        command.add_argument('--' + name, type=int, required=True)
    command.set_defaults(run=bench)
    command = commands.add_parser('perplexity')
    command.add_argument('model')
    command.add_argument('text')
    for name in ('window', 'windows', 'threads'):
        command.add_argument('--' + name, type=int, required=True)
    command.set_defaults(run=perplexity)
    command = commands.add_parser('dequantise')
    command.add_argument('model')
    command.add_argument('out')
    command.set_defaults(run=quantise, type='f32')
    command = commands.add_parser('quantise')
    command.add_argument('model')
    command.add_argument('out')
    command.add_argument('type', choices=sorted(TYPES))
    command.set_defaults(run=quantise)
    arguments = parser.parse_args()
    start()
    print(json.dumps(arguments.run(arguments)))


if __name__ == '__main__':
    main()
