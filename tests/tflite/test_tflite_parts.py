"""Operators that others stand for (nnfast/tflite/parts.py): what they give is what those give."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One, State
from nnfast.errors import UnsupportedOperator

RNG = np.random.default_rng(31)
Q8 = {"*": (0.05, 3)}
SHAPE = (2, 1, 3, 2, 4)
OPTIONS = {
    "SOFTMAX": ("SoftmaxOptions", {"Beta": 0.8}), "ADD": ("AddOptions", {}), "SUB": ("SubOptions", {}),
    "MUL": ("MulOptions", {}), "L2_NORMALIZATION": ("L2NormOptions", {}),
}
OUT = {"SOFTMAX": (1 / 256, -128), "LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0), "L2_NORMALIZATION": (1 / 128, 0)}


def codes(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("kind", ["SOFTMAX", "LOGISTIC", "TANH", "L2_NORMALIZATION", "RELU", "RELU6", "HARD_SWISH"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_rank_5_of_one_tensor(kind, dtype):
    x = codes(*SHAPE) if dtype == "int8" else floats(*SHAPE)
    quants = {"i0": (0.05, 3), "o0": OUT.get(kind, (0.05, 3))} if dtype == "int8" else None

    def run(shape):
        return One(kind, [x.reshape(shape)], [(shape, dtype)], *OPTIONS.get(kind, (None, None)), quants).run()[0]

    found, wanted = run(SHAPE).reshape(-1), run((12, 4)).reshape(-1)
    np.testing.assert_allclose(found, wanted, rtol=3e-7 if dtype == "float32" else 0)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("other", [SHAPE, (1, 1, 3, 2, 4), (2, 4), (2, 1, 3, 1, 1)])
def test_rank_5_of_two_tensors(kind, other):
    x, y = codes(*SHAPE), codes(*other)
    quants = Q8 | {"o0": (0.3, -2)}
    found, = One(kind, [x, y], [(SHAPE, "int8")], *OPTIONS[kind], quants).run()
    flat = [np.broadcast_to(values, SHAPE).reshape(-1) for values in (x, y)]
    wanted, = One(kind, flat, [(flat[0].shape, "int8")], *OPTIONS[kind], quants).run()
    np.testing.assert_array_equal(found.reshape(-1), wanted)


def test_rank_5_with_an_unknown_size():
    one = One("TANH", [codes(*SHAPE)], [(SHAPE, "int8")], quants={"i0": (0.05, 3), "o0": (1 / 128, 0)})
    tensors, *rest = one.parts()
    for t in tensors:
        t.signature = (-1, 1, -1, 2, 4)
    found, = nnfast.Device().prepare(nnfast.load(build(tensors, *rest))).run([one.inputs[0]])
    np.testing.assert_array_equal(found, one.run()[0])


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype, scales", [("float32", None), ("uint8", 0.02), ("int8", 0.02),
                                           ("int8", [0.01, 0.02, 0.03])])
@pytest.mark.parametrize("is_open", [False, True])
def test_rank_5_of_a_layer(dtype, scales, keep, is_open):
    point = 131 if dtype == "uint8" else 0
    x, w = (floats(*shape) if dtype == "float32" else codes(*shape).view(dtype) for shape in (SHAPE, (3, 4)))
    quants = None if scales is None else {"i0": (0.05, point + 3), "i1": (scales, point), "o0": (0.2, point - 2)}
    shape = (*SHAPE[:-1], 3) if keep else (12, 3)
    tensors, *rest = One("FULLY_CONNECTED", [x, Const(w)], [(shape, dtype)], "FullyConnectedOptions",
                         {"KeepNumDims": keep}, quants).parts()
    if is_open:
        tensors[0].signature = (-1, *SHAPE[1:])
        tensors[-1].signature = (-1, *shape[1:])
    found, = nnfast.Device().prepare(nnfast.load(build(tensors, *rest))).run([x])
    assert found.shape == shape
    if scales is None:
        np.testing.assert_allclose(found, (x @ w.T).reshape(shape), rtol=1e-5, atol=1e-6)
        return
    sums = (x.astype(int) - point - 3) @ (w.astype(int) - point).T * (0.05 * np.array(scales) / 0.2)
    limits = np.iinfo(dtype)
    np.testing.assert_allclose(found, np.clip(sums + point - 2, limits.min, limits.max).reshape(shape), atol=0.501)


@pytest.mark.parametrize(("dtype", "scales"), [
    ("float32", None), ("int8", 0.01), ("int8", [0.01, 0.02, 0.03, 0.04, 0.05])])
def test_layers_keep_open_dimensions(dtype, scales):
    """Of transformers whose batch and length are both open."""
    x = codes(2, 3, 8) if dtype == "int8" else floats(2, 3, 8)
    w = codes(5, 8) if dtype == "int8" else floats(5, 8)
    quants = {"i0": (0.05, 3), "i1": (scales, 0), "o0": (0.5, 1)} if dtype == "int8" else None
    layer = One("FULLY_CONNECTED", [x, Const(w)], [((2, 3, 5), dtype)], "FullyConnectedOptions",
                {"KeepNumDims": True}, quants)
    tensors, *rest = layer.parts()
    for t in (tensors[0], tensors[2]):
        t.signature = (-1, -1, t.shape[2])
    prepared = nnfast.Device().prepare(nnfast.load(build(tensors, *rest)))
    np.testing.assert_array_equal(prepared.run([x])[0], layer.run()[0])
    part = prepared.run([np.ascontiguousarray(x[:1, 1:])])[0]
    np.testing.assert_allclose(part, layer.run()[0][:1, 1:], rtol=1e-5, atol=1e-6 if dtype == "float32" else 0)


def test_unpack_of_rank_5():
    x = floats(*SHAPE)
    found = One("UNPACK", [x], [((2, 1, 3, 4), "float32")] * 2, "UnpackOptions", {"Num": 2, "Axis": 3}).run()
    np.testing.assert_array_equal(np.stack(found, 3), x)


@pytest.mark.parametrize(("first", "second"), [
    ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (3, 4, 5)), ((2, 1, 2, 3, 4), (2, 2, 1, 4, 5)), ((3, 4), (4, 5))])
@pytest.mark.parametrize("is_constant", [False, True])
def test_batches_of_int8_matrices_broadcast(first, second, is_constant):
    x, y = codes(*first), codes(*second)
    batch = np.broadcast_shapes(first[:-2], second[:-2])
    quants = Q8 | {"o0": (0.4, -1)}
    found, = One("BATCH_MATMUL", [x, Const(y) if is_constant else y], [((*batch, 3, 5), "int8")], "BatchMatMulOptions",
                 quants=quants).run()
    rows = [np.broadcast_to(values, (*batch, *values.shape[-2:])).reshape(-1, *values.shape[-2:]) for values in (x, y)]
    wanted = [One("BATCH_MATMUL", [a[None], b[None]], [((1, 3, 5), "int8")], "BatchMatMulOptions",
                  quants=quants).run()[0] for a, b in zip(*rows)]
    np.testing.assert_array_equal(found.reshape(-1, 3, 5), np.concatenate(wanted))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_groups_with_a_dilation(dtype):
    groups, shape, fields = 2, (6, 3, 2, 2), {"StrideW": 1, "StrideH": 1, "DilationWFactor": 2, "DilationHFactor": 2}
    is_float = dtype == "float32"
    x, w = (floats if is_float else codes)(2, 7, 6, 4), (floats if is_float else codes)(*shape)
    w = w if is_float else np.maximum(w, -127)
    bias = floats(6) if is_float else RNG.integers(-99, 99, 6).astype(np.int32)
    scales = [0.01 * k for k in range(1, 7)]

    def run(x, w, bias, scales):
        quants = None if is_float else {"i0": (0.05, 3), "i1": (scales, 0), "i2": ([0.05 * s for s in scales], 0),
                                        "o0": (0.4, -4)}
        return One("CONV_2D", [x, Const(w), Const(bias)], [((*x.shape[:3], len(w)), dtype)], "Conv2DOptions", fields,
                   quants).run()[0]

    wanted = [run(np.ascontiguousarray(x[..., 2 * k:2 * k + 2]), w[3 * k:3 * k + 3], bias[3 * k:3 * k + 3],
                  scales[3 * k:3 * k + 3]) for k in range(groups)]
    np.testing.assert_array_equal(run(x, w, bias, scales), np.concatenate(wanted, 3))


@pytest.mark.parametrize("dtype", ["int32", "int64", "int16", "uint8", "bool", "float64"])
@pytest.mark.parametrize("block", [1, 2])
def test_blocks_of_any_type(dtype, block):
    deep = RNG.integers(0, 200, (2, 3, 2, 3 * block**2)).astype(dtype)
    shallow = np.empty((2, 3 * block, 2 * block, 3), dtype)
    for row in range(block):
        for column in range(block):
            first = (row * block + column) * 3
            shallow[:, row::block, column::block] = deep[..., first:first + 3]
    found, = One("DEPTH_TO_SPACE", [deep], [(shallow.shape, dtype)], "DepthToSpaceOptions", {"BlockSize": block}).run()
    np.testing.assert_array_equal(found, shallow)
    found, = One("SPACE_TO_DEPTH", [shallow], [(deep.shape, dtype)], "SpaceToDepthOptions", {"BlockSize": block}).run()
    np.testing.assert_array_equal(found, deep)


@pytest.mark.parametrize("kind, shape", [("DEPTH_TO_SPACE", (1, 2, 2, 6)), ("SPACE_TO_DEPTH", (1, 3, 4, 1))])
def test_blocks_that_do_not_divide_are_refused(kind, shape):
    with pytest.raises(UnsupportedOperator, match=kind):
        One(kind, [np.zeros(shape, np.int64)], [((1, 4, 4, 1), "int64")],
            "DepthToSpaceOptions" if kind == "DEPTH_TO_SPACE" else "SpaceToDepthOptions", {"BlockSize": 2}).run()


# -- hybrid ----------------------------------------------------------------------------------------------------------
UNITS, SIZE = 5, 4


def weights(dtype, *shape):
    return Const(RNG.integers(-127, 128, shape).astype(np.int8).view(dtype))


def rnn(dtype):
    return [weights(dtype, UNITS, SIZE), weights(dtype, UNITS, UNITS), Const(floats(UNITS)), State((2, UNITS))]


def lstm(dtype):
    return [*(weights(dtype, UNITS, SIZE) for _ in range(4)), *(weights(dtype, UNITS, UNITS) for _ in range(4)),
            *[None] * 3, *(Const(floats(UNITS)) for _ in range(4)), None, None]


def one_direction(kind, x, parts, fields):
    states = [State((2, UNITS))] * 2 if kind == "LSTM" else []
    options = "UnidirectionalSequenceLSTMOptions" if kind == "LSTM" else "SequenceRNNOptions"
    quants = {f"i{k}": (0.01, 0) for k in range(1, 9 if kind == "LSTM" else 3)}
    return One(f"UNIDIRECTIONAL_SEQUENCE_{kind}", [x, *parts, *states], [((*x.shape[:2], UNITS), "float32")], options,
               fields, quants).run()[0]


@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("has_auxiliary", [False, True])
def test_hybrid_layers_of_two_directions(kind, dtype, merges, has_auxiliary):
    """uint8 weights are the bytes of int8 ones, whatever their zero point."""
    make = lstm if kind == "LSTM" else rnn
    forward, backward = make(dtype), make(dtype)
    x, auxiliary = floats(3, 2, SIZE), floats(3, 2, SIZE) if has_auxiliary else None
    fields = {"FusedActivationFunction": 4, "TimeMajor": True, "AsymmetricQuantizeInputs": True}
    states = [State((2, UNITS))] * 4 if kind == "LSTM" else []
    inputs = [x, *forward, *backward, *states, auxiliary, *[None] * (8 if kind == "LSTM" else 2)]
    quants = {f"i{k}": (0.01, 128 if dtype == "uint8" else 0) for k, v in enumerate(inputs)
              if isinstance(v, Const) and v.array.dtype == dtype}
    shapes = [((3, 2, 2 * UNITS), "float32")] if merges else [((3, 2, UNITS), "float32")] * 2
    found = One(f"BIDIRECTIONAL_SEQUENCE_{kind}", inputs, shapes, f"BidirectionalSequence{kind}Options",
                fields | {"MergeOutputs": merges}, quants).run()
    signed = [[Const(v.array.view(np.int8)) if isinstance(v, Const) and v.array.dtype == dtype else v for v in side]
              for side in (forward, backward)]
    second = x if auxiliary is None else auxiliary
    wanted = [one_direction(kind, x, signed[0], fields),
              one_direction(kind, np.ascontiguousarray(second[::-1]), signed[1], fields)[::-1]]
    np.testing.assert_array_equal(np.concatenate(found, 2), np.concatenate(wanted, 2))


@pytest.mark.parametrize("kind", ["LSTM", "coupled LSTM", "RNN"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("time_major", [False, True])
def test_hybrid_layers_with_weights_for_an_auxiliary_input(kind, dtype, time_major):
    """Both directions read both inputs: one alone where the other's weights are zero, and about as layers of floats."""
    kind, is_coupled = kind.split()[-1], kind.startswith("coupled")
    sides = [(lstm if kind == "LSTM" else rnn)(dtype) for _ in range(2)]
    count = 4 if kind == "LSTM" else 1
    crossing = [[weights(dtype, UNITS, 3 if kind == "LSTM" else SIZE) for _ in range(count)] for _ in range(2)]
    if is_coupled:
        for side, cross in zip(sides, crossing):
            side[0] = side[4] = side[11] = cross[0] = None
    x, auxiliary = floats(2, 2, SIZE), floats(2, 2, 3 if kind == "LSTM" else SIZE)
    states = [State((2, UNITS))] * 4 if kind == "LSTM" else []
    code = dtype, 0.01, 128 if dtype == "uint8" else 0

    def run(x, auxiliary, sides, crossing, is_hybrid=True):
        inputs = [x, *sides[0], *sides[1], *states, auxiliary, *crossing[0], *crossing[1]]
        if not is_hybrid:
            inputs = [Const(v.array.view(np.int8) * np.float32(0.01)) if isinstance(v, Const) and v.array.dtype == dtype
                      else v for v in inputs]
        quants = {f"i{k}": code[1:] for k, v in enumerate(inputs) if isinstance(v, Const) and v.array.dtype == dtype}
        fields = {"FusedActivationFunction": 4, "TimeMajor": time_major}
        return np.stack(One(f"BIDIRECTIONAL_SEQUENCE_{kind}", inputs, [((2, 2, UNITS), "float32")] * 2,
                            f"BidirectionalSequence{kind}Options", fields, quants).run())

    def nothing(parts, places):
        return [Const(0 * v.array) if v is not None and k in places else v for k, v in enumerate(parts)]

    found = run(x, auxiliary, sides, crossing)
    np.testing.assert_allclose(found, run(x, auxiliary, sides, crossing, False), atol=0.02)
    no_cross = [nothing(part, range(count)) for part in crossing]
    alone = run(x, None, sides, [[None] * count] * 2)
    # The native step and numpy may differ in the last place, and so in a code of a hidden state.
    np.testing.assert_allclose(run(x, auxiliary, sides, no_cross), alone, atol=2e-3)
    assert np.abs(found - alone).max() > 0.05
    if kind == "RNN":
        from_other = [[cross[0], *side[1:]] for side, cross in zip(sides, crossing)]
        np.testing.assert_array_equal(run(x, auxiliary, [nothing(side, [0]) for side in sides], crossing),
                                      run(auxiliary, None, from_other, [[None] * count] * 2))


