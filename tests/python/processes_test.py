"""One sum over two processes: the bits of one process, an error in one is an error in both, and the
example."""
import os
import pickle
import subprocess
import sys
import unittest
import warnings

import support
import dpledger

try:
    import torch
    import torch.distributed as distributed
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402
if not distributed.is_available():
    raise unittest.SkipTest("torch has no torch.distributed")

torch.set_num_threads(1)
EXAMPLE = str(support.SOURCE / "examples/python/ddp.py")
SHAPES = [(3, 4), (5,)]
POPULATION, RECORDS = 90, 80


def rows(records):
    """The gradients of some records."""
    return [torch.stack([torch.randn(shape, generator=torch.Generator().manual_seed(record + 1))
                         for record in records]) if records else torch.zeros((0,) + shape)
            for shape in SHAPES]


def said(make):
    """What it raises, for the test's own process."""
    try:
        make()
    except dpledger.Error as failed:
        return type(failed).__name__, getattr(failed, "reason", ""), str(failed)
    return None


def process(rank, folder):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", init_method="file://%s/meeting" % folder, rank=rank,
                                   world_size=2)
    ledger = dpledger.Recorder(path="%s/ledger" % folder, dataset="points",
                               unit="point") if rank == 0 else None
    found = {}
    for on_device in (False, True):
        total = exact.SharedSum(SHAPES, 1.0, 1.0, ledger, on_device=on_device,
                                **(dict(non_private_seed=7) if rank == 0 else {}))
        sampler = exact.PoissonBatchSampler(POPULATION, 0.5, steps=9,
                                            records=RECORDS) if rank == 0 else None
        total.add(rows([5]))  # of no round, and so of no sum
        share = total.share(sampler)
        total.add(rows(share[:3]))
        total.add(rows(share[3:] + [6, 7]), examples=len(share) - 3)  # two fill the batch up
        found["sum", on_device] = share, total.finish()
    # One row too few in the second process, one too many there, and both, which make as many as
    # there are records.
    for name, more in (("few", (0, -1)), ("many", (0, 1)), ("both", (1, -1))):
        share = total.share(sampler)
        total.add(rows((share + [0])[:len(share) + more[rank]]))
        found[name] = said(total.finish)
    found["without sampler"] = said(lambda: total.share(None))
    found["other sampler"] = said(lambda: total.share(exact.PoissonBatchSampler(
        POPULATION, 0.5, steps=9, records=RECORDS) if rank == 0 else None))
    if rank == 0:  # of eight processes each was charged, and nothing said how to be one round
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exact.ExactSum(SHAPES, 1.0, 1.0, ledger)
        found["own"] = [str(one.message) for one in caught]
    found["served"] = said(lambda: exact.SharedSum(SHAPES, 1.0, 1.0, ledger).share(sampler))
    share = total.share(sampler)
    total.add(rows(share))
    found["again"] = said(total.finish)
    total.begin(dpledger.Poisson(0.5, POPULATION) if rank == 0 else None)
    total.add(rows([rank]))
    found["stated"] = said(total.finish)
    found["wrong ledger"] = said(lambda: exact.SharedSum(SHAPES, 1.0, 1.0, None if rank
                                                         else "ledger"))
    found["no ledger"] = said(lambda: exact.SharedSum(SHAPES, 1.0, 1.0, None))
    found["settings"] = said(lambda: exact.SharedSum(SHAPES, 1.0 + rank, 1.0, ledger))
    if rank == 0:
        ledger.close()
        ledger.leave()
    with open("%s/%d" % (folder, rank), "wb") as file:
        pickle.dump(found, file)
    distributed.destroy_process_group()


class Shared(support.WithPath):
    def test_two_processes_make_the_sum_of_one(self):
        torch.multiprocessing.spawn(process, (str(self.folder),), 2)
        first, second = (pickle.loads((self.folder / str(rank)).read_bytes()) for rank in (0, 1))
        ledger = self.recorder("alone")
        for on_device in (False, True):
            (one, noised), (other, same) = first["sum", on_device], second["sum", on_device]
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(noised, same)))
            together = sorted(one + other)
            self.assertEqual((together[0::2], together[1::2]), (one, other))
            self.assertGreater(len(together), 10)
            self.assertLess(max(together), RECORDS)
            alone = exact.ExactSum(SHAPES, 1.0, 1.0, ledger, on_device=on_device,
                                   non_private_seed=7)
            alone.begin(dpledger.Poisson(0.5, POPULATION))
            alone.add(rows(together))
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(noised, alone.finish())),
                            on_device)
            alone.begin(dpledger.Poisson(0.5, POPULATION))
            alone.add(rows(together[1:]))
            self.assertFalse(all(torch.equal(a, b) for a, b in zip(noised, alone.finish())),
                             "a record less is seen")
        ledger.leave()
        for name in ("few", "many", "both"):
            self.assertRegex(first[
                name][2], "gradients: every process must add one row for each record of its share")
            self.assertEqual(second[name][:2], ("Error", "PROCESS_FAILED"))
            self.assertIn("gradients: every process must add one row", second[name][2])
        for name in ("again", "stated"):
            self.assertEqual((first[name], second[name]), (None, None))
        self.assertRegex(first["without sampler"][2],
                         "sampler: must be a batch sampler .*, got NoneType")
        self.assertIn("the process with the ledger failed: sampler: must be",
                      second["without sampler"][2])
        self.assertIn("sampler: must be the one of the first call", first["other sampler"][2])
        self.assertIn("sampler: serves another", first["served"][2])
        self.assertIn("recorder: must be a dpledger.Recorder, got str", first["wrong ledger"][2])
        self.assertIn("another process failed: recorder: must be", second["wrong ledger"][2])
        self.assertRegex(first["own"][0], "of each of the 2 processes are charged alone; "
                         "dpledger.torch.SharedSum makes one round")
        for found in (first, second):
            self.assertIn("recorder: must be given in one process of the group, got 0",
                          found["no ledger"][2])
            self.assertIn("must be the same in every process", found["settings"][2])

    def test_it_needs_a_group(self):
        with self.assertRaisesRegex(ValueError,
                                    "group: torch.distributed must be initialised before"):
            exact.SharedSum(SHAPES, 1.0, 1.0, None)

    def test_the_example_learns_with_the_same_weights_in_both_and_its_ledger_has_every_step(self):
        ran = subprocess.run([sys.executable, EXAMPLE, "--path", str(self.path), "--steps", "20",
                              "--learning-rate", "2"], capture_output=True,
                             text=True, timeout=280)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("2, weights the same", ran.stdout)
        self.assertGreater(float(ran.stdout.split("accuracy")[1].split(",")[0]), 0.85, ran.stdout)
        spent = float(ran.stdout.split("epsilon  ")[1].split()[0])
        truth = support.epsilon_by_program(noise_multiplier=1.0, sample_rate=0.05, steps=20,
                                           delta=1e-5)
        self.assertGreaterEqual(spent, truth["lower"] - 1e-6)  # it prints six digits
        self.assertLess(spent, truth["upper"] * 1.001)


if __name__ == "__main__":
    unittest.main()
