"""Which models run on which data: the list format of MLTS (docs/mlts.md), or what lies in a folder."""

import json
import re
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from ...checks import counted, shown
from ...errors import Error, InvalidArgument
from ...litert.details import NUMPY_TYPES
from ...tflite.reader import ModelFile

EVALUATORS = ("TopK", "MelCepLogF0", "PhoneErrorRate")
TRUTH, LABELS = "ground_truth_labels.txt", "labels.txt"
"""Files of a folder of photos: the class of each photo, and all classes."""

_PUBLISHED = {
    "mobilenet_v1_1.0_224": (0.617, 0.596), "mobilenet_v1_0.75_192": (0.604, 0.582),
    "mobilenet_v1_0.5_160": (0.582, 0.550), "mobilenet_v1_0.25_128": (0.444, 0.402),
    "mobilenet_v2_1.0_224": (0.639, 0.617), "mobilenet_v2_0.75_192": (0.617, None),
    "mobilenet_v2_0.5_160": (0.583, None), "mobilenet_v2_0.35_128": (0.516, None),
    "mobilenet_v3-small_224_1.0": (0.6107, 0.5651), "mobilenet_v3-small_224_0.75": (0.6054, None),
    "mobilenet_v3-small-minimalistic_224_1.0": (0.5886, None), "mobilenet_v3-large_224_1.0": (0.6577, 0.6188),
    "mobilenet_v3-large_224_0.75": (0.6389, None), "mobilenet_v3-large-minimalistic_224_1.0": (0.6376, 0.5940),
}
"""Top-1 that the benchmark's authors published for their files on their 1,490 photos: of floats, of uint8."""


@dataclass(frozen=True)
class Pair:
    """A raw input file of a whole sequence, and its expected outputs."""

    input: Path
    outputs: tuple


@dataclass(frozen=True)
class Photos:
    """A folder of photos `<name>-<number>.jpeg`, the file with a line of ground truth for each, and that of all labels
    (None: ground truth is class numbers)."""

    folder: Path
    truth: Path
    labels: Path | None


@dataclass(frozen=True)
class Entry:
    """One model and its data.

    input_size, data_size: shape of the input and bytes of its elements, None: as the file has them. pairs: of Pair;
    photos: Photos or None. evaluator: one of EVALUATORS or None; mean_std: file of MelCepLogF0. expected_top1:
    published share. input_scale, input_zero_point: of bytes made of photos, None: as the file has them. problem: why it
    cannot run, "" where nothing is wrong.
    """

    name: str
    model: Path
    input_size: tuple | None = None
    data_size: int | None = None
    baseline_sec: float | None = None
    pairs: tuple = ()
    photos: Photos | None = None
    evaluator: str | None = None
    mean_std: Path | None = None
    expected_top1: float | None = None
    input_scale: float | None = None
    input_zero_point: int | None = None
    problem: str = ""


def read(models, data=None):
    """Entries of a list file (.json), or of the models in a folder. data: folder with their data (default: beside the
    models). Raises InvalidArgument where there is nothing to run, or the list breaks a rule."""
    models = Path(models)
    if data is not None and not Path(data).is_dir():
        raise InvalidArgument(f"{data}: no such folder; --data names the one with photos and sequences")
    if models.is_file() and models.suffix == ".json":
        return _from_list(models, Path(data) if data is not None else models.parent)
    if not models.is_dir():
        raise InvalidArgument(f"{models}: no such folder; --models names one with .tflite files, or a list (.json)")
    files = sorted(models.glob("*.tflite"))
    if not files:
        raise InvalidArgument(f"{models}: holds no .tflite file; --models names a folder that does, or a list (.json)")
    return [_guessed(path, files, Path(data) if data is not None else models) for path in files]


