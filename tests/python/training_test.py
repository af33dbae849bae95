"""Training with torch: per-example gradients, Poisson batches, the private optimizer, a server that
dies."""
import math
import unittest

import support
import dpledger

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402

SCHEME = dpledger.Poisson(0.1, 1000)


class PerExample(unittest.TestCase):
    def models(self):
        torch.manual_seed(5)
        yield torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh(),
                                  torch.nn.Linear(4, 3)), torch.randn(5, 6)
        yield torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1, stride=2, groups=2),
                                  torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.Linear(36, 3)), torch.randn(5, 2, 6, 6)
        yield torch.nn.Sequential(
            torch.nn.Embedding(11, 4, padding_idx=0), torch.nn.Flatten(), torch.nn.LayerNorm(12),
            torch.nn.Linear(12, 3)), torch.randint(0, 11, (5, 3))

    def test_hooks_give_what_one_example_at_a_time_gives(self):
        for model, x in self.models():
            y = torch.tensor([0, 1, 2, 1, 0])
            one_by_one = []
            for row in range(5):
                model.zero_grad()
                torch.nn.functional.cross_entropy(model(x[row:row + 1]), y[row:row + 1]).backward()
                one_by_one.append([p.grad.clone() for p in model.parameters()])
            for reduction in ("mean", "sum"):
                model.zero_grad()
                remove = exact.per_example(model, loss_reduction=reduction)
                torch.nn.functional.cross_entropy(model(x), y, reduction=reduction).backward()
                for index, parameter in enumerate(model.parameters()):
                    self.assertTrue(torch.allclose(
                        parameter.grad_sample, torch.stack([r[index] for r in one_by_one]),
                        atol=1e-6), (index, reduction))
                    parameter.grad_sample = None
                remove()

    def test_another_forward_pass_in_between_is_not_mistaken_for_the_batch(self):
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(inplace=True),
                                    torch.nn.Linear(4, 2))
        torch.manual_seed(7)
        x, other, y = torch.randn(5, 3), torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
        one_by_one = []
        for row in range(5):
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(x[row:row + 1]), y[row:row + 1]).backward()
            one_by_one.append([p.grad.clone() for p in model.parameters()])
        exact.per_example(model, loss_reduction="sum")
        loss = torch.nn.functional.cross_entropy(model(x), y, reduction="sum")
        model(other)  # as a careless evaluation does
        loss.backward()
        for index, parameter in enumerate(model.parameters()):
            expected = torch.stack([r[index] for r in one_by_one])
            self.assertTrue(torch.allclose(parameter.grad_sample, expected, atol=1e-6), index)

    def test_functional_gradients_give_the_same(self):
        for model, x in self.models():
            if x.dtype == torch.int64:
                continue
            y = torch.tensor([0, 1, 2, 1, 0])
            remove = exact.per_example(model, loss_reduction="sum")
            torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
            remove()
            hooked = [p.grad_sample for p in model.parameters()]
            found = exact.gradients(model, torch.nn.functional.cross_entropy, x, y)
            for ours, theirs in zip(hooked, found):
                self.assertTrue(torch.allclose(ours, theirs, atol=1e-6))

    def test_layers_that_mix_records_are_refused(self):
        for layer in (torch.nn.BatchNorm1d(4), torch.nn.SyncBatchNorm(4)):
            with self.assertRaisesRegex(ValueError, r"model: 1 \(.*BatchNorm.*mixes the records"):
                exact.per_example(torch.nn.Sequential(torch.nn.Linear(3, 4), layer))
        with self.assertRaisesRegex(ValueError, "loss_reduction"):
            exact.per_example(torch.nn.Linear(1, 1), loss_reduction="none")

        frozen = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).eval()
        with self.assertRaisesRegex(ValueError, "since it is in eval mode, .*fuse_linear_bn_eval"):
            exact.per_example(frozen)
        fused = torch.nn.utils.fusion.fuse_linear_bn_eval(*frozen)
        exact.per_example(fused)
        x = torch.randn(5, 3)
        self.assertTrue(torch.allclose(fused(x), frozen(x), atol=1e-6))

    def test_two_passes_may_not_share_rows(self):
        model = torch.nn.Linear(2, 1)
        exact.per_example(model)
        model(torch.ones(3, 2)).mean().backward()
        with self.assertRaisesRegex(ValueError, "grad_sample: holds gradients already"):
            model(torch.ones(3, 2)).mean().backward()


