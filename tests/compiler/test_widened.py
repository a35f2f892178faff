"""Declared sizes in the place of computed zeros: nobody sees what was in that memory before."""

import numpy as np
import pytest

import nnfast
from nnfast import Memory, ModelBuilder, Request, RequestArgument

FLOAT, HALF, INT, BOOL = "TENSOR_FLOAT32", "TENSOR_FLOAT16", "TENSOR_INT32", "TENSOR_BOOL8"
ROWS = 7


def ints(b, *values):
    return b.constant(np.int32(values))


def slice_of(b, x, dims, kind=FLOAT):
    """The first elements of x: as many as `dims` says, whose 0 stays one."""
    y = b.operand(kind, dims)
    b.operation("SLICE", [x, ints(b, *[0] * len(dims)), ints(b, *dims)], [y])
    return y


def empty(b, *rest, kind=FLOAT):
    """An operand of shape [0, *rest]."""
    return slice_of(b, b.input(kind, (4, *rest)), (0, *rest), kind)


def model(name, kind=FLOAT):
    """A model whose last operation computes nothing and whose output has ROWS rows."""
    b = ModelBuilder(name)
    dims, operands = _FORMS[name](b, kind)
    return b.operation(name, operands, [b.output(INT if name == "FILL" else kind, dims)]).build()


_FORMS = {
    "SLICE": lambda b, kind: ((ROWS,), [b.input(kind, (4,)), ints(b, 2), ints(b, 0)]),
    "STRIDED_SLICE": lambda b, kind: ((ROWS,), [b.input(kind, (4,)), ints(b, 2), ints(b, 2), ints(b, 1),
                                                *map(b.scalar, (0, 0, 0))]),
    "TILE": lambda b, kind: ((ROWS, 3), [b.input(kind, (4, 3)), ints(b, 0, 1)]),
    "FILL": lambda b, kind: ((ROWS,), [ints(b, 0), b.scalar(5)]),
    "ADD": lambda b, kind: ((ROWS, 3), [empty(b, 3, kind=kind), b.input(kind, (3,)), b.scalar(0)]),
    "RELU": lambda b, kind: ((ROWS,), [empty(b, kind=kind)]),
    "TRANSPOSE": lambda b, kind: ((3, ROWS), [empty(b, 3, kind=kind), ints(b, 1, 0)]),
    "CONCATENATION": lambda b, kind: ((ROWS,), [empty(b, kind=kind), empty(b, kind=kind), b.scalar(0)]),
    "FULLY_CONNECTED": lambda b, kind: ((ROWS, 3), [empty(b, 2, kind=kind), b.constant(_ones(kind, 3, 2)),
                                                    b.constant(_ones(kind, 3)), b.scalar(0)]),
    "SOFTMAX": lambda b, kind: ((ROWS, 2), [empty(b, 2, kind=kind), b.scalar(_one(kind))]),
    "CONV_2D": lambda b, kind: ((ROWS, 4, 4, 3), [empty(b, 4, 4, 2, kind=kind), b.constant(_ones(kind, 3, 1, 1, 2)),
                                                  b.constant(_ones(kind, 3)), *map(b.scalar, (1, 1, 1, 0))]),
    "MAX_POOL_2D": lambda b, kind: ((ROWS, 4, 4, 2),
                                    [empty(b, 4, 4, 2, kind=kind), *map(b.scalar, (1, 1, 1, 1, 1, 0))]),
}


def _one(kind):
    return np.float16(1) if kind == HALF else 1.0


def _ones(kind, *dims):
    return np.ones(dims, np.float16 if kind == HALF else np.float32)


def inputs_of(prepared):
    return [np.ones(info.shape, info.dtype) for info in prepared.inputs]


def spoiled(info):
    """An output array full of bytes that are no zeros."""
    return np.frombuffer(bytearray(b"\xa5" * (int(np.prod(info.shape)) * info.dtype.itemsize)),
                         info.dtype).reshape(info.shape)


