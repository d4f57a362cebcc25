"""Running the program quoin for the end-to-end tests, measured and watched, and printing results one line a test.

    from program import *          (tests/support is on PYTHONPATH)

    @test
    def verify_of_a_cut_file_names_the_tensor(t):
        r = t.quoin('verify', path)
        t.equal(r.status, 1)
        t.has(r.err, 'tensor')

    if __name__ == '__main__': main()

Every run of quoin is watched for sanitizer reports, for death by a signal, and for files left in the folder for temporary files. A test
gets an empty folder, t.folder, which is taken away afterwards. Lines are those of cmocka, so that tests are counted alike.
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BINARY = os.environ.get('QUOIN_BINARY', 'build/dev')
SOURCE = os.environ.get('QUOIN_SOURCE', os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CORPUS = os.environ.get('QUOIN_CORPUS') or os.environ.get('QUOIN_CORPUS_DEFAULT') or os.path.join(SOURCE, '..', 'shared')
PROGRAM = os.path.join(BINARY, 'bin', 'quoin')
CPU_PLUGIN = os.path.join(BINARY, 'lib', 'quoin', 'plugins', 'cpu.quoin.so')
SANITIZER = os.environ.get('QUOIN_SANITIZER', '')   # 'address', 'thread' or ''
SLOWNESS = {'address': 6, 'thread': 20}.get(SANITIZER, 1)
WALL_LIMIT = 120 * SLOWNESS                          # seconds; a run that takes longer hangs
REPORT = re.compile(rb'AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|UndefinedBehaviorSanitizer')


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class Result:
    """What one run of quoin did: status, out and err as bytes, cpu and wall seconds, peak memory in bytes."""

    def __init__(self, args, status, out, err, cpu, wall, peak):
        self.args_given, self.status, self.out, self.err = args, status, out, err
        self.cpu, self.wall, self.peak = cpu, wall, peak

    def json(self):
        """The one JSON object of standard output; fails when there is anything else."""
        try:
            value = json.loads(self.out.decode('utf-8'))
        except ValueError as error:
            raise Failed(f'{self.describe()}\nstandard output is not one JSON value: {error}')
        if not isinstance(value, dict):
            raise Failed(f'{self.describe()}\nstandard output is no JSON object')
        return value

    def describe(self):
        words = ' '.join(str(a) if len(str(a)) < 200 else str(a)[:200] + '…' for a in self.args_given)
        return (f'quoin {words}: exit {self.status} after {self.wall:.2f} s\n--- standard output\n'
                f'{self.out[:3000].decode("utf-8", "replace")}\n--- standard error\n{self.err[:3000].decode("utf-8", "replace")}')


def clean_environment(**more):
    """The environment without anything that changes what quoin does, and without the user's own configuration."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(('QUOIN_', 'LC_', 'XDG_')) and k not in ('LANG', 'LANGUAGE')}
    env['HOME'] = '/dev/null/home'  # cannot come to exist: a driver makes the whole path of its cache, as root even at /
    # Drivers of devices are for the suites that are about them: they take seconds, and keep things in the user's folders.
    env['QUOIN_BACKENDS_DISABLE'] = os.environ.get('TEST_WITHOUT_BACKENDS', 'cuda,opencl,vulkan')
    env['ASAN_OPTIONS'] = 'detect_leaks=1:allocator_may_return_null=1:handle_sigbus=0:' + os.environ.get('ASAN_OPTIONS', '')
    env['TSAN_OPTIONS'] = f'suppressions={SOURCE}/tests/support/tsan.supp:report_signal_unsafe=0:' + os.environ.get('TSAN_OPTIONS', '')
    env['UBSAN_OPTIONS'] = 'print_stacktrace=1'
    env.update({k: str(v) for k, v in more.items() if v is not None})
    return env


