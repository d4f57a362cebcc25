#!/usr/bin/env python3
"""The zoo: backends with one fault each (tests/conform/zoo, tests/faults/plugins), given to quoin-conform and to quoin.

Each is caught by the test of the suite that is named here, which an honest backend passes; and quoin decodes all the same, or says why
it does not.
"""
import json
import os
import subprocess

from models import make_tiny
from program import *

CONFORM = os.path.join(BINARY, 'bin', 'quoin-conform')
ZOO = os.path.join(BINARY, 'tests', 'zoo')
BAD = os.path.join(BINARY, 'tests', 'bad_plugins')
TEXT = b' world world world\n'
REFUSED, USED = 3, 0

# name: (test of the suite, its result, words of it, how quoin ends when the backend is named, words of standard error)
RUNNING = {
    'counts_queries': ('0.query.query_is_pure', 'FAIL', ['answers otherwise than the first'], USED, []),
    'looks_for_its_device': ('0.query.query_opens_nothing', 'FAIL', ['UNAVAILABLE where no file can be opened'], USED, []),
    'exits_in_query': ('0.query.query_is_pure', 'CRASH', ['ended with status 0 and without a result'], REFUSED,
                       ['refused at probe', 'without an answer']),
    'inserts_a_verb': ('1.compile.check_takes_no_memory', 'CRASH', ['SIG'], REFUSED, ['refused at probe']),
    'has_two_exports': ('0.file.one_symbol_is_exported', 'FAIL', ['zoo_second_export'], USED, []),
    'keeps_the_hosts_table': ('1.start.start_copies_the_host_table', 'FAIL', ['table has changed'], USED, []),
    'forgets_options': ('1.start.unknown_options_are_refused_by_name', 'FAIL', ['start answers OK'], USED, []),
    'names_no_option': ('1.start.unknown_options_are_refused_by_name', 'FAIL', ["does not name 'no_such_option'"], USED, []),
    'has_unstable_ids': ('1.devices.devices_have_the_same_ids_again', 'FAIL', ["'cpu-1', and 'cpu-2'"], USED, []),
    'overfills_devices': ('1.devices.devices_counts_then_fills', 'FAIL', ['behind its room'], USED, []),
    'leaves_a_thread_each_start': ('1.start.start_and_stop_leave_no_thread_and_no_descriptor', 'FAIL', ['threads more after'], USED, []),
    'does_not_log': ('1.order.a_destroy_that_comes_too_early_is_logged_and_harmless', 'FAIL', ['nothing was logged'], USED, []),
    'has_unterminated_words': ('1.devices.unknown_devices_are_refused_by_name', 'FAIL', ['not terminated or not UTF-8'], USED, []),
    'tells_another_code': ('1.devices.unknown_devices_are_refused_by_name', 'FAIL', ['the error record says -15'], USED, []),
    'speaks_latin': ('1.devices.unknown_devices_are_refused_by_name', 'FAIL', ['not terminated or not UTF-8'], USED, []),
    'says_no_without_a_reason': ('1.compile.check_gives_one_verdict_an_op_where_the_stride_puts_it', 'FAIL', ['without a reason'], REFUSED,
                                 ['failed at check', 'UNSUPPORTED: no reason given']),
    'reads_the_program_later': ('1.compile.compile_needs_the_program_for_the_call_only', 'FAIL', ['program has changed'], USED, []),
    'reads_copied_weights_later': ('1.weights.copied_weights_are_read_during_the_call_only', 'FAIL', ['other outputs'], USED, []),
    'binds_twice': ('1.order.program_verbs_in_every_state', 'FAIL', ['answers OK', 'BAD_STATE was expected'], USED, []),
    'seals_without_weights': ('1.weights.seal_names_the_weight_that_is_missing', 'FAIL', ['seal answers OK'], USED, []),
    'allows_sessions_before_seal': ('1.order.program_verbs_in_every_state', 'FAIL', ['session_new, program compiled'], USED, []),
    'taps_without_the_flag': ('1.order.tap_in_every_state', 'FAIL', ['UNSUPPORTED was expected'], USED, []),
    'plans_too_little': ('6.memory.the_plan_covers_what_is_taken', 'FAIL', ['taken', 'planned'], USED, []),
    'plans_too_much': ('6.memory.the_plan_covers_what_is_taken', 'FAIL', ['more than 5 percent too much'], USED, []),
    'accepts_any_cell': ('1.step.steps_with_an_index_out_of_range_are_refused_before_anything_is_written', 'FAIL',
                         ['a cell just out of range', 'step answers OK'], USED, []),
    'writes_before_it_refuses': ('1.step.steps_that_cannot_be_are_refused_before_anything_is_written', 'FAIL', ['has written'], USED, []),
    'writes_behind_outputs': ('1.step.step_writes_its_outputs_and_nothing_beside_them', 'FAIL', ['behind a buffer'], None, []),
    'prints_in_steps': ('1.process.nothing_is_printed', 'FAIL', ['a step is run'], USED, []),
    'ignores_cancel': ('6.cancel.the_cancel_flag_is_seen', 'FAIL', ['CANCELLED was expected'], USED, []),
    'damages_cells_when_cancelled': ('6.cancel.a_step_cancelled_at_any_service_call_damages_no_other_cell', 'FAIL', ['other cells'], USED, []),
    'leaks_a_descriptor_each_step': ('6.lives.hundreds_of_steps_leave_nothing', 'FAIL', ['300 descriptors'], USED, []),
    'leaks_memory_each_step': ('6.memory.steps_take_no_memory', 'FAIL', ['20 steps made 20 allocations'], USED, []),
    'leaks_memory_each_session': ('6.lives.sessions_come_and_go', 'FAIL', ['session number 1 leaves 64 bytes'], USED, []),
    'binds_its_thread': ('6.threads.the_thread_may_change_at_each_step', 'FAIL', ['belongs to another thread'], USED, []),
    'shares_its_scratch': ('6.threads.two_threads_step_two_sessions', 'FAIL', ['than one alone'], USED, []),
    'describes_nothing': ('1.extras.describe_names_a_kernel_for_every_op', 'FAIL', ['length of 0'], USED, []),
    'answers_any_extension': ('1.extras.unknown_extensions_are_null', 'FAIL', ["id 'quoin.test-fault/1x'"], USED, []),
    'crashes_without_memory': ('6.memory.memory_that_runs_out_anywhere_is_an_error_and_no_leak', 'CRASH',
                               ['allocation 0 fails', 'SIGSEGV'], USED, []),
    'leaks_when_memory_runs_out': ('6.memory.an_allocation_that_fails_once_is_an_error_and_no_leak', 'FAIL',
                                   ['after a failure in compile', 'bytes are left'], USED, []),
    'believes_any_blob': ('6.blobs.any_blob_store_is_survived', 'FAIL', ['the outputs are others'], USED, []),
    'hangs_when_lost': ('6.faults.a_lost_device_answers_so_and_lets_itself_be_destroyed', 'FAIL', ['session_free on a lost device takes'],
                        USED, []),
    'forgets_that_it_is_lost': ('6.faults.a_lost_device_answers_so_and_lets_itself_be_destroyed', 'FAIL', ['DEVICE_LOST was expected'],
                                USED, []),
    'computes_nothing': ('2.add.add_of_rows_keeps_the_bound', 'FAIL', ['are wrong', 'got 0'], REFUSED, ['refused at known answer: CORRUPT']),
    'wrong_once_in_many': ('2.attention.attention_keeps_the_bound_for_heads_of_any_shape', 'FAIL', ['1 of', 'elements'], USED, []),
    'wrong_for_odd_rows': ('2.matmul.matmul_keeps_its_bound_with_F32', 'FAIL', ['are wrong'], USED, []),
    'wrong_for_permuted_cells': ('2.attention.attention_finds_cells_wherever_they_lie', 'FAIL', ['are wrong'], REFUSED,
                                 ['refused at known answer: CORRUPT']),
    'wrong_with_many_workers': ('2.add.add_of_rows_keeps_the_bound', 'FAIL', ['are wrong'], REFUSED, ['refused at known answer: CORRUPT']),
    'wrong_for_the_second_sequence': ('2.attention.attention_keeps_sequences_apart', 'FAIL', ['are wrong', 'sequences 2'], USED, []),
    'begins_with_old_state': ('2.state.a_new_session_begins_with_zeros', 'FAIL', ['wrong in a new session'], USED, []),
    'moves_cells_forwards': ('2.state.state_move_copies_like_memmove_and_zeroes', 'FAIL', [], USED, []),
}

