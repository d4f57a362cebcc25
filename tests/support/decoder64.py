"""A decoder in 64-bit floats, written from the papers and model cards, and small random models to run it on.

It shares no code and no data structure with the program: lists of numbers, one position after the other, every earlier key and
value looked at again. What it computes is what the program must compute, up to the rounding of 32-bit floats.

    spec = Spec('qwen2', n_layer=2)
    weights = make_weights(spec, seed=3)
    write_gguf(path, spec, weights)
    rows = logits_of(spec, weights, ids)      # [len(ids)][n_vocab]
"""
import math
import os
import random
import struct
import sys

from program import SOURCE

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'cases'))
import caselib  # noqa: E402  (found through the line above)

F32, Q8_0 = 0, 8                       # numbers of the element types in GGUF
VOCABULARY = caselib.vocab()


class Spec:
    """Shape and facts of one model. Members that are None are not written to the file."""

    def __init__(self, arch, **changes):
        self.arch = arch
        self.n_layer, self.n_embd, self.n_head, self.n_head_kv = 2, 24, 4, 2
        self.head_dim, self.value_dim, self.n_ff, self.n_ctx = None, None, 40, 64
        self.n_rot, self.base, self.base_window = None, 10000.0, None
        self.scaling, self.factor, self.n_ctx_orig, self.attn_factor = None, 1.0, None, None
        self.ext_factor, self.beta_fast, self.beta_slow = None, None, None
        self.has_factors, self.use_long = False, False         # rope_freqs.weight; which of the two sets of longrope
        self.says_longrope = True                              # False: the tensors are there, the key is not
        self.window, self.pattern, self.writes_pattern = 0, 0, None
        self.attn_softcap, self.final_softcap, self.attn_scale = None, None, None
        self.is_tied, self.has_output_bias, self.matrix_type, self.epsilon = True, False, F32, 1e-5
        self.repeats_per_layer = False                         # head_count_kv and feed_forward_length as arrays
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        self.q_dim = self.head_dim or self.n_embd // self.n_head
        self.v_dim = self.value_dim or self.q_dim
        self.rot = self.n_rot or self.q_dim
        self.is_gemma, self.is_phi = arch == 'gemma3', arch == 'phi3'
        if self.is_gemma and not self.pattern:
            self.pattern = 6

    def is_windowed(self, layer):
        return self.window > 0 and (self.pattern == 0 or (layer + 1) % self.pattern != 0)


# ---------------------------------------------------------------- weights
def round32(values):
    """The nearest 32-bit floats."""
    return list(struct.unpack(f'<{len(values)}f', struct.pack(f'<{len(values)}f', *values)))


def pack_q8_0(values):
    """(bytes, decoded values) in blocks of 32 with a half-precision scale."""
    data, decoded = b'', []
    for at in range(0, len(values), 32):
        block = values[at:at + 32]
        half = struct.pack('<e', max(abs(v) for v in block) / 127)
        scale = struct.unpack('<e', half)[0]
        whole = [max(-127, min(127, round(v / scale))) for v in block]
        data += half + struct.pack('<32b', *whole)
        decoded += [scale * w for w in whole]
    return data, decoded


class Tensor:
    def __init__(self, dims, values, kind=F32):
        self.dims, self.kind = dims, kind
        if kind == Q8_0:
            self.data, flat = pack_q8_0(values)
        else:
            flat = round32(values)
            self.data = struct.pack(f'<{len(flat)}f', *flat)
        width = dims[0]
        self.rows = [flat[at:at + width] for at in range(0, len(flat), width)]


