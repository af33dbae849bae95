"""mypy on the Python of the docs, and on what a user's editor sees of the package."""
import doctest
import importlib.util
import os
import re
import subprocess
import sys
import unittest

import support

if importlib.util.find_spec("mypy") is None:
    raise unittest.SkipTest("mypy is not installed")

PAGES = ("docs/python.md", "docs/local-ledgers.md", "README.md")
# The package has its types; torch, numpy and the others are read by nobody here.
SETTINGS = """[mypy]
check_untyped_defs = True
no_implicit_reexport = True
allow_redefinition = True
[mypy-dpledger.*]
follow_imports = silent
"""
OTHERS = ("torch", "numpy", "opacus", "dp_accounting", "jax", "functorch", "scipy", "pandas")


def program_of(page):
    """The page's Python as one program, but for what is not run and what shows an error."""
    text = re.sub(r"<!-- not run -->\n```\w+\n.*?```", "", (support.SOURCE / page).read_text(),
                  flags=re.S)
    lines = []
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        if ">>>" in block:
            lines += [example.source for example in doctest.DocTestParser().get_examples(block)
                      if example.exc_msg is None]
        else:
            lines.append(block)
    return "\n".join(lines)


class Types(support.WithFolder):
    def mypy(self, program, page="page"):
        settings = SETTINGS + "".join(
            "[mypy-%s.*]\nfollow_imports = skip\nignore_missing_imports = True\n" % name
            for name in OTHERS)
        (self.folder / "settings").write_text(settings)
        file = self.folder / (re.sub(r"\W", "_", page) + ".py")
        file.write_text(program)
        environment = dict(os.environ)
        if not support.INSTALLED:
            environment["MYPYPATH"] = support.PACKAGE
        return subprocess.run([sys.executable, "-m", "mypy", "--config-file",
                               str(self.folder / "settings"), "--cache-dir",
                               str(self.folder / "cache"), str(file)],
                              capture_output=True, text=True, env=environment).stdout

    def test_the_docs_own_code_has_the_types_that_it_says(self):
        for page in PAGES:
            with self.subTest(page):
                program = program_of(page)
                self.assertIn("import dpledger", program)
                said = self.mypy(program, page)
                self.assertIn("Success: no issues found", said, said)

    def test_a_misspelt_answer_and_a_wrong_argument_are_seen(self):
        said = self.mypy(
            "import dpledger\n"
            "answer = dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.01, steps=1, "
            "delta=1e-5)\n" "answer.epsilom\n"
            "dpledger.epsilon(noise_multiplier=1.0, sample_rate=1, steps=1, delta=1e-5, "
            "method='fast')\n")
        self.assertIn('has no attribute "epsilom"', said)
        self.assertIn('No overload variant of "epsilon" matches', said)


if __name__ == "__main__":
    unittest.main()
