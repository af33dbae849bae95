#!/usr/bin/env python3
"""The files of deploy/proxies, with other addresses, in front of real servers: a run streams through the proxy, the page
and a question are answered, the access record has the caller's address, and a proxy that is not trusted says nothing. And a witness is reached by its name through one.

usage: proxies.py SOURCE BIN    exit 77: nginx, haproxy, curl or openssl is not installed
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scrape import NOT_RUN, await_that, free_port, make_certificates, openssl, stop  # noqa: E402

EVENT = {"rounds": {"scheme": {"poisson": {"probability": 0.01}}, "count": "1",
                    "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}
CLIENT = "127.0.0.7"  # the address that callers dial from


class Server:
    def __init__(self, folder, bin, name, *flags):
        self.folder, self.bin, self.store = folder, bin, folder / name
        port = folder / f"{name}.port"
        self.log = (folder / f"{name}.log").open("w")
        self.process = subprocess.Popen(
            [bin / "dpledger-server", "--listen", "127.0.0.1:0", "--port-file", port, "--store", self.store,
             "--identity", "--http-host", "ledger.example", "--checkpoint-seconds", "0.2", *flags], stderr=self.log)
        await_that("the server's port", 30, port.exists)
        self.address = port.read_text().strip()
        self.port = self.address.split(":")[1]
        self.token = folder / f"{name}.tokens.first-admin"

    def stop(self):
        assert stop(self.process) == 0
        self.log.close()


def replaced(text, *changes):
    for old, new in changes:
        assert old in text, f"the file does not say {old!r}"
        text = text.replace(old, new)
    return text


def nginx(source, folder, server, port, *changes):
    site = replaced((source / "deploy/proxies/nginx.conf").read_text(), ("127.0.0.1:7070", server.address),
                    ("listen 443", f"listen 127.0.0.1:{port}"), ("/etc/nginx/ledger.pem", str(folder / "server.pem")),
                    ("/etc/nginx/ledger.key", str(folder / "server.key")), *changes)
    temporary = " ".join(f"{kind}_temp_path {folder}/nginx-{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config = folder / f"nginx-{port}.conf"
    config.write_text(f"pid {folder}/nginx-{port}.pid; error_log {folder}/nginx.log; daemon off; worker_processes 1;\n"
                      f"events {{ }}\nhttp {{ access_log off; {temporary}\n{site}\n}}\n")
    return subprocess.Popen(["nginx", "-e", f"{folder}/nginx.log", "-c", config])


def impatient_nginx(source, folder, server, port):
    return nginx(source, folder, server, port, (" 1d;", " 2s;"), (" 1h;", " 2s;"))


def haproxy(source, folder, server, port):
    config = folder / f"haproxy-{port}.cfg"
    config.write_text(replaced((source / "deploy/proxies/haproxy.cfg").read_text(),
                               ("192.0.2.11:7070", server.address), ("bind :443", f"bind 127.0.0.1:{port}")))
    return subprocess.Popen(["haproxy", "-q", "-db", "-f", config])


class Caller:
    """Somebody with the server's first token, behind the proxy at this port."""

    def __init__(self, folder, server, port):
        self.folder, self.server = folder, server
        self.base = f"https://localhost:{port}"
        self.flags = ["--server", f"localhost:{port}", "--ca", folder / "ca.pem", "--token-file", server.token]

    def dpledger(self, *arguments, check=True):
        done = subprocess.run([self.server.bin / "dpledger", *arguments, *self.flags], capture_output=True, text=True)
        assert done.returncode == 0 or not check, done.stderr
        return done

    def curl(self, path, *arguments):
        token = self.server.token.read_text().split()[0]
        return subprocess.run(
            ["curl", "--silent", "--show-error", "--interface", CLIENT, "--cacert", self.folder / "ca.pem",
             "--header", "Host: ledger.example", "--header", f"Authorization: Bearer {token}", *arguments,
             self.base + path], capture_output=True, text=True).stdout

    def ask(self, method, message):
        return json.loads(self.curl(f"/dpledger.v1.{method}", "--header", "Content-Type: application/json",
                                    "--data", json.dumps(message)))

    def seen_as(self):
        """The address that the record has for a call of administration that was made through the proxy."""
        self.ask("AdminService/ListTokens", {})
        found = self.ask("AdminService/ListAccess", {"permission": "administer"})["access"]
        return next(access["peer"] for access in found if access["administers"]["method"] == "ListTokens")