# What these compute is a little off; quoin believes a backend that knows the known answer.
WRONG = {
    'rounds_to_half': ('2.matmul.matmul_keeps_its_bound_with_Q8_0', ['elements of y are wrong']),
    'cuts_its_sums': ('2.matmul.matmul_keeps_its_bound_with_F16', ['err to one side']),
    'sees_one_too_many': ('2.attention.attention_sees_only_its_window', ['elements of y are wrong']),
    'forgets_the_cap': ('2.attention.attention_keeps_the_bound_with_caps_and_sharp_scores', ['cap 1 ', 'elements of y are wrong']),
    'turns_other_pairs': ('2.rope.rope_keeps_the_bound_with_half_pairs', ['elements of y are wrong']),
    'changes_the_base': ('2.rope.rope_keeps_the_bound_with_adjacent_pairs', ['elements of y are wrong']),
    'changes_epsilon': ('2.rms_norm.rms_norm_of_large_and_small_rows_keeps_the_bound', ['elements of y are wrong']),
    'fuses_wrongly': ('4.layers.layers_of_llama_compute_what_their_ops_say', ['the fused program goes wrong at op', 'gated', 'with MATERIALIZE every op keeps']),
}

# Plugins that are seen through earlier: what quoin does with them is in bad_plugins.py.
EARLIER = {
    'dies_in_constructor': ('0.file.loading_it_changes_nothing', 'CRASH', ['SIGSEGV']),
    'exits_in_constructor': ('0.file.loading_it_changes_nothing', 'CRASH', ['status 0 and without a result']),
    'illegal_instruction': ('0.file.loading_it_changes_nothing', 'CRASH', ['SIGILL']),
    'prints_a_banner': ('0.file.nothing_runs_when_it_is_loaded', 'FAIL', ['2 constructors']),
    'dies_in_query': ('0.query.query_is_pure', 'CRASH', ['SIGSEGV']),
    'compares_sizes': ('0.query.query_is_pure', 'FAIL', ['BAD_ARG']),
    'has_no_table': ('0.query.query_has_a_whole_table_of_verbs', 'FAIL', ['plugin is null']),
    'lacks_a_verb': ('0.query.query_has_a_whole_table_of_verbs', 'FAIL', ['no verb seal']),
    'has_a_short_table': ('0.query.query_has_a_whole_table_of_verbs', 'FAIL', ['ends before step']),
    'calls_itself_otherwise': ('0.file.the_note_says_what_the_query_says', 'FAIL', ['somebody']),
    'changed_its_minor': ('0.query.query_says_who_it_is', 'FAIL', ['minor 1']),
    'speaks_a_later_abi': ('0.file.the_note_is_there_and_lets_the_file_be_loaded', 'FAIL', ['TOO_NEW']),
    'has_a_later_minor': ('0.file.the_note_is_there_and_lets_the_file_be_loaded', 'FAIL', ['both must be equal']),
    'needs_another_cpu': ('0.file.the_note_is_there_and_lets_the_file_be_loaded', 'FAIL', ['this CPU and system offer']),
    'is_for_another_machine': ('0.file.the_note_is_there_and_lets_the_file_be_loaded', 'FAIL', ['another processor']),
    'notes_another_name': ('0.file.the_note_is_there_and_lets_the_file_be_loaded', 'FAIL', ['somebody']),
    'has_no_note': ('0.file.the_note_is_there_and_lets_the_file_be_loaded', 'FAIL', ['it has no note']),
    'needs_a_missing_library': ('0.file.no_library_beyond_the_system_s_own_is_needed', 'FAIL', ['libquoin_missing.so']),
    'has_an_open_symbol': ('0.file.loading_it_changes_nothing', 'FAIL', ['function_that_nobody_has']),
    'hangs_in_start': ('1.start.start_copies_the_host_table', None, ['no result within']),
    'hangs_in_devices': ('1.devices.devices_say_what_they_are', None, ['no result within']),
    'exits_in_devices': ('1.devices.devices_say_what_they_are', 'CRASH', ['status 0 and without a result']),
    'fails_without_words': ('1.start.start_copies_the_host_table', 'FAIL', ['without a text']),
    'leaves_a_child': ('1.process.no_process_is_started', 'FAIL', ['a process was started']),
    'leaves_a_thread': ('1.start.start_and_stop_leave_no_thread_and_no_descriptor', 'FAIL', ['threads more']),
    'sets_flush_to_zero': ('1.process.starting_and_stopping_changes_nothing', 'FAIL', ['floating-point control']),
    'sets_flush_to_zero_in_a_step': ('1.process.no_verb_changes_the_process', 'FAIL', ['step changes the process']),
    'installs_a_handler': ('1.process.starting_and_stopping_changes_nothing', 'FAIL', ['handler of SIGINT']),
    'changes_the_process': ('1.process.starting_and_stopping_changes_nothing', 'FAIL', ['umask, working folder, environment']),
    'closes_descriptors': ('1.devices.devices_counts_then_fills', 'CRASH', ['without a result']),
    'prints_much': ('1.process.nothing_is_printed', 'FAIL', ['line 0 of a driver']),
    'forgets_terminators': ('1.devices.devices_say_what_they_are', 'FAIL', ['not terminated']),
    'counts_too_many': ('1.devices.devices_counts_then_fills', 'FAIL', ['1000']),
    'aborts_in_open': ('1.devices.devices_say_what_they_are', 'CRASH', ['SIGABRT']),
    'succeeds_with_nothing': ('1.devices.a_device_opens_and_closes_many_times', 'FAIL', ['gives no device']),
    'cannot_compile': ('1.compile.compile_does_what_check_said', 'FAIL', ['after a yes to every op', 'TOO_OLD']),
    'dies_in_step': ('1.step.step_writes_its_outputs_and_nothing_beside_them', 'CRASH', ['SIGSEGV']),
    'overflows_the_stack': ('1.step.step_writes_its_outputs_and_nothing_beside_them', 'CRASH', ['SIGSEGV']),
    'loses_the_device': ('1.step.step_writes_its_outputs_and_nothing_beside_them', 'FAIL', ['DEVICE_LOST']),
}

