"""ROI_ALIGN and ROI_POOLING: regions of a feature map resampled to one size [NN 15.81, 15.82]."""

import numpy as np

from .._native.spatial import LONGEST_RATIO, RoiAlign, RoiPooling
from ..model.quant import mbqm, quantize_multiplier, round_half_away
from ..model.types import QUANT_RANGE, OperandType, OperationType, type_name
from . import boxes, window
from .base import OpDef, Signature, is_quant8

MOST_SAMPLES = 1 << 20
"""Most samples per bin of ROI_ALIGN: those of a 1024 x 1024 map in one adaptive bin; larger ratios make no sense."""

_WEIGHT_STEP = np.float32(1 / 255)
_BLOCK = 1 << 20
_NCHW = "no native kernel for NCHW"
_TYPES = {
    OperandType.TENSOR_FLOAT32: "f32", OperandType.TENSOR_QUANT8_ASYMM: "qu8",
    OperandType.TENSOR_QUANT8_ASYMM_SIGNED: "qs8",
}
_INPUTS = "input:T roi:R batch_index:I32 out_height:i32 out_width:i32 height_stride:fT width_stride:fT"
_SETS = ("1.2: F16 F16", "1.2: F32 F32", "1.2: Q8 Q16A", "1.3: Q8S Q16A")


def infer(node):
    """[num_rois, out_height, out_width, depth] in the layout of the input."""
    image = window.image_shape(node)
    if 0 in image:
        node.fail("input", f"shape {list(node['input'].shape)} has a zero dimension, only num_rois may be 0")
    rois = boxes.match_dims(node, roi="rois 4", batch_index="rois")["rois"]
    boxes.check_box_quantization(node, "roi")
    boxes.check_above_zero(node, "out_height", "out_width", "height_stride", "width_stride")
    return [window.output_shape(node, rois, (node.scalar("out_height"), node.scalar("out_width")), image[3])]


def _infer_align(node):
    shapes = infer(node)
    boxes.check_not_negative(node, "height_sampling_ratio", "width_sampling_ratio")
    return shapes


def _as_is(values):
    return values


def _through_half(values):
    """float32 values rounded to float16."""
    return values.astype(np.float16).astype(np.float32)


@np.errstate(over="ignore", invalid="ignore")
def _regions(node, inputs, size, kept=_as_is):
    """float32 corners [num_rois, 4] in units of the feature map, whose (height, width) is `size`.

    kept: what a variable of the reference implementation keeps of a value.
    """
    boxes.check_indices(node, "batch_index", inputs[2], window.image_shape(node)[0])
    scale = np.float32(1) / np.array([node.scalar("width_stride"), node.scalar("height_stride")], np.float32)
    given = boxes.reals(node["roi"], inputs[1])
    regions = kept(given * np.tile(kept(scale), 2))
    low, high = regions[:, :2], regions[:, 2:]
    good = np.all((low >= 0) & (low <= high) & (high <= size[::-1]), axis=1)
    if not good.all():
        first = np.flatnonzero(~good)[0]
        node.fail_run("roi", f"box [{first}] is {boxes.listed(given[first])}, which is {boxes.listed(regions[first])} "
                             f"over the strides; corners must be in order and inside {size[1]} x {size[0]}")
    return regions


# -- ROI_ALIGN ---------------------------------------------------------------------------------------------------------
def _neighbours(start, step, bins, samples, numbers, size, kept=_as_is):
    """Samples `numbers` of every bin along one axis: (lower index, upper index, float32 weight of the upper).

    start, step: float32 [n], first coordinate and bin size of each region; results are [n, bins, len(numbers)].
    """
    step, part = step[:, None, None], kept(step / kept(np.float32(samples)))[:, None, None]
    begin = kept(step * np.arange(bins, dtype=np.float32)[:, None] + start[:, None, None])
    at = kept(begin + part / 2 + part * numbers.astype(np.float32))
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    weight = np.where(low >= size - 1, np.float32(0), kept(at - kept(low.astype(np.float32))))
    return low, np.minimum(low + 1, size - 1), weight


