"""A folder of compiled models (`cache_dir`): two files each, named by a digest of what was compiled.

Folder and files must belong to the current user and be writable by nobody else; their content is then checked like that
of any client's files.
"""

import os
import threading
import warnings
from contextlib import suppress

import numpy as np

from .. import vlog
from .._native import kernels
from ..checks import path, shown
from ..errors import GeneralFailure, ResourceExhaustedTransient
from ..model import proof
from ..model.records import Constants, encode, record_of
from . import key
from .arguments import plain_keys, plain_shapes
from .cache_files import CacheFiles, version_string
from .own_files import OwnFolder

CALLER = 4
"""Frames from prepare_in up to the caller of Device.prepare."""


def prepare_in(folder, device, model, options, make, load, store):
    """Load a prepared model from the folder, or prepare it now and store it there.

    An unusable file is replaced; of an unusable folder the caller is warned. make() prepares the model, load(files,
    token) takes it from files; store(prepared, files, token): as cache.save. Raises InvalidArgument if `folder` is no
    path.
    """
    folder = path(folder, "prepare cache_dir:")
    origin = proof.origin_of(model)
    try:
        token = _token(model, origin, options, device)
    except (TypeError, ValueError, AttributeError, OverflowError):
        device.check(model)  # raises if the model is what is wrong
        raise
    try:
        with OwnFolder(folder) as own, _open(own, token) as files:
            return load(files, token)
    except FileNotFoundError:
        pass
    except (OSError, GeneralFailure, ResourceExhaustedTransient) as error:
        vlog.log(vlog.COMPILATION, "%s: %s", folder, error)
    prepared = make()
    try:
        with OwnFolder(folder, make=True) as own:
            _store(own, token, prepared, store)
    except OSError as error:
        warnings.warn(f"prepare cache_dir: {shown(folder)}: the compiled model is not kept, the next process compiles "
                      f"it again: {error.strerror or error}", RuntimeWarning, CALLER)
    return prepared


def _names(token):
    return [f"{token.hex()}.{kind}" for kind in ("model", "data")]


class _Opened:
    """CacheFiles that are closed at the end of a `with`."""

    def __init__(self, opens):
        self._open = []
        try:
            for open_ in opens:
                self._open.append(open_())
        except OSError:
            self.__exit__()
            raise

    def __enter__(self):
        model, data = self._open
        return CacheFiles((model,), (data,))

    def __exit__(self, *error):
        for descriptor in self._open:
            os.close(descriptor)


def _open(own, token):
    return _Opened([lambda name=name: own.open(name) for name in _names(token)])


def _store(own, token, prepared, store):
    names = _names(token)
    fresh = [f"{name}.{os.getpid()}.{threading.get_ident()}" for name in names]
    try:
        with _Opened([lambda name=name: own.create(name) for name in fresh]) as files:
            refusal = store(prepared, files, token)
        if not refusal:
            for name, made in reversed(list(zip(names, fresh))):
                own.replace(name, made)  # data first: a model file's data must never be older than itself
    finally:
        for name in fresh:
            with suppress(FileNotFoundError):
                own.remove(name)


def _token(model, origin, options, device):
    """32-byte digest of everything that a compilation depends on: model, options, precision, passes, version and
    instruction level. origin: that of the model (model/proof.py); None: what the model is made of identifies it."""
    preference, priority, shapes, keep = options
    digest = key.digest()
    if origin is not None:
        described, arrays = origin.options, [origin.data]
    else:
        constants = Constants()
        described, arrays = record_of(model, constants), constants.arrays
    text = encode([described, preference, priority, list(plain_shapes(shapes).items()),
                   plain_keys(keep), device.precision, sorted(device.without_passes), version_string(), kernels.level(),
                   [digest.of(np.frombuffer(flat, np.uint8), device.num_threads) for flat in arrays]])
    return digest.of(text)
