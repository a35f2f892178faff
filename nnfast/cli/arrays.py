"""Inputs for `nnfast run` from array files or from a seeded generator, and what is shown of the outputs."""

import zipfile

import numpy as np

from ..errors import InvalidArgument

SEED = 0
STARTS = b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06"
"""First bytes of files that numpy reads without unpickling; the last is an empty archive."""


def from_file(path, entries):
    """List of calls, each a list of arrays in input order, and whether they form one sequence.

    A .npy holds the only input. A .npz holds `input` (the only input) or one array per input name; `calls` = N > 1 says
    that each array holds the values of N calls along its first dimension.
    """
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        _only(entries, path)
        return [[loaded]], False
    if "input" in loaded and len(entries) == 1:
        arrays = [loaded["input"]]
    else:
        missing = [entry.name for entry in entries if entry.name not in loaded]
        if missing:
            raise InvalidArgument(f"{path}: holds {', '.join(loaded) or 'nothing'}; there is no array for input "
                                  f"{', '.join(missing)}")
        arrays = [loaded[entry.name] for entry in entries]
    calls = _calls(loaded, path)
    if calls == 1:
        return [arrays], False
    for entry, array in zip(entries, arrays):
        if array.ndim == 0 or array.shape[0] != calls:
            raise InvalidArgument(f"{path}: input {entry.name} has shape {list(array.shape)}, its first dimension must "
                                  f"be the {calls} calls")
    return [[array[call] for array in arrays] for call in range(calls)], True


def _load(path):
    """Array of a .npy, or dict of the arrays of a .npz."""
    try:
        with open(path, "rb") as stream:
            if not stream.peek(8).startswith(STARTS):
                raise ValueError("it begins as neither does; pictures are for --image")
            loaded = np.load(stream, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise InvalidArgument(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, KeyError, MemoryError, SyntaxError, zipfile.BadZipFile) as error:
        raise InvalidArgument(f"{path}: not a .npy or .npz file with plain arrays: {error}") from None


def _only(entries, path):
    if len(entries) != 1:
        names = ", ".join(entry.name for entry in entries)
        raise InvalidArgument(f"{path}: a .npy feeds one input, the model has {len(entries)} ({names}); use a .npz")


def _calls(loaded, path):
    calls = loaded.get("calls", np.int64(1))
    if calls.size != 1 or calls.dtype.kind not in "iu" or calls.reshape(-1)[0] < 1:
        raise InvalidArgument(f"{path}: calls must be one whole number of at least 1")
    return int(calls.reshape(-1)[0])


def random(entries):
    """One array per input from a fixed seed: floats in [-1, 1), all codes of quantized types, else 0 or 1."""
    generator = np.random.default_rng(SEED)
    result = []
    for entry in entries:
        if entry.shape is None or None in entry.shape:
            raise InvalidArgument(f"input {entry.name}: its shape is not fixed by the model; give it with --shape, or "
                                  "an array with --input")
        dtype = np.dtype(entry.dtype)
        if dtype.kind == "f":
            result.append(generator.uniform(-1, 1, entry.shape).astype(dtype))
        elif entry.scale:
            codes = np.iinfo(dtype)
            result.append(generator.integers(codes.min, codes.max, entry.shape, endpoint=True).astype(dtype))
        else:
            result.append(generator.integers(0, 2, entry.shape).astype(dtype))
    return result


def is_classifier(entries, outputs):
    """True for a single output of scores [1, classes] with at least 10 classes."""
    return len(outputs) == 1 and outputs[0].ndim == 2 and outputs[0].shape[0] == 1 and outputs[0].shape[1] >= 10 and (
        outputs[0].dtype.kind == "f" or bool(entries[0].scale))


def top(entry, scores, count):
    """[(class, real score)] of the `count` best of scores [1, classes]; of equals the lowest class comes first."""
    best = np.argsort(-scores[0].astype(np.float64), kind="stable")[:count]
    real = scores[0].astype(np.float64)
    if entry.scale:
        real = (real - entry.zero_point) * entry.scale
    return [(int(place), float(real[place])) for place in best]


def summary(entry, array):
    """Plain facts of an output."""
    row = {"name": entry.name, "dtype": str(array.dtype), "shape": list(array.shape)}
    if array.size:
        wide = array.astype(np.float64)
        values = {"min": wide.min(), "max": wide.max(), "mean": wide.mean()}
        row.update({key: float(value) if np.isfinite(value) else None for key, value in values.items()})
    return row
