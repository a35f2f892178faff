"""The models of single layers that ci/layer_models.py, ci/layer_models_tflite.py and ci/layer_sizes_tflite.py write."""

import subprocess
import sys

import numpy as np
import pytest

import nnfast
from helpers.tree import ROOT


def written(script, folder, *arguments):
    subprocess.run([sys.executable, ROOT / "ci" / script, folder, *arguments], check=True, capture_output=True)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return written("layer_models.py", tmp_path_factory.mktemp("layers"))


def test_each_layer_runs_in_kernels(files):
    """As the numpy definitions do, which none of them falls back to: each is of a class that networks have."""
    assert len(files) > 80
    device, definitions = nnfast.Device(), nnfast.Device(without_passes=["native_kernels"])
    for path in files:
        prepared = device.prepare(nnfast.load(path))
        assert all(row["kernel"] != "numpy" for row in prepared.explain().rows), path.name
        random = np.random.default_rng(3)
        inputs = [random.integers(-128, 128, info.shape).astype(np.int8) if info.dtype == np.int8
                  else random.uniform(0.5, 2, info.shape).astype(np.float32) for info in prepared.inputs]
        (found,), (wanted,) = prepared.run(inputs), definitions.prepare(nnfast.load(path)).run(inputs)
        if found.dtype == np.int8:
            np.testing.assert_array_equal(found, wanted, path.name)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-5 * np.abs(wanted).max(), err_msg=path.name)


def test_each_tflite_layer_is_left_to_kernels(tmp_path):
    """But for the mean of int16 codes over many of them."""
    files, device = written("layer_models_tflite.py", tmp_path), nnfast.Device()
    assert len(files) > 300
    slow = {path.stem for path in files
            if any(row["kernel"] == "numpy" for row in device.prepare(nnfast.load(path)).explain().rows)}
    assert slow == {"mean_space_int16"}


@pytest.mark.parametrize("group", ["groups", "pool", "softmax", "order"])
def test_layers_of_each_size_are_exact(group, tmp_path):
    """Bytes are those of the numpy definitions, and none is left to these."""
    device, definitions = nnfast.Device(num_threads=2), nnfast.Device(without_passes=["native_kernels"])
    files = written("layer_sizes_tflite.py", tmp_path, "--only", group)
    files = [path for path in files if path.stem.endswith("_int8")]
    assert len(files) > 9
    for path in files:
        prepared = device.prepare(nnfast.load(path))
        assert all(row["kernel"] != "numpy" for row in prepared.explain().rows), path.name
        inputs = [np.random.default_rng(3).integers(-128, 128, info.shape).astype(np.int8) for info in prepared.inputs]
        wanted = definitions.prepare(nnfast.load(path)).run(inputs)
        for found, expected in zip(prepared.run(inputs), wanted, strict=True):
            np.testing.assert_array_equal(found, expected, path.name)
