"""What a client has started ends with the client, whatever its earlier executions took."""

from threading import Thread

import numpy as np
import pytest

import nnfast
from helpers.service import FLOAT, until
from nnfast import ModelBuilder

LARGE, OPERATIONS = 1 << 24, 600
"""An execution of so much takes seconds, one of a single element next to none."""


def chain(b, x, size):
    """A long chain of operations from x to a single value."""
    for _ in range(OPERATIONS):
        y = b.operand(FLOAT, (size,))
        b.operation("TANH", [x], [y])
        x = y
    b.operation("REDUCE_SUM", [x, b.constant(np.int32([0])), b.scalar(True)], [b.output(FLOAT, (1,))])


def filled():
    """The length of the chain's tensors is a value."""
    b = ModelBuilder("filled")
    size, x = b.input("TENSOR_INT32", (1,)), b.operand(FLOAT, (0,))
    b.operation("FILL", [size, b.scalar(np.float32(1))], [x])
    chain(b, x, 0)
    return b.build()


def open_size():
    """The length of the chain's tensors is that of the input."""
    b = ModelBuilder("open")
    chain(b, b.input(FLOAT, (0,)), 0)
    return b.build()


def carried():
    """A chain of fixed length beside a state."""
    b = ModelBuilder("carried")
    chain(b, b.input(FLOAT, (LARGE,)), LARGE)
    state, after = b.input(FLOAT, (1,)), b.output(FLOAT, (1,))
    b.operation("ADD", [state, state, b.scalar(0)], [after])
    return b.state(state, after).build()


def filled_with(device):
    prepared = device.prepare(filled())
    return prepared.run, [np.int32([1])], [np.int32([LARGE])]


def of_any_size(device):
    prepared = device.prepare(open_size())
    return prepared.run, [np.ones(1, np.float32)], [np.ones(LARGE, np.float32)]


def with_state(device):
    return device.prepare(carried()).stream().run, None, [np.ones(LARGE, np.float32)]


@pytest.mark.parametrize("made", (filled_with, of_any_size, with_state))
def test_a_long_execution_ends_with_its_client_after_short_ones(server, made):
    device = nnfast.connect(server.path)
    run, small, large = made(device)
    session, = server.sessions()
    held, = session.held()
    for _ in range(0 if small is None else 3):
        run(small)
    done = held.runs.total

    def long():
        with pytest.raises(nnfast.Error):
            run(large)

    thread = Thread(target=long)
    thread.start()
    assert until(lambda: session.in_flight or not thread.is_alive())
    device.close()
    thread.join()
    assert until(lambda: not session.in_flight and (session.failures or held.runs.total > done))
    assert held.runs.total == done, "it ran to its end"
