#!/usr/bin/python3
"""delta(epsilon) of matrix mechanisms with balls in bins, of two and three bins, by quadrature.

From the definition alone: the matrix C is written out, a record of bin i moves the messages by the sum m_i of its
columns, and the data sets are told apart by (N(m_0) + ... + N(m_{b-1}))/b against N(0). The last of the bins' own
directions is integrated in closed form, the others by quadrature. Prints the constants of
tests/accountant/bin_overlaps_test.cc. Needs python3-mpmath.
"""
from mpmath import mp, mpf, cholesky, erfc, exp, log, matrix, pi, quad, sqrt

mp.dps = 20


def normal(x):
    return erfc(-x / sqrt(2)) / 2


def toeplitz(steps, coefficients):
    return [[coefficients[row - column] if 0 <= row - column < len(coefficients) else 0 for column in range(steps)]
            for row in range(steps)]


def tree(steps):
    rows, size = [], 1
    while size <= steps:
        rows += [[1 if begin <= t < begin + size else 0 for t in range(steps)]
                 for begin in range(0, steps - size + 1, size)]
        size *= 2
    return rows


def columns_of_bins(rows, bins):
    steps = len(rows[0])
    return [[sum(row[t] for t in range(i, steps, bins)) for row in rows] for i in range(bins)]


def factor(rows, bins, sigma):
    columns = columns_of_bins(rows, bins)
    gram = matrix(bins, bins)
    for i in range(bins):
        for j in range(bins):
            gram[i, j] = sum(mpf(x) * mpf(y) for x, y in zip(columns[i], columns[j])) / mpf(sigma) ** 2
    return cholesky(gram)


def remove_given(a, b, mu):
    """E (a + b e^{mu x - mu^2/2})_+, b > 0."""
    if a >= 0:
        return a + b
    x = (log(-a / b) + mu * mu / 2) / mu
    return a * normal(-x) + b * normal(mu - x)


def add_given(a, b, mu):
    """E (a - b e^{mu x - mu^2/2})_+, b > 0."""
    if a <= 0:
        return mpf(0)
    x = (log(a / b) + mu * mu / 2) / mu
    return a * normal(x) - b * normal(x - mu)


def delta(rows, bins, sigma, epsilon):
    l = factor(rows, bins, sigma)
    share, last = mpf(1) / bins, bins - 1
    square = [sum(l[i, j] ** 2 for j in range(i + 1)) for i in range(bins)]

    def given(x):
        """Both directions, given all but the last direction's x."""
        others = sum(share * exp(sum(l[i, j] * x[j] for j in range(i + 1)) - square[i] / 2) for i in range(last))
        own = share * exp(sum(l[last, j] * (x[j] - l[last, j] / 2) for j in range(last)))
        mu, e = l[last, last], exp(epsilon)
        return remove_given(others - e, own, mu), add_given(1 - e * others, e * own, mu)

    def density(x):
        return exp(-sum(y * y for y in x) / 2) / sqrt(2 * pi) ** len(x)

    span = [mpf(k) for k in range(-9, 13, 1 if bins == 2 else 3)]
    values = []
    for direction in (0, 1):
        if bins == 2:
            values.append(quad(lambda x: density([x]) * given([x])[direction], span))
        else:
            # Smooth to many digits: the trapezoid rule's error falls faster than any power of its step.
            h = mpf(1) / 12
            points = [k * h for k in range(-8 * 12, 11 * 12)]
            values.append(h * h * sum(density([x, y]) * given([x, y])[direction] for x in points for y in points))
    return values


if __name__ == "__main__":
    for name, rows, bins, sigma in (
            ("toeplitz 4: 1 .5 .25", toeplitz(4, [1, mpf("0.5"), mpf("0.25")]), 2, "2"),
            ("toeplitz 3: 1", toeplitz(3, [1]), 2, "1"),
            ("toeplitz 7: 1 .5 .25", toeplitz(7, [1, mpf("0.5"), mpf("0.25")]), 3, "2"),
            ("tree 6", tree(6), 3, "3")):
        for epsilon in ("0.2", "1", "2"):
            remove, add = delta(rows, bins, sigma, mpf(epsilon))
            print("%-22s %d bins, sigma %s: epsilon %-4s remove %s add %s" % (
                name, bins, sigma, epsilon, mp.nstr(remove, 12), mp.nstr(add, 12)))
