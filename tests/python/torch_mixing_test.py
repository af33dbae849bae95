"""Models and losses that mix the records of a batch are refused at the first step, and others are
not. What mixes is told by the definition: other records are put beside one, and what it gives, or
its gradient, is compared."""
import collections
import threading
import unittest

import support
import dpledger

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402
from dpledger.torch import functional, guards, losses, tape, trial  # noqa: E402

F, nn = torch.nn.functional, torch.nn
SOME = torch.tensor([0, 2, 1])
# Of scores o [B, 3], positive, and labels y [B].
LOSSES = {
    "cross entropy": lambda o, y: F.cross_entropy(o, y, reduction="sum"),
    "its mean": lambda o, y: F.cross_entropy(o, y),
    "square error": lambda o, y: F.mse_loss(o[:, 0], y.float()),
    "one class": lambda o, y: F.binary_cross_entropy_with_logits(o[:, 0], y.float()),
    "logarithms": lambda o, y: F.nll_loss(o.log_softmax(-1), y, reduction="sum"),
    "entropy": lambda o, y: -(o.softmax(1) * o.log_softmax(1)).sum(),
    "rows' norms": lambda o, y: o.norm(dim=1).mean(),
    "roots of rows": lambda o, y: (o - 1).pow(2).mean(1).sqrt().sum(),
    "in two stages": lambda o, y: o.pow(2).sum(0).sum(),
    "a mean of the classes' means": lambda o, y: o.exp().mean(0).mean(),
    "two terms": lambda o, y: F.cross_entropy(o, y, reduction="sum") + 0.1 * o.pow(2).sum(),
    "one by one": lambda o, y: sum(o[i].pow(2).sum().sqrt() for i in range(len(o))),
    "hinge": lambda o, y: F.relu(1.5 - o.gather(1, y[:, None])).sum(),
    "focal": lambda o, y: ((1 - o.softmax(1).gather(1, y[:, None])) ** 2
                           * -o.log_softmax(1).gather(1, y[:, None])).sum(),
    "scaled": lambda o, y: F.cross_entropy(o, y) * torch.tensor(8.0) / 4,
    "of unit rows": lambda o, y: ((F.normalize(o) - F.one_hot(y, 3)) ** 2).sum(),
    "divergence": lambda o, y: F.kl_div(o.log_softmax(1), o.detach().softmax(1) * 0 + 0.3,
                                        reduction="batchmean"),
    "moved": lambda o, y: o.t().pow(2).sum(1).sum(),
    "each with itself": lambda o, y: (o[:, None] @ o[:, :, None]).sum(),
    "cosine": lambda o, y: (1 - F.cosine_similarity(o, F.one_hot(y, 3).float())).sum(),
    "the worst class": lambda o, y: o.max(1).values.sum(),
    "each with itself alone": lambda o, y: torch.diagonal(o @ (o + 1).T).sum(),
    "distances within": lambda o, y: torch.cdist(o[:, :, None], o[:, :, None] * 2).sum(),
    "from constants": lambda o, y: ((torch.ones(4, 1, 3) - o) ** 2).sum(-1).min(0).values.sum(),
    "means of classes": lambda o, y: (o ** 2).mean(0).sum(),
    "a constant matrix": lambda o, y: (o.pow(2).sum(0, keepdim=True) @ torch.ones(3, 2)).sum(),
    "the two worst classes": lambda o, y: o.topk(2, 1).values.sum(),
    "a class by its number": lambda o, y: (o.logsumexp(1) - o.gather(1, y[:, None])[:, 0]).sum(),
    "some records": lambda o, y: F.cross_entropy(o.index_select(0, SOME), SOME),
    "some records, themselves": lambda o, y: (lambda some: (some * some.exp()).sum())(
        o.index_select(0, SOME)),
    "the other way round": lambda o, y: F.cross_entropy(o.flip(1), y),

    "root of the mean": lambda o, y: F.mse_loss(o[:, 0], y.float()).sqrt(),
    "contrast": lambda o, y: F.cross_entropy(F.normalize(o) @ F.normalize(o).T,
                                             torch.arange(len(o))),
    "distances of pairs": lambda o, y: torch.pdist(o).sum(),
    "variance": lambda o, y: ((o - o.mean(0)) ** 2).sum(),
    "deviation": lambda o, y: o.std(0).sum(),
    "norm of all": lambda o, y: o.norm(),
    "flooding": lambda o, y: (F.cross_entropy(o, y) - 1).abs(),
    "softmax over the batch": lambda o, y: (o.softmax(0) * y[:, None]).sum(),
    "logsumexp over the batch": lambda o, y: o.logsumexp(0).sum(),
    "the largest": lambda o, y: o.max(),
    "the hardest half": lambda o, y: F.cross_entropy(o, y, reduction="none").topk(3).values.sum(),
    "the first three of all": lambda o, y: o.norm(dim=1).sort().values[:3].sum(),
    "the median": lambda o, y: o.norm(dim=1).median(),
    "perplexity": lambda o, y: F.cross_entropy(o, y).exp(),
    "product": lambda o, y: F.cross_entropy(o, y) * o.sum(),
    "ratio": lambda o, y: F.cross_entropy(o, y) / (1 + o.pow(2).sum()),
    "dice": lambda o, y: 1 - 2 * (o.softmax(1)[:, 1] * y).sum() / (o.softmax(1)[:, 1].sum() + 4),
    "another record": lambda o, y: (o - o.flip(0)).square().sum(),
    "another record, by number": lambda o, y: F.mse_loss(o.exp().index_select(0, 5 - torch.arange(
        6)), o),
    "another record, by numbers": lambda o, y: F.triplet_margin_loss(o, o * 2, o.gather(
        0, y[:, None].expand(6, 3)), margin=9.0),
    "products with another record": lambda o, y: F.cosine_similarity(o, o.flip(0)).sum(),
    "norms from the mean": lambda o, y: (o - o.mean(0)).norm(dim=1).sum(),
}


