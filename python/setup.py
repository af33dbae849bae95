"""The package, with the libraries and the command line that it asks.

They are taken from the first of these:
1. DPLEDGER_LIBRARIES, a folder with libdpledger_accounting.so and libdpledger.so.1. The program
   `dpledger` is taken from the folder bin beside it, and licences from the folder licences, if they
   are there.
2. The clone's build/release, or the folder DPLEDGER_BUILD in it, if it is there and nothing has
changed since. 3. build/pip, built here: cmake compiles what the package needs
(DPLEDGER_QUICK_BUILD) and links Debian's libraries. python/build_wheel makes a wheel with all
libraries inside, by way of 1.
"""
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:
    sys.exit("dpledger: to install it needs Python's package wheel (Debian: python3-wheel; a "
             "virtual environment sees it with --system-site-packages)")

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = re.search(r"^project\(dpledger VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(),
                    re.M)[1]
# What is linked with Debian's libraries is two libraries and the messages that they share.
LIBRARIES = ("libdpledger_accounting.so", "libdpledger.so.1")
MESSAGES = "libdpledger_messages.so." + VERSION
TARGETS = ("dpledger_accounting", "dpledger_c", "dpledger")
LEFT_OUT = ("TESTS", "BENCH", "EXAMPLES", "SERVER")


def is_built(build):
    """Whether a build has the package's parts, newer than all that they are made of."""
    if not (build / "build.ninja").exists() or shutil.which("ninja") is None:
        return False
    told = subprocess.run(["ninja", "-C", str(build), "-n", *TARGETS], capture_output=True,
                          text=True)
    return told.returncode == 0 and "no work to do" in told.stdout


def build_here():
    build = ROOT / "build/pip"
    for program in ("cmake", "ninja", "c++"):
        if shutil.which(program) is None:
            sys.exit("dpledger: there is no %s; the packages to build with, on Debian 12: "
                     "apt-get install $(sed -n 's/^build //p' deploy/debian-packages.txt)"
                     % program)
    # The system's own interpreter: a virtual environment may be gone when the next one is built
    # for.
    options = ["CMAKE_BUILD_TYPE=Release", "CMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
               "Python3_EXECUTABLE=" + os.path.realpath(sys.executable), "DPLEDGER_QUICK_BUILD=ON",
               "DPLEDGER_BUILD_COMMAND_LINE=ON", "DPLEDGER_FFT=own", "DPLEDGER_POSTGRES=OFF",
               *("DPLEDGER_BUILD_%s=OFF" % part for part in LEFT_OUT)]
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build),
                    *("-D" + option for option in options)],
                   check=True)
    subprocess.run(["cmake", "--build", str(build), "--target", *TARGETS], check=True)
    return build


def libraries():
    stated = os.environ.get("DPLEDGER_LIBRARIES")
    if stated:
        return pathlib.Path(stated).resolve()
    build = ROOT / os.environ.get("DPLEDGER_BUILD", "build/release")
    return (build if is_built(build) else build_here()) / "lib"


def put_parts(package):
    """Copies libraries, the program and licences into the built package."""
    folder = libraries()
    missing = [name for name in LIBRARIES if not (folder / name).exists()]
    if missing:
        sys.exit("dpledger: %s has no %s" % (folder, " and no ".join(missing)))
    ours = [folder / name for name in (*LIBRARIES, MESSAGES) if (folder / name).exists()]
    program = folder.parent / "bin/dpledger"
    (package / "bin").mkdir(exist_ok=True)
    for file in ours + [program] * program.exists():
        copy = package / ("bin" if file == program else "") / file.name
        shutil.copy(file, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", str(copy)], check=True)
    # others' libraries; strip breaks what patchelf has written
    for file in folder.glob("libdpledger-*.so.*"):
        shutil.copy(file, package / file.name)
    if (folder.parent / "licences").is_dir():
        shutil.copytree(folder.parent / "licences", package / "licences", dirs_exist_ok=True)
    else:
        (package / "licences").mkdir(exist_ok=True)
        shutil.copy(ROOT / "LICENSE", package / "licences/dpledger")


def make_messages(package):
    if shutil.which("protoc") is None:
        sys.exit("dpledger: there is no protoc (Debian: protobuf-compiler)")
    subprocess.run([sys.executable, str(ROOT / "python/generate_messages.py"),
                    str(package / "messages.py")], check=True)


class WithParts(build_py):
    def run(self):
        super().run()
        package = pathlib.Path(self.build_lib) / "dpledger"
        make_messages(package)
        put_parts(package)


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True  # its libraries are for one platform


class AnyPython(bdist_wheel):
    """The libraries are called by ctypes: one wheel serves every Python 3."""

    def get_tag(self):
        platform = os.environ.get("DPLEDGER_WHEEL_PLATFORM", sysconfig.get_platform())
        return "py3", "none", re.sub(r"[-.]", "_", platform)


# Nothing but build/pip is written to the clone.
work = tempfile.mkdtemp()
atexit.register(shutil.rmtree, work, ignore_errors=True)
setup(
    version=VERSION,
    long_description=(ROOT / "docs/python.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=find_packages(include=["dpledger", "dpledger.*"]),
    package_data={"dpledger": ["py.typed"]},
    distclass=BinaryDistribution,
    cmdclass={"build_py": WithParts, "bdist_wheel": AnyPython},
    options={"build": {"build_base": work}, "egg_info": {"egg_base": work}},
)
