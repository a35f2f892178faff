"""Operators on windows of any rank: CONV_3D, CONV_3D_TRANSPOSE, STABLEHLO_PAD and STABLEHLO_REDUCE_WINDOW."""

from .own import extends, operand, result, translate
from .schema import Builtin, TensorType

B = Builtin
_STEPS = [f"{kind}_{name}" for kind in ("stride", "dilation") for name in ("depth", "height", "width")]


@extends(B.CONV_3D, B.CONV_3D_TRANSPOSE)
def convolution(b, op):
    """With or without a bias."""
    tensors = 2 if op.code == B.CONV_3D else 3
    inputs = [b.tensor(op, place) for place in range(tensors + 1)]
    translate(b, op, f"TFL_{op.name}", [b.i32(getattr(op.options, name)) for name in
                                        ("padding", *_STEPS, "activation")], inputs)


# -- STABLEHLO -------------------------------------------------------------------------------------------------------
_NAMES = {B.STABLEHLO_ADD: "TFL_STABLEHLO_ADD", B.STABLEHLO_MULTIPLY: "TFL_STABLEHLO_MULTIPLY",
          B.STABLEHLO_MAXIMUM: "TFL_MAXIMUM", B.STABLEHLO_MINIMUM: "TFL_MINIMUM",
          B.STABLEHLO_AND: "TFL_STABLEHLO_AND", B.STABLEHLO_SHIFT_LEFT: "TFL_STABLEHLO_SHIFT_LEFT"}
_LOGICAL = {B.STABLEHLO_ADD: "TFL_LOGICAL_OR", B.STABLEHLO_MULTIPLY: "TFL_LOGICAL_AND",
            B.STABLEHLO_AND: "TFL_LOGICAL_AND"}
"""What sums and products of booleans are."""
_FUNCTIONS = {B.STABLEHLO_ADD: 1, B.ADD: 1, B.STABLEHLO_MULTIPLY: 2, B.MUL: 2, B.STABLEHLO_MINIMUM: 3, B.MINIMUM: 3,
              B.STABLEHLO_MAXIMUM: 4, B.MAXIMUM: 4, B.LOGICAL_AND: 5, B.LOGICAL_OR: 6}
"""Operator of a body -> number of the function of REDUCE_WINDOW."""


@extends(*_NAMES)
def elementwise(b, op):
    """As the operator of TFLite; of quantized tensors LiteRT takes the codes, whose sums and products wrap."""
    b.check_counts(op, 2)
    tensors = [b.tensor(op, place) for place in (0, 1)]
    name = _LOGICAL.get(op.code, _NAMES[op.code]) if tensors[0].type == TensorType.BOOL else _NAMES[op.code]
    if name in ("TFL_MAXIMUM", "TFL_MINIMUM"):
        tensors.reverse()  # Of a number and a NaN these take the second, STABLEHLO's the first.
    translate(b, op, name, inputs=tensors)


def _vector(b, op, name, count, default):
    """Numbers of an option, one for each dimension, as a constant; None: all are the default."""
    values = getattr(op.options, name)
    values = [default] * count if values is None or not len(values) else [int(v) for v in values]
    if len(values) != count or any(not -1 << 31 <= v < 1 << 31 for v in values):
        b.refuse(op, f"{name} is {values}, must be {count} numbers of 32 bits")
    return values


def _rank(b, op):
    dims = b.tensor(op, 0).dims
    if not dims:
        b.refuse(op, "input must have a known rank of at least 1")
    return len(dims)


@extends(B.STABLEHLO_PAD)
def pad(b, op):
    """The sizes are options."""
    b.check_counts(op, 2)
    rank = _rank(b, op)
    translate(b, op, "TFL_STABLEHLO_PAD", [b.ints(_vector(b, op, name, rank, 0)) for name in
                                           ("low", "high", "interior")])


@extends(B.STABLEHLO_REDUCE_WINDOW)
def reduce_window(b, op):
    """The input with values in between and around it, reduced by the one operator of the body."""
    b.check_counts(op, 2)
    rank = _rank(b, op)
    with b.graphs.inlining(b, op, op.options.body_graph) as body:
        functions = [_FUNCTIONS.get(inner.code) for inner in body.operators]
    if len(functions) != 1 or None in functions:
        b.refuse(op, "has a body that is not one ADD, MUL, MINIMUM, MAXIMUM, LOGICAL_AND or LOGICAL_OR")
    low, high = (_vector(b, op, "padding", 2 * rank, 0)[side::2] for side in (0, 1))
    between = [step - 1 for step in _vector(b, op, "base_dilations", rank, 1)]
    sizes = [b.ints(_vector(b, op, name, rank, 1)) for name in ("window", "strides", "dilations")]
    x, start = b.tensor(op, 0), operand(b, op, b.tensor(op, 1))
    source = operand(b, op, x)
    if any(low + high + between):
        dims = [max((n - 1) * (step + 1) + 1 + first + last, 0) if n else 0 for n, step, first, last in
                zip(x.dims, between, low, high)]
        b.check_size(op, dims)
        padded = b.temporary(b.operands[source].type, dims, name=f"{x.name}_padded")
        b.emit_own("TFL_STABLEHLO_PAD", (source, start, *map(b.ints, (low, high, between))), (padded,))
        source = padded
    target = result(b, op, 0)
    b.emit_own("TFL_REDUCE_WINDOW", (source, start, *sizes, b.i32(functions[0])), (target,))
    b.current[op.outputs[0]] = target
