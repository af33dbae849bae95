"""dp_accounting's interface: events over and back, degenerate parameters, relations, error rates.

dp_accounting itself is not in Debian: where it is absent a stand-in with its names takes its place.
Its own tests are run by hand (docs/python.md says how); what they ask that is answered otherwise
here is in dp_accounting_differences.json.
"""
import json
import math
import pathlib
import sys
import unittest
from statistics import NormalDist

import support

try:
    import dp_accounting  # noqa: F401
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "stand_ins"))
import dpledger
from dp_accounting import dp_event as theirs
from dp_accounting.privacy_accountant import UnsupportedEventError
from dpledger import dp_accounting as ours

Relation = ours.Relation
GAUSSIAN = theirs.GaussianDpEvent(2.0)
PAIRS = [
    (theirs.NoOpDpEvent(), dpledger.NoOp()), (theirs.NonPrivateDpEvent(), dpledger.NonPrivate()),
    (GAUSSIAN, dpledger.Gaussian(2.0)), (theirs.LaplaceDpEvent(2.0), dpledger.Laplace(2.0)),
    (theirs.DiscreteLaplaceDpEvent(0.5, 2), dpledger.DiscreteLaplace(0.5, 2)),
    (theirs.DiscreteGaussianDpEvent(2.0, 3.0, 4), dpledger.DiscreteGaussian(2.0, 3, 4)),
    (theirs.DiscreteGaussianDpEvent(2.0), dpledger.DiscreteGaussian(2.0, 1)),
    (theirs.RandomizedResponseDpEvent(0.5, 3), dpledger.RandomizedResponse(0.5, 3)),
    (theirs.EpsilonDeltaDpEvent(0.5, 0.1), dpledger.EpsilonDelta(0.5, 0.1)),
    (theirs.ZCDpEvent(0.5, 0.1), dpledger.ZCDp(0.5, 0.1)),
    (theirs.ExponentialMechanismDpEvent(0.5), dpledger.ExponentialMechanism(0.5)),
    (theirs.PermuteAndFlipDpEvent(0.5), dpledger.PermuteAndFlip(0.5)),
    (theirs.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.25, 0.75]),
     dpledger.MixtureOfGaussians(1.0, [0.0, 1.0], [0.25, 0.75])),
    (theirs.PoissonSampledDpEvent(0.1, GAUSSIAN),
     dpledger.PoissonSampled(0.1, dpledger.Gaussian(2.0))),
    (theirs.SampledWithoutReplacementDpEvent(100, 10, GAUSSIAN),
     dpledger.SampledWithoutReplacement(100, 10, dpledger.Gaussian(2.0))),
    (theirs.SampledWithReplacementDpEvent(100, 10, GAUSSIAN),
     dpledger.SampledWithReplacement(100, 10, dpledger.Gaussian(2.0))),
    (theirs.TruncatedSubsampledGaussianDpEvent(100, 0.1, 20, 2.0),
     dpledger.TruncatedSubsampledGaussian(100, 0.1, 20, 2.0)),
    (theirs.SingleEpochTreeAggregationDpEvent(2.0, [4, 8]),
     dpledger.SingleEpochTreeAggregation(2.0, [4, 8])),
    (theirs.RepeatAndSelectDpEvent(GAUSSIAN, 3.0, math.inf),
     dpledger.RepeatAndSelect(dpledger.Gaussian(2.0), 3.0, math.inf)),
    (theirs.SelfComposedDpEvent(GAUSSIAN, 5), dpledger.SelfComposed(dpledger.Gaussian(2.0), 5)),
    (theirs.ComposedDpEvent([GAUSSIAN, theirs.LaplaceDpEvent(2.0)]),
     dpledger.Composed([dpledger.Gaussian(2.0), dpledger.Laplace(2.0)]))]


