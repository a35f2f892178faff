"""addOperation takes the forms that an operation has, and refuses each with one operand of another type or with more
operands, but for what is another of its forms."""

import json
import re
import subprocess
import sys

import pytest

from helpers.processes import environment
from helpers.tree import ROOT
from nnfast.conformance.instances import table

NAMES = sorted({op.name for _, op, _, _ in table()})
ANY_NUMBER = r"TENSOR_\w+ as TENSOR_(FLOAT32|FLOAT16|INT32|QUANT8_ASYMM)"
FLOATS = r"TENSOR_FLOAT\d+ as TENSOR_FLOAT\d+"
LEGAL = {
    "ARGMAX": rf"input 0 {ANY_NUMBER}", "ARGMIN": rf"input 0 {ANY_NUMBER}",
    "AXIS_ALIGNED_BBOX_TRANSFORM": r"input 1 TENSOR_\w+ as TENSOR_QUANT8_ASYMM",
    "BIDIRECTIONAL_SEQUENCE_LSTM": r"[1-5] more outputs", "BIDIRECTIONAL_SEQUENCE_RNN": r"[1-3] more outputs",
    "CAST": rf"(in|out)put 0 {ANY_NUMBER}",
    "CONV_2D": r"input 7 (BOOL as INT32|INT32 as BOOL)", "DEPTHWISE_CONV_2D": r"input 8 (BOOL as INT32|INT32 as BOOL)",
    "DEQUANTIZE": rf"input 0 TENSOR_\w+ as TENSOR_QUANT8_ASYMM|output 0 {FLOATS}",
    "LSH_PROJECTION": r"input 1 .*", "LSTM": r"4 more inputs",
    "QUANTIZE": rf"input 0 {FLOATS}|output 0 TENSOR_\w+ as TENSOR_QUANT8_ASYMM",
    "RANDOM_MULTINOMIAL": rf"input 0 {FLOATS}",
    "RANK": r"input 0 .*", "SPLIT": r"\d more outputs", "UNIDIRECTIONAL_SEQUENCE_LSTM": r"2 more outputs",
    "UNIDIRECTIONAL_SEQUENCE_RNN": r"1 more outputs",
}
"""What makes another form of an operation."""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "helpers" / "ndk_mutations.py")], text=True,
                          capture_output=True, timeout=1800, env=environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_only_forms_of_an_operation_are_taken(name, found):
    for taken in found[name]:
        assert taken[0] == "as it is"
        assert [what for what in taken[1:] if not re.fullmatch(LEGAL.get(name, "none"), what)] == []


def test_every_operation_was_tried(found):
    assert sorted(found) == NAMES and len(NAMES) > 100