# -- lists -------------------------------------------------------------------------------------------------------------
class _Record:
    """A JSON object whose fields are checked as they are taken. where: text that messages begin with."""

    def __init__(self, value, where):
        if not isinstance(value, dict):
            raise InvalidArgument(f"{where}: is {shown(value)}, must be an object")
        self.value, self.where = value, where

    def take(self, key, fits, rule, default=None):
        """A field, or the default where it is absent; `...` as the default: it must be there."""
        if key not in self.value:
            if default is ...:
                raise InvalidArgument(f"{self.where}.{key}: is missing, must be {rule}")
            return default
        value = self.value[key]
        if not fits(value):
            raise InvalidArgument(f"{self.where}.{key}: is {shown(value)}, must be {rule}")
        return value

    def text(self, key, default=...):
        return self.take(key, lambda v: isinstance(v, str) and v, "a text", default)

    def number(self, key, default=None):
        return self.take(key, _is_number, "a number", default)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _from_list(path, data):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidArgument(f"{path}: not a list of models in JSON: {error}") from None
    rows = content.get("models") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not rows:
        raise InvalidArgument(f"{path}: models: is {shown(rows)}, must be a list of at least one model")
    return [_listed(_Record(row, f"{path}: models[{place}]"), path.parent, data) for place, row in enumerate(rows)]


def _listed(record, folder, data):
    name = record.text("name")
    size = record.take("inputSize", lambda v: isinstance(v, list) and v and all(_is_whole(n) and n > 0 for n in v),
                       "a list of dimensions of at least 1", ...)
    data_size = record.take("dataSize", lambda v: _is_whole(v) and v in (1, 4), "1 (uint8) or 4 (float32)", ...)
    pairs, dataset = record.value.get("inputOutputs"), record.value.get("dataset")
    if (pairs is None) == (dataset is None):
        raise InvalidArgument(f"{record.where}: has {'neither' if pairs is None else 'both'} inputOutputs "
                              f"{'nor' if pairs is None else 'and'} dataset, must have one of them")
    evaluator, mean_std, top1 = _evaluator(record, data)
    file = record.text("modelFile", name).removesuffix(".tflite")
    return Entry(record.text("testName", name), folder / f"{file}.tflite", tuple(size), data_size,
                 record.number("baselineSec"), () if pairs is None else _pairs(record, data),
                 None if dataset is None else _photos(_Record(dataset, f"{record.where}.dataset"), data), evaluator,
                 mean_std, top1, record.number("inputScale"),
                 record.take("inputZeroPoint", _is_number, "a number"))


def _evaluator(record, data):
    """(evaluator, file of means, expected top-1) of an entry."""
    if "evaluator" not in record.value:
        return None, None, None
    inner = _Record(record.value["evaluator"], f"{record.where}.evaluator")
    name = inner.take("className", EVALUATORS.__contains__, f"one of {', '.join(EVALUATORS)}", ...)
    mean_std = inner.text("outputMeanStdDev", None)
    return name, None if mean_std is None else data / mean_std, inner.number("expectedTop1")


def _pairs(record, data):
    rows = record.take("inputOutputs", lambda v: isinstance(v, list) and v, "a list of at least one pair")
    found = []
    for place, row in enumerate(rows):
        pair = _Record(row, f"{record.where}.inputOutputs[{place}]")
        outputs = pair.take("outputs", lambda v: isinstance(v, list) and all(isinstance(n, str) for n in v),
                            "a list of file names", [pair.text("output")] if "output" in pair.value else [])
        found.append(Pair(data / pair.text("input"), tuple(data / name for name in outputs)))
    if len({len(pair.outputs) for pair in found}) > 1:
        raise InvalidArgument(f"{record.where}.inputOutputs: some have expected outputs and some have not, must be all "
                              "or none")
    return tuple(found)


def _photos(record, data):
    folder = data / record.text("inputPath")
    preprocessor = record.text("preprocessor", "Inception")
    if preprocessor != "Inception":
        raise InvalidArgument(f"{record.where}.preprocessor: is {shown(preprocessor)}, must be Inception")
    labels = record.text("labels", None)
    return Photos(folder, data / record.text("groundTruth"), None if labels is None else data / labels)