class Events(unittest.TestCase):
    def test_every_event_goes_over_and_back(self):
        classes = {name for name in vars(
            theirs) if name.endswith("DpEvent")} - {"DpEvent", "UnsupportedDpEvent"}
        self.assertEqual({type(event).__name__ for event, _ in PAIRS}, classes)
        for event, message in PAIRS:
            self.assertEqual(ours.from_dp_event(event), message)
            back = ours.to_dp_event(message)
            self.assertEqual(ours.from_dp_event(back), message)
            self.assertEqual(type(back), type(event))

    def test_rounds_become_their_events(self):
        z = 1 / math.sqrt(1 / 4 + 1 / 9)
        two = [dpledger.SumQuery(1.0, 2.0), dpledger.SumQuery(2.0, 6.0)]
        for scheme, expected in (
                (dpledger.Poisson(0.1, 50), lambda g: theirs.PoissonSampledDpEvent(0.1, g)),
                (dpledger.FullBatch(), lambda g: g),
                (dpledger.WithoutReplacement(5, 50),
                 lambda g: theirs.SampledWithoutReplacementDpEvent(50, 5, g)),
                (dpledger.WithReplacement(5, 50),
                 lambda g: theirs.SampledWithReplacementDpEvent(50, 5, g)),
                (dpledger.TruncatedPoisson(0.1, 9, 50),
                 lambda g: theirs.TruncatedSubsampledGaussianDpEvent(50, 0.1, 9,
                                                                     g.noise_multiplier))):
            found = ours.to_dp_event(dpledger.RoundsEvent(scheme, two, 7))
            self.assertEqual(found,
                             theirs.SelfComposedDpEvent(expected(theirs.GaussianDpEvent(z)), 7))
        for event in (dpledger.RoundsEvent(dpledger.DisjointBatches(3), two, 3),
                      dpledger.RenyiCurve([2.0], [1.0]),
                      dpledger.MatrixMechanism(sensitivity=1.0, noise_stddev=1.0),
                      dpledger.ReportNoisyMax(1.0)):
            self.assertIsInstance(ours.to_dp_event(event), theirs.UnsupportedDpEvent)

    def test_degenerate_parameters_are_what_they_are(self):
        released, nothing = dpledger.NonPrivate(), dpledger.NoOp()
        for event, message in (
                (theirs.GaussianDpEvent(0), released), (theirs.LaplaceDpEvent(0), released),
                (theirs.DiscreteLaplaceDpEvent(0, 1), released),
                (theirs.MixtureOfGaussiansDpEvent(0, [1.0], [1.0]), released),
                (theirs.MixtureOfGaussiansDpEvent(0, [0.0], [1.0]), nothing),
                (theirs.PoissonSampledDpEvent(0, theirs.GaussianDpEvent(0)), nothing),
                (theirs.PoissonSampledDpEvent(0.1, theirs.GaussianDpEvent(0)), released),
                (theirs.RandomizedResponseDpEvent(0, 1), nothing),
                (theirs.ComposedDpEvent([]), nothing),
                (theirs.EpsilonDeltaDpEvent(0, 0.0), nothing),
                (theirs.PermuteAndFlipDpEvent(0), nothing),
                (theirs.TruncatedSubsampledGaussianDpEvent(10, 0.1, 0, 1.0), nothing)):
            self.assertEqual(ours.from_dp_event(event), message, event)
        self.assertEqual(ours.from_dp_event(theirs.SingleEpochTreeAggregationDpEvent(2.0, 4)),
                         dpledger.SingleEpochTreeAggregation(2.0, [4]))

    def test_what_is_no_event_is_named(self):
        class Mine(theirs.DpEvent):
            pass
        for event in (Mine(), 3, theirs.ComposedDpEvent([GAUSSIAN, Mine()])):
            with self.assertRaisesRegex(TypeError, "event: Unsupported event"):
                ours.from_dp_event(event)
        with self.assertRaisesRegex(ValueError,
                                    "DiscreteGaussianDpEvent.sensitivity: must be a whole number"):
            ours.from_dp_event(theirs.DiscreteGaussianDpEvent(1.0, 1.5))


