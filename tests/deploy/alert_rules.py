#!/usr/bin/env python3
"""Checks the alert rules: promtool takes them and their tests pass, every figure that they name is one that the server
has, docs/metrics.md says what to do about each, and each has a test that sees it fire.

usage: alert_rules.py SOURCE    exit 77: promtool is not installed; the rest was checked
"""
import pathlib
import re
import shutil
import subprocess
import sys

NOT_RUN = 77  # as ctest is told


def main():
    source = pathlib.Path(sys.argv[1])
    folder = source / "deploy/prometheus"
    rules = (folder / "dpledger.rules.yml").read_text()
    tests = (folder / "dpledger.rules.test.yml").read_text()
    docs = (source / "docs/metrics.md").read_text()
    wrong = []

    documented = set(re.findall(r"^\| `(\w+)` \|", docs, re.M))
    named = set(re.findall(r"\b((?:grpc_server|dpledger|process)_\w+)", rules + tests))
    for name in sorted(named):
        if re.sub(r"_(bucket|sum|count)$", "", name) not in documented and name not in documented:
            wrong.append(f"{name} is in the rules or their tests, and not in docs/metrics.md")
    alerts = re.findall(r"- alert: (\w+)", rules)
    for alert in alerts:
        if f"`{alert}`" not in docs:
            wrong.append(f"docs/metrics.md does not say what to do about {alert}")
        if alert not in tests:
            wrong.append(f"no test sees {alert} fire")
    for alert in re.findall(r"`(Dpledger\w+)`", docs):
        if alert not in alerts:
            wrong.append(f"docs/metrics.md speaks of {alert}, which is not there")
    for complaint in wrong:
        print(complaint)

    if shutil.which("promtool") is None:
        print("NOT RUN: promtool is not installed (Debian's package prometheus): the rules' own tests were left out")
        return 1 if wrong else NOT_RUN
    for command in (["check", "rules", "dpledger.rules.yml"], ["test", "rules", "dpledger.rules.test.yml"],
                    ["check", "config", "--syntax-only", "prometheus.yml"]):
        ran = subprocess.run(["promtool", *command], cwd=folder, capture_output=True, text=True, timeout=120)
        print(ran.stdout + ran.stderr)
        if ran.returncode != 0:
            wrong.append(" ".join(command))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
