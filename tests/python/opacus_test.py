"""The hook in Opacus: what is recorded, when, and what is left when it cannot be. Against Opacus,
or a stand-in."""
import collections
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
from dpledger import torch as exact
from dpledger.torch import guards


class Engine(support.WithServer):
    def setUp(self):
        super().setUp()
        torch.manual_seed(1)
        x = torch.randn(600, 8)
        self.data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
        self.model, self.hooked = torch.nn.Linear(8, 2), None
        self.plain = torch.optim.SGD(self.model.parameters(), lr=0.5)

    def loader(self, **options):
        return torch.utils.data.DataLoader(self.data, batch_size=50,
                                           **dict(dict(shuffle=True), **options))

    def private(self, engine, loader=None, **options):
        values = dict(module=self.hooked or self.model, optimizer=self.plain, data_loader=loader
                      or self.loader(),
                      noise_multiplier=2.0, max_grad_norm=1.5)
        made = engine.make_private(**dict(values, **options))
        self.hooked = made[0]  # Opacus takes a model once, and then what it made of it
        return made

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

    def test_a_hook_of_the_loop_s_own_comes_after_the_ledger_s(self):
        with self.recorder("hooks") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = self.private(engine)
            seen = []
            optimizer.attach_step_hook(lambda _: seen.append(len(engine.accountant)))
            for inputs, labels in loader:
                self.step(model, optimizer, inputs, labels)
            self.assertEqual(seen, list(range(1, 13)))  # what was recorded by then
            truth = dpledger.epsilon(noise_multiplier=2.0, sample_rate=50 / 600, steps=12,
                                     delta=1e-5)
            self.assertGreaterEqual(engine.get_epsilon(1e-5), truth.lower)

    def test_gradients_are_clipped_to_what_the_noise_is_for(self):
        for name, change in (("per-layer", "max_grad_norms"), ("parts", "max_grad_norm")):
            with self.subTest(name), self.recorder(name) as ledger:
                engine = ours.PrivacyEngine(recorder=ledger)
                model, optimizer, loader = self.private(engine)
                inputs, labels = next(iter(loader))
                before = [p.detach().clone() for p in model.parameters()]
                if change == "max_grad_norms":
                    optimizer.max_grad_norms = [1.5, 1.5]
                else:
                    clip = optimizer.clip_and_accumulate

                    def lowered():
                        clip()
                        optimizer.max_grad_norm = 0.5
                    optimizer.clip_and_accumulate = lowered
                with self.assertRaisesRegex(ValueError, "clipped to .* noise is for max_grad_norm"):
                    self.step(model, optimizer, inputs, labels)
                for parameter, value in zip(model.parameters(), before):
                    self.assertTrue(torch.equal(parameter, value))

    def test_a_seed_used_again_is_no_noise_used_again(self):
        drawn = []
        for run in ("first", "second"):
            torch.manual_seed(42)
            with self.recorder("seed-" + run) as ledger:
                engine = ours.PrivacyEngine(recorder=ledger)
                _, optimizer, loader = self.private(engine)
                drawn.append(torch.randn(4, generator=optimizer.generator))
        self.assertFalse(torch.equal(*drawn))

    def test_a_seed_used_again_draws_other_samples(self):
        # Three epochs of the same samples were 30 fresh rounds to the ledger: 4.18 for 9.05.
        for name, options, said in (
                ("poisson", {}, {}),
                ("shuffled", dict(poisson_sampling=False), dict(adjacency="replace-one"))):
            with self.subTest(name), self.alone("samples-" + name, **said) as ledger:
                engine = ours.PrivacyEngine(recorder=ledger, sampler="opacus")
                given, passes = torch.Generator(), []
                loader = self.loader(generator=given)
                model, optimizer, loader = self.private(engine, loader, **options)
                for _ in range(2):
                    torch.manual_seed(42)
                    given.manual_seed(42)
                    passes.append([])
                    for inputs, labels in loader:
                        passes[-1].append(float(inputs.sum()))
                        self.step(model, optimizer, inputs, labels)
                self.assertNotEqual(*passes)

    def test_a_mean_that_depends_on_other_records_is_refused(self):
        for name, options, refusal in (
                ("weights", dict(weight=torch.tensor([1.0, 40.0])), "or over their weights"),
                ("ignored", dict(ignore_index=0), "ignore_index")):
            with self.subTest(name), self.alone("mean-" + name) as ledger:
                engine = ours.PrivacyEngine(recorder=ledger)
                model, optimizer, loader = self.private(engine)
                inputs, labels = next(iter(loader))
                loss = torch.nn.CrossEntropyLoss(**options)
                with self.assertRaisesRegex(ValueError, refusal):
                    loss(model(inputs), labels).backward()

    def test_noise_that_can_be_drawn_again_is_refused(self):
        # With the seed the noise was taken off the sum, to 7e-5 of it.
        with self.alone("seeded") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            with self.assertRaisesRegex(ValueError, "noise_generator: .*Leave the noise"):
                self.private(engine, noise_generator=torch.Generator().manual_seed(7))
            model, optimizer, loader = self.private(engine)
            batch = next(iter(loader))
            ours_again = optimizer.generator
            optimizer.generator = torch.Generator().manual_seed(7)
            self.assert_refused("seeded or replaced", self.model,
                                lambda: self.step(model, optimizer, *batch))
            optimizer.generator = ours_again
            self.step(model, optimizer, *batch)  # the control
            self.assertEqual(len(engine.accountant), 1)
            optimizer.generator.manual_seed(7)
            self.assert_refused("seeded or replaced", self.model,
                                lambda: self.step(model, optimizer, *next(iter(loader))))

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
        few = torch.utils.data.RandomSampler(range(100), replacement=True)
        self.assertEqual(ours.scheme_of(self.loader(sampler=few, shuffle=False)),
                         dpledger.WithReplacement(50, 100))
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
        truth = dpledger.epsilon(noise_multiplier=2.0, scheme=dpledger.DisjointBatches(12, 0, 600),
                                 steps=24, delta=1e-5, adjacency="zero-out")
        self.assertLessEqual(truth.lower, spent.upper)
        self.assertLess(spent.upper, truth.upper * 1.001)

    def spent(self, ledger, loop, *, records=600, batch=50, epochs=1, scheme=None,
              adjacency="zero-out"):
        """The upper bound on a ledger's epsilon at 1e-5, and in how many steps of `loop` the
        busiest record was."""
        x = torch.randn(records, 8)
        data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long(), torch.arange(records))
        seen = collections.Counter()
        with self.recorder(ledger, dataset=ledger, adjacency=adjacency) as recorder:
            engine = ours.PrivacyEngine(recorder=recorder, sampler="opacus", scheme=scheme)
            loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)
            model, optimizer, loader = self.private(engine, loader, poisson_sampling=False)
            for _ in range(epochs):
                for position, (inputs, labels, index) in enumerate(loader):
                    order = loop(position, len(inputs))
                    if order == "break":
                        break
                    if order != "skip":
                        self.step(model, optimizer, inputs, labels)
                        seen.update(index.tolist())
            return recorder.epsilon(delta=1e-5).epsilon.upper, max(seen.values())

    def in_epochs(self, count):
        """What the record costs that is in one step of each of so many epochs."""
        return dpledger.epsilon(dpledger.Gaussian(2.0 / count ** 0.5), delta=1e-5,
                                adjacency="zero-out").epsilon

    def test_each_pass_of_a_shuffled_loader_is_an_epoch(self):
        def whole(position, size):
            return "step"

        def skipping_what_is_left_over(position, size):
            return "step" if size == 50 else "skip"
        for name, loop, records, epochs, cost in (
                ("whole", whole, 600, 3, 3.7086),
                ("three-of-twelve", lambda position, _: "break" if position == 3 else "step", 600,
                 12, 8.3854),
                ("one-of-twelve", lambda position, _: "break" if position == 1 else "step", 600, 24,
                 12.8707),
                ("left-over", skipping_what_is_left_over, 620, 26, 13.5387),
                ("two-of-three", skipping_what_is_left_over, 110, 30, 14.8299),
                ("every-other", lambda position, _: "skip" if position % 2 else "step", 600, 6,
                 5.5448)):
            with self.subTest(name):
                spent, most = self.spent(name, loop, records=records, epochs=epochs)
                truth = self.in_epochs(epochs)
                self.assertAlmostEqual(truth.upper, cost, places=4)
                self.assertTrue(truth.lower <= spent < truth.upper * 1.001, (spent, truth))
                self.assertLessEqual(most, epochs)

    def test_stages_with_other_batch_sizes_are_epochs_of_one_count(self):
        for sizes in ((50, 100), (100, 50), (60, 100)):
            with self.recorder("stages-%d-%d" % sizes, adjacency="zero-out",
                               plan_varies=True) as ledger:
                engine = ours.PrivacyEngine(recorder=ledger, sampler="opacus")
                for size in sizes:
                    loader = torch.utils.data.DataLoader(self.data, batch_size=size, shuffle=True)
                    model, optimizer, loader = self.private(engine, loader, poisson_sampling=False)
                    for _ in range(2):
                        for inputs, labels in loader:
                            self.step(model, optimizer, inputs, labels)
                spent, truth = ledger.epsilon(delta=1e-5).epsilon.upper, self.in_epochs(4)
                self.assertTrue(truth.lower <= spent < truth.upper * 1.001, (sizes, spent, truth))

    def test_a_second_engine_begins_a_new_epoch(self):
        with self.recorder("engines", adjacency="zero-out") as ledger:
            for _ in range(2):
                engine = ours.PrivacyEngine(recorder=ledger, sampler="opacus")
                model, optimizer, loader = self.private(engine, poisson_sampling=False)
                for inputs, labels in loader:
                    self.step(model, optimizer, inputs, labels)
                    break
            spent, truth = ledger.epsilon(delta=1e-5).epsilon.upper, self.in_epochs(2)
            self.assertTrue(truth.lower <= spent < truth.upper * 1.001, (spent, truth))

    def test_stated_epochs_are_counted_by_passes_too(self):
        for name, scheme, adjacency in (
                ("allocated", dpledger.RandomAllocation(12, 1, False, 0, 600), "zero-out"),
                ("shuffled-as-stated", dpledger.DisjointBatches(12, 0, 600), "zero-out")):
            spent, _ = self.spent(name, lambda *_: "step", epochs=3, scheme=scheme,
                                  adjacency=adjacency)
            truth = dpledger.epsilon(noise_multiplier=2.0, scheme=scheme, steps=36, delta=1e-5,
                                     adjacency=adjacency)
            self.assertTrue(truth.lower <= spent < truth.upper * 1.001, (name, spent, truth))
        with self.assertRaisesRegex(ValueError,
                                    "optimizer: a sample was passed over before this step"):
            self.spent("allocated-in-part", lambda position, _: "skip" if position == 1 else "step",
                       scheme=dpledger.RandomAllocation(12, 1, False, 0, 600))

    def assert_refused(self, text, model, step):
        """A refused step leaves the weights, and no gradient behind."""
        before = [p.detach().clone() for p in model.parameters()]
        with self.assertRaisesRegex(ValueError, text):
            step()
        for was, now in zip(before, model.parameters()):
            self.assertTrue(torch.equal(was, now))
            self.assertTrue(now.grad is None and now.summed_grad is None
                            and now.grad_sample is None)

    def test_a_step_is_over_one_sample_of_the_loader(self):
        with self.recorder("ties") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            mine = self.loader()
            model, optimizer, loader = self.private(engine, mine)
            self.assert_refused("iterate over the loader that make_private returned", self.model,
                                lambda: self.step(model, optimizer, *next(iter(mine))))
            batches = iter(loader)
            batch = next(batches)
            self.step(model, optimizer, *batch)
            self.assert_refused("a second step on one sample", self.model,
                                lambda: self.step(model, optimizer, *batch))
            _, _ = next(batches), next(batches)
            self.assert_refused("a sample was passed over before this step", self.model,
                                lambda: self.step(model, optimizer, *next(batches)))
            inputs, labels = next(iter(loader))
            self.assert_refused("not one row for each record", self.model,
                                lambda: self.step(model, optimizer, torch.cat([inputs, inputs]),
                                                  torch.cat([labels, labels])))
            for _ in range(2):
                for inputs, labels in loader:
                    self.step(model, optimizer, inputs, labels)
                    break
            self.assertEqual(len(engine.accountant), 3)

    def test_a_pass_does_not_choose_its_samples(self):
        """What a pass left without a step, the next one begins with: else a loop could leave it
        where it does not like what it sees."""
        with self.recorder("chosen") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = self.private(engine)
            first = next(iter(loader))[0]
            for _ in range(3):
                self.assertTrue(torch.equal(next(iter(loader))[0], first))
            batches = iter(loader)
            self.step(model, optimizer, *next(batches))
            left = [next(batches)[0], next(batches)[0]]
            again = iter(loader)
            for batch in left:
                inputs, labels = next(again)
                self.assertTrue(torch.equal(inputs, batch))
                self.step(model, optimizer, inputs, labels)
            self.step(model, optimizer, *next(again))
            self.assertEqual(len(engine.accountant), 4)
            # An evaluation reads all of a pass, and chooses nothing.
            for _ in loader:
                pass
            self.step(model, optimizer, *next(iter(loader)))
            # The control: each pass of a shuffled loader is an epoch of its own, and costs as one.
            engine = ours.PrivacyEngine(recorder=ledger, sampler="opacus")
            model, optimizer, loader = self.private(engine, poisson_sampling=False)
            self.assertFalse(torch.equal(next(iter(loader))[0], next(iter(loader))[0]))

    def test_a_pass_of_one_sample_does_not_choose_it(self):
        with self.recorder("one-sample") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            own = exact.data_loader(self.data, exact.PoissonBatchSampler(600, 0.1, steps=1))
            model, optimizer, loader = self.private(engine, own)
            for passes in (1, 2, 3):  # each with those that the passes before left
                left = [inputs for inputs, _ in loader]
                self.assertEqual(len(left), passes)
            for inputs, labels in loader:
                self.assertTrue(len(left) == 0 or torch.equal(inputs, left.pop(0)))
                self.step(model, optimizer, inputs, labels)
            self.assertEqual(len(engine.accountant), 4)

    def test_what_a_model_keeps_and_the_inner_optimizer_are_watched(self):
        with self.recorder("watched") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = self.private(engine)
            self.model.register_buffer("mean", torch.zeros(8))
            inputs, labels = next(iter(loader))

            def centred():
                torch.nn.functional.cross_entropy(model(inputs), labels).backward()
                self.model.mean.copy_(inputs.mean(0))
                optimizer.step()
            guards.watch(self.model)  # it has another buffer by now
            self.assert_refused("mean of Linear was written between its backward pass",
                                self.model, centred)
            with self.assertRaisesRegex(dpledger.Error, "stepped by its private optimizer alone"):
                self.plain.step()
            self.assertTrue(torch.equal(self.model.mean, torch.zeros(8)))
            schedule = torch.optim.lr_scheduler.StepLR(self.plain, 1)
            self.step(model, optimizer, *next(iter(loader)))
            schedule.step()
            self.assertEqual(len(engine.accountant), 1)

    def test_a_model_that_mixes_records_is_refused_in_its_forward_pass(self):
        class Centred(torch.nn.Module):
            def forward(self, x):
                return x - x.mean(0)
        self.model = torch.nn.Sequential(self.model, Centred())
        self.plain = torch.optim.SGD(self.model.parameters(), lr=0.5)
        with self.recorder("mixing") as ledger:
            model, _, _ = self.private(ours.PrivacyEngine(recorder=ledger))
            with self.assertRaisesRegex(dpledger.InvalidArgument, r"model: 1 \(Centred\) gives a"):
                model(torch.ones(6, 8) * torch.arange(6.0)[:, None])

    def test_a_part_that_is_in_no_optimizer_is_frozen(self):
        model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 2))
        engine = ours.PrivacyEngine(recorder=self.recorder("head"))
        head = dict(module=model, optimizer=torch.optim.SGD(model[1].parameters(), lr=0.5))
        with self.assertRaisesRegex(ValueError, "module: 0.weight requires a gradient and is not"):
            self.private(engine, **head)
        model[0].requires_grad_(False)
        self.private(engine, **head)

    def test_two_optimizers_cannot_share_a_sample(self):
        with self.recorder("two") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, first, loader = self.private(engine)
            _, second, loader = self.private(engine, loader)
            inputs, labels = next(iter(loader))
            self.step(model, first, inputs, labels)
            self.assert_refused("a second step on one sample", self.model,
                                lambda: self.step(model, second, inputs, labels))

    def alone(self, ledger, **options):
        """A recorder without a connection, for loaders with forked workers."""
        return dpledger.Recorder(path=str(self.folder / ledger), dataset="points", unit="point",
                                 ledger=ledger, **options)

    def test_batches_in_parts_are_one_sample(self):
        from opacus.utils.batch_memory_manager import BatchMemoryManager
        with self.alone("parts") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = self.private(engine)
            with BatchMemoryManager(data_loader=loader, max_physical_batch_size=16,
                                    optimizer=optimizer) as parts:
                for inputs, labels in parts:
                    self.step(model, optimizer, inputs, labels)
            self.assertEqual(len(engine.accountant), 12)
            with BatchMemoryManager(data_loader=loader, max_physical_batch_size=16,
                                    optimizer=optimizer) as parts:
                inputs, labels = next(iter(parts))
                self.step(model, optimizer, inputs, labels)
                self.assert_refused("not one row for each record", self.model,
                                    lambda: self.step(model, optimizer, inputs, labels))
            model, optimizer, loader = self.private(engine, self.loader(num_workers=1))
            with BatchMemoryManager(data_loader=loader, max_physical_batch_size=100,
                                    optimizer=optimizer) as parts:
                self.assert_refused("give the loader num_workers=0", self.model,
                                    lambda: self.step(model, optimizer, *next(iter(parts))))

    def test_a_sample_that_is_left_in_its_middle_is_begun_anew(self):
        # The parts of it that were taken stayed in the sum: records were in another sample's sum
        # too, by 2 C, or no step was ever made again.
        from opacus.utils.batch_memory_manager import BatchMemoryManager
        eye = torch.utils.data.TensorDataset(torch.eye(64), torch.zeros(64, dtype=torch.long))
        whole = torch.utils.data.DataLoader(eye, batch_size=32, shuffle=True)
        for name, options in (("poisson", {}), ("shuffled", dict(poisson_sampling=False))):
            with self.subTest(name), self.alone("left-" + name,
                                                adjacency="zero-out") as ledger:
                self.model, self.hooked = torch.nn.Linear(64, 2, bias=False), None
                self.model.bias = torch.nn.Parameter(torch.zeros(2))
                self.plain = torch.optim.SGD(self.model.parameters(), lr=0.5)
                engine = ours.PrivacyEngine(recorder=ledger)
                model, optimizer, loader = self.private(engine, whole, max_grad_norm=0.1,
                                                        **options)
                sums = []

                def parts(size):
                    return BatchMemoryManager(data_loader=loader, max_physical_batch_size=size,
                                              optimizer=optimizer)
                optimizer.attach_step_hook(lambda optim: sums.append(
                    optim.params[0].summed_grad.norm(dim=0).max()))
                with parts(4) as batches:
                    for number, (inputs, labels) in enumerate(batches):
                        if number == 3:
                            break
                        self.step(model, optimizer, inputs, labels)
                self.assertEqual(sums, [])
                for _ in range(2):
                    with parts(4) as batches:
                        for inputs, labels in batches:
                            self.step(model, optimizer, inputs, labels)
                self.assertEqual(len(sums), 5 if name == "poisson" else 4)
                self.assertLess(max(sums), 0.1 + 1e-6)  # each record is in each sum once
                for inputs, labels in loader:  # and the loader's own passes go on
                    self.step(model, optimizer, inputs, labels)
                self.assertLess(max(sums), 0.1 + 1e-6)
                with parts(16) as batches:  # a half of 32 records twice is as long as both
                    inputs, labels = next(iter(batches))
                    self.assert_refused("step once on every batch", self.model, lambda: [
                        self.step(model, optimizer, inputs, labels) for _ in range(2)])

    def test_workers_fetch_ahead_of_steps(self):
        with self.alone("workers") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = self.private(engine, self.loader(num_workers=1))
            for position, (inputs, labels) in enumerate(loader):
                self.step(model, optimizer, inputs, labels)
            self.assertEqual(len(engine.accountant), 12)
            inputs, labels = next(iter(loader))
            self.step(model, optimizer, inputs, labels)
            self.assert_refused("a second step on one sample", self.model,
                                lambda: self.step(model, optimizer, inputs, labels))

    def test_a_population_is_a_constant_of_the_run(self):
        """Rate, steps and divisor are the same for 600 records and for 599."""
        found = []
        for name, kept in (("all", 600), ("one-less", 599)):
            with self.recorder("population-" + name) as ledger:
                engine = ours.PrivacyEngine(recorder=ledger, population=640)
                data = torch.utils.data.Subset(self.data, range(kept))
                loader = torch.utils.data.DataLoader(data, batch_size=50, shuffle=True)
                _, optimizer, loader = self.private(engine, loader)
                found.append((ours.scheme_of(loader), len(loader), optimizer.expected_batch_size))
                for inputs, labels in loader:
                    self.assertTrue(torch.isin(inputs, self.data.tensors[0][:kept]).all())
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], (dpledger.Poisson(50 / 640, 640), 13, 50.0))
        with self.assertRaisesRegex(
                ValueError, "population: must be at least the data set's number of records"):
            self.private(ours.PrivacyEngine(recorder=self.recorder("small"), population=599))
        for options in (dict(sampler="opacus"), dict(scheme=dpledger.Poisson(0.1, 600))):
            with self.assertRaisesRegex(ValueError,
                                        "population: is of samples that dpledger draws"):
                ours.PrivacyEngine(recorder=self.recorder("beside"), population=600, **options)

    def test_a_pass_that_takes_a_record_twice_is_no_shuffled_epoch(self):
        twice = torch.utils.data.RandomSampler(self.data, num_samples=1200)
        with self.assertRaisesRegex(ValueError,
                                    "data_loader: its RandomSampler has num_samples=1200 over 600"):
            ours.scheme_of(self.loader(sampler=twice, shuffle=False))

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
        self.assertTrue(all(p.grad is None and p.summed_grad is None
                            for p in self.model.parameters()))
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
        model, optimizer, loader = self.private(engine)
        inputs, labels = next(iter(loader))
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        with self.assertRaisesRegex(ValueError, "2 backward passes were accumulated"):
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        self.assertEqual(ledger.undelivered(), 0)
        ledger.leave()

    def test_a_target_is_kept(self):
        with self.recorder("target") as ledger:
            engine = ours.PrivacyEngine(recorder=ledger)
            model, optimizer, loader = engine.make_private_with_epsilon(
                module=self.model, optimizer=self.plain, data_loader=self.loader(),
                target_epsilon=2, target_delta=1e-5, epochs=1, max_grad_norm=1.0)
            for inputs, labels in loader:
                self.step(model, optimizer, inputs, labels)
            self.assertLessEqual(engine.get_epsilon(1e-5), 2)

    def test_the_accountant_is_opacus_own_kind(self):
        accountant = ours.Accountant()
        self.assertEqual((accountant.get_epsilon(1e-5), len(accountant),
                          ours.Accountant.mechanism()),
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
