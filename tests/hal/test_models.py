"""Rules of HIDL models that the canonical model does not have [NN 2.2-2.4, 5, 9.3, 11.3, 11.7, 11.16]."""

import copy
import fcntl
import mmap
import os
import threading
import warnings

import numpy as np
import pytest

from helpers.hal_clients import FLOAT, Callback, L, Pools, T, add_model, prepare, raw_add
from nnfast import Memory, ModelBuilder
from nnfast.errors import ErrorStatus as S
from nnfast.hal import types as hidl
from nnfast.hal import v1_0, v1_1, v1_2, v1_3
from nnfast.hal.convert import convert_to
from nnfast.hal.layout import from_canonical
from nnfast.hal.models import to_canonical
from nnfast.hal.types import DataLocation, ExtensionNameAndPrefix, Handle, Operand, SymmPerChannelQuantParams
from nnfast.model.types import ChannelQuant


def refused(device, model, hal="1.3"):
    """The reason why query and preparation refuse a model."""
    suffix = "" if hal == "1.0" else f"_{hal.replace('.', '_')}"
    status, flags = getattr(device, f"getSupportedOperations{suffix}")(model)
    assert (status, flags) == (S.INVALID_ARGUMENT, []), device.last_error()
    arguments = {"1.0": (), "1.1": (1,), "1.2": (1, [], [], bytes(32)), "1.3": (1, 1, None, [], [], bytes(32))}[hal]
    callback = Callback()
    assert getattr(device, f"prepareModel{suffix}")(model, *arguments, callback) == S.INVALID_ARGUMENT
    assert callback.calls == [(S.INVALID_ARGUMENT, None)]
    return device.last_error()


def test_raw_model_is_valid(device):
    assert device.getSupportedOperations_1_3(raw_add()) == (S.NONE, [True])


@pytest.mark.parametrize("operand, location, words", [
    (0, DataLocation(1, 0, 0), "must be all zero for lifetime SUBGRAPH_INPUT"),
    (1, DataLocation(0, 4, 0), "must be all zero for lifetime SUBGRAPH_OUTPUT"),
    (2, DataLocation(1, 0, 4), "pool is 1, must be 0 for a constant in operandValues"),
    (2, DataLocation(0, 0, 3), "length is 3, must be 4 for INT32"),
    (2, DataLocation(0, 0, 5), "length is 5, must be 4"),
    (2, DataLocation(0, 1, 4), "bytes 1..5 must lie in operandValues of 4 bytes"),
    (2, DataLocation(0, 0xFFFFFFFE, 4), "must lie in operandValues"),
    (2, DataLocation(0, -1, 4), "location offset: is -1"),
    (2, DataLocation(0, 0, 1 << 32), "location length: is 4294967296"),
    (2, DataLocation(0, "0", 4), "location offset: is '0'"),
    (2, None, "location: is NoneType, must be DataLocation"),
])
def test_11_3_ijkl_locations(device, operand, location, words):
    model = raw_add()
    model.main.operands[operand].location = location
    reason = refused(device, model)
    assert reason.startswith(f"main.operand[{operand}]") and words in reason


@pytest.mark.parametrize("change, words", [
    ({"type": None}, "type: is None, must be a type code"),
    ({"type": 3.0}, "type: is 3.0"),
    ({"type": True}, "type: is True"),
    ({"dimensions": None}, "dimensions: is NoneType, must be a list"),
    ({"dimensions": [2, -3]}, "each must be 0 (unknown) to 4294967295"),
    ({"dimensions": [2, 1 << 32]}, "each must be 0"),
    ({"dimensions": "23"}, "dimensions: is str"),
    ({"numberOfConsumers": 2.0}, "numberOfConsumers is 2.0"),
    ({"lifetime": 7}, "lifetime is 7, must be 0..6 in HAL 1.3"),
    ({"lifetime": None}, "lifetime is None"),
    ({"scale": "x"}, "scale is 'x'"),
    ({"scale": float("nan")}, "scale is nan"),
    ({"zeroPoint": None}, "zero point is None"),
    ({"extraParams": 7}, "extraParams: is int, must be SymmPerChannelQuantParams"),
    ({"extraParams": b"x"}, "extraParams holds data of an extension"),
    ({"extraParams": SymmPerChannelQuantParams([1.0], 0)}, "has channel scales, must have none"),
])
def test_11_3_bad_fields_are_refused_by_name(device, change, words):
    model = raw_add()
    for name, value in change.items():
        setattr(model.main.operands[0], name, value)
    assert words in refused(device, model)


