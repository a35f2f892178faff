"""The public face of the package: its modules, and the functions and classes in them, for tests that walk them all."""

import inspect
from importlib import import_module

MODULES = ("nnfast", "nnfast.conformance", "nnfast.distributed", "nnfast.errors", "nnfast.extensions", "nnfast.fmq",
           "nnfast.fuzz", "nnfast.hal.convert", "nnfast.hal.types", "nnfast.hal.utils", "nnfast.hal.v1_0",
           "nnfast.hal.v1_1", "nnfast.hal.v1_2", "nnfast.hal.v1_3", "nnfast.hal.validate", "nnfast.litert",
           "nnfast.stress", "nnfast.tflite", "nnfast.trace", "nnfast.typed", "nnfast.vlog")
"""Modules that programs import; the names that count are those of `__all__`, or all without an underscore."""
RETURNED = ("nnfast.driver.stream.Stream", "nnfast.driver.submit.Execution", "nnfast.driver.controller.Controller",
            "nnfast.driver.mapping.Results", "nnfast.driver.explain.Explanation",
            "nnfast.driver.request.ExecutionResult", "nnfast.driver.fenced.FencedExecution",
            "nnfast.driver.signature.SignatureRunner",
            "nnfast.hal.burst.BurstContext", "nnfast.hal.burst.ExecutionBurstController",
            "nnfast.service.client.device.RemoteDevice", "nnfast.stress.suite.Models", "nnfast.stress.suite.Provoked",
            "nnfast.trace.Recorder")
"""Classes of what public calls return."""


def public():
    """{path: function or class} of the whole face; a name that several modules show is there once."""
    found = {}
    for name in MODULES:
        if name == "nnfast.distributed":
            try:
                module = import_module(name)
            except ImportError:  # without the extra
                continue
        else:
            module = import_module(name)
        shown = getattr(module, "__all__", None) or [n for n, value in vars(module).items() if not n.startswith("_")
                                                      and getattr(value, "__module__", "") == name]
        for short in shown:
            value = getattr(module, short)
            if (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__.startswith("nnfast"):
                found.setdefault(f"{value.__module__}.{value.__qualname__}", value)
    for path in RETURNED:
        module, _, short = path.rpartition(".")
        found.setdefault(path, getattr(import_module(module), short))
    return found


def functions(thing):
    """(name, function, is a property) of a function, or of what a class and its bases in nnfast show."""
    if not inspect.isclass(thing):
        yield thing.__name__, inspect.unwrap(thing), False
        return
    seen = set()
    for kind in thing.__mro__:
        if not kind.__module__.startswith("nnfast"):
            continue
        for name, member in vars(kind).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            shown = not name.startswith("_") or name in ("__init__", "__call__", "__enter__", "__exit__")
            made = inspect.isfunction(function) and getattr(function, "__module__", "").startswith("nnfast")
            if made and shown and name not in seen:
                seen.add(name)
                yield f"{kind.__name__}.{name}", inspect.unwrap(function), isinstance(member, property)
