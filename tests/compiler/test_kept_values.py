"""Plans keep the values that they depend on, not the arrays in which a caller gave them."""

import numpy as np

import nnfast


def decoder():
    """Prepared DETECTION_POSTPROCESSING of one box, whose vertical scale is an input."""
    b = nnfast.ModelBuilder()
    scores, deltas = b.input("TENSOR_FLOAT32", (1, 1, 2)), b.input("TENSOR_FLOAT32", (1, 1, 4))
    scale = b.input("FLOAT32")
    fixed = [b.scalar(value) for value in (10.0, 5.0, 5.0, True, 1, 1, 1, 0.1, 0.5, False)]
    anchors = b.constant(np.float32([[0.5, 0.5, 1, 1]]))
    outputs = [b.output("TENSOR_FLOAT32", (1, 1)), b.output("TENSOR_FLOAT32", (1, 1, 4)),
               b.output("TENSOR_INT32", (1, 1)), b.output("TENSOR_INT32", (1,))]
    b.operation("DETECTION_POSTPROCESSING", [scores, deltas, anchors, scale, *fixed], outputs)
    return nnfast.Device(num_threads=1).prepare(b.build())


def box(prepared, scale):
    return prepared.run([np.float32([[[0, 0.9]]]), np.float32([[[2, 1, 0, 0]]]), scale])[1].tolist()


def test_an_array_that_changes_after_the_call():
    prepared, scale = decoder(), np.array(10, np.float32)
    wanted = box(prepared, scale)
    scale[...] = 5
    halved = box(prepared, scale)
    assert halved != wanted
    scale[...] = 0.25
    assert box(prepared, np.array(10, np.float32)) == wanted
    assert box(prepared, np.array(5, np.float32)) == halved
