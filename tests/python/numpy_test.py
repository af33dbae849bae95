"""Exact sums of numpy arrays, and of buffers without numpy."""
import array
import math
import unittest

import support
import dpledger
from dpledger import sums

try:
    import numpy
    from dpledger import numpy as exact
except ImportError:
    raise unittest.SkipTest("numpy is not installed")

SCHEME = dpledger.Poisson(0.1, 1000)
SHAPES = [(2, 3), (4,)]


class Sums(support.WithServer):
    def setUp(self):
        super().setUp()
        self.ledger = self.recorder(self._testMethodName[-40:].strip("_").replace("_", "-"),
                                    plan_varies=True)
        self.addCleanup(self.ledger.leave)
        generator = numpy.random.default_rng(1)
        self.grads = [generator.normal(size=(6,) + shape).astype(numpy.float32) for shape in SHAPES]

    def released(self, fill, **options):
        total = exact.ExactSum(SHAPES, options.pop("noise_multiplier", 1.0),
                               options.pop("max_grad_norm", 1.0), self.ledger, non_private_seed=3,
                               **options)
        total.begin(SCHEME)
        fill(total)
        return total.finish()

    def assert_same(self, one, other):
        for a, b in zip(one, other):
            numpy.testing.assert_array_equal(a, b)

    def test_sums_are_those_of_clipped_rows(self):
        found = self.released(lambda t: t.add(self.grads), noise_multiplier=1e-3)
        rows = numpy.concatenate([g.reshape(6, -1) for g in self.grads], 1).astype(numpy.float64)
        truth = (rows / numpy.maximum(1, numpy.linalg.norm(rows, axis=1))[:, None]).sum(0)
        numpy.testing.assert_allclose(numpy.concatenate([f.ravel() for f in found]), truth,
                                      atol=0.006)
        self.assertEqual([f.shape for f in found], SHAPES)

    def test_splits_strides_and_buffers_do_not_matter(self):
        whole = self.released(lambda t: t.add(self.grads))

        def split(total):
            total.add([g[:1] for g in self.grads])
            total.add([numpy.asfortranarray(g[1:]) for g in self.grads])
            total.add([g[:0] for g in self.grads])
        self.assert_same(whole, self.released(split))
        self.addCleanup(setattr, exact, "CHUNK", exact.CHUNK)
        exact.CHUNK = 20  # two rows at a time
        self.assert_same(whole, self.released(split))
        privatizer = sums.Privatizer([sums.ClipGroup("all", 10, 1.0)], 1.0, self.ledger,
                                     non_private_seed=3)
        rows = array.array(
            "f", numpy.concatenate([g.reshape(6, -1) for g in self.grads], 1).ravel().tolist())
        privatizer.begin(SCHEME)
        privatizer.accumulate(rows[:20])
        privatizer.accumulate(memoryview(bytes(rows[20:])).cast("f", (4, 10)))  # read-only
        self.assert_same([numpy.concatenate([f.ravel() for f in whole])],
                         [numpy.array(privatizer.finish())])
        ranks = sums.Sum([sums.ClipGroup("all", 10, 1.0)], 1.0)
        ranks.accumulate(rows)
        privatizer = sums.Privatizer([sums.ClipGroup("all", 10, 1.0)], 1.0, self.ledger,
                                     non_private_seed=3)
        privatizer.begin(SCHEME)
        self.assertEqual(ranks.rows, 6)
        privatizer.add_sums(ranks.values(), ranks.rows)
        self.assert_same([numpy.concatenate([f.ravel() for f in whole])],
                         [numpy.array(privatizer.finish())])

    def test_half_precision_norms_and_hostile_rows(self):
        halves = [g.astype(numpy.float16) for g in self.grads]
        self.assert_same(self.released(lambda t: t.add(halves)),
                         self.released(lambda t: t.add([h.astype(numpy.float32) for h in halves])))
        norms = numpy.full((6, 2), 5.0)
        layered = self.released(lambda t: t.add(self.grads, norms), max_grad_norm=[1.0, 2.0])
        self.assertTrue(all(numpy.isfinite(part).all() for part in layered))
        nothing = self.released(lambda t: None)
        for value in (math.nan, math.inf, -math.inf):
            hostile = [g.copy() for g in self.grads]
            hostile[1][:, 0] = value
            self.assert_same(nothing, self.released(lambda t: t.add(hostile)))

    def test_a_sample_is_not_chosen(self):
        """"Draw again until both classes are there": that record would be in every round."""
        total = exact.ExactSum(SHAPES, 1.0, 1.0, self.ledger)
        sampler = dpledger.Sampler(dpledger.Poisson(0.5, 6))
        for _ in range(3):  # before the first round a loop may look at its data
            sampler.draw()
        for _ in range(2):
            total.begin(sampler)
            total.finish()
            sampler.draw()
        sampler.draw()
        with self.assertRaisesRegex(dpledger.Error, "sample 5 was passed over, before sample 6: "
                                    "whether a sample is used must not depend on it") as raised:
            total.begin(sampler)
        self.assertEqual(raised.exception.reason, "SAMPLE_SKIPPED")
        total.begin(sampler, draw=5)
        total.finish()
        total.begin(sampler)  # and the one behind it

    def test_wrong_arrays_are_named(self):
        total = exact.ExactSum(SHAPES, 1.0, 1.0, self.ledger)
        total.begin(SCHEME)
        a, b = self.grads
        for words, kind, grads, norms in (
                ("gradients: must be 2 arrays", ValueError, [a], None),
                (r"gradients\[1\]: must be an array, got list", TypeError, [a, [1.0]], None),
                (r"gradients\[0\]: must be of float32 or float16, got float64", TypeError,
                 [a.astype(float), b], None),
                (r"gradients\[0\]: must be of float32 or float16, got >f4", TypeError,
                 [a.astype(">f4"), b], None),
                (r"gradients\[0\]: must have the shape \[examples, 2, 3\]", ValueError,
                 [a.reshape(6, 6), b], None),
                (r"gradients\[1\]: must have 6 examples", ValueError, [a, b[:2]], None),
                ("norms: must be a float64 array", TypeError, [a, b], [1.0] * 6),
                ("norms: must have the shape", ValueError, [a, b], numpy.ones(5))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                total.add(grads, norms)
        privatizer = sums.Privatizer([sums.ClipGroup("all", 10, 1.0)], 1.0, self.ledger)
        privatizer.begin(SCHEME)
        for words, kind, rows in (("rows: must be a buffer", TypeError, [
                1.0]), ("rows: must be 32- or 16-bit", TypeError, array.array("d", [1.0])),
                                  ("rows: must be rows of 10", ValueError, array.array("f", [1.0])),
                                  ("rows: must be in C order", ValueError,
                                   numpy.asfortranarray(numpy.ones((3, 10), numpy.float32)))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                privatizer.accumulate(rows)
        with self.assertRaisesRegex(TypeError, "sums: must be a buffer"):
            privatizer.add_sums([1, 2], 1)
        with self.assertRaisesRegex(ValueError, "sums"):
            privatizer.add_sums(array.array("q", [1]), 1)
        with self.assertRaisesRegex(TypeError, r"groups\[0\]: must be a ClipGroup"):
            sums.Sum([3], 1.0)
        with self.assertRaisesRegex(ValueError, "parameters: must not be empty"):
            exact.ExactSum([], 1.0, 1.0, self.ledger)


if __name__ == "__main__":
    unittest.main()
