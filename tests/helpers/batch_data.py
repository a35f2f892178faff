"""Models, pictures and runs for the tests of `nnfast batch`."""

import json

import numpy as np
from PIL import Image

from helpers.commands import call
from helpers.tflite.file_builder import Op, Tensor, build

SIZE = 4
FLAT = SIZE * SIZE * 3


def copying(dtype="uint8", outputs=1):
    """A file that gives its [1, 4, 4, 3] input back, flat, once or several times."""
    tensors = [Tensor("x", (1, SIZE, SIZE, 3), dtype), Tensor.of("s", np.array([-1, FLAT], np.int32))]
    names = [f"y{k}" for k in range(outputs)]
    tensors += [Tensor(name, (1, FLAT), dtype) for name in names]
    operations = [Op("RESHAPE", ["x", "s"], [name], "ReshapeOptions", {"NewShape": [-1, FLAT]}) for name in names]
    return build(tensors, operations, ["x"], names)


def save_pictures(folder, count, seed=0):
    """Random pictures 00.png, 01.png ... of differing sizes."""
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    for k in range(count):
        pixels = rng.integers(0, 256, (6 + k % 3, 5 + k % 4, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{k:02d}.png")
    return folder


def batch(model, *inputs, output, **options):
    """(exit code, document or None) of `nnfast batch` in this process."""
    document = output.parent / "document.json"
    document.unlink(missing_ok=True)
    flags = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in options.items()]
    code = call("batch", model, *inputs, "--output", output, "--json", document, *flags)
    return code, json.loads(document.read_text()) if document.exists() else None
