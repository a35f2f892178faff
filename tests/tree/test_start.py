"""What a cold process loads on its way to the first result: imports are half of it."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy
before = {*sys.modules}
import nnfast
path = nnfast.__path__[0] + "/data/digits_int8.tflite"
prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(path))
prepared.run([numpy.zeros(info.shape, info.dtype) for info in prepared.inputs])
print(*sorted({*sys.modules} - before))
"""
SLOW = {"_hashlib", "argparse", "dataclasses", "hashlib", "importlib.metadata", "inspect", "ipaddress", "json",
        "logging", "pathlib", "typing", "urllib"}
"""Modules that cost more than most of ours, and that a first result does not need."""
MOST = 130
"""Modules on top of numpy. More is no error of its own, but somebody must have meant it."""


@pytest.fixture(scope="module")
def loaded():
    """Modules that a first result loads on top of numpy."""
    return subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout.split()


def test_a_first_result_loads_no_slow_module(loaded):
    assert "nnfast.driver.prepared" in loaded
    assert not SLOW & {*loaded}


def test_a_first_result_loads_few_modules(loaded):
    assert len(loaded) <= MOST, f"{len(loaded)}: {' '.join(loaded)}"


def test_a_first_result_from_a_cache_loads_no_openssl(tmp_path):
    """A signature is checked, by BLAKE2b alone."""
    program = PROGRAM.replace("load(path)", f"load(path), cache_dir={str(tmp_path / 'cache')!r}")
    for _ in range(2):  # fills the cache, and reads it
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                              env=os.environ | {"NNFAST_KEY": str(tmp_path / "key")})
    loaded = {*done.stdout.split()}
    assert "nnfast.driver.stored_model" in loaded
    assert not {"_hashlib", "hashlib", "hmac"} & loaded
