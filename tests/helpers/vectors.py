"""Conformance vectors of a single operation [NN 16.1], run through its numpy form and compared [NN 16.3]."""

import base64
import gzip
import json
from functools import cache

import numpy as np
import pytest

from helpers.nodes import T, execute
from helpers.shared import SHARED
from nnfast.errors import Error
from nnfast.model.types import DTYPES, ChannelQuant, OperationType
from nnfast.ops import registry
from nnfast.ops.base import Node, Tensor

FOLDERS = ("V1_0", "V1_1", "V1_2", "V1_3", "V1_3_cts_only", "AIDL_V2", "AIDL_V3")


def vectors(*names):
    """All tests whose model is a single one of the named operations."""
    return [test for name in names for test in _vectors_by_name().get(name, ())]


@cache
def _vectors_by_name():
    found = {}
    for folder in FOLDERS:
        for path in sorted((SHARED / "vts" / folder).glob("*.json.gz")):
            for test in json.loads(gzip.decompress(path.read_bytes()))["tests"]:
                operations = test["model"]["main"]["operations"]
                if len(operations) == 1 and not test["model"]["referenced"]:
                    found.setdefault(operations[0]["type"], []).append(test)
    return found


def require_shared():
    """Skip where the reference material is not there."""
    if not (SHARED / "vts").is_dir():
        pytest.skip(f"no conformance vectors under {SHARED} (set NNFAST_SHARED)")


def check_vectors(*names):
    """Run every vector of these operations; returns (tests run, integer values, integer values one step off)."""
    require_shared()
    count = values = off = 0
    problems = []
    for test in vectors(*names):
        count += 1
        try:
            total, differing = check_vector(test)
        except (Error, AssertionError) as problem:
            problems.append(f"{test['name']}: {problem}")
            continue
        values, off = values + total, off + differing
    assert not problems, f"{len(problems)} of {count} failed:\n" + "\n".join(problems[:20])
    assert count, f"no vector for {names}"
    return count, values, off


def check_vector(test):
    """One vector; AssertionError or nnfast.Error where it fails; returns (integer values, of these off by one)."""
    main = test["model"]["main"]
    made = vector_node(test, main)
    if test["expect_failure"]:
        with pytest.raises(Error):
            execute(made)
        return 0, 0
    arrays = execute(made)
    if test["min_hal"] != "unknown" and made.version != test["min_hal"]:
        assert _ends_in_default(made), f"version {made.version}, expected {test['min_hal']}"
    half = test["relaxed"] or any(operand["type"] == "TENSOR_FLOAT16" for operand in main["operands"])
    total = differing = 0
    for actual, index in zip(arrays, main["operations"][0]["outputs"], strict=True):
        operand = main["operands"][index]
        assert actual.shape == tuple(operand["dims"]), f"shape {actual.shape}, expected {operand['dims']}"
        if operand.get("ignored"):
            continue
        expected = _data(operand)
        error = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        atol, rtol = tolerance(T[operand["type"]], half)
        assert np.all(error <= atol + rtol * np.abs(expected.astype(np.float64))), f"error up to {error.max():.3g}"
        if expected.dtype.kind in "iu":
            total += error.size
            differing += np.count_nonzero(error)
    return total, differing


def _ends_in_default(made):
    """True when Android's runtime would strip the last input: the long form itself is newer [NN 13.1]."""
    default = {"layout": 0, "align_corners": 0, "half_pixel_centers": 0, "axis": -1}
    last = made.signature.inputs[-1].name
    if last.startswith("dilation"):
        return made.has("layout") and not made.layout_nchw
    return last in default and made.scalar(last) == default[last]


def check_coupling(*names, steps=0):
    """Every uint8 vector of these operations gives the same codes, less 128, as its int8 twin [NN 16.5].

    steps: by how much the two may differ, for the operations whose reference rounds them differently [NN 13.11].
    """
    require_shared()
    count = 0
    for test in vectors(*names):
        made, twin = (vector_node(test, test["model"]["main"]) for _ in range(2))
        tensors = [t for t in (*twin.inputs, *twin.outputs) if t.type == T.TENSOR_QUANT8_ASYMM]
        if not tensors or test["expect_failure"]:
            continue
        for t in tensors:
            t.type, t.zero_point = T.TENSOR_QUANT8_ASYMM_SIGNED, t.zero_point - 128
            t.value = None if t.value is None else (t.value ^ 128).view(np.int8)
        twin = Node(twin.op, twin.path, twin.inputs, twin.outputs, twin.relaxed)
        for target, unsigned, signed in zip(made.outputs, execute(made), execute(twin), strict=True):
            shift = 128 if target.type == T.TENSOR_QUANT8_ASYMM else 0
            difference = signed.astype(np.int64) + shift - unsigned
            assert np.abs(difference).max(initial=0) <= steps, f"{test['name']}: {difference}"
        count += 1
    assert count
    return count


def tolerance(type_, half):
    """(atol, rtol) of an output type [NN 16.3]."""
    if type_ == T.TENSOR_FLOAT16 or (half and type_ == T.TENSOR_FLOAT32):
        return 5 * 2.0**-10, 5 * 2.0**-10
    if type_ == T.TENSOR_FLOAT32:
        return 1e-5, 5 * 2.0**-23
    return (0, 0) if type_ == T.TENSOR_BOOL8 else (1, 0)


def vector_node(test, main):
    """The operation of a vector, its inputs with their values."""
    operation = main["operations"][0]
    inputs = [_vector_tensor(index, main["operands"][index]) for index in operation["inputs"]]
    outputs = [_vector_tensor(index, main["operands"][index]) for index in operation["outputs"]]
    op = registry.lookup(OperationType[operation["type"]])
    path = f"main.operation[0] {operation['type']}"
    return Node(op, path, inputs, [_without_value(t) for t in outputs], test["relaxed"])


def _vector_tensor(index, operand):
    channels = operand["channel_quant"]
    return Tensor(
        index, T[operand["type"]], tuple(operand["dims"]), operand["scale"], operand["zero_point"],
        channels and ChannelQuant(channels["dim"], tuple(channels["scales"])), _data(operand),
        present=operand["data"] is not None,
    )


def _without_value(target):
    target.value, target.present = None, True
    return target


def _data(operand):
    if operand["data"] is None:
        return None
    raw = base64.b64decode(operand["data"])
    return np.frombuffer(raw, DTYPES[T[operand["type"]]]).reshape(operand["dims"])


def check_signatures(*names):
    """The signature tables equal those of nnapi/ops_a.json and ops_b.json."""
    require_shared()
    table = {}
    for file in ("ops_a.json", "ops_b.json"):
        table |= {row["name"]: row for row in json.loads((SHARED / "nnapi" / file).read_text())}
    for name in names:
        wanted = {
            (types["since"], tuple(types["in"]), tuple(types["out"]))
            for form in table[name]["signatures"] for types in form["type_sets"]
        }
        found = set()
        for form in registry.lookup(OperationType[name]).signatures:
            for since, bindings in form.sets:
                types = [[form.type_of(slot, bindings).name for slot in slots] for slots in (form.inputs, form.outputs)]
                found.add((since, tuple(types[0]), tuple(types[1])))
        assert found == wanted, name
        optional = [
            sorted(i["index"] for i in form["inputs"] if i["optional"]) for form in table[name]["signatures"]
        ]
        ours = [
            [place for place, slot in enumerate(form.inputs) if slot.optional]
            for form in registry.lookup(OperationType[name]).signatures
        ]
        assert sorted(ours) == sorted(optional), name
