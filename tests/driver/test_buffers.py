"""Memory domains: the cases of [NN 6.7] that need no versioned face."""

import gc

import numpy as np
import pytest

from nnfast import ModelBuilder, Request, RequestArgument, Role
from nnfast.errors import GeneralFailure, InvalidArgument

TYPES = {"TENSOR_FLOAT32": 0.0, "TENSOR_FLOAT16": 0.0, "TENSOR_QUANT8_ASYMM": 0.5, "TENSOR_QUANT8_ASYMM_SIGNED": 0.5}
SHAPE = (1, 4, 4, 2)
CHANGES = {
    "type": {"kind": "TENSOR_FLOAT32"}, "scale": {"scale": 1.0}, "zero_point": {"zero_point": 3},
    "dimensions": {"shape": (4, 4, 2)}, "which do not go": {"shape": (1, 4, 8, 2)},
}


def relu_model(kind="TENSOR_QUANT8_ASYMM", shape=SHAPE, scale=None, zero_point=0, count=1):
    """count independent RELUs."""
    b = ModelBuilder("relus")
    scale = TYPES[kind] if scale is None else scale
    for _ in range(count):
        x, y = (make(kind, shape, scale=scale, zero_point=zero_point) for make in (b.input, b.output))
        b.operation("RELU", [x], [y])
    return b.build()


def add_model():
    b = ModelBuilder("add")
    x, z, activation = b.input("TENSOR_FLOAT32", SHAPE), b.input("TENSOR_FLOAT32", SHAPE), b.input("INT32", ())
    y = b.output("TENSOR_FLOAT32", SHAPE)
    return b.operation("ADD", [x, z, activation], [y]).build()


def whole(*buffers):
    """Arguments that are one buffer each."""
    return tuple(RequestArgument(place) for place in range(len(buffers)))


def run(prepared, inputs, outputs, **dims):
    arguments = [RequestArgument(place, dims=dims.get(f"d{place}", ())) for place in range(len(inputs) + len(outputs))]
    return prepared.execute(Request(tuple(arguments[:len(inputs)]), tuple(arguments[len(inputs):]),
                                    (*inputs, *outputs)))


def value(buffer, shape=SHAPE):
    array = np.empty(shape, buffer.dtype)
    buffer.copy_to(array)
    return array


@pytest.fixture(params=TYPES)
def kind(request):
    return request.param


def test_a_chain_of_models_stays_in_device_memory(device, kind):
    first, second = device.prepare(relu_model(kind)), device.prepare(relu_model(kind))
    source = device.allocate([Role(first, 0)])
    between = device.allocate([Role(second, 0)], [Role(first, 0)])
    last = device.allocate((), [Role(second, 0, 0.5)])
    x = (np.arange(32) - 16).astype(source.dtype).reshape(SHAPE)
    source.copy_from(x)
    run(first, [source], [between])
    run(second, [between], [last])
    assert np.array_equal(value(last), first.run([x])[0])
    assert np.array_equal(value(source), x)


