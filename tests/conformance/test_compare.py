import numpy as np
import pytest

from helpers import vector_files
from nnfast.conformance.compare import compare_case, compare_multinomial, compare_values, has_wide_float, tolerance
from nnfast.conformance.vectors import read
from nnfast.errors import InvalidArgument
from nnfast.model.types import OperandType

T = OperandType
NARROW = tolerance(T.TENSOR_FLOAT32, "x", False)
WIDE = tolerance(T.TENSOR_FLOAT32, "x", True)


def passes(expected, actual, limits, dtype=np.float32):
    text, _, _ = compare_values(np.asarray(expected, dtype), np.asarray(actual, dtype), *limits)
    return not text


def test_tolerances_are_those_of_the_standard():
    assert NARROW == (1e-5, 5.9604644775390625e-7)
    assert WIDE == tolerance(T.TENSOR_FLOAT16, "x", False) == (0.0048828125, 0.0048828125)
    for type_ in (T.TENSOR_INT32, T.INT32, T.TENSOR_QUANT16_ASYMM, T.TENSOR_QUANT16_SYMM):
        assert tolerance(type_, "mobilenet", False) == (1, 0)
    for type_ in (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_SYMM):
        assert tolerance(type_, "x", False) == (1, 0)
        assert tolerance(type_, "a_mobilenet_b", False) == (3, 0)
    assert tolerance(T.TENSOR_BOOL8, "x", False) == (0, 0)
    with pytest.raises(InvalidArgument, match="FLOAT32 cannot be compared"):
        tolerance(T.FLOAT32, "x", False)


@pytest.mark.parametrize("expected, actual, narrow, wide", [
    (0.0, 0.9e-5, True, True),
    (0.0, 1.1e-5, False, True),
    (100.0, 100.00006, True, True),
    (100.0, 100.0001, False, True),
    (0.0, 0.0048, False, True),
    (0.0, 0.0049, False, False),
    (-10.0, -10.05, False, True),
    (-10.0, -10.06, False, False),
    (1.0, np.nan, False, False),
    (1.0, np.inf, False, False),
    (0.0, -0.0, True, True),
])
def test_float_limits(expected, actual, narrow, wide):
    assert passes([expected], [actual], NARROW) is narrow
    assert passes([expected], [actual], WIDE) is wide


def test_integers_may_be_off_by_one_and_do_not_wrap():
    assert passes([5, 5], [4, 6], (1, 0), np.uint8)
    assert not passes([5], [7], (1, 0), np.uint8)
    assert not passes([0], [255], (1, 0), np.uint8)
    assert not passes([-128], [127], (1, 0), np.int8)
    assert not passes([-2**31], [2**31 - 1], (1, 0), np.int32)


def test_booleans_are_exact():
    assert passes([0, 1], [0, 1], (0, 0), np.uint8)
    assert not passes([0, 1], [0, 0], (0, 0), np.uint8)


def test_shape_counts_and_nothing_is_right_in_a_zero_size():
    assert not passes([[1, 2]], [1, 2], NARROW)
    assert passes(np.zeros((0, 4)), np.zeros((0, 4)), NARROW)


def test_report_names_the_first_element_the_worst_error_and_the_share():
    text, error, share = compare_values(np.zeros((2, 2)), np.array([[0, 0], [3, 2]]), 1, 0)
    assert text.startswith("element [1, 0] is 3, must be 0.0 within 1; 2 of 4 elements are wrong, worst by 3")
    assert (error, share) == (3, 3)
    assert compare_values(np.zeros(1), np.array([0.5]), 1, 0) == ("", 0.5, 0.5)


def case_of(tmp_path, **changes):
    return read(vector_files.write(tmp_path / "x.json.gz", vector_files.add_test(**changes)))[0].case()


def test_relaxed_or_any_float16_operand_widens_float32(tmp_path):
    plain, relaxed = case_of(tmp_path), case_of(tmp_path, relaxed=True)
    assert not has_wide_float(plain.model) and has_wide_float(relaxed.model)
    got = [np.array([4.001, 6], np.float32)]
    assert compare_case(plain, got).reason and not compare_case(relaxed, got).reason
    test = vector_files.add_test()
    body = {"operands": [vector_files.operand("TENSOR_FLOAT16", "SUBGRAPH_INPUT", dims=[2])], "operations": [],
            "inputs": [0], "outputs": []}
    test["model"]["referenced"].append(body)
    half_inside = read(vector_files.write(tmp_path / "y.json.gz", test))[0].case()
    assert has_wide_float(half_inside.model)


def test_ignored_output_is_not_looked_at(tmp_path):
    test = vector_files.add_test()
    test["model"]["main"]["operands"][3]["ignored"] = True
    case = read(vector_files.write(tmp_path / "x.json.gz", test))[0].case()
    result = compare_case(case, [np.array([np.nan, 0], np.float32)])
    assert result.reason == "" and result.errors == {}


def test_reason_names_output_and_type(tmp_path):
    result = compare_case(case_of(tmp_path), [np.array([4, np.nan], np.float32)])
    assert result.reason.startswith("output 0 TENSOR_FLOAT32: element [1] is nan, must be 6.0")
    assert result.errors["TENSOR_FLOAT32"][0] == np.inf


def test_multinomial_is_compared_as_a_distribution():
    logits = np.log(np.array([[0.5, 0.25, 0.25]]))
    fair = np.repeat([0, 1, 2], [64, 32, 32]).astype(np.int32)[None]
    assert compare_multinomial(logits, fair, 0.025) == ""
    assert compare_multinomial(logits + 7, fair[:, ::-1], 0.025) == ""
    biased = np.repeat([0, 1, 2], [60, 36, 32]).astype(np.int32)[None]
    assert "off by 0.03125, limit 0.025" in compare_multinomial(logits, biased, 0.025)
    assert "must be in [0, 3)" in compare_multinomial(logits, fair + 1, 0.025)
    assert "must be in [0, 3)" in compare_multinomial(logits, fair - 1, 0.025)