def moves(loss):
    """Whether a record's gradient is another one beside other records: the definition."""
    def gradient(beside):
        o = torch.cat([one, beside]).requires_grad_()
        return torch.autograd.grad(loss(o, torch.tensor([1, 0, 2, 1, 0, 2])), o)[0][0]
    one = torch.tensor([[0.5, 1.0, 0.25]])
    first = gradient(torch.rand(5, 3))
    return any(not torch.allclose(first, gradient(torch.rand(5, 3) * scale), rtol=1e-5, atol=1e-7)
               for scale in [0.2, 0.5, 1.0, 2.0, 5.0] * 8)


class Losses(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)

    def test_losses_that_take_records_together_are_told_from_others(self):
        truths = set()
        for name, loss in LOSSES.items():
            with self.subTest(name):
                truth = moves(loss)
                self.assertEqual(self.refused(loss) is not None, truth)
                truths.add(truth)
        self.assertEqual(truths, {False, True})

    def refused(self, loss, rows=6):
        """How a loss of a linear layer's outputs and labels is refused, if it is."""
        model, labels = nn.Linear(4, 3), torch.tensor([1, 0, 2, 1, 0, 2])[:rows]
        self.addCleanup(guards.watch(model))
        try:
            loss(model(torch.rand(rows, 4)).exp(), labels).backward()
        except dpledger.InvalidArgument as refused:
            return str(refused)
        return None

    def test_what_is_no_output_of_the_model_s_is_let_pass(self):
        weight = torch.rand(4, 3, requires_grad=True)
        self.assertIsNone(self.refused(lambda o, y: o.sum() + weight.norm() ** 2))
        # of one record there are no others
        self.assertIsNone(self.refused(lambda o, y: o.norm(), 1))
        self.assertIsNotNone(self.refused(lambda o, y: o.norm()))


def mixed_up(x, y, lengths):
    others = torch.randperm(len(x))
    return 0.7 * x + 0.3 * x[others]


def cut_and_mixed(x, y, lengths):
    found = x.clone()
    found[:, :2] = x[torch.randperm(len(x)), :2]
    return found


def centred_in_place(x, y, lengths):
    return x.sub_(x.mean(0))


def turned_in_place(x, y, lengths):
    return x.mul_(torch.where(torch.rand(len(x), 1) < 0.5, -1.0, 1.0))


def cut_to_the_longest(x, y, lengths):
    found = x.clone()
    found[:, int(lengths.max()):] = 0
    return found


