"""The wheel, installed into clean environments without a network, answers and keeps ledgers; two builds are the same
bytes. The package's own tests are run from it, beside Debian's torch and numpy if they are there."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["DPLEDGER_SOURCE"])
SKIPPED = 77
LARGEST = 13_000_000  # bytes of the wheel

# By ctypes alone, so that it shows what the library itself needs.
CALL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
question = (b'{"delta": 1e-5, "subject": {"events": [{"rounds": {"count": 10000, "scheme": {"poisson": '
            b'{"probability": 0.01}}, "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}]}}')
answer, size = ctypes.c_void_p(), ctypes.c_size_t()
code = library.dpledger_accounting_call(1, b"ComputeEpsilon", question, ctypes.c_size_t(len(question)),
                                        ctypes.byref(answer), ctypes.byref(size))
print(code, ctypes.string_at(answer.value, size.value).decode())
"""
LINE = """
import dpledger
print(dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.01, steps=10_000, delta=1e-5))
"""
# Files of tests/python and of this folder.
TESTS = ["recorder_test", "numpy_test", "docs_test", "training_test", "installed_test"]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, **options)
    assert done.returncode == 0, (command, done.returncode, done.stdout)
    return done.stdout


def install(wheel, folder):
    """The interpreter of a new environment that has the wheel and nothing else."""
    run("/usr/bin/python3", "-m", "venv", folder)
    python = folder / "bin/python"
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps", wheel)
    return python


def install_by_the_page(work):
    """What docs/python.md says, with its folders below `work`: the wheel and the environment."""
    page = (ROOT / "docs/python.md").read_text()
    block = re.search(r"## Install\n.*?```console\n(.*?)```", page, re.S)[1]
    commands = re.findall(r"^\$ (.*)$", block, re.M)
    assert len(commands) == 3, commands
    for command in commands:
        run("sh", "-c", re.sub(r"\b(dist|venv)(?=/|$)", r"%s/\1" % work, command), cwd=ROOT,
            env=dict(os.environ, PATH="/usr/bin:" + os.environ["PATH"]))  # Debian's Python is the one with torch
    return next((work / "dist").glob("*.whl")), work / "venv/bin/python"


def main():
    cached = subprocess.run([str(ROOT / "cmake/static_libraries.sh"), "--cached"], stdout=subprocess.DEVNULL)
    if cached.returncode != 0:
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        wheel = pathlib.Path(run(ROOT / "python/build_wheel", work / "again").split()[-1])
        paged, beside_torch = install_by_the_page(work)
        assert wheel.read_bytes() == paged.read_bytes(), "two builds differ"
        size = wheel.stat().st_size
        assert size <= LARGEST, size

        python = install(wheel, work / "alone")
        # -I: not the clone's package, whatever the folder and PYTHONPATH.
        where = run(python, "-I", "-c", "import dpledger; print(dpledger.__path__[0])").strip()
        assert where.startswith(str(work)), where
        raw = run(python, "-I", "-c", CALL, where + "/libdpledger_accounting.so")
        assert raw.startswith('0 {"epsilon":{"lower":6.18771238'), raw
        line = run(python, "-I", "-c", LINE)
        assert "6.18771" in line, line
        print("%s: %d bytes; %s" % (wheel.name, size, line.strip()), flush=True)

        # What points at the clone is for finding the server, the program and the pages; the package reads none of it.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DPLEDGER_", "PYTHON"))}
        wanted = {name: os.environ[name] for name in ("DPLEDGER_SOURCE", "DPLEDGER_BIN", "DPLEDGER_TEST_ADULT")
                  if name in os.environ}
        tests = subprocess.run(
            [str(beside_torch), "-m", "unittest", *TESTS], cwd=ROOT / "tests/wheel", env=dict(
                kept, **wanted, DPLEDGER_TEST_INSTALLED="1", PYTHONDONTWRITEBYTECODE="1",
                PYTHONPATH="%s:%s" % (ROOT / "tests/python", ROOT / "tests/wheel")))
        return tests.returncode


sys.exit(main())
