"""Model folders in the layout of Hugging Face, rebuilt from GGUF files: config.json, tokenizer.json and its neighbours, Safetensors.

    python3 hf_folder.py MODEL.gguf FOLDER [--dtype F32|F16|BF16] [--shards N]

What a converter to GGUF does is undone: names, the order of the rows of Q and K, Gemma's norm weights, and scores, which become merges. A
quantised tensor is dequantised (numpy is needed for that). Everything else is the Python standard library.
"""
import array
import hashlib
import json
import os
import struct
import sys

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r'\s*[\r\n]+|\s+(?!\S)|\s+'
LLAMA3 = CONTRACTIONS + r'|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|' + SPACES
QWEN2 = LLAMA3.replace('{1,3}', '')
META = '\u2581'
ARCHITECTURES = {'llama': 'LlamaForCausalLM', 'qwen2': 'Qwen2ForCausalLM', 'qwen3': 'Qwen3ForCausalLM', 'gemma3': 'Gemma3ForCausalLM',
                 'phi3': 'Phi3ForCausalLM'}
LAYER_NAMES = {
    'attn_norm': 'input_layernorm', 'attn_q': 'self_attn.q_proj', 'attn_k': 'self_attn.k_proj', 'attn_v': 'self_attn.v_proj',
    'attn_qkv': 'self_attn.qkv_proj', 'attn_output': 'self_attn.o_proj', 'attn_q_norm': 'self_attn.q_norm',
    'attn_k_norm': 'self_attn.k_norm', 'ffn_norm': 'post_attention_layernorm', 'ffn_gate': 'mlp.gate_proj', 'ffn_up': 'mlp.up_proj',
    'ffn_down': 'mlp.down_proj'}
GEMMA_NAMES = {**LAYER_NAMES, 'post_attention_norm': 'post_attention_layernorm', 'ffn_norm': 'pre_feedforward_layernorm',
               'post_ffw_norm': 'post_feedforward_layernorm'}
