"""Times of preparing a model: anew, storing it, from what was stored, and from a file that somebody has damaged."""

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from ... import config
from ...conformance.ndk import NdkDevice
from ...driver.cache_files import TOKEN_BYTES, CacheFiles
from ...errors import DeadObject, Error
from .latency import Latency

MOST = 100
"""Compilations of a kind."""
KINDS = ("without_cache", "save_to_cache", "prepare_from_cache", "prepare_from_damaged")
TITLES = {"without_cache": "anew", "save_to_cache": "and stored", "prepare_from_cache": "from the file",
          "prepare_from_damaged": "damaged file, then anew"}

_TOKEN = bytes(range(TOKEN_BYTES))
_FLAGS = os.O_RDWR | os.O_CREAT


@dataclass(slots=True)
class Compilation:
    """times: {kind: Latency}; size: bytes of the files; problems: a line each; note: why a kind is not there, or ""."""

    times: dict = field(default_factory=dict)
    size: int = 0
    problems: list = field(default_factory=list)
    note: str = ""


def measure(device, model, input_shapes, seconds):
    """The Compilation of a loaded model, for each kind about so many seconds after one that does not count."""
    found, way = Compilation(), (_ByFolder if isinstance(device, NdkDevice) else _ByFiles)(device, model, input_shapes)

    if config.get("NNFAST_CACHE_DIR"):
        found.note = "NNFAST_CACHE_DIR is set: every preparation uses that folder"
    else:
        found.times["without_cache"] = _repeat(way.anew, seconds)
    with TemporaryDirectory() as folder:
        with way.cache(folder) as cache:
            way.store(cache)
            found.size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        if not found.size:
            found.note = "; ".join(filter(None, [found.note, "the model was not stored"]))
            return found
        found.times["save_to_cache"] = _repeat(way.store, seconds, lambda: way.cache(folder))
        with way.cache(folder) as cache:
            way.store(cache)
            found.times["prepare_from_cache"] = _repeat(lambda: way.load(cache), seconds)
            _damage(max((path for path in Path(folder).rglob("*") if path.is_file()),
                        key=lambda path: path.stat().st_size))
            found.times["prepare_from_damaged"] = _repeat(lambda: way.load_damaged(cache), seconds)
    found.problems = sorted(way.problems)
    return found


class _ByFiles:
    """A device that is given the files. problems: a line each."""

    def __init__(self, device, model, input_shapes):
        self.device, self.model, self.input_shapes, self.problems = device, model, input_shapes, set()

    def anew(self):
        self.device.prepare(self.model, input_shapes=self.input_shapes).close()

    def store(self, cache):
        self.device.prepare(self.model, input_shapes=self.input_shapes, cache=cache, token=_TOKEN).close()

    def load(self, cache):
        self.device.prepare_from_cache(cache, _TOKEN).close()

    def load_damaged(self, cache):
        try:
            prepared = self.device.prepare_from_cache(cache, _TOKEN)
        except DeadObject:
            raise
        except Error:
            return self.anew()
        prepared.close()
        self.problems.add("a compiled model with a changed bit was loaded, must be refused")

    @contextmanager
    def cache(self, folder):
        """CacheFiles that are empty, and gone afterwards."""
        paths = [Path(folder) / name for name in ("model", "data")]
        descriptors = [os.open(path, _FLAGS, 0o600) for path in paths]
        try:
            yield CacheFiles(*((descriptor,) for descriptor in descriptors))
        finally:
            for descriptor, path in zip(descriptors, paths):
                os.close(descriptor)
                path.unlink()


class _ByFolder(_ByFiles):
    """The C library, which looks into a folder at each compilation, and compiles anew what it cannot use."""

    def load(self, cache):
        self.store(cache)

    load_damaged = load

    @contextmanager
    def cache(self, folder):
        """A folder that is empty, and gone afterwards."""
        with TemporaryDirectory(dir=folder) as inner:
            yield inner


def _repeat(action, seconds, cache=None):
    """Latency of an action. cache: context of what it gets, anew each time."""
    spent = []
    while len(spent) < 2 or sum(spent[1:]) < seconds and len(spent) <= MOST:
        if cache is None:
            spent.append(_timed(action))
        else:
            with cache() as one:
                spent.append(_timed(lambda one=one: action(one)))
    return Latency.of(spent[1:])


def _timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _damage(path):
    """Change a bit in the middle of a file."""
    with open(path, "r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))
