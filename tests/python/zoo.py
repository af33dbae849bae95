"""Models and loops of every kind, for the harness: dpledger.torch, dpledger.numpy, dpledger.sums
and dpledger.opacus.

Each case says what becomes of it:
    passes    the loop keeps nothing but what its ledger says
    refused   the package refuses it, in the words given here, before anything moves that no release
              holds
    found     the package cannot see it, and the harness does: what is kept, or a round, is named in
              its error
"""
import collections
import copy
import decimal
import io
import logging
import pathlib
import sys
import warnings

import numpy
import torch

import dpledger
import dpledger.numpy
from dpledger import sums, torch as exact

try:
    import opacus  # noqa: F401
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "stand_ins"))
from dpledger import opacus as engines

nn, F = torch.nn, torch.nn.functional
RECORDS, POPULATION, RATE, STEPS = 20, 24, 0.4, 3
CASES = {}


class Case:
    def __init__(self, name, make, loop, data, refused="", found="", adjacency="add-or-remove-one",
                 **options):
        self.name, self.make, self.loop, self.data = name, make, loop, data
        self.refused, self.found, self.options = refused, found, dict(options, adjacency=adjacency)


def case(make, data, **options):
    """Adds the loop under its function's name."""
    def add(loop):
        name = loop.__name__.replace("_", "-")
        assert name not in CASES, name
        CASES[name] = Case(name, make, loop, data, **options)
        return loop
    return add


# Data: two classes, so little of it that a record is in every second batch.


def points():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(RECORDS, 4, generator=generator)
    return torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())


def images(channels=2):
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(RECORDS, channels, 6, 6, generator=generator)
    return torch.utils.data.TensorDataset(x, (x.mean((1, 2, 3)) > 0).long())


def texts():
    generator = torch.Generator().manual_seed(5)
    x = torch.randint(0, 11, (RECORDS, 5), generator=generator)
    return torch.utils.data.TensorDataset(x, (x.sum(1) % 2).long())


def sequences():
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(RECORDS, 5, 4, generator=generator)
    return torch.utils.data.TensorDataset(x, (x.sum((1, 2)) > 0).long())


class Pairs(torch.utils.data.Dataset):
    """A data set of one's own, which gives dicts."""

    def __init__(self):
        self.x, self.y = points().tensors

    def __len__(self):
        return RECORDS

    def __getitem__(self, index):
        return {"x": self.x[index], "y": int(self.y[index])}


# Models.


def linear():
    return nn.Linear(4, 2)


def mlp(*between):
    return nn.Sequential(nn.Linear(4, 6), *between, nn.Tanh(), nn.Linear(6, 2))


def body_and_head():
    return nn.Sequential(nn.Sequential(nn.Linear(4, 6), nn.Tanh()), nn.Linear(6, 2))


def convolution(*between):
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), *between, nn.ReLU(), nn.Flatten(),
                         nn.Linear(144, 2))


def embedding(**options):
    return nn.Sequential(nn.Embedding(11, 4, **options), nn.Flatten(), nn.Linear(20, 2))


