#!/usr/bin/python3
"""epsilon(delta) of two Poisson-sampled Gaussian steps, to 20 digits, by nested quadrature.

delta of two steps is E[e^{l(t)} delta_1(epsilon - l(t))] over t ~ N(0, 1) in the remove direction,
and delta_1, the profile of one step, is closed (accountant/gaussian/CLAIM.md). The integrand turns
on the scale of q where l(t) = epsilon: intervals shrink towards that place. Prints the constants of
tests/accountant/jumps_test.cc. Needs python3-mpmath.
"""
from mpmath import mp, mpf, erfc, exp, expm1, findroot, log, log1p, quad, sqrt, pi

mp.dps = 30


def tail(x):
    return erfc(x / sqrt(2)) / 2


def delta_of_one(q, mu, epsilon):
    if epsilon <= log1p(-q):
        return -expm1(epsilon)
    t = log1p(expm1(epsilon) / q) / mu + mu / 2
    return q * tail(t - mu) - (expm1(epsilon) + q) * tail(t)


def delta_of_two(q, mu, epsilon):
    def integrand(t):
        loss = log1p(q * expm1(mu * t - mu * mu / 2))
        return exp(loss - t * t / 2) * delta_of_one(q, mu, epsilon - loss)

    centre = log1p(expm1(epsilon) / q) / mu + mu / 2
    steps = [mpf(10) ** -k for k in range(0, 13)]
    far = [mpf(2) + k for k in range(0, 12)]
    points = sorted([centre - s for s in steps + far] + [centre] + [centre + s for s in steps + far])
    return quad(integrand, points) / sqrt(2 * pi)


def epsilon_of_two(q, z, delta, start):
    q, mu = mpf(q), 1 / mpf(z)
    f = lambda e: log(delta_of_two(q, mu, e)) - log(mpf(delta))
    return findroot(f, (mpf(start) * (1 - mpf(10) ** -6), mpf(start)), solver="secant", tol=1e-20)


if __name__ == "__main__":
    for q, z, delta, start in [
        (4.68e-6, 0.6605, 1.247e-9, 0.00221),
        (4.2697198898103645e-6, 0.3763808192768174, 2.7159773331775695e-7, 0.009466),
    ]:
        print(repr(q), repr(z), repr(delta), mp.nstr(epsilon_of_two(q, z, delta, start), 18))
