import numpy as np
import pytest

from helpers.fake_models import entry
from nnfast.cli import arrays
from nnfast.errors import InvalidArgument

X, Y = entry("x", (2, 3)), entry("y", (1,))


def saved(tmp_path, **values):
    np.savez(tmp_path / "f.npz", **values)
    return tmp_path / "f.npz"


def test_npy_feeds_the_only_input(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6))
    calls, sequence = arrays.from_file(tmp_path / "x.npy", [X])
    assert not sequence and len(calls) == 1
    np.testing.assert_array_equal(calls[0][0], np.arange(6))
    with pytest.raises(InvalidArgument, match=r"the model has 2 \(x, y\); use a .npz"):
        arrays.from_file(tmp_path / "x.npy", [X, Y])


def test_npz_by_key_input_or_by_names(tmp_path):
    path = saved(tmp_path, input=np.ones(3), ref_0=np.zeros(9))
    assert arrays.from_file(path, [X])[0][0][0].sum() == 3
    path = saved(tmp_path, y=np.full(2, 5), x=np.full(3, 4))
    calls, _ = arrays.from_file(path, [X, Y])
    assert [array[0] for array in calls[0]] == [4, 5]
    with pytest.raises(InvalidArgument, match="holds y, x; there is no array for input z"):
        arrays.from_file(path, [X, entry("z", (1,))])


def test_calls_make_a_sequence(tmp_path):
    path = saved(tmp_path, input=np.arange(12).reshape(4, 1, 3), calls=4)
    calls, sequence = arrays.from_file(path, [X])
    assert sequence and len(calls) == 4
    np.testing.assert_array_equal(calls[2][0], [[6, 7, 8]])


@pytest.mark.parametrize("calls", [0, 3, 1.5, [2, 2]])
def test_calls_that_do_not_fit(tmp_path, calls):
    path = saved(tmp_path, input=np.zeros((4, 3)), calls=calls)
    with pytest.raises(InvalidArgument, match="calls"):
        arrays.from_file(path, [X])


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04broken", b"\x93NUMPY\x01\x00v\x00{'descr': 'x'}"])
def test_files_that_hold_no_arrays(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(InvalidArgument, match="not a .npy or .npz"):
        arrays.from_file(tmp_path / "x.npy", [X])


def test_a_picture_is_not_taken_for_pickled_objects(tmp_path):
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(InvalidArgument, match="begins as neither does; pictures are for --image") as caught:
        arrays.from_file(tmp_path / "x.png", [])
    assert "pickle" not in str(caught.value)


def test_pickled_objects_are_not_opened(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], object))
    with pytest.raises(InvalidArgument, match="plain arrays"):
        arrays.from_file(tmp_path / "x.npy", [X])


def test_random_is_repeatable_and_fits_the_inputs():
    entries = [entry("f", (50, 4)), entry("q", (500,), "int8", 0.5), entry("i", (30,), "int32"), entry("s", ())]
    first, second = arrays.random(entries), arrays.random(entries)
    for wanted, one, other in zip(entries, first, second):
        assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_array_equal(one, other)
    assert first[0].min() < -0.5 and first[0].max() > 0.5
    assert first[1].min() < -100 and first[1].max() > 100
    assert set(first[2].tolist()) == {0, 1}
    with pytest.raises(InvalidArgument, match="input u: its shape is not fixed"):
        arrays.random([entry("u", (None, 3))])


def test_top_orders_by_score_then_by_class():
    scores = np.zeros((1, 12), np.uint8)
    scores[0, [3, 7, 9]] = [200, 255, 200]
    quantized = entry("o", (1, 12), "uint8", 0.5, 100)
    assert arrays.is_classifier([quantized], [scores])
    assert arrays.top(quantized, scores, 4) == [(7, 77.5), (3, 50.0), (9, 50.0), (0, -50.0)]
    assert len(arrays.top(quantized, scores, 99)) == 12


@pytest.mark.parametrize("outputs, answer", [
    ([np.zeros((1, 10), np.float32)], True), ([np.zeros((1, 9), np.float32)], False),
    ([np.zeros((2, 10), np.float32)], False), ([np.zeros((1, 10), np.int32)], False),
    ([np.zeros((1, 10), np.float32)] * 2, False), ([np.zeros((1, 1, 10), np.float32)], False),
])
def test_what_counts_as_classifier(outputs, answer):
    assert arrays.is_classifier([entry("o", (1, 10))], outputs) is answer


def test_summary_survives_empty_and_not_finite_values():
    assert arrays.summary(X, np.zeros((0, 4), np.int8)) == {"name": "x", "dtype": "int8", "shape": [0, 4]}
    row = arrays.summary(X, np.array([1, np.inf], np.float32))
    assert (row["min"], row["max"], row["mean"]) == (1, None, None)
