#!/usr/bin/env python3
"""Checks deploy/kubernetes as far as that goes without a cluster: each rule below, and that each rule notices when it is
broken. What the files state is run by pods.py.

usage: kubernetes.py SOURCE BIN    exit 77: PyYAML is not installed
"""
import copy
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from manifests import Manifests, documents, render  # noqa: E402

NOT_RUN = 77  # as ctest is told
LINT = """{extends: default, rules: {line-length: disable, document-start: disable, octal-values: disable,
  braces: disable, comments: {min-spaces-from-content: 1}, indentation: {indent-sequences: whatever}}}"""
MEBIBYTE = {"Mi": 1, "Gi": 1024}


def program_says(binaries, flag):
    return subprocess.run([binaries / "dpledger-server", flag], capture_output=True, text=True, check=True).stdout


class Facts:
    """What the manifests are compared with."""

    def __init__(self, source, binaries):
        self.flags = set(re.findall(r"^  (?:-\w,)?--([\w-]+)", program_says(binaries, "--help"), re.M))
        assert len(self.flags) > 40, self.flags
        self.version = re.search(r"\d+\.\d+\.\d+", program_says(binaries, "--version")).group()
        self.rules = (source / "deploy/prometheus/dpledger.rules.yml").read_text()
        self.rule_file = (source / "deploy/kubernetes/monitoring/prometheus-rule.yaml").read_text()
        self.guide = (source / "docs/kubernetes.md").read_text()


def mebibytes(text):
    return int(text[:-2]) * MEBIBYTE[text[-2:]]


def shut_in(manifests, facts):
    pod = manifests.pod
    security = pod["securityContext"]
    user = security["runAsUser"]
    if not security["runAsNonRoot"] or user == 0:
        yield "the pod runs as root"
    # A file that fsGroup gives to the group of the user's own number is the user's (base/secret_file.h).
    if not user == security["runAsGroup"] == security["fsGroup"]:
        yield "user, group and fsGroup are not one number"
    if security["seccompProfile"] != {"type": "RuntimeDefault"}:
        yield "no seccomp profile"
    if pod.get("automountServiceAccountToken") is not False:
        yield "the pod has a token of the cluster's"
    for container in pod["containers"] + pod["initContainers"]:
        wanted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        if container["securityContext"] != wanted:
            yield f"{container['name']} is not shut in"
        resources = container["resources"]
        if set(resources["requests"]) != {"cpu", "memory"} or "memory" not in resources["limits"]:
            yield f"{container['name']} has no requests, or no limit of memory"
        if container["image"] != f"dpledger:{facts.version}":
            yield f"{container['name']} runs {container['image']}, and not version {facts.version}"


def flags(manifests, facts):
    given = manifests.server["args"]
    if given[0] != "--config=/etc/dpledger/config/server.toml":
        yield "the server reads another config file"
    for name in [argument.partition("=")[0][2:] for argument in given] + list(manifests.config):
        if name not in facts.flags:
            yield f"--{name} is no flag of dpledger-server"
    if "env" in manifests.server:
        names = [variable["name"] for variable in manifests.server["env"]]
        unused = [name for name in names if f"$({name})" not in " ".join(given)]
        if unused:
            yield f"no flag has {unused}"


def paths(manifests, facts):
    mounts = {mount["mountPath"]: mount for mount in manifests.server["volumeMounts"]}
    for name, value in {**manifests.config, "config": manifests.server["args"][0].partition("=")[2]}.items():
        for path in re.findall(r"(?:^|,)(/[^,]*)", value):
            place = mounts.get(str(pathlib.PurePath(path).parent))
            if place is None:
                yield f"{name} names {path}, which is in no volume"
            elif ("readOnly" in place) == (name == "checkpoint-copy"):
                yield f"{name} names {path}, in a volume of the wrong kind"