def walk(caller, name, idle):
    """What users do, and that a watch outlives a silence, whether its stream does or not."""
    await_that(f"{name} to answer", 20, lambda: "ok" in caller.curl("/healthz"))
    caller.dpledger("ledger", "create", "run", "--dataset", "d", "--unit", "u", "--adjacency", "add-or-remove-one",
                    "--parameters", "fixed")
    events = caller.folder / "events.jsonl"
    events.write_text(json.dumps(EVENT) + "\n")
    caller.dpledger("ledger", "append", "run", "--events", events)
    with (caller.folder / "watched").open("w") as out:
        watch = subprocess.Popen([caller.server.bin / "dpledger", "ledger", "watch", *caller.flags], stdout=out)

    def watched():
        return (caller.folder / "watched").read_text().count("ledgers/run")

    def heard():  # a watch that has not begun yet hears nothing of what came before it
        caller.dpledger("ledger", "append", "run", "--events", events)
        return watched()

    try:
        await_that(f"{name}: the watch", 60, heard)
        time.sleep(idle)
        before = watched()
        caller.dpledger("ledger", "append", "run", "--events", events)
        await_that(f"{name}: the watch after {idle} s", 20, lambda: watched() > before)
        assert watch.poll() is None, f"{name}: the watch has ended"
    finally:
        watch.send_signal(signal.SIGTERM)
        watch.wait(timeout=20)
    asked = caller.ask("AccountingService/ComputeEpsilon",
                       {"subject": {"ledgers": ["projects/default/ledgers/run"]}, "delta": 1e-5})
    assert 0 < asked["epsilon"]["upper"] < 10, asked
    assert "<title>" in caller.curl("/", "--header", "Accept: text/html"), f"{name}: no page"
    caller.dpledger("ledger", "verify", "run", "--self-signed")


def https_witness(source, bin, folder):
    """A witness behind nginx cosigns by its name, and is not believed under another name or another authority's."""
    key, port_file, name = folder / "witness.pem", folder / "witness.port", "example.org/w"

    def checkpoint(server):
        return json.loads(subprocess.run(
            ["curl", "--silent", "--header", "Host: ledger.example", "--header", "Content-Type: application/json",
             "--header", f"Authorization: Bearer {server.token.read_text().split()[0]}", "--data", "{}",
             f"http://{server.address}/dpledger.v1.AuditService/GetCheckpoint"], capture_output=True, text=True).stdout)

    server = Server(folder, bin, "witnessed")
    log_key = await_that("a checkpoint", 30, lambda: checkpoint(server).get("verifierKeys"))[0]
    server.stop()
    command = [bin / "dpledger-witness", "--signing-key", key, "--name", name]
    witness_key = subprocess.run([*command, "--print-key"], capture_output=True, text=True, check=True).stdout.strip()
    with (folder / "witness.log").open("w") as log:
        witness = subprocess.Popen([*command, "--state", folder / "witness", "--listen", "127.0.0.1:0", "--port-file",
                                    port_file, "--consistency-only", "--log-key", log_key], stderr=log)
    await_that("the witness's port", 30, port_file.exists)
    port = free_port()
    listen = f"listen 127.0.0.1:{port} ssl http2;"
    proxy = nginx(source, folder, SimpleNamespace(address=port_file.read_text().strip()), port,
                  (listen, listen + listen.replace("127.0.0.1", "127.0.0.2")))
    openssl(folder, "req", "-x509", "-new", "-key", "ca.key", "-out", "other.pem", "-days", "1", "-subj", "/CN=other")
    refused = "certificate verify failed"
    try:
        for host, authority, failure in (("127.0.0.2", "ca.pem", refused), ("localhost", "other.pem", refused),
                                         ("no-such-name.invalid", "ca.pem", "no address of no-such-name.invalid"),
                                         ("localhost", "ca.pem", None)):
            server = Server(folder, bin, "witnessed", "--witness", f"https://{host}:{port}/", "--witness-key",
                            witness_key, "--witness-ca", folder / authority)
            log = folder / "witnessed.log"
            try:
                if failure:
                    await_that(f"{host}: {failure}", 30, lambda: failure in log.read_text())
                    assert f"\u2014 {name} " not in checkpoint(server)["note"]
                else:
                    await_that("a cosignature", 30, lambda: f"\u2014 {name} " in checkpoint(server)["note"])
            finally:
                server.stop()
            print(f"a witness at {host}, authority {authority}: {failure or 'cosigns'}")
    finally:
        proxy.terminate()
        proxy.wait(timeout=20)
        stop(witness)


def main():
    source, bin = map(pathlib.Path, sys.argv[1:])
    missing = [tool for tool in ("nginx", "haproxy", "curl", "openssl") if shutil.which(tool) is None]
    if missing:
        print(f"not run: {', '.join(missing)} is not installed")
        sys.exit(NOT_RUN)
    page = ["--http-files", bin.parent / "dashboard"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        make_certificates(folder)
        tls = ["--cert", folder / "server.pem", "--cert-key", folder / "server.key"]
        cases = [
            ("nginx", nginx, ["--trusted-proxy", "127.0.0.1"], CLIENT),
            ("nginx that ends streams, not trusted", impatient_nginx, [], "127.0.0.1:"),
            ("haproxy", haproxy, [*tls, "--trusted-proxy", "127.0.0.0/8", "--proxy-protocol"], f"{CLIENT}:"),
        ]
        for i, (what, proxy, flags, address) in enumerate(cases):
            server = Server(folder, bin, f"store{i}", *page, *flags)
            port = free_port()
            running = proxy(source, folder, server, port)
            try:
                caller = Caller(folder, server, port)
                walk(caller, what, idle=5)
                seen = caller.seen_as()
                assert seen.startswith(address), f"{what}: the caller is {seen}, not {address}"
                print(f"{what}: the caller is {seen}")
            finally:
                running.terminate()
                running.wait(timeout=20)
                server.stop()
        https_witness(source, bin, folder)


main()
