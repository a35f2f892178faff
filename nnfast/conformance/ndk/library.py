"""What the C interface of the library looks like from Python: structures, numbers, objects that free themselves."""

import ctypes
import mmap
import time

from ... import errors
from ...model.types import OperationType

OUTPUT_INSUFFICIENT_SIZE, UNKNOWN_TIME = 8, (1 << 64) - 1
ERRORS = {
    3: errors.InvalidArgument, 4: errors.InvalidArgument, 6: errors.InvalidArgument, 9: errors.DeviceUnavailable,
    10: errors.MissedDeadlineTransient, 11: errors.MissedDeadlinePersistent, 12: errors.ResourceExhaustedTransient,
    13: errors.ResourceExhaustedPersistent, 14: errors.DeadObject,
}
STANDARD = frozenset(OperationType)
PREFERENCES = {"low_power": 0, "fast_single_answer": 1, "sustained_speed": 2}
PRIORITIES = {"low": 90, "medium": 100, "high": 110}


class OperandStruct(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("count", ctypes.c_uint32), ("dims", ctypes.POINTER(ctypes.c_uint32)),
                ("scale", ctypes.c_float), ("zero_point", ctypes.c_int32)]


class ScalesStruct(ctypes.Structure):
    _fields_ = [("dim", ctypes.c_uint32), ("count", ctypes.c_uint32), ("scales", ctypes.POINTER(ctypes.c_float))]


def indexes(values):
    """A C array of uint32."""
    return (ctypes.c_uint32 * len(values))(*values)


def type_of(operand, dims):
    """The C type of an operand with these dimensions."""
    return OperandStruct(operand.type, len(dims), indexes(dims) if dims else None,
                         operand.scale, operand.zero_point)


def check_standard(model):
    """Raises InvalidArgument for a model with an operation that is not NNAPI's: the library has no others."""
    for where, graph in (("main", model.main), *((f"referenced[{n}]", g) for n, g in enumerate(model.referenced))):
        for index, operation in enumerate(graph.operations):
            if operation.type not in STANDARD:
                raise errors.InvalidArgument(f"{where}.operation[{index}]: {operation.type} is no operation of NNAPI, "
                                             "and the C library has no others; run the model by another way")


class Handle:
    """An object of the library, freed by `close` or with the last reference to it. keep: what must live longer."""

    def __init__(self, device, kind, create, *arguments, keep=()):
        self.pointer, self._free, self.kept = ctypes.c_void_p(), device.function(f"{kind}_free"), keep
        device.call(f"{kind}_{create}", *arguments, ctypes.byref(self.pointer))

    def close(self):
        pointer, self.pointer = self.pointer, None
        if pointer:
            self._free(pointer)

    __del__ = close


def memory_of(device, memory):
    """A C memory of a Memory."""
    return Handle(device, "Memory", "createFromFd", ctypes.c_size_t(memory.size), mmap.PROT_READ | mmap.PROT_WRITE,
                   memory.fileno(), ctypes.c_size_t(memory.offset))


def left(deadline):
    """Nanoseconds until a deadline; 1 for one that has passed, as 0 is none."""
    return ctypes.c_uint64(max(1, int((deadline - time.monotonic()) * 1e9)))
