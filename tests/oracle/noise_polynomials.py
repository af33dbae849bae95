#!/usr/bin/env python3
"""Prints the constants of client/internal/noise_constants.h: interpolants at Chebyshev nodes, computed at 60 digits and
rounded, and the table of the logarithm. noise_kernels_test bounds what they leave out."""
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


def by_series(f, near_zero):
    return lambda x: near_zero if abs(x) < mp.mpf(10)**-18 else f(x)


def report(name, f, low, high, degree):
    print(f"inline constexpr double {name}[] = {{{', '.join(c.hex() for c in interpolant(f, low, high, degree))}}};")


report("kLogTail", by_series(lambda t: (2 * mp.log1p(t) / t - 2) / t, mp.mpf(-1)), -mp.mpf(1) / 32, mp.mpf(1) / 32, 6)
quarter = (mp.pi / 4)**2
report("kSineTail", by_series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6), mp.mpf(0),
       quarter, 5)
report("kCosineTail", by_series(lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, -mp.mpf(1) / 2), mp.mpf(0), quarter, 6)

# 1/m for m in [1 + j/16, 1 + (j+1)/16), to 1/256; the last is 1/2, which leaves 1 - U itself where U is near 1.
scales = [round(256 / (1 + (2 * j + 1) / 32)) / 256 for j in range(15)] + [0.5]
print(f"inline constexpr double kScales[] = {{{', '.join(c.hex() for c in scales)}}};")
print(f"inline constexpr double kScaleLogs[] = {{{', '.join(float(2 * mp.log(2 * c)).hex() for c in map(mp.mpf, scales))}}};")
worst = max(abs(c * m - 1) for j, c in enumerate(scales) for m in (1 + j / 16, 1 + (j + 1) / 16))
print(f"// largest remainder 1/{1 / worst}")
