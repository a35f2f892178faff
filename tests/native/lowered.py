"""Runs the native steps of one operation beside its numpy definition, without compiler or driver."""

import numpy as np
from nnfast._native.plan import Frame, Program

from nnfast._native import kernels
from nnfast.model.types import DTYPES, ChannelQuant, OperandType, OperationType
from nnfast.ops import registry
from nnfast.ops.base import Node, Tensor

T = OperandType


def tensor(type_, value=None, shape=None, scale=0.0, zero_point=0, scales=None, dim=0):
    """A Tensor of a shape, with a value where one is given; `scales` makes it per-channel along `dim`."""
    if value is not None:
        value = np.ascontiguousarray(value, DTYPES[type_])
        shape = value.shape
    channels = None if scales is None else ChannelQuant(dim, tuple(scales))
    return Tensor(0, type_, shape, float(np.float32(scale)), zero_point, channels, value)


def ints(*values):
    """INT32 scalars."""
    return [tensor(T.INT32, np.int32(value)) for value in values]


def make(name, inputs, output):
    """The node, its output shape inferred."""
    node = Node(registry.lookup(OperationType[name]), f"main.operation[0] {name}", inputs, [output])
    output.shape, = node.op.infer(node)
    return node


class Build:
    """Lowering object of one node: input i has slot i, the output the slot behind them."""

    threads = 2

    def __init__(self, node):
        self.places = {id(t): i for i, t in enumerate([*node.inputs, *node.outputs])}
        self.steps, self.temps, self.constants = [], {}, {}
        self.arena = 0

    def slot(self, tensor_):
        return self.places[id(tensor_)]

    def temp(self, nbytes):
        slot = len(self.places) + len(self.temps) + len(self.constants)
        self.temps[slot] = self.arena
        self.arena += -(-nbytes // 64) * 64
        return slot

    def const(self, array):
        slot = len(self.places) + len(self.temps) + len(self.constants)
        self.constants[slot] = array
        return slot

    def emit(self, step):
        self.steps.append(step)


def run_native(node, data, threads=1):
    """Output of the node's native steps for the array of input 0; None and the reason where there are none."""
    build = Build(node)
    reason = node.op.lower(node, build)
    if reason is not None:
        return None, reason
    program = Program(build.steps)
    size = len(build.places) + len(build.temps) + len(build.constants)
    frame = Frame(size, build.temps, build.arena, build.constants, program.scratch, threads)
    # Guard bytes around the output show what the step writes outside of it.
    target = node.outputs[0]
    nbytes = int(np.prod(target.shape)) * target.dtype.itemsize
    memory = np.full(nbytes + 128, 0xA5, np.uint8)
    frame.bind(0, np.ascontiguousarray(data))
    frame.bind(build.slot(target), memory[64:64 + nbytes])
    assert program.run(frame, threads) == ("done", len(build.steps))
    assert np.all(memory[:64] == 0xA5)
    assert np.all(memory[64 + nbytes:] == 0xA5)
    return memory[64:64 + nbytes].view(target.dtype).reshape(target.shape), build.steps


def at_each_level():
    """Sets each level of this machine in turn and yields its name; ends with the default."""
    try:
        for level in kernels.levels():
            kernels.set_level(level)
            yield level
    finally:
        kernels.set_level(None)
