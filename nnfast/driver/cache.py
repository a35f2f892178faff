"""Compilation caching (hal.md 7): a model file with the plan and a data file with its constants.

Model file: magic, SHA-256 of the rest, then JSON: versions, token, options, plan or model, and length, checksum and
layout of the data file. Data file: magic, the SHA-256 of the plan it belongs to, then the arrays, each at a multiple of
64 bytes. A file is believed only as a private copy, or as a mapping that nobody can shrink or write (a sealed memfd, or
a file in a folder of ours), and only after its digest was checked on what will be used.
"""

import fcntl
import hashlib
import json
import mmap
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import prod
from numbers import Integral

import numpy as np

from .. import trace, vlog
from .._native import kernels
from .._native.checksum import checksum, read
from .._native.plan import aligned_bytes
from ..compiler.check import has_open_form
from ..compiler.plan_file import (
    Arrays,
    can_store_plan,
    model_to_text,
    plan_to_text,
    restore_model,
    restore_plan,
)
from ..errors import Error, GeneralFailure, InvalidArgument
from ..version import __version__
from .prepared import PreparedModel

TOKEN_BYTES = 32
MODEL_FILES, DATA_FILES = 1, 1
FORMAT = 3
_MODEL_MAGIC, _DATA_MAGIC = b"NNFMODEL", b"NNFDATA\0"
_LINE = 64
_SHORTER = "a file is shorter than when it was stored"
_MOST_DESCRIPTORS = (1 << 31) - 1
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW


@dataclass(frozen=True, slots=True)
class CacheFiles:
    """Open descriptors of the cache files, as the client passes them: model and data, one of each.

    owned: nobody else writes these files, so that the data may be used where it lies.
    """

    model: tuple
    data: tuple
    owned: bool = False


@cache
def version_string():
    """Version of the driver, which changes with whatever may change compiled models or results (hal.md 3.4)."""
    names = "\n".join(sorted(row["name"] for row in kernels.table()))
    return f"nnfast {__version__} {hashlib.sha256(names.encode()).hexdigest()[:12]}"


# -- saving ------------------------------------------------------------------------------------------------------------
def save(prepared, files, token):
    """Store a prepared model. Never raises for bad files: returns "" or why nothing was stored (hal.md 7.2).

    Whatever the files held cannot be loaded afterwards, unless it was stored anew.
    """
    try:
        model, data = descriptors_of(files)
        check_token(token)
        for descriptor in (model, data):
            os.ftruncate(descriptor, 0)
        head, arrays = _text_of(prepared, token)
        head["plan_digest"] = hashlib.sha256(json.dumps(head).encode()).hexdigest()
        head |= _write_data(data, bytes.fromhex(head["plan_digest"]), arrays)
        text = json.dumps(head, separators=(",", ":")).encode()
        _write(model, 0, [_MODEL_MAGIC, hashlib.sha256(text).digest(), text])
    except (OSError, InvalidArgument, TypeError) as error:
        vlog.tell(vlog.COMPILATION, "compilation cache: not stored: %s", error)
        return str(error)
    if vlog.mask & vlog.COMPILATION:
        vlog.tell(vlog.COMPILATION, "compilation cache: stored %r, %s, data of %d bytes", prepared,
                  "plan" if head["plan"] else "model without plan", head["data_length"])
    return ""


def _text_of(prepared, token):
    """(what the model file says, its arrays) of a prepared model."""
    arrays = Arrays()
    segment = prepared._static
    # A request that omits an optional input calls for a plan of its own, which needs the whole model.
    plan = can_store_plan(segment) and not prepared._original.extensions and not has_open_form(prepared.model)
    preference, priority, input_shapes, keep = prepared._options
    head = {
        "format": FORMAT, "driver": version_string(), "level": kernels.level(), "precision": prepared.device.precision,
        "token": token.hex(), "preference": preference, "priority": priority,
        "model": model_to_text(prepared.model if plan else prepared._original, arrays, constants=not plan),
        "plan": plan_to_text(segment, arrays) if plan else None,
        "input_shapes": None if input_shapes is None else [[key, list(shape)] for key, shape in input_shapes.items()],
        "keep": None if keep is None else list(keep),
    }
    return head, arrays.items


def _layout(arrays):
    """[(offset, dtype, shape)] of arrays in a data file, and its length."""
    at, rows = _LINE, []
    for array in arrays:
        rows.append([at, array.dtype.str, list(array.shape)])
        at += (array.nbytes + _LINE - 1) // _LINE * _LINE
    return rows, at


