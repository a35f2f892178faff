"""Elements the other way round: whole dimensions, and sequences of lengths that an execution knows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import make, run_native_all
from helpers.moved import ITEMS, SHAPES, check, items, numbered, table, tensor
from helpers.nodes import T, ints
from nnfast.errors import GeneralFailure, InvalidArgument
from nnfast.model.own import BY_NAME as TYPES
from nnfast.ops.base import Tensor
from nnfast.ops.own import BY_NAME


@given(item=items, shape=SHAPES, data=st.data())
@settings(max_examples=40)
def test_reverse(item, shape, data):
    check("TFL_REVERSE_V2", item, shape, table(data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True))))


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("shape, axes", [
    ((3, 70), [1]), ((3, 70), [0, 1]), ((5, 3, 67), [0, 2]), ((2, 5, 3, 33), [1, 3]), ((400, 1, 3), [2]),
    ((41, 1, 5, 1), [0, 2]), ((300, 1000), [1]), ((3, 0), [1]),
])
def test_reverse_by_vectors(item, shape, axes):
    check("TFL_REVERSE_V2", item, shape, table(axes))


@given(item=items, shape=SHAPES.filter(lambda shape: len(shape) > 1), kind=st.sampled_from(["int16", "int32", "int64"]),
       data=st.data())
@settings(max_examples=150)
def test_reverse_sequence(item, shape, kind, data):
    seq, batch = data.draw(st.permutations(range(len(shape))))[:2]
    lengths = np.array([data.draw(st.integers(0, shape[seq])) for _ in range(shape[batch])], kind)
    reverse_sequence(item, shape, lengths, seq, batch - data.draw(st.sampled_from([0, len(shape)])))


def reverse_sequence(item, shape, lengths, seq, batch):
    """Its node, native form checked."""
    kind = {"int16": TYPES["TENSOR_INT16"], "int32": T.TENSOR_INT32, "int64": TYPES["TENSOR_INT64"]}[lengths.dtype.name]
    return check("TFL_REVERSE_SEQUENCE", item, shape, Tensor(0, kind, lengths.shape), *ints(seq, batch),
                 arrays=[lengths])


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("shape, seq, batch", [
    ((7, 150), 1, 0), ((150, 7), 0, 1), ((2, 7, 3, 90, 2), 3, 1), ((2, 90, 3, 7, 2), 1, 3), ((4, 300, 300), 1, 0),
    ((300, 300, 4), 0, 1), ((4, 300, 300), 2, 0),
])
def test_long_sequences_reversed(item, shape, seq, batch):
    places = np.random.default_rng(3).integers(0, shape[seq] + 1, shape[batch])
    reverse_sequence(item, shape, places.astype(np.int32), seq, batch)


@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
@pytest.mark.parametrize("wrong", [-1, 6])
@pytest.mark.parametrize("shape, seq, batch", [((3, 5, 2), 1, 0), ((5, 3), 0, 1), ((3, 5, 0), 1, 0)])
def test_a_length_outside_of_the_sequence_is_left_to_the_reference(kind, wrong, shape, seq, batch):
    node = reverse_sequence(4, shape, np.array([0, 5, 3], kind), seq, batch)
    arrays = [numbered(4, shape), np.array([0, 5, wrong], kind)]
    with pytest.raises(AssertionError):
        run_native_all(node, arrays)
    with pytest.raises(GeneralFailure, match=r"has a -?\d+, must be 0 to 5"):
        node.op.compute(node, arrays)


def test_reversing_a_dimension_twice_is_refused():
    with pytest.raises(InvalidArgument, match="must be different dimensions"):
        make(BY_NAME["TFL_REVERSE_V2"].op, [tensor(4, (2, 3)), table([1, -1])], tensor(4))
