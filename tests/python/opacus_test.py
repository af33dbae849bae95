"""The hook in Opacus: what is recorded, when, and what is left when it cannot be. Against Opacus, or a stand-in."""
import math
import pathlib
import sys
import unittest

import support

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
try:
    import opacus
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "stand_ins"))
    import opacus
import dpledger
from dpledger import opacus as ours


class Engine(support.WithServer):
    def setUp(self):
        super().setUp()
        torch.manual_seed(1)
        x = torch.randn(600, 8)
        self.data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
        self.model = torch.nn.Linear(8, 2)
        self.plain = torch.optim.SGD(self.model.parameters(), lr=0.5)

    def loader(self, **options):
        return torch.utils.data.DataLoader(self.data, batch_size=50, **dict(dict(shuffle=True), **options))

    def private(self, engine, loader=None, **options):
        values = dict(module=self.model, optimizer=self.plain, data_loader=loader or self.loader(),
                      noise_multiplier=2.0, max_grad_norm=1.5)
        return engine.make_private(**dict(values, **options))

    def step(self, model, optimizer, inputs, labels):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    def test_each_step_is_in_the_ledger_as_it_was_drawn(self):
        with self.recorder("steps") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = self.private(engine)
            scheme = ours.scheme_of(loader)
            self.assertEqual(scheme, dpledger.Poisson(50 / 600, 600))
            for inputs, labels in loader:
                self.step(model, optimizer, inputs, labels)
            spent = engine.get_epsilon(1e-5)
        truth = dpledger.epsilon(noise_multiplier=2.0, sample_rate=50 / 600, steps=12, delta=1e-5)
        self.assertGreaterEqual(spent, truth.lower)
        self.assertLess(spent, truth.upper * 1.001)
        self.assertEqual(len(engine.accountant), 12)
        self.assertAlmostEqual(engine.accountant.get_epsilon(1e-5), truth.upper, places=4)

    def test_schemes_are_what_loaders_really_do(self):
        engine = ours.PrivacyEngine(recorder=self.recorder("schemes"), sampler="opacus")
        theirs = self.private(engine)[-1]
        q = ours.scheme_of(theirs).probability
        # 1/12 as a 32-bit float, up to the next multiple of 2^-24: a little more than 1/12.
        self.assertTrue(1 / 12 < q < 1 / 12 + 2 ** -23, q)
        self.assertTrue((q * 2 ** 24).is_integer())
        self.assertEqual(ours.drawn_rate(1e-8), 2.0 ** -24)
        self.assertEqual(ours.scheme_of(self.loader()), dpledger.DisjointBatches(12, 0, 600))
        replaced = torch.utils.data.RandomSampler(self.data, replacement=True)
        self.assertEqual(ours.scheme_of(self.loader(sampler=replaced, shuffle=False)),
                         dpledger.WithReplacement(50, 600))
        with self.assertRaisesRegex(ValueError, "data_loader: how its sampler .*SequentialSampler"):
            ours.scheme_of(self.loader(shuffle=False))

    def test_shuffled_epochs_are_counted(self):
        with self.recorder("shuffled", adjacency="zero-out") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger, sampler="opacus")
            model, optimizer, loader = self.private(engine, poisson_sampling=False)
            for _ in range(2):
                for inputs, labels in loader:
                    self.step(model, optimizer, inputs, labels)
            spent = ledger.epsilon(delta=1e-5).epsilon
        truth = dpledger.epsilon(noise_multiplier=2.0, scheme=dpledger.DisjointBatches(12, 0, 600), steps=24,
                                 delta=1e-5, adjacency="zero-out")
        self.assertLessEqual(truth.lower, spent.upper)
        self.assertLess(spent.upper, truth.upper * 1.001)

    def test_what_cannot_be_recorded_changes_no_weight(self):
        own = self.folder / "own"
        own.mkdir()
        server = support.Server(own)
        self.addCleanup(server.stop)
        ledger = self.recorder("dies", server=server.address, release_timeout=0.3)
        model, optimizer, loader = self.private(ours.PrivacyEngine(recorder=ledger))
        inputs, labels = next(iter(loader))
        before = self.model.weight.detach().clone()
        server.process.kill()
        server.process.wait()
        with self.assertRaises(dpledger.Error):
            self.step(model, optimizer, inputs, labels)
        self.assertTrue(torch.equal(before, self.model.weight))
        self.assertTrue(all(p.grad is None and p.summed_grad is None for p in self.model.parameters()))
        ledger.leave()

    def test_what_no_ledger_describes_is_refused(self):
        ledger = self.recorder("refused")
        engine = ours.PrivacyEngine(recorder=ledger)
        with self.assertRaisesRegex(ValueError, "clipping"):
            self.private(engine, clipping="adaptive")
        with self.assertRaisesRegex(ValueError, "model: .*mixes the records"):
            self.private(engine, module=torch.nn.Sequential(self.model, torch.nn.BatchNorm1d(2)))
        with self.assertRaisesRegex(TypeError, "recorder: must be"):
            ours.PrivacyEngine(recorder="ledger")
        with self.assertRaisesRegex(ValueError, "recorder: must be given"):
            ours.PrivacyEngine(recorder=None)
        with self.assertRaisesRegex(ValueError, "sampler: must be"):
            ours.PrivacyEngine(recorder=ledger, sampler="fast")
        if "stand_ins" in opacus.__file__:
            _, optimizer, loader = self.private(engine)
            optimizer.accumulated_iterations = 2
            with self.assertRaisesRegex(ValueError, "2 backward passes were accumulated"):
                self.step(self.model, optimizer, *next(iter(loader)))
        self.assertEqual(ledger.undelivered(), 0)
        ledger.leave()

    def test_a_target_is_kept(self):
        with self.recorder("target") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = engine.make_private_with_epsilon(
                module=self.model, optimizer=self.plain, data_loader=self.loader(), target_epsilon=2,
                target_delta=1e-5, epochs=1, max_grad_norm=1.0)
            for inputs, labels in loader:
                self.step(model, optimizer, inputs, labels)
            self.assertLessEqual(engine.get_epsilon(1e-5), 2)

    def test_the_accountant_is_opacus_own_kind(self):
        accountant = ours.Accountant()
        self.assertEqual((accountant.get_epsilon(1e-5), len(accountant), ours.Accountant.mechanism()),
                         (0.0, 0, "dpledger"))
        for noise in (1.0, 1.0, 2.0):
            accountant.step(noise_multiplier=noise, sample_rate=0.1)
        self.assertEqual(accountant.history, [(1.0, 0.1, 2), (2.0, 0.1, 1)])
        accountant.step(noise_multiplier=0, sample_rate=0.1)
        self.assertEqual(accountant.get_epsilon(1e-5), math.inf)
        ours.register()
        if hasattr(opacus.accountants, "REGISTERED"):
            self.assertIs(opacus.accountants.REGISTERED["dpledger"], ours.Accountant)


if __name__ == "__main__":
    unittest.main()
