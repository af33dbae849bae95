#!/usr/bin/env python3
"""Writes tests/data/accounting_oracle.json: privacy quantities to more digits than doubles hold.

Independent of the C++ code: closed forms and quadrature in mpmath, 50 digits of working precision. Every parameter is
the double that it prints as. Logarithms are natural. Run: python3 tests/oracle/accounting_oracle.py (seconds).

Notation: the sampled Gaussian with probability q and noise multiplier s has, under "remove",
P = (1-q) N(0, s^2) + q N(1, s^2) against Q = N(0, s^2), and under "add" P and Q exchanged.
"""

import json
import math
import pathlib

from mpmath import binomial, erfc, exp, expm1, inf, log, log1p, mp, mpf, pi, quad, sqrt

mp.dps = 50
OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "accounting_oracle.json"


def upper_tail(x):
    """P(N > x) of the standard normal distribution."""
    return erfc(x / sqrt(2)) / 2


# ---- delta(epsilon) of the unsampled Gaussian: Balle and Wang 2018, theorem 8 ----


def gaussian_delta(mu, epsilon):
    mu, epsilon = mpf(mu), mpf(epsilon)
    return upper_tail(epsilon / mu - mu / 2) - exp(epsilon) * upper_tail(epsilon / mu + mu / 2)


def gaussian_cases():
    cases = []
    for mu in (1e-4, 1e-2, 0.5, 1.0, 2.0, 10.0, 50.0):
        # delta is about P(N > t): from nearly 1 to 1e-300.
        for t in (-5, -2, -0.5, 0, 0.5, 1, 2, 4, 7, 11, 16, 22, 30, 36.5):
            epsilon = float("%.6g" % (mu * mu / 2 + mu * t))
            if epsilon < 0:
                continue
            cases.append({"mu": mu, "epsilon": epsilon, "log_delta": float(log(gaussian_delta(mu, epsilon)))})
        cases.append({"mu": mu, "epsilon": 0.0, "log_delta": float(log(gaussian_delta(mu, 0)))})
    return cases


# ---- Renyi moments: Mironov, Talwar, Zhang 2019 ----


def moment_by_sum(q, s, order):
    """A(order) for a whole order, all terms positive."""
    q, s = mpf(q), mpf(s)
    return sum(
        binomial(order, k) * (1 - q) ** (order - k) * q**k * exp(k * (k - 1) / (2 * s * s))
        for k in range(order + 1)
        if q < 1 or k == order
    )


def moment_by_quadrature(q, s, order, digits=40):
    """A(order) = E_{x ~ N(0, s^2)} [(1 - q + q e^{(2x-1)/(2 s^2)})^order] by the trapezoid rule.

    The integrand is analytic for |Im x| < pi s^2 and grows there by at most e^{a^2/(2 s^2)} at height a, so the relative
    error is at most 2 e^{a^2/(2 s^2)} / (e^{2 pi a/h} - 1).
    """
    q, s, order = mpf(q), mpf(s), mpf(order)
    wanted = digits * log(10)
    height = min(mpf("0.98") * pi * s * s, s * sqrt(2 * wanted))
    h = 2 * pi * height / (wanted + 1 + height * height / (2 * s * s))
    reach = s * sqrt(2 * (wanted + 10))
    first, last = int(-reach / h) - 1, int((order + reach) / h) + 1
    scale = 1 / (2 * s * s)
    total = mpf(0)
    for i in range(first, last + 1):
        x = i * h
        total += exp(order * log1p(q * expm1((2 * x - 1) * scale)) - x * x * scale)
    return total * h / (s * sqrt(2 * pi))


def renyi_cases():
    cases = []
    for q in (1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0):
        for s in (0.3, 0.5, 1.0, 2.0, 10.0):
            for order in (1.01, 1.5, 2.0, 2.5, 5.0, 20.0, 100.0, 500.0):
                if order == int(order):
                    moment = moment_by_sum(q, s, int(order))
                    if order in (2, 5) and s >= 0.5:  # the two ways agree
                        assert abs(moment_by_quadrature(q, s, order) / moment - 1) < mpf(10) ** -30
                else:
                    moment = moment_by_quadrature(q, s, order)
                cases.append({"q": q, "noise_multiplier": s, "order": order, "log_moment": float(log(moment))})
    return cases


# ---- delta(epsilon) of one and of two sampled Gaussian steps ----