class Accountant(unittest.TestCase):
    def test_numbers_are_dpledgers_and_contain_the_truth(self):
        accountant = ours.LedgerAccountant()
        accountant.compose(theirs.SelfComposedDpEvent(
            theirs.PoissonSampledDpEvent(0.01, theirs.GaussianDpEvent(1.0)), 5000),
                           2)
        upper = accountant.get_epsilon(1e-5)
        self.assertLess(upper, 6.187713)
        self.assertGreaterEqual(upper, 6.187712)
        self.assertLessEqual(accountant.get_delta(upper), 1e-5 * (1 + 1e-5))

    def test_edges(self):
        empty, gaussian, all_ = (ours.LedgerAccountant() for _ in range(3))
        gaussian.compose(theirs.ComposedDpEvent([GAUSSIAN, theirs.NoOpDpEvent()]))
        all_.compose(theirs.NonPrivateDpEvent())
        self.assertEqual([a.get_epsilon(1) for a in (empty, gaussian, all_)], [0, 0, math.inf])
        self.assertEqual([a.get_delta(math.inf) for a in (empty, gaussian, all_)][::2], [0, 1])
        self.assertLess(gaussian.get_delta(math.inf), 1e-300)
        self.assertEqual((empty.get_epsilon(0), all_.get_epsilon(0)), (0, math.inf))
        with self.assertRaises(ValueError):
            gaussian.compose(GAUSSIAN, 0)
        with self.assertRaisesRegex(ValueError, "relative_gap"):
            ours.LedgerAccountant(relative_gap=3.0).compose(GAUSSIAN).get_epsilon(1e-5)

    def test_statements_alone_compose_exactly(self):
        from fractions import Fraction
        pairs = [(1.0, 0.1), (2.0, 0.2), (0.1, 1e-20), (0.7, 0.0)]
        accountant = ours.LedgerAccountant()
        for epsilon, delta in pairs:
            accountant.compose(theirs.EpsilonDeltaDpEvent(epsilon, delta), 3)
        epsilon = 3 * sum(Fraction(e) for e, _ in pairs)
        kept = Fraction(1)
        for _, delta in pairs:
            kept *= (1 - Fraction(delta)) ** 3
        at = ours._up(epsilon)
        found = accountant.get_delta(at)
        self.assertTrue(Fraction(found) >= 1 - kept
                        and Fraction(found) - (1 - kept) < Fraction(2) ** -51)
        self.assertTrue(at >= epsilon and accountant.get_epsilon(found) == at)
        self.assertEqual(accountant.get_epsilon(0), math.inf)
        pure = ours.LedgerAccountant().compose(theirs.ExponentialMechanismDpEvent(1.0), 2)
        self.assertEqual((pure.get_epsilon(0), pure.get_delta(2.0)), (2.0, 0.0))
        self.assertGreater(pure.get_delta(1.9), 0)

    def test_permute_and_flip_is_laplaces_pair(self):
        for count in (1, 7):
            both = [ours.LedgerAccountant().compose(event, count).get_epsilon(1e-5)
                    for event in (theirs.PermuteAndFlipDpEvent(0.5), theirs.LaplaceDpEvent(2.0))]
            self.assertAlmostEqual(both[0], both[1], delta=1e-7 * both[1])

    def test_refusals_name_the_part_and_the_relations(self):
        accountant = ours.LedgerAccountant()
        response = theirs.RandomizedResponseDpEvent(0.5, 3)
        with self.assertRaisesRegex(
                UnsupportedEventError,
                "neighboring_relation must be `REPLACE_ONE` or `REPLACE_SPECIAL` for "
                "`RandomizedResponseDpEvent`"):
            accountant.compose(theirs.ComposedDpEvent([GAUSSIAN, response]))
        self.assertFalse(accountant.supports(response))
        self.assertTrue(ours.LedgerAccountant(Relation.REPLACE_ONE).supports(response))
        self.assertFalse(accountant.supports(theirs.SelfComposedDpEvent(theirs.UnsupportedDpEvent(),
                                                                        3)))
        self.assertEqual(accountant.get_epsilon(1e-5), 0)  # nothing of what was refused is in it

    def test_error_rates_bound_a_gaussians_closely(self):
        normal, accountant = NormalDist(), ours.LedgerAccountant().compose(
            theirs.GaussianDpEvent(1.0))
        for rate in (1e-9, 1e-3, 0.1, 0.5, 0.9):
            truth = normal.cdf(normal.inv_cdf(rate) + 1)
            found = accountant.get_true_positive_rates(rate)
            self.assertGreaterEqual(found, truth * (1 - 1e-12))
            self.assertLess(found, truth * (1 + 1e-4))
            coarse = accountant.get_true_positive_rates(rate, deltas=[1e-6, 1e-3])
            self.assertGreaterEqual(coarse, found * (1 - 1e-12))
        self.assertEqual(accountant.get_true_positive_rates(1.0), 1.0)
        self.assertAlmostEqual(accountant.get_gdp_parameter_estimate(), 1.0, delta=1e-3)
        self.assertEqual(ours.LedgerAccountant().get_true_positive_rates(0.2), 0.2)
        self.assertEqual(ours.LedgerAccountant().get_gdp_parameter_estimate(), 0)
        leaky = ours.LedgerAccountant().compose(theirs.EpsilonDeltaDpEvent(1.0, 0.1))
        self.assertEqual(leaky.get_gdp_parameter_estimate(), math.inf)


