"""Per-example gradients against one example at a time: layer by layer, model by model, and what is
refused."""
import copy
import io
import itertools
import random
import unittest

import support  # noqa: F401

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
torch.set_num_threads(1)  # threads that wait for each other on a busy machine take minutes


class Of(nn.Module):
    """A module of parts, by a function of them and the inputs."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.function = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs, **named):
        return self.function(self, *inputs, **named)


class Scaled(nn.Linear):
    """A subclass that computes what its base class does."""


class Doubled(nn.Linear):
    """A subclass that does not."""

    def forward(self, x):
        return 2 * super().forward(x)


class Halved(nn.Conv1d):
    """A subclass that computes something else inside its base class's forward pass."""

    def _conv_forward(self, x, weight, bias):
        return super()._conv_forward(x, weight / 2, bias)


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return self.scale * x / (x * x).mean(-1, keepdim=True).add(1e-6).sqrt()


def floats(*shape):
    return lambda batch: (torch.randn((batch,) + shape),)


def words(*shape, most=11):
    return lambda batch: (torch.randint(0, most, (batch,) + shape),)


def masked(batch):
    mask = torch.zeros(batch, 6, dtype=torch.bool)
    mask[:, 4:] = torch.rand(batch, 2) < 0.5
    return torch.randn(batch, 6, 8), mask


def causal():
    return torch.ones(6, 6).triu(1).bool()


def layers():
    """name, model, inputs of a batch"""
    yield "linear", nn.Linear(6, 4), floats(6)
    yield "linear without bias on sequences", nn.Linear(6, 4, bias=False), floats(3, 2, 6)
    yield "linear, in place after a view", nn.Sequential(nn.Linear(6, 4),
                                                         nn.ReLU(inplace=True)), floats(3, 6)
    yield "frozen weight", frozen(nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)),
                                  "0.weight"), floats(6)
    yield "subclass as its base", nn.Sequential(Scaled(6, 4), nn.Tanh(), Scaled(4, 3)), floats(6)
    yield "subclass of its own", nn.Sequential(Doubled(6, 4), nn.Tanh(), Doubled(4, 3)), floats(6)
    yield "embedding with padding", nn.Embedding(11, 4, padding_idx=0), words(5)
    yield "embedding of one word", nn.Embedding(11, 4), words()
    for name, layer, shape in (
            ("1d", nn.Conv1d(4, 6, 3), (4, 9)),
            ("1d, strides", nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2), (4, 9)),
            ("1d, same", nn.Conv1d(4, 6, 4, padding="same", dilation=3), (4, 9)),
            ("1d, circular", nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular", bias=False),
             (4, 9)),
            ("2d", nn.Conv2d(4, 6, 3, stride=2, padding=(1, 2), groups=2), (4, 7, 8)),
            ("2d, same", nn.Conv2d(4, 6, (3, 4), padding="same", dilation=(1, 2)), (4, 7, 8)),
            ("2d, valid", nn.Conv2d(4, 6, 3, padding="valid", dilation=2), (4, 7, 8)),
            ("2d, reflected", nn.Conv2d(4, 6, 3, padding=2, padding_mode="reflect"), (4, 7, 8)),
            ("2d, depthwise", nn.Conv2d(4, 8, 3, groups=4), (4, 7, 8)),
            ("3d", nn.Conv3d(2, 4, 2, stride=(1, 2, 1), padding=1, dilation=(1, 1, 2), groups=2),
             (2, 4, 5, 6)),
            ("3d, same", nn.Conv3d(2, 4, 3, padding="same"), (2, 4, 5, 6))):
        yield "convolution " + name, layer, floats(*shape)
    yield "convolution of its own", nn.Sequential(Halved(4, 6, 3)), floats(4, 9)
    yield "transposed convolution", nn.ConvTranspose2d(4, 6, 3, stride=2), floats(4, 5, 5)
    yield "layer norm", nn.LayerNorm((3, 6)), floats(2, 3, 6)
    yield "layer norm without bias", frozen(nn.LayerNorm(6), "bias"), floats(6)
    yield "group norm", nn.GroupNorm(2, 6), floats(6, 4, 3)
    yield "group norm of vectors", nn.GroupNorm(2, 6), floats(6)
    for name, layer, shape in (("1d", nn.InstanceNorm1d(3, affine=True), (3, 7)),
                               ("2d", nn.InstanceNorm2d(3, affine=True), (3, 4, 5)),
                               ("3d", nn.InstanceNorm3d(3, affine=True), (3, 2, 3, 4))):
        yield "instance norm " + name, layer, floats(*shape)
    yield "bilinear", nn.Bilinear(3, 4, 5), lambda batch: (torch.randn(batch, 3),
                                                           torch.randn(batch, 4))
    yield "prelu", nn.Sequential(nn.Linear(6, 4), nn.PReLU(4)), floats(6)
    yield "prelu of one weight", nn.Sequential(nn.Linear(6, 4), nn.PReLU()), floats(6)
    yield "weight norm", nn.Sequential(nn.utils.weight_norm(nn.Linear(6, 4)), nn.Tanh()), floats(6)
    yield "parametrized", nn.Sequential(
        nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))), floats(4)
    for options in (dict(), dict(num_layers=2, bidirectional=True), dict(bias=False),
                    dict(num_layers=2, dropout=0.5)):
        for kind in (nn.RNN, nn.LSTM, nn.GRU):
            yield "%s %s" % (kind.__name__, options), kind(5, 4, batch_first=True,
                                                           **options), floats(6, 5)
    yield "RNN with relu", nn.RNN(5, 4, batch_first=True, nonlinearity="relu"), floats(6, 5)
    yield "LSTM with projection", nn.LSTM(5, 4, batch_first=True, proj_size=3,
                                          bidirectional=True), floats(6, 5)
    yield "frozen recurrence", frozen(nn.LSTM(5, 4, batch_first=True), "weight_hh_l0"), floats(6, 5)
    yield ("GRU with a first state", Of(lambda m, x, h: m.rnn(x, h.transpose(0, 1).contiguous()),
                                        rnn=nn.GRU(5, 4, batch_first=True)),
           lambda batch: (torch.randn(batch, 6, 5), torch.randn(batch, 1, 4)))
    yield ("LSTM with first states",
           Of(lambda m, x,
              *states: m.rnn(x, tuple(state.transpose(0, 1).contiguous() for state in states)),
              rnn=nn.LSTM(5, 4, batch_first=True)),
           lambda batch: (torch.randn(batch, 6, 5), torch.randn(batch, 1, 4),
                          torch.randn(batch, 1, 4)))
    yield ("LSTM's last states",
           Of(lambda m, x: m.rnn(x)[1][1].transpose(0, 1), rnn=nn.LSTM(5, 4, batch_first=True)),
           floats(6, 5))
    for options in (dict(), dict(dropout=0.4), dict(bias=False, add_zero_attn=True),
                    dict(add_bias_kv=True)):
        yield ("attention %s" % options,
               Of(lambda m, x: m.a(x, x, x, need_weights=False)[0],
                  a=nn.MultiheadAttention(8, 2, batch_first=True, **options)),
               floats(6, 8))
    yield ("attention with masks", Of(
        lambda m, x, mask: m.a(x, x, x, key_padding_mask=mask, attn_mask=causal()),
        a=nn.MultiheadAttention(8, 2, batch_first=True)), masked)
    # No mask falls on the key and the value that these options put behind the others.
    for options in (dict(add_bias_kv=True), dict(add_zero_attn=True)):
        for name, call in (("keys", lambda m, x, mask: m.a(x, x, x, key_padding_mask=mask)),
                           ("both", lambda m, x,
                            mask: m.a(x, x, x, key_padding_mask=mask, attn_mask=causal()))):
            yield ("attention with masks of %s, %s" % (name, options), Of(
                call, a=nn.MultiheadAttention(8, 2, batch_first=True, **options)), masked)
    yield ("attention with a mask for each head",
           Of(lambda m, x,
              mask: m.a(x, x, x, attn_mask=mask.reshape(-1, 6, 6), average_attn_weights=False),
              a=nn.MultiheadAttention(8, 2, batch_first=True)),
           lambda batch: (torch.randn(batch, 6, 8), torch.randn(batch, 2, 6, 6)))
    yield ("attention across",
           Of(lambda m, x, y: m.a(x, y, y),
              a=nn.MultiheadAttention(8, 2, kdim=5, vdim=5, batch_first=True)),
           lambda batch: (torch.randn(batch, 3, 8), torch.randn(batch, 6, 5)))
    yield ("transformer with dropout", nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True), 2), floats(6, 8))
    yield ("decoder", nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
           lambda batch: (torch.randn(batch, 3, 8), torch.randn(batch, 6, 8)))


