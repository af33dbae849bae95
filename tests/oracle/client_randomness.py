#!/usr/bin/env python3
"""Writes client_randomness.json: what docs/formats.md, section 3, says a key's words, noise, samples, clipped vectors
and runs with correlated noise are, computed from that text alone with its own AES, ChaCha20 and mpmath. Run: client_randomness.py > client_randomness.json
"""

import json
import math
import struct

from mpmath import cos, floor, log, log1p, mp, mpf, pi, sin, sqrt

mp.prec = 400
SIGMA = 2**24
SEED = 7


# --- AES-128, FIPS 197 -------------------------------------------------------------------------------------------
def xtime(a):
    return ((a << 1) ^ 0x1B) & 0xFF if a & 0x80 else a << 1


def gmul(a, b):
    result = 0
    while b:
        if b & 1:
            result ^= a
        a, b = xtime(a), b >> 1
    return result


def make_sbox():
    box = []
    for a in range(256):
        inverse = next((b for b in range(256) if gmul(a, b) == 1), 0)
        out = 0x63
        for shift in range(5):
            out ^= ((inverse << shift) | (inverse >> (8 - shift))) & 0xFF
        box.append(out)
    return box


SBOX = make_sbox()


def expand(key):
    words = [list(key[4 * i:4 * i + 4]) for i in range(4)]
    rcon = 1
    for i in range(4, 44):
        word = list(words[i - 1])
        if i % 4 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= rcon
            rcon = xtime(rcon)
        words.append([a ^ b for a, b in zip(words[i - 4], word)])
    return [sum(words[4 * r:4 * r + 4], []) for r in range(11)]


def aes(key, block):
    keys = expand(key)
    state = [a ^ b for a, b in zip(block, keys[0])]
    for r in range(1, 11):
        state = [SBOX[b] for b in state]
        state = [state[(i + 4 * (i % 4)) % 16] for i in range(16)]
        if r < 10:
            mixed = []
            for c in range(4):
                a = state[4 * c:4 * c + 4]
                mixed += [gmul(a[i], 2) ^ gmul(a[(i + 1) % 4], 3) ^ a[(i + 2) % 4] ^ a[(i + 3) % 4] for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, keys[r])]
    return bytes(state)


assert aes(bytes(range(16)), bytes(0x11 * i for i in range(16))).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


# --- ChaCha20, RFC 8439 section 2.3, with 64 bits each of block counter and stream ------------------------------
def chacha(key, stream, counter):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key),
             *struct.unpack("<4I", struct.pack("<QQ", counter, stream))]
    state = list(start)

    def quarter(a, b, c, d):
        for x, y, z, left in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
            state[x] = (state[x] + state[y]) % 2**32
            mixed = state[z] ^ state[x]
            state[z] = (mixed << left | mixed >> (32 - left)) % 2**32

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) % 2**32 for a, b in zip(start, state)))


assert chacha(bytes(range(32)), 0x4A000000, 0x0900000000000001).hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4")


# --- words -------------------------------------------------------------------------------------------------------
# Of a generator: bytes of a key, bytes of a block, and the block of a key stream.
GENERATORS = {
    "AES-128-CTR": (16, 16, lambda key, stream, counter: aes(key, struct.pack(">QQ", stream, counter))),
    "ChaCha20": (32, 64, chacha),
}
GENERATOR = None  # of what is being computed