def volumes(manifests, facts):
    there = {volume["name"] for volume in manifests.pod["volumes"]}
    there |= {claim["metadata"]["name"] for claim in manifests.set["volumeClaimTemplates"]}
    mounts = [mount for container in manifests.pod["containers"] + manifests.pod["initContainers"]
              for mount in container["volumeMounts"]]
    if {mount["name"] for mount in mounts} != there:
        yield "volumes and mounts differ"
    if any("subPath" in mount for mount in mounts):
        yield "a mount of one file is never replaced (subPath)"
    made = {found["metadata"]["name"] for found in manifests.all("ConfigMap")}
    for volume in manifests.pod["volumes"]:
        secret, name = volume.get("secret"), (volume.get("configMap") or {}).get("name")
        if secret:
            if secret.get("defaultMode") != 0o440:
                yield f"{volume['name']}: others may read it"
            if not re.search(rf"create secret (generic|tls) {secret['secretName']} ", facts.guide):
                yield f"{volume['name']}: the guide does not make {secret['secretName']}"
        elif name not in made and f"create configmap {name} " not in facts.guide:
            yield f"{volume['name']}: nobody makes the config map {name}"
    if manifests.all("Secret"):
        yield "a secret's value is in the manifests"


def probes(manifests, facts):
    server, scheme = manifests.server, "HTTPS" if "cert" in manifests.config else "HTTP"
    ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = server[kind]["httpGet"]
        if asked["port"] not in ports or asked["scheme"] != scheme or asked["path"] != "/healthz":
            yield f"{kind} asks {asked}"
    if server["startupProbe"]["periodSeconds"] * server["startupProbe"]["failureThreshold"] < 300:
        yield "a long start is ended"
    if list(ports.values()) != [int(manifests.config["listen"].rpartition(":")[2])]:
        yield "the port is not that of --listen"
    pause = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    needed = pause + float(manifests.config.get("drain-timeout-seconds", 10)) + 10
    if manifests.pod["terminationGracePeriodSeconds"] < needed:
        yield f"less than {needed} s to end in"


def memory(manifests, facts):
    config = manifests.config
    needed = (int(config["query-threads"]) * int(config["max-question-mebibytes"])
              + int(config["max-history-mebibytes"]) + int(config["max-mebibytes-in-flight"]) + 256)
    if mebibytes(manifests.server["resources"]["limits"].get("memory", "0Mi")) < needed:
        yield f"the flags allow the server {needed} MiB"


def selectors(manifests, facts):
    own = manifests.set["selector"]["matchLabels"]
    if not own or own.items() - manifests.set["template"]["metadata"]["labels"].items():
        yield "the set's selector does not have its pods"
    others = {f"service {s['metadata']['name']}": s["spec"]["selector"] for s in manifests.all("Service")}
    others["disruption budget"] = manifests.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"]
    others["network policy"] = manifests.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"]
    for i, spread in enumerate(manifests.pod["topologySpreadConstraints"]):
        others[f"spread {i}"] = spread["labelSelector"]["matchLabels"]
    for name, selector in others.items():
        if selector != own:
            yield f"{name} selects {selector}"
    if manifests.one("Service", manifests.set["serviceName"])["spec"].get("clusterIP") != "None":
        yield "the set's service is not headless"
    if manifests.set["replicas"] != 3 or manifests.one("PodDisruptionBudget")["spec"]["maxUnavailable"] != 1:
        yield "of three servers, not one at a time"


def network(manifests, facts):
    ports = [port["name"] for port in manifests.server["ports"]]
    for service in manifests.all("Service"):
        if [(port["name"], port["targetPort"]) for port in service["spec"]["ports"]] != [(p, p) for p in ports]:
            yield f"service {service['metadata']['name']} has other ports"
    deny = manifests.one("NetworkPolicy", "deny-all")["spec"]
    if deny != {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}:
        yield "not everything is denied at first"
    allowed = manifests.one("NetworkPolicy")["spec"]
    if [port["port"] for rule in allowed["ingress"] for port in rule["ports"]] != ports:
        yield "other ports are let in"
    if any(not rule.get("from") for rule in allowed["ingress"]):
        yield "anybody is let in"
    if sorted({port["port"] for rule in allowed["egress"] for port in rule["ports"]}) != [53, 5432]:
        yield "other ports are let out"


