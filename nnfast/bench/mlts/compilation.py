"""Times of preparing a model: anew, storing it, from what was stored, and from a file that somebody has damaged."""

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from ... import config
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
    found = Compilation()

    def anew():
        device.prepare(model, input_shapes=input_shapes).close()

    def store(files):
        device.prepare(model, input_shapes=input_shapes, cache=files, token=_TOKEN).close()

    def load(files):
        device.prepare_from_cache(files, _TOKEN).close()

    def load_damaged(files):
        try:
            prepared = device.prepare_from_cache(files, _TOKEN)
        except DeadObject:
            raise
        except Error:
            return anew()
        prepared.close()
        found.problems.append("a compiled model with a changed bit was loaded, must be refused")

    if config.get("NNFAST_CACHE_DIR"):
        found.note = "NNFAST_CACHE_DIR is set: every preparation uses that folder"
    else:
        found.times["without_cache"] = _repeat(anew, seconds)
    with TemporaryDirectory() as folder:
        with _files(folder) as (files, paths):
            store(files)
            found.size = sum(path.stat().st_size for path in paths)
        if not found.size:
            found.note = "; ".join(filter(None, [found.note, "the model was not stored"]))
            return found
        found.times["save_to_cache"] = _repeat(store, seconds, folder)
        with _files(folder) as (files, paths):
            store(files)
            found.times["prepare_from_cache"] = _repeat(lambda: load(files), seconds)
            _damage(max(paths, key=lambda path: path.stat().st_size))
            found.times["prepare_from_damaged"] = _repeat(lambda: load_damaged(files), seconds)
    found.problems = sorted(set(found.problems))
    return found


def _repeat(action, seconds, folder=None):
    """Latency of an action; with a folder it gets CacheFiles that are new each time."""
    spent = []
    while len(spent) < 2 or sum(spent[1:]) < seconds and len(spent) <= MOST:
        if folder is None:
            spent.append(_timed(action))
        else:
            with _files(folder) as (files, _):
                spent.append(_timed(lambda files=files: action(files)))
    return Latency.of(spent[1:])


def _timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@contextmanager
def _files(folder):
    """(CacheFiles that are empty, their paths), which are gone afterwards."""
    paths = [Path(folder) / name for name in ("model", "data")]
    descriptors = [os.open(path, _FLAGS, 0o600) for path in paths]
    try:
        yield CacheFiles(*((descriptor,) for descriptor in descriptors)), paths
    finally:
        for descriptor, path in zip(descriptors, paths):
            os.close(descriptor)
            path.unlink()


def _damage(path):
    """Change a bit in the middle of a file."""
    with open(path, "r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))
