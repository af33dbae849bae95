#!/usr/bin/env python3
"""A second verifier of bundles, written from docs/formats.md alone.

  verify_bundle.py FILE [--key VERIFIER_KEY]... [--older CHECKPOINT_FILE]...
  verify_bundle.py --batch LIST.json

Prints {"class": "", ...} for a bundle that holds, {"class": <class>, "what": ...} for one that does not; exit code 0,
3, or 1 for a file that is no bundle. LIST.json is [{"bundle": FILE, "keys": [...], "older": [FILE...]}, ...]; then one
line is printed for each, and the exit code is 0.

Needs nothing but Python's standard library and, for Ed25519 alone, Debian's python3-cryptography. ε is not computed
here.
"""
import argparse
import base64
import binascii
import hashlib
import json
import re
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MIB = 1 << 20
MAX_ENTRY = 65535
MAX_DEPTH = 8
MAX_WRITERS = 1 << 20
LOG_KEY, WITNESS_KEY = 1, 4
# LedgerEntry's bodies, and who writes them.
EVENT, DECLARATION, RESUME, NOTE, WRITER_CLOSED, SEAL, CORRECTION, FORK, FORK_NOTICE, KEY_ROTATE, IMPORT, IMPORTED, \
    REGISTERED, OPENED, CONFLICT, LATE_EVENT, SPOOL_IMPORTED, MAP_ROOT, GRANT, GRANTED, RETIRED = range(10, 31)
OF_THE_SERVER = {DECLARATION, FORK, IMPORT, FORK_NOTICE, SEAL, GRANT, GRANTED}
LATE = {CONFLICT, LATE_EVENT, SPOOL_IMPORTED}  # these may follow a writer's end and SEAL
OPEN, SEALED = 1, 2
BUDGET = 1  # a kind of ledger


class Difference(Exception):
    def __init__(self, difference_class, what):
        super().__init__(what)
        self.difference_class = difference_class


def demand(holds, difference_class, what):
    if not holds:
        raise Difference(difference_class, what)


# ---- RFC 6962 ----

def leaf_hash(entry):
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