# What their fault does to the process is a sanitizer's own business.
SIGNALS = {'dies_in_constructor', 'illegal_instruction', 'dies_in_query', 'dies_in_step', 'overflows_the_stack', 'crashes_without_memory',
           'aborts_in_open', 'inserts_a_verb', 'writes_behind_outputs', 'leaks_a_descriptor_each_step', 'exits_in_constructor',
           'exits_in_devices', 'exits_in_query', 'closes_descriptors', 'prints_a_banner', 'has_two_exports', 'needs_a_missing_library'}


def conform(t, path, *args):
    """Runs quoin-conform --json; (exit status, the report)."""
    done = subprocess.run([CONFORM, path, '--json', *args], capture_output=True, env=clean_environment(TMPDIR=t.temporary),
                          timeout=WALL_LIMIT)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        raise Failed(f'quoin-conform {path} {args}: exit {done.returncode}, no JSON: {done.stdout[:500]} {done.stderr[:500]}')


def check_caught(t, folder, name, test_id, result, words):
    if SANITIZER and name in SIGNALS:
        skip('a sanitizer has a hand in this')
    patience = ['--timeout', str(2 if name.startswith('hangs_in') else 60 * SLOWNESS)]
    status, report = conform(t, os.path.join(folder, name + '.quoin.so'), '--filter', test_id, *patience)
    t.equal(status, 1, f'exit status of quoin-conform on {name}')
    if result is None:  # nothing else is tried then
        found = report['opening']
        t.equal(found['result'], 'TIMEOUT', name)
    else:
        found = next(r for r in report['results'] if r['id'] == test_id)
        t.equal(found['result'], result, f'{name}: {found["text"]}')
    t.has(found['text'], *words)