class Attention(nn.Module):
    """Attention and normalisation of layers, as a transformer has them."""

    def __init__(self):
        super().__init__()
        self.norm, self.attention, self.head = nn.LayerNorm(
            4), nn.MultiheadAttention(4, 2, batch_first=True), linear()

    def forward(self, x):
        y = self.norm(x)
        return self.head((x + self.attention(y, y, y, need_weights=False)[0]).mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.steps, self.head = kind(4, 4, **options), linear()

    def forward(self, x):
        return self.head(self.steps(x)[0][:, -1])


class OwnRecurrent(nn.Module):
    """A recurrence in plain operations, by gradients()."""

    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.Linear(8, 4), linear()

    def forward(self, x):
        state = torch.zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            state = torch.tanh(self.inner(torch.cat([x[:, t], state], 1)))
        return self.head(state)


class Tied(nn.Module):
    """An embedding whose weights are its output layer's, by a function that no hook sees."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)

    def forward(self, x):
        return F.linear(self.embedding(x).mean(1), self.embedding.weight)[:, :2]


class Bank(nn.Module):
    """Keeps the mean of what it saw last, and adds it to what it sees next."""

    def __init__(self, buffer):
        super().__init__()
        self.layer = linear()
        if buffer:
            self.register_buffer("last", torch.zeros(4))
        else:
            self.last = torch.zeros(4)

    def forward(self, x):
        output = self.layer(x + self.last)
        if len(x):
            self.last = x.detach().mean(0)
        return output


# Loops.


def sum_loss(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y, reduction="sum")


def poisson(steps=STEPS, rate=RATE):
    return exact.PoissonBatchSampler(POPULATION, rate, steps=steps)


def private(inner, ledger, sampler, **options):
    values = dict(noise_multiplier=1.0, max_grad_norm=1.0,
                  expected_batch_size=sampler.expected_batch_size)
    return exact.PrivateOptimizer(inner, recorder=ledger, sampler=sampler,
                                  **dict(values, **options))


def train(model, data, ledger, *, sampler=None, inner=None, loss=sum_loss, loader={}, **options):
    """The plain loop. Returns the optimizer, which is kept too."""
    sampler = sampler or poisson()
    optimizer = private(inner or torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), ledger,
                        sampler, **options)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler, **loader):
        loss(model, batch).backward()
        optimizer.step()
    return optimizer


@case(linear, points)
def plain(model, data, ledger):
    return train(model, data, ledger)


@case(mlp, points)
def adam(model, data, ledger):
    return train(model, data, ledger, inner=torch.optim.Adam(model.parameters()))


@case(mlp, points)
def clipped_by_parameter(model, data, ledger):
    return train(model, data, ledger, max_grad_norm=[0.5, 0.1, 1.0, 0.3])


@case(mlp, points)
def on_device(model, data, ledger):
    return train(model, data, ledger, on_device=True)


@case(convolution, images)
def convolutions(model, data, ledger):
    return train(model, data, ledger)


@case(embedding, texts)
def embeddings(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: embedding(max_norm=0.5), texts, refused="model: 0 .*max_norm=None")
def embeddings_of_a_greatest_norm(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: mlp(nn.LayerNorm(6)), points)
def layer_norm(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: convolution(nn.GroupNorm(2, 4)), images)
def group_norm(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: convolution(nn.InstanceNorm2d(4, affine=True)), images)
def instance_norm(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: convolution(nn.InstanceNorm2d(4, track_running_stats=True)), images,
      refused="model: 1 .*track_running_stats=False")
def instance_norm_that_tracks(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: convolution(nn.BatchNorm2d(4)), images,
      refused="model: 1 .*mixes the records of a batch")
def batch_norm(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: convolution(nn.BatchNorm2d(4, affine=False)), images,
      refused="model: 1 .*mixes the records of a batch")
def batch_norm_by_functional_gradients(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    for x, y in exact.data_loader(data, sampler):
        exact.gradients(model, F.cross_entropy, x, y)
        optimizer.step()


@case(Attention, sequences)
def attention(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: Recurrent(nn.LSTM, batch_first=True), sequences)
def lstm(model, data, ledger):
    return train(model, data, ledger)


@case(lambda: Recurrent(nn.GRU, batch_first=False), sequences,
      refused="model: steps .*batch_first=True")
def recurrence_over_time_first(model, data, ledger):
    return train(model, data, ledger)


@case(OwnRecurrent, sequences)
def recurrence_by_functional_gradients(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.Adam(model.parameters()), ledger, sampler)
    for x, y in exact.data_loader(data, sampler):
        exact.gradients(model, F.cross_entropy, x, y)
        optimizer.step()
    return optimizer


@case(lambda: mlp(nn.Dropout(0.5)), points)
def dropout(model, data, ledger):
    return train(model, data, ledger)


@case(linear, sequences, refused="rows")
def tokens_as_rows(model, data, ledger):
    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x.reshape(-1, 4)), y.repeat_interleave(5), reduction="sum")
    return train(model, data, ledger, loss=loss)


@case(linear, sequences, refused="rows|examples")
def sequence_first(model, data, ledger):
    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x.transpose(0, 1)).mean(0), y, reduction="sum")
    return train(model, data, ledger, loss=loss)


@case(Tied, texts, refused="embedding.weight")
def tied_by_a_function(model, data, ledger):
    return train(model, data, ledger)


@case(Tied, texts)
def tied_by_functional_gradients(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    for x, y in exact.data_loader(data, sampler):
        exact.gradients(model, F.cross_entropy, x, y)
        optimizer.step()
    return optimizer


@case(linear, points, refused="weight")
def penalty_on_weights(model, data, ledger):
    return train(model, data, ledger,
                 loss=lambda model, batch: sum_loss(model, batch) + model.weight.square().sum())


@case(mlp, points, refused="0.weight|grad")
def penalty_on_gradients(model, data, ledger):
    def loss(model, batch):
        x = batch[0].requires_grad_()
        found = sum_loss(model, (x, batch[1]))
        return found + torch.autograd.grad(found, x, create_graph=True)[0].square().sum()
    return train(model, data, ledger, loss=loss)


@case(linear, points, refused='loss_reduction: is "sum"')
def mean_of_a_loss_said_to_be_a_sum(model, data, ledger):
    return train(model, data, ledger, loss=lambda model,
                 batch: F.cross_entropy(model(batch[0]), batch[1]))


@case(body_and_head, points)
def frozen_body(model, data, ledger):
    model[0].requires_grad_(False)
    return train(model, data, ledger)


@case(body_and_head, points, refused="0.0.weight|parameter")
def unfrozen_later(model, data, ledger):
    model[0].requires_grad_(False)
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=1.0), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for step, batch in enumerate(exact.data_loader(data, sampler)):
        if step == 1:
            model[0].requires_grad_(True)
        sum_loss(model, batch).backward()
        optimizer.step()


@case(body_and_head, points, refused="add_param_group")
def group_added_later(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model[1].parameters(), lr=1.0), ledger, sampler)
    optimizer.add_param_group({"params": list(model[0].parameters())})
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward()
        optimizer.step()


@case(body_and_head, points, refused="0.0.weight|parameter")
def group_added_to_the_inner_optimizer(model, data, ledger):
    sampler, inner = poisson(), torch.optim.SGD(model[1].parameters(), lr=1.0)
    optimizer = private(inner, ledger, sampler)
    inner.add_param_group({"params": list(model[0].parameters())})
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward()
        optimizer.step()


def beside(model, data, ledger, **how):
    """A loop that trains the head privately, and steps the body by what backward() left."""
    sampler, plain = poisson(), torch.optim.SGD(model[0].parameters(), lr=0.1)
    optimizer = private(torch.optim.SGD(model[1].parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model[1], loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward(**how)
        optimizer.step()
        plain.step()
        plain.zero_grad()


@case(body_and_head, points, refused="gave a parameter of shape .* no sum: let it be stepped with")
def a_plain_optimizer_of_the_body(model, data, ledger):
    beside(model, data, ledger)


@case(body_and_head, points)
def a_plain_optimizer_of_what_is_given_nothing(model, data, ledger):
    beside(model, data, ledger, inputs=list(model[1].parameters()))


@case(body_and_head, points)
def a_body_trained_on_public_records(model, data, ledger):
    """By an optimizer of its own, whose backward passes go through the private head."""
    sampler, public = poisson(), torch.optim.SGD(model[0].parameters(), lr=0.1)
    optimizer = private(torch.optim.SGD(model[1].parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model[1], loss_reduction="sum")
    x = torch.linspace(-1, 1, 32).reshape(8, 4)
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, (x, (x.sum(1) > 0).long())).backward()
        public.step()
        optimizer.zero_grad()
        with torch.no_grad():
            features = model[0](batch[0])
        sum_loss(model[1], (features, batch[1])).backward()
        optimizer.step()


@case(body_and_head, points)
def stale_gradient_of_a_frozen_body(model, data, ledger):
    sum_loss(model, [column[:9] for column in (data.tensors)]).backward()  # to see that it works
    model[0].requires_grad_(False)
    return train(model, data, ledger, inner=torch.optim.SGD(model.parameters(), lr=1.0))


@case(embedding, texts)
def two_optimizers_as_one(model, data, ledger):
    return train(model, data, ledger, inner=[torch.optim.SGD(model[0].parameters(), lr=0.1),
                                             torch.optim.Adam(model[2].parameters())])


@case(embedding, texts, refused="sampler: serves another PrivateOptimizer")
def two_optimizers_on_one_sample(model, data, ledger):
    sampler = poisson()
    optimizers = [private(torch.optim.SGD(part.parameters(), lr=0.1), ledger, sampler)
                  for part in (model[0], model[2])]
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward()
        for optimizer in optimizers:
            optimizer.step()


@case(linear, points, refused="sample 1 has had its step")
def two_steps_on_one_sample(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        for _ in range(2):
            sum_loss(model, batch).backward()
            optimizer.step()


@case(mlp, points)
def micro_batches(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for x, y in exact.data_loader(data, sampler):
        for part in zip(x.split(3), y.split(3)):
            sum_loss(model, part).backward()
            optimizer.accumulate()
        optimizer.step(**({} if len(x) else dict(empty=True)))
    return optimizer


@case(linear, points, refused="rows|records")
def micro_batch_taken_twice(model, data, ledger):
    sampler = poisson(rate=0.9)
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for x, y in exact.data_loader(data, sampler):
        for _ in range(2):
            sum_loss(model, (x, y)).backward()
            optimizer.accumulate()
        optimizer.step()


@case(linear, points)
def left_early(model, data, ledger):
    sampler = poisson(steps=5)
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for _ in range(2):
        for step, batch in enumerate(exact.data_loader(data, sampler)):
            if step == 2:
                break
            sum_loss(model, batch).backward()
            optimizer.step()
    return optimizer


@case(linear, points, refused="was given and passed over")
def batch_passed_over(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for step, (x, y) in enumerate(exact.data_loader(data, sampler)):
        if step == 1:
            continue
        sum_loss(model, (x, y)).backward()
        optimizer.step()


@case(embedding, texts)
def empty_batches(model, data, ledger):
    return train(model, data, ledger, sampler=poisson(steps=6, rate=0.03))


@case(linear, points)
def forked_workers(model, data, ledger):
    return train(model, data, ledger, loader=dict(num_workers=1))


@case(linear, points, neighbours=1)
def spawned_workers(model, data, ledger):
    return train(model, data, ledger, loader=dict(num_workers=1, multiprocessing_context="spawn"))


@case(linear, Pairs)
def dicts(model, data, ledger):
    return train(model, data, ledger, loss=lambda model,
                 batch: sum_loss(model, (batch["x"], batch["y"])))


@case(linear, points, adjacency="replace-one")
def fixed_size(model, data, ledger):
    return train(model, data, ledger, sampler=exact.FixedSizeBatchSampler(RECORDS, 8, steps=STEPS))


@case(linear, points, adjacency="zero-out")
def shuffled(model, data, ledger):
    return train(model, data, ledger, sampler=exact.ShuffledBatchSampler(RECORDS, 3, epochs=2))


@case(linear, points, adjacency="zero-out")
def allocated(model, data, ledger):
    return train(model, data, ledger, sampler=exact.AllocatedBatchSampler(POPULATION, 3, epochs=2))


@case(linear, points)
def full_batch(model, data, ledger):
    return train(model, data, ledger, sampler=exact.FullBatchSampler(POPULATION, steps=STEPS))


@case(linear, points)
def stated_scheme(model, data, ledger):
    optimizer = exact.PrivateOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), recorder=ledger,
                                       scheme=dpledger.FullBatch(POPULATION), noise_multiplier=1.0,
                                       max_grad_norm=1.0, expected_batch_size=POPULATION)
    exact.per_example(model, loss_reduction="sum")
    for _ in range(STEPS):
        sum_loss(model, data.tensors).backward()
        optimizer.step()


@case(mlp, points)
def schedule(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward()
        optimizer.step()
        schedule.step()
    return optimizer, schedule.get_last_lr()


@case(mlp, points)
def closure(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        def evaluate():
            optimizer.zero_grad()
            loss = sum_loss(model, batch)
            loss.backward()
            return loss
        optimizer.step(evaluate)
    return optimizer


@case(mlp, points)
def average_of_weights(model, data, ledger):
    average = copy.deepcopy(model)
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward()
        optimizer.step()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), model.parameters()):
                mean.lerp_(now, 0.1)
    return average


@case(mlp, points)
def stopped_and_carried_on(model, data, ledger):
    optimizer = train(model, data, ledger)
    other = mlp()
    other.load_state_dict(model.state_dict())
    sampler = poisson()
    second = private(torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9), ledger, sampler)
    second.load_state_dict(optimizer.state_dict())
    exact.per_example(other, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(other, batch).backward()
        second.step()
    return other, second


@case(linear, points)
def public_evaluation(model, data, ledger):
    train(model, data, ledger)
    held_out = torch.linspace(-1, 1, 20).view(5, 4)
    print("predictions", model(held_out).argmax(1).tolist())
    return ledger.epsilon(delta=1e-5)


@case(linear, points, found=r"line 1 of what it prints is 'loss")
def training_loss_printed(model, data, ledger):
    train(model, data, ledger)
    print("loss", sum_loss(model, data.tensors).item())


@case(linear, points, found=r"line 1 of what it prints is 'loss")
def training_loss_logged(model, data, ledger):
    train(model, data, ledger)
    logging.getLogger("run").warning("loss %r", sum_loss(model, data.tensors).item())


# What hides a raw loss: each of these was looked past once.


class Meter:
    """As torchmetrics has them: an object that is called."""

    def __init__(self):
        self.values = []

    def __call__(self, value):
        self.values.append(float(value))


class Slotted:
    __slots__ = ("loss",)


def raw_losses(hide):
    def loop(model, data, ledger):
        losses = []
        train(model, data, ledger, loss=lambda model, batch: losses.append(
            sum_loss(model, batch).item()) or sum_loss(model, batch))
        return hide(losses)
    loop.__name__ = hide.__name__
    return loop


def losses_in_a_meter(losses):
    meter = Meter()
    for loss in losses:
        meter(loss)
    return meter


def losses_in_a_closure(losses):
    return lambda: losses


def losses_in_slots(losses):
    kept = Slotted()
    kept.loss = losses[0]
    return kept


def losses_in_a_queue(losses):
    return collections.deque(losses)


def losses_in_a_stream(losses):
    stream = io.BytesIO()
    torch.save(losses, stream)
    return stream


def losses_in_decimals(losses):
    return [decimal.Decimal(loss) for loss in losses]


for hide in (losses_in_a_meter, losses_in_a_closure, losses_in_slots, losses_in_a_queue,
             losses_in_a_stream, losses_in_decimals):
    case(linear, points, found="returned.* is ")(raw_losses(hide))


# Numbers of the data that a neighbour hardly moves.


@case(linear, points, found="round 1 has rows of other records that move")
def a_start_from_the_first_records(model, data, ledger):
    with torch.no_grad():
        model.bias.copy_(data.tensors[0][:8].mean(0)[:2])
    return train(model, data, ledger)


@case(linear, points, found="how many rounds there are depends on the data")
def steps_of_a_rounded_size(model, data, ledger):
    return train(model, data, ledger, sampler=poisson(steps=len(data) // 8))


@case(linear, points, found=r"On half of the records, .* model\.weight moves by")
def a_divisor_of_a_rounded_size(model, data, ledger):
    return train(model, data, ledger, expected_batch_size=round(RATE * len(data) / 4))


class Labelled(torch.utils.data.Dataset):
    def __init__(self):
        self.data, self.targets = points().tensors
        self.scale = torch.tensor(0.5)  # a constant

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index], self.targets[index]


@case(linear, Labelled, refused="the loop reads all its records as .targets")
def labels_of_a_data_set_of_ones_own(model, data, ledger):
    torch.bincount(data.targets)
    return train(model, data, ledger)


@case(linear, Labelled)
def a_constant_of_a_data_set_of_ones_own(model, data, ledger):
    inner = torch.optim.SGD(model.parameters(), lr=float(data.scale))
    return train(model, data, ledger, inner=inner)


@case(linear, points)
def a_warning_that_is_shown_once(model, data, ledger):
    warnings.warn("the first run of several shows it")  # torch's own passes would show it again


@case(linear, points, refused="or over their weights")
def a_mean_weighted_by_classes(model, data, ledger):
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 8.0]))
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="mean")
    for features, labels in exact.data_loader(data, sampler):
        loss(model(features), labels).backward()
        optimizer.step()


def tokens():
    generator = torch.Generator().manual_seed(5)
    x = torch.randint(0, 11, (RECORDS, 5), generator=generator)
    y = x.roll(-1, 1)
    y[:, 4] = torch.where(torch.arange(RECORDS) % 2 == 0, torch.tensor(-100), y[:, 4])
    return torch.utils.data.TensorDataset(x, y)


def language_model():
    return nn.Sequential(nn.Embedding(11, 4), nn.Linear(4, 11))


def language_loss(at):
    def loop(model, data, ledger):
        sampler = poisson()
        optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
        exact.per_example(model, loss_reduction="mean")
        for x, y in exact.data_loader(data, sampler):
            at(model(x), y).backward()
            optimizer.step()
        return optimizer
    loop.__name__ = at.__name__
    return loop


def labels_left_out_of_a_mean(scores, y):
    return F.cross_entropy(scores.reshape(-1, 11), y.reshape(-1))


def labels_left_out_by_place(scores, y):
    return F.cross_entropy(scores.transpose(1, 2), y)


def labels_left_out_each_by_itself(scores, y):
    losses = F.cross_entropy(scores.transpose(1, 2), y, reduction="none")
    return losses.mean(1).mean()


def labels_that_are_all_there(scores, y):
    return F.cross_entropy(scores.reshape(-1, 11), y.clamp(min=0).reshape(-1))


for at in (labels_left_out_of_a_mean, labels_left_out_by_place):
    case(language_model, tokens, refused="labels of the batch that are not ignored")(
        language_loss(at))
for at in (labels_left_out_each_by_itself, labels_that_are_all_there):
    case(language_model, tokens)(language_loss(at))


@case(linear, points, found="round 1 has a sum of group 'all' that moves by .* when one record")
def a_loss_that_depends_on_the_place_in_the_batch(model, data, ledger):
    def loss(model, batch):
        scores, y = model(batch[0]), batch[1]
        return (F.cross_entropy(scores[::2], y[::2], reduction="sum")
                + F.cross_entropy(scores[1::2], 1 - y[1::2], reduction="sum"))
    return train(model, data, ledger, loss=loss)


class Centred(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


@case(lambda: mlp(Centred()), points, refused=r"model: 1 \(Centred\) gives .* it mixes the records")
def centred_by_the_batch(model, data, ledger):
    return train(model, data, ledger)


@case(linear, points, refused=r"loss: takes the rows of the model.s output together \(mm\)")
def contrast(model, data, ledger):
    def loss(model, batch):
        rows = F.normalize(model(batch[0]))
        return F.cross_entropy(rows @ rows.T, torch.arange(len(rows)), reduction="sum")
    return train(model, data, ledger, loss=loss)


@case(linear, points)
def weights_and_a_plain_mean(model, data, ledger):
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 8.0]), reduction="none")
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="mean")
    for features, labels in exact.data_loader(data, sampler):
        loss(model(features), labels).mean().backward()
        optimizer.step()
    return optimizer


@case(mlp, points)
def autocast(model, data, ledger):
    def loss(model, batch):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return sum_loss(model, batch)
    return train(model, data, ledger, loss=loss)


@case(lambda: mlp().bfloat16(), points)
def numbers_of_16_bits(model, data, ledger):
    return train(model, data, ledger, loss=lambda model, batch: sum_loss(
        model, (batch[0].bfloat16(), batch[1])))


def with_step(model, data, ledger, body, **options):
    """A loop whose steps `body(optimizer, batch)` makes."""
    sampler = poisson(**options)
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        body(optimizer, batch)
    return optimizer


@case(linear, points, found="round 1 has rows of other records that move")
def loss_over_the_batchs_own_size(model, data, ledger):
    def body(optimizer, batch):
        (sum_loss(model, batch) / max(1, len(batch[0]))).backward()
        optimizer.step()
    with_step(model, data, ledger, body, steps=2)  # a third size would show it to the guards


@case(linear, points, refused="or over their weights")
def class_weights_of_the_batch(model, data, ledger):
    def body(optimizer, batch):
        counts = torch.bincount(batch[1], minlength=2).clamp(min=1)
        F.cross_entropy(model(batch[0]), batch[1], 1 / counts, reduction="sum").backward()
        optimizer.step()
    with_step(model, data, ledger, body)


@case(linear, points, refused=r"loss: takes the rows of the model.s output together")
def hardest_half_of_the_batch(model, data, ledger):
    def body(optimizer, batch):
        losses = F.cross_entropy(model(batch[0]), batch[1], reduction="none")
        losses.topk(len(losses) // 2).values.sum().backward()
        optimizer.step()
    with_step(model, data, ledger, body)


@case(linear, points, refused=r"loss: takes the rows of the model.s output together \(gt\)")
def harder_than_the_batch(model, data, ledger):
    def body(optimizer, batch):
        losses = F.cross_entropy(model(batch[0]), batch[1], reduction="none")
        (losses * (losses > losses.detach().mean())).sum().backward()
        optimizer.step()
    with_step(model, data, ledger, body)


@case(linear, points, refused="fewer rows than the sample has records")
def gradients_zeroed_between_micro_batches(model, data, ledger):
    def body(optimizer, batch):
        for part in zip(batch[0].split(3), batch[1].split(3)):
            optimizer.zero_grad(set_to_none=False)
            sum_loss(model, part).backward()
        optimizer.step()
    with_step(model, data, ledger, body)


@case(linear, points)
def both_ways_in_one_step(model, data, ledger):
    def body(optimizer, batch):
        parts = list(zip(batch[0].split(3), batch[1].split(3)))
        for number, part in enumerate(parts):
            if number % 2:
                exact.gradients(model, F.cross_entropy, *part)
            else:
                sum_loss(model, part).backward()
            optimizer.accumulate()
        optimizer.step(empty=True)
    return with_step(model, data, ledger, body)


@case(linear, points, found=r"returned\.weight moves by")
def average_of_a_twin_without_noise(model, data, ledger):
    twin, average = copy.deepcopy(model), copy.deepcopy(model)
    raw = torch.optim.SGD(twin.parameters(), lr=0.1)

    def body(optimizer, batch):
        raw.zero_grad()
        sum_loss(twin, batch).backward()
        raw.step()
        sum_loss(model, batch).backward()
        optimizer.step()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), twin.parameters()):
                mean.lerp_(now, 0.1)
    with_step(model, data, ledger, body)
    return average


@case(linear, points, found=r"returned\['best'\] is ")
def schedule_of_the_private_loss(model, data, ledger):
    schedules = []

    def body(optimizer, batch):
        schedules.append(torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0))
        loss = sum_loss(model, batch)
        loss.backward()
        optimizer.step()
        schedules[-1].step(float(loss))
    with_step(model, data, ledger, body, steps=1)
    return schedules[-1].state_dict()


@case(linear, points, found=r"returned\[0\] is")
def batch_sizes_returned(model, data, ledger):
    sizes = []
    train(model, data, ledger, loss=lambda model, batch: sizes.append(len(batch[0]))
          or sum_loss(model, batch))
    return sizes


@case(linear, points, found="how many rounds there are depends on the data")
def stop_where_a_batch_is_odd(model, data, ledger):
    sampler = poisson(steps=2)
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        if len(batch[0]) % 2:
            break
        sum_loss(model, batch).backward()
        optimizer.step()


@case(linear, points, found=r"model\.weight moves by")
def learning_rate_from_the_loss(model, data, ledger):
    sampler = poisson(steps=1)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = private(inner, ledger, sampler)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        loss = sum_loss(model, batch)
        loss.backward()
        inner.param_groups[0]["lr"] = 0.1 / (1 + float(loss))
        optimizer.step()


@case(linear, points, found=r"model\.weight moves by")
def divisor_of_the_data(model, data, ledger):
    return train(model, data, ledger, sampler=poisson(steps=1),
                 expected_batch_size=RATE * len(data))


@case(linear, points, found="states its sample by population_size=19, and by population_size=20")
def population_of_the_data(model, data, ledger):
    return train(model, data, ledger,
                 sampler=exact.PoissonBatchSampler(len(data), RATE, steps=STEPS))


@case(linear, points, found="round . has (a sum of group .all.|rows of other records) that move")
def features_scaled_by_the_data(model, data, ledger):
    x, y = data.tensors
    return train(model, torch.utils.data.TensorDataset((x - x.mean(0)) / x.std(0), y), ledger)


@case(lambda: Bank(buffer=True), points, refused="model: a forward pass writes last of Bank")
def state_in_a_buffer(model, data, ledger):
    sampler = poisson()
    optimizer = private(torch.optim.SGD(model.parameters(), lr=0.1), ledger, sampler, model=model)
    exact.per_example(model, loss_reduction="sum")
    for batch in exact.data_loader(data, sampler):
        sum_loss(model, batch).backward()
        optimizer.step()


class Growing(nn.Module):
    """An observer of quantisation: its first pass gives the buffer a size."""

    def __init__(self):
        super().__init__()
        self.body = linear()
        self.register_buffer("seen", torch.zeros(0))

    def forward(self, x):
        self.seen.resize_(4).copy_(x.detach().amax(0) if len(x) else torch.zeros(4))
        return self.body(x)


@case(Growing, points, refused="model: a forward pass writes seen of Growing")
def state_in_a_buffer_that_grows(model, data, ledger):
    with_step(model, data, ledger, lambda optimizer, batch: (sum_loss(model, batch).backward(),
                                                             optimizer.step()))


@case(lambda: Bank(buffer=False), points, found=r"sum of group 'all'|model\.last moves by")
def state_in_an_attribute(model, data, ledger):
    return train(model, data, ledger)


# Sums without PrivateOptimizer.


@case(mlp, points)
def ghost_sums(model, data, ledger):
    layers = [model[0], model[2]]
    total = exact.GhostSum(layers, 1.0, 1.0, ledger)
    sampler = dpledger.Sampler(dpledger.Poisson(RATE, POPULATION))
    for _ in range(STEPS):
        rows = [index for index in sampler.draw() if index < len(data)]
        total.begin(sampler)
        if rows:
            x, y = (column[rows] for column in data.tensors)
            inner = model[0](x)
            outer = model[2](torch.tanh(inner))
            errors = torch.autograd.grad(F.cross_entropy(outer, y, reduction="sum"), (inner, outer))
            total.add(list(zip((x, torch.tanh(inner)), errors)))
        with torch.no_grad():
            for layer, found in zip(layers, total.finish()):
                layer.weight -= 0.1 * found[0] / POPULATION
                layer.bias -= 0.1 * found[1] / POPULATION


def zeros():
    return {"weights": numpy.zeros((4, 2), numpy.float32)}


def arrays():
    x, y = points().tensors
    return x.numpy(), y.numpy()


def softmax_rows(model, x, y):
    scores = numpy.exp(numpy.clip(x @ model["weights"], -30, 30))
    errors = scores / scores.sum(1, keepdims=True) - numpy.eye(2, dtype=numpy.float32)[y]
    return (x[:, :, None] * errors[:, None, :]).astype(numpy.float32)


def numpy_loop(model, data, ledger, rows_of=softmax_rows, records=None, steps=STEPS):
    x, y = data
    total = dpledger.numpy.ExactSum([(4, 2)], 1.0, 1.0, ledger)
    sampler = dpledger.Sampler(dpledger.Poisson(RATE, POPULATION))
    for _ in range(steps):
        rows = [index for index in sampler.draw() if index < len(x)]
        total.begin(sampler)
        total.add(rows_of(model, x[rows], y[rows]))
        model["weights"] -= 0.1 * total.finish()[0] / (RATE * POPULATION if records is None
                                                       else records(rows))


@case(zeros, arrays)
def numpy_sums(model, data, ledger):
    numpy_loop(model, data, ledger)


@case(zeros, arrays, refused="rows|records")
def numpy_rows_twice(model, data, ledger):
    def twice(model, x, y):
        rows = softmax_rows(model, x, y)
        return numpy.concatenate([rows] * 3)
    numpy_loop(model, data, ledger, twice)


@case(zeros, arrays, found=r"model\['weights'\] moves by")
def numpy_divided_by_the_batch(model, data, ledger):
    numpy_loop(model, data, ledger, records=lambda rows: max(1, len(rows)), steps=1)


@case(zeros, arrays, found="round . has (a sum of group .all.|rows of other records) that move")
def numpy_rows_less_their_mean(model, data, ledger):
    def centred(model, x, y):
        rows = softmax_rows(model, x, y)
        return rows - rows.mean(0) if len(rows) else rows
    numpy_loop(model, data, ledger, centred)


@case(zeros, arrays)
def buffers_of_several_ranks(model, data, ledger):
    """One sum for each of two shares of a sample; the first rank adds both, and the noise."""
    x, y = data
    groups = [sums.ClipGroup("first", 4, 0.5), sums.ClipGroup("second", 4, 1.0)]
    total = sums.Privatizer(groups, 1.0, ledger)
    shares = [sums.Sum(groups, 1.0), sums.Sum(groups, 1.0)]
    sampler = dpledger.Sampler(dpledger.Poisson(RATE, POPULATION))
    for _ in range(STEPS):
        rows = [index for index in sampler.draw() if index < len(x)]
        total.begin(sampler)
        for rank, share in enumerate(shares):
            share.clear()
            share.accumulate(softmax_rows(model, x[rows[rank::2]], y[rows[rank::2]]).reshape(-1, 8))
            total.add_sums(share.values(), share.rows)
        model["weights"] -= 0.01 * numpy.frombuffer(total.finish(), numpy.float32).reshape(4, 2)


@case(zeros, arrays)
def microbatches(model, data, ledger):
    """Each row is the mean over four records, so one record changes a row by up to twice the clip
    norm."""
    x, y = data
    total = sums.Privatizer([sums.ClipGroup("all", 8, 1.0)], 1.0, ledger, microbatches=True)
    for _ in range(STEPS):
        total.begin(dpledger.FullBatch(POPULATION))
        for first in range(0, POPULATION, 4):
            rows = softmax_rows(model, x[first:first + 4], y[first:first + 4]).sum(0) / 4
            total.accumulate(rows.reshape(1, 8).astype(numpy.float32))
        model["weights"] -= 0.01 * numpy.frombuffer(total.finish(), numpy.float32).reshape(4, 2)


# Opacus, or the stand-in.


def opacus_loop(model, data, ledger, *, passes=2, loop=None, batch=8, make={}, **engine):
    loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)
    private_engine = engines.PrivacyEngine(recorder=ledger, **engine)
    model, optimizer, loader = private_engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader,
        noise_multiplier=1.0, max_grad_norm=1.0, **make)

    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    for _ in range(passes):
        for position, (x, y) in enumerate(loader):
            if loop is None or loop(position, x, y, step) is not True:
                step(x, y)
    optimizer.zero_grad()
    return optimizer.original_optimizer


@case(linear, points)
def opacus_poisson(model, data, ledger):
    return opacus_loop(model, data, ledger, population=POPULATION)


@case(linear, points, found="round 1 states its sample by")
def opacus_population_of_the_data(model, data, ledger):
    return opacus_loop(model, data, ledger)


@case(linear, points, adjacency="zero-out")
def opacus_shuffled(model, data, ledger):
    return opacus_loop(model, data, ledger, sampler="opacus", make=dict(poisson_sampling=False))


@case(linear, points, adjacency="zero-out")
def opacus_left_over_passed_over(model, data, ledger):
    return opacus_loop(model, data, ledger, sampler="opacus", make=dict(poisson_sampling=False),
                       loop=lambda position, x, y, step: len(x) < 8)


@case(linear, points, refused="a sample was passed over before this step")
def opacus_small_batches_passed_over(model, data, ledger):
    return opacus_loop(model, data, ledger, population=POPULATION, loop=lambda position, x, y,
                       step: position == 1)


@case(linear, points, refused="a second step on one sample")
def opacus_two_steps_on_one_sample(model, data, ledger):
    return opacus_loop(model, data, ledger, population=POPULATION, loop=lambda position, x, y,
                       step: step(x, y))


@case(linear, points, refused="not one row for each record")
def opacus_rows_twice(model, data, ledger):
    return opacus_loop(model, data, ledger, population=POPULATION,
                       loop=lambda position, x, y, step: step(torch.cat([x, x]), torch.cat([y, y])))


@case(lambda: mlp(nn.BatchNorm1d(6)), points, refused="model: 1 .*mixes the records of a batch")
def opacus_batch_norm(model, data, ledger):
    return opacus_loop(model, data, ledger, population=POPULATION)


@case(linear, points, refused="iterate over the loader that make_private returned")
def opacus_own_loader(model, data, ledger):
    private_engine = engines.PrivacyEngine(recorder=ledger, population=POPULATION)
    mine = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, _ = private_engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=mine,
        noise_multiplier=1.0, max_grad_norm=1.0)
    for x, y in mine:
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


@case(linear, points, adjacency="zero-out")
def opacus_allocated(model, data, ledger):
    """Dpledger's own sampler under Opacus' optimizer; passes are left in the middle of epochs."""
    private_engine = engines.PrivacyEngine(recorder=ledger)
    loader = exact.data_loader(data, exact.AllocatedBatchSampler(POPULATION, 3, epochs=2))
    model, optimizer, loader = private_engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader,
        noise_multiplier=1.0, max_grad_norm=1.0)
    for _ in range(2):
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step == 3:
                break
    optimizer.zero_grad()


@case(mlp, points)
def opacus_in_parts(model, data, ledger):
    from opacus.utils.batch_memory_manager import BatchMemoryManager
    private_engine = engines.PrivacyEngine(recorder=ledger, population=POPULATION)
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, loader = private_engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=loader,
        noise_multiplier=1.0, max_grad_norm=1.0)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=3,
                            optimizer=optimizer) as parts:
        for x, y in parts:
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
