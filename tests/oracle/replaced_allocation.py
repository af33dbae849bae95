#!/usr/bin/env python3
"""The profile of random allocation over two and three rounds when a record is replaced, by quadrature.

With x_i ~ N(0,1), r = (r_1 + ... + r_t)/t of r_i = exp(mu x_i - mu^2/2), and r' the same of -x_i, prints
delta(eps) = E[(r - e^eps r')_+] for the rows of tests/accountant/replaced_law_test.cc and
replaced_epochs_test.cc: of all rounds, of two rounds of three (`missing`), of two contributions in three rounds,
and of two rounds beside a Gaussian mechanism. The last round is closed, as r_1 - e^eps r'_1 rises with x_1; each
other one is an integral. (Three rounds of little noise take doubles and finer trapezoids: at 12 a standard deviation
z = .5 is off in the fifth digit, at 192 in the tenth.) Then the worst strategy of two rounds among contributions in the plane, the second one
chosen in sight of the first output: none is above the opposed pair. Needs python3-mpmath; four minutes.

    tests/oracle/replaced_allocation.py [points a standard deviation: the digits stay]
"""
import math
import sys

from mpmath import mp, mpf, exp, quad

mp.dps = 20
REACH = 10  # standard deviations: 1e-23
STEP = mpf(1) / int(sys.argv[1]) if len(sys.argv) > 1 else mpf(1) / 12


def upper(x, m=mp):
    return m.erfc(x / m.sqrt(2)) / 2


def density(x, m=mp):
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


def term(mu, y, x, m=mp):
    return m.exp(mu * x - mu * mu / 2) - y * m.exp(-mu * x - mu * mu / 2)


def last(mu, a, b, c, m=mp):
    """E[(a r_1 - b r'_1 + c)_+] with a, b > 0."""
    # a u - b/u' + c = 0 at u = e^{mu x}, with both ratios' factor e^{-mu^2/2}
    k = c * m.exp(mu * mu / 2)
    root = m.sqrt(k * k + 4 * a * b)
    u = 2 * b / (k + root) if k > 0 else (root - k) / (2 * a)
    cut = m.log(u) / mu
    return a * upper(cut - mu, m) - b * upper(cut + mu, m) + c * upper(cut, m)


def integral(f, mu, m=mp, step=STEP):
    # Analytic and falling as e^(-x^2/2): plain trapezoids err less than any power of their step.
    n = int((2 * REACH + 2 * mu) / step)
    points = [-REACH - mu + step * i for i in range(n + 1)]
    return step * sum(f(x) * density(x, m) for x in points)


def all_rounds(mu, rounds, y, missing=0):
    m, step = mp, STEP
    if rounds - missing == 3 and mu > 1:
        m, step, mu, y = math, float(STEP / 16), float(mu), float(y)

    def rest(left, sofar):
        if left == 1:
            return last(mu, 1, y, sofar, m)
        return integral(lambda x: rest(left - 1, sofar + term(mu, y, x, m)), mu, m, step)

    return rest(rounds - missing, missing * (1 - y)) / rounds


def two_of_three(mu, y):
    """Both records in two of three rounds: the means of products of two of three ratios."""

    def given(x1, x2):
        r1, r2 = exp(mu * x1 - mu * mu / 2), exp(mu * x2 - mu * mu / 2)
        s1, s2 = exp(-mu * x1 - mu * mu / 2), exp(-mu * x2 - mu * mu / 2)
        return last(mu, r1 + r2, y * (s1 + s2), r1 * r2 - y * s1 * s2) / 3

    return integral(lambda x1: integral(lambda x2: given(x1, x2), mu), mu)


def beside_gaussian(mu, rounds, distance, eps):
    """Composed with a Gaussian mechanism that moves by `distance` between the two records."""

    def profile(e):
        y = exp(e)
        return all_rounds(mu, rounds, y) if e >= 0 else 1 - y + y * all_rounds(mu, rounds, 1 / y)

    return quad(lambda x: density(x - distance) * profile(eps - distance * x + distance * distance / 2),
                [distance - 9, distance - 3, distance, distance + 3, distance + 9])


