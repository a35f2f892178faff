"""Files of TFLite in the place of models: imported by the driver, which shares them among clients as it does models."""

import fcntl
import os

import numpy as np
import pytest

import nnfast
from helpers.raw_client import Raw, refused
from helpers.service import serving
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.errors import ErrorStatus
from nnfast.service.server.quotas import Quotas
from nnfast.service.wire import protocol
from nnfast.service.wire.channel import sealed_memfd

ADD = Op("ADD", ["x", "y"], ["z"], "AddOptions")


def sum_file(shape=(4,), signature=None, op=ADD):
    tensors = [Tensor("x", shape, signature=signature),
               Tensor.of("y", np.arange(shape[-1], dtype=np.float32)), Tensor("z", shape, signature=signature)]
    return build(tensors, [op], ["x"], ["z"])


def told(raw, message, content):
    fd = content if isinstance(content, int) else sealed_memfd([content])
    try:
        return raw.call(message, [fd])
    finally:
        os.close(fd)


def prepared(raw, content, shapes=None, **more):
    answer = told(raw, protocol.Prepare("fast_single_answer", "medium", shapes, **more), content)
    assert isinstance(answer, protocol.Prepared), answer
    return answer


def run(raw, number, x, stretch):
    """The result of a run on an array; stretch: bytes of the arena."""
    fd = os.memfd_create("arena", os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, stretch)
        os.pwrite(fd, x.tobytes(), 0)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        raw.calls.send(protocol.Arena(stretch), [fd])
        answer = raw.call(protocol.Run(number, [protocol.Place(0, x.shape)]))
        assert isinstance(answer, protocol.Results), answer
        return np.frombuffer(answer.arrays[0].data, np.float32).reshape(answer.arrays[0].shape)
    finally:
        os.close(fd)


def test_a_file_is_prepared_as_nnfast_loads_it(raw):
    content = sum_file()
    answer = prepared(raw, content)
    assert [(i.name, i.shape, i.dtype) for i in answer.inputs] == [("x", (4,), "<f4")]
    x = np.float32([1, 2, 3, 4])
    expected, = nnfast.Device(num_threads=1).prepare(nnfast.load(content)).run([x])
    assert run(raw, answer.number, x, 1 << 16).tobytes() == expected.tobytes()


def test_open_sizes_are_those_of_the_call(raw):
    content = sum_file((1, 4), (-1, 4))
    assert prepared(raw, content, [(0, (3, 4))]).results == [(3, 4)]
    assert prepared(raw, content, [(0, (2, 4))]).results == [(2, 4)]  # another model than the one before


def test_who_may_change_a_file_gets_a_copy_of_it(raw):
    content = sum_file()
    fd = os.memfd_create("file")
    os.write(fd, content)
    kept = os.dup(fd)
    answer = prepared(raw, fd)
    os.pwrite(kept, bytes(len(content)), 0)
    os.close(kept)
    assert run(raw, answer.number, np.zeros(4, np.float32), 1 << 16).tolist() == [0, 1, 2, 3]


def test_operators_without_translation_are_named(raw):
    content = build([Tensor("x", (4,)), Tensor("y", (4,)), Tensor("z", (4,))],
                    [Op("ABS", ["x"], ["y"]), Op("NoSuchThing", ["y"], ["z"], custom=b"")], ["x"], ["z"])
    answer = told(raw, protocol.GetUnsupported(), content)
    assert [index for index, _ in answer.reasons] == [1] and "custom" in answer.reasons[0][1]
    refused(told(raw, protocol.Prepare("fast_single_answer", "medium"), content), "NoSuchThing")
    assert told(raw, protocol.GetUnsupported(), sum_file()).reasons == []


@pytest.mark.parametrize("content", [b"\0\0\0\0TFL3" + bytes(40), sum_file()[:60]])
def test_a_damaged_file_is_refused(raw, content):
    refused(told(raw, protocol.Prepare("fast_single_answer", "medium"), content), "model")
    refused(told(raw, protocol.GetUnsupported(), content), "model")


def test_reading_a_file_counts_against_the_quota(tmp_path):
    content = sum_file()
    damaged = content[:-4] + bytes(1 << 20)  # as many tables as a file may have, for all one knows before
    with serving(tmp_path, quotas=Quotas(memory=64 << 20)) as (path, _):
        raw = Raw(path)
        refused(told(raw, protocol.Prepare("fast_single_answer", "medium"), damaged), "quota",
                status=ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT)
        assert prepared(raw, content).inputs
        raw.close()


def test_fewer_threads_can_be_asked_for(tmp_path):
    with serving(tmp_path, threads=2) as (path, server):
        raw = Raw(path)
        session, = server.sessions()
        for asked, found in ((1, 1), (0, 2), (1 << 20, 2)):
            prepared(raw, sum_file(), num_threads=asked)
            assert session.held()[-1].prepared.num_threads == found
        raw.close()