@pytest.mark.parametrize("path, value, words", [
    ("main", None, "main: is NoneType, must be Subgraph"),
    ("main.operands", [None], "main.operand[0]: is NoneType, must be Operand"),
    ("main.operands", [], "main: has no operands"),
    ("main.operations", [], "main"),
    ("main.operations", {}, "main.operations: is dict, must be a list"),
    ("main.inputIndexes", [3], "operand index 3 is outside"),
    ("main.inputIndexes", [0, 0], "listed twice"),
    ("main.outputIndexes", [1.0], "main.outputs[0]: is 1.0"),
    ("referenced", [7], "referenced[0]: is int, must be Subgraph"),
    ("operandValues", None, "operandValues: is NoneType, must be bytes"),
    ("operandValues", [256, 0, 0, 0], "operandValues: holds something that is not a byte"),
    ("pools", [None], "pools[0]: is NoneType, must be Memory"),
    ("relaxComputationFloat32toFloat16", 1, "is 1, must be True or False"),
    ("extensionNameToPrefix", [None], "extensionNameToPrefix[0]: is NoneType"),
])
def test_11_2_bad_parts_are_refused_by_name(device, path, value, words):
    model = raw_add()
    record = model
    *folders, name = path.split(".")
    for folder in folders:
        record = getattr(record, folder)
    setattr(record, name, value)
    assert words in refused(device, model)


def test_operand_values_may_be_any_bytes(device):
    for values in (bytearray(4), memoryview(bytes(4)), [0, 0, 0, 0], np.zeros(4, np.uint8)):
        model = raw_add()
        model.operandValues = values
        assert device.getSupportedOperations_1_3(model) == (S.NONE, [True])


def test_values_are_those_of_the_moment_of_the_call(device):
    """A client that changes its bytes after prepareModel does not change the model."""
    model = add_model(value=1.0)
    model.operandValues = bytearray(model.operandValues)
    prepared = prepare(device, model)
    model.operandValues[:] = bytes(len(model.operandValues))
    pools = Pools()
    assert prepared.executeSynchronously_1_3(pools.request, 0, None, None)[0] == S.NONE
    assert pools.output.view(np.float32).tolist() == [1, 2, 3, 4, 5, 6]


# -- versions ------------------------------------------------------------------------------------------------------
def test_11_1_the_rules_of_the_called_version_apply(canonical):
    device = v1_3.Device(canonical)
    half = ModelBuilder("half")
    x, y = half.input("TENSOR_FLOAT16", (2,)), half.output("TENSOR_FLOAT16", (2,))
    model = half.operation("FLOOR", [x], [y]).build()
    assert device.getSupportedOperations_1_2(from_canonical(model, "1.2")) == (S.NONE, [True])
    assert "type: 8 does not exist in HAL 1.0" in refused(device, from_canonical(model, "1.0"), "1.0")
    assert "type: 8 does not exist in HAL 1.1" in refused(device, from_canonical(model, "1.1"), "1.1")


def test_11_3_c_unknown_rank_came_with_1_2(device):
    for hal in ("1.0", "1.1"):
        model = convert_to(raw_add(dims=()), hal)
        assert "rank is 0 (unknown), must be at least 1" in refused(device, model, hal)
    assert device.getSupportedOperations_1_2(convert_to(raw_add(dims=()), "1.2"))[0] == S.NONE


def test_11_4_a_operations_and_their_forms_have_versions(device):
    b = ModelBuilder("abs")
    x, y = b.input(FLOAT, (2,)), b.output(FLOAT, (2,))
    absolute = b.operation("ABS", [x], [y]).build()
    assert "operation type: 38 does not exist in HAL 1.1" in refused(device, from_canonical(absolute, "1.1"), "1.1")
    b = ModelBuilder("softmax")
    x, y = b.input(FLOAT, (2, 2)), b.output(FLOAT, (2, 2))
    axis = b.operation("SOFTMAX", [x, b.scalar(1.0), b.scalar(0)], [y]).build()
    reason = refused(device, from_canonical(axis, "1.0"), "1.0")
    assert reason == "main.operation[0] SOFTMAX: this form of the operation came with HAL 1.2, the model is one of " \
                     "HAL 1.0"
    assert device.getSupportedOperations_1_2(from_canonical(axis, "1.2")) == (S.NONE, [True])


def test_11_3_h_lifetime_subgraph_came_with_1_3(device):
    model = convert_to(raw_add(), "1.2")
    model.operands[0].lifetime = 6
    assert "lifetime is 6, must be 0..5 in HAL 1.2" in refused(device, model, "1.2")


