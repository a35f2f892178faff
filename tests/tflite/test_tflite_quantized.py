"""Quantized forms of operators that the standard lacks, against formulas written out here."""

import numpy as np
import pytest
from scipy.special import expit

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One
from nnfast._native import kernels
from nnfast.compiler.nodes import Facts
from nnfast.compiler.resolve import resolve
from nnfast.model.quant import mbqm, quantize_multiplier

RANDOM = np.random.default_rng(11)
RANGES = {kind: (np.iinfo(kind).min, np.iinfo(kind).max) for kind in ("int8", "uint8", "int16")}


def codes(kind, *shape):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return RANDOM.integers(low, high + 1, shape).astype(kind)


def rounded(x):
    """Half away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def f32(x):
    return float(np.float32(x))


@pytest.mark.parametrize(("source", "target"), [("int8", "int8"), ("int8", "uint8"), ("uint8", "int8"),
                                                ("int16", "int8"), ("int16", "int32"), ("int8", "int16")])
def test_quantize_between_integers(source, target):
    x = codes(source, 3, 100)
    zeros = [5 if kind in ("int8", "uint8") else 0 for kind in (source, target)]
    one = One("QUANTIZE", [x], [(x.shape, target)], quants={"i0": (0.02, zeros[0]), "o0": (0.031, zeros[1])})
    wanted = mbqm(x.astype(np.int64) - zeros[0], *quantize_multiplier(f32(0.02) / f32(0.031))) + zeros[1]
    np.testing.assert_array_equal(one.run()[0], np.clip(wanted, np.iinfo(target).min, np.iinfo(target).max))


def test_mean_into_another_quantization():
    x = codes("int8", 2, 5, 6, 7)
    one = One("MEAN", [x, Const(np.int32([1, 2]))], [((2, 7), "int8")], "ReducerOptions",
              quants={"i0": (0.02, 5), "o0": (0.005, -9)})
    real = (x.astype(int) - 5).mean(axis=(1, 2)) * 0.02 / 0.005 - 9
    assert np.abs(one.run()[0] - np.clip(real, -128, 127)).max() <= 1


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("shape", "axes"), [
    ((2, 3, 4), Const(np.int32([1]))), ((2, 1, 3, 2, 4), Const(np.int32([1, -1]))), ((2, 3, 4), np.int32([0, 2])),
    ((2, 3, 4), Const(np.int32([0, 1, 2])))])
def test_mean_of_any_rank_with_computed_axes(kind, shape, axes):
    x, along = codes(kind, *shape), tuple(getattr(axes, "array", axes))
    wanted = (x.astype(int) - 5).mean(axis=along)
    one = One("MEAN", [x, axes], [(wanted.shape, kind)], "ReducerOptions", quants={"*": (0.02, 5)})
    result = one.run()[0]
    assert np.abs(result.reshape(wanted.shape) - np.clip(wanted + 5, *RANGES[kind])).max() <= 1


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(("kind", "zero"), [("int8", 3), ("int16", 0)])
def test_product_scales_after_each_factor(kind, zero, computed):
    """Not by a third of the output's scale each, but by its third root."""
    x, axis = codes(kind, 2, 3, 4), np.int32([1])
    scale, new_scale = (0.05, 0.5) if kind == "int8" else (0.001, 0.7)
    one = One("REDUCE_PROD", [x, axis if computed else Const(axis)], [((2, 4), kind)], "ReducerOptions",
              quants={"i0": (scale, zero), "o0": (new_scale, zero)})
    wanted = ((x.astype(int) - zero) * scale).prod(axis=1) / new_scale + zero
    np.testing.assert_allclose(one.run()[0], np.clip(wanted, *RANGES[kind]), atol=3)


def test_product_refuses_what_leaves_the_multiplier():
    with pytest.raises(nnfast.UnsupportedOperator, match="too large for a product"):
        One("REDUCE_PROD", [codes("int8", 2, 3), Const(np.int32([1]))], [((2,), "int8")], "ReducerOptions",
            quants={"i0": (1e5, 0), "o0": (1e-3, 0)}).run()


@pytest.mark.parametrize(("kind", "zero"), [("int8", -100), ("int16", 0)])
def test_square_roots_are_cut(kind, zero):
    low, high = RANGES[kind]
    x = np.arange(zero - 9, high + 1).astype(kind)
    one = One("SQRT", [x], [(x.shape, kind)], quants={"i0": (0.04, zero), "o0": (0.0625, zero)})
    real = np.sqrt(np.float32(0.04) * np.maximum(x.astype(int) - zero, 0).astype(np.float32)) * 16
    np.testing.assert_array_equal(one.run()[0], np.clip(np.floor(real) + zero, low, high))


