"""The package alone, in the environment that wheel_test.py has made: its libraries and no others; the self-contained
wheel beside torch and Python's own protobuf, over TLS, and in a whole training run. The server is the build's."""
import csv
import importlib.util
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import support

PACKAGE = "import dpledger; print(dpledger.__path__[0])"
# Asks both libraries, and prints the files that the process has mapped.
BOTH = """
import os, sys
{first}
import dpledger
with dpledger.Recorder(server=sys.argv[1], dataset="points", unit="point", ledger=sys.argv[2], spool=sys.argv[3],
                       open_timeout=float(os.environ.get("SECONDS", 20))) as ledger:
    for _ in range(3):
        ledger.round(dpledger.Poisson(0.1, 1000), dpledger.SumQuery(1.0, 2.0)).await_releasable()
    spent = ledger.epsilon(delta=1e-5).epsilon
asked = dpledger.epsilon(noise_multiplier=2.0, sample_rate=0.1, steps=3, delta=1e-5).epsilon
assert spent.lower <= asked.upper and asked.lower <= spent.upper, (spent, asked)
{then}
print(open("/proc/self/maps").read())
"""
# Our own messages, registered once more under the same names in the protobuf that Python and torch have.
PROTOBUF = """
import torch
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation
assert api_implementation.Type() != "python"
pool = descriptor_pool.Default()
for file in descriptor_pb2.FileDescriptorSet.FromString(open(sys.argv[4], "rb").read()).file:
    pool.Add(file)
event = message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("dpledger.v1.Event"))()
event.rounds.count = 3
assert type(event).FromString(event.SerializeToString()).rounds.count == 3
assert torch.ones(3).sum() == 3
"""


needs_torch = unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")


