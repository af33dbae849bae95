"""Sums of linear layers without per-example gradients: exact against big integers, bounded, near
the clipped sum."""
import math
import random
import unittest

import support
import dpledger

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402

BOUND = 1 << 24


def one_by_one(inputs, errors, clip_norm, bound, resolution):
    """Each example's integer vector alone: what it adds, as Python's own whole numbers."""
    found = []
    for row in range(len(inputs)):
        q = exact.ghost_clip_and_sum(inputs[row:row + 1], errors[row:row + 1], clip_norm, bound,
                                     resolution)
        found.append([int(v) for v in q.reshape(-1)])
    return found


class Ghost(unittest.TestCase):
    def batch(self, positions, seed=1, rows=6, width=7, out=5):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randn(rows, positions, width, generator=generator),
                torch.randn(rows, positions, out, generator=generator))

    def test_sums_are_the_clipped_gradients(self):
        for positions in (1, 4):
            inputs, errors = self.batch(positions)
            gradients = torch.einsum("bto,bti->boi", errors.double(), inputs.double())
            norms = gradients.reshape(6, -1).norm(dim=1)
            for clip_norm in (0.5, float(norms.median()), 2 * float(norms.max())):
                bound = BOUND
                total = exact.ghost_clip_and_sum(inputs, errors, clip_norm, bound, 2.0 ** 10)
                truth = (gradients / torch.clamp(norms, min=clip_norm)[:, None,
                                                                       None] * clip_norm).sum(0)
                ours = total.double() * clip_norm / (bound - math.sqrt(35) / 2)
                self.assertLess((ours - truth).norm() / truth.norm(), 0.01, (positions, clip_norm))

    def test_every_example_is_within_the_bound_and_alone_what_it_is_among_others(self):
        generator = random.Random(2)
        for case in range(40):
            inputs, errors = self.batch(generator.choice([1, 2, 5]), seed=case)
            kind = case % 5
            if kind == 1:
                inputs *= 10.0 ** generator.randrange(-12, 12)
                errors *= 10.0 ** generator.randrange(-12, 12)
            elif kind == 2:  # norms that cancel: the second position takes the first one back
                inputs[:, -1] = -inputs[:, 0]
                errors[:, -1] = errors[:, 0] * (1 + 1e-6)
            elif kind == 4:  # the same in numbers whose products are beyond 2^53
                inputs, errors = inputs * 300, errors * 300
                inputs[:, -1], errors[:, -1] = -inputs[:, 0], errors[:, 0] * (1 + 1e-6)
            elif kind == 3:
                errors[1, 0, 2] = generator.choice([math.nan, math.inf, -math.inf, 3e38])
                inputs[2, 0, 3] = generator.choice([math.nan, math.inf, -math.inf, 3e38])
            for bound in (BOUND, 1 << 10, 100):
                alone = one_by_one(inputs, errors, 1.0, bound, 2.0 ** 10)
                for q in alone:
                    self.assertLessEqual(sum(v * v for v in q), bound * bound)
                together = exact.ghost_clip_and_sum(inputs, errors, 1.0, bound, 2.0 ** 10)
                self.assertEqual([int(v) for v in together.reshape(-1)],
                                 [sum(column) for column in zip(*alone)])

    def test_norms_that_float64_cannot_hold_are_refused(self):
        from dpledger.torch import ghost
        generator, wrong = random.Random(4), 0
        for _ in range(200):
            a, e = (generator.randrange(2 ** 25, 2 ** 26) | 1 for _ in range(2))
            # e a - (e + 1) a = -a, far above the bound; in floats the square of it is what rounding
            # leaves of 2^102.
            inputs = torch.tensor([[[a], [-a]]], dtype=torch.float64)
            errors = torch.tensor([[[e], [e + 1]]], dtype=torch.float64)
            square = float(
                ((inputs @ inputs.transpose(1, 2)) * (errors @ errors.transpose(1, 2))).sum())
            wrong += square <= 1000 ** 2
            self.assertFalse(bool(ghost._judge(inputs, errors, 1000)[0]))
        self.assertGreater(wrong, 0)  # so that the test could fail

    def test_wrong_numbers_are_named(self):
        inputs, errors = self.batch(1)
        for words, bound, resolution in (("bound: must be in", 1 << 26, 1.0),
                                         ("bound: must be at least", 5, 1.0),
                                         ("resolution: must be a power of two", BOUND, 3.0)):
            with self.assertRaisesRegex(ValueError, words):
                exact.ghost_clip_and_sum(inputs, errors, 1.0, bound, resolution)


