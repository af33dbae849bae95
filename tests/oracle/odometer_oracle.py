#!/usr/bin/env python3
"""Writes tests/data/odometer_oracle.json: the privacy loss that an odometer bounds, of runs of several mechanisms.

Independent of the C++ code. Renyi divergences by binomial sums and closed forms at 60 digits, each direction summed by
itself over the whole run, the greater taken at each order. Epsilon by bisection of Ville's inequality for the mixture of
the orders, delta by evaluating it. Where every loss is bounded, no more than the sum of these bounds. Every parameter is
the double that it prints as. Run: python3 tests/oracle/odometer_oracle.py (seconds).
"""

import json
import pathlib

from mpmath import binomial, exp, inf, log, mp, mpf

mp.dps = 60
OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "odometer_oracle.json"
ORDERS = [2, 3, 4, 5, 6, 8, 12, 24, 48, 96, 192, 384]
DELTAS = [0.1, 1e-5, 1e-10]


def gaussian(q, z):
    """[remove, add] at each order. Add is never the greater (Mironov, Talwar, Zhang 2019, thm. 5): it stands at 0."""
    q, z = mpf(q), mpf(z)
    remove = [log(sum(binomial(a, k) * q**k * (1 - q)**(a - k) * exp(mpf(k * (k - 1)) / (2 * z * z))
                      for k in range(a + 1))) / (a - 1) for a in ORDERS]
    return [remove, [mpf(0)] * len(ORDERS)], [inf, inf]


def two_points(p, ratio):
    """An outcome of probability p with the record, and p / ratio without it."""
    p, q = mpf(p), mpf(p) / mpf(ratio)

    def divergences(p, q):
        return [log(p**a * q**(1 - a) + (1 - p)**a * (1 - q)**(1 - a)) / (a - 1) for a in ORDERS]

    def greatest(p, q):
        return max(log(p / q), log((1 - p) / (1 - q)))

    return [divergences(p, q), divergences(q, p)], [greatest(p, q), greatest(q, p)]


def odometer(divergences, certain, delta):
    def spent(u):
        return mpf(delta) / len(ORDERS) * sum(exp((a - 1) * (u - r)) for a, r in zip(ORDERS, divergences))

    low, high = mpf(0), max(divergences) + 1000
    for _ in range(260):
        u = (low + high) / 2
        if spent(u) < 1:
            low = u
        else:
            high = u
    return min(high, certain)


def inverse(divergences, certain, epsilon):
    if epsilon >= certain:
        return mpf(0)
    return min(mpf(1), len(ORDERS) / sum(exp((a - 1) * (mpf(epsilon) - r)) for a, r in zip(ORDERS, divergences)))


RUNS = [
    {"gaussians": [[0.01, 1, 2000], [0.02, 1.3, 1500], [0.005, 0.8, 3000]], "reveals": []},
    {"gaussians": [[0.01, 1, 2000]], "reveals": []},
    {"gaussians": [[1, 50, 1]], "reveals": []},
    {"gaussians": [[1, 5, 3], [0.1, 2, 40]], "reveals": []},
    {"gaussians": [[1, 0.15, 1]], "reveals": []},
    {"gaussians": [], "reveals": [[0.3, 50, 1]]},          # its directions differ much
    {"gaussians": [], "reveals": [[0.3, 50, 1], [0.7, 1.2, 4]]},
    {"gaussians": [], "reveals": [[0.5, 1.01, 3]]},        # the sum of the greatest losses is less
    {"gaussians": [[0.05, 1.5, 100]], "reveals": [[0.4, 9, 2]]},
]


def main():
    cases = []
    for run in RUNS:
        divergences, certain = [[mpf(0)] * len(ORDERS), [mpf(0)] * len(ORDERS)], [mpf(0), mpf(0)]
        for step, count in ([(gaussian(q, z), n) for q, z, n in run["gaussians"]] +
                            [(two_points(p, r), n) for p, r, n in run["reveals"]]):
            for way in range(2):
                certain[way] += count * step[1][way]
                divergences[way] = [a + count * b for a, b in zip(divergences[way], step[0][way])]
        greater = [max(pair) for pair in zip(*divergences)]
        epsilons = [float(odometer(greater, max(certain), delta)) for delta in DELTAS]
        asked = [0.5, 3.0, 9.0]
        cases.append({**run, "deltas": DELTAS, "epsilons": epsilons, "asked_epsilons": asked,
                      "found_deltas": [float(inverse(greater, max(certain), e)) for e in asked]})
    OUTPUT.write_text(json.dumps({"runs": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
