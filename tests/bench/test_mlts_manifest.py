"""Which models `nnfast mlts` runs on which data: lists, and what is found in a folder."""

import json

import numpy as np
import pytest

from helpers import mlts_data
from nnfast.bench.mlts import manifest
from nnfast.errors import InvalidArgument

PAIR = {"input": "a.input", "output": "a.output"}


def test_a_list(tmp_path):
    path = mlts_data.listed(
        tmp_path / "list.json",
        {"testName": "shown", "baselineSec": 0.06, "inputScale": 0.007812, "inputZeroPoint": 128},
        {"name": "speech", "modelFile": "tts", "inputSize": [1, 4], "dataset": None, "inputOutputs": [PAIR],
         "evaluator": {"className": "MelCepLogF0", "outputMeanStdDev": "tts.means"}})
    one, two = manifest.read(path)
    assert (one.name, one.model.name, one.baseline_sec) == ("shown", "digits.tflite", 0.06)
    assert (one.input_size, one.data_size) == ((1, 8, 8, 1), 4)
    assert one.photos.folder == tmp_path / "photos" and one.photos.labels == tmp_path / "photos" / "labels.txt"
    assert (one.input_scale, one.input_zero_point, one.evaluator) == (0.007812, 128, None)
    assert two.model == tmp_path / "tts.tflite" and two.mean_std == tmp_path / "tts.means" and two.photos is None
    assert two.pairs == (manifest.Pair(tmp_path / "a.input", (tmp_path / "a.output",)),)
    other = tmp_path / "data"
    other.mkdir()
    assert manifest.read(path, other)[1].pairs[0].input == other / "a.input"


@pytest.mark.parametrize("row, words", [
    ({"name": None}, r"models\[0\].name: is missing"),
    ({"name": 3}, r"models\[0\].name: is 3, must be a text"),
    ({"inputSize": [1, 0]}, "inputSize: is .* dimensions of at least 1"),
    ({"inputSize": None}, "inputSize: is missing"),
    ({"dataSize": 2}, r"dataSize: is 2, must be 1 \(uint8\) or 4"),
    ({"dataset": None}, "has neither inputOutputs nor dataset"),
    ({"inputOutputs": [PAIR]}, "has both inputOutputs and dataset"),
    ({"dataset": None, "inputOutputs": []}, "inputOutputs: is .*, must be a list of at least one pair"),
    ({"dataset": None, "inputOutputs": [PAIR, {"input": "b"}]}, "must be all or none"),
    ({"dataset": None, "inputOutputs": [{}]}, r"inputOutputs\[0\].input: is missing"),
    ({"dataset": {"inputPath": "photos"}}, r"dataset.groundTruth: is missing"),
    ({"dataset": {"inputPath": "p", "groundTruth": "g", "preprocessor": "Other"}}, "must be Inception"),
    ({"dataset": 1}, "dataset: is 1, must be an object"),
    ({"evaluator": {"className": "Best"}}, "className: is 'Best', must be one of TopK, MelCepLogF0"),
    ({"baselineSec": "fast"}, "baselineSec: is 'fast', must be a number"),
])
def test_lists_that_break_a_rule(row, words, tmp_path):
    with pytest.raises(InvalidArgument, match=words):
        manifest.read(mlts_data.listed(tmp_path / "list.json", row))


@pytest.mark.parametrize("text", ["{", "[]", '{"models": {}}', "3", "[3]"])
def test_files_that_are_no_list(text, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=r"list\.json"):
        manifest.read(path)


def test_wrong_folders(tmp_path):
    for models, data, words in ((tmp_path / "none", None, "no such folder"), (tmp_path, None, "holds no .tflite"),
                                (tmp_path, tmp_path / "none", "--data names")):
        with pytest.raises(InvalidArgument, match=words):
            manifest.read(models, data)


def test_a_folder(tmp_path):
    mlts_data.model(tmp_path, "mobilenet_v1_0.25_128_quant", "int8")
    mlts_data.model(tmp_path, "plain")
    mlts_data.sequences(tmp_path)
    mlts_data.photos(tmp_path / "pictures", 3)
    (tmp_path / "broken.tflite").write_bytes(b"no model")
    asr, broken, quantized, plain = manifest.read(tmp_path)
    assert asr.evaluator == "PhoneErrorRate" and [len(pair.outputs) for pair in asr.pairs] == [1, 1]
    assert "broken.tflite" in broken.problem
    assert (plain.evaluator, plain.expected_top1, plain.input_size) == ("TopK", None, (1, 8, 8, 1))
    assert plain.photos.folder == tmp_path / "pictures"
    assert (quantized.expected_top1, quantized.data_size) == (0.402, 1)


def test_speech_is_known_by_its_means(tmp_path):
    mlts_data.sequences(tmp_path, "tts_float")
    (tmp_path / "tts_float.output_mean_std_dev").write_bytes(b"")
    entry, = manifest.read(tmp_path)
    assert entry.evaluator == "MelCepLogF0" and entry.mean_std == tmp_path / "tts_float.output_mean_std_dev"


def test_a_model_without_data(tmp_path):
    mlts_data.model(tmp_path, "digits")
    assert "no data in" in manifest.read(tmp_path)[0].problem


def test_goldens_by_name_and_size(tmp_path):
    mlts_data.model(tmp_path, "net_0.5_8")
    mlts_data.model(tmp_path, "net_0.7_8")
    golden = tmp_path / "golden"
    golden.mkdir()
    (golden / "float_cup_8.input").write_bytes(bytes(8 * 8 * 4))
    (golden / "float_cup_0.5_8.output").write_bytes(bytes(40))
    (golden / "float_cup_0.7_8.output").write_bytes(bytes(39))
    (golden / "float_cup_8.output").write_bytes(bytes(40))  # of which model?
    first, second = manifest.read(tmp_path)
    assert [pair.outputs[0].name for pair in first.pairs] == ["float_cup_0.5_8.output"]
    assert second.pairs == () and "no data" in second.problem


def test_lists_are_json_of_any_order(tmp_path):
    row = {"dataSize": 1, "name": "n", "inputSize": [2], "inputOutputs": [{"outputs": ["x", "y"], "input": "i"}]}
    path = tmp_path / "list.json"
    path.write_text(json.dumps([row]))
    entry, = manifest.read(path)
    assert [output.name for output in entry.pairs[0].outputs] == ["x", "y"] and np.prod(entry.input_size) == 2
