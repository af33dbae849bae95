"""What a loss's graph shows of it: that it is reduced otherwise than was said, or takes records
together, however that is written."""
import functools
import unittest

import support  # noqa: F401  where the package is

try:
    import torch
    from torch.utils import _python_dispatch as dispatch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402
from dpledger.torch import guards, losses  # noqa: E402

functional = torch.nn.functional


class Reductions(unittest.TestCase):
    def test_losses_say_how_they_are_reduced(self):
        out, y = torch.randn(5, 3, requires_grad=True), torch.tensor([0, 1, 2, 1, 0])
        for expected, loss in (
                ("mean", functional.cross_entropy(out, y)),
                ("sum", functional.cross_entropy(out, y, reduction="sum")),
                ("mean", functional.cross_entropy(out, y, reduction="none").mean()),
                ("sum", functional.mse_loss(out, out.detach() + 1, reduction="sum")),
                ("mean",
                 functional.binary_cross_entropy_with_logits(out[:, 0],
                                                             out[:, 1].detach().sigmoid())),
                ("sum", out.pow(2).mean(1).sum()), ("mean", out.pow(2).mean(-1).mean(0)),
                ("mean", out.pow(2).sum(1).mean(-1)), ("sum", out.pow(2).sum(0).sum()),
                ("mean", functional.cross_entropy(out, y)
                 + functional.l1_loss(out, out.detach() + 1)),
                ("mean", functional.cross_entropy(out, y).sum()),
                ("mean", out.pow(2).mean(0).sum()), ("sum", out.pow(2).sum(0).mean()),
                (None, sum(functional.cross_entropy(o[None], c[None]) for o, c in zip(out, y))),
                (None, functional.cross_entropy(out, y) * 5),
                (None, functional.cross_entropy(out, y, reduction="sum") / 5),
                (None, functional.cross_entropy(out, y)
                 + functional.cross_entropy(out, y, reduction="sum") / 5),
                (None, functional.cross_entropy(out, y) + out.pow(2).sum()), (None, out[0, 0])):
            with self.subTest(expected, node=loss.grad_fn.name()):
                self.assertEqual(losses.reduction_of(loss), expected)

    def test_a_loss_that_is_reduced_otherwise_than_said_is_refused_in_its_backward_pass(self):
        x, y = torch.randn(5, 4), torch.tensor([0, 1, 1, 1, 0])
        for said, other in (("mean", "sum"), ("sum", "mean")):
            model = torch.nn.Linear(4, 2)
            exact.per_example(model, loss_reduction=said)
            with self.assertRaisesRegex(
                    ValueError, 'loss_reduction: is "%s", but the loss is a %s over examples.*'
                    r'say loss_reduction="%s" to per_example' % (said, other, other)):
                functional.cross_entropy(model(x), y, reduction=other).backward()
            exact.per_example(model, loss_reduction=other)
            model.zero_grad()
            for parameter in model.parameters():
                parameter.grad_sample = None
            functional.cross_entropy(model(x), y, reduction=other).backward()

    def test_a_mean_over_what_counts_in_the_batch_is_refused(self):
        # 46 C, of one text of 400 tokens beside a hundred of one.
        def cross_entropy(out, y):
            return functional.cross_entropy(out.transpose(1, 2), y, reduction="none")
        forms = {
            "by a mask": (
                lambda out, y, mask: (cross_entropy(out, y) * mask).sum() / mask.sum(), 1),
            "of those chosen": (lambda out, y, mask: cross_entropy(out, y)[mask].mean(), 1),
            "of scores chosen": (
                lambda out, y, mask: functional.cross_entropy(out[mask], y[mask]), 1),
            "of each record": (lambda out, y, mask: (
                (cross_entropy(out, y) * mask).sum(1) / mask.sum(1)).mean(), 0),
            "by a constant": (lambda out, y, mask: (cross_entropy(out, y) * mask).sum() / 14, 0),
            "one of each record": (lambda out, y, mask: cross_entropy(out, y)[:, 0].mean(), 0),
            "all": (lambda out, y, mask: cross_entropy(out, y).mean(), 0),
        }
        for name, (loss, refused) in forms.items():
            with self.subTest(name):
                torch.manual_seed(3)
                model = torch.nn.Linear(3, 5)
                self.addCleanup(exact.per_example(model, loss_reduction="mean"))
                words = []
                for lengths in ([1, 2, 6, 5], [4, 1, 1, 2], [3, 3, 1, 1], [1, 1, 5, 2]):
                    mask = torch.arange(6)[None] < torch.tensor(lengths)[:, None]
                    guards.check_state()
                    model.zero_grad()
                    for parameter in model.parameters():
                        parameter.grad_sample = None
                    labels = torch.randint(5, (4, 6))
                    try:
                        loss(model(torch.randn(4, 6, 3)), labels, mask).backward()
                    except ValueError as error:
                        words.append(str(error))
                self.assertEqual(bool(words), bool(refused), words)
                for each in words:
                    self.assertIn("that are not ignored (ignore_index, a mask)", each)

    def test_a_reduction_is_no_matter_once_no_gradients_rely_on_it(self):
        model = torch.nn.Linear(4, 2)
        self.addCleanup(guards.watch(model))  # as an optimizer does
        exact.per_example(model, loss_reduction="mean")()
        functional.cross_entropy(model(torch.randn(5, 4)), torch.tensor([0, 1, 1, 1, 0]),
                                 reduction="sum").backward()


