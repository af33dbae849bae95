"""The Python of docs/python.md, docs/local-ledgers.md and the README, block by block; the reference
against the docstrings."""
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


class Docs(support.WithServer):
    def run_page(self, name, *kinds):
        """Runs the page's blocks of these kinds, in one namespace, and compares what they print.
        How many they are."""
        text = (support.SOURCE / name).read_text().replace("127.0.0.1:7070", self.server.address)
        text = re.sub(r"<!-- not run -->\n```\w+\n.*?```", "", text, flags=re.S)
        blocks = [block for block in re.findall(r"```(\w+)\n(.*?)```", text, re.S)
                  if block[0] in kinds]
        names = {}
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)  # spools are made here
        for number, (kind, block) in enumerate(blocks):
            with self.subTest(page=name, block=number):
                if kind == "console":
                    for line in re.findall(r"^\$ dpledger (.*)$", block, re.M):
                        subprocess.run([str(support.BIN / "dpledger"), *line.split()], check=True,
                                       capture_output=True)
                elif ">>>" in block:
                    test = doctest.DocTestParser().get_doctest(block, names, name, name, 0)
                    runner = doctest.DocTestRunner(
                        optionflags=doctest.ELLIPSIS)
                    said = []
                    runner.run(test, out=said.append, clear_globs=False)
                    names.update(test.globs)
                    self.assertEqual(runner.failures, 0, "".join(said))
                    self.assertGreater(runner.tries, 0)
                else:
                    with contextlib.redirect_stdout(None):
                        exec(compile(block, "%s, block %d" % (name, number), "exec"), names)
        return len(blocks)

    def test_every_block_runs_and_prints_what_it_shows(self):
        self.assertGreaterEqual(self.run_page("docs/python.md", "python", "console"), 8)

    def test_the_page_of_local_ledgers_runs_and_its_bundle_verifies(self):
        self.assertGreaterEqual(self.run_page("docs/local-ledgers.md", "python"), 1)
        subprocess.run([str(support.BIN / "dpledger"), "ledger", "verify", "run.bundle",
                        "--self-signed"],
                       check=True, capture_output=True, cwd=self.folder)

    def test_the_readme_s_python_runs_and_prints_what_it_shows(self):
        self.assertEqual(self.run_page("README.md", "python"), 1)


if __name__ == "__main__":
    unittest.main()
