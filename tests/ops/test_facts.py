"""Facts of operations that traces, benchmarks and conformance take from their OpDef."""

import pytest

from nnfast.model.types import OperationType
from nnfast.ops.registry import FAMILIES, lookup

OPERATIONS = [lookup(code) for codes in FAMILIES.values() for code in codes]


def names(fact, value=True):
    return {op.name for op in OPERATIONS if getattr(op, fact) is value}


def test_no_operation_both_moves_and_multiplies():
    assert not names("moves") & names("multiply_adds")


def test_what_only_changes_layout_or_type():
    assert {"RESHAPE", "TRANSPOSE", "QUANTIZE", "CAST", "RANK", "FILL"} <= names("moves")
    assert not names("moves") & {"ADD", "MEAN", "SELECT", "TOPK_V2", "IF", "WHILE"}


@pytest.mark.parametrize("word", ["CONV", "LSTM", "RNN", "MATMUL", "CONNECTED", "SVDF"])
def test_products_count_multiply_adds(word):
    found = {op.name for op in OPERATIONS if word in op.name}
    assert found and found <= names("multiply_adds")


def test_forms_that_need_not_agree():
    assert names("coupled", False) == {"HASHTABLE_LOOKUP", "LSH_PROJECTION", "PAD_V2", "CAST", "QUANTIZED_16BIT_LSTM"}
    assert lookup(OperationType.WHILE).coupled
