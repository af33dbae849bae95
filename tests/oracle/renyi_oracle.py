#!/usr/bin/env python3
"""Writes tests/data/renyi_oracle.json: Renyi moments of pairs, bounded range, and the best conversion of one order.

Independent of the C++ code: quadrature, bisection and search in mpmath. Every parameter is the double that it prints
as. Logarithms are natural. Run: python3 tests/oracle/renyi_oracle.py (a minute).
"""

import json
import math
import pathlib

from mpmath import exp, expm1, log, mp, mpf, quad, sqrt

mp.dps = 30
OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "renyi_oracle.json"

LOG_SQRT_TWO_PI = math.log(math.sqrt(2 * math.pi))


# ---- Pairs: point masses, and pieces e^{constant + linear t + quadratic t^2} (sum of exponentials) ----


def piece(start, end, constant, linear, quadratic, p, q):
    result = {"constant": constant, "linear": linear, "quadratic": quadratic}
    if start is not None:
        result["from"] = start
    if end is not None:
        result["to"] = end
    result["p"] = [{"log_coefficient": c, "rate": r} for c, r in p]
    result["q"] = [{"log_coefficient": c, "rate": r} for c, r in q]
    return result


def laplace(epsilon, sampling=1.0):
    """Laplace noise, p around 0 and q around 1 at scale 1/epsilon, p replaced by (1-s) q + s p."""
    def mixed(log_p, log_q):
        return log_p if sampling == 1 else math.log((1 - sampling) * math.exp(log_q) + sampling * math.exp(log_p))

    half = math.log(0.5)
    atoms = [
        {"p": math.exp(mixed(half, half - epsilon)), "q": 0.5 * math.exp(-epsilon)},
        {"p": math.exp(mixed(half - epsilon, half)), "q": 0.5},
    ]
    # Between the two centres, t from 0 (near q's) to 1 (near p's): densities e^{-eps(1-t)} and e^{-eps t}.
    p = [(math.log(sampling * epsilon / 2) - epsilon, epsilon)]
    if sampling < 1:
        p.append((math.log((1 - sampling) * epsilon / 2), -epsilon))
    # The factor e^{-eps t} is taken out, so that rates have the signs that a piece wants.
    p = [(c, r + epsilon) for c, r in p]
    return {"atoms": atoms, "pieces": [piece(0.0, 1.0, 0.0, -epsilon, 0.0, p, [(math.log(epsilon / 2), 0.0)])]}


def mixture_of_gaussians(weights, shifts):
    terms = [(math.log(w) - s * s / 2, s) for w, s in zip(weights, shifts)]
    return {"atoms": [], "pieces": [piece(None, None, -LOG_SQRT_TWO_PI, 0.0, -0.5, terms, [(0.0, 0.0)])]}


def two_sided(q, mu):
    """(1-q) N(0) + q N(mu) against (1-q) N(0) + q N(-mu)."""
    up = [(math.log1p(-q), 0.0), (math.log(q) - mu * mu / 2, mu)]
    down = [(math.log1p(-q), 0.0), (math.log(q) - mu * mu / 2, -mu)]
    return {"atoms": [], "pieces": [piece(None, None, -LOG_SQRT_TWO_PI, 0.0, -0.5, up, down)]}


def halves(q, mu):
    """Two half lines, as of sampling without replacement; not of mass one, which moments do not need."""
    up = [(math.log1p(-q), 0.0), (math.log(q) - mu * mu / 2, mu)]
    down = [(math.log1p(-q), 0.0), (math.log(q) - mu * mu / 2, -mu)]
    return {
        "atoms": [],
        "pieces": [
            piece(mu / 2, None, -LOG_SQRT_TWO_PI, 0.0, -0.5, up, [(0.0, 0.0)]),
            piece(None, -mu / 2, -LOG_SQRT_TWO_PI, 0.0, -0.5, [(0.0, 0.0)], down),
        ],
    }


def randomized_response(epsilon, delta=0.0):
    top = (1 - delta) / (1 + math.exp(-epsilon))
    bottom = (1 - delta) / (1 + math.exp(epsilon))
    atoms = [{"p": top, "q": bottom}, {"p": bottom, "q": top}]
    if delta > 0:
        atoms += [{"p": delta, "q": 0.0}, {"p": 0.0, "q": delta}]
    return {"atoms": atoms, "pieces": []}


def moment(pair, up, down, order):
    """log of the sum of up^order down^(1-order)."""
    order = mpf(order)
    total = mpf(0)
    for atom in pair["atoms"]:
        a, b = mpf(atom[up]), mpf(atom[down])
        if a > 0 and b > 0:
            total += a**order * b ** (1 - order)
    for part in pair["pieces"]:
        def sum_of(terms, t):
            return sum(exp(mpf(x["log_coefficient"]) + mpf(x["rate"]) * t) for x in terms)

        def integrand(t):
            factor = mpf(part["constant"]) + mpf(part["linear"]) * t + mpf(part["quadratic"]) * t * t
            return exp(factor + order * log(sum_of(part[up], t)) + (1 - order) * log(sum_of(part[down], t)))

        reach = 12 + order * max(abs(x["rate"]) for x in part["p"] + part["q"])
        if "from" not in part and "to" not in part:
            # Analytic in a strip: the trapezoid rule converges geometrically.
            step = mpf(1) / 16
            total += step * sum(integrand(step * i) for i in range(int(-reach / step), int(reach / step) + 1))
            continue
        start, end = mpf(part.get("from", -reach)), mpf(part.get("to", reach))
        pieces = max(4, int((end - start) / 2))
        total += quad(integrand, [start + (end - start) * i / pieces for i in range(pieces + 1)])
    return log(total)


