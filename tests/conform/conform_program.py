#!/usr/bin/env python3
"""The command line of quoin-conform: what it prints, writes and ends with."""
import json
import os
import re
import signal
import subprocess
import time

from program import *

CONFORM = os.path.join(BINARY, 'bin', 'quoin-conform')
ZOO = os.path.join(BINARY, 'tests', 'zoo')
BAD = os.path.join(BINARY, 'tests', 'bad_plugins')
REFUSES = '1.order.allows_sessions_before_seal'  # never a test: for messages about ids
FAILING = '1.order.program_verbs_in_every_state' # fails on zoo('binds_twice') alone
QUICK = ['--quick'] if SANITIZER else []


def zoo(name):
    return os.path.join(ZOO, name + '.quoin.so')


class Run:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()

    def json(self):
        return json.loads(self.out)


def conform(t, *args, stdout=subprocess.PIPE):
    done = subprocess.run([CONFORM, *map(str, args)], stdout=stdout, stderr=subprocess.PIPE, cwd=t.folder, timeout=WALL_LIMIT,
                          stdin=subprocess.DEVNULL, env=clean_environment(TMPDIR=t.temporary))
    done.stdout = done.stdout or b''
    return Run(done)


def result_of(report, test_id):
    return next(r for r in report['results'] if r['id'] == test_id)


# ---------------------------------------------------------------- words that cannot be used
@test
def each_bad_word_gets_one_line_and_status_2(t):
    for args, words in (([], 'no plugin'), (['nowhere.quoin.so'], 'nowhere.quoin.so: there is no such file'),
                        (['reference', 'reference'], 'one plugin at a time'), (['reference', '--levl', '1'], 'did you mean --level'),
                        (['reference', '--level', '8'], '--level 8: must be numbers from 0 to 7'),
                        (['reference', '--level', '1,'], 'must be numbers'), (['reference', '--profile', 'x'], 'choose one of'),
                        (['reference', '--numeric', 'x'], 'f32acc'), (['reference', '--mask', 'x'], 'choose one of c avx2'),
                        (['reference', '--workers', '0'], 'whole number from 1 to 64'), (['reference', '--seed', '-1'], 'whole number'),
                        (['reference', '--timeout', 'x'], 'must be a number'), (['reference', '--option', 'x'], 'must be KEY=VALUE'),
                        (['reference', '--repro', REFUSES], 'there is no such test'),
                        (['reference', '--repro', FAILING[:-1]], f'did you mean {FAILING}'),
                        (['reference', '--repro', FAILING + ':1/0'], 'LEVEL.SUITE.TEST:SEED/CASE'),
                        (['reference', '--filter', 'nothing*'], 'no test of the chosen levels matches nothing*'),
                        (['reference', '--compare', 'x'], '--compare x: needs --bench'),
                        (['reference', '--fail-if-slower', '3'], 'needs --compare'),
                        (['reference', '--bench', '--compare', 'nowhere'], 'nowhere'),
                        (['reference', '--waivers', 'nowhere'], 'nowhere')):
        r = conform(t, *args)
        t.equal(r.status, 2, ' '.join(args))
        t.equal(r.out, '', f'standard output of {args}')
        t.equal(len(r.err.splitlines()), 1, f'lines of {r.err}')
        t.has(r.err, words)


@test
def a_file_that_is_no_plugin_fails_level_0_with_the_reason(t):
    with open(t.path('text.quoin.so'), 'w') as f:
        f.write('this is text\n')
    r = conform(t, 'text.quoin.so')
    t.equal(r.status, 1)
    t.has(r.out, 'this is no ELF file')


# ---------------------------------------------------------------- what there is
@test
def the_list_names_level_profile_and_requirement_of_every_test(t):
    lines = [line.split() for line in conform(t, '--list').out.splitlines() if line.startswith('  ')]
    t.true(len(lines) > 80, f'{len(lines)} tests')
    with open(os.path.join(SOURCE, 'abi', 'doc', 'requirements.md')) as f:
        known = set(re.findall(r'^\| ([A-Z]\d+) \|', f.read(), re.M))
    for word, *requirements, test_id in lines:
        t.true(word in ('must', 'may'), test_id)
        t.true(re.fullmatch(r'[0-7]\.[a-z_0-9]+\.[A-Za-z_0-9]+', test_id), test_id)
        t.true((requirements or test_id[0] == '7') and set(requirements) <= known, f'{test_id} names the requirements {requirements}')
    t.equal(len({line[-1] for line in lines}), len(lines), 'ids are unique')


