#!/usr/bin/env python3
"""Runs the conformance list against a dpledger-server: Python's http.client and curl, then npm's stock clients, and
connect-web in Chromium.

usage: run.py SOURCE BIN WORK    SOURCE: the checkout; BIN: the programs; WORK: a folder to install npm's packages into

The packages are not part of the project: without a network for npm, or without Chromium, their part is left out, and
the last lines say so.
"""
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


NOT_RUN = 77  # as ctest is told


def npm(work, seconds, *words):
    """Runs npm. Why it failed, in a line, or an empty text."""
    try:
        ran = subprocess.run(["npm", *words], cwd=work, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "the registry does not answer"
    return "" if ran.returncode == 0 else "; ".join(ran.stderr.split("\n")[:3]) or "npm %s failed" % words[0]


def install(work):
    """Whether npm's packages are in `work`, at the versions of package.json."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    shutil.copy(HERE / "package.json", work / "package.json")
    done = work / "installed.json"
    if done.exists() and done.read_text() == (HERE / "package.json").read_text():
        return ""
    words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    if npm(work, 120, *words, "--offline"):  # npm's cache does not have them all
        # A short question first: an install retries for minutes where there is no way to the registry.
        failed = npm(work, 60, "view", "esbuild", "name", "--loglevel=error", "--fetch-retries=0",
                     "--fetch-timeout=10000") or npm(work, 240, *words)
        if failed:
            return "npm's packages cannot be fetched: " + failed
    shutil.copy(HERE / "package.json", done)
    return ""


SERVICES = ("dpledger/v1/ledger_service.proto", "dpledger/v1/accounting_service.proto", "dpledger/v1/audit_service.proto",
            "grpc/health/v1/health.proto", "google/rpc/error_details.proto")


def prepare(source, work, pages):
    """Describes the services, and bundles connect-web with its checks into a page: the server reads pages once."""
    descriptors = work / "descriptors.bin"
    subprocess.run(["protoc", "-I", str(source / "proto"), "--include_imports", "--descriptor_set_out=" + str(descriptors),
                    *SERVICES], check=True)
    # Imports are resolved from where a module stands.
    for module in ("setup.mjs", "stock_clients.mjs", "against_connect_node.mjs", "web_clients.mjs"):
        shutil.copy(HERE / module, work / module)
    (pages / "clients.html").write_text(
        '<!doctype html><title>clients</title><body></body><script type="module" src="/clients.js"></script>')
    subprocess.run([str(work / "node_modules/.bin/esbuild"), "web_clients.mjs", "--bundle", "--format=esm",
                    "--loader:.bin=binary", "--log-level=warning", "--outfile=" + str(pages / "clients.js")], cwd=work,
                   check=True, timeout=60)
    return descriptors


def found_by(server):
    """What the page has found; None: it has not ended yet."""
    connection = http.client.HTTPConnection(server.http, timeout=10)
    connection.request("POST", "/dpledger.v1.LedgerService/GetLedger", '{"name":"projects/web/ledgers/found"}',
                       {"content-type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer["declaration"]["description"].splitlines() if "declaration" in answer else None


def passes_in_browser(server, folder):
    """Whether every line of web_clients.mjs says ok, in Chromium, under the server's content security policy."""
    browser = subprocess.Popen(["chromium", "--headless", "--disable-gpu", "--user-data-dir=" + str(folder / "profile"),
                                *(["--no-sandbox"] if os.geteuid() == 0 else []), "--remote-debugging-port=0",
                                "http://" + server.http + "/clients.html"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while (lines := found_by(server)) is None and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        browser.terminate()
        browser.wait(timeout=30)
    print("connect-web in Chromium:", *(lines or ["nothing in 60 s"]), sep="\n  ")
    return lines is not None and len(lines) == 5 and all(line.endswith(": ok") for line in lines)


class Server:
    def __init__(self, binaries, folder, pages):
        grpc, web = folder / "grpc", folder / "http"
        self.process = subprocess.Popen(
            [str(binaries / "dpledger-server"), "--listen", "127.0.0.1:0", "--port-file", str(grpc), "--http-listen",
             "127.0.0.1:0", "--http-port-file", str(web), "--http-files", str(pages), "--store",
             str(folder / "store"), "--http-origin", "https://page.example", "--checkpoint-seconds", "0.1", "--log-level", "warning"])
        end = time.monotonic() + 30
        while not (grpc.exists() and web.exists() and web.read_text().strip() and grpc.read_text().strip()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("the server does not start")
            time.sleep(0.02)
        self.grpc, self.http = grpc.read_text().strip(), web.read_text().strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


def main():
    source, binaries, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    work.mkdir(parents=True, exist_ok=True)
    failed = 0
    skipped = install(work)
    browser = shutil.which("chromium") is not None
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pages = folder / "pages"
        pages.mkdir()
        descriptors = None if skipped else prepare(source, work, pages)
        server = Server(binaries, folder, pages)
        try:
            environment = dict(os.environ, SERVER_HTTP=server.http, SERVER_GRPC=server.grpc)
            failed += subprocess.run([sys.executable, str(HERE / "plain_clients.py")], env=environment).returncode != 0
            if not skipped:
                for module in ("stock_clients.mjs", "against_connect_node.mjs"):
                    ran = subprocess.run(["node", "--test", "--test-reporter=spec", module], cwd=work, timeout=240,
                                         env=dict(environment, DESCRIPTORS=str(descriptors)))
                    failed += ran.returncode != 0
                if browser:
                    failed += not passes_in_browser(server, folder)
        finally:
            if server.stop() != 0:
                failed += 1
    if skipped:
        print("NOT RUN: npm's stock clients and the differential test: " + skipped)
    elif not browser:
        print("NOT RUN: connect-web in Chromium: chromium is not installed")
    sys.exit(1 if failed else NOT_RUN if skipped or not browser else 0)


if __name__ == "__main__":
    main()
