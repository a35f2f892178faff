"""Real classifiers on real photos, as `nnfast mlts` runs them; all of them on all photos: `nnfast mlts --models`."""

import pytest

import nnfast
from helpers import litert_models
from helpers.shared import MODELS
from nnfast.bench.mlts import manifest
from nnfast.bench.mlts.baseline import LiteRT
from nnfast.bench.mlts.driver import Driver
from nnfast.bench.mlts.pictures import Pictures
from nnfast.bench.mlts.sequences import from_pictures
from nnfast.bench.mlts.suite import Options, Suite

MLTS = MODELS / "mlts"
needs_photos = pytest.mark.skipif(not (MLTS / "photos").is_dir(), reason="no shared models (NNFAST_SHARED)")
PHOTOS = 6

# Classes that LiteRT's reference kernels find on the first photos; the runner-up is well behind in each.
FOUND = {
    "mobilenet_v1_0.25_128": [262, 208, 235, 107, 874, 300],
    "mobilenet_v1_0.5_160_quant": [225, 208, 235, 280, 874, 371],
    "mobilenet_v3-small_224_1.0_uint8": [225, 208, 235, 280, 874, 361],
}
TRUE = [262, 208, 235, 280, 874, 337]


@needs_photos
@pytest.mark.parametrize("name", FOUND)
def test_classes_found(name):
    folder = MLTS / "photos"
    pictures = Pictures(manifest.Photos(folder, folder / manifest.TRUTH, folder / manifest.LABELS), limit=PHOTOS)
    assert pictures.classes == TRUE
    prepared = nnfast.Device(num_threads=1).prepare(nnfast.load(MLTS / f"{name}.tflite"))
    info = prepared.inputs[0]
    sequences = from_pictures(pictures, info, info.scale, info.zero_point)
    assert [prepared.run([sequence.inputs[0]])[0].argmax() for sequence in sequences] == FOUND[name]


@needs_photos
def test_the_data_of_every_shared_model_is_found():
    entries = {entry.name: entry for entry in manifest.read(MLTS)}
    assert [name for name, entry in entries.items() if entry.problem] == []
    assert {name for name, entry in entries.items() if entry.photos} == entries.keys() - {"tts_float"}
    assert {name: len(entry.pairs) for name, entry in entries.items() if entry.pairs} == {
        "mobilenet_v1_0.25_128": 2, "mobilenet_v1_0.25_128_quant": 2, "mobilenet_v1_0.5_160_quant": 2,
        "mobilenet_v1_0.75_192_quant": 2, "tts_float": 12}
    assert entries["tts_float"].evaluator == "MelCepLogF0" and entries["tts_float"].mean_std
    assert all(entry.expected_top1 for entry in entries.values() if entry.photos)


@needs_photos
@pytest.mark.skipif(not litert_models.litert_python(), reason="ai_edge_litert is not installed and "
                                                              "NNFAST_LITERT_PYTHON not set")
def test_bytes_equal_litert_reference_kernels():
    entries = [entry for entry in manifest.read(MLTS) if entry.name != "tts_float"]
    with Driver("local", 1) as driver:
        found = Suite(driver, Options(0, 2), LiteRT(litert_models.litert_python())).run(entries)
    assert len(found) == 7
    for result in found:
        # Two photos say nothing about the share of all.
        assert [text for text in result.problems if "top-1" not in text] == [], result.entry.name
        assert result.beside.difference.equal == 2 or not result.quantized