class SampledConcentrated(unittest.TestCase):
    """A sample of what is zCDP and no more is known of: JAX Privacy's use_zcdp."""

    def test_they_are_answered_and_cost_more_than_gaussian_noise(self):
        # Noise of 2 against what is twice as far for a replacement: 1/2-zCDP.
        for relation, z, sampled in (
                (Relation.ADD_OR_REMOVE_ONE, 1.0,
                 lambda event: theirs.PoissonSampledDpEvent(0.01, event)),
                (Relation.REPLACE_ONE, 2.0,
                 lambda event: theirs.SampledWithoutReplacementDpEvent(1000, 16, event))):
            epsilons = []
            for event in (theirs.GaussianDpEvent(z), theirs.ZCDpEvent(0.5)):
                accountant = ours.LedgerAccountant(relation)
                accountant.compose(theirs.SelfComposedDpEvent(sampled(event), 128))
                epsilons.append(accountant.get_epsilon(1e-6))
            self.assertTrue(epsilons[0] < epsilons[1] < 4 * epsilons[0], epsilons)
        # JAX Privacy's accounting_test wants the same of these two (docs/python.md).
        for event, known in ((theirs.GaussianDpEvent(5.0), 0.084728),
                             (theirs.ZCDpEvent(0.02), 0.132114)):
            found = ours.LedgerAccountant().compose(theirs.PoissonSampledDpEvent(0.01, event),
                                                    128).get_epsilon(1e-6)
            self.assertAlmostEqual(found, known, delta=1e-6)
        many, rho = (ours.LedgerAccountant().compose(
            theirs.PoissonSampledDpEvent(0.01, event)).get_epsilon(1e-6)
                     for event in (theirs.DiscreteGaussianDpEvent(3.0, 1, 10),
                                   theirs.ZCDpEvent(1 / 18)))
        self.assertEqual(many, rho)

    def test_other_relations_are_refused(self):
        event = theirs.PoissonSampledDpEvent(0.01, theirs.ZCDpEvent(0.5))
        for relation in (Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL):
            with self.assertRaisesRegex(UnsupportedEventError,
                                        "neighboring_relation must be `ADD_OR_REMOVE_ONE`"):
                ours.LedgerAccountant(relation).compose(event)


class Differences(unittest.TestCase):
    ROWS = json.loads((pathlib.Path(
        __file__).parent / "dp_accounting_differences.json").read_text())["differences"]

    def made(self, row):
        name, *values = row["event"]
        accountant = ours.LedgerAccountant(Relation[row["relation"]])
        return accountant.compose(getattr(theirs, name)(*values))

    def test_each_is_as_it_is_told(self):
        self.assertEqual(len(self.ROWS), 5)
        for row in self.ROWS:
            accountant = self.made(row)
            if row["ours"] == "answered":
                self.assertTrue(0 < accountant.get_epsilon(1e-6) < 10, row["test"])
        # A point mass on one of three answers against all three alike: 1 - 1/3.
        response = self.made(self.ROWS[3]).get_delta(1.0)
        self.assertGreaterEqual(response, 2 / 3)
        self.assertLess(response, 2 / 3 * (1 + 1e-6))

    def test_truncated_batches_are_above_the_truth_by_enumeration(self):
        """One round on 4 records, 3 of them 0 and one 1, against the same without that one: samples
        of at most 2."""
        from itertools import product
        normal, q, most = NormalDist(), 0.5, 2

        def mean_one(size):  # the chance that the record is in the truncated sample
            total = 0.0
            for chosen in product((0, 1), repeat=size):
                count = sum(chosen)
                chance = q ** count * (1 - q) ** (size - count)
                if chosen[0]:
                    total += chance * min(1.0, most / count)
            return total
        p = mean_one(4)
        for epsilon in (0.1, 1.0, 3.0):
            # sup over sets of P - e^epsilon Q for P = (1-p) N(0,1) + p N(1,1), Q = N(0,1): beyond
            # where the ratio is e^epsilon.
            ratio = (math.exp(epsilon) - 1 + p) / p
            at = math.log(ratio) + 0.5
            truth = (1 - p) * normal.cdf(
                -at) + p * normal.cdf(1 - at) - math.exp(epsilon) * normal.cdf(-at)
            ours_ = ours.LedgerAccountant().compose(
                theirs.TruncatedSubsampledGaussianDpEvent(4, q, most, 1.0))
            self.assertGreaterEqual(ours_.get_delta(epsilon), truth)


if __name__ == "__main__":
    unittest.main()