class Sums(support.WithServer):
    def test_a_layers_noised_sum_has_its_shape_and_value(self):
        ledger = self.recorder("ghost")
        torch.manual_seed(3)
        layers = [torch.nn.Linear(6, 4), torch.nn.Linear(4, 3, bias=False)]
        total = exact.GhostSum(layers, 1e-3, [1.0, 0.5], ledger, non_private_seed=1)
        pairs = [(torch.randn(8, 6), torch.randn(8, 4)), (torch.randn(8, 4), torch.randn(8, 3))]
        total.begin(dpledger.Poisson(0.1, 1000))
        total.add([(a[:3], e[:3]) for a, e in pairs])
        total.add([(a[3:], e[3:]) for a, e in pairs])
        (weight, bias), (second, none) = total.finish()
        self.assertIsNone(none)
        ones = torch.cat([pairs[0][0], torch.ones(8, 1)], 1)
        for inputs, errors, clip, found in ((ones, pairs[0][1], 1.0,
                                             torch.cat([weight, bias[:, None]], 1)),
                                            (*pairs[1], 0.5, second)):
            gradients = torch.einsum("bo,bi->boi", errors, inputs)
            norms = gradients.reshape(8, -1).norm(dim=1)
            truth = (gradients * torch.clamp(clip / norms, max=1)[:, None, None]).sum(0)
            self.assertLess((found - truth).norm() / truth.norm(), 0.02)
        total.begin(dpledger.Poisson(0.1, 1000))
        total.add([(torch.zeros(0, 6), torch.zeros(0, 4)), (torch.zeros(0, 4), torch.zeros(0, 3))])
        total.finish()
        for words, kind, wrong in (("pairs: must be 2", ValueError, pairs[:1]),
                                   (r"pairs\[0\]\[1\]: must be a tensor", TypeError,
                                    [(pairs[0][0], [1.0]), pairs[1]]),
                                   (r"pairs\[1\]\[0\]: must be a tensor of 32- or 16-bit floats",
                                    TypeError, [pairs[0], (pairs[1][0].double(), pairs[1][1])]),
                                   (r"pairs\[0\]\[0\]: must have the shape", ValueError,
                                    [(pairs[0][0][:, 1:], pairs[0][1]), pairs[1]]),
                                   (r"pairs\[1\]: inputs and errors", ValueError,
                                    [pairs[0], (pairs[1][0][1:], pairs[1][1][1:])])):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                total.add(wrong)
        with self.assertRaisesRegex(TypeError, r"layers\[0\]: must be a torch.nn.Linear"):
            exact.GhostSum([torch.nn.Conv2d(1, 1, 1)], 1.0, 1.0, ledger)
        ledger.leave()

    def test_a_sample_that_comes_twice_is_refused_and_its_round_ends(self):
        """Sums of a device hide their rows: the record would move the sum by two bounds."""
        ledger = self.recorder("twice")
        layer = torch.nn.Linear(2, 1)
        ghost = exact.GhostSum([layer], 1.0, 1.0, ledger, non_private_seed=1)
        device = exact.ExactSum(list(layer.parameters()), 1.0, 1.0, ledger, on_device=True,
                                non_private_seed=1)
        for total, rows in ((ghost, lambda n: [(torch.ones(n, 2), torch.ones(n, 1))]),
                            (device, lambda n: [torch.ones(n, 1, 2), torch.ones(n, 1)])):
            for sampler, times in ((dpledger.Sampler(dpledger.FullBatch(3)), 2),
                                   (dpledger.Sampler(dpledger.FullBatch(3)), 1)):
                with self.subTest(type(total).__name__, times=times):
                    n = len(sampler.draw())
                    total.begin(sampler)
                    for _ in range(times):
                        total.add(rows(n))
                    if times == 1:
                        total.finish()
                        continue
                    with self.assertRaisesRegex(ValueError, "rows: must not be more than the samp"):
                        total.finish()
        ledger.leave()


if __name__ == "__main__":
    unittest.main()
