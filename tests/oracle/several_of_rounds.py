#!/usr/bin/env python3
"""The profile of a record in two of three rounds of a Gaussian mechanism, by quadrature.

With x_i ~ N(0,1) and r_i = exp(mu x_i - mu^2/2), r = (r_1 r_2 + r_1 r_3 + r_2 r_3)/3; prints E[(r - e^eps)_+] and
E[(1 - e^eps r)_+] for the rows of tests/accountant/several_test.cc. The third round is closed (r is linear in r_3, a
lognormal of mean one), the others are trapezoids, 24 and 48 points a standard deviation: their digits agree. Doubles;
half a minute.
"""
import math

REACH = 12


def upper(x):
    return math.erfc(x / math.sqrt(2)) / 2


def call(a, k, mu):
    """E[(a r_3 - k)_+]."""
    if k <= 0:
        return a - k
    d = math.log(a / k) / mu
    return a * upper(-d - mu / 2) - k * upper(-d + mu / 2)


def profile(mu, eps, points):
    y, step = math.exp(eps), 1 / points
    xs = [-REACH - mu + step * i for i in range(int((2 * REACH + 4 * mu) * points))]
    outcomes = [(math.exp(mu * x - mu * mu / 2), math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * step) for x in xs]
    remove = add = 0
    for r1, w1 in outcomes:
        for r2, w2 in outcomes:
            if w1 * w2 * (1 + r1) * (1 + r2) < 1e-25:
                continue
            a, both = (r1 + r2) / 3, r1 * r2 / 3
            remove += w1 * w2 * call(a, y - both, mu)
            # E[(k - a r_3)_+] = E[(a r_3 - k)_+] - a + k
            k = 1 / y - both
            add += w1 * w2 * y * max(0, call(a, k, mu) - a + k)
    return remove, add


if __name__ == "__main__":
    for z in (1, 0.5):
        for eps in (1, 4):
            for points in (24, 48):
                print(z, eps, points, "%.12g %.12g" % profile(1 / z, eps, points), flush=True)
