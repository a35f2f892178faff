"""Custom operators: TFLite's own for audio, and MediaPipe's for images."""

import struct

from ..model.types import OperandType, OperationType
from . import own
from .flexmap import decode
from .own import extends

T = OperandType


# -- sound -----------------------------------------------------------------------------------------------------------
def _options(b, op, **kinds):
    """Values of options by {name: (type, default)}; default None: required."""
    try:
        found = decode(op.options)
    except ValueError as error:
        b.refuse(op, f"custom_options {error}")
    values = []
    for name, (kind, default) in kinds.items():
        value = found.get(name, default)
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or isinstance(value, bool) != (kind is bool) or not abs(value) < 1 << 31:
            b.refuse(op, f"{name} is {value}, must be of type {kind.__name__}")
        values.append(kind(value))
    return values


@extends("AudioSpectrogram")
def audio_spectrogram(b, op):
    """(samples, channels) to (channels, windows, frequencies)."""
    b.check_counts(op, 1)
    window, stride, squared = _options(b, op, window_size=(int, None), stride=(int, None),
                                       magnitude_squared=(bool, False))
    own.translate(b, op, "TFL_AUDIO_SPECTROGRAM", (b.i32(window), b.i32(stride), b.bool(squared)))


@extends("Mfcc")
def mfcc(b, op):
    """A spectrogram and a rate to cepstral coefficients."""
    b.check_counts(op, 2)
    high, low, channels, coefficients = _options(
        b, op, upper_frequency_limit=(float, 4000.0), lower_frequency_limit=(float, 20.0),
        filterbank_channel_count=(int, 40), dct_coefficient_count=(int, 13))
    own.translate(b, op, "TFL_MFCC", (b.real(None, high), b.real(None, low), b.i32(channels), b.i32(coefficients)))


# -- pictures --------------------------------------------------------------------------------------------------------
SCHEMES = (1, 2)
"""Paddings of MediaPipe's structs: SAME and VALID, with NNAPI's numbers."""


def _numbers(b, op, count):
    """The first int32 values of an operator's struct: a padding scheme and sizes."""
    if len(op.options) < 4 * count:
        b.refuse(op, f"custom_options have {len(op.options)} bytes, must have {4 * count} or more")
    scheme, *sizes = struct.unpack_from(f"<{count}i", op.options)
    if scheme not in SCHEMES or min(sizes) < 1:
        b.refuse(op, f"custom_options are {[scheme, *sizes]}, must be a padding of 1 or 2 and sizes of at least 1")
    return [b.i32(value) for value in (scheme, *sizes)]


@extends("MaxPoolingWithArgmax2D")
def max_pooling_with_argmax(b, op):
    """Maxima and their positions."""
    b.check_counts(op, 1, outputs=2)
    own.translate(b, op, "TFL_MAX_POOL_ARGMAX", _numbers(b, op, 5))


@extends("MaxUnpooling2D")
def max_unpooling(b, op):
    """Scatter values back to their positions."""
    b.check_counts(op, 2)
    own.translate(b, op, "TFL_MAX_UNPOOL", _numbers(b, op, 5))


@extends("Convolution2DTransposeBias")
def convolution_transpose_bias(b, op):
    """TRANSPOSE_CONV_2D with a bias; the output has the input's size times the stride, or what the filter needs."""
    b.check_counts(op, 3)
    x, w, bias = (b.tensor(op, place) for place in range(3))
    b.check_types(op, (T.TENSOR_FLOAT32,), x, w, bias, b.result(op))
    scheme, stride_w, stride_h = _numbers(b, op, 3)
    dims, filter_dims = b.dims(op, x), b.dims(op, w)
    if len(dims) != 4 or len(filter_dims) != 4 or 0 in (*dims[1:3], *filter_dims):
        b.refuse(op, f"input {list(dims)} and filter {list(filter_dims)} must have known dimensions of rank 4")
    scheme_code, *strides = (b.operands[k].data.item() for k in (scheme, stride_h, stride_w))
    size = [d * s if scheme_code == 1 else d * s + max(f - s, 0)
            for d, f, s in zip(dims[1:3], filter_dims[1:3], strides)]
    shape = (dims[0] or 1, *size, filter_dims[0])
    inputs = (b.operand(op, x), b.operand(op, w), b.operand(op, bias), b.ints(shape), scheme, stride_w, stride_h,
              b.i32(0), b.bool(False))
    b.emit(OperationType.TRANSPOSE_CONV_2D, inputs, (b.output(op, shape),))


@extends("Landmarks2TransformMatrix")
def landmarks_to_matrix(b, op):
    """Landmarks to the transformation matrix of a crop around some of them."""
    b.check_counts(op, 1)
    numbers = _options(b, op, left_rotation_idx=(int, None), right_rotation_idx=(int, None),
                       target_rotation_radians=(float, None), output_height=(int, None), output_width=(int, None),
                       scale_x=(float, None), scale_y=(float, None))
    subset = decode(op.options).get("subset_idxs")
    if not isinstance(subset, list) or not subset or any(not 0 <= k < 1 << 31 for k in subset):
        b.refuse(op, f"subset_idxs is {subset}, must be numbers of landmarks")
    own.translate(b, op, "TFL_LANDMARKS_TO_MATRIX", (b.ints(subset), *(own.scalar(b, op, n) for n in numbers)))


@extends("TransformLandmarks")
def transform_landmarks(b, op):
    """Transform landmarks by a matrix."""
    b.check_counts(op, 2)
    own.translate(b, op, "TFL_TRANSFORM_LANDMARKS")


@extends("TransformTensorBilinear")
def transform_tensor(b, op):
    """Transform an image by a matrix."""
    b.check_counts(op, 2)
    own.translate(b, op, "TFL_TRANSFORM_TENSOR",
                  [b.i32(n) for n in _options(b, op, output_height=(int, None), output_width=(int, None))])
