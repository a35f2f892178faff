"""CompilationCachingTests [NN 7.5] through the faces of 1.2 and 1.3."""

import os
import threading

import numpy as np
import pytest

from helpers.hal_clients import Callback, add_model, prepare
from nnfast import ModelBuilder, Request, RequestArgument
from nnfast.errors import ErrorStatus as S
from nnfast.hal import v1_2, v1_3
from nnfast.hal.layout import from_canonical
from nnfast.hal.types import Handle

TOKEN = bytes(range(32))
X = np.arange(6, dtype=np.float32).reshape(2, 3)
WRONG_COUNTS = (S.INVALID_ARGUMENT, S.GENERAL_FAILURE)


@pytest.fixture(params=["1.2", "1.3"])
def cacher(request, canonical):
    return {"1.2": v1_2, "1.3": v1_3}[request.param].Device(canonical)


class Files:
    """Model and data file of a cache in a folder, as lists of handles."""

    def __init__(self, folder, name="cache"):
        self.paths = [folder / f"{name}.{kind}" for kind in ("model", "data")]

    def open(self, flags=os.O_RDWR | os.O_CREAT, counts=(1, 1), fds=(1, 1)):
        result = []
        for path, count, number in zip(self.paths, counts, fds):
            result.append([Handle(tuple(os.open(path, flags) for _ in range(number))) for _ in range(count)])
        return result


def save(device, files, model=None, token=TOKEN):
    """Prepare with a cache: it has to give a model that works, whatever the cache is like."""
    callback, model = Callback(), model or add_model(hal=device.hal)
    head = (1,) if device.hal == "1.2" else (1, 1, None)
    method = device.prepareModel_1_2 if device.hal == "1.2" else device.prepareModel_1_3
    assert method(model, *head, *files, token, callback) == S.NONE
    status, prepared = callback.wait()
    assert status == S.NONE
    return prepared


def load(device, files, token=TOKEN):
    callback = Callback()
    if device.hal == "1.2":
        launched = device.prepareModelFromCache(*files, token, callback)
    else:
        launched = device.prepareModelFromCache_1_3(None, *files, token, callback)
    status, prepared = callback.wait()
    assert launched == status and (prepared is None) == (status != S.NONE)
    return status, prepared


def result(prepared, x=X):
    out = np.empty_like(x)
    prepared.prepared.execute(Request((RequestArgument(0, 0, x.nbytes),), (RequestArgument(1, 0, x.nbytes),), (x, out)))
    return out


def chain(operation, hal):
    """100 operations, one after the other, each with a constant 1."""
    b = ModelBuilder(operation)
    x, one = b.input("TENSOR_FLOAT32", (2, 3)), b.constant(np.ones((2, 3), np.float32))
    for place in range(100):
        y = (b.output if place == 99 else b.operand)("TENSOR_FLOAT32", (2, 3))
        b.operation(operation, [x, one, b.scalar(0)], [y])
        x = y
    return from_canonical(b.build(), hal)


def test_cache_saving_and_retrieval(cacher, tmp_path):
    files = Files(tmp_path)
    wanted = result(save(cacher, files.open()))
    status, prepared = load(cacher, files.open())
    assert status == S.NONE and np.array_equal(result(prepared), wanted)


def test_cache_saving_and_retrieval_non_zero_offset(cacher, tmp_path):
    files, handles = Files(tmp_path), Files(tmp_path).open()
    for [handle] in handles:
        os.write(handle.fds[0], b"xx")
    wanted = result(save(cacher, handles))
    handles = files.open()
    for [handle] in handles:
        os.lseek(handle.fds[0], 1, os.SEEK_SET)
    status, prepared = load(cacher, handles)
    assert status == S.NONE and np.array_equal(result(prepared), wanted)


@pytest.mark.parametrize("counts", [(2, 1), (0, 1), (1, 2), (1, 0)])
def test_save_to_cache_invalid_num_cache(cacher, tmp_path, counts):
    files = Files(tmp_path)
    result(save(cacher, files.open(counts=counts)))
    assert load(cacher, files.open(counts=counts))[0] in WRONG_COUNTS


@pytest.mark.parametrize("counts", [(2, 1), (0, 1), (1, 2), (1, 0), (0, 0)])
def test_prepare_model_from_cache_invalid_num_cache(cacher, tmp_path, counts):
    files = Files(tmp_path)
    save(cacher, files.open())
    assert load(cacher, files.open(counts=counts))[0] in WRONG_COUNTS


@pytest.mark.parametrize("fds", [(2, 1), (0, 1), (1, 2), (1, 0)])
def test_invalid_num_fd(cacher, tmp_path, fds):
    files = Files(tmp_path)
    result(save(cacher, files.open(fds=fds)))
    assert load(cacher, files.open(fds=fds))[0] in WRONG_COUNTS
    save(cacher, files.open())
    assert load(cacher, files.open(fds=fds))[0] in WRONG_COUNTS


