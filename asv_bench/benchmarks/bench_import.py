"""Measures nnfast/__init__.py: import time in a fresh interpreter; what comes when first used, on top of numpy."""


def timeraw_import():
    return "import nnfast"


def timeraw_first_use():
    return "import nnfast; nnfast.Device, nnfast.load"


def timeraw_first_use_after_numpy():
    return "import nnfast; nnfast.Device, nnfast.load", "import numpy"
