#!/usr/bin/env python3
"""Writes tests/data/mixture_oracle.json: epsilon and odometer of mixtures of Renyi orders.

Independent of the C++ code, which finds a point where a derivative is one: here the greatest x - g(x), with
g(x) = delta * sum of w x^a e^{-(a-1) R(a)}, is found by ternary search over log x, for it rises and then falls.
Every parameter is the double that it prints as. Run: python3 tests/oracle/mixture_oracle.py (seconds).
"""

import json
import pathlib
import random

from mpmath import exp, log, mp, mpf

mp.dps = 60
OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "mixture_oracle.json"
DEFAULT = [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 24.0]


def mixture(u, orders, divergences, delta):
    """delta sum w x^a e^{-(a-1)R} at x = e^u."""
    return mpf(delta) / len(orders) * sum(exp(mpf(a) * u - (mpf(a) - 1) * mpf(r)) for a, r in zip(orders, divergences))


def epsilon(orders, divergences, delta):
    low, high = mpf(-100), mpf(max(divergences)) + 1000 / (mpf(orders[0]) - 1)
    for _ in range(600):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        at_a, at_b = (exp(u) - mixture(u, orders, divergences, delta) for u in (a, b))
        if at_a < at_b:
            low = a
        else:
            high = b
    u = (low + high) / 2
    return max(mpf(0), log(exp(u) - mixture(u, orders, divergences, delta)))


def odometer(orders, divergences, delta):
    low, high = mpf(0), mpf(max(divergences)) + 1000 / (mpf(orders[0]) - 1)
    for _ in range(300):
        u = (low + high) / 2
        if mixture(u, orders, divergences, delta) < exp(u):
            low = u
        else:
            high = u
    return high


def curves(source):
    """Renyi curves grow with the order, and so does (order - 1) times them, convexly: sums of simple ones do."""
    rho = 10 ** source.uniform(-4, 1.5)
    kink = source.choice([0.0, 10 ** source.uniform(-2, 2)])  # amplified up to an order, and not above it
    start = source.uniform(2, 12)
    return lambda a: rho * a + kink * max(0.0, a - start)


def main():
    source = random.Random(20261123)
    cases = []
    for index in range(60):
        orders = DEFAULT if index % 3 == 0 else sorted({
            round(1 + 10 ** source.uniform(-1.5, 1.8), 3) for _ in range(source.choice([1, 2, 5, 20, 64]))})
        curve = curves(source)
        divergences = [curve(a) for a in orders]
        delta = 10 ** source.choice([-0.1, -1, -3, -6, -10, -20])
        cases.append({"orders": orders, "divergences": divergences, "delta": delta,
                      "epsilon": float(epsilon(orders, divergences, delta)),
                      "odometer": float(odometer(orders, divergences, delta))})
    OUTPUT.write_text(json.dumps({"mixture": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