def test_extra_params_came_with_1_2(device):
    model = convert_to(raw_add(), "1.1")
    model.operands[0].extraParams = SymmPerChannelQuantParams([1.0], 0)
    assert "HAL 1.1 has none" in refused(device, model, "1.1")


def test_a_model_of_another_version_is_refused(device):
    assert refused(device, raw_add(), "1.2") == "model: is Model1_3, must be Model1_2"
    assert refused(device, add_model(hal="1.1"), "1.0") == "model: is Model1_1, must be Model1_0"


@pytest.mark.parametrize("module, operations, types, statuses, lifetimes", [
    (v1_0, 28, 5, 4, "MODEL_INPUT"), (v1_1, 37, 5, 4, "MODEL_INPUT"), (v1_2, 94, 13, 4, "MODEL_INPUT"),
    (v1_3, 101, 15, 8, "SUBGRAPH_INPUT")])
def test_1_1_to_1_4_each_version_exports_what_it_has(module, operations, types, statuses, lifetimes):
    assert set(module.OperationType) == {*range(operations + 1), 10000}
    assert set(module.OperandType) == {*range(types + 1), 10000, 10001}
    assert set(module.ErrorStatus) == set(range(statuses + 1))
    assert lifetimes in module.OperandLifeTime.__members__
    assert all(hasattr(module, name) for name in module.__all__)


def test_9_7_oem_types_fit_no_operation_of_the_standard(device):
    model = raw_add()
    model.main.operands[0].type = T.TENSOR_OEM_BYTE
    assert "ADD input 0 (input0): type TENSOR_OEM_BYTE, must be TENSOR_FLOAT32" in refused(device, model)


# -- extensions ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("entries, words", [
    ([("a.b", 0)], "prefix is 0, must be 1 to 65535"),
    ([("a.b", 1 << 16)], "prefix is 65536"),
    ([("a.b", 1), ("a.b", 2)], "must be used once"),
    ([("a.b", 1), ("a.c", 1)], "must be used once"),
    ([("ab", 1)], "name is 'ab'"), ([("A.b", 1)], "name is 'A.b'"), ([("a..b", 1)], "name is 'a..b'"),
    ([(None, 1)], "name is None"),
])
def test_9_3_map_of_extensions(device, entries, words):
    model = raw_add()
    model.extensionNameToPrefix = [ExtensionNameAndPrefix(*entry) for entry in entries]
    assert words in refused(device, model)


@pytest.mark.parametrize("code", [0x10000, 0xFFFFFFFF, -1])
def test_9_3_prefix_that_is_not_in_the_map(device, code):
    model = raw_add()
    model.extensionNameToPrefix = [ExtensionNameAndPrefix("com.example.test", 7)]
    model.main.operands[0].type = code
    assert "has a prefix that is not in extensionNameToPrefix" in refused(device, model)


# -- pools ---------------------------------------------------------------------------------------------------------
def referenced_model(pool, offset=0, kind="TENSOR_FLOAT32"):
    """y = x + constant of [2, 3] in pool 0."""
    model = raw_add()
    model.main.operands[0].numberOfConsumers = 1
    constant = Operand(T[kind], [2, 3], 1, 0.0, 0, L.CONSTANT_REFERENCE, DataLocation(0, offset, 24))
    model.main.operands.append(constant)
    model.main.operations[0].inputs = [0, 3, 2]
    model.pools = [pool]
    return model


def run(prepared):
    pools = Pools()
    assert prepared.executeSynchronously_1_3(pools.request, 0, None, None)[0] == S.NONE, prepared.last_error()
    return pools.output.view(np.float32).tolist()


@pytest.mark.parametrize("offset", [0, 4, 3])
def test_5_2_constants_may_lie_anywhere_in_a_pool(device, offset):
    memory = Memory.create(64)
    memory.array()[offset:offset + 24] = np.full(6, 2, np.float32).view(np.uint8)
    assert run(prepare(device, referenced_model(memory, offset))) == [2, 3, 4, 5, 6, 7]


