#!/usr/bin/env python3
"""Trains with differential privacy in several processes that share each sample: one ledger, and noise once.

  ddp.py --path ddp.ledger --processes 2
  torchrun --nproc_per_node 2 ddp.py --server 127.0.0.1:7070 --ledger ddp

The first process has the ledger and draws. Each clips and sums the gradients of its share, exactly; the sums travel as
64-bit integers. They are as secret as the records, and torch.distributed does not encrypt: the network between the
processes must be trusted. Needs torch and dpledger.
"""
import argparse
import contextlib
import os
import tempfile

import torch
import torch.distributed as distributed

import dpledger
import dpledger.torch

POPULATION = 2500  # a constant chosen beforehand, no smaller than any data set of this run


def made_up():
    """Points on two sides of a plane, the same in every process."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2000, 8, generator=generator)
    return x, (x.sum(1) > 0).long()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="host:port; default: DPLEDGER_SERVER")
    parser.add_argument("--path", help="a folder for the ledger, instead of a server")
    parser.add_argument("--ledger", default="ddp")
    parser.add_argument("--spool", help="a folder that survives the trainer")
    parser.add_argument("--processes", type=int, default=2, help="without torchrun")
    parser.add_argument("--noise-multiplier", type=float, default=1.0)
    parser.add_argument("--sample-rate", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--clip-norm", type=float, default=1.0)
    parser.add_argument("--learning-rate", type=float, default=0.5)
    parser.add_argument("--delta", type=float, default=1e-5)
    return parser.parse_args()


def recorder(flags):
    if flags.path:
        where = dict(path=flags.path)
    else:
        where = dict(server=flags.server, ledger=flags.ledger, spool=flags.spool)
    return dpledger.Recorder(dataset="points", unit="point", planned_rounds=flags.steps, **where)


def train(flags):
    first = distributed.get_rank() == 0
    torch.set_num_threads(1)
    torch.manual_seed(0)  # the same weights in every process
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=flags.learning_rate)
    dpledger.torch.per_example(model, loss_reduction="sum")
    x, y = made_up()
    with recorder(flags) if first else contextlib.nullcontext() as ledger:
        sampler = dpledger.torch.PoissonBatchSampler(POPULATION, flags.sample_rate, steps=flags.steps,
                                                     records=len(x)) if first else None
        total = dpledger.torch.SharedSum(parameters, flags.noise_multiplier, flags.clip_norm, ledger)
        for _ in range(flags.steps):
            share = total.share(sampler)
            torch.nn.functional.cross_entropy(model(x[share]), y[share], reduction="sum").backward()
            total.add([p.grad_sample for p in parameters])
            for parameter, noised in zip(parameters, total.finish()):
                parameter.grad, parameter.grad_sample = noised / (POPULATION * flags.sample_rate), None
            optimizer.step()
        cost = ledger.epsilon(delta=flags.delta) if first else None
    weights = torch.cat([p.detach().reshape(-1) for p in parameters])
    everyone = [torch.empty_like(weights) for _ in range(distributed.get_world_size())]
    distributed.all_gather(everyone, weights)
    if first:
        # Computed from the data without noise: publishing it is a release of its own.
        right = (model(x).argmax(1) == y).float().mean()
        print("training accuracy  %.4f, NOT covered by epsilon" % right)
        print("processes          %d, weights %s" % (
            len(everyone), "the same" if all(torch.equal(weights, other) for other in everyone) else "DIFFER"))
        print("epsilon            %.6f at delta %g" % (cost.epsilon.upper, flags.delta))


def process(rank, flags, meeting):
    """One of several on this machine."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=flags.processes)
    train(flags)
    distributed.destroy_process_group()


def main():
    flags = parse()
    if "RANK" in os.environ:  # torchrun's
        distributed.init_process_group("gloo")
        train(flags)
        return
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(process, (flags, os.path.join(folder, "meeting")), flags.processes)


if __name__ == "__main__":
    main()