class Together(unittest.TestCase):
    """Losses of several records at once, however they are written, and of each by itself."""

    def setUp(self):
        torch.manual_seed(1)
        self.x = torch.randn(6, 4)

    def backward(self, loss):
        model = torch.nn.Linear(4, 3)
        self.addCleanup(guards.watch(model, loss_reduction="sum"))
        loss(model(self.x)).backward()

    def test_records_that_are_taken_together_are_found(self):
        labels, weights = torch.arange(6) % 3, torch.randn(3, 3)
        to_others = functional.cross_entropy
        own = torch.arange(6)
        for name, loss in (
                ("broadcast", lambda z: to_others(
                    functional.cosine_similarity(z[:, None], z[None], dim=2), own)),
                ("einsum", lambda z: to_others(torch.einsum("ij,kj->ik", z, z.tanh()), own)),
                ("hardest", lambda z: torch.cdist(z, z).amax(1).sum()),
                ("distances", lambda z: (z[:, None] - z[None]).square().sum(2).exp().sum()),
                ("ranks", lambda z: functional.softplus(z[:, 0][:, None] - z[:, 0][None]).sum()),
                ("bilinear", lambda z: to_others(z @ weights @ z.T, own)),
                ("views", lambda z: (lambda both: to_others(
                    both @ both.T, torch.arange(12)))(torch.cat([z, z.tanh()]))),
                ("stacked", lambda z: (lambda both: to_others(
                    both @ both.T, torch.arange(12)))(torch.stack([z, z.tanh()], 1).view(12, 3))),
                ("masked", lambda z: to_others(
                    (z @ z.T).masked_fill(torch.eye(6, dtype=torch.bool), -9.0), own.roll(1))),
                ("in turn", lambda z: functional.triplet_margin_loss(z, z.tanh(), z.roll(1, 0))),
                ("batch normalisation", lambda z: to_others(
                    functional.batch_norm(z, None, None, training=True), labels)),
                ("the hardest, by a mask", lambda z: (lambda one: one[one > one.mean()].sum())(
                    functional.cross_entropy(z, labels, reduction="none"))),
                ("weights without a graph", lambda z: (lambda one: (
                    one * (one.detach() / one.detach().sum())).sum())(
                        functional.cross_entropy(z, labels, reduction="none"))),
                ("centres of classes", lambda z: (z - (torch.zeros(3, 3).index_add(
                    0, labels, z) / 2)[labels]).square().sum()),
                ("halves", lambda z: (z[:3] * z[3:]).sum()),
                ("parts", lambda z: (lambda one, two: (one - two).abs().sum())(*z.chunk(2))),
                ("neighbours", lambda z: (z[1:] - z[:-1]).abs().sum()),
                ("one by one", lambda z: sum((one * two).sum() for one, two in zip(z, z[1:]))),
                ("written", self.written)):
            with self.subTest(name), self.assertRaisesRegex(ValueError, "records, and one of them"):
                self.backward(loss)

    @staticmethod
    def written(z):
        found = torch.zeros_like(z)
        found[:] = z
        found[1:] *= z[:-1]
        return found.sum()

    def test_labels_that_say_where_records_begin_are_no_weights(self):
        # Of texts one behind the other: with other lengths a label is another record's.
        texts, lengths = torch.arange(9) % 2 + 1, torch.tensor([1, 2, 1, 2, 1, 2])
        self.backward(lambda z: functional.ctc_loss(
            z[:, None].expand(6, 4, 3).log_softmax(2).transpose(0, 1), texts,
            torch.full((6,), 4), lengths, reduction="sum"))

    def test_constants_as_long_as_a_batch_are_no_labels(self):
        counts = torch.tensor([1, 2, 2, 5, 1, 2])
        weights = torch.tensor([1.0, 9.0, 2.0, 3.0, 1.0, 4.0])
        labels = torch.tensor([0, 1, 1, 5, 3, 3])
        losses_of = (
            lambda z: (functional.cross_entropy(z, labels, reduction="none")
                       * weights[labels]).sum() / counts.sum(),
            lambda z: functional.cross_entropy(z, labels, reduction="sum") * (counts > 1).sum(),
            lambda z: ((z - weights) ** 2).sum() / weights.sum())
        for number, loss in enumerate(losses_of):
            for step in range(3):
                with self.subTest(number, step=step):
                    model = torch.nn.Linear(4, 6)
                    self.addCleanup(guards.watch(model, loss_reduction="sum"))
                    loss(model(self.x)).backward()
                    weights *= 1.1  # as a schedule does

    def test_what_no_memory_is_known_of_and_what_keeps_no_versions_is_let_be(self):
        model = torch.nn.Linear(4, 3)
        self.addCleanup(guards.watch(model))
        found = model(self.x)
        torch.eye(3).to_sparse().coalesce()
        with torch.inference_mode():
            torch.randn(8).mul_(2.0)
        found.square().sum().backward()

    def test_what_begins_later_is_seen_at_its_first_step(self):
        for every in (2, 3, 5, 8):
            steps, model = 0, torch.nn.Linear(4, 3)
            end = guards.watch(model, loss_reduction="sum")
            with self.assertRaisesRegex(ValueError, "records, and one of them"):
                for steps in range(1, 20):
                    found = model(self.x).square()
                    (found.norm() if steps % every == 0 else found.sum()).backward()
                    guards.check_state()
            self.assertEqual(steps, every)
            end()

    def test_a_loop_s_tensors_and_bits_are_left_as_they_are(self):
        model, kept = torch.nn.Linear(4, 3), torch.zeros(6, 3)
        self.addCleanup(guards.watch(model))
        torch.manual_seed(3)
        found = model(self.x)
        loss = (functional.dropout(found, 0.5) * torch.rand(6, 3)).sum()
        kept.add_(found.detach())
        expected, bits = kept.clone(), torch.get_rng_state()
        loss.backward()
        self.assertTrue(torch.equal(kept, expected))
        self.assertTrue(torch.equal(torch.get_rng_state(), bits))
        guards.check_state()
        self.assertEqual(torch._C._len_torch_dispatch_stack(), 0)
        self.assertIsNone(guards._WATCHES[model]._tape)

    def test_another_mode_around_a_pass_ends_as_it_began(self):
        class Mode(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, operation, types, arguments=(), named=None):
                seen.append(operation)
                return operation(*arguments, **named or {})
        seen, model = [], torch.nn.Linear(4, 3)
        self.addCleanup(guards.watch(model))
        with Mode():
            found = model(self.x)
        self.assertTrue(seen)
        del seen[:]
        loss = found.square().sum()
        with Mode():
            loss = loss * 1
        self.assertEqual(len(seen), 1)
        loss.backward()
        self.assertEqual(len(seen), 1)

    def test_losses_of_each_record_pass(self):
        labels, weights = torch.arange(6) % 3, torch.randn(3, 3)
        cross = functools.partial(functional.cross_entropy, reduction="sum")
        prototypes = torch.randn(5, 3)
        for loss in (
                lambda z: cross(z @ weights, labels),
                lambda z: cross(torch.cat([z, z.tanh()], 1), labels),
                lambda z: cross(torch.cat([z, z.tanh()]), torch.cat([labels, labels])),
                lambda z: (z[:, None] - prototypes[None]).square().sum(2).min(1).values.sum(),
                lambda z: torch.bmm(z[:, None], z[:, :, None]).exp().sum(),
                lambda z: torch.einsum("ij,ij->i", z, z.tanh()).exp().sum(),
                lambda z: torch.einsum("ij,kj->ik", z, weights).exp().sum(),
                lambda z: torch.cdist(z, prototypes).amin(1).sum(),
                lambda z: (z[:, None] - z[:, None].tanh()).square().sum(),
                lambda z: z.roll(1, 1).square().sum(),
                lambda z: cross(z.masked_fill(z > 9, 0.0), labels),
                lambda z: -z.masked_fill(z > 9, 0.0).log_softmax(-1)[:, 0].sum(),
                lambda z: torch.stack([z.square().sum(), z.exp().sum()]).sum(),
                lambda z: z.view(6, 3, 1).softmax(-2).square().sum(),
                lambda z: cross(functional.layer_norm(z, (3,)), labels)):
            self.backward(loss)


if __name__ == "__main__":
    unittest.main()