@pytest.mark.parametrize("place", [0, 1])
def test_save_to_cache_invalid_access_mode(cacher, tmp_path, place):
    files = Files(tmp_path)
    for path in files.paths:
        path.touch()
    handles, read_only = files.open(), files.open(os.O_RDONLY)
    handles[place] = read_only[place]
    result(save(cacher, handles))
    assert load(cacher, handles)[0] in WRONG_COUNTS


@pytest.mark.parametrize("place", [0, 1])
def test_prepare_model_from_cache_invalid_access_mode(cacher, tmp_path, place):
    files = Files(tmp_path)
    save(cacher, files.open())
    handles, write_only = files.open(), files.open(os.O_WRONLY)
    handles[place] = write_only[place]
    assert load(cacher, handles)[0] == S.GENERAL_FAILURE


@pytest.mark.parametrize("when", ["save", "load"])
def test_time_of_check_to_time_of_use(cacher, tmp_path, when):
    files, other = Files(tmp_path), Files(tmp_path, "other")
    save(cacher, other.open(), chain("MUL", cacher.hal))
    foreign = other.paths[0].read_bytes()
    add, wanted = chain("ADD", cacher.hal), X + 100

    def attack(stop):
        while not stop.is_set():
            files.paths[0].write_bytes(foreign)

    for _ in range(20):
        if when == "load":
            save(cacher, files.open(), add)
        stop = threading.Event()
        thread = threading.Thread(target=attack, args=(stop,))
        thread.start()
        try:
            if when == "save":
                save(cacher, files.open(), add)
            status, prepared = load(cacher, files.open())
        finally:
            stop.set()
            thread.join()
        # The same token, so that the other model's file is a whole cache together with its own data only.
        if status == S.NONE:
            assert np.array_equal(result(prepared), wanted)
        files.paths[0].unlink()
        files.paths[1].unlink()


def test_replace_security_sensitive_cache(cacher, tmp_path):
    files, other = Files(tmp_path), Files(tmp_path, "other")
    save(cacher, other.open(), chain("MUL", cacher.hal), TOKEN[::-1])
    save(cacher, files.open(), chain("ADD", cacher.hal))
    files.paths[0].write_bytes(other.paths[0].read_bytes())
    assert load(cacher, files.open())[0] == S.GENERAL_FAILURE


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("place", [0, 1])
def test_security_corrupted_and_wrong_length(cacher, tmp_path, place, seed):
    files, rng = Files(tmp_path), np.random.default_rng(seed)
    save(cacher, files.open())
    raw = files.paths[place].read_bytes()
    flipped = bytearray(raw)
    flipped[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    for wrong in (bytes(flipped), raw + rng.bytes(rng.integers(1, 257))):
        files.paths[place].write_bytes(wrong)
        assert load(cacher, files.open())[0] == S.GENERAL_FAILURE


def test_security_wrong_token(cacher, tmp_path):
    files = Files(tmp_path)
    save(cacher, files.open())
    wrong = bytearray(TOKEN)
    wrong[7] ^= 4
    assert load(cacher, files.open(), bytes(wrong))[0] == S.GENERAL_FAILURE
    assert load(cacher, files.open(), list(TOKEN))[0] == S.NONE


@pytest.mark.parametrize("token, said", [
    (None, "token: is NoneType, must be bytes"),
    (32, "token: is int, must be bytes"),
    ("0" * 32, "token: is str, must be bytes"),
    ([256] * 32, "token: holds something that is not a byte"),
    (TOKEN[:31], "the token is 31 bytes, must be 32"),
])
def test_tokens_that_are_none(cacher, tmp_path, token, said):
    files = Files(tmp_path)
    result(save(cacher, files.open(), token=token))
    save(cacher, files.open(), token=bytes(32))
    assert load(cacher, files.open(), token) == (S.INVALID_ARGUMENT, None)
    assert said in cacher.last_error()
    assert load(cacher, files.open(), np.zeros(32, np.uint8))[0] == S.NONE


@pytest.mark.parametrize("wrong, said", [
    (None, "modelCache: is NoneType, must be a list"),
    ([None], "modelCache[0]: is NoneType, must be Handle"),
    ([3], "modelCache[0]: is int, must be Handle"),
    ([Handle(3)], "modelCache[0] fds: is int, must be a list"),
    ([Handle(("3",))], "modelCache[0] fds: is '3', must be an open descriptor"),
    ([Handle((1 << 40,))], "model file 0 is 1099511627776, must be the number of an open descriptor"),
])
def test_handles_that_are_none(cacher, tmp_path, wrong, said):
    files = Files(tmp_path)
    _, data = files.open()
    result(save(cacher, (wrong, data)))
    assert load(cacher, (wrong, data)) == (S.INVALID_ARGUMENT, None)
    assert said in cacher.last_error()


def test_prepare_without_cache_stores_nothing(cacher, tmp_path):
    prepare(cacher)
    assert list(tmp_path.iterdir()) == []
