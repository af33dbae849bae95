"""The runnable parts of docs/how-to-state.md and docs/published.md.

A marked block of a shell's commands shows what they print; one of Python shows it in its comments
`# prints ...`. A row of a table whose second cell is a question in backticks shows the interval
that answers it. `fresh` runs all of them and gives the page as it should be. As a program, it
rewrites the pages that it is given.
"""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("DPLEDGER_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("DPLEDGER_BIN", SOURCE / "build/release/bin"))
BLOCK = re.compile(r"(<!-- run by tests/published -->\n```(\w+)\n)(.*?)(```\n)", re.S)
ROW = re.compile(r"^(\| [^|\n]* \| `([^`|\n]*)` \| [^|\n]* \| )([^|\n]*)( \|.*)$", re.M)


def text_of(name):
    return (SOURCE / "docs" / name).read_text(encoding="utf-8")


def run(command, folder, given=None):
    """What a command of the shell prints; a failure if it ends as one."""
    surroundings = {"PATH": "%s:%s" % (BIN, os.environ["PATH"]), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["/bin/bash", "-c", command], cwd=folder, input=given, text=True,
                          check=True, capture_output=True, env=surroundings)
    return done.stdout


class Runner:
    """Runs blocks and questions in a folder of its own; a question is asked once."""

    def __init__(self, folder):
        self.folder = folder
        self.names = {}
        self.answers = {}

    def block(self, kind, body):
        if kind == "console":
            commands = re.findall(r"^\$ (.*)$", body, re.M)
            return "".join("$ %s\n%s" % (command, run(command, self.folder))
                           for command in commands)
        code = re.sub(r"^# prints .*\n", "", body, flags=re.M)
        printed = io.StringIO()
        before = os.getcwd()
        os.chdir(self.folder)  # files that a block writes are for the commands after it
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "block", "exec"), self.names)
        finally:
            os.chdir(before)
        return code + "".join("# prints %s\n" % line for line in printed.getvalue().splitlines())

    def interval(self, question):
        """The interval in which the answer to `epsilon ...` or `calibrate ...` is."""
        if question not in self.answers:
            printed = run("dpledger %s" % question, self.folder)
            self.answers[question] = re.search(r"\[.*?\]", printed).group()
        return self.answers[question]


def fresh(text, runner):
    """The page with everything that runs shown as it prints today."""
    text = BLOCK.sub(lambda m: m[1] + runner.block(m[2], m[3]) + m[4], text)
    return ROW.sub(lambda m: m[1] + runner.interval(m[2]) + m[4], text)


def main(names):
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            text = fresh(text_of(name), Runner(folder))
        (SOURCE / "docs" / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
