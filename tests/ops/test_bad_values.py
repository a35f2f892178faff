"""Values that only an execution sees (indices, sizes, axes, NaN scores, huge shapes) are refused, never believed.

Each row is one operation with one wrong value. It runs twice: with every value but the first tensor as a constant, so
that prepare can know, and with all of them as model inputs, so that only the execution can. Then one vector of every
operation runs with hostile elements, which may be valid: whatever comes of it, it is no crash and no stray write.
"""

import random
import time
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest

from helpers.shared import VECTORS, needs_vectors
from nnfast import Device, ModelBuilder
from nnfast.conformance.memory import Memory
from nnfast.conformance.vectors import collect, read
from nnfast.driver.request import Request, RequestArgument
from nnfast.errors import Error, ErrorStatus
from nnfast.model.types import VERSIONS

MOST_BYTES = 64 << 20
"""Memory that a refusal may take at most; the shapes below ask for gigabytes."""

MOST_SECONDS = 30
BIG, LOWEST = 2**31 - 1, -2**31
NAN = np.float32("nan")


def floats(*shape, **changes):
    """float32 1, 2, 3 ... in a shape; at=value puts another value at a flat index: x3=NAN."""
    array = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    for place, value in changes.items():
        array.reshape(-1)[int(place[1:])] = value
    return array


def ints(*values):
    return np.array(values, np.int32)


def boxes(**changes):
    return np.concatenate([floats(1, 4, **changes), floats(1, 4)])


IMAGE = floats(1, 4, 4, 2)
ROI = np.array([[0, 0, 2, 2]], np.float32)
SCORES, CLASS_BOXES = np.array([[.1, .9], [.2, .8]], np.float32), np.tile(np.float32([0, 0, 1, 1]), (2, 2))
TYPES = {"f": "TENSOR_FLOAT32", "i": "TENSOR_INT32"}