def test_5_1_mmap_fd_with_an_offset_that_is_on_no_page(device, tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(bytes(5001) + np.full(6, 3, np.float32).tobytes())
    with open(path, "rb") as file:
        pool = hidl.Memory("mmap_fd", Handle((file.fileno(),), (mmap.PROT_READ, 5001, 0)), 24)
        prepared = prepare(device, referenced_model(pool))
    path.write_bytes(b"")  # the file is gone; the model has what it read
    assert run(prepared) == [3, 4, 5, 6, 7, 8]


def test_5_1_a_constant_pool_may_be_truncated_afterwards(device):
    fd = os.memfd_create("client", os.MFD_ALLOW_SEALING)
    os.write(fd, np.ones(6, np.float32).tobytes())
    prepared = prepare(device, referenced_model(hidl.Memory("ashmem", Handle((fd,)), 24)))
    os.ftruncate(fd, 0)
    assert run(prepared) == [1, 2, 3, 4, 5, 6]
    os.close(fd)


@pytest.mark.parametrize("pool, words", [
    (hidl.Memory("ashmem", None, 24), "handle is null"),
    (hidl.Memory("ashmem", 3, 24), "handle: is int, must be Handle"),
    (hidl.Memory("ashmem", Handle(), 24), "handle has 0 descriptors and 0 integers, must have 1 and 0 for ashmem"),
    (hidl.Memory("ashmem", Handle((0,), (1,)), 24), "and 1 integers, must have 1 and 0"),
    (hidl.Memory("ashmem", Handle((987654,)), 24), "987654 is not an open file descriptor"),
    (hidl.Memory("ashmem", Handle(("0",)), 24), "fd is '0'"),
    (hidl.Memory("ashmem", Handle((0,)), 0), "size is 0"),
    (hidl.Memory("ashmem", Handle((0,)), None), "size is None"),
    (hidl.Memory("ion", Handle((0,)), 24), "memory of kind 'ion' is not supported"),
    (hidl.Memory("hardware_buffer", Handle((0,)), 0), "memory of kind 'hardware_buffer' is not supported"),
    (hidl.Memory("mmap_fd", Handle((0,), (8, 0, 0)), 24), "prot is 8"),
    (hidl.Memory("mmap_fd", Handle((0,), (1, 0)), 24), "must have 1 and 3 for mmap_fd"),
    (hidl.Memory("mmap_fd", Handle((0,), (1, 0, None)), 24), "must be integers"),
    (hidl.Memory("mmap_fd", Handle((0,), (0, 0, 0)), 24), "PROT_NONE"),
])
def test_5_1_bad_pools(device, pool, words):
    reason = refused(device, referenced_model(pool))
    assert reason.startswith("pools[0]") and words in reason


def test_5_1_file_that_is_too_short(device):
    fd = os.memfd_create("client", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 20)
    for _ in ("may shrink", "sealed"):
        pool = hidl.Memory("ashmem", Handle((fd,)), 24)
        assert "the file has 20 bytes, the memory ends at 24" in refused(device, referenced_model(pool))
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    os.close(fd)


def test_11_3_k_pool_of_a_constant(device):
    memory = Memory.create(24)
    assert "bytes 4..28 must lie in pools[0] of 24 bytes" in refused(device, referenced_model(memory, offset=4))
    model = referenced_model(memory)
    model.pools = []
    assert "pool is 0, the model has 0 pools" in refused(device, model)


def test_5_1_kinds_by_version(device):
    blob = Memory.create(24, "hardware_buffer_blob")
    model = referenced_model(blob)
    assert device.getSupportedOperations_1_3(model) == (S.NONE, [True])
    assert device.getSupportedOperations_1_2(convert_to(model, "1.2")) == (S.NONE, [True])
    assert "not supported in HAL 1.1" in refused(device, convert_to(model, "1.1"), "1.1")


# -- subgraphs -----------------------------------------------------------------------------------------------------
def if_model():
    """y = x + x if the condition else x + x, through two graphs."""
    graph = raw_add().main
    main = hidl.Subgraph([
        Operand(T.TENSOR_BOOL8, [1], 1, lifetime=L.SUBGRAPH_INPUT),
        Operand(T.SUBGRAPH, [], 1, lifetime=L.SUBGRAPH, location=DataLocation(0, 0, 0)),
        Operand(T.SUBGRAPH, [], 1, lifetime=L.SUBGRAPH, location=DataLocation(0, 1, 0)),
        Operand(T.TENSOR_FLOAT32, [2, 3], 1, lifetime=L.SUBGRAPH_INPUT),
        Operand(T.TENSOR_FLOAT32, [2, 3], 0, lifetime=L.SUBGRAPH_OUTPUT),
    ], [hidl.Operation(96, [0, 1, 2, 3], [4])], [0, 3], [4])
    return hidl.Model1_3(main, [graph, copy.deepcopy(graph)], bytes(4))


def test_10_1_subgraphs(device):
    assert device.getSupportedOperations_1_3(if_model()) == (S.NONE, [True])


@pytest.mark.parametrize("location, words", [
    (DataLocation(0, 2, 0), "subgraph is 2, model has 2 referenced subgraphs"),
    (DataLocation(1, 0, 0), "a subgraph has only an offset"),
    (DataLocation(0, 0, 4), "a subgraph has only an offset"),
    (DataLocation(0, -1, 0), "location offset: is -1"),
])
def test_10_1_locations_of_subgraphs(device, location, words):
    model = if_model()
    model.main.operands[1].location = location
    assert words in refused(device, model)


def test_10_1_consumers_are_counted_in_their_own_graph(device):
    model = if_model()
    model.referenced[1].operands[0].numberOfConsumers = 3
    assert "referenced[1].operand[0]: numberOfConsumers is 3, the operations read it 2 times" in refused(device, model)


def test_10_1_cycle_of_subgraphs(device):
    model = if_model()
    model.referenced[1] = copy.deepcopy(model.main)
    model.referenced[1].operands[1].location.offset = 1
    model.referenced[1].operands[2].location.offset = 1
    model.main.operands[1].location = DataLocation(0, 1, 0)
    assert "refers to itself" in refused(device, model)


def while_model(dims):
    """x + 1 while x[0] < 3, with the values of the loop declared as `dims`."""
    def graph(operation, kind, shape, constant):
        b = ModelBuilder()
        x, y = b.input("TENSOR_INT32", dims), b.output(kind, shape)
        return b.operation(operation, [x, b.constant(np.int32([constant])), *([b.scalar(0)] * (operation == "ADD"))],
                           [y])

    b = ModelBuilder("while")
    x, y = b.input("TENSOR_INT32", dims), b.output("TENSOR_INT32", dims)
    condition, body = graph("LESS", "TENSOR_BOOL8", (1,), 3), graph("ADD", "TENSOR_INT32", dims, 1)
    return from_canonical(b.operation("WHILE", [b.subgraph(condition), b.subgraph(body), x], [y]).build(), "1.3")


@pytest.mark.parametrize("dims", [(1,), (0,), ()], ids=["known", "unknown size", "unknown rank"])
def test_10_3_operands_of_while_may_be_of_unknown_size(device, dims):
    prepared, pools = prepare(device, while_model(dims)), Pools(nbytes=4, dims=[1])
    pools.input.view(np.int32)[0] = -2
    assert prepared.executeSynchronously_1_3(pools.request, 0, None, None)[0] == S.NONE
    assert pools.output.view(np.int32).tolist() == [3]


# -- others --------------------------------------------------------------------------------------------------------
def test_3_6_the_model_is_not_modified_and_threads_may_share_it(device):
    model = referenced_model(Memory.create(24))
    before = repr(model)
    results = []
    threads = [threading.Thread(target=lambda: results.append(run(prepare(device, model)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[0, 1, 2, 3, 4, 5]] * 4 and repr(model) == before


def test_way_back_gives_the_same_model(canonical):
    b = ModelBuilder("mixed")
    x = b.input("TENSOR_QUANT8_ASYMM", (1, 4, 4, 2), scale=0.5, zero_point=3)
    w = b.constant(np.ones((3, 1, 1, 2), np.int8), channel_quant=ChannelQuant(0, (0.5, 1.0, 2.0)))
    bias = b.constant(np.arange(3, dtype=np.int32))
    y = b.output("TENSOR_QUANT8_ASYMM", (1, 4, 4, 3), scale=1.0, zero_point=0)
    model = b.operation("CONV_2D", [x, w, bias, b.scalar(1), b.scalar(1), b.scalar(1), b.scalar(0)], [y]).build()
    for hal in ("1.2", "1.3"):
        back = to_canonical(from_canonical(model, hal), hal)
        for one, other in zip(model.main.operands, back.main.operands):
            assert (one.type, one.dims, one.scale, one.zero_point, one.lifetime, one.channel_quant) == \
                (other.type, other.dims, other.scale, other.zero_point, other.lifetime, other.channel_quant)
            assert np.array_equal(one.data, other.data)
        assert (model.main.operations, model.main.inputs) == (back.main.operations, back.main.inputs)


def test_constants_are_read_by_what_numpy_keeps(device):
    """numpy 2.5 warns of what its later versions will not do."""
    model = raw_add()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_canonical(model, "1.3").main.operands