def monitoring(manifests, facts):
    monitor = manifests.one("ServiceMonitor")["spec"]
    labels = monitor["selector"]["matchLabels"].items()
    found = [service for service in manifests.all("Service") if labels <= service["metadata"]["labels"].items()]
    names = [service["metadata"]["name"] for service in found]
    jobs = set(re.findall(r'job="(\w+)"', facts.rules))
    if set(names) != jobs or len(names) != 1:
        yield f"the rules are about {jobs}, and Prometheus scrapes {names}"
    (endpoint,) = monitor["endpoints"]
    if endpoint["port"] not in [port["name"] for service in found for port in service["spec"]["ports"]]:
        yield "Prometheus scrapes another port"
    if f"--http-host={endpoint['tlsConfig']['serverName']}" not in manifests.server["args"]:
        yield "the server's name is another one"
    if "--http-host=$(POD_IP)" not in manifests.server["args"]:
        yield "the server refuses scrapes by its address"
    for name in (endpoint["tlsConfig"]["ca"]["configMap"]["name"], endpoint["authorization"]["credentials"]["name"]):
        if f" {name} " not in facts.guide:
            yield f"the guide does not make {name}"
    if facts.rule_file.partition("\nspec:\n")[2] != re.sub(r"^(?=.)", "  ", facts.rules, flags=re.M):
        yield "prometheus-rule.yaml has other rules: its head says how to make it anew"
    if manifests.one("PrometheusRule")["spec"] != documents(facts.rules)[0]:
        yield "the rules are not those of deploy/prometheus"


RULES = (shut_in, flags, paths, volumes, probes, memory, selectors, network, monitoring)


def complaints(manifests, facts):
    return [complaint for rule in RULES for complaint in rule(manifests, facts)]


def set_config(manifests, old, new):
    data = manifests.one("ConfigMap", "dpledger-config")["data"]
    assert old in data["server.toml"], old
    data["server.toml"] = data["server.toml"].replace(old, new)


