#!/usr/bin/env python3
"""Runs the three servers that deploy/kubernetes states, each with what a kubelet makes for it (container.py): its root,
user, volumes, address and probes. The secrets come from the commands of docs/kubernetes.md, which are run; `kubectl` is
a stand-in that keeps what they make.

usage: pods.py SOURCE BIN    exit 77: not root, or a program is not installed
"""
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "budgets")]
from manifests import Manifests, render  # noqa: E402
from race import Database  # noqa: E402
from scrape import NOT_RUN, await_that, openssl  # noqa: E402

NAME = "dpledger.dpledger.svc"
AUDIENCE, ISSUER = "dpledger", "https://kubernetes.default.svc.cluster.local"
SOCKETS = "/run/postgres"  # stands for the network between the pods and PostgreSQL
KUBECTL = """#!/usr/bin/python3
import pathlib, re, shutil, sys
kept, *words = pathlib.Path(sys.argv[0]).parent, *[word for word in sys.argv[1:] if word not in ("-n", "dpledger")]
if words[:2] == ["get", "--raw"]:
    print((kept / "jwks.json").read_text())
elif words[0] == "create":
    kind, name = ("secret", words[3]) if words[1] == "secret" else ("configmap", words[2])
    folder = kept / kind / name
    folder.mkdir(parents=True)
    for word in words:
        flag, _, value = word.partition("=")
        if flag == "--from-file":
            key, _, path = value.rpartition("=")
            shutil.copy(path, folder / (key or path))
        elif flag in ("--cert", "--key"):
            shutil.copy(value, folder / {"--cert": "tls.crt", "--key": "tls.key"}[flag])
elif words[0] not in ("apply", "rollout"):
    sys.exit("no such command here: " + " ".join(words))
"""


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """The cluster's service accounts."""

    def __init__(self):
        from cryptography.hazmat.primitives.asymmetric import rsa
        self.key = rsa.generate_private_key(65537, 2048)

    def jwks(self):
        numbers = self.key.public_key().public_numbers()
        parts = {name: base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))
                 for name, value in (("n", numbers.n), ("e", numbers.e))}
        return json.dumps({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", **parts}]})

    def token(self, account, audience=AUDIENCE):
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": [audience], "sub": f"system:serviceaccount:{account}", "exp": now + 600,
                  "iat": now, "nbf": now}
        parts = [base64url(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims)]
        signed = self.key.sign(".".join(parts).encode(), padding.PKCS1v15(), hashes.SHA256())
        return ".".join(parts + [base64url(signed)])


def certificates(folder, serial):
    """tls.crt, tls.key and ca.crt, whose names are those of the guide."""
    (folder / "names").write_text(f"subjectAltName=DNS:{NAME},DNS:dpledger-pods.dpledger.svc,"
                                  "DNS:*.dpledger-pods.dpledger.svc\n")
    if not (folder / "ca.key").exists():
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
                "-days", "1", "-subj", "/CN=test")
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tls.key", "-out", "csr", "-subj", "/CN=dpledger")
    openssl(folder, "x509", "-req", "-in", "csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", str(serial),
            "-out", "tls.crt", "-days", "1", "-extfile", "names")


def console(guide, number):
    """The commands of a marked block."""
    blocks = re.findall(r"<!-- run by tests/deploy/pods.py -->\n```console\n(.*?)```", guide, re.S)
    return "\n".join(line.removeprefix("$ ") for line in blocks[number].splitlines())