def _half_means(node, image, batch, rows, columns):
    """float32 [n, out_height, out_width, depth]: means of bilinear samples as float16 variables hold them.

    The reference implementation keeps every value that it names, sums and weights among them, in float16 and computes
    each expression in float32. Arguments as those of _sample_sums; samples are taken one after the other.
    """
    total, batch = np.float32(0), batch[:, None, None]
    for number in range(rows[3] * columns[3]):
        node.go_on()
        y, x = np.divmod(np.array([number]), columns[3])
        (top, bottom, down), (left, right, across) = (
            [part[..., 0] for part in _neighbours(*axis[:4], at, axis[4], _through_half)]
            for axis, at in ((rows, y), (columns, x)))
        up, back = _through_half(1 - down), _through_half(1 - across)
        value = np.float32(0)
        for row, column, vertical, horizontal in ((top, left, up, back), (top, right, up, across),
                                                  (bottom, left, down, back), (bottom, right, down, across)):
            weight = _through_half(vertical[:, :, None] * horizontal[:, None, :])
            value = _through_half(value + weight[..., None] * image[batch, row[:, :, None], column[:, None, :]])
        total = _through_half(total + value)
    return total / _through_half(np.float32(rows[3] * columns[3]))


def _sample_sums(node, image, batch, rows, columns, quantized):
    """float64 [n, out_height, out_width, depth]: sums of the bilinear samples of regions that take as many of them.

    rows, columns: arguments of _neighbours but for `numbers`; quantized weights are whole 255ths. Samples are taken
    together as far as memory stays within _BLOCK elements.
    """
    one = np.float32(1)
    total = np.zeros((len(batch), rows[2], columns[2], image.shape[3]))
    together, batch = max(1, _BLOCK // max(total.size, 1)), batch[:, None, None, None]
    for first in range(0, rows[3] * columns[3], together):
        node.go_on()
        y, x = np.divmod(np.arange(first, min(first + together, rows[3] * columns[3])), columns[3])
        (top, bottom, down), (left, right, across) = _neighbours(*rows[:4], y, rows[4]), \
            _neighbours(*columns[:4], x, columns[4])
        for row, column, vertical, horizontal in ((top, left, one - down, one - across),
                                                  (top, right, one - down, across),
                                                  (bottom, left, down, one - across),
                                                  (bottom, right, down, across)):
            weight = vertical[:, :, None] * horizontal[:, None, :]
            if quantized:
                weight = round_half_away(weight / _WEIGHT_STEP)
            weight = weight.astype(np.float64)
            total += np.einsum("nyxk,nyxkc->nyxc", weight, image[batch, row[:, :, None], column[:, None, :]])
    return total


def _finish_quantized(node, sums, samples):
    """Codes from the integer sums of `samples` samples, whose weights are 255ths."""
    source, target = node["input"], node.outputs[0]
    real = float(np.float32(source.scale / 255 / target.scale / samples))
    if not real < 1:
        node.fail_run("input", f"scale {source.scale:g} over 255 * output scale {target.scale:g} * {samples} samples "
                               f"is {real:g}, must be less than 1")
    codes = mbqm(sums.astype(np.int64), *quantize_multiplier(real)) + target.zero_point
    return np.clip(codes, *QUANT_RANGE[target.type])


@np.errstate(over="ignore", invalid="ignore")
def _compute_align(node, inputs):
    """Mean of bilinear samples in each bin; regions that take the same number of samples go together."""
    _, height, width, depth = window.image_shape(node)
    quantized, half = is_quant8(node["input"]), node["input"].type == OperandType.TENSOR_FLOAT16
    kept = _through_half if half else _as_is
    regions = _regions(node, inputs, (height, width), kept)
    out = node.scalar("out_height"), node.scalar("out_width")
    image = window.to_nhwc(node, inputs[0]).astype(np.float32 if half else np.float64)
    image -= node["input"].zero_point
    extent = kept(np.maximum(regions[:, 2:] - regions[:, :2], np.float32(1)))
    step = kept(extent / kept(np.array(out[::-1], np.float32)))
    ratio = np.array([node.scalar("width_sampling_ratio"), node.scalar("height_sampling_ratio")])
    samples = np.where(ratio > 0, ratio, np.ceil(step).astype(np.int64))
    result = np.empty((len(regions), *out, depth), node.outputs[0].dtype)
    for across, down in np.unique(samples, axis=0):
        count = int(across) * int(down)
        if count > MOST_SAMPLES:
            node.fail_run("height_sampling_ratio", f"makes {count} samples in each bin, must be at most {MOST_SAMPLES}")
        chosen = np.flatnonzero((samples == (across, down)).all(axis=1))
        rows = regions[chosen, 1], step[chosen, 1], out[0], int(down), height
        columns = regions[chosen, 0], step[chosen, 0], out[1], int(across), width
        if half:
            result[chosen] = _half_means(node, image, inputs[2][chosen], rows, columns)
            continue
        sums = _sample_sums(node, image, inputs[2][chosen], rows, columns, quantized)
        result[chosen] = _finish_quantized(node, sums, count) if quantized else sums / count
    return [window.from_nhwc(node, result)]


def _lower_arguments(node, b):
    """First arguments of both native steps: slots, types, shape of the image, regions, sizes and strides."""
    tensors = node["input"], node["roi"], node["batch_index"], node.outputs[0]
    return ([b.slot(t) for t in tensors], _TYPES[node["input"].type], node["input"].shape, node["roi"].shape[0],
            _both(node, "out_{}"), _both(node, "{}_stride"))


def _both(node, name):
    return node.scalar(name.format("height")), node.scalar(name.format("width"))


def lower_align(node, b):
    """One step; it declines invalid regions and images at run time."""
    source, target = node["input"], node.outputs[0]
    if source.type not in _TYPES or node.layout_nchw:
        return _NCHW if source.type in _TYPES else f"no native kernel for {type_name(source.type)}"
    ratios = _both(node, "{}_sampling_ratio")
    if max(ratios) > LONGEST_RATIO:
        return f"sampling ratio is {max(ratios)}, native up to {LONGEST_RATIO}"
    quantization = ((source.scale, source.zero_point), (target.scale, target.zero_point))
    b.emit(RoiAlign(*_lower_arguments(node, b), ratios, MOST_SAMPLES, node["roi"].scale, quantization), declines=True)
    return None


# -- ROI_POOLING -------------------------------------------------------------------------------------------------------
def _bins(first, last, count, size):
    """[(start, stop)] of `count` bins over first..last (inclusive), inside an axis of `size` positions."""
    length, number = max(last - first + 1, 1), np.arange(count)
    start, stop = first + number * length // count, first - (-(number + 1) * length // count)
    return list(zip(np.minimum(start, size).tolist(), np.minimum(stop, size).tolist()))


def _largest(image, bins, empty):
    """[len(bins), ...]: maxima of [positions, ...] over each bin, `empty` for one without a position."""
    nothing = np.full(image.shape[1:], empty, image.dtype)
    return np.stack([image[start:stop].max(axis=0) if start < stop else nothing for start, stop in bins])


def _compute_pooling(node, inputs):
    """Maximum of each bin; a bin without a position gives zero."""
    _, height, width, depth = window.image_shape(node)
    corners = round_half_away(_regions(node, inputs, (height, width))).astype(np.int64).tolist()
    out = node.scalar("out_height"), node.scalar("out_width")
    image = window.to_nhwc(node, inputs[0])
    zero = node["input"].zero_point if is_quant8(node["input"]) else 0
    result = np.empty((len(corners), *out, depth), image.dtype)
    for place, (batch, (x1, y1, x2, y2)) in enumerate(zip(inputs[2], corners)):
        node.go_on()
        lines = _largest(image[batch, :, x1:x2 + 2], _bins(y1, y2, out[0], height), zero)
        columns = _bins(0, x2 - x1, out[1], width - x1)
        result[place] = _largest(lines.swapaxes(0, 1), columns, zero).swapaxes(0, 1)
    return [window.from_nhwc(node, result)]


def lower_pooling(node, b):
    """One max-pooling step; it declines invalid regions and images at run time."""
    source = node["input"]
    if source.type not in _TYPES or node.layout_nchw:
        return _NCHW if source.type in _TYPES else f"no native kernel for {type_name(source.type)}"
    b.emit(RoiPooling(*_lower_arguments(node, b), node["roi"].scale, source.zero_point), declines=True)
    return None


ROI_ALIGN = OpDef(
    OperationType.ROI_ALIGN,
    (Signature(f"{_INPUTS} height_sampling_ratio:i32 width_sampling_ratio:i32 layout:bool -> output:T", _SETS),),
    infer=_infer_align, compute=_compute_align, lower=lower_align, zero_sized="any", half_inside=True,
)

ROI_POOLING = OpDef(
    OperationType.ROI_POOLING, (Signature(f"{_INPUTS} layout:bool -> output:T", _SETS),),
    infer=infer, compute=_compute_pooling, lower=lower_pooling, quant="same",
)
