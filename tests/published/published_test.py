"""docs/published.md: every number of its tables, asked or computed anew."""
import functools
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import pages

try:
    import oracle
except ImportError:
    raise unittest.SkipTest("numpy is not installed")

PAGE = "published.md"
CELL = r" ([^|\n]*) \|"
CELLS = re.compile(r"^\|%s `([^`|\n]*)` \|%s%s%s$" % (CELL, CELL, CELL, CELL), re.M)
DIGITS = re.compile(r"\d+(?:\.\d+)?")

# What the sources print for each row. Nothing here can be computed; the columns beside it can.
PUBLISHED = {
    "Tutorial, noise 1.3, 15 epochs": "1.19",
    "Tutorial, noise 1.1, 60 epochs": "3.01",
    "Tutorial, noise 0.7, 45 epochs": "7.10",
    "Tutorial, noise 1.1, 1 epoch": "1.03",
    "Tutorial, noise 1.1, 2 epochs": "1.11",
    "MNIST, CNN": "3",
    "Fashion-MNIST, CNN": "3",
    "CIFAR-10, CNN": "3",
    "MNIST, linear, BN": "3",
    "Fashion-MNIST, linear": "3",
    "CIFAR-10, linear, BN": "3",
    "Transfer, ResNeXt": "2",
    "Transfer, SimCLR": "2",
    "De et al. 2022 (configuration of CIFAR-10)": "1.0",
    "De et al. 2022, as if trained on 45,000": "not claimed",
    "De et al. 2022, ImageNet without 10,000 for validation": "8.0",
    "Sander et al. 2023 (TAN), CIFAR-10": "8",
    "Sander et al. 2023 (TAN), ImageNet": "8",
    'opacus, issue 643, "rdp"': "2.16",
    'opacus, issue 643, "gdp"': "1.83",
    'MediSwarm, issue 530, "≤ 10"': "10",
    "MNIST, CNN of above, 117 batches an epoch in any order": "3",
    "The same, if each record's batch is uniform": "3",
    "Statement, any order": "12.595",
    "Statement, Poisson": "1.199",
    "Statement, any order, 2 records a user": "30.579",
    "Statement, Poisson, 2 records a user": "2.532",
    "Statement, any order, 3 records a user": "56.224",
    "Statement, Poisson, 3 records a user": "6.425",
    "Statement, any order, 10 records a user": "366.374",
    "Statement, Poisson, 10 records a user": "infinite",
    "JAX Privacy, pull request 287, before": "0.72",
    "JAX Privacy, pull request 287, after": "5.6",
    "JAX Privacy, issue 234, parts of 4, noise for ε = 4": "7.69",
    "JAX Privacy, issue 234, parts of 16, noise for ε = 4": "3.92",
    "JAX Privacy, issue 234, by releases": "not claimed",
    'TF Privacy\'s test "Test2", 10 epochs of 1e8 records': "5907982.3",
    "TF Privacy, pull request 227, 60 epochs": "66416.55",
    "flower, noise 1, one round": "2.8062",
    "flower, noise 2, one round": "0.8172",
    "flower, noise 3, one round": "0.4765",
    "flower, noise 1, all rounds": "2.8062",
    "flower, noise 2, all rounds": "0.8172",
    "flower, noise 3, all rounds": "0.4765",
    "Gboard, Spanish": "8.90",
    "DP-FTRL, CIFAR-10, noise 46.3": "6.92",
    "DP-FTRL, fixed order, sensitivity √4129": "6.92",
    "DPSDA, issue 6, as printed: 20 releases, noise √2": "3.34",
    "DPSDA, issue 6, as run: 5 releases, noise 2√2": "3.34",
}

# The numbers in the last column, where it is words; tests below compute them.
SAID = {
    "JAX Privacy, issue 234, parts of 4, noise for ε = 4": ["3"],
    "flower, noise 1, one round": ["0.01"],
    "flower, noise 2, one round": ["0.01"],
    "flower, noise 3, one round": ["0.01"],
    "Gboard, Spanish": ["8.899"],
}

