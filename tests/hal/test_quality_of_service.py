"""QualityOfServiceTests [NN 8.4] on one model; `nnfast vts --kind deadline` has the same for every vector."""

import time

import numpy as np
import pytest

from helpers.hal_clients import NO_TIME, Callback1_3, Pools, add_model, prepare
from nnfast.errors import ErrorStatus as S
from nnfast.hal.v1_3 import Priority

MISSED = (S.MISSED_DEADLINE_TRANSIENT, S.MISSED_DEADLINE_PERSISTENT)
SOON_NS, LARGEST = 5_000_000, (1 << 64) - 1
SHAPE = (64, 64)
NBYTES = 4 * 64 * 64


def prepare_1_3(device, priority=Priority.MEDIUM, deadline=None):
    """(status, prepared model) of the callback; the launch has to succeed."""
    callback = Callback1_3()
    assert device.prepareModel_1_3(add_model(SHAPE), 1, priority, deadline, [], [], bytes(32), callback) == S.NONE
    return callback.wait()


@pytest.mark.parametrize("priority", Priority)
def test_8_4_prepare_with_each_priority(device, priority):
    status, prepared = prepare_1_3(device, priority)
    assert status == S.NONE and prepared.prepared.priority == priority.name.lower()


@pytest.mark.parametrize("after", [0, SOON_NS])
def test_8_4_prepare_with_a_deadline(device, after):
    status, prepared = prepare_1_3(device, deadline=time.monotonic_ns() + after)
    assert status in (S.NONE, *MISSED) and (prepared is not None) == (status == S.NONE)
    assert after or status == S.MISSED_DEADLINE_PERSISTENT


def test_8_4_prepare_with_the_largest_deadline(device):
    status, prepared = prepare_1_3(device, deadline=LARGEST)
    assert status == S.NONE and prepared is not None


def asynchronously(prepared, request, deadline):
    callback = Callback1_3()
    assert prepared.execute_1_3(request, 0, deadline, None, callback) == S.NONE
    return callback.wait()


def synchronously(prepared, request, deadline):
    return prepared.executeSynchronously_1_3(request, 0, deadline, None)


@pytest.mark.parametrize("way", [asynchronously, synchronously])
@pytest.mark.parametrize("after", [0, SOON_NS, None])
def test_8_4_execute_with_a_deadline(device, way, after):
    """after: nanoseconds from now; None: the largest time point."""
    prepared, pools = prepare(device, add_model(SHAPE)), Pools(NBYTES)
    deadline = LARGEST if after is None else time.monotonic_ns() + after
    status, shapes, timing = way(prepared, pools.request, deadline)
    assert timing == NO_TIME and status in (S.NONE, *(MISSED if after is not None else ()))
    assert after != 0 or status in MISSED
    if status == S.NONE:
        assert [(shape.dimensions, shape.isSufficient) for shape in shapes] == [(list(SHAPE), True)]
        assert np.array_equal(pools.output.view(np.float32), pools.input.view(np.float32) + 1)
    else:
        assert shapes == []
