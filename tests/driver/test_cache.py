"""Compilation caching [NN 7.5]: each case on a model that is planned when prepared, and on one planned at execution."""

import mmap
import os
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.caches import TOKEN, files_in
from helpers.open_files import open_files
from helpers.tree import ROOT
from nnfast import CacheFiles, ModelBuilder
from nnfast.driver import cache_folder, stored_model
from nnfast.driver import prepared as prepared_module
from nnfast.errors import GeneralFailure, InvalidArgument
from nnfast.model import proof, validate

SEEDS = range(10)
DIGITS = ROOT / "nnfast" / "data" / "digits_int8.tflite"


@pytest.fixture
def files(tmp_path):
    opened = files_in(tmp_path)
    yield opened
    for descriptor in (*opened.model, *opened.data):
        os.close(descriptor)


@pytest.fixture(params=["plan", "model"])
def model(request):
    return models.conv_model() if request.param == "plan" else models.conv_model(batch=0)


X = np.ones((1, 5, 5, 2), np.float32)


def content(descriptor):
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def rewrite(descriptor, data):
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)


def test_saving_and_retrieval(device, files, model):
    stored = device.prepare(model, cache=files, token=TOKEN, priority="high", preference="low_power")
    loaded = device.prepare_from_cache(files, TOKEN)
    assert np.array_equal(loaded.run([X])[0], stored.run([X])[0])
    assert loaded.priority == "high"
    assert loaded.inputs == stored.inputs and loaded.outputs == stored.outputs
    assert str(loaded.explain()) == str(stored.explain())
    assert np.array_equal(pickle.loads(pickle.dumps(loaded)).run([X])[0], stored.run([X])[0])


def test_files_with_content_at_any_offset(device, files, model):
    for descriptor in (*files.model, *files.data):
        os.write(descriptor, b"junk" * 1000)
    wanted = device.prepare(model, cache=files, token=TOKEN).run([X])[0]
    for descriptor in (*files.model, *files.data):
        os.lseek(descriptor, 1, os.SEEK_SET)
    assert np.array_equal(device.prepare_from_cache(files, TOKEN).run([X])[0], wanted)


def test_wrong_counts_store_nothing_and_load_nothing(device, files, model):
    (m,), (d,) = files.model, files.data
    for wrong in (CacheFiles((), (d,)), CacheFiles((m, m), (d,)), CacheFiles((m,), ()), CacheFiles((m,), (d, d))):
        device.prepare(model, cache=wrong, token=TOKEN).run([X])
        with pytest.raises(InvalidArgument, match="files, must be 1"):
            device.prepare_from_cache(wrong, TOKEN)
        with pytest.raises(GeneralFailure):
            device.prepare_from_cache(files, TOKEN)
    device.prepare(model, cache=files, token=TOKEN)
    device.prepare_from_cache(files, TOKEN)


@pytest.mark.parametrize("wrong, said", [
    (None, "is NoneType, must be an nnfast.CacheFiles"),
    ((3,), "is tuple, must be an nnfast.CacheFiles"),
    (CacheFiles(None, (3,)), "the model files are NoneType, must be a tuple"),
    (CacheFiles((3,), 3), "the data files are int, must be a tuple"),
    (CacheFiles(("3",), (3,)), "model file 0 is '3', must be the number of an open descriptor"),
    (CacheFiles((3,), (None,)), "data file 0 is None, must be the number"),
    (CacheFiles((True,), (3,)), "model file 0 is True, must be"),
    (CacheFiles((3,), (1 << 40,)), "data file 0 is 1099511627776, must be"),
])
def test_files_that_are_none(device, wrong, said):
    with pytest.raises(InvalidArgument, match=said):
        device.prepare_from_cache(wrong, TOKEN)
    if wrong is not None:
        device.prepare(models.conv_model(), cache=wrong, token=TOKEN).run([X])


def test_descriptors_that_are_not_open(device, files):
    for wrong in (CacheFiles((-1,), files.data), CacheFiles(files.model, (-1,))):
        device.prepare(models.conv_model(), cache=wrong, token=TOKEN).run([X])
        with pytest.raises(GeneralFailure):
            device.prepare_from_cache(wrong, TOKEN)


@pytest.mark.parametrize("kind", ["model", "data"])
def test_files_that_cannot_be_written_or_read(device, files, model, tmp_path, kind):
    device.prepare(model, cache=files, token=TOKEN)
    for flags, act in ((os.O_RDONLY, "save"), (os.O_WRONLY, "load")):
        other = os.open(tmp_path / f"cache.{kind}", flags)
        wrong = CacheFiles((other,), files.data) if kind == "model" else CacheFiles(files.model, (other,))
        if act == "load":
            with pytest.raises(GeneralFailure, match="cannot be read"):
                device.prepare_from_cache(wrong, TOKEN)
        else:
            device.prepare(models.two_step_model(), cache=wrong, token=TOKEN)
            if kind == "data":  # the model file could be written, so that nothing loads any more
                with pytest.raises(GeneralFailure):
                    device.prepare_from_cache(wrong, TOKEN)
        os.close(other)
        device.prepare(model, cache=files, token=TOKEN)