STATEMENT = "--noise-multiplier 1 --batch-size 64 --population 10000 --epochs 5"


def flag(question, name):
    found = re.search(r"--%s (\S+)" % name, question)
    top, _, bottom = (found.group(1) if found else "1").partition("/")
    return float(top) / float(bottom or 1)


class Published(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.text = pages.text_of(PAGE)
        cls.runner = pages.Runner(folder.name)
        cls.fresh = pages.fresh(cls.text, cls.runner)
        cls.renyi = {}

    def steps(self, question):
        """(noise, rate, count) of a question about Gaussians."""
        file = re.search(r"--events (\S+)", question)
        if not file:
            return [(flag(question, "noise-multiplier"), flag(question, "sampling-probability"),
                     flag(question, "steps"))]
        steps = []
        for event in map(json.loads, (self.folder / file.group(1)).read_text().splitlines()):
            if "rounds" in event:
                rounds = event["rounds"]
                steps.append((rounds["queries"][0]["noise_stddev"],
                              rounds["scheme"]["poisson"]["probability"], int(rounds["count"])))
            else:
                one = event["mechanism"]
                steps.append((one["gaussian"]["noise_multiplier"], 1, int(one["count"])))
        return steps

    def by_renyi(self, question):
        if question not in self.renyi:
            found = oracle.renyi_epsilons(self.steps(question), flag(question, "delta"))
            self.renyi[question] = "%.3f, today %.3f" % found
        return self.renyi[question]

    def complaints(self, text):
        """What of the tables is not as it should be."""
        rows = CELLS.findall(text)
        wrong = [] if sorted(row[0] for row in rows) == sorted(PUBLISHED) else ["rows"]
        for label, question, published, interval, last in rows:
            if PUBLISHED.get(label) != published:
                wrong.append("%s: published %s" % (label, published))
            if self.runner.interval(question) != interval:
                wrong.append("%s: dpledger %s" % (label, interval))
            if label.startswith("Statement") and STATEMENT not in question:
                wrong.append("%s: %s" % (label, question))  # not all of it moves the answer
            if "today" in last:
                if self.by_renyi(question) != last:
                    wrong.append("%s: by Rényi DP %s" % (label, self.by_renyi(question)))
            elif DIGITS.findall(last) != SAID.get(label, []):
                wrong.append("%s: %s" % (label, last))
        return wrong

    def row(self, label):
        return next(row for row in CELLS.findall(self.text) if row[0] == label)

    def ends(self, label):
        return json.loads(self.row(label)[3])

    def test_every_number_of_the_tables_is_as_asked_and_computed_today(self):
        self.assertEqual(self.fresh, self.text)
        self.assertEqual(self.complaints(self.text), [])

    def test_control_any_other_digit_of_an_answer_or_a_source_is_noticed(self):
        for match in CELLS.finditer(self.text):
            for cell in (1, 3, 4, 5):
                for place in re.finditer(r"\d", match[cell]):
                    at = match.start(cell) + place.start()
                    other = str((int(self.text[at]) + 1) % 10)
                    changed = self.text[:at] + other + self.text[at + 1:]
                    self.assertNotEqual(self.complaints(changed), [], changed[at - 60:at + 60])

    def test_control_another_question_has_another_answer(self):
        for match in list(CELLS.finditer(self.text))[::16]:
            for place in re.finditer(r"(?<![a-z-])\d", match[2]):
                other = str((int(place.group()) + 1) % 10)
                question = match[2][:place.start()] + other + match[2][place.end():]
                changed = self.text[:match.start(2)] + question + self.text[match.end(2):]
                try:
                    self.assertNotEqual(self.complaints(changed), [], question)
                except subprocess.CalledProcessError:
                    pass  # refused: noticed as well

    def test_first_table_is_renyi_dp_by_its_first_conversion(self):
        for label, published in list(PUBLISHED.items())[:13]:
            first = float(self.row(label)[4].split(",")[0])
            self.assertLess(abs(first - float(published)), 0.02, label)
            self.assertLess(self.ends(label)[1], float(published))

    def test_published_bounds_are_above_and_the_limit_theorem_is_below(self):
        """All but those that the page says are of another setting, or no bound."""
        other = {"MNIST, CNN of above, 117 batches an epoch in any order",
                 'opacus, issue 643, "gdp"', "flower, noise 1, all rounds",
                 "flower, noise 2, all rounds", "flower, noise 3, all rounds",
                 "DPSDA, issue 6, as printed: 20 releases, noise √2"}
        for label, published in PUBLISHED.items():
            if published not in ("not claimed", "infinite"):
                half = 0.5 * 10.0 ** -len(published.partition(".")[2])  # its last digit, rounded
                below = float(published) + half < self.ends(label)[0]
                self.assertEqual(below, label in other, label)

    def test_numbers_in_words_are_computed(self):
        for noise in (1, 2, 3):
            label = "flower, noise %d, one round" % noise
            self.assertAlmostEqual(float(PUBLISHED[label]) - self.ends(label)[1], 0.01, 3)
        for part, steps in ((4, 11049), (16, 2760), (1024, 42)):
            self.assertEqual(3 * (14732 // part), steps)
            self.assertIn("--steps %d" % steps, self.text)
        gboard = oracle.renyi_epsilons([(7 / math.sqrt(79), 1, 1)], 1e-10)
        self.assertEqual("%.3f" % gboard[1], "8.899")

    def fixed_order(self, steps):
        """The greatest squared sensitivity to a record in every 100th step, 20 times."""
        return max(oracle.tree_square(range(first, first + 2000, 100), steps)
                   for first in range(100))

    def any_order(self, steps, most, apart):
        """The same for at most `most` steps, any two `apart` or more: the best from each step on,
        by what the intervals hold that are long enough for two."""
        lengths = [1 << level for level in range(steps.bit_length())]
        long = [length for length in lengths if length > apart]

        def whole(step, length):  # the interval around the step is complete, and has a sum
            return step // length < steps // length

        @functools.lru_cache(maxsize=None)
        def best(step, left, held):
            if step >= steps or not left:
                return 0

            def moved(to, counts):
                return tuple(c if to // length == step // length else 0
                             for c, length in zip(counts, long))

            gain = sum(whole(step, length) for length in lengths if length <= apart) + sum(
                2 * c + 1 for c, length in zip(held, long) if whole(step, length))
            after = moved(step + apart, [c + 1 for c in held])
            return max(gain + best(step + apart, left - 1, after),
                       best(step + 1, left, moved(step + 1, held)))

        sys.setrecursionlimit(10000)
        return best(0, most, (0,) * len(long))

    def test_sensitivities_of_trees_are_the_greatest(self):
        self.assertEqual(4 * self.fixed_order(2048) + self.fixed_order(2000), 4129)
        stated, = re.findall(r'"sensitivity":([\d.]+)', self.text)
        self.assertAlmostEqual(float(stated) ** 2, 4129, 9)
        self.assertEqual(self.any_order(2000, 6, 314), 79)
        gboard = oracle.gaussian_epsilon(math.sqrt(79) / 7, 1e-10)
        self.assertAlmostEqual(self.ends("Gboard, Spanish")[1], gboard, 5)

    def test_control_the_search_for_the_worst_participation_equals_trying_all(self):
        for steps, most, apart in ((11, 3, 2), (16, 4, 3), (13, 2, 5)):
            worst = max(oracle.tree_square(chosen, steps)
                        for chosen in oracle.participations(steps, most, apart))
            self.assertEqual(self.any_order(steps, most, apart), worst)


if __name__ == "__main__":
    unittest.main()
