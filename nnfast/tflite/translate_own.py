"""Operators of TFLite that NNAPI has no form of, as operations of nnfast's own."""

from .own import extends, translate
from .schema import Builtin


@extends(Builtin.COS, Builtin.ROUND, Builtin.SIGN)
def plain(b, op):
    """Operators without options, all of whose tensors are theirs in our form."""
    b.check_counts(op, len(op.inputs), outputs=len(op.outputs))
    translate(b, op, f"TFL_{op.name}")


@extends(Builtin.GELU)
def gelu(b, op):
    """Exact, or by tanh."""
    b.check_counts(op, 1)
    translate(b, op, "TFL_GELU", (b.bool(op.options.approximate),))