def test_resize_keeps_codes_and_rounds_half_away():
    x = np.int8([[[[-3], [-4]]]])
    one = One("RESIZE_BILINEAR", [x, Const(np.int32([1, 4]))], [((1, 1, 4, 1), "int8")], "ResizeBilinearOptions",
              quants={"i0": (0.5, 0), "o0": (0.25, 3)})
    assert one.run()[0].reshape(-1).tolist() == [-3, -4, -4, -4]


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_resize_without_a_quantization(kind, computed):
    """As with one: the codes are what is interpolated."""
    x, size = codes(kind, 2, 3, 4, 5), np.int32([7, 6])
    scale = 0.5, 0 if kind == "int16" else 3

    def run(size, quants):
        return One("RESIZE_BILINEAR", [x, size], [((2, 7, 6, 5), kind)], "ResizeBilinearOptions",
                   {"HalfPixelCenters": True}, quants).run()[0]

    wanted = run(Const(size), {"i0": scale, "o0": scale})
    assert wanted.dtype == kind
    np.testing.assert_array_equal(run(size if computed else Const(size), {}), wanted)
    np.testing.assert_array_equal(run(size, {"i0": scale, "o0": scale}), wanted)


@pytest.mark.parametrize("alpha", [0.3, 1.5, -0.2])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
def test_leaky_relu(kind, alpha):
    x, zero = codes(kind, 400), 0 if kind == "int16" else 7
    one = One("LEAKY_RELU", [x], [(x.shape, kind)], "LeakyReluOptions", {"Alpha": alpha},
              {"i0": (0.02, zero), "o0": (0.03, zero)})
    value = (x.astype(int) - zero) * np.where(x.astype(int) >= zero, 1, alpha) * 0.02 / 0.03 + zero
    assert np.abs(one.run()[0] - np.clip(value, np.iinfo(kind).min, np.iinfo(kind).max)).max() <= 1


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
def test_int16_arithmetic(name):
    x, y = codes("int16", 4, 50), codes("int16", 1, 50)
    scales = 0.0003, 0.0005, 0.0009 if name != "MUL" else 0.005
    one = One(name, [x, y], [(x.shape, "int16")], f"{name.capitalize()}Options",
              quants={name: (scale, 0) for name, scale in zip(("i0", "i1", "o0"), scales)})
    a, b = x * scales[0], y * scales[1]
    real = {"ADD": a + b, "SUB": a - b, "MUL": a * b}[name] / scales[2]
    assert np.abs(one.run()[0] - np.clip(real, -32768, 32767)).max() <= 1


def convolved(x, w, groups):
    """Sums of a 3x3 convolution without padding, [h, w, channels] with [units, 3, 3, depth]."""
    height, width = x.shape[0] - 2, x.shape[1] - 2
    y = np.zeros((height, width, len(w)))
    depth, each = x.shape[2] // groups, len(w) // groups
    for unit in range(len(w)):
        first = unit // each * depth
        for i in range(height):
            for j in range(width):
                y[i, j, unit] = (x[i:i + 3, j:j + 3, first:first + depth] * w[unit]).sum()
    return y


OPTIONS = {"Padding": 1, "StrideW": 1, "StrideH": 1, "DilationWFactor": 1, "DilationHFactor": 1}


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_int16_convolutions(name):
    plain = name == "CONV_2D"
    x, w = codes("int16", 1, 5, 6, 4), codes("int8", *((3, 3, 3, 4) if plain else (1, 3, 3, 4)))
    units = 3 if plain else 4
    bias, scales = RANDOM.integers(-9**6, 9**6, units), RANDOM.uniform(0.002, 0.01, units)
    one = One(name, [x, Const(w), Const(bias)], [((1, 3, 4, units), "int16")],
              "Conv2DOptions" if plain else "DepthwiseConv2DOptions",
              OPTIONS if plain else OPTIONS | {"DepthMultiplier": 1}, {"i0": (0.0003, 0), "o0": (0.002, 0)})
    tensors, *rest = one.parts()
    tensors[1].scale, tensors[1].dim = scales.tolist(), 0 if plain else 3
    one.parts = lambda: (tensors, *rest)
    turned = w if plain else w.transpose(3, 1, 2, 0)
    real = (convolved(x[0].astype(float), turned.astype(float), 1 if plain else 4) + bias) * 0.0003 * scales / 0.002
    # The multiplier has 16 bits.
    np.testing.assert_allclose(one.run()[0][0], np.clip(real, -32768, 32767), rtol=5e-5, atol=1)


