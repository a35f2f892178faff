"""STABLEHLO_GATHER and STABLEHLO_SCATTER, whose options are lists of dimensions."""

from ..model.types import OperandType
from .own import extends, translate
from .schema import Builtin

B = Builtin
_FUNCTIONS = {B.STABLEHLO_ADD: 1, B.ADD: 1, B.STABLEHLO_MULTIPLY: 2, B.MUL: 2, B.STABLEHLO_MINIMUM: 3, B.MINIMUM: 3,
              B.STABLEHLO_MAXIMUM: 4, B.MAXIMUM: 4}


def _number(b, op, name):
    value = getattr(op.options, name)
    if not 0 <= value < 1 << 31:
        b.refuse(op, f"{name} is {value}, must not be negative, of 32 bits")
    return b.i32(int(value))


def _numbers(b, op, name):
    values = getattr(op.options, name)
    values = [] if values is None else [int(value) for value in values]
    if any(not 0 <= value < 1 << 31 for value in values):
        b.refuse(op, f"{name} is {values}, must not be negative, of 32 bits")
    return b.ints(values) if values else b.omitted(OperandType.TENSOR_INT32, 1)


@extends(B.STABLEHLO_GATHER)
def gather(b, op):
    """Slices at the indices."""
    b.check_counts(op, 2)
    names = ("offset_dims", "collapsed", "index_map", "slice_sizes")
    translate(b, op, "TFL_STABLEHLO_GATHER", (*(_numbers(b, op, name) for name in names), _number(b, op, "vector_dim")))


@extends(B.STABLEHLO_SCATTER)
def scatter(b, op):
    """Updates at the indices, combined by the function in the body."""
    b.check_counts(op, 3)
    with b.graphs.inlining(b, op, op.options.body_graph) as body:
        takes_update = not body.operators and len(body.inputs) == 2 and body.outputs == body.inputs[1:]
        functions = [0] if takes_update else [_FUNCTIONS.get(inner.code) for inner in body.operators]
    if len(functions) != 1 or None in functions:
        b.refuse(op, "has a body that neither gives the update nor is one ADD, MUL, MINIMUM or MAXIMUM")
    names = ("window_dims", "inserted", "index_map")
    translate(b, op, "TFL_STABLEHLO_SCATTER", (*(_numbers(b, op, name) for name in names),
                                               _number(b, op, "vector_dim"), b.i32(functions[0])))
