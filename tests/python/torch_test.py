"""Exact sums beside torch: the C library's integers to the bit, bounds under hostile tensors."""
import math
import random
import unittest

import support
import dpledger
from dpledger import sums

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from dpledger import torch as exact  # noqa: E402

SCHEME = dpledger.Poisson(0.1, 1000)
HOSTILE = [0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 3.4e38, -3.4e38, 1e-45, 1.2e-38,
           0.5, 1e30, 65504.0]


def hostile_rows(generator, rows, dimension):
    """Random bit patterns, plain numbers, ties of the grid, and rows of one hostile value among
    others."""
    kind = generator.randrange(5)
    if kind == 0:
        bits = torch.tensor([generator.getrandbits(32) - 2 ** 31 for _ in range(rows * dimension)],
                            dtype=torch.int32)
        return bits.view(torch.float32).view(rows, dimension)
    values = torch.tensor([[generator.gauss(0, 1) for _ in range(dimension)] for _ in range(rows)],
                          dtype=torch.float32)
    if kind == 1:
        return values * 10.0 ** generator.randrange(-30, 30)
    if kind == 2:
        return torch.round(values * 8) / 2
    if kind == 3:
        for row in range(rows):
            values[row, generator.randrange(dimension)] = generator.choice(HOSTILE)
    return values


def by_library(x, clip_norm, noise_multiplier, norms):
    """The C library's integers for given norms."""
    total = sums.Sum([sums.ClipGroup("all", x.shape[1], clip_norm)], noise_multiplier)
    rows = x.contiguous()
    total.accumulate_at(rows.data_ptr(), rows.shape[0], rows.shape[1], 0, None if norms is None
                        else norms.tolist())
    return torch.tensor(list(total.values()), dtype=torch.int64)


def bound_of(noise_multiplier):
    """K of one group: docs/formats.md, section 3.3."""
    sigma = 2.0 ** 24
    while sigma < 2 ** 20 * noise_multiplier:
        sigma *= 16
    while sigma > 2 ** 25 * noise_multiplier:
        sigma /= 16
    bound = math.floor(sigma / noise_multiplier) + 1
    from fractions import Fraction
    while Fraction(noise_multiplier) ** 2 * bound * bound > Fraction(sigma) ** 2:
        bound -= 1
    return bound


class Integers(unittest.TestCase):
    def test_given_norms_give_the_librarys_integers(self):
        generator, differ, rows = random.Random(1), 0, 0
        for case in range(150):
            dimension, count = generator.choice([1, 2, 7, 63, 64, 65, 300]), generator.randrange(1,
                                                                                                 9)
            multiplier, clip_norm = generator.choice([0.3, 1.0, 1.7,
                                                      40.0]), 10.0 ** generator.randrange(-20, 20)
            x = hostile_rows(generator, count, dimension)
            norms = torch.tensor([generator.choice([1.0, 0.0, -1.0, math.nan, math.inf, 1e300,
                                                    1e-300, float(n)])
                                  for n in x.double().norm(dim=1)],
                                 dtype=torch.float64)
            theirs = by_library(x, clip_norm, multiplier, norms)
            ours = exact.clip_and_sum([x], clip_norm, bound_of(multiplier), norms)[0]
            differ += not torch.equal(theirs, ours)
            rows += count
        self.assertEqual(differ, 0, "of 150 batches, %d rows" % rows)

    def test_no_row_is_longer_than_the_bound(self):
        generator = random.Random(2)
        for case in range(100):
            dimension = generator.choice([1, 5, 64, 200])
            x, multiplier = hostile_rows(generator, 1, dimension), generator.choice([0.3, 1.0,
                                                                                     40.0])
            bound = bound_of(multiplier)
            wrong = generator.choice([None, torch.tensor([1e-300], dtype=torch.float64)])
            total = exact.clip_and_sum([x], 1.0, bound, wrong)[0].tolist()
            self.assertLessEqual(sum(q * q for q in total), bound * bound)

    def test_honest_rows_keep_their_direction_and_length(self):
        x = torch.randn(64, 300, generator=torch.Generator().manual_seed(3))
        bound = bound_of(1.0)
        for row in x:
            q = exact.clip_and_sum([row[None, :100], row[None, 100:]], 1.0, bound)
            q = torch.cat(q).double()
            self.assertGreater(q.norm() / bound, 0.99999)
            self.assertGreater(torch.dot(q, row.double()) / q.norm() / row.double().norm(),
                               0.9999999)

    def test_a_rows_norm_does_not_depend_on_the_rows_beside_it(self):
        torch.manual_seed(4)
        for dimension in (3, 4095, 4097, 20000):
            x = torch.randn(33, dimension) * torch.logspace(-3, 3, dimension)
            together = exact.row_norms([x.double()])
            for row in range(0, 33, 4):
                # Another batch, another place in it, another order of the coordinates within a sum
                # of 4096.
                alone = exact.row_norms([x[row:row + 1].double()])[0]
                among = exact.row_norms([x[row:row + 5].double()])[0]
                self.assertEqual(alone, together[row])
                self.assertEqual(among, together[row])
                truth = math.sqrt(math.fsum(float(v) ** 2 for v in x[row].double()))
                self.assertLess(abs(float(alone) / truth - 1), 2 ** -24)
            shuffled = x[:, :4095][:, torch.randperm(min(dimension, 4095))]
            self.assertTrue(torch.equal(exact.row_norms([shuffled.double()]),
                                        exact.row_norms([x[:, :4095].double()])))

    def test_norms_of_what_is_not_finite_are_not(self):
        for value in (math.nan, math.inf, -math.inf):
            x = torch.ones(2, 5000)
            x[1, 4999] = value
            norms = exact.row_norms([x.double()])
            self.assertTrue(math.isfinite(norms[0]))
            self.assertFalse(math.isfinite(norms[1]))
        self.assertEqual(exact.row_norms([torch.zeros(1, 7).double()])[0], 0)

    def test_a_bound_out_of_its_domain_is_named(self):
        x = torch.ones(1, 9)
        for bound in (0, 2 ** 25 + 1, 1):
            with self.assertRaisesRegex(ValueError, "bound: must be"):
                exact.clip_and_sum([x], 1.0, bound)


