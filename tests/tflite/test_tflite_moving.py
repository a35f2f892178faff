"""Files that change after or while they are loaded: a clear error or the old values, never a dead process."""

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import nnfast
from nnfast.model import mapped

SOURCE = Path(nnfast.__file__).parent / "data" / "digits_int8.tflite"


@pytest.fixture
def path(tmp_path):
    return shutil.copy(SOURCE, tmp_path / "model.tflite")


def results(prepared):
    rng = np.random.default_rng(1)
    return prepared.run([rng.integers(0, 100, i.shape).astype(i.dtype) for i in prepared.inputs])


@pytest.mark.parametrize("length", [0, 100, 4096])
def test_a_loaded_model_outlives_its_file(path, tmp_path, length):
    device = nnfast.Device(1)
    expected = results(device.prepare(nnfast.load(SOURCE)))
    model = nnfast.load(path)
    os.truncate(path, length)
    assert device.supported_operations(model)
    prepared = device.prepare(model, cache_dir=str(tmp_path / "cache"))
    assert prepared.explain().native
    copies = prepared, pickle.loads(pickle.dumps(prepared)), device.prepare(pickle.loads(pickle.dumps(model)))
    for copy in copies:
        for got, wanted in zip(results(copy), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_file_overwritten_in_place_changes_no_loaded_model(path):
    expected = results(nnfast.Device(1).prepare(nnfast.load(SOURCE)))
    model = nnfast.load(path)
    with open(path, "r+b") as stream:
        stream.write(b"\xff" * os.path.getsize(path))
    for got, wanted in zip(results(nnfast.Device(1).prepare(model)), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_file_that_ends_early_while_it_is_read_is_refused(path, monkeypatch):
    size, read = os.path.getsize(path), mapped.os.preadv

    def cut(fd, buffers, offset):
        count = read(fd, [buffers[0][:1024]], offset)
        os.truncate(path, 1024)
        return count

    monkeypatch.setattr(mapped.os, "preadv", cut)
    with pytest.raises(nnfast.InvalidArgument, match=f"cannot be read: ends after 1024 of {size} bytes"):
        nnfast.load(path)


def test_bytes_that_others_can_change_are_copied(path):
    content = bytearray(SOURCE.read_bytes())
    model = nnfast.load(memoryview(content).toreadonly())
    expected = results(nnfast.Device(1).prepare(nnfast.load(SOURCE)))
    content[:] = bytes(len(content))
    for got, wanted in zip(results(nnfast.Device(1).prepare(model)), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
