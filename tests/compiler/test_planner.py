"""Plans that depend on values of inputs."""

import numpy as np
import pytest

import nnfast
from nnfast.compiler.check import has_open_form
from nnfast.errors import Error

FLOAT, INDEX = "TENSOR_FLOAT32", "TENSOR_INT32"


def computed_shape(given=INDEX):
    """z = RELU(RESHAPE(x, shape + 1)): the first operation prepares what planning the others needs."""
    b = nnfast.ModelBuilder()
    x, shape = b.input(FLOAT, (2, 6), name="x"), b.input(given, (2,), name="shape")
    more, y, z = b.operand(INDEX, (2,)), b.operand(FLOAT, (0, 0)), b.output(FLOAT, (0, 0))
    if given != INDEX:
        whole = b.operand(INDEX, (2,))
        b.operation("CAST", [shape], [whole])
        shape = whole
    b.operation("ADD", [shape, b.constant(np.int32([1, 1])), b.scalar(0)], [more])
    b.operation("RESHAPE", [x, more], [y])
    b.operation("RELU", [y], [z])
    return nnfast.Device(1).prepare(b.build())


@pytest.mark.parametrize(("given", "dtype", "native"), [(INDEX, np.int32, True), (FLOAT, np.float32, False)])
def test_shapes_computed_of_a_few_integers(given, dtype, native):
    """Integers are folded into one plan, which runs natively from then on; floats are data, which steps compute."""
    prepared, x = computed_shape(given), np.arange(12, dtype=np.float32).reshape(2, 6) - 5
    for rows, columns in ((3, 4), (12, 1), (3, 4), (2, 6), (12, 1)):
        arrays = [x, np.array([rows - 1, columns - 1], dtype)]
        z, = prepared.run(arrays)
        assert z.shape == (rows, columns) and z.tobytes() == np.maximum(x, 0).tobytes()
        assert (prepared.executor.quick(arrays) is not None) == native
    with pytest.raises(Error, match="RESHAPE"):
        prepared.run([x, np.array([4, 4], dtype)])


def test_conditions_have_no_open_form():
    b, branch = nnfast.ModelBuilder(), nnfast.ModelBuilder()
    branch.operation("RELU", [branch.input(FLOAT, (2, 6))], [branch.output(FLOAT, (2, 6))])
    x, c = b.input(FLOAT, (2, 6)), b.input("TENSOR_BOOL8", (1,))
    b.operation("IF", [c, b.subgraph(branch), b.subgraph(branch), x], [b.output(FLOAT, (2, 6))])
    assert not has_open_form(b.build())
