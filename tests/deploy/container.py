#!/usr/bin/env python3
"""Turns itself into a container's process, as a runtime under a kubelet would: a root of its own that is read-only, the
given volumes in it, the given user and groups, no capability, none to be gained.

usage: unshare --mount [--net] --propagation private container.py SPECIFICATION.json
"""
import json
import os
import pathlib
import subprocess
import sys


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def bind(source, target, writable):
    target.mkdir(parents=True, exist_ok=True)
    mount("--bind", source, target)
    if not writable:
        mount("--options", "remount,bind,ro", target)


def main():
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    root = pathlib.Path(spec["root"])
    if spec["address"]:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["ip", "address", "add", f"{spec['address']}/32", "dev", "lo"], check=True)
    mount("--types", "tmpfs", "none", root)
    bind("/usr", root / "usr", writable=False)
    bind(spec["programs"], root / "usr/local/bin", writable=False)
    for name in ("bin", "sbin", "lib", "lib64"):  # Debian's are links into /usr
        (root / name).symlink_to(f"usr/{name}")
    bind("/proc", root / "proc", writable=False)
    bind("/dev", root / "dev", writable=True)
    for volume in spec["volumes"]:
        bind(volume["source"], root / volume["path"].lstrip("/"), volume["writable"])
    mount("--options", "remount,ro", root)
    os.chroot(root)
    os.chdir(spec["folder"])
    user, group = str(spec["user"]), str(spec["group"])
    os.execve("/usr/bin/setpriv", [
        "setpriv", "--reuid", user, "--regid", group, "--groups", str(spec["volumes_group"]), "--no-new-privs",
        "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", *spec["command"]], spec["environment"])


if __name__ == "__main__":
    main()