def test_another_models_file_does_not_pass(device, files, model, tmp_path):
    other = files_in(tmp_path, "other")
    device.prepare(model, cache=files, token=TOKEN)
    device.prepare(models.two_step_model(), cache=other, token=TOKEN[::-1])
    rewrite(files.model[0], content(other.model[0]))
    with pytest.raises(GeneralFailure, match="another token"):
        device.prepare_from_cache(files, TOKEN)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["model", "data"])
def test_one_changed_bit(device, files, model, kind, seed):
    device.prepare(model, cache=files, token=TOKEN)
    [descriptor] = getattr(files, kind)
    raw = bytearray(content(descriptor))
    rng = np.random.default_rng(seed)
    raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    rewrite(descriptor, raw)
    with pytest.raises(GeneralFailure, match="damaged|no compiled model|does not hold"):
        device.prepare_from_cache(files, TOKEN)


@pytest.mark.parametrize("kind", ["model", "data"])
def test_every_byte_of_the_head_and_a_thousand_others(device, files, model, kind):
    device.prepare(model, cache=files, token=TOKEN)
    [descriptor] = getattr(files, kind)
    raw = content(descriptor)
    rng = np.random.default_rng(5)
    for place in (*range(64), *rng.integers(64, len(raw), 1000)):
        os.pwrite(descriptor, bytes([raw[place] ^ rng.integers(1, 256)]), place)
        with pytest.raises(GeneralFailure):
            device.prepare_from_cache(files, TOKEN)
        os.pwrite(descriptor, raw[place:place + 1], place)
    device.prepare_from_cache(files, TOKEN)


@pytest.mark.parametrize("kind", ["model", "data"])
def test_another_length(device, files, model, kind):
    device.prepare(model, cache=files, token=TOKEN)
    [descriptor] = getattr(files, kind)
    raw = content(descriptor)
    for wrong in (raw + b"x", raw + bytes(256), raw[:-1], raw[:8], b""):
        rewrite(descriptor, wrong)
        with pytest.raises(GeneralFailure):
            device.prepare_from_cache(files, TOKEN)
    rewrite(descriptor, raw)
    device.prepare_from_cache(files, TOKEN)


def test_tokens(device, files, model):
    device.prepare(model, cache=files, token=TOKEN)
    for place in range(0, 32, 5):
        wrong = bytearray(TOKEN)
        wrong[place] ^= 1
        with pytest.raises(GeneralFailure, match="another token"):
            device.prepare_from_cache(files, bytes(wrong))
    for token in (b"short", None, TOKEN + b"x", 32, list(TOKEN)):
        with pytest.raises(InvalidArgument, match="must be 32 bytes"):
            device.prepare_from_cache(files, token)
        device.prepare(model, cache=files, token=token).run([X])


def test_stored_for_another_level(device, files, model):
    from nnfast._native import kernels

    device.prepare(model, cache=files, token=TOKEN)
    if kernels.level() == "scalar":
        pytest.skip("this machine has no other level")
    kernels.set_level("scalar")
    try:
        with pytest.raises(GeneralFailure, match="another instruction level"):
            device.prepare_from_cache(files, TOKEN)
    finally:
        kernels.set_level(None)


def test_a_small_data_file_is_read_before_planning(device, files, monkeypatch):
    """Threads that read meanwhile cost 0.2 ms to wake, which for a small model was more than compiling it."""
    device.prepare(models.conv_model(), cache=files, token=TOKEN)
    seen, unpack = [], stored_model.unpack
    monkeypatch.setattr(stored_model, "unpack", lambda content, data, count, is_late, source: (
        seen.append(is_late), unpack(content, data, count, is_late, source))[1])
    device.prepare_from_cache(files, TOKEN)
    assert seen == [False]


def test_files_that_change_meanwhile(device, files, tmp_path):
    """Another model's files are written over ours while we store and load: what loads gives our results."""
    one, other = models.conv_model(), models.two_step_model()
    foreign = files_in(tmp_path, "other")
    device.prepare(other, cache=foreign, token=TOKEN)
    replacement, stop = content(foreign.model[0]), threading.Event()
    wanted = device.prepare(one).run([X])[0]

    def attack():
        while not stop.is_set():
            rewrite(files.model[0], replacement)

    for _ in range(50):
        thread = threading.Thread(target=attack)
        thread.start()
        try:
            device.prepare(one, cache=files, token=TOKEN)
            try:
                loaded = device.prepare_from_cache(files, TOKEN)
            except GeneralFailure:
                continue
        finally:
            stop.set()
            thread.join()
            stop.clear()
        # A plan that came through is ours, or as a whole the other one's, whose token is the same here.
        if len(loaded.inputs) == 1:
            assert np.array_equal(loaded.run([X])[0], wanted)
    device.prepare(one, cache=files, token=TOKEN)
    assert np.array_equal(device.prepare_from_cache(files, TOKEN).run([X])[0], wanted)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create")
