"""Names for the annotations of the public face. Nothing else imports this at run time.

    def resize(image: nnfast.typed.Array) -> nnfast.typed.Array: ...

It imports nothing of the package, which may use it everywhere: classes of the package stand here as protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    Buffer = object

Array: TypeAlias = NDArray[Any]
"""A numpy array of any dtype."""


class HasArray(Protocol):
    """What numpy makes an array of."""

    def __array__(self, *args: Any, **options: Any) -> Any: ...


class HasDLPack(Protocol):
    """A tensor of another framework."""

    def __dlpack__(self, *args: Any, **options: Any) -> Any: ...


class HasScales(Protocol):
    """nnfast.model.types.ChannelQuant."""

    @property
    def dim(self) -> int: ...

    @property
    def scales(self) -> Sequence[float]: ...


class Extended(Protocol):
    """A type or an operation of an extension (nnfast.extensions)."""

    name: str
    id: int

    @property
    def extension(self) -> Any: ...


class SharedMemory(Protocol):
    """nnfast.Memory: bytes of a file, shared between processes."""

    kind: str
    size: int
    prot: int
    offset: int

    def fileno(self) -> int: ...

    def array(self) -> Array: ...

    def read(self, offset: int, length: int) -> Array: ...

    def write(self, offset: int, array: Array) -> None: ...


class DeviceBuffer(Protocol):
    """A buffer of a device, here or in a driver's process: what `allocate` returns."""

    token: int
    dims: tuple[int, ...]
    type: int
    dtype: DType
    is_scalar: bool

    @property
    def shape(self) -> tuple[int, ...] | None: ...

    def copy_from(self, source: Any, dims: Dims = ()) -> None: ...

    def copy_to(self, target: Any) -> None: ...

    def start_writing(self) -> None: ...


Tensor: TypeAlias = Array | HasArray | HasDLPack | Buffer
"""What `run` takes as an input."""
FilePath: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
Preference: TypeAlias = Literal["low_power", "fast_single_answer", "sustained_speed"]
Priority: TypeAlias = Literal["low", "medium", "high"]
Precision: TypeAlias = Literal["bf16"]
Version: TypeAlias = Literal["1.0", "1.1", "1.2", "1.3", "aidl2", "aidl3"]
Arithmetic: TypeAlias = Literal["litert", "nnapi"]
Dims: TypeAlias = Sequence[int]
"""Dimensions; 0 where one is not known."""
InputShapes: TypeAlias = Mapping[str, Dims] | Mapping[int, Dims] | Mapping[str | int, Dims]
"""{name or position of an input: its shape}."""
Keys: TypeAlias = Sequence[str | int]
"""Names or indexes of operands."""
OperandKind: TypeAlias = str | int | Extended
"""An operand type by its name, enumeration member or number, or one of an extension."""
OperationKind: TypeAlias = str | int | Extended
"""As OperandKind, of operations."""
ChannelScales: TypeAlias = HasScales | tuple[int, Sequence[float]]
"""Dimension and scales of a tensor quantized by channels."""
Pool: TypeAlias = Buffer | SharedMemory | DeviceBuffer
"""What a request's arguments lie in."""
Method = TypeVar("Method", bound=Callable[..., Any])
DType: TypeAlias = np.dtype[Any]


class TensorDescription(Protocol):
    """nnfast.TensorInfo: an input or output of a prepared model."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...] | None: ...

    @property
    def dtype(self) -> DType: ...

    @property
    def type(self) -> int: ...

    @property
    def scale(self) -> float: ...

    @property
    def zero_point(self) -> int: ...

    @property
    def channel_axis(self) -> int | None: ...

    @property
    def channel_scales(self) -> tuple[float, ...]: ...

    @property
    def operand(self) -> int: ...

    @property
    def scales(self) -> tuple[float, ...]: ...

    @property
    def zero_points(self) -> tuple[int, ...]: ...

    @property
    def axis(self) -> int | None: ...

    @property
    def is_quantized(self) -> bool: ...

    def quantize(self, values: ArrayLike) -> Array: ...

    def dequantize(self, codes: ArrayLike) -> NDArray[np.float32]: ...


class StateStream(Protocol):
    """A stream of a prepared model, here or in a driver's process: runs that carry state from one to the next."""

    def reset(self) -> None: ...

    def run(self, inputs: Sequence[Tensor | None], out: Sequence[Array] | None = None) -> list[Array]: ...


