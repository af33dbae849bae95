#!/usr/bin/env python3
"""Prints the polynomials of accountant/numeric/vector_math-inl.h: interpolants at Chebyshev nodes, computed at 60
digits and rounded, with the error each leaves (relative to the function that it serves)."""
import mpmath as mp

mp.mp.dps = 60


def interpolant(f, low, high, degree):
    n = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    powers = mp.matrix(n, n)
    values = mp.matrix(n, 1)
    for i, x in enumerate(nodes):
        for j in range(n):
            powers[i, j] = x**j
        values[i] = f(x)
    return [float(c) for c in mp.lu_solve(powers, values)]


def worst_error(f, coefficients, low, high, weight):
    worst = 0
    for k in range(801):
        x = low + (high - low) * k / mp.mpf(800)
        worst = max(worst, abs((sum(mp.mpf(c) * x**j for j, c in enumerate(coefficients)) - f(x)) * weight(x)))
    return worst


def by_series(f, near_zero, radius):
    return lambda x: near_zero if abs(x) < radius else f(x)


def report(name, f, low, high, degree, weight):
    coefficients = interpolant(f, low, high, degree)
    print(f"// error {mp.nstr(worst_error(f, coefficients, low, high, weight), 2)}")
    print(f"inline constexpr double {name}[] = {{{', '.join(c.hex() for c in coefficients)}}};")


slack = mp.mpf("1.0001")
half = mp.log(2) / 2 * slack
report("kExp", by_series(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2, mp.mpf(10)**-20), -half, half, 10,
       lambda r: abs(r))
s = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
report("kLog", by_series(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, mp.mpf(2) / 3, mp.mpf(10)**-20),
       mp.mpf(0), s**2 * slack, 6, lambda z: z)
quarter = (mp.pi / 4)**2 * slack
report("kSin", by_series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6, mp.mpf(10)**-20),
       mp.mpf(0), quarter, 5, lambda z: z)
report("kCos", by_series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24, mp.mpf(10)**-15),
       mp.mpf(0), quarter, 5, lambda z: z * z)
report("kAtan", by_series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3, mp.mpf(10)**-20),
       mp.mpf(0), mp.tan(mp.pi / 8)**2 * slack, 11, lambda z: z)
