#!/usr/bin/env python3
"""Writes tests/data/merkle_oracle.json: keys, signed notes, cosignatures and proofs as the C2SP documents signed-note,
tlog-cosignature, tlog-checkpoint and tlog-proof describe them, made with python3-cryptography and hashlib alone.
Run: python3 tests/oracle/merkle_oracle.py
"""

import base64
import hashlib
import json
import pathlib
import random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

OUTPUT = pathlib.Path(__file__).parent.parent / "data" / "merkle_oracle.json"
random.seed(20240229)


def sha256(data):
    return hashlib.sha256(data).digest()


def b64(data):
    return base64.b64encode(data).decode()


class Signer:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.seed = random.randbytes(32)
        self.key = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.public = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.id = sha256(name.encode() + b"\n" + bytes([kind]) + self.public)[:4]

    def vkey(self):
        return f"{self.name}+{self.id.hex()}+{b64(bytes([self.kind]) + self.public)}"

    def pem(self):
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def line(self, text, time):
        if self.kind == 1:
            signature = self.key.sign(text.encode())
        else:
            signature = time.to_bytes(8, "big") + self.key.sign(f"cosignature/v1\ntime {time}\n{text}".encode())
        return f"\u2014 {self.name} {b64(self.id + signature)}\n"


def levels_of(leaves):
    """All levels of a tree, the leaves first; a node without a sibling goes up as it is. That is the tree of RFC 6962,
    section 2.1, from below."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([sha256(b"\1" + below[i] + below[i + 1]) if i + 1 < len(below) else below[i]
                       for i in range(0, len(below), 2)])
    return levels


def inclusion(levels, index):
    hashes = []
    for level in levels[:-1]:
        if index ^ 1 < len(level):
            hashes.append(level[index ^ 1])
        index //= 2
    return hashes


def notes():
    names = ["example.com/log", "w", "\u00fcber.example/\u6728\U0001f512", "a=b&c,d;e", "x" * 200]
    for i, name in enumerate(names):
        log, witness = Signer(name, 1), Signer("witness/" + name, 4)
        text = "".join(random.choice(["line\n", "\n", "t\u00e9xt \u2014 more\n", "\u2014 name AAAAAAA=\n"])
                       for _ in range(i)) + "last line\n"
        time = random.choice([0, 1679315147, 2**63 - 1])
        yield {"seeds": [log.seed.hex(), witness.seed.hex()], "pems": [log.pem(), witness.pem()],
               "names": [log.name, witness.name], "vkeys": [log.vkey(), witness.vkey()], "time": str(time),
               "text": text, "note": text + "\n" + log.line(text, time) + witness.line(text, time)}


def proofs():
    log, witness = Signer("example.com/ledgers/1", 1), Signer("witness.example/w1", 4)
    for size in [1, 2, 3, 7, 8, 100, 255, 256, 257, 1000, 4097]:
        entries = [f"entry {i}".encode() for i in range(size)]
        levels = levels_of([sha256(b"\0" + entry) for entry in entries])
        index = random.randrange(size)
        checkpoint = f"{log.name}\n{size}\n{b64(levels[-1][0])}\n"
        extra = random.randbytes(random.choice([0, 1, 2, 3, 100]))
        text = "c2sp.org/tlog-proof@v1\n"
        if extra:
            text += f"extra {b64(extra)}\n"
        text += f"index {index}\n" + "".join(b64(h) + "\n" for h in inclusion(levels, index)) + "\n"
        text += checkpoint + "\n" + log.line(checkpoint, 0) + witness.line(checkpoint, 1679315147 + size)
        yield {"size": size, "index": index, "extra": extra.hex(), "log_key": log.vkey(),
               "witness_key": witness.vkey(), "proof": text}


OUTPUT.write_text(json.dumps({"description": "Written by tests/oracle/merkle_oracle.py (python3-cryptography).",
                              "notes": list(notes()), "proofs": list(proofs())}, indent=1) + "\n")
