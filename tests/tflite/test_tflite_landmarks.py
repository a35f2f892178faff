"""MediaPipe's operators on landmarks: the matrix of a crop, and what it does to points and pictures."""

from math import pi

import numpy as np
import pytest

from helpers.tflite.flexmap import flexmap
from helpers.tflite.running import One
from nnfast.errors import UnsupportedOperator
from nnfast.tflite.flexmap import decode

POINTS = np.array([[[2, 4, 7], [10, 4, 8], [10, 8, 9], [2, 8, 1]]], np.float32)
OPTIONS = {"left_rotation_idx": 0, "right_rotation_idx": 1, "target_rotation_radians": 0.0, "output_height": 2,
           "output_width": 4, "scale_x": 1.0, "scale_y": 1.0}
SHIFT = np.array([[[0, 2, 0, 3], [2, 0, 0, 5], [0, 0, 1, 0], [0, 0, 0, 1]]], np.float32)


def options(subset=(0, 2), **changes):
    """Of version 2."""
    return flexmap(OPTIONS | changes | {"subset_idxs": subset})


def matrix(points=POINTS, **changes):
    one = One("Landmarks2TransformMatrix", [points], [((1, 4, 4), "float32")], custom=options(**changes))
    return one.run()[0][0].astype(np.float64)


def corner(of, x, y):
    return (of @ [x, y, 0, 1])[:2].round(5).tolist()


def test_the_crop_spans_the_landmarks():
    found = matrix()
    assert (corner(found, 0, 0), corner(found, 4, 2)) == ([2, 4], [10, 8])


def test_the_crop_is_turned_as_its_landmarks():
    # The same landmarks a quarter further: the crop's corners go with them.
    turned = POINTS[..., [1, 0, 2]] * np.array([-1, 1, 1], np.float32)
    found = matrix(turned)
    assert (corner(found, 0, 0), corner(found, 4, 2)) == ([-4, 2], [-8, 10])
    assert corner(matrix(target_rotation_radians=pi), 0, 0) == [10, 8]


def test_scales_widen_the_crop_around_its_centre():
    found = matrix(scale_x=2.0)
    assert (corner(found, 0, 0), corner(found, 4, 2)) == ([-2, 4], [14, 8])


def test_a_landmark_that_is_not_there_is_refused():
    with pytest.raises(UnsupportedOperator, match="landmarks"):
        matrix(subset=(0, 4))


def test_vectors_of_options_are_read():
    assert decode(options(subset=(3, 1, 300)))["subset_idxs"] == [3, 1, 300]


@pytest.mark.parametrize("size", [2, 3])
def test_landmarks_under_a_matrix(size):
    points = POINTS[..., :size].copy()
    (result,) = One("TransformLandmarks", [points, SHIFT], [(points.shape, "float32")], custom=b"").run()
    expected = points.copy()
    expected[..., 0], expected[..., 1] = 2 * points[..., 1] + 3, 2 * points[..., 0] + 5
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize(("name", "custom", "shift"), [
    ("TransformTensorBilinear", {"output_height": 4, "output_width": 6}, 0.25),
    ("TransformTensorBilinear", {"output_size": (4, 6)}, 0),
    ("TransformTensor", {"output_size": (4, 6), "mode": "bilinear"}, 0),
])
def test_a_picture_under_a_matrix(name, custom, shift):
    """Version 2 maps the centres of pixels: half a pixel of the crop is a quarter of the picture's."""
    x = np.arange(24, dtype=np.float32).reshape(1, 3, 4, 2)
    half = np.array([[[0.5, 0, 0, 1], [0, 1, 0, -1], [0, 0, 1, 0], [0, 0, 0, 1]]], np.float32)
    (result,) = One(name, [x, half], [((1, 4, 6, 2), "float32")], custom=flexmap(custom)).run()
    expected = np.zeros((4, 6, 2))
    for row in range(1, 4):
        for column in range(6):
            place = 1 + column / 2 - shift
            if place <= 3:
                near, share = int(np.floor(place)), place % 1
                expected[row, column] = (1 - share) * x[0, row - 1, near] + share * x[0, row - 1, min(near + 1, 3)]
    assert result[0].tolist() == expected.tolist()


