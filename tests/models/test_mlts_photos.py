"""Real classifiers on real photos; all of them on all 200: python -m helpers.mlts_photos --litert."""

import importlib.util
import os

import pytest

from helpers import mlts_photos

needs_photos = pytest.mark.skipif(not os.path.isdir(mlts_photos.folder()), reason="no shared models (NNFAST_SHARED)")
PHOTOS = 6
QUANTIZED = [name for name in mlts_photos.NETS if name != "mobilenet_v1_0.25_128"]

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
    assert mlts_photos.classes()[:PHOTOS] == TRUE
    net = mlts_photos.Net(name)
    outputs = [net.classify(mlts_photos.photo(i), true) for i, true in enumerate(TRUE)]
    assert [output.argmax() for output in outputs] == FOUND[name]
    assert net.score.right == sum(found == true for found, true in zip(FOUND[name], TRUE))


@needs_photos
@pytest.mark.skipif(not importlib.util.find_spec("ai_edge_litert"), reason="ai_edge_litert is not installed")
@pytest.mark.parametrize("name", QUANTIZED)
def test_bytes_equal_litert_reference_kernels(name):
    net = mlts_photos.Net(name, litert=True)
    for i in range(PHOTOS):
        net.classify(mlts_photos.photo(i), TRUE[i])
    assert net.quantized and net.score.photos == PHOTOS
    assert (net.score.differing_photos, net.score.differing_values) == (0, 0)


@needs_photos
def test_command(capsys):
    assert mlts_photos.main(["--photos", "2", "--only", "0.25_128"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[2:] == [["mobilenet_v1_0.25_128", "2", "2", "1.0", "0.435"],
                        ["mobilenet_v1_0.25_128_quant", "2", "1", "0.5", "0.375"]]


def test_command_refuses(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NNFAST_SHARED", str(tmp_path))
    with pytest.raises(SystemExit):
        mlts_photos.main([])
    assert "no such folder; NNFAST_SHARED" in capsys.readouterr().err
