"""Structural rules of a canonical model [NN 11.2-11.7, 2.2-2.4, 10.1].

Knows operands, lists, lifetimes, order and subgraphs; what an operation wants of its operands is the business of
`nnfast.ops`. Every message is one line that starts with the path: ``main.operand[7]: scale is 0, must be > 0 for ...``.
"""

from math import inf, isfinite
from struct import Struct
from struct import error as StructError

import numpy as np

from .. import pace
from ..checks import counted, shown
from ..errors import InvalidArgument
from . import proof
from .plain import are_scales, is_plain
from .types import (
    ARITHMETICS,
    CONSTANT_LIFETIMES,
    DTYPES,
    EXTENSION_NAME,
    FLOAT32_MAX,
    OEM_TYPES,
    QUANT_RANGE,
    QUANTIZED_TYPES,
    SCALAR_TYPES,
    SYMMETRIC_TYPES,
    UINT32_MAX,
    ChannelQuant,
    LifeTime,
    Model,
    Operand,
    OperandType,
    Operation,
    OperationType,
    State,
    Subgraph,
    is_extension,
    is_raw,
    operation_name,
    type_name,
)
from .withheld import Withheld

_T = OperandType
_FLOAT32 = Struct("<f")
_WRITTEN = frozenset((LifeTime.TEMPORARY_VARIABLE, LifeTime.SUBGRAPH_OUTPUT))
_LAST_OPERATION = max(int(code) for code in OperationType if code != OperationType.OEM_OPERATION)


def validate_model(model, go_on=pace.step):
    """Check the structure of a Model, unless it carries the proof; InvalidArgument names the first part that breaks a
    rule. A model that is right carries the proof afterwards.

    go_on(path): called before every operand and operation, may raise to stop.
    """
    _record(model, Model, "model")
    if proof.of(model) is None:
        check_structure(model, go_on)
        proof.give(model)


def check_structure(model, go_on=pace.step):
    """As validate_model, without a proof: for models that nobody sees again.

    Order: main, then each referenced subgraph (operands, operations, lists, graph), reference cycles, states.
    """
    _sequence(model.referenced, "referenced")
    _sequence(model.states, "states")
    if not isinstance(model.relaxed, bool | np.bool_):
        _fail("model", f"relaxed is {shown(model.relaxed)}, must be True or False")
    if not isinstance(model.name, str):
        _fail("model", f"name is {shown(model.name)}, must be text")
    if not isinstance(model.arithmetic, str) or model.arithmetic not in ARITHMETICS:
        _fail("model", f"arithmetic is {shown(model.arithmetic)}, must be {' or '.join(ARITHMETICS)}")
    check_extensions("extensions", model.extensions)
    prefixes = frozenset(prefix for _, prefix in model.extensions)
    for path, graph in graph_paths(model):
        _record(graph, Subgraph, path)
        _check_graph(path, graph, len(model.referenced), prefixes, go_on)
    _check_reference_cycles(model.referenced)
    _check_states(model)


def graph_paths(model):
    """(path, Subgraph) of main and of each referenced subgraph, in order."""
    yield "main", model.main
    for index, graph in enumerate(model.referenced):
        yield f"referenced[{index}]", graph


def check_extensions(path, entries):
    """Refuse a map of extensions that is not (name, prefix) one to one [NN 9.3]."""
    _sequence(entries, path)
    names, prefixes = set(), set()
    for place, entry in enumerate(entries):
        where = f"{path}[{place}]"
        if not isinstance(entry, tuple) or len(entry) != 2:
            _fail(where, f"is {shown(entry)}, must be (name, prefix)")
        name, prefix = entry
        if not isinstance(name, str) or not EXTENSION_NAME.fullmatch(name):
            _fail(where, f"name is {shown(name)}, must be small letters, digits and _ in parts with dots between")
        if not _is_int(prefix) or not 1 <= prefix <= 0xFFFF:
            _fail(where, f"prefix is {shown(prefix)}, must be 1 to 65535")
        if name in names or prefix in prefixes:
            _fail(where, f"name {name} and prefix {prefix} must be used once")
        names.add(name)
        prefixes.add(prefix)


