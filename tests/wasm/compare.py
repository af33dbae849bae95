#!/usr/bin/env python3
"""Asks the accountant random questions, natively and as WebAssembly, and compares the answers:

    compare.py LIBRARY WASM COUNT [SEED]      LIBRARY: libdpledger_accounting.so

Two answers agree if all their text and whole numbers are the same, and their numbers are the same bits or, of an
interval, each says nothing that the other excludes: the two overlap, and are of like width. (FFTW and the accountant's
own transform, glibc and musl, differ in last digits.) Errors must be the same. At the end one number of each kind is
bent, and must be noticed. Exits with 1 if anything differs."""
import copy
import ctypes
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import time

INSTANCE = pathlib.Path(__file__).resolve().parents[2] / "wasm/npm/instance.js"
NUMBER = re.compile(r"\d+\.\d+(e[-+]?\d+)?")
DELTAS = (1e-5, 1e-6, 1e-8, 1e-10)


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def rounds(rng):
    n = rng.choice((1000, 26015, 60000))
    per_epoch = rng.choice((1, 4, 10, 40))
    scheme = rng.choice((
        lambda: {"poisson": {"probability": log_uniform(rng, 1e-4, 1)}},
        lambda: {"poisson": {"probability": log_uniform(rng, 1e-4, 1)}},
        lambda: {"fullBatch": {}},
        lambda: {"populationSize": str(n), "withoutReplacement": {"sampleSize": str(rng.randrange(1, n // 4))}},
        lambda: {"disjointBatches": {"batchesPerEpoch": str(per_epoch)}},
        lambda: {"randomAllocation": {"roundsPerEpoch": str(per_epoch)}},
    ))()
    whole = per_epoch * round(log_uniform(rng, 1, 2000))
    return {"rounds": {"count": str(whole), "scheme": scheme,
                       "queries": [{"l2NormBound": 1, "noiseStddev": log_uniform(rng, .5, 20)}]}}


def mechanism(rng):
    one = rng.choice((
        lambda: {"gaussian": {"noiseMultiplier": log_uniform(rng, .5, 20)}},
        lambda: {"laplace": {"noiseMultiplier": log_uniform(rng, .5, 20)}},
        lambda: {"discreteLaplace": {"noiseParameter": log_uniform(rng, .05, 2), "sensitivity": "1"}},
        lambda: {"randomizedResponse": {"noiseParameter": rng.uniform(.1, .9), "numBuckets": str(rng.randrange(2, 20))}},
        lambda: {"epsilonDelta": {"epsilon": log_uniform(rng, .01, 2), "delta": 1e-7}},
        lambda: {"zcdp": {"rho": log_uniform(rng, 1e-4, .5)}},
        lambda: {"exponentialMechanism": {"epsilon": log_uniform(rng, .01, 2)}},
        lambda: {"permuteAndFlip": {"epsilon": log_uniform(rng, .01, 2)}},
        lambda: {"poissonSampled": {"samplingProbability": log_uniform(rng, .001, 1),
                                    "event": {"laplace": {"noiseMultiplier": log_uniform(rng, .5, 5)}}}},
    ))()
    if rng.random() < .5:
        one = {"selfComposed": {"count": str(round(log_uniform(rng, 1, 500))), "event": one}}
    return {"mechanism": one}


def question(rng):
    events = [rounds(rng) if rng.random() < .7 else mechanism(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    adjacencies = ["REPLACE_ONE", "ZERO_OUT"]
    if "disjointBatches" not in json.dumps(events):  # which has no analysis under this one
        adjacencies += 2 * ["ADD_OR_REMOVE_ONE"]
    options = {"adjacency": rng.choice(adjacencies),
               "parameters": "FIXED", "relativeGap": rng.choice((0, 0, 1e-3, 1e-5))}
    if rng.random() < .3:
        options["method"] = rng.choice(("RDP", "PLD", "CONTOUR"))
    subject = {"events": events}
    kind = rng.random()
    if kind < .7:
        return ["ComputeEpsilon", {"subject": subject, "options": options, "delta": rng.choice(DELTAS)}]
    if kind < .9:
        return ["ComputeDelta", {"subject": subject, "options": options, "epsilon": log_uniform(rng, .1, 10)}]
    if kind < .95:
        return ["Calibrate", {"epsilon": log_uniform(rng, .3, 8), "delta": rng.choice(DELTAS), "solve": "NOISE_MULTIPLIER",
                              "samplingProbability": log_uniform(rng, 1e-3, .5), "steps": str(round(log_uniform(rng, 1, 1e4)))}]
    return ["ComputeEpsilon", {"subject": subject, "options": options, "delta": rng.choice((-1, 2, "x"))}]


class Native:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, method, asked):
        text = json.dumps(asked).encode()
        answer, size = ctypes.c_void_p(), ctypes.c_size_t()
        code = self.library.dpledger_accounting_call(1, method.encode(), text, ctypes.c_size_t(len(text)),
                                                     ctypes.byref(answer), ctypes.byref(size))
        found = json.loads(ctypes.string_at(answer, size.value) or b"{}")
        self.library.dpledger_accounting_free(answer)
        return {"error": [code, found["message"]]} if code else {"answer": found}


def is_interval(value):
    return isinstance(value, dict) and value and set(value) <= {"lower", "upper"}


def differences(native, wasm, path=""):
    """What the two say that cannot both be so, as text; and (path, relative distance) of upper ends that differ."""
    if native == wasm:
        return [], []
    if is_interval(native) and is_interval(wasm):
        (a, b), (c, d) = ([float(one.get(end, 0)) for end in ("lower", "upper")] for one in (native, wasm))
        distance = abs(b - d) / max(abs(b), abs(d))
        # Of like width, or a wide one would agree with everything: a search may end a step earlier, which halves it,
        # and of the smallest deltas the transforms' rounding is a part of it.
        like = max(b - a, d - c) <= 2.5 * min(b - a, d - c) + 1e-7 * max(b, d)
        return ([] if a <= d and c <= b and like else [f"{path}: {native} {wasm}"]), [(path, distance)]
    if isinstance(native, dict) and isinstance(wasm, dict) and set(native) == set(wasm):
        parts = [differences(native[key], wasm[key], f"{path}.{key}") for key in native]
    elif isinstance(native, list) and isinstance(wasm, list) and len(native) == len(wasm):
        parts = [differences(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(native, wasm))]
    elif isinstance(native, float) and isinstance(wasm, float) and abs(native - wasm) <= 1e-6 * abs(native):
        return [], [(path, abs(native - wasm) / abs(native))]  # a solution, at its own place in the optimum's interval
    elif ".warnings[" in path and NUMBER.sub("#", str(native)) == NUMBER.sub("#", str(wasm)):
        return [], []  # it says how wide the interval is
    else:
        return [f"{path}: {native} {wasm}"], []
    return [one for found, _ in parts for one in found], [one for _, found in parts for one in found]


def bent(answer):
    """The answer with its first interval moved by a hundredth of itself; None if it has none."""
    answer = copy.deepcopy(answer)
    for interval in (answer.get("answer", {}).get(name) for name in ("epsilon", "delta", "optimum")):
        if is_interval(interval) and 0 < float(interval.get("lower", 0)) and math.isfinite(float(interval["upper"])):
            wide = float(interval["upper"]) - float(interval["lower"])
            interval["lower"], interval["upper"] = (float(interval[end]) * 1.01 + wide for end in ("lower", "upper"))
            return answer
    return None


def main(library, wasm, count, seed="1"):
    rng = random.Random(int(seed))
    questions = [question(rng) for _ in range(int(count))]
    native = Native(library)
    start = time.monotonic()
    natives = [native(*one) for one in questions]
    native_seconds = time.monotonic() - start
    text = "".join(json.dumps(one) + "\n" for one in questions)
    lines = subprocess.run(["node", pathlib.Path(__file__).with_name("answers.mjs"), INSTANCE, wasm], input=text,
                           check=True, capture_output=True, text=True).stdout.splitlines()
    *wasms, last = map(json.loads, lines)
    assert len(wasms) == len(natives)
    same, near, wrong, errors, noticed, bends = 0, [], 0, 0, 0, 0
    for asked, a, b in zip(questions, natives, wasms):
        found, distances = differences(a, b)
        errors += "error" in a
        same += a == b
        if found:
            wrong += 1
            print("DIFFERS", json.dumps(asked), *found, sep="\n  ")
        elif distances:
            near.append(max(distance for _, distance in distances))
        false = bent(b)
        if false:
            bends += 1
            noticed += bool(differences(a, false)[0])
    near.sort()
    print(f"{len(questions)} questions: {same} the same bits ({errors} of them errors), {len(near)} inside each other's "
          f"intervals" + (f" (upper ends apart by {near[len(near) // 2]:.1g}, at most {near[-1]:.1g})" if near else "")
          + f", {wrong} differ")
    print(f"native {native_seconds:.2f} s, WebAssembly {last['ms'] / 1000:.2f} s")
    print(f"of {bends} answers moved by a hundredth, {noticed} were noticed")
    return 0 if not wrong and bends and noticed == bends else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
