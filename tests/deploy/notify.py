#!/usr/bin/env python3
"""deploy/dpledger-notify beside a real server, a web server and a mail relay: everything once, signed, and again only
where it did not arrive or something else is the matter.

usage: notify.py SOURCE BIN
"""
import contextlib
import fcntl
import hashlib
import hmac
import http.server
import io
import json
import pathlib
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import xml.etree.ElementTree as ElementTree
from email import message_from_bytes, policy

SOURCE, BIN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SECRET = b"a secret that nobody is told"
ODD = "odd \u202e<b>&name"


class Hook(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers as the test says."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Dpledger-Signature"], body))
        status = self.server.answers.pop(0) if self.server.answers else 204
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Relay(socketserver.StreamRequestHandler):
    """As much of SMTP (RFC 5321) as one mail needs; refuses recipients that are called nobody."""

    def handle(self):
        self.wfile.write(b"220 relay\r\n")
        for line in self.rfile:
            word = line.split()[0].upper() if line.split() else b""
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.got.append(b"".join(lines))
                self.wfile.write(b"250 taken\r\n")
            elif word == b"RCPT" and b"nobody" in line:
                self.wfile.write(b"550 no such user\r\n")
            elif word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 fine\r\n")


def serve(kind, handler):
    server = kind(("127.0.0.1", 0), handler)
    server.daemon_threads, server.got, server.answers = True, [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Notify(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "secret").write_bytes(SECRET + b"\n")
        port = self.folder / "port"
        self.server = subprocess.Popen([BIN / "dpledger-server", "--store", self.folder / "store", "--listen",
                                        "127.0.0.1:0", "--port-file", port, "--log-level", "error"])
        self.addCleanup(self.stop)
        end = time.monotonic() + 30
        while not port.exists() or not port.read_text().strip():
            self.assertLess(time.monotonic(), end, "the server does not start")
            time.sleep(.05)
        self.address = port.read_text().strip()
        self.hook = serve(http.server.ThreadingHTTPServer, Hook)
        self.relay = serve(socketserver.ThreadingTCPServer, Relay)
        for one in (self.hook, self.relay):
            self.addCleanup(one.server_close)
            self.addCleanup(one.shutdown)

    def stop(self):
        self.server.terminate()
        self.server.wait(timeout=30)

    def dpledger(self, *words):
        return subprocess.run([BIN / "dpledger", *words, "--server", self.address], check=True, capture_output=True,
                              text=True).stdout

    def adaptive(self, name, dataset="d"):
        """A ledger whose epsilon is refused: one thing to act on."""
        self.dpledger("ledger", "create", name, "--dataset", dataset, "--unit", "example", "--adjacency",
                      "add-or-remove-one", "--parameters", "adaptive")
        end = time.monotonic() + 30  # its cost is worked out beside the calls
        while name not in self.dpledger("attention"):
            self.assertLess(time.monotonic(), end, "the server says nothing of " + name)
            time.sleep(.05)

    def notify(self, *words, state="state"):
        done = subprocess.run(
            [SOURCE / "deploy/dpledger-notify", "--state", self.folder / state, "--dpledger", BIN / "dpledger",
             "--timeout", "0.5", *words, "--", "--server", self.address], capture_output=True, text=True)
        self.assertNotIn(SECRET.decode(), done.stdout + done.stderr)
        return done.returncode, done.stderr

    def hooked(self, path="/hook"):
        return ["--webhook", "http://127.0.0.1:%d%s" % (self.hook.server_address[1], path),
                "--webhook-secret-file", self.folder / "secret"]

    def mailed(self, to="auditor@example.org"):
        return ["--mail-relay", "127.0.0.1:%d" % self.relay.server_address[1], "--mail-tls", "none", "--mail-from",
                "dpledger@example.org", "--mail-to", to]

    def ids(self):
        return [item["id"] for item in json.loads(self.dpledger("attention", "--json"))["items"]]

    def test_a_webhook_is_signed_and_told_once(self):
        self.adaptive("one")
        self.adaptive("two", ODD)
        self.assertEqual(self.notify(*self.hooked()), (0, ""))
        [(path, signature, body)] = self.hook.got
        self.assertEqual(path, "/hook")
        moment, mac = (part.split("=")[1] for part in signature.split(","))
        self.assertEqual(mac, hmac.new(SECRET, moment.encode() + b"." + body, hashlib.sha256).hexdigest())
        items = json.loads(body)["items"]
        self.assertEqual({item["reason"] for item in items}, {"EPSILON_REFUSED"})
        self.assertIn(ODD, [name for item in items for name in item["datasets"]])
        self.assertEqual(self.notify(*self.hooked()), (0, ""))
        self.assertEqual(len(self.hook.got), 1, "nothing new")
        self.adaptive("three")
        self.notify(*self.hooked())
        self.assertEqual([item["ledger"] for item in json.loads(self.hook.got[1][2])["items"]],
                         ["projects/default/ledgers/three"])

    def test_what_is_acknowledged_is_not_told(self):
        self.adaptive("one")
        [one] = self.ids()
        self.dpledger("acknowledge", one, "--text", "known", "--assign", "the night shift")
        self.assertIn("acknowledged", self.dpledger("attention"))
        self.assertIn("the night shift: known", self.dpledger("attention"))
        self.assertEqual(self.notify(*self.hooked()), (0, ""))
        self.assertEqual(self.hook.got, [])
        self.dpledger("acknowledge", one, "--reopen")
        self.notify(*self.hooked())
        self.assertEqual(len(self.hook.got), 1)

    def test_a_receiver_that_fails_is_tried_again_and_the_next_time(self):
        self.adaptive("one")
        self.hook.answers[:] = [500, 503]
        self.assertEqual(self.notify(*self.hooked()), (0, ""))
        self.assertEqual(len(self.hook.got), 3)
        self.adaptive("two")
        self.hook.got.clear()
        self.hook.answers[:] = [404]
        code, error = self.notify(*self.hooked())
        self.assertEqual((code, len(self.hook.got)), (1, 1), "what will not change is not tried again")
        self.assertIn("HTTP status 404", error)
        self.assertEqual(self.notify(*self.hooked()), (0, ""))
        self.assertEqual(len(self.hook.got), 2)

    def test_a_redirection_is_not_followed(self):
        self.adaptive("one")
        self.hook.answers[:] = [302]
        code, error = self.notify(*self.hooked())
        self.assertEqual(code, 1)
        self.assertIn("HTTP status 302", error)
        self.assertEqual([path for path, _, _ in self.hook.got], ["/hook"])

    def test_a_receiver_that_hangs_ends_nothing_else(self):
        self.adaptive("one")
        quiet = socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler)  # accepts, says nothing
        self.addCleanup(quiet.server_close)
        code, error = self.notify("--webhook", "http://127.0.0.1:%d/" % quiet.server_address[1],
                                  "--webhook-secret-file", self.folder / "secret", *self.mailed())
        self.assertEqual(code, 1)
        self.assertIn("timed out", error)
        self.assertEqual(len(self.relay.got), 1)

    def test_a_mail_lists_what_is_new_as_text(self):
        self.adaptive("one", ODD)
        self.assertEqual(self.notify(*self.mailed()), (0, ""))
        mail = message_from_bytes(self.relay.got[0], policy=policy.default)
        self.assertEqual(mail["Subject"], "dpledger: 1 thing needs attention")
        text = mail.get_content()
        self.assertIn("one: epsilon is refused", text)
        self.assertIn("dpledger acknowledge " + self.ids()[0], text)
        self.assertEqual(self.notify(*self.mailed()), (0, ""))
        self.assertEqual(len(self.relay.got), 1)
        code, error = self.notify(*self.mailed("nobody@example.org"), state="other")
        self.assertEqual(code, 1)
        self.assertIn("refused nobody@example.org", error)
        self.assertEqual(self.notify(*self.mailed(), state="other"), (0, ""))

    def test_what_fails_on_one_way_is_not_told_again_on_another(self):
        self.adaptive("one")
        both = self.mailed() + ["--mail-to", "nobody@example.org"]
        for _ in range(3):
            code, error = self.notify(*both, "--atom", self.folder / "no/such/feed")
            self.assertEqual(code, 1)
            self.assertIn("refused nobody@example.org", error)
            self.assertNotIn("Traceback", error)
        self.assertEqual(len(self.relay.got), 1)

    def test_what_is_not_listed_for_a_while_is_not_told_again(self):
        self.adaptive("one")
        self.notify(*self.hooked())
        silent = self.folder / "silent"
        silent.write_text("#!/bin/sh\necho '{\"items\":[]}'\n")
        silent.chmod(0o755)
        self.assertEqual(self.notify(*self.hooked(), "--dpledger", silent), (0, ""))
        self.notify(*self.hooked())
        self.assertEqual(len(self.hook.got), 1)

    def test_a_run_beside_another_ends_at_once(self):
        self.adaptive("one")
        lock = open(self.folder / "state.lock", "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, error = self.notify(*self.hooked())
        self.assertEqual(code, 1)
        self.assertIn("another run has", error)
        self.assertEqual(self.hook.got, [])

    def test_a_receiver_that_drips_ends_with_the_run(self):
        self.adaptive("one")

        class Drip(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):  # the run has ended
                    for _ in range(100):
                        self.request.sendall(b"x")
                        time.sleep(.1)

        drip = serve(socketserver.ThreadingTCPServer, Drip)
        self.addCleanup(drip.server_close)
        self.addCleanup(drip.shutdown)
        program = types.ModuleType("program")
        exec((SOURCE / "deploy/dpledger-notify").read_text(), program.__dict__)
        program.RUN_S = 2
        began = time.monotonic()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = program.main(["--state", str(self.folder / "state"), "--dpledger", str(BIN / "dpledger"),
                                 "--webhook", "http://127.0.0.1:%d/" % drip.server_address[1], "--webhook-secret-file",
                                 str(self.folder / "secret"), "--", "--server", self.address])
        self.assertEqual(code, 1)
        self.assertIn("took more than 2 s", said.getvalue())
        self.assertLess(time.monotonic() - began, 6)

    def test_an_answer_that_is_no_http_is_named(self):
        self.adaptive("one")

        class Garbage(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.recv(65536)
                self.request.sendall(b"garbage\r\n\r\n")

        garbage = serve(socketserver.ThreadingTCPServer, Garbage)
        self.addCleanup(garbage.server_close)
        self.addCleanup(garbage.shutdown)
        code, error = self.notify("--webhook", "http://127.0.0.1:%d/" % garbage.server_address[1],
                                  "--webhook-secret-file", self.folder / "secret", *self.mailed())
        self.assertEqual(code, 1)
        self.assertIn("no answer of HTTP", error)
        self.assertEqual(len(self.relay.got), 1)

    def test_a_feed_has_all_that_is_open(self):
        self.adaptive("one", ODD)
        feed = self.folder / "feed.xml"
        self.assertEqual(self.notify("--atom", feed), (0, ""))
        first = feed.read_bytes()
        root = ElementTree.fromstring(first)
        space = {"a": "http://www.w3.org/2005/Atom"}
        [entry] = root.findall("a:entry", space)
        self.assertEqual(entry.find("a:id", space).text, "urn:dpledger:attention:" + self.ids()[0])
        self.assertNotIn("\u202e", first.decode())
        for name in ("id", "title", "updated", "author/a:name"):
            self.assertTrue(root.find("a:" + name, space).text)
        self.assertEqual(self.notify("--atom", feed), (0, ""))
        self.assertEqual(feed.read_bytes(), first, "a reader sees nothing new")

    def test_wrong_flags_are_named_and_tell_nobody(self):
        self.adaptive("one")
        (self.folder / "short").write_text("short")
        hook = "http://127.0.0.1:%d/" % self.hook.server_address[1]
        secret = str(self.folder / "secret")
        for words, wanted in [
                ([], "give --webhook"),
                (["--webhook", hook], "go together"),
                (["--webhook", hook + "T0KEN x", "--webhook-secret-file", secret], "without blanks"),
                (["--webhook", hook, "--webhook-url-file", secret], "must not be given beside"),
                (["--webhook-url-file", secret, "--webhook-secret-file", secret], "must be https://"),
                (["--webhook", hook, "--webhook-secret-file", "/no/such"], "/no/such: No such file"),
                (["--mail-relay", "host:port"], "must be HOST"),
                (self.mailed("a@b.c,d@e.f"), "must be one address"),
                (self.mailed("a@[x"), "must be one address"),
                (["--webhook", "http://example.org/", "--webhook-secret-file", secret], "must be https://"),
                (["--webhook", "file:///etc/passwd", "--webhook-secret-file", secret], "must be https://"),
                (["--webhook", hook, "--webhook-secret-file", str(self.folder / "short")], "at least 16 bytes"),
                (["--mail-relay", "localhost"], "needs --mail-from"),
                (self.mailed("a@b\nBcc: c@d"), "must be one address"),
                (self.mailed() + ["--mail-login-file", secret], "without TLS")]:
            code, error = self.notify(*words)
            self.assertNotEqual(code, 0, words)
            self.assertIn(wanted, error)
            self.assertNotIn("T0KEN", error)
            self.assertNotIn("Traceback", error)
        for wrong in ("{}", '{"items": {"x": 5}}', '{"items": []}', "x"):
            (self.folder / "state").write_text(wrong)
            code, error = self.notify(*self.hooked())
            self.assertEqual(code, 1)
            self.assertIn("is no state of this program", error)
        self.assertEqual((self.hook.got, self.relay.got), ([], []))

    def test_a_server_that_is_away_is_said(self):
        self.stop()
        code, error = self.notify(*self.hooked())
        self.assertEqual(code, 6)
        self.assertIn(self.address, error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
