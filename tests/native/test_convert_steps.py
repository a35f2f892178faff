"""Steps between float16 and float32 (convert) against numpy's conversion: every half, ties, denormals, overflow."""

import numpy as np
import pytest

from helpers.steps import every_level, run_all_ways
from nnfast._native.elementwise import Convert

ALL = np.arange(65536, dtype=np.uint16).view(np.float16)
EDGES = np.float32([0.0, -0.0, 65504, 65519.996, 65520, 65536, 1e9, np.inf, -np.inf, 2.0**-24, 2.0**-25, 2.0**-26,
                    np.nextafter(np.float32(2.0**-25), np.float32(1)), 2.0**-14, 3 * 2.0**-25, 1e-45, -1e-40])


@every_level
@pytest.mark.parametrize("count", (0, 1, 7, 16, 17, 65536, 100001))
def test_widening_is_exact(level, count):
    half = np.resize(ALL, count)
    wide, = run_all_ways(lambda: [Convert((0, 1), count, narrow=False)], [half], [((count,), np.float32)], level)
    np.testing.assert_array_equal(wide, half.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(half))


@every_level
def test_narrowing_rounds_to_nearest_even(level):
    finite = ALL[np.isfinite(ALL)].astype(np.float32)
    between = (finite[:-1] + finite[1:]) / 2
    wide = np.concatenate([finite, between, np.nextafter(between, np.float32(np.inf)),
                           np.nextafter(between, np.float32(-np.inf)), EDGES, np.float32([np.nan, -np.nan])])
    half, = run_all_ways(lambda: [Convert((0, 1), wide.size, narrow=True)], [wide], [(wide.shape, np.float16)], level)
    with np.errstate(over="ignore"):
        wanted = wide.astype(np.float16)
    np.testing.assert_array_equal(half, wanted)
    np.testing.assert_array_equal(np.signbit(half), np.signbit(wanted))


@every_level
def test_there_and_back_keeps_every_half(level):
    steps = [Convert((0, 1), 65536, narrow=False), Convert((1, 2), 65536, narrow=True)]
    _, back = run_all_ways(lambda: steps, [ALL], [((65536,), np.float32), ((65536,), np.float16)], level)
    quiet = np.where(np.isnan(ALL), ALL.view(np.uint16) | 0x200, ALL.view(np.uint16))
    np.testing.assert_array_equal(back.view(np.uint16), quiet)
