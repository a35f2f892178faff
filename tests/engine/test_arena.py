"""Working memory: no two tensors that live at once share a byte, in as little memory and time as it takes."""

import random
import time

import numpy as np
import pytest

import nnfast
from nnfast.alignment import align
from nnfast.engine.arena import place
from nnfast.errors import Cancelled

F32 = "TENSOR_FLOAT32"


def by_trying(blocks):
    """What `place` promises, found by a look at everything placed before."""
    placed, offsets = [], {}
    for key, (size, first, last) in sorted(blocks.items(), key=lambda item: (-item[1][0], item[1][1], item[0])):
        size, at = align(max(size, 1)), 0
        for start, end in sorted((start, end) for start, end, a, b in placed if a <= last and first <= b):
            if start - at >= size:
                break
            at = max(at, end)
        offsets[key] = at
        placed.append((at, at + size, first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)


@pytest.mark.parametrize("seed", range(40))
def test_each_tensor_is_in_the_lowest_gap(seed):
    rng = random.Random(seed)
    steps = rng.randrange(1, 70)
    blocks = {}
    for key in range(rng.randrange(0, 150)):
        first = rng.randrange(steps)
        last = min(steps - 1, first + rng.choice((0, 1, 2, 7, steps)))
        blocks[key] = rng.choice((0, 1, 64, 65, rng.randrange(5000))), first, last
    assert place(blocks) == by_trying(blocks)


def test_many_gaps_are_not_all_tried_and_nothing_overlaps():
    rng = random.Random(1)
    blocks = {key: (rng.randrange(1, 100000), key, key + rng.randrange(1, 1500)) for key in range(3000)}
    offsets, total = place(blocks)
    for key, (size, _, last) in blocks.items():
        assert 0 <= offsets[key] <= total - size
        assert not any(offsets[other] < offsets[key] + size and offsets[key] < offsets[other] + blocks[other][0]
                       for other in range(key + 1, len(blocks)) if blocks[other][1] <= last)
    assert total <= 1.1 * by_trying(blocks)[1]


@pytest.mark.parametrize("seed", range(10))
def test_large_tensors_lie_apart_from_what_they_are_made_from(seed):
    """A load waits for stores before it whose addresses differ from its own by a multiple of a page."""
    rng = random.Random(seed)
    blocks = {key: (rng.choice((1 << 15, 200704, 401408, 1000)), key, key + rng.choice((1, 1, 1, 4)))
              for key in range(40)}
    offsets, total = place(blocks)
    assert total <= 1.2 * by_trying(blocks)[1]
    for key, (size, _, last) in blocks.items():
        assert offsets[key] % 64 == 0 and offsets[key] + size <= total
        for other in range(key + 1, min(last, 39) + 1):
            assert offsets[other] + blocks[other][0] <= offsets[key] or offsets[key] + size <= offsets[other]
            if size > 1000 and blocks[other][0] > 1000:
                assert 512 <= (offsets[key] - offsets[other]) % 4096 <= 3584


def test_placing_stops_when_told_to():
    looks = []

    def go_on():
        looks.append(1)
        if len(looks) == 3:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        place({key: (64, key, 5000) for key in range(5000)}, go_on)
    assert len(looks) == 3


def fan(count):
    """A model in which `count` small tensors live at once."""
    b = nnfast.ModelBuilder()
    x, w, none = b.input(F32, (1, 4)), b.constant(np.ones((1, 4), np.float32)), b.scalar(0)
    made = []
    for _ in range(count):
        made.append(b.operand(F32, (1, 4)))
        b.operation("ADD", [x, w, none], made[-1:])
    b.operation("CONCATENATION", [*made, none], [b.output(F32, (count, 4))])
    return b.build()


def test_the_time_to_plan_grows_with_the_number_of_live_tensors():
    """Not with its square: four times as many would take 16 times as long."""
    seconds = {}
    for size in (7_500, 30_000):
        model, device = fan(size), nnfast.Device(1)
        start = time.thread_time()
        prepared = device.prepare(model)
        seconds[size] = time.thread_time() - start
        (y,) = prepared.run([np.zeros((1, 4), np.float32)])
        assert (y == 1).all()
    assert seconds[30_000] < 9 * seconds[7_500], seconds
