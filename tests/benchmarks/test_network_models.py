"""The models of whole networks that ci/network_models.py writes."""

import subprocess
import sys

import numpy as np
import pytest

import nnfast
from helpers.tree import ROOT

KINDS = "f32", "int8", "hybrid"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks")
    subprocess.run([sys.executable, ROOT / "ci" / "network_models.py", folder], check=True, capture_output=True)
    return folder


def inputs_of(prepared):
    random = np.random.default_rng(3)
    return [random.uniform(-1, 1, info.shape).astype(np.float32) if info.dtype == np.float32
            else random.integers(*(-128, 128) if info.dtype == np.int8 else (0, 1000), info.shape).astype(info.dtype)
            for info in prepared.inputs]


@pytest.mark.parametrize("kind", KINDS)
def test_each_network_runs_in_kernels_with_and_without_passes(folder, kind):
    """Codes are equal, floats near: as near as they are to one code of an input more or less, with int8 weights."""
    files = sorted(folder.glob(f"*_{kind}.tflite"))
    assert len(files) > 30
    device, plain = nnfast.Device(2), nnfast.Device(1, without_passes=[
        "transpose_fusion", "silu_fusion", "lookup_fusion", "layer_norm_fusion", "elementwise_fusion", "row_fusion",
        "barrier_elimination"])
    for path in files:
        prepared = device.prepare(nnfast.load(path))
        assert all(row["kernel"] != "numpy" for row in prepared.explain().rows), path.name
        x = inputs_of(prepared)
        for found, wanted in zip(prepared.run(x), plain.prepare(nnfast.load(path)).run(x), strict=True):
            if kind == "int8":
                np.testing.assert_array_equal(found, wanted, path.name)
            else:
                bound = (1e-4 if kind == "f32" else 0.05) * np.abs(wanted).max()
                np.testing.assert_allclose(found, wanted, rtol=0, atol=bound, err_msg=path.name)


def test_only_some_are_written(tmp_path):
    subprocess.run([sys.executable, ROOT / "ci" / "network_models.py", tmp_path, "--only", "faces_int8"], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["faces_int8.tflite"]


def test_large_ones_are_others(tmp_path):
    """Weights of so many layers come from beyond the caches: fetched ahead, on one thread and on two."""
    subprocess.run([sys.executable, ROOT / "ci" / "network_models.py", tmp_path, "--large", "--only", "forward_4_int8"],
                   check=True)
    [path] = tmp_path.iterdir()
    assert path.name == "feed_forward_4_int8.tflite"
    one, two = (nnfast.Device(threads).prepare(nnfast.load(path)) for threads in (1, 2))
    x = inputs_of(one)
    np.testing.assert_array_equal(one.run(x), two.run(x))


def test_a_name_that_no_model_has_is_an_error(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "ci" / "network_models.py", tmp_path / "new", "--only", "alexnet"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "--only alexnet: no model has this in its name" in done.stderr
    assert not (tmp_path / "new").exists()