def step_delta(q, s, epsilon, direction):
    """The hockey-stick divergence of one step at any real epsilon: two normal tails, split where the ratio is e^epsilon."""
    if direction == "remove":
        ratio = (expm1(epsilon) + q) / q  # e^{(2x-1)/(2 s^2)} at the split
        if ratio <= 0:
            return 1 - exp(epsilon)
        x = mpf(1) / 2 + s * s * log(ratio)
        base, shifted = upper_tail(x / s), upper_tail((x - 1) / s)
        return (1 - q) * base + q * shifted - exp(epsilon) * base
    ratio = (expm1(-epsilon) + q) / q
    if ratio <= 0:
        return mpf(0)
    x = mpf(1) / 2 + s * s * log(ratio)
    base, shifted = upper_tail(-x / s), upper_tail((1 - x) / s)
    return base - exp(epsilon) * ((1 - q) * base + q * shifted)


def one_step_cases():
    cases = []
    for q in (1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0):
        for s in (0.2, 0.5, 1.0, 2.0, 10.0, 50.0):
            for direction in ("remove", "add"):
                # Under "add" the loss is at most -log(1-q).
                most = inf if direction == "remove" or q == 1 else -log1p(-mpf(q))
                epsilons = [0.0, 1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0]
                if most < inf:
                    epsilons = [0.0] + [float("%.3g" % float(f * most)) for f in (0.3, 0.9)]
                for epsilon in epsilons:
                    delta = step_delta(mpf(q), mpf(s), mpf(epsilon), direction)
                    if delta <= mpf(10) ** -300:
                        continue
                    cases.append({"q": q, "noise_multiplier": s, "direction": direction, "epsilon": epsilon,
                                  "log_delta": float(log(delta))})
    return cases


def two_step_delta(q, s, epsilon, direction):
    """E_{x ~ P} [delta_1(epsilon - loss(x))]: the first step's outcome shifts what is left for the second."""
    q, s, epsilon = mpf(q), mpf(s), mpf(epsilon)
    sign = 1 if direction == "remove" else -1

    def integrand(x):
        mixture = 1 + q * expm1((2 * x - 1) / (2 * s * s))
        density = exp(-x * x / (2 * s * s)) / (s * sqrt(2 * pi))
        weight = density * mixture if direction == "remove" else density
        return weight * step_delta(q, s, epsilon - sign * log(mixture), direction)

    # Where the second step's divergence becomes 1 - e^epsilon (remove) or 0 (add) every derivative exists, but only just:
    # tanh-sinh quadrature needs that point as an end.
    kink = mpf(1) / 2 + s * s * log1p((exp(sign * epsilon) / (1 - q) - 1) / q)
    first, last = -11 * s, 1 + 11 * s
    points = [kink + j * s for j in (-8, -4, -2, -1, 0, 1, 2, 4, 8)]
    return quad(integrand, [first] + [x for x in points if first < x < last] + [last])


def two_step_cases():
    cases = []
    with mp.workdps(30):
        for q, s, epsilons in ((0.001, 0.4, (0.01, 1.0)), (0.01, 0.5, (0.0, 0.1, 2.0)), (0.1, 1.0, (0.05, 1.0)),
                               (0.5, 0.8, (0.5, 3.0, 12.0)), (0.9, 2.0, (0.0, 0.1, 1.0, 4.0))):
            for direction in ("remove", "add"):
                for epsilon in epsilons:
                    if direction == "add" and epsilon >= -2 * math.log1p(-q):
                        continue
                    cases.append({"q": q, "noise_multiplier": s, "steps": 2, "direction": direction,
                                  "epsilon": epsilon,
                                  "log_delta": float(log(two_step_delta(q, s, epsilon, direction)))})
    return cases


# ---- Tuning: Papernot and Steinke 2021 ----


def trials_mean(eta, log_gamma):
    gamma = exp(log_gamma)
    if eta == 0:
        return expm1(-log_gamma) / -log_gamma
    return eta * (1 - gamma) / (gamma * -expm1(eta * log_gamma))


def gamma_of_mean(eta, mean):
    """The truncated negative binomial's gamma: its mean falls from infinity to 1 as gamma goes from 0 to 1."""
    eta, mean = mpf(eta), mpf(mean)
    low, high = mpf(-2000), -mpf(10) ** -30
    for _ in range(180):
        middle = (low + high) / 2
        if trials_mean(eta, middle) > mean:
            low = middle
        else:
            high = middle
    return exp(low)


def gamma_cases():
    return [{"eta": eta, "mean": mean, "gamma": float(gamma_of_mean(eta, mean))}
            for eta in (-0.9, -0.5, 0.0, 0.5, 1.0, 2.0, 10.0) for mean in (1.5, 2.0, 10.0, 100.0, 1e4)]


