"""What one does with an answer: compare, format, write as JSON, put into a table; and the words
that one asks in."""
import base64
import fractions
import json
import math
import subprocess
import unittest

import support
import dpledger
from dpledger import _words

RUN = dict(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
MNIST = dict(population=60_000, batch_size=256, noise_multiplier=1.1, epochs=5)
try:
    import numpy
except ImportError:
    numpy = None


def exactly(text):
    """The number that `text` shows."""
    return fractions.Fraction(text.strip().rstrip("%")) / (100 if text.endswith("%") else 1)


class Numbers(unittest.TestCase):
    def setUp(self):
        self.answer = dpledger.epsilon(**RUN, delta=1e-5)

    def test_answers_compare_by_the_bound_to_report(self):
        more = dpledger.epsilon(**dict(RUN, steps=20_000), delta=1e-5)
        again = dpledger.epsilon(**RUN, delta=1e-5)
        self.assertTrue(self.answer == again and hash(self.answer) == hash(again)
                        and not self.answer != again)
        self.assertTrue(self.answer < more and self.answer <= more and more > self.answer
                        and more >= self.answer)
        self.assertTrue(6 < self.answer < 7 and self.answer == self.answer.upper
                        and not self.answer <= 6)
        self.assertTrue(self.answer <= more.epsilon and more.epsilon >= self.answer)
        self.assertEqual(max(self.answer, more), more)
        self.assertNotEqual(self.answer, "6")
        # a bound that is only likely does not keep a budget
        self.assertFalse(self.answer <= self.answer.lower)

    def test_what_they_promise_is_the_text_that_every_surface_shows(self):
        texts = (support.SOURCE / "tests/questions/guarantees.txt").read_text().split("\n")
        text = texts[texts.index("# events, stated, FIXED_PLAN, ADD_OR_REMOVE_ONE") + 1]
        self.assertEqual(self.answer.guarantee, text)
        self.assertEqual(self.answer.to_dict()["guarantee"], text)
        shown = subprocess.run(
            [str(support.BIN / "dpledger"), "epsilon", "--delta", "1e-5", "--adjacency",
             "add-or-remove-one", "--parameters", "fixed", "--events", "-"],
            input=b'{"rounds":{"scheme":{"poisson":{"probability":0.01}},"count":"10000","queries":'
            b'[{"l2_norm_bound":1,"noise_stddev":1}]}}\n', check=True, stdout=subprocess.PIPE)
        rows = [row.split(None, 1)[1] for row in shown.stdout.decode().split("\n")
                if row.startswith("guarantee ")]
        self.assertEqual(" ".join(rows), text)
        self.assertGreater(len(rows), 4)

    def test_of_two_kinds_or_with_other_things_they_do_not(self):
        delta = dpledger.delta(**RUN, epsilon=6.2)
        self.assertNotEqual(delta, self.answer)
        for wrong in (lambda: self.answer < delta, lambda: self.answer < "7",
                      lambda: self.answer.epsilon < "7", lambda: self.answer + self.answer):
            with self.assertRaises(TypeError):
                wrong()

    def test_intervals_compare_by_their_upper_ends(self):
        low, high = dpledger.Interval(1.0, 2.0), dpledger.Interval(0.5, 3.0)
        self.assertTrue(low < high and low <= 2.0 and not low < 2.0 and low > 1.5 and high >= low)
        self.assertEqual(max(low, high), high)
        self.assertEqual(sorted([high, dpledger.Interval(0.0, 2.0), low])[0], (0.0, 2.0))
        self.assertEqual(low, (1.0, 2.0))
        self.assertNotEqual(low, 2.0)

    def test_what_is_shown_is_a_bound(self):
        for low, high in ((self.answer.lower, self.answer.upper), (0.1, 0.2), (1e-9, 1e300),
                          (2 / 3, 12345.678), (3, 3)):
            interval = dpledger.Interval(low, high)
            for spec in (".3f", ".0f", ".2e", ".4g", ".1%", "12.3f", "+.3f", "f", "e", "g", ".17g",
                         ".20f"):
                below, above = format(interval, spec)[1:-1].split(", ")
                self.assertLessEqual(exactly(below), fractions.Fraction(low), spec)
                self.assertGreaterEqual(exactly(above), fractions.Fraction(high), spec)
        self.assertEqual("%s %s" % (format(self.answer, ".3f"), format(self.answer.epsilon, ".3f")),
                         "6.188 [6.187, 6.188]")
        self.assertEqual((round(self.answer, 2), round(self.answer.epsilon, 2)),
                         (6.19, (6.18, 6.19)))
        self.assertEqual(f"{dpledger.Interval(0.0, math.inf):.2f}", "[0.00, inf]")
        self.assertEqual(f"{self.answer}", str(self.answer))
        with self.assertRaises(ValueError):
            format(self.answer, "y")

    def test_a_calibration_is_rounded_to_the_safe_side(self):
        noise = dpledger.calibrate(target_epsilon=1, delta=1e-6, sample_rate=0.005, steps=2000)
        self.assertGreaterEqual(exactly(f"{noise:.2f}"), noise.value)
        rate = dpledger.calibrate(target_epsilon=1, delta=1e-6, noise_multiplier=2.0, steps=2000)
        self.assertLessEqual(exactly(f"{rate:.4f}"), rate.value)

    def test_answers_are_dicts_and_json(self):
        found = self.answer.to_dict()
        self.assertEqual((found["epsilon"], found["epsilon_lower"], found["delta"]),
                         (self.answer.upper, self.answer.lower, 1e-5))
        self.assertEqual((found["adjacency"], found["group_size"], found["schemes"]),
                         ("add-or-remove-one", 1, ["poisson"]))
        endless = dpledger.epsilon(dpledger.NonPrivate(), delta=1e-5)
        self.assertEqual(json.loads(endless.to_json())["epsilon"]["upper"], "Infinity")
        self.assertEqual(endless.to_dict()["epsilon"], math.inf)
        self.assertEqual(json.loads(json.dumps([self.answer], default=dpledger.Answer.to_dict)),
                         [self.answer.to_dict()])

    def test_json_is_the_command_lines(self):
        run = ("--noise-multiplier", "1", "--sampling-probability", "0.01", "--steps", "10000",
               "--adjacency", "add-or-remove-one", "--parameters", "fixed")
        events = [dpledger.RoundsEvent(dpledger.Poisson(0.01), [dpledger.SumQuery(1.0, 1.0)],
                                       10_000)]
        many = dict(zip(("with_record", "detected_with", "without_record", "detected_without"),
                        (50, 20, 50, 19)))
        for answer, words in (
                (self.answer, ("epsilon", *run, "--delta", "1e-5")),
                (dpledger.delta(**RUN, epsilon=1.0), ("delta", *run, "--epsilon", "1")),
                (dpledger.profile(**RUN, epsilons=[1.0, 2.0], type_one_errors=[0.1], priors=[0.5],
                                  gaussian_least_delta=1e-9),
                 ("profile", *run, "--epsilons", "1,2", "--trade-off", "--alphas", "0.1",
                  "--priors", "0.5", "--gaussian-fit", "1e-9")),
                (dpledger.tuning(**RUN, delta=1e-5, trials=dpledger.PoissonTrials(5.0)),
                 ("tuning", *run, "--delta", "1e-5", "--trials", "poisson", "--mean-trials", "5")),
                (dpledger.audit(evidence=dpledger.OneRunAudit(1000, 200, 195), delta=1e-5),
                 ("audit", "--canaries", "1000", "--guesses", "200", "--correct", "195", "--delta",
                  "1e-5")),
                (dpledger.audit(events=events, evidence=dpledger.ManyRunsAudit(**many), delta=1e-5),
                 ("audit", *run, "--runs-with", "50", "--detected-with", "20", "--runs-without",
                  "50", "--detected-without", "19", "--delta", "1e-5"))):
            said = subprocess.run([str(support.BIN / "dpledger"), *words, "--json"], check=True,
                                  capture_output=True, text=True, timeout=120).stdout
            self.assertEqual(json.loads(answer.to_json()), json.loads(said), words[0])

    def test_a_list_of_dicts_is_a_table_of_numbers(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        answers = dpledger.epsilon(noise_multiplier=[1.0, 2.0], sample_rate=0.01, steps=100,
                                   delta=1e-5)
        table = pandas.DataFrame([answer.to_dict() for answer in answers])
        self.assertEqual([str(table[name].dtype) for name in ("epsilon", "epsilon_lower", "delta")],
                         ["float64"] * 3)

    def test_noise_multipliers_may_be_many(self):
        one = [dpledger.epsilon(**dict(RUN, noise_multiplier=z), delta=1e-5) for z in (1.0, 2.0)]
        for many in ([1.0, 2.0], (1, 2), iter([1.0, 2.0]),
                     *([numpy.array([1.0, 2.0])] if numpy else [])):
            self.assertEqual(dpledger.epsilon(**dict(RUN, noise_multiplier=many), delta=1e-5), one)
        self.assertEqual([answer.epsilon
                          for answer in dpledger.delta(**dict(RUN, noise_multiplier=[1.0]),
                                                       epsilon=2.0)],
                         [2.0])
        with self.assertRaisesRegex(dpledger.WrongType, "noise_multiplier: must be a number, got"):
            dpledger.epsilon(**dict(RUN, noise_multiplier="12"), delta=1e-5)
        if numpy:
            self.assertIsInstance(dpledger.epsilon(**dict(RUN, noise_multiplier=numpy.array(1.0)),
                                                   delta=1e-5),
                                  dpledger.Answer)

    def test_the_package_says_its_version(self):
        stated = subprocess.run(["sed", "-n", r"s/^project(dpledger VERSION \([0-9.]*\).*/\1/p",
                                 str(support.SOURCE / "CMakeLists.txt")],
                                capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(dpledger.__version__, stated)
        with self.assertRaises(AttributeError):
            dpledger.__versions__


class Words(unittest.TestCase):
    def test_batches_and_epochs_are_rates_and_steps(self):
        long = dpledger.epsilon(noise_multiplier=1.1, sample_rate=256 / 60_000,
                                steps=math.ceil(5 * 60_000 / 256), delta=1e-6)
        self.assertEqual(dpledger.epsilon(**MNIST, delta=1e-6), long)
        self.assertEqual(f"{long:.4f}", "0.7608")
        self.assertEqual(dpledger.epsilon(noise_multiplier=1.1, sample_rate="256/60000", epochs=5,
                                          delta=1e-6),
                         long)
        for name, ask in (("delta", lambda **run: dpledger.delta(**run, epsilon=1.0)),
                          ("tuning",
                           lambda **run: dpledger.tuning(**run, delta=1e-6,
                                                         trials=dpledger.FixedTrials(2))),
                          ("profile",
                           lambda **run: dpledger.profile(**run, deltas=[1e-6]).points[0].epsilon)):
            self.assertEqual(float(ask(**MNIST)),
                             float(ask(noise_multiplier=1.1, sample_rate=256 / 60_000, steps=1172)),
                             name)

    def test_steps_of_a_scheme_s_epochs(self):
        sizes = dict(batch_size=512, population=60_000)
        for run, scheme, steps in (
                (dict(sizes, epochs=1), dpledger.Poisson(512 / 60_000, 60_000), 118),
                (dict(sizes, epochs=40), dpledger.Poisson(512 / 60_000, 60_000), 4688),
                (dict(sizes, epochs=0.5), dpledger.Poisson(512 / 60_000, 60_000), 59),
                (dict(sizes, epochs=40, scheme="fixed-size"),
                 dpledger.WithoutReplacement(512, 60_000), 4688),
                (dict(sizes, epochs=40, scheme="shuffled"),
                 dpledger.DisjointBatches(118, 0, 60_000), 4720),
                (dict(sizes, epochs=40, scheme="ALLOCATED"),
                 dpledger.RandomAllocation(118, population_size=60_000), 4720),
                (dict(epochs=40, scheme="full_batch"), dpledger.FullBatch(), 40),
                (dict(epochs=3, scheme=dpledger.DisjointBatches(7)),
                 dpledger.DisjointBatches(7), 21),
                (dict(epochs=3, scheme=dpledger.WithReplacement(7, 20)),
                 dpledger.WithReplacement(7, 20), 9),
                (dict(epochs=fractions.Fraction(5, 2), sample_rate=0.01),
                 dpledger.Poisson(0.01), 250),
                # whose double is below a third
                (dict(epochs=1, sample_rate=1 / 3), dpledger.Poisson(1 / 3), 3),
                (dict(epochs=1, sample_rate=0.3), dpledger.Poisson(0.3), 4),
                (dict(steps=1e4, sample_rate=fractions.Fraction(1, 100)),
                 dpledger.Poisson(0.01), 10_000),
                *([(dict(steps=numpy.ceil(3.2), sample_rate=0.1), dpledger.Poisson(0.1), 4)]
                  if numpy else [])):
            with self.subTest(run=run):
                self.assertEqual(dpledger.dp_sgd(1.1, **run),
                                 dpledger.RoundsEvent(scheme, [dpledger.SumQuery(1.0, 1.1)], steps))

    def test_an_epoch_that_is_left_is_answered(self):
        # 40 epochs of 117 rounds and 20 rounds
        run = dict(noise_multiplier=1.23, steps=4700, delta=1e-5)
        shuffled = dpledger.epsilon(**run, scheme=dpledger.DisjointBatches(117),
                                    adjacency="zero-out")
        self.assertAlmostEqual(shuffled.upper, 35.0241, delta=6e-5)
        self.assertEqual(shuffled, dpledger.epsilon(dpledger.Gaussian(1.23, count=41), delta=1e-5,
                                                    adjacency="zero-out"))
        allocated = [dpledger.epsilon(**dict(run, steps=steps),
                                      scheme=dpledger.RandomAllocation(117))
                     for steps in (4680, 4700, 4797)]
        self.assertAlmostEqual(allocated[1].upper, 2.3088, delta=6e-5)
        self.assertTrue(allocated[0] < allocated[1] < allocated[2])
        begun = dpledger.epsilon(noise_multiplier=1.23, steps=20, delta=1e-5,
                                 scheme=dpledger.DisjointBatches(117), adjacency="zero-out")
        self.assertEqual(
            begun, dpledger.epsilon(dpledger.Gaussian(1.23), delta=1e-5, adjacency="zero-out"))
        with self.assertRaisesRegex(ValueError,
                                    "steps: must be whole epochs of 117 rounds for one event"):
            dpledger.dp_sgd(1.0, steps=4700, scheme=dpledger.DisjointBatches(117))
        self.assertEqual([event.scheme.epoch
                          for event in _words.run(1.0, None, 25,
                                                  dpledger.DisjointBatches(10, epoch=3), None, None,
                                                  None)[:2]],
                         [3, 5])

    def test_other_libraries_words_are_hinted(self):
        for ask, wrong, meant in (
                (dpledger.epsilon, "target_delta", "delta"),
                (dpledger.epsilon, "sigma", "noise_multiplier"),
                (dpledger.epsilon, "sampling_probability", "sample_rate"),
                (dpledger.epsilon, "q", "sample_rate"), (dpledger.epsilon, "n", "population"),
                (dpledger.epsilon, "num_steps", "steps"),
                (dpledger.epsilon, "num_epochs", "epochs"),
                (dpledger.epsilon, "neighboring_relation", "adjacency"),
                (dpledger.epsilon, "accountant", "method"),
                (dpledger.epsilon, "adjacensy", "adjacency"),
                (dpledger.delta, "target_epsilon", "epsilon"),
                (dpledger.calibrate, "epsilon", "target_epsilon"),
                (dpledger.calibrate, "target_delta", "delta"),
                (dpledger.dp_sgd, "sampling_rate", "sample_rate"),
                (dpledger.profile, "delta", "deltas"),
                (dpledger.statement, "number_of_examples", "population"),
                (dpledger.tuning, "T", "steps"), (dpledger.audit, "event", "events")):
            with self.subTest(word=wrong), self.assertRaises(dpledger.WrongType) as caught:
                ask(**{wrong: 1})
            self.assertEqual(str(caught.exception), "%s: is no argument of %s; did you mean %s?"
                             % (wrong, ask.__name__, meant))
            self.assertEqual(caught.exception.field, wrong)
        with self.assertRaisesRegex(TypeError,
                                    "^wibble: is no argument of epsilon, which has events, delta,"):
            dpledger.epsilon(wibble=1)
        with self.assertRaisesRegex(
                TypeError, "^max_grad_norm: is no argument of epsilon: noise_multiplier is the "):
            dpledger.epsilon(max_grad_norm=1.0)
        with self.assertRaisesRegex(TypeError, "^delta: epsilon needs it: write delta=...$"):
            dpledger.epsilon(**RUN)
        with self.assertRaisesRegex(
                TypeError, "^epsilon: takes events without a name; write the others as delta="):
            dpledger.epsilon(1.0, 0.01, 1000, 1e-5)

    def test_errors_of_a_callers_own_are_not_explained_away(self):
        class Odd(dpledger.Gaussian):
            @property
            def noise_multiplier(self):
                raise TypeError("mine")

            @noise_multiplier.setter
            def noise_multiplier(self, value):
                pass
        with self.assertRaises(TypeError) as caught:
            dpledger.epsilon([Odd(1.0)], delta=1e-5)
        self.assertNotIn("is no argument", str(caught.exception))

    def test_every_spelling_of_a_word_is_understood(self):
        for word in ("ZERO_OUT", "zero_out", "Zero-Out"):
            self.assertEqual(dpledger.epsilon(dpledger.Gaussian(1.0), delta=1e-5,
                                              adjacency=word).adjacency,
                             "zero-out")
        self.assertEqual(dpledger.epsilon(dpledger.Gaussian(1.0), delta=1e-5,
                                          method="GAUSSIAN_CLOSED_FORM").method,
                         "gaussian")
        with self.assertRaisesRegex(
                ValueError,
                'adjacency: must be one of "add-or-remove-one", "replace-one", "zero-out", '
                'got "near"'):
            dpledger.epsilon(dpledger.Gaussian(1.0), delta=1e-5, adjacency="near")

    def test_refusals_speak_as_arguments_do(self):
        for ask, code, text in (
                (lambda: dpledger.epsilon(**MNIST, scheme="shuffled", delta=1e-5),
                 "FAILED_PRECONDITION",
                 'give adjacency="zero-out" or adjacency="replace-one"'),
                (lambda: dpledger.epsilon(noise_multiplier=1.0, sample_rate=256, steps=3,
                                          delta=1e-5),
                 "INVALID_ARGUMENT", "^sample_rate: must be "),
                (lambda: dpledger.epsilon(noise_multiplier=1.0, scheme=dpledger.Poisson(2.0),
                                          steps=3, delta=1e-5),
                 "INVALID_ARGUMENT", "^scheme.probability: must be "),
                (lambda: dpledger.epsilon(noise_multiplier=1.0, scheme=dpledger.Poisson, steps=3,
                                          delta=1e-5),
                 "INVALID_ARGUMENT",
                 "^scheme: must be a SamplingScheme .*, which is a class: call it"),
                (lambda: dpledger.epsilon(dpledger.Gaussian, delta=1e-5), "INVALID_ARGUMENT",
                 r"^events: must be an event|^events\[0\]: must be an Event"),
                (lambda: dpledger.epsilon(**dict(RUN, steps=-5), delta=1e-5), "INVALID_ARGUMENT",
                 r"^steps: must be in \[1, 2\^53\], got -5$"),
                (lambda: dpledger.epsilon(**dict(RUN, steps=0), delta=1e-5), "INVALID_ARGUMENT",
                 r"^steps: must be in \[1, 2\^53\], got 0$"),
                (lambda: dpledger.epsilon(**dict(RUN, steps=1e300), delta=1e-5), "INVALID_ARGUMENT",
                 r"^steps: must be in \[1, 2\^53\], got 1e\+300$"),
                (lambda: dpledger.epsilon(**dict(RUN, steps=1.5), delta=1e-5), "INVALID_ARGUMENT",
                 r"^steps: must be a whole number, got 1\.5 \(float\)$"),
                (lambda: dpledger.epsilon(**dict(MNIST, batch_size=70_000), delta=1e-5),
                 "INVALID_ARGUMENT",
                 r"^batch_size: must be at most population \(60000\), got 70000$"),
                (lambda: dpledger.epsilon(**MNIST, scheme="swapped", delta=1e-5),
                 "INVALID_ARGUMENT",
                 '^scheme: must be one of "poisson", "fixed-size", "shuffled", "allocated", '
                 '"full-batch", or a'),
                (lambda: dpledger.epsilon(noise_multiplier=1.0, batch_size=3, steps=3, delta=1e-5),
                 "INVALID_ARGUMENT", "^population: give it too"),
                (lambda: dpledger.epsilon(**MNIST, steps=3, delta=1e-5), "INVALID_ARGUMENT",
                 "^epochs: is part of steps; give one of the two$"),
                (lambda: dpledger.epsilon(**MNIST, sample_rate=0.1, delta=1e-5), "INVALID_ARGUMENT",
                 "^sample_rate: is batch_size / population"),
                (lambda: dpledger.epsilon(**MNIST, scheme=dpledger.Poisson(0.1), delta=1e-5),
                 "INVALID_ARGUMENT", "^batch_size: is part of scheme"),
                (lambda: dpledger.epsilon(**dict(MNIST, epochs=-1), delta=1e-5), "INVALID_ARGUMENT",
                 "^epochs: must be finite and > 0, got -1$"),
                (lambda: dpledger.epsilon(dpledger.Gaussian(1.0), delta=1e-5, population=3),
                 "INVALID_ARGUMENT", "^population: is part of events")):
            with self.subTest(text=text), self.assertRaisesRegex(dpledger.Error, text) as caught:
                ask()
            self.assertEqual(caught.exception.code, code)

    def test_no_analysis_is_a_failed_precondition(self):
        with self.assertRaises(dpledger.Error) as caught:
            dpledger.epsilon(**MNIST, scheme="shuffled", delta=1e-5)
        self.assertEqual((caught.exception.code, caught.exception.reason),
                         ("FAILED_PRECONDITION", "NO_ANALYSIS"))


class Calibrations(unittest.TestCase):
    TARGET = dict(target_epsilon=3, delta=1e-5)

    def kept(self, found, run, **options):
        upper = dpledger.epsilon(**run, delta=1e-5, **options).upper
        self.assertLessEqual(upper, 3)
        self.assertGreater(upper, 2.9)
        return found

    def test_words_are_the_same_as_of_questions(self):
        sizes = dict(batch_size=512, population=60_000, epochs=40)
        found = dpledger.calibrate(**self.TARGET, **sizes)
        self.assertEqual((found.solved, found.steps, found.sample_rate, found.batch_size),
                         ("noise_multiplier", 4688, 512 / 60_000, 512))
        self.kept(found, dict(sizes, noise_multiplier=found.noise_multiplier))
        steps = dpledger.calibrate(**self.TARGET, batch_size=512, population=60_000,
                                   noise_multiplier=1.0)
        self.assertEqual((steps.solved, type(steps.steps)), ("steps", int))
        self.kept(steps,
                  dict(batch_size=512, population=60_000, noise_multiplier=1.0, steps=steps.steps))
        rate = dpledger.calibrate(**self.TARGET, population=60_000, noise_multiplier=1.0,
                                  steps=5000)
        self.assertEqual(rate.batch_size, int(rate.sample_rate * 60_000))
        self.kept(rate,
                  dict(batch_size=rate.batch_size, population=60_000, noise_multiplier=1.0,
                       steps=5000))

    def test_any_scheme_is_calibrated(self):
        sizes = dict(batch_size=512, population=60_000)
        for scheme, options in (("shuffled", dict(adjacency="zero-out")), ("allocated", {}),
                                ("full-batch", {})):
            run = dict(scheme=scheme, epochs=5, **(sizes if scheme != "full-batch" else {}))
            with self.subTest(scheme=scheme):
                noise = dpledger.calibrate(**self.TARGET, **run, **options)
                self.kept(noise, dict(run, noise_multiplier=noise.noise_multiplier), **options)
                with self.assertRaisesRegex(AttributeError, "sample_rate: is not known here"):
                    noise.sample_rate
                del run["epochs"]
                z = noise.noise_multiplier
                steps = dpledger.calibrate(**self.TARGET, **run, noise_multiplier=z, **options)
                self.assertEqual(steps.steps, noise.steps)
                self.assertEqual(steps.noise_multiplier, z)
        fixed = dpledger.calibrate(**self.TARGET, scheme="fixed-size", population=60_000,
                                   noise_multiplier=3.0, steps=500, adjacency="replace-one",
                                   relative_gap=1e-2)
        self.assertEqual((fixed.solved, type(fixed.batch_size), fixed.steps),
                         ("batch_size", int, 500))
        self.assertLessEqual(dpledger.epsilon(scheme="fixed-size", population=60_000,
                                              noise_multiplier=3.0, steps=500,
                                              batch_size=fixed.batch_size, adjacency="replace-one",
                                              delta=1e-5, relative_gap=1e-2).upper,
                             3)

    def test_an_epoch_that_is_left_counts_as_whole(self):
        found = [dpledger.calibrate(**self.TARGET, scheme=dpledger.RandomAllocation(10),
                                    steps=steps) for steps in (41, 50)]
        self.assertEqual(found[0].noise_multiplier, found[1].noise_multiplier)
        self.assertEqual(found[0].steps, 50)

    def test_all_answers_compare(self):
        run = dict(sample_rate=0.01, steps=100)
        found, other = (dpledger.calibrate(target_epsilon=target, delta=1e-5, **run)
                        for target in (1.0, 2.0))
        self.assertGreater(found, other)
        self.assertLess(other, found.noise_multiplier)
        self.assertEqual(found, dpledger.calibrate(target_epsilon=1.0, delta=1e-5, **run))
        with self.assertRaises(TypeError):
            found < dpledger.epsilon(noise_multiplier=1.0, delta=1e-5, **run)
        profiles = [dpledger.profile(noise_multiplier=1.0, epsilons=[epsilon], **run)
                    for epsilon in (1, 1, 2)]
        self.assertEqual(profiles[0], profiles[1])
        self.assertNotEqual(profiles[0], profiles[2])
        self.assertEqual(len(set(profiles)), 2)

    def test_what_was_spent_is_part_of_the_target(self):
        spent = [dpledger.dp_sgd(1.2, 0.01, 2000), dpledger.Laplace(20.0)]
        run = dict(sample_rate=0.01, steps=2000)
        found = dpledger.calibrate(**self.TARGET, spent=spent, **run)
        whole = spent + [dpledger.dp_sgd(found.noise_multiplier, **run)]
        self.kept(found, dict(events=whole))
        self.assertGreater(found.noise_multiplier,
                           dpledger.calibrate(**self.TARGET, **run).noise_multiplier)

        class Opened:
            def events(self):
                return spent
        self.assertEqual(dpledger.calibrate(**self.TARGET, spent=Opened(), **run).value,
                         found.value)
        rest = dpledger.calibrate(**self.TARGET, spent=spent, sample_rate=0.01,
                                  noise_multiplier=2.0)
        self.kept(rest, dict(events=spent + [dpledger.dp_sgd(2.0, 0.01, rest.steps)]))
        by_hole = dpledger.calibrate(**self.TARGET, spent=spent, events=dpledger.dp_sgd(1.0, **run),
                                     hole="events[0].queries[0].noise_stddev")
        self.assertEqual(by_hole.value, found.value)
        with self.assertRaisesRegex(dpledger.Error,
                                    "; what was spent comes to an epsilon of 6.1[89]") as caught:
            dpledger.calibrate(**self.TARGET, spent=dpledger.dp_sgd(**RUN), **run)
        self.assertEqual(caught.exception.reason, "NO_SOLUTION")
        with self.assertRaisesRegex(dpledger.WrongType,
                                    "spent: must be an event or a sequence of them, got str"):
            dpledger.calibrate(**self.TARGET, spent="run.ledger", **run)

    def test_constructors_know_the_words_of_others(self):
        for make, wanted in (
                (lambda: dpledger.Poisson(sampling_rate=0.1),
                 "sampling_rate: .*did you mean probability"),
                (lambda: dpledger.SumQuery(max_grad_norm=1.0, sigma=2.0),
                 "did you mean l2_norm_bound"),
                (lambda: dpledger.Gaussian(stddev=3.0), "did you mean noise_multiplier"),
                (lambda: dpledger.WithoutReplacement(batch_size=3), "did you mean sample_size"),
                (lambda: dpledger.Laplace(scale=2.0, x=1), "which has noise_multiplier, count"),
                (lambda: dpledger.DisjointBatches(), "batches_per_epoch: DisjointBatches needs it"),
                (lambda: dpledger.FullBatch(1, 2),
                 "FullBatch: takes population_size without a name, and")):
            with self.subTest(wanted), self.assertRaisesRegex(dpledger.WrongType, wanted):
                make()

    def test_epochs_of_the_rest_are_later_ones(self):
        """15 rounds of one epoch of 10 would count as two epochs of the least noise."""
        spent = _words.run(9.0, None, 5, dpledger.DisjointBatches(10), None, None, None)
        found = dpledger.calibrate(**self.TARGET, spent=spent, scheme=dpledger.DisjointBatches(10),
                                   epochs=1, adjacency="zero-out")
        self.kept(found,
                  dict(events=[dpledger.Gaussian(9.0), dpledger.Gaussian(found.noise_multiplier)]),
                  adjacency="zero-out")

    def test_a_hole_is_named_as_python_shows_it(self):
        for event, ours, theirs in (
                (dpledger.dp_sgd(1.0, 0.01, 100), "queries[0].noise_stddev",
                 "rounds.queries[0].noise_stddev"),
                (dpledger.dp_sgd(1.0, 0.01, 100), "scheme.probability",
                 "rounds.scheme.poisson.probability"),
                (dpledger.Gaussian(9.0, count=3), "noise_multiplier",
                 "mechanism.gaussian.noise_multiplier"),
                (dpledger.Gaussian(9.0, count=3), "count", "mechanism.count"),
                (dpledger.PoissonSampled(0.1, dpledger.Composed([dpledger.Gaussian(9.0)])),
                 "event.events[0].noise_multiplier",
                 "mechanism.poisson_sampled.event.composed.events[0].gaussian.noise_multiplier"),
                (dpledger.MatrixMechanism(tree=dpledger.TreeEncoder(8,
                                                                    dpledger.Participation(1, 8)),
                                          noise_stddev=9.0),
                 "noise_stddev", "mechanism.matrix_mechanism.noise_stddev")):
            found = [dpledger.calibrate(**self.TARGET, events=event, hole="events[0]." + path,
                                        adjacency="zero-out") for path in (ours, theirs)]
            self.assertEqual(found[0].value, found[1].value)
            self.assertEqual(found[0].solved, "events[0]." + ours)
        for hole in ("noise_multiplier", "events[0].sigma", "events[3].noise_multiplier"):
            with self.assertRaisesRegex(
                    ValueError, r"^hole: .*; the numbers there are events\[0\].noise_multiplier"):
                dpledger.calibrate(**self.TARGET, events=dpledger.Gaussian(1.0), hole=hole)

    def test_what_cannot_be_sought_is_said(self):
        for run, text in ((dict(steps=1),
                           "^noise_multiplier: leave out one of .*, got no noise_multiplier and no "
                           "sample_rate$"),
                          (dict(noise_multiplier=1.0, sample_rate=0.1, steps=1),
                           ", got all of them$"),
                          (dict(noise_multiplier=1.0, epochs=3),
                           "^epochs: need the batch size, which is sought; give steps$"),
                          (dict(noise_multiplier=1.0, scheme="shuffled", population=100, steps=3),
                           "^batch_size: give it; it is "),
                          (dict(noise_multiplier=1.0, steps=3, hole="events[0].count"),
                           "^events: events and hole go together$"),
                          (dict(steps=3, events=dpledger.Gaussian(1.0), hole="events[0].count"),
                           "^events: give them and hole")):
            with self.subTest(run=run), self.assertRaisesRegex(dpledger.InvalidArgument, text):
                dpledger.calibrate(**self.TARGET, **run)


class Statements(unittest.TestCase):
    def test_the_customary_statement_is_one_call(self):
        said = dpledger.statement(**MNIST, delta=1e-6)
        self.assertEqual([f"{answer:.4f}" for answer in (said.poisson, said.unamplified)],
                         ["0.7608", "11.2157"])
        self.assertIsNone(said.user_poisson)
        self.assertNotIn("user", str(said))
        said = dpledger.statement(**MNIST, delta=1e-6, max_examples_per_user=3)
        for answer, known in ((said.poisson, 0.7608), (said.unamplified, 11.2156),
                              (said.user_poisson, 2.5073), (said.user_unamplified, 46.8456)):
            self.assertAlmostEqual(answer.upper, known, delta=6e-5)
        for words in ("60000 records in batches of 256", "5 epochs (1172 steps)", "delta 1e-06",
                      "epsilon 0.7608", "epsilon 11.2157", "at most 3: epsilon 2.507",
                      "floating-point noise"):
            self.assertIn(words, str(said))
        self.assertEqual(json.loads(said.to_json())["user_poisson"], said.user_poisson.upper)
        self.assertIn("poisson=0.7608", repr(said))

    def test_epochs_without_amplification_are_whole(self):
        said = dpledger.statement(**dict(MNIST, epochs=1.2), delta=1e-6)
        self.assertEqual(said.unamplified,
                         dpledger.epsilon(dpledger.Gaussian(1.1, count=2), delta=1e-6))
        self.assertEqual(said.to_dict()["steps"], 282)

    def test_wrong_arguments_are_named(self):
        for change, text in ((dict(max_examples_per_user=0),
                              r"^max_examples_per_user: must be in \[1, 2\^53\], got 0"),
                             (dict(max_examples_per_user=5000),
                              "^max_examples_per_user: must be at most 1024"),
                             (dict(batch_size=70_000), "^batch_size: must be at most population"),
                             (dict(noise_multiplier=-1.0), "^noise_multiplier: must be "),
                             (dict(delta=2.0), "^delta: must be ")):
            with self.subTest(change=change), self.assertRaisesRegex(dpledger.InvalidArgument,
                                                                     text):
                dpledger.statement(**{**MNIST, "delta": 1e-6, **change})


class Ledgers(support.WithPath):
    def test_a_recorder_s_answer_is_a_whole_one(self):
        with self.recorder("first", planned_rounds=3, adjacency="ADD_OR_REMOVE_ONE") as recorder:
            self.assertEqual(repr(recorder), "Recorder('projects/default/ledgers/first', "
                             "adjacency='ADD_OR_REMOVE_ONE', planned_rounds=3)")
            for number in (1, 2):
                last = recorder.round(dpledger.Poisson("1/100"), dpledger.SumQuery(1.0, 1.0))
            self.assertEqual(repr(last), "Round(%d)" % last.number)
            answer = recorder.epsilon(delta=1e-5)
            self.assertIsInstance(answer, dpledger.EpsilonAnswer)
            for found, steps in ((answer.epsilon, 2), (answer.planned_epsilon, 3)):
                known = dpledger.epsilon(**dict(RUN, steps=steps), delta=1e-5).epsilon
                self.assertTrue(found.lower <= known.upper
                                and known.lower <= found.upper < 1.01 * known.lower)
            self.assertTrue(answer <= 6 and answer == answer.epsilon.upper and answer.delta == 1e-5)
            self.assertEqual((answer.ledger, answer.adjacency, answer.parameters, answer.regime,
                              answer.group_size),
                             ("projects/default/ledgers/first", "add-or-remove-one", "fixed",
                              "fixed-plan", 1))
            self.assertRegex(answer.root, "^[0-9a-f]{64}$")
            self.assertGreater(answer.entries, 2)
            self.assertEqual((answer.ledgers[0].rounds, answer.ledgers[0].planned_rounds), (2, 3))
            self.assertIn("floating-point noise", " ".join(answer.assumptions))
            self.assertIn("planned_epsilon=Interval(", repr(answer))
            found = json.loads(answer.to_json())
            self.assertEqual((base64.b64decode(found["details"]["ledgers"][0]["rootHash"]).hex(),
                              found["details"]["entries"], found["plannedEpsilon"]["upper"]),
                             (answer.root, str(answer.entries), answer.planned_epsilon.upper))
            recorder.round(dpledger.Poisson(0.01), dpledger.SumQuery(1.0, 1.0)).await_releasable()
            self.assertIsNone(recorder.epsilon(delta=1e-5).planned_epsilon)
        self.assertEqual(repr(recorder), "Recorder(recorder: has been freed)")


if __name__ == "__main__":
    unittest.main()