class Sums(support.WithServer):
    SHAPES = [(3, 4), (5,), (2, 2, 2)]

    def made(self, ledger, **options):
        return exact.ExactSum(self.SHAPES, 1.0, options.pop("max_grad_norm", 1.0), ledger,
                              non_private_seed=7, **options)

    def batch(self, rows=6, seed=0, dtype=torch.float32):
        generator = torch.Generator().manual_seed(seed)
        return [torch.randn((rows,) + shape, generator=generator).to(dtype)
                for shape in self.SHAPES]

    def released(self, ledger, fill, **options):
        total = self.made(ledger, **options)
        total.begin(SCHEME)
        fill(total)
        return total.finish()

    def test_host_and_device_release_the_same_bits(self):
        ledger = self.recorder("paths", plan_varies=True)
        for norm in (1.0, [1.0, 0.5, 2.0]):
            for dtype in (torch.float32, torch.float16, torch.bfloat16):
                grads = self.batch(dtype=dtype)
                count = 1 if norm == 1.0 else 3
                norms = torch.full((6, count), 3.0, dtype=torch.float64)
                both = [self.released(ledger, lambda s: s.add(grads, norms), on_device=device,
                                      max_grad_norm=norm) for device in (False, True)]
                for host, device, shape in zip(*both, self.SHAPES):
                    self.assertEqual(tuple(host.shape), shape)
                    self.assertTrue(torch.equal(host, device))
        ledger.leave()

    def test_batches_may_be_split_strided_and_filled_up(self):
        ledger, grads = self.recorder("splits"), self.batch()
        from dpledger.torch import exact_sum
        self.addCleanup(setattr, exact_sum, "CHUNK", exact_sum.CHUNK)
        whole = self.released(ledger, lambda s: s.add(grads))
        norms = torch.arange(1.0, 7.0, dtype=torch.float64)
        by_norms = [self.released(ledger, lambda s: s.add(grads, norms), on_device=device)
                    for device in (False, True)]
        self.addCleanup(setattr, exact_sum, "HOST_CHUNK", exact_sum.HOST_CHUNK)
        exact_sum.CHUNK = exact_sum.HOST_CHUNK = 60  # two rows at a time
        for device in (False, True):
            again = self.released(ledger, lambda s: s.add(grads, norms), on_device=device)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(by_norms[device], again)))

        def split(total):
            total.add([g[:2] for g in grads])
            total.add([g[2:2] for g in grads])
            total.add([torch.cat([g[2:], torch.full_like(g[:3], 9.0)]) for g in grads], examples=4)

        def strided(total):
            total.add([g.transpose(0, -1).contiguous().transpose(0, -1).requires_grad_()
                       for g in grads])
        for fill in (split, strided):
            for device in (False, True):
                again = self.released(ledger, fill, on_device=device)
                whole_here = self.released(ledger, lambda s: s.add(grads), on_device=device)
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(whole_here, again)))
        self.assertTrue(all(not g.requires_grad for g in whole))
        ledger.leave()

    def test_rows_of_no_round_are_not_of_the_next_one(self):
        ledger = self.recorder("before")
        for device in (False, True):
            total = self.made(ledger, on_device=device)
            try:
                total.add(self.batch())
            except dpledger.Error as refused:
                self.assertIn("no step is open", str(refused))
            total.begin(SCHEME)
            empty = self.released(ledger, lambda s: None, on_device=device)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(total.finish(), empty)), device)
        ledger.leave()

    def test_batches_of_one_round_may_be_of_several_formats(self):
        ledger = self.recorder("formats")
        norms = torch.full((6, 1), 3.0, dtype=torch.float64)

        def fill(total):
            for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float32):
                total.add(self.batch(dtype=dtype), norms)
        host, device = (self.released(ledger, fill, on_device=on_device)
                        for on_device in (False, True))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(host, device)))
        ledger.leave()

    def test_rows_that_are_not_finite_contribute_nothing(self):
        ledger = self.recorder("hostile")
        for device in (False, True):
            nothing = self.released(ledger, lambda s: s.add(self.batch(0)), on_device=device)
            for value in (math.nan, math.inf, -math.inf):
                def fill(total):
                    grads = self.batch(3)
                    for row in range(3):
                        grads[row].view(3, -1)[row, -1] = value
                    total.add(grads)
                found = self.released(ledger, fill, on_device=device)
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(nothing, found)))
        ledger.leave()

    def test_wrong_tensors_are_named_and_add_nothing(self):
        ledger = self.recorder("wrong")
        good = self.batch()
        total = self.made(ledger)
        total.begin(SCHEME)
        ok = torch.ones(6, 1, dtype=torch.float64)
        for words, kind, grads, norms in (
                ("gradients: must be 3 tensors", ValueError, good[:2], None),
                (r"gradients\[1\]: must be a tensor, got list", TypeError,
                 [good[0], [1.0], good[2]], None),
                (r"gradients\[0\]: must be of float32", TypeError,
                 [good[0].double(), good[1], good[2]], None),
                (r"gradients\[2\]: must be of float32", TypeError,
                 [good[0], good[1], good[2].long()], None),
                (r"gradients\[0\]: must have the shape \[examples, 3, 4\]", ValueError,
                 [good[0].view(6, 12), good[1], good[2]], None),
                (r"gradients\[1\]: must have 6 examples", ValueError,
                 [good[0], good[1][:5], good[2]], None),
                (r"gradients\[1\]: must be (on|.*device)", (ValueError, TypeError),
                 [good[0], good[1].to("meta"), good[2]], None),
                (r"gradients\[0\]: must be a dense tensor", TypeError,
                 [good[0].to_sparse(), good[1], good[2]], None),
                ("norms: must be a float64 tensor", TypeError, good, [1.0] * 6),
                ("norms: must be a float64 tensor", TypeError, good, ok.float()),
                ("norms: must have the shape", ValueError, good, ok[:5])):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                total.add(grads, norms)
        with self.assertRaisesRegex(ValueError, "examples: must be in"):
            total.add(good, examples=7)
        left = total.finish()
        empty = self.released(ledger, lambda s: None)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(left, empty)))
        with self.assertRaisesRegex(dpledger.Error, "no step is open|begin") as caught:
            total.add(good)
        self.assertEqual(caught.exception.code, "FAILED_PRECONDITION")
        for words, options in (("max_grad_norm: must be one number", dict(max_grad_norm=[1.0])),
                               (r"groups\[0\].clip_norm", dict(max_grad_norm=0.0)),
                               ("threads", dict(threads=10000))):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                self.made(ledger, **options)
        ledger.leave()

    def test_a_second_thread_is_refused(self):
        ledger = self.recorder("threads")
        total = self.made(ledger)
        total.begin(SCHEME)
        with total._alone, self.assertRaises(dpledger.Error) as caught:
            total.add(self.batch())
        self.assertEqual((caught.exception.code, caught.exception.reason),
                         ("FAILED_PRECONDITION", "IN_USE"))
        total.add(self.batch())
        total.finish()
        ledger.leave()

    def test_flushing_of_subnormals_is_survived(self):
        ledger = self.recorder("flush")
        grads = [g * 1e-40 for g in self.batch()]
        torch.set_flush_denormal(True)
        try:
            found = self.released(ledger, lambda s: s.add(grads))
        except dpledger.Error as failed:
            self.assertEqual(failed.code, "FAILED_PRECONDITION")
        else:
            self.assertTrue(all(torch.isfinite(part).all() for part in found))
        finally:
            torch.set_flush_denormal(False)
        ledger.leave()


if __name__ == "__main__":
    unittest.main()