class RenyiCurve:
    """R(order) = steps log A(order)/(order - 1), in double precision: relative error about 1e-13."""

    def __init__(self, q, s, steps):
        self.q, self.s, self.steps = q, s, steps
        self.known = {}

    def __call__(self, order):
        if order not in self.known:
            h = self.s / 8
            first, last = -10 * self.s, order + 10 * self.s
            terms = []
            for i in range(int(first / h), int(last / h) + 1):
                x = i * h
                y = (2 * x - 1) / (2 * self.s**2)
                log_ratio = math.log1p(self.q * math.expm1(y))
                log_weight = -x * x / (2 * self.s**2) - math.log(self.s * math.sqrt(2 * math.pi))
                if order * log_ratio < 1:
                    terms.append(math.exp(log_weight) * math.expm1(order * log_ratio))
                elif order * log_ratio + log_weight < 700:
                    terms.append(math.exp(order * log_ratio + log_weight) - math.exp(log_weight))
                else:
                    terms.append(math.inf)
            self.known[order] = self.steps * math.log1p(h * math.fsum(terms)) / (order - 1)
        return self.known[order]


def least(f):
    """Minimum over orders in [1 + 1e-3, 1e3]: a grid in log(order - 1), then golden section."""
    at = min((i / 10 for i in range(-69, 53)), key=lambda v: f(1 + math.exp(v)))
    a, b = at - 0.1, at + 0.1
    golden = (math.sqrt(5) - 1) / 2
    while b - a > 1e-9:
        x1, x2 = b - golden * (b - a), a + golden * (b - a)
        if f(1 + math.exp(x1)) < f(1 + math.exp(x2)):
            b = x2
        else:
            a = x1
    return f(1 + math.exp((a + b) / 2))


def epsilon_from(curve, delta):
    """Canonne, Kamath, Steinke 2020, proposition 12, at the best order."""
    return least(lambda a: curve(a) + math.log1p(-1 / a) - math.log(delta * a) / (a - 1))


def delta_from(curve, epsilon):
    log_delta = least(lambda a: (a - 1) * (curve(a) - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1))
    return math.exp(log_delta)


def negative_binomial_curve(curve, eta, mean):
    """Theorem 2, with the least over the second order."""
    gamma = float(gamma_of_mean(eta, mean))
    second = (1 + eta) * least(lambda a: (1 - 1 / a) * curve(a) - math.log(gamma) / a)
    return lambda a: curve(a) + second + math.log(mean) / (a - 1)


def poisson_curve(curve, mean):
    """Theorem 6, with the (epsilon, delta) pair that it needs taken from the same curve."""
    return lambda a: curve(a) + mean * delta_from(curve, math.log1p(1 / (a - 1))) + math.log(mean) / (a - 1)


def tuning_cases():
    """n = 10^6, batches of 5000, noise multiplier 1, delta = 1e-6: 1 and 100 epochs."""
    q, s, delta = 0.005, 1.0, 1e-6
    cases = []
    for steps in (200, 20000):
        curve = RenyiCurve(q, s, steps)
        case = {"q": q, "noise_multiplier": s, "steps": steps, "delta": delta}
        cases.append({**case, "trials": "one", "epsilon": epsilon_from(curve, delta)})
        for eta in (-0.5, 0.0, 1.0):
            for mean in (10.0, 100.0):
                tuned = negative_binomial_curve(curve, eta, mean)
                cases.append({**case, "trials": "negative_binomial", "eta": eta, "mean": mean,
                              "epsilon": epsilon_from(tuned, delta)})
        cases.append({**case, "trials": "poisson", "mean": 10.0,
                      "epsilon": epsilon_from(poisson_curve(curve, 10.0), delta)})
    return cases


def main():
    oracle = {
        "description": "Written by tests/oracle/accounting_oracle.py; do not edit. Natural logarithms. Exact to the "
                       "last double digit, except tuning (relative error 1e-9: minimised over orders).",
        "gaussian_delta": gaussian_cases(),
        "renyi_moment": renyi_cases(),
        "one_step_delta": one_step_cases(),
        "two_step_delta": two_step_cases(),
        "negative_binomial_gamma": gamma_cases(),
        "tuning_rdp": tuning_cases(),
    }
    lines = []
    for name, value in oracle.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            lines.append('"%s": [\n%s\n]' % (name, rows))
        else:
            lines.append('"%s": %s' % (name, json.dumps(value)))
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
