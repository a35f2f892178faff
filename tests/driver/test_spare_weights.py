"""Weights as the file holds them do not outlive the caller's Model: what was packed from them is enough."""

import gc
import os
import pickle
import weakref

import numpy as np
import pytest

import nnfast
from helpers import models
from nnfast.driver.cache import save
from nnfast.errors import GeneralFailure
from nnfast.model.mapped import read_file
from nnfast.tflite.apart import apart

TOKEN = bytes(range(32))
SIZE = 512


def resident(start, size):
    """Bytes of an address range that are in memory."""
    page = os.sysconf("SC_PAGESIZE")
    with open("/proc/self/pagemap", "rb") as stream:
        stream.seek(start // page * 8)
        entries = np.frombuffer(stream.read(-(-size // page) * 8), np.uint64)
    return int(np.count_nonzero(entries >> np.uint64(63))) * page


def dense():
    rng = np.random.default_rng(1)
    b = nnfast.ModelBuilder("dense")
    x = b.input("TENSOR_FLOAT32", (1, SIZE))
    w = b.constant(rng.standard_normal((SIZE, SIZE)).astype(np.float32))
    y = b.output("TENSOR_FLOAT32", (1, SIZE))
    b.operation("FULLY_CONNECTED", [x, w, b.constant(np.zeros(SIZE, np.float32)), b.scalar(0)], [y])
    return b.build()


def weights_of(model):
    return next(o for o in model.main.operands if o.is_constant and o.dims == (SIZE, SIZE)).data


def objects_behind(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


X = np.random.default_rng(2).standard_normal((1, SIZE)).astype(np.float32)


def test_weights_go_with_the_model(device):
    model = dense()
    wanted, weights = X @ weights_of(model).T, weakref.ref(objects_behind(weights_of(model)))
    prepared = device.prepare(model)
    assert weights() is not None
    del model
    gc.collect()
    assert weights() is None
    assert np.allclose(prepared.run([X])[0], wanted, rtol=1e-4, atol=1e-3)


def test_a_model_that_the_caller_keeps_is_whole(device):
    model = dense()
    values = weights_of(model).copy()
    device.prepare(model)
    assert np.array_equal(weights_of(model), values)
    assert np.array_equal(device.prepare(model).run([X])[0], nnfast.Device(1).prepare(model).run([X])[0])


def test_weights_of_a_file_leave_memory(device, shared_models):
    for path in shared_models:
        model = nnfast.load(path)
        large = [o.data for o in model.main.operands if o.is_constant and o.nbytes >= 1 << 16]
        prepared = device.prepare(model)
        spans = [(o.ctypes.data, o.nbytes) for place, o in
                 ((place, o.data) for place, o in enumerate(model.main.operands) if place in (prepared.spare or ()))
                 if o.nbytes >= 1 << 16]
        assert spans and len(spans) <= len(large)
        before = [resident(*span) for span in spans]
        assert sum(before) > 0
        small = next(o.data for o in model.main.operands if o.is_constant and o.nbytes < 1 << 12)  # keeps the mapping
        del model, large
        gc.collect()
        left = [resident(*span) for span in spans]
        assert all(after <= 2 * os.sysconf("SC_PAGESIZE") for after in left), (path, before, left)
        prepared.run([np.zeros(i.shape, i.dtype) for i in prepared.inputs])
        assert small.nbytes


@pytest.mark.parametrize("keep_model", [True, False])
def test_pickles_do_not_need_the_model(device, keep_model):
    model = dense()
    prepared = device.prepare(model)
    wanted = prepared.run([X])[0]
    if not keep_model:
        del model
        gc.collect()
    again = pickle.loads(pickle.dumps(prepared))
    assert np.array_equal(again.run([X])[0], wanted)
    assert np.array_equal(pickle.loads(pickle.dumps(again)).run([X])[0], wanted)


def test_a_cache_can_be_filled_later(device, tmp_path):
    prepared = device.prepare(dense())
    wanted = prepared.run([X])[0]
    gc.collect()
    opened = [os.open(tmp_path / kind, os.O_RDWR | os.O_CREAT) for kind in ("model", "data")]
    files = nnfast.CacheFiles((opened[0],), (opened[1],))
    assert save(prepared, files, TOKEN) == ""
    assert np.array_equal(device.prepare_from_cache(files, TOKEN).run([X])[0], wanted)
    for descriptor in opened:
        os.close(descriptor)


def test_the_model_of_a_prepared_model_refuses_to_be_read(device):
    prepared = device.prepare(dense())
    with pytest.raises(GeneralFailure, match="its values were not kept"):
        np.asarray(weights_of(prepared.model))


def test_a_model_with_other_plans_to_come_keeps_its_constants(device):
    """A request may omit an input that no operation reads; that calls for another plan."""
    rng = np.random.default_rng(1)
    b = nnfast.ModelBuilder("dense")
    x, _ = b.input("TENSOR_FLOAT32", (1, SIZE)), b.input("TENSOR_FLOAT32", (1, 4))
    w = b.constant(rng.standard_normal((SIZE, SIZE)).astype(np.float32))
    y = b.output("TENSOR_FLOAT32", (1, SIZE))
    b.operation("FULLY_CONNECTED", [x, w, b.constant(np.zeros(SIZE, np.float32)), b.scalar(0)], [y])
    prepared = device.prepare(b.build())
    wanted = prepared.run([X, np.zeros((1, 4), np.float32)])[0]
    assert np.array_equal(prepared.run([X, None])[0], wanted)
    assert np.array_equal(weights_of(prepared.model), weights_of(prepared.model))


def test_arrays_that_overlap_share_their_pages(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(1 << 16, dtype=np.uint8).tobytes() * 4)
    with open(path, "rb") as stream:
        memory = np.frombuffer(read_file(stream.fileno(), 1 << 18), np.uint8)
    whole = memory.copy()
    arrays = {"a": memory[:1 << 16], "b": memory[1 << 15:1 << 17], "c": memory[1 << 17:(1 << 17) + 10],
              "d": memory[(1 << 17) + 64:(1 << 18) - 100]}
    found = apart(arrays)
    assert list(found) == ["d"]
    start, size = found["d"].ctypes.data, found["d"].nbytes
    part = found["d"][5:10]
    del found
    assert resident(start, size) >= size
    assert np.array_equal(part, whole[(1 << 17) + 69:(1 << 17) + 74])
    del part
    assert resident(start, size) <= 2 * os.sysconf("SC_PAGESIZE")
    for array in (arrays["a"], arrays["b"], arrays["c"], memory[-100:]):
        place = array.ctypes.data - memory.ctypes.data
        assert np.array_equal(array, whole[place:place + array.nbytes])


def test_two_devices_prepare_one_model(device):
    model = models.conv_model()
    first, second = device.prepare(model), nnfast.Device(1).prepare(model)
    x = np.random.default_rng(3).standard_normal((1, 5, 5, 2)).astype(np.float32)
    assert np.array_equal(first.run([x])[0], second.run([x])[0])
