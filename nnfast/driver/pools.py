"""Requests on memory pools: checks (hal.md 11.8), views of inputs, placement of outputs."""

from math import prod

import numpy as np

from ..errors import InvalidArgument, OutputInsufficientSize
from .request import OutputShape, Request


class Arguments:
    """Arrays over the pools of one request.

    inputs: {operand: array}; shapes: {operand: shape or None when omitted}. Outputs go straight into their pool when
    the memory is aligned and no other argument overlaps it, else through an array of our own.
    """

    def __init__(self, inputs, shapes, outputs):
        self.inputs, self.shapes = inputs, shapes
        self._outputs = outputs  # [(operand, dtype, writable bytes of the region)]
        self._direct = {}

    def place(self, operand, shape, dtype):
        """Array for an output of a known shape, over its pool where that can be done."""
        for position, (target, _, region) in enumerate(self._outputs):
            if target == operand:
                nbytes = prod(shape) * dtype.itemsize
                if region.nbytes < nbytes:
                    return None
                view = region[:nbytes]
                if view.ctypes.data % max(1, dtype.itemsize) or self._overlaps(position, view):
                    return None
                self._direct[operand] = view.view(dtype).reshape(shape)
                return self._direct[operand]
        return None

    def _overlaps(self, position, view):
        others = [region for place, (_, _, region) in enumerate(self._outputs) if place != position]
        return any(np.may_share_memory(view, other) for other in (*others, *self.inputs.values()))

    def finish(self, values):
        """Copy what was not written in place; the shapes. Raises OutputInsufficientSize before any copy."""
        report = []
        for operand, _, region in self._outputs:
            array = values[operand]
            report.append(OutputShape(tuple(array.shape), region.nbytes >= array.nbytes))
        small = [place for place, shape in enumerate(report) if not shape.is_sufficient]
        if small:
            raise insufficient(small[0], report, self._outputs[small[0]][2].nbytes,
                               values[self._outputs[small[0]][0]].nbytes)
        for operand, _, region in self._outputs:
            if operand not in self._direct:
                array = np.ascontiguousarray(values[operand])
                region[:array.nbytes] = array.reshape(-1).view(np.uint8)
        return [shape.dims for shape in report]

    def check_sizes(self, shapes):
        """Refuse at once when the shapes of all outputs are known and a buffer is too small."""
        report = [OutputShape(tuple(shapes[o]), r.nbytes >= prod(shapes[o]) * d.itemsize)
                  for o, d, r in self._outputs]
        small = [place for place, shape in enumerate(report) if not shape.is_sufficient]
        if small:
            operand, dtype, region = self._outputs[small[0]]
            raise insufficient(small[0], report, region.nbytes, prod(shapes[operand]) * dtype.itemsize)


def insufficient(place, report, have, need):
    """The error for an output buffer that is too small."""
    text = f"request output {place}: the buffer has {have} bytes, the result needs {need}"
    return OutputInsufficientSize(text, report)


def bind_request(prepared, request):
    """Arguments of a request for a prepared model; refuses what hal.md 11.8 a-h, j, k name."""
    if not isinstance(request, Request):
        raise InvalidArgument(f"execute: got a {type(request).__name__}, must be a Request")
    graph = prepared.model.main
    for role, given, wanted in (("inputs", request.inputs, graph.inputs), ("outputs", request.outputs, graph.outputs)):
        if len(given) != len(wanted):
            raise InvalidArgument(f"request {role}: got {len(given)}, must be {len(wanted)}")
    pools = [_bytes_of(place, pool) for place, pool in enumerate(request.pools)]
    inputs, shapes = {}, {}
    for place, (argument, operand) in enumerate(zip(request.inputs, graph.inputs)):
        path, record = f"request input {place}", graph.operands[operand]
        if argument.has_no_value:
            if argument.dims or argument.length or argument.offset or argument.pool:
                raise InvalidArgument(f"{path}: has no value, so its location and dimensions must be zero and empty")
            shapes[operand] = None
            continue
        shape = _shape(path, argument, record, output=False)
        region = _region(path, argument, pools)
        nbytes = prod(shape) * record.dtype.itemsize
        if region.nbytes != nbytes:
            raise InvalidArgument(f"{path}: length is {region.nbytes}, must be {nbytes} for {record.dtype}"
                                  f"{list(shape)}")
        if region.ctypes.data % record.dtype.itemsize:
            region = region.copy()
        shapes[operand] = shape
        inputs[operand] = region.view(record.dtype).reshape(shape)
    outputs = []
    for place, (argument, operand) in enumerate(zip(request.outputs, graph.outputs)):
        path, record = f"request output {place}", graph.operands[operand]
        if argument.has_no_value:
            raise InvalidArgument(f"{path}: an output must have a place")
        _shape(path, argument, record, output=True)
        region = _region(path, argument, pools)
        if not region.flags.writeable:
            raise InvalidArgument(f"{path}: pool {argument.pool} is read-only")
        outputs.append((operand, record.dtype, region))
    arguments = Arguments(inputs, shapes, outputs)
    static = prepared._static
    if static is not None and all(shapes[o] == graph.operands[o].shape for o in graph.inputs):
        arguments.check_sizes({o: static.shape_of(o) for o, _, _ in outputs})
    return arguments


def _bytes_of(place, pool):
    try:
        return np.frombuffer(pool, np.uint8) if not isinstance(pool, np.ndarray) else pool.reshape(-1).view(np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise InvalidArgument(f"request pool {place}: {error}") from None


def _region(path, argument, pools):
    if not 0 <= argument.pool < len(pools):
        raise InvalidArgument(f"{path}: pool is {argument.pool}, there are {len(pools)} pools")
    pool = pools[argument.pool]
    if argument.offset < 0 or argument.length <= 0 or argument.offset + argument.length > pool.nbytes:
        raise InvalidArgument(f"{path}: bytes {argument.offset}..{argument.offset + argument.length} must lie in pool "
                              f"{argument.pool} of {pool.nbytes} bytes and not be empty")
    return pool[argument.offset:argument.offset + argument.length]


def _shape(path, argument, record, output):
    """Shape of an argument: its own dims merged with the model's."""
    declared = record.shape
    if not argument.dims:
        if output:
            return declared
        if declared is None or None in declared:
            raise InvalidArgument(f"{path}: the model leaves dimensions open, so the request must give them")
        return declared
    if record.is_scalar:
        raise InvalidArgument(f"{path}: a scalar has no dimensions, got {list(argument.dims)}")
    dims = tuple(argument.dims)
    if declared is not None and (len(dims) != len(declared) or
                                 any(d is not None and g and g != d for g, d in zip(dims, declared))):
        raise InvalidArgument(f"{path}: dimensions are {list(dims)}, the model has {[d or 0 for d in declared]}")
    if not output and 0 in dims:
        raise InvalidArgument(f"{path}: dimensions are {list(dims)}, none may be 0")
    return dims
