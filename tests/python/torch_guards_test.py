"""What PrivateOptimizer refuses before a weight moves: state that a forward pass writes, gradients
that are in no sum; and that it is a torch optimizer."""
import copy
import gc
import io
import itertools
import math
import random
import signal
import unittest
import warnings
import weakref

import numpy
import support
import dpledger

try:
    import torch
    import torch.utils.checkpoint
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402
from dpledger.torch import guards, losses  # noqa: E402

functional = torch.nn.functional


class Writes(torch.nn.Module):
    """A model whose forward pass writes something."""

    def __init__(self, what="nothing"):
        super().__init__()
        self.body = torch.nn.Linear(4, 2)
        self.register_buffer("mean", torch.zeros(4))
        self.what = what

    def forward(self, x):
        if self.training and len(x):
            if self.what == "in place":
                self.mean.mul_(0.9).add_(0.1 * x.mean(0))
            elif self.what == "another tensor":
                self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
            elif self.what == "uncounted":
                self.mean.data.add_(x.mean(0))
            elif self.what == "a parameter":
                with torch.no_grad():
                    self.body.weight.add_(x.mean(0))
            elif self.what == "a parameter, uncounted":
                self.body.weight.data.add_(x.mean(0))
        return self.body(x - self.mean)

    def encode(self, x):
        found = self.body(x)
        self.mean.add_(x.mean(0))
        return found