@test
def help_and_version_are_told(t):
    r = conform(t, '--help')
    t.equal(r.status, 0)
    t.has(r.out, 'usage: quoin-conform PLUGIN', '--repro ID', 'exit status')
    t.has(conform(t, '--version').out, 'quoin-conform ', 'plugin ABI 0.0')


# ---------------------------------------------------------------- choosing
@test
def levels_and_filters_choose_tests(t):
    report = conform(t, 'reference', '--json', '--level', '1', '--filter', '*sizes*').json()
    ids = [r['id'] for r in report['results']]
    t.true(len(ids) >= 3 and all(i.startswith('1.') and 'sizes' in i for i in ids), str(ids))


@test
def one_case_is_repeated_alone(t):
    whole = result_of(conform(t, 'reference', '--json', '--filter', FAILING).json(), FAILING)
    t.true(whole['cases'] > 10, 'the test has many cases')
    report = conform(t, 'reference', '--json', '--repro', f'{FAILING}:5/3').json()
    t.equal([(r['id'], r['cases'], r['last_case'], r['result']) for r in report['results']], [(FAILING, 1, 3, 'PASS')])
    t.equal(report['seed'], 5)


@test
def what_a_failure_prints_repeats_it(t):
    r = conform(t, zoo('binds_twice'), '--filter', FAILING, '--seed', '9')
    t.equal(r.status, 1)
    t.has(r.out, 'FAIL', 'BAD_STATE was expected', 'requirement S1')
    again = re.search(r'repeat with --repro (\S+)', r.out).group(1)
    t.true(again.startswith(FAILING + ':9/'), again)
    r = conform(t, zoo('binds_twice'), '--repro', again)
    t.equal(r.status, 1)
    t.has(r.out, '(1 cases', again)


@test
def a_run_in_one_process_has_the_results_of_one_in_many(t):
    def read(*more):
        report = conform(t, 'reference', '--json', '--level', '0,1', *QUICK, *more).json()
        return [(r['id'], r['result'], r['cases']) for r in report['results']]
    t.equal(read('--in-process'), read())


# ---------------------------------------------------------------- the profile
@test
def unsupported_inside_the_profile_is_a_failure(t):
    r = conform(t, zoo('says_no_to_everything'), *QUICK)
    t.equal(r.status, 1)
    t.has(r.out, 'UNSUPPORTED', 'the profile wants it', 'profile decode-core-0: not passed')
    for profile in ('protocol-0', 'none'):
        r = conform(t, zoo('says_no_to_everything'), '--profile', profile, *QUICK)
        t.equal(r.status, 0, r.out)
        t.has(r.out, f'profile {profile}: passed')


@test
def what_is_not_on_this_machine_is_not_judged(t):
    for args, words in ((['reference', '--numeric', 'act8'], 'does not offer the numeric class'),
                        (['reference', '--device', 'gpu'], "there is no 'gpu'"),
                        ([os.path.join(BAD, 'has_no_driver.quoin.so')], 'libnowhere.so.1')):
        r = conform(t, *args)
        t.equal(r.status, 3, r.out)
        t.has(r.out, 'nothing but the file can be tested', words, 'not tested')
    foreign = 'neon' if os.uname().machine == 'x86_64' else 'avx2'
    r = conform(t, 'reference', '--mask', foreign)
    t.equal((r.status, r.out), (3, ''))
    t.has(r.err, 'this machine does not have that level')


@test
def a_plugin_that_hangs_when_it_is_opened_is_not_asked_again(t):
    r = conform(t, os.path.join(BAD, 'hangs_in_start.quoin.so'), '--timeout', '1')
    t.equal(r.status, 1)
    t.has(r.out, 'nothing but the file can be tested', 'no result within 1 s')


