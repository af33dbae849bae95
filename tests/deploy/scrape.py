#!/usr/bin/env python3
"""Debian's Prometheus, with the configuration of deploy/prometheus, scrapes a server with TLS and known callers by a
token of its own; and does not with another token.

usage: scrape.py SOURCE BIN    exit 77: prometheus or openssl is not installed
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

NOT_RUN = 77  # as ctest is told


def await_that(what, seconds, predicate):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = predicate()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds} s")


def stop(process):
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout=30)


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, check=True)


def make_certificates(folder):
    (folder / "names").write_text("subjectAltName=DNS:dpledger,DNS:localhost,IP:127.0.0.1\n")
    for name in ("ca", "server"):
        openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl(folder, "req", "-x509", "-new", "-key", "ca.key", "-out", "ca.pem", "-days", "1", "-subj", "/CN=test")
    openssl(folder, "req", "-new", "-key", "server.key", "-out", "server.csr", "-subj", "/CN=dpledger")
    openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "server.pem", "-days", "1", "-extfile", "names")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus:
    def __init__(self, source, folder, name, address, token):
        self.folder = folder / name
        shutil.copytree(source / "deploy/prometheus", self.folder)
        shutil.copy(folder / "ca.pem", self.folder)
        (self.folder / "token").write_text(token)
        config = self.folder / "prometheus.yml"
        text = config.read_text()
        assert "dpledger:7070" in text and "15s" in text
        config.write_text(text.replace("dpledger:7070", address).replace("15s", "1s"))
        self.port = free_port()
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'data'}",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"])

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def value(self, expression):
        data = self.ask("query", query=expression)
        return float(data["result"][0]["value"][1]) if data and data["result"] else None


def run(source, binaries, folder):
    make_certificates(folder)
    port_file = folder / "port"
    server = subprocess.Popen(
        [binaries / "dpledger-server", "--listen", "127.0.0.1:0", "--port-file", port_file, "--store", folder / "store",
         "--cert", folder / "server.pem", "--cert-key", folder / "server.key", "--identity", "--log-level", "error"])
    watchers = []
    try:
        address = await_that("the server starts", 30, lambda: port_file.exists() and port_file.read_text().strip())
        subprocess.run(
            [binaries / "dpledger", "admin", "token", "create", "prometheus", "--grant", "analyst projects/none",
             "--out", folder / "token", "--server", address, "--ca", folder / "ca.pem",
             "--token-file", folder / "store.tokens.first-admin"], check=True, capture_output=True)
        known = Prometheus(source, folder, "known", address, (folder / "token").read_text())
        stranger = Prometheus(source, folder, "stranger", address, "dpl_" + "A" * 43)
        watchers = [known, stranger]
        await_that("the known one scrapes", 60, lambda: known.value("up") == 1)
        await_that("the stranger has tried", 60, lambda: stranger.value("up") is not None)
        assert stranger.value("up") == 0, "a stranger reads the figures"
        assert known.value("dpledger_ready") == 1
        ends = known.value("dpledger_certificate_expiry_timestamp_seconds")
        assert 0 < ends - time.time() < 86400, ends
        rules = await_that("the rules are evaluated", 30, lambda: [
            rule for group in (known.ask("rules") or {"groups": []})["groups"] for rule in group["rules"]
            if rule["health"] == "ok"])
        assert len(rules) >= 15, len(rules)
        assert all(rule["health"] == "ok" for rule in rules)
        firing = await_that("the certificate's end is noticed", 30, lambda: known.value(
            'count(ALERTS{alertname="DpledgerCertificateEnds",alertstate="firing"})'))
        assert firing == 1
        print(f"{address}: scraped; {len(rules)} rules evaluated")
    finally:
        for watcher in watchers:
            stop(watcher.process)
        stop(server)


def main():
    for program in ("prometheus", "openssl"):
        if shutil.which(program) is None:
            print(f"NOT RUN: {program} is not installed")
            return NOT_RUN
    with tempfile.TemporaryDirectory() as folder:
        os.umask(0o077)
        run(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
