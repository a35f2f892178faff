"""Metadata of a `.tflite` file about its inputs and outputs: normalization and labels.

The metadata is a flatbuffer in one of the buffers; files that it refers to are in a zip archive appended to the model.
"""

import zipfile

from ..errors import InvalidArgument
from ..record import record
from .reader import ModelFile

LABELS = 2, 3
"""Types of associated files with one class name per line: labels of an axis, and of values."""
MAX_LABELS = 1 << 22
"""Size limit of a label file in bytes."""


@record(frozen=True, slots=True)
class Facts:
    """Of one input or output: mean and std of its normalization, (value - mean) / std, () where there is none, and the
    class names of its label file, None where there is none.
    """

    mean: tuple = ()
    std: tuple = ()
    labels: tuple | None = None


def facts(path, file=None):
    """(Facts of each input, Facts of each output) of the main subgraph of a file; empty lists without metadata.

    file: the ModelFile of the path, if there is one. Raises InvalidArgument for damaged metadata and label files.
    """
    record = (ModelFile(path) if file is None else file).metadata()
    if record is None or not record.subgraphs:
        return [], []
    graph = record.subgraphs[0]
    return [_facts(path, tensor) for tensor in graph.inputs], [_facts(path, tensor) for tensor in graph.outputs]


def _facts(path, tensor):
    mean, std = (), ()
    for unit in tensor.process_units:
        if unit.options is not None:
            mean, std = (tuple(map(float, values)) for values in (unit.options.mean, unit.options.std))
    names = [entry.name for entry in tensor.files if entry.type in LABELS]
    return Facts(mean, std, _labels(path, names[0]) if names else None)


def _labels(path, name):
    """Lines of a file in the archive, None if there is no such file."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            text = stream.read(MAX_LABELS + 1)
    except KeyError:
        return None
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        raise InvalidArgument(f"{path}: its label file {name} cannot be read: {error}") from None
    if len(text) > MAX_LABELS:
        raise InvalidArgument(f"{path}: its label file {name} has more than {MAX_LABELS} bytes")
    return tuple(text.decode("utf-8", "replace").splitlines())
