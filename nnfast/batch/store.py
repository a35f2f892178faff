"""What a run has finished: a folder of parts beside the output, from which a later run goes on.

OUT.parts holds job.json, which says what is computed, and part-N.npz for each finished chunk of items. Files appear
under their names only when they are complete, so that a run may be killed at any moment.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..errors import InvalidArgument

FORMAT = 1
_PART = re.compile(r"part-(\d{8})\.npz")
_UNFINISHED = ".unfinished"

_SAID = {"model": "another model", "inputs": "other inputs", "chunk": "chunks of another size",
         "batch": "batches of another size", "nnfast": "another version of nnfast", "outputs": "other outputs"}
"""What a job that differs in a field was made of."""


class Part(NamedTuple):
    """Results of a chunk. places: positions in the chunk of the items that have results; outputs: an array for each
    output, with a row for each place; failed: [(position, reason)] of the others."""

    places: np.ndarray
    outputs: list
    failed: list


def digest_of(value):
    """SHA-256 of bytes, or of plain values as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def write_file(path, write):
    """Have write(stream) fill a file that appears under its name when it is complete."""
    unfinished = path + _UNFINISHED
    try:
        with open(unfinished, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(unfinished)
        raise unwritable(path, error) from None


def unwritable(path, error):
    """The InvalidArgument for an OSError of writing a file."""
    return InvalidArgument(f"{path}: cannot be written: {error.strerror or error}; what is finished is kept, the same "
                           "command goes on")


def differs(found, job):
    """In what a stored job differs from this one; "" if in nothing."""
    keys = [key for key in job if found.get(key) != job[key]]
    return ", ".join(dict.fromkeys(_SAID.get(key, "other options") for key in keys))


class Store:
    """The folder of parts of an output. job: plain values that say what is computed.

    Raises InvalidArgument if it holds parts of another job, or another process uses it.
    """

    def __init__(self, output, job, anew=False):
        self.folder, self._job = output + ".parts", {"format": FORMAT, **job}
        made = os.path.join(self.folder, "job.json")
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._lock = open(os.path.join(self.folder, "lock"), "wb")
        except OSError as error:
            raise unwritable(self.folder, error) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InvalidArgument(f"{self.folder}: another process works on it; wait for it, or choose another "
                                  "--output") from None
        try:
            found = read_json(made)
            if anew or found is None:
                self._clear()
            elif other := differs(found, self._job):
                raise InvalidArgument(f"{self.folder}: is of {other}; --overwrite begins anew, or choose another "
                                      "--output")
            if anew or found is None:
                write_file(made, lambda stream: stream.write(json.dumps(self._job, indent=1).encode()))
            for name in os.listdir(self.folder):
                if name.endswith(_UNFINISHED):
                    os.unlink(os.path.join(self.folder, name))
        except BaseException:
            self._lock.close()
            raise

    def _clear(self):
        for name in os.listdir(self.folder):
            if name != "lock":
                os.unlink(os.path.join(self.folder, name))

    def finished(self):
        """Numbers of the finished chunks."""
        return {int(match[1]) for name in os.listdir(self.folder) if (match := _PART.fullmatch(name))}

    def _path(self, number):
        return os.path.join(self.folder, f"part-{number:08d}.npz")

    def write(self, number, part):
        """Keep a finished chunk."""
        arrays = {f"output_{place}": array for place, array in enumerate(part.outputs)}
        failed = np.frombuffer(json.dumps(part.failed).encode(), np.uint8)
        write_file(self._path(number), lambda stream: np.savez(stream, places=part.places, failed=failed, **arrays))

    def read(self, number, outputs=None):
        """The Part of a finished chunk, with these outputs only (positions), or all."""
        path = self._path(number)
        try:
            with np.load(path, allow_pickle=False) as file:
                count = sum(name.startswith("output_") for name in file.files)
                wanted = range(count) if outputs is None else outputs
                return Part(file["places"], [file[f"output_{place}"] for place in wanted],
                            [tuple(row) for row in json.loads(file["failed"].tobytes())])
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InvalidArgument(f"{path}: cannot be read: {error}; remove it, and the same command computes it "
                                  "again") from None

    def close(self, remove=False):
        """Let others use the folder. remove: nobody needs it any more."""
        if remove:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def read_json(path):
    """A dict from a file; None if there is none, or something else."""
    try:
        with open(path, "rb") as stream:
            found = json.load(stream)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