def models():
    """Models that use their parts in ways of their own."""
    yield "own scale", nn.Sequential(nn.Linear(6, 4), RootMeanSquare(4), nn.Linear(4, 3)), floats(6)
    tied = Of(lambda m, x: m.out(torch.tanh(m.embed(x))), embed=nn.Embedding(11, 4),
              out=nn.Linear(4, 11))
    tied.out.weight = tied.embed.weight
    yield "tied", tied, words(5)
    yield "used twice", Of(lambda m, x: m.a(torch.tanh(m.a(x))), a=nn.Linear(6, 6)), floats(6)
    yield ("siblings", Of(lambda m, x, y: m.a(x) * m.a(y), a=nn.Linear(6, 4)),
           lambda batch: (torch.randn(batch, 6), torch.randn(batch, 6)))
    yield "own scale used twice", Of(lambda m, x: m.a(torch.tanh(m.a(x))),
                                     a=RootMeanSquare(6)), floats(6)

    def cells(m, x):
        h = x.new_zeros(len(x), 4)
        for step in range(x.shape[1]):
            h = m.cell(x[:, step], h)
        return h
    yield "cells", Of(cells, cell=nn.GRUCell(5, 4)), floats(3, 5)
    yield ("LSTM cell with states",
           Of(lambda m, x, h, c: m.cell(x, (h, c)), cell=nn.LSTMCell(5, 4)),
           lambda batch: (torch.randn(batch, 5), torch.randn(batch, 4), torch.randn(batch, 4)))

    def of_another(m, x):
        first = x * m.p
        return first, torch.sin(first)
    yield "one output made of another", nn.Sequential(Of(of_another,
                                                         p=nn.Parameter(torch.randn(6)))), floats(6)
    yield "RNN cell with relu", Of(lambda m, x: m.cell(x),
                                   cell=nn.RNNCell(5, 4, nonlinearity="relu")), floats(5)
    yield ("beside a table of no examples",
           Of(lambda m, x: m.part(x, torch.arange(18.0, dtype=x.dtype).view(3, 6)),
              part=Of(lambda m, x, table: torch.sin(x @ table.t()) @ m.p,
                      p=nn.Parameter(torch.randn(3, 2)))),
           floats(6))

    def classes(m, x):
        first = m.first.expand(len(x), 1, 8)
        x = torch.cat([first, m.words(x)], 1) + m.places[:, :x.shape[1] + 1]
        return m.layers(x)[:, 0]
    yield "class token and places", Of(
        classes, words=nn.Embedding(11, 8), first=nn.Parameter(torch.randn(1, 1, 8)),
        places=nn.Parameter(torch.randn(1, 9, 8)),
        layers=nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)), words(5)
    yield "parameters in a list", Of(lambda m, x: torch.tanh(x * m.all[
        0]) @ m.all[1], all=nn.ParameterList([nn.Parameter(torch.randn(6)),
                                              nn.Parameter(torch.randn(6, 3))])), floats(6)
    yield (
        "places by number",
        Of(lambda m,
           x: m.out((m.words(x) + m.places(torch.arange(x.shape[1]).expand(x.shape))).flatten(1)),
           words=nn.Embedding(11, 4), places=nn.Embedding(9, 4), out=nn.Linear(20, 2)),
        words(5))
    yield ("by name",
           Of(lambda m, x, *, scale=1.0: m.a(m.b(values=x)) * scale, a=nn.Linear(6, 4),
              b=Of(lambda m, values: values * m.p, p=nn.Parameter(torch.randn(6)))),
           floats(6))
    yield "dropout", nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.4), RootMeanSquare(8),
                                   nn.Dropout(0.4)), floats(6)
    yield ("dropout inside",
           nn.Sequential(Of(lambda m,
                            x: functional.dropout2d(
                                functional.dropout(x * m.p, 0.3, m.training)[..., None, None], 0.3),
                            p=nn.Parameter(torch.randn(6)))),
           floats(6))
    yield ("several outputs",
           Of(lambda m, x: dict(a=m.a(x), b=[m.b(x), (m.c(x),)]), a=nn.Linear(6, 4),
              b=RootMeanSquare(6), c=nn.GRUCell(6, 3)),
           floats(6))
    yield "convolutions", nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(32, 5)), floats(3, 8, 8)


