"""Helpers of [NN 12.3]."""

import io
import logging
import time
from types import SimpleNamespace

import pytest

import nnfast
from helpers.hal_clients import add_model
from nnfast.errors import InvalidArgument
from nnfast.hal import utils, v1_3
from nnfast.hal.convert import FLT_MAX
from nnfast.hal.types import HALS, OPERAND_TYPES, Operand, PerformanceInfo

T = v1_3.OperandType
SCALARS = {T.FLOAT32, T.INT32, T.UINT32, T.BOOL, T.FLOAT16, T.SUBGRAPH, T.OEM}
EXTENSION = 0x00010003


@pytest.mark.parametrize("code, expected", [(0, False), (15, False), (10001, False), (0xFFFF, False),
                                            (0x10000, True), (0xFFFFFFFF, True), (-1, True)])
def test_12_3_extension_codes(code, expected):
    assert utils.isExtensionOperandType(code) is utils.isExtensionOperationType(code) is expected


def test_12_3_scalars():
    assert {kind for kind in T if utils.nonExtensionOperandTypeIsScalar(kind)} == SCALARS
    for code in (EXTENSION, 16, -1):
        with pytest.raises(InvalidArgument):
            utils.nonExtensionOperandTypeIsScalar(code)


@pytest.mark.parametrize("kind, dims, size", [
    ("FLOAT32", [], 4), ("FLOAT16", [], 2), ("BOOL", [], 1), ("SUBGRAPH", [], 0), ("OEM", [], 0),
    ("TENSOR_FLOAT32", [], 0), ("TENSOR_FLOAT32", [2, 0], 0), ("TENSOR_FLOAT32", [2, 3], 24),
    ("TENSOR_QUANT16_ASYMM", [5], 10), ("TENSOR_OEM_BYTE", [7], 7), ("TENSOR_BOOL8", [0xFFFFFFFF], 0xFFFFFFFF),
    ("TENSOR_QUANT8_ASYMM", [1 << 16, 1 << 16], None), ("TENSOR_FLOAT32", [1 << 31, 1 << 31, 4], None),
    ("TENSOR_FLOAT32", [1 << 31, 1 << 31, 0], 0)])
def test_12_3_sizes(kind, dims, size):
    assert utils.nonExtensionOperandSizeOfDataOverflowsUInt32(T[kind], dims) is (size is None)
    if size is None:
        with pytest.raises(InvalidArgument, match="must be at most 4294967295"):
            utils.nonExtensionOperandSizeOfData(T[kind], dims)
    else:
        assert utils.nonExtensionOperandSizeOfData(T[kind], dims) == size


@pytest.mark.parametrize("kind, dims, expected", [
    (T.TENSOR_INT32, [], True), (T.TENSOR_INT32, [2, 0], True), (T.TENSOR_INT32, [2, 3], False),
    (EXTENSION, [], False), (EXTENSION, [0], True), (EXTENSION, [1], False)])
def test_12_3_unspecified_dimensions(kind, dims, expected):
    assert utils.tensorHasUnspecifiedDimensions(kind, dims) is expected


@pytest.mark.parametrize("kind", sorted(SCALARS))
def test_12_3_scalars_have_no_dimensions_to_ask_for(kind):
    with pytest.raises(InvalidArgument, match="must be a tensor"):
        utils.tensorHasUnspecifiedDimensions(kind, [])


def test_12_3_combined_dimensions():
    assert utils.combineDimensions([0, 3], [2, 0]) == [2, 3] and utils.combineDimensions([], [2, 0]) == [2, 0]
    assert utils.combineDimensions([1], [2]) is None and utils.combineDimensions([1], [1, 1]) is None


def test_12_3_alignment():
    assert [utils.getAlignmentForLength(n) for n in range(6)] == [1, 1, 2, 2, 4, 4]
    assert [utils.alignBytesNeeded(index, 8) for index in range(6)] == [0, 3, 2, 1, 0, 3]
    assert utils.alignBytesNeeded(3, 2) == 1 and utils.alignBytesNeeded(3, 1) == 0