# What a loop makes of a batch before a model is given it, and whether a row is of several records.
BATCHES = {
    "itself": (lambda x, y, lengths: x, False),
    "sorted by lengths": (lambda x, y, lengths: x[lengths.argsort(descending=True)], False),
    "in another order": (lambda x, y, lengths: x[torch.randperm(len(x))], False),
    "with noise": (lambda x, y, lengths: x + torch.randn_like(x), False),
    "dropped out": (lambda x, y, lengths: x * (torch.rand_like(x) > 0.1), False),
    "turned in place": (turned_in_place, False),
    "rows of length one": (lambda x, y, lengths: F.normalize(x), False),
    "with labels": (lambda x, y, lengths: x + F.one_hot(y, 4), False),
    "cut to the longest": (cut_to_the_longest, False),
    # Random bits are given again, in their places: those that depend on numbers too.
    "in another order, with noise": (
        lambda x, y, lengths: x[torch.randperm(len(x))] + torch.randn_like(x), False),
    "sorted by lengths, with noise": (
        lambda x, y, lengths: x[lengths.argsort()] + torch.randn_like(x), False),
    "sorted by sums, with noise": (
        lambda x, y, lengths: x[x.sum(1).argsort()] + torch.randn_like(x), False),
    "counts": (lambda x, y, lengths: torch.poisson(x.abs() * 9) / 9, False),
    "noise for one class": (lambda x, y, lengths: x.masked_scatter(
        (y == 1)[:, None], torch.randn_like(x[y == 1])), False),
    "mixed up, with noise": (
        lambda x, y, lengths: mixed_up(x, y, lengths) + torch.randn_like(x), True),
    "mixed up": (mixed_up, True),
    "cut and mixed": (cut_and_mixed, True),
    "centred in place": (centred_in_place, True),
    "less the one before": (lambda x, y, lengths: x - x.roll(1, 0), True),
    "half of another": (lambda x, y, lengths: torch.cat([x[:, :2], x.flip(0)[:, 2:]], 1), True),
    "with another's label": (lambda x, y, lengths: x + F.one_hot(y.flip(0), 4), True),
    "by the largest": (lambda x, y, lengths: x / x.abs().max(), True),
}