def make_weights(spec, seed):
    """Random tensors of the architecture, by their names in GGUF."""
    rng, tensors = random.Random(seed), {}

    def matrix(name, width, height, kind=None, gain=1.0):
        values = [rng.gauss(0, gain / math.sqrt(width)) for _ in range(width * height)]
        tensors[name] = Tensor([width, height], values, spec.matrix_type if kind is None else kind)

    def vector(name, width, middle=1.0, spread=0.3):
        tensors[name] = Tensor([width], [middle + rng.uniform(-spread, spread) for _ in range(width)])

    q, k, v = spec.n_head * spec.q_dim, spec.n_head_kv * spec.q_dim, spec.n_head_kv * spec.v_dim
    matrix('token_embd.weight', spec.n_embd, len(VOCABULARY), gain=math.sqrt(spec.n_embd))
    for layer in range(spec.n_layer):
        at = f'blk.{layer}.'
        vector(at + 'attn_norm.weight', spec.n_embd)
        vector(at + 'ffn_norm.weight', spec.n_embd)
        if spec.is_phi:
            matrix(at + 'attn_qkv.weight', spec.n_embd, q + k + v, gain=2.0)
            matrix(at + 'ffn_up.weight', spec.n_embd, 2 * spec.n_ff)
        else:
            for name, height in (('attn_q', q), ('attn_k', k), ('attn_v', v)):
                matrix(f'{at}{name}.weight', spec.n_embd, height, gain=2.0)
                if spec.arch == 'qwen2':
                    vector(f'{at}{name}.bias', height, 0.0, 0.8)
            matrix(at + 'ffn_gate.weight', spec.n_embd, spec.n_ff)
            matrix(at + 'ffn_up.weight', spec.n_embd, spec.n_ff)
        if spec.arch in ('qwen3', 'gemma3'):
            vector(at + 'attn_q_norm.weight', spec.q_dim, 1.2, 0.7)
            vector(at + 'attn_k_norm.weight', spec.q_dim, 1.2, 0.7)
        if spec.is_gemma:
            vector(at + 'post_attention_norm.weight', spec.n_embd)
            vector(at + 'post_ffw_norm.weight', spec.n_embd)
        matrix(at + 'attn_output.weight', spec.n_head * spec.v_dim, spec.n_embd)
        if spec.has_output_bias:
            vector(at + 'attn_output.bias', spec.n_embd, 0.0, 0.5)
        matrix(at + 'ffn_down.weight', spec.n_ff, spec.n_embd)
    vector('output_norm.weight', spec.n_embd, 0.4, 0.2)
    if not spec.is_tied:
        matrix('output.weight', spec.n_embd, len(VOCABULARY), gain=math.sqrt(spec.n_embd))
    if spec.has_factors:
        vector('rope_freqs.weight', spec.rot // 2, 4.0, 3.5)
    if spec.scaling == 'longrope':
        vector('rope_factors_short.weight', spec.rot // 2, 1.5, 0.4)
        vector('rope_factors_long.weight', spec.rot // 2, 6.0, 3.0)
    return tensors


# ---------------------------------------------------------------- the file
def write_keys(file, spec):
    integer, real, text = caselib.U32, caselib.F32, caselib.STR
    file.set('general.architecture', text, spec.arch)
    kv_heads, ff = (integer, spec.n_head_kv), (integer, spec.n_ff)
    if spec.repeats_per_layer:
        kv_heads = (caselib.ARR, (integer, [spec.n_head_kv] * spec.n_layer))
        ff = (caselib.ARR, (caselib.I32, [spec.n_ff] * spec.n_layer))
    keys = [('block_count', integer, spec.n_layer), ('context_length', integer, spec.n_ctx),
            ('embedding_length', integer, spec.n_embd), ('feed_forward_length', *ff),
            ('attention.head_count', integer, spec.n_head), ('attention.head_count_kv', *kv_heads),
            ('attention.layer_norm_rms_epsilon', real, spec.epsilon), ('rope.freq_base', real, spec.base),
            ('attention.key_length', integer, spec.head_dim), ('attention.value_length', integer, spec.value_dim),
            ('rope.dimension_count', integer, spec.n_rot), ('rope.scaling.type', text, spec.scaling if spec.says_longrope else None),
            ('rope.scaling.factor', real, spec.factor if spec.scaling in ('linear', 'yarn') else None),
            ('rope.scaling.original_context_length', integer, spec.n_ctx_orig),
            ('rope.scaling.attn_factor', real, spec.attn_factor),
            ('rope.scaling.yarn_ext_factor', real, spec.ext_factor),
            ('rope.scaling.yarn_beta_fast', real, spec.beta_fast), ('rope.scaling.yarn_beta_slow', real, spec.beta_slow),
            ('rope.freq_base_swa', real, spec.base_window), ('attention.sliding_window', integer, spec.window or None),
            ('attn_logit_softcapping', real, spec.attn_softcap), ('final_logit_softcapping', real, spec.final_softcap),
            ('attention.scale', real, spec.attn_scale)]
    for name, kind, value in keys:
        if value is not None:
            file.set(f'{spec.arch}.{name}', kind, value)
    key = f'{spec.arch}.attention.sliding_window_pattern'
    if spec.writes_pattern == 'number':
        file.set(key, integer, spec.pattern)
    elif spec.writes_pattern == 'array':
        file.set(key, caselib.ARR, (caselib.BOOL, [int(spec.is_windowed(i)) for i in range(spec.n_layer)]))


def write_gguf(path, spec, tensors):
    file = caselib.GGUF()
    write_keys(file, spec)
    kinds = [1] * (len(VOCABULARY) - 2) + [3, 4]
    file.set('tokenizer.ggml.model', caselib.STR, 'gpt2').set('tokenizer.ggml.pre', caselib.STR, 'gpt-2')
    file.set('tokenizer.ggml.tokens', caselib.ARR, (caselib.STR, VOCABULARY))
    file.set('tokenizer.ggml.token_type', caselib.ARR, (caselib.I32, kinds))
    file.set('tokenizer.ggml.merges', caselib.ARR, (caselib.STR, caselib.MERGES))
    file.set('tokenizer.ggml.eos_token_id', caselib.U32, len(VOCABULARY) - 2)
    for name, tensor in tensors.items():
        file.tensor(name, tensor.dims, tensor.kind, tensor.data)
    with open(path, 'wb') as f:
        f.write(file.build())


# ---------------------------------------------------------------- arithmetic
def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def times(tensor, x, first=0, count=None, bias=None):
    rows = tensor.rows[first:] if count is None else tensor.rows[first:first + count]
    y = [dot(row, x) for row in rows]
    return y if bias is None else [a + b for a, b in zip(y, bias.rows[0])]


def plus(a, b):
    return [x + y for x, y in zip(a, b)]


def rms_norm(x, weight, epsilon):
    scale = 1.0 / math.sqrt(dot(x, x) / len(x) + epsilon)
    return [v * scale * w for v, w in zip(x, weight.rows[0])]


def heads(x, size):
    return [x[at:at + size] for at in range(0, len(x), size)]


def silu(x):
    return x / (1.0 + math.exp(-x))


def gelu(x):
    return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x ** 3)))


