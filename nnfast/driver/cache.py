"""Compilation caching [NN 7]: prepared models in files of a client, or in a folder.

Files are read into memory of our own, or are mapped where nobody can shrink or write them any more (sealed memfds), and
checked there: what will be used is what was checked. stored_model.py says what is in them.
"""

import mmap
import os
import stat
from contextlib import contextmanager

import msgspec
import numpy as np

from .. import trace, vlog
from .._native import threads
from .._native.codec import KEY_BYTES, KeyedDigest
from .._native.engine import aligned_bytes
from ..errors import Error, GeneralFailure, InvalidArgument, ResourceExhaustedTransient
from ..seals import FROZEN, is_sealed
from . import key, stored_model
from .cache_files import TOKEN_BYTES, check_token, descriptors_of, version_string
from .prepared import PreparedModel
from .stored_model import MAX_HEAD, Unusable

_SHORTER = "a file is shorter than when it was stored"


def _stamp(device, token):
    return stored_model.stamp_of(version_string(), device, token)


# -- saving ------------------------------------------------------------------------------------------------------------
def save(prepared, files, token):
    """Store a prepared model. Never raises for bad files: returns "" or why nothing was stored [NN 7.2].

    Whatever the files held cannot be loaded afterwards, unless it was stored anew.
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
    """Check and take over the content of cache files; see Device.cached."""
    with trace.span("LD", "PC", "check cache"), _refusing():
        opened = _Opened(device, files, token)
        opened.read()

    @vlog.log_errors(vlog.COMPILATION, "compilation cache")
    def load(deadline=None):
        return _load(device, opened.content, opened.data, deadline)

    return load


def prepare(device, files, token, deadline):
    """check and load in one: the model is planned while other threads read the data file, where there are processors
    for them. Planning looks at what the signed head holds, and at no byte of the data file."""
    with _refusing():
        with trace.span("LD", "PC", "check cache"):
            opened = _Opened(device, files, token)
        if threads.available() < 2 or not stored_model.may_be_late(opened.content):
            opened.read()
            return _load(device, opened.content, opened.data, deadline)
        made = []
        opened.read(lambda: made.append(_plan(device, opened.content, opened.data, deadline, True)))
        return _finished(*made.pop())


class _Opened:
    """Cache files whose head was read and checked. content: of the head; data: of the data file, as a read-only uint8
    array that nobody can pull away: mapped where it cannot change any more, else filled by `read`."""

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
    """(bytes of a model file, array of a data file) of a prepared model, for a pickle: signed with nobody's key."""
    return stored_model.pack(prepared, _stamp(prepared.device, bytes(TOKEN_BYTES)), KeyedDigest(os.urandom(KEY_BYTES)))


def from_memory(device, model, data):
    """The prepared model in what `to_memory` gave.

    Digests are not looked at: who may hand us a pickle may do anything, and the key was nobody's.
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
    """(prepared model, its StoredPacking or None, which is to be finished)."""
    with trace.span("LD", "PC", "restore"):
        model, options, packing = stored_model.unpack(content, data, device.num_threads, is_late)
        return PreparedModel(device, model, *options, deadline, packing=packing), packing


def _finished(prepared, packing):
    if packing is not None:
        packing.finish()
    if vlog.mask & vlog.COMPILATION:
        vlog.log(vlog.COMPILATION, "%r: restored from a cache", prepared)
    return prepared


@contextmanager
def _refusing():
    """Whatever files can be wrong in is one error to the client."""
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
    """Size of an open file. Raises OSError for anything but a regular file: reading it might block."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    return found.st_size


def _read_head(descriptor):
    """A model file, in memory of our own; no copy is made before its signature was checked."""
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