def frozen(model, *names):
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in names)
    return model


def losses_of(output):
    """One loss an example."""
    leaves = torch.utils._pytree.tree_flatten(output)[0]
    return sum((leaf.flatten(1).square().sum(1) + leaf.flatten(1).sin().sum(1)) for leaf in leaves
               if isinstance(leaf, torch.Tensor) and leaf.dim() > 1 and leaf.is_floating_point())


def batch_first(output):
    """States of recurrent layers [depth, B, n] with examples first."""
    if isinstance(output, tuple) and isinstance(output[1], torch.Tensor) and output[1].dim() == 3:
        return (output[
            0], output[1].transpose(0, 1)) if output[1].shape[1] == len(output[0]) else output
    if isinstance(output, tuple) and isinstance(output[1], tuple):
        return output[0], tuple(part.transpose(0, 1) for part in output[1])
    return output


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


def random_layers(model):
    return any(getattr(part, "p", None) or getattr(part, "dropout", None)
               or "dropout inside" in repr(part) for part in model.modules())


def one_by_one(model, inputs, same_pass=False):
    """The truth: each example alone, or, for random layers, each example's loss through the one
    forward pass."""
    wanted, batch = trainable(model), len(inputs[0])
    losses = losses_of(batch_first(model(*inputs))) if same_pass else None
    found = []
    for row in range(batch):
        loss = losses[row] if same_pass else losses_of(batch_first(model(*[x[row:row + 1]
                                                                           for x in inputs]))).sum()
        parts = torch.autograd.grad(loss, wanted, retain_graph=same_pass, allow_unused=True)
        found.append([torch.zeros_like(p) if part is None else part for p, part in zip(wanted,
                                                                                       parts)])
    return [torch.stack(rows) for rows in zip(*found)]


def relative(found, truth):
    return float((found.double() - truth.double()).norm() / truth.double().norm().clamp(min=1e-30))