@pytest.mark.parametrize("kind", [FLOAT, HALF])
@pytest.mark.parametrize("name", _FORMS)
def test_an_output_that_nothing_writes_is_zeros(name, kind):
    for threads in (1, 2):
        prepared = nnfast.Device(threads).prepare(model(name, kind))
        for _ in range(2):  # each run writes it, not only the first
            out = spoiled(prepared.outputs[0])
            prepared.run(inputs_of(prepared), [out])
            assert not out.view(np.uint8).any()
        assert prepared.explain().rows[-1]["output"] == [list(out.shape)]


def request_for(prepared, memory):
    """All inputs as ones and the output, one behind the other, each at a multiple of 64."""
    arguments, at = [], 0
    for array in (*inputs_of(prepared), spoiled(prepared.outputs[0])):
        memory[at:at + array.nbytes] = array.reshape(-1).view(np.uint8)
        arguments.append(RequestArgument(0, at, array.nbytes))
        at += -(-array.nbytes // 64) * 64
    return arguments[:-1], arguments[-1:]


@pytest.mark.parametrize("name", _FORMS)
def test_whatever_runs_it(name, tmp_path):
    device = nnfast.Device(2)
    made = model(name)
    for prepared in (device.prepare(made, cache_dir=tmp_path), device.prepare(made, cache_dir=tmp_path)):
        memory = Memory.create(1 << 16)
        inputs, outputs = request_for(prepared, memory.array())
        place = slice(outputs[0].offset, outputs[0].offset + outputs[0].length)
        request = Request(tuple(inputs), tuple(outputs), (memory,))
        with prepared.burst() as burst:
            for execute in (prepared.execute, burst.execute, burst.execute):
                memory.array()[place] = 0xA5
                execute(request)
                assert not memory.array()[place].any()
        assert not prepared.submit(inputs_of(prepared)).result(600)[0].any()


def test_what_reads_it_reads_zeros():
    """Between operations too, where NCHW images and float16 have forms of their own."""
    b = ModelBuilder("chain")
    x, image = b.input(FLOAT, (4, 2, 4, 4)), b.operand(FLOAT, (0, 2, 4, 4))
    b.operation("SLICE", [x, ints(b, 0, 0, 0, 0), ints(b, 0, 2, 4, 4)], [image])
    pooled, again, y = (b.operand(FLOAT, (ROWS, 2, 4, 4)), b.operand(FLOAT, (ROWS, 2, 4, 4)),
                        b.output(FLOAT, (ROWS, 2, 4, 4)))
    window = [*map(b.scalar, (1, 1, 1, 1, 1, 0)), b.scalar(True)]
    b.operation("MAX_POOL_2D", [image, *window], [pooled])
    b.operation("MAX_POOL_2D", [pooled, *window], [again])
    b.operation("ADD", [again, b.constant(np.ones(1, np.float32)), b.scalar(0)], [y])
    prepared = nnfast.Device(2).prepare(b.build())
    (out,) = prepared.run([np.full((4, 2, 4, 4), 9, np.float32)])
    assert out.shape == (ROWS, 2, 4, 4) and (out == 1).all()


def test_an_empty_size_that_the_model_leaves_open_stays_empty():
    b = ModelBuilder("open")
    y = b.output(FLOAT, (0, 3))
    b.operation("RELU", [empty(b, 3)], [y])
    assert nnfast.Device(1).prepare(b.build()).run([np.ones((4, 3), np.float32)])[0].shape == (0, 3)


def test_inside_of_control_flow():
    b = ModelBuilder("branches")

    def branch(name):
        inner = ModelBuilder(name)
        x, y = inner.input(FLOAT, (4,)), inner.output(FLOAT, (ROWS,))
        return inner.operation(name, [slice_of(inner, x, (0,))], [y])

    condition, x, y = b.input(BOOL, (1,)), b.input(FLOAT, (4,)), b.output(FLOAT, (ROWS,))
    b.operation("IF", [condition, b.subgraph(branch("RELU")), b.subgraph(branch("TANH")), x], [y])
    prepared = nnfast.Device(1).prepare(b.build())
    for flag in (True, False):
        (out,) = prepared.run([np.uint8([flag]), np.full(4, 9, np.float32)])
        assert out.shape == (ROWS,) and not out.any()
