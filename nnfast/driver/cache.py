"""Compilation caching [NN 7]: prepared models stored in a client's files, or in a folder.

Files are read into private memory, or mapped if nobody can shrink or write them any more (sealed memfds), and checked
there, so that what is used is what was checked. stored_model.py describes their content.
"""

import mmap
import os
import stat

import numpy as np

from .. import trace, vlog
from .._native import threads
from .._native.codec import KEY_BYTES, KeyedDigest
from .._native.engine import aligned_bytes
from ..errors import Error, GeneralFailure, InvalidArgument, ResourceExhaustedTransient
from ..extras import msgspec
from ..model import proof
from ..model.validate import validate_model
from ..seals import FROZEN, is_sealed
from . import key, stored_model
from .cache_files import TOKEN_BYTES, check_token, descriptors_of, version_string
from .stored_model import MAX_HEAD, Unusable

_SHORTER = "a file is shorter than when it was stored"

WORTH_A_THREAD = 1 << 21
"""Size of a data file from which threads read it while the model is planned, in bytes: a smaller one is read before the
threads would be awake."""

MOST_COPIED = 1 << 16
"""Size of a data file up to which it is copied even if it cannot change: a mapping takes a descriptor."""


def _stamp(device, token):
    return stored_model.stamp_of(version_string(), device, token)


# -- saving ------------------------------------------------------------------------------------------------------------
def save(prepared, files, token, done=None):
    """Store a prepared model. Never raises for bad files: returns "" or why nothing was stored [NN 7.2].

    Once files and token have passed their checks, the old content is gone, whether or not storing succeeds. done(head,
    facts): called with the bytes of the model file and its stored_model.Facts once both files are written.
    """
    try:
        model, data = descriptors_of(files)
        check_token(token)
        for descriptor in (model, data):
            _regular(descriptor)
            os.ftruncate(descriptor, 0)
        head, content, facts = stored_model.pack(prepared, _stamp(prepared.device, token), key.digest())
        _write(data, content)
        _write(model, head)
    except (OSError, InvalidArgument, TypeError, OverflowError, MemoryError, Unusable) as error:
        vlog.log(vlog.COMPILATION, "compilation cache: not stored: %s", error)
        return str(error)
    if vlog.mask & vlog.COMPILATION:
        vlog.log(vlog.COMPILATION, "compilation cache: stored %r, head of %d bytes, data of %d bytes", prepared,
                  len(head), content.nbytes)
    if done is not None:
        done(head, facts)
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
    opened = Opened(device, files, token)
    opened.read()

    @vlog.log_errors(vlog.COMPILATION, "compilation cache")
    def load(deadline=None):
        return opened.load(device, deadline)

    return load


def prepare(device, files, token, deadline, source=None):
    """Check and load in one. source: the Model that was stored under the token, where the caller has it."""
    return Opened(device, files, token).load(device, deadline, source)


class Opened:
    """Cache files whose model file was read, and is what a driver with this key has signed.

    head: bytes of the model file; signature: of these bytes; device, token: as given. facts: what other files with the
    same head, token and options of the device have in common; decoded when it is first asked for, unless a caller that
    knows it sets it.

    Raises InvalidArgument for a wrong number of files, GeneralFailure for any defect of them, as all methods do.
    """

    def __init__(self, device, files, token):
        self.device, self.token = device, token
        self._content = self._facts = self._data = None
        with trace.span("LD", "PC", "check cache"), _refusing:
            model, self._descriptor = descriptors_of(files)
            check_token(token)
            self._digest, self.head = key.digest(), _read_head(model)
            self.signature = stored_model.check_signature(self.head, self._digest)

    @property
    def facts(self):
        """The stored_model.Facts."""
        if self._facts is None:
            with _refusing:
                self._facts = self._decoded().facts()
        return self._facts

    @facts.setter
    def facts(self, facts):
        self._facts = facts

    def read(self):
        """Read the data file and check it."""
        if self._data is None:
            with trace.span("LD", "PC", "check cache"), _refusing:
                self._read(*self._prepare_reading())

    def load(self, device, deadline, source=None):
        """The prepared model on a device of the same options. Reads the data file if nothing else has: with processors
        to spare, other threads read a large one while the model is planned, which depends on the signed head alone.
        source: the Model that was stored, or None."""
        with _refusing:
            content = self._decoded()
            if self._data is None:
                data, memory = self._prepare_reading()
                if data.nbytes >= WORTH_A_THREAD and threads.available() >= 2 and stored_model.may_be_late(content):
                    made = []
                    self._read(data, memory, lambda: made.append(_plan(device, content, data, deadline, True, source)))
                    return _finished(*made.pop())
                self._read(data, memory)
            return _finished(*_plan(device, content, self._data, deadline, False, source))

    def _decoded(self):
        if self._content is None:
            self._content = stored_model.decode(self.head, _stamp(self.device, self.token))
        return self._content

    def _prepare_reading(self):
        """(data file as a read-only uint8 array that stays valid, private memory behind it that is still to be filled):
        mapped, and None, if the file is not small and cannot change any more."""
        size = _regular(self._descriptor)
        if size != self.facts.data_length:
            raise Unusable(f"the data file has {size} bytes, {self.facts.data_length} were stored")
        memory = None if size > MOST_COPIED and is_sealed(self._descriptor, FROZEN) else aligned_bytes(size)
        data = memory.view() if memory is not None else np.frombuffer(
            mmap.mmap(self._descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ), np.uint8)
        data.flags.writeable = False
        return data, memory

    def _read(self, data, memory, meanwhile=None):
        """meanwhile(): called while other threads read."""
        team = self.device.num_threads if meanwhile is None else max(2, self.device.num_threads)
        if memory is None:
            found = self._digest.of(data, team, meanwhile)
        else:
            found = self._digest.read(self._descriptor, memory, team, meanwhile)
        if found is None:
            raise Unusable(_SHORTER)
        stored_model.check_data(self.facts, data, found)
        self._data = data


