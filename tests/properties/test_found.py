"""What the property run has found once, one test each."""

import numpy as np
import pytest

from nnfast import Device, ModelBuilder

LARGEST = np.finfo(np.float16).max


@pytest.mark.parametrize("name, start, odd", [
    ("REDUCE_MAX", -LARGEST, -np.inf), ("REDUCE_MAX", -LARGEST, np.nan),
    ("REDUCE_MIN", LARGEST, np.inf), ("REDUCE_MIN", LARGEST, np.nan),
])
def test_float16_extreme_without_a_number_is_the_finite_start(name, start, odd):
    b = ModelBuilder()
    x, y = b.input("TENSOR_FLOAT16", (2, 3)), b.output("TENSOR_FLOAT16", (3,))
    model = b.operation(name, [x, b.constant(np.int32([0])), b.scalar(False)], [y]).build()
    prepared = Device(num_threads=1).prepare(model)
    assert prepared.explain().native
    (found,) = prepared.run([np.array([[odd, odd, 1], [odd, -start, 2]], np.float16)])
    assert found.tolist() == [start, -start, 2 if name == "REDUCE_MAX" else 1]
