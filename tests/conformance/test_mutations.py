"""The mutations of [NN 11.9]: what they change, what they spare, and that the driver refuses a sample of them."""

import random
from collections import Counter

import numpy as np
import pytest

from helpers.shared import VECTORS, needs_vectors
from nnfast import Device
from nnfast.compiler.check import check_model
from nnfast.conformance.hal_face import hidl_mutations
from nnfast.conformance.kinds import KINDS
from nnfast.conformance.mutations import consistent, model_mutations
from nnfast.conformance.runner import FACES
from nnfast.conformance.vectors import collect, read
from nnfast.conformance.worker import make_face
from nnfast.hal.layout import from_canonical
from nnfast.model.types import (
    VERSIONS,
    ChannelQuant,
    LifeTime,
    Model,
    Operand,
    OperandType,
    Operation,
    OperationType,
    Subgraph,
)

FILES, VECTORS_PER_FILE, SEED = 30, 1, 11
T, Op, L = OperandType, OperationType, LifeTime


def model(operation, kinds, outputs=1):
    """One operation on tensors [2] and on scalar constants; its last operands are the outputs."""
    operands = [Operand(kind, () if kind == T.INT32 else (2,), lifetime=L.CONSTANT_COPY if kind == T.INT32 else
                        L.SUBGRAPH_INPUT, data=np.zeros((), np.int32) if kind == T.INT32 else None) for kind in kinds]
    places = tuple(range(len(kinds)))
    operands += [Operand(T.TENSOR_FLOAT32, (2,), lifetime=L.SUBGRAPH_OUTPUT)] * outputs
    inputs = tuple(i for i, o in enumerate(operands) if o.lifetime == L.SUBGRAPH_INPUT)
    written = tuple(range(len(kinds), len(operands)))
    return Model(Subgraph(tuple(operands), (Operation(operation, places, written),), inputs, written))


def found(mutated):
    return Counter(mutation.rule for mutation in model_mutations(mutated))


def test_every_row_of_the_standard_is_there():
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    assert found(add) == {
        "operand type": 4 * 4, "operand rank": 1, "operand scale": 4, "operand zero point": 4,
        "operand lifetime, lists adjusted": 4 * 2, "operand lifetime, lists not adjusted": 4,
        "type of an operation's operand": 4 * 15, "operand removed": 3, "second writer": 1, "operation type": 4,
        "operand index": 4, "operation input removed": 3, "operation output removed": 1, "operation removed": 1,
        "operation input added": 1, "operation output added": 1}


@pytest.mark.parametrize("hal, kinds, operations, ranks, targets", [
    ("1.0", {-1, 6, 9999, 10002}, {-1, 29, 9999, 10001}, 4, 5),
    ("1.1", {-1, 6, 9999, 10002}, {-1, 38, 9999, 10001}, 4, 5),
    ("1.2", {0xFFFFFFFF, 14, 9999, 10002}, {95, 9999, 10001}, 1, 13),
    ("1.3", {0xFFFFFFFF, 16, 9999, 10002}, {102, 9999, 10001}, 1, 15)])
def test_rows_2_3_10_11_depend_on_the_version(hal, kinds, operations, ranks, targets):
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    mutations = list(model_mutations(add, hal))
    by_rule = Counter(mutation.rule for mutation in mutations)
    assert (by_rule["operand rank"], by_rule["type of an operation's operand"]) == (ranks, 4 * targets)
    changed = [m.model.main for m in mutations if m.rule == "operand type"]
    assert {operand.type for graph in changed for operand in graph.operands} - {T.TENSOR_FLOAT32, T.INT32} == kinds
    changed = [m.model.main for m in mutations if m.rule == "operation type"]
    assert {graph.operations[0].type for graph in changed} == operations


@pytest.mark.parametrize("hal", ["1.0", "1.3"])
def test_row_8_and_locations_are_mutations_of_hidl_models(hal):
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    counts = Counter(mutation.rule for mutation in hidl_mutations(from_canonical(add, hal), hal))
    assert counts == {"number of consumers": 2 * 3 + 1, "operand location": 3 * 4}


def test_order_and_missing_writer_need_a_chain():
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    operands = (*add.main.operands, add.main.operands[3])
    operations = (*add.main.operations, Operation(Op.ADD, (3, 3, 2), (4,)))
    counts = found(add.with_main(operands=operands, operations=operations, outputs=(3, 4)))
    assert (counts["execution order"], counts["missing writer"], counts["second writer"]) == (2, 1, 2)


def test_every_mutation_changes_the_model():
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    check_model(add)
    for mutation in model_mutations(add):
        assert mutation.model.main != add.main, mutation.where


