"""Model-time checks of every operation: what is invalid, and what is valid but cannot run here."""

from .. import pace
from ..errors import Error, InternalError, InvalidArgument, guarded
from ..model import proof
from ..model.types import VERSIONS, LifeTime, OperationType, is_extension, is_raw, type_name
from ..model.validate import validate_model
from ..ops.base import ValueUnknown
from ..ops.control_flow import ControlDef
from ..ops.registry import lookup
from .nodes import Facts, check_zero_sized
from .resolve import missing, resolve, unknown_type


def check_model(model, newest=VERSIONS[-1], extensions=(), go_on=pace.step):
    """Validate a model; returns the lowest HAL version that has everything it uses.

    newest: highest HAL version that the model may need; extensions: {name: Extension} of the device; go_on(path):
    called before each part of the model, may raise to stop. Raises InvalidArgument with the path of the first violated
    rule: structure [NN 11.3-11.7], then each operation's operand types, model-time rules and version. Operations of
    unknown extensions and of OEMs are valid [NN 9.3, 9.7], and so are those of the device's extensions on types of
    unknown ones. The result for a model without extensions is stored with it, so that it is checked only once.
    """
    validate_model(model, go_on)
    found = None if model.extensions else proof.of(model)  # devices differ in the extensions they know
    if found is not None and found.version is not None and VERSIONS.index(found.version) <= VERSIONS.index(newest):
        return found.version
    version = "1.0"
    if model.extensions:
        version = "1.2"
        if VERSIONS.index(newest) < VERSIONS.index(version):
            raise InvalidArgument(f"model: has extensions, which came with HAL 1.2, the model is one of HAL {newest}")
        model = resolve(model, extensions)
    for facts in _graphs(model):
        for index, operation in enumerate(facts.graph.operations):
            path = facts.path(index)
            go_on(path)
            op = lookup(operation.type)
            if isinstance(op, ControlDef):
                op.check(model, facts.graph, operation, path)
                needs = "1.3"
            elif op is not None and unknown_type(facts.graph, operation) is None:
                node = facts.node(index)
                if node.op.validate is not None:
                    with guarded(path, ValueUnknown):
                        node.op.validate(node)
                needs = node.version
            else:
                continue
            if VERSIONS.index(needs) > VERSIONS.index(newest):
                raise InvalidArgument(f"{path}: this form of the operation came with HAL {needs}, the "
                                      f"model is one of HAL {newest}")
            version = max(version, needs, key=VERSIONS.index)
    if found is not None:
        found.version = version
    return version


def unsupported(model, go_on=lambda path: None):
    """{operation index: reason} of the operations of a valid, resolved model's main graph that prepare would refuse.

    Shapes are inferred as far as they are known; operations on unknown shapes are assumed to be supported.
    go_on: as for check_model.
    """
    seen = {}
    for target in _inner_first(model):
        inner = Facts(model, model.referenced[target], f"referenced[{target}]")
        seen[target] = next(iter(_refused(model, inner, seen, go_on).values()), None)
    return _refused(model, Facts(model, model.main), seen, go_on)


def _inner_first(model):
    """Indexes of the subgraphs that main refers to, in topological order: callees first."""
    def targets(graph):
        return [o.subgraph for o in graph.operands if o.lifetime == LifeTime.SUBGRAPH]

    order, met, waiting = [], set(), [(target, False) for target in targets(model.main)]
    while waiting:
        target, done = waiting.pop()
        if done:
            order.append(target)
        elif target not in met:
            met.add(target)
            waiting.append((target, True))
            waiting += [(inner, False) for inner in targets(model.referenced[target])]
    return order


def _refused(model, facts, seen, go_on):
    """{operation index: reason} of a graph; seen: {subgraph: reason or None} of those it refers to."""
    idle = _unread(model, facts)
    if idle is not None:
        return dict.fromkeys(range(len(facts.graph.operations)), idle)
    refused = {}
    for index, operation in enumerate(facts.graph.operations):
        pace.step()
        op = lookup(operation.type)
        go_on(facts.path(index))
        if op is None:
            refused[index] = f"{facts.path(index)}: {_why_not(model, operation.type)}"
            continue
        unknown = unknown_type(facts.graph, operation)
        if unknown is not None:
            refused[index] = f"{facts.path(index)}: an operand is of {type_name(unknown)}, {missing(model, unknown)}"
            continue
        if isinstance(op, ControlDef):
            reason = _refused_control(model, facts, operation, index, seen)
            if reason:
                refused[index] = reason
            continue
        try:
            node = facts.node(index)
            if facts.inputs_known(node) and not _may_be_omitted(facts, node):
                check_zero_sized(node)
                with guarded(node.path, ValueUnknown):
                    shapes = node.op.infer(node)
                if not node.op.data_dependent:
                    facts.settle(node, shapes)
        except ValueUnknown:
            continue
        except InternalError:
            raise
        except Error as error:
            refused[index] = str(error)
    return refused


def _why_not(model, code):
    if is_extension(code):
        return missing(model, code)
    if code == OperationType.OEM_OPERATION:
        return "is not supported: its meaning is known to its vendor alone; vendor extensions take its place"
    return "the operation is not supported"


def _unread(model, facts):
    """Why an input that no operation reads cannot be bound: its type is unknown here. None if there is none."""
    graph = facts.graph
    if not any(is_raw(graph.operands[operand].type) for operand in graph.inputs):
        return None
    read = {operand for operation in graph.operations for operand in operation.inputs}
    for operand in graph.inputs:
        kind = graph.operands[operand].type
        if is_raw(kind) and operand not in read:
            why = missing(model, kind) if is_extension(kind) else "OEM types are not supported"
            return f"{facts.name}.operand[{operand}]: type is {type_name(kind)}, {why}"
    return None


def _refused_control(model, facts, operation, index, seen):
    """Why IF or WHILE cannot run: its condition is omitted, or a subgraph cannot run."""
    for place, operand in enumerate(operation.inputs):
        record = facts.graph.operands[operand]
        if record.lifetime == LifeTime.NO_VALUE:
            return f"{facts.path(index)} input {place}: is omitted, must have a value"
        if record.lifetime == LifeTime.SUBGRAPH:
            target = record.subgraph
            if seen[target] is not None:
                return seen[target]
    return None


def _may_be_omitted(facts, node):
    """True if an execution may omit an optional input of the operation, so that its form is not known yet."""
    return any(slot.optional and facts.graph.operands[tensor.operand].lifetime == LifeTime.SUBGRAPH_INPUT
               for slot, tensor in zip(node.slots, node.inputs))


def has_open_form(model):
    """True if an execution may omit an optional input of some operation of the supported main graph."""
    facts, inputs = Facts(model, model.main), frozenset(model.main.inputs)
    return any(_may_be_omitted(facts, facts.node(index)) for index, operation in enumerate(facts.graph.operations)
               if not (inputs.isdisjoint(operation.inputs) or isinstance(lookup(operation.type), ControlDef)))


def require_supported(model, go_on=lambda path: None):
    """Raise for the first operation that cannot run here."""
    for reason in unsupported(model, go_on).values():
        raise InvalidArgument(reason)


def _graphs(model):
    yield Facts(model, model.main)
    for place, graph in enumerate(model.referenced):
        yield Facts(model, graph, f"referenced[{place}]")
