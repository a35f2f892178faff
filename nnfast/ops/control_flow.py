"""IF and WHILE: rules for their subgraphs [NN 10.1-10.3]. driver/execution.py runs them."""

from ..checks import counted
from ..errors import InvalidArgument
from ..model.types import LifeTime, OperandType, OperationType, type_name
from ..record import record


@record(frozen=True, slots=True)
class ControlDef:
    """An operation that runs other graphs: check(model, graph, operation, path) raises InvalidArgument."""

    type: OperationType
    check: object
    moves = multiply_adds = False
    coupled = True

    @property
    def name(self):
        return self.type.name


def _check_if(model, graph, operation, path):
    """[NN 10.2]: condition [1]; inputs and outputs of both branches match the operation's."""
    _counts(operation, path)
    _check_flag(graph.operands[operation.inputs[0]], f"{path} input 0 (condition)")
    for place in (1, 2):
        branch = _target(model, graph, operation, place, path)
        name = f"{path} input {place} ({('then', 'else')[place - 1]} branch)"
        _same_count(name, "inputs", len(branch.inputs), len(operation.inputs) - 3)
        _same_count(name, "outputs", len(branch.outputs), len(operation.outputs))
        for i, (inner, outer) in enumerate(zip(branch.inputs, operation.inputs[3:])):
            _compatible(f"{name} input {i}", branch.operands[inner], f"input {3 + i}", graph.operands[outer])
        for i, (inner, outer) in enumerate(zip(branch.outputs, operation.outputs)):
            _compatible(f"{name} output {i}", branch.operands[inner], f"output {i}", graph.operands[outer])


def _check_while(model, graph, operation, path):
    """[NN 10.3]: the numbers of input-output, state-only and input-only values match, and all operands agree."""
    _counts(operation, path)
    condition = _target(model, graph, operation, 0, path)
    body = _target(model, graph, operation, 1, path)
    outer = operation.inputs[2:]
    _same_count(f"{path} input 0 (condition)", "inputs", len(condition.inputs), len(outer))
    _same_count(f"{path} input 0 (condition)", "outputs", len(condition.outputs), 1)
    _check_flag(condition.operands[condition.outputs[0]], f"{path} input 0 (condition) output 0")
    _same_count(f"{path} input 1 (body)", "inputs", len(body.inputs), len(outer))
    if not len(operation.outputs) <= len(body.outputs) <= len(body.inputs):
        raise InvalidArgument(f"{path} input 1 (body): has {counted(len(body.outputs), 'output')}, must have at least "
                              f"{len(operation.outputs)} (those of WHILE) and at most {len(body.inputs)} (its inputs)")
    for i, index in enumerate(outer):
        for name, inner in (("input 0 (condition)", condition), ("input 1 (body)", body)):
            _compatible(f"{path} {name} input {i}", inner.operands[inner.inputs[i]], f"input {2 + i}",
                        graph.operands[index])
    for i, index in enumerate(body.outputs):
        record, name = body.operands[index], f"{path} input 1 (body) output {i}"
        _compatible(name, record, f"its input {i}", body.operands[body.inputs[i]])
        if i < len(operation.outputs):
            _compatible(name, record, f"output {i}", graph.operands[operation.outputs[i]])


def _counts(operation, path):
    if len(operation.inputs) < 3:
        raise InvalidArgument(f"{path}: has {counted(len(operation.inputs), 'input')}, must have 3 or more")
    if not operation.outputs:
        raise InvalidArgument(f"{path}: has no outputs, must have 1 or more")


def _target(model, graph, operation, place, path):
    """The referenced subgraph that an input names."""
    record = graph.operands[operation.inputs[place]]
    if record.type != OperandType.SUBGRAPH or record.lifetime != LifeTime.SUBGRAPH:
        raise InvalidArgument(f"{path} input {place}: type {type_name(record.type)}, must be SUBGRAPH")
    return model.referenced[record.subgraph]


def _check_flag(record, path):
    if record.type != OperandType.TENSOR_BOOL8 or (record.dims and record.dims not in ((1,), (0,))):
        raise InvalidArgument(f"{path}: is {type_name(record.type)}{list(record.dims)}, must be TENSOR_BOOL8[1]")


def _same_count(path, what, got, wanted):
    if got != wanted:
        raise InvalidArgument(f"{path}: has {got} {what}, must have {wanted}")


def _compatible(path, inner, name, outer):
    """Same type and quantization; dimensions agree where both are known."""
    for what in ("type", "scale", "zero_point", "channel_quant"):
        a, b = getattr(inner, what), getattr(outer, what)
        if a != b:
            show = type_name if what == "type" else str
            raise InvalidArgument(f"{path}: {what} is {show(a)}, must be {show(b)} as {name}")
    if inner.dims and outer.dims and (len(inner.dims) != len(outer.dims) or
                                      any(a and b and a != b for a, b in zip(inner.dims, outer.dims))):
        raise InvalidArgument(f"{path}: dimensions are {list(inner.dims)}, must be {list(outer.dims)} as {name}")


IF = ControlDef(OperationType.IF, _check_if)
WHILE = ControlDef(OperationType.WHILE, _check_while)
