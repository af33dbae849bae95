"""Packs dpledger/ with the libraries that build_wheel has put into it. Run by build_wheel, not by hand."""
import os

from setuptools import setup
from setuptools.dist import Distribution
from wheel.bdist_wheel import bdist_wheel


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True  # its libraries are for one platform


class AnyPython(bdist_wheel):
    """The libraries are called by ctypes: one wheel serves every Python 3."""

    def get_tag(self):
        return "py3", "none", os.environ["DPLEDGER_WHEEL_PLATFORM"]


setup(
    version=os.environ["DPLEDGER_WHEEL_VERSION"],
    packages=["dpledger", "dpledger.torch"] if os.path.isdir("dpledger/torch") else ["dpledger"],
    package_data={"dpledger": ["py.typed", "*.so*", "licences/*"]},
    distclass=BinaryDistribution,
    cmdclass={"bdist_wheel": AnyPython},
)
