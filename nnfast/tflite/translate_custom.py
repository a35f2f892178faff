"""Custom operators: TFLite's own for audio, and MediaPipe's for images."""

import struct
from math import prod

import numpy as np

from ..checks import shown
from ..model.types import OperandType, OperationType
from . import own
from .flexmap import decode
from .graph import frozen
from .own import extends

T = OperandType


def _map(b, op):
    """All options by name."""
    try:
        return decode(op.options)
    except ValueError as error:
        b.refuse(op, f"custom_options {error}")


# -- sound -----------------------------------------------------------------------------------------------------------
def _options(b, op, **kinds):
    """Values of options by {name: (type, default)}; default None: required."""
    found, values = _map(b, op), []
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


def _list(b, op, name, count=None):
    """An option that is a list of numbers, of `count` if that is given."""
    values = _map(b, op).get(name)
    if not isinstance(values, list) or not values or any(not 0 <= k < 1 << 31 for k in values) or \
            count not in (None, len(values)):
        b.refuse(op, f"{name} is {values}, must be {'' if count is None else f'{count} '}numbers")
    return values


@extends("Landmarks2TransformMatrix")
def landmarks_to_matrix(b, op):
    """Landmarks to the transformation matrix of a crop around some of them; versions 1 and 2 have other options."""
    b.check_counts(op, 1)
    if "input_hw" in _map(b, op):
        _matrix_v1(b, op)
        return
    numbers = _options(b, op, left_rotation_idx=(int, None), right_rotation_idx=(int, None),
                       target_rotation_radians=(float, None), output_height=(int, None), output_width=(int, None),
                       scale_x=(float, None), scale_y=(float, None))
    subset = _list(b, op, "subset_idxs")
    own.translate(b, op, "TFL_LANDMARKS_TO_MATRIX", (b.ints(subset), *(own.scalar(b, op, n) for n in numbers)))


def _matrix_v1(b, op):
    left, right, size, most, multiplier = _options(
        b, op, left_rotation_idx=(int, None), right_rotation_idx=(int, None), dimensions=(int, None),
        landmarks_range=(int, None), bbox_size_multiplier=(float, None))
    if size != 3:
        b.refuse(op, f"dimensions is {size}, must be 3")
    sizes = *_list(b, op, "input_hw", 2), *_list(b, op, "output_hw", 2)
    numbers = left, right, most, multiplier, *sizes
    own.translate(b, op, "TFL_LANDMARKS_TO_MATRIX_V1",
                  (b.ints(_list(b, op, "subset")), *(own.scalar(b, op, n) for n in numbers)))


@extends("TransformLandmarks")
def transform_landmarks(b, op):
    """Transform landmarks by a matrix; those of version 1 lie in the last of four dimensions."""
    b.check_counts(op, 2)
    x, matrix = b.tensor(op, 0), b.tensor(op, 1)
    if len(x.shape) != 4:
        own.translate(b, op, "TFL_TRANSFORM_LANDMARKS")
        return
    b.check_types(op, (T.TENSOR_FLOAT32,), x, matrix, b.result(op))
    size, scale = _options(b, op, dimensions=(int, 3), scale=(float, 1.0))
    dims = b.dims(op, x)
    if size not in (2, 3) or not scale or 0 in dims or dims[0] != 1 or dims[3] % size:
        b.refuse(op, f"has landmarks {list(dims)} of {size} dimensions with scale {scale:g}, must have known dimensions"
                     " [1, .., .., a multiple of 2 or 3] and a scale other than 0")
    source, target = b.operand(op, matrix), b.temporary(T.TENSOR_FLOAT32, (1, 4, 4))
    shifts = b.constant(frozen(np.float32([1, 1, 1, scale])), T.TENSOR_FLOAT32)
    b.emit(OperationType.MUL, (source, shifts, b.i32(0)), (target,))
    points = b.reshape(op, b.operand(op, x), T.TENSOR_FLOAT32, (1, prod(dims) // size, size))
    moved = b.like(points)
    b.emit_own("TFL_TRANSFORM_LANDMARKS", (points, target), (moved,))
    b.reshape(op, moved, T.TENSOR_FLOAT32, dims, target=b.output(op, dims))


@extends("TransformTensorBilinear", "TransformTensor")
def transform_tensor(b, op):
    """Transform an image by a matrix: of corners of pixels in version 1, of their centres in version 2."""
    b.check_counts(op, 2)
    found = _map(b, op)
    if "output_size" in found:
        if found.get("mode", "bilinear") != "bilinear":
            b.refuse(op, f"mode is {shown(found['mode'])}, must be 'bilinear'")
        size = _list(b, op, "output_size", 2)
    else:
        size = _options(b, op, output_height=(int, None), output_width=(int, None))
    own.translate(b, op, "TFL_TRANSFORM_TENSOR", [*map(b.i32, size), b.bool("output_size" not in found)])


@extends("Resampler")
def resampler(b, op):
    """A picture at other places."""
    b.check_counts(op, 2)
    own.translate(b, op, "TFL_RESAMPLER")
