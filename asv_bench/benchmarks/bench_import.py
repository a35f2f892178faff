"""Measures nnfast/__init__.py: import time in a fresh interpreter, whole and on top of numpy."""


def timeraw_import():
    return "import nnfast"


def timeraw_import_after_numpy():
    return "import nnfast", "import numpy"
