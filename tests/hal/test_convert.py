"""compliantWithV1_x and convertToV1_x [NN 12.5]."""

import logging

import pytest

from helpers.hal_clients import add_model, raw_add
from nnfast import Memory
from nnfast.errors import ErrorStatus, InvalidArgument
from nnfast.hal import convert
from nnfast.hal import types as hidl
from nnfast.hal.convert import compliant_with, convert_to
from nnfast.hal.types import (
    Capabilities1_0,
    Capabilities1_1,
    Capabilities1_2,
    Capabilities1_3,
    MemoryPool,
    PerformanceInfo,
)
from nnfast.model.types import LifeTime

T = hidl.OPERAND_TYPES["1.3"]
ONE, TWO, THREE = PerformanceInfo(1.0, 1.0), PerformanceInfo(2.0, 2.0), PerformanceInfo(3.0, 3.0)


def full(**changes):
    """Capabilities of 1.3 with 1.0 for everything but the named types."""
    kinds = [kind for kind in T if kind not in (T.SUBGRAPH, T.OEM, T.TENSOR_OEM_BYTE)]
    rows = [hidl.OperandPerformance(kind, changes.get(kind.name, ONE)) for kind in sorted(kinds)]
    return Capabilities1_3(changes.get("scalar", ONE), changes.get("tensor", ONE), rows, ONE, ONE)


@pytest.mark.parametrize("capabilities, compliant", [
    (full(), ("1.0", "1.1", "1.2", "1.3")),
    (full(scalar=TWO, tensor=TWO), ("1.1", "1.2", "1.3")),
    (full(scalar=TWO), ("1.2", "1.3")),
    (full(FLOAT32=TWO), ("1.2", "1.3")),
    (full(INT32=TWO), ("1.2", "1.3")),
    (full(TENSOR_QUANT8_ASYMM=TWO), ("1.2", "1.3")),
    (full(TENSOR_QUANT8_ASYMM_SIGNED=TWO, TENSOR_FLOAT16=TWO), ("1.0", "1.1", "1.2", "1.3")),
    (Capabilities1_1(ONE, TWO, ONE), ("1.0", "1.1", "1.2", "1.3")),
    (Capabilities1_1(ONE, TWO, TWO), ("1.1", "1.2", "1.3")),
    (Capabilities1_0(ONE, TWO), ("1.0", "1.1", "1.2", "1.3")),
])
def test_12_5_compliance_of_capabilities(capabilities, compliant):
    assert tuple(hal for hal in hidl.HALS if compliant_with(capabilities, hal)) == compliant


def test_12_5_capabilities_down():
    value = full(TENSOR_FLOAT32=TWO, FLOAT32=TWO, TENSOR_QUANT8_ASYMM=THREE, scalar=ONE, tensor=ONE)
    assert convert.convertToV1_0(value) == Capabilities1_0(TWO, THREE)
    assert convert.convertToV1_1(value) == Capabilities1_1(TWO, THREE, ONE)
    assert {row.type for row in convert.convertToV1_2(value).operandPerformance} == set(range(14))
    assert convert.convertToV1_3(value) is value


def test_12_5_capabilities_up():
    old = Capabilities1_0(ONE, TWO)
    assert convert.convertToV1_1(old) == Capabilities1_1(ONE, TWO, ONE)
    up = convert.convertToV1_2(Capabilities1_1(ONE, TWO, THREE))
    assert (up.relaxedFloat32toFloat16PerformanceScalar, up.relaxedFloat32toFloat16PerformanceTensor) == (THREE, THREE)
    table = {row.type: row.info for row in up.operandPerformance}
    assert table == {T.FLOAT32: ONE, T.TENSOR_FLOAT32: ONE, **dict.fromkeys(
        (T.INT32, T.UINT32, T.TENSOR_INT32, T.TENSOR_QUANT8_ASYMM, T.OEM, T.TENSOR_OEM_BYTE), TWO)}
    newest = convert.convertToV1_3(up)
    assert newest.ifPerformance == newest.whilePerformance == PerformanceInfo(convert.FLT_MAX, convert.FLT_MAX)
    assert convert.convertToV1_0(convert.convertToV1_3(old)) == old


