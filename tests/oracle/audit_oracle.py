#!/usr/bin/env python3
"""Writes tests/data/audit_oracle.json: binomial tails and what audits conclude from counts, to 30 digits.

Independent of the C++ code: every probability is a term by itself (binomial coefficients as whole numbers, powers in
mpmath, 40 digits), nothing is carried from one term to the next. Run: python3 tests/oracle/audit_oracle.py (half a minute).
"""

import json
import math
import pathlib

from mpmath import exp, log, mp, mpf

mp.dps = 40
OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "audit_oracle.json"


def probability(n, k, log_odds):
    """P(Bin(n, e^t/(1 + e^t)) = k)."""
    p = 1 / (1 + exp(-mpf(log_odds)))
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def upper_tail(n, k, log_odds):
    return sum(probability(n, j, log_odds) for j in range(k, n + 1))


def greatest_mean(n, k, log_odds):
    best, total = mpf(0), mpf(0)
    for i in range(1, k + 1):
        total += probability(n, k - i, log_odds)
        best = max(best, total / i)
    return best


def p_value(canaries, guesses, correct, epsilon, delta):
    """Steinke, Nasr, Jagielski 2023: the theorem for (epsilon, delta), with abstentions."""
    value = upper_tail(guesses, correct, epsilon)
    if delta > 0:
        value += 2 * canaries * mpf(delta) * greatest_mean(guesses, correct, epsilon)
    return min(mpf(1), value)


def bisect(positive, low, high, steps=70):
    """The root of a function that is positive at low and not at high."""
    for _ in range(steps):
        middle = (low + high) / 2
        if positive(middle):
            low = middle
        else:
            high = middle
    return low


def one_run_bound(canaries, guesses, correct, delta, confidence):
    significance = 1 - mpf(confidence)
    refuted = lambda epsilon: p_value(canaries, guesses, correct, epsilon, delta) <= significance
    return bisect(refuted, mpf(0), mpf(40)) if refuted(mpf(0)) else mpf(0)


def clopper_pearson_down(n, k, significance):
    if k == 0:
        return mpf(0)
    odds = bisect(lambda t: upper_tail(n, k, t) <= significance, mpf(-60), mpf(60), 120)
    return 1 / (1 + exp(-odds))


def tail_cases():
    cases = []
    for n, log_odds in ((1, 0.0), (10, 1.0), (200, -3.5), (1000, 0.25), (1000, 6.0), (3000, 2.0)):
        mean = float(n / (1 + math.exp(-log_odds)))
        spread = math.sqrt(mean * (1 - mean / n)) + 1
        for z in (-8, -2, 0, 1, 3, 8, 40):
            k = min(n, max(0, round(mean + z * spread)))
            cases.append(
                {
                    "trials": n,
                    "log_odds": log_odds,
                    "k": k,
                    "log_upper_tail": float(log(upper_tail(n, k, log_odds))),
                    "log_greatest_mean": float(log(greatest_mean(n, k, log_odds))) if k > 0 else -1e300,
                }
            )
    return cases


def one_run_cases():
    cases = []
    for canaries, guesses, correct, delta, confidence in (
        (1000, 1000, 600, 0.0, 0.95),
        (1000, 1000, 600, 1e-5, 0.95),
        (1000, 100, 100, 1e-5, 0.95),
        (1000, 100, 90, 1e-5, 0.99),
        (5000, 300, 297, 1e-5, 0.95),
        (1000, 1000, 520, 1e-5, 0.95),
        (100, 10, 10, 0.0, 0.95),
        (100000, 1500, 1429, 1e-6, 0.999),
        (100, 100, 100, 1e-2, 0.95),
    ):
        cases.append(
            {
                "canaries": canaries,
                "guesses": guesses,
                "correct": correct,
                "delta": delta,
                "confidence": confidence,
                "p_value_at_1": float(p_value(canaries, guesses, correct, mpf(1), delta)),
                "epsilon": float(one_run_bound(canaries, guesses, correct, delta, confidence)),
            }
        )
    return cases


def many_runs_cases():
    cases = []
    for with_record, detected_with, without_record, detected_without, delta, confidence in (
        (1000, 400, 1000, 10, 1e-5, 0.95),
        (500, 500, 500, 0, 1e-5, 0.95),
        (200, 20, 300, 25, 0.0, 0.9),
        (1000, 30, 1000, 900, 1e-3, 0.95),
        (50, 0, 50, 50, 0.0, 0.95),
    ):
        each = (1 - mpf(confidence)) / 2
        type_one = 1 - clopper_pearson_down(without_record, without_record - detected_without, each)
        type_two = 1 - clopper_pearson_down(with_record, detected_with, each)
        bounds = [mpf(0)]
        for one, other in ((type_one, type_two), (type_two, type_one)):
            if 1 - delta - other > 0:
                bounds.append(log((1 - mpf(delta) - other) / one))
        cases.append(
            {
                "with_record": with_record,
                "detected_with": detected_with,
                "without_record": without_record,
                "detected_without": detected_without,
                "delta": delta,
                "confidence": confidence,
                "type_one": float(type_one),
                "type_two": float(type_two),
                "epsilon": float(max(bounds)),
            }
        )
    return cases


def main():
    oracle = {
        "description": "Written by tests/oracle/audit_oracle.py (mpmath, 40 digits).",
        "binomial": tail_cases(),
        "one_run": one_run_cases(),
        "many_runs": many_runs_cases(),
    }
    OUTPUT.write_text(json.dumps(oracle, indent=1) + "\n")


if __name__ == "__main__":
    main()