class State(unittest.TestCase):
    """guards.watch alone."""

    def setUp(self):
        torch.manual_seed(1)
        self.x = torch.randn(5, 4)

    def refused(self, model, words, run):
        end = guards.watch(model)
        self.addCleanup(end)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        with self.assertRaisesRegex(ValueError, words):
            run()
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(before[name], value), name)  # put back

    def test_state_that_a_forward_pass_writes_is_refused_by_name_and_put_back(self):
        for what, name in (("in place", "mean"), ("another tensor", "mean"), ("uncounted", "mean"),
                           ("a parameter", "body.weight"),
                           ("a parameter, uncounted", "body.weight")):
            model = Writes(what)
            with self.subTest(what):
                self.refused(model, "model: a forward pass writes %s of " % name,
                             lambda: model(self.x))
                model.eval()
                model(self.x)
        model = Writes()
        guards.watch(model)
        model(self.x)  # control

    def test_torch_s_own_layers_that_write_are_refused_with_the_way_round(self):
        images = torch.randn(3, 4, 5)
        for layer, x, words in ((torch.nn.InstanceNorm1d(4, track_running_stats=True), images,
                                 "running_mean.*track_running_stats=False"),
                                (torch.nn.BatchNorm1d(4), self.x, "running_mean"),
                                (torch.nn.Embedding(9, 4, max_norm=0.1), torch.tensor([1, 2]),
                                 "weight of Embedding.*max_norm=None")):
            with self.subTest(type(layer).__name__):
                self.refused(layer, "a forward pass writes " + words, lambda: layer(x))
        for layer, x in ((torch.nn.InstanceNorm1d(4), images),
                         (torch.nn.Embedding(9, 4), torch.tensor([1, 2]))):
            guards.watch(layer)
            layer(x)

    def test_passes_later_than_the_first_are_watched(self):
        for passes in (1, 2, 3, 6):
            model = Writes()
            guards.watch(model)
            for _ in range(passes):
                model(self.x)
            model.what = "in place"
            with self.assertRaisesRegex(ValueError, "writes mean of Writes"):
                model(self.x)
            self.assertTrue(torch.equal(model.mean, torch.zeros(4)))

    def test_other_passes_leave_no_step_unseen(self):
        """An evaluation before it, one at each step, and another pass with gradients."""
        def evaluated(model):
            with torch.no_grad():
                model.eval()(self.x)
                model.train()

        for name, before, beside in (("before", 520, None), ("at each step", 0, evaluated),
                                     ("with gradients", 0, lambda model: model.eval()(self.x))):
            with self.subTest(name):
                model = Writes()
                end = guards.watch(model)
                for _ in range(before):
                    evaluated(model)
                steps = 0
                with self.assertRaisesRegex(ValueError, "a forward pass writes mean"):
                    for steps in range(1, 40):
                        model.what = "uncounted" if steps > 8 else "nothing"
                        model.train()(self.x).sum().backward()
                        if beside is not None:
                            beside(model)
                        guards.check_state()
                self.assertEqual(steps, 16)  # the first that is looked at after 8
                end()

    def test_what_begins_later_is_found_within_64_steps(self):
        model = Writes()
        self.addCleanup(guards.watch(model))
        steps = 0
        with self.assertRaisesRegex(ValueError, "a forward pass writes mean"):
            for steps in range(1, 400):
                model.what = "uncounted" if steps > 257 else "nothing"
                model(self.x).sum().backward()
                guards.check_state()
        self.assertEqual(steps, 320)

    def test_writes_that_are_not_counted_are_looked_for_at_more_than_the_first_pass(self):
        model = Writes()
        guards.watch(model)
        model(self.x)
        model.what = "uncounted"
        with self.assertRaisesRegex(ValueError, "writes mean of Writes"):
            model(self.x)

    def test_values_that_are_no_numbers_are_not_taken_for_written(self):
        model = Writes()
        with torch.no_grad():
            model.body.weight[0, 0] = model.mean[1] = math.nan
        guards.watch(model)
        for _ in range(3):
            model(self.x)
        guards.check_state()

    def test_a_part_that_is_called_alone_is_watched_until_the_step(self):
        model = torch.nn.Sequential(Writes("in place"))
        model[0].body = torch.nn.Identity()  # now it has a buffer alone
        guards.watch(model)
        model[0](self.x)
        with self.assertRaisesRegex(ValueError, "writes 0.mean of Writes"):
            guards.check_state()
        model = Writes()
        guards.watch(model)
        model.body(self.x)
        guards.check_state()
        model.encode(self.x)
        with self.assertRaisesRegex(ValueError, "writes mean of Writes"):
            guards.check_state()

    def test_what_is_written_between_passes_is_no_matter(self):
        model = Writes()
        guards.watch(model)
        for _ in range(5):
            model(self.x)
            model.load_state_dict(Writes().state_dict())
            with torch.no_grad():
                model.body.weight.mul_(0.9)
                model.mean.add_(1)
        model(self.x)
        guards.check_state()

    def test_what_is_written_between_a_pass_and_its_step_is_refused_and_put_back(self):
        def counted(model):
            model.mean.add_(1)

        def uncounted(model):
            model.body.weight.data.mul_(0.9)

        def other(model):
            model.mean = model.mean + 1
        for write, name in ((counted, "mean of Writes"), (uncounted, "body.weight of Linear"),
                            (other, "mean of Writes")):
            model = Writes()
            kept = {key: value.clone() for key, value in model.state_dict().items()}
            guards.watch(model)
            model(self.x)
            with torch.no_grad():
                write(model)
            with self.subTest(write.__name__), self.assertRaisesRegex(
                    ValueError, "model: %s was written between its backward pass and" % name):
                guards.check_state()
            for key, value in model.state_dict().items():
                self.assertTrue(torch.equal(value, kept[key]), key)
            guards.check_state()

    def test_state_that_is_named_public_may_be_written(self):
        model = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 4))
        end = guards.watch(model)
        with self.assertRaisesRegex(ValueError, r"public_state=\['parametrizations.weight.0._u'\]"):
            model(self.x)
        guards.watch(model,
                     public_state=["parametrizations.weight.0._u", "parametrizations.weight.0._v"])
        model(self.x)
        end()
        with self.assertRaisesRegex(ValueError,
                                    "public_state: must be names of the model's buffers.* got 'v'"):
            guards.watch(model, public_state="v")

    def test_a_watch_ends_with_its_last_user_and_with_its_model(self):
        model = Writes("in place")
        ends = [guards.watch(model), guards.watch(model)]
        ends[0]()
        ends[0]()
        with self.assertRaisesRegex(ValueError, "writes mean"):
            model(self.x)
        ends[1]()
        model(self.x)
        self.assertFalse(model._forward_hooks or model._forward_pre_hooks)
        guards.watch(model)
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())
        with self.assertRaisesRegex(TypeError, "model: must be a torch.nn.Module, got int"):
            guards.watch(3)

    def test_a_watched_model_is_saved_and_copied_without_its_watch(self):
        model = Writes("in place")
        guards.watch(model)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for other in (copy.deepcopy(model), torch.load(file)):
            other(self.x)
            self.assertFalse(torch.equal(other.mean, model.mean))
        self.assertTrue(torch.equal(model.mean, torch.zeros(4)))