class Rules(unittest.TestCase):
    def compare(self, name, model, inputs, most, reduction="sum", same_pass=False):
        torch.manual_seed(3)
        truth = one_by_one(model, inputs, same_pass)
        remove = exact.per_example(model, loss_reduction=reduction)
        torch.manual_seed(3)
        loss = losses_of(batch_first(model(*inputs)))
        (loss.sum() if reduction == "sum" else loss.mean()).backward()
        for index, (parameter, rows) in enumerate(zip(trainable(model), truth)):
            self.assertEqual(parameter.grad_sample.shape, rows.shape, (name, index))
            self.assertLessEqual(relative(parameter.grad_sample, rows), most, (name, index))
        remove()
        self.assertTrue(all(getattr(p, "grad_sample", None) is None for p in model.parameters()
                            if not p.requires_grad), name)
        for parameter in model.parameters():
            parameter.grad = parameter.grad_sample = None

    def test_every_layer_and_model_gives_what_one_example_at_a_time_gives(self):
        cases = 0
        for all_of in (layers, models):
            torch.manual_seed(1)
            for name, model, make in all_of():
                with self.subTest(name):
                    inputs = make(5)
                    random = "dropout" in name
                    self.compare(name, model, inputs, 1e-5, "mean", random)
                    self.compare(name, model.double(),
                                 [x.double() if x.is_floating_point() else x for x in inputs],
                                 1e-10, "sum", random)
                    cases += 1
        self.assertGreaterEqual(cases, 60)


    def test_16_bit_floats_and_autocast_come_near(self):
        torch.manual_seed(2)
        for autocast in (False, True):
            end = nn.LSTM(6, 4, batch_first=True) if autocast else nn.GroupNorm(6, 24)
            model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(1, 2), nn.Linear(
                6, 6), RootMeanSquare(6), nn.LayerNorm(6) if not autocast else nn.Tanh(), end)
            x = torch.randn(4, 1, 8, 8)
            if not autocast:
                model, x = model.bfloat16(), x.bfloat16()
            exact.per_example(model, loss_reduction="sum")
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                output = model(x)
            losses_of(output).float().sum().backward()
            for name, parameter in model.named_parameters():
                self.assertLess(relative(parameter.grad_sample.sum(0), parameter.grad), 0.05,
                                (name, autocast))

    def test_layers_whose_forward_pass_is_made_again_give_no_row_for_no_example(self):
        rows = 0
        for all_of in (layers, models):
            for name, model, make in all_of():
                if "instance norm" in name:
                    continue  # torch 1.13 itself cannot
                with self.subTest(name):
                    exact.per_example(model, loss_reduction="sum")
                    output = batch_first(model(*make(0)))
                    losses_of(output).sum().backward()
                    for parameter in trainable(model):
                        self.assertEqual(tuple(parameter.grad_sample.shape), (0,)
                                         + tuple(parameter.shape))
                        rows += 1
        self.assertGreater(rows, 150)

    def test_a_rule_that_is_wrong_is_seen(self):
        from dpledger.torch import layers as rules
        right = rules.convolution

        def wrong(layer, inputs, errors):
            return right(layer, inputs.flip(2), errors)
        self.addCleanup(rules._RULES.__setitem__, nn.Conv1d, right)
        rules._RULES[nn.Conv1d] = wrong
        with self.assertRaises(AssertionError):
            self.compare("wrong", nn.Conv1d(2, 3, 3), (torch.randn(5, 2, 7),), 1e-5)


