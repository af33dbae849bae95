"""What is kept of a training loop is what its ledger says: a zoo of models and loops, on
neighbouring data sets."""
import importlib
import os
import random
import re
import socket
import tempfile
import unittest
from unittest import mock

import support

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
import dpledger
import dpledger.numpy
import zoo
from dpledger import sums, torch as exact
from dpledger.torch import tape, trial

checks = importlib.import_module("dpledger.torch.check")
F = torch.nn.functional


def refusing(case):
    """The case's loop, which must be refused in the words it gives. What the model is then must be
    as if no step had been made but those that the ledger has; gradients of the refused pass are in
    no model."""
    def loop(model, data, ledger):
        try:
            case.loop(model, data, ledger)
        except dpledger.Error as refused:
            if not re.search(case.refused, str(refused)):
                raise AssertionError("refused by: %s" % refused)
        else:
            raise AssertionError("was not refused")
        for parameter in model.parameters() if isinstance(model, torch.nn.Module) else ():
            parameter.grad = parameter.grad_sample = parameter.summed_grad = None
    return loop


def checked(case):
    options = dict(dict(neighbours=1 if case.refused else 2), **case.options)
    return exact.check(case.make, refusing(case) if case.refused else case.loop, case.data(),
                       **options)


class Zoo(unittest.TestCase):
    """One test for each case of zoo.py."""

    def run_case(self, case):
        if case.found:
            with self.assertRaisesRegex(dpledger.Error, case.found) as caught:
                checked(case)
            self.assertEqual(caught.exception.reason, "SENSITIVITY", caught.exception)
        else:
            checked(case)

    def test_the_zoo_is_large(self):
        self.assertGreaterEqual(len(zoo.CASES), 60)


for each in zoo.CASES.values():
    setattr(Zoo, "test_" + each.name.replace("-", "_"), lambda self, each=each: self.run_case(each))