def strategy(mu, y, angle, length, choose):
    """Two rounds: the first with an angle and a length of the other record's contribution, the second one by
    choose(s), its angle, in sight of s so far. Contributions of length mu and `length` mu at that angle."""
    n, reach = 160, 8.0
    step = 2 * reach / n
    total = 0.0
    m, yy = float(mu), float(y)

    def pair(x1, x2, a, l):
        r = math.exp(m * x1 - m * m / 2)
        other = l * m
        s = math.exp(other * (x1 * math.cos(a) + x2 * math.sin(a)) - other * other / 2)
        return r - yy * s

    points = [(-reach + step * (i + 0.5)) for i in range(n)]
    weight = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * step for x in points]
    # The second round's mean of the positive part, as a function of s, for each angle that is chosen from.
    angles = [math.pi, 2.5, 1.5]
    grid = [-40 + 0.5 * i for i in range(161)]
    value = {}
    for a in angles:
        law = [(pair(x1, x2, a, 1.0), w1 * w2) for x1, w1 in zip(points[::2], weight[::2])
               for x2, w2 in zip(points[::2], weight[::2])]
        value[a] = [4 * sum(w * max(0.0, s + v) for v, w in law) for s in grid]

    def of(a, s):
        if s <= grid[0]:
            return value[a][0]
        if s >= grid[-1]:
            return value[a][-1] + s - grid[-1]
        i = int((s - grid[0]) / 0.5)
        share = (s - grid[i]) / 0.5
        return value[a][i] * (1 - share) + value[a][i + 1] * share

    for x1, w1 in zip(points, weight):
        for x2, w2 in zip(points, weight):
            s = pair(x1, x2, angle, length)
            total += w1 * w2 * of(choose(s, angles), s)
    return total / 2


if __name__ == "__main__":
    for rounds, z, eps, missing in [(2, 1, 0, 0), (2, 1, 1, 0), (2, 1, 4, 0), (2, 0.5, 3, 0), (2, 0.5, 12, 0),
                                    (2, 3, 0.25, 0), (2, 3, 2, 0), (3, 1, 0.5, 0), (3, 1, 3, 0), (3, 0.5, 6, 0),
                                    (3, 3, 1, 0), (2, 1, 1, 1), (3, 1, 1, 1), (3, 2, 0.5, 2)]:
        delta = all_rounds(1 / mpf(z), rounds, exp(mpf(eps)), missing)
        print("      {%d, %d, %g, %g, %s}," % (rounds, missing, z, eps, mp.nstr(delta, 12)), flush=True)
    for z, eps in [(1, 1), (1, 4), (2, 1)]:
        print("two of three", z, eps, mp.nstr(two_of_three(1 / mpf(z), exp(mpf(eps))), 10), flush=True)
    for z, distance, eps in [(1, 1, 1), (1, 1, 4)]:
        print("beside", z, distance, eps, mp.nstr(beside_gaussian(1 / mpf(z), 2, mpf(distance), mpf(eps)), 8),
              flush=True)
    for y in (1.0, math.e):
        opposed = strategy(1, y, math.pi, 1.0, lambda s, angles: angles[0])
        print("opposed", y, opposed, "exact", mp.nstr(all_rounds(mpf(1), 2, mpf(y)), 8))
        for angle, length, choose in [(math.pi, 1.0, lambda s, angles: angles[1] if s > 0 else angles[0]),
                                      (math.pi, 1.0, lambda s, angles: angles[2] if s < 0 else angles[0]),
                                      (2.5, 1.0, lambda s, angles: angles[0]),
                                      (math.pi, 0.7, lambda s, angles: angles[0])]:
            print("  another", strategy(1, y, angle, length, choose), flush=True)