# Operation, inputs (arrays are tensors, numbers are scalars), outputs as (kind, rank), what the message names.
ROWS = (
    ("GATHER", (floats(3, 2), 0, ints(0, 3)), ("f2",), "indices"),
    ("GATHER", (floats(3, 2), 0, ints(-1)), ("f2",), "indices"),
    ("GATHER", (floats(3, 2), 1, ints(LOWEST, BIG)), ("f2",), "indices"),
    ("GATHER", (floats(3, 2), 2, ints(0)), ("f2",), "axis"),
    ("GATHER", (floats(3, 2), LOWEST, ints(0)), ("f2",), "axis"),
    ("EMBEDDING_LOOKUP", (ints(0, 3), floats(3, 2)), ("f2",), "lookups"),
    ("EMBEDDING_LOOKUP", (ints(LOWEST), floats(3, 2)), ("f2",), "lookups"),
    ("HASHTABLE_LOOKUP", (ints(1), ints(1, 2, 3), floats(2, 2)), ("f2", "q1"), "keys"),
    ("SLICE", (floats(3, 4), ints(0, -1), ints(1, 1)), ("f2",), "begin"),
    ("SLICE", (floats(3, 4), ints(0, 5), ints(1, 0)), ("f2",), "begin"),
    ("SLICE", (floats(3, 4), ints(1, 1), ints(1, 4)), ("f2",), "size"),
    ("SLICE", (floats(3, 4), ints(1, 1), ints(1, -2)), ("f2",), "size"),
    ("SLICE", (floats(3, 4), ints(1, 1), ints(BIG, BIG)), ("f2",), "size"),
    ("SLICE", (floats(3, 4), ints(1, 1, 1), ints(1, 1, 1)), ("f2",), "begin"),
    ("STRIDED_SLICE", (floats(3, 4), ints(0, 0), ints(3, 4), ints(1, 0), 0, 0, 0), ("f2",), "strides"),
    ("STRIDED_SLICE", (floats(3, 4), ints(0, 0), ints(3, 4), ints(-1, 1), 0, 0, 1), ("f1",), "strides"),
    ("STRIDED_SLICE", (floats(3, 4), ints(0, 0), ints(3, 4), ints(1, 1), 0, 0, 2), ("f1",), "shrink_axis_mask"),
    ("STRIDED_SLICE", (floats(3, 4), ints(0), ints(3), ints(1), 0, 0, 0), ("f2",), "begin"),
    ("PAD", (floats(2, 2), ints([0, 0], [-1, 0])), ("f2",), "paddings"),
    ("PAD", (floats(2, 2), ints([0, 0, 0, 0])), ("f2",), "paddings"),
    ("PAD", (floats(2, 2), ints([0, BIG], [BIG, 0])), ("f2",), "output 0"),
    ("PAD_V2", (floats(2, 2), ints([LOWEST, 0], [0, 0]), 1.0), ("f2",), "paddings"),
    ("PAD_V2", (floats(2, 2), ints([BIG, 0], [0, BIG]), 1.0), ("f2",), "output 0"),
    ("MIRROR_PAD", (floats(2, 2), ints([2, 0], [0, 0]), 0), ("f2",), "paddings"),
    ("MIRROR_PAD", (floats(2, 2), ints([1, 0], [0, 0]), 2), ("f2",), "mode"),
    ("RESHAPE", (floats(2, 3), ints(-1, -1)), ("f2",), "shape"),
    ("RESHAPE", (floats(2, 3), ints(4, -1)), ("f2",), "shape"),
    ("RESHAPE", (floats(2, 3), ints(0, -1)), ("f2",), "shape"),
    ("RESHAPE", (floats(2, 3), ints(-2, -3)), ("f2",), "shape"),
    ("RESHAPE", (floats(2, 3), ints(BIG, BIG)), ("f2",), "shape"),
    ("SQUEEZE", (floats(1, 3), ints(1)), ("f1",), "axes"),
    ("SQUEEZE", (floats(1, 3), ints(BIG)), ("f1",), "axes"),
    ("EXPAND_DIMS", (floats(2, 3), 3), ("f3",), "axis"),
    ("TILE", (floats(2, 3), ints(1, -1)), ("f2",), "multiples"),
    ("TILE", (floats(2, 3), ints(1)), ("f2",), "multiples"),
    ("TILE", (floats(2, 3), ints(BIG, BIG)), ("f2",), "output 0"),
    ("FILL", (ints(2, -1), 1.0), ("f2",), "dims"),
    ("FILL", (ints(BIG, BIG), 1.0), ("f2",), "output 0"),
    ("FILL", (ints(1 << 16, 1 << 15), 1.0), ("f2",), "output 0"),
    ("FILL", (ints(BIG, 0, BIG, BIG), 1.0), ("f4",), "output 0"),
    ("TOPK_V2", (floats(2, 3), 0), ("f2", "i2"), "k"),
    ("TOPK_V2", (floats(2, 3), 4), ("f2", "i2"), "k"),
    ("TOPK_V2", (floats(2, 3), LOWEST), ("f2", "i2"), "k"),
    ("SPLIT", (floats(2, 4), 1, 3), ("f2", "f2", "f2"), "num_splits"),
    ("SPLIT", (floats(2, 4), 1, 4), ("f2", "f2"), "num_splits"),
    ("SPLIT", (floats(2, 4), 2, 2), ("f2", "f2"), "axis"),
    ("TRANSPOSE", (floats(2, 3), ints(0, 0)), ("f2",), "perm"),
    ("TRANSPOSE", (floats(2, 3), ints(0, 2)), ("f2",), "perm"),
    ("TRANSPOSE", (floats(2, 3), ints(0, -1)), ("f2",), "perm"),
    ("MEAN", (floats(2, 3), ints(2), 0), ("f1",), "ax"),
    ("REDUCE_SUM", (floats(2, 3), ints(-3), False), ("f1",), "ax"),
    ("ARGMAX", (floats(2, 3), 2), ("i1",), "axis"),
    ("ARGMIN", (floats(2, 3), LOWEST), ("i1",), "axis"),
    ("REVERSE", (floats(2, 3), ints(2)), ("f2",), "ax"),
    ("PACK", (2, floats(2), floats(2)), ("f2",), "axis"),
    ("CONCATENATION", (floats(2, 2), floats(2, 3), 0), ("f2",), "input"),
    ("CONCATENATION", (floats(2, 2), floats(2, 2), 2), ("f2",), "axis"),
    ("SOFTMAX", (floats(2, 3), 1.0, 2), ("f2",), "axis"),
    ("SOFTMAX", (floats(2, 3), -1.0), ("f2",), "beta"),
    ("LOG_SOFTMAX", (floats(2, 3), 1.0, -3), ("f2",), "axis"),
    ("L2_NORMALIZATION", (floats(2, 3), 2), ("f2",), "axis"),
    ("LOCAL_RESPONSE_NORMALIZATION", (floats(1, 2, 2, 3), -1, 1.0, 1.0, .5), ("f4",), "radius"),
    ("CHANNEL_SHUFFLE", (floats(2, 4), 3, 1), ("f2",), "groups"),
    ("CHANNEL_SHUFFLE", (floats(2, 4), 0, 1), ("f2",), "groups"),
    ("CHANNEL_SHUFFLE", (floats(2, 4), 2, 2), ("f2",), "axis"),
    ("DEPTH_TO_SPACE", (floats(1, 2, 2, 4), 0), ("f4",), "block_size"),
    ("DEPTH_TO_SPACE", (floats(1, 2, 2, 4), BIG), ("f4",), "block_size"),
    ("SPACE_TO_DEPTH", (floats(1, 2, 2, 4), -2), ("f4",), "block_size"),
    ("BATCH_TO_SPACE_ND", (floats(4, 2, 2, 1), ints(2, 0)), ("f4",), "block_shape"),
    ("BATCH_TO_SPACE_ND", (floats(4, 2, 2, 1), ints(BIG, BIG)), ("f4",), "block_shape"),
    ("SPACE_TO_BATCH_ND", (floats(1, 2, 2, 1), ints(2, 2), ints([-2, 0], [0, 0])), ("f4",), "paddings"),
    ("SPACE_TO_BATCH_ND", (floats(1, 2, 2, 1), ints(1, 1), ints([BIG, 0], [BIG, 0])), ("f4",), "output 0"),
    ("RESIZE_BILINEAR", (IMAGE, 0, 4), ("f4",), ""),
    ("RESIZE_BILINEAR", (IMAGE, BIG, BIG), ("f4",), "output 0"),
    ("RESIZE_NEAREST_NEIGHBOR", (IMAGE, -4, 4, False), ("f4",), ""),
    ("RESIZE_BILINEAR", (IMAGE, float("nan"), 1.0, False), ("f4",), ""),
    ("RESIZE_BILINEAR", (IMAGE, 1e30, 1e30, False), ("f4",), ""),
    ("AVERAGE_POOL_2D", (IMAGE, 1, 0, 1, 2, 2, 0), ("f4",), "stride"),
    ("AVERAGE_POOL_2D", (IMAGE, 0, 0, 0, 0, 1, 1, 0, 2, 0), ("f4",), "filter"),
    ("MAX_POOL_2D", (IMAGE, -1, 0, 0, 0, 1, 1, 2, 2, 0), ("f4",), "pad"),
    ("MAX_POOL_2D", (IMAGE, 1, 1, 1, 2, 2, 99), ("f4",), "activation"),
    ("MAX_POOL_2D", (IMAGE, BIG, BIG, BIG, BIG, 1, 1, 2, 2, 0), ("f4",), ""),
    ("CONV_2D", (IMAGE, floats(1, 1, 1, 2), floats(1), 3, 1, 1, 0), ("f4",), "padding"),
    ("CONV_2D", (IMAGE, floats(1, 1, 1, 2), floats(1), 1, 0, 1, 0), ("f4",), "stride"),
    ("CONV_2D", (IMAGE, floats(1, 1, 1, 2), floats(1), 1, 1, 1, 0, False, 0, 1), ("f4",), "dilation"),
    ("CONV_2D", (IMAGE, floats(1, 1, 1, 2), floats(1), 0, 0, BIG, BIG, 1, 1, 0), ("f4",), ""),
    ("GROUPED_CONV_2D", (IMAGE, floats(2, 1, 1, 1), floats(2), 1, 1, 1, 0, 0, False), ("f4",), "group"),
    ("DEPTHWISE_CONV_2D", (IMAGE, floats(1, 1, 1, 2), floats(2), 1, 1, 1, 0, 0), ("f4",), "multiplier"),
    ("TRANSPOSE_CONV_2D", (IMAGE, floats(1, 2, 2, 2), floats(1), ints(1, -8, 8, 1), 1, 2, 2, 0, False), ("f4",), ""),
    ("TRANSPOSE_CONV_2D", (IMAGE, floats(1, 2, 2, 2), floats(1), ints(1, 8, 8, 1), 1, BIG, BIG, 0, False), ("f4",), ""),
    ("RANDOM_MULTINOMIAL", (floats(1, 4), -1, ints(1, 2)), ("i2",), "sample_count"),
    ("RANDOM_MULTINOMIAL", (floats(1, 4), BIG, ints(1, 2)), ("i2",), ""),
    ("LSH_PROJECTION", (floats(2, 2), floats(3, 2), floats(3), 9), ("i1",), "type"),
    ("ROI_ALIGN", (IMAGE, ROI, ints(1), 2, 2, 1.0, 1.0, 0, 0, False), ("f4",), "batch_index"),
    ("ROI_ALIGN", (IMAGE, ROI, ints(-1), 2, 2, 1.0, 1.0, 0, 0, False), ("f4",), "batch_index"),
    ("ROI_ALIGN", (IMAGE, ROI * NAN, ints(0), 2, 2, 1.0, 1.0, 0, 0, False), ("f4",), "roi"),
    ("ROI_ALIGN", (IMAGE, ROI * 99, ints(0), 2, 2, 1.0, 1.0, 0, 0, False), ("f4",), "roi"),
    ("ROI_ALIGN", (IMAGE, ROI, ints(0), 0, 2, 1.0, 1.0, 0, 0, False), ("f4",), "out_height"),
    ("ROI_ALIGN", (IMAGE, ROI, ints(0), BIG, BIG, 1.0, 1.0, 0, 0, False), ("f4",), ""),
    ("ROI_ALIGN", (IMAGE, ROI, ints(0), 2, 2, float("nan"), 1.0, 0, 0, False), ("f4",), "stride"),
    ("ROI_ALIGN", (IMAGE, ROI, ints(0), 2, 2, 1.0, 1.0, BIG, BIG, False), ("f4",), ""),
    ("ROI_POOLING", (IMAGE, ROI, ints(BIG), 2, 2, 1.0, 1.0, False), ("f4",), "batch_index"),
    ("ROI_POOLING", (IMAGE, ROI[:, ::-1], ints(0), 2, 2, 1.0, 1.0, False), ("f4",), "roi"),
    ("AXIS_ALIGNED_BBOX_TRANSFORM", (boxes(), floats(2, 4), ints(0, 1), floats(1, 2)), ("f2",), "batch_index"),
    ("AXIS_ALIGNED_BBOX_TRANSFORM", (boxes(x0=NAN), floats(2, 4), ints(0, 0), floats(1, 2)), ("f2",), "roi"),
    ("BOX_WITH_NMS_LIMIT", (SCORES * NAN, CLASS_BOXES, ints(0, 0), .1, -1, 0, .5, .5, .1), ("f1", "f2", "i1", "i1"),
     "scores"),
    ("BOX_WITH_NMS_LIMIT", (SCORES, CLASS_BOXES, ints(0, -1), .1, -1, 0, .5, .5, .1), ("f1", "f2", "i1", "i1"),
     "batch_index"),
    ("BOX_WITH_NMS_LIMIT", (SCORES, CLASS_BOXES, ints(0, 0), .1, -1, 3, .5, .5, .1), ("f1", "f2", "i1", "i1"),
     "nms_kernel"),
    ("BOX_WITH_NMS_LIMIT", (SCORES, CLASS_BOXES, ints(0, 0), .1, -1, 2, .5, 0.0, .1), ("f1", "f2", "i1", "i1"),
     "sigma"),
    ("GENERATE_PROPOSALS", (floats(1, 2, 2, 1, x1=NAN), floats(1, 2, 2, 4) / 99, ROI, np.float32([[8, 8]]), 1.0, 1.0,
                            -1, -1, .5, 1.0, False), ("f1", "f2", "i1"), "scores"),
    ("GENERATE_PROPOSALS", (floats(1, 2, 2, 1), floats(1, 2, 2, 4) / 99, -ROI, np.float32([[8, 8]]), 1.0, 1.0,
                            -1, -1, .5, 1.0, False), ("f1", "f2", "i1"), "anchors"),
    ("HEATMAP_MAX_KEYPOINT", (floats(1, 4, 4, 2), ROI[:, ::-1], False), ("f2", "f3"), "boxes"),
    ("DETECTION_POSTPROCESSING", (floats(1, 2, 2) * NAN, floats(1, 2, 4) / 9, floats(2, 4), 1.0, 1.0, 1.0, 1.0, True,
                                  2, 1, 1, .1, .5, False), ("f2", "f3", "i2", "i1"), "scores"),
    ("DETECTION_POSTPROCESSING", (floats(1, 2, 2), floats(1, 2, 4) / 9, floats(2, 4), 1.0, 1.0, 1.0, 1.0, True,
                                  BIG, 1, BIG, .1, .5, False), ("f2", "f3", "i2", "i1"), ""),
)