def test_12_3_lookup_of_a_missing_type_is_not_the_next_one():
    table = [hidl.OperandPerformance(T.TENSOR_FLOAT32, ONE)]
    assert convert.lookup(table, T.FLOAT32) == PerformanceInfo(convert.FLT_MAX, convert.FLT_MAX)
    assert isinstance(convert.convertToV1_2(Capabilities1_2(ONE, ONE, table)), Capabilities1_2)


@pytest.mark.parametrize("status", list(ErrorStatus))
def test_12_5_statuses(status):
    for hal in ("1.0", "1.1", "1.2"):
        wanted = status if status <= 4 else ErrorStatus.GENERAL_FAILURE
        assert convert_to(status, hal) == wanted and compliant_with(status, hal) == (status <= 4)
    assert convert_to(status, "1.3") == status


# -- models ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("hal", hidl.HALS)
def test_12_5_models_go_up_and_down(hal):
    model = raw_add()
    assert compliant_with(model, hal)
    down = convert_to(model, hal)
    assert type(down) is hidl.MODELS[hal]
    assert convert_to(down, "1.3") == model


def test_12_5_operations_that_a_version_does_not_have(caplog):
    model, found = raw_add(), set()
    model.main.operations.append(hidl.Operation(96, [0], [1]))
    model.main.operations.append(hidl.Operation(38, [0], [1]))
    for hal, indexes in (("1.0", {1, 2}), ("1.1", {1, 2}), ("1.2", {1}), ("1.3", set())):
        found = set()
        assert compliant_with(model, hal, found) == (not indexes) and found == indexes
    with caplog.at_level(logging.WARNING, "nnfast.hal"):
        convert.convertToV1_2(model)
    assert caplog.messages == ["converting Model1_3 to HAL 1.2: main.operation[1]: operation code 96 does not exist in "
                               "HAL 1.2"]


@pytest.mark.parametrize("change, first", [
    ({"type": T.TENSOR_QUANT8_ASYMM_SIGNED}, "1.3"), ({"type": T.TENSOR_FLOAT16}, "1.2"), ({"type": 0x10001}, "1.2"),
    ({"dimensions": []}, "1.2"), ({"lifetime": 6}, "1.3"), ({"type": T.TENSOR_INT32}, "1.0"),
])
def test_12_5_operands_that_a_version_does_not_have(change, first):
    model = raw_add()
    for name, value in change.items():
        setattr(model.main.operands[0], name, value)
    assert [hal for hal in hidl.HALS if compliant_with(model, hal)] == list(hidl.HALS[hidl.HALS.index(first):])


def test_12_5_extension_operations_need_1_2():
    model = raw_add()
    model.main.operations[0].type = 0x10000
    assert [hal for hal in hidl.HALS if compliant_with(model, hal)] == ["1.2", "1.3"]


def test_12_5_pools_of_constants():
    model = raw_add()
    model.main.operands[2].lifetime = 4
    for kind, first in (("ashmem", "1.0"), ("hardware_buffer_blob", "1.2")):
        for pool in (Memory.create(4, kind), hidl.Memory(kind, hidl.Handle((0,)), 4)):
            model.pools = [pool]
            assert [h for h in hidl.HALS if compliant_with(model, h)] == list(hidl.HALS[hidl.HALS.index(first):])


def test_12_5_what_is_dropped_on_the_way_down():
    model = raw_add()
    model.relaxComputationFloat32toFloat16 = True
    assert convert_to(model, "1.1").relaxComputationFloat32toFloat16
    assert not hasattr(convert_to(model, "1.0"), "relaxComputationFloat32toFloat16")
    assert compliant_with(model, "1.0")  # strict float32 is always fine


# -- requests --------------------------------------------------------------------------------------------------------
def test_12_5_requests(caplog):
    plain, blob = Memory.create(4), Memory.create(4, "hardware_buffer_blob")
    for pools, first in (([MemoryPool(plain)], "1.0"), ([MemoryPool(blob)], "1.2"), ([MemoryPool(token=1)], "1.3")):
        request = hidl.Request([], [], pools)
        assert [h for h in hidl.HALS if compliant_with(request, h)] == list(hidl.HALS[hidl.HALS.index(first):])
    assert convert_to(hidl.Request([], [], [MemoryPool(plain)]), "1.0").pools == [plain]
    assert convert_to(hidl.Request([], [], [plain]), "1.3").pools == [MemoryPool(plain)]
    with caplog.at_level(logging.WARNING, "nnfast.hal"):
        assert convert_to(hidl.Request([], [], [MemoryPool(token=1)]), "1.2").pools == [hidl.Memory()]
    assert "pool 0 is a token and becomes an empty memory" in caplog.text