@pytest.mark.parametrize("change", ["size", "missing"])
def test_hybrid_weights_for_an_auxiliary_input_that_do_not_go_with_it(change):
    crossing = [weights("int8", UNITS, 3 if change == "size" else SIZE), weights("int8", UNITS, SIZE)]
    inputs = [floats(2, 2, SIZE), *rnn("int8"), *rnn("int8"), None if change == "missing" else floats(2, 2, SIZE),
              *crossing]
    quants = {f"i{k}": (0.01, 0) for k, v in enumerate(inputs) if isinstance(v, Const) and v.array.dtype == np.int8}
    one = One("BIDIRECTIONAL_SEQUENCE_RNN", inputs, [((2, 2, UNITS), "float32")] * 2,
              "BidirectionalSequenceRNNOptions", {"FusedActivationFunction": 4}, quants)
    with pytest.raises(UnsupportedOperator, match="BIDIRECTIONAL_SEQUENCE_RNN"):
        nnfast.load(one.file())


@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "BATCH_MATMUL"])
def test_hybrid_weights_may_be_computed(kind):
    x, w = floats(3, 8), codes(5, 8)
    options = ("FullyConnectedOptions", {}) if kind[0] == "F" else ("BatchMatMulOptions", {"AdjY": True})
    found, wanted = (One(kind, [x, given], [((3, 5), "float32")], *options, {"i1": (0.01, 0)}).run()[0]
                     for given in (w, Const(w)))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(("shape", "bias"), [((1, 14, 8), 8), ((8,), 8), ((1, 4, 4, 8), 3)])
