#!/usr/bin/env python3
"""Adapters through the program: --adapter of run, chat and bench; convert --base; what inspect and verify say of adapter files."""
import hashlib
import os

import adapters
from models import make_tiny
from program import *

PROMPT = ('--prompt', 'hello world', '-n', 12, '--deadline', 0)


def base(t):
    return make_tiny(t.path('base.gguf'))


def gguf_adapter(t, **how):
    return adapters.write_gguf(t.path('adapter.gguf'), adapters.pairs(adapters.tiny_places()), **how)


def run(t, model, *args, backend='reference', status=0):
    r = t.exits(status, 'run', model, '--backend', backend, '--numeric', 'f32acc', '--json', *PROMPT, *args)
    return r.json()


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


@test
def a_run_with_an_adapter_gives_the_ids_of_the_merged_model(t):
    made = adapters.pairs(adapters.tiny_places())
    merged = adapters.write_merged(t.path('merged.gguf'), made)
    model, adapter = base(t), adapters.write_gguf(t.path('adapter.gguf'), made)
    wanted, plain = run(t, merged)['tokens'], run(t, model)['tokens']
    t.true(wanted != plain, 'the adapter of this test changes nothing')
    got = run(t, model, '--adapter', adapter)
    t.equal(got['tokens'], wanted, 'ids with the adapter')
    said = got['backend']['adapters'][0]
    t.equal((said['sha256'], said['applied'], said['scale'], said['matrices']), (digest(adapter), True, 1.0, 7), 'what is told of it')
    t.equal(run(t, model, '--adapter', adapter, '--chunk', 1)['tokens'], wanted, 'ids of a prompt token by token')
    t.equal(run(t, model, '--adapter', adapter, '--drafts', 4)['tokens'], wanted, 'ids with guesses')
    t.equal(run(t, model, '--adapter', adapter + '=0')['tokens'], plain, 'ids with scale 0')
    t.equal(run(t, model, '--adapter', adapter + '=3', '--adapter', adapter + '=-2')['tokens'], wanted, 'ids of two that add up')


@test
def the_cpu_backend_gives_the_same_ids(t):
    need_cpu()
    model, adapter = base(t), gguf_adapter(t)
    t.equal(run(t, model, '--adapter', adapter, backend='cpu')['tokens'], run(t, model, '--adapter', adapter)['tokens'], 'ids')


@test
def only_a_number_behind_the_last_equals_sign_is_a_scale(t):
    model, made = base(t), adapters.pairs(adapters.tiny_places())
    wanted = run(t, model, '--adapter', gguf_adapter(t))['tokens']
    os.mkdir(t.path('x=1,y'))
    for name, option in (('x=1,y/a', 'x=1,y/a'), ('a=b.gguf', 'a=b.gguf'), ('a=b.gguf', 'a=b.gguf=1'), ('rank=4', 'rank=4=1'), ('a=', 'a='), ('a=-x', 'a=-x')):
        adapters.write_gguf(t.path(name), made)
        got = run(t, model, '--adapter', t.path(option))
        t.equal((got['tokens'], got['backend']['adapters'][0]['file']), (wanted, t.path(name)), option)


@test
def version_1_runs(t):
    model, adapter = base(t), adapters.write_v1(t.path('a.lora'), 32)
    t.true(run(t, model, '--adapter', adapter + '=2')['tokens'] != run(t, model)['tokens'], 'the adapter changes nothing')


@test
def convert_binds_an_adapter_to_its_model_alone(t):
    model, adapter, bound = base(t), gguf_adapter(t), t.path('bound.lora')
    said = t.exits(0, 'convert', adapter, '--base', model, '-o', bound, '--json').json()
    t.equal((said['base_sha256'], said['matrices']), (digest(model), 7), 'what convert says')
    wanted = run(t, model, '--adapter', adapter)['tokens']
    t.equal(run(t, model, '--adapter', bound, '--strict')['tokens'], wanted, 'ids of version 2')
    t.has(t.exits(6, 'convert', adapter, '--base', model, '-o', bound).err, 'exists')
    t.exits(0, 'convert', adapter, '--base', model, '-o', bound, '--force')
    t.exits(0, 'convert', adapter, '--base', model)
    t.true('adapter.lora' in t.files(), 'the output has the name of the input')
    t.has(t.exits(1, 'convert', bound, '--base', model).err, 'already')
    t.has(t.exits(2, 'convert', adapter, '-o', t.path('x.p64')).err, '--base')