class Batches(support.WithPath):
    def test_rows_of_several_records_are_refused_before_a_weight_moves(self):
        torch.manual_seed(5)
        records = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.arange(12) % 3,
                                                 torch.arange(12) % 4 + 1)
        for name, (function, mixes) in BATCHES.items():
            with self.subTest(name), dpledger.Recorder(
                    path=str(self.folder / name), dataset="d", unit="record") as ledger:
                model, sampler = nn.Linear(4, 3), exact.FullBatchSampler(12, steps=3)
                optimizer = exact.PrivateOptimizer(
                    torch.optim.SGD(model.parameters(), lr=0.1), recorder=ledger, sampler=sampler,
                    noise_multiplier=1.0, max_grad_norm=1.0)
                self.addCleanup(exact.per_example(model, loss_reduction="sum"))
                before, words = model.weight.detach().clone(), ""
                try:
                    for x, y, lengths in exact.data_loader(records, sampler):
                        loss = model(function(x, y, lengths)).square().sum()
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                except dpledger.InvalidArgument as refused:
                    words = str(refused)
                self.assertEqual("is given rows that are made of several records" in words, mixes,
                                 words)
                self.assertEqual(torch.equal(model.weight, before), mixes)

    def test_numbers_that_are_drawn_for_chosen_places_are_no_mixture(self):
        # As many as are missing: of other records they would fall into other places.
        for seed in range(12):
            torch.manual_seed(seed)
            x, sampler = torch.randn(5, 4), exact.FullBatchSampler(5, steps=4)
            model = nn.Linear(4, 3)
            end = guards.watch(model)
            for (x,) in exact.data_loader(torch.utils.data.TensorDataset(x), sampler):
                missing = x < -0.5
                x[missing] = torch.randn(int(missing.sum()))
                model(x).square().sum().backward()
                guards.check_state()
            end()

    def test_weights_of_classes_are_public_and_means_over_them_are_not(self):
        # With two records every tensor of two numbers had "rows of both"; and where labels and a
        # mask are both in the sum that a mean is over, neither alone was seen to be of records.
        weights, pair = torch.tensor([1.0, 3.0, 100.0]), torch.tensor([1.0, 5.0])
        cross = F.cross_entropy
        losses_of = (
            ("weighted sum", False, lambda z, y, k: cross(z, y, weights, reduction="sum")),
            ("weights of two", False, lambda z, y, k: (
                cross(z, y, reduction="none") * pair[k]).sum()),
            ("two terms", False, lambda z, y, k: pair[0] * cross(z, y, reduction="sum")
             + pair[1] * z.square().sum()),
            ("mean by both", True, lambda z, y, k: cross(z, y.masked_fill(k == 0, -100), weights)),
            ("mean by both, by hand", True, lambda z, y, k: (
                cross(z, y, reduction="none") * weights[y] * k).sum() / (weights[y] * k).sum()))
        for rows in (2, 3, 12):
            for name, refused, loss in losses_of:
                if refused and rows < 12:
                    continue  # labels that all differ may be places
                with self.subTest(name, rows=rows):
                    torch.manual_seed(5)
                    model, sampler = nn.Linear(4, 3), exact.FullBatchSampler(rows, steps=6)
                    self.addCleanup(guards.watch(model))
                    records = torch.utils.data.TensorDataset(
                        torch.randn(rows, 4), torch.arange(rows) % 3, torch.arange(rows) % 2)
                    words = ""
                    for x, y, k in exact.data_loader(records, sampler):
                        try:
                            loss(model(x), y, k).backward()
                        except dpledger.InvalidArgument as error:
                            words = str(error)
                        guards.check_state()
                    self.assertEqual("or over their weights" in words, refused, words)

    def test_labels_in_the_order_of_sorted_rows_are_each_record_s_own(self):
        # Beside other lengths a row of outputs is another record's: its gradient is no longer or
        # shorter one, but another.
        torch.manual_seed(5)
        model, sampler = nn.Linear(4, 3), exact.FullBatchSampler(12, steps=6)
        self.addCleanup(guards.watch(model))
        records = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randint(3, (12,)),
                                                 torch.randint(1, 5, (12,)))
        for x, y, lengths in exact.data_loader(records, sampler):
            order = lengths.argsort(descending=True)
            F.cross_entropy(model(x[order]), y[order], reduction="sum").backward()
            parts = [F.cross_entropy(model(x[y == label]), y[y == label], reduction="sum")
                     for label in range(3)]
            sum(parts).backward()
            guards.check_state()

    def test_a_pass_without_gradients_before_it_hides_no_mixture(self):
        # Labels of a model's own, and then a mixture, as for data that has none.
        model, sampler = nn.Linear(4, 3), exact.FullBatchSampler(12, steps=1)
        self.addCleanup(guards.watch(model))
        records = torch.utils.data.TensorDataset(torch.randn(12, 4))
        for (x,) in exact.data_loader(records, sampler):
            with torch.no_grad():
                model(x).softmax(1)
            with self.assertRaisesRegex(dpledger.InvalidArgument, "made of several records"):
                model(mixed_up(x, None, None)).square().sum().backward()

    def test_what_is_no_batch_s_is_not_kept(self):
        model, sampler = nn.Linear(4, 3), exact.FullBatchSampler(12, steps=4)
        self.addCleanup(guards.watch(model))
        loader = exact.data_loader(torch.utils.data.TensorDataset(torch.randn(12, 4)), sampler)
        next(iter(loader))  # to look at it
        self.assertEqual(tape._running.tapes, [])
        for (x,) in loader:
            break
        self.assertEqual(tape._running.tapes, [])
        for _ in range(9):  # an evaluation that keeps gradients
            model(torch.randn(12, 4))
        self.assertLessEqual(len(guards._WATCHES[model]._tape.outputs), 2)

    def test_two_passes_are_of_the_same_records(self):
        # Of another library the rows of both are added: a record was in two of them.
        for name, other, mixes in (("itself", lambda x: x * 2, False),
                                   ("turned around", lambda x: x.flip(0), True)):
            with self.subTest(name):
                model, sampler = nn.Linear(4, 3), exact.FullBatchSampler(12, steps=1)
                self.addCleanup(guards.watch(model))
                records, words = torch.utils.data.TensorDataset(torch.randn(12, 4)), ""
                for (x,) in exact.data_loader(records, sampler):
                    try:
                        (model(x).square().sum() + model(other(x)).square().sum()).backward()
                    except dpledger.InvalidArgument as refused:
                        words = str(refused)
                self.assertEqual("made of several records (flip)" in words, mixes, words)


