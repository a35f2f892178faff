"""The signature tables say what the machine tables of the standard say, operation by operation."""

import json
import os
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from nnfast.model.types import VERSIONS, OperandType
from nnfast.ops.registry import FAMILIES

TABLES = Path(Path(__file__).resolve().parents[2], os.environ.get("NNFAST_SHARED", "../shared"), "nnapi")
CASES = [pytest.param(family, code.name, id=code.name) for family, codes in FAMILIES.items()
         if family != "control_flow" for code in codes]

pytestmark = pytest.mark.skipif(not TABLES.is_dir(), reason="the machine tables of the standard are not here")


@cache
def standard():
    operations = [op for name in ("ops_a.json", "ops_b.json") for op in json.loads((TABLES / name).read_text())]
    return {op["name"]: op for op in operations}


def definition(family, name):
    return getattr(import_module(f"nnfast.ops.{family}"), name)


def operand_version(types):
    """HAL version that brought the newest of some operand types [NN 13.2]."""
    if "TENSOR_QUANT8_ASYMM_SIGNED" in types:
        return "1.3"
    return "1.2" if any(OperandType[name] >= OperandType.BOOL for name in types) else "1.0"


def newest(*versions):
    return max(versions, key=VERSIONS.index)


def flat(op_table):
    """{(input types, output types, variadic input, variadic output): version} of the machine table."""
    rows = {}
    for signature in op_table["signatures"]:
        repeated = signature.get("variadic", {})
        for row in signature["type_sets"]:
            key = tuple(row["in"]), tuple(row["out"]), repeated.get("input"), repeated.get("output")
            since = row["since"].lower().replace(" v", "")  # "AIDL v3" there, "aidl3" here
            rows[key] = newest(since, signature["since"], operand_version(row["in"] + row["out"]))
    return rows


def flat_ours(op):
    rows = {}
    for signature in op.signatures:
        repeated = [next((place for place, slot in enumerate(slots) if slot.variadic), None)
                    for slots in (signature.inputs, signature.outputs)]
        for version, bindings in signature.sets:
            types_in = tuple(signature.type_of(slot, bindings).name for slot in signature.inputs)
            types_out = tuple(signature.type_of(slot, bindings).name for slot in signature.outputs)
            key = types_in, types_out, *repeated
            assert key not in rows, f"{key} is there twice"
            rows[key] = newest(version, operand_version(types_in + types_out))
    return rows


@pytest.mark.parametrize(("family", "name"), CASES)
def test_type_sets_and_versions(family, name):
    assert flat_ours(definition(family, name)) == flat(standard()[name])


@pytest.mark.parametrize(("family", "name"), CASES)
def test_optional_inputs(family, name):
    def by_count(signatures, is_optional, inputs_of):
        return {len(inputs_of(s)): tuple(is_optional(i) for i in inputs_of(s)) for s in signatures}

    ours = by_count(definition(family, name).signatures, lambda slot: slot.optional, lambda s: s.inputs)
    table = by_count(standard()[name]["signatures"], lambda entry: entry["optional"], lambda s: s["inputs"])
    assert ours == table


@pytest.mark.parametrize(("family", "name"), CASES)
def test_zero_sized_inputs(family, name):
    table = standard()[name]
    allowed = "none"
    if table["allow_zero_sized_inputs"]:
        allowed = "batch" if table.get("zero_sized_dims", "").startswith("batch only") else "any"
    assert definition(family, name).zero_sized == allowed


@pytest.mark.parametrize(("family", "name"), CASES)
def test_output_quantization(family, name):
    """Compared where the machine table says it in a form that a machine can read."""
    table, ours = standard()[name], definition(family, name).quant
    ours = ours if isinstance(ours, tuple) else (ours,)
    # The reference copies the bytes of some operations without a look at the quantization.
    copied = any("not enforce" in check.get("note", "") for check in table["checks"])
    for place, rule in enumerate(ours):
        stated = {json.dumps(s["outputs"][place].get("quant"), sort_keys=True) for s in table["signatures"]}
        assert len(stated) == 1
        stated = json.loads(stated.pop())
        if isinstance(stated, dict):
            assert rule == {OperandType[t]: (quant["scale"], quant["zeroPoint"]) for t, quant in stated.items()}
        else:
            assert rule == ("same" if str(stated).startswith("same_as_input") and not copied else "free")
