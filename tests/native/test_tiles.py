"""The tile level: the system is asked for tiles only where the level is in use, and a run leaves none behind."""

import ctypes
import mmap
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import nnfast
from helpers.steps import at_level
from nnfast._native import kernels

XGETBV = bytes([0xB9, 1, 0, 0, 0, 0x0F, 0x01, 0xD0, 0xC3])
"""mov ecx, 1; xgetbv; ret: the parts of the extended state that are in use."""
TILES = 1 << 17 | 1 << 18

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
emulated = "amx_tile" not in Path("/proc/cpuinfo").read_text()


def probe(level):
    environment = {**os.environ, "NNFAST_CPU": level}
    result = subprocess.run([sys.executable, "-c", PROBE], env=environment, check=True, capture_output=True, text=True)
    return result.stdout.split()


@needs_tiles
def test_a_lower_level_never_asks_for_tiles():
    assert probe("avx512bf16") == ["avx512bf16", "0"]


@needs_tiles
@pytest.mark.skipif(emulated, reason="emulated tiles need no permission (nnf/tiles_emulated.h)")
def test_the_tile_level_has_the_permission():
    assert probe("") == ["avx512amx", "1"]
    assert probe("avx512amx") == ["avx512amx", "1"]


@pytest.fixture(scope="module")
def digits():
    """A small int8 network of convolutions, its input and its output by scalar kernels."""
    model = nnfast.load(str(files("nnfast") / "data" / "digits_int8.tflite"))
    kernels.set_level("scalar")
    prepared = nnfast.Device(num_threads=1).prepare(model)
    data = [np.random.default_rng(7).integers(-128, 128, i.shape).astype(np.int8) for i in prepared.inputs]
    output, = prepared.run(data)
    kernels.set_level(None)
    return model, data, output


def state_in_use():
    """The mask that XGETBV gives for this thread, or a skip where memory cannot be executed."""
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except PermissionError:
        pytest.skip("this system executes no written memory")
    memory.write(XGETBV)
    return ctypes.CFUNCTYPE(ctypes.c_uint32)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()


@needs_tiles
def test_a_run_leaves_no_tiles_behind(digits):
    model, data, expected = digits
    with at_level("avx512amx"):
        prepared = nnfast.Device(num_threads=1).prepare(model)
    assert any("avx512amx" in str(row) for row in prepared.explain().rows)
    np.testing.assert_array_equal(prepared.run(data)[0], expected)
    assert state_in_use() & TILES == 0


@needs_tiles
@pytest.mark.parametrize("threads", [1, 2])
def test_a_forked_child_multiplies_tiles(digits, threads):
    model, data, expected = digits
    prepared = nnfast.Device(num_threads=threads).prepare(model)
    prepared.run(data)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(prepared.run(data)[0], expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
