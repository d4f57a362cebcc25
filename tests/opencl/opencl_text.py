"""opencl_text.py QUOIN PLUGIN — the text that the opencl backend writes is the cpu backend's, token by token, on a small real model in
three formats. Exit status 77 without an OpenCL device or without the model (QUOIN_CORPUS)."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import adapters
from models import make_tiny

QUOIN, PLUGIN = sys.argv[1:3]
CORPUS = os.environ.get("QUOIN_CORPUS") or os.environ.get("QUOIN_CORPUS_DEFAULT", "")
PROMPT = "Once upon a time"


def run(model, *backend, cache):
    return subprocess.run(
        [QUOIN, "run", model, "-p", PROMPT, "-n", "120", "--deadline", "0", "--temp", "0", "--numeric", "f32acc", "--probe-timeout", "240", "-q",
         *backend], capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": cache})


class Text(unittest.TestCase):
    def test_greedy_text_is_that_of_the_reference_in_every_format(self):
        with tempfile.TemporaryDirectory() as cache:
            for name in ("f32", "f16", "q8_0"):
                with self.subTest(name):
                    model = os.path.join(CORPUS, "data", "stories260k", f"stories260k-{name}.gguf")
                    want = run(model, "--backend", "reference", cache=cache)
                    got = run(model, "--plugin", PLUGIN, "--backend", "opencl:software", cache=cache)
                    self.assertEqual(want.returncode, 0, want.stderr)
                    self.assertEqual(got.returncode, 0, got.stderr)
                    self.assertGreater(len(want.stdout), 100)
                    self.assertEqual(got.stdout, want.stdout)

    def test_a_model_changed_by_an_adapter_gives_the_text_of_the_reference(self):
        with tempfile.TemporaryDirectory() as cache:
            model = make_tiny(os.path.join(cache, "m.gguf"))
            adapter = ("--adapter", adapters.write_gguf(os.path.join(cache, "a.gguf"), adapters.pairs(adapters.tiny_places())), "-n", "12")
            want = run(model, "--backend", "reference", *adapter, cache=cache)
            got = run(model, "--plugin", PLUGIN, "--backend", "opencl:software", *adapter, cache=cache)
            self.assertEqual((got.returncode, got.stdout), (0, want.stdout), got.stderr)
            self.assertNotEqual(run(model, "--backend", "reference", "-n", "12", cache=cache).stdout, want.stdout)


def main():
    if not os.path.exists(os.path.join(CORPUS, "data", "stories260k", "stories260k-f32.gguf")):
        print("skipped: no data/stories260k in the corpus (QUOIN_CORPUS)")
        return 77
    with tempfile.TemporaryDirectory() as cache:
        model = os.path.join(CORPUS, "data", "stories260k", "stories260k-f32.gguf")
        probe = run(model, "--plugin", PLUGIN, "--backend", "opencl:software", cache=cache)
        if probe.returncode == 3 and "UNAVAILABLE" in probe.stderr:
            print("skipped:", probe.stderr.strip())
            return 77
    return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
