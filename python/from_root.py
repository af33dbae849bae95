"""setuptools for `pip install .` in the clone's root: the package is in this folder."""
import os

os.chdir(os.path.dirname(os.path.abspath(__file__)))
from setuptools.build_meta import *  # noqa: E402,F401,F403
