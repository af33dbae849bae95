"""docs/python.md, block by block, against a server; and the reference against the docstrings."""
import contextlib
import doctest
import os
import pathlib
import re
import subprocess
import sys
import unittest

import support

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("torch is not installed")
try:
    import dp_accounting  # noqa: F401
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "stand_ins"))

PAGE = support.SOURCE / "docs/python.md"


class Docs(support.WithServer):
    def test_every_block_runs_and_prints_what_it_shows(self):
        text = PAGE.read_text().replace("127.0.0.1:7070", self.server.address)
        text = re.sub(r"<!-- not run -->\n```\w+\n.*?```", "", text, flags=re.S)
        blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.S)
        self.assertGreaterEqual(len(blocks), 8)
        names = {}
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)  # spools are made here
        for number, (kind, block) in enumerate(blocks):
            with self.subTest(block=number):
                if kind == "console":
                    for line in re.findall(r"^\$ dpledger (.*)$", block, re.M):
                        subprocess.run([str(support.BIN / "dpledger"), *line.split()], check=True,
                                       capture_output=True)
                elif ">>>" in block:
                    test = doctest.DocTestParser().get_doctest(block, names, "docs/python.md", str(PAGE), 0)
                    runner = doctest.DocTestRunner(
                        optionflags=doctest.ELLIPSIS)
                    said = []
                    runner.run(test, out=said.append, clear_globs=False)
                    names.update(test.globs)
                    self.assertEqual(runner.failures, 0, "".join(said))
                    self.assertGreater(runner.tries, 0)
                else:
                    self.assertEqual(kind, "python")
                    with contextlib.redirect_stdout(None):
                        exec(compile(block, "docs/python.md, block %d" % number, "exec"), names)

    def test_the_reference_is_what_the_docstrings_say(self):
        ran = subprocess.run([sys.executable, str(support.SOURCE / "python/generate_reference.py"), "--check"],
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main()