def capped(x, cap):
    return cap * math.tanh(x / cap) if cap else x


# ---------------------------------------------------------------- rotary positions
def frequencies(spec, tensors, layer):
    """([rot / 2] angle per position, magnitude) of a layer."""
    is_local = spec.is_gemma and spec.is_windowed(layer)       # Gemma 3: a base of their own and no scaling
    base = spec.base
    if spec.is_windowed(layer) and (spec.base_window or is_local):
        base = spec.base_window or 10000.0
    plain = [base ** (-2.0 * i / spec.rot) for i in range(spec.rot // 2)]
    if spec.has_factors:
        plain = [f / w for f, w in zip(plain, tensors['rope_freqs.weight'].rows[0])]
    if spec.scaling == 'longrope':
        name = 'rope_factors_long.weight' if spec.use_long else 'rope_factors_short.weight'
        plain = [f / w for f, w in zip(plain, tensors[name].rows[0])]
        return plain, spec.attn_factor or 1.0
    if is_local or spec.scaling in (None, 'none'):
        return plain, 1.0
    if spec.scaling == 'linear':
        return [f / spec.factor for f in plain], 1.0
    return yarn(spec, base, plain)


def yarn(spec, base, plain):
    """Fast pairs keep their frequency, slow ones are interpolated, those between are mixed (Peng et al. 2023)."""
    fast = 32.0 if spec.beta_fast is None else spec.beta_fast
    slow = 1.0 if spec.beta_slow is None else spec.beta_slow
    ext = 1.0 if spec.ext_factor is None else spec.ext_factor

    def pair_of(turns):
        return spec.rot * math.log(spec.n_ctx_orig / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair_of(fast)), 0), min(math.ceil(pair_of(slow)), spec.rot - 1)
    mixed = []
    for i, f in enumerate(plain):
        kept = (1.0 - min(1.0, max(0.0, (i - low) / max(0.001, high - low)))) * ext
        mixed.append(f / spec.factor * (1.0 - kept) + f * kept)
    return mixed, (spec.attn_factor or 1.0) * (1.0 + 0.1 * math.log(spec.factor))


def rotate(spec, head, position, turns, magnitude):
    out = list(head)
    for i, turn in enumerate(turns):
        # Only llama's files pair neighbours; all others pair the halves.
        a, b = (2 * i, 2 * i + 1) if spec.arch == 'llama' else (i, i + spec.rot // 2)
        c, s = math.cos(position * turn), math.sin(position * turn)
        out[a] = magnitude * (head[a] * c - head[b] * s)
        out[b] = magnitude * (head[a] * s + head[b] * c)
    return out


# ---------------------------------------------------------------- the model
def project(spec, tensors, layer, x):
    at = f'blk.{layer}.'
    q, k, v = spec.n_head * spec.q_dim, spec.n_head_kv * spec.q_dim, spec.n_head_kv * spec.v_dim
    if spec.is_phi:
        fused = times(tensors[at + 'attn_qkv.weight'], x)
        return fused[:q], fused[q:q + k], fused[q + k:]
    return tuple(times(tensors[f'{at}{name}.weight'], x, bias=tensors.get(f'{at}{name}.bias'))
                 for name in ('attn_q', 'attn_k', 'attn_v'))


def attend(spec, layer, query, keys, values, position):
    """One head of one position over the keys and values of its group."""
    begin = max(0, position - spec.window + 1) if spec.is_windowed(layer) else 0
    scale = spec.attn_scale or 1.0 / math.sqrt(spec.q_dim)
    scores = [capped(scale * dot(query, keys[c]), spec.attn_softcap) for c in range(begin, position + 1)]
    top = max(scores)
    parts = [math.exp(s - top) for s in scores]
    total = math.fsum(parts)
    seen = values[begin:position + 1]
    return [math.fsum(p * v[i] for p, v in zip(parts, seen)) / total for i in range(spec.v_dim)]


def attention(spec, tensors, layer, x, position, cache):
    at = f'blk.{layer}.'
    q, k, v = project(spec, tensors, layer, rms_norm(x, tensors[at + 'attn_norm.weight'], spec.epsilon))
    turns, magnitude = frequencies(spec, tensors, layer)
    queries, keys = heads(q, spec.q_dim), heads(k, spec.q_dim)
    if at + 'attn_q_norm.weight' in tensors:
        queries = [rms_norm(h, tensors[at + 'attn_q_norm.weight'], spec.epsilon) for h in queries]
        keys = [rms_norm(h, tensors[at + 'attn_k_norm.weight'], spec.epsilon) for h in keys]
    queries = [rotate(spec, h, position, turns, magnitude) for h in queries]
    for group, (key, value) in enumerate(zip(keys, heads(v, spec.v_dim))):
        cache[layer][group][0].append(rotate(spec, key, position, turns, magnitude))
        cache[layer][group][1].append(value)
    mixed = []
    for number, query in enumerate(queries):
        keys, values = cache[layer][number // (spec.n_head // spec.n_head_kv)]
        mixed += attend(spec, layer, query, keys, values, position)
    out = times(tensors[at + 'attn_output.weight'], mixed, bias=tensors.get(at + 'attn_output.bias'))
    return rms_norm(out, tensors[at + 'post_attention_norm.weight'], spec.epsilon) if spec.is_gemma else out


def feed_forward(spec, tensors, layer, x):
    at = f'blk.{layer}.'
    normed = rms_norm(x, tensors[at + 'ffn_norm.weight'], spec.epsilon)
    if spec.is_phi:
        both = times(tensors[at + 'ffn_up.weight'], normed)
        gate, up = both[:spec.n_ff], both[spec.n_ff:]
    else:
        gate, up = times(tensors[at + 'ffn_gate.weight'], normed), times(tensors[at + 'ffn_up.weight'], normed)
    bend = gelu if spec.is_gemma else silu
    out = times(tensors[at + 'ffn_down.weight'], [bend(g) * u for g, u in zip(gate, up)])
    return rms_norm(out, tensors[at + 'post_ffw_norm.weight'], spec.epsilon) if spec.is_gemma else out


def logits_of(spec, tensors, ids):
    """The logits behind each position of `ids`."""
    cache = [[([], []) for _ in range(spec.n_head_kv)] for _ in range(spec.n_layer)]
    head = tensors.get('output.weight', tensors['token_embd.weight'])
    rows = []
    for position, token in enumerate(ids):
        x = list(tensors['token_embd.weight'].rows[token])
        if spec.is_gemma:
            x = [math.sqrt(spec.n_embd) * v for v in x]
        for layer in range(spec.n_layer):
            x = plus(x, attention(spec, tensors, layer, x, position, cache))
            x = plus(x, feed_forward(spec, tensors, layer, x))
        out = times(head, rms_norm(x, tensors['output_norm.weight'], spec.epsilon))
        rows.append([capped(v, spec.final_softcap) for v in out])
    return rows


def log_softmax(row):
    top = max(row)
    total = math.log(math.fsum(math.exp(v - top) for v in row))
    return [v - top - total for v in row]
