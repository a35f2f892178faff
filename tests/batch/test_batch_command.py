"""`nnfast batch` in one process: every kind of input and output, restart, bad items, refusals."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import nnfast
from helpers.batch_data import FLAT, SIZE, batch, copying, save_pictures
from helpers.commands import ROOT, assert_one_error_line, call
from helpers.processes import environment
from nnfast.batch import store


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def read_output(path):
    """(names, rows) of an output."""
    if path.suffix == ".npy":
        return [row["item"] for row in read_rows(f"{path}.items.csv")], np.load(path)
    if path.suffix == ".npz":
        with np.load(path) as found:
            return found["item"].tolist(), found[next(name for name in found.files if name != "item")]
    if path.suffix == ".zarr":
        found = pytest.importorskip("zarr").open(path, mode="r")
        return found["item"][:].tolist(), found[next(name for name in found.array_keys() if name != "item")][:]
    found = pytest.importorskip("pyarrow.parquet").read_table(path)
    return found["item"].to_pylist(), np.array(found.column(1).to_pylist(), np.uint8)


def alone(model, images, name, tmp_path, *options):
    """What `nnfast run --image` gives for a picture."""
    assert call("run", model, "--image", images / name, "--output", tmp_path / "alone.npz", "--threads", 1, "--json",
                tmp_path / "alone.json", *options) == 0
    with np.load(tmp_path / "alone.npz") as found:
        return found["output_0"][0]


def needs(suffix):
    module = {".zarr": "zarr", ".parquet": "pyarrow"}.get(suffix)
    if module:
        pytest.importorskip(module)


# -- inputs and outputs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("end", [".npy", ".npz", ".zarr", ".parquet"])
def test_pictures_as_run_prepares_them(tmp_path, model, images, end):
    needs(end)
    (images / "more").mkdir()
    os.rename(images / "07.png", images / "more" / "07.png")
    (images / "labels.txt").write_text("not a picture")
    out = tmp_path / f"out{end}"
    code, document = batch(model, images, output=out, chunk=4, threads=2)
    assert (code, document["written"], document["failed"], document["computed"]) == (0, 11, 0, 11)
    names, rows = read_output(out)
    assert names == sorted(names) and "more/07.png" in names and len(names) == 11
    for name, row in zip(names, rows):
        assert row.tobytes() == alone(model, images, name, tmp_path).tobytes()
    assert not os.path.exists(f"{out}.parts") and not os.path.exists(f"{out}.failed.csv")


def test_picture_options_are_those_of_run(tmp_path, images):
    (tmp_path / "f.tflite").write_bytes(copying("float32"))
    out = tmp_path / "out.npy"
    options = {"mean": "10,20,30", "std": "50", "crop": "0"}
    assert batch(tmp_path / "f.tflite", images, output=out, **options)[0] == 0
    names, rows = read_output(out)
    for name, row in zip(names, rows):
        expected = alone(tmp_path / "f.tflite", images, name, tmp_path, *(f"--{k}={v}" for k, v in options.items()))
        assert row.tobytes() == expected.tobytes()


def rows_of(count, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, SIZE, SIZE, 3), np.uint8)


@pytest.mark.parametrize("end", [".npy", ".npz", ".zarr", ".zarr group", ".parquet"])
def test_arrays(tmp_path, model, end):
    needs(end.split()[0])
    x, path = rows_of(23), tmp_path / f"x{end.split()[0]}"
    if end == ".npy":
        np.save(path, x)
    elif end == ".npz":
        np.savez(path, x=x, other=np.zeros(2))
    elif end == ".zarr":
        import zarr
        zarr.create_array(store=path, data=x, chunks=(5, SIZE, SIZE, 3))
    elif end == ".zarr group":
        import zarr
        group = zarr.open_group(path, mode="w")
        group.create_array("x", data=x, chunks=(4, SIZE, SIZE, 3))
        group.create_array("other", data=x[:2], chunks=(2, SIZE, SIZE, 3))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq
        column = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), FLAT)
        pq.write_table(pa.table({"n": range(23), "x": column}), path, row_group_size=6)
    for options in ({"chunk": 4}, {"chunk": 100, "batch": 3, "clients": 2}):
        out = tmp_path / "out.npy"
        assert batch(model, path, output=out, overwrite=True, **options)[0] == 0
        names, rows = read_output(out)
        assert names == [f"{path}[{k}]" for k in range(23)]
        assert np.array_equal(rows, x.reshape(23, -1))


def test_nested_lists_and_scalars_in_columns(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    b = nnfast.ModelBuilder("two")
    x, z = b.input("TENSOR_FLOAT32", (1, 2, 2), name="x"), b.input("TENSOR_FLOAT32", (1,), name="z")
    y = b.output("TENSOR_FLOAT32", (1, 2, 2), name="y")
    b.operation("ADD", [x, z, b.scalar(0)], [y]).build().save(tmp_path / "m.nnapi")
    nested = pa.array([[[1, 2], [3, 4]], [[5, 6], [7]], None, [[0, 0], [0, 1]]], pa.list_(pa.list_(pa.float32())))
    pq.write_table(pa.table({"picture": nested, "z": pa.array([1, 2, 3, 4], pa.float32())}), tmp_path / "t.parquet")
    out = tmp_path / "out.npy"
    code, document = batch(tmp_path / "m.nnapi", tmp_path / "t.parquet", output=out, column="x=picture")
    assert (code, document["failed"]) == (1, 2)
    assert np.load(out).tolist() == [[[2, 3], [4, 5]], [[4, 4], [4, 5]]]
    reasons = [row["reason"] for row in read_rows(f"{out}.failed.csv")]
    assert "has 3 numbers" in reasons[0] and "has no value" in reasons[1]


def test_several_inputs_and_outputs(tmp_path):
    (tmp_path / "m.tflite").write_bytes(copying(outputs=2))
    x = rows_of(5)
    np.save(tmp_path / "a.npy", x[:2])
    np.save(tmp_path / "b.npy", x[2:, None])
    images = save_pictures(tmp_path / "images", 2)
    out = tmp_path / "out.npz"
    assert batch(tmp_path / "m.tflite", tmp_path / "a.npy", tmp_path / "b.npy", images, output=out, chunk=3)[0] == 0
    with np.load(out) as found:
        assert sorted(found.files) == ["item", "y0", "y1"]
        assert np.array_equal(found["y0"][:5], x.reshape(5, -1)) and np.array_equal(found["y0"], found["y1"])
        assert found["item"].tolist() == [f"{tmp_path}/{name}" for name in (
            "a.npy[0]", "a.npy[1]", "b.npy[0]", "b.npy[1]", "b.npy[2]", "images/00.png", "images/01.png")]


# -- bad items ---------------------------------------------------------------------------------------------------------
def test_bad_pictures_do_not_stop_the_run(tmp_path, model, images):
    for name, data in (("03.png", b"no picture"), ("05.png", (images / "05.png").read_bytes()[:60]), ("zz.jpg", b"")):
        (images / name).write_bytes(data)
    out = tmp_path / "out.npy"
    code, document = batch(model, images, output=out, chunk=2, batch=3)
    assert (code, document["items"], document["written"], document["failed"]) == (1, 12, 9, 3)
    failed = read_rows(f"{out}.failed.csv")
    assert [(row["index"], row["item"]) for row in failed] == [("3", "03.png"), ("5", "05.png"), ("11", "zz.jpg")]
    assert "not a picture" in failed[0]["reason"] and "cannot be decoded" in failed[1]["reason"]
    names, rows = read_output(out)
    assert len(names) == len(rows) == 9 and "03.png" not in names
    assert np.array_equal(rows[-1], alone(model, images, "10.png", tmp_path))
    assert batch(model, images, output=out, chunk=2, batch=3)[0] == 1  # complete, and still not all well


def test_all_bad(tmp_path, model):
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"?")
    out = tmp_path / "out.npy"
    assert batch(model, folder, output=out)[0] == 1
    assert np.load(out).shape == (0, FLAT)


# -- going on ----------------------------------------------------------------------------------------------------------
KILLED = """
import os, signal, sys
from nnfast.batch import runner, store
from nnfast.cli.main import main
after = int(sys.argv[1])
write, calls = store.write_file, []

