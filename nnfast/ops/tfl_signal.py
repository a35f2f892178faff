"""Spectra: TFLite's RFFT2D, and its custom operators AudioSpectrogram and Mfcc."""

from functools import partial
from math import inf, log1p, pi, prod

import numpy as np

from .._native import conv
from .._native.elementwise import UnaryF32
from .tfl import own
from .window import POINT


# -- RFFT2D ----------------------------------------------------------------------------------------------------------
def infer_rfft(node):
    """Half of the last dimension, and one; sizes of the transform before it."""
    node.check_rank("input", 2, 8)
    rows, columns = _lengths(node)
    return [(*node["input"].shape[:-2], rows, columns // 2 + 1)]


def _lengths(node):
    lengths = node.numbers("lengths")
    if len(lengths) != 2 or min(lengths) < 1 or any(n & n - 1 for n in lengths):
        node.fail("lengths", f"are {lengths}, must be two powers of 2")
    return lengths


def compute_rfft(node, inputs):
    """Real numbers, cut or filled up with zeros, to their spectrum."""
    (rows, columns), x = _lengths(node), inputs[0]
    if not x.size:
        return [np.zeros(infer_rfft(node)[0], np.complex64)]
    if rows == 1:  # the transform of one number is that number
        result = np.empty(infer_rfft(node)[0], np.complex64)
        _transform(x[..., 0, :].reshape(-1, x.shape[-1]), columns, result.reshape(-1, result.shape[-1]))
        return [result]
    return [np.fft.rfft2(x.astype(np.float64), (rows, columns)).astype(np.complex64)]


_PART = 1 << 13
"""Numbers that are transformed at once: what they take in between stays in a near cache, and malloc has it at hand."""


def _transform(x, columns, result):
    """Spectra of the rows of x, written to those of `result`."""
    step = max(1, _PART // columns)
    for first in range(0, len(x), step):
        result[first:first + step] = np.fft.rfft(x[first:first + step].astype(np.float64), columns)


TFL_RFFT2D = own("TFL_RFFT2D", {"input:F32 lengths:I32 -> output:C64": {}}, compute_rfft, infer_rfft)


# -- AudioSpectrogram ------------------------------------------------------------------------------------------------
def infer_spectrogram(node):
    """(channels, windows, frequencies) of (samples, channels)."""
    node.check_rank("input", 2)
    samples, channels = node["input"].shape
    window, stride = node.scalar("window"), node.scalar("stride")
    if window < 2 or stride < 1:
        node.fail("window", f"is {window} with stride {stride}, must be at least 2 and 1")
    count = 1 + (samples - window) // stride if samples >= window else 0
    return [(channels, count, _points(window) // 2 + 1)]


def _points(window):
    """Length of the transform: the next power of 2."""
    return 1 << (window - 1).bit_length()


def compute_spectrogram(node, inputs):
    """Magnitudes, or their squares, of windows weighted by a cosine bell."""
    channels, count, _ = infer_spectrogram(node)[0]
    window, stride = node.scalar("window"), node.scalar("stride")
    bell = 0.5 - 0.5 * np.cos(2 * pi * np.arange(window) / window)
    power = np.empty((channels, count, _points(window) // 2 + 1), np.float32)
    step = max(1, _PART // _points(window))
    for samples, result in zip(np.ascontiguousarray(inputs[0].T), power) if count else ():
        windows = np.lib.stride_tricks.sliding_window_view(samples, window)[::stride]
        for first in range(0, count, step):
            found = np.fft.rfft(windows[first:first + step] * bell, _points(window))
            result[first:first + step] = np.square(found.real) + np.square(found.imag)
    return [power if node.scalar("squared") else np.sqrt(power)]


TFL_AUDIO_SPECTROGRAM = own("TFL_AUDIO_SPECTROGRAM", {"input:F32 window:i32 stride:i32 squared:bool -> output:F32": {}},
                            compute_spectrogram, infer_spectrogram)


# -- Mfcc ------------------------------------------------------------------------------------------------------------
FLOOR = 1e-12
"""Smallest energy of which a logarithm is taken."""
MOST_WEIGHTS = 1 << 24
"""Elements of the tables of mel filters and of cosines."""


def infer_mfcc(node):
    """Coefficients in the place of frequencies."""
    node.check_rank("spectrogram", 3)
    channels, coefficients = node.scalar("channels"), node.scalar("coefficients")
    bins, low, high = node["spectrogram"].shape[-1], node.scalar("lowest"), node.scalar("highest")
    if not 1 <= coefficients <= channels or bins < 2:
        node.fail("coefficients", f"are {coefficients} of {channels} channels, must be at least 1 and not more than "
                                  "these, of 2 frequencies or more")
    if channels * max(bins, coefficients) > MOST_WEIGHTS:
        node.fail("channels", f"are {channels}, with {bins} frequencies and {coefficients} coefficients: more than "
                              f"{MOST_WEIGHTS} weights; use fewer channels")
    if not 0 <= low < high < inf:
        node.fail("lowest", f"is {low:g} and the highest frequency {high:g}, must be at least 0 and below a finite "
                            "highest frequency")
    node.check_elements("rate")
    return [(*node["spectrogram"].shape[:2], coefficients)]


def _mel(frequency):
    return 1127.0 * log1p(frequency / 700.0)


def _filters(node, bins, rate):
    """(frequencies, channels): what each frequency gives to each mel channel, triangles that overlap by half."""
    channels, low, high = node.scalar("channels"), node.scalar("lowest"), node.scalar("highest")
    spacing = (_mel(high) - _mel(low)) / (channels + 1)
    centers = [_mel(low) + spacing * (k + 1) for k in range(channels + 1)]
    step = 0.5 * rate / (bins - 1)
    table, channel = np.zeros((bins, channels)), 0
    for k in range(int(1.5 + low / step), min(int(high / step), bins - 1) + 1):
        mel = _mel(k * step)
        while channel < channels and centers[channel] < mel:
            channel += 1
        below = _mel(low) if channel == 0 else centers[channel - 1]
        share = (centers[channel] - mel) / (centers[channel] - below)
        if channel > 0:
            table[k, channel - 1] = share
        if channel < channels:
            table[k, channel] = 1 - share
    return table


def _cosines(channels, coefficients):
    places = np.outer(np.arange(channels) + 0.5, np.arange(coefficients)) * (pi / channels)
    return np.sqrt(2.0 / channels) * np.cos(places)


def compute_mfcc(node, inputs):
    """Mel energies of the spectrogram, their logarithms, and the cosine transform of these."""
    spectrogram, rate = inputs[0], float(node.element("rate", inputs[1]))
    channels, coefficients = node.scalar("channels"), node.scalar("coefficients")
    if rate <= 0:
        node.fail_run("rate", f"is {rate:g}, must be above 0")
    bins = spectrogram.shape[-1]
    last, filters = node.memo.get("filters", (None, None))
    if last != rate:
        filters = _filters(node, bins, rate)
        node.memo["filters"] = rate, filters
    energies = np.sqrt(spectrogram.astype(np.float64)) @ filters
    cosines = node.once("cosines", lambda: _cosines(channels, coefficients))
    return [(np.log(np.maximum(energies, FLOOR)) @ cosines).astype(np.float32)]


def lower_mfcc(node, b):
    """Square roots, a product, logarithms, a product, in float32."""
    spectrogram, rate = node["spectrogram"], node["rate"].value
    (*outer, bins), channels = spectrogram.shape, node.scalar("channels")
    rows, coefficients = prod(outer), node.scalar("coefficients")
    if rate is None or node.element("rate", rate) <= 0 or rows == 0:
        return "the rate is computed or not above 0, or there are no windows"
    if channels > bins:
        return f"{channels} channels of {bins} frequencies, native up to as many"
    roots, energies, logarithms = (b.temp(4 * rows * count) for count in (bins, channels, channels))
    filters = partial(_filters, node, bins, float(node.element("rate", rate)))
    b.emit(UnaryF32((b.slot(spectrogram), roots), "sqrt", rows * bins))
    _product(b, (roots, energies), rows, bins, channels, filters, FLOOR)
    b.emit(UnaryF32((energies, logarithms), "log", rows * channels))
    _product(b, (logarithms, b.slot(node.outputs[0])), rows, channels, coefficients,
             partial(_cosines, channels, coefficients), -np.inf)
    return None


def _product(b, slots, rows, depth, columns, make, least):
    """Emit the product of [rows, depth] and the float matrix [depth, columns] that make() returns, at least `least`."""
    nbytes = conv.packed_bytes_conv2d(columns, depth, 1, False)
    packed = b.const(b.packed((), np.uint8, lambda: conv.pack_conv2d_f32(
        np.ascontiguousarray(make().T, np.float32), np.zeros(columns, np.float32), 1),
        lambda found: found.nbytes == nbytes))
    b.emit(conv.Conv2dF32((slots[0], packed, slots[1]), POINT, rows, depth, columns, least, np.inf))


TFL_MFCC = own(
    "TFL_MFCC",
    {"spectrogram:F32 rate:R highest:f32 lowest:f32 channels:i32 coefficients:i32 -> output:F32":
     {"R": ("I32", "i32")}},
    compute_mfcc, infer_mfcc, lower=lower_mfcc)
