"""Resource variables: CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE.

A variable becomes an input and an output of the model that Model.states ties. The subgraph of a CALL_ONCE gives the
first value, which has to be known while loading.
"""

from dataclasses import replace

import numpy as np

from ..errors import UnsupportedOperator
from ..model.types import LifeTime, Operand, OperandType, dtype_of, is_raw
from .own import extends, operand
from .schema import Builtin, TensorType

INITIALIZING = "stores what is not known while loading"


@extends(Builtin.CALL_ONCE)
def call_once(b, op):
    """Run the subgraph now, for what it stores."""
    if not b.is_main:
        b.refuse(op, "fills variables in a subgraph that IF or WHILE run")
    b.graphs.initialize(b, op, op.options.init_graph)


@extends(Builtin.VAR_HANDLE)
def var_handle(b, op):
    """The name of a variable."""
    b.check_counts(op, 0)
    b.resources[op.outputs[0]] = op.options.container, op.options.shared_name


def _named(b, op):
    name = b.resources.get(op.inputs[0]) if op.inputs else None
    if name is None:
        b.refuse(op, "does not get its variable from a VAR_HANDLE of the same subgraph")
    return name


@extends(Builtin.ASSIGN_VARIABLE)
def assign(b, op):
    """A new value: the first one in an initializing subgraph, else the next state."""
    b.check_counts(op, 2, outputs=0)
    name, t = _named(b, op), b.tensor(op, 1)
    if b.initial is not None:
        if not b.is_constant(t) or t.index in b.current:
            b.refuse(op, INITIALIZING)
        b.initial[name] = t.array
    else:
        _check_main(b, op)
        b.variables[name] = operand(b, op, t) if t.dims != () else b.operand(op, t)


@extends(Builtin.READ_VARIABLE)
def read(b, op):
    """The value of the last assignment, or the state before this run."""
    b.check_counts(op, 1)
    _check_main(b, op)
    name, t = _named(b, op), b.result(op)
    if name not in b.variables:
        b.variable_inputs[name], b.variables[name] = _state(b, op, t, b.graphs.initial.get(name))
    b.current[t.index] = b.variables[name]
    dims = b.operands[b.variables[name]].dims
    if t.dims is None or 0 in t.dims:
        b.tensors[t.index] = replace(t, dims=dims)


def _check_main(b, op):
    if not b.is_main or b.initial is not None:
        b.refuse(op, "works on a variable in a subgraph, where only the first value may be stored")


def _state(b, op, t, initial):
    """(input operand, operand of a variable's value): int64 comes in as pairs of int32, since states are of NNAPI."""
    code, scale, point, _ = b.any_type(op, t)
    dims = t.dims or (1,) if initial is None else initial.shape or (1,)
    is_wide = t.type == TensorType.INT64
    if 0 in dims or is_raw(getattr(code, "code", code)) and not is_wide:
        b.refuse(op, f"variable of {code.name} {list(dims)} must have known dimensions and a type of NNAPI")
    if initial is not None and initial.dtype.itemsize != dtype_of(code).itemsize:
        b.refuse(op, f"variable of {code.name} starts with values of {initial.dtype}, must be of its type")
    if is_wide:
        pairs = Operand(OperandType.TENSOR_INT32, (*dims, 2), lifetime=LifeTime.SUBGRAPH_INPUT, name=t.name)
        source, target = b.add(pairs, b.inputs), b.temporary(code, dims, name=f"{t.name}_wide")
        b.emit_own("TFL_BITCAST", (source,), (target,))
        return source, target
    source = b.add(Operand(code, dims, scale, point, LifeTime.SUBGRAPH_INPUT, name=t.name), b.inputs)
    return source, source


def states_of(b):
    """[(input operand, operand of the value after a run, first value or None)] of the variables that are read."""
    found = []
    for name, source in b.variable_inputs.items():
        before, target = b.operands[source], b.variables[name]
        after = b.operands[target]
        is_wide = after.dtype == np.int64 and before.dtype == np.int32 and before.dims[-1] == 2
        rank = len(before.dims) - is_wide
        if after.dtype != before.dtype and not is_wide or after.dims and len(after.dims) != rank:
            raise UnsupportedOperator("ASSIGN_VARIABLE", 0, f"variable {name[1]!r} changes its type or rank")
        copied = b.temporary(before.type, before.dims, before.scale, before.zero_point, f"{before.name}_out")
        b.emit_own("TFL_BITCAST" if is_wide else "TFL_COPY", (target,), (copied,))
        found.append((source, copied, _first(b.graphs.initial.get(name), before)))
    return found


def _first(initial, before):
    if initial is None:
        return None
    first = np.array(initial).reshape(-1).view(before.dtype).reshape(before.dims)
    first.flags.writeable = False
    return first
