"""From a picture to the input of an image network.

1. Decode to RGB, or to grey for one channel, as stored: no turning by EXIF; transparency is dropped.
2. Cut out the middle square of side trunc(crop * shorter side), corner at width/2 - side/2 (whole divisions).
3. Resize by plain two-tap bilinear: pixel centres at half, edges repeated, no smoothing first, rounded to whole bytes.
4. Real values (v - mean) / std: of the flags, else of the file's metadata, else in [-1, 1] for a network of floats. A
   quantized network takes their codes, clipped to its range; without flags and metadata its lowest code for 0 and its
   highest for 255. Nothing wraps: white stays white.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidArgument
from ..extras import needed

CROP = 0.875
CHANNELS = {1: "L", 3: "RGB"}
"""Channels of a network -> mode of Pillow."""


@dataclass(frozen=True)
class Recipe:
    """How pictures are prepared. crop: share of the shorter side, None for the whole picture; layout: "nhwc", "nchw",
    None: by the input's shape; mean, std: of bytes 0 to 255, one value or one for each channel, () for the rule above.
    """

    crop: float | None = CROP
    layout: str | None = None
    mean: tuple = ()
    std: tuple = ()


def load(path, mode="RGB"):
    """Bytes [height, width, channels] of a picture file; raises InvalidArgument."""
    pillow = needed("PIL.Image")
    try:
        with pillow.open(path) as image:
            pixels = np.asarray(image if image.mode == mode else image.convert(mode))
    except pillow.UnidentifiedImageError:
        raise InvalidArgument(f"{path}: not a picture in a known format") from None
    except FileNotFoundError:
        raise InvalidArgument(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidArgument(f"{path}: is a folder, must be a picture; nnfast batch takes folders") from None
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise InvalidArgument(f"{path}: cannot be decoded: {error}") from None
    return pixels.reshape(*pixels.shape[:2], -1)


def crop(pixels, share=CROP):
    """Middle square of pixels [height, width, channels]."""
    height, width = pixels.shape[:2]
    side = max(int(share * min(width, height)), 1)
    left, top = width // 2 - side // 2, height // 2 - side // 2
    return pixels[top:top + side, left:left + side]


def resize(pixels, height, width):
    """Bytes [height, width, channels] of pixels resized by two-tap bilinear interpolation with half-pixel centres."""
    rows, row_share = _taps(pixels.shape[0], height)
    columns, column_share = _taps(pixels.shape[1], width)
    channels = pixels.shape[2]
    used, places = np.unique(rows, return_inverse=True)  # most rows of a large picture are between the taps
    source = pixels[used].reshape(len(used), -1)
    values = [(column[:, None] * channels + np.arange(channels)).reshape(-1) for column in columns]
    across = _between(source, values, np.repeat(column_share, channels), 1)
    result = _between(across, places.reshape(2, -1), row_share[:, None], 0)
    result += np.float32(0.5)
    return result.astype(np.uint8).reshape(height, width, channels)


def _between(array, taps, share, axis):
    """Float32 values between the first and the second taps along an axis. taps: two arrays of indices; share: of the
    second."""
    result = array.take(taps[0], axis) * (1 - share)
    result += array.take(taps[1], axis) * share
    return result


def _taps(size, target):
    """((first, second) source index, share of the second) for each of `target` positions."""
    position = np.clip((np.arange(target) + 0.5) * (size / target) - 0.5, 0, size - 1)
    first = np.floor(position).astype(np.intp)
    return (first, np.minimum(first + 1, size - 1)), (position - first).astype(np.float32)


def encode(pixels, entry, recipe):
    """Input values of bytes [height, width, channels] for an input (a TensorInfo)."""
    is_float = np.issubdtype(entry.dtype, np.floating)
    if not is_float and np.dtype(entry.dtype) not in (np.uint8, np.int8, np.int16):
        raise InvalidArgument(f"a picture cannot feed an input of dtype {entry.dtype}, must be float, uint8 or int8")
    if not is_float and not recipe.mean and not recipe.std or not is_float and not entry.scales:
        codes = np.iinfo(entry.dtype)
        wide = pixels.astype(np.int32) + (codes.min if codes.bits == 8 else 0)
        return wide.astype(entry.dtype)
    mean, std = recipe.mean or (127.5,), recipe.std or (127.5,)
    if recipe.mean and not recipe.std:
        std = (1.0,)
    if recipe.std and not recipe.mean:
        mean = (0.0,)
    for name, values in (("mean", mean), ("std", std)):
        if len(values) not in (1, pixels.shape[2]):
            raise InvalidArgument(f"{name}: has {len(values)} values, must be one, or one for each of "
                                  f"{pixels.shape[2]} channels")
    real = (pixels.astype(np.float32) - np.float32(mean)) / np.float32(std)
    return real.astype(entry.dtype) if is_float else entry.quantize(real)


def place_of(entry, recipe):
    """(layout, height, width, channels) that an input (a TensorInfo) needs; raises InvalidArgument if it takes no
    picture."""
    shape = entry.shape
    if shape is None or len(shape) != 4 or shape[0] not in (1, None) or None in shape[1:]:
        raise _not_a_picture(entry)
    layout = recipe.layout or ("nhwc" if shape[3] in CHANNELS or shape[1] not in CHANNELS else "nchw")
    height, width, channels = shape[1:] if layout == "nhwc" else (*shape[2:], shape[1])
    if channels not in CHANNELS:
        raise _not_a_picture(entry)
    return layout, height, width, channels


def prepare(path, entry, recipe=None):
    """Array for an input (a TensorInfo of shape [1, height, width, channels] or [1, channels, height, width]) from a
    picture file.
    """
    recipe = Recipe() if recipe is None else recipe
    layout, height, width, channels = place_of(entry, recipe)
    pixels = load(path, CHANNELS[channels])
    if recipe.crop is not None:
        pixels = crop(pixels, recipe.crop)
    values = encode(resize(pixels, height, width), entry, recipe)
    return np.ascontiguousarray(values if layout == "nhwc" else values.transpose(2, 0, 1))[None]


def _not_a_picture(entry):
    shown = "unknown" if entry.shape is None else list(entry.shape)
    return InvalidArgument(f"input {entry.name}: shape is {shown}, a picture needs [1, height, width, 1 or 3], or "
                           "channels first; --shape sets open dimensions")