PHI_NAMES = {**LAYER_NAMES, 'ffn_up': 'mlp.gate_up_proj'}
GLOBAL_NAMES = {'token_embd': 'model.embed_tokens', 'output_norm': 'model.norm', 'output': 'lm_head'}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Gguf:
    """Keys and tensors of a GGUF file; strings are bytes."""
    FIXED = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}

    def __init__(self, path):
        with open(path, 'rb') as f:
            self.bytes = f.read()
        self.at = 8
        n_tensors, n_keys = self.number('Q'), self.number('Q')
        self.keys = dict(self.pair() for _ in range(n_keys))
        self.tensors = [self.tensor() for _ in range(n_tensors)]
        alignment = self.keys.get('general.alignment', 32)
        self.data_at = -(-self.at // alignment) * alignment

    def number(self, form):
        size = struct.calcsize('<' + form)
        value = struct.unpack_from('<' + form, self.bytes, self.at)[0]
        self.at += size
        return value

    def string(self):
        size = self.number('Q')
        self.at += size
        return self.bytes[self.at - size:self.at]

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            element = self.number('I')
            return [self.value(element) for _ in range(self.number('Q'))]
        return self.number(self.FIXED[kind])

    def pair(self):
        key = self.string().decode()
        return key, self.value(self.number('I'))

    def tensor(self):
        name = self.string().decode()
        dims = [self.number('Q') for _ in range(self.number('I'))]
        return name, dims, self.number('I'), self.number('Q')

    def text(self, key, fallback=''):
        return self.keys.get(key, fallback.encode()).decode()

    def of_arch(self, suffix, fallback=None):
        return self.keys.get(f'{self.text("general.architecture")}.{suffix}', fallback)


# ------------------------------------------------------------------------------------------------------------------------------- config

def make_config(gguf):
    arch = gguf.text('general.architecture')
    n_head = gguf.of_arch('attention.head_count')
    config = {
        'architectures': [ARCHITECTURES[arch]], 'model_type': {'gemma3': 'gemma3_text'}.get(arch, arch),
        'hidden_size': gguf.of_arch('embedding_length'), 'intermediate_size': gguf.of_arch('feed_forward_length'),
        'num_hidden_layers': gguf.of_arch('block_count'), 'num_attention_heads': n_head,
        'num_key_value_heads': gguf.of_arch('attention.head_count_kv', n_head),
        'max_position_embeddings': gguf.of_arch('context_length'), 'vocab_size': len(gguf.keys['tokenizer.ggml.tokens']),
        'rms_norm_eps': gguf.of_arch('attention.layer_norm_rms_epsilon'), 'rope_theta': gguf.of_arch('rope.freq_base', 10000.0),
        'tie_word_embeddings': all(name != 'output.weight' for name, *_ in gguf.tensors)}
    if gguf.of_arch('attention.key_length') is not None:
        config['head_dim'] = gguf.of_arch('attention.key_length')
    if arch == 'gemma3':
        config.update(hidden_activation='gelu_pytorch_tanh', sliding_window=gguf.of_arch('attention.sliding_window'),
                      query_pre_attn_scalar=config['head_dim'])
    else:
        config['hidden_act'] = 'silu'
    return config


# ---------------------------------------------------------------------------------------------------------------------------- tokenizer

def merges_of_scores(tokens, scores, kinds):
    """What SentencePiece joins, as merges: every split of a piece into two pieces, the best piece first."""
    normal = {token: i for i, token in enumerate(tokens) if kinds[i] == NORMAL}
    found = []
    for token, i in normal.items():
        for cut in range(1, len(token)):
            if token[:cut] in normal and token[cut:] in normal:
                found.append((-scores[i], i, cut, token))
    return [[token[:cut], token[cut:]] for _, _, cut, token in sorted(found)]


def pre_tokenizer(name):
    def byte_level(regex):
        return {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': regex}

    def split(pattern):
        return {'type': 'Split', 'pattern': {'Regex': pattern}, 'behavior': 'Isolated', 'invert': False}
    if name in ('gpt-2', 'mpt'):
        return byte_level(True)
    digits = {'type': 'Digits', 'individual_digits': True}
    first = {'llama-bpe': split(LLAMA3), 'qwen2': split(QWEN2)}.get(name, digits)
    return {'type': 'Sequence', 'pretokenizers': [first, byte_level(first is digits)]}


def added_tokens(tokens, kinds):
    return [{'id': i, 'content': token, 'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False,
             'special': kinds[i] != USER_DEFINED}
            for i, token in enumerate(tokens) if kinds[i] in (UNKNOWN, CONTROL, USER_DEFINED)]


def make_tokenizer(gguf, pairs=True):
    """tokenizer.json of a GGUF's vocabulary; merges as pairs, or in the older form with a space."""
    tokens = [token.decode() for token in gguf.keys['tokenizer.ggml.tokens']]
    kinds = gguf.keys['tokenizer.ggml.token_type']
    vocab = {token: i for i, token in enumerate(tokens) if kinds[i] != UNUSED}
    model = {'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': None, 'end_of_word_suffix': None,
             'fuse_unk': False, 'byte_fallback': False, 'ignore_merges': False, 'vocab': vocab}
    result = {'version': '1.0', 'truncation': None, 'padding': None, 'added_tokens': added_tokens(tokens, kinds), 'normalizer': None,
              'pre_tokenizer': None, 'post_processor': None, 'decoder': None, 'model': model}
    if gguf.text('tokenizer.ggml.model') == 'gpt2':
        name = gguf.text('tokenizer.ggml.pre')
        result['pre_tokenizer'] = pre_tokenizer(name)
        model['ignore_merges'] = name == 'llama-bpe'
        merges = [merge.decode().split(' ', 1) for merge in gguf.keys['tokenizer.ggml.merges']]
    else:
        spaces = {'type': 'Replace', 'pattern': {'String': ' '}, 'content': META}
        prefix = {'type': 'Prepend', 'prepend': META}
        has_prefix = gguf.keys.get('tokenizer.ggml.add_space_prefix', True)
        result['normalizer'] = {'type': 'Sequence', 'normalizers': [prefix, spaces]} if has_prefix else spaces
        model.update(byte_fallback=True, fuse_unk=True, unk_token=next((t for i, t in enumerate(tokens) if kinds[i] == UNKNOWN), None))
        merges = merges_of_scores(tokens, gguf.keys['tokenizer.ggml.scores'], kinds)
    model['merges'] = merges if pairs else [' '.join(merge) for merge in merges]
    return result


def make_tokenizer_config(gguf):
    tokens = gguf.keys['tokenizer.ggml.tokens']
    config = {}
    for name, key in (('bos', 'bos'), ('eos', 'eos'), ('unk', 'unknown'), ('pad', 'padding')):
        token = gguf.keys.get(f'tokenizer.ggml.{key}_token_id')
        if token is not None:
            config[f'{name}_token'] = tokens[token].decode()
    for flag in ('add_bos_token', 'add_eos_token'):
        if f'tokenizer.ggml.{flag}' in gguf.keys:
            config[flag] = gguf.keys[f'tokenizer.ggml.{flag}']
    if 'tokenizer.chat_template' in gguf.keys:
        config['chat_template'] = gguf.text('tokenizer.chat_template')
    return config


# ----------------------------------------------------------------------------------------------------------------------------- weights

def hf_name(name, arch):
    """The name of a tensor; None for what a converter has added."""
    stem, ending = name.rsplit('.', 1)
    names = {'gemma3': GEMMA_NAMES, 'phi3': PHI_NAMES}.get(arch, LAYER_NAMES)
    if stem in GLOBAL_NAMES:
        return f'{GLOBAL_NAMES[stem]}.{ending}'
    if not stem.startswith('blk.'):
        return None
    _, layer, part = stem.split('.', 2)
    return f'model.layers.{layer}.{names[part]}.{ending}'


def halves_of_heads(rows, n_head):
    """Rows of Q or K with adjacent pairs, as rows whose halves belong together."""
    size = len(rows) // n_head
    return [rows[head * size + 2 * i + half] for head in range(n_head) for half in range(2) for i in range(size // 2)]


def scales_of_k(packed):
    """The 6-bit scales and minima of Q4_K superblocks: [n, 12] bytes to two [n, 8]."""
    import numpy as np
    first, second, third = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], axis=1)
    minima = np.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], axis=1)
    return scales.astype(np.float32), minima.astype(np.float32)


