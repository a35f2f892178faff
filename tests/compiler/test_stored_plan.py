"""Plans that were stored: restored step by step as they were, and refused where a step would reach too far."""

import itertools
import os
from contextlib import contextmanager

import msgspec
import numpy as np
import pytest
from msgspec.structs import asdict, replace

import nnfast
from helpers.normalized import normalized
from helpers.steps import at_level
from nnfast import CacheFiles, ModelBuilder
from nnfast._native import kernels
from nnfast.compiler import stored_plan, stored_steps
from nnfast.compiler.planner import Planner
from nnfast.compiler.stored_steps.base import Misfit
from nnfast.driver.cache import save
from nnfast.errors import InvalidArgument
from nnfast.fuzz.signed import models
from nnfast.model import own
from nnfast.model.records import Constants
from nnfast.model.types import Model

F32, U8, TOKEN = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", bytes(32)


@pytest.fixture
def device():
    return nnfast.Device(num_threads=2)


def image(b, kind, *shape, output=False, scale=0.5):
    quant = {} if kind == F32 else {"scale": scale, "zero_point": 3}
    make = b.output if output else b.operand
    return make(kind, shape, **quant)


def elementwise(kind):
    """ADD, LOGISTIC, CONCATENATION, AVERAGE_POOL_2D and SOFTMAX, of an input and itself."""
    b = ModelBuilder(f"elementwise {kind}")
    x = b.input(kind, (1, 4, 4, 8), **({} if kind == F32 else {"scale": 0.5, "zero_point": 3}))
    unit = {"scale": 1 / 256, "zero_point": 0} if kind != F32 else {}
    summed, curved = image(b, kind, 1, 4, 4, 8), b.operand(kind, (1, 4, 4, 8), **unit)
    wide, pooled, y = image(b, kind, 1, 4, 4, 16), image(b, kind, 1, 2, 2, 16), b.output(kind, (1, 2, 2, 16), **unit)
    b.operation("ADD", [x, x, b.scalar(0)], [summed])
    b.operation("LOGISTIC", [summed], [curved])
    b.operation("CONCATENATION", [summed, curved, b.scalar(3)] if kind == F32 else [summed, x, b.scalar(3)], [wide])
    b.operation("AVERAGE_POOL_2D", [wide, *(b.scalar(v) for v in (0, 0, 0, 0, 2, 2, 2, 2, 0))], [pooled])
    b.operation("SOFTMAX", [pooled, b.scalar(np.float32(1))], [y])
    if kind != F32:
        z = b.output(kind, (1, 4, 4, 8), **unit)
        b.operation("SOFTMAX", [curved, b.scalar(np.float32(1))], [z])
    return b.build()


def chain():
    """Two convolutions and a pool whose images are large enough to run in bands."""
    rng, b = np.random.default_rng(3), ModelBuilder("chain")
    x = b.input(F32, (1, 128, 128, 3))
    first, second, y = (image(b, F32, 1, 64, 64, 96), image(b, F32, 1, 64, 64, 96), image(b, F32, 1, 64, 64, 16,
                                                                                         output=True))
    scalars = [b.scalar(v) for v in (1, 2, 2, 0)]
    b.operation("CONV_2D", [x, b.constant(rng.standard_normal((96, 3, 3, 3)).astype(np.float32)),
                            b.constant(np.zeros(96, np.float32)), *scalars], [first])
    b.operation("DEPTHWISE_CONV_2D", [first, b.constant(rng.standard_normal((1, 3, 3, 96)).astype(np.float32)),
                                      b.constant(np.zeros(96, np.float32)),
                                      *(b.scalar(v) for v in (1, 1, 1, 1, 0))], [second])
    b.operation("CONV_2D", [second, b.constant(rng.standard_normal((16, 1, 1, 96)).astype(np.float32)),
                            b.constant(np.zeros(16, np.float32)), *(b.scalar(v) for v in (1, 1, 1, 0))], [y])
    return b.build()