def quantized(row):
    """(codes less their zero point, scale) of a row over all codes, as LiteRT quantizes it."""
    low, high = min(float(row.min()), 0.0), max(float(row.max()), 0.0)
    scale = (high - low) / 255
    zero = int(rounded(-128 - low / scale if abs(low) < abs(high) else 127 - high / scale))
    step = np.float32(1) / np.float32(scale)
    return np.clip(rounded(row * step) + zero, -128, 127) - zero, np.float32(scale)


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("keep", [False, True])
def test_hybrid_fully_connected(is_asymmetric, keep):
    x, w = RANDOM.normal(0, 2, (2, 3, 20)).astype(np.float32), np.clip(codes("int8", 7, 20), -127, 127)
    bias = RANDOM.normal(0, 1, 7).astype(np.float32)
    one = One("FULLY_CONNECTED", [x, Const(w), Const(bias)], [((2, 3, 7) if keep else (6, 7), "float32")],
              "FullyConnectedOptions", {"AsymmetricQuantizeInputs": is_asymmetric, "KeepNumDims": keep},
              {"i1": (0.01, 0)})
    wanted = []
    for row in x.reshape(6, 20):
        if is_asymmetric:
            row, scale = quantized(row)
        else:
            largest = np.abs(row).max()
            row, scale = rounded(row * (np.float32(127) / largest)), largest / np.float32(127)
        wanted.append((w.astype(float) @ row).astype(np.float32) * (scale * np.float32(0.01)) + bias)
    np.testing.assert_allclose(one.run()[0].reshape(6, 7), wanted, rtol=1e-6, atol=1e-6)


def test_hybrid_inputs_are_rounded_before_their_zero_point():
    """Scale 1 and zero point -28: ties go away from zero in the input, not in its codes."""
    x = np.float32([[-100, 155, 2.5, -2.5, 0.5, -0.5, 100.5, -30.5]])
    one = One("FULLY_CONNECTED", [x, Const(np.eye(8, dtype=np.int8))], [((1, 8), "float32")], "FullyConnectedOptions",
              {"AsymmetricQuantizeInputs": True}, {"i1": (1.0, 0)})
    np.testing.assert_array_equal(one.run()[0], [[-100, 155, 3, -3, 1, -1, 101, -31]])