def dequantise(kind, data):
    """f32 values of a quantised tensor."""
    import numpy as np
    raw = np.frombuffer(data, np.uint8)

    def half(blocks, at):
        return np.ascontiguousarray(blocks[:, at:at + 2]).view(np.float16).astype(np.float32)

    def nibbles(bytes_):
        return np.concatenate([bytes_ & 15, bytes_ >> 4], axis=-1).astype(np.float32)
    if kind == 8:       # Q8_0
        b = raw.reshape(-1, 34)
        values = half(b, 0) * b[:, 2:].view(np.int8).astype(np.float32)
    elif kind == 3:     # Q4_1
        b = raw.reshape(-1, 20)
        values = half(b, 0) * nibbles(b[:, 4:]) + half(b, 2)
    elif kind == 6:     # Q5_0
        b = raw.reshape(-1, 22)
        high = np.unpackbits(b[:, 2:6], axis=1, bitorder='little').astype(np.float32)
        values = half(b, 0) * (nibbles(b[:, 6:]) + 16.0 * high - 16.0)
    elif kind == 12:    # Q4_K
        b = raw.reshape(-1, 144)
        scales, minima = scales_of_k(b[:, 4:16])
        quants = nibbles(b[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
        values = (half(b, 0) * scales)[:, :, None] * quants - (half(b, 2) * minima)[:, :, None]
    elif kind == 14:    # Q6_K
        b = raw.reshape(-1, 210)
        low = b[:, :128].reshape(-1, 2, 2, 32)
        high = b[:, 128:192].reshape(-1, 2, 1, 32)
        quants = [(low[:, :, i % 2:i % 2 + 1] >> (4 if i > 1 else 0) & 15) | ((high >> 2 * i & 3) << 4) for i in range(4)]
        quants = np.concatenate(quants, axis=2).reshape(-1, 16, 16).astype(np.float32) - 32.0
        scales = b[:, 192:208].view(np.int8).astype(np.float32)
        values = (half(b, 208) * scales)[:, :, None] * quants
    else:
        raise ValueError(f'tensor type {kind}')
    return np.ascontiguousarray(values, np.float32).tobytes()


def floats_of(gguf, tensor):
    """Values of a tensor as F32 bytes."""
    _, dims, kind, offset = tensor
    sizes = {0: (1, 4), 1: (1, 2), 3: (32, 20), 6: (32, 22), 8: (32, 34), 12: (256, 144), 14: (256, 210)}
    n = 1
    for dim in dims:
        n *= dim
    per_block, size = sizes[kind]
    begin = gguf.data_at + offset
    data = gguf.bytes[begin:begin + n // per_block * size]
    if kind == 0:
        return data
    if kind == 1:
        return array.array('f', struct.unpack(f'<{n}e', data)).tobytes()
    return dequantise(kind, data)


def narrow(data, dtype):
    """F32 bytes as F16 or BF16 (rounded to the nearest even)."""
    if dtype == 'F32':
        return data
    if dtype == 'F16':
        values = array.array('f', data)
        return struct.pack(f'<{len(values)}e', *values)
    words = array.array('I', data)
    return array.array('H', [(word + 0x7fff + (word >> 16 & 1)) >> 16 for word in words]).tobytes()


def hf_tensor(gguf, tensor, dtype):
    """Name, shape and bytes of a tensor in the folder's layout; None for what a converter has added."""
    arch = gguf.text('general.architecture')
    name, dims = hf_name(tensor[0], arch), tensor[1]
    if name is None:
        return None
    data = floats_of(gguf, tensor)
    if arch == 'llama' and len(dims) == 2 and ('.q_proj.' in name or '.k_proj.' in name):
        n_head = gguf.of_arch('attention.head_count')
        n_rows_of = n_head if '.q_proj.' in name else gguf.of_arch('attention.head_count_kv', n_head)
        size = 4 * dims[0]
        rows = [data[at:at + size] for at in range(0, len(data), size)]
        data = b''.join(halves_of_heads(rows, n_rows_of))
    if arch == 'gemma3' and 'norm' in name:
        data = array.array('f', [value - 1.0 for value in array.array('f', data)]).tobytes()
    return name, dims[::-1], narrow(data, dtype)


def write_safetensors(path, tensors, dtype):
    header, at = {}, 0
    for name, shape, data in tensors:
        header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        for _, _, data in tensors:
            f.write(data)


def write_weights(folder, tensors, dtype, shards=1):
    if shards == 1:
        write_safetensors(os.path.join(folder, 'model.safetensors'), tensors, dtype)
        return
    weight_map = {}
    for shard in range(shards):
        name = f'model-{shard + 1:05d}-of-{shards:05d}.safetensors'
        part = tensors[len(tensors) * shard // shards:len(tensors) * (shard + 1) // shards]
        write_safetensors(os.path.join(folder, name), part, dtype)
        weight_map.update({tensor[0]: name for tensor in part})
    write_json(folder, 'model.safetensors.index.json', {'metadata': {}, 'weight_map': weight_map})


def digest_of(folder):
    """SHA-256 of all files of weights, one after the other in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        if name.endswith('.safetensors'):
            with open(os.path.join(folder, name), 'rb') as f:
                digest.update(f.read())
    return digest.hexdigest()


def write_json(folder, name, value):
    with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
        json.dump(value, f, ensure_ascii=False)


def make_folder(gguf_path, folder, dtype='F32', shards=1, pairs=True, config=None):
    """The whole folder; returns its path. Members of `config` replace those that the GGUF tells."""
    gguf = Gguf(gguf_path)
    os.makedirs(folder, exist_ok=True)
    write_json(folder, 'config.json', {**make_config(gguf), **(config or {})})
    write_json(folder, 'tokenizer.json', make_tokenizer(gguf, pairs))
    write_json(folder, 'tokenizer_config.json', make_tokenizer_config(gguf))
    tensors = [made for made in (hf_tensor(gguf, tensor, dtype) for tensor in gguf.tensors) if made is not None]
    write_weights(folder, tensors, dtype, shards)
    return folder


if __name__ == '__main__':
    import argparse
    words = argparse.ArgumentParser()
    words.add_argument('gguf')
    words.add_argument('folder')
    words.add_argument('--dtype', default='F32', choices=('F32', 'F16', 'BF16'))
    words.add_argument('--shards', type=int, default=1)
    given = words.parse_args()
    print(make_folder(given.gguf, given.folder, given.dtype, given.shards))
    sys.exit(0)
