"""Photos of a data set as inputs of a classifier, prepared as the benchmark lays down [NN 16.8]."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...batch import image
from ...errors import InvalidArgument

NAME = re.compile(r".*-(\d+)\.(?:jpe?g|png)$", re.IGNORECASE)


class Pictures:
    """Photos of a folder with their true classes, decoded once for all models.

    photos: manifest.Photos; channels: 1 or 3; limit: how many at most. names: of the files that could be read; classes:
    true class of each; labels: texts of all classes, or None; problems: what is missing or broken, a line each. Raises
    InvalidArgument where no photo can be given its class.
    """

    def __init__(self, photos, channels=3, limit=None):
        self.labels = None if photos.labels is None else lines_of(photos.labels)
        self.problems = []
        numbered = self._pair(photos, classes_of(photos, self.labels))[:limit]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            squares = list(pool.map(lambda row: self._square(row[0], image.CHANNELS[channels]), numbered))
        read = [(path.name, true, square) for (path, true), square in zip(numbered, squares)
                if not isinstance(square, str)]
        self.problems += [square for square in squares if isinstance(square, str)]
        if not read:
            raise InvalidArgument(f"{photos.folder}: none of its photos can be read: {self.problems[0]}")
        self.names, self.classes, self._squares = (list(column) for column in zip(*read))
        self._sized = None, None

    def _pair(self, photos, classes):
        """[(path, true class)] in the order of the photos' numbers."""
        if not photos.folder.is_dir():
            raise InvalidArgument(f"{photos.folder}: no such folder of photos")
        found = sorted((int(match[1]), path) for path in photos.folder.iterdir() if (match := NAME.match(path.name)))
        if not found:
            raise InvalidArgument(f"{photos.folder}: holds no photos; they are named <name>-<number>.jpeg")
        if len(found) == len(classes):
            return [(path, true) for (_, path), true in zip(found, classes)]
        numbers = [number for number, _ in found]
        if len(found) > len(classes) or len(set(numbers)) < len(numbers) or numbers[-1] >= len(classes):
            raise InvalidArgument(f"{photos.truth}: has {len(classes)} lines for {len(found)} photos, must have one "
                                  "for each")
        missing = sorted(set(range(len(classes))) - set(numbers))
        self.problems.append(f"{photos.folder}: {len(missing)} of {len(classes)} photos are missing, the first is "
                             f"number {missing[0]}")
        return [(path, classes[number]) for number, path in found]

    @staticmethod
    def _square(path, mode):
        """Middle square of a photo, or what is wrong with it."""
        try:
            return np.ascontiguousarray(image.crop(image.load(path, mode)))
        except InvalidArgument as error:
            return str(error)

    def sized(self, height, width):
        """Bytes [photos, height, width, channels]."""
        size, pixels = self._sized
        if size != (height, width):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                pixels = np.stack(list(pool.map(lambda square: image.resize(square, height, width), self._squares)))
            self._sized = (height, width), pixels
        return pixels


def lines_of(path):
    """Lines of a text file; raises InvalidArgument."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidArgument(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{path}: not a text file in UTF-8") from None


def classes_of(photos, labels):
    """True class of each line of ground truth; the lowest where several classes share a label."""
    numbers = None if labels is None else {label: number for number, label in reversed(list(enumerate(labels)))}
    found = []
    for place, line in enumerate(lines_of(photos.truth), 1):
        try:
            found.append(int(line) if numbers is None else numbers[line])
        except (KeyError, ValueError):
            rule = "a class number" if labels is None else f"a line of {photos.labels.name}"
            raise InvalidArgument(f"{photos.truth}: line {place} is {line!r}, must be {rule}") from None
    return found


def encode(pixels, dtype, scale=0.0, zero_point=0):
    """Input values of bytes: f = v * 2 / 255 - 1 for floats; for 8 bits trunc(f / scale + zero point) & 255, so that
    the brightest value can wrap to the lowest code. Signed codes are 128 lower. Raises InvalidArgument for others."""
    real = pixels.astype(np.float32) * np.float32(2) / np.float32(255) - np.float32(1)
    if np.dtype(dtype).kind == "f":
        return real.astype(dtype)
    if np.dtype(dtype).itemsize != 1 or not scale:
        raise InvalidArgument(f"photos cannot feed an input of dtype {dtype}{'' if scale else ' without a scale'}, "
                              "must be float32, or uint8 or int8 with a scale")
    below = 128 if np.dtype(dtype) == np.int8 else 0
    codes = np.trunc(real / np.float32(scale) + np.float32(zero_point + below)).astype(np.int32) & 255
    return (codes - below).astype(dtype)
