"""addOperation asks the driver once about operations that differ in sizes of dimensions alone: csrc/ndk/pack.c names
those whose rules look at sizes."""

import re

import pytest

from helpers.extents import looks_at_extents
from helpers.tree import ROOT
from nnfast.conformance.instances import table
from nnfast.conformance.instances.draft import CONTROL_FLOW

TEXT = (ROOT / "csrc" / "ndk" / "pack.c").read_text().partition("static bool looks_at_extents")[2].partition("}")[0]
NAMED = set(re.findall(r"case ANEURALNETWORKS_(\w+):", TEXT))


@pytest.mark.parametrize("name", sorted({op.name for _, op, _, _ in table()}))
def test_operation(name):
    looks = [looks_at_extents(op, form, nth) for _, op, form, nth in table() if op.name == name]
    assert any(looks) == (name in NAMED)


def test_control_flow_looks_at_them():
    assert NAMED >= set(CONTROL_FLOW)
