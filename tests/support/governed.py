"""Policies, volumes and governed runs for the end-to-end tests."""
import os

from models import make_tiny
from program import *

GRAPH = 'http://harbour.example/'
ASK = ['--prompt', 'hello world', '-n', '6', '--backend', 'reference']


def policy(t, more='', name='policy.ini', version=3, principal='principal = did:example:ana', commit='unsigned = yes'):
    """Writes a policy whose log is beside it; returns its path."""
    with open(t.path(name), 'w', encoding='utf-8') as file:
        file.write(f'[policy]\nversion = {version}\n[agent]\ndid = did:example:agent\n{principal}\n[request]\nintent = llm:ReadGraph\n'
                   f'[commit]\nlog = log\n{commit}\n{more}')
    return t.path(name)


def volume(t, *options, name='harbour.q42'):
    r = t.quoin('ingest', source('examples/harbour.ttl'), '-o', t.path(name), *options)
    t.equal(r.status, 0, r.describe())
    return t.path(name)


def ask(t, *options, status=0, more='', **how):
    """One governed run with --json; checks the status and returns the object."""
    usual = ASK if '--prompt' not in options else ASK[4:] + (['-n', '6'] if '-n' not in options else [])
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), *usual, '--governed', policy(t, more, **how), '--json', *options)
    t.equal(r.status, status, r.describe())
    return r.json()


def audits(t):
    """Entries of the records of runs, newest last."""
    r = t.quoin('wal', 'show', t.path('log'), '--records', '--json')
    t.equal(r.status, 0, r.describe())
    return [record['gates'] for record in r.json()['records'] if record['type'] == 'AUDIT']


def result(object, gate):
    return next(one for one in object['audit'] if one['gate'] == gate)


SCOPE = f'[scope {GRAPH}]\nvolume = harbour.q42\n'


def sieve(t, subject='petrel', predicate='skipper', object='ana', name='one.sieve'):
    """A sieve with one candidate a slot: the model has no choice, and the test knows the statement."""
    with open(t.path(name), 'w', encoding='ascii') as file:
        file.write(f'[sieve]\nvolume = harbour.q42\nprefix = h={GRAPH}\ngraph = h:\n[subject]\nterm = h:{subject}\nlabel = a\n'
                   f'[predicate]\nterm = h:{predicate}\nlabel = b\n[object]\nterm = h:{object}\nlabel = c\n')
    return t.path(name)


def state(t, *options, status=0, more='', **how):
    """A governed run that makes the statement of one.sieve."""
    if not os.path.exists(t.path('harbour.q42')):
        volume(t, '-g', GRAPH)
    if not os.path.exists(t.path('one.sieve')):
        sieve(t)
    r = t.quoin('run', make_tiny(t.path('tiny.gguf')), '--prompt', 'a', '--backend', 'reference', '--sieve', t.path('one.sieve'), '--scope',
                GRAPH, '--facts', '1', '--governed', policy(t, SCOPE + more, **how), '--json', *options)
    t.equal(r.status, status, r.describe())
    return r.json()


def held(t):
    return t.quoin('wal', 'show', t.path('log'), '--quins', '--json').json()['statements']