def clean(**variables):
    """The environment, and nothing in it that points at the build's libraries."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DPLEDGER_", "PYTHON"))}
    return dict(kept, **variables)


def python(code, *arguments, check=True, **variables):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], env=clean(**variables), check=check,
                          capture_output=True, text=True, timeout=120, cwd="/")


class Both(support.WithServer):
    def both(self, ledger, first="", then="", *more, address=None, check=True, **variables):
        return python(BOTH.format(first=first, then=then), address or self.server.address, ledger,
                      self.folder / ledger, *more, check=check, **variables)


class Installed(Both):
    """However it was made."""

    def test_both_libraries_and_the_command_line_are_the_packages(self):
        package = python(PACKAGE).stdout.strip()
        self.assertTrue(package.startswith(sys.prefix), package)
        mapped = set(re.findall(r" (/\S+\.so\S*)", self.both("installed").stdout))
        ours = {path for path in mapped if "dpledger" in path}
        self.assertLessEqual({package + "/libdpledger.so.1", package + "/libdpledger_accounting.so"}, ours)
        self.assertEqual([path for path in ours if not path.startswith(package + "/")], [])
        command = [os.path.join(sys.prefix, "bin/dpledger"), "ledger", "verify", "installed", "--self-signed"]
        shown = subprocess.run([*command, "--server", self.server.address], env=clean(), cwd="/", capture_output=True,
                               text=True, timeout=120)
        self.assertIn("agrees with itself", shown.stdout, shown.stderr)

    def test_without_the_program_the_command_says_what_to_do(self):
        folder = self.folder / "copy"
        shutil.copytree(python(PACKAGE).stdout.strip(), folder / "dpledger")
        (folder / "dpledger/bin/dpledger").unlink()
        ran = subprocess.run([sys.executable, "-m", "dpledger", "--version"], env=clean(PYTHONPATH=str(folder)), cwd="/",
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the program is not in %s/dpledger/bin; a wheel of dpledger holds it" % folder, ran.stderr)


class Wheel(Both):
    """Self-contained."""

    def copy(self):
        """A folder with a copy of the installed package, to break."""
        folder = self.folder / "copy"
        shutil.copytree(python(PACKAGE).stdout.strip(), folder / "dpledger")
        return folder

    def test_its_libraries_are_its_own_and_no_others(self):
        package = python(PACKAGE).stdout.strip()
        self.assertTrue(package.startswith(sys.prefix), package)
        mapped = set(re.findall(r" (/\S+\.so\S*)", self.both("alone").stdout))
        ours = {path for path in mapped if "dpledger" in path}
        self.assertEqual(ours, {package + "/" + name for name in (
            "libdpledger.so.1", "libdpledger_accounting.so", "libdpledger-mpfr.so.6", "libdpledger-gmp.so.10")})
        parts = re.compile("grpc|protobuf|absl|re2|cares|mpfr|gmp|hwy|stdc|gcc_s")
        self.assertEqual([path for path in mapped - ours if parts.search(os.path.basename(path))], [])

    def test_without_a_library_the_error_says_what_to_do(self):
        copy = self.copy()
        (copy / "dpledger/libdpledger-gmp.so.10").unlink()
        ran = self.both("broken", check=False, PYTHONPATH=str(copy))
        self.assertNotEqual(ran.returncode, 0)
        self.assertRegex(ran.stderr, "LibraryNotFound: .*libdpledger.so.1 cannot be opened: libdpledger-gmp.so.10: ")
        (copy / "dpledger/libdpledger.so.1").unlink()
        ran = self.both("missing", check=False, PYTHONPATH=str(copy))
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("libdpledger.so is not in %s/dpledger; a wheel of dpledger holds it, and DPLEDGER_LIBRARY_PATH "
                      "names a folder that does" % copy, ran.stderr)
        line = "import dpledger; print(dpledger.epsilon(dpledger.Gaussian(1.0), delta=1e-5).epsilon)"
        self.assertIn("Interval", python(line, PYTHONPATH=str(copy)).stdout)  # the accounting needs it not

    @needs_torch
    def test_one_process_holds_it_beside_torch_and_protobuf(self):
        protos = self.folder / "protos"
        subprocess.run(["protoc", "-I", "proto", "--include_imports", "--descriptor_set_out", str(protos),
                        "dpledger/v1/event.proto"], check=True, cwd=support.SOURCE)
        for order in ("first", "then"):
            with self.subTest(torch=order):
                mapped = self.both("torch-" + order, *((PROTOBUF, "") if order == "first" else ("", PROTOBUF)),
                                   protos).stdout
                for library in ("libprotobuf.so", "libtorch", "libdpledger.so.1", "libdpledger_accounting.so"):
                    self.assertIn(library, mapped)

    def test_a_server_is_known_by_dpledger_ca(self):
        certificate, key = self.folder / "server.pem", self.folder / "server.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=dpledger",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        own = self.folder / "own"
        own.mkdir()
        server = support.Server(own, "--cert", str(certificate), "--cert-key", str(key))
        self.addCleanup(server.stop)
        address = "https://" + server.address
        self.both("sealed", address=address, DPLEDGER_CA=str(certificate))
        # The system's list knows no such authority.
        strange = self.both("strange", address=address, check=False, SECONDS="2")
        self.assertNotEqual(strange.returncode, 0)
        self.assertRegex(strange.stderr, "dpledger.errors.Error: .*certificate verify failed")


def made_up(path, schema, rows):
    """A CSV file as the schema has it; a linear model of its features is right in some six cases of seven."""
    generator = random.Random(1)
    columns = [column for column in schema["columns"] if column["kind"] != "label"]
    label = next(column for column in schema["columns"] if column["kind"] == "label")
    weights = [{} for _ in columns]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        for _ in range(rows):
            cells, score = [], generator.gauss(0, 1) - 1
            for column, weight in zip(columns, weights):
                if column["kind"] == "category":
                    cell = generator.choice(column["values"])
                elif column["kind"] == "bucket":
                    cell = generator.choice(column["edges"])
                else:
                    cell = generator.randint(column.get("minimum", 0), column.get("maximum", 9))
                if column["kind"] != "ignore":
                    score += weight.setdefault(cell, generator.gauss(0, 1))
                cells.append(cell)
            writer.writerow(cells + [label["values"][score > 0]])


# Runs a program with a mark in a file for each step that has released its noised sum.
COUNTED = """
import os, runpy, sys
import dpledger.torch
marks = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
step = dpledger.torch.PrivateOptimizer.step

