#!/usr/bin/env python3
"""Attacks on a server with TLS and known callers, over the network alone.

Each attack has its control: the honest request that differs from it in the attacked part alone, and is served. At the
end nothing that an attacker sent is in a ledger, the log holds no secret, and the server ends as it should.
"""
import gzip
import http.client
import json
import os
import pathlib
import random
import re
import socket
import ssl
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from victim import AUDIENCE, Authority, Victim  # noqa: E402
from cryptography import x509  # noqa: E402

LEDGER = "projects/p/ledgers/l"
QUESTION = {"subject": {"events": [{"rounds": {"scheme": {"poisson": {"probability": 0.01}}, "count": "100",
                                               "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}]},
            "delta": 1e-5}
ASK = "AccountingService/ComputeEpsilon"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
victim = None  # the server, for all tests
secrets = []


def new_token(name, grant, *more):
    secrets.append(victim.token(name, grant, *more))
    return secrets[-1]


def batch(request_id, writer="w"):
    return {"ledger": LEDGER, "writer": writer, "requestId": request_id, "entries": [{"note": {"text": request_id}}]}


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def grpc_head(path, *more):
    """A call's headers, as literal fields without the dynamic table."""
    def field(name, value):
        return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

    fields = ((b":path", path), (b":authority", b"localhost"), (b"te", b"trailers"),
              (b"content-type", b"application/grpc"), *more)
    return b"\x83\x86" + b"".join(field(*one) for one in fields)


class Sender(threading.Thread):
    """Sends as much of each body as the server takes, a stream of one connection for each, for some seconds, and ends
    none of them."""

    def __init__(self, head, bodies, seconds):
        super().__init__(daemon=True)
        self.head, self.seconds = head, seconds
        self.left = {2 * i + 1: memoryview(body) for i, body in enumerate(bodies)}
        self.window, self.at_first = {0: 65535}, 65535
        self.received, self.ended, self.sent = b"", 0, 0
        self.start()

    def run(self):
        try:
            self.connection = victim.connect("h2")
            self.connection.sendall(PREFACE + frame(4, 0, 0))
            for stream in self.left:
                self.window[stream] = self.at_first
                self.connection.sendall(frame(1, 4, stream, self.head))
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                self.receive(0 if self.send() else 0.02)
            self.connection.close()
        except OSError:
            pass  # it was ended

    def send(self):
        """Whether anything was."""
        before = self.sent
        self.connection.settimeout(5)
        for stream, body in list(self.left.items()):
            now = min(len(body), self.window[stream], self.window[0], 16384)
            if now > 0:
                self.connection.sendall(frame(0, 0, stream, bytes(body[:now])))
                self.left[stream] = body[now:]
                self.window[0] -= now
                self.window[stream] -= now
                self.sent += now
        return self.sent > before

    def receive(self, seconds):
        self.connection.settimeout(seconds)
        try:
            self.received += self.connection.recv(1 << 16)
        except (socket.timeout, TimeoutError, ssl.SSLWantReadError):
            return
        while len(self.received) >= 9 + int.from_bytes(self.received[:3], "big"):
            end = 9 + int.from_bytes(self.received[:3], "big")
            kind, flags, payload = self.received[3], self.received[4], self.received[9:end]
            stream = int.from_bytes(self.received[5:9], "big")
            self.received = self.received[end:]
            if kind == 8 and stream in self.window:
                self.window[stream] += int.from_bytes(payload, "big")
            elif kind == 4 and not flags & 1:
                for at in range(0, len(payload), 6):
                    if payload[at:at + 2] == b"\0\x04":
                        more = int.from_bytes(payload[at + 2:at + 6], "big") - self.at_first
                        self.at_first += more
                        for one in self.left:
                            self.window[one] += more
            elif kind == 3 or (kind == 1 and flags & 1):
                self.ended += stream in self.left
                self.left.pop(stream, None)


def most_memory(senders):
    """The most that the server has while they send, in MB beyond what it had."""
    before = most = victim.resident_megabytes()
    while any(sender.is_alive() for sender in senders):
        most = max(most, victim.resident_megabytes())
        time.sleep(0.02)
    return most - before


def read_until_closed(connection, seconds):
    """What comes until the peer closes; None if it does not within the time."""
    connection.settimeout(0.2)
    got, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            data = connection.recv(65536)
        except (socket.timeout, TimeoutError):
            continue
        except OSError:
            return got
        if not data:
            return got
        got += data
    return None


def raw(data, seconds=10):
    """Sends bytes over TLS, and gives what comes back until the server closes."""
    connection = victim.connect()
    try:
        connection.sendall(data)
    except OSError:
        pass
    got = read_until_closed(connection, seconds)
    connection.close()
    return got


def request(body=None, extra="", host="localhost", version="HTTP/1.1", path="/dpledger.v1." + ASK, close=True,
            length=None):
    body = json.dumps(QUESTION) if body is None else body
    lines = [f"POST {path} {version}", f"host: {host}", "content-type: application/json",
             f"authorization: Bearer {victim.admin}"]
    if length is None:
        lines.append(f"content-length: {len(body)}")
    if close:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n" + extra + "\r\n" + body).encode()


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


class Identity(unittest.TestCase):
    """Who is not who he says, or not anybody."""

    def test_no_token(self):
        self.assertEqual(victim.call(ASK, QUESTION, victim.admin)[0], 200)
        status, answer = victim.call(ASK, QUESTION)
        self.assertEqual((status, answer["code"]), (401, "unauthenticated"))
        self.assertIn("show a token", answer["message"])

    def test_garbled_token(self):
        good = new_token("garbled", "analyst *")
        self.assertEqual(victim.call(ASK, QUESTION, good)[0], 200)
        for bad in (good[:-1], good + "A", good.swapcase(), "dpl_" + "A" * 43, "", " ", "x" * 9000):
            self.assertIn(victim.call(ASK, QUESTION, bad)[0], (401, 431), bad[:50])

    def test_expired_token(self):
        token = new_token("expires", "analyst *", "--expires-in", "3s")
        self.assertEqual(victim.call(ASK, QUESTION, token)[0], 200)
        time.sleep(4)
        status, answer = victim.call(ASK, QUESTION, token)
        self.assertEqual((status, answer["code"]), (401, "unauthenticated"))

    def test_revoked_token(self):
        token = new_token("revoked", "analyst *")
        self.assertEqual(victim.call(ASK, QUESTION, token)[0], 200)
        victim.administer("admin", "token", "revoke", "revoked")
        self.assertEqual(victim.call(ASK, QUESTION, token)[0], 401)

    def test_foreign_project(self):
        own, foreign = new_token("own", "trainer projects/p"), new_token("foreign", "trainer projects/q")
        for token, wanted in ((foreign, 403), (own, 200)):
            self.assertEqual(victim.call("LedgerService/AppendBatch", batch("project", "of-own"), token)[0], wanted)
        # A project whose name begins alike.
        near = new_token("near", "trainer projects/pp")
        self.assertEqual(victim.call("LedgerService/GetLedger", {"name": LEDGER}, near)[0], 403)

    def test_role_too_low(self):
        analyst, auditor = new_token("analyst", "analyst *"), new_token("auditor", "auditor *")
        read = {"ledger": LEDGER}
        self.assertEqual(victim.call("LedgerService/ReadEntries", read, analyst)[0], 403)
        self.assertEqual(victim.call("LedgerService/ReadEntries", read, auditor)[0], 200)
        for method, message in (("LedgerService/AppendBatch", batch("low")),
                                ("LedgerService/SealLedger", {"name": LEDGER, "requestId": "low"}),
                                ("AdminService/CreateToken", {"name": "mine", "grants": [
                                    {"role": "admin", "scope": "*"}]}),
                                ("AdminService/ListTokens", {})):
            self.assertEqual(victim.call(method, message, auditor)[0], 403, method)

    def test_fork_of_a_granted_data_set(self):
        """A fork that declares nothing has its parent's data set, and so the right to it."""
        for name in ("granted", "other"):
            victim.administer("ledger", "create", name, "--dataset", name, "--unit", "u", "--adjacency",
                              "add-or-remove-one", "--parameters", "fixed")
        token = new_token("forks", "trainer * data-set=granted")
        for parent, wanted in (("other", 403), ("granted", 200)):
            fork = {"name": f"projects/default/ledgers/fork-of-{parent}",
                    "parent": f"projects/default/ledgers/{parent}", "requestId": "fork", "reason": "tried"}
            self.assertEqual(victim.call("LedgerService/ForkLedger", fork, token)[0], wanted, parent)

    def test_a_filter_of_hundreds_of_terms(self):
        """It cost a millisecond a ledger, on the threads of everybody else."""
        token = new_token("lists", "analyst *")
        long = " OR ".join("unit:u%d" % i for i in range(300))
        asked = {"parent": "projects/-", "filter": long}
        self.assertEqual(victim.call("LedgerService/ListLedgers", asked, token)[0], 200)
        self.assertEqual(victim.call("LedgerService/ListLedgers", {**asked, "filter": long + " OR"}, token)[0], 400)

    def test_request_id_of_another_caller(self):
        first, second = new_token("first", "trainer *"), new_token("second", "trainer *")
        mine = batch("once", "of-first")
        status, answer = victim.call("LedgerService/AppendBatch", mine, first)
        self.assertEqual(status, 200)
        status, refused = victim.call("LedgerService/AppendBatch", mine, second)
        self.assertEqual(status, 403)
        self.assertNotIn(answer["receipt"]["rootHash"], json.dumps(refused))
        self.assertEqual(victim.call("LedgerService/AppendBatch", mine, first), (200, answer))

    def test_web_tokens(self):
        issuer = victim.issuer
        self.assertEqual(victim.call(ASK, QUESTION, issuer.token())[0], 200)
        now = int(time.time())
        good = issuer.token()
        head, body, signature = good.split(".")
        for what, bad in {
                "alg none": issuer.token(header={"alg": "none"}),
                "alg None": issuer.token(header={"alg": "None"}),
                "HS256 with the public key": issuer.with_public_key_as_secret(),
                "another key": issuer.token(key=issuer.stranger),
                "unknown kid": issuer.token(header={"kid": "two"}),
                "kid that is a path": issuer.token(header={"kid": "../../dev/null"}),
                "another's jwk": issuer.token(key=issuer.stranger, header={"jwk": {"kty": "RSA"}}),
                "jku": issuer.token(key=issuer.stranger, header={"jku": "https://evil.example/keys"}),
                "crit": issuer.token(header={"crit": ["exp"]}),
                "another audience": issuer.token(aud="other"),
                "no audience": issuer.token(aud=None),
                "another issuer": issuer.token(iss="https://evil.example"),
                "expired": issuer.token(exp=now - 1),
                "no end": issuer.token(exp=None),
                "not yet": issuer.token(nbf=now + 3600),
                "nobody": issuer.token(sub=""),
                "another subject": issuer.token(sub="mallory"),
                "no signature": head + "." + body + ".",
                "changed claims": head + "." + body[:-2] + "AA." + signature,
                "four parts": good + ".x"}.items():
            status, answer = victim.call(ASK, QUESTION, bad)
            self.assertIn(status, (401, 403) if what == "another subject" else (401,), what)
            self.assertNotIn(bad[:40], json.dumps(answer), what)
        self.assertEqual(victim.call(ASK, QUESTION, issuer.token(aud=["x", AUDIENCE]))[0], 200)

    def test_certificate_of_another_authority(self):
        def ask_with(authority):
            certificate, key = authority.issue(x509.DNSName("trainer.example"))
            victim.path("client.pem").write_bytes(certificate + key)
            context = ssl.create_default_context(cafile=victim.path("ca.pem"))
            context.load_cert_chain(victim.path("client.pem"))
            connection = context.wrap_socket(socket.create_connection(("127.0.0.1", victim.port), 10),
                                             server_hostname="localhost")
            connection.sendall(request())
            got = read_until_closed(connection, 10)
            connection.close()
            return got

        self.assertEqual(status_of(ask_with(victim.authority)), 200)
        try:
            answer = ask_with(Authority("another"))
        except OSError:
            answer = b""  # TLS 1.3 tells a client at its first read
        self.assertEqual(answer, b"")


class Http(unittest.TestCase):
    """Requests that two readers could read differently, and what browsers can be made to send."""

    def test_path_tricks(self):
        self.assertEqual(status_of(raw(request())), 200)
        for path in ("//dpledger.v1." + ASK, "/dpledger.v1." + ASK + "/", "/./dpledger.v1." + ASK,
                     "/x/../dpledger.v1." + ASK, "/dpledger.v1.%2e%2e/" + ASK, "/DPLEDGER.v1." + ASK,
                     "/dpledger.v1." + ASK + "%00", "/dpledger.v1.AccountingService%2FComputeEpsilon",
                     "/tlog/../../etc/passwd", "/..%2f..%2fetc/passwd", "/dpledger.v1." + ASK + "#x", "*"):
            self.assertIn(status_of(raw(request(path=path))), (400, 404), path)

    def test_oversize_and_doubled_headers(self):
        self.assertEqual(status_of(raw(request(extra="x-long: " + "x" * 4000 + "\r\n"))), 200)
        self.assertEqual(status_of(raw(request(extra="x-long: " + "x" * 40000 + "\r\n"))), 431)
        self.assertEqual(status_of(raw(request(extra="".join(f"x-{i}: y\r\n" for i in range(2000))))), 431)
        for doubled in ("host: localhost", f"authorization: Bearer {victim.admin}", "content-type: application/json",
                        f"content-length: {len(json.dumps(QUESTION))}"):
            self.assertIn(status_of(raw(request(extra=doubled + "\r\n"))), (400, 401), doubled)

    def test_smuggling(self):
        inner = request(close=True).decode()
        # Two honest requests, one after the other, are answered both.
        self.assertEqual(raw(request(close=False) + request()).count(b"HTTP/1.1 200"), 2)
        body = "0\r\n\r\n" + inner
        for trick in ("transfer-encoding: chunked", "Transfer-Encoding : chunked", "transfer-encoding: xchunked",
                      "transfer-encoding: chunked, identity", "transfer-encoding:\tchunked", "content-length: 0",
                      "content-length: +4", "x: y\r\n transfer-encoding: chunked", "x\r: y", "a b: c"):
            got = raw(request(body=body, extra=trick + "\r\n", close=False))
            self.assertIsNotNone(got, trick)
            self.assertEqual(len(re.findall(rb"HTTP/1\.1 \d{3} ", got)), 1, trick)
            self.assertEqual(status_of(got), 400, trick)

    def test_slowloris(self):
        slow = [victim.connect() for _ in range(20)]
        for connection in slow:
            connection.sendall(b"POST /dpledger.v1." + ASK.encode() + b" HTTP/1.1\r\nhost: localhost\r\nx-a: ")
        started = time.monotonic()
        self.assertEqual(status_of(raw(request())), 200)
        self.assertLess(time.monotonic() - started, 4, "who is slow is ended after 5 s")
        for connection in slow:
            self.assertIsNotNone(read_until_closed(connection, 30))
            connection.close()
        # The control: slow, and done in time.
        patient = victim.connect()
        data = request()
        for i in range(0, len(data), 64):
            patient.sendall(data[i:i + 64])
            time.sleep(0.05)
        self.assertEqual(status_of(read_until_closed(patient, 10)), 200)
        patient.close()

    def test_half_bodies_of_strangers(self):
        """They filled the room for everybody's bodies: who sends one is asked for before it is kept."""
        half = (b"POST /dpledger.v1." + ASK.encode() + b" HTTP/1.1\r\nhost: localhost\r\n"
                b"content-type: application/json\r\ncontent-length: 4000000\r\n\r\n" + b" " * 500_000)
        strangers = []
        for _ in range(60):
            connection = victim.connect()
            try:
                connection.sendall(half)
            except OSError:
                pass  # it was answered meanwhile
            strangers.append(connection)
        self.assertEqual(status_of(raw(request())), 200)
        self.assertEqual(status_of(read_until_closed(strangers[-1], 10)), 401)
        for connection in strangers:
            connection.close()

    def test_gzip_bomb(self):
        headers = {"content-encoding": "gzip"}
        honest = gzip.compress(json.dumps(QUESTION).encode())
        self.assertEqual(victim.call(ASK, None, victim.admin, headers, body=honest)[0], 200)
        before = victim.resident_megabytes()
        bomb = gzip.compress(b'{"delta":' + b" " * (300 << 20) + b"1e-5}", 9)
        started = victim.processor_seconds()
        status, _ = victim.call(ASK, None, victim.admin, headers, body=bomb)
        self.assertIn(status, (400, 413, 429))
        self.assertLess(victim.processor_seconds() - started, 1)
        self.assertLess(victim.resident_megabytes() - before, 64)

    def test_cross_origin_post(self):
        for origin, wanted in (("https://evil.example", 403), ("null", 403), ("http://localhost.evil.example", 403),
                               ("https://localhost:%d" % victim.port, 200)):
            host = "localhost:%d" % victim.port
            self.assertEqual(status_of(raw(request(host=host, extra=f"origin: {origin}\r\n"))), wanted, origin)
        # What a page can send without asking first.
        simple = request().replace(b"application/json", b"text/plain")
        self.assertIn(status_of(raw(simple)), (400, 415))

    def test_dns_rebinding(self):
        for host, wanted in (("localhost", {200}), ("evil.example", {400, 403, 421}),
                             ("localhost.evil.example", {400, 403, 421}), ("127.0.0.1.evil.example", {400, 403, 421}),
                             ("", {400, 403, 421}), ("localhost@evil.example", {400, 403, 421})):
            self.assertIn(status_of(raw(request(host=host))), wanted, host)


class Sessions(unittest.TestCase):
    """A cookie that a browser sends by itself, whoever makes it send something."""

    OWN = {"sec-fetch-site": "same-origin"}

    @staticmethod
    def session(method="POST", token=None, headers=None):
        """Status, the header set-cookie, and the body."""
        connection = http.client.HTTPSConnection("localhost", victim.port, timeout=30, context=victim.tls)
        connection.request(method, "/session", None if method == "DELETE" else "", {
            **({} if token is None else {"authorization": "Bearer " + token}), **(headers or {})})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.getheader("set-cookie"), body

    def sign_in(self, token):
        status, cookie, body = self.session(token=token)
        self.assertEqual((status, body), (204, ""))
        pair, attributes = cookie.split("; ", 1)
        self.assertEqual(attributes, "Path=/; Secure; HttpOnly; SameSite=Strict")
        self.assertTrue(pair.startswith("__Host-dpledger="))
        return pair

    def asked(self, cookie, headers, method=ASK, message=QUESTION):
        return victim.call(method, message, headers={"cookie": cookie, **headers})[0]

    def test_only_a_good_token_becomes_a_cookie(self):
        self.sign_in(new_token("session", "analyst *"))
        self.sign_in(victim.issuer.token())
        for token in (None, "", "dpl_" + "A" * 49, victim.issuer.token(exp=int(time.time()) - 1)):
            status, cookie, body = self.session(token=token)
            self.assertEqual((status, cookie), (401, None), token)
        long = victim.issuer.token(note="x" * 3000)
        self.assertEqual(victim.call(ASK, QUESTION, long)[0], 200)
        status, cookie, body = self.session(token=long)
        self.assertEqual((status, cookie), (400, None))
        self.assertIn("does not fit in a cookie", body)

    def test_no_page_of_another_origin_uses_it(self):
        cookie = self.sign_in(new_token("cross", "trainer *"))
        host = f"localhost:{victim.port}"
        own = {**self.OWN, "origin": f"https://{host}"}
        self.assertEqual(self.asked(cookie, own), 200)
        append = ("LedgerService/AppendBatch", batch("by-cookie", "of-cookie"))
        for what, headers in {
                "a page of another site": {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
                "that says nothing of itself": {"origin": "https://evil.example"},
                "in a frame without an origin": {"sec-fetch-site": "cross-site", "origin": "null"},
                "another port of this host": {"sec-fetch-site": "same-site", "origin": "https://localhost:1"},
                "another port, without its origin": {"sec-fetch-site": "same-site"},
                "a form that navigates": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
                "an old browser": {}, "an old browser with our origin": {"origin": f"https://{host}"},
                "two answers to the question": {"sec-fetch-site": "same-origin, cross-site"},
                "by hand, and not a GET": {"sec-fetch-site": "none"}}.items():
            self.assertIn(self.asked(cookie, headers), (401, 403), what)
            self.assertIn(self.asked(cookie, headers, *append), (401, 403), what)
        self.assertEqual(self.asked(cookie, own, *append), 200, "the control")
        # The header is not taken from a page of another origin either, and such a page can sign nobody in or out.
        for method in ("POST", "DELETE"):
            status, made, _ = self.session(method, victim.admin, {"origin": "https://evil.example"})
            self.assertEqual((status, made), (403, None))

    def test_a_get_by_hand_reads_and_a_link_from_elsewhere_does_not(self):
        cookie = self.sign_in(new_token("by-hand", "auditor *"))
        message = urllib.parse.quote(json.dumps({"name": LEDGER}))
        path = f"/dpledger.v1.LedgerService/GetLedger?connect=v1&encoding=json&message={message}"

        def get(cookie, headers):
            connection = http.client.HTTPSConnection("localhost", victim.port, timeout=30, context=victim.tls)
            connection.request("GET", path, headers={"cookie": cookie, **headers})
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer.status, answer.getheader("cache-control")

        for headers in ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, self.OWN):
            self.assertEqual(get(cookie, headers), (200, "no-store"))
        for site in ("cross-site", "same-site"):
            for mode in ("navigate", "no-cors", "cors"):
                self.assertIn(get(cookie, {"sec-fetch-site": site, "sec-fetch-mode": mode})[0], (401, 403))
        self.assertEqual(get(cookie, {})[0], 401)

    def test_one_cookie_and_no_more(self):
        good, bad = self.sign_in(new_token("one", "analyst *")), "__Host-dpledger=dpl_" + "A" * 49
        self.assertEqual(self.asked(f"theme=dark; {good}; x", self.OWN), 200)
        for cookie in (bad, f"{good}; {bad}", f"{bad}; {good}", f"{good}; {good}", "__Host-dpledger=",
                       good.replace("__Host-", ""), good.replace("__Host-", "__host-"), f'a="{good}"'):
            self.assertEqual(self.asked(cookie, self.OWN), 401, cookie[:40])
        # A header is what counts where there is one.
        self.assertEqual(self.asked(good, {**self.OWN, "authorization": "Bearer dpl_wrong"}), 401)
        self.assertEqual(self.asked(bad, {**self.OWN, "authorization": "Bearer " + victim.admin}), 200)

    def test_it_ends_with_the_token(self):
        cookie = self.sign_in(new_token("ends", "analyst *"))
        self.assertEqual(self.asked(cookie, self.OWN), 200)
        victim.administer("admin", "token", "revoke", "ends")
        self.assertEqual(self.asked(cookie, self.OWN), 401)
        short = self.sign_in(new_token("short", "analyst *", "--expires-in", "3s"))
        self.assertEqual(self.asked(short, self.OWN), 200)
        time.sleep(4)
        self.assertEqual(self.asked(short, self.OWN), 401)
        status, made, _ = self.session("DELETE")
        self.assertEqual((status, made),
                         (204, "__Host-dpledger=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0"))


class Frames(unittest.TestCase):
    """HTTP/2 and bytes that are no protocol."""

    def test_rapid_reset(self):
        def resets(count):
            try:
                connection = victim.connect("h2")
            except OSError:
                return b""  # the address is out of favour already
            connection.sendall(PREFACE + frame(4, 0, 0))

            head = grpc_head(b"/dpledger.v1." + ASK.encode())
            try:
                for i in range(count):
                    stream = 2 * i + 1
                    connection.sendall(frame(1, 4, stream, head) + frame(3, 0, stream, b"\0\0\0\x08"))
                connection.sendall(frame(6, 0, 0, b"12345678"))
            except OSError:
                pass
            got = read_until_closed(connection, 3)
            connection.close()
            return got

        self.assertIsNone(resets(20), "a few are no attack: the connection stays")
        before = victim.resident_megabytes()
        for _ in range(5):
            self.assertIsNotNone(resets(20_000), "it is ended")
        self.assertLess(victim.resident_megabytes() - before, 64)
        # The address has to wait now, and is served again when some of its allowance has come back.
        for _ in range(60):
            try:
                if victim.call(ASK, QUESTION, victim.admin)[0] == 200:
                    time.sleep(3)  # the tests after this one come from the same address
                    return
            except OSError:
                pass
            time.sleep(0.5)
        self.fail("not served again")

    # Open to everybody, nothing at all, and what a stranger may not ask.
    PATHS = (b"/grpc.health.v1.Health/Check", b"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
             b"/dpledger.v1.LedgerService/Nothing", b"/dpledger.v1." + ASK.encode())

    def test_gzip_bombs_of_strangers(self):
        bomb = gzip.compress(bytes(256 << 20), 9)
        message = b"\1" + len(bomb).to_bytes(4, "big") + bomb
        for path in self.PATHS:
            head = grpc_head(path, (b"grpc-encoding", b"gzip"))
            self.assertLess(most_memory([Sender(head, [message], 3) for _ in range(4)]), 64, path)
        self.assertEqual(victim.call(ASK, QUESTION, victim.admin)[0], 200)

    def test_half_messages_of_strangers(self):
        size = 3_900_000
        half = b"\0" + size.to_bytes(4, "big") + bytes(size * 99 // 100)
        for path in self.PATHS:
            senders = [Sender(grpc_head(path), [half] * 60, 3) for _ in range(3)]
            self.assertLess(most_memory(senders), 160, path)
            self.assertGreater(sum(sender.sent for sender in senders), size, "nothing was sent")
        self.assertEqual(victim.call(ASK, QUESTION, victim.admin)[0], 200)

    def test_messages_without_an_end(self):
        # Of a known caller, to a call that waits for the end of its input: 821 MB, and honest calls failed.
        token, size = new_token("holds", "analyst projects/p"), 3_900_000
        whole = b"\0" + size.to_bytes(4, "big") + b"\x0a" + bytes(size - 1)
        head = grpc_head(b"/dpledger.v1.LedgerService/AppendBatch", (b"authorization", b"Bearer " + token.encode()))
        senders = [Sender(head, [whole] * 60, 6) for _ in range(3)]
        self.assertLess(most_memory(senders), 400)
        self.assertGreater(sum(sender.sent for sender in senders), 5 * size, "nothing was sent")
        self.assertEqual(victim.call(ASK, QUESTION, victim.admin)[0], 200)

    def test_garbage(self):
        chance = random.Random(7)
        good = victim.connect("h2")
        good.sendall(PREFACE + frame(4, 0, 0))
        good.settimeout(5)
        self.assertEqual(good.recv(9)[3], 4, "the honest peer gets SETTINGS")
        good.close()
        for protocol in ("h2", "http/1.1"):
            for _ in range(20):
                connection = victim.connect(protocol)
                start = PREFACE + frame(4, 0, 0) if protocol == "h2" and chance.random() < 0.7 else b""
                try:
                    connection.sendall(start + chance.randbytes(chance.randrange(1, 20_000)))
                except OSError:
                    pass
                read_until_closed(connection, 0.3)
                connection.close()
        for _ in range(20):  # before TLS
            plain = socket.create_connection(("127.0.0.1", victim.port), 5)
            try:
                plain.sendall(chance.randbytes(2000))
            except OSError:
                pass
            self.assertIsNotNone(read_until_closed(plain, 10))
            plain.close()
        self.assertEqual(victim.call(ASK, QUESTION, victim.admin)[0], 200)


class ZLast(unittest.TestCase):
    """After all of them."""

    def test_nothing_of_them_is_left(self):
        status, answer = victim.call("LedgerService/ReadEntries", {"ledger": LEDGER}, victim.admin)
        self.assertEqual(status, 200)
        self.assertEqual(len(answer["entries"]), 4, "the declaration, and the three honest notes of the controls")
        time.sleep(2)  # refusals are recorded within a second
        shown = victim.administer("admin", "access", "--refused")
        self.assertGreater(len(shown["access"]), 30, "the record has them")
        log = victim.path("log").read_text() + json.dumps(shown)
        for secret in secrets + [victim.admin]:
            self.assertNotIn(secret, log)
        self.assertNotIn("eyJ", log, "no web token")


def main():
    global victim
    with tempfile.TemporaryDirectory() as folder:
        victim = Victim(sys.argv[1], folder)
        try:
            victim.administer("ledger", "create", LEDGER, "--dataset", "d", "--unit", "u", "--adjacency",
                              "add-or-remove-one", "--parameters", "fixed")
            result = unittest.main(argv=sys.argv[:1] + sys.argv[2:], exit=False, verbosity=2).result
        finally:
            code = victim.stop()
        if code != 0:
            print("the server ended with", code)
        sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 and code == 0 else 1)


if __name__ == "__main__":
    main()
