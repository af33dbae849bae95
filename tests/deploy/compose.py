#!/usr/bin/env python3
"""Checks the compose files as far as that goes without Docker: they parse, what they name is there, the server's flags
are flags of the server, and every container is shut in.

usage: compose.py SOURCE BIN    exit 77: PyYAML is not installed
"""
import pathlib
import re
import shutil
import subprocess
import sys

NOT_RUN = 77  # as ctest is told

# What a user puts beside the compose files, as their heads say.
GIVEN = re.compile(r"^\./(tls|secrets/\w+)$")
GIVEN_FILES = {"ca.pem", "token"}  # in ./prometheus


def check_service(name, service, compose, folder, flags):
    wrong = []
    if "no-new-privileges:true" not in service.get("security_opt", []):
        wrong.append(f"{name} may gain privileges")
    if service.get("image", "").startswith("dpledger") or name == "prometheus":
        if service.get("cap_drop") != ["ALL"] or service.get("read_only") is not True:
            wrong.append(f"{name} is not shut in")
    for port in service.get("ports", []):
        if not port.startswith("127.0.0.1:"):
            wrong.append(f"{name}: the port {port} is open to other machines")
    for other in service.get("depends_on", {}):
        if other not in compose["services"]:
            wrong.append(f"{name} depends on {other}, which is not there")
    for volume in service.get("volumes", []):
        origin = volume.split(":")[0]
        if origin.startswith("."):
            # A single file stays the old one when another is renamed over it.
            if not GIVEN.match(origin) and not (folder / origin).is_dir():
                wrong.append(f"{name}: {origin} is no folder")
            if not volume.endswith(":ro"):
                wrong.append(f"{name} may write to {origin}")
        elif origin not in compose.get("volumes", {}):
            wrong.append(f"{name}: the volume {origin} is not declared")
    if service.get("image", "").startswith("dpledger"):
        mounts = [volume.split(":")[1] for volume in service["volumes"]]
        for argument in service.get("command", []):
            flag, _, value = argument.partition("=")
            if flag not in flags:
                wrong.append(f"{name}: {flag} is no flag of dpledger-server")
            if value.startswith("/") and not any(value == m or value.startswith(m + "/") for m in mounts):
                wrong.append(f"{name}: {flag} names {value}, which is in no volume")
    return wrong


def check_prometheus(compose, folder, yaml):
    """What its configuration names is in the folder beside it, and its target is the server, by a name that it takes."""
    config = yaml.safe_load((folder / "prometheus/prometheus.yml").read_text())
    job = config["scrape_configs"][0]
    names = config["rule_files"] + [job["tls_config"]["ca_file"], job["authorization"]["credentials_file"]]
    wrong = [f"prometheus: {name} is not in its folder" for name in names
             if name not in GIVEN_FILES and not (folder / "prometheus" / name).exists()]
    if "./prometheus:/etc/prometheus:ro" not in compose["services"]["prometheus"]["volumes"]:
        wrong.append("prometheus: its folder is not mounted")
    host = job["static_configs"][0]["targets"][0].split(":")[0]
    if host not in compose["services"]:
        wrong.append(f"prometheus: no service is called {host}")
    elif f"--http-host={host}" not in compose["services"][host]["command"]:
        wrong.append(f"the server refuses the name {host}")
    return wrong


def main():
    source, binaries = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        import yaml
    except ImportError:
        print("NOT RUN: PyYAML is not installed (Debian's package python3-yaml)")
        return NOT_RUN
    folder = source / "deploy"
    ran = subprocess.run([binaries / "dpledger-server", "--help"], capture_output=True, text=True, check=True)
    flags = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", ran.stdout, re.M))
    wrong = []
    files = sorted(folder.glob("compose*.yaml"))
    for file in files:
        compose = yaml.safe_load(file.read_text())
        for name, service in compose["services"].items():
            wrong += [f"{file.name}: {what}" for what in check_service(name, service, compose, folder, flags)]
        if "prometheus" in compose["services"]:
            wrong += check_prometheus(compose, folder, yaml)
        for volume in compose.get("volumes", {}):
            if not any(volume in str(service.get("volumes")) for service in compose["services"].values()):
                wrong.append(f"{file.name}: nothing uses the volume {volume}")
        for command in (["docker", "compose"], ["docker-compose"]):
            if shutil.which(command[0]) and subprocess.run([*command, "version"], capture_output=True).returncode == 0:
                ran = subprocess.run([*command, "-f", str(file), "config", "--quiet"], capture_output=True, text=True)
                if ran.returncode != 0:
                    wrong.append(f"{file.name}: {ran.stderr.strip()}")
                break
        else:
            print(f"{file.name}: read by PyYAML alone; docker compose is not installed")
    if len(files) < 2 or len(flags) < 20:
        wrong.append(f"only {len(files)} files and {len(flags)} flags were found")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
