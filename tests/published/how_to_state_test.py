"""docs/how-to-state.md: its commands print what it shows, and each statement covers what the
algorithm reveals by an independent computation. Beside each stands a wrong statement, which must
fall short."""
import itertools
import json
import math
import re
import tempfile
import unittest

import pages

try:
    import numpy
    import oracle
except ImportError:
    raise unittest.SkipTest("numpy is not installed")

PAGE = "how-to-state.md"
CHANGES = (-1, 0, 1)


def mechanism(kind, count=1, **fields):
    return {"mechanism": {"count": str(count), kind: fields}}


def gaussian(noise):
    return mechanism("gaussian", noise_multiplier=noise)


def sampled_gaussian(rate, noise, count=1):
    return mechanism("poisson_sampled", count, sampling_probability=rate,
                     event={"gaussian": {"noise_multiplier": noise}})


def shifted(scores, change, times=1):
    return tuple(a + times * b for a, b in zip(scores, change))


class HowToState(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.text = pages.text_of(PAGE)
        cls.runner = pages.Runner(cls.folder.name)
        cls.fresh = pages.fresh(cls.text, cls.runner)  # also defines what the blocks of Python do

    def ask(self, what, event, adjacency="add-or-remove-one"):
        """The upper end for `--delta D` or `--epsilon E`."""
        command = "delta" if what.startswith("--epsilon") else "epsilon"
        asked = "dpledger %s %s --adjacency %s --events - --json" % (command, what, adjacency)
        told = json.loads(pages.run(asked, self.folder.name, json.dumps(event)))
        return float(told[command]["upper"])

    def covers(self, event, truth, wrong, epsilons=(0.1, 0.5, 1.0),
               adjacency="add-or-remove-one", error=1e-7):
        """`truth` gives δ at an ε, within a relative error. The event is nowhere below, the wrong
        one is somewhere."""
        short = 0
        for epsilon in epsilons:
            delta = truth(epsilon)
            what = "--epsilon %r" % epsilon
            self.assertLessEqual(delta, self.ask(what, event, adjacency) * (1 + error) + 1e-15)
            short += delta > self.ask(what, wrong, adjacency) * (1 + 10 * error)
        self.assertGreater(short, 0, "the wrong statement is not refuted")

    def shows(self, *texts):
        said = " ".join(self.text.split())
        for text in texts:
            self.assertTrue(text in said, "the page does not say: " + text)

    def stated(self, name):
        """The least number that an event of the page has under this name."""
        return min(float(n) for n in re.findall(r'"%s":([\d.e-]+)' % name, self.text))

    # The page itself.

    def test_every_command_prints_what_the_page_shows(self):
        self.assertEqual(self.fresh, self.text)
        self.assertGreaterEqual(len(pages.BLOCK.findall(self.text)), 27)

    def test_every_command_of_the_page_is_marked(self):
        self.assertEqual(self.text.count("```console") + self.text.count("```python"),
                         len(pages.BLOCK.findall(self.text)))

    def test_control_another_number_is_noticed(self):
        shown = re.search(r"^epsilon .*$", self.text, re.M)
        for place in (m.start() for m in re.finditer(r"\d", shown.group())):
            at = shown.start() + place
            changed = self.text[:at] + str((int(self.text[at]) + 1) % 10) + self.text[at + 1:]
            self.assertNotEqual(changed, self.fresh)

    # Sparse vector.

    def above_threshold(self, queries, threshold_scale, query_scale):
        """P(the first above is number k), for each row of queries; the threshold is 0."""
        x = numpy.arange(-80, 80, 1 / 32)  # kinks are at whole numbers, which are nodes
        weight = oracle.laplace_density(x, threshold_scale) / 32
        above = {q: oracle.laplace_tail(x - q, query_scale) for q in numpy.unique(queries)}
        result = []
        for row in queries:
            none = weight.copy()
            for q in row[:-1]:
                none = none * (1 - above[q])
            result.append(float((none * above[row[-1]]).sum()))
        return numpy.array(result)

    def test_above_threshold_is_within_epsilon_and_a_long_stream_reaches_it(self):
        rows = [numpy.array(row) for row in itertools.product(range(-2, 4), repeat=3)]
        changes = list(itertools.product(CHANGES, repeat=3))
        worst = {}
        for query_scale in (4, 2):  # 4/ε, and half of it, with ε = 1
            known = dict(zip(map(tuple, rows), self.above_threshold(rows, 2, query_scale)))
            pairs = [(known[tuple(row)], known.get(tuple(row + change))) for row in rows
                     for change in changes]
            worst[query_scale] = max(abs(math.log(p / q)) for p, q in pairs if q)
        self.assertLessEqual(worst[4], 1 + 1e-6)
        self.assertGreater(worst[2], 1.05)  # the wrong noise
        one = numpy.array([0.0] * 399 + [0.0])
        other = numpy.array([1.0] * 399 + [-1.0])
        first, second = self.above_threshold([one, other], 2, 4)
        self.assertGreater(math.log(first / second), 0.99)
        self.assertLessEqual(math.log(first / second), 1 + 1e-6)
        self.shows("400 queries the test finds a ratio of e^(0.99 ε)")
        run = mechanism("sparse_vector", threshold_noise=2, query_noise=4, cutoff="1")
        self.assertLess(abs(self.ask("--delta 0", run) - 1), 1e-5)
        # The wrong factor: not every stream moves the same way.
        same_way = mechanism("sparse_vector", threshold_noise=2, query_noise=4, cutoff="1",
                             monotonic=True)
        self.assertGreater(math.log(first / second), self.ask("--delta 0", same_way))

    def answered(self, row, said, threshold_scale=3.0, query_scale=6.0):
        """P(which are above the one threshold, at 0) of a stream."""
        x = numpy.arange(-80, 80, 1 / 32)
        mass = oracle.laplace_density(x, threshold_scale) / 32
        for q, is_above in zip(row, said):
            above = oracle.laplace_tail(x - q, query_scale)
            mass = mass * (above if is_above else 1 - above)
        return float(mass.sum())

    def sparse_vector(self, cutoff, monotonic):
        """The ε of answers as above."""
        event = mechanism("sparse_vector", threshold_noise=3, query_noise=6, cutoff=str(cutoff),
                          monotonic=monotonic)
        return self.ask("--delta 0", event)

    def test_one_threshold_for_several_answers_is_within_epsilon_and_reaches_it(self):
        allowed = {way: self.sparse_vector(2, way) for way in (False, True)}
        all_said = [(1, 1), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)]
        rows = list(itertools.product(range(-2, 3), repeat=3))
        known = {row: [self.answered(row, said) for said in all_said] for row in rows}
        for row in rows:
            self.assertAlmostEqual(sum(known[row]), 1, 4)
            for change in itertools.product(CHANGES, repeat=3):
                other = known.get(shifted(row, change))
                ratio = max(abs(math.log(p / q)) for p, q in zip(known[row], other or known[row]))
                together = min(change) >= 0 or max(change) <= 0
                self.assertLessEqual(ratio, allowed[together] + 1e-4)
        # 2 answers of 402; the ratio is above what is wrong by one answer, or by the way they move.
        said, still = (0,) * 400 + (1, 1), (0,) * 402
        for moved, monotonic, wrong in (((1,) * 400 + (-1, -1), False, ((1, False), (2, True))),
                                        ((1,) * 400 + (0, 0), True, ((1, True),))):
            ratio = math.log(self.answered(still, said) / self.answered(moved, said))
            self.assertLessEqual(ratio, allowed[monotonic] + 1e-4)
            for cutoff, way in wrong:
                self.assertGreater(ratio, self.sparse_vector(cutoff, way))

    # Noisy maxima.

    def two_best(self, scores, scale):
        """P(a is best and b second of three), by one draw of Gumbel noise."""
        x = numpy.linspace(-25, 60, 4001)
        step = x[1] - x[0]
        below = [numpy.exp(-numpy.exp(-(x - s) / scale)) for s in scores]
        density = [b * numpy.exp(-(x - s) / scale) / scale for b, s in zip(below, scores)]
        return numpy.array([((1 - below[a]) * density[b] * below[c]).sum() * step
                            for a, b, c in itertools.permutations(range(3))])

    def test_two_best_by_one_draw_are_two_exponential_mechanisms(self):
        known = {}
        for scores in itertools.product(range(4), repeat=3):
            known[scores] = self.two_best(scores, 2.0)
            self.assertAlmostEqual(known[scores].sum(), 1, 6)
        changes = list(itertools.product(CHANGES, repeat=3))
        pairs = [(known[s], known[shifted(s, change)]) for s in known for change in changes
                 if shifted(s, change) in known]
        event = mechanism("report_noisy_max", 2, noise_multiplier=2, noise="GUMBEL_NOISE")
        wrong = mechanism("report_noisy_max", 1, noise_multiplier=2, noise="GUMBEL_NOISE")
        self.covers(event, lambda e: max(oracle.hockey_stick(p, q, e) for p, q in pairs), wrong)
        second = [[1, 3], [0, 5], [2, 4]]  # the orders in which each candidate is second
        for p, q in pairs[::7]:
            self.assertLessEqual(oracle.hockey_stick(p[second].sum(1), q[second].sum(1), 0.3),
                                 oracle.hockey_stick(p, q, 0.3) + 1e-12)

    def test_best_two_with_their_gaps_are_within_epsilon(self):
        x = numpy.arange(-60, 120, 1 / 16)
        gaps = list(itertools.product((0, 1, 2, 5), repeat=2))
        rest = 200  # candidates with one score, of which the greatest is third

        def logs(scores, scale):
            """log density of candidates 0 and 1 before all others, with these gaps."""
            first, second, third = scores
            return numpy.log([(oracle.laplace_density(x - first, scale)
                               * oracle.laplace_density(x - g - second, scale)
                               * oracle.laplace_density(x - g - h - third, scale)
                               * (1 - oracle.laplace_tail(x - g - h - third, scale)) ** (rest - 1)
                               ).sum() for g, h in gaps])

        worst = {}
        for scale in (4, 2):  # 2k/ε for k = 2 and ε = 1; the scale of one
            base = {s: logs(s, scale) for s in itertools.product(range(-1, 2), repeat=3)}
            worst[scale] = max(float(abs(base[s] - base[shifted(s, change)]).max()) for s in base
                               for change in itertools.product(CHANGES, repeat=3)
                               if shifted(s, change) in base)
        self.assertLessEqual(worst[4], 1 + 1e-9)
        self.assertGreater(worst[2], 1.5)

    # PATE.

    def test_gaussian_votes_are_the_stated_gaussian_and_two_classes_reach_it(self):
        sigma = 3.0

        def truth(epsilon):
            lead = numpy.arange(-60, 60, 0.05)
            wins = oracle.normal(lead / (sigma * math.sqrt(2)))
            fewer = oracle.normal((lead - 2) / (sigma * math.sqrt(2)))
            return float((wins - math.exp(epsilon) * fewer).max())

        event = gaussian(sigma / math.sqrt(2))
        self.covers(event, truth, gaussian(sigma))
        self.assertGreater(truth(0.5), 0.9999 * self.ask("--epsilon 0.5", event))
        self.assertLessEqual(28.28427, 40 / math.sqrt(2))
        self.shows('"noise_multiplier":28.28427}')

    def test_laplace_votes_are_two_gamma_an_answer(self):
        scale = 4.0  # 1/γ

        def wins(lead):  # P(the difference of two such noises > -lead)
            y = numpy.abs(lead) / scale
            tail = 0.25 * (2 + y) * numpy.exp(-y)
            return numpy.where(lead <= 0, tail, 1 - tail)

        lead = numpy.arange(-40, 40, 0.25)

        def truth(epsilon):
            return float((wins(lead) - math.exp(epsilon) * wins(lead - 2)).max())

        self.covers(mechanism("report_noisy_max", noise_multiplier=scale), truth,
                    mechanism("report_noisy_max", noise_multiplier=2 * scale), (0.05, 0.2, 0.4))

    def test_how_far_a_vote_moves_an_answer_depends_on_the_votes(self):
        spread = 40 * math.sqrt(2)
        agreed = float(oracle.normal(-248 / spread) - oracle.normal(-250 / spread))
        tie = float(oracle.normal(2 / spread)) - 0.5
        self.shows("more than %.1e, at a tie by %.4f" % (agreed, tie))

    # Partition selection.

    def test_released_counts_above_a_threshold_are_noise_and_a_group_that_passes(self):
        sigma, threshold = 10.0, 53.0
        passes = float(oracle.normal(-(threshold - 1) / sigma))

        def truth(epsilon):
            """One shared group, with c others; one that the person alone has."""
            x = numpy.linspace(threshold, threshold + 200, 40001)
            step = x[1] - x[0]
            worst = 0.0
            for others in (40, 53, 80, 130):
                with_person, without = (
                    numpy.exp(-((x - count) / sigma) ** 2 / 2) * step
                    / (sigma * math.sqrt(2 * math.pi)) for count in (others + 1, others))
                p = numpy.append(with_person, 1 - with_person.sum()) * (1 - passes)
                q = numpy.append(without, 1 - without.sum())
                worst = max(worst, passes + oracle.hockey_stick(p, q, epsilon),
                            oracle.hockey_stick(q, p, epsilon))
            return worst

        noise = {"gaussian": {"noise_multiplier": sigma / math.sqrt(2)}}
        group = {"epsilon_delta": {"epsilon": 0, "delta": 1 - (1 - passes) ** 2}}
        self.covers(mechanism("composed", events=[noise, group]), truth,
                    mechanism("composed", events=[noise]), (0.5, 0.7))
        self.assertLess(1 - (1 - float(oracle.normal(-5.2))) ** 4, 4e-7)
        self.shows('"noise_multiplier":%g}' % (sigma / 2), '"epsilon":0,"delta":4e-7}')

    def test_laplace_threshold_is_its_delta(self):
        delta = 1e-7
        threshold = 1 + math.log(1 / (2 * delta))  # ε = 1
        alone = float(oracle.laplace_tail(threshold - 1, 1.0))

        def truth(epsilon):
            x = numpy.arange(threshold, threshold + 60, 1 / 256)
            worst = alone
            for others in (5, 16, 30):
                p, q = (oracle.laplace_density(x - c, 1.0) / 256 for c in (others + 1, others))
                p, q = (numpy.append(v, 1 - v.sum()) for v in (p, q))
                worst = max(worst, oracle.both_ways(p, q, epsilon + 1e-3))  # quadrature: 1e-3
            return worst

        self.covers(mechanism("epsilon_delta", epsilon=1, delta=delta), truth,
                    mechanism("epsilon_delta", epsilon=1, delta=delta / 2), (0.5, 1.0))

    # Shuffling.

    def shuffled(self, choices, answers, keep):
        """The law of the counts of answers, where each keeps its own with probability `keep` and
        gives another one else."""
        law = {(0,) * answers: 1.0}
        for own in choices:
            after = {}
            for counts, mass in law.items():
                for answer in range(answers):
                    to = tuple(c + (a == answer) for a, c in enumerate(counts))
                    p = keep if answer == own else (1 - keep) / (answers - 1)
                    after[to] = after.get(to, 0.0) + mass * p
            law = after
        return law

    def test_shuffled_reports_are_within_the_pages_sum(self):
        shuffled_delta = self.runner.names["shuffled_delta"]
        short = 0
        for local, answers, people in ((1.0, 2, 5), (2.0, 2, 4), (1.0, 3, 4), (2.0, 3, 3)):
            keep = math.exp(local) / (math.exp(local) + answers - 1)
            for epsilon in (0.1, 0.4, 0.8):
                worst = 0.0
                for others in itertools.combinations_with_replacement(range(answers), people - 1):
                    p, q = (self.shuffled(others + (own,), answers, keep) for own in (0, 1))
                    worst = max(worst, sum(max(0.0, p[k] - math.exp(epsilon) * q[k]) for k in p))
                self.assertLessEqual(worst, shuffled_delta(epsilon, local, people))
                short += worst > shuffled_delta(epsilon, local, 3 * people)  # more than there are
        self.assertGreater(short, 0)

    def test_shuffled_reports_cost_what_the_sum_says(self):
        shuffled_delta = self.runner.names["shuffled_delta"]
        for local, people in ((2.0, 1000), (0.5, 200), (4.0, 1500)):
            event = mechanism("shuffled", local_epsilon=local, people=str(people))
            epsilon = self.ask("--delta 1e-5", event, "replace-one")
            self.assertLess(shuffled_delta(epsilon, local, people), 1e-5)
            self.assertGreater(shuffled_delta(epsilon * 0.999, local, people), 1e-5)

    def test_shuffled_reports_hold_for_responses(self):
        people = 6
        for local, answers in ((1.0, 2), (2.5, 3)):
            keep = math.exp(local) / (math.exp(local) + answers - 1)

            def truth(epsilon):
                return max(oracle_delta(*(self.shuffled(others + (own,), answers, keep)
                                          for own in (0, 1)), epsilon)
                           for others in itertools.combinations_with_replacement(
                               range(answers), people - 1))

            def oracle_delta(p, q, epsilon):
                return sum(max(0.0, p[k] - math.exp(epsilon) * q[k]) for k in p)

            event = mechanism("shuffled", local_epsilon=local, people=str(people))
            wrong = mechanism("shuffled", local_epsilon=local, people=str(2 * people))
            for adjacency in ("replace-one", "zero-out"):
                self.covers(event, truth, wrong, (0.1, 0.4, 0.8), adjacency)

    def test_ten_shuffles_cost_less_than_ten_statements(self):
        shuffled_delta = self.runner.names["shuffled_delta"]
        least = min(self.ask("--delta 1e-5", mechanism("epsilon_delta", 10, epsilon=epsilon,
                                                       delta=shuffled_delta(epsilon, 2.0, 1000)),
                             "replace-one") for epsilon in (0.39, 0.4, 0.41, 0.42, 0.45, 0.5))
        self.assertAlmostEqual(least, 4.0, 1)
        self.shows("Ten shuffles as `epsilon_delta` of one ε each cost 4.0 in place of 1.18")

    # Disjoint parts.

    def test_disjoint_parts_cost_the_greater_one_and_a_move_costs_both(self):
        k = numpy.arange(-60, 61)
        part = {a: numpy.exp(-a * abs(k)) / numpy.exp(-a * abs(k)).sum() for a in (0.4, 0.7)}

        def joint(first, second):
            return numpy.outer(numpy.roll(part[0.4], first), numpy.roll(part[0.7], second))

        here = joint(0, 0)

        def added(epsilon):
            return max(oracle.both_ways(here, joint(*to), epsilon) for to in ((1, 0), (0, 1)))

        def replaced(epsilon):
            return oracle.both_ways(here, joint(1, -1), epsilon)

        parts = [{"discrete_laplace": {"noise_parameter": a, "sensitivity": "1"}}
                 for a in (0.7, 0.4)]
        greater, lesser = ({"mechanism": part} for part in parts)
        both = mechanism("composed", events=parts)
        self.covers(greater, added, lesser, (0.1, 0.3))
        self.covers(both, replaced, greater, (0.6, 0.9))

    # Trees and matrices.

    def test_trees_of_one_epoch_cost_the_deepest_leaf(self):
        counts, noise = (6, 3, 2), 5.0
        deepest = max(oracle.tree_square([leaf], steps) for steps in counts
                      for leaf in range(steps))
        event = mechanism("single_epoch_tree_aggregation", noise_multiplier=noise,
                          step_counts=[str(c) for c in counts])
        truth = oracle.gaussian_epsilon(math.sqrt(deepest) / noise, 1e-5)
        self.assertAlmostEqual(self.ask("--delta 1e-5", event, "zero-out") / truth, 1, 6)
        shallow = mechanism("single_epoch_tree_aggregation", noise_multiplier=noise,
                            step_counts=["3", "3"])
        self.assertLess(self.ask("--delta 1e-5", shallow, "zero-out"), truth)

    def test_restarted_trees_add_up_their_squares(self):
        steps, most, apart, trees, noise = 7, 3, 2, 2, 6.0
        worst = max(oracle.tree_square(chosen, steps)
                    for chosen in oracle.participations(steps, most, apart))
        truth = oracle.gaussian_epsilon(math.sqrt(trees * worst) / noise, 1e-5)
        tree = {"steps": str(steps),
                "participation": {"max_participations": str(most), "min_separation": str(apart)}}
        stated, one = (mechanism("matrix_mechanism", count, noise_stddev=noise, tree=tree)
                       for count in (trees, 1))
        self.assertLessEqual(truth, self.ask("--delta 1e-5", stated, "zero-out") * (1 + 1e-9))
        self.assertLess(self.ask("--delta 1e-5", one, "zero-out"), truth)

    def test_sensitivities_of_a_fixed_order_are_those_of_the_page(self):
        exact = {steps: max(oracle.tree_square(range(first, 2000, 100), steps)
                            for first in range(100)) for steps in (2000, 2048)}
        self.assertEqual(exact, {2000: 425, 2048: 926})
        self.shows("squared sensitivity 425 a tree", "in a fixed order 926")
        truth = oracle.gaussian_epsilon(math.sqrt(5 * 425) / 46.3, 1e-5)
        self.assertAlmostEqual(truth, 4.355049, 6)

    def test_toeplitz_encoder_costs_the_worst_participation(self):
        column = numpy.array([1, 0.5, 0.25])
        worst = 0.0
        for chosen in oracle.participations(12, 3, 4):
            x = numpy.zeros(12)
            x[list(chosen)] = 1
            worst = max(worst, float((numpy.convolve(x, column)[:12] ** 2).sum()))
        truth = oracle.gaussian_epsilon(math.sqrt(worst) / 4, 1e-6)
        self.shows("true value in [%.6f" % (math.floor(truth * 1e6) / 1e6))
        self.assertLess(oracle.gaussian_epsilon(math.sqrt(worst - 1) / 4, 1e-6), truth)

    # Samples.

    def lattice(self, losses, masses, step, size):
        """Masses under Q on a grid of losses, keeping E[1] and E[e^loss]; and under P."""
        at = numpy.floor(losses / step).astype(int)
        low, high = numpy.exp(at * step), numpy.exp((at + 1) * step)
        share = (numpy.exp(losses) - low) / (high - low)
        q, p = numpy.zeros(size), numpy.zeros(size)
        for place, part, ratio in ((at, 1 - share, low), (at + 1, share, high)):
            numpy.add.at(q, place % size, masses * part)
            numpy.add.at(p, place % size, masses * part * ratio)
        return q, p

    def test_steps_on_a_cohort_cost_more_than_the_product(self):
        step, size, delta = 4e-4, 1 << 19, 1e-5
        grid = numpy.arange(size)
        grid = numpy.where(grid < size // 2, grid, grid - size) * step
        x = numpy.linspace(-12, 14, 200001)

        def power(v, n):
            return numpy.fft.irfft(numpy.fft.rfft(v) ** n, size).clip(0)

        def removed(q, p, epsilon):
            return float((p * (1 - numpy.exp(numpy.minimum(epsilon - grid, 0)))).sum())

        def epsilon_of(q, p):
            return oracle.least(lambda e: removed(q, p, e) <= delta, 0.0, 60.0)

        def sampled(rate, distance=1.0):
            with_record, without = oracle.sampled_density(x, rate, distance)
            losses = numpy.log(with_record / without)
            return self.lattice(losses, without * (x[1] - x[0]), step, size)

        q, p = (power(v, 32) for v in sampled(1 / 16))
        mass = numpy.where(grid <= 0, q, p * numpy.exp(-grid))  # the more exact of both
        keep = mass > 0
        ratio = numpy.log1p(0.5 * numpy.expm1(grid[keep]))
        truth = epsilon_of(*(power(v, 100) for v in self.lattice(ratio, mass[keep], step, size)))
        shown = re.search(r"dpledger epsilon --delta 1e-5 --events - \| sed -n 1p\n"
                          r"epsilon +[\d.]+   true value in \[([\d.]+), ([\d.]+)\]",
                          self.text[self.text.index("## Samples of samples"):])
        self.assertLessEqual(float(shown.group(1)), truth)
        self.assertGreaterEqual(float(shown.group(2)), truth)
        wrong = self.ask("--delta 1e-5", sampled_gaussian(0.5 / 16, 1, 3200))  # the product
        self.assertLess(wrong, truth)
        self.shows("which says %.1f" % wrong)

    def fixed_size(self, noise, remove, neighbour):
        """δ of one step that draws 2 of 3 records, worst over contributions on a line."""
        x = numpy.linspace(-9 * noise - 3, 9 * noise + 3, 2001)

        def law(records):
            sums = [sum(chosen) for chosen in itertools.combinations(records, 2)]
            return sum(numpy.exp(-((x - s) / noise) ** 2 / 2) for s in sums) / len(sums)

        cases = []
        for others in itertools.combinations_with_replacement(CHANGES, 2):
            with_record = law(others + (1,))
            cases.append((with_record, law(others) if remove else law(others + (neighbour,))))
        scale = (x[1] - x[0]) / (noise * math.sqrt(2 * math.pi))
        return lambda epsilon: max(oracle.both_ways(p * scale, q * scale, epsilon)
                                   for p, q in cases)

    def test_fixed_batches_are_no_poisson_sample(self):
        drawn = {"rounds": {"scheme": {"without_replacement": {"sample_size": "2"},
                                       "population_size": "3"}, "count": "1",
                            "queries": [{"l2_norm_bound": 1, "noise_stddev": 3.0}]}}
        poisson = sampled_gaussian(2 / 3, 3.0)
        for adjacency, remove, neighbour in (("add-or-remove-one", True, None),
                                             ("zero-out", False, 0)):
            truth = self.fixed_size(3.0, remove, neighbour)
            self.covers(drawn, truth, poisson, (0.1, 0.3, 0.6), adjacency, error=1e-4)
            self.assertGreater(truth(0.3), 0.999 * self.ask("--epsilon 0.3", drawn, adjacency))
        whole = sampled_gaussian(512 / 60000, 1.23, 4680)
        self.shows("says %.2f" % self.ask("--delta 1e-5", whole), "with half the noise")

    # Groups.

    def test_a_group_moves_a_score_further(self):
        def law(scores):
            weights = numpy.exp(numpy.array(scores, float) * 0.5 / 2)
            return weights / weights.sum()

        pairs = [(law(s), law(shifted(s, change, 3)))
                 for s in itertools.product(range(0, 12, 2), repeat=3)
                 for change in itertools.product(CHANGES, repeat=3)]
        def truth(epsilon):
            return max(oracle.hockey_stick(p, q, epsilon) for p, q in pairs)

        event = mechanism("exponential_mechanism", epsilon=1.5)
        self.covers(event, truth, mechanism("exponential_mechanism", epsilon=0.5), (0.1, 0.4, 0.8))
        self.shows("within 0.01 % of δ")
        self.assertGreater(truth(0.4), 0.9999 * self.ask("--epsilon 0.4", event))

    def test_a_group_of_three_may_reach_the_whole_sum_of_deltas(self):
        epsilon, delta = 0.5, 1e-3
        failing = [0.0]
        for _ in range(3):
            failing.append(math.exp(epsilon) * failing[-1] + delta)
        laws = [numpy.array([mass, 1 - mass]) for mass in failing]
        for p, q in zip(laws, laws[1:]):
            self.assertLessEqual(oracle.both_ways(p, q, epsilon), delta * (1 + 1e-12))
        total = math.expm1(3 * epsilon) / math.expm1(epsilon)
        self.assertAlmostEqual(oracle.both_ways(laws[0], laws[3], 3 * epsilon), total * delta, 15)
        self.assertGreater(total, 3)  # K δ is not enough
        self.assertLessEqual(total, 5.3671)
        self.shows("δ times 5.3671", '"delta":5.3671e-8')

    # Each record's own cost.

    def test_a_record_that_stops_at_its_bound_is_within_the_gaussian(self):
        x = numpy.linspace(-10, 11, 1401)
        first = 0.6

        def truth_of(bound):
            """The second norm follows from the first output: all that is left, or nothing."""
            rest = math.sqrt(bound**2 - first**2)

            def truth(epsilon):
                worst = 0.0
                for limit in (-0.5, 0.3, 1.5):
                    second = numpy.where(x > limit, rest, 0)[:, None]
                    squares = (x[:, None] - first) ** 2 + (x[None] - second) ** 2
                    p = numpy.exp(-squares / 2) * (x[1] - x[0]) ** 2 / (2 * math.pi)
                    q = numpy.exp(-(x[:, None] ** 2 + x[None] ** 2) / 2)
                    q *= (x[1] - x[0]) ** 2 / (2 * math.pi)
                    worst = max(worst, oracle.both_ways(p, q, epsilon))
                return worst
            return truth

        self.covers(gaussian(1), truth_of(1.0), gaussian(1 / first), (0.5, 1.0, 2.0))
        beyond = truth_of(1.3)(1.0)  # a record that is let on beyond its bound
        self.assertGreater(beyond, self.ask("--epsilon 1.0", gaussian(1)))

    # The last model alone.

    def contracting_mu(self, c, t, ratio):
        return ratio * math.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c))

    def test_the_last_iterate_of_contractions_is_within_its_gaussian(self):
        c, steps, change = 0.8, 6, 0.7  # noise 1
        x = numpy.linspace(-16, 16, 1281)
        step = x[1] - x[0]

        def bend(v):  # no steeper than 0.2 c, and at most `change`
            return change * numpy.sin(0.2 * c * v / change + 1)

        maps = [(lambda v: c * v, lambda v: c * v + change),
                (lambda v: 0.8 * c * numpy.tanh(v), lambda v: 0.8 * c * numpy.tanh(v) + bend(v))]

        def last(phi):
            kernel = numpy.exp(-((x[:, None] - phi(x)[None]) ** 2) / 2)
            kernel *= step / math.sqrt(2 * math.pi)
            law = numpy.exp(-((x - phi(numpy.zeros(1))) ** 2) / 2) / math.sqrt(2 * math.pi)
            for _ in range(steps - 1):
                law = kernel @ law
            return law * step

        laws = [[last(phi) for phi in pair] for pair in maps]
        mu = self.contracting_mu(c, steps, change)
        self.covers(gaussian(1 / mu), lambda e: max(oracle.both_ways(p, q, e) for p, q in laws),
                    gaussian(1 / change), (0.2, 0.8, 1.5), error=1e-4)
        exact = oracle.gaussian_delta(mu, 0.8)
        self.assertAlmostEqual(oracle.both_ways(*laws[0], 0.8) / exact, 1, 4)  # quadratic losses
        of_page = self.contracting_mu(0.9, 1000, 0.1)
        self.shows("μ = %.5f" % of_page)
        self.assertLessEqual(2.29415, 1 / of_page)
        self.shows('"noise_multiplier":2.29415}')

    # Discrete noise.

    def discrete(self, sigma, reach=40):
        k = numpy.arange(-reach, reach + 1)
        mass = numpy.exp(-k * k / (2 * sigma**2))
        return mass / mass.sum()

    def renyi(self, p, q, order):
        keep = (p > 0) & (q > 0)
        return math.log(float((q[keep] * (p[keep] / q[keep]) ** order).sum())) / (order - 1)

    def tau(self, sigma, parties):
        return 10 * math.fsum(math.exp(-2 * (math.pi * sigma) ** 2 * k / (k + 1))
                              for k in range(1, parties))

    def test_sums_of_discrete_noise_are_within_their_concentrated_bound(self):
        over = 0
        for sigma, parties in ((0.5, 2), (0.5, 4), (0.7, 3), (1.0, 5)):
            total = self.discrete(sigma)
            for _ in range(parties - 1):
                total = numpy.convolve(total, self.discrete(sigma))
            plain = 1 / (math.sqrt(parties) * sigma)
            for order in (1.5, 2, 4, 8):
                found = self.renyi(total[1:], total[:-1], order)
                self.assertLessEqual(found, order / 2 * (plain + self.tau(sigma, parties)) ** 2)
                over += found > order / 2 * plain**2  # without τ
        self.assertGreater(over, 0)
        tail = self.tau(2.0, 100) * math.sqrt(1e6)
        self.assertLess(tail, 1e-12)
        self.assertLessEqual((15 / 20 + tail) ** 2 / 2, self.stated("rho"))

    def test_skellam_curve_is_rounded_up_and_no_more(self):
        k = numpy.arange(0, 400)
        logs = numpy.cumsum(numpy.log(numpy.maximum(k, 1)))
        poisson = numpy.exp(k * math.log(50) - 50 - logs)
        skellam = numpy.convolve(poisson, poisson[::-1])
        skellam = skellam[399 - 150:399 + 151]
        stated = re.search(r'"orders":(\[2,[\d,]+\]),"epsilons":(\[[\d.,]+\])', self.text)
        for order, value in zip(*map(json.loads, stated.groups())):
            found = max(self.renyi(skellam[1:], skellam[:-1], order),
                        self.renyi(skellam[:-1], skellam[1:], order))
            self.assertTrue(found <= value < found + 2e-6, (order, found, value))

    # Local reports, clipping, accumulation, selection.

    def test_unary_encoding_is_within_its_local_epsilon(self):
        local = 0.2
        own, other = 0.5, 1 / (math.exp(local) + 1)  # a bit stays set; a bit is set

        def law(value):
            return numpy.array([math.prod((own if i == value else other) if bit
                                          else 1 - (own if i == value else other)
                                          for i, bit in enumerate(bits))
                                for bits in itertools.product((0, 1), repeat=4)])

        laws = [law(value) for value in range(4)]
        ratio = max(float(numpy.log(p / q).max()) for p in laws for q in laws)
        self.assertAlmostEqual(ratio, local, 12)
        self.assertAlmostEqual(math.log((0.5 + 0.125) / 0.125), 1.609438, 6)
        twice = [numpy.outer(p, p).ravel() for p in laws]
        self.covers(mechanism("epsilon_delta", 2, epsilon=local),
                    lambda e: max(oracle.hockey_stick(p, q, e) for p in twice for q in twice),
                    mechanism("epsilon_delta", 1, epsilon=local), (0.05, 0.15), "replace-one")

    def test_a_second_query_costs_its_share(self):
        joint = (1.1**-2 + (2 * 12.8) ** -2) ** -0.5  # Andrew et al. 2021, theorem 1
        upper = self.ask("--delta 1e-6", sampled_gaussian(0.01, joint, 1000))
        self.shows("epsilon %.7g true" % (math.ceil(upper * 1e6) / 1e6))

    def test_parts_of_a_batch_are_no_rounds(self):
        noises = [oracle.least(lambda noise, n=rounds: oracle.renyi_epsilons(
            [(noise, 1024 / 14732, n)], 2e-5, range(2, 40))[1] <= 4, 0.5, 20.0)
            for rounds in (3 * (14732 // 4), 3 * (14732 // 1024))]
        self.shows("noise 7.68 in place of 0.90", "42 rounds")
        for by_renyi, stated in zip(noises, (7.68, 0.90)):  # an upper bound, a tenth above
            self.assertTrue(stated < by_renyi < 1.15 * stated)

    def test_a_search_over_drawn_settings_costs_at_most_the_costliest(self):
        mean, delta = 5.0, 0.01
        gamma = 1 / mean

        def law(right):
            """(setting, bit): a setting by a fair coin, then randomized response of 1 or 0.5."""
            return numpy.array([0.5 * (p if bit == right else 1 - p) for p in
                                (math.e / (1 + math.e), math.exp(0.5) / (1 + math.exp(0.5)))
                                for bit in (0, 1)])

        def best(masses, order):
            sums = numpy.cumsum(masses[list(order)])
            total = gamma * sums / (1 - (1 - gamma) * sums)  # E[s^K], K geometric
            return numpy.diff(numpy.concatenate([[0.0], total]))

        laws = [(best(law(0), order), best(law(1), order))
                for order in itertools.permutations(range(4))]
        question = ("dpledger tuning --delta %r --trials negative-binomial --eta 1 --mean-trials"
                    " %r --adjacency replace-one --events - --json" % (delta, mean))
        found = {}
        for name, coin in (("costliest", 2 / (1 + math.e)), ("other", 2 / (1 + math.exp(0.5)))):
            event = mechanism("randomized_response", noise_parameter=coin, num_buckets="2")
            printed = pages.run(question, self.folder.name, json.dumps(event))
            epsilon = json.loads(printed)["epsilon"]["upper"]
            found[name] = max(oracle.both_ways(p, q, epsilon) for p, q in laws)
        self.assertLessEqual(found["costliest"], delta)
        self.assertGreater(found["other"], delta)


if __name__ == "__main__":
    unittest.main()
