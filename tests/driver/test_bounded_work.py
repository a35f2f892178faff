"""What an operation builds is bounded by output region, memory limit and deadline before it is built."""

import threading
import tracemalloc
import warnings

import numpy as np
import pytest

import nnfast
from nnfast import Memory, ModelBuilder, Request, RequestArgument
from nnfast._native import threads as native
from nnfast._native.threads import Cancel
from nnfast.driver.execution import Limits
from nnfast.errors import Cancelled, Error, InvalidArgument, OutputInsufficientSize

F32, I32 = "TENSOR_FLOAT32", "TENSOR_INT32"
HUGE = 60_000_000
MEGABYTE = 1 << 20


def grown(kind, read=False):
    """A model that makes one value, or four, as many as an input says, and the arrays of that input.

    read: another operation reads the result, so that it is no output.
    """
    b = ModelBuilder()
    arrays = []

    def given(type_, array):
        arrays.append(array)
        return b.input(type_, array.shape)

    def scalar(value):
        arrays.append(np.array(value, np.int32))
        return b.input("INT32", ())

    if kind == "TILE":
        name, inputs = kind, [given(F32, np.ones(1, np.float32)), given(I32, np.int32([HUGE]))]
    elif kind == "PAD":
        name, inputs = kind, [given(F32, np.ones(1, np.float32)), given(I32, np.int32([[0, HUGE]]))]
    elif kind == "FILL":
        name, inputs = kind, [given(I32, np.int32([HUGE])), b.scalar(np.float32(1))]
    else:
        name, inputs = kind, [given(F32, np.ones((1, 2, 2, 1), np.float32)), scalar(HUGE), scalar(1), b.scalar(False)]
    if read:
        y = b.operand(F32, ())
        b.operation(name, inputs, [y])
        b.operation("REDUCE_MAX", [y, b.constant(np.int32([0])), b.scalar(False)], [b.output(F32, ())])
    else:
        b.operation(name, inputs, [b.output(F32, ())])
    return b.build(), arrays


KINDS = ("TILE", "PAD", "FILL", "RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")