def head(kind):
    """A convolution of 64 channels to one."""
    rng, b = np.random.default_rng(5), ModelBuilder(f"head {kind}")
    x = b.input(kind, (1, 9, 9, 64), **({} if kind == F32 else {"scale": 0.5, "zero_point": 3}))
    y = image(b, kind, 1, 9, 9, 1, output=True, scale=30)
    if kind == F32:
        w, bias = b.constant(rng.standard_normal((1, 3, 3, 64)).astype(np.float32)), b.constant(np.zeros(1, np.float32))
    else:
        w = b.constant(rng.integers(0, 256, (1, 3, 3, 64), np.uint8), U8, scale=0.5, zero_point=128)
        bias = b.constant(np.zeros(1, np.int32), scale=0.25)
    b.operation("CONV_2D", [x, w, bias, *(b.scalar(v) for v in (1, 1, 1, 0))], [y])
    return b.build()


def blocks(kind):
    """Element-wise operations that run in blocks, one of which is an output as well."""
    b, shape = ModelBuilder(f"blocks {kind}"), (1, 128, 64, 32)
    quant = {} if kind == F32 else {"scale": 0.5, "zero_point": 3}
    x, first, second = b.input(kind, shape, **quant), image(b, kind, *shape), image(b, kind, *shape, output=True)
    b.operation("ADD", [x, x, b.scalar(0)], [first])
    b.operation("RELU6", [first], [second])
    b.operation("ADD", [x, second, b.scalar(0)], [image(b, kind, *shape, output=True)])
    return b.build()


def sequence(operation):
    """A layer over 5 times of 2 sequences, with a state of 20."""
    rng, b = np.random.default_rng(4), ModelBuilder(operation)

    def floats(*shape):
        return b.constant(rng.standard_normal(shape).astype(np.float32) / 4)

    x, y = b.input(F32, (5, 2, 7)), b.output(F32, (5, 2, 20))
    h = b.input(F32, (2, 20))
    if operation == "UNIDIRECTIONAL_SEQUENCE_RNN":
        b.operation(operation, [x, floats(20, 7), floats(20, 20), floats(20), h, b.scalar(1), b.scalar(1)], [y])
        return b.build()
    c, none = b.input(F32, (2, 24)), b.omitted(F32)
    b.operation(operation, [
        x, *(floats(24, 7) for _ in range(4)), *(floats(24, 20) for _ in range(4)), *(floats(24) for _ in range(3)),
        *(floats(24) for _ in range(4)), floats(20, 24), none, h, c, b.scalar(4), b.scalar(np.float32(0)),
        b.scalar(np.float32(0)), b.scalar(True), none, none, none, none], [y])
    return b.build()


def all_models():
    return [*models(), elementwise(F32), elementwise(U8), chain(), head(F32), head(U8), blocks(F32), blocks(U8),
            normalized("times"), normalized("folded", shape=(3, 40)), sequence("UNIDIRECTIONAL_SEQUENCE_RNN"),
            sequence("UNIDIRECTIONAL_SEQUENCE_LSTM")]


class Stored:
    """The plan of a prepared model as a record, and what restores it."""

    def __init__(self, prepared):
        self.prepared, self.arrays, constants = prepared, {}, Constants()

        def add(array):
            data = constants.add(array)
            self.arrays[data] = array.reshape(data.shape)
            return data

        self.record = stored_plan.plan_of(prepared.executor.segment, prepared.num_threads, add)

    def restore(self, record=None, late=()):
        return stored_plan.restore(record or self.record, self.prepared.model, (), self.prepared.executor.resources,
                                   self.arrays.__getitem__, lambda data: data in late)[0]


def run(segment, prepared, inputs):
    values = dict(zip(prepared.model.main.inputs, inputs))
    segment.run(values)
    return [values[operand] for operand in prepared.model.main.outputs]


WITHOUT = {"transposed", "grouped", "tables", "parts", "depth_s8"}
"""Models with steps that have no record: convolutions that scatter, and copies, also of channels."""


