"""Resource variables: CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE.

A variable becomes an input and an output of the model that Model.states ties. The subgraph of a CALL_ONCE gives the
first value, which has to be known while loading.
"""

from ..record import replace
from .own import extends, operand
from .schema import Builtin
from .states import know, value_of

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
        b.refuse(op, "does not get its variable from a VAR_HANDLE")
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
        return
    value = operand(b, op, t) if t.dims != () else b.any_operand(op, t)
    if not b.is_main:  # the graphs outside have to know what they pass on
        o = b.operands[value]
        know(b, op, name, o.type, o.dims, o.scale, o.zero_point, name[1] or t.name)
    b.variables[name] = value


@extends(Builtin.READ_VARIABLE)
def read(b, op):
    """The value of the last assignment, or the state before this run."""
    b.check_counts(op, 1)
    if b.initial is not None:
        b.refuse(op, "reads a variable where only the first value may be stored")
    name, t = _named(b, op), b.result(op)
    if name not in b.variables:
        code, scale, point, _ = b.any_type(op, t)
        know(b, op, name, code, t.dims or (1,), scale, point, t.name)
    b.current[t.index] = value_of(b, name)
    dims = b.operands[b.variables[name]].dims
    if t.dims is None or 0 in t.dims:
        b.tensors[t.index] = replace(t, dims=dims)
