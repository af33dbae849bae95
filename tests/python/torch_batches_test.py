"""Samples of torch batch samplers, and the steps that they are tied to: one sample, one step."""
import code
import collections
import contextlib
import gc
import io
import math
import statistics
import sys
import unittest

import support
import dpledger

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402

RECORDS, POPULATION = 200, 250
Pair = collections.namedtuple("Pair", "x y")


def points():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(RECORDS, 4, generator=generator)
    return torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())


class Records(torch.utils.data.Dataset):
    """Records of every kind of part that a batch may have."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return {"pair": Pair(torch.zeros(2, 5), index), "name": "a",
                "parts": (1.5, ["b", torch.ones(())])}


class Unreadable(Records):
    def __getitem__(self, index):
        raise ValueError("record %d is broken" % index)


class Samples(unittest.TestCase):
    def test_poisson_samples_have_each_record_with_its_probability(self):
        sampler = exact.PoissonBatchSampler(50, 0.3, steps=2000, non_private_seed=1)
        self.assertEqual((len(sampler), sampler.expected_batch_size, sampler.scheme),
                         (2000, 15.0, dpledger.Poisson(0.3, 50)))
        counts = collections.Counter(record for batch in sampler for record in batch)
        spread = math.sqrt(2000 * 0.3 * 0.7)
        for record in range(50):
            self.assertLess(abs(counts[record] - 600), 6 * spread)
        self.assertGreater(statistics.pstdev(counts.values()), spread / 2)

    def test_a_subset_has_each_record_once(self):
        data = torch.utils.data.TensorDataset(torch.arange(20.0))

        def loader(dataset):
            return exact.data_loader(dataset, exact.PoissonBatchSampler(20, 0.5, steps=1))
        loader(torch.utils.data.Subset(data, [3, 1, 2]))
        twice = torch.utils.data.Subset(data, torch.tensor([3, 1, 3]))
        for dataset in (twice, torch.utils.data.Subset(twice, [0, 1])):
            with self.assertRaisesRegex(ValueError, "dataset: its Subset has record 3 several"):
                loader(dataset)

    def test_epochs_have_each_record_once(self):
        for sampler, differ in ((exact.ShuffledBatchSampler(50, 7, epochs=3), (7, 8)),
                                (exact.AllocatedBatchSampler(50, 7, epochs=3), range(51))):
            batches = list(sampler)
            self.assertEqual((len(batches), len(sampler)), (21, 21))
            self.assertAlmostEqual(sampler.expected_batch_size, 50 / 7)
            for epoch in range(3):
                of_epoch = batches[7 * epoch:7 * epoch + 7]
                self.assertEqual(sorted(sum(of_epoch, [])), list(range(50)))
                self.assertTrue(all(len(batch) in differ for batch in of_epoch))
            self.assertNotEqual(batches[:7], batches[7:14])

    def test_fixed_and_full_samples_have_their_size(self):
        fixed = exact.FixedSizeBatchSampler(50, 8, steps=4)
        self.assertEqual([len(set(batch)) for batch in fixed], [8] * 4)
        self.assertEqual((fixed.expected_batch_size, len(fixed)), (8.0, 4))
        full = exact.FullBatchSampler(50, steps=2)
        self.assertEqual(list(full), [list(range(50))] * 2)
        self.assertEqual(full.expected_batch_size, 50.0)

    def test_records_that_are_not_there_are_left_out_and_change_no_other(self):
        whole = list(exact.PoissonBatchSampler(50, 0.3, steps=40, non_private_seed=1))
        part = list(exact.PoissonBatchSampler(50, 0.3, steps=40, records=49, non_private_seed=1))
        self.assertEqual(part, [[record for record in batch if record < 49] for batch in whole])
        self.assertNotEqual(part, whole)
        sampler = exact.AllocatedBatchSampler(50, 5, records=40)
        self.assertEqual(sorted(sum(sampler, [])), list(range(40)))
        # not a matter of the records that are there
        self.assertEqual(sampler.expected_batch_size, 10.0)

    def test_passes_without_an_optimizer_are_new_samples_and_one_ends_another(self):
        sampler = exact.PoissonBatchSampler(100, 0.5, steps=3)
        first, second = list(sampler), list(sampler)
        self.assertNotEqual(first, second)
        running, other = iter(sampler), iter(sampler)
        next(other)
        with self.assertRaisesRegex(dpledger.Error, "another pass over it has begun"):
            next(running)
        for _ in range(sampler.steps + 1):  # a draw is of no loop's pass, and has no end
            sampler.draw()
        with self.assertRaisesRegex(dpledger.Error, "another pass over it has begun"):
            next(other)

    def test_wrong_arguments_are_named(self):
        for words, kind, make in (
                (r"population: must be in \[1", ValueError,
                 lambda: exact.PoissonBatchSampler(0, 0.1, steps=1)),
                ("probability", ValueError, lambda: exact.PoissonBatchSampler(10, 1.5, steps=1)),
                ("probability: must be a number", TypeError,
                 lambda: exact.PoissonBatchSampler(10, "x", steps=1)),
                (r"steps: must be in \[1", ValueError,
                 lambda: exact.PoissonBatchSampler(10, 0.1, steps=0)),
                ("records: has more records than the sampler's population of 10", ValueError,
                 lambda: exact.PoissonBatchSampler(10, 0.1, steps=1, records=11)),
                (r"batch_size: must be in \[1, population = 10\], got 11", ValueError,
                 lambda: exact.FixedSizeBatchSampler(10, 11, steps=1)),
                (r"batches_per_epoch: must be in \[1, population = 10\], got 0", ValueError,
                 lambda: exact.ShuffledBatchSampler(10, 0)),
                (r"rounds_per_epoch: must be in \[1, population = 10\], got 11", ValueError,
                 lambda: exact.AllocatedBatchSampler(10, 11)),
                ("recorder: must be a dpledger.Recorder", TypeError,
                 lambda: exact.PoissonBatchSampler(10, 0.1, steps=1, recorder="x")),
                ("dataset: has more records than the sampler's population of 150", ValueError,
                 lambda: exact.data_loader(points(), exact.PoissonBatchSampler(150, 0.1, steps=1))),
                ("dataset: has another number of records, but a ShuffledBatchSampler makes samples "
                 "of a public size from exactly 250",
                 ValueError,
                 lambda: exact.data_loader(points(), exact.ShuffledBatchSampler(250, 5))),
                ("dataset: has another number of records than the data set that the sampler "
                 "serves",
                 ValueError,
                 lambda: exact.data_loader(points(),
                                           exact.PoissonBatchSampler(250, 0.1, steps=1,
                                                                     records=100))),
                ("dataset: must have a length", TypeError,
                 lambda: exact.data_loader(iter([1]),
                                           exact.PoissonBatchSampler(250, 0.1, steps=1))),
                ("sampler: must be a batch sampler of dpledger.torch, .* got BatchSampler",
                 TypeError,
                 lambda: exact.data_loader(points(),
                                           torch.utils.data.BatchSampler(range(200), 4, False))),
                (r"sampler: must be .* got Sampler; for a loop of its own: sampler.draw\(\)",
                 TypeError,
                 lambda: exact.data_loader(points(), dpledger.Sampler(dpledger.Poisson(0.1, 200)))),
                ("in_order: must be True", ValueError,
                 lambda: exact.data_loader(points(), exact.PoissonBatchSampler(250, 0.1, steps=1),
                                           in_order=False))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                make()


class Empty(unittest.TestCase):
    def empty(self, dataset, population, **options):
        return next(iter(exact.data_loader(
            dataset, exact.PoissonBatchSampler(population, 1e-12, steps=1), **options)))

    def test_an_empty_batch_has_tensors_of_no_rows_whatever_holds_them(self):
        x, y = self.empty(points(), POPULATION)
        self.assertEqual((x.shape, x.dtype, y.shape, y.dtype),
                         ((0, 4), torch.float32, (0,), torch.int64))
        batch = self.empty(Records(), 3)
        self.assertIsInstance(batch["pair"], Pair)
        self.assertEqual((batch["pair"].x.shape, batch["pair"].y.shape), ((0, 2, 5), (0,)))
        self.assertEqual(list(batch["name"]), [])
        self.assertEqual(batch["parts"][0].shape, (0,))
        self.assertEqual(batch["parts"][1][1].shape, (0,))

    def test_a_collate_function_of_one_s_own_makes_it(self):
        batch = self.empty(Records(), 3,
                           collate_fn=lambda rows: {"x": torch.stack([row["pair"].x
                                                                      for row in rows])})
        self.assertEqual(batch["x"].shape, (0, 2, 5))
        with self.assertRaisesRegex(TypeError,
                                    "collate_fn: makes a object, of which no empty batch is known"):
            self.empty(Records(), 3, collate_fn=lambda rows: object())


class Steps(support.WithPath):
    """Steps are on the samples that the loop has been given."""

    def setUp(self):
        super().setUp()
        self.addCleanup(gc.collect)  # what still has the ledger is gone before its folder is
        torch.manual_seed(6)
        self.data = points()
        self.ledger = self.recorder("steps", plan_varies=True)
        self.addCleanup(self.ledger.leave)

    def made(self, sampler, **options):
        model = torch.nn.Linear(4, 2)
        optimizer = exact.PrivateOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                           recorder=options.pop("recorder", self.ledger),
                                           sampler=sampler, noise_multiplier=1.0, max_grad_norm=1.0,
                                           **options)
        exact.per_example(model, loss_reduction="sum")
        self.numbers = []  # of the samples that had a round
        begin = optimizer.sums.begin

        def remember(sample, draw=None):
            begin(sample, draw)
            self.numbers.append(draw)
        optimizer.sums.begin = remember
        return model, optimizer

    def backward(self, model, x, y):
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()

    def run_passes(self, loader, sampler, passes=1, leave_at=None, passed_over=lambda x: False):
        model, optimizer = self.made(sampler)
        before = [p.detach().clone() for p in model.parameters()]
        self.moved = lambda: not all(map(torch.equal, before, model.parameters()))
        for _ in range(passes):
            for index, (x, y) in enumerate(loader):
                if index == leave_at:
                    break
                if passed_over(x):
                    continue
                self.backward(model, x, y)
                optimizer.step()
        return self.numbers

    def poisson(self, probability=0.05, steps=4, **options):
        return exact.PoissonBatchSampler(POPULATION, probability, steps=steps, **options)

    def test_every_loader_gives_each_sample_one_step_in_order(self):
        for workers, options in ((0, {}), (1, {}), (2, {}), (2, dict(persistent_workers=True)),
                                 (1, dict(multiprocessing_context="spawn")),
                                 (2, dict(prefetch_factor=5))):
            sampler = self.poisson()
            with self.subTest(workers=workers, **options):
                loader = exact.data_loader(self.data, sampler, num_workers=workers, **options)
                self.assertEqual(self.run_passes(loader, sampler, passes=2), list(range(1, 9)))

    def test_a_pass_that_is_left_is_carried_on_by_the_next(self):
        for workers in (0, 2):
            sampler = self.poisson(steps=6)
            loader = exact.data_loader(self.data, sampler, num_workers=workers)
            with self.subTest(workers=workers):
                # The third sample of each pass has been given, those that workers fetched behind it
                # have not.
                self.assertEqual(self.run_passes(loader, sampler, passes=3, leave_at=2),
                                 list(range(1, 7)))

    def test_an_epoch_that_is_left_goes_on_in_the_next_pass(self):
        with self.recorder("shuffled", adjacency="zero-out",
                           path=str(self.folder / "shuffled")) as ledger:
            self.ledger = ledger
            sampler, seen = exact.ShuffledBatchSampler(RECORDS, 5), []
            loader = exact.data_loader(self.data, sampler, num_workers=1)
            self.run_passes(loader, sampler, 5, leave_at=3,
                            passed_over=lambda x: seen.extend(x[:, 0].tolist()))
            # Three passes of 3 are an epoch of 5 and a part of the next.
            self.assertEqual(len(set(seen[:RECORDS])), RECORDS)
            told = ledger.epsilon(delta=1e-5).epsilon
        truth = dpledger.epsilon(noise_multiplier=1.0, scheme=dpledger.DisjointBatches(5), steps=15,
                                 delta=1e-5, adjacency="zero-out")
        self.assertAlmostEqual(told.upper, truth.epsilon.upper, places=4)

    def test_every_kind_of_sampler_trains(self):
        for adjacency, sampler in (
                ("add-or-remove-one", self.poisson()),
                ("add-or-remove-one", exact.AllocatedBatchSampler(POPULATION, 4)),
                ("add-or-remove-one", exact.FullBatchSampler(POPULATION, steps=4)),
                ("replace-one", exact.FixedSizeBatchSampler(RECORDS, 10, steps=4)),
                ("zero-out", exact.ShuffledBatchSampler(RECORDS, 4))):
            name = type(sampler).__name__.lower()
            with self.subTest(name), self.recorder(name, adjacency=adjacency,
                                                   path=str(self.folder / name)) as ledger:
                self.ledger = ledger
                loader = exact.data_loader(self.data, sampler)
                self.assertEqual(self.run_passes(loader, sampler), [1, 2, 3, 4])
                self.assertTrue(math.isfinite(ledger.epsilon(delta=1e-5).epsilon.upper))

    def test_a_plain_loader_works_in_one_process_and_is_refused_with_workers(self):
        plain = torch.utils.data.DataLoader
        sampler = self.poisson(records=RECORDS)
        self.assertEqual(self.run_passes(plain(self.data, batch_sampler=sampler), sampler, 2),
                         list(range(1, 9)))
        sampler = self.poisson(records=RECORDS)
        with self.assertRaisesRegex(
                dpledger.Error, "sample 1 was given and passed over.*workers need dpledger.torch"):
            self.run_passes(plain(self.data, batch_sampler=sampler, num_workers=2), sampler)
        self.assertFalse(self.moved())
        self.assertEqual(self.numbers, [])

    def test_a_sample_that_is_passed_over_is_refused(self):
        for workers in (0, 2):
            sampler = self.poisson(steps=100)
            loader = exact.data_loader(self.data, sampler, num_workers=workers)
            with self.assertRaisesRegex(
                    dpledger.Error, "sample 1 was given and passed over, before sample 2") as seen:
                self.run_passes(loader, sampler, passed_over=lambda x, first=[1]: first
                                and first.pop())
            self.assertEqual((seen.exception.code, seen.exception.reason),
                             ("FAILED_PRECONDITION", "SAMPLE_SKIPPED"))
            self.assertFalse(self.moved())

    def test_a_sample_has_one_step(self):
        sampler = self.poisson()
        model, optimizer = self.made(sampler)
        for x, y in exact.data_loader(self.data, sampler):
            self.backward(model, x, y)
            optimizer.step()
            after = model.weight.detach().clone()
            self.backward(model, x, y)
            with self.assertRaisesRegex(dpledger.Error,
                                        r"sample 1 has had its step.*Optimizer\(\[first") as seen:
                optimizer.step()
            self.assertEqual(seen.exception.reason, "SAMPLE_USED")
            break
        self.assertTrue(torch.equal(after, model.weight))
        self.assertIsNone(model.weight.grad)
        with self.assertRaisesRegex(ValueError, "sampler: serves another PrivateOptimizer"):
            exact.PrivateOptimizer(torch.optim.Adam([torch.nn.Parameter(torch.zeros(2))]),
                                   recorder=self.ledger, sampler=sampler, noise_multiplier=1.0,
                                   max_grad_norm=1.0)

    def test_a_batch_sampler_s_own_scheme_stands_for_it(self):
        sampler = self.poisson()
        model = torch.nn.Linear(4, 2)
        optimizer = exact.PrivateOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                           recorder=self.ledger, scheme=sampler.scheme,
                                           noise_multiplier=1.0, max_grad_norm=1.0)
        with self.assertRaisesRegex(dpledger.Error, "sampler: has given no sample yet"):
            optimizer.step(empty=True)
        with self.assertRaisesRegex(ValueError, "sampler: serves another PrivateOptimizer"):
            self.made(sampler)

    def test_rows_are_the_sample_s_records(self):
        sampler = self.poisson(steps=50)
        model, optimizer = self.made(sampler)
        before = model.weight.detach().clone()
        for x, y in exact.data_loader(self.data, sampler):
            for words, rows in (("more", 5 * len(x)), ("fewer", len(x) - 1)):
                self.backward(model, x.repeat(5, 1)[:rows], y.repeat(5)[:rows])
                with self.subTest(words), self.assertRaisesRegex(
                        ValueError, "the step on sample 1 has %s rows than the sample has records"
                        % words):
                    optimizer.step()
            with self.assertRaisesRegex(ValueError, "has fewer rows than the sample has records"):
                optimizer.step(empty=True)
            break
        self.assertTrue(torch.equal(before, model.weight))
        self.assertEqual(self.numbers, [])  # nothing was written down
        self.assertIsNone(model.weight.grad_sample)

    def test_parts_of_a_sample_are_one_step_and_two_samples_are_not(self):
        sampler = self.poisson(0.2, steps=3)
        model, optimizer = self.made(sampler)
        for x, y in exact.data_loader(self.data, sampler):
            for part in range(0, len(x), 16):
                self.backward(model, x[part:part + 16], y[part:part + 16])
                optimizer.accumulate()
            optimizer.step()
        self.assertEqual(self.numbers, [1, 2, 3])
        with self.assertRaisesRegex(dpledger.Error,
                                    "sample 5 was given before the step on sample 4 was made"):
            for x, y in exact.data_loader(self.data, sampler):
                self.backward(model, x, y)
                optimizer.accumulate()
        # The round of sample 4 is lost, and the next sample has its step.
        for x, y in exact.data_loader(self.data, sampler):
            self.backward(model, x, y)
            optimizer.step()
            break
        self.assertEqual(self.numbers, [1, 2, 3, 4, 5])

    def test_a_cell_that_is_stopped_in_its_parts_is_not_gone_on_with(self):
        # Run again, it took the first parts' records twice: 2 C, where the ledger has C.
        cell = """
