"""What comes from files, and the model that a client sends in shared memory: read, prepared, run on zeros."""

import os
import time
from math import prod
from pathlib import Path

import msgspec
import numpy as np

from .. import CacheFiles, Device, load, to_tflite
from ..conformance.randgraph import draw_case
from ..driver import key, stored_model
from ..errors import Error, InternalError, InvalidArgument
from ..model.records import align
from ..service.server import model_reader
from ..service.wire.channel import sealed_memfd
from ..service.wire.models import START, pack
from . import flat, graph, operations
from .signed import TOKEN, Mutator, change, damage, models, planned_meanwhile

CORPUS = Path(__file__).parent / "corpus"
MODEL = Path(__file__).parents[1] / "data" / "digits_int8.tflite"
MEMORY = 64 << 20
LARGEST = 1 << 20
"""Bytes of an input or a result."""
SECONDS = 1.0
"""Deadline of a preparation and of a run."""

PATIENCE, GRAPHS = 60, 24
DIGEST_PLACE = stored_model.Content.__struct_fields__.index("data_digest")


def tried(call, *allowed):
    """Result of a call that may refuse; None when it did. The refusal must be one line of at most 1,000 characters."""
    try:
        return call()
    except InternalError:
        raise
    except allowed as error:
        text = str(error)
        if not text or "\n" in text or len(text) > 1000:
            raise AssertionError(f"message of {len(text)} characters: {text[:200]!r}") from error
        return None


def prepare_and_run(model):
    """Prepare a model that was accepted, and run it on zeros, within small limits."""
    device = Device(num_threads=1, memory_limit=MEMORY)
    prepared = tried(lambda: device.prepare(model, deadline=time.monotonic() + SECONDS), Error)
    if prepared is not None:
        run(prepared)


def run(prepared):
    """Run on zeros, unless inputs or results are large: results are the caller's memory, not the device's."""
    if all(prod(d or 1 for d in info.shape or ()) * info.dtype.itemsize <= LARGEST
           for info in (*prepared.inputs, *prepared.outputs)):
        inputs = [np.zeros([d or 1 for d in info.shape or (1,)], info.dtype) for info in prepared.inputs]
        tried(lambda: prepared.submit(inputs, timeout=SECONDS).result(PATIENCE), Error)


def samples():
    """Small .tflite files that between them hold every kind of table."""
    return [path.read_bytes() for path in sorted((CORPUS / "tflite").glob("*.tflite"))]


def graphs():
    """Models of one operation."""
    return [draw_case(seed, "single").model for seed in range(GRAPHS)]


class TfliteFile:
    """The bytes of a .tflite file."""

    @staticmethod
    def seeds():
        for model in graphs():
            try:
                yield to_tflite(model)
            except InvalidArgument:
                pass  # no file can hold it

    @staticmethod
    def one(data):
        model = tried(lambda: load(data), InvalidArgument)
        if model is not None:
            prepare_and_run(model)

    @staticmethod
    def mutate(data, size, random):
        """Facts of a file that is sound; or any bytes."""
        if random.random() < 0.1:
            return None
        try:
            return flat.changed(data, random)
        except Exception:  # it is none, or became one that cannot be written
            return None


def _packed(model):
    """The bytes in which a client sends a model."""
    fd = pack(model)
    try:
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


def _unpacked(data):
    """The model of such bytes. Raises InvalidArgument."""
    fd = sealed_memfd([data])
    try:
        return model_reader.unpack(model_reader.open_bytes(fd, 1 << 30))
    finally:
        os.close(fd)


class ServiceModel:
    """The memory in which a client sends a model: magic, lengths, header and constants."""

    @staticmethod
    def seeds():
        for model in (*map(load, samples()), *graphs()):
            yield _packed(model)

    @staticmethod
    def one(data):
        model = tried(lambda: _unpacked(data), InvalidArgument)
        if model is not None:
            prepare_and_run(model)

    @staticmethod
    def mutate(data, size, random):
        """Facts of a model that is sound; a model of one operation; a value of the header, and its lengths; any bytes.
        """
        chance = random.random()
        if chance < 0.15:
            model = operations.drawn(random)
            return None if model is None else _packed(model)
        if chance < 0.3 or len(data) < START.size:
            return None
        if chance < 0.75:
            try:
                return _packed(graph.changed(_unpacked(data), random))
            except Exception:  # it is none, or became one that no message can hold
                return None
        magic, length, _ = START.unpack_from(data)
        constants = data[align(START.size + length):]
        try:
            header = changed(data[START.size:START.size + length], random)
        except Exception:  # it holds no msgpack
            return None
        start = align(START.size + len(header))
        made = START.pack(magic, len(header), start + len(constants)) + header
        return made.ljust(start, b"\0") + constants


class CacheFile:
    """A model file and a data file behind a right signature: length of the model file's content, and both."""

    def __init__(self):
        self._digest = key.digest()

    @staticmethod
    def seeds():
        device = Device(num_threads=1)
        for made in (Mutator(device, model) for model in models()):
            yield len(made.head).to_bytes(4, "little") + made.head + made.data.tobytes()

    def one(self, data):
        length = int.from_bytes(data[:4], "little")
        head, content = data[4:4 + length], np.frombuffer(data[4 + length:], np.uint8)
        try:
            file = msgspec.msgpack.decode(head)
            file[1][DIGEST_PLACE] = self._digest.of(content)
            head = msgspec.msgpack.encode(file)
        except Exception:  # it is none, and is signed as it is
            pass
        device = Device(num_threads=1, memory_limit=MEMORY)
        fds = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("model", "data")]
        try:
            os.write(fds[0], stored_model.sign(head, self._digest))
            os.write(fds[1], content)
            files = CacheFiles((fds[0],), (fds[1],))
            with planned_meanwhile(len(data) % 2):
                prepared = tried(lambda: device.prepare_from_cache(files, TOKEN, time.monotonic() + SECONDS), Error)
        finally:
            for fd in fds:
                os.close(fd)
        if prepared is not None:
            run(prepared)

    @staticmethod
    def mutate(data, size, random):
        """Values of the model file, or bytes of the data file; or any bytes."""
        if random.random() < 0.1:
            return None
        length = int.from_bytes(data[:4], "little")
        head, content = data[4:4 + length], np.frombuffer(data[4 + length:], np.uint8).copy()
        if random.random() < 0.3 and len(content) > 64:
            damage(content, random, 64)
        else:
            try:
                head = changed(head, random)
            except Exception:  # it holds no msgpack
                return None
        return len(head).to_bytes(4, "little") + head + content.tobytes()


def changed(data, random):
    """A msgpack of lists with one or two values changed."""
    tree = msgspec.msgpack.decode(data)
    for _ in range(random.choice((1, 1, 2))):
        change(tree, random)
    return msgspec.msgpack.encode(tree)
