"""From a picture to the input of an image network, as the benchmark evaluators do it [NN 16.8].

1. Decode to RGB as stored: no turning by EXIF; transparency is dropped.
2. Cut out the middle square of side trunc(0.875 * shorter side), corner at width/2 - side/2 (whole divisions).
3. Resize by plain two-tap bilinear: pixel centres at half, edges repeated, no smoothing first, rounded to whole bytes.
4. f = v * 2 / 255 - 1. A float network takes f. A uint8 network takes trunc(f / scale + zero point) & 255, so that the
   brightest value can wrap to 0, as it does there. An int8 network takes that of its uint8 twin less 128, clipped.
"""

import numpy as np

from ..errors import InvalidArgument

CROP = 0.875


def load(path):
    """RGB bytes [height, width, 3] of a picture file; raises InvalidArgument."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InvalidArgument("pictures need Pillow (pip install pillow)") from None
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except UnidentifiedImageError:
        raise InvalidArgument(f"{path}: not a picture in a known format") from None
    except FileNotFoundError:
        raise InvalidArgument(f"{path}: no such file") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InvalidArgument(f"{path}: cannot be decoded: {error}") from None


def crop(pixels, share=CROP):
    """Middle square of pixels [height, width, 3]."""
    height, width = pixels.shape[:2]
    side = max(int(share * min(width, height)), 1)
    left, top = width // 2 - side // 2, height // 2 - side // 2
    return pixels[top:top + side, left:left + side]


def resize(pixels, height, width):
    """Bytes [height, width, 3] of pixels resized by two-tap bilinear interpolation with half-pixel centres."""
    rows, row_share = _taps(pixels.shape[0], height)
    columns, column_share = _taps(pixels.shape[1], width)
    source = pixels.astype(np.float32)
    across = source[:, columns[0]] * (1 - column_share)[:, None] + source[:, columns[1]] * column_share[:, None]
    result = across[rows[0]] * (1 - row_share)[:, None, None] + across[rows[1]] * row_share[:, None, None]
    return np.floor(result + np.float32(0.5)).astype(np.uint8)


def _taps(size, target):
    """((first, second) source index, share of the second) for each of `target` positions."""
    position = np.clip((np.arange(target) + 0.5) * (size / target) - 0.5, 0, size - 1)
    first = np.floor(position).astype(np.intp)
    return (first, np.minimum(first + 1, size - 1)), (position - first).astype(np.float32)


def encode(pixels, dtype, scale, zero_point):
    """Input values of bytes [height, width, 3]: float in [-1, 1], or quantized."""
    real = pixels.astype(np.float32) * np.float32(2) / np.float32(255) - np.float32(1)
    if np.issubdtype(dtype, np.floating):
        return real.astype(dtype)
    if dtype == np.uint8:
        return (np.trunc(real / np.float32(scale) + np.float32(zero_point)).astype(np.int32) & 255).astype(np.uint8)
    if dtype == np.int8:
        shifted = np.trunc(real / np.float32(scale) + np.float32(zero_point + 128))
        return np.clip(shifted - 128, -128, 127).astype(np.int8)
    raise InvalidArgument(f"a picture cannot feed an input of dtype {dtype}, must be float, uint8 or int8")


def prepare(path, entry):
    """Array for an input (entry: name, shape [1, height, width, 3], dtype, scale, zero_point) from a picture file."""
    shape = entry.shape
    if shape is None or len(shape) != 4 or shape[0] not in (1, None) or shape[3] != 3 or None in shape[1:3]:
        shown = "unknown" if shape is None else list(shape)
        raise InvalidArgument(f"input {entry.name}: shape is {shown}, a picture needs [1, height, width, 3]")
    pixels = resize(crop(load(path)), shape[1], shape[2])
    return encode(pixels, np.dtype(entry.dtype), entry.scale, entry.zero_point)[None]