def build(operation, inputs, outputs, constant):
    """(model, arrays of its inputs). constant: all but the first tensor are constants."""
    b = ModelBuilder(operation)
    handles, arrays = [], []
    for value in inputs:
        is_tensor = isinstance(value, np.ndarray)
        if not constant or (is_tensor and not arrays):
            array = value if is_tensor else np.array(value, {bool: np.uint8, int: np.int32, float: np.float32}[
                type(value)])
            scalar = {bool: "BOOL", int: "INT32", float: "FLOAT32"}.get(type(value))
            handles.append(b.input(scalar or TYPES[array.dtype.kind], array.shape))
            arrays.append(np.asarray(array, order="C"))
        else:
            handles.append(b.constant(value) if is_tensor else b.scalar(value))
    written = [b.output("TENSOR_QUANT8_ASYMM", (0,), scale=1.0) if text[0] == "q" else
               b.output(TYPES[text[0]], (0,) * int(text[1])) for text in outputs]
    return b.operation(operation, handles, written).build(), arrays


@contextmanager
def modest():
    """What happens inside takes little memory and time, whether it fails or not."""
    began = time.monotonic()
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_BYTES and time.monotonic() - began < MOST_SECONDS


def execute(prepared, arrays):
    """Execution on pools; each output gets 4 KiB."""
    inputs, pieces, offset = [], [], 0
    for array in arrays:
        inputs.append(RequestArgument(0, offset, array.nbytes))
        pieces.append(array.tobytes().ljust((array.nbytes + 3) & ~3, b"\0"))
        offset += len(pieces[-1])
    outputs = [RequestArgument(1, 4096 * place, 4096) for place in range(len(prepared.outputs))]
    pools = np.frombuffer(b"".join(pieces), np.uint8).copy(), np.zeros(4096 * len(outputs), np.uint8)
    return prepared.execute(Request(tuple(inputs), tuple(outputs), pools))


