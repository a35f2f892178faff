"""Requests on memory pools: checks [NN 11.8], views of inputs, placement of outputs."""

from math import prod

import numpy as np

from .. import vlog
from ..checks import kind_of, shown
from ..errors import GeneralFailure, InvalidArgument, OutputInsufficientSize
from ..model.types import is_raw
from .buffers import INPUT, OUTPUT, Buffer, NamedBuffer, combine_dims
from .form import is_checked
from .memory import FileBytes, Memory
from .request import OutputShape, Request


class Arguments:
    """Arrays over the pools of one request; a context manager for the duration of the execution.

    inputs: {operand: array}; shapes: {operand: shape, None if omitted}. Outputs are computed in their pool if the
    memory is aligned and no other argument overlaps it, else in a private array.
    """

    def __init__(self, inputs, shapes, outputs):
        self.inputs, self.shapes = inputs, shapes
        self._outputs = outputs  # [_Region or _Device]
        self._direct = {}

    def __enter__(self):
        for output in self._outputs:
            output.start_writing()
        return self

    def __exit__(self, *error):
        return False

    def place(self, operand, shape, dtype):
        """Array for an output of a known shape, over its pool; None if it must be computed elsewhere."""
        for position, output in enumerate(self._outputs):
            if output.operand == operand:
                if output.asked:
                    output.check_shape(shape)
                array = output.place(shape)
                if array is None or self._overlaps(position, array):
                    return None
                self._direct[operand] = array
                return array
        return None

    def placed(self, operands):
        """The arrays that `place` gave for these outputs, or None if one of them is not computed in place."""
        arrays = [self._direct.get(operand) for operand in operands]
        return None if any(array is None for array in arrays) else arrays

    def _overlaps(self, position, view):
        others = [output.memory for place, output in enumerate(self._outputs) if place != position]
        return any(np.may_share_memory(view, other) for other in (*others, *self.inputs.values()) if other is not None)

    def settle(self, values, made):
        """Raise what `finish` would raise, as soon as the shapes of all outputs are known.

        values: {operand: array} computed so far; made: {operand: shape} of outputs about to be computed.
        """
        shapes = {}
        for output in self._outputs:
            operand = output.operand
            if operand not in made and operand not in values:
                return
            shapes[operand] = made[operand] if operand in made else values[operand].shape
        self.check_sizes(shapes)

    def finish(self, values):
        """Copy results not computed in place; returns the shapes. Raises OutputInsufficientSize before any copy."""
        self.check_sizes({output.operand: values[output.operand].shape for output in self._outputs})
        for output in self._outputs:
            output.store(values[output.operand], output.operand in self._direct)
        return [tuple(values[output.operand].shape) for output in self._outputs]

    def check_sizes(self, shapes, misfit=GeneralFailure):
        """Raise if an output does not fit its destination. misfit: error class for dimensions in the request that
        differ from the result's."""
        for output in self._outputs:
            if output.asked:
                output.check_shape(shapes[output.operand], misfit)
            output.check_device(shapes[output.operand])
        report = [OutputShape(tuple(shapes[output.operand]), output.fits(shapes[output.operand]))
                  for output in self._outputs]
        for output, shape in zip(self._outputs, report):
            if not shape.is_sufficient:
                raise output.too_small(shape.dims, report)


class _Output:
    """An output of a request. asked: the dimensions that the request gives, () if it leaves them to the model."""

    def check_shape(self, shape, misfit=GeneralFailure):
        """Raise `misfit` if the result's dimensions differ from the request's: the client would read stale bytes as
        part of the result."""
        shape = tuple(shape)
        if self.asked != shape and combine_dims(self.asked, shape) != shape:
            raise misfit(f"{self.path}: dimensions are {list(self.asked)}, the result has {list(shape)}; leave them "
                         f"out of the request, or give these")


class _Region(_Output):
    """An output in client memory. private: compute it where the client cannot change it before the end."""

    def __init__(self, path, operand, asked, dtype, region, private=False):
        self.path, self.operand, self.asked = path, operand, tuple(asked)
        self.dtype, self.memory, self.private = dtype, region, private

    def start_writing(self):
        """Client memory has no state."""

    def check_device(self, shape):
        """Client memory is checked by size."""

    def fits(self, shape):
        return self.memory.nbytes >= prod(shape) * self.dtype.itemsize

    def place(self, shape):
        view = self.memory[:prod(shape) * self.dtype.itemsize]
        if self.private or not self.fits(shape) or view.ctypes.data % max(1, self.dtype.itemsize):
            return None
        return view.view(self.dtype).reshape(shape)

    def store(self, array, placed):
        if not placed:
            array = np.ascontiguousarray(array)
            self.memory[:array.nbytes] = array.reshape(-1).view(np.uint8)

    def too_small(self, shape, report):
        need = prod(shape) * self.dtype.itemsize
        text = f"{self.path}: the buffer has {self.memory.nbytes} bytes, the result needs {need}"
        return OutputInsufficientSize(text, report)


