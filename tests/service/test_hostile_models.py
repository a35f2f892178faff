"""Models that are none, or that somebody changes: refused or copied, and other clients notice nothing."""

import fcntl
import os
import random

import numpy as np

import nnfast
from helpers.raw_client import refused, sealed
from helpers.service import add_model, dense_model, endless_model
from nnfast.service.wire import protocol
from nnfast.service.wire.channel import sealed_memfd
from nnfast.service.wire.protocol import Failure


def test_models_in_unsealed_memory_are_copied(raw, server, other):
    source = sealed(dense_model())
    content = os.pread(source, os.fstat(source).st_size, 0)
    fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.write(fd, content)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)  # not against writing
    answer = raw.call(protocol.Prepare("fast_single_answer", "medium"), [fd])
    os.pwrite(fd, bytes(len(content)), 0)
    held, = [h for s in server.sessions() for h in s.held() if h.prepared.model.name == "dense"]
    assert isinstance(answer, protocol.Prepared)
    inputs = [np.ones(info.shape, info.dtype) for info in held.prepared.inputs]
    wanted = nnfast.Device(num_threads=1).prepare(dense_model()).run(inputs)
    assert wanted[0].any() and np.array_equal(held.prepared.run(inputs)[0], wanted[0])
    os.close(fd)
    os.close(source)


def model_packets():
    """(packet, ...) of memories that are no model."""
    source = sealed(add_model())
    content = os.pread(source, os.fstat(source).st_size, 0)
    os.close(source)
    yield b""
    yield b"short"
    yield bytes(len(content))
    for cut in (24, 40, len(content) // 2, len(content) - 1):
        yield content[:cut]
    yield content + bytes(64)
    yield content[:8] + b"\xff" * 16 + content[24:]


def test_broken_models_are_refused(raw, other):
    for content in model_packets():
        fd = sealed_memfd([content])
        for message in (protocol.Check("1.3"), protocol.GetUnsupported(), protocol.Prepare("low_power", "low")):
            refused(raw.call(message, [fd]))
        os.close(fd)
    refused(raw.call(protocol.Check("1.3")), "the model's memory")
    reader, writer = os.pipe()
    refused(raw.call(protocol.Check("1.3"), [reader]))
    folder = os.open("/", os.O_RDONLY)
    refused(raw.call(protocol.Check("1.3"), [folder]))
    for fd in (reader, writer, folder):
        os.close(fd)


def test_mutated_models_never_crash_the_driver(raw, other):
    chance = random.Random(1)
    for model in (add_model(), dense_model(width=4), endless_model()):
        source = sealed(model)
        content = os.pread(source, os.fstat(source).st_size, 0)
        os.close(source)
        for _ in range(300):
            wrong = bytearray(content)
            for _ in range(chance.randint(1, 4)):
                wrong[chance.randrange(len(wrong))] = chance.randrange(256)
            fd = sealed_memfd([wrong])
            answer = raw.call(chance.choice((protocol.GetUnsupported(), protocol.Prepare("low_power", "low"))), [fd])
            os.close(fd)
            if isinstance(answer, Failure):
                assert "internal error" not in answer.text, answer.text
            elif isinstance(answer, protocol.Prepared):
                raw.calls.send(protocol.Release([("prepared", answer.number)]))