@test
def an_adapter_of_another_model_is_left_out_and_strict_refuses_it(t):
    model, adapter, bound = base(t), gguf_adapter(t), t.path('bound.lora')
    other = make_tiny(t.path('other.gguf'), tied=False)
    t.exits(0, 'convert', adapter, '--base', other, '-o', bound)
    got = run(t, model, '--adapter', bound)
    t.has(t.last.err, 'adapter left out', digest(other), digest(model))
    t.equal(got['tokens'], run(t, model)['tokens'], 'ids')
    r = t.exits(1, 'run', model, '--backend', 'reference', '--adapter', bound, '--strict', *PROMPT)
    t.has(r.err, digest(other), digest(model))
    t.equal(r.out, b'', 'standard output')
    got = run(t, model, '--adapter', gguf_adapter(t, architecture='qwen2'))
    t.equal(got['backend']['adapters'][0]['applied'], False, 'applied')
    t.has(got['backend']['adapters'][0]['reason'], 'qwen2')


@test
def broken_adapters_end_a_run_before_it_says_anything(t):
    model, path = base(t), adapters.write_v1(t.path('a.lora'), 32)
    with open(path, 'rb') as f:
        whole = f.read()
    for name, data in (('cut', whole[:-1]), ('longer', whole + b'\0'), ('changed', whole[:-1] + bytes([whole[-1] ^ 1])), ('empty', b'')):
        broken = t.path(name + '.lora')
        with open(broken, 'wb') as f:
            f.write(data)
        r = t.exits(1, 'run', model, '--backend', 'reference', '--adapter', broken, *PROMPT)
        t.has(r.err, name + '.lora', 'rule')
        t.equal(r.out, b'', 'standard output')
    t.has(t.exits(6, 'run', model, '--adapter', t.path('none.lora'), *PROMPT).err, 'none.lora')
    t.has(t.exits(1, 'run', model, '--adapter', '=2', *PROMPT).err, 'FILE=SCALE')
    t.has(t.exits(1, 'run', model, '--adapter', path + '=1e9', *PROMPT).err, '--adapter')


@test
def inspect_and_verify_know_adapter_files(t):
    model, adapter, bound = base(t), gguf_adapter(t), t.path('bound.lora')
    t.exits(0, 'convert', adapter, '--base', model, '-o', bound)
    said = t.exits(0, 'inspect', bound, '--json').json()
    t.equal((said['format'], said['base_sha256'], said['sha256']), ('LoRA version 2', digest(model), digest(bound)), 'inspect')
    first = said['matrix_list'][0]
    t.equal((first['role'], first['layer'], first['rank'], first['alpha']), ('attn_k', 0, 4, 8.0), 'the first entry')
    t.has(t.exits(0, 'inspect', bound).out, 'LoRA version 2', 'matrices: 7')
    t.has(t.exits(0, 'inspect', adapter).out, 'adapter.lora.alpha')
    t.has(t.exits(0, 'verify', bound).out, 'ok: LoRA version 2, 7 matrices')
    t.has(t.exits(0, 'verify', adapter).out, 'ok: GGUF adapter, 7 matrices')
    t.has(t.exits(0, 'verify', adapters.write_v1(t.path('a.lora'), 32)).out, 'ok: LoRA version 1')
    with open(bound, 'r+b') as f:
        f.seek(200)
        f.write(b'\xff')
    t.has(t.exits(1, 'verify', bound).err, 'rule table-crc')
    said = t.exits(1, 'verify', bound, '--json').json()
    t.equal((said['valid'], said['rule'], said['offset']), (False, 'table-crc', 96), 'verify')
    t.exits(1, 'inspect', bound)


@test
def chat_and_bench_take_adapters(t):
    model, adapter = base(t), gguf_adapter(t)
    r = t.exits(0, 'chat', model, '--backend', 'reference', '--template', 'chatml', '--adapter', adapter, '-n', 4, stdin=b'hello\n')
    t.has(r.err, 'adapter:')
    said = t.exits(0, 'bench', model, '--backend', 'reference', '--adapter', adapter, '-p', 8, '-n', 4, '-r', 1, '--json')
    t.has(said.err, 'adapter:')


@test
def a_divided_model_is_changed_in_both_parts(t):
    need_cpu()
    model = make_tiny(t.path('two.gguf'), layers=2)
    where = adapters.places(2, 32, 16, 64)
    adapter = adapters.write_gguf(t.path('a.gguf'), adapters.pairs(where))
    t.equal(run(t, model, '--adapter', adapter, '--layers-on', 'reference=1', backend='cpu')['tokens'],
            run(t, model, '--adapter', adapter)['tokens'], 'ids')


if __name__ == '__main__':
    main()
