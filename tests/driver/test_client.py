"""Whom devices work for: one client of all devices that name none, others by name or object."""

import time

import numpy as np
import pytest

import nnfast
from helpers import models
from nnfast import Request, RequestArgument
from nnfast._native.threads import available
from nnfast.errors import InvalidArgument, MissedDeadlinePersistent, MissedDeadlineTransient

BIG = np.zeros((1, 128, 128, 16), np.float32)


def request():
    return Request((RequestArgument(0, 0, 1 << 20),), (RequestArgument(1, 0, 1 << 20),), (BIG, bytearray(1 << 20)))


def waits_for(low, high):
    """Whether an execution of `low` waits while as many of `high` as there are cores go on."""
    for _ in range(20):
        others = [high.submit([BIG]) for _ in range(available())]
        try:
            while not any(future.done() for future in others):
                low.execute(request(), deadline=time.monotonic() + 0.1)  # until all of the others have started
        except (MissedDeadlineTransient, MissedDeadlinePersistent):
            return True
        finally:
            for future in others:
                future.cancel()
    return False


@pytest.mark.parametrize("make", [nnfast.Device, lambda: nnfast.hal.v1_3.Device().device,
                                  lambda: nnfast.Device(client="camera")], ids=["Device", "hal", "named"])
def test_priorities_act_between_devices_of_one_client(make):
    one, other = make(), make()
    assert one is not other and one.client is other.client
    low = one.prepare(models.wide_model(20), priority="low")
    high = other.prepare(models.wide_model(2000), priority="high")
    low.execute(request())
    assert waits_for(low, high)
    low.execute(request())


def test_whom_devices_work_for():
    mine = nnfast.Client()
    clients = [nnfast.Device(client=client).client for client in (None, "", "a", "a", "b", mine, mine)]
    assert [clients.index(client) for client in clients] == [0, 0, 2, 2, 4, 5, 5]
    assert nnfast.Device().client is clients[0]


@pytest.mark.parametrize("client", [5, b"a", nnfast.Client, ["a"], object()])
def test_what_is_no_client_is_refused(client):
    with pytest.raises(InvalidArgument, match="Device client: is an? .*, must be an nnfast.Client, a name or None"):
        nnfast.Device(client=client)


def test_the_memory_limit_is_a_devices_own():
    first, second = nnfast.Device(memory_limit=1 << 20), nnfast.Device(memory_limit=1 << 20)
    prepared = first.prepare(models.wide_model(2))
    assert first.client is second.client
    assert prepared and first.budget.used > 0 and second.budget.used == 0


@pytest.mark.parametrize("limit", [0, -1, 1 << 63, 10**30, 1.5])
def test_what_is_no_memory_limit_is_refused(limit):
    with pytest.raises(InvalidArgument, match="Device memory_limit: is .*, must be"):
        nnfast.Device(memory_limit=limit)


# -- what a memory limit can never hold (getSupportedOperations) -------------------------------------------------------
def dense_chain(widths):
    """FULLY_CONNECTED operations in a row, one for each width."""
    b = nnfast.ModelBuilder("dense")
    x = b.input("TENSOR_FLOAT32", (1, 16))
    for place, (before, width) in enumerate(zip((16, *widths), widths)):
        weights, bias = np.ones((width, before), np.float32), np.zeros(width, np.float32)
        last = place == len(widths) - 1
        y = b.output("TENSOR_FLOAT32", (1, width)) if last else b.operand("TENSOR_FLOAT32", (1, width))
        b.operation("FULLY_CONNECTED", [x, b.constant(weights), b.constant(bias), b.scalar(0)], [y])
        x = y
    return b.build()


@pytest.mark.parametrize("limit", [1 << 16, 1 << 18, 300_000, 1 << 19, 700_000, 1 << 20, 1 << 24])
def test_support_is_what_prepare_and_run_keep(limit):
    """All operations are supported exactly where prepare and an execution find the memory."""
    device, model = nnfast.Device(1, memory_limit=limit), dense_chain((256, 256, 256, 16))
    supported = device.supported_operations(model)
    try:
        device.prepare(model).run([np.zeros((1, 16), np.float32)])
        works = True
    except nnfast.Error as error:
        assert "RESOURCE_EXHAUSTED" in error.status.name
        works = False
    assert all(supported) is works
    for index, reason in device.unsupported_reasons(model).items():
        assert not supported[index] and f"main.operation[{index}]" in reason and f"is {limit}" in reason


def test_the_part_that_is_supported_fits():
    device = nnfast.Device(1, memory_limit=400_000)
    supported = device.supported_operations(dense_chain((256, 256, 256, 16)))
    count = supported.index(False)
    assert 0 < count < 4 and device.prepare(dense_chain((256, 256, 256, 16)[:count]))


def test_working_memory_counts_for_support():
    b = nnfast.ModelBuilder("wide")
    x, none = b.input("TENSOR_FLOAT32", (1,)), b.scalar(0)
    wide = b.constant(np.zeros((64, 1), np.float32))
    at = x
    for _ in range(3):
        y = b.operand("TENSOR_FLOAT32", (512, 512))
        b.operation("ADD", [at, b.constant(np.zeros((512, 1), np.float32)), none],
                    [made := b.operand("TENSOR_FLOAT32", (512, 1))])
        b.operation("ADD", [made, b.constant(np.zeros((1, 512), np.float32)), none], [y])
        at = y
        b.operation("REDUCE_MAX", [y, b.constant(np.int32([0, 1])), b.scalar(np.bool_(False))],
                    [at := b.operand("TENSOR_FLOAT32", (1,))])
    b.operation("ADD", [at, wide, none], [b.output("TENSOR_FLOAT32", (64, 1))])
    model = b.build()
    assert not all(nnfast.Device(1, memory_limit=1 << 19).supported_operations(model))
    assert all(nnfast.Device(1, memory_limit=1 << 23).supported_operations(model))


def test_without_a_limit_nothing_is_planned(monkeypatch):
    from nnfast.compiler import planner

    monkeypatch.setattr(planner.Planner, "segment", lambda *_: 1 / 0)
    model = dense_chain((256, 16))
    assert all(nnfast.Device(1).supported_operations(model))
    assert all(nnfast.Device(1, memory_limit=1 << 30).supported_operations(model))


def test_states_of_streams_count():
    b = nnfast.ModelBuilder("sum")
    x, state = b.input("TENSOR_FLOAT32", (1 << 16,)), b.input("TENSOR_FLOAT32", (1 << 16,))
    total, carried = b.output("TENSOR_FLOAT32", (1 << 16,)), b.output("TENSOR_FLOAT32", (1 << 16,))
    b.operation("ADD", [state, x, b.scalar(0)], [total])
    b.operation("ADD", [x, state, b.scalar(0)], [carried])
    device = nnfast.Device(1, memory_limit=2 << 20)
    prepared = device.prepare(b.state(state, carried).build())
    before, ones, streams = device.budget.used, np.ones(1 << 16, np.float32), []
    with pytest.raises(nnfast.errors.ResourceExhaustedTransient, match="stream: its state"):
        for _ in range(9):
            streams.append(prepared.stream())
            assert [streams[-1].run([ones])[0][0] for _ in range(3)] == [1, 2, 3]
    assert 2 <= len(streams) < 9 and device.budget.used >= before + 4 * (1 << 18)
    streams[0].reset()
    del streams[1:]
    assert streams[0].run([ones])[0][0] == 1
