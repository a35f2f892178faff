"""Evaluators of the MLTS benchmark on made data, its latency record, and its pictures."""

import numpy as np
import pytest
from PIL import Image

from nnfast.bench.mlts.evaluators import MelCepLogF0, PhoneErrorRate, TopK, against, edit_distance
from nnfast.bench.mlts.latency import BUCKETS, Latency
from nnfast.bench.mlts.manifest import Photos
from nnfast.bench.mlts.pictures import Pictures, classes_of, encode
from nnfast.errors import InvalidArgument


def scores(*rows):
    return [np.array([row], np.float32) for row in rows]


# -- top k -------------------------------------------------------------------------------------------------------------
def test_top_k_counts():
    outputs = scores(*np.tile([6, 5, 4, 3, 2, 1, 0], (7, 1)))
    values, problems = TopK(tuple(range(7)))(outputs)
    assert values == {f"top_{k}": pytest.approx(k / 7) for k in range(1, 6)} and problems == []


def test_top_k_takes_the_lowest_of_equal_classes():
    outputs = scores([1, 3, 3, 3, 0, 0], [1, 3, 3, 3, 0, 0], [2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2])
    values, _ = TopK((1, 2, 4, 5))(outputs)
    assert [values[f"top_{k}"] for k in range(1, 6)] == [0.25, 0.5, 0.5, 0.5, 0.75]


def test_bytes_are_unsigned():
    values, _ = TopK((1,))([np.array([[127, 200, 0]], np.uint8)])
    assert values["top_1"] == 1


@pytest.mark.parametrize("expected, count", [(None, 0), (0.55, 0), (0.56, 1)])
def test_top_1_may_be_five_points_below(expected, count):
    values, problems = TopK((0, 1), expected)(scores([1, 0], [1, 0]))
    assert values["top_1"] == 0.5 and len(problems) == count


# -- sequences ---------------------------------------------------------------------------------------------------------
def test_speech_errors():
    expected = np.zeros((2, 196), np.float32)
    expected[:, 48::49] = [1, 1, 1, -1]
    got = expected.copy()
    got[0, 0] = got[1, 196 - 49 + 47] = 9  # skipped: amplitude 0, and the pitch of an unvoiced frame
    unit = np.tile(np.float32([0, 1]), (196, 1))
    assert MelCepLogF0(unit)([got], [expected]) == ({"max_mel_cep_distortion": 0, "max_log_f0_error": 0}, [])
    got[0, 1], got[1, 47] = 2, 3
    double = np.tile(np.float32([5, 2]), (196, 1))
    values, problems = MelCepLogF0(double)([expected, got], [expected, expected])
    assert values["max_mel_cep_distortion"] == pytest.approx(np.sqrt(16 / (2 * 4 * 39)))
    assert values["max_log_f0_error"] == pytest.approx(np.sqrt((6**2 + 18**2) / 8))  # + 5: the unvoiced frame counts
    assert len(problems) == 1 and "sequence 1: log F0 error is" in problems[0]


def test_speech_that_is_no_number_is_a_problem():
    expected = np.zeros((1, 196), np.float32)
    got = expected.copy()
    got[0, 5] = np.nan
    _, problems = MelCepLogF0()([got], [expected])
    assert len(problems) == 1 and "nan" in problems[0]


def one_hot(phones, count=9):
    return np.eye(count, dtype=np.float32)[phones]


@pytest.mark.parametrize("got, expected, distance", [
    ([1, 2, 3], [1, 2, 3], 0), ([1, 2, 3], [1, 3], 1), ([], [1, 2], 2), ([1, 2], [], 2), ([1, 2, 3], [2, 3, 4], 2),
    ([1, 1, 1], [2, 2, 2], 3), ([3, 1, 4, 4, 1, 2], [7, 1, 4, 4, 1, 2, 8], 2)])
def test_edit_distance(got, expected, distance):
    assert edit_distance(np.array(got, int), np.array(expected, int)) == distance


def test_edit_distance_is_that_of_the_textbook():
    def textbook(a, b):
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            before, row = row, [i]
            for j, y in enumerate(b, 1):
                row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
        return row[-1]

    rng = np.random.default_rng(3)
    for _ in range(200):
        a, b = (rng.integers(0, 4, rng.integers(0, 12)) for _ in range(2))
        assert edit_distance(a, b) == textbook(a.tolist(), b.tolist())


def test_phone_error_rate():
    expected = one_hot([1] * 20)
    wrong = one_hot([1] * 18 + [2, 2])
    values, problems = PhoneErrorRate()([expected, wrong], [expected, expected])
    assert values == {"max_phone_error_rate": 10} and len(problems) == 1 and "sequence 1" in problems[0]
    near = one_hot([1] * 19 + [2])
    assert PhoneErrorRate()([near], [expected]) == ({"max_phone_error_rate": 5}, [])


def test_the_first_of_equal_phones_is_said():
    got, expected = np.zeros((1, 4), np.float32), one_hot([0], 4)
    assert PhoneErrorRate()([got], [expected])[0] == {"max_phone_error_rate": 0}


# -- golden ------------------------------------------------------------------------------------------------------------
def test_errors_of_either_sign_count():
    expected = [[np.full((2, 4), 8.0, np.float32), np.zeros((2, 1), np.float32)]]
    got = [[expected[0][0].copy(), expected[0][1].copy()]]
    got[0][0][1, 2] -= 3
    found = against(got, expected)
    assert (found.largest, found.steps, found.equal, found.sequences) == (3, 2, 0, 1)
    assert found.mse == pytest.approx(9 / 4 / 2) and found.relative == pytest.approx(3 / 8)