@test
def options_and_devices_reach_the_plugin(t):
    need_cpu()
    report = conform(t, CPU_PLUGIN, '--json', '--option', 'isa=c', '--device', 'cpu', '--filter', '1.devices.*').json()
    t.has(report['device']['driver'], 'portable C')
    t.true(report['passed'], 'passed')
    report = conform(t, CPU_PLUGIN, '--json', '--option', 'colour=red', '--filter', '1.devices.*').json()
    t.equal(report['opening']['result'], 'FAIL')
    t.has(report['opening']['text'], "no option 'colour'")


# ---------------------------------------------------------------- how tests end
@test
def crashes_and_prints_are_told_with_the_case(t):
    if SANITIZER:
        skip('a sanitizer has handlers of its own')
    r = conform(t, zoo('crashes_without_memory'), '--filter', '6.memory.memory_that*')
    t.has(r.out, 'CRASH', 'in case allocation 0 fails: SIGSEGV (Segmentation fault)', '1 crashed')
    r = conform(t, os.path.join(BAD, 'prints_much.quoin.so'), '--filter', '1.process.nothing_is_printed')
    t.has(r.out, 'FAIL', 'the plugin prints')


@test
def an_interrupt_ends_the_run_and_leaves_nothing(t):
    child = subprocess.Popen([CONFORM, os.path.join(BAD, 'hangs_in_start.quoin.so')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=t.folder, env=clean_environment(TMPDIR=t.temporary))
    until = time.monotonic() + 20 * SLOWNESS
    while not t.files(t.temporary) and time.monotonic() < until:
        time.sleep(0.02)
    t.equal(len(t.files(t.temporary)), 1, 'the folder of its blobs')
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=WALL_LIMIT)
    t.equal(child.returncode, 130)
    t.equal(t.files(t.temporary), [], 'files left')