class _Written(_Region):
    """An output in a file that may shrink: computed in private memory, written after success."""

    def __init__(self, path, operand, asked, dtype, region, file, offset):
        super().__init__(path, operand, asked, dtype, region)
        self._file, self._offset = file, offset

    def store(self, array, placed):
        super().store(array, placed)
        self._file.write(self._offset, self.memory[:array.nbytes])


class _Device(_Output):
    """An output in a Buffer of the device."""

    memory = None  # nothing can overlap: a buffer is at most one argument of a request

    def __init__(self, path, operand, asked, buffer):
        self.path, self.operand, self.asked, self.buffer = path, operand, tuple(asked), buffer

    def start_writing(self):
        self.buffer.start_writing()

    def check_device(self, shape):
        misfit = self.buffer.misfit(shape)
        if misfit:
            raise GeneralFailure(f"{self.path}: {misfit}")  # no shapes [NN 6.5]

    def fits(self, shape):
        return True

    def place(self, shape):
        return self.buffer.place(shape)

    def store(self, array, placed):
        self.buffer.store(array)


def bind_request(form, request, started=True):
    """Arguments of a request for a RequestForm; raises for what [NN 11.8 a-h j k, 6.4] forbid.

    started: False checks the form only, not values: other executions may still write the inputs, or they are
    NamedBuffers.
    """
    if not isinstance(request, Request):
        raise InvalidArgument(f"execute: got {kind_of(request)}, must be a Request")
    for role, given, wanted in (("inputs", request.inputs, form.inputs), ("outputs", request.outputs, form.outputs)):
        if len(given) != len(wanted):
            raise InvalidArgument(f"request {role}: got {len(given)}, must be {len(wanted)}")
    pools = [pool if isinstance(pool, Buffer | NamedBuffer) else bytes_of(place, pool)
             for place, pool in enumerate(request.pools)]
    inputs, shapes, used = {}, {}, set()
    for place, (argument, (operand, record)) in enumerate(zip(request.inputs, form.inputs)):
        path = f"request input {place}"
        if argument.has_no_value:
            if argument.dims or argument.length or argument.offset or argument.pool:
                raise InvalidArgument(f"{path}: has no value, so its location and dimensions must be zero and empty")
            shapes[operand] = None
            continue
        buffer = _buffer(path, argument, pools)
        if buffer is not None:
            buffer.check_role(path, form, INPUT, place)
            used.add(buffer)
            dims = combine_dims(argument.dims, record.dims)
            if dims is None:
                raise _conflict(path, argument.dims, record.dims)
            if started:
                inputs[operand] = buffer.read(path, dims)
                shapes[operand] = inputs[operand].shape
            continue
        shape = _shape(path, argument, record, output=False)
        _check_region(path, argument, pools)
        if is_raw(record.type):  # size unknown without a device's definition of the type: only the form is checked
            shapes[operand] = shape
            continue
        nbytes = prod(shape) * record.dtype.itemsize
        if argument.length != nbytes:
            raise InvalidArgument(f"{path}: length is {shown(argument.length)}, must be {nbytes} for {record.dtype}"
                                  f"{list(shape)}")
        region = _region(argument, pools)
        shared = isinstance(request.pools[argument.pool], Memory)
        if region.ctypes.data % record.dtype.itemsize or \
                (shared and is_checked(record)):
            region = region.copy()
        shapes[operand] = shape
        inputs[operand] = region.view(record.dtype).reshape(shape)
    outputs = []
    for place, (argument, (operand, record)) in enumerate(zip(request.outputs, form.outputs)):
        path = f"request output {place}"
        if argument.has_no_value:
            raise InvalidArgument(f"{path}: an output must have a place")
        shape = _shape(path, argument, record, output=True)
        buffer = _buffer(path, argument, pools)
        if buffer is not None:
            if buffer in used:
                raise InvalidArgument(f"{path}: buffer {buffer.token} is an argument of this request already")
            buffer.check_role(path, form, OUTPUT, place)
            used.add(buffer)
            if combine_dims(buffer.dims, [d or 0 for d in shape or ()]) is None:
                raise InvalidArgument(f"{path}: buffer {buffer.token} was allocated for {list(buffer.dims)}, the "
                                      f"argument asks for {[d or 0 for d in shape]}")
            outputs.append(_Device(path, operand, argument.dims, buffer))
            continue
        _check_region(path, argument, pools)
        dtype = None if is_raw(record.type) else record.dtype
        pool = pools[argument.pool]
        if not (pool.writeable if isinstance(pool, FileBytes) else pool.flags.writeable):
            raise InvalidArgument(f"{path}: pool {argument.pool} is read-only")
        if isinstance(pool, FileBytes):
            own = pool.room(argument.offset, argument.length)
            outputs.append(_Written(path, operand, argument.dims, dtype, own, pool, argument.offset))
        else:
            private = operand in form.read_back and isinstance(request.pools[argument.pool], Memory)
            outputs.append(_Region(path, operand, argument.dims, dtype, _region(argument, pools), private))
    arguments = Arguments(inputs, shapes, outputs)
    if form.results is not None and all(shapes.get(operand) == record.shape for operand, record in form.inputs):
        arguments.check_sizes(form.results, InvalidArgument)
    return arguments