# A fault, and what a rule must say of it.
FAULTS = (
    ("as root", lambda m: m.pod["securityContext"].update(runAsUser=0)),
    ("not one number", lambda m: m.pod["securityContext"].update(fsGroup=1000)),
    ("no seccomp", lambda m: m.pod["securityContext"].update(seccompProfile={"type": "Unconfined"})),
    ("token of the cluster", lambda m: m.pod.pop("automountServiceAccountToken")),
    ("second-place is not shut in", lambda m: m.pod["initContainers"][0].update(
        securityContext={"readOnlyRootFilesystem": True})),
    ("no limit of memory", lambda m: m.server["resources"]["limits"].pop("memory")),
    ("runs dpledger:latest", lambda m: m.server.update(image="dpledger:latest")),
    ("--drain is no flag", lambda m: set_config(m, "drain-timeout-seconds", "drain")),
    ("--http is no flag", lambda m: m.server["args"].append("--http=x")),
    ("no flag has", lambda m: m.server["env"].append({"name": "DPLEDGER_LISTEN", "value": "0.0.0.0:7070"})),
    ("which is in no volume", lambda m: set_config(m, "/etc/dpledger/jwks/", "/etc/jwks/")),
    ("of the wrong kind", lambda m: set_config(m, "/var/lib/dpledger/checkpoint", "/etc/dpledger/tls/checkpoint")),
    ("volumes and mounts differ", lambda m: m.pod["volumes"].pop()),
    ("never replaced", lambda m: m.server["volumeMounts"][1].update(subPath="server.toml")),
    ("others may read it", lambda m: m.pod["volumes"][-1]["secret"].update(defaultMode=0o444)),
    ("does not make other", lambda m: m.pod["volumes"][-1]["secret"].update(secretName="other")),
    ("nobody makes the config map", lambda m: m.pod["volumes"][0]["configMap"].update(name="other")),
    ("value is in the manifests", lambda m: m.objects.append({"kind": "Secret", "metadata": {"name": "x"}})),
    ("livenessProbe asks", lambda m: m.server["livenessProbe"].update(
        httpGet={"path": "/readyz", "port": "tls", "scheme": "HTTPS"})),
    ("a long start is ended", lambda m: m.server["startupProbe"].update(failureThreshold=3)),
    ("not that of --listen", lambda m: set_config(m, "0.0.0.0:7070", "0.0.0.0:7071")),
    ("to end in", lambda m: set_config(m, "drain-timeout-seconds = 10", "drain-timeout-seconds = 60")),
    ("the flags allow the server", lambda m: set_config(m, "query-threads = 2", "query-threads = 4")),
    ("does not have its pods", lambda m: m.set["template"]["metadata"].update(labels={"app": "dpledger"})),
    ("disruption budget selects", lambda m: m.one("PodDisruptionBudget")["spec"].update(
        selector={"matchLabels": {"app": "dpledger"}})),
    ("not headless", lambda m: m.set.update(serviceName="dpledger")),
    ("not one at a time", lambda m: m.one("PodDisruptionBudget")["spec"].update(maxUnavailable=2)),
    ("has other ports", lambda m: m.one("Service")["spec"]["ports"][0].update(targetPort="http")),
    ("not everything is denied", lambda m: m.one("NetworkPolicy", "deny-all")["spec"].update(policyTypes=["Ingress"])),
    ("anybody is let in", lambda m: m.one("NetworkPolicy")["spec"]["ingress"][0].pop("from")),
    ("are let in", lambda m: m.one("NetworkPolicy")["spec"]["ingress"][0]["ports"][0].update(port=7071)),
    ("are let out", lambda m: m.one("NetworkPolicy")["spec"]["egress"][1]["ports"][0].update(port=443)),
    ("Prometheus scrapes ['dpledger-pods']", lambda m: m.one("ServiceMonitor")["spec"]["selector"]["matchLabels"].update(
        {"app.kubernetes.io/component": "pods"})),
    ("refuses scrapes by its address", lambda m: m.server["args"].pop()),
    ("are not those of deploy/prometheus", lambda m: m.one("PrometheusRule")["spec"]["groups"][0]["rules"].pop()),
)


def rendered_by_kubectl(folder):
    ran = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    # The hash that a config map's name ends with depends on the content alone.
    return documents(re.sub(r"\bdpledger-config-[a-z0-9]{10}\b", "dpledger-config", ran.stdout))


def differs_from_kubectl(folder):
    def key(found):
        return found["kind"], found["metadata"]["name"]
    return sorted(rendered_by_kubectl(folder), key=key) != sorted(render(folder), key=key)


def main():
    source, binaries = map(pathlib.Path, sys.argv[1:])
    try:
        import yaml  # noqa: F401
    except ImportError:
        print("NOT RUN: PyYAML is not installed (Debian's package python3-yaml)")
        return NOT_RUN
    folder, facts = source / "deploy/kubernetes", Facts(source, binaries)
    manifests = Manifests(render(folder) + render(folder / "monitoring"))
    wrong = complaints(manifests, facts)
    for expected, damage in FAULTS:
        damaged = Manifests(copy.deepcopy(manifests.objects))
        damage(damaged)
        said = complaints(damaged, facts)
        if not any(expected in complaint for complaint in said):
            wrong.append(f"no rule says {expected!r}, but {said}")
    if shutil.which("kubectl"):
        wrong += [f"kubectl kustomize renders {place} otherwise" for place in (folder, folder / "monitoring")
                  if differs_from_kubectl(place)]
    else:
        print("kubectl is not installed: rendered by manifests.py alone")
    if shutil.which("yamllint"):
        ran = subprocess.run(["yamllint", "--strict", "-d", LINT, source / "deploy"], capture_output=True, text=True)
        wrong += [ran.stdout] if ran.returncode else []
    else:
        print("yamllint is not installed")
    print("\n".join(wrong) or f"{len(RULES)} sets of rules hold, and notice {len(FAULTS)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
