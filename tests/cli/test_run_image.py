"""`nnfast run --image` with flags and metadata, and files whose inputs have open dimensions."""

import json

import numpy as np
import pytest

from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.metadata_builder import metadata, with_labels
from nnfast.cli.main import main

PIL = pytest.importorskip("PIL.Image")


def copying(dtype="float32", shape=(1, 4, 4, 3), signature=None, metadata=None, **quantization):
    """A file that gives its input back, flat."""
    flat = (1, int(np.prod(shape)))
    tensors = [Tensor("x", shape, dtype, signature=signature, **quantization),
               Tensor.of("s", np.array([-1, flat[1]], np.int32)),
               Tensor("y", flat, dtype, signature=signature and (-1, flat[1]), **quantization)]
    reshape = Op("RESHAPE", ["x", "s"], ["y"], "ReshapeOptions", {"NewShape": [-1, flat[1]]})
    return build(tensors, [reshape], ["x"], ["y"], metadata=metadata)


@pytest.fixture
def white(tmp_path):
    PIL.new("RGB", (16, 12), (255, 255, 255)).save(tmp_path / "white.png")
    return str(tmp_path / "white.png")


def run(tmp_path, data, *options):
    """Output array of `nnfast run`, and its document."""
    (tmp_path / "m.tflite").write_bytes(data)
    code = main(["run", str(tmp_path / "m.tflite"), *options, "--output", str(tmp_path / "o.npz"), "--json",
                 str(tmp_path / "o.json"), "--threads", "1"])
    assert code == 0
    with np.load(tmp_path / "o.npz") as outputs:
        return outputs["output_0"], json.loads((tmp_path / "o.json").read_text())


@pytest.mark.parametrize("options, expected", [
    ((), 1), (("--mean", "0", "--std", "1"), 255), (("--mean", "127.5", "--std", "127.5"), 1),
    (("--range", "0,1"), 1), (("--range=-2,3",), 3), (("--mean", "255,254,253", "--std", "1"), None),
    (("--crop", "0"), 1), (("--crop", "1", "--layout", "nhwc"), 1),
])
def test_flags(tmp_path, white, options, expected):
    found, _ = run(tmp_path, copying(), "--image", white, *options)
    if expected is None:
        assert found.reshape(-1, 3)[0].tolist() == [0, 1, 2]
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype, scale, zero_point, highest", [("uint8", 1 / 128, 128, 255), ("int8", 1 / 128, 0, 127)])
def test_white_is_white(tmp_path, white, dtype, scale, zero_point, highest):
    found, _ = run(tmp_path, copying(dtype, scale=scale, zero_point=zero_point), "--image", white)
    assert (found == highest).all()


def test_metadata_says_how(tmp_path, white):
    data = copying(metadata=metadata([55.0], [100.0], None))
    assert run(tmp_path, data, "--image", white)[0] == pytest.approx(np.full((1, 48), 2.0))
    assert run(tmp_path, data, "--image", white, "--mean", "0", "--std", "255")[0] == pytest.approx(np.ones((1, 48)))


def test_labels_of_the_file(tmp_path, white):
    names = [f"class {k}" for k in range(48)]
    plain = copying(metadata=metadata([0.0], [1.0], names))
    data = with_labels(plain, names)
    document = run(tmp_path, data, "--image", white)[1]
    assert document["top"][0] == {"class": 0, "score": 255.0, "label": "class 0"}
    for other in (with_labels(plain, names[:5]), copying(metadata=metadata([0.0], [1.0], None))):
        assert run(tmp_path, other, "--image", white)[1]["top"][0]["label"] == ""


def test_damaged_metadata_is_one_line(tmp_path, white, capsys):
    (tmp_path / "m.tflite").write_bytes(copying(metadata=b"\xff\xff\xff\x7f" + metadata([55.0], [100.0], None)[4:]))
    assert main(["run", str(tmp_path / "m.tflite"), "--image", white]) == 2
    error = capsys.readouterr().err
    assert "m.tflite: metadata: " in error and error.count("\n") == 1
    assert main(["run", str(tmp_path / "m.tflite")]) == 0
    assert "m.tflite: metadata: " in capsys.readouterr().out


@pytest.mark.parametrize("option, text", [
    (["--mean", "a"], "must be numbers"), (["--range", "1"], "must be two"), (["--range", "2,1"], "must be two"),
    (["--crop", "2"], "from 0 to 1"), (["--range", "0,1", "--mean", "1"], "give one of them"),
    (["--shape", "x"], "must be the name"), (["--shape", "q=1,2"], "no such input; there are 'x'"),
])
def test_bad_flags(tmp_path, white, capsys, option, text):
    (tmp_path / "m.tflite").write_bytes(copying())
    try:
        code = main(["run", str(tmp_path / "m.tflite"), "--image", white, *option])
    except SystemExit as error:
        code = error.code
    assert code == 2 and text in capsys.readouterr().err


def test_open_dimensions_have_defaults(tmp_path):
    data = copying(signature=(-1, 4, 4, 3))
    assert run(tmp_path, data)[0].shape == (1, 48)
    assert run(tmp_path, data, "--shape", "x=5,4,4,3")[0].shape == (5, 48)
    (tmp_path / "m.tflite").write_bytes(data)
    document = tmp_path / "b.json"
    assert main(["benchmark", str(tmp_path / "m.tflite"), "--runs", "2", "--threads", "1", "--shape", "x=3,4,4,3",
                 "--json", str(document)]) == 0
    assert json.loads(document.read_text())["models"][0]["engines"][0]["runs"] == 2
