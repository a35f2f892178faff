"""Parts of the messages between client and server (protocol.py)."""

from ...model.records import Record, encode  # noqa: F401  (messages are written as models are)


class Tensor(Record):
    """One input or output of a prepared model: the fields of driver.tensors.TensorInfo."""

    name: str
    shape: tuple[int | None, ...] | None
    dtype: str
    type: int
    scale: float
    zero_point: int
    channel_axis: int | None
    operand: int
    channel_scales: tuple[float, ...]


class Place(Record):
    """An array in the arena of its connection."""

    offset: int
    shape: tuple[int, ...]


INLINE, ATTACHED = -1, -2


class Result(Record):
    """An array of an answer: at `offset` in the arena, in `data` if offset is INLINE, or at ATTACHED - offset in the
    attached memfd.
    """

    offset: int
    shape: tuple[int, ...]
    data: bytes = b""


class Argument(Record):
    """driver.request.RequestArgument."""

    pool: int
    offset: int
    length: int
    dims: tuple[int, ...]
    has_no_value: bool


class Pool(Record):
    """A pool of a request. kind: "arena" (at `number`, `size` bytes), "memory" or "buffer" (of that number)."""

    kind: str
    number: int
    size: int = 0
    writable: bool = True


class Queue(Record):
    """fmq.Descriptor: grantors as (flags, file, offset, extent), and how many of the attached files are its own."""

    grantors: list[tuple[int, int, int, int]]
    files: int
    quantum: int
    flavor: int


class Use(Record):
    """driver.buffers.Role."""

    prepared: int
    index: int
    frequency: float


class Shape(Record):
    """driver.request.OutputShape."""

    dims: tuple[int, ...]
    is_sufficient: bool


class ExtensionType(Record):
    """An operand type of an extension, as in getSupportedExtensions."""

    id: int
    name: str
    is_tensor: bool
    itemsize: int


class SharedMemory(Record):
    """A nnfast.Memory, whose descriptor is attached."""

    kind: str
    size: int
    prot: int
    offset: int