def test_a_picture_between_pixels_in_another_way_is_refused():
    one = One("TransformTensor", [np.zeros((1, 3, 4, 2), np.float32), SHIFT], [((1, 4, 6, 2), "float32")],
              custom=flexmap({"output_size": (4, 6), "mode": "nearest"}))
    with pytest.raises(UnsupportedOperator, match="must be 'bilinear'"):
        one.model()


# -- version 1 -------------------------------------------------------------------------------------------------------
FIRST = {"dimensions": 3, "landmarks_range": 20, "bbox_size_multiplier": 1.5, "left_rotation_idx": 0,
         "right_rotation_idx": 1, "input_hw": (41, 81), "output_hw": (3, 5), "subset": (0, 2, 3)}


def first_matrix(points, **changes):
    points = np.ascontiguousarray(points.reshape(1, 1, 1, -1))
    return One("Landmarks2TransformMatrix", [points], [((1, 4, 4), "float32")],
               custom=flexmap(FIRST | changes)).run()[0][0].astype(np.float64)


@pytest.mark.parametrize("angle", [0, 0.5, -1.2])
def test_the_crop_of_version_1_goes_from_corner_to_corner(angle):
    """Landmarks of 0 to 20 are places of 0 to 80 and 0 to 40; the box of 8 by 4 grows to 12 by 6 around its centre."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    centre, points = np.array([6.0, 6.0]), POINTS[0].copy()
    points[:, :2] = (POINTS[0, :, :2] - centre) @ turn.T + centre
    found = first_matrix(points)
    for corner_of, way in (((0, 0), (-6, -3)), ((4, 2), (6, 3)), ((4, 0), (6, -3)), ((2, 1), (0, 0))):
        wanted = (centre + turn @ way) * [4, 2]
        np.testing.assert_allclose((found @ [*corner_of, 0, 1])[:2], wanted, atol=1e-4)
    assert found[2:].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]


def test_version_1_turns_the_short_way():
    """Landmarks from right to left give the same crop as from left to right."""
    swapped = first_matrix(POINTS[0], left_rotation_idx=1, right_rotation_idx=0)
    np.testing.assert_array_equal(swapped, first_matrix(POINTS[0]))


@pytest.mark.parametrize(("changes", "reason"), [
    ({"dimensions": 2}, "dimensions is 2"), ({"input_hw": (4,)}, "input_hw is"), ({"output_hw": (3, 1)}, "width"),
    ({"landmarks_range": 0}, "range"), ({"subset": (0, 4)}, "with all of landmarks"), ({"subset": ()}, "subset is"),
])
def test_version_1_refuses(changes, reason):
    with pytest.raises(UnsupportedOperator, match=reason):
        first_matrix(POINTS[0], **changes)


@pytest.mark.parametrize("size", [2, 3])
def test_landmarks_of_version_1(size):
    """Points in the last dimension; the way of the matrix is taken `scale` times."""
    points = np.arange(24, dtype=np.float32).reshape(1, 2, 1, 12)
    (result,) = One("TransformLandmarks", [points, SHIFT], [(points.shape, "float32")],
                    custom=flexmap({"dimensions": size, "scale": 2.0})).run()
    expected = points.reshape(-1, size).copy()
    x, y = points.reshape(-1, size)[:, :2].T
    expected[:, 0], expected[:, 1] = 2 * y + 6, 2 * x + 10
    assert result.tolist() == expected.reshape(points.shape).tolist()


# -- Resampler -------------------------------------------------------------------------------------------------------
def test_a_picture_at_other_places():
    random = np.random.default_rng(4)
    x, places = random.normal(size=(2, 3, 4, 2)).astype(np.float32), random.uniform(-2, 5, (2, 3, 4, 2))
    places = places.astype(np.float32)
    places[0, 0, :3] = [[3, 2], [-1, 0], [np.nan, 1]]
    (result,) = One("Resampler", [x, places], [(x.shape, "float32")], custom=b"").run()
    expected = np.zeros(x.shape)
    for image, i, j in np.ndindex(2, 3, 4):
        for row, column in np.ndindex(3, 4):
            share = [max(0, 1 - abs(float(at) - where)) for at, where in zip(places[image, i, j], (column, row))]
            if not np.isnan(share).any():
                expected[image, i, j] += share[0] * share[1] * x[image, row, column]
    np.testing.assert_allclose(result, expected, atol=1e-6)
    assert np.count_nonzero(expected) < expected.size