class Cluster:
    """What the guide's commands leave, and PostgreSQL."""

    def __init__(self, source, binaries, folder):
        self.source, self.binaries, self.folder = source, binaries, folder
        self.manifests = Manifests(render(source / "deploy/kubernetes"))
        self.issuer = Issuer()
        self.kept = folder / "kubectl"
        self.kept.mkdir()
        (self.kept / "kubectl").write_text(KUBECTL)
        (self.kept / "kubectl").chmod(0o755)
        (self.kept / "jwks.json").write_text(self.issuer.jwks())
        for made in self.manifests.all("ConfigMap"):
            place = self.kept / "configmap" / made["metadata"]["name"]
            place.mkdir(parents=True)
            for name, text in made["data"].items():
                (place / name).write_text(text)
        (folder / "database").mkdir()
        self.database = Database(folder / "database")
        self.desk = folder / "desk"
        self.desk.mkdir()

    def psql(self, text):
        return [self.database.programs / "psql", "-h", self.folder / "database", "-p", str(self.database.port),
                "-U", "dpledger", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-qc", text]

    def follow_the_guide(self):
        where = f"port={self.database.port} dbname=postgres"
        (self.desk / "owner").write_text(f"host={self.folder / 'database'} {where} user=dpledger_owner")
        (self.desk / "connection").write_text(f"host={SOCKETS} {where} user=dpledger_server "
                                              "sslrootcert=/etc/dpledger/postgres/root.crt")
        certificates(self.desk, 1)
        shutil.copy(self.desk / "ca.crt", self.desk / "root.crt")
        (self.desk / "owner").chmod(0o600)
        operating = (self.source / "docs/operating.md").read_text()
        (roles,) = re.findall(r"```sql\n(.*?)```", operating, re.S)
        as_owner, _, as_server = roles.partition("-- start one server as dpledger_owner; then:\n")
        assert "SCHEMA" in as_owner and "GRANT" in as_server
        guide = (self.source / "docs/kubernetes.md").read_text()
        subprocess.run(self.psql(as_owner), check=True)
        self.run(console(guide, 0))
        subprocess.run(self.psql(as_server), check=True)
        self.run(console(guide, 1))

    def run(self, commands):
        path = f"{self.kept}:{self.binaries}:{os.environ['PATH']}"
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=self.desk, capture_output=True,
                             text=True, timeout=120, env={**os.environ, "PATH": path})
        assert ran.returncode == 0, ran.stderr


