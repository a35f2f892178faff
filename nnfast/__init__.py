"""nnfast: a CPU driver for the Android Neural Networks HAL 1.0-1.3.

    device = nnfast.Device()
    prepared = device.prepare(nnfast.load("model.tflite"))
    outputs = prepared.run([x])

Importing loads numpy only: no threads, no files, no network; everything else comes when it is first used.
"""

from importlib import import_module

from .forks import importing
from .version import __version__

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


def __getattr__(name):
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'nnfast' has no attribute {name!r}") from None
    with importing:
        value = import_module(f".{module}", __name__)
    if attribute is not None:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