@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_hybrid_convolutions(name):
    plain = name == "CONV_2D"
    x = RANDOM.normal(0, 2, (2, 5, 6, 4)).astype(np.float32)
    w = codes("int8", *((4, 3, 3, 4) if plain else (1, 3, 3, 4)))
    scales, bias = RANDOM.uniform(0.002, 0.01, 4).astype(np.float32), RANDOM.normal(0, 1, 4).astype(np.float32)
    one = One(name, [x, Const(w), Const(bias)], [((2, 3, 4, 4), "float32")],
              "Conv2DOptions" if plain else "DepthwiseConv2DOptions",
              OPTIONS if plain else OPTIONS | {"DepthMultiplier": 1})
    tensors, *rest = one.parts()
    tensors[1].scale, tensors[1].dim = scales.tolist(), 0 if plain else 3
    one.parts = lambda: (tensors, *rest)
    turned = w if plain else w.transpose(3, 1, 2, 0)
    for image, got in zip(x, one.run()[0]):
        image, scale = quantized(image)
        wanted = convolved(image, turned.astype(float), 1 if plain else 4) * scales * scale + bias
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def lstm_file(steps, time_major, is_open=False, **changes):
    """(file, weights by name) of an int8 LSTM of 6 inputs and 5 units, two rows, which the file may leave open."""
    of, tensors = {}, []
    for source, size in (("i", 6), ("r", 5)):
        for gate in "ifco":
            of[source + gate] = np.clip(codes("int8", 5, size), -127, 127)
            tensors.append(Tensor.of(source + gate, of[source + gate], scale=0.008))
    for gate in "ifco":
        of["b" + gate] = RANDOM.integers(-9000, 9000, 5).astype(np.int32)
        tensors.append(Tensor.of("b" + gate, of["b" + gate]))
    shape = (steps, 2) if time_major else (2, steps)
    tensors += [Tensor("x", (*shape, 6), "int8", scale=0.02, zero_point=4),
                Tensor("h", (2, 5), "int8", scale=1 / 128, zero_point=-3, variable=True),
                Tensor("c", (2, 5), "int16", scale=2.0**-11, variable=True),
                Tensor("y", (*shape, 5), "int8", scale=1 / 128, zero_point=-3)]
    if is_open:
        for t in (tensors[-4], tensors[-1]):
            t.signature = (steps, -1, t.shape[2]) if time_major else (-1, steps, t.shape[2])
    tensors += [Tensor(f"t{k}", (), "int8", scale=1 / 128, zero_point=-3) for k in range(5)]
    names = ["x", *("i" + gate for gate in "ifco"), *("r" + gate for gate in "ifco"), *[None] * 3,
             *("b" + gate for gate in "ifco"), None, None, "h", "c", *[None] * 4]
    op = Op("UNIDIRECTIONAL_SEQUENCE_LSTM", names, ["y"], "UnidirectionalSequenceLSTMOptions",
            {"FusedActivationFunction": 4, "TimeMajor": time_major, **changes},
            intermediates=[f"t{k}" for k in range(5)])
    return build(tensors, [op], ["x"], ["y"]), of


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(("steps", "time_major"), [(1, False), (4, False), (3, True)])
def test_int8_lstm(steps, time_major, is_open):
    file, of = lstm_file(steps, time_major, is_open)
    stream = nnfast.Device().prepare(nnfast.load(file)).stream()
    h, c = np.zeros((2, 5)), np.zeros((2, 5))
    for _ in range(2):  # the state goes on
        x = codes("int8", *((steps, 2) if time_major else (2, steps)), 6)
        (got,) = stream.run([x])
        for step in range(steps):
            row = ((x[step] if time_major else x[:, step]).astype(int) - 4) * 0.02
            gates = {gate: row @ (of["i" + gate].T * 0.008) + h @ (of["r" + gate].T * 0.008)
                     + of["b" + gate] * 0.02 * 0.008 for gate in "ifco"}
            gates = {gate: np.clip(value, -8, 8) for gate, value in gates.items()}
            i, f, o = (1 / (1 + np.exp(-gates[gate])) for gate in "ifo")
            c = f * c + i * np.tanh(gates["c"])
            h = o * np.tanh(c)
            codes_of = got[step] if time_major else got[:, step]
            assert np.abs(codes_of - np.clip(h * 128 - 3, -128, 127)).max() < 2.5


def test_int8_lstm_refusals():
    for changes, reason in (({"FusedActivationFunction": 1}, "the activation TANH"),
                            ({"DiagonalRecurrentTensors": True}, "full recurrent weights")):
        with pytest.raises(nnfast.UnsupportedOperator, match=reason):
            nnfast.load(lstm_file(1, False, **changes)[0])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("signature", [None, (-1, 4, 4, 2), (1, -1, -1, 2), (-1, -1, -1, 2)])
@pytest.mark.parametrize("is_known", [True, False])
def test_transposed_convolution_fills_the_shape_that_is_asked_for(dtype, signature, is_known):
    """Also where the file leaves sizes of the image open, or the shape is computed."""
    results = []
    x, w = np.zeros((1, 4, 4, 2), dtype), codes("int8", 3, 3, 3, 2).astype(dtype)
    x[:] = RANDOM.integers(-50, 50, x.shape)
    for size in (8, 9, 12):
        shape = np.int32([1, size, size, 3])
        one = One("TRANSPOSE_CONV", [Const(shape) if is_known else shape, Const(w), x], [(tuple(shape), dtype)],
                  "TransposeConvOptions", {"Padding": 1, "StrideW": 2, "StrideH": 2}, {"*": (0.5, 0), "o0": (40.0, 0)})
        tensors, *rest = one.parts()
        if signature:
            tensors[2].signature, tensors[3].signature = signature, (-1, -1, -1, 3)
        arrays = [value for value in one.inputs if isinstance(value, np.ndarray)]
        results += nnfast.Device().prepare(nnfast.load(build(tensors, *rest))).run(arrays)
    np.testing.assert_array_equal(results[1][:, :8, :8], results[0])
    np.testing.assert_array_equal(results[2][:, :9, :9], results[1])
    assert results[1].any() and not results[2][:, 9:].any() and not results[2][:, :, 9:].any()


@pytest.fixture
def own_level():
    yield
    kernels.set_level(None)