def test_allocate_refuses_bad_roles(device):
    prepared, other = device.prepare(relu_model(count=2)), type(device)(1).prepare(relu_model())
    good = Role(prepared, 0)
    for inputs, outputs, text in (
        ((), (), "needs at least one role"), ([7], (), r"input_roles\[0\]: is 7, must be a Role"),
        ([Role(None, 0)], (), r"input_roles\[0\]: prepared is None, must be a model that this device prepared"),
        ((), [good, Role(None, 0)], r"output_roles\[1\]: prepared is None"), ([Role(other, 0)], (), "that this device"),
        ([Role(prepared, 2)], (), "index is 2, the model has 2 inputs"), ((), [Role(prepared, -1)], "index is -1"),
        ([Role(prepared, 0, 10.0)], (), "frequency is 10"), ([Role(prepared, 0, 0.0)], (), "frequency is 0"),
        ((), [Role(prepared, 0, -0.5)], "frequency is -0.5"), ([good, good], (), "is listed already"),
        ((), [good, Role(prepared, 0, 0.5)], "is listed already"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            device.allocate(inputs, outputs)


@pytest.mark.parametrize("change", CHANGES)
def test_roles_must_agree(device, change):
    one, two = device.prepare(relu_model()), device.prepare(relu_model(**CHANGES[change]))
    both = [Role(one, 0), Role(two, 0)]
    for roles in ((both, ()), (both[:1], both[1:]), ((), both)):
        with pytest.raises(InvalidArgument, match=change):
            device.allocate(*roles)


def test_the_description_must_agree(device):
    prepared, added = device.prepare(relu_model()), device.prepare(add_model())
    for dims in ((4, 4, 2), (2, 4, 4, 2)):
        with pytest.raises(InvalidArgument, match="do not go with"):
            device.allocate([Role(prepared, 0)], (), dims)
    with pytest.raises(InvalidArgument, match="scalar, which has none"):
        device.allocate([Role(added, 2)], (), (1,))


def test_scalars_live_in_buffers_too(device):
    prepared = device.prepare(add_model())
    activation = device.allocate([Role(prepared, 2)])
    activation.copy_from(np.int32(1))
    x, out = np.full(SHAPE, -1, np.float32), bytearray(128)
    prepared.execute(Request((RequestArgument(0, 0, 128), RequestArgument(0, 0, 128), RequestArgument(2)),
                             (RequestArgument(1, 0, 128),), (x, out, activation)))
    assert not np.frombuffer(out, np.float32).any()
    with pytest.raises(InvalidArgument, match="a scalar has none"):
        activation.copy_from(np.int32(1), (1,))


def test_copy_sizes_and_dims(device, kind):
    prepared = device.prepare(relu_model(kind))
    buffer = device.allocate([Role(prepared, 0)])
    x = np.ones(SHAPE, buffer.dtype)
    for wrong in (x[:, :2].copy(), np.concatenate([x, x])):
        with pytest.raises(InvalidArgument, match="must have exactly"):
            buffer.copy_from(wrong)
        with pytest.raises(InvalidArgument, match="must have exactly"):
            buffer.copy_to(wrong)
    with pytest.raises(GeneralFailure, match="has no value yet"):
        buffer.copy_to(x)
    for dims in ((4, 4, 2), (2, 4, 4, 2), (0, 4, 4, 2)):
        with pytest.raises(InvalidArgument, match="dims are"):
            buffer.copy_from(x, dims)
    buffer.copy_from(x, SHAPE)
    buffer.copy_from(x)
    assert np.array_equal(value(buffer), x)
    with pytest.raises(InvalidArgument, match="read-only"):
        buffer.copy_to(bytes(x.nbytes))
    with pytest.raises(InvalidArgument, match="copy_from source"):
        buffer.copy_from(7)


def test_a_failed_copy_takes_the_value_away(device):
    prepared = device.prepare(relu_model())
    buffer = device.allocate([Role(prepared, 0)])
    buffer.copy_from(np.ones(SHAPE, np.uint8))
    with pytest.raises(InvalidArgument):
        buffer.copy_from(b"short")
    with pytest.raises(GeneralFailure):
        value(buffer)


def test_open_shapes_are_settled_by_the_copy(device):
    prepared = device.prepare(relu_model("TENSOR_FLOAT32", (0, 4, 4, 2)))
    buffer, out = device.allocate([Role(prepared, 0)]), device.allocate((), [Role(prepared, 0)])
    x = np.ones((3, 4, 4, 2), np.float32)
    for source, dims in ((x, (4, 4, 2)), (x, (3, 4, 5, 2)), (x, (3, 0, 4, 2)), (x, ()), (x[:2], (3, 4, 4, 2)),
                         (np.concatenate([x, x]), (3, 4, 4, 2)), (x, (2, 4, 4, 2))):
        with pytest.raises(InvalidArgument):
            buffer.copy_from(source, dims)
    buffer.copy_from(x, (3, 4, 4, 2))
    assert run(prepared, [buffer], [out]).shapes[0].dims == (3, 4, 4, 2)
    assert np.array_equal(value(out, x.shape), x)
    for wrong in (x[:1].copy(), np.concatenate([x, x])):
        with pytest.raises(InvalidArgument, match="must have exactly"):
            out.copy_to(wrong)


def test_dimensions_at_execution(device):
    prepared = device.prepare(relu_model("TENSOR_FLOAT32", (0, 4, 4, 2)))
    x, y = device.allocate([Role(prepared, 0)], (), SHAPE), device.allocate((), [Role(prepared, 0)], SHAPE)
    x.copy_from(np.ones(SHAPE, np.float32))
    with pytest.raises(InvalidArgument, match="holds"):
        run(prepared, [x], [y], d0=(2, 4, 4, 2))
    with pytest.raises(InvalidArgument, match="was allocated for"):
        run(prepared, [x], [y], d1=(2, 4, 4, 2))
    pool = np.ones((2, 4, 4, 2), np.float32)
    with pytest.raises(GeneralFailure, match="was allocated for"):
        prepared.execute(Request((RequestArgument(0, 0, 256, (2, 4, 4, 2)),), (RequestArgument(1),), (pool, y)))
    run(prepared, [x], [y])
    assert np.array_equal(value(y), np.ones(SHAPE, np.float32))


def test_a_declared_size_over_a_computed_0_fits_its_buffer(device):
    """As in memory of the client: the result has the declared size, and zeros [NN 13.3]."""
    b = ModelBuilder()
    x, begin, end = b.input("TENSOR_FLOAT32", (4,)), *(b.input("TENSOR_INT32", (1,)) for _ in range(2))
    y = b.output("TENSOR_FLOAT32", (1,))
    b.operation("STRIDED_SLICE", [x, begin, end, b.constant(np.int32([1])), *(b.scalar(0) for _ in range(3))], [y])
    prepared = device.prepare(b.build())
    buffer = device.allocate(output_roles=[Role(prepared, 0)])
    pool = np.frombuffer(np.float32([1, 2, 3, 4]).tobytes() + np.int32([2, 2]).tobytes(), np.uint8).copy()
    arguments = [RequestArgument(0, 0, 16), RequestArgument(0, 16, 4), RequestArgument(0, 20, 4)]
    result = prepared.execute(Request(arguments, [RequestArgument(1, 0, 0)], [pool, buffer]))
    found = np.full(1, 9, np.float32)
    buffer.copy_to(found.view(np.uint8))
    assert result.shapes[0].dims == (1,) and found[0] == 0


def test_uses_that_were_not_asked_for(device):
    prepared, same = device.prepare(relu_model(count=2)), device.prepare(relu_model(count=2))
    x, y = device.allocate([Role(prepared, 0)]), device.allocate((), [Role(prepared, 0)])
    x.copy_from(np.ones(SHAPE, np.uint8))
    pool, out, second = np.ones(SHAPE, np.uint8), bytearray(32), bytearray(32)

    def attempt(model, inputs, outputs):
        pools = (pool, out, second, x, y)
        place = {id(p): i for i, p in enumerate(pools)}
        arguments = [RequestArgument(place[id(p)], 0, 0 if p is x or p is y else 32) for p in (*inputs, *outputs)]
        model.execute(Request(tuple(arguments[:2]), tuple(arguments[2:]), pools))

    for model, inputs, outputs in ((same, (x, pool), (out, second)), (same, (pool, pool), (y, second)),
                                   (prepared, (pool, x), (y, out)), (prepared, (y, pool), (out, second)),
                                   (prepared, (pool, pool), (x, out)), (prepared, (pool, pool), (out, y))):
        with pytest.raises(InvalidArgument, match="was not allocated for"):
            attempt(model, inputs, outputs)
    attempt(prepared, (x, pool), (y, out))


def test_one_buffer_in_several_roles(device):
    prepared = device.prepare(relu_model(count=2))
    both_inputs = device.allocate([Role(prepared, 0), Role(prepared, 1)])
    both_outputs = device.allocate((), [Role(prepared, 0), Role(prepared, 1)])
    mixed = device.allocate([Role(prepared, 0)], [Role(prepared, 0)])
    outs = [device.allocate((), [Role(prepared, place)]) for place in (0, 1)]
    both_inputs.copy_from(np.ones(SHAPE, np.uint8))
    run(prepared, [both_inputs, both_inputs], outs)
    with pytest.raises(InvalidArgument, match="is an argument of this request already"):
        run(prepared, [both_inputs, both_inputs], [both_outputs, both_outputs])
    mixed.copy_from(np.ones(SHAPE, np.uint8))
    with pytest.raises(InvalidArgument, match="is an argument of this request already"):
        run(prepared, [mixed, both_inputs], [mixed, outs[1]])


def test_values_come_with_executions_and_go_with_failures(device):
    prepared = device.prepare(relu_model("TENSOR_FLOAT32"))
    x = device.allocate([Role(prepared, 0)], [Role(prepared, 0)])
    out, pool = bytearray(128), np.ones(SHAPE, np.float32)
    read = Request((RequestArgument(0),), (RequestArgument(1, 0, 128),), (x, out))
    write = Request((RequestArgument(0, 0, 128),), (RequestArgument(1),), (pool, x))
    with pytest.raises(GeneralFailure, match="has no value yet"):
        prepared.execute(read)
    prepared.execute(write)
    prepared.execute(read)
    assert np.array_equal(np.frombuffer(out, np.float32).reshape(SHAPE), pool)
    for offset, length in ((4, 0), (0, 128)):
        with pytest.raises(InvalidArgument, match="must be 0 for a buffer"):
            prepared.execute(Request((RequestArgument(0, offset, length),), read.outputs, (x, out)))


def test_a_failed_execution_takes_the_value_away(device):
    b = ModelBuilder("gather")
    x, at = b.input("TENSOR_FLOAT32", (4,)), b.input("TENSOR_INT32", (2,))
    y = b.output("TENSOR_FLOAT32", (2,))
    prepared = device.prepare(b.operation("GATHER", [x, b.scalar(0), at], [y]).build())
    buffer = device.allocate((), [Role(prepared, 0)])

    def gather(index):
        prepared.execute(Request((RequestArgument(0, 0, 16), RequestArgument(1, 0, 8)), (RequestArgument(2),),
                                 (np.arange(4, dtype=np.float32), np.int32(index), buffer)))

    gather([1, 2])
    assert value(buffer, (2,)).tolist() == [1, 2]
    with pytest.raises(GeneralFailure):
        gather([1, 9])
    with pytest.raises(GeneralFailure, match="has no value yet"):
        value(buffer, (2,))
    gather([3, 0])
    assert value(buffer, (2,)).tolist() == [3, 0]


def test_tokens_are_unique_and_used_again(device):
    prepared = device.prepare(relu_model())
    buffers = [device.allocate([Role(prepared, 0)]) for _ in range(3)]
    assert sorted(b.token for b in buffers) == [1, 2, 3]
    assert device.tokens.find(2) is buffers[1]
    for token in (0, 100, -1):
        with pytest.raises(InvalidArgument, match="no buffer of this device has it"):
            device.tokens.find(token)
    del buffers[1]
    gc.collect()
    with pytest.raises(InvalidArgument):
        device.tokens.find(2)
    assert device.allocate([Role(prepared, 0)]).token == 2