class Outputs(unittest.TestCase):
    def test_tensors_of_any_output_are_found(self):
        Scores = collections.namedtuple("Scores", "values actions")
        one, two = torch.ones(2), torch.ones(3)
        for output in (Scores(one, two), {"a": one, "b": [two]}, (one, (two, None)),
                       collections.OrderedDict(a=one, b=two)):
            self.assertEqual([id(each) for each in functional.tensors(output)], [id(one), id(two)])
        self.assertEqual(len(list(functional.tensors(torch.ones(4).topk(2)))), 2)


class Factors(unittest.TestCase):
    """Of sums that are multiplied by a number: of which the graph says nothing."""

    def setUp(self):
        torch.manual_seed(5)

    def passes(self, loss, said, sizes):
        model = nn.Linear(4, 3)
        end = exact.per_example(model, loss_reduction=said)
        self.addCleanup(end)
        for size in sizes:
            model.weight.grad_sample = model.bias.grad_sample = None
            loss(model(torch.randn(size, 4)), torch.arange(size) % 3).backward()

    def test_sums_over_the_batch_s_size_and_over_another_number(self):
        def cross(o, y):
            return F.cross_entropy(o, y, reduction="sum")

        def binary(o, y):
            return F.binary_cross_entropy_with_logits(o[:, :1], (y[:, None] > 0).float(),
                                                      reduction="sum")
        for entropy in (cross, binary):
            with self.assertRaisesRegex(ValueError, '"sum", but the loss is a sum over the batch'):
                self.passes(lambda o, y: entropy(o, y) / len(y), "sum", (6, 9, 7, 5))
            with self.assertRaisesRegex(ValueError, '"mean", but the loss is a sum over a number '):
                self.passes(lambda o, y: entropy(o, y) / 8, "mean", (6, 9, 7, 5))
            # What rows are told of, in batches of any size.
            self.passes(lambda o, y: entropy(o, y) / 8, "sum", (6, 9, 7, 5))
            self.passes(lambda o, y: entropy(o, y) / len(y) * 3, "mean", (6, 9, 7, 5))
            rate = iter((1.0, 0.5, 0.25, 0.125))
            self.passes(lambda o, y: entropy(o, y) * next(rate), "sum", (6, 9, 7, 5))

    def test_the_factor_of_each_record_is_found(self):
        for factor in (1.0, 0.02, 3.0):
            scores = torch.randn(7, 3, requires_grad=True)
            output = scores * 1.0
            output.retain_grad()
            loss = F.cross_entropy(output, torch.arange(7) % 3, reduction="sum") * factor
            loss.backward()
            self.assertAlmostEqual(losses.factor_of(loss, output.detach(), output.grad) / factor, 1,
                                   places=5)
        weighted = F.cross_entropy(output, torch.arange(7) % 3, torch.tensor([1.0, 2.0, 3.0]))
        gradient, = torch.autograd.grad(weighted, output)
        self.assertIsNone(losses.factor_of(weighted, output.detach(), gradient))


class Between(nn.Module):
    """A model with a function between its layers."""

    def __init__(self, function):
        super().__init__()
        self.first, self.last, self.function = nn.Linear(4, 3), nn.Linear(3, 2), function

    def forward(self, x, scale=1.0):
        return self.last(self.function(self.first(x)) * scale)


class Centred(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Loss(nn.Module):
    """A model that gives its loss alone."""

    def __init__(self, loss):
        super().__init__()
        self.net, self.loss = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3)), loss

    def forward(self, x):
        return self.loss(self.net(x), torch.tensor([1, 0, 2, 1, 0, 2]))


class Around(nn.Module):
    """A model around the one whose rows are taken, which gives a loss."""

    def __init__(self, function):
        super().__init__()
        self.net, self.function = Between(lambda h: h), function

    def forward(self, x, y):
        return F.cross_entropy(self.net(x=self.function(x)), y, reduction="sum")


