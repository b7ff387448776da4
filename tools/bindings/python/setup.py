# SPDX-License-Identifier: MIT
"""Compiles the extension; pyproject.toml has the rest. TWHEEL_VERSION is the library's."""

import os
from setuptools import Extension, setup

setup(version=os.environ.get("TWHEEL_VERSION", "0"),
      ext_modules=[Extension("twheel._twheel", ["twheel/_twheel.pyx"], libraries=["twheel"])])
