"""MemoryDomainTests [NN 6.7] with every operand type of theirs, on independent RELUs."""

from math import prod

import numpy as np
import pytest

from helpers.hal_clients import execute, prepare
from nnfast import Memory, ModelBuilder
from nnfast.errors import ErrorStatus as S
from nnfast.hal.layout import from_canonical
from nnfast.hal.types import BufferDesc, BufferRole, DataLocation, MemoryPool, Request, RequestArgument

SHAPE, OPEN = (1, 4, 4, 2), (0, 4, 4, 2)
REFUSED = (S.INVALID_ARGUMENT, None, 0)
SIZES = {"TENSOR_FLOAT32": 4, "TENSOR_FLOAT16": 2, "TENSOR_QUANT8_ASYMM": 1, "TENSOR_QUANT8_ASYMM_SIGNED": 1}
CHANGES = {
    "OperandType": {"kind": "TENSOR_FLOAT32"}, "Scale": {"scale": 1.0}, "ZeroPoint": {"zero_point": 3},
    "Rank": {"shape": SHAPE[1:]}, "Dimensions": {"shape": (2, *SHAPE[1:])},
}


@pytest.fixture(params=SIZES)
def kind(request):
    return request.param


def relus(kind="TENSOR_QUANT8_ASYMM", shape=SHAPE, count=1, scale=None, zero_point=0):
    """count independent RELUs, as a HIDL model."""
    b = ModelBuilder("relus")
    scale = 0.5 * ("QUANT8" in kind) if scale is None else scale
    for _ in range(count):
        x, y = (make(kind, shape, scale=scale, zero_point=zero_point) for make in (b.input, b.output))
        b.operation("RELU", [x], [y])
    return from_canonical(b.build(), "1.3")


def allocated(device, prepared, inputs=(), outputs=(), dims=()):
    """(buffer, token) for inputs and outputs of one prepared model, by their places."""
    status, buffer, token = device.allocate(BufferDesc(list(dims)), [prepared], [BufferRole(0, i, 1.0) for i in inputs],
                                            [BufferRole(0, i, 1.0) for i in outputs])
    assert status == S.NONE
    return buffer, token


def request(kind, inputs, outputs, dims=None):
    """Each argument is a token, or None for memory of its own; dims: {"inputs" or "outputs": those of the first}."""
    pools, rows = [], {}
    for role, tokens in (("inputs", inputs), ("outputs", outputs)):
        rows[role] = []
        for token in tokens:
            own = (dims or {}).get(role, SHAPE) if token is None and not rows[role] else SHAPE
            length = prod(own) * SIZES[kind] if token is None else 0
            rows[role].append(RequestArgument(False, DataLocation(len(pools), 0, length), []))
            pools.append(MemoryPool(Memory.create(length)) if token is None else MemoryPool(token=token))
        if dims and role in dims:
            rows[role][0].dimensions = list(dims[role])
    return Request(rows["inputs"], rows["outputs"], pools)


def value(kind, count=1):
    return Memory.create(int(count * prod(SHAPE) * SIZES[kind]))


@pytest.mark.parametrize("change", CHANGES)
def test_6_7_allocate_conflict_between_roles(device, change):
    models = [prepare(device, relus()), prepare(device, relus(**CHANGES[change]))]
    one, two = BufferRole(0, 0, 1.0), BufferRole(1, 0, 1.0)
    for roles in (([one, two], []), ([one], [two]), ([], [one, two])):
        assert device.allocate(BufferDesc(), models, *roles) == REFUSED


def test_6_7_allocate_conflict_between_role_and_desc(device, kind):
    prepared = prepare(device, relus(kind))
    for dims in (SHAPE[1:], (2, *SHAPE[1:])):
        for roles in (([BufferRole(0, 0, 1.0)], []), ([], [BufferRole(0, 0, 1.0)])):
            assert device.allocate(BufferDesc(list(dims)), [prepared], *roles) == REFUSED