class Preparing(Protocol):
    """A device, of this process or of a driver's: what nnfast.Device and the device of nnfast.connect both have.

    Models are nnfast.Model, roles nnfast.Role, caches nnfast.CacheFiles, capabilities nnfast.driver.capabilities'.
    """

    @property
    def num_threads(self) -> int: ...

    @property
    def precision(self) -> Precision | None: ...

    @property
    def without_passes(self) -> frozenset[str]: ...

    @property
    def extensions(self) -> Mapping[str, Any]: ...

    @property
    def version(self) -> str: ...

    @property
    def is_available(self) -> bool: ...

    @property
    def capabilities(self) -> Any: ...

    def check(self, model: Any, newest: Version = ...) -> Version: ...

    def supported_operations(self, model: Any) -> list[bool]: ...

    def unsupported_reasons(self, model: Any) -> dict[int, str]: ...

    def prepare(self, model: Any, preference: Preference = ..., priority: Priority = ...,
                input_shapes: InputShapes | None = None, keep: Keys | None = None, deadline: float | None = None,
                cache_dir: FilePath | None = None, cache: Any = None, token: bytes | None = None) -> Prepared: ...

    def submit_prepare(self, model: Any, done: Callable[[Prepared | None, Exception | None], object], *,
                       preference: Preference = ..., priority: Priority = ..., deadline: float | None = None,
                       cache: Any = None, token: bytes | None = None) -> None: ...

    def prepare_from_cache(self, cache: Any, token: bytes, deadline: float | None = None) -> Prepared: ...

    def cached(self, cache: Any, token: bytes) -> Callable[[float | None], Prepared]: ...

    def submit_load(self, load: Any, done: Callable[[Prepared | None, Exception | None], object],
                    deadline: float | None = None) -> None: ...

    def allocate(self, input_roles: Sequence[Any] = (), output_roles: Sequence[Any] = (),
                 dims: Dims = ()) -> DeviceBuffer: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Prepared(Protocol):
    """A prepared model, of this process or of a driver's: what nnfast.PreparedModel and those of a device of
    nnfast.connect both have.

    What a method returns and is Any here has the class that nnfast.PreparedModel names. model: the nnfast.Model, None
    for one that a driver's process took from a cache.
    """

    @property
    def device(self) -> Preparing: ...

    @property
    def num_threads(self) -> int: ...

    @property
    def priority(self) -> Priority: ...

    @property
    def inputs(self) -> tuple[TensorDescription, ...]: ...

    @property
    def outputs(self) -> tuple[TensorDescription, ...]: ...

    @property
    def model(self) -> Any: ...

    @property
    def whole(self) -> Any: ...

    @property
    def is_plain(self) -> bool: ...

    @property
    def result_shapes(self) -> Sequence[tuple[int, ...]] | None: ...

    def narrowed(self, num_threads: int) -> Prepared: ...

    @overload
    def run(self, inputs: Sequence[Tensor | None], out: Sequence[Array] | None = None, quantize: bool = False,
            dequantize: bool = False) -> list[Array]: ...

    @overload
    def run(self, inputs: dict[str, Any], out: dict[str, Any] | None = None, quantize: bool = False,
            dequantize: bool = False) -> dict[str, Array]: ...

    def perform(self, arrays: list[Array], limits: Any) -> list[Array]: ...

    def submit(self, inputs: Sequence[Tensor | None] | dict[str, Any], timeout: float | None = None) -> Future[Any]: ...

    def map(self, inputs: Iterable[Any] | Mapping[str, Any], batch: int = 1, clients: int | None = None,
            ahead: int | None = None, prepare: Callable[[Any], Any] | None = None,
            errors: Literal["raise", "return"] = "raise") -> Any: ...

    def stream(self) -> StateStream: ...

    def signature(self, key: str | None = None, stream: Any = None) -> Any: ...

    def execute(self, request: Any, measure_timing: bool = False, deadline: float | None = None,
                loop_timeout: float | None = None) -> Any: ...

    def submit_request(self, request: Any, done: Callable[[Any, Exception | None], object], *,
                       measure_timing: bool = False, deadline: float | None = None,
                       loop_timeout: float | None = None) -> None: ...

    def execute_fenced(self, request: Any, wait_for: Sequence[Any] = (), measure_timing: bool = False,
                       deadline: float | None = None, loop_timeout: float | None = None,
                       duration: float | None = None) -> Any: ...

    def burst(self, capacity: int = 1024, spin_us: int | None = None) -> Any: ...

    def configure_burst(self, get_memories: Callable[[list[int]], list[Any]], requests: Any, results: Any, *,
                        memories: Mapping[int, Any] | None = None) -> Any: ...

    def explain(self) -> Any: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...