@pytest.mark.parametrize("model", all_models(), ids=lambda model: model.name)
def test_a_plan_is_its_record(device, model):
    """Through msgpack and back: the same steps, rows and bytes; a plan that has other steps has no record."""
    prepared = device.prepare(model)
    stored, rng = Stored(prepared), np.random.default_rng(5)
    if model.name in WITHOUT:
        assert stored.record is None
        return
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(stored.record), type=stored_plan.PlanRecord)
    segment = stored.restore(read)
    planned = prepared.executor.segment
    assert [step.kernel for step in segment.items[0].steps] == [step.kernel for step in planned.items[0].steps]
    assert [dict(row) for row in segment.rows] == [dict(row) for row in planned.rows]
    inputs = [(9 * rng.random(i.shape)).astype(i.dtype) for i in prepared.inputs]
    for made, wanted in zip(run(segment, prepared, inputs), prepared.run(inputs), strict=True):
        assert made.tobytes() == wanted.tobytes()


def test_every_kind_of_step_is_tested(device):
    """By the models above, at some level and number of threads; but for what only some machines choose."""
    met, levels = set(), {"avx2", kernels.level()} & {*kernels.levels()}
    for level, threads, model in itertools.product(levels, (1, 2), all_models()):
        with at_level(level):
            record = Stored(nnfast.Device(num_threads=threads).prepare(model)).record
        for step in () if record is None else record.steps:
            met.update(type(each).__name__ for each in (step, *getattr(step, "steps", ())))
    assert stored_steps._KINDS.keys() - met <= {"Conv2dLinesQ8", "Conv2dWinogradQ8", "Bands", "Conv2dLineF32"}


# -- what no model leads to --------------------------------------------------------------------------------------------
@pytest.fixture
def stored(device):
    """ADD, LOGISTIC, CONCATENATION, AVERAGE_POOL_2D and SOFTMAX; the first three in working memory."""
    made = Stored(device.prepare(elementwise(F32)))
    assert [type(step).__name__ for step in made.record.steps] == ["BinaryF32", "UnaryF32", "Concatenate", "Pool2D",
                                                                   "SoftmaxF32"]
    return made


def step(record, place, **changes):
    steps = list(record.steps)
    steps[place] = replace(steps[place], **changes)
    return replace(record, steps=steps)


def first_offset(record, offset):
    (slot, _), *rest = record.offsets
    return replace(record, offsets=[(slot, offset), *rest])