def test_6_7_allocate_conflict_rank_with_scalar_role(device):
    b = ModelBuilder("add")
    x, z, activation = *(b.input("TENSOR_FLOAT32", SHAPE) for _ in range(2)), b.input("INT32", ())
    b.operation("ADD", [x, z, activation], [b.output("TENSOR_FLOAT32", SHAPE)])
    prepared = prepare(device, from_canonical(b.build(), "1.3"))
    assert device.allocate(BufferDesc([1]), [prepared], [BufferRole(0, 2, 1.0)], []) == REFUSED
    assert device.allocate(BufferDesc(), [prepared], [BufferRole(0, 2, 1.0)], [])[0] == S.NONE


def test_6_7_copy_from_invalid_memory_size(device, kind):
    buffer, _ = allocated(device, prepare(device, relus(kind)), [0])
    assert [buffer.copyFrom(value(kind, share), []) for share in (0.5, 2, 1)] == [S.INVALID_ARGUMENT] * 2 + [S.NONE]


def test_6_7_copy_from_invalid_memory_size_dynamic_shape(device, kind):
    buffer, _ = allocated(device, prepare(device, relus(kind, OPEN)), [0])
    answers = [buffer.copyFrom(value(kind, share), list(SHAPE)) for share in (0.5, 2, 1)]
    assert answers == [S.INVALID_ARGUMENT, S.INVALID_ARGUMENT, S.NONE]
    assert buffer.copyFrom(value(kind), [2, *SHAPE[1:]]) == S.INVALID_ARGUMENT


def test_6_7_copy_from_invalid_dimensions(device, kind):
    buffer, _ = allocated(device, prepare(device, relus(kind)), [0])
    for dims in (SHAPE[1:], (2, *SHAPE[1:]), (0, *SHAPE[1:])):
        assert buffer.copyFrom(value(kind), list(dims)) == S.INVALID_ARGUMENT
    for dims in ((), SHAPE):
        assert buffer.copyFrom(value(kind), list(dims)) == S.NONE


def test_6_7_copy_from_invalid_dimensions_dynamic_shape(device, kind):
    buffer, _ = allocated(device, prepare(device, relus(kind, OPEN)), [0])
    for dims in (SHAPE[1:], (1, 4, 5, 2), (1, 0, 4, 2), ()):
        assert buffer.copyFrom(value(kind), list(dims)) == S.INVALID_ARGUMENT
    assert buffer.copyFrom(value(kind), list(SHAPE)) == S.NONE


def test_6_7_copy_to_uninitialized_memory(device, kind):
    for shape in (SHAPE, OPEN):
        buffer, _ = allocated(device, prepare(device, relus(kind, shape)), [0])
        assert buffer.copyTo(value(kind)) == S.GENERAL_FAILURE


@pytest.mark.parametrize("shape", [SHAPE, OPEN], ids=["known", "dynamic"])
def test_6_7_copy_to_invalid_memory_size(device, kind, shape):
    buffer, _ = allocated(device, prepare(device, relus(kind, shape)), [0])
    assert buffer.copyFrom(value(kind), list(SHAPE)) == S.NONE
    assert [buffer.copyTo(value(kind, share)) for share in (0.5, 2, 1)] == [S.INVALID_ARGUMENT] * 2 + [S.NONE]


def test_6_7_execute_invalid_token(device, kind):
    prepared = prepare(device, relus(kind))
    for token in (0, 100):
        assert execute(prepared, request(kind, [token], [None])) == S.INVALID_ARGUMENT
        assert execute(prepared, request(kind, [None], [token])) == S.INVALID_ARGUMENT


def test_6_7_execute_invalid_prepared_model(device, kind):
    prepared, same = (prepare(device, relus(kind)) for _ in range(2))
    source, sink = allocated(device, prepared, [0]), allocated(device, prepared, (), [0])
    assert source[0].copyFrom(value(kind), []) == S.NONE
    assert execute(same, request(kind, [source[1]], [None])) == S.INVALID_ARGUMENT
    assert execute(same, request(kind, [None], [sink[1]])) == S.INVALID_ARGUMENT


