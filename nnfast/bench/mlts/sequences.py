"""Inputs of a model as sequences of steps, with their expected outputs where there are any."""

from dataclasses import dataclass

import numpy as np

from ...checks import counted
from ...errors import InvalidArgument
from .pictures import encode

KEPT_BYTES = 256 << 20
"""Inputs made of photos are kept where all of a model have no more; else each is made when its turn comes."""


@dataclass(slots=True)
class Sequence:
    """Steps that share a state.

    name: of its file; inputs: array [steps, shape of the input]; golden: for each output an array [steps, values], or
    (); true: class of a photo, else None.
    """

    name: str
    inputs: np.ndarray
    golden: tuple = ()
    true: int | None = None


def from_pair(pair, entry, outputs):
    """The Sequence of two raw little-endian files [NN 16.9]. entry, outputs: TensorInfo of the input, of the outputs.
    Raises InvalidArgument where they do not fit."""
    inputs = _raw(pair.input, entry.dtype)
    step = int(np.prod(entry.shape))
    if not inputs.size or inputs.size % step:
        raise InvalidArgument(f"{pair.input}: has {inputs.nbytes} bytes, must be a multiple of the "
                              f"{step * inputs.itemsize} bytes of a step")
    inputs = inputs.reshape(-1, *entry.shape)
    if pair.outputs and len(pair.outputs) != len(outputs):
        raise InvalidArgument(f"{pair.input}: has {counted(len(pair.outputs), 'file')} of expected outputs, the model "
                              f"has {counted(len(outputs), 'output')}")
    golden = []
    for path, info in zip(pair.outputs, outputs):
        values = _raw(path, info.dtype)
        if values.size % len(inputs) or info.shape and values.size != len(inputs) * int(np.prod(info.shape)):
            want = "" if info.shape is None else f" of {list(info.shape)}"
            raise InvalidArgument(f"{path}: has {values.size} values, must have {counted(len(inputs), 'step')}{want}")
        golden.append(values.reshape(len(inputs), -1))
    return Sequence(pair.input.stem, inputs, tuple(golden))


def _raw(path, dtype):
    """Values of a little-endian file."""
    kind = np.dtype(dtype)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"{path}: {error.strerror or error}") from None
    if len(content) % kind.itemsize:
        raise InvalidArgument(f"{path}: has {len(content)} bytes, must be a multiple of the {kind.itemsize} of {kind}")
    return np.frombuffer(content, kind.newbyteorder("<")).astype(kind, copy=False)


def from_pictures(pictures, entry, scale, zero_point):
    """Sequences of one photo each. entry: TensorInfo of the input [1, height, width, channels]."""
    found = _PhotoSequences(pictures, entry, scale, zero_point)
    return list(found) if len(found) * found[0].inputs.nbytes <= KEPT_BYTES else found


class _PhotoSequences:
    """What from_pictures makes, each when it is asked for."""

    def __init__(self, pictures, entry, scale, zero_point):
        self._names, self._classes = pictures.names, pictures.classes
        self._pixels, self._form = pictures.sized(*entry.shape[1:3]), (entry.dtype, scale, zero_point)

    def __len__(self):
        return len(self._names)

    def __getitem__(self, place):
        inputs = encode(self._pixels[place], *self._form)[None, None]
        return Sequence(self._names[place], inputs, true=self._classes[place])