NAMES = [f"{number}_{row[0]}" for number, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def device():
    return Device(num_threads=1)


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "input"])
@pytest.mark.parametrize("operation, inputs, outputs, named", ROWS, ids=NAMES)
def test_bad_value_is_refused(device, operation, inputs, outputs, named, constant):
    model, arrays = build(operation, inputs, outputs, constant)
    with modest(), pytest.raises(Error) as refusal:
        execute(device.prepare(model), arrays)
    text = str(refusal.value)
    assert refusal.value.status in (ErrorStatus.GENERAL_FAILURE, ErrorStatus.INVALID_ARGUMENT), text
    assert text.startswith(f"main.operation[0] {operation}") and "\n" not in text and named in text, text


# -- every operation of the vectors ------------------------------------------------------------------------------------
SEED = 5
HOSTILE = {"i": (LOWEST, -1, BIG), "f": (NAN, np.inf, -1.0), "u": (255,)}


def samples():
    """One vector of each single operation, the same ones every time."""
    chance, found = random.Random(SEED), {}
    for path in collect([VECTORS]):
        for vector in read(path):
            if len(vector.main_operations) == 1 and len(vector.operations) == 1 and vector.version in VERSIONS:
                found.setdefault(vector.main_operations[0], []).append(vector)
    return [chance.choice(vectors) for _, vectors in sorted(found.items())]


