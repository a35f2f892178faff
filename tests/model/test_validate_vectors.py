"""validate_model on the standard's own models: all are accepted, the mutations of VTS (hal.md 11.9) are refused."""

import base64
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nnfast.errors import InvalidArgument
from nnfast.model.types import (
    CONSTANT_LIFETIMES,
    DTYPES,
    QUANT8_ASYMM_TYPES,
    QUANTIZED_TYPES,
    SCALAR_TYPES,
    ChannelQuant,
    LifeTime,
    Model,
    Operand,
    OperandType,
    Operation,
    OperationType,
    Subgraph,
)
from nnfast.model.validate import validate_model

ROOT = Path(__file__).resolve().parents[2]
VECTORS = (ROOT / os.environ.get("NNFAST_SHARED", "../shared") / "vts").resolve()
FILES = sorted(VECTORS.glob("[AV]*/*.json.gz"))
EVERY = 12

pytestmark = pytest.mark.skipif(not FILES, reason="no conformance vectors (NNFAST_SHARED)")


def operand_of(record):
    kind, lifetime = OperandType[record["type"]], LifeTime[record["lifetime"]]
    quant, dims = record["channel_quant"], tuple(record["dims"])
    raw = None if record["data"] is None else np.frombuffer(base64.b64decode(record["data"]), DTYPES[kind])
    is_graph = lifetime == LifeTime.SUBGRAPH
    return Operand(kind, dims, record["scale"], record["zero_point"], lifetime,
                   ChannelQuant(quant["dim"], tuple(quant["scales"])) if quant else None,
                   raw.reshape(dims) if lifetime in CONSTANT_LIFETIMES else None,
                   subgraph=int(raw[0]) if is_graph else None)


def graph_of(record):
    operations = (Operation(OperationType[o["type"]], tuple(o["inputs"]), tuple(o["outputs"]))
                  for o in record["operations"])
    return Subgraph(tuple(operand_of(o) for o in record["operands"]), tuple(operations), tuple(record["inputs"]),
                    tuple(record["outputs"]))


def models(path):
    """(name, Model) of each test of a file."""
    for test in json.loads(gzip.decompress(path.read_bytes()))["tests"]:
        graphs = test["model"]
        yield test["name"], Model(graph_of(graphs["main"]), tuple(graph_of(g) for g in graphs["referenced"]),
                                  test["relaxed"], name=test["name"])


def changed(items, index, **fields):
    return tuple(replace(item, **fields) if i == index else item for i, item in enumerate(items))


def without(items, index):
    return tuple(item for i, item in enumerate(items) if i != index)


def operand_mutations(model, index, operand):
    """Rows 2 to 5 and 7 of hal.md 11.9: operands with a wrong type, rank, scale, zero point or list."""
    def main(**fields):
        return model.with_main(operands=changed(model.main.operands, index, **fields))

    for code in (0xFFFFFFFF, 16, 9999, 10002):
        yield "type", main(type=code)
    kind = operand.type
    if kind in SCALAR_TYPES:
        yield "rank", main(dims=(0,))
    yield "scale", main(scale={OperandType.TENSOR_INT32: -1.0}.get(kind, 0.0 if kind in QUANTIZED_TYPES else 1.0))
    if kind in QUANT8_ASYMM_TYPES:
        yield "zero point", main(zero_point=256)
        yield "zero point", main(zero_point=-129)
    elif kind == OperandType.TENSOR_QUANT16_ASYMM:
        yield "zero point", main(zero_point=65536)
    else:
        yield "zero point", main(zero_point=1)
    swap = {LifeTime.SUBGRAPH_OUTPUT: LifeTime.TEMPORARY_VARIABLE,
            LifeTime.TEMPORARY_VARIABLE: LifeTime.SUBGRAPH_OUTPUT,
            LifeTime.CONSTANT_COPY: LifeTime.SUBGRAPH_INPUT, LifeTime.CONSTANT_REFERENCE: LifeTime.SUBGRAPH_INPUT,
            LifeTime.SUBGRAPH_INPUT: LifeTime.CONSTANT_COPY}
    if operand.lifetime in swap:
        yield "lifetime", main(lifetime=swap[operand.lifetime], data=None)


def operation_mutations(model, index, operation):
    """Rows 1, 9, 11 to 14 and 16: order, a second writer, wrong codes and indexes, missing writes."""
    operations, operands = model.main.operations, model.main.operands

    def main(**fields):
        return model.with_main(operations=changed(operations, index, **fields))

    for code in (-1, 106, 9999, 10000):
        yield "code", main(type=code)
    for place in range(len(operation.inputs)):
        inputs = (*operation.inputs[:place], len(operands), *operation.inputs[place + 1:])
        yield "input index", main(inputs=inputs)
    for place in range(len(operation.outputs)):
        head, tail = operation.outputs[:place], operation.outputs[place + 1:]
        yield "output index", main(outputs=(*head, len(operands), *tail))
        yield "missing write", main(outputs=(*head, *tail))
    yield "second writer", model.with_main(operations=(*operations, operation))
    yield "removed", model.with_main(operations=without(operations, index))
    internal = (LifeTime.TEMPORARY_VARIABLE, LifeTime.SUBGRAPH_OUTPUT)
    if any(operands[i].lifetime in internal for i in operation.inputs):
        yield "order", model.with_main(operations=(operation, *without(operations, index)))


@pytest.mark.parametrize("part", range(EVERY))
def test_models_of_the_standard_are_accepted(part):
    for path in FILES[part::EVERY]:
        for _, model in models(path):
            validate_model(model)


@pytest.mark.parametrize("path", FILES[::EVERY], ids=lambda path: path.name.split(".")[0])
def test_mutations_are_refused(path):
    for name, model in list(models(path))[:2]:
        mutants = [m for i, o in enumerate(model.main.operands) for m in operand_mutations(model, i, o)]
        mutants += [m for i, o in enumerate(model.main.operations) for m in operation_mutations(model, i, o)]
        for what, mutant in mutants:
            with pytest.raises(InvalidArgument):
                validate_model(mutant)
                pytest.fail(f"{name}: a wrong {what} was accepted")