def test_referenced_graphs_are_mutated_too():
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    both = Model(add.main, (add.main,))
    paths = Counter(mutation.where.split(".")[0] for mutation in model_mutations(both))
    assert paths["main"] == paths["referenced[0]"] == sum(found(add).values())
    assert all(m.model.main is add.main for m in model_mutations(both) if m.where.startswith("referenced"))


@pytest.mark.parametrize("operation, kinds, outputs, rule, spared", [
    (Op.SOFTMAX, (T.TENSOR_FLOAT32, T.INT32), 1, "operation input added", ("operation[0]",)),
    (Op.CONCATENATION, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32), 1, "operation input removed", (" 0", " 1")),
    (Op.CONCATENATION, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32), 1, "operand removed", ("[0]", "[1]")),
    (Op.PACK, (T.INT32, T.TENSOR_FLOAT32, T.TENSOR_FLOAT32), 1, "operation input removed", (" 1", " 2")),
    (Op.CAST, (T.TENSOR_FLOAT32,), 1, "type of an operation's operand", ("TENSOR_FLOAT16", "TENSOR_INT32")),
    (Op.CONV_2D, (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM, *[T.INT32] * 5), 1,
     "type of an operation's operand", ("main.operand[1] to TENSOR_QUANT8_SYMM_PER_CHANNEL",)),
])
def test_what_may_be_valid_is_spared(operation, kinds, outputs, rule, spared):
    places = [m.where.strip() for m in model_mutations(model(operation, kinds, outputs)) if m.rule == rule]
    assert not [place for place in places if place.endswith(spared) or place.split(" ")[0].endswith(spared)]


def test_output_of_split_may_go_but_not_that_of_add():
    def removed(operation, kinds, outputs):
        chain = model(operation, kinds, outputs)
        first = len(kinds)
        extra = Operation(Op.RELU, (first,), (first + outputs,))
        graph = chain.main
        graph = Subgraph((*graph.operands, graph.operands[first]), (*graph.operations, extra), graph.inputs,
                         (*graph.outputs, first + outputs))
        return {m.where.strip() for m in model_mutations(Model(graph)) if m.rule == "operand removed"}

    assert "main.operand[3]" not in removed(Op.SPLIT, (T.TENSOR_FLOAT32, T.INT32, T.INT32), 2)
    assert "main.operand[3]" in removed(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32), 1)


def test_removed_operand_moves_the_others_up():
    add = model(Op.ADD, (T.TENSOR_FLOAT32, T.TENSOR_FLOAT32, T.INT32))
    graph = next(m.model.main for m in model_mutations(add) if m.rule == "operand removed")
    assert (graph.inputs, graph.outputs, graph.operations[0].inputs) == ((0,), (2,), (0, 1))


def test_consistent_types():
    constant = Operand(T.TENSOR_QUANT8_ASYMM, (2, 3), 0.5, 7, L.CONSTANT_COPY, data=np.full((2, 3), 200, np.uint8))
    channels = consistent(constant, T.TENSOR_QUANT8_SYMM_PER_CHANNEL)
    assert (channels.scale, channels.zero_point, channels.channel_quant) == (0.0, 0, ChannelQuant(0, (1.0, 1.0)))
    assert channels.data.dtype == np.int8 and (channels.data == -56).all()
    wide = consistent(constant, T.TENSOR_FLOAT32)
    assert (wide.scale, wide.zero_point) == (0.0, 0) and wide.data is constant.data
    scalar = consistent(constant, T.INT32)
    assert (scalar.dims, scalar.scale, scalar.zero_point) == ((), 0.0, 0)
    assert consistent(Operand(T.INT32), T.TENSOR_QUANT16_ASYMM).dims == (1,)
    assert consistent(Operand(T.TENSOR_FLOAT32, (4,)), T.TENSOR_QUANT8_SYMM).scale == 1.0


@needs_vectors
@pytest.mark.parametrize("hal", FACES)
def test_driver_refuses_a_sample_of_all_mutations(hal):
    chance, face, kind = random.Random(SEED), make_face(Device(num_threads=1), hal), KINDS["validation"]
    tried, versions = 0, VERSIONS[:VERSIONS.index(FACES[hal]) + 1]
    for path in chance.sample(collect([VECTORS]), FILES):
        vectors = [v for v in read(path) if kind.takes(v) and v.version in versions and "mobilenet" not in v.name]
        for vector in chance.sample(vectors, min(VECTORS_PER_FILE, len(vectors))):
            part, = kind.run(face, vector.case(), vector)
            assert part.outcome == "passed", f"{vector.name}: {part.reason}"
            tried += sum(counts[0] for counts in part.tally.values())
    assert tried > 600
