#!/usr/bin/env python3
"""Searches for the input of each call that costs the server most, then sends the worst ones while honest trainers and
auditors work: none of their calls may fail, and the server's memory stays within what docs/operating.md says.

Phase 1 climbs: of each call it changes the dearest request found so far, at random, and keeps what takes more of the
server's processor time. Phase 2 has attackers with small rights send these, and give up on each after a second. What
honest calls took, alone and then, is printed. DPLEDGER_SEARCH_SEED, which is printed, makes the same search again.

usage: worst_input.py BIN SOURCE [SECONDS]    120 s unless told; half of it for each phase
"""
import faulthandler
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from victim import Victim  # noqa: E402

HONEST, ATTACKERS, WATCHES, LEDGERS = 50, 8, 30, 300
MOST_BYTES = 4 << 20  # of a message
# What may be held beyond what the server has at rest: requests and answers under way, what is known of ledgers, what
# two questions take, and the room of bodies (docs/operating.md).
MOST_MEGABYTES = 1.05 * (256 + 256 + 2 * 450 + 64)
NEVER = {"RevokeToken", "RotateToken", "CreateToken", "Append"}  # the first three need rights; Append is no HTTP
NUMBERS = [0, 1, 2, 3, 30, 1000, 1 << 20, (1 << 31) - 1, 1 << 53]
LEDGER = "projects/attacker/ledgers/l0"
BUDGET, BUDGETED = "projects/attacker/ledgers/budget", "projects/attacker/ledgers/budgeted"
ROUNDS = {"rounds": {"scheme": {"poisson": {"probability": 1e-12}}, "count": "1000",
                     "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}
EVENTS = {"subject": {"events": [ROUNDS]}}
# Requests that are served, to begin with: what is refused at once costs little, whatever is changed in it.
SEEDS = {
    "LedgerService/ListLedgers": {"parent": "projects/attacker", "filter": " OR ".join(["unit:uv"] * 100)},
    "LedgerService/ListDatasets": {"parent": "projects/attacker"},
    "LedgerService/ListAttention": {"parent": "projects/attacker"},
    "LedgerService/NoteAttention": {"id": "0" * 16, "ledger": LEDGER, "acknowledged": True},
    "LedgerService/ReadEntries": {"ledger": LEDGER},
    "LedgerService/AppendBatch": {"ledger": LEDGER, "writer": "w", "requestId": "1", "entries": [{"event": ROUNDS}]},
    "LedgerService/ForkLedger": {"parent": LEDGER, "name": "projects/attacker/ledgers/fork", "requestId": "1"},
    "AccountingService/ComputeEpsilon": {**EVENTS, "delta": 1e-5},
    "AccountingService/ComputeDelta": {**EVENTS, "epsilon": 1},
    "AccountingService/ComputeProfile": {**EVENTS, "epsilons": [1]},
    "AccountingService/ComputeTuningCost": {**EVENTS, "delta": 1e-5, "trials": {"poisson": {"mean": 10}}},
    "AccountingService/ComputeBudget": {"budget": BUDGET, "plan": [ROUNDS]},
    "LedgerService/GrantBudget": {"budget": BUDGET, "ledger": BUDGETED, "requestId": "1", "plan": [ROUNDS]},
    "AuditService/GetCheckpoint": {"log": LEDGER},
    "AuditService/GetTile": {"log": LEDGER, "path": "tile/entries/000.p/1"},
    "RecomputeService/ListAnswers": {"ledger": LEDGER},
    "StatementService/GetStatement": {"ledger": LEDGER, "delta": 1e-5},
    "StatementService/IssueStatement": {"statement": {"ledger": LEDGER, "delta": 1e-5},
                                        "issuer": {"organization": "o", "name": "n", "role": "r"}},
    "StatementService/FindStatement": {"sha256": "0" * 64},
    "StatementService/ListStatements": {},
    "StatementService/WithdrawStatement": {"number": "1", "ledger": LEDGER, "reason": "r"},
}
REALS = [0, 1e-300, 1e-12, 1e-5, 1e-3, .01, .5, 1, 1.5, 30, 1e6, 1e300, float("nan"), float("inf"), -1]


def messages_of(source, folder):
    """The API's methods by path, and a function that makes a message of a type."""
    protos = sorted((source / "proto").rglob("*.proto"))
    subprocess.run(["protoc", f"-I{source / 'proto'}", "--include_imports", f"-o{folder / 'api'}", *protos], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString((folder / "api").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    methods = {}
    for file in files.file:
        for service in file.service:
            for method in service.method:
                kind = factory.GetPrototype(pool.FindMessageTypeByName(method.input_type[1:]))
                methods[f"{service.name}/{method.name}"] = (kind, method.server_streaming)
    return methods


class Mutator:
    """Makes a message dearer, or not: one change at random."""

    def __init__(self, rng, names):
        self.rng, self.names = rng, names

    def change(self, message, depth=0):
        fields = message.DESCRIPTOR.fields
        if not fields:
            return
        field = self.rng.choice(fields)
        repeated = field.label == field.LABEL_REPEATED
        if field.message_type and field.message_type.GetOptions().map_entry:
            return
        if repeated:
            return self.change_list(message, field, depth)
        if field.message_type:
            inner = getattr(message, field.name)
            inner.SetInParent()
            if depth < 40:
                self.change(inner, depth + 1)
            return
        setattr(message, field.name, self.scalar(field))

    def change_list(self, message, field, depth):
        values = getattr(message, field.name)
        grow = self.rng.choice([1, 1, 2, 10, 100, 1000])
        if field.message_type:
            if values and self.rng.random() < .5:
                pattern = type(values[0]).FromString(self.rng.choice(values).SerializeToString())
                for _ in range(grow):
                    if message.ByteSize() > MOST_BYTES // 2:
                        return
                    added = values.add()
                    added.CopyFrom(pattern)
                    if grow <= 100:
                        self.change(added, depth + 1)
            elif depth < 40:
                self.change(values.add(), depth + 1)
            return
        if values and self.rng.random() < .2:
            del values[:]
        values.extend(self.scalar(field) for _ in range(grow) if message.ByteSize() < MOST_BYTES // 2)

    def scalar(self, field):
        kind = field.cpp_type
        if kind == field.CPPTYPE_STRING:
            if field.type == field.TYPE_BYTES:
                return self.rng.randbytes(self.rng.choice([0, 32, 1000]))
            return self.text(field.name)
        if kind == field.CPPTYPE_ENUM:
            return self.rng.choice(field.enum_type.values).number
        if kind == field.CPPTYPE_BOOL:
            return self.rng.random() < .5
        if kind in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
            return self.rng.choice(REALS)
        most = {field.CPPTYPE_UINT32: (1 << 32) - 1, field.CPPTYPE_INT32: (1 << 31) - 1}.get(kind, 1 << 62)
        return min(self.rng.choice(NUMBERS), most)

    def text(self, name):
        if name == "filter":
            term = self.rng.choice(["unit:u", 'dataset:"d"', "epsilon < 1", "NOT unit:zz", "name:l"])
            return self.rng.choice([" OR ", " AND "]).join([term] * self.rng.choice([1, 10, 370, 2000]))
        if name in ("ledger", "name", "ledgers", "parent", "log", "resource") or self.rng.random() < .3:
            return self.rng.choice(self.names)
        return self.rng.choice(["", "a", "tile/0/000", "checkpoint", "x" * self.rng.choice([60, 300, 4000, 100_000])])


class Client:
    """One connection after the other; keeps one while it can."""

    def __init__(self, victim, token, timeout):
        self.victim, self.token, self.timeout, self.connection = victim, token, timeout, None

    def post(self, method, body, kind="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection("localhost", self.victim.port, timeout=self.timeout,
                                                          context=self.victim.tls)
        try:
            self.connection.request("POST", "/dpledger.v1." + method, body,
                                    {"content-type": kind, "authorization": "Bearer " + self.token})
            answer = self.connection.getresponse()
            data = answer.read(1 << 24)
            if not answer.isclosed():
                self.close()
            return answer.status, data
        except Exception:
            self.close()
            raise

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Search:
    def __init__(self, victim, token, methods, names, rng):
        self.victim, self.rng = victim, rng
        self.client = Client(victim, token, 40)
        self.mutator = Mutator(rng, names)
        self.methods = {name: kind for name, (kind, streams) in methods.items()
                        if not streams and name.split("/")[1] not in NEVER and "Health" not in name}
        self.best = {name: (0.0, kind()) for name, kind in self.methods.items()}
        self.tried = 0

    def seed(self, name, message):
        self.best[name] = (0.0, json_format.ParseDict(message, self.methods[name]()))

    def cost(self, name, message):
        try:
            body = json_format.MessageToJson(message, indent=None)
        except (ValueError, OverflowError, json_format.Error):
            return 0.0  # a time beyond the year 9999 has no JSON form
        if len(body) > MOST_BYTES:
            return 0.0
        before = self.victim.processor_seconds()
        try:
            self.client.post(name, body)
        except OSError:
            pass
        return self.victim.processor_seconds() - before

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            name = self.rng.choice(sorted(self.methods))
            cost, best = self.best[name]
            tried = type(best).FromString(best.SerializeToString())
            for _ in range(self.rng.choice([1, 1, 2, 4])):
                self.mutator.change(tried)
            found = self.cost(name, tried)
            self.tried += 1
            if found > cost:
                self.best[name] = (found, tried)

    def worst(self):
        return sorted(((cost, name, json_format.MessageToJson(message, indent=None))
                       for name, (cost, message) in self.best.items()), reverse=True)


class Honest:
    """Trainers that append and ask, and auditors that read and verify, each at its pace."""

    def __init__(self, victim, tokens):
        self.victim, self.tokens = victim, tokens
        self.failed, self.took, self.lock, self.stopping = [], [], threading.Lock(), threading.Event()

    def one(self, i):
        ledger = f"projects/honest/ledgers/l{i}"
        client = Client(self.victim, self.tokens[i % 2], 60)
        writer, sent = f"w{random.getrandbits(60):x}", 0
        while not self.stopping.wait(1 + i / HONEST):
            sent += 1
            if i % 2 == 0:
                calls = [("LedgerService/AppendBatch", {"ledger": ledger, "writer": writer, "requestId": f"{writer}-{sent}",
                                                        "entries": [{"note": {"text": "x"}}]}),
                         ("LedgerService/GetLedger", {"name": ledger})]
            else:
                subject = {"ledgers": [f"projects/honest/ledgers/l{i - 1}"]}
                calls = [("AccountingService/ComputeEpsilon", {"subject": subject, "delta": 1e-5}),
                         ("LedgerService/ReadEntries", {"ledger": subject["ledgers"][0], "pageSize": 10}),
                         ("LedgerService/ListLedgers", {"parent": "projects/honest", "pageSize": 5})]
            for method, message in calls:
                began = time.monotonic()
                try:
                    status, data = client.post(method, json.dumps(message))
                except OSError as error:
                    status, data = 0, repr(error).encode()
                with self.lock:
                    self.took.append((method, time.monotonic() - began))
                    if status != 200:
                        self.failed.append((method, status, data[:200]))
        client.close()

    def run(self, seconds):
        """How long the calls took by method, and which failed."""
        self.failed, self.took = [], []
        self.stopping.clear()
        threads = [threading.Thread(target=self.one, args=(i,)) for i in range(HONEST)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.stopping.set()
        for thread in threads:
            thread.join()
        by_method = {}
        for method, took in self.took:
            by_method.setdefault(method.split("/")[1], []).append(took)
        return {method: sorted(all_of_it) for method, all_of_it in by_method.items()}


class Attack:
    """In a process of its own, behind all others: what honest calls take is the server's doing, not this machine's."""

    def __init__(self, victim, token, worst):
        self.victim, self.token, self.worst = victim, token, worst
        self.stopping, self.counted = multiprocessing.Event(), multiprocessing.Value("Q")
        self.process = multiprocessing.Process(target=self.run)

    @property
    def sent(self):
        return self.counted.value

    def run(self):
        os.nice(19)
        threads = [threading.Thread(target=self.send, args=(i,)) for i in range(ATTACKERS)]
        threads += [threading.Thread(target=self.watch) for _ in range(WATCHES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def send(self, i):
        rng = random.Random(i)
        while not self.stopping.is_set():
            cost, name, body = self.worst[min(int(rng.expovariate(.5)), len(self.worst) - 1)]
            client = Client(self.victim, self.token, 1)
            try:
                client.post(name, body)
            except OSError:
                pass  # it has given up, or was turned away
            client.close()
            with self.counted.get_lock():
                self.counted.value += 1

    def watch(self):
        filter = json.dumps({"parent": "projects/-", "filter": " OR ".join(["unit:u"] * 370)}).encode()
        while not self.stopping.is_set():
            client = Client(self.victim, self.token, 5)
            try:
                client.post("LedgerService/WatchLedgers", struct.pack(">BI", 0, len(filter)) + filter,
                            "application/connect+json")
            except OSError:
                pass
            client.close()

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *unused):
        self.stopping.set()
        self.process.join(60)
        if self.process.is_alive():  # on a busy machine it may not get a turn to end by itself
            self.process.kill()
            self.process.join()
        else:
            assert self.process.exitcode == 0, self.process.exitcode


def fill(victim, methods):
    """Ledgers of both; the admin's token makes them."""
    declaration = {"dataset": "d", "unitOfPrivacy": "u" * 200, "adjacency": "ADD_OR_REMOVE_ONE", "parameters": "FIXED"}
    admin = Client(victim, victim.admin, 30)
    names = [f"projects/attacker/ledgers/l{i}" for i in range(LEDGERS)]
    names += [f"projects/honest/ledgers/l{i}" for i in range(HONEST)]
    for name in names:
        status, data = admin.post("LedgerService/CreateLedger",
                                  json.dumps({"name": name, "requestId": "1", "declaration": declaration}))
        assert status == 200, data
    for name, more in ((BUDGET, {"kind": "BUDGET", "parameters": "ADAPTIVE",
                                 "filter": {"mixture": {"epsilon": 1e6, "delta": 1e-6, "orders": [2, 8, 32]}}}),
                       (BUDGETED, {"budget": BUDGET})):
        status, data = admin.post("LedgerService/CreateLedger", json.dumps(
            {"name": name, "requestId": "1", "declaration": {**declaration, **more}}))
        assert status == 200, data
    rounds = {"rounds": {"scheme": {"poisson": {"probability": .01}}, "count": "1000",
                         "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}
    for i in range(0, HONEST, 2):
        status, data = admin.post("LedgerService/AppendBatch", json.dumps(
            {"ledger": f"projects/honest/ledgers/l{i}", "writer": "first", "requestId": "2",
             "entries": [{"event": rounds}]}))
        assert status == 200, data
    admin.close()
    return names[:20] + [BUDGET, BUDGETED] + ["", "projects/attacker", "projects/-", "projects/honest/ledgers/l0", "projects/a/ledgers/none"]


def percentile(values, share):
    return 1000 * values[min(int(share * len(values)), len(values) - 1)]


def main():
    bin, source = map(pathlib.Path, sys.argv[1:3])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 120.0
    seed = int(os.environ.get("DPLEDGER_SEARCH_SEED", zlib.crc32(os.urandom(8))))
    print(f"DPLEDGER_SEARCH_SEED={seed}", flush=True)
    faulthandler.dump_traceback_later(300 + 2 * seconds)  # where it hangs, before the test is ended
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        methods = messages_of(source, pathlib.Path(folder))
        victim = Victim(bin, folder)
        try:
            names = fill(victim, methods)
            attacker = victim.token("attacker", "trainer projects/attacker")
            honest = Honest(victim, [victim.token("trainer", "trainer projects/honest"),
                                     victim.token("auditor", "auditor projects/honest")])
            honest.run(5)  # so that nothing is asked for the first time below
            at_rest = victim.resident_megabytes()
            search = Search(victim, attacker, methods, names, rng)
            for name, message in SEEDS.items():
                search.seed(name, message)
            search.run(seconds / 2)
            worst = search.worst()
            print(f"{search.tried} requests to {len(search.methods)} methods; the dearest, in processor seconds:")
            for cost, name, body in worst[:8]:
                print(f"  {cost:7.3f}  {name}  {len(body)} bytes  {body[:100]}")
            alone = honest.run(seconds / 8)
            assert not honest.failed, honest.failed[:3]
            most = [0.0]
            done = threading.Event()

            def look():
                while not done.wait(.1):
                    most[0] = max(most[0], victim.resident_megabytes())

            looking = threading.Thread(target=look)
            with Attack(victim, attacker, worst[:12]) as attack:
                looking.start()
                under = honest.run(seconds * 3 / 8)
            done.set()
            looking.join()
            for method in sorted(under):
                print(f"  {method}: p50 {percentile(alone[method], .5):.0f} -> {percentile(under[method], .5):.0f} ms, "
                      f"p99 {percentile(alone[method], .99):.0f} -> {percentile(under[method], .99):.0f} ms "
                      f"({len(under[method])} calls)")
            print(f"{attack.sent} attacks; memory at rest {at_rest:.0f} MB, at most {most[0]:.0f} MB")
            assert not honest.failed, f"{len(honest.failed)} honest calls failed: {honest.failed[:3]}"
            assert most[0] < at_rest + MOST_MEGABYTES, f"{most[0]:.0f} MB"
            assert attack.sent > 0 and search.tried > 0
        finally:
            code = victim.stop()
            log = (pathlib.Path(folder) / "log").read_text()
        assert code == 0, log[-2000:]
    faulthandler.cancel_dump_traceback_later()


main()