for number, part in enumerate(x.split(5)):
    model(part).sum().backward()
    optimizer.accumulate()
    if number == stop:
        raise KeyboardInterrupt
optimizer.step()
steps.append(number)"""
        self.addCleanup(setattr, sys, "last_value", getattr(sys, "last_value", None))
        for again in (cell, "optimizer.step()"):
            model, steps = torch.nn.Linear(4, 2), []
            optimizer = exact.PrivateOptimizer(
                torch.optim.SGD(model.parameters(), lr=1.0), recorder=self.ledger,
                scheme=dpledger.Poisson(0.1, POPULATION), noise_multiplier=1.0, max_grad_norm=1.0)
            exact.per_example(model, loss_reduction="sum")
            notebook = code.InteractiveInterpreter(dict(
                x=self.data.tensors[0][:20], model=model, optimizer=optimizer, stop=1, steps=steps))
            before = model.weight.detach().clone()
            with contextlib.redirect_stderr(io.StringIO()) as words:
                notebook.runcode(cell)
                self.assertIn("KeyboardInterrupt", words.getvalue())
                notebook.locals["stop"] = None
                notebook.runcode(again)
            self.assertIn("Ctrl-C ended a cell", words.getvalue())
            self.assertTrue(torch.equal(before, model.weight))
            notebook.runcode(cell)  # the control
            self.assertEqual(steps, [3])

    def test_rows_that_fill_a_batch_up_are_no_records(self):
        sampler = self.poisson()
        model, optimizer = self.made(sampler)
        for x, y in exact.data_loader(self.data, sampler):
            self.backward(model, torch.cat([x, torch.ones(64, 4)]),
                          torch.cat([y, torch.ones(64, dtype=torch.long)]))
            optimizer.accumulate(examples=len(x))
            optimizer.step()
        self.assertEqual(self.numbers, [1, 2, 3, 4])

    def test_a_step_that_fails_leaves_no_round_open(self):
        sampler = self.poisson()
        model, optimizer = self.made(sampler)
        begin = optimizer.sums.begin

        def fail(sample, draw=None):
            raise RuntimeError("no ledger")
        for index, (x, y) in enumerate(exact.data_loader(self.data, sampler)):
            self.backward(model, x, y)
            if index == 0:  # after its round was opened
                with optimizer.sums._alone, self.assertRaisesRegex(dpledger.Error,
                                                                   "in use by another thread"):
                    optimizer.step()
                continue
            if index == 1:  # before: the sample still has its step
                optimizer.sums.begin = fail
                with self.assertRaisesRegex(RuntimeError, "no ledger"):
                    optimizer.step()
                optimizer.sums.begin = begin
                self.backward(model, x, y)
            optimizer.step()
        self.assertEqual(self.numbers, [1, 2, 3, 4])

    def test_what_was_drawn_before_the_optimizer_was_made_is_no_matter_but_for_the_last(self):
        x, y = self.data.tensors
        for sampler in (self.poisson(0.1, records=RECORDS),
                        dpledger.Sampler(dpledger.Poisson(0.1, RECORDS))):
            with self.subTest(type(sampler).__name__):
                sampler.draw()
                sample = sampler.draw()
                model, optimizer = self.made(sampler)
                self.backward(model, x[sample], y[sample])
                optimizer.step()
                self.assertEqual(self.numbers, [2])
        sampler = self.poisson(0.1, records=RECORDS)
        sampler.draw()
        model, optimizer = self.made(sampler)
        sample = sampler.draw()
        self.backward(model, x[sample], y[sample])
        optimizer.step()
        self.assertEqual(self.numbers, [2])

    def test_a_new_pass_forgets_what_was_passed_over(self):
        sampler = self.poisson(steps=6)
        model, optimizer = self.made(sampler)
        loader = exact.data_loader(self.data, sampler)
        batches = iter(loader)
        next(batches)
        x, y = next(batches)
        self.backward(model, x, y)
        with self.assertRaisesRegex(dpledger.Error, "sample 1 was given and passed over"):
            optimizer.step()
        for x, y in loader:
            self.backward(model, x, y)
            optimizer.step()
        self.assertEqual(self.numbers, [1, 2, 3, 4, 5, 6])

    def test_a_sample_whose_parts_do_not_add_up_is_lost(self):
        sampler = self.poisson(0.2)
        model, optimizer = self.made(sampler)
        before = model.weight.detach().clone()
        x, y = next(iter(exact.data_loader(self.data, sampler)))
        self.backward(model, x[1:], y[1:])
        optimizer.accumulate()
        with self.assertRaisesRegex(ValueError, "has fewer rows than the sample has records"):
            optimizer.step()
        self.assertTrue(torch.equal(before, model.weight))
        self.backward(model, x, y)
        with self.assertRaisesRegex(dpledger.Error, "sample 1 has had its step"):
            optimizer.step()

    def test_empty_samples_are_steps(self):
        sampler = exact.PoissonBatchSampler(POPULATION, 1e-9, steps=4)
        model, optimizer = self.made(sampler)
        for index, (x, y) in enumerate(exact.data_loader(self.data, sampler)):
            self.assertEqual(x.shape, (0, 4))
            before = model.weight.detach().clone()
            if index % 2:
                optimizer.step(empty=True)
            else:
                self.backward(model, x, y)
                optimizer.step()
            self.assertFalse(torch.equal(before, model.weight))
        self.assertEqual(self.numbers, [1, 2, 3, 4])

    def test_loops_of_one_s_own_draw_from_a_batch_sampler_or_a_sampler(self):
        x, y = self.data.tensors
        for sampler in (self.poisson(0.1, records=RECORDS),
                        dpledger.Sampler(dpledger.Poisson(0.1, RECORDS))):
            with self.subTest(type(sampler).__name__):
                model, optimizer = self.made(sampler)
                with self.assertRaisesRegex(dpledger.Error, "has given no sample yet"):
                    optimizer.step(empty=True)
                for _ in range(3):
                    sample = sampler.draw()
                    self.backward(model, x[sample], y[sample])
                    optimizer.step()
                self.assertEqual(self.numbers, [1, 2, 3])
                self.backward(model, x[sample], y[sample])
                with self.assertRaisesRegex(dpledger.Error, "sample 3 has had its step"):
                    optimizer.step()
                sampler.draw()
                sample = sampler.draw()
                self.backward(model, x[sample], y[sample])
                with self.assertRaisesRegex(dpledger.Error,
                                            "sample 4 was given and passed over, before sample 5"):
                    optimizer.step()
                with self.assertRaisesRegex(ValueError, "serves another PrivateOptimizer"):
                    self.made(sampler)

    def test_a_batch_that_cannot_be_read_ends_its_pass_and_is_not_left_out(self):
        for workers in (0, 1):
            sampler = exact.PoissonBatchSampler(3, 1.0, steps=3)
            batches = iter(exact.data_loader(Unreadable(), sampler, num_workers=workers))
            with self.assertRaisesRegex(ValueError, "is broken"):
                next(batches)
            with self.assertRaisesRegex(dpledger.Error, "could not be read, and none is left out"):
                next(batches)

    def test_a_resumed_epoch_has_the_rest_of_its_records(self):
        key = self.folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(bytes(range(32)))
        seen = []
        for leave_at in (2, 3):
            ledger = self.recorder("resumed", adjacency="zero-out",
                                   path=str(self.folder / "resumed"), state_key=str(key))
            sampler = exact.ShuffledBatchSampler(RECORDS, 5, recorder=ledger)
            model, optimizer = self.made(sampler, recorder=ledger)
            for index, (x, y) in enumerate(exact.data_loader(self.data, sampler)):
                if index == leave_at:
                    break
                seen += x[:, 0].tolist()
                self.backward(model, x, y)
                optimizer.step()
            del sampler, optimizer
            ledger.leave()
            gc.collect()
        self.assertEqual(len(set(seen)), RECORDS)


if __name__ == "__main__":
    unittest.main()
