"""examples/python/dp_sgd.py: a model that learns, a ledger that verifies, a kill and a second run
in one ledger."""
import json
import signal
import subprocess
import sys
import time
import unittest

import support

try:
    import torch  # noqa: F401
except ImportError:
    raise unittest.SkipTest("torch is not installed")

EXAMPLE = str(support.SOURCE / "examples/python/dp_sgd.py")


class Example(support.WithServer):
    def start(self, ledger, *flags):
        return subprocess.Popen([
            sys.executable, EXAMPLE, "--server", self.server.address, "--ledger", ledger, "--spool",
            str(self.folder / ledger), "--noise-multiplier", "2", "--epochs", "10", "--batch-size",
            "64", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def epsilon(self, ledger):
        return json.loads(self.server.program("epsilon", "--delta", "1e-5", "--ledger", ledger,
                                              "--json"))

    def test_the_noise_for_a_target_is_found_in_the_same_process(self):
        trainer = subprocess.run([sys.executable, EXAMPLE, "--server", self.server.address,
                                  "--ledger", "target", "--spool", str(self.folder / "target"),
                                  "--target-epsilon", "1", "--epochs", "1", "--batch-size", "160"],
                                 capture_output=True, text=True, timeout=120)
        self.assertEqual(trainer.returncode, 0, trainer.stderr)
        spent = self.epsilon("target")["epsilon"]["upper"]
        self.assertLessEqual(spent, 1)
        self.assertGreater(spent, 0.98)

    def test_it_learns_and_its_ledger_verifies(self):
        trainer = self.start("learns")
        said, wrong = trainer.communicate(timeout=120)
        self.assertEqual(trainer.returncode, 0, wrong)
        accuracy = float(said.split("held-out accuracy")[1].split(",")[0])
        self.assertGreater(accuracy, 0.9, said)
        self.assertIn("agrees with itself",
                      self.server.program("ledger", "verify", "learns", "--self-signed"))

    def test_a_killed_one_and_its_successor_cost_at_least_every_step(self):
        trainer = self.start("killed", "--epochs", "1000")
        try:
            trainer.stdout.readline()  # it knows its plan, and begins
            end = time.monotonic() + 60
            while time.monotonic() < end:
                shown = subprocess.run([str(support.BIN / "dpledger"), "ledger", "show", "killed",
                                        "--json", "--server", self.server.address],
                                       capture_output=True, text=True)
                if shown.returncode == 0 and int(json.loads(shown.stdout).get("size", 0)) > 20:
                    break
        finally:
            trainer.send_signal(signal.SIGKILL)
            trainer.communicate()
        # Another plan is another declaration, and is refused: what was planned stands in the
        # ledger.
        other = self.start("killed")
        self.assertNotEqual(other.wait(timeout=60), 0)
        self.assertIn("planned", other.communicate()[1])
        again = self.start("killed", "--epochs", "1000")
        try:
            before = self.epsilon("killed")["epsilon"]["upper"]
            end = time.monotonic() + 60
            while time.monotonic() < end and self.epsilon("killed")["epsilon"]["upper"] <= before:
                pass
        finally:
            again.send_signal(signal.SIGKILL)
            again.communicate()
        shown = self.epsilon("killed")
        self.assertGreater(shown["epsilon"]["upper"], before)


if __name__ == "__main__":
    unittest.main()
