"""Outputs that only have another shape, or are a part, lie in the memory of the input: with the same values."""

from types import SimpleNamespace

import numpy as np
import pytest

import nnfast
from helpers.tflite.networks import Net
from nnfast.compiler.lowering import Lowering

NAME = "share_memory"


def run(file, x, cache_dir=None, **options):
    """Outputs, and the kernels of operations."""
    prepared = nnfast.Device(**options).prepare(nnfast.load(file), cache_dir=cache_dir)
    return prepared.run(x), [row["kernel"] for row in prepared.explain().rows]


def check(net, *outputs):
    """The kernels with the pass; without it the outputs are equal."""
    file = net.file(*outputs)
    random = np.random.default_rng(3)
    x = [random.integers(-128, 128, net.shape(name)).astype(np.int8) if net.kind == "int8"
         else random.normal(0, 1, net.shape(name)).astype(np.float32) for name in net.inputs]
    found, kernels = run(file, x)
    wanted, _ = run(file, x, without_passes=[NAME])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    return kernels


def doubled(net, *shape):
    """A tensor that is computed."""
    x = net.input(*shape)
    return net.add(x, x)


def total(net, parts):
    made = parts[0]
    for part in parts[1:]:
        made = net.add(made, part)
    return made


@pytest.mark.parametrize(("kind", "units", "is_shared"), [
    ("f32", 16, True), ("f32", 12, False), ("int8", 64, True), ("int8", 40, False)])
def test_pieces_of_a_row_are_not_copied_where_vectors_may_begin(kind, units, is_shared):
    net = Net(kind)
    kernels = check(net, total(net, net.split(doubled(net, 1, 5 * units), 5, axis=1)))
    assert (kernels[1] == "no copy") is is_shared


def test_pieces_of_several_rows_are_copied():
    net = Net("f32")
    kernels = check(net, total(net, net.split(doubled(net, 2, 64), 2, axis=1)))
    assert kernels[1] != "no copy"


def test_pieces_of_an_input_are_copied_and_so_are_outputs():
    """Their memory is the caller's."""
    net = Net("f32")
    kernels = check(net, total(net, net.split(net.input(1, 64), 2, axis=1)))
    assert kernels[0] != "no copy"
    net = Net("f32")
    kernels = check(net, *net.split(doubled(net, 1, 64), 2, axis=1))
    assert kernels[1] != "no copy"


@pytest.mark.parametrize("splits_first", [False, True])
def test_what_has_parts_is_an_output_by_another_shape(splits_first):
    """Parts never lie in the caller's memory."""
    net = Net("f32")
    x = doubled(net, 1, 96)
    if splits_first:
        made = total(net, net.split(x, 3, axis=1))
        kernels = check(net, net.reshape(x, 2, 48), made)
        assert kernels[1] == "no copy"
    else:
        shaped = net.reshape(x, 2, 48)
        kernels = check(net, shaped, total(net, net.split(x, 3, axis=1)))
        assert kernels[1] == "no copy"


def test_parts_of_parts_and_their_shapes():
    net = Net("f32")
    x = doubled(net, 1, 8, 64)
    rows = net.slice(x, (0, 2, 0), (1, 4, 64))
    row = net.reshape(net.slice(rows, (0, 1, 0), (1, 1, 64)), 2, 32)
    half = net.slice(net.reshape(row, 1, 64), (0, 32), (1, 32))
    kernels = check(net, net.add(net.reshape(rows, 8, 32), net.mul(half, half)), net.add(row, row))
    assert kernels.count("no copy") == 6


def test_a_slice_with_gaps_is_copied():
    net = Net("f32")
    x = doubled(net, 4, 64)
    kernels = check(net, net.mul(net.slice(x, (0, 16), (4, 16)), net.slice(x, (0, 32), (4, 16))))
    assert "no copy" not in kernels


def test_every_second_element_is_copied():
    net = Net("f32")
    x = doubled(net, 1, 128)
    options = {"BeginMask": 0, "EndMask": 0, "EllipsisMask": 0, "NewAxisMask": 0, "ShrinkAxisMask": 0}
    pieces = [net.op("STRIDED_SLICE", [x, net.ints(0, 0), net.ints(1, 64 * step), net.ints(1, step)], (1, 64),
                     "StridedSliceOptions", like=x, **options) for step in (1, 2)]
    kernels = check(net, net.mul(*pieces))
    assert [kernel == "no copy" for kernel in kernels] == [False, True, False, False]


def test_what_a_failed_attempt_shared_is_made_again():
    """Slots that several operations need are written once, by steps that are still there."""
    def attempt(reason):
        def lower(node, b):
            b.once("key", lambda: b.emit("step"))
            return reason
        return SimpleNamespace(is_litert=False, op=SimpleNamespace(lower=lower))

    lowering = Lowering(None, 1, without_passes={"nchw_to_nhwc", "widen_float16"})
    assert lowering.native(attempt("a reason")) == "a reason" and lowering.items == []
    assert [lowering.native(attempt(None)) for _ in range(2)] == [None, None] and lowering.items == ["step"]


@pytest.mark.parametrize("seed", range(30))
def test_any_graph_of_shapes_and_parts(seed, tmp_path):
    """Also on two threads, and from a compiled file."""
    random, net = np.random.default_rng(seed), Net("f32")
    known = [doubled(net, 1, 256), net.input(1, 256)]
    for _ in range(25):
        x = known[random.integers(len(known))]
        size = net.shape(x)[1]
        kind = random.integers(5)
        if kind == 0 and size > 16:
            known += net.split(x, 2, axis=1)
        elif kind == 1 and size > 16:
            first = int(random.integers(size // 2))
            known.append(net.slice(x, (0, first), (1, size // 2)))
        elif kind == 2:
            known.append(net.reshape(net.reshape(x, 2, size // 2), 1, size))
        elif kind == 3:
            known.append(net.concat(x, x, axis=1) if size < 256 else net.mul(x, x))
        else:
            same = [name for name in known if net.shape(name) == net.shape(x)]
            known.append(net.add(x, same[random.integers(len(same))]))
    outputs = [net.add(known[place], known[place]) for place in random.choice(len(known), 4, replace=False)]
    outputs += [name for name in known[2:] if random.random() < 0.1]
    file = net.file(*dict.fromkeys(outputs))
    x = [random.normal(0, 1, net.shape(name)).astype(np.float32) for name in net.inputs]
    wanted, _ = run(file, x, without_passes=[NAME, "elementwise_fusion"])
    for options in ({}, {"num_threads": 2}, {"cache_dir": tmp_path}, {"cache_dir": tmp_path}):
        for one, other in zip(run(file, x, **options)[0], wanted, strict=True):
            np.testing.assert_array_equal(one, other)
