"""MediaPipe's custom operators on landmarks: the matrix that crops by them, what it does to points and to pictures; and
its operator that takes a picture apart at any places.

A matrix [1, 4, 4] maps (x, y, 0, 1) of the crop to (x, y) of the picture, in pixels; its first two rows count.
"""

from math import atan2, cos, isfinite, prod, sin

import numpy as np

from .tfl import own


def _check_matrix(node):
    if node["matrix"].shape != (1, 4, 4):
        node.fail("matrix", f"shape is {list(node['matrix'].shape)}, must be [1, 4, 4]")


def _mapped(matrix, points):
    """Points [..., 2] under the matrix."""
    return points @ matrix[0, :2, :2].T + matrix[0, :2, 3]


# -- Landmarks2TransformMatrix ---------------------------------------------------------------------------------------
def infer_matrix(node):
    """[1, 4, 4]."""
    node.check_rank("landmarks", 3)
    _check_landmarks(node, node["landmarks"].shape[::2] == (1, 3), "[1, n, 3]")
    _check_positive(node, "height", "width", "scale_x", "scale_y")
    if not isfinite(node.scalar("target")):
        node.fail("target", f"is {node.scalar('target'):g}, must be a finite angle in radians")
    return [(1, 4, 4)]


def _check_landmarks(node, fits, rule):
    shape = node["landmarks"].shape
    numbers = [*node.numbers("subset"), node.scalar("left"), node.scalar("right")]
    if not fits or len(numbers) < 3 or any(not 0 <= k < prod(shape) // 3 for k in numbers):
        node.fail("landmarks", f"shape is {list(shape)}, must be {rule} with all of landmarks {numbers}")


def _check_positive(node, *names):
    for name in names:
        if not node.scalar(name) > 0:
            node.fail(name, f"is {node.scalar(name):g}, must be above 0")


def compute_matrix(node, inputs):
    """The box around some landmarks, turned so that two others lie at the target angle, onto the given size."""
    points = inputs[0][0, :, :2].astype(np.float64)
    left, right = points[node.scalar("left")], points[node.scalar("right")]
    turn, low, high = _turned(node, points, node.scalar("target") - atan2(right[1] - left[1], right[0] - left[0]))
    size = np.array([node.scalar("width"), node.scalar("height")])
    scale = np.array([node.scalar("scale_x"), node.scalar("scale_y")]) * (high - low) / size
    result = np.eye(4)
    result[:2, :2] = turn.T * scale
    result[:2, 3] = turn.T @ ((low + high) / 2) - result[:2, :2] @ (size / 2)
    return [result.astype(np.float32)[None]]


def _turned(node, points, angle):
    """(matrix of the turn, lowest and highest coordinates of the subset's points under it)."""
    turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    turned = points[node.numbers("subset")] @ turn.T
    return turn, turned.min(0), turned.max(0)


TFL_LANDMARKS_TO_MATRIX = own(
    "TFL_LANDMARKS_TO_MATRIX",
    {"landmarks:F32 subset:I32 left:i32 right:i32 target:f32 height:i32 width:i32 scale_x:f32 scale_y:f32 -> "
     "matrix:F32": {}}, compute_matrix, infer_matrix)


def infer_matrix_v1(node):
    """[1, 4, 4]."""
    node.check_rank("landmarks", 4)
    *ones, size = node["landmarks"].shape
    _check_landmarks(node, ones == [1, 1, 1] and not size % 3, "[1, 1, 1, 3 n]")
    _check_positive(node, "range", "input_height", "input_width")
    for name in ("height", "width"):
        if node.scalar(name) < 2:
            node.fail(name, f"is {node.scalar(name)}, must be at least 2")
    return [(1, 4, 4)]


def compute_matrix_v1(node, inputs):
    """As version 2, from landmarks between 0 and a range; corners of the crop lie on corners, and landmarks that stand
    upside down are turned the short way.
    """
    points = inputs[0].reshape(-1, 3)[:, :2].astype(np.float64)
    across, down = points[node.scalar("right")] - points[node.scalar("left")]
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = -np.arctan(np.float64(down) / across)
    turn, low, high = _turned(node, points, angle)
    size = (high - low) * node.scalar("multiplier") / node.scalar("range")
    last, half = (np.array([node.scalar(f"{side}width"), node.scalar(f"{side}height")]) - 1 for side in ("", "input_"))
    half = half / 2
    result = np.eye(4)
    result[:2, :2] = half[:, None] * turn.T * (size * 2 / last)
    result[:2, 3] = half * (turn.T @ ((low + high) / node.scalar("range") - size))
    return [result.astype(np.float32)[None]]


TFL_LANDMARKS_TO_MATRIX_V1 = own(
    "TFL_LANDMARKS_TO_MATRIX_V1",
    {"landmarks:F32 subset:I32 left:i32 right:i32 range:i32 multiplier:f32 input_height:i32 input_width:i32 height:i32 "
     "width:i32 -> matrix:F32": {}}, compute_matrix_v1, infer_matrix_v1)


# -- TransformLandmarks ----------------------------------------------------------------------------------------------
def infer_landmarks(node):
    """Shape of the landmarks."""
    node.check_rank("landmarks", 3)
    if node["landmarks"].shape[0] != 1 or node["landmarks"].shape[2] not in (2, 3):
        node.fail("landmarks", f"shape is {list(node['landmarks'].shape)}, must be [1, n, 2] or [1, n, 3]")
    _check_matrix(node)
    return [node["landmarks"].shape]


def compute_landmarks(node, inputs):
    """x and y under the matrix; z stays."""
    landmarks, matrix = inputs
    return [np.concatenate([_mapped(matrix, landmarks[..., :2]), landmarks[..., 2:]], -1)]


TFL_TRANSFORM_LANDMARKS = own("TFL_TRANSFORM_LANDMARKS", {"landmarks:F32 matrix:F32 -> output:F32": {}},
                              compute_landmarks, infer_landmarks)


# -- TransformTensorBilinear -----------------------------------------------------------------------------------------
def infer_picture(node):
    """The given size."""
    node.check_rank("input", 4)
    shape, size = node["input"].shape, (node.scalar("height"), node.scalar("width"))
    if shape[0] != 1 or min(size) < 1:
        node.fail("input", f"shape is {list(shape)} to {list(size)}, must have batch 1 and sizes of at least 1")
    _check_matrix(node)
    if shape[3]:
        node.check_elements("input")
    return [(1, *size, shape[3])]


def compute_picture(node, inputs):
    """The picture at the mapped places, between four pixels; 0 outside. is_centred: the matrix maps the centres of
    pixels, else their corners.
    """
    (x, matrix), ((_, height, width, _),) = inputs[:2], infer_picture(node)
    if node.scalar("is_centred"):
        matrix = matrix.copy()
        halves = matrix[0, :2, :2].astype(np.float64) @ [0.5, 0.5] - 0.5
        matrix[0, :2, 3] = matrix[0, :2, 3] + halves
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    places = _mapped(matrix, np.stack([columns, rows], -1))
    last = np.array([x.shape[2] - 1, x.shape[1] - 1], np.float32)
    inside = ((places >= 0) & (places <= last)).all(-1, keepdims=True)
    places = np.where(inside, places, np.float32(0))
    (column, row), share = np.moveaxis(np.floor(places).astype(np.int64), -1, 0), places - np.floor(places)
    # A pixel beyond the last one has no share.
    padded = np.pad(x[0], ((0, 1), (0, 1), (0, 0)))
    right, lower = share[..., :1], share[..., 1:]
    upper = (1 - right) * padded[row, column] + right * padded[row, column + 1]
    under = (1 - right) * padded[row + 1, column] + right * padded[row + 1, column + 1]
    return [np.where(inside, (1 - lower) * upper + lower * under, np.float32(0)).astype(np.float32)[None]]


TFL_TRANSFORM_TENSOR = own("TFL_TRANSFORM_TENSOR",
                           {"input:F32 matrix:F32 height:i32 width:i32 is_centred:bool -> output:F32": {}},
                           compute_picture, infer_picture)


# -- Resampler -------------------------------------------------------------------------------------------------------
def infer_resampled(node):
    """Shape of the picture."""
    node.check_rank("input", 4)
    shape = node["input"].shape
    if node["places"].shape != (*shape[:3], 2):
        node.fail("places", f"have shape {list(node['places'].shape)}, must be {[*shape[:3], 2]}")
    return [shape]


def compute_resampled(node, inputs):
    """The picture at the places (x, y) of each pixel, between four pixels, of which those outside are 0."""
    x, places = inputs
    batch, height, width, _ = x.shape
    inside = ((places > -1) & (places < np.array([width, height], np.float32))).all(-1)
    places = np.where(inside[..., None], places, np.float32(0))
    column, row = np.moveaxis(np.floor(places).astype(np.int64), -1, 0) + 1
    share = np.floor(places) + np.float32(1) - places
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    image = np.arange(batch)[:, None, None]
    (left, upper), (right, lower) = ((part[..., :1], part[..., 1:]) for part in (share, np.float32(1) - share))
    result = left * upper * padded[image, row, column] + right * lower * padded[image, row + 1, column + 1]
    result = result + left * lower * padded[image, row + 1, column]
    result = result + right * upper * padded[image, row, column + 1]
    return [np.where(inside[..., None], result, np.float32(0))]


TFL_RESAMPLER = own("TFL_RESAMPLER", {"input:F32 places:F32 -> output:F32": {}}, compute_resampled, infer_resampled)
