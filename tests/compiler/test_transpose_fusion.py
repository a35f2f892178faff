"""Products of matrices that read and write where a TRANSPOSE would have copied: the same numbers, and which do it."""

from itertools import permutations

import numpy as np
import pytest

import nnfast
from helpers.tflite.networks import Net
from nnfast.compiler.passes.transpose_fusion import regrouped

NAME = "transpose_fusion"
HEADS_OUT = (0, 2, 1, 3)


def arrays(net, random):
    return [random.integers(-128, 128, net.shape(name)).astype(np.int8) if net.kind == "int8"
            else random.normal(0, 1, net.shape(name)).astype(np.float32) for name in net.inputs]


def joined(net, *outputs):
    """How many transposes are done by products; without the pass, and on two threads, the outputs are equal."""
    file, x = net.file(*outputs), arrays(net, np.random.default_rng(3))
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(file))
    wanted = prepared.run(x)
    for options in ({"num_threads": 2}, {"without_passes": [NAME]}, {"num_threads": 3, "without_passes": [NAME]}):
        for one, other in zip(nnfast.Device(**options).prepare(nnfast.load(file)).run(x), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    rows = prepared.explain().rows
    return sum(row["operation"] == "TRANSPOSE" and row["joined"] is not None for row in rows)


def computed(net, *shape):
    x = net.input(*shape)
    return net.add(x, x)


def heads(net, count, rows, each):
    """[1, count, rows, each] of computed rows."""
    return net.transpose(computed(net, 1, rows, count, each), *HEADS_OUT)


@pytest.mark.parametrize("kind", ["f32", "int8"])
@pytest.mark.parametrize(("count", "rows", "each"), [(4, 64, 32), (3, 5, 7), (1, 9, 16), (2, 1, 40), (12, 33, 64)])
def test_attention_copies_nothing(kind, count, rows, each):
    net = Net(kind)
    q, k, v = (heads(net, count, rows, each) for _ in range(3))
    made = net.product(net.softmax(net.product(q, k, True)), v)
    assert joined(net, net.reshape(net.transpose(made, *HEADS_OUT), 1, rows, count * each)) == 4


def test_shapes_between_do_not_matter():
    net = Net("f32")
    q, k = (net.reshape(heads(net, 4, 10, 8), 4, 10, 8) for _ in range(2))
    made = net.reshape(net.product(q, k, True), 1, 4, 10, 10)
    assert joined(net, net.add(*2 * [net.transpose(made, *HEADS_OUT)])) == 3


def test_what_others_read_is_copied():
    net = Net("f32")
    q, k = heads(net, 4, 10, 8), heads(net, 4, 10, 8)
    made = net.product(q, k, True)
    assert joined(net, net.transpose(made, *HEADS_OUT), net.add(q, q), made) == 1


def test_what_is_read_in_part_is_copied():
    net = Net("f32")
    q = net.slice(heads(net, 4, 10, 8), (0, 2, 0, 0), (1, 2, 10, 8))
    assert joined(net, net.product(q, heads(net, 2, 10, 8), True)) == 1


def test_outputs_are_written_in_place_and_inputs_read():
    net = Net("f32")
    q, k = (net.transpose(net.input(1, 10, 4, 8), *HEADS_OUT) for _ in range(2))
    assert joined(net, net.transpose(net.product(q, k, True), *HEADS_OUT)) == 3


def test_images_of_a_batch_have_no_common_distance():
    net = Net("f32")
    q, k = (net.transpose(computed(net, 2, 10, 4, 8), *HEADS_OUT) for _ in range(2))
    assert joined(net, net.transpose(net.product(q, k, True), *HEADS_OUT)) == 0


def test_rows_a_page_apart_are_copied_for_kernels_that_read_many():
    net = Net("f32")
    q, k = (heads(net, 16, 12, 64) for _ in range(2))
    assert joined(net, net.product(q, k, True)) == 1


@pytest.mark.parametrize("kind", ["f32", "int8"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_any_order(kind, order):
    """Of operands, given in each order of their dimensions, and of the result."""
    net, sizes = Net(kind), (3, 10, 8)
    back = [0, *(1 + order.index(axis) for axis in range(3))]

    def operand(sizes):
        return net.transpose(computed(net, 1, *(sizes[axis] for axis in order)), *back)

    for k, turned in ((operand((3, 12, 8)), True), (operand((3, 8, 12)), False)):
        made = net.product(operand(sizes), k, turned)
        found = net.transpose(made, 0, *(1 + axis for axis in order))
        # Codes that are turned are copied for it anyhow, in one copy in place of two.
        assert (joined(net, net.add(found, found)) > 0) is (order[-1] == 2 or order[-1] == 1 and kind == "f32"
                                                            or kind == "int8" and not turned)


@pytest.mark.parametrize(("dims", "sizes", "wanted"), [
    ([(4, 32), (64, 128), (32, 1)], (4, 64, 32), [32, 128, 1]),
    ([(1, 7), (4, 32), (1, 0), (2, 16), (16, 1)], (8, 16), [16, 1]),
    ([(8, 16), (16, 1)], (4, 2, 1, 16), [32, 16, 0, 1]),
    ([(6, 4), (4, 1)], (3, 8), [8, 1]), ([(6, 5), (4, 1)], (3, 8), None), ([(6, 1)], (4, 2), None),
    ([(4, 1), (6, 4)], (24,), None), ([(2, 3), (3, 1)], (1, 6, 1), [0, 1, 0])])
def test_views_in_another_shape(dims, sizes, wanted):
    assert regrouped(dims, sizes) == wanted