FUNCTIONS = {
    "none": (lambda h: h, False),
    "normalised by itself": (lambda h: F.normalize(h), False),
    "dropout": (lambda h: F.dropout(h, 0.5), False),
    "noise": (lambda h: h + torch.randn_like(h), False),
    "random bits for the whole batch": (lambda h: h * torch.rand(()), False),
    "deviation": (lambda h: h / (h.std(0) + 1), True),
    "softmax over the batch": (lambda h: h.softmax(0), True),
    "running sum": (lambda h: h.cumsum(0), True),
    "running sum from behind": (lambda h: h.flip(0).cumsum(0).flip(0), True),
    "statistics of the batch": (lambda h: F.batch_norm(h, None, None, training=True), True),
    "attention over the batch": (lambda h: (h @ h.T).softmax(1) @ h, True),
    "the largest": (lambda h: h / h.abs().max(), True),
    # Passes in training mode are made on the same bits.
    "bits, and the mean": (lambda h: F.dropout(h, 0.5) - h.mean(0), True),
    # Of which one record's fall otherwise beside others: nothing is said.
    "as many bits as records ask for": (lambda h: h.masked_scatter(
        h > 0, torch.randn(int((h > 0).sum()))), False),
    "the same, column by column": (lambda h: h.T.masked_scatter(
        h.T > 0, torch.randn(int((h > 0).sum()))).T, False),
}


