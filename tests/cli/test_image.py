from types import SimpleNamespace

import numpy as np
import pytest

from nnfast.cli import image
from nnfast.errors import InvalidArgument

PIL = pytest.importorskip("PIL.Image")


def test_crop_takes_the_middle_by_whole_divisions():
    pixels = np.arange(11 * 20 * 3).reshape(11, 20, 3)
    part = image.crop(pixels)
    assert part.shape == (9, 9, 3)  # trunc(0.875 * 11)
    np.testing.assert_array_equal(part, pixels[1:10, 6:15])  # 11 // 2 - 9 // 2, 20 // 2 - 9 // 2


def test_resize_is_two_tap_bilinear_with_half_pixel_centres():
    row = np.array([0, 100, 200, 40], np.uint8)
    pixels = np.repeat(row[None, :, None], 3, axis=2)
    np.testing.assert_array_equal(image.resize(pixels, 1, 4)[0, :, 0], row)
    # centres at 0.5 and 2.5: halves of neighbours
    np.testing.assert_array_equal(image.resize(pixels, 1, 2)[0, :, 0], [50, 120])
    # centres at -0.25, 0.25, ... : edges repeat
    np.testing.assert_array_equal(image.resize(pixels, 1, 8)[0, :, 0], [0, 25, 75, 125, 175, 160, 80, 40])
    # a quarter of the size still looks at two pixels only (no smoothing): 8 -> 2 has centres 1.5 and 5.5
    ramp = np.repeat(np.array([0, 0, 80, 0, 0, 0, 0, 200], np.uint8)[None, :, None], 3, axis=2)
    np.testing.assert_array_equal(image.resize(ramp, 1, 2)[0, :, 0], [40, 0])


def test_resize_treats_both_axes_alike():
    pixels = np.random.default_rng(1).integers(0, 256, (13, 7, 3)).astype(np.uint8)
    turned = image.resize(pixels.transpose(1, 0, 2), 4, 5).transpose(1, 0, 2)
    difference = image.resize(pixels, 5, 4).astype(int) - turned
    assert np.abs(difference).max() <= 1  # the order of the two float sums differs


def test_float_values():
    pixels = np.array([0, 51, 255], np.uint8)
    np.testing.assert_allclose(image.encode(pixels, np.dtype("float32"), 0, 0), [-1, -0.6, 1], atol=1e-7)


def test_uint8_values_truncate_and_wrap_like_the_evaluator():
    pixels = np.array([0, 1, 128, 254, 255], np.uint8)
    np.testing.assert_array_equal(image.encode(pixels, np.dtype("uint8"), 1 / 128, 128), [0, 1, 128, 254, 0])


def test_int8_values_are_those_of_the_twin_but_clip():
    pixels = np.arange(255).astype(np.uint8)
    unsigned = image.encode(pixels, np.dtype("uint8"), 1 / 128, 128).astype(int)
    np.testing.assert_array_equal(image.encode(pixels, np.dtype("int8"), 1 / 128, 0), unsigned - 128)
    assert image.encode(np.uint8([255]), np.dtype("int8"), 1 / 128, 0)[0] == 127


def test_other_dtypes_are_refused():
    with pytest.raises(InvalidArgument, match="dtype int32"):
        image.encode(np.uint8([0]), np.dtype("int32"), 1, 0)


def entry(shape):
    return SimpleNamespace(name="x", shape=shape, dtype="uint8", scale=1 / 128, zero_point=128)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK"])
def test_any_colour_mode_becomes_rgb(tmp_path, mode):
    path = tmp_path / ("x.tiff" if mode == "CMYK" else "x.png")
    PIL.new("RGB", (40, 30), (255, 255, 255)).convert(mode).save(path)
    pixels = image.load(path)
    assert pixels.shape == (30, 40, 3) and pixels.dtype == np.uint8 and pixels.min() == 255


def test_prepare_gives_a_batch_of_one(tmp_path):
    PIL.new("RGB", (40, 30), (128, 0, 10)).save(tmp_path / "x.png")
    values = image.prepare(tmp_path / "x.png", entry((1, 6, 5, 3)))
    assert values.shape == (1, 6, 5, 3) and values.dtype == np.uint8
    np.testing.assert_array_equal(np.unique(values[0].reshape(-1, 3), axis=0), [[128, 0, 10]])


def test_one_pixel_picture(tmp_path):
    PIL.new("RGB", (1, 1), (7, 7, 7)).save(tmp_path / "x.png")
    assert image.prepare(tmp_path / "x.png", entry((1, 2, 2, 3))).max() == 7


@pytest.mark.parametrize("shape, shown", [((1, 4), r"\[1, 4\]"), (None, "unknown"), ((2, 8, 8, 3), "2, 8"),
                                          ((1, 8, 8, 1), "8, 1"), ((1, None, 8, 3), "None")])
def test_model_that_takes_no_picture(tmp_path, shape, shown):
    with pytest.raises(InvalidArgument, match=f"input x: shape is .*{shown}"):
        image.prepare(tmp_path / "x.png", entry(shape))


def test_bad_files(tmp_path):
    with pytest.raises(InvalidArgument, match="no such file"):
        image.load(tmp_path / "none.png")
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(InvalidArgument, match="not a picture"):
        image.load(tmp_path / "text.png")
    PIL.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(tmp_path / "x.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "x.jpg").read_bytes()[:1500])
    with pytest.raises(InvalidArgument, match="cannot be decoded"):
        image.load(tmp_path / "cut.jpg")
    with pytest.raises(InvalidArgument, match="cannot be decoded"):
        image.load(tmp_path)
