"""Writes and reads quoin-tiny as a GGUF version 3 file: matrices as Q8_0, norms as F32."""
import struct

import numpy as np

ALIGNMENT = 32
TYPE_F32, TYPE_Q8_0 = 0, 8
KIND_U32, KIND_I32, KIND_F32, KIND_BOOL, KIND_TEXT, KIND_ARRAY = 4, 5, 6, 7, 8, 9
TOKEN_NORMAL, TOKEN_CONTROL = 1, 3


def pack_text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def pack_value(kind, value):
    if kind == KIND_TEXT:
        return pack_text(value)
    return struct.pack("<" + {KIND_U32: "I", KIND_I32: "i", KIND_F32: "f", KIND_BOOL: "?"}[kind], value)


def pack_key(name, kind, value):
    return pack_text(name) + struct.pack("<I", kind) + pack_value(kind, value)


def pack_array(name, kind, values):
    head = pack_text(name) + struct.pack("<IIQ", KIND_ARRAY, kind, len(values))
    return head + b"".join(pack_value(kind, value) for value in values)


def quantise_q8_0(matrix):
    """Blocks of 32 along the rows: one f16 scale and 32 signed bytes. Rounds halves away from zero."""
    blocks = np.ascontiguousarray(matrix, np.float32).reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)).astype(np.float32)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale > 0)
    scaled = blocks * inverse
    levels = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.uint8), levels.view(np.uint8)], axis=1).tobytes()


def dequantise_q8_0(data, shape):
    blocks = np.frombuffer(data, np.uint8).reshape(-1, 34)
    scale = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    levels = np.ascontiguousarray(blocks[:, 2:]).view(np.int8).astype(np.float32)
    return (scale * levels).reshape(shape)


def model_keys(config, about):
    """config: the model's numbers; about: texts for the general.* keys."""
    keys = [pack_key("general.architecture", KIND_TEXT, "llama")]
    keys += [pack_key("general." + name, KIND_TEXT, text) for name, text in about.items()]
    keys += [pack_key("general.file_type", KIND_U32, 7),
             pack_key("general.quantization_version", KIND_U32, 2),
             pack_key("general.alignment", KIND_U32, ALIGNMENT)]
    numbers = {"vocab_size": "vocab", "context_length": "ctx", "embedding_length": "dim", "block_count": "layers",
               "feed_forward_length": "ffn", "attention.head_count": "heads", "attention.head_count_kv": "kv_heads",
               "attention.key_length": "head", "attention.value_length": "head", "rope.dimension_count": "head"}
    keys += [pack_key("llama." + name, KIND_U32, config[key]) for name, key in numbers.items()]
    keys += [pack_key("llama.rope.freq_base", KIND_F32, config["rope_base"]),
             pack_key("llama.attention.layer_norm_rms_epsilon", KIND_F32, config["eps"])]
    return keys


def tokenizer_keys(tokens, merges):
    """Token 0 is the end-of-text token; it begins and ends every text, and stands for the unknown."""
    kinds = [TOKEN_CONTROL] + [TOKEN_NORMAL] * (len(tokens) - 1)
    return [pack_key("tokenizer.ggml.model", KIND_TEXT, "gpt2"),
            pack_key("tokenizer.ggml.pre", KIND_TEXT, "gpt-2"),
            pack_array("tokenizer.ggml.tokens", KIND_TEXT, tokens),
            pack_array("tokenizer.ggml.token_type", KIND_I32, kinds),
            pack_array("tokenizer.ggml.merges", KIND_TEXT, merges),
            pack_key("tokenizer.ggml.bos_token_id", KIND_U32, 0),
            pack_key("tokenizer.ggml.eos_token_id", KIND_U32, 0),
            pack_key("tokenizer.ggml.unknown_token_id", KIND_U32, 0),
            pack_key("tokenizer.ggml.padding_token_id", KIND_U32, 0),
            pack_key("tokenizer.ggml.add_bos_token", KIND_BOOL, True),
            pack_key("tokenizer.ggml.add_eos_token", KIND_BOOL, False)]


def write_gguf(path, config, about, tokens, merges, tensors):
    """tensors: {name: float32 array, rows first}. One-dimensional ones stay F32, the others become Q8_0."""
    keys = model_keys(config, about) + tokenizer_keys(tokens, merges)
    infos, blobs, offset = [], [], 0
    for name, array in tensors.items():
        kind = TYPE_F32 if array.ndim == 1 else TYPE_Q8_0
        blob = array.astype("<f4").tobytes() if kind == TYPE_F32 else quantise_q8_0(array)
        shape = array.shape[::-1]               # GGUF names the fastest-running dimension first
        infos.append(pack_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        blobs.append(blob + bytes(-len(blob) % ALIGNMENT))
        offset += len(blobs[-1])
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(infos), len(keys)) + b"".join(keys + infos)
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + b"".join(blobs))
