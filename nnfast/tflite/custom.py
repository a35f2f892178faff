"""Registry of third-party custom operators: the extension operation that each one in `.tflite` files becomes.

    double = Operation("DOUBLE", 0, "x:T -> y:T", {"T": ["TENSOR_FLOAT32"]},
                       infer=lambda node: [node["x"].shape], run=lambda node, inputs: [inputs[0] * 2])
    nnfast.extensions.register(Extension("com.example.double", operations=[double]))
    nnfast.tflite.register("Double", double)

docs/extensions.md describes how to write operations; they may call native code.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..checks import called, shown, text
from ..errors import InvalidArgument
from ..model.types import Definition
from . import own
from .translate import extension, translation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .. import typed

_registered = {}


def register(name: str, operation: typed.Extended, parameters: Callable[[bytes], Iterable[Any]] | None = None) -> None:
    """Register an operation for the custom operator of this name, so that files with it can be loaded.

    operation: nnfast.extensions.Operation of a registered Extension; its inputs are the operator's tensors, followed by
    the parameters. parameters: function from the operator's custom_options (bytes) to a list of ints, floats and bools,
    which become INT32, FLOAT32 and BOOL scalars; it raises ValueError for invalid options. None: no parameters.
    Raises InvalidArgument if the name is taken.
    """
    text(name, "register: name")
    if not isinstance(operation, Definition) or getattr(operation, "extension", None) is None:
        raise InvalidArgument(f"register {shown(name)}: operation is {shown(operation)}, must be an "
                              "extensions.Operation that is part of an Extension")
    if parameters is not None:
        called(parameters, f"register {shown(name)}: parameters")
    if translation(name) is not None or extension(name) is not None:
        raise InvalidArgument(f"register: custom operator {shown(name)} is known already")
    own.EXTENDED[name] = _registered[name] = partial(_translate, operation=operation, parameters=parameters)


def unregister(name: str) -> None:
    """Remove a registered custom operator. Unknown names are ignored."""
    if _registered.pop(text(name, "unregister: name"), None) is not None:
        del own.EXTENDED[name]


def _translate(b, op, operation, parameters):
    try:
        values = [] if parameters is None else list(parameters(op.options))
    except ValueError as error:
        b.refuse(op, f"custom_options: {error}")
    own.translate(b, op, operation, [own.scalar(b, op, value) for value in values])