# -- folders -----------------------------------------------------------------------------------------------------------
def _guessed(path, files, data):
    """The Entry of a model file, with the data of the folder that fits it."""
    name = path.name.removesuffix(".tflite")
    try:
        graph = ModelFile(path).graph(0)
    except (Error, OSError) as error:
        return Entry(name, path, problem=str(error))
    shapes = [(graph.tensors[i].shape, np.dtype(NUMPY_TYPES[graph.tensors[i].type])) for i in graph.inputs]
    if len(shapes) != 1:
        return Entry(name, path, problem=f"{path}: has {counted(len(shapes), 'input')}, must have one")
    shape, dtype = shapes[0]
    outputs = [prod(graph.tensors[i].shape) * np.dtype(NUMPY_TYPES[graph.tensors[i].type]).itemsize
               for i in graph.outputs]
    sequences = _sequences(name, data)
    if sequences:
        mean_std = next((folder / f"{name}.output_mean_std_dev" for folder in (data, path.parent)
                         if (folder / f"{name}.output_mean_std_dev").is_file()), None)
        kind = "MelCepLogF0" if mean_std else "PhoneErrorRate" if name.startswith("asr") else None
        return Entry(name, path, shape, dtype.itemsize, pairs=sequences, evaluator=kind, mean_std=mean_std)
    photos = _photos_in(data) if len(shape) == 4 and shape[0] == 1 and shape[3] in (1, 3) else None
    pairs = _goldens(name, dtype, prod(shape) * dtype.itemsize, outputs, files, data)
    if photos is None and not pairs:
        return Entry(name, path, problem=f"no data in {data}: neither photos with {TRUTH}, nor a folder of sequences "
                                         f"(docs/mlts.md says how they are named)")
    floats = dtype.kind == "f"
    published = _PUBLISHED.get(re.sub(r"_(quant|float|uint8)$", "", name), (None, None))[not floats]
    return Entry(name, path, shape, dtype.itemsize, pairs=pairs, photos=photos, evaluator=photos and "TopK",
                 expected_top1=photos and published)


def _sequences(name, data):
    """Pairs of a folder `<beginning of the name>_sequences`: *.input, with *.output beside where expected."""
    for folder in sorted(data.glob("*_sequences"), key=lambda path: -len(path.name)):
        if name.startswith(folder.name.removesuffix("_sequences")):
            inputs = sorted(folder.glob("*.input"))
            return tuple(Pair(path, tuple(p for p in [path.with_suffix(".output")] if p.is_file())) for path in inputs)
    return ()


def _photos_in(data):
    """Photos of the folder itself or of the first one in it that has ground truth, or None."""
    for folder in (data, *sorted(path for path in data.iterdir() if path.is_dir())):
        if (folder / TRUTH).is_file():
            labels = folder / LABELS
            return Photos(folder, folder / TRUTH, labels if labels.is_file() else None)
    return None


def _goldens(name, dtype, input_bytes, output_bytes, files, data):
    """Pairs of `golden/`: `<float or quant>_<picture>_<part of the model's name>.output` and
    `<float or quant>_<picture>_<last word of that>.input`, where their sizes fit and no other model's name has it.
    """
    kind, found = "float" if dtype.kind == "f" else "quant", []
    for output in sorted((data / "golden").glob(f"{kind}_*.output")):
        _, picture, *rest = output.stem.split("_") if output.stem.count("_") > 1 else ("", "")
        part = "_".join(rest)
        rivals = [path for path in files if part in path.stem and path.stem.endswith("_quant") == (kind == "quant")]
        source = output.with_name(f"{kind}_{picture}_{rest[-1] if rest else ''}.input")
        if part and part in name and len(rivals) == 1 and source.is_file() and \
                source.stat().st_size == input_bytes and [output.stat().st_size] == output_bytes:
            found.append(Pair(source, (output,)))
    return tuple(found)
