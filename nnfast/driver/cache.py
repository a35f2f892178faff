"""Compilation caching [NN 7]: prepared models stored in a client's files, or in a folder.

Files are read into private memory, or mapped if nobody can shrink or write them any more (sealed memfds), and checked
there, so that what is used is what was checked. stored_model.py describes their content.
"""

import mmap
import os
import stat
from contextlib import contextmanager

import numpy as np

from .. import trace, vlog
from .._native import threads
from .._native.codec import KEY_BYTES, KeyedDigest
from .._native.engine import aligned_bytes
from ..errors import Error, GeneralFailure, InvalidArgument, ResourceExhaustedTransient
from ..extras import msgspec
from ..seals import FROZEN, is_sealed
from . import key, stored_model
from .cache_files import TOKEN_BYTES, check_token, descriptors_of, version_string
from .stored_model import MAX_HEAD, Unusable

_SHORTER = "a file is shorter than when it was stored"

WORTH_A_THREAD = 1 << 21
"""Size of a data file from which threads read it while the model is planned, in bytes: a smaller one is read before the
threads would be awake."""


def _stamp(device, token):
    return stored_model.stamp_of(version_string(), device, token)


# -- saving ------------------------------------------------------------------------------------------------------------
def save(prepared, files, token):
    """Store a prepared model. Never raises for bad files: returns "" or why nothing was stored [NN 7.2].

    Once files and token have passed their checks, the old content is gone, whether or not storing succeeds.
    """
    try:
        model, data = descriptors_of(files)
        check_token(token)
        for descriptor in (model, data):
            _regular(descriptor)
            os.ftruncate(descriptor, 0)
        head, content = stored_model.pack(prepared, _stamp(prepared.device, token), key.digest())
        _write(data, content)
        _write(model, head)
    except (OSError, InvalidArgument, TypeError, OverflowError, MemoryError, Unusable) as error:
        vlog.log(vlog.COMPILATION, "compilation cache: not stored: %s", error)
        return str(error)
    if vlog.mask & vlog.COMPILATION:
        vlog.log(vlog.COMPILATION, "compilation cache: stored %r, head of %d bytes, data of %d bytes", prepared,
                  len(head), content.nbytes)
    return ""


def _write(descriptor, part):
    view, at = memoryview(part).cast("B"), 0
    while view.nbytes:
        count = os.pwrite(descriptor, view, at)
        at += count
        view = view[count:]


# -- loading -----------------------------------------------------------------------------------------------------------
def check(device, files, token):
    """Read and check cache files; returns load(deadline), see Device.cached."""
    with trace.span("LD", "PC", "check cache"), _refusing():
        opened = _Opened(device, files, token)
        opened.read()

    @vlog.log_errors(vlog.COMPILATION, "compilation cache")
    def load(deadline=None):
        return _load(device, opened.content, opened.data, deadline)

    return load


def prepare(device, files, token, deadline):
    """Check and load in one: with processors to spare, the model is planned while other threads read a large data file.
    Planning then depends on the signed head alone, not on the data file."""
    with _refusing():
        with trace.span("LD", "PC", "check cache"):
            opened = _Opened(device, files, token)
        if opened.data.nbytes < WORTH_A_THREAD or threads.available() < 2 \
                or not stored_model.may_be_late(opened.content):
            opened.read()
            return _load(device, opened.content, opened.data, deadline)
        made = []
        opened.read(lambda: made.append(_plan(device, opened.content, opened.data, deadline, True)))
        return _finished(*made.pop())


class _Opened:
    """Cache files whose head was read and checked. content: the decoded head; data: the data file as a read-only uint8
    array that stays valid: mapped if the file cannot change any more, else private memory filled by `read`."""

    def __init__(self, device, files, token):
        model, self._descriptor = descriptors_of(files)
        check_token(token)
        self._digest, self._threads = key.digest(), device.num_threads
        self.content = stored_model.read_head(_read_head(model), _stamp(device, token), self._digest)
        sealed, size = is_sealed(self._descriptor, FROZEN), _regular(self._descriptor)
        if size != self.content.data_length:
            raise Unusable(f"the data file has {size} bytes, {self.content.data_length} were stored")
        self._memory = None if sealed else aligned_bytes(size)
        self.data = np.frombuffer(mmap.mmap(self._descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ), np.uint8) \
            if sealed else self._memory.view()
        self.data.flags.writeable = False

    def read(self, meanwhile=None):
        """Read the data file and check it. meanwhile(): called while other threads read."""
        threads = self._threads if meanwhile is None else max(2, self._threads)
        if self._memory is None:
            found = self._digest.of(self.data, threads, meanwhile)
        else:
            found = self._digest.read(self._descriptor, self._memory, threads, meanwhile)
        if found is None:
            raise Unusable(_SHORTER)
        stored_model.check_data(self.content, self.data, found)


def to_memory(prepared):
    """(model file as bytes, data file as an array) of a prepared model, for pickling; signed with a throw-away key."""
    return stored_model.pack(prepared, _stamp(prepared.device, bytes(TOKEN_BYTES)), KeyedDigest(os.urandom(KEY_BYTES)))


def from_memory(device, model, data):
    """The prepared model from the result of `to_memory`.

    Digests are not checked: a pickle can run any code, so its source is trusted already.
    """
    with _refusing():
        memory = aligned_bytes(data.nbytes)
        memory[:] = data
        memory.flags.writeable = False
        content = stored_model.read_head(model, _stamp(device, bytes(TOKEN_BYTES)), None)
        stored_model.check_data(content, memory, None)
    return _load(device, content, memory, None)


def _load(device, content, data, deadline):
    with _refusing():
        return _finished(*_plan(device, content, data, deadline))


def _plan(device, content, data, deadline, is_late=False):
    """(prepared model, its StoredPacking or None); the caller must finish the packing."""
    with trace.span("LD", "PC", "restore"):
        model, options, packing = stored_model.unpack(content, data, device.num_threads, is_late)
        return device.compile(model, options, deadline, packing), packing


def _finished(prepared, packing):
    if packing is not None:
        packing.finish()
    if vlog.mask & vlog.COMPILATION:
        vlog.log(vlog.COMPILATION, "%r: restored from a cache", prepared)
    return prepared


@contextmanager
def _refusing():
    """Turn every defect of the files into the one error that the client gets."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise GeneralFailure(f"compilation cache: cannot be read: {error}") from None
    except MemoryError as error:
        raise ResourceExhaustedTransient(f"compilation cache: out of memory: {error}") from None
    except (Unusable, msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise GeneralFailure(f"compilation cache: {error}; prepare the model from its source") from None


def _regular(descriptor):
    """Size of an open file. Raises OSError unless it is a regular file, as reading others might block."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    return found.st_size


def _read_head(descriptor):
    """A model file, read into private memory and not copied again before its signature is checked."""
    size = _regular(descriptor)
    if size > MAX_HEAD:
        raise Unusable(f"the model file has {size} bytes, must be at most {MAX_HEAD}")
    raw, at = memoryview(np.empty(size, np.uint8)), 0
    while at < size:
        count = os.preadv(descriptor, [raw[at:]], at)
        if not count:
            raise Unusable(_SHORTER)
        at += count
    return raw