def peak_of(call):
    """Bytes that Python and numpy took at most during a call that raises a nnfast error, and the error."""
    tracemalloc.start()
    try:
        with pytest.raises(Error) as told:
            call()
        return tracemalloc.get_traced_memory()[1], told.value
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_that_does_not_fit_is_found_before_anything_is_built(kind):
    model, arrays = grown(kind)
    prepared = nnfast.Device(1).prepare(model)
    memory = Memory.create(4096)
    at, arguments = 0, []
    for array in arrays:
        memory.array()[at:at + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        arguments.append(RequestArgument(0, at, array.nbytes))
        at += 64
    request = Request(tuple(arguments), (RequestArgument(0, 2048, 16),), (memory,))
    for _ in range(2):  # planned anew, and with what was kept
        peak, error = peak_of(lambda: prepared.execute(request))
        assert isinstance(error, OutputInsufficientSize) and peak < MEGABYTE
        assert int(np.prod(error.shapes[0].dims, dtype=np.int64)) >= HUGE


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_memory_limit_does_not_allow_is_not_built(kind):
    model, arrays = grown(kind, read=True)
    prepared = nnfast.Device(1, memory_limit=8 * MEGABYTE).prepare(model)
    peak, error = peak_of(lambda: prepared.run(arrays))
    assert isinstance(error, MemoryError) and peak < MEGABYTE
    small = [np.array(np.minimum(a, 3)) if a.dtype == np.int32 else a for a in arrays]
    prepared.run(small)  # still usable


@pytest.mark.parametrize("axis", [0, 1])
def test_constant_indices_into_a_huge_dimension_cost_nothing(axis):
    def prepare(size):
        b = ModelBuilder()
        x = b.input("TENSOR_QUANT8_ASYMM", (size, 2) if axis == 0 else (2, size), scale=0.5)
        y = b.output("TENSOR_QUANT8_ASYMM", (1, 2) if axis == 0 else (2, 1), scale=0.5)
        b.operation("GATHER", [x, b.scalar(axis), b.constant(np.int32([7]))], [y])
        nnfast.Device(1, memory_limit=100 * MEGABYTE).prepare(b.build())

    prepare(16)  # which imports what preparing needs
    tracemalloc.start()
    try:
        prepare(1 << 28)
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    finally:
        tracemalloc.stop()


def nested(depth):
    """IF in IF, `depth` deep, around a RELU."""
    inner = ModelBuilder()
    x, y = inner.input(F32, (1,)), inner.output(F32, (1,))
    inner.operation("RELU", [x], [y])
    for _ in range(depth):
        outer = ModelBuilder()
        condition = outer.constant(np.array([True]))
        x, y = outer.input(F32, (1,)), outer.output(F32, (1,))
        branch = outer.subgraph(inner)
        outer.operation("IF", [condition, branch, branch, x], [y])
        inner = outer
    return inner.build()


def test_graphs_may_be_nested_deeper_than_python_calls():
    device, model = nnfast.Device(1), nested(3000)
    assert device.supported_operations(model) == [True]
    prepared = device.prepare(model)
    for value in (-1, 2):
        assert prepared.run([np.float32([value])])[0] == max(value, 0)
    prepared.explain()


@pytest.mark.parametrize("kind", ["ROI_ALIGN", "ROI_POOLING", "RANDOM_MULTINOMIAL"])
def test_bad_values_give_no_warning(kind):
    b = ModelBuilder()
    if kind == "RANDOM_MULTINOMIAL":
        arrays = [np.float32([[np.inf, np.nan, 3e38, -3e38]]), np.int32([1, 2])]
        b.operation(kind, [b.input(F32, (1, 4)), b.scalar(5), b.input(I32, (2,))], [b.output(I32, (1, 5))])
    else:
        arrays = [np.full((1, 4, 4, 1), np.nan, np.float16), np.float16([[0, 0, np.inf, np.nan]]), np.int32([0])]
        half = "TENSOR_FLOAT16"
        ratios = [b.scalar(0), b.scalar(0)] if kind == "ROI_ALIGN" else []
        b.operation(kind, [b.input(half, (1, 4, 4, 1)), b.input(half, (1, 4)), b.input(I32, (1,)), b.scalar(2),
                           b.scalar(2), b.scalar(np.float16(6e-8)), b.scalar(np.float16(1)), *ratios, b.scalar(False)],
                    [b.output(half, (1, 2, 2, 1))])
    prepared = nnfast.Device(1).prepare(b.build())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            prepared.run(arrays)
        except Error as error:
            assert kind in str(error)


def test_a_message_about_many_values_is_short():
    b = ModelBuilder()
    x, perm, y = b.input(F32, (2, 3)), b.input(I32, (1 << 22,)), b.output(F32, (0, 0))
    b.operation("TRANSPOSE", [x, perm], [y])
    prepared = nnfast.Device(1).prepare(b.build())
    with pytest.raises(InvalidArgument, match=r"TRANSPOSE input 1 \(perm\): has 4194304 values") as told:
        prepared.run([np.zeros((2, 3), np.float32), np.zeros(1 << 22, np.int32)])
    assert len(str(told.value)) < 200


def test_every_message_is_one_line():
    told = str(InvalidArgument("main.operand[3]: name is 'a\nb\0', " + "x" * 100000 + ", must be\tshort"))
    assert len(told) <= 1000 and told.isprintable()
    assert told.startswith("main.operand[3]: name is 'a\\nb\\x00'") and told.endswith("must be\\tshort")
    assert len(str(InvalidArgument("\n" * 900))) <= 1000


# -- waiting and stopping ------------------------------------------------------------------------------------------
def lookups():
    """A model without a native kernel."""
    b = ModelBuilder()
    inputs = [b.input(I32, (2,)), b.input(I32, (3,)), b.input(F32, (3, 2))]
    b.operation("HASHTABLE_LOOKUP", inputs, [b.output(F32, (2, 2)), b.output("TENSOR_QUANT8_ASYMM", (2,), scale=1.0)])
    return b.build()


def long_model(steps=6000):
    """Many additions in a row: seconds of native steps."""
    b = ModelBuilder()
    x, w, none = b.input(F32, (1 << 20,)), b.constant(np.ones(1, np.float32)), b.scalar(0)
    for step in range(steps):
        y = b.output(F32, (1 << 20,)) if step == steps - 1 else b.operand(F32, (1 << 20,))
        b.operation("ADD", [x, w, none], [y])
        x = y
    return b.build()


def limited(prepared, arrays, limits):
    """The error that an execution within limits ends in, or None."""
    try:
        prepared.executor.perform(arrays, None, limits)
    except Error as error:
        return error
    return None


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_waiting_for_a_turn_ends_before_a_step_in_numpy(how):
    device = nnfast.Device(1)
    device.gate = native.Gate(1)
    low, high = device.prepare(lookups(), priority="low"), device.prepare(long_model(), priority="high")
    arrays = np.int32([0, 1]), np.int32([0, 1, 2]), np.ones((3, 2), np.float32)
    stop = Cancel()
    other = threading.Thread(target=limited, args=(high, [np.zeros(1 << 20, np.float32)], Limits(stop)))
    other.start()
    error = None
    while error is None:  # until the other one has begun, there is nothing to wait for
        cancel = Cancel()
        limits = Limits(cancel, native.now_ns() + 3 * 10**7 if how == "deadline" else 0)
        timer = threading.Timer(0.03, cancel.set)
        if how == "cancel":
            timer.start()
        error = limited(low, arrays, limits)
        timer.cancel()
        assert other.is_alive()
    stop.set()
    other.join(600)
    assert isinstance(error, Cancelled if how == "cancel" else TimeoutError)


def suppressing(count):
    """BOX_WITH_NMS_LIMIT on boxes that all stay: each is compared with all others."""
    b = ModelBuilder()
    inputs = [b.input(F32, (count, 2)), b.input(F32, (count, 8)), b.input(I32, (count,))]
    settings = [b.scalar(np.float32(0)), b.scalar(-1), b.scalar(0), b.scalar(np.float32(0.5)), b.scalar(np.float32(1)),
                b.scalar(np.float32(0))]
    b.operation("BOX_WITH_NMS_LIMIT", inputs + settings,
                [b.output(F32, (0,)), b.output(F32, (0, 4)), b.output(I32, (0,)), b.output(I32, (0,))])
    places = np.arange(count, dtype=np.float32)[:, None] * 2
    box = places + np.float32([0, 0, 1, 1])
    return b.build(), [np.ones((count, 2), np.float32), np.hstack([box, box]), np.zeros(count, np.int32)]


def drawing():
    """RANDOM_MULTINOMIAL of many samples."""
    b = ModelBuilder()
    b.operation("RANDOM_MULTINOMIAL", [b.input(F32, (1, 4)), b.scalar(1 << 27), b.input(I32, (2,))],
                [b.output(I32, (1, 1 << 27))])
    return b.build(), [np.ones((1, 4), np.float32), np.int32([1, 2])]


@pytest.mark.parametrize("make", [lambda: suppressing(200_000), drawing])
def test_a_long_step_in_numpy_ends_at_the_deadline(make):
    """Minutes, if it went on to its end."""
    model, arrays = make()
    prepared = nnfast.Device(1).prepare(model)
    error = limited(prepared, arrays, Limits(None, native.now_ns() + 10**8))
    assert isinstance(error, TimeoutError)
