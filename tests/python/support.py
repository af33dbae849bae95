"""What the Python package's tests share: a server of their own, and folders."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ.get("DPLEDGER_SOURCE",
                                     pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("DPLEDGER_BIN", SOURCE / "build/release/bin"))
PACKAGE = str(BIN.parent / "python")  # of the build
# tests/wheel runs these tests against the package that its interpreter has installed.
INSTALLED = "DPLEDGER_TEST_INSTALLED" in os.environ
if not INSTALLED:
    os.environ.setdefault("DPLEDGER_LIBRARY_PATH", str(BIN.parent / "lib"))
    os.environ["PYTHONPATH"] = PACKAGE  # of programs that a test starts
    sys.path.insert(0, PACKAGE)
# A user's own settings are not the tests'.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
for name in ("DPLEDGER_SERVER", "DPLEDGER_CA", "DPLEDGER_TOKEN_FILE"):
    os.environ.pop(name, None)


class Server:
    """dpledger-server on a free port of this machine, in a folder of its own."""

    def __init__(self, folder, *flags):
        self.folder, port = pathlib.Path(folder), pathlib.Path(folder) / "port"
        port.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [str(BIN / "dpledger-server"), "--listen", "127.0.0.1:0", "--port-file", str(port),
             "--store", str(self.folder / "store"), "--log-level", "error", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (port.exists() and port.read_text().strip()):
            if time.monotonic() > end or self.process.poll() is not None:
                self.process.kill()
                raise RuntimeError("the server does not start")
            time.sleep(0.01)
        self.address = port.read_text().strip()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)

    def program(self, *arguments):
        """What the program `dpledger` prints about this server."""
        return subprocess.run([str(BIN / "dpledger"), *arguments, "--server", self.address],
                              check=True, capture_output=True, text=True, timeout=120).stdout


def epsilon_by_program(*, noise_multiplier, sample_rate, steps, delta):
    """{"lower", "upper"} by the program `dpledger`, in its own process."""
    ran = subprocess.run([str(BIN / "dpledger"), "epsilon", "--noise-multiplier",
                          str(noise_multiplier), "--sampling-probability", str(sample_rate),
                          "--steps", str(steps), "--delta", str(delta), "--json"],
                         check=True, capture_output=True, text=True, timeout=120)
    return json.loads(ran.stdout)["epsilon"]


def _recorder(self, ledger, **options):
    import dpledger
    values = dict(self.place(), dataset="points", unit="point", ledger=ledger, open_timeout=20.0)
    return dpledger.Recorder(**dict(values, **options))


class WithFolder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)


class WithServer(WithFolder):
    """Tests that share a server."""

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        cls.server = Server(cls.store)
        cls.addClassCleanup(cls.server.stop)

    def place(self):
        """What says where a recorder's ledger is."""
        return dict(server=self.server.address, spool=str(self.folder / "spool"))

    def program(self, *arguments):
        return self.server.program(*arguments)

    recorder = _recorder


class WithPath(WithFolder):
    """Tests with ledgers in a folder of their own, without a server."""

    @property
    def path(self):
        return self.folder / "run.ledger"

    def place(self):
        return dict(path=str(self.path))

    def program(self, *arguments):
        """What the program `dpledger` prints of the folder, once no process has it open: a server
        shows it."""
        server = Server(self.path)
        try:
            return server.program(*arguments)
        finally:
            server.stop()

    recorder = _recorder
