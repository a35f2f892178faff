import pytest

from helpers.fmq_items import ITEM
from nnfast import fmq


@pytest.fixture
def make():
    """make(capacity): (queue that creates, queue that attached to it) of 24-byte elements."""
    opened = []

    def made(capacity, dtype=ITEM, event_flag=True):
        here = fmq.MessageQueue.create(dtype, capacity, event_flag)
        there = fmq.MessageQueue.attach(here.descriptor, dtype)
        opened.extend((here, there))
        return here, there

    yield made
    for queue in opened:
        queue.close()