def operation_path(path, index, code):
    """How messages name an operation: ``main.operation[3] CONV_2D``."""
    return f"{path}.operation[{index}] {operation_name(code)}"


def _fail(path, text):
    raise InvalidArgument(f"{path}: {text}")


def _record(value, kind, path):
    if not isinstance(value, kind):
        _fail(path, f"is {type(value).__name__}, must be {kind.__name__}")


def _sequence(value, path):
    if not isinstance(value, tuple | list):
        _fail(path, f"is {type(value).__name__}, must be a tuple")


def _is_int(value):
    # Most values are plain integers: the first look spares two slower ones.
    return type(value) is int or (isinstance(value, int | np.integer) and not isinstance(value, bool))


def _check_graph(path, graph, referenced, prefixes, go_on):
    for name in ("operands", "operations"):
        _sequence(getattr(graph, name), f"{path}.{name}")
    if not graph.operands:
        _fail(path, "has no operands, must have at least one")
    if not graph.operations:
        _fail(path, "has no operations, must have at least one")
    for index, operand in enumerate(graph.operands):
        where = f"{path}.operand[{index}]"
        go_on(where)
        _record(operand, Operand, where)
        if not is_plain(operand):
            _check_operand(where, operand, referenced, prefixes)
    for index, operation in enumerate(graph.operations):
        where = f"{path}.operation[{index}]"
        go_on(where)
        _record(operation, Operation, where)
        _check_operation(path, index, operation, graph.operands, prefixes)
    _check_list(f"{path}.inputs", graph.inputs, LifeTime.SUBGRAPH_INPUT, path, graph.operands)
    _check_list(f"{path}.outputs", graph.outputs, LifeTime.SUBGRAPH_OUTPUT, path, graph.operands)
    _check_order(path, graph)


# -- operands [NN 11.3] ----------------------------------------------------------------------------------------------
def _check_operand(path, operand, referenced, prefixes):
    _check_type(path, operand.type, prefixes)
    if not _is_int(operand.lifetime) or not 0 <= operand.lifetime <= LifeTime.SUBGRAPH:
        _fail(path, f"lifetime is {shown(operand.lifetime)}, must be 0..{LifeTime.SUBGRAPH:d}")
    if not isinstance(operand.name, str):
        _fail(path, f"name is {shown(operand.name)}, must be text")
    _check_dims(path, operand)
    if operand.type not in OEM_TYPES:  # what they mean by these is theirs
        _check_scale(path, operand)
        _check_zero_point(path, operand)
        _check_channel_quant(path, operand)
    _check_parameters(path, operand)
    _check_lifetime(path, operand, referenced)
    _check_size(path, operand)
    _check_data(path, operand)


def _check_type(path, code, prefixes):
    if not _is_int(code):
        _fail(path, f"type is {shown(code)}, must be an operand type code")
    if code in DTYPES or code in OEM_TYPES:
        return
    if not is_extension(code) or not 0 <= code <= UINT32_MAX:
        _fail(path, f"type {shown(code)} is unknown, must be 0..{max(DTYPES.keys() - OEM_TYPES):d}")
    if code >> 16 not in prefixes:
        _fail(path, f"type 0x{code:08x} has a prefix that is not in the model's extensions")


def _check_dims(path, operand):
    if not isinstance(operand.dims, tuple | list):
        _sequence(operand.dims, f"{path}.dims")
    for axis, dim in enumerate(operand.dims):
        if not _is_int(dim) or not 0 <= dim <= UINT32_MAX:
            _fail(path, f"dimension {axis} is {shown(dim)}, must be 0 (unknown) to {UINT32_MAX}")
    if operand.type in SCALAR_TYPES and operand.dims:
        _fail(path, f"rank is {len(operand.dims)}, must be 0 for scalar {type_name(operand.type)}")
    if operand.lifetime in CONSTANT_LIFETIMES and operand.type not in SCALAR_TYPES:
        if not operand.dims and not is_extension(operand.type):
            _fail(path, "rank of a constant tensor is 0 (unknown), must be at least 1")
        if 0 in operand.dims:
            _fail(path, f"dimension {operand.dims.index(0)} of a constant is 0 (unknown), must be known")


