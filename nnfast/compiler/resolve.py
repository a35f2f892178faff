"""Resolves extensions of a model, of vendors and nnfast's own: replaces type codes by definitions [NN 9.3]."""

from math import prod

from ..errors import InvalidArgument
from ..model import own
from ..model.types import UINT32_MAX, Definition, is_extension, operation_name, type_name
from ..model.validate import graph_paths
from ..ops.own import EXTENSION
from ..record import replace


def resolve(model, extensions):
    """The structurally valid model with Definitions in place of codes of these extensions ({name: Extension}) and our
    own.

    Parameters of operands become records, constants become arrays of their type. Codes of unknown extensions stay.
    Raises InvalidArgument for a code or operand that a known extension does not have or accept.
    """
    known = {prefix: EXTENSION if name == own.NAME else extensions[name] for name, prefix in model.extensions
             if name == own.NAME or name in extensions}
    if not known:
        return model
    main, *referenced = (_graph(path, graph, known) for path, graph in graph_paths(model))
    return replace(model, main=main, referenced=tuple(referenced))


def missing(model, code):
    """Why an unresolved code cannot run."""
    name = next(name for name, prefix in model.extensions if prefix == code >> 16)
    return f"this device does not have extension {name}"


def unknown_type(graph, operation):
    """An operand type code that prevents checking an extension's operation, as no extension of the device has it; None
    if there is none. Operations of the standard accept no types of extensions at all.
    """
    if not isinstance(operation.type, Definition):
        return None
    types = (graph.operands[operand].type for operand in (*operation.inputs, *operation.outputs))
    return next((code for code in types if is_extension(code)), None)


def _graph(path, graph, known):
    operands = tuple([_operand(f"{path}.operand[{place}]", operand, known)
                      for place, operand in enumerate(graph.operands)])
    operations = tuple([_operation(f"{path}.operation[{place}]", operation, known)
                        for place, operation in enumerate(graph.operations)])
    return replace(graph, operands=operands, operations=operations)


def _found(path, code, known, members, name_of):
    """The definition of a code, None if no known extension has it."""
    extension = known.get(code >> 16) if is_extension(code) else None
    if extension is None:
        return None
    found = getattr(extension, members).get(code & 0xFFFF)
    if found is None:
        raise InvalidArgument(f"{path}: {name_of(code)} does not exist in {extension.name}")
    return found


def _operation(path, operation, known):
    found = _found(path, operation.type, known, "operations", operation_name)
    return operation if found is None else replace(operation, type=found)


def _operand(path, operand, known):
    found = _found(path, operand.type, known, "types", type_name)
    if found is None:
        return operand
    if operand.dims and not found.is_tensor:
        raise InvalidArgument(f"{path}: rank is {len(operand.dims)}, must be 0 for scalar {found.name}")
    nbytes = prod(operand.dims) * found.dtype.itemsize
    if nbytes > UINT32_MAX:
        raise InvalidArgument(f"{path}: dimensions {list(operand.dims[:8])} need more than {UINT32_MAX} bytes")
    data = operand.data
    if data is not None:
        if not operand.dims and found.is_tensor:
            raise InvalidArgument(f"{path}: rank of a constant tensor is 0 (unknown), must be at least 1")
        if data.nbytes != nbytes:
            raise InvalidArgument(f"{path}: data has {data.nbytes} bytes, must be {nbytes} for {found.name} "
                                  f"{list(operand.dims)}")
        data = data.view(found.dtype)
        if not data.flags.aligned:
            data = data.copy()
        data = data.reshape(operand.dims)
        data.flags.writeable = False
    return replace(operand, type=found, data=data, parameters=found.unpack(path, operand.parameters))
