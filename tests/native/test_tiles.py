"""The tile level: the system is asked for tiles only where the level is in use."""

import os
import subprocess
import sys

import pytest

from nnfast._native import kernels

PROBE = """
import ctypes, sys
import nnfast
from nnfast._native import kernels
mask = ctypes.c_uint64()
print(kernels.level())
ctypes.CDLL(None).syscall(158, 0x1022, ctypes.byref(mask))  # arch_prctl(ARCH_GET_XCOMP_PERM)
print(mask.value >> 18 & 1)
"""

needs_tiles = pytest.mark.skipif(kernels.detected() != "avx512amx", reason="this machine has no tiles")


def probe(level):
    environment = {**os.environ, "NNFAST_CPU": level}
    result = subprocess.run([sys.executable, "-c", PROBE], env=environment, check=True, capture_output=True, text=True)
    return result.stdout.split()


@needs_tiles
def test_a_lower_level_never_asks_for_tiles():
    assert probe("avx512bf16") == ["avx512bf16", "0"]


@needs_tiles
def test_the_tile_level_has_the_permission():
    assert probe("") == ["avx512amx", "1"]
    assert probe("avx512amx") == ["avx512amx", "1"]
