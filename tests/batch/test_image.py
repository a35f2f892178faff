import numpy as np
import pytest

import nnfast
from nnfast.batch import image
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


@pytest.mark.parametrize("size, target", [((9, 14), (4, 5)), ((40, 31), (7, 31)), ((3, 5), (10, 17)), ((1, 6), (2, 1)),
                                          ((64, 64), (64, 64)), ((90, 7), (3, 90))])
@pytest.mark.parametrize("channels", [1, 3])
def test_resize_is_the_plain_formula(size, target, channels):
    pixels = np.random.default_rng(4).integers(0, 256, (*size, channels), np.uint8)
    expected = np.empty((*target, channels), np.uint8)
    (rows, row_share), (columns, column_share) = map(image._taps, size, target)
    one = np.float32(1)
    for y in range(target[0]):
        for x in range(target[1]):
            up, down = (pixels[row, columns[0][x]] * (one - column_share[x]) + pixels[row, columns[1][x]] *
                        column_share[x] for row in (rows[0][y], rows[1][y]))
            expected[y, x] = np.floor(up * (one - row_share[y]) + down * row_share[y] + np.float32(0.5))
    found = image.resize(pixels, *target)
    assert found.dtype == np.uint8 and found.tobytes() == expected.tobytes()


def test_resize_treats_both_axes_alike():
    pixels = np.random.default_rng(1).integers(0, 256, (13, 7, 3)).astype(np.uint8)
    turned = image.resize(pixels.transpose(1, 0, 2), 4, 5).transpose(1, 0, 2)
    difference = image.resize(pixels, 5, 4).astype(int) - turned
    assert np.abs(difference).max() <= 1  # the order of the two float sums differs


def entry(shape, dtype="uint8", scale=1 / 128, zero_point=128):
    return nnfast.TensorInfo("x", shape, np.dtype(dtype), 0, scale, zero_point, None, 0)


def values(pixels, dtype, recipe=None, scale=0.0, zero_point=0):
    """Input values of a column of grey pixels."""
    info = entry((1, len(pixels), 1, 1), dtype, scale, zero_point)
    return image.encode(np.uint8(pixels).reshape(-1, 1, 1), info, recipe or image.Recipe()).reshape(-1)


def test_float_values():
    np.testing.assert_allclose(values([0, 51, 255], "float32"), [-1, -0.6, 1], atol=1e-7)
    assert values([0], "float16").dtype == np.float16


@pytest.mark.parametrize("scale, zero_point", [(1 / 128, 128), (1 / 255, 0), (2 / 255, 127), (0.0, 0)])
def test_quantized_networks_take_bytes_where_nothing_else_is_said(scale, zero_point):
    pixels = np.arange(256)
    assert values(pixels, "uint8", None, scale, zero_point).tolist() == pixels.tolist()
    assert values(pixels, "int8", None, scale, zero_point and zero_point - 128).tolist() == (pixels - 128).tolist()


@pytest.mark.parametrize("dtype, zero_point, white", [("uint8", 128, 255), ("int8", 0, 127)])
def test_white_stays_white(dtype, zero_point, white):
    """1 in steps of 1 / 128 is one step beyond the highest code."""
    recipe = image.Recipe(mean=(127.5,), std=(127.5,))
    found = values(np.arange(256), dtype, recipe, 1 / 128, zero_point)
    assert found[255] == white and (np.diff(found.astype(int)) >= 0).all()


def test_mean_and_std_of_each_channel():
    pixels = np.full((2, 2, 3), 100, np.uint8)
    info = entry((1, 2, 2, 3), "float32")
    found = image.encode(pixels, info, image.Recipe(mean=(100.0, 90.0, 50.0), std=(1.0, 10.0, 25.0)))
    assert np.unique(found.reshape(-1, 3), axis=0).tolist() == [[0, 1, 2]]
    with pytest.raises(InvalidArgument, match="mean: has 2 values, must be one, or one for each of 3 channels"):
        image.encode(pixels, info, image.Recipe(mean=(1.0, 2.0), std=(1.0,)))


def test_mean_alone_and_std_alone():
    assert values([7], "float32", image.Recipe(mean=(5.0,))).tolist() == [2]
    assert values([7], "float32", image.Recipe(std=(2.0,))).tolist() == [3.5]


def test_other_dtypes_are_refused():
    with pytest.raises(InvalidArgument, match="dtype int32"):
        values([0], "int32")


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


def test_other_layouts(tmp_path):
    pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    PIL.fromarray(pixels).save(tmp_path / "x.png")
    whole = image.Recipe(crop=None)
    first = image.prepare(tmp_path / "x.png", entry((1, 3, 4, 5)), whole)
    np.testing.assert_array_equal(first[0], pixels.transpose(2, 0, 1))
    assert first.flags.c_contiguous
    cube = entry((1, 3, 3, 3))
    last, first = (image.prepare(tmp_path / "x.png", cube, image.Recipe(crop=None, layout=layout))
                   for layout in ("nhwc", "nchw"))
    np.testing.assert_array_equal(last[0], first[0].transpose(1, 2, 0))
    grey = image.prepare(tmp_path / "x.png", entry((1, 4, 5, 1)), whole)
    np.testing.assert_array_equal(grey[0, :, :, 0], np.asarray(PIL.fromarray(pixels).convert("L")))


def test_crop_is_a_share(tmp_path):
    pixels = np.arange(8 * 8 * 3, dtype=np.uint8).reshape(8, 8, 3)
    PIL.fromarray(pixels).save(tmp_path / "x.png")
    found = image.prepare(tmp_path / "x.png", entry((1, 4, 4, 3)), image.Recipe(crop=0.5))
    np.testing.assert_array_equal(found[0], pixels[2:6, 2:6])


def test_one_pixel_picture(tmp_path):
    PIL.new("RGB", (1, 1), (7, 7, 7)).save(tmp_path / "x.png")
    assert image.prepare(tmp_path / "x.png", entry((1, 2, 2, 3))).max() == 7


@pytest.mark.parametrize("shape, shown", [((1, 4), r"\[1, 4\]"), (None, "unknown"), ((2, 8, 8, 3), "2, 8"),
                                          ((1, 8, 8, 2), "8, 2"), ((1, None, 8, 3), "None")])
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
    with pytest.raises(InvalidArgument, match="is a folder, must be a picture; nnfast batch takes folders"):
        image.load(tmp_path)