WRONG = {
    "a slot that is nowhere": lambda r: step(r, 1, slots=(r.steps[1].slots[0], r.slots + 5)),
    "more than the input has": lambda r: step(r, 0, shape_a=(1, 4, 4, 9), shape_b=(1, 4, 4, 9)),
    "operands that do not broadcast": lambda r: step(r, 0, shape_a=(1, 4, 4, 7)),
    "more than a slot has": lambda r: step(r, 1, count=1 << 20),
    "a write to the input": lambda r: step(r, 1, slots=(r.steps[1].slots[0], r.inputs[0][1])),
    "a read of what nobody wrote": lambda r: replace(r, steps=r.steps[1:]),
    "an output that nobody writes": lambda r: replace(r, steps=r.steps[:-1]),
    "half an output": lambda r: step(r, 4, rows=r.steps[4].rows - 1),
    "memory behind the arena": lambda r: first_offset(r, r.arena_bytes - 64),
    "memory far behind the arena": lambda r: first_offset(r, r.arena_bytes + 64),
    "memory that is not aligned": lambda r: first_offset(r, 4),
    "a small arena": lambda r: replace(r, arena_bytes=64),
    "a slot in two places": lambda r: replace(r, offsets=[*r.offsets, (r.inputs[0][1], 0)]),
    "an alias of nothing": lambda r: replace(r, aliases=[(r.slots, r.slots + 1)], slots=r.slots + 2),
    "an alias of itself": lambda r: replace(r, aliases=[(r.slots, r.slots)], slots=r.slots + 1),
    "many slots": lambda r: replace(r, slots=1 << 31),
    "another output": lambda r: replace(r, outputs=[(r.inputs[0][0], r.outputs[0][1])]),
    "no outputs": lambda r: replace(r, outputs=[]),
    "an output of another shape": lambda r: replace(r, shapes=[(o, (1, 2, 2, 32) if o == r.outputs[0][0] else s)
                                                               for o, s in r.shapes]),
    "an input of another shape": lambda r: replace(r, shapes=[(o, (1, 4, 4, 4) if o == r.inputs[0][0] else s)
                                                              for o, s in r.shapes]),
    "a window beside the input": lambda r: step(r, 3, window=replace(r.steps[3].window, head=(2, 0))),
    "a stride over the end": lambda r: step(r, 3, window=replace(r.steps[3].window, stride=(9, 9))),
    "a pool with holes": lambda r: step(r, 3, window=replace(r.steps[3].window, dilation=(2, 1))),
    "an input in two slots": lambda r: step(
        replace(r, inputs=[(r.inputs[0][0], r.slots), *r.inputs], slots=r.slots + 1), 0,
        slots=(r.slots, r.slots, r.steps[0].slots[2])),
    "a part more than slots": lambda r: step(r, 2, sizes=(*r.steps[2].sizes, 4)),
    "a row of no operation": lambda r: replace(r, rows=[replace(r.rows[0], index=99), *r.rows[1:]]),
    "a row of no step": lambda r: replace(r, rows=[replace(r.rows[0], steps=(0, 99)), *r.rows[1:]]),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_a_plan_that_reaches_too_far(stored, change):
    stored.restore()
    with pytest.raises(Misfit, match="compilation cache: .*; prepare the model from its source"):
        stored.restore(change(stored.record))


@pytest.mark.parametrize("changes", [
    {"has_beta": False}, {"slots": (0,)}, {"divides": True}, {"has_gamma": False, "has_beta": False},
    {"n": 41}, {"rows": 1 << 20}], ids=str)
def test_a_normalization_that_is_none(device, changes):
    made = Stored(device.prepare(normalized("folded", shape=(3, 40))))
    assert [type(step).__name__ for step in made.record.steps] == ["LayerNormF32"]
    made.restore()
    with pytest.raises(Misfit):
        made.restore(step(made.record, 0, **changes))


def test_a_step_may_not_write_over_half_of_what_it_reads(stored):
    record, logistic = stored.record, stored.record.steps[1]
    offsets = dict(record.offsets)
    source, target = logistic.slots
    offsets[target] = offsets[source] + 64
    with pytest.raises(Misfit, match="writes over what it reads"):
        stored.restore(replace(record, offsets=list(offsets.items()), arena_bytes=1 << 20))


def test_tables_are_looked_at(device):
    """Of powers the first is 1 and none below 0; of scales, shifts are none beyond a word."""
    made = Stored(device.prepare(elementwise(U8)))
    place, softmax = next((i, s) for i, s in enumerate(made.record.steps) if type(s).__name__ == "SoftmaxQ8")
    for spoil in (lambda t: t.__setitem__(0, 0), lambda t: t.__setitem__(9, -1), lambda t: t.__setitem__(9, 1 << 31)):
        table = made.arrays[softmax.power].copy()
        spoil(table)
        with pytest.raises(Misfit, match="powers"):
            made.arrays, kept = {**made.arrays, softmax.power: table}, made.arrays
            try:
                made.restore()
            finally:
                made.arrays = kept
    with pytest.raises(Misfit, match="table of the plan lies in the data file"):
        made.restore(late=[softmax.power])
    first = made.record.steps[0]
    broken = [asdict(made.record) | {"steps": [replace(first, scales=((1, 40),) * 3), *made.record.steps[1:]]}]
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(stored_plan.PlanRecord(**broken[0])),
                               type=stored_plan.PlanRecord)


