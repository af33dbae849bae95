"""Ledgers read without a server: folders and bundles, by dpledger.open; nothing of them changes."""
import hashlib
import json
import pathlib
import subprocess
import sys
import textwrap
import threading
import unittest

import support
import dpledger

QUERY = dpledger.SumQuery(1.0, 2.0)
SCHEME = dpledger.Poisson(0.1, population_size=1000)
RECORDER = textwrap.dedent("""
    import sys, support, dpledger
    ledger = dpledger.Recorder(path=sys.argv[1], dataset="points", unit="point", ledger=sys.argv[2])
    ledger.round(dpledger.Poisson(0.1, 1000), dpledger.SumQuery(1.0, 2.0)).await_releasable()
    print("open", flush=True)
    sys.stdin.readline()
""")


def files(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in pathlib.Path(folder).rglob("*") if path.is_file()}


class Store(support.WithFolder):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "runs.ledger")

    def record(self, ledger, rounds=3, path=None, **more):
        options = dict(dict(dataset="points", unit="point", plan_independent=True), **more)
        with dpledger.Recorder(path=path or self.path, ledger=ledger, **options) as recorder:
            for _ in range(rounds):
                recorder.round(SCHEME, QUERY).await_releasable()
            return recorder.epsilon(delta=1e-5)

    def test_a_finished_folder_is_read_and_does_not_change(self):
        spent = self.record("first")
        before = files(self.path)
        for _ in range(2):
            store = dpledger.open(self.path)
            answer = store.epsilon(delta=1e-5)
            self.assertEqual(answer.epsilon.upper, spent.epsilon.upper)
            self.assertIsInstance(answer, dpledger.EpsilonAnswer)
            self.assertAlmostEqual(store.delta(epsilon=answer.epsilon.upper).delta.upper, 1e-5,
                                   places=8)
            self.assertEqual(len(store.profile(epsilons=[1, 2]).points), 2)
            tuned = store.tuning(delta=1e-5, trials=dpledger.PoissonTrials(4.0))
            self.assertGreater(tuned.epsilon.upper, answer.epsilon.upper)
            self.assertIn("points", store.statement().markdown)
            found = store.verify()
            self.assertEqual((found.state, found.self_signed), ("OPEN", True))
            info, = store.ledgers
            self.assertEqual((info.name, info.dataset, info.unit),
                             ("projects/default/ledgers/first", "points", "point"))
            self.assertEqual((info.size, info.root), (found.size, found.root))
            entries = list(store.entries())
            self.assertEqual(len(entries), info.size)
            self.assertIn("declaration", entries[0])
        self.assertEqual(files(self.path), before)

    def test_runs_of_one_folder_are_answered_together(self):
        alone = self.record("first").epsilon.upper
        self.record("second")
        store = dpledger.open(self.path)
        together = store.epsilon(delta=1e-5)
        self.assertEqual(len(store.ledgers), 2)
        self.assertEqual(together.epsilon.upper,
                         store.epsilon(delta=1e-5, dataset="points").epsilon.upper)
        self.assertEqual(together.epsilon.upper,
                         store.epsilon(delta=1e-5, ledger=["first", "second"]).epsilon.upper)
        self.assertGreater(together.epsilon.upper, 1.1 * alone)
        self.assertAlmostEqual(store.epsilon(delta=1e-5, ledger="second").epsilon.upper, alone,
                               places=6)
        self.assertIn("2 ledgers", store.statement().markdown)
        with self.assertRaisesRegex(dpledger.InvalidArgument,
                                    "ledger: must name one of the 2 ledgers here: projects/"):
            list(store.entries())
        with self.assertRaisesRegex(dpledger.InvalidArgument, "dataset: give it or ledger"):
            store.epsilon(delta=1e-5, ledger="first", dataset="points")
        self.record("theirs", plan_independent=False)
        self.assertIn("/theirs: was made without Recorder(..., plan_independent=True); several",
                      " ".join(store.epsilon(delta=1e-5).warnings))
        self.record("third", dataset="others")
        with self.assertRaises(dpledger.Error) as caught:
            store.epsilon(delta=1e-5)
        self.assertEqual(caught.exception.reason, "DATASETS_DIFFER")

    def test_what_is_left_beside_ledgers_is_calibrated(self):
        spent = self.record("first")
        self.record("second", rounds=5)
        store = dpledger.open(self.path)
        run, target = dict(sample_rate=0.1, steps=20), dict(target_epsilon=2, delta=1e-5)
        found = dpledger.calibrate(**target, spent=store, **run)
        events = dpledger.RoundsEvent(SCHEME, (QUERY,), 8)
        self.assertAlmostEqual(found.value, dpledger.calibrate(**target, spent=events, **run).value,
                               delta=2e-4)
        self.assertLessEqual(found.epsilon.upper, 2)
        self.assertGreater(found.value, dpledger.calibrate(**target, **run).value)
        self.assertEqual([ledger.name[-6:] for ledger in found.details.ledgers],
                         ["/first", "second"])
        with self.assertRaisesRegex(
                dpledger.Error, "^no noise_multiplier meets the target: .* give a smaller "
                "sample_rate or fewer steps; what was spent comes to an") as caught:
            dpledger.calibrate(target_epsilon=spent.epsilon.lower, delta=1e-5, spent=store, **run)
        self.assertEqual(caught.exception.reason, "NO_SOLUTION")
        with self.assertRaisesRegex(ValueError, "sample_rate: must be in"):
            dpledger.calibrate(**target, spent=store, sample_rate=1.5, steps=20)
        with self.assertRaisesRegex(ValueError, r"spent\[1\].*"):
            dpledger.calibrate(**target, spent=[events, dpledger.Gaussian(-1.0)], **run)

    def test_a_run_beside_ledgers_is_calibrated_as_they_declare(self):
        self.record("replaced", adjacency="replace-one")
        store = dpledger.open(self.path)
        events = dpledger.RoundsEvent(SCHEME, (QUERY,), 3)
        run = dict(target_epsilon=2, delta=1e-5, sample_rate=0.1, steps=20)
        for stated, meant in ((None, "replace-one"), ("replace-one", "replace-one"),
                              ("add-or-remove-one", "add-or-remove-one")):
            found = dpledger.calibrate(**run, spent=store, adjacency=stated)
            wanted = dpledger.calibrate(**run, spent=events, adjacency=meant)
            self.assertEqual(found.details.adjacency.lower().replace("_", "-"), meant)
            self.assertAlmostEqual(found.value, wanted.value, delta=1e-3)
        self.assertGreater(dpledger.calibrate(**run, spent=store).value, found.value * 1.2)

    def test_a_bundle_is_what_its_ledger_is(self):
        self.record("first")
        self.record("second")
        folder = dpledger.open(self.path)
        bundles = [str(self.folder / (name + ".bundle")) for name in ("first", "second")]
        for name, file in zip(("first", "second"), bundles):
            folder.export(file, name)
        with dpledger.open(bundles[0]) as store:
            answer = store.epsilon(delta=1e-5)
            self.assertEqual(answer.epsilon.upper,
                             folder.epsilon(delta=1e-5, ledger="first").epsilon.upper)
            self.assertIn("a bundle agrees with itself", " ".join(answer.assumptions))
            self.assertEqual(list(store.entries()), list(folder.entries("first")))
            self.assertEqual(store.verify(), folder.verify("first"))
            self.assertEqual(store.verify(keys=store.verify().signed_by).self_signed, False)
            self.assertEqual(store.statement().to_dict()["answer"]["epsilon"],
                             folder.statement("first").to_dict()["answer"]["epsilon"])
            with self.assertRaisesRegex(dpledger.InvalidArgument, "is a bundle already"):
                store.export(str(self.folder / "again"))
        self.assertEqual(dpledger.open(*bundles).epsilon(delta=1e-5).epsilon.upper,
                         folder.epsilon(delta=1e-5).epsilon.upper)
        other = str(self.folder / "other.ledger")
        self.record("first", path=other)
        key = dpledger.open(other).verify().signed_by
        with self.assertRaises(dpledger.Error) as caught:
            dpledger.open(bundles[0]).verify(keys=key)
        self.assertEqual(caught.exception.code, "DATA_LOSS")

    def test_the_process_that_records_reads_its_own_folder(self):
        store = None
        with dpledger.Recorder(path=self.path, ledger="first", dataset="points",
                               unit="point") as recorder:
            for rounds in (1, 2):
                recorder.round(SCHEME, QUERY).await_releasable()
                store = dpledger.open(self.path)
                self.assertEqual(store.epsilon(delta=1e-5).details.ledgers[0].rounds, rounds)
                self.assertEqual(store.verify().state, "OPEN")
        # And a recorder may open the folder while a store is held.
        self.record("second", 1)
        self.assertEqual(len(store.ledgers), 2)

    def test_readers_and_a_recorder_of_one_process_wait_for_each_other(self):
        self.record("first")
        wrong = []

        def read():
            try:
                for _ in range(10):
                    dpledger.open(self.path).epsilon(delta=1e-5, ledger="first")
            except Exception as failed:
                wrong.append(failed)
        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(3):
            self.record("more-%d" % number, 1)
        for reader in readers:
            reader.join()
        self.assertEqual(wrong, [])

    def test_a_folder_that_another_process_records_in_is_refused_in_one_line(self):
        self.record("first")
        recorder = subprocess.Popen([sys.executable, "-c", RECORDER, self.path, "second"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    cwd=str(support.SOURCE / "tests/python"))
        try:
            self.assertEqual(recorder.stdout.readline(), "open\n")
            with self.assertRaises(dpledger.Error) as caught:
                dpledger.open(self.path)
            self.assertEqual(caught.exception.reason, "STORE_IN_USE")
            self.assertRegex(str(caught.exception),
                             r"^path: another process has .* open; read it once that has ended")
            self.assertNotIn("\n", str(caught.exception))
            recorder.kill()
        finally:
            recorder.kill()
            recorder.communicate(timeout=60)
        # Killed: its last entries may have no signature yet, and count all the same.
        store = dpledger.open(self.path)
        self.assertEqual(store.epsilon(delta=1e-5, ledger="second").details.ledgers[0].rounds, 1)
        try:
            store.verify("second")
        except dpledger.Error as failed:
            self.assertEqual(failed.reason, "NOT_SIGNED_YET")

    def test_what_is_no_ledger_is_refused(self):
        for path, code, message in ((str(self.folder / "none"), "NOT_FOUND", "path: there is no "),
                                    (str(self.folder), "INVALID_ARGUMENT",
                                     "path: must be the folder of"),
                                    (__file__, "INVALID_ARGUMENT", "store_test.py")):
            with self.assertRaisesRegex(dpledger.Error, message) as caught:
                dpledger.open(path)
            self.assertEqual(caught.exception.code, code)
        with self.assertRaisesRegex(dpledger.Error, "paths"):
            dpledger.open(3)
        with self.assertRaisesRegex(dpledger.Error, "path: must name a folder or a bundle"):
            dpledger.open()
        self.record("first")
        (self.folder / "runs.ledger" / "store.signing-key").rename(self.folder / "key")
        with self.assertRaises(dpledger.Error) as caught:
            dpledger.open(self.path)
        self.assertEqual(caught.exception.reason, "SIGNING_KEY_MISSING")

    def test_a_changed_bundle_is_refused(self):
        self.record("first")
        bundle = self.folder / "first.bundle"
        dpledger.open(self.path).export(str(bundle))
        data = bytearray(bundle.read_bytes())
        data[data.rindex(b"tile/entries/") + 512 + 40] ^= 1
        bundle.write_bytes(bytes(data))
        with self.assertRaises(dpledger.Error) as caught:
            dpledger.open(str(bundle))
        self.assertEqual(caught.exception.code, "DATA_LOSS")
        self.assertIn("first.bundle: ", str(caught.exception))

    def test_the_command_line_says_the_same(self):
        self.record("first")
        ran = subprocess.run([str(support.BIN / "dpledger"), "epsilon", "--store", self.path,
                              "--delta", "1e-5", "--json"],
                             check=True, capture_output=True, text=True, timeout=120)
        self.assertEqual(json.loads(ran.stdout)["epsilon"]["upper"],
                         dpledger.open(self.path).epsilon(delta=1e-5).epsilon.upper)

    def test_a_second_run_is_told_how(self):
        self.record("first")
        with self.assertRaisesRegex(
                dpledger.Error,
                "has closed in projects/default/ledgers/first: that run is over. A further "
                "run has a ledger of its own, named by `ledger`, such as first-2, and says "
                "plan_independent"):
            self.record("first")
        held = dpledger.Recorder(path=self.path, ledger="held", dataset="points", unit="point")
        with self.assertRaisesRegex(
                dpledger.Error,
                r"In a notebook it may be that of the cell's last run: close\(\) it, or"):
            self.record("held")
        held.leave()


class Program(support.WithFolder):
    def test_the_package_runs_the_command_line(self):
        ran = subprocess.run([sys.executable, "-m", "dpledger", "--version"], capture_output=True,
                             text=True, timeout=60,
                             env=dict(__import__("os").environ, DPLEDGER_BIN=str(support.BIN)))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.strip(), dpledger.__version__)

    def test_a_missing_program_is_named(self):
        from dpledger import _cli
        ran = subprocess.run([sys.executable, "-m", "dpledger"], capture_output=True, text=True,
                             timeout=60,
                             env=dict(__import__("os").environ, DPLEDGER_BIN=str(self.folder)))
        if not (pathlib.Path(_cli.__file__).parent / "bin" / "dpledger").exists():
            self.assertEqual(ran.returncode, 1)
            self.assertIn("dpledger: the program is not in %s" % self.folder, ran.stderr)


if __name__ == "__main__":
    unittest.main()
