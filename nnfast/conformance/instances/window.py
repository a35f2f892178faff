"""Instances of convolutions, pooling, resizing and matrix products."""

import numpy as np

from .draft import T, makes

PER_CHANNEL = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
SAME, VALID = 1, 2
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D")


class Axis:
    """One spatial axis of a window: sizes, stride, dilation and padding that leave at least one output."""

    def __init__(self, d, scheme, most=20):
        self.stride, self.dilation = d.choice(1, 1, 2, 3, 4), 1
        self.filter = d.choice(1, 2, 3, 3, 4, 5, 7)
        if d.has("dilation_width"):
            self.dilation = d.choice(1, 1, 2, 3)
        reach = (self.filter - 1) * self.dilation + 1
        self.pad = (d.int(0, self.filter - 1), d.int(0, self.filter - 1)) if scheme is None else (0, 0)
        self.least = 1 if scheme == SAME else max(1, reach - sum(self.pad))
        self.size = self.least + d.int(0, min(most, d.limit))


def window(d, names=("filter_width", "filter_height")):
    """Draw paddings, strides, dilations and (as scalars of these names, where there are such) the filter's size."""
    scheme = d.scalar("padding_scheme", d.choice(SAME, VALID)) if d.has("padding_scheme") else None
    width, height = Axis(d, scheme), Axis(d, scheme)
    for axis, name, near, far in ((width, "width", "left", "right"), (height, "height", "top", "bottom")):
        d.scalar(f"padding_{near}", axis.pad[0])
        d.scalar(f"padding_{far}", axis.pad[1])
        d.scalar(f"stride_{name}", axis.stride)
        d.scalar(f"dilation_{name}", axis.dilation)
    d.scalar(names[0], width.filter)
    d.scalar(names[1], height.filter)
    return width, height


def weights(d, name, shape, source, channel_dim, fan_in):
    """Draw filter and bias of a convolution; returns the largest real scale of the accumulator.

    Long float sums are small ones, so that the rounding of their terms stays within the absolute tolerance.
    """
    spread = min(1.0, 8.0 * fan_in ** -0.5)
    type_ = d.types[name]
    size = shape[channel_dim]
    if type_ == PER_CHANNEL:
        scales = tuple(np.float32(2.0 ** d.rng.uniform(-8, -2, size)).tolist())
        d.put(name, d.values(type_, shape, low=-127, high=127), channels=(channel_dim, scales))
        largest, bias_scale = max(scales), 0.0
    else:
        made = d.tensor(name, shape, spread=spread * fan_in ** -0.5)
        largest = made.scale
        bias_scale = np.float32(source.scale) * np.float32(largest)
    values = {"low": -5000, "high": 5000} if d.types["bias"] == T.TENSOR_INT32 else {"spread": spread}
    d.tensor("bias", (size,), (bias_scale, 0), **values)
    return source.scale * largest


def scaled_result(d, product, fan_in):
    """Output scale at which about the accumulators' range fits; now and then a multiplier of one or more."""
    d.result_at_least(product * (0.3 if d.chance(0.1) else 10.0 * fan_in ** 0.5))


@makes(*CONVOLUTIONS)
def convolution(d):
    width, height = window(d)
    channels, outputs = d.channels(), d.channels()
    inner, dim = channels, 0
    if d.op.name == "DEPTHWISE_CONV_2D":
        multiplier = d.scalar("depth_multiplier", d.choice(1, 1, 2, 3))
        outputs, inner, dim = channels * multiplier, 1, 3
    elif d.op.name == "GROUPED_CONV_2D":
        groups = d.scalar("num_groups", d.int(1, 4))
        inner, outputs = max(channels // 4, 1), groups * max(outputs // 4, 1)
        channels = inner * groups
    source = d.image("input", (d.int(1, 2), height.size, width.size, channels), d.layout(),
                     (height.least, width.least))
    shape = (outputs, height.filter, width.filter, inner)
    if dim == 3:
        shape = (1, height.filter, width.filter, outputs)
    fan_in = height.filter * width.filter * inner
    product = weights(d, "filter", shape, source, dim, fan_in)
    d.activation()
    scaled_result(d, product, fan_in)


@makes("TRANSPOSE_CONV_2D")
def transpose_convolution(d):
    scheme = d.scalar("padding_scheme", d.choice(SAME, VALID)) if d.has("padding_scheme") else None
    sizes, filters, targets = [], [], []
    for name, near, far in (("width", "left", "right"), ("height", "top", "bottom")):
        size, kernel, stride = d.int(1, min(9, d.limit)), d.choice(1, 2, 3, 4, 5), d.choice(1, 2, 3)
        full = (size - 1) * stride + kernel
        pads = [d.int(0, (min(kernel, full) - 1) // 2) for _ in range(2)]
        d.scalar(f"padding_{near}", pads[0])
        d.scalar(f"padding_{far}", pads[1])
        d.scalar(f"stride_{name}", stride)
        sizes.append(size)
        filters.append(kernel)
        targets.append(size * stride if scheme == SAME else full)
    batch, channels, outputs = d.int(1, 2), d.channels(), d.channels()
    nchw = d.layout()
    source = d.image("input", (batch, sizes[1], sizes[0], channels), nchw)
    fan_in = channels * filters[0] * filters[1]
    product = weights(d, "filter", (outputs, filters[1], filters[0], channels), source, 0, fan_in)
    if d.has("output_shape"):
        d.put("output_shape", np.int32((batch, outputs, targets[1], targets[0]) if nchw else
                                       (batch, targets[1], targets[0], outputs)), constant=True)
    d.activation()
    scaled_result(d, product, fan_in)


@makes("FULLY_CONNECTED")
def fully_connected(d):
    size, units = d.channels() * d.choice(1, 1, 2, 3), d.channels()
    batch = d.choice(1, d.int(1, 9))
    shape = d.choice((batch, size), (1, batch, size), (batch, 1, 1, size))
    source = d.tensor("input", shape)
    product = weights(d, "weights", (units, size), source, 0, size)
    d.activation()
    scaled_result(d, product, size)


@makes("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D", odd=["input"])
def pooling(d):
    width, height = window(d)
    d.activation()
    d.image("input", (d.int(1, 2), height.size, width.size, d.channels()), d.layout(), (height.least, width.least))


@makes("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", odd=["input"])
def resize(d):
    shape = d.int(1, 2), d.size(20), d.size(20), d.channels()
    nchw = d.layout()
    d.image("input", shape, nchw, (1, 1))
    for name, size in (("width", shape[2]), ("height", shape[1])):
        target = d.size(30)
        d.scalar(name, target if d.types[name] == T.INT32 else (target + 0.5) / size)
    kind = d.int(0, 2)
    d.scalar("align_corners", kind == 1)
    d.scalar("half_pixel_centers", kind == 2)


@makes("BATCH_MATMUL")
def batch_matmul(d):
    rank = d.int(2, 4)
    batch = tuple(d.int(1, 3) for _ in range(rank - 2))
    rows, inner, columns = d.channels(), d.channels(), d.channels()
    shapes = []
    for flag, first, second in (("adj_x", rows, inner), ("adj_y", inner, columns)):
        shapes.append((second, first) if d.scalar(flag, d.chance(0.5)) else (first, second))
    a = d.tensor("input0", batch + shapes[0], spread=inner ** -0.25)
    b = d.tensor("input1", batch + shapes[1], constant=None if d.chance(0.5) else False, spread=inner ** -0.25)
    scaled_result(d, a.scale * b.scale, inner)
