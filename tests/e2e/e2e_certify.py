"""quoin certify: a backend that is honest, one that is not, and what check makes of their certificates."""
import json
import os

from models import make_tiny
from program import *

ZOO = os.path.join(BINARY, 'tests', 'zoo')


def make_model(t):
    source, container = make_tiny(t.path('m.gguf')), t.path('m.p64')
    t.equal(t.quoin('convert', source, '-o', container).status, 0)
    return container


def runtime_of(r):
    return next(one for one in r.json()['results'] if one['name'] == 'runtime + kernels')


@test
def an_honest_backend_is_certified_and_check_takes_the_certificate_for_it_alone(t):
    container = make_model(t)
    r = t.quoin('certify', container, '-b', 'reference', '--quick', '-n', '4', '--json')
    t.equal(r.status, 0, r.describe())
    said = r.json()
    t.equal((said['passed'], said['backend'], said['numeric'], said['layer']['made'], said['greedy']['different']),
            (True, 'reference', 'f32acc', True, 0))
    t.true(said['kernel_tests']['cases'] > 100 and said['layer']['max_rel_error'] < 1e-3, r.describe())
    ids = [one['id'] for one in said['kernels']]
    t.true('reference/matmul/f32acc' in ids and ids == sorted(ids), ids)
    with open(t.path('m.cert.json'), 'rb') as f:
        t.equal(json.load(f), said)
    t.equal(t.quoin('prove', container).status, 0)
    r = t.quoin('check', container, '-b', 'reference', '--certificates', t.path('m.cert.q42'), '--json')
    t.equal(runtime_of(r)['verdict'], 'PASS', r.describe())
    key = t.quoin('key', 'new', t.path('other.key'), '--json').json()['public']
    with open(t.path('keys.txt'), 'w', encoding='utf-8') as f:
        f.write(key + ' maker\n')
    known = ['--certificates', t.path('m.cert.q42'), '--trusted-keys', t.path('keys.txt')]
    r = t.quoin('check', container, '-b', 'reference', *known, '--json')
    t.equal(runtime_of(r)['code'], 'UNSIGNED', r.describe())
    r = t.quoin('check', container, '-b', 'reference', '--json')
    t.equal((r.status, runtime_of(r)['code']), (1, 'KERNEL_UNCERTIFIED'), r.describe())
    if os.path.exists(CPU_PLUGIN):
        r = t.quoin('check', container, '-b', 'cpu', '--certificates', t.path('m.cert.q42'), '--json')
        t.equal((r.status, runtime_of(r)['code']), (1, 'KERNEL_UNCERTIFIED'), r.describe())
    t.equal(t.quoin('certify', container, '-b', 'reference').status, 6)  # it stands there already


@test
def a_broken_kernel_is_caught_and_its_certificate_certifies_nothing(t):
    plugin = os.path.join(ZOO, 'rounds_to_half.quoin.so')
    if not os.path.exists(plugin):
        skip('the zoo is not built')
    container = make_model(t)
    broken = ['--plugin', plugin, '-b', 'rounds_to_half']
    r = t.quoin('certify', container, *broken, '--quick', '-n', '4', '--json')
    t.equal((r.status, r.json()['passed'], r.json()['kernel_tests']['passed']), (1, False, False), r.describe())
    t.has(r.json()['kernel_tests']['reason'], 'are wrong')
    t.equal(t.quoin('prove', container).status, 0)
    r = t.quoin('check', container, *broken, '--certificates', t.path('m.cert.q42'), '--json')
    t.equal(runtime_of(r)['code'], 'KERNEL_UNCERTIFIED', r.describe())


@test
def what_cannot_be_certified_is_refused(t):
    container = make_model(t)
    for words, status in ((['certify'], 2), (['certify', container, '-b', 'none'], 3),
                          (['certify', container, '-b', 'reference', '--conform', t.path('none')], 6)):
        r = t.quoin(*words)
        t.equal(r.status, status, r.describe())
    r = t.exits(6, 'certify', container, '-b', 'reference', '-o', t.path('no/such/folder.json'))
    t.lacks(r.err, 'using reference')  # told before the work
    t.true(not os.path.exists(t.path('m.cert.json')), 'a manifest')


if __name__ == '__main__':
    main()
