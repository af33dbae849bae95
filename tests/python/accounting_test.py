"""Questions in one line: numbers of the command line's accountant, answers' looks, errors that name
the argument."""
import json
import math
import os
import subprocess
import threading
import unittest

import support
import dpledger
from dpledger import _decoding, _wire, messages

RUN = dict(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)


def by_program(*arguments):
    ran = subprocess.run([str(support.BIN / "dpledger"), *arguments, "--json"], check=True,
                         capture_output=True, text=True, timeout=120)
    return json.loads(ran.stdout)


class Questions(unittest.TestCase):
    def test_epsilon_is_the_programs(self):
        answer = dpledger.epsilon(**RUN, delta=1e-5)
        theirs = support.epsilon_by_program(**RUN, delta=1e-5)
        self.assertEqual(answer.epsilon, (theirs["lower"], theirs["upper"]))
        self.assertEqual((answer.delta, float(answer), answer.lower),
                         (1e-5, theirs["upper"], theirs["lower"]))
        self.assertEqual((answer.method, answer.adjacency), ("contour", "add-or-remove-one"))
        self.assertEqual(answer.schemes, ("poisson",))
        self.assertIn("floating-point noise", " ".join(answer.assumptions))
        self.assertEqual(answer.details.group_size, 1)
        self.assertEqual(answer.regime, "fixed-plan")

    def test_delta_undoes_epsilon(self):
        epsilon = dpledger.epsilon(**RUN, delta=1e-5, relative_gap=1e-6)
        answer = dpledger.delta(**RUN, epsilon=epsilon.upper, relative_gap=1e-6)
        self.assertLessEqual(answer.lower, 1e-5)
        self.assertGreater(answer.upper, 1e-5 * (1 - 1e-3))
        self.assertEqual(answer.epsilon, epsilon.upper)

    def test_a_gaussian_is_its_closed_form(self):
        from statistics import NormalDist
        cdf = NormalDist().cdf
        for z, e in ((1.0, 1.0), (3.0, 0.5)):
            truth = cdf(0.5 / z - e * z) - math.exp(e) * cdf(-0.5 / z - e * z)
            self.assertIn(truth, dpledger.delta(dpledger.Gaussian(z), epsilon=e).interval._replace(
                lower=dpledger.delta(dpledger.Gaussian(z), epsilon=e).lower * (1 - 1e-12)))

    def test_short_words_are_the_long_ones(self):
        long = dpledger.RoundsEvent(dpledger.Poisson(0.01), [dpledger.SumQuery(1.0, 1.0)], 10_000)
        self.assertEqual(dpledger.epsilon(long, delta=1e-5).epsilon,
                         dpledger.epsilon(**RUN, delta=1e-5).epsilon)
        self.assertEqual(dpledger.dp_sgd(1.0, 0.01, 10_000), long)
        batches = dpledger.epsilon(noise_multiplier=4.0, scheme=dpledger.DisjointBatches(10),
                                   steps=20, delta=1e-5, adjacency="zero-out")
        self.assertEqual(batches.schemes, ("disjoint_batches",))

    def test_calibration_keeps_its_target(self):
        for given, unknown in ((dict(sample_rate=0.005, steps=2000), "noise_multiplier"),
                               (dict(noise_multiplier=2.0, sample_rate=0.005), "steps"),
                               (dict(noise_multiplier=2.0, steps=2000), "sample_rate")):
            found = dpledger.calibrate(target_epsilon=1, delta=1e-6, **given)
            self.assertEqual(found.solved, unknown)
            self.assertLessEqual(found.epsilon.upper, 1)
            self.assertGreater(found.epsilon.upper, 0.99)
            self.assertEqual(getattr(found, unknown), found.value)
            run = {name: getattr(found, name)
                   for name in ("noise_multiplier", "sample_rate", "steps")}
            self.assertLessEqual(dpledger.epsilon(**run, delta=1e-6).upper, 1)
        hole = dpledger.calibrate(target_epsilon=1, delta=1e-6, events=dpledger.Gaussian(
            3.0), hole="events[0].mechanism.gaussian.noise_multiplier", compare_methods=True)
        self.assertLessEqual(dpledger.epsilon(dpledger.Gaussian(float(hole)), delta=1e-6).upper, 1)
        self.assertIn("rdp", [row.method for row in hole.by_method])

    def test_profiles_tuning_and_audits_are_answered(self):
        profile = dpledger.profile(**RUN, deltas=[1e-6, 1e-5], type_one_errors=[0.1], priors=[0.5],
                                   gaussian_least_delta=1e-9)
        self.assertEqual(profile.points[1].delta, (1e-5, 1e-5))
        self.assertLessEqual(profile.points[1].epsilon.lower,
                             dpledger.epsilon(**RUN, delta=1e-5).upper)
        self.assertTrue(0 < profile.trade_off[0].symmetric.lower < 0.9)
        self.assertTrue(0.5 < profile.bayes_success[0].success.upper < 1)
        self.assertGreater(profile.gaussian_fit.mu.upper, profile.gaussian_fit.mu.lower - 1e-12)
        self.assertGreater(profile.advantage.upper, 0)
        cost = dpledger.tuning(dpledger.dp_sgd(4.0, 0.01, 100), delta=1e-5,
                               trials=dpledger.NegativeBinomialTrials(eta=0, mean=10))
        self.assertGreater(cost.epsilon.upper, cost.single_run_epsilon.upper)
        self.assertEqual(cost.trials, dpledger.NegativeBinomialTrials(0.0, 10.0))
        refuted = dpledger.audit(evidence=dpledger.OneRunAudit(1000, 200, 195),
                                 events=dpledger.Gaussian(5.0), delta=1e-5)
        self.assertTrue(refuted.refuted)
        self.assertGreater(refuted.epsilon_lower_bound, refuted.claimed_epsilon.upper)
        alone = dpledger.audit(evidence=dpledger.ManyRunsAudit(100, 90, 100, 5), delta=0.0)
        self.assertIsNone(alone.claimed_epsilon)
        self.assertLess(alone.observed.type_one, 0.2)

    def test_delta_0_is_a_question(self):
        self.assertEqual(dpledger.epsilon(dpledger.Gaussian(1.0), delta=0).upper, math.inf)
        pure = dpledger.epsilon(dpledger.Laplace(2.0, count=3), delta=0).epsilon
        self.assertIn(1.5, pure)
        self.assertLess(pure.upper, 1.5 + 1e-9)

    def test_threads_ask_at_once(self):
        expected, found = dpledger.epsilon(**RUN, delta=1e-5).epsilon, []
        threads = [threading.Thread(target=lambda: found.extend(
            dpledger.epsilon(**RUN, delta=1e-5).epsilon for _ in range(50))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 200)

    def test_a_fork_may_ask(self):
        expected = dpledger.epsilon(**RUN, delta=1e-5).epsilon
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, repr(tuple(dpledger.epsilon(**RUN, delta=1e-5).epsilon)).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as told:
            self.assertEqual(told.read(), repr(tuple(expected)))
        os.waitpid(child, 0)


class Events(unittest.TestCase):
    # Every mechanism of the API, with numbers that it takes.
    ALL = [dpledger.NoOp(), dpledger.NonPrivate(), dpledger.Gaussian(2.0), dpledger.Laplace(2.0),
           dpledger.DiscreteLaplace(0.5, 1), dpledger.DiscreteGaussian(2.0, 1),
           dpledger.RandomizedResponse(0.5, 3), dpledger.EpsilonDelta(0.1, 1e-7),
           dpledger.ZCDp(0.1), dpledger.ExponentialMechanism(0.5), dpledger.PermuteAndFlip(0.5),
           dpledger.MixtureOfGaussians(1.0, [0.0, 1.0], [0.5, 0.5]),
           dpledger.PoissonSampled(0.1, dpledger.Gaussian(2.0)),
           dpledger.SampledWithoutReplacement(100, 10, dpledger.Gaussian(2.0)),
           dpledger.SampledWithReplacement(100, 10, dpledger.Gaussian(2.0)),
           dpledger.TruncatedSubsampledGaussian(100, 0.1, 20, 2.0),
           dpledger.SingleEpochTreeAggregation(2.0, [4, 8]),
           dpledger.RepeatAndSelect(dpledger.Gaussian(9.0), 3.0, 1.0),
           dpledger.SelfComposed(dpledger.Gaussian(2.0), 3),
           dpledger.Composed([dpledger.Gaussian(2.0), dpledger.Laplace(3.0)]),
           dpledger.MatrixMechanism(sensitivity=1.0, noise_stddev=2.0),
           dpledger.RenyiCurve([2.0], [0.1]), dpledger.ReportNoisyMax(2.0, "gumbel-noise", True),
           dpledger.Shuffled(1.0, 1000), dpledger.SparseVector(2.0, 8.0, 3)]

    def test_every_kind_is_answered_under_some_adjacency(self):
        kinds = {held for _, held in messages.FOLDED["MechanismEvent"].values()}
        self.assertEqual({type(event) for event in self.ALL} | {dpledger.Unsupported}, kinds)
        for event in self.ALL:
            answers = []
            for adjacency in ("add-or-remove-one", "replace-one", "zero-out"):
                try:
                    answers.append(dpledger.epsilon(event, delta=1e-5, adjacency=adjacency).upper)
                except dpledger.Error as failed:
                    self.assertIn(failed.code,
                                  ("INVALID_ARGUMENT", "UNIMPLEMENTED", "FAILED_PRECONDITION"))
            self.assertTrue(answers, event)
            self.assertEqual(min(answers) == math.inf, isinstance(event, dpledger.NonPrivate),
                             event)
        with self.assertRaises(dpledger.Error):
            dpledger.epsilon(dpledger.Unsupported("mine"), delta=1e-5)

    def test_events_survive_the_wire(self):
        for event in self.ALL + [
                dpledger.Gaussian(2.0, count=7), dpledger.SamplingEvent(3, dpledger.Poisson(0.1)),
                dpledger.SumQueryEvent(3,
                                       dpledger.SumQuery(1.0, 2.0, "w", "rounded-gaussian", 0.5)),
                dpledger.dp_sgd(1.0, 0.1, 3),
                dpledger.dp_sgd(1.0, scheme=dpledger.WithReplacement(5, 100), steps=3)]:
            data = _wire.encode(event, "Event")
            again = _decoding.decode_folded("Event", data)
            self.assertEqual(again, event)
            self.assertEqual(_wire.encode(again, "Event"), data)
            self.assertEqual(eval(repr(again), vars(dpledger)), event)
        self.assertNotEqual(dpledger.Gaussian(2.0), dpledger.Gaussian(2.5))
        self.assertNotEqual(dpledger.Gaussian(2.0), dpledger.Laplace(2.0))

    def test_protoc_reads_what_is_written(self):
        event = dpledger.PoissonSampled(
            0.25,
            dpledger.Composed([dpledger.Gaussian(2.5, count=300),
                               dpledger.SingleEpochTreeAggregation(2.0, [4, 800])]))
        told = subprocess.run(["protoc", "-I", str(support.SOURCE / "proto"),
                               "--decode=dpledger.v1.Event", "dpledger/v1/event.proto"],
                              input=_wire.encode(event, "Event"), capture_output=True, check=True,
                              cwd=support.SOURCE / "proto").stdout.decode().split()
        self.assertEqual(" ".join(
            told), "mechanism { poisson_sampled { sampling_probability: 0.25 event { composed { "
                         "events { count: 300 gaussian { noise_multiplier: 2.5 } } events { "
                         "single_epoch_tree_aggregation { noise_multiplier: 2 step_counts: 4 "
                         "step_counts: 800 } } } } } }")

    def test_numbers_in_a_list_may_come_in_parts(self):
        import struct
        one, two = (b"\x12" + bytes([8 * len(v)]) + struct.pack("<%dd" % len(v), *v)
                    for v in ([1.0, 2.0], [3.0]))
        unpacked = b"\x11" + struct.pack("<d", 4.0)  # as older writers have it
        found = _decoding.decode(messages.MixtureOfGaussians, one + two + unpacked
                                 + b"\xfa\x07\x01x")
        self.assertEqual(found.sensitivities, (1.0, 2.0, 3.0, 4.0))
        leaves = _decoding.decode(messages.SingleEpochTreeAggregation,
                                  b"\x12\x03\x04\xac\x02\x10\x05")
        self.assertEqual(leaves.step_counts, (4, 300, 5))

    def test_torn_answers_are_errors(self):
        data = _wire.encode(self.ALL[11], "Event")
        for size in range(len(data)):
            try:
                _decoding.decode_folded("Event", data[:size])
            except (ValueError, UnicodeDecodeError):
                pass
        with self.assertRaises(ValueError):
            _decoding.decode_folded("Event", data[:-1])


class Errors(unittest.TestCase):
    def test_the_argument_is_named(self):
        gaussian = dpledger.Gaussian(1.0)
        for kind, field, ask in (
                (ValueError, "delta", lambda: dpledger.epsilon(gaussian, delta=1.5)),
                (ValueError, "delta", lambda: dpledger.epsilon(gaussian, delta=math.nan)),
                (TypeError, "delta", lambda: dpledger.epsilon(gaussian, delta="1e-5")),
                (ValueError, "noise_multiplier",
                 lambda: dpledger.epsilon(noise_multiplier=-1.0, sample_rate=0.1, steps=1,
                                          delta=1e-5)),
                (ValueError, "sample_rate",
                 lambda: dpledger.epsilon(noise_multiplier=1.0, sample_rate=2.0, steps=1,
                                          delta=1e-5)),
                (TypeError, "steps",
                 lambda: dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.1, steps=1.5,
                                          delta=1e-5)),
                (ValueError, "steps",
                 lambda: dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.1, steps=-1,
                                          delta=1e-5)),
                (ValueError, "steps",
                 lambda: dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.1, delta=1e-5)),
                (ValueError, "sample_rate",
                 lambda: dpledger.epsilon(noise_multiplier=1.0, steps=1, delta=1e-5)),
                (ValueError, "steps", lambda: dpledger.epsilon(gaussian, steps=3, delta=1e-5)),
                (TypeError, "events", lambda: dpledger.epsilon("gaussian", delta=1e-5)),
                (TypeError, "events[1]", lambda: dpledger.epsilon([gaussian, 3], delta=1e-5)),
                (TypeError, "events[0].noise_multiplier",
                 lambda: dpledger.epsilon(dpledger.Gaussian("loud"), delta=1e-5)),
                (ValueError, "events[0].noise_multiplier",
                 lambda: dpledger.epsilon(dpledger.Gaussian(-1.0), delta=1e-5)),
                (ValueError, "adjacency",
                 lambda: dpledger.epsilon(gaussian, delta=1e-5, adjacency="near")),
                (ValueError, "relative_gap",
                 lambda: dpledger.epsilon(gaussian, delta=1e-5, relative_gap=2.0)),
                (ValueError, "group_size",
                 lambda: dpledger.epsilon(gaussian, delta=1e-5, group_size=5000)),
                (ValueError, "group_size",
                 lambda: dpledger.delta(gaussian, epsilon=1, group_size=0)),
                (ValueError, "relative_gap",
                 lambda: dpledger.epsilon(gaussian, delta=1e-5, relative_gap=0)),
                (ValueError, "target_epsilon",
                 lambda: dpledger.calibrate(target_epsilon=-1, delta=1e-5, steps=1,
                                            sample_rate=0.1)),
                (ValueError, "noise_multiplier",
                 lambda: dpledger.calibrate(target_epsilon=1, delta=1e-5, steps=1)),
                (ValueError, "hole",
                 lambda: dpledger.calibrate(target_epsilon=1, delta=1e-5, events=gaussian)),
                (TypeError, "evidence", lambda: dpledger.audit(evidence=3, delta=1e-5)),
                (TypeError, "trials", lambda: dpledger.tuning(gaussian, delta=1e-5, trials=3)),
                (TypeError, "deltas[1]", lambda: dpledger.profile(gaussian, deltas=[0.1, "x"]))):
            with self.subTest(field=field), self.assertRaises(kind) as caught:
                ask()
            self.assertIsInstance(caught.exception, dpledger.Error)
            self.assertEqual(caught.exception.field, field, caught.exception)
            self.assertIn(field, str(caught.exception))
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")

    def test_a_missing_library_says_where_it_was_looked_for(self):
        ran = subprocess.run(["/usr/bin/python3", "-c",
                              "import dpledger; dpledger.delta(dpledger.NoOp(), epsilon=1)"],
                             env=dict(os.environ, DPLEDGER_LIBRARY_PATH="/nowhere",
                                      PYTHONPATH=support.PACKAGE),
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("libdpledger_accounting.so is not in /nowhere or", ran.stderr)


class Looks(unittest.TestCase):
    def test_printed_bounds_are_bounds(self):
        self.assertEqual(repr(dpledger.Interval(1.00000019, 1.00000011)), "Interval(1.0, 1.000001)")
        self.assertEqual(repr(dpledger.Interval(0.0, math.inf)), "Interval(0.0, inf)")
        self.assertEqual(float(dpledger.Interval(1.0, 2.0)), 2.0)
        self.assertIn(1.5, dpledger.Interval(1.0, 2.0))
        self.assertNotIn(2.5, dpledger.Interval(1.0, 2.0))

    def test_answers_read_well(self):
        answer = dpledger.epsilon(**RUN, delta=1e-5)
        self.assertEqual(repr(
            answer), "Answer(epsilon=Interval(6.187712, 6.187713), delta=1e-05, method='contour')")
        page = answer._repr_html_()
        for words in ("Interval(6.187712, 6.187713)", "add-or-remove-one", "floating-point noise"):
            self.assertEqual(page.count(words), 1, page)
        self.assertIn("noise_multiplier",
                      repr(dpledger.calibrate(target_epsilon=1, delta=1e-5, sample_rate=0.1,
                                              steps=10)))

    def test_profiles_draw_themselves(self):
        class Axes:
            def __init__(self):
                self.calls = {}

            def __getattr__(self, name):
                return lambda *arguments, **_: self.calls.setdefault(name, arguments)
        axes = Axes()
        profile = dpledger.profile(dpledger.Gaussian(1.0), epsilons=[2.0, 1.0])
        self.assertIs(profile.plot(axes), axes)
        x, y = axes.calls["plot"]
        self.assertEqual(x, [1.0, 2.0])
        self.assertEqual(y, [profile.points[1].delta.upper, profile.points[0].delta.upper])
        with self.assertRaisesRegex(ValueError, "neither points nor"):
            dpledger.profile(dpledger.Gaussian(1.0), priors=[0.5]).plot(axes)


if __name__ == "__main__":
    unittest.main()