def _float32(value):
    """Value as the float32 that the standard stores, in a Python float; None unless it is a number."""
    if type(value) is float and -FLOAT32_MAX <= value <= FLOAT32_MAX:
        return float(np.float32(value))
    try:
        return _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return inf if value > 0 else -inf
    except StructError:
        return None


def _number(value):
    return f"{value:g}" if isinstance(value, float) else shown(value)


def _check_scale(path, operand):
    scale = _float32(operand.scale)
    if scale is None or not isfinite(scale):
        _fail(path, f"scale is {_number(operand.scale)}, must be a finite float32 number")
    rule = None
    if operand.type in QUANTIZED_TYPES:
        if not scale > 0:
            rule = "> 0"
    elif operand.type == _T.TENSOR_INT32:
        if scale < 0:
            rule = ">= 0"
    elif scale != 0:
        rule = "0"
    if rule is not None:
        _fail(path, f"scale is {_number(operand.scale)}, must be {rule} for {type_name(operand.type)}")


def _check_zero_point(path, operand):
    zero_point = operand.zero_point
    if not _is_int(zero_point):
        _fail(path, f"zero point is {shown(zero_point)}, must be an integer")
    low, high = (0, 0)
    if operand.type not in SYMMETRIC_TYPES:
        low, high = QUANT_RANGE.get(operand.type, (0, 0))
    if not low <= zero_point <= high:
        rule = "0" if low == high else f"{low}..{high}"
        _fail(path, f"zero point is {shown(zero_point)}, must be {rule} for {type_name(operand.type)}")


def _check_channel_quant(path, operand):
    quant = operand.channel_quant
    if operand.type != _T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        if quant is not None:
            _fail(path, f"has channel scales, must have none for {type_name(operand.type)}")
        return
    if quant is None:
        _fail(path, f"has no channel scales, must have them for {type_name(operand.type)}")
    _record(quant, ChannelQuant, path)
    rank = len(operand.dims)
    if not _is_int(quant.dim) or not 0 <= quant.dim < rank:
        _fail(path, f"channel dimension is {shown(quant.dim)}, must be less than the rank, {rank}")
    channels = operand.dims[quant.dim]
    if channels == 0:
        _fail(path, f"channel dimension {quant.dim} has unknown size, must be known")
    if isinstance(quant.scales, Withheld) and quant.scales.shape == (channels,):
        return
    _sequence(quant.scales, f"{path}.channel_quant.scales")
    if len(quant.scales) != channels:
        _fail(path, f"has {len(quant.scales)} channel scales, must be {channels} (dimension {quant.dim})")
    if are_scales(quant.scales):
        return
    for channel, value in enumerate(quant.scales):
        scale = _float32(value)
        if scale is None or not isfinite(scale) or not scale > 0:
            _fail(path, f"channel scale {channel} is {_number(value)}, must be finite and > 0")


def _check_parameters(path, operand):
    parameters = operand.parameters
    if parameters is None:
        return
    if not is_raw(operand.type):
        _fail(path, f"has parameters of an extension, must have none for {type_name(operand.type)}")
    if not isinstance(parameters, bytes):
        _fail(path, f"parameters are {type(parameters).__name__}, must be bytes")


def _check_size(path, operand):
    if 0 in operand.dims:
        return
    size = 1 if is_raw(operand.type) else operand.dtype.itemsize
    for dim in operand.dims:
        size *= int(dim)
        if size > UINT32_MAX:
            _fail(path, f"dimensions {list(operand.dims[:8])} need more than {UINT32_MAX} bytes")