def counted(self, *arguments, **named):
    step(self, *arguments, **named)
    os.write(marks, b".")

dpledger.torch.PrivateOptimizer.step = counted
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@needs_torch
class DpSgd(support.WithServer):
    """examples/python/dp_sgd.py by the wheel, on UCI Adult if DPLEDGER_TEST_ADULT names its adult.data, else on a file
    made up in Adult's shape."""

    SCHEMA = support.SOURCE / "examples/dp_sgd/adult_schema.json"
    PROGRAM = support.SOURCE / "examples/python/dp_sgd.py"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = os.environ.get("DPLEDGER_TEST_ADULT", cls.store + "/adult.data")
        if not os.path.exists(cls.data):
            made_up(cls.data, json.loads(cls.SCHEMA.read_text()), 32561)

    def start(self, program, ledger, *more, **variables):
        return subprocess.Popen(
            [*map(str, program), "--server", self.server.address, "--ledger", ledger, "--spool",
             str(self.folder / ledger), "--data", self.data, "--schema", str(self.SCHEMA), *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean(**variables))

    def spent(self, ledger):
        shown = self.server.program("ledger", "verify", ledger, "--self-signed", "--delta", "1e-5")
        self.assertIn("agrees with itself", shown)
        return json.loads(self.server.program("epsilon", "--delta", "1e-5", "--ledger", ledger, "--json"))["epsilon"]

    def test_it_learns_as_the_example_in_cpp_does_and_its_ledger_verifies(self):
        accuracy = {}
        for name, program in (("python", [sys.executable, self.PROGRAM]), ("cpp", [support.BIN / "dp_sgd"])):
            trainer = self.start(program, name, "--target-epsilon", "1")
            said, wrong = trainer.communicate(timeout=300)
            self.assertEqual(trainer.returncode, 0, wrong)
            accuracy[name] = float(re.search(r"held-out accuracy +([0-9.]+)", said)[1])
            self.assertTrue(0.98 < self.spent(name)["upper"] <= 1)
        print("held-out accuracy:", accuracy)
        self.assertGreater(accuracy["cpp"], 0.8)
        self.assertLess(math.fabs(accuracy["python"] - accuracy["cpp"]), 0.005, accuracy)

    def test_kill_9_and_a_resume_cost_at_least_every_release(self):
        marks = self.folder / "marks"
        marks.touch()
        program = [sys.executable, "-c", COUNTED, marks, self.PROGRAM]
        flags = ("--noise-multiplier", "1.5", "--epochs", "3")
        died = self.start(program, "killed", *flags)
        end = time.monotonic() + 120
        while marks.stat().st_size < 100 and died.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        died.kill()
        self.assertEqual((died.wait(timeout=60), died.communicate()[1]), (-signal.SIGKILL, ""))
        first = marks.stat().st_size
        resumed = self.start(program, "killed", *flags)
        said, wrong = resumed.communicate(timeout=300)
        self.assertEqual(resumed.returncode, 0, wrong)
        rate, steps = re.search(r"sampling probability ([0-9.e-]+), ([0-9]+) steps", said).groups()
        released = marks.stat().st_size
        self.assertEqual(released, first + int(steps))
        self.assertTrue(100 <= first < int(steps))

        def truth(rounds):
            return support.epsilon_by_program(noise_multiplier=1.5, sample_rate=rate, steps=rounds, delta=1e-5)
        spent = self.spent("killed")
        # The rate was printed with six digits, which a hundredth of a step covers.
        step = (truth(released + 100)["upper"] - truth(released)["lower"]) / 100
        self.assertGreaterEqual(spent["upper"], truth(released)["lower"] - step / 100)
        # What was recorded and not released when it died is a round or two.
        self.assertLessEqual(spent["upper"], truth(released + 3)["upper"] + step / 100)


if __name__ == "__main__":
    unittest.main()
