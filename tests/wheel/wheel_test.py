"""The wheel, installed into a clean environment without a network, answers; two builds are the same bytes."""
import hashlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
SKIPPED = 77

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


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, (command, done.returncode, done.stdout)
    return done.stdout


def main():
    cached = subprocess.run([str(ROOT / "cmake/static_libraries.sh"), "--cached"], stdout=subprocess.DEVNULL)
    if cached.returncode != 0 or not (ROOT / "python/dpledger/__init__.py").exists():
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        wheels = [pathlib.Path(run(ROOT / "python/build_wheel", work / name).split()[-1]) for name in ("one", "two")]
        digests = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
        assert len(digests) == 1, "two builds differ"
        size = wheels[0].stat().st_size
        assert size <= 9_000_000, size
        run("/usr/bin/python3", "-m", "venv", work / "venv")
        python = work / "venv/bin/python"
        run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps",
            wheels[0])
        # -I: not the clone's package, whatever the folder and PYTHONPATH.
        where = run(python, "-I", "-c", "import dpledger; print(dpledger.__path__[0])").strip()
        assert where.startswith(str(work)), where
        raw = run(python, "-I", "-c", CALL, where + "/libdpledger_accounting.so")
        assert raw.startswith('0 {"epsilon":{"lower":6.18771238'), raw
        line = run(python, "-I", "-c", LINE)
        assert "6.18771" in line, line
        print("%s: %d bytes; %s" % (wheels[0].name, size, line.strip()))
    return 0


sys.exit(main())