@pytest.mark.parametrize("scales", [0.01, [0.01, 0.02, 0.005, 0.03, 0.01, 0.04]])
@pytest.mark.parametrize("name", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_hybrid_is_the_same_at_every_level_and_from_the_cache(name, scales, own_level, tmp_path):
    """As the numpy definition, to the bit."""
    x = RANDOM.normal(0, 2, (3, 7, 8, 6)).astype(np.float32)
    w = codes("int8", *{"CONV_2D": (6, 3, 3, 3), "DEPTHWISE_CONV_2D": (1, 3, 3, 6), "FULLY_CONNECTED": (6, 48)}[name])
    dense = name == "FULLY_CONNECTED"
    one = One(name, [x, Const(w), Const(RANDOM.normal(0, 1, 6).astype(np.float32))],
              [((21, 6) if dense else (3, 4, 4, 6), "float32")],
              f"{'Depthwise' * (name[0] == 'D')}Conv2DOptions" if not dense else "FullyConnectedOptions",
              {"AsymmetricQuantizeInputs": True} if dense else {"StrideW": 2, "StrideH": 2})
    tensors, *rest = one.parts()
    tensors[1].scale, tensors[1].dim = scales, 3 if name[0] == "D" else 0
    model = nnfast.load(build(tensors, *rest))
    (node,) = [Facts(resolve(model, {}), resolve(model, {}).main).node(0)]
    node.outputs[0].shape = tuple(node.op.infer(node)[0])
    (wanted,) = node.op.compute(node, [x, w, one.inputs[2].array])
    for level in kernels.levels():
        kernels.set_level(level)
        for threads in (1, 2):
            prepared = nnfast.Device(num_threads=threads).prepare(model)
            assert prepared.explain().native
            np.testing.assert_array_equal(prepared.run([x])[0], wanted, err_msg=level)
    for _ in range(2):
        prepared = nnfast.Device().prepare(model, cache_dir=str(tmp_path))
        np.testing.assert_array_equal(prepared.run([x])[0], wanted)


@pytest.mark.parametrize(("name", "low", "high"), [("RELU", 0, np.inf), ("RELU_N1_TO_1", -1, 1), ("RELU6", 0, 6),
                                                   ("RELU_0_TO_1", 0, 1)])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_relu_into_another_quantization(kind, name, low, high):
    x = codes(kind, 300)
    (got,) = One(name, [x], [(x.shape, kind)], quants={"i0": (0.07, 7), "o0": (0.05, 9)}).run()
    real = np.clip((x.astype(int) - 7) * 0.07, low, high) / 0.05 + 9
    assert np.abs(got - np.clip(real, np.iinfo(kind).min, np.iinfo(kind).max)).max() <= 1


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_relu_0_to_1_in_one_quantization(kind):
    x = codes(kind, 300)
    (got,) = One("RELU_0_TO_1", [x], [(x.shape, kind)], quants={"*": (0.05, 9)}).run()
    np.testing.assert_array_equal(got, np.clip(x, 9, 29))


@pytest.mark.parametrize(("scale", "zero"), [(1 / 128, 4), (0.02, 0), (1 / 256, 100)])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("name", "curve"), [("LOGISTIC", expit), ("TANH", np.tanh)])
def test_sigmoids_into_any_quantization(name, curve, kind, scale, zero):
    low, high = RANGES[kind]
    x = np.arange(low, high + 1).astype(kind)
    one = One(name, [x], [(x.shape, kind)], quants={"i0": (0.03, 7), "o0": (scale, zero)})
    assert one.codes() == [f"TFL_QUANTIZED_{name}"]
    real = curve((x.astype(int) - 7) * 0.03) / scale + zero
    assert np.abs(one.run()[0] - np.clip(real, low, high)).max() <= 0.5001


def test_mul_into_a_finer_scale():
    x, y = codes("int8", 4, 50) // 8, codes("int8", 50) // 8
    quants = {"i0": (0.5, 1), "i1": (0.25, -2), "o0": (0.1, 4)}
    one = One("MUL", [x, y], [(x.shape, "int8")], "MulOptions", quants=quants)
    real = (x.astype(int) - 1) * (y.astype(int) + 2) * 1.25 + 4
    assert np.abs(one.run()[0] - np.clip(real, -128, 127)).max() <= 1


def test_int16_and_floats():
    x = np.float32([0.5, -0.5, 1.49, 4e4, -4e4, np.inf, 0])
    one = One("QUANTIZE", [x], [(x.shape, "int16")], quants={"o0": (1.0, 0)})
    assert one.run()[0].tolist() == [1, -1, 1, 32767, -32768, 32767, 0]
    one = One("DEQUANTIZE", [np.int16([-32768, 3])], [((2,), "float32")], quants={"i0": (0.1, 0)})
    np.testing.assert_array_equal(one.run()[0], np.float32([-32768, 3]) * np.float32(0.1))