def test_groups_of_what_is_no_convolution(shape, bias):
    """An image of another rank, and a bias of another size, are refused as any convolution's are."""
    one = One("CONV_2D", [floats(*shape), Const(floats(8, 3, 3, 4)), Const(floats(bias))], [((1, 4, 4, 8), "float32")],
              "Conv2DOptions", {"StrideW": 1, "StrideH": 1, "DilationWFactor": 2, "DilationHFactor": 2})
    with pytest.raises(UnsupportedOperator, match="operator.0. CONV_2D"):
        nnfast.load(one.file())


def test_batches_beyond_all_dimensions():
    """Two batches of 65536 that broadcast make 2^32, which no dimension has."""
    tensors = [Tensor("x", (1 << 16, 1, 1, 3), "int8", scale=0.1), Tensor("y", (1, 1 << 16, 3, 1), "int8", scale=0.1),
               Tensor("z", (1, 1, 1, 1), "int8", scale=0.1, signature=(-1, -1, 1, 1))]
    with pytest.raises(UnsupportedOperator, match="operator.0. BATCH_MATMUL"):
        nnfast.load(build(tensors, [Op("BATCH_MATMUL", ["x", "y"], ["z"], "BatchMatMulOptions")], ["x", "y"], ["z"]))


# -- borders ---------------------------------------------------------------------------------------------------------
def test_booleans_are_numpys_at_the_border():
    x = floats(2, 3)
    found, = One("GREATER", [x, Const(np.float32(0))], [((2, 3), "bool")]).run()
    assert found.dtype == np.bool_ and (found == (x > 0)).all()
    one = One("LOGICAL_NOT", [x > 0], [((2, 3), "bool")])
    prepared = nnfast.Device().prepare(one.model())
    assert prepared.inputs[0].dtype == prepared.outputs[0].dtype == np.bool_
    out = np.empty((2, 3), np.bool_)
    for given in (x > 0, (x > 0).view(np.uint8), np.asfortranarray(x > 0)):
        (result,), (again,) = prepared.run([given]), prepared.run([given], out=[out])
        assert result.dtype == again.dtype == np.bool_ and (result == (x <= 0)).all() and (out == result).all()
    assert prepared.submit([x > 0]).result(60)[0].dtype == np.bool_
    phone = nnfast.Device().prepare(nnfast.load(one.file(), arithmetic="nnapi"))
    assert phone.outputs[0].dtype == phone.run([x > 0])[0].dtype == np.uint8


