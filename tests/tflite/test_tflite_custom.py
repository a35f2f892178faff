"""Custom operators: sound of TFLite's own, pictures of MediaPipe's."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.cases_layers import OPTIONS, detection
from helpers.tflite.file_builder import build
from helpers.tflite.flexmap import flexmap
from helpers.tflite.running import Const, One
from nnfast.errors import InvalidArgument, UnsupportedOperator
from nnfast.extensions import Extension, Operation

RNG = np.random.default_rng(11)


def struct(*values):
    """Bytes of int32 fields."""
    return np.array(values, np.int32).tobytes()


def test_spectrogram_of_a_tone_peaks_at_its_frequency():
    tone = np.sin(2 * np.pi * np.arange(256) * 8 / 64).astype(np.float32).reshape(-1, 1)
    options = flexmap({"window_size": 64, "stride": 32, "magnitude_squared": False})
    (result,) = One("AudioSpectrogram", [tone], [((1, 7, 33), "float32")], custom=options).run()
    assert result.shape == (1, 7, 33) and (result[0].argmax(1) == 8).all()
    np.testing.assert_allclose(result[0, :, 8], 16, 1e-5)


def test_mfcc_of_equal_energies():
    options = flexmap({"upper_frequency_limit": 4000.0, "lower_frequency_limit": 20.0, "filterbank_channel_count": 20,
                    "dct_coefficient_count": 5})
    spectrogram = np.ones((1, 3, 129), np.float32)
    (result,) = One("Mfcc", [spectrogram, Const(np.array([8000], np.int32))], [((1, 3, 5), "float32")],
                    custom=options).run()
    assert result.shape == (1, 3, 5) and (result[0, 0] == result[0, 2]).all() and result[0, 0, 0] > 0


@pytest.mark.parametrize("kind, options, reason", [
    ("AudioSpectrogram", flexmap({"stride": 32}), "window_size is None"),
    ("AudioSpectrogram", b"\1\2", "custom_options"),
    ("AudioSpectrogram", flexmap({"stride": 0, "window_size": 1}), "must be at least 2 and 1"),
    ("MaxUnpooling2D", struct(1, 2), "has 1 input"),
])
def test_damaged_options(kind, options, reason):
    with pytest.raises(UnsupportedOperator, match=reason):
        One(kind, [np.ones((64, 1), np.float32)], [((1, 1, 1), "float32")], custom=options).model()


def test_pooling_with_places_and_back():
    x = RNG.permutation(32).astype(np.float32).reshape(1, 4, 4, 2)
    best, places = One("MaxPoolingWithArgmax2D", [x], [((1, 2, 2, 2), "float32")] * 2,
                       custom=struct(1, 2, 2, 2, 2, 0)).run()
    blocks = x.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 2, 2, 2, 4)
    assert (best == blocks.max(-1)).all()
    (back,) = One("MaxUnpooling2D", [best, places], [((1, 4, 4, 2), "float32")],
                  custom=struct(1, 2, 2, 2, 2, 0)).run()
    assert (back == np.where(np.isin(x, best), x, 0)).all()


def test_transposed_convolution_with_a_bias():
    x, w = RNG.normal(size=(1, 2, 2, 3)).astype(np.float32), RNG.normal(size=(4, 2, 2, 3)).astype(np.float32)
    bias = np.arange(4, dtype=np.float32)
    (result,) = One("Convolution2DTransposeBias", [x, Const(w), Const(bias)], [((1, 4, 4, 4), "float32")],
                    custom=struct(1, 2, 2)).run()
    expected = np.einsum("byxi,ouvi->byuxvo", x, w).reshape(1, 4, 4, 4) + bias
    np.testing.assert_allclose(result, expected, 1e-5, 1e-5)


def test_space_to_batch_of_three_dimensions_and_back():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    block, edges = Const(np.array([2], np.int32)), Const(np.array([[1, 0]], np.int32))
    (y,) = One("SPACE_TO_BATCH_ND", [x, block, edges], [((4, 2, 4), "float32")]).run()
    assert (y[:2, 0] == 0).all() and (y[2:, 0] == x[:, 0]).all() and (y[:2, 1] == x[:, 1]).all()
    (back,) = One("BATCH_TO_SPACE_ND", [y, block, edges], [((2, 3, 4), "float32")]).run()
    assert (back == x).all()


def test_constants_with_zero_points_for_each_channel_are_widened():
    codes = Const(np.array([[1, 2], [3, 4]], np.int8))
    one = One("DEQUANTIZE", [codes], [((2, 2), "float32")], quants={"i0": ([0.5, 2.0], [1, 2])})
    assert one.run()[0].tolist() == [[0, 0.5], [2, 4]]


def test_detection_with_any_threshold():
    plain, low = detection(OPTIONS), detection(OPTIONS | {"nms_score_threshold": -1.0})
    assert low.codes()[0] == "TFL_DETECTION_POSTPROCESS" and low.run()[3][0] >= plain.run()[3][0]


def test_detection_of_an_open_batch():
    one = detection(OPTIONS)
    tensors, *rest = one.parts()
    for t in tensors[:2]:
        t.signature = (-1, *t.shape[1:])
    given = [value for value in one.inputs if isinstance(value, np.ndarray)]
    found = nnfast.Device().prepare(nnfast.load(build(tensors, *rest))).run(given)
    for a, b in zip(found, one.run(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("more", [{}, {"use_regular_nms": True, "detections_per_class": 3}])
def test_detection_takes_equal_scores_in_the_order_of_boxes_as_litert_does(more):
    anchors = np.array([[0.5, 10 * k + 0.5, 1, 1] for k in range(5)], np.float32)
    scores = np.zeros((1, 5, 3), np.float32)
    scores[0, :, 1] = 0.5, 0.9, 0.5, 0.9, 0.5
    one = detection(OPTIONS | more, np.zeros((1, 5, 4), np.float32), scores, anchors)
    starts = {}
    for arithmetic in ("litert", "nnapi"):
        model = nnfast.load(one.file(), arithmetic=arithmetic)
        boxes = nnfast.Device().prepare(model).run([one.inputs[0], scores])[0]
        starts[arithmetic] = boxes[0, :, 1].tolist()
    assert starts == {"litert": [10, 30, 0], "nnapi": [10, 30, 20]}


def test_detection_decodes_in_double_as_litert_does():
    rng = np.random.default_rng(2)
    deltas, anchors = rng.standard_normal((1, 1, 4)).astype(np.float32), rng.random((1, 4)).astype(np.float32)
    one = detection(OPTIONS, deltas, np.array([[[0, 0.9, 0.1]]], np.float32), anchors)
    box = one.run()[0][0, 0]
    (y, x, h, w), (dy, dx, dh, dw) = anchors[0].tolist(), deltas[0, 0].tolist()
    centre = np.array([dy / 10 * h + y, dx / 10 * w + x]).astype(np.float32)
    half = np.array([0.5 * np.exp(dh / 5) * h, 0.5 * np.exp(dw / 5) * w]).astype(np.float32)
    assert box.tolist() == [*(centre - half), *(centre + half)]


@pytest.fixture
def scale():
    """A custom operator Scale of somebody else: its input times the first byte of its options."""
    operation = Operation("SCALE", 0, "x:T by:N -> y:T", {"T": ["TENSOR_FLOAT32"], "N": ["INT32"]},
                          infer=lambda node: [node["x"].shape],
                          run=lambda node, inputs: [inputs[0] * np.float32(inputs[1])])
    nnfast.extensions.register(Extension("com.example.scale", operations=[operation]))
    nnfast.tflite.register("Scale", operation, parameters=lambda options: [options[0]])
    yield operation
    nnfast.tflite.unregister("Scale")
    nnfast.extensions.unregister("com.example.scale")


def test_a_custom_operator_of_somebody_else(scale):
    one = One("Scale", [np.ones(3, np.float32)], [((3,), "float32")], custom=b"\7")
    model = nnfast.load(build(*one.parts()))
    assert model.extensions == (("com.example.scale", 1),)
    assert model.origin is None  # the file does not tell what Scale does
    assert nnfast.Device().prepare(model).run([np.ones(3, np.float32)])[0].tolist() == [7, 7, 7]
    for name in ("Scale", "Mfcc", "TFLite_Detection_PostProcess"):
        with pytest.raises(InvalidArgument, match="is known already"):
            nnfast.tflite.register(name, scale)
    with pytest.raises(InvalidArgument, match="must be an extensions.Operation"):
        nnfast.tflite.register("Other", max)


def test_options_that_its_parameters_do_not_take(scale):
    def refuse(options):
        raise ValueError("has a wrong start")

    nnfast.tflite.register("Other", scale, parameters=refuse)
    with pytest.raises(UnsupportedOperator, match="custom_options: has a wrong start"):
        nnfast.load(build(*One("Other", [np.ones(3, np.float32)], [((3,), "float32")], custom=b"\7").parts()))
    nnfast.tflite.unregister("Other")
