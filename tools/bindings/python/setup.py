# SPDX-License-Identifier: MIT
"""Compiles the extension; pyproject.toml has the rest. TWHEEL_VERSION is the library's."""

import os
import Cython # without it, setuptools would look for a file in C, which does not exist
from setuptools import Extension, setup

assert Cython

setup(version=os.environ.get("TWHEEL_VERSION", "0"),
      ext_modules=[Extension("twheel._twheel", ["twheel/_twheel.pyx"], libraries=["twheel"])])
