"""HIDL requests to canonical ones, and answers back [NN 2.5, 3.14, 3.15, 11.8]."""

from ..driver import request as canonical
from ..errors import OutputInsufficientSize
from ..model.types import is_raw
from .pools import to_memory
from .types import (
    HALS,
    UINT32_MAX,
    UINT64_MAX,
    DataLocation,
    MemoryPool,
    OutputShape,
    Request,
    RequestArgument,
    Timing,
)
from .values import boolean, fail, is_integer, record, uint32, vec


def for_prepared(request, hal, prepared):
    """The nnfast.Request of a HIDL request of version `hal` for a prepared model; raises InvalidArgument."""
    converted = to_canonical(request, hal, prepared.device.tokens.find)
    if HALS.index(hal) < HALS.index("1.2"):
        check_outputs(converted.outputs, prepared.model.main, f"HAL {hal}")
    return converted


def to_canonical(request, hal, buffer_of):
    """The nnfast.Request of a HIDL request of version `hal`; buffer_of(token): the buffer of a token. Raises
    InvalidArgument."""
    record(request, Request, "request")
    pools = tuple(pool_of(pool, hal, buffer_of, f"request pool {place}")
                  for place, pool in enumerate(vec(request.pools, "request pools")))
    return canonical.Request(*_arguments(request), pools)


def to_packet(request):
    """The canonical request without pools, as the packets of bursts say it; raises InvalidArgument."""
    record(request, Request, "request")
    return canonical.Request(*_arguments(request), ())


def _arguments(request):
    return tuple(tuple(_argument(argument, f"request {role} {place}") for place, argument in enumerate(
        vec(getattr(request, f"{role}s"), f"request {role}s"))) for role in ("input", "output"))


def pool_of(pool, hal, buffer_of, path):
    """What a canonical request takes as the pool: nnfast.Memory, or what buffer_of(token) gives."""
    if hal != "1.3":
        return to_memory(pool, hal, path)
    record(pool, MemoryPool, path)
    if (pool.hidlMemory is None) == (pool.token is None):
        fail(path, "must be either hidlMemory or token")
    if pool.token is None:
        return to_memory(pool.hidlMemory, hal, path)
    if not is_integer(pool.token) or not pool.token > 0:
        fail(path, f"token is {pool.token!r}, must be positive")
    return buffer_of(int(pool.token))


def _argument(argument, path):
    record(argument, RequestArgument, path)
    location, dims = argument.location, argument.dimensions
    if type(location) is not DataLocation:
        record(location, DataLocation, f"{path} location")
    if type(dims) is not list or dims:
        dims = [uint32(dim, f"{path} dimension {axis}") for axis, dim in enumerate(vec(dims, f"{path} dimensions"))]
    pool, offset, length = location.poolIndex, location.offset, location.length
    if not type(pool) is type(offset) is type(length) is int or min(pool, offset, length) < 0 or \
            max(pool, offset, length) > UINT32_MAX:
        pool, offset, length = (uint32(getattr(location, name), f"{path} location {name}")
                                for name in ("poolIndex", "offset", "length"))
    return canonical.RequestArgument(pool, offset, length, tuple(dims),
                                     boolean(argument.hasNoValue, f"{path} hasNoValue"))


def check_outputs(outputs, graph, call):
    """Before 1.2 no output may be of unknown size [NN 11.8 f g]."""
    for place, (argument, operand) in enumerate(zip(outputs, graph.outputs)):
        shape = argument.dims or graph.operands[operand].shape
        if shape is None and is_raw(graph.operands[operand].type):
            continue  # a scalar perhaps, which only a device can tell [NN 11.8 i]
        if shape is None or not all(shape):
            fail(f"request output {place}", f"dimensions are not fully known, which {call} needs")


def shapes_of(result):
    """OutputShapes of an ExecutionResult, or of an error: only OutputInsufficientSize has some."""
    if isinstance(result, canonical.ExecutionResult) or isinstance(result, OutputInsufficientSize):
        return [OutputShape(list(shape.dims), shape.is_sufficient) for shape in result.shapes]
    return []


def timing_of(timing):
    """Timing in HIDL's form."""
    return Timing(*(UINT64_MAX if us is None else us for us in (timing.on_device_us, timing.in_driver_us)))