def killed(path, fill):
    calls.append(path)
    if len(calls) == after:
        {early}
    write(path, fill)
    if len(calls) == after:
        os.kill(os.getpid(), signal.SIGKILL)

store.write_file = runner.write_file = killed
raise SystemExit(main(sys.argv[2:]))
"""
"""`nnfast batch` that kills itself after, or in the middle of, the n-th file that it writes."""

IN_THE_MIDDLE = "open(path + '.unfinished', 'wb').write(b'half of it'); os.kill(os.getpid(), signal.SIGKILL)"


def killed(after, early, *arguments):
    done = subprocess.run([sys.executable, "-c", KILLED.replace("{early}", early), str(after), *map(str, arguments)],
                          cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode in (0, 1, -signal.SIGKILL), done.stderr
    return done.returncode


COPIES = """
import json, os, sys
import PIL.Image, nnfast.batch.sources, nnfast.cli.main, nnfast.driver.prepared
if sys.argv[1] == ".zarr":
    import zarr
for line in sys.stdin:
    program, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        os.dup2(2, 1)
        sys.argv[1:] = arguments
        exec(program, {"__name__": "__main__"})
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs programs in copies of a process that has imported what they need, and has run nothing."""


@pytest.fixture
def killed_copy(end, tmp_path):
    """killed() without a start of Python."""
    with open(tmp_path / "errors", "w+") as errors, \
            subprocess.Popen([sys.executable, "-c", COPIES, end], cwd=ROOT, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()) as process:
        def call(after, early, *arguments):
            program = KILLED.replace("{early}", early)
            process.stdin.write(json.dumps([program, str(after), *map(str, arguments)]) + "\n")
            process.stdin.flush()
            code = int(process.stdout.readline())
            assert code in (0, 1, -signal.SIGKILL), errors.seek(0) or errors.read()
            return code

        yield call


@pytest.mark.parametrize("early", ["pass", IN_THE_MIDDLE], ids=["after a file", "in a file"])
@pytest.mark.parametrize("end", [".npy", ".zarr"])
def test_killed_at_every_file(tmp_path, model, images, end, early, killed_copy):
    needs(end)
    (images / "04.png").write_bytes(b"no picture")
    whole, out = tmp_path / f"whole{end}", tmp_path / f"out{end}"
    assert batch(model, images, output=whole, chunk=4)[0] == 1
    expected = read_output(whole)
    arguments = ("batch", model, images, "--output", out, "--chunk", "4")
    after = 0
    while True:  # each time a process is killed one file later than the one before, all from the beginning
        after += 1
        code = killed_copy(after, early, *arguments, "--overwrite")
        if code == 1:
            break
        assert batch(model, images, output=out, chunk=4)[0] == 1
        names, rows = read_output(out)
        assert names == expected[0] and rows.tobytes() == expected[1].tobytes()
        assert [row["item"] for row in read_rows(f"{out}.failed.csv")] == ["04.png"]
        assert not os.path.exists(f"{out}.parts")
    assert after > 5 and read_output(out)[1].tobytes() == expected[1].tobytes()


def test_going_on_computes_only_what_is_missing(tmp_path, model, images):
    out = tmp_path / "out.npy"
    assert killed(3, "pass", "batch", model, images, "--output", out, "--chunk", 3) == -signal.SIGKILL
    assert batch(model, images, output=out, chunk=3)[1]["computed"] == 11 - 2 * 3  # job.json and two chunks were there
    assert batch(model, images, output=out, chunk=3)[1]["computed"] == 0


def test_interrupted(tmp_path, model, images):
    # Programs in the background of a shell begin with the signal ignored.
    code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + \
        KILLED.replace("SIGKILL", "SIGINT").replace("{early}", "pass")
    out = tmp_path / "out.npy"
    done = subprocess.run([sys.executable, "-c", code, "2", "batch", str(model), str(images), "--output", str(out),
                           "--chunk", "4"], cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 130
    assert done.stderr == "nnfast: 4 of 11 items are finished and kept; the same command goes on\nnnfast: interrupted\n"
    assert batch(model, images, output=out, chunk=4)[1]["computed"] == 7


def test_a_full_disk_is_one_line(tmp_path, model):
    images, out = save_pictures(tmp_path / "many", 40), tmp_path / "out.npy"
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); " \
           "from nnfast.cli.main import main; raise SystemExit(main(sys.argv[1:]))"
    arguments = ["batch", str(model), str(images), "--output", str(out), "--chunk", "40"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, env=environment())
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "cannot be written: File too large; what is finished is kept, the same command goes on" in done.stderr
    assert os.listdir(f"{out}.parts") != [] and not out.exists()
    assert batch(model, images, output=out, chunk=40)[0] == 0


def test_a_disk_that_has_room_for_the_parts_alone(tmp_path, model):
    images, out = save_pictures(tmp_path / "many", 60), tmp_path / "out.npy"
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500)); " \
           "from nnfast.cli.main import main; raise SystemExit(main(sys.argv[1:]))"
    arguments = ["batch", str(model), str(images), "--output", str(out), "--chunk", "4"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, env=environment())
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"{out}: cannot be written: " in done.stderr and "the same command goes on" in done.stderr
    assert not out.exists()
    code, document = batch(model, images, output=out, chunk=4)
    assert (code, document["computed"], document["written"]) == (0, 0, 60)


def test_two_processes_cannot_share_an_output(tmp_path, model, images, capsys):
    out = tmp_path / "out.npy"
    with store.Store(str(out), {"model": "m"}):
        assert batch(model, images, output=out)[0] == 2
        assert_one_error_line(capsys, "another process works on it")


# -- refusals ----------------------------------------------------------------------------------------------------------
def test_outputs_of_others_are_not_touched(tmp_path, model, images, capsys):
    out = tmp_path / "out.npy"
    assert batch(model, images, output=out)[0] == 0
    before = out.read_bytes()
    (tmp_path / "m2.tflite").write_bytes(copying("float32"))
    assert batch(tmp_path / "m2.tflite", images, output=out)[0] == 2
    assert_one_error_line(capsys, "exists, and is of another model, other outputs; --overwrite begins anew")
    save_pictures(tmp_path / "images2", 3)
    assert batch(model, tmp_path / "images2", output=out)[0] == 2
    assert_one_error_line(capsys, "exists, and is of other inputs")
    os.unlink(f"{out}.json")
    assert batch(model, images, output=out)[0] == 2
    assert_one_error_line(capsys, "is of an unknown run")
    assert out.read_bytes() == before
    assert batch(model, tmp_path / "images2", output=out, overwrite=True)[0] == 0
    assert np.load(out).shape == (3, FLAT)


def test_parts_of_others_are_not_touched(tmp_path, model, images, capsys):
    out = tmp_path / "out.npy"
    assert killed(2, "pass", "batch", model, images, "--output", out, "--chunk", 3) == -signal.SIGKILL
    assert batch(model, images, output=out, chunk=4)[0] == 2
    assert_one_error_line(capsys, "out.npy.parts: is of chunks of another size; --overwrite begins anew")
    assert batch(model, images, output=out, chunk=4, overwrite=True)[1]["computed"] == 11


def bad_inputs(folder):
    """{name: (inputs, words of the error)}."""
    (folder / "empty").mkdir()
    (folder / "text.txt").write_text("a")
    (folder / "broken.npy").write_bytes(b"\x93NUMPY\x01")
    (folder / "broken.npz").write_bytes(b"PK\x03\x04")
    np.save(folder / "f64.npy", np.zeros((2, SIZE, SIZE, 3)))
    np.save(folder / "shape.npy", np.zeros((2, SIZE, SIZE, 1), np.uint8))
    np.save(folder / "flat.npy", np.zeros(2, np.uint8))
    np.save(folder / "none.npy", np.zeros((0, SIZE, SIZE, 3), np.uint8))
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.savez(folder / "names.npz", a=np.zeros(2), b=np.zeros(2))
    return {"absent": "no such file or folder", "empty": "holds no pictures",
            "text.txt": "must be a folder of pictures", "broken.npy": "not a .npy file",
            "broken.npz": "not a .npz file", "f64.npy": "dtype is float64, must be uint8",
            "shape.npy": "shape is [2, 4, 4, 1], an item must have the shape [1, 4, 4, 3]",
            "flat.npy": "must have 4 or 5 dimensions", "none.npy": "there are no items",
            "objects.npy": "not a .npy file", "names.npz": "holds a, b; there is no array for input x"}


def test_bad_inputs_are_one_line(tmp_path, model, capsys):
    for name, words in bad_inputs(tmp_path).items():
        assert batch(model, tmp_path / name, output=tmp_path / "out.npy")[0] == 2, name
        assert_one_error_line(capsys, name if name != "none.npy" else "", words)
        assert not os.path.exists(tmp_path / "out.npy.parts")


def test_bad_outputs_are_one_line(tmp_path, model, images, capsys):
    (tmp_path / "two.tflite").write_bytes(copying(outputs=2))
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "folder.zarr").mkdir()
    for path, name, words in ((model, "out.txt", "must end in .npy, .npz, .zarr or .parquet"),
                              (tmp_path / "two.tflite", "out.npy", "a .npy holds one output, the model has 2 (y0, y1)"),
                              (model, "absent/out.npy", "does not exist"), (model, "folder.npy", "is a folder"),
                              (model, "folder.zarr", "is a folder")):
        if name.endswith(".zarr"):
            pytest.importorskip("zarr")
        (tmp_path / "document.json").unlink(missing_ok=True)
        assert call("batch", path, images, "--output", tmp_path / name) == 2, name
        assert_one_error_line(capsys, words)
    assert call("batch", model, images, "--output", tmp_path / "o.npy", "--column", "q=a") == 2
    assert_one_error_line(capsys, "--column q: no such input; there are x")
    assert call("batch", tmp_path / "none.tflite", images, "--output", tmp_path / "o.npy") == 2
    assert_one_error_line(capsys, "none.tflite")


def test_missing_packages_are_named(tmp_path, model, images, capsys, monkeypatch):
    for name in ("zarr", "pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for end, package in ((".zarr", "zarr"), (".parquet", "pyarrow")):
        assert call("batch", model, images, "--output", tmp_path / f"o{end}") == 2
        assert_one_error_line(capsys, f"needs {package}; pip install 'nnfast[distributed]'")


def test_a_picture_needs_an_image_network(tmp_path, images, capsys):
    b = nnfast.ModelBuilder("plain")
    b.operation("RELU", [b.input("TENSOR_FLOAT32", (1, 3), name="x")], [b.output("TENSOR_FLOAT32", (1, 3), name="y")])
    b.build().save(tmp_path / "m.nnapi")
    assert call("batch", tmp_path / "m.nnapi", images, "--output", tmp_path / "o.npy") == 2
    assert_one_error_line(capsys, "a picture needs")


def test_a_changed_picture_is_another_input(tmp_path, model, images):
    out = tmp_path / "out.npy"
    assert batch(model, images, output=out)[0] == 0
    Image.new("RGB", (9, 9)).save(images / "00.png")
    assert batch(model, images, output=out)[0] == 2
