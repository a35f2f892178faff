"""The protocol of client and server: typed messages in msgpack, one per packet of a SOCK_SEQPACKET socket.

Every message is a Struct whose first element is its tag; decoding is strict about types. A message of more than
MAX_PACKET bytes is sent in a sealed memfd, announced by a packet; the driver accepts these only for calls. Descriptors
are attached by SCM_RIGHTS. Hello is the only message that every version understands.
"""

from typing import Annotated

from ...extras import msgspec
from .records import Argument, ExtensionType, Place, Pool, Queue, Record, Result, Shape, SharedMemory, Tensor, Use

VERSION = 7
MAGIC = "nnfast"
MAX_PACKET = 1 << 16
MAX_HELLO = 1 << 10
"""Size limit of the first packet of a connection, in bytes."""

MAX_EVENT = 1 << 14
"""Size limit of a packet on the events connection, which accepts no memfds."""

MAX_CALL = 1 << 18
"""Size limit of a call in a memfd: enough for 20,000 operands to keep, or the arguments of a request. Models and arrays
are not part of messages."""

MAX_RELEASE = 512
"""Most objects in one Release."""

MAX_FDS = 250


class Message(Record, tag_field="tag"):
    """Base of all messages. `tag` numbers: 1 to 9 from the client without an answer, 10 to 59 calls, 60 to 99 events
    from the driver, 100 to 255 answers.
    """


class Hello(msgspec.Struct, array_like=True, frozen=True):
    """The first packet of a connection, from the client. Later versions may append fields.

    role: "events" opens a session, and lives as long as it; "calls" joins the one with this id and key.
    precision: as nnfast.Device takes it, of the session.
    """

    magic: str
    version: int
    role: str
    session: int = 0
    key: bytes = b""
    precision: str | None = None


# -- from the client, without an answer --------------------------------------------------------------------------------
class Arena(Message, tag=1):
    """The attached memfd is the arena of this connection from now on."""

    size: int


class AddMemory(Message, tag=2):
    """The attached descriptor is a nnfast.Memory, named by this number from now on."""

    number: int
    kind: str
    size: int
    prot: int
    offset: int


class Release(Message, tag=3):
    """The client has dropped these objects. kind: "prepared", "buffer", "memory", "fenced", "stream", "load" or
    "burst".
    """

    items: Annotated[list[tuple[str, int]], msgspec.Meta(max_length=MAX_RELEASE)]


class Cancel(Message, tag=4):
    """Stop the call of this number at its next step."""

    call: int


class Memories(Message, tag=5):
    """Answer to GetMemories of this number, on the events connection: memories in the order of the slots, or an error.
    """

    call: int
    error: str
    memories: list[SharedMemory]


# -- calls -------------------------------------------------------------------------------------------------------------
class Ping(Message, tag=10):
    """Answered by Done."""


class GetCapabilities(Message, tag=11):
    """Answered by CapabilitiesReply."""


class GetStats(Message, tag=12):
    """Answered by Stats."""


class Check(Message, tag=13):
    """Device.check of the attached model. Answered by Text."""

    newest: str


class GetUnsupported(Message, tag=14):
    """Device.unsupported_reasons of the attached model, or operators of a file without a translation. Answered by
    Unsupported.
    """


class Prepare(Message, tag=15):
    """Device.prepare of the attached model or file; with a token, its cache files are attached behind it.

    launch: answer Launched first. num_threads: of a run, at most; 0: as many as the driver has. precision: None: the
    session's. without_passes: names of compiler passes to leave out. Answered by Prepared.
    """

    preference: str
    priority: str
    input_shapes: list[tuple[int | str, tuple[int, ...]]] | None = None
    keep: list[int | str] | None = None
    deadline: float | None = None
    token: bytes | None = None
    launch: bool = False
    num_threads: int = 0
    precision: str | None = None
    without_passes: list[str] = []


class CheckCache(Message, tag=16):
    """Device.cached of the attached files, for a model of this precision (None: the session's) without these compiler
    passes. Answered by Number."""

    token: bytes
    without_passes: list[str] = []
    precision: str | None = None


class Load(Message, tag=17):
    """What CheckCache made. num_threads: as of Prepare. Answered by Prepared."""

    number: int
    deadline: float | None = None
    launch: bool = False
    num_threads: int = 0


class Allocate(Message, tag=18):
    """Device.allocate. Answered by Allocated."""

    inputs: list[Use]
    outputs: list[Use]
    dims: tuple[int, ...]


class WriteBuffer(Message, tag=19):
    """Buffer.copy_from a pool; with None the buffer loses its value. Answered by BufferState."""

    number: int
    source: Pool | None
    dims: tuple[int, ...] = ()


class ReadBuffer(Message, tag=20):
    """Buffer.copy_to a pool. Answered by BufferState."""

    number: int
    target: Pool


class GetBuffer(Message, tag=21):
    """Answered by BufferState."""

    number: int


class Run(Message, tag=22):
    """PreparedModel.run, or stream.run, on arrays in the arena. Answered by Results.

    outputs: offsets for the results, where their shapes are known; call: number for Cancel, or 0.
    """

    prepared: int
    inputs: list[Place | None]
    outputs: list[int] | None = None
    stream: int = 0
    call: int = 0
    deadline: float | None = None