class Models(support.WithPath):
    def setUp(self):
        super().setUp()
        torch.manual_seed(5)

    def step(self, model, loss, call=None, rows=6, of=None):
        """A step's words if it is refused, and whether a weight moved. Rows are of the part `of`,
        if one is given."""
        x, y = torch.randn(rows, 4), torch.arange(rows) % 2
        x[0] *= 9  # it has the largest number
        with dpledger.Recorder(path=str(self.folder / ("run%d" % len(list(self.folder.iterdir())))),
                               dataset="d", unit="record") as ledger:
            sampler = exact.FullBatchSampler(rows, steps=4)
            optimizer = exact.PrivateOptimizer(
                torch.optim.SGD(model.parameters(), lr=0.1), recorder=ledger, sampler=sampler,
                noise_multiplier=1.0, max_grad_norm=1.0)
            end = exact.per_example(of or model, loss_reduction="sum")
            self.addCleanup(end)
            before = [parameter.detach().clone() for parameter in model.parameters()]
            sampler.draw()
            try:
                found = call(model, x) if call else model(x)
                (loss(found, y) if loss else found).backward()
                optimizer.step()
                words = None
            except dpledger.InvalidArgument as refused:
                words = str(refused)
            return words, any(not torch.equal(one, two)
                              for one, two in zip(before, model.parameters()))

    def test_models_that_mix_records_are_refused_before_a_weight_moves(self):
        for name, (function, mixes) in FUNCTIONS.items():
            with self.subTest(name):
                words, moved = self.step(Between(function), LOSSES["cross entropy"])
                self.assertEqual(moved, not mixes)
                if mixes:
                    self.assertIn("model: it (Between) gives a record something else", words)
                else:
                    self.assertIsNone(words)

    def test_what_mixes_in_training_mode_alone_is_seen(self):
        # 18.8 C, of an outlier in a batch of 21, where both passes were made in eval mode.
        for name, function, mixes in (
                ("statistics", lambda h: F.batch_norm(h, None, None, training=True), True),
                ("mean", lambda h: h - h.mean(0), True), ("none", torch.tanh, False),
                # 2.6 C, where the first record alone was looked at.
                ("running sum", lambda h: h.cumsum(0), True),
                ("running sum from behind", lambda h: h.flip(0).cumsum(0).flip(0), True)):
            for rows in (2, 6):
                with self.subTest(name, rows=rows):
                    model = Between(lambda h: function(h) if model.training else h)
                    words, moved = self.step(model, LOSSES["cross entropy"], rows=rows)
                    self.assertEqual((words is None, moved), (not mixes, not mixes))

    def test_beside_other_threads_models_are_tried_on_bits_of_our_own(self):
        # 3.4 C: torch's streams, which others draw from too, cannot be put back then.
        ended = threading.Event()
        other = threading.Thread(target=ended.wait)
        other.start()
        self.addCleanup(other.join)
        self.addCleanup(ended.set)
        for place, drawn in enumerate((
                lambda h: h, lambda h: h * torch.rand_like(h), lambda h: h + torch.rand(3),
                lambda h: h + torch.randn(h.shape), lambda h: F.dropout(h, 0.2),
                lambda h: h[torch.randperm(len(h))] * 0 + h,
                lambda h: h + torch.normal(0.0, 1.0, h.shape), lambda h: h + torch.randn_like(h),
                lambda h: h * torch.randint(1, 3, h.shape),
                lambda h: torch.bernoulli(torch.full_like(h, 0.8)) * h,
                # It draws for what is negative; others' bits fall otherwise, and nothing is said.
                lambda h: F.rrelu(h, training=True),
                lambda h: F.dropout(F.rrelu(h, training=True), 0.5),
                lambda h: F.rrelu(h, training=True).masked_scatter(
                    h > 0, torch.randn(int((h > 0).sum()))))):  # as many in all
            for mixes in (False, True)[:1 + (place < 10)]:
                with self.subTest(place, mixes=mixes):
                    model = Between(lambda h: drawn(h) - mixes * h.mean(0) if model.training else h)
                    x, before = torch.randn(6, 4), torch.get_rng_state()
                    plain = model(x)
                    torch.set_rng_state(before)
                    model.forward = trial.Tried(model)
                    if mixes:
                        with self.assertRaisesRegex(dpledger.InvalidArgument, "mixes the records"):
                            model(x)
                        self.assertTrue(torch.equal(torch.get_rng_state(), before))
                    else:
                        self.assertTrue(torch.equal(model(x), plain))

    def test_the_layer_that_mixes_is_named(self):
        model = nn.Sequential(nn.Linear(4, 3), Centred(), nn.Linear(3, 2))
        words, _ = self.step(model, LOSSES["cross entropy"])
        self.assertIn("model: 1 (Centred) gives a record something else", words)

    def test_dropout_hides_no_mean(self):
        model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), Centred(), nn.Linear(3, 2))
        self.assertIn("model: 2 (Centred)", self.step(model, LOSSES["cross entropy"])[0])

    def test_outputs_that_are_as_many_as_the_records_by_chance_are_none_of_theirs(self):
        class States(nn.Module):
            def __init__(self):
                super().__init__()
                self.cells = nn.LSTM(4, 3, num_layers=2, batch_first=True)
                self.out = nn.Linear(3, 2)

            def forward(self, x):
                found, (states, _) = self.cells(x[:, None].expand(-1, 3, -1))
                return self.out(found[:, -1]), states
        for rows in (2, 6):
            words, moved = self.step(States(), lambda o, y: F.cross_entropy(
                o[0], y, reduction="sum"), rows=rows)
            self.assertTrue(moved, words)

    def test_a_model_that_counts_its_calls_is_neither_refused_nor_moved(self):
        class Counts(nn.Module):
            def __init__(self, switch):
                super().__init__()
                self.out, self.calls, self.switch = nn.Linear(4, 2), 0, switch
                self.register_buffer("seen", torch.zeros(()))

            def forward(self, x):
                self.calls += 1
                self.seen = self.seen + 1
                return self.out(x) * (2.0 if self.calls > self.switch else 1.0)
        for switch in range(1, 8):
            model = Counts(switch)
            model.forward = trial.Tried(model)
            for _ in range(9):
                model(torch.randn(6, 4))
            self.assertEqual((model.calls, float(model.seen)), (9, 9.0))

    def test_a_model_with_bits_of_its_own_is_not_refused(self):
        import random

        class Skips(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(4, 2)

            def forward(self, x):
                return self.out(x) if random.random() < 0.5 else self.out(x.flip(1))
        random.seed(3)
        for _ in range(40):
            model = Skips()
            model.forward = trial.Tried(model)
            model(torch.randn(6, 4))
        after = random.random()
        random.seed(3)
        self.assertEqual([random.random() for _ in range(41)][-1], after)  # one for each pass

    def test_arguments_by_name_are_seen(self):
        words, _ = self.step(Between(lambda h: h - h.mean(0)), LOSSES["cross entropy"],
                             lambda model, x: model(scale=torch.ones(()), x=x))
        self.assertIn("mixes the records of a batch", words)

    def test_a_mask_as_long_as_the_batch_is_left_as_it_is(self):
        mask = torch.rand(6, 6) < 0.5

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(1, 6), nn.Linear(6, 2)

            def forward(self, x, mask):
                h = self.first(x[:, :, None].expand(-1, 4, 1).mean(1)[:, :1])
                return self.last((h[:, None] * mask).sum(2))
        words, moved = self.step(Masked(), LOSSES["cross entropy"],
                                 lambda model, x: model(x, mask))
        self.assertTrue(moved, words)

    def test_one_record_has_no_others_and_the_next_batch_is_looked_at(self):
        model = Between(lambda h: h - h.mean(0))
        self.assertTrue(self.step(model, LOSSES["cross entropy"], rows=1)[1])
        self.assertFalse(self.step(model, LOSSES["cross entropy"], rows=2)[1])

    def test_losses_that_take_records_together_are_refused_in_their_backward_pass(self):
        words, moved = self.step(nn.Linear(4, 3), LOSSES["contrast"])
        self.assertFalse(moved)
        self.assertIn("loss: takes the rows of the model's output together (mm)", words)
        words, moved = self.step(nn.Linear(4, 3), LOSSES["cross entropy"])
        self.assertTrue(moved, words)

    def test_a_trial_leaves_autocast_s_weights_their_gradients(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            words, moved = self.step(nn.Linear(4, 3), LOSSES["cross entropy"])
        self.assertTrue(moved, words)
        model = nn.Linear(4, 3)
        model.forward = trial.Tried(model)
        for _ in range(2):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertTrue(model(torch.randn(6, 4)).requires_grad)

    def test_later_calls_are_tried_too(self):
        later = []
        model = Between(lambda h: h - h.mean(0) if later else h)
        model.forward = trial.Tried(model)
        model(torch.randn(6, 4))
        later.append(True)
        with self.assertRaisesRegex(dpledger.InvalidArgument, "mixes the records of a batch"):
            model(torch.randn(6, 4))

    def test_a_trial_takes_no_random_bits(self):
        model = Between(lambda h: F.dropout(h, 0.5))
        x = torch.randn(6, 4)
        torch.manual_seed(1)
        expected = model(x)
        model.forward = trial.Tried(model)
        torch.manual_seed(1)
        self.assertTrue(torch.equal(model(x), expected))

    def test_a_model_whose_rows_another_library_takes_is_tried(self):
        model = Between(lambda h: h - h.mean(0))
        model.forward = trial.Tried(model)
        with self.assertRaisesRegex(dpledger.InvalidArgument, "mixes the records of a batch"):
            model(torch.randn(6, 4))
        with torch.no_grad():
            model(torch.randn(6, 4))  # which makes no gradients
        model = Between(lambda h: h)
        model.forward = trial.Tried(model)
        model(torch.randn(6, 4))

    def test_a_model_around_the_one_whose_rows_are_taken_is_tried_too(self):
        # It centred the batch before its net saw it, and no look was at more than the net.
        for name, (function, mixes) in FUNCTIONS.items():
            with self.subTest(name):
                model = Around(function)
                words, moved = self.step(model, None, of=model.net, call=lambda model, x: model(
                    x, torch.arange(len(x)) % 2))
                self.assertEqual(moved, not mixes)
                if mixes:
                    self.assertIn("model: it (Around) gives a record something else", words)

    def test_a_model_that_gives_its_loss_alone_is_looked_into(self):
        # No output had records in its rows, and so no loss was looked at.
        for name in ("cross entropy", "a class by its number", "the worst class", "contrast",
                     "variance", "another record"):
            with self.subTest(name):
                mixes = moves(LOSSES[name])
                sums = (lambda o, y: LOSSES[name](o, y) * len(o)) if name == "cross entropy" else (
                    LOSSES[name])
                words, moved = self.step(Loss(sums), None)
                self.assertEqual((words is not None, moved), (mixes, not mixes), words)

    def test_hooks_of_others_on_the_model_take_part(self):
        def before(function):
            def put(model):
                def hook(_, given):
                    return function(given[0].view(len(given[0]), 4))[:, :3]  # of a batch as it came
                model.first = nn.Linear(3, 3)
                model.register_forward_pre_hook(hook)
            return put

        def behind(function):
            return lambda model: model.register_forward_hook(
                lambda _, given, output: function(output))
        for put in (before, behind):
            for name, mixes in (("none", False), ("normalised by itself", False),
                                ("deviation", True), ("softmax over the batch", True)):
                with self.subTest(put.__name__, name=name):
                    model = Between(lambda h: h)
                    put(FUNCTIONS[name][0])(model)
                    words, moved = self.step(model, LOSSES["cross entropy"])
                    self.assertEqual((words is not None, moved), (mixes, not mixes), words)
                with self.subTest(put.__name__, name=name, library="another"):
                    model = Between(lambda h: h)
                    guards.watch(model)
                    model.forward = trial.Tried(model)
                    put(FUNCTIONS[name][0])(model)
                    if mixes:
                        with self.assertRaisesRegex(dpledger.InvalidArgument, "mixes the records"):
                            model(torch.randn(6, 4))
                    else:
                        model(torch.randn(6, 4))
