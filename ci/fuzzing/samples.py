"""Valid inputs to begin with: those of the tests."""

import os
import sys
from importlib import import_module
from pathlib import Path

import nnfast
from nnfast.service.wire import models as model_format

TOKEN = bytes(32)


def _helper(name):
    """A module of tests/helpers."""
    path = str(Path(__file__).resolve().parents[2] / "tests")
    if path not in sys.path:
        sys.path.append(path)
    return import_module(f"helpers.{name}")


def tflite_files():
    """Small .tflite files that between them hold every kind of table."""
    return list(_helper("tflite.samples").samples().values())


def signed_mutations():
    """The module of the tests that changes what is signed."""
    return _helper("signed_mutations")


def stored_models():
    """(content of the model file, data file) of small compiled models."""
    module = signed_mutations()
    for model in module.models():
        made = module.Mutator(nnfast.Device(num_threads=1), model)
        yield bytes(made.head), bytes(made.data)


def packed_model(model):
    """Bytes of a model as the service takes it."""
    fd = model_format.pack(model)
    try:
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)
