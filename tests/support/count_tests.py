#!/usr/bin/env python3
"""Counts single tests in the JUnit file of ctest.

Test programs print one "[ RUN      ] name" line before each test and "[       OK ]", "[  SKIPPED ]" or "[  FAILED  ] name" after it
(cmocka does, and so do the Python suites of this project): each of these counts as one test. A program that prints no such line counts
as one test by its exit status. A program that ends badly without a failed test of its own (a crash, a sanitizer report, a time limit)
counts as one failed test. Skipped and failed tests are listed by name; the last line is "N passed, N failed, N skipped".

    count_tests.py REPORT.xml        exit status 0 only when nothing failed and something ran
"""
import collections
import re
import sys
import xml.etree.ElementTree as ET

LINE = re.compile(r'\[\s*(RUN|OK|SKIPPED|FAILED|ERROR)\s*\] (\S.*?)\s*$')


def count_program(name, status, output):
    """Returns (passed, failed, skipped) lists of names for one ctest entry; status is 'run', 'fail', 'notrun' or 'disabled'."""
    passed, failed, skipped = [], [], []
    lists = {'OK': passed, 'FAILED': failed, 'ERROR': failed, 'SKIPPED': skipped}
    running = collections.Counter()
    seen = False
    for line in output.splitlines():
        match = LINE.search(line)
        if not match:
            continue
        word, test = match.groups()
        if word == 'RUN':
            running[test] += 1
            seen = True
        elif running[test] > 0:   # cmocka names failed and skipped tests once more in its summary
            running[test] -= 1
            lists[word].append(f'{name}: {test}')
    failed += [f'{name}: {test} (did not finish)' for test in running.elements()]
    if status == 'fail' and not failed:
        failed.append(f'{name} (the program failed)')
    elif status in ('notrun', 'disabled') and not seen:
        skipped.append(name)
    elif status == 'run' and not seen:
        passed.append(name)
    return passed, failed, skipped


def read_report(path):
    totals = ([], [], [])
    for case in ET.parse(path).getroot().iter('testcase'):
        output = case.findtext('system-out') or ''
        for total, part in zip(totals, count_program(case.get('name'), case.get('status'), output)):
            total += part
        skip = case.find('skipped')
        if skip is not None and case.get('status') == 'notrun' and 'SKIP_' not in (skip.get('message') or ''):
            totals[1].append(f'{case.get("name")} (not run: {skip.get("message")})')
            if case.get('name') in totals[2]:
                totals[2].remove(case.get('name'))
    return totals


def main():
    try:
        passed, failed, skipped = read_report(sys.argv[1])
    except (OSError, ET.ParseError) as error:
        print(f'no report of the tests: {error}')
        return 1
    for name in skipped:
        print(f'skipped: {name}')
    for name in failed:
        print(f'failed: {name}')
    print(f'{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