def to_memory(prepared):
    """(model file as bytes, data file as an array) of a prepared model, for pickling; signed with a throw-away key."""
    digest = KeyedDigest(os.urandom(KEY_BYTES))
    return stored_model.pack(prepared, _stamp(prepared.device, bytes(TOKEN_BYTES)), digest)[:2]


def from_memory(device, model, data):
    """The prepared model from the result of `to_memory`.

    Digests are not checked: a pickle can run any code, so its source is trusted already.
    """
    with _refusing:
        memory = aligned_bytes(data.nbytes)
        memory[:] = data
        memory.flags.writeable = False
        content = stored_model.decode(model, _stamp(device, bytes(TOKEN_BYTES)))
        stored_model.check_data(content.facts(), memory, None)
        return _finished(*_plan(device, content, memory, None))


def _plan(device, content, data, deadline, is_late=False, source=None):
    """(prepared model, its StoredPacking or None); the caller must finish the packing."""
    with trace.span("LD", "PC", "restore"):
        if source is not None and proof.of(source) is None:
            if proof.origin_of(source) is None:
                validate_model(source)  # which is remembered for the next time
            else:
                proof.give(source)  # the token is that of its file, of which a right model was made and stored
        model, options, packing = stored_model.unpack(content, data, device.num_threads, is_late, source)
        prepared = device.compile(model, options, deadline, packing)
    if source is not None:
        prepared.remember(source)
    return prepared, packing


def _finished(prepared, packing):
    if packing is not None:
        packing.finish()
    if vlog.mask & vlog.COMPILATION:
        vlog.log(vlog.COMPILATION, "%r: restored from a cache", prepared)
    return prepared


class _Refusing:
    """Context manager that turns every defect of the files into the one error that the client gets."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None or isinstance(error, Error):
            return
        if isinstance(error, OSError):
            raise GeneralFailure(f"compilation cache: cannot be read: {error}") from None
        if isinstance(error, MemoryError):
            raise ResourceExhaustedTransient(f"compilation cache: out of memory: {error}") from None
        if isinstance(error, Unusable | msgspec.MsgspecError | ValueError | OverflowError | RecursionError):
            raise GeneralFailure(f"compilation cache: {error}; prepare the model from its source") from None


_refusing = _Refusing()


def _regular(descriptor):
    """Size of an open file. Raises OSError unless it is a regular file, as reading others might block."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a regular file")
    return found.st_size


def _read_head(descriptor):
    """Bytes of a model file: private memory, which is not copied again before its signature is checked."""
    size = _regular(descriptor)
    if size > MAX_HEAD:
        raise Unusable(f"the model file has {size} bytes, must be at most {MAX_HEAD}")
    raw = os.pread(descriptor, size, 0)
    while len(raw) < size:
        more = os.pread(descriptor, size - len(raw), len(raw))
        if not more:
            raise Unusable(_SHORTER)
        raw += more
    return raw