def test_the_largest_value_is_that_of_all_sequences():
    expected = [[np.array([[4.0]], np.float32)], [np.array([[0.5]], np.float32)]]
    found = against([[np.array([[4.0]], np.float32)], [np.array([[0.25]], np.float32)]], expected)
    assert (found.largest, found.relative, found.equal) == (0.25, 1 / 16, 1)


def test_equal_sequences_are_counted():
    expected = [[np.zeros((1, 3), np.uint8)], [np.full((1, 3), 255, np.uint8)]]
    found = against([expected[0], [np.full((1, 3), 0, np.uint8)]], expected)
    assert (found.equal, found.sequences, found.largest) == (1, 2, 255)


def test_nan_never_counts_as_near():
    zero = [np.zeros((1, 2), np.float32)]
    found = against([[np.array([[np.nan, 0]], np.float32)], zero], [zero, zero])
    assert np.isnan(found.largest) and np.isnan(found.relative) and found.equal == 1


# -- times -------------------------------------------------------------------------------------------------------------
def test_latency_record():
    found = Latency.of([0.001, 0.002, 0.003, 0.0041])
    assert found.count == 4 and found.mean == pytest.approx(2.525) and found.percentile(50) == pytest.approx(2.5)
    low, step, counts = found.histogram()
    assert low == pytest.approx(1) and step == pytest.approx(0.1) and len(counts) == BUCKETS
    assert counts[0] == counts[10] + counts[9] == counts[19] + counts[20] == counts[31] == 1 and sum(counts) == 4
    assert found.summary()["std_dev_ms"] == pytest.approx(np.std([1, 2, 3, 4.1]))
    assert Latency.of([0.5]).histogram() == (500, 0, [1] + [0] * 31)


# -- pictures ----------------------------------------------------------------------------------------------------------
def test_codes_wrap_as_the_benchmark_has_them():
    pixels = np.array([0, 1, 127, 128, 254, 255], np.uint8)
    assert encode(pixels, np.uint8, 1 / 128, 128).tolist() == [0, 1, 127, 128, 254, 0]
    assert encode(pixels, np.uint8, 0.007812, 128).tolist() == [0, 0, 127, 128, 255, 0]
    assert encode(pixels, np.int8, 1 / 128, 0).tolist() == [-128, -127, -1, 0, 126, -128]
    assert encode(pixels, np.float32).tolist() == pytest.approx((pixels * 2.0 / 255 - 1).tolist(), abs=1e-7)
    for dtype, scale in ((np.uint8, 0), (np.int32, 0.5)):
        with pytest.raises(InvalidArgument, match="photos cannot feed"):
            encode(pixels, dtype, scale)


def folder_of(path, count, lines, labels=None):
    path.mkdir()
    for number in range(count):
        Image.new("RGB", (40, 30), (number, 2 * number, 255)).save(path / f"p-{number}.png")
    (path / "truth.txt").write_text("".join(f"{line}\n" for line in lines))
    if labels is not None:
        (path / "labels.txt").write_text("\n".join(labels))
    return Photos(path, path / "truth.txt", None if labels is None else path / "labels.txt")


def test_photos_go_by_number_and_are_cut(tmp_path):
    photos = folder_of(tmp_path / "p", 12, range(12))
    found = Pictures(photos)
    assert found.names == [f"p-{n}.png" for n in range(12)] and found.classes == list(range(12)) and not found.problems
    sized = found.sized(4, 4)
    assert sized.shape == (12, 4, 4, 3) and sized[11, 3, 3].tolist() == [11, 22, 255]
    assert Pictures(photos, limit=3).classes == [0, 1, 2] and Pictures(photos, channels=1).sized(2, 2).shape[3] == 1


def test_the_lowest_class_of_a_label(tmp_path):
    photos = folder_of(tmp_path / "p", 2, ["crane", "cat"], ["none", "crane", "cat", "crane"])
    assert classes_of(photos, ["none", "crane", "cat", "crane"]) == [1, 2]
    with pytest.raises(InvalidArgument, match=r"line 1 is 'crane', must be a line of labels\.txt"):
        classes_of(photos, ["none"])


def test_missing_and_broken_photos_are_told_and_the_rest_runs(tmp_path):
    photos = folder_of(tmp_path / "p", 6, range(6))
    (photos.folder / "p-2.png").unlink()
    (photos.folder / "p-4.png").write_bytes(b"no picture")
    found = Pictures(photos)
    assert found.classes == [0, 1, 3, 5] and len(found.problems) == 2
    assert "1 of 6 photos are missing, the first is number 2" in found.problems[0]
    assert "p-4.png: not a picture" in found.problems[1]


@pytest.mark.parametrize("change, words", [
    (lambda folder: [path.unlink() for path in folder.glob("*.png")], "holds no photos"),
    (lambda folder: [path.write_bytes(b"") for path in folder.glob("*.png")], "none of its photos can be read"),
    (lambda folder: (folder / "truth.txt").write_text("0\n"), "has 1 lines for 3 photos"),
    (lambda folder: (folder / "truth.txt").write_text("0\n1\nx\n"), "line 3 is 'x', must be a class number"),
    (lambda folder: (folder / "truth.txt").write_bytes(b"\xff"), "not a text file"),
    (lambda folder: (folder / "truth.txt").unlink(), "No such file"),
])
def test_photos_that_cannot_be_used(change, words, tmp_path):
    photos = folder_of(tmp_path / "p", 3, range(3))
    change(photos.folder)
    with pytest.raises(InvalidArgument, match=words):
        Pictures(photos)