class Tree:
    """The roots of perfect subtrees, and every subtree of 256^k leaves that was completed."""

    def __init__(self):
        self.size = 0
        self.frontier = []        # (height, hash), largest first
        self.tiles = {}           # (level, index) -> hashes not yet compared

    def append(self, leaf):
        self.add(0, leaf)
        height = 0
        while self.frontier and self.frontier[-1][0] == height:
            leaf = node_hash(self.frontier.pop()[1], leaf)
            height += 1
            if height % 8 == 0:
                self.add(height // 8, leaf)
        self.frontier.append((height, leaf))
        self.size += 1

    def add(self, level, node):
        index = (self.size >> (8 * level)) // 256
        self.tiles[level, index] = self.tiles.get((level, index), b"") + node

    def root(self):
        if not self.frontier:
            return hashlib.sha256(b"").digest()
        node = self.frontier[-1][1]
        for _, left in reversed(self.frontier[:-1]):
            node = node_hash(left, node)
        return node


def root_from_proof(leaf, index, size, proof):
    """RFC 9162, section 2.1.3.2; None if the proof's length does not fit."""
    if index >= size:
        return None
    first, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return None
        if first & 1 or first == last:
            node = node_hash(sibling, node)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        first, last = first >> 1, last >> 1
    return node if last == 0 else None


# ---- C2SP texts ----

def unbase64(text):
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return value if base64.b64encode(value).decode() == text else None


def decimal(text):
    good = re.fullmatch(r"0|[1-9][0-9]*", text, re.ASCII)
    return int(text) if good and int(text) < 1 << 64 else None


def is_name(text):
    return bool(text) and not re.search(r"[\s+\x00-\x1f]", text)


class Key:
    def __init__(self, line):
        self.text = line
        parts = line.split("+", 2)
        if len(parts) != 3 or not is_name(parts[0]):
            raise ValueError("a verifier key is name+id+base64")
        data = unbase64(parts[2])
        if data is None or len(data) != 33 or data[0] not in (LOG_KEY, WITNESS_KEY):
            raise ValueError("a verifier key has a type and 32 bytes")
        self.name, self.type, self.key = parts[0], data[0], data[1:]
        self.id = hashlib.sha256(self.name.encode() + b"\n" + data).digest()[:4]
        if self.id.hex() != parts[1]:
            raise ValueError("the key id is another key's")

    def verifies(self, text, signature):
        message = text.encode()
        if self.type == WITNESS_KEY:
            if len(signature) != 72 or signature[0] >= 0x80:
                return False
            seconds = int.from_bytes(signature[:8], "big")
            message = b"cosignature/v1\ntime %d\n" % seconds + message
            signature = signature[8:]
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class Note:
    """A signed note that is a checkpoint."""

    def __init__(self, data):
        if len(data) > MIB:
            raise ValueError("larger than 1 MiB")
        text = data.decode()  # UnicodeDecodeError is a ValueError
        if re.search(r"[\x00-\x09\x0b-\x1f]", text):
            raise ValueError("control characters")
        end = text.rfind("\n\n")
        if end < 0 or not text.endswith("\n"):
            raise ValueError("a note has a text, an empty line and signatures")
        self.text, lines = text[:end + 1], text[end + 2:].split("\n")[:-1]
        if not 1 <= len(lines) <= 64:
            raise ValueError("a note has 1 to 64 signatures")
        self.signatures = []
        for line in lines:
            parts = line.split(" ")
            data = unbase64(parts[2]) if len(parts) == 3 else None
            if parts[0] != "\u2014" or data is None or len(data) <= 4 or not is_name(parts[1]):
                raise ValueError("a signature line is dash, name, base64")
            self.signatures.append((parts[1], data[:4], data[4:]))
        lines = self.text.split("\n")[:-1]
        size = decimal(lines[1]) if len(lines) >= 3 else None
        root = unbase64(lines[2]) if len(lines) >= 3 else None
        if size is None or size > 1 << 63 or root is None or len(root) != 32 or not all(lines):
            raise ValueError("a checkpoint has origin, size and root")
        self.origin, self.size, self.root = lines[0], size, root

    def signers(self, keys):
        """The keys that signed; None if one of them did so wrongly."""
        signers = []
        for key in keys:
            own = [s for name, key_id, s in self.signatures if name == key.name and key_id == key.id]
            if not all(key.verifies(self.text, s) for s in own):
                return None
            if own:
                signers.append(key)
        return signers


class TlogProof:
    def __init__(self, data):
        head, separator, self.checkpoint = data.partition(b"\n\n")
        lines = head.decode().split("\n")
        if not separator or len(data) > 2 * MIB or lines.pop(0) != "c2sp.org/tlog-proof@v1":
            raise ValueError("not a tlog-proof")
        if lines and lines[0].startswith("extra "):
            if not unbase64(lines.pop(0)[6:]):
                raise ValueError("extra is not base64")
        index = decimal(lines[0][6:]) if lines and lines[0].startswith("index ") else None
        self.hashes = [unbase64(line) for line in lines[1:]]
        if index is None or len(self.hashes) > 63 or not all(h is not None and len(h) == 32 for h in self.hashes):
            raise ValueError("not a tlog-proof")
        self.index = index
        Note(self.checkpoint)


# ---- protobuf ----

def varint(data, at):
    value = 0
    for i in range(10):
        if at + i >= len(data):
            raise ValueError("cut off")
        byte = data[at + i]
        value |= (byte & 0x7f) << (7 * i)
        if byte < 0x80:
            if value >= 1 << 64:
                raise ValueError("more than 64 bits")
            return value, at + i + 1, byte == 0 and i > 0
    raise ValueError("a varint of more than 10 bytes")


def fields(data):
    """[(number, wire type, int or bytes, whether in the fewest bytes)] of any well-formed message."""
    found, at = [], 0
    while at < len(data):
        tag, at, long_tag = varint(data, at)
        number, kind, long_value = tag >> 3, tag & 7, False
        if not 1 <= number < 1 << 29:
            raise ValueError("field number")
        if kind == 0:
            value, at, long_value = varint(data, at)
        elif kind in (1, 2, 5):
            size = 8 if kind == 1 else 4
            if kind == 2:
                size, at, long_value = varint(data, at)
            if size > len(data) - at:
                raise ValueError("cut off")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("wire type")
        found.append((number, kind, value, not (long_tag or long_value)))
    return found


# Schemas for strict(): number -> type. A message within is a schema, or "message": taken as it is.
FILTER = {1: {1: "double", 2: "double"}, 2: {1: "double"}, 3: {1: "double"}}
DECLARED = {1: "string", 2: "string", 3: "enum", 4: "enum", 5: "uint", 6: FILTER, 7: "string", 8: "enum", 9: "string",
            10: "bool", 11: "string", 12: "enum", 13: "string", 14: "messages"}
ENTRY = {1: "uint", 2: "string", 3: "uint", 4: "string", 5: "message", 6: "message", 7: "string",
         **{number: "message" for number in (*range(EVENT, SPOOL_IMPORTED + 1), GRANT, GRANTED, RETIRED)}}
ONLY_NUMBER = {1: "uint"}
# What stands in the registry.
REGISTRY_ENTRY = {1: "uint", 6: "message", KEY_ROTATE: {2: "string"},
                  REGISTERED: {1: "string", 2: "uint", 3: "bytes", 4: "enum"}, MAP_ROOT: {1: "uint", 2: "bytes"}}
ROUND = {1: "uint", 2: "message"}
GRANTS = {1: "string", 2: "string", 3: "messages", 4: "string", 5: "messages"}
ONE_OF_FOUR = {1: "message", 2: "message", 3: "message", 4: "message"}
BODIES = {
    DECLARATION: DECLARED, RESUME: {1: "string"}, NOTE: {1: "string"}, WRITER_CLOSED: ONLY_NUMBER,
    SEAL: {1: "strings", 2: "uint", 3: "bytes"}, CORRECTION: {1: "uint", 2: "string"},
    FORK: {1: "string", 2: "uint", 3: "bytes", 4: DECLARED, 5: "string"}, FORK_NOTICE: {1: "string", 2: "uint"},
    IMPORT: {1: "string", 2: "uint", 3: "bytes", 4: "string", 5: DECLARED}, IMPORTED: {1: "bytes"},
    OPENED: {1: "string", 2: "string", 3: "bool", 4: "string"}, CONFLICT: {1: "string", 2: "string"},
    LATE_EVENT: {1: "string", 2: "message"}, SPOOL_IMPORTED: {1: "string", 2: "uint"}, GRANT: GRANTS, GRANTED: GRANTS,
    RETIRED: {1: "messages", 2: "string"},
}


def is_default(kind, value):
    """What a field that is written may not be; ValueError if it cannot be of that type at all."""
    if kind == "bool" and value > 1:
        raise ValueError("bool")
    if kind == "enum" and (1 << 31) <= value < (1 << 64) - (1 << 31):
        raise ValueError("enum")
    if kind in ("string", "strings"):
        value.decode()
    return kind not in ("message", "messages", "strings") and not isinstance(kind, dict) and not any(
        value if isinstance(value, bytes) and kind == "double" else [value])


def strict(data, schema):
    """{number: value}: known fields, in order, each once, without defaults, in the fewest bytes."""
    result, last = {}, 0
    for number, wire, value, fewest in fields(data):
        kind = schema.get(number)
        wanted = {"uint": 0, "enum": 0, "bool": 0, "double": 1}.get(kind, 2) if isinstance(kind, str) else 2
        again = kind in ("strings", "messages") and number == last
        if kind is None or wire != wanted or not fewest or (number <= last and not again):
            raise ValueError("field %d is not in the one spelling" % number)
        if is_default(kind, value):
            raise ValueError("field %d is a default" % number)
        if isinstance(kind, dict):
            strict(value, kind)
        if kind in ("strings", "messages"):
            result.setdefault(number, []).append(value)
        else:
            result[number] = value
        last = number
    if schema is FILTER and len(result) > 1:
        raise ValueError("two filters")
    return result


def minute(data):
    seconds = strict(data, ONLY_NUMBER).get(1, 0)
    if seconds >= 1 << 63:
        seconds -= 1 << 64
    if seconds % 60:
        raise ValueError("not a whole minute")
    return seconds


# ---- rules of the entries ----

class Writer:
    def __init__(self):
        self.entries, self.late, self.closed, self.last_round, self.incarnation = 0, 0, False, None, b""
        self.owner = b""


class Rules:
    def __init__(self, depth=0):
        self.depth = depth
        self.size, self.sealed, self.recorded, self.writers = 0, False, None, {}
        self.original = None
        self.request = None  # (writer, request_id) that the next entry may be of too

    def add(self, data):
        try:
            self.check(data)
        except ValueError as error:
            raise Difference("entry", "entry %d: %s" % (self.size, error)) from error
        self.size += 1

    def must(self, holds, what):
        if not holds:
            raise ValueError(what)

    def check(self, data):
        entry = strict(data, ENTRY)
        for number in (2, 4):
            self.must(re.fullmatch(rb"[A-Za-z0-9._-]{0,64}", entry.get(number, b"")), "a name")
        if 5 in entry:
            minute(entry[5])
        self.must(6 in entry, "recorded_time")
        recorded = minute(entry[6])
        bodies = [number for number in entry if number >= EVENT]
        self.must(len(bodies) == 1, "one body")
        body, content = bodies[0], entry[bodies[0]]
        name = entry.get(2, b"")
        self.must(name in self.writers or len(self.writers) < MAX_WRITERS, "too many writers")
        writer = self.writers.setdefault(name, Writer())
        late = body in LATE
        self.must(not self.sealed or late, "after SEAL")
        self.must(entry.get(1, 0) == self.size, "sequence")
        self.must(entry.get(3, 0) == writer.entries, "writer_counter")
        self.must(not writer.closed or late, "after writer_closed")
        self.must(self.recorded is None or recorded >= self.recorded, "recorded_time goes back")
        self.recorded = recorded
        self.caller(entry.get(7, b""), name, entry.get(4, b""), body, writer)
        self.must((name == b"") == (body in OF_THE_SERVER), "whose entry")
        if self.size == 0:
            self.first(body, content)
        else:
            self.follow(body, content, writer)
        writer.entries += 1

    def caller(self, caller, name, request_id, body, writer):
        alone = name == b"" or body == CONFLICT
        begins = alone or self.request != (name, request_id)
        self.request = None if alone else (name, request_id)
        if not caller:
            return
        self.must(begins, "caller in a request")
        self.must(re.fullmatch(rb'[!#-)+-\[\]-~]{1,512}', caller), "caller's name")
        if name:
            self.must(writer.owner in (b"", caller), "another caller's writer")
            writer.owner = caller

    def first(self, body, content):
        self.must(body in (DECLARATION, FORK, IMPORT), "begins with something else")
        message = strict(content, BODIES[body])
        if body == DECLARATION:
            self.declaration = content
            return
        declared = 4 if body == FORK else 5
        self.must(all(number in message for number in (1, 2, declared)) and len(message.get(3, b"")) == 32,
                  "fork or import")
        self.declaration = message[declared]
        if body == IMPORT:
            self.must(self.depth < MAX_DEPTH, "copies of copies")
            self.original, self.original_tree = Rules(self.depth + 1), Tree()
            origin, self.copied, self.copied_root = message[1], message[2], message[3]
            try:
                note = Note(message.get(4, b""))
                fits = (note.origin.encode(), note.size, note.root) == (origin, self.copied, self.copied_root)
            except ValueError:
                fits = False
            demand(fits, "import", "the import's checkpoint")

    def blocks(self, ranges):
        self.must(len(ranges) <= 64, "ranges of blocks")
        least = 1
        for data in ranges:
            blocks = strict(data, {1: "uint", 2: "uint"})
            self.must(least <= blocks.get(1, 0) <= blocks.get(2, 0) <= 10000, "blocks")
            least = blocks[2] + 2

    def follow(self, body, content, writer):
        anywhere = body in (WRITER_CLOSED, FORK_NOTICE, SEAL)
        self.must(anywhere or (body == IMPORTED) == (self.original is not None), "copies and originals")
        self.must(body not in (DECLARATION, FORK, IMPORT, KEY_ROTATE, REGISTERED, MAP_ROOT), "out of place")
        if body == EVENT:
            kind, event = self.event(content)
            if kind in (1, 2):
                number = strict(event, ROUND).get(1, 0)
                self.must(writer.last_round is None or number > writer.last_round
                          or (number == writer.last_round and kind == 2), "round")
                writer.last_round = number
            return
        message = strict(content, BODIES[body])
        if body == WRITER_CLOSED:
            self.must(message.get(1, 0) == writer.entries - writer.late + 1, "entry_count")
            writer.closed = True
        elif body == SEAL:
            missing = message.get(1, [])
            if 2 in message or 3 in message:
                unclosed = sorted(name for name, other in self.writers.items() if name and not other.closed)
                digest = hashlib.sha256(b"".join(bytes([len(name)]) + name for name in unclosed)).digest()
                self.must(not missing and len(unclosed) > 500, "a seal that counts")
                self.must(message.get(2, 0) == len(unclosed) and message.get(3, b"") == digest, "seal")
                self.sealed = True
                return
            for name, other in self.writers.items():
                self.must(name == b"" or other.closed != (name in missing), "seal")
            self.sealed = True
        elif body == OPENED:
            token, previous = message.get(1, b""), message.get(2, b"")
            self.must(re.fullmatch(rb"[A-Za-z0-9._-]{1,64}", token), "incarnation")
            self.must(re.fullmatch(rb"[A-Za-z0-9._-]{0,64}", previous), "previous")
            self.must(token != writer.incarnation, "incarnation again")
            writer.incarnation, writer.last_round, writer.late = token, None, writer.entries
        elif body in LATE:
            self.must(writer.entries > 0, "late entries of a writer that wrote nothing")
            writer.late += 1
            if body == LATE_EVENT:
                self.must(re.fullmatch(rb"[A-Za-z0-9._-]{0,64}", message.get(1, b"")), "incarnation")
                self.event(message.get(2, b""))
        elif body == CORRECTION:
            self.must(message.get(1, 0) < self.size, "correction")
        elif body == FORK_NOTICE:
            self.must(1 in message and 1 <= message.get(2, 0) <= self.size, "fork_notice")
        elif body in (GRANT, GRANTED):
            self.must(message.get(1) and message.get(2), "a grant names budget and ledger")
            declared = strict(self.declaration, DECLARED)
            self.must((body == GRANT) == (declared.get(12, 0) == BUDGET), "grants stand in budgets")
            self.must(body == GRANT or message[1] == declared.get(11), "granted of another budget")
            self.must(body == GRANT or message.get(5) == declared.get(14), "granted of other blocks")
            self.must(declared.get(13) or body == GRANTED or 5 not in message, "blocks of a budget without any")
            self.blocks(message.get(5, []))
            for event in message.get(3, []):
                self.event(event)
        elif body == RETIRED:
            self.must(strict(self.declaration, DECLARED).get(13), "a budget without blocks")
            self.must(message.get(1), "blocks that are retired")
            self.blocks(message[1])
        elif body == IMPORTED:
            self.must(1 in message and self.original.size < self.copied, "imported")
            self.original.add(message[1])
            self.original_tree.append(leaf_hash(message[1]))
            demand(self.original.declaration == self.declaration, "import", "another declaration")
            demand(self.original.size < self.copied or self.original_tree.root() == self.copied_root, "import",
                   "the root of the copied entries")

    @staticmethod
    def event(content):
        kinds = strict(content, ONE_OF_FOUR)
        if len(kinds) != 1:
            raise ValueError("one event")
        return next(iter(kinds.items()))


# ---- the file ----

def header_of(name, size):
    header = bytearray(512)
    for offset, text in ((0, name), (100, b"0000644"), (108, b"0000000"), (116, b"0000000"), (124, b"%011o" % size),
                         (136, b"00000000000"), (148, b"        "), (156, b"0"), (257, b"ustar\x0000"),
                         (329, b"0000000"), (337, b"0000000")):
        header[offset:offset + len(text)] = text
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


class Reader:
    def __init__(self, file):
        self.file = file

    def exactly(self, size, what):
        data = self.file.read(size)
        demand(len(data) == size, "format", "the file ends in " + what)
        return data

    def next(self):
        """(name, size), None at the end."""
        header = self.exactly(512, "a header")
        if header == bytes(512):
            demand(self.file.read(513) == bytes(512), "format", "two blocks of zeros end the file")
            return None
        name, digits = header[:100].split(b"\0")[0], header[124:135]
        demand(name and re.fullmatch(rb"[0-7]{11}", digits), "format", "a member has a name and a size")
        size = int(digits, 8)
        demand(header == header_of(name, size), "format", "a header in another spelling")
        return name.decode("latin-1"), size

    def content(self, size, keep):
        data, left = b"", size
        while left:
            piece = self.exactly(min(left, MIB * 32), "a member")  # what is kept is always smaller
            left -= len(piece)
            data = piece if keep else b""
        demand(not any(self.exactly(-size % 512, "padding")), "format", "padding")
        return data


def tile_index(index):
    text = "%03d" % (index % 1000)
    while index >= 1000:
        index //= 1000
        text = "x%03d/%s" % (index % 1000, text)
    return text


def tile_path(level, index, width):
    return "tile/%s/%s%s" % (level, tile_index(index), ".p/%d" % width if width < 256 else "")


def tiles_of(size):
    """(level or "entries", index, width) in the bundle's order."""
    for index in range((size + 255) // 256):
        width = min(256, size - 256 * index)
        yield "entries", index, width
        level = 0
        yield level, index, width
        while width == 256 and index % 256 == 255:
            level, index = level + 1, index // 256
            yield level, index, 256
    for level in range(1, 8):
        hashes = size >> (8 * level)
        if hashes % 256:
            yield level, hashes // 256, hashes % 256


def map_root_from(path, key, leaf):
    """The root of the map in which the leaf stands at the path's end; None if the path is no path."""
    if len(path) < 2:
        return None
    depth = int.from_bytes(path[:2], "big")
    bitmap, hashes = path[2:2 + (depth + 7) // 8], path[2 + (depth + 7) // 8:]
    bits = [byte >> (7 - i) & 1 for byte in bitmap for i in range(8)]
    if depth > 256 or len(bits) < depth or any(bits[depth:]) or len(hashes) != 32 * sum(bits) or bits[:1] == [0]:
        return None
    node = leaf
    for i in range(depth):
        sibling = bytes(32)
        if bits[i]:
            sibling, hashes = hashes[:32], hashes[32:]
            if sibling == bytes(32):
                return None
        level = depth - 1 - i
        pair = sibling + node if key[level // 8] >> (7 - level % 8) & 1 else node + sibling
        node = hashlib.sha256(b"\4" + pair).digest()
    return node


class Verifier:
    def __init__(self, file, keys, older):
        self.reader = Reader(file)
        self.log_keys = [key for key in keys if key.type == LOG_KEY]
        self.witnesses = [key for key in keys if key.type == WITNESS_KEY]
        self.older = older
        self.rules, self.tree = Rules(), Tree()

    def member(self, wanted, limit):
        found = self.reader.next()
        demand(found is not None, "format", wanted + " is missing")
        name, size = found
        demand((wanted, name) != ("registry/map/entry", "checkpoint"), "map", "the registry's map is missing")
        demand(name == wanted, "format", wanted + " must stand here")
        demand(size <= limit, "format", wanted + " is too large")
        return self.reader.content(size, keep=wanted != "README")

    def verify(self):
        self.member("README", MIB)
        keys = self.keys(self.member("keys", MIB))
        self.log_keys = self.log_keys or list(keys)
        self.registry(self.member("registry/checkpoint", MIB), keys)
        last = -1
        for i, key in enumerate(keys):
            entry = self.member("registry/keys/%d/entry" % i, MAX_ENTRY)
            index, message = self.included("keys", entry, self.member("registry/keys/%d/proof" % i, 2 * MIB))
            named = strict(message.get(KEY_ROTATE, b""), REGISTRY_ENTRY[KEY_ROTATE]).get(2, b"")
            demand(named == key.text.encode(), "keys", "key %d" % i)
            demand(index == 0 if i == 0 else index > last, "keys", "order of keys")
            last = index
        self.log_keys += keys
        entry = self.member("registry/entry", MAX_ENTRY)
        index, message = self.included("registry", entry, self.member("registry/proof", 2 * MIB))
        registered = strict(message.get(REGISTERED, b""), REGISTRY_ENTRY[REGISTERED])
        origin, size, root, state = (registered.get(number, default)
                                     for number, default in ((1, b""), (2, 0), (3, b""), (4, 0)))
        demand(size and len(root) == 32 and state in (OPEN, SEALED)
               and origin.startswith(self.registry_note.origin.encode() + b"/"), "registry", "registered")
        self.points(origin, (index, size, root, state))
        note = self.note("checkpoint", self.member("checkpoint", MIB))
        demand((note.origin.encode(), note.size, note.root) == (origin, size, root), "registry", "not as registered")
        roots = self.entries(note.size)
        demand(self.tree.root() == note.root, "root", "root")
        demand(self.rules.sealed == (state == SEALED), "seal", "seal")
        for older in self.older:
            demand(older.origin == note.origin and older.signers(self.log_keys), "older", "not this ledger's")
            demand(older.size <= note.size and roots[older.size] == older.root, "older", "another past")
        self.rest()
        return {"class": "", "origin": note.origin, "size": note.size, "root": note.root.hex()}

    def points(self, origin, registered):
        """That the ledger's head is the registry's latest; keeps all roots that were registered."""
        entry = self.member("registry/map/entry", MAX_ENTRY)
        index, message = self.included("map", entry, self.member("registry/map/proof", 2 * MIB))
        path = self.member("registry/map/path", 2 + 32 + 256 * 32)
        data = self.member("registry/points", 49 << 20)
        map_root = strict(message.get(MAP_ROOT, b""), REGISTRY_ENTRY[MAP_ROOT]).get(2, b"")
        demand(len(map_root) == 32 and index == self.registry_note.size - 1, "map", "the registry's last entry")
        demand(len(data) % 49 == 0, "map", "points")
        chain, last, self.registered_roots = bytes(32), None, {}
        for at in range(0, len(data), 49):
            point = data[at:at + 49]
            index, size, root, state = (int.from_bytes(point[:8], "big"), int.from_bytes(point[8:16], "big"),
                                        point[16:48], point[48])
            demand(size and state in (OPEN, SEALED), "map", "point")
            demand(last is None or (index > last[0] and size > last[1] and not (last[3] == SEALED and state == OPEN)),
                   "map", "order of points")
            last = (index, size, root, state)
            chain = hashlib.sha256(b"\3" + chain + point).digest()
            self.registered_roots[size] = root
        demand(last == registered, "map", "the last point")
        value = (len(data) // 49).to_bytes(8, "big") + data[-49:] + chain
        key = hashlib.sha256(origin).digest()
        leaf = hashlib.sha256(b"\2" + key + value).digest()
        demand(map_root_from(path, key, leaf) == map_root, "map", "another head")
        del self.registered_roots[registered[1]]  # the checkpoint's own is compared at the end

    @staticmethod
    def keys(data):
        lines = data.split(b"\n")
        demand(lines.pop() == b"" and 1 <= len(lines) <= 256 and len(set(lines)) == len(lines), "keys", "lines")
        try:
            keys = [Key(line.decode()) for line in lines]
        except ValueError as error:
            raise Difference("keys", str(error)) from error
        demand(all(key.type == LOG_KEY for key in keys), "keys", "a key of another type")
        return keys

    def note(self, difference_class, data):
        try:
            note = Note(data)
        except ValueError as error:
            raise Difference(difference_class, str(error)) from error
        demand(note.signers(self.log_keys), "signature", difference_class)
        return note

    def registry(self, data, keys):
        self.registry_bytes = data
        self.registry_note = self.note("registry", data)
        for witness in self.witnesses:
            demand(self.registry_note.signers([witness]), "signature", "witness")
        demand(all(key.name == self.registry_note.origin for key in keys), "keys", "names of keys")

    def included(self, difference_class, entry, data):
        """(index, the entry's fields)"""
        try:
            proof = TlogProof(data)
            demand(proof.checkpoint == self.registry_bytes, difference_class, "proof of another checkpoint")
            root = root_from_proof(leaf_hash(entry), proof.index, self.registry_note.size, proof.hashes)
            demand(root == self.registry_note.root, difference_class, "proof")
            message = strict(entry, REGISTRY_ENTRY)
            demand(message.get(1, 0) == proof.index, difference_class, "index")
            demand(6 in message, difference_class, "recorded_time")
            minute(message[6])
            bodies = [body for body in (KEY_ROTATE, REGISTERED, MAP_ROOT) if body in message]
            demand(len(bodies) == 1, difference_class, "body")
        except ValueError as error:
            raise Difference(difference_class, str(error)) from error
        return proof.index, message

    def entries(self, size):
        """Checks all tiles; the roots at the sizes of the older checkpoints."""
        roots = {older.size: self.tree.root() for older in self.older}
        waiting = []
        for level, index, width in tiles_of(size):
            path = tile_path(level, index, width)
            if level == "entries":
                data = self.member(path, 256 * (2 + MAX_ENTRY))
                waiting, at = [], 0
                for _ in range(width):
                    end = at + 2 + int.from_bytes(data[at:at + 2], "big")
                    demand(at + 2 <= len(data) and end <= len(data), "tile", path)
                    waiting.append(data[at + 2:end])
                    at = end
                    self.tree.append(leaf_hash(waiting[-1]))
                    if self.tree.size in roots:
                        roots[self.tree.size] = self.tree.root()
                    registered = self.registered_roots.get(self.tree.size)
                    demand(registered is None or registered == self.tree.root(), "map", "registered with another past")
                demand(at == len(data), "tile", path)
            else:
                data = self.member(path, 32 * width)
                demand(data == self.tree.tiles.pop((level, index)), "tile", path)
                if level == 0:
                    for entry in waiting:
                        self.rules.add(entry)
        return roots

    def rest(self):
        optional = [("events.jsonl", 8 * 1024 * MIB - 1), ("statement.json", MIB)]
        while (found := self.reader.next()) is not None:
            name, size = found
            while optional and optional[0][0] != name:
                optional.pop(0)
            demand(optional and size <= optional[0][1], "format", "nothing more may stand here")
            optional.pop(0)
            self.reader.content(size, keep=False)


def verdict_on(bundle, keys, older):
    try:
        with open(bundle, "rb") as file:
            return Verifier(file, [Key(key) for key in keys], [Note(open(path, "rb").read()) for path in older]).verify()
    except Difference as difference:
        return {"class": difference.difference_class, "what": str(difference)}


def main():
    parser = argparse.ArgumentParser(description="Verifies a dpledger bundle.")
    parser.add_argument("bundle", nargs="?")
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--older", action="append", default=[])
    parser.add_argument("--batch")
    arguments = parser.parse_args()
    if arguments.batch:
        with open(arguments.batch, encoding="utf-8") as file:
            for case in json.load(file):
                print(json.dumps(verdict_on(case["bundle"], case["keys"], case["older"])))
        return 0
    if not arguments.bundle:
        parser.error("give a FILE")
    verdict = verdict_on(arguments.bundle, arguments.key, arguments.older)
    print(json.dumps(verdict))
    return {"": 0, "format": 1}.get(verdict["class"], 3)


if __name__ == "__main__":
    sys.exit(main())
