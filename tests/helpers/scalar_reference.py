"""The standard's integer arithmetic and the convolutions once more, one value at a time in plain Python.

Written from [NN 13.4, 13.6] without numpy, so that it shares nothing with the code under test but the formulas.
"""

import math
import struct

RANGES = {"uint8": (0, 255), "int8": (-128, 127)}


def f32(x):
    """x rounded to float32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def wrap(x):
    """Two's-complement int32."""
    return (x + 2**31) % 2**32 - 2**31


def quantize_multiplier(d):
    if d == 0:
        return 0, 0
    f, e = math.frexp(d)
    m = math.floor(f * 2**31 + 0.5)
    if m == 2**31:
        m, e = 2**30, e + 1
    return (0, 0) if e < -31 else (m, e)


def srdhm(a, b):
    if a == b == -2**31:
        return 2**31 - 1
    p = a * b
    n = p + (2**30 if p >= 0 else 1 - 2**30)
    return n // 2**31 if n >= 0 else -(-n // 2**31)


def rdbpot(x, k):
    r, t = x & (2**k - 1), ((2**k - 1) >> 1) + (1 if x < 0 else 0)
    return (x >> k) + (1 if r > t else 0)


def mbqm(x, m, e):
    return rdbpot(srdhm(wrap(x * 2 ** max(e, 0)), m), max(-e, 0))


def round_away(x):
    return math.floor(x + 0.5) if x >= 0 else -math.floor(-x + 0.5)


def clamp_codes(kind, activation, scale, zero_point):
    low, high = RANGES[kind]

    def q(f):
        return zero_point + round_away(f32(f / f32(scale)))

    reals = {0: None, 1: (0, None), 2: (-1, 1), 3: (0, 6)}[activation]
    if reals:
        low = max(low, q(reals[0]))
        high = high if reals[1] is None else min(high, q(reals[1]))
    return low, high


def requantize(acc, scale_in, scale_w, scale_out, zero_point, kind, activation):
    """8-bit code of one accumulator."""
    real = f32(f32(scale_in) * f32(scale_w)) / f32(scale_out)
    low, high = clamp_codes(kind, activation, scale_out, zero_point)
    return min(max(mbqm(wrap(acc), *quantize_multiplier(real)) + zero_point, low), high)


def correlate(image, weights, channel_of, win):
    """sums[y][x][o] of one [h][w][ci] image; weights[o][i][j][k]; channel_of(o, k) = input channel of weight k.

    win: dict of out, stride, head, dilation, each (height, width).
    """
    height, width = len(image), len(image[0])
    result = []
    for y in range(win["out"][0]):
        row = []
        for x in range(win["out"][1]):
            values = []
            for o, planes in enumerate(weights):
                total = 0
                for i, line in enumerate(planes):
                    for j, taps in enumerate(line):
                        r = y * win["stride"][0] - win["head"][0] + i * win["dilation"][0]
                        c = x * win["stride"][1] - win["head"][1] + j * win["dilation"][1]
                        if 0 <= r < height and 0 <= c < width:
                            total += sum(image[r][c][channel_of(o, k)] * w for k, w in enumerate(taps))
                values.append(total)
            row.append(values)
        result.append(row)
    return result