@pytest.mark.parametrize(("dtype", "kind"), [("uint8", "CAST"), ("int8", "ARG_MAX"), ("int64", "CAST")])
def test_numbers_that_nnapi_has_not(dtype, kind):
    """An input of 8 bits without quantization, and of 64 bits."""
    x = np.array([[1, 7, 3], [9, 2, 4]], dtype)
    if kind == "CAST":
        assert One(kind, [x], [((2, 3), "float32")], "CastOptions").run()[0].tolist() == x.tolist()
    else:
        one = One(kind, [x, Const(np.array(1, np.int32))], [((2,), "int32")], "ArgMaxOptions", {"OutputType": 2})
        assert one.run()[0].tolist() == [1, 0]


# -- steps -----------------------------------------------------------------------------------------------------------
def test_one_step_of_an_int8_lstm():
    rng, units, size = np.random.default_rng(3), 5, 6
    matrices = [Const(rng.integers(-127, 128, (units, size if k < 4 else units)).astype(np.int8)) for k in range(8)]
    biases = [Const(rng.integers(-2000, 2000, units).astype(np.int32)) for _ in range(4)]
    inputs = [*matrices, *[None] * 3, *biases, None, None, State((2, units), "int8"), State((2, units), "int16")]
    quants = {f"i{k}": (0.005, 0) for k in range(1, 9)} | {"i0": (1 / 64, 2), "i18": (1 / 128, 0), "i19": (2**-12, 0),
                                                            "o0": (1 / 128, 0)}
    x = rng.integers(-128, 128, (2, size)).astype(np.int8)

    def run(kind, options, x, fields):
        tensors, (op,), *rest = One(kind, [x, *inputs], [((*x.shape[:-1], units), "int8")], options,
                                    {"FusedActivationFunction": 4} | fields, quants).parts()
        between = [Tensor(f"m{k}", (), "int16" if k < 4 else "int8", scale=0.01) for k in range(5)]
        op.intermediates = [t.name for t in between]
        model = nnfast.load(build([*tensors, *between], [op], *rest))
        stream = nnfast.Device().prepare(model).stream()
        return np.stack([stream.run([x])[0].reshape(2, units) for _ in range(3)])

    found = run("LSTM", "LSTMOptions", x, {})
    np.testing.assert_array_equal(
        found, run("UNIDIRECTIONAL_SEQUENCE_LSTM", "UnidirectionalSequenceLSTMOptions", x[None], {"TimeMajor": True}))
    assert len(np.unique(found)) > 5