def test_6_7_execute_invalid_io_index(device, kind):
    prepared = prepare(device, relus(kind, count=2))
    source, sink = allocated(device, prepared, [0]), allocated(device, prepared, (), [0])
    assert source[0].copyFrom(value(kind), []) == S.NONE
    assert execute(prepared, request(kind, [None, source[1]], [None, None])) == S.INVALID_ARGUMENT
    assert execute(prepared, request(kind, [None, None], [None, sink[1]])) == S.INVALID_ARGUMENT


def test_6_7_execute_invalid_io_type(device, kind):
    prepared = prepare(device, relus(kind))
    source, sink = allocated(device, prepared, [0]), allocated(device, prepared, (), [0])
    assert source[0].copyFrom(value(kind), []) == S.NONE
    assert execute(prepared, request(kind, [None], [source[1]])) == S.INVALID_ARGUMENT
    assert execute(prepared, request(kind, [sink[1]], [None])) == S.INVALID_ARGUMENT


def test_6_7_execute_uninitialized_memory(device, kind):
    prepared = prepare(device, relus(kind))
    buffer, token = allocated(device, prepared, [0], [0])
    assert execute(prepared, request(kind, [token], [None])) == S.GENERAL_FAILURE
    assert execute(prepared, request(kind, [None], [token])) == S.NONE
    assert execute(prepared, request(kind, [token], [None])) == S.NONE
    assert buffer.copyTo(value(kind)) == S.NONE


def test_6_7_execute_same_request_multiple_roles(device, kind):
    prepared = prepare(device, relus(kind, count=2))
    both, token = allocated(device, prepared, [0, 1], [0, 1])
    assert both.copyFrom(value(kind), []) == S.NONE
    assert execute(prepared, request(kind, [token, None], [token, None])) == S.INVALID_ARGUMENT
    assert execute(prepared, request(kind, [None, None], [token, token])) == S.INVALID_ARGUMENT
    assert both.copyFrom(value(kind), []) == S.NONE
    assert execute(prepared, request(kind, [token, token], [None, None])) == S.NONE


def test_6_7_execute_invalid_dimensions(device, kind):
    prepared, twice = prepare(device, relus(kind, OPEN)), (2, *SHAPE[1:])
    source, sink = allocated(device, prepared, [0], (), SHAPE), allocated(device, prepared, (), [0], SHAPE)
    assert source[0].copyFrom(value(kind), []) == S.NONE

    def status(*arguments):
        return prepared.executeSynchronously_1_3(request(kind, *arguments), 0, None, None)[0]

    assert status([source[1]], [None], {"inputs": twice, "outputs": twice}) == S.INVALID_ARGUMENT
    assert status([None], [sink[1]], {"inputs": SHAPE, "outputs": twice}) == S.INVALID_ARGUMENT
    assert status([None], [sink[1]], {"inputs": twice}) == S.GENERAL_FAILURE
    assert status([None], [sink[1]], {"inputs": SHAPE}) == S.NONE


def test_6_7_results_travel_through_buffers(device, kind):
    """As the MEMORY_DOMAIN runs of every vector do."""
    prepared = prepare(device, relus(kind))
    (source, x), (sink, y) = allocated(device, prepared, [0]), allocated(device, prepared, (), [0])
    filled = value(kind)
    filled.array()[:] = np.arange(filled.size) % 100
    assert source.copyFrom(filled, []) == S.NONE
    assert execute(prepared, request(kind, [x], [y])) == S.NONE
    result = value(kind)
    assert sink.copyTo(result) == S.NONE
    wanted = request(kind, [None], [None])
    wanted.pools[0].hidlMemory.array()[:] = filled.array()
    assert execute(prepared, wanted) == S.NONE
    assert np.array_equal(result.array(), wanted.pools[1].hidlMemory.array()) and result.array().any()