def lose_results(request):
    """Drop the values of the buffers that a failed execution was to write, as the standard demands."""
    for argument in request.outputs:
        if 0 <= argument.pool < len(request.pools) and isinstance(request.pools[argument.pool], Buffer):
            request.pools[argument.pool].start_writing()


def failed(request, error):
    """Handle an execution that ended with this error, perhaps before it began. After InvalidArgument, which means that
    there was no execution, all buffers keep their values."""
    if not isinstance(error, InvalidArgument):
        lose_results(request)


def bytes_of(place, pool):
    if isinstance(pool, Memory):
        try:
            opened = pool.open()
            if vlog.mask & vlog.MEMORY:
                vlog.log(vlog.MEMORY, "request pool %d: %r, %s", place, pool,
                          "read and written by copies" if isinstance(opened, FileBytes) else "mapped")
            return opened
        except GeneralFailure as error:
            raise GeneralFailure(f"request pool {place}: {error}") from None
    try:
        if not isinstance(pool, np.ndarray):
            return np.frombuffer(pool, np.uint8)
        if not pool.flags.c_contiguous:  # reshape would copy, and outputs written to the copy would be lost
            raise ValueError("the array is not C-contiguous; pass np.ascontiguousarray(x)")
        return pool.view(np.ndarray).reshape(-1).view(np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise InvalidArgument(f"request pool {place}: {error}") from None


def _buffer(path, argument, pools):
    """The Buffer that an argument lies in, or None for client memory."""
    _check_pool(path, argument, pools)
    if not isinstance(pools[argument.pool], Buffer | NamedBuffer):
        return None
    if argument.offset or argument.length:
        raise InvalidArgument(f"{path}: offset and length are {shown(argument.offset)} and {shown(argument.length)}, "
                              f"must be 0 for a buffer, which is one whole argument")
    return pools[argument.pool]


def _check_pool(path, argument, pools):
    if not 0 <= argument.pool < len(pools):
        raise InvalidArgument(f"{path}: pool is {shown(argument.pool)}, there are {len(pools)} pools")


def _check_region(path, argument, pools):
    pool = pools[argument.pool]
    if argument.offset < 0 or argument.length <= 0 or argument.offset + argument.length > pool.nbytes:
        end = argument.offset + argument.length
        raise InvalidArgument(f"{path}: bytes {shown(argument.offset)}..{shown(end)} must lie in pool {argument.pool} "
                              f"of {pool.nbytes} bytes and not be empty")


def _region(argument, pools):
    """The bytes of an argument: part of its pool, or a copy where the pool's file may shrink."""
    pool = pools[argument.pool]
    if isinstance(pool, FileBytes):
        return pool.read(argument.offset, argument.length)
    return pool[argument.offset:argument.offset + argument.length]


def _shape(path, argument, record, output):
    """Shape of an argument: the request's dims merged with the model's."""
    declared = record.shape
    if not argument.dims:
        if output:
            return declared
        if declared is None and is_raw(record.type):
            return None  # a scalar perhaps [NN 11.8 i]
        if declared is None or None in declared:
            raise InvalidArgument(f"{path}: the model leaves dimensions open, so the request must give them")
        return declared
    if record.is_scalar:
        raise InvalidArgument(f"{path}: a scalar has no dimensions, got {shown(argument.dims)}")
    dims = tuple(argument.dims)
    if declared is not None and (len(dims) != len(declared) or
                                 any(d is not None and g and g != d for g, d in zip(dims, declared))):
        raise _conflict(path, dims, record.dims)
    if not output and 0 in dims:
        raise InvalidArgument(f"{path}: dimensions are {shown(dims)}, none may be 0")
    return dims


def _conflict(path, dims, declared):
    return InvalidArgument(f"{path}: dimensions are {shown(list(dims))}, the model has {list(declared)}")
