"""Instruction levels that the registry of kernels chooses by."""

import platform

import pytest

from helpers.lowered import at_each_level
from nnfast._native import kernels


def flags():
    with open("/proc/cpuinfo") as stream:
        return next((set(line.split()) for line in stream if line.startswith("flags")), set())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels of x86-64")
@pytest.mark.parametrize("level, needed", [("avx512vnni", {"avx512_vnni"}), ("avx512bf16", {"avx512_bf16"}),
                                           ("avx512vbmi", {"avx512vbmi", "avx512_vnni"})])
def test_a_level_is_one_of_this_machine_where_the_processor_has_its_instructions(level, needed):
    assert (level in kernels.levels()) == (needed <= flags())


def test_permutations_of_bytes_run_where_the_processor_has_them_and_the_level_lets_them():
    known = kernels.levels()
    for level in at_each_level():
        permutes = "avx512vbmi" in known and known.index(level) >= known.index("avx512vbmi")
        assert ("__avx512vbmi_" in kernels.picked("lookup_qu8_flat")) == permutes, level