def damaged(case):
    """The case with one hostile element in one operand that the operation reads."""
    chance, main = random.Random(SEED), case.model.main
    for index in dict.fromkeys(main.operations[0].inputs):
        operand = main.operands[index]
        place = main.inputs.index(index) if index in main.inputs else None
        old = operand.data if place is None else case.inputs[place]
        if old is None or old.size == 0:
            continue
        for value in HOSTILE[old.dtype.kind]:
            new = old.copy()
            with np.errstate(over="ignore"):
                new.reshape(-1)[chance.randrange(old.size)] = np.clip(value, *_limits(old.dtype))
            if place is None:
                operands = (*main.operands[:index], replace(operand, data=new), *main.operands[index + 1:])
                yield replace(case, model=case.model.with_main(operands=operands))
            else:
                yield replace(case, inputs=(*case.inputs[:place], new, *case.inputs[place + 1:]))


def _limits(dtype):
    return (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


@needs_vectors
def test_hostile_values_in_vectors_give_a_result_or_one_line(device):
    refused = Counter()
    largest = getrusage(RUSAGE_SELF).ru_maxrss
    for vector in samples():
        began = time.monotonic()
        for case in damaged(vector.case()):
            memory = Memory(case)
            try:
                device.prepare(case.model).execute(memory.request)
            except Error as error:
                refused[vector.name] += 1
                assert error.status in (ErrorStatus.GENERAL_FAILURE, ErrorStatus.INVALID_ARGUMENT), error
                assert "\n" not in str(error), error
            assert not memory.damage(), vector.name
        grown = (getrusage(RUSAGE_SELF).ru_maxrss - largest) << 10
        assert grown < 4 * MOST_BYTES and time.monotonic() - began < MOST_SECONDS, vector.name
    assert len(refused) > 50
