#!/usr/bin/python3
"""Writes tests/data/shuffled_oracle.json: δ of shuffled reports by enumeration, in exact fractions: of
the pair of accountant/mechanism/CLAIM.md, section 11, of randomizers that are ε0-DP, and of two runs
of each. e^ε0 and e^ε are fractions, too. Run: python3 tests/oracle/shuffled_oracle.py (10 seconds).
"""
import itertools
import json
import pathlib
import random
from fractions import Fraction as F
from math import comb, log

OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "shuffled_oracle.json"


def delta(p, q, y):
    """Σ (p - y q)_+, the greater of both directions, of laws {outcome: mass}."""
    def one(a, b):
        return sum(max(F(0), mass - y * b.get(outcome, F(0))) for outcome, mass in a.items())
    return max(one(p, q), one(q, p))


def twice(law):
    """Two independent runs."""
    result = {}
    for (a, p), (b, q) in itertools.product(law.items(), repeat=2):
        result[a, b] = p * q
    return result


def pair(ratio, people, copy):
    """The counts of both kinds of report: each of the others sends a copy with probability `copy`, of
    one kind or the other by a fair coin; the person sends the first kind with odds of `ratio`."""
    laws = []
    for own in (ratio / (1 + ratio), 1 / (1 + ratio)):
        law = {}
        for copies in range(people):
            weight = comb(people - 1, copies) * copy**copies * (1 - copy)**(people - 1 - copies)
            for first in range(copies + 1):
                mass = weight * comb(copies, first) / F(2)**copies
                for kind, odds in ((0, own), (1, 1 - own)):
                    counts = (first + (kind == 0), copies - first + (kind == 1))
                    law[counts] = law.get(counts, F(0)) + mass * odds
        laws.append(law)
    return laws


def shuffled(rows):
    """The law of how often each answer was sent, where person i sends answer j with rows[i][j]."""
    law = {(0,) * len(rows[0]): F(1)}
    for row in rows:
        after = {}
        for counts, mass in law.items():
            for answer, p in enumerate(row):
                to = tuple(c + (a == answer) for a, c in enumerate(counts))
                after[to] = after.get(to, F(0)) + mass * p
        law = after
    return law


def response(ratio, values):
    """Randomized response: the true value with odds of `ratio` to each other one."""
    total = ratio + values - 1
    return [[(ratio if j == i else F(1)) / total for j in range(values)] for i in range(values)]


def worst(randomizer, people, y):
    """Of all values of the others, where one person has value 0 or 1."""
    return max(delta(*(shuffled([randomizer[own], *others]) for own in (0, 1)), y)
               for others in itertools.combinations_with_replacement(randomizer, people - 1))


def any_randomizer(draw, ratio):
    """Some randomizer whose chances differ by a factor of `ratio` at most."""
    while True:
        answers, values = draw.choice((2, 3, 4)), draw.choice((2, 3))
        base = [F(draw.randint(1, 9)) for _ in range(answers)]
        rows = []
        for _ in range(values):
            row = [b * draw.choice((F(1), ratio, 1 + (ratio - 1) * F(draw.randint(0, 8), 8)))
                   for b in base]
            rows.append([mass / sum(row) for mass in row])
        if all(max(column) <= ratio * min(column) for column in zip(*rows)):
            return rows


def case(ratio, people, y):
    draw = random.Random("%s %d" % (ratio, people))
    first, second = pair(ratio, people, 2 / (ratio + 1))
    third = [shuffled([row] + [response(ratio, 3)[2]] * (people - 1))
             for row in response(ratio, 3)[:2]]
    # Controls: copies more often than they are sent, and more people than there are.
    often = delta(*pair(ratio, people, min(F(1), 3 / (ratio + 1))), y)
    many = delta(*pair(ratio, 2 * people, 2 / (ratio + 1)), y)
    return {
        "local_epsilon": log(ratio), "people": people, "epsilon": log(y),
        "pair": float(delta(first, second, y)),
        "pair_twice": float(delta(twice(first), twice(second), y)),
        "third": float(delta(*third, y)),
        "third_twice": float(delta(*(twice(law) for law in third), y)),
        "worst_response": float(max(worst(response(ratio, values), people, y)
                                    for values in (2, 3))),
        "worst_random": float(max(worst(any_randomizer(draw, ratio), people, y)
                                  for _ in range(20))),
        "pair_of_more_copies": float(often), "pair_of_twice_as_many": float(many),
    }


def main():
    cases = [case(ratio, people, 1 + (ratio - 1) * share)
             for ratio in (F(5, 4), F(5, 2), F(8), F(30)) for people in (2, 3, 5)
             for share in (F(0), F(1, 20), F(1, 5), F(3, 5))]
    for one in cases:
        assert max(one["third"], one["worst_response"], one["worst_random"]) <= one["pair"]
    for wrong in ("pair_of_more_copies", "pair_of_twice_as_many"):
        assert any(one["worst_response"] > one[wrong] for one in cases), wrong
    oracle = {"description": "Written by tests/oracle/shuffled_oracle.py (fractions).",
              "cases": cases}
    OUTPUT.write_text(json.dumps(oracle, indent=1) + "\n")


if __name__ == "__main__":
    main()
