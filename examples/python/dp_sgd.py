#!/usr/bin/env python3
"""Trains a linear classifier with differential privacy in PyTorch and keeps its ledger: examples/dp_sgd in Python.

  dp_sgd.py --server 127.0.0.1:7070 --ledger adult --target-epsilon 1 --data adult.data \\
      --schema examples/dp_sgd/adult_schema.json
  dp_sgd.py --server 127.0.0.1:7070 --ledger try --noise-multiplier 2      trains on a small made-up data set

A trainer that was killed is started again with the same flags: it begins a new model under the same ledger, which then
has both. Needs torch and dpledger.
"""
import argparse
import bisect
import csv
import json
import math
import os
import sys

import torch

import dpledger
import dpledger.torch

# At least as many records as there are to train on, decided without counting them: their number is a secret, since the
# ledger's adjacency adds or removes one. Rate, divisor and number of steps come from it alone.
POPULATION = 27_000  # of UCI Adult's 32,561 published records a fifth is held out
MADE_UP_POPULATION = 1_700


def features_of(column, cell):
    """One cell by the schema: public constants alone (examples/common/schema.h)."""
    kind = column["kind"]
    if kind == "category":
        return [float(value == cell) for value in column["values"]]
    if kind == "bucket":
        place = bisect.bisect_right(column["edges"], float(cell))
        return [float(i == place) for i in range(len(column["edges"]) + 1)]
    if kind == "number":
        low, high = column["minimum"], column["maximum"]
        above, span = min(max(float(cell), low), high) - low, high - low
        return [math.log1p(above) / math.log1p(span) if column.get("log") else above / span]
    return []


def read(data, schema):
    """Features [n, d], classes [n] and how many classes there are, by the schema."""
    with open(schema) as file:
        columns = json.load(file)["columns"]
    x, y = [], []
    with open(data) as file:
        for row in csv.reader(file, skipinitialspace=True):
            if not row:
                continue
            x.append([value for column, cell in zip(columns, row) for value in features_of(column, cell)])
            y += [column["values"].index(cell) for column, cell in zip(columns, row) if column["kind"] == "label"]
    return torch.tensor(x), torch.tensor(y), next(len(c["values"]) for c in columns if c["kind"] == "label")


def made_up():
    """Points on two sides of a plane."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2000, 8, generator=generator)
    return x, (x.sum(1) > 0).long(), 2


def held_out(rows):
    """A fifth of the records, by their number alone: those of examples/common/dataset.cc, by SplitMix64."""
    word = (1 << 64) - 1

    def unit(x):
        x = (x + 0x9e3779b97f4a7c15) & word
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & word
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb & word
        return ((x ^ (x >> 31)) >> 11) * 2.0 ** -53
    return torch.tensor([unit(~row & word) < 0.2 for row in range(rows)])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="host:port; default: DPLEDGER_SERVER")
    parser.add_argument("--ledger", default="try")
    parser.add_argument("--spool", help="a folder that survives the trainer")
    parser.add_argument("--data", help="a CSV file")
    parser.add_argument("--schema", help="what its columns are")
    parser.add_argument("--population", type=int,
                        help="a constant, at least the number of training records; default: %d for a file, %d for "
                             "made-up data" % (POPULATION, MADE_UP_POPULATION))
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--target-epsilon", type=float, help="finds the noise multiplier")
    parser.add_argument("--noise-multiplier", type=float)
    parser.add_argument("--epochs", type=float, default=10)
    parser.add_argument("--batch-size", type=float, default=256, help="expected")
    parser.add_argument("--clip-norm", type=float, default=1.0)
    parser.add_argument("--learning-rate", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=0)
    flags = parser.parse_args()
    if (flags.noise_multiplier is None) == (flags.target_epsilon is None):
        parser.error("give one of --target-epsilon and --noise-multiplier")
    if flags.population is None:
        flags.population = POPULATION if flags.data else MADE_UP_POPULATION
    return flags


def main():
    flags = parse()
    x, y, classes = read(flags.data, flags.schema) if flags.data else made_up()
    out = held_out(len(x))
    data = torch.utils.data.TensorDataset(x[~out], y[~out])
    rate = flags.batch_size / flags.population
    steps = math.ceil(flags.epochs / rate)
    noise = flags.noise_multiplier
    if noise is None:
        noise = dpledger.calibrate(target_epsilon=flags.target_epsilon, delta=flags.delta, sample_rate=rate,
                                   steps=steps).noise_multiplier
    print("population %d, %d features, noise multiplier %.6f, sampling probability %.6g, %d steps"
          % (flags.population, x.shape[1], noise, rate, steps), flush=True)
    model = torch.nn.Linear(x.shape[1], classes)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    with dpledger.Recorder(server=flags.server, dataset=os.path.basename(flags.data or "made up"), unit="example",
                           ledger=flags.ledger, spool=flags.spool, planned_rounds=steps) as ledger:
        sampler = dpledger.torch.PoissonBatchSampler(flags.population, rate, steps=steps)
        optimizer = dpledger.torch.PrivateOptimizer(
            torch.optim.SGD(model.parameters(), lr=flags.learning_rate), recorder=ledger, sampler=sampler,
            noise_multiplier=noise, max_grad_norm=flags.clip_norm, threads=flags.threads)
        dpledger.torch.per_example(model, loss_reduction="sum")
        for step, (inputs, labels) in enumerate(dpledger.torch.data_loader(data, sampler), 1):
            torch.nn.functional.cross_entropy(model(inputs), labels, reduction="sum").backward()
            optimizer.step()
            if step % 100 == 0 and sys.stderr.isatty():
                print("step %d of %d" % (step, steps), end="\r", file=sys.stderr)
        cost = ledger.epsilon(delta=flags.delta)
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float()
    # Computed from the data without noise: publishing them is a release of its own.
    print("training accuracy  %.4f, NOT covered by epsilon" % right[~out].mean())
    print("held-out accuracy  %.4f, NOT covered by epsilon" % right[out].mean())
    print("epsilon            %.6f at delta %g, ledger %s" % (cost.epsilon.upper, cost.delta, cost.ledger))


if __name__ == "__main__":
    main()
