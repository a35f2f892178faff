"""Whichever allocation of a call fails: one clear error, nothing lost, nothing leaked (in the manner of SQLite)."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from helpers import out_of_memory
from helpers.processes import fresh


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """An allocator for LD_PRELOAD that fails on demand."""
    if os.environ.get("LD_PRELOAD") or not sysconfig.get_platform().startswith("linux"):
        pytest.skip("another library is preloaded")
    library = tmp_path_factory.mktemp("allocator") / "failing_malloc.so"
    source = Path(out_of_memory.__file__).with_name("failing_malloc.c")
    if subprocess.run(["gcc", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)],
                      capture_output=True).returncode:
        pytest.skip("no gcc with glibc's malloc names")
    return str(library)


def swept(library, scenario, allocator):
    """What came of one scenario."""
    code = "import sys; from helpers.out_of_memory import main; main(sys.argv[1])"
    return json.loads(fresh(code, scenario, LD_PRELOAD=library, PYTHONMALLOC=allocator).splitlines()[-1])


@pytest.mark.skipif((3, 12) <= sys.version_info < (3, 14), reason="Python 3.12 and 3.13 themselves do not "
                                                                  "survive allocations that fail")
@pytest.mark.parametrize("scenario", out_of_memory.SCENARIOS)
def test_every_allocation_fails_once(library, scenario):
    """Each object of Python's is an allocation here. CPython itself loses some blocks when a call cannot begin."""
    found = swept(library, scenario, "malloc")
    assert found["wrong"] == []
    assert 0 < found["refused"] < found["tried"] and found["lost"] <= 10
    assert scenario == "service" or found["descriptors"] == 0


@pytest.mark.parametrize("scenario", out_of_memory.SCENARIOS)
def test_blocks_and_descriptors_are_given_back(library, scenario):
    """What is larger than Python's small objects: arrays, buffers, native memory."""
    found = swept(library, scenario, "pymalloc")
    assert found["wrong"] == [] and found["lost"] == found["descriptors"] == 0
    assert found["blocks"] <= 16
