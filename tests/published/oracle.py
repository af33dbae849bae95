"""What the tests of the pages compare with: divergences of distributions that are written out,
Gaussian noise in closed form, trees, and Rényi DP of Poisson samples with two conversions. Nothing
of the product's."""
import itertools
import math

import numpy

normal = numpy.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))


def hockey_stick(p, q, epsilon):
    """sup over sets of P - e^epsilon Q, of two arrays of masses."""
    return float(numpy.maximum(numpy.asarray(p) - math.exp(epsilon) * numpy.asarray(q), 0).sum())


def both_ways(p, q, epsilon):
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def laplace_tail(x, scale):
    """P(noise > x)."""
    x = numpy.asarray(x, float)
    tail = 0.5 * numpy.exp(-numpy.abs(x) / scale)
    return numpy.where(x >= 0, tail, 1 - tail)


def laplace_density(x, scale):
    return numpy.exp(-numpy.abs(x) / scale) / (2 * scale)


def gaussian_delta(mu, epsilon):
    """Balle and Wang 2018 (arXiv 1805.06530), theorem 8."""
    return float(normal(mu / 2 - epsilon / mu)
                 - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu))


def least(holds, low, high):
    """Where a rising condition begins to hold, by halving."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def gaussian_epsilon(mu, delta):
    return least(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, 0.0, mu * mu / 2 + 40 * mu)


def sampled_density(x, q, distance):
    """A Poisson sample of Gaussian noise of deviation one, and what it is without the record."""
    without = numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return (1 - q) * without + q * without * numpy.exp(distance * x - distance**2 / 2), without


def tree_square(chosen, steps):
    """Squared norm of the sums over all complete dyadic intervals, of one in each chosen step."""
    x = numpy.zeros(steps)
    x[list(chosen)] = 1
    lengths = (1 << level for level in range(steps.bit_length()))
    return sum(float((x[:steps // length * length].reshape(-1, length).sum(1) ** 2).sum())
               for length in lengths)


def participations(steps, most, apart):
    """All sets of at most `most` steps, any two at least `apart`."""
    for count in range(1, most + 1):
        for chosen in itertools.combinations(range(steps), count):
            if all(b - a >= apart for a, b in zip(chosen, chosen[1:])):
                yield chosen


def log_sum(terms):
    most = max(terms)
    return most + math.log(math.fsum(math.exp(term - most) for term in terms))


def sampled_renyi(order, q, noise):
    """Mironov, Talwar and Zhang 2019 (arXiv 1908.10530), section 3.3; or by quadrature."""
    if q == 1:
        return order / (2 * noise * noise)
    if order == int(order):
        order = int(order)
        return log_sum([math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
                        + k * math.log(q) + (order - k) * math.log1p(-q)
                        + (k * k - k) / (2 * noise**2) for k in range(order + 1)]) / (order - 1)
    x = numpy.linspace(-16, 16 + (order + 1) / noise, 20001)
    logs = (-x * x / 2 - math.log(math.sqrt(2 * math.pi))
            + order * numpy.logaddexp(math.log1p(-q),
                                      math.log(q) + x / noise - 1 / (2 * noise * noise)))
    return float(numpy.logaddexp.reduce(logs) + math.log(x[1] - x[0])) / (order - 1)


ORDERS = [1 + k / 10 for k in range(1, 100)] + list(range(12, 64))


def renyi_epsilons(steps, delta, orders=ORDERS):
    """The ε of (noise, rate, count) steps by Rényi DP: by the conversion of Mironov 2017 (arXiv
    1702.07476, proposition 3), which early libraries had, and by that of Canonne, Kamath and
    Steinke 2020 (arXiv 2004.00010, proposition 12)."""
    curve = [math.fsum(count * sampled_renyi(order, q, noise) for noise, q, count in steps)
             for order in orders]
    early = min(r - math.log(delta) / (order - 1) for r, order in zip(curve, orders))
    today = min(r + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
                for r, order in zip(curve, orders))
    return early, today
