"""Which operations run natively on which operand types, found by lowering drawn instances of every signature."""

from dataclasses import replace

from ..compiler.lowering import Lowering
from ..errors import Error
from ..model.types import OperandType, OperationType
from ..ops import registry
from ..ops.base import ValueUnknown
from .instances import draw, table

DRAWS = 3
"""Instances of each signature and type set that are lowered."""

_MOST_TRIED = 20
_LIMIT = 6
_TENSORS = {
    OperandType.FLOAT32: OperandType.TENSOR_FLOAT32, OperandType.FLOAT16: OperandType.TENSOR_FLOAT16,
    OperandType.INT32: OperandType.TENSOR_INT32,
}


def native_types(progress=lambda done, total: None):
    """{operation: {operand type: way}} of every operation with signatures; levels and threads do not matter.

    The operand type is TENSOR_QUANT8_SYMM_PER_CHANNEL where an operand is that, else the type that the signature lets
    vary first. way: "native", "numpy", or "part" where some instances are native and some not.
    """
    rows, found = table(), {}
    for done, (_, op, form, nth) in enumerate(rows):
        progress(done, len(rows))
        types = found.setdefault(op.name, {})
        types.setdefault(type_of(op.signatures[form], nth), set()).update(_attempts(op, form, nth))
    return {name: {kind: _way(seen) for kind, seen in sorted(types.items())} for name, types in found.items()}


def control_flow():
    """Names of the operations that have no operand types of their own."""
    known = {op.name for _, op, _, _ in table()}
    return [name for name in map(_name, registry.supported_codes()) if name not in known]


def _name(code):
    return OperationType(code).name


def type_of(signature, nth):
    """Name of the operand type that stands for a type set of a signature."""
    bindings = signature.sets[nth][1]
    if OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL in bindings.values():
        return OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL.name
    first = next(iter(bindings.values()), signature.type_of(signature.inputs[0], bindings))
    return OperandType(_TENSORS.get(first, first)).name


def why_not(instance):
    """Why numpy runs the operation of an instance; None when native steps do. Raises Error for an illegal instance."""
    facts, full = instance.known()
    if full.op.data_dependent:
        return "its shapes hang on its data"
    node = full.with_values([None] * len(full.inputs))
    node.inputs = [replace(t, value=None) if t.operand in instance.model.main.inputs else t for t in full.inputs]
    try:
        return Lowering(facts, 1).native(node)
    except ValueUnknown:
        return Lowering(facts, 1).native(full)


def _attempts(op, form, nth):
    """True or False of each instance: is it native?"""
    if op.lower is None:
        return [False]
    seen = []
    for seed in range(_MOST_TRIED):
        try:
            seen.append(why_not(draw(op, form, nth, seed, _LIMIT, may_be_late=False)) is None)
        except Error:
            continue
        if len(seen) == DRAWS:
            break
    return seen


def _way(seen):
    return "part" if len(seen) > 1 else "native" if True in seen else "numpy"
