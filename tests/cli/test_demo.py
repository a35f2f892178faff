"""`nnfast demo`: shipped files, the answers through nnfast, and the picture."""

import argparse
import json

import numpy as np
import pytest

from nnfast.cli import demo
from nnfast.errors import InvalidArgument


def arguments(*words):
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def invented(wrong_at=()):
    """(images, labels, answers) of two models, the second wrong at the given places."""
    images, labels = demo.held_out_digits()
    right = np.eye(10, dtype=np.float32)[labels]
    wrong = right.copy()
    for place in wrong_at:
        wrong[place] = np.roll(wrong[place], 1)
    return images, labels, [demo.Answer("float32", right, 2e-5, labels), demo.Answer("int8", wrong, 1e-5, labels)]


def test_shipped_files_are_small():
    sizes = {name: len(demo.data_file(name).read_bytes()) for name in (*demo.MODELS.values(), "digits.npz")}
    assert sizes["digits_float32.tflite"] < 60_000
    assert sizes["digits_int8.tflite"] < 30_000
    assert sizes["digits.npz"] < 50_000


def test_held_out_digits_are_grey_pictures_of_all_ten():
    images, labels = demo.held_out_digits()
    assert images.shape == (360, 8, 8) and images.dtype == np.uint8 and images.max() == demo.GREY_LEVELS
    assert labels.dtype == np.uint8 and np.bincount(labels, minlength=10).min() >= 20


def test_both_models_are_right_on_held_out_digits():
    images, labels = demo.held_out_digits()
    answers = [demo.classify(name, file, images, labels, 1) for name, file in demo.MODELS.items()]
    float32, int8 = answers
    assert float32.accuracy >= 0.97
    assert int8.accuracy >= float32.accuracy - 0.01
    assert np.abs(float32.probabilities.sum(1) - 1).max() < 1e-5
    assert np.abs(float32.probabilities - int8.probabilities).mean() < 0.01
    assert all(answer.seconds > 0 for answer in answers)


def test_main_writes_picture_and_figures(tmp_path, capsys):
    from PIL import Image

    picture, report = tmp_path / "answers.png", tmp_path / "figures.json"
    assert demo.main(arguments("--output", picture, "--json", report, "--threads", 1)) == 0
    printed = capsys.readouterr().out
    assert "float32" in printed and "int8" in printed and "answers.png" in printed
    with Image.open(picture) as image:
        assert image.format == "PNG" and image.size == demo.picture_size()
        assert len(image.convert("RGB").getcolors(1 << 24)) > 50
    figures = json.loads(report.read_text())
    assert figures["threads"] == 1 and set(figures["models"]) == {"float32", "int8"}
    for model in figures["models"].values():
        assert model["pictures"] == 360 and model["accuracy"] == model["right"] / 360 and model["median_us"] > 0


def test_wrong_answers_are_drawn_first():
    places, wrong = demo.chosen(*invented((300, 7))[1:])
    assert wrong == 2 and list(places[:4]) == [7, 300, 0, 1] and len(places) == demo.COLUMNS * demo.ROWS
    places, wrong = demo.chosen(*invented(range(100))[1:])
    assert wrong == 100 and list(places) == list(range(demo.COLUMNS * demo.ROWS))


def test_colors_tell_right_from_wrong():
    def colors(wrong_at):
        picture = demo.draw(*invented(wrong_at), "a machine, 1 thread")
        return {color for _, color in picture.getcolors(1 << 24)}

    assert demo.RED not in colors(()) and demo.GREEN in colors(())
    assert demo.RED in colors((3,))


def test_quantized_input_and_real_output():
    class Spec:
        dtype, scale, zero_point = np.dtype(np.int8), 0.5, -3

    codes = demo.quantized(np.array([0.0, 1.0, -0.6, 1e6, -1e6], np.float32), Spec)
    assert codes.dtype == np.int8 and codes.tolist() == [-3, -1, -4, 127, -128]
    assert demo.real(codes[:2], Spec).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("words", [("--output", "no/such/folder/x.png"), ("--json", "no/such/folder/x.json")])
def test_targets_that_cannot_be_written_are_named(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=f"{words[1]}: folder no/such/folder does not exist"):
        demo.main(arguments(*words))
