"""MediaPipe's operators on landmarks: the matrix of a crop, and what it does to points and pictures."""

from math import pi

import numpy as np
import pytest
from flatbuffers import flexbuffers

from helpers.tflite.running import One
from nnfast.errors import UnsupportedOperator
from nnfast.tflite.flexmap import decode

POINTS = np.array([[[2, 4, 7], [10, 4, 8], [10, 8, 9], [2, 8, 1]]], np.float32)
OPTIONS = {"left_rotation_idx": 0, "right_rotation_idx": 1, "target_rotation_radians": 0.0, "output_height": 2,
           "output_width": 4, "scale_x": 1.0, "scale_y": 1.0}
SHIFT = np.array([[[0, 2, 0, 3], [2, 0, 0, 5], [0, 0, 1, 0], [0, 0, 0, 1]]], np.float32)


def options(subset=(0, 2), **changes):
    """Bytes of a map with a vector of integers."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in sorted((OPTIONS | changes).items()):
            builder.Key(name)
            (builder.Int if isinstance(value, int) else builder.Float)(value)
        builder.Key("subset_idxs")
        with builder.TypedVector():
            for number in subset:
                builder.Int(number)
    return bytes(builder.Finish())


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


def test_a_picture_under_a_matrix():
    x = np.arange(24, dtype=np.float32).reshape(1, 3, 4, 2)
    half = np.array([[[0.5, 0, 0, 1], [0, 1, 0, -1], [0, 0, 1, 0], [0, 0, 0, 1]]], np.float32)
    builder = flexbuffers.Builder()
    builder.MapFromElements({"output_height": 4, "output_width": 6})
    (result,) = One("TransformTensorBilinear", [x, half], [((1, 4, 6, 2), "float32")],
                    custom=bytes(builder.Finish())).run()
    expected = np.zeros((4, 6, 2))
    for row in range(1, 4):
        for column in range(5):
            place = 1 + column / 2
            near, far = int(np.floor(place)), int(np.ceil(place))
            expected[row, column] = (x[0, row - 1, near] + x[0, row - 1, far]) / 2
    assert result[0].tolist() == expected.tolist()