def test_12_3_consumers():
    operations = [SimpleNamespace(inputs=[0, 1, 1]), SimpleNamespace(inputs=[2])]
    assert utils.countNumberOfConsumers(4, operations) == [1, 2, 1, 0]
    for bad in (4, -1):
        with pytest.raises(InvalidArgument, match=rf"operation\[0\]: input is operand {bad}"):
            utils.countNumberOfConsumers(4, [SimpleNamespace(inputs=[bad])])


def test_12_3_deadlines():
    before = time.monotonic_ns()
    deadline = utils.makeDeadline(10**12)
    assert before + 10**12 <= deadline <= time.monotonic_ns() + 10**12
    assert not utils.hasDeadlinePassed(deadline) and not utils.hasDeadlinePassed(None)
    assert utils.hasDeadlinePassed(utils.makeDeadline(0))
    assert utils.makeDeadline((1 << 64) - 1) == (1 << 63) - 1


@pytest.mark.parametrize("hal", HALS)
def test_12_3_performance_tables(hal):
    one, two = PerformanceInfo(1.0, 1.5), PerformanceInfo(2.0, 2.5)
    table = utils.nonExtensionOperandPerformance(hal, one)
    kinds = [entry.type for entry in table]
    assert kinds == sorted(kinds) == [k for k in OPERAND_TYPES[hal] if k < 10000 and k != T.SUBGRAPH]
    utils.update(table, T.TENSOR_INT32, two)
    assert utils.lookup(table, T.TENSOR_INT32) == two and utils.lookup(table, T.TENSOR_FLOAT32) == one
    assert utils.lookup(table, T.OEM) == PerformanceInfo(FLT_MAX, FLT_MAX)
    with pytest.raises(InvalidArgument, match="OEM: has no entry"):
        utils.update(table, T.OEM, two)
    with pytest.raises(InvalidArgument, match="SUBGRAPH"):
        utils.lookup(table, T.SUBGRAPH)


def test_12_3_make_capabilities():
    default, float32, relaxed = (PerformanceInfo(x, x) for x in (1.0, 2.0, 3.0))
    made = utils.makeCapabilities(default, float32, relaxed)
    assert made.relaxedFloat32toFloat16PerformanceScalar == made.relaxedFloat32toFloat16PerformanceTensor == relaxed
    assert made.ifPerformance == made.whilePerformance == default
    assert {entry.type for entry in made.operandPerformance if entry.info == float32} == {T.FLOAT32, T.TENSOR_FLOAT32}
    assert len(made.operandPerformance) == 15


def test_entries_of_a_table_have_records_of_their_own():
    table = utils.nonExtensionOperandPerformance("1.2", PerformanceInfo(1.0, 1.0))
    table[0].info.execTime = 9.0
    assert [entry.info.execTime for entry in table[1:]] == [1.0] * (len(table) - 1)
    made = utils.makeCapabilities(*(PerformanceInfo(1.0, 1.0) for _ in range(3)))
    made.ifPerformance.execTime = 5.0
    assert made.whilePerformance.execTime == made.operandPerformance[0].info.execTime == 1.0


def test_size_of_an_operand():
    assert utils.nonExtensionSizeOfData(Operand(type=3, dimensions=[2, 3])) == 24
    with pytest.raises(InvalidArgument, match="must be Operand"):
        utils.nonExtensionSizeOfData(3)


def test_12_7_graph_dump_of_hidl_models_to_a_stream_and_to_the_log(caplog):
    for hal in HALS:
        stream = io.StringIO()
        utils.graphDump("my model", add_model(hal=hal), stream)
        assert stream.getvalue().startswith("// my model\ndigraph {\n") and 'label="0: ADD"' in stream.getvalue()
    own = nnfast.ModelBuilder("own")
    x, y = own.input("TENSOR_FLOAT32", (2,)), own.output("TENSOR_FLOAT32", (2,))
    with caplog.at_level(logging.INFO, "nnfast"):
        utils.graphDump("own", own.operation("RELU", [x], [y]).build())
    assert [record.getMessage() for record in caplog.records][:2] == ["// own", "digraph {"]
    for wrong in ((3, add_model(), None), ("name", 3, None), ("name", add_model(), 3)):
        with pytest.raises(InvalidArgument):
            utils.graphDump(*wrong)
