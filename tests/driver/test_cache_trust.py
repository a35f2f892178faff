"""What the compilation cache believes: files signed with the user's key, folders that are the user's alone."""

import os
import stat
import subprocess
import sys
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.processes import environment
from nnfast import CacheFiles, config
from nnfast.driver import key, stored_model
from nnfast.driver.cache_files import version_string
from nnfast.errors import GeneralFailure, InvalidArgument

TOKEN = bytes(range(32))
X = np.ones((1, 5, 5, 2), np.float32)


@pytest.fixture
def files(tmp_path):
    opened = [os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in ("m", "d")]
    yield CacheFiles((opened[0],), (opened[1],))
    for descriptor in opened:
        os.close(descriptor)


@pytest.fixture
def other_key(tmp_path, monkeypatch):
    """use(path): let another file hold the key from now on."""
    def use(path):
        monkeypatch.setenv("NNFAST_KEY", str(path))
        return path

    yield use
    key._digest.cache_clear()


# -- the key -----------------------------------------------------------------------------------------------------------
def test_the_key_is_made_once_for_its_user_alone(other_key, tmp_path):
    path = other_key(tmp_path / "state" / "nnfast" / "key")
    one = key.digest().of(b"x")
    found = path.stat()
    assert stat.S_IMODE(found.st_mode) == 0o600 and found.st_size == 32 and found.st_nlink == 1
    assert os.listdir(path.parent) == ["key"]
    key._digest.cache_clear()
    assert key.digest().of(b"x") == one