def _check_lifetime(path, operand, referenced):
    is_subgraph = operand.type == _T.SUBGRAPH
    if is_subgraph != (operand.lifetime == LifeTime.SUBGRAPH):
        name = LifeTime(operand.lifetime).name
        if is_subgraph:
            _fail(path, f"type SUBGRAPH has lifetime {name}, must have SUBGRAPH")
        _fail(path, f"lifetime SUBGRAPH has type {type_name(operand.type)}, must have SUBGRAPH")
    if not is_subgraph:
        if operand.subgraph is not None:
            _fail(path, f"refers to subgraph {shown(operand.subgraph)}, only lifetime SUBGRAPH may")
    elif not _is_int(operand.subgraph) or not 0 <= operand.subgraph < referenced:
        _fail(path, f"subgraph is {shown(operand.subgraph)}, model has {referenced} referenced subgraphs")


def _check_data(path, operand):
    data = operand.data
    if operand.lifetime not in CONSTANT_LIFETIMES:
        if data is not None:
            _fail(path, f"has data, only constants may (lifetime is {LifeTime(operand.lifetime).name})")
        return
    if data is None:
        _fail(path, "is a constant without data")
    is_withheld = isinstance(data, Withheld)
    if not isinstance(data, np.ndarray) and not is_withheld:
        _fail(path, f"data is {type(data).__name__}, must be a numpy array")
    if is_raw(operand.type):
        if is_withheld or data.dtype != np.uint8 or data.ndim != 1 or not data.flags.c_contiguous:
            _fail(path, f"data is {data.dtype} of rank {data.ndim}, must be a row of bytes for "
                        f"{type_name(operand.type)}")
        return
    if data.dtype != operand.dtype:
        _fail(path, f"data is {data.dtype.str if data.dtype.kind == operand.dtype.kind else data.dtype}, "
                    f"must be {operand.dtype} for {type_name(operand.type)}")
    if data.shape != tuple(operand.dims):
        _fail(path, f"data has shape {list(data.shape)}, must have {list(operand.dims)}")
    if not is_withheld and not data.flags.c_contiguous:
        _fail(path, "data is not contiguous, use numpy.ascontiguousarray")


# -- operations [NN 11.4 a b f] and lists [NN 11.5] --------------------------------------------------------------------
def _check_operation(path, index, operation, operands, prefixes):
    code = operation.type
    where = f"{path}.operation[{index}]"
    if not _is_int(code):
        _fail(where, f"type is {shown(code)}, must be an operation code")
    if is_extension(code) and 0 <= code <= UINT32_MAX:
        if code >> 16 not in prefixes:
            _fail(where, f"operation 0x{code:08x} has a prefix that is not in the model's extensions")
    elif not 0 <= code <= _LAST_OPERATION and code != OperationType.OEM_OPERATION:
        _fail(where, f"operation code {shown(code)} is unknown, must be 0..{_LAST_OPERATION}")
    where = operation_path(path, index, code)
    for role, places in (("input", operation.inputs), ("output", operation.outputs)):
        if not isinstance(places, tuple | list):
            _sequence(places, f"{where} {role}s")
        for place, operand in enumerate(places):
            if not _is_int(operand) or not 0 <= operand < len(operands):
                _fail(f"{where} {role} {place}", f"operand index {shown(operand)} is outside 0..{len(operands) - 1}")
    for place, operand in enumerate(operation.outputs):
        lifetime = operands[operand].lifetime
        if lifetime not in _WRITTEN:
            _fail(f"{where} output {place}", f"operand {operand} has lifetime {LifeTime(lifetime).name}, "
                                             "must be TEMPORARY_VARIABLE or SUBGRAPH_OUTPUT")


def _check_list(where, indexes, lifetime, path, operands):
    _sequence(indexes, where)
    listed = set()
    for place, operand in enumerate(indexes):
        if not _is_int(operand) or not 0 <= operand < len(operands):
            _fail(f"{where}[{place}]", f"operand index {shown(operand)} is outside 0..{len(operands) - 1}")
        actual = operands[operand].lifetime
        if actual != lifetime:
            _fail(f"{where}[{place}]",
                  f"operand {operand} has lifetime {LifeTime(actual).name}, must be {lifetime.name}")
        if operand in listed:
            _fail(f"{where}[{place}]", f"operand {operand} is listed twice")
        listed.add(operand)
    for index, operand in enumerate(operands):
        if operand.lifetime == lifetime and index not in listed:
            _fail(f"{path}.operand[{index}]", f"has lifetime {lifetime.name} but is not in {where}")