def test_sealed_memory_is_used_in_place(device):
    import fcntl

    def memory(data=b""):
        descriptor = os.memfd_create("cache", os.MFD_ALLOW_SEALING)
        os.write(descriptor, data)
        return descriptor

    files, x = CacheFiles((memory(),), (memory(),)), np.ones((1, 1024), np.float32)
    b = ModelBuilder()
    b.operation("FULLY_CONNECTED", [b.input("TENSOR_FLOAT32", (1, 1024)), b.constant(np.ones((64, 1024), np.float32)),
                                    b.constant(np.arange(64, dtype=np.float32)), b.scalar(0)],
                [b.output("TENSOR_FLOAT32", (1, 64))])
    wanted = device.prepare(b.build(), cache=files, token=TOKEN).run([x])[0]
    fcntl.fcntl(files.data[0], fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    mapped = device.prepare_from_cache(files, TOKEN)
    loose = CacheFiles(files.model, (memory(content(files.data[0])),))
    copied = device.prepare_from_cache(loose, TOKEN)
    os.ftruncate(loose.data[0], 0)  # would be a bus error if it were mapped
    for prepared in (mapped, copied):
        assert np.array_equal(prepared.run([x])[0], wanted)
    assert isinstance(_base(mapped), mmap.mmap) and not isinstance(_base(copied), mmap.mmap)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memfd_create")
def test_small_sealed_memory_is_copied(device):
    import fcntl

    files = CacheFiles((os.memfd_create("model"),), (os.memfd_create("data", os.MFD_ALLOW_SEALING),))
    wanted = device.prepare(models.conv_model(), cache=files, token=TOKEN).run([X])[0]
    fcntl.fcntl(files.data[0], fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    loaded = device.prepare_from_cache(files, TOKEN)
    assert np.array_equal(loaded.run([X])[0], wanted) and not isinstance(_base(loaded), mmap.mmap)


def _base(prepared):
    array = next(iter(prepared.executor.segment.frame_spec["constants"].values()))
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_a_folder_of_compiled_models(device, tmp_path, monkeypatch, model):
    folder = tmp_path / "made"
    wanted = device.prepare(model, cache_dir=folder).run([X])[0]
    names = sorted(p.suffix for p in folder.iterdir())
    assert names == [".data", ".model"]
    stamps = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    monkeypatch.setenv("NNFAST_CACHE_DIR", str(folder))
    assert np.array_equal(device.prepare(model).run([X])[0], wanted)
    assert stamps == {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    device.prepare(model, priority="low")
    device.prepare(models.conv_model(size=6))
    assert len(list(folder.iterdir())) == 6


def test_a_folder_takes_the_models_of_its_caller(device, tmp_path, monkeypatch):
    """Which is neither made again of the file nor checked again, and whose packed constants are not kept."""
    model = nnfast.load(DIGITS)
    x = np.ones((1, 8, 8, 1), np.int8)
    made = device.prepare(model, cache_dir=tmp_path)
    monkeypatch.setattr(stored_model, "model_of", None)
    for module in (validate, prepared_module):
        monkeypatch.setattr(module, "check_structure", None)
    loaded = device.prepare(model, cache_dir=tmp_path)
    assert np.array_equal(loaded.run([x])[0], made.run([x])[0])
    assert loaded.spare and loaded.spare == made.spare and loaded.whole is model and loaded.source is not model


def test_a_file_is_known_by_its_bytes(device, tmp_path, monkeypatch):
    """What is made of it is not looked at, and was found right before it was stored."""
    x = np.ones((1, 8, 8, 1), np.int8)
    wanted = device.prepare(nnfast.load(DIGITS), cache_dir=tmp_path).run([x])[0]
    model = nnfast.load(DIGITS)
    for module, name in ((cache_folder, "record_of"), (validate, "check_structure"),
                         (prepared_module, "check_structure"), (prepared_module, "check_model")):
        monkeypatch.setattr(module, name, None)
    loaded = device.prepare(model, cache_dir=tmp_path)
    assert np.array_equal(loaded.run([x])[0], wanted) and loaded.spare and loaded.whole is model
    assert len(list(tmp_path.iterdir())) == 2


def test_what_else_a_loaded_model_depends_on(device, tmp_path):
    content, folder = DIGITS.read_bytes(), tmp_path / "made"
    (tmp_path / "other.tflite").write_bytes(content)
    assert content.count(b"nnfast demo") == 1
    retold = content.replace(b"nnfast demo", b"nnfast Demo")
    loads = [(DIGITS, {}), (tmp_path / "other.tflite", {}), (retold, {}), (content, {}), (content, {"relaxed": True}),
             (content, {"arithmetic": "nnapi"}), (content, {"input_shapes": {0: (2, 8, 8, 1)}}),
             (content, {"input_shapes": {0: (3, 8, 8, 1)}})]
    for again in (False, True):
        for count, (source, options) in enumerate(loads, 1):
            model = nnfast.load(source, **options)
            prepared = device.prepare(model, cache_dir=folder)
            assert prepared.inputs[0].shape == options.get("input_shapes", {0: (1, 8, 8, 1)})[0]
            assert prepared.model.relaxed == ("relaxed" in options) and prepared.model.name == model.name
            assert len(list(folder.iterdir())) == 2 * (len(loads) if again else count)


def test_a_file_whose_name_is_no_text(device, tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.tflite")
    path.write_bytes(DIGITS.read_bytes())
    for _ in range(2):
        assert device.prepare(nnfast.load(path), cache_dir=tmp_path / "made").model.name == "?"
    assert len(list((tmp_path / "made").iterdir())) == 2


def test_a_loaded_model_that_was_changed(device, tmp_path):
    """Its file does not stand for it any more."""
    x = np.ones((1, 8, 8, 1), np.int8)
    model = nnfast.load(DIGITS)
    wanted = device.prepare(model, cache_dir=tmp_path).run([x])[0]
    assert proof.origin_of(model) is not None
    place, weights = next((i, o) for i, o in enumerate(model.main.operands) if o.is_constant and len(o.dims) == 4)
    operands = list(model.main.operands)
    operands[place] = replace(weights, data=weights.data // 2)
    other = model.with_main(operands=tuple(operands))
    assert other.origin is None is pickle.loads(pickle.dumps(model)).origin
    assert not np.array_equal(device.prepare(other, cache_dir=tmp_path).run([x])[0], wanted)
    assert len(list(tmp_path.iterdir())) == 4

    fresh = nnfast.load(DIGITS)
    data = fresh.main.operands[place].data
    data.shape = data.shape[::-1]
    assert proof.origin_of(fresh) is None
    with pytest.raises(InvalidArgument, match=rf"main.operand\[{place}\]: data has shape"):
        device.prepare(fresh, cache_dir=tmp_path)


def test_a_damaged_folder_is_mended(device, tmp_path, model):
    wanted = device.prepare(model, cache_dir=tmp_path).run([X])[0]
    for path in tmp_path.iterdir():
        path.write_bytes(b"junk")
    assert np.array_equal(device.prepare(model, cache_dir=tmp_path).run([X])[0], wanted)
    assert all(path.stat().st_size > 100 for path in tmp_path.iterdir())
    assert np.array_equal(device.prepare(model, cache_dir=tmp_path).run([X])[0], wanted)


def test_a_folder_that_cannot_be_used_does_no_harm(device, tmp_path, model):
    (tmp_path / "file").write_text("no folder")
    told_of = "prepare cache_dir: .*file.*: the compiled model is not kept, .*exists"
    with pytest.warns(RuntimeWarning, match=told_of) as told:
        prepared = device.prepare(model, cache_dir=tmp_path / "file")
    assert [one.filename for one in told] == [__file__]
    prepared.run([X])


def test_states_and_kept_operands_travel(device, files):
    model = models.counter_model()
    stream = device.prepare(model, cache=files, token=TOKEN).stream()
    loaded = device.prepare_from_cache(files, TOKEN).stream()
    x = np.ones(3, np.float32)
    for _ in range(3):
        assert np.array_equal(stream.run([x])[0], loaded.run([x])[0])
    device.prepare(models.two_step_model(), keep=["sum"], cache=files, token=TOKEN)
    ones = np.ones((2, 3), np.float32)
    assert np.array_equal(device.prepare_from_cache(files, TOKEN).run([ones, ones])[1], ones + ones)


def test_nothing_stays_open(device, files):
    before = open_files()
    device.prepare(models.conv_model(), cache=files, token=TOKEN)
    loaded = device.prepare_from_cache(files, TOKEN)
    del loaded
    assert not open_files() - before


def test_shared_models_load_from_cache(device, files, shared_models):
    for path in shared_models:
        model = nnfast.load(path)
        stored = device.prepare(model, cache=files, token=TOKEN)
        x = [np.random.default_rng(1).integers(-9, 9, i.shape).astype(i.dtype) for i in stored.inputs]
        loaded = device.prepare_from_cache(files, TOKEN)
        assert loaded.spare is not None
        assert all(np.array_equal(a, b) for a, b in zip(loaded.run(x), stored.run(x)))
