"""Memory for packed weights: apart at first, then side by side on whole pages."""

import numpy as np

from nnfast.compiler.room import FEW, REGION, Room


def test_arrays_are_aligned_and_do_not_overlap():
    room, rng = Room(), np.random.default_rng(0)
    sizes = [1, 63, 64, 1000, FEW, 5, 70_000, REGION, REGION + 1, 1 << 20, 0, 3]
    arrays = [room(size) for size in sizes]
    wanted = [rng.integers(0, 256, size, np.uint8) for size in sizes]
    for array, value in zip(arrays, wanted):
        assert array.dtype == np.uint8 and array.flags.writeable
        assert array.ctypes.data % 64 == 0 or not array.size
        array[...] = value
    for array, value in zip(arrays, wanted):
        assert np.array_equal(array, value)


def test_few_bytes_take_no_region():
    room = Room()
    apart = [room(1000) for _ in range(3)]
    assert all(array.base.nbytes < 2000 for array in apart)
    together = [room(FEW) for _ in range(3)]
    assert together[1].ctypes.data == together[0].ctypes.data + FEW
