"""nnfast: a CPU driver for the Android Neural Networks HAL 1.0-1.3.

    device = nnfast.Device()
    prepared = device.prepare(nnfast.load("model.tflite"))
    outputs = prepared.run([x])

Importing loads numpy only: no threads, no files, no network; everything else comes when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .forks import importing
from .version import __version__

if TYPE_CHECKING:  # what type checkers and editors know of the names below
    from . import conformance as conformance
    from . import errors as errors
    from . import extensions as extensions
    from . import fmq as fmq
    from . import hal as hal
    from . import litert as litert
    from . import tflite as tflite
    from . import trace as trace
    from . import vlog as vlog
    from .driver.buffers import Buffer as Buffer
    from .driver.buffers import Role as Role
    from .driver.cache_files import CacheFiles as CacheFiles
    from .driver.client import Client as Client
    from .driver.device import Device as Device
    from .driver.fence import Fence as Fence
    from .driver.mapping import FailedItem as FailedItem
    from .driver.memory import Memory as Memory
    from .driver.prepared import PreparedModel as PreparedModel
    from .driver.profile import profile as profile
    from .driver.request import Request as Request
    from .driver.request import RequestArgument as RequestArgument
    from .driver.tensors import TensorInfo as TensorInfo
    from .errors import DeadObject as DeadObject
    from .errors import Error as Error
    from .errors import InvalidArgument as InvalidArgument
    from .errors import UnsupportedOperator as UnsupportedOperator
    from .litert import Interpreter as Interpreter
    from .model.builder import ModelBuilder as ModelBuilder
    from .model.types import Model as Model
    from .model.types import OperandType as OperandType
    from .model.types import OperationType as OperationType
    from .service import connect as connect
    from .tflite import load as load
    from .tflite.export import to_tflite as to_tflite

_LAZY = {
    "Device": ("driver.device", "Device"), "PreparedModel": ("driver.prepared", "PreparedModel"),
    "Request": ("driver.request", "Request"), "RequestArgument": ("driver.request", "RequestArgument"),
    "profile": ("driver.profile", "profile"), "Fence": ("driver.fence", "Fence"), "Memory": ("driver.memory", "Memory"),
    "CacheFiles": ("driver.cache_files", "CacheFiles"), "Buffer": ("driver.buffers", "Buffer"),
    "FailedItem": ("driver.mapping", "FailedItem"),
    "TensorInfo": ("driver.tensors", "TensorInfo"),
    "Role": ("driver.buffers", "Role"), "Client": ("driver.client", "Client"),
    "Model": ("model.types", "Model"), "ModelBuilder": ("model.builder", "ModelBuilder"),
    "OperandType": ("model.types", "OperandType"), "OperationType": ("model.types", "OperationType"),
    "Interpreter": ("litert", "Interpreter"), "litert": ("litert", None),
    "load": ("tflite", "load"),
    "to_tflite": ("tflite.export", "to_tflite"), "vlog": ("vlog", None), "trace": ("trace", None),
    "tflite": ("tflite", None), "conformance": ("conformance", None), "hal": ("hal", None), "errors": ("errors", None),
    "extensions": ("extensions", None), "fmq": ("fmq", None),
    "connect": ("service", "connect"), "DeadObject": ("errors", "DeadObject"),
    "Error": ("errors", "Error"), "InvalidArgument": ("errors", "InvalidArgument"),
    "UnsupportedOperator": ("errors", "UnsupportedOperator"),
}

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'nnfast' has no attribute {name!r}") from None
    with importing:
        try:
            value = import_module(f".{module}", __name__)
        except ModuleNotFoundError as error:
            from .extras import missing

            raise missing(error.name or "") or error from None
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
