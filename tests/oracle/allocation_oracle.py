#!/usr/bin/env python3
"""The profile of random allocation over two and three rounds, by nested quadrature.

With r = (r_1 + ... + r_t)/t, r_i = exp(mu x_i - mu^2/2), x_i ~ N(0,1) under Q, prints
  remove(eps) = E_Q[(r - e^eps)_+]   and   add(eps) = E_Q[(1 - e^eps r)_+]
for the rows of tests/accountant/ratio_law_test.cc, and of two rounds of three for
tests/accountant/transversals_test.cc. E[(r_1 - y)_+] is closed, and each further round is an
integral, cut where its own ratio reaches y: from there on the rest has mean one and the value is linear. Near
the cut the integrand is as flat as a lognormal density at 0, which takes a double-exponential rule; plain
trapezoids err in the fifth digit. Needs python3-mpmath; two minutes.

    tests/oracle/allocation_oracle.py
"""
from mpmath import mp, mpf, erfc, exp, log, quad, sqrt, pi

mp.dps = 18
REACH = 10  # standard deviations: 1e-23


def tail(x):
    return erfc(x / sqrt(2)) / 2


def excess(mu, rounds, y):
    """E[(r_1 + ... + r_t - y)_+]."""
    if y <= 0:
        return rounds - y
    a = log(y) / mu
    if rounds == 1:
        return tail(a - mu / 2) - y * tail(a + mu / 2)
    cut = a + mu / 2  # where one ratio is y

    def over(x):
        return excess(mu, rounds - 1, y - exp(mu * x - mu * mu / 2)) * exp(-x * x / 2) / sqrt(2 * pi)

    # Beyond the cut: E[(rounds - 1 + r - y); x > cut]
    beyond = tail(cut - mu) + (rounds - 1 - y) * tail(cut)
    if cut <= -REACH:
        return beyond
    end = min(cut, REACH + mu)
    return quad(over, [-REACH] + [p for p in (-3, 0, 3) if p < end] + [end]) + beyond


def two_of_three(mu, y):
    """E[((r_1 r_2 + r_1 r_3 + r_2 r_3)/3 - y)_+]: the profile of two rounds of three, drawn as a set."""

    def ratio(x):
        return exp(mu * x - mu * mu / 2)

    def over(x1, x2):
        fixed, slope = ratio(x1) * ratio(x2) / 3, (ratio(x1) + ratio(x2)) / 3
        return slope * excess(mu, 1, (y - fixed) / slope) * exp(-(x1 * x1 + x2 * x2) / 2) / (2 * pi)

    def inner(x1):
        # Where the third ratio is not needed any more.
        cut = log(3 * y / ratio(x1)) / mu + mu / 2
        end = REACH + mu
        return quad(lambda x2: over(x1, x2), sorted({mpf(-REACH), mpf(0), min(max(cut, -REACH), end), end}))

    return quad(inner, [-REACH, -3, 0, 3, REACH + mu])


def rows():
    for rounds, z, eps in [(2, 1, 1), (2, 0.5, 3), (2, 2, 0.5), (2, 5, 0.25), (3, 1, 0.5), (3, 1, 2), (3, 0.5, 4),
                           (3, 3, 0.25)]:
        mu, threshold = 1 / mpf(z), exp(mpf(eps))
        remove = excess(mu, rounds, rounds * threshold) / rounds
        # (1 - e^eps r)_+ = e^eps (r - e^-eps)_+ + 1 - e^eps r, and r has mean one
        add = threshold * excess(mu, rounds, rounds / threshold) / rounds + 1 - threshold
        yield rounds, z, eps, remove, add


if __name__ == "__main__":
    for rounds, z, eps, remove, add in rows():
        print("      {%d, %g, %g, %s, %s}," % (rounds, z, eps, mp.nstr(remove, 11), mp.nstr(add, 11)), flush=True)
    for z, eps in [(1, 1), (2, 0.5), (1, 3)]:
        mu, threshold = 1 / mpf(z), exp(mpf(eps))
        remove = two_of_three(mu, threshold)
        add = threshold * two_of_three(mu, 1 / threshold) + 1 - threshold
        print("      {%g, %g, %s, %s}," % (z, eps, mp.nstr(remove, 8), mp.nstr(add, 8)), flush=True)
