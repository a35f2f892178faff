"""The table of operations by operand type: every signature is there, and what it says is what a device does."""

import pytest

import nnfast
from nnfast.conformance import coverage
from nnfast.conformance.instances import draw, table
from nnfast.errors import Error
from nnfast.ops.base import Signature
from nnfast.ops.unary import ABS

ROWS = table()


@pytest.fixture(scope="module")
def found():
    return coverage.native_types()


def test_every_signature_has_its_cell(found):
    wanted = {(op.name, coverage.type_of(op.signatures[form], nth)) for _, op, form, nth in ROWS}
    assert {(name, kind) for name, types in found.items() for kind in types} == wanted
    assert {way for types in found.values() for way in types.values()} <= {"native", "numpy", "part"}


def test_control_flow_is_apart(found):
    assert coverage.control_flow() == ["IF", "WHILE"] and "IF" not in found


def test_operations_without_steps_of_their_own_are_numpy(found):
    for _, op, _, _ in ROWS:
        if op.lower is None or op.data_dependent:
            assert set(found[op.name].values()) == {"numpy"}, op.name
    assert found["CONV_2D"]["TENSOR_FLOAT32"] == found["CONV_2D"]["TENSOR_QUANT8_SYMM_PER_CHANNEL"] == "native"


@pytest.mark.parametrize("text, row, kind", [
    ("input:T filter:W -> output:T", "1.0: Q8 PC", "TENSOR_QUANT8_SYMM_PER_CHANNEL"),
    ("input:T filter:W -> output:T", "1.0: Q8 Q8", "TENSOR_QUANT8_ASYMM"), ("x:B8 -> y:B8", "1.0:", "TENSOR_BOOL8"),
    ("dims:I32 value:T -> y:F16", "1.0: f16", "TENSOR_FLOAT16"),
])
def test_type_that_stands_for_a_set(text, row, kind):
    assert coverage.type_of(Signature(text, (row,)), 0) == kind


@pytest.mark.parametrize("name, op, form, nth", ROWS[::7], ids=[row[0] for row in ROWS[::7]])
def test_a_lowering_attempt_agrees_with_the_device(name, op, form, nth):
    device = nnfast.Device(num_threads=1)
    for seed in range(3):
        instance = draw(op, form, nth, seed, 6, may_be_late=False)
        try:
            reason = coverage.why_not(instance)
        except Error:
            continue
        prepared = device.prepare(instance.declared(instance.node()).model)
        prepared.run(instance.arrays)
        assert (reason is None) == (op.data_dependent is False and prepared.explain().native), name


def test_some_forms_of_a_type(monkeypatch):
    """An operation whose instances are native in turn."""
    calls = []

    def lower(node, b):
        calls.append(node)
        return None if len(calls) % 2 else "not this time"

    monkeypatch.setattr(ABS, "lower", lower)
    monkeypatch.setattr(coverage, "table", lambda: [row for row in ROWS if row[0] == "ABS-0-INT32"])
    assert coverage.native_types() == {"ABS": {"TENSOR_INT32": "part"}}
    assert len(calls) == coverage.DRAWS
