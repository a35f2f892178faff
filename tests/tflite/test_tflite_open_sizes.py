"""Operators whose sizes stay open and that others stand for: a run gives what the same file gives with known sizes."""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.errors import Error
from nnfast.tflite import load

RANDOM = np.random.default_rng(41)
QUANT = {"int8": (0.05, 3), "uint8": (0.05, 131), "int16": (0.05, 0)}
OTHER = {"int8": (0.07, -3), "uint8": (0.07, 120), "int16": (0.07, 0)}
BLOCKS = {"DEPTH_TO_SPACE": ((1, 2, 3, 8), (1, 4, 6, 2)), "SPACE_TO_DEPTH": ((1, 4, 6, 2), (1, 2, 3, 8))}


def values(kind, shape):
    if kind.startswith("float"):
        return RANDOM.standard_normal(shape).astype(kind)
    return RANDOM.integers(0 if kind == "uint8" else -100, 100, shape).astype(kind)


def tensor(name, kind, shape, opens=(), quant=QUANT):
    scale, point = quant.get(kind, (None, 0))
    return Tensor(name, shape, kind, None, scale, point, signature=tuple(-1 if k in opens else d
                                                                         for k, d in enumerate(shape)))


def check(tensors, op, inputs, arrays):
    """The open file gives what it gives when load is told the sizes."""
    data = build(tensors, [op], inputs, ["y"])
    found, = nnfast.Device(num_threads=1).prepare(load(data)).run(arrays)
    shapes = {name: array.shape for name, array in zip(inputs, arrays)}
    wanted, = nnfast.Device(num_threads=1).prepare(load(data, input_shapes=shapes)).run(arrays)
    np.testing.assert_array_equal(found, wanted)
    return found


@pytest.mark.parametrize("opens", [(0,), (0, 2)])
@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_sums_of_rank_5(kind, opens):
    shape, size = (1, 2, 3, 2, 2), (4, 2, 5 if 2 in opens else 3, 2, 2)
    names = "a", "b", "c"
    arrays = [values(kind, size) for _ in names]
    found = check([*(tensor(name, kind, shape, opens) for name in names), tensor("y", kind, shape, opens)],
                  Op("ADD_N", names, ["y"]), names, arrays)
    np.testing.assert_array_equal(found, arrays[0] + arrays[1] + arrays[2])


@pytest.mark.parametrize("opens", [(0,), (0, 2)])
@pytest.mark.parametrize("other", [(1, 2, 3, 2, 2), (1, 2, 3, 1, 1), (2,), (3, 1, 2)])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("name", ["ADD", "MUL"])
def test_arithmetic_of_rank_5_codes(name, kind, other, opens):
    shape = 1, 2, 3, 2, 2
    of_other = opens if len(other) == 5 else ()
    tensors = [tensor("a", kind, shape, opens), tensor("b", kind, other, of_other),
               tensor("y", kind, shape, opens, OTHER)]
    size = 4, 2, 3, 2, 2
    arrays = [values(kind, size), values(kind, (4, *other[1:]) if of_other else other)]
    check(tensors, Op(name, ["a", "b"], ["y"], f"{name.capitalize()}Options"), ["a", "b"], arrays)


def test_sizes_that_are_open_on_both_sides_must_agree():
    shape = 1, 2, 3, 2, 2
    tensors = [tensor("a", "int8", shape, (0,)), tensor("b", "int8", shape, (0,)), tensor("y", "int8", shape, (0,))]
    model = load(build(tensors, [Op("ADD", ["a", "b"], ["y"], "AddOptions")], ["a", "b"], ["y"]))
    with pytest.raises(Error, match="ADD input 1"):
        nnfast.Device().prepare(model).run([values("int8", (4, *shape[1:])), values("int8", (3, *shape[1:]))])


@pytest.mark.parametrize("opens", [(0,), (0, 1, 2)])
@pytest.mark.parametrize("kind", ["int32", "int8"])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name, kind, opens):
    x, y = BLOCKS[name]
    size = tuple(2 * d if k in opens else d for k, d in enumerate(x))
    check([tensor("x", kind, x, opens), tensor("y", kind, y, opens, OTHER)],
          Op(name, ["x"], ["y"], "".join(part.capitalize() for part in name.split("_")) + "Options",
             {"BlockSize": 2}), ["x"], [values(kind, size)])


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 2, 2, 2)])
def test_int16_codes_that_are_joined(shape):
    """LiteRT does not rescale them."""
    arrays = [values("int16", (4, *shape[1:])) for _ in "ab"]
    tensors = [tensor("a", "int16", shape, (0,)), tensor("b", "int16", shape, (0,), OTHER),
               tensor("y", "int16", (1, 6, *shape[2:]), (0,), OTHER)]
    found = check(tensors, Op("CONCATENATION", ["a", "b"], ["y"], "ConcatenationOptions", {"Axis": 1}), ["a", "b"],
                  arrays)
    np.testing.assert_array_equal(found, np.concatenate(arrays, 1))


@pytest.mark.parametrize(("first", "second"), [((5, 2), (5, 2)), ((5, 2), (1, 2)), ((1, 1), (5, 2)), ((5, 2), (2,))])
def test_batches_of_matrices_broadcast(first, second):
    x, y = values("float32", (*first, 2, 3)), values("float32", (*second, 3, 4))
    tensors = [Tensor(name, (1,) * len(batch) + rest, signature=(-1,) * len(batch) + rest)
               for name, batch, rest in zip("ab", (first, second), ((2, 3), (3, 4)))]
    tensors.append(Tensor("y", (1, 1, 2, 4), signature=(-1, -1, 2, 4)))
    data = build(tensors, [Op("BATCH_MATMUL", ["a", "b"], ["y"], "BatchMatMulOptions")], ["a", "b"], ["y"])
    found, = nnfast.Device(num_threads=1).prepare(load(data)).run([x, y])
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opens", [(), (0,)])
def test_groups_with_a_dilation_and_computed_weights(opens, tmp_path):
    x, w, bias = values("float32", (2, 5, 5, 4)), values("float32", (6, 3, 3, 2)), values("float32", (6,))
    tensors = [tensor("x", "float32", x.shape, opens), Tensor("w", w.shape), Tensor("bias", bias.shape),
               tensor("y", "float32", (2, 5, 5, 6), opens)]
    fields = {"StrideW": 1, "StrideH": 1, "DilationWFactor": 2, "DilationHFactor": 2}
    data = build(tensors, [Op("CONV_2D", ["x", "w", "bias"], ["y"], "Conv2DOptions", fields)], ["x", "w", "bias"],
                 ["y"])
    constants = [tensors[0], Tensor.of("w", w), Tensor.of("bias", bias), tensors[3]]
    same = build(constants, [Op("CONV_2D", ["x", "w", "bias"], ["y"], "Conv2DOptions", fields)], ["x"], ["y"])
    found, = nnfast.Device(num_threads=1).prepare(load(data)).run([x, w, bias])
    wanted, = nnfast.Device(num_threads=1).prepare(load(same)).run([x])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    theirs = None if opens else litert_outputs(tmp_path, data, [[x, w, bias]])
    if theirs is not None:
        np.testing.assert_allclose(found, theirs[0][0], rtol=1e-4, atol=1e-4)