class Pod:
    """One of the set, under a kubelet."""

    def __init__(self, cluster, ordinal):
        self.cluster, self.name = cluster, f"dpledger-{ordinal}"
        self.address = f"192.0.2.{10 + ordinal}"  # of its own network, which has nobody else in it
        self.folder = cluster.folder / self.name
        self.folder.mkdir()
        self.spec = cluster.manifests.pod
        self.user = self.spec["securityContext"]
        self.process, self.versions = None, 0
        self.log = self.folder / "log"
        self.sources = {}
        for claim in cluster.manifests.set["volumeClaimTemplates"]:
            self.sources[claim["metadata"]["name"]] = self.place(claim["metadata"]["name"], 0o2775)
        for volume in self.spec["volumes"]:
            self.sources[volume["name"]] = self.place(volume["name"], 0o3777)
            self.project(volume["name"])

    def place(self, name, mode):
        place = self.folder / name
        place.mkdir()
        self.give(place, mode)
        return place

    def give(self, path, mode):
        """A kubelet's fsGroup: the file is root's, and the group's to read."""
        os.chown(path, 0, self.user["fsGroup"])
        path.chmod(mode)

    def project(self, name, mode=None, group=None):
        """Puts a secret or a config map into its volume, as it is now: all files change in one rename."""
        (volume,) = [volume for volume in self.spec["volumes"] if volume["name"] == name]
        secret = volume.get("secret")
        mode = mode or (secret["defaultMode"] if secret else 0o644)
        kind, made = ("secret", secret["secretName"]) if secret else ("configmap", volume["configMap"]["name"])
        self.versions += 1
        place, version = self.sources[name], f"..version-{self.versions}"
        (place / version).mkdir()
        self.give(place / version, 0o2755)
        for file in (self.cluster.kept / kind / made).iterdir():
            shutil.copyfile(file, place / version / file.name)
            self.give(place / version / file.name, mode)
            if group is not None:
                os.chown(place / version / file.name, 0, group)
            if not (place / file.name).is_symlink():
                (place / file.name).symlink_to(f"..data/{file.name}")
        (place / "..data-next").symlink_to(version)
        (place / "..data-next").rename(place / "..data")

    def start_container(self, container, command, address):
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        for variable in container.get("env", []):
            assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
            environment[variable["name"]] = self.address
        command = [re.sub(r"\$\((\w+)\)", lambda found: environment[found[1]], word) for word in command]
        volumes = [{"source": str(self.sources[mount["name"]]), "path": mount["mountPath"],
                    "writable": not mount.get("readOnly", False)} for mount in container["volumeMounts"]]
        volumes.append({"source": str(self.cluster.folder / "database"), "path": SOCKETS, "writable": True})
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        file = self.folder / f"{container['name']}.json"
        file.write_text(json.dumps({
            "root": str(root), "programs": str(self.cluster.binaries), "address": address, "volumes": volumes,
            "folder": container.get("workingDir", "/"), "user": self.user["runAsUser"],
            "group": self.user["runAsGroup"], "volumes_group": self.user["fsGroup"], "command": command,
            "environment": environment}))
        with self.log.open("a") as log:
            return subprocess.Popen(["unshare", "--mount", *(["--net"] if address else []), "--propagation", "private",
                                     sys.executable, HERE / "container.py", file], stdout=log, stderr=log)

    def start(self):
        for container in self.spec["initContainers"]:
            assert self.start_container(container, container["command"], None).wait(timeout=30) == 0, self.said()
        (server,) = self.spec["containers"]
        # The image's entry point comes before `args`.
        self.process = self.start_container(server, ["dpledger-server", *server["args"]], self.address)

    def said(self):
        return self.log.read_text()

    def inside(self, *command, **options):
        """Runs a command in the pod's network, where the names of the cluster are known."""
        hosts = self.folder / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{self.address} {NAME}\n")
        return subprocess.Popen(["nsenter", "--net", f"--target={self.process.pid}", "unshare", "--mount", "sh", "-c",
                                 f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh", *map(str, command)],
                                text=True, **options)

    def output(self, *command):
        running = self.inside(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return running.communicate(timeout=60)[0]

    def dpledger(self, *words):
        return self.output(self.cluster.binaries / "dpledger", *words, *self.access())

    def access(self):
        desk = self.cluster.desk
        return "--server", f"{NAME}:7070", "--ca", desk / "ca.crt", "--token-file", desk / "first-admin"

    def status(self, url, *arguments):
        return self.output("curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", 5,
                           *arguments, url)

    def probe(self, kind):
        """Asks as a kubelet does: by the pod's address, whatever the certificate says."""
        (server,) = self.spec["containers"]
        asked = server[kind]["httpGet"]
        (port,) = [port["containerPort"] for port in server["ports"] if port["name"] == asked["port"]]
        status = self.status(f"{asked['scheme'].lower()}://{self.address}:{port}{asked['path']}", "--insecure",
                             "--max-time", server[kind]["timeoutSeconds"])
        return 200 <= int(status) < 400

    def await_started(self):
        probe = self.spec["containers"][0]["startupProbe"]

        def answers():
            assert self.process.poll() is None, self.said()
            return self.probe("startupProbe")
        await_that(f"{self.name} starts", min(60, probe["periodSeconds"] * probe["failureThreshold"]), answers)

    def await_refusal(self):
        """The server refuses to start: what it said."""
        self.start()
        assert self.process.wait(timeout=60) == 1, self.said()
        return self.said()

    def end(self):
        """As the kubelet does it; how long that took, in seconds."""
        began = time.monotonic()
        user = str(self.user["runAsUser"])
        pause = self.spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        subprocess.run(["nsenter", f"--target={self.process.pid}", "--mount", "--net", "--root", "setpriv", "--reuid",
                        user, "--regid", user, "--clear-groups", *pause], check=True, timeout=60,
                       env={"PATH": "/usr/bin:/bin"})
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0, self.said()
        return time.monotonic() - began


def check_callers(pods):
    """One ledger through three servers, as a token has it; a pod's JWT; Prometheus' scrape."""
    cluster = pods[0].cluster
    event = cluster.desk / "event.jsonl"
    event.write_text(json.dumps({"rounds": {"scheme": {"poisson": {"probability": 0.01}}, "count": "1",
                                            "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}) + "\n")
    made = pods[0].dpledger("ledger", "create", "run", "--dataset", "d", "--unit", "u", "--adjacency",
                            "add-or-remove-one", "--parameters", "fixed")
    appended = pods[1].dpledger("ledger", "append", "run", "--events", event)
    shown = json.loads(pods[2].dpledger("ledger", "show", "run", "--json"))
    assert "run" in json.dumps(shown), (made, appended, shown)
    # What one makes or revokes, the others know within a second.
    secret = cluster.desk / "alice.token"
    said = pods[0].dpledger("admin", "token", "create", "alice", "--grant", "analyst *", "--out", secret)
    assert secret.exists(), said

    def as_alice(pod):
        words = ("ledger", "list", *pod.access()[:-1], secret)
        return pod.output(cluster.binaries / "dpledger", *words)
    for pod in pods:
        await_that(f"{pod.name} knows alice", 5, lambda pod=pod: "run" in as_alice(pod))
    pods[1].dpledger("admin", "token", "revoke", "alice")
    for pod in pods:
        await_that(f"{pod.name} knows that alice is gone", 5, lambda pod=pod: "revoked" in as_alice(pod))

    token = (cluster.desk / "prometheus.token").read_text().split()[0]
    authorised = "--header", f"Authorization: Bearer {token}"
    for pod in pods:  # verified by the name that the ServiceMonitor gives, called by the pod's address
        by_address = ("--cacert", cluster.desk / "ca.crt", "--connect-to", f"{NAME}:7070:{pod.address}:7070")
        url, host = f"https://{NAME}:7070/metrics", ("--header", f"Host: {pod.address}:7070")
        assert pod.status(url, *by_address, *host, *authorised) == "200"
        assert pod.status(url, *by_address, *host) == "401"
        assert pod.status(url, *by_address, "--header", "Host: 192.0.2.99:7070", *authorised) == "421"

    ask = ("--cacert", cluster.desk / "ca.crt", "--header", "Content-Type: application/json", "--data",
           '{"name":"projects/default/ledgers/run"}')
    url = f"https://{NAME}:7070/dpledger.v1.LedgerService/GetLedger"

    def as_account(audience=AUDIENCE):
        bearer = cluster.issuer.token("training:trainer", audience)
        return pods[1].status(url, *ask, "--header", f"Authorization: Bearer {bearer}")
    assert as_account("https://kubernetes.default.svc") == "401"
    assert as_account() == "403"  # known, and granted nothing
    policy = cluster.kept / "configmap/dpledger-policy/policy"
    policy.write_text(policy.read_text() + f"oidc:{ISSUER}#system:serviceaccount:training:trainer trainer *\n")
    pods[1].project("policy")
    await_that("the policy is read again", 20, lambda: as_account() == "200")


def check_replaced_certificate(pod):
    """A kubelet's links change; the file under them is never written to."""
    def serial():
        shown = pod.output("sh", "-c", f"openssl s_client -connect {NAME}:7070 </dev/null | openssl x509 -noout -serial")
        return re.search(r"serial=(\w+)", shown)[1]
    assert serial() == "01"
    certificates(pod.cluster.desk, 2)
    for name in ("tls.crt", "tls.key"):
        shutil.copy(pod.cluster.desk / name, pod.cluster.kept / "secret/dpledger-tls")
    pod.project("tls")
    await_that("the new certificate", 20, lambda: serial() == "02")


def end_beside_a_watch(pods):
    """A stream that nobody ends."""
    watched = pods[0].folder / "watched"
    with watched.open("w") as out:
        watch = pods[0].inside(pods[0].cluster.binaries / "dpledger", "ledger", "watch", *pods[0].access(),
                               stdout=out, stderr=out)

    def heard():  # a watch that has not begun yet hears nothing of what came before it
        pods[1].dpledger("ledger", "append", "run", "--events", pods[0].cluster.desk / "event.jsonl")
        return "run" in watched.read_text()
    try:
        await_that("the watch", 60, heard)
        return pods[0].end()
    finally:
        watch.terminate()
        watch.wait(timeout=20)


def end_beside_a_locked_table(pod):
    """Signing and calls wait for the database, which is told to keep them waiting."""
    cluster = pod.cluster

    def locks(what):
        return subprocess.run(cluster.psql(f"SELECT {what} FROM pg_locks"), capture_output=True, text=True).stdout
    locked = "BEGIN; LOCK TABLE dpledger.ledgers IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)"
    lock = subprocess.Popen(cluster.psql(locked), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_that("the lock", 20, lambda: "AccessExclusiveLock" in locks("mode"))
        await_that("somebody waits", 20, lambda: " f\n" in locks("granted"))
        return pod.end()
    finally:
        subprocess.run(cluster.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN;%'"),
                       check=True, stdout=subprocess.DEVNULL)
        lock.wait()


def check_end(pods):
    """Within the grace period, whatever runs; and the next start needs nothing but the volume."""
    took = [end_beside_a_watch(pods), end_beside_a_locked_table(pods[1]), pods[2].end()]
    grace = pods[0].spec["terminationGracePeriodSeconds"]
    print("ended after", ", ".join(f"{seconds:.1f} s" for seconds in took), f"of {grace}: beside a watch, while the "
          "database keeps all waiting, beside nothing")
    assert all(seconds < grace for seconds in took)
    pod = pods[0]
    for file in pod.sources["state"].iterdir():  # as fsGroup leaves a volume that was mounted before
        os.chown(file, -1, pod.user["fsGroup"])
        file.chmod(file.stat().st_mode | 0o660)
    first = pod.cluster.kept / "configmap/dpledger-first-checkpoint"
    assert (pod.sources["state"] / "checkpoint").read_text() != (first / "checkpoint").read_text()
    shutil.rmtree(first)  # a second start does without
    pod.start()
    pod.await_started()
    assert pod.probe("livenessProbe") and pod.probe("readinessProbe")
    assert "run" in pod.dpledger("ledger", "list")
    pod.end()


def check_refusals(cluster):
    """Each secret wider or narrower than stated, and a second place that is not there."""
    wrong = Pod(cluster, 7)
    for name, mode, group, expected in (
            ("signing-key", 0o444, None, "group or others may use the secret"),
            ("postgres", 0o444, None, "group or others may use the secret"),
            ("postgres", 0o460, None, "group or others may use the secret"),
            ("signing-key", 0o440, 0, "Permission denied")):  # as without fsGroup
        wrong.project(name, mode, group)
        said = wrong.await_refusal()
        assert expected in said, f"{name} {mode:o}: {said}"
        wrong.project(name)
        wrong.log.write_text("")
    for file in wrong.sources["state"].iterdir():
        file.unlink()
    wrong.spec = {**wrong.spec, "initContainers": []}
    assert "--accept-missing-checkpoint" in wrong.await_refusal()


def check_starts(pods):
    """All at once, as the set has them."""
    assert pods[0].cluster.manifests.set["podManagementPolicy"] == "Parallel"
    for pod in pods:
        pod.start()
    for pod in pods:
        pod.await_started()
        assert pod.probe("livenessProbe") and pod.probe("readinessProbe")
        assert pod.status(f"http://{pod.address}:7070/healthz") == "000", "answered without TLS"


def run(source, binaries, folder):
    cluster, pods = Cluster(source, binaries, folder), []
    try:
        cluster.follow_the_guide()
        check_refusals(cluster)
        pods = [Pod(cluster, ordinal) for ordinal in range(3)]
        check_starts(pods)
        check_callers(pods)
        check_replaced_certificate(pods[2])
        check_end(pods)
    finally:
        for pod in pods:
            if pod.process and pod.process.poll() is None:
                pod.process.kill()
                pod.process.wait()
        cluster.database.control("stop", "-m", "immediate")


def main():
    missing = [program for program in ("unshare", "nsenter", "setpriv", "ip", "curl", "openssl")
               if shutil.which(program) is None]
    if missing or subprocess.run(["unshare", "--mount", "--net", "true"]).returncode != 0 or os.geteuid() != 0:
        print("NOT RUN:", *(missing or ["only root may make what a kubelet makes"]))
        return NOT_RUN
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # and what was started ends too
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # PostgreSQL is another user
        run(*(pathlib.Path(word).absolute() for word in sys.argv[1:]), pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
