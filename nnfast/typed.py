"""Names for the annotations of the public face. Nothing else imports this at run time.

    def resize(image: nnfast.typed.Array) -> nnfast.typed.Array: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .driver.buffers import Buffer as DriverBuffer
from .driver.memory import Memory
from .extensions import Operation, Type
from .model.types import ChannelQuant

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
OperandKind: TypeAlias = str | int | Type
"""An operand type by its name, enumeration member or number, or one of an extension."""
OperationKind: TypeAlias = str | int | Operation
"""As OperandKind, of operations."""
ChannelScales: TypeAlias = ChannelQuant | tuple[int, Sequence[float]]
"""Dimension and scales of a tensor quantized by channels."""
Pool: TypeAlias = Buffer | Memory | DriverBuffer
"""What a request's arguments lie in."""
Method = TypeVar("Method", bound=Callable[..., Any])
DType: TypeAlias = np.dtype[Any]