class Optimizers(support.WithPath):
    def setUp(self):
        super().setUp()
        self.addCleanup(gc.collect)  # what still has the ledger is gone before its folder is
        torch.manual_seed(6)
        self.x = torch.randn(200, 4)
        self.y = (self.x.sum(1) > 0).long()
        self.data = torch.utils.data.TensorDataset(self.x, self.y)
        self.ledger = self.recorder("steps", plan_varies=True)
        self.addCleanup(self.ledger.leave)

    def model(self):
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))

    def made(self, inner, **options):
        options.setdefault("sampler", exact.PoissonBatchSampler(250, 0.1, steps=4))
        options.setdefault("max_grad_norm", 1.0)
        return exact.PrivateOptimizer(inner, recorder=self.ledger,
                                      noise_multiplier=options.pop("noise", 1000.0), **options)

    def run_steps(self, model, optimizer, sampler, loss=None):
        """What moved."""
        before = {name: value.clone() for name, value in model.state_dict().items()}
        try:
            for x, y in exact.data_loader(self.data, sampler):
                out = functional.cross_entropy(model(x), y, reduction="sum")
                (out if loss is None else loss(out, x)).backward()
                optimizer.step()
        finally:
            self.moved = {name for name, value in model.state_dict().items()
                          if not torch.equal(before[name], value)}
        return self.moved

    # ---- What is in no sum ----

    def test_parameters_that_are_stepped_and_not_summed_are_refused_by_name(self):
        def unfrozen(model):
            model[0].requires_grad_(False)
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            return optimizer, lambda: model[0].requires_grad_(True)

        def added(model):
            optimizer = torch.optim.SGD(model[2].parameters(), lr=1.0)
            return optimizer, lambda: optimizer.add_param_group(
                {"params": list(model[0].parameters())})

        def frozen(model):
            return torch.optim.SGD(
                model.parameters(), lr=1.0), lambda: model[0].requires_grad_(False)
        for make, words in (
                (unfrozen, "parameter 0.weight, which requires a gradient and is in no sum"),
                (added, "parameter 0.weight, which requires a gradient and is in no sum"),
                (frozen, "parameter 0.weight was frozen since")):
            for position in (0, 1):
                model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=4)
                inner, later = make(model)
                other = torch.optim.SGD([torch.nn.Parameter(torch.zeros(3))], lr=1.0)
                optimizer = self.made([other, inner][::1 if position else -1], sampler=sampler)
                later()
                exact.per_example(model, loss_reduction="sum")
                with self.subTest(make.__name__, position=position), self.assertRaisesRegex(
                        ValueError, "optimizer: (has )?" + words):
                    self.run_steps(model, optimizer, sampler)
                self.assertEqual(self.moved, set())
                self.assertTrue(all(p.grad is None for p in model.parameters()))

    def test_a_frozen_layer_s_stale_gradient_is_not_stepped(self):
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=4)
        # does the loop run at all?
        functional.cross_entropy(model(self.x), self.y, reduction="sum").backward()
        model[0].requires_grad_(False)
        optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler)
        self.assertIsNone(model[0].weight.grad)
        exact.per_example(model, loss_reduction="sum")
        model[0].weight.grad = torch.ones(4, 4)
        self.assertEqual(self.run_steps(model, optimizer, sampler), {"2.weight", "2.bias"})
        model[0].weight.grad = torch.ones(4, 4)
        optimizer.zero_grad()
        self.assertIsNone(model[0].weight.grad)

    def test_what_a_backward_pass_reaches_besides_is_refused_and_not_what_nothing_can_step(self):
        """Leaves of the graph, whatever holds them: a model, nothing, a part of it made again."""
        def run(make, lr=0.0, steps=2):
            model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=steps)
            optimizer = self.made(torch.optim.SGD(model.parameters(), lr=lr), sampler=sampler)
            exact.per_example(model, loss_reduction="sum")
            forward = make(model)
            for x, y in exact.data_loader(self.data, sampler):
                functional.cross_entropy(forward(x), y, reduction="sum").backward()
                optimizer.step()
        tensor, part = torch.zeros(2, requires_grad=True), torch.nn.Linear(4, 4)
        again = torch.utils.checkpoint.checkpoint
        refused = dict(tensor=lambda m: lambda x: m(x) + tensor,
                       part=lambda m: lambda x: m(part(x)),
                       again=lambda m: lambda x: again(lambda y: m(y) + tensor,
                                                       x.requires_grad_()))
        for name, make in refused.items():
            with self.subTest(name), self.assertRaisesRegex(
                    ValueError, "optimizer: the backward pass gave a parameter of shape .* in no "):
                run(make)
        for first in (3, 7):  # every pass is looked at
            calls = itertools.count(1)
            with self.subTest(first), self.assertRaisesRegex(ValueError, "in no sum"):
                run(lambda m: lambda x: m(x) + tensor if next(calls) >= first else m(x), steps=9)
            self.assertEqual(next(calls), first + 1)
        others = self.made(torch.optim.SGD(part.parameters(), lr=1.0))
        honest = dict(records=lambda m: lambda x: m(x.requires_grad_()),
                      anothers=refused["part"], stopped=lambda m: lambda x: m(x + 0 * x.detach()))
        for name, make in honest.items():
            with self.subTest(name):
                run(make)
        del others
        gc.collect()
        with self.assertRaisesRegex(ValueError, "in no sum"):
            run(refused["part"])

    def test_records_that_are_certain_are_no_ignored_labels(self):
        x, labels = torch.eye(4, 8), torch.tensor([0, 1, 0, 1])
        for scale, certain in ((1.0, False), (1e4, True)):
            model = torch.nn.Linear(8, 2, bias=False)
            with torch.no_grad():
                model.weight.copy_(torch.tensor([[1.0, -1.0] * 4, [-1.0, 1.0] * 4]))
            exact.per_example(model, loss_reduction="mean")
            output = model(scale * x)
            output.retain_grad()
            functional.cross_entropy(output, labels).backward()
            self.assertEqual(bool((output.grad == 0).all(1).any()), certain)
            model.weight.grad_sample = None
            with self.assertRaisesRegex(ValueError, "labels of the batch that are not ignored"):
                functional.cross_entropy(model(x), torch.tensor([0, 1, -100, 1])).backward()

    def test_a_ctrl_c_at_any_moment_leaves_an_optimizer_that_goes_on(self):
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=10 ** 6)
        optimizer = self.made(torch.optim.SGD(model.parameters(), lr=0.1), sampler=sampler)
        exact.per_example(model, loss_reduction="sum")
        steps, moments = [0], random.Random(5)

        def cell(count=10 ** 6):
            for x, y in itertools.islice(exact.data_loader(self.data, sampler), count):
                optimizer.zero_grad()
                functional.cross_entropy(model(x), y, reduction="sum").backward()
                optimizer.step()
                steps[0] += 1
        cell(3)
        before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        for _ in range(60):
            # Python swallows one that comes within a finalizer: the next one comes then.
            with self.assertRaises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.001, 0.02), 1.0)
                cell()
            signal.setitimer(signal.ITIMER_REAL, 0)
            torch.set_grad_enabled(True)  # an interrupt may have come within no_grad()
        done = steps[0]
        cell(3)
        self.assertEqual(steps[0], done + 3)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_another_optimizer_of_the_same_parameters_is_found_at_the_step(self):
        for take in ("per_example", "gradients"):
            model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=2)
            optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler)
            plain = torch.optim.Adam(model.parameters())
            if take == "per_example":
                exact.per_example(model, loss_reduction="sum")
            with self.subTest(take), self.assertRaisesRegex(
                    ValueError, "0.* was written between its backward pass and this step"):
                for x, y in exact.data_loader(self.data, sampler):
                    functional.cross_entropy(model(x), y, reduction="sum").backward()
                    if take == "gradients":
                        exact.gradients(model, functional.cross_entropy, x, y)
                    plain.step()
                    optimizer.step()

    def test_a_group_cannot_be_added_and_an_optimizer_does_not_step_alone(self):
        model = self.model()
        inner = torch.optim.SGD(model.parameters(), lr=1.0)
        optimizer = self.made(inner)
        with self.assertRaisesRegex(
                ValueError, "add_param_group: the sum and its noise are over the parameters"):
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})
        before = model[0].weight.detach().clone()
        model(self.x).sum().backward()
        with self.assertRaisesRegex(dpledger.Error,
                                    "optimizer: SGD is stepped by its private optimizer alone"):
            inner.step()
        self.assertTrue(torch.equal(before, model[0].weight))
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=1)
        inner = torch.optim.SGD(model.parameters(), lr=1.0)
        exact.per_example(model, loss_reduction="sum")
        self.run_steps(model, self.made(inner, sampler=sampler), sampler)
        with self.assertRaisesRegex(dpledger.Error,
                                    "optimizer: SGD is stepped by its private optimizer alone"):
            inner.step()

    def test_gradients_past_the_layers_are_refused(self):
        losses = dict(
            penalty=lambda loss, x, model: loss + sum(p.pow(2).sum() for p in model.parameters()),
            tied=lambda loss, x, model: loss + functional.linear(x, model[0].weight).pow(2).sum(),
            control=lambda loss, x, model: loss)
        for name, loss in losses.items():
            model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.5, steps=4)
            optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler)
            exact.per_example(model, loss_reduction="sum")
            with self.subTest(name):
                if name == "control":
                    self.run_steps(model, optimizer, sampler)
                    continue
                with self.assertRaisesRegex(
                        ValueError, "parameter 0.weight has rows that do not add up to its grad"):
                    self.run_steps(model, optimizer, sampler, lambda out, x: loss(out, x, model))
                self.assertEqual(self.moved, set())

    def test_rows_of_one_parameter_are_as_long_as_those_of_the_others(self):
        """Each parameter's rows alone are right for a sum or for a mean, and both in one model are
        not."""
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.5, steps=1)
        optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler)
        exact.per_example(model, loss_reduction="sum")
        for x, y in exact.data_loader(self.data, sampler):
            functional.cross_entropy(model(x), y, reduction="sum").backward()
            model[0].weight.grad_sample = model[0].weight.grad_sample * len(x)
            with self.assertRaisesRegex(
                    ValueError, "parameter 0.bias has rows that do not add up to its gradient"):
                optimizer.step()

    def test_gradients_past_the_layers_are_looked_for_at_more_than_the_first_pass(self):
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.5, steps=2)
        optimizer, steps = self.made(
            torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler), []
        exact.per_example(model, loss_reduction="sum")

        def penalty(loss, x):
            steps.append(x)
            return loss + (len(steps) - 1) * model[0].weight.pow(2).sum()
        with self.assertRaisesRegex(
                ValueError, "parameter 0.weight has rows that do not add up to its gradient"):
            self.run_steps(model, optimizer, sampler, penalty)
        self.assertEqual(len(steps), 2)

    def test_a_model_that_writes_is_refused_before_it_moves(self):
        model, sampler = Writes("in place"), exact.PoissonBatchSampler(250, 0.1, steps=4)
        optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler)
        exact.per_example(model, loss_reduction="sum")
        with self.assertRaisesRegex(ValueError, "writes mean of Writes"):
            self.run_steps(model, optimizer, sampler)
        self.assertEqual(self.moved, set())
        # By a part that is called alone, at the step; and without per_example.
        model, sampler = Writes(), exact.PoissonBatchSampler(250, 0.1, steps=4)
        optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler,
                              model=model)
        for x, y in exact.data_loader(self.data, sampler):
            model.encode(x)
            model.body.weight.grad_sample = torch.ones(len(x), 2, 4)
            with self.assertRaisesRegex(ValueError, "writes mean of Writes"):
                optimizer.step()
            break
        with self.assertRaisesRegex(ValueError, "public_state: needs model"):
            self.made(torch.optim.SGD(model.parameters(), lr=1.0), public_state=["mean"])

    def test_a_parameter_that_the_loss_does_not_depend_on_has_rows_of_zeros(self):
        class Half(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)

            def forward(self, x):
                return self.a(x)
        model = Half()
        sampler = exact.FullBatchSampler(200, steps=1)
        optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=sampler,
                              noise=1e-3)
        exact.per_example(model, loss_reduction="sum")
        before = {name: value.clone() for name, value in model.state_dict().items()}
        for x, y in exact.data_loader(self.data, sampler):
            functional.cross_entropy(model(x), y, reduction="sum").backward()
            optimizer.step()
        self.assertLess((model.b.weight - before["b.weight"]).abs().max(), 1e-4)
        self.assertGreater((model.a.weight - before["a.weight"]).abs().max(), 1e-2)

    # ---- Stated schemes ----

    def test_a_stated_sample_has_no_more_rows_than_records(self):
        for scheme, rows, most in ((dpledger.FullBatch(64), 320, 64),
                                   (dpledger.Poisson(0.01, 50), 51, 50),
                                   (dpledger.WithoutReplacement(8, 200), 9, 8)):
            model = self.model()
            optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=None,
                                  scheme=scheme, expected_batch_size=10)
            exact.per_example(model, loss_reduction="sum")
            x, y = self.x[:1].repeat(rows, 1), self.y[:1].repeat(rows)
            functional.cross_entropy(model(x), y, reduction="sum").backward()
            with self.assertRaisesRegex(
                    ValueError, "grad_sample: has more rows than the %d records that a sample of "
                    % most):
                optimizer.step()

    def test_stated_samples_are_one_optimizer_s_at_a_time(self):
        first, second = (self.model() for _ in range(2))
        optimizers = [self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=None,
                                scheme=dpledger.Poisson(0.1, 200)) for model in (first, second)]

        def step(index):
            model = (first, second)[index]
            exact.per_example(model, loss_reduction="sum")
            functional.cross_entropy(model(self.x[:8]), self.y[:8], reduction="sum").backward()
            optimizers[index].step()
        for index in (0, 0, 1, 1):  # the second takes over
            step(index)
        kept = [value.clone() for value in first.state_dict().values()]
        with self.assertRaisesRegex(dpledger.Error,
                                    "scheme: another PrivateOptimizer.*made later") as seen:
            step(0)
        self.assertEqual((seen.exception.code, seen.exception.reason),
                         ("FAILED_PRECONDITION", "SAMPLE_USED"))
        self.assertTrue(all(map(torch.equal, kept, first.state_dict().values())))
        step(1)

    def test_stated_samples_are_not_beside_a_sampler_s(self):
        """Two steps on each sample, recorded as two samples: 6.70 was answered where 10.30 is
        true."""
        for stated_first in (False, True):
            sampler = exact.PoissonBatchSampler(200, 0.1, steps=4)
            models = [self.model() for _ in range(2)]
            kinds = [dict(sampler=sampler),
                     dict(sampler=None, scheme=dpledger.Poisson(0.1, 200), expected_batch_size=20)]
            if stated_first:
                kinds.reverse()
            optimizers = [self.made(torch.optim.SGD(model.parameters(), lr=1.0), **kind)
                          for model, kind in zip(models, kinds)]
            with self.assertRaisesRegex(dpledger.Error, "one of both has a stated scheme") as seen:
                for batch in sampler:
                    for model, optimizer in zip(models, optimizers):
                        exact.per_example(model, loss_reduction="sum")
                        functional.cross_entropy(model(self.x[batch]), self.y[batch],
                                                 reduction="sum").backward()
                        optimizer.step()
            self.assertEqual(seen.exception.reason, "SAMPLE_USED")

    def test_a_sample_of_fixed_size_has_all_its_rows(self):
        for scheme, rows in ((dpledger.WithReplacement(8, 200), 5),
                             (dpledger.WithoutReplacement(8, 200), 7)):
            model = self.model()
            optimizer = self.made(torch.optim.SGD(model.parameters(), lr=1.0), sampler=None,
                                  scheme=scheme, expected_batch_size=10)
            exact.per_example(model, loss_reduction="sum")
            functional.cross_entropy(model(self.x[:rows]), self.y[:rows],
                                     reduction="sum").backward()
            with self.assertRaisesRegex(ValueError, "grad_sample: has fewer rows than the"):
                optimizer.step()

    def test_samplers_and_schemes_are_told_apart(self):
        inner = torch.optim.SGD(self.model().parameters(), lr=1.0)
        for words, kind, options in (
                ("sampler: give a batch sampler.* got neither", ValueError, dict(sampler=None)),
                ("sampler: give a batch sampler.* got both", ValueError,
                 dict(scheme=dpledger.Poisson(0.1, 200))),
                ("scheme: is a sampler; give it as sampler=", TypeError,
                 dict(sampler=None, scheme=dpledger.Sampler(dpledger.Poisson(0.1, 200)))),
                ("sampler: must be a batch sampler of dpledger.torch or a dpledger.Sampler, "
                 "got Poisson",
                 TypeError, dict(sampler=dpledger.Poisson(0.1, 200))),
                (r"scheme: states one epoch.*ShuffledBatchSampler\(population, 12\)", ValueError,
                 dict(sampler=None, scheme=dpledger.DisjointBatches(12, 0, 200))),
                (r"scheme: states one epoch.*AllocatedBatchSampler\(population, 12\)", ValueError,
                 dict(sampler=None, scheme=dpledger.RandomAllocation(12, 1, False)))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                self.made(inner, **options)

    # ---- A torch optimizer ----

    def test_clip_norms_are_numbers_of_any_kind(self):
        for norm in (1, numpy.float32(1.0), numpy.array(1.0), torch.tensor(1.0), [1.0] * 4,
                     numpy.ones(4), torch.ones(4)):
            self.made(torch.optim.SGD(self.model().parameters(), lr=1.0), max_grad_norm=norm)
        for words, norm in (("max_grad_norm: must be a number, got '1'", "1"),
                            (r"max_grad_norm\[1\]: must be a number, got None",
                             [1.0, None, 1.0, 1.0])):
            with self.assertRaisesRegex(TypeError, words):
                self.made(torch.optim.SGD(self.model().parameters(), lr=1.0), max_grad_norm=norm)

    def test_schedulers_and_closures_work(self):
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=4)
        inner = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)
        before = torch.optim.lr_scheduler.StepLR(inner, 1, gamma=0.1)
        optimizer = self.made(inner, sampler=sampler)
        self.assertIsInstance(optimizer, torch.optim.Optimizer)
        schedulers = [before, torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1),
                      torch.optim.lr_scheduler.StepLR(inner, 1, gamma=0.1)]
        torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=9)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
        exact.per_example(model, loss_reduction="sum")
        rates = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for x, y in exact.data_loader(self.data, sampler):
                def closure():
                    optimizer.zero_grad()
                    self.loss = functional.cross_entropy(model(x), y, reduction="sum")
                    self.loss.backward()
                    return self.loss
                self.assertIs(optimizer.step(closure), self.loss)
                for scheduler in schedulers:
                    scheduler.step()
                rates.append(inner.param_groups[0]["lr"])
        self.assertAlmostEqual(rates[0] / rates[3], 1e9, delta=1e3)
        plateau.step(1.0)
        plateau.step(2.0)
        self.assertAlmostEqual(optimizer.param_groups[0]["lr"], rates[3] / 2)
        with self.assertRaisesRegex(TypeError, "closure: must be a function, got int"):
            optimizer.step(3)

    def test_its_state_is_the_optimizer_s(self):
        model, sampler = self.model(), exact.PoissonBatchSampler(250, 0.1, steps=4)
        inner = torch.optim.Adam(model.parameters(), lr=0.1)
        optimizer = self.made(inner, sampler=sampler)
        exact.per_example(model, loss_reduction="sum")
        self.run_steps(model, optimizer, sampler)
        self.assertEqual(optimizer.state_dict()["state"][0]["step"], 4)
        other = self.model()
        again = self.made(torch.optim.Adam(other.parameters(), lr=0.5))
        again.load_state_dict(optimizer.state_dict())
        self.assertEqual(again.param_groups[0]["lr"], 0.1)
        self.assertTrue(torch.equal(again.state[other[0].weight]["exp_avg"],
                                    inner.state[model[0].weight]["exp_avg"]))
        self.assertEqual(again.defaults["lr"], 0.5)
        for copied in (copy.deepcopy, copy.copy):
            with self.assertRaisesRegex(TypeError, "PrivateOptimizer: holds a ledger"):
                copied(optimizer)
        self.assertRegex(
            repr(optimizer),
            r"(?s)^PrivateOptimizer\(sampler=PoissonBatchSampler\(Poisson\(.*noise_multiplier="
            r"1000.0, max_grad_norm=1.0, expected_batch_size=25.0\) of\nAdam \(")

    def test_a_copied_model_is_not_the_original(self):
        model = self.model()
        exact.per_example(model, loss_reduction="sum")
        other = copy.deepcopy(model)
        functional.cross_entropy(other(self.x), self.y, reduction="sum").backward()
        self.assertIsNone(getattr(model[0].weight, "grad_sample", None))
        torch.save(model, io.BytesIO())

    def test_copies_with_hooks_are_watched_from_their_first_pass_on(self):
        model, file = Writes(), io.BytesIO()
        exact.per_example(model, loss_reduction="sum")
        torch.save(model, file)
        x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
        for how in (copy.deepcopy, lambda _: (file.seek(0), torch.load(file))[1]):
            other = how(model)
            other.what = "in place"
            with self.assertRaisesRegex(ValueError, "a forward pass writes mean"):
                other(x)
            self.assertTrue(torch.equal(other.mean, torch.zeros(4)))
            other = how(model)
            with self.assertRaisesRegex(ValueError, "loss_reduction"):
                functional.cross_entropy(other(x), y).backward()  # a mean

    def test_graphs_of_any_depth_are_followed_to_their_parameters(self):
        parameter = torch.nn.Parameter(torch.ones(2))
        deep = parameter
        for _ in range(3 * losses.MOST_NODES):
            deep = deep * 1.0
        self.assertEqual([id(leaf) for leaf in guards._leaves([deep])], [id(parameter)])

    def several(self, max_grad_norm=1.0, noise=1000.0, steps=4):
        model = torch.nn.Sequential(torch.nn.Embedding(9, 4), torch.nn.Flatten(),
                                    torch.nn.Linear(12, 2))
        sampler = exact.PoissonBatchSampler(250, 0.2, steps=steps)
        inner = [torch.optim.SGD(model[0].parameters(), lr=0.1, momentum=0.5),
                 torch.optim.Adam(model[2].parameters())]
        optimizer = self.made(inner, sampler=sampler, max_grad_norm=max_grad_norm, noise=noise)
        exact.per_example(model, loss_reduction="sum")
        data = torch.utils.data.TensorDataset(torch.randint(0, 9, (200, 3)), self.y)
        for x, y in exact.data_loader(data, sampler):
            functional.cross_entropy(model(x), y, reduction="sum").backward()
            optimizer.step()
        return model, optimizer

    def test_several_optimizers_on_one_sample_are_one_round(self):
        with self.recorder("several", path=str(self.folder / "several")) as ledger:
            self.ledger = ledger
            model, optimizer = self.several(noise=1.0, steps=5)
            told = ledger.epsilon(delta=1e-5).epsilon
        truth = dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.2, steps=5, delta=1e-5)
        self.assertAlmostEqual(told.upper, truth.upper, places=4)  # not that of 10 rounds
        self.assertEqual(len(optimizer.optimizers[0].state), 1)
        self.assertEqual(len(optimizer.state), 3)

    def test_several_optimizers_may_have_a_clip_norm_each(self):
        for norms, groups in (([1.0, 0.5], ["optimizer 0", "optimizer 1"]),
                              ([1.0, 0.5, 2.0], ["parameter 0", "parameter 1", "parameter 2"]),
                              (1.0, ["all"])):
            _, optimizer = self.several(norms)
            self.assertEqual([query.group for query in optimizer.sums.queries()], groups)
        with self.assertRaisesRegex(
                ValueError,
                "max_grad_norm: must be one number, or one for each of 3 parameters, or of 2 "
                "optimizers, got 4"):
            self.several([1.0] * 4)

    def test_the_state_of_several_is_saved_and_loaded(self):
        model, optimizer = self.several()
        kept = optimizer.state_dict()
        self.assertEqual([group["lr"] for group in kept["param_groups"]], [0.1, 1e-3])
        other, again = self.several(steps=1)
        again.load_state_dict(kept)
        self.assertTrue(torch.equal(again.state[other[2].bias]["exp_avg"],
                                    optimizer.state[model[2].bias]["exp_avg"]))
        self.assertTrue(torch.equal(again.state[other[0].weight]["momentum_buffer"],
                                    optimizer.state[model[0].weight]["momentum_buffer"]))
        with self.assertRaisesRegex(ValueError, "state_dict: must have 2 param_groups, got 1"):
            again.load_state_dict(dict(kept, param_groups=kept["param_groups"][:1]))
        torch.optim.lr_scheduler.StepLR(again, 1, gamma=0.1)

    def test_wrong_optimizers_are_named(self):
        parameter = torch.nn.Parameter(torch.zeros(2))
        one = torch.optim.SGD([parameter], lr=1.0)
        for words, kind, inner in (
                ("optimizer: must be a torch.optim.Optimizer or a list of some, got list",
                 TypeError, []),
                (r"optimizer\[1\]: must be a torch.optim.Optimizer, got int", TypeError, [one, 3]),
                ("optimizer: has a parameter twice", ValueError,
                 [one, torch.optim.Adam([parameter])]),
                ("optimizer: must step on one dense gradient, LBFGS does not", ValueError,
                 torch.optim.LBFGS([parameter])),
                ("optimizer: must step on one dense gradient, PrivateOptimizer does not",
                 ValueError, self.made(one)),
                ("optimizer: must have parameters that require a gradient, SGD has none",
                 ValueError, torch.optim.SGD([torch.zeros(2)], lr=1.0))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                self.made(inner)


if __name__ == "__main__":
    unittest.main()