class Test:
    def __init__(self, name):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix='quoin-e2e-')
        self.temporary = tempfile.mkdtemp(prefix='quoin-e2e-tmp-')
        self.last = None

    def close(self):
        for path in (self.folder, self.temporary):
            for root, folders, _ in os.walk(path):
                os.chmod(root, 0o700)
                for f in folders:
                    if not os.path.islink(os.path.join(root, f)):
                        os.chmod(os.path.join(root, f), 0o700)
            shutil.rmtree(path, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    # ------------------------------------------------------------ running
    def start(self, *args, env=None, stdin=None, stdout=subprocess.PIPE, preexec=None, cwd=None):
        environment = clean_environment(TMPDIR=self.temporary)
        environment.update({k: str(v) for k, v in (env or {}).items()})
        return subprocess.Popen([PROGRAM, *map(str, args)], stdin=stdin or subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                                env=environment, cwd=cwd or self.folder, preexec_fn=preexec, bufsize=0)

    def quoin(self, *args, env=None, stdin=b'', stdout=None, preexec=None, cwd=None, wall=None):
        """Runs quoin to its end. stdin: bytes; stdout: a file object instead of capturing."""
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        source = tempfile.TemporaryFile()
        source.write(stdin)
        source.seek(0)
        environment = clean_environment(TMPDIR=self.temporary)
        environment.update({k: str(v) for k, v in (env or {}).items()})
        begin = time.monotonic()
        child = subprocess.Popen([PROGRAM, *map(str, args)], stdin=source, stdout=stdout or out, stderr=err, env=environment,
                                 cwd=cwd or self.folder, preexec_fn=preexec)
        status, usage = self.wait(child, begin + (wall or WALL_LIMIT))
        out.seek(0)
        err.seek(0)
        self.last = Result(args, status, out.read(), err.read(), usage.ru_utime + usage.ru_stime, time.monotonic() - begin,
                           usage.ru_maxrss * 1024)
        for f in (out, err, source):
            f.close()
        self.watch(self.last)
        return self.last

    @staticmethod
    def wait(child, until):
        """Exit status (negative: the signal) and resource usage of this one child."""
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid != 0:
                child.returncode = os.waitstatus_to_exitcode(status)
                return child.returncode, usage
            if time.monotonic() > until:
                child.kill()
                os.wait4(child.pid, 0)
                child.returncode = -9
                raise Failed(f'{child.args[1:]}: still running after its time limit')
            time.sleep(0.002)

    def finish(self, child, wall=None):
        """Waits for a child of start(); returns a Result."""
        begin = time.monotonic()
        try:
            out, err = child.communicate(timeout=wall or WALL_LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise Failed(f'{child.args[1:]}: still running after its time limit')
        self.last = Result(child.args[1:], child.returncode, out or b'', err or b'', 0, time.monotonic() - begin, 0)
        self.watch(self.last, is_killed=child.returncode == -signal.SIGKILL)
        return self.last

    def watch(self, result, is_killed=False):
        if REPORT.search(result.err) or REPORT.search(result.out):
            raise Failed('a sanitizer report: ' + result.describe()[-20000:])
        if result.status < 0 and not is_killed:
            raise Failed(f'died of signal {-result.status}: {result.describe()}')
        left = os.listdir(self.temporary)
        if left:
            raise Failed(f'left behind in TMPDIR: {left}\n{result.describe()}')

    # ------------------------------------------------------------ saying what must be
    def fail(self, text):
        raise Failed(text + ('\n' + self.last.describe() if self.last else ''))

    def true(self, condition, text):
        if not condition:
            self.fail(text)

    def equal(self, got, wanted, what='value'):
        if got != wanted:
            self.fail(f'{what}: got {got!r}, wanted {wanted!r}')

    def has(self, text, *words):
        """Every word is in the text, whatever its case; a tuple stands for any one of its words."""
        low = (text.decode('utf-8', 'replace') if isinstance(text, bytes) else text).lower()
        for word in words:
            some = word if isinstance(word, tuple) else (word,)
            if not any(w.lower() in low for w in some):
                self.fail(f'the message lacks {word!r}')

    def lacks(self, text, *words):
        low = (text.decode('utf-8', 'replace') if isinstance(text, bytes) else text).lower()
        for word in words:
            if word.lower() in low:
                self.fail(f'there must be no {word!r}')

    def exits(self, status, *args, **how):
        r = self.quoin(*args, **how)
        if r.status != status:
            self.fail(f'exit status {r.status}, wanted {status}')
        return r

    def files(self, folder=None):
        return sorted(os.listdir(folder or self.folder))


# ---------------------------------------------------------------- a list of tests
tests = []


def test(function):
    tests.append((function.__name__, function))
    return function


def add_test(name, function):
    """A test of a table: `name` is its line."""
    tests.append((name, function))


def skip(reason):
    raise Skipped(reason)


def need_cpu():
    if not os.path.exists(CPU_PLUGIN):
        skip('the cpu plugin is not built')


def corpus(relative):
    """A file of the corpus; skips the test when it is not there."""
    path = os.path.join(CORPUS, relative)
    if not os.path.exists(path):
        skip(f'corpus file {path} is absent')
    return os.path.abspath(path)


def source(relative):
    """A file of the project; it must be there."""
    path = os.path.abspath(os.path.join(SOURCE, relative))
    if not os.path.exists(path):
        raise Failed(f'project file {path} is absent')
    return path


def run_one(name, function):
    print(f'[ RUN      ] {name}', flush=True)
    t = Test(name)
    try:
        function(t)
        word = '      OK'
    except Skipped as reason:
        print(f'skipped: {reason}')
        word = ' SKIPPED'
    except Failed as failure:
        print(failure)
        word = ' FAILED '
    except Exception:
        traceback.print_exc(file=sys.stdout)
        word = ' FAILED '
    finally:
        t.close()
    print(f'[ {word} ] {name}', flush=True)
    return word


def main():
    """Runs all tests, or those whose name holds an argument. Exit status 1 when one failed, 77 when all were skipped."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wanted = sys.argv[1:]
    words = [run_one(name, f) for name, f in tests if not wanted or any(w in name for w in wanted)]
    failed = sum('FAILED' in w for w in words)
    print(f'{len(words)} tests, {failed} failed')
    sys.exit(1 if failed or not words else 77 if all('SKIPPED' in w for w in words) else 0)
