"""The package, installed into clean environments without a network, answers and keeps ledgers, and its own tests are
run from there, beside Debian's torch and numpy if they are there. wheel_test.py FORM, which is

  package  packed with the libraries of a build: DPLEDGER_BIN's
  quick    built by pip
  wheel    self-contained, by python/build_wheel; two builds of it are the same bytes
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["DPLEDGER_SOURCE"])
SKIPPED = 77
LARGEST = 22_000_000  # bytes of the self-contained wheel

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
QUESTION = "epsilon --noise-multiplier 1 --sampling-probability 0.01 --steps 10000 --delta 1e-5".split()
METADATA = """
import dpledger
from importlib import metadata
told = metadata.metadata("dpledger")
print(dpledger.__version__, told["Version"], told["License"], told["Description-Content-Type"],
      "License :: OSI Approved :: Apache Software License" in told.get_all("Classifier"))
"""
LINE = """
import dpledger
print(dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.01, steps=10_000, delta=1e-5))
"""
# Files of tests/python and of this folder; those of `package` are run on every run.
TESTS = {"package": ["accounting_test", "numpy_test", "installed_test.Installed"],
         "quick": ["accounting_test", "installed_test.Installed"],
         "wheel": ["recorder_test", "numpy_test", "docs_test", "training_test", "installed_test"]}
PIP = ["-m", "pip", "--disable-pip-version-check"]
OFFLINE = ["--quiet", "--no-index", "--no-deps"]
LEFT_ALONE = ("build", "dpledger.egg-info")  # what setuptools would leave beside a package


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, **options)
    assert done.returncode == 0, (command, done.returncode, done.stdout)
    return done.stdout


def install(wheel, folder, *flags):
    """The interpreter of a new environment that has the wheel and, without flags, nothing else."""
    run("/usr/bin/python3", "-m", "venv", *flags, folder)
    python = folder / "bin/python"
    run(python, *PIP, "install", *OFFLINE, wheel)
    return python


def packed(work, source, **variables):
    """The wheel that pip makes of a folder of the clone, in which it leaves nothing."""
    run("/usr/bin/python3", *PIP, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", work / "dist", source,
        env=dict(os.environ, **variables), cwd=work)
    left = [str(folder / name) for folder in (ROOT, ROOT / "python") for name in LEFT_ALONE
            if (folder / name).exists() and folder / name != ROOT / "build"]
    assert not left, left
    return next((work / "dist").glob("dpledger-*-py3-none-linux_*.whl"))


def install_by_the_page(work, first, **variables):
    """What docs/python.md says from the command `first` on, with its folders below `work`: the environment's Python."""
    page = (ROOT / "docs/python.md").read_text()
    block = next(block for block in re.findall(r"```console\n(.*?)```", page, re.S) if block.startswith("$ " + first))
    commands = re.findall(r"^\$ (.*)$", block, re.M)
    assert commands, block
    for command in commands:
        run("sh", "-c", re.sub(r"\b(dist|venv)(?=/|$)", r"%s/\1" % work, command), cwd=ROOT,
            env=dict(os.environ, PATH="/usr/bin:" + os.environ["PATH"], **variables))  # Debian's Python has torch
    return work / "venv/bin/python"


def self_contained(work):
    """The wheel, and the interpreter of an environment that has it beside torch. None if it cannot be built here."""
    if subprocess.run([str(ROOT / "cmake/static_libraries.sh"), "--cached"], stdout=subprocess.DEVNULL).returncode != 0:
        return None
    wheel = pathlib.Path(run(ROOT / "python/build_wheel", work / "again").split()[-1])
    beside_torch = install_by_the_page(work, "python/build_wheel")
    paged = next((work / "dist").glob("*.whl"))
    assert wheel.read_bytes() == paged.read_bytes(), "two builds differ"
    size = wheel.stat().st_size
    assert size <= LARGEST, size
    return wheel, beside_torch


def of_a_build(work, built):
    wheel = packed(work, ROOT / "python", DPLEDGER_LIBRARIES=str(built / "lib"))
    return wheel, install(wheel, work / "beside", "--system-site-packages")


def of_pip(work):
    """As the page says, but for the folder: a build that pip has not made is not taken."""
    beside_torch = install_by_the_page(work, "python3 -m venv", DPLEDGER_BUILD="build/pip")
    return packed(work, ROOT, DPLEDGER_BUILD="build/pip"), beside_torch


def check(python, work):
    """What an installed package has, in an environment without anything else."""
    # -I: not the clone's package, whatever the folder and PYTHONPATH.
    where = run(python, "-I", "-c", "import dpledger; print(dpledger.__path__[0])").strip()
    assert where.startswith(str(work)), where
    raw = run(python, "-I", "-c", CALL, where + "/libdpledger_accounting.so")
    assert raw.startswith('0 {"epsilon":{"lower":6.18771238'), raw
    line = run(python, "-I", "-c", LINE)
    assert "6.18771" in line, line
    told = run(python, "-I", "-c", METADATA)
    version = re.search(r"^project\(dpledger VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    assert told.split() == [version, version, "Apache-2.0", "text/markdown", "True"], told
    for command in ([python.parent / "dpledger"], [python, "-I", "-m", "dpledger"]):
        asked = run(*command, *QUESTION, env=clean())
        assert "6.18771" in asked, asked
    return line.strip()


def clean():
    """The environment, and nothing in it that points at the clone."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("DPLEDGER_", "PYTHON"))}


def main(form):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if form == "wheel":
            made = self_contained(work)
            if made is None:
                return SKIPPED
            wheel, beside_torch = made
        else:
            built = pathlib.Path(os.environ["DPLEDGER_BIN"]).parent
            wheel, beside_torch = (of_a_build(work, built) if form == "package" else of_pip(work))
        python = install(wheel, work / "alone")
        print("%s: %d bytes; %s" % (wheel.name, wheel.stat().st_size, check(python, work)), flush=True)

        # What points at the clone is for finding the server, the program and the pages; the package reads none of it.
        wanted = {name: os.environ[name] for name in ("DPLEDGER_SOURCE", "DPLEDGER_BIN", "DPLEDGER_TEST_ADULT")
                  if name in os.environ}
        tests = subprocess.run(
            [str(beside_torch), "-m", "unittest", *TESTS[form]], cwd=ROOT / "tests/wheel", env=dict(
                clean(), **wanted, DPLEDGER_TEST_INSTALLED="1", PYTHONDONTWRITEBYTECODE="1",
                PYTHONPATH="%s:%s" % (ROOT / "tests/python", ROOT / "tests/wheel")))
        if tests.returncode == 0:
            run(python, *PIP, "uninstall", "--quiet", "--yes", "dpledger")
            left = list(work.glob("alone/lib/python*/site-packages/dpledger*"))
            assert not left, left
        return tests.returncode


sys.exit(main(*sys.argv[1:]))
