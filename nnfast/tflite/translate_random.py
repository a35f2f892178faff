"""RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL, MULTINOMIAL: the generator's state is a state of the model."""

import numpy as np

from ..model.types import OperandType
from .own import extends, operand, result, translate
from .schema import Builtin
from .states import Generator, know, value_of

B = Builtin


@extends(B.RANDOM_UNIFORM, B.RANDOM_STANDARD_NORMAL, B.MULTINOMIAL)
def random(b, op):
    """Random numbers that differ between runs of a stream, but are reproducible by seed; seeds of 0 mean any."""
    if b.initial is not None:
        b.refuse(op, "draws numbers where only the first values of variables may be stored")
    b.check_counts(op, 2 if op.code == B.MULTINOMIAL else 1)
    name = Generator(b.graphs.running[-1], op.index)
    label = f"generator {sum(isinstance(other, Generator) for other in b.graphs.kept)}"
    b.graphs.initial[name] = np.zeros(2, np.int32)
    know(b, op, name, OperandType.TENSOR_INT32, (2,), label=label)
    state = value_of(b, name)
    # LiteRT truncates each seed to 32 bits, then widens it again.
    seeds = np.array([op.options.seed, op.options.seed2]).astype(np.int32).astype(np.int64).view(np.int32)
    inputs = [operand(b, op, b.tensor(op, place)) for place in range(len(op.inputs))]
    moved = b.like(state, f"{b.operands[state].name} moved")
    target = result(b, op, 0)
    b.emit_own(f"TFL_{op.name}", (*inputs, state, b.ints(seeds.tolist())), (target, moved))
    b.current[op.outputs[0]] = target
    b.variables[name] = moved


@extends(B.STABLEHLO_RNG_BIT_GENERATOR)
def bits(b, op):
    """Random numbers from a state kept in the file's own tensors; the output has the file's shape."""
    b.check_counts(op, 1, outputs=2)
    out = b.result(op, 1)
    dims = out.shape if out.dims is None else out.dims
    if 0 in dims:
        b.refuse(op, "must have an output of known shape")
    translate(b, op, "TFL_STABLEHLO_RNG_BIT_GENERATOR", (b.ints(dims), b.i32(op.options.algorithm)))