def pair_cases():
    pairs = {
        "laplace 0.1": laplace(0.1),
        "laplace 1": laplace(1.0),
        "laplace 5": laplace(5.0),
        "sampled laplace": laplace(2.0, 0.2),
        "gaussian": mixture_of_gaussians([1.0], [1.0]),
        "mixture": mixture_of_gaussians([0.2, 0.6, 0.2], [0.0, 1.0, 2.0]),
        "rare mixture": mixture_of_gaussians([1 - 1e-3, 1e-3], [0.0, 2.0]),
        "two-sided": two_sided(0.1, 1.5),
        "halves": halves(0.01, 2.0),
        "randomized response": randomized_response(1.0),
        "weak randomized response": randomized_response(1e-3),
        "epsilon-delta": randomized_response(0.5, 1e-3),
    }
    cases = []
    for name, pair in pairs.items():
        for order in (1.001, 1.5, 2.0, 7.25, 40.0):
            cases.append(
                {
                    "name": name,
                    "pair": pair,
                    "order": order,
                    "remove": float(moment(pair, "p", "q", order)),
                    "add": float(moment(pair, "q", "p", order)),
                }
            )
    return cases


# ---- Bounded range: the greatest moment over the two-outcome pairs with ratios y and y e^-eps ----


def bounded_range(epsilon, order):
    epsilon, order = mpf(epsilon), mpf(order)

    def moment_of(s):
        y = exp(s)
        weight = (exp(epsilon) - y) / (y * expm1(epsilon))
        return weight * y**order + (1 - weight) * (y * exp(-epsilon)) ** order

    low, high = mpf(0), epsilon
    for _ in range(150):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if moment_of(a) < moment_of(b):
            low = a
        else:
            high = b
    return log(moment_of((low + high) / 2)) / (order - 1)


def bounded_range_cases():
    return [
        {"epsilon": epsilon, "order": order, "divergence": float(bounded_range(epsilon, order))}
        for epsilon in (1e-4, 0.1, 1.0, 4.0, 30.0)
        for order in (1.001, 1.5, 2.0, 10.0, 300.0)
    ]


# ---- The best conversion of one order: the greatest p - e^eps q over two-outcome pairs (p, q) with that divergence ----


def greatest_delta(divergence, order, epsilon):
    divergence, order, epsilon = mpf(divergence), mpf(order), mpf(epsilon)
    allowed = exp((order - 1) * divergence)

    def p_of(log_q):
        q = exp(log_q)
        low, high = log_q, mpf(0)
        for _ in range(110):
            p = exp((low + high) / 2)
            moment_of = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
            if moment_of < allowed:
                low = (low + high) / 2
            else:
                high = (low + high) / 2
        return exp(low)

    def delta(log_q):
        return p_of(log_q) - exp(epsilon + log_q)

    low, high = mpf(-800), mpf(-1e-6)
    # Unimodal in log q: the best of a grid, then golden section.
    grid = [low + (high - low) * i / 200 for i in range(201)]
    best = max(range(201), key=lambda i: delta(grid[i]))
    low, high = grid[max(0, best - 1)], grid[min(200, best + 1)]
    golden = (sqrt(mpf(5)) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    da, db = delta(a), delta(b)
    for _ in range(60):
        if da < db:
            low, a, da = a, b, db
            b = low + golden * (high - low)
            db = delta(b)
        else:
            high, b, db = b, a, da
            a = high - golden * (high - low)
            da = delta(a)
    return max(da, db)


def conversion_cases():
    cases = []
    for divergence, order, epsilon in (
        (0.5, 2.0, 1.0),
        (0.01, 2.0, 0.1),
        (0.001, 5.0, 0.02),
        (1.0, 1.2, 3.0),
        (3.0, 4.0, 6.0),
        (0.2, 30.0, 1.0),
        (0.05, 1.01, 0.5),
        (0.3, 3.0, 0.0),
        (2.0, 1.5, 0.0),
        (0.2, 300.0, 2.0),
    ):
        cases.append(
            {
                "divergence": divergence,
                "order": order,
                "epsilon": epsilon,
                "delta": float(greatest_delta(divergence, order, epsilon)),
            }
        )
    return cases


def main():
    oracle = {
        "description": "Renyi moments log sum up^order down^(1-order) of pairs; the divergence of bounded range; "
        "the greatest delta of any two-outcome pair with a divergence of one order.",
        "pair_moment": pair_cases(),
        "bounded_range": bounded_range_cases(),
        "conversion": conversion_cases(),
    }
    OUTPUT.write_text(json.dumps(oracle, indent=1) + "\n")


if __name__ == "__main__":
    main()