def test_processes_that_start_together_agree_on_the_key(tmp_path):
    program = "from nnfast.driver import key; print(); input(); print(key.digest().of(b'x').hex())"
    children = [subprocess.Popen([sys.executable, "-u", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, env=environment(NNFAST_KEY=str(tmp_path / "key"))) for _ in range(4)]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    answers = {child.communicate(timeout=600)[0] for child in children}
    assert len(answers) == 1 and len(answers.pop()) > 32
    assert os.listdir(tmp_path) == ["key"]


def _readable(path):
    path.write_bytes(bytes(32))
    path.chmod(0o644)


def _short(path):
    path.write_bytes(bytes(31))
    path.chmod(0o600)


def _link(path):
    real = path.parent / "real"
    real.write_bytes(bytes(32))
    real.chmod(0o600)
    path.symlink_to(real)


def _fifo(path):
    os.mkfifo(path, 0o600)


def _open_folder(path):
    path.parent.chmod(0o777)


@pytest.mark.parametrize("spoil", [_readable, _short, _link, _fifo, _open_folder])
def test_a_key_that_others_may_know_is_not_used(device, files, other_key, tmp_path, spoil):
    """The process then has a key of its own: its files are good for itself, and for nobody else."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    path = other_key(folder / "key")
    spoil(path)
    assert key.digest().of(b"x") == key.KeyedDigest(key._of_this_process).of(b"x")
    device.prepare(models.conv_model(), cache=files, token=TOKEN)
    device.prepare_from_cache(files, TOKEN)


def test_a_user_without_a_home_has_no_key_file(monkeypatch):
    for name in ("NNFAST_KEY", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert config.key_path() is None


def test_files_of_another_key_are_refused(device, files, other_key, tmp_path):
    device.prepare(models.conv_model(), cache=files, token=TOKEN)
    other_key(tmp_path / "another" / "key")
    with pytest.raises(GeneralFailure, match="stored under another key.*prepare the model from its source"):
        device.prepare_from_cache(files, TOKEN)


@pytest.mark.parametrize("known", [b"", bytes(32), b"public"])
def test_a_file_cannot_be_signed_without_the_key(device, files, known):
    """A forged head: one that reads well, digested with whatever a stranger knows."""
    prepared = device.prepare(models.conv_model(), cache=files, token=TOKEN)
    stranger = key.KeyedDigest(known.ljust(32, b"\0"))
    stamp = stored_model.stamp_of(version_string(), prepared.device, TOKEN)
    head, content, _ = stored_model.pack(prepared, stamp, stranger)
    for descriptor, data in zip((files.model[0], files.data[0]), (head, content)):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, data, 0)
    with pytest.raises(GeneralFailure, match="damaged, or was stored under another key"):
        device.prepare_from_cache(files, TOKEN)


# -- files of a client -------------------------------------------------------------------------------------------------
def test_a_head_beyond_all_models_is_not_read(device, files):
    device.prepare(models.conv_model(), cache=files, token=TOKEN)
    os.ftruncate(files.model[0], 1 << 40)  # a hole, which takes no space
    with pytest.raises(GeneralFailure, match="has 1099511627776 bytes, must be at most 16777216"):
        device.prepare_from_cache(files, TOKEN)


def test_files_that_would_block_are_refused(device, files, tmp_path):
    """Neither a pipe, which nobody writes, nor a device takes the driver's time."""
    device.prepare(models.conv_model(), cache=files, token=TOKEN)
    reading, writing = os.pipe()
    null = os.open("/dev/zero", os.O_RDWR)
    try:
        for odd in (reading, writing, null):
            for wrong in (CacheFiles((odd,), files.data), CacheFiles(files.model, (odd,))):
                with pytest.raises(GeneralFailure, match="it is not a regular file"):
                    device.prepare_from_cache(wrong, TOKEN)
                device.prepare(models.two_step_model(), cache=wrong, token=TOKEN)
            device.prepare(models.conv_model(), cache=files, token=TOKEN)
    finally:
        for descriptor in (reading, writing, null):
            os.close(descriptor)


# -- cache_dir ---------------------------------------------------------------------------------------------------------
def _shared_file(path):
    path.chmod(0o666)


def _file_behind_a_link(path):
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")


def _pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("kind", ["model", "data"])
@pytest.mark.filterwarnings("ignore:prepare cache_dir")
@pytest.mark.parametrize("spoil", [_shared_file, _file_behind_a_link, _pipe, _folder])
def test_odd_files_of_a_folder_are_not_opened(device, tmp_path, monkeypatch, kind, spoil):
    """They are replaced, except for a folder, which nothing can take the place of."""
    wanted = device.prepare(models.conv_model(), cache_dir=tmp_path).run([X])[0]
    path = next(tmp_path.glob(f"*.{kind}"))
    spoil(path)
    loads = []
    monkeypatch.setattr(type(device), "cached", lambda *_: loads.append(1))
    assert np.array_equal(device.prepare(models.conv_model(), cache_dir=tmp_path).run([X])[0], wanted)
    assert not loads
    found = os.lstat(path)
    assert stat.S_ISDIR(found.st_mode) if spoil is _folder else \
        stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600


def test_a_folder_that_others_may_write_is_neither_read_nor_written(device, tmp_path):
    folder = tmp_path / "open"
    wanted = device.prepare(models.conv_model(), cache_dir=folder).run([X])[0]
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    for path in before:
        path.write_bytes(b"junk")
        before[path] = path.stat().st_mtime_ns
    for mode in (0o777, 0o770):
        folder.chmod(mode)
        with pytest.warns(RuntimeWarning, match="not kept"):
            assert np.array_equal(device.prepare(models.conv_model(), cache_dir=folder).run([X])[0], wanted)
        assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    link = tmp_path / "link"
    folder.chmod(0o700)
    link.symlink_to(folder)
    with pytest.warns(RuntimeWarning, match="not kept"):
        device.prepare(models.conv_model(), cache_dir=link).run([X])
    assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.filterwarnings("ignore:prepare cache_dir")
@pytest.mark.parametrize("what", ["folder", "model", "data"])
def test_what_belongs_to_another_user_is_not_believed(device, tmp_path, monkeypatch, what):
    wanted = device.prepare(models.conv_model(), cache_dir=tmp_path).run([X])[0]
    os.chown(tmp_path if what == "folder" else next(tmp_path.glob(f"*.{what}")), 65534, 65534)
    loads = []
    monkeypatch.setattr(type(device), "cached", lambda *_: loads.append(1))
    assert np.array_equal(device.prepare(models.conv_model(), cache_dir=tmp_path).run([X])[0], wanted)
    assert not loads


def test_a_data_file_that_is_cut_short_later_does_no_harm(device, tmp_path):
    device.prepare(models.conv_model(), cache_dir=tmp_path)
    loaded = device.prepare(models.conv_model(), cache_dir=tmp_path)
    wanted = loaded.run([X])[0]
    for path in tmp_path.iterdir():
        os.truncate(path, 0)
    assert loaded.spare is not None
    assert np.array_equal(loaded.run([X])[0], wanted)


@pytest.mark.parametrize("wrong", [5, 1.5, "a\0b", b"a\0b", "\ud800", object(), ["folder"], "x\0" * 5000])
def test_what_is_no_path_is_an_invalid_argument(device, wrong):
    with pytest.raises(InvalidArgument, match="prepare cache_dir: is .*, must be a path") as caught:
        device.prepare(models.conv_model(), cache_dir=wrong)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("odd", ["/proc/self/nope", "/dev/null", "n" * 5000, b"\xff"])
def test_paths_that_cannot_be_used_do_no_harm(device, tmp_path, monkeypatch, odd):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(RuntimeWarning, match="not kept") if odd != b"\xff" else nullcontext():
        device.prepare(models.conv_model(), cache_dir=odd).run([X])


def test_threads_that_fill_one_folder(device, tmp_path):
    wanted, errors = device.prepare(models.conv_model()).run([X])[0], []

    def work():
        try:
            for _ in range(10):
                assert np.array_equal(device.prepare(models.conv_model(), cache_dir=tmp_path).run([X])[0], wanted)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert not errors
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".data", ".model"]


def test_a_restored_model_refuses_to_be_read(device, files):
    """Large constants that only packing reads are not in the files; the model says so instead of giving anything."""
    rng = np.random.default_rng(1)
    b = nnfast.ModelBuilder("dense")
    x = b.input("TENSOR_FLOAT32", (1, 64))
    w = b.constant(rng.standard_normal((64, 64)).astype(np.float32))
    y = b.output("TENSOR_FLOAT32", (1, 64))
    b.operation("FULLY_CONNECTED", [x, w, b.constant(np.zeros(64, np.float32)), b.scalar(0)], [y])
    stored = device.prepare(b.build(), cache=files, token=TOKEN)
    loaded = device.prepare_from_cache(files, TOKEN)
    data = next(o.data for o in loaded.model.main.operands if o.is_constant and o.dims == (64, 64))
    assert data.shape == (64, 64) and data.nbytes == 4 * 64 * 64
    for read in (np.asarray, len, list, bool, lambda d: d[0], lambda d: d.tobytes(), lambda d: d == 1):
        with pytest.raises(GeneralFailure, match="its values were not kept"):
            read(data)
    image = rng.standard_normal((1, 64)).astype(np.float32)
    assert np.array_equal(loaded.run([image])[0], stored.run([image])[0])
    again = device.prepare(models.conv_model())
    assert nnfast.Device(1).prepare(again.model).run([X])[0].shape == (1, 5, 5, 4)
