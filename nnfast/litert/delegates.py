"""LiteRT's kernel choices and delegates. nnfast has one set of kernels, whatever is chosen."""

from __future__ import annotations

from enum import Enum, unique
from typing import TYPE_CHECKING

from ..checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_DELEGATES = ("nnfast runs every operator with its own CPU kernels and cannot load TFLite delegates; run the model "
                "without one")


@unique
class OpResolverType(Enum):
    """LiteRT's kernel choices. Here all of them give the results of its reference kernels (BUILTIN_REF)."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


class Delegate:
    """A delegate from a shared library: always raises ValueError, as LiteRT does for a library without one."""

    def __init__(self, library: str, options: Mapping[str, str] | None = None) -> None:
        raise ValueError(NO_DELEGATES)


def load_delegate(library: str, options: Mapping[str, str] | None = None) -> Delegate:
    """Always raises ValueError, after which programs usually continue without a delegate."""
    raise ValueError(f"Failed to load delegate from {shown(library)}\n{NO_DELEGATES}")
