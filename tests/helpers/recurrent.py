"""Recurrent operations lowered to native steps, beside their numpy reference."""

import numpy as np
from hypothesis import strategies as st

from helpers.lowered import Packs
from helpers.steps import at_level
from nnfast._native.engine import Frame, Program
from nnfast.model.types import OperandType, OperationType
from nnfast.ops import registry
from nnfast.ops.base import Node, Tensor

F32 = OperandType.TENSOR_FLOAT32
FORMS = {
    "units": st.sampled_from([1, 7, 8, 15, 16, 17, 33, 50]), "size": st.sampled_from([1, 3, 8, 21]),
    "outputs": st.sampled_from([1, 5, 31, 32, 33, 40]), "batch": st.integers(1, 5), "cifg": st.booleans(),
    "peephole": st.booleans(), "projection": st.booleans(), "bias": st.booleans(),
    "activation": st.sampled_from([0, 1, 3, 4, 6]), "clips": st.sampled_from([(0, 0), (0.3, 0), (0, 0.2), (0.5, 0.4)]),
    "seed": st.integers(0, 999),
}


class Arrays(Packs):
    """The side of a lowering object that operations use: every slot is an array of its own."""

    threads = 2

    def __init__(self):
        self.arrays, self.steps, self._known = [], [], {}

    def slot(self, tensor):
        if id(tensor) not in self._known:
            value = tensor.value if tensor.value is not None else np.full(tensor.shape, np.nan, tensor.dtype)
            self._known[id(tensor)] = self.const(value)
        return self._known[id(tensor)]

    def const(self, array):
        self.arrays.append(np.ascontiguousarray(array))
        return len(self.arrays) - 1

    def temp(self, nbytes):
        return self.const(np.full(nbytes // 4, np.nan, np.float32))

    def emit(self, step):
        self.steps.append(step)


def known(value, type_=F32):
    return Tensor(0, type_, np.shape(value), value=np.asarray(value))


def prepared(name, inputs, outputs):
    """The node with inferred output shapes."""
    node = Node(registry.lookup(OperationType[name]), "main.operation[0]", inputs, [Tensor(0, F32, None)] * outputs)
    node.outputs = [Tensor(0, F32, shape) for shape in node.op.infer(node)]
    return node


def check(node, level):
    """Native outputs near the definition's at a level, bit-equal for any number of threads; returns the steps."""
    wanted = node.op.compute(node, [t.value if t.present else None for t in node.inputs])
    first = None
    for threads in (1, 2, 3):
        build = Arrays()
        with at_level(level):
            assert node.op.lower(node, build) is None
        program = Program(build.steps)
        places = [build.slot(t) for t in node.outputs]
        frame = Frame(len(build.arrays), {}, 0, dict(enumerate(build.arrays)), program.scratch, threads)
        assert program.run(frame, threads)[0] == "done"
        found = [build.arrays[place] for place in places]
        for have, want in zip(found, wanted):
            # Sums over units cancel and some cells amplify rounding from time to time, double sums included: 3.8e-6 of
            # the largest value was the most in 180 runs of a peephole cell, 2.3e-5 in some thousands of sequences.
            np.testing.assert_allclose(have, want, rtol=0, atol=1e-4 * max(1, np.abs(want).max()))
        if first is None:
            first = found
        for one, other in zip(first, found):
            assert one.tobytes() == other.tobytes()
    return build.steps
