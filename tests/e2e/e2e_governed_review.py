"""What waits behind a governed run: statements that somebody has to look at, and statements that others have to sign."""
import time

from governed import *

FUNCTIONAL = f'[predicate {GRAPH}skipper]\nfunctional = yes\n'
SIGNED = f'suspend = yes\nsigners = did:example:ana did:example:bo\n'


def make_keys(t, *names):
    """A key for each, and the list in which they count."""
    with open(t.path('trusted'), 'w', encoding='ascii') as file:
        for name in names:
            file.write(t.exits(0, 'key', 'new', t.path(name + '.key'), '--json').json()['public'] + f' did:example:{name}\n')


def contradict(t, more=FUNCTIONAL):
    """A run whose statement a fact contradicts; returns (its object, the number of the record)."""
    volume(t, '-g', GRAPH)
    sieve(t, object='bo')
    object = state(t, status=10, more=more)
    return object, str(waiting(t)[-1]['sequence'])


def waiting(t):
    return t.exits(0, 'wal', 'show', t.path('log'), '--review', '--json').json()['review']


def settle(t, record, verdict, name, *options, status=0):
    r = t.quoin('wal', 'review', t.path('log'), record, verdict, '--key', t.path(name + '.key'), '--trusted', t.path('trusted'), '--json', *options)
    t.equal(r.status, status, r.describe())
    return r


@test
def a_statement_that_somebody_accepts_is_committed_with_who_did(t):
    make_keys(t, 'ana')
    object, record = contradict(t)
    t.equal(settle(t, record, 'accept', 'ana').json()['standing'], 'committed')
    statements = [s.strip() for s in held(t)]
    t.true(object['claims'][0]['statement'] in statements, statements)
    t.true(any('wasAttributedTo' in s and 'did:example:ana' in s for s in statements), statements)
    t.true(any('wasAttributedTo' in s and 'did:example:agent' in s for s in statements), statements)
    t.equal(waiting(t), [])
    t.equal(audits(t)[-1][-1]['detail'], 'accepted by did:example:ana')
    t.has(settle(t, record, 'dismiss', 'ana', status=1).err, 'accepted already')
    t.exits(0, 'wal', 'verify', t.path('log'), '--trusted', t.path('trusted'))
    t.exits(0, 'wal', 'checkpoint', t.path('log'))


@test
def a_statement_that_somebody_dismisses_holds_never(t):
    make_keys(t, 'ana')
    _, record = contradict(t)
    t.equal(settle(t, record, 'dismiss', 'ana').json()['standing'], 'dismissed')
    t.equal((held(t), waiting(t)), ([], []))
    t.equal(audits(t)[-1][-1]['detail'], 'dismissed by did:example:ana')
    t.has(settle(t, record, 'accept', 'ana', status=1).err, 'dismissed already')


@test
def only_a_key_that_counts_settles_and_only_what_waits(t):
    make_keys(t, 'ana')
    t.exits(0, 'key', 'new', t.path('eve.key'))
    _, record = contradict(t)
    t.has(settle(t, record, 'accept', 'eve', status=1).err, 'eve.key')
    t.exits(0, 'key', 'revoke', t.path('ana.key'), '--list', t.path('revoked'))
    t.has(settle(t, record, 'accept', 'ana', '--revoked', t.path('revoked'), status=1).err, 'revoked')
    t.has(settle(t, '999', 'accept', 'ana', status=1).err, 'no statement that waits')
    for words in (['accept'], [record], [record, 'maybe'], ['x', 'accept'], ['99999999999999999999', 'accept']):
        t.equal(t.quoin('wal', 'review', t.path('log'), *words, '--key', t.path('ana.key'), '--trusted', t.path('trusted')).status, 2)
    t.equal(t.quoin('wal', 'review', t.path('log'), record, 'accept').status, 2)
    t.equal((held(t), len(waiting(t))), ([], 1))


@test
def who_accepts_does_not_sign_for_others(t):
    make_keys(t, 'ana', 'bo', 'cy')
    object, record = contradict(t, FUNCTIONAL + SIGNED)
    accepted = settle(t, record, 'accept', 'cy').json()
    t.equal((accepted['standing'], held(t)), ('pending', []))
    consent = ['wal', 'consent', t.path('log'), accepted['agreement'], '--trusted', t.path('trusted'), '--json', '--key']
    t.equal(t.quoin(*consent, t.path('cy.key')).status, 1)
    t.equal(t.quoin(*consent, t.path('ana.key')).json()['standing'], 'pending')
    t.equal(t.quoin(*consent, t.path('bo.key')).json()['standing'], 'committed')
    t.true(object['claims'][0]['statement'] in [s.strip() for s in held(t)], held(t))


@test
def one_signer_counts_once_and_no_longer_than_the_agreement(t):
    make_keys(t, 'ana', 'bo')
    object = state(t, status=11, more=f'[predicate {GRAPH}skipper]\n{SIGNED}')
    consent = ['wal', 'consent', t.path('log'), object['receipt']['agreement'], '--trusted', t.path('trusted'), '--json', '--key']
    t.equal(t.quoin(*consent, t.path('ana.key')).json()['consents'], 1)
    r = t.quoin(*consent, t.path('ana.key'))
    t.equal(r.status, 1, r.describe())
    t.exits(0, 'key', 'revoke', t.path('bo.key'), '--list', t.path('revoked'))
    t.equal(t.quoin(*consent, t.path('bo.key'), '--revoked', t.path('revoked')).status, 1)
    t.equal(held(t), [])
    object = state(t, status=11, more=f'[predicate {GRAPH}skipper]\n{SIGNED}expires = 200ms\n')
    time.sleep(0.3)
    consent[3] = object['receipt']['agreement']
    for name in ('ana', 'bo'):
        r = t.quoin(*consent, t.path(name + '.key'))
        t.equal(r.status, 1, r.describe())
    t.equal(held(t), [])


if __name__ == '__main__':
    main()
