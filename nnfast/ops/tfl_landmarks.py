"""MediaPipe's custom operators on landmarks: the matrix that crops by them, what it does to points and to pictures.

A matrix [1, 4, 4] maps (x, y, 0, 1) of the crop to (x, y) of the picture, in pixels; its first two rows count.
"""

from math import atan2, cos, sin

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
    shape = node["landmarks"].shape
    numbers = [*node.numbers("subset"), node.scalar("left"), node.scalar("right")]
    if shape[0] != 1 or shape[2] != 3 or len(numbers) < 3 or any(not 0 <= k < shape[1] for k in numbers):
        node.fail("landmarks", f"shape is {list(shape)}, must be [1, n, 3] with all of landmarks {numbers}")
    for name in ("height", "width", "scale_x", "scale_y"):
        if not node.scalar(name) > 0:
            node.fail(name, f"is {node.scalar(name):g}, must be above 0")
    return [(1, 4, 4)]


def compute_matrix(node, inputs):
    """The box around some landmarks, turned so that two others lie at the target angle, onto the given size."""
    points = inputs[0][0, :, :2].astype(np.float64)
    left, right = points[node.scalar("left")], points[node.scalar("right")]
    angle = node.scalar("target") - atan2(right[1] - left[1], right[0] - left[0])
    turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    turned = points[node.numbers("subset")] @ turn.T
    low, high = turned.min(0), turned.max(0)
    size = np.array([node.scalar("width"), node.scalar("height")])
    scale = np.array([node.scalar("scale_x"), node.scalar("scale_y")]) * (high - low) / size
    result = np.eye(4)
    result[:2, :2] = turn.T * scale
    result[:2, 3] = turn.T @ ((low + high) / 2) - result[:2, :2] @ (size / 2)
    return [result.astype(np.float32)[None]]


TFL_LANDMARKS_TO_MATRIX = own(
    "TFL_LANDMARKS_TO_MATRIX",
    {"landmarks:F32 subset:I32 left:i32 right:i32 target:f32 height:i32 width:i32 scale_x:f32 scale_y:f32 -> "
     "matrix:F32": {}}, compute_matrix, infer_matrix)


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
    return [(1, *size, shape[3])]


def compute_picture(node, inputs):
    """The picture at the mapped places, between four pixels; 0 outside."""
    (x, matrix), ((_, height, width, _),) = inputs[:2], infer_picture(node)
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
                           {"input:F32 matrix:F32 height:i32 width:i32 -> output:F32": {}}, compute_picture,
                           infer_picture)