class Planted(unittest.TestCase):
    """Faults that earlier versions had, or might get: the harness is red for each."""

    def assert_found(self, text, loop, make=zoo.linear, data=zoo.points, **options):
        with self.assertRaisesRegex(dpledger.Error, text) as caught:
            exact.check(make, loop, data(), **dict(dict(neighbours=2), **options))
        self.assertEqual(caught.exception.reason, "SENSITIVITY", caught.exception)

    def test_raw_gradients_that_are_stepped(self):
        class Raw(exact.PrivateOptimizer):
            def step(self, *arguments, **named):
                raw = [(p, p.grad.clone()) for group in self.param_groups for p in group["params"]]
                super().step(*arguments, **named)
                for p, gradient in raw:
                    p.data -= 1e-3 * gradient
        with mock.patch.object(exact, "PrivateOptimizer", Raw):
            self.assert_found(r"model\.weight moves by", lambda model, data, ledger: zoo.train(
                model, data, ledger, sampler=zoo.poisson(steps=1)))

    def test_a_momentum_of_raw_gradients(self):
        def loop(model, data, ledger):
            kept = torch.zeros(2, 4)
            zoo.train(model, data, ledger, loss=lambda model,
                      batch: self.remember(kept, model, batch))
            return kept
        self.assert_found("returned moves by", loop)

    def remember(self, kept, model, batch):
        weight = model.weight.detach().clone().requires_grad_()
        loss = F.cross_entropy(F.linear(batch[0], weight, model.bias.detach()), batch[1],
                               reduction="sum")
        kept.mul_(0.9).add_(torch.autograd.grad(loss, weight)[0])
        return zoo.sum_loss(model, batch)

    def test_a_sum_with_a_row_twice(self):
        real = exact.ExactSum.add

        def add(self, gradients, norms=None, examples=None):
            real(self, gradients, norms, examples)
            real(self, gradients, norms, examples)
        with mock.patch.object(exact.ExactSum, "add", add):
            self.assert_found("round 1 has a sum of group 'all' that moves by [12][.]",
                              zoo.stated_scheme)

    def test_a_batch_norm_that_is_not_seen(self):
        # noqa: E731
        make = lambda: zoo.mlp(torch.nn.BatchNorm1d(6, affine=False, track_running_stats=False))
        with mock.patch.object(exact.per_example_gradients, "check_model", lambda model: None), \
                mock.patch.object(trial.Forward, "refuse_mixing", lambda *_: None):
            self.assert_found("has rows of other records", lambda model, data, ledger: zoo.train(
                model, data, ledger, sampler=zoo.poisson(rate=0.9), noise_multiplier=0.1), make)

    def test_texts_that_are_filled_up_to_the_longest_of_their_batch(self):
        class Mean(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 2)

            def forward(self, x):
                return self.head(self.words(x).mean(1))

        def filled(length):
            def collate(batch):
                texts = torch.zeros(len(batch), length or max(len(x) for x, _ in batch),
                                    dtype=torch.long)
                for row, (x, _) in zip(texts, batch):
                    row[:len(x)] = x
                return texts, torch.stack([y for _, y in batch])

            def loop(model, data, ledger):
                sampler = zoo.poisson(steps=2)
                optimizer = zoo.private(torch.optim.SGD(model.parameters(), lr=0.1), ledger,
                                        sampler)
                exact.per_example(model, loss_reduction="sum")
                for batch in exact.data_loader(data, sampler, collate_fn=collate):
                    zoo.sum_loss(model, batch).backward()
                    optimizer.step()
            return loop
        texts = [(torch.arange(3 + 7 * i % 5) % 8 + 1, torch.tensor(i % 2)) for i in range(20)]
        for seed in range(3):
            self.assert_found("moves by|rows of other records", filled(None), Mean, lambda: texts,
                              neighbours=8, seed=seed)
        exact.check(Mean, filled(60), texts)  # the control

    def test_rows_that_depend_on_other_records(self):
        """Their sum need not move by more than its bound on these data: rows are compared too."""
        case = zoo.CASES["loss-over-the-batchs-own-size"]
        with mock.patch.object(checks, "_moved", lambda *_: 0):
            exact.check(case.make, case.loop, case.data(), neighbours=2)
        self.assert_found("rows of other records that move", case.loop)

    def test_batches_that_are_changed_before_the_model(self):
        """Where nothing is noted: as by a loader of another library."""
        def centred(model, batch):
            x, y = batch
            return zoo.sum_loss(model, ((x - x.mean(0)) if len(x) else x, y))

        def own(model, batch):
            x, y = batch
            return zoo.sum_loss(model, (x - x.mean(1, keepdim=True), y))
        def others(model, batch):  # by indices that are gone when the loss is looked at
            out = model(batch[0])
            apart = (out - out[torch.arange(len(out)).flip(0)]).square().sum(1)
            return F.relu(1 + out.square().sum(1) - apart).sum()
        for text, loss in (("rows of other records that move", centred), ("moves by", others)):
            with mock.patch.object(tape, "enabled", False):
                self.assert_found(text, lambda *given: zoo.train(*given, loss=loss))
        exact.check(zoo.linear, lambda *given: zoo.train(*given, loss=own), zoo.points(),
                    neighbours=2)

    def test_two_models_that_have_the_sample_in_another_order(self):
        """A row has one record in the one, and another in the other."""
        def loop(order):
            def run(models, data, ledger):
                sampler = zoo.poisson()
                optimizer = zoo.private(torch.optim.SGD(models.parameters(), lr=0.1), ledger,
                                        sampler)
                for model in models:
                    exact.per_example(model, loss_reduction="sum")
                for x, y in exact.data_loader(data, sampler):
                    (zoo.sum_loss(models[0], (x, y))
                     + zoo.sum_loss(models[1], (order(x), order(y)))).backward()
                    optimizer.step()
            return run

        def make():
            return torch.nn.ModuleList([zoo.linear(), zoo.linear()])
        self.assert_found("rows of other records|moves by", loop(lambda each: each.flip(0)), make)
        exact.check(make, loop(lambda each: each), zoo.points(), neighbours=2)

    def test_a_divisor_of_the_real_batch(self):
        def loop(model, data, ledger):
            sampler = zoo.poisson(steps=1)
            optimizer = zoo.private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
            exact.per_example(model, loss_reduction="sum")
            for x, y in exact.data_loader(data, sampler):
                zoo.sum_loss(model, (x, y)).backward()
                optimizer._size = max(1, len(x))
                optimizer.step()
        self.assert_found(r"model\.weight moves by", loop)

    def test_a_batch_size_that_is_printed(self):
        def loop(model, data, ledger):
            zoo.train(model, data, ledger,
                      loss=lambda model, batch: print(len(batch[0])) or zoo.sum_loss(model, batch))
        self.assert_found("line . of what it prints is '", loop)

    def test_a_gradient_that_stays_for_the_next_step(self):
        """A record acts in a round whose sample does not have it."""
        def loop(model, data, ledger):
            before = [torch.zeros(4)]

            def loss(model, batch):
                found = zoo.sum_loss(model, (batch[0] + before[0] / 10, batch[1]))
                before[0] = batch[0].detach().sum(0)
                return found
            zoo.train(model, data, ledger, sampler=zoo.poisson(steps=8), loss=loss)
        self.assert_found("when one record changes: the record is not in its sample", loop)

    def test_clipping_that_is_left_out(self):
        """Sums that a trainer makes itself, of rows that it does not clip."""
        def loop(model, data, ledger):
            x, y = data
            groups = [sums.ClipGroup("all", 8, 1.0)]
            total, sampler = sums.Privatizer(groups, 1.0, ledger), dpledger.Sampler(
                dpledger.Poisson(zoo.RATE, zoo.POPULATION))
            for _ in range(zoo.STEPS):
                rows = [index for index in sampler.draw() if index < len(x)]
                total.begin(sampler)
                found = zoo.softmax_rows(
                    model, x[rows], y[rows]).sum(0).reshape(8) * total.queries()[0].l2_norm_bound
                total.add_sums(torch.tensor(found).round().long().numpy(), len(rows))
                model["weights"] -= 0.01 * torch.frombuffer(
                    total.finish(), dtype=torch.float32).numpy().reshape(4, 2)
        self.assert_found("round . has a sum of group 'all' that moves by", loop, zoo.zeros,
                          zoo.arrays)

    def test_an_opacus_that_does_not_clip(self):
        optimizer = zoo.engines.opacus.Optimizer if hasattr(zoo.engines.opacus,
                                                            "Optimizer") else None
        if optimizer is None:
            raise unittest.SkipTest("planted into the stand-in")

        def clip_and_accumulate(self):
            for p, rows in zip(self.params, self.grad_samples):
                p.summed_grad = rows.sum(0)
        with mock.patch.object(optimizer, "clip_and_accumulate", clip_and_accumulate):
            self.assert_found("round . has a sum of group 'gradient' that moves by",
                              zoo.opacus_poisson, neighbours=8)

    def test_statistics_that_are_kept(self):
        class Seen(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.mean = zoo.linear(), None

            def forward(self, x):
                self.mean = x.detach().mean(0)
                return self.layer(x)
        self.assert_found(r"model\.mean", zoo.plain, Seen)

    def test_lines_that_only_the_first_run_prints(self):
        def loop(model, data, ledger):
            zoo.train(model, data, ledger)
            if len(data) < zoo.RECORDS:
                print("few")
        self.assert_found("line 1 of what it prints is there in one run only", loop)

    def test_what_hangs_on_a_tensor(self):
        def loop(model, data, ledger):
            zoo.train(model, data, ledger)
            model.weight.seen = data.tensors[0].sum(0)
        self.assert_found(r"model\.weight\.seen moves by", loop)

    def test_rows_that_an_optimizer_leaves_behind(self):
        def loop(model, data, ledger):
            zoo.train(model, data, ledger)
            zoo.sum_loss(model, data.tensors).backward()
        self.assert_found(r"model\.weight\.grad", loop)


class Check(unittest.TestCase):
    def test_a_loop_that_passes_is_reported(self):
        report = exact.check(zoo.linear, zoo.plain, zoo.points(), neighbours=4)
        self.assertEqual((report.rounds, report.neighbours), (3, 4))
        # a record with large features is as long as may be
        self.assertTrue(0.9 < report.furthest < 1.001, report)
        self.assertRegex(repr(report), r"Checked\(rounds=3, neighbours=4, furthest=(0\.9|1\.0)")

    def test_a_model_is_copied_for_each_run(self):
        model = zoo.linear()
        before = model.weight.detach().clone()
        # Two: the first has a record of its own kind. A loud one alone has no gradient where the
        # model is right of it.
        exact.check(model, zoo.plain, zoo.points(), neighbours=2)
        self.assertTrue(torch.equal(model.weight, before))

    def test_generators_go_on_as_if_nothing_had_been(self):
        def drawn():
            return torch.rand(3).tolist() + zoo.numpy.random.rand(3).tolist() + [random.random()]

        def seed():
            torch.manual_seed(11)
            zoo.numpy.random.seed(11)
            random.seed(11)
        seed()
        expected = drawn()
        seed()
        exact.check(zoo.linear, zoo.plain, zoo.points(), neighbours=1)
        self.assertEqual(drawn(), expected)
        self.assertEqual(F.dropout.__name__, "dropout")

    def test_records_come_in_many_shapes(self):
        x, y = zoo.points().tensors
        stack = torch.utils.data.default_collate

        def columns(data):
            if isinstance(data, dict):
                return data["x"], data["y"]
            return stack(data) if isinstance(data, list) else data
        for data in ((x, y), {"x": x, "y": y}, [(x[i], y[i]) for i in range(zoo.RECORDS)]):
            with self.subTest(type(data).__name__):
                exact.check(zoo.linear, lambda model, data,
                            ledger: zoo.train(model, torch.utils.data.TensorDataset(*columns(data)),
                                              ledger),
                            data, neighbours=2)

    def test_loops_that_cannot_be_compared_are_refused(self):
        def unseeded(model, data, ledger):
            zoo.train(model, data, ledger)
            return os.urandom(4)

        def other_each_time(model, data, ledger):
            x, y = data.tensors
            generator = torch.Generator().manual_seed(int.from_bytes(os.urandom(4), "big"))
            zoo.train(model,
                      torch.utils.data.TensorDataset(x + torch.randn(x.shape, generator=generator),
                                                     y),
                      ledger)
        sampler = zoo.poisson()

        def sampler_of_before(model, data, ledger):
            zoo.train(model, data, ledger, sampler=sampler)

        def own_noise(model, data, ledger):
            ledger.round(dpledger.Poisson(0.1, 24), dpledger.SumQuery(1.0, 1.0)).await_releasable()

        def own_mechanism(model, data, ledger):
            ledger.mechanism(dpledger.MechanismEvent(dpledger.Gaussian(1.0))
                             if hasattr(dpledger, "MechanismEvent") else dpledger.Gaussian(1.0))

        def own_ledger(model, data, ledger):
            dpledger.Recorder(path=tempfile.gettempdir() + "/never", dataset="x", unit="x")

        def nested(model, data, ledger):
            exact.check(zoo.linear, zoo.plain, zoo.points())

        def never(model, data, ledger):
            zoo.train(model, data, ledger, sampler=zoo.poisson(rate=1e-9))
        for loop, text in (
                (unseeded, "not the same when it runs twice on the same data: returned"),
                (other_each_time, "not the same when it runs twice on the same data: round 1"),
                (sampler_of_before, "a sampler or an optimizer that was made outside of it"),
                (own_noise, "noise of its own"), (own_mechanism, "noise of its own"),
                (own_ledger, "must use the ledger that it is given"),
                (nested, "must not call check"),
                (never, "the record that changes was in none of its samples")):
            with self.subTest(loop.__name__):
                with self.assertRaisesRegex(dpledger.InvalidArgument, text):
                    exact.check(zoo.linear, loop, zoo.points(), neighbours=1)
        self.assertIsNone(dpledger._client.observer)

    def test_arguments_are_named(self):
        for options, text in ((dict(neighbours=0), "neighbours: "),
                              (dict(adjacency="ADD"), "adjacency: must be one of"),
                              (dict(dataset=torch.randn(1, 4)),
                               "dataset: must have at least 2 records, got 1"),
                              (dict(dataset=(torch.randn(3, 4), torch.randn(4))),
                               "dataset: its columns must have one"),
                              (dict(dataset=iter([])), "dataset: must have a length")):
            with self.subTest(text), self.assertRaisesRegex(dpledger.Error, text):
                exact.check(zoo.linear, zoo.plain, **dict(dict(dataset=zoo.points()), **options))

    def test_what_fails_on_a_neighbour_is_found(self):
        def loop(model, data, ledger):
            if len(data) == zoo.RECORDS:
                raise RuntimeError("too many")
            zoo.train(model, data, ledger)
        with self.assertRaisesRegex(dpledger.Error,
                                    "raises RuntimeError on a neighbouring data set.*too many"):
            exact.check(zoo.linear, loop, zoo.points())


def rank_of_two(rank, port, results):
    """One of two processes: exact sums of half of each sample, added over gloo, noised once by the
    first."""
    import torch.distributed as distributed
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=2, init_method="tcp://127.0.0.1:%d"
                                   % port)

    def loop(model, data, ledger):
        groups = [sums.ClipGroup("all", 8, 1.0)]
        mine = sums.Sum(groups, 1.0)
        sampler = dpledger.Sampler(dpledger.Poisson(zoo.RATE,
                                                    zoo.POPULATION)) if rank == 0 else None
        total = sums.Privatizer(groups, 1.0, ledger) if rank == 0 else None
        x, y = data
        for _ in range(zoo.STEPS):
            box = [sampler.draw() if rank == 0 else None]
            distributed.broadcast_object_list(box, 0)
            rows = [index for index in box[0] if index < len(x)][rank::2]
            mine.clear()
            mine.accumulate(zoo.softmax_rows(model, x[rows], y[rows]).reshape(-1, 8))
            share = torch.cat([torch.frombuffer(mine.values(), dtype=torch.int64),
                               torch.tensor([mine.rows])])
            distributed.reduce(share, 0)
            noised = torch.empty(8)
            if rank == 0:
                total.begin(sampler)
                total.add_sums(share[:-1].numpy(), int(share[-1]))
                noised = torch.frombuffer(total.finish(), dtype=torch.float32).clone()
            distributed.broadcast(noised, 0)
            model["weights"] -= 0.01 * noised.numpy().reshape(4, 2)
    x, y = zoo.arrays()
    options = dict(seed=3, samples_seed=5)
    base = checks.run(zoo.zeros, loop, (x[:-1], y[:-1]), **options)
    other = checks.run(zoo.zeros, loop, (x, y), like=base, place=len(x) - 1, factor=1.0)
    weights = torch.frombuffer(bytearray(other.kept["model['weights']"].value),
                               dtype=torch.float32).clone()
    both = weights.clone()
    distributed.broadcast(both, 0)
    results.put((rank, other.differs(base), other.met, other.furthest, torch.equal(both, weights)))
    distributed.destroy_process_group()


class TwoProcesses(unittest.TestCase):
    def test_sums_of_two_processes_are_one_round(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        context = torch.multiprocessing.get_context("spawn")
        results = context.Queue()
        ranks = [context.Process(target=rank_of_two, args=(rank, port, results))
                 for rank in range(2)]
        for rank in ranks:
            rank.start()
        found = sorted(results.get(timeout=120) for _ in ranks)
        for rank in ranks:
            rank.join(60)
        for rank, moved, met, furthest, same in found:
            self.assertEqual((moved, same), ([], True))
            if rank == 0:
                self.assertGreater(met, 0)
                self.assertTrue(0 < furthest < 1.001, furthest)


if __name__ == "__main__":
    unittest.main()