# ---------------------------------------------------------------- the report
@test
def the_report_says_what_was_tested_on_what(t):
    r = conform(t, zoo('is_honest'), '--level', '0,1', '--report', 'report.json', '--seed', '3', '--workers', '3', *QUICK)
    t.equal(r.status, 0, r.out)
    with open(t.path('report.json')) as f:
        report = json.load(f)
    for key, value in (('profile', 'decode-core-0'), ('numeric', 'f32acc'), ('seed', 3), ('workers', 3), ('abi', '0.0'), ('passed', True),
                       ('here', True)):
        t.equal(report[key], value, key)
    for key, value in (('path', zoo('is_honest')), ('name', 'is_honest'), ('version', '3.1'), ('licence', 'Apache-2.0')):
        t.equal(report['plugin'][key], value, key)
    t.true(report['suite_version'] and report['suite_build_id'] and report['device']['id'] == 'cpu', 'who tested what')
    t.true(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', report['begun_at']), report['begun_at'])
    for one in report['results']:
        t.true(set(one) >= {'id', 'level', 'requirement', 'must', 'result', 'seconds', 'cases', 'text', 'notes', 'printed'}, str(one))
    t.equal(sum(report['summary'][k] for k in ('PASS', 'FAIL', 'CRASH', 'TIMEOUT', 'UNSUPPORTED', 'WAIVED')), len(report['results']))
    t.equal(t.files(t.folder), ['report.json'], 'files left')


@test
def a_report_that_cannot_be_written_is_status_6(t):
    r = conform(t, 'reference', '--filter', '0.query.*', '--report', 'no/such/folder/report.json')
    t.equal(r.status, 6)
    t.has(r.err, 'no/such/folder')
    with open('/dev/full', 'wb') as full:
        r = conform(t, 'reference', '--filter', '0.query.*', stdout=full)
    t.equal(r.status, 6)
    t.has(r.err, 'standard output cannot be written')


@test
def quiet_prints_only_what_did_not_pass(t):
    lines = conform(t, 'reference', '--filter', '0.query.*', '-q').out.splitlines()
    t.equal(len(lines), 4, 'head, counts and profile')
    t.true(not any(line.startswith('PASS') for line in lines), 'no line of a test that passed')


# ---------------------------------------------------------------- waivers
def write_waivers(t, *lines):
    with open(t.path('waivers'), 'w') as f:
        f.write('# known\n\n' + '\n'.join(lines) + '\n')
    return ['--waivers', 'waivers']


@test
def a_known_failure_is_waived_until_its_day(t):
    args = [zoo('binds_twice'), '--filter', FAILING]
    r = conform(t, *args, *write_waivers(t, f'{FAILING} 2999-12-31 binds again, fixed in the next release'))
    t.equal(r.status, 0, r.out)
    t.has(r.out, 'WAIVED', 'waived FAIL: binds again, fixed in the next release', '1 waived')
    r = conform(t, *args, *write_waivers(t, f'{FAILING} 2020-01-01 binds again, fixed in the next release'))
    t.equal(r.status, 1)
    t.has(r.out, 'ended on 2020-01-01 and waives nothing any more', 'FAIL')


@test
def a_waived_test_that_passes_fails(t):
    r = conform(t, 'reference', '--filter', FAILING, *write_waivers(t, '1.order.* 2999-12-31 it was broken once'))
    t.equal(r.status, 1)
    t.has(r.out, 'FAIL', 'it passes, but line 3 of waivers waives it', 'it was broken once')


@test
def a_waiver_that_is_not_used_is_told(t):
    r = conform(t, 'reference', '--filter', FAILING, *write_waivers(t, '6.nothing.* 2999-12-31 there is no such test'))
    t.equal(r.status, 0)
    t.has(r.out, 'waiver 6.nothing.* of line 3 was not used')


@test
def unsupported_tests_of_the_profile_can_be_waived(t):
    args = [zoo('says_no_to_everything'), '--filter', '6.memory.steps_take_no_memory']
    t.equal(conform(t, *args).status, 1)
    r = conform(t, *args, *write_waivers(t, '6.memory.steps_* 2999-12-31 this backend runs nothing yet'))
    t.equal(r.status, 0)
    t.has(r.out, 'waived UNSUPPORTED')


@test
def waivers_that_cannot_be_read_are_refused_with_the_line(t):
    for line, words in (('1.order.*', "line 3: '1.order.*': must be a pattern"), ('1.order.* soon because', 'line 3'),
                        ('1.order.* 2999-12-31', 'without a reason'), ('1.order.* 2999-12-31 no', 'without a reason'),
                        ('x' * 2000, 'longer than')):
        r = conform(t, 'reference', *write_waivers(t, line))
        t.equal(r.status, 2, line)
        t.equal(r.out, '')
        t.has(r.err, 'waivers: line 3', words)


# ---------------------------------------------------------------- speed
@test
def figures_are_compared_with_an_earlier_report(t):
    bench = ['reference', '--bench', '--quick', '--filter', '7.speed.small_ops']
    t.equal(conform(t, *bench, '--report', 'then.json').status, 0)
    with open(t.path('then.json'), encoding='utf-8') as file:
        report = json.load(file)
    figures = {m['name']: m for m in report['results'][0]['measures']}
    figures['add.decode']['value'] *= 1e6
    figures['scale.decode']['value'] /= 1e6
    with open(t.path('then.json'), 'w', encoding='utf-8') as file:
        json.dump(report, file)
    r = conform(t, *bench, '--compare', 'then.json')
    t.equal(r.status, 0)
    t.has(r.out, 'faster  add.decode', 'slower  scale.decode', 'figures compared with then.json')
    r = conform(t, *bench, '--compare', 'then.json', '--fail-if-slower', '50', '--json')
    t.equal(r.status, 1)
    t.has(r.err, 'slower  scale.decode')
    t.true(r.json()['results'], 'standard output is the report alone')
    with open(t.path('then.json'), 'w', encoding='utf-8') as file:
        file.write('{"results":\n oops')
    r = conform(t, *bench, '--compare', 'then.json')
    t.equal(r.status, 2)
    t.has(r.err, '--compare then.json: line 2, column')


if __name__ == '__main__':
    main()