def _write_data(descriptor, digest, arrays):
    rows, length = _layout(arrays)
    content = aligned_bytes(length)
    content[:_LINE] = 0
    content[:len(_DATA_MAGIC) + len(digest)] = np.frombuffer(_DATA_MAGIC + digest, np.uint8)
    for (offset, _, _), array in zip(rows, arrays):
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        content[offset:offset + flat.nbytes] = flat
        content[offset + flat.nbytes:offset + (flat.nbytes + _LINE - 1) // _LINE * _LINE] = 0
    _write(descriptor, 0, [content])
    return {"data_length": length, "data_checksum": checksum(content), "arrays": rows}


def _write(descriptor, at, parts):
    for part in parts:
        view = memoryview(part).cast("B")
        while view.nbytes:
            count = os.pwrite(descriptor, view, at)
            at += count
            view = view[count:]


# -- loading -----------------------------------------------------------------------------------------------------------
def check(device, files, token):
    """Check and take over the content of cache files; see Device.cached."""
    model, data = descriptors_of(files)
    check_token(token)

    def content(length):
        return _read_data(data, length, files.owned, device.num_threads)

    return _checked(device, lambda: _read(model, os.fstat(model).st_size), content, token)


def from_memory(device, model, data, token):
    """The same from the bytes of the model file and the array of the data file, as a pickle brings them."""
    aligned = aligned_bytes(data.nbytes)
    aligned[:] = data
    return _checked(device, lambda: model, lambda length: (aligned, checksum(aligned, device.num_threads)), token)(None)


def _checked(device, read_model, read_data, token):
    with trace.span("LD", "PC", "check cache"), _refusing():
        raw = read_model()
        head = _read_head(raw)
        _check_head(head, device, token)
        content, found = read_data(head["data_length"])
        start = _DATA_MAGIC + bytes.fromhex(head["plan_digest"])
        if content.nbytes != head["data_length"] or bytes(content[:len(start)]) != start:
            raise _Unusable("the data file does not hold the constants of this model")
        if found != head["data_checksum"]:
            raise _Unusable("the data file is damaged")

    @vlog.telling(vlog.COMPILATION, "compilation cache")
    def load(deadline=None):
        with trace.span("LD", "PC", "restore"), _refusing():
            return _restore(device, head, content, deadline, (raw, content, bytes(token)))

    return load


@contextmanager
def _refusing():
    """Whatever files can be wrong in is one error to the client."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise GeneralFailure(f"compilation cache: cannot be read: {error}") from None
    except (_Unusable, ValueError, KeyError, TypeError, IndexError, AttributeError, ImportError) as error:
        raise GeneralFailure(f"compilation cache: {error}; prepare the model from its source") from None


class _Unusable(Exception):
    """The files are not what they should be."""


def _read_head(raw):
    start = len(_MODEL_MAGIC) + 32
    if len(raw) < start or raw[:len(_MODEL_MAGIC)] != _MODEL_MAGIC:
        raise _Unusable("the model file holds no compiled model")
    if hashlib.sha256(raw[start:]).digest() != raw[len(_MODEL_MAGIC):start]:
        raise _Unusable("the model file is damaged")
    return json.loads(raw[start:])


def _check_head(head, device, token):
    for what, got, wanted in (("format", head["format"], FORMAT), ("driver", head["driver"], version_string()),
                              ("instruction level", head["level"], kernels.level()),
                              ("precision", head["precision"], device.precision),
                              ("token", bytes.fromhex(head["token"]), bytes(token))):
        if got != wanted:
            raise _Unusable(f"it was stored with another {what}" + (f": {got}" if what != "token" else ""))


def _read(descriptor, size):
    """The first `size` bytes of a file, in memory of our own."""
    raw = np.empty(size, np.uint8)
    if read(descriptor, raw) is None:
        raise _Unusable(_SHORTER)
    return raw.tobytes()


def _read_data(descriptor, length, owned, threads):
    """(data file as a read-only uint8 array that nobody can pull away, its checksum)."""
    size = os.fstat(descriptor).st_size
    if size != length:
        raise _Unusable(f"the data file has {size} bytes, {length} were stored")
    if owned or _sealed(descriptor):
        content = np.frombuffer(mmap.mmap(descriptor, length, mmap.MAP_PRIVATE | mmap.MAP_POPULATE, mmap.PROT_READ),
                                np.uint8)
        found = checksum(content, threads)
    else:
        content = aligned_bytes(length)
        found = read(descriptor, content, threads)
        if found is None:
            raise _Unusable(_SHORTER)
    content.flags.writeable = False
    return content, found


def _sealed(descriptor):
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & _SEALS == _SEALS
    except OSError:
        return False


def _restore(device, head, content, deadline, stored):
    arrays = []
    for offset, dtype, shape in head["arrays"]:
        dtype = np.dtype(dtype)
        nbytes = prod(shape) * dtype.itemsize
        if offset % _LINE or not _LINE <= offset <= offset + nbytes <= content.nbytes:
            raise _Unusable("an array lies outside the data file")
        arrays.append(content[offset:offset + nbytes].view(dtype).reshape(shape))
    model = restore_model(head["model"], arrays)
    plan = None
    if head["plan"] is not None:
        def plan(resources):
            return restore_plan(head["plan"], arrays, resources)
    shapes = head["input_shapes"]
    options = (head["preference"], head["priority"],
               None if shapes is None else {key: tuple(shape) for key, shape in shapes}, head["keep"])
    return PreparedModel.restored(device, model, options, deadline, plan, stored)


# -- a folder of compiled models ---------------------------------------------------------------------------------------
def prepare_in(folder, device, model, options, deadline, make, store):
    """A prepared model from the folder, or prepared now and stored there for the next time.

    A file that does not hold what it should is replaced; a folder that cannot be used is logged and ignored. make()
    prepares the model, store(prepared, files, token) is as `save`.
    """
    device.check(model)
    token = _key(model, options, device.precision)
    paths = [os.path.join(folder, f"{token.hex()}.{kind}") for kind in ("model", "data")]
    try:
        with _Opened(paths, os.O_RDONLY) as files:
            load = device.cached(files, token)
        return load(deadline)
    except FileNotFoundError:
        pass
    except (OSError, GeneralFailure) as error:
        vlog.tell(vlog.COMPILATION, "%s: %s", folder, error)
    prepared = make()
    fresh = [f"{path}.{os.getpid()}.{threading.get_ident()}" for path in paths]
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _Opened(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL) as files:
            refusal = store(prepared, files, token)
        for path, made in reversed(list(zip(paths, fresh))):
            if refusal:
                os.unlink(made)
            else:
                os.replace(made, path)  # the data first: a model file always finds data that is at least as new
    except OSError as error:
        vlog.tell(vlog.COMPILATION, "%s: compiled model not stored: %s", folder, error)
    return prepared


class _Opened:
    """Model and data file, open as CacheFiles of ours inside a `with`."""

    def __init__(self, paths, flags):
        self._paths, self._flags, self._open = paths, flags, []

    def __enter__(self):
        try:
            for path in self._paths:
                self._open.append(os.open(path, self._flags | os.O_CLOEXEC, 0o600))
        except OSError:
            self.__exit__()
            raise
        return CacheFiles((self._open[0],), (self._open[1],), owned=True)

    def __exit__(self, *error):
        for descriptor in self._open:
            os.close(descriptor)


def _key(model, options, precision):
    """32 bytes that tell one compilation from any other: model, options, precision, version and instruction level."""
    arrays = Arrays()
    text = json.dumps([model_to_text(model, arrays, constants=True), repr(options), precision, version_string(),
                       kernels.level(),
                       [checksum(np.ascontiguousarray(a).reshape(-1).view(np.uint8)) for a in arrays.items]])
    return hashlib.sha256(text.encode()).digest()


# -- arguments ---------------------------------------------------------------------------------------------------------
def descriptors_of(files):
    """(model descriptor, data descriptor). Raises InvalidArgument for a wrong number, and for what are none."""
    if not isinstance(files, CacheFiles):
        raise InvalidArgument(f"compilation cache: is {type(files).__name__}, must be an nnfast.CacheFiles")
    for name, given, wanted in (("model", files.model, MODEL_FILES), ("data", files.data, DATA_FILES)):
        if not isinstance(given, tuple | list):
            raise InvalidArgument(f"compilation cache: the {name} files are {type(given).__name__}, must be a tuple "
                                  f"of open descriptors")
        if len(given) != wanted:
            raise InvalidArgument(f"compilation cache: got {len(given)} {name} files, must be {wanted}")
        for place, descriptor in enumerate(given):
            if isinstance(descriptor, bool) or not isinstance(descriptor, Integral) or \
                    not -_MOST_DESCRIPTORS <= descriptor <= _MOST_DESCRIPTORS:
                raise InvalidArgument(f"compilation cache: {name} file {place} is {descriptor!r}, must be the number "
                                      f"of an open descriptor")
    return int(files.model[0]), int(files.data[0])


def check_token(token):
    """Refuse what is no token."""
    if not isinstance(token, bytes | bytearray) or len(token) != TOKEN_BYTES:
        got = f"{len(token)} bytes" if isinstance(token, bytes | bytearray) else f"a {type(token).__name__}"
        raise InvalidArgument(f"compilation cache: the token is {got}, must be {TOKEN_BYTES} bytes")