class Training(support.WithServer):
    def setUp(self):
        super().setUp()
        torch.manual_seed(6)
        x = torch.randn(400, 5)
        self.data = torch.utils.data.TensorDataset(x, (x @ torch.ones(5) > 0).long())

    def train(self, ledger, steps=30, workers=0, noise=0.5, **options):
        model = torch.nn.Linear(5, 2)
        sampler = exact.PoissonBatchSampler(400, 0.1, steps=steps)
        optimizer = exact.PrivateOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                           recorder=ledger, sampler=sampler, noise_multiplier=noise,
                                           max_grad_norm=1.0, **options)
        exact.per_example(model, loss_reduction="sum")
        for x, y in exact.data_loader(self.data, sampler, num_workers=workers):
            torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
            optimizer.step()
        return model, optimizer

    def test_a_model_learns_and_the_ledger_has_every_step(self):
        with self.recorder("trained", planned_rounds=30) as ledger:
            model, optimizer = self.train(ledger)
            cost = ledger.epsilon(delta=1e-5)
        x, y = self.data.tensors
        self.assertGreater((model(x).argmax(1) == y).float().mean(), 0.9)
        self.assertIsNone(cost.planned_epsilon)
        truth = support.epsilon_by_program(noise_multiplier=0.5, sample_rate=0.1, steps=30,
                                           delta=1e-5)
        self.assertGreaterEqual(cost.epsilon.upper, truth["lower"])
        self.assertLess(cost.epsilon.upper, truth["upper"] * 1.001)
        self.assertEqual(optimizer.param_groups[0]["lr"], 1.0)
        self.server.program("ledger", "verify", "trained", "--self-signed")

    def test_forked_workers_fetch_records_and_empty_batches_are_steps(self):
        with self.recorder("workers") as ledger:
            self.train(ledger, steps=4, workers=2)
            sampler = exact.PoissonBatchSampler(400, 1e-9, steps=3)
            shapes = [(x.shape, y.shape) for x, y in exact.data_loader(self.data, sampler)]
            self.assertEqual(shapes, [((0, 5), (0,))] * 3)
            model = torch.nn.Linear(5, 2)
            optimizer = exact.PrivateOptimizer(torch.optim.SGD(
                model.parameters(), lr=1.0), recorder=ledger, scheme=dpledger.Poisson(
                    0.1, 400), noise_multiplier=0.5, max_grad_norm=1.0, expected_batch_size=40)
            before = model.weight.clone()
            exact.per_example(model, loss_reduction="sum")
            torch.nn.functional.cross_entropy(model(
                torch.zeros(0, 5)), torch.zeros(0, dtype=torch.long), reduction="sum").backward()
            optimizer.step()
            self.assertFalse(torch.equal(before, model.weight))
            optimizer.step(empty=True)
            self.assertEqual(ledger.undelivered(), 0)

    def test_physical_batches_add_up_to_one_step(self):
        ledger = self.recorder("physical")
        x, y = (part[:12] for part in self.data.tensors)
        weights = []
        for cuts in ([12], [5, 5, 2], [4, 4, 4]):
            torch.manual_seed(8)
            model = torch.nn.Linear(5, 2)
            optimizer = exact.PrivateOptimizer(
                torch.optim.SGD(model.parameters(), lr=1.0), recorder=ledger, scheme=SCHEME,
                noise_multiplier=0.5, max_grad_norm=1.0, expected_batch_size=12, non_private_seed=9)
            exact.per_example(model, loss_reduction="sum")
            for a, b in zip(x.split(cuts), y.split(cuts)):
                torch.nn.functional.cross_entropy(model(a), b, reduction="sum").backward()
                optimizer.accumulate()
            optimizer.step()
            weights.append(model.weight.detach())
        for other in weights[1:]:
            self.assertLess((other - weights[0]).abs().max(), 1e-5)
        moved = []
        for size in (12, 24):
            torch.manual_seed(8)
            model = torch.nn.Linear(5, 2)
            before = model.weight.detach().clone()
            optimizer = exact.PrivateOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                               recorder=ledger, scheme=SCHEME, noise_multiplier=0.5,
                                               max_grad_norm=1.0, expected_batch_size=size,
                                               non_private_seed=9)
            optimizer.step(empty=True)
            moved.append(model.weight.detach() - before)
        self.assertTrue(torch.allclose(moved[0], 2 * moved[1], atol=1e-6))
        self.assertGreater(moved[0].abs().max(), 1e-3)
        ledger.leave()

    def test_what_other_loops_do_is_named_with_what_to_do_instead(self):
        def made(kind=torch.float32):
            model = torch.nn.Linear(5, 2).to(kind)
            sampler = exact.PoissonBatchSampler(400, 0.5, steps=1)
            optimizer = exact.PrivateOptimizer(
                torch.optim.SGD(model.parameters(), lr=0.5), recorder=ledger, sampler=sampler,
                noise_multiplier=2.0, max_grad_norm=1.0)
            exact.per_example(model, loss_reduction="sum")
            x, y = next(iter(exact.data_loader(self.data, sampler)))
            torch.nn.functional.cross_entropy(model(x.to(kind)), y, reduction="sum").backward()
            return model, optimizer
        with self.recorder("others") as ledger:
            model, optimizer = made()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with self.assertRaisesRegex(ValueError, "clip_grad_norm_: leave it out"):
                optimizer.step()
            with self.assertRaisesRegex(TypeError, r"got torch.float64; model.float\(\)"):
                made(torch.float64)[1].step()
            model, optimizer = made()
            self.assertEqual((optimizer.noise_multiplier, optimizer.max_grad_norm,
                              optimizer.expected_batch_size), (2.0, 1.0, 200.0))
            # They were set, and nothing changed.
            for name in ("noise_multiplier", "max_grad_norm", "expected_batch_size"):
                with self.assertRaisesRegex(ValueError, name + ": .*make another PrivateOptimizer"):
                    setattr(optimizer, name, 5.0)
            optimizer.step()  # the control

    def test_nothing_is_released_when_the_server_dies(self):
        own = self.folder / "own"
        own.mkdir()
        server = support.Server(own)
        self.addCleanup(server.stop)
        ledger = self.recorder("dies", server=server.address, release_timeout=0.4)
        model = torch.nn.Linear(5, 2)
        optimizer = exact.PrivateOptimizer(torch.optim.SGD(model.parameters(), lr=1.0),
                                           recorder=ledger, scheme=SCHEME, noise_multiplier=0.5,
                                           max_grad_norm=1.0, expected_batch_size=40)
        exact.per_example(model, loss_reduction="sum")
        before = model.weight.detach().clone()
        server.process.kill()
        server.process.wait()
        loss = torch.nn.functional.cross_entropy(model(torch.randn(4, 5)),
                                                 torch.tensor([0, 1, 1, 0]), reduction="sum")
        loss.backward()
        with self.assertRaises(dpledger.Error):
            optimizer.step()
        model.weight.grad = torch.ones_like(model.weight)  # of a pass that nobody hooked
        with self.assertRaises(dpledger.Error):
            optimizer.step(empty=True)
        self.assertTrue(torch.equal(before, model.weight))
        self.assertTrue(all(p.grad is None and p.grad_sample is None for p in model.parameters()))
        ledger.leave()

    def test_misuse_is_named(self):
        ledger = self.recorder("misuse")
        model = torch.nn.Linear(5, 2)
        made = dict(recorder=ledger, scheme=SCHEME, noise_multiplier=0.5, max_grad_norm=1.0,
                    expected_batch_size=40)
        plain = torch.optim.SGD(model.parameters(), lr=1.0)
        for words, kind, optimizer, more in (
                ("optimizer: must be", TypeError, model, {}),
                ("expected_batch_size: must be finite", ValueError, plain,
                 dict(expected_batch_size=0)),
                ("expected_batch_size: must be a number", TypeError, plain,
                 dict(expected_batch_size="40")),
                ("recorder: must be", TypeError, plain, dict(recorder=None)),
                ("noise_multiplier", ValueError, plain, dict(noise_multiplier=math.nan)),
                ("noise_multiplier", ValueError, plain, dict(noise_multiplier=0.0))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                exact.PrivateOptimizer(optimizer, **dict(made, **more))
        optimizer = exact.PrivateOptimizer(plain, **made)
        with self.assertRaisesRegex(ValueError, "grad_sample: parameter 0 has none"):
            optimizer.step()
        with self.assertRaisesRegex(ValueError, "grad_sample: parameter 0 has none"):
            optimizer.step(lambda: None)
        model.weight.grad_sample = torch.zeros(3, 2, 5, dtype=torch.float64)
        model.bias.grad_sample = torch.zeros(3, 2)
        with self.assertRaisesRegex(TypeError, r"gradients\[0\]: must be of float32"):
            optimizer.step()
        self.assertEqual(ledger.epsilon(delta=1e-5).epsilon.upper, 0)  # nothing was written down
        self.assertEqual(ledger.undelivered(), 0)
        ledger.leave()


if __name__ == "__main__":
    unittest.main()
