"""Python's http.client and curl as clients of the HTTP door at $SERVER_HTTP."""
import base64
import gzip
import http.client
import json
import os
import socket
import subprocess
import unittest
import urllib.parse

SERVER = os.environ["SERVER_HTTP"]
LEDGERS = "/dpledger.v1.LedgerService/"
QUESTION = {"subject": {"events": [{"rounds": {"scheme": {"poisson": {"probability": 0.01}}, "count": "10000",
                                               "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}]},
            "delta": 1e-5}
DECLARATION = {"dataset": "d", "unitOfPrivacy": "u", "adjacency": "ADD_OR_REMOVE_ONE", "parameters": "FIXED"}


def call(path, body, headers=None, method="POST", connection=None):
    own = connection or http.client.HTTPConnection(SERVER, timeout=20)
    own.request(method, path, body=body, headers={"content-type": "application/json", **(headers or {})})
    answer = own.getresponse()
    data = answer.read()
    if connection is None:
        own.close()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, data


def ask(path, message, **more):
    status, headers, data = call(path, json.dumps(message), **more)
    return status, json.loads(data) if headers["content-type"] == "application/json" else data


class PlainClients(unittest.TestCase):
    def test_creates_and_reads_a_ledger(self):
        name = "projects/python/ledgers/a"
        status, ledger = ask(LEDGERS + "CreateLedger", {"name": name, "requestId": "1", "declaration": DECLARATION})
        self.assertEqual(status, 200, ledger)
        self.assertEqual(ledger["name"], name)
        self.assertEqual(ledger["size"], "1")  # 64-bit integers are strings
        self.assertEqual(ask(LEDGERS + "GetLedger", {"name": name}), (200, ledger))
        log = "/tlog/" + name
        for attempt in range(200):
            status, _, note = call(log + "/checkpoint", None, method="GET")
            if status == 200:
                break
        self.assertEqual(note.decode().splitlines()[1], "1")
        status, headers, bundle = call(log + "/tile/entries/000.p/1", None, method="GET")
        self.assertEqual(status, 200)
        self.assertIn("immutable", headers["cache-control"])
        entries = ask(LEDGERS + "ReadEntries", {"ledger": name})[1]["entries"]
        entry = base64.b64decode(entries[0])
        self.assertEqual(bundle, len(entry).to_bytes(2, "big") + entry)

    def test_asks_many_questions_on_one_connection(self):
        connection = http.client.HTTPConnection(SERVER, timeout=20)
        answers = []
        for _ in range(5):
            status, headers, data = call("/dpledger.v1.AccountingService/ComputeEpsilon", json.dumps(QUESTION),
                                         connection=connection)
            self.assertEqual(status, 200, data)
            answers.append(json.loads(data)["epsilon"])
        self.assertEqual(answers, answers[:1] * 5)
        self.assertAlmostEqual(answers[0]["upper"], 6.187712, places=5)

    def test_asks_by_get(self):
        query = urllib.parse.urlencode({"connect": "v1", "encoding": "json", "message": json.dumps(QUESTION)})
        path = "/dpledger.v1.AccountingService/ComputeEpsilon?"
        status, headers, data = call(path + query, None, method="GET")
        self.assertEqual(status, 200, data)
        encoded = base64.urlsafe_b64encode(json.dumps(QUESTION).encode()).decode().rstrip("=")
        same = call(path + "connect=v1&base64=1&encoding=json&message=" + encoded, None, method="GET")
        self.assertEqual(same[2], data)
        for wrong in ("encoding=json&message=%7B%7D", "connect=v1&encoding=json&encoding=json&message=%7B%7D",
                      "connect=v1&encoding=xml&message=", "connect=v1&encoding=json",
                      "connect=v1&encoding=json&base64=1&message=!"):
            status, headers, data = call(path + wrong, None, method="GET")
            self.assertEqual((status, json.loads(data)["code"]), (400, "invalid_argument"), wrong)
        # What changes something is no GET.
        status, headers, _ = call(LEDGERS + "CreateLedger?connect=v1&encoding=json&message=%7B%7D", None, method="GET")
        self.assertEqual((status, headers["allow"]), (405, "POST"))

    def test_compresses_both_ways(self):
        body = json.dumps(QUESTION).encode()
        path = "/dpledger.v1.AccountingService/ComputeEpsilon"
        plain = call(path, body)
        status, headers, data = call(path, gzip.compress(body), {"content-encoding": "gzip", "accept-encoding": "gzip"})
        self.assertEqual(status, 200, data)
        if headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        self.assertEqual(data, plain[2])
        status, _, data = call(path, body, {"content-encoding": "br"})
        self.assertEqual((status, json.loads(data)["code"]), (501, "unimplemented"))
        for wrong in (body, gzip.compress(body)[:-1], gzip.compress(body) + b"x"):
            status, _, data = call(path, wrong, {"content-encoding": "gzip"})
            self.assertEqual((status, json.loads(data)["code"]), (400, "invalid_argument"))

    def test_large_answers_are_compressed_only_if_the_client_takes_it(self):
        entries = [{"event": {"rounds": QUESTION["subject"]["events"][0]["rounds"]}} for _ in range(100)]
        name = "projects/python/ledgers/large"
        ask(LEDGERS + "CreateLedger", {"name": name, "requestId": "1", "declaration": DECLARATION})
        status, answer = ask(LEDGERS + "AppendBatch", {"batch": {"ledger": name, "writer": "w", "requestId": "2",
                                                                 "entries": entries}})
        if status != 200:
            status, answer = ask(LEDGERS + "AppendBatch", {"ledger": name, "writer": "w", "requestId": "2",
                                                           "entries": entries})
        self.assertEqual(status, 200, answer)
        request = json.dumps({"ledger": name})
        plain = call(LEDGERS + "ReadEntries", request)
        self.assertNotIn("content-encoding", plain[1])
        small = call(LEDGERS + "ReadEntries", request, {"accept-encoding": "br, gzip"})
        self.assertEqual(small[1]["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(small[2]), plain[2])

    def test_refuses_bombs_before_they_are_inflated(self):
        # 1 GiB of zeros in 1 MB; the control inflates to a little less than the limit of 4 MiB.
        for size, expected in ((1 << 30, (429, "resource_exhausted")), (3 << 20, (400, "invalid_argument"))):
            blocks = gzip.compress(b"\0" * size, 9)
            status, _, data = call(LEDGERS + "GetLedger", blocks, {"content-encoding": "gzip"})
            self.assertEqual((status, json.loads(data)["code"]), expected)

    def test_refuses_what_is_too_large(self):
        at_most = json.dumps({"name": "x" * ((4 << 20) - 20)})
        self.assertEqual(ask(LEDGERS + "GetLedger", {"name": "x" * (4 << 20)})[1]["code"], "resource_exhausted")
        self.assertEqual(json.loads(call(LEDGERS + "GetLedger", at_most)[2])["code"], "invalid_argument")

    def test_names_unknown_and_doubled_fields(self):
        status, error = ask(LEDGERS + "GetLedger", {"nam": "x"})
        self.assertEqual((status, error["code"]), (400, "invalid_argument"))
        self.assertIn("nam: Cannot find field", error["message"])
        status, _, data = call(LEDGERS + "GetLedger", '{"name":"a","name":"b"}')
        self.assertIn("name: must be given once", json.loads(data)["message"])

    def test_refuses_wrong_headers(self):
        for headers, status, code in (({"connect-protocol-version": "2"}, 400, "invalid_argument"),
                                      ({"connect-timeout-ms": "12345678901"}, 400, "invalid_argument"),
                                      ({"connect-timeout-ms": "-1"}, 400, "invalid_argument"),
                                      ({"connect-timeout-ms": "1.5"}, 400, "invalid_argument"),
                                      ({"connect-timeout-ms": "10000", "connect-protocol-version": "1"}, 404,
                                       "not_found")):
            got, _, data = call(LEDGERS + "GetLedger", '{"name":"projects/p/ledgers/none"}', headers)
            self.assertEqual((got, json.loads(data)["code"]), (status, code), headers)
        for wrong in ("text/plain", "application/json; charset=latin1", "application/connect+json", ""):
            got, headers, _ = call(LEDGERS + "GetLedger", "{}", {"content-type": wrong})
            self.assertEqual(got, 415, wrong)
            self.assertEqual(headers["accept-post"], "application/json, application/proto")
        self.assertEqual(call(LEDGERS + "GetLedger", '{"name":"projects/p/ledgers/none"}',
                              {"content-type": "application/json; charset=utf-8"})[0], 404)
        self.assertEqual(call(LEDGERS + "Append", "{}")[0], 505)

    def test_keeps_foreign_pages_out(self):
        body = '{"name":"projects/p/ledgers/none"}'
        for origin, expected in (("https://evil.example", 403), ("null", 403), ("http://" + SERVER, 404),
                                 ("https://page.example", 404), ("https://page.example.evil", 403)):
            status, headers, _ = call(LEDGERS + "GetLedger", body, {"origin": origin})
            self.assertEqual(status, expected, origin)
            listed = origin == "https://page.example"
            self.assertEqual(headers.get("access-control-allow-origin"), origin if listed else None)
            preflight = call(LEDGERS + "GetLedger", None, {"origin": origin, "access-control-request-method": "POST"},
                             method="OPTIONS")
            if expected == 403:
                self.assertEqual(preflight[0], 403)
            elif listed:
                self.assertEqual(preflight[0], 204)
                self.assertIn("connect-protocol-version", preflight[1]["access-control-allow-headers"])
        query = LEDGERS + "GetLedger?connect=v1&encoding=json&message=%7B%7D"
        for site, expected in (("cross-site", 403), ("same-site", 403), ("same-origin", 400), ("none", 400)):
            self.assertEqual(call(query, None, {"sec-fetch-site": site}, method="GET")[0], expected, site)
        for host, expected in (("evil.example", 421), ("evil.example:80", 421), ("localhost:1", 404)):
            self.assertEqual(call(LEDGERS + "GetLedger", body, {"host": host})[0], expected, host)

    def test_refuses_tricks_of_the_path(self):
        method = "dpledger.v1.LedgerService/GetLedger"
        body = '{"name":"projects/p/ledgers/none"}'
        for path in ("//" + method, "/x/../" + method, "/%2e%2e/" + method, "/./" + method, "/" + method + "%00",
                     "/dpledger.v1.LedgerService%2fGetLedger", "http://x/" + method, "/tlog/../metrics",
                     "/tlog/projects/p/ledgers/..%2f..%2f..%2fcheckpoint"):
            self.assertEqual(call(path, body)[0], 400, path)
        for path in ("/" + method + "/", "/DPLEDGER.v1.LedgerService/GetLedger", "/" + method + "x"):
            status, _, data = call(path, body)
            self.assertEqual((status, json.loads(data)["code"]), (404, "unimplemented"), path)
        self.assertEqual(json.loads(call("/" + method, body)[2])["code"], "not_found")
        for path in ("/tlog/", "/tlog/projects/p", "/tlog/tile/0/x", "/tlog/projects/p/ledgers/none/checkpoint"):
            self.assertIn(call(path, None, method="GET")[0], (400, 404), path)

    def test_refuses_two_of_a_header_and_two_requests_in_one(self):
        def raw(text):
            host, port = SERVER.split(":")
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                connection.sendall(text)
                got = b""
                while more := connection.recv(65536):
                    got += more
                return got
        name = b"projects/smuggled/ledgers/a"
        hidden_body = json.dumps({"name": name.decode(), "requestId": "1", "declaration": DECLARATION}).encode()
        head = b"POST " + LEDGERS.encode() + b"%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        hidden = head % b"CreateLedger" + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(hidden_body) + hidden_body
        begin = head % b"GetLedger"
        for framing in (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                        b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
                        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
                        b"Origin: http://localhost\r\nOrigin: null\r\nContent-Length: 2\r\n\r\n{}",
                        b"Content-Length: 2\r\nX: y\r\n z\r\n\r\n{}"):
            got = raw(begin + framing + hidden)
            self.assertIn(got.split(b" ")[1], (b"400", b"501"), framing)
            self.assertEqual(got.count(b"HTTP/1.1 "), 1, got)
        self.assertEqual(ask(LEDGERS + "GetLedger", {"name": name.decode()})[0], 404)
        # Behind a request that is whole, the same bytes are the next one.
        self.assertEqual(raw(begin + b"Content-Length: 2\r\n\r\n{}" + hidden).count(b"HTTP/1.1 "), 2)
        self.assertEqual(ask(LEDGERS + "GetLedger", {"name": name.decode()})[0], 200)

    def test_counts_calls_of_both_doors(self):
        self.assertEqual(call("/healthz", None, method="GET")[0], 200)
        self.assertEqual(call("/readyz", None, method="GET")[0], 200)
        begin = "grpc_server_handled_total{"
        labels = 'grpc_code="NotFound",grpc_method="GetLedger"'

        def count():
            text = call("/metrics", None, method="GET")[2].decode()
            return float(next(one for one in text.splitlines() if one.startswith(begin) and labels in one).split()[-1])

        before = count()
        call(LEDGERS + "GetLedger", '{"name":"projects/p/ledgers/none"}')
        self.assertEqual(count(), before + 1)

    def test_speaks_grpc_web(self):
        request = b"\x0a" + bytes([len(b"projects/p/ledgers/none")]) + b"projects/p/ledgers/none"
        enveloped = b"\0" + len(request).to_bytes(4, "big") + request
        kind = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1"}
        status, headers, data = call(LEDGERS + "GetLedger", enveloped, kind)
        self.assertEqual((status, headers["content-type"]), (200, "application/grpc-web+proto"))
        self.assertEqual(data[0], 0x80)
        self.assertEqual(int.from_bytes(data[1:5], "big"), len(data) - 5)
        self.assertTrue(data[5:].startswith(b"grpc-status: 5\r\ngrpc-message: projects/p/ledgers/none: no such"))
        self.assertIn(b"\r\ngrpc-status-details-bin: ", data)
        for wrong in (b"", enveloped[:-1], enveloped + b"x", enveloped * 2, b"\x02" + enveloped[1:],
                      b"\x01" + enveloped[1:]):
            self.assertIn(b"grpc-status: 3\r\n", call(LEDGERS + "GetLedger", wrong, kind)[2])
        packed = gzip.compress(request)
        packed = b"\1" + len(packed).to_bytes(4, "big") + packed
        self.assertEqual(call(LEDGERS + "GetLedger", packed, {**kind, "grpc-encoding": "gzip"})[2], data)

    def test_curl(self):
        url = "http://" + SERVER + "/dpledger.v1.AccountingService/ComputeEpsilon"
        ran = subprocess.run(["curl", "-sS", "--max-time", "20", url, "-H", "content-type: application/json", "-d",
                              json.dumps(QUESTION)], capture_output=True, check=True)
        self.assertIn("epsilon", json.loads(ran.stdout))
        large = json.dumps({"name": "x" * 2000000})  # curl asks before it sends so much
        ran = subprocess.run(["curl", "-sS", "--max-time", "20", url.replace("ComputeEpsilon", "Nope"), "-H",
                              "expect: 100-continue", "-H", "content-type: application/json", "-d", "@-"],
                             input=large.encode(), capture_output=True, check=True)
        self.assertEqual(json.loads(ran.stdout)["code"], "unimplemented")


if __name__ == "__main__":
    unittest.main()
