"""LiteRT's kernel choices and delegates. nnfast has one set of kernels, whatever is chosen, and can be a delegate."""

from __future__ import annotations

from enum import Enum, unique
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..checks import shown
from ..errors import InvalidArgument, MissingPackage
from ..forks import importing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LIBRARY = Path(__file__).resolve().parents[1] / "lib" / "libnnfast_delegate.so"
RUNTIMES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "tensorflow.lite.experimental")
"""Modules with load_delegate, in the order in which they are looked for."""

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


def delegate(**options: Any) -> Any:
    """nnfast as a delegate of the LiteRT that is installed: what its load_delegate returns (docs/delegate.md).

        import ai_edge_litert.interpreter as tflite

        interpreter = tflite.Interpreter("model.tflite", experimental_delegates=[nnfast.litert.delegate()])

    options: device "nnfast" or "nnapi-reference"; num_threads of a run, 0 for as many as the driver has; precision
    "exact" or "bf16"; priority "low", "medium" or "high"; cache_dir: a folder for what is compiled; allow_fallback:
    False refuses models that nnfast does not run as a whole. None: as if not given.

    Of ai-edge-litert, tflite-runtime and tensorflow the first is taken. Raises MissingPackage if there is none,
    InvalidArgument if the library was not built, and ValueError, from LiteRT, for options that are not known.
    """
    if not LIBRARY.exists():
        raise InvalidArgument(f"{LIBRARY}: is not there; build it with python setup.py build_ext --inplace, or install "
                              f"nnfast")
    given = {name: value for name, value in options.items() if value is not None}
    return _load_delegate()(str(LIBRARY), given)


def _load_delegate():
    """load_delegate of the first runtime."""
    for name in RUNTIMES:
        try:
            with importing:
                return import_module(name).load_delegate
        except ModuleNotFoundError as error:
            if error.name and not name.startswith(error.name):
                raise
    raise MissingPackage("delegate: needs a LiteRT to be a delegate of; pip install ai-edge-litert")