def key_stream(key, stream, begin, size):
    _, block_bytes, block = GENERATORS[GENERATOR]
    first = begin // block_bytes
    blocks = b"".join(block(key, stream, c) for c in range(first, (begin + size - 1) // block_bytes + 1))
    return blocks[begin - first * block_bytes:][:size]


def words(key, level, part, pair):
    return struct.unpack("<QQ", key_stream(key, level << 48 | part, 16 * pair, 16))


def step_key(purpose, step):
    size = GENERATORS[GENERATOR][0]
    root = (b"non-priv" + struct.pack(">Q", SEED)).ljust(size, b"\0")
    return key_stream(root, purpose, size * step, size)


def uniform(bits):
    """A point inside the interval of bit strings that start with the 64-bit words `bits`."""
    value = mpf(0)
    for word in reversed(bits):
        value = (value + word) / mpf(2)**64
    return value + mpf(2)**(-64 * len(bits) - 1)


# --- noise -------------------------------------------------------------------------------------------------------
def pair(u1_words, u2_words, sigma=SIGMA):
    radius = sigma * sqrt(-2 * log(uniform(u1_words)))
    angle = 2 * pi * uniform(u2_words)
    return [int(floor(radius * f(angle) + mpf(1) / 2)) for f in (cos, sin)]


def noise_pair(key, part, p, sigma=SIGMA):
    levels = [words(key, level, part, p) for level in range(3)]
    return pair([w[0] for w in levels], [w[1] for w in levels], sigma)


def noise(step, part, count):
    key = step_key(1, step)
    return sum([noise_pair(key, part, p) for p in range((count + 1) // 2)], [])[:count]


def bits_of(x):
    """The first 192 bits of x in [0, 1) as three words."""
    scaled = int(floor(x * mpf(2)**192))
    return [scaled >> 128, scaled >> 64 & (2**64 - 1), scaled & (2**64 - 1)]


def forced_pairs():
    """Words at which 64 bits do not decide: cos value beside a half-integer, tiny U1, U1 near 1."""
    cases = []
    for k, sign in [(12345, 1), (12345, -1), (-7000001, 1), (-7000001, -1), (0, 1), (0, -1)]:
        # An angle away from the axes, and the radius that puts sigma r cos at k + 1/2 +- 2^-100.
        angle = mpf(1) / 10 if k >= 0 else mpf(4) / 10
        u2 = bits_of(angle)
        target = mpf(k) + mpf(1) / 2 + sign * mpf(2)**-100
        u1 = bits_of(mp.exp(-(target / (SIGMA * cos(2 * pi * uniform(u2))))**2 / 2))
        cases.append((u1, u2))
    cases.append(([0, 0, 5, 6, 7], [2**62 + 3, 1, 1, 1, 1]))
    cases.append(([1, 2, 3], [2**63, 0, 0]))
    cases.append(([2**64 - 1, 2**64 - 1, 17], [99, 98, 97]))
    cases.append(([2**64 - 5, 1, 1], [2**61, 0, 0]))
    return [{"u1": [str(w) for w in u1], "u2": [str(w) for w in u2], "pair": pair(u1, u2)} for u1, u2 in cases]


# --- samples -----------------------------------------------------------------------------------------------------
def sample(step, population, q):
    key = step_key(2, step)
    rate = -log1p(-mpf(q))
    result = []
    for b in range((population + 2**20 - 1) // 2**20):
        size = min(2**20, population - b * 2**20)
        position = drawn = 0
        while True:
            u = uniform([words(key, level, b, drawn // 2)[drawn % 2] for level in range(2)])
            position += int(floor(-log(u) / rate))
            if position >= size:
                break
            result.append(b * 2**20 + position)
            position, drawn = position + 1, drawn + 1
            if position >= size:
                break
    return result


def below(key, bound, i):
    levels = [words(key, level, 0, i // 2)[i % 2] for level in range(3)]
    return bound * (levels[0] << 128 | levels[1] << 64 | levels[2]) >> 192


def fixed_size(step, population, size):
    key = step_key(3, step)
    drawn = set()
    for i in range(size):
        j = population - size + i
        record = below(key, j + 1, i)
        drawn.add(j if record in drawn else record)
    return sorted(drawn)


def allocation(epoch, population, rounds):
    key = step_key(4, epoch)
    to = [below(key, rounds, i) for i in range(population)]
    return [[i for i in range(population) if to[i] == r] for r in range(rounds)]


def shuffled(epoch, population, batches):
    key = step_key(5, epoch)
    order = list(range(population))
    for i in range(population):
        j = i + below(key, population - i, i)
        order[i], order[j] = order[j], order[i]
    return [sorted(order[b * population // batches:(b + 1) * population // batches]) for b in range(batches)]


# --- clipping ----------------------------------------------------------------------------------------------------
def up(x):
    return math.nextafter(x, math.inf)


def squared_norm(gradient):
    lanes = [0.0] * 64
    for i, x in enumerate(gradient):
        lanes[i % 64] += x * x
    width = 32
    while width:
        for i in range(width):
            lanes[i] += lanes[i + width]
        width //= 2
    return lanes[0]


def joint_clip(gradient, parts, rule, value, bound):
    """`parts` are (size, alpha); `rule` is clip or normalise, `value` its C or gamma."""
    size = len(gradient)
    target = bound - math.sqrt(size) / 2
    squares, begin, per_part = 0.0, 0, []
    for part_size, alpha in parts:
        x = gradient[begin:begin + part_size]
        per_part.append(squared_norm(x))
        squares += alpha * alpha * (per_part[-1] * (1 + (part_size // 64 + 7 + len(parts)) * 2.0**-52))
        begin += part_size
    norm = up(math.sqrt(squares))
    scale = math.nextafter(target / (max(value, norm) if rule == "clip" else norm + value), 0.0)
    alphas = [alpha for part_size, alpha in parts for _ in range(part_size)]
    clipped = [round(scale * alpha * x) for alpha, x in zip(alphas, gradient)]
    assert sum(q * q for q in clipped) <= bound * bound
    unit = (value if rule == "clip" else 1.0) / target
    return {"squared_norms": per_part, "norm": norm, "grids": [unit / alpha for _, alpha in parts], "clipped": clipped}


def clip_case(parts, rule, value, bound):
    size = sum(part_size for part_size, _ in parts)
    gradient = [struct.unpack("<f", struct.pack("<f", math.ldexp((i * 2654435761 % 2**32) - 2**31, -31 - i % 9)))[0]
                for i in range(size)]
    return {"parts": [{"size": n, "scale": alpha} for n, alpha in parts], rule: value, "bound": bound,
            **joint_clip(gradient, parts, rule, value, bound)}


# --- correlated noise --------------------------------------------------------------------------------------------
def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def correlated_noise(step, message, count, sigma):
    key = step_key(1, step - 1)
    return sum([noise_pair(key, message, p, sigma) for p in range((count + 1) // 2)], [])[:count]


def add(*vectors):
    return [sum(column) for column in zip(*vectors)]


def tree_run(sums):
    size, left, estimates = len(sums[0]), {}, []
    for t in range(1, len(sums) + 1):
        level = 0
        while t % 2**level == 0:
            total = add(*sums[t - 2**level:t])
            message = [float(y) for y in add(total, correlated_noise(t, level, size, SIGMA))]
            if level == 0:
                estimate = message
            else:
                w = 2.0**level / (2.0**(level + 1) - 1)
                estimate = [w * y + (1 - w) * (l + e) for y, l, e in zip(message, left[level - 1], estimate)]
            level += 1
        result = estimate
        for below_level in range(level - 1):
            result = [r - l for r, l in zip(result, left[below_level])]
        left[level - 1] = estimate
        estimates.append([f32(r) for r in result])
    return estimates


def banded_run(sums, coefficients):
    a = [round(1024 * c) for c in coefficients]
    estimates = []
    for t in range(len(sums)):
        x = correlated_noise(t + 1, 0, len(sums[0]), 1024 * SIGMA)
        for j in range(min(len(a), t + 1)):
            x = [v + a[j] * s for v, s in zip(x, sums[t - j])]
        x = [float(v) for v in x]
        for j in range(len(a) - 1, 0, -1):
            if j <= t:
                x = [v - a[j] * g for v, g in zip(x, estimates[t - j])]
        estimates.append([f32(v / a[0]) for v in x])
    return estimates


def buffered_run(sums, weights, decays):
    size, buffers, estimates = len(sums[0]), [], []
    for weight, decay in zip(weights, decays):
        q = round(65536 * decay)
        least = next(l for l in range(17) if 2.0**-l <= 1 - q / 65536)
        buffers.append((math.floor(65536 * weight), q, 26 - least, [0] * size, [0.0] * size))
    for t, s in enumerate(sums):
        noise_values, estimate = correlated_noise(t + 1, 0, size, 1024 * SIGMA), []
        for i in range(size):
            past = sum(w * b[i] // 2**(f + 3) for w, _, f, b, _ in buffers)
            x = 2.0**-10 * float(1024 * s[i] + past // 8 + noise_values[i])
            for w, q, f, b, g in buffers:
                b[i] = q * b[i] // 65536 + 2**f * s[i]
                x = x - w / 65536 * g[i]
            for w, q, f, b, g in buffers:
                g[i] = q / 65536 * g[i] + x
            estimate.append(f32(x))
        estimates.append(estimate)
    return estimates


def correlated(steps, **encoder):
    """Clip norm 0.5 and multiplier 2, so K = 2^23 and sigma_Z = 2^24; one gradient a step."""
    size = 5
    gradients = [[f32(math.ldexp(((t * size + i + 1) * 2654435761 % 2**32) - 2**31, -31 - (t + i) % 4))
                  for i in range(size)] for t in range(steps)]
    clips = [joint_clip(gradient, [(size, 1.0)], "clip", 0.5, 2**23) for gradient in gradients]
    sums = [clip["clipped"] for clip in clips]
    if "coefficients" in encoder:
        estimates = banded_run(sums, encoder["coefficients"])
    elif "weights" in encoder:
        estimates = buffered_run(sums, encoder["weights"], encoder["decays"])
    else:
        estimates = tree_run(sums)
    grid = clips[0]["grids"][0]
    return {**encoder, "gradients": gradients, "estimates": [[f32(grid * g) for g in row] for row in estimates]}


def values():
    return {
        "seed": SEED,
        "sigma": SIGMA,
        "words": [str(w) for c in range(3) for w in words(step_key(1, 4), 2, 5, c)],
        "noise": [{"step": s, "part": p, "values": noise(s, p, n)} for s, p, n in [(0, 0, 41), (1, 3, 10)]],
        "pairs": forced_pairs(),
        "samples": [{"step": s, "population": n, "q": q, "indices": sample(s, n, q)}
                    for s, n, q in [(0, 200, 0.3), (1, 3000000, 2.0**-16), (2, 50, 0.999)]],
        "fixed_sizes": [{"step": s, "population": n, "size": m, "indices": fixed_size(s, n, m)}
                        for s, n, m in [(0, 100, 10), (1, 2**40, 600), (2, 30, 30)]],
        "allocations": [{"population": n, "rounds": t, "epochs": [allocation(e, n, t) for e in range(2)]}
                        for n, t in [(600, 7), (5, 5)]],
        "shuffles": [{"population": n, "rounds": b, "epochs": [shuffled(e, n, b) for e in range(2)]}
                     for n, b in [(600, 7), (5, 5), (20, 1)]],
        "clips": [clip_case([(70, 1.0)], "clip", 1.0, 2**24), clip_case([(200, 1.0)], "clip", 1e6, 15252014),
                  clip_case([(66, 0.3), (1, 1e3), (130, 1.7)], "clip", 0.7, 2**24),
                  clip_case([(66, 0.3), (1, 1e-3), (130, 7.7)], "normalise", 0.01, 15252014)],
        "correlated": [correlated(13), correlated(9, coefficients=[1, 0.7, 0.3, 0.3, 0.11]),
                       correlated(9, weights=[0.31, 0.4, 0.2], decays=[0, 0.97, 0.9998])],
    }


def main():
    global GENERATOR
    generators = []
    for GENERATOR in GENERATORS:
        lines = ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in values().items())
        generators.append(f'"{GENERATOR}": {{\n{lines}\n}}')
    print("{" + ",\n".join(generators) + "}")


main()
