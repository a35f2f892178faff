"""Runs the native steps of one operation beside its numpy reference, without compiler or driver."""

import numpy as np

from helpers.nodes import node
from nnfast._native import kernels
from nnfast._native.engine import Frame, Poison, Program


def make(name, inputs, *outputs):
    """The node, its output shapes inferred."""
    made = node(name, inputs, list(outputs))
    for output, shape in zip(outputs, made.op.infer(made), strict=True):
        output.shape = shape
    return made


class Packs:
    """The side of a lowering object that packs: all of it here and now, and each array as a stored one must be."""

    def packed(self, sources, dtype, make, fits, is_read=False):
        array = make()
        assert array.dtype == dtype and array.ndim == 1 and fits(array)
        return array

    def value(self, tensor_):
        return tensor_.value

    def packed_fact(self, sources, find):
        return find()


class Build(Packs):
    """Lowering object of one node: input i has slot i, the outputs the slots behind them; nothing shares memory."""

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

    def once(self, key, make):
        return make()

    def const(self, array):
        slot = len(self.places) + len(self.temps) + len(self.constants)
        self.constants[slot] = array
        return slot

    def reserve(self, nbytes):
        assert nbytes >= 0

    def go_on(self):
        """Nothing limits these preparations."""

    def in_bf16(self, tensor_):
        return False

    def alias(self, output, input):
        return False

    def part(self, tensor_, whole, offset):
        return False

    def emit(self, step, declines=False):
        self.steps.append(step)


def run_native(node, data, threads=1):
    """(output, steps) of the node's native steps for the array of input 0; None and the reason where there are none."""
    found, steps = run_native_all(node, [data], threads)
    return (None, steps) if found is None else (found[0], steps)


def run_native_all(node, arrays, threads=1):
    """As run_native, for the arrays of the first inputs (None: a scalar or constant of the node) and all outputs."""
    build = Build(node)
    reason = node.op.lower(node, build)
    if reason is not None:
        return None, reason
    # A step that finds work for all threads, so that those behind it are cut into as many shares, small as they are.
    program = Program(build.steps, Poison((), (), 0x81, threads))
    size = len(build.places) + len(build.temps) + len(build.constants)
    frame = Frame(size, build.temps, build.arena, build.constants, program.scratch, threads)
    for slot, source in enumerate(node.inputs):
        data = arrays[slot] if slot < len(arrays) else None
        if data is not None or source.value is not None:
            frame.bind(slot, np.ascontiguousarray(source.value if data is None else data))
    # Guard bytes around the outputs show what the steps write outside of them.
    memories, found = [], []
    for target in node.outputs:
        nbytes = int(np.prod(target.shape)) * target.dtype.itemsize
        memory = np.full(nbytes + 128, 0xA5, np.uint8)
        frame.bind(build.slot(target), memory[64:64 + nbytes])
        memories.append((memory, nbytes))
        found.append(memory[64:64 + nbytes].view(target.dtype).reshape(target.shape))
    assert program.run(frame, threads) == ("done", len(build.steps))
    for memory, nbytes in memories:
        assert np.all(memory[:64] == 0xA5)
        assert np.all(memory[64 + nbytes:] == 0xA5)
    return found, build.steps


def check_all_ways(node, arrays, rtol=0.0, atol=0.0, unit=None):
    """The node is native and gives its reference's results at every level, the same with one thread and with several.

    arrays: of the first inputs, None for scalars and constants. Without a tolerance the results must be equal; a NaN
    equals a NaN. unit: what results are measured in, element by element, if not in ones.
    """
    inputs = [arrays[i] if i < len(arrays) and arrays[i] is not None else t.value for i, t in enumerate(node.inputs)]
    wanted = node.op.compute(node, inputs)
    for level in at_each_level():
        one, steps = run_native_all(node, arrays, 1)
        assert one is not None, steps
        for threads in (2, 5):
            several, _ = run_native_all(node, arrays, threads)
            for first, second in zip(one, several, strict=True):
                assert first.tobytes() == second.tobytes(), (level, threads)
        for first, array in zip(one, wanted, strict=True):
            if unit is not None:
                first, array = first / unit, array / unit
            np.testing.assert_allclose(first, array, rtol=rtol, atol=atol, err_msg=f"{level}: {steps[0].kernel}")


def at_each_level():
    """Sets each level of this machine in turn and yields its name; ends with the default."""
    try:
        for level in kernels.levels():
            kernels.set_level(level)
            yield level
    finally:
        kernels.set_level(None)