class Uses(unittest.TestCase):
    """Rows belong to examples, or nothing is kept."""

    def refused(self, words, model, *inputs, backward=True, **named):
        exact.per_example(model, loss_reduction="sum")
        with self.assertRaisesRegex(ValueError, words):
            losses_of(model(*inputs, **named)).sum().backward()
        self.assertTrue(all(getattr(p, "grad_sample", None) is None for p in model.parameters()))

    def test_what_writes_or_mixes_records_is_refused_by_name(self):
        for words, layer in ((r"model: 0 \(Embedding\) shortens the rows .* max_norm=None",
                              nn.Embedding(3, 4, max_norm=1.0)),
                             (r"model: 0 \(EmbeddingBag\) shortens",
                              nn.EmbeddingBag(3, 4, max_norm=1.0)),
                             (r"InstanceNorm1d\) writes .* track_running_stats=False",
                              nn.InstanceNorm1d(3, track_running_stats=True)),
                             (r"Embedding\) mixes .* scale_grad_by_freq=False",
                              nn.Embedding(3, 4, scale_grad_by_freq=True)),
                             (r"BatchNorm2d\) mixes the records", nn.BatchNorm2d(3))):
            for how in (lambda m: exact.per_example(m), exact.check_model,
                        lambda m: exact.gradients(m, functional.mse_loss, torch.ones(2, 3),
                                                  torch.ones(2, 3))):
                with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                    how(nn.Sequential(layer))

    def test_time_first_is_refused_by_name(self):
        for words, layer in (
                (r"model: self_attn \(MultiheadAttention\) has time in its first dimension.*"
                 "batch_first=True",
                 nn.TransformerEncoderLayer(8, 2)),
                (r"model: it \(LSTM\) has time", nn.LSTM(3, 4)),
                (r"model: it \(GRU\) has time", nn.GRU(3, 4))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                exact.per_example(layer)

    def test_rows_that_are_not_examples_are_refused_in_the_first_call(self):
        class Places(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.places, self.out = nn.Embedding(
                    9, 4), nn.Embedding(9, 4), nn.Linear(4, 2)

            def forward(self, x):
                return self.out((self.words(x) + self.places(torch.arange(x.shape[1]))).mean(1))
        # in the last two there are as many places as examples
        for batch, length in ((1, 5), (3, 5), (5, 5), (1, 1)):
            self.refused(r"model: places \(Embedding\) was given %d rows where the model was given "
                         r"\d examples" % length,
                         Places(), torch.randint(0, 9, (batch, length)))
        self.refused(r"model: 2 \(Linear\) was given 5 rows", nn.Sequential(
            nn.Linear(4, 4), nn.Flatten(0, 1), nn.Linear(4, 2)), torch.randn(3, 5, 4))
        self.refused(r"model: it \(Linear\) was given an input of shape \[3\], which has no "
                     r"dimension of examples",
                     nn.Linear(3, 2), torch.randn(3))
        self.refused(r"Conv1d\) was given an input of shape \[2, 7\]", nn.Conv1d(2, 3, 3),
                     torch.randn(2, 7))
        self.refused(r"LayerNorm\) was given an input of shape \[3, 6\], which has no dimension of "
                     r"examples",
                     nn.Sequential(nn.LayerNorm((3, 6))), torch.randn(3, 6))
        self.refused(r"LSTM\) must be given \[B, T, features\] first.* got shape \[1, 3\]",
                     nn.LSTM(3, 4, batch_first=True), torch.randn(5, 3))
        self.refused(r"LSTM\) must be given \[B, T, features\] first.* got PackedSequence",
                     nn.LSTM(3, 4, batch_first=True), nn.utils.rnn.pack_padded_sequence(
                         torch.randn(3, 5, 3), [5, 4, 3], batch_first=True))
        self.refused(r"Linear\) must be called with its input as the first argument",
                     nn.Linear(3, 2), input=torch.ones(2, 3))
        with self.assertRaisesRegex(ValueError, r"model: it \(LazyLinear\) has no sizes yet"):
            exact.per_example(nn.LazyLinear(3))

    def test_a_layer_made_again_must_give_what_it_gave(self):
        self.refused(r"model: it \(Of\) gives a record something else beside other records: it mix",
                     Of(lambda m, x: (x - x.mean(0)) * m.p, p=nn.Parameter(torch.randn(4))),
                     torch.randn(5, 4))
        self.refused(
            r"model: it \(Of\), made again, does not give for each example what it gave: it mixes",
            Of(lambda m, x: x * m.p * random.random(), p=nn.Parameter(torch.randn(4))).eval(),
            torch.randn(5, 4))
        self.refused(r"model: b \(Of\) has parameters of its own, and is called without a tensor",
                     Of(lambda m, x: x + m.b(),
                        b=Of(lambda m: m.p * 1, p=nn.Parameter(torch.randn(4)))),
                     torch.randn(5, 4))
        self.refused(r"model: b \(Of\) gives something that has no rows of examples, shape \[1, "
                     r"4\] for 5 examples",
                     Of(lambda m, x: x + m.b(x),
                        b=Of(lambda m, x: m.p * 1, p=nn.Parameter(torch.randn(1, 4)))),
                     torch.randn(5, 4))
        self.refused(r"model: torch cannot differentiate it \(Of\) one example at a time",
                     Of(lambda m, x: x * m.p * float(x[0, 0].item() * 0 + 1),
                        p=nn.Parameter(torch.randn(4))),
                     torch.randn(5, 4))

    def test_two_calls_or_two_backward_passes_never_share_a_row(self):
        for model in (nn.Linear(3, 2), Of(lambda m, x: x * m.p, p=nn.Parameter(torch.ones(3)))):
            x = torch.randn(5, 3)
            exact.per_example(model, loss_reduction="sum")
            with self.assertRaisesRegex(ValueError,
                                        "grad_sample: holds gradients already .*accumulate"):
                (model(x).sum() + model(x).sum()).backward()
            for parameter in model.parameters():
                parameter.grad_sample = None
            output = model(x)
            output.sum().backward(retain_graph=True)
            with self.assertRaisesRegex(ValueError, "grad_sample: holds gradients already"):
                output.square().sum().backward()
            for parameter in model.parameters():
                parameter.grad_sample = None
            model(x).sum().backward()  # a pass that failed leaves nothing behind
            self.assertTrue(all(len(p.grad_sample) == 5 for p in model.parameters()))

    def test_a_backward_pass_that_fails_is_over(self):
        def forward(m, x):
            m.hidden = m.a(x)
            return m.b(m.hidden)

        def fail(errors):
            raise RuntimeError("of the loop's own")
        model = Of(forward, a=nn.Linear(3, 3), b=nn.Linear(3, 2))
        exact.per_example(model, loss_reduction="sum")
        loss = model(torch.ones(5, 3)).sum()
        handle = model.hidden.register_hook(fail)
        with self.assertRaisesRegex(RuntimeError, "of the loop's own"):
            loss.backward(retain_graph=True)
        handle.remove()
        # Layer b has the rows of the pass that failed: added to those, an example would count
        # twice.
        with self.assertRaisesRegex(ValueError,
                                    r"grad_sample: holds gradients already \(at layer b\)"):
            loss.backward()

    def test_a_call_that_fails_is_over(self):
        model = Of(lambda m, x: m.a(x).view(3, 7), a=nn.Linear(3, 3))
        exact.per_example(model, loss_reduction="sum")
        with self.assertRaises(RuntimeError):
            model(torch.ones(2, 3))
        # Of what a loop makes of a layer's output nothing is seen.
        with self.assertRaisesRegex(ValueError, r"a \(Linear\) was called outside the forward"):
            model.a(torch.ones(2, 3))
        with torch.no_grad():
            model.a(torch.ones(2, 3))

    def test_a_copy_has_hooks_of_its_own_and_can_be_saved(self):
        torch.manual_seed(4)
        model = nn.Sequential(nn.Embedding(11, 8), RootMeanSquare(8),
                              nn.LSTM(8, 4, batch_first=True))
        exact.per_example(model, loss_reduction="sum")
        x = torch.randint(0, 11, (5, 6))
        losses_of(batch_first(model(x))).sum().backward()
        truth = [p.grad_sample for p in model.parameters()]
        for parameter in model.parameters():
            parameter.grad = parameter.grad_sample = None
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for other in (copy.deepcopy(model), torch.load(file)):
            losses_of(batch_first(other(x))).sum().backward()
            for rows, parameter, mine in zip(truth, other.parameters(), model.parameters()):
                self.assertIsNone(mine.grad_sample)
                self.assertTrue(torch.allclose(rows, parameter.grad_sample, atol=1e-6))
            with torch.no_grad():
                next(other.parameters()).add_(1)
        losses_of(batch_first(model(x))).sum().backward()
        for rows, parameter in zip(truth, model.parameters()):
            self.assertTrue(torch.allclose(rows, parameter.grad_sample, atol=1e-6))

    def test_hooks_go_and_a_second_call_takes_the_place_of_the_first(self):
        model = nn.Sequential(nn.Linear(3, 3), RootMeanSquare(3))
        before = [len(part._forward_hooks) + len(part._forward_pre_hooks)
                  for part in model.modules()]
        outdated, remove = (exact.per_example(model, loss_reduction=reduction)
                            for reduction in ("mean", "sum"))
        outdated()  # takes nothing of the second call off
        x = torch.randn(4, 3)
        losses_of(model(x)).sum().backward()
        for parameter in model.parameters():
            self.assertLess(relative(parameter.grad_sample.sum(0), parameter.grad), 1e-5)
            parameter.grad_sample = None
        remove()
        losses_of(model(x)).sum().backward()
        self.assertTrue(all(p.grad_sample is None for p in model.parameters()))
        self.assertFalse(any("forward" in part.__dict__ for part in model.modules()))
        self.assertEqual([len(part._forward_hooks) + len(part._forward_pre_hooks)
                          for part in model.modules()],
                         before)
        with torch.no_grad():
            exact.per_example(model)
            self.assertFalse(model(x).requires_grad)


class Functional(unittest.TestCase):
    """dpledger.torch.gradients"""

    def test_every_model_gives_what_one_example_at_a_time_gives(self):
        torch.manual_seed(5)
        cases = 0
        for all_of in (layers, models):
            for name, model, make in all_of():
                if any(word in name
                       for word in ("dropout", "prelu", "several outputs", "for each head",
                                    "num_layers", "projection")):
                    continue  # drawn anew; not in functorch 1.13; examples in another place
                with self.subTest(name):
                    inputs = make(5)
                    truth = one_by_one(model, inputs)
                    for chunk in (None, 2):
                        found = exact.gradients(model, lambda output, _: losses_of(output), inputs,
                                                torch.zeros(5), chunk_size=chunk)
                        for parameter, rows, right in zip(trainable(model), found, truth):
                            self.assertTrue(torch.equal(parameter.grad_sample, rows))
                            self.assertLessEqual(relative(rows, right), 1e-5)
                    empty = exact.gradients(model, lambda output, _: losses_of(output), make(0),
                                            torch.zeros(0))
                    self.assertEqual([tuple(rows.shape) for rows in empty],
                                     [(0,) + tuple(p.shape) for p in trainable(model)])
                    cases += 1
        self.assertGreaterEqual(cases, 35)

    def test_recurrent_layers_of_any_make(self):
        # torch.func cannot map torch's own over examples: they were refused.
        def model(layer, forward):
            return Of(lambda m, x: forward(m.layer, x), layer=layer)

        def cells(layer, x):
            state = None
            for step in range(x.shape[1]):
                state = layer(x[:, step], state)
            return state[0] if isinstance(state, tuple) else state
        for make in (nn.RNNCell, nn.LSTMCell, nn.GRUCell):
            with self.subTest(make.__name__):
                self.recurrent(model(make(4, 3), cells))
        for make in (nn.RNN, nn.LSTM, nn.GRU):
            deep = make(4, 3, num_layers=2, bidirectional=True)
            with self.subTest(make.__name__):
                self.recurrent(model(deep, lambda layer, x: layer(x.transpose(0, 1))[0].mean(0)))
        packed = model(nn.LSTM(4, 3, batch_first=True), lambda layer, x: layer(
            nn.utils.rnn.pack_padded_sequence(x, [6] * len(x), batch_first=True))[1][0][-1])
        with self.assertRaisesRegex(ValueError, "model: packs sequences.*give LSTM padded tensors"):
            self.recurrent(packed)
        self.assertNotIn("forward", vars(packed.layer))

    def test_recurrent_layers_of_every_option(self):
        # A sequence without a batch was read as a batch, and states of any shape were taken.
        def forward(m, x, *states):
            layer = m.layer
            given = [state.transpose(0, 1).contiguous() for state in states]
            if m.alone:  # a sequence, and states, without a batch
                given = [state[:, 0] for state in given]
                x = x[0]
            elif not layer.batch_first:
                x = x.transpose(0, 1)
            outputs, last = layer(x, (tuple(given) if len(given) > 1 else given[0])
                                  if given else None)
            last = last if isinstance(last, tuple) else (last,)
            of_outputs = outputs[None] if m.alone or layer.batch_first else outputs.transpose(0, 1)
            return torch.cat([of_outputs.flatten(1)] + [
                (state[:, None] if m.alone else state).transpose(0, 1).flatten(1)
                for state in last], 1)
        for make, ways, first, proj, given, alone in itertools.product(
                (nn.RNN, nn.LSTM, nn.GRU), (1, 2), (False, True), (0, 2), (False, True),
                (False, True)):
            if proj and make is not nn.LSTM:
                continue
            options = dict(proj_size=proj) if proj else {}
            layer = make(4, 3, num_layers=2, bidirectional=ways == 2, batch_first=first, **options)
            model = Of(forward, layer=layer).double()
            model.alone = alone
            shapes = [(proj or 3), 3][:1 + (make is nn.LSTM)] if given else []
            inputs = (torch.randn(5, 6, 4).double(),) + tuple(
                torch.randn(5, 2 * ways, size).double() for size in shapes)
            with self.subTest(make=make, ways=ways, first=first, proj=proj, given=given,
                              alone=alone):
                truth = one_by_one(model, inputs)
                found = exact.gradients(model, lambda output, _: losses_of(output), inputs,
                                        torch.zeros(5))
                for rows, right in zip(found, truth):
                    self.assertLessEqual(relative(rows, right), 1e-12)
                    self.assertGreater(relative(rows.roll(1, 0), right), 1e-3)  # the control
        model = Of(lambda m, x: m.layer(x, x.new_zeros(2, 1, 3))[0], layer=nn.GRU(4, 3))
        with self.assertRaisesRegex(ValueError, "Expected hidden size .1, 1, 3., got .2, 1, 3"):
            exact.gradients(model, lambda output, _: output.sum(), torch.randn(5, 1, 4),
                            torch.zeros(5))

    def recurrent(self, model):
        inputs = torch.randn(5, 6, 4)
        exact.gradients(model, lambda output, _: losses_of(output), inputs, torch.zeros(5))
        for parameter, right in zip(trainable(model), one_by_one(model, (inputs,))):
            self.assertLessEqual(relative(parameter.grad_sample, right), 1e-5)

    def test_inputs_by_position_and_by_name(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.out = nn.Embedding(9, 4), nn.Linear(4, 2)

            def forward(self, words, mask=None, double=False):
                x = self.words(words)
                x = x if mask is None else x * mask[:, :, None]
                return dict(logits=self.out(x.mean(1)) * (2 if double else 1))
        torch.manual_seed(6)
        model, words_, mask = Model(), torch.randint(0, 9, (5, 3)), torch.rand(5, 3)
        y = dict(labels=torch.tensor([0, 1, 1, 0, 1]), weights=torch.rand(5))

        def loss(output, target):
            return target["weights"] * functional.cross_entropy(output["logits"], target["labels"])
        found = [exact.gradients(model, loss, inputs, y, chunk_size=chunk)
                 for inputs in ((words_, mask, True), dict(double=True, mask=mask, words=words_))
                 for chunk in (None, 3)]
        truth = []
        for row in range(5):
            part = slice(row, row + 1)
            of_one = loss(model(words_[part], mask[part], True),
                          {name: value[part] for name, value in y.items()})
            truth.append(torch.autograd.grad(of_one.sum(), list(model.parameters())))
        for rows in found:
            for ours, right in zip(rows, zip(*truth)):
                self.assertLessEqual(relative(ours, torch.stack(right)), 1e-5)
        self.assertEqual(len(exact.gradients(model, loss, (words_, None), y)), 3)

    def test_frozen_parameters_have_no_rows_and_hooks_have_no_part(self):
        model = frozen(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), "0.weight",
                       "2.bias")
        exact.per_example(model)
        found = exact.gradients(model, functional.cross_entropy, torch.randn(5, 3),
                                torch.zeros(5, dtype=torch.long))
        self.assertEqual([tuple(rows.shape) for rows in found], [(5, 4), (5, 2, 4)])
        self.assertFalse(hasattr(model[0].weight, "grad_sample"))
        self.assertTrue(all(p.grad is None for p in model.parameters()))

    def test_what_a_forward_pass_makes_anew_is_as_before(self):
        """weight_norm keeps the weight that its last pass made: it must not be one of
        torch.func's."""
        model = nn.utils.weight_norm(nn.Linear(3, 2))
        made = model.weight
        exact.gradients(model, functional.cross_entropy, torch.randn(5, 3),
                        torch.zeros(5, dtype=torch.long))
        self.assertIs(model.weight, made)

    def test_what_hooks_refuse_it_takes_with_hooks_on(self):
        model = Of(lambda m, x: m.out((m.words(x) + m.places(torch.arange(x.shape[1]))).mean(1)),
                   words=nn.Embedding(9, 4), places=nn.Embedding(9, 4), out=nn.Linear(4, 2))
        exact.per_example(model)
        found = exact.gradients(model, functional.cross_entropy, torch.randint(0, 9, (3, 5)),
                                torch.zeros(3, dtype=torch.long))
        self.assertEqual([len(rows) for rows in found], [3] * 4)

    def test_hooks_are_at_work_after_an_error(self):
        model, x = nn.Sequential(nn.Linear(3, 4), RootMeanSquare(4)), torch.randn(5, 3)
        exact.per_example(model, loss_reduction="sum")
        with self.assertRaisesRegex(ValueError, "loss: must return one number"):
            exact.gradients(model, lambda output, _: output, x, torch.zeros(5))
        model(x).sum().backward()
        self.assertTrue(all(len(p.grad_sample) == 5 for p in model.parameters()))

    def test_dropout_falls_on_each_example_alone(self):
        torch.manual_seed(7)
        model = nn.Sequential(nn.Dropout(0.5), nn.Linear(200, 1, bias=False))
        rows = exact.gradients(
            model, lambda output, _: output, torch.ones(6, 200), torch.zeros(6))[0][:, 0]
        self.assertEqual(sorted(set(rows.flatten().tolist())), [0.0, 2.0])
        self.assertEqual(len({tuple(row.tolist()) for row in rows}), 6)
        self.assertTrue((rows.mean(1) - 1).abs().max() < 0.4)
        self.assertTrue(torch.equal(exact.gradients(model.eval(), lambda output, _: output,
                                                    torch.ones(6, 200), torch.zeros(6))[0][:, 0],
                                    torch.ones(6, 200)))

    def test_buffers_and_frozen_parameters_that_are_written_are_named_and_kept(self):
        def moved(m, x):
            m.mean.mul_(0.9).add_(x.mean(0))

        def replaced(m, x):
            m.mean = m.mean + x.mean(0)

        def copied(m, x):
            m.mean.copy_(x.detach().mean(0))

        def counted(m, x):
            m.mean.add_(1)

        def frozen_too(m, x):
            m.kept.data.add_(1)
            m.kept.add_(1)
        for write in (moved, replaced, copied, counted, frozen_too):
            def forward(m, x, write=write):
                write(m, x)
                return m.a(x)
            model = Of(forward, a=nn.Linear(3, 2),
                       kept=nn.Parameter(torch.zeros(3), requires_grad=False))
            model.register_buffer("mean", torch.zeros(3))
            with self.subTest(write.__name__), self.assertRaisesRegex(
                    ValueError,
                    "model: its forward pass writes (mean|kept), which would leave without "
                    "noise"):
                exact.gradients(model, functional.cross_entropy, torch.ones(5, 3),
                                torch.zeros(5, dtype=torch.long))
            self.assertTrue(torch.equal(model.mean, torch.zeros(3)))

    def test_wrong_arguments_are_named(self):
        model, x, y = nn.Linear(3, 2), torch.randn(5, 3), torch.zeros(5, dtype=torch.long)
        loss = functional.cross_entropy
        for words, kind, arguments, named in (
                ("model: must be a torch.nn.Module, got function", TypeError, (loss, loss, x, y),
                 {}),
                ("model: no parameter requires a gradient", ValueError, (nn.Tanh(), loss, x, y),
                 {}),
                ("loss: must be a function", TypeError, (model, "sum", x, y), {}),
                (r"loss: must return one number for an example, got shape \[1, 2\]", ValueError,
                 (model, lambda output, _: output, x, y), {}),
                ("loss: must return one number for an example, got float", ValueError,
                 (model, lambda output, _: 1.0, x, y), {}),
                (r"targets: must have 5 examples, as inputs has, got 4", ValueError,
                 (model, loss, x, y[:4]), {}),
                (r"inputs\[1\]: must have 5 examples, as inputs\[0\] has, got 2", ValueError,
                 (model, loss, (x, x[:2]), y), {}),
                (r"inputs\['b'\]: must have 5 examples", ValueError,
                 (model, loss, dict(a=x, b=x[:2]), y), {}),
                (r"inputs\[1\]: must have examples in its first dimension", ValueError,
                 (model, loss, (x, torch.tensor(1.0)), y), {}),
                ("inputs: must be a tensor, a tuple .* or a dict .*; got NoneType", TypeError,
                 (model, loss, None, y), {}),
                ("chunk_size: must be", ValueError, (model, loss, x, y), dict(chunk_size=0)),
                ("chunk_size: must be", TypeError, (model, loss, x, y), dict(chunk_size="2")),
                (r"model: torch cannot differentiate it one example at a time: ", ValueError,
                 (Of(lambda m, x: m.a(x) * x.sum().item(), a=nn.Linear(3, 2)), loss, x, y), {})):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                exact.gradients(*arguments, **named)
        self.assertFalse(hasattr(model.weight, "grad_sample"))


if __name__ == "__main__":
    unittest.main()