class Execute(Message, tag=23):
    """PreparedModel.execute. launch: answer Launched once the request is known to be good. Answered by Executed."""

    prepared: int
    inputs: list[Argument]
    outputs: list[Argument]
    pools: list[Pool]
    measure_timing: bool = False
    deadline: float | None = None
    loop_timeout: float | None = None
    launch: bool = False


class Fenced(Message, tag=24):
    """PreparedModel.execute_fenced; the attached descriptors are the fences. Answered by FencedLaunched."""

    prepared: int
    inputs: list[Argument]
    outputs: list[Argument]
    pools: list[Pool]
    measure_timing: bool = False
    deadline: float | None = None
    loop_timeout: float | None = None
    duration: float | None = None


class GetFencedInfo(Message, tag=25):
    """FencedExecution.info. Answered by FencedInfo."""

    number: int


class OpenStream(Message, tag=26):
    """PreparedModel.stream. Answered by Number."""

    prepared: int


class ResetStream(Message, tag=27):
    """Stream.reset. Answered by Done."""

    number: int


class Explain(Message, tag=28):
    """PreparedModel.explain. Answered by Explained."""

    prepared: int


class Store(Message, tag=29):
    """driver.cache.save of a prepared model in the attached files. Answered by Text: why nothing was stored, or ""."""

    prepared: int
    token: bytes


class OpenBurst(Message, tag=30):
    """PreparedModel.configure_burst; the files of the request queue are attached, then those of the result queue, then
    the memories of these slots, which the driver need not ask for.

    Answered by Number.
    """

    prepared: int
    requests: Queue
    results: Queue
    slots: list[int]
    memories: list[SharedMemory]


class FreeMemory(Message, tag=31):
    """Burst.free_memory. Answered by Done."""

    burst: int
    slot: int


class GetBurstError(Message, tag=32):
    """Burst.last_error. Answered by Text."""

    burst: int


# -- on the events connection, from the driver -------------------------------------------------------------------------
class LoadCache(Message, tag=33):
    """CheckCache and Load at once: the model of the attached files. Answered by Prepared."""

    token: bytes
    without_passes: list[str] = []
    precision: str | None = None
    deadline: float | None = None
    num_threads: int = 0


class GetMemories(Message, tag=60):
    """A request of a burst names these slots. Answered by Memories."""

    burst: int
    call: int
    slots: list[int]


# -- answers -----------------------------------------------------------------------------------------------------------
class Done(Message, tag=100):
    """Success without a result."""


class Failure(Message, tag=101):
    """An nnfast.Error: its status, its text, and the shapes of OutputInsufficientSize. cancelled: errors.Cancelled."""

    status: int
    text: str
    shapes: list[Shape] = []
    cancelled: bool = False


class Welcome(Message, tag=102):
    """Answer to Hello: the session, and a description of the device."""

    version: int
    session: int
    key: bytes
    pid: int
    driver: str
    num_threads: int
    precision: str | None
    connections: int
    extensions: list[tuple[str, list[ExtensionType]]]


class Launched(Message, tag=103):
    """The launch was accepted; the result follows on this connection."""


class Text(Message, tag=104):
    text: str


class Number(Message, tag=105):
    number: int


class Unsupported(Message, tag=106):
    reasons: list[tuple[int, str]]


class CapabilitiesReply(Message, tag=107):
    """driver.capabilities.Capabilities, each performance as (time, power)."""

    operands: list[tuple[int, float, float]]
    others: list[tuple[float, float]]
    source: str


class Prepared(Message, tag=108):
    """A prepared model. results: shapes of the outputs if every run has the same, else None.

    is_plain: as PreparedModel.is_plain.
    """

    number: int
    name: str
    operations: int
    priority: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    results: list[tuple[int, ...]] | None
    is_plain: bool = False


class Allocated(Message, tag=109):
    number: int
    type: int
    dtype: str
    is_scalar: bool
    dims: tuple[int, ...]


class BufferState(Message, tag=110):
    """Shape of a buffer's value, None if it has none."""

    shape: tuple[int, ...] | None


class Results(Message, tag=111):
    arrays: list[Result]
    took_us: int = 0


class Executed(Message, tag=112):
    """sizes: bytes of each output."""

    shapes: list[Shape]
    timing: tuple[int | None, int | None]
    sizes: list[int]


class FencedInfo(Message, tag=113):
    timings: list[tuple[int | None, int | None]]


class Explained(Message, tag=114):
    """driver.explain.Explanation as JSON, and whether all operations are native."""

    text: str
    native: bool


class FencedLaunched(Message, tag=116):
    """A fenced execution, whose fence is attached. sizes: bytes of each output."""

    number: int
    sizes: list[int]


class Stats(Message, tag=115):
    """Statistics of the server as JSON (docs/service.md)."""

    text: str


def _tagged(first, end):
    """Message classes with tags in [first, end)."""
    return tuple(kind for kind in Message.__subclasses__() if first <= kind.__struct_config__.tag < end)


ONE_WAY, CALLS, EVENTS, ANSWERS = _tagged(1, 10), _tagged(10, 60), _tagged(60, 100), _tagged(100, 256)


def _union(kinds):
    result = kinds[0]
    for kind in kinds[1:]:
        result = result | kind
    return result


FROM_CLIENT = msgspec.msgpack.Decoder(_union((*ONE_WAY, *CALLS)))
FROM_SERVER = msgspec.msgpack.Decoder(_union((*EVENTS, *ANSWERS)))
HELLO = msgspec.msgpack.Decoder(Hello)
