#!/usr/bin/env python3
"""Checks the units of systemd: their flags are flags of the programs, systemd takes them, and the command lines of the
server's unit, with the packaged configuration, start, check and end a server.

usage: units.py SOURCE BIN
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scrape import free_port  # noqa: E402

DRAIN = 10  # --drain-timeout-seconds unless told


def flags_of(binaries, *command):
    ran = subprocess.run([binaries / command[0], *command[1:], "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", ran.stdout, re.M))


def setting(unit, name):
    """What a unit says of it, a line each."""
    return re.findall(rf"^{name}=-?(.*)$", unit, re.M)


def unknown_flags(binaries, unit):
    (start,) = setting(unit, "ExecStart")
    words = start.split()
    subcommands = [word for word in words[1:3] if re.fullmatch(r"[a-z]+", word)]
    known = flags_of(binaries, pathlib.Path(words[0]).name, *subcommands)
    return [word for word in words if word.startswith("--") and word not in known]


def verify(units, binaries, folder):
    """systemd's own check, by the programs that were built."""
    if shutil.which("systemd-analyze") is None:
        print("systemd-analyze is not installed")
        return []
    copies = []
    for unit in units:
        copies.append(folder / unit.name)
        text = re.sub(r"/usr/bin/(dpledger(-server)?)\b", rf"{binaries}/\1", unit.read_text())
        copies[-1].write_text(re.sub(r"^EnvironmentFile=(?=/)", "EnvironmentFile=-", text, flags=re.M))
    ran = subprocess.run(["systemd-analyze", "verify", "--man=no", *copies], capture_output=True, text=True, timeout=60)
    said = [line for line in (ran.stdout + ran.stderr).splitlines() if any(unit.name in line for unit in units)]
    return said or ([f"systemd-analyze: {ran.stderr}"] if ran.returncode else [])


def run_server(source, binaries, folder):
    """The unit's command lines with the packaged settings, by a shell, which reads them as systemd does."""
    unit = (source / "deploy/dpledger.service").read_text()
    (start,), (check,) = setting(unit, "ExecStart"), setting(unit, "ExecStartPost")
    default = (source / "deploy/debian/default").read_text()
    (given,) = re.findall(r'^DPLEDGER_FLAGS="(.*)"$', default, re.M)
    environment = {**os.environ, "DPLEDGER_LISTEN": f"127.0.0.1:{free_port()}", "DPLEDGER_CHECK": "",
                   "STATE_DIRECTORY": str(folder), "PATH": f"{binaries}:{os.environ['PATH']}",
                   "DPLEDGER_FLAGS": given.replace("/etc/dpledger/server.toml", str(source / "deploy/debian/server.toml"))}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(["bash", "-c", "exec " + start.replace("/usr/bin/", "")], env=environment, stderr=log)
    try:
        script = re.fullmatch(r"/bin/sh -c '(.*)'", check)[1].replace("$$", "$").replace("/usr/bin/", "")
        environment["MAINPID"] = str(server.pid)
        subprocess.run(["sh", "-c", script], env=environment, check=True, timeout=60)
        assert server.poll() is None, (folder / "log").read_text()
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
        return time.monotonic() - began
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def main():
    source, binaries = (pathlib.Path(word).absolute() for word in sys.argv[1:])
    units = [source / "deploy/dpledger.service", source / "deploy/dpledger-follow.service"]
    wrong = []
    for unit in units:
        text = unit.read_text()
        wrong += [f"{unit.name}: no program has {flag}" for flag in unknown_flags(binaries, text)]
        if unknown_flags(binaries, text.replace("--s", "--no-s")) == []:
            wrong.append(f"{unit.name}: a flag that is not there was not noticed")
    template = (source / "deploy/debian/server.toml").read_text()
    keys = re.findall(r"^(?:# )?([a-z-]+) = ", template, re.M)
    known = flags_of(binaries, "dpledger-server")
    wrong += [f"server.toml: --{key} is no flag" for key in keys if f"--{key}" not in known]
    if len(keys) < 5:
        wrong.append(f"only {keys} were found in server.toml")
    (limit,) = setting(units[0].read_text(), "TimeoutStopSec")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong += verify(units, binaries, folder)
        took = run_server(source, binaries, folder)
    if int(limit.rstrip("s")) < DRAIN + 10 or took > int(limit.rstrip("s")):
        wrong.append(f"TimeoutStopSec={limit} leaves too little")
    print("\n".join(wrong) or f"the units hold; the server ended after {took:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