@pytest.mark.parametrize("operation", ["UNIDIRECTIONAL_SEQUENCE_RNN", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_a_sequence_is_gone_to_its_end(device, operation):
    made = Stored(device.prepare(sequence(operation)))
    made.restore()
    place = next(i for i, s in enumerate(made.record.steps) if hasattr(s, "walk"))
    walk = made.record.steps[place].walk
    for changes in ({"span": (0, 4)}, {"span": (1, 5)}, {"span": (0, 6)},
                    {"walk": replace(walk, out_start=4)}, {"walk": replace(walk, out_strides=(80, 20))},
                    {"walk": replace(walk, in_strides=(900, 7))}, {"walk": replace(walk, batch=9)}):
        with pytest.raises(Misfit):
            made.restore(step(made.record, place, **changes))


def test_a_sequence_is_whole_only_at_its_end(device):
    """Nothing reads the times that are still missing, nor what lies between rows."""
    made = Stored(device.prepare(sequence("UNIDIRECTIONAL_SEQUENCE_RNN")))
    record, layer = made.record, made.record.steps[-1]
    y, beside = layer.slots[2], record.slots
    record = replace(record, slots=beside + 1, offsets=[*record.offsets, (beside, record.arena_bytes // 64 * 64 + 64)],
                     arena_bytes=record.arena_bytes + 4096)
    reader = stored_steps.UnaryF32((y, beside), "abs", 200)
    first, second = (replace(layer, span=span) for span in ((0, 4), (4, 5)))
    made.restore(replace(record, steps=[*record.steps[:-1], first, second, reader]))
    with pytest.raises(Misfit, match="before they are written"):
        made.restore(replace(record, steps=[*record.steps[:-1], first, reader, second]))
    for strides in ((40, 19), (41, 20), (20, 20), (0, 0)):
        with pytest.raises(Misfit, match="rows with gaps"):
            made.restore(step(made.record, -1, walk=replace(layer.walk, out_strides=strides)))


def test_cells_wait_for_the_projection_of_the_time_before(device):
    made = Stored(device.prepare(sequence("UNIDIRECTIONAL_SEQUENCE_LSTM")))
    *before, layer = made.record.steps
    parts = [replace(layer, part=part, span=(t, t + 1), alone=False, cleared=None)
             for t in range(5) for part in ("cells", "projection")]
    made.restore(replace(made.record, steps=[*before, *parts]))
    parts[1], parts[2] = parts[2], parts[1]
    with pytest.raises(Misfit, match="a time whose last one is not there yet"):
        made.restore(replace(made.record, steps=[*before, *parts]))


def numbers(value, path=()):
    """Paths of all numbers in lists of lists."""
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from numbers(each, (*path, place))
    elif type(value) is int:
        yield path


def with_number(value, path, number):
    if not path:
        return number
    return [with_number(each, path[1:], number) if place == path[0] else each for place, each in enumerate(value)]


@pytest.mark.parametrize("change, reason", [
    ({"inner": ()}, "1 slots|bytes"),
    ({"inner": (0, 1, 2, 3)}, "a step"),
    ({"steps": 1}, "1 steps in blocks"),
    ({"steps": -1}, "a step"),
], ids=str)
def test_blocks_that_no_chain_has(device, change, reason):
    """Inner slots that are none, too few steps, and steps in another order."""
    made = Stored(device.prepare(blocks(F32)))
    ((place, chained),) = [(i, s) for i, s in enumerate(made.record.steps) if type(s).__name__ == "Blocks"]
    if "steps" in change:
        change = {"steps": chained.steps[::-1] if change["steps"] < 0 else chained.steps[:1]}
    made.restore()
    with pytest.raises(Misfit, match=reason):
        made.restore(step(made.record, place, **change))


@pytest.mark.parametrize("name", ["tiles", "lines", "depth", f"elementwise {F32}", f"elementwise {U8}",
                                  f"blocks {F32}", f"blocks {U8}", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_any_number_is_refused_or_does_no_harm(device, name):
    """Each number of a plan as another one: there is a plan that has it, or Misfit."""
    made = Stored(device.prepare(next(model for model in all_models() if model.name == name)))
    plain, refused = msgspec.msgpack.decode(msgspec.msgpack.encode(made.record)), 0

    def array_of(data):
        if data not in made.arrays:
            raise InvalidArgument("the constant lies outside")
        return made.arrays[data]

    for path in numbers(plain):
        for number in (0, 65, (1 << 31) - 1, (1 << 32) - 1):
            try:
                record = msgspec.convert(with_number(plain, path, number), stored_plan.PlanRecord)
                stored_plan.restore(record, made.prepared.model, (), made.prepared.executor.resources, array_of,
                                    lambda data: False)
            except (Misfit, InvalidArgument, msgspec.ValidationError):
                refused += 1
    assert refused > 50


def test_packed_weights_of_another_step(device):
    """Too few of them for the filter, or not where a constant is."""
    made = Stored(device.prepare(next(model for model in models() if model.name == "tiles")))
    place, conv = next((i, s) for i, s in enumerate(made.record.steps) if type(s).__name__ == "Conv2dF32")
    x, w, y = conv.slots
    for changes in ({"units": conv.units * 64}, {"channels": conv.channels * 64}, {"slots": (x, y, y)},
                    {"slots": (x, x, y)}, {"slots": (x, w, w)}, {"prefetch_bytes": 64},
                    {"window": replace(conv.window, filter=(1 << 31, 1 << 31), head=(0, 0))}):
        with pytest.raises(Misfit):
            made.restore(step(made.record, place, **changes))


# -- in files ----------------------------------------------------------------------------------------------------------
@contextmanager
def cache_files():
    files = [os.memfd_create(name) for name in ("model", "data")]
    try:
        yield CacheFiles((files[0],), (files[1],))
    finally:
        for descriptor in files:
            os.close(descriptor)


def through_files(device, model, other):
    """(prepared by a device, loaded by another)."""
    with cache_files() as files:
        return device.prepare(model, cache=files, token=TOKEN), other.prepare_from_cache(files, TOKEN)


@pytest.fixture
def planned(monkeypatch):
    """Names of the graphs that were planned, in order."""
    seen, plan = [], Planner._plan
    monkeypatch.setattr(Planner, "_plan", lambda self, *rest: (seen.append(self.name), plan(self, *rest))[1])
    return seen


def test_what_was_planned_is_not_planned_again(planned):
    """But for another number of threads, whose steps differ."""
    model, one, two = chain(), nnfast.Device(num_threads=1), nnfast.Device(num_threads=2)
    x = np.random.default_rng(1).random((1, 128, 128, 3)).astype(np.float32)
    for other, again in ((one, 0), (two, 1)):
        planned.clear()
        prepared, loaded = through_files(one, model, other)
        assert len(planned) == 1 + again
        assert prepared.run([x])[0].tobytes() == loaded.run([x])[0].tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_model_with_our_own_operations_is_stored_without_its_weights(planned, threads):
    """With its plan, whatever the number of threads; what was loaded can be stored again."""
    b = ModelBuilder("own")
    x, y = b.input(F32, (1, 64)), b.output(F32, (1, 64))
    w = b.constant(np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32))
    b.operation("FULLY_CONNECTED", [x, w, b.constant(np.zeros(64, np.float32)), b.scalar(0)], [y])
    model = Model(b.build().main, extensions=((own.NAME, own.PREFIX),))
    x = np.random.default_rng(2).random((1, 64)).astype(np.float32)
    prepared, loaded = through_files(nnfast.Device(num_threads=1), model, nnfast.Device(num_threads=threads))
    assert planned == ["main"]
    assert loaded.spare == {2} and not prepared.spare
    assert prepared.run([x])[0].tobytes() == loaded.run([x])[0].tobytes()
    with cache_files() as files:
        assert save(loaded, files, TOKEN) == ""
        again = loaded.device.prepare_from_cache(files, TOKEN)
    assert prepared.run([x])[0].tobytes() == again.run([x])[0].tobytes()