@pytest.mark.parametrize("quant", [(0.05, 128), (1 / 128, 128)])
def test_softmax_of_uint8_gives_steps_of_a_256th_whatever_it_declares(quant):
    x = np.random.default_rng(6).integers(0, 256, (3, 5)).astype(np.uint8)
    one = One("SOFTMAX", [x], [(x.shape, "uint8")], "SoftmaxOptions", {"Beta": 1.0}, {"i0": (0.05, 128), "o0": quant})
    powers = np.exp(x * 0.05)
    np.testing.assert_array_equal(one.run()[0], np.minimum(np.round(powers / powers.sum(1, keepdims=True) * 256), 255))
    output = one.model().main.operands[one.model().main.outputs[0]]
    assert (np.float32(output.scale), output.zero_point) == (np.float32(quant[0]), quant[1])


@pytest.mark.parametrize("declared", [(2, 3, 1, 4), (2, 1, 3), (7,)])
def test_shapes_of_results_follow_from_inputs(declared):
    x = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    one = One("REVERSE_V2", [x, Const(np.array([1, 2], np.int32))], [(declared, "int64")])
    assert one.run()[0].tolist() == x[:, ::-1, ::-1].tolist()


@pytest.mark.parametrize(("mask", "bounds", "index"), [
    ("EllipsisMask", ([0, 1, 2], [0, 3, 3]), np.s_[..., 1:3, 2:3]),
    ("NewAxisMask", ([1, 0, 0], [2, 3, 0]), np.s_[None, 0:3, 0:0]),
    ("NewAxisMask", ([1, 0, 0], [2, 2, 2]), np.s_[None, 0:2, 0:2]),
])
def test_masks_of_strided_slice_change_the_shape_that_a_file_says(mask, bounds, index):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    numbers = [Const(np.array(values, np.int32)) for values in (*bounds, [1, 1, 1])]
    one = One("STRIDED_SLICE", [x, *numbers], [((2, 3, 4), "float32")], "StridedSliceOptions", {mask: 1})
    assert one.run()[0].tolist() == x[index].tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pools_of_integers_without_quantization(kind, dtype):
    """Averages are rounded, halves away from zero."""
    info = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(info.min, info.max, (2, 5, 4, 3), dtype, endpoint=True)
    fields = {"Padding": 1, "StrideW": 1, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 3}
    one = One(kind, [x], [((2, 2, 3, 3), dtype)], "Pool2DOptions", fields)
    taps = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (1, 2))[:, ::2].astype(np.int64)
    sums = taps.sum((-1, -2))
    wanted = taps.max((-1, -2)) if kind == "MAX_POOL_2D" else np.sign(sums) * ((abs(sums) + 3) // 6)
    (found,) = one.run()
    assert found.dtype == dtype
    assert found.tolist() == wanted.tolist()


def test_an_activation_has_no_bounds_without_quantization():
    x = np.zeros((1, 2, 2, 1), np.int8)
    one = One("MAX_POOL_2D", [x], [((1, 1, 1, 1), "int8")], "Pool2DOptions",
              {"Padding": 1, "StrideW": 1, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 2,
               "FusedActivationFunction": 1})
    with pytest.raises(nnfast.UnsupportedOperator, match="MAX_POOL_2D"):
        nnfast.load(one.file())