# -- graph [NN 11.6] -------------------------------------------------------------------------------------------------
def _check_order(path, graph):
    known = [operand.lifetime not in _WRITTEN for operand in graph.operands]
    writer = {}
    for index, operation in enumerate(graph.operations):
        where = operation_path(path, index, operation.type)
        for place, operand in enumerate(operation.inputs):
            if not known[operand]:
                _fail(f"{where} input {place}", f"reads operand {operand} before it is written")
        for place, operand in enumerate(operation.outputs):
            if known[operand]:
                _fail(f"{where} output {place}", f"operand {operand} is already written by {writer[operand]}")
            known[operand] = True
            writer[operand] = f"operation[{index}]"
    for index, done in enumerate(known):
        if not done:
            name = LifeTime(graph.operands[index].lifetime).name
            _fail(f"{path}.operand[{index}]", f"has lifetime {name} but no operation writes it")


def _check_reference_cycles(referenced):
    """Depth-first walk with its own stack: a hostile model can nest deeper than Python recurses."""
    targets = [sorted({o.subgraph for o in graph.operands if o.lifetime == LifeTime.SUBGRAPH}) for graph in referenced]
    done, on_path = set(), {}
    for root in range(len(referenced)):
        stack = [(root, iter(targets[root]))] if root not in done else []
        if stack:
            on_path[root] = True
        while stack:
            index, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                del on_path[index]
                done.add(index)
            elif target in on_path:
                trail = list(on_path)
                loop = [*trail[trail.index(target):], target]
                _fail(f"referenced[{target}]", "refers to itself: " + " -> ".join(str(i) for i in loop))
            elif target not in done:
                on_path[target] = True
                stack.append((target, iter(targets[target])))


# -- states ----------------------------------------------------------------------------------------------------------
def _check_states(model):
    graph = model.main
    fed = set()
    for index, state in enumerate(model.states):
        path = f"states[{index}]"
        _record(state, State, path)
        for role, place, places in (("input", state.input, graph.inputs), ("output", state.output, graph.outputs)):
            if not _is_int(place) or not 0 <= place < len(places):
                _fail(path, f"{role} position is {shown(place)}, main has {counted(len(places), role)}")
        if state.input in fed:
            _fail(path, f"input {state.input} is fed by two states")
        fed.add(state.input)
        source, target = graph.operands[graph.outputs[state.output]], graph.operands[graph.inputs[state.input]]
        if is_raw(target.type):
            _fail(path, f"input is {type_name(target.type)}, must be of a type of the standard")
        if source.type != target.type:
            _fail(path, f"output is {type_name(source.type)}, must be {type_name(target.type)} as the input")
        if tuple(source.dims) != tuple(target.dims):
            _fail(path, f"output has dimensions {list(source.dims)}, must have {list(target.dims)} as the input")
        if (source.scale, source.zero_point) != (target.scale, target.zero_point):
            _fail(path, f"output has scale {source.scale:g} and zero point {source.zero_point}, "
                        f"must have {target.scale:g} and {target.zero_point} as the input")
        _check_initial(path, state.initial, target)


def _check_initial(path, initial, operand):
    if initial is None:
        return
    if not isinstance(initial, np.ndarray) or initial.dtype != operand.dtype:
        kind = initial.dtype if isinstance(initial, np.ndarray) else type(initial).__name__
        _fail(path, f"initial value is {kind}, must be an array of {operand.dtype}")
    shape = operand.shape
    if shape is None:
        return
    same_rank = len(shape) == initial.ndim
    if not same_rank or any(want not in (None, got) for want, got in zip(shape, initial.shape, strict=True)):
        _fail(path, f"initial value has shape {list(initial.shape)}, must have {list(operand.dims)}")