def test_identity():
    model = add_model(hal="1.1")
    assert convert_to(model, "1.1") is model
    with pytest.raises(InvalidArgument, match="must be a record or a code of HIDL"):
        convert_to(object(), "1.0")


RECORDS = {
    "1.0": (hidl.Operand(), hidl.Operation(), hidl.DataLocation(), hidl.RequestArgument(), hidl.Memory("ashmem"),
            hidl.PerformanceInfo(), hidl.DeviceStatus.BUSY, hidl.OPERAND_TYPES["1.0"].FLOAT32,
            hidl.OPERATION_TYPES["1.0"].ADD, hidl.OperandLifeTime1_0.MODEL_INPUT, hidl.ERROR_STATUSES["1.0"].NONE,
            hidl.MODELS["1.0"](), hidl.Request(), Capabilities1_0(), MemoryPool(hidl.Memory("ashmem"))),
    "1.1": (hidl.ExecutionPreference.LOW_POWER, hidl.OPERATION_TYPES["1.1"].SUB),
    "1.2": (hidl.Timing(), hidl.OutputShape(), hidl.DeviceType.CPU, hidl.MeasureTiming.YES, hidl.OperandPerformance(),
            hidl.Extension(), hidl.OperandTypeInformation(), hidl.ExtensionNameAndPrefix(),
            hidl.SymmPerChannelQuantParams(), hidl.OPERAND_TYPES["1.2"].FLOAT16, hidl.Operand(type=0x10001),
            hidl.Memory("hardware_buffer_blob"), hidl.OPERATION_TYPES["1.2"].MAXIMUM),
    "1.3": (hidl.Priority.LOW, hidl.BufferDesc(), hidl.BufferRole(), hidl.Subgraph(), MemoryPool(token=1),
            hidl.LoopTimeoutDurationNs.DEFAULT, T.TENSOR_QUANT8_ASYMM_SIGNED, hidl.OPERATION_TYPES["1.3"].IF,
            LifeTime.SUBGRAPH, ErrorStatus.MISSED_DEADLINE_TRANSIENT, hidl.Operand(lifetime=LifeTime.SUBGRAPH)),
}
"""Values by the first version that can express them."""


@pytest.mark.parametrize("first, value", [(first, value) for first, values in RECORDS.items() for value in values])
def test_every_type_has_both(first, value):
    since = hidl.HALS.index(first)
    assert [h for h in hidl.HALS if compliant_with(value, h)] == list(hidl.HALS[since:])
    for hal in hidl.HALS:
        converted = convert_to(value, hal)
        assert converted == value or type(converted) is not type(value) or hal < first
        if hal >= first:
            assert convert_to(convert_to(converted, "1.3"), hal) == converted
    assert compliant_with([value, value], first) and len(convert_to([value, value], first)) == 2


def test_codes_are_members_of_the_versions_own_enumerations():
    assert type(convert_to(T.FLOAT32, "1.0")) is hidl.OPERAND_TYPES["1.0"]
    assert convert_to(LifeTime.SUBGRAPH_INPUT, "1.0") is hidl.OperandLifeTime1_0.MODEL_INPUT
    assert convert_to(hidl.OperandLifeTime1_0.MODEL_OUTPUT, "1.3") is LifeTime.SUBGRAPH_OUTPUT
    assert convert_to(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "1.2") is ErrorStatus.GENERAL_FAILURE
    operand = hidl.Operand(extraParams=b"x")
    assert convert_to(operand, "1.1").extraParams is None and operand.extraParams == b"x"


@pytest.mark.parametrize("change", [
    lambda model: model.main.operations[0].inputs.__setitem__(0, 77),
    lambda model: model.main.operations[0].outputs.__setitem__(0, -1),
    lambda model: model.main.operations[0].inputs.__setitem__(0, "x"),
])
def test_a_bad_operand_index_is_not_compliant(change):
    model, found = add_model(), set()
    change(model)
    assert not compliant_with(model, "1.2", found) and found == {0}
    convert_to(model, "1.2")