def check_survived(t, name, status, words):
    model = make_tiny(t.path('tiny.gguf'))
    plugin = ['--plugin', os.path.join(ZOO, name + '.quoin.so'), '--probe-timeout', str(30 * SLOWNESS)]
    run = ['run', model, '--prompt', 'hello world', '-n', '3', '--threads', '2', *plugin]
    if status is not None:
        r = t.exits(status, *run, '--backend', name)
        t.equal(r.out, TEXT if status == USED else b'', 'standard output')
        t.has(r.err, *words, f'using {name} ' if status == USED else f'backend {name}')
    if os.path.exists(CPU_PLUGIN):
        t.equal(t.exits(0, *run, '--backend', 'cpu').out, TEXT, 'the text of cpu beside it')


def add_tests():
    for name, (test_id, result, words, status, run_words) in RUNNING.items():
        def caught(t, name=name, test_id=test_id, result=result, words=words):
            check_caught(t, ZOO, name, test_id, result, words)

        def survived(t, name=name, status=status, words=run_words):
            if SANITIZER and name in SIGNALS:
                skip('a sanitizer has a hand in this')
            check_survived(t, name, status, words)
        for function, title in ((caught, f'{name}_is_caught'), (survived, f'{name}_is_survived')):
            function.__name__ = title
            test(function)
    for name, (test_id, words) in WRONG.items():
        def wrong(t, name=name, test_id=test_id, words=words):
            check_caught(t, ZOO, name, test_id, 'FAIL', words)
        wrong.__name__ = f'{name}_is_caught'
        test(wrong)
    for name, (test_id, result, words) in EARLIER.items():
        def earlier(t, name=name, test_id=test_id, result=result, words=words):
            check_caught(t, BAD, name, test_id, result, words)
        earlier.__name__ = f'{name}_is_caught'
        test(earlier)


@test
def an_honest_backend_passes_all_of_these_tests(t):
    named = {entry[0] for entry in (*RUNNING.values(), *WRONG.values(), *EARLIER.values())}
    honest, quick = os.path.join(ZOO, 'is_honest.quoin.so'), ['--quick'] if SANITIZER else []
    status, report = conform(t, honest, '--level', '0,1,6', *quick)
    t.equal(status, 0)
    results = {r['id']: r for r in report['results']}
    for test_id in sorted(named):
        if test_id[0] not in '016':
            status, report = conform(t, honest, '--filter', test_id, *quick)
            results[test_id] = report['results'][0]
        t.true(test_id in results, f'{test_id} is a test of the suite')
        if not test_id.startswith('6.faults.'):
            t.equal(results[test_id]['result'], 'PASS', f'{test_id}: {results[test_id]["text"]}')


@test
def a_device_that_is_busy_is_not_judged(t):
    status, report = conform(t, os.path.join(ZOO, 'is_busy_once.quoin.so'))
    t.equal(status, 3)
    t.has(report['opening']['text'], 'start answers BUSY', 'held by another process')
    t.true(all(r['level'] == 0 for r in report['results']), 'the file alone is tested')


add_tests()

if __name__ == '__main__':
    main()
