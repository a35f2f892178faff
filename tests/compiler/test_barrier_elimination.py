"""Rounds of steps between which threads do not meet: which steps they have, and that nobody reads what is not there."""

import os
import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.tflite.networks import Net
from nnfast._native import engine, threads
from nnfast._native.conv import DepthwiseConv2DF32, pack_depthwise_f32
from nnfast.compiler.passes import barrier_elimination
from nnfast.compiler.stored_plan import Restoring

NAME = "barrier_elimination"


@pytest.fixture
def rounds(monkeypatch):
    """The rounds of the last plan, as (first, last) steps."""
    found = []

    def refine(lowering, refine=barrier_elimination.refine):
        refine(lowering)
        found[:] = lowering.rounds
    monkeypatch.setattr(barrier_elimination, "refine", refine)
    return found


@pytest.fixture
def one_processor():
    """Threads of this process take turns: one goes as far as it can before another begins."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def arrays(net, random):
    return [random.integers(-128, 128, net.shape(name)).astype(np.int8) if net.kind == "int8"
            else random.uniform(-1, 1, net.shape(name)).astype(np.float32) for name in net.inputs]


def with_deadline(prepared, x):
    """A run that something may stop."""
    outputs = [np.empty(info.shape, info.dtype) for info in prepared.outputs]
    pools = *x, *outputs
    places = [nnfast.RequestArgument(pool, 0, array.nbytes) for pool, array in enumerate(pools)]
    request = nnfast.Request(tuple(places[:len(x)]), tuple(places[len(x):]), pools)
    prepared.execute(request, deadline=time.monotonic() + 600)
    return outputs


def check(net, outputs, count=2, turns=3):
    """The outputs are those of one thread, where every byte of memory that is not written is poisoned."""
    file, random = net.file(*outputs), np.random.default_rng(3)
    engine.set_poison(0x81)
    try:
        alone = nnfast.Device(num_threads=1).prepare(nnfast.load(file))
        shared = nnfast.Device(num_threads=count).prepare(nnfast.load(file))
        for _ in range(turns):
            x = arrays(net, random)
            for run in (shared.run, partial(with_deadline, shared)):
                for found, wanted in zip(run(x), alone.run(x), strict=True):
                    np.testing.assert_array_equal(found, wanted)
    finally:
        engine.set_poison(None)
    return shared


def block(net, x, units, act=None):
    """What MobileNetV2 consists of."""
    wide = net.conv(x, 3 * units, 1, act="relu6")
    return net.conv(net.depthwise(wide), units, 1, act=act)


@pytest.mark.parametrize("kind", ["f32", "int8"])
def test_a_round_goes_from_one_window_to_the_next(kind, rounds, one_processor):
    net = Net(kind)
    x = net.conv(net.input(1, 16, 16, 16), 16, 1)           # 0
    y = net.add(block(net, x, 16), x)                       # 1 2 3, 4
    prepared = check(net, [net.add(block(net, y, 16), y)])  # 5 6 7, 8
    assert rounds == [(0, 1), (2, 5), (6, 8)]
    assert [NAME in row["passes"] for row in prepared.explain().rows] == [True] * 9
    off = nnfast.Device(2, without_passes=[NAME]).prepare(nnfast.load(net.file(y))).explain()
    assert not any(NAME in row["passes"] for row in off.rows)


@pytest.mark.parametrize(("height", "count", "found"), [
    (16, 2, [(0, 1)]), (7, 2, []), (16, 3, []), (9, 3, [(0, 1)]), (16, 4, [(0, 1)]), (16, 1, []), (2, 2, [(0, 1)])])
def test_shares_are_even_or_threads_meet(height, count, found, rounds):
    net = Net("int8")
    check(net, [net.conv(net.depthwise(net.input(1, height, 8, 16)), 24, 1)], count)
    assert rounds == found


def test_fewer_threads_than_planned_for_may_run(rounds, one_processor):
    """Shares of four threads are even; those of three are not: the steps divide as they like then, and threads meet."""
    net = Net("int8")
    y = net.conv(net.depthwise(net.conv(net.input(1, 16, 9, 24), 24, 1)), 40, 1)
    before = threads.limit()
    try:
        for workers in (1, 2, 3):
            threads.set_limit(workers)
            check(net, [y], 4)
            assert rounds == [(1, 2)]
    finally:
        threads.set_limit(before)


@pytest.mark.parametrize("kind", ["f32", "int8"])
def test_what_all_shares_read_is_met_for(kind, rounds, one_processor):
    net = Net(kind)
    x = net.input(1, 8, 8, 32)
    small = net.conv(net.mean(x), 32, 1)                    # one pixel
    y = net.mul(net.conv(x, 32, 1), small)                  # it scales each channel of all pixels
    check(net, [net.conv(y, 16, 1)])
    assert all(last < 3 for _, last in rounds)


@pytest.mark.parametrize("kind", ["f32", "hybrid"])
def test_parts_of_a_tensor_are_met_for(kind, rounds, one_processor):
    """The first share of the lower half of an image begins where the second share of the image does."""
    net = Net(kind)
    x = net.conv(net.input(1, 16, 8, 16), 16, 1)
    check(net, [net.tanh(net.slice(x, (0, 8, 0, 0), (1, 8, 8, 16)))])
    assert rounds == []


@pytest.mark.parametrize("kind", ["f32", "int8"])
@pytest.mark.parametrize("size", [2, 3, (1, 3), (3, 1)])
@pytest.mark.parametrize("stride", [1, 2])
def test_windows_are_met_for(kind, size, stride, rounds, one_processor):
    net = Net(kind)
    x = net.conv(net.input(1, 16, 16, 24), 24, 1)
    check(net, [net.conv(net.conv(x, 24, size, stride), 40, 1)])
    assert all(first > 0 for first, _ in rounds)


@pytest.mark.parametrize("kind", ["f32", "int8"])
def test_layers_of_one_channel_have_rounds(kind, rounds, one_processor):
    net = Net(kind)
    x = net.conv(net.depthwise(net.input(1, 6, 15, 64)), 1, 1)
    check(net, [net.conv(x, 16, 1)])
    assert rounds == [(0, 2)]


def test_another_shape_of_a_tensor_is_no_other_tensor(rounds, one_processor):
    net = Net("int8")
    x = net.reshape(net.conv(net.input(1, 8, 8, 32), 16, 1), 1, 16, 4, 16)
    check(net, [net.conv(net.conv(x, 24, 1), 24, 1)])
    assert rounds == [(0, 2)]


def test_rows_are_shared_where_channels_would_cost_less(rounds, one_processor):
    net = Net("int8")
    check(net, [net.conv(net.depthwise(net.input(1, 2, 8, 256), 5), 24, 1)])
    assert rounds == [(0, 1)]


def test_models_give_out_what_lies_between(rounds, one_processor):
    net = Net("int8")
    x = net.conv(net.input(1, 16, 8, 16), 16, 1)
    y = net.depthwise(x)
    z = net.conv(y, 24, 1)
    check(net, [x, y, z, net.add(z, z)])
    assert rounds == [(1, 3)]


def test_long_steps_that_something_may_stop_are_met_for(rounds, one_processor):
    """These are done in parts, which are not even."""
    net = Net("int8")
    x = net.depthwise(net.input(1, 14, 14, 320))
    check(net, [net.conv(net.conv(x, 320, 1), 320, 1)])  # 512 kB of level 2 have room for all of them
    assert rounds == [(0, 2)]


def test_large_tensors_are_left_alone(rounds):
    net = Net("f32")
    check(net, [net.conv(net.depthwise(net.input(1, 256, 256, 16)), 16, 1)], turns=1)
    assert rounds == []


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_drawn_networks_give_the_bytes_of_one_thread(data):
    """Networks of convolutions, depthwise layers, pools and element-wise steps, in any order, of any earlier values."""
    draw, net = data.draw, Net(data.draw(st.sampled_from(["f32", "int8"])))
    height, width, channels = draw(st.sampled_from([4, 6, 8, 12])), draw(st.integers(1, 9)), draw(st.integers(1, 40))
    made = [net.input(1, height, width, channels)]
    for _ in range(draw(st.integers(2, 9))):
        x = draw(st.sampled_from(made[-3:]))
        like = [y for y in made if net.shape(y) == net.shape(x)]
        what = draw(st.sampled_from(["conv", "conv", "window", "depthwise", "add", "mul", "tanh", "swish"]))
        made.append(net.conv(x, channels if draw(st.booleans()) else draw(st.integers(1, 70)), 1) if what == "conv"
                    else net.conv(x, draw(st.integers(1, 20)), 3) if what == "window"
                    else net.depthwise(x, draw(st.sampled_from([3, (1, 3), 5]))) if what == "depthwise"
                    else getattr(net, what)(x, draw(st.sampled_from(like))) if what in ("add", "mul")
                    else getattr(net, what)(x))
    before = os.sched_getaffinity(0)
    if draw(st.booleans()):
        os.sched_setaffinity(0, {min(before)})
    try:
        check(net, {made[-1]: 0, draw(st.sampled_from(made[1:])): 0}, draw(st.integers(2, 4)), turns=2)
    finally:
        os.sched_setaffinity(0, before)


def test_a_stored_plan_keeps_its_rounds(tmp_path, monkeypatch):
    net = Net("int8")
    file = net.file(net.conv(net.depthwise(net.input(1, 16, 8, 16)), 24, 1))
    x, found = arrays(net, np.random.default_rng(4)), []

    def step_of(self, record, make=Restoring._step):
        found.append(make(self, record))
        return found[-1]
    monkeypatch.setattr(Restoring, "_step", step_of)
    outputs = [nnfast.Device(2).prepare(nnfast.load(file), cache_dir=tmp_path).run(x)[0] for _ in range(2)]
    np.testing.assert_array_equal(*outputs)
    assert [(step.pieces, step.follows) for step in found[-2:]] == [(16, False), (16, True)]


def test_a_step_is_cut_as_it_can_be():
    class Window:
        input, filter, stride, dilation, head, output = (6, 5), (3, 3), (1, 1), (1, 1), (1, 1), (6, 5)

    packed = pack_depthwise_f32(np.ones((1, 3, 3, 16), np.float32), np.zeros(16, np.float32))
    step = DepthwiseConv2DF32((0, 1), 1, Window, packed, 16, 1, -1.0, 1.0)
    step.cut(3, False)
    assert (step.pieces, step.follows) == (3, False)
    for wrong in ((0, False), (4, False), (3, True), (1 << 40, False)):
        with pytest.raises(ValueError, match="pieces of a step that has 6"):
            step.cut(*wrong)
